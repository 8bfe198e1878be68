"""Data sets of input and output functions."""

from elmonet.data.operator_data import OperatorData

__all__ = ["OperatorData"]

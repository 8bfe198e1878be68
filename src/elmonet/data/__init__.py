"""Data sets of input and output functions, and the files they come from."""

from elmonet.data.operator_data import OperatorData
from elmonet.data.read import read
from elmonet.data.resample import resample
from elmonet.data.scattered import Scattered

__all__ = ["OperatorData", "Scattered", "read", "resample"]

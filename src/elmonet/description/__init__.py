"""A fitted model as a short list of array operations, from which NumPy, derivatives and exports follow."""

from __future__ import annotations

from elmonet.description.graph import Description, Graph, Port
from elmonet.description.operations import Operation

__all__ = ["Description", "Graph", "Operation", "Port"]

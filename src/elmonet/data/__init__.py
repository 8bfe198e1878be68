"""Data sets of input and output functions, and the files they come from.

A file is read in three steps: `formats` opens it and returns arrays by name, `find_roles` infers what each
array is and says why, and `read` assembles the arrays in their roles.
"""

from elmonet.data.dataset import OperatorData
from elmonet.data.formats import register_reader
from elmonet.data.mesh import Mesh
from elmonet.data.reading import read
from elmonet.data.scattered import Scattered, resample

__all__ = ["Mesh", "OperatorData", "Scattered", "read", "register_reader", "resample"]

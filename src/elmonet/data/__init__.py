"""Data sets of input and output functions, and the files they come from.

A file is read in three steps: `formats` opens it and gives arrays by name, `understand` finds what is what
and says why, `assemble` puts the arrays into their roles; `read` does all three.
"""

from elmonet.data.dataset import OperatorData
from elmonet.data.read import read
from elmonet.data.resample import resample
from elmonet.data.scattered import Scattered

__all__ = ["OperatorData", "Scattered", "read", "resample"]

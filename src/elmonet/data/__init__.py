"""Data sets of input and output functions, and the files they come from.

A file is read in three steps: `formats` opens it and returns arrays by name, `find_roles` infers what each
array is and says why, and `read` assembles the arrays in their roles.
"""

import lazy_loader

# As in elmonet/__init__.py: estimators need data sets and scattered values, and none of the readers.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

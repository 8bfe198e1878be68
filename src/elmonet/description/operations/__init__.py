"""The array operations that fitted models consist of, each with its value, tangent and adjoint in NumPy.

Every value is a vector of fixed length; n cases are the rows of a matrix (n, size). The set is small and
closed, so that a writer for another language is a few lines for each of them:

    AffineMap    A x + b, for each of some rows that x consists of
    Scale        (x - before) * factor + after, elementwise
    Elementwise  an activation, exponential or logarithm
    Kernel       the mean over parts of k(x, centre), or of k(x, centre) - 1, for each centre
    Gather       x[index], zero where the index is -1
    Concatenate, Sum, Product, Constant
    Clip         within limits
    Amplitude    x / a and log a, with a = max |x|
    March        a loop over time, whose body is a list of operations

A new linear map, such as a transform along the axes of a grid, is an `AffineMap` with rows between two
`Gather`.

For derivatives, `linearised` gives the value and whatever `tangent` (J dx) and `adjoint` (J' g) need again.
"""

from __future__ import annotations

from elmonet.description.operations.base import Operation, backward, evaluate, forward, linearise
from elmonet.description.operations.elementary import (
    FUNCTIONS,
    AffineMap,
    Amplitude,
    Clip,
    Concatenate,
    Constant,
    Elementwise,
    Gather,
    Product,
    Scale,
    Sum,
)
from elmonet.description.operations.kernel import Kernel
from elmonet.description.operations.march import March

__all__ = [
    "FUNCTIONS",
    "AffineMap",
    "Amplitude",
    "Clip",
    "Concatenate",
    "Constant",
    "Elementwise",
    "Gather",
    "Kernel",
    "March",
    "Operation",
    "Product",
    "Scale",
    "Sum",
    "backward",
    "evaluate",
    "forward",
    "linearise",
]

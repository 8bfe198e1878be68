"""Solvers of ``min ||T W B - G||``: matrices in, a `Solution` out. No networks, no data sets."""

from elmonet.solve.ridge import Pinv, Ridge
from elmonet.solve.solution import LEFT_OUT, Solution

__all__ = ["LEFT_OUT", "Pinv", "Ridge", "Solution"]

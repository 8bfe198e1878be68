"""Solvers of ``min ||T W B - G||``: matrices in, a `Solution` out. No networks, no data sets."""

from elmonet.solve.pinv import Pinv
from elmonet.solve.ridge import Ridge
from elmonet.solve.solution import LEFT_OUT, Solution

__all__ = ["LEFT_OUT", "Pinv", "Ridge", "Solution"]

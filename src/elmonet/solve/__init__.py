"""Solvers of ``min ||T W B - G||``: matrices in, a `Solution` out; no networks, no data sets."""

from elmonet.solve.ridge import Pinv, Ridge
from elmonet.solve.solution import LEFT_OUT, Solution, Solver

__all__ = ["LEFT_OUT", "Pinv", "Ridge", "Solution", "Solver"]

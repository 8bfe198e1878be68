"""Predictions of every function by the fit without it, at a given alpha."""

from __future__ import annotations

import numpy as np

from elmonet._blas import product
from elmonet.solve.leave_one_out import left_out_residuals
from elmonet.solve.problem import Problem
from elmonet.solve.ridge import fit_at
from elmonet.solve.spectrum import Spectrum

__all__ = ["left_out_predictions"]


def left_out_predictions(T: np.ndarray, B: np.ndarray, G: np.ndarray, alpha: float) -> np.ndarray:
    """What ``Ridge(alpha)``, fitted to all functions but one, predicts for that one: (M, N).

    From one factorisation, exactly, as the leave-one-out errors of `Solution` are. ``alpha = 0``, of `Pinv`,
    is taken as its limit.

    Raises `InputError` if T (M, p2), B (p1, N) and G (M, N) do not fit each other.
    """
    problem = Problem(T, B, G, dtype=np.float64)
    if problem.is_zero():
        return np.zeros(G.shape)
    inside = float(problem.alpha_inside(alpha))
    fit = fit_at(problem, inside)
    if fit is None:
        spectrum = Spectrum.from_svd(problem.B)
        vanishing = 100 * np.finfo(np.float64).eps * float(spectrum.values[-1])
        residuals = left_out_residuals(spectrum, problem.QtG, max(inside, vanishing))
    else:
        residuals = fit.left_out
    return product(problem.span.Q, problem.QtG - residuals) / problem.g

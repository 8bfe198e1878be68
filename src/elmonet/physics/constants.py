"""Constants of an equation that measurements determine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from elmonet._check import InputError
from elmonet.physics.measurements import Measurements, Values

__all__ = ["find_constants"]

_STEP = 1e-4  # of a constant, to see what it changes
_DONE = 1e-8


def find_constants(
    measured: Measurements, start: dict[str, float], solve: Callable[[dict[str, float]], Values]
) -> dict[str, tuple[float, float]]:
    """The constants, each with its standard error, for which solutions are closest to the measurements.

    ``solve(constants)`` solves the equation for the inputs of the measurements.
    """
    names = list(start)
    first = np.array([start[name] for name in names])
    scale = np.where(first != 0, np.abs(first), 1.0)
    known = ~np.isnan(measured.y)

    def missed(theta: np.ndarray) -> np.ndarray:
        seen = measured.seen(solve(dict(zip(names, (theta * scale).tolist(), strict=True))))
        return (seen - measured.y)[known]

    found = least_squares(missed, first / scale, diff_step=_STEP, xtol=_DONE, ftol=_DONE, max_nfev=50)
    if not np.isfinite(found.x).all() or np.linalg.matrix_rank(found.jac) < len(names):
        raise InputError(
            f"the data do not tell {', '.join(names)}: solutions do not change with it, or two of them "
            "change solutions in the same way. Find fewer constants."
        )
    freedom = max(1, known.sum() - len(names))
    covariance = np.linalg.inv(found.jac.T @ found.jac) * (2 * found.cost / freedom)
    errors = np.sqrt(np.diag(covariance)) * scale
    values = found.x * scale
    return {n: (float(v), float(e)) for n, v, e in zip(names, values, errors, strict=True)}

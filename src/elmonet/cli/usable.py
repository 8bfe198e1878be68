"""Numbers and points that a fit would refuse, in messages that name the options."""

from __future__ import annotations

import math

import numpy as np

from elmonet._check import InputError
from elmonet.data import OperatorData, Scattered

__all__ = ["require_usable"]


def require_usable(data: OperatorData, missing: str) -> None:
    """Raise if there are complex numbers, NaN or infinity, or if the output points are not in the file."""
    inputs = data.u_train if isinstance(data.u_train, dict) else {"": data.u_train}
    for name, u in inputs.items():
        what = f"the input functions {name}".strip()
        _require_finite(what, u, "Remove these functions, or fill the gaps.")
    s = data.s_train
    if isinstance(s, Scattered):
        return
    if missing == "ignore":
        _require_finite("the output functions", np.where(np.isnan(s), 0, s), "Remove these functions.")
    else:
        advice = "With --missing ignore, NaN marks a missing value, which is left out of the fit."
        _require_finite("the output functions", s, advice)
    shape = s.shape[1:-1] if data.components else s.shape[1:]
    if data.points is None and math.prod(shape) > 1 and shape not in _guessed(data.u_train):
        raise InputError(
            f"the file does not say where the output functions, of shape {shape}, are given. Say it: "
            f"--points NAME or FILE, an array ({math.prod(shape)}, d) with one point for each value."
        )


def _require_finite(what: str, functions: np.ndarray, advice: str) -> None:
    if functions.dtype.kind == "c":
        raise InputError(f"{what} are complex numbers. Give real and imaginary parts as two arrays.")
    bad = ~np.isfinite(functions).reshape(len(functions), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"{what} hold NaN or infinity in {bad.sum()} of {len(bad)} functions, the first in row "
            f"{np.argmax(bad)}. {advice}"
        )


def _guessed(u: np.ndarray | dict[str, np.ndarray]) -> list[tuple[int, ...]]:
    """The shapes of outputs that are taken to have the sensors of the inputs as points."""
    if isinstance(u, dict):
        return [(sum(math.prod(part.shape[1:]) for part in u.values()),)]
    return [u.shape[1:], u.shape[2:]]

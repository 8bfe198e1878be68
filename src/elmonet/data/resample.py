"""Functions that were measured at different places, interpolated to common places."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from elmonet.checks import coordinates, finite
from elmonet.errors import ExtrapolationWarning, InputError

__all__ = ["resample"]

_BEYOND = 0.1  # of a function's own box, by which a sensor may be outside of it


def resample(values: Any, sensors: Any, new_sensors: Any) -> np.ndarray:
    """Input functions that each have their own sensors, interpolated to common sensors: (N, m).

    Splines on grids, radial basis functions elsewhere. Where a common sensor lies outside of the box of a
    function's own sensors by more than a tenth of its size, an `ExtrapolationWarning` says so.

    Parameters
    ----------
    values : list with one entry per function: its values (m_i,).
    sensors : list with one entry per function: where these were measured, (m_i, d), or (m_i,) if d = 1.
    new_sensors : (m, d), or (m,).

    Examples
    --------
    >>> x = [np.linspace(0, 1, 30), np.linspace(0, 1, 50)]
    >>> u = resample([np.sin(x[0]), np.cos(x[1])], x, np.array([0.0, 0.5, 1.0]))
    >>> u.round(4)
    array([[0.    , 0.4794, 0.8415],
           [1.    , 0.8776, 0.5403]])
    """
    from elmonet.interpolation import interpolate

    if len(values) != len(sensors) or len(values) == 0:
        raise InputError(
            f"give values and sensors for each function: got {len(values)} and {len(sensors)} of them."
        )
    new = coordinates(new_sensors)
    out, outside = np.empty((len(values), len(new))), []
    for i, (known, where) in enumerate(zip(values, sensors, strict=True)):
        known, where = np.asarray(known, dtype=float), coordinates(where, dimension=new.shape[1])
        if known.shape != (len(where),):
            raise InputError(
                f"function {i} has values {known.shape} and {len(where)} sensors: one value at each."
            )
        finite(known, f"function {i}")
        if _lies_outside(where, new):
            outside.append(i)
        out[i] = interpolate(where, known[:, None], new)[:, 0]
    if outside:
        warnings.warn(
            f"{len(outside)} of {len(values)} functions, the first function {outside[0]}, are asked for at "
            "points outside of their sensors: the values there are extrapolated. Choose new sensors inside.",
            ExtrapolationWarning,
            stacklevel=2,
        )
    return out


def _lies_outside(where: np.ndarray, new: np.ndarray) -> bool:
    low, high = where.min(axis=0), where.max(axis=0)
    room = _BEYOND * (high - low)
    return bool(((new < low - room) | (new > high + room)).any())

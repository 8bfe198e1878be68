"""Interpolate functions that were measured at different sensors to common ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from elmonet.checks import coordinates, finite
from elmonet.errors import ExtrapolationWarning, InputError

_MARGIN = 0.1  # of the size of a function's bounding box, by which a new sensor may lie outside of it


def resample(values: Any, sensors: Any, new_sensors: Any) -> np.ndarray:
    """Interpolate input functions that each have their own sensors to common sensors.

    Uses splines on grids, and radial basis functions elsewhere. If a common sensor lies outside the bounding
    box of a function's own sensors by more than a tenth of its size, an `ExtrapolationWarning` is issued.

    Parameters
    ----------
    values : list of the values (m_i,) of each function.
    sensors : list of the sensors (m_i, d) of each function, or (m_i,) if d = 1.
    new_sensors : (m, d), or (m,); the common sensors.

    Returns
    -------
    u : (N, m), the functions at the common sensors.

    Raises
    ------
    InputError : if values and sensors do not match, or values are not finite.

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
    u, outside = np.empty((len(values), len(new))), []
    for i, (own_values, own) in enumerate(zip(values, sensors, strict=True)):
        own_values, own = np.asarray(own_values, dtype=float), coordinates(own, dimension=new.shape[1])
        if own_values.shape != (len(own),):
            raise InputError(
                f"function {i} has values {own_values.shape} and {len(own)} sensors: give one value for each."
            )
        finite(own_values, f"function {i}")
        if _extrapolates(own, new):
            outside.append(i)
        u[i] = interpolate(own, own_values[:, None], new)[:, 0]
    if outside:
        warnings.warn(
            f"{len(outside)} of {len(values)} functions, the first function {outside[0]}, are extrapolated: "
            "new sensors lie outside the range of their own. Choose new sensors inside.",
            ExtrapolationWarning,
            stacklevel=2,
        )
    return u


def _extrapolates(own: np.ndarray, new: np.ndarray) -> bool:
    low, high = own.min(axis=0), own.max(axis=0)
    margin = _MARGIN * (high - low)
    return bool(((new < low - margin) | (new > high + margin)).any())

"""The times of records: one time step, the same for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.checks import plain
from elmonet.errors import InputError

_UNIFORM = 1e-3  # deviation of time steps that counts as rounding, relative to the step


def time_step(t: np.ndarray) -> tuple[float, float]:
    """Return the step and the first of uniform, growing times (T,)."""
    steps = np.diff(t)
    if len(t) < 2:
        raise InputError("a record needs at least two times: give points (T,), uniform in time.")
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    if dt <= 0 or not is_uniform(steps, t):
        raise InputError(
            f"records need uniform time steps: they are {steps.min():.4g} to {steps.max():.4g}. Resample "
            "them: elmonet.resample(values, times, new_times)."
        )
    return dt, float(t[0])


def is_uniform(steps: np.ndarray, t: np.ndarray) -> bool:
    """Return whether the steps between times t are the same, up to rounding."""
    dt = float(steps.mean())
    return bool(np.abs(steps - dt).max() <= _UNIFORM * dt + 4 * np.spacing(np.abs(t).max()))


def times_of(points: Any, lengths: list[int]) -> tuple[float, float]:
    """Return step and first time of records, from times for each or for the longest."""
    if points is None:
        return 1.0, 0.0
    each = points if isinstance(points, (list, tuple)) and np.ndim(points[0]) > 0 else None
    if each is None:
        t = np.ravel(plain(points))
        if len(t) < max(lengths):
            raise InputError(
                f"points must hold the times of the longest record, {max(lengths)}; got {len(t)}."
            )
        return time_step(t[: max(lengths)])
    if [np.size(own) for own in each] != lengths:
        raise InputError("points must hold the times of each record, as many as its values.")
    found = [time_step(np.ravel(plain(own))) for own in each if np.size(own) > 1]
    dts = np.array([dt for dt, _ in found])
    if np.ptp(dts) > _UNIFORM * dts.mean():
        raise InputError(
            f"all records need the same time step: they are {dts.min():.4g} to {dts.max():.4g}. Resample "
            "them: elmonet.resample(values, times, new_times)."
        )
    return float(dts.mean()), found[0][1]


def same_times(sensors: np.ndarray, points: np.ndarray) -> bool:
    """Return whether inputs are known at the times of the outputs."""
    return sensors.shape == points.shape and bool(
        np.allclose(sensors, points, rtol=0, atol=1e-9 * np.ptp(points))
    )

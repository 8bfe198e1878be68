"""What a fit in memory says of its training functions if they are left out, for a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elmonet.bands import Bands
from elmonet.calibration import Calibration, calibration_by_halves, calibration_of
from elmonet.data.scattered import Scattered
from elmonet.fitting.confidence import Confidence
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.held_out import HeldOut, held_out_places
from elmonet.fitting.missed import left_out, packed
from elmonet.form.lift import lift_at_own_points
from elmonet.form.training import Training
from elmonet.report.account import Unseen
from elmonet.report.unseen import times_and_words, unseen

__all__ = ["unseen_of"]


def unseen_of(fitted: Fitted, training: Training, confidence: Confidence, held: HeldOut | None) -> Unseen:
    """Of functions that were held out, or else of all training functions, each left out by its factor.

    No fit is made: what was missed of a function gives what was predicted, ``target - missed``.
    """
    outputs, bands = fitted.outputs, confidence.bands
    groups = places = None
    if held is None:
        numbers, (missed, scales, *_) = np.arange(len(training.X)), left_out(fitted, training)
        groups = None if training.groups is None else training.groups.numbers
    else:
        (numbers, missed), scales = held, [np.ones((1, 1))]
        places = held_out_places(held, outputs)
    some = training.of(numbers)
    y, lifted, points = _rows(fitted, some)
    z = outputs.target(y) - missed
    times, holds = times_and_words(bands)
    sigma = bands.sigma if places is None else bands.sigma[places]
    g = np.broadcast_to(scales[min(bands.scale, len(scales) - 1)], (len(z), 1))

    def band(i: int) -> tuple[np.ndarray, np.ndarray]:
        half = times * sigma * g[i]
        low, high = (outputs.values(row[None])[0] for row in (z[i] - half, z[i] + half))
        return low + lifted[i % len(lifted)], high + lifted[i % len(lifted)]

    predicted = outputs.values(z)
    units = predicted if outputs.logs is not None else np.ones((1, 1))
    calibration = _by_halves(missed, scales, groups, places, units, y)
    how = f"training functions, {'left out' if held is None else 'held out'}"
    return unseen(
        how, outputs, numbers, y + lifted, predicted + lifted, band, holds, calibration, own_points=points
    )


def _rows(fitted: Fitted, training: Training) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Outputs as rows (n, R), what the lift adds to them (n or 1, R), and points of their own (n, R, d)."""
    outputs, y = fitted.outputs, training.y
    X: Any = None if outputs.lift is None else training.inputs.as_given(training.X)
    if not outputs.scattered:
        return y, np.zeros((1, 1)) if X is None else outputs.lifted(X, len(y)), None
    index, places, values = outputs.scattered_rows(y)

    def rows(values: np.ndarray) -> np.ndarray:
        return packed(values, index, places, outputs)

    lifted = np.zeros((1, 1))
    if X is not None:
        lift = Scattered(y.index, y.points, lift_at_own_points(outputs.lift, X, y))
        lifted = rows(outputs.scattered_rows(lift)[2])
    d = outputs.points.shape[1]
    return rows(values), lifted, np.stack([rows(places[:, k]) for k in range(d)], axis=-1)


def _by_halves(
    missed: np.ndarray,
    scales: Sequence[np.ndarray],
    groups: np.ndarray | None,
    places: np.ndarray | None,
    units: np.ndarray,
    y: np.ndarray,
) -> Calibration | None:
    """Bands made from what was missed of one half of the functions, tried on the other."""
    size = float(np.sqrt(np.nanmean(y**2)))

    def of(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        return values if len(values) == 1 else values[rows]

    def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
        own = None if groups is None else groups[half]
        bands = Bands.of(missed[half], [of(half, g) for g in scales], own, places=places)
        if bands is None:
            return None
        sigma = bands.sigma if places is None else bands.sigma[places]
        spread = np.broadcast_to(sigma * of(other, scales[bands.scale]), missed[other].shape)
        return calibration_of(bands, missed[other], spread, of(other, units), size)

    return calibration_by_halves(tried, len(missed), groups)

"""Functions that are held out of fits to the others, where leaving each out would need a fit each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from elmonet._check import ExtrapolationWarning
from elmonet.bands import Bands
from elmonet.data.scattered import Scattered
from elmonet.fitting.confidence import Confidence
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.missed import missed_of
from elmonet.form.outputs import OutputForm
from elmonet.form.training import Training
from elmonet.solve.held_out import folds

__all__ = ["HeldOut", "from_held_out", "held_out", "held_out_places"]


class HeldOut(NamedTuple):
    """What is missed of functions that are held out of fits to the others.

    rows : (n,), which training functions these are.
    missed : (n, R), NaN where nothing is known; at points of their own, values come as `packed` gives them.
    """

    rows: np.ndarray
    missed: np.ndarray


def held_out(fit: Callable[[Training], Fitted], training: Training) -> HeldOut | None:
    """From functions that are held out of fits to the others, some at a time."""
    rows: list[np.ndarray] = []
    parts: list[np.ndarray] = []
    for kept in folds(len(training.X)):
        with warnings.catch_warnings():  # scattered points of the others may lie around those that are kept
            warnings.simplefilter("ignore", ExtrapolationWarning)
            out = np.flatnonzero(~kept)
            fitted, others = fit(training.of(np.flatnonzero(kept))), training.of(out)
            parts.append(missed_of(fitted, others.X, others.y))
            there = np.unique(others.y.index) if isinstance(others.y, Scattered) else slice(None)
            rows.append(out[there])
    if not parts:
        return None
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    return HeldOut(np.concatenate(rows), np.concatenate(padded))


def from_held_out(found: HeldOut, outputs: OutputForm) -> Confidence | None:
    """From functions that were held out."""
    bands = Bands.of(found.missed, [np.ones((1, 1))], places=held_out_places(found, outputs))
    return None if bands is None else Confidence(bands)


def held_out_places(found: HeldOut, outputs: OutputForm) -> np.ndarray | None:
    """Which columns have one sigma: at points of their own, those of a component; None: each its own."""
    return np.arange(found.missed.shape[1]) % max(1, outputs.components) if outputs.scattered else None

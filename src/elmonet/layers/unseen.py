"""The functions that were held out of all layers, kept for a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elmonet.calibration import Calibration, calibration_by_halves, calibration_of
from elmonet.layers.bands import LayerBands
from elmonet.layers.forms import FieldForm
from elmonet.report.account import Unseen
from elmonet.report.unseen import times_and_words, unseen

__all__ = ["HeldOut", "unseen_of"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Functions held out of all layers, as layers see them.

    Attributes
    ----------
    rows : (n,), which training functions these are.
    truth, predicted, update : (n, c, *shape), their outputs, what the chain says, and its last update.
    groups : (n,), of functions that belong together; None: each by itself.
    """

    rows: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    update: np.ndarray
    groups: np.ndarray | None

    def bands(self, form: FieldForm, some: np.ndarray | slice = slice(None)) -> LayerBands | None:
        """Bands from what was missed of these functions, or of some; None if they are too few."""
        groups = None if self.groups is None else self.groups[some]
        return LayerBands.of_missed(
            self.truth[some] - self.predicted[some], self.update[some], form.grid, groups
        )


def unseen_of(held: HeldOut, form: FieldForm, bands: LayerBands) -> Unseen:
    """What a report shows of them."""
    times, holds = times_and_words(bands.bands)
    n = len(held.rows)

    def rows(states: np.ndarray) -> np.ndarray:
        fields = form.grid.with_repeats(states) * form.size
        return fields.reshape(*fields.shape[:2], -1)[..., np.argsort(form.order)].reshape(len(states), -1)

    def band(i: int) -> tuple[np.ndarray, np.ndarray]:
        own = slice(i, i + 1)
        half = times * bands.spread(held.update[own], form.grid)
        low, high = (rows(held.predicted[own] + side) for side in (-half, half))
        return low[0], high[0]

    def tried(half: np.ndarray, other: np.ndarray) -> Calibration | None:
        own = held.bands(form, half)
        if own is None:
            return None
        missed, spread = held.truth[other] - held.predicted[other], own.spread(held.update[other], form.grid)
        missed, spread = (A.reshape(len(other), -1) for A in (missed, spread))
        return calibration_of(own.bands, missed, spread, 1.0, float(np.sqrt(np.mean(held.truth**2))))

    calibration = calibration_by_halves(tried, n, held.groups)
    truth, predicted = rows(held.truth), rows(held.predicted)
    return unseen(
        "training functions, held out", form.outputs, held.rows, truth, predicted, band, holds, calibration
    )

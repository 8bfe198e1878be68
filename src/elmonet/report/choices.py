"""Pictures of what was chosen, and of the errors that are expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.plot import leaderboards
from elmonet.plot.axes import BLUE, ORANGE, bare, few_numbers_on_logarithms, size
from elmonet.report.account import Unseen
from elmonet.report.drawing import one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["error_spread", "layers", "leaderboard"]

_HEIGHT = 4.4  # of the leaderboard, in inches
_BINS = 25


def error_spread(unseen: Unseen, expected: float | None, interval: tuple[float, float] | None) -> bytes:
    """How the relative errors of functions spread, and what is expected of new ones."""

    def draw(ax: Axes) -> None:
        errors = unseen.errors[unseen.errors > 0]
        if len(errors):
            low, high = errors.min(), errors.max()
            low, high = (low / 1.2, high * 1.2) if high <= low * 1.01 else (low, high)
            ax.hist(errors, bins=list(np.geomspace(low, high, _BINS)), color=BLUE, alpha=0.7)
        ax.set_xscale("log")
        ax.locator_params(axis="y", integer=True)
        if interval is not None and np.isfinite(interval[1]) and interval[0] > 0:
            ax.axvspan(*interval, color=ORANGE, alpha=0.25, linewidth=0, zorder=0, label="its interval, 90 %")
        if expected:
            ax.axvline(expected, color=ORANGE, linewidth=2, label="expected error")
            ax.legend(frameon=False, fontsize="small")
        low, high = ax.get_xlim()
        ax.set_xlim(min(low, high / 10), high)
        few_numbers_on_logarithms(ax.xaxis, size(ax)[0])
        ax.set(xlabel="relative error of a function", ylabel="functions")
        bare(ax)

    return one(draw)


def leaderboard(rows: Sequence[dict[str, Any]]) -> bytes:
    """What was tried, as `plot.leaderboard` draws it."""
    known = [row for row in rows if np.isfinite(row["error"])]
    return one(lambda ax: leaderboards.leaderboard(known, ax), 8.0, _HEIGHT)


def layers(records: Sequence[dict[str, Any]]) -> bytes:
    """The error of functions held out, after each layer."""

    def draw(ax: Axes) -> None:
        ax.plot(range(1, len(records) + 1), [record["error"] for record in records], "o-", color=BLUE)
        ax.set_yscale("log")
        ax.set_xticks(range(1, len(records) + 1))
        ax.set(xlabel="layers", ylabel="error of functions held out")
        bare(ax)

    return one(draw)

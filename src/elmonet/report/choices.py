"""Pictures of what was chosen, and of the errors that are expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.plot.axes import BLUE, GREY, ORANGE, bare, few_numbers_on_logarithms, size
from elmonet.report.account import Unseen
from elmonet.report.drawing import one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["error_spread", "layers", "leaderboard"]

_MOST_ROWS = 15  # of the leaderboard
_NUMBERS = re.compile(r"\([^()]*\)")  # scales and numbers of functions, in which a kind differs
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
    """The errors of the best candidate of each kind, the best on top; grey: tried on few functions."""
    kinds: dict[str, dict[str, Any]] = {}
    for row in rows:
        if np.isfinite(row["error"]) and row["error"] > 0:
            kinds.setdefault(_NUMBERS.sub("", _label(row)), row)
    best = list(kinds.values())[:_MOST_ROWS]
    most = max((row["functions"] for row in best), default=1)

    def draw(ax: Axes) -> None:
        for at, row in enumerate(best):
            all_of_them = row["functions"] == most
            colour = ORANGE if at == 0 else BLUE if all_of_them else GREY
            ax.plot(row["error"], at, "o", color=colour, markersize=8 if at == 0 else 6)
        ax.set_xscale("log")
        errors = [row["error"] for row in best] or [0.1, 1.0]
        ax.set_xlim(min(errors) / 2, max(*errors, 5 * min(errors)) * 2)
        few_numbers_on_logarithms(ax.xaxis, size(ax)[0] / 2)
        ax.set(ylim=(len(best) - 0.5, -0.5), xlabel="error of functions left out or held out")
        ax.set_yticks(range(len(best)), [_label(row) for row in best], fontsize="small")
        ax.grid(axis="x", alpha=0.3)
        bare(ax)

    return one(draw, 8.0, 1.2 + 0.3 * max(1, len(best)))


def layers(records: Sequence[dict[str, Any]]) -> bytes:
    """The error of functions held out, after each layer."""

    def draw(ax: Axes) -> None:
        ax.plot(range(1, len(records) + 1), [record["error"] for record in records], "o-", color=BLUE)
        ax.set_yscale("log")
        ax.set_xticks(range(1, len(records) + 1))
        ax.set(xlabel="layers", ylabel="error of functions held out")
        bare(ax)

    return one(draw)


def _label(row: dict[str, Any]) -> str:
    seen = [name.replace("_", " ") for name in ("log_inputs", "log_outputs") if row.get(name)]
    text = ", ".join([str(row["branch"]), *seen]) + f" ({row['functions']})"
    return text.replace("$", r"\$")

"""An illustration of the ELM-DeepONet: what is fixed and what is learned. It needs matplotlib."""

from __future__ import annotations

from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from elmonet._check import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "ORANGE", "architecture", "new_figure"]

# From the palette of Okabe and Ito, which colour-blind people can tell apart.
BLUE, ORANGE, _GREY = "#0072B2", "#D55E00", "#767676"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches; raises `MissingExtra` without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra('plots need matplotlib: pip install "elmonet[plot]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def architecture() -> Figure:
    """The parts of an ELM-DeepONet; the unit is about an inch."""
    figure = new_figure(9, 4.0)
    ax = figure.subplots()
    ax.set(xlim=(0, 9), ylim=(0.35, 4.3), aspect="equal")
    ax.set_axis_off()
    _side(ax, 3.65, "input function $u$\nat $m$ sensors", "branch net\nrandom, fixed", "b(u)", 1)
    _side(ax, 1.35, "output point $y$", "trunk net\nrandom or sines, fixed", "t(y)", 2)
    _cells(ax, 5.75, 2.05, (4, 6), ORANGE)
    ax.text(5.65, 2.45, "$W$", ha="right", va="center", color=ORANGE, fontsize=16)
    _arrow(ax, (5.05, 3.65), (6.35, 2.93), bend=-90)
    _arrow(ax, (5.05, 1.35), (6.35, 1.97), bend=90)
    _arrow(ax, (7.03, 2.45), (7.37, 2.45))

    x = np.linspace(0, 1, 61)
    u = 0.3 * np.sin(7 * x + 0.4) * (1 - 0.4 * x)
    s = np.cumsum(u + 0.02)
    s = 0.6 * (s - s.min()) / np.ptp(s) - 0.3
    ax.plot(0.35 + 1.2 * x, 3.65 + u, color=_GREY)
    ax.plot(0.35 + 1.2 * x[::6], 3.65 + u[::6], "o", color="black", markersize=3.5)
    ax.plot((0.35, 1.55), (1.35, 1.35), "|-", color=_GREY)
    ax.plot(1.19, 1.35, "o", color="black", markersize=6)
    _box(ax, 7.4, 2.45, 1.4)
    ax.plot(7.5 + 1.2 * x, 2.45 + s, color=_GREY)
    ax.plot(7.5 + 1.2 * x[42], 2.45 + s[42], "o", color="black", markersize=6)
    ax.text(8.1, 1.87, "$G(u)(y) = t(y)^{\\top}\\, W\\, b(u)$", ha="center", va="top")

    learned = (
        "$W$ $(p_2 \\times p_1)$: all that is learned,\nby one linear solve:  $\\min_W \\; \\|TWB - G\\|$"
    )
    ax.text(6.5, 3.65, learned, va="center", color=ORANGE, linespacing=1.6)
    given = "$B$  branch of the training inputs\n$T$  trunk at the output points\n$G$  training outputs"
    ax.text(6.5, 0.98, given, va="center", color=_GREY, linespacing=1.4)
    return figure


def _side(ax: Axes, y: float, given: str, net: str, features: str, index: int) -> None:
    """The branch or the trunk at the height y: what is given, a network, its features."""
    _box(ax, 0.25, y, 1.4)
    _arrow(ax, (1.7, y), (2.12, y))
    _box(ax, 2.15, y, 1.9)
    sizes = enumerate((3, 4, 4))
    layers = [[(2.45 + 0.65 * k, y + 0.24 * (i - n / 2 + 0.5)) for i in range(n)] for k, n in sizes]
    for edge in chain.from_iterable(product(*neighbours) for neighbours in pairwise(layers)):
        ax.plot(*zip(*edge, strict=True), "o-", color="#A9CBE0", lw=0.8, ms=8, mfc="white", mec=BLUE)
    _arrow(ax, (4.1, y), (4.67, y))
    _cells(ax, 4.75, y - 0.5, (5, 1), BLUE)
    label = f"${features} \\in \\mathbb{{R}}^{{p_{index}}}$"
    for x, text, colour in ((0.95, given, "black"), (3.1, net, BLUE), (4.85, label, BLUE)):
        ax.text(x, y - 0.58, text, ha="center", va="top", color=colour)


def _cells(ax: Axes, left: float, bottom: float, shape: tuple[int, int], colour: str) -> None:
    """A matrix of that shape with invented entries as shades of the colour."""
    shades = np.random.default_rng(int(100 * bottom)).uniform(0.15, 0.9, shape)
    for (i, k), shade in np.ndenumerate(shades):
        x, y = left + 0.2 * k, bottom + 0.2 * i
        ax.fill((x, x + 0.2, x + 0.2, x), (y, y, y + 0.2, y + 0.2), fc=(colour, shade), ec="white")


def _box(ax: Axes, left: float, y: float, width: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((left, y - 0.5), width, 1, boxstyle=style, fc="#F3F5F7", ec="#B8C0C8"))


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], bend: int | None = None) -> None:
    turn = "arc3" if bend is None else f"angle,angleA=0,angleB={bend},rad=6"
    style = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.2, "connectionstyle": turn}
    ax.annotate("", end, start, arrowprops=style | {"shrinkA": 0, "shrinkB": 0})

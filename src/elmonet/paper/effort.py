"""How much work a run does."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "SHORT", "Effort"]


@dataclass(frozen=True)
class Effort:
    """The sizes of a run; they are kept with its results.

    functions : training functions, and as many for testing.
    epochs, seconds : budget of each trained DeepONet; seconds = None: epochs alone.
    batch_size : functions in a step of its training; None: all, one step per epoch.
    trials : draws of the networks that the sensitivity tables average over.
    widths : values of p1 and of p2 in the sensitivity tables.
    branch_widths : values of p1 in the figure of the error against p1.
    darcy_p1, darcy_p2 : the grid that is searched for Darcy flow.
    """

    functions: int
    epochs: int
    seconds: float | None
    batch_size: int | None
    trials: int
    widths: tuple[int, ...]
    branch_widths: tuple[int, ...]
    darcy_p1: tuple[int, ...]
    darcy_p2: tuple[int, ...]


SHORT = Effort(
    functions=1000,
    epochs=10_000,
    seconds=12.0,
    batch_size=None,
    trials=1,
    widths=(50, 100, 500, 1000, 5000),
    branch_widths=(50, 100, 200, 500, 900, 1000, 1100, 2000, 5000),
    darcy_p1=(1000, 10_000),
    darcy_p2=(100, 500),
)

FULL = Effort(
    functions=1000,
    epochs=10_000,
    seconds=None,
    batch_size=None,
    trials=10,
    widths=(50, 100, 500, 1000, 5000, 10_000),
    branch_widths=(50, 100, 200, 300, 500, 700, 900, 950, 1000, 1050, 1100, 1300, 1600, 2000, 5000, 10_000),
    darcy_p1=(500, 1000, 2500, 5000, 10_000),
    darcy_p2=(100, 500, 1000),
)

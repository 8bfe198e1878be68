"""How far what is seen of a function through a window is from all that was seen of the training functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.layers.features import Recipe
from elmonet.layers.grid import Grid
from elmonet.layers.window import Windows, box_of_offsets
from elmonet.novelty import Novelty

__all__ = ["WindowNovelty"]

_ENTRIES = 4_000_000  # of a block of windows
_MARGIN = 2.0  # times the novelty of the most unusual window, above which a function is strange
_TRAINING = 20_000  # windows of training functions that are looked at


@dataclass(frozen=True)
class WindowNovelty:
    """The novelty of a function's most unusual window: layers know only what they see through windows.

    Attributes
    ----------
    radius, spacing : of the window, along each axis, as in `Recipe`.
    training : the training grid, whose steps are the unit of the window.
    measure : of windows as rows (., C K), of C channels.
    """

    radius: tuple[int, ...]
    spacing: tuple[int, ...]
    training: Grid
    measure: Novelty

    @classmethod
    def of(cls, u: np.ndarray, grid: Grid, recipe: Recipe) -> WindowNovelty:
        """From channels u (N, C, *shape) of training functions, seen through the windows of a recipe."""
        rng = np.random.default_rng(0)
        few = rng.permutation(len(u))[: max(1, _TRAINING // min(grid.size, 64))]
        at = np.sort(rng.permutation(grid.size)[: max(1, _TRAINING // len(few))])
        seen = _seen(u[np.sort(few)], Windows(grid, grid, recipe.reach), recipe.radius, recipe.spacing, at)
        return cls(recipe.radius, recipe.spacing, grid, Novelty(seen.reshape(-1, seen.shape[-1])))

    def __call__(self, u: np.ndarray, grid: Grid) -> np.ndarray:
        """Of each function (n,), from its channels (n, C, *shape) on a grid of the domain."""
        reach = [r * h for r, h in zip(self.radius, self.spacing, strict=True)]
        windows, everywhere = Windows(grid, self.training, reach), np.arange(grid.size)
        block = max(1, _ENTRIES // (grid.size * len(self.measure.mean)))
        found = []
        for start in range(0, len(u), block):
            some = u[start : start + block]
            seen = _seen(some, windows, self.radius, self.spacing, everywhere)
            found.append(self.measure(seen.reshape(-1, seen.shape[-1])).reshape(len(some), -1).max(axis=1))
        return np.concatenate(found)

    def strange(self, u: np.ndarray, grid: Grid) -> np.ndarray:
        """Which functions (n,) have windows well beyond those of the training functions."""
        return self(u, grid) > _MARGIN

    def arrays(self) -> dict[str, np.ndarray]:
        """All but the training grid as arrays, for a file."""
        box = np.array([self.radius, self.spacing])
        return {"novelty.window": box, **{f"novelty.{n}": a for n, a in self.measure.arrays().items()}}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], training: Grid) -> WindowNovelty:
        """The inverse of `arrays`."""
        kept = {n.removeprefix("novelty."): a for n, a in arrays.items() if n.startswith("novelty.")}
        radius, spacing = kept.pop("window").tolist()
        return cls(tuple(radius), tuple(spacing), training, Novelty.from_arrays(kept))


def _seen(u: np.ndarray, windows: Windows, radius: Any, spacing: Any, at: np.ndarray) -> np.ndarray:
    """The windows (n, R, C K) of all channels at some points."""
    offsets = box_of_offsets(radius, spacing)
    return np.concatenate([windows.gather(u[:, i], offsets, at, False) for i in range(u.shape[1])], axis=2)

"""What is tried: ways to look at the data, and branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.features import CNN, MLP, SLFN, InfiniteWidth, Linear, Patches

__all__ = ["Candidate", "branches", "transforms"]

_SCALES = tuple(float(f"{s:.2g}") for s in np.geomspace(0.03, 3, 7))
_WIDTH = 2000
_PATCH_FEATURES = 16384  # features of all patches together, about
_CONSTANT = 1e-9  # a kernel of this scale is one everywhere


@dataclass(frozen=True)
class Candidate:
    """A branch, by its family and scale, with a linear block beside it or not.

    `family` is "none", "constant", a kernel of `InfiniteWidth`, "cos" or "tanh" of `SLFN`, "mlp", "cnn",
    or "patches3" or "patches5", with `Patches` of that size inside.
    """

    family: str
    scale: float = 1.0
    linear: bool = False

    def branch(self, X: np.ndarray, spread: float, seed: int) -> Any:
        """The branch for inputs like X, of that spread; scales are in units of one over it."""
        parts: list[Any] = [Linear()] if self.linear else []
        scale = self.scale / spread
        if self.family in ("cos", "tanh"):
            distribution = "normal" if self.family == "cos" else "uniform"
            parts.append(SLFN(_WIDTH, self.family, scale, distribution=distribution, random_state=seed))
        elif self.family == "mlp":
            parts.append(MLP(_WIDTH, hidden=256, scale=scale, random_state=seed))
        elif self.family == "cnn":
            parts.append(CNN(_WIDTH, scale=scale, random_state=seed))
        elif self.family.startswith("patches"):
            size, pixels = int(self.family.removeprefix("patches")), X.shape[-1] * X.shape[-2]
            channels = min(64, max(8, _PATCH_FEATURES // pixels))
            inner = Patches(channels, size, 1 / spread, random_state=seed)
            parts.append(InfiniteWidth("rbf", self.scale, inner=inner))
        elif self.family == "constant":
            parts.append(InfiniteWidth("rbf", _CONSTANT / spread))
        elif self.family != "none":
            parts.append(InfiniteWidth(self.family, scale))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def neighbours(self, step: float) -> Iterator[Candidate]:
        """The same with a scale that is smaller and larger by a factor."""
        if self.family not in ("none", "constant"):
            for scale in (self.scale / step, self.scale * step):
                yield Candidate(self.family, float(f"{scale:.3g}"), self.linear)

    def __str__(self) -> str:
        family = {"none": [], "constant": ["constant"]}.get(self.family, [f"{self.family}({self.scale:g})"])
        return " + ".join(["linear"] * self.linear + family)


def transforms(X: np.ndarray, y: np.ndarray) -> list[dict[str, bool]]:
    """The ways to look at the data that these allow: logarithms need positive numbers."""
    log_X = [False, True] if (X > 0).all() and X.max() > 2 * X.min() else [False]
    zero = (y == 0).all(axis=0)
    log_y = [False, True] if (y[:, ~zero] > 0).all() and not zero.all() else [False]
    ways = [(a, b, c) for a in log_X for b in log_y for c in (True, False)]
    return [{"log_inputs": a, "log_outputs": b, "scale_inputs": c} for a, b, c in ways]


def probes() -> list[Candidate]:
    """A few candidates that tell which way to look at the data."""
    return [
        Candidate("none", linear=True),
        *(Candidate("rbf", scale, linear) for scale in (0.1, 0.3, 1.0) for linear in (False, True)),
        *(Candidate("matern52", scale) for scale in (0.1, 1.0)),
    ]


def branches(image: bool) -> list[Candidate]:
    """Every candidate for the branch."""
    kernels = [
        Candidate(family, scale, linear)
        for family in ("rbf", "matern52", "matern32", "matern12", "relu")
        for scale in _SCALES
        for linear in (False, True)
    ]
    networks = [
        Candidate(family, scale, True) for family in ("cos", "tanh") for scale in (0.03, 0.1, 0.3, 1.0)
    ]
    deep = [Candidate("mlp")]
    if image:
        patches = [Candidate(family, scale) for family in ("patches3", "patches5") for scale in (0.3, 1.0)]
        deep += [Candidate("cnn"), *patches]
    return [Candidate("constant"), Candidate("none", linear=True), *kernels, *networks, *deep]

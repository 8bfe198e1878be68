"""Where to look for the best scale next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elmonet.features import CNN, MLP, SLFN, InfiniteWidth, Linear
from elmonet.forms.training import Training

__all__ = ["Candidate", "branches", "next_scale", "probes", "transforms"]

_SCALES = (0.03, 0.1, 0.3, 1.0, 3.0)
_NETWORKS = {  # activation and distribution of the weights
    "cos": ("cos", "normal"),
    "cos-t": ("cos", "student3"),
    "tanh": ("tanh", "uniform"),
    "relu-net": ("relu", "uniform"),
}
_WIDTH = 2000
_TAIL = 6.0  # standard deviations
_CONSTANT = 1e-9  # a kernel of this scale is one everywhere


@dataclass(frozen=True)
class Candidate:
    """A branch, by its family and scale, with a linear block beside it or not.

    `family` is "none", "constant", a kernel of `InfiniteWidth`; "cos", "cos-t", "tanh" or "relu-net" of
    `SLFN`, "mlp" or "cnn", which have a width; or "patch5", the rbf kernel of patches of that side.
    """

    family: str
    scale: float = 1.0
    linear: bool = False
    width: int = 0

    def branch(self, X: np.ndarray, spread: float, seed: int) -> Any:
        """The branch for inputs like X, of that spread; scales are in units of one over it."""
        parts: list[Any] = [Linear()] if self.linear else []
        scale = self.scale / spread
        if self.family in _NETWORKS:
            activation, distribution = _NETWORKS[self.family]
            parts.append(SLFN(self.width, activation, scale, distribution=distribution, random_state=seed))
        elif self.family == "mlp":
            parts.append(MLP(self.width, hidden=256, scale=scale, random_state=seed))
        elif self.family == "cnn":
            parts.append(CNN(self.width, scale=scale, random_state=seed))
        elif self.family.startswith("patch"):
            parts.append(InfiniteWidth("rbf", scale, patch=int(self.family.removeprefix("patch"))))
        elif self.family == "constant":
            parts.append(InfiniteWidth("rbf", _CONSTANT / spread))
        elif self.family != "none":
            parts.append(InfiniteWidth(self.family, scale))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    @property
    def has_scale(self) -> bool:
        """Whether there is a scale to choose."""
        return self.family not in ("none", "constant")

    def at(self, scale: float) -> Candidate:
        """The same with another scale, of three digits."""
        return replace(self, scale=float(f"{scale:.3g}"))

    def __str__(self) -> str:
        told = f"{self.scale:g}" + (f", width {self.width}" if self.width else "")
        family = {"none": [], "constant": ["constant"]}.get(self.family, [f"{self.family}({told})"])
        return " + ".join(["linear"] * self.linear + family)

    @property
    def explained(self) -> str:
        """What the name stands for."""
        family = self.family.rstrip("0123456789")
        network = f"{self.width} random features"
        told = {
            "none": [],
            "constant": ["the mean of the outputs"],
            "rbf": ["a Gaussian kernel"],
            "matern": ["a Matern kernel"],
            "relu": ["the kernel of a wide network (relu)"],
            "patch": ["a Gaussian kernel of small parts of the grid"],
            "mlp": [f"{network} of a deep network"],
            "cnn": [f"{network} of an image network"],
        }.get(family, [f"{network} ({self.family.removesuffix('-net').removesuffix('-t')})"])
        return " and ".join(["a linear map"] * self.linear + told)


def transforms(
    training: Training, log_inputs: bool | None = None, log_outputs: bool | None = None
) -> list[dict[str, bool]]:
    """The ways to look at the data: with logarithms or without; None: both, where the data allow it."""
    zero = (training.y == 0).all(axis=0)
    positive = bool((training.y[:, ~zero] > 0).all()) and not zero.all() and not training.outputs.components
    inputs = [bool(log_inputs)]
    if log_inputs is None and _room_for_logarithms(training.X):
        inputs = [False, True]
    outputs = [bool(log_outputs)]
    if log_outputs is None and positive:
        outputs = [False, True]
    ways = [(a, b, c) for a in inputs for b in outputs for c in (True, False)]
    return [{"log_inputs": a, "log_outputs": b, "scale_inputs": c} for a, b, c in ways]


def _room_for_logarithms(X: np.ndarray) -> bool:
    """Whether inputs are positive by nature: they vary by factors, and none is much nearer to zero.

    The logarithms of numbers that may as well be zero or below have a long tail to the left.
    """
    if not (X > 0).all() or X.max() <= 2 * X.min():
        return False
    logarithms = np.log(X)
    return bool(logarithms.mean() - logarithms.min() <= _TAIL * logarithms.std())


def probes() -> list[Candidate]:
    """A few candidates that show which way to look at the data is best."""
    return [
        Candidate("none", linear=True),
        *(Candidate("rbf", scale, linear) for scale in (0.1, 0.3, 1.0) for linear in (False, True)),
        *(Candidate("matern52", scale) for scale in (0.1, 1.0)),
    ]


def branches(shape: tuple[int, ...]) -> list[Candidate]:
    """Every candidate for the branch, for inputs of that shape."""
    kernels = [
        Candidate(family, scale, linear)
        for family in ("rbf", "matern52", "matern32", "matern12", "relu")
        for scale in _SCALES
        for linear in (False, True)
    ]
    networks = [
        Candidate(family, scale, True, width)
        for family, width in (*((family, _WIDTH) for family in _NETWORKS), ("cos", 500))
        for scale in (0.1, 0.3, 1.0)
    ]
    deep = [Candidate("mlp", width=_WIDTH)]
    if len(shape) > 1:
        deep += [Candidate("cnn", width=_WIDTH)]
        sides = {2 * round(min(shape[-2:]) * part / 2) + 1 for part in (0.25, 0.4)}
        deep += [Candidate(f"patch{side}", scale) for side in sorted(sides) for scale in (0.5, 1.5)]
    return [Candidate("constant"), Candidate("none", linear=True), *kernels, *networks, *deep]


_STEP = 1.4  # factor to a first neighbour
_ENOUGH = 1.03  # scales within this factor are the same


def next_scale(scales: Sequence[float], errors: Sequence[float]) -> float | None:
    """The scale to try next, given the errors at some; None if there is nothing to gain.

    The best scale gets a neighbour on either side, then comes the vertex of the parabola through the three,
    in logarithms of scale and error.
    """
    order = np.argsort(scales)
    x, f = np.log(np.asarray(scales)[order]), np.log(np.maximum(np.asarray(errors)[order], 1e-300))
    best = int(np.argmin(f))
    if best == len(x) - 1:
        # Outwards, as far as the last step went, but not with a leap.
        step = x[-1] - x[-2] if len(x) > 1 else np.log(_STEP)
        return float(np.exp(x[-1] + step))
    if best == 0:
        return float(np.exp(x[0] - (x[1] - x[0])))
    before, after = x[best] - x[best - 1], x[best + 1] - x[best]
    rise, fall = f[best + 1] - f[best], f[best - 1] - f[best]
    # f = rise at +after, fall at -before, zero at 0: the vertex of the parabola through the three.
    slope = (rise * before**2 - fall * after**2) / (before * after * (before + after))
    curvature = 2 * (rise * before + fall * after) / (before * after * (before + after))
    if curvature <= 0:
        return None
    move = float(np.clip(-slope / curvature, -before / 2, after / 2))
    vertex = float(np.exp(x[best] + move))
    known = np.exp(np.abs(x - np.log(vertex)).min())
    return None if known < _ENOUGH else vertex

"""The candidates of the automatic search: transforms of the data, branches, and scales of branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elmonet.features import CNN, MLP, SLFN, InfiniteWidth, Linear
from elmonet.forms.training import Training

_KERNEL_SCALES = (0.03, 0.1, 0.3, 1.0, 3.0)
_NETWORK_WIDTH = 2000  # random features
_NETWORKS = {  # activation and distribution of the weights
    "cos": ("cos", "normal"),
    "cos-t": ("cos", "student3"),
    "tanh": ("tanh", "uniform"),
    "relu-net": ("relu", "uniform"),
}
_SMOOTH = (0.03, 0.06)  # of the side of an image, over which images are smoothed
_CONSTANT_SCALE = 1e-9  # a kernel of this scale is one everywhere
_LOG_TAIL = 6.0  # standard deviations between the mean and the smallest logarithm of positive inputs, at most
_FIRST_STEP = 1.4  # factor from a single scale to its first neighbour
_SAME_SCALE = 1.03  # scales within this factor count as equal


@dataclass(frozen=True)
class Candidate:
    """A branch, given by its family and scale, with or without a linear block beside it.

    `family` is "none", "constant" or a kernel of `InfiniteWidth`; "cos", "cos-t", "tanh" or "relu-net" of
    `SLFN`, "mlp" or "cnn", which have a width; "patch5", the rbf kernel on patches of that side; or
    "smooth1.4", the matern32 kernel of images smoothed over so many pixels.
    """

    family: str
    scale: float = 1.0
    linear: bool = False
    width: int = 0

    def branch(self, spread: float, seed: int) -> Any:
        """Return the branch, not fitted; scales are in units of 1 / `spread` of the inputs."""
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
        elif self.family.startswith("smooth"):
            pixels = float(self.family.removeprefix("smooth"))
            parts.append(InfiniteWidth("matern32", scale, smooth=pixels))
        elif self.family == "constant":
            parts.append(InfiniteWidth("rbf", _CONSTANT_SCALE / spread))
        elif self.family != "none":
            parts.append(InfiniteWidth(self.family, scale))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    @property
    def has_scale(self) -> bool:
        """Whether the family has a scale to choose."""
        return self.family not in ("none", "constant")

    def at(self, scale: float) -> Candidate:
        """Return the same candidate at another scale, rounded to three digits."""
        return replace(self, scale=float(f"{scale:.3g}"))

    def __str__(self) -> str:
        settings = f"{self.scale:g}" + (f", width {self.width}" if self.width else "")
        family = {"none": [], "constant": ["constant"]}.get(self.family, [f"{self.family}({settings})"])
        return " + ".join(["linear"] * self.linear + family)

    @property
    def description(self) -> str:
        """What the name stands for."""
        family = self.family.rstrip("0123456789.")
        network = f"{self.width} random features"
        parts = {
            "none": [],
            "constant": ["the mean of the outputs"],
            "rbf": ["a Gaussian kernel"],
            "matern": ["a Matern kernel"],
            "relu": ["an arc-cosine kernel (wide relu network)"],
            "patch": ["a Gaussian kernel on image patches"],
            "smooth": ["a Matern kernel of smoothed images"],
            "mlp": [f"{network} of a deep network"],
            "cnn": [f"{network} of a convolutional network"],
        }.get(family, [f"{network} ({self.family.removesuffix('-net').removesuffix('-t')})"])
        return " and ".join(["a linear map"] * self.linear + parts)


def transforms(
    training: Training, log_inputs: bool | None = None, log_outputs: bool | None = None
) -> list[dict[str, bool]]:
    """Return the transforms to try, as settings of `ELMDeepONet`.

    Logarithms are tried as given; None: with and without them, where the data allow it.
    """
    zero = (training.y == 0).all(axis=0)
    positive = bool((training.y[:, ~zero] > 0).all()) and not zero.all() and not training.outputs.components
    inputs = [bool(log_inputs)]
    if log_inputs is None and _positive_by_nature(training.X):
        inputs = [False, True]
    outputs = [bool(log_outputs)]
    if log_outputs is None and positive:
        outputs = [False, True]
    # Components that are centred count in units of their variation: only with them all errors are alike.
    form = training.outputs.prepared(training.y, training.counts, logarithms=False, scale=True)
    scaled = (True,) if form.components and form.centre is not None else (True, False)
    settings = [(a, b, c) for a in inputs for b in outputs for c in scaled]
    return [{"log_inputs": a, "log_outputs": b, "scale_inputs": c} for a, b, c in settings]


def _positive_by_nature(X: np.ndarray) -> bool:
    """Whether inputs vary by factors, with no value much closer to zero than the others.

    Logarithms of values that may as well be zero or negative have a long left tail.
    """
    if not (X > 0).all() or X.max() <= 2 * X.min():
        return False
    logarithms = np.log(X)
    return bool(logarithms.mean() - logarithms.min() <= _LOG_TAIL * logarithms.std())


def probes() -> list[Candidate]:
    """Return the few candidates by which transforms are compared."""
    return [
        Candidate("none", linear=True),
        *(Candidate("rbf", scale, linear) for scale in (0.1, 0.3, 1.0) for linear in (False, True)),
        *(Candidate("matern52", scale) for scale in (0.1, 1.0)),
    ]


def branches(shape: tuple[int, ...]) -> list[Candidate]:
    """Return all candidates for the branch, for inputs of this shape."""
    kernels = [
        Candidate(family, scale, linear)
        for family in ("rbf", "matern52", "matern32", "matern12", "relu")
        for scale in _KERNEL_SCALES
        for linear in (False, True)
    ]
    networks = [
        Candidate(family, scale, True, width)
        for family, width in (*((family, _NETWORK_WIDTH) for family in _NETWORKS), ("cos", 500))
        for scale in (0.1, 0.3, 1.0)
    ]
    deep = [Candidate("mlp", width=_NETWORK_WIDTH)]
    if len(shape) > 1:
        deep += [Candidate("cnn", width=_NETWORK_WIDTH)]
        sides = {2 * round(min(shape[-2:]) * part / 2) + 1 for part in (0.25, 0.4)}
        deep += [Candidate(f"patch{side}", scale) for side in sorted(sides) for scale in (0.5, 1.5)]
        pixels = [min(shape[-2:]) * part for part in _SMOOTH]
        deep += [Candidate(f"smooth{p:.2g}", scale) for p in pixels for scale in (0.1, 0.3, 1.0)]
    return [Candidate("constant"), Candidate("none", linear=True), *kernels, *networks, *deep]


def next_scale(scales: Sequence[float], errors: Sequence[float]) -> float | None:
    """Return the scale to try next, given the errors at some scales; None if there is nothing to gain.

    The best scale first gets a neighbour on either side. Then comes the vertex of the parabola through the
    three, in logarithms of scale and error.
    """
    order = np.argsort(scales)
    x, f = np.log(np.asarray(scales)[order]), np.log(np.maximum(np.asarray(errors)[order], 1e-300))
    best = int(np.argmin(f))
    if best == len(x) - 1:  # outwards, as far as the last step went
        step = x[-1] - x[-2] if len(x) > 1 else np.log(_FIRST_STEP)
        return float(np.exp(x[-1] + step))
    if best == 0:
        return float(np.exp(x[0] - (x[1] - x[0])))
    before, after = x[best] - x[best - 1], x[best + 1] - x[best]
    rise, fall = f[best + 1] - f[best], f[best - 1] - f[best]
    # The parabola is 0 at 0, `rise` at +after and `fall` at -before; its slope and curvature at 0:
    slope = (rise * before**2 - fall * after**2) / (before * after * (before + after))
    curvature = 2 * (rise * before + fall * after) / (before * after * (before + after))
    if curvature <= 0:
        return None
    move = float(np.clip(-slope / curvature, -before / 2, after / 2))
    vertex = float(np.exp(x[best] + move))
    nearest = np.exp(np.abs(x - np.log(vertex)).min())
    return None if nearest < _SAME_SCALE else vertex

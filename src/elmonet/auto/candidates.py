"""The candidates of the automatic search: transforms of the data, branches, and scales of branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from elmonet.features import CNN, MLP, SLFN, InfiniteWidth, Linear
from elmonet.forms.inputs import InputForm
from elmonet.forms.parts import InputPart, parts_of_settings, positive_by_nature
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
_FIRST_STEP = 1.4  # factor from a single scale to its first neighbour
_WORTH_A_TRIAL = 0.01  # fall of the error's logarithm that a parabola must promise


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
    def sees_images(self) -> bool:
        """Whether the family takes images only."""
        return self.family == "cnn" or self.family.startswith(("patch", "smooth"))

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


@dataclass(frozen=True)
class Transform:
    """How the data are transformed before branch and trunk see them, as settings of `ELMDeepONet`.

    Attributes
    ----------
    log_outputs, scale_inputs : as in `ELMDeepONet`.
    parts : the parts of the inputs, and how the branch sees each; None: all as they are.
    metric : matrix that inputs are multiplied by; None for none.
    """

    log_outputs: bool
    scale_inputs: bool
    parts: tuple[InputPart, ...] | None = None
    metric: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def logarithms(self) -> list[str]:
        """Names of the parts whose logarithms are taken."""
        return [part.name for part in self.parts or () if part.logarithm]

    @property
    def learned(self) -> bool:
        """Whether scales of parts or a metric were learned from the training functions."""
        parts = self.parts or ()
        return self.metric is not None or any(r != 1 for part in parts for r in part.relevance)

    def settings(self, inputs: InputForm) -> dict[str, Any]:
        """Return the settings of an `ELMDeepONet` for inputs of this form."""
        own: dict[str, Any] = {"log_outputs": self.log_outputs, "scale_inputs": self.scale_inputs}
        if self.parts == parts_of_settings(None, True, inputs.whole_parts()):
            return own | {"log_inputs": True, "metric": self.metric}
        return own | {"parts": self.parts, "metric": self.metric}

    def row(self) -> dict[str, Any]:
        """Return the entries of a row of the leaderboard."""
        names = self.logarithms
        log_inputs = ", ".join(names) if self.parts and len(names) < len(self.parts) else bool(names)
        own = {"log_inputs": log_inputs or False, "scale_inputs": self.scale_inputs}
        return own | {"log_outputs": self.log_outputs}


def transforms(
    training: Training,
    log_inputs: bool | Mapping[str, bool] | None = None,
    log_outputs: bool | None = None,
    every: Training | None = None,
) -> list[Transform]:
    """Return the transforms to begin with.

    Logarithms are tried as given; None: with and without them, where `every` function that the model will
    see, by default those of `training`, allows it.
    """
    every = training if every is None else every
    zero = (every.y == 0).all(axis=0)
    positive = bool((every.y[:, ~zero] > 0).all()) and not zero.all() and not training.outputs.components
    parts = training.inputs.whole_parts()
    inputs = [parts_of_settings(None, log_inputs or False, parts)]
    if log_inputs is None and positive_by_nature(every.X):
        inputs.append(parts_of_settings(None, True, parts))
    outputs = [bool(log_outputs)]
    if log_outputs is None and positive:
        outputs = [False, True]
    # Components that are centred count in units of their variation: only with them all errors are alike.
    form = training.outputs.prepared(training.y, training.counts, logarithms=False, scale=True)
    scaled = (True,) if form.components and form.centre is not None else (True, False)
    return [Transform(b, c, a) for a in inputs for b in outputs for c in scaled]


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


def falls_downwards(scales: Sequence[float], errors: Sequence[float]) -> bool:
    """Return whether the error rises more slowly below the best scale than above it, as far as is known."""
    order = np.argsort(scales)
    x, f = np.log(np.asarray(scales)[order]), np.log(np.maximum(np.asarray(errors)[order], 1e-300))
    best = int(np.argmin(f))
    if not 0 < best < len(x) - 1:
        return best == 0 and len(x) > 1
    return bool(
        (f[best - 1] - f[best]) / (x[best] - x[best - 1]) < (f[best + 1] - f[best]) / (x[best + 1] - x[best])
    )


def next_scale(scales: Sequence[float], errors: Sequence[float], *, down: bool = False) -> float | None:
    """Return the scale to try next, given the errors at some scales; None if there is nothing to gain.

    The best scale first gets a neighbour on either side, of a single one above it, or below with `down`. Then
    comes the vertex of the parabola through the three, in logarithms of scale and error.
    """
    order = np.argsort(scales)
    x, f = np.log(np.asarray(scales)[order]), np.log(np.maximum(np.asarray(errors)[order], 1e-300))
    best = int(np.argmin(f))
    if best == len(x) - 1:  # outwards, as far as the last step went
        step = x[-1] - x[-2] if len(x) > 1 else np.log(_FIRST_STEP) * (-1 if down else 1)
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
    gain = -(slope * move + curvature * move**2 / 2)
    return None if gain < _WORTH_A_TRIAL else float(np.exp(x[best] + move))

"""Conversion between the user's functions and channels on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from elmonet.checks import coordinates, finite, plain
from elmonet.description import Graph
from elmonet.errors import InputError
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import Training, place_points
from elmonet.layered.grid import Grid, find_grid, find_periodic
from elmonet.layered.windows import resampled

_MOST_NUMBERS = 32  # values of an input that is not a field; each becomes a constant channel
_FEWEST_POINTS = 4  # along each axis


@dataclass(frozen=True)
class InputChannels:
    """The channels that one input of the user becomes: fields on the grid, or constants from numbers."""

    name: str | None
    shape: tuple[int, ...]
    channels: int
    is_field: bool


@dataclass(frozen=True)
class FieldForm:
    """The form of the user's functions, and of the channels that layers see.

    Attributes
    ----------
    grid : the training grid.
    order : (M,), the order that sorts the points onto it.
    inputs : the form of the inputs.
    parts : the channels of each input.
    outputs : the form of the outputs.
    shift, scale : (C,), of the input channels: layers see (u - shift) / scale.
    size : root mean square of the outputs: layers see outputs divided by it.
    """

    grid: Grid
    order: np.ndarray
    inputs: InputForm
    parts: tuple[InputChannels, ...]
    outputs: OutputForm
    shift: np.ndarray
    scale: np.ndarray
    size: float

    def channels(self, X: Any, grid: Grid, order: np.ndarray) -> np.ndarray:
        """Return the user's inputs at the points of a grid, which `order` sorts, as (n, C, *shape)."""
        u = grid.without_repeats(_channels(X, self.parts, grid, order))
        like = (-1, *[1] * len(grid.shape))
        return (u - self.shift.reshape(like)) / self.scale.reshape(like)

    def trace_channels(self, graph: Graph, x: int) -> list[int]:
        """Write `channels` on the training grid: from the user's inputs, flat, to one value each channel."""
        found, at = [], 0
        for part in self.parts:
            size = prod(part.shape)
            index = at + np.arange(size).reshape(part.channels, -1)
            index = index[:, self.order] if part.is_field else np.tile(index, len(self.order))
            index = self.grid.without_repeats(index.reshape(part.channels, *self.grid.given))
            found += [graph.gather(x, own) for own in index]
            at += size
        scaled = zip(found, self.shift, self.scale, strict=True)
        return [graph.scale(channel, 1 / size, before=middle) for channel, middle, size in scaled]

    def trace_states(self, graph: Graph, rows: int) -> list[int]:
        """Write `states`: from output rows to one value each component."""
        c = max(1, self.outputs.components)
        index = np.arange(c * len(self.order)).reshape(c, -1)[:, self.order]
        index = self.grid.without_repeats(index.reshape(c, *self.grid.given))
        return [graph.scale(graph.gather(rows, own), 1 / self.size) for own in index]

    def points_of(self, X: Any) -> int:
        """Return at how many points the user's inputs are known."""
        field = next(part for part in self.parts if part.is_field)
        named = X if field.name is None or isinstance(X, dict) else {str(i): v for i, v in enumerate(X)}
        values = X if field.name is None else named[field.name]
        return prod(np.shape(values)[1:]) // field.channels

    def at_training_grid(self, X: Any, grid: Grid, order: np.ndarray) -> Any:
        """Resample inputs from another grid to the training grid, in the user's form."""
        back = np.argsort(self.order)
        found: dict[Any, np.ndarray] = {}
        for part, values in zip(self.parts, _arrays(X, self.parts), strict=True):
            if part.is_field:
                fields = _on_grid(values, part, grid, order)
                fields = self.grid.with_repeats(resampled(grid.without_repeats(fields), grid, self.grid))
                values = fields.reshape(len(fields), part.channels, -1)[..., back].reshape(-1, *part.shape)
            found[part.name] = values
        return found.get(None, found)

    def states(self, rows: np.ndarray) -> np.ndarray:
        """Return output rows (N, c M) on the training grid as layers see them, (N, c, *shape)."""
        c = max(1, self.outputs.components)
        fields = rows.reshape(len(rows), c, -1)[..., self.order].reshape(len(rows), c, *self.grid.given)
        return self.grid.without_repeats(fields.astype(np.float64)) / self.size


def find_fields(
    training: Training, sensors: Any, periodic: bool | None
) -> tuple[FieldForm, np.ndarray, np.ndarray]:
    """Find the form of training functions; return it, and their inputs and outputs as layers see them.

    Raises `InputError` if inputs and outputs are not fields on one uniform grid.
    """
    if training.outputs.scattered:
        raise InputError("layers need outputs on one grid; each of these functions has points of its own.")
    if training.has_gaps:
        raise InputError("layers need outputs without gaps. Remove the functions with missing values.")
    grid, order = find_grid(training.outputs.points)
    if min(grid.given) < _FEWEST_POINTS:
        raise InputError(
            f"a grid of {' x '.join(map(str, grid.given))} points is too small for layers, which need at "
            f"least {_FEWEST_POINTS} along each axis. Use ELMDeepONet, which takes any points."
        )
    if sensors is not None:
        places, points = coordinates(place_points(sensors)[0]), training.outputs.points
        if places.shape != points.shape or not np.allclose(places, points):
            raise InputError(
                "layers need inputs and outputs on the same grid; the sensors differ from the points. Use "
                "elmonet.resample to get the inputs at the points."
            )
    parts = _find_parts(training, grid)
    X = training.inputs.as_given(training.X)
    u = _channels(X, parts, grid, order)
    c = max(1, training.outputs.components)
    s = training.y.reshape(len(u), c, -1)[..., order].reshape(len(u), c, *grid.given)
    varying = [i for i in range(u.shape[1]) if np.ptp(u[:, i].reshape(len(u), -1), axis=1).any()]
    grid = find_periodic(grid, np.concatenate([u[:, varying], s], axis=1), periodic)
    u = grid.without_repeats(u)
    others = (0, *range(2, u.ndim))
    scale = u.std(axis=others)
    scale = np.where(scale > 0, scale, 1.0)
    size = float(np.sqrt(np.mean(training.y.astype(np.float64) ** 2))) or 1.0
    form = FieldForm(grid, order, training.inputs, parts, training.outputs, u.mean(axis=others), scale, size)
    return form, form.channels(X, grid, order), form.states(training.y)


def _find_parts(training: Training, grid: Grid) -> tuple[InputChannels, ...]:
    """Return the channels of each input."""
    inputs, M = training.inputs, prod(grid.given)
    names = inputs.names or (None,)
    shapes = inputs.shapes or (inputs.given,)
    parts = []
    for name, shape in zip(names, shapes, strict=True):
        size = prod(shape)
        # Channels come first, (C, H, W); a single one may come as (H, W) or (M,).
        is_field = size == M or (len(shape) > 1 and prod(shape[1:]) == M)
        if not is_field and (size > _MOST_NUMBERS or len(names) == 1):
            raise InputError(
                f"layers need inputs and outputs on one grid; the outputs are known at {M} points, but the "
                f"input {'' if name is None else repr(name) + ' '}has {size} values. Use elmonet.resample, "
                "or ELMDeepONet, which takes inputs and outputs at different points."
            )
        parts.append(InputChannels(name, shape, size // M if is_field else size, is_field))
    if not any(part.is_field for part in parts):
        raise InputError("layers need at least one input that is a field on the grid of the outputs.")
    return tuple(parts)


def _arrays(X: Any, parts: tuple[InputChannels, ...]) -> list[np.ndarray]:
    """Return the array of each input, checked."""
    if parts[0].name is None:
        given = [X]
    else:
        pairs = X.items() if isinstance(X, dict) else enumerate(X)
        named = {str(name): values for name, values in pairs}
        if set(named) != {part.name for part in parts}:
            raise InputError(
                f"this model has the inputs {', '.join(str(p.name) for p in parts)}; got {', '.join(named)}."
            )
        given = [named[str(part.name)] for part in parts]
    arrays = [np.asarray(plain(values), dtype=np.float64) for values in given]
    for values in arrays:
        finite(values, "X")
    return arrays


def _on_grid(values: np.ndarray, part: InputChannels, grid: Grid, order: np.ndarray) -> np.ndarray:
    """Return one input as fields (n, channels, *given)."""
    n = len(values)
    if values.ndim < 2 or values.size != n * part.channels * len(order):
        raise InputError(
            f"each input must be known at the {len(order)} points of the outputs; X has the shape "
            f"{values.shape}. For inputs on another grid of the same domain, give predict its points."
        )
    return values.reshape(n, part.channels, -1)[..., order].reshape(n, part.channels, *grid.given)


def _channels(X: Any, parts: tuple[InputChannels, ...], grid: Grid, order: np.ndarray) -> np.ndarray:
    """Return all inputs as channels (n, C, *given); numbers become constant channels."""
    channels = []
    for part, values in zip(parts, _arrays(X, parts), strict=True):
        if part.is_field:
            channels.append(_on_grid(values, part, grid, order))
        else:
            numbers = values.reshape(len(values), part.channels, *[1] * len(grid.given))
            channels.append(np.broadcast_to(numbers, (*numbers.shape[:2], *grid.given)))
    return np.concatenate(channels, axis=1)

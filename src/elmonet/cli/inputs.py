"""The input functions of a file, for a model that knows their shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data import OperatorData, Scattered, read
from elmonet.data.formats import open_arrays
from elmonet.data.lazy import load

__all__ = ["Found", "read_inputs"]


@dataclass(frozen=True)
class Found:
    """Inputs, where to predict (None: at the training points), and, if the file has them, outputs there."""

    u: Any
    points: Any
    truth: Any
    told: str

    @property
    def functions(self) -> int:
        """How many."""
        return len(next(iter(self.u.values()))) if isinstance(self.u, dict) else len(self.u)


def read_inputs(model: Any, path: Path, input: Any, points: Any) -> Found:
    """Find the input functions of a file: by the names of data sets, or else by the model's shape."""
    u: Any
    where = None if points is None else _points(points)
    try:
        data = read(path, input=input)
        part = "train" if data.u_test is None else "test"
        u, s = getattr(data, f"u_{part}"), getattr(data, f"s_{part}")
        if _fits(model, u):
            return _with_truth(model, data, _as_model(model, u), s, part, where)
    except InputError:
        pass
    with open_arrays(path) as arrays:
        names = [input] if isinstance(input, str) else list(input or ())
        for name in names:
            if name not in arrays:
                raise InputError(f"{str(path)!r} has no array {name!r}; it has {', '.join(arrays)}.")
        wanted = model._inputs
        if wanted is not None:
            chosen = dict(zip(wanted.names, names, strict=False)) if names else {n: n for n in wanted.names}
            absent = [name for name in wanted.names if chosen.get(name) not in arrays]
            if absent:
                raise InputError(
                    f"the model has the inputs {', '.join(wanted.names)}; {str(path)!r} lacks "
                    f"{', '.join(absent)} (it has {', '.join(arrays)}). Name them in order with --input."
                )
            u = {name: np.asarray(load(arrays[chosen[name]]), float) for name in wanted.names}
            return Found(u, where, None, f"input functions: {', '.join(chosen.values())}")
        fitting = [name for name in names or arrays if _fits(model, arrays[name])]
        if len(fitting) != 1:
            listed = ", ".join(f"{name} {tuple(arrays[name].shape)}" for name in arrays)
            how = "several arrays fit" if fitting else "none does"
            raise InputError(
                f"the model takes input functions of shape (N, {', '.join(map(str, model.input_shape_))}), "
                f"and of {listed} in {str(path)!r} {how}. Name one with --input."
            )
        u = _as_model(model, np.asarray(load(arrays[fitting[0]]), float))
        return Found(u, where, None, f"input functions: {fitting[0]} {u.shape}")


def _with_truth(model: Any, data: OperatorData, u: Any, s: Any, part: str, where: Any) -> Found:
    n = len(next(iter(u.values()))) if isinstance(u, dict) else len(u)
    told = f"{n} {part + ' ' if data.u_test is not None else ''}functions"
    if data.components is not None and hasattr(s, "shape"):
        s = {name: s[..., i] for i, name in enumerate(data.components)}
    if where is not None:
        return Found(u, where, None, told)
    if isinstance(s, Scattered):
        return Found(u, s, s, told)
    here = model._needs_points or (
        data.points is not None and not np.array_equal(np.asarray(data.points), model._places_given)
    )
    return Found(u, data.points if here else None, s, told)


def _fits(model: Any, u: Any) -> bool:
    if model._inputs is not None:
        return isinstance(u, dict) and {str(name) for name in u} == set(model._inputs.names)
    shape = tuple(getattr(u, "shape", ()))[1:]
    return shape == model.input_shape_ or (len(shape) > 0 and np.prod(shape) == np.prod(model.input_shape_))


def _as_model(model: Any, u: Any) -> Any:
    return u if isinstance(u, dict) else np.asarray(u, float).reshape(len(u), *model.input_shape_)


def _points(points: str) -> np.ndarray:
    with open_arrays(points) as arrays:
        if len(arrays) != 1:
            raise InputError(f"{points!r} must hold one array of points (M, d), it has {', '.join(arrays)}.")
        return np.asarray(load(next(iter(arrays.values()))), float)

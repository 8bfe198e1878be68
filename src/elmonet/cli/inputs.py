"""The input functions of a file, for a model that was fitted to their shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.cli.understanding import named_outputs
from elmonet.data import OperatorData, Scattered, read
from elmonet.data.formats import open_arrays
from elmonet.data.lazy import last_axis_first, load
from elmonet.data.understand import Contents
from elmonet.form.inputs import count_of

__all__ = ["Found", "points_from", "read_inputs", "training_functions"]

_PARTS = {"train": "training ", "test": "test "}


@dataclass(frozen=True)
class Found:
    """Inputs, and, if the file has them, outputs with their points (None: the training points)."""

    u: Any
    told: str
    points: Any = None
    truth: Any = None
    sensors: Any = None
    axes: tuple[str, ...] | None = None
    why: str = ""
    """There are no outputs, because..."""

    @property
    def functions(self) -> int:
        """How many."""
        return count_of(self.u)


def read_inputs(model: Any, path: Path, **names: Any) -> Found:
    """Find the input functions of a file: by the names of data sets, or else by the model's shape.

    The names are those of `read`.
    """
    asked, max_bytes = names.get("input") or [], names.get("max_bytes")
    with open_arrays(path, max_bytes) as arrays:
        contents = Contents(arrays, index=names.get("index"))
        given = contents.asked(asked, "input")
        contents.asked(names.get("output"), "output")
        own = {"input": model.inputs_.names, "output": model.outputs_.names}
        for flag, known in own.items():  # the names that the model was fitted with
            if names.get(flag) is None and known and all(name in arrays for name in known):
                names[flag] = list(known)
    in_full = bool(given) and given == ([asked] if isinstance(asked, str) else list(asked))
    try:
        data = read(path, **names)
        part = "train" if data.u_test is None or in_full else "test"
        u = getattr(data, f"u_{part}")
        if _fits(model, u):
            return _with_truth(model, data, _as_model(model, u), part)
        if _on_another_grid(model, data, u):
            return _with_truth(model, data, u, part)
        why = f"its input functions {_said(u)} are not those of the model, {_wanted(model)}."
    except InputError as error:
        why = str(error)
    with open_arrays(path, max_bytes) as opened:
        turned = last_axis_first if names.get("transpose") else lambda array: array
        found = {name: turned(array) for name, array in opened.items()}
        if model.inputs_.names is not None:
            return _several(model, path, found, given, why)
        fitting = [name for name in given or found if _fits(model, found[name])]
        if len(fitting) != 1:
            listed = ", ".join(f"{name} {tuple(found[name].shape)}" for name in given or found)
            raise InputError(
                f"the model takes input functions {_wanted(model)}, one per row; in {str(path)!r} "
                + (
                    f"several arrays are like that: {', '.join(fitting)}. Say which: --input NAME."
                    if fitting
                    else f"there is none, but {listed or 'nothing'}. Sample the functions at the sensors "
                    "of the training functions."
                )
            )
        u = _as_model(model, np.asarray(load(found[fitting[0]]), float))
        return Found(u, f"input functions: {fitting[0]} {u.shape}", why=why)


def training_functions(model: Any, u: Any) -> tuple[int, str]:
    """How many of the functions are training functions, and a word about it."""
    seen, n = int(model.is_training_function(u).sum()), count_of(u)
    told = "all are" if seen == n else f"{seen} are"
    return (
        seen,
        f" ({told} training functions of the model: the error on new functions is larger)" if seen else "",
    )


def points_from(model: Any, given: str, path: Path, max_size: str | None) -> np.ndarray:
    """Where to predict: a file of points, or the name of an array in the file of functions."""
    with open_arrays(given if Path(given).exists() else path, max_size) as arrays:
        if Path(given).exists():
            found = [np.asarray(load(array), float) for array in arrays.values()]
        elif given in arrays:
            found = [np.asarray(load(arrays[given]), float)]
        else:
            raise InputError(
                f"--points {given}: there is no such file, and no such array in {str(path)!r}. There are: "
                f"{Contents(arrays).listed()}."
            )
    if not found or len({len(column) if column.ndim else 0 for column in found}) > 1:
        raise InputError(f"--points {given}: it must hold one list of points, (M, d), one per row.")
    points = found[0] if len(found) == 1 else np.column_stack(found)
    points = points.reshape(-1, 1) if points.ndim < 2 else points
    dimension = model.outputs_.points.shape[1]
    if points.shape[-1] != dimension or points.size == 0:
        raise InputError(
            f"--points {given}: the points of this model have {dimension} coordinate(s), so that an array "
            f"(M, {dimension}) is needed; got {points.shape}."
        )
    return points


def labels_from(name: str, path: Path, max_size: str | None) -> np.ndarray:
    """The labels of groups, one for each function, that an array in a file holds."""
    with open_arrays(path, max_size) as arrays:
        if name not in arrays:
            raise InputError(
                f"--groups {name}: there is no such array in {str(path)!r}. There are: "
                f"{Contents(arrays).listed()}."
            )
        return np.asarray(load(arrays[name])).ravel()


def _several(model: Any, path: Path, arrays: Mapping[str, Any], given: list[str], why: str) -> Found:
    """The inputs of a model with several, by their names or in the order given."""
    wanted = model.inputs_.names
    chosen = dict(zip(wanted, given or wanted, strict=False))
    absent = [name for name in wanted if chosen.get(name) not in arrays]
    if absent or len(given) > len(wanted):
        raise InputError(
            f"the model takes {len(wanted)} input functions, {', '.join(wanted)}; {str(path)!r} has "
            f"{', '.join(arrays)}"
            + (f", and you named {', '.join(given)}" if given else "")
            + ". Name them in this order: "
            + " ".join("--input NAME" for _ in wanted)
            + "."
        )
    u = {name: np.asarray(load(arrays[chosen[name]]), float) for name in wanted}
    if len({len(part) for part in u.values()}) > 1:
        raise InputError(
            f"all inputs must have the same number of rows, one for each function; got {_said(u)}."
        )
    return Found(u, f"input functions: {', '.join(chosen.values())}", why=why)


def _with_truth(model: Any, data: OperatorData, u: Any, part: str) -> Found:
    s = getattr(data, f"s_{part}")
    told = f"{count_of(u)} {_PARTS[part] if data.u_test is not None else ''}functions"
    s = named_outputs(data, s)
    if isinstance(s, Scattered):
        return Found(u, told, s, s, data.sensors, data.axes)
    here = model.outputs_.scattered or (
        data.points is not None and not np.array_equal(np.asarray(data.points), model.outputs_.points)
    )
    return Found(u, told, data.points if here else None, s, data.sensors, data.axes)


def _fits(model: Any, u: Any) -> bool:
    if model.inputs_.names is not None:
        return isinstance(u, dict) and {str(name) for name in u} == set(model.inputs_.names)
    shape = tuple(getattr(u, "shape", ()))[1:]
    return shape == model.input_shape_ or (len(shape) > 0 and np.prod(shape) == np.prod(model.input_shape_))


def _on_another_grid(model: Any, data: OperatorData, u: Any) -> bool:
    """Whether a model with layers can take these: inputs at the points of the file, which are others."""
    if not hasattr(model, "layers_") or isinstance(u, dict) or data.points is None:
        return False
    known_at = np.prod(u.shape[1:]) / max(1, np.prod(model.input_shape_)) * len(model.outputs_.points)
    return known_at == len(np.asarray(data.points))


def _as_model(model: Any, u: Any) -> Any:
    return u if isinstance(u, dict) else np.asarray(u, float).reshape(len(u), *model.input_shape_)


def _said(u: Any) -> str:
    if isinstance(u, dict):
        return ", ".join(f"{name} {_said(part)}" for name, part in u.items())
    return str(tuple(u.shape))


def _wanted(model: Any) -> str:
    if model.inputs_.names is not None:
        return ", ".join(model.inputs_.names)
    return f"(N, {', '.join(map(str, model.input_shape_))})"

"""Files that a verb is given, and the input functions in them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.cli.console import Told, one_or_more
from elmonet.data import OperatorData, Scattered, read
from elmonet.data.formats import data_endings, open_arrays
from elmonet.data.lazy import last_axis_first, load
from elmonet.data.roles import Contents
from elmonet.errors import FileError, InputError
from elmonet.forms.inputs import count_of
from elmonet.modelfile.store import writable_path

__all__ = [
    "Found",
    "flags",
    "is_model",
    "named_outputs",
    "open_model",
    "points_from",
    "read_inputs",
    "relative_error",
    "relative_errors",
    "require_data",
    "require_data_place",
    "require_file",
    "require_folder",
    "require_place",
    "tell_roles",
    "training_functions",
    "understood",
]


def require_file(path: Path) -> None:
    """Raise unless there is a file, not empty, or a folder; suggest a name that is nearly right."""
    if path.exists():
        if not path.is_file() and not path.is_dir():
            raise FileError(f"{str(path)!r} is not a file of data (a device, for example). Name a file.")
        if path.is_file() and path.stat().st_size == 0:
            raise FileError(f"{str(path)!r} is empty: it has no bytes. Write or download it again.")
        return
    beside = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    for some in ([entry for entry in beside if entry.suffix == path.suffix], beside):
        close = difflib.get_close_matches(path.stem, [entry.stem for entry in some], n=1)
        if close:
            meant = next(entry for entry in some if entry.stem == close[0])
            raise FileError(f"there is no file or folder {str(path)!r}. Did you mean {str(meant)!r}?")
    raise FileError(f"there is no file or folder {str(path)!r}.")


def is_model(file: Path) -> bool:
    """Whether a file is of safetensors, as models are: eight bytes of length, then JSON."""
    if file.is_dir():
        return False
    with file.open("rb") as opened:
        start = opened.read(9)
    return file.suffix == ".elmonet" or (len(start) == 9 and start[8:] == b"{" and start[7] == 0)


def require_data(path: Path) -> None:
    """Raise unless there is something that may hold functions."""
    require_file(path)
    if is_model(path):
        raise FileError(
            f"{str(path)!r} is a model, not a file of functions. Give the file that holds the functions; "
            f"elmonet info {path} says what the model takes."
        )


def open_model(path: Path) -> Any:
    """The model in a file, or a `FileError` that says what the file is instead."""
    from elmonet import load
    from elmonet.data.formats import find_reader

    require_file(path)
    if is_model(path):
        return load(path)
    try:
        kind = f"a file of functions ({find_reader(path).kind}) and not"
    except FileError:
        kind = "not"
    raise FileError(
        f"{str(path)!r} is {kind} a model. The model comes first, then the functions; elmonet fit makes a "
        "model."
    )


def require_place(out: Path, *read: Path, model: bool = False) -> None:
    """Raise if a file cannot be written there, or should not: it is one of those that are `read`."""
    writable_path(out)
    _require_other(out, read)
    if model and out.suffix.lower() in data_endings():
        raise FileError(
            f"cannot write a model to {str(out)!r}: this ending is for functions. Name it "
            f"{str(out.with_suffix('.elmonet'))!r}."
        )


def require_folder(out: Path) -> None:
    """Raise if the place for a folder is taken by a file."""
    if out.exists() and not out.is_dir():
        raise FileError(f"cannot write to {str(out)!r}: it is a file. Name a folder for the results.")


def require_data_place(out: Path, *read: Path, table: bool = True) -> None:
    """The same for a file of functions, which may be a folder; `table`: as a table, or one array, too."""
    from elmonet.data.write import require_writable

    require_writable(out)
    if not table and out.suffix.lower() in (".npy", ".csv"):
        raise FileError(
            f"cannot write {str(out)!r}: it holds one array or one table, not functions with their points. "
            f"Name it {str(out.with_suffix('.npz'))!r}, or .h5, .zarr, .mat, .nc."
        )
    _require_other(out, read)


def _require_other(out: Path, read: tuple[Path, ...]) -> None:
    for path in read:
        if out.exists() and path.exists() and out.samefile(path):
            raise FileError(
                f"cannot write {str(out)!r}: it is an input of this command and would be lost. Name another "
                "file."
            )


def flags(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a verb that are about reading, and were given, as `elmonet.read` takes them."""
    names = {name: options.get(name) for name in ("points", "sensors", "index", "transpose")}
    names |= {name: one_or_more(options.get(name)) for name in ("input", "output")}
    names["max_bytes"] = options["max_size"]
    return {name: value for name, value in names.items() if value is not None and value is not False}


def understood(told: Told, path: Path, names: dict[str, Any]) -> Any:
    """Read a file, and print what is taken as what."""
    from elmonet.data.reading import read_with_roles

    data, roles = read_with_roles(path, **names)
    tell_roles(told, path, roles)
    return data


def tell_roles(told: Told, path: Path, roles: Any) -> None:
    """Print what is taken as what."""
    told.line(f"{path}:")
    for reason in roles.reasons:
        told.line(f"  {reason}")
    told.fact(understood=list(roles.reasons))


def relative_error(predicted: Any, truth: Any) -> float | None:
    """The mean relative error of predictions of functions with known outputs, None if these are others."""
    from elmonet.forms import outputs as score  # imported when it is needed, so that --help is there at once

    return score.relative_error(predicted, truth)


def relative_errors(predicted: Any, truth: Any) -> Any:
    """The same for each function (N,): NaN if it is not known; None if the outputs are others."""
    from elmonet.forms import outputs as score

    return score.relative_errors(predicted, truth)


def named_outputs(data: Any, s: Any) -> Any:
    """Outputs with named components as a dictionary."""
    if data.components is None or not hasattr(s, "shape"):
        return s
    return {name: s[..., i] for i, name in enumerate(data.components)}


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

"""The functions in a file: as they are read, and as a fitted model takes them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.cli.console import Printer, shapes_in_words
from elmonet.data import OperatorData, Scattered, read
from elmonet.data.assembly import number_rows
from elmonet.data.lazy import Arrays, last_axis_first, load
from elmonet.data.reading import open_source, read_with_roles, side_by_side
from elmonet.data.roles import Contents, Roles
from elmonet.data.run_files import Runs
from elmonet.errors import InputError
from elmonet.forms.inputs import count_of
from elmonet.summary import plural

_MOST_AXES = 3  # of the space that coordinates are in


def read_functions(
    printer: Printer, path: Path | Runs, options: dict[str, Any]
) -> tuple[OperatorData, Roles]:
    """Read a file with the options of `read`, and print the role of each array."""
    data, roles = read_with_roles(path, **options)
    print_roles(printer, path, roles)
    return data, roles


def print_roles(printer: Printer, path: Path | Runs, roles: Any) -> None:
    """Print the role that each array of a file was given."""
    printer.line("\n".join([f"{path}:", *(f"  {reason}" for reason in roles.reasons)]))
    printer.value(understood=list(roles.reasons))


def name_in_file(model: Any, side: str, default: str) -> str:
    """Return the name of a model's single "input" or "output" in the file that it was fitted to."""
    name = model.file_names_.get(side)
    short = re.sub(r"\W", "_", name.rpartition("/")[2]) if isinstance(name, str) else ""
    return short if short[:1].isalpha() and short not in ("points", "index", "file") else default


def named_outputs(data: Any, s: Any) -> Any:
    """Return outputs with named components as a dictionary, and others as they are."""
    if data.components is None or not hasattr(s, "shape"):
        return s
    return {name: s[..., i] for i, name in enumerate(data.components)}


def real_numbers(array: Any, name: str) -> np.ndarray:
    """Return an array of a file in double precision, or raise `InputError` for complex numbers."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        raise InputError(f"{name}: these are complex numbers. Give real and imaginary parts as two arrays.")
    return array.astype(np.float64, copy=False)


@dataclass(frozen=True)
class InputFunctions:
    """Input functions for a model and, if the file has them, outputs with their points.

    description : how many functions, and of which part of the file.
    points : None: the training points of the model.
    truth : None: `why_no_truth` says why there are no outputs.
    names : of inputs and outputs in the file that the model was fitted to; "" if not known.
    """

    u: Any
    description: str
    points: Any = None
    truth: Any = None
    sensors: Any = None
    axes: tuple[str, ...] | None = None
    why_no_truth: str = ""
    names: tuple[str, str] = ("", "")

    @property
    def count(self) -> int:
        """Number of functions."""
        return count_of(self.u)


def read_inputs(model: Any, path: Path | Runs, **options: Any) -> InputFunctions:
    """Find the input functions of a file: by the names of its arrays, or else by the shape the model takes.

    The options are those of `read`. Where they say nothing, the names are those that the model was fitted to.
    """
    asked, max_bytes = options.get("input") or [], options.get("max_bytes")
    with open_source(path, max_bytes) as arrays:
        if arrays.ragged:
            return _record_inputs(model, path, options, arrays)
        contents = Contents(arrays, index=options.get("index"))
        given = contents.asked(asked, "input")
        contents.asked(options.get("output"), "output")
        known = _known_names(model, contents, options)
    named_in_full = bool(given) and given == ([asked] if isinstance(asked, str) else list(asked))
    given = given or contents.asked(known.get("input"), "input")
    why = ""
    in_rows = {flag: given for flag, given in known.items() if flag != "transpose"}
    tried: list[dict[str, Any]] = []
    for some in (options | known, options | in_rows, options):  # another file may have other names, and rows
        if some in tried:
            continue
        tried.append(some)
        try:
            data = read(path, **some)
        except InputError as error:
            why = why or str(error)
            continue
        part = "train" if data.u_test is None or named_in_full else "test"
        u = getattr(data, f"u_{part}")
        if _fits(model, u):
            return _with_truth(model, data, _in_model_shape(model, u), part)
        if _on_another_grid(model, data, u):
            return _with_truth(model, data, u, part)
        why = f"its input functions {_shape_of(u)} are not those of the model, {_expected_shape(model)}."
    with open_source(path, max_bytes) as opened:
        found, shapes = dict(opened), model.inputs_.shapes or (model.input_shape_,)
        for name, array in opened.items():
            is_input = (tuple(array.shape[1:]) or (1,)) in shapes
            if options.get("transpose") or (known.get("transpose") and not is_input):
                found[name] = last_axis_first(array)
        if model.inputs_.names is not None:
            return _several_inputs(model, path, found, given, why)
        columns = model.file_names_.get("input")
        if not given and isinstance(columns, list) and all(name in found for name in columns):
            u = side_by_side({name: real_numbers(load(found[name]), name) for name in columns})
            if _fits(model, u):  # numbers of a table, fitted side by side
                u, said = _in_model_shape(model, u), f"input functions: {', '.join(columns)}"
                return InputFunctions(u, said, why_no_truth=why)
        candidates = {name: found[name] for name in given or found}
        fitting = [name for name, array in candidates.items() if _fits(model, array) and 0 not in array.shape]
        if len(fitting) != 1:
            others = f", but {shapes_in_words(candidates)}" if candidates else ""
            advice = "Sample the functions at the sensors of the training functions."
            single = [name for name, array in candidates.items() if tuple(array.shape) == model.input_shape_]
            turned = [n for n, A in candidates.items() if tuple(A.shape[:-1]) == model.input_shape_]
            turned = [n for n in turned if candidates[n].shape[-1] > _MOST_AXES]  # others hold coordinates
            if turned:
                advice = f"If each column of {turned[0]} is a function: --transpose."
            if single:
                advice = f"It is one function: save it as a row, {single[0]}[None]."
            raise InputError(
                f"the model takes input functions {_expected_shape(model)}, one per row; in {str(path)!r} "
                + (
                    f"several arrays are like that: {', '.join(fitting)}. Say which: --input NAME."
                    if fitting
                    else f"there is none{others}. {advice}"
                )
            )
        u = _in_model_shape(model, real_numbers(load(found[fitting[0]]), fitting[0]))
        return InputFunctions(u, f"input functions: {fitting[0]} {u.shape}", why_no_truth=why)


def _record_inputs(model: Any, path: Path | Runs, options: dict[str, Any], arrays: Arrays) -> InputFunctions:
    """Return records of any length, by the names that the model was fitted to, and outputs if there are."""
    if not hasattr(model, "step_"):
        raise InputError(
            f"{str(path)!r} holds records of different lengths, and the model takes whole functions."
        )
    flags, there = ("input", "output", "points"), (*arrays.ragged, *arrays)
    known = {flag: model.file_names_.get(flag) for flag in flags if options.get(flag) is None}
    outputs = known.get("output") or []
    outputs = [outputs] if isinstance(outputs, str) else outputs
    if outputs and not any(name in there for name in outputs):
        given = options.get("input") or known.get("input") or []
        names = [given] if isinstance(given, str) else list(given)
        absent = [name for name in names if name not in there]
        if absent or not names:
            raise InputError(
                f"the model takes the inputs {', '.join(names)}; {str(path)!r} has {', '.join(there)}. Say "
                "which: --input NAME."
            )
        each = {n: arrays.ragged[n] if n in arrays.ragged else number_rows(arrays[n]) for n in names}
        u: Any = each if len(each) > 1 else each[names[0]]
        why = f"there is no {', '.join(outputs)}."
        return InputFunctions(u, plural(count_of(u), "record"), why_no_truth=why)
    data, _ = read_with_roles(path, **(options | known))
    return InputFunctions(
        data.u_train, plural(len(data.s_train), "record"), None, data.s_train, None, data.axes
    )


def _known_names(model: Any, contents: Contents, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the model was fitted with, as far as the file has arrays of these names."""
    trained = {"input": model.inputs_.names, "output": model.outputs_.names} | model.file_names_
    names = {flag: given for flag, given in trained.items() if given and options.get(flag) is None}
    found: dict[str, Any] = {}
    for flag, given in names.items():
        each = [given] if isinstance(given, str) else list(given) if flag != "transpose" else []
        if all(contents.find(name) is not None for name in each):
            found[flag] = True if flag == "transpose" else each
    if not {"input", "output"} & set(found):  # a file of other arrays
        return {}
    return {flag: each[0] if flag == "index" else each for flag, each in found.items()}


def _with_truth(model: Any, data: OperatorData, u: Any, part: str) -> InputFunctions:
    """Return inputs with the outputs of the same part of the file."""
    mesh = model.labels_.mesh
    if mesh is not None and mesh.moving and data.mesh is not None and mesh.same_cells(data.mesh):
        data = data.relative_to(mesh)
    kind = "" if data.u_test is None else {"train": "training ", "test": "test "}[part]
    description = plural(count_of(u), f"{kind}function")
    s = named_outputs(data, getattr(data, f"s_{part}"))
    if isinstance(s, Scattered):
        return InputFunctions(u, description, s, s, data.sensors, data.axes)
    own_points = model.outputs_.scattered or (
        data.points is not None and not np.array_equal(np.asarray(data.points), model.outputs_.given_points)
    )
    return InputFunctions(u, description, data.points if own_points else None, s, data.sensors, data.axes)


def _several_inputs(
    model: Any, path: Path | Runs, arrays: Mapping[str, Any], given: list[str], why: str
) -> InputFunctions:
    """Return the inputs of a model that takes several, by their names or in the order given."""
    wanted = model.inputs_.names
    contents = Contents(arrays)
    chosen = dict(zip(wanted, given or [contents.find(name) or name for name in wanted], strict=False))
    absent = [name for name in wanted if chosen.get(name) not in arrays]
    if absent or len(given) > len(wanted):
        named = f", and you named {', '.join(given)}" if given else ""
        options = " ".join(["--input NAME"] * len(wanted))
        raise InputError(
            f"the model takes {len(wanted)} input functions, {', '.join(wanted)}; {str(path)!r} has "
            f"{', '.join(arrays)}{named}. Name them in this order: {options}."
        )
    u = {name: real_numbers(load(arrays[chosen[name]]), name) for name in wanted}
    if len({len(part) for part in u.values()}) > 1:
        raise InputError(
            f"all inputs must have the same number of rows, one for each function; got {_shape_of(u)}."
        )
    return InputFunctions(u, f"input functions: {', '.join(chosen.values())}", why_no_truth=why)


def _fits(model: Any, u: Any) -> bool:
    """Return whether these are input functions of the model, perhaps in another shape."""
    if model.inputs_.names is not None:
        return isinstance(u, dict) and sorted(map(str.lower, u)) == sorted(
            map(str.lower, model.inputs_.names)
        )
    rows = tuple(getattr(u, "shape", ()))
    shape = (1,) if len(rows) == 1 else rows[1:]  # a column of a table
    return shape == model.input_shape_ or (
        len(shape) > 0 and math.prod(shape) == math.prod(model.input_shape_)
    )


def _on_another_grid(model: Any, data: OperatorData, u: Any) -> bool:
    """Return whether a layered model can take these: inputs at the points of the file, which are others."""
    if not hasattr(model, "layers_") or isinstance(u, dict) or data.points is None:
        return False
    known_at = math.prod(u.shape[1:]) / max(1, math.prod(model.input_shape_)) * len(model.outputs_.points)
    return known_at == len(np.asarray(data.points))


def _in_model_shape(model: Any, u: Any) -> Any:
    """Return input functions in the shape of the model; models of 0.2 have names in lower case."""
    if isinstance(u, dict):
        names = {name.lower(): name for name in model.inputs_.names}
        return {names[name.lower()]: part for name, part in u.items()}
    return real_numbers(u, "the input functions").reshape(len(u), *model.input_shape_)


def _shape_of(u: Any) -> str:
    return shapes_in_words(u) if isinstance(u, dict) else str(tuple(u.shape))


def _expected_shape(model: Any) -> str:
    if model.inputs_.names is not None:
        return ", ".join(model.inputs_.names)
    return f"(N, {', '.join(map(str, model.input_shape_))})"


def record_times(model: Any, steps: int) -> np.ndarray:
    """Return the times of a record of so many steps, which begins where those of training do."""
    return float(model.outputs_.points[0, 0]) + model.time_step_ * np.arange(steps)


def count_training_functions(model: Any, u: Any) -> tuple[int, str]:
    """Return how many of the functions the model was trained on, and a remark about it."""
    count, n = int(model.is_training_function(u).sum()), count_of(u)
    if not count:
        return 0, ""
    those = "all are training functions" if count == n else f"{count} are training functions"
    if count == 1:
        those = "a training function" if n == 1 else "1 is a training function"
    return count, f" ({those} of the model: the error on new functions is larger)"


def other_outputs(model: Path, data: Path | Runs) -> str:
    """Return the message for a model that was fitted to other outputs than a file holds."""
    return (
        f"{str(model)!r} predicts other output functions than {str(data)!r} holds, in number of values or in "
        "names of components. Say which to use: --output NAME."
    )


def points_from(model: Any, given: str, path: Path | Runs, max_size: str | None) -> np.ndarray:
    """Read the points to predict at: from a file, or by the name of an array in the file of functions."""
    with open_source(given if Path(given).exists() else path, max_size) as arrays:
        if Path(given).exists():
            found = [real_numbers(load(array), name) for name, array in arrays.items()]
        elif given in arrays:
            found = [real_numbers(load(arrays[given]), given)]
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


def labels_from(name: str, path: Path | Runs, max_size: str | None) -> np.ndarray:
    """Read the group labels, one for each function."""
    with open_source(path, max_size) as arrays:
        if name not in arrays:
            raise InputError(
                f"--groups {name}: there is no such array of numbers in {str(path)!r}. There are: "
                f"{Contents(arrays).listed()}."
            )
        return np.asarray(load(arrays[name])).ravel()

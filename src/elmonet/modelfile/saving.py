"""A fitted model as a header and arrays, and back: what `ELMDeepONet.save` and `load` write and read."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet.errors import InputError
from elmonet.features import PerComponent
from elmonet.features.base import features_of
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import solver_or_default
from elmonet.fitting.streamed import BlockFit
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.transforms import Affine, LogOutputs
from elmonet.modelfile.recipe import build, describe, describe_map, restore_map
from elmonet.solve import Solution
from elmonet.uncertainty.confidence import Confidence
from elmonet.uncertainty.error_estimate import Promise
from elmonet.uncertainty.novelty import Memory

__all__ = [
    "from_version_1",
    "inputs_to_store",
    "outputs_to_store",
    "restore",
    "restored_inputs",
    "restored_outputs",
    "stored_memory",
    "to_store",
]

_ARRAYS = {
    "solution.W": "C",  # with the trunk's own functions as a basis
    "solution.loo_errors": "solution.errors",
    "scale_X.shift": "inputs.shift",
    "scale_X.scale": "inputs.scale",
    "scale_points.shift": "outputs.shift",
    "scale_points.scale": "outputs.scale",
    "log_y.centre": "outputs.centre",
    "layout.scale": "outputs.sizes",
}


def from_version_1(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays in today's form."""
    arrays = {_ARRAYS.get(name, name): array for name, array in arrays.items()}
    layout, several, old = header["layout"], header["inputs"], header["solution"]
    places, c = arrays.pop("points"), 0 if layout["axis"] is None else layout["shape"][layout["axis"]]
    arrays["outputs.points"] = places[: len(places) // c, :-1] if c else places
    scattered, in_blocks = (
        bool(header["needs_points"]),
        "loo_errors" not in old and "solution.errors" not in arrays,
    )
    kind = "held out" if old["method"] == "lsmr" else "gcv" if in_blocks else "leave-one-out"
    solution = {name: value for name, value in old.items() if name != "loo_error"}
    names = ("branch", "trunk", "solver")
    settings = {name: bool(header[name]) for name in ("scale_inputs", "log_inputs", "log_outputs")}
    record: dict[str, Any] = {name: header[name] for name in names} | {
        "settings": settings | {"missing": header["missing"]},
        "inputs": {
            "given": header["input_shape"],
            "shape": header["input_shape"],
            "names": several and several["names"],
            "shapes": several and several["shapes"],
            "logarithms": header["log_inputs"],
        },
        "outputs": layout | {"scattered": scattered, "dtype": arrays["C"].dtype.name},
        "solution": solution | {"expected_error": old["loo_error"], "error_kind": kind},
        "promise": None,
    }
    if header["log_outputs"]:
        record["outputs"]["logs"] = header["log_outputs"]
    if "sums" in header:
        record["sums"] = header["sums"]
        arrays["sums.outside"] = np.array(_outside(header["sums"]["total"], arrays))
    return record, arrays


def _outside(total: float, arrays: dict[str, np.ndarray]) -> float:
    """What of the outputs lies outside the trunk's span, from their squared norm as a whole."""
    R, p1 = arrays["sums.R"], int(arrays.get("sums.p1", np.array(0)).item())
    return max(total - float(np.sum(R[:, p1:] ** 2)), 0.0)


_SETTINGS = ("scale_inputs", "log_inputs", "log_outputs", "missing")
_ARRAYS_OF_SOLUTION = ("errors", "alphas", "path")
_NOT_OF_SOLUTION = ("W", "C", "lift", "basis", "fit")  # these are the operator's, or not kept


def to_store(
    model: Any, fitted: Fitted, blocks: BlockFit | None, weights: bool, *, bands: bool, inputs: bool
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a fitted model's file; with the sums of a fit in blocks, if given.

    `weights`, `bands`, `inputs`: whether random weights, what bands need and the training inputs are among
    the arrays.
    """
    if model.lift is not None:
        raise InputError(
            "a lift is your own function, and a file cannot hold it: nothing in a file is ever run. Fit the "
            "model to y - lift, save it, and add the lift to what it predicts."
        )
    arrays: dict[str, np.ndarray] = {}
    operator = fitted.operator
    header = {
        "model": "ELMDeepONet",
        "settings": {name: getattr(model, name) for name in _SETTINGS},
        "solver": None if model.solver is None else describe(model.solver),
        "inputs": inputs_to_store(fitted.inputs, arrays),
        "outputs": outputs_to_store(fitted.outputs, arrays),
        "branch": describe_map(operator.branch, "branch", arrays, weights),
        "trunk": describe_map(operator.trunk, "trunk", arrays, weights),
        "solution": _solution_to_store(fitted.solution, arrays),
        "promise": None if model._promise is None else model._promise.stored(),
        "groups": fitted.groups,
        "word": fitted.word,
    }
    arrays["C"] = operator.C
    if operator.lift is not None:
        arrays |= {"lift": operator.lift, "basis": operator.basis}
    arrays |= stored_memory(model._remembered(), inputs)
    confidence = model._confidence_if_any() if bands else None
    if confidence is not None:
        arrays |= confidence.arrays()
    if blocks is not None:
        header["sums"] = blocks.state(arrays)
    return header, arrays


def restore(kind: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The model, an instance of `kind`."""
    if "settings" not in header:
        header, arrays = from_version_1(header, arrays)
    branch = restore_map(header["branch"], "branch", arrays)
    trunk = restore_map(header["trunk"], "trunk", arrays)
    inputs, outputs = restored_inputs(header["inputs"], arrays), restored_outputs(header["outputs"], arrays)
    solver = None if header["solver"] is None else build(header["solver"])
    own = trunk.trunk if outputs.components and isinstance(trunk, PerComponent) else trunk
    model = kind(clone(branch), clone(own), solver, **{name: header["settings"][name] for name in _SETTINGS})
    C = arrays["C"]
    basis = arrays.get("basis")
    if basis is None:
        basis = features_of(trunk, outputs.seen(dtype=C.dtype), "trunk")
    operator = Operator(branch, trunk, C, arrays.get("lift"), basis)
    kept: dict[str, Any] = {name: arrays.get(f"solution.{name}") for name in _ARRAYS_OF_SOLUTION}
    solution = Solution(operator.W, **kept, **header["solution"])
    model._found = Fitted(inputs, outputs, operator, solution, header.get("word", ""), header.get("groups"))
    model._memory = Memory.from_arrays(arrays)
    model._confidence = Confidence.from_arrays(arrays)
    model._promise = None if header["promise"] is None else Promise.restored(*header["promise"])
    model.input_shape_, model.n_features_in_ = inputs.given, inputs.given[0]
    if "sums" in header:
        model._blocks = BlockFit(inputs, outputs, clone(branch), clone(trunk), solver_or_default(solver))
        model._blocks.resume(header["sums"], arrays)
    return model


def stored_memory(memory: Memory, inputs: bool) -> dict[str, np.ndarray]:
    """The arrays of a memory, with or without the training inputs."""
    return (memory if inputs else replace(memory, inputs=None)).arrays()


def inputs_to_store(form: InputForm, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The record of a form in a header; its arrays go to `arrays`."""
    _keep(arrays, "inputs", order=form.order)
    _keep_affine(arrays, "inputs", form.scale)
    return {name: getattr(form, name) for name in ("given", "shape", "names", "shapes", "logarithms")}


def restored_inputs(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> InputForm:
    """The inverse of `inputs_to_store`."""
    return InputForm(
        tuple(record["given"]),
        tuple(record["shape"]),
        None if record["names"] is None else tuple(record["names"]),
        None if record["shapes"] is None else tuple(tuple(shape) for shape in record["shapes"]),
        arrays.get("inputs.order"),
        bool(record["logarithms"]),
        _restored_affine(arrays, "inputs"),
    )


def outputs_to_store(form: OutputForm, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The record of a form in a header; its arrays go to `arrays`."""
    _keep(arrays, "outputs", points=form.points, sizes=form.sizes)
    _keep_affine(arrays, "outputs", form.box)
    record = {name: getattr(form, name) for name in ("shape", "axis", "names", "scattered")}
    if form.logs is not None:
        arrays["outputs.centre"] = form.logs.centre
        record["logs"] = [form.logs.low, form.logs.high]
    return record | {"dtype": np.dtype(form.dtype).name}


def restored_outputs(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> OutputForm:
    """The inverse of `outputs_to_store`."""
    logs = record.get("logs")
    return OutputForm(
        tuple(record["shape"]),
        arrays["outputs.points"],
        record["axis"],
        arrays.get("outputs.sizes"),
        None if record["names"] is None else tuple(record["names"]),
        bool(record["scattered"]),
        logs=None if logs is None else LogOutputs(arrays["outputs.centre"], *logs),
        box=_restored_affine(arrays, "outputs"),
        dtype=np.dtype(record["dtype"]),
    )


def _solution_to_store(solution: Solution, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    kept = {f.name: getattr(solution, f.name) for f in fields(solution) if f.name not in _NOT_OF_SOLUTION}
    _keep(arrays, "solution", **{name: kept.pop(name) for name in _ARRAYS_OF_SOLUTION})
    return kept


def _keep(arrays: dict[str, np.ndarray], prefix: str, **more: np.ndarray | None) -> None:
    arrays |= {f"{prefix}.{name}": array for name, array in more.items() if array is not None}


def _keep_affine(arrays: dict[str, np.ndarray], prefix: str, affine: Affine | None) -> None:
    if affine is not None:
        _keep(arrays, prefix, shift=affine.shift, scale=affine.scale)


def _restored_affine(arrays: dict[str, np.ndarray], prefix: str) -> Affine | None:
    there = f"{prefix}.shift" in arrays
    return Affine(arrays[f"{prefix}.shift"], arrays[f"{prefix}.scale"]) if there else None

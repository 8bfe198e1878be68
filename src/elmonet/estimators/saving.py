"""A fitted operator as the header and arrays of a file, and back; also files of elmonet 0.1."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet.errors import FileError, InputError
from elmonet.features import PerComponent
from elmonet.features.base import features_of, learns_from
from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.fitting.fitted import FittedModel
from elmonet.fitting.fitted_operator import FittedOperator
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import solver_or_default
from elmonet.fitting.recipe import build, describe, describe_map, restore_map
from elmonet.fitting.streamed import BlockFit
from elmonet.forms.axis_labels import restored_axes
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, ScatteredForm
from elmonet.forms.parts import parts_of_settings, restored_parts
from elmonet.forms.transforms import Affine, LogOutputs
from elmonet.solve import Solution
from elmonet.uncertainty.bands import ErrorBars
from elmonet.uncertainty.error_estimate import ErrorEstimate, restored_estimate, stored_interval
from elmonet.uncertainty.novelty import TrainingRecord

_SETTINGS = ("scale_inputs", "log_inputs", "log_outputs", "missing")
_SOLUTION_ARRAYS = ("errors", "component_errors", "alphas", "path")
_NOT_STORED = ("W", "C", "lift", "basis", "fit")  # parts of the operator, or not kept


def deeponet_to_store(
    estimator: Any,
    model: FittedOperator,
    blocks: BlockFit | None,
    *,
    weights: bool,
    bands: bool,
    inputs: bool,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of an `ELMDeepONet`'s file, with the sums of a fit in blocks if given.

    `weights`, `bands`, `inputs`: whether random weights, error bars and training inputs are stored.
    """
    if estimator.lift is not None:
        raise InputError(
            "a lift is your own function, and a file cannot hold it: nothing in a file is ever run. Fit the "
            "model to y - lift, save it, and add the lift to its predictions."
        )
    arrays: dict[str, np.ndarray] = {}
    operator, estimate = model.operator, model.estimate
    chosen = None
    if model.words is not None or model.rest_of_grid is not None:  # which say more than the solution
        chosen = [estimate.error, str(model.summary), stored_interval(estimate.interval)]
    header = {
        "model": "ELMDeepONet",
        "settings": {name: getattr(estimator, name) for name in _SETTINGS},
        "parts": estimator.parts is not None,
        "solver": None if estimator.solver is None else describe(estimator.solver),
        "inputs": inputs_to_store(model.inputs, arrays),
        "outputs": outputs_to_store(model.outputs, arrays),
        "branch": describe_map(operator.branch, "branch", arrays, weights),
        "trunk": describe_map(operator.trunk, "trunk", arrays, weights),
        "solution": _solution_to_store(model.solution, arrays),
        "promise": chosen,
        "quantiles": estimate.quantiles,
        "components": estimate.components,
        "unknown": estimate.reason,
        "interpolation": model.interpolation_error,
        "groups": model.groups,
        "word": model.grouping,
    }
    arrays["C"] = operator.C
    if operator.lift is not None:
        arrays |= {"lift": operator.lift, "basis": operator.basis}
    arrays |= model.record.arrays(inputs)
    header["error_bars"] = error_bars_to_store(model, arrays, bands)
    if blocks is not None:
        header["sums"] = blocks.state(arrays)
    return header, arrays


def deeponet_from_store(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], FittedOperator, BlockFit | None]:
    """Invert `deeponet_to_store`: return the estimator's parameters, the model, and the fit in blocks."""
    if "settings" not in header:
        header, arrays = from_version_1(header, arrays)
    branch = restore_map(header["branch"], "branch", arrays)
    trunk = restore_map(header["trunk"], "trunk", arrays)
    inputs, outputs = restored_inputs(header["inputs"], arrays), restored_outputs(header["outputs"], arrays)
    C, basis = arrays["C"], arrays.get("basis")
    if basis is None:
        basis = features_of(trunk, outputs.seen(dtype=C.dtype), "trunk")
    operator = Operator(branch, trunk, C, arrays.get("lift"), basis)
    stored: dict[str, Any] = {name: arrays.get(f"solution.{name}") for name in _SOLUTION_ARRAYS}
    solution = Solution(operator.W, **stored, **header["solution"])
    method = restored_method(header)
    more = {"groups": header.get("groups"), "grouping": header.get("word", ""), "method": method}
    more["known"] = TrainingRecord.from_arrays(arrays)
    more["interpolation"] = header.get("interpolation")
    model = FittedOperator.of(inputs, outputs, solution, operator=operator, **more)
    if header.get("unknown"):
        model = replace(model, estimate=ErrorEstimate(reason=str(header["unknown"])))
    if header["promise"] is not None:
        error, words, *interval = header["promise"]
        kept = interval[0] if interval else None  # files of 0.1 hold none
        estimate = restored_estimate(header, error, kept, solution.error_kind)
        model = replace(model, estimate=estimate, words=str(words))
    model = restored_error_bars(model, header, arrays)
    solver = None if header["solver"] is None else build(header["solver"])
    given_trunk = trunk.trunk if outputs.components and isinstance(trunk, PerComponent) else trunk
    parameters = {name: header["settings"][name] for name in _SETTINGS}
    parameters |= {"branch": clone(branch), "trunk": clone(given_trunk), "solver": solver}
    parameters |= {"parts": inputs.parts if header.get("parts") else None, "metric": inputs.metric}
    if method is not OperatorErrorBars:
        parameters["error_bars"] = method
    blocks = None
    if "sums" in header:
        fresh = branch if "sample" in learns_from(branch) else clone(branch)
        blocks = BlockFit(inputs, outputs, fresh, clone(trunk), solver_or_default(solver))
        blocks.resume(header["sums"], arrays)
    return parameters, model, blocks


def error_bars_to_store(model: FittedModel, arrays: dict[str, np.ndarray], bands: bool) -> dict[str, Any]:
    """Return the record of a model's error bars; their arrays go to `arrays`."""
    own = model.error_bars.arrays() if bands and model.error_bars is not None else {}
    arrays |= own
    return {"class": model.method.__name__, "arrays": sorted(own)}


def restored_method(header: dict[str, Any], default: type[ErrorBars] = OperatorErrorBars) -> type[ErrorBars]:
    """Return the class of the error bars that a file names."""
    name = header.get("error_bars", {}).get("class", default.__name__)
    if name not in ErrorBars.registry:
        raise FileError(
            f"the file names error bars {name!r} that are not known here: import their class first."
        )
    return ErrorBars.registry[name]


def restored_error_bars(model: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Return a model with the error bars of its file, if there are any."""
    older = [name for name in arrays if name.startswith(("bands.", "variance.", "learned."))]
    names = header.get("error_bars", {}).get("arrays", older)
    if not names:
        return model
    return replace(model, bars=model.method.from_arrays({name: arrays[name] for name in names}, model))


def inputs_to_store(form: InputForm, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the record of an input form; its arrays go to `arrays`."""
    arrays_of_form = {name: getattr(form, name) for name in ("order", "sensors", "exponents", "metric")}
    _keep(arrays, "inputs", **arrays_of_form)
    _keep_affine(arrays, "inputs", form.scale)
    names = ("given", "shape", "names", "shapes", "columns", "numbers", "axes")
    parts = None if form.parts is None else [part.to_json() for part in form.parts]
    return {name: getattr(form, name) for name in names} | {"parts": parts}


def restored_inputs(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> InputForm:
    """Invert `inputs_to_store`."""
    names, shapes, columns = record["names"], record["shapes"], record.get("columns")
    form = InputForm(
        tuple(record["given"]),
        tuple(record["shape"]),
        None if names is None else tuple(names),
        None if shapes is None else tuple(tuple(shape) for shape in shapes),
        arrays.get("inputs.order"),
        restored_parts(record.get("parts")),
        _restored_affine(arrays, "inputs"),
        None if columns is None else tuple(columns),
        arrays.get("inputs.sensors"),
        arrays.get("inputs.exponents"),
        arrays.get("inputs.metric"),
        bool(record.get("numbers")),
        restored_axes(record.get("axes")),
    )
    older = bool(record.get("logarithms"))  # of files of 0.1 and 0.2
    return replace(form, parts=parts_of_settings(None, True, form.whole_parts())) if older else form


def outputs_to_store(form: OutputForm, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the record of an output form; its arrays go to `arrays`."""
    _keep(arrays, "outputs", points=form.points, sizes=form.sizes, everywhere=form.everywhere)
    _keep(arrays, "outputs", volumes=form.volumes)
    if form.kept is not None:
        arrays["outputs.kept"] = form.kept.astype(np.uint8)
    _keep_affine(arrays, "outputs", form.box)
    _keep_affine(arrays, "centred", form.centre)
    record = {name: getattr(form, name) for name in ("shape", "axis", "names", "scattered", "exponent")}
    if form.logs is not None:
        arrays["outputs.centre"] = form.logs.centre
        record["logs"] = [form.logs.low, form.logs.high]
    return record | {"dtype": np.dtype(form.dtype).name}


def restored_outputs(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> OutputForm:
    """Invert `outputs_to_store`."""
    logs, names = record.get("logs"), record["names"]
    form = ScatteredForm if record["scattered"] else OutputForm
    kept = arrays.get("outputs.kept")
    return form(
        tuple(record["shape"]),
        arrays["outputs.points"],
        record["axis"],
        arrays.get("outputs.sizes"),
        None if names is None else tuple(names),
        logs=None if logs is None else LogOutputs(arrays["outputs.centre"], *logs),
        box=_restored_affine(arrays, "outputs"),
        centre=_restored_affine(arrays, "centred"),
        dtype=np.dtype(record["dtype"]),
        exponent=record.get("exponent", 0),
        everywhere=arrays.get("outputs.everywhere"),
        kept=None if kept is None else kept.astype(bool),
        volumes=arrays.get("outputs.volumes"),
    )


def _solution_to_store(solution: Solution, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    record = {f.name: getattr(solution, f.name) for f in fields(solution) if f.name not in _NOT_STORED}
    _keep(arrays, "solution", **{name: record.pop(name) for name in _SOLUTION_ARRAYS})
    return record


def _keep(arrays: dict[str, np.ndarray], prefix: str, **more: np.ndarray | None) -> None:
    arrays |= {f"{prefix}.{name}": array for name, array in more.items() if array is not None}


def _keep_affine(arrays: dict[str, np.ndarray], prefix: str, affine: Affine | None) -> None:
    if affine is not None:
        _keep(arrays, prefix, shift=affine.shift, scale=affine.scale)


def _restored_affine(arrays: dict[str, np.ndarray], prefix: str) -> Affine | None:
    if f"{prefix}.shift" not in arrays:
        return None
    return Affine(arrays[f"{prefix}.shift"], arrays[f"{prefix}.scale"])


_VERSION_1_ARRAYS = {
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
    """Return header and arrays of an elmonet 0.1 file in the current form."""
    arrays = {_VERSION_1_ARRAYS.get(name, name): array for name, array in arrays.items()}
    layout, several, old = header["layout"], header["inputs"], header["solution"]
    places, c = arrays.pop("points"), 0 if layout["axis"] is None else layout["shape"][layout["axis"]]
    arrays["outputs.points"] = places[: len(places) // c, :-1] if c else places
    in_blocks = "loo_errors" not in old and "solution.errors" not in arrays
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
        "outputs": layout | {"scattered": bool(header["needs_points"]), "dtype": arrays["C"].dtype.name},
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
    """Return the squared norm of the outputs outside the trunk's span, from their total."""
    R, p1 = arrays["sums.R"], int(arrays.get("sums.p1", np.array(0)).item())
    return max(total - float(np.sum(R[:, p1:] ** 2)), 0.0)

"""A fitted model as a header and arrays, and back: what `ELMDeepONet.save` and `load` write and read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError
from elmonet.layout import Inputs, Layout
from elmonet.novelty import Novelty
from elmonet.recipe import build, describe, describe_map, restore_map
from elmonet.scaling import Affine, LogOutputs
from elmonet.solve import Solution

__all__ = ["restored", "to_store"]

_ARRAYS_OF_SOLUTION = ("W", "loo_errors", "alphas", "path")


def to_store(model: Any, weights: bool, sums: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a fitted model's file."""
    if model.lift is not None:
        raise InputError(
            "a lift is a function of yours, which a file cannot hold: nothing in a file is ever run. Fit the "
            "model to y - lift, save it, and add the lift to what it predicts."
        )
    solution = asdict(model.solution_)
    arrays = {f"solution.{k}": solution.pop(k) for k in _ARRAYS_OF_SOLUTION}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    arrays["points"] = model.points_
    for name, affine in (("X", model._scale_X), ("points", model._scale_points)):
        if affine is not None:
            arrays |= {f"scale_{name}.shift": affine.shift, f"scale_{name}.scale": affine.scale}
    if model._log_y is not None:
        arrays["log_y.centre"] = model._log_y.centre
    layout, inputs = model._layout, model._inputs
    if model._novelty is not None:
        arrays |= {f"novelty.{name}": array for name, array in model._novelty.arrays().items()}
    if layout.scale is not None:
        arrays["layout.scale"] = layout.scale
    header = {
        "model": "ELMDeepONet",
        "scale_inputs": bool(model.scale_inputs),
        "log_inputs": bool(model.log_inputs),
        "log_outputs": None if model._log_y is None else [model._log_y.low, model._log_y.high],
        "missing": model.missing,
        "layout": {"shape": list(layout.shape), "axis": layout.axis, "names": layout.names},
        "inputs": None if inputs is None else {"names": inputs.names, "shapes": inputs.shapes},
        "needs_points": model._needs_points,
        "input_shape": list(model.input_shape_),
        "solver": None if model.solver is None else describe(model.solver),
        "branch": describe_map(model.branch_, "branch", arrays, weights),
        "trunk": describe_map(model.trunk_, "trunk", arrays, weights),
        "solution": solution,
    }
    if sums:
        header["sums"] = model.sums_to_store(arrays)
    return header, arrays


def restored(kind: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The model, an instance of `kind`."""
    branch = restore_map(header["branch"], "branch", arrays)
    trunk = restore_map(header["trunk"], "trunk", arrays)
    solver = None if header["solver"] is None else build(header["solver"])
    settings = {name: bool(header[name]) for name in ("scale_inputs", "log_inputs", "log_outputs")}
    model = kind(clone(branch), clone(trunk), solver, missing=header["missing"], **settings)
    model._log_y = LogOutputs(arrays["log_y.centre"], *header["log_outputs"]) if model.log_outputs else None
    model.branch_, model.trunk_ = branch, trunk
    model.input_shape_ = tuple(header["input_shape"])
    model.n_features_in_ = model.input_shape_[0]
    shape, axis, names = (header["layout"][key] for key in ("shape", "axis", "names"))
    model._layout = Layout(
        tuple(shape), axis, arrays.get("layout.scale"), None if names is None else tuple(names)
    )
    inputs = header["inputs"]
    model._inputs = (
        None if inputs is None else Inputs(tuple(inputs["names"]), tuple(tuple(s) for s in inputs["shapes"]))
    )
    novelty = {n.removeprefix("novelty."): a for n, a in arrays.items() if n.startswith("novelty.")}
    model._novelty = Novelty.of(novelty) if novelty else None
    model._needs_points = bool(header["needs_points"])
    model.points_ = arrays["points"]
    model._scale_X, model._scale_points = (
        Affine(arrays[f"scale_{name}.shift"], arrays[f"scale_{name}.scale"])
        if f"scale_{name}.shift" in arrays
        else None
        for name in ("X", "points")
    )
    kept: dict[str, Any] = {name: arrays.get(f"solution.{name}") for name in _ARRAYS_OF_SOLUTION}
    model.solution_ = Solution(**kept, **header["solution"])
    model._T = model._trunk_at_places(model.points_)
    model._TW = model._readout()
    if "sums" in header:
        model.restore_sums(header["sums"], arrays)
    return model

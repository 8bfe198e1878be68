"""Model files of elmonet 0.1, as today's are."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["from_version_1"]

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

"""elmonet plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet._check import InputError
from elmonet.cli.telling import InputName, Json, Told, require_place

__all__ = ["plot"]


def plot(
    model: Annotated[Path, typer.Argument(help="File of a model, from elmonet fit.")],
    data: Annotated[Path, typer.Argument(help="File of input and output functions.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture to write: png, pdf or svg.")],
    function: Annotated[int, typer.Option(min=0, help="Which function, counted from 0.")] = 0,
    component: Annotated[
        str | None, typer.Option(help="Which component, by name or number.", show_default="the first")
    ] = None,
    input: InputName = None,
    json: Json = False,
) -> None:
    """Draw a prediction beside the truth: on a line, on a plane, or, at scattered points, value by value.

    Of the file's test functions, or, if it has none, of all.

    **Examples**

    elmonet plot operator.elmonet data.npz -o fit.png

    elmonet plot operator.elmonet data.npz -o fit.png --function 7
    """
    from elmonet import load
    from elmonet.cli.inputs import read_inputs
    from elmonet.cli.learn import _name
    from elmonet.data import Scattered

    require_place(out)
    if out.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"cannot draw {str(out)!r}: a picture is a png, pdf or svg file.")
    fitted = load(model)
    found = read_inputs(fitted, data, _name(input), None)
    if found.truth is None:
        raise InputError(
            f"{str(data)!r} holds input functions only; a picture needs output functions to compare."
        )
    if function >= found.functions:
        raise InputError(f"there are {found.functions} functions, counted from 0; got --function {function}.")
    u = (
        {k: v[function : function + 1] for k, v in found.u.items()}
        if isinstance(found.u, dict)
        else found.u[function : function + 1]
    )
    if isinstance(found.truth, Scattered):
        error = _draw_scattered(fitted, u, found.truth.of_functions([function]), out)
    else:
        error = _draw(fitted, u, found, function, component, data.stem, out)
    told = Told(json)
    told.fact(function=function, error=error, wrote=str(out))
    told.line(f"function {function}: relative error {error:.3g}; wrote {out}")
    told.end()


def _draw(
    fitted: Any, u: Any, found: Any, function: int, component: str | None, name: str, out: Path
) -> float:
    """Functions at common points, on a line or a plane."""
    import numpy as np

    from elmonet import OperatorData, relative_l2
    from elmonet import plot as pictures

    points = fitted._places_given if found.points is None else np.asarray(found.points, float)
    points = points.reshape(-1, points.shape[-1]) if points.ndim > 1 else points[:, None]
    predicted, truth = fitted.predict(u, points=found.points), found.truth
    if isinstance(truth, dict):
        truth = {key: part[function : function + 1] for key, part in truth.items()}
        chosen = next(iter(truth)) if component is None else component
        if chosen not in truth:
            raise InputError(f"there is no component {chosen!r}; there are {', '.join(truth)}.")
        predicted, truth, name = predicted[chosen], truth[chosen], f"{name}, {chosen}"
    else:
        truth = truth[function : function + 1]
        if truth.size > len(points):
            number = int(component) if component is not None and component.isdecimal() else 0
            if component not in (None, str(number)) or number >= truth.shape[-1]:
                raise InputError(
                    f"there are {truth.shape[-1]} components, counted from 0; got {component!r}."
                )
            predicted, truth, name = predicted[..., number], truth[..., number], f"{name}, component {number}"
    predicted, truth = (np.asarray(A, float).reshape(1, -1) for A in (predicted, truth))
    d = points.shape[1]
    if d > 2:
        _parity(truth[0], predicted[0], out)
        return relative_l2(predicted, truth)
    inputs = np.asarray(next(iter(u.values())) if isinstance(u, dict) else u, float).reshape(1, -1)
    sensors = (
        np.linspace(0, 1, inputs.shape[1])[:, None]
        if d == 1 and inputs.shape[1] > 1
        else np.zeros((inputs.shape[1], 2))
    )
    shown = OperatorData(inputs, truth, inputs, truth, sensors=sensors, points=points, name=name)
    axes = (pictures.prediction if d == 1 else pictures.field)(_Known(predicted), shown)
    first = axes if d == 1 else axes[0]
    first.set_title(first.get_title().replace("test 0", f"function {function}"), fontsize="medium")
    _save(axes, out)
    return relative_l2(predicted, truth)


class _Known:
    """A model of which the prediction is known already."""

    def __init__(self, predicted: Any):
        self.predicted = predicted

    def predict(self, _: Any) -> Any:
        return self.predicted


def _draw_scattered(fitted: Any, u: Any, truth: Any, out: Path) -> float:
    import numpy as np

    predicted = fitted.predict(u, points=truth)
    _parity(truth.values.ravel(), predicted.ravel(), out)
    return float(np.linalg.norm(predicted - truth.values) / (np.linalg.norm(truth.values) or 1.0))


def _parity(truth: Any, predicted: Any, out: Path) -> None:
    """Predicted against true values."""
    from elmonet.plot import parity

    _save(parity(truth, predicted), out)


def _save(axes: Any, out: Path) -> None:
    import numpy as np

    figure = np.ravel(axes)[0].figure
    figure.savefig(out, dpi=150, bbox_inches="tight")

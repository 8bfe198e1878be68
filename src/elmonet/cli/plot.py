"""elmonet plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmonet.cli import console
from elmonet.cli.paths import data_source, files_of, name_of, open_model, require_place
from elmonet.cli.predict import Band, Interval, band_asked, of_option
from elmonet.errors import InputError
from elmonet.store import atomic_write
from elmonet.summary import percent, plural

if TYPE_CHECKING:
    from elmonet.cli.inputs import InputFunctions


def plot(
    model: console.ModelFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="File of input and output functions, or files with one run each.", metavar="DATA"
        ),
    ],
    out: Annotated[Path, console.out_option("Picture to write: png, pdf or svg.")],
    function: Annotated[int, console.option("Which function, counted from 0.", "N", min=0)] = 0,
    component: Annotated[
        str | None, console.option("Which component, by name or number.", "NAME", "the first")
    ] = None,
    cut: Annotated[
        str | None,
        console.option("Plane at which a solid mesh is cut open, such as y=0.5.", "PLANE", "none"),
    ] = None,
    interval: Interval = None,
    of: Annotated[str | None, of_option("function")] = None,
    input: console.InputName = None,
    output: console.OutputName = None,
    points: console.PointsName = None,
    index: console.IndexName = None,
    transpose: console.Transpose = False,
    max_size: console.MaxSize = None,
    table: console.RunTable = None,
    bad_runs: console.BadRuns = "raise",
    json: Annotated[bool, console.json_option("function, training_function, error, wrote")] = False,
) -> None:
    """Plot a prediction beside the truth.

    Functions on a line, on a plane or on a mesh (solids by their surface) are plotted as such; scattered
    outputs as predicted against true values. Vectors are drawn with arrows: --component velocity, if the
    components are velocity_x and velocity_y. Functions are counted among the file's test functions, or among
    all if it has none. With --interval, a prediction on a line or on a plane is plotted with its band, also
    where the truth is not known.

    **Examples**

    elmonet plot operator.elmonet data.npz -o fit.png

    elmonet plot operator.elmonet data.npz -o fit.png --function 7

    elmonet plot operator.elmonet new.npz -o band.png --interval 0.9

    elmonet plot flow.elmonet design.csv "runs/*.vtu" -o velocity.png --component velocity
    """
    from elmonet.cli.inputs import (
        count_training_functions,
        name_in_file,
        other_outputs,
        read_inputs,
        record_times,
    )
    from elmonet.forms.components import errors_of_functions
    from elmonet.forms.inputs import rows_of

    band = band_asked(interval, of, default="function")
    fitted = open_model(model)
    source = data_source(data, table, bad_runs)
    require_picture(out, model, *files_of(source))
    inputs = read_inputs(fitted, source, **console.read_options(locals()))
    inputs = replace(inputs, names=(name_in_file(fitted, "input", ""), name_in_file(fitted, "output", "")))
    if inputs.truth is None and band is None:
        raise InputError(
            f"a picture needs output functions to compare, and in {str(source)!r} there are none: "
            f"{inputs.why_no_truth}"
        )
    if function >= inputs.count:
        raise InputError(
            f"--function {function}: the file has {plural(inputs.count, 'function')}, counted from 0, so the "
            f"last is --function {inputs.count - 1}."
        )
    without_windows()
    u: Any = rows_of(inputs.u, slice(function, function + 1))
    where, truth = _points_and_truth(fitted, inputs, function)
    if isinstance(inputs.truth, list) or isinstance(inputs.u, list):  # one of records of any lengths
        u = _stacked(u)
        where = record_times(fitted, fitted._fitted().steps_of(u))
        truth = None if truth is None else _stacked(truth)
    if band is None and errors_of_functions(fitted.predict(u, points=where), truth) is None:
        raise InputError(other_outputs(model, source))
    shown = (fitted, u, where, truth, inputs, component, f"{name_of(source)}, function {function}")
    if cut is not None:
        fitted._adopt(_clipped(fitted, cut))
    axes, error = _draw_comparison(*shown) if band is None else _draw_band(*shown, band)
    printer = console.Printer(json)
    out = printer.save(lambda place: save_picture(axes, place), out)
    trained_on, remark = count_training_functions(fitted, u)
    printer.value(function=function, training_function=bool(trained_on), error=error, wrote=str(out))
    compared = "" if error is None else f"relative error {percent(error)}"
    printer.line(f"function {function}: {compared}{remark}{'; ' if compared or remark else ''}wrote {out}")
    printer.finish()


def _stacked(records: Any) -> Any:
    """Return a list with one record, or a dictionary of these, as arrays."""
    import numpy as np

    if isinstance(records, dict):
        return {name: _stacked(part) for name, part in records.items()}
    return np.stack(records) if isinstance(records, list) else records


def _clipped(fitted: Any, cut: str) -> Any:
    """Return the model with its mesh clipped at a plane, given as y=0.5."""
    labels, (axis, _, at) = fitted.labels_, cut.partition("=")
    try:
        place = float(at)
    except ValueError:
        place = float("nan")
    if labels.mesh is None or len(labels.mesh.coordinates) < 3:
        raise InputError("--cut is for models of fields on a solid mesh.")
    if axis.strip() not in "xyz" or not axis.strip() or place != place:
        raise InputError(f"--cut {cut}: name a plane, such as x=0.5, y=0 or z=1.2.")
    mesh = labels.mesh.clipped("xyz".index(axis.strip()), place)
    if not mesh.boundary:
        raise InputError(f"--cut {cut}: nothing is left of the mesh.")
    return replace(fitted._fitted(), labels=replace(labels, mesh=mesh))


def _points_and_truth(fitted: Any, inputs: InputFunctions, function: int) -> tuple[Any, Any]:
    """Return where to draw a function (None: at the training points), and its outputs there if known."""
    from elmonet.data import Scattered
    from elmonet.forms.inputs import rows_of

    truth, names = inputs.truth, fitted.outputs_.names
    if truth is None:
        if fitted.outputs_.scattered:
            raise InputError(
                "the model was fitted to outputs at scattered points, and this file does not say where to "
                "draw: it needs points and index."
            )
        return None, None
    points: Any = inputs.points
    if isinstance(truth, Scattered):
        if function not in truth.index:
            raise InputError(f"function {function} has no points of its own; name another --function.")
        one: Any = truth.of_functions([function])
        points, own = one.points, one.values[None]
    else:
        own = rows_of(truth, slice(function, function + 1))
    if names is not None and not isinstance(own, dict) and own.shape[-1] == len(names):
        own = {name: own[..., i] for i, name in enumerate(names)}
    return points, own


def _draw_comparison(
    fitted: Any, u: Any, where: Any, truth: Any, inputs: InputFunctions, component: str | None, name: str
) -> tuple[Any, float]:
    """Draw prediction and truth of one function; return the axes and the relative error."""
    import numpy as np

    from elmonet.data import Scattered
    from elmonet.metrics import relative_l2
    from elmonet.plot.fields import is_drawn
    from elmonet.plot.functions import compare_on_line, compare_on_plane, parity, vectors
    from elmonet.plot.predicted import PredictedFunction

    names = fitted.outputs_.names or ()
    if component is not None and component not in names and f"{component}_x" in names:
        axes = vectors(fitted, u, truth, name=component, points=where)
        parts = [f"{component}_{k}" for k in "xyz" if f"{component}_{k}" in names]
        predicted = fitted.predict(u, points=where)
        both = (np.stack([A[part] for part in parts], axis=-1) for A in (predicted, truth))
        return axes, relative_l2(*both)
    shown = PredictedFunction.of(fitted, u, truth, 0, where, component, option="--component")
    if shown.truth is None:
        raise InputError("this function has no value to compare with; name another --function.")
    labels = fitted.labels_
    known = np.isfinite(shown.truth)
    points, values, predicted = shown.points[known], shown.truth[known], shown.predicted[known]
    error = relative_l2(predicted[None], values[None])
    d = points.shape[1]
    if (d > 2 and not is_drawn(shown.mesh, shown.points)) or isinstance(inputs.truth, Scattered):
        return parity(values, predicted), error
    name = shown.name.replace("function 0", name, 1)
    if d >= 2:
        called = shown.label or inputs.names[1]
        label = labels.with_unit(called) if labels.units.get(called) else ""
        name = ", ".join(part for part in (inputs.names[1], name) if part)
        axes_names = labels.axes_with_units or inputs.axes
        if shown.mesh is not None:  # NaN is left out there
            points, values, predicted = shown.points, shown.truth, shown.predicted
        more: dict[str, Any] = {"mesh": shown.mesh, "label": label}
        return compare_on_plane(points, values, predicted, name, axes_names, **more), error
    panel, names = _input_panel(u, inputs, points), (inputs.names[0] or "u", inputs.names[1] or "s")
    return compare_on_line(points, values, predicted, name, inputs.axes, panel, functions=names), error


def _input_panel(u: Any, inputs: InputFunctions, points: Any) -> tuple[Any, Any] | None:
    """Return sensors (m, 1) and values (m,) of the input function; None if it is not on a line.

    Sensors that are not known are spread over the points or, if these have a named coordinate, which may be
    another one, numbered.
    """
    import numpy as np

    values = np.ravel(next(iter(u.values())) if isinstance(u, dict) else u)
    m, sensors = len(values), inputs.sensors
    if m < 2 or (sensors is not None and np.shape(sensors) != (m, 1)):
        return None
    if sensors is None:
        named = inputs.axes is not None
        sensors = (np.arange(float(m)) if named else np.linspace(points.min(), points.max(), m))[:, None]
    return sensors, values


def _draw_band(
    fitted: Any,
    u: Any,
    where: Any,
    truth: Any,
    inputs: InputFunctions,
    component: str | None,
    name: str,
    band: Band,
) -> tuple[Any, float | None]:
    """Draw one function with its band; return the axes, and the relative error if the truth is known."""
    from elmonet.plot.bands import on_a_line, on_plane
    from elmonet.plot.fields import is_drawn
    from elmonet.plot.predicted import WithBand

    shown = WithBand.of(fitted, u, truth, 0, band.coverage, band.of, where, component)
    d = shown.points.shape[1]
    if d > 2 and not is_drawn(shown.mesh, shown.points):
        raise InputError(
            f"--interval draws bands on a line or in a plane, and these points have {d} coordinates. Write "
            "them to a file instead: elmonet predict --interval."
        )
    output = inputs.names[1]
    name = shown.name.replace("function 0", f"{output}, {name}" if d == 2 and output else name, 1)
    given = shown.output if shown.output != "s" else output or "s"
    shown = replace(shown, name=name, axes=shown.axes or inputs.axes, output=given)
    return (on_a_line if d == 1 else on_plane)(shown), shown.error


def require_picture(out: Path, *given: Path) -> None:
    """Raise, before anything is computed, if a picture cannot be written to this file."""
    if out.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"cannot draw {str(out)!r}: a picture is a png, pdf or svg file.")
    require_place(out, *given)


def without_windows() -> None:
    """Draw to files, also where there is no screen."""
    try:
        import matplotlib
    except ImportError:
        return  # the drawing says how to install it
    matplotlib.use("Agg")


def save_picture(axes: Any, out: Path) -> None:
    """Write the figure of these axes, and close it."""
    import numpy as np
    from matplotlib import pyplot

    figure = np.ravel(axes)[0].figure
    with atomic_write(out) as new:
        figure.savefig(new, dpi=150, bbox_inches="tight")
    pyplot.close(figure)  # not if that failed: it may be written elsewhere

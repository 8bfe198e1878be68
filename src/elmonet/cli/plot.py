"""elmonet plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet.cli.console import IndexName, InputName, MaxSize, OutputName, PointsName, Told, Transpose
from elmonet.cli.inputs import flags, open_model, require_data, require_place
from elmonet.cli.predict import Band, Interval, band_asked, of_option
from elmonet.errors import InputError
from elmonet.modelfile.store import replacing
from elmonet.summary import percent

__all__ = ["draw_band", "plot", "without_windows"]


def draw_band(
    fitted: Any, u: Any, found: Any, function: int, component: str | None, band: Band, name: str
) -> tuple[Any, float | None]:
    """The axes, and the relative error if the truth is known; u is the function alone, of those `found`."""
    from elmonet.plot.bands import on_plane, on_a_line
    from elmonet.plot.functions import WithBand

    points, truth = _known(fitted, found, function)
    shown = WithBand.of(fitted, u, truth, 0, band.coverage, band.of, points, component)
    d = shown.points.shape[1]
    if d > 2:
        raise InputError(
            f"--interval draws bands on a line or in a plane, and these points have {d} coordinates. Write "
            "them to a file instead: elmonet predict --interval."
        )
    called = shown.name.replace("function 0", f"function {function}", 1)
    shown = replace(shown, name=f"{name}, {called}", axes=found.axes)
    return (on_a_line if d == 1 else on_plane)(shown), shown.error


def _known(fitted: Any, found: Any, function: int) -> tuple[Any, Any]:
    """Where to draw a function (None: at the training points), and its outputs there if they are known."""
    from elmonet.data import Scattered
    from elmonet.forms.inputs import rows_of

    truth, names = found.truth, fitted.outputs_.names
    if isinstance(truth, Scattered):
        if function not in truth.index:
            raise InputError(f"function {function} has no points of its own; name another --function.")
        one: Any = truth.of_functions([function])
        return one.points, one.values[None]
    if truth is None:
        if fitted.outputs_.scattered:
            raise InputError(
                "the model was fitted to outputs at scattered points, and this file does not say where to "
                "draw: it needs points and index."
            )
        return None, None
    own: Any = rows_of(truth, slice(function, function + 1))
    if names is not None and not isinstance(own, dict) and own.shape[-1] == len(names):
        own = {name: own[..., i] for i, name in enumerate(names)}
    return found.points, own


_NOTHING_KNOWN = "function {} has no value to compare with; name another --function."


def plot(
    model: Annotated[Path, typer.Argument(help="File of a model, from elmonet fit.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help="File of input and output functions.", metavar="DATA")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Picture to write: png, pdf or svg.", metavar="FILE")
    ],
    function: Annotated[int, typer.Option(min=0, help="Which function, counted from 0.", metavar="N")] = 0,
    component: Annotated[
        str | None,
        typer.Option(help="Which component, by name or number.", metavar="NAME", show_default="the first"),
    ] = None,
    interval: Interval = None,
    of: Annotated[str | None, of_option("function")] = None,
    input: InputName = None,
    output: OutputName = None,
    points: PointsName = None,
    index: IndexName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: function, training_function, error, wrote.",
        ),
    ] = False,
) -> None:
    """Draw a prediction beside the truth.

    On a line, on a plane, or, at scattered points, value by value. The functions are counted among the
    file's test functions, or among all if it has none. With --interval, the prediction is drawn with its
    band, on a line or on a plane, also where the truth is not known.

    **Examples**

    elmonet plot operator.elmonet data.npz -o fit.png

    elmonet plot operator.elmonet data.npz -o fit.png --function 7

    elmonet plot operator.elmonet new.npz -o band.png --interval 0.9
    """
    from elmonet.cli.inputs import read_inputs, training_functions
    from elmonet.data import Scattered
    from elmonet.forms.inputs import rows_of

    if out.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"cannot draw {str(out)!r}: a picture is a png, pdf or svg file.")
    band = band_asked(interval, of, default="function")
    require_place(out, model, data)
    fitted = open_model(model)
    require_data(data)
    names = flags(locals())
    found = read_inputs(fitted, data, **names)
    if found.truth is None and band is None:
        raise InputError(
            f"a picture needs output functions to compare, and in {str(data)!r} there are none: {found.why}"
        )
    if function >= found.functions:
        raise InputError(
            f"there are {found.functions} functions, counted from 0: the last is --function "
            f"{found.functions - 1}, got {function}."
        )
    without_windows()
    u = rows_of(found.u, slice(function, function + 1))
    error: float | None
    if band is not None:
        axes, error = draw_band(fitted, u, found, function, component, band, data.stem)
        _save(axes, out)
    else:
        draw = _draw_scattered if isinstance(found.truth, Scattered) else _draw
        error = draw(fitted, u, found, function, component, out, data.stem)
    told = Told(json)
    seen, about = training_functions(fitted, u)
    told.fact(function=function, training_function=bool(seen), error=error, wrote=str(out))
    about = about.replace("all are training functions", "a training function")
    compared = "" if error is None else f"relative error {percent(error)}"
    told.line(f"function {function}: {compared}{about}{'; ' if compared or about else ''}wrote {out}")
    told.end()


def _draw(
    fitted: Any, u: Any, found: Any, function: int, component: str | None, out: Path, name: str
) -> float:
    """Functions at common points, on a line or a plane."""
    import numpy as np

    from elmonet import OperatorData, relative_l2
    from elmonet import plot as pictures
    from elmonet.forms.inputs import rows_of
    from elmonet.plot.axes import titled

    points = fitted.outputs_.points if found.points is None else np.asarray(found.points, float)
    points = points.reshape(-1, points.shape[-1]) if points.ndim > 1 else points[:, None]
    own = rows_of(found.truth, function)
    predicted, truth, chosen = _one(fitted.predict(u, points=found.points), own, len(points), component)
    known = np.isfinite(truth)
    if not known.any():
        raise InputError(_NOTHING_KNOWN.format(function))
    points, truth, predicted = points[known], truth[None, known], predicted[None, known]
    d = points.shape[1]
    if d > 2:
        _parity(truth, predicted, out)
        return relative_l2(predicted, truth)
    inputs = np.asarray(next(iter(u.values())) if isinstance(u, dict) else u, float).reshape(1, -1)
    sensors = _sensors(found.sensors, inputs.shape[1], points, found.axes is not None)
    name = f"{name}, {chosen}" if chosen else name
    both = {"sensors": sensors, "points": points, "name": name, "axes": found.axes}
    shown = OperatorData(inputs, truth, inputs, truth, **both)
    picture: Any = pictures.prediction if d == 1 else pictures.field
    axes = picture(_Known(predicted), shown)
    first = np.ravel(axes)[0]
    said = first.get_title().replace("\n", " ").rpartition(": ")[2]
    titled(first, f"{name}, function {function}: {said}")
    _save(axes, out)
    return relative_l2(predicted, truth)


def _draw_scattered(
    fitted: Any, u: Any, found: Any, function: int, component: str | None, out: Path, _: str
) -> float:
    """A function at its own points, value by value."""
    from elmonet import relative_l2

    if function not in found.truth.index:
        raise InputError(_NOTHING_KNOWN.format(function))
    own = found.truth.of_functions([function])
    predicted, truth, _ = _one(fitted.predict(u, points=own), own.values, len(own), component)
    _parity(truth, predicted, out)
    return relative_l2(predicted, truth)


def _one(predicted: Any, truth: Any, n: int, wanted: str | None) -> tuple[Any, Any, str]:
    """Prediction and truth (n,) of one component, and its name."""
    guesses, values = _components(predicted, n), _components(truth, n)
    if not isinstance(truth, dict) and len(guesses) == len(values):
        values = dict(zip(guesses, values.values(), strict=True))
    if set(guesses) != set(values):
        raise InputError(
            f"the model predicts {_told(predicted)}, and the file holds {_told(truth)}: it was fitted to "
            "other output functions. Say which to use: --output NAME."
        )
    names = list(values)
    chosen = names[0] if wanted is None else wanted
    if chosen not in names and chosen.isdecimal() and int(chosen) < len(names):
        chosen = names[int(chosen)]
    if chosen not in names:
        raise InputError(
            f"there is no component {chosen!r}; there "
            + (f"are {', '.join(names)}." if len(names) > 1 else "is only one: remove --component.")
        )
    called = f"component {chosen}" if chosen.isdecimal() else chosen
    return guesses[chosen], values[chosen], called if len(names) > 1 else ""


def _components(values: Any, n: int) -> dict[str, Any]:
    """The components of values at n points, each (n,), by name or number; none if there are other points."""
    import numpy as np

    if isinstance(values, dict):
        return {name: np.ravel(part) for name, part in values.items() if np.size(part) == n}
    columns = np.asarray(values, float)
    if columns.size % n:
        return {}
    columns = columns.reshape(n, -1)
    return {str(i): columns[:, i] for i in range(columns.shape[1])}


def _told(values: Any) -> str:
    return ", ".join(values) if isinstance(values, dict) else f"{values.size} values per function"


def _sensors(given: Any, m: int, points: Any, named: bool) -> Any:
    """Sensors for the panel of the input; on a plane, no panel.

    They are given, or spread over the points; or, if these have a named coordinate that the sensors may not
    have, numbered.
    """
    import numpy as np

    if points.shape[1] == 1 and m > 1:
        if given is not None and np.shape(given) == (m, 1):
            return given
        if given is None:
            numbered = np.arange(m, dtype=float)
            return (numbered if named else np.linspace(points.min(), points.max(), m))[:, None]
    return np.zeros((m, 2))


class _Known:
    """Stands in for a model whose prediction is already computed."""

    def __init__(self, predicted: Any):
        self.predicted = predicted

    def predict(self, _: Any) -> Any:
        return self.predicted


def _parity(truth: Any, predicted: Any, out: Path) -> None:
    """Predicted against true values."""
    from elmonet.plot import parity

    _save(parity(truth, predicted), out)


def without_windows() -> None:
    """Draw to files, also where there is no screen."""
    try:
        import matplotlib
    except ImportError:
        return  # the drawing says how to install it
    matplotlib.use("Agg")


def _save(axes: Any, out: Path) -> None:
    import numpy as np
    from matplotlib import pyplot

    figure = np.ravel(axes)[0].figure
    with replacing(out) as new:
        figure.savefig(new, dpi=150, bbox_inches="tight")
    pyplot.close(figure)

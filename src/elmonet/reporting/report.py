"""The report of a fitted model as one HTML page, its sections in the order of a reader's questions."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import datetime
from importlib import metadata
from typing import Any

import numpy as np

from elmonet.errors import InputError
from elmonet.fitting.suspects import Suspects
from elmonet.plot.choices import leaderboard, relevance, ridge_path, suspects
from elmonet.plot.functions import parity
from elmonet.reporting.data import ReportData, Shown, TestScore, evaluate, report_data, shown_test
from elmonet.reporting.figures import (
    bands_section,
    domain,
    error_spread,
    function,
    layers,
    one,
    require_pictures,
)
from elmonet.reporting.html import Markup, element, folded, page, picture, table
from elmonet.store import write_bytes
from elmonet.summary import percent, plural, rounded
from elmonet.uncertainty.error_estimate import MIN_INDEPENDENT

_PACKAGES = ("numpy", "scipy", "scikit-learn")  # whose versions numbers depend on
_MAX_COMPONENTS = 4  # components that are drawn
_COLUMNS = ("branch", "log_inputs", "log_outputs", "functions", "error", "alpha", "seconds")
_MAX_SUSPECTS = 30  # rows of the table of suspects
_BAR, _MAX_BARS = 0.22, 12.0  # inches of a bar of the picture of relevance, and of all
_MAX_CANDIDATES = 10  # rows of the table of candidates


def report(
    estimator: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    points: Any = None,
    command: str = "",
    file: str = "",
    understood: Sequence[str] = (),
) -> None:
    """Write the report of an estimator, atomically.

    Parameters
    ----------
    estimator : a fitted estimator.
    path : of the file to write.
    X, y, points : test functions with their outputs, and the points of these if they are not the training
        points.
    command, file : the command that made the model, and the data file, if there were any.
    understood : what was taken as what in that file, in sentences.
    """
    if (X is None) != (y is None):
        raise InputError("a report takes test functions with their outputs, X and y: give both or none.")
    require_pictures()
    data = report_data(estimator)
    shown = data.shown if isinstance(data.shown, Shown) else None
    tested = None
    if X is not None:
        tested = evaluate(estimator, X, y, points)
        shown = shown or shown_test(estimator, X, y)
    title = f"{data.model}: report of a fit"
    body = [
        element("h1", title),
        element("p", _date()),
        *_error(data, shown, tested),
        *_functions(data, shown),
        *bands_section(shown, tested),
        *_suspects(data.suspects),
        *([] if data.physics is None else _equation(data.physics)),
        *_data(data, file, understood),
        *_choice(data),
        *_repeat(data, command),
    ]
    write_bytes(path, page(title, *body).encode(errors="backslashreplace"))  # of file names, too


def _error(data: ReportData, shown: Shown | None, tested: TestScore | None) -> list[Markup]:
    parts = [element("h2", "Expected error")]
    estimate, said = data.estimate, []
    if tested is not None and tested.error is not None:
        error = percent(tested.error)
        said.append(element("p", f"On {plural(tested.functions, 'test function')}, the error is {error}."))
    if estimate.error is None:
        why = "Not known: no function was left out of this fit. Test the model on new functions."
        return [*parts, element("p", why), *said]
    parts.append(element("p", percent(estimate.error), class_="large"))
    parts.append(
        element(
            "p",
            "Relative error on new functions like the training functions. Estimated by "
            f"{estimate.kind_in_words}.",
        )
    )
    interval = estimate.interval
    if interval is None:
        sure = "Its 90 % interval is not known."
    elif np.isinf(interval[1]):
        sure = f"With fewer than {MIN_INDEPENDENT} functions, its 90 % interval is not known."
    else:
        sure = f"90 % interval: {percent(interval[0], 2)} to {percent(interval[1], 2)}."
    parts.append(element("p", sure))
    if estimate.quantiles is not None:
        median, high = (percent(error, 2) for error in estimate.quantiles)
        tail = " A heavy tail: few large errors determine the mean." if estimate.heavy_tail else ""
        parts.append(element("p", f"Single functions: median {median}, 95 % are below {high}.{tail}"))
    if data.physics is not None:
        solver = percent(data.physics.error)
        parts.append(element("p", f"It includes the error of the equation's solutions themselves, {solver}."))
    parts += said
    if shown is not None:
        caption = f"Relative errors of {shown.count(len(shown.errors))}, and the expected error."
        parts.append(picture(error_spread(shown, estimate.error, interval), caption))
    return parts


def _data(data: ReportData, file: str, understood: Sequence[str]) -> list[Markup]:
    parts = [element("h2", "The data")]
    if understood:
        parts.append(element("ul", *(element("li", reason) for reason in understood)))
    return [*parts, table((({"file": file} if file else {}) | data.data).items())]


def _choice(data: ReportData) -> list[Markup]:
    parts = [element("h2", "Selected model"), element("pre", data.summary)]
    parts.append(folded("All settings", table(data.settings.items())))
    if data.leaderboard:
        caption = (
            "All candidates, one row per kind, the best on top. Orange: selected. Blue: fitted to all "
            "functions. Grey: fitted to some."
        )
        known = [row for row in data.leaderboard if np.isfinite(row["error"])]
        parts.append(picture(one(lambda ax: leaderboard(known, ax), 8.0, 4.4), caption))
        parts += _tried(data.leaderboard)
    form = data.inputs
    if form is not None and form.has_relevance:
        height = min(_MAX_BARS, 1.2 + _BAR * len(form.relevance()))
        caption = "Relevance of each part of the inputs, and of a function along its sensors."
        parts.append(picture(one(lambda ax: relevance(form, ax), 6.0, max(height, 3.0)), caption))
    if data.layers:
        caption = "Error on the functions held out of all layers, after each layer."
        parts.append(picture(layers(data.layers), caption))
    solution = data.solution
    if solution is not None and solution.alphas is not None and solution.path is not None:
        caption = "Choice of the ridge parameter alpha."
        parts.append(picture(one(lambda ax: ridge_path(solution, ax)), caption))
    return parts


def _suspects(found: Suspects | None) -> list[Markup]:
    if found is None or not len(found):
        return []
    said = (
        f"{len(found)} of {found.n} training pairs contradict the rest. Check them before you use the "
        "model: a swapped, mislabelled or broken pair degrades the predictions around it."
    )
    caption = "Residual of every training pair, in units of the typical one; suspects with their rows."
    shown = zip(found.functions, found.scores, found.reasons, strict=True)
    cells = [[str(row), f"{score:.3g}", reason] for row, score, reason in shown][:_MAX_SUSPECTS]
    more = f"The {_MAX_SUSPECTS} worst of {len(found)}." if len(found) > _MAX_SUSPECTS else ""
    return [
        element("h2", "Suspect training pairs"),
        element("p", said),
        picture(one(lambda ax: suspects(found, ax), 7.0, 3.6), caption),
        table(cells, ["row", "residual / typical", "reason"]),
        *([element("p", more)] if more else []),
    ]


def _tried(rows: tuple[dict[str, Any], ...]) -> list[Markup]:
    names = [name for name in _COLUMNS if name in rows[0]]
    cells = [[_cell(row.get(name)) for name in names] for row in rows[:_MAX_CANDIDATES]]
    head = [name.replace("_", " ") for name in names]
    some = len(rows) > _MAX_CANDIDATES
    title = f"The {_MAX_CANDIDATES} best of {len(rows)}." if some else "All candidates as a table."
    return [folded(title, table(cells, head))]


def _equation(physics: Any) -> list[Markup]:
    warning = (
        "The outputs are solutions of this equation, not measurements. Errors of functions are "
        "relative to these solutions."
    )
    return [element("h2", "The equation"), element("p", warning), element("pre", str(physics))]


def _functions(data: ReportData, shown: Shown | None) -> list[Markup]:
    parts = [element("h2", "Best, median and worst function")]
    if shown is None:
        return [*parts, element("p", str(data.shown))]
    said = (
        f"Of {shown.count(len(shown.errors))}: each is predicted by a fit without it. The legend gives the "
        "fraction of whole functions inside the bands."
    )
    parts.append(element("p", said))
    number = dict(zip(("best", "median", "worst"), _picked(shown), strict=True))
    pictures = []
    for name, components in shown.examples.items():
        for called, drawn in zip(shown.components, components, strict=False):
            which = f"The {name}: row {number[name]}, counted from 0"
            pictures.append(picture(function(drawn), which + (f"; {called}." if called else ".")))
    small = shown.places.shape[1] != 2
    parts += [element("div", *pictures, class_="beside")] if small else pictures
    parts += [element("h2", "Error over the domain"), *_domain(shown)]
    return parts


def _picked(shown: Shown) -> list[int]:
    order = np.argsort(shown.errors, kind="stable")
    return [int(shown.functions[order[at]]) for at in (0, len(order) // 2, -1)]


def _domain(shown: Shown) -> list[Markup]:
    parts = []
    if len(shown.places) == 1:
        caption = "True and predicted values of functions that were left out of the fit."
        true, predicted = shown.values.T
        parts.append(picture(one(lambda ax: parity(true, predicted, ax), 4.2, 4.2), caption))
    else:
        for k, called in enumerate(shown.components[:_MAX_COMPONENTS]):
            caption = f"Size of the errors of functions left out of the fit{called and ', '}{called}."
            parts.append(picture(domain(shown, k), caption))
    if len(shown.components) > _MAX_COMPONENTS:
        rest = ", ".join(shown.components[_MAX_COMPONENTS:])
        parts.append(element("p", f"Components not shown: {rest}."))
    return parts


def _repeat(data: ReportData, command: str) -> list[Markup]:
    return [
        element("h2", "Reproducing this fit"),
        element("pre", command or data.call),
        table((data.reproduce | versions()).items()),
    ]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return rounded(value) if isinstance(value, float) else str(value)


def _date() -> str:
    return datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on, and the system."""
    from elmonet import __version__

    found = {"Python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    return found | {"elmonet": __version__} | {name: metadata.version(name) for name in _PACKAGES}

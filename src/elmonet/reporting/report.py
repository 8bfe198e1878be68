"""The report of a fitted model as one page: its sections, in the order of a reader's questions."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from datetime import datetime
from importlib import metadata
from typing import Any

import numpy as np

from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.forms.inputs import count_of
from elmonet.forms.outputs import OutputForm, checked_outputs, named_components, relative_error
from elmonet.modelfile.store import write_bytes
from elmonet.plot.choices import ridge_path
from elmonet.plot.functions import HOLDS, parity
from elmonet.reporting.data import USUAL, Account, Tested, Unseen, unseen
from elmonet.reporting.figures import (
    bands_section,
    domain,
    error_spread,
    function,
    layers,
    leaderboard,
    one,
    require_pictures,
)
from elmonet.reporting.html import Markup, element, page, picture, table
from elmonet.summary import percent
from elmonet.uncertainty.error_estimate import FEWEST

__all__ = ["Reporting", "how_it_does", "versions", "with_test", "write_report"]

_PACKAGES = ("elmonet", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers depend on, and the system."""
    found = {"Python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    return found | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str:
    if package == "elmonet":
        from elmonet import __version__

        return __version__
    return metadata.version(package)


_MOST_DRAWN = 4  # components
_TRIED = ("branch", "log_inputs", "log_outputs", "functions", "error", "alpha", "seconds")
_MOST_TRIED = 10


def write_report(
    path: str | os.PathLike[str], account: Account, tested: Tested | None = None, command: str = ""
) -> None:
    """Write what an account tells, atomically; with a test, and the command that made the model."""
    require_pictures()
    title = f"{account.model}: report of a fit"
    body = [
        element("h1", title),
        element("p", _date()),
        *_error(account, tested),
        *_data(account),
        *_choice(account),
        *([] if account.physics is None else _equation(account.physics)),
        *bands_section(account.unseen, tested),
        *_functions(account),
        *_repeat(account, command),
    ]
    write_bytes(path, page(title, *body).encode(errors="backslashreplace"))  # of file names, too


def _error(account: Account, tested: Tested | None) -> list[Markup]:
    parts = [element("h2", "What error to expect")]
    if account.error is None:
        return [*parts, element("p", "Not known: nothing tells how well this model does on new functions.")]
    parts.append(element("p", percent(account.error), class_="large"))
    parts.append(
        element(
            "p",
            f"Relative error on new functions that are like the training functions. Found by {account.kind}.",
        )
    )
    interval = account.interval
    if interval is None:
        sure = "It is not known how sure this is."
    elif np.isinf(interval[1]):
        sure = f"With fewer than {FEWEST} functions, nothing can be said of how sure this is."
    else:
        sure = f"In 90 of 100 cases it lies between {percent(interval[0], 2)} and {percent(interval[1], 2)}."
    parts.append(element("p", sure))
    if account.physics is not None:
        solver = percent(account.physics.error)
        parts.append(element("p", f"It counts the error of the equation's solutions themselves, {solver}."))
    if tested is not None and tested.error is not None:
        said = f"On {tested.functions} test functions, the error is {percent(tested.error)}."
        parts.append(element("p", said))
    if account.unseen is not None:
        caption = (
            f"Relative errors of {len(account.unseen.errors)} {account.unseen.how}, and the error to expect."
        )
        parts.append(picture(error_spread(account.unseen, account.error, account.interval), caption))
    return parts


def _data(account: Account) -> list[Markup]:
    parts = [element("h2", "The data, and what was understood of them")]
    if account.understood:
        parts.append(element("ul", *(element("li", reason) for reason in account.understood)))
    return [*parts, table(account.data.items())]


def _choice(account: Account) -> list[Markup]:
    parts = [element("h2", "What was chosen, and why"), element("pre", account.words)]
    parts.append(table(account.settings.items()))
    if account.leaderboard:
        caption = (
            "All candidates: a row is a kind, the best on top. Orange: chosen. Blue: tried on all functions. "
            "Grey: on some."
        )
        parts.append(picture(leaderboard(account.leaderboard), caption))
        parts += _tried(account.leaderboard)
    if account.layers:
        caption = "The error of functions held out of all layers, after each layer."
        parts.append(picture(layers(account.layers), caption))
    solution = account.solution
    if solution is not None and solution.alphas is not None and solution.path is not None:
        caption = "How alpha, the strength of the ridge, was chosen."
        parts.append(picture(one(lambda ax: ridge_path(solution, ax)), caption))
    return parts


def _tried(rows: tuple[dict[str, Any], ...]) -> list[Markup]:
    names = [name for name in _TRIED if name in rows[0]]
    cells = [[_cell(row.get(name)) for name in names] for row in rows[:_MOST_TRIED]]
    head = [name.replace("_", " ") for name in names]
    more = f"The {_MOST_TRIED} best of {len(rows)}." if len(rows) > _MOST_TRIED else ""
    return [table(cells, head), *([element("p", more)] if more else [])]


def _equation(physics: Any) -> list[Markup]:
    warning = (
        "The outputs are solutions of this equation, not measurements. The errors of functions below are "
        "differences from these solutions."
    )
    return [element("h2", "The equation"), element("p", warning), element("pre", str(physics))]


def _functions(account: Account) -> list[Markup]:
    unseen = account.unseen
    parts = [element("h2", "Best, median and worst function")]
    if unseen is None:
        return [*parts, element("p", account.why_not)]
    said = (
        f"Of {len(unseen.errors)} {unseen.how}: predicted by a fit that has not seen them. With bands that "
        "hold for so many whole functions."
    )
    parts.append(element("p", said))
    number = dict(zip(("best", "median", "worst"), _picked(unseen), strict=True))
    pictures = []
    for name, components in unseen.shown.items():
        for called, shown in zip(unseen.components, components, strict=False):
            which = f"The {name}: row {number[name]}, counted from 0"
            pictures.append(picture(function(shown), which + (f"; {called}." if called else ".")))
    small = unseen.places.shape[1] != 2
    parts += [element("div", *pictures, class_="beside")] if small else pictures
    parts += [element("h2", "Error over the domain"), *_domain(unseen)]
    return parts


def _picked(unseen: Unseen) -> list[int]:
    order = np.argsort(unseen.errors, kind="stable")
    return [int(unseen.numbers[order[at]]) for at in (0, len(order) // 2, -1)]


def _domain(unseen: Unseen) -> list[Markup]:
    parts = []
    if len(unseen.places) == 1:
        caption = "True and predicted values of functions that the fit has not seen; outputs are numbers."
        true, predicted = unseen.values.T
        parts.append(picture(one(lambda ax: parity(true, predicted, ax), 4.2, 4.2), caption))
    else:
        for k, called in enumerate(unseen.components[:_MOST_DRAWN]):
            caption = f"Size of the errors of functions that the fit has not seen{called and ', '}{called}."
            parts.append(picture(domain(unseen, k), caption))
    if len(unseen.components) > _MOST_DRAWN:
        rest = ", ".join(unseen.components[_MOST_DRAWN:])
        parts.append(element("p", f"Components that are not drawn: {rest}."))
    return parts


def _repeat(account: Account, command: str) -> list[Markup]:
    return [
        element("h2", "To repeat it"),
        element("pre", command or account.call),
        table((account.made | versions()).items()),
    ]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _date() -> str:
    return datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z")


class Reporting:
    """A model that reports on itself; what there is to tell is in its `_account`."""

    def _account(self) -> Account:
        raise NotImplementedError

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write a report to send to others: one page of HTML that holds its pictures and loads nothing.

        It tells what the data were taken for, what was chosen and why, what error to expect, whether the
        bands hold, which functions are predicted best and worst, where errors are large, and how to repeat
        the fit. The errors are those of training functions that were left out, or held out: no fit is made.
        Of a model that was loaded, these are not known any more, and the report says so.

        Parameters
        ----------
        path : of the file to write, as ``"fit.html"``. A file that is there is replaced at the end.
        X, y : functions that the model was not fitted to, with their outputs, if there are any: then their
            error is told beside the one that was expected. As in `fit`.

        Raises `MissingExtra` without matplotlib.
        """
        if (X is None) != (y is None):
            raise InputError("a report takes test functions with their outputs, X and y: give both or none.")
        account = self._account()
        if X is None:
            write_report(path, account)
        else:
            write_report(path, with_test(account, self, X, y), how_it_does(self, X, y))


def how_it_does(model: Any, X: Any, y: Any, points: Any = None) -> Tested:
    """How a model does on functions with known outputs, at its training points or at others."""
    where = y if isinstance(y, Scattered) else points
    error = relative_error(model.predict(X, points=where), y)
    try:
        calibration = model.calibration(X, y)
    except InputError:  # without bands, at other points
        calibration = None
    return Tested(count_of(X), error, calibration)


def with_test(account: Account, model: Any, X: Any, y: Any) -> Account:
    """The account with functions of a test, where those that the fit left out are not known any more."""
    if account.unseen is not None or isinstance(y, Scattered):
        return account
    outputs: OutputForm = getattr(model, "best_model_", model).outputs_
    try:
        truth = outputs.rows(checked_outputs(y, outputs))
        ends = model.interval(X, USUAL, "function")
    except InputError:  # at other points, or without bands
        return account
    predicted, low, high = (outputs.rows(named_components(A)[1]) for A in (model.predict(X), *ends))
    holds = HOLDS["function"].format(100 * USUAL)
    found = unseen(
        "test functions",
        outputs,
        np.arange(len(truth)),
        truth,
        predicted,
        lambda i: (low[i], high[i]),
        holds,
        None,
    )
    return replace(account, unseen=found)

"""The demo: the paper's four problems solved by four methods, a table, and a page with figures."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.auto import AutoELMDeepONet
from elmonet.data import OperatorData
from elmonet.errors import MissingExtra
from elmonet.metrics import relative_l2
from elmonet.paper import measure
from elmonet.paper.figures import BLUE, ORANGE
from elmonet.paper.models import PROBLEMS, SHORT, printed_row
from elmonet.paper.tables import TITLES, Table, cell, percent
from elmonet.plot.axes import bare, few_numbers_on_logarithms
from elmonet.plot.fields import coloured
from elmonet.progress import Progress
from elmonet.reporting.figures import drawn, require_pictures
from elmonet.reporting.html import Markup, element, page, picture, table
from elmonet.store import write_bytes

METHODS = ("as printed", "our solver", "automatic", "DeepONet")
"""The paper's recipe, the same networks with our solver, `AutoELMDeepONet`, a trained network."""

_MODELS = {  # of the paper: closed form, and the trained network it is compared with
    "antiderivative": ("ELM-DeepONet", "DeepONet M1"),
    "nonlinear_ode": ("ELM-DeepONet", "DeepONet M1"),
    "darcy": ("ELM-DeepONet MLP", "DeepONet MLP"),
    "inverse_source": ("ELM-DeepONet", "DeepONet"),
}


@dataclass(frozen=True)
class DemoResult:
    """The results of the demo for one problem.

    Attributes
    ----------
    data : the training and test functions.
    records : for each of `METHODS`, error on the test functions, seconds, and prediction of the first test
        function; or why it was not run.
    model : the fitted `AutoELMDeepONet`.
    """

    data: OperatorData
    records: dict[str, dict[str, Any]]
    model: AutoELMDeepONet


def demo(
    *,
    seconds: float = 3.0,
    budget: float = 15.0,
    functions: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[DemoResult]:
    """Solve the four problems of the paper by four methods.

    Parameters
    ----------
    seconds : training time of each DeepONet.
    budget : seconds after which the automatic choice tries no new candidates.
    functions : number of training functions, and of test functions.
    seed : seed of the data and the networks.
    progress : called as ``progress(what, done, total)``.

    Returns
    -------
    results : one `DemoResult` for each problem.
    """
    effort = replace(SHORT, functions=functions, seconds=seconds, darcy_p1=(10_000,), darcy_p2=(500,))
    steps = [(problem, method) for problem in PROBLEMS for method in METHODS]
    done, total = 0.0, sum(_cost(*step, seconds) for step in steps)
    results: dict[str, DemoResult] = {}
    for problem, method in steps:
        if progress is not None:
            progress(f"{TITLES[problem]}: {method}", done, total)
        done += _cost(problem, method, seconds)
        if problem not in results:
            data = PROBLEMS[problem](n_train=functions, n_test=functions, seed=seed)
            model = AutoELMDeepONet(time_budget=budget, random_state=seed)
            results[problem] = DemoResult(data, {}, model)
        result = results[problem]
        elm, trained = _MODELS[problem]
        settings: dict[str, Any] = {"effort": effort, "seed": seed}
        if method == "automatic":
            record = _automatic(result.model, result.data)
        elif method == "DeepONet":
            record = measure.trained(result.data, _ignore_progress, model=trained, **settings)
        else:
            solver = "printed" if method == "as printed" else "ours"
            record = measure.closed_form(result.data, _ignore_progress, model=elm, solver=solver, **settings)
        result.records[method] = record
    return list(results.values())


def demo_table(results: list[DemoResult]) -> Table:
    """Return errors on new functions and seconds, beside the printed errors."""
    rows = []
    for result in results:
        paper = printed_row(result.data.name, _MODELS[result.data.name][0])
        assert paper is not None
        cells = (cell(result.records[method]) for method in METHODS)
        rows.append((TITLES[result.data.name], percent(paper["error"]), *cells))
    return Table("Error on new functions, seconds of training", ("problem", "paper", *METHODS), rows)


def _automatic(model: AutoELMDeepONet, data: OperatorData) -> dict[str, Any]:
    started = time.perf_counter()
    model.fit(data.u_train, data.s_train, points=data.points)
    seconds = time.perf_counter() - started
    predicted = np.asarray(model.predict(data.u_test))
    return {
        "seconds": seconds,
        "error": relative_l2(predicted, data.s_test),
        "expected": model.expected_error_,
        "chosen": model.leaderboard_[0]["branch"],
        "predictions": predicted[:1],
    }


def _cost(problem: str, method: str, seconds: float) -> float:
    """Estimate the seconds of a step."""
    slow = 4.0 if problem == "darcy" else 1.0
    return {"automatic": 6 * slow, "DeepONet": seconds}.get(method, slow)


def _ignore_progress(fraction: float) -> None:
    """Ignore the progress of a step of a few seconds."""


_PANEL = 130.0  # points, the width of a panel of the overview
_VISIBLE = 0.005  # of the range of the output: narrower bands cannot be seen, and are not in the legend
_COLOURS = {"as printed": "#009E73", "our solver": BLUE, "automatic": ORANGE, "DeepONet": "#767676"}
_MARKERS = {"as printed": "^", "our solver": "s", "automatic": "o", "DeepONet": "D"}
_ABOUT = (
    "The four problems of the ELM-DeepONet paper, measured here and now. As printed: the paper's recipe. "
    "Our solver: the same random networks, solved in double precision with a ridge that leave-one-out "
    "chooses. Automatic: AutoELMDeepONet, which chooses everything itself. DeepONet: the network that the "
    "paper compares with, trained for a few seconds; longer training improves it (elmonet reproduce)."
)
_NEXT = (
    "elmonet fit data.npz -o operator.elmonet --report fit.html    # your own data\n"
    "elmonet reproduce                                             # all tables and figures of the paper"
)


def write_demo(results: list[DemoResult], out: str | os.PathLike[str]) -> Path:
    """Write ``index.html`` with the table and the figures, and a live page of each operator beside it.

    Parameters
    ----------
    results : what `demo` returns.
    out : folder, created if needed.

    Returns
    -------
    path : of the page.
    """
    summary = demo_table(results)
    Path(out).mkdir(parents=True, exist_ok=True)
    body: list[Markup] = [element("h1", "elmonet: the paper's four problems"), element("p", _ABOUT)]
    body += [element("h2", summary.title), table(summary.rows, summary.columns)]
    body += _live_pages(results, Path(out))
    try:
        require_pictures()
        body += _pictures(results)
    except MissingExtra as error:
        body.append(element("p", f"Without pictures: {error}"))
    body += [element("h2", "Next"), element("pre", _NEXT)]
    path = Path(out) / "index.html"
    write_bytes(path, page("elmonet demo", *body).encode())
    return path


def live_name(problem: str) -> str:
    """Return the name of the live page of a problem.

    >>> live_name("inverse_source")
    'live-inverse-source.html'
    """
    return f"live-{problem.replace('_', '-')}.html"


def _live_pages(results: list[DemoResult], out: Path) -> list[Markup]:
    """Write a live page of each model; return links to them."""
    links = []
    for result in results:
        data, title = result.data, TITLES[result.data.name]
        name = live_name(data.name)
        result.model.export(out / name, X=data.u_test[:6], y=data.s_test[:6], title=title)
        links.append(element("li", element("a", title, href=name)))
    about = "Draw or paint an input, and the operator that was just trained follows:"
    return [element("h2", "Try them"), element("p", about), element("ul", *links)]


def _pictures(results: list[DemoResult]) -> list[Markup]:
    png = drawn(lambda axes: _overview(axes, results), 1, len(results), 11, 3.2, sharey=True)
    body = [picture(png, "Error on new functions against seconds of training. Lower left is better.")]
    for result in results:
        automatic, title = result.records["automatic"], TITLES[result.data.name]
        caption = (
            f"{title}, a new function. Error that the automatic choice expects, from the training functions "
            f"alone: {percent(automatic['expected'])}. Chosen: {automatic['chosen']}."
        )
        if result.data.points.shape[1] == 1:
            png = drawn(partial(_line, result=result), 1, 3, 11, 3.4)
        else:
            png = drawn(partial(_plane, result=result), 2, 4, 11, 6)
        body += [element("h2", title), picture(png, caption)]
    return body


def _overview(axes: np.ndarray, results: list[DemoResult]) -> None:
    """Draw error against seconds, a panel for each problem."""
    for ax, result in zip(axes, results, strict=True):
        for method, record in _finished(result).items():
            style: dict[str, Any] = {"color": _COLOURS[method], "marker": _MARKERS[method], "markersize": 8}
            ax.loglog(record["seconds"], record["error"], linestyle="none", label=method, **style)
        ax.set(title=TITLES[result.data.name], xlabel="seconds")
        ax.margins(0.15)
        few_numbers_on_logarithms(ax.xaxis, room=_PANEL)
        ax.grid(alpha=0.3)
        bare(ax)
    axes[0].set_ylabel("relative error")
    axes[0].figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS)
    )


def _line(axes: np.ndarray, result: DemoResult) -> None:
    """Draw one test function on a line: its input, the predictions with a band, and their errors."""
    data = result.data
    x, truth = data.points[:, 0], data.s_test[0]
    axes[0].plot(data.sensors[:, 0], data.u_test[0], color="black")
    axes[0].set(title="input", xlabel="x")
    low, high = (np.asarray(side)[0] for side in result.model.interval(data.u_test[:1], of="function"))
    visible = (high - low).max() > _VISIBLE * np.ptp(truth)
    name = "90 % band" if visible else None
    axes[1].fill_between(x, low, high, color=ORANGE, alpha=0.25, linewidth=0, label=name)
    axes[1].plot(x, truth, color="black", alpha=0.25, linewidth=6, label="truth")
    for method, record in _finished(result).items():
        predicted, colour = np.asarray(record["predictions"][0]), _COLOURS[method]
        width = 2.0 if method == "automatic" else 1.0
        axes[1].plot(x, predicted, color=colour, linewidth=width, label=method)
        error = np.maximum(np.abs(predicted - truth), 1e-17)
        axes[2].semilogy(x, error, color=colour, linewidth=width)
    axes[1].set(title="output", xlabel="x")
    axes[2].set(title="absolute error", xlabel="x")
    axes[1].figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    for ax in axes:
        bare(ax)


def _plane(axes: np.ndarray, result: DemoResult) -> None:
    """Draw one test function on a plane: input, truth, prediction and band above, errors below."""
    from matplotlib.colors import LogNorm

    data, records = result.data, _finished(result)
    truth = data.s_test[0]
    low, high = (np.asarray(side)[0] for side in result.model.interval(data.u_test[:1], of="function"))
    predictions = {method: np.asarray(record["predictions"][0]) for method, record in records.items()}
    above = [
        ("input", data.sensors, data.u_test[0].ravel(), "cividis"),
        ("output", data.points, truth, "viridis"),
        ("automatic", data.points, predictions["automatic"], "viridis"),
        ("half width of the 90 % band", data.points, (high - low) / 2, "magma"),
    ]
    for ax, (title, points, values, colours) in zip(axes, above, strict=False):
        image = coloured(ax, points, values, cmap=colours)
        ax.figure.colorbar(image, ax=ax, location="bottom", shrink=0.8)
        ax.set_title(title)
    errors = {method: np.abs(values - truth) for method, values in predictions.items()}
    worst = max(error.max() for error in errors.values())
    for ax, (method, error) in zip(axes[4:], errors.items(), strict=False):
        image = coloured(ax, data.points, error, norm=LogNorm(worst / 1000, worst, clip=True), cmap="magma")
        ax.figure.colorbar(image, ax=ax, location="bottom", shrink=0.8)
        ax.set_title(f"error, {method}")
    for ax in axes:
        ax.set(xticks=[], yticks=[], aspect="equal")
    for ax in axes[4 + len(errors) :]:
        ax.set_axis_off()


def _finished(result: DemoResult) -> dict[str, dict[str, Any]]:
    """Return the records of the methods that were run."""
    return {method: record for method, record in result.records.items() if "skipped" not in record}

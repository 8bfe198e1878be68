"""The paper's four problems in a minute: as printed, with our solver, chosen automatically, and trained."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elmonet.auto import AutoELMDeepONet
from elmonet.data import OperatorData
from elmonet.metrics import relative_l2
from elmonet.paper import measure
from elmonet.paper.effort import SHORT
from elmonet.paper.printed import printed_row
from elmonet.paper.recipes import PROBLEMS
from elmonet.paper.tables import TITLES, Table, cell, percent
from elmonet.progress import Progress

__all__ = ["METHODS", "Shown", "demo", "demo_table"]

METHODS = ("as printed", "our solver", "automatic", "DeepONet")
"""The columns: the paper's recipe, the same networks solved by us, `AutoELMDeepONet`, a trained network."""

_MODELS = {  # the paper's model, and the network that it is compared with
    "antiderivative": ("ELM-DeepONet", "DeepONet M1"),
    "nonlinear_ode": ("ELM-DeepONet", "DeepONet M1"),
    "darcy": ("ELM-DeepONet MLP", "DeepONet MLP"),
    "inverse_source": ("ELM-DeepONet", "DeepONet"),
}


@dataclass(frozen=True)
class Shown:
    """What the demo found for one problem.

    records : for each of `METHODS`, the error on the test functions, the seconds, and the prediction of the
        first test function; or why it was not run.
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
) -> list[Shown]:
    """Solve the four problems of the paper in four ways.

    Parameters
    ----------
    seconds : that each DeepONet is trained for.
    budget : seconds after which the automatic choice tries nothing new.
    functions : for training, and as many for testing.
    seed : of the data and the networks.
    progress : called as ``progress(what, done, total)``.
    """
    effort = replace(SHORT, functions=functions, seconds=seconds, darcy_p1=(10_000,), darcy_p2=(500,))
    steps = [(problem, method) for problem in PROBLEMS for method in METHODS]
    done, total = 0.0, sum(_cost(*step, seconds) for step in steps)
    found: dict[str, Shown] = {}
    for problem, method in steps:
        if progress is not None:
            progress(f"{TITLES[problem]}: {method}", done, total)
        done += _cost(problem, method, seconds)
        if problem not in found:
            data = PROBLEMS[problem](n_train=functions, n_test=functions, seed=seed)
            model = AutoELMDeepONet(time_budget=budget, random_state=seed)
            found[problem] = Shown(data, {}, model)
        shown = found[problem]
        elm, trained = _MODELS[problem]
        settings: dict[str, Any] = {"effort": effort, "seed": seed}
        if method == "automatic":
            record = _automatic(shown.model, shown.data)
        elif method == "DeepONet":
            record = measure.trained(shown.data, _nobody, model=trained, **settings)
        else:
            solver = "printed" if method == "as printed" else "ours"
            record = measure.closed_form(shown.data, _nobody, model=elm, solver=solver, **settings)
        shown.records[method] = record
    return list(found.values())


def demo_table(found: list[Shown]) -> Table:
    """Errors on new functions and seconds, beside the error that the paper prints."""
    rows = []
    for shown in found:
        paper = printed_row(shown.data.name, _MODELS[shown.data.name][0])
        assert paper is not None
        cells = (cell(shown.records[method]) for method in METHODS)
        rows.append((TITLES[shown.data.name], percent(paper["error"]), *cells))
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
    """About how many seconds a step takes."""
    slow = 4.0 if problem == "darcy" else 1.0
    return {"automatic": 6 * slow, "DeepONet": seconds}.get(method, slow)


def _nobody(fraction: float) -> None:
    """Nobody looks how far a step of a few seconds is."""

"""Operators learned from equations alone, beside published numbers: run the gallery and tabulate it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elmonet.auto.model import SOLVING
from elmonet.checks import choice, positive_integer
from elmonet.equations.gallery import GALLERY, SOURCES, GalleryProblem, measure, write_picture
from elmonet.errors import MissingExtra
from elmonet.paper.run import as_json, run_info, step_progress
from elmonet.paper.tables import Table
from elmonet.progress import Progress
from elmonet.store import write_bytes

N_TEST = 100  # functions that errors are measured on
# Estimated seconds, for the progress bar: choosing the resolution, and a thousand functions.
_COSTS = {
    "antiderivative": (0, 2),
    "reaction": (1, 20),
    "poisson": (15, 5),
    "laplace": (12, 5),
    "advection": (60, 100),
    "burgers": (3, 60),
    "stokes": (25, 5),
}
_SOLVING_SHARE = 0.7  # of these seconds; the rest is learning


def reproduce_physics(
    names: Sequence[str] = tuple(GALLERY),
    *,
    functions: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Learn operators from equations without output data and measure their errors on new functions.

    Parameters
    ----------
    names : some of `GALLERY`.
    functions : number of training inputs of each problem. None: each problem's own number.
    seed : seed of the training functions and the networks; test functions use the next one.
    out : folder for ``physics.json``, written after every problem, and ``figures/physics_*.png``, which need
        matplotlib. An existing file is renamed to ``physics.previous.json``. None: no files.
    progress : called as ``progress(what, done, total)``: see `elmonet.progress`.

    Returns
    -------
    results : for `physics_table`; ``results["done"]`` maps the name of each problem to its record.

    Raises
    ------
    InputError : if a problem is unknown.
    """
    for name in names:
        choice(name, "problem", GALLERY)
    seed = positive_integer(seed, "seed", minimum=0)
    results: dict[str, Any] = {**run_info(), "seed": seed, "new_functions": N_TEST, "done": {}}
    file = None if out is None else Path(out) / "physics.json"
    if file is not None:
        (file.parent / "figures").mkdir(parents=True, exist_ok=True)
        if file.exists():
            file.replace(file.with_name("physics.previous.json"))
    chosen = [problem for name, problem in GALLERY.items() if name in names]
    costs = {}
    for problem in chosen:
        choosing, thousand = _COSTS[problem.name]
        costs[problem.name] = choosing + thousand * (functions or problem.functions) / 1000
    done, total = 0.0, sum(costs.values())
    for problem in chosen:
        cost = costs[problem.name]
        hook = _fit_progress(problem.title, step_progress(progress, done, cost, total))
        hook(SOLVING, 0.0, 1.0)
        record, model = measure(problem, functions=functions, new=N_TEST, seed=seed, progress=hook)
        results["done"][problem.name] = record
        if file is not None:
            write_bytes(file, as_json(results).encode())
            try:
                write_picture(problem, model, file.parent / "figures" / f"physics_{problem.name}.png", seed)
            except MissingExtra:
                results["figures"] = 'not drawn: they need matplotlib, pip install "elmonet[plot]".'
        done += cost
    if progress is not None:
        progress("done", total, total)
    return results


def physics_table(results: dict[str, Any]) -> Table:
    """Return one row per equation, beside what was published for it."""
    problems = [GALLERY[name] for name in results["done"]]
    notes = [
        f"Error: mean relative L2 error over the domain on {results['new_functions']} new functions, against "
        "an independently computed reference; the fit was given no outputs. Expected: the model's own "
        f"estimate. Seconds: on {results['machine']['cores']} cores; published times are the authors', "
        "mostly on GPUs.",
        *(f"{problem.title}: {problem.differs}." for problem in problems if problem.differs),
        *(f"{short}: {full}." for short, full in SOURCES.items() if any(short in p.source for p in problems)),
    ]
    rows = [_row(GALLERY[name], record) for name, record in results["done"].items()]
    columns = ("problem", "published", "functions", "error", "time")
    return Table("Operators from equations alone, next to published numbers", columns, rows, notes)


def _row(problem: GalleryProblem, record: dict[str, Any]) -> tuple[str, ...]:
    solving, learning = record["solving"], record["seconds"] - record["solving"]
    return (
        f"{problem.title}, {problem.formula}",
        f"{problem.published}, {problem.source}, {problem.took}",
        str(record["functions"]),
        f"{record['error']:.1e}, expected {record['expected']:.1e}",
        f"{_seconds(record['seconds'])} s, solving {_seconds(solving)}, learning {_seconds(learning)}",
    )


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _fit_progress(title: str, report: Callable[[str, float], None]) -> Progress:
    """Return the progress hook of a fit, which first solves and then learns."""

    def hook(what: str, done: float, total: float) -> None:
        fraction = done / total
        if what == SOLVING:
            report(f"{title}: solving", _SOLVING_SHARE * fraction)
        else:
            report(f"{title}: learning", _SOLVING_SHARE + (1 - _SOLVING_SHARE) * fraction)

    return hook

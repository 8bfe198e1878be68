"""Run the experiments task by task and save each finished task."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from elmonet import __version__
from elmonet.checks import choice, positive_integer
from elmonet.data import OperatorData
from elmonet.errors import FileError, InputError
from elmonet.paper import measure
from elmonet.paper.models import CLOSED_FORM, EXPERIMENTS, PROBLEMS, SHORT, TRAINED, Effort
from elmonet.progress import Progress
from elmonet.store import write_bytes

FORMAT = 1


@dataclass(frozen=True)
class Task:
    """One measurement: the name of its record, what progress shows, estimated seconds, problem, function."""

    name: str
    description: str
    cost: float
    problem: str
    measure: Callable[[OperatorData, Callable[[float], None]], dict[str, Any]]


def reproduce(
    experiments: Sequence[str] = EXPERIMENTS,
    *,
    effort: Effort = SHORT,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure the numbers of the paper's tables and figures.

    Parameters
    ----------
    experiments : some of `EXPERIMENTS`.
    effort : the sizes of the run, `SHORT`, `FULL` or another `Effort`.
    out : folder for ``results.json``, written after every task. An existing file is renamed to
        ``results.previous.json``. None: no file.
    resume : continue the run in `out`, which must have had the same effort and seed.
    seed : seed of the data and the networks.
    progress : called as ``progress(what, done, total)``: see `elmonet.progress`.

    Returns
    -------
    results : for `write_report`; ``results["done"]`` maps the name of each task to its record.

    Raises
    ------
    InputError : if an experiment is unknown, or the run to resume had other settings.
    FileError : if the file of the run to resume cannot be read.
    """
    for name in experiments:
        choice(name, "experiment", EXPERIMENTS)
    seed = positive_integer(seed, "seed", minimum=0)
    if resume and out is None:
        raise InputError("resume needs out, the folder of the run to continue.")
    results = _new_results(effort, seed)
    file = None if out is None else Path(out) / "results.json"
    if file is not None and file.exists():
        if resume:
            results = _resumed(file, results)
        else:
            file.replace(file.with_name("results.previous.json"))
    wanted = {*experiments, *results["experiments"]}
    results["experiments"] = [name for name in EXPERIMENTS if name in wanted]

    tasks = [task for name in results["experiments"] for task in _tasks(name, effort, seed)]
    done, total = 0.0, sum(task.cost for task in tasks)
    for task in tasks:
        report = partial(step_progress(progress, done, task.cost, total), task.description)
        report(0.0)
        record = results["done"].get(task.name)
        if record is None or "skipped" in record:
            data = _data(task.problem, effort.functions, seed)
            results["done"][task.name] = task.measure(data, report)
            if file is not None:
                _save(results, file)
        done += task.cost
    if progress is not None:
        progress("done", total, total)
    return results


def read_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the ``results.json`` of a run.

    Parameters
    ----------
    path : the file.

    Returns
    -------
    results : as `reproduce` returns them.

    Raises
    ------
    FileError : if it cannot be read, or was written by another version.
    """
    try:
        results = json.loads(Path(path).read_text())
        valid = results["format"] == FORMAT and isinstance(results["done"], dict)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError(f"{str(path)!r} cannot be read as the results of a run: {error}") from error
    if not valid:
        raise FileError(f"{str(path)!r} holds results of another version of elmonet; run it again.")
    return results


def as_json(results: dict[str, Any]) -> str:
    """Return the results as JSON with one record per line."""
    head = {name: value for name, value in results.items() if name != "done"}
    records = [f"  {json.dumps(name)}: {json.dumps(record)}" for name, record in results["done"].items()]
    opening = json.dumps(head, indent=1).removesuffix("\n}")
    return opening + ',\n "done": {\n' + ",\n".join(records) + "\n }\n}\n"


def _tasks(experiment: str, effort: Effort, seed: int) -> Iterator[Task]:
    """Yield the tasks of one experiment; the sensitivity tables are for the antiderivative."""
    problem = "antiderivative" if experiment == "sensitivity" else experiment
    title = experiment.replace("_", " ")
    settings: dict[str, Any] = {"effort": effort, "seed": seed}
    slow = 10.0 if experiment == "darcy" else 1.0

    def task(name: str, description: str, cost: float, function: Any, **options: Any) -> Task:
        bound = partial(function, **settings, **options)
        return Task(f"{experiment}/{name}", f"{title}: {description}", cost, problem, bound)

    if experiment == "sensitivity":
        for trial in range(effort.trials):
            for model in CLOSED_FORM[problem]:
                text = f"{model}, trial {trial + 1} of {effort.trials}"
                yield task(f"{model}/{trial}", text, 20, measure.sensitivity, model=model, trial=trial)
        yield task("widths", "error against p1", 15, measure.widths)
        yield task("bases", "rank of the bases", 5, measure.bases)
        yield task("formulas", "the printed formula for T+", 5, measure.formulas)
        return
    yield Task(f"{experiment}/data", f"{title}: making data", slow, problem, measure.describe_data)
    for model in TRAINED[experiment]:
        seconds = effort.seconds or effort.epochs * (0.04 if experiment == "darcy" else 0.008)
        yield task(model, f"training {model}", seconds, measure.trained, model=model)
    for model, spec in CLOSED_FORM[experiment].items():
        for solver in spec.solvers:
            text = f"solving {model}, {'as printed' if solver == 'printed' else 'our solver'}"
            yield task(f"{model}/{solver}", text, slow, measure.closed_form, model=model, solver=solver)
    if experiment == "darcy":
        yield task("bases", "rank of the bases", slow / 3, measure.bases)
        yield task("draws", "draws of the branches", 2.0 * effort.trials, measure.draws)


@lru_cache(maxsize=1)
def _data(problem: str, functions: int, seed: int) -> OperatorData:
    return PROBLEMS[problem](n_train=functions, n_test=functions, seed=seed)


def step_progress(
    progress: Progress | None, done: float, cost: float, total: float
) -> Callable[[str, float], None]:
    """Return a hook (what, fraction) that reports a step which takes `cost` of the `total`."""

    def report(what: str, fraction: float) -> None:
        if progress is not None:
            progress(what, done + fraction * cost, total)

    return report


def _new_results(effort: Effort, seed: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        **run_info(),
        "effort": json.loads(json.dumps(asdict(effort))),
        "seed": seed,
        "experiments": [],
        "done": {},
    }


def _resumed(file: Path, fresh: dict[str, Any]) -> dict[str, Any]:
    """Read the results of the run to resume and check its settings."""
    old = read_results(file)
    for setting in ("effort", "seed", "elmonet"):
        if old.get(setting) != fresh[setting]:
            raise InputError(
                f"{str(file)!r} belongs to a run with another {setting} ({old.get(setting)}, now "
                f"{fresh[setting]}). Give the same options as before, or another folder with --out."
            )
    return {**old, "machine": fresh["machine"], "date": fresh["date"]}


def _save(results: dict[str, Any], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(file, as_json(results).encode())


def run_info() -> dict[str, Any]:
    """Return the version, the date and the machine of a run."""
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn", "torch")},
    }
    return {"elmonet": __version__, "date": datetime.now(UTC).date().isoformat(), "machine": machine}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

"""The measurements of a run: the models of the paper on its problems."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from elmonet.data import OperatorData
from elmonet.errors import MissingExtra, NumericsWarning
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import CNN, MLP, SLFN, Sinusoid
from elmonet.metrics import relative_l2
from elmonet.paper.models import CLOSED_FORM, TRAINED, ClosedFormModel, Effort
from elmonet.solve import Pinv, Ridge
from elmonet.solve.problem import Span

Record = dict[str, Any]
Report = Callable[[float], None]
"""Called now and then with the completed fraction of a measurement, from 0 to 1."""

_DRAWS_P1 = 5000  # width of the branches in `draws`
_TIMED_FITS = 3  # fits of less than a second are timed as the median of this many
_TRUNKS: dict[str, Callable[..., Any]] = {
    "ELM-DeepONet": MLP,
    "Sinusoidal ELM-DeepONet": lambda width, random_state: Sinusoid(width),
}


def describe_data(data: OperatorData, report: Report) -> Record:
    """Return the test functions that the figures show, with their sensors and points."""
    k = len(_samples(data))
    return {
        "rms": float(np.sqrt(np.mean(data.s_train**2))),
        "samples": list(range(k)),
        "sensors": _rounded(data.sensors),
        "points": _rounded(data.points),
        "inputs": _rounded(data.u_test[:k]),
        "outputs": _rounded(data.s_test[:k]),
    }


def trained(data: OperatorData, report: Report, *, model: str, effort: Effort, seed: int) -> Record:
    """Train a DeepONet of the paper; without PyTorch, record how to install it."""
    try:
        from elmonet.baselines import DeepONet
    except MissingExtra as error:
        return {"skipped": str(error)}
    budget: dict[str, Any] = {
        "epochs": effort.epochs,
        "seconds": effort.seconds,
        "batch_size": effort.batch_size,
    }
    network = DeepONet(**TRAINED[data.name][model], **budget, random_state=seed)
    _settle()
    test = (data.u_test, data.s_test)
    network.fit(data.u_train, data.s_train, data.points, validation=test, progress=report)
    return {
        "parameters": network.n_parameters_,
        "seconds": network.seconds_,
        "epochs": network.epochs_,
        "stopped": network.stopped_,
        "error": relative_l2(network.predict(data.u_test), data.s_test),
        "history": {name: _rounded(values) for name, values in asdict(network.history_).items()},
        "predictions": _rounded(network.predict(_samples(data))),
    }


def closed_form(
    data: OperatorData, report: Report, *, model: str, solver: str, effort: Effort, seed: int
) -> Record:
    """Fit an ELM-DeepONet of the paper; open p1 and p2 are chosen by leave-one-out."""
    chosen = CLOSED_FORM[data.name][model]
    if solver == "printed":
        data = _single_precision(data)
    grid = list(
        product(
            effort.darcy_p1 if chosen.p1 is None else [chosen.p1],
            effort.darcy_p2 if chosen.p2 is None else [chosen.p2],
        )
    )
    searched: list[list[float]] = []
    started = time.perf_counter()
    for widths in grid if len(grid) > 1 else []:
        report(len(searched) / (len(grid) + 1))
        fitted = _fit(_model(chosen, *widths, solver, seed), data)
        searched.append([*widths, fitted.solution_.loo_error])
    search_seconds = time.perf_counter() - started
    p1, p2 = grid[int(np.argmin([loo for *_, loo in searched]))] if searched else grid[0]

    timings: list[float] = []
    while not timings or (len(timings) < _TIMED_FITS and timings[0] < 1):
        _settle()
        unfitted = _model(chosen, p1, p2, solver, seed)
        started = time.perf_counter()
        fitted = _fit(unfitted, data)
        timings.append(time.perf_counter() - started)
    return {
        "p1": p1,
        "p2": p2,
        "parameters": p1 * p2,
        "seconds": median(timings),
        "error": relative_l2(fitted.predict(data.u_test), data.s_test),
        "loo_error": fitted.solution_.loo_error,
        "alpha": fitted.solution_.alpha,
        "searched": searched,
        "search_seconds": search_seconds,
        "predictions": _rounded(fitted.predict(_samples(data))),
    }


def sensitivity(
    data: OperatorData, report: Report, *, model: str, trial: int, effort: Effort, seed: int
) -> Record:
    """Measure errors for every p1 (rows) and p2 (columns), for one draw of the networks."""
    branch_seed, trunk_seed = _seeds(seed, trial)
    record: Record = {"p1": list(effort.widths), "p2": list(effort.widths), "printed": [], "ours": []}
    for solver in ("printed", "ours"):
        chosen = _single_precision(data) if solver == "printed" else data
        trunks = [_TRUNKS[model](p2, random_state=trunk_seed) for p2 in effort.widths]
        Ts = [trunk.fit_transform(chosen.points) for trunk in trunks]
        for p1 in effort.widths:
            report((len(record["printed"]) + len(record["ours"])) / (2 * len(effort.widths)))
            B, B_test = _branch_features(chosen, p1, branch_seed)
            record[solver].append([_test_error(_solver(solver), T, B, B_test, chosen) for T in Ts])
    return record


def widths(data: OperatorData, report: Report, *, effort: Effort, seed: int) -> Record:
    """Measure errors against p1 with pseudoinverses in double and single precision, and with ridge."""
    branch_seed, _ = _seeds(seed, 0)
    record: Record = {"p1": list(effort.branch_widths), "functions": len(data.u_train)}
    for name, solver, chosen in (
        ("pinv64", Pinv(), data),
        ("pinv32", Pinv(), _single_precision(data)),
        ("ridge", Ridge("loo"), data),
    ):
        T = Sinusoid(100).fit_transform(chosen.points)
        record[name] = [
            _test_error(solver, T, *_branch_features(chosen, p1, branch_seed), chosen)
            for p1 in effort.branch_widths
        ]
    return record


def bases(data: OperatorData, report: Report, *, effort: Effort, seed: int) -> Record:
    """Measure the rank of each trunk on the points and the error of the best approximation in its span."""
    _, trunk_seed = _seeds(seed, 0)
    flat = data.points.shape[1] == 1
    kinds: dict[str, Callable[[int], Any]] = {
        "printed": Sinusoid,
        "tensor": lambda p2: Sinusoid(p2, basis="tensor"),
        "mlp": lambda p2: MLP(p2, random_state=trunk_seed),
    }
    p2s = effort.widths if flat else effort.darcy_p2
    record: Record = {"p2": list(p2s)}
    for name, trunk in kinds.items():
        rows = [_span(trunk(p2).fit_transform(data.points), data.s_test) for p2 in p2s]
        record[name] = {"rank": [rank for rank, _ in rows], "projection": [error for _, error in rows]}
    return record


def draws(data: OperatorData, report: Report, *, effort: Effort, seed: int) -> Record:
    """Measure errors for several draws of the random branches of Darcy flow, with tensor sines.

    "CNN small" has the channels of the trained network, "CNN" those of the table.
    """
    branches = {
        "MLP": MLP(_DRAWS_P1, hidden=128),
        "CNN": CNN(_DRAWS_P1),
        "CNN small": CNN(_DRAWS_P1, channels=(8, 8, 8), hidden=128),
    }
    record: Record = {"p1": _DRAWS_P1, "error": {name: [] for name in branches}}
    for trial in range(effort.trials):
        report(trial / effort.trials)
        for name, branch in branches.items():
            model = ELMDeepONet(
                branch, Sinusoid(100, "tensor"), scale_inputs=False, random_state=seed + trial
            )
            fitted = _fit(model, data)
            record["error"][name].append(relative_l2(fitted.predict(data.u_test), data.s_test))
    return record


def formulas(data: OperatorData, report: Report, *, effort: Effort, seed: int) -> Record:
    """Measure errors against p2 with the formula that the paper prints for T^+, in single precision.

    ``T^+ = (T'T)^-1 T'``, with a pseudoinverse in place of the inverse, which does not exist: it squares
    the condition number of T, and its cut-off grows with p2.
    """
    branch_seed, trunk_seed = _seeds(seed, 0)
    single = _single_precision(data)
    p1 = max(effort.widths[:-1])
    B, B_test = _branch_features(single, p1, branch_seed)
    record: Record = {"p1": p1, "p2": list(effort.widths)}
    for model, trunk in _TRUNKS.items():
        Ts = [trunk(p2, random_state=trunk_seed).fit_transform(single.points) for p2 in effort.widths]
        record[model] = [_test_error(_GramPinv(), T, B, B_test, single) for T in Ts]
    return record


class _GramPinv(Pinv):
    """`Pinv` with ``pinv(T'T) T'`` for T^+."""

    def solve(self, T: np.ndarray, B: np.ndarray, G: np.ndarray, *args: Any, **options: Any) -> Any:
        # pinv(T'T) T' G = pinv(T) G restricted to the singular values that T'T resolves: with T = U S V',
        # T'T = V S^2 V', so that a value s is kept where s^2 > p2 eps s_max^2.
        U, s, Vt = np.linalg.svd(T, full_matrices=False)
        resolved = s**2 > T.shape[1] * np.finfo(T.dtype).eps * s[0] ** 2
        return super().solve((U[:, resolved] * s[resolved]) @ Vt[resolved], B, G, *args, **options)


def _model(model: ClosedFormModel, p1: int, p2: int, solver: str, seed: int) -> ELMDeepONet:
    branch, trunk = model.branch(p1), model.trunk(p2)
    return ELMDeepONet(branch, trunk, _solver(solver), scale_inputs=False, random_state=seed)


def _solver(name: str) -> Any:
    return Pinv() if name == "printed" else Ridge("loo")


def _fit(model: ELMDeepONet, data: OperatorData) -> ELMDeepONet:
    """Fit without numerical warnings, which the printed recipe gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericsWarning)
        return model.fit(data.u_train, data.s_train, points=data.points)


def _test_error(solver: Any, T: np.ndarray, B: np.ndarray, B_test: np.ndarray, data: OperatorData) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericsWarning)
        W = solver.solve(T, B, data.s_train.T).W
    return relative_l2(((T @ W) @ B_test).T, data.s_test)


def _branch_features(data: OperatorData, p1: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return B (p1, N) of the training and of the test functions."""
    branch = SLFN(p1, random_state=seed).fit(data.u_train)
    return branch.transform(data.u_train).T, branch.transform(data.u_test).T


def _span(T: np.ndarray, s: np.ndarray) -> tuple[int, float]:
    span = Span(T)
    return span.rank, relative_l2((s @ span.Q) @ span.Q.T, s)


def _single_precision(data: OperatorData) -> OperatorData:
    """Return the data in single precision, except the test outputs."""
    names = ("u_train", "s_train", "u_test", "points")
    return replace(data, **{name: getattr(data, name).astype(np.float32) for name in names})


def _samples(data: OperatorData) -> np.ndarray:
    """Return the test functions that the figures show: two for the inverse problem, as in the paper."""
    return data.u_test[: 2 if data.name == "inverse_source" else 1]


def _seeds(seed: int, trial: int) -> list[int]:
    return [int(s) for s in np.random.SeedSequence((seed, trial)).generate_state(2)]


def _settle() -> None:
    """Wait until the BLAS threads of the last computation are idle; spinning threads slow the next one."""
    time.sleep(0.1)


def _rounded(values: Any) -> Any:
    """Return nested lists of numbers with five significant digits, enough for a figure."""
    if np.ndim(values) == 0:
        return float(f"{float(values):.5g}")
    return [_rounded(value) for value in values]

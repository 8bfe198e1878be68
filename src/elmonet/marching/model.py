"""MarchingELMDeepONet: records in time, by a step that is learned from all steps of all records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, Self

import numpy as np

from elmonet.checks import number, positive_integer
from elmonet.errors import InputError
from elmonet.estimators.base import OperatorEstimator
from elmonet.estimators.saving import (
    error_bars_to_store,
    inputs_to_store,
    outputs_to_store,
    restored_error_bars,
    restored_inputs,
    restored_method,
    restored_outputs,
)
from elmonet.features.base import seed_from
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import unpacked_data
from elmonet.marching.bands import HeldOutRuns, MarchingErrorBars
from elmonet.marching.choice import FOLDS, Candidate, Search, find_rest, fold_sums, sample, total
from elmonet.marching.fitted import FittedMarching, outside_range
from elmonet.marching.records import (
    Piece,
    RecordInputs,
    Records,
    cut,
    find_records,
    fold_numbers,
    series_of,
)
from elmonet.marching.step import Runner, Series, Settings, Step, Sums
from elmonet.metrics import reference_norms
from elmonet.parts import NotFittedError
from elmonet.progress import progress_bar
from elmonet.summary import Fact, percent
from elmonet.uncertainty.error_estimate import ErrorEstimate, restored_estimate, stored_interval
from elmonet.uncertainty.novelty import TrainingRecord

_COMPANIONS = 4  # fits without some records, whose runs tell how far small differences grow
_HELD_OUT = 200  # records, or stretches, whose left-out runs tell errors and bands
_ASIDE = 0.15  # part of the records without which suspects are judged
_MANY_STEPS = 1_000_000  # above, errors are those of stretches, and the fit takes the steps in blocks
_BLOCK_STEPS = 200_000  # of such a block
_MOST_WORK = 2e12  # products that the sums over many steps may take
_USUAL = 0.9  # quantile, over training records, of how far one goes beyond the others
_MOST_USUAL = 2.0  # largest factor by which a training record goes beyond the others that is called usual
_AHEAD, _LATER = 8, 0.5  # steps ahead, and ratio of errors, by which outputs depend on later inputs


class MarchingELMDeepONet(OperatorEstimator):
    """Records in time: each step follows from the last values, by one linear solve over all steps.

    With feedback,

        s(k) = s(k-1) + C' phi(s(k-1), ..., s(k-h), u(k), ..., u(k-g), parameters) ,

    with fixed features phi (linear, polynomials to degree 3, or random) of levels and differences, and one
    matrix C for all steps of all records; without, s(k) = C' phi(u(k), ..., u(k-g)) with a long memory.
    Predictions are free runs: the model sees no output but its own. Memory, features, ridge, and feedback or
    not are chosen by the error of free runs of records that were left out.

    In system identification, this is a NARX model (linear in its parameters), or a finite impulse response
    and Volterra model without feedback.

    Parameters
    ----------
    memory : number of past outputs and of inputs that a step sees, or a pair of these; None to choose.
    feedback : whether a step sees past outputs; None to choose.
    time_budget : seconds after which no new candidate is tried; None for no limit.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    random_state : seed of the random features.

    Attributes
    ----------
    expected_error_ : the relative error to expect of free runs of new records like the training records.
    step_ : the chosen step, in words.
    time_step_ : time between two values of a record.
    amplification_ : rate, per step, at which small disturbances of a free run grow; negative if they decay.
    leaderboard_ : list of dictionaries, one for each candidate that was tried, the best first.

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.tanks(10, 5, n_steps=200)
    >>> model = MarchingELMDeepONet(memory=(2, 2), random_state=0)
    >>> model = model.fit(data.u_train, data.s_train, points=data.points)
    >>> model.predict(data.u_test).shape, model.expected_error_ < 0.01
    ((5, 200), True)
    """

    def __init__(
        self,
        memory: Any = None,
        feedback: bool | None = None,
        *,
        time_budget: float | None = None,
        progress: Any = False,
        random_state: Any = None,
    ):
        self.memory = memory
        self.feedback = feedback
        self.time_budget = time_budget
        self.progress = progress
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, points: Any = None, *, sensors: Any = None, groups: Any = None
    ) -> Self:
        """Fit a step to records of inputs and outputs at the same times.

        Parameters
        ----------
        X : inputs: (N, T) or (N, T, channels); a list of records (T_i,) or (T_i, channels); one record (T,);
            or a dictionary of these, in which numbers (N,) are parameters of the records.
        y : outputs at the same times: (N, T), (N, T, c), a list of records, or a dictionary of components.
        points : the times (T,), uniform; for lists, a list of times, or those of the longest record.
        sensors : the times of the inputs, if given: the same.
        groups : (N,), labels of records that are not independent; each group is left out as a whole.

        Returns
        -------
        self : the fitted estimator.
        """
        begin = perf_counter()
        X, y, points, sensors = unpacked_data(X, y, points, sensors)
        budget = np.inf if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        records, inputs, outputs = find_records(self, X, y, points, sensors, groups)
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        with bar as hook:
            tell = hook or (lambda what, done, total: None)
            search = self._search(records, begin + budget, tell)
            best = search.run()
            return fit_search(self, records, inputs, outputs, search, best)._warned()

    def _search(self, records: Records, deadline: float, tell: Callable[[str, float, float], None]) -> Search:
        if self.feedback not in (None, True, False):
            raise InputError(f"feedback must be True, False, or None to choose; got {self.feedback!r}.")
        memory = None
        if self.memory is not None:
            pair = self.memory if isinstance(self.memory, (tuple, list)) else (self.memory, self.memory)
            if len(pair) != 2:
                raise InputError(f"memory must be a number or a pair (outputs, inputs); got {self.memory!r}.")
            h = 0 if self.feedback is False else positive_integer(pair[0], "memory", minimum=0)
            memory = h, positive_integer(pair[1], "memory")
            if self.feedback and not h:
                raise InputError("feedback=True needs a memory of at least one output.")
        seed = seed_from(self.random_state)
        own = find_rest_of(records)
        return Search(own, feedback=self.feedback, memory=memory, seed=seed, deadline=deadline, tell=tell)

    @property
    def step_(self) -> str:
        """The chosen step, in words."""
        return self._fitted(AttributeError).step.settings.describe()

    @property
    def time_step_(self) -> float:
        """Time between two values of a record."""
        return self._fitted(AttributeError).dt

    @property
    def amplification_(self) -> float:
        """Rate, per step, at which small disturbances of a free run grow."""
        return self._fitted(AttributeError).amplification

    @property
    def leaderboard_(self) -> list[dict[str, Any]]:
        """What was tried, the best first."""
        return [dict(row) for row in self._fitted(AttributeError).leaderboard]

    def _fitted(self, error: type[Exception] = NotFittedError) -> FittedMarching:
        model = super()._fitted(error)
        assert isinstance(model, FittedMarching)
        return model

    def _to_store(
        self, *, weights: bool, sums: bool, bands: bool, inputs: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if sums:
            raise InputError("a model of records keeps no sums. Save it without sums=True.")
        model = self._fitted()
        arrays: dict[str, np.ndarray] = {}
        for name in _ARRAYS:
            arrays[f"step.{name}"] = np.asarray(getattr(model, name))
        arrays |= {"step.mean": model.step.mean, "step.deviation": model.step.deviation}
        header: dict[str, Any] = {
            "model": "MarchingELMDeepONet",
            "settings": list(model.step.settings),
            "sizes": list(model.step.sizes),
            "seed": model.step.seed,
            "inputs": inputs_to_store(model.inputs, arrays),
            "outputs": outputs_to_store(model.outputs, arrays),
            "numbers": {name: getattr(model, name) for name in _NUMBERS},
            "error": model.estimate.error,
            "interval": stored_interval(model.estimate.interval),
            "quantiles": model.estimate.quantiles,
            "components": model.estimate.components,
            "unknown": model.estimate.reason,
            "words": str(model.summary),
        }
        header["error_bars"] = error_bars_to_store(model, arrays, bands)
        return header, arrays | model.record.arrays(inputs)

    @classmethod
    def _from_store(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        sizes = tuple(header["sizes"])
        step = Step(
            Settings(*header["settings"]),
            (sizes[0], sizes[1], sizes[2]),
            header["seed"],
            arrays["step.mean"],
            arrays["step.deviation"],
        )
        restored: dict[str, Any] = {name: arrays[f"step.{name}"] for name in _ARRAYS} | header["numbers"]
        model = FittedMarching(
            inputs=RecordInputs.of(restored_inputs(header["inputs"], arrays)),
            outputs=restored_outputs(header["outputs"], arrays),
            estimate=restored_estimate(header, header["error"], header["interval"], "held out"),
            method=restored_method(header, MarchingErrorBars),
            known=TrainingRecord(arrays.get("fingerprints"), arrays.get("training_inputs")),
            words=str(header["words"]),
            step=step,
            **restored,
        )
        return cls()._adopt(restored_error_bars(model, header, arrays))


_ARRAYS = ("coefficients", "companions", "limits", "level", "ranges")
_NUMBERS = (
    "rest",
    "from_rest",
    "dt",
    "t0",
    "usual",
    "alpha",
    "amplification",
    "n",
    "started_error",
)


def fit_search(
    estimator: MarchingELMDeepONet,
    records: Records,
    inputs: RecordInputs,
    outputs: OutputForm,
    search: Search,
    best: Candidate,
) -> MarchingELMDeepONet:
    """Fit what a search has found to all records, and give it to an estimator."""
    model = fit_records(records, inputs, outputs, search, best)
    return estimator._adopt(replace(model, known=_training_record(records, inputs)))


def find_rest_of(records: Records) -> Records:
    """Return records with what is taken to come before them."""
    few = sample(records)
    known = find_rest(few)
    if few is records:
        return known
    return replace(records, rest=known.rest, level=known.level, from_rest=known.from_rest)


def fit_records(
    records: Records, inputs: RecordInputs, outputs: OutputForm, search: Search, best: Candidate
) -> FittedMarching:
    """Fit the chosen step to all records; errors and bands come from fits without some of them."""
    settings, alpha = best.settings, best.alpha
    known = search.records  # all records, or stretches of very long ones
    many = records.steps > _MANY_STEPS
    used = known
    if not many:
        used = replace(records, rest=known.rest, level=known.level, from_rest=known.from_rest)  # not cut
    pieces = cut(used)
    folds = fold_numbers(used, pieces, FOLDS)
    training = [series_of(used, piece, settings, training=True) for piece in pieces]
    series = [one for one in training if one is not None]
    step = Step.of(settings, series, search.seed)
    sums = fold_sums(step, training, folds)
    whole = total(sums)
    limits = used.limits
    facts = [] if not many else [_stream(step, records, used, whole)]
    C = _solved(whole, alpha)
    K = len(sums)
    companions = np.stack([_solved(_without(sums, {k}), alpha) for k in range(min(_COMPANIONS, K))])
    runner = Runner(step, limits)
    without = _without_folds(sums, alpha)
    given = (used, outputs, pieces, without[folds], runner)
    rest = _judged(_held_out(*given, known=used.from_rest), training, runner, alpha)
    started = None
    if not used.from_rest and settings.feedback:
        started = _held_out(*given, known=True)
    estimate = ErrorEstimate.of(
        rest.errors,
        "held out",
        independent=rest.independent,
        components=tuple(zip(outputs.component_names, map(float, rest.component_errors), strict=False)),
    )
    facts += _facts(search, best, len(pieces) != len(records.u), many)
    ranges, usual = _ranges(step, series)
    return FittedMarching(
        inputs=inputs,
        outputs=outputs,
        estimate=estimate,
        step=step,
        coefficients=C,
        companions=companions,
        limits=limits,
        rest=used.rest,
        level=np.asarray(used.level),
        from_rest=used.from_rest,
        dt=records.dt,
        t0=records.t0,
        ranges=ranges,
        usual=usual,
        alpha=alpha,
        amplification=_amplification(runner, series, C),
        n=len(records.u),
        started_error=None if started is None else float(np.mean(started.errors)),
        leaderboard=tuple(search.leaderboard(best)),
        facts=tuple(facts),
        held_out=rest,
        started=started,
    )


def _training_record(records: Records, inputs: RecordInputs) -> TrainingRecord:
    if records.steps > _MANY_STEPS:
        return TrainingRecord()
    T = inputs.steps
    rows = np.zeros((len(records.u), T, inputs.channels))
    for row, u in zip(rows, records.u, strict=True):
        row[: len(u)] = u
    return TrainingRecord.of(np.hstack([rows.reshape(len(rows), -1), records.parameters]))


def _solved(sums: Sums, alpha: float) -> np.ndarray:
    """Return coefficients, with a larger ridge where this one is singular."""
    for power in range(8):
        C = sums.solve(alpha * 10.0**power)
        if C is not None:
            return C
    raise InputError("the features of these records are singular: are inputs and outputs constant?")


def _without(sums: Sequence[Sums], folds: set[int]) -> Sums:
    return total([own for k, own in enumerate(sums) if k not in folds] or list(sums))


def _without_folds(sums: Sequence[Sums], alpha: float) -> np.ndarray:
    """Return coefficients (K, 1 + companions, F, c) of fits without each fold, and without one more."""
    K, out = len(sums), []
    for k in range(K):
        others = [(k + 1 + j) % K for j in range(min(_COMPANIONS, K - 1))] if K > 2 else []
        out.append([_solved(_without(sums, {k, other}), alpha) for other in (k, *others)])
    return np.array(out)


def _held_out(
    records: Records,
    outputs: OutputForm,
    pieces: list[Piece],
    without: np.ndarray,
    runner: Runner,
    *,
    known: bool,
) -> HeldOutRuns:
    """Run pieces freely by fits (n, A, F, c) without their fold, the first of each, and their companions."""
    settings = runner.step.settings
    some = np.unique(np.linspace(0, len(pieces) - 1, min(len(pieces), _HELD_OUT)).astype(int))
    tests = [(int(i), series_of(records, pieces[i], settings, known=known)) for i in some]
    kept = [i for i, one in tests if one is not None]
    series: list[Series] = [one for _, one in tests if one is not None]
    runs = runner.run_each(series, without[kept])
    T, c = max(piece.end - piece.begin for piece in pieces), runner.step.sizes[0]
    truth, predicted, distance = (np.full((len(kept), T, c), np.nan) for _ in range(3))
    sizes = np.ones(c) if outputs.sizes is None else outputs.sizes
    each, norms = np.empty((len(kept), c)), np.empty((len(kept), c))
    for row, (i, one, run) in enumerate(zip(kept, series, runs, strict=True)):
        own = slice(pieces[i].end - pieces[i].begin - run.shape[1], pieces[i].end - pieces[i].begin)
        true = one.s[settings.outputs :]
        truth[row, own], predicted[row, own] = true, run[0]
        distance[row, own] = np.sqrt(np.mean((run[1:] - run[0]) ** 2, axis=0)) if len(run) > 1 else 0.0
        each[row] = np.mean((run[0] - true) ** 2, axis=0)
        norms[row] = np.mean(records.s[pieces[i].record] ** 2, axis=0)
    errors = np.sqrt(each @ sizes**2) / reference_norms(np.sqrt(norms @ sizes**2))
    relative = [np.sqrt(each[:, j]) / reference_norms(np.sqrt(norms[:, j])) for j in range(c)]
    components = np.mean(relative, axis=1)
    record = np.array([pieces[i].record for i in kept])
    begins = np.array([pieces[i].begin for i in kept])
    whole = len(pieces) == len(records.u)
    numbers = records.groups[record] if whole else np.arange(len(kept))
    return HeldOutRuns(record, begins, truth, predicted, distance, errors, components, numbers, errors)


def _judged(
    held: HeldOutRuns, training: Sequence[Series | None], runner: Runner, alpha: float
) -> HeldOutRuns:
    """Judge records by a fit without the worst of them, which bend a fit that has seen them."""
    step, series = runner.step, [one for one in training if one is not None]
    if len(series) != len(held.errors) or len(series) < 8:
        return held
    aside = np.argsort(-held.errors)[: max(1, round(_ASIDE * len(series)))]
    C = _solved(Sums.of(step, [one for i, one in enumerate(series) if i not in set(aside.tolist())]), alpha)
    h, judged = step.settings.outputs, held.errors.copy()
    for i, run in enumerate(runner.run(series, C)):
        true = series[i].s[h:]
        judged[i] = np.sqrt(np.mean((run - true) ** 2) / (np.mean(true**2) or 1.0))
    return replace(held, judged=judged)


def _ranges(step: Step, series: Sequence[Series]) -> tuple[np.ndarray, float]:
    """Return the range (2, m) of the coordinates, and how far a piece usually goes beyond the others'."""
    ends = np.array([(Z.min(axis=0), Z.max(axis=0)) for Z in step.coordinates(series)])
    ranges = np.stack([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])
    if len(ends) < 2:
        return ranges, 1.0
    low, high = np.sort(ends[:, 0], axis=0), np.sort(ends[:, 1], axis=0)
    beyond = []
    for own in ends:  # the range of the others: the next least, where this one is the least
        least = np.where(own[0] <= low[0], low[1], low[0])
        others = np.stack([least, np.where(own[1] >= high[-1], high[-2], high[-1])])
        beyond.append(float(outside_range(own, others).max()))
    return ranges, float(np.clip(np.quantile(beyond, _USUAL), 1.0, _MOST_USUAL))


def _amplification(runner: Runner, series: Sequence[Series], C: np.ndarray) -> float:
    """Return the rate at which small disturbances of free runs grow, per step."""
    settings = runner.step.settings
    if not settings.feedback:
        return 0.0
    steps = min(1000, min(len(one.u) for one in series) - settings.inputs + 1)
    few = [one._replace(u=one.u[: steps + settings.inputs - 1]) for one in series[:20]]
    size = 1e-7 * float(np.sqrt(np.mean([np.mean(one.s**2) for one in few]))) or 1e-7
    moved = [one._replace(s=one.s + size) for one in few]
    apart = [
        np.abs(a - b).mean(axis=1) for a, b in zip(runner.run(few, C), runner.run(moved, C), strict=True)
    ]
    logs = np.log(np.maximum(np.array(apart), 1e-300) / size)
    valid = (logs > -18) & (logs < 10)  # above rounding, and below the size of the outputs
    pairs = [(row, ok) for row, ok in zip(logs, valid, strict=True) if ok.sum() > 4]
    rates = [np.polyfit(np.flatnonzero(ok), row[ok], 1)[0] for row, ok in pairs]
    return float(np.median(rates)) if rates else 0.0


def _stream(step: Step, records: Records, used: Records, whole: Sums) -> Fact:
    """Replace sums over stretches by sums over all steps, in blocks, or over as many as time allows."""
    whole.gram[:], whole.right[:] = 0.0, 0.0
    blocks = [
        Piece(i, k, min(len(u), k + _BLOCK_STEPS))
        for i, u in enumerate(records.u)
        for k in range(0, len(u), _BLOCK_STEPS)
    ]
    most = max(1, int(_MOST_WORK / step.count**2 / _BLOCK_STEPS))
    some = np.unique(np.linspace(0, len(blocks) - 1, min(most, len(blocks))).astype(int))
    blocks = [blocks[j] for j in some]
    own, steps = replace(records, rest=used.rest, level=used.level, from_rest=False), 0
    for piece in blocks:
        one = series_of(own, piece, step.settings, training=True)
        if one is None:
            continue
        steps += piece.end - piece.begin
        for B, y in step.rows([one]):
            whole.add(B, y)
    return Fact("Steps", f"{steps} of {records.steps} were fitted, in blocks; errors are those of stretches")


def _facts(search: Search, best: Candidate, stretches: bool, many: bool) -> list[Fact]:
    """Return what else was tried, in words."""
    facts = []
    other = search.best_of(not best.settings.feedback)
    if other is not None:
        what = "without feedback" if best.settings.feedback else "with feedback"
        why = "" if best.settings.feedback else ": noise in the outputs is an error of what a step sees"
        facts.append(Fact("Compared", f"{what}, the error is {percent(other.error, 2)}{why}"))
    if stretches and not many:
        facts.append(Fact("Left out", "stretches of records, which are fewer than 10: trust errors less"))
    later = _depends_on_later(search, best)
    if later is not None:
        facts.append(
            Fact(
                "Causality",
                f"outputs depend on later inputs: with {_AHEAD} of them the error is {percent(later, 2)}. A "
                "model of whole functions may be better",
            )
        )
    return facts


def _depends_on_later(search: Search, best: Candidate) -> float | None:
    """Return the error of a linear model that sees later inputs, if it is much smaller."""
    if best.error < 1e-3 or search.shortest < 8 * _AHEAD:
        return None
    records = search.records
    ahead = replace(
        records,
        u=[np.concatenate([u[_AHEAD:], np.repeat(u[-1:], _AHEAD, axis=0)]) for u in records.u],
        from_rest=False,
    )
    try:
        other = Search(ahead, seed=search.seed)
    except InputError:
        return None
    found = min(other.left_out(Settings(0, 6 * _AHEAD), (1e-8, 1e-4)), key=lambda one: one.error)
    return found.error if found.error < _LATER * best.error else None

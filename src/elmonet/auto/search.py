"""The search: candidates on transformed data, compared by leave-one-out on growing numbers of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from elmonet.auto.candidates import Candidate, branches, falls_downwards, next_scale, probes, transforms
from elmonet.auto.relevance import (
    FOLDS,
    METRIC_KERNELS,
    HeldOut,
    Relevance,
    held_out,
    learn_metric,
    learn_parts,
)
from elmonet.auto.transformed_data import Evaluation, TransformedData
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import Legendre
from elmonet.fitting.incomplete import degrees
from elmonet.forms.inputs import InputForm
from elmonet.forms.parts import InputPart, sizes_vary
from elmonet.forms.training import Training
from elmonet.summary import plural
from elmonet.uncertainty.error_estimate import USELESS

_FIRST_ROUND = 300  # functions on which all candidates are tried
_ROUND_GROWTH = 2.0  # each round has about so many times the functions of the one before
_SLOW_ROUND = 900  # functions beyond which a trial takes long
_KINDS = 5  # kinds of candidates whose scale is refined in the first round
_KINDS_LATER = 3  # and that go on to the next round; scaling.py and peers.py: 5 gained nothing
_HOPELESS = 10.0  # kernels whose error exceeds 10x the best are tried at no other scale
_KINDS_SLOW = 2  # and to a slow round
_TRANSFORMS = 2  # transforms that all branches are tried with, or the best of them
_DROPPED_ABOVE = 3.0  # drop candidates whose error exceeds 3x the best
_ROUNDING = 1e-12  # relative error below which nothing is left to gain
_FINE_ERROR = 1e-3  # relative error below which random networks always go on: they can reach smaller ones
_NEGLIGIBLE_MODES = 1e-4  # part of the least error that the outputs' last modes may hold
_GAIN = 0.99  # a slow trial must reduce the error below this part to be followed by another
_REFINEMENTS = 4  # scales tried around the best one, per round
_RANK_FROM = 100  # functions from which on the number of output modes is chosen
_SIZES_VARY = 10.0  # ratio of amplitudes of a single input function, from which on they are split off
_METRIC_FROM = 100  # functions from which on a metric is learned
_METRIC_COLUMNS = 3, 1000  # least and most columns of inputs for which it is
_SCALES_AGAIN = 0.5, 0.7, 1.0, 1.4, 2.0  # factors on the scale of a branch that is chosen again
_CHECKED_GAIN = 0.97  # error of functions left out of learning, relative to that without it, at most
_LEARNING_SHARE = 0.2  # of the time that is left, for other transforms of each part
_GROWTH = 2.5  # seconds of a trial grow by this power of its functions: between products and an SVD
_SCATTERED_GROWTH = 2.0  # the same for scattered outputs, in products with as many columns as functions
_UNALIGNED_FUNCTIONS = 400  # functions on which branches are compared, for outputs with gaps or scattered
_UNALIGNED_DEGREE = 8  # largest degree of the trunk with which they are compared


@dataclass(frozen=True)
class Trial:
    """A candidate with one of the transforms (by its index), on some functions, and its errors."""

    candidate: Candidate
    transform: int
    functions: int
    error: float
    alpha: float
    seconds: float
    errors: np.ndarray = field(repr=False, compare=False)  # (functions,), of each function that judges it
    stated: np.ndarray = field(repr=False, compare=False)  # (functions,), as errors are stated
    svd: bool = False  # whether the alpha needed an SVD

    @property
    def stated_error(self) -> float:
        """The error as it is stated; `error` is that by which trials are compared."""
        return float(np.mean(self.stated))

    @cached_property
    def kind(self) -> tuple[Any, ...]:
        """Transform and candidate without the scale: trials of the same kind differ only in scale."""
        return self.transform, self.candidate.at(1.0)


class Search:
    """The search for the candidate with the least leave-one-out error.

    Parameters
    ----------
    training : the functions, without gaps.
    seed : of the random branches and of the order in which functions come in.
    time_budget : seconds; no candidate is started that is expected to end later. None: no limit.
    n_jobs : candidates that are tried at the same time, in threads.
    progress : called as ``progress(what, done, total)``, or None.
    log_inputs, log_outputs : whether logarithms are taken; None: both are tried.
    every : all functions that transforms must take, where `training` is a sample of them.
    """

    def __init__(
        self,
        training: Training,
        *,
        seed: int,
        time_budget: float | None,
        n_jobs: int,
        progress: Callable[[str, float, float], None] | None,
        log_inputs: bool | Mapping[str, bool] | None = None,
        log_outputs: bool | None = None,
        every: Training | None = None,
    ):
        self.training, self.X, self.y = training, training.X, training.y
        self.seed, self.n_jobs = seed, n_jobs
        self._report = progress or (lambda what, done, total: None)
        self.deadline = np.inf if time_budget is None else perf_counter() + time_budget
        self.rounds = _rounds(len(self.X))
        self.order = np.random.default_rng(seed).permutation(len(self.X))
        self.transforms = transforms(training, log_inputs, log_outputs, every)
        self._every = training.X if every is None else every.X
        self.parts = training.inputs.found_parts(training.X)
        self.checked: HeldOut | None = None  # errors of functions left out of all that was learned
        self._fixed = _fixed_parts(self.parts, log_inputs)
        self._learned: dict[int, Callable[[Training], Relevance]] = {}  # how transforms were learned
        self.trials: list[Trial] = []
        self._timed: list[Trial] = []  # the same, as soon as they end
        self._learning_took = 0.0  # seconds, of the slowest
        self._prepared: dict[tuple[int, int], float] = {}  # seconds that modes took, as for `_data`
        self.fit_took = 0.0  # seconds, of the model
        self._started = False  # whether a trial of this round was: one is, even if time is up
        self._data: dict[tuple[int, int], TransformedData] = {}
        self._best_evaluation: tuple[Trial, Evaluation] | None = None  # on all functions
        self._lock = Lock()

    def run(self) -> Trial:
        """Try everything; return the best trial on all functions, of those that there was time for."""
        first_round, *later_rounds = self.rounds
        self._report("testing transforms", 0.0, 1.0)
        every = range(len(self.transforms))
        self._try([(transform, probe) for transform in every for probe in probes()], first_round)
        self._learn_parts(first_round)
        best_transforms = self._ranked(first_round, lambda trial: trial.transform)[:_TRANSFORMS]
        first, *others = [trial.transform for trial in best_transforms]
        self._report(f"trying branches on {plural(first_round, 'function')}", 0.1, 1.0)
        self._try_branches(first, first_round)
        promising = self._ranked(first_round, lambda trial: trial.kind)[:_KINDS]
        self._try([(other, trial.candidate) for other in others for trial in promising], first_round)
        for trial in self._promising(first_round, _KINDS):
            self._refine(trial)
        self._learn_metric(first_round)
        if not later_rounds:
            self._check_learned()
        before = first_round
        for i, functions in enumerate(later_rounds, start=1):
            promising = self._promising(before, _KINDS_LATER if functions <= _SLOW_ROUND else _KINDS_SLOW)
            if not self._time_for_round(promising[0], functions):
                continue
            done = 0.2 + 0.6 * i / len(self.rounds)
            self._report(f"trying the best {len(promising)} on {plural(functions, 'function')}", done, 1.0)
            self._data = {key: data for key, data in self._data.items() if key[1] != before}
            self._started = False
            self._try(
                [(trial.transform, trial.candidate) for trial in self._in_time(promising, functions)],
                functions,
            )
            self._refine(self._ranked(functions)[0])
            before = functions
        best = self._ranked(before)[0]
        if not later_rounds:  # a learning curve needs a trial on fewer functions
            self._try([(best.transform, best.candidate)], (len(self.X) + 1) // 2)
        return best

    def data(self, transform: int, functions: int) -> TransformedData:
        """Return the first functions of the search, transformed."""
        if (transform, functions) not in self._data:
            least = min((trial.error for trial in self.trials), default=0.0)
            self._data[transform, functions] = TransformedData(
                self._first(functions), self.transforms[transform], _NEGLIGIBLE_MODES * least
            )
        return self._data[transform, functions]

    def judges(self, functions: int) -> np.ndarray:
        """Return the functions of a round (functions,) that its trials are judged by, as a mask.

        All, unless scales or a metric were learned from those of the first round: they do not judge these.
        """
        mask = np.ones(functions, bool)
        if self._learned and functions > self.rounds[0]:
            in_own_order = functions == len(self.X) and len(self.rounds) > 1
            mask[self.order[: self.rounds[0]] if in_own_order else slice(self.rounds[0])] = False
        return mask

    def model(self, best: Trial, missing: str = "raise") -> ELMDeepONet:
        """Fit the model of the best trial to all functions, with what the trial computed."""
        begin, functions = perf_counter(), len(self.X)
        data = self.data(best.transform, functions)
        trial, evaluation = self._best_evaluation or (None, None)
        self._best_evaluation = None
        if trial is not best or evaluation is None:
            evaluation = data.evaluate(best.candidate, self.seed)
        rank = data.best_rank(evaluation.solution) if functions >= _RANK_FROM else None
        if len(self.rounds) == 1:  # the trial had the functions in another order
            data, evaluation = TransformedData(self.training, self.transforms[best.transform]), None
        model = data.model(best.candidate, self.seed, rank=rank, missing=missing, evaluation=evaluation)
        self.fit_took = perf_counter() - begin
        return model

    def leaderboard(self) -> list[dict[str, Any]]:
        """Return every trial as a dictionary, those on most functions first, then the best."""
        ranked = sorted(self.trials, key=lambda trial: (-trial.functions, trial.error))
        return [
            {
                "branch": str(trial.candidate),
                **self.transforms[trial.transform].row(),
                "functions": trial.functions,
                "error": trial.stated_error,
                "loo_error": trial.stated_error,  # its name in 0.1
                "alpha": trial.alpha,
                "seconds": trial.seconds,
            }
            for trial in ranked
        ]

    def with_half_the_sensors(self, best: Trial) -> tuple[float, float] | None:
        """Return errors of the first round with all sensors and every second one, for the best kind.

        None where that would leave fewer than four sensors, or patches of another kind, or time is up.
        """
        transform = self.transforms[best.transform]
        if self.training.inputs.names is not None or transform.learned:  # several parts side by side
            return None
        axes = min(2, self.X.ndim - 1)  # of a function of one or two variables
        halves: Any = (..., *[slice(None, None, 2)] * axes)
        if best.candidate.family.startswith("patch") or self.X[0][halves].size < 4:
            return None
        functions = self.rounds[0]
        if self._end_of(best.transform, best.candidate, functions) > self.deadline:
            return None
        alike = [trial for trial in self._ranked(functions) if trial.kind == best.kind]
        tried, some = (alike or [best])[0], self._first(functions)

        def error(X: np.ndarray) -> float:
            inputs, parts = InputForm(X.shape[1:], X.shape[1:]), transform.parts
            own = None if parts is None else (replace(parts[0], size=X[0].size),)
            data = TransformedData(replace(some, X=X, inputs=inputs), replace(transform, parts=own))
            return float(np.mean(data.evaluate(tried.candidate, self.seed, tried.svd).stated))

        return tried.stated_error if alike else error(some.X), error(some.X[halves])

    def _try_branches(self, transform: int, functions: int) -> None:
        """Try every kind of branch: networks at all scales, kernels around the best one while errors fall.

        A kernel far behind the best is not tried at other scales. Errors of networks have several minima.
        """
        kinds: dict[Candidate, list[Candidate]] = {}
        for branch in branches(self.X.shape[1:]):
            kinds.setdefault(branch.at(1.0), []).append(branch)
        tried = {t.candidate: t.error for t in self._trials_of(transform) if t.functions == functions}
        scaled = [candidate for candidate in tried if candidate.has_scale]
        begin = min(scaled, key=tried.__getitem__).scale if scaled else 1.0  # none if time is up
        seen: set[Candidate] = set(tried)
        while True:
            new: list[Candidate] = []
            least = min(tried.values())
            for kind in kinds.values():
                known = [candidate for candidate in kind if candidate in tried]
                if kind[0].width:
                    new += kind
                elif not known:
                    new.append(min(kind, key=lambda candidate: abs(np.log(candidate.scale / begin))))
                elif tried[best := min(known, key=tried.__getitem__)] <= _HOPELESS * least:
                    at = kind.index(best)
                    new += kind[max(at - 1, 0) : at + 2]
            new = [candidate for candidate in new if candidate not in seen]
            if not new:
                return
            seen.update(new)
            self._try([(transform, candidate) for candidate in new], functions)
            tried |= {t.candidate: t.error for t in self._trials_of(transform) if t.functions == functions}

    def _learn_parts(self, functions: int) -> None:
        """Add transforms that treat each part of the inputs by itself, for inputs that have parts."""
        ranked = self._ranked(functions, lambda trial: self.transforms[trial.transform].log_outputs)
        if (len(self.parts) == 1 and not sizes_vary(self.X, _SIZES_VARY)) or ranked[0].error < _ROUNDING:
            return
        close = [trial for trial in ranked if trial.error <= _DROPPED_ABOVE * ranked[0].error]
        for base in [self.transforms[trial.transform] for trial in close]:
            if perf_counter() > self.deadline:
                return
            self._report("learning the scale of each part of the inputs", 0.05, 1.0)
            until = perf_counter() + _LEARNING_SHARE * (self.deadline - perf_counter())
            fixed: dict[str, Any] = {"parts": self.parts, "fixed": self._fixed, "every": self._every}
            learn = partial(learn_parts, base=base, until=until, **fixed)
            self._try_learned(learn, functions)

    def _learn_metric(self, functions: int) -> None:
        """Add a transform with a metric from the gradients of the best kernel, and try that kernel."""
        ranked = self._ranked(functions)
        kernels = [trial for trial in ranked if trial.candidate.family in METRIC_KERNELS]
        if not kernels or functions < _METRIC_FROM or not _FINE_ERROR < ranked[0].error < USELESS:
            return
        best = kernels[0]
        columns = self.data(best.transform, functions).Z[0].size
        if not _METRIC_COLUMNS[0] <= columns <= _METRIC_COLUMNS[1] or perf_counter() > self._until(functions):
            return
        self._report("learning a metric of the inputs", 0.15, 1.0)
        transform = self.transforms[best.transform]
        learn = self._learned.get(best.transform, lambda training: Relevance(transform, [best.candidate]))
        self._try_learned(partial(learn_metric, learn=learn, seed=self.seed), functions)
        tried = self._trials_of(len(self.transforms) - 1)  # none if time is up
        if tried:
            self._refine(min(tried, key=lambda trial: trial.error))

    def _try_learned(self, learn: Callable[[Training], Relevance], functions: int) -> None:
        """Learn a transform from the first functions, and try its candidates and the probes with it."""
        begin = perf_counter()
        found = learn(self._first(functions))
        self._learning_took = max(self._learning_took, perf_counter() - begin)
        number = len(self.transforms)
        self.transforms.append(found.transform)
        self._learned[number] = learn
        self._try([(number, branch) for branch in [*probes(), *found.candidates]], functions)
        best = self._ranked(functions, lambda trial: trial.candidate.family)[:_KINDS]
        self._try([(number, trial.candidate) for trial in best], functions)

    def _check_learned(self) -> None:
        """Keep what was learned of the inputs only if functions left out of learning it gain.

        With few functions, many scales can be chosen so that each function left out is predicted well by
        chance. So all is learned again without the functions that are then predicted.
        """
        ranked = self._ranked(self.rounds[0])
        best, plain = ranked[0], [trial for trial in ranked if trial.transform not in self._learned]
        if best.transform not in self._learned or not plain:
            return
        rival = plain[0]
        scales = [rival.candidate.at(rival.candidate.scale * factor) for factor in _SCALES_AGAIN]
        before = Relevance(
            self.transforms[rival.transform], scales if rival.candidate.has_scale else [rival.candidate]
        )
        self._report("checking what was learned of the inputs", 0.18, 1.0)
        learned = without = None  # what was not checked is not used
        if perf_counter() + FOLDS * self._learning_took <= self.deadline:
            learned = held_out(self.training, self.seed, self._learned[best.transform], self.deadline)
        if learned is not None:
            without = held_out(self.training, self.seed, lambda training: before, self.deadline)
        if learned is not None and without is not None and learned.error < _CHECKED_GAIN * without.error:
            self.checked = learned
        else:
            self.trials = [trial for trial in self.trials if trial.transform not in self._learned]

    def _trials_of(self, transform: int) -> list[Trial]:
        return [trial for trial in self.trials if trial.transform == transform]

    def _first(self, functions: int) -> Training:
        """Return so many functions in random order; all in their own order in the last of several rounds.

        There, the final model can reuse the trial. A single round has few functions, so that it need not.
        """
        if functions == len(self.X) and len(self.rounds) > 1:
            return self.training
        return self.training.of(self.order[:functions])

    def _refine(self, best: Trial) -> None:
        """Try scales around that of a trial, on its functions, towards the least error.

        Where a trial takes long, and between the first round and the last, the first that gains nothing ends
        it. The first goes to the side where the error rose more slowly in the first round.
        """
        quick = best.functions > _SLOW_ROUND or self.rounds[0] < best.functions < len(self.X)
        first = self.rounds[0] if best.functions > self.rounds[0] else 0
        before = [t for t in self.trials if t.kind == best.kind and t.functions == first]
        down = bool(before) and falls_downwards(
            [t.candidate.scale for t in before], [t.error for t in before]
        )
        for _ in range(_REFINEMENTS if best.candidate.has_scale else 0):
            alike = [t for t in self.trials if t.functions == best.functions and t.kind == best.kind]
            scale = next_scale([t.candidate.scale for t in alike], [t.error for t in alike], down=down)
            count = len(self.trials)
            if scale is not None:
                self._try([(best.transform, best.candidate.at(scale))], best.functions)
            gained = [t.error < _GAIN * best.error for t in self.trials[count:]]
            if not gained or (quick and not any(gained)):
                return
            best = min(best, *self.trials[count:], key=lambda trial: trial.error)

    def _promising(self, functions: int, count: int) -> list[Trial]:
        """Return the best trial of each kind, at most `count`, without those far behind the best.

        Kernel features come from a Gram matrix, with half of the digits that network features have. For the
        smoothest operators that decides, but only once there are enough functions: so the best network stays.
        """
        kinds = self._ranked(functions, lambda trial: (trial.kind[1], trial.transform in self._learned))
        least = kinds[0].error
        networks = [trial for trial in kinds if trial.candidate.width]
        finer = networks[:1] if _ROUNDING < least < _FINE_ERROR else []
        count -= bool(finer and finer[0] not in kinds[: count - 1])  # it takes the place of the last
        close = [trial for trial in kinds[:count] if trial.error <= _DROPPED_ABOVE * least]
        # The functions from which scales were learned are the same on which they are compared so far.
        learned = kinds[0].transform in self._learned
        rivals = [trial for trial in kinds if learned and trial.transform not in self._learned][:1]
        rivals = [trial for trial in rivals if trial.error <= _DROPPED_ABOVE * least]
        return list(dict.fromkeys([*close, *finer, *rivals]))

    def _try(self, pairs: Iterable[tuple[int, Candidate]], functions: int) -> None:
        """Try pairs of transform and candidate that were not tried yet, while there is time."""
        if self._started and perf_counter() > self.deadline:  # no data are transformed for nothing
            return
        known = {(trial.transform, trial.candidate) for trial in self.trials if trial.functions == functions}
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if self.n_jobs != 1:
            for transform in {transform for transform, _ in new}:
                self._prepare(transform, functions)  # before threads ask for it
        # A metric, or an amplitude that is split off, leaves no image.
        flat = {transform for transform, _ in new if self.data(transform, functions).Z.ndim == 2}
        new = [
            (transform, branch) for transform, branch in new if not (transform in flat and branch.sees_images)
        ]
        jobs = (delayed(self._evaluate)(transform, candidate, functions) for transform, candidate in new)
        if self.n_jobs == 1:
            found = [job[0](*job[1], **job[2]) for job in jobs]
        else:
            with threadpool_limits(1):
                found = Parallel(self.n_jobs, prefer="threads")(jobs)
        self.trials += [trial for trial in found if trial is not None]

    def _evaluate(self, transform: int, candidate: Candidate, functions: int) -> Trial | None:
        if self._started and self._end_of(transform, candidate, functions) > self._until(functions):
            return None
        self._started = True
        data, started = self._prepare(transform, functions), perf_counter()
        evaluation = data.evaluate(candidate, self.seed, self._needs_svd(transform, candidate))
        judges, alpha = self.judges(functions), evaluation.solution.alpha
        errors, stated = evaluation.errors[judges], evaluation.stated[judges]
        seconds = perf_counter() - started
        error = float(np.mean(errors))
        svd = "fine" in evaluation.factors
        trial = Trial(candidate, transform, functions, error, alpha, seconds, errors, stated, svd)
        with self._lock:
            self._timed.append(trial)
            best = self._best_evaluation  # only this one stays in memory
            if functions == len(self.X) and (best is None or trial.error < best[0].error):
                self._best_evaluation = trial, evaluation
        return trial

    def _end_of(self, transform: int, candidate: Candidate, functions: int) -> float:
        """Return when a trial would end that is started now, by those of its kind, or of all kinds."""
        kind = transform, candidate.at(1.0)
        known = [t for t in self._timed if t.kind == kind] or [
            t for t in self._timed if t.functions <= functions
        ]
        most = max((t.functions for t in known), default=0)
        seconds = [t.seconds * (functions / most) ** _GROWTH for t in known if t.functions == most]
        return perf_counter() + float(np.mean(seconds or [0.0])) + self._preparing(transform, functions)

    def _prepare(self, transform: int, functions: int) -> TransformedData:
        """Return transformed data with what every trial needs."""
        begin, data = perf_counter(), self.data(transform, functions)
        if (transform, functions) not in self._prepared:
            _ = data.modes
            self._prepared[transform, functions] = perf_counter() - begin
        return data

    def _preparing(self, transform: int, functions: int) -> float:
        """Return the seconds that `_prepare` will take, by how long it took with fewer functions."""
        known = [n for t, n in self._prepared if t == transform]
        if not known or functions in known:
            return 0.0
        return self._prepared[transform, max(known)] * (functions / max(known)) ** _GROWTH

    def _until(self, functions: int) -> float:
        """Return when trials on so many functions should end: earlier rounds leave time for one on all."""
        own = [trial.seconds for trial in self._timed if trial.functions == functions]
        if functions == len(self.X) or not own:
            return self.deadline
        modes = max(self._preparing(transform, len(self.X)) for transform, _ in self._prepared)
        return self.deadline - modes - float(np.mean(own)) * (len(self.X) / functions) ** _GROWTH

    def _time_for_round(self, trial: Trial, functions: int) -> bool:
        """Return whether a round leaves time for a trial on all functions, which there always is one of."""
        ends = [self._end_of(trial.transform, trial.candidate, n) for n in (functions, len(self.X))]
        return functions == len(self.X) or sum(ends) - perf_counter() <= self.deadline

    def _in_time(self, promising: list[Trial], functions: int) -> list[Trial]:
        """Return trials for a round of more functions; those of a short time begin with the fastest."""
        ends = [self._end_of(trial.transform, trial.candidate, functions) for trial in promising]
        return promising if ends[0] <= self.deadline else [promising[int(np.argmin(ends))]]

    def _needs_svd(self, transform: int, candidate: Candidate) -> bool:
        """Return whether the best trial of the same kind, on most functions, needed an SVD."""
        kind = transform, candidate.at(1.0)
        alike = [trial for trial in self.trials if trial.kind == kind]
        return bool(alike) and min(alike, key=lambda trial: (-trial.functions, trial.error)).svd

    def _ranked(self, functions: int, kind: Callable[[Trial], Any] | None = None) -> list[Trial]:
        """Return the trials on this number of functions by their error; of each kind, only the best."""
        trials = [trial for trial in self.trials if trial.functions == functions]
        ranked = sorted(trials, key=lambda trial: trial.error)
        if kind is None:
            return ranked
        first: dict[Any, Trial] = {}
        for trial in ranked:
            first.setdefault(kind(trial), trial)
        return list(first.values())


def _fixed_parts(
    parts: tuple[InputPart, ...], log_inputs: bool | Mapping[str, bool] | None
) -> tuple[str, ...]:
    """Return the names of the parts for which `log_inputs` says what to do."""
    if log_inputs is None:
        return ()
    if not isinstance(log_inputs, Mapping):
        return tuple(part.name for part in parts)
    return tuple(part.name for part in parts if part.name.split("[")[0] in map(str, log_inputs))


def _rounds(n: int) -> list[int]:
    """Return the numbers of functions in the rounds, each about twice the last, up to all n."""
    if n <= 1.5 * _FIRST_ROUND:
        return [n]
    later = max(1, round(np.log(n / _FIRST_ROUND) / np.log(_ROUND_GROWTH)))
    return [round(size) for size in np.geomspace(_FIRST_ROUND, n, later + 1)]


def choose_unaligned(
    training: Training, *, seed: int, deadline: float, progress: Any
) -> tuple[ELMDeepONet, list[dict[str, Any]]]:
    """Choose among a few branches by held-out functions, for outputs with gaps or at scattered points.

    Returns
    -------
    model : the best one, fitted to all functions.
    leaderboard : every trial as a dictionary, that of the model first.
    """
    n = len(training.X)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:_UNALIGNED_FUNCTIONS])
    few, trunk = training.of(rows), None
    if training.outputs.scattered:
        possible = degrees(training.outputs.points.shape[1], len(training.y) / n)
        trunk = Legendre(max(d for d in possible if d <= max(_UNALIGNED_DEGREE, possible[0])))
    candidates = [
        Candidate("none", linear=True),
        *(Candidate(family, scale, True) for family in ("rbf", "matern52") for scale in (0.1, 0.3, 1.0)),
        Candidate("tanh", 0.5, True, 1000),
    ]
    Z = few.inputs.prepared(few.X, parts=None, scale=True).seen(few.X)
    spread = float(np.std(Z)) or 1.0

    def fitted(
        candidate: Candidate, trunk: Any, training: Training, until: float
    ) -> tuple[ELMDeepONet, dict[str, Any]]:
        started = perf_counter()
        model = ELMDeepONet(candidate.branch(spread, seed), trunk, missing="ignore", random_state=seed)
        model._fit_training(training, until=until)
        return model, {
            "branch": str(candidate),
            "functions": len(training.X),
            "error": model.solution_.expected_error,
            "alpha": model.solution_.alpha,
            "seconds": perf_counter() - started,
        }

    def finish(seconds: float) -> float:
        """Return the seconds that the fit to all functions takes, after a trial that took so many."""
        growth = _SCATTERED_GROWTH if training.outputs.scattered else _GROWTH
        return seconds * (n / len(rows)) ** growth if again else 0.0

    again = len(rows) < n or trunk is not None
    tried: list[tuple[float, float, Candidate, dict[str, Any]]] = []
    model = None
    for i, candidate in enumerate(candidates):
        until = deadline - finish(min(tried, key=lambda trial: trial[0])[1]) if tried else np.inf
        if tried and perf_counter() + max(seconds for _, seconds, *_ in tried) > until:
            break
        if progress is not None:
            progress(
                f"trying {candidate} on {plural(len(rows), 'function')}", 0.1 + 0.6 * i / len(candidates), 1.0
            )
        try:
            found, record = fitted(candidate, trunk, few, until)
        except TimeoutError:
            continue
        model = found if not tried or record["error"] < min(error for error, *_ in tried) else model
        tried.append((record["error"], record["seconds"], candidate, record))
    tried.sort(key=lambda trial: trial[0])
    records = [record for *_, record in tried]
    if not again:  # the trials had all functions
        assert model is not None
        return model, records
    in_time = [trial for trial in tried if perf_counter() + finish(trial[1]) <= deadline]
    best = in_time[0] if in_time else min(tried, key=lambda trial: trial[1])
    if progress is not None:
        progress(f"fitting {best[2]} to {plural(n, 'function')}", 0.7, 1.0)
    model, last = fitted(best[2], None, training, deadline if training.outputs.scattered else np.inf)
    return model, [last, *records]

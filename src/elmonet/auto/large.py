"""Many functions: choose on few, finish on all.

A search on a sample finds transform, family and scale of the branch. Kernels then become features of
landmarks, random networks get wider, and both are compared again on larger samples by held-out functions,
with scales that shrink as functions and features become more. The best one is summed over all functions,
block by block, in memory that does not depend on their number; a second pass leaves each function out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.auto.candidates import Candidate
from elmonet.auto.search import Search
from elmonet.auto.summary import FinishTrial, LargeResult, summary_of_large
from elmonet.auto.transformed_data import TransformedData
from elmonet.data.lazy import Blocks, is_dask
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import POD
from elmonet.features.base import features, features_of, fit_map, learns_from
from elmonet.features.kernels import KERNELS
from elmonet.fitting.block_tasks import BlockFeatures, LeftOutErrorsTask, SumTask
from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.fitting.executors import OnDask, OnThreads
from elmonet.fitting.fitted_operator import FittedOperator
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import branch_and_trunk
from elmonet.fitting.streamed import Found, cores, find_stored_groups, sampled
from elmonet.forms.inputs import InputForm
from elmonet.forms.training import Training, understand
from elmonet.linalg import product
from elmonet.memory import available
from elmonet.solve import Ridge, Solution
from elmonet.solve.problem import Span, lifted, power_of_two
from elmonet.solve.streamed import ValidatedRidge, ridge_from, validated_ridge
from elmonet.solve.sums import GramSums
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.error_estimate import ErrorEstimate
from elmonet.uncertainty.novelty import TrainingRecord

LARGE = 4000  # functions from which on a sample is searched
_FORM = 16  # functions from which the form of the data is found
_SAMPLE = 16_000  # functions on which finishes are compared
_SAMPLE_BYTES = 1 << 28  # and what they may take
_SEARCHED = 1000  # functions of the search
_HELD_OUT = 1000  # functions by which finishes are compared
_WIDTHS = (500, 1000, 2000)  # features of the comparisons
_STEPS = (1.0, 2.0, 1.4)  # factors between scales in each of them; 1: a single scale
_MOST_STEPS = 4  # from one scale to the next, as long as the error falls
_KINDS = (4, 3, 2)  # kinds of branches in each of them
_PER_FEATURE, _FEWEST = 8, 4  # functions for each feature in a comparison, and at least
_CLOSE = 1.3  # drop kinds whose error exceeds this times the best
_WIDER = 0.95  # error that twice the width must reach, relative to before, to be worth it
_WIDEST, _WIDEST_AT = 4000, 10_000  # features at so many functions
_WIDTH_POWER = 1 / 6  # fewer at more functions: N^-1/6
_NARROWEST = 0.75  # but at least this part of them: else a million functions have a larger error than 100,000
_LINEAR_UP_TO = 1000  # values of a function, above which there is no linear block
_WEIGHT_BYTES = 1 << 29  # of random weights or landmarks
_BLOCK_ROWS = 2048  # functions in a block
_AGREE = 0.1  # by which left-out and held-out errors may differ for the former to be trusted
_KEPT_ERRORS = 100_000  # functions that are left out in a second pass; of more, some spread over all
_SEARCH_TIME, _COMPARE_TIME, _SUM_TIME = 0.3, 0.5, 0.75  # parts of the time budget after which each step ends


class InMemory:
    """Functions in memory, as training data.

    Attributes
    ----------
    source : reads them in blocks.
    found : functions that belong together.
    as_rows : whether they are rows already.
    """

    as_rows = True

    def __init__(self, training: Training, hook: Any):
        self.all, groups = training, training.groups
        self.source = OnThreads(Blocks(training.X, training.y, _BLOCK_ROWS), cores(), hook)
        self.found = Found(groups, "" if groups is None else groups.reason)

    def training(self, functions: np.ndarray, X: np.ndarray, y: np.ndarray) -> Training:
        """Return some functions, by their indices, as training data."""
        return self.all.of(functions)

    def every(self, functions: np.ndarray, X: np.ndarray, y: np.ndarray) -> Training:
        """Return all functions that are known."""
        return self.all

    def record(self, rows: np.ndarray, Z: np.ndarray, inputs: InputForm) -> TrainingRecord:
        """Return a record of all inputs, seen as `inputs` does."""
        return TrainingRecord.of(self.all.X, inputs.seen(self.all.X))


class Stored:
    """Functions on disk or of Dask; only a sample of them is ever in memory.

    Attributes as of `InMemory`. If functions of the sample belong together, no error is stated unless groups
    (N,) are given.
    """

    as_rows = False

    def __init__(self, estimator: Any, u: Any, s: Any, points: Any, *, sensors: Any, groups: Any, hook: Any):
        self.estimator, self.points, self.sensors = estimator, points, sensors
        if is_dask(u) or is_dask(s):
            self.source: Any = OnDask(u, s)
        else:
            self.source = OnThreads(Blocks(u, s, _BLOCK_ROWS), cores(), hook)
        first = self.training(np.arange(_FORM), *self.source.rows(0, _FORM))
        form = BlockFeatures(first.inputs, first.outputs, None, 0, None)
        self.found = find_stored_groups(self.source, form, groups)

    def training(self, functions: np.ndarray, X: np.ndarray, y: np.ndarray) -> Training:
        """Return functions X and y of the sample as training data."""
        return understand(self.estimator, X, y, self.points, sensors=self.sensors)

    every = training

    def record(self, rows: np.ndarray, Z: np.ndarray, inputs: InputForm) -> TrainingRecord:
        """Return a record of the sample's inputs; which functions were among the others is not known."""
        return replace(TrainingRecord.of(rows, Z), fingerprints=None)


class LargeFit:
    """A search on a sample of a source of functions, and a fit to all of them.

    Parameters
    ----------
    data : the functions, as `InMemory` or `Stored`.
    seed : of the samples, the random branches and the landmarks.
    budget : seconds; None for no limit.
    settings : of `Search`: n_jobs, log_inputs, log_outputs.
    hook : called as ``hook(what, done, total)``, or None.
    """

    def __init__(
        self,
        data: InMemory | Stored,
        *,
        seed: int,
        budget: float | None,
        settings: dict[str, Any],
        hook: Any,
    ):
        self.started = perf_counter()
        self.source, self.found, self.as_rows = data.source, data.found, data.as_rows
        self.seed, self.budget = seed, budget
        source, found = self.source, self.found
        self.report = hook or (lambda what, done, total: None)
        rng = np.random.default_rng(seed)
        one = sum(A.nbytes for A in source.rows(0, 1))
        count = min(_SAMPLE, max(2 * _SEARCHED, _SAMPLE_BYTES // one))
        chosen = sampled(source, count, rng)
        self.report("reading a sample", 0.0, 1.0)
        self.X: np.ndarray
        self.y: np.ndarray
        self.X, self.y = source.take(chosen)
        numbers = None if found.groups is None else found.groups.numbers[chosen]
        self.held, self.rest = _held_out(len(chosen), numbers, rng)
        self.held_out_functions, self.sampled_functions = chosen[self.held], chosen[self.rest]
        own = self.rest[:_SEARCHED]
        searched = data.training(chosen[own], self.X[own], self.y[own])
        settings = settings | {"every": data.every(chosen, self.X, self.y)}
        share = None if budget is None else _SEARCH_TIME * budget
        self.search = Search(
            searched, seed=seed, time_budget=share, progress=self._part(0.0, 0.3), **settings
        )
        self.best = self.search.run()
        self.transform = self.search.transforms[self.best.transform]
        rows = data.training(chosen[self.rest], self.X[self.rest], self.y[self.rest])
        seen = TransformedData(rows, self.transform, 1e-4 * self.best.error)
        self.inputs, self.outputs, self.spread = seen.inputs, seen.outputs, seen.spread
        rank = None if seen.outputs.components else seen.modes[0].shape[1]
        self.trunk = self._fitted_trunk(POD(rank), rows)
        self.known = data.record(rows.X, seen.Z, self.inputs)
        P = self.outputs.seen()
        self.span = Span(features_of(self.trunk, P, "trunk"))
        self.g = power_of_two(rows.y)
        self.trials: list[FinishTrial] = []

    def run(self, missing: str = "raise") -> tuple[ELMDeepONet, list[dict[str, Any]]]:
        """Compare finishes and fit the best one; return the model and the leaderboard."""
        best = self._compare()
        model, finished, functions = self._finish(best, missing)
        result = LargeResult(
            finished, self.trials, functions, self.source.functions, len(self.search.X), self.found.words
        )
        words = summary_of_large(model, self.search, self.best, result)
        model._adopt(replace(model._fitted(), words=words))
        rows = [trial.row(self.transform) for trial in self.trials]
        rows.sort(key=lambda row: (-row["functions"], row["error"]))
        return model, [finished.row(self.transform), *rows, *self.search.leaderboard()]

    # Comparison on the sample

    def _compare(self) -> FinishTrial:
        """Return the best trial: kinds, then scales, then widths, by held-out functions of the sample."""
        kinds, best = self._kinds(), None
        for width, step, count in zip(_WIDTHS, _STEPS, (*_KINDS[1:], 0), strict=True):
            width = self._allowed(max(1, min(width, len(self.rest) // _FEWEST)))
            functions = min(len(self.rest), _PER_FEATURE * width)
            if best is not None and (self._late(_COMPARE_TIME) or width < 1.5 * best.width):
                break
            found: list[FinishTrial] = []
            for i, candidate in enumerate(kinds):
                if found and self._late(_COMPARE_TIME):
                    break
                part = 0.3 + 0.05 * len(self.trials) / (len(self.trials) + 5) * (i + 1)
                self.report(f"comparing {candidate} on {functions} functions", part, 1.0)
                found.append(self._around(self._try(candidate, width, functions), step))
            found += self._with_or_without_linear(found)
            found.sort(key=lambda trial: trial.error)
            narrow, best = best, found[0]
            if narrow is not None and best.error > _WIDER * narrow.error:
                return min(best, narrow, key=lambda trial: trial.error)
            close = [trial.candidate for trial in found if trial.error <= _CLOSE * best.error]
            alike: dict[tuple[str, bool], Candidate] = {}
            for candidate in close:
                if candidate.has_scale:
                    alike.setdefault((candidate.family, candidate.linear), candidate)
            kinds = list(alike.values())[:count]
            if not kinds:
                break
        assert best is not None
        grows = best.candidate.has_scale and best.features >= best.width  # a smooth kernel has few features
        return replace(best, width=self._allowed(_WIDEST)) if grows else best

    def _kinds(self) -> list[Candidate]:
        """Return kernels and networks to compare: the best of each family of the search."""
        usable = (*KERNELS, "none", "constant", "cos", "cos-t", "tanh", "relu-net", "mlp", "cnn")
        families: dict[str, Candidate] = {}
        m = prod(self.inputs.shape)
        for trial in sorted(self.search.trials, key=lambda trial: (-trial.functions, trial.error)):
            candidate, same = trial.candidate, trial.transform == self.best.transform
            if same and (candidate.family in usable or candidate.family.startswith("smooth")):
                few = m <= _LINEAR_UP_TO or not candidate.has_scale
                families.setdefault(candidate.family, replace(candidate, linear=candidate.linear and few))
        kinds = list(families.values())
        networks = [candidate for candidate in kinds if candidate.width]
        chosen = dict.fromkeys([*kinds[: _KINDS[0] - 1], *networks[:1]])
        if not any(candidate.has_scale for candidate in chosen):
            chosen |= dict.fromkeys([c for c in kinds if c.has_scale][:1])
        return list(chosen)

    def _try(self, candidate: Candidate, width: int, functions: int) -> FinishTrial:
        """Sum a branch over some functions of the sample, and choose alpha by the held-out ones."""
        started, own = perf_counter(), self.rest[:functions]
        block_features = self._block_features(candidate, width)
        workers = getattr(self.source, "workers", 1)
        source = OnThreads(Blocks(self.X[own], self.y[own], _BLOCK_ROWS), workers, None)
        with threadpool_limits(1):
            sums = source.reduce("", SumTask(block_features, GramSums))
        with threadpool_limits(workers):
            ridge = self._validated(sums, block_features, self._begin(candidate), coarse=True)
        seconds = perf_counter() - started
        found = block_features.width
        trial = FinishTrial(candidate, width, found, functions, ridge.error, ridge, seconds)
        self.trials.append(trial)
        return trial

    def _around(self, best: FinishTrial, step: float) -> FinishTrial:
        """Try the next smaller scale, then others as long as the error falls; return the best trial."""
        if step == 1 or not best.candidate.has_scale or self._late(_COMPARE_TIME):
            return best
        at, scale = best.candidate.at, best.candidate.scale
        smaller = self._try(at(scale / step), best.width, best.functions)
        factor = 1 / step if smaller.error < best.error else step
        best = min(best, smaller, key=lambda trial: trial.error)
        for _ in range(_MOST_STEPS):
            if self._late(_COMPARE_TIME):
                break
            further = self._try(at(best.candidate.scale * factor), best.width, best.functions)
            if further.error >= best.error:
                break
            best = further
        return best

    def _with_or_without_linear(self, found: list[FinishTrial]) -> list[FinishTrial]:
        """Try the best kernel without its linear block, or with one, which few functions do not decide.

        A smooth kernel of a small scale has few features above rounding; beside a linear block it has more.
        So both go on while they are close: which is better at few features says little about many.
        """
        best = min(found, key=lambda trial: trial.error)
        candidate, m = best.candidate, prod(self.inputs.shape)
        other = replace(candidate, linear=not candidate.linear)
        tried = any((t.candidate.family, t.candidate.linear) == (other.family, other.linear) for t in found)
        kernel = candidate.has_scale and not candidate.width and m <= _LINEAR_UP_TO
        if tried or not kernel or self._late(_COMPARE_TIME):
            return []
        return [self._try(other, best.width, best.functions)]

    def _begin(self, candidate: Candidate) -> float | None:
        """Return the alpha of the last trial of the same family, to begin with."""
        alike = [t.ridge.relative for t in self.trials if t.candidate.family == candidate.family]
        return alike[-1] if alike else None

    def _validated(
        self, sums: GramSums, block_features: BlockFeatures, begin: float | None, *, coarse: bool = False
    ) -> ValidatedRidge:
        """Choose alpha by the held-out functions."""
        X, y = block_features.rows(self.X[self.held], self.y[self.held])
        B = np.ascontiguousarray(block_features.features(X))
        return validated_ridge(sums, lambda C: float(np.mean(self._errors(C, B, y))), begin, coarse=coarse)

    def _errors(self, C: np.ndarray, B: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.outputs.errors(product(product(C, B).T / self.g, self.span.Q.T), y)

    def _block_features(self, candidate: Candidate, width: int) -> BlockFeatures:
        """Return the features of a candidate, its branch fitted to the sample."""
        branch = replace(candidate, width=width if candidate.width else 0).branch(self.spread, self.seed)
        names = branch.get_params(deep=True)
        landmarks = [name for name in names if name.split("__")[-1] == "landmarks"]
        branch.set_params(**dict.fromkeys(landmarks, width))
        branch, _ = branch_and_trunk(branch, POD(), self.inputs, self.outputs, self.seed)
        some = self.rest if "sample" in learns_from(branch) else self.rest[:1]
        X = self.X[some] if self.as_rows else self.inputs.arranged(self.X[some])
        Z = self.inputs.seen(X)
        fit_map(branch, Z)
        found = features(branch, Z[:1]).shape[1]
        return BlockFeatures(self.inputs, self.outputs, branch, found, self.span, self.g, self.as_rows)

    def _allowed(self, width: int) -> int:
        """Return a width, at most what N, memory and the sample allow."""
        N, m = self.source.functions, prod(self.inputs.shape)
        widest = _WIDEST * max(_NARROWEST, min(1.0, _WIDEST_AT / N) ** _WIDTH_POWER)
        room = np.sqrt(available() / 2 / 8 / (getattr(self.source, "workers", 1) + 4))
        return int(min(width, widest, room, _WEIGHT_BYTES // (8 * m), max(1, N // 2)))

    # The fit to all functions

    def _finish(self, best: FinishTrial, missing: str) -> tuple[ELMDeepONet, FinishTrial, int]:
        """Sum the best branch over all functions, choose alpha, leave each function out."""
        started, N = perf_counter(), self.source.functions
        best = replace(best, width=self._in_time(best))
        block_features = self._block_features(best.candidate, best.width)
        with threadpool_limits(1):
            task: Any = SumTask(block_features, GramSums, self.held_out_functions)
            sums = self.source.reduce("summing up", task, until=self._until(_SUM_TIME))
        with self.source.all_threads():
            ridge = self._validated(sums, block_features, best.ridge.relative)
            block_features.add(sums, *block_features.rows(self.X[self.held], self.y[self.held]))
            alpha, factor, C = ridge_from(sums, ridge.alpha)
        task = LeftOutErrorsTask(block_features, factor.factor, C / self.g)
        errors, functions, kind, residual = self._left_out(task, ridge, sums.functions)
        fair = errors
        if kind == "leave-one-out" and np.any(outside := self._outside(block_features, functions)):
            fair = errors[outside]
        solution = Solution(
            **lifted(self.span, C / self.g),
            rank_T=self.span.rank,
            condition=factor.condition,
            residual=residual,
            alpha=alpha,
            expected_error=float(np.mean(fair)),
            error_kind=kind,
            errors=errors if len(functions) == N else None,
            seconds=perf_counter() - started,
            method="gram",
            alphas=np.array(sorted(ridge.tried)),
            path=np.array([ridge.tried[alpha] for alpha in sorted(ridge.tried)]),
        )
        operator = Operator.of(
            block_features.branch, self.trunk, solution, features_of(self.trunk, self.outputs.seen(), "trunk")
        )
        groups = self.found.groups
        more: dict[str, Any] = {"grouping": self.found.words, "known": self.known}
        if groups is not None:
            more["groups"] = len(np.unique(groups.numbers))
        fitted = FittedOperator.of(self.inputs, self.outputs, solution, operator=operator, **more)
        if self.found.partly:
            estimate = ErrorEstimate(reason=self.found.words)
        else:
            independent = more.get("groups") or N
            estimate = ErrorEstimate.of(fair, kind, independent=min(independent, len(fair)))
        fitted = replace(fitted, estimate=estimate, bars=self._error_bars(task))
        settings: dict[str, Any] = {"missing": missing, "random_state": self.seed}
        settings |= self.transform.settings(self.inputs)
        branch, trunk = block_features.branch, POD(None if self.outputs.components else self.span.rank)
        model = ELMDeepONet(branch, trunk, Ridge(alpha), **settings)._adopt(fitted)
        error = solution.expected_error or 0.0
        seconds = perf_counter() - started
        done = replace(best, features=block_features.width, functions=sums.functions, error=error)
        done = replace(done, ridge=ridge, seconds=seconds)
        self.report("done", 1.0, 1.0)
        return model, done, sums.functions

    def _left_out(
        self, task: LeftOutErrorsTask, ridge: ValidatedRidge, summed: int
    ) -> tuple[np.ndarray, np.ndarray, str, float | None]:
        """Return the errors of functions left out, their indices, the kind, and the residual of the fit.

        Leverages at a small alpha may be rounding. So left-out errors are compared with those of the same
        functions held out, of which the solve knew nothing; these are stated if the two differ, and if
        functions belong together.
        """
        X, y = task.block_features.rows(self.X[self.held], self.y[self.held])
        with threadpool_limits(getattr(self.source, "workers", 1)):
            left_out, _, _ = task.left_out(X, y)
        both = float(np.mean(self.outputs.errors(left_out, y))), ridge.error
        alike = abs(both[0] - both[1]) <= _AGREE * both[1]
        if self.found.groups is not None or not alike or summed < self.source.functions:
            B = task.block_features.features(X)
            errors = self._errors(ridge.C, np.ascontiguousarray(B), y)
            return errors, self.held_out_functions, "held out", None
        with threadpool_limits(1):
            what, most = "leaving functions out", _KEPT_ERRORS
            found = self.source.reduce(what, task, until=self._until(1.0), most=most)
        residual = float(np.sqrt(found.squared / found.total)) if found.total else 0.0
        return found.of_each(), found.functions(), "leave-one-out", residual

    def _outside(self, block_features: BlockFeatures, functions: np.ndarray) -> np.ndarray:
        """Return which of some functions, as a mask, have the left-out errors of new functions.

        A landmark has a feature of its own, to which nothing but its neighbours' residuals gives a weight if
        it is left out: its error is larger. And the others of the sample from which landmarks were chosen are
        the usual ones: their errors are smaller.
        """
        if "sample" not in learns_from(block_features.branch):
            return np.ones(len(functions), bool)
        return ~np.isin(functions, self.sampled_functions)

    def _error_bars(self, task: LeftOutErrorsTask) -> OperatorErrorBars | None:
        """Return error bars from the held-out functions, now left out, equally wide for all functions."""
        left_out, z, _ = task.left_out(*task.block_features.rows(self.X[self.held], self.y[self.held]))
        bands = None if self.found.partly else Bands.of(z - left_out, [np.ones((1, 1))])
        return None if bands is None else OperatorErrorBars(bands)

    def _fitted_trunk(self, trunk: Any, rows: Training) -> Any:
        _, trunk = branch_and_trunk(None, trunk, self.inputs, self.outputs, self.seed)
        return fit_map(trunk, self.outputs.seen(), self.outputs.target(rows.y).T)

    # Time

    def _late(self, part: float) -> bool:
        return perf_counter() > self._until(part)

    def _until(self, part: float) -> float:
        """Return when a part of the time budget is over."""
        return np.inf if self.budget is None else self.started + part * self.budget

    def _in_time(self, best: FinishTrial) -> int:
        """Return the width for which there is time to sum all functions and to leave them out."""
        width = best.width
        if self.budget is None or not best.candidate.has_scale:
            return width
        # Features, sums and the second pass take about N p1^2 each, as the trials did for their functions.
        slowest = max(self.trials, key=lambda trial: trial.functions * trial.features**2)
        rate = slowest.seconds / (slowest.functions * slowest.features**2)
        left = max(self._until(0.9) - perf_counter(), 0.05 * self.budget)
        possible = np.sqrt(left / (2 * rate * self.source.functions))
        tried = max(trial.width for trial in self.trials)  # fewer functions are better than fewer features
        return int(min(width, max(possible, tried)))

    def _part(self, begin: float, end: float) -> Callable[[str, float, float], None]:
        return lambda what, done, total: self.report(what, begin + (end - begin) * done / total, 1.0)


def _held_out(n: int, groups: np.ndarray | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return random functions to hold out, at most a fifth, and the others; groups (n,) stay together."""
    count = min(_HELD_OUT, n // 5)
    order = rng.permutation(n)
    if groups is None:
        return order[:count], order[count:]
    labels = rng.permutation(np.unique(groups))
    sizes = np.cumsum([np.count_nonzero(groups == label) for label in labels])
    held = np.isin(groups, labels[: max(1, int(np.searchsorted(sizes, count)))])
    return order[held[order]], order[~held[order]]

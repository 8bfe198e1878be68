"""Many functions: choose on few, finish on all.

A search on a sample finds transform, family and scale of the branch. Kernels then become features of
landmarks, random networks get wider, and both are compared again on larger samples (`comparison`). The best
one is summed over all functions, block by block, in memory that does not depend on their number; a second
pass leaves each function out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from math import prod
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.auto.comparison import BLOCK_ROWS, FinishComparison, Sample
from elmonet.auto.search import Search
from elmonet.auto.summary import FinishTrial, LargeResult, summary_of_large
from elmonet.auto.transformed_data import TransformedData
from elmonet.data.lazy import Blocks, is_dask, map_rows, unpacked
from elmonet.errors import InputError
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import POD
from elmonet.features.base import features_of, fit_map, learns_from
from elmonet.fitting.block_tasks import BlockFeatures, LeftOutErrorsTask, SumTask
from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.fitting.executors import OnDask, OnThreads
from elmonet.fitting.fitted_operator import FittedOperator
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import branch_and_trunk
from elmonet.fitting.streamed import Found, cores, find_stored_groups, sampled
from elmonet.forms.inputs import InputForm
from elmonet.forms.training import Training, understand
from elmonet.solve import Ridge, Solution
from elmonet.solve.problem import Span, lifted, power_of_two
from elmonet.solve.streamed import ValidatedRidge, ridge_from
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
_AGREE = 0.1  # by which left-out and held-out errors may differ for the former to be trusted
_KEPT_ERRORS = 100_000  # functions that are left out in a second pass; of more, some spread over all
_SEARCH_TIME, _COMPARE_TIME, _SUM_TIME = 0.3, 0.5, 0.75  # parts of the time budget after which each step ends


class Together:
    """An array on disk or of Dask; or several by name, read as one.

    Parameters
    ----------
    given : an array, or a dictionary: of inputs, which are put side by side, or of components of outputs.
    components : whether they are components, which become the last axis.

    Attributes
    ----------
    array : (N, ...), read when its rows are taken.
    """

    def __init__(self, given: Any, *, components: bool):
        self.array, self.components = given, components
        self.parts = dict(given) if isinstance(given, dict) else None
        if self.parts is None:
            return
        shapes = {name: np.shape(part) for name, part in self.parts.items()}
        alike = [shape if components else shape[:1] for shape in shapes.values()]
        if len(set(alike)) != 1 or not alike[0]:
            what = "the components of y must all have the same shape (N, M)"
            other = "the arrays of X must all hold the same number of functions"
            raise InputError(f"{what if components else other}; got {shapes}.")
        arrays = list(self.parts.values())
        if any(is_dask(part) for part in arrays):
            da: Any = import_module("dask.array")
            self.array = self._joined(*map(da.asarray, arrays), of=da)
        else:
            arrays = [unpacked(A, A.attrs, n) if hasattr(A, "attrs") else A for n, A in self.parts.items()]
            self.array = map_rows(self._joined, *arrays)

    def _joined(self, *parts: Any, of: Any = np) -> Any:
        if self.components:
            return of.stack(parts, axis=-1)
        return of.concatenate([part.reshape(len(part), prod(part.shape[1:])) for part in parts], axis=1)

    def apart(self, rows: np.ndarray) -> Any:
        """Return rows of the array in the form in which all were given."""
        if self.parts is None:
            return rows
        if self.components:
            return {name: rows[..., k] for k, name in enumerate(self.parts)}
        shapes = [np.shape(part)[1:] for part in self.parts.values()]
        columns = np.split(rows, np.cumsum([prod(shape) for shape in shapes])[:-1], axis=1)
        of = zip(self.parts, columns, shapes, strict=True)
        return {name: own.reshape(len(rows), *shape) for name, own, shape in of}


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
        self.source = OnThreads(Blocks(training.X, training.y, BLOCK_ROWS), cores(), hook)
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

    def __init__(
        self,
        estimator: Any,
        X: Together,
        y: Together,
        points: Any,
        *,
        sensors: Any,
        groups: Any,
        hook: Any,
    ):
        self.estimator, self.points, self.sensors = estimator, points, sensors
        self.X, self.y, u, s = X, y, X.array, y.array
        if is_dask(u) or is_dask(s):
            self.source: Any = OnDask(u, s)
        else:
            self.source = OnThreads(Blocks(u, s, BLOCK_ROWS), cores(), hook)
        first = self.training(np.arange(_FORM), *self.source.rows(0, _FORM))
        form = BlockFeatures(first.inputs, first.outputs, None, 0, None)
        self.found = find_stored_groups(self.source, form, groups)

    def training(self, functions: np.ndarray, X: np.ndarray, y: np.ndarray) -> Training:
        """Return functions X and y of the sample as training data."""
        X, y = self.X.apart(X), self.y.apart(y)
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
        self.source, self.found = data.source, data.found
        self.seed, self.budget = seed, budget
        source, found = self.source, self.found
        self.report = hook or (lambda what, done, total: None)
        rng = np.random.default_rng(seed)
        one = sum(A.nbytes for A in source.rows(0, 1))
        count = min(_SAMPLE, max(2 * _SEARCHED, _SAMPLE_BYTES // one))
        chosen = sampled(source, count, rng)
        self.report("reading a sample", 0.0, 1.0)
        X: np.ndarray
        y: np.ndarray
        X, y = source.take(chosen)
        numbers = None if found.groups is None else found.groups.numbers[chosen]
        held, rest = _held_out(len(chosen), numbers, rng)
        self.held_out_functions, self.sampled_functions = chosen[held], chosen[rest]
        own = rest[:_SEARCHED]
        searched = data.training(chosen[own], X[own], y[own])
        settings = settings | {"every": data.every(chosen, X, y)}
        share = None if budget is None else _SEARCH_TIME * budget
        self.search = Search(
            searched, seed=seed, time_budget=share, progress=self._part(0.0, 0.3), **settings
        )
        self.best = self.search.run()
        self.transform = self.search.transforms[self.best.transform]
        rows = data.training(chosen[rest], X[rest], y[rest])
        seen = TransformedData(rows, self.transform, 1e-4 * self.best.error)
        self.inputs, self.outputs = seen.inputs, seen.outputs
        rank = None if seen.outputs.components else seen.modes[0].shape[1]
        self.trunk = self._fitted_trunk(POD(rank), rows)
        self.known = data.record(rows.X, seen.Z, self.inputs)
        P = self.outputs.seen()
        self.span = Span(features_of(self.trunk, P, "trunk"))
        self.sample = Sample(
            X=X,
            y=y,
            held=held,
            rest=rest,
            inputs=self.inputs,
            outputs=self.outputs,
            span=self.span,
            g=power_of_two(rows.y),
            as_rows=data.as_rows,
            spread=seen.spread,
            seed=seed,
            workers=getattr(source, "workers", 1),
        )
        self.comparison = FinishComparison(
            self.sample,
            source.functions,
            self.search,
            self.best,
            left=self._left,
            tell=lambda what, part: self.report(what, 0.3 + 0.1 * part, 1.0),
        )

    def run(self, missing: str = "raise") -> tuple[ELMDeepONet, list[dict[str, Any]]]:
        """Compare finishes and fit the best one; return the model and the leaderboard."""
        best = self.comparison.run()
        model, finished, functions = self._finish(best, missing)
        trials, searched = self.comparison.trials, len(self.search.X)
        result = LargeResult(finished, trials, functions, self.source.functions, searched, self.found.words)
        words = summary_of_large(model, self.search, self.best, result)
        model._adopt(replace(model._fitted(), words=words))
        rows = [trial.row(self.transform) for trial in trials]
        rows.sort(key=lambda row: (-row["functions"], row["error"]))
        return model, [finished.row(self.transform), *rows, *self.search.leaderboard()]

    # The fit to all functions

    def _finish(self, best: FinishTrial, missing: str) -> tuple[ELMDeepONet, FinishTrial, int]:
        """Sum the best branch over all functions, choose alpha, leave each function out."""
        started, N, sample = perf_counter(), self.source.functions, self.sample
        if (kept := self.comparison.sums_of(best)) is not None:
            block_features, sums = kept
        else:
            block_features = sample.block_features(best.candidate, best.width)
            with threadpool_limits(1):
                adding = SumTask(block_features, GramSums, self.held_out_functions)
                sums = self.source.reduce("summing up", adding, until=self._until(_SUM_TIME))
        with self.source.all_threads():
            ridge = sample.validated(sums, block_features, best.ridge.relative)
            block_features.add(sums, *sample.held_out(block_features))
            alpha, factor, C = ridge_from(sums, ridge.alpha)
        task = LeftOutErrorsTask(block_features, factor.factor, C / sample.g)
        errors, functions, kind, residual = self._left_out(task, ridge, sums.functions)
        fair = errors
        if kind == "leave-one-out" and np.any(outside := self._outside(block_features, functions)):
            fair = errors[outside]
        solution = Solution(
            **lifted(self.span, C / sample.g),
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
        X, y = self.sample.held_out(task.block_features)
        with threadpool_limits(self.sample.workers):
            left_out, _, _ = task.left_out(X, y)
        both = float(np.mean(self.outputs.errors(left_out, y))), ridge.error
        alike = abs(both[0] - both[1]) <= _AGREE * both[1]
        if self.found.groups is not None or not alike or summed < self.source.functions:
            B = task.block_features.features(X)
            errors = self.sample.errors(ridge.C, np.ascontiguousarray(B), y)
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
        left_out, z, _ = task.left_out(*self.sample.held_out(task.block_features))
        bands = None if self.found.partly else Bands.of(z - left_out, [np.ones((1, 1))])
        return None if bands is None else OperatorErrorBars(bands)

    def _fitted_trunk(self, trunk: Any, rows: Training) -> Any:
        _, trunk = branch_and_trunk(None, trunk, self.inputs, self.outputs, self.seed)
        return fit_map(trunk, self.outputs.seen(), self.outputs.target(rows.y).T)

    # Time

    def _until(self, part: float) -> float:
        """Return when a part of the time budget is over."""
        return np.inf if self.budget is None else self.started + part * self.budget

    def _left(self) -> tuple[float, float]:
        """Return the seconds that are left for comparisons, and for the fit to all functions."""
        if self.budget is None:
            return np.inf, np.inf
        now = perf_counter()
        return self._until(_COMPARE_TIME) - now, max(self._until(0.9) - now, 0.05 * self.budget)

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

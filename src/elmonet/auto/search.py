"""Successive halving: many candidates on few functions, the best of them on more, the last on all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from elmonet._check import NumericsWarning
from elmonet.auto.candidates import Candidate, branches, probes, transforms
from elmonet.auto.view import View

__all__ = ["Search", "Trial"]

_FEW = 300  # functions on which everything is tried
_KEPT = 6  # candidates that go on to the next round
_WAYS = 2  # ways to look at the data that go on
_STEPS = (1.8, 1.3, 1.12)  # factors by which the scale of the best is moved in the end
_CLIMBS = 4  # how often at most


@dataclass(frozen=True)
class Trial:
    """A candidate, how it looked at the data, on how many functions, and what came of it."""

    candidate: Candidate
    way: int
    functions: int
    loo_error: float
    alpha: float
    seconds: float


class Search:
    """The search for the candidate with the least leave-one-out error.

    Parameters
    ----------
    X, y, points : the data; X (N, ...), y (N, M), points (M, d).
    seed : of the random branches and of the order in which functions come in.
    time_budget : seconds after which no new candidate is begun; None: no limit.
    n_jobs : candidates that are tried at the same time, in threads.
    progress : called as ``progress(what, done, total)``, or None.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        points: np.ndarray,
        *,
        seed: int,
        time_budget: float | None,
        n_jobs: int,
        progress: Callable[[str, float, float], None] | None,
    ):
        self.X, self.y, self.points = X, y, points
        self.seed, self.n_jobs, self.progress = seed, n_jobs, progress
        self.deadline = np.inf if time_budget is None else perf_counter() + time_budget
        self.order = np.random.default_rng(seed).permutation(len(X))
        self.ways = transforms(X, y)
        self.trials: list[Trial] = []
        self._begun, self._least = False, np.inf
        self.rank: int | None = None  # of the outputs' modes, for the best trial on all functions
        self._views: dict[tuple[int, int], View] = {}

    def run(self) -> Trial:
        """Try everything; the best trial on all functions (of those that there was time for)."""
        rounds = _rounds(len(self.X))
        few = rounds[0]
        self._tell("looking at the data", 0.0)
        self._try([(way, probe) for way in range(len(self.ways)) for probe in probes()], few)
        first, *others = [trial.way for trial in self._best(few, lambda trial: trial.way)[:_WAYS]]
        self._tell(f"trying branches on {few} functions", 0.1)
        self._try([(first, branch) for branch in branches(self.X.ndim > 2)], few)
        kept = self._best(few, _kind)[:_KEPT]
        self._try([(way, trial.candidate) for way in others for trial in kept], few)
        for i, functions in enumerate(rounds[1:], start=1):
            kept = self._best(rounds[i - 1], _kind)[:_KEPT]
            self._tell(f"trying the best {len(kept)} on {functions} functions", 0.1 + 0.6 * i / len(rounds))
            self._forget(rounds[i - 1])
            self._try([(trial.way, trial.candidate) for trial in kept], functions)
        self._tell("choosing the scale", 0.8)
        for step in _STEPS:
            self._climb(step, self.trials[-1].functions)
        self._tell("done", 1.0)
        return self._best(self.trials[-1].functions)[0]

    def _climb(self, step: float, functions: int) -> None:
        """Move the scale of the best by a factor as long as that helps."""
        best = self._best(functions)[0]
        for _ in range(_CLIMBS):
            self._try([(best.way, candidate) for candidate in best.candidate.neighbours(step)], functions)
            before, best = best, self._best(functions)[0]
            if best is before:
                return

    def view(self, way: int, functions: int) -> View:
        """The data, or some of them, in one way to look at them."""
        if (way, functions) not in self._views:
            rows = self.order[:functions]
            self._views[way, functions] = View(self.X[rows], self.y[rows], self.points, self.ways[way])
        return self._views[way, functions]

    def leaderboard(self) -> list[dict[str, Any]]:
        """Every trial as a dictionary, those on most functions first, then by error."""
        ranked = sorted(self.trials, key=lambda trial: (-trial.functions, trial.loo_error))
        return [
            {
                "branch": str(trial.candidate),
                **self.ways[trial.way],
                "functions": trial.functions,
                "loo_error": trial.loo_error,
                "alpha": trial.alpha,
                "seconds": trial.seconds,
            }
            for trial in ranked
        ]

    def _try(self, asked: Iterable[tuple[int, Candidate]], functions: int) -> list[Trial]:
        """Try what was not tried yet; the trials, old and new, of what was asked."""
        known = {(t.way, t.candidate, t.functions): t for t in self.trials}
        asked = list(dict.fromkeys(asked))
        new = [pair for pair in asked if (*pair, functions) not in known]
        for way in {way for way, _ in new}:
            self.view(way, functions)  # made before threads ask for it
        jobs = (delayed(self._evaluate)(way, candidate, functions) for way, candidate in new)
        if self.n_jobs == 1:
            found = [job[0](*job[1], **job[2]) for job in jobs]
        else:
            with threadpool_limits(1):
                found = Parallel(self.n_jobs, prefer="threads")(jobs)
        self.trials += [trial for trial in found if trial is not None]
        known |= {(t.way, t.candidate, t.functions): t for t in self.trials}
        return [known[*pair, functions] for pair in asked if (*pair, functions) in known]

    def _evaluate(self, way: int, candidate: Candidate, functions: int) -> Trial | None:
        started = perf_counter()
        if started > self.deadline and self._begun:
            return None
        self._begun = True
        view = self.view(way, functions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericsWarning)
            solution, B = view.solve(candidate.branch(view.X, view.spread, self.seed))
            error = view.error(solution, B)
            if functions == len(self.X) and error < self._least:
                self._least, self.rank = error, view.best_rank(solution, B)
        return Trial(candidate, way, functions, error, solution.alpha, perf_counter() - started)

    def _best(self, functions: int, kind: Callable[[Trial], Any] | None = None) -> list[Trial]:
        """The trials on so many functions by their error; of each kind, the best only."""
        ranked = sorted(
            (trial for trial in self.trials if trial.functions == functions), key=lambda t: t.loo_error
        )
        if kind is None:
            return ranked
        first: dict[Any, Trial] = {}
        for trial in ranked:
            first.setdefault(kind(trial), trial)
        return list(first.values())

    def _forget(self, functions: int) -> None:
        self._views = {key: view for key, view in self._views.items() if key[1] != functions}

    def _tell(self, what: str, done: float) -> None:
        if self.progress is not None:
            self.progress(what, done, 1.0)


def _kind(trial: Trial) -> tuple[Any, ...]:
    """What makes a difference that the scale does not make."""
    return trial.way, trial.candidate.family, trial.candidate.linear


def _rounds(n: int) -> list[int]:
    """Numbers of functions in the rounds, each about four times as many, up to all n."""
    rounds = [n]
    while rounds[0] > 1.5 * _FEW:
        rounds.insert(0, max(_FEW, rounds[0] // 4))
    return rounds

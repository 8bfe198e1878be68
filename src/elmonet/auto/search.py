"""The search: transformed data shared by candidates, trials on growing numbers of functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from elmonet.auto.candidates import Candidate, branches, next_scale, probes, transforms
from elmonet.errors import NumericsWarning
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features import POD, Legendre, Linear
from elmonet.features.base import fit_features, fit_map
from elmonet.features.kernels import KERNELS, Products, kernel_features, kernel_matrix
from elmonet.fitting.in_memory import log_sizes
from elmonet.fitting.incomplete import degrees
from elmonet.forms.inputs import InputForm
from elmonet.forms.training import Training
from elmonet.linalg import product
from elmonet.metrics import overall, reference_norms
from elmonet.solve import Ridge, Solution

__all__ = ["Search", "Trial", "View", "choose_unaligned"]


class View:
    """Inputs and outputs transformed, and what candidates share: made once, used by many.

    Modes of the outputs that hold less than `negligible` of them, all together, are left out.

    Attributes
    ----------
    Z : (N, ...), the inputs as the branch sees them.
    modes : (M, r), `POD` of the outputs, orthonormal.
    coordinates : (r, N), the outputs in these modes.
    """

    def __init__(self, training: Training, way: dict[str, bool], negligible: float = 0.0):
        inputs = training.inputs.prepared(training.X, logarithms=way["log_inputs"], scale=way["scale_inputs"])
        self.Z, self.y = inputs.seen(training.X), training.y
        self.outputs = training.outputs.prepared(self.y, logarithms=way["log_outputs"], scale=True)
        z = self.outputs.target(self.y)
        modes = fit_map(POD(), self.outputs.seen(), z.T).modes_
        if modes.shape[1] < min(2, len(modes)):  # a solver takes outputs of length one for numbers
            modes = np.hstack([modes, np.zeros_like(modes)])
        coordinates = product(modes.T, z.T)
        energy = np.sum(coordinates**2, axis=1)
        tail = np.sqrt(np.cumsum(energy[::-1])[::-1])
        kept = max(2, int(np.count_nonzero(tail > negligible * tail[0])))
        self.modes, self.coordinates = modes[:, :kept], coordinates[:kept]
        self.sizes = None if self.outputs.logs is None else log_sizes(self.y)
        self.groups = None if training.groups is None else training.groups.numbers

    @cached_property
    def spread(self) -> float:
        """The root-mean-square deviation of the inputs from their mean, the unit of the scales."""
        return float(np.sqrt(np.mean((self.Z - self.Z.mean(axis=0)) ** 2))) or 1.0

    @cached_property
    def products(self) -> Products:
        """Of all inputs with each other: every kernel at every scale follows from them."""
        flat = self.Z.reshape(len(self.Z), -1)
        return Products.of(flat, flat)

    @cached_property
    def linear(self) -> np.ndarray:
        """The features of a linear block."""
        return fit_features(Linear(), self.Z)

    def features(self, candidate: Candidate, seed: int) -> np.ndarray:
        """The features B (p1, N) of a candidate."""
        if candidate.family not in KERNELS:
            return fit_features(candidate.branch(self.Z, self.spread, seed), self.Z, self.y).T
        K = kernel_matrix(candidate.family, candidate.scale / self.spread, self.products)
        features, _ = kernel_features(K)
        return np.hstack([self.linear, features]).T if candidate.linear else features.T

    def solve(self, B: np.ndarray, alpha: float | str = "loo") -> tuple[Solution, np.ndarray]:
        """The solution for features B (p1, N), and the leave-one-out error of each function (N,)."""
        known = {"sizes": self.sizes, "groups": self.groups}
        solution = Ridge(alpha).solve(np.eye(len(self.coordinates)), B, self.coordinates, **known)
        if self.outputs.logs is None:
            return solution, np.asarray(solution.errors)
        return solution, self.outputs.errors(product(self.modes, solution.left_out()).T, self.y)

    def overall(self, errors: np.ndarray) -> float:
        """One number for the errors of all functions."""
        return float(overall(errors, self.y.shape[1]))

    def best_rank(self, B: np.ndarray, alpha: float) -> int | None:
        """How many modes to keep: those beyond are predicted worse than by zero. None: all there are."""
        left_out = self.solve(B, alpha)[0].left_out()
        missed = np.cumsum((self.coordinates - left_out) ** 2, axis=0)
        energy = self.coordinates**2
        tail = np.cumsum(energy[::-1], axis=0)[::-1]  # a sum, not a difference: no digits are lost
        dropped = np.vstack([tail[1:], np.zeros_like(tail[:1])])
        norms = np.sqrt(energy.sum(axis=0))
        sizes = reference_norms(norms) if self.sizes is None else self.sizes
        errors = np.mean(np.sqrt(missed + dropped) / sizes, axis=1)
        best = int(np.argmin(errors)) + 1
        return None if best == len(errors) else best


_FEW = 300  # functions on which everything is tried
_MANY = 2000  # functions beyond which a trial takes long
_KEPT = 5  # kinds of candidates that go on to the next round
_KEPT_OF_MANY = 2  # and to a round on many functions
_ROUNDING = 1e-12  # an error below which nothing is left to gain
_HOPE = 3.0  # times the least error, above which a candidate does not go on
_WAYS = 2  # ways to look at the data that go on
_FINE = 1e-3  # an error below which random networks always go on: they can reach smaller errors
_NEGLIGIBLE = 1e-4  # part of the least error that the outputs' last modes may hold
_GAIN = 0.99  # of the error; what gains less is not worth a trial on many functions
_REFINED = 4  # scales that are tried around the best one in a round


@dataclass(frozen=True)
class Trial:
    """A candidate, how it looked at the data, on how many functions, and its errors."""

    candidate: Candidate
    way: int
    functions: int
    error: float
    alpha: float
    seconds: float
    errors: np.ndarray = field(repr=False, compare=False)  # (functions,), of each function

    @property
    def kind(self) -> tuple[Any, ...]:
        """Way and candidate without the scale: trials of the same kind differ only in scale."""
        return self.way, self.candidate.at(1.0)


class Search:
    """The search for the candidate with the least leave-one-out error.

    Parameters
    ----------
    training : the functions, without gaps.
    seed : of the random branches and of the order in which functions come in.
    time_budget : seconds after which no new candidate is begun; None: no limit.
    n_jobs : candidates that are tried at the same time, in threads.
    progress : called as ``progress(what, done, total)``, or None.
    log_inputs, log_outputs : whether logarithms are taken; None: they are tried.
    """

    def __init__(
        self,
        training: Training,
        *,
        seed: int,
        time_budget: float | None,
        n_jobs: int,
        progress: Callable[[str, float, float], None] | None,
        log_inputs: bool | None = None,
        log_outputs: bool | None = None,
    ):
        self.training, self.X, self.y = training, training.X, training.y
        self.seed, self.n_jobs, self.progress = seed, n_jobs, progress
        self.deadline = np.inf if time_budget is None else perf_counter() + time_budget
        self.order = np.random.default_rng(seed).permutation(len(self.X))
        self.ways = transforms(training, log_inputs, log_outputs)
        self.trials: list[Trial] = []
        self._begun = False
        self._views: dict[tuple[int, int], View] = {}

    def run(self) -> Trial:
        """Try everything; the best trial on all functions (of those that there was time for)."""
        rounds = _rounds(len(self.X))
        few = rounds[0]
        self._tell("looking at the data", 0.0)
        self._try([(way, probe) for way in range(len(self.ways)) for probe in probes()], few)
        first, *others = [trial.way for trial in self._best(few, lambda trial: trial.way)[:_WAYS]]
        self._tell(f"trying branches on {few} functions", 0.1)
        self._try([(first, branch) for branch in branches(self.X.shape[1:])], few)
        kept = self._best(few, lambda trial: trial.kind)[:_KEPT]
        self._try([(way, trial.candidate) for way in others for trial in kept], few)
        for trial in self._hopeful(few, _KEPT):
            self._refine(trial)
        for i, functions in enumerate(rounds[1:], start=1):
            kept = self._hopeful(rounds[i - 1], _KEPT if functions <= _MANY else _KEPT_OF_MANY)
            self._tell(f"trying the best {len(kept)} on {functions} functions", 0.2 + 0.6 * i / len(rounds))
            self._forget(rounds[i - 1])
            self._begun = False  # the best so far is tried on more functions, even if time is up
            self._try([(trial.way, trial.candidate) for trial in kept], functions)
            self._refine(self._best(functions)[0])
        best = self._best(self.trials[-1].functions)[0]
        if len(rounds) == 1:  # it is not known yet whether more functions help
            self._try([(best.way, best.candidate)], (len(self.X) + 1) // 2)
        return best

    def view(self, way: int, functions: int) -> View:
        """The data, or some of them, in one way to look at them."""
        if (way, functions) not in self._views:
            rows = self.order[:functions]
            least = min((trial.error for trial in self.trials), default=0.0)
            self._views[way, functions] = View(self.training.of(rows), self.ways[way], _NEGLIGIBLE * least)
        return self._views[way, functions]

    def leaderboard(self) -> list[dict[str, Any]]:
        """Every trial as a dictionary, those on most functions first, then by error."""
        ranked = sorted(self.trials, key=lambda trial: (-trial.functions, trial.error))
        return [
            {
                "branch": str(trial.candidate),
                **self.ways[trial.way],
                "functions": trial.functions,
                "error": trial.error,
                "loo_error": trial.error,  # its name in 0.1
                "alpha": trial.alpha,
                "seconds": trial.seconds,
            }
            for trial in ranked
        ]

    def with_half_the_sensors(self, best: Trial) -> tuple[float, float] | None:
        """The best candidate's errors, on few functions, with every sensor and with every second one.

        None where that would leave fewer than four sensors, or patches of another kind.
        """
        if self.training.inputs.names is not None:  # several functions side by side
            return None
        axes = min(2, self.X.ndim - 1)  # of a function of one or two variables
        halves: Any = (..., *[slice(None, None, 2)] * axes)
        rows = self.order[: _rounds(len(self.X))[0]]
        if best.candidate.family.startswith("patch") or self.X[0][halves].size < 4:
            return None
        errors = []
        some = self.training.of(rows)
        for X in (some.X, some.X[halves]):
            inputs = InputForm(X.shape[1:], X.shape[1:])
            view = View(replace(some, X=X, inputs=inputs), self.ways[best.way])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NumericsWarning)
                errors.append(view.overall(view.solve(view.features(best.candidate, self.seed))[1]))
        return errors[0], errors[1]

    def _refine(self, best: Trial) -> None:
        """Move the scale of a trial to where the error is least, for this number of functions."""
        for _ in range(_REFINED if best.candidate.has_scale else 0):
            alike = [t for t in self.trials if t.functions == best.functions and t.kind == best.kind]
            scale = next_scale([t.candidate.scale for t in alike], [t.error for t in alike])
            before = len(self.trials)
            if scale is not None:
                self._try([(best.way, best.candidate.at(scale))], best.functions)
            gained = [t.error < _GAIN * best.error for t in self.trials[before:]]
            if not gained or (best.functions > _MANY and not any(gained)):
                return
            best = min(best, *self.trials[before:], key=lambda trial: trial.error)

    def _hopeful(self, functions: int, count: int) -> list[Trial]:
        """The best trial of each kind, at most `count` of them, without those that are far behind the best.

        The features of a kernel come from its Gram matrix, with half of the digits that those of a network
        have; for the smoothest operators that decides, but only once there are enough functions.
        """
        kinds = self._best(functions, lambda trial: trial.kind[1])  # each in its best way
        least = kinds[0].error
        hopeful = [trial for trial in kinds[:count] if trial.error <= _HOPE * least]
        networks = [trial for trial in kinds if trial.candidate.width]
        finer = networks[:1] if _ROUNDING < least < _FINE else []
        return list(dict.fromkeys([*hopeful, *finer]))

    def _try(self, asked: Iterable[tuple[int, Candidate]], functions: int) -> None:
        """Try what was not tried yet."""
        known = {(trial.way, trial.candidate) for trial in self.trials if trial.functions == functions}
        new = [pair for pair in dict.fromkeys(asked) if pair not in known]
        for way in {way for way, _ in new}:
            self.view(way, functions)  # made before threads ask for it
        jobs = (delayed(self._evaluate)(way, candidate, functions) for way, candidate in new)
        if self.n_jobs == 1:
            found = [job[0](*job[1], **job[2]) for job in jobs]
        else:
            with threadpool_limits(1):
                found = Parallel(self.n_jobs, prefer="threads")(jobs)
        self.trials += [trial for trial in found if trial is not None]

    def _evaluate(self, way: int, candidate: Candidate, functions: int) -> Trial | None:
        started = perf_counter()
        if started > self.deadline and self._begun:
            return None
        self._begun = True
        view = self.view(way, functions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericsWarning)
            solution, errors = view.solve(view.features(candidate, self.seed))
        seconds = perf_counter() - started
        return Trial(candidate, way, functions, view.overall(errors), solution.alpha, seconds, errors)

    def _best(self, functions: int, kind: Callable[[Trial], Any] | None = None) -> list[Trial]:
        """The trials on this number of functions by their error; of each kind, only the best."""
        ranked = sorted(
            (trial for trial in self.trials if trial.functions == functions), key=lambda t: t.error
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


def _rounds(n: int) -> list[int]:
    """Numbers of functions in the rounds, each about four times as many, up to all n."""
    rounds = [n]
    while rounds[0] > 1.5 * _FEW:
        rounds.insert(0, max(_FEW, rounds[0] // 4))
    return rounds


_COMPARED_ON = 400  # functions on which branches are compared
_DEGREE = 8  # of the trunk with which they are compared, at most


def choose_unaligned(
    training: Training, *, seed: int, deadline: float, progress: Any
) -> tuple[ELMDeepONet, list[dict[str, Any]]]:
    """The best model, fitted to everything, and what was tried."""
    n = len(training.X)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:_COMPARED_ON])
    few, trunk = training.of(rows), None
    if training.outputs.scattered:
        possible = degrees(training.outputs.points.shape[1], len(training.y) / n)
        trunk = Legendre(max(degree for degree in possible if degree <= max(_DEGREE, possible[0])))
    candidates = [
        Candidate("none", linear=True),
        *(Candidate(family, scale, True) for family in ("rbf", "matern52") for scale in (0.1, 0.3, 1.0)),
        Candidate("tanh", 0.5, True, 1000),
    ]
    Z = few.inputs.prepared(few.X, logarithms=False, scale=True).seen(few.X)
    spread = float(np.std(Z)) or 1.0

    def fitted(candidate: Candidate, trunk: Any, training: Training) -> tuple[ELMDeepONet, dict[str, Any]]:
        begun = perf_counter()
        branch = candidate.branch(Z, spread, seed)
        model = ELMDeepONet(branch, trunk, missing="ignore", random_state=seed)._fit_training(training)
        return model, {
            "branch": str(candidate),
            "functions": len(training.X),
            "error": model.solution_.expected_error,
            "alpha": model.solution_.alpha,
            "seconds": perf_counter() - begun,
        }

    tried: list[tuple[Candidate, dict[str, Any]]] = []
    for i, candidate in enumerate(candidates):
        if tried and perf_counter() > deadline:
            break
        if progress is not None:
            progress(f"trying {candidate} on {len(rows)} functions", 0.1 + 0.6 * i / len(candidates), 1.0)
        tried.append((candidate, fitted(candidate, trunk, few)[1]))
    tried.sort(key=lambda trial: trial[1]["error"])
    best = tried[0][0]
    if progress is not None:
        progress(f"fitting {best} to {n} functions", 0.7, 1.0)
    model, last = fitted(best, None, training)
    return model, [last, *(told for _, told in tried)]

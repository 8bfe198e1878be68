"""Which branch finishes a fit to many functions: compared on a sample of them, by held-out functions.

Kernels are compared as features of landmarks, beside random networks, with more features and functions from
level to level. What is best with few features says little about many: of a smooth kernel with a small scale
only few features are above rounding, however many landmarks it has, so that the best scale grows with their
number. So the last level has the features of the finish, as many as memory and time allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.auto.candidates import Candidate
from elmonet.auto.search import Search, Trial
from elmonet.auto.summary import FinishTrial
from elmonet.data.lazy import Blocks
from elmonet.features import POD
from elmonet.features.base import features, fit_map, learns_from
from elmonet.features.kernels import KERNELS
from elmonet.fitting.block_tasks import BlockFeatures, SumTask
from elmonet.fitting.executors import OnThreads
from elmonet.fitting.prepare import branch_and_trunk
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.linalg import product
from elmonet.memory import available
from elmonet.solve.problem import Span
from elmonet.solve.streamed import ValidatedRidge, validated_ridge
from elmonet.solve.sums import GramSums

BLOCK_ROWS = 2048  # functions in a block
_WIDTHS = (500, 1000, 2000)  # features of the levels before the last
_WIDEST = 4000  # and of the last, which are those of the finish
_STEPS = (1.0, 2.0, 1.4, 1.4)  # factors between scales in each of them; 1: a single scale
_MOST_STEPS = 4  # from one scale to the next, as long as the error falls
_KINDS = (4, 3, 2, 2)  # kinds of branches in each of them
_PER_FEATURE, _FEWEST = 8, 4  # functions for each feature in a level, and at least, but for the last
_ENOUGH = 0.9  # part of a kernel's features that must be above rounding to judge its scale
_CLOSE = 1.3  # drop kinds whose error exceeds this times the best
_WIDER = 0.95  # error that more features must reach, relative to before, to be worth it
_LINEAR_UP_TO = 1000  # values of a function, above which there is no linear block
_WEIGHT_BYTES = 1 << 29  # of random weights or landmarks
_NETWORKS = ("constant", "cos", "cos-t", "tanh", "relu-net", "mlp", "cnn")


@dataclass(frozen=True)
class Sample:
    """Some of many functions, in memory: features of candidates, and errors of those that are held out.

    Attributes
    ----------
    X, y : the functions, as the source gives them.
    held, rest : indices of those held out, and of the others.
    inputs, outputs, span, g, as_rows : as of `BlockFeatures`.
    spread : of the inputs' values, which gives the scale of random biases.
    seed : of random branches and landmarks.
    workers : threads that read blocks.
    """

    X: np.ndarray
    y: np.ndarray
    held: np.ndarray
    rest: np.ndarray
    inputs: InputForm
    outputs: OutputForm
    span: Span
    g: float
    as_rows: bool
    spread: float
    seed: int
    workers: int

    def block_features(self, candidate: Candidate, width: int) -> BlockFeatures:
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

    def sums(self, block_features: BlockFeatures, functions: int) -> GramSums:
        """Return the sums over the first functions that are not held out."""
        own = self.rest[:functions]
        source = OnThreads(Blocks(self.X[own], self.y[own], BLOCK_ROWS), self.workers, None)
        with threadpool_limits(1):
            return source.reduce("", SumTask(block_features, GramSums))

    def held_out(self, block_features: BlockFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Return the held-out functions as rows."""
        return block_features.rows(self.X[self.held], self.y[self.held])

    def validated(
        self, sums: GramSums, block_features: BlockFeatures, begin: float | None, *, coarse: bool = False
    ) -> ValidatedRidge:
        """Choose alpha by the held-out functions."""
        X, y = self.held_out(block_features)
        B = np.ascontiguousarray(block_features.features(X))
        return validated_ridge(sums, lambda C: float(np.mean(self.errors(C, B, y))), begin, coarse=coarse)

    def errors(self, C: np.ndarray, B: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the relative errors of coefficients C (q, p1) for features B (p1, n) of rows y."""
        return self.outputs.errors(product(product(C, B).T / self.g, self.span.Q.T), y)


class FinishComparison:
    """Trials on growing parts of a sample, with growing numbers of features.

    Parameters
    ----------
    sample : of the functions.
    functions : the number of all functions.
    search, best : what was tried on few functions, and the best trial: its transform is taken.
    left : returns the seconds that are left for comparisons, and for the finish.
    tell : called as ``tell(what, part)``.

    Attributes
    ----------
    trials : all that were made.
    """

    def __init__(
        self,
        sample: Sample,
        functions: int,
        search: Search,
        best: Trial,
        *,
        left: Callable[[], tuple[float, float]],
        tell: Callable[[str, float], None],
    ):
        self.sample, self.functions, self.search, self.best = sample, functions, search, best
        self.left, self.tell = left, tell
        self.values = prod(sample.inputs.shape)
        self.trials: list[FinishTrial] = []
        self._kept: tuple[FinishTrial, BlockFeatures, GramSums] | None = None

    def run(self) -> FinishTrial:
        """Return the best trial, with the width that the finish should have."""
        kinds, best, rest = self._kinds(), None, len(self.sample.rest)
        for level, (step, count) in enumerate(zip(_STEPS, (*_KINDS[1:], 0), strict=True)):
            last = level == len(_WIDTHS)
            width = self._widest(False) if last else self._allowed(min(_WIDTHS[level], rest // _FEWEST))
            if best is not None and width < (1.2 if last else 1.5) * best.width:
                continue
            functions = min(rest, _PER_FEATURE * width)
            found: list[FinishTrial] = []
            for i, candidate in enumerate(kinds):
                if (best or found) and not self._time_for(width, functions):
                    break
                part = len(self.trials) / (len(self.trials) + 5) * (i + 1) / len(kinds)
                self.tell(f"comparing {candidate} on {functions} functions", part)
                found.append(self._around(self._try(candidate, width, functions), step, last))
            if not found:
                break
            if not last:
                found += self._with_or_without_linear(found)
            found.sort(key=lambda trial: trial.error)
            narrow, best = best, found[0]
            if narrow is not None and best.error > _WIDER * narrow.error:
                return min(narrow, best, key=lambda trial: trial.error)
            close = [trial.candidate for trial in found if trial.error <= _CLOSE * best.error]
            alike: dict[tuple[str, bool], Candidate] = {}
            for candidate in close:
                if candidate.has_scale:
                    alike.setdefault((candidate.family, candidate.linear), candidate)
            kinds = list(alike.values())[:count]
            if not kinds:
                break
        assert best is not None
        return replace(best, width=self._widest()) if best.candidate.has_scale else best

    def sums_of(self, best: FinishTrial) -> tuple[BlockFeatures, GramSums] | None:
        """Return features and sums of the best trial, if the sample is all functions; else None."""
        if (
            self._kept is None
            or self._kept[0].candidate != best.candidate
            or self._kept[0].width != best.width
        ):
            return None
        return self._kept[1:]

    def seconds(self, width: int, functions: int) -> float:
        """Return the time that features and sums of so many functions take, as they did in the trials."""
        slowest = max(self.trials, key=lambda trial: trial.functions * trial.features**2)
        return slowest.seconds * functions * width**2 / (slowest.functions * slowest.features**2)

    def _time_for(self, width: int, functions: int) -> bool:
        """Return whether there is time for a trial."""
        return self.left()[0] > (self.seconds(width, functions) if self.trials else 0.0)

    def _widest(self, compared: bool = True) -> int:
        """Return the width of the finish: what memory allows, and time, but no less than was tried.

        Fewer functions are better than fewer features. Until all is compared, that takes its time, too.
        """
        widest, (comparing, left) = self._allowed(_WIDEST), self.left()
        left -= 0.0 if compared or left == np.inf else max(comparing, 0.0)
        if left == np.inf or not self.trials:
            return widest
        possible = np.sqrt(left / (2 * self.seconds(1, self.functions)))  # a second pass leaves them out
        tried = max(trial.width for trial in self.trials)
        return int(min(widest, max(possible, tried)))

    def _allowed(self, width: int) -> int:
        """Return a width, at most what the number of functions and memory allow."""
        room = np.sqrt(available() / 2 / 8 / (self.sample.workers + 4))
        return max(1, int(min(width, room, _WEIGHT_BYTES // (8 * self.values), self.functions // 2)))

    def _kinds(self) -> list[Candidate]:
        """Return kernels and networks to compare: the best of each family of the search."""
        families: dict[str, Candidate] = {}
        for trial in sorted(self.search.trials, key=lambda trial: (-trial.functions, trial.error)):
            candidate, same = trial.candidate, trial.transform == self.best.transform
            usable = candidate.family in (*KERNELS, "none", *_NETWORKS)
            if same and (usable or candidate.family.startswith("smooth")):
                few = self.values <= _LINEAR_UP_TO or not candidate.has_scale
                families.setdefault(candidate.family, replace(candidate, linear=candidate.linear and few))
        kinds = list(families.values())
        networks = [candidate for candidate in kinds if candidate.width]
        chosen = dict.fromkeys([*kinds[: _KINDS[0] - 1], *networks[:1]])
        if not any(candidate.has_scale for candidate in chosen):
            chosen |= dict.fromkeys([c for c in kinds if c.has_scale][:1])
        return list(chosen)

    def _try(self, candidate: Candidate, width: int, functions: int) -> FinishTrial:
        """Sum a branch over some functions of the sample, and choose alpha by the held-out ones."""
        started = perf_counter()
        block_features = self.sample.block_features(candidate, width)
        sums = self.sample.sums(block_features, functions)
        alike = [t.ridge.relative for t in self.trials if t.candidate.family == candidate.family]
        with threadpool_limits(self.sample.workers):
            begin = alike[-1] if alike else None
            ridge = self.sample.validated(sums, block_features, begin, coarse=True)
        seconds = perf_counter() - started
        found = block_features.width
        trial = FinishTrial(candidate, width, found, functions, ridge.error, ridge, seconds)
        self.trials.append(trial)
        every = functions == len(self.sample.rest) == self.functions - len(self.sample.held)
        if every and (self._kept is None or trial.error < self._kept[0].error):
            self._kept = trial, block_features, sums
        return trial

    def _around(self, best: FinishTrial, step: float, last: bool) -> FinishTrial:
        """Try larger scales as long as the error falls, else smaller ones; return the best trial.

        With more functions and features the best scale grows, so that the last level looks no further down.
        While features are missing, the error is not yet that of the width: a single one that is larger does
        not end the path.
        """
        if step == 1 or not best.candidate.has_scale:
            return best
        features = best.width + best.candidate.linear * self.values
        for factor in (step,) if last else (step, 1 / step):
            begin = at = best
            for _ in range(_MOST_STEPS):
                if not self._time_for(best.width, best.functions):
                    return best
                scale = at.candidate.scale * factor
                at = self._try(at.candidate.at(scale), best.width, best.functions)
                if at.error < best.error:
                    best = at
                elif factor < 1 or at.features >= _ENOUGH * features:
                    break
            if best is not begin:
                break
        return best

    def _with_or_without_linear(self, found: list[FinishTrial]) -> list[FinishTrial]:
        """Try the best kernel without its linear block, or with one, which few functions do not decide.

        A smooth kernel of a small scale has few features above rounding; beside a linear block it has more.
        So both go on while they are close: which is better at few features says little about many.
        """
        best = min(found, key=lambda trial: trial.error)
        candidate = best.candidate
        other = replace(candidate, linear=not candidate.linear)
        tried = any((t.candidate.family, t.candidate.linear) == (other.family, other.linear) for t in found)
        kernel = candidate.has_scale and not candidate.width and self.values <= _LINEAR_UP_TO
        if tried or not kernel or not self._time_for(best.width, best.functions):
            return []
        return [self._try(other, best.width, best.functions)]

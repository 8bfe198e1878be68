"""The range that training records cover: which runs leave it, how often, and how far they err there.

New records are exchangeable with the training records: of n + 1, each is the one that leaves the range of the
others with the same probability. So the records left out tell how often that happens, and a fit to the
smaller half of the records, run over the larger half, how far runs err where it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from elmonet.marching.free_run import Runner
from elmonet.marching.step import Series, Step
from elmonet.marching.sums import Sums
from elmonet.summary import Fact, percent, plural

MARGIN = 1.2  # novelty above which a run has left the training range
_USUAL = 0.9  # quantile, over training records, of how far one goes beyond the others
_MOST_USUAL = 2.0  # largest factor by which a training record goes beyond the others that is called usual
_MIN_HALF = 2  # records of a half, below which it teaches nothing
_COVERAGE = 0.95  # of the bound of how many new records leave the range


class Ranges(NamedTuple):
    """The range of the coordinates of training steps.

    ends : (2, m), the smallest and the largest of each coordinate.
    usual : how far beyond the range of the others a training record goes, as a factor of at least 1.
    beyond : (n,), the same of each record.
    """

    ends: np.ndarray
    usual: float
    beyond: np.ndarray

    @classmethod
    def of(cls, step: Step, series: Sequence[Series]) -> Ranges:
        """Return the range of all steps of some series, each of which is one record."""
        ends = np.array([(Z.min(axis=0), Z.max(axis=0)) for Z in step.coordinates(series)])
        whole = np.stack([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])
        if len(ends) < 2:
            return cls(whole, 1.0, np.zeros(len(ends)))
        low, high = np.sort(ends[:, 0], axis=0), np.sort(ends[:, 1], axis=0)
        beyond = []
        for own in ends:  # the range of the others: the next least, where this one is the least
            least = np.where(own[0] <= low[0], low[1], low[0])
            others = np.stack([least, np.where(own[1] >= high[-1], high[-2], high[-1])])
            beyond.append(float(outside_range(own, others).max()))
        usual = float(np.clip(np.quantile(beyond, _USUAL), 1.0, _MOST_USUAL))
        return cls(whole, usual, np.array(beyond))


def outside_range(Z: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the largest distance (n,) of coordinates (n, m) from the middle of their ranges, by halves."""
    middle, half = ends.mean(axis=0), np.maximum((ends[1] - ends[0]) / 2, 1e-9)
    return np.asarray(np.abs((Z - middle) / half).max(axis=1))


class Larger(NamedTuple):
    """Free runs of larger records, by a fit to the smaller half, whose range they leave.

    errors : (k,), relative to the size of each record.
    reach : how far they go beyond the range of the smaller half, as a factor.
    """

    errors: np.ndarray
    reach: float


def larger_half(series: Sequence[Series]) -> np.ndarray | None:
    """Return which series (n,) are the larger half, by their largest values; None of fewer than four."""
    if len(series) < 2 * _MIN_HALF:
        return None
    middle = np.mean([one.s.mean(axis=0) for one in series], axis=0)
    sizes = np.array([np.abs(one.s - middle).max(axis=0) for one in series])
    order = np.argsort((sizes / np.maximum(sizes.max(axis=0), np.finfo(float).tiny)).max(axis=1))
    out = np.zeros(len(series), bool)
    out[order[-(len(series) // 2) :]] = True
    return out


def run_larger(
    runner: Runner, smaller: Sums, series: Sequence[Series], larger: np.ndarray, alpha: float, steps: int
) -> Larger | None:
    """Run the larger half of some series by a fit to the others, whose sums are `smaller`.

    Those that stay in the range of the smaller half are left out; None if all do.
    """
    C, settings = smaller.solve(alpha), runner.step.settings
    if C is None:
        return None
    covered = _ends(runner.step, [one for one, out in zip(series, larger, strict=True) if not out])
    own, reach = [], []
    for one, out in zip(series, larger, strict=True):
        if out:
            one = one._replace(
                u=one.u[: steps + settings.past_inputs], s=one.s[: steps + settings.past_outputs]
            )
            (Z,) = runner.step.coordinates([one])
            own.append(one)
            reach.append(float(outside_range(Z, covered).max()))
    own = [one for one, beyond in zip(own, reach, strict=True) if beyond > MARGIN]
    if not own:
        return None
    errors = []
    for run, one in zip(runner.run(own, C), own, strict=True):
        true = one.s[settings.past_outputs :]
        errors.append(float(np.sqrt(np.mean((run - true) ** 2) / (np.mean(true**2) or 1.0))))
    return Larger(np.array(errors), max(reach))


def _ends(step: Step, series: Sequence[Series]) -> np.ndarray:
    """Return the smallest and the largest (2, m) of each coordinate."""
    ends = np.array([(Z.min(axis=0), Z.max(axis=0)) for Z in step.coordinates(series)])
    return np.stack([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])


class Leaving(NamedTuple):
    """How often new records leave the training range, and how far they err then.

    left, n : number of records that left the range of the others when they were left out, of how many.
    errors : (left,), of these.
    larger : runs of larger records by a fit to the smaller half; None if none leaves its range.
    """

    left: int
    n: int
    errors: np.ndarray
    larger: Larger | None

    @property
    def most(self) -> float:
        """The largest share of new records that leave the range, with a confidence of 95 %."""
        if self.left >= self.n:
            return 1.0
        return float(betaincinv(self.left + 1, self.n - self.left, _COVERAGE))

    @property
    def worst(self) -> float:
        """The largest error seen beyond a range."""
        larger = () if self.larger is None else self.larger.errors
        return float(np.max([*self.errors, *larger], initial=0.0))

    def widened(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        """Return the interval of the expected error, with what records that leave the range may add."""
        if interval is None or not np.isfinite(interval[1]):
            return interval
        share, (low, high) = self.most, interval
        return low, max(high, (1 - share) * high + share * self.worst)

    def facts(self) -> list[Fact]:
        """Return what is known of runs beyond the training range, in words."""
        said = f"of {self.n} records left out, {self.left} left the range of the others"
        said += f" (error {percent(float(self.errors.mean()), 2)})" if self.left else ""
        said += f"; up to {percent(self.most, 2)} of new records may leave it"
        facts = [Fact("Beyond training", said)]
        if self.larger is not None:
            mean, most = float(self.larger.errors.mean()), float(self.larger.errors.max())
            size = plural(len(self.larger.errors), "larger record")
            facts.append(
                Fact(
                    "Larger records",
                    f"a fit to the smaller half has an error of {percent(mean, 2)} (at most "
                    f"{percent(most, 2)}) on {size}, up to {self.larger.reach:.2g} times its range",
                )
            )
        return facts

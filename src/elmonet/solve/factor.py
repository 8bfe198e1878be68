"""The contract of a factorisation of B: coefficients, leave-one-out residuals, leverages, and sweeps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

PRIMAL_ROUNDING = 0.25 * float(np.finfo(np.float64).eps)  # rounding of 1 - h from B B', times s_max^2 / alpha
MAX_DOUBT = 1e-3  # largest part of an error that rounding may hide in a trusted error
_NEGLIGIBLE_ERROR = (
    1e-9  # relative to the functions: trust an error if rounding hides less than this of them,
)
_MAX_DOUBT_IF_NEGLIGIBLE = 0.5  # and no more than this part of the error
_BLOCK = 1 << 21  # entries of a temporary block (16 MiB in float64)


@dataclass
class Sweep:
    """For each alpha: squared residuals, GCV scores, their doubt by rounding, leave-one-out residuals."""

    squared: np.ndarray  # (alphas,): ||E||^2
    gcv: np.ndarray  # (alphas,): ||E||^2 / mean(1 - h)^2
    doubt: np.ndarray  # (alphas,): the part of a leave-one-out residual that may be rounding
    left_out: Any = None  # (alphas, N): ||e_i / (1 - h_i)||; None from sums, which hold no functions

    def at(self, some: np.ndarray) -> Sweep:
        """Return the same for some of the alphas (a mask or indices)."""
        found: Any = [None if values is None else values[some] for values in vars(self).values()]
        return Sweep(*found)

    def joined(self, other: Sweep) -> Sweep:
        """Return the scores at the alphas of both."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        found: Any = [None if one is None else np.concatenate([one, two]) for one, two in pairs]
        return Sweep(*found)


class Factor:
    """A factorisation of B (p1, N), made once and reused for every G and every alpha.

    Attributes
    ----------
    method : its name in `Solution`.
    rank, cutoff : the rank of B, if known, and the part of s_max below which singular values are lost.
    largest, smallest : ``s_max^2`` and ``s_min^2``.
    alpha : the one alpha that it serves; None: any.
    """

    method: str
    rank: int | None = None
    cutoff: float = 0.0
    largest: float
    smallest: float = 0.0
    alpha: float | None = None
    _last: Any = (None, None)

    def condition(self, alpha: float) -> float:
        """Return ``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        return condition(self.largest, self.smallest, alpha)

    def coefficients(self, G: Any, alpha: Any) -> np.ndarray:
        """Return C (r, p1) for outputs G (r, N); one alpha, or one for each row (r, 1)."""
        raise NotImplementedError

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return the leave-one-out residuals ``e_i / (1 - h_i)``: (r, N)."""
        raise NotImplementedError("sums over functions cannot leave one out; see StreamedLeaveOneOut")

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """Return ``1 / (1 - h_i)``, or for groups the diagonal of ``(I - H_gg)^-1``: (N,).

        If outputs are ``C b`` with standard normal C, and noise of variance alpha, then this times alpha is
        the variance of function i, with its noise, given the others.
        """
        raise NotImplementedError("sums over functions cannot leave one out; see StreamedLeaveOneOut")

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave out every function at every alpha; `penalty`, (1, 1) or (r, 1), multiplies alpha per row."""
        raise NotImplementedError

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``S R`` (k, p1) for S (k, p1), with an R such that ``R'R = (B B' + alpha)^-1``."""
        raise NotImplementedError

    def projected(self, G: np.ndarray) -> np.ndarray:
        """Return G in the basis of this factorisation; the result for the last G is cached."""
        if self._last[0] is not G:
            self._last = G, self._project(G)
        return self._last[1]

    def _project(self, G: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def condition(largest: float, smallest: float, alpha: float) -> float:
    """Return ``sqrt((largest + alpha) / (smallest + alpha))``; 1 if all are zero."""
    return float(np.sqrt((largest + alpha) / (smallest + alpha))) if largest else 1.0


def gram_rounding(shape: tuple[int, ...]) -> float:
    """Return the part of ``s_max^2`` below which alpha is lost in the rounding of the Gram matrix of B.

    Its entries are sums of n products (n the larger side of B), with errors of up to ``n eps s_max^2``. An
    alpha above that moves the answer more than they do. Small n get a margin, which costs them nothing.
    """
    return max(*shape, 4096) * float(np.finfo(np.float64).eps)


def interpolation_threshold(dtype: Any) -> float:
    """Return ``64 sqrt(eps)``: a function with ``1 - h_i`` below this is interpolated, or nearly so."""
    return 64 * float(np.sqrt(np.finfo(dtype).eps))


def trusted(doubt: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return whether a relative error can be trusted, if the part `doubt` of it may be rounding."""
    return (doubt <= MAX_DOUBT) | ((doubt <= _MAX_DOUBT_IF_NEGLIGIBLE) & (doubt * error <= _NEGLIGIBLE_ERROR))


class LeftOut(NamedTuple):
    """Some functions left out of a fit at one alpha, one at a time or together."""

    E: np.ndarray  # (r, n), residuals of the fit to all functions
    residuals: np.ndarray  # (r, n), those of the functions left out: e_i / (1 - h_i), or E_g (I - H_gg)^-1
    variance: np.ndarray  # (1 or r, n), 1 / (1 - h_i), or the diagonal of (I - H_gg)^-1
    freedom: float  # the sum of 1 - h_i, the trace of I - H_gg
    least: float  # the least 1 - h_i, or about the least eigenvalue of I - H_gg

    @classmethod
    def one_at_a_time(cls, E: np.ndarray, one_minus_h: np.ndarray) -> LeftOut:
        """Leave each function out by itself, given ``1 - h_i``: (1 or r, n)."""
        freedom, least = float(one_minus_h.mean(axis=0).sum()), float(one_minus_h.min())
        return cls(E, E / one_minus_h, 1 / one_minus_h, freedom, least)

    @classmethod
    def together(cls, E: np.ndarray, one_minus_H: np.ndarray) -> LeftOut:
        """Leave a group out, given ``I - H_gg`` (1 or r, n, n), which has the rounding of 1."""
        values, P = np.linalg.eigh(one_minus_H)
        values = np.maximum(values, np.finfo(values.dtype).eps)
        along = np.matmul(E[:, None, :], P) / values[:, None, :]
        residuals = np.matmul(along, P.transpose(0, 2, 1))[:, 0, :]
        variance = np.einsum("rik,rk->ri", P**2, 1 / values)
        return cls(E, residuals, variance, float(values.mean(axis=0).sum()), float(values.min()))


class LeaveOutFactor(Factor):
    """A `Factor` that computes residuals and ``1 - h`` of any functions at any alpha.

    functions : N.
    groups : (N,), integers; functions of the same group are left out together. None: one at a time.
    """

    functions: int
    groups: np.ndarray | None = None

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """Return ``e_i / (1 - h_i)``, or its block form for groups: (r, N)."""
        found = np.empty_like(G)
        filters = [self._filter(np.reshape(alpha, (-1, 1)))]
        for functions, together in self._blocks(G.shape):
            for left in self._leave_out(G, functions, filters, together):
                found[:, functions] = left.residuals
        return found

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """Return ``1 / (1 - h_i)``, or its block form for groups: (N,); the mean if rows have own alphas."""
        alpha = np.reshape(alpha, (-1, 1))
        nothing = np.zeros((len(alpha) if len(alpha) > 1 else 0, self.functions))  # no outputs are needed
        found, filters = np.empty(self.functions), [self._filter(alpha)]
        for functions, together in self._blocks(nothing.shape):
            for left in self._leave_out(nothing, functions, filters, together):
                found[functions] = np.mean(left.variance, axis=0)
        return found

    def sweep(self, G: np.ndarray, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave out every function, or every group, at every alpha."""
        left_out = np.empty((len(alphas), G.shape[1]), G.dtype)
        squared, freedom, least = np.zeros(len(alphas)), np.zeros(len(alphas)), np.ones(len(alphas))
        filters = [self._filter(a * penalty) for a in alphas]
        for functions, together in self._blocks(G.shape):
            for j, left in enumerate(self._leave_out(G, functions, filters, together)):
                squared[j] += np.einsum("ij,ij->", left.E, left.E)
                freedom[j] += left.freedom
                least[j] = min(least[j], left.least)
                left_out[j, functions] = np.sqrt(np.einsum("ij,ij->j", left.residuals, left.residuals))
        doubt = self._doubt(alphas * float(penalty.min()), least)
        return Sweep(squared, squared / (freedom / G.shape[1]) ** 2, doubt, left_out)

    @abstractmethod
    def _filter(self, alpha: np.ndarray) -> np.ndarray:
        """Return the factors (1 or r, k) by which alpha (1 or r, 1) damps each direction."""

    @abstractmethod
    def _leave_out(
        self, G: np.ndarray, functions: Any, filters: list[np.ndarray], together: bool
    ) -> Iterator[LeftOut]:
        """Leave some functions out, one at a time or together, for each filter."""

    @abstractmethod
    def _doubt(self, alphas: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return the part of a leave-one-out residual that may be rounding, given the least 1 - h."""

    def _blocks(self, shape: tuple[int, ...]) -> Iterator[tuple[Any, bool]]:
        """Yield blocks of functions, and whether each block is left out together."""
        N, step = shape[1], max(64, _BLOCK // max(shape))
        if self.groups is not None:
            yield from by_groups(self.groups, step)
            return
        for start in range(0, N, step):
            yield slice(start, start + step), False


def by_groups(groups: np.ndarray, step: int) -> Iterator[tuple[np.ndarray, bool]]:
    """Yield functions without a group, some at a time, and each group of more than one, and which it is."""
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    single = np.array([own[0] for own in members if len(own) == 1], int)
    for start in range(0, len(single), step):
        yield single[start : start + step], False
    for own in members:
        if len(own) > 1:
            yield own, True

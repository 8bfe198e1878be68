"""What a factorisation of B offers: coefficients, left-out residuals, leverages, and the path of alpha."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PRIMAL_ROUNDING", "Factor", "Sweep", "Swept", "gram_rounding", "interpolated", "trusted"]

PRIMAL_ROUNDING = 0.25 * float(np.finfo(np.float64).eps)  # times s_max^2 / a: of 1 - h, from B B'
_MEASURED = 1e-3  # part of an error that rounding may hide
_NEGLIGIBLE = 1e-9  # or no more than this of the functions,
_HALF = 0.5  # if that is at most this part of the error


@dataclass
class Sweep:
    """For each alpha: squared residuals, GCV scores, how far these can be trusted, and left-out residuals."""

    squared: np.ndarray  # (alphas,): ||E||^2
    gcv: np.ndarray  # (alphas,): ||E||^2 / mean(1 - h)^2
    doubt: np.ndarray  # (alphas,): the part of a left-out residual that may be rounding
    left_out: Any = None  # (alphas, N): ||e_i / (1 - h_i)||, if the functions are at hand

    def at(self, kept: np.ndarray) -> Sweep:
        """The same for some of the alphas (a mask)."""
        some: Any = [None if values is None else values[kept] for values in vars(self).values()]
        return Sweep(*some)


class Factor:
    """A factorisation of B (p1, N), made once and kept, with what all of them share.

    Attributes
    ----------
    method : its name in `Solution`.
    rank, cutoff : of B, if that is known, and the part of s_max below which singular values are lost.
    largest, smallest : ``s_max^2`` and ``s_min^2``.
    """

    method: str
    rank: int | None = None
    cutoff: float = 0.0
    largest: float
    smallest: float = 0.0
    _last: Any = (None, None)

    def condition(self, alpha: float) -> float:
        """``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``."""
        return float(np.sqrt((self.largest + alpha) / (self.smallest + alpha))) if self.largest else 1.0

    def coefficients(self, G: Any, alpha: Any) -> np.ndarray:
        """C (r, p1) for outputs G (r, N); one alpha, or one for each row (r, 1)."""
        raise NotImplementedError

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """By what each function is missed if it is left out, ``e_i / (1 - h_i)``: (r, N)."""
        raise NotImplementedError("sums over functions cannot leave one out; see LeftOut")

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """``1 / (1 - h_i)``, or for groups the diagonal of ``(I - H_gg)^-1``: (N,).

        If outputs are ``C b`` with standard normal C, and noise of the variance alpha, then this times alpha
        is the variance of function i, with its noise, given the others.
        """
        raise NotImplementedError("sums over functions cannot leave one out; see LeftOut")

    def sweep(self, G: Any, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave every function out at every alpha; `penalty`, (1, 1) or (r, 1), is a factor for each row."""
        raise NotImplementedError

    def leverage(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """``b' (B B' + alpha)^-1 b`` of other features b, the columns of a matrix (p1, n): (n,)."""
        raise NotImplementedError

    def root(self, S: np.ndarray, alpha: float) -> np.ndarray:
        """``S R`` (k, p1) for S (k, p1), with an R of which ``R'R = (B B' + alpha)^-1``."""
        raise NotImplementedError

    def projected(self, G: np.ndarray) -> np.ndarray:
        """The outputs as this factorisation sees them; those of the last G are kept."""
        if self._last[0] is not G:
            self._last = G, self._project(G)
        return self._last[1]

    def _project(self, G: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def gram_rounding(shape: tuple[int, ...]) -> float:
    """The part of ``s_max^2`` below which an alpha drowns in the rounding of the Gram matrix of B.

    Its entries are sums of n products (n the larger side of B), with errors of up to ``n eps s_max^2``. An
    alpha above that moves the answer more than they do. Small n get a margin, which costs them nothing.
    """
    return max(*shape, 4096) * float(np.finfo(np.float64).eps)


def interpolated(dtype: Any) -> float:
    """A ``1 - h_i`` below this belongs to a function that is interpolated, or nearly so: ``64 sqrt(eps)``."""
    return 64 * float(np.sqrt(np.finfo(dtype).eps))


def trusted(doubt: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Whether a relative error is known, if the part `doubt` of it may be rounding."""
    return (doubt <= _MEASURED) | ((doubt <= _HALF) & (doubt * error <= _NEGLIGIBLE))


_BLOCK = 1 << 21  # entries of a temporary block


class Swept(Factor):
    """A `Factor` that gives residuals and ``1 - h`` of some functions at any alpha.

    functions : N.
    groups : (N,), numbers; functions of the same number are left out together. None: each by itself.
    """

    functions: int
    groups: np.ndarray | None = None

    def left_out(self, G: np.ndarray, alpha: Any) -> np.ndarray:
        """``e_i / (1 - h_i)``, or its block form for groups: (r, N)."""
        found = np.empty_like(G)
        filters = [self._filter(np.reshape(alpha, (-1, 1)))]
        for functions, together in self._blocks(G.shape):
            for E, rest in self._residuals(G, functions, filters, together):
                found[:, functions] = _missed(E, rest, together)[1]
        return found

    def left_out_variance(self, alpha: Any) -> np.ndarray:
        """``1 / (1 - h_i)``, or its block form for groups: (N,); the mean, where rows have an alpha each."""
        alpha = np.reshape(alpha, (-1, 1))
        nothing = np.zeros((len(alpha) if len(alpha) > 1 else 0, self.functions))  # no outputs are needed
        found, filters = np.empty(self.functions), [self._filter(alpha)]
        for functions, together in self._blocks(nothing.shape):
            for _, rest in self._residuals(nothing, functions, filters, together):
                found[functions] = np.mean(_inverse_diagonal(rest, together), axis=0)
        return found

    def sweep(self, G: np.ndarray, alphas: np.ndarray, penalty: np.ndarray) -> Sweep:
        """Leave every function out, or every group, at every alpha."""
        left_out = np.empty((len(alphas), G.shape[1]), G.dtype)
        squared, freedom, least = np.zeros(len(alphas)), np.zeros(len(alphas)), np.ones(len(alphas))
        filters = [self._filter(a * penalty) for a in alphas]
        for functions, together in self._blocks(G.shape):
            for j, (E, rest) in enumerate(self._residuals(G, functions, filters, together)):
                squared[j] += np.einsum("ij,ij->", E, E)
                values, missed = _missed(E, rest, together)
                freedom[j] += values.mean(axis=0).sum()
                least[j] = min(least[j], float(values.min()))
                left_out[j, functions] = np.sqrt(np.einsum("ij,ij->j", missed, missed))
        doubt = self._doubt(alphas * float(penalty.min()), least)
        return Sweep(squared, squared / (freedom / G.shape[1]) ** 2, doubt, left_out)

    @abstractmethod
    def _filter(self, alpha: np.ndarray) -> np.ndarray:
        """What alpha (1 or r, 1) makes of each direction: (1 or r, k)."""

    @abstractmethod
    def _residuals(
        self, G: np.ndarray, functions: Any, filters: list[np.ndarray], together: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each filter: E (r, n) of some functions, and 1 - h (1 or r, n) or I - H (1 or r, n, n)."""

    @abstractmethod
    def _doubt(self, alphas: np.ndarray, least: np.ndarray) -> np.ndarray:
        """The part of a left-out residual that may be rounding, where the least of 1 - h is `least`."""

    def _blocks(self, shape: tuple[int, ...]) -> Iterator[tuple[Any, bool]]:
        """Functions that are looked at in turn, and whether they are left out together."""
        N, step = shape[1], max(64, _BLOCK // max(shape))
        if self.groups is None:
            for start in range(0, N, step):
                yield slice(start, start + step), False
            return
        order = np.argsort(self.groups, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(self.groups[order])) + 1)
        single = np.array([own[0] for own in members if len(own) == 1], int)
        for start in range(0, len(single), step):
            yield single[start : start + step], False
        for own in members:
            if len(own) > 1:
                yield own, True


def _missed(E: np.ndarray, rest: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """1 - h, or the eigenvalues of I - H; and ``E (I - H)^-1``, row by row if each row has its own H."""
    if not together:
        return rest, E / rest
    # By eigenvalues, which are known to eps of the largest: where functions repeat each other, I - H may be
    # singular as far as one can tell.
    values, known, Q = _eigenvalues(rest)
    along = np.matmul(E[:, None, :], Q) / known[:, None, :]
    return values, np.matmul(along, Q.transpose(0, 2, 1))[:, 0, :]


def _inverse_diagonal(rest: np.ndarray, together: bool) -> np.ndarray:
    """``1 / (1 - h)``, or the diagonal of ``(I - H)^-1``: (1 or r, n)."""
    if not together:
        return 1 / rest
    _, known, Q = _eigenvalues(rest)
    return np.einsum("rik,rk->ri", Q**2, 1 / known)


def _eigenvalues(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of ``I - H`` (1 or r, n, n): as they are, at least what rounding tells from zero, and vectors."""
    values, Q = np.linalg.eigh(rest)
    largest = np.maximum(values[:, -1:], np.finfo(values.dtype).tiny)
    return values, np.maximum(values, np.finfo(values.dtype).eps * largest), Q

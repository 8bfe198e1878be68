"""Residuals along a whole path of alpha, some functions at a time; left out one by one, or in groups.

Without the functions g of a group, the ridge fit misses them by

    E_g (I - H_gg)^-1 ,      H = B' (B B' + a)^-1 B ,

the block form of ``e_i / (1 - h_i)``: exact, from the factorisation of all functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from elmonet.solve.factor import Factor, Sweep

__all__ = ["Swept"]

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

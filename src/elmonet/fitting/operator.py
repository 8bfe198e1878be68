"""The learned operator: a fixed branch, a fixed trunk, and the coefficients between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from elmonet.description import Graph
from elmonet.features.base import features_of, features_times, jet_of, trace_of
from elmonet.features.jet import Jet
from elmonet.linalg import product
from elmonet.solve import Solution


@dataclass(frozen=True)
class Operator:
    """``G(u)(y) = q(y)' C b(u)``, from rows as the branch sees them to values where the trunk sees them.

    The trunk's p2 functions t may be nearly dependent; then W is huge and a product with it loses digits.
    So values come from r functions ``q = lift' t`` that are orthonormal at the training points.
    ``W = lift C`` is for inspection.

    Attributes
    ----------
    branch, trunk : the fitted feature maps b and t.
    C : (r, p1), the learned coefficients.
    lift : (p2, r); None if q is t itself.
    basis : (M, r), the functions q at the training points.
    """

    branch: Any
    trunk: Any
    C: np.ndarray
    lift: np.ndarray | None
    basis: np.ndarray

    @classmethod
    def of(cls, branch: Any, trunk: Any, solution: Solution, T: np.ndarray) -> Self:
        """Return the operator of branch, trunk and solution; T (M, p2) are the trunk's training features."""
        C, lift, basis = solution.C, solution.lift, solution.basis
        if C is None or basis is None:  # of a solver that gives W alone
            C, lift, basis = solution.W, None, T
        # In the order in which a file keeps them, so that products round alike after loading.
        C, basis = np.ascontiguousarray(C), np.ascontiguousarray(basis)
        return cls(branch, trunk, C, None if lift is None else np.ascontiguousarray(lift), basis)

    @property
    def W(self) -> np.ndarray:
        """The paper's matrix (p2, p1), ``G(u)(y) = t(y)' W b(u)``."""
        return self.C if self.lift is None else product(self.lift, self.C)

    def coefficients(self, Z: np.ndarray) -> np.ndarray:
        """Return the coefficients ``C b`` (N, r) of functions Z."""
        return features_times(self.branch, Z, self.C.T)

    def values(
        self,
        coefficients: np.ndarray,
        P: np.ndarray | None = None,
        index: np.ndarray | None = None,
        orders: tuple[int, ...] | None = None,
    ) -> np.ndarray:
        """Return values of coefficients: (N, M) at the training points, (N, n) at points P (n, d).

        With an `index` (n,), return (n,): at each point the value of one function. With `orders` (d,), return
        derivatives at points P, in the coordinates that the trunk sees.
        """
        Q = self.basis if P is None else self._functions(P, orders)
        if index is None:
            return product(coefficients, Q.T)
        return np.einsum("kr,kr->k", Q, coefficients[index])

    def at_training_points(self, Z: np.ndarray) -> np.ndarray:
        """Return the values (N, M) of functions Z at the training points."""
        if self._readout is not None:
            return features_times(self.branch, Z, self._readout.T)
        return self.values(self.coefficients(Z))

    def trace(self, graph: Graph, x: int, P: np.ndarray | None = None) -> int:
        """Write values at the training points, or at points P, to `graph`, from value x, what is seen."""
        Q = np.asarray(self.basis if P is None else self._functions(P), np.float64)
        C = np.asarray(self.C, np.float64)
        (M, r), p = Q.shape, C.shape[1]
        if M * p <= r * (M + p):
            return trace_of(self.branch, graph, x, product(Q, C).T)
        return graph.affine(trace_of(self.branch, graph, x, C.T), Q)

    def _functions(self, P: np.ndarray, orders: tuple[int, ...] | None = None) -> np.ndarray:
        """Return the functions q (n, r), or their derivatives, at points P (n, d)."""
        if orders is None:
            t = features_of(self.trunk, P.astype(self.C.dtype, copy=False), "trunk")
        else:
            t = jet_of(self.trunk, Jet.coordinates(P, orders)).derivative()
        return t if self.lift is None else product(t, self.lift)

    @cached_property
    def _readout(self) -> np.ndarray | None:
        """``Q C`` (M, p1), which saves a product at the training points if it is no larger than C."""
        return product(self.basis, self.C) if len(self.basis) <= len(self.C) else None

"""The contract of a solver: `Solver`, and the `Solution` that every solve returns."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from elmonet.linalg import product
from elmonet.parts import register
from elmonet.solve.factor import Factor

LEFT_OUT = ("leave-one-out", "leave-group-out")  # kinds of error that are exact, of left-out functions

_NOT_IN_REPR = ("W", "C", "lift", "basis", "errors", "component_errors", "alphas", "path", "fit")
_REGRESSION_ALPHAS = 10.0 ** np.arange(-9, 0, 2)  # parts of s_max^2, tried when numbers are regressed


class Solver(BaseEstimator):
    """Base class of solvers: they find the matrix W (p2, p1) that minimises

        ||T W B - G||^2 + penalty(W)

    for trunk features T (M, p2), branch features B (p1, N) and outputs G (M, N). The solver defines the
    penalty, and which W it takes where the minimum is not unique.

    To write one, derive a class that implements `solve`; `__init__` only stores the settings, as scikit-learn
    requires. The class registers itself by its name: models that use it can be saved, and loaded where the
    class has been defined.

    Attributes
    ----------
    keeps_precision : features and coefficients stay in the precision of the data; otherwise they are float64.
    """

    keeps_precision: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.solve is not Solver.solve:  # concrete
            register(cls)

    def solve(self, T: np.ndarray, B: np.ndarray, G: np.ndarray) -> Solution:
        """Solve for W.

        A solver may also take `sizes`, `groups` and `roots`, as `Ridge.solve` does; a model passes them then.

        Parameters
        ----------
        T : (M, p2), trunk features at the points.
        B : (p1, N), branch features of the functions.
        G : (M, N), outputs.

        Returns
        -------
        solution : `Solution`; ``Solution(W)`` is enough.
        """
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Solution:
    """The learned matrix of ``min ||T W B - G||`` and a record of the solve.

    A solver of your own returns ``Solution(W)``, and whatever else it knows.

    Attributes
    ----------
    W : (p2, p1), the learned matrix.
    C, lift, basis : (r, p1), (p2, r) and (M, r), with ``W = lift C``, and ``T W = basis C`` at the training
        points. Where the trunk's functions are nearly dependent W is huge, and predictions through it are
        rounded accordingly: use ``basis (C b)`` at the training points and ``(t(y)' lift) (C b)`` elsewhere.
        If the trunk itself is orthonormal, lift is None, C is W, and the basis is T. All are None if a solver
        returns only W.
    rank_T, rank_B : numerical ranks; None where the factorisation does not reveal one.
    cutoff : singular values of B below ``cutoff`` times the largest were set to zero; 0 if none.
    condition : of the system solved, as a ratio of singular values
        ``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``; an estimate after Cholesky.
    residual : ``||T W B - G|| / ||G||`` on the training data.
    alpha : the ridge parameter; 0 for a pseudoinverse.
    expected_error : the expected relative error of a new function (mean over functions).
    error_kind : how that was estimated: "leave-one-out", "leave-group-out", "gcv" (all functions together),
        "held out"; None if unknown.
    errors : (N,), the error of each function; it shows which are predicted worst by the others.
    component_errors : (c,), the mean relative error of each component by itself, for outputs with components.
    seconds : wall time of the solve.
    method : the factorisation: "cholesky", "tridiagonal", "eigh" or "svd"; "gram" or "tsqr" from sums over
        functions; "lsmr" by iteration.
    alphas, path : the candidates for alpha and the criterion at each, if alpha was chosen.
    fit : the factorisation of the fit, for `left_out`; None in files and copies.
    """

    W: np.ndarray
    C: np.ndarray | None = None
    lift: np.ndarray | None = None
    basis: np.ndarray | None = None
    rank_T: int | None = None
    rank_B: int | None = None
    cutoff: float = 0.0
    condition: float | None = None
    residual: float | None = None
    alpha: float = 0.0
    expected_error: float | None = None
    error_kind: str | None = None
    errors: np.ndarray | None = None
    component_errors: np.ndarray | None = None
    seconds: float = 0.0
    method: str = ""
    alphas: np.ndarray | None = None
    path: np.ndarray | None = None
    fit: Fit | None = field(default=None, compare=False)

    @property
    def loo_error(self) -> float:
        """`expected_error`, if that is a leave-one-out error."""
        return self._by_leaving_out("loo_error", "expected_error")

    @property
    def loo_errors(self) -> np.ndarray:
        """`errors`, if these are leave-one-out errors."""
        return self._by_leaving_out("loo_errors", "errors")

    def left_out(self) -> np.ndarray:
        """Predict each training function by the fit without it.

        Returns
        -------
        predictions : (M, N), in the units of G.

        Raises
        ------
        AttributeError : if the solution has no factorisation.
        """
        if self.fit is None:
            raise AttributeError(
                "this solution keeps no factor to leave functions out with: it was loaded, or found from "
                "sums over functions, or by a solver of your own. Fit again in memory."
            )
        return self.fit.left_out()

    def _by_leaving_out(self, alias: str, name: str) -> Any:
        if self.error_kind not in LEFT_OUT:
            kind = "not known" if self.error_kind is None else f"by {self.error_kind!r}, not by leaving out"
            raise AttributeError(
                f"{alias}: the error of this solution is {kind}. Read {name} and error_kind."
            )
        return getattr(self, name)

    def __repr__(self) -> str:
        values = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in _NOT_IN_REPR)
        parts = [f"{name}={v:.4g}" if isinstance(v, float) else f"{name}={v}" for name, v in values]
        return f"Solution({', '.join(parts)})"


class _LazyW:
    """W of a `Solution`: the given one, or ``lift C``, computed on first access."""

    def __get__(self, solution: Solution | None, owner: Any = None) -> Any:
        if solution is None:
            raise AttributeError("W belongs to a solution")
        if solution.__dict__["W"] is None and solution.C is not None:
            W = solution.C if solution.lift is None else product(solution.lift, solution.C)
            solution.__dict__["W"] = W
        return solution.__dict__["W"]

    def __set__(self, solution: Solution, W: np.ndarray | None) -> None:
        solution.__dict__["W"] = W


Solution.W = _LazyW()  # type: ignore[assignment]


@dataclass
class Fit:
    """The factorisation of a fit, with what later questions about the fit need."""

    factor: Factor | None  # None: nothing was fitted, as T or B is zero
    QtG: np.ndarray  # (r, N), the outputs in the trunk's basis, times g
    alpha: Any  # at which functions are left out: one, or one for each row of QtG, (r, 1)
    basis: np.ndarray  # (M, r)
    g: float  # power of two by which G was multiplied
    B: np.ndarray  # (p1, N), the features, times b
    b: float  # power of two by which B was multiplied

    def left_out(self) -> np.ndarray:
        """Return the prediction (M, N) of each function by the fit without it, in the units of G."""
        inside, residuals = self.coefficients_left_out()
        return product(self.basis, inside - residuals)

    def coefficients_left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs in the trunk's basis (r, N), and their leave-one-out residuals."""
        if self.factor is None:
            return self.QtG / self.g, self.QtG / self.g
        return self.QtG / self.g, self.factor.left_out(self.QtG, self.alpha) / self.g

    def left_out_variance(self) -> np.ndarray:
        """Return ``1 / (1 - h_i)`` (N,), the variance of function i given the others, per unit of noise."""
        if self.factor is None:
            return np.ones(self.QtG.shape[1])
        return self.factor.left_out_variance(self.alpha)

    def root(self, S: np.ndarray) -> np.ndarray:
        """Return ``S R`` (k, p1) with ``R'R = (B B' + alpha)^-1``.

        ``||R b||^2`` is the variance at features b, per unit of noise.
        """
        if self.factor is None:
            return np.zeros_like(S)
        return self.factor.root(S, self._mean_alpha()) * self.b

    def halves(self, root: np.ndarray) -> np.ndarray:
        """Return ``S R B`` (k, N) of the training functions, given ``S R``."""
        return product(root, self.B) / self.b

    def regressed(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Regress numbers t (N,) on the features: coefficients (p1,), and leave-one-out predictions (N,).

        The alpha is that of the least squared leave-one-out error.
        """
        if self.factor is None:
            return np.zeros(len(self.B)), np.zeros(len(t))
        G = t[None]
        alphas = self.factor.largest * _REGRESSION_ALPHAS
        if self.factor.alpha is not None:
            alphas = np.array([self.factor.alpha])
        residuals = self.factor.sweep(G, alphas, np.ones((1, 1))).left_out
        alpha = float(alphas[np.argmin(np.einsum("ai,ai->a", residuals, residuals))])
        row = self.factor.coefficients(G, alpha)[0] * self.b
        return row, t - self.factor.left_out(G, alpha)[0]

    @property
    def noise(self) -> float:
        """The variance of the noise: the alpha at which functions are left out, in the caller's units."""
        return self._mean_alpha() / self.b / self.b

    def _mean_alpha(self) -> float:
        """Return alpha, or the geometric mean if there is one for each row."""
        return float(np.exp(np.mean(np.log(self.alpha))))

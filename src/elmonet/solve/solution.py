"""What every solve returns: the matrix W and how it was found."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np

from elmonet.linalg import product

__all__ = ["LEFT_OUT", "Fit", "Solution"]

LEFT_OUT = ("leave-one-out", "leave-group-out")  # errors that are exact, of functions that were left out

_ARRAYS = ("W", "C", "lift", "basis", "errors", "alphas", "path", "fit")


class Fit(Protocol):
    """What a solver keeps of a fit, to be asked later."""

    factor: Any

    def left_out(self) -> np.ndarray:
        """What the fit without function i predicts for it: (M, N), in the units of G."""

    def coefficients_left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """The outputs in the trunk's basis (r, N), and what of them is missed of functions left out."""

    def left_out_variance(self) -> np.ndarray:
        """``1 / (1 - h_i)`` (N,): the variance of function i given the others, in units of the noise."""

    def root(self, S: np.ndarray) -> np.ndarray:
        """``S R`` (k, p1), where ``||R b||^2`` is the variance at features b, in units of the noise."""

    def halves(self, root: np.ndarray) -> np.ndarray:
        """``S R B`` (k, N) of the training functions, for ``S R``."""

    def regressed(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers t (N,) as a linear function of the features: (p1,), and what it says of each left out."""

    @property
    def noise(self) -> float:
        """The noise, alpha."""


@dataclass(frozen=True, repr=False)
class Solution:
    """The learned matrix of ``min ||T W B - G||`` and an account of the solve.

    A solver of one's own returns ``Solution(W)``, and whatever else it knows.

    Attributes
    ----------
    W : (p2, p1), the learned matrix.
    C, lift, basis : (r, p1), (p2, r) and (M, r), with ``W = lift C``, and ``T W = basis C`` at the training
        points. Where the trunk's functions are nearly dependent W is huge, and predictions through it are
        rounded accordingly: take ``basis (C b)`` at the training points and ``(t(y)' lift) (C b)`` elsewhere.
        If the trunk is orthonormal itself, lift is None, C is W, and the basis is T. All are None if a solver
        gives only W.
    rank_T, rank_B : numerical ranks; None where the factorisation does not reveal one.
    cutoff : singular values of B below ``cutoff`` times the largest were set to zero; 0 if none.
    condition : of the system solved, as a ratio of singular values
        ``sqrt((s_max^2 + alpha) / (s_min^2 + alpha))``; an estimate after Cholesky.
    residual : ``||T W B - G|| / ||G||`` on the training data.
    alpha : the ridge parameter; 0 for a pseudoinverse.
    expected_error : what to expect for a new function, in relative error (mean over functions).
    error_kind : how that is known: "leave-one-out", "leave-group-out", "gcv" (all functions together), "held
        out"; None if not.
    errors : (N,), the error of each function: which are predicted worst by the others?
    seconds : wall time of the solve.
    method : which factorisation gave the answer: "cholesky", "tridiagonal", "eigh" or "svd"; "gram" or "tsqr"
        from sums.
    alphas, path : the candidates for alpha and the criterion at each, if there was a choice.
    fit : what the solver keeps, see `left_out`.
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
    seconds: float = 0.0
    method: str = ""
    alphas: np.ndarray | None = None
    path: np.ndarray | None = None
    fit: Fit | None = field(default=None, compare=False)

    @property
    def loo_error(self) -> float:
        """`expected_error`, where that is by leaving every function out."""
        return self._by_leaving_out("loo_error", "expected_error")

    @property
    def loo_errors(self) -> np.ndarray:
        """`errors`, where these are by leaving every function out."""
        return self._by_leaving_out("loo_errors", "errors")

    def left_out(self) -> np.ndarray:
        """What the fit without function i predicts for it: (M, N), from the factor that was kept."""
        if self.fit is None:
            raise AttributeError(
                "this solution keeps no factor to leave functions out with: it was loaded, or found from "
                "sums over functions, or by a solver of one's own. Fit again in memory."
            )
        return self.fit.left_out()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"fit": None}  # copies and files need no factor

    def _by_leaving_out(self, alias: str, name: str) -> Any:
        if self.error_kind not in LEFT_OUT:
            kind = "not known" if self.error_kind is None else f"by {self.error_kind!r}, not by leaving out"
            raise AttributeError(
                f"{alias}: the error of this solution is {kind}. Read {name} and error_kind."
            )
        return getattr(self, name)

    def __repr__(self) -> str:
        values = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in _ARRAYS)
        parts = [f"{name}={v:.4g}" if isinstance(v, float) else f"{name}={v}" for name, v in values]
        return f"Solution({', '.join(parts)})"


class _Product:
    """W of a `Solution`: as it is given, or, if that is None, ``lift C``, made when it is first asked for."""

    def __get__(self, solution: Solution | None, owner: Any = None) -> Any:
        if solution is None:
            raise AttributeError("W belongs to a solution")
        if solution.__dict__["W"] is None and solution.C is not None:
            W = solution.C if solution.lift is None else product(solution.lift, solution.C)
            solution.__dict__["W"] = W
        return solution.__dict__["W"]

    def __set__(self, solution: Solution, W: np.ndarray | None) -> None:
        solution.__dict__["W"] = W


Solution.W = _Product()  # type: ignore[assignment]

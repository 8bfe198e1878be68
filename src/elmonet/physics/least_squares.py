"""Many small least-squares problems at once: Gauss-Newton with one preconditioner for all functions.

For each function, min |r(c)| over its coefficients c. A step solves min |J d + r| by conjugate gradients
(CGLS), preconditioned by the triangular factor R of the mean Jacobian: J R^-1 is close to orthonormal where
functions are alike. Then few iterations suffice, and each is a matrix product with all functions at once: the
Jacobian J = sum_k diag(slope_k) T_k of one function is never formed. Where functions differ and the iteration
is slow, the step of that function is solved by a factorisation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag, lstsq, qr, solve_triangular, svd
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrcon

from elmonet.linalg import product
from elmonet.physics.discretise import ResidualBlock
from elmonet.physics.fields import Key

Inputs = list[dict[Key, np.ndarray]]
Slopes = list[dict[Key, np.ndarray]]
Progress = Callable[[float], None]

_CONDITION_WEIGHT = 10.0  # weight of rows of conditions relative to rows of the equation
_ZERO_ROW = 1e-12  # relative to the largest values: rows of a condition that every basis function meets
_SLOPE_ENTRIES = 40_000_000  # held in memory at a time

_MAX_STEPS = 30  # of Gauss-Newton
_MAX_HALVINGS = 10  # of one step
_CONVERGED_CHANGE = 1e-11  # relative change of the coefficients that is rounding
_STALLED_CHANGE = 1e-6  # a relative change below this that no longer shrinks is rounding too
_PIVOT_FUNCTIONS = 8  # tried as preconditioners where the mean Jacobian is singular

_MAX_ITERATIONS = 30  # of CGLS in a step
_FEWEST_FOR_CGLS = 5  # functions; fewer are solved one by one
_GRADIENT_TOLERANCE = 1e-6  # relative gradient at which a step is solved
_GRADIENT_UNSOLVED = 0.1  # relative gradient above which a step is solved directly
_GRADIENT_ROUNDING = 1e-12  # relative to the rows: a gradient that is rounding

_SINGULAR_PIVOT = 1e-11  # relative to the largest pivot: an undetermined coefficient
_DEPENDENT = 1e-8  # relative to the largest singular value: a nearly dependent direction is dropped
_NONZERO = 1e-4  # relative to the largest: a dropped direction with larger values is undetermined
_MAX_REFINEMENTS = 5  # of a solution by normal equations


@dataclass(frozen=True)
class NewtonResult:
    """Solutions of a `CollocationSystem`.

    Attributes
    ----------
    c : (N, p), coefficients. steps, converged : (N,).
    linear : whether the equation is linear; shared : with the same operator for all functions.
    undetermined : the number of coefficients that nothing determines.
    """

    c: np.ndarray
    steps: np.ndarray
    converged: np.ndarray
    linear: bool
    shared: bool
    undetermined: int


class CollocationSystem:
    """The rows of an equation (first block) and of its conditions, for N functions.

    Parameters
    ----------
    blocks : residuals at their points.
    inputs : of each block, values (N, M) of the input functions.
    n, width : the number of functions, and of coefficients.
    values : (M, p), values of the basis functions, if these may be nearly dependent.
    """

    def __init__(
        self,
        blocks: list[ResidualBlock],
        inputs: Inputs,
        n: int,
        width: int,
        values: np.ndarray | None = None,
    ):
        self.blocks, self.inputs, self.n, self.width = blocks, inputs, n, width
        self._ends = np.cumsum([block.count for block in blocks])[:-1]
        self._alike = True  # as long as most functions converge with one preconditioner
        self._values = None if values is None else block_diag(*[values] * (width // values.shape[1]))
        self.weights = [np.ones((block.equations, 1)) for block in blocks]
        slopes = self.slopes(np.zeros((1, width)), slice(0, 1))
        rounding = 0.0 if values is None else _ZERO_ROW * float(np.linalg.norm(values, axis=1).max())
        for i, rows in enumerate(np.split(self.dense(slopes), self._ends)):
            # Rows are scaled to size one, so that units do not matter. But rows of a condition that all
            # basis functions meet up to rounding, as sines do at their zeros, stay as small as they are.
            rows = rows.reshape(blocks[i].equations, -1, width)
            size = np.sqrt(np.mean(np.sum(rows**2, axis=2), axis=1, keepdims=True))
            zero = rounding * max(float(np.abs(slope).max()) for slope in slopes[i].values())
            self.weights[i] = (_CONDITION_WEIGHT if i else 1.0) / np.where(size > zero, size, 1.0)

    def solve(self, start: np.ndarray | None, progress: Progress | None = None) -> NewtonResult:
        """Solve for all functions, from coefficients `start` (N, p); None: zero."""
        start = np.zeros((self.n, self.width)) if start is None else start
        shared, linear = self._kind()
        if shared:
            return self._solve_shared()
        parts = []
        for which in self._batches():
            parts.append(self._gauss_newton(start[which], which, linear))
            if progress is not None:
                progress(min(1.0, which.stop / self.n))
        c, steps, converged = (np.concatenate(arrays) for arrays in zip(*(p[:3] for p in parts), strict=True))
        return NewtonResult(c, steps, converged, linear, False, max(p[3] for p in parts))

    def residuals(self, c: np.ndarray, which: Any) -> np.ndarray:
        """Return the weighted rows (n, R) for coefficients c (n, p) of the functions `which`."""
        each = zip(self.blocks, self.inputs, self.weights, strict=True)
        rows = [(w * block.values(c, _select(u, which))).reshape(len(c), -1) for block, u, w in each]
        return np.concatenate(rows, axis=1)

    def slopes(self, c: np.ndarray, which: Any) -> Slopes:
        """Return the weighted slopes of each block for coefficients c (n, p) of the functions `which`."""
        each = zip(self.blocks, self.inputs, self.weights, strict=True)
        return [{k: w * slope for k, slope in b.slopes(c, _select(u, which)).items()} for b, u, w in each]

    def times(self, slopes: Slopes, c: np.ndarray) -> np.ndarray:
        """Return the Jacobians times c (n, p), without forming them: (n, R)."""
        each = zip(self.blocks, slopes, strict=True)
        return np.concatenate([block.times(s, c).reshape(len(c), -1) for block, s in each], axis=1)

    def transposed(self, slopes: Slopes, r: np.ndarray) -> np.ndarray:
        """Return the transposed Jacobians times r (n, R): (n, p)."""
        each = zip(self.blocks, slopes, np.split(r, self._ends, axis=1), strict=True)
        total: Any = sum(b.transposed(s, rows.reshape(len(r), b.equations, -1)) for b, s, rows in each)
        return total

    def dense(self, slopes: Slopes, i: int = 0) -> np.ndarray:
        """Return the Jacobian (R, p) of function i of these slopes."""
        each = zip(self.blocks, slopes, strict=True)
        rows = [b.dense({key: slope[i] for key, slope in s.items()}).reshape(-1, self.width) for b, s in each]
        return np.concatenate(rows)

    def _batches(self) -> list[slice]:
        """Split the functions so that the slopes of a batch fit into memory."""
        entries = sum(len(block.unknown_keys) * block.count for block in self.blocks)
        step = max(1, _SLOPE_ENTRIES // entries)
        return [slice(first, min(first + step, self.n)) for first in range(0, self.n, step)]

    def _kind(self) -> tuple[bool, bool]:
        """Return whether functions share one linear operator, and whether the system is linear."""
        random = np.random.default_rng(0).normal(size=(1, self.width))
        shared = linear = True
        first = self.slopes(np.zeros((1, self.width)), slice(0, 1))
        for which in self._batches():  # all inputs: any of them may be the first that differs
            n = which.stop - which.start
            at_zero = self.slopes(np.zeros((n, self.width)), which)
            at_random = self.slopes(np.repeat(random, n, axis=0), which)
            for one, zero, other in zip(first, at_zero, at_random, strict=True):
                linear = linear and all(np.array_equal(zero[key], other[key]) for key in zero)
                shared = shared and all(bool(np.all(zero[key] == one[key])) for key in zero)
        return shared and linear, linear

    def _solve_shared(self) -> NewtonResult:
        """Solve with one factorisation for all functions."""
        F = self.residuals(np.zeros((self.n, self.width)), slice(None))
        factor = self._factor(self.dense(self.slopes(np.zeros((1, self.width)), slice(0, 1))))
        finite = np.isfinite(F).all(axis=1)
        c = np.zeros((self.n, self.width))
        if not factor.undetermined:
            c[finite] = factor.least_squares(-F[finite])
        return NewtonResult(c, np.ones(self.n, int), finite, True, True, factor.undetermined)

    def _gauss_newton(
        self, start: np.ndarray, which: slice, linear: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return c, steps, converged and undetermined; steps that increase the residual are halved."""
        c = start.copy()
        functions = np.arange(which.start, which.start + len(c))
        steps, converged, diverged = (np.zeros(len(c), dtype) for dtype in (int, bool, bool))
        last_change = np.full(len(c), np.inf)
        sizes = np.linalg.norm(self.residuals(np.zeros_like(c), functions), axis=1)
        factor = None
        for _ in range(_MAX_STEPS):
            active = np.flatnonzero(~converged & ~diverged)
            if not len(active):
                break
            rows = functions[active]
            r = self.residuals(c[active], rows)
            slopes = self.slopes(c[active], rows)
            diverged[active] = ~_finite(r, slopes)
            if diverged[active].any():  # one of them would make the mean Jacobian NaN
                continue
            if factor is None or not linear:
                factor = self._preconditioner(slopes)
            if factor.undetermined:
                return c, steps, converged, factor.undetermined
            norms = np.linalg.norm(r, axis=1)
            d = self._step(factor, slopes, r, sizes[active] + norms)
            scale = np.ones((len(active), 1))
            for _ in range(0 if linear else _MAX_HALVINGS):
                with np.errstate(all="ignore"):
                    new = np.linalg.norm(self.residuals(c[active] + scale * d, rows), axis=1)
                worse = ~(new <= norms * (1 + 1e-9))
                if not worse.any():
                    break
                scale[worse] /= 2
            d *= scale
            finite = np.isfinite(d).all(axis=1)
            c[active[finite]] += d[finite]
            steps[active] += 1
            diverged[active[~finite]] = True
            change = np.linalg.norm(d, axis=1) / (np.linalg.norm(c[active], axis=1) + 1e-300)
            stalled = (change <= _STALLED_CHANGE) & (change > 0.5 * last_change[active])
            converged[active] = finite & ((change <= _CONVERGED_CHANGE) | stalled)
            last_change[active] = change
        return c, steps, converged, 0

    def _step(
        self, factor: JacobianFactor | TruncatedFactor, slopes: Slopes, r: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """Return the steps d (n, p) that minimise |J d + r|, by preconditioned CGLS for all functions.

        `sizes` (n,): the magnitude of the terms in the rows, which sets their rounding.
        """
        rest, d = -r, np.zeros((len(r), self.width))
        g = factor.scaled_transposed(self.transposed(slopes, rest))
        q, size = g, np.einsum("np,np->n", g, g)
        rounding = (_GRADIENT_ROUNDING * sizes) ** 2
        solved, unsolved = (
            np.maximum(share**2 * size, rounding) for share in (_GRADIENT_TOLERANCE, _GRADIENT_UNSOLVED)
        )
        few = len(r) < _FEWEST_FOR_CGLS
        for _ in range(_MAX_ITERATIONS if self._alike and not few else 0):
            active = size > solved
            if not active.any():
                break
            v = factor.scaled(q)
            w = self.times(slopes, v)
            length = np.einsum("nr,nr->n", w, w)
            along = np.divide(size, length, out=np.zeros_like(size), where=active & (length > 0))[:, None]
            d += along * v
            rest -= along * w
            g = factor.scaled_transposed(self.transposed(slopes, rest))
            new = np.einsum("np,np->n", g, g)
            q = g + np.divide(new, size, out=np.zeros_like(size), where=size > 0)[:, None] * q
            size = np.where(active, new, size)
        slow = np.flatnonzero(size > unsolved)
        self._alike = self._alike and (2 * len(slow) <= len(r) or few)
        for i in slow.tolist():
            d[i] = factor.solve_other(self.dense(slopes, i), -r[i])
        return d

    def _preconditioner(self, slopes: Slopes) -> JacobianFactor | TruncatedFactor:
        """Factorise the mean Jacobian; where slopes of both signs cancel in it, that of one function."""
        mean = self._factor(
            self.dense([{k: s.mean(axis=0)[None] for k, s in block.items()} for block in slopes])
        )
        n = len(next(iter(slopes[0].values())))
        if mean.undetermined and n > 1:
            for i in np.unique(np.linspace(0, n - 1, _PIVOT_FUNCTIONS).astype(int)).tolist():
                factor = self._factor(self.dense(slopes, i))
                if not factor.undetermined:
                    return factor
        return mean

    def _factor(self, J: np.ndarray) -> JacobianFactor | TruncatedFactor:
        return JacobianFactor(J) if self._values is None else TruncatedFactor(J, self._values)


def _finite(r: np.ndarray, slopes: Slopes) -> np.ndarray:
    """Return which functions (n,) have finite residuals and slopes."""
    finite = np.isfinite(r).all(axis=1)
    for block in slopes:
        for slope in block.values():
            finite &= np.isfinite(slope).all(axis=(1, 2))
    return finite


def _select(u: dict[Key, np.ndarray], which: Any) -> dict[Key, np.ndarray]:
    return {key: values[which] for key, values in u.items()}


class JacobianFactor:
    """A matrix A (R, p) with columns scaled to length one, as Q R.

    `undetermined` is 0 if R is well conditioned; otherwise the number of columns with negligible pivots.
    """

    def __init__(self, A: np.ndarray):
        self._lengths = _column_lengths(A)
        A = A / self._lengths
        self._Q, self._R = qr(A, mode="economic", check_finite=False)
        self.undetermined = 0
        if len(A) < A.shape[1] or dtrcon(self._R)[0] < _SINGULAR_PIVOT:
            pivots = np.abs(np.diagonal(qr(A, mode="r", pivoting=True, check_finite=False)[0]))
            rank = int(np.count_nonzero(pivots > _SINGULAR_PIVOT * pivots.max(initial=0.0)))
            self.undetermined = A.shape[1] - rank

    def least_squares(self, F: np.ndarray) -> np.ndarray:
        """Return the rows c (N, p) that minimise |A c - f| for the rows f of F (N, R)."""
        return self.scaled(product(F, self._Q))

    def solve_other(self, J: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the c (p,) that minimises |J c - f| for another Jacobian J (R, p)."""
        return _least_squares(J, f)

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Return the coefficients R^-1 y for rows y (n, p)."""
        return solve_triangular(self._R, y.T, check_finite=False).T / self._lengths

    def scaled_transposed(self, g: np.ndarray) -> np.ndarray:
        """Apply the transpose of `scaled`."""
        return solve_triangular(self._R, (g / self._lengths).T, trans="T", check_finite=False).T


class TruncatedFactor:
    """A matrix A (R, p) of nearly dependent functions with values T (M, p), by its largest singular values.

    Columns are scaled to length one. Truncation keeps coefficients small, so that functions do not oscillate
    between the points. Dropped directions should be functions that are almost zero; those that are not are
    undetermined.
    """

    def __init__(self, A: np.ndarray, T: np.ndarray):
        lengths = _column_lengths(A)
        U, s, Vt = svd(A / lengths, full_matrices=False, overwrite_a=True, check_finite=False)
        large = s > _DEPENDENT * s.max(initial=0.0)
        sizes = np.linalg.norm(product(T / lengths, Vt.T), axis=0)
        self.undetermined = int(np.count_nonzero(sizes[~large] > _NONZERO * sizes.max(initial=0.0)))
        self._U, self._to_c = U[:, large], (Vt[large] / s[large, None]) / lengths

    def least_squares(self, F: np.ndarray) -> np.ndarray:
        """Return the rows c (N, p) that minimise |A c - f| for the rows f of F (N, R)."""
        return self.scaled(product(F, self._U))

    def solve_other(self, J: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the c (p,) that minimises |J c - f| for another Jacobian J (R, p), in these directions."""
        return self.scaled(_least_squares(product(J, self._to_c.T), f)[None])[0]

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Return the coefficients for rows y (n, r)."""
        return product(y, self._to_c)

    def scaled_transposed(self, g: np.ndarray) -> np.ndarray:
        """Apply the transpose of `scaled`."""
        return product(g, self._to_c.T)


def _least_squares(J: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the c (p,) that minimises |J c - f|: normal equations, refined with the residuals of J.

    If they are too ill conditioned for that, factorise J.
    """
    lengths = _column_lengths(J)
    A = np.asfortranarray(J / lengths)
    L, failed = dpotrf(dsyrk(1.0, A, trans=1, lower=1), lower=1, overwrite_a=1)
    c, last = np.zeros(A.shape[1]), np.inf
    for _ in range(0 if failed else _MAX_REFINEMENTS):
        g = A.T @ (f - A @ c)
        size = float(np.linalg.norm(g))
        if not size < 0.1 * last:
            break
        c, last = c + dpotrs(L, g, lower=1)[0], size
    if not last <= _GRADIENT_TOLERANCE * np.linalg.norm(f):
        c = lstsq(A, f, lapack_driver="gelsy", check_finite=False)[0]
    return c / lengths


def _column_lengths(A: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(A, axis=0)
    return np.where(lengths > 0, lengths, 1.0)

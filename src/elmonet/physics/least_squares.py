"""Many small least-squares problems at once: Gauss-Newton with one preconditioner for all functions.

For each function, min |r(c)| over its coefficients c. A step solves min |J d + r| by conjugate gradients
(CGLS), preconditioned by the triangular factor R of the mean Jacobian: J R^-1 is close to orthonormal where
functions are alike, so few iterations do, and each is a matrix product with all functions at once: the
Jacobian J = sum_k diag(slope_k) T_k of one function is never formed. Where they are not alike and the
iteration is slow, the step of that function is solved by a factorisation of its own.
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
from elmonet.physics.discretise import Rows
from elmonet.physics.fields import Key

__all__ = ["Factor", "Solved", "System", "Truncated"]

_OPEN = 1e-11  # of the largest pivot: a coefficient that nothing determines
_DEPENDENT = 1e-8  # of the largest singular value: functions of a domain that depend on the others
_SEEN = 1e-4  # of the largest: a function that is not zero
_REFINED = 5
_ENOUGH = 1e-6  # of the gradient: what refinement may leave of it


class Factor:
    """A matrix A (R, p) with its columns at length one, as Q R.

    `open` is 0 if R is well enough conditioned; otherwise pivots tell how many columns are left open.
    """

    def __init__(self, A: np.ndarray):
        self._lengths = _lengths(A)
        A = A / self._lengths
        self._Q, self._R = qr(A, mode="economic", check_finite=False)
        self.open = 0
        if len(A) < A.shape[1] or dtrcon(self._R)[0] < _OPEN:
            R = qr(A, mode="r", pivoting=True, check_finite=False)[0]
            pivots = np.abs(np.diagonal(R))
            self.open = A.shape[1] - int(np.count_nonzero(pivots > _OPEN * pivots.max(initial=0.0)))

    def least_squares(self, F: np.ndarray) -> np.ndarray:
        """For rows F (N, R), the rows c (N, p) that minimise |A c - f|."""
        return self.scaled(product(F, self._Q))

    def of_another(self, J: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The c (p,) that minimises |J c - f| for another matrix J (R, p) of the same functions."""
        return _least_squares(J, f)

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Rows y (n, p) to coefficients: R^-1 y."""
        return solve_triangular(self._R, y.T, check_finite=False).T / self._lengths

    def scaled_transposed(self, g: np.ndarray) -> np.ndarray:
        """The transpose of `scaled`."""
        return solve_triangular(self._R, (g / self._lengths).T, trans="T", check_finite=False).T


class Truncated:
    """A matrix A (R, p) of nearly dependent functions with values T (M, p), by its largest singular values.

    Its columns are taken at length one. Coefficients stay small: functions are tame between the points too.
    What is left out should be functions that are almost zero; those that are not are open, nothing determines
    them.
    """

    def __init__(self, A: np.ndarray, T: np.ndarray):
        self._lengths = _lengths(A)
        U, s, Vt = svd(A / self._lengths, full_matrices=False, overwrite_a=True, check_finite=False)
        kept = s > _DEPENDENT * s.max(initial=0.0)
        sizes = np.linalg.norm(product(T / self._lengths, Vt.T), axis=0)
        self.open = int(np.count_nonzero(sizes[~kept] > _SEEN * sizes.max(initial=0.0)))
        self._U, self._to_c = U[:, kept], (Vt[kept] / s[kept, None]) / self._lengths

    def least_squares(self, F: np.ndarray) -> np.ndarray:
        """For rows F (N, R), the rows c (N, p) that minimise |A c - f|."""
        return self.scaled(product(F, self._U))

    def of_another(self, J: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The c (p,) that minimises |J c - f| for another matrix J (R, p), in the same directions."""
        return self.scaled(_least_squares(product(J, self._to_c.T), f)[None])[0]

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Rows y (n, r) to coefficients."""
        return product(y, self._to_c)

    def scaled_transposed(self, g: np.ndarray) -> np.ndarray:
        """The transpose of `scaled`."""
        return product(g, self._to_c.T)


def _least_squares(J: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The c (p,) that minimises |J c - f|: normal equations, refined with the residuals of J itself.

    Where their condition is too large for that, by a factorisation of J.
    """
    lengths = _lengths(J)
    A = np.asfortranarray(J / lengths)
    L, failed = dpotrf(dsyrk(1.0, A, trans=1, lower=1), lower=1, overwrite_a=1)
    c, last = np.zeros(A.shape[1]), np.inf
    for _ in range(0 if failed else _REFINED):
        g = A.T @ (f - A @ c)
        size = float(np.linalg.norm(g))
        if not size < 0.1 * last:
            break
        c, last = c + dpotrs(L, g, lower=1)[0], size
    if not last <= _ENOUGH * np.linalg.norm(f):
        c = lstsq(A, f, lapack_driver="gelsy", check_finite=False)[0]
    return c / lengths


def _lengths(A: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(A, axis=0)
    return np.where(lengths > 0, lengths, 1.0)


_STEPS = 30
_HALVINGS = 10
_DONE = 1e-11  # of the coefficients: a step that is no more than rounding
_STALLED = 1e-6  # a step below this that no longer shrinks is rounding too
_ITERATIONS = 30
_SINGLE = 4  # so few functions are solved one by one
_TOO_LITTLE = 0.1  # if it leaves more than this, the step is solved directly
_ROUNDING = 1e-12  # of the rows: a gradient that is no more than rounding
_ENTRIES = 40_000_000  # of all slopes that are held at a time
_TRIED = 8  # functions that are asked, where their mean leaves coefficients open
_MET = 1e-12  # of the largest values: rows of a condition that every function meets
_CONDITIONS = 10.0  # how much conditions count against the equation

Inputs = list[dict[Key, np.ndarray]]
Slopes = list[dict[Key, np.ndarray]]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Solved:
    """Coefficients (N, p), steps taken (N,), which functions converged (N,), and what was found out.

    `open`: how many coefficients nothing determines.
    """

    c: np.ndarray
    steps: np.ndarray
    converged: np.ndarray
    linear: bool
    shared: bool
    open: int


class System:
    """The rows of an equation, first, and of its conditions, for N functions with inputs at their points."""

    def __init__(
        self, blocks: list[Rows], inputs: Inputs, n: int, width: int, values: np.ndarray | None = None
    ):
        """`values` (M, p): those of the functions of one unknown, if they may be nearly dependent."""
        self.blocks, self.inputs, self.n, self.width = blocks, inputs, n, width
        self._alike = True  # as long as most functions converge with one preconditioner
        self._values = None if values is None else block_diag(*[values] * (width // values.shape[1]))
        self.weights = [np.ones((block.equations, 1)) for block in blocks]
        slopes = self._at(np.zeros((1, width)), slice(0, 1))
        rounding = 0.0 if values is None else _MET * float(np.linalg.norm(values, axis=1).max())
        for i, own in enumerate(self._split_rows(self.dense(slopes))):
            # One over the size of its rows, so that units do not matter. But rows of a condition that all
            # functions meet up to rounding, as sines do at their zeros, stay as small as they are.
            size = np.sqrt(np.mean(np.sum(own**2, axis=2), axis=1, keepdims=True))
            none = rounding * max(float(np.abs(slope).max()) for slope in slopes[i].values())
            self.weights[i] = (_CONDITIONS if i else 1.0) / np.where(size > none, size, 1.0)

    def solve(self, start: np.ndarray | None, progress: Progress | None = None) -> Solved:
        """From coefficients (N, p) to begin with; None: zero."""
        start = np.zeros((self.n, self.width)) if start is None else start
        shared, linear = self.kind()
        if shared:
            return self._all_at_once()
        names = sum(len(block.asked) * block.count for block in self.blocks)
        step, parts = max(1, _ENTRIES // names), []
        for first in range(0, self.n, step):
            parts.append(self._newton(start[first : first + step], slice(first, first + step), linear))
            if progress is not None:
                progress(min(1.0, (first + step) / self.n))
        c, steps, converged = (np.concatenate(own) for own in zip(*(p[:3] for p in parts), strict=True))
        return Solved(c, steps, converged, linear, False, max(p[3] for p in parts))

    def kind(self) -> tuple[bool, bool]:
        """Whether they are linear with the same operator for all functions, and whether they are linear."""
        elsewhere = np.random.default_rng(0).normal(size=(1, self.width))
        shared = linear = True
        step = max(1, _ENTRIES // sum(len(block.asked) * block.count for block in self.blocks))
        first = self._at(np.zeros((1, self.width)), slice(0, 1))
        for start in range(0, self.n, step):  # all inputs: one of them may be the first that differs
            which = slice(start, min(start + step, self.n))
            n = which.stop - which.start
            here = self._at(np.zeros((n, self.width)), which)
            there = self._at(np.repeat(elsewhere, n, axis=0), which)
            for one, own, other in zip(first, here, there, strict=True):
                linear = linear and all(np.array_equal(own[key], other[key]) for key in own)
                shared = shared and all(bool(np.all(own[key] == one[key])) for key in own)
        return shared and linear, linear

    def residuals(self, c: np.ndarray, which: Any) -> np.ndarray:
        """All rows (n, R), weighted."""
        every = zip(self.blocks, self.inputs, self.weights, strict=True)
        found = [(w * b.values(c, _of(u, which))).reshape(len(c), -1) for b, u, w in every]
        return np.concatenate(found, axis=1)

    def dense(self, slopes: Slopes) -> np.ndarray:
        """The Jacobian (R, p) of the first function of these slopes."""
        every = zip(self.blocks, slopes, strict=True)
        found = [b.dense({key: own[0] for key, own in s.items()}).reshape(-1, self.width) for b, s in every]
        return np.concatenate(found)

    def _factor(self, slopes: Slopes) -> Factor | Truncated:
        A = self.dense(slopes)
        return Factor(A) if self._values is None else Truncated(A, self._values)

    def _common(self, slopes: Slopes) -> Factor | Truncated:
        """Of the mean Jacobian. Where slopes of both signs cancel in it, of one function that is not open."""
        mean = factor = self._factor([{k: s.mean(axis=0)[None] for k, s in own.items()} for own in slopes])
        n = len(next(iter(slopes[0].values())))
        for i in np.unique(np.linspace(0, n - 1, _TRIED).astype(int)) if mean.open and n > 1 else ():
            factor = self._factor([{k: s[i : i + 1] for k, s in own.items()} for own in slopes])
            if not factor.open:
                return factor
        return mean

    def _at(self, c: np.ndarray, which: Any) -> Slopes:
        """Slopes of all blocks, weighted."""
        every = zip(self.blocks, self.inputs, self.weights, strict=True)
        return [{k: w * own for k, own in b.slopes(c, _of(u, which)).items()} for b, u, w in every]

    def _split_rows(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows (R, ...) by block, (E, M, ...)."""
        ends = np.cumsum([block.count for block in self.blocks])[:-1]
        parts = zip(self.blocks, np.split(rows, ends), strict=True)
        return [own.reshape(b.equations, -1, *own.shape[1:]) for b, own in parts]

    def _all_at_once(self) -> Solved:
        """One factorisation for all functions."""
        F = self.residuals(np.zeros((self.n, self.width)), slice(None))
        factor = self._factor(self._at(np.zeros((1, self.width)), slice(0, 1)))
        good = np.isfinite(F).all(axis=1)
        c = np.zeros((self.n, self.width))
        if not factor.open:
            c[good] = factor.least_squares(-F[good])
        return Solved(c, np.ones(self.n, int), good, True, True, factor.open)

    def _newton(
        self, start: np.ndarray, which: slice, linear: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Gauss-Newton for some functions; its steps are halved where they do not help."""
        c = start.copy()
        everyone = np.arange(which.start, which.start + len(c))
        steps, converged, lost = np.zeros(len(c), int), np.zeros(len(c), bool), np.zeros(len(c), bool)
        last = np.full(len(c), np.inf)
        sizes = np.linalg.norm(self.residuals(np.zeros_like(c), everyone), axis=1)
        factor = None
        for _ in range(_STEPS):
            going = np.flatnonzero(~converged & ~lost)
            if not len(going):
                break
            rows = everyone[going]
            r = self.residuals(c[going], rows)
            slopes = self._at(c[going], rows)
            lost[going] = ~_finite(r, slopes)
            if lost[going].any():  # one of them would spoil the mean of all
                continue
            if factor is None or not linear:
                factor = self._common(slopes)
            if factor.open:
                return c, steps, converged, factor.open
            d = self._step(factor, slopes, r, sizes[going] + np.linalg.norm(r, axis=1))
            norms, size = np.linalg.norm(r, axis=1), np.ones((len(going), 1))
            for _ in range(0 if linear else _HALVINGS):
                with np.errstate(all="ignore"):
                    new = np.linalg.norm(self.residuals(c[going] + size * d, rows), axis=1)
                worse = ~(new <= norms * (1 + 1e-9))
                if not worse.any():
                    break
                size[worse] /= 2
            d *= size
            good = np.isfinite(d).all(axis=1)
            c[going[good]] += d[good]
            steps[going] += 1
            lost[going[~good]] = True
            change = np.linalg.norm(d, axis=1) / (np.linalg.norm(c[going], axis=1) + 1e-300)
            stalled = (change <= _STALLED) & (change > 0.5 * last[going])
            converged[going] = good & ((change <= _DONE) | stalled)
            last[going] = change
        return c, steps, converged, 0

    def _step(
        self, factor: Factor | Truncated, slopes: Slopes, r: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """The steps d (n, p) that minimise |J d + r|, by preconditioned CGLS for all functions.

        The rows come from numbers of these sizes (n,).
        """
        blocks = self.blocks
        ends = np.cumsum([block.count for block in blocks])[:-1]

        def times(v: np.ndarray) -> np.ndarray:
            every = zip(blocks, slopes, strict=True)
            return np.concatenate([b.times(s, v).reshape(len(v), -1) for b, s in every], axis=1)

        def gradient(r: np.ndarray) -> np.ndarray:
            every = zip(blocks, slopes, np.split(r, ends, axis=1), strict=True)
            found: Any = sum(b.transposed(s, own.reshape(len(r), b.equations, -1)) for b, s, own in every)
            return factor.scaled_transposed(found)

        rest, d = -r, np.zeros((len(r), self.width))
        g = gradient(rest)
        q, size = g, np.einsum("np,np->n", g, g)
        none = (_ROUNDING * sizes) ** 2
        enough, too_little = (np.maximum(share**2 * size, none) for share in (_ENOUGH, _TOO_LITTLE))
        for _ in range(_ITERATIONS if self._alike and len(r) > _SINGLE else 0):
            open_ = size > enough
            if not open_.any():
                break
            v = factor.scaled(q)
            w = times(v)
            length = np.einsum("nr,nr->n", w, w)
            along = np.divide(size, length, out=np.zeros_like(size), where=open_ & (length > 0))[:, None]
            d += along * v
            rest -= along * w
            g = gradient(rest)
            new = np.einsum("np,np->n", g, g)
            q = g + np.divide(new, size, out=np.zeros_like(size), where=size > 0)[:, None] * q
            size = np.where(open_, new, size)
        slow = np.flatnonzero(size > too_little)
        self._alike = self._alike and (2 * len(slow) <= len(r) or len(r) <= _SINGLE)
        for i in slow:
            J = self.dense([{key: own[i : i + 1] for key, own in s.items()} for s in slopes])
            d[i] = factor.of_another(J, -r[i])
        return d


def _finite(r: np.ndarray, slopes: Slopes) -> np.ndarray:
    """Which functions (n,) have finite residuals and slopes."""
    found = np.isfinite(r).all(axis=1)
    for own in slopes:
        for slope in own.values():
            found &= np.isfinite(slope).all(axis=(1, 2))
    return found


def _of(u: dict[Key, np.ndarray], which: Any) -> dict[Key, np.ndarray]:
    return {key: own[which] for key, own in u.items()}

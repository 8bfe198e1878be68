"""Models whose variances have a closed form: an affine map, and Gaussian kernels with few large coefficients.

In independent numbers v, uniform in [0, 1] or standard normal, such a model is

    y = constant + sum_i l_i v_i + sum_j c_j e_j prod_i f_ij(v_i) ,   f_ij(v) = exp(-t g_i (v + p_ij)^2 / 2) ,

because squared distances are sums over v_i. All means and variances are then sums of products of integrals
over one v_i, which Gauss quadrature gives to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

from elmonet.description import Description, Operation
from elmonet.description import operations as ops
from elmonet.prior import Prior

_NODES = {"uniform": 128, "normal": 64}  # of quadrature
_NARROW = {"uniform": 20.0, "normal": 3.0}  # inverse width of kernels up to which these resolve them
_ENTRIES = 5 * 10**7  # of all matrices
_ROUNDING = 1e-6  # of the variance, above which coefficients cancel too much
_ACROSS = 1e-10  # cosine of directions that count as orthogonal


@dataclass(frozen=True, eq=False)
class Separable:
    """A model in separable form, with integrals over each of d numbers.

    Attributes
    ----------
    linear : (k, d), factors l of the numbers.
    variances : (d,), of the numbers.
    coefficients : (k, n), factors c e of the products.
    means, with_number : (d, n), means of f_ij, and covariances of v_i with f_ij.
    seconds : (d, n, n), means of ``f_ij f_il``.
    """

    linear: np.ndarray
    variances: np.ndarray
    coefficients: np.ndarray
    means: np.ndarray
    with_number: np.ndarray
    seconds: np.ndarray

    @classmethod
    def of(cls, description: Description, prior: Prior, whole: bool) -> Separable | None:
        """Return a description in this form, for inputs of this distribution; None if it has no such form.

        If functions count as a whole, their directions are rotated such that a kernel sees them orthogonal.
        """
        kinds = [kind for block in prior.blocks for kind in [block.kind] * block.size]
        if not set(kinds) <= {"uniform", "normal"}:
            return None
        found = _as_sum(description.operations, prior.size)
        if found is None:
            return None
        form, kernel, seen = found
        m, d = prior.size, prior.directions
        origin, directions = np.zeros(m), np.zeros((m, d))
        for block, start, end in zip(prior.blocks, prior.ends[:-1], prior.ends[1:], strict=True):
            origin[block.columns] = block.mean
            factor = block.factor
            if whole and block.kind == "normal" and seen is not None:
                factor = factor @ np.linalg.svd(seen[:, 1 + block.columns] @ factor)[2].T
            directions[block.columns, start:end] = factor
        variances = np.array([1 / 12 if kind == "uniform" else 1.0 for kind in kinds])
        linear, coefficients = form[:, 1 : m + 1] @ directions, form[:, m + 1 :]
        n = coefficients.shape[1]
        if n == 0 or kernel is None or seen is None:
            empty = np.ones((d, 0))
            return cls(linear, variances, coefficients, empty, empty, np.ones((d, 0, 0)))
        if d * n * n > _ENTRIES:
            return None
        return cls._with_kernel(linear, variances, coefficients, kinds, kernel, seen, origin, directions)

    @classmethod
    def _with_kernel(
        cls,
        linear: np.ndarray,
        variances: np.ndarray,
        coefficients: np.ndarray,
        kinds: Sequence[str],
        kernel: ops.Kernel,
        seen: np.ndarray,
        origin: np.ndarray,
        directions: np.ndarray,
    ) -> Separable | None:
        """Return the form with a Gaussian kernel, which sees the affine map `seen` (m, 1 + inputs)."""
        D, (d, n) = seen[:, 1:] @ directions, (len(kinds), kernel.size)
        apart = seen[:, 0] + seen[:, 1:] @ origin - kernel.centres[0]  # (n, m), at v = 0
        G = D.T @ D
        g = G.diagonal().copy()
        sizes = np.sqrt(np.outer(g, g))
        if (np.abs(G - np.diag(g)) > _ACROSS * sizes).any():
            return None
        t = kernel.scale**2 / D.shape[0]
        if any(np.sqrt(t * own) > _NARROW[kind] for own, kind in zip(g, kinds, strict=True)):
            return None
        p = np.divide(apart @ D, g, out=np.zeros((n, d)), where=g > 0)
        rest = np.maximum(np.sum(apart**2, axis=1) - p**2 @ g, 0)
        means, with_number, seconds = np.empty((d, n)), np.empty((d, n)), np.empty((d, n, n))
        for i, kind in enumerate(kinds):
            v, w = _quadrature(kind)
            f = np.exp(-0.5 * t * g[i] * (v[:, None] + p[:, i]) ** 2)
            means[i], seconds[i] = w @ f, (f.T * w) @ f
            with_number[i] = (w * (v - w @ v)) @ (f - means[i])
        return cls(linear, variances, coefficients * np.exp(-0.5 * t * rest), means, with_number, seconds)

    def explained(self, columns: np.ndarray) -> np.ndarray:
        """Return the variance (k,) of the mean of y given the numbers in these columns."""
        own = np.zeros(len(self.variances), bool)
        own[columns] = True
        total = self.linear[:, own] ** 2 @ self.variances[own]
        outside = self.means[~own].prod(axis=0)
        both = np.multiply.reduce(self.seconds[own], axis=0)
        inside = self.means[own].prod(axis=0)
        weighted = self.coefficients * outside
        total += np.einsum("kj,kj->k", weighted @ (both - np.outer(inside, inside)), weighted)
        for i in np.flatnonzero(own):
            others = np.delete(self.means, i, axis=0).prod(axis=0)
            total += 2 * self.linear[:, i] * (self.coefficients @ (others * self.with_number[i]))
        return np.maximum(total, 0)

    def is_accurate(self, variance: np.ndarray) -> bool:
        """Whether rounding is small beside this variance (k,) of y: large coefficients cancel."""
        size = np.abs(self.coefficients)
        largest = np.einsum("kj,kj->k", size @ np.multiply.reduce(self.seconds, axis=0), size)
        return bool(np.finfo(float).eps * largest.sum() <= _ROUNDING * variance.sum())


def _quadrature(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for a number that is uniform in [0, 1], or standard normal."""
    if kind == "uniform":
        x, w = leggauss(_NODES[kind])
        return (x + 1) / 2, w / 2
    x, w = hermegauss(_NODES[kind])
    return x, w / w.sum()


def _as_sum(
    operations: Sequence[Operation], m: int
) -> tuple[np.ndarray, ops.Kernel | None, np.ndarray | None] | None:
    """Return the result as factors (k, 1 + m + n) of 1, x and kernel values; the kernel, and what it sees."""
    forms: list[np.ndarray] = [np.eye(m, m + 1, 1)]
    kernel: ops.Kernel | None = None
    seen: np.ndarray | None = None
    for op in operations:
        xs = [forms[source] for source in op.sources]
        width = max(form.shape[1] for form in forms)
        if op.size * width > _ENTRIES:
            return None
        if isinstance(op, ops.Kernel):
            if kernel is not None or op.kernel != "rbf" or len(op.centres) > 1:
                return None
            kernel, seen = op, xs[0]
            form = np.eye(op.size, m + 1 + op.size, m + 1)
            form[:, 0] = -1.0 if op.less_one else 0.0
        else:
            wide = [np.pad(own, ((0, 0), (0, width - own.shape[1]))) for own in xs]
            made = _linear(op, wide)
            if made is None:
                return None
            form = made
        forms.append(form)
    return forms[-1], kernel, seen


def _linear(op: Operation, xs: list[np.ndarray]) -> np.ndarray | None:
    """Return the factors of the result of an operation that is affine; None if it is not."""
    x = xs[0]
    if isinstance(op, ops.AffineMap):
        form = np.einsum("ij,rjw->riw", op.matrix, x.reshape(op.rows, -1, x.shape[1])).reshape(op.size, -1)
        if op.shift is not None:
            form[:, 0] += np.tile(op.shift, op.rows)
        return form
    if isinstance(op, ops.Scale):
        form = x * np.tile(op.factor, op.rows)[:, None]
        if op.before is not None:
            form[:, 0] -= np.tile(op.before * op.factor, op.rows)
        if op.after is not None:
            form[:, 0] += np.tile(op.after, op.rows)
        return form
    if isinstance(op, ops.Gather):
        return np.where((op.index >= 0)[:, None], x[op.index], 0.0)
    if isinstance(op, ops.Concatenate):
        return np.concatenate(xs)
    if isinstance(op, ops.Sum):
        return np.asarray(sum(xs[1:], xs[0]))
    if isinstance(op, ops.Constant):
        form = np.zeros((op.size, x.shape[1]))
        form[:, 0] = op.values
        return form
    return None

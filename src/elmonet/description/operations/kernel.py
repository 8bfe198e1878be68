"""Kernels between the input and centres."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elmonet.description.operations.base import Arrays, Operation
from elmonet.linalg import product

_ROOTS = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(Operation):
    """The mean over parts p of ``k(x_p, c_pj)``, for each centre j; see `InfiniteWidth` for the kernels.

    Attributes
    ----------
    centres : (parts, size, m); x holds the parts (m,) one after another.
    kernel, scale : name of the kernel, and the factor on root-mean-square distances.
    less_one : the result is k - 1, which keeps digits that k would round away where it is nearly 1.
    """

    centres: np.ndarray
    kernel: str
    scale: float
    less_one: bool = False

    @cached_property
    def squares(self) -> np.ndarray:
        """Mean squares (parts, size) of the centres."""
        return np.einsum("pij,pij->pi", self.centres, self.centres) / self.centres.shape[2]

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        parts = self._parts(xs[0])
        total = _kernel(self, parts[0], 0)
        for p in range(1, len(parts)):
            total += _kernel(self, parts[p], p)
        return total if len(parts) == 1 else total / len(parts)

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result and, of each part, the factors of ``c . dx`` and ``x . dx`` in its change."""
        parts = self._parts(xs[0])
        found = [_kernel_and_factors(self, part, p) for p, part in enumerate(parts)]
        total = np.asarray(sum(K for K, _, _ in found)) / len(found)
        return total, (parts, [(P, Q) for _, P, Q in found])

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the change of the kernel."""
        parts, factors = memo
        total = np.zeros((len(dxs[0]), self.size))
        for x, dx, c, (P, Q) in zip(parts, self._parts(dxs[0]), self.centres, factors, strict=True):
            along = product(dx, c.T)
            along *= P
            total = total + along + Q * np.einsum("ij,ij->i", x, dx)[:, None]
        return total / len(parts)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the gradient by x."""
        parts, factors = memo
        found = np.empty((len(parts), len(g), self.centres.shape[2]))
        for out, x, c, (P, Q) in zip(found, parts, self.centres, factors, strict=True):
            out[:] = product(g * P, c)
            out += x * np.einsum("ij,ij->i", g, np.broadcast_to(Q, g.shape))[:, None]
        found /= len(parts)
        return [np.moveaxis(found, 0, 1).reshape(len(g), -1)]

    def _parts(self, x: np.ndarray) -> np.ndarray:
        """Return the parts (parts, n, m) of x."""
        parts = x.reshape(len(x), len(self.centres), -1)
        return np.ascontiguousarray(np.moveaxis(parts, 1, 0))


def _products(op: Kernel, x: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean products, scaled: of x with the centres, with itself, and of the centres."""
    s2 = op.scale**2
    xy = product(x, op.centres[p].T)
    xy *= s2 / x.shape[1]
    xx = np.sum(x * x, axis=1) * (s2 / x.shape[1])
    return xy, xx[:, None], s2 * op.squares[p]


def _kernel(op: Kernel, x: np.ndarray, p: int) -> np.ndarray:
    """Return the kernel (n, size) of part p."""
    xy, xx, yy = _products(op, x, p)
    if op.kernel == "relu":
        return _arc_cosine(xy + 1, xx + 1, yy + 1)[0]
    r2 = xy
    r2 *= -2
    r2 += xx
    r2 += yy
    r2 = np.maximum(r2, 0)
    return _radial(op, r2)[0]


def _radial(op: Kernel, r2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the kernel at squared distances r2; a, the root of these times a factor; and ``exp(-a)``."""
    if op.kernel == "rbf":
        K = np.expm1(-0.5 * r2) if op.less_one else np.exp(-0.5 * r2)
        return K, r2, K + 1 if op.less_one else K
    a = np.sqrt(_ROOTS[op.kernel] * r2)
    start = np.expm1(-a) if op.less_one else np.exp(-a)
    E = start + 1 if op.less_one else start
    if op.kernel == "matern12":
        return start, a, E
    return start + E * (a if op.kernel == "matern32" else a + a * a / 3), a, E


def _kernel_and_factors(op: Kernel, x: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the kernel of part p, and P, Q: its change is ``P (c . dx) + Q (x . dx)``."""
    xy, xx, yy = _products(op, x, p)
    unit = op.scale**2 / x.shape[1]
    if op.kernel == "relu":
        K, angle, root = _arc_cosine(xy + 1, xx + 1, yy + 1)
        return K, (1 - angle / np.pi) * unit, root / (np.pi * (xx + 1)) * unit
    r2 = np.maximum(xx + yy - 2 * xy, 0)
    K, a, E = _radial(op, r2)
    if op.kernel == "rbf":
        D = -0.5 * E
    elif op.kernel == "matern12":  # not differentiable at a centre: 0 there
        D = -0.5 * np.divide(E, a, out=np.zeros_like(E), where=a != 0)
    elif op.kernel == "matern32":
        D = -1.5 * E
    else:
        D = (-5 / 6) * (1 + a) * E
    D *= 2 * unit
    return K, -D, D


def _arc_cosine(xy: np.ndarray, xx: np.ndarray, yy: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arc-cosine kernel, the angle t, and ``|x| |y| sin t``."""
    size = np.sqrt(xx) * np.sqrt(yy)
    cosine = np.clip(xy / size, -1, 1)
    angle = np.arccos(cosine)
    root = size * np.sqrt(1 - cosine**2)
    return (root + (np.pi - angle) * cosine * size) / np.pi, angle, root

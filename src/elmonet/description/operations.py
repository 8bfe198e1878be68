"""The array operations that fitted models consist of, each with its value, tangent and adjoint in NumPy.

Every value is a vector of fixed length; n cases are the rows of a matrix (n, size). The set is small and
closed, so that a writer for another language is a few lines for each of them:

    Affine       A x + b, for each of some rows that x consists of
    Scale        (x - before) * factor + after, elementwise
    Elementwise  an activation, exponential or logarithm
    Kernel       the mean over parts of k(x, centre), for each centre
    Gather       x[index], zero where the index is -1
    Concat, Sum, Product, Constant
    Clip         within limits
    Amplitude    x / a and log a, with a = max |x|
    March        a loop over time, whose body is a list of operations

A new linear map, such as a transform along the axes of a grid, is an `Affine` with rows between two `Gather`.

For derivatives, `linearised` gives the value and whatever `tangent` (J dx) and `adjoint` (J' g) need again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, ndtr

from elmonet.linalg import product

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """One operation: which values it takes, and the length of its result.

    Attributes
    ----------
    sources : numbers of the values it takes; 0 is the input of the list, i + 1 the result of operation i.
    size : length of the result.
    """

    sources: tuple[int, ...]
    size: int

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result (n, size) of the sources (n, .)."""
        raise NotImplementedError

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result, and what `tangent` and `adjoint` need."""
        return self.value(xs), xs

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the change of the result for small changes of the sources."""
        raise NotImplementedError

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the gradient by each source, from that by the result."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class Affine(Operation):
    """``A x + b`` for matrix A (k, m) and shift b (k,) or None; x holds `rows` vectors one after another."""

    matrix: np.ndarray
    shift: np.ndarray | None = None
    rows: int = 1

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        y = self._times(xs[0], self.matrix.T)
        return y if self.shift is None else _plus(y.reshape(-1, len(self.shift)), self.shift).reshape(y.shape)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``A dx``."""
        return self._times(dxs[0], self.matrix.T)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return ``A' g``."""
        return [self._times(g, self.matrix)]

    def _times(self, x: np.ndarray, A: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(x).reshape(len(x) * self.rows, -1)
        return product(rows, A).reshape(len(x), -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scale(Operation):
    """``(x - before) * factor + after``, elementwise; all (size / rows,), or None for nothing.

    x holds `rows` vectors one after another, which are treated alike.
    """

    factor: np.ndarray
    before: np.ndarray | None = None
    after: np.ndarray | None = None
    rows: int = 1

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        x = xs[0].reshape(-1, len(self.factor))
        y = (x if self.before is None else x - self.before) * self.factor
        return (y if self.after is None else _plus(y, self.after)).reshape(xs[0].shape)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``factor dx``."""
        return (dxs[0].reshape(-1, len(self.factor)) * self.factor).reshape(dxs[0].shape)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return ``factor g``."""
        return [self.tangent(memo, [g])]


def _softplus(z: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0)


Function = Callable[[np.ndarray], np.ndarray]
# Name, function of z, and its derivative from z and the function's value y.
FUNCTIONS: dict[str, tuple[Function, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "relu": (lambda z: np.maximum(z, 0), lambda z, y: (z > 0).astype(float)),
    "tanh": (np.tanh, lambda z, y: 1 - y * y),
    "sin": (np.sin, lambda z, y: np.cos(z)),
    "cos": (np.cos, lambda z, y: -np.sin(z)),
    "gelu": (lambda z: z * ndtr(z), lambda z, y: ndtr(z) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)),
    "sigmoid": (expit, lambda z, y: y * (1 - y)),
    "softplus": (_softplus, lambda z, y: expit(z)),
    "exp": (np.exp, lambda z, y: y),
    "log": (np.log, lambda z, y: 1 / z),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Elementwise(Operation):
    """One of `FUNCTIONS`, at each value."""

    function: str

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return FUNCTIONS[self.function][0](xs[0])

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result and the derivative."""
        y = FUNCTIONS[self.function][0](xs[0])
        return y, FUNCTIONS[self.function][1](xs[0], y)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the derivative times dx."""
        return memo * dxs[0]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the derivative times g."""
        return [memo * g]


_ROOTS = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(Operation):
    """The mean over parts p of ``k(x_p, c_pj)``, for each centre j; see `InfiniteWidth` for the kernels.

    Attributes
    ----------
    centres : (parts, size, m); x holds the parts (m,) one after another.
    kernel, scale : name of the kernel, and the factor on root-mean-square distances.
    """

    centres: np.ndarray
    kernel: str
    scale: float

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
    if op.kernel == "rbf":
        return np.exp(-0.5 * r2)
    r2 *= _ROOTS[op.kernel]
    a = np.sqrt(r2)
    E = np.exp(-a)
    if op.kernel == "matern32":
        E *= 1 + a
    if op.kernel == "matern52":
        E *= 1 + a + r2 / 3
    return E


def _kernel_and_factors(op: Kernel, x: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the kernel of part p, and P, Q: its change is ``P (c . dx) + Q (x . dx)``."""
    xy, xx, yy = _products(op, x, p)
    unit = op.scale**2 / x.shape[1]
    if op.kernel == "relu":
        K, angle, root = _arc_cosine(xy + 1, xx + 1, yy + 1)
        return K, (1 - angle / np.pi) * unit, root / (np.pi * (xx + 1)) * unit
    r2 = np.maximum(xx + yy - 2 * xy, 0)
    if op.kernel == "rbf":
        K = np.exp(-0.5 * r2)
        D = -0.5 * K
    else:
        w = _ROOTS[op.kernel]
        a = np.sqrt(w * r2)
        E = np.exp(-a)
        if op.kernel == "matern12":  # not differentiable at a centre: 0 there
            K, D = E, -0.5 * np.divide(E, a, out=np.zeros_like(E), where=a != 0)
        elif op.kernel == "matern32":
            K, D = (1 + a) * E, -1.5 * E
        else:
            K, D = (1 + a + a * a / 3) * E, (-5 / 6) * (1 + a) * E
    D *= 2 * unit
    return K, -D, D


def _arc_cosine(xy: np.ndarray, xx: np.ndarray, yy: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arc-cosine kernel, the angle t, and ``|x| |y| sin t``."""
    size = np.sqrt(xx) * np.sqrt(yy)
    cosine = np.clip(xy / size, -1, 1)
    angle = np.arccos(cosine)
    root = size * np.sqrt(1 - cosine**2)
    return (root + (np.pi - angle) * cosine * size) / np.pi, angle, root


@dataclass(frozen=True, eq=False, kw_only=True)
class Gather(Operation):
    """``x[index]``, with zeros where the index is -1; `width` is the length of x."""

    index: np.ndarray
    width: int

    @cached_property
    def _has_zeros(self) -> bool:
        return bool((self.index < 0).any())

    @cached_property
    def _back(self) -> csr_array:
        """The transposed matrix (width, size), in rows."""
        kept = np.flatnonzero(self.index >= 0)
        ones = np.ones(len(kept))
        return csr_array((ones, (self.index[kept], kept)), (self.width, len(self.index)))

    @cached_property
    def _inverse(self) -> np.ndarray | None:
        """Where each value goes, if none is taken twice; -1 for those that are not taken."""
        kept = np.flatnonzero(self.index >= 0)
        if len(np.unique(self.index[kept])) < len(kept):
            return None
        found = np.full(self.width, -1)
        found[self.index[kept]] = kept
        return found

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return _taken(xs[0], self.index, self._has_zeros)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``dx[index]``."""
        return self.value(dxs)

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the sums of g over equal indices."""
        if self._inverse is not None:
            return [_taken(g, self._inverse, bool((self._inverse < 0).any()))]
        return [np.ascontiguousarray((self._back @ g.T).T)]


def _taken(x: np.ndarray, index: np.ndarray, zeros: bool) -> np.ndarray:
    if x.shape[1] == 0:  # all are zeros
        return np.zeros((len(x), len(index)))
    y = x.take(index, axis=1)
    if zeros:
        y[:, index < 0] = 0
    return y


@dataclass(frozen=True, eq=False, kw_only=True)
class Concat(Operation):
    """The sources one after another; `sizes` are their lengths."""

    sizes: tuple[int, ...]

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.hstack(list(xs))

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the changes one after another."""
        return np.hstack(list(dxs))

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the parts of g."""
        return np.split(g, np.cumsum(self.sizes)[:-1], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(Operation):
    """The sum of the sources."""

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.asarray(sum(xs[1:], xs[0]))

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the sum of the changes."""
        return np.asarray(sum(dxs[1:], dxs[0]))

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return g for each source."""
        return [g] * len(self.sources)


@dataclass(frozen=True, eq=False, kw_only=True)
class Product(Operation):
    """The product of two sources, elementwise."""

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return xs[0] * xs[1]

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return ``dx y + x dy``."""
        return dxs[0] * memo[1] + memo[0] * dxs[1]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return ``g y`` and ``g x``."""
        return [g * memo[1], g * memo[0]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Constant(Operation):
    """The same values (size,) for every case; takes the input for its number of cases."""

    values: np.ndarray

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.broadcast_to(self.values, (len(xs[0]), self.size))

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result and the size of the source."""
        return self.value(xs), xs[0].shape[1]

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return zeros."""
        return np.zeros((len(dxs[0]), self.size))

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return zeros."""
        return [np.zeros((len(g), memo))]


@dataclass(frozen=True, eq=False, kw_only=True)
class Clip(Operation):
    """The values, or the limits `low`, `high` (size,) where they are beyond."""

    low: np.ndarray
    high: np.ndarray

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        return np.minimum(np.maximum(xs[0], self.low), self.high)

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result, and 1 where values are within the limits."""
        return self.value(xs), ((xs[0] >= self.low) & (xs[0] <= self.high)).astype(float)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the changes within the limits."""
        return memo * dxs[0]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return g within the limits."""
        return [memo * g]


TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False, kw_only=True)
class Amplitude(Operation):
    """``x / a`` and ``log a`` with ``a = max |x|``, at least the smallest positive number."""

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the result."""
        a = np.maximum(np.abs(xs[0]).max(axis=1, keepdims=True), TINY)
        return np.hstack([xs[0] / a, np.log(a)])

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the result, and where the largest value is."""
        at = np.abs(xs[0]).argmax(axis=1)
        return self.value(xs), (xs[0], at)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the change of shape and logarithm."""
        x, at = memo
        a, sign = self._largest(x, at)
        da = (sign * dxs[0][np.arange(len(x)), at])[:, None]
        return np.hstack([(dxs[0] - x * (da / a)) / a, da / a])

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the gradient by x."""
        x, at = memo
        a, sign = self._largest(x, at)
        found = g[:, :-1] / a
        found[np.arange(len(x)), at] += sign * (
            g[:, -1] / a[:, 0] - np.einsum("ij,ij->i", g[:, :-1], x / a) / a[:, 0]
        )
        return [found]

    @staticmethod
    def _largest(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        top = x[np.arange(len(x)), at]
        return np.maximum(np.abs(top), TINY)[:, None], np.sign(top)


@dataclass(frozen=True, eq=False, kw_only=True)
class March(Operation):
    """A free run: at each step, the body sees past outputs, inputs and parameters, and gives the next output.

    The sources are the inputs (g + steps) p, with g values before the first step; parameters (q,); and the h
    outputs before the first step (h c). The body sees ``[h c, (g + 1) p, q]`` values, oldest first.

    Attributes
    ----------
    body : the operations of one step, from value 0 to the last one.
    steps, past, outputs, seen, inputs, parameters : T, h, c, g + 1, p and q.
    """

    body: tuple[Operation, ...]
    steps: int
    past: int
    outputs: int
    seen: int
    inputs: int
    parameters: int

    @property
    def body_size(self) -> int:
        """Number of values that a step sees."""
        return self.past * self.outputs + self.seen * self.inputs + self.parameters

    def _seen(self, k: int, u: np.ndarray, q: np.ndarray, S: np.ndarray) -> np.ndarray:
        h, c, g, p = self.past, self.outputs, self.seen, self.inputs
        return np.hstack([S[:, k * c : (k + h) * c], u[:, k * p : (k + g) * p], q])

    def value(self, xs: Arrays) -> np.ndarray:
        """Return the run (n, steps c)."""
        return self._run(xs, keep=False)[0]

    def linearised(self, xs: Arrays) -> tuple[np.ndarray, Any]:
        """Return the run, and what each of its steps keeps."""
        return self._run(xs, keep=True)

    def _run(self, xs: Arrays, keep: bool) -> tuple[np.ndarray, Any]:
        (u, q, start), h, c = xs, self.past, self.outputs
        S = np.zeros((len(u), (h + self.steps) * c), np.result_type(*xs))
        S[:, : h * c] = start
        memos = []
        for k in range(self.steps):
            seen = self._seen(k, u, q, S)
            if keep:
                y, memo = linearise(self.body, seen)
                memos.append(memo)
            else:
                y = evaluate(self.body, seen)
            S[:, (h + k) * c : (h + k + 1) * c] = y
        return S[:, h * c :], (xs, memos)

    def tangent(self, memo: Any, dxs: Arrays) -> np.ndarray:
        """Return the change of the run."""
        (du, dq, dstart), h, c = dxs, self.past, self.outputs
        dS = np.zeros((len(du), (h + self.steps) * c))
        dS[:, : h * c] = dstart
        for k, own in enumerate(memo[1]):
            dS[:, (h + k) * c : (h + k + 1) * c] = forward(self.body, own, self._seen(k, du, dq, dS))
        return dS[:, h * c :]

    def adjoint(self, memo: Any, g: np.ndarray) -> list[np.ndarray]:
        """Return the gradients by inputs, parameters and start."""
        (u, q, start), h, c, p = memo[0], self.past, self.outputs, self.inputs
        gS = np.hstack([np.zeros_like(start, float), g])
        gu, gq, ends = np.zeros(u.shape), np.zeros(q.shape), (h * c, h * c + self.seen * p)
        for k in range(self.steps - 1, -1, -1):
            back = backward(self.body, memo[1][k], gS[:, (h + k) * c : (h + k + 1) * c])
            gS[:, k * c : (k + h) * c] += back[:, : ends[0]]
            gu[:, k * p : (k + self.seen) * p] += back[:, ends[0] : ends[1]]
            gq += back[:, ends[1] :]
        return [gu, gq, gS[:, : h * c]]


# Lists of operations


def evaluate(operations: Sequence[Operation], x: np.ndarray) -> np.ndarray:
    """Return the last value of a list of operations for inputs x (n, .)."""
    last: dict[int, int] = {}
    for i, op in enumerate(operations):
        for source in op.sources:
            last[source] = i
    values: dict[int, np.ndarray] = {0: x}
    for i, op in enumerate(operations):
        values[i + 1] = op.value([values[source] for source in op.sources])
        for source in set(op.sources):
            if last[source] == i:
                del values[source]
    return values[len(operations)]


def linearise(operations: Sequence[Operation], x: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Return the last value, and what `forward` and `backward` need of each operation."""
    values, memos = [x], []
    for op in operations:
        y, memo = op.linearised([values[source] for source in op.sources])
        values.append(y)
        memos.append(memo)
    return values[-1], memos


def forward(operations: Sequence[Operation], memos: Sequence[Any], dx: np.ndarray) -> np.ndarray:
    """Return the change of the last value for changes dx (n, .) of the input."""
    changes = [dx]
    for op, memo in zip(operations, memos, strict=True):
        changes.append(op.tangent(memo, [changes[source] for source in op.sources]))
    return changes[-1]


def backward(operations: Sequence[Operation], memos: Sequence[Any], g: np.ndarray) -> np.ndarray:
    """Return the gradient by the input, from that by the last value, (n, .)."""
    gradients: list[np.ndarray | None] = [None] * len(operations) + [g]
    for i in range(len(operations) - 1, -1, -1):
        own, gradients[i + 1] = gradients[i + 1], None
        if own is None:
            continue
        for source, part in zip(operations[i].sources, operations[i].adjoint(memos[i], own), strict=True):
            before = gradients[source]
            gradients[source] = part if before is None else before + part
    found = gradients[0]
    assert found is not None
    return found


def _plus(y: np.ndarray, shift: np.ndarray) -> np.ndarray:
    y += shift
    return y

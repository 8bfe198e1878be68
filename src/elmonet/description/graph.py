"""Descriptions: lists of operations with named inputs and outputs, and the builder that models write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from elmonet.description import operations as ops
from elmonet.description.operations import Operation

_BLOCK_ENTRIES = 1 << 23  # of all values of the cases that are evaluated at once


@dataclass(frozen=True)
class Port:
    """One input or output of a description: its name, and the shape of one case."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Description:
    """A fitted model as a list of operations, from the user's inputs to outputs in the user's units.

    One case is a vector: all inputs one after another, each in C order; outputs likewise.

    Attributes
    ----------
    operations : the list; operation i takes values 0 (the input) to i.
    inputs, outputs : names and shapes.
    points : (M, d), where the outputs are.
    facts : what a reader of an exported file should know, such as the expected error.
    novelty : a second list from the same input to how unlike the training inputs it is (1,), well outside
        them above 1; empty if it is not known.
    half, coverage : (output_size,), typical half-widths of bands around the outputs, which hold new outputs
        with this probability; None if they are not known.
    interval : between the steps of a record in time; None for anything else.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    points: np.ndarray
    facts: dict[str, Any] = field(default_factory=dict)
    novelty: tuple[Operation, ...] = ()
    half: np.ndarray | None = None
    coverage: float = 0.9
    interval: float | None = None

    @property
    def input_size(self) -> int:
        """Number of values of one input."""
        return sum(port.size for port in self.inputs)

    @property
    def output_size(self) -> int:
        """Number of values of one output."""
        return sum(port.size for port in self.outputs)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return outputs (n, output_size) of inputs (n, input_size)."""
        return self._in_blocks(lambda rows: ops.evaluate(self.operations, rows), x)

    def jvp(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Return the changes (n, output_size) of the outputs for small changes dx of the inputs."""
        return self._in_blocks(self._forward, x, dx)

    def vjp(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return gradients (n, input_size) of ``sum(g * outputs)`` by the inputs."""
        return self._in_blocks(self._backward, x, g)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives (n, output_size, input_size) of each output by each input."""
        m, k = self.input_size, self.output_size
        found = np.empty((len(x), k, m))
        for row, out in zip(x, found, strict=True):
            _, memos = ops.linearise(self.operations, row[None])
            if m <= k:
                out[:] = self._directions(ops.forward, memos, m).T
            else:
                out[:] = self._directions(ops.backward, memos, k)
        return found

    def _directions(self, along: Callable[..., np.ndarray], memos: list[Any], size: int) -> np.ndarray:
        """Return derivatives of one case along all unit vectors, some at a time."""
        step = max(1, self._rows)
        parts = []
        for start in range(0, size, step):
            some = np.eye(size)[start : start + step]
            parts.append(along(self.operations, _repeated(memos, len(some)), some))
        return np.concatenate(parts)

    def _forward(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        return ops.forward(self.operations, ops.linearise(self.operations, x)[1], dx)

    def _backward(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        return ops.backward(self.operations, ops.linearise(self.operations, x)[1], g)

    @cached_property
    def _rows(self) -> int:
        """Number of cases that are evaluated at once."""
        return max(1, _BLOCK_ENTRIES // (self.input_size + _entries(self.operations)))

    def _in_blocks(self, work: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
        if len(arrays[0]) <= self._rows:
            return work(*arrays)
        starts = range(0, len(arrays[0]), self._rows)
        return np.concatenate([work(*(A[s : s + self._rows] for A in arrays)) for s in starts])

    def split(self, values: np.ndarray, ports: Sequence[Port]) -> Iterator[tuple[Port, np.ndarray]]:
        """Return the part of values (n, .) that belongs to each port, in its shape."""
        at = 0
        for port in ports:
            yield port, values[:, at : at + port.size].reshape(len(values), *port.shape)
            at += port.size


def _entries(operations: Sequence[Operation]) -> int:
    total = 0
    for op in operations:
        total += op.size
        if isinstance(op, ops.March):
            total += op.steps * _entries(op.body)
    return total


def _repeated(memo: Any, count: int) -> Any:
    """Return what operations kept of one case for several directions; small arrays are broadcast."""
    if isinstance(memo, np.ndarray):
        if memo.ndim == 3:  # parts of a kernel (parts, 1, m)
            return np.broadcast_to(memo, (memo.shape[0], count, memo.shape[2]))
        return np.broadcast_to(memo, (count, *memo.shape[1:]))
    if isinstance(memo, (list, tuple)):
        return type(memo)(_repeated(part, count) for part in memo)
    return memo


class Graph:
    """The builder of a list of operations: each method adds one and returns the number of its value."""

    def __init__(self, size: int) -> None:
        self.operations: list[Operation] = []
        self.sizes = [size]

    def add(self, op: Operation) -> int:
        """Add an operation; return the number of its value."""
        self.operations.append(op)
        self.sizes.append(op.size)
        return len(self.operations)

    def affine(self, x: int, matrix: np.ndarray, shift: Any = None, rows: int = 1) -> int:
        """Add ``matrix x + shift``, for each of some rows of x."""
        A = np.ascontiguousarray(matrix, np.float64)
        assert A.shape[1] * rows == self.sizes[x], (A.shape, rows, self.sizes[x])
        b = None if shift is None else np.asarray(shift, np.float64).ravel()
        return self.add(ops.AffineMap(sources=(x,), size=len(A) * rows, matrix=A, shift=b, rows=rows))

    def scale(self, x: int, factor: Any = 1.0, before: Any = None, after: Any = None, rows: int = 1) -> int:
        """Add ``(x - before) * factor + after`` for each of some rows of x; nothing, if that is x."""
        size = self.sizes[x] // rows
        factor, before, after = (
            None if part is None else np.array(np.broadcast_to(np.ravel(part), size), np.float64)
            for part in (factor, before, after)
        )
        before, after = (None if part is None or not part.any() else part for part in (before, after))
        if before is None and after is None and np.all(factor == 1):
            return x
        return self.add(
            ops.Scale(sources=(x,), size=self.sizes[x], factor=factor, before=before, after=after, rows=rows)
        )

    def elementwise(self, x: int, function: str) -> int:
        """Add a function of each value."""
        assert function in ops.FUNCTIONS
        return self.add(ops.Elementwise(sources=(x,), size=self.sizes[x], function=function))

    def kernel(
        self, x: int, centres: np.ndarray, kernel: str, scale: float, *, less_one: bool = False
    ) -> int:
        """Add the kernel of x with centres (parts, count, m), or the kernel minus one."""
        c = np.ascontiguousarray(centres, np.float64)
        assert c.shape[0] * c.shape[2] == self.sizes[x]
        return self.add(
            ops.Kernel(
                sources=(x,), size=c.shape[1], centres=c, kernel=kernel, scale=float(scale), less_one=less_one
            )
        )

    def gather(self, x: int, index: Any) -> int:
        """Add ``x[index]``; nothing, if that is x."""
        index = np.ascontiguousarray(np.ravel(index), np.int64)
        size = self.sizes[x]
        assert index.max(initial=-1) < size
        if len(index) == size and np.array_equal(index, np.arange(size)):
            return x
        return self.add(ops.Gather(sources=(x,), size=len(index), index=index, width=size))

    def part(self, x: int, start: int, end: int) -> int:
        """Add a stretch of x."""
        return self.gather(x, np.arange(start, end))

    def concat(self, xs: Sequence[int]) -> int:
        """Add values one after another."""
        if len(xs) == 1:
            return xs[0]
        sizes = tuple(self.sizes[x] for x in xs)
        return self.add(ops.Concatenate(sources=tuple(xs), size=sum(sizes), sizes=sizes))

    def sum(self, xs: Sequence[int]) -> int:
        """Add the sum of values."""
        assert len({self.sizes[x] for x in xs}) == 1
        return xs[0] if len(xs) == 1 else self.add(ops.Sum(sources=tuple(xs), size=self.sizes[xs[0]]))

    def product(self, xs: Sequence[int]) -> int:
        """Add the product of values."""
        found = xs[0]
        for x in xs[1:]:
            assert self.sizes[x] == self.sizes[found]
            found = self.add(ops.Product(sources=(found, x), size=self.sizes[x]))
        return found

    def constant(self, values: Any) -> int:
        """Add values that do not depend on the input."""
        values = np.array(np.ravel(values), np.float64)
        return self.add(ops.Constant(sources=(0,), size=len(values), values=values))

    def clip(self, x: int, low: Any, high: Any) -> int:
        """Add limits."""
        size = self.sizes[x]
        low, high = (np.array(np.broadcast_to(np.ravel(end), size), np.float64) for end in (low, high))
        return self.add(ops.Clip(sources=(x,), size=size, low=low, high=high))

    def amplitude(self, x: int) -> int:
        """Add ``x / a`` and ``log a``, a being the largest size."""
        return self.add(ops.Amplitude(sources=(x,), size=self.sizes[x] + 1))

    def march(
        self, u: int, parameters: int, start: int, body: Graph, *, steps: int, past: int, outputs: int,
        seen: int, inputs: int,
    ) -> int:  # fmt: skip
        """Add a free run of a step."""
        assert body.sizes[0] == past * outputs + seen * inputs + self.sizes[parameters]
        assert body.sizes[-1] == outputs
        return self.add(
            ops.March(
                sources=(u, parameters, start), size=steps * outputs, body=tuple(body.operations),
                steps=steps, past=past, outputs=outputs, seen=seen, inputs=inputs,
                parameters=self.sizes[parameters],
            )
        )  # fmt: skip

    def along_axis(self, x: int, shape: tuple[int, ...], axis: int, matrix: np.ndarray) -> int:
        """Add a matrix (k, shape[axis]) along one axis of x, an array of a shape."""
        n, after = shape[axis], prod(shape[axis + 1 :])
        before = prod(shape[:axis])
        if after > 1:
            x = self.gather(x, np.arange(prod(shape)).reshape(before, n, after).swapaxes(1, 2))
        x = self.affine(x, matrix, rows=before * after)
        if after > 1:
            index = np.arange(before * after * len(matrix)).reshape(before, after, len(matrix))
            x = self.gather(x, index.swapaxes(1, 2))
        return x

    def finished(self, last: int) -> tuple[Operation, ...]:
        """Return the operations that the value `last` needs, which becomes the last one."""
        needed, keep = {last}, []
        for i in range(len(self.operations), 0, -1):
            if i in needed:
                needed.update(self.operations[i - 1].sources)
                keep.append(i)
        keep.reverse()
        if last == 0:
            return (ops.Scale(sources=(0,), size=self.sizes[0], factor=np.ones(self.sizes[0])),)
        number = {0: 0} | {old: new for new, old in enumerate(keep, start=1)}
        return tuple(_renumbered(self.operations[i - 1], number) for i in keep)


def _renumbered(op: Operation, number: dict[int, int]) -> Operation:
    return replace(op, sources=tuple(number[source] for source in op.sources))

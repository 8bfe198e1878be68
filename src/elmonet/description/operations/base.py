"""One operation, and lists of them: values, tangents and adjoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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

"""Free runs: a loop over time, whose body is a list of operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.description.operations.base import Arrays, Operation, backward, evaluate, forward, linearise


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

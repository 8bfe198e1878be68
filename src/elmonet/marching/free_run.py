"""Free runs of a step: many records at once, each output the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.linalg import product
from elmonet.marching.step import Series, Step


@dataclass(frozen=True, eq=False)
class Runner:
    """A step with coefficients, to run freely.

    Attributes
    ----------
    step : coordinates and features.
    limits : (2, c), beyond which values are cut off: such a run has left everything that is known.
    """

    step: Step
    limits: np.ndarray

    def run(self, series: Sequence[Series], coefficients: np.ndarray) -> list[np.ndarray]:
        """Return the free run (T_i, c) of each series, which may differ in length.

        Coefficients are (F, c), or (n, F, c) with those of each series.
        """
        if coefficients.ndim == 2:
            return self._run(series, coefficients)
        found = self.run_each(series, coefficients[:, None])
        return [one[0] for one in found]

    def run_each(self, series: Sequence[Series], coefficients: np.ndarray) -> list[np.ndarray]:
        """Return free runs (A, T_i, c) of each series with each of its own coefficients (n, A, F, c)."""
        n, A, F, c = coefficients.shape
        if self.step.settings.feedback:
            runs = self._run([one for one in series for _ in range(A)], coefficients.reshape(n * A, F, c))
            return [np.stack(runs[i * A : (i + 1) * A]) for i in range(n)]
        out = []
        for one, own in zip(series, coefficients, strict=True):
            wide = self._filtered(one, np.moveaxis(own, 0, 1).reshape(F, A * c))
            out.append(np.clip(np.moveaxis(wide.reshape(-1, A, c), 1, 0), *self.limits))
        return out

    def _run(self, series: Sequence[Series], coefficients: np.ndarray) -> list[np.ndarray]:
        settings, (c, _, _) = self.step.settings, self.step.sizes
        if not settings.feedback:
            return [np.clip(self._filtered(one, coefficients), *self.limits) for one in series]
        if settings.every > 1:
            return self._interleaved(series, coefficients)
        lengths = np.array([len(one.u) - settings.inputs + 1 for one in series])
        order = np.argsort(-lengths, kind="stable")
        n, T, g, h = len(series), int(lengths.max(initial=0)), settings.inputs - 1, settings.outputs
        U = np.zeros((T + g, self.step.sizes[1], n))
        S = np.zeros((T + h, c, n))
        q = np.empty((self.step.sizes[2], n))
        for column, i in enumerate(order):
            U[: len(series[i].u), :, column] = series[i].u
            S[:h, :, column] = series[i].s[:h]
            q[:, column] = series[i].parameters
        C = coefficients if coefficients.ndim == 2 else np.moveaxis(coefficients[order], 0, 2)
        with threadpool_limits(1, user_api="blas"):  # threads would wait for each other at each product
            self._march(U, S, q, lengths[order], C)
        out: list[Any] = [None] * n
        for column, i in enumerate(order):
            out[i] = S[h : h + lengths[i], :, column].copy()
        return out

    def _interleaved(self, series: Sequence[Series], coefficients: np.ndarray) -> list[np.ndarray]:
        """Return runs of a coarser step: one through every e-th time, from each of the first e."""
        every, c = self.step.settings.every, self.step.sizes[0]
        settings, past = self.step.settings._replace(every=1), self.step.settings.past_outputs
        each = [
            one._replace(u=one.u[j::every], s=one.s[:past][j::every]) for one in series for j in range(every)
        ]
        own = coefficients if coefficients.ndim == 2 else np.repeat(coefficients, every, axis=0)
        runs = replace(self, step=replace(self.step, settings=settings))._run(each, own)
        out = []
        for i, one in enumerate(series):
            out.append(np.empty((len(one.u) - self.step.settings.past_inputs, c)))
            for j in range(every):
                out[-1][j::every] = runs[i * every + j]
        return out

    def _march(self, U: np.ndarray, S: np.ndarray, q: np.ndarray, lengths: np.ndarray, C: np.ndarray) -> None:
        """Fill S (h + T, c, n) step by step; columns come in the order of falling lengths."""
        step, (c, p, _), settings = self.step, self.step.sizes, self.step.settings
        h, inputs, (matrix, shift) = settings.outputs, settings.inputs, step._map
        ends = np.cumsum([h * c, inputs * p])
        of_past, of_inputs, of_numbers = map(np.ascontiguousarray, np.split(matrix, ends, axis=1))
        constant = of_numbers @ q + shift[:, None]
        low, high = self.limits[0][:, None], self.limits[1][:, None]
        T, k = int(lengths[0]) if len(lengths) else 0, 0
        while k < T:
            n = int(np.searchsorted(-lengths, -k))  # those longer than k
            stop = int(lengths[n - 1])
            if n < S.shape[2]:  # without the columns that ended
                U, shorter, constant = U[:, :, :n].copy(), S[:, :, :n].copy(), constant[:, :n].copy()
            else:
                shorter = S
            increment = _Increment(step, C[..., :n] if C.ndim == 3 else C, n)
            Z, more = np.empty((2, len(shift), n))
            for i in range(k, stop):
                np.matmul(of_past, shorter[i : i + h].reshape(h * c, n), out=Z)
                Z += np.matmul(of_inputs, U[i : i + inputs].reshape(inputs * p, n), out=more)
                Z += constant
                change = increment(Z)
                change += shorter[i + h - 1]
                np.minimum(np.maximum(change, low, out=change), high, out=shorter[i + h])
            if shorter is not S:
                S[k + h : stop + h, :, :n] = shorter[k + h : stop + h]
            k = stop

    def _filtered(self, series: Series, C: np.ndarray) -> np.ndarray:
        """Return features times coefficients (F, .) of a series without feedback."""
        steps = len(series.u) - self.step.settings.past_inputs
        blank = series._replace(s=np.zeros((steps, self.step.sizes[0])))
        C = np.ascontiguousarray(C)
        return np.concatenate([product(np.ascontiguousarray(B.T), C) for B, _ in self.step.rows([blank])])


class _Increment:
    """Features times coefficients at one step of n runs: (F, c) for all of them, or (F, c, n) for each.

    The highest products of a polynomial are not formed. With r over the products of one degree less,

        sum_(i, r) c_ir z_i p_r(z) = sum_r p_r(z) (G z)_r ,    G_ri = c_ir ,

    which is one small matrix product (Horner's scheme).
    """

    def __init__(self, step: Step, C: np.ndarray, n: int):
        self.step = step
        self.top: np.ndarray | None = None
        count = step.count
        if C.ndim == 2 and step._tails:
            *_, degree = step._tails
            below = max(begin + size for _, begin, size in degree)  # products of one degree less
            m, at = len(degree), count - sum(size for *_, size in degree)
            self.top = np.zeros((C.shape[1], below, m))
            first = at
            for i, begin, size in degree:
                self.top[:, begin : begin + size, i] = C[first : first + size].T
                first += size
            self.products = np.empty((C.shape[1] * below, n))
            self.rows, count = slice(at - below, at), at
        self.each = np.ascontiguousarray(C) if C.ndim == 3 else None
        self.shared = np.ascontiguousarray(C[:count].T)
        self.B = np.empty((count, n))

    def __call__(self, Z: np.ndarray) -> Any:
        """Return increments (c, n) at coordinates Z (m, n)."""
        B = self.step.features(Z, self.B)
        if self.each is not None:
            return np.einsum("fn,fcn->cn", B, self.each)
        change = self.shared @ B
        if self.top is not None:
            V, (c, below, m) = Z[self.step._nonlinear], self.top.shape
            W = np.matmul(self.top.reshape(c * below, m), V, out=self.products).reshape(c, below, -1)
            change += np.einsum("rn,crn->cn", B[self.rows], W)
        return change

"""One time step, learned by one linear solve over all steps of all records, and its free run.

With feedback, the value at time k follows from the last h outputs and the last g + 1 inputs,

    s(k) = s(k-1) + C' phi(z),    z = levels and differences of s(k-1), ..., s(k-h), u(k), ..., u(k-g), q ,

where q are parameters of the record; without feedback (h = 0) from a long memory of the input alone,
``s(k) = C' phi(z)``. The coordinates z are standardised, phi is fixed, and C is all that is learned. In a
free run, the outputs on the right are the model's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from elmonet.description import Graph
from elmonet.linalg import add_gram, product

DIFFERENCES = 4  # newest values that become levels and differences; older ones stay as they are
_BLOCK_ENTRIES = 2_000_000  # of a block of windows or features
_CONSTANT = 1e-12  # deviation of a coordinate that does not vary, relative to its size
_DEGREES = {"linear": 1, "quadratic": 2, "cubic": 3}
KINDS = (*_DEGREES, "tanh")


class Settings(NamedTuple):
    """What is chosen of a step.

    outputs, inputs : h and g + 1, the numbers of past outputs and of inputs that a step sees; h = 0 is a
        model without feedback.
    kind : "linear", "quadratic", "cubic" for polynomials, or "tanh" for random features beside linear ones.
    width, scale : number and scale of random features.
    """

    outputs: int
    inputs: int
    kind: str = "linear"
    width: int = 0
    scale: float = 0.0

    @property
    def feedback(self) -> bool:
        """Whether past outputs are seen."""
        return self.outputs > 0

    @property
    def memory(self) -> int:
        """Number of steps that must be known before the first one is predicted."""
        return max(self.outputs, self.inputs - 1)

    def n_features(self, outputs: int, inputs: int, parameters: int = 0) -> int:
        """Return the number of features, for records of some outputs, inputs and parameters."""
        seen = self.outputs * outputs + self.inputs * inputs + parameters
        if self.kind == "tanh":
            return 1 + seen + self.width
        p = seen if self.feedback else len(_bank(self.inputs)) * inputs + parameters
        d = _DEGREES[self.kind]
        return 1 + seen + (comb(p + d, d) - 1 - p)

    def describe(self) -> str:
        """Return the step in words."""
        what = f"{self.width} tanh features of scale {self.scale:g}" if self.kind == "tanh" else self.kind
        if not self.feedback:
            return f"without feedback: the last {self.inputs} inputs, {what}"
        outputs = "the last output" if self.outputs == 1 else f"the last {self.outputs} outputs"
        inputs = "the present input" if self.inputs == 1 else f"{self.inputs} inputs"
        return f"with feedback: {outputs} and {inputs}, {what}"


class Series(NamedTuple):
    """Part of a record, with what came before it.

    u : (g + T, p), inputs, with g values before the first step.
    s : (h + T, c), outputs likewise; only the first h are used in a free run.
    parameters : (q,), of the record.
    """

    u: np.ndarray
    s: np.ndarray
    parameters: np.ndarray


@dataclass(frozen=True, eq=False)
class Step:
    """Coordinates and features of a step; without coefficients.

    Attributes
    ----------
    settings : memory and features.
    sizes : numbers of outputs, inputs and parameters of a record.
    seed : of the random features.
    mean, deviation : (m,), of the coordinates over the training steps.
    stored : random weights from a file; None to draw them from the seed.
    """

    settings: Settings
    sizes: tuple[int, int, int]
    seed: int
    mean: np.ndarray
    deviation: np.ndarray
    stored: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, settings: Settings, series: Sequence[Series], seed: int) -> Self:
        """Return the step with coordinates standardised by the steps of some series."""
        first = series[0]
        sizes = (first.s.shape[1], first.u.shape[1], len(first.parameters))
        raw = _all_coordinates(settings, sizes)
        empty = cls(settings, sizes, seed, np.zeros(len(raw)), np.ones(len(raw)))
        count, total, squares = 0, np.zeros(len(raw)), np.zeros(len(raw))
        shift = None
        for X, _ in _blocks(series, settings):
            Z = product(raw, np.ascontiguousarray(X.T))
            shift = Z.mean(axis=1) if shift is None else shift
            Z -= shift[:, None]
            count, total = count + Z.shape[1], total + Z.sum(axis=1)
            squares += np.einsum("ij,ij->i", Z, Z)
        assert shift is not None
        mean = shift + total / count
        deviation = np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0))
        constant = deviation <= _CONSTANT * (np.abs(mean) + deviation)
        return replace(empty, mean=mean, deviation=np.where(constant, 1.0, deviation))

    @property
    def count(self) -> int:
        """Number of features."""
        return self.settings.n_features(*self.sizes)

    @cached_property
    def _map(self) -> tuple[np.ndarray, np.ndarray]:
        """The standardised coordinates as a linear map of what a step sees: matrix and shift."""
        raw = _all_coordinates(self.settings, self.sizes)
        return raw / self.deviation[:, None], -self.mean / self.deviation

    @cached_property
    def _linear(self) -> int:
        """Number of coordinates that are features themselves."""
        c, p, q = self.sizes
        return self.settings.outputs * c + self.settings.inputs * p + q

    @cached_property
    def _nonlinear(self) -> slice:
        """The coordinates that nonlinear features see: without feedback, those of the filter bank."""
        return slice(0, self._linear) if self.settings.feedback else slice(self._linear, None)

    @cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Random weights (width, m) and biases (width, 1)."""
        if self.stored is not None:
            return self.stored
        rng = np.random.default_rng(self.seed)
        m = len(range(len(self.mean))[self._nonlinear])
        A = self.settings.scale * rng.standard_normal((self.settings.width, m))
        return A, rng.uniform(-1, 1, (self.settings.width, 1))

    @cached_property
    def _tails(self) -> list[list[tuple[int, int, int]]]:
        """How the products of each degree follow from those of the degree before.

        Products are sorted by the numbers of their factors, the smallest first. So coordinate i times all
        products before whose first factor is i or later, which stand at the end, are the next ones: (i, where
        these begin, their number).
        """
        m = len(range(len(self.mean))[self._nonlinear])
        found, begins, count = [], list(range(m)), m
        for _ in range(_DEGREES.get(self.settings.kind, 1) - 1):
            found.append([(i, begin, count - begin) for i, begin in enumerate(begins)])
            sizes = [count - begin for begin in begins]
            begins = [sum(sizes[:i]) for i in range(m)]
            count = sum(sizes)
        return found

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return features (F, n) of standardised coordinates (m, n); fewer if `out` has no rows for more."""
        out = np.empty((self.count, Z.shape[1])) if out is None else out
        m = self._linear
        out[0] = 1.0
        out[1 : m + 1] = Z[:m]
        V, at = Z[self._nonlinear], m + 1
        if self.settings.kind == "tanh":
            A, b = self.weights
            rows = product(A, np.ascontiguousarray(V), out=out[at:])
            rows += b
            np.tanh(rows, out=rows)
            return out
        last = V
        for degree in self._tails:
            if at == len(out):
                break
            begin = at
            for i, tail, count in degree:
                np.multiply(last[tail:], V[i], out=out[at : at + count])
                at += count
            last = out[begin:at]
        return out

    def trace(self, coefficients: np.ndarray, limits: np.ndarray) -> Graph:
        """Write one step as array operations: from what it sees to the next output."""
        (c, p, q), settings, m = self.sizes, self.settings, self._linear
        h = settings.outputs
        graph = Graph(h * c + settings.inputs * p + q)
        Z = graph.affine(0, *self._map)
        parts = [graph.affine(graph.part(Z, 0, m), coefficients[1 : m + 1].T, coefficients[0])]
        V = graph.part(Z, *self._nonlinear.indices(len(self.mean))[:2])
        if settings.kind == "tanh":
            A, b = self.weights
            random = graph.elementwise(graph.affine(V, A, b), "tanh")
            parts.append(graph.affine(random, coefficients[m + 1 :].T))
        last, at = V, m + 1
        for degree in self._tails:
            of = np.concatenate([np.arange(tail, tail + count) for _, tail, count in degree])
            by = np.concatenate([np.full(count, i) for i, _, count in degree])
            last = graph.product([graph.gather(last, of), graph.gather(V, by)])
            parts.append(graph.affine(last, coefficients[at : at + len(of)].T))
            at += len(of)
        if h:
            parts.append(graph.part(0, (h - 1) * c, h * c))
        graph.clip(graph.sum(parts), *limits)
        return graph

    def rows(self, series: Sequence[Series]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Return features (F, n) and targets (c, n) of all steps of some series, in blocks."""
        matrix, shift = self._map
        for X, y in _blocks(series, self.settings, self.count):
            Z = product(matrix, np.ascontiguousarray(X.T))
            Z += shift[:, None]
            yield self.features(Z), np.ascontiguousarray(y.T)

    def coordinates(self, series: Sequence[Series]) -> Iterator[np.ndarray]:
        """Return the standardised linear coordinates (n, m) of all steps of each series."""
        matrix, shift = self._map
        m = self._linear
        for one in series:
            parts = [X @ matrix[:m].T + shift[:m] for X, _ in _blocks([one], self.settings)]
            yield np.concatenate(parts)

    def trace_coordinates(self, graph: Graph, x: int, rows: int) -> int:
        """Write `coordinates` of some steps, from what each sees."""
        (matrix, shift), m = self._map, self._linear
        return graph.affine(x, matrix[:m], shift[:m], rows)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over steps that determine the coefficients: of ``phi phi'`` (lower triangle) and ``phi y'``."""

    gram: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, step: Step, series: Sequence[Series]) -> Self:
        """Return the sums over all steps of some series."""
        found = cls(np.zeros((step.count, step.count), order="F"), np.zeros((step.count, step.sizes[0])))
        for B, y in step.rows(series):
            found.add(B, y)
        return found

    def add(self, B: np.ndarray, y: np.ndarray) -> None:
        """Add the steps with features B (F, n) and targets y (c, n)."""
        add_gram(self.gram, B)
        self.right[:] += product(B, np.ascontiguousarray(y.T))

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.gram + other.gram, self.right + other.right)

    def solve(self, alpha: float) -> np.ndarray | None:
        """Return coefficients (F, c) of the ridge with features scaled to norm 1; None if it is singular."""
        norms = np.sqrt(np.diag(self.gram))
        D = 1 / np.where(norms > 0, norms, 1.0)
        scaled = self.gram * D[:, None] * D
        scaled.flat[:: len(D) + 1] += alpha
        try:
            factor = cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        found = cho_solve(factor, self.right * D[:, None], check_finite=False) * D[:, None]
        return found if np.isfinite(found).all() else None


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
        steps = len(series.u) - self.step.settings.inputs + 1
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


def _blocks(
    series: Sequence[Series], settings: Settings, width: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return what steps see (n, .) and their targets (n, c), in blocks: increments, or values."""
    h, inputs = settings.outputs, settings.inputs
    for one in series:
        T, c = len(one.u) - inputs + 1, one.s.shape[1]
        raw = h * c + inputs * one.u.shape[1] + len(one.parameters)
        rows = max(1, _BLOCK_ENTRIES // max(raw, width))
        for k in range(0, T, rows):
            stop = min(T, k + rows)
            n = stop - k
            seen = [sliding_window_view(one.u[k : stop + inputs - 1], inputs, axis=0)]
            if h:
                seen.insert(0, sliding_window_view(one.s[k : stop + h - 1], h, axis=0))
            parts = [np.moveaxis(part, 2, 1).reshape(n, -1) for part in seen]  # time first, then channels
            parts.append(np.broadcast_to(one.parameters, (n, len(one.parameters))))
            y = one.s[k + h : stop + h] if one.s.shape[0] >= stop + h else np.zeros((n, c))
            yield np.concatenate(parts, axis=1), y - one.s[k + h - 1 : stop + h - 1] if h else y


def _all_coordinates(settings: Settings, sizes: tuple[int, int, int]) -> np.ndarray:
    """Return the matrix from what a step sees to its coordinates, before they are standardised.

    A step sees the past outputs, oldest first, then the inputs, then the parameters. Without feedback, the
    coordinates of the filter bank follow.
    """
    c, p, q = sizes
    h, inputs = settings.outputs, settings.inputs
    parts = [(_levels_and_differences(h), c), (_levels_and_differences(inputs), p)]
    blocks = [np.kron(matrix, np.eye(channels)) for matrix, channels in parts] + [np.eye(q)]
    total = sum(block.shape[1] for block in blocks)
    out, at = [], 0
    for block in blocks:
        out.append(np.zeros((len(block), total)))
        out[-1][:, at : at + block.shape[1]] = block
        at += block.shape[1]
    if not settings.feedback:
        bank = np.zeros((len(_bank(inputs)) * p + q, total))
        bank[: len(bank) - q, : inputs * p] = np.kron(_bank(inputs), np.eye(p))
        bank[len(bank) - q :, inputs * p :] = np.eye(q)
        out.append(bank)
    return np.concatenate(out)


def _levels_and_differences(n: int) -> np.ndarray:
    """Return the newest of n values (oldest first), its backward differences, and the older values."""
    rows, newest = np.zeros((n, n)), min(n, DIFFERENCES)
    for order in range(newest):
        for j in range(order + 1):
            rows[order, n - 1 - j] = (-1) ** j * comb(order, j)
    for i in range(newest, n):
        rows[i, n - 1 - i] = 1.0
    return rows


def _bank(n: int) -> np.ndarray:
    """Return means of n values (oldest first) over spans that double with their age: a filter bank."""
    rows, newest, span = [], 0, 1
    while newest < n:
        row = np.zeros(n)
        end = n - newest
        row[max(0, end - span) : end] = 1 / min(span, end)
        rows.append(row)
        newest, span = newest + span, span if newest < 3 else span * 2
    return np.array(rows)

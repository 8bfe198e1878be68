"""One time step, learned by one linear solve over all steps of all records.

With feedback, the value at time k follows from the last h outputs and the last g + 1 inputs,

    s(k) = s(k-1) + C' phi(z),    z = levels and differences of s(k-1), ..., s(k-h), u(k), ..., u(k-g), q ,

where q are parameters of the record; without feedback (h = 0) from a long memory of the input alone,
``s(k) = C' phi(z)``. A coarser step sees every e-th value, s(k-e), s(k-2e), ..., u(k), u(k-e), ..., and leads
from s(k-e) to s(k): a run is then e runs, one through each of e times, and all steps are still fitted. The
coordinates z are standardised, phi is fixed, and C is all that is learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import NamedTuple, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from elmonet.description import Graph
from elmonet.linalg import product

DIFFERENCES = 4  # newest values that become levels and differences; older ones stay as they are
_BLOCK_ENTRIES = 2_000_000  # of a block of windows or features
_CONSTANT = 1e-12  # deviation of a coordinate that does not vary, relative to its size
_DEGREES = {"linear": 1, "quadratic": 2, "cubic": 3}
_FEW_RUNS = 300  # below, products of coordinates are formed from copies of their factors, in few calls


class Settings(NamedTuple):
    """What is chosen of a step.

    outputs, inputs : h and g + 1, the numbers of past outputs and of inputs that a step sees; h = 0 is a
        model without feedback.
    kind : "linear", "quadratic", "cubic" for polynomials, or "tanh" for random features beside linear ones;
        of "hysteretic" ones, half are multiplied by the speed ``|s(k-1) - s(k-2)|`` of an output, which has a
        kink where a motion turns, as friction and hysteresis do.
    width, scale : number and scale of random features.
    every : number of time steps between the values that a step sees.
    """

    outputs: int
    inputs: int
    kind: str = "linear"
    width: int = 0
    scale: float = 0.0
    every: int = 1

    @property
    def feedback(self) -> bool:
        """Whether past outputs are seen."""
        return self.outputs > 0

    @property
    def random(self) -> bool:
        """Whether features are random."""
        return self.kind not in _DEGREES

    @property
    def past_outputs(self) -> int:
        """Number of outputs that must be known before the first step."""
        return self.outputs * self.every

    @property
    def past_inputs(self) -> int:
        """Number of inputs that must be known before the first step."""
        return (self.inputs - 1) * self.every

    @property
    def memory(self) -> int:
        """Number of steps that must be known before the first one is predicted."""
        return max(self.past_outputs, self.past_inputs)

    def n_features(self, outputs: int, inputs: int, parameters: int = 0) -> int:
        """Return the number of features, for records of some outputs, inputs and parameters."""
        seen = self.outputs * outputs + self.inputs * inputs + parameters
        if self.random:
            return 1 + seen + self.width
        p = seen if self.feedback else len(_bank(self.inputs)) * inputs + parameters
        d = _DEGREES[self.kind]
        return 1 + seen + (comb(p + d, d) - 1 - p)

    def describe(self) -> str:
        """Return the step in words."""
        what = f"{self.width} {self.kind} features of scale {self.scale:g}" if self.random else self.kind
        what = what if self.every == 1 else f"{self.every} time steps apart, {what}"
        if not self.feedback:
            return f"without feedback: the last {self.inputs} inputs, {what}"
        outputs = "the last output" if self.outputs == 1 else f"the last {self.outputs} outputs"
        inputs = "the present input" if self.inputs == 1 else f"{self.inputs} inputs"
        return f"with feedback: {outputs} and {inputs}, {what}"


class Series(NamedTuple):
    """Part of a record, with what came before it.

    u : (g + T, p), inputs, with `past_inputs` values before the first step.
    s : (h + T, c), outputs, with `past_outputs` before it; only these are used in a free run.
    parameters : (q,), of the record.
    weight : factor on the errors of its steps in a fit.
    """

    u: np.ndarray
    s: np.ndarray
    parameters: np.ndarray
    weight: float = 1.0


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

    @cached_property
    def _factors(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The same as `_tails`: which product before, and which coordinate, each product has as factors."""
        return [
            (
                np.concatenate([np.arange(tail, tail + count) for _, tail, count in degree]),
                np.concatenate([np.full(count, i) for i, _, count in degree]),
            )
            for degree in self._tails
        ]

    @cached_property
    def _with_bias(self) -> np.ndarray:
        """Random weights for the features 1 and z, which stand first."""
        A, b = self.weights
        return np.ascontiguousarray(np.hstack([b, A]))

    @cached_property
    def _speeds(self) -> tuple[slice, np.ndarray]:
        """Where the first differences of the outputs are among the coordinates, and their zeros (c, 1)."""
        own = slice(self.sizes[0], 2 * self.sizes[0])
        return own, self._map[1][own, None]

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return features (F, n) of standardised coordinates (m, n); fewer if `out` has no rows for more."""
        out = np.empty((self.count, Z.shape[1])) if out is None else out
        m = self._linear
        out[0] = 1.0
        out[1 : m + 1] = Z[:m]
        if self.settings.random:
            self._random_features(Z, out[: m + 1], out[m + 1 :])
            return out
        last = V = Z[self._nonlinear]
        at, few = m + 1, Z.shape[1] < _FEW_RUNS
        for degree, (of, by) in zip(self._tails, self._factors, strict=True):
            if at == len(out):
                break
            begin, at = at, at + len(of)
            if few:
                np.multiply(last[of], V[by], out=out[begin:at])
            else:
                row = begin
                for i, tail, count in degree:
                    np.multiply(last[tail:], V[i], out=out[row : row + count])
                    row += count
            last = out[begin:at]
        return out

    def _random_features(self, Z: np.ndarray, linear: np.ndarray, rows: np.ndarray) -> None:
        """Write random features (width, n); `linear` holds 1 and the linear coordinates."""
        if self.settings.feedback:
            product(self._with_bias, linear, out=rows)
        else:
            A, b = self.weights
            product(A, np.ascontiguousarray(Z[self._nonlinear]), out=rows)
            rows += b
        np.tanh(rows, out=rows)
        if self.settings.kind == "hysteretic":
            own, zero = self._speeds
            speeds, half = np.abs(Z[own] - zero), self.settings.width // 2
            for j, speed in enumerate(speeds):
                rows[half + j :: len(speeds)] *= speed

    def trace(self, coefficients: np.ndarray, limits: np.ndarray) -> Graph:
        """Write one step as array operations: from what it sees to the next output."""
        (c, p, q), settings, m = self.sizes, self.settings, self._linear
        h, every = settings.outputs, settings.every
        past, inputs = settings.past_outputs, settings.past_inputs + 1
        graph = Graph(past * c + inputs * p + q)
        seen = 0
        if every > 1:
            each = np.split(np.arange(graph.sizes[0]), [past * c, past * c + inputs * p])
            own = each[0].reshape(past, c)[::every], each[1].reshape(inputs, p)[::every], each[2]
            seen = graph.gather(0, np.concatenate([one.ravel() for one in own]))
        Z = graph.affine(seen, *self._map)
        parts = [graph.affine(graph.part(Z, 0, m), coefficients[1 : m + 1].T, coefficients[0])]
        V = graph.part(Z, *self._nonlinear.indices(len(self.mean))[:2])
        if settings.random:
            A, b = self.weights
            random = graph.elementwise(graph.affine(V, A, b), "tanh")
            if settings.kind == "hysteretic":
                random = self._trace_speeds(graph, Z, random)
            parts.append(graph.affine(random, coefficients[m + 1 :].T))
        last, at = V, m + 1
        for of, by in self._factors:
            last = graph.product([graph.gather(last, of), graph.gather(V, by)])
            parts.append(graph.affine(last, coefficients[at : at + len(of)].T))
            at += len(of)
        if h:
            parts.append(graph.part(seen, (h - 1) * c, h * c))
        graph.clip(graph.sum(parts), *limits)
        return graph

    def _trace_speeds(self, graph: Graph, Z: int, random: int) -> int:
        """Write the second half of the random features times the speeds ``|v| = relu(v) + relu(-v)``."""
        (own, zero), c, width = self._speeds, self.sizes[0], self.settings.width
        v, half = graph.part(Z, own.start, own.stop), width // 2
        each = [graph.affine(v, sign * np.eye(c), -sign * zero) for sign in (1.0, -1.0)]
        speeds = graph.sum([graph.elementwise(one, "relu") for one in each])
        later = graph.gather(speeds, np.arange(width - half) % c)
        return graph.concat(
            [graph.part(random, 0, half), graph.product([graph.part(random, half, width), later])]
        )

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


def _blocks(
    series: Sequence[Series], settings: Settings, width: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return what steps see (n, .) and their targets (n, c), in blocks: increments, or values."""
    h, inputs, every = settings.outputs, settings.inputs, settings.every
    past, earlier = settings.past_outputs, settings.past_inputs
    for one in series:
        T, c = len(one.u) - earlier, one.s.shape[1]
        raw = h * c + inputs * one.u.shape[1] + len(one.parameters)
        rows = max(1, _BLOCK_ENTRIES // max(raw, width))
        for k in range(0, T, rows):
            stop = min(T, k + rows)
            n = stop - k
            seen = [sliding_window_view(one.u[k : stop + earlier], earlier + 1, axis=0)]
            if h:
                own = one.s[k : stop + past - every]
                seen.insert(0, sliding_window_view(own, past - every + 1, axis=0))
            each = [np.moveaxis(part[..., ::every], 2, 1) for part in seen]  # time first, then channels
            parts = [part.reshape(n, -1) for part in each]
            parts.append(np.broadcast_to(one.parameters, (n, len(one.parameters))))
            y = one.s[k + past : stop + past] if len(one.s) >= stop + past else np.zeros((n, c))
            yield np.concatenate(parts, axis=1), y - one.s[k + past - every : stop + past - every] if h else y


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

"""Records of the training inputs: which they were, and how unlike them new inputs are."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np
from scipy.linalg import eigh

from elmonet.description import Graph
from elmonet.errors import ExtrapolationWarning, InputError, SeenFunctionsWarning, warn
from elmonet.linalg import gram, product

_MAX_FINGERPRINTS = 100_000  # functions whose fingerprints are kept
_MAX_INPUTS = 5_000  # functions whose inputs are kept
_MARGIN = 1.5  # novelty above which there is a warning, 1 being the most unusual training function
_WIDE_MARGIN, _FEW_FUNCTIONS = (
    2.0,
    20,
)  # the same, where so few training functions show little of what is usual
_TAIL = (
    3.0  # excess of a usual function, in units of the largest of a training function left out: heavy tails
)
_MIN_EXCESS = (0.1, 4.0)  # a, b: a + b / N of the range of N training values beyond it is usual (novelty.py)
_NOISE = 1e-6  # part of the inputs' variance that counts as noise


@dataclass(frozen=True)
class TrainingRecord:
    """What a fitted model keeps of its training inputs.

    Attributes
    ----------
    fingerprints : (N,), one number per function, sorted; None if they are not kept.
    inputs : (N, ...), the inputs as rows; of more than 5000 functions, 5000 evenly spaced. None if they are
        not kept.
    measure : the `Novelty` of other inputs; None if it is not known.
    """

    fingerprints: np.ndarray | None = None
    inputs: np.ndarray | None = None
    measure: Novelty | None = None

    @classmethod
    def of(cls, rows: np.ndarray, Z: np.ndarray | None = None) -> Self:
        """Return the record of training rows; with `Z`, rows as the branch sees them, also their novelty."""
        known = np.sort(fingerprints_of(rows)) if len(rows) <= _MAX_FINGERPRINTS else None
        some = np.linspace(0, len(rows) - 1, min(len(rows), _MAX_INPUTS)).astype(int)
        inputs = rows if len(some) == len(rows) else rows[some]
        return cls(known, inputs, None if Z is None else Novelty(Z))

    def has(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows (n,) are training functions, bit for bit."""
        if self.fingerprints is None:
            return np.zeros(len(rows), bool)
        return np.isin(fingerprints_of(rows), self.fingerprints)

    def novelty(self, Z: np.ndarray) -> np.ndarray:
        """Return the novelty (n,) of functions, as the branch sees them."""
        if self.measure is None:
            raise InputError("this model does not know its training inputs: call remember_inputs(X) first.")
        return self.measure(Z)

    def arrays(self, inputs: bool = True) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file; with or without the inputs."""
        measure = {} if self.measure is None else self.measure.arrays()
        named = {f"novelty.{name}": array for name, array in measure.items()}
        own = {"fingerprints": self.fingerprints, "training_inputs": self.inputs if inputs else None}
        return named | {name: array for name, array in own.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Invert `arrays`."""
        parts = {n.removeprefix("novelty."): a for n, a in arrays.items() if n.startswith("novelty.")}
        measure = Novelty.from_arrays(parts) if "mean" in parts else None
        return cls(arrays.get("fingerprints"), arrays.get("training_inputs"), measure)


def fingerprints_of(rows: np.ndarray) -> np.ndarray:
    """Return a 64-bit number for each row."""
    # Row by row, because a copy of all would count at the peak of a fit; -0.0 becomes 0.0.
    digests = (blake2b(np.add(row, 0.0, dtype=np.float64), digest_size=8).digest() for row in rows)
    return np.array([int.from_bytes(digest) for digest in digests], np.uint64)


def warn_of_extrapolation(outside: np.ndarray) -> None:
    """Warn if some functions (n,) lie well outside the training functions."""
    if outside.any():
        warn(
            f"{int(outside.sum())} of {len(outside)} inputs (the first: row {int(np.argmax(outside))}) are "
            "unlike the training functions: the expected error does not hold for them. Train on functions "
            "like these.",
            ExtrapolationWarning,
        )


def warn_of_seen(seen: np.ndarray, purpose: str) -> None:
    """Warn if some functions (n,) that should be new are training functions."""
    if seen.any():
        warn(
            f"{int(seen.sum())} of {len(seen)} functions (the first: row {int(np.argmax(seen))}) are "
            f"training functions, whose errors are too small: {purpose}.",
            SeenFunctionsWarning,
        )


class Novelty:
    """How unlike the training functions a function is: by leverage among them, and by excess beyond them.

    With the training inputs X (N, m), centred, and ``C = X'X + d`` (d a small part of its trace), a new
    function x has the leverage ``h = 1/N + x' C^-1 x``, the first term being that of the mean. A training
    function that is left out has ``h / (1 - h)``, with h its own. The novelty is the root of the ratio to the
    largest of these.

    Leverage knows no ranges: a negative function is usual among the mean and the deviation of positive ones.
    So the excess below all training values, as a part of their range at each sensor, in root mean square
    over the sensors, is compared with three times the largest of a training function left out, but at least a
    tenth of the range, more for few functions; likewise above. The novelty is the largest of the three.
    """

    def __init__(self, X: np.ndarray):
        X = X.reshape(len(X), -1).astype(np.float64, copy=False)
        self.mean, self.of_mean = X.mean(axis=0), 1 / len(X)
        X = X - self.mean
        # X = U S V': from the smaller Gram matrix.
        wide = X.shape[1] > X.shape[0]
        values, vectors = eigh(gram(X if wide else X.T), lower=True)
        self.noise = max(_NOISE * float(values.sum()), np.finfo(float).tiny)
        kept = values > self.noise
        self.values = values[kept]
        V = product(X.T, vectors[:, kept]) / np.sqrt(self.values) if wide else vectors[:, kept]
        self.V = np.ascontiguousarray(V)  # as a file keeps it, so that products round alike after loading
        h = np.minimum(self._leverage(X), 1 - 1e-12)
        self.largest = float(np.max(h / (1 - h))) or 1.0
        # A function left out lies beyond the others only where it is the least or the largest of all.
        X += self.mean
        few = min(2, len(X))
        low, high = (np.partition(side, few - 1, axis=0)[:few] for side in (X, -X))
        self.range, others = np.stack([low[0], -high[0]]), np.stack([low[-1], -high[-1]])
        beyond = [
            _excess(X, others[0], self.range[1], below=True),
            _excess(X, self.range[0], others[1], below=False),
        ]
        self.beyond = np.maximum(
            [_TAIL * float(side.max()) for side in beyond], _MIN_EXCESS[0] + _MIN_EXCESS[1] / len(X)
        )

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the novelty (n,) of functions."""
        X = X.reshape(len(X), -1).astype(np.float64, copy=False)
        with np.errstate(over="ignore"):  # where all training functions are alike, any other is unlike them
            leverage = np.minimum(self._leverage(X - self.mean) / self.largest, np.finfo(np.float64).max)
        found = np.sqrt(leverage)
        for below, limit in zip((True, False), self.beyond, strict=False):
            found = np.maximum(found, _excess(X, *self.range, below=below) / limit)
        return found

    def outside(self, X: np.ndarray) -> np.ndarray:
        """Return which functions (n,) lie well outside the training functions."""
        return self(X) > self.margin

    @property
    def margin(self) -> float:
        """The novelty above which a function lies well outside."""
        return _MARGIN if self.of_mean <= 1 / _FEW_FUNCTIONS else _WIDE_MARGIN

    def trace(self, graph: Graph, x: int, rows: int = 1) -> int:
        """Write the novelty (rows,) of functions, as the branch sees them."""
        centred = graph.scale(x, before=self.mean, rows=rows)
        inside = graph.affine(centred, self.V.T, rows=rows)
        squares, all_squares = graph.product([inside, inside]), graph.product([centred, centred])
        ones, own = np.ones((1, len(self.mean))), np.ones((1, self.V.shape[1]))
        rest = graph.sum([graph.affine(all_squares, ones, rows=rows), graph.affine(squares, -own, rows=rows)])
        rest = graph.scale(graph.clip(rest, 0.0, np.inf), 1 / self.noise)
        weights = 1 / (self.values + self.noise)
        leverage = graph.sum([graph.affine(squares, weights[None], self.of_mean, rows=rows), rest])
        found = _trace_root(graph, graph.scale(leverage, 1 / self.largest))
        low, high = self.range
        width = np.where(high > low, high - low, np.inf)
        for sign, end, limit in zip((-1.0, 1.0), (low, high), self.beyond, strict=False):
            beyond = graph.clip(graph.scale(x, sign / width, before=end, rows=rows), 0.0, np.inf)
            mean = graph.affine(graph.product([beyond, beyond]), ones / len(self.mean), rows=rows)
            found = _trace_larger(graph, found, graph.scale(_trace_root(graph, mean), 1 / limit))
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        return {
            "mean": self.mean,
            "values": self.values,
            "V": self.V,
            "numbers": np.array([self.noise, self.largest, self.of_mean]),
            "range": self.range,
            "beyond": self.beyond,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Invert `arrays`."""
        novelty = cls.__new__(cls)
        novelty.mean, novelty.values, novelty.V = (arrays[name] for name in ("mean", "values", "V"))
        numbers = arrays["numbers"].tolist()
        novelty.noise, novelty.largest, novelty.of_mean = (*numbers, 0.0)[:3]  # 0.1 knew nothing of the last
        novelty.range = arrays.get("range", np.zeros((2, len(novelty.mean))))
        novelty.beyond = arrays.get("beyond", np.empty(0))  # 0.2 knew no ranges
        return novelty

    def _leverage(self, X: np.ndarray) -> np.ndarray:
        inside = product(X, self.V)
        outside = np.maximum(np.einsum("ij,ij->i", X, X) - np.einsum("ij,ij->i", inside, inside), 0)
        return self.of_mean + inside**2 @ (1 / (self.values + self.noise)) + outside / self.noise


def _trace_root(graph: Graph, x: int) -> int:
    """Write the square root of numbers that are not negative."""
    tiny = float(np.finfo(np.float64).tiny)
    logs = graph.elementwise(graph.clip(x, tiny, np.inf), "log")
    return graph.elementwise(graph.scale(logs, 0.5), "exp")


def _trace_larger(graph: Graph, a: int, b: int) -> int:
    """Write the larger of two values each: one of them, and what the other has more."""
    more = graph.elementwise(graph.sum([b, graph.scale(a, -1.0)]), "relu")
    return graph.sum([a, more])


def trace_largest(graph: Graph, x: int) -> int:
    """Write the largest (1,) of some values: of the first and the second half, again and again."""
    while (size := graph.sizes[x]) > 1:
        half = (size + 1) // 2
        x = _trace_larger(graph, graph.part(x, 0, half), graph.part(x, size - half, size))
    return x


def _excess(X: np.ndarray, low: np.ndarray, high: np.ndarray, *, below: bool) -> np.ndarray:
    """Return how far functions X (n, m) lie below or above ranges (m,), in their widths: RMS over sensors."""
    width = high - low
    beyond = np.maximum(low - X if below else X - high, 0)
    parts = np.divide(beyond, width, out=np.zeros_like(beyond), where=width > 0)
    return np.sqrt(np.einsum("ij,ij->i", parts, parts) / max(1, X.shape[1]))

"""Tasks over blocks of functions: features, sums, and errors of functions left out.

A task starts from an `empty` result, adds blocks to it, and merges results of different blocks. Tasks are
frozen and can travel to other processes: random weights go as their seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elmonet.features.base import features
from elmonet.fitting.recipe import describe_map, restore_map
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.transforms import Moments
from elmonet.linalg import product, solve_lower
from elmonet.metrics import function_norms
from elmonet.solve.problem import Span
from elmonet.solve.streamed import StreamedLeaveOneOut, Sums

_LEAST_REST = 1e-6  # the least 1 - h that a function left out can have


@dataclass(frozen=True)
class BlockFeatures:
    """Features of inputs and coordinates of outputs; `span` is None if the trunk learns from outputs.

    Outputs are multiplied by `g`, a power of two. Functions come in the user's shapes, or, if `as_rows`, as
    rows already.
    """

    inputs: InputForm
    outputs: OutputForm
    branch: Any
    width: int  # p1, of the branch's features
    span: Span | None
    g: float = 1.0
    as_rows: bool = False

    def features(self, X: np.ndarray) -> np.ndarray:
        """Return B (p1, n) of input rows X (n, ...)."""
        return features(self.branch, self.inputs.seen(X)).T

    def coordinates(self, y: np.ndarray, span: Span | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return G (q, n) of rows y (n, c M), the norms outside the basis, and those that errors refer to."""
        z, sizes = self.outputs.target(y).astype(float, copy=False), self.outputs.reference(y)
        if self.g != 1:
            z, sizes = z * self.g, None if sizes is None else sizes * self.g
        norms = function_norms(z)
        sizes = norms if sizes is None else sizes
        if span is None:
            return z.T, np.zeros(len(z)), sizes
        return *span.project(z.T, norms), sizes

    def add(self, sums: Sums, X: np.ndarray, y: np.ndarray) -> None:
        """Add rows X and y to sums."""
        G, outside, _ = self.coordinates(y, self.span)
        sums.add(self.features(X), G, outside)

    def rows(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return functions in the user's shapes as rows."""
        if self.as_rows:
            return X, y
        return self.inputs.arranged(X), self.outputs.rows(y)

    def __getstate__(self) -> tuple[Any, ...]:
        arrays: dict[str, np.ndarray] = {}
        record = describe_map(self.branch, "branch", arrays, weights=False)
        return self.inputs, self.outputs, record, arrays, self.width, self.span, self.g, self.as_rows

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        inputs, outputs, record, arrays, *rest = state
        branch = restore_map(record, "branch", arrays)
        for name, value in zip(self.__dataclass_fields__, (inputs, outputs, branch, *rest), strict=True):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class InputMoments:
    """First pass: mean and deviation of the inputs, for their scaling."""

    inputs: InputForm
    needs_outputs = False

    def empty(self) -> Moments:
        """Return moments of no functions."""
        return Moments()

    def add(self, moments: Moments, start: int, X: np.ndarray, y: Any) -> None:
        """Add inputs X."""
        moments.add(self.inputs.seen(self.inputs.arranged(X)))


@dataclass(frozen=True)
class SumTask:
    """Second pass: the sums that the fit needs; functions `without`, by their indices, are not added."""

    block_features: BlockFeatures
    kind: type[Sums]
    without: np.ndarray | None = None
    needs_outputs = True

    def empty(self) -> Sums:
        """Return sums over no functions."""
        r = self.block_features
        q = len(r.outputs.places()) if r.span is None else r.span.rank
        return self.kind(r.width, q)

    def add(self, sums: Sums, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        if self.without is not None:
            added = ~np.isin(np.arange(start, start + len(X)), self.without)
            X, y = X[added], y[added]
        if len(X):
            self.block_features.add(sums, *self.block_features.rows(X, y))


@dataclass
class Totals:
    """Sums over functions of leave-one-out errors."""

    values: Any = 0.0

    def merge(self, other: Totals) -> None:
        """Add the totals of other functions."""
        self.values = self.values + other.values


@dataclass(frozen=True)
class LeaveOutTask:
    """Third pass: leave-one-out errors at a few alphas; `groups` are those of the functions as they come."""

    block_features: BlockFeatures
    left_out: StreamedLeaveOneOut
    span: Span
    groups: np.ndarray | None = None
    needs_outputs = True

    def empty(self) -> Totals:
        """Return totals of no functions."""
        return Totals()

    def add(self, totals: Totals, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        X, y = self.block_features.rows(X, y)
        G, outside, norms = self.block_features.coordinates(y, self.span)
        groups = None if self.groups is None else self.groups[start : start + len(y)]
        B = self.block_features.features(X)
        totals.values = totals.values + self.left_out.totals(B, G, outside, norms, groups)


@dataclass
class LeftOutErrors:
    """Relative errors of functions left out, by the first function of their block; sums of squares.

    squared, total : of the residuals of the fit to all functions, and of the outputs.
    """

    errors: dict[int, np.ndarray] = field(default_factory=dict)
    squared: float = 0.0
    total: float = 0.0

    def merge(self, other: LeftOutErrors) -> None:
        """Add other functions."""
        self.errors |= other.errors
        self.squared, self.total = self.squared + other.squared, self.total + other.total

    def of_each(self) -> np.ndarray:
        """Return the errors in the order of the functions."""
        return np.concatenate([self.errors[start] for start in sorted(self.errors)])

    def functions(self) -> np.ndarray:
        """Return the indices of the functions, in their order."""
        return np.concatenate([np.arange(s, s + len(self.errors[s])) for s in sorted(self.errors)])


@dataclass(frozen=True)
class LeftOutErrorsTask:
    """Second pass of a fit with given alpha: the leave-one-out error of each function.

    With ``B B' + alpha = L L'``, function i has the leverage ``h = |L^-1 b_i|^2`` and, if it is left out, the
    residual ``(g_i - C b_i) / (1 - h)``.

    Attributes
    ----------
    L : (p1, p1), the factor.
    C : (q, p1), the coefficients.
    """

    block_features: BlockFeatures
    L: np.ndarray
    C: np.ndarray
    needs_outputs = True

    def empty(self) -> LeftOutErrors:
        """Return the errors of no functions."""
        return LeftOutErrors()

    def add(self, found: LeftOutErrors, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add inputs X and outputs y."""
        r = self.block_features
        X, y = r.rows(X, y)
        left_out, z, E = self.left_out(X, y)
        found.errors[start] = r.outputs.errors(left_out, y)
        found.squared += float(np.sum(E**2))
        found.total += float(np.sum(z**2))

    def left_out(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return predictions of rows left out (n, c M), what they should be, and residuals of the fit."""
        r = self.block_features
        assert r.span is not None
        B, (G, _, _), z = r.features(X), r.coordinates(y, r.span), r.outputs.target(y)
        E = G / r.g - product(self.C, B)
        half = solve_lower(self.L, B.copy(order="F"))
        h = np.minimum(np.einsum("ki,ki->i", half, half), 1 - _LEAST_REST)
        return product((G / r.g - E / (1 - h)).T, r.span.Q.T), z, E

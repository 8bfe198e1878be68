"""How blocks of functions become sums: what a fit in blocks does with each block, wherever that lies.

A task makes something `empty`, adds blocks to it, and what it made can be merged with what it made of other
blocks. Tasks are frozen and can travel: random weights go as their seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.features.base import features
from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.form.transforms import Moments
from elmonet.metrics import function_norms
from elmonet.recipe import describe_map, restore_map
from elmonet.solve.left_out import LeftOut
from elmonet.solve.span import Span
from elmonet.solve.summed import Sums

__all__ = ["LeaveOut", "LookAtInputs", "Reduction", "SumUp", "Totals"]


@dataclass(frozen=True)
class Reduction:
    """Scaling, features, and the basis of the outputs; `span` is None if the trunk learns from outputs."""

    inputs: InputForm
    outputs: OutputForm
    branch: Any
    width: int  # p1, of the branch's features
    span: Span | None

    def features(self, X: np.ndarray) -> np.ndarray:
        """B (p1, n) of input rows X (n, ...)."""
        return features(self.branch, self.inputs.seen(X)).T

    def coordinates(self, y: np.ndarray, span: Span | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of output rows y (n, c M): G (q, n) in the basis or as they are, norms outside of it, all norms."""
        y = y.astype(float, copy=False)
        norms = function_norms(y)
        if span is None:
            return y.T, np.zeros(len(y)), norms
        return *span.project(y.T, norms), norms

    def add(self, sums: Sums, X: np.ndarray, y: np.ndarray) -> None:
        """Take in rows X and y."""
        G, outside, _ = self.coordinates(y, self.span)
        sums.add(self.features(X), G, outside)

    def rows(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Functions in the shapes of the user as rows."""
        return self.inputs.arranged(X), self.outputs.rows(y)

    def __getstate__(self) -> tuple[Any, ...]:
        arrays: dict[str, np.ndarray] = {}
        record = describe_map(self.branch, "branch", arrays, weights=False)
        return self.inputs, self.outputs, record, arrays, self.width, self.span

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        inputs, outputs, record, arrays, width, span = state
        branch = restore_map(record, "branch", arrays)
        for name, value in zip(
            self.__dataclass_fields__, (inputs, outputs, branch, width, span), strict=True
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class LookAtInputs:
    """The first pass: mean and deviation of the inputs, for their scaling."""

    inputs: InputForm
    needs_outputs = False

    def empty(self) -> Moments:
        """Moments of nothing."""
        return Moments()

    def add(self, moments: Moments, X: np.ndarray, y: Any) -> None:
        """Take in inputs X."""
        moments.add(self.inputs.seen(self.inputs.arranged(X)))


@dataclass(frozen=True)
class SumUp:
    """The second pass: all that the fit needs."""

    reduction: Reduction
    kind: type[Sums]
    needs_outputs = True

    def empty(self) -> Sums:
        """Sums of nothing."""
        r = self.reduction
        q = len(r.outputs.places()) if r.span is None else r.span.rank
        return self.kind(r.width, q)

    def add(self, sums: Sums, X: np.ndarray, y: np.ndarray) -> None:
        """Take in inputs X and outputs y."""
        self.reduction.add(sums, *self.reduction.rows(X, y))


@dataclass
class Totals:
    """Sums over functions of what `LeftOut` counts."""

    values: Any = 0.0

    def merge(self, other: Totals) -> None:
        """Take in the totals of other functions."""
        self.values = self.values + other.values


@dataclass(frozen=True)
class LeaveOut:
    """The third pass: the leave-one-out errors at a few alphas."""

    reduction: Reduction
    left_out: LeftOut
    span: Span
    needs_outputs = True

    def empty(self) -> Totals:
        """Totals of nothing."""
        return Totals()

    def add(self, totals: Totals, X: np.ndarray, y: np.ndarray) -> None:
        """Take in inputs X and outputs y."""
        X, y = self.reduction.rows(X, y)
        G, outside, norms = self.reduction.coordinates(y, self.span)
        totals.values = totals.values + self.left_out.totals(self.reduction.features(X), G, outside, norms)

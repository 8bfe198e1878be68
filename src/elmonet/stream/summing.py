"""How functions become sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.features.base import FeatureMap
from elmonet.metrics import function_norms
from elmonet.recipe import describe_map, restore_map
from elmonet.scaling import Affine, log_inputs
from elmonet.solve.summed import LeftOut, Sums
from elmonet.store import digest

__all__ = ["Summing"]


class Summing:
    """How a block of functions becomes sums: scaling, features, and the basis of the outputs.

    It can travel: `recipe` holds seeds and settings in place of random weights.
    """

    def __init__(self, branch: FeatureMap, scale: Affine | None, logarithms: bool, basis: np.ndarray | None):
        self.branch, self.scale, self.logarithms, self.basis = branch, scale, logarithms, basis

    def sums(self, kind: type[Sums], points: int) -> Sums:
        """Sums of nothing yet, for outputs at so many points."""
        return kind(self.branch.width_, points if self.basis is None else self.basis.shape[1])

    def features(self, X: np.ndarray) -> np.ndarray:
        """B (p1, n) of inputs X (n, ...)."""
        X = X.astype(self.branch.dtype_, copy=False)
        X = log_inputs(X) if self.logarithms else X
        return self.branch.transform(X if self.scale is None else self.scale(X)).T.astype(float, copy=False)

    def coordinates(self, y: np.ndarray) -> np.ndarray:
        """G (q, n), the outputs y (n, M) in the basis, or as they are."""
        y = y.astype(float, copy=False)
        return y.T if self.basis is None else product(self.basis.T, y.T)

    def add(self, sums: Sums, X: np.ndarray, y: np.ndarray) -> float:
        """Add functions to sums; their outputs' squared norm."""
        sums.add(self.features(X), self.coordinates(y))
        return float(np.einsum("ij,ij->", y, y, dtype=float))

    def left_out(self, left_out: LeftOut, X: np.ndarray, y: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """The totals of `LeftOut` for some functions, with the trunk's basis (M, r)."""
        norms = function_norms(y.astype(float, copy=False))
        G = product(basis.T, y.T.astype(float, copy=False))
        inside = np.einsum("ki,ki->i", G, G)
        outside = np.sqrt(np.maximum(norms**2 - inside, 0))
        return left_out.totals(self.features(X), G, outside, norms)

    def recipe(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings and arrays from which `of` makes the same again."""
        arrays: dict[str, np.ndarray] = {}
        record = {"branch": describe_map(self.branch, "branch", arrays, weights=False)}
        record["logarithms"] = self.logarithms  # type: ignore[assignment]
        if self.scale is not None:
            arrays |= {"shift": self.scale.shift, "scale": self.scale.scale}
        if self.basis is not None:
            arrays["basis"] = self.basis
        return record, arrays

    @classmethod
    def of(cls, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> Summing:
        """The inverse of `recipe`."""
        branch = restore_map(record["branch"], "branch", arrays)
        scale = Affine(arrays["shift"], arrays["scale"]) if "shift" in arrays else None
        return cls(branch, scale, record["logarithms"], arrays.get("basis"))

    def fingerprint(self) -> str:
        """Equal for those that make the same sums."""
        record, arrays = self.recipe()
        return repr(sorted(record.items(), key=str)) + digest([arrays[name] for name in sorted(arrays)])

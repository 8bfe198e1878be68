"""The choice of a branch if outputs are known here and there: by functions that are held out."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from elmonet.auto.candidates import Candidate
from elmonet.data.scattered import Scattered
from elmonet.features import Legendre
from elmonet.gaps import degrees
from elmonet.layout import Inputs, count, rows_of
from elmonet.model import ELMDeepONet
from elmonet.scaling import standardise

__all__ = ["choose_unaligned"]

_FEW = 400  # functions on which branches are compared
_DEGREE = 8  # of the trunk with which they are compared, at most


def choose_unaligned(
    X: Any, y: Any, points: Any, *, seed: int, deadline: float, progress: Any, settings: dict[str, Any]
) -> tuple[ELMDeepONet, list[dict[str, Any]]]:
    """The best model, fitted to everything, and what was tried.

    X (N, ...) packed or not; y a `Scattered`, or an array with gaps at points.
    """
    n = count(X)
    assert n is not None
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:_FEW])
    few, inputs = rows_of(X, rows), Inputs.of(X)
    if isinstance(y, Scattered):
        some = y.of_functions(rows)
        possible = degrees(y.points.shape[1], len(y) / n)
        trunk = Legendre(max(degree for degree in possible if degree <= max(_DEGREE, possible[0])))
    else:
        some, trunk = rows_of(y, rows), None
    tried: list[tuple[Candidate, dict[str, Any]]] = []
    candidates = [
        Candidate("none", linear=True),
        *(Candidate(family, scale, True) for family in ("rbf", "matern52") for scale in (0.1, 0.3, 1.0)),
        Candidate("tanh", 0.5, True, 1000),
    ]
    packed = few if inputs is None else inputs.pack(few)
    spread = float(np.std(standardise(packed)(packed))) or 1.0

    def fitted(
        candidate: Candidate, trunk: Any, X: Any, y: Any, n: int
    ) -> tuple[ELMDeepONet, dict[str, Any]]:
        begun = perf_counter()
        branch = candidate.branch(packed, spread, seed)
        model = ELMDeepONet(branch, trunk, random_state=seed, **settings).fit(X, y, points)
        solution = model.solution_
        return model, {
            "branch": str(candidate),
            "functions": n,
            "loo_error": solution.loo_error,
            "alpha": solution.alpha,
            "seconds": perf_counter() - begun,
        }

    for i, candidate in enumerate(candidates):
        if tried and perf_counter() > deadline:
            break
        if progress is not None:
            progress(f"trying {candidate} on {len(rows)} functions", 0.1 + 0.6 * i / len(candidates), 1.0)
        tried.append((candidate, fitted(candidate, trunk, few, some, len(rows))[1]))
    tried.sort(key=lambda trial: trial[1]["loo_error"])
    best = tried[0][0]
    if progress is not None:
        progress(f"fitting {best} to {n} functions", 0.7, 1.0)
    model, last = fitted(best, None, X, y, n)
    return model, [last, *(told for _, told in tried)]

"""The choice of a branch if outputs are known here and there: by functions that are held out."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from elmonet.auto.candidates import Candidate
from elmonet.data.scattered import Scattered
from elmonet.features import Legendre
from elmonet.gaps import degrees
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
    n = len(next(iter(X.values()))) if isinstance(X, dict) else len(X)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:_FEW])
    few = {k: v[rows] for k, v in X.items()} if isinstance(X, dict) else X[rows]
    scattered = isinstance(y, Scattered)
    if scattered:
        some = y.of_functions(rows)
        possible = degrees(y.points.shape[1], len(y) / n)
        trunk = Legendre(max(degree for degree in possible if degree <= max(_DEGREE, possible[0])))
    else:
        some, trunk = ({k: v[rows] for k, v in y.items()} if isinstance(y, dict) else y[rows]), None
    tried: list[tuple[float, Candidate, dict[str, Any]]] = []
    candidates = [
        Candidate("none", linear=True),
        *(Candidate(family, scale, True) for family in ("rbf", "matern52") for scale in (0.1, 0.3, 1.0)),
        Candidate("tanh", 0.5, True, 1000),
    ]
    packed = (
        np.hstack([np.reshape(v, (len(rows), -1)) for v in few.values()]) if isinstance(few, dict) else few
    )
    spread = float(np.std(standardise(packed)(packed))) or 1.0
    for i, candidate in enumerate(candidates):
        if tried and perf_counter() > deadline:
            break
        if progress is not None:
            progress(f"trying {candidate} on {len(rows)} functions", 0.1 + 0.6 * i / len(candidates), 1.0)
        begun = perf_counter()
        branch = candidate.branch(packed, spread, seed)
        solution = ELMDeepONet(branch, trunk, random_state=seed, **settings).fit(few, some, points).solution_
        told = {
            "branch": str(candidate),
            "functions": len(rows),
            "loo_error": solution.loo_error,
            "alpha": solution.alpha,
            "seconds": perf_counter() - begun,
        }
        tried.append((solution.loo_error, candidate, told))
    tried.sort(key=lambda trial: trial[0])
    if progress is not None:
        progress(f"fitting {tried[0][1]} to {n} functions", 0.7, 1.0)
    begun = perf_counter()
    model = ELMDeepONet(tried[0][1].branch(packed, spread, seed), random_state=seed, **settings)
    model.fit(X, y, points)
    last = {
        "branch": str(tried[0][1]),
        "functions": n,
        "loo_error": model.solution_.loo_error,
        "alpha": model.solution_.alpha,
        "seconds": perf_counter() - begun,
    }
    return model, [last, *(told for _, _, told in tried)]

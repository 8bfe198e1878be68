"""The choice of a branch if outputs have gaps or are scattered: by functions that are held out."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from elmonet.auto.candidates import Candidate
from elmonet.features import Legendre
from elmonet.fitting.unaligned import degrees
from elmonet.form.training import Training
from elmonet.model import ELMDeepONet

__all__ = ["choose_unaligned"]

_FEW = 400  # functions on which branches are compared
_DEGREE = 8  # of the trunk with which they are compared, at most


def choose_unaligned(
    training: Training, *, seed: int, deadline: float, progress: Any
) -> tuple[ELMDeepONet, list[dict[str, Any]]]:
    """The best model, fitted to everything, and what was tried."""
    n = len(training.X)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:_FEW])
    few, trunk = training.of(rows), None
    if training.outputs.scattered:
        possible = degrees(training.outputs.points.shape[1], len(training.y) / n)
        trunk = Legendre(max(degree for degree in possible if degree <= max(_DEGREE, possible[0])))
    candidates = [
        Candidate("none", linear=True),
        *(Candidate(family, scale, True) for family in ("rbf", "matern52") for scale in (0.1, 0.3, 1.0)),
        Candidate("tanh", 0.5, True, 1000),
    ]
    Z = few.inputs.prepared(few.X, logarithms=False, scale=True).seen(few.X)
    spread = float(np.std(Z)) or 1.0

    def fitted(candidate: Candidate, trunk: Any, training: Training) -> tuple[ELMDeepONet, dict[str, Any]]:
        begun = perf_counter()
        branch = candidate.branch(Z, spread, seed)
        model = ELMDeepONet(branch, trunk, missing="ignore", random_state=seed)._fit(training)
        return model, {
            "branch": str(candidate),
            "functions": len(training.X),
            "error": model.solution_.expected_error,
            "alpha": model.solution_.alpha,
            "seconds": perf_counter() - begun,
        }

    tried: list[tuple[Candidate, dict[str, Any]]] = []
    for i, candidate in enumerate(candidates):
        if tried and perf_counter() > deadline:
            break
        if progress is not None:
            progress(f"trying {candidate} on {len(rows)} functions", 0.1 + 0.6 * i / len(candidates), 1.0)
        tried.append((candidate, fitted(candidate, trunk, few)[1]))
    tried.sort(key=lambda trial: trial[1]["error"])
    best = tried[0][0]
    if progress is not None:
        progress(f"fitting {best} to {n} functions", 0.7, 1.0)
    model, last = fitted(best, None, training)
    return model, [last, *(told for _, told in tried)]

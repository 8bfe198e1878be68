"""A small fit with a known answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["self_test"]

_LARGEST_ERROR = 1e-9  # about 1e-14 is usual; the operator is linear, and nothing else is left


def self_test() -> dict[str, Any]:
    """Fit the antiderivative, save it and load it; `passed`, `error`, `same_bits`, and sentences, `told`.

    ``u = sum_k a_k cos(k pi x)`` has ``s(y) = a_0 y + sum_k a_k sin(k pi y) / (k pi)``. This is linear in
    a, so that a linear branch has to find it from more functions than there are coefficients.
    """
    try:
        error, same = _tried()
    except Exception as failed:
        said = " ".join(str(failed).split())
        return {
            "passed": False,
            "error": None,
            "same_bits": None,
            "told": [f"{type(failed).__name__}: {said}"],
        }
    exact = bool(error <= _LARGEST_ERROR)
    told = [
        f"antiderivative of new functions: error {error:.2g}"
        + ("" if exact else f", where at most {_LARGEST_ERROR:g} was expected"),
        f"saved and loaded: {'the same bits' if same else 'other predictions, where the same were expected'}",
    ]
    return {"passed": exact and same, "error": error, "same_bits": same, "told": told}


def _tried() -> tuple[float, bool]:
    """The error on new functions, and whether a loaded model predicts the same bits."""
    import tempfile

    import numpy as np

    from elmonet import ELMDeepONet, Linear, load, relative_l2

    x, k = np.linspace(0, 1, 50), np.arange(1, 8)[:, None]
    a = np.random.default_rng(0).standard_normal((60, 8))
    u = a @ np.vstack([np.ones_like(x), np.cos(k * np.pi * x)])
    s = a @ np.vstack([x, np.sin(k * np.pi * x) / (k * np.pi)])
    model = ELMDeepONet(Linear()).fit(u[:40], s[:40], points=x)
    predicted = model.predict(u[40:])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "self-test.elmonet"
        model.save(file)
        same = np.array_equal(load(file).predict(u[40:]), predicted)
    return relative_l2(predicted, s[40:]), bool(same)

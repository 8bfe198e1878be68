"""What the training functions cannot show: functions that are no combination of them."""

from __future__ import annotations

import numpy as np

from elmonet._blas import product
from elmonet.form.training import Training

__all__ = ["span_in_words"]

_FEW = 3  # functions, of which all others are combinations
_TIMES = 10  # so many more functions there must be for that to be no accident
_NOTHING = 1e-6  # part of the functions that may be left
_MOST = 1000  # functions that are looked at


def span_in_words(training: Training) -> str:
    """That all inputs or all outputs are combinations of very few functions; "" if they are not.

    Inputs that are a few numbers fill their space, so that there are no others: then "" too.
    """
    rows = np.linspace(0, len(training.X) - 1, min(len(training.X), _MOST)).astype(int)
    inputs, outputs = (A[rows].reshape(len(rows), -1) for A in (training.X, training.y))
    k, q = _modes(inputs), _modes(outputs)
    if k == inputs.shape[1]:
        return ""
    told = []
    for name, modes, most in (("outputs", q, outputs.shape[1]), ("inputs", k, inputs.shape[1])):
        if 0 < modes <= _FEW and modes < most and len(training.X) >= _TIMES * modes:
            few = "multiples of one function" if modes == 1 else f"combinations of {modes} functions"
            told.append(f"all training {name} are {few}")
    if not told:
        return ""
    return f"{' and '.join(told)}. What becomes of other functions cannot be learned from these"


def _modes(functions: np.ndarray) -> int:
    """How many functions all rows are combinations of, but for rounding."""
    A = functions / (np.abs(functions).max() or 1.0)
    gram = product(A, A.T) if len(A) <= A.shape[1] else product(A.T, A)
    energy = np.maximum(np.linalg.eigvalsh(gram), 0)  # ascending
    left = np.cumsum(energy)
    return int(np.count_nonzero(left > _NOTHING**2 * left[-1]))

"""What the training data show: repeats, noise, a narrow span, and what would help most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elmonet.auto.error_estimate import EXACT, Expected, learning_curve
from elmonet.auto.search import Search, Trial
from elmonet.forms.training import Training
from elmonet.linalg import product
from elmonet.metrics import function_norms, reference_norms
from elmonet.summary import Fact, percent

__all__ = ["Repeats", "advice", "merge_repeats", "noise_in_words", "noise_of", "span_in_words", "white_noise"]

_DIGITS = 10  # inputs that agree in this many digits of the largest value are the same


@dataclass(frozen=True)
class Repeats:
    """How many functions were repeats of others, and how much the outputs of the same input differ.

    `spread` is the root-mean-square deviation of repeated outputs from their mean, relative to the size of
    the outputs: an estimate of the noise in them. Zero without repeats. `left` is the noise of their means.
    """

    count: int
    spread: float
    left: float = 0.0


def merge_repeats(training: Training) -> tuple[Training, Repeats]:
    """Each input once, with the mean of its outputs, in the order in which they first come."""
    X, y = training.X, training.y
    largest = np.abs(X).max() or 1.0
    rows = np.round(X.reshape(len(X), -1) / largest, _DIGITS) + 0.0
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(X):
        return training, Repeats(0, 0.0)
    order = np.argsort(first)
    which = np.argsort(order)[which.ravel()]
    counts = np.bincount(which)
    mean = np.zeros((len(first), *y.shape[1:]))
    np.add.at(mean, which, y)
    mean /= counts.reshape(-1, *[1] * (y.ndim - 1))
    repeated = counts[which] > 1
    freedom = max(1, int(counts[counts > 1].sum() - np.count_nonzero(counts > 1)))
    squares = np.sum((y - mean[which])[repeated] ** 2) / freedom
    per_function = np.mean(np.sum(y.reshape(len(y), -1) ** 2, axis=1)) or 1.0
    groups = None if training.groups is None else training.groups.of(np.sort(first))
    merged = replace(training, X=X[np.sort(first)], y=mean, groups=groups)
    spread = float(np.sqrt(squares / per_function))
    return merged, Repeats(len(X) - len(first), spread, spread * float(np.sqrt(np.mean(1 / counts))))


_MOST = 1000  # functions that are looked at
_SIGNAL = 0.3  # part of all singular values, beyond which what is left is no plateau of noise
_LEAST = 24  # singular values of noise alone, to tell them from others
_QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])  # of these values, that must be those of noise
_ALIKE = 0.03  # how far they may be from them
_PLACES = 1.5  # and how many places they may be shifted by chance
_KEPT = 0.9  # of the modes of one half of the functions; the last ones are not resolved
_SHARED = 0.2  # by how much more the first of them may hold than the last
_RESOLVED = 1e-7  # of the largest singular value: what a Gram matrix shows
_RELEVANT = 0.2  # part of the error, below which noise is not worth a word
_NEARLY_ALL = 0.9  # part of the error, above which the rest is not known


def noise_of(training: Training, repeats: Repeats) -> float | None:
    """The noise in the outputs, relative to their size as errors are; None if none is seen."""
    if repeats.count:
        return repeats.left or None
    y = training.y
    sigma = white_noise(y[np.linspace(0, len(y) - 1, min(len(y), _MOST)).astype(int)])
    if sigma is None:
        return None
    return float(np.mean(sigma * np.sqrt(y.shape[1]) / reference_norms(function_norms(y))))


def white_noise(y: np.ndarray) -> float | None:
    """The standard deviation of white noise in outputs y (N, M), or None if it cannot be told.

    The singular values of a matrix (m, n) of noise, m <= n, follow the law of Marchenko and Pastur times
    sigma sqrt(n). Smooth outputs have few modes above it, so that the median of the others tells sigma
    (Gavish and Donoho, 2014). The values of rough outputs fall without a plateau. So sigma is only believed
    if most values are noise, and if all their quantiles, not only the median, are where the law has them.
    """
    y = y[:, np.ptp(y, axis=0) > 0]
    y = y - y.mean(axis=0)
    m, n = sorted((max(len(y) - 1, 0), y.shape[1]))
    if m < _LEAST:
        return None
    gram = product(y, y.T) if len(y) <= y.shape[1] else product(y.T, y)
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[::-1][:m], 0))
    modes = -1
    above = 0
    while above > modes:  # each mode that is found lowers what is left for noise
        modes = above
        rest, freedom = m - modes, n - modes
        if modes > _SIGNAL * m or rest < _LEAST:
            return None
        sigma = float(np.median(values[modes:]) / (np.sqrt(freedom) * _noise_alone(rest / freedom, 0.5)))
        above = int(np.count_nonzero(values > 1.05 * sigma * (np.sqrt(freedom) + np.sqrt(rest))))
    if sigma * np.sqrt(n) < _RESOLVED * values[0]:
        return None
    found = np.quantile(values[modes:], _QUANTILES) / (sigma * np.sqrt(freedom))
    least, most = (_noise_alone(rest / freedom, _QUANTILES + shift / rest) for shift in (-_PLACES, _PLACES))
    alike = np.all((found > (1 - _ALIKE) * least) & (found < (1 + _ALIKE) * most))
    return sigma if alike and _without_order(y, modes) else None


def _without_order(y: np.ndarray, modes: int) -> bool:
    """Whether what is left of outputs y (N, M) beyond some modes has no order that other functions share.

    The modes of one half of the functions are ranked by size. Beyond the first ones, the other half has the
    same energy in every direction if that is noise; if these are modes of rough functions, less and less.
    """
    one, other = y[::2], y[1::2]
    if len(one) <= y.shape[1]:
        values, U = np.linalg.eigh(product(one, one.T))
        seen = product(product(other, one.T), U) / np.sqrt(np.maximum(values, values[-1] * _RESOLVED**2))
    else:
        seen = product(other, np.linalg.eigh(product(one.T, one))[1])
    energy = np.mean(seen**2, axis=0)[::-1][: int(_KEPT * seen.shape[1])]
    half = (modes + len(energy)) // 2
    if half - modes < _LEAST // 4:
        return False
    last = (np.mean(np.sum(other**2, axis=1)) - np.sum(energy[:half])) / (y.shape[1] - half)
    chance = np.sqrt(2 / ((half - modes) * len(other)))  # the deviation of the first mean, if it is noise
    return bool(np.mean(energy[modes:half]) < (1 + _SHARED + 2 * chance) * last)


def noise_in_words(noise: float | None, error: float) -> tuple[Fact, ...]:
    """What part of an expected error is noise, if that is worth a word.

    An error below the noise shows that what looks like it can be predicted: then it is none.
    """
    if noise is None or noise < _RELEVANT * error or error < _NEARLY_ALL * noise:
        return ()
    rest = "Nearly all of the error is this noise: without noise it would be less than half"
    if noise < _NEARLY_ALL * error:
        clean = np.sqrt(error**2 - noise**2)
        rest = f"Without noise the error would be about {percent(clean, 2)}"
    return (Fact("Noise", f"about {percent(noise, 2)} in the outputs, also in those compared with. {rest}"),)


def _noise_alone(ratio: float, quantiles: Any) -> Any:
    """Quantiles of the law of Marchenko and Pastur for matrices (m, n), ratio = m / n, as singular values.

    With x = s^2 / n between (1 -+ sqrt(ratio))^2, the density sqrt((high - x) (x - low)) / (2 pi ratio x).
    """
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    angle = np.linspace(0, np.pi, 2001)
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    # sqrt((high - x)(x - low)) dx = ((high - low) / 2)^2 sin^2 d(angle); at ratio 1, x = 0 is integrable.
    density = np.sin(angle) ** 2 / np.maximum(x, np.finfo(float).tiny)
    density[0] = density[1] if low < 1e-6 else density[0]
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.sqrt(np.interp(quantiles, below / below[-1], x))


_FEWEST_MODES = 3  # functions, of which all others are combinations
_TIMES = 10  # so many more functions there must be for that to be no accident
_NOTHING = 1e-6  # part of the functions that may be left


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
        if 0 < modes <= _FEWEST_MODES and modes < most and len(training.X) >= _TIMES * modes:
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


_FEW_FOR_CHOICE = 50  # functions, below which the choice is uncertain
_MATTERS = 1.3  # a factor between two errors that matters
_FLAT = 0.15  # rate at which errors fall with more functions, below which more of them would not help


def advice(search: Search, best: Trial, expected: Expected, narrow: bool) -> tuple[Fact, ...]:
    """Of a search; `narrow`: the training functions are combinations of very few."""
    if expected.error < EXACT:
        if narrow:
            return (Fact("More data", "not for functions like these. For others, add functions like them"),)
        return (Fact("More data", "nothing more is needed: the error is near the rounding of the numbers"),)
    sensors = search.with_half_the_sensors(best)
    return (
        *_more_functions(search, best, expected),
        *([] if sensors is None else [_more_sensors(*sensors)]),
    )


def _more_functions(search: Search, best: Trial, expected: Expected) -> tuple[Fact, ...]:
    """From how the error fell with more functions, of the same kind of branch."""
    if len(search.X) < _FEW_FOR_CHOICE:
        said = f"would help most. With {len(search.X)} functions the choice itself is uncertain"
        added = f": {percent(expected.hidden, 1)} was added to the expected error for that"
        return _fact(said + (added if expected.hidden else ""))
    curve = learning_curve(search, best)
    if curve is None:
        return ()
    n, N, rate = curve.n, curve.N, curve.rate
    if rate < _FLAT:
        return _fact(
            f"would not help: from {n} to {N} functions the error hardly fell. What is left is noise, or "
            "what the sensors do not see. Better measurements or more sensors may help"
        )
    before, now, twice = (percent(e, 2) for e in (curve.before, curve.now, curve.now * 2.0**-rate))
    fell = f"From {n} to {N} functions the error fell from {before} to {now}"
    return _fact(f"with twice as many, expect about {twice}. {fell}")


def _fact(said: str) -> tuple[Fact]:
    return (Fact("More functions", said),)


def _more_sensors(every: float, second: float) -> Fact:
    """From the errors with every sensor, and with every second one."""
    if second > _MATTERS * every:
        said = f"may help: with every second one the error is {percent(second, 2)} instead of"
        return Fact("More sensors", f"{said} {percent(every, 2)} (on few functions)")
    return Fact("More sensors", "would not help: every second one would be enough")

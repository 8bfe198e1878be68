"""Diagnostics of the training data: repeats, noise, span, and which data would reduce the error most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elmonet.auto.error_estimate import EXACT, learning_curve
from elmonet.auto.search import Search, Trial
from elmonet.forms.training import Training
from elmonet.forms.transforms import of_order_one
from elmonet.linalg import product
from elmonet.metrics import function_norms, reference_norms
from elmonet.summary import Fact, percent, plural
from elmonet.uncertainty.error_estimate import MIN_INDEPENDENT, USELESS, ErrorEstimate

_REPEAT_DIGITS = 10  # inputs that agree in this many digits of the largest value are repeats
_INSPECTED = 1000  # functions that are inspected, evenly spaced, at most

# White noise in the outputs.
_MOST_SIGNAL = 0.3  # part of the singular values that may be signal: beyond it there is no plateau of noise
_FEWEST_NOISE_VALUES = 24  # singular values of noise that it takes to recognise it
_QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])  # of these values, compared with those of noise
_QUANTILE_TOLERANCE = 0.03  # relative
_QUANTILE_SHIFT = 1.5  # ranks by which a quantile may be off by chance
_RESOLVED_MODES = 0.9  # part of the modes of one half of the functions; the last ones are not resolved
_ENERGY_EXCESS = 0.2  # relative excess of energy in the first of them over the last, if all are noise
_GRAM_RESOLUTION = 1e-7  # of the largest singular value: what a Gram matrix resolves
_RELEVANT_NOISE = 0.2  # part of the error above which noise is reported
_NEARLY_ALL = 0.9  # part of the error above which noise is nearly all of it

# Functions that span a small space.
_FEWEST_MODES = 3  # dimension of the span up to which it is reported
_FUNCTIONS_PER_MODE = 10  # with fewer functions, a small span may be an accident
_NEGLIGIBLE_REST = 1e-6  # part of the functions that may lie outside of the span

# What would help.
_UNCERTAIN_BELOW = 50  # functions, below which the choice is uncertain
_SENSORS_MATTER = 1.3  # ratio of the errors with half of the sensors and with all
_FLAT_RATE = 0.15  # rate of the learning curve below which more functions would not help


@dataclass(frozen=True)
class Repeats:
    """Repeated inputs, and how much the outputs of the same input differ.

    Attributes
    ----------
    count : functions that were repeats of others.
    spread : root-mean-square deviation of repeated outputs from their mean, relative to the size of the
        outputs: an estimate of their noise. Zero without repeats.
    left : the noise of the means.
    """

    count: int
    spread: float
    left: float = 0.0


def merge_repeats(training: Training) -> tuple[Training, Repeats]:
    """Return each input once, with the mean of its outputs, in the order of first occurrence."""
    X, y = training.X, training.y
    rows = np.round(of_order_one(X, training.inputs.compared), _REPEAT_DIGITS) + 0.0
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
    merged = replace(training.of(np.sort(first)), y=mean)
    spread = float(np.sqrt(squares / per_function))
    return merged, Repeats(len(X) - len(first), spread, spread * float(np.sqrt(np.mean(1 / counts))))


def _inspected(functions: np.ndarray) -> np.ndarray:
    """Return some of the functions, evenly spaced."""
    n = len(functions)
    return functions[np.linspace(0, n - 1, min(n, _INSPECTED)).astype(int)]


def relative_noise(training: Training, repeats: Repeats) -> float | None:
    """Return the noise in the outputs, relative to their size as errors are; None if none is found."""
    if repeats.count:
        return repeats.left or None
    y = training.y
    sigma = white_noise(_inspected(y))
    if sigma is None:
        return None
    return float(np.mean(sigma * np.sqrt(y.shape[1]) / reference_norms(function_norms(y))))


def white_noise(y: np.ndarray) -> float | None:
    """Return the standard deviation of white noise in outputs y (N, M); None if there is no clear evidence.

    The singular values of a matrix (m, n) of noise, m <= n, follow the law of Marchenko and Pastur times
    sigma sqrt(n). Smooth outputs have few modes above it, so that the median of the others gives sigma
    (Gavish and Donoho, 2014). The values of rough outputs fall without a plateau. So sigma is only accepted
    if most values are noise, and if all their quantiles, not only the median, agree with the law.
    """
    y = y[:, np.ptp(y, axis=0) > 0]
    y = y - y.mean(axis=0)
    m, n = sorted((max(len(y) - 1, 0), y.shape[1]))
    if m < _FEWEST_NOISE_VALUES:
        return None
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(_small_gram(y))[::-1][:m], 0))
    modes = -1
    above = 0
    while above > modes:  # each mode that is found lowers what is left for noise
        modes = above
        rest, freedom = m - modes, n - modes
        if modes > _MOST_SIGNAL * m or rest < _FEWEST_NOISE_VALUES:
            return None
        sigma = float(np.median(values[modes:]) / (np.sqrt(freedom) * _noise_quantiles(rest / freedom, 0.5)))
        above = int(np.count_nonzero(values > 1.05 * sigma * (np.sqrt(freedom) + np.sqrt(rest))))
    if sigma * np.sqrt(n) < _GRAM_RESOLUTION * values[0]:
        return None
    found = np.quantile(values[modes:], _QUANTILES) / (sigma * np.sqrt(freedom))
    low, high = (
        _noise_quantiles(rest / freedom, _QUANTILES + shift / rest)
        for shift in (-_QUANTILE_SHIFT, _QUANTILE_SHIFT)
    )
    alike = np.all((found > (1 - _QUANTILE_TOLERANCE) * low) & (found < (1 + _QUANTILE_TOLERANCE) * high))
    return sigma if alike and _unstructured(y, modes) else None


def _unstructured(y: np.ndarray, modes: int) -> bool:
    """Whether outputs y (N, M), beyond some modes, share no structure with other functions.

    The modes of one half of the functions are ranked by size. Beyond the first ones, the other half has the
    same energy in every direction if that is noise, and less and less if these are modes of rough functions.
    """
    one, other = y[::2], y[1::2]
    if len(one) <= y.shape[1]:
        values, U = np.linalg.eigh(product(one, one.T))
        floor = values[-1] * _GRAM_RESOLUTION**2
        projected = product(product(other, one.T), U) / np.sqrt(np.maximum(values, floor))
    else:
        projected = product(other, np.linalg.eigh(product(one.T, one))[1])
    energy = np.mean(projected**2, axis=0)[::-1][: int(_RESOLVED_MODES * projected.shape[1])]
    half = (modes + len(energy)) // 2
    if half - modes < _FEWEST_NOISE_VALUES // 4:
        return False
    last = (np.mean(np.sum(other**2, axis=1)) - np.sum(energy[:half])) / (y.shape[1] - half)
    chance = np.sqrt(2 / ((half - modes) * len(other)))  # the deviation of the first mean, if it is noise
    return bool(np.mean(energy[modes:half]) < (1 + _ENERGY_EXCESS + 2 * chance) * last)


def _noise_quantiles(ratio: float, quantiles: Any) -> Any:
    """Return quantiles of the Marchenko-Pastur law for matrices (m, n), ratio = m / n, as singular values.

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


def _small_gram(A: np.ndarray) -> np.ndarray:
    """Return the smaller of ``A A'`` and ``A'A``."""
    return product(A, A.T) if len(A) <= A.shape[1] else product(A.T, A)


def noise_facts(noise: float | None, error: float) -> tuple[Fact, ...]:
    """Report which part of an expected error is noise, if it is relevant.

    An error below the noise shows that what looks like noise can be predicted: then it is none.
    """
    if noise is None or noise < _RELEVANT_NOISE * error or error < _NEARLY_ALL * noise:
        return ()
    rest = "Nearly all of the error is noise: without it, the error would be less than half"
    if noise < _NEARLY_ALL * error:
        clean = np.sqrt(error**2 - noise**2)
        rest = f"Without noise, the error would be about {percent(clean, 2)}"
    size = f"about {percent(noise, 2)} of the size of the outputs, also in the left-out outputs"
    return (Fact("Noise", f"{size}. {rest}"),)


def narrow_span(training: Training) -> str:
    """Say that all inputs or all outputs are combinations of very few functions; "" if they are not.

    Inputs that are a few numbers fill their space, so that there are no others: then "" too.
    """
    if len(training.y) > 1 and not np.ptp(training.y, axis=0).any():
        return (
            "all training outputs are the same function. How outputs depend on inputs cannot be learned from "
            "these data"
        )
    inputs, outputs = (_inspected(A).reshape(-1, A[0].size) for A in (training.X, training.y))
    k, q = _dimension(inputs), _dimension(outputs)
    if k == inputs.shape[1]:
        return ""
    found = []
    for name, modes, most in (("outputs", q, outputs.shape[1]), ("inputs", k, inputs.shape[1])):
        if 0 < modes <= _FEWEST_MODES and modes < most and len(training.X) >= _FUNCTIONS_PER_MODE * modes:
            few = "multiples of one function" if modes == 1 else f"combinations of {modes} functions"
            found.append(f"all training {name} are {few}")
    if not found:
        return ""
    return f"{' and '.join(found)}. The error for other functions cannot be estimated from these data"


def _dimension(functions: np.ndarray) -> int:
    """Return the dimension of the span of the rows, up to rounding."""
    energy = np.maximum(np.linalg.eigvalsh(_small_gram(functions / (np.abs(functions).max() or 1.0))), 0)
    rest = np.cumsum(energy)  # ascending
    return int(np.count_nonzero(rest > _NEGLIGIBLE_REST**2 * rest[-1]))


def recommendations(search: Search, best: Trial, expected: ErrorEstimate, narrow: bool) -> tuple[Fact, ...]:
    """Report which data would reduce the error; `narrow`: the training functions span a small space."""
    if expected.error is None and len(search.X) > 1:  # outputs without a size
        return ()
    if expected.error is not None and expected.error < EXACT:
        if narrow:
            text = "not needed for functions like these. For other functions, add some of them"
        else:
            text = "not needed: the error is at the level of rounding"
        return (Fact("More data", text),)
    # Where little is predicted, that every second sensor predicts as little says nothing.
    said = expected.error is not None and expected.error < USELESS and len(search.X) >= MIN_INDEPENDENT
    sensors = search.with_half_the_sensors(best) if said else None
    return (
        *_more_functions(search, best, expected.optimism),
        *([] if sensors is None else [_more_sensors(*sensors)]),
    )


def _more_functions(search: Search, best: Trial, optimism: float) -> tuple[Fact, ...]:
    """Report whether more functions would help, from the learning curve of the best kind of branch."""
    if len(search.X) < _UNCERTAIN_BELOW:
        count = plural(len(search.X), "function")
        text = f"would help most. With {count}, the choice of the model is uncertain"
        if optimism:
            text += f": the expected error includes {percent(optimism, 1)} for that"
        return (Fact("More functions", text),)
    curve = learning_curve(search, best)
    if curve is None:
        return ()
    n, N, rate = curve.n, curve.N, curve.rate
    if rate < _FLAT_RATE:
        text = (
            f"would not help: from {n} to {N} functions the error hardly fell. The rest is noise, or not "
            "visible to the sensors. Better measurements or more sensors may help"
        )
    else:
        errors = curve.error_n, curve.error_N, curve.error_N * 2.0**-rate
        before, now, twice = (percent(error, 2) for error in errors)
        fell = f"From {n} to {N} functions the error fell from {before} to {now}"
        text = f"with twice as many, expect about {twice}. {fell}"
    return (Fact("More functions", text),)


def _more_sensors(every: float, second: float) -> Fact:
    """Report whether more sensors would help, from the errors with all and with every second one."""
    if second > _SENSORS_MATTER * every:
        errors = f"the error is {percent(second, 2)} instead of {percent(every, 2)} (on few functions)"
        return Fact("More sensors", f"may help: with every second sensor, {errors}")
    return Fact("More sensors", "would not help: every second sensor is enough")

"""White noise in the outputs: from repeats, or from the singular values that noise alone explains."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet.auto.repeats import Repeats
from elmonet.form.training import Training
from elmonet.metrics import function_norms, reference_norms
from elmonet.summaries import Fact, percent

__all__ = ["noise_in_words", "noise_of", "white_noise"]

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

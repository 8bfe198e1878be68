"""Records in time: forced oscillators and tanks, whose response depends on the past of the forcing.

All start from rest. The forcing is linear between its samples, as recorded ground motion is understood, so
that the records define the problem completely; states are integrated by the classical Runge-Kutta method
with several steps between two samples.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elmonet.checks import number, positive_integer
from elmonet.data import OperatorData
from elmonet.errors import InputError
from elmonet.problems.gaussian import train_and_test

Rate = Callable[[np.ndarray, np.ndarray], np.ndarray]

_SUBSTEPS = 10  # Runge-Kutta steps between samples: kinks of hysteresis are then resolved to 1e-6
_GROUND, _GROUND_DAMPING = 2.0, 0.5  # Kanai-Tajimi spectrum: frequency in Hz and damping ratio
_HIGHEST = 8.0  # frequency in Hz above which ground motion vanishes
_BLOWN_UP = 1e6


def bouc_wen(
    n_train: int = 10,
    n_test: int = 100,
    seed: int = 0,
    *,
    n_steps: int = 1000,
    dt: float = 0.02,
    frequency: float = 1.0,
    damping: float = 0.05,
    stiffness_ratio: float = 0.5,
    yield_displacement: float = 0.25,
    intensity: float = 1.0,
    noise: float = 0.0,
) -> OperatorData:
    """Make pairs ground acceleration -> displacement of a hysteretic (Bouc-Wen) oscillator,

        x'' + 2 z w x' + w^2 (r x + (1 - r) d q) = -u(t),   q' = (x' - |x'| q^3 / 2 - x' |q|^3 / 2) / d,

    with w = 2 pi frequency, z the damping ratio, r the ratio of stiffness after and before yielding and d the
    yield displacement. The ground motion is noise with a Kanai-Tajimi spectrum under an envelope that begins
    and ends at zero; its intensity differs from record to record by a factor of up to three.

    Parameters
    ----------
    n_train, n_test : number of training and of test records.
    seed : the same seed gives the same records, with and without noise.
    n_steps, dt : number of samples of a record, and the time between them.
    frequency, damping, stiffness_ratio, yield_displacement : as above.
    intensity : factor on the ground motion.
    noise : standard deviation of independent errors of the training outputs, relative to the root mean
        square of each record.

    Returns
    -------
    data : accelerations u (N, n_steps) in m/s^2 and displacements s (N, n_steps) in m, sampled in time.

    Examples
    --------
    >>> bouc_wen(3, 2, n_steps=200)
    OperatorData 'bouc_wen': 3 training and 2 test functions
      u (N, 200) at 200 sensors in 1-D -> s (N, 200) at 200 points in 1-D
    """
    w = 2 * np.pi * number(frequency, "frequency", strict=True)
    d = number(yield_displacement, "yield_displacement", strict=True)
    r, z = number(stiffness_ratio, "stiffness_ratio"), number(damping, "damping")
    intensity = number(intensity, "intensity", strict=True)

    def rate(state: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, v, q = state
        return np.stack(
            [
                v,
                -u - 2 * z * w * v - w**2 * (r * x + (1 - r) * d * q),
                (v - 0.5 * np.abs(v) * q**3 - 0.5 * v * np.abs(q) ** 3) / d,
            ]
        )

    def forcing(n: int, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return intensity * _ground_motion(n, t, rng)

    start = np.zeros(3)
    return _records(rate, start, 0, forcing, "bouc_wen", n_train, n_test, seed, n_steps, dt, noise)


def duffing(
    n_train: int = 10,
    n_test: int = 100,
    seed: int = 0,
    *,
    n_steps: int = 1000,
    dt: float = 0.1,
    stiffness: float = 1.0,
    cubic: float = 1.0,
    damping: float = 0.3,
    amplitude: float = 0.5,
    noise: float = 0.0,
) -> OperatorData:
    """Make pairs forcing -> displacement of a Duffing oscillator,

        x'' + damping x' + stiffness x + cubic x^3 = u(t) .

    The forcing is a sum of five sines with random frequencies of 0.5 to 2 and random phases, which begins
    smoothly. With ``stiffness=-1`` there are two wells, and motion between them is chaotic: neighbouring runs
    separate exponentially, and no model predicts them for long.

    Parameters
    ----------
    n_train, n_test : number of training and of test records.
    seed : the same seed gives the same records, with and without noise.
    n_steps, dt : number of samples of a record, and the time between them.
    stiffness, cubic, damping : as above.
    amplitude : root mean square of the forcing.
    noise : standard deviation of independent errors of the training outputs, relative to the root mean
        square of each record.

    Returns
    -------
    data : forcings u (N, n_steps) and displacements s (N, n_steps), sampled in time.

    Examples
    --------
    >>> duffing(3, 2, n_steps=200)
    OperatorData 'duffing': 3 training and 2 test functions
      u (N, 200) at 200 sensors in 1-D -> s (N, 200) at 200 points in 1-D
    """
    k, k3 = number(stiffness, "stiffness", minimum=-np.inf), number(cubic, "cubic")
    c, amplitude = number(damping, "damping"), number(amplitude, "amplitude", strict=True)

    def rate(state: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, v = state
        return np.stack([v, u - c * v - k * x - k3 * x**3])

    def forcing(n: int, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        w, phase = rng.uniform(0.5, 2.0, (n, 5, 1)), rng.uniform(0, 2 * np.pi, (n, 5, 1))
        sines = np.sin(w * t + phase).sum(axis=1) * amplitude * np.sqrt(2 / 5)
        return sines * _smooth_step(t / (2 * np.pi))

    start = np.zeros(2)
    return _records(rate, start, 0, forcing, "duffing", n_train, n_test, seed, n_steps, dt, noise)


def tanks(
    n_train: int = 10,
    n_test: int = 100,
    seed: int = 0,
    *,
    n_steps: int = 1000,
    dt: float = 4.0,
    noise: float = 0.0,
) -> OperatorData:
    """Make pairs pump voltage -> water level of the lower of two tanks, one flowing into the other,

        a' = -k sqrt(a) + b u(t),   s' = k sqrt(a) - k sqrt(s),

    with k = 0.06 and b = 0.05. Both begin at the level 4 that the mean voltage of 2.4 keeps. The voltage
    moves to random levels of 1.5 to 3.3, every 40 to 160 samples.

    Parameters
    ----------
    n_train, n_test : number of training and of test records.
    seed : the same seed gives the same records, with and without noise.
    n_steps, dt : number of samples of a record, and the time between them.
    noise : standard deviation of independent errors of the training outputs, relative to the root mean
        square of each record.

    Returns
    -------
    data : voltages u (N, n_steps) and levels s (N, n_steps), sampled in time.

    Examples
    --------
    >>> tanks(3, 2, n_steps=200)
    OperatorData 'tanks': 3 training and 2 test functions
      u (N, 200) at 200 sensors in 1-D -> s (N, 200) at 200 points in 1-D
    """

    def rate(state: np.ndarray, u: np.ndarray) -> np.ndarray:
        upper, lower = 0.06 * np.sqrt(np.maximum(state, 0))
        return np.stack([0.05 * u - upper, upper - lower])

    def forcing(n: int, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        u = np.empty((n, len(t)))
        for row in u:
            lengths = rng.integers(40, 161, len(t) // 40 + 1)
            levels = np.append(2.4, rng.uniform(1.5, 3.3, len(lengths) - 1))
            row[:] = np.repeat(levels, lengths)[: len(t)]
        return u

    start = np.full(2, (0.05 * 2.4 / 0.06) ** 2)
    return _records(rate, start, 1, forcing, "tanks", n_train, n_test, seed, n_steps, dt, noise)


def respond(rate: Rate, start: np.ndarray, u: np.ndarray, dt: float, substeps: int = _SUBSTEPS) -> np.ndarray:
    """Return states (N, T, d) of ``y' = rate(y, u)``, for forcings u (N, T) that are linear between samples.

    `rate` takes states (d, N) and forcings (N,). The classical Runge-Kutta method.

    >>> u = np.ones((1, 11))
    >>> y = respond(lambda y, u: u - y, np.zeros(1), u, dt=0.1)
    >>> np.allclose(y[0, :, 0], 1 - np.exp(-0.1 * np.arange(11)), rtol=0, atol=1e-9)
    True
    """
    n, steps = u.shape
    h = dt / substeps
    y = np.repeat(np.asarray(start, float)[:, None], n, axis=1)
    out = np.empty((n, steps, len(y)))
    out[:, 0] = y.T
    for k in range(1, steps):
        before, slope = u[:, k - 1], (u[:, k] - u[:, k - 1]) / substeps
        for j in range(substeps):
            u0, u1, u2 = before + j * slope, before + (j + 0.5) * slope, before + (j + 1) * slope
            k1 = rate(y, u0)
            k2 = rate(y + h / 2 * k1, u1)
            k3 = rate(y + h / 2 * k2, u1)
            k4 = rate(y + h * k3, u2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[:, k] = y.T
    if not np.abs(out).max() < _BLOWN_UP:
        raise InputError("a response grows without limit: use a smaller time step or smaller forcing.")
    return out


def _records(
    rate: Rate,
    start: np.ndarray,
    observed: int,
    forcing: Callable[[int, np.ndarray, np.random.Generator], np.ndarray],
    name: str,
    n_train: int,
    n_test: int,
    seed: int,
    n_steps: int,
    dt: float,
    noise: float,
) -> OperatorData:
    """Draw forcings and compute the observed state; training outputs with noise."""
    t = number(dt, "dt", strict=True) * np.arange(positive_integer(n_steps, "n_steps", minimum=2))
    noise, parts = number(noise, "noise"), iter((True, False))

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        (noise_rng,) = rng.spawn(1)
        u = forcing(n, t, rng)
        s = respond(rate, start, u, dt)[..., observed]
        if next(parts) and noise:
            rms = np.sqrt(np.mean((s - s[:, :1]) ** 2, axis=1, keepdims=True))
            s = s + noise * rms * noise_rng.standard_normal(s.shape)
        return u, s

    return train_and_test(draw, n_train, n_test, seed, sensors=t, points=t, name=name)


def _ground_motion(n: int, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return accelerations (n, T): sums of cosines with a Kanai-Tajimi spectrum under an envelope."""
    length = t[-1]
    w = 2 * np.pi * np.arange(1, max(2, int(_HIGHEST * length)) + 1) / length
    ratio = w / (2 * np.pi * _GROUND)
    damped = 4 * _GROUND_DAMPING**2 * ratio**2
    spectrum = (1 + damped) / ((1 - ratio**2) ** 2 + damped) * (w / (w + np.pi)) ** 2
    spectrum *= _smooth_step((2 * np.pi * _HIGHEST - w) / (2 * np.pi * _HIGHEST) * 2)
    phases = rng.uniform(0, 2 * np.pi, (n, len(w)))
    size = np.exp(rng.uniform(np.log(0.5), np.log(1.5), (n, 1)))
    peak, width = rng.uniform(0.15, 0.35, (n, 1)), rng.uniform(0.15, 0.3, (n, 1))
    tau = t / length
    envelope = _smooth_step(tau / peak) * np.exp(-np.maximum(tau - peak, 0) / width)
    envelope *= _smooth_step((1 - tau) / 0.1)
    field = np.cos(phases) @ (np.sqrt(spectrum)[:, None] * np.cos(np.outer(w, t)))
    field -= np.sin(phases) @ (np.sqrt(spectrum)[:, None] * np.sin(np.outer(w, t)))
    return size * envelope * field / np.sqrt(spectrum.sum() / 2)


def _smooth_step(x: np.ndarray) -> np.ndarray:
    """Return a step from 0 at x <= 0 to 1 at x >= 1 with a continuous second derivative."""
    x = np.clip(x, 0, 1)
    return np.asarray(x**3 * (10 - 15 * x + 6 * x**2))

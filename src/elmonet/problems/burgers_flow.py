"""Burgers' equation on a circle: exact solutions by the Cole-Hopf formula."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from elmonet.checks import finite, number, positive_integer
from elmonet.data import OperatorData
from elmonet.errors import InputError
from elmonet.problems.gaussian import train_and_test, uniform_grid

_WAVES = 512  # of random initial values, as in the published generator
_BLOCK_BYTES = 2**24  # of initial values at the nodes, at a time
_MOST_POINTS = 1024  # evaluated at a time
_MOST_NODES = 2**15  # of the integrals
_TOLERANCE = 1e-10  # relative change of u when nodes are doubled
_NEGLIGIBLE_WIDTHS = 8.6  # exp(-8.6^2 / 2) is below half a unit of rounding, in distance and in frequency


def burgers(
    n_train: int = 1000,
    n_test: int = 200,
    seed: int = 0,
    *,
    n_points: int = 128,
    viscosity: float = 0.1,
    final_time: float = 1.0,
) -> OperatorData:
    """Make pairs u(., 0) -> u(., final_time) with u_t + u u_z = viscosity u_zz, z = 2 pi x, x on a circle.

    The benchmark of Li et al. (Fourier neural operator, 2021), as its files were made: u(., 0) is drawn from
    the Gaussian field N(0, 625 (-d^2/dx^2 + 25)^-2) on the periodic unit interval, without its mean; the
    equation is in z. Inputs and outputs are at the same uniform points of [0, 1], both ends included, where
    the first and the last value agree. The solution is exact up to rounding.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions, at any points.
    n_points : number of points.
    viscosity, final_time : as above.

    Returns
    -------
    data : u(., 0) and u(., final_time), both (N, n_points).

    Raises
    ------
    InputError : if the viscosity is too small for the solver.

    Examples
    --------
    >>> burgers(20, 10)
    OperatorData 'burgers': 20 training and 10 test functions
      u (N, 128) at 128 sensors in 1-D -> s (N, 128) at 128 points in 1-D
    """
    final_time = number(final_time, "final_time", strict=True)
    times = np.array([0.0, final_time])
    return _from_waves("burgers", n_train, n_test, seed, n_points, times, viscosity)


def burgers_steps(
    n_train: int = 30,
    n_test: int = 10,
    seed: int = 0,
    *,
    n_steps: int = 20,
    dt: float = 0.05,
    n_points: int = 128,
    viscosity: float = 0.1,
) -> OperatorData:
    """Make pairs u(., t) -> u(., t + dt) of Burgers' equation, from whole trajectories.

    Equation, points and initial values (with the same seed) are those of `burgers`. Each trajectory gives
    `n_steps` pairs, for t = 0, dt, ..., (n_steps - 1) dt, one after the other. ``data.u_test[::n_steps]``
    holds the initial values of the test trajectories, and
    ``data.s_test.reshape(n_test, n_steps, n_points)`` the states at t = dt, ..., n_steps dt.

    Parameters
    ----------
    n_train, n_test : number of training and of test trajectories.
    n_steps, dt : number and length of the time steps of a trajectory.
    seed, n_points, viscosity : as in `burgers`.

    Returns
    -------
    data : u(., t) and u(., t + dt), both (n_steps N, n_points).

    Examples
    --------
    >>> burgers_steps(3, 2)
    OperatorData 'burgers_steps': 60 training and 40 test functions
      u (N, 128) at 128 sensors in 1-D -> s (N, 128) at 128 points in 1-D
    """
    n_steps = positive_integer(n_steps, "n_steps")
    times = number(dt, "dt", strict=True) * np.arange(n_steps + 1)
    return _from_waves("burgers_steps", n_train, n_test, seed, n_points, times, viscosity)


def _from_waves(
    name: str, n_train: int, n_test: int, seed: int, n_points: int, times: np.ndarray, viscosity: float
) -> OperatorData:
    """Solve from random initial values; each state but the last is an input, the next one its output."""
    points = uniform_grid(n_points, "n_points", minimum=3)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        u = cole_hopf(random_waves(n, rng), times, viscosity, points[:-1])
        u = np.concatenate([u, u[..., :1]], axis=-1)  # x = 1 is x = 0
        return u[:, :-1].reshape(-1, n_points), u[:, 1:].reshape(-1, n_points)

    return train_and_test(draw, n_train, n_test, seed, sensors=points, points=points, name=name)


def random_waves(n: int, rng: np.random.Generator, power: int = 2) -> np.ndarray:
    """Draw `n` functions from N(0, 25^power (-d^2/dx^2 + 25)^-power), periodic on [0, 1], without the mean.

    Return c (n, 513) of u = 2 Re sum_k c_k exp(2 pi i k x): 512 waves, as in the published generator, with
    independent cosine and sine coefficients of variance 2 (25 / ((2 pi k)^2 + 25))^power. The truncated part
    has a standard deviation below 1e-4 of that of u.

    >>> random_waves(3, np.random.default_rng(0)).shape
    (3, 513)
    """
    k = np.arange(1, _WAVES + 1)
    deviation = np.sqrt(2) * 25 ** (power / 2) / ((2 * np.pi * k) ** 2 + 25) ** (power / 2)
    normal = rng.standard_normal((n, _WAVES, 2))
    # a cos(2 pi k x) + b sin(2 pi k x) = 2 Re c exp(2 pi i k x) with c = (a - i b) / 2
    waves = deviation * (normal[..., 0] - 1j * normal[..., 1]) / 2
    return np.pad(waves, ((0, 0), (1, 0)))


def solve_burgers(u0: np.ndarray, times: Sequence[float] | np.ndarray, viscosity: float = 0.1) -> np.ndarray:
    """Solve u_t + u u_z = viscosity u_zz with z = 2 pi x, on the circle.

    Parameters
    ----------
    u0 : (N, P), initial values at P uniform points of [0, 1], both ends included, so that the first and the
        last value agree; between the points, u0 is their trigonometric interpolant.
    times : (T,), each at least 0.
    viscosity : as above.

    Returns
    -------
    u : (N, T, P), at these times and the points of u0.

    Raises
    ------
    InputError : if u0 is not periodic, or the viscosity or a time is too small for the solver.

    Examples
    --------
    >>> x = np.linspace(0, 1, 65)
    >>> u = solve_burgers(np.sin(2 * np.pi * x)[None], [0.5, 1.0])
    >>> u.shape
    (1, 2, 65)
    >>> float(u[0, 1].max().round(6))
    0.900807
    """
    u0 = np.asarray(u0, dtype=float)
    if u0.ndim != 2 or u0.shape[1] < 3:
        raise InputError(
            f"u0 must be (N, P) with P of at least 3, got {u0.shape}. Give one function per row."
        )
    finite(u0, "u0")
    gap = np.abs(u0[:, 0] - u0[:, -1]).max(initial=0.0)
    if gap > 1e-6 * np.abs(u0).max(initial=0.0):
        raise InputError(
            "u0 must be periodic with both ends among its points, but its first and last value differ by "
            f"{gap:.3g}. Add the first value at the end if the right end is missing."
        )
    size = u0.shape[1] - 1
    coefficients = np.fft.rfft(u0[:, :-1], axis=1) / size
    if size % 2 == 0:
        coefficients[:, -1] /= 2  # cos(size / 2 z) has no partner among the frequencies below
    u = cole_hopf(coefficients, times, viscosity, np.arange(size) / size)
    return np.concatenate([u, u[..., :1]], axis=-1)


def cole_hopf(
    coefficients: np.ndarray, times: Sequence[float] | np.ndarray, viscosity: float, x: np.ndarray
) -> np.ndarray:
    """Return u at the points `x` (P,) of the unit circle and at the `times` (T,): (N, T, P).

    `coefficients` (N, K + 1), complex: u0 = c_0 + 2 Re sum_k c_k exp(2 pi i k x). The integrals are sums over
    uniform nodes, which converge faster than any power of their number; it is doubled until u changes by less
    than 1e-10 of the largest |u0|, so the error is of the size of rounding.

    >>> x = np.array([0.0, 0.25])
    >>> np.allclose(cole_hopf(np.array([[3.0, 0.0]]), [0.0, 2.0], 0.1, x), 3)  # constants stay
    True
    """
    if len(x) > _MOST_POINTS:
        parts = np.array_split(x, math.ceil(len(x) / _MOST_POINTS))
        return np.concatenate([cole_hopf(coefficients, times, viscosity, part) for part in parts], axis=-1)
    viscosity = number(viscosity, "viscosity", strict=True)
    times = np.array([number(t, "a time") for t in times])
    size = np.abs(coefficients).sum(axis=1)[:, None, None]
    widths = np.sqrt(2 * viscosity * times)
    narrowest = widths[widths > 0].min(initial=np.inf)
    fewest = max(256, 4 * (coefficients.shape[1] - 1), 2 * _NEGLIGIBLE_WIDTHS / narrowest)
    n = 2 ** math.ceil(math.log2(fewest))
    u = _weighted_mean(coefficients, times, viscosity, x, n) if n < _MOST_NODES else None
    while u is not None and n < _MOST_NODES:
        n, coarse = 2 * n, u
        u = _weighted_mean(coefficients, times, viscosity, x, n)
        if (np.abs(u - coarse) <= _TOLERANCE * size).all():  # false for NaN
            return u
    raise InputError(
        f"{_MOST_NODES} nodes are not enough for u_t + u u_z = viscosity u_zz with viscosity={viscosity:g} "
        f"at the first time of {times[times > 0].min(initial=np.inf):g}. Use a larger viscosity, or later "
        "times."
    )


def _weighted_mean(c: np.ndarray, times: np.ndarray, viscosity: float, x: np.ndarray, n: int) -> np.ndarray:
    """Return u (N, T, P) with integrals as sums over `n` nodes of the circle; NaN where they underflow.

    Cole-Hopf: with U the antiderivative of u0, here of mean 0, u = -2 viscosity phi_z / phi solves
    Burgers' equation if phi_t = viscosity phi_zz and phi = exp(-U / (2 viscosity)) at t = 0. With G the heat
    kernel,

        phi = G * phi_0,   phi_z = G * (phi_0)_z = -G * (u0 phi_0) / (2 viscosity),   so

        u(z, t) = G * (u0 phi_0) / G * phi_0,

    a mean of u0 with positive weights: nothing cancels. A mean m of u0 moves the solution at the speed m,
    u(z, t) = m + v(z - m t, t) with v from u0 - m: both integrands are moved by m t.
    """
    k = np.arange(c.shape[1])
    integral = c * np.divide(1.0, 1j * k, out=np.zeros(len(k), complex), where=k > 0)
    u = np.empty((len(c), len(times), len(x)))
    block = max(1, _BLOCK_BYTES // (8 * n))
    for j, t in enumerate(times):
        kernel = _heat_kernel(np.arange(n) / n, x, math.sqrt(2 * viscosity * t)) if t > 0 else None
        for start in range(0, len(c), block):
            rows = slice(start, start + block)
            if kernel is None:
                waves = np.exp(2j * np.pi * np.outer(k, x))
                u[rows, j] = 2 * (c[rows] @ waves).real - c[rows, :1].real
                continue
            moved = np.exp(-1j * t * k * c[rows, :1].real)
            at_nodes, U = (np.fft.irfft(f[rows] * moved, n, norm="forward") for f in (c, integral))
            phi = np.exp((U.min(axis=1, keepdims=True) - U) / (2 * viscosity))
            above, below = np.split(np.concatenate([at_nodes * phi, phi]) @ kernel, 2)
            with np.errstate(invalid="ignore", divide="ignore"):
                u[rows, j] = above / below
    return u


def _heat_kernel(nodes: np.ndarray, x: np.ndarray, width: float) -> np.ndarray:
    """Return the Gaussian of the distance on the circle, (len(nodes), len(x)), up to a factor."""
    turns = nodes[:, None] - x + 0.5
    turns -= np.floor(turns)
    distance = 2 * np.pi * (turns - 0.5)  # to the nearest copy of the node
    kernel = np.zeros_like(distance)
    around = max(1, math.ceil(_NEGLIGIBLE_WIDTHS * width / (2 * np.pi)))
    for j in range(-around, around + 1):
        exponent = np.add(distance, 2 * np.pi * j, out=turns)
        exponent /= width
        exponent *= exponent
        exponent *= -0.5
        kernel += np.exp(exponent, out=exponent)
    return kernel

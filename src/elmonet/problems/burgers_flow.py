"""Burgers' equation on a circle: from the initial to the final velocity, and step by step."""

from __future__ import annotations

import numpy as np

from elmonet._check import number, positive_integer
from elmonet.data import OperatorData
from elmonet.problems.cole_hopf import cole_hopf
from elmonet.problems.split import train_and_test, uniform_grid

__all__ = ["burgers", "burgers_steps", "random_waves"]

_MODES = 512


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

    The benchmark of Li et al. (Fourier neural operator, 2021), as its files were made: u(., 0) is from the
    Gaussian field N(0, 625 (-d^2/dx^2 + 25)^-2) of the periodic unit interval, without its mean, see
    `random_waves`; the equation is in z. Inputs and outputs are at the same uniform points of [0, 1] with
    both ends, where the first and the last value agree. The solution is exact up to rounding (`cole_hopf`).

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions, at any points.
    n_points : number of points.
    viscosity, final_time : as above.

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

    Equation, points and initial values are those of `burgers`: with the same seed, the same. Each trajectory
    gives the `n_steps` pairs t = 0, dt, ..., (n_steps - 1) dt, one after the other. Of the test trajectories,
    ``data.u_test[::n_steps]`` are the initial values, and what follows at t = dt, ..., n_steps dt is
    ``data.s_test.reshape(n_test, n_steps, n_points)``.

    Parameters
    ----------
    n_train, n_test : number of training and of test trajectories.
    seed : the same seed gives the same functions, at any points.
    n_steps, dt : number of steps of a trajectory, and how long a step is.
    n_points : number of points.
    viscosity : as in `burgers`.

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
    """Solve from random initial values; each time but the last is an input, the next is its output."""
    points = uniform_grid(n_points, "n_points", minimum=3)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        u = cole_hopf(random_waves(n, rng), times, viscosity, points[:-1])
        u = np.concatenate([u, u[..., :1]], axis=-1)  # x = 1 is x = 0
        return u[:, :-1].reshape(-1, n_points), u[:, 1:].reshape(-1, n_points)

    x = points[:, None]
    return train_and_test(draw, n_train, n_test, seed, sensors=x, points=x, name=name)


def random_waves(n: int, rng: np.random.Generator, power: int = 2) -> np.ndarray:
    """Draw `n` functions from N(0, 25^power (-d^2/dx^2 + 25)^-power), periodic on [0, 1], without the mean.

    Returns c (n, 513) of u = 2 Re sum_k c_k exp(2 pi i k x): 512 waves, as in the published generator, with
    independent cosine and sine coefficients of variance 2 (25 / ((2 pi k)^2 + 25))^power. What is cut off has
    a standard deviation below 1e-4 of the whole.

    >>> random_waves(3, np.random.default_rng(0)).shape
    (3, 513)
    """
    k = np.arange(1, _MODES + 1)
    deviation = np.sqrt(2) * 25 ** (power / 2) / ((2 * np.pi * k) ** 2 + 25) ** (power / 2)
    normal = rng.standard_normal((n, _MODES, 2))
    # a cos(2 pi k x) + b sin(2 pi k x) = 2 Re c exp(2 pi i k x) with c = (a - i b) / 2
    waves = deviation * (normal[..., 0] - 1j * normal[..., 1]) / 2
    return np.pad(waves, ((0, 0), (1, 0)))

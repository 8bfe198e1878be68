"""Two operators on [0, 1]: the antiderivative, and the solution of a mildly nonlinear ODE."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elmonet.checks import number
from elmonet.data import OperatorData
from elmonet.problems.chebyshev import (
    chebyshev_nodes,
    integrate,
    interpolation_matrix,
    resolution,
    solve_riccati,
)
from elmonet.problems.gaussian import SHORTEST, gaussian_field, train_and_test, uniform_grid


def antiderivative(
    n_train: int = 1000,
    n_test: int = 1000,
    seed: int = 0,
    *,
    n_sensors: int = 100,
    n_points: int = 100,
    length_scale: float = 0.1,
) -> OperatorData:
    """Make pairs u -> s with s(x) = integral of u from 0 to x, for u from a Gaussian field.

    Both come from the same polynomial, which resolves the field down to rounding.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions.
    n_sensors, n_points : number of uniform points of [0, 1] where u, and s, are known.
    length_scale : of the Gaussian field, see `gaussian_field`.

    Returns
    -------
    data : u (N, n_sensors) and s (N, n_points).

    Examples
    --------
    >>> antiderivative(20, 10)
    OperatorData 'antiderivative': 20 training and 10 test functions
      u (N, 100) at 100 sensors in 1-D -> s (N, 100) at 100 points in 1-D
    """
    return _from_field(integrate, "antiderivative", n_train, n_test, seed, n_sensors, n_points, length_scale)


def nonlinear_ode(
    n_train: int = 1000,
    n_test: int = 1000,
    seed: int = 0,
    *,
    n_sensors: int = 100,
    n_points: int = 100,
    length_scale: float = 0.1,
) -> OperatorData:
    """Make pairs u -> s with s' = -0.1 s^2 + u, s(0) = 0, for u from a Gaussian field.

    Parameters, the inputs u of a seed, and the shapes that are returned are those of `antiderivative`.

    Examples
    --------
    >>> nonlinear_ode(20, 10)
    OperatorData 'nonlinear_ode': 20 training and 10 test functions
      u (N, 100) at 100 sensors in 1-D -> s (N, 100) at 100 points in 1-D
    """
    return _from_field(
        solve_riccati, "nonlinear_ode", n_train, n_test, seed, n_sensors, n_points, length_scale
    )


def _from_field(
    solve: Callable[[np.ndarray], np.ndarray],
    name: str,
    n_train: int,
    n_test: int,
    seed: int,
    n_sensors: int,
    n_points: int,
    length_scale: float,
) -> OperatorData:
    """Sample u at Chebyshev nodes, solve there, and interpolate u and s to the uniform points."""
    sensors = uniform_grid(n_sensors, "n_sensors")
    points = uniform_grid(n_points, "n_points")
    nodes = chebyshev_nodes(resolution(number(length_scale, "length_scale", minimum=SHORTEST)))
    to_sensors = interpolation_matrix(len(nodes), sensors)
    to_points = interpolation_matrix(len(nodes), points)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        u = gaussian_field(nodes, n, length_scale, rng)
        return u @ to_sensors.T, solve(u) @ to_points.T

    return train_and_test(draw, n_train, n_test, seed, sensors=sensors, points=points, name=name)

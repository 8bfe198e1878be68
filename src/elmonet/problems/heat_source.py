"""The inverse source problem: from the final temperature back to the heat source."""

from __future__ import annotations

import numpy as np

from elmonet._check import number
from elmonet.data import OperatorData
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix, resolution
from elmonet.problems.gaussian import SHORTEST, gaussian_field
from elmonet.problems.reaction_diffusion import solve_reaction_diffusion
from elmonet.problems.split import train_and_test, uniform_grid

__all__ = ["inverse_source"]


def inverse_source(
    n_train: int = 1000,
    n_test: int = 1000,
    seed: int = 0,
    *,
    noise: float = 0.0,
    n_sensors: int = 100,
    n_points: int = 100,
    length_scale: float = 0.2,
    diffusion: float = 0.01,
    reaction: float = 0.01,
) -> OperatorData:
    """Make pairs u(1, x) -> s(x), for the source s from a Gaussian field, where

        u_t = diffusion u_xx + reaction u^2 + s(x),   u(0, x) = 0,   u(t, 0) = u(t, 1) = 0.

    Parameters
    ----------
    n_train, n_test : number of training and of test functions.
    seed : the same seed gives the same functions.
    noise : adds independent normal errors to the inputs, of training and test, with standard deviation
        `noise` times the root mean square of that input function; it does not change the functions.
    n_sensors, n_points : number of uniform points of [0, 1] where u(1, .), and s, are known.
    length_scale : of the Gaussian field, see `gaussian_field`.
    diffusion, reaction : as above.

    Examples
    --------
    >>> inverse_source(20, 10, noise=0.01)
    OperatorData 'inverse_source': 20 training and 10 test functions
      u (N, 100) at 100 sensors in 1-D -> s (N, 100) at 100 points in 1-D
    """
    noise = number(noise, "noise")
    sensors = uniform_grid(n_sensors, "n_sensors")
    points = uniform_grid(n_points, "n_points")
    length_scale = number(length_scale, "length_scale", minimum=SHORTEST)
    diffusion = number(diffusion, "diffusion", minimum=1e-5)
    reaction = number(reaction, "reaction")
    # Boundary layers are sqrt(diffusion) wide and the nodes' spacing at the ends is ~ 1 / n^2.
    size = max(resolution(length_scale), int(np.ceil(12 * diffusion**-0.25)))
    nodes = chebyshev_nodes(size)
    to_sensors = interpolation_matrix(size, sensors)
    to_points = interpolation_matrix(size, points)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        (rng_of_noise,) = rng.spawn(1)
        s = gaussian_field(nodes, n, length_scale, rng)
        u = solve_reaction_diffusion(s, diffusion, reaction) @ to_sensors.T
        if noise:
            rms = np.sqrt((u * u).mean(axis=1, keepdims=True))
            u += noise * rms * rng_of_noise.standard_normal(u.shape)
        return u, s @ to_points.T

    return train_and_test(
        draw,
        n_train,
        n_test,
        seed,
        sensors=sensors[:, None],
        points=points[:, None],
        name="inverse_source",
    )

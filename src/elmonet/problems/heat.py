"""The inverse source problem of a reaction-diffusion equation on [0, 1]."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import expm

from elmonet.checks import number
from elmonet.data import OperatorData
from elmonet.errors import InputError
from elmonet.problems.chebyshev import (
    chebyshev_nodes,
    interpolation_matrix,
    resolution,
    second_derivative_matrix,
)
from elmonet.problems.gaussian import SHORTEST, gaussian_field, train_and_test, uniform_grid

_FEWEST_STEPS, _MOST_STEPS = 20, 320  # from t = 0 to 1
_TOLERANCE = 1e-9  # relative change of u when steps are halved
_BLOWN_UP = 1e6  # |u| above which a solution is taken to blow up


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
    seed : the same seed gives the same functions, with and without noise.
    noise : standard deviation of independent normal errors of all inputs, relative to the root mean square
        of each input function.
    n_sensors, n_points : number of uniform points of [0, 1] where u(1, .), and s, are known.
    length_scale : of the Gaussian field, see `gaussian_field`.
    diffusion, reaction : as above.

    Returns
    -------
    data : inputs u(1, .) (N, n_sensors) and outputs s (N, n_points).

    Raises
    ------
    InputError : if a solution blows up before t = 1.

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
    # Boundary layers are sqrt(diffusion) wide, and the spacing of the nodes at the ends is ~ 1 / n^2.
    size = max(resolution(length_scale), int(np.ceil(12 * diffusion**-0.25)))
    nodes = chebyshev_nodes(size)
    to_sensors = interpolation_matrix(size, sensors)
    to_points = interpolation_matrix(size, points)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        (noise_rng,) = rng.spawn(1)
        s = gaussian_field(nodes, n, length_scale, rng)
        u = solve_reaction_diffusion(s, diffusion, reaction) @ to_sensors.T
        if noise:
            rms = np.sqrt((u * u).mean(axis=1, keepdims=True))
            u += noise * rms * noise_rng.standard_normal(u.shape)
        return u, s @ to_points.T

    return train_and_test(draw, n_train, n_test, seed, sensors=sensors, points=points, name="inverse_source")


def solve_reaction_diffusion(s: np.ndarray, diffusion: float, reaction: float) -> np.ndarray:
    """Return u(1, .) of u_t = D u_xx + k u^2 + s for rows of `s` (N, n): (N, n).

    u = 0 at t = 0 and at both ends. Values are at `chebyshev_nodes(n)`. The number of time steps is doubled
    until u(1, .) changes by less than 1e-9 of its size in every row; the error is then smaller. Raises
    `InputError` if that never happens, because a solution blows up or nearly so.

    >>> from elmonet.problems.chebyshev import chebyshev_nodes
    >>> x = chebyshev_nodes(64)
    >>> u = solve_reaction_diffusion(np.sin(np.pi * x)[None], diffusion=1.0, reaction=0.0)
    >>> exact = (1 - np.exp(-(np.pi**2))) / np.pi**2 * np.sin(np.pi * x)
    >>> np.allclose(u, exact, rtol=0, atol=1e-11)
    True
    """
    return reaction_diffusion_states(s, diffusion, reaction, 1)[:, -1]


def reaction_diffusion_states(s: np.ndarray, diffusion: float, reaction: float, intervals: int) -> np.ndarray:
    """Return u of `solve_reaction_diffusion` at the times 0, 1 / intervals, ..., 1: (N, intervals + 1, n).

    The number of time steps is doubled until no state changes by more than 1e-9 of the largest of its row.

    >>> x = chebyshev_nodes(64)
    >>> u = reaction_diffusion_states(np.sin(np.pi * x)[None], 1.0, 0.0, intervals=2)
    >>> growth = (1 - np.exp(-(np.pi**2) * np.array([0, 0.5, 1]))) / np.pi**2
    >>> np.allclose(u, np.outer(growth, np.sin(np.pi * x)), rtol=0, atol=1e-11)
    True
    """
    source = s[:, 1:-1]  # interior nodes alone: u = 0 at both ends
    A = diffusion * second_derivative_matrix(s.shape[1])[1:-1, 1:-1]
    steps = math.ceil(_FEWEST_STEPS / intervals) * intervals
    u = _march(source, A, reaction, steps, intervals)
    while steps < _MOST_STEPS:
        steps, coarse = 2 * steps, u
        u = _march(source, A, reaction, steps, intervals)
        if not np.isfinite(u).all():
            break
        if (np.abs(u - coarse).max(axis=(1, 2)) <= _TOLERANCE * np.abs(u).max(axis=(1, 2))).all():
            return np.pad(u, ((0, 0), (0, 0), (1, 1)))
    raise InputError(
        f"a solution of u_t = D u_xx + k u^2 + s with D={diffusion:g}, k={reaction:g} grows without limit "
        f"before t = 1, or needs more than {_MOST_STEPS} time steps, for sources up to "
        f"{np.abs(s).max():.3g}. Use a smaller reaction k."
    )


def _march(source: np.ndarray, A: np.ndarray, reaction: float, steps: int, intervals: int) -> np.ndarray:
    """Take `steps` steps of u_t = A u + k u^2 + s from t = 0 to 1.

    Return the states at t = 0 and after each interval, (N, intervals + 1, n); inf if one blows up.

    Exponential Runge-Kutta method of order 4 of Cox and Matthews (2002): A and s are integrated exactly, so
    the boundary layers that start at t = 0, where s does not vanish, cost no accuracy.
    """
    h = 1.0 / steps
    E_half, phi1_half = (M.T for M in exponential_and_phi(h / 2 * A, order=1))
    E, phi1, phi2, phi3 = (M.T for M in exponential_and_phi(h * A, order=3))
    f = h / 2 * phi1_half
    f1 = h * (phi1 - 3 * phi2 + 4 * phi3)
    f2 = h * (2 * phi2 - 4 * phi3)
    f3 = h * (4 * phi3 - phi2)

    def rate(v: np.ndarray) -> np.ndarray:
        return reaction * v * v + source

    states = np.zeros((len(source), intervals + 1, source.shape[1]))
    u = states[:, 0]
    for step in range(1, steps + 1):
        at_u, half = rate(u), u @ E_half
        a = half + at_u @ f
        at_a = rate(a)
        at_b = rate(half + at_a @ f)
        at_c = rate(a @ E_half + (2 * at_b - at_u) @ f)
        u = u @ E + at_u @ f1 + (at_a + at_b) @ f2 + at_c @ f3
        if not np.abs(u).max() < _BLOWN_UP:
            return np.full_like(states, np.inf)
        if step % (steps // intervals) == 0:
            states[:, step * intervals // steps] = u
    return states


def exponential_and_phi(A: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
    """Return exp(A), phi_1(A), ..., phi_order(A), where phi_k(A) = sum_j A^j / (j + k)!.

    They are the first row of blocks of the exponential of [[A, I, 0, ...], [0, 0, I, ...], ...].

    >>> [float(M[0, 0].round(4)) for M in exponential_and_phi(np.zeros((1, 1)), order=3)]
    [1.0, 1.0, 0.5, 0.1667]
    """
    n = len(A)
    augmented = np.eye((order + 1) * n, k=n)
    augmented[:n, :n] = A
    return tuple(np.split(expm(augmented)[:n], order + 1, axis=1))

"""Advection with a random speed: s_t + u(x) s_x = 0, s(x, 0) = sin(pi x), s(0, t) = sin(pi t / 2).

The problem of Wang, Wang and Perdikaris, "Learning the solution operator of parametric partial differential
equations with physics-informed DeepONets" (2021), error 2.4e-2; their "Improved architectures and training
algorithms for deep operator networks" (2022) has 9.5e-3. The speed is u = v - min v + 1 with v from a
Gaussian field of length scale 0.2, and the minimum over a fine grid of [0, 1]. The domain is the unit square
with the coordinates x, t.

The reference follows characteristics, exact up to quadrature and interpolation. The travel time from 0 to x
is

    tau(x) = integral of 1 / u from 0 to x,

and s is constant where tau(x) - t is: with x0 the inverse of tau,

    s(x, t) = sin(pi (t - tau(x)) / 2)     if t >= tau(x): the boundary value at x = 0,
    s(x, t) = sin(pi x0(tau(x) - t))       otherwise: the initial value.

s is continuous, with a kink along t = tau(x). tau is a Chebyshev integral with 256 nodes (1 / u has poles
at a distance of about 0.15), x0 the cubic Hermite spline through (tau, x) with the known slopes
dx / dtau = u, at 4001 points. The error falls with the fourth power of the spacing; s is accurate to 1e-9.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.chebyshev import chebyshev_nodes, integrate, interpolation_matrix
from elmonet.problems.gaussian import gaussian_field

_NODES = 256  # Chebyshev nodes of the speed
_FINE = np.linspace(0.0, 1.0, 4001)  # knots of x0
_AXIS = np.linspace(0.0, 1.0, 100)

SENSORS = _AXIS
POINTS = grid_points([_AXIS, _AXIS])


def equation() -> PDE:
    """Return the equation and its conditions."""
    return PDE(
        Box(x=(0, 1), t=(0, 1)),
        lambda s, u: s.t + u * s.x,
        {"t=0": lambda s, u, x: s - np.sin(np.pi * x), "x=0": lambda s, u, t: s - np.sin(np.pi * t / 2)},
        input_axes=("x",),
    )


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the speeds u (n, 100) at the sensors."""
    return _speed(n, seed) @ interpolation_matrix(_NODES, SENSORS).T


def reference(n: int, seed: int = 0) -> np.ndarray:
    """Return s (n, 10000) at the points for `inputs(n, seed)`."""
    return solve_advection(_speed(n, seed), _AXIS, _AXIS).reshape(n, -1)


def solve_advection(u: np.ndarray, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return s (N, len(x), len(t)) for speeds u (N, n) > 0 at `chebyshev_nodes(n)`.

    >>> s = solve_advection(np.ones((1, 20)), np.array([0.5]), np.array([0.0, 0.25, 1.0]))
    >>> np.allclose(s[0, 0], np.sin(np.pi * np.array([0.5, 0.25, 0.25])), rtol=0, atol=1e-12)
    True
    """
    nodes = u.shape[1]
    tau = integrate(1 / u)
    to_fine, to_x = interpolation_matrix(nodes, _FINE).T, interpolation_matrix(nodes, x).T
    tau_fine, u_fine, tau_x = tau @ to_fine, u @ to_fine, tau @ to_x
    s = np.empty((len(u), len(x), len(t)))
    for i in range(len(u)):
        x0 = CubicHermiteSpline(tau_fine[i], _FINE, u_fine[i])
        ahead = tau_x[i][:, None] - t
        from_start = np.sin(np.pi * x0(np.maximum(ahead, 0.0)))
        s[i] = np.where(ahead > 0, from_start, np.sin(-np.pi * ahead / 2))
    return s


def _speed(n: int, seed: int) -> np.ndarray:
    """Return u (n, 256) at the Chebyshev nodes."""
    v = gaussian_field(chebyshev_nodes(_NODES), n, 0.2, seed)
    minimum = (v @ interpolation_matrix(_NODES, _FINE).T).min(axis=1, keepdims=True)
    return v - minimum + 1

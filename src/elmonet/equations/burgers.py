"""Burgers' equation from random initial values: s_t + s s_x = 0.01 s_xx, x in [0, 1] periodic, t in [0, 1].

s(x, 0) = u(x) is drawn from N(0, 25^2 (-d^2/dx^2 + 5^2)^-4) without its mean, as in the published generator:
the cosine and the sine of wave k have the standard deviation sqrt(2) 25^2 / ((2 pi k)^2 + 25)^2. Here are 512
waves instead of 2048; the others are below 1e-9. Coordinates are x, t. From Wang, Wang and Perdikaris,
"Learning the solution operator of parametric partial differential equations with physics-informed DeepONets"
(2021), error 1.4e-2.

The reference is the Cole-Hopf formula, exact up to rounding. `cole_hopf` solves in z = 2 pi x, where
s_x = 2 pi s_z, so with the time tau = 2 pi t,

    s_tau + s s_z = 2 pi 0.01 s_zz.

Its sums are refined until s changes by less than 1e-10 of the initial values.
"""

from __future__ import annotations

import numpy as np

from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.burgers_flow import cole_hopf, random_waves

_VISCOSITY = 0.01
_AXIS = np.linspace(0.0, 1.0, 101)

SENSORS = _AXIS
POINTS = grid_points([_AXIS, _AXIS])


def equation() -> PDE:
    """Return the equation and its initial condition."""
    return PDE(
        Box(x=(0, 1), t=(0, 1), periodic="x"),
        lambda s, u: s.t + s * s.x - 0.01 * s.xx,
        {"t=0": lambda s, u: s - u},
        input_axes=("x",),
    )


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the initial values u (n, 101) at the sensors; the first and the last value agree."""
    return _solution(n, seed, np.zeros(1))[:, :, 0]


def reference(n: int, seed: int = 0) -> np.ndarray:
    """Return s (n, 10201) at the points for `inputs(n, seed)`."""
    return _solution(n, seed, _AXIS).reshape(n, -1)


def _solution(n: int, seed: int, times: np.ndarray) -> np.ndarray:
    """Return s (n, 101, len(times))."""
    waves = random_waves(n, np.random.default_rng(seed), power=4)
    s = cole_hopf(waves, 2 * np.pi * times, 2 * np.pi * _VISCOSITY, _AXIS[:-1])
    return np.concatenate([s, s[..., :1]], axis=-1).swapaxes(1, 2)  # x = 1 is x = 0

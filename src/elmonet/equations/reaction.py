"""Diffusion and reaction with a random source: s_t = 0.01 s_xx + 0.01 s^2 + u(x) on the unit square.

s = 0 at t = 0, x = 0 and x = 1; u is a Gaussian field of length scale 0.2. Coordinates are x, t. From Wang,
Wang and Perdikaris, "Learning the solution operator of parametric partial differential equations with
physics-informed DeepONets" (2021), error 5.3e-3.

The reference is Chebyshev collocation in x, and an exponential integrator in t whose steps are halved until
s no longer changes, see `reaction_diffusion_states`. Where u does not vanish at the ends, boundary layers
start at t = 0; at the first time, 1 / 99, they are about 0.02 wide. 128 nodes resolve them: s is accurate to
1e-9.
"""

from __future__ import annotations

import numpy as np

from elmonet.interpolation import grid_points
from elmonet.physics import PDE, Box
from elmonet.problems.chebyshev import chebyshev_nodes, interpolation_matrix
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat import reaction_diffusion_states

_DIFFUSION = _REACTION = 0.01
_LENGTH_SCALE = 0.2  # of the Gaussian field
_NODES = 128  # of the reference
_AXIS = np.linspace(0.0, 1.0, 100)

SENSORS = _AXIS
POINTS = grid_points([_AXIS, _AXIS])


def equation() -> PDE:
    """Return the equation and its conditions."""
    return PDE(
        Box(x=(0, 1), t=(0, 1)),
        lambda s, u: s.t - 0.01 * s.xx - 0.01 * s**2 - u,
        dict.fromkeys(("t=0", "x=0", "x=1"), lambda s, u: s),
        input_axes=("x",),
    )


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the sources u (n, 100) at the sensors."""
    return gaussian_field(SENSORS, n, _LENGTH_SCALE, seed)


def reference(n: int, seed: int = 0) -> np.ndarray:
    """Return s (n, 10000) at the points for `inputs(n, seed)`."""
    u = gaussian_field(chebyshev_nodes(_NODES), n, _LENGTH_SCALE, seed)
    states = reaction_diffusion_states(u, _DIFFUSION, _REACTION, len(_AXIS) - 1)
    return (interpolation_matrix(_NODES, _AXIS) @ states.swapaxes(1, 2)).reshape(n, -1)

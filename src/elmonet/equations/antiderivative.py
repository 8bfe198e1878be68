"""The antiderivative: s' = u on [0, 1], s(0) = 0, with u from a Gaussian field.

The first example of Wang, Wang and Perdikaris, "Learning the solution operator of parametric partial
differential equations with physics-informed DeepONets" (2021), error 2.5e-3.

The length scale of the field is 0.2. The reference integrates the Chebyshev interpolant of u at 64 nodes,
which equals u up to rounding: it is accurate to 1e-13.
"""

from __future__ import annotations

import numpy as np

from elmonet.physics import PDE, Box
from elmonet.problems.chebyshev import chebyshev_nodes, integrate, interpolation_matrix, resolution
from elmonet.problems.gaussian import gaussian_field

_LENGTH_SCALE = 0.2  # of the Gaussian field
_NODES = resolution(_LENGTH_SCALE)  # of the reference

SENSORS = np.linspace(0.0, 1.0, 100)
POINTS = SENSORS[:, None]


def equation() -> PDE:
    """Return the equation and its condition."""
    return PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s})


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the functions u (n, 100) at the sensors."""
    return gaussian_field(SENSORS, n, _LENGTH_SCALE, seed)


def reference(n: int, seed: int = 0) -> np.ndarray:
    """Return s (n, 100) at the points for `inputs(n, seed)`."""
    u = gaussian_field(chebyshev_nodes(_NODES), n, _LENGTH_SCALE, seed)
    return integrate(u) @ interpolation_matrix(_NODES, POINTS[:, 0]).T

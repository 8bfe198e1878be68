"""Initial-value problems on [0, 1] by integration at Chebyshev points, for many inputs at once."""

from __future__ import annotations

import numpy as np

from elmonet._check import InputError
from elmonet.problems.chebyshev import integration_matrix

__all__ = ["integrate", "solve_riccati"]


def integrate(u: np.ndarray) -> np.ndarray:
    """Integrate rows of `u` (N, n), values at `chebyshev_nodes(n)`, from 0: s = u S^T, (N, n).

    >>> from elmonet.problems.chebyshev import chebyshev_nodes
    >>> x = chebyshev_nodes(20)
    >>> np.allclose(integrate(np.cos(x)[None]), np.sin(x), rtol=0, atol=1e-14)
    True
    """
    return u @ integration_matrix(u.shape[1]).T


def solve_riccati(u: np.ndarray, sweeps: int = 200) -> np.ndarray:
    """Solve s' = -0.1 s^2 + u, s(0) = 0 for rows of `u` (N, n) at `chebyshev_nodes(n)`: (N, n).

    Picard's iteration s <- integral of (-0.1 s^2 + u), until the change is rounding.

    >>> from elmonet.problems.chebyshev import chebyshev_nodes
    >>> x = chebyshev_nodes(20)
    >>> s = solve_riccati((1 + 0.1 * x**2)[None])  # the solution is s = x
    >>> np.allclose(s, x, rtol=0, atol=1e-14)
    True
    """
    S = integration_matrix(u.shape[1])
    linear = s = u @ S.T
    for _ in range(sweeps):
        previous, s = s, linear - 0.1 * (s * s) @ S.T
        size = np.abs(s).max()
        if not size < 1e6:
            break
        if np.abs(s - previous).max() <= 5e-15 * size:
            return s
    raise InputError(
        f"s' = -0.1 s^2 + u has no solution on [0, 1] that Picard's method finds in {sweeps} steps, for "
        f"inputs as large as {np.abs(u).max():.3g}. Use smaller inputs u."
    )

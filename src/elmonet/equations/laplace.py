"""Laplace's equation on a flower with random boundary values: s_xx + s_yy = 0 inside, s = u on the boundary.

The domain is not a rectangle: its boundary is z(theta) = r(theta) exp(i theta) with r = 1 + 0.2 cos(3 theta).
The published problem nearest to it is Poisson's on such a domain (LSGD-DeepONet, error 1.6e-3). u is a random
function of theta, a Gaussian field of length scale 0.5 on the circle:

    u = sum over k <= 24 of d_k (a_k cos(k theta) + b_k sin(k theta)),   d_k^2 ~ exp(-k^2 0.5^2 / 2),

with normal a and b, and variance 1. The truncated part is below rounding.

The reference is a boundary integral. Let f be the Cauchy integral of a real density mu,

    f(z) = 1 / (2 pi i) integral of mu(zeta) / (zeta - z) dzeta,   s = Re f,

the double-layer potential. It is harmonic inside, and s = u on the boundary if

    mu / 2 + integral of K mu dtheta = u,   K = Im(zeta'(theta') / (zeta(theta') - z(theta))) / (2 pi),

where K is smooth: on the diagonal it is Im(z'' / (2 z')) / (2 pi). The trapezoidal rule with 256 nodes
converges faster than any power of their number. For points near the boundary the integrand of f is steep, so
mu is interpolated to 4096 nodes by its Fourier series. The points keep a distance of at least 0.01, where the
quadrature error, exp(-4096 * distance / |z'|), is below 1e-13. s is accurate to 1e-11.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from elmonet.physics import PDE, Domain

_PETALS, _HEIGHT = 3, 0.2  # of the flower
_LENGTH_SCALE, _WAVES = 0.5, 24  # of the boundary values, in angles
_NODES, _FINE = 256, 4096  # of the integral equation, and of the integral that evaluates s
_DISTANCE = 0.01  # of the points from the boundary, at least


def _curve(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return z, z' and z'' as complex numbers."""
    angle = _PETALS * theta
    r = 1 + _HEIGHT * np.cos(angle)
    dr, ddr = -_HEIGHT * _PETALS * np.sin(angle), -_HEIGHT * _PETALS**2 * np.cos(angle)
    direction = np.exp(1j * theta)
    return r * direction, (dr + 1j * r) * direction, (ddr + 2j * dr - r) * direction


def _angles(n: int) -> np.ndarray:
    """Return n uniform angles of the circle."""
    return 2 * np.pi * np.arange(n) / n


def _plane(z: np.ndarray) -> np.ndarray:
    """Return complex numbers (n,) as points (n, 2)."""
    return np.stack([z.real, z.imag], axis=1)


def _grid_inside(n: int, distance: float) -> np.ndarray:
    """Return the points of an n x n grid inside the flower, at least `distance` from its boundary."""
    side = np.linspace(-1 - _HEIGHT, 1 + _HEIGHT, n)
    z = (side[:, None] + 1j * side).ravel()
    z = z[np.abs(z) < 1 + _HEIGHT * np.cos(_PETALS * np.angle(z))]
    to_boundary, _ = cKDTree(_plane(_curve(_angles(_FINE))[0])).query(_plane(z))
    return _plane(z[to_boundary >= distance])


SENSORS = _plane(_curve(_angles(120))[0])
BOUNDARY = _plane(_curve(_angles(240))[0])
_normals = -1j * _curve(_angles(240))[1]  # the tangent, turned to the right
NORMALS = _plane(_normals / np.abs(_normals))
POINTS = _grid_inside(67, _DISTANCE)
# Denser towards the boundary, so that polynomials of high degree do not oscillate between the points.
INSIDE = np.concatenate([(1 + rho) / 2 * BOUNDARY[::2] for rho in np.polynomial.legendre.leggauss(24)[0]])


def equation() -> PDE:
    """Return the equation and its boundary condition."""
    flower = Domain(INSIDE, {"boundary": BOUNDARY}, {"boundary": NORMALS})
    return PDE(flower, lambda s, u: s.xx + s.yy, {"boundary": lambda s, u: s - u})


def inputs(n: int, seed: int = 0) -> np.ndarray:
    """Return the boundary values u (n, 120) at the sensors."""
    return _boundary_values(n, seed, _angles(len(SENSORS)))


def reference(n: int, seed: int = 0) -> np.ndarray:
    """Return s (n, M) at the points for `inputs(n, seed)`."""
    return solve_laplace(_boundary_values(n, seed, _angles(_NODES)), POINTS)


def solve_laplace(u: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return s (N, M) at points (M, 2) inside, from u (N, n) at the angles 2 pi j / n, n even.

    >>> x, y = _plane(_curve(_angles(256))[0]).T
    >>> s = solve_laplace((x**2 - y**2)[None], np.array([[0.3, 0.1]]))
    >>> np.allclose(s, 0.3**2 - 0.1**2, rtol=0, atol=1e-12)
    True
    """
    n = u.shape[1]
    z, dz, ddz = _curve(_angles(n))
    difference = z - z[:, None]  # sources are columns, targets are rows
    np.fill_diagonal(difference, 1.0)
    kernel = (dz / difference).imag
    np.fill_diagonal(kernel, (ddz / (2 * dz)).imag)
    mu = np.linalg.solve(np.eye(n) / 2 + kernel / n, u.T).T  # dtheta / (2 pi) = 1 / n
    waves = np.fft.rfft(mu, axis=1)
    waves[:, -1] /= 2  # the highest frequency has both signs
    mu = np.fft.irfft(waves, _FINE, axis=1) * (_FINE / n)
    z, dz, _ = _curve(_angles(_FINE))
    at = points[:, 0] + 1j * points[:, 1]
    return mu @ (dz[:, None] / (z[:, None] - at)).imag / _FINE


def _boundary_values(n: int, seed: int, theta: np.ndarray) -> np.ndarray:
    """Return the random boundary values at any angles, (n, len(theta))."""
    k = np.arange(_WAVES + 1)
    variance = np.exp(-((k * _LENGTH_SCALE) ** 2) / 2)
    variance[1:] *= 2  # both signs of k
    deviation = np.sqrt(variance / variance.sum())
    a, b = np.moveaxis(np.random.default_rng(seed).standard_normal((n, 2, len(k))), 1, 0)
    phase = np.outer(k, theta)
    return (deviation * a) @ np.cos(phase) + (deviation * b) @ np.sin(phase)

"""Incompressible flow on a torus: the vorticity of the Navier-Stokes equations in two dimensions."""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

from elmonet.checks import number, positive_integer
from elmonet.data import OperatorData
from elmonet.problems.gaussian import train_and_test

_WAVES = 20  # along each axis, of random initial values; later ones have 1e-5 of the first ones' variance
_ADVANCED = 0.4  # radians by which the shortest wave moves in a time step, at most
_FASTER = 1.5  # growth of the largest velocity between two frames that the time step allows for
_TOGETHER = 8  # trajectories that are solved at a time


def navier_stokes_steps(
    n_train: int = 20,
    n_test: int = 5,
    seed: int = 0,
    *,
    n_steps: int = 20,
    dt: float = 1.0,
    n_points: int = 64,
    viscosity: float = 1e-3,
    n_solved: int = 128,
) -> OperatorData:
    """Make pairs w(., t) -> w(., t + dt) of w_t + v . grad w = viscosity Laplacian w + f, from trajectories.

    The flow of the benchmark of Li et al. (Fourier neural operator, 2021): w is the vorticity of an
    incompressible flow v on the unit torus, f = 0.1 (sin 2 pi (x + y) + cos 2 pi (x + y)), and w(., 0) is
    drawn from N(0, 7^3 (-Laplacian + 49)^-2.5), without its mean. Solved by Fourier series without aliasing,
    by the Runge-Kutta method of order 4 and exactly in the viscosity. Each trajectory gives `n_steps` pairs,
    one after the other, as in `burgers_steps`.

    Parameters
    ----------
    n_train, n_test : number of training and of test trajectories.
    seed : the same seed gives the same initial values, on any grid.
    n_steps, dt : number and length of the time steps of a trajectory.
    n_points : points along each side of the grid, (0, 1, ..., n_points - 1) / n_points.
    viscosity : as above.
    n_solved : fewest points along each side of the grid on which it is solved.

    Returns
    -------
    data : images of w(., t), (n_steps N, n_points, n_points), and w(., t + dt), (n_steps N, n_points^2).

    Examples
    --------
    >>> navier_stokes_steps(2, 1, n_steps=3, n_points=16, n_solved=32)
    OperatorData 'navier_stokes_steps': 6 training and 3 test functions
      u (N, 16, 16) at 256 sensors in 2-D -> s (N, 256) at 256 points in 2-D
    """
    n_points, n_steps = (
        positive_integer(n_points, "n_points", minimum=4),
        positive_integer(n_steps, "n_steps"),
    )
    refined = math.ceil(positive_integer(n_solved, "n_solved") / n_points)
    frames = number(dt, "dt", strict=True) * np.arange(n_steps + 1)
    viscosity = number(viscosity, "viscosity", strict=True)
    n = refined * n_points
    x = np.arange(n) / n
    angle = 2 * np.pi * (x[:, None] + x)
    force = 0.1 * (np.sin(angle) + np.cos(angle))
    axis, name = x[::refined], "navier_stokes_steps"

    def draw(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        w = solve_vorticity(random_vorticity(count, n, rng), frames, viscosity, force)
        w = w[:, :, ::refined, ::refined]
        return w[:, :-1].reshape(-1, n_points, n_points), w[:, 1:].reshape(-1, n_points**2)

    return train_and_test(
        draw, n_train, n_test, seed, sensors=axis, points=axis, dimension=2, block=_TOGETHER, name=name
    )


def random_vorticity(count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw functions (count, n, n) from N(0, 7^3 (-Laplacian + 49)^-2.5), periodic, without the mean.

    >>> random_vorticity(2, 16, np.random.default_rng(0)).shape
    (2, 16, 16)
    """
    k = np.arange(-_WAVES, _WAVES + 1)
    square = k[:, None] ** 2 + k**2
    deviation = 7**1.5 * (4 * np.pi**2 * square + 49) ** -1.25
    deviation[square == 0] = 0
    normal = rng.standard_normal((count, len(k), len(k), 2)) * deviation[..., None]
    kept = np.abs(k) <= min(_WAVES, (n - 1) // 2)
    waves = np.exp(2j * np.pi * np.outer(np.arange(n) / n, k[kept]))
    # Re sum (a - i b) exp(2 pi i k.x): the waves k and -k add up, to the variance of the real series.
    coefficients = (normal[..., 0] - 1j * normal[..., 1])[:, kept][:, :, kept]
    return np.asarray((waves @ coefficients @ waves.T).real)


def solve_vorticity(start: np.ndarray, times: np.ndarray, viscosity: float, force: np.ndarray) -> np.ndarray:
    """Solve w_t + v . grad w = viscosity Laplacian w + force on the unit torus, v = (psi_y, -psi_x).

    Parameters
    ----------
    start : (N, n, n), w at the first of the times, at the points (i, j) / n; its mean counts as 0.
    times : (T,), rising.
    viscosity : at least 0.
    force : (n, n).

    Returns
    -------
    w : (N, T, n, n).

    Examples
    --------
    >>> x = np.arange(16) / 16  # Taylor and Green's vortices only decay
    >>> w = np.cos(2 * np.pi * x)[:, None] * np.cos(2 * np.pi * x)
    >>> last = solve_vorticity(w[None], np.array([0.0, 1.0]), 0.01, 0 * w)[0, -1]
    >>> np.allclose(last, w * np.exp(-8 * np.pi**2 * 0.01))
    True
    """
    n = start.shape[-1]
    kx = 2j * np.pi * fft.fftfreq(n, 1 / n)[:, None]
    ky = 2j * np.pi * fft.rfftfreq(n, 1 / n)
    laplacian = (kx**2 + ky**2).real
    # Products of waves below n / 3 are exact among themselves.
    kept = (np.abs(kx) < 2 * np.pi * n / 3) & (np.abs(ky) < 2 * np.pi * n / 3) & (laplacian < 0)
    inverse = np.where(kept, -1 / np.where(laplacian < 0, laplacian, 1), 0)
    forcing = kept * fft.rfft2(force)

    def velocity(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return fft.irfft2(ky * inverse * w, s=(n, n)), fft.irfft2(-kx * inverse * w, s=(n, n))

    def rate(w: np.ndarray) -> np.ndarray:
        """Return the transform of force - div(v w)."""
        vx, vy = velocity(w)
        values = fft.irfft2(w, s=(n, n))
        return np.asarray(forcing - kept * (kx * fft.rfft2(vx * values) + ky * fft.rfft2(vy * values)))

    w = kept * fft.rfft2(start)
    frames = [start - start.mean(axis=(1, 2), keepdims=True)]
    for span in np.diff(times):
        fastest = max(float(np.abs(part).max(initial=0.0)) for part in velocity(w))
        shortest = 2 * np.pi * n / 3
        h = span / max(1, math.ceil(span * _FASTER * fastest * shortest / _ADVANCED))
        half = np.exp(viscosity * laplacian * h / 2)
        for _ in range(round(span / h)):
            a = rate(w)
            b = rate(half * (w + h / 2 * a))
            c = rate(half * w + h / 2 * b)
            d = rate(half * (half * w + h * c))
            w = half * (half * (w + h / 6 * a) + h / 3 * (b + c)) + h / 6 * d
        frames.append(fft.irfft2(w, s=(n, n)))
    return np.stack(frames, axis=1)

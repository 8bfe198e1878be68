"""Gaussian random fields, and the split into training and test functions that all problems share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from elmonet.checks import number, positive_integer
from elmonet.data import OperatorData
from elmonet.errors import InputError
from elmonet.interpolation import grid_points
from elmonet.problems.chebyshev import chebyshev_nodes

# exp(-8.6^2 / 2) is below half a unit of rounding, and so is the mass of a normal beyond 8.4.
_DISTANCE = 8.6  # in length scales, at which the covariance vanishes
_FREQUENCY = 8.4  # in inverse length scales, at which the spectrum vanishes
_NEGLIGIBLE_VARIANCE = 1e-14  # of a mode, relative to the largest
SHORTEST = 1 / 700  # length scale relative to the extent of the points; shorter ones need too many modes

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def gaussian_field(
    points: np.ndarray | Sequence[np.ndarray],
    n: int,
    length_scale: float,
    seed: int | np.random.Generator = 0,
) -> np.ndarray:
    """Draw `n` functions from the Gaussian field with mean 0 and the squared-exponential covariance

        cov(g(x), g(x')) = exp(-|x - x'|^2 / (2 length_scale^2)).

    The field is sampled by its Karhunen-Loeve modes, without negligible ones and without jitter: the
    functions are smooth down to rounding. One seed gives the same functions at any points with the same
    bounding box, and the first functions stay the same (up to rounding) when `n` grows.

    Parameters
    ----------
    points : (P,) or (P, d), scattered points; or a tuple of 1-D axes, whose tensor grid is used.
    n : number of functions.
    length_scale : correlation length, as above.
    seed : a number, or a NumPy random generator.

    Returns
    -------
    values : (n, P) at scattered points, (n, len(axis_0), len(axis_1), ...) on a grid.

    Raises
    ------
    InputError : if points are not finite, or `length_scale` is too short for their extent.

    Examples
    --------
    >>> x = np.linspace(0, 1, 50)
    >>> gaussian_field(x, n=3, length_scale=0.1).shape
    (3, 50)
    >>> gaussian_field((x, x), n=3, length_scale=0.25, seed=1).shape
    (3, 50, 50)
    """
    n = positive_integer(n, "n")
    length_scale = number(length_scale, "length_scale", strict=True)
    if not isinstance(seed, np.random.Generator):
        seed = np.random.default_rng(positive_integer(seed, "seed", minimum=0))
    modes = [axis_modes(x, length_scale) for x in _axes(points)]
    field = seed.standard_normal((n, *(F.shape[1] for F in modes)))
    if isinstance(points, tuple | list):
        for F in modes:  # the covariance is a product: z_kij -> sum_i F_pi z_kij, axis by axis
            field = np.tensordot(field, F, axes=(1, 1))
        return field
    product = modes[0]
    for F in modes[1:]:
        product = np.einsum("pi,pj->pij", product, F).reshape(len(F), -1)
    return field.reshape(n, -1) @ product.T


def axis_modes(x: np.ndarray, length_scale: float) -> np.ndarray:
    """Return the modes F (P, r) of the field on the line at `x` (P,), with covariance F F^T.

    >>> x = np.array([0.0, 0.1, 1.0])
    >>> F = axis_modes(x, length_scale=0.1)
    >>> np.allclose(F @ F.T, np.exp(-50 * (x[:, None] - x) ** 2), rtol=0, atol=1e-13)
    True
    """
    lowest, highest = float(x.min()), float(x.max())
    if length_scale < SHORTEST * (highest - lowest):
        raise InputError(
            f"length_scale must be at least {SHORTEST:.2g} of the length of the domain, got {length_scale:g} "
            f"for points from {lowest:g} to {highest:g}. Use a larger one."
        )
    # On a circle so long that periodic images vanish, the covariance is a Fourier series,
    #     exp(-r^2 / (2 l^2)) = sum_k a_k^2 cos(w_k r),   a_k^2 ~ exp(-(w_k l)^2 / 2).
    period = highest - lowest + _DISTANCE * length_scale
    size = math.ceil(_FREQUENCY / length_scale * period / (2 * np.pi)) + 1
    w = 2 * np.pi / period * np.arange(size)
    a2 = np.sqrt(2 * np.pi) * length_scale / period * np.exp(-((w * length_scale) ** 2) / 2)
    a2[1:] *= 2

    def fourier(x: np.ndarray) -> np.ndarray:  # cos(w (x - x')) = cos cos + sin sin
        phase = np.outer(x - (lowest + highest) / 2, w)
        return np.hstack([np.cos(phase), np.sin(phase[:, 1:])]) * np.sqrt(np.append(a2, a2[1:]))

    # Karhunen-Loeve: rotate the series (K = F F^T = F V V^T F^T) to uncorrelated modes, ordered by
    # variance. Fixed nodes define V, so the modes are the same functions whatever `x` is.
    nodes = lowest + (highest - lowest) * chebyshev_nodes(4 * size)
    _, sigma, Vt = np.linalg.svd(fourier(nodes), full_matrices=False)
    Vt = Vt[sigma**2 > _NEGLIGIBLE_VARIANCE * sigma[0] ** 2]
    largest = np.take_along_axis(Vt, np.abs(Vt).argmax(axis=1)[:, None], axis=1)
    return fourier(x) @ (Vt * np.sign(largest)).T


def _axes(points: Any) -> list[np.ndarray]:
    """Return the axes of a grid, or the coordinates of scattered points: one array for each dimension."""
    if isinstance(points, tuple | list):
        axes = [np.asarray(axis, dtype=float) for axis in points]
    else:
        points = np.asarray(points, dtype=float)
        axes = [points] if points.ndim < 2 else list(points.T)
    if not axes or any(x.ndim != 1 or x.size == 0 or not np.isfinite(x).all() for x in axes):
        raise InputError(
            "points must be an array (P,) or (P, d) of scattered points, or a tuple of 1-D axes "
            "of a tensor grid, not empty and finite; got "
            f"{type(points).__name__} with coordinates of shape {[x.shape for x in axes]}."
        )
    return axes


def train_and_test(
    draw: Draw,
    n_train: int,
    n_test: int,
    seed: int,
    *,
    sensors: np.ndarray,
    points: np.ndarray,
    name: str,
    dimension: int = 1,
    block: int | None = None,
) -> OperatorData:
    """Call `draw(n, generator) -> (u, s)` for both parts, each with its own random stream.

    So neither part changes when the size of the other does. `sensors` and `points` are the axes (m,) of
    tensor grids with the same axis in each `dimension`. `block`: draw at most this many functions at a time.

    >>> def draw(n, rng):
    ...     return rng.random((n, 2)), np.zeros((n, 2))
    >>> x = np.array([0.0, 1.0])
    >>> train_and_test(draw, 4, 3, seed=0, sensors=x, points=x, name="zero")
    OperatorData 'zero': 4 training and 3 test functions
      u (N, 2) at 2 sensors in 1-D -> s (N, 2) at 2 points in 1-D
    """
    n_train = positive_integer(n_train, "n_train")
    n_test = positive_integer(n_test, "n_test")
    seed = positive_integer(seed, "seed", minimum=0)
    for_train, for_test = np.random.default_rng(seed).spawn(2)
    train, test = _in_blocks(draw, n_train, for_train, block), _in_blocks(draw, n_test, for_test, block)
    sensors, points = (grid_points([axis] * dimension) for axis in (sensors, points))
    return OperatorData(*train, *test, sensors, points, name)


def _in_blocks(
    draw: Draw, n: int, rng: np.random.Generator, block: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n functions, at most `block` at a time."""
    if block is None or block >= n:
        return draw(n, rng)
    blocks = [draw(min(block, n - start), rng) for start in range(0, n, block)]
    u, s = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return u, s


def uniform_grid(size: int, name: str, minimum: int = 2) -> np.ndarray:
    """Return `size` uniform points of [0, 1], ends included; errors call the argument `name`.

    >>> uniform_grid(3, "n_points")
    array([0. , 0.5, 1. ])
    """
    return np.linspace(0.0, 1.0, positive_integer(size, name, minimum))

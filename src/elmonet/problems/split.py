"""The step that all problems share: draw the training and the test functions and pack them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elmonet._check import positive_integer
from elmonet.data import OperatorData

__all__ = ["train_and_test", "uniform_grid"]

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def train_and_test(
    draw: Draw,
    n_train: int,
    n_test: int,
    seed: int,
    *,
    sensors: np.ndarray,
    points: np.ndarray,
    name: str,
) -> OperatorData:
    """Call `draw(n, generator) -> (u, s)` for both parts, each with its own random stream.

    So neither part changes when the size of the other does.

    >>> def draw(n, rng):
    ...     return rng.random((n, 2)), np.zeros((n, 2))
    >>> x = np.array([[0.0], [1.0]])
    >>> train_and_test(draw, 4, 3, seed=0, sensors=x, points=x, name="zero")
    OperatorData 'zero': 4 training and 3 test functions
      u (N, 2) at 2 sensors in 1-D -> s (N, 2) at 2 points in 1-D
    """
    n_train = positive_integer(n_train, "n_train")
    n_test = positive_integer(n_test, "n_test")
    seed = positive_integer(seed, "seed", minimum=0)
    for_train, for_test = np.random.default_rng(seed).spawn(2)
    u_train, s_train = draw(n_train, for_train)
    u_test, s_test = draw(n_test, for_test)
    return OperatorData(u_train, s_train, u_test, s_test, sensors, points, name)


def uniform_grid(size: int, name: str, minimum: int = 2) -> np.ndarray:
    """Return `size` uniform points of [0, 1], ends included; `name` is the argument's in errors.

    >>> uniform_grid(3, "n_points")
    array([0. , 0.5, 1. ])
    """
    return np.linspace(0.0, 1.0, positive_integer(size, name, minimum))

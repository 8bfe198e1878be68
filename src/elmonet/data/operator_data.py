"""The one record in which every problem and every file reader hands over its data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elmonet._check import InputError

__all__ = ["OperatorData"]


@dataclass(frozen=True, eq=False, repr=False)
class OperatorData:
    """Pairs of functions u -> s = G(u), for training and for testing; rows are functions.

    Row i of `u` holds u_i(x_j) at the sensors x_j; row i of `s`, G(u_i)(y_j) at the points y_j.

    Shapes: `u_train`, `u_test` (N, m), or (N, H, W) images with m = H * W in C order; `s_train`,
    `s_test` (N, M); `sensors` (m, d); `points` (M, d). Raises `InputError` where they disagree.

    >>> x = np.linspace(0, 1, 5)[:, None]
    >>> u = np.ones((3, 5))
    >>> OperatorData(u, u * x.T, u[:2], u[:2] * x.T, sensors=x, points=x, name="mean")
    OperatorData 'mean': 3 training and 2 test functions
      u (N, 5) at 5 sensors in 1-D -> s (N, 5) at 5 points in 1-D
    """

    u_train: np.ndarray
    s_train: np.ndarray
    u_test: np.ndarray
    s_test: np.ndarray
    sensors: np.ndarray
    points: np.ndarray
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("u_train", "s_train", "u_test", "s_test", "sensors", "points"):
            object.__setattr__(self, field, np.asarray(getattr(self, field)))
        for part in ("train", "test"):
            self._check_part(part)
        if self.u_train.shape[1:] != self.u_test.shape[1:]:
            raise InputError(
                "u_train and u_test must have the same shape per function, got "
                f"{self.u_train.shape[1:]} and {self.u_test.shape[1:]}. Sample both at the sensors."
            )

    def _check_part(self, part: str) -> None:
        """Check the functions of one part against each other and against the coordinates."""
        u, s = getattr(self, f"u_{part}"), getattr(self, f"s_{part}")
        if u.ndim < 2 or s.ndim != 2:
            raise InputError(
                f"u_{part} must be (N, m) or (N, H, W) and s_{part} must be (N, M), got {u.shape} "
                f"and {s.shape}. Put one function in each row."
            )
        if len(u) != len(s):
            raise InputError(
                f"u_{part} and s_{part} must hold the same number of functions, got {len(u)} and "
                f"{len(s)}. Row i of s_{part} is the image of row i of u_{part}."
            )
        _check_coordinates(self.sensors, "sensors", math.prod(u.shape[1:]), f"u_{part}")
        _check_coordinates(self.points, "points", s.shape[1], f"s_{part}")

    def __repr__(self) -> str:
        title = f"OperatorData {self.name!r}" if self.name else "OperatorData"
        shape = ", ".join(str(size) for size in ("N", *self.u_train.shape[1:]))
        (m, d_in), (M, d_out) = self.sensors.shape, self.points.shape
        return (
            f"{title}: {len(self.u_train)} training and {len(self.u_test)} test functions\n"
            f"  u ({shape}) at {m} sensors in {d_in}-D -> s (N, {M}) at {M} points in {d_out}-D"
        )


def _check_coordinates(where: np.ndarray, name: str, expected: int, values: str) -> None:
    """Check that the coordinates `where` are (expected, d), one row per value of a function."""
    if where.ndim != 2 or len(where) != expected:
        raise InputError(
            f"{name} must be ({expected}, d), one row for each value of a function in {values}, "
            f"got {where.shape}. A list of numbers in 1-D becomes (m, 1) with x[:, None]."
        )

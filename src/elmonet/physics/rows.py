"""Rows of the least-squares problem: an equation, or a condition, at points."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.physics.box import Box
from elmonet.physics.unknown import Unknown

__all__ = ["Rows"]

_STEP = 1e-30  # of the complex step: the imaginary part is the derivative, exactly


class Rows:
    """A residual ``f(s, u, x, t)`` at points (M, d), for functions ``s = T c`` in a trunk's span.

    Attributes
    ----------
    T : by the letters of each derivative that the residual asks for, the trunk's (M, p).
    """

    def __init__(self, residual: Callable[..., Any], box: Box, points: np.ndarray, trunk: Any):
        self.residual, self.box, self.points = residual, box, points
        names = list(inspect.signature(residual).parameters)
        unknown = [name for name in names[2:] if name not in box.names]
        if len(names) < 2 or unknown:
            raise InputError(
                "a residual is a function of s and u, and of coordinates by name if it needs them, as "
                f"lambda s, u, {', '.join(box.names)}: ...; got {', '.join(names)}."
            )
        here = box.coordinates(points)
        self.coordinates = {name: here[name] for name in names[2:]}
        asked: set[str] = set()
        self._value(Unknown(box, {}, asked), np.ones((1, len(points))))
        self.T = {name: trunk.derivative(points, box.orders(name)) for name in sorted(asked)}
        self._require_analytic(sorted(asked))

    def values(self, c: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The residual (n, M) of functions with coefficients c (n, p) and inputs u (n, M)."""
        return self._value(self._unknown(c), u)

    def slopes(self, c: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
        """Its derivatives (n, M) by each derivative of s."""
        found = {}
        fields = self._fields(c)
        for name in self.T:
            moved = fields | {name: fields[name] + 1j * _STEP}
            value = self._value(Unknown(self.box, moved), u)
            found[name] = np.imag(value) / _STEP
        return found

    def jacobian(self, slopes: dict[str, np.ndarray]) -> np.ndarray:
        """By the coefficients: (n, M, p)."""
        return np.sum([slope[:, :, None] * self.T[name] for name, slope in slopes.items()], axis=0)

    def _require_analytic(self, asked: list[str]) -> None:
        """A complex step must see what a real one sees; abs, maximum and the like hide it."""
        rng = np.random.default_rng(0)
        fields = {name: rng.uniform(0.5, 1.5, size=(1, len(self.points))) for name in asked}
        u = rng.uniform(0.5, 1.5, size=(1, len(self.points)))

        def value(name: str, step: complex) -> np.ndarray:
            return self._value(Unknown(self.box, fields | {name: fields[name] + step}), u)

        for name in asked:
            exact = np.imag(value(name, 1j * _STEP)) / _STEP
            rough = np.real(value(name, 1e-6) - value(name, -1e-6)) / 2e-6
            if not np.allclose(exact, rough, rtol=1e-3, atol=1e-3 * (1 + np.abs(rough).max())):
                raise InputError(
                    f"the residual is no analytic function of {'s.' + name if name else 's'}: abs, maximum "
                    "and the like are not allowed. Take a smooth one, as sqrt(s**2 + 1e-6) for abs(s)."
                )

    def _unknown(self, c: np.ndarray) -> Unknown:
        return Unknown(self.box, self._fields(c))

    def _fields(self, c: np.ndarray) -> dict[str, np.ndarray]:
        return {name: c @ T.T for name, T in self.T.items()}

    def _value(self, s: Unknown, u: np.ndarray) -> np.ndarray:
        value = np.asarray(self.residual(s, u, **self.coordinates))
        shape = np.broadcast_shapes(value.shape, u.shape)
        return np.broadcast_to(value, shape)

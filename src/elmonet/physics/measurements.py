"""Outputs that were measured or computed elsewhere, for some functions, beside an equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet._check import InputError, coordinates
from elmonet.data.operator_data import OperatorData
from elmonet.physics.fields import ONE

__all__ = ["Measurements"]

Values = Callable[[np.ndarray], dict[str, np.ndarray]]  # points to each unknown there


@dataclass(frozen=True)
class Measurements:
    """Values y (n, L) of n functions: of some unknowns, each at the points, one after the other.

    Where a value is missing there is NaN. Each unknown is in units of its own size.
    """

    u: Any
    y: np.ndarray
    points: np.ndarray
    unknowns: tuple[str, ...]
    sizes: np.ndarray

    @classmethod
    def of(cls, data: Any, points: np.ndarray, unknowns: tuple[str, ...]) -> Measurements:
        """From an `OperatorData`, or from ``(u, s)`` or ``(u, s, points)``, at `points` if none came."""
        if isinstance(data, OperatorData):
            s = data.s_train
            if data.components is not None:
                s = dict(zip(data.components, np.moveaxis(s, -1, 0), strict=True))
            data = (data.u_train, s, points if data.points is None else data.points)
        if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
            raise InputError(
                "data must be an OperatorData, (u, s) or (u, s, points): input functions, what was measured "
                f"of their outputs, and where; got {type(data).__name__}."
            )
        u, s, where = data if len(data) == 3 else (*data, points)
        where = coordinates(where, dimension=points.shape[1])
        parts = s if isinstance(s, dict) else {"": s}
        if set(parts) - set(unknowns):
            raise InputError(
                f"data must hold values of {', '.join(unknowns) if unknowns != ONE else 's'}; got "
                f"{', '.join(map(str, parts))}."
            )
        n = len(next(iter(u.values()))) if isinstance(u, dict) else len(np.atleast_2d(u))
        columns, sizes = [], []
        for name, own in parts.items():
            values = np.atleast_2d(np.asarray(own, float))
            values = values.reshape(len(values), -1)
            if values.shape != (n, len(where)) or np.isinf(values).any():
                raise InputError(
                    f"data must hold finite values, or NaN where one is missing, of {n} functions at "
                    f"{len(where)} points; got {values.shape}{' for ' + name if name else ''}. Give their "
                    "points: data=(u, s, points)."
                )
            if not np.nansum(values**2, axis=1).all():
                raise InputError("data must hold values other than zero of each of its functions.")
            sizes.append(float(np.sqrt(np.nanmean(values**2))) or 1.0)
            columns.append(values / sizes[-1])
        return cls(u, np.concatenate(columns, axis=1), where, tuple(parts), np.array(sizes))

    def seen(self, values: Values) -> np.ndarray:
        """What solutions would give here (N, L), in the same units."""
        every = values(self.points)
        return np.concatenate(
            [every[name] / size for name, size in zip(self.unknowns, self.sizes, strict=True)], axis=1
        )

    def with_inputs(self, u: Any) -> Any:
        """Input functions u and, after them, those of the measurements."""
        if isinstance(u, dict):
            return {name: np.concatenate([np.asarray(u[name]), np.asarray(self.u[name])]) for name in u}
        return np.concatenate([np.atleast_2d(u), np.atleast_2d(self.u)])

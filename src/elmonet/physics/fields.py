"""The functions of an equation: unknowns and inputs, with values and derivatives at any points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.interpolate import make_interp_spline

from elmonet.checks import coordinates, finite
from elmonet.errors import InputError
from elmonet.interpolation import as_grid, interpolate

__all__ = ["ONE", "Basis", "Field", "Key", "Known", "Names"]

Key = tuple[str, str]  # a component ("" if there is only one), and the letters of a derivative, sorted
ONE = ("",)  # the components of a function that has none


@dataclass(frozen=True)
class Names:
    """What a residual may speak of: coordinates, components of s and of u, and constants."""

    coordinates: tuple[str, ...]
    unknowns: tuple[str, ...] = ONE
    inputs: tuple[str, ...] = ONE
    constants: dict[str, float] = field(default_factory=dict)

    def orders(self, letters: str) -> tuple[int, ...]:
        """How often to differentiate by each coordinate, for letters such as "xxt"."""
        return tuple(letters.count(own) for own in self.coordinates)


class Field(NDArrayOperatorsMixin):
    """``s`` or ``u`` in a residual: an array for NumPy, with derivatives ``s.xt`` and components ``s.v``.

    `values` maps keys to arrays. If `asked` is a set, keys that `values` lacks are noted there and given as
    ones: one evaluation shows what a residual needs. `whole`: not one of the components of another.
    """

    def __init__(
        self,
        name: str,
        coordinates: tuple[str, ...],
        components: tuple[str, ...],
        values: dict[Key, np.ndarray],
        asked: set[Key] | None = None,
        whole: bool = True,
    ):
        self._name, self._coordinates, self._components = name, coordinates, components
        self._values, self._asked, self._whole = values, asked, whole

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._is_several or (self._whole and name == self._components[0]):
            if name not in self._components:
                raise InputError(
                    f"{self._name} has the components {', '.join(self._components)}: write "
                    f"{self._name}.{self._components[0]} and {self._name}.{self._components[0]}."
                    f"{self._coordinates[0]}; got {self._name}.{name}."
                )
            label = f"{self._name}.{name}"
            return Field(label, self._coordinates, (name,), self._values, self._asked, whole=False)
        if set(name) - set(self._coordinates):
            raise InputError(
                f"{self._name}.{name} is not a derivative: its letters must be coordinates, "
                f"{', '.join(self._coordinates)}."
            )
        return self._get("".join(sorted(name)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._get(""), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        plain = [one._get("") if isinstance(one, Field) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **how)

    @property
    def _is_several(self) -> bool:
        return len(self._components) > 1

    def _get(self, letters: str) -> np.ndarray:
        if self._is_several:
            raise InputError(
                f"{self._name} has the components {', '.join(self._components)}: write "
                f"{self._name}.{self._components[0]}."
            )
        key = (self._components[0], letters)
        if key not in self._values and self._asked is not None:
            self._asked.add(key)
            return np.ones((1, 1))
        return self._values[key]


class Basis:
    """Products of Legendre polynomials; along periodic coordinates, of waves.

    Parameters
    ----------
    corners : (2, d), the lowest and the highest corner of the box that is mapped to [-1, 1]^d.
    degrees : the highest degree in each coordinate; of waves, ``degree // 2`` cosines and sines.
    periodic : whether each coordinate is.
    total : only the products up to the total degree ``max(degrees)``.
    """

    def __init__(
        self,
        corners: np.ndarray,
        degrees: tuple[int, ...],
        periodic: tuple[bool, ...],
        total: bool = False,
    ):
        self.corners, self.degrees, self.periodic = corners, degrees, periodic
        counts = [n // 2 * 2 + 1 if waves else n + 1 for n, waves in zip(degrees, periodic, strict=True)]
        powers = np.indices(counts).reshape(len(counts), -1)
        self._kept = powers.sum(axis=0) <= max(degrees) if total else np.ones(powers.shape[1], bool)
        self.width_ = int(self._kept.sum())

    def derivative(self, points: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
        """The derivatives (M, p) of these orders at points (M, d)."""
        tables = []
        for j, (n, waves, order) in enumerate(zip(self.degrees, self.periodic, orders, strict=True)):
            low, high = self.corners[:, j]
            x, half = (points[:, j] - (low + high) / 2) / ((high - low) / 2), (high - low) / 2
            tables.append((_waves if waves else _legendre)(x, n, order) / half**order)
        every = reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(points), -1), tables)
        return every if self._kept.all() else every[:, self._kept]


def _legendre(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """The derivatives (M, n + 1) of the Legendre polynomials up to degree n.

    (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1), and P'_(k+1) = P'_(k-1) + (2 k + 1) P_k for derivatives.
    """
    found = np.polynomial.legendre.legvander(x, n)
    for _ in range(order):
        lower, found = found, np.zeros_like(found)
        for k in range(n):
            found[:, k + 1] = (2 * k + 1) * lower[:, k] + (found[:, k - 1] if k else 0)
    return found


def _waves(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """The derivatives (M, 2 (n // 2) + 1) of 1, cos(pi k x) and sin(pi k x), which have the period 2."""
    k = np.pi * np.arange(1, n // 2 + 1)
    turned = np.outer(x, k) + order * np.pi / 2
    found = np.empty((len(x), 2 * len(k) + 1))
    found[:, 0] = order == 0
    found[:, 1::2], found[:, 2::2] = k**order * np.cos(turned), k**order * np.sin(turned)
    return found


_SPLINE = 9  # degree of the splines between sensors
_LOWER = (0, 2, 4)  # by how much splines are lowered, to see what they miss

Axes = tuple[str, ...] | dict[str, tuple[str, ...]]


class Known:
    """N input functions, one or several by name.

    Parameters
    ----------
    u : (N, m), or a dictionary of arrays, (N,) for a number.
    sensors : (m, d) of the coordinates that u depends on; with several inputs a dictionary.
    axes : these coordinates, by input: a tuple, or a dictionary; () for a number.
    domain : its names, ends and what is periodic.
    """

    def __init__(self, u: Any, sensors: Any, axes: Axes, domain: Any):
        self._domain = domain
        self._lower: tuple[int, ...] = (0,)
        self.names = tuple(axes) if isinstance(axes, dict) else ONE
        own_axes = axes if isinstance(axes, dict) else {"": axes}
        values = _by_name(u, self.names, "u")
        places = _by_name(sensors, tuple(n for n in self.names if own_axes[n]), "sensors")
        self._axes: dict[str, list[int]] = {}
        self._values: dict[str, np.ndarray] = {}
        self._sensors: dict[str, np.ndarray] = {}
        for name in self.names:
            self._axes[name] = [domain.names.index(letter) for letter in own_axes[name]]
            label = "u" if not name else f"u[{name!r}]"
            rows = _numeric(values[name], label)
            finite(rows, label)
            rows = rows.reshape(len(rows), -1) if rows.ndim > 1 else rows[:, None] if name else rows[None]
            self._values[name] = rows
            if not self._axes[name]:
                if rows.shape[1] != 1:
                    raise InputError(f"u[{name!r}] must be one number for each function, got {rows.shape}.")
                continue
            where = _places(places[name], own_axes[name])
            if len(where) != rows.shape[1]:
                raise InputError(
                    f"sensors must have one row for each of the {rows.shape[1]} values of an input function; "
                    f"got {len(where)}."
                )
            self._sensors[name] = where
        counts = {len(rows) for rows in self._values.values()}
        if len(counts) != 1:
            raise InputError(f"all input functions must have the same number of rows, got {sorted(counts)}.")
        self.count = counts.pop()

    @property
    def sensors(self) -> Any:
        """Where they are known: (m, d). None if they have names: a model takes these by their shapes."""
        return self._sensors[""] if self.names == ONE else None

    def of(self, rows: np.ndarray) -> Known:
        """Some of the functions."""
        part = object.__new__(Known)
        part.__dict__ = self.__dict__ | {
            "_values": {name: own[rows] for name, own in self._values.items()},
            "count": len(rows),
        }
        return part

    @property
    def between_sensors(self) -> bool:
        """Whether any is a function, and no number."""
        return bool(self._sensors)

    def in_three_degrees(self) -> Known:
        """Three times as many: with splines as they are, of a lower degree, and of one lower still."""
        part = object.__new__(Known)
        part.__dict__ = self.__dict__ | {"_lower": _LOWER, "count": len(_LOWER) * self.count}
        return part

    def at(self, points: np.ndarray, keys: Iterable[Key]) -> dict[Key, np.ndarray]:
        """Values and derivatives (N, M), or (N, 1) for numbers, at points of the domain."""
        return {
            key: np.concatenate([self._one(points, *key, lower) for lower in self._lower]) for key in keys
        }

    def _one(self, points: np.ndarray, name: str, letters: str, lower: int) -> np.ndarray:
        axes, u = self._axes[name], self._values[name]
        orders = [letters.count(self._domain.names[j]) for j in axes]
        if sum(orders) < len(letters):  # it does not depend on that coordinate
            return np.zeros((len(u), 1))
        if not axes:
            return u
        sensors, where = self._sensors[name], points[:, axes]
        grid, order = as_grid(sensors)
        if grid is None:
            if letters:
                raise InputError(
                    f"u.{letters} needs sensors on a grid: derivatives of scattered values are not known."
                )
            return interpolate(sensors, u.T, where).T
        found = u[:, order].T.reshape(*(len(axis) for axis in grid), -1)
        for axis, x, j in zip(grid, where.T, axes, strict=True):
            self._require_cover(axis, x, j)
        splines = [self._spline(*each, lower) for each in zip(grid, where.T, axes, orders, strict=True)]
        found = np.tensordot(splines[0], found, axes=1)
        for spline in splines[1:]:
            found = np.einsum("mi,mi...->m...", spline, found)
        return found.T

    def _require_cover(self, axis: np.ndarray, x: np.ndarray, j: int) -> None:
        """Beyond sensors, splines go on for a spacing at most."""
        if self._domain.periodic[j]:
            return
        letter = self._domain.names[j]
        if len(axis) < 2:
            raise InputError(f"sensors must have at least two different values of {letter}; got {len(axis)}.")
        room = 1.01 * np.diff(axis).max()
        if x.min() < axis[0] - room or x.max() > axis[-1] + room:
            raise InputError(
                f"sensors go from {letter} = {axis[0]:g} to {axis[-1]:g}, but u is needed from {x.min():.3g} "
                f"to {x.max():.3g}: give values of u there too, or a smaller box."
            )

    def _spline(self, axis: np.ndarray, x: np.ndarray, j: int, order: int, lower: int) -> np.ndarray:
        """The weights (M, m) of the values at the axis for the derivative at x."""
        weights = np.eye(len(axis))
        if not self._domain.periodic[j]:
            return make_interp_spline(axis, weights, k=_degree(len(axis), lower))(x, order)
        low, high = self._domain.corners[:, j]
        if np.isclose(axis[-1] - axis[0], high - low):  # both ends are given: the same place
            axis, weights = axis[:-1], weights[:-1]
        axis, weights = np.append(axis, axis[0] + high - low), np.append(weights, weights[:1], axis=0)
        spline = make_interp_spline(axis, weights, k=_degree(len(axis), lower), bc_type="periodic")
        return spline(axis[0] + (x - axis[0]) % (high - low), order)


def _numeric(values: Any, label: str) -> np.ndarray:
    try:
        rows = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(f"{label} must hold numbers, (N, m): a row is a function.") from None
    if rows.size == 0 or rows.ndim == 0:
        raise InputError(f"{label} must have the shape (N, m), with at least one function; got {rows.shape}.")
    return rows


def _degree(m: int, lower: int) -> int:
    return max(1, min(_SPLINE, (m - 2) // 2 * 2 + 1) - lower)


def _places(given: Any, axes: tuple[str, ...]) -> np.ndarray:
    try:
        return coordinates(given, dimension=len(axes))
    except InputError as error:
        raise InputError(
            f"sensors are not those of an input function of {', '.join(axes)} (see input_axes): {error}"
        ) from None


def _by_name(given: Any, names: tuple[str, ...], what: str) -> dict[str, Any]:
    """Values by the names of the inputs; one without a name as it is."""
    if names == ONE:
        if given is None:
            raise InputError("say where the input functions are known: sensors=(m,), or (m, d).")
        if isinstance(given, dict):
            raise InputError(
                f"{what} came as a dictionary: name its inputs in the PDE, such as input_axes={{...}}."
            )
        return {"": given}
    if not isinstance(given, dict) or set(given) - set(names) or set(names) - set(given):
        if not names and given is None:
            return {}
        came = ", ".join(map(str, given)) if isinstance(given, dict) else type(given).__name__
        raise InputError(
            f"{what} must be a dictionary with {', '.join(names)}, as in input_axes; got {came}."
        )
    return given

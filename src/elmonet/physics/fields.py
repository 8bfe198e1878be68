"""The functions in an equation: unknowns and inputs, with values and derivatives at any points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.interpolate import make_interp_spline
from scipy.spatial import cKDTree

from elmonet.checks import coordinates, finite
from elmonet.errors import InputError
from elmonet.interpolation import as_grid, interpolate

Key = tuple[str, str]  # a component ("" if there is only one), and the sorted letters of a derivative
UNNAMED = ("",)  # the components of a function that has only one, without a name

_SPLINE_DEGREE = 9  # of the splines through the sensors, at most
_SAME_PLACE = 1e-9  # distance between a point and a sensor, relative to the extent, that is rounding
_COARSER = (0, 1, 2)  # interpolants that are coarsened so often tell the interpolation error
_FEWEST_FOR_SPLINES = 4  # values on an axis that allow splines of two degrees, linear and cubic

NOT_POINTWISE = (
    "a residual is computed for each function and point alone, but this one combines several, as np.mean, "
    "np.max, np.sum or np.gradient do. What is known of u can be another input, computed before: "
    'input_axes={"u": ("x",), "largest": ()}. An integral of s can be two other unknowns: s.m.x - s.v.x**2 '
    "and s.k.x, with s.m at x=0 and s.m - s.k at x=1, where k is the integral."
)


@dataclass(frozen=True)
class Symbols:
    """The names that a residual may use: coordinates, components of s and of u, and constants."""

    coordinates: tuple[str, ...]
    unknowns: tuple[str, ...] = UNNAMED
    inputs: tuple[str, ...] = UNNAMED
    constants: dict[str, float] = field(default_factory=dict)

    def orders(self, letters: str) -> tuple[int, ...]:
        """Return the order of the derivative in each coordinate, for letters such as "xxt"."""
        return tuple(letters.count(name) for name in self.coordinates)


# Partial derivatives of smooth functions for which NumPy has no complex arithmetic.
_PARTIALS: dict[Any, Callable[..., tuple[Any, ...]]] = {
    np.hypot: lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y)),
    np.arctan2: lambda y, x: (x / (x**2 + y**2), -y / (x**2 + y**2)),
    np.logaddexp: lambda x, y: (np.exp(x - np.logaddexp(x, y)), np.exp(y - np.logaddexp(x, y))),
    np.cbrt: lambda x: (1 / (3 * np.cbrt(x) ** 2),),
}


class Values(np.ndarray):
    """Values (n, M) of a function in a residual, real or with a complex step."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays, out = (
            [np.asarray(v) if isinstance(v, Values) else v for v in each]
            for each in (inputs, options.pop("out", ()))
        )
        options |= {"out": tuple(out)} if out else {}
        if ufunc in _PARTIALS and method == "__call__" and any(map(np.iscomplexobj, arrays)):
            # f(x + i h) = f(x) + i h f'(x), up to h^2
            at = [np.real(array) for array in arrays]
            slopes = zip(_PARTIALS[ufunc](*at), arrays, strict=True)
            result = ufunc(*at) + 1j * sum(slope * np.imag(array) for slope, array in slopes)
        else:
            result = getattr(ufunc, method)(*arrays, **options)
        return result.view(Values) if isinstance(result, np.ndarray) else result

    def __float__(self) -> float:
        raise TypeError("an array is not one number")


class Field(NDArrayOperatorsMixin):
    """``s`` or ``u`` in a residual: an array to NumPy, with derivatives ``s.xt`` and components ``s.v``.

    `values` maps keys to arrays. If `requested` is a set, keys that `values` lacks are added to it and
    evaluate to ones: one call of the residual shows which derivatives it needs.
    """

    def __init__(
        self,
        name: str,
        coordinates: tuple[str, ...],
        components: tuple[str, ...],
        values: dict[Key, np.ndarray],
        requested: set[Key] | None = None,
        is_component: bool = False,
    ):
        self._name, self._coordinates, self._components = name, coordinates, components
        self._values, self._requested, self._is_component = values, requested, is_component

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        first = self._components[0]
        if len(self._components) > 1 or (not self._is_component and name == first):
            if name not in self._components:
                raise InputError(
                    f"{self._name} has the components {', '.join(self._components)}: write "
                    f"{self._name}.{first} and {self._name}.{first}.{self._coordinates[0]}; got "
                    f"{self._name}.{name}."
                )
            label = f"{self._name}.{name}"
            return Field(label, self._coordinates, (name,), self._values, self._requested, is_component=True)
        if set(name) - set(self._coordinates):
            if callable(getattr(np.ndarray, name, None)):  # np.mean(u) asks for u.mean
                raise InputError(NOT_POINTWISE)
            raise InputError(
                f"{self._name}.{name} is not a derivative: its letters must be coordinates, "
                f"{', '.join(self._coordinates)}."
            )
        return self._get("".join(sorted(name)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._get(""), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [value._get("") if isinstance(value, Field) else value for value in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def _get(self, letters: str) -> Values:
        if len(self._components) > 1:
            raise InputError(
                f"{self._name} has the components {', '.join(self._components)}: write "
                f"{self._name}.{self._components[0]}."
            )
        key = (self._components[0], letters)
        if key not in self._values and self._requested is not None:
            self._requested.add(key)
            return np.ones((1, 1)).view(Values)
        return self._values[key].view(Values)


class InputFields:
    """N samples of the input functions of an equation: one, or several by name.

    Parameters
    ----------
    u : (N, m), or a dictionary of arrays, (N,) for a number.
    sensors : (m, d), in the coordinates that u depends on; with several inputs a dictionary.
    axes : these coordinates: a tuple, or a dictionary by input; () for a number.
    domain : a `Box` or a `Domain`.
    """

    def __init__(self, u: Any, sensors: Any, axes: tuple[str, ...] | dict[str, tuple[str, ...]], domain: Any):
        self._domain = domain
        self._coarser: tuple[int, ...] = (0,)
        self.names = tuple(axes) if isinstance(axes, dict) else UNNAMED
        letters = axes if isinstance(axes, dict) else {"": axes}
        values = _by_name(u, self.names, "u")
        sensors = _by_name(sensors, tuple(name for name in self.names if letters[name]), "sensors")
        self._axes: dict[str, list[int]] = {}
        self._values: dict[str, np.ndarray] = {}
        self._sensors: dict[str, np.ndarray] = {}
        for name in self.names:
            self._axes[name] = [domain.names.index(letter) for letter in letters[name]]
            rows = _as_rows(values[name], name)
            self._values[name] = rows
            if not self._axes[name]:
                if rows.shape[1] != 1:
                    raise InputError(f"u[{name!r}] must be one number for each function, got {rows.shape}.")
                continue
            self._sensors[name] = _sensor_coordinates(sensors[name], letters[name])
            if len(self._sensors[name]) != rows.shape[1]:
                raise InputError(
                    f"sensors must have one row for each of the {rows.shape[1]} values of an input function; "
                    f"got {len(self._sensors[name])}."
                )
        counts = {len(rows) for rows in self._values.values()}
        if len(counts) != 1:
            raise InputError(f"all input functions must have the same number of rows, got {sorted(counts)}.")
        self.count = counts.pop()

    @property
    def sensors(self) -> Any:
        """The sensors (m, d). None if inputs have names: a model recognises those by their shapes."""
        return self._sensors[""] if self.names == UNNAMED else None

    @property
    def has_sensors(self) -> bool:
        """Whether any input is a function rather than a number."""
        return bool(self._sensors)

    @property
    def fewest_sensors(self) -> int:
        """The fewest sensors on an axis of a grid, or of scattered ones, over all inputs."""
        grids = [as_grid(sensors)[0] or [sensors] for sensors in self._sensors.values()]
        return min(len(axis) for grid in grids for axis in grid)

    def subset(self, rows: np.ndarray) -> InputFields:
        """Return the samples in `rows`."""
        return self._with(
            _values={name: values[rows] for name, values in self._values.items()}, count=len(rows)
        )

    def with_coarser_interpolants(self) -> InputFields:
        """Return each sample three times: interpolated as usual, and by two coarser interpolants.

        Those are splines of two and four degrees less; with fewer than four values on an axis, and between
        scattered sensors, interpolants that leave out every other sensor.
        """
        return self._with(_coarser=_COARSER, count=len(_COARSER) * self.count)

    def evaluate(self, points: np.ndarray, keys: Iterable[Key]) -> dict[Key, np.ndarray]:
        """Return values and derivatives (N, M), or (N, 1) for numbers, at points (M, d) of the domain."""
        return {
            key: np.concatenate([self._derivative(points, *key, coarser) for coarser in self._coarser])
            for key in keys
        }

    def _with(self, **changes: Any) -> Self:
        changed = copy(self)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed

    def _derivative(self, points: np.ndarray, name: str, letters: str, coarser: int) -> np.ndarray:
        """Evaluate one derivative of one input, with an interpolant that is coarsened so often."""
        axes, u = self._axes[name], self._values[name]
        orders = [letters.count(self._domain.names[j]) for j in axes]
        if sum(orders) < len(letters):  # u does not depend on that coordinate
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
            found = interpolate(sensors[:: 2**coarser], u.T[:: 2**coarser], where)
            if coarser:  # u is known at its sensors: nothing is interpolated there
                distance, nearest = cKDTree(sensors).query(where)
                known = distance <= _SAME_PLACE * np.ptp(sensors)
                found[known] = u.T[nearest[known]]
            return found.T
        values = u[:, order].T.reshape(*(len(axis) for axis in grid), -1)
        for axis, x, j in zip(grid, where.T, axes, strict=True):
            self._require_cover(axis, x, j)
        splines = [self._spline(*each, coarser) for each in zip(grid, where.T, axes, orders, strict=True)]
        values = np.tensordot(splines[0], values, axes=1)
        for spline in splines[1:]:
            values = np.einsum("mi,mi...->m...", spline, values)
        return values.T

    def _require_cover(self, axis: np.ndarray, x: np.ndarray, j: int) -> None:
        """Allow splines to extrapolate by at most one sensor spacing."""
        letter = self._domain.names[j]
        if len(axis) < 2:
            raise InputError(f"sensors must have at least two different values of {letter}; got {len(axis)}.")
        if self._domain.periodic[j]:
            return
        margin = 1.01 * np.diff(axis).max()
        if x.min() < axis[0] - margin or x.max() > axis[-1] + margin:
            raise InputError(
                f"sensors go from {letter} = {axis[0]:g} to {axis[-1]:g}, but u is needed from {x.min():.3g} "
                f"to {x.max():.3g}: give values of u there too, or use a smaller box."
            )

    def _spline(self, axis: np.ndarray, x: np.ndarray, j: int, order: int, coarser: int) -> np.ndarray:
        """Return the weights (M, m) of the values on the axis for the derivative at x.

        The spline has the largest odd degree that its values allow, up to a limit.
        """
        weights, bc_type = np.eye(len(axis)), None
        low, high = self._domain.corners[:, j]
        periodic = self._domain.periodic[j]
        if periodic and np.isclose(axis[-1] - axis[0], high - low):  # both ends are given: the same point
            axis, weights = axis[:-1], weights[:-1]
        if coarser and len(axis) + periodic < _FEWEST_FOR_SPLINES:
            axis, weights, coarser = axis[::2], weights[::2], 0
        if periodic:
            axis, weights = np.append(axis, axis[0] + high - low), np.append(weights, weights[:1], axis=0)
            x, bc_type = axis[0] + (x - axis[0]) % (high - low), "periodic"
        if len(axis) == 1:
            return np.tile(weights if order == 0 else 0 * weights, (len(x), 1))
        degree = max(1, min(_SPLINE_DEGREE, (len(axis) - 2) // 2 * 2 + 1) - 2 * coarser)
        return make_interp_spline(axis, weights, k=degree, bc_type=bc_type)(x, order)


def _by_name(given: Any, names: tuple[str, ...], argument: str) -> dict[str, Any]:
    """Return values by input name; a single input without a name has the name ""."""
    if names == UNNAMED:
        if given is None:
            raise InputError("say where the input functions are known: sensors=(m,), or (m, d).")
        if isinstance(given, dict):
            raise InputError(
                f"{argument} came as a dictionary: name its inputs in the PDE, such as input_axes={{...}}."
            )
        return {"": given}
    if not names and given is None:
        return {}
    if not isinstance(given, dict) or set(given) != set(names):
        got = ", ".join(map(str, given)) if isinstance(given, dict) else type(given).__name__
        raise InputError(
            f"{argument} must be a dictionary with {', '.join(names)}, as in input_axes; got {got}."
        )
    return given


def _as_rows(values: Any, name: str) -> np.ndarray:
    """Return finite values of one input as rows (N, m)."""
    label = f"u[{name!r}]" if name else "u"
    try:
        rows = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(f"{label} must hold numbers, (N, m): one function per row.") from None
    if rows.size == 0 or rows.ndim == 0:
        raise InputError(f"{label} must have the shape (N, m), with at least one function; got {rows.shape}.")
    finite(rows, label)
    if rows.ndim > 1:
        return rows.reshape(len(rows), -1)
    return rows[:, None] if name else rows[None]


def _sensor_coordinates(sensors: Any, axes: tuple[str, ...]) -> np.ndarray:
    try:
        return coordinates(sensors, dimension=len(axes))
    except InputError as error:
        raise InputError(
            f"sensors are not those of an input function of {', '.join(axes)} (see input_axes): {error}"
        ) from None


class PolynomialBasis:
    """Products of Legendre polynomials, or of Fourier modes along periodic coordinates.

    Parameters
    ----------
    corners : (2, d), the lowest and the highest corner of the box that is mapped to [-1, 1]^d.
    degrees : the highest degree in each coordinate; ``degree // 2`` cosines and sines if it is periodic.
    periodic : which coordinates are periodic.
    total : keep only products up to the total degree ``max(degrees)``.
    """

    def __init__(
        self, corners: np.ndarray, degrees: tuple[int, ...], periodic: tuple[bool, ...], total: bool = False
    ):
        self.corners, self.degrees, self.periodic = corners, degrees, periodic
        counts = [n // 2 * 2 + 1 if fourier else n + 1 for n, fourier in zip(degrees, periodic, strict=True)]
        powers = np.indices(counts).reshape(len(counts), -1)
        self._in_basis = powers.sum(axis=0) <= max(degrees) if total else np.ones(powers.shape[1], bool)
        self.width_ = int(self._in_basis.sum())

    def derivative(self, points: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
        """Return the derivatives (M, p) of these orders at points (M, d)."""
        factors = []
        for j, (n, fourier, order) in enumerate(zip(self.degrees, self.periodic, orders, strict=True)):
            low, high = self.corners[:, j]
            x, half = (points[:, j] - (low + high) / 2) / ((high - low) / 2), (high - low) / 2
            factors.append((_fourier if fourier else _legendre)(x, n, order) / half**order)
        products = reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(points), -1), factors)
        return products if self._in_basis.all() else products[:, self._in_basis]


def _legendre(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """Return the derivatives (M, n + 1) of the Legendre polynomials up to degree n.

    (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1), and P'_(k+1) = P'_(k-1) + (2 k + 1) P_k for derivatives.
    """
    values = np.polynomial.legendre.legvander(x, n)
    for _ in range(order):
        lower, values = values, np.zeros_like(values)
        for k in range(n):
            values[:, k + 1] = (2 * k + 1) * lower[:, k] + (values[:, k - 1] if k else 0)
    return values


def _fourier(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """Return the derivatives (M, 2 (n // 2) + 1) of 1, cos(pi k x) and sin(pi k x), of period 2."""
    k = np.pi * np.arange(1, n // 2 + 1)
    phase = np.outer(x, k) + order * np.pi / 2
    values = np.empty((len(x), 2 * len(k) + 1))
    values[:, 0] = order == 0
    values[:, 1::2], values[:, 2::2] = k**order * np.cos(phase), k**order * np.sin(phase)
    return values

"""Functions known at different points: `Scattered` outputs, and inputs resampled to common sensors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from elmonet.checks import coordinates, finite, plain
from elmonet.data.lazy import load
from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.summary import plural

_MARGIN = 0.1  # of the size of a function's bounding box, by which a new sensor may lie outside of it


@dataclass(frozen=True, eq=False, repr=False)
class Scattered:
    """Values of output functions, each at its own points: value k is function ``index[k]`` at ``points[k]``.

    Parameters
    ----------
    index : (K,) integers; value k belongs to row ``index[k]`` of the inputs.
    points : (K, d), or (K,) if d = 1.
    values : (K,), or (K, c) for c components; None for points without values, as `predict` takes them.

    Raises
    ------
    InputError : if shapes disagree, or values are masked or not finite: a missing value has no entry.

    Examples
    --------
    >>> Scattered([0, 0, 1], [0.1, 0.7, 0.4], [1.0, 2.0, 3.0])
    3 values of 2 functions, at points in 1-D
    >>> Scattered.of([[1.0, 2.0], [3.0]], [[0.1, 0.7], [0.4]]).index
    array([0, 0, 1])
    """

    index: np.ndarray
    points: np.ndarray
    values: np.ndarray | None = None

    def __post_init__(self) -> None:
        index, points = load(plain(self.index)), coordinates(load(plain(self.points)))
        if index.ndim != 1 or index.dtype.kind not in "iu" or len(index) != len(points):
            raise InputError(
                "index must hold one integer for each point, the row of the inputs that it belongs to; "
                f"got index {index.shape} of type {index.dtype} for {len(points)} points."
            )
        if index.min() < 0:
            raise InputError(f"index counts the functions from 0; its smallest value is {index.min()}.")
        object.__setattr__(self, "index", index.astype(np.int64, copy=False))
        object.__setattr__(self, "points", points)
        if self.values is not None:
            object.__setattr__(self, "values", self._checked(self.values))

    def _checked(self, values: Any) -> np.ndarray:
        values = load(plain(values))
        if values.dtype not in (np.float64, np.float32):
            values = values.astype(np.float64)
        if values.ndim not in (1, 2) or len(values) != len(self.points) or values.size == 0:
            raise InputError(
                f"values must be (K,) or (K, c), one row for each of the {len(self.points)} points; got "
                f"{values.shape}."
            )
        if values.shape[1:] == (1,):
            values = values[:, 0]
        finite(values, "values", " A missing value has no entry: leave it out of index, points and values.")
        return values

    @classmethod
    def of(cls, values: Sequence[ArrayLike] | None, points: Sequence[ArrayLike]) -> Self:
        """Build scattered outputs from lists with one entry per function.

        Parameters
        ----------
        values : list of the values (M_i,) or (M_i, c) of each function; None for points without values.
        points : list of the points (M_i, d) of each function.

        Returns
        -------
        scattered : the same as index, points and values.

        Raises
        ------
        InputError : if values and points do not match.
        """
        each = [coordinates(p) for p in points]
        index = np.repeat(np.arange(len(each)), [len(p) for p in each])
        if values is None:
            return cls(index, np.concatenate(each))
        if len(values) != len(points):
            raise InputError(
                f"there are values of {len(values)} functions and points of {len(points)}: give both."
            )
        rows = [load(plain(v)).astype(float) for v in values]
        for i, (v, p) in enumerate(zip(rows, each, strict=True)):
            if len(v) != len(p):
                raise InputError(f"function {i} has {len(v)} values and {len(p)} points.")
        return cls(index, np.concatenate(each), np.concatenate(rows))

    @property
    def n_functions(self) -> int:
        """Number of functions: one more than the largest index."""
        return int(self.index.max()) + 1

    def of_functions(self, rows: ArrayLike | slice) -> Self:
        """Return the values of some functions, numbered from 0 in the order of `rows`.

        Parameters
        ----------
        rows : indices of the functions.

        Returns
        -------
        scattered : their index, points and values.
        """
        rows = np.asarray(rows)
        new_index = np.full(max(self.n_functions, int(rows.max()) + 1), -1)
        new_index[rows] = np.arange(len(rows))
        selected = new_index[self.index] >= 0
        values = None if self.values is None else self.values[selected]
        return type(self)(new_index[self.index[selected]], self.points[selected], values)

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        what = "places" if self.values is None else "values"
        n, d = len(np.unique(self.index)), self.points.shape[1]
        return f"{len(self)} {what} of {plural(n, 'function')}, at points in {d}-D"


def resample(values: Sequence[ArrayLike], sensors: Sequence[ArrayLike], new_sensors: ArrayLike) -> np.ndarray:
    """Interpolate input functions to common sensors, from those of each function or other common ones.

    Uses splines on grids, and radial basis functions elsewhere. If a common sensor lies outside the bounding
    box of a function's own sensors by more than a tenth of its size, an `ExtrapolationWarning` is issued.

    Parameters
    ----------
    values : list of the values (m_i,) of each function, or (N, m).
    sensors : list of the sensors (m_i, d) of each function, or (m_i,) if d = 1; an array (m, d)
        or (m,) of those of all functions.
    new_sensors : (m, d), or (m,); the common sensors.

    Returns
    -------
    u : (N, m), the functions at the common sensors.

    Raises
    ------
    InputError : if values and sensors do not match, or values are not finite.

    Examples
    --------
    >>> x = [np.linspace(0, 1, 30), np.linspace(0, 1, 50)]
    >>> u = resample([np.sin(x[0]), np.cos(x[1])], x, np.array([0.0, 0.5, 1.0]))
    >>> u.round(4)
    array([[0.    , 0.4794, 0.8415],
           [1.    , 0.8776, 0.5403]])
    """
    from elmonet.interpolation import interpolate

    if _are_common(sensors, values):
        common: Any = sensors
        sensors = [common] * len(values)
    if len(values) != len(sensors) or len(values) == 0:
        raise InputError(
            f"give values and sensors for each function: got {len(values)} and {len(sensors)} of them."
        )
    new = coordinates(new_sensors)
    u, outside = np.empty((len(values), len(new))), []
    for i, (own_values, own) in enumerate(zip(values, sensors, strict=True)):
        own_values, own = load(plain(own_values)).astype(float), coordinates(own, dimension=new.shape[1])
        if own_values.shape != (len(own),):
            raise InputError(
                f"function {i} has values {own_values.shape} and {len(own)} sensors: give one value for each."
            )
        finite(own_values, f"function {i}")
        low, high = own.min(axis=0), own.max(axis=0)
        margin = _MARGIN * (high - low)
        if ((new < low - margin) | (new > high + margin)).any():
            outside.append(i)
        u[i] = interpolate(own, own_values[:, None], new)[:, 0]
    if outside:
        warnings.warn(
            f"{len(outside)} of {len(values)} functions, the first function {outside[0]}, are extrapolated: "
            "new sensors lie outside the range of their own. Choose new sensors inside.",
            ExtrapolationWarning,
            stacklevel=2,
        )
    return u


def _are_common(sensors: Any, values: Any) -> bool:
    """Return whether sensors (m,) or an array (m, d) are common, not one row for each of N functions."""
    if len(sensors) and all(np.ndim(one) == 0 for one in sensors):
        return True
    shape: tuple[int, ...] = getattr(sensors, "shape", ())
    given: tuple[int, ...] = getattr(values, "shape", ())
    return len(shape) == len(given) == 2 and shape != given and shape[0] == given[1]


def parts(u: Any) -> dict[str, Any]:
    """Return the input functions by name, a single one as ""."""
    return u if isinstance(u, dict) else {"": u}


def long_table(
    u: dict[str, np.ndarray], row: np.ndarray, points: np.ndarray, s: np.ndarray, index: str
) -> tuple[dict[str, Any], Any, Any] | None:
    """Return the functions of a table with one value per row; None if the rows of u are functions instead.

    An input that is the same in all rows of a function is a number; any other is a function known at the
    points, which then must be the same for all functions.
    """
    _, first, own = np.unique(row, return_index=True, return_inverse=True)
    varying = [key for key, part in u.items() if not np.array_equal(part, part[first][own], equal_nan=True)]
    if any(u[key].shape[1:] != (1,) for key in varying):
        return None
    inputs = {key: part[first] for key, part in u.items()}
    if not varying:
        return inputs, Scattered(own, points, s), None
    order, counts, N = np.argsort(own, kind="stable"), np.bincount(own), len(first)
    M = counts[0]
    if (counts != M).any() and points.shape[1] == 1 and s.ndim == 1:  # records of any length
        ends = np.cumsum(counts)[:-1]
        records = {key: np.split(u[key][order, 0], ends) for key in varying}
        return {**inputs, **records}, np.split(s[order], ends), np.split(points[order, 0], ends)
    if (counts != M).any() or (points[order].reshape(N, M, -1) != points[order[:M]]).any():
        known = f"{counts.min()} to {counts.max()} rows" if (counts != M).any() else "different points"
        name = f"the input {varying[0]}" if varying[0] else "the input"
        raise InputError(
            f"{name} varies within the functions that {index} tells apart, and these have {known}; a model "
            "needs all input functions at the same sensors. In Python: u = elmonet.resample(values, sensors, "
            "new_sensors), with lists of one array for each function, and Scattered(index, points, values) "
            "for the outputs."
        )
    inputs |= {key: u[key][order].reshape(N, M) for key in varying}
    return inputs, s[order].reshape(N, M, *s.shape[1:]), points[order[:M]]


def unique_inputs(u: Any) -> tuple[Any, np.ndarray]:
    """Return the distinct inputs in the order of their first appearance, and the new row of each old one."""
    loaded = {key: np.ascontiguousarray(load(rows)) for key, rows in parts(u).items()}
    as_bytes = np.concatenate(
        [rows.reshape(len(rows), -1).view(np.uint8) for rows in loaded.values()], axis=1
    )
    begins_run = np.append(True, (as_bytes[1:] != as_bytes[:-1]).any(axis=1))  # of equal inputs in sequence
    runs = np.ascontiguousarray(as_bytes[begins_run])
    as_scalars = runs.view(np.dtype((np.void, runs.shape[1]))).ravel()
    _, first, inverse = np.unique(as_scalars, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rows = np.flatnonzero(begins_run)[first[order]]
    unique = {key: array[rows] for key, array in loaded.items()}
    return (unique if isinstance(u, dict) else unique[""]), rank[inverse.ravel()][np.cumsum(begins_run) - 1]


def at_own_points(s: Any, points: np.ndarray) -> Scattered:
    """Return functions (N, M, ...) at other points (M, d) than those of the training functions."""
    values = load(s)
    N, M = len(values), len(points)
    return Scattered(np.repeat(np.arange(N), M), np.tile(points, (N, 1)), values.reshape(N * M, -1))

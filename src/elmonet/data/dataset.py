"""A data set of input and output functions, for training and testing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from elmonet.checks import FunctionValues, plain
from elmonet.data.lazy import Lazy, load
from elmonet.data.limits import require_extra
from elmonet.data.mesh import DISPLACEMENT, Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.interpolation import interpolate
from elmonet.summary import plural


@dataclass(frozen=True, eq=False)
class Labels:
    """What functions are called and where they live, from the file to the model and its predictions.

    Attributes
    ----------
    input, output : names of the input and of the output functions; "" if there are none.
    components : names of the components of the outputs.
    axes : names of the coordinates of the points.
    units : units by the name of an input, output, component or coordinate.
    mesh : mesh that the outputs belong to.
    """

    input: str = ""
    output: str = ""
    components: tuple[str, ...] | None = None
    axes: tuple[str, ...] | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    mesh: Mesh | None = None

    def with_unit(self, name: str) -> str:
        """Return a name with its unit in brackets, if it has one."""
        return f"{name} [{self.units[name]}]" if self.units.get(name) else name

    @property
    def axes_with_units(self) -> tuple[str, ...] | None:
        """Names of the coordinates with their units."""
        return None if self.axes is None else tuple(map(self.with_unit, self.axes))

    def to_store(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return the record of the labels for a file; arrays of the mesh go to `arrays`."""
        record = {name: getattr(self, name) for name in ("input", "output", "components", "axes")}
        mesh = None if self.mesh is None else self.mesh.to_store(arrays)
        return record | {"units": dict(self.units), "mesh": mesh}

    @classmethod
    def from_store(cls, record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Labels:
        """Invert `to_store`; raise TypeError for anything but text."""
        names: dict[str, Any] = {}
        for key in ("components", "axes"):
            given = record.get(key)
            names[key] = None if given is None else tuple(_text(name) for name in given)
        units = {_text(name): _text(unit) for name, unit in record.get("units", {}).items()}
        mesh = record.get("mesh")
        return cls(
            _text(record.get("input", "")),
            _text(record.get("output", "")),
            names["components"],
            names["axes"],
            units,
            None if mesh is None else Mesh.from_store(mesh, arrays),
        )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


@dataclass(frozen=True, eq=False, repr=False)
class OperatorData:
    """Pairs of functions u -> s = G(u), for training and for testing; rows are functions.

    Row i of `u` holds u_i(x_j) at the sensors x_j; row i of `s` holds G(u_i)(y_j) at the points y_j.

    Parameters
    ----------
    u_train, u_test : (N, m), or images (N, H, W) or (N, channels, H, W) with m = H * W in C order, or a
        dictionary of such arrays for several input functions.
    s_train, s_test : (N, M), (N, M, c) for c components, grids (N, H, W) with M = H * W in C order, or
        `Scattered`; or lists of records (T_i,) in time, as the inputs and the points then are. Masked
        values, here and in the inputs, are missing: NaN.
    sensors : (m, d), coordinates of the inputs.
    points : (M, d), coordinates of the outputs.
    name : name of the data set.
    components : names of the c components.
    axes : names of the d coordinates of the points.
    input, output : names of the input and of the output functions.
    units : dictionary of units, by the name of an input, output, component or coordinate.
    mesh : `Mesh` that the outputs belong to; its `points` are the points.
    meshes : meshes of the training functions, if each has its own; the outputs are `Scattered`.

    Raises
    ------
    InputError : if shapes disagree.

    Examples
    --------
    >>> x = np.linspace(0, 1, 5)[:, None]
    >>> u = np.ones((3, 5))
    >>> OperatorData(u, u * x.T, u[:2], u[:2] * x.T, sensors=x, points=x, name="mean")
    OperatorData 'mean': 3 training and 2 test functions
      u (N, 5) at 5 sensors in 1-D -> s (N, 5) at 5 points in 1-D
    """

    u_train: FunctionValues
    s_train: FunctionValues
    u_test: FunctionValues = None
    s_test: FunctionValues = None
    sensors: FunctionValues = None
    points: FunctionValues = None
    name: str = ""
    components: tuple[str, ...] | None = None
    axes: tuple[str, ...] | None = None
    input: str = ""
    output: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    mesh: Mesh | None = None
    meshes: tuple[Mesh, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("u_train", "s_train", "u_test", "s_test", "sensors", "points"):
            object.__setattr__(self, name, _as_arrays(getattr(self, name)))
        for name in ("components", "axes"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        if isinstance(self.s_train, list):
            self._check_records()
            return
        points = self.s_train.points if isinstance(self.s_train, Scattered) else self.points
        if self.axes is not None and points is not None and len(self.axes) != (d := points.shape[-1]):
            names = ", ".join(self.axes)
            raise InputError(f"axes names {len(self.axes)} coordinates, {names}, but points have {d}.")
        if (self.u_test is None) != (self.s_test is None):
            raise InputError("u_test and s_test belong together: give both or none.")
        self._check_part("train")
        if self.u_test is not None:
            self._check_part("test")
            self._check_test_shapes()

    @property
    def labels(self) -> Labels:
        """Names, units and mesh, as a fitted model keeps them."""
        return Labels(self.input, self.output, self.components, self.axes, dict(self.units), self.mesh)

    def _check_records(self) -> None:
        """Check lists of records in time against each other."""
        u, n = self.u_train, len(self.s_train)
        lists = [part for part in (u.values() if isinstance(u, dict) else [u]) if isinstance(part, list)]
        times = self.points if isinstance(self.points, list) else self.s_train
        if self.s_test is not None or not all(len(part) == n for part in (*lists, times)):
            raise InputError(
                f"lists of records must be as many for inputs, outputs and times, {n}, without test records."
            )
        for i, own in enumerate(zip(*lists, times, self.s_train, strict=True)):
            if len({len(record) for record in own}) > 1:
                raise InputError(f"record {i} has inputs, outputs and times of different lengths.")

    def _check_part(self, part: str) -> None:
        """Check the training or test functions against each other and against the coordinates."""
        inputs, s = getattr(self, f"u_{part}"), getattr(self, f"s_{part}")
        named = inputs.items() if isinstance(inputs, dict) else [("", inputs)]
        for key, u in named:
            name = f"u_{part}[{key!r}]" if key else f"u_{part}"
            if u.ndim < 2 or (not isinstance(s, Scattered) and s.ndim < 2):
                raise InputError(
                    f"{name} must be (N, m) or (N, H, W) and s_{part} must be (N, M), got {u.shape} and "
                    f"{s.shape}. Give one function per row."
                )
            _check_count(u, s, name, f"s_{part}")
        if self.sensors is not None and not isinstance(inputs, dict):
            channels = inputs.ndim > 3 and len(self.sensors) == math.prod(inputs.shape[2:])
            sizes = inputs.shape[2 if channels else 1 :]
            _check_coordinates(self.sensors, "sensors", math.prod(sizes), f"u_{part}")
        if isinstance(s, Scattered):
            c = 1 if s.values is None or s.values.ndim == 1 else s.values.shape[1]
        else:
            c = self._components_of(s, part)
        if self.components is not None and len(self.components) != c:
            raise InputError(f"components names {len(self.components)}, but s_{part} has {c}.")

    def _components_of(self, s: np.ndarray, part: str) -> int:
        """Return the number of components; the number of points tells (N, M, c) from a grid (N, H, W)."""
        if self.points is None:
            return s.shape[-1] if self.components is not None and s.ndim > 2 else 1
        if s.ndim > 2 and self.points.ndim == 2 and len(self.points) == math.prod(s.shape[1:-1]):
            return int(s.shape[-1])
        _check_coordinates(self.points, "points", math.prod(s.shape[1:]), f"s_{part}")
        return 1

    def _check_test_shapes(self) -> None:
        """Check that test functions have the shape of training functions."""
        train, test = _shapes(self.u_train), _shapes(self.u_test)
        if train != test:
            raise InputError(
                f"u_train and u_test must have the same shape per function, got {train} and {test}. Sample "
                "both at the sensors."
            )
        if isinstance(self.s_train, Scattered) or isinstance(self.s_test, Scattered):
            return
        if self.s_train.shape[1:] != self.s_test.shape[1:]:
            raise InputError(
                "s_train and s_test must have the same shape per function, got "
                f"{self.s_train.shape[1:]} and {self.s_test.shape[1:]}. Sample both at the points."
            )

    def relative_to(self, mesh: Mesh) -> OperatorData:
        """Return the data with the nodes of its meshes as displacements from another mesh of the same cells.

        Runs whose nodes move are read with displacements from their own mean; those of a model are relative
        to the mean of its training runs, ``model.labels_.mesh``.

        Parameters
        ----------
        mesh : the mesh that displacements are relative to.

        Returns
        -------
        data : with the components displacement_x, ... and `mesh`.

        Raises
        ------
        InputError : if the data have no mesh, or one with other cells.
        """
        if self.mesh is None or not self.mesh.same_cells(mesh) or isinstance(self.s_train, (list, Scattered)):
            raise InputError("displacements are known between meshes with the same cells and nodes.")
        names = self.components or (self.output or "s",)
        apart = (self.mesh.nodes - mesh.nodes)[:, mesh.coordinates]
        moves = [f"{DISPLACEMENT}_{'xyz'[k]}" for k in mesh.coordinates]
        found: dict[str, Any] = {}
        for part in ("s_train", "s_test"):
            given = getattr(self, part)
            if given is None:
                continue
            s = load(given).reshape(len(given), len(apart), -1)
            own = [s[..., k] for k, name in enumerate(names) if name not in moves]
            for k, move in enumerate(moves):
                known = s[..., names.index(move)] if move in names else np.zeros(s.shape[:2])
                own.append(known + apart[:, k])
            found[part] = np.stack(own, axis=-1)
        components = (*(name for name in names if name not in moves), *moves)
        moving = replace(mesh, moving=True)
        return replace(self, components=components, output="", points=moving.points, mesh=moving, **found)

    def on_common_mesh(self, mesh: Mesh | None = None) -> tuple[OperatorData, float]:
        """Return functions on meshes of their own, interpolated to the points of one mesh.

        Parameters
        ----------
        mesh : the common mesh; by default the one with the most nodes.

        Returns
        -------
        data : outputs (N, M) or (N, M, c) at the points of the mesh.
        error : mean relative error of interpolating there and back.

        Raises
        ------
        InputError : if the functions do not have meshes of their own.
        """
        s = self.s_train
        if self.meshes is None or not isinstance(s, Scattered) or s.values is None:
            raise InputError("these functions do not have meshes of their own.")
        mesh = max(self.meshes, key=lambda own: len(own.nodes)) if mesh is None else mesh
        where, rows, errors = mesh.points, [], []
        for i in range(len(self.meshes)):
            own = s.index == i
            values = s.values[own].reshape(int(own.sum()), -1)
            rows.append(interpolate(s.points[own], values, where))
            back = interpolate(where, rows[-1], s.points[own])
            errors.append(np.linalg.norm(back - values) / (np.linalg.norm(values) or 1.0))
        found = np.stack(rows)
        found = found if s.values.ndim > 1 else found[:, :, 0]
        data = replace(self, s_train=found, points=where, mesh=mesh, meshes=None)
        return data, float(np.mean(errors))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the data as arrays by name, as `read` finds them in a file.

        Returns
        -------
        arrays : dictionary of `u_train`, `s_train`, ... without the names of components and axes.
        """
        if isinstance(self.s_train, list):
            return _long(self)
        arrays: dict[str, np.ndarray] = {}
        for part in ("train", "test"):
            u, s = getattr(self, f"u_{part}"), getattr(self, f"s_{part}")
            if u is None:
                continue
            several = isinstance(u, dict)
            arrays |= {f"u_{part}.{key}": array for key, array in u.items()} if several else {f"u_{part}": u}
            if isinstance(s, Scattered):
                arrays |= {f"index_{part}": s.index, f"points_{part}": s.points}
            values = s.values if isinstance(s, Scattered) else s
            arrays |= {} if values is None else {f"s_{part}": values}
        coordinates = {"sensors": self.sensors, "points": self.points}
        return arrays | {name: array for name, array in coordinates.items() if array is not None}

    def to_xarray(self) -> Any:
        """Return the data as an ``xarray.Dataset``, which `read` accepts.

        Returns
        -------
        dataset : variables `u_train`, `s_train`, ... with the dimensions function, sensor (or those of a
            grid), point and component; coordinates `sensors` and `points`.

        Raises
        ------
        MissingExtra : if xarray is not installed.
        """
        xarray = require_extra("xarray")
        variables: dict[str, Any] = {
            n: (_dims(self, n, array), array) for n, array in self.to_arrays().items()
        }
        coordinates = {str(name): variables.pop(name) for name in ("sensors", "points") if name in variables}
        for dimension, labels in (("point_dimension", self.axes), ("component", self.components)):
            if labels is not None:
                coordinates[dimension] = (dimension, list(labels))
        return xarray.Dataset(variables, coordinates, {"name": self.name})

    def __repr__(self) -> str:
        title = f"OperatorData {self.name!r}" if self.name else "OperatorData"
        number = plural(_count(self.u_train), "function")
        if self.u_test is not None:
            number = f"{_count(self.u_train)} training and {plural(_count(self.u_test), 'test function')}"
        if isinstance(self.s_train, list):
            steps = [len(record) for record in self.s_train]
            length = f"{min(steps)} to {max(steps)}" if min(steps) < max(steps) else f"{steps[0]}"
            return f"{title}: {plural(len(steps), 'record')} of {length} steps"
        u = _shape_text("u", self.u_train)
        if self.sensors is not None:
            u += f" at {plural(len(self.sensors), 'sensor')} in {self.sensors.shape[1]}-D"
        s = f"s: {self.s_train!r}" if isinstance(self.s_train, Scattered) else _shape_text("s", self.s_train)
        if self.points is not None:
            s += f" at {plural(len(self.points), 'point')} in {self.points.shape[1]}-D"
        s += f" ({', '.join(self.axes)})" if self.axes else ""
        s += f", a {self.mesh!r}" if self.mesh is not None else ""
        components = f"\n  components: {', '.join(self.components)}" if self.components else ""
        return f"{title}: {number}\n  {u} -> {s}{components}"


def _as_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        if not value:
            raise InputError("u_train is an empty dict: give at least one input function.")
        return {str(key): _as_arrays(array) for key, array in value.items()}
    if (
        isinstance(value, list)
        and value
        and all(isinstance(each, np.ndarray) and each.ndim for each in value)
    ):
        return list(value)
    if isinstance(value, Lazy):
        return value
    return value if value is None or isinstance(value, Scattered) else load(plain(value))


def _long(data: OperatorData) -> dict[str, np.ndarray]:
    """Return records of any length as columns with a value per step, and the number of the record."""
    lengths = [len(record) for record in data.s_train]
    arrays: dict[str, np.ndarray] = {"run": np.repeat(np.arange(len(lengths)), lengths)}
    times = data.points if isinstance(data.points, list) else [np.arange(n, dtype=float) for n in lengths]
    arrays[data.axes[0] if data.axes else "t"] = np.concatenate([np.ravel(own) for own in times])
    u = data.u_train if isinstance(data.u_train, dict) else {data.input or "u": data.u_train}
    for name, part in u.items():
        given = (
            part
            if isinstance(part, list)
            else [np.repeat(row, n) for row, n in zip(part, lengths, strict=True)]
        )
        arrays[name] = np.concatenate(given)
    return arrays | {data.output or "s": np.concatenate(data.s_train)}


def _shapes(u: Any) -> str:
    if isinstance(u, dict):
        return ", ".join(f"{key} {u[key].shape[1:]}" for key in sorted(u))
    return str(u.shape[1:])


def _count(u: Any) -> int:
    return len(next(iter(u.values())) if isinstance(u, dict) else u)


def _shape_text(name: str, array: Any) -> str:
    if isinstance(array, dict):
        return " and ".join(_shape_text(key, entry) for key, entry in array.items())
    return f"{name} ({', '.join(str(size) for size in ('N', *array.shape[1:]))})"


def _check_count(u: np.ndarray, s: Any, u_name: str, s_name: str) -> None:
    if isinstance(s, Scattered):
        if s.n_functions > len(u):
            raise InputError(
                f"{s_name} names function {s.n_functions - 1}, but {u_name} has {len(u)}, from 0."
            )
    elif len(u) != len(s):
        columns = np.ndim(u) > 1 and np.ndim(s) > 1 and np.shape(u)[-1] == np.shape(s)[-1]
        turned = " Where each column is a function: --transpose, transpose=True." if columns else ""
        raise InputError(
            f"{u_name} and {s_name} must hold the same number of functions, got {len(u)} and {len(s)}. Row i "
            f"of {s_name} is the output of row i of {u_name}.{turned}"
        )


def _check_coordinates(coordinates: np.ndarray, name: str, expected: int, values: str) -> None:
    if coordinates.ndim != 2 or len(coordinates) != expected:
        raise InputError(
            f"{name} must be ({expected}, d), one row for each value of a function in {values}, "
            f"got {coordinates.shape}. A list of numbers in 1-D becomes (m, 1) with x[:, None]."
        )


def _dims(data: OperatorData, name: str, array: np.ndarray) -> tuple[str, ...]:
    """Return the names of the dimensions of an array of `OperatorData.to_arrays`."""
    if name in ("sensors", "points"):
        return (f"{name[:-1]}_number", f"{name[:-1]}_dimension")
    kind, _, rest = name.partition("_")
    part, _, key = rest.partition(".")
    if kind != "u" and isinstance(getattr(data, f"s_{part}"), Scattered):
        return (f"{part}_value", "point_dimension" if kind == "points" else "component")[: array.ndim]
    function = {"train": "function", "test": "test_function"}[part]
    named = data.points is None and data.components is not None
    at_points = data.points is not None and array.shape[1] == len(data.points)
    if kind == "s" and array.ndim == 3 and (named or at_points):
        return (function, "point", "component")
    axis = "point" if kind == "s" else f"{key}_sensor" if key else "sensor"
    return (function, *([axis] if array.ndim == 2 else (f"{axis}_{i}" for i in range(array.ndim - 1))))

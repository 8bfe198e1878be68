"""The forms in which records come: arrays, lists, single records, files; and their time step.

Records are arrays (N, T) or (N, T, channels) on one time axis, lists of records (T_i,) or (T_i, channels) of
any lengths, or one record (T,). Several inputs come as a dictionary; numbers in it are parameters of the
records. Inside, a record is an array (T, channels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from elmonet.checks import finite, plain
from elmonet.data.lazy import is_stored
from elmonet.description import Port
from elmonet.errors import InputError
from elmonet.forms.components import named_components
from elmonet.forms.groups import given_groups
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, root_mean_squares
from elmonet.forms.training import Training, understand
from elmonet.forms.transforms import Affine
from elmonet.marching.records import Records
from elmonet.marching.times import is_uniform, same_times, time_step, times_of

_IN_MEMORY = 1_000_000  # steps of records on disk that are read at once
_GAPS = " A record may also be cut in two at a gap: records may have any lengths."
_SHOWN = 100_000  # steps of records on disk whose times are kept


class Started(NamedTuple):
    """Inputs, and the first values of the outputs, from which a free run begins."""

    X: Any
    start: Any


class Given(NamedTuple):
    """Records as a user gives them.

    u : arrays (T_i, p).
    parameters : (N, q).
    form : "array", "list" or "single": the form in which predictions come back.
    """

    u: list[np.ndarray]
    parameters: np.ndarray
    form: str


@dataclass(frozen=True)
class RecordInputs(InputForm):
    """The form of input records, of any length.

    `given` is the shape of one training record, of the longest if they differ. Rows, by which records are
    known again and suggested, are records of that length, cut off or followed by zeros.
    """

    @classmethod
    def of(cls, form: InputForm) -> Self:
        """Return the same form for records of any length."""
        own = {item.name: getattr(form, item.name) for item in fields(InputForm)}
        return cls(**(own | {"exponents": None}))

    @property
    def sizes(self) -> list[int] | None:
        """None: rows are whole records."""
        return None

    def scaled_by(self, scale: Affine | None, balanced: bool = True) -> InputForm:
        """Return this form with a given scaling; inputs are not balanced against each other."""
        return replace(self, scale=scale)

    @property
    def steps(self) -> int:
        """Number of steps of the longest training record."""
        return self.given[0] if self.shapes is None else max(shape[0] for shape in self.shapes)

    @property
    def channels(self) -> int:
        """Number of input channels."""
        shapes = (self.given,) if self.shapes is None else self.shapes
        return sum(_channels(shape) for shape in shapes if self._is_record(shape))

    def _is_record(self, shape: tuple[int, ...]) -> bool:
        return self.shapes is None or (len(shape) > 0 and shape[0] == self.steps and self.steps > 1)

    def rows(self, estimator: Any, X: Any) -> np.ndarray:
        """Return records as rows of one length."""
        given, T = self.split(estimator, X), self.steps
        rows = np.zeros((len(given.u), T, self.channels))
        for row, u in zip(rows, given.u, strict=True):
            row[: min(T, len(u))] = u[:T]
        return np.hstack([rows.reshape(len(rows), -1), given.parameters])

    def ports(self, steps: int | None = None) -> tuple[Port, ...]:
        """Return names and shapes of the inputs of records of so many steps."""
        T = self.steps if steps is None else steps
        return tuple(
            Port(port.name, (T, *port.shape[1:]) if self._is_record(port.shape) else port.shape)
            for port in super().ports()
        )

    def flat(self, X: Any, what: str = "X") -> np.ndarray:
        """Return records of one length, packed and flat."""
        given = X if self.names is not None else {"u": X}
        if not isinstance(given, dict) or (
            self.names is not None and set(map(str, given)) != set(self.names)
        ):
            raise InputError(f"{what} must hold {', '.join(self.names or ())}, in the form of the inputs.")
        arrays = [np.asarray(plain(part), np.float64) for _, part in sorted_by(given, self.ports())]
        for port, values in zip(super().ports(), arrays, strict=True):
            free = 2 if self._is_record(port.shape) else 1
            if (values.shape[free:] or port.shape[free - 1 :]) != port.shape[free - 1 :]:
                raise InputError(f"{what} must have the shape of the inputs; got {values.shape}.")
            finite(values, what)
        return np.hstack([values.reshape(len(values), -1) for values in arrays])

    def from_flat(self, values: np.ndarray, steps: int | None = None) -> Any:
        """Invert `flat`, for records of so many steps."""
        ports = self.ports(steps)
        parts = np.split(values, np.cumsum([port.size for port in ports])[:-1], axis=1)
        named = {port.name: p.reshape(len(p), *port.shape) for port, p in zip(ports, parts, strict=True)}
        return named if self.names is not None else named["u"]

    def places(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where channels (steps, p) and parameters (q,) are among the flat inputs of a record."""
        records, numbers, at = [], [], 0
        for port, trained in zip(self.ports(steps), super().ports(), strict=True):
            index = at + np.arange(port.size)
            if self._is_record(trained.shape):
                records.append(index.reshape(steps, -1))
            else:
                numbers.append(index)
            at += port.size
        return np.hstack(records), np.concatenate([np.zeros(0, int), *numbers])

    def split(self, estimator: Any, X: Any) -> Given:
        """Check records and return them one by one."""
        if isinstance(X, Started):
            X = X.X
        X = as_lists(X)
        if self.names is not None:
            return self._named(estimator, X)
        if isinstance(X, (list, tuple)) and len(X) and all(np.ndim(one) > 0 for one in X):
            u = [_record(one, f"X[{i}]") for i, one in enumerate(X)]
            form = "list"
        elif np.ndim(plain(X)) == 1 and self.channels == 1 and len(self.given) == 1:
            u, form = [_record(X, "X")], "single"
        else:
            X, form = self._array(estimator, X), "array"
            u = list(X.reshape(*X.shape[:2], -1).astype(np.float64, copy=False))
        self._check_channels(u)
        return Given(u, np.empty((len(u), 0)), form)

    def _array(self, estimator: Any, X: Any) -> np.ndarray:
        if estimator is None:  # checked before
            return np.asarray(X)
        shape = np.shape(plain(X))
        if len(shape) > 1 and shape[2:] != self.given[1:]:
            wanted = ", ".join(["N", "T", *map(str, self.given[1:])])
            raise InputError(f"X must hold records ({wanted}) of any length T, as in fit; got {shape}.")
        if len(shape) == 2 and shape[0] > 1 and shape[1] == 1:
            raise InputError(
                f"X is {shape}, {shape[0]} records of one step: give several records as (N, T), one as (T,) "
                "or (1, T)."
            )
        if len(shape) != 1 + len(self.given) or shape[1:] == self.given:
            return super().rows(estimator, X)  # of the training length, or refused
        X = np.asarray(plain(X), dtype=np.float64)
        finite(X, "X")
        return X

    def _named(self, estimator: Any, X: Any) -> Given:
        if not isinstance(X, dict) or {str(name) for name in X} != set(self.names or ()):
            super().rows(estimator, X)  # raises
        X = {str(name): part for name, part in X.items()}
        parts: list[list[np.ndarray]] = []
        numbers: list[np.ndarray] = []
        form = "array"
        for name, shape in zip(self.names or (), self.shapes or (), strict=True):
            part = X[name]
            if not self._is_record(shape):
                values = np.asarray(plain(part), dtype=np.float64)
                finite(values, f"X[{name!r}]")
                numbers.append(values.reshape(len(values), -1))
                continue
            form = "list" if isinstance(part, (list, tuple)) else form
            parts.append([_record(one, f"X[{name!r}][{i}]") for i, one in enumerate(plain(part))])
        counts = {len(part) for part in parts} | {len(part) for part in numbers}
        if len(counts) != 1:
            raise InputError(f"all inputs must have the same number of records, got {sorted(counts)}.")
        for i, own in enumerate(zip(*parts, strict=True)):
            if len({len(part) for part in own}) > 1:
                raise InputError(f"the inputs of record {i} have different numbers of steps.")
        u = [np.concatenate(own, axis=1) for own in zip(*parts, strict=True)]
        self._check_channels(u)
        return Given(u, np.hstack([np.empty((len(u), 0)), *numbers]), form)

    def _check_channels(self, u: list[np.ndarray]) -> None:
        for i, one in enumerate(u):
            if one.shape[1] != self.channels:
                raise InputError(
                    f"record {i} has {one.shape[1]} input channels, the training records have "
                    f"{self.channels}. Give each record as (T, {self.channels})."
                )


def find_records(
    estimator: Any, X: Any, y: Any, points: Any, sensors: Any, groups: Any
) -> tuple[Records, RecordInputs, OutputForm]:
    """Check the arguments of `fit`; return the records and their forms.

    Raises
    ------
    InputError : for data that are not records on uniform time steps.
    """
    if is_stored(X) and is_stored(y):
        return _stored(X, y, points, sensors, groups)
    X, y, points = as_lists(X), as_lists(y), as_lists(points)
    if is_list_of_records(X, y):
        return _listed(X, y, points, sensors, groups)
    if getattr(X, "ndim", 0) == 1 and getattr(y, "ndim", 0) == 1 and len(X) == len(y) > 1:
        times = None if points is None else [np.ravel(points)]
        return _listed([X], [y], times, sensors, groups)
    for name, A in (("X", plain(X)), ("y", plain(y))):
        if getattr(getattr(A, "dtype", None), "kind", "") == "f":
            finite(np.asarray(A), name, _GAPS)
    training = understand(estimator, X, y, points, sensors=sensors, groups=groups)
    return from_training(training)


def from_training(training: Training) -> tuple[Records, RecordInputs, OutputForm]:
    """Return training functions as records, if they are (N, T) on one uniform axis."""
    inputs, outputs = RecordInputs.of(training.inputs), training.outputs
    if outputs.scattered or training.has_gaps or outputs.points.shape[1] != 1:
        raise InputError(
            "records need outputs without gaps at common times: give y (N, T) or (N, T, c) at times (T,), or "
            "lists of records."
        )
    if training.weights is not None:
        raise InputError("records have no weights: remove sample_weight.")
    T = len(outputs.points)
    dt, t0 = time_step(outputs.points[:, 0])
    if inputs.steps != T or inputs.channels == 0:
        raise InputError(
            f"records need inputs and outputs at the same times: y has {T} times, X has functions of the "
            f"shape {inputs.given}. Give X (N, {T}) or (N, {T}, channels){_one_more(inputs.given, T)}."
        )
    if training.inputs.sensors is not None and not same_times(training.inputs.sensors, outputs.points):
        raise InputError("records need inputs at the times of the outputs: sensors and points must agree.")
    n, c = len(training.X), max(1, outputs.components)
    given = inputs.split(None, training.inputs.as_given(training.X))
    s = np.moveaxis(np.asarray(training.y, np.float64).reshape(n, c, T), 1, 2)
    numbers = np.arange(n) if training.groups is None else training.groups.numbers
    return Records(given.u, list(s), given.parameters, numbers, dt, t0), inputs, outputs


def _one_more(shape: tuple[int, ...], T: int) -> str:
    """Return what to do about inputs with one step more or less than outputs, in words."""
    if not shape or abs(shape[0] - T) != 1:
        return ""
    return ": cut off the first or the last one, at the time when the other was not recorded"


def nearly_records(training: Training) -> str:
    """Return what keeps functions of one variable from being records in time, if it is a detail."""
    outputs, shape = training.outputs, training.inputs.given
    if outputs.scattered or outputs.points.shape[1] != 1 or training.inputs.names is not None or not shape:
        return ""
    T, sensors = len(outputs.points), training.inputs.sensors
    if sensors is not None and len(sensors) == T and not same_times(sensors, outputs.points):
        return ""
    if abs(shape[0] - T) == 1:
        return f"inputs have {shape[0]} steps, outputs {T}"
    if shape[0] != T:
        return ""
    if training.has_gaps:
        return "outputs have gaps"
    steps = np.diff(outputs.points[:, 0])
    if steps.min() <= 0 or is_uniform(steps, outputs.points[:, 0]):
        return ""
    return f"time steps are {steps.min():.3g} to {steps.max():.3g}, and must be uniform"


class StoredRecord:
    """A record (T, channels) on disk, which is read by slices of steps."""

    def __init__(self, array: Any, row: int | None, name: str):
        shape = tuple(array.shape) if row is None else tuple(array.shape[1:])
        self._array, self._row, self._name = array, row, name
        self.shape = (shape[0], int(np.prod(shape[1:], dtype=int)))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, steps: slice) -> np.ndarray:
        key = slice(*steps.indices(len(self)))
        part = self._array[key] if self._row is None else self._array[self._row, key]
        part = np.asarray(part, np.float64)
        finite(part, self._name)
        return part.reshape(len(part), self.shape[1])


def _stored(
    X: Any, y: Any, points: Any, sensors: Any, groups: Any
) -> tuple[Records, RecordInputs, OutputForm]:
    """Return records on disk: (T,) for a single one, (N, T) or (N, T, channels)."""
    single = len(X.shape) == 1 and len(y.shape) == 1
    steps = 0 if single else 1
    if tuple(X.shape[: steps + 1]) != tuple(y.shape[: steps + 1]):
        raise InputError(f"records need inputs and outputs at the same times; got {X.shape} and {y.shape}.")
    if sensors is not None:
        raise InputError("inputs of records are known at the times of the outputs: remove sensors.")
    n, T = (1, X.shape[0]) if single else (X.shape[0], X.shape[1])
    rows: list[int | None] = [None] if single else list(range(n))
    u: list[Any] = [StoredRecord(X, row, "X") for row in rows]
    s: list[Any] = [StoredRecord(y, row, "y") for row in rows]
    if n * T <= _IN_MEMORY:
        u, s = ([one[:] for one in A] for A in (u, s))
    dt, t0 = (1.0, 0.0) if points is None else time_step(np.ravel(points))
    shown = min(T, _SHOWN)
    shape = (shown, *X.shape[2:])
    more = () if single else tuple(y.shape[2:])
    if more:
        raise InputError("records on disk have one output: fit each component by itself.")
    outputs = OutputForm((shown,), t0 + dt * np.arange(shown)[:, None])
    own = None if groups is None else given_groups(groups, n)
    numbers = np.arange(n) if own is None else own.numbers
    return Records(u, s, np.empty((n, 0)), numbers, dt, t0), RecordInputs(shape, shape), outputs


def as_lists(given: Any) -> Any:
    """Return object arrays, and lists of lists, of records of different lengths as lists of arrays.

    Anything else is returned unchanged.
    """
    if isinstance(given, dict):
        return {name: as_lists(part) for name, part in given.items()}
    listed = isinstance(given, (list, tuple))
    if not listed and not (getattr(getattr(given, "dtype", None), "kind", "") == "O" and given.ndim == 1):
        return given
    parts = list(given)
    if not parts or not all(isinstance(one, (list, tuple)) or np.ndim(one) for one in parts):
        return given
    if listed and len({len(one) for one in parts}) == 1:
        return given
    return [np.asarray(one) if isinstance(one, (list, tuple)) else one for one in parts]


def is_list_of_records(X: Any, y: Any) -> bool:
    """Return whether X and y are lists with a record of inputs and one of outputs at the same times.

    Where records differ in length, inputs may have one step more or less: `find_records` says which.
    """
    if isinstance(X, dict):
        lists = [part for part in X.values() if isinstance(part, (list, tuple)) and np.ndim(part[0]) > 0]
        return bool(lists) and isinstance(y, (list, tuple)) and all(is_list_of_records(p, y) for p in lists)
    if not isinstance(X, (list, tuple)) or not isinstance(y, (list, tuple)) or len(X) != len(y) or not X:
        return False
    pairs = list(zip(X, y, strict=True))
    if not all(hasattr(a, "shape") and hasattr(b, "shape") and np.ndim(a) and np.ndim(b) for a, b in pairs):
        return False
    ragged = len({len(a) for a, _ in pairs}) > 1
    return all(abs(len(a) - len(b)) <= int(ragged) for a, b in pairs)


def _listed(
    X: Any, y: Any, points: Any, sensors: Any, groups: Any
) -> tuple[Records, RecordInputs, OutputForm]:
    """Return lists of records, and their forms."""
    if sensors is not None:
        raise InputError("inputs of records are known at the times of the outputs: remove sensors.")
    s = [_record(one, f"y[{i}]") for i, one in enumerate(y)]
    n, lengths = len(s), [len(one) for one in s]
    dt, t0 = times_of(points, lengths)
    T, first = max(lengths), np.asarray(plain(y[0]))
    names, shapes = None, None
    if isinstance(X, dict):
        names = tuple(str(name) for name in X)
        shapes = tuple(
            (T, *np.shape(part[0])[1:]) if isinstance(part, (list, tuple)) else np.shape(part)[1:] or (1,)
            for part in X.values()
        )
        given_shape: tuple[int, ...] = (sum(int(np.prod(shape)) for shape in shapes),)
    else:
        given_shape = (T, *np.shape(plain(X[0]))[1:])
    inputs = RecordInputs(given_shape, given_shape, names, shapes)
    given = inputs.split(None, X)
    for i, (one, length) in enumerate(zip(given.u, lengths, strict=True)):
        if len(one) != length:
            raise InputError(
                f"record {i} has {len(one)} inputs and {length} outputs, and needs both at the same times: "
                "cut off the values, the first or the last ones, at times when the other was not recorded."
            )
    counts = {one.shape[1] for one in s}
    if len(counts) > 1:
        raise InputError(f"all records must have the same number of outputs, got {sorted(counts)}.")
    c = counts.pop()
    times = t0 + dt * np.arange(T)[:, None]
    sizes = None
    if first.ndim > 1:
        sizes = root_mean_squares(np.concatenate(s).T[None])
        s = [one / sizes for one in s]
    outputs = OutputForm((T, *first.shape[1:]), times, 1 if first.ndim > 1 else None, sizes)
    own = None if groups is None else given_groups(groups, n)
    numbers = np.arange(n) if own is None else own.numbers
    assert c == max(1, outputs.components)
    return Records(given.u, s, given.parameters, numbers, dt, t0), inputs, outputs


def targets_of(outputs: OutputForm, y: Any, n: int, name: str = "y") -> list[np.ndarray]:
    """Return outputs of the user as records (T_i, c), as rows of their form are."""
    y = as_lists(y)
    if isinstance(y, (list, tuple)) and y and all(np.ndim(one) for one in y):
        s = [_record(one, f"{name}[{i}]") for i, one in enumerate(y)]
    else:
        names, y = named_components(y)
        if names is not None:
            y = y[..., [names.index(name) for name in _same_names(names, outputs.names)]]
        y = np.asarray(plain(y), dtype=np.float64)
        finite(y, name)
        y = y[None] if y.ndim == 1 else y
        c = max(1, outputs.components)
        if outputs.axis == 0 and y.ndim == 3:
            y = np.moveaxis(y, 1, 2)
        if y.ndim < 2 or (outputs.components and (y.ndim != 3 or y.shape[2] != c)):
            raise InputError(f"outputs must come as in fit, (N, T) or (N, T, {c}); got {y.shape}.")
        s = list(y.reshape(*y.shape[:2], -1))
    if len(s) != n:
        raise InputError(f"X and y must hold the same number of records; got {n} in X and {len(s)} in y.")
    if outputs.exponent:
        return [np.ldexp(one, -outputs.exponent) for one in s]
    return s if outputs.sizes is None else [one / outputs.sizes for one in s]


def _same_names(given: tuple[str, ...], names: tuple[str, ...] | None) -> tuple[str, ...]:
    if names is None or set(given) != set(names):
        expected = "an array without names" if names is None else f"the components {', '.join(names)}"
        raise InputError(f"y must hold {expected}, as in fit; got the components {', '.join(given)}.")
    return names


def _record(values: Any, name: str) -> np.ndarray:
    """Return one record as (T, channels)."""
    values = np.asarray(plain(values))
    if values.dtype.kind not in "fiub" or values.ndim not in (1, 2) or not values.size:
        raise InputError(f"{name} must be a record (T,) or (T, channels) of numbers; got {values.shape}.")
    values = values.astype(np.float64)
    finite(values, name, _GAPS)
    return values.reshape(len(values), -1)


def _channels(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape[1:], dtype=int))


def sorted_by(named: dict[Any, Any], ports: Sequence[Port]) -> list[tuple[str, Any]]:
    """Return named parts in the order of the ports."""
    by_name = {str(name): part for name, part in named.items()}
    return [(port.name, by_name[port.name]) for port in ports]

"""Arrays that stay on disk: by name, by slice, and in blocks of rows."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from elmonet.data.limits import SizeLimit, reading, require_room
from elmonet.data.mesh import Mesh
from elmonet.errors import FileError, InputError

# Names of dimensions that hold the components of a vector.
COMPONENT_DIMS = ("component", "components", "channel", "channels", "variable")
_SMALL_MAP_BYTES = 1 << 26  # memory maps up to this size are read at once, not in blocks


class Arrays(dict[str, Any]):
    """Arrays by name: in memory, or on disk and read by slicing.

    Attributes
    ----------
    format : kind of the file, such as "npz".
    dims : names of the dimensions of some arrays (NetCDF).
    labels : names of the entries along some dimensions (NetCDF).
    columns : names of the coordinates of some lists of points.
    units : units of some arrays, as the file names them.
    text : columns of text of a table, by name.
    mesh : mesh that fields belong to, and `on_cells` the names of those that belong to its cells.
    meshes : meshes of the runs, if each has its own.
    steps : times of the steps in a file of a mesh, which the first axis of its fields counts.
    ragged : lists of arrays, one for each run, whose lengths differ from run to run.
    coordinates : name of the array that holds the coordinates of another one.
    roles : roles that elmonet wrote into the file, as options of `read`.
    notes : what was done to find the arrays, in sentences.
    skipped : names of what is not a numeric array.
    limit : limit on what may be unpacked from the file, if any.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.format = ""
        self.dims: dict[str, tuple[str, ...]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.columns: dict[str, tuple[str, ...]] = {}
        self.units: dict[str, str] = {}
        self.text: dict[str, list[str]] = {}
        self.mesh: Mesh | None = None
        self.on_cells: set[str] = set()
        self.meshes: tuple[Mesh, ...] | None = None
        self.steps: np.ndarray | None = None
        self.ragged: dict[str, list[np.ndarray]] = {}
        self.coordinates: dict[str, str] = {}
        self.roles: dict[str, Any] = {}
        self.notes: list[str] = []
        self.skipped: list[str] = []
        self.limit: SizeLimit | None = None
        self._close: list[Callable[[], Any]] = []

    def keep_open(self, file: Any) -> None:
        """Close `file` together with the arrays that are read from it."""
        self._close.append(file.close)

    def charge(self, count: int) -> None:
        """Count bytes before they are unpacked from the file; raise if they exceed the limit."""
        if self.limit is not None:
            self.limit.charge(count)

    def close(self) -> None:
        """Close the file; arrays on disk can no longer be read."""
        while self._close:
            self._close.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_UNIT = re.compile(r"(.*\S)\s*(?:\[([^\[\]]+)\]|\s\(([^()]+)\))")


def unit_in_name(name: str) -> tuple[str, str]:
    """Split a name such as "T [K]" or "p (Pa)" into name and unit; a number in brackets is no unit.

    >>> unit_in_name("T [K]"), unit_in_name("X[0]"), unit_in_name("f(x)")
    (('T', 'K'), ('X[0]', ''), ('f(x)', ''))
    """
    found = _UNIT.fullmatch(name.strip())
    unit = (found[2] or found[3]).strip() if found else ""
    return (found[1], unit) if found and not re.fullmatch(r"[\d.,:\s+-]*", unit) else (name, "")


Read = Callable[[int, int, tuple], Any]


class Lazy:
    """Array (N, ...) whose rows are read on demand: ``lazy[10:20]``.

    ``read(start, stop, rest)`` returns rows start to stop, indexed by `rest` along the other axes.
    """

    from_runs = False  # each row is in a file of its own

    def __init__(self, shape: Any, dtype: Any, read: Read, name: str):
        self.shape, self.dtype = tuple(int(n) for n in shape), np.dtype(dtype)
        self._read, self._name = read, name

    @classmethod
    def of(cls, source: Any, name: str, *, reverse: bool = False) -> Any:
        """Wrap anything with a shape and a dtype that can be sliced; return a scalar in memory.

        `reverse`: with its axes in the opposite order, as MATLAB has them.
        """
        if not source.shape:
            return np.asarray(source[()])

        def read(start: int, stop: int, rest: tuple) -> Any:
            return source[..., start:stop].T[:, *rest] if reverse else source[start:stop, *rest]

        return cls(source.shape[::-1] if reverse else source.shape, source.dtype, read, name)

    def __getitem__(self, key: Any) -> np.ndarray:
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        if first is Ellipsis:
            return np.asarray(self)[key]
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            if step == 1:
                return self._rows(start, max(start, stop), rest)
            return np.asarray(self)[key]
        if np.ndim(first) == 0:
            row = int(first) + (len(self) if first < 0 else 0)
            if not 0 <= row < len(self):
                raise IndexError(f"row {int(first)} of {len(self)}")
            return self._rows(row, row + 1, rest)[0]
        chosen = np.asarray(first)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        rows = [self[(int(i), *rest)] for i in chosen]
        return np.stack(rows) if rows else self._rows(0, 0, rest)

    def _rows(self, start: int, stop: int, rest: tuple) -> np.ndarray:
        indexed = zip(self.shape[1:], rest, strict=False)
        sizes = [len(range(n)[key]) for n, key in indexed if type(key) is slice]
        row_bytes = self.dtype.itemsize * math.prod((*sizes, *self.shape[1 + len(rest) :]))
        require_room(row_bytes * (stop - start), self._name)
        with reading(self._name):
            return np.asarray(self._read(start, stop, rest))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        array = self[:]
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that it would take in memory."""
        return self.dtype.itemsize * math.prod(self.shape)

    def __repr__(self) -> str:
        return f"Lazy {self._name} {self.shape} {self.dtype}"


class Unpacked:
    """Numbers on disk as the CF conventions mean them: scale_factor * packed + add_offset, NaN if missing.

    The dtype is the one that xarray decodes to, or a wider one where that would lose digits.
    """

    def __init__(self, source: Any, stored: np.dtype, missing: np.ndarray, scale: Any, offset: Any):
        self.shape, self._source, self._stored = source.shape, source, stored
        self._missing, self._scale, self._offset = missing, scale, offset
        large = stored.kind in "iu" and stored.itemsize > 2  # integers that a float32 cannot hold
        kinds = {value.dtype for value in (scale, offset) if value is not None}
        if not kinds:
            dtype = stored if stored.kind in "fc" or not len(missing) else np.float64 if large else np.float32
        elif kinds == {np.dtype(np.float32)} and (offset is None or (scale is not None and not large)):
            dtype = np.float32
        else:
            dtype = np.float64
        self.dtype = np.result_type(dtype, stored) if stored.kind in "fc" else np.dtype(dtype)

    def __getitem__(self, key: Any) -> np.ndarray:
        packed = np.asarray(self._source[key]).astype(self._stored, copy=False)
        values = packed.astype(self.dtype)
        if self._scale is not None:
            values *= self._scale
        if self._offset is not None:
            values += self._offset
        for value in self._missing:
            values[packed == value] = np.nan
        return values


def unpacked(source: Any, attributes: Mapping[str, Any], name: str) -> Any:
    """Return numbers on disk as their attributes say, see `Unpacked`; unchanged if these say nothing."""
    given = {
        key: attributes.get(key) for key in ("scale_factor", "add_offset", "_FillValue", "missing_value")
    }
    stored = own = np.dtype(source.dtype)
    if stored.kind == "i" and attributes.get("_Unsigned") in ("true", b"true"):
        stored = np.dtype(f"u{stored.itemsize}")
    elif stored.kind not in "iufc" or all(value is None for value in given.values()):
        return source
    try:
        numbers = {key: None if value is None else _number(value, stored) for key, value in given.items()}
        scale, offset = (v if v is None else v.reshape(()) for v in list(numbers.values())[:2])
    except (TypeError, ValueError):
        listed = ", ".join(f"{key} = {str(value)[:40]}" for key, value in given.items() if value is not None)
        raise FileError(
            f"{name} has attributes that are not numbers: {listed}. Correct or remove them in the file."
        ) from None
    missing = [np.ravel(value) for value in list(numbers.values())[2:] if value is not None]
    with np.errstate(invalid="ignore"):  # what the type cannot hold, as NaN among integers, marks nothing
        marks = [(v.astype(own), v) for v in missing]
    held = [mark[~np.isnan(v) if own.kind in "fc" else mark == v].astype(stored) for mark, v in marks]
    marked = np.concatenate([np.empty(0, stored), *held])
    if scale is None and offset is None and stored == own and not len(marked):
        return source
    return Unpacked(source, stored, np.unique(marked), scale, offset)


def _number(value: Any, stored: np.dtype) -> np.ndarray:
    """Return an attribute as numbers; in zarr 3, xarray writes a missing float as eight bytes in base64."""
    if isinstance(value, str) and stored.kind == "f":
        return np.frombuffer(base64.b64decode(value, validate=True), "<f8")
    number = np.asarray(value)
    return number if number.dtype.kind in "iufc" else number.astype(np.float64)


def map_rows(function: Callable[..., np.ndarray], *sources: Any, take: tuple = ()) -> Any:
    """Apply a function of rows: to arrays in memory at once, to lazy ones when their rows are read.

    `take` indexes the other axes first, so that what it leaves out is not read from disk.
    """
    if all(isinstance(source, np.ndarray) for source in sources):
        return function(*(source[(slice(None), *take)] for source in sources))
    no_rows = (np.empty((0, *source.shape[1:]), source.dtype)[(slice(None), *take)] for source in sources)
    sample = function(*no_rows)

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        rows = (np.asarray(source[(slice(start, stop), *take)]) for source in sources)
        return function(*rows)[(slice(None), *rest)]

    name = ", ".join(getattr(source, "_name", "an array") for source in sources)
    lazy = Lazy((sources[0].shape[0], *sample.shape[1:]), sample.dtype, read, name)
    lazy.from_runs = any(getattr(source, "from_runs", False) for source in sources)
    return lazy


def last_axis_first(source: Any) -> Any:
    """Move the last axis of (..., N) first: at once, or for a lazy array when its rows are read."""
    if isinstance(source, np.ndarray):
        return np.moveaxis(source, -1, 0) if source.ndim else source
    if source.ndim < 2:
        return source
    between = (slice(None),) * (source.ndim - 1)

    def read(start: int, stop: int, rest: tuple) -> np.ndarray:
        return np.moveaxis(source[(*between, slice(start, stop))], -1, 0)[(slice(None), *rest)]

    return Lazy((source.shape[-1], *source.shape[:-1]), source.dtype, read, source._name)


def load(array: Any) -> np.ndarray:
    """Return an array in memory, with the same dtype; masked values are missing, NaN, in floating point."""
    if isinstance(array, np.ma.MaskedArray):
        exact = np.result_type(array.dtype, np.float32)
        return np.ma.filled(array.astype(exact), np.nan) if np.ma.is_masked(array) else array.data
    return np.array(array) if isinstance(array, np.memmap) else np.asarray(array)


def point_array(array: Any) -> np.ndarray:
    """Return points as (n, d), from (n, d), (n,), (1, n) or a grid (..., d)."""
    values = load(array).astype(np.float64)
    is_row_vector = values.ndim == 2 and values.shape[0] == 1 and values.shape[1] > 1
    return values.reshape(-1, 1 if values.ndim < 2 or is_row_vector else values.shape[-1])


def is_stored(array: Any) -> bool:
    """Return whether an array lives outside memory and should be read in blocks."""
    if isinstance(array, np.memmap):
        return array.nbytes > _SMALL_MAP_BYTES
    package = type(array).__module__.split(".")[0]
    return isinstance(array, Lazy) or (package in ("zarr", "h5py") and hasattr(array, "shape"))


def is_dask(array: Any) -> bool:
    """Return whether an array is a Dask array."""
    return type(array).__module__.split(".")[0] == "dask" and hasattr(array, "dask")


@dataclass(frozen=True)
class Blocks:
    """Inputs u (N, ...) and outputs s (N, M), in blocks of `rows` functions.

    Iterating yields ``(start, u, s)`` with arrays in memory, checked to be finite; an error names the
    function by its index among all N.
    """

    u: Any
    s: Any
    rows: int

    def __post_init__(self) -> None:
        for name, array in (("X", self.u), ("y", self.s)):
            if isinstance(array, dict):
                raise InputError(
                    f"{name} must be one array if it is read in blocks, got dict. Load its arrays, or use "
                    "AutoELMDeepONet, which reads arrays by name in blocks."
                )
            if not hasattr(array, "shape") or len(array.shape) < 2 or 0 in array.shape:
                raise InputError(
                    f"{name} must hold one function per row, (N, ...), and not be empty; got "
                    f"{getattr(array, 'shape', type(array).__name__)}."
                )
            if np.dtype(array.dtype).kind not in "fiu":
                raise InputError(f"{name} must hold real numbers, got the type {array.dtype}.")
        if self.u.shape[0] != self.s.shape[0]:
            raise InputError(
                "X and y must hold the same number of functions, one per row; got X "
                f"{tuple(self.u.shape)} and y {tuple(self.s.shape)}."
            )

    @property
    def functions(self) -> int:
        """Number of functions N."""
        return int(self.u.shape[0])

    def starts(self, begin: int = 0) -> range:
        """Return the first function of each block, from function `begin` on."""
        return range(begin, self.functions, self.rows)

    def __len__(self) -> int:
        return len(self.starts())

    def __iter__(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        for start in self.starts():
            yield start, *self.read(start)

    def read(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and outputs of the block that begins at function `start`."""
        return self.inputs(start), read_rows(self.s, start, start + self.rows, "y")

    def inputs(self, start: int) -> np.ndarray:
        """Return only the inputs of a block."""
        return read_rows(self.u, start, start + self.rows, "X")


def read_rows(array: Any, start: int, stop: int, name: str) -> np.ndarray:
    """Read rows of a stored array as finite floating-point numbers."""
    if is_stored(array) and hasattr(array, "attrs"):
        array = unpacked(array, array.attrs, name)
    try:
        rows = np.asarray(array[start:stop])
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read from function {start} on: {type(error).__name__}: {error}. The file may "
            "be damaged or truncated."
        ) from error
    return checked_rows(rows, start, name)


def checked_rows(rows: np.ndarray, start: int, name: str) -> np.ndarray:
    """Return rows as finite floating-point numbers; an error names the function, counted from `start`."""
    if rows.dtype not in (np.float64, np.float32):
        rows = rows.astype(np.float64)
    bad = ~np.isfinite(rows.reshape(len(rows), -1).sum(axis=1))
    if bad.any() and not np.isfinite(rows[bad]).all():
        wrong = [start + int(i) for i in np.flatnonzero(bad) if not np.isfinite(rows[i]).all()]
        raise InputError(
            f"{name} holds NaN or Inf in function {wrong[0]}"
            + (f" and {len(wrong) - 1} more of this block" if len(wrong) > 1 else "")
            + ". Every value must be finite: remove these functions or fill the gaps."
        )
    return rows

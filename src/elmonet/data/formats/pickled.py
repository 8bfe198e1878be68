"""Pickled NumPy arrays, read by an unpickler that runs no code from the file."""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.data.lazy import Arrays
from elmonet.errors import FileError

Builders = Mapping[str, Callable[..., Any] | None]
"""From "module name" to the function that replaces it; None for what may be named but not called."""

_MAX_ARRAYS, _MAX_DEPTH = 10_000, 16  # in one pickle; more is a bomb of nested references


def unpickle(
    content: bytes,
    builders: Builders,
    persistent_load: Callable[[Any], Any] | None = None,
    charge: Callable[[int], None] = lambda count: None,
) -> Any:
    """Return the numbers, strings, lists, dicts and arrays in a pickle.

    `persistent_load` returns what the pickle stores elsewhere, by its id. `charge` is called with the number
    of bytes that each builder may copy, and raises if the total is too large: a short pickle can pass the
    same bytes to many builders.
    """
    return SafeUnpickler(content, builders, persistent_load, charge).load()


def refused(name: str) -> FileError:
    """Return the error for objects that only code from the file could build."""
    return FileError(
        f"the file holds pickled Python objects of class {name[:100]!r}, which elmonet does not run: such a "
        "file can do anything to the computer that opens it. If you trust it, open it with the program that "
        "wrote it and save plain arrays: np.savez('data.npz', u=u, s=s, points=points)."
    )


@dataclass(frozen=True, slots=True)
class Global:
    """A function or class that the pickle names as "module name". Nothing is ever looked up or imported."""

    name: str


class Buildable:
    """An object that is completed by a pickled state."""

    def build(self, state: Any) -> None:
        """Take the state."""
        raise NotImplementedError


_Pure: Any = pickle._Unpickler  # the one in Python; see SafeUnpickler
_OPCODES = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("NONE", "NEWTRUE", "NEWFALSE", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_DICT", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2"),
    *("TUPLE3", "GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "MARK", "POP"),
    *("POP_MARK", "DUP", "GLOBAL", "STACK_GLOBAL", "BINPERSID", "PROTO", "FRAME", "STOP"),
)
# One byte of a pickle can create a list, a dict or an entry of the memo, of about this many bytes.
_BYTES_PER_OPCODE, _OPCODES_PER_CHECK = 128, 1 << 16


class _Dispatch(dict[int, Callable[[Any], None]]):
    """Handlers of the allowed opcodes; looking one up charges the memory of what it creates."""

    def __init__(self, handlers: Mapping[int, Callable[[Any], None]], charge: Callable[[int], None]):
        super().__init__(handlers)
        self._charge, self._count = charge, 0

    def __getitem__(self, opcode: int) -> Callable[[Any], None]:
        self._count += 1
        if self._count % _OPCODES_PER_CHECK == 0:
            self._charge(_BYTES_PER_OPCODE * _OPCODES_PER_CHECK)
        if opcode not in self:
            names = (op.name for op in pickletools.opcodes if op.code == chr(opcode))
            raise refused(f"(instruction {next(names, opcode)})")
        return super().__getitem__(opcode)


class SafeUnpickler(_Pure):
    """Unpickler with a closed list of opcodes and of builders.

    Its base is the unpickler in Python, not the faster one in C, which `find_class` alone cannot make safe:
    ten bytes with a memo index of 2**31 make it allocate 32 GiB, nested tuples as a dictionary key crash it
    or take forever when they are hashed, BUILD sets attributes of any object, and cached extension codes
    bypass `find_class`. Here the memo is a dict, and the handlers of these opcodes check before they act.
    """

    def __init__(self, content: bytes, builders: Builders, persistent_load: Any, charge: Any):
        super().__init__(io.BytesIO(content), encoding="latin1")  # as NumPy's arrays from Python 2 need
        self._builders, self._persistent_load, self._charge = builders, persistent_load, charge
        self.dispatch = _Dispatch(self._handlers, charge)

    def find_class(self, module: str, name: str) -> Global:
        """Return the name alone; raise `FileError` unless it has a builder or may be named."""
        if f"{module} {name}" not in self._builders:
            raise refused(f"{module}.{name}")
        return Global(f"{module} {name}")

    def persistent_load(self, pid: Any) -> Any:
        """Return what is stored outside of the pickle."""
        if self._persistent_load is None:
            raise refused("(persistent id)")
        return self._persistent_load(pid)

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        builder = self._builders.get(function.name) if type(function) is Global else None
        if builder is None or type(arguments) is not tuple:
            raise refused(function.name if type(function) is Global else type(function).__name__)
        self._charge(_copied_bytes(arguments))
        self.stack.append(builder(*arguments))

    def _build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, Buildable):
            self._charge(_copied_bytes(state))
            target.build(state)
        elif type(target) is not dict:  # attributes of a dict, such as a state_dict's versions, are dropped
            raise refused(type(target).__name__)

    def _setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _set_items(self.stack[-1], [key, value])

    def _setitems(self) -> None:
        items = self.pop_mark()
        _set_items(self.stack[-1], items)

    def _dict(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        _set_items(self.stack[-1], items)

    _handlers: Mapping[int, Callable[[Any], None]] = {
        **{code: _Pure.dispatch[code] for (code,) in (getattr(pickle, name) for name in _OPCODES)},
        pickle.REDUCE[0]: _reduce,
        pickle.BUILD[0]: _build,
        pickle.SETITEM[0]: _setitem,
        pickle.SETITEMS[0]: _setitems,
        pickle.DICT[0]: _dict,
    }


def _set_items(target: Any, items: list[Any]) -> None:
    # Larger integers can be chosen to have equal hashes, which takes quadratic time.
    if type(target) is not dict or not all(
        type(k) is str or (type(k) is int and abs(k) < 1 << 60) for k in items[::2]
    ):
        raise FileError("a pickled dictionary has keys that are neither strings nor integers of 60 bits.")
    target.update(zip(items[::2], items[1::2], strict=True))


def _copied_bytes(arguments: Any) -> int:
    """Return how many bytes a builder may copy from its arguments."""
    items = arguments if type(arguments) is tuple else ()
    return sum(
        len(item) * (1 if type(item) in (bytes, str) else 8)
        for item in items
        if type(item) in (bytes, str, list, tuple)
    )


# The builders check their arguments and return plain values or records; NumPy's own are never called.


class _PickledDtype(Buildable):
    """A dtype: its code first, then its byte order."""

    def __init__(self, code: Any = "", *_: Any):
        if not isinstance(code, str):
            raise FileError("a pickled dtype has a code that NumPy would not write.")
        self.code, self.order = code[:8], "<"

    def build(self, state: Any) -> None:
        """Take the byte order."""
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        self.order = ">" if order == ">" else "<"

    @property
    def dtype(self) -> np.dtype | None:
        """None unless it is a dtype of numbers."""
        return np.dtype(self.order + self.code) if re.fullmatch("[biufc][0-9]{1,2}", self.code) else None


@dataclass(frozen=True)
class ObjectArray:
    """An array of objects: its shape, and its entries in C order."""

    shape: tuple[int, ...]
    items: list[Any]


class PickledArray(Buildable):
    """An array: empty first, then with its state. `value` stays None unless it holds numbers or objects."""

    value: np.ndarray | ObjectArray | None = None

    def build(self, state: Any) -> None:
        """Take shape, dtype and content."""
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], _PickledDtype)):
            raise FileError("a pickled array has a state that NumPy would not write.")
        _, shape, dtype, fortran, content = state
        if not (isinstance(shape, tuple) and len(shape) <= 32 and all(is_size(n) for n in shape)):
            raise FileError("a pickled array has a shape that NumPy would not write.")
        order: Any = "F" if fortran is True else "C"
        if dtype.code[:1] == "O":
            if not isinstance(content, list) or len(content) != math.prod(shape):
                raise FileError("a pickled array of objects does not hold as many as its shape says.")
            in_c_order = np.arange(len(content)).reshape(shape, order=order).ravel()
            self.value = ObjectArray(shape, [content[i] for i in in_c_order])
        elif dtype.dtype is not None:
            self.value = _numbers(content, dtype.dtype, shape, order)


def _numbers(content: Any, dtype: np.dtype, shape: tuple[int, ...], order: Any) -> np.ndarray:
    content = content.encode("latin1") if isinstance(content, str) else content  # as Python 2 wrote it
    if not isinstance(content, bytes) or math.prod(shape) * dtype.itemsize != len(content):
        raise FileError(
            f"a pickled array of shape {shape} and type {dtype} does not have the bytes for it. The file is "
            "damaged."
        )
    return np.frombuffer(bytearray(content), dtype).reshape(shape, order=order)


def _scalar(dtype: Any, content: Any) -> Any:
    if not isinstance(dtype, _PickledDtype) or dtype.dtype is None:
        return None
    return _numbers(content, dtype.dtype, (), "C").item()


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise FileError("pickled bytes are not written as NumPy writes them.")
    return text.encode("latin1")


def _ordered_dict(pairs: Any = ()) -> dict[Any, Any]:
    if type(pairs) not in (list, tuple) or not all(type(p) in (list, tuple) and len(p) == 2 for p in pairs):
        raise FileError("a pickled dictionary is not a list of keys and values.")
    ordered: dict[Any, Any] = {}
    _set_items(ordered, [entry for pair in pairs for entry in pair])
    return ordered


def is_size(n: Any) -> bool:
    """Return whether this can be the length of an axis."""
    return type(n) is int and 0 <= n < 1 << 60


NUMPY: Builders = {
    "numpy ndarray": None,
    "numpy dtype": _PickledDtype,
    "numpy.core.multiarray _reconstruct": lambda *_: PickledArray(),
    "numpy._core.multiarray _reconstruct": lambda *_: PickledArray(),
    "numpy.core.multiarray scalar": _scalar,
    "numpy._core.multiarray scalar": _scalar,
    "_codecs encode": _encode,
    "collections OrderedDict": _ordered_dict,
}


def add_unpickled(arrays: Arrays, name: str, value: Any, depth: int = 0) -> None:
    """Add an unpickled value: entries of a dict as "name.key", of a list or object array as "name[0]".

    Without a name, an entry is named by its key or number alone.
    """
    if depth > _MAX_DEPTH or len(arrays) + len(arrays.skipped) > _MAX_ARRAYS:
        raise FileError(
            f"the file holds more than {_MAX_ARRAYS} arrays, or more than {_MAX_DEPTH} levels of them. Save "
            "plain arrays."
        )
    arrays.charge(len(name))  # a long key of nested dicts is copied into the name of every entry
    if isinstance(value, PickledArray):
        value = value.value
    if isinstance(value, ObjectArray) and value.shape == ():
        (inner,) = value.items
        add_unpickled(arrays, "" if isinstance(inner, dict) and depth == 0 else name, inner, depth + 1)
    elif isinstance(value, dict) and value:
        for key, entry in value.items():
            add_unpickled(arrays, f"{name}.{key}" if name else str(key), entry, depth + 1)
    elif isinstance(value, (ObjectArray, list, tuple)):
        items = value.items if isinstance(value, ObjectArray) else list(value)
        arrays.charge(8 * len(items))
        if not items:
            arrays.skipped.append(name or "an empty list")
        elif all(_is_number(item) for item in items):
            numbers = np.array([float(item) for item in items])
            _add(arrays, name or "values", numbers.reshape(getattr(value, "shape", -1)))
        else:
            for i, entry in enumerate(items):
                add_unpickled(arrays, f"{name}[{i}]" if name else str(i), entry, depth + 1)
    elif isinstance(value, np.ndarray):
        _add(arrays, name or "tensor", value)
    elif _is_number(value):
        _add(arrays, name or "value", np.array(float(value)))
    else:
        arrays.skipped.append(name or type(value).__name__)


def _add(arrays: Arrays, name: str, array: np.ndarray) -> None:
    if name in arrays:  # also ends a bomb of references that all lead to one name
        raise FileError(f"the file holds two arrays of the name {name[:80]!r}. Save plain arrays.")
    arrays[name] = array


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)

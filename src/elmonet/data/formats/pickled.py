"""Pickles of NumPy's arrays, read without running anything."""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.errors import FileError

__all__ = ["NUMPY", "Buildable", "Builders", "Objects", "PickledArray", "is_size", "refused", "unpickle"]

Builders = Mapping[str, Callable[..., Any] | None]
"""From "module name" to what replaces it; None for what may be named but not called."""


class Buildable:
    """What a builder gives and a later instruction completes."""

    def build(self, state: Any) -> None:
        """Take the state that was pickled."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Named:
    """A function or class: its name is all that is kept of it."""

    name: str


def refused(name: str) -> FileError:
    """The error about objects that would have to be run."""
    return FileError(
        f"the file holds pickled Python objects of class {name[:100]!r}, which elmonet does not run: such a "
        "file can do anything to the computer that opens it. If you trust it, open it with the program that "
        "wrote it and save plain arrays: np.savez('data.npz', u=u, s=s, points=points)."
    )


def unpickle(
    content: bytes,
    builders: Builders,
    persistent: Callable[[Any], Any] | None = None,
    unpack: Callable[[int], None] = lambda count: None,
) -> Any:
    """The numbers, texts, lists, dicts and arrays that a pickle describes.

    `persistent` gives what the pickle keeps elsewhere, by its id. `unpack` is called with the number of
    bytes that each call takes, and raises if they are too many: a short pickle can use the same bytes in
    many calls.
    """
    return _Machine(builders, persistent, unpack).run(content)


_LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
}
_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
}
_COPIED = (bytes, str, list, tuple)
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    def __init__(
        self, builders: Builders, persistent: Callable[[Any], Any] | None, unpack: Callable[[int], None]
    ):
        self.builders, self.persistent, self.unpack = builders, persistent, unpack
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each mark
        self.memo: dict[Any, Any] = {}

    def run(self, content: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(content):
            name = opcode.name
            if name in _LITERALS:
                self.stack.append(argument)
            elif name in _NEW:
                self.stack.append(_NEW[name]())
            elif name in _TUPLES:
                self.stack.append(tuple(self.take(_TUPLES[name])))
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                self.stack.append(self.memo[argument])
            elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
                self.memo[argument] = self.stack[-1]
            elif name == "STOP":
                return self.stack.pop()
            elif name not in ("PROTO", "FRAME"):
                action = getattr(self, f"do_{name.lower()}", None)
                if action is None:
                    raise refused(f"(instruction {name})")
                action(argument)
        raise FileError("a pickle has no end.")

    def take(self, count: int) -> list[Any]:
        """The last few of the stack, taken off."""
        if len(self.stack) < count:
            raise FileError("a pickle takes back more than it has put down.")
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    def take_marked(self) -> list[Any]:
        """What is above the last mark on the stack, removed with the mark."""
        items, self.stack = self.stack, self.below.pop()
        return items

    def do_mark(self, _: Any) -> None:
        self.below.append(self.stack)
        self.stack = []

    def do_pop(self, _: Any) -> None:
        self.take(1)

    def do_pop_mark(self, _: Any) -> None:
        self.take_marked()

    def do_dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def do_memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def do_tuple(self, _: Any) -> None:
        items = self.take_marked()
        self.stack.append(tuple(items))

    def do_list(self, _: Any) -> None:
        items = self.take_marked()
        self.stack.append(items)

    def do_dict(self, _: Any) -> None:
        items = self.take_marked()
        self.stack.append({})
        self.set_items(items)

    def do_append(self, _: Any) -> None:
        self.extend(self.take(1))

    def do_appends(self, _: Any) -> None:
        self.extend(self.take_marked())

    def do_setitem(self, _: Any) -> None:
        self.set_items(self.take(2))

    def do_setitems(self, _: Any) -> None:
        self.set_items(self.take_marked())

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise refused(type(self.stack[-1]).__name__)
        self.stack[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or not all(type(key) in (str, int) for key in items[::2]):
            raise FileError("a pickled dictionary has keys that are neither texts nor whole numbers.")
        target.update(zip(items[::2], items[1::2], strict=True))

    def do_global(self, name: str) -> None:
        if name not in self.builders:
            raise refused(name.replace(" ", "."))
        self.stack.append(_Named(name))

    def do_stack_global(self, _: Any) -> None:
        module, name = self.take(2)
        self.do_global(f"{str(module)[:200]} {str(name)[:200]}")

    def do_reduce(self, _: Any) -> None:
        named, arguments = self.take(2)
        builder = self.builders.get(named.name) if isinstance(named, _Named) else None
        if builder is None or type(arguments) is not tuple:
            raise refused(named.name if isinstance(named, _Named) else type(named).__name__)
        self.unpack(_size(arguments))
        self.stack.append(builder(*arguments))

    def do_build(self, _: Any) -> None:
        (state,) = self.take(1)
        target = self.stack[-1]
        if isinstance(target, Buildable):
            self.unpack(_size(state))
            target.build(state)
        elif type(target) is not dict:  # attributes of a dict, as the versions in a state_dict, are left out
            raise refused(type(target).__name__)

    def do_binpersid(self, _: Any) -> None:
        (what,) = self.take(1)
        if self.persistent is None:
            raise refused("(persistent id)")
        self.stack.append(self.persistent(what))


def _size(arguments: Any) -> int:
    """How many bytes a call may copy out of its arguments."""
    items = arguments if type(arguments) is tuple else ()
    return sum(len(a) * (1 if type(a) in (bytes, str) else 8) for a in items if type(a) in _COPIED)


@dataclass(frozen=True)
class Objects:
    """An array of objects: its shape, and its entries in C order."""

    shape: tuple[int, ...]
    items: list[Any]


class PickledType(Buildable):
    """A type of numbers: its code first, then its byte order."""

    def __init__(self, code: Any, *_: Any):
        self.code, self.order = str(code)[:8], "<"

    def build(self, state: Any) -> None:
        """Take the byte order."""
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        self.order = ">" if order == ">" else "<"

    @property
    def dtype(self) -> np.dtype | None:
        """None if these are not numbers."""
        return np.dtype(self.order + self.code) if re.fullmatch("[biufc][0-9]{1,2}", self.code) else None


class PickledArray(Buildable):
    """An array: empty first, then with its state. `value` stays None unless these are numbers or objects."""

    value: np.ndarray | Objects | None = None

    def build(self, state: Any) -> None:
        """Take shape, type and content."""
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], PickledType)):
            raise FileError("a pickled array has a state that NumPy would not write.")
        _, shape, kind, fortran, content = state
        if not (isinstance(shape, tuple) and len(shape) <= 32 and all(is_size(n) for n in shape)):
            raise FileError("a pickled array has a shape that NumPy would not write.")
        order: Any = "F" if fortran is True else "C"
        if kind.code[:1] == "O":
            if not isinstance(content, list) or len(content) != math.prod(shape):
                raise FileError("a pickled array of objects does not hold as many as its shape says.")
            places = np.arange(len(content)).reshape(shape, order=order).ravel()
            self.value = Objects(shape, [content[i] for i in places])
        elif kind.dtype is not None:
            self.value = _numbers(content, kind.dtype, shape, order)


def _numbers(content: Any, dtype: np.dtype, shape: tuple[int, ...], order: Any) -> np.ndarray:
    content = content.encode("latin1") if isinstance(content, str) else content  # as Python 2 wrote it
    if not isinstance(content, bytes) or math.prod(shape) * dtype.itemsize != len(content):
        raise FileError(
            f"a pickled array of shape {shape} and type {dtype} does not have the bytes for it. The file is "
            "damaged."
        )
    return np.frombuffer(bytearray(content), dtype).reshape(shape, order=order)


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise FileError("pickled bytes are not written as NumPy does it.")
    return text.encode("latin1")


def _scalar(kind: Any, content: Any) -> Any:
    if not isinstance(kind, PickledType) or kind.dtype is None:
        return None
    return _numbers(content, kind.dtype, (), "C").item()


def _ordered(pairs: Any = ()) -> dict[Any, Any]:
    if not all(isinstance(pair, (list, tuple)) and type(pair[0]) in (str, int) for pair in pairs):
        raise FileError("a pickled dictionary has keys that are neither texts nor whole numbers.")
    return {pair[0]: pair[1] for pair in pairs}


def is_size(n: Any) -> bool:
    """Whether this can be the length of an axis."""
    return type(n) is int and 0 <= n < 1 << 60


NUMPY: Builders = {
    "numpy ndarray": None,
    "numpy dtype": PickledType,
    "numpy.core.multiarray _reconstruct": lambda *_: PickledArray(),
    "numpy._core.multiarray _reconstruct": lambda *_: PickledArray(),
    "numpy.core.multiarray scalar": _scalar,
    "numpy._core.multiarray scalar": _scalar,
    "_codecs encode": _encoded,
    "collections OrderedDict": _ordered,
}

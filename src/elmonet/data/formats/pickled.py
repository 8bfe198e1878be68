"""What NumPy pickles: its arrays, types and numbers, built again from their bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet._check import FileError
from elmonet.data.formats.pickle_machine import Buildable, Builders

__all__ = ["NUMPY", "Objects", "PickledArray", "is_size"]


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

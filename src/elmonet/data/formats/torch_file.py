"""PyTorch's files (.pt, .pth), read without PyTorch and without running their pickle."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from elmonet.data.formats.numpy_files import add_named, check_sizes, member_bytes
from elmonet.data.formats.pickled import NUMPY, is_size, unpickle
from elmonet.data.lazy import Arrays
from elmonet.errors import FileError

__all__ = ["add_torch"]

_TYPES = {
    **{"Float": "f4", "Double": "f8", "Half": "f2", "BFloat16": "u2"},
    **{"Int": "i4", "Long": "i8", "Short": "i2", "Char": "i1", "Byte": "u1", "Bool": "u1"},
}
_MOST_REPEATED, _SMALL = (
    64,
    1 << 26,
)  # an expanded tensor may be this many times its storage, or this many bytes


def add_torch(arrays: Arrays, path: Path) -> None:
    """The tensors of a file that torch.save wrote: one tensor, or dicts and lists of tensors."""
    with ZipFile(path) as file:
        check_sizes(file, arrays, path)
        program = next((i for i in file.infolist() if i.filename.split("/")[-1] == "data.pkl"), None)
        if program is None:
            raise FileError(f"{str(path)!r} is a zip file without tensors. Write it again with torch.save.")
        content = _Content(file, program.filename.removesuffix("data.pkl"), arrays.unpack)
        pickled = member_bytes(file, program).tobytes()
        add_named(arrays, "", unpickle(pickled, content.builders, content.storage, arrays.unpack))


class _Storage:
    """Numbers in a row, that tensors show parts of."""

    def __init__(self, numbers: np.ndarray, name: str):
        self.numbers, self.name = numbers, name


class _Content:
    """The storages of one file, and the builders of tensors from them."""

    def __init__(self, file: ZipFile, folder: str, unpack: Callable[[int], None]):
        self.file, self.folder, self.unpack = file, folder, unpack
        self.members = {info.filename: info for info in file.infolist()}
        self.storages: dict[str, _Storage] = {}
        order = self.members.get(f"{folder}byteorder")
        self.order = ">" if order and bytes(member_bytes(file, order)[:3]) == b"big" else "<"
        self.builders = {
            **NUMPY,
            **{f"torch {name}Storage": None for name in _TYPES},
            "torch Size": lambda sizes=(): tuple(sizes),
            "torch._utils _rebuild_tensor_v2": self.tensor,
            "torch._utils _rebuild_parameter": lambda tensor, *_: tensor,
        }

    def storage(self, what: Any) -> _Storage:
        """The numbers that an id names: ("storage", type, key, place, count)."""
        kind = getattr(what[1], "name", "") if isinstance(what, tuple) and len(what) == 5 else ""
        name = kind.removeprefix("torch ").removesuffix("Storage")
        info = self.members.get(f"{self.folder}data/{what[2]}") if name in _TYPES else None
        if info is None:
            raise FileError("a tensor's numbers are not in the file. It is damaged, or not complete.")
        if info.filename not in self.storages:
            dtype = np.dtype(self.order + _TYPES[name])
            if not is_size(what[4]) or what[4] * dtype.itemsize != info.file_size:
                raise FileError(
                    "a tensor's numbers do not have the size that the file says. The file is damaged."
                )
            self.storages[info.filename] = _Storage(member_bytes(self.file, info).view(dtype), name)
        return self.storages[info.filename]

    def tensor(self, storage: Any, offset: Any, sizes: Any, strides: Any, *_: Any) -> np.ndarray:
        """The part of a storage that a tensor shows, as a new array."""
        whole = (isinstance(sizes, tuple), isinstance(strides, tuple), isinstance(storage, _Storage))
        if not all(whole) or len(sizes) != len(strides) or len(sizes) > 32:
            raise FileError("a tensor is not described as PyTorch does. The file is damaged.")
        if not all(is_size(n) for n in (offset, *sizes, *strides)):
            raise FileError("a tensor's sizes and steps must be whole numbers from 0. The file is damaged.")
        numbers, count = storage.numbers, math.prod(sizes)
        last = offset + sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
        if count and last >= len(numbers):
            raise FileError("a tensor needs more numbers than there are. The file is damaged.")
        nbytes = count * numbers.itemsize
        if nbytes > max(_SMALL, _MOST_REPEATED * numbers.nbytes):
            raise FileError(
                f"a tensor of sizes {sizes} repeats {len(numbers)} numbers. Save it as it was before "
                "expand()."
            )
        self.unpack(nbytes)
        if not count:
            return np.zeros(sizes, numbers.dtype)
        steps = [stride * numbers.itemsize for stride in strides]
        shown = np.lib.stride_tricks.as_strided(numbers[offset:], sizes, steps)
        return _meaning(np.array(shown, order="C"), storage.name)


def _meaning(numbers: np.ndarray, name: str) -> np.ndarray:
    if name == "BFloat16":  # the upper half of a float32
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return (numbers != 0).astype(np.uint8) if name == "Bool" else numbers

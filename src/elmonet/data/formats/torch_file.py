"""Tensors in files: PyTorch's (.pt, .pth), read without PyTorch and without its pickle, and safetensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from safetensors import deserialize

from elmonet.data.formats.numpy_files import check_sizes, member_bytes
from elmonet.data.formats.pickled import NUMPY, Global, add_unpickled, is_size, unpickle
from elmonet.data.formats.registry import register_reader, zip_names
from elmonet.data.lazy import Arrays
from elmonet.errors import FileError

_DTYPES = {
    **{"Float": "f4", "Double": "f8", "Half": "f2", "BFloat16": "u2"},
    **{"Int": "i4", "Long": "i8", "Short": "i2", "Char": "i1", "Byte": "u1", "Bool": "u1"},
}
_SAFETENSORS = {
    **{"F64": "f8", "F32": "f4", "F16": "f2", "BOOL": "u1"},
    **{f"{kind}{8 * size}": f"{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
}
# An expanded tensor may be this many times larger than its storage, or have this many bytes.
_MAX_REPEATS, _SMALL_TENSOR = 64, 1 << 26
_PICKLE = "data.pkl"


@register_reader(
    "torch",
    endings=["pt", "pth"],
    description="pt or pth (PyTorch)",
    recognise=lambda path, start: any(
        name.split("/")[-1] == _PICKLE for name in zip_names(path, start) or ()
    ),
)
def add_torch(arrays: Arrays, path: Path) -> None:
    """Add the tensors of a file written by torch.save: one tensor, or dicts and lists of tensors."""
    with ZipFile(path) as file:
        check_sizes(file, arrays, path)
        pickled = next((i for i in file.infolist() if i.filename.split("/")[-1] == _PICKLE), None)
        if pickled is None:
            raise FileError(f"{str(path)!r} is a zip file without tensors. Write it again with torch.save.")
        content = _Content(file, pickled.filename.removesuffix(_PICKLE), arrays.charge)
        program = member_bytes(file, pickled).tobytes()
        add_unpickled(arrays, "", unpickle(program, content.builders, content.storage, arrays.charge))


@dataclass(frozen=True)
class _Storage:
    """A flat array of numbers that tensors are views of; `kind` is a key of `_DTYPES`."""

    numbers: np.ndarray
    kind: str


class _Content:
    """The storages of one file, and the builders of tensors from them."""

    def __init__(self, file: ZipFile, folder: str, charge: Callable[[int], None]):
        self.file, self.folder, self.charge = file, folder, charge
        self.members = {info.filename: info for info in file.infolist()}
        self.storages: dict[str, _Storage] = {}
        order = self.members.get(f"{folder}byteorder")
        self.order = ">" if order and bytes(member_bytes(file, order)[:3]) == b"big" else "<"
        self.builders = {
            **NUMPY,
            **{f"torch {kind}Storage": None for kind in _DTYPES},
            "torch Size": _size,
            "torch._utils _rebuild_tensor_v2": self.tensor,
            "torch._utils _rebuild_parameter": lambda tensor, *_: tensor,
        }

    def storage(self, pid: Any) -> _Storage:
        """Return the storage of a persistent id, ("storage", type, key, device, count)."""
        if not (isinstance(pid, tuple) and len(pid) == 5 and isinstance(pid[1], Global)):
            raise FileError("a tensor's storage is not named as PyTorch names it. The file is damaged.")
        kind, key, count = pid[1].name.removeprefix("torch ").removesuffix("Storage"), pid[2], pid[4]
        info = self.members.get(f"{self.folder}data/{key}") if isinstance(key, str) else None
        if kind not in _DTYPES or info is None:
            raise FileError("a tensor's numbers are not in the file. It is damaged or truncated.")
        if info.filename not in self.storages:
            dtype = np.dtype(self.order + _DTYPES[kind])
            if not is_size(count) or count * dtype.itemsize != info.file_size:
                raise FileError(
                    "a tensor's numbers do not have the size that is declared. The file is damaged."
                )
            self.storages[info.filename] = _Storage(member_bytes(self.file, info).view(dtype), kind)
        return self.storages[info.filename]

    def tensor(self, storage: Any, offset: Any, sizes: Any, strides: Any, *_: Any) -> np.ndarray:
        """Return a view of a storage as a new array."""
        kinds = (isinstance(storage, _Storage), isinstance(sizes, tuple), isinstance(strides, tuple))
        if not all(kinds) or len(sizes) != len(strides) or len(sizes) > 32:
            raise FileError("a tensor is not described as PyTorch does. The file is damaged.")
        if not all(is_size(n) for n in (offset, *sizes, *strides)):
            raise FileError("a tensor's sizes and strides must be integers from 0. The file is damaged.")
        numbers, count = storage.numbers, math.prod(sizes)
        last = offset + sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
        if count and last >= len(numbers):
            raise FileError("a tensor needs more numbers than there are. The file is damaged.")
        nbytes = count * numbers.itemsize
        if nbytes > max(_SMALL_TENSOR, _MAX_REPEATS * numbers.nbytes):
            raise FileError(
                f"a tensor of sizes {sizes} repeats {len(numbers)} numbers. Save it as it was before "
                "expand()."
            )
        self.charge(nbytes)
        if not count:
            return np.zeros(sizes, numbers.dtype)
        steps = [stride * numbers.itemsize for stride in strides]
        view = np.lib.stride_tricks.as_strided(numbers[offset:], sizes, steps)
        array = np.array(view, order="C")
        if storage.kind == "BFloat16":
            return _from_bfloat16(array)
        return (array != 0).astype(np.uint8) if storage.kind == "Bool" else array


def _from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)  # they are the upper half of a float32


@register_reader("safetensors", endings=["safetensors"])
def add_safetensors(arrays: Arrays, path: Path) -> None:
    """Add the tensors of a safetensors file."""
    arrays.charge(3 * path.stat().st_size)  # the file, its tensors, and bfloat16 as float32
    parse: Any = deserialize  # which has no types
    for name, tensor in parse(path.read_bytes()):
        kind, shape = tensor["dtype"], tensor["shape"]
        if kind == "BF16":
            arrays[name] = _from_bfloat16(np.frombuffer(tensor["data"], "<u2")).reshape(shape)
        elif kind in _SAFETENSORS:
            arrays[name] = np.frombuffer(tensor["data"], f"<{_SAFETENSORS[kind]}").reshape(shape)
        else:
            arrays.skipped.append(name)


def _size(sizes: Any = ()) -> tuple[Any, ...]:
    if not isinstance(sizes, (list, tuple)):
        raise FileError("a tensor's sizes are not a list. The file is damaged.")
    return tuple(sizes)

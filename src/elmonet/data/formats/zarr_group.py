"""Zarr groups, in folders."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path
from typing import Any

from elmonet.data.lazy import Arrays, Lazy
from elmonet.data.limits import extra, require_room
from elmonet.errors import FileError

__all__ = ["add_zarr"]

# What packs and unpacks numbers. Others are refused: one that zarr knows runs pickled objects.
_HARMLESS = {
    *("bytes", "transpose", "gzip", "zlib", "zstd", "blosc", "lz4", "lzma", "bz2", "crc32c", "crc32"),
    *("adler32", "fletcher32", "jenkins_lookup3", "shuffle", "delta", "fixedscaleoffset", "quantize"),
    *("bitround", "packbits", "astype", "sharding_indexed"),
}
_FEW_CHUNKS, _MOST_SPARSE = 10_000, 100


def add_zarr(arrays: Arrays, path: Path) -> None:
    """The numeric arrays by "group/name", read by slicing."""
    found = extra("zarr").open(path, mode="r")
    members = dict(found.members(max_depth=None)) if hasattr(found, "members") else {path.stem: found}
    for name, array in members.items():
        if not hasattr(array, "shape"):  # a group
            continue
        _check_codecs(array, path)
        if array.dtype.kind not in "biufc" or array.ndim == 0:
            arrays.skipped.append(name)
            continue
        require_room(math.prod(array.chunks) * array.dtype.itemsize, f"one chunk of {name} of {str(path)!r}")
        _check_chunks(array, path / array.path)
        arrays[name] = Lazy.of(array, f"{name} of {str(path)!r}")


def _check_chunks(array: Any, folder: Path) -> None:
    """Refuse an array that declares far more chunks than there are files: it would take forever to read."""
    chunks = getattr(array, "shards", None) or array.chunks
    count = math.prod(-(-n // max(1, chunk)) for n, chunk in zip(array.shape, chunks, strict=True))
    enough = count // _MOST_SPARSE
    if count > _FEW_CHUNKS and len(list(islice(folder.rglob("*"), enough))) < enough:
        raise FileError(
            f"{str(folder)!r} says that it has {count} chunks, but there are fewer than {enough} files. It "
            "is damaged, or has no numbers yet."
        )


def _check_codecs(array: Any, path: Path) -> None:
    names = {name.lower().removeprefix("numcodecs.") for name in _codec_names(array.metadata.to_dict())}
    if names - _HARMLESS:
        raise FileError(
            f"{str(path)!r} is packed by {', '.join(sorted(names - _HARMLESS))[:100]}, which elmonet does "
            "not run. Write it again as zarr does by default."
        )


def _codec_names(metadata: Any) -> list[str]:
    """The codecs of an array's metadata, also those within others."""
    names = []
    for key in ("codecs", "index_codecs", "filters", "compressor", "compressors"):
        given = metadata.get(key) or ()
        for codec in [given] if isinstance(given, dict) or not isinstance(given, (list, tuple)) else given:
            config = codec if isinstance(codec, dict) else getattr(codec, "get_config", dict)()
            names.append(str(config.get("name", config.get("id", "unknown"))))
            inner = config.get("configuration")
            names += _codec_names(inner) if isinstance(inner, dict) else []
    return names

"""Zarr groups, in folders."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path
from typing import Any

from elmonet.data.formats.registry import register_reader
from elmonet.data.lazy import Arrays, Lazy, unpacked
from elmonet.data.limits import require_extra, require_room
from elmonet.errors import FileError

ZARR_FILES = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")  # a folder with one of these is zarr

# Codecs that only transform numbers. Others are refused: the codec "pickle" runs pickled objects.
_SAFE_CODECS = {
    *("bytes", "transpose", "gzip", "zlib", "zstd", "blosc", "lz4", "lzma", "bz2", "crc32c", "crc32"),
    *("adler32", "fletcher32", "jenkins_lookup3", "shuffle", "delta", "fixedscaleoffset", "quantize"),
    *("bitround", "packbits", "astype", "sharding_indexed"),
}
# Arrays of more chunks than this must have a file for at least one chunk in so many.
_CHUNKS_UNCHECKED, _CHUNKS_PER_FILE = 10_000, 100


@register_reader(
    "zarr",
    endings=["zarr"],
    recognise=lambda path, start: (
        path.is_dir()
        and (path.suffix.lower() == ".zarr" or any((path / name).exists() for name in ZARR_FILES))
    ),
    on_disk=True,
)
def add_zarr(arrays: Arrays, path: Path) -> None:
    """Add the numeric arrays by "group/name", read by slicing."""
    found = require_extra("zarr").open(path, mode="r")
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
        attributes, described = dict(array.attrs), f"{name} of {str(path)!r}"
        if array.metadata.zarr_format == 2 and "_ARRAY_DIMENSIONS" in attributes:
            attributes["_FillValue"] = array.fill_value  # where xarray keeps it, None if there is none
        arrays[name] = Lazy.of(unpacked(array, attributes, described), described)


def _check_chunks(array: Any, folder: Path) -> None:
    """Refuse an array with far more chunks than files: reading it would take forever."""
    chunks = getattr(array, "shards", None) or array.chunks
    count = math.prod(-(-n // max(1, chunk)) for n, chunk in zip(array.shape, chunks, strict=True))
    expected = count // _CHUNKS_PER_FILE
    if count > _CHUNKS_UNCHECKED and len(list(islice(folder.rglob("*"), expected))) < expected:
        raise FileError(
            f"{str(folder)!r} says that it has {count} chunks, but there are fewer than {expected} files. It "
            "is damaged, or has no numbers yet."
        )


def _check_codecs(array: Any, path: Path) -> None:
    names = {name.lower().removeprefix("numcodecs.") for name in _codec_names(array.metadata.to_dict())}
    if names - _SAFE_CODECS:
        raise FileError(
            f"{str(path)!r} is encoded by {', '.join(sorted(names - _SAFE_CODECS))[:100]}, which elmonet "
            "does not run. Write it again with zarr's default codecs."
        )


def _codec_names(metadata: Any) -> list[str]:
    """Return the codecs in the metadata of an array, also nested ones."""
    names = []
    for key in ("codecs", "index_codecs", "filters", "compressor", "compressors"):
        given = metadata.get(key) or ()
        for codec in [given] if isinstance(given, dict) or not isinstance(given, (list, tuple)) else given:
            config = codec if isinstance(codec, dict) else getattr(codec, "get_config", dict)()
            names.append(str(config.get("name", config.get("id", "unknown"))))
            inner = config.get("configuration")
            names += _codec_names(inner) if isinstance(inner, dict) else []
    return names

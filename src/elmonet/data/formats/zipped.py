"""Members of zip files, the frame of npz and PyTorch files, read without trust in what they declare."""

from __future__ import annotations

from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from elmonet._check import FileError
from elmonet.data.arrays import Arrays

__all__ = ["check_sizes", "member_bytes"]

_MOST_DEFLATED = 1032  # deflate cannot make more bytes than this out of one
_PIECE = 1 << 22


def check_sizes(file: ZipFile, arrays: Arrays, path: object) -> None:
    """Raise if the members declare more than they can hold, more than the limit, or more than memory."""
    for info in file.infolist():
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise FileError(f"{str(path)!r} is packed in an unusual way; write it again with np.savez.")
        most = info.compress_size * (_MOST_DEFLATED if info.compress_type == ZIP_DEFLATED else 1)
        if info.file_size > most:
            raise FileError(
                f"{str(path)!r} is damaged: {info.filename[:80]!r} says that it has {info.file_size} bytes, "
                f"but it can hold {most} at most. Write or download the file again."
            )
    arrays.unpack(sum(info.file_size for info in file.infolist()))


def member_bytes(file: ZipFile, info: ZipInfo) -> np.ndarray:
    """The bytes of a member as an array, checked against their sum; no more than it declares is unpacked."""
    content = np.empty(info.file_size, np.uint8)
    done = 0
    with file.open(info) as member:
        # Asked for no more than is left, it unpacks no more; reading to the end checks the sum.
        while piece := member.read(min(_PIECE, max(1, info.file_size - done))):
            content[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
    if done != info.file_size:
        raise FileError(f"{info.filename[:80]!r} ends after {done} of {info.file_size} bytes.")
    return content

"""Checkpoints of fits in blocks: a fit that ended early resumes from its file."""

from __future__ import annotations

import os
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np

from elmonet.data.lazy import Blocks
from elmonet.errors import FileError
from elmonet.forms.transforms import Affine
from elmonet.progress import Progress
from elmonet.store import digest, read, write

_SECONDS_BETWEEN_WRITES = 20.0


class Checkpoint:
    """The file of an unfinished fit, which belongs to certain data, features and a version of elmonet.

    It keeps a fingerprint of every function in the sums: the sum of hashes of its index, input and output,
    which depends neither on the blocks nor on the order of their reading. A fit that resumes reads these
    functions once more, which takes a small part of the time of summing them, and compares.
    """

    def __init__(self, path: str | os.PathLike[str], blocks: Blocks):
        self.path, self.blocks = Path(path), blocks
        self._written, self._content, self._lock = monotonic(), 0, Lock()

    def exists(self) -> bool:
        """Return whether there is a state to resume from."""
        return self.path.exists()

    def record(self, start: int, X: np.ndarray, y: np.ndarray) -> None:
        """Add functions from number `start` on to the fingerprint; threads may call this."""
        digests = (
            blake2b(
                u.tobytes() + s.tobytes(), digest_size=16, salt=(start + i).to_bytes(16, "little")
            ).digest()
            for i, (u, s) in enumerate(zip(X, y, strict=True))
        )
        found = sum(int.from_bytes(digest, "little") for digest in digests)
        with self._lock:
            self._content = (self._content + found) % (1 << 128)

    def write_if_due(self, fit: Any) -> None:
        """Write the state if the last write is long enough ago."""
        if monotonic() - self._written >= _SECONDS_BETWEEN_WRITES:
            self.write(fit)

    def write(self, fit: Any) -> None:
        """Write the state of a `BlockFit`, atomically."""
        arrays: dict[str, np.ndarray] = {}
        scale = fit.block_features.inputs.scale
        if scale is not None:
            arrays |= {"shift": scale.shift, "scale": scale.scale}
        header = {"checkpoint": fit.state(arrays), "belongs_to": self._belongs_to(fit)}
        header["content"] = f"{self._content:032x}"
        write(self.path, header, arrays)
        self._written = monotonic()

    def resume(self, begin: Any, hook: Progress | None = None) -> Any:
        """Return the `BlockFit` of ``begin(scale)`` in the state of the file."""
        header, arrays = read(self.path)
        if not header.get("checkpoint"):
            raise FileError(f"{str(self.path)!r} is a model, not a checkpoint: give another name.")
        fit = begin(Affine(arrays["shift"], arrays["scale"]) if "shift" in arrays else None)
        was, now = header["belongs_to"], self._belongs_to(fit)
        for what in now:
            if was.get(what) != now[what]:
                raise FileError(
                    f"the checkpoint {str(self.path)!r} belongs to another fit, with other {what} (there: "
                    f"{was.get(what)}; here: {now[what]}). Remove the file to begin again, or name another."
                )
        fit.resume(header["checkpoint"], arrays)
        if "content" not in header:
            raise FileError(
                f"the checkpoint {str(self.path)!r} has no fingerprint of the data it has read, as those of "
                "elmonet 0.2 and before: they may have changed since. Remove the file to begin again."
            )
        self._read_again(fit.functions, hook)
        if header["content"] != f"{self._content:032x}":
            raise FileError(
                f"the checkpoint {str(self.path)!r} belongs to another fit, with other data: of the "
                f"{fit.functions:,} functions that it has read, some have changed since. Remove the file to "
                "begin again, or name another."
            )
        return fit

    def _read_again(self, functions: int, hook: Progress | None) -> None:
        """Take the fingerprint of the first functions."""
        for start in range(0, functions, self.blocks.rows):
            if hook is not None:
                what = f"comparing with the checkpoint: {start:,} of {functions:,} functions"
                hook(what, start, functions)
            self.record(start, *(A[: functions - start] for A in self.blocks.read(start)))

    def remove(self) -> None:
        """Remove the file of a finished fit."""
        self.path.unlink(missing_ok=True)

    def _belongs_to(self, fit: Any) -> dict[str, str]:
        """Return what must be the same for a fit to resume."""
        u, s = self.blocks.u, self.blocks.s
        ends = [
            part
            for start in (0, self.blocks.functions - 1)
            for part in (u[start : start + 1], s[start : start + 1])
        ]
        content = digest([np.asarray(part) for part in ends])[:16]
        return {
            "version": version("elmonet"),
            "data": f"{tuple(u.shape)} -> {tuple(s.shape)}, {content}",
            "features": digest([np.frombuffer(fit.fingerprint().encode(), np.uint8)])[:16],
            "points": digest([fit.outputs.points])[:16],
        }

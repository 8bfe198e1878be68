"""The state of a fit in blocks, in a file: what was summed up so far, and of what."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from elmonet._check import FileError
from elmonet.data.blocks import Blocks
from elmonet.scaling import Affine
from elmonet.store import digest, read, write

__all__ = ["Checkpoint"]

_EVERY = 20.0  # seconds between two writes


class Checkpoint:
    """The file of one fit. It belongs to certain data, features and a version: others are refused."""

    def __init__(self, path: str | os.PathLike[str], model: Any, blocks: Blocks):
        self.path, self.model, self.blocks = Path(path), model, blocks
        self._written = monotonic()

    def exists(self) -> bool:
        """Whether there is something to go on from."""
        return self.path.exists()

    def write_now_and_then(self) -> None:
        """Write the state, if the last time is a while ago."""
        if monotonic() - self._written >= _EVERY:
            self.write()

    def write(self) -> None:
        """Write the state, atomically."""
        arrays: dict[str, np.ndarray] = {}
        scale = self.model._scale_X
        if scale is not None:
            arrays |= {"shift": scale.shift, "scale": scale.scale}
        sums = self.model.sums_to_store(arrays)
        write(self.path, {"checkpoint": sums, "belongs_to": self._belongs_to()}, arrays)
        self._written = monotonic()

    def resume(self, first: tuple[np.ndarray, np.ndarray], points: Any) -> None:
        """Bring the model to the state in the file."""
        header, arrays = read(self.path)
        if not header.get("checkpoint"):
            raise FileError(f"{str(self.path)!r} is a model, not a checkpoint: give another name.")
        scale = Affine(arrays["shift"], arrays["scale"]) if "shift" in arrays else None
        self.model.begin(*first, points, scale)
        was, now = header["belongs_to"], self._belongs_to()
        for what in now:
            if was.get(what) != now[what]:
                raise FileError(
                    f"the checkpoint {str(self.path)!r} belongs to another fit: its {what} differ(s) (there: "
                    f"{was.get(what)}; here: {now[what]}). Remove the file to begin anew, or name another."
                )
        self.model.take_sums(header["checkpoint"], arrays)

    def remove(self) -> None:
        """The fit is done: nothing to go on from."""
        self.path.unlink(missing_ok=True)

    def _belongs_to(self) -> dict[str, str]:
        """What must be the same for a fit to go on."""
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
            "features": digest([np.frombuffer(self.model._summing.fingerprint().encode(), np.uint8)])[:16],
            "points": digest([self.model.points_])[:16],
        }

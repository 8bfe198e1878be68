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
from elmonet.form.transforms import Affine
from elmonet.store import digest, read, write

__all__ = ["Checkpoint"]

_EVERY = 20.0  # seconds between two writes


class Checkpoint:
    """The file of one fit. It belongs to certain data, features and a version: others are refused."""

    def __init__(self, path: str | os.PathLike[str], blocks: Blocks):
        self.path, self.blocks = Path(path), blocks
        self._written = monotonic()

    def exists(self) -> bool:
        """Whether there is something to go on from."""
        return self.path.exists()

    def write_if_due(self, fit: Any) -> None:
        """Write the state, if the last one is old enough."""
        if monotonic() - self._written >= _EVERY:
            self.write(fit)

    def write(self, fit: Any) -> None:
        """Write the state of a `BlockFit`, atomically."""
        arrays: dict[str, np.ndarray] = {}
        scale = fit.reduction.inputs.scale
        if scale is not None:
            arrays |= {"shift": scale.shift, "scale": scale.scale}
        header = {"checkpoint": fit.state(arrays), "belongs_to": self._belongs_to(fit)}
        write(self.path, header, arrays)
        self._written = monotonic()

    def resume(self, begin: Any) -> Any:
        """The `BlockFit` that ``begin(scale)`` gives, in the state of the file."""
        header, arrays = read(self.path)
        if not header.get("checkpoint"):
            raise FileError(f"{str(self.path)!r} is a model, not a checkpoint: give another name.")
        fit = begin(Affine(arrays["shift"], arrays["scale"]) if "shift" in arrays else None)
        was, now = header["belongs_to"], self._belongs_to(fit)
        for what in now:
            if was.get(what) != now[what]:
                raise FileError(
                    f"the checkpoint {str(self.path)!r} belongs to another fit: its {what} differ (there: "
                    f"{was.get(what)}; here: {now[what]}). Remove the file to begin again, or name another."
                )
        fit.resume(header["checkpoint"], arrays)
        return fit

    def remove(self) -> None:
        """The fit is done: nothing to go on from."""
        self.path.unlink(missing_ok=True)

    def _belongs_to(self, fit: Any) -> dict[str, str]:
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
            "features": digest([np.frombuffer(fit.fingerprint().encode(), np.uint8)])[:16],
            "points": digest([fit.outputs.points])[:16],
        }

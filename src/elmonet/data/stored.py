"""Files of functions that are opened, not read, to fit in blocks."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.assemble import assemble
from elmonet.data.lazy import by_rows
from elmonet.data.read import open_roles
from elmonet.data.scattered import Scattered

__all__ = ["open_pairs"]


def open_pairs(path: str | os.PathLike[str], **flags: Any) -> tuple[Any, Any, np.ndarray | None]:
    """Inputs u (N, ...), outputs s (N, M) or (N, M, c) and points (M, d) or None, of a file or folder.

    The flags are those of `read`. Arrays of zarr, HDF5, NetCDF and npy stay where they are and are read by
    slicing.
    """
    arrays, roles = open_roles(path, **flags)
    if roles.scattered or isinstance(roles.u_train, dict):
        what = "values that each have a point of their own" if roles.scattered else "several input functions"
        raise InputError(
            f"{what} are fitted in memory, not in blocks: data = read({str(path)!r}), then "
            "fit(data.u_train, data.s_train)."
        )
    parts = assemble(arrays, roles)
    s = parts.s_train
    if not isinstance(s, Scattered) and s.ndim > 2 and not (roles.components and s.ndim == 3):
        s = by_rows(_flat, s)
    return parts.u_train, s, parts.points


def _flat(rows: np.ndarray) -> np.ndarray:
    return rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))

"""Fits and predictions from arrays that memory does not hold: on disk, or Dask's."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet._check import positive_integer
from elmonet.data.blocks import Blocks, is_dask
from elmonet.fitting.checkpoint import Checkpoint
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.in_blocks import BlockFit, fit_source
from elmonet.fitting.map_reduce import OnDask, OnThreads
from elmonet.form.transforms import Affine
from elmonet.memory import available, block_rows, bytes_of
from elmonet.progress import progress_bar

__all__ = ["fit_stored", "predict_dask"]

_FEW = 16  # functions from which the form of the data is found
_PART = 0.5  # of the available memory, if no limit is given
Begin = Callable[[tuple[np.ndarray, np.ndarray], Affine | None], BlockFit]


def fit_stored(
    begin: Begin,
    u: Any,
    s: Any,
    *,
    scale: bool,
    memory: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
    workers: int | None = None,
    progress: Any = False,
) -> tuple[BlockFit, Fitted]:
    """The fit to u (N, ...) and s (N, ...); ``begin(few functions, scale)`` gives one that is still empty.

    The other arguments are those of `fit_blocks`.
    """
    if is_dask(u) or is_dask(s):
        source = OnDask(u, s)
        first = source.head(_FEW)
        return fit_source(lambda found: begin(first, found), source, scale=scale)
    workers = _cores() if workers is None else positive_integer(workers, "workers")
    limit = int(_PART * available()) if memory is None else bytes_of(memory)
    bar = progress_bar() if progress is True else nullcontext(progress or None)
    with bar as hook, threadpool_limits(1):  # the workers are the threads
        first = Blocks(u, s, rows=_FEW).read(0)
        rows = _rows(begin(first, None), limit, workers)
        blocks = Blocks(u, s, min(rows, int(u.shape[0])))
        file = None if checkpoint is None else Checkpoint(Path(checkpoint), blocks)
        on_threads = OnThreads(blocks, workers, hook)
        found = fit_source(lambda scale: begin(first, scale), on_threads, scale=scale, checkpoint=file)
    if file is not None and not keep_checkpoint:
        file.remove()
    return found


def predict_dask(model: Any, fitted: Fitted, u: Any, points: Any = None) -> Any:
    """The predictions for a Dask array u (N, ...), as a Dask array that is not computed yet."""
    shape = fitted.output_shape(points)
    u = u.rechunk(dict.fromkeys(range(1, u.ndim), -1))
    return u.map_blocks(
        model.predict,
        points,
        token="predict",
        dtype=fitted.outputs.dtype,
        drop_axis=list(range(1, u.ndim)),
        new_axis=list(range(1, 1 + len(shape))),
        chunks=(u.chunks[0], *((size,) for size in shape)),
    )


def _rows(fit: BlockFit, limit: int, workers: int) -> int:
    """How many functions a block may hold."""
    r = fit.reduction
    M = len(r.outputs.places())
    q = M if r.span is None else r.span.rank
    return block_rows(limit, workers, m=int(np.prod(r.inputs.shape)), M=M, p1=r.width, q=q)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

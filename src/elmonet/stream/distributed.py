"""Fits and predictions with Dask: on the active distributed client if there is one, else on local threads.

Blocks are made into features and summed up where they lie; only sums travel, merged by a tree. The random
weights travel as seed and settings. Every task is a pure function of its block, so that Dask may run it again
when a worker dies.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet._check import InputError
from elmonet.data.blocks import Blocks, read_rows
from elmonet.scaling import Moments, log_inputs
from elmonet.solve import Ridge
from elmonet.solve.gram import GramSums
from elmonet.solve.summed import LeftOut, Sums
from elmonet.solve.triangular import TriangularSums
from elmonet.stream.summing import Summing

__all__ = ["fit_dask", "predict_dask"]

_FAN_IN = 8  # sums that are merged by one task
_KINDS: dict[str, type[Sums]] = {"gram": GramSums, "tsqr": TriangularSums}


def fit_dask(model: Any, u: Any, s: Any, points: Any = None) -> Any:
    """Fit a model to Dask arrays u (N, ...) and s (N, M); what ``model.fit`` does with them."""
    u, s, starts = _aligned(u, s)
    few = min(16, u.shape[0])
    first = tuple(np.asarray(part.compute()) for part in (u[:few], s[:few]))
    model.input_shape_, model.n_features_in_ = tuple(u.shape[1:]), int(u.shape[1])
    model._inputs = None
    model.begin(*first, points, _scaling(model, u, starts))
    if not model._settled:
        _settle(model, u, s)
    record, arrays = model._summing.recipe()
    recipe = json.dumps(record), tuple((name, arrays[name]) for name in sorted(arrays))
    kind = model._sums.method
    blocks = list(zip(starts, _delayed(u), _delayed(s), strict=True))
    sums, total = _reduced(
        [_task(_summed)(recipe, kind, *block) for block in blocks],
        _merged_sums,
    )
    model._sums, model._total = _KINDS[kind].of(sums), total
    model._changed()
    reduced, alphas, basis = model._solve_sums()
    solver = model._solver()
    if isinstance(solver, Ridge) and solver.alpha == "loo":
        left_out = LeftOut(reduced, alphas, len(model.points_))
        tasks = [_task(_left_out)(recipe, left_out, basis, *block) for block in blocks]
        alpha, error = left_out.best(_reduced(tasks, sum))
        model._solve_sums(alpha)
        model.solution_ = replace(model.solution_, loo_error=error)
    return model


def predict_dask(model: Any, u: Any, points: Any = None) -> Any:
    """The predictions for a Dask array u (N, ...), as a Dask array that is not computed yet."""
    shape = model.output_shape(points)
    u = u.rechunk(dict.fromkeys(range(1, u.ndim), -1))
    inner = list(range(1, u.ndim))
    return u.map_blocks(
        model.predict,
        points,
        token="predict",
        dtype=model.W_.dtype,
        drop_axis=inner,
        new_axis=list(range(1, 1 + len(shape))),
        chunks=(u.chunks[0], *((size,) for size in shape)),
    )


def _aligned(u: Any, s: Any) -> tuple[Any, Any, list[int]]:
    """Both in the same blocks of whole rows, and where these begin."""
    da: Any = import_module("dask.array")
    u, s = (A if hasattr(A, "dask") else da.asarray(A) for A in (u, s))
    if any(np.isnan(size) for A in (u, s) for size in A.shape):
        raise InputError(
            "the Dask arrays do not know their length: call compute_chunk_sizes() on them first."
        )
    Blocks(u, s, rows=1)  # checks shapes and types
    if s.ndim != 2:
        raise InputError(f"y must be (N, M) as a Dask array, got {s.shape}: y.reshape(len(y), -1).")
    u = u.rechunk(dict.fromkeys(range(1, u.ndim), -1))
    s = s.rechunk((u.chunks[0], -1))
    return u, s, [int(start) for start in np.cumsum([0, *u.chunks[0][:-1]])]


def _scaling(model: Any, u: Any, starts: list[int]) -> Any:
    if not model.scale_inputs:
        return None
    tasks = [
        _task(_moments)(bool(model.log_inputs), start, block)
        for start, block in zip(starts, _delayed(u), strict=True)
    ]
    return _reduced(tasks, _merged_moments).standardise()


def _settle(model: Any, u: Any, s: Any) -> None:
    """Decide how to sum up, from the first functions; they come again with the rest."""
    enough = 2 * model.branch_.width_
    if u.shape[0] < enough:
        return
    model.take(*(np.asarray(part.compute()) for part in (u[:enough], s[:enough])))


def _delayed(array: Any) -> list[Any]:
    return list(array.to_delayed().ravel())


def _task(function: Any) -> Any:
    return import_module("dask").delayed(function, pure=True)


def _reduced(tasks: list[Any], merge: Any) -> Any:
    """Merge the results of the tasks, a few at a time, and compute that."""
    while len(tasks) > 1:
        tasks = [_task(merge)(tasks[i : i + _FAN_IN]) for i in range(0, len(tasks), _FAN_IN)]
    return tasks[0].compute()


@lru_cache(maxsize=4)
def _summing_of(record: str, names: tuple[str, ...], digests: tuple[bytes, ...], shapes: Any) -> Summing:
    arrays = {
        name: np.frombuffer(content).reshape(shape)
        for name, content, shape in zip(names, digests, shapes, strict=True)
    }
    return Summing.of(json.loads(record), arrays)


def _summing(recipe: Any) -> Summing:
    """The same for every block that a process sees: weights are drawn once."""
    record, arrays = recipe
    return _summing_of(
        record,
        tuple(name for name, _ in arrays),
        tuple(np.asarray(array, float).tobytes() for _, array in arrays),
        tuple(array.shape for _, array in arrays),
    )


def _block(start: int, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Checked to be finite; an error names the function by its index in the whole."""
    return _Rows(X).checked(start, "X"), _Rows(y).checked(start, "y")


class _Rows:
    """A block that pretends to be the whole, of which only its own rows are read."""

    def __init__(self, rows: np.ndarray):
        self.rows = rows

    def checked(self, start: int, name: str) -> np.ndarray:
        self.start = start
        return read_rows(self, start, start + len(self.rows), name)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.asarray(self.rows[rows.start - self.start : rows.stop - self.start])


def _summed(recipe: Any, kind: str, start: int, X: np.ndarray, y: np.ndarray) -> tuple[dict[str, Any], float]:
    X, y = _block(start, X, y)
    summing = _summing(recipe)
    with threadpool_limits(1):
        sums = summing.sums(_KINDS[kind], y.shape[1])
        total = summing.add(sums, X, y)
    return sums.arrays(), total


def _merged_sums(parts: list[tuple[dict[str, Any], float]]) -> tuple[dict[str, Any], float]:
    first, *rest = parts
    kind: Any = GramSums if "BBt" in first[0] else TriangularSums
    sums = kind.of({name: np.array(array) for name, array in first[0].items()})
    for arrays, _ in rest:
        sums.merge(kind.of(arrays))
    return sums.arrays(), sum(total for _, total in parts)


def _moments(logarithms: bool, start: int, X: np.ndarray) -> Moments:
    X = _Rows(X).checked(start, "X")
    moments = Moments()
    moments.add(log_inputs(X) if logarithms else X)
    return moments


def _merged_moments(parts: list[Moments]) -> Moments:
    moments = Moments()
    for part in parts:
        moments.merge(part)
    return moments


def _left_out(
    recipe: Any, left_out: LeftOut, basis: np.ndarray, start: int, X: np.ndarray, y: np.ndarray
) -> np.ndarray:
    X, y = _block(start, X, y)
    with threadpool_limits(1):
        return _summing(recipe).left_out(left_out, X, y, basis)

"""Models and data on disk: load a model; fit and predict with arrays larger than memory."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from typing import Any

from numpy.typing import ArrayLike

from elmonet.checks import Functions, FunctionValues, positive_integer
from elmonet.data.dataset import Labels
from elmonet.data.lazy import read_rows
from elmonet.data.mesh import Mesh
from elmonet.errors import FileError, InputError
from elmonet.estimators.base import OperatorEstimator
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import points_once
from elmonet.progress import Progress
from elmonet.store import read

_ELSEWHERE = {"LayeredELMDeepONet": "elmonet.layered", "MarchingELMDeepONet": "elmonet.marching"}


def load(path: str | os.PathLike[str]) -> OperatorEstimator:
    """Load a model from a file that `save` wrote.

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    model : an `ELMDeepONet`, `LayeredELMDeepONet` or `MarchingELMDeepONet`, with the same predictions bit
        for bit.

    Raises
    ------
    FileError : for anything but an intact model file.
    """
    header, arrays = read(path)
    try:
        name = header.get("model", "ELMDeepONet")  # files of 0.1 have no name
        if name in _ELSEWHERE:
            import_module(_ELSEWHERE[name])  # registers itself
        model = OperatorEstimator.registry[name]._from_store(header, arrays)
        names = _checked_names(header.get("file_names", {}))
        labels = Labels.from_store(header.get("labels", {}), arrays)
        model._adopt(replace(model._fitted(), labels=labels))
        return model._with_file_names(names) if names else model
    except (KeyError, TypeError, AttributeError, IndexError, InputError) as error:
        raise FileError(
            f"{str(path)!r} does not describe a model that this elmonet knows ({type(error).__name__}: "
            f"{error}). It may come from a development version; fit and save the model again."
        ) from error


def _checked_names(names: Any) -> dict[str, Any]:
    """Return the names of arrays in a model's file; raise TypeError unless they are texts."""
    for flag, given in names.items():
        if flag != "transpose" and not all(isinstance(name, str) for name in (flag, *given)):
            raise TypeError(f"the names of {flag} are not text")
    return dict(names)


def fit_blocks(
    model: ELMDeepONet,
    u: Functions,
    s: Functions,
    points: ArrayLike | Mesh | None = None,
    *,
    groups: ArrayLike | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
    workers: int | None = None,
    progress: bool | Progress = False,
) -> ELMDeepONet:
    """Fit a model to functions that are read in blocks, as ``model.fit`` does with arrays on disk.

    Parameters
    ----------
    model : an `ELMDeepONet` whose branch needs no training functions.
    u, s : (N, ...) and (N, M): memory maps, zarr or HDF5 arrays, or anything that gives rows by slicing.
    points : (M, d), as in `ELMDeepONet.fit`.
    groups : (N,), labels of functions that are left out together, as in `ELMDeepONet.fit`. By default, steps
        of trajectories and near repeats are found in data of up to 32 MB. In more data they are looked for
        in a sample: if there are any, a warning asks for labels, and no error is stated.
    memory : memory limit of the process, in bytes or as "2GB"; by default half of what is free.
    checkpoint : file that is written at intervals; if it exists, the fit resumes from it.
    keep_checkpoint : keep that file when the fit is done, until the model is saved.
    workers : number of threads; by default one per core.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.

    Returns
    -------
    model : the same model, fitted.
    """
    how = {"groups": groups, "memory": memory, "checkpoint": checkpoint, "keep_checkpoint": keep_checkpoint}
    return model._fit_stored(
        u, s, points_once(model.points, points, "ELMDeepONet"), workers=workers, progress=progress, **how
    )


def predict_blocks(
    model: OperatorEstimator,
    u: FunctionValues,
    out: Any,
    points: ArrayLike | Mesh | None = None,
    *,
    rows: int = 2048,
) -> None:
    """Predict for functions that are read in blocks, and write each block to `out` (N, M).

    Parameters
    ----------
    model : a fitted model.
    u : (N, ...), anything that gives rows by slicing, as in `fit_blocks`.
    out : anything that takes ``out[start:stop] = values``: a memory map, a zarr or HDF5 array.
    points : where to predict, as in `ELMDeepONet.predict`; by default the training points.
    rows : number of functions in a block.
    """
    if tuple(out.shape)[:1] != tuple(u.shape)[:1]:
        raise InputError(
            f"out must have a row for each of the {u.shape[0]} functions, got {tuple(out.shape)}."
        )
    for start in range(0, u.shape[0], positive_integer(rows, "rows")):
        out[start : start + rows] = model.predict(read_rows(u, start, start + rows, "X"), points)

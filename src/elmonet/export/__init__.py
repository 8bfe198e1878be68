"""Writers of fitted models for other programs: torch, ONNX, C, MATLAB and Octave, FMUs, pages for browsers.

Each reads a `Description`, the model as a list of array operations; a page also shows what is `Beside` it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from elmonet.description import Description
from elmonet.errors import InputError
from elmonet.export import c_source, fmu, html_page, matlab_source, onnx_file
from elmonet.export.html_page import Beside, TrainingTab
from elmonet.store import write_bytes

__all__ = ["FORMATS", "Beside", "TrainingTab", "export"]

FORMATS = {
    ".onnx": "ONNX, for onnxruntime and others",
    ".c": "C99, one file and its header; also for C++ and Fortran",
    ".m": "a function of MATLAB and Octave",
    ".fmu": "FMI 2.0 for co-simulation, with C sources and a library for this platform",
    ".html": "a page on which inputs are drawn and outputs follow",
}


def export(
    description: Description,
    path: str | os.PathLike[str],
    name: str | None = None,
    dtype: str = "float64",
    beside: Beside | None = None,
) -> list[Path]:
    """Write a description to a file of the kind that its ending tells; return the files written.

    Parameters
    ----------
    description : the model as a list of array operations.
    path : of the file: .onnx, .c (with its header .h beside it), .m, .fmu or .html.
    name : of the generated function, or title of a page; by default that of the file.
    dtype : "float64" or, for ONNX, "float32".
    beside : what a page shows besides; by default nothing.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        listed = "; ".join(f"{end}: {what}" for end, what in FORMATS.items())
        raise InputError(f"the ending of the file says what to write: {listed}. Got {path.name!r}.")
    if dtype not in ("float64", "float32") or (dtype == "float32" and ending != ".onnx"):
        raise InputError(f'dtype must be "float64", or "float32" for ONNX; got {dtype!r}.')
    written: dict[Path, bytes]
    if ending == ".onnx":
        written = {path: onnx_file.model_bytes(description, dtype)}
    elif ending == ".c":
        function = c_source.identifier(name or path.stem)
        source, header = c_source.sources(description, function, path.with_suffix(".h").name)
        written = {path: source.encode(), path.with_suffix(".h"): header.encode()}
    elif ending == ".fmu":
        written = {path: fmu.archive(description, c_source.identifier(name or path.stem))}
    elif ending == ".html":
        written = {path: html_page.page(description, name or path.stem, beside).encode()}
    else:
        function = c_source.identifier(path.stem)
        if function != path.stem:
            raise InputError(
                f"a file of MATLAB has the name of its function: letters, digits and underscores, such as "
                f"{function}.m; got {path.name!r}."
            )
        written = {path: matlab_source.source(description, function).encode()}
    for place, content in written.items():
        write_bytes(place, content)
    return list(written)


def to_torch(description: Description, dtype: Any = None) -> Any:
    """Return a description as a `torch.nn.Module`."""
    from elmonet.export.torch_module import module

    return module(description, dtype)

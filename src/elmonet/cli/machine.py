"""What runs here, for a report of a bug: versions, optional parts, processors, BLAS and memory."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

__all__ = ["EXTRAS", "REQUIRED", "about_machine", "libraries", "versions"]

REQUIRED = ("numpy", "scipy", "scikit-learn", "safetensors", "typer")
# What pip installs for elmonet[plot], elmonet[baselines], ...
EXTRAS = {
    "plot": ("matplotlib",),
    "baselines": ("torch",),
    "dask": ("dask", "distributed"),
    "zarr": ("zarr",),
    "h5py": ("h5py",),
    "xarray": ("xarray", "h5netcdf"),
}
_SETTINGS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OPENBLAS_CORETYPE",
)
# The folder in which a wheel brings a library along, and who uses it.
_OWNERS = {"numpy": "NumPy", "scipy": "SciPy", "scikit_learn": "scikit-learn", "sklearn": "scikit-learn"}


def versions(packages: tuple[str, ...]) -> dict[str, str | None]:
    """The version of each package, without importing it; None: it is not there."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str | None] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def about_machine() -> dict[str, Any]:
    """System, processors, memory in bytes, and the settings that change BLAS."""
    from elmonet.memory import available

    usable = getattr(os, "sched_getaffinity", None)
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "usable_cores": os.cpu_count() if usable is None else len(usable(0)),
        "free_memory": available(),
        "settings": {name: os.environ[name] for name in _SETTINGS if name in os.environ},
    }


def libraries() -> list[dict[str, Any]]:
    """The BLAS and OpenMP libraries that are loaded, each with its kernel, threads and who brought it.

    Where threadpoolctl knows none (as Apple's Accelerate), the one that NumPy was built with.
    """
    import numpy as np
    import sklearn.utils  # noqa: F401, it loads the OpenMP of scikit-learn
    from threadpoolctl import threadpool_info

    found = [
        {
            "library": one["internal_api"],
            "version": one["version"],
            "kernel": one.get("architecture"),
            "threads": one["num_threads"],
            "of": _owner(Path(one["filepath"])),
        }
        for one in threadpool_info()
    ]
    if any(one["library"] != "openmp" for one in found):
        return sorted(found, key=lambda one: (one["library"] == "openmp", one["of"]))
    built: Any = np.show_config(mode="dicts")
    blas = built["Build Dependencies"]["blas"]
    ours = {"library": blas["name"], "version": blas.get("version"), "kernel": None, "threads": None}
    return [ours | {"of": "NumPy"}, *found]


def _owner(path: Path) -> str:
    """Who brought a library: a package, or else the name of its file; never the folder."""
    for folder in path.parts:
        package = folder.removesuffix(".libs")
        if package in _OWNERS and package != path.name:
            return _OWNERS[package]
    return path.name

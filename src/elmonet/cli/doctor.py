"""elmonet doctor."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

from elmonet import __version__
from elmonet.cli.console import Printer, json_option
from elmonet.summary import plural

REQUIRED = ("numpy", "scipy", "scikit-learn", "safetensors", "typer")
# What pip installs for elmonet[plot], elmonet[baselines], ...
EXTRAS = {
    "plot": ("matplotlib",),
    "baselines": ("torch",),
    "dask": ("dask", "distributed"),
    "zarr": ("zarr",),
    "h5py": ("h5py",),
    "xarray": ("xarray", "h5netcdf"),
    "mesh": ("meshio",),
    "tables": ("pandas", "pyarrow", "openpyxl"),
    "onnx": ("onnx",),
}
_BLAS_SETTINGS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OPENBLAS_CORETYPE",
)
# The folder in which a wheel brings a library along, and the package it belongs to.
_OWNERS = {"numpy": "NumPy", "scipy": "SciPy", "scikit_learn": "scikit-learn", "sklearn": "scikit-learn"}
_MAX_ERROR = 1e-9  # relative, of the self-test; about 1e-14 is usual


def doctor(
    json: Annotated[
        bool, json_option("elmonet, python, versions, extras, machine, libraries, self_test")
    ] = False,
) -> None:
    """Describe the installation and run a self-test, for bug reports.

    Prints versions, optional packages, system, memory and the numerical libraries, but no names of users,
    hosts or folders. The self-test is a small fit with a known answer and takes a second. The exit code is 0
    if it passes, and 1 if it fails.

    **Examples**

    elmonet doctor

    elmonet doctor --json
    """
    from elmonet.memory import readable

    printer, python = Printer(json), platform.python_version()
    required, machine, found = versions(REQUIRED), about_machine(), libraries()
    extras = {extra: versions(packages) for extra, packages in EXTRAS.items()}
    printer.value(elmonet=__version__, python=python, versions=required, extras=extras)
    printer.value(machine=machine, libraries=found)
    printer.line(f"elmonet {__version__}, Python {python} ({platform.python_implementation()})")
    printer.line("  " + ", ".join(f"{name} {number or 'not found'}" for name, number in required.items()))
    printer.line("optional parts:")
    for extra, packages in extras.items():
        printer.line(f"  {extra}: {_extra_in_words(extra, packages)}")
    printer.line(f"system: {machine['system']}")
    printer.line(
        f"  {plural(machine['cores'], 'core')}, {machine['usable_cores']} for this process; "
        f"{readable(machine['free_memory'])} of memory free"
    )
    printer.line("libraries:")
    for library in found:
        printer.line(f"  {_library_in_words(library)}")
    for name, value in machine["settings"].items():
        printer.line(f"  {name}={value}")
    tested = self_test()
    printer.value(self_test=tested)
    printer.line(f"self-test: {'passed' if tested['passed'] else 'FAILED'}")
    for sentence in tested["told"]:
        printer.line(f"  {sentence}")
    printer.finish()
    if not tested["passed"]:
        raise typer.Exit(1)


def versions(packages: tuple[str, ...]) -> dict[str, str | None]:
    """Return the version of each package, without importing it; None: not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str | None] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _extra_in_words(extra: str, packages: dict[str, str | None]) -> str:
    found = ", ".join(f"{name} {number}" for name, number in packages.items() if number is not None)
    missing = ", ".join(name for name, number in packages.items() if number is None)
    if not missing:
        return found
    return (f"{found}; " if found else "") + f'no {missing}: pip install "elmonet[{extra}]"'


def about_machine() -> dict[str, Any]:
    """Return system, processors, free memory in bytes, and the settings that change BLAS."""
    from elmonet.memory import available

    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "usable_cores": os.cpu_count() if affinity is None else len(affinity(0)),
        "free_memory": available(),
        "settings": {name: os.environ[name] for name in _BLAS_SETTINGS if name in os.environ},
    }


def libraries() -> list[dict[str, Any]]:
    """Return the loaded BLAS and OpenMP libraries, each with kernel, threads and owner.

    Where threadpoolctl knows no BLAS (such as Apple's Accelerate), the one that NumPy was built with.
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
    """Return the package that brought a library, or else the name of its file; never the folder."""
    for folder in path.parts:
        package = folder.removesuffix(".libs")
        if package in _OWNERS and package != path.name:
            return _OWNERS[package]
    return path.name


def _library_in_words(one: dict[str, Any]) -> str:
    kernel = f", kernel {one['kernel']}" if one["kernel"] else ""
    threads = f", threads: {one['threads']}" if one["threads"] else ""
    return f"{one['library']} {one['version'] or ''}".strip() + f" of {one['of']}{kernel}{threads}"


def self_test() -> dict[str, Any]:
    """Fit the antiderivative, save it and load it: `passed`, `error`, `same_bits`, and sentences, `told`.

    ``u = sum_k a_k cos(k pi x)`` has ``s(y) = a_0 y + sum_k a_k sin(k pi y) / (k pi)``. This is linear in
    a, so a linear branch must find it from more functions than there are coefficients.
    """
    try:
        error, same = _fit_and_load()
    except Exception as failed:
        told = [f"{type(failed).__name__}: {' '.join(str(failed).split())}"]
        return {"passed": False, "error": None, "same_bits": None, "told": told}
    exact = error <= _MAX_ERROR
    told = [
        f"antiderivative of new functions: error {error:.2g}"
        + ("" if exact else f", where at most {_MAX_ERROR:g} was expected"),
        f"saved and loaded: {'the same bits' if same else 'other predictions, where the same were expected'}",
    ]
    return {"passed": exact and same, "error": error, "same_bits": same, "told": told}


def _fit_and_load() -> tuple[float, bool]:
    """Return the error on new functions, and whether the loaded model predicts the same bits."""
    import tempfile

    import numpy as np

    from elmonet import ELMDeepONet, Linear, load, relative_l2

    x, k = np.linspace(0, 1, 50), np.arange(1, 8)[:, None]
    a = np.random.default_rng(0).standard_normal((60, 8))
    u = a @ np.vstack([np.ones_like(x), np.cos(k * np.pi * x)])
    s = a @ np.vstack([x, np.sin(k * np.pi * x) / (k * np.pi)])
    model = ELMDeepONet(Linear()).fit(u[:40], s[:40], points=x)
    predicted = model.predict(u[40:])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "self-test.elmonet"
        model.save(file)
        same = np.array_equal(load(file).predict(u[40:]), predicted)
    return relative_l2(predicted, s[40:]), bool(same)

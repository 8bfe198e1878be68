"""Project metadata is consistent: versions, bounds of dependencies."""

import re
import tomllib
from pathlib import Path

import elmonet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_one_version():
    assert PROJECT["version"] == elmonet.__version__
    assert f"\nversion: {elmonet.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    newest = re.search(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest[1] == elmonet.__version__


def test_the_package_is_typed():
    assert (Path(elmonet.__file__).parent / "py.typed").exists()


def test_the_oldest_versions_tested_are_the_bounds():
    """A bound that was never tested is a guess."""
    extras = PROJECT["optional-dependencies"]
    required = [*PROJECT["dependencies"]]
    for name in ("plot", "dask", "zarr", "h5py", "xarray", "mesh", "tables", "onnx", "test"):
        required += [line for line in extras[name] if not line.startswith("elmonet[")]
    bounds = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", line).groups() for line in required)
    lines = (ROOT / "constraints-oldest.txt").read_text("utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, bound in bounds.items():
        assert numbers(tested[name]) == numbers(bound), name


def test_extras_leave_installed_packages_alone():
    """An exact version, as torch's once was, would replace the one that somebody has installed."""
    for name, required in PROJECT["optional-dependencies"].items():
        for line in required:
            assert re.fullmatch(r"elmonet\[[\w,]+\]|[\w-]+(\[[\w,]+\])?>=[\d.]+", line), (name, line)


def numbers(version):
    """Return the parts of a version without trailing zeros: 2.2 is 2.2.0."""
    return [int(part) for part in re.sub(r"(\.0)+$", "", version).split(".")]

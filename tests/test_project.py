"""What surrounds the code agrees with itself: versions, bounds of dependencies."""

import re
import tomllib
from pathlib import Path

import elmonet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_one_version():
    assert PROJECT["version"] == elmonet.__version__
    assert f"\nversion: {elmonet.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest[1] == elmonet.__version__


def test_types_are_told_to_others():
    assert (Path(elmonet.__file__).parent / "py.typed").exists()


def test_the_oldest_versions_that_are_tried_are_the_bounds():
    """A bound that nobody has tried is a guess."""
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"]]
    for name in ("plot", "dask", "zarr", "h5py", "xarray", "test"):
        asked += [line for line in extras[name] if not line.startswith("elmonet[")]
    bounds = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", line).groups() for line in asked)
    lines = (ROOT / "constraints-oldest.txt").read_text("utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, bound in bounds.items():
        assert numbers(tried[name]) == numbers(bound), name


def numbers(version):
    """Without zeros at the end: 2.2 is 2.2.0."""
    return [int(part) for part in re.sub(r"(\.0)+$", "", version).split(".")]

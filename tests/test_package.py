"""The package as a whole: what it exports, and what importing it costs."""

import subprocess
import sys

import pytest

import elmonet


def test_all_names_are_there():
    assert {"ELMDeepONet", "AutoELMDeepONet", "load", "problems", "plot"} < set(elmonet.__all__)
    for name in elmonet.__all__:
        assert getattr(elmonet, name) is not None
        assert name in dir(elmonet)
    with pytest.raises(AttributeError, match="elmonet attribute Elmo"):
        elmonet.Elmo  # noqa: B018


def test_importing_loads_nothing_heavy():
    script = "import sys, elmonet; print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_an_estimator_loads_neither_readers_nor_exports_nor_presentation():
    script = "import sys; from elmonet import ELMDeepONet; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    rooms = {name.partition(".")[2] for name in ran.stdout.split() if name.startswith("elmonet.")}
    apart = ("export", "data.formats", "data.reading", "physics", "reporting", "plot", "paper", "cli", "auto")
    assert not rooms.intersection(apart)


def test_core_needs_no_extras():
    script = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "torch", "dask", "h5py", "zarr", "xarray", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from elmonet import ELMDeepONet, ElmonetError, plot, problems
data = problems.antiderivative(20, 5)
model = ELMDeepONet().fit(data.u_train, data.s_train, points=data.points)
try:
    plot.prediction(model, data)
except ElmonetError as error:
    assert "pip install" in str(error), error
    print("fine")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "fine"

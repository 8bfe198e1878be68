"""FMUs: run as a co-simulation runs them, read as an importer reads them, checked by FMPy."""

import ctypes
import json
import re
import shutil
import sys
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from elmonet import SLFN, ELMDeepONet, InputError, MarchingELMDeepONet, NoCompilerWarning
from elmonet.export import fmu

from .conftest import COMPILER
from .test_hostile_names import NAMES

needs_library = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="a library is compiled and loaded"
)
T, DT = 15, 0.25
rng = np.random.default_rng(0)
u = rng.normal(size=(25, T)).cumsum(axis=1) / 3
k = rng.uniform(0.5, 2, 25)


def run(u, k):
    s = np.zeros_like(u)
    for i in range(1, T):
        s[:, i] = 0.8 * s[:, i - 1] + 0.2 * k * np.tanh(u[:, i])
    return s


@pytest.fixture(scope="module")
def record():
    """Return a record of a load with a parameter, with two components."""
    s = run(u, k)
    model = MarchingELMDeepONet(memory=(2, 3), random_state=0)
    return model.fit({"load": u, "k": k}, {"a": s, "b": 1 - 2 * s}, points=DT * np.arange(T))


@pytest.fixture(scope="module")
def static():
    X = {"f": u[:, :4], "k": k}
    y = {"a": u[:, :3] + k[:, None], "b": u[:, 1:4] ** 2}
    return ELMDeepONet(SLFN(12, "tanh"), random_state=0).fit(X, y, points=np.arange(3.0)), X


class Unit:
    """A loaded FMU: its variables by name, and the calls of a co-simulation."""

    def __init__(self, path, folder):
        with zipfile.ZipFile(path) as packed:
            packed.extractall(folder)
        root = ElementTree.parse(folder / "modelDescription.xml").getroot()
        identifier = root.find("CoSimulation").get("modelIdentifier")
        library = next((folder / "binaries").glob(f"*/{identifier}.*"))
        self.variables = {v.get("name"): int(v.get("valueReference")) for v in root.iter("ScalarVariable")}
        self.library, pointer = ctypes.CDLL(library), ctypes.c_void_p
        self.library.fmi2Instantiate.restype = pointer
        self.guid = root.get("guid").encode()
        self.instance = pointer(self.library.fmi2Instantiate(b"unit", 1, self.guid, None, None, 0, 0))
        assert self.instance.value

    def _values(self, call, names, values):
        n = len(names)
        references = (ctypes.c_uint * n)(*(self.variables[name] for name in names))
        status = call(self.instance, references, ctypes.c_size_t(n), values)
        assert status == 0
        return list(values)

    def set(self, **values):
        self._values(
            self.library.fmi2SetReal, list(values), (ctypes.c_double * len(values))(*values.values())
        )

    def get(self, *names):
        return self._values(self.library.fmi2GetReal, names, (ctypes.c_double * len(names))())

    def step(self, time, step):
        return self.library.fmi2DoStep(self.instance, ctypes.c_double(time), ctypes.c_double(step), 1)


@needs_library
def test_a_record_is_simulated_step_by_step(record, tmp_path):
    unit = Unit(record.export(tmp_path / "plant.fmu")[0], tmp_path / "open")
    few = {"load": u[:2] + 0.1, "k": k[:2]}
    expected = record.predict(few)
    for case in range(2):
        assert unit.library.fmi2Reset(unit.instance) == 0
        found = []
        for i in range(T):
            unit.set(load=few["load"][case, i] + 5, k=k[case])  # an input that is set twice counts once
            unit.get("a")
            unit.set(load=few["load"][case, i], k=k[case])
            found.append(unit.get("a", "b"))
            assert unit.step(i * DT, DT) == 0
        found = np.array(found)
        for j, name in enumerate("ab"):
            size = np.abs(expected[name]).max()
            np.testing.assert_allclose(found[:, j], expected[name][case], rtol=0, atol=1e-10 * size)
    discard = 2
    assert unit.step(0.0, 0.6 * DT) == discard
    unit.library.fmi2FreeInstance(unit.instance)


@needs_library
def test_anything_else_is_a_function_of_its_inputs(static, tmp_path):
    model, X = static
    unit = Unit(model.export(tmp_path / "map.fmu")[0], tmp_path / "open")
    for i in range(2):
        unit.set(**{f"f[{j + 1}]": X["f"][i, j] for j in range(4)}, k=X["k"][i])
        expected = model.predict({name: part[i : i + 1] for name, part in X.items()})
        for name in "ab":
            found = unit.get(*(f"{name}[{j + 1}]" for j in range(3)))
            np.testing.assert_allclose(found, expected[name][0], rtol=0, atol=1e-12)
        assert unit.step(float(i), 0.37) == 0
    wrong = ctypes.c_void_p(unit.library.fmi2Instantiate(b"unit", 1, b"of another", None, None, 0, 0))
    assert wrong.value is None
    unit.library.fmi2FreeInstance(unit.instance)


@pytest.mark.filterwarnings("ignore::elmonet.errors.NoCompilerWarning")
def test_fmpy_finds_nothing_wrong(record, static, tmp_path):
    fmpy = pytest.importorskip("fmpy")
    validation = pytest.importorskip("fmpy.validation")
    for model in (record, static[0]):
        path = str(model.export(tmp_path / "unit.fmu")[0])
        assert validation.validate_fmu(path) == []
    if COMPILER is not None and sys.platform == "linux":
        result = fmpy.simulate_fmu(path, stop_time=1.0, step_size=0.5)
        at_rest = model.predict({"f": np.zeros((1, 4)), "k": np.zeros(1)})["a"][0]
        np.testing.assert_allclose(result["a[2]"], at_rest[1], atol=1e-10)


def test_without_a_compiler_there_are_sources_and_a_warning(static, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(fmu, "_LIBRARIES", {(sys.platform, fmu.platform.machine().lower()): ("any", ".so")})
    with pytest.warns(NoCompilerWarning, match="no C compiler"):
        (path,) = static[0].export(tmp_path / "map.fmu")
    with zipfile.ZipFile(path) as packed:
        assert {"sources/map.c", "sources/map.h", "sources/map_fmu.c"} < set(packed.namelist())
        assert not [name for name in packed.namelist() if name.startswith("binaries")]


@pytest.mark.filterwarnings("ignore::elmonet.errors.NoCompilerWarning")
def test_hostile_names_stay_text(tmp_path):
    inputs = {name: rng.normal(size=(30, 2)) for name in NAMES}
    model = ELMDeepONet(SLFN(8, "tanh"), random_state=0)
    model.fit(inputs, {f"{name} out": sum(inputs.values()) for name in NAMES}, points=np.arange(2.0))
    (path,) = model.export(tmp_path / 'x"; rm -rf.fmu')
    with zipfile.ZipFile(path) as packed:
        root = ElementTree.fromstring(packed.read("modelDescription.xml"))
        record = json.loads(packed.read("resources/description.json"))
        assert all(re.fullmatch(r"[A-Za-z0-9_./]+", name) for name in packed.namelist())
    names = [variable.get("name") for variable in root.iter("ScalarVariable")]
    assert len(set(names)) == len(names) == 4 * len(NAMES)
    assert [port["name"] for port in record["inputs"]] == NAMES


def test_points_and_steps_of_a_record_are_refused(record, tmp_path):
    for settings in ({"steps": 3}, {"points": np.arange(3.0)}):
        with pytest.raises(InputError, match="one step at a time"):
            record.export(tmp_path / "plant.fmu", **settings)

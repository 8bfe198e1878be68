"""The command line on folders of simulations, on records in files, and on a grid with a hole."""

import importlib.util
import json
from functools import partial

import numpy as np
import pytest

from elmonet import load, problems, read
from elmonet.data.named import named_arrays
from elmonet.data.write import write_data

meshio = pytest.importorskip("meshio")

BUDGET = "--time-budget 0.5"
SIDE = np.linspace(0, 1, 5)
NODES = np.array([[x, y, 0.0] for x in SIDE for y in SIDE])
AT = np.arange(25).reshape(5, 5)
QUADS = np.stack([AT[:-1, :-1], AT[1:, :-1], AT[1:, 1:], AT[:-1, 1:]], axis=-1).reshape(-1, 4)
DESIGN = np.array([[k, q] for k in (1.0, 1.5, 2.0, 2.5) for q in (1.0, 2.0, 3.0, 4.0)])


def fields(k, q):
    x, y = NODES[:, 0], NODES[:, 1]
    return {"T [K]": 300 + q * x + k * y, "velocity [m/s]": np.column_stack([k * x, q * y, 0 * x])}


def write_design(path, design):
    rows = [f"{k},{q}" for k, q in design]
    path.write_text("\n".join(["conductivity [W/m/K],source", *rows]) + "\n")


@pytest.fixture
def study(tmp_path):
    (tmp_path / "runs").mkdir()
    for i, (k, q) in enumerate(DESIGN):
        mesh = meshio.Mesh(NODES, [("quad", QUADS)], point_data=fields(k, q))
        mesh.write(tmp_path / "runs" / f"{i + 1}.vtu")
    write_design(tmp_path / "design.csv", DESIGN)
    write_design(tmp_path / "new_design.csv", [(1.2, 2.5), (2.2, 1.5)])
    return tmp_path


def test_a_design_and_runs_to_predictions_for_paraview(ok, run, study):
    out = ok("fit design.csv runs/*.vtu -o operator.elmonet --report fit.html", BUDGET)
    assert "row by row in the order of the files' names (1.vtu is row 1)" in " ".join(out.split())
    assert "T [K]" in (study / "fit.html").read_text()
    out = " ".join(ok("predict operator.elmonet new_design.csv -o out/").split())
    assert "wrote 2 files and predictions.pvd to out" in out
    found = meshio.read(study / "out" / "0001.vtu")
    expected = fields(1.2, 2.5)
    assert set(found.point_data) == {
        f"{name}{end} [{unit}]"
        for name, unit in (("T", "K"), ("velocity", "m/s"))
        for end in ("", "_lower", "_upper", "_half_width")
    }
    np.testing.assert_allclose(found.point_data["T [K]"], expected["T [K]"], rtol=1e-5)
    np.testing.assert_allclose(found.point_data["velocity [m/s]"], expected["velocity [m/s]"], atol=1e-4)
    assert (found.point_data["T_lower [K]"] <= found.point_data["T_upper [K]"]).all()
    assert np.array_equal(found.cells[0].data, QUADS)
    assert (
        '<DataSet timestep="1" part="0" file="0002.vtu"/>' in (study / "out" / "predictions.pvd").read_text()
    )
    code, _, err = run("predict", "operator.elmonet", "new_design.csv", "-o", "one.vtu")
    assert code == 1
    assert "can hold one function, and there are 2" in " ".join(err.split())
    write_design(study / "one.csv", [(1.2, 2.5)])
    ok("predict operator.elmonet one.csv -o one.xdmf")
    one = meshio.read(study / "one.xdmf")
    np.testing.assert_allclose(one.point_data["T [K]"], expected["T [K]"], rtol=1e-5)
    (study / "out" / "mine.txt").write_text("keep")
    code, _, err = run("predict", "operator.elmonet", "new_design.csv", "-o", "out")
    assert (code, "mine.txt" in err) == (1, True)


def test_a_record_per_file(ok, tmp_path):
    (tmp_path / "duffing").mkdir()
    data = problems.duffing(6, 2, n_steps=120)
    for i, (u, s) in enumerate(zip(data.u_train, data.s_train, strict=True)):
        n = 120 - 5 * i
        table = np.column_stack([data.points[:n, 0], u[:n], s[:n]])
        header = {"delimiter": ",", "header": "t,force,displacement", "comments": ""}
        np.savetxt(tmp_path / "duffing" / f"run_{i}.csv", table, **header)
    out = ok("fit duffing/*.csv --input force --output displacement -o m.elmonet", BUDGET)
    assert "lengths differ from run to run: 95 to 120 values" in out
    model = load(tmp_path / "m.elmonet")
    assert (model.labels_.input, model.labels_.output) == ("force", "displacement")


def test_a_grid_with_a_hole(ok, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    x, y = np.linspace(0, 3, 10), np.linspace(0, 2, 8)
    Y, X = np.meshgrid(y, x, indexing="ij")
    D = np.linspace(0.5, 2, 16)
    conc = np.exp(-D[:, None, None] * X) * (1 + Y)
    conc[:, 3:5, 4:6] = np.nan
    dataset = xarray.Dataset(
        {"D": ("run", D), "conc": (("run", "y", "x"), conc, {"units": "mol/m3"})},
        {"x": ("x", x, {"units": "m"}), "y": ("y", y, {"units": "m"})},
    )
    dataset.to_netcdf(tmp_path / "obstacle.nc", engine="h5netcdf")
    out = ok("fit obstacle.nc -o m.elmonet --report fit.html", BUDGET)
    assert "at 76 points of 80; the others never have a value" in " ".join(out.split())
    assert (tmp_path / "fit.html").stat().st_size > 10_000
    ok("predict m.elmonet obstacle.nc -o p.npz --interval 0.9")
    found = np.load(tmp_path / "p.npz")
    for name in ("conc", "conc_low", "conc_high"):
        assert np.array_equal(np.isnan(found[name]), np.isnan(conc))
    np.testing.assert_allclose(np.nan_to_num(found["conc"]), np.nan_to_num(conc), atol=1e-3)
    assert json.loads(ok("predict m.elmonet obstacle.nc -o p.npz --json"))["error"] < 1e-3
    ok("plot m.elmonet obstacle.nc -o p.png")
    for out in ("p.nc", "p.zarr"):
        if out == "p.zarr" and importlib.util.find_spec("zarr") is None:
            continue
        ok(f"predict m.elmonet obstacle.nc -o {out} --interval 0.9")
        opened = xarray.open_zarr if out == "p.zarr" else partial(xarray.open_dataset, engine="h5netcdf")
        with opened(tmp_path / out) as found:
            for name in ("conc", "conc_low", "conc_high"):
                assert found[name].dims == ("run", "y", "x")
                assert found[name].attrs["units"] == "mol/m3"
            assert found["x"].attrs["units"] == "m"
            np.testing.assert_array_equal(found["y"], y)
            assert np.array_equal(np.isnan(found["conc"]), np.isnan(conc))


KINDS = ["npz", "h5", "zarr", "nc", "mat", "csv", "parquet", "folder", "vtu"]


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_units_there_and_back(ok, study, kind):
    extras = {"h5": "h5py", "zarr": "zarr", "nc": "h5netcdf", "parquet": "pyarrow"}
    if kind in extras:
        pytest.importorskip(extras[kind])
    first = read(str(study / "runs" / "*.vtu"), table=study / "design.csv")
    if kind == "folder":  # of npy, without the mesh's own files
        arrays, note = named_arrays(first)
        write_data(study / "copy", arrays, note)
        again = read(study / "copy")
    else:
        name = "copy" if kind == "vtu" else f"copy.{kind}"
        ok(f"convert design.csv runs/*.vtu {name}")
        again = read(study / name)
    np.testing.assert_allclose(again.s_train, first.s_train, rtol=1e-15)
    for key, part in first.u_train.items():
        np.testing.assert_allclose(again.u_train[key], part, rtol=1e-15)
    assert list(again.u_train) == list(first.u_train)
    assert (again.components, again.axes, again.units) == (first.components, first.axes, first.units)
    assert np.array_equal(again.points, first.points)
    assert again.mesh.same_cells(first.mesh)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_long_table_there_and_back(ok, study, kind):
    pytest.importorskip("pyarrow")
    ok(f"convert design.csv runs/*.vtu long.{kind} --long")
    again = read(study / f"long.{kind}")
    first = read(str(study / "runs" / "*.vtu"), table=study / "design.csv")
    assert (again.components, again.axes, again.units) == (first.components, first.axes, first.units)
    assert again.s_train.values.shape == (16 * 25, 3)

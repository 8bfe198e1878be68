"""Time steps in files of meshes: as runs, and as an axis of the fields of each run."""

import numpy as np
import pytest

import elmonet
from elmonet import ELMDeepONet, ElmonetError, Linear, read
from elmonet.data.field_files import write_fields

meshio = pytest.importorskip("meshio")

SIDE = np.linspace(0, 1, 4)
NODES = np.array([[x, y, 0.0] for x in SIDE for y in SIDE])
AT = np.arange(16).reshape(4, 4)
QUADS = np.stack([AT[:-1, :-1], AT[1:, :-1], AT[1:, 1:], AT[:-1, 1:]], axis=-1).reshape(-1, 4)
TIMES = np.array([0.0, 0.5, 2.0])
DESIGN = np.array([[k, q] for k in (1.0, 2.0, 3.0) for q in (0.5, 1.0)])


def fields(k, q, t):
    x, y, _ = NODES.T
    return {"T [K]": 300 + k * x + q * t, "v": np.column_stack([k * y, q * x + t, 0 * x])}


def write_series(path, k, q, times=TIMES):
    if path.suffix == ".pvd":
        lines = []
        for i, t in enumerate(times):
            name = f"{path.stem}_{i}.vtu"
            meshio.Mesh(NODES, [("quad", QUADS)], point_data=fields(k, q, t)).write(path.parent / name)
            lines.append(f'<DataSet timestep="{t}" part="0" file="{name}"/>')
        inside = "<Collection>" + "".join(lines) + "</Collection>"
        path.write_text(f'<VTKFile type="Collection">{inside}</VTKFile>')
        return
    with meshio.xdmf.TimeSeriesWriter(path, data_format="XML") as writer:
        writer.write_points_cells(NODES, [("quad", QUADS)])
        for t in times:
            writer.write_data(t, point_data=fields(k, q, t))


@pytest.mark.parametrize("ending", ["xdmf", "pvd"])
def test_the_steps_of_one_file_are_runs_whose_input_is_the_time(tmp_path, ending):
    write_series(tmp_path / f"run.{ending}", 2.0, 1.0)
    data = read(tmp_path / f"run.{ending}")
    u = data.u_train["time"] if isinstance(data.u_train, dict) else data.u_train
    np.testing.assert_array_equal(u[:, 0], TIMES)
    assert data.components == ("T", "v_x", "v_y")
    assert data.units["T"] == "K"
    for i, t in enumerate(TIMES):
        np.testing.assert_allclose(data.s_train[i, :, 0], fields(2.0, 1.0, t)["T [K]"], rtol=1e-6)
        np.testing.assert_allclose(data.s_train[i, :, 2], NODES[:, 0] + t, atol=1e-6)
    assert data.mesh.nodes.shape == (16, 3)


@pytest.mark.parametrize("ending", ["xdmf", "pvd"])
def test_the_steps_of_many_files_are_an_axis(tmp_path, ending):
    for i, (k, q) in enumerate(DESIGN):
        write_series(tmp_path / f"run_{i}.{ending}", k, q)
    (tmp_path / "design.csv").write_text("\n".join(["k,q", *(f"{k},{q}" for k, q in DESIGN)]))
    data = read(str(tmp_path / f"run_*.{ending}"), table=tmp_path / "design.csv")
    assert data.axes == ("time", "x", "y")
    assert data.s_train.shape == (6, 3 * 16, 3)
    np.testing.assert_array_equal(np.unique(data.points[:, 0]), TIMES)
    np.testing.assert_allclose(data.s_train[4, 32:, 0], fields(3.0, 0.5, 2.0)["T [K]"], rtol=1e-6)
    model = ELMDeepONet(Linear(), random_state=0).fit(data)
    model.save(tmp_path / "m.elmonet")
    model = elmonet.load(tmp_path / "m.elmonet")
    predicted = model.predict({"k": [1.5], "q": [0.8]})
    write_fields(tmp_path / "out.xdmf", model.labels_, model.outputs_.given_points, {"": predicted})
    with meshio.xdmf.TimeSeriesReader(tmp_path / "out.xdmf") as series:
        series.read_points_cells()
        time, found, _ = series.read_data(2)
    assert time == 2.0
    expected = fields(1.5, 0.8, 2.0)
    np.testing.assert_allclose(found["T [K]"], expected["T [K]"], rtol=1e-5)
    np.testing.assert_allclose(found["v"], expected["v"], atol=1e-3)
    with pytest.raises(ElmonetError, match="has no time steps"):
        write_fields(tmp_path / "out.vtu", model.labels_, model.outputs_.given_points, {"": predicted})


def test_other_times_in_one_line(tmp_path):
    write_series(tmp_path / "run_0.xdmf", 1.0, 1.0)
    write_series(tmp_path / "run_1.xdmf", 1.0, 1.0, TIMES + 1)
    with pytest.raises(ElmonetError, match="the same times in every run"):
        read(str(tmp_path / "run_*.xdmf"), table={"k": [1.0, 2.0]})


def test_a_list_without_files_in_one_line(tmp_path):
    (tmp_path / "a.pvd").write_text("<VTKFile><Collection/></VTKFile>")
    with pytest.raises(ElmonetError, match="lists no files with their times"):
        read(tmp_path / "a.pvd")
    (tmp_path / "a.pvd").write_text("nothing")
    with pytest.raises(ElmonetError, match=r"a\.pvd"):
        read(tmp_path / "a.pvd")

"""Folders of simulations: many files as one data set, meshes that move, and folders that are wrong."""

import shutil
import zipfile

import numpy as np
import pytest

from elmonet import ELMDeepONet, ElmonetError, Linear, read
from elmonet.data.reading import read_with_roles
from elmonet.data.run_files import find_runs

meshio = pytest.importorskip("meshio")

SIDE = np.linspace(0, 1, 5)
NODES = np.array([[x, y, 0.0] for x in SIDE for y in SIDE])
AT = np.arange(25).reshape(5, 5)
QUADS = np.stack([AT[:-1, :-1], AT[1:, :-1], AT[1:, 1:], AT[:-1, 1:]], axis=-1).reshape(-1, 4)
DESIGN = np.array([[k, q] for k in (1.0, 1.5, 2.0, 2.5) for q in (1.0, 2.0, 3.0)])


def temperature(k, q, nodes=NODES):
    return 300 + q * nodes[:, 0] + k * nodes[:, 1]


def write_run(path, k, q, nodes=NODES, cells=QUADS, **more):
    fields = {
        "T [K]": temperature(k, q, nodes),
        "velocity": np.column_stack([k * nodes[:, 0], nodes[:, 1], 0 * nodes[:, 2]]),
    }
    meshio.Mesh(nodes, [("quad", cells)], point_data=fields | more).write(path)


def write_design(path, design=DESIGN, first=1):
    rows = [f"{i + first},{k},{q}" for i, (k, q) in enumerate(design)]
    path.write_text("\n".join(["run,conductivity [W/m/K],source", *rows]) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    (folder / "runs").mkdir()
    for i, (k, q) in enumerate(DESIGN):
        write_run(folder / "runs" / f"run_{i + 1}.vtu", k, q)
    write_design(folder / "design.csv")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(made, tmp_path / "study")
    return tmp_path / "study"


def read_study(folder, **options):
    return read(str(folder / "runs" / "*.vtu"), table=folder / "design.csv", **options)


class TestManyFiles:
    def test_a_pattern_and_a_table(self, made):
        data = read_study(made)
        assert list(data.u_train) == ["conductivity", "source"]
        assert np.array_equal(np.column_stack(list(data.u_train.values())), DESIGN)
        assert data.components == ("T", "velocity_x", "velocity_y")
        assert data.units == {"T": "K", "conductivity": "W/m/K"}
        assert np.array_equal(data.points, NODES[:, :2])
        for i in (0, 1, 9, 11):  # run_10 is after run_9, not after run_1
            np.testing.assert_allclose(data.s_train[i, :, 0], temperature(*DESIGN[i]))

    def test_a_list_a_folder_and_a_zip_are_the_same(self, made, tmp_path):
        expected = read_study(made).s_train
        files = [str(f) for f in sorted((made / "runs").iterdir())]
        np.testing.assert_array_equal(read(files, table=made / "design.csv").s_train, expected)
        one = tmp_path / "one"
        shutil.copytree(made / "runs", one)
        shutil.copy(made / "design.csv", one)
        np.testing.assert_array_equal(read(one).s_train, expected)
        with zipfile.ZipFile(tmp_path / "one.zip", "w") as packed:
            for file in one.iterdir():
                packed.write(file, f"study/{file.name}")
        np.testing.assert_array_equal(read(tmp_path / "one.zip").s_train, expected)

    def test_the_table_may_name_files_in_any_order(self, folder):
        order = np.random.default_rng(0).permutation(12)
        rows = [f"{DESIGN[i, 0]},{DESIGN[i, 1]},runs/run_{i + 1}.vtu" for i in order]
        (folder / "design.csv").write_text("\n".join(["a,b,file", *rows]))
        data = read_study(folder)
        assert np.array_equal(data.u_train["a"][:, 0], DESIGN[:, 0])

    def test_a_frame_as_the_table(self, made):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"b": DESIGN[:, 1], "a": DESIGN[:, 0]})
        assert list(read(str(made / "runs" / "*.vtu"), table=frame).u_train) == ["b", "a"]

    def test_read_when_rows_are_asked_for(self, made, monkeypatch):
        in_memory = read_study(made)
        monkeypatch.setattr("elmonet.data.runs._IN_MEMORY", 1)
        monkeypatch.setattr("elmonet.data.reading._too_large", lambda fields: True)
        data = read_study(made)
        assert not isinstance(data.s_train, np.ndarray)
        np.testing.assert_array_equal(np.asarray(data.s_train[3:5]), in_memory.s_train[3:5])
        model = ELMDeepONet(Linear(), random_state=0).fit(data)
        np.testing.assert_allclose(
            np.asarray(model.predict(data.u_train))[..., 0], in_memory.s_train[:, :, 0], rtol=1e-6
        )

    def test_records_of_any_length(self, tmp_path):
        lengths = [50, 70, 60]
        for i, n in enumerate(lengths):
            table = np.column_stack([0.1 * np.arange(n), np.full(n, i), np.arange(n)])
            np.savetxt(tmp_path / f"r{i}.csv", table, delimiter=",", header="t,force,disp", comments="")
        data = read(str(tmp_path / "*.csv"), input="force", output="displacement")
        assert [len(s) for s in data.s_train] == lengths
        assert (data.input, data.output, data.axes) == ("force", "disp", ("t",))


class TestMovingNodes:
    def test_positions_are_learned_with_the_values(self, tmp_path):
        for i, (k, q) in enumerate(DESIGN):
            nodes = NODES * [1, k, 1]
            write_run(tmp_path / f"run_{i + 1}.vtu", k, q, nodes)
        write_design(tmp_path / "design.csv")
        data = read(tmp_path)
        assert data.mesh.moving
        assert data.components == ("T", "velocity_x", "velocity_y", "displacement_x", "displacement_y")
        model = ELMDeepONet(Linear(), random_state=0).fit(data)
        predicted = model.predict({"conductivity": [1.2], "source": [2.0]})
        moved = data.mesh.moved(predicted[0, :, 3:])
        np.testing.assert_allclose(moved.nodes, NODES * [1, 1.2, 1], atol=1e-6)


def drop_run(folder):
    (folder / "runs" / "run_5.vtu").unlink()


def other_mesh(folder):
    write_run(folder / "runs" / "run_5.vtu", 1, 1, NODES[:20], AT[:1, :1].repeat(4, axis=1))


def duplicated_id(folder):
    text = (folder / "design.csv").read_text().splitlines()
    (folder / "design.csv").write_text("\n".join([*text[:3], text[2], *text[4:]]))


def text_in_a_number(folder):
    text = (folder / "design.csv").read_text()
    (folder / "design.csv").write_text(text.replace("2.0,1.0", "2.0,low", 1))


def empty_file(folder):
    (folder / "runs" / "run_5.vtu").write_bytes(b"")


def one_row_too_many(folder):
    with (folder / "design.csv").open("a") as file:
        file.write("13,1.0,1.0\n")


def empty_cell(folder):
    text = (folder / "design.csv").read_text()
    (folder / "design.csv").write_text(text.replace("5,1.5,2.0", "5,,2.0"))


def cut_off(folder):
    file = folder / "runs" / "run_5.vtu"
    file.write_bytes(file.read_bytes()[:500])


def missing_field(folder):
    fields = {"T [K]": temperature(1, 1)}
    meshio.Mesh(NODES, [("quad", QUADS)], point_data=fields).write(folder / "runs" / "run_5.vtu")


def no_files(folder):
    shutil.rmtree(folder / "runs")


def no_table_row_and_no_id(folder):
    rows = (folder / "design.csv").read_text().splitlines()[:-1]
    (folder / "design.csv").write_text("\n".join(row.partition(",")[2] for row in rows))


def nan_in_a_run(folder):
    values = temperature(1, 1)
    values[3] = np.nan
    write_run(folder / "runs" / "run_5.vtu", 1, 1, **{"T [K]": values})


WRONG = [
    (drop_run, r"has 1 row without a file: run 5\. Is a run missing"),
    (other_mesh, r"1 of 12 runs cannot be used: 'run_5.vtu' has points \(20, 2\), the others have \(25, 2\)"),
    (duplicated_id, r"column 'run' of .*design.csv' names 'run_2.vtu' in rows 2, 3\. Each run has one row"),
    (text_in_a_number, r"has no number in column 'source', row 7|design.csv.*low"),
    (empty_file, r"1 of 12 runs cannot be used: 'run_5.vtu' is empty"),
    (one_row_too_many, r"has 1 row without a file: run 13"),
    (empty_cell, r"has no number in column 'conductivity', row 5"),
    (cut_off, r"1 of 12 runs cannot be used: .*run_5.vtu' cannot be read"),
    (missing_field, r"1 of 12 runs cannot be used: 'run_5.vtu' has no 'velocity_x'"),
    (no_files, r"no file matches"),
    (no_table_row_and_no_id, r"has 11 rows and there are 12 runs: they must be as many"),
]


@pytest.mark.parametrize(("spoil", "message"), WRONG, ids=lambda part: getattr(part, "__name__", ""))
def test_a_wrong_folder_in_one_plain_line(folder, spoil, message):
    spoil(folder)
    with pytest.raises(ElmonetError, match=message) as error:
        read_study(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "spoil", [drop_run, other_mesh, empty_file, one_row_too_many, cut_off, missing_field, nan_in_a_run]
)
def test_bad_runs_are_left_out_on_request(folder, spoil):
    spoil(folder)
    data = read_study(folder, bad_runs="skip")
    assert len(data.s_train) == (12 if spoil is one_row_too_many else 11)
    assert np.array_equal(
        np.column_stack(list(data.u_train.values())),
        DESIGN if len(data.s_train) == 12 else np.delete(DESIGN, 4, 0),
    )


def test_a_dataset_in_and_out(tmp_path):
    xarray = pytest.importorskip("xarray")
    x, rng = np.linspace(0, 1, 6), np.random.default_rng(0)
    u = rng.standard_normal((20, 4))
    s = (u @ rng.standard_normal((4, 6)))[:, :, None] * np.ones(3)
    dataset = xarray.Dataset(
        {
            "load": (("run", "sensor"), u, {"units": "N"}),
            "stress": (("run", "y", "x"), s.transpose(0, 2, 1), {"units": "Pa"}),
        },
        {"x": ("x", x, {"units": "m"}), "y": ("y", np.arange(3.0)), "run": ("run", np.arange(100, 120))},
    )
    model = ELMDeepONet(Linear(), random_state=0).fit(read(dataset, input="load", output="stress"))
    found = model.predict(dataset[["load"]])
    assert found["stress"].dims == ("run", "y", "x")
    assert found["stress"].attrs == {"units": "Pa"}
    assert found["x"].attrs == {"units": "m"}
    assert found["run"].values[0] == 100
    np.testing.assert_allclose(found["stress"], dataset["stress"], atol=1e-6)
    with pytest.raises(ElmonetError, match="must have the inputs of the model, load; it has stress"):
        model.predict(dataset[["stress"]])
    assert set(model.predict(dataset[["load"]], return_std=True)) == {"stress", "stress_std"}


def test_a_run_with_nan_is_named(folder):
    nan_in_a_run(folder)
    runs = find_runs(str(folder / "runs" / "*.vtu"), folder / "design.csv")
    _, roles = read_with_roles(runs)
    assert any("'run_5.vtu' has NaN in 'T': --missing ignore" in reason for reason in roles.reasons)

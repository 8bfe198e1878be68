"""From a file to `OperatorData`, with known answers for every layout."""

import numpy as np
import pytest

from elmonet import InputError, NotEnoughMemory
from elmonet.data import OperatorData, Scattered, read
from elmonet.data import limits as guard
from elmonet.data.reading import open_pairs
from elmonet.data.write import write_data

rng = np.random.default_rng(0)
U, S = rng.normal(size=(5, 8)), rng.normal(size=(5, 4, 3))
X, T = np.linspace(0, 1, 4), np.linspace(0, 2, 3)
GRID = np.array([[x, t] for x in X for t in T])


@pytest.fixture
def file(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return save


def test_a_grid_of_axes(file):
    data = read(file(u_train=U, s_train=S, u_test=U[:2], s_test=S[:2], x=X[None], t=T))
    np.testing.assert_array_equal(data.points, GRID)
    np.testing.assert_array_equal(data.s_train, S)
    assert repr(data) == (
        "OperatorData 'data': 5 training and 2 test functions\n  u (N, 8) -> s (N, 4, 3) at 12 points in 2-D "
        "(x, t)"
    )


def test_an_axis_without_coordinates_is_spaced_evenly(file):
    data = read(file(a=U, u=np.ones((5, 4, 30)), x=X))
    np.testing.assert_array_equal(np.unique(data.points[:, 1]), np.linspace(0, 1, 30))


def test_one_number_for_each_function(file):
    data = read(file(u=U, s=np.arange(5)))
    np.testing.assert_array_equal(data.s_train, np.arange(5)[:, None])


def test_masks_become_numbers(file):
    data = read(file(u=U > 0, s=S))
    np.testing.assert_array_equal(data.u_train, (U > 0).astype(int))
    assert data.u_train.dtype == np.uint8


def test_triples_with_an_index(file):
    index, points, s = rng.integers(5, size=20), rng.normal(size=(20, 2)), rng.normal(size=20)
    data = read(file(u=U, idx=index, y=points, s=s))
    assert isinstance(data.s_train, Scattered)
    assert data.points is None
    np.testing.assert_array_equal(data.s_train.index, index)
    np.testing.assert_array_equal(data.s_train.values, s)
    assert "s: 20 values of" in repr(data)
    from_one = read(file(u=U, idx=np.tile(np.arange(1, 6), 4), y=points, s=s))
    np.testing.assert_array_equal(from_one.s_train.index, np.tile(np.arange(5), 4))
    with pytest.raises(InputError, match="idx goes up to 9, but there are 5 input functions"):
        read(file(u=U, idx=np.full(20, 9), y=points, s=s))
    with pytest.raises(InputError, match="idx must hold integers"):
        read(file(u=U, idx=np.full(20, 0.5), y=points, s=s))


def test_triples_with_repeated_inputs(file):
    which = np.array([3, 3, 1, 1, 3, 0])
    points, s = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    data = read(file(X_train0=U[which], X_train1=points, y_train=s))
    np.testing.assert_array_equal(data.u_train, U[[3, 1, 0]])
    np.testing.assert_array_equal(data.s_train.index, [0, 0, 1, 1, 0, 2])
    np.testing.assert_array_equal(data.s_train.values, s[:, 0])


def test_test_functions_at_points_of_their_own(file):
    parts = {"X_train0": U, "X_train1": GRID, "y_train": S.reshape(5, 12), "X_test0": U[:2]}
    data = read(file(**parts, X_test1=GRID[:3], y_test=S[:2, 0]))
    np.testing.assert_array_equal(data.s_test.points, np.concatenate([GRID[:3], GRID[:3]]))
    np.testing.assert_array_equal(data.s_test.values, S[:2, 0].ravel())
    same = read(file(**parts, X_test1=GRID, y_test=S[:2].reshape(2, 12)))
    np.testing.assert_array_equal(same.s_test, S[:2].reshape(2, 12))


def test_several_inputs_and_components(file):
    path = file(k=U, f=U[:, :3], p=S, v=-S, x=X, t=T)
    data = read(path, input=["k", "f"], output=["p", "v"])
    assert data.components == ("p", "v")
    np.testing.assert_array_equal(data.u_train["f"], U[:, :3])
    np.testing.assert_array_equal(data.s_train, np.stack([S, -S], axis=-1).reshape(5, 12, 2))
    np.testing.assert_array_equal(data.points, GRID)
    assert "k (N, 8) and f (N, 3) -> s (N, 12, 2) at 12 points in 2-D (x, t)\n  components: p, v" in repr(
        data
    )


def test_pdebench(tmp_path):
    h5py = pytest.importorskip("h5py")
    v, t = rng.normal(size=(5, 6, 4)), np.linspace(0, 1, 7)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["tensor"], file["x-coordinate"], file["t-coordinate"] = v, X, t
    data = read(tmp_path / "a.h5")
    np.testing.assert_array_equal(data.u_train, v[:, 0])
    np.testing.assert_array_equal(data.s_train, v[:, 1:])
    np.testing.assert_array_equal(data.points[:5], [[t[1], X[0]], *([t[1], x] for x in X[1:]), [t[2], X[0]]])
    np.testing.assert_array_equal(data.sensors, X[:, None])
    u, s, points, _ = open_pairs(tmp_path / "a.h5")
    np.testing.assert_array_equal(u[1:3], v[1:3, 0])
    np.testing.assert_array_equal(s[1:3], v[1:3, 1:].reshape(2, 20))
    assert len(points) == 20


def test_pdebench_with_a_group_for_each_function(tmp_path):
    h5py = pytest.importorskip("h5py")
    v = rng.normal(size=(5, 6, 4, 3, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i in range(5):
            group = file.create_group(f"{i:04d}")
            group["data"], group["grid/x"], group["grid/y"], group["grid/t"] = v[i], X, T, np.arange(6.0)
    data = read(tmp_path / "a.h5")
    np.testing.assert_array_equal(data.u_train, v[:, 0].transpose(0, 3, 1, 2))  # channels first
    np.testing.assert_array_equal(data.s_train, v[:, 1:].reshape(5, 60, 2))
    np.testing.assert_array_equal(data.points, [[t, x, y] for t in range(1, 6) for x in X for y in T])


def test_darcy_of_pdebench(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["nu"], file["tensor"] = S, S[:, None]
        file["x-coordinate"], file["y-coordinate"], file["t-coordinate"] = X, T, np.zeros(1)
    data = read(tmp_path / "a.h5")
    np.testing.assert_array_equal(data.s_train, S)
    np.testing.assert_array_equal(data.points, GRID)
    np.testing.assert_array_equal(data.sensors, GRID)


def test_points_may_be_given_as_an_array_or_a_file(file, tmp_path):
    path = file(u=U, s=S.reshape(5, 12))
    np.save(tmp_path / "p.npy", GRID)
    np.savetxt(tmp_path / "p.csv", GRID, delimiter=",", header="x,t", comments="")
    for given in (GRID, tmp_path / "p.npy", str(tmp_path / "p.csv")):
        data = read(path, points=given, sensors=np.arange(8.0))
        np.testing.assert_array_equal(data.points, GRID)
        np.testing.assert_array_equal(data.sensors, np.arange(8.0)[:, None])


def test_netcdf(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    dataset = xarray.Dataset(
        {"u": (("run", "x"), U[:, :4]), "s": (("run", "component", "x", "t"), np.stack([S, -S], 1))},
        {"x": X, "t": T, "component": ["p", "v"]},
    )
    dataset.to_netcdf(tmp_path / "a.nc")
    for source in (dataset, tmp_path / "a.nc"):
        data = read(source)
        np.testing.assert_array_equal(data.points, GRID)
        np.testing.assert_array_equal(data.sensors, X[:, None])
        np.testing.assert_array_equal(data.s_train, np.stack([S, -S], -1).reshape(5, 12, 2))
        assert data.components == ("p", "v")
    with pytest.raises(InputError, match=r"xarray.Dataset, got a DataArray. Call .to_dataset"):
        read(dataset["u"])


CASES = {
    "plain": OperatorData(
        U, S.reshape(5, 12), U[:2], S[:2].reshape(2, 12), np.arange(8.0)[:, None], GRID, "heat"
    ),
    "without a test": OperatorData(U, S.reshape(5, 12)),
    "grids": OperatorData(S, S, S[:2], S[:2], GRID, GRID),
    "components": OperatorData(U, np.stack([S, S], -1).reshape(5, 12, 2), points=GRID, components=("p", "v")),
    "several inputs": OperatorData({"k": U, "f": S}, S, {"k": U[:1], "f": S[:1]}, S[:1], points=GRID),
    "scattered": OperatorData(
        U, Scattered([0, 4, 4], GRID[:3], [1.0, 2, 3]), U[:2], Scattered([1, 0], GRID[:2], [1.0, 2])
    ),
    "scattered vectors": OperatorData(
        U, Scattered([0, 4], GRID[:2], [[1.0, 2], [3, 4]]), components=("p", "v")
    ),
}


def assert_same(data, back):
    for field in ("u_train", "s_train", "u_test", "s_test", "sensors", "points"):
        one, other = getattr(data, field), getattr(back, field)
        if isinstance(one, Scattered):
            one, other = vars(one), vars(other)
        if isinstance(one, dict):
            assert set(one) == set(other)
            for key in one:
                np.testing.assert_array_equal(one[key], other[key])
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("on_disk", [False, True])
def test_xarray_and_back(case, on_disk, tmp_path):
    pytest.importorskip("xarray")
    data = CASES[case]
    dataset = data.to_xarray()
    if on_disk:
        pytest.importorskip("h5netcdf")
        dataset.to_netcdf(tmp_path / f"{data.name or 'data'}.nc", engine="h5netcdf")
        dataset = tmp_path / f"{data.name or 'data'}.nc"
    back = read(dataset)
    assert back.components == data.components
    assert back.name == (data.name or ("data" if on_disk else ""))
    assert_same(data, back)


@pytest.mark.parametrize("case", CASES)
def test_arrays_and_back(case, tmp_path):
    write_data(tmp_path / "a.npz", CASES[case].to_arrays())
    assert_same(CASES[case], read(tmp_path / "a.npz"))


def test_memory_is_asked_for_before_it_is_taken(tmp_path, monkeypatch):
    for name in ("u", "s"):
        np.save(tmp_path / f"{name}.npy", np.ones((1000, 1000)))
    monkeypatch.setattr(guard, "available", lambda: 10**7)
    with pytest.raises(NotEnoughMemory, match=r"15.3 MiB of memory; 9.54 MiB are free.*--memory 2GB"):
        read(tmp_path)
    u, s, _, _ = open_pairs(tmp_path)
    assert u.shape == s.shape == (1000, 1000)

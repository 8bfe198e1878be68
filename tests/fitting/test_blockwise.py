"""Fits from disk: the same as in memory, in bounded blocks, with checkpoints that are worth something."""

import numpy as np
import pytest

from elmonet import (
    SLFN,
    ELMDeepONet,
    FileError,
    InputError,
    Linear,
    NotEnoughMemory,
    Ridge,
    fit_blocks,
    predict_blocks,
    problems,
)
from elmonet.data.lazy import Blocks
from elmonet.fitting.checkpoint import Checkpoint
from elmonet.memory import block_rows, bytes_of
from elmonet.store import read, write

pytestmark = pytest.mark.numerics

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def data():
    return problems.nonlinear_ode(n_train=500, n_test=20)


def model(solver=None, **settings):
    return ELMDeepONet(Linear() + SLFN(60, "tanh", 0.5), solver=solver, random_state=0, **settings)


def difference(a, b, u):
    first, second = a.predict(u), b.predict(u)
    return np.linalg.norm(first - second) / np.linalg.norm(second)


def stored(kind, data, folder):
    if kind == "zarr":
        return [
            zarr.create_array(folder / f"{name}.zarr", data=array, chunks=(64, array.shape[1]))
            for name, array in (("u", data.u_train), ("s", data.s_train))
        ]
    if kind == "hdf5":
        file = h5py.File(folder / "data.h5", "w")
        return [file.create_dataset(n, data=a) for n, a in (("u", data.u_train), ("s", data.s_train))]
    arrays = []
    for name, array in (("u", data.u_train), ("s", data.s_train)):
        np.save(folder / f"{name}.npy", array)
        arrays.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return arrays


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "npy"])
@pytest.mark.parametrize("sums", ["gram", "tsqr"])
def test_the_same_as_in_memory(kind, sums, tmp_path):
    data = problems.nonlinear_ode(n_train=250, n_test=20, n_sensors=30, n_points=30)  # 91 features
    u, s = stored(kind, data, tmp_path)
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points)
    for workers in (1, 3):
        blockwise = fit_blocks(model(Ridge(1e-4, sums=sums)), u, s, data.points, workers=workers)
        assert difference(blockwise, whole, data.u_test) < (1e-8 if sums == "gram" else 1e-10)


def test_fit_takes_stored_arrays(data, tmp_path):
    u, s = stored("zarr", data, tmp_path)
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points)
    assert difference(model(Ridge(1e-4)).fit(u, s, points=data.points), whole, data.u_test) < 1e-8


def test_leave_one_out_with_a_second_pass(data):
    noisy = data.s_train + 0.01 * np.random.default_rng(0).normal(size=data.s_train.shape)
    chosen = fit_blocks(model(), data.u_train, noisy, data.points)
    alpha = chosen.solution_.alpha
    whole = model(Ridge(alpha)).fit(data.u_train, noisy, points=data.points)
    assert chosen.solution_.loo_error == pytest.approx(whole.solution_.loo_error, rel=1e-6)
    for other in (alpha / 10**0.5, alpha * 10**0.5):
        rival = model(Ridge(other)).fit(data.u_train, noisy, points=data.points)
        assert chosen.solution_.loo_error <= rival.solution_.loo_error


def test_leave_one_out_of_numbers(data):
    s = data.s_train[:, -1:]
    chosen = fit_blocks(model(), data.u_train, s, [[1.0]])
    whole = model(Ridge(chosen.solution_.alpha)).fit(data.u_train, s, points=[[1.0]])
    assert chosen.solution_.loo_error == pytest.approx(whole.solution_.loo_error, rel=1e-3)


class Broken:
    """An array that stops giving rows."""

    def __init__(self, array, after):
        self.array, self.shape, self.dtype, self.after = array, array.shape, array.dtype, after

    def __getitem__(self, rows):
        if rows.start >= self.after and rows.start < self.shape[0] - 1:
            raise OSError("disk gone")
        return self.array[rows]


def test_a_checkpoint_is_gone_on_from(data, tmp_path, monkeypatch):
    monkeypatch.setattr("elmonet.fitting.checkpoint._SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr("elmonet.memory._MOST_ROWS", 20)
    monkeypatch.setattr("elmonet.fitting.executors._BLOCKS_PER_ROUND", 2)
    path = tmp_path / "fit.ckpt"
    settings = {"solver": Ridge(1e-4), "scale_inputs": False}
    with pytest.raises(InputError, match="cannot be read from function 4"):
        fit_blocks(
            model(**settings),
            data.u_train,
            Broken(data.s_train, 420),
            data.points,
            checkpoint=path,
            workers=2,
        )
    assert path.exists()
    seen = []
    resumed = fit_blocks(
        model(**settings),
        data.u_train,
        data.s_train,
        data.points,
        checkpoint=path,
        workers=2,
        progress=lambda *told: seen.append(told[:2]),
    )
    assert next(done for what, done in seen if what.startswith("summing up")) > 100
    whole = fit_blocks(model(**settings), data.u_train, data.s_train, data.points, workers=2)
    np.testing.assert_array_equal(resumed.W_, whole.W_)
    assert not path.exists()


@pytest.mark.parametrize("what", ["data", "features", "points", "version", "kind", "damage"])
def test_a_checkpoint_of_something_else_is_refused(what, data, tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    u, s, points = data.u_train, data.s_train, data.points
    first = model(scale_inputs=False).partial_fit(u[:200], s[:200], points=points)
    checkpoint = Checkpoint(path, Blocks(u, s, 50))
    checkpoint.record(0, u[:200], s[:200])
    checkpoint.write(first._blocks)
    changed = model(scale_inputs=False)
    if what == "data":
        s = s + 1
    elif what == "features":
        changed.set_params(random_state=1)
    elif what == "points":
        points = points + 1
    elif what == "version":
        monkeypatch.setattr("elmonet.fitting.checkpoint.version", lambda name: "99.0")
    elif what == "kind":
        first.save(path)
    else:
        content = bytearray(path.read_bytes())
        content[-100] ^= 1
        path.write_bytes(content)
    expected = {"kind": "is a model", "damage": "damaged"}.get(what, f"with other {what}")
    with pytest.raises(FileError, match=expected):
        fit_blocks(changed, u, s, points, checkpoint=path)


def written(path, u, s, points, functions, rows):
    """A checkpoint of the first functions, in blocks of so many rows."""
    fit, checkpoint = model(scale_inputs=False), Checkpoint(path, Blocks(u, s, rows))
    for start in range(0, functions, rows):
        own = slice(start, min(start + rows, functions))
        fit.partial_fit(u[own], s[own], points=points if start == 0 else None)
        checkpoint.record(start, u[own], s[own])
    checkpoint.write(fit._blocks)


@pytest.mark.parametrize("what", ["two outputs", "an input", "two functions swapped", "the sign of zero"])
def test_a_checkpoint_knows_all_that_was_read(what, data, tmp_path):
    """Only the first and the last function were compared: 598 of 600 could change."""
    path, u, s = tmp_path / "fit.ckpt", data.u_train.copy(), data.s_train.copy()
    u[:, 0] = 0.0
    written(path, u, s, data.points, 200, 64)
    if what == "two outputs":
        s[[17, 18], 3] += 1e-9
    elif what == "an input":
        u[150, 2] *= 1 + 1e-15
    elif what == "two functions swapped":
        u[[3, 4]], s[[3, 4]] = u[[4, 3]], s[[4, 3]]
    else:
        u[5, 0] = -0.0
    with pytest.raises(FileError, match="with other data: of the 200 functions"):
        fit_blocks(model(scale_inputs=False), u, s, data.points, checkpoint=path)


@pytest.mark.parametrize("rows", [1, 30, 4096])
def test_a_checkpoint_resumes_with_blocks_of_another_size(rows, data, tmp_path, monkeypatch):
    """And what was not read yet may change."""
    path, u, s = tmp_path / "fit.ckpt", data.u_train, data.s_train.copy()
    written(path, u, s, data.points, 200, 64)
    s[200:-1] += 1.0
    monkeypatch.setattr("elmonet.memory._MOST_ROWS", rows)
    resumed = fit_blocks(model(Ridge(1e-3), scale_inputs=False), u, s, data.points, checkpoint=path)
    whole = model(Ridge(1e-3), scale_inputs=False).fit(u, s, points=data.points)
    assert difference(resumed, whole, data.u_test) < 1e-8


def test_a_checkpoint_without_a_fingerprint_is_refused(data, tmp_path):
    path = tmp_path / "fit.ckpt"
    written(path, data.u_train, data.s_train, data.points, 200, 64)
    header, arrays = read(path)
    del header["content"]
    write(path, header, arrays)
    with pytest.raises(FileError, match=r"no fingerprint.*0.2 and before.*Remove the file"):
        fit_blocks(model(scale_inputs=False), data.u_train, data.s_train, data.points, checkpoint=path)


def test_a_wrong_number_is_named_by_its_index(data):
    s = data.s_train.copy()
    s[431, 7] = np.nan
    with pytest.raises(InputError, match="function 431"):
        fit_blocks(model(), data.u_train, s, data.points)
    u = data.u_train.copy()
    u[3, 3] = np.inf
    with pytest.raises(InputError, match="X holds NaN or Inf in function 3"):
        fit_blocks(model(), u, data.s_train, data.points)


def test_memory():
    assert bytes_of("2GB") == bytes_of("2 GiB") == 2 * 2**30
    assert bytes_of(1000) == 1000
    for wrong in ("much", "GB", -1, None, "1.2.3GB"):
        with pytest.raises(InputError, match="memory must be"):
            bytes_of(wrong)
    sizes = {"m": 100, "M": 100, "p1": 1000, "q": 100}
    assert block_rows(2**30, 2, **sizes) == 4096
    assert 16 <= block_rows(int(0.42 * 2**30), 2, **sizes) < 4096
    with pytest.raises(NotEnoughMemory, match=r"needs at least .* and may take"):
        block_rows(300 * 2**20, 2, **sizes)


def test_a_fit_in_memory_asks_first(data, monkeypatch):
    monkeypatch.setattr("elmonet.memory.available", lambda: 2**28)
    with pytest.raises(NotEnoughMemory, match="fit in blocks"):
        ELMDeepONet(SLFN(80_000)).fit(data.u_train, data.s_train, points=data.points)


def test_too_little_memory_is_said_before_anything_is_read(data):
    wide = ELMDeepONet(SLFN(20_000), random_state=0)
    with pytest.raises(NotEnoughMemory, match="narrower branch"):
        fit_blocks(wide, data.u_train, data.s_train, data.points, memory="1GB")


def test_predictions_go_to_a_file(data, tmp_path):
    fitted = model().fit(data.u_train, data.s_train, points=data.points)
    u, _ = stored("zarr", data, tmp_path)
    out = zarr.create_array(tmp_path / "out.zarr", shape=(500, 100), chunks=(64, 100), dtype="f8")
    predict_blocks(fitted, u, out, rows=64)
    np.testing.assert_allclose(out[:], fitted.predict(data.u_train), rtol=1e-12)
    with pytest.raises(InputError, match="a row for each"):
        predict_blocks(fitted, u, np.empty((3, 100)))

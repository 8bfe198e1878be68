"""Files: the same bits back, and nothing but the library's own error from a damaged file."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.decomposition import PCA

from elmonet import (
    CNN,
    MLP,
    POD,
    SLFN,
    ELMDeepONet,
    ElmonetError,
    FileError,
    InputError,
    Linear,
    Pinv,
    Ridge,
    Sinusoid,
    load,
    problems,
    store,
)

MODELS = {
    "random": ELMDeepONet(SLFN(200), MLP(20), Ridge("loo"), random_state=0),
    "block and POD": ELMDeepONet(Linear() + SLFN(40, "tanh", 0.5) + MLP(8), POD(), Ridge(1e-4)),
    "printed": ELMDeepONet(SLFN(200), Sinusoid(20), Pinv(), scale_inputs=False, random_state=1),
    "default": ELMDeepONet(random_state=0),
    "path": ELMDeepONet(Linear(), Sinusoid(8, "cosine"), Ridge("gcv", alphas=[1e-3, 1.0], penalty="W")),
}


@pytest.fixture(scope="module")
def data():
    return problems.nonlinear_ode(50, 20)


def fitted(model, data):
    return model.fit(data.u_train, data.s_train, points=data.points)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_load_predicts_bit_for_bit(name, weights, data, tmp_path):
    model = fitted(MODELS[name], data)
    model.save(tmp_path / "a.elmonet", weights=weights)
    loaded = load(tmp_path / "a.elmonet")
    np.testing.assert_array_equal(loaded.predict(data.u_test), model.predict(data.u_test))
    elsewhere = [[0.123], [0.9]]
    np.testing.assert_array_equal(
        loaded.predict(data.u_test, points=elsewhere), model.predict(data.u_test, points=elsewhere)
    )
    assert repr(loaded.solution_) == repr(model.solution_)
    np.testing.assert_array_equal(loaded.W_, model.W_)
    if model.solution_.path is not None:
        np.testing.assert_array_equal(loaded.solution_.path, model.solution_.path)
    refitted = fitted(loaded, data)  # settings and seeds came along
    np.testing.assert_array_equal(refitted.predict(data.u_test), model.predict(data.u_test))


def test_in_another_process(data, tmp_path):
    model = fitted(MODELS["block and POD"], data)
    model.save(tmp_path / "operator.elmonet")
    np.save(tmp_path / "u.npy", data.u_test)
    script = """
        import numpy as np, elmonet
        print(elmonet.load("operator.elmonet").predict(np.load("u.npy")).tobytes().hex())
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert bytes.fromhex(ran.stdout.strip()) == model.predict(data.u_test).tobytes()


def test_images_scalars_and_float32(tmp_path):
    darcy = problems.darcy(12, 4, n_sensors=8, n_points=6)
    model = fitted(ELMDeepONet(CNN(30, channels=(2, 3), hidden=8), random_state=0), darcy)
    model.save(tmp_path / "image")
    np.testing.assert_array_equal(load(tmp_path / "image").predict(darcy.u_test), model.predict(darcy.u_test))
    ode = problems.antiderivative(30, 5)
    u = ode.u_train.astype(np.float32)
    model = ELMDeepONet(SLFN(20), random_state=0).fit(u, ode.s_train[:, -1].astype(np.float32))
    model.save(tmp_path / "scalar")
    again = load(tmp_path / "scalar").predict(u)
    assert again.dtype == np.float32
    assert again.shape == (30,)
    np.testing.assert_array_equal(again, model.predict(u))


def test_wide_models_stay_small(data, tmp_path):
    model = fitted(ELMDeepONet(SLFN(10_000), Sinusoid(10), Ridge(1e-3), random_state=0), data)
    model.save(tmp_path / "seed", inputs=False, bands=False)
    model.save(tmp_path / "bands", inputs=False)
    model.save(tmp_path / "full", weights=True)
    W = 8 * 10_000 * 10
    small = (tmp_path / "seed").stat().st_size
    record = model._fitted().record.arrays(inputs=False)
    assert small < W + sum(array.nbytes for array in record.values()) + 20_000
    assert (tmp_path / "bands").stat().st_size < small + 50 * 8 * 10_000 + 30_000
    assert (tmp_path / "full").stat().st_size > W + 8 * 10_000 * 100


def test_a_thousand_mutations(data, tmp_path):
    model = fitted(ELMDeepONet(Linear() + SLFN(20, "tanh"), POD(4), random_state=0), data)
    path, broken = tmp_path / "whole", tmp_path / "broken"
    model.save(path)
    whole, truth = path.read_bytes(), model.predict(data.u_test)
    header_size = 8 + int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(0)
    loaded = 0
    for trial in range(1000):
        mutated = bytearray(whole)
        where = int(rng.integers(header_size if trial % 2 else len(whole)))
        kind = trial % 5
        if kind == 0:
            mutated[where] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            mutated[where] = int(rng.integers(256))
        elif kind == 2:
            del mutated[where:]
        elif kind == 3:
            mutated[where:where] = rng.bytes(int(rng.integers(1, 9)))
        else:
            del mutated[where : where + int(rng.integers(1, 9))]
        broken.write_bytes(mutated)
        try:
            predicted = load(broken).predict(data.u_test)
        except ElmonetError:
            continue
        loaded += 1
        np.testing.assert_array_equal(predicted, truth)
    assert loaded < 100  # most mutations must be found, whether or not they would do harm


def test_files_that_are_not_ours(data, tmp_path):
    path = tmp_path / "file"
    with pytest.raises(FileError, match="there is no file"):
        load(path)
    for content in (b"", b"\x80\x04K\x01.", b"PK\x03\x04" + bytes(50), os.urandom(300)):
        path.write_bytes(content)
        with pytest.raises(FileError, match="not a complete elmonet model"):
            load(path)
    save_file({"w": np.ones(3)}, path)
    with pytest.raises(FileError, match="not an elmonet model"):
        load(path)
    model = fitted(MODELS["random"], data)
    model.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"version":"2"', b'"version":"3"'))
    with pytest.raises(FileError, match=r"newer elmonet \(file version 3, .* Install a newer"):
        load(path)
    path.write_bytes(whole[:-40])
    with pytest.raises(FileError, match="truncated"):
        load(path)
    flipped = bytearray(whole)
    flipped[-20] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(FileError, match="checksum is wrong"):
        load(path)


def test_headers_that_make_no_sense(tmp_path):
    for header in (
        {},
        [],
        {"model": "ELMDeepONet"},
        {"branch": {"class": "Popen", "settings": {}, "arrays": []}},
    ):
        store.write(tmp_path / "odd", header, {"x": np.ones(2)})
        with pytest.raises(FileError):
            load(tmp_path / "odd")


def test_other_random_numbers_are_noticed(data, tmp_path, monkeypatch):
    model = fitted(MODELS["random"], data)
    model.save(tmp_path / "a")
    plain = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: plain(seed + 1))
    with pytest.raises(FileError, match="weights=True"):
        load(tmp_path / "a")


def test_parts_of_others_are_refused_before_writing(data, tmp_path):
    model = fitted(ELMDeepONet(PCA(5)), data)
    with pytest.raises(InputError, match="this model holds a PCA"):
        model.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_a_kill_in_the_middle_leaves_the_old_file(data, tmp_path):
    path = tmp_path / "operator.elmonet"
    fitted(MODELS["random"], data).save(path)
    before = path.read_bytes()
    script = """
        import os, signal, numpy as np
        from elmonet import store
        def die(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        os.replace = die  # everything is written, nothing renamed
        store.write("operator.elmonet", {}, {"x": np.ones(1000)})
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, check=False)
    assert ran.returncode == -signal.SIGKILL
    assert path.read_bytes() == before


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "a"
    store.write(path, {"old": 1}, {"x": np.ones(1)})

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"cannot write .*No space left.*Make room"):
        store.write(path, {"new": 2}, {"x": np.ones(1)})
    assert store.read(path)[0] == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_nowhere_to_write(tmp_path):
    with pytest.raises(FileError, match=r"it is a folder\. Name a file in it"):
        store.write(tmp_path, {}, {})
    with pytest.raises(FileError, match="a file in a folder that exists"):
        store.write(tmp_path / "missing" / "a", {}, {})


def test_the_header_is_readable_json(data, tmp_path):
    fitted(MODELS["printed"], data).save(tmp_path / "a")
    raw = (tmp_path / "a").read_bytes()
    metadata = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
    header = json.loads(metadata["header"])
    assert header["branch"]["class"] == "SLFN"
    assert header["solution"]["rank_B"] == 50


ANSWERS = Path(__file__).parent / "files"


@pytest.mark.parametrize("path", sorted(ANSWERS.glob("*.elmonet")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::elmonet.ExtrapolationWarning")
def test_files_of_version_0_1(path):
    """Models that elmonet 0.1.0 saved, and what it predicted with them."""
    answers = np.load(ANSWERS / "answers.npz")
    x = np.linspace(0, 1, 12)
    model, u = load(path), answers["u"]
    X = {"several": {"f": u, "k": answers["k"]}, "auto": u / 4}.get(path.stem, u)
    predicted = model.predict(X, points=x[1:-1] if path.stem == "scattered" else None)
    if isinstance(predicted, dict):
        predicted = np.stack(list(predicted.values()), axis=-1)
    np.testing.assert_allclose(predicted, answers[path.stem], rtol=1e-12, atol=1e-12)
    kinds = {"scattered": "held out", "sums": "gcv"}
    assert model.solution_.error_kind == kinds.get(path.stem, "leave-one-out")
    if path.stem == "sums":
        model.partial_fit(answers["train_u"], answers["train_s"])
        assert model.solution_.alpha == 1e-6
        assert np.isfinite(model.predict(u)).all()
    if path.stem == "components":
        refitted = model.fit(
            answers["train_u"], {"s": answers["train_s"], "squared": answers["train_s"] ** 2}, x
        )
        np.testing.assert_allclose(np.stack(list(refitted.predict(u).values()), -1), predicted, atol=1e-9)

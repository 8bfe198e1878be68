"""elmonet export, invert and sensitivity."""

import json

import numpy as np
import pytest

from elmonet import SLFN, ELMDeepONet, Linear

x = np.linspace(0, 1, 12)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(60, 3)) @ np.stack([np.ones(12), x, x**2])
    s = np.cumsum(u, axis=1) / 12
    ELMDeepONet(Linear() + SLFN(10, "tanh"), random_state=0).fit(u, s, points=x).save(tmp_path / "m.elmonet")
    np.save(tmp_path / "measured.npy", s[3] + 0.01 * rng.normal(size=12))
    np.save(tmp_path / "few.npy", s[3, :2])
    np.save(tmp_path / "where.npy", x[:2, None])
    return tmp_path


def test_export(run, folder):
    code, out, err = run(*["export", "m.elmonet", "-o", "operator.c"])
    assert code == 0, err
    assert (folder / "operator.h").is_file()
    assert "'u' (12,)" in out
    code, out, err = run(*["export", "m.elmonet", "-o", "operator.m", "--points", "where.npy", "--json"])
    assert json.loads(out)["outputs"] == {"s": [2]}
    for wrong, message in (("operator.txt", ".onnx"), ("2.m", "name of its function")):
        code, out, err = run(*f"export m.elmonet -o {wrong}".split())
        assert code == 1
        assert message in " ".join(err.split())
        assert not (folder / wrong).exists()


def test_a_page_with_test_functions(run, folder):
    u = np.random.default_rng(1).normal(size=(3, 3)) @ np.stack([np.ones(12), x, x**2])
    np.savez(folder / "new.npz", u=u, s=np.cumsum(u, axis=1) / 12)
    np.savez(folder / "inputs.npz", u=u)
    page = ["export", "m.elmonet", "-o", "operator.html"]
    code, out, err = run(*page, "--test", "new.npz", "--title", "Rods & beams")
    assert code == 0, err
    assert "wrote operator.html" in out
    text = (folder / "operator.html").read_text("utf-8")
    assert "<title>Rods &amp; beams</title>" in text
    assert '"Test 3"' in text
    for wrong, message in (("inputs.npz", "no outputs to compare with"), ("none.npz", "none.npz")):
        code, out, err = run(*page, "--test", wrong)
        assert code == 1
        assert message in " ".join(err.split())


def test_invert(run, folder):
    code, out, err = run(
        *[
            "invert",
            "m.elmonet",
            "measured.npy",
            "--noise",
            "0.01",
            "--samples",
            "200",
            "-o",
            "post.npz",
            "--json",
        ]
    )
    assert code == 0, err
    with np.load(folder / "post.npz") as post:
        assert post["u_samples"].shape == (200, 12)
        assert (post["u_low"] < post["u"]).all()
    assert json.loads(out)["r_hat"] < 1.1
    assert run(*["invert", "m.elmonet", "few.npy", "--noise", "0.01", "--points", "where.npy"])[0] == 0
    for wrong, message in (
        ("few.npy --noise 0.01", "shape"),
        ("measured.npy --noise 0", "standard deviation"),
    ):
        code, out, err = run(*f"invert m.elmonet {wrong}".split())
        assert code == 1
        assert message in " ".join(err.split())


def test_sensitivity(run, folder):
    code, out, err = run(*["sensitivity", "m.elmonet", "-n", "128", "--json"])
    assert code == 0, err
    assert json.loads(out)["total"]["u"] == pytest.approx(1, abs=0.1)

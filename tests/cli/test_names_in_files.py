"""A model remembers the names in the file that it was fitted to: the same file needs no flags again."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from elmonet import ELMDeepONet, Linear, load, read

FIT = "-o m.elmonet --width 20"
NAMES = {"input": "Force", "output": "Disp", "points": "Time", "sensors": "Time"}
X = np.linspace(0, 1, 12)


def waves(n=30, seed=0):
    a, b = np.random.default_rng(seed).standard_normal((2, n, 1))
    return a * np.sin(2 * X) + b * np.cos(X), a * (1 - np.cos(2 * X)) / 2 + b * np.sin(X)


def names_of(path):
    with np.load(path) as file:
        return {name: file[name].shape for name in file.files}


def texts_in(picture):
    """The texts of a picture, which matplotlib writes as comments beside their outlines."""
    return re.findall("<!-- (.*?) -->", Path(picture).read_text())


def test_names_of_one_input_and_one_output(ok, tmp_path):
    force, disp = waves()
    np.savez("data.npz", Force=force, Disp=disp, Time=X, Other=force)
    ok("fit data.npz --input Force --output Disp --points Time", FIT)
    assert load("m.elmonet").file_names_ == NAMES
    out = ok("predict m.elmonet data.npz -o p.npz --interval 0.9")
    assert "relative error against the file's own outputs" in out
    expected = {"Disp": (30, 12), "Disp_low": (30, 12), "Disp_high": (30, 12), "points": (12, 1)}
    assert names_of("p.npz") == expected
    np.testing.assert_allclose(np.load("p.npz")["Disp"], disp, atol=1e-3)
    ok("plot m.elmonet data.npz -o a.svg")
    ok("plot m.elmonet data.npz -o b.svg --interval 0.9")
    for picture in ("a.svg", "b.svg"):
        assert "Disp(Time)" in texts_in(picture)
    assert "Force(Time)" in texts_in("a.svg")
    assert "Force (N, 12)" in ok("info m.elmonet")
    assert "Disp (N, 12) at 12 points" in ok("info m.elmonet")
    assert json.loads(ok("info m.elmonet --json"))["file_names"]["output"] == "Disp"
    np.savez("pool.npz", Force=waves(seed=1)[0], Other=force)
    ok("suggest m.elmonet pool.npz -n 3 -o next.npz")
    assert names_of("next.npz") == {"index": (3,), "Force": (3, 12)}


def test_inputs_alone_in_another_file(ok, tmp_path):
    force, disp = waves()
    np.savez("data.npz", Force=force, Disp=disp, Time=X)
    ok("fit data.npz --input Force --output Disp --points Time", FIT)
    np.savez("new.npz", Force=force[:4], Noise=2 * force[:4])  # both have the shape of the inputs
    ok("predict m.elmonet new.npz -o p.npz")
    np.testing.assert_allclose(np.load("p.npz")["Disp"], disp[:4], atol=1e-3)
    np.savez("unnamed.npz", signal=force[:4])
    ok("predict m.elmonet unnamed.npz -o p.npz")
    np.testing.assert_allclose(np.load("p.npz")["Disp"], disp[:4], atol=1e-3)


def test_several_inputs_keep_their_case(ok, tmp_path):
    u, s = waves()
    k = np.random.default_rng(1).uniform(size=(30, 1))
    np.savez("data.npz", T_bc=u, K0=k, T_end=s + k, x=X)
    ok("fit data.npz --input T_bc --input K0 --output T_end", FIT)
    model = load("m.elmonet")
    assert model.inputs_.names == ("T_bc", "K0")
    assert read("data.npz", input=["T_bc", "K0"], output="T_end").u_train.keys() == {"T_bc", "K0"}
    assert "relative error" in ok("predict m.elmonet data.npz -o p.npz")
    assert names_of("p.npz") == {"T_end": (30, 12), "points": (12, 1)}
    ok("plot m.elmonet data.npz -o a.png")


def test_models_of_0_2_have_names_in_lower_case(ok, tmp_path):
    u, s = waves()
    k = np.random.default_rng(1).uniform(size=(30, 1))
    model = ELMDeepONet(Linear()).fit({"t_bc": u, "k0": k}, s + k, points=X)
    model.save("m.elmonet")
    np.savez("data.npz", T_bc=u, K0=k, u=u, s=s + k)
    ok("predict m.elmonet data.npz -o p.npz --input T_bc --input K0")
    np.testing.assert_allclose(np.load("p.npz")["s"], s + k, atol=1e-6)
    ok("predict m.elmonet data.npz -o p.npz")
    np.testing.assert_allclose(np.load("p.npz")["s"], s + k, atol=1e-6)


def test_functions_in_columns(ok, tmp_path):
    force, disp = waves()
    np.savez("data.npz", Force=force.T, Disp=disp.T)
    np.save("x.npy", X)
    ok("fit data.npz --input Force --output Disp --transpose --points x.npy", FIT)
    assert load("m.elmonet").file_names_["transpose"] is True
    assert "relative error" in ok("predict m.elmonet data.npz -o p.npz")
    np.testing.assert_allclose(np.load("p.npz")["Disp"], disp, atol=1e-3)
    np.savez("rows.npz", Force=force[:4])
    ok("predict m.elmonet rows.npz -o p.npz")
    np.testing.assert_allclose(np.load("p.npz")["Disp"], disp[:4], atol=1e-3)


def test_several_inputs_in_columns_and_in_a_struct(ok, tmp_path):
    u, s = waves()
    k = np.random.default_rng(1).uniform(size=(30, 1))
    whole = {"T_bc": u, "K0": k, "T_end": s + k}
    np.savez("columns.npz", **{name: array.T for name, array in whole.items()}, x=X[:, None])
    np.savez("rows.npz", **whole, x=X)
    np.savez("inputs.npz", T_bc=u, K0=k)
    np.savez("struct.npz", **{f"run/{name}": array for name, array in whole.items()}, **{"run/x": X})
    ok("fit columns.npz --input T_bc --input K0 --output T_end --transpose", FIT)
    for name in ("columns.npz", "rows.npz", "inputs.npz", "struct.npz"):
        ok(f"predict m.elmonet {name} -o p.npz")
        np.testing.assert_allclose(np.load("p.npz")["T_end"], s + k, atol=1e-2)


def test_training_and_test_functions(ok, tmp_path):
    u, s = waves(40)
    np.savez("data.npz", Force_train=u[:30], Disp_train=s[:30], Force_test=u[30:], Disp_test=s[30:], Time=X)
    ok("fit data.npz --input Force --output Disp --points Time", FIT)
    assert load("m.elmonet").file_names_ == NAMES
    assert "10 test functions" in ok("predict m.elmonet data.npz -o p.npz")
    assert names_of("p.npz")["Disp"] == (10, 12)


def test_a_long_table(ok, tmp_path):
    force, disp = waves(6)
    rows = [(i, t, force[i, j], disp[i, j]) for i in range(6) for j, t in enumerate(X)]
    np.savetxt("long.csv", rows, delimiter=",", header="run,t,Force,Disp", comments="")
    ok("fit long.csv --index run --input Force --output Disp", FIT)
    assert "relative error" in ok("predict m.elmonet long.csv -o p.npz")
    assert names_of("p.npz")["Disp"] == (6, 12)


def test_in_blocks(ok, tmp_path):
    force, disp = waves()
    Path("data").mkdir()
    for name, array in {"Force": force, "Disp": disp, "Time": X}.items():
        np.save(f"data/{name}.npy", array)
    ok("fit data --input Force --output Disp --points Time -o m.elmonet --memory 2GB --width 20")
    assert load("m.elmonet").file_names_["input"] == "Force"
    assert "relative error" in ok("predict m.elmonet data -o p.npz")


def test_names_given_again_overrule(ok, tmp_path):
    force, disp = waves()
    np.savez("data.npz", Force=force, Other=0 * force, Disp=disp, Time=X)
    ok("fit data.npz --input Force --output Disp --points Time", FIT)
    ok("predict m.elmonet data.npz -o p.npz --input Other")
    assert np.abs(np.load("p.npz")["Disp"]).max() < 0.1


def test_names_that_no_file_can_hold(ok, tmp_path):
    h5py = pytest.importorskip("h5py")
    force, disp = waves()
    with h5py.File("data.h5", "w") as file:
        file["run/in put"], file["run/out-put"], file["x"] = force, disp, X
    model = ELMDeepONet(Linear()).fit(force, disp, points=X)
    model._with_file_names({"input": "run/in put", "output": "run/out-put", "points": "x"})
    model.save("m.elmonet")
    ok("predict m.elmonet data.h5 -o p.mat")
    assert {"out_put", "points"} <= set(loadmat("p.mat"))


def test_names_travel_with_the_model(tmp_path):
    import pickle

    u, s = waves()
    model = ELMDeepONet(Linear()).fit(u, s, points=X)._with_file_names({"input": "Force"})
    assert pickle.loads(pickle.dumps(model)).file_names_ == {"input": "Force"}
    assert model.calibrate(*waves(20, seed=3)).file_names_ == {"input": "Force"}
    assert ELMDeepONet(Linear()).fit(u, s, points=X).file_names_ == {}

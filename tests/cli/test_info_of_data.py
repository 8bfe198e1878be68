"""elmonet info on files that it understands, and on others; names of files that are not there."""

import json

import numpy as np
from safetensors.numpy import save_file


def test_a_file_that_is_not_understood_exits_with_1(run, tmp_path):
    np.savez("odd.npz", a=np.ones((5, 3)), b=np.ones((4, 2)))
    code, out, err = run("info", "odd.npz")
    assert code == 1
    assert "a (5, 3) float64" in out  # what is in the file is shown all the same
    assert "cannot tell which arrays" in err
    assert "cannot tell" not in out
    code, out, err = run("info", "odd.npz", "--json")
    assert code == 1
    assert json.loads(out)["roles"] is None
    assert "cannot tell which arrays" in json.loads(out)["error"]
    assert run("info", "odd.npz", "--input", "a", "--output", "b")[0] == 1


def test_what_does_not_fit_is_named(run, tmp_path):
    np.savez("counts.npz", u=np.ones((50, 3)), s=np.ones((40, 2)))
    code, _, err = run("info", "counts.npz")
    assert (code, "got 50 and 40" in err) == (1, True)
    np.savez("points.npz", u=np.ones((50, 3)), s=np.ones((50, 30)), points=np.ones(29))
    code, _, err = run("fit", "points.npz", "-o", "m.elmonet")
    assert code == 1
    assert "points (29,) does not fit the outputs s (50, 30)" in err


def test_only_similar_names_are_suggested(run, tmp_path):
    np.savez("five.npz", u=np.ones((5, 3)))
    code, _, err = run("info", "nofile.npz")
    assert code == 1
    assert err == "elmonet: there is no file or folder 'nofile.npz'.\n"
    assert "Did you mean 'five.npz'?" in run("info", "fiv.npz")[2]


def test_safetensors_hold_functions_or_a_model(ok, run, tmp_path):
    save_file({"u": np.ones((5, 3)), "s": np.ones((5, 2))}, "a.safetensors")
    assert "input functions: u (5, 3)" in ok("info a.safetensors")
    code, _, err = run("predict", "a.safetensors", "a.safetensors", "-o", "p.npz")
    assert code == 1
    assert "is a file of functions (safetensors) and not a model" in err
    from elmonet import ELMDeepONet

    rng = np.random.default_rng(0)
    model = ELMDeepONet(random_state=0).fit(rng.standard_normal((9, 3)), rng.standard_normal((9, 3)))
    model.save("m.safetensors")
    assert "elmonet model" in ok("info m.safetensors")

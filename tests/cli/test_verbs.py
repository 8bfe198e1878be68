"""The verbs on files with known answers, as a user would chain them."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from elmonet import ELMDeepONet, LayeredELMDeepONet, Linear, Scattered, load, problems, read, relative_l2

BUDGET = ("--time-budget", "0.3")
VERBS = ("fit", "predict", "compare", "suggest", "info", "plot", "make", "convert", "reproduce", "doctor")
X = np.linspace(0, 1, 30)


def waves(n, seed=0, x=X):
    """Input functions a sin(2x) + b cos(x) + c and their integrals from 0, both exact."""
    a, b, c = np.random.default_rng(seed).standard_normal((3, n, 1))
    return a * np.sin(2 * x) + b * np.cos(x) + c, a * (1 - np.cos(2 * x)) / 2 + b * np.sin(x) + c * x


def is_png(path):
    return path.read_bytes()[:4] == b"\x89PNG" and path.stat().st_size > 5000


def test_from_nothing_to_a_picture(ok, tmp_path):
    out = ok("make antiderivative --n-train 40 --n-test 10 -o data.npz")
    assert "40 training and 10 test functions" in out
    out = ok("info data.npz")
    assert "  u_train (40, 100) float64, -" in out
    assert "elmonet fit would take:\n  input functions: u_train (40, 100)\n" in out
    out = ok("fit data.npz -o operator.elmonet", *BUDGET)
    assert "\n  Model:           linear" in out
    assert out.endswith(" s; wrote operator.elmonet\n")
    assert float(re.search(r"Error on the file's test functions: (\S+)\.\n", out)[1]) < 1e-10
    out = ok("info operator.elmonet")
    assert "input functions: u (N, 100)" in out
    assert "(N, 100) at 100 points in 1-D" in out
    assert "points from 0 to 1\n" in out
    out = ok("predict operator.elmonet data.npz -o predictions.npz")
    assert "10 test functions" in out
    assert float(re.search(r"the file's own outputs: (\S+)", out)[1]) < 1e-10
    predicted = np.load(tmp_path / "predictions.npz")
    data = read(tmp_path / "data.npz")
    assert relative_l2(predicted["s"], data.s_test) < 1e-10
    assert np.array_equal(predicted["points"], data.points)
    assert "function 3: relative error" in ok("plot operator.elmonet data.npz -o fit.png --function 3")
    assert is_png(tmp_path / "fit.png")


def test_only_input_functions_and_the_training_part(ok, tmp_path):
    u, s = waves(30)
    u_test, s_test = waves(6, seed=1)
    np.savez(tmp_path / "data.npz", u_train=u, s_train=s, u_test=u_test, s_test=s_test, points=X)
    ok("fit data.npz -o m.elmonet", *BUDGET)
    np.savez(tmp_path / "new.npz", measured=u_test)
    assert "input functions: measured (6, 30)" in ok("predict m.elmonet new.npz -o p.npz")
    assert relative_l2(np.load(tmp_path / "p.npz")["s"], s_test) < 1e-8
    for name, truth in (("u_train", s), ("u_test", s_test), ("u", s_test)):  # "u": the test functions
        ok(f"predict m.elmonet data.npz -o p.npy --input {name}")
        assert relative_l2(np.load(tmp_path / "p.npy"), truth) < 1e-8


def test_at_other_points(ok, tmp_path):
    u, s = waves(40)
    np.savez(tmp_path / "data.npz", u=u, s=s, points=X)
    ok("fit data.npz -o m.elmonet", *BUDGET)
    fine = np.sort(np.random.default_rng(3).random(50))
    np.save(tmp_path / "fine.npy", fine)
    np.savetxt(tmp_path / "fine.csv", fine, header="x", comments="")
    unseen, _ = waves(5, seed=2)
    _, truth = waves(5, seed=2, x=fine)
    np.savez(tmp_path / "new.npz", u=unseen, fine=fine)
    for given in ("fine.npy", "fine.csv", "fine"):  # files, and a name in the file of functions
        ok(f"predict m.elmonet new.npz -o p.npz --points {given} --input u")
        predicted = np.load(tmp_path / "p.npz")
        assert np.array_equal(predicted["points"].ravel(), fine)
        assert relative_l2(predicted["s"], truth) < 1e-3


@pytest.mark.parametrize("ending", ["h5", "zarr", "mat", "nc", ""])
def test_converted_files_give_the_same_fit(ok, tmp_path, ending):
    for package in {"h5": ["h5py"], "zarr": ["zarr"], "nc": ["xarray", "h5netcdf"]}.get(ending, []):
        pytest.importorskip(package)
    u, s = waves(25)
    s += 0.1 * np.random.default_rng(1).standard_normal(s.shape)
    np.savez(tmp_path / "data.npz", v=u, w=s, where=X)
    names = "--input v --output w --points where"
    other = f"other.{ending}".rstrip(".")
    out = ok(f"convert data.npz {other}", names)
    assert "input functions: v (25, 30)" in out
    assert "wrote v (25, 30), w (25, 30), points (30,)" in out
    ok(f"convert {other} back.npz")
    back = np.load(tmp_path / "back.npz")
    assert np.array_equal(back["v"], u)
    assert np.array_equal(back["w"], s)
    block = "--width 20 --json -o m.elmonet"  # nothing is chosen: the error depends on the numbers alone
    first = json.loads(ok("fit data.npz", names, block))["loo_error"]
    assert first > 0.01
    for file in (other, "back.npz"):
        assert json.loads(ok(f"fit {file}", block))["loo_error"] == pytest.approx(first, rel=1e-6)


def test_predictions_in_files_of_all_kinds(ok, tmp_path):
    u, s = waves(20)
    np.savez(tmp_path / "data.npz", u=u, s=s, points=X)
    ok("fit data.npz -o m.elmonet", *BUDGET)
    for name in ("p.npz", "p.npy", "p.csv", "p.mat", "folder"):
        ok(f"predict m.elmonet data.npz -o {name}")
        ok(f"predict m.elmonet data.npz -o {name}")  # what was there is replaced
        assert any(
            array.size == s.size and relative_l2(np.reshape(array, s.shape), s) < 1e-8
            for array in _arrays(tmp_path / name)
        )


def _arrays(path):
    from elmonet.data.formats import open_arrays

    with open_arrays(path) as arrays:
        return [np.asarray(array) for array in arrays.values()]


@pytest.mark.parametrize(
    ("problem", "function", "point"), [("burgers", [128], 128), ("darcy_two_valued", [29, 29], 841)]
)
def test_the_benchmarks_of_the_field(ok, tmp_path, problem, function, point):
    verb = f"make {problem.replace('_', '-')} --n-train 4 --n-test 2 --seed 3 -o data.npz --json"
    made = json.loads(ok(verb))
    assert made["problem"] == problem
    assert made["arrays"]["u_train"] == [4, *function]
    assert made["arrays"]["s_test"] == [2, point]
    expected = getattr(problems, problem)(4, 2, seed=3)
    data = read(tmp_path / "data.npz")
    np.testing.assert_allclose(data.u_train, expected.u_train, rtol=0, atol=1e-12)
    np.testing.assert_allclose(data.s_test, expected.s_test, rtol=0, atol=1e-12)


def test_a_plane(ok, tmp_path):
    ok("make darcy --n-train 20 --n-test 3 -o data.npz")
    ok("fit data.npz -o m.elmonet", *BUDGET)
    assert "points from (0, 0) to (1, 1)\n" in ok("info m.elmonet")
    ok("plot m.elmonet data.npz -o fit.png")
    assert is_png(tmp_path / "fit.png")
    ok("plot m.elmonet data.npz -o fit.svg --function 2")
    assert "<svg" in (tmp_path / "fit.svg").read_text()


def test_axes_are_named_as_in_the_file(ok, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from elmonet.cli import plot as picture

    labels = []

    def keep(axes, out):
        drawn = np.ravel(axes)[0].figure.axes
        labels.append({text for ax in drawn for text in (ax.get_xlabel(), ax.get_ylabel()) if text})

    monkeypatch.setattr(picture, "save_picture", keep)
    u, s = waves(20)
    t = np.linspace(0, 3, 5)
    np.savez(tmp_path / "line.npz", u=u[:, ::2], s=s, t=X)
    np.savez(tmp_path / "plane.npz", u=u, s=s[:, :, None] * np.cos(t), x=X, t=t)
    for name in ("line", "plane"):
        ok(f"fit {name}.npz -o {name}.elmonet --width 20")
        ok(f"plot {name}.elmonet {name}.npz -o p.png")
        ok(f"plot {name}.elmonet {name}.npz -o p.png --interval 0.8")
    assert labels == [
        {"t", "s(t)", "sensor", "u"},  # the file does not say where the inputs are
        {"t", "s(t)", "minus prediction"},
        {"x", "t"},
        {"x", "t"},
    ]


def test_vectors(ok, tmp_path):
    u, s = waves(30)
    np.savez(tmp_path / "data.npz", u=u, p=s, q=s * X, points=X)
    names = "--input u --output p --output q"
    assert "components of the output: p (30, 30) and q (30, 30)" in ok("info data.npz", names)
    ok("fit data.npz -o m.elmonet", names, *BUDGET)
    assert "components: p, q\n" in ok("info m.elmonet")
    ok("predict m.elmonet data.npz -o p.npz", names)
    predicted = np.load(tmp_path / "p.npz")
    assert relative_l2(predicted["p"], s) < 1e-8
    assert relative_l2(predicted["q"], s * X) < 1e-8
    assert json.loads(ok("predict m.elmonet data.npz -o p.npz --json"))["error"] < 1e-8  # it knows its names
    for component in ("q", "1"):
        told = json.loads(ok("plot m.elmonet data.npz -o q.png --json --component", component))
        assert told["error"] < 1e-8
        assert is_png(tmp_path / "q.png")


def test_several_inputs(ok, tmp_path):
    (a, A), (b, B) = waves(40), waves(40, seed=1, x=X[::2])
    B = np.array([np.interp(X, X[::2], row) for row in B])
    np.savez(tmp_path / "data.npz", a=a, b=b, s=A - B, points=X)
    ok("fit data.npz -o m.elmonet --input a --input b --output s", *BUDGET)
    out = ok("info m.elmonet")
    assert "input functions: a (N, 30), b (N, 15)" in out
    assert json.loads(ok("info m.elmonet --json"))["inputs"] == {"a": [30], "b": [15]}
    np.savez(tmp_path / "renamed.npz", left=a[:4], right=b[:4])
    for call in ("data.npz", "renamed.npz --input left --input right"):
        ok(f"predict m.elmonet {call} -o p.npz")
        predicted = np.load(tmp_path / "p.npz")["s"]
        assert relative_l2(predicted, (A - B)[: len(predicted)]) < 1e-6
    ok("plot m.elmonet data.npz -o fit.png")
    assert is_png(tmp_path / "fit.png")


def test_values_at_points_of_their_own(ok, tmp_path):
    pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    u, _ = waves(40)
    index, points = np.repeat(np.arange(40), 15), rng.random((600, 1))
    values = np.array([waves(40, x=points[k])[1][index[k], 0] for k in range(600)])
    np.savez(tmp_path / "triples.npz", u=u, s=values, points=points, index=index)
    out = ok("fit triples.npz -o m.elmonet", *BUDGET)
    assert "scattered outputs, each value at its own point: s (600,), assigned by index" in out
    assert "predict needs --points" in ok("info m.elmonet")
    assert json.loads(ok("predict m.elmonet triples.npz -o p.npz --json"))["error"] < 0.1
    predicted = np.load(tmp_path / "p.npz")
    assert predicted["s"].shape == (600,)
    assert np.array_equal(predicted["index"], index)
    ok("plot m.elmonet triples.npz -o fit.png")
    assert is_png(tmp_path / "fit.png")
    np.save(tmp_path / "line.npy", X)
    np.savez(tmp_path / "new.npz", u=u[:3])
    ok("predict m.elmonet new.npz -o p.npz --points line.npy")
    assert relative_l2(np.load(tmp_path / "p.npz")["s"], waves(40)[1][:3]) < 0.1
    renamed = {"f": u, "v": values, "y": points, "which": index}
    np.savez(tmp_path / "renamed.npz", **renamed)
    ok("convert renamed.npz clear.h5 --input f --output v --points y --index which")
    assert "assigned by index_train (600,)" in " ".join(ok("info clear.h5").split())


def test_a_component_at_scattered_points(ok, tmp_path):
    u, _ = waves(40)
    index, points = np.repeat(np.arange(40), 15), np.random.default_rng(0).random((600, 1))
    value = np.array([waves(40, x=points[k])[1][index[k], 0] for k in range(600)])
    values = np.stack([value, 1 + value**2], axis=1)
    model = ELMDeepONet(Linear()).fit(u, Scattered(index, points, values))
    model.save(tmp_path / "m.elmonet")
    np.savez(tmp_path / "data.npz", u=u, s=values, points=points, index=index)
    wanted = relative_l2(
        model.predict(u[2:3], points=points[index == 2])[..., 1], values[None, index == 2, 1]
    )
    for band in ("", "--interval 0.8"):
        told = json.loads(ok("plot m.elmonet data.npz -o p.png --function 2 --component 1 --json", band))
        assert told["error"] == pytest.approx(wanted)
        assert is_png(tmp_path / "p.png")


def test_missing_values(ok, tmp_path):
    u, s = waves(40)
    holed = np.where(np.random.default_rng(0).random(s.shape) < 0.1, np.nan, s)
    np.savez(tmp_path / "data.npz", u=u, s=holed, points=X)
    assert f"{np.isnan(holed).sum()} NaN" in ok("info data.npz")
    ok("fit data.npz -o m.elmonet --missing ignore", *BUDGET)
    assert json.loads(ok("predict m.elmonet data.npz -o p.npz --json"))["error"] < 0.1
    assert relative_l2(np.load(tmp_path / "p.npz")["s"], s) < 0.1
    ok("plot m.elmonet data.npz -o fit.png")
    assert is_png(tmp_path / "fit.png")


def test_points_beside_the_file(ok, tmp_path):
    u, s = waves(30, x=5 * X)
    np.savez(tmp_path / "data.npz", u=u, s=s)
    np.save(tmp_path / "where.npy", 5 * X)
    out = ok("fit data.npz -o m.elmonet --points where.npy", *BUDGET)
    assert re.search(r"\n  points: .*\(30, 1\)\n", out)
    assert "points from 0 to 5\n" in ok("info m.elmonet")
    ok("plot m.elmonet data.npz -o fit.png --points where.npy")
    assert is_png(tmp_path / "fit.png")


def test_outputs_of_another_kind_are_not_compared(ok, tmp_path):
    u, s = waves(20)
    np.savez(tmp_path / "data.npz", u=u, s=s, points=X)
    ok("fit data.npz -o m.elmonet", *BUDGET)
    np.savez(tmp_path / "other.npz", u=u, s=s[:, :7])
    assert "error" not in json.loads(ok("predict m.elmonet other.npz -o p.npz --json"))


def test_every_verb_tells_programs_one_object(ok, tmp_path):
    def told(*arguments):
        return json.loads(ok(*arguments, "--json"))

    keys = {"problem", "n_train", "n_test", "arrays", "wrote"}
    assert told("make antiderivative --n-train 20 --n-test 5 -o d.npz").keys() == keys
    found = told("info d.npz")
    assert found["kind"] == "data"
    keys = {"kind", "path", "bytes", "format", "arrays", "skipped", "roles", "reasons", "error"}
    assert found.keys() == keys
    errors = {"expected_error", "expected_error_interval", "error_kind", "loo_error"}
    keys = errors | {"error_quantiles", "understood", "test_error", "test_coverage", "seconds", "wrote"}
    assert told("fit d.npz -o m.elmonet", *BUDGET).keys() == keys | {"summary", "leaderboard"}
    assert told("fit d.npz -o b.elmonet --width 20").keys() == keys | {"alpha"}
    keys = errors | {"error_quantiles", "understood", "functions", "alpha", "rate", "seconds", "wrote"}
    assert told("fit d.npz -o b.elmonet --width 20 --memory 1GB").keys() == keys
    model = told("info m.elmonet")
    assert model["kind"] == "model"
    assert (model["input_shape"], model["output_shape"], model["points"]) == ([100], [100], [100, 1])
    assert (model["low"], model["high"]) == ([0], [1])
    keys = {
        "branch",
        "trunk",
        "expected_error",
        "error_kind",
        "residual",
        "alpha",
        "condition",
        "bytes",
        "path",
    }
    assert keys < model.keys()
    found = told("predict m.elmonet d.npz -o p.npz")
    assert found.keys() == {"functions", "training_functions", "shapes", "seconds", "wrote", "error"}
    assert found["shapes"] == {"s": [5, 100]}
    keys = {"function", "training_function", "error", "wrote"}
    assert told("plot m.elmonet d.npz -o p.png").keys() == keys
    assert told("check d.npz").keys() == {"understood", "functions", "suspects"}
    found = told("convert d.npz d.mat")
    assert found.keys() == {"understood", "arrays", "wrote"}
    assert found["arrays"]["u_train"] == [20, 100]


def test_json_has_no_nan(ok, tmp_path):
    np.savez(tmp_path / "data.npz", u=np.array([[np.inf, 1.0], [2.0, 3.0]]), s=np.ones((2, 2)))
    out = ok("info data.npz --json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert found["arrays"][0]["max"] is None


def test_lines_fit_the_terminal(ok, tmp_path, monkeypatch):
    u, s = waves(20)
    np.savez(tmp_path / "data.npz", u=u, s=s, points=X)
    for width in (60, 95):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = ok("fit data.npz -o m.elmonet", *BUDGET).splitlines()
        lines += ok("info m.elmonet").splitlines() + ok("convert data.npz d.mat").splitlines()
        assert max(map(len, lines)) <= width
        assert max(map(len, lines)) > width - 20


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(run, verb):
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert out == run(verb, "-h")[1]
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    examples = re.findall(rf"^ elmonet {verb}.*$", out.partition("Examples")[2], re.MULTILINE)
    assert examples
    assert "--json" in out


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    for word in (*VERBS, "--version", "--debug", "--install-completion", "--show-completion"):
        assert re.search(rf"│ {word} ", out)


def test_completion():
    script = "import sys; from elmonet.cli import main; sys.argv = ['elmonet']; main()"
    asked = {"_ELMONET_COMPLETE": "complete_bash", "COMP_WORDS": "elmonet pre", "COMP_CWORD": "1"}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=asked)
    assert ran.stdout.split() == ["predict"]


def test_progress_goes_to_standard_error(run, tmp_path):
    u, s = waves(20)
    np.savez(tmp_path / "data.npz", u=u, s=s, points=X)
    _, out, err = run("fit", "data.npz", "-o", "m.elmonet", *BUDGET)
    assert "100% done" in err
    assert not re.search(r"\d%", out)  # errors are printed as "2.1 %"


def test_a_model_from_the_command_line_is_one_for_python(ok, tmp_path):
    data = problems.antiderivative(n_train=30, n_test=5)
    np.savez(tmp_path / "data.npz", **data.to_arrays())
    ok("fit data.npz -o m.elmonet", *BUDGET)
    ok("predict m.elmonet data.npz -o p.npz")
    assert np.array_equal(load(tmp_path / "m.elmonet").predict(data.u_test), np.load(tmp_path / "p.npz")["s"])


def test_functions_in_columns(ok, tmp_path):
    u, s = waves(40)
    np.savez(tmp_path / "rows.npz", u=u, s=s, x=X)
    np.savez(tmp_path / "columns.npz", u=u.T, s=s.T, x=X)
    for call in ("info columns.npz", "convert columns.npz out.npz", "fit columns.npz -o m.elmonet --width 9"):
        said = " ".join(ok(call).split())
        assert "x (30,) fits their columns and not their rows. If each column is a function: --tra" in said
    out = ok("fit columns.npz -o m.elmonet --transpose", *BUDGET)
    assert "each column is a function" in out
    assert "input functions: u (N, 30)" in ok("info m.elmonet")
    assert "columns and not" not in ok("info columns.npz --transpose")
    ok("convert columns.npz out.npz --transpose")
    assert np.array_equal(read(tmp_path / "out.npz").u_train, u)
    np.savez(tmp_path / "new.npz", measured=u.T)
    for name in ("columns.npz", "new.npz"):
        ok(f"predict m.elmonet {name} -o p.npz --transpose")
        assert relative_l2(np.load(tmp_path / "p.npz")["s"], s) < 1e-8
    ok("plot m.elmonet columns.npz -o fit.png --transpose --function 39")
    assert is_png(tmp_path / "fit.png")
    width = "-o m.elmonet --width 9 --memory 1GB --json"
    in_blocks = [json.loads(ok("fit", call, width)) for call in ("rows.npz", "columns.npz --transpose")]
    assert in_blocks[0]["loo_error"] == pytest.approx(in_blocks[1]["loo_error"], rel=1e-6)


def test_a_larger_limit_of_size(ok, run, tmp_path):
    np.savez_compressed(tmp_path / "data.npz", u=np.zeros((500, 400)), s=np.zeros((500, 400)))
    for call in (
        "info data.npz",
        "convert data.npz out.npz",
        "fit data.npz -o m",
        "fit data.npz -o m --memory 1GB",
    ):
        code, _, err = run(*call.split(), "--max-size", "1MB")
        assert code == 1
        assert re.search(r"elmonet: 'data.npz' has .* unpacks to .*the limit is 1 MiB.*--max-size 1GB", err)
    ok("info data.npz --max-size 1GB")
    ok("convert data.npz out.npz --max-size 4MB")


def test_files_through_links(ok, run, tmp_path):
    ok("make antiderivative --n-train 20 --n-test 5 -o data.npz")
    (tmp_path / "far").mkdir()
    for name in ("m.elmonet", "p.npz", "fit.png"):
        (tmp_path / name).symlink_to(tmp_path / "far" / name)
    ok("fit data.npz -o m.elmonet --width 20")
    ok("predict m.elmonet data.npz -o p.npz")
    ok("plot m.elmonet data.npz -o fit.png")
    for name in ("m.elmonet", "p.npz", "fit.png"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "far" / name).stat().st_size > 1000
    (tmp_path / "null.png").symlink_to("/dev/null")
    for call in (
        "plot m.elmonet data.npz -o null.png",
        "fit data.npz -o /dev/null",
        "reproduce --json /dev/null",
    ):
        code, _, err = run(*call.split())
        assert (code, "it is a device, not a file" in err) == (1, True)


def test_layers_from_fit_to_a_finer_grid(ok, tmp_path):
    ok("make burgers --n-train 60 --n-test 5 -o data.npz")
    out = ok("fit data.npz -o m.elmonet --layers 1", *BUDGET)
    assert "Layer 1:" in out
    out = ok("info m.elmonet")
    assert "layers: 1, from " in out
    assert "periodic: yes" in out
    facts = json.loads(ok("info m.elmonet --json"))
    assert facts["error_kind"] == "held out"
    assert len(facts["layers"]) == 1
    out = ok("predict m.elmonet data.npz -o p.npz")
    assert "5 test functions" in out
    fine = problems.burgers(n_train=1, n_test=5, n_points=255)  # the same functions at twice as many points
    np.savez(tmp_path / "fine.npz", u=fine.u_test, s=fine.s_test, points=fine.points)
    ok("predict m.elmonet fine.npz -o q.npz")
    coarse, found = np.load(tmp_path / "p.npz")["s"], np.load(tmp_path / "q.npz")["s"]
    assert found.shape == (5, 255)
    assert ok("plot m.elmonet data.npz -o fit.png")
    assert is_png(tmp_path / "fit.png")
    data = read(tmp_path / "data.npz")
    assert relative_l2(coarse, data.s_test) < 0.3


def test_a_layered_model_that_keeps_no_layer(ok, tmp_path):
    """No layer reduces white noise."""
    u, s = waves(20)
    s = s + 0.02 * np.random.default_rng(0).standard_normal(s.shape)
    model = LayeredELMDeepONet(first=ELMDeepONet(Linear()), random_state=1).fit(u, s, X)
    assert model.layers_ == []
    model.save(tmp_path / "m.elmonet")
    assert "\n  layers: 0, from Linear()\n" in ok("info m.elmonet")
    assert json.loads(ok("info m.elmonet --json"))["layers"] == []


def test_layers_belong_to_the_search(run, tmp_path):
    u, s = waves(30)
    np.savez(tmp_path / "data.npz", u=u, s=s, points=X)
    code, _, err = run(*["fit", "data.npz", "-o", "m.elmonet", "--layers", "2", "--width", "50"])
    assert code == 1
    assert "--layers" in err


def test_groups_by_the_name_of_their_labels(ok, run, tmp_path):
    u, s = waves(30)
    np.savez(
        tmp_path / "data.npz",
        u=u,
        s=s + 0.01 * np.random.default_rng(0).normal(size=s.shape),
        points=X,
        run=np.arange(30) // 3,
    )
    out = ok("fit data.npz -o m.elmonet --groups run", *BUDGET)
    assert "10 groups" in out
    assert "leave-group-out" in ok("fit data.npz -o m.elmonet --groups run --memory 1GB")
    assert json.loads(ok("info m.elmonet --json"))["error_kind"] == "leave-group-out"
    code, _, err = run(*["fit", "data.npz", "-o", "m.elmonet", "--groups", "rnu"])
    assert code == 1
    assert "no such array" in err


def test_a_single_column_of_a_table_is_an_input(ok, tmp_path):
    """It was refused: "takes input functions (N, 1), there is none, but a (40,)"."""
    a = np.linspace(1, 2, 40)
    np.savetxt(tmp_path / "t.csv", np.column_stack([a, a**2]), delimiter=",", header="a,drag", comments="")
    (tmp_path / "new.csv").write_text("a,b\n1.25,7\n1.75,8\n")
    ok("fit t.csv --input a --output drag -o m.elmonet", *BUDGET)
    ok("predict m.elmonet new.csv -o p.npz")
    with np.load(tmp_path / "p.npz") as file:
        np.testing.assert_allclose(file["drag"].ravel(), [1.25**2, 1.75**2], rtol=0.01)

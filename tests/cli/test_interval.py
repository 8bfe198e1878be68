"""Bands from the command line: written beside predictions, counted against known outputs, drawn."""

import json
import re

import numpy as np
import pytest

from elmonet import SLFN, ELMDeepONet, Linear, Scattered, load

X = np.linspace(0, 1, 25)


def curves(n, seed):
    """Inputs a sin(6x) + b, and outputs that are not linear in a."""
    a, b = np.random.default_rng(seed).standard_normal((2, n, 1))
    return a * np.sin(6 * X) + b, a**2 * X + b * np.cos(3 * X)


U, S = curves(50, seed=0)
U_NEW, S_NEW = curves(20, seed=1)


def a_model():
    return ELMDeepONet(Linear() + SLFN(40, random_state=0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models and files that no test may change."""
    folder = tmp_path_factory.mktemp("bands")
    points = X[:, None]
    a_model().fit(U, S, points).save(folder / "m.elmonet")
    a_model().fit(U, S, points).save(folder / "plain.elmonet", bands=False)
    a_model().fit(U, {"p": S, "q": S**2}, points).save(folder / "v.elmonet")
    np.savez(folder / "new.npz", u=U_NEW)
    np.savez(folder / "known.npz", u=U_NEW, s=S_NEW, points=X)
    np.savez(folder / "vector.npz", u=U_NEW, p=S_NEW, q=S_NEW**2, points=X)
    return folder


@pytest.fixture
def here(run, folder, monkeypatch):
    """Run commands in that folder, with files written to `tmp_path`."""
    monkeypatch.chdir(folder)


def changed_outputs(model, of, coverage):
    """Outputs of the new functions: predictions, of which some values of functions 3 and 8 leave the band."""
    s = model.predict(U_NEW)
    low, high = model.interval(U_NEW, coverage, of)
    s[3, [2, 5]] = 2 * high[3, [2, 5]] - low[3, [2, 5]]
    s[8, 20] = 2 * low[8, 20] - high[8, 20]
    return s


@pytest.mark.usefixtures("here")
class TestPredict:
    @pytest.mark.parametrize("of", ["points", "function"])
    def test_ends_beside_the_predictions(self, ok, tmp_path, of):
        out = ok(f"predict m.elmonet new.npz -o {tmp_path}/p.npz --interval 0.8 --of {of}")
        assert "s_low (20, 25), s_high (20, 25), points (25, 1)" in " ".join(out.split())
        assert "inside" not in out
        found, model = np.load(tmp_path / "p.npz"), load("m.elmonet")
        low, high = model.interval(U_NEW, 0.8, of)
        for name, wanted in (("s", model.predict(U_NEW)), ("s_low", low), ("s_high", high)):
            np.testing.assert_array_equal(found[name], wanted)

    def test_single_values_unless_told(self, ok, tmp_path):
        ok(f"predict m.elmonet new.npz -o {tmp_path}/p.npz --interval 0.8")
        low, _ = load("m.elmonet").interval(U_NEW, 0.8, "points")
        np.testing.assert_array_equal(np.load(tmp_path / "p.npz")["s_low"], low)

    def test_columns_of_a_table(self, ok, tmp_path):
        ok(f"predict m.elmonet new.npz -o {tmp_path}/p.csv --interval 0.8")
        names = (tmp_path / "p.csv").read_text().splitlines()[0].split(",")
        assert names == [f"{name}{i}" for name in ("s", "s_low", "s_high") for i in range(25)]
        table = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
        np.testing.assert_array_equal(table[:, 25:50], load("m.elmonet").interval(U_NEW, 0.8)[0])

    def test_components(self, ok, tmp_path):
        ok(f"predict v.elmonet new.npz -o {tmp_path}/p.npz --interval 0.8")
        found = np.load(tmp_path / "p.npz")
        assert set(found) == {"p", "q", "p_low", "q_low", "p_high", "q_high", "points"}
        np.testing.assert_array_equal(found["q_high"], load("v.elmonet").interval(U_NEW, 0.8)[1]["q"])

    def test_at_other_points(self, ok, tmp_path):
        there = np.array([[0.21], [0.77]])
        np.save(tmp_path / "there.npy", there)
        ok(f"predict m.elmonet known.npz -o {tmp_path}/p.npz --interval 0.8 --points {tmp_path}/there.npy")
        found = np.load(tmp_path / "p.npz")
        np.testing.assert_array_equal(found["s_low"], load("m.elmonet").interval(U_NEW, 0.8, points=there)[0])

    @pytest.mark.parametrize(("of", "part"), [("points", 1 - 3 / 500), ("function", 0.9)])
    def test_coverage_of_known_outputs(self, ok, tmp_path, of, part):
        """Three values, of two functions among twenty, were moved out of their bands."""
        s = changed_outputs(load("m.elmonet"), of, 0.8)
        np.savez(tmp_path / "d.npz", u=U_NEW, s=s, points=X)
        call = f"predict m.elmonet {tmp_path}/d.npz -o {tmp_path}/p.npz --interval 0.8 --of {of}"
        words = {"points": "of all values", "function": "of whole functions"}[of]
        assert f"bands for 80 % {words}: {100 * part:.1f} % inside" in ok(call)
        told = json.loads(ok(call, "--json"))
        assert (told["coverage"], told["of"]) == (0.8, of)
        assert told["coverage_found"] == pytest.approx(part)

    def test_coverage_of_components_and_with_gaps(self, ok, tmp_path):
        """A function lies inside if all its components do; values that are not known do not count."""
        low, high = load("v.elmonet").interval(U_NEW, 0.8, "function")
        middle = {name: (low[name] + high[name]) / 2 for name in low}
        middle["p"][3, 2] = 2 * high["p"][3, 2] - low["p"][3, 2]
        middle["q"][8, 20] = 2 * low["q"][8, 20] - high["q"][8, 20]
        middle["q"][9] = np.nan
        np.savez(tmp_path / "d.npz", u=U_NEW, **middle, points=X)
        call = f"predict v.elmonet {tmp_path}/d.npz -o {tmp_path}/p.npz --interval 0.8 --json"
        call += " --output p --output q"
        assert json.loads(ok(call, "--of function"))["coverage_found"] == pytest.approx(0.9)
        low, high = load("v.elmonet").interval(U_NEW, 0.8)
        known = {name: np.isfinite(middle[name]) for name in middle}
        inside = sum(((low[n] <= middle[n]) & (middle[n] <= high[n])).sum() for n in middle)
        found = json.loads(ok(call, "--of points"))["coverage_found"]
        assert found == pytest.approx(inside / (known["p"].sum() + known["q"].sum()))

    def test_scattered_outputs(self, ok, tmp_path):
        index = np.repeat(np.arange(50), 6)
        places = np.random.default_rng(0).random((300, 1))
        places[0], places[1] = 0, 1  # function 0 alone reaches the ends: folds without it warn of nothing
        values = np.array([np.interp(x, X, S[i]) for i, x in zip(index, places[:, 0], strict=True)])
        model = ELMDeepONet(Linear()).fit(U, Scattered(index, places, values))
        model.save(tmp_path / "m.elmonet")
        low, high = model.interval(U, 0.8, points=Scattered(index, places, values))
        known = (low + high) / 2
        known[[0, 7, 8]] = high[[0, 7, 8]] + 1  # of function 0, and two of function 1
        np.savez(tmp_path / "d.npz", u=U, s=known, points=places, index=index)
        call = f"predict {tmp_path}/m.elmonet {tmp_path}/d.npz -o {tmp_path}/p.csv --interval 0.8 --json"
        assert json.loads(ok(call))["coverage_found"] == pytest.approx(0.99)
        assert (tmp_path / "p.csv").read_text().startswith("s,s_low,s_high,index,points0\n")
        assert json.loads(ok(call, "--of function"))["coverage_found"] >= 0.96
        pytest.importorskip("matplotlib")
        out = ok(f"plot {tmp_path}/m.elmonet {tmp_path}/d.npz -o {tmp_path}/p.png --interval 0.8")
        assert "function 0: relative error" in out

    @pytest.mark.parametrize(("verb", "ending"), [("predict", "npz"), ("plot", "png")])
    def test_a_model_without_bands(self, run, folder, verb, ending):
        code, _, err = run(verb, *f"plain.elmonet new.npz -o p.{ending} --interval 0.8".split())
        assert code == 1
        assert re.fullmatch("elmonet: this model has no error bars: .*\n", err)
        assert not list(folder.glob("p.*"))


@pytest.mark.usefixtures("here")
class TestPlot:
    @pytest.fixture(autouse=True)
    def drawn(self, monkeypatch):
        """The title and the legend of each picture that is saved."""
        pytest.importorskip("matplotlib")
        from elmonet.cli import plot as picture

        self.titles, self.legends = [], []

        def keep(axes, out):
            self.titles.append(" ".join(ax.get_title().replace("\n", " ") for ax in np.ravel(axes)))
            legend = np.ravel(axes)[0].get_legend()
            self.legends.append([] if legend is None else [text.get_text() for text in legend.get_texts()])
            save(axes, out)

        save = picture.save_picture
        monkeypatch.setattr(picture, "save_picture", keep)

    def test_on_a_line(self, ok, tmp_path):
        out = ok(f"plot m.elmonet known.npz -o {tmp_path}/p.png --interval 0.8 --function 3")
        assert re.match(r"function 3: relative error \S+( %)?; wrote", out)
        assert self.titles[0].startswith("known, function 3: relative error")
        assert self.legends == [["80 % of functions", "truth", "prediction"]]
        assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
        ok(f"plot m.elmonet known.npz -o {tmp_path}/p.png --interval 0.8 --of points")
        assert self.legends[1][0] == "80 % of all values"

    def test_where_the_truth_is_not_known(self, ok, tmp_path):
        assert ok(f"plot m.elmonet new.npz -o {tmp_path}/p.png --interval 0.8").startswith(
            "function 0: wrote"
        )
        assert self.titles == ["new, function 0"]
        told = json.loads(ok(f"plot m.elmonet new.npz -o {tmp_path}/p.png --interval 0.8 --json"))
        assert told["error"] is None

    def test_a_component(self, ok, tmp_path):
        call = f"plot v.elmonet vector.npz -o {tmp_path}/p.pdf --interval 0.8 --output p --output q"
        ok(call, "--component q")
        ok(call, "--component 1")
        assert self.titles[0].startswith("vector, function 0, q: ")
        assert self.titles[0] == self.titles[1]

    def test_in_a_plane(self, ok, tmp_path):
        points = np.column_stack([np.repeat(np.arange(5.0), 5), np.tile(np.arange(5.0), 5)])
        a_model().fit(U, S, points).save(tmp_path / "m.elmonet")
        np.savez(tmp_path / "d.npz", u=U_NEW, s=S_NEW, points=points)
        ok(f"plot {tmp_path}/m.elmonet {tmp_path}/d.npz -o {tmp_path}/p.png --interval 0.8")
        assert "half width for 80 % of functions" in self.titles[0]

    def test_not_in_space(self, run, tmp_path):
        points = np.random.default_rng(0).random((25, 3))
        a_model().fit(U, S, points).save(tmp_path / "m.elmonet")
        code, _, err = run(*f"plot {tmp_path}/m.elmonet new.npz -o {tmp_path}/p.png --interval 0.8".split())
        assert code == 1
        assert "these points have 3 coordinates. Write them to a file instead: elmonet predict" in err


def test_fit_tells_how_bands_hold_on_test_functions(ok, tmp_path):
    arrays = {"u_train": U, "s_train": S, "u_test": U_NEW, "s_test": S_NEW}
    np.savez(tmp_path / "d.npz", **arrays, points=X)
    out = " ".join(ok("fit d.npz -o m.elmonet --width 40").split())
    model, inside = load(tmp_path / "m.elmonet"), {}
    for of in ("points", "function"):
        low, high = model.interval(U_NEW, 0.9, of)
        inside[of] = (low <= S_NEW) & (high >= S_NEW)
    values, functions = 100 * inside["points"].mean(), 100 * inside["function"].all(axis=1).mean()
    assert f"Bands for 90 %: {values:.1f} % of values and {functions:.1f} % of whole functions inside" in out
    told = json.loads(ok("fit d.npz -o m.elmonet --width 40 --json"))["test_coverage"]
    assert told["asked"] == 0.9
    assert told["function"] == pytest.approx(inside["function"].all(axis=1).mean())


def test_fit_to_few_functions_says_nothing_of_bands(ok, tmp_path):
    """For 90 %, nine functions are needed."""
    np.savez(tmp_path / "d.npz", u_train=U[:8], s_train=S[:8], u_test=U_NEW, s_test=S_NEW, points=X)
    assert "inside" not in ok("fit d.npz -o m.elmonet --width 40")

"""elmonet compare: errors counted by hand, and a verdict that chance alone does not get."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from elmonet import ELMDeepONet, Linear, Ridge, Scattered, load, relative_l2
from elmonet.cli.compare import pairs_with_best, verdict
from elmonet.forms.components import errors_of_functions, relative_error
from elmonet.summary import percent

X = np.linspace(0, 1, 25)


def curves(n, seed):
    """Inputs a sin(6x) + b and outputs that are linear in a and b."""
    a, b = np.random.default_rng(seed).standard_normal((2, n, 1))
    return a * np.sin(6 * X) + b, a * X + b * np.cos(3 * X)


U, S = curves(50, seed=0)
U_NEW, S_NEW = curves(20, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models and files that no test may change."""
    folder = tmp_path_factory.mktemp("compare")
    for name, alpha in (("good", 1e-12), ("fair", 1.0), ("poor", 100.0)):
        ELMDeepONet(Linear(), solver=Ridge(alpha)).fit(U, S, X[:, None]).save(folder / f"{name}.elmonet")
    ELMDeepONet(Linear()).fit(U, {"p": S, "q": S**2}, X[:, None]).save(folder / "vector.elmonet")
    ELMDeepONet(Linear()).fit(U[:, :7], S, X[:, None]).save(folder / "narrow.elmonet")
    np.savez(folder / "new.npz", u=U_NEW, s=S_NEW, points=X)
    np.savez(folder / "inputs.npz", u=U_NEW)
    np.savez(folder / "train.npz", u=U, s=S, points=X)
    np.savez(folder / "unknown.npz", u=U_NEW, s=np.full_like(S_NEW, np.nan), points=X)
    return folder


@pytest.fixture
def here(run, folder, monkeypatch):
    monkeypatch.chdir(folder)


def errors_of(name):
    predicted = load(f"{name}.elmonet").predict(U_NEW)
    return np.linalg.norm(predicted - S_NEW, axis=1) / np.linalg.norm(S_NEW, axis=1)


@pytest.mark.usefixtures("here")
class TestCommand:
    def test_errors_side_by_side(self, ok):
        told = json.loads(ok("compare poor.elmonet fair.elmonet new.npz --json"))
        assert told.keys() == {"data", "functions", "models", "pairs", "verdict"}
        assert told["functions"] == 20
        for found, name in zip(told["models"], ("poor", "fair"), strict=True):
            wanted = errors_of(name)
            assert found["path"] == f"{name}.elmonet"
            assert found["error"] == pytest.approx(wanted.mean())
            assert (found["worst"], found["worst_function"]) == (pytest.approx(wanted.max()), wanted.argmax())
            assert found["expected_error"] == load(found["path"]).expected_error_
            assert found["training_functions"] == 0
            assert found["seconds"] > 0

    def test_paired_difference(self, ok):
        (pair,) = json.loads(ok("compare poor.elmonet fair.elmonet new.npz --json"))["pairs"]
        poor, fair = errors_of("poor"), errors_of("fair")
        assert (pair["better"], pair["worse"]) == ("fair.elmonet", "poor.elmonet")
        assert pair["better_on"] == (fair < poor).sum()
        assert pair["difference"] == pytest.approx((poor - fair).mean())
        assert pair["standard_error"] == pytest.approx(stats.sem(poor - fair))
        assert pair["clear"] == (stats.ttest_rel(poor, fair).pvalue < 0.05)

    def test_for_people(self, ok):
        lines = ok("compare poor.elmonet fair.elmonet new.npz").splitlines()
        assert lines[0] == "new.npz: 20 functions"
        assert lines[1].split() == ["error", "worst", "expected", "seconds", "size", "model"]
        assert lines[2].split()[:2] == percent(errors_of("poor").mean()).split()
        assert lines[3].endswith("  fair.elmonet")
        said = " ".join(" ".join(lines[4:]).split())
        assert re.fullmatch(
            r"fair.elmonet is better than poor.elmonet: the error is lower by \S+ % \(standard "
            r"error \S+ %\), on \d+ of 20 functions\.",
            said,
        )

    def test_three_models(self, ok):
        out = ok("compare poor.elmonet good.elmonet fair.elmonet new.npz")
        assert out.splitlines()[-1] == "Best: good.elmonet."
        told = json.loads(ok("compare poor.elmonet good.elmonet fair.elmonet new.npz --json"))
        assert [pair["worse"] for pair in told["pairs"]] == ["fair.elmonet", "poor.elmonet"]

    def test_training_functions_are_told(self, ok):
        out = " ".join(ok("compare poor.elmonet fair.elmonet train.npz").split())
        assert "note: 50 of these are training functions of poor.elmonet; its error on new ones is" in out

    def test_the_same_model_twice(self, ok):
        out = ok("compare fair.elmonet fair.elmonet new.npz")
        assert out.splitlines()[-1] == "fair.elmonet and fair.elmonet have the same error."

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            ("fair.elmonet new.npz", r"two models or more and then one file of functions; got 2 files"),
            ("fair.elmonet new.npz poor.elmonet", "'new.npz' is a file of functions"),
            (
                "fair.elmonet poor.elmonet good.elmonet",
                "'good.elmonet' is a model. The file of functions comes",
            ),
            ("fair.elmonet pore.elmonet new.npz", "no file or folder 'pore.elmonet'. Did you mean 'poor.elm"),
            ("fair.elmonet poor.elmonet nwe.npz", "no file or folder 'nwe.npz'. Did you mean 'new.npz'"),
            ("fair.elmonet narrow.elmonet new.npz", r"'narrow.elmonet' does not fit 'new.npz':.*\(N, 7\)"),
            ("fair.elmonet poor.elmonet inputs.npz", "known output functions, and 'inputs.npz' holds none"),
            ("fair.elmonet vector.elmonet new.npz", "'vector.elmonet' predicts other output functions"),
            ("fair.elmonet poor.elmonet unknown.npz", "holds no known output value"),
        ],
    )
    def test_files_that_do_not_fit_are_told_in_one_line(self, run, call, message):
        code, out, err = run("compare", *call.split())
        assert (code, out) == (1, "")
        assert re.fullmatch(f"elmonet: .*{message}.*\n", err)


class TestPaired:
    def test_a_difference_by_chance_is_not_clear(self):
        """Of 200 draws of equal models, about 5 % are called different."""
        rng = np.random.default_rng(0)
        clear = [
            pairs_with_best(["a", "b"], [*np.abs(rng.standard_normal((2, 10)))])[0].clear for _ in range(200)
        ]
        assert 2 <= sum(clear) <= 20

    def test_functions_that_are_hard_for_both_do_not_hide_a_difference(self):
        hard = np.geomspace(1e-3, 1, 12)
        (pair,) = pairs_with_best(["a", "b"], [hard + 1e-3, hard])
        assert (pair.better, pair.better_on, pair.functions) == ("b", 12, 12)
        assert pair.difference == pytest.approx(1e-3)
        assert pair.clear

    def test_in_words(self):
        even, odd = np.array([0.1, 0.3, 0.2]), np.array([0.3, 0.1, 0.21])
        (pair,) = pairs_with_best(["a", "b"], [odd, even])
        assert pair.in_words().startswith("b is not clearly better than a: ")
        assert "on 2 of 3 functions" in pair.in_words()
        (pair,) = pairs_with_best(["a", "b"], [odd[:1], even[:1]])
        assert "on this one function. More functions are needed" in pair.in_words()
        (pair,) = pairs_with_best(["a", "b"], [1e-14 * odd, 1e-15 * even])
        assert pair.in_words() == "b and a are both exact up to rounding."
        pairs = pairs_with_best(["a", "b", "c"], [odd, even, 1 + even])
        assert verdict(pairs) == "Lowest error: b, but it is not clearly better than a."

    def test_what_is_not_known_of_a_function_does_not_count(self):
        (pair,) = pairs_with_best(["a", "b"], [np.array([1, np.nan, 2, 2]), np.array([2, np.nan, 4, 3.0])])
        assert (pair.functions, pair.difference) == (3, pytest.approx(4 / 3))


class TestErrors:
    def test_as_the_metric(self):
        predicted = S_NEW * 1.1 + 0.01
        errors = errors_of_functions(predicted, S_NEW)
        assert errors == pytest.approx(
            [relative_l2(p[None], s[None]) for p, s in zip(predicted, S_NEW, strict=True)]
        )
        assert relative_error(predicted, S_NEW) == pytest.approx(relative_l2(predicted, S_NEW))

    def test_gaps_and_functions_that_are_not_known(self):
        truth = S_NEW[:3].copy()
        truth[0, 5:], truth[1] = np.nan, np.nan
        errors = errors_of_functions(1.25 * S_NEW[:3], truth)
        np.testing.assert_allclose(errors, [0.25, np.nan, 0.25])
        assert relative_error(1.25 * S_NEW[:3], truth) == pytest.approx(0.25)
        assert relative_error(truth, np.full_like(truth, np.nan)) is None

    def test_components_and_scattered(self):
        truth = {"p": S_NEW, "q": S_NEW}
        errors = errors_of_functions({"p": 1.1 * S_NEW, "q": 1.3 * S_NEW}, truth)
        np.testing.assert_allclose(errors, np.sqrt((0.1**2 + 0.3**2) / 2))  # all components together
        assert errors_of_functions({"p": S_NEW}, truth) is None
        own = Scattered([0, 0, 2], np.zeros((3, 1)), np.array([3.0, 4.0, 2.0]))
        np.testing.assert_allclose(errors_of_functions(np.array([3.0, 3.0, 1.0]), own), [0.2, np.nan, 0.5])

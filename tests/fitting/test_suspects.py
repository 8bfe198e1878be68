"""Training pairs that contradict the rest: found, explained, and nobody accused without grounds."""

import numpy as np
import pytest

from elmonet import (
    AutoELMDeepONet,
    ELMDeepONet,
    InfiniteWidth,
    LayeredELMDeepONet,
    Linear,
    Scattered,
    load,
    plot,
    problems,
)
from elmonet.errors import InputError
from elmonet.fitting.suspects import _outliers as outliers
from elmonet.solve import Solution, Solver

N = 150


@pytest.fixture(scope="module")
def ode():
    data = problems.nonlinear_ode(n_train=N, n_test=5, n_sensors=30, n_points=40)
    return data.u_train, data.s_train, data.points


def fitted(u, s, points, **settings):
    return ELMDeepONet(InfiniteWidth("rbf", 0.03), random_state=0).fit(u, s, points=points, **settings)


@pytest.fixture(params=range(3))
def rng(request):
    return np.random.default_rng(request.param)


def spoilt(kind, s, bad, rng):
    y, size = s.copy(), np.sqrt(np.mean(s**2))
    if kind == "swapped":
        y[bad] = s[np.roll(bad, 1)]
    elif kind == "scaled":
        y[bad] *= 1.7
    elif kind == "shifted":
        y[bad] += 0.4 * size
    elif kind == "noisy":
        y[bad] += 0.4 * size * rng.standard_normal(y[bad].shape)
    return y


@pytest.mark.numerics
@pytest.mark.parametrize("part", [0.02, 0.1])
@pytest.mark.parametrize("kind", ["swapped", "scaled", "shifted", "noisy"])
def test_spoilt_pairs_are_found_and_nearly_nobody_else(ode, kind, part, rng):
    u, s, points = ode
    bad = rng.permutation(N)[: round(part * N)]
    found = fitted(u, spoilt(kind, s, bad, rng), points).suspects()
    assert set(found.functions) >= set(bad)
    assert len(found) <= len(bad) + 2


@pytest.mark.parametrize(
    ("kind", "part", "kernel", "least"),
    [
        (
            "swapped",
            0.02,
            InfiniteWidth("matern32", 1.344),
            6,
        ),  # what is chosen from the spoilt data; 3 found
        ("swapped", 0.1, InfiniteWidth("matern52", 0.896), 29),  # 26
        ("shifted", 0.05, InfiniteWidth("matern52", 1.269), 11),  # none
        ("noisy", 0.05, InfiniteWidth("matern32", 0.754), 9),  # none
    ],
)
def test_a_model_that_wrong_pairs_have_spoilt_is_not_the_judge(kind, part, kernel, least):
    """Burgers' equation, where a model misses 6 %, at most 1 in 300 falsely accused."""
    data = problems.burgers(300, 1, n_points=64)
    rng = np.random.default_rng(0)
    bad = rng.permutation(300)[: round(part * 300)]
    s, size = data.s_train.copy(), np.sqrt(np.mean(data.s_train**2))
    if kind == "swapped":
        s[bad] = s[np.roll(bad, 1)]
    else:
        s[bad] += 0.3 * size * (1 if kind == "shifted" else rng.standard_normal(s[bad].shape))
    order = rng.permutation(300)
    model = ELMDeepONet(kernel, scale_inputs=False, random_state=0)
    found = model.fit(data.u_train[order], s[order], points=data.points).suspects().functions
    assert len(set(order[found]) & set(bad)) >= least
    assert len(set(order[found]) - set(bad)) <= 1


def test_wrong_pairs_without_a_gap_to_the_right_ones():
    """Logarithms of sizes with an exponential tail, and some beyond it."""
    accused = found = false = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sizes = np.exp(rng.choice([0.1, 0.3]) * rng.laplace(size=300))
        accused += outliers(sizes / np.median(sizes)).any()
        sizes[:15] = np.geomspace(6, 30, 15)
        mask = outliers(sizes / np.median(sizes))
        found, false = found + mask[:15].sum(), false + mask[15:].sum()
    assert accused <= 4  # data sets without wrong pairs
    assert found > 0.9 * 200 * 15
    assert false < 0.05 * found


@pytest.mark.numerics
def test_a_swapped_pair_names_its_partner(ode, rng):
    u, s, points = ode
    bad = rng.permutation(N)[:4]
    found = fitted(u, spoilt("swapped", s, bad, rng), points).suspects()
    # Row bad[k] has the output of bad[k - 1].
    for row, other in zip(bad, np.roll(bad, 1), strict=True):
        at = found.functions.tolist().index(row)
        assert found.reasons[at] == f"output: fits the input of row {other}"
        assert found.kinds[at] == "pair"


@pytest.mark.numerics
@pytest.mark.parametrize(
    ("kind", "words"),
    [("scaled", "1.7 times"), ("shifted", "shifted by"), ("noisy", "noise that other outputs do not have")],
)
def test_the_reason_says_what_was_done(ode, kind, words, rng):
    u, s, points = ode
    bad = rng.permutation(N)[:4]
    found = fitted(u, spoilt(kind, s, bad, rng), points).suspects()
    reasons = [reason for row, reason in zip(found.functions, found.reasons, strict=True) if row in bad]
    assert sum(words in reason for reason in reasons) >= 3


@pytest.mark.numerics
def test_one_wrong_value_of_an_output_is_named(ode):
    u, s, points = ode
    y = s.copy()
    y[17, 23] += 3 * np.sqrt(np.mean(s**2))
    found = fitted(u, y, points).suspects()
    assert found.functions.tolist() == [17]
    assert found.kinds == ("output value",)
    assert "value 23" in found.reasons[0]


@pytest.mark.numerics
def test_one_broken_sensor_is_named(ode):
    u, s, points = ode
    X = u.copy()
    X[40, 11] += 1.0
    found = fitted(X, s, points).suspects()
    assert found.functions.tolist() == [40]
    assert found.kinds == ("input value",)
    assert "value 11" in found.reasons[0]


def heavy_tails(kind, shape, rng):
    if kind == "values, t with 2 degrees of freedom":
        return rng.standard_t(2, size=shape)
    if kind == "functions, t with 3 degrees of freedom":
        return rng.standard_t(3, size=(shape[0], 1)) * rng.standard_normal(shape)
    if kind == "normal":
        return rng.standard_normal(shape)
    return np.zeros(shape)


@pytest.mark.numerics
@pytest.mark.parametrize(
    "kind",
    ["none", "normal", "values, t with 2 degrees of freedom", "functions, t with 3 degrees of freedom"],
)
def test_nobody_is_accused_on_clean_data_with_noise(ode, kind, rng):
    u, s, points = ode
    noise = 0.02 * np.sqrt(np.mean(s**2)) * heavy_tails(kind, s.shape, rng)
    assert len(fitted(u, s + noise, points).suspects()) == 0


@pytest.mark.numerics
def test_rounding_is_no_reason():
    rng = np.random.default_rng(0)
    u = rng.standard_normal((60, 10))
    s = u @ rng.standard_normal((10, 12))  # a linear operator: residuals are rounding
    assert len(ELMDeepONet(Linear()).fit(u, s, points=np.arange(12.0)).suspects()) == 0


@pytest.mark.numerics
def test_units_offsets_and_order_do_not_matter(ode):
    u, s, points = ode
    rng = np.random.default_rng(0)
    bad = rng.permutation(N)[:5]
    y, order = spoilt("swapped", s, bad, rng), rng.permutation(N)
    found = fitted(u, y, points).suspects()
    scaled = fitted(1e6 * u, 1e-9 * y, points).suspects()
    permuted = fitted(u[order], y[order], points).suspects()
    assert set(bad) <= set(found.functions)
    assert set(scaled.functions) == set(found.functions)
    assert set(order[permuted.functions]) == set(found.functions)


@pytest.mark.numerics
@pytest.mark.parametrize("settings", [{}, {"log_outputs": True}])
def test_outputs_far_from_zero(ode, settings):
    """Centred outputs and logarithms: each fit has units of its own."""
    u, s, points = ode
    rng = np.random.default_rng(0)
    bad = rng.permutation(N)[:5]
    y = spoilt("swapped", s, bad, rng) + 20.0
    model = ELMDeepONet(InfiniteWidth("rbf", 0.03), random_state=0, **settings).fit(u, y, points=points)
    assert set(model.suspects().functions) == set(bad)


@pytest.mark.numerics
def test_rows_are_those_of_the_data_given(ode):
    u, s, points = ode
    y = s.copy()
    y[100] *= 3
    # A function without weight is not part of the fit, and repeats are merged by the automatic choice.
    weight = np.ones(N)
    weight[:7] = 0
    found = fitted(u, y, points, sample_weight=weight).suspects()
    assert found.functions.tolist() == [100]
    assert (found.n, len(found.judged), found.keep.sum(), found.keep[100]) == (N, N - 7, N - 1, False)
    X, Y = np.concatenate([u[:5], u]), np.concatenate([y[:5], y])
    automatic = AutoELMDeepONet(layers=0, random_state=0).fit(X, Y, points=points)
    assert automatic.suspects().functions.tolist() == [105]
    assert automatic.suspects().n == N + 5


@pytest.mark.numerics
def test_scattered_outputs(ode):
    u, s, points = ode
    y = s.copy()
    y[[20, 90]] *= 40  # without fits that set functions aside, only gross errors stand out
    rng = np.random.default_rng(0)
    own = [np.sort(rng.permutation(40)[:25]) for _ in range(N)]
    data = Scattered.of([row[k] for row, k in zip(y, own, strict=True)], [points[k] for k in own])
    model = ELMDeepONet(InfiniteWidth("rbf", 0.03), random_state=0).fit(u, data)
    found = model.suspects()
    held_out = set(found.judged)
    assert set(found.functions) >= {20, 90} & held_out
    assert len(found) <= 3


def test_layers_ask_a_global_model():
    data = problems.burgers(n_train=60, n_test=2, n_points=33)
    y = data.s_train.copy()
    y[5] *= -3
    first = ELMDeepONet(InfiniteWidth("rbf", 1.0))
    model = LayeredELMDeepONet(first=("nothing", first), layers=1, width=40, random_state=0)
    model.fit(data.u_train, y, points=data.points)
    assert 5 in model.suspects().functions
    alone = LayeredELMDeepONet(first="nothing", layers=1, width=40, random_state=0)
    with pytest.raises(InputError, match='first="nothing"'):
        alone.fit(data.u_train, y, points=data.points).suspects()


def test_the_summary_and_the_report_name_them(ode, tmp_path):
    u, s, points = ode
    y = s.copy()
    y[[3, 4]] = s[[4, 3]]
    model = fitted(u, y, points)
    assert "2 of 150 training pairs contradict the rest: row" in model.summary()
    assert "Suspects" not in fitted(u, s, points).summary()
    model.report(tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text("utf-8")
    assert "Suspect training pairs" in page
    assert "output: fits the input of row 4" in page
    assert plot.suspects(model).get_title().startswith("2 of 150")


def test_printed(ode):
    u, s, points = ode
    y = s.copy()
    y[8] *= -2
    printed = str(fitted(u, y, points).suspects())
    assert printed.splitlines()[0].startswith("1 suspect among 150 functions")
    assert "output: -2 times what was expected" in printed
    assert str(fitted(u, s, points).suspects()) == "No suspects among 150 functions."


class WithoutErrors(Solver):
    def solve(self, T, B, G):
        return Solution(np.linalg.pinv(T) @ G @ np.linalg.pinv(B))


def test_what_cannot_be_judged(ode, tmp_path):
    u, s, points = ode
    with pytest.raises(InputError, match="at least 20 functions; got 15"):
        fitted(u[:15], s[:15], points).suspects()
    with pytest.raises(InputError, match=r"leaves no function out.*Ridge\(\)"):
        ELMDeepONet(Linear(), solver=WithoutErrors()).fit(u, s, points=points).suspects()
    fitted(u, s, points).save(tmp_path / "model.elmonet")
    with pytest.raises(InputError, match="loaded from a file"):
        load(tmp_path / "model.elmonet").suspects()

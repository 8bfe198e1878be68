"""LayeredELMDeepONet as a user meets it."""

import numpy as np
import pytest
from sklearn.base import clone

from elmonet import SLFN, ELMDeepONet, InputError, Linear, NotFittedError, load, relative_l2
from elmonet.data import Scattered
from elmonet.errors import ExtrapolationWarning
from elmonet.interpolation import grid_points
from elmonet.layered import LayeredELMDeepONet
from elmonet.layered.chain import held_out_of

K = 2 * np.pi * np.arange(1, 4)


def functions(n, x, seed=0):
    """Periodic functions of the unit interval, and u + u^2 / 2 + u_xx / 100."""
    a, b = np.random.default_rng(seed).uniform(-1, 1, (2, n, 3)) / 2
    cos, sin = np.cos(np.outer(K, x)), np.sin(np.outer(K, x))
    u = a @ cos + b @ sin
    return u, u + u**2 / 2 - ((a * K**2) @ cos + (b * K**2) @ sin) / 100


X = np.linspace(0, 1, 32, endpoint=False)


@pytest.fixture(scope="module")
def model():
    u, s = functions(200, X)
    return LayeredELMDeepONet("nothing", layers=2, width=100, random_state=0).fit(u, s, points=X)


def test_it_learns_a_local_operator(model):
    u, s = functions(100, X, seed=1)
    error = relative_l2(model.predict(u), s)
    assert error < 2e-3
    assert model.periodic_ == (True,)
    assert "periodic" in model.summary()
    assert model.score(u, s) > 0.99999
    assert [set(record) for record in model.layers_] == [{"error", "seconds", "features", "alpha"}] * 2


def test_the_expected_error_is_that_of_functions_it_has_not_seen(model):
    u, s = functions(200, X)
    unseen = held_out_of(len(u), 0)
    assert relative_l2(model.predict(u[unseen]), s[unseen]) == pytest.approx(model.expected_error_, rel=1e-6)
    u, s = functions(1000, X, seed=2)
    assert relative_l2(model.predict(u), s) == pytest.approx(model.expected_error_, rel=0.3)


@pytest.mark.parametrize("n", [64, 48, 32])
@pytest.mark.parametrize("ends", [True, False])
def test_on_another_resolution_it_says_the_same(model, n, ends):
    fine = np.linspace(0, 1, n + ends, endpoint=ends)
    u, s = functions(20, fine, seed=3)
    coarse, _ = functions(20, X, seed=3)
    error = relative_l2(model.predict(u, points=fine), s)
    assert error < 2 * relative_l2(model.predict(coarse), functions(20, X, seed=3)[1]) + 1e-6


def test_a_global_model_first_and_other_resolutions():
    u, s = functions(100, X)
    first = ELMDeepONet(random_state=0).fit(u, s, points=X)
    model = LayeredELMDeepONet(first, layers=1, width=50, random_state=0).fit(u, s, points=X)
    assert model.first_ is first
    fine = np.linspace(0, 1, 64, endpoint=False)
    u, s = functions(20, fine, seed=3)
    assert relative_l2(model.predict(u, points=fine), s) < 0.01


def test_a_seed_fixes_the_first_model_too():
    u, s = functions(60, X)
    chains = [LayeredELMDeepONet(ELMDeepONet(), layers=1, width=20, random_state=3) for _ in range(2)]
    one, other = (chain.fit(u, s, points=X).predict(u) for chain in chains)
    np.testing.assert_array_equal(one, other)
    own = LayeredELMDeepONet(ELMDeepONet(random_state=5), layers=1, width=20, random_state=3)
    assert own.fit(u, s, points=X).first_.random_state == 5


def test_save_and_load(model, tmp_path):
    u, _ = functions(10, X, seed=1)
    model.save(tmp_path / "model.elm")
    again = load(tmp_path / "model.elm")
    np.testing.assert_array_equal(again.predict(u), model.predict(u))
    assert again.summary() == model.summary()
    model.save(tmp_path / "model.elm", inputs=False)
    assert (tmp_path / "model.elm").stat().st_size < 50_000


def test_save_and_load_with_a_global_model_and_float32(tmp_path):
    u, s = (A.astype(np.float32) for A in functions(100, X))
    model = LayeredELMDeepONet(ELMDeepONet(), layers=1, width=20, random_state=0).fit(u, s, points=X)
    model.save(tmp_path / "model.elm")
    assert model.predict(u).dtype == np.float32
    np.testing.assert_array_equal(load(tmp_path / "model.elm").predict(u), model.predict(u))


def test_rollout_of_a_heat_step():
    k2 = np.exp(-(K**2) * 1e-3)
    a = np.random.default_rng(0).standard_normal((150, 3))
    waves = np.sin(np.outer(K, X))
    model = LayeredELMDeepONet("nothing", layers=1, width=20, random_state=0)
    model.fit(a @ waves, (a * k2) @ waves, points=X)
    found = model.rollout(a[:3] @ waves, steps=10)
    for step in (0, 9):
        np.testing.assert_allclose(found[:, step], (a[:3] * k2 ** (step + 1)) @ waves, atol=1e-5)


@pytest.fixture(scope="module")
def forced_heat():
    """A step of u_t = u_zz + f(z, t) + g, exact for f and g that are constant during the step."""
    rng, h = np.random.default_rng(0), 1e-3
    decay = np.exp(-(K**2) * h)
    gain, waves = (1 - decay) / K**2, np.sin(np.outer(K, X))

    def step(a, f, g, mean):
        return decay * a + gain * f, mean + h * g

    a, f, g, mean = rng.normal(size=(200, 3)), 30 * rng.normal(size=(200, 3)), *rng.normal(size=(2, 200))
    new, new_mean = step(a, f, 30 * g, mean)
    fields = {"f": f @ waves, "u": a @ waves + mean[:, None], "g": 30 * g}
    model = LayeredELMDeepONet("nothing", layers=1, width=20, random_state=0)
    return model.fit(fields, new @ waves + new_mean[:, None], points=X), step, waves


def test_rollout_with_a_forcing_and_a_parameter(forced_heat):
    """Against the exact solution, with a forcing that moves and one that stays."""
    model, step, waves = forced_heat
    rng, n, steps = np.random.default_rng(1), 4, 60
    a0, mean0, g = 0.5 * rng.normal(size=(n, 3)), 0.3 * rng.normal(size=n), 10 * rng.uniform(-1, 1, n)
    moving = 15 * np.sin(0.2 * np.arange(steps)[:, None] + rng.uniform(0, 6, (n, 1, 3)))
    for f in (moving, moving[:, 3]):
        a, mean, truth = a0, mean0, []
        for k in range(steps):
            a, mean = step(a, f[:, k] if f.ndim == 3 else f, g, mean)
            truth.append(a @ waves + mean[:, None])
        found = model.rollout(a0 @ waves + mean0[:, None], steps, forcing={"g": g, "f": f @ waves})
        np.testing.assert_allclose(found, np.stack(truth, axis=1), rtol=0, atol=1e-4)
    each = model.rollout(
        a0 @ waves + mean0[:, None],
        steps,
        forcing={"f": f @ waves, "g": np.repeat(g[:, None], steps, axis=1)},
    )
    np.testing.assert_array_equal(each, found)


@pytest.mark.parametrize(
    ("forcing", "message"),
    [
        (None, "inputs f, u, g: rollout needs the initial state"),
        (np.zeros((2, 32)), r"give forcing=\{name: values\}"),
        ({"f": np.zeros((2, 32))}, "all inputs but the state; this model has f, u, g, got f"),
        ({"f": np.zeros((2, 32)), "h": np.zeros(2)}, "got f, h"),
        ({"f": np.zeros((2, 4, 32)), "g": np.zeros(2)}, r"'f' must have the shape \(2, 5, 32\)"),
        ({"u": np.zeros((2, 32)), "f": np.zeros((2, 32))}, "outputs are like its inputs"),
    ],
)
def test_a_forcing_that_does_not_fit_is_refused(forced_heat, forcing, message):
    with pytest.raises(InputError, match=message):
        forced_heat[0].rollout(np.zeros((2, 32)), 5, forcing=forcing)


def test_a_rollout_that_leaves_the_training_functions_stops():
    a = np.random.default_rng(0).standard_normal((100, 3))
    waves = np.sin(np.outer(K, X))
    model = LayeredELMDeepONet("nothing", layers=1, width=20, random_state=0)
    model.fit(a @ waves, 1.5 * a @ waves, points=X)
    with pytest.warns(ExtrapolationWarning, match="unlike the training functions after"):
        found = model.rollout(a[:2] @ waves, steps=20)
    assert np.isfinite(found[:, 0]).all()
    assert np.isnan(found[:, -1]).all()


def test_fields_in_two_dimensions_with_several_inputs_and_components():
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 6)
    points = grid_points([x, x])
    modes = np.stack(
        [np.cos(np.pi * (i * points[:, 0] + j * points[:, 1])) for i in range(2) for j in range(2)]
    )
    f = rng.standard_normal((40, 4)) @ modes
    nu = rng.uniform(1, 2, (40, 1))
    s = np.stack([f**2 + nu, 100 * (f - nu)], axis=-1)
    model = LayeredELMDeepONet("nothing", layers=1, width=100, random_state=0)
    model.fit({"f": f, "nu": nu}, s, points=points)
    assert model.periodic_ == (False, False)
    found = model.predict({"f": f, "nu": nu})
    assert found.shape == s.shape
    assert relative_l2(found[..., 1], s[..., 1]) < 0.15
    some = rng.permutation(36)  # the order of the points does not matter
    again = clone(model).fit({"f": f[:, some], "nu": nu}, s[:, some], points=points[some])
    np.testing.assert_allclose(again.predict({"f": f[:, some], "nu": nu}), found[:, some], rtol=1e-6)


def test_wrong_calls():
    u, s = functions(30, X)
    with pytest.raises(InputError, match="on one grid"):
        LayeredELMDeepONet().fit(u[:, :20], s, points=X)
    with pytest.raises(InputError, match="too small"):
        LayeredELMDeepONet().fit(u[:, :3], s[:, :3], points=X[:3])
    with pytest.raises(InputError, match="same grid"):
        LayeredELMDeepONet().fit(u, s, points=X, sensors=X + 0.3)
    with pytest.raises(InputError, match="functions"):
        LayeredELMDeepONet("nothing").fit(u[:4], s[:4], points=X)
    with pytest.raises(NotFittedError):
        LayeredELMDeepONet().predict(u)
    with pytest.raises(InputError, match="first must be"):
        LayeredELMDeepONet("global").fit(u, s, points=X)
    with pytest.raises(InputError, match="periodic"):
        LayeredELMDeepONet(periodic="yes").fit(u, s, points=X)
    model = LayeredELMDeepONet("nothing", layers=1, width=20, random_state=0).fit(u, s, points=X)
    with pytest.raises(InputError, match="known at"):
        model.predict(u[:, :20])
    with pytest.raises(InputError, match="NaN"):
        model.predict(np.full_like(u, np.nan))


def test_only_symmetries_that_the_data_have_are_used():
    u, _ = functions(150, X)
    slope = (np.roll(u, -1, 1) - np.roll(u, 1, 1)) * 8
    model = LayeredELMDeepONet("nothing", layers=1, width=60, random_state=0)
    # u -> u + u_x has no reflection; u -> u - u u_x / 10 has that with a change of sign only.
    assert not any("reversed" in found for found in model.fit(u, u + slope / 10, points=X).symmetries_)
    found = model.fit(u, u - u * slope / 10, points=X).symmetries_
    assert found == ["axis 1 reversed, values times -1"]
    assert "Symmetries" in model.summary()
    image = -u[:5, ::-1]
    np.testing.assert_allclose(model.predict(image), -model.predict(u[:5])[:, ::-1], atol=1e-9)


def test_groups_are_held_out_together():
    groups = np.repeat(np.arange(10), 5)
    held_out = held_out_of(50, 0, groups).reshape(10, 5)
    assert (held_out.all(axis=1) | ~held_out.any(axis=1)).all()
    assert 5 <= held_out.sum() <= 15


def test_the_best_of_several_beginnings():
    u, s = functions(60, X)
    first = ELMDeepONet(Linear() + SLFN(100), random_state=0).fit(u, s, points=X)
    model = LayeredELMDeepONet(("nothing", first), layers=1, width=50, random_state=0).fit(u, s, points=X)
    assert model.first_ is None or model.first_ is first
    assert clone(model).fit(u, s, points=X).expected_error_ == pytest.approx(model.expected_error_, rel=1e-6)


def test_fields_of_three_axes():
    x = np.linspace(0, 1, 8, endpoint=False)
    points = grid_points([x, x, x])
    rng = np.random.default_rng(0)
    waves = [np.cos(2 * np.pi * points @ k) for k in [*np.eye(3), np.ones(3)]]
    u = rng.uniform(-1, 1, (60, 4)) @ np.stack(waves)
    # The Laplacian by differences of neighbours, which windows of 3 x 3 x 3 hold.
    f = u.reshape(-1, 8, 8, 8)
    s = sum(np.roll(f, h, axis) for axis in (1, 2, 3) for h in (1, -1)) - 6 * f
    model = LayeredELMDeepONet("nothing", layers=2, width=200, random_state=0)
    model.fit(u[:50], s[:50].reshape(50, -1), points=points)
    assert model.periodic_ == (True, True, True)
    assert relative_l2(model.predict(u[50:]), s[50:].reshape(10, -1)) < 1e-6


def test_a_coarser_grid_of_outputs_is_refused_not_taken_for_channels():
    u, s = functions(30, X)
    with pytest.raises(InputError, match="on one grid"):
        LayeredELMDeepONet("nothing").fit(u, s[:, ::2], points=X[::2])


def test_unusual_windows_are_told(model, tmp_path):
    u, _ = functions(100, X, seed=1)
    assert model.novelty(u).max() < 2
    strange = u[:3].copy()
    strange[1, 10:14] += 3  # a bump that no training function has, a tenth of the function
    assert model.novelty(strange)[1] > 10 > 2 > model.novelty(strange)[[0, 2]].max()
    with pytest.warns(ExtrapolationWarning, match="1 of 3 inputs .the first: row 1"):
        model.predict(strange)
    model.save(tmp_path / "model.elm")
    again = load(tmp_path / "model.elm")
    np.testing.assert_array_equal(again.novelty(strange), model.novelty(strange))


def test_training_functions_are_known_again(model, tmp_path):
    u, new = functions(200, X)[0], functions(5, X, seed=1)[0]
    model.save(tmp_path / "model.elm", weights=True)
    for known in (model, load(tmp_path / "model.elm")):
        assert known.is_training_function(u).all()
        assert not known.is_training_function(new).any()
        assert known.error_kind_ == "held out"
    np.testing.assert_array_equal(known.predict(new), model.predict(new))


def test_of_many_values_some_functions_are_enough(monkeypatch):
    u, s = functions(60, X)
    monkeypatch.setattr("elmonet.layered.choice._MOST_VALUES", 30 * len(X))
    monkeypatch.setattr("elmonet.layered.choice._FEWEST_FUNCTIONS", 10)
    for first in ("nothing", ELMDeepONet(random_state=0)):
        model = LayeredELMDeepONet(first, layers=1, width=30, random_state=0).fit(u, s, points=X)
        used = np.sort(np.random.default_rng(0).permutation(60)[:30])
        unseen = used[held_out_of(30, 0)]
        error = relative_l2(model.predict(u[unseen]), s[unseen])
        if first == "nothing":
            assert error == pytest.approx(model.expected_error_, rel=1e-6)


def test_a_chain_ends_where_a_narrow_layer_gains_nothing():
    u, _ = functions(100, X)
    noise = np.random.default_rng(1).standard_normal(u.shape)
    model = LayeredELMDeepONet("nothing", width=80, random_state=0).fit(u, u + 0.1 * noise, points=X)
    assert len(model.layers_) <= 2  # the noise of outputs cannot be learned


def test_at_any_points(model):
    """Points between those of the grid, as many as it has or not; for each function its own: refused."""
    coarse, _ = functions(5, X, seed=3)
    for n in (7, len(X)):
        y = np.random.default_rng(n).uniform(0, X[-1], n)
        truth = functions(5, y, seed=3)[1]
        assert relative_l2(model.predict(coarse, points=y), truth) < 0.01
    with pytest.raises(InputError, match="that all functions share"):
        model.predict(coarse, points=[X[:3], X[:4], X, X, X])
    with pytest.raises(InputError, match="that all functions share"):
        model.predict(coarse, points=Scattered([0, 1], [[0.1], [0.2]]))
    with pytest.raises(InputError, match="known at 20 points"):
        model.predict(coarse[:, :20], points=X)
    with pytest.raises(InputError, match="shape of the predictions"):
        model.score(coarse, coarse[:, :-1])


def poisson(n, x):
    """Sums of sines u, and s with -Laplacian s = u and 0 on the boundary of the unit square."""
    points, k = grid_points([x, x]), np.arange(1, 4)
    waves = np.sin(np.pi * np.outer(k, x))
    c = np.random.default_rng(3).standard_normal((n, 3, 3))
    s = c / (np.pi**2 * (k[:, None] ** 2 + k**2))
    u, s = (np.einsum("nij,ix,jy->nxy", A, waves, waves) for A in (c, s))
    return u, s.reshape(n, -1), points


def test_a_model_that_smooths_is_a_model_like_others(tmp_path):
    u, s, points = poisson(80, np.linspace(0, 1, 9))
    # Without the time to choose settings: the inverse Laplacian is the first choice.
    model = LayeredELMDeepONet("nothing", layers=1, width=20, time_budget=1e-3, random_state=0)
    model.fit(u, s, points=points)
    assert "Smoothing:       inverse Laplacian (zero)" in model.summary()
    new = u[:5] * 0.9
    model.save(tmp_path / "model.elmonet")
    again = load(tmp_path / "model.elmonet")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    low, high = again.interval(new)
    assert np.all(low <= model.predict(new))
    assert np.all(model.predict(new) <= high)
    # Derivatives: the operator is nearly linear, and they are of the description in double precision.
    change = model.jvp(new, u[5:10])
    assert relative_l2(change, s[5:10]) < 0.05
    v, t, fine = poisson(80, np.linspace(0, 1, 17))
    assert relative_l2(model.predict(v[:5], points=fine), t[:5]) < 0.05
    # Half-open intervals, (0, ..., n - 1) / n, end elsewhere at each resolution; the border does not.
    for step, ends in ((1 / 16, 17), (1 / 16, 15), (1 / 12, 13), (1 / 18, 19)):
        x = step * np.arange(ends + 1)
        v, t, fine = poisson(80, x)
        assert relative_l2(model.predict(v[:5], points=fine), t[:5]) < 0.05, (step, ends)

"""Scales of parts by exact leave-one-out, their check, and the metric from gradients."""

from dataclasses import replace

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, load, relative_l2
from elmonet.auto.candidates import Candidate, Transform, transforms
from elmonet.auto.relevance import learn_parts, loo_objective
from elmonet.auto.search import Search
from elmonet.features import InfiniteWidth
from elmonet.forms.training import understand

POINTS = np.linspace(0, 1, 15)


def three_of_eight(n, seed=0, order=None, units=None):
    """Outputs that depend on three numbers of eight."""
    u = np.random.default_rng(seed).random((n, 8))
    s = np.sin(2 * np.pi * (POINTS * (0.5 + u[:, [2]]) + u[:, [4]])) * np.exp(-2 * u[:, [7]] * POINTS) + 1
    order = np.arange(8) if order is None else order
    return (u if units is None else u * units)[:, order], s


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_the_error_is_that_of_refits_and_its_gradient_that_of_differences(kernel):
    rng = np.random.default_rng(1)
    Z, groups = rng.normal(size=(20, 5)), np.array([0, 0, 1, 2, 2])
    Y = np.stack([np.sin(Z[:, 0]), Z[:, 2] ** 2, Z.sum(axis=1)], axis=1)
    norms = np.linalg.norm(Y, axis=1)
    objective = loo_objective(Z, groups, Y, norms, kernel)
    theta = np.array([-0.5, -1.0, -0.7, -6.0])
    scaled, errors = Z * np.exp(theta[:3])[groups], []
    r = np.sqrt(((scaled[:, None] - scaled) ** 2).sum(axis=2))
    a = np.sqrt(5) * r
    K = np.exp(-(r**2) / 2) if kernel == "rbf" else (1 + a + a**2 / 3) * np.exp(-a)
    for i in range(20):
        rest = np.arange(20) != i
        c = np.linalg.solve(K[np.ix_(rest, rest)] + np.exp(theta[3]) * np.eye(19), Y[rest])
        errors.append(np.linalg.norm(K[i, rest] @ c - Y[i]) / norms[i])
    value, gradient = objective(theta)
    assert value == pytest.approx(np.log(np.mean(errors)), abs=1e-9)
    steps = 1e-5 * np.eye(4)
    differences = [(objective(theta + d)[0] - objective(theta - d)[0]) / 2e-5 for d in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-8)


def test_a_kernel_matrix_that_is_singular_is_far_from_the_best():
    Z = np.ones((5, 1))
    value, gradient = loo_objective(Z, np.zeros(1, int), np.eye(5), np.ones(5), "rbf")(
        np.array([0.0, -200.0])
    )
    assert value > 50
    assert not gradient.any()


def test_numbers_that_do_not_matter_are_left_out_whatever_their_order_and_units():
    rng = np.random.default_rng(3)
    order, units = rng.permutation(8), 10.0 ** rng.integers(-6, 7, 8)
    found = []
    for how in ({}, {"order": order, "units": units}):
        u, s = three_of_eight(120, **how)
        training = understand(AutoELMDeepONet(), u, s, POINTS)
        parts = training.inputs.found_parts(training.X)
        transform, _ = learn_parts(training, Transform(False, True), parts)
        found.append(np.array([part.relevance[0] for part in transform.parts]))
    assert np.flatnonzero(found[0]).tolist() == [2, 4, 7]
    np.testing.assert_allclose(found[1], found[0][order], rtol=0.02)


def test_knowing_which_numbers_matter_is_worth_little():
    (u, s), (new, truth) = three_of_eight(120), three_of_eight(200, seed=1)
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, s, points=POINTS)
    known = AutoELMDeepONet(layers=0, random_state=0).fit(u[:, [2, 4, 7]], s, points=POINTS)
    error = relative_l2(model.predict(new), truth)
    assert error < 2 * relative_l2(known.predict(new[:, [2, 4, 7]]), truth)
    assert 0.5 < model.expected_error_ / error < 2
    said = model.summary()
    assert "left out, since the outputs do not depend on them: 0, 1, 3, 5, 6" in " ".join(said.split())
    assert "Parts of the inputs" in said


def test_scales_of_noise_do_not_pass_the_check():
    """With few functions, scales can be chosen by which noise looks predictable."""
    rng = np.random.default_rng(0)
    u, s = rng.random((25, 10)), 1 + rng.random((25, 4))
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, s, points=np.arange(4))
    error = relative_l2(model.predict(rng.random((500, 10))), 1 + rng.random((500, 4)))
    assert model.expected_error_ > 0.8 * error


def test_parts_of_different_kinds(tmp_path):
    """A waveform whose size matters, a frequency over three decades, a temperature: a power law."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 32)

    def make(n):
        size, phase = 10 ** rng.uniform(-2, 0, (n, 1)), rng.random((n, 1))
        frequency, temperature = 10 ** rng.uniform(2, 5, n), rng.uniform(290, 360, n)
        loss = size[:, 0] ** 2.5 * frequency**1.5 * (1 + ((temperature - 330) / 60) ** 2)
        return {"wave": size * np.sin(2 * np.pi * (x + phase)), "f": frequency, "T": temperature}, loss

    (u, s), (new, truth) = make(90), make(200)
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, s)
    error = relative_l2(model.predict(new)[:, None], truth[:, None])
    assert error < 0.02
    wave, f, _ = model.inputs_.parts
    assert wave.amplitude
    assert f.logarithm
    assert "wave: amplitude split off" in model.summary()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(new), model.predict(new))
    side_by_side = AutoELMDeepONet(layers=0, random_state=0)
    side_by_side.fit(np.column_stack([u["wave"], u["f"], u["T"]]), s)
    prediction = side_by_side.predict(np.column_stack([new["wave"], new["f"], new["T"]]))
    assert relative_l2(prediction[:, None], truth[:, None]) < 0.03
    assert "Give a dictionary of named arrays" in " ".join(side_by_side.summary().split())


def test_a_metric_leaves_no_image():
    """Families that see images are not tried with a metric."""
    u = np.random.default_rng(0).normal(size=(30, 6, 6))
    training = understand(AutoELMDeepONet(), u, u.reshape(30, -1)[:, :15] ** 2, POINTS)
    search = Search(training, seed=0, time_budget=None, n_jobs=1, progress=None)
    search.transforms.append(replace(search.transforms[0], metric=np.eye(36)[:, :5]))
    last = len(search.transforms) - 1
    families = ("patch3", "cnn", "smooth0.5", "rbf")
    search._try([(last, Candidate(family, 0.5, width=20 * (family == "cnn"))) for family in families], 30)
    assert [trial.candidate.family for trial in search.trials] == ["rbf"]


def test_a_metric_finds_the_directions_that_matter():
    """Outputs depend on one mean of the input, which many sensors share with noise."""
    rng = np.random.default_rng(0)
    direction = np.sin(np.pi * np.arange(1, 21) / 21)

    def make(n):
        u = rng.normal(size=(n, 20)).cumsum(axis=1) / 4
        t = u @ direction / 10
        return u, np.sin(2 * t[:, None] + 3 * POINTS)

    (u, s), (new, truth) = make(600), make(300)
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, s, points=POINTS)
    assert model.best_model_.metric is not None
    errors = np.linalg.norm(model.predict(new) - truth, axis=1) / np.linalg.norm(truth, axis=1)
    median, _ = model._fitted().estimate.quantiles
    assert 0.7 < median / np.median(errors) < 1.4
    plain = [ELMDeepONet(InfiniteWidth("rbf", scale)).fit(u, s, points=POINTS) for scale in (0.1, 0.3, 1.0)]
    assert np.mean(errors) < 0.5 * min(relative_l2(other.predict(new), truth) for other in plain)


def zero_once(n):
    """Positive numbers over decades, except a zero in one function."""
    rng = np.random.default_rng(0)
    u = np.stack([10 ** (3 * rng.random(n)), 0.1 + 0.9 * rng.random(n)], axis=1)
    u[-1, 0] = 0.0
    return u, np.sin(3 * POINTS * np.log1p(u[:, :1])) + u[:, 1:] * POINTS


@pytest.mark.parametrize("of_functions", [False, True])
def test_no_logarithm_of_an_input_that_is_zero_in_a_function_outside_the_sample(of_functions):
    u, s = zero_once(60)
    u = u[:, :1] * np.linspace(0.5, 1, 9) if of_functions else u
    training = understand(AutoELMDeepONet(), u, s + 2, POINTS)
    few = training.of(np.arange(59))
    parts, base = training.inputs.found_parts(training.X), Transform(False, True)
    assert any(any(part.logarithm for part in t.parts or ()) for t in transforms(few))
    assert not any(any(part.logarithm for part in t.parts or ()) for t in transforms(few, every=training))
    assert any(part.logarithm for part in learn_parts(few, base, parts).transform.parts)
    assert not any(part.logarithm for part in learn_parts(few, base, parts, every=training.X).transform.parts)


def test_folds_without_the_level_zero_of_a_grid():
    rng = np.random.default_rng([0, 36, 777])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 12)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    u = rng.permutation(grid)[:36]
    s = 1 / (1 + ((np.linspace(0, 1, 120) - u[:, :1]) / (0.08 + 0.5 * u[:, 1:])) ** 2)
    model = AutoELMDeepONet(layers=0, random_state=0).fit(u, s, points=np.linspace(0, 1, 120))
    assert np.isfinite(model.predict(u)).all()


def test_a_number_that_is_zero_in_one_function_has_no_logarithm():
    """Without that function, its logarithm would be learned, and the function could not be predicted."""
    rng = np.random.default_rng(0)
    u = np.exp(rng.normal(size=(60, 2)))
    u[7, 1] = 0.0
    s = 1 + np.log1p(u[:, :1]) * POINTS + u[:, 1:] / (1 + u[:, 1:]) * POINTS**2
    model = AutoELMDeepONet(random_state=0).fit(u, s, points=POINTS)
    assert not any(part.logarithm and part.name == "1" for part in model.best_model_.inputs_.parts or ())
    assert model.expected_error_ < 0.02

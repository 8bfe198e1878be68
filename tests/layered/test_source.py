"""Steps of a flow: what is carried along by its own potential, and a forcing that no window shows."""

import numpy as np
import pytest

from elmonet import LayeredELMDeepONet, load, relative_l2
from elmonet.interpolation import grid_points
from elmonet.layered.chain import LayerData, fit_chain
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.settings import Fields, default_plan
from elmonet.layered.source import are_steps, fit_source, source_helps

pytestmark = pytest.mark.numerics


def grid_of(n):
    return Grid((0.0, 0.0), (1 / n, 1 / n), (n, n), (True, True), (False, False))


def forcing(n):
    x, y = np.meshgrid(np.arange(n) / n, np.arange(n) / n, indexing="ij")
    return np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * (x - 2 * y))


def vorticity(count, n, seed=0):
    """Random waves below 4 along each axis: (count, n, n), without their mean."""
    rng, k = np.random.default_rng(seed), np.arange(-3, 4)
    waves = np.exp(2j * np.pi * np.outer(np.arange(n) / n, k))
    size = 1 / (1 + k[:, None] ** 2 + k**2)
    size[3, 3] = 0
    c = (rng.standard_normal((count, 7, 7)) + 1j * rng.standard_normal((count, 7, 7))) * size
    return (waves @ c @ waves.T).real


def step(w, slope, dt=0.1, forced=0.1):
    """w - dt v . grad w + forced f, with the velocity v = (psi_y, -psi_x) and -Laplacian psi = w."""
    n = w.shape[-1]
    k = 2j * np.pi * np.fft.fftfreq(n, 1 / n)
    laplacian = k[:, None] ** 2 + k**2
    laplacian[0, 0] = 1
    psi = -np.fft.fft2(w) / laplacian
    velocity = np.fft.ifft2(k * psi).real, np.fft.ifft2(-k[:, None] * psi).real
    return w - dt * (velocity[0] * slope(w, -2) + velocity[1] * slope(w, -1)) + forced * forcing(n)


def central(w, axis):
    """Central differences, which windows of three values hold."""
    return (np.roll(w, -1, axis) - np.roll(w, 1, axis)) * w.shape[-1] / 2


def exact(w, axis):
    k = 2j * np.pi * np.fft.fftfreq(w.shape[-1], 1 / w.shape[-1])
    return np.fft.ifft2((k[:, None] if axis == -2 else k) * np.fft.fft2(w)).real


def error_of_one_layer(data, plan, source):
    return fit_chain(data, plan.settings(1, True), 0, rows=128, source=source).records[0].error


def test_a_layer_that_knows_potentials_and_source_makes_a_step_of_a_flow():
    # The step changes w by 8 % along the velocity, and by as much through the forcing.
    grid, w = grid_of(16), vorticity(60, 16)
    data = LayerData(grid, w[:, None], step(w, central)[:, None])
    carried, plain = (default_plan(grid, steps).with_width(20) for steps in (True, False))
    assert error_of_one_layer(data, carried, True) < 1e-7
    assert error_of_one_layer(data, carried, False) > 0.05
    assert error_of_one_layer(data, plain, True) > 0.05


def test_the_source_is_the_forcing():
    grid, w = grid_of(16), vorticity(40, 16)
    s, settings = step(w, central), default_plan(grid, steps=True).other
    g = fit_source(w[:, None], s[:, None], grid, settings)[0]
    size = np.sqrt(np.mean(forcing(16) ** 2))
    np.testing.assert_allclose(g, forcing(16) / size, atol=1e-5)


@pytest.mark.parametrize("forced", [0.1, 0.0])
def test_a_source_is_looked_for_in_held_out_functions(forced):
    grid, w = grid_of(16), vorticity(40, 16)[:, None]
    s = step(w, central, forced=forced)
    settings = default_plan(grid, steps=True).other
    assert source_helps(Fields(w[8:], s[8:]), Fields(w[:8], s[:8]), grid, settings) == (forced > 0)


def test_a_source_does_not_fit_noise():
    grid, w = grid_of(16), vorticity(40, 16)[:, None]
    s = w**3 + 0.1 * np.random.default_rng(1).standard_normal(w.shape)
    settings = default_plan(grid).other
    assert not source_helps(Fields(w[8:], s[8:]), Fields(w[:8], s[:8]), grid, settings)


def test_steps_are_known_by_their_inputs():
    w, other = vorticity(40, 16)[:, None], vorticity(40, 16, seed=1)[:, None]
    assert are_steps(np.concatenate([other, w], axis=1), step(w, exact))
    assert not are_steps(other, step(w, exact))
    assert not are_steps(w, np.concatenate([w, other], axis=1))
    assert not are_steps(w, 0 * w)


@pytest.fixture(scope="module")
def model():
    # Without the time to choose settings: a forced step sees potentials and a source from the start.
    w, x = vorticity(150, 16), np.arange(16) / 16
    model = LayeredELMDeepONet("nothing", layers=3, width=40, time_budget=1e-3, random_state=0)
    return model.fit(w, step(w, exact).reshape(150, -1), points=grid_points([x, x]))


def test_a_flow_is_learned_from_few_functions(model, tmp_path):
    w = vorticity(20, 16, seed=1)
    truth = step(w, exact).reshape(20, -1)
    assert relative_l2(model.predict(w), truth) < 0.003  # the step changes w by 8 %
    assert "Source:" in model.summary()
    assert "Products with:   inverse Laplacian (periodic); inverse Laplacian, d/dx1" in model.summary()
    model.save(tmp_path / "model.elmonet")
    np.testing.assert_array_equal(load(tmp_path / "model.elmonet").predict(w), model.predict(w))
    low, high = model.interval(w, 0.9)
    assert np.mean((low <= truth) & (truth <= high)) > 0.8


def test_a_flow_on_another_grid(model):
    w, x = vorticity(20, 24, seed=1), np.arange(24) / 24
    predicted = model.predict(w, points=grid_points([x, x]))
    assert relative_l2(predicted, step(w, exact).reshape(20, -1)) < 0.003


def test_a_flow_is_exported_with_its_source(model):
    w = vorticity(3, 16, seed=2)
    found = model._fitted().described()(w.reshape(3, -1))
    np.testing.assert_allclose(found, model.predict(w), rtol=0, atol=1e-9)


def test_rollout_of_a_flow(model):
    w = 0.5 * vorticity(4, 16, seed=3)
    states, truth = model.rollout(w, 3), w
    for k in range(3):
        truth = step(truth, exact)
        assert relative_l2(states[:, k].reshape(4, -1), truth.reshape(4, -1)) < 0.01


def test_the_image_of_a_forced_flow_has_the_image_of_its_forcing():
    # The forcing itself has no symmetry: reflected flows turn the other way under reflected forcings.
    grid, w = grid_of(16), vorticity(120, 16)[:, None]
    plan, flip = default_plan(grid, steps=True).with_width(20), Symmetry((True, False), sign=-1)
    data = LayerData(grid, w, step(w, exact))
    chain = fit_chain(data, plan.settings(2, True), 0, rows=64, images=(flip,), source=True)
    seen = chain.fields(w[:8], None, grid)
    found, mirrored = chain.apply(seen, grid)[0], chain.apply(seen.image(flip), grid)[0]
    np.testing.assert_allclose(mirrored, flip(found), atol=1e-9)
    assert chain.error < 0.003

"""Layers that can express their targets exactly; normal equations; symmetries."""

from types import SimpleNamespace

import numpy as np
import pytest

from elmonet.interpolation import grid_points
from elmonet.layered import chain as chain_module
from elmonet.layered import choice
from elmonet.layered import layer as module
from elmonet.layered.chain import Chain, LayerData, LayerRecord, fit_chain
from elmonet.layered.grid import Symmetry, find_grid, find_periodic, symmetries_of
from elmonet.layered.layer import Layer, LayerSamples, NormalEquations, choose_ridge, fit_layer
from elmonet.layered.settings import Fields, LayerSettings
from elmonet.layered.smoothing import SmoothingKernel

pytestmark = pytest.mark.numerics

RNG = np.random.default_rng(1)


def smooth(n, shape):
    """Random periodic fields (n, 1, *shape)."""
    noise = np.fft.fftn(RNG.standard_normal((n, *shape)), axes=range(1, 1 + len(shape)))
    k = np.meshgrid(*(np.fft.fftfreq(m, 1 / m) for m in shape), indexing="ij")
    noise *= np.exp(-sum(q**2 for q in k) / 18)
    return np.real(np.fft.ifftn(noise, axes=range(1, 1 + len(shape))))[:, None] * np.sqrt(np.prod(shape))


def periodic_grid(*shape):
    grid, _ = find_grid(grid_points([np.arange(m) / m for m in shape]))
    return find_periodic(grid, smooth(1, shape), True)


def split(u, s):
    """The functions a layer is fitted to, and held-out ones."""
    return (
        LayerSamples(Fields(u[8:]), s[8:], np.ones(len(u) - 8)),
        LayerSamples(Fields(u[:8]), s[:8], np.ones(8)),
    )


def laplacian(u):
    return sum(np.roll(u, 1, a) - 2 * u + np.roll(u, -1, a) for a in range(2, u.ndim))


@pytest.mark.parametrize("shape", [(40,), (12, 14)])
def test_a_step_of_the_heat_equation_is_exact(shape):
    d, u = len(shape), smooth(60, shape)
    settings = LayerSettings((2,) * d, (1,) * d, (1,) * d, width=20)
    chain = fit_chain(LayerData(periodic_grid(*shape), u, u + 0.2 * laplacian(u)), [settings], 0, rows=30)
    new = smooth(5, shape)
    wanted = new + 0.2 * laplacian(new)
    found = chain(new, None, periodic_grid(*shape))
    assert np.linalg.norm(found - wanted) < 1e-8 * np.linalg.norm(wanted)
    assert chain.records[0].error < 1e-8


def test_products_of_inputs_with_differences_of_the_prediction_are_exact():
    # s - s_0 = u (s_0 - its neighbour): bilinear, so that no random feature is needed.
    grid, u, start = periodic_grid(10, 11), smooth(60, (10, 11)), smooth(60, (10, 11))
    s = start + 0.1 * u * (np.roll(start, -1, 3) - start)
    settings = LayerSettings((1, 1), (1, 1), (1, 1), products=(0, 0), differences=True, width=5)
    chain = fit_chain(LayerData(grid, u, s, start), [settings], 0, rows=60)
    assert chain.records[0].error < 1e-8


def test_layers_commute_with_shifts():
    grid, u = periodic_grid(40), smooth(50, (40,))
    settings = LayerSettings((5,), (1,), (5,), widths=(0.05, 0.1), width=50, activation="tanh")
    chain = fit_chain(
        LayerData(grid, u, np.tanh(u) + laplacian(u)), [settings] * 3, 0, rows=20, all_layers=True
    )
    shifted = chain(np.roll(u, 7, axis=2), None, grid)
    np.testing.assert_allclose(shifted, np.roll(chain(u, None, grid), 7, axis=2), atol=1e-9)


def test_sums_over_blocks_are_the_sums_over_all_rows(monkeypatch):
    grid, u = periodic_grid(16), smooth(40, (16,))
    settings = LayerSettings((2,), (1,), (2,), width=10)
    arguments = settings, 3, grid, *split(u, np.sin(u)), 16
    at_once = fit_layer(*arguments)
    monkeypatch.setattr(module, "_BLOCK", 1)  # a function at a time
    np.testing.assert_allclose(fit_layer(*arguments).coefficients, at_once.coefficients, rtol=1e-6, atol=1e-9)


def test_coefficients_are_those_of_least_squares():
    Phi, t = RNG.standard_normal((200, 12)) * np.geomspace(1e-3, 1e3, 12), RNG.standard_normal((200, 2))
    sums, held_out = NormalEquations.empty(12, 2), NormalEquations.empty(12, 2)
    for rows in np.array_split(np.arange(150), 4):
        sums.add(np.ascontiguousarray(Phi[rows].T), t[rows].T)
    held_out.add(np.ascontiguousarray(Phi[150:].T), t[150:].T)
    wanted = np.linalg.lstsq(Phi[:150], t[:150])[0]
    found = sums.solve(1e-13)
    assert found is not None
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    by_hand = np.sum((t[150:] - Phi[150:] @ wanted) ** 2)
    assert held_out.squared_residual(wanted) == pytest.approx(by_hand, rel=1e-9)
    _, alpha = choose_ridge(sums, held_out.squared_residual)
    assert alpha > 1e-3  # nothing but noise


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3, 0.1, 3.0])
def test_the_ridge_is_the_best_of_all_candidates(noise, monkeypatch):
    # Nearly collinear features, whose small directions hold nothing but noise.
    turn = np.linalg.qr(RNG.standard_normal((30, 30)))[0]
    Phi = RNG.standard_normal((60, 30)) * np.geomspace(1, 1e-4, 30) @ turn
    t = Phi @ RNG.standard_normal((30, 1)) + noise * RNG.standard_normal((60, 1))
    sums = [NormalEquations.empty(30, 1) for _ in range(2)]
    for own, rows in zip(sums, (slice(0, 40), slice(40, 60)), strict=True):
        own.add(np.ascontiguousarray(Phi[rows].T), t[rows].T)
    solved = {alpha: sums[0].solve(alpha) for alpha in module._ALPHAS}
    errors = {a: sums[1].squared_residual(c) for a, c in solved.items() if c is not None}
    counted, solve = [], NormalEquations.solve
    monkeypatch.setattr(NormalEquations, "solve", lambda own, a: counted.append(a) or solve(own, a))
    _, alpha = choose_ridge(sums[0], sums[1].squared_residual)
    assert errors[alpha] == min(errors.values())
    assert len(counted) < len(module._ALPHAS)


def test_symmetries_are_their_own_inverses():
    fields = RNG.standard_normal((2, 1, 5, 5))
    found = symmetries_of(periodic_grid(5, 5))
    for symmetry in found:
        np.testing.assert_array_equal(symmetry(symmetry(fields)), fields)
    assert Symmetry((False, False), exchanged=True) in found
    assert Symmetry((False, False), exchanged=True) not in symmetries_of(periodic_grid(5, 6))


def test_a_layer_has_the_symmetries_that_it_is_given():
    grid, u = periodic_grid(30), smooth(30, (30,))
    odd = Symmetry((True,), sign=-1)
    settings = LayerSettings((3,), (1,), (3,), width=30, activation="tanh")
    layer = fit_layer(settings, 0, grid, *split(u, u**2), 10, (odd,))
    assert isinstance(layer, Layer)
    fields = Fields(smooth(4, (30,)))
    np.testing.assert_allclose(
        layer.update(fields.image(odd), grid), odd(layer.update(fields, grid)), atol=1e-10
    )


@pytest.mark.parametrize(("n", "rows_each"), [(260, 10), (60, 16)])  # 16: at least 8 of each image
def test_many_functions_are_shown_as_one_of_their_images_in_turn(n, rows_each, monkeypatch):
    grid, u = periodic_grid(30), smooth(n, (30,))
    settings = LayerSettings((3,), (1,), (3,), width=10, activation="tanh")
    counted, add = [], NormalEquations.add
    monkeypatch.setattr(
        NormalEquations, "add", lambda own, phi, t: counted.append(phi.shape[1]) or add(own, phi, t)
    )
    odd = Symmetry((True,), sign=-1)
    layer = fit_layer(settings, 0, grid, *split(u, u + 0.2 * laplacian(u)), 10, (odd,))
    assert sum(counted) == (n - 8) * rows_each
    new = smooth(4, (30,))
    np.testing.assert_allclose(layer.update(Fields(new), grid), new + 0.2 * laplacian(new), atol=1e-7)


def test_of_many_held_out_functions_some_choose_the_ridge(monkeypatch):
    grid, u = periodic_grid(16), smooth(40, (16,))
    settings = LayerSettings((2,), (1,), (2,), width=10)
    monkeypatch.setattr(module, "_MOST_HELD_OUT_ROWS", 40)  # two functions of 16 points
    fitted, held_out = split(u, u + 0.2 * laplacian(u))
    held_out.target[[1, 2, 3, 4, 5, 6]] = np.nan  # not looked at
    layer = fit_layer(settings, 3, grid, fitted, held_out, 16)
    new = smooth(4, (16,))
    np.testing.assert_allclose(layer.update(Fields(new), grid), new + 0.2 * laplacian(new), atol=1e-7)


def test_exchanged_axes_on_a_grid_that_is_not_square():
    grid, u = periodic_grid(8, 8), smooth(40, (8, 8))
    settings = LayerSettings((1, 1), (1, 1), (1, 1), width=10)
    exchange = Symmetry((False, False), exchanged=True)
    layer = fit_layer(settings, 0, grid, *split(u, u + laplacian(u)), 30, (exchange,))
    fine, _ = grid.of_same_domain(grid_points([np.arange(16) / 16, np.arange(24) / 24]))
    new = smooth(3, (16, 24))
    found = layer.update(Fields(new), fine)
    there = layer.update(Fields(np.swapaxes(new, 2, 3)), fine.exchanged)
    np.testing.assert_allclose(np.swapaxes(there, 2, 3), found, atol=1e-9)


def test_products_of_symmetries():
    fields, found = RNG.standard_normal((2, 1, 5, 5)), symmetries_of(periodic_grid(5, 5))
    for a in found:
        for b in found:
            both = a.after(b)
            if both is None:
                assert not np.array_equal(a(b(fields)), b(a(fields)))
            else:
                np.testing.assert_array_equal(both(fields), a(b(fields)))
                np.testing.assert_array_equal(both(both(fields)), fields)


def test_settings_that_fall_behind_after_a_layer_are_dropped(monkeypatch):
    limits = []

    def trial(few, plan, seed, *, limit=np.inf, deadline):
        limits.append(limit)
        return Chain((), tuple(LayerRecord(error, 0.0, 1, 1.0) for error in (0.2, 0.1)))

    monkeypatch.setattr(choice, "_trial", trial)
    monkeypatch.setattr(choice, "symmetries_of", lambda grid: [])
    monkeypatch.setattr(Chain, "apply", lambda own, fields, grid: (fields.u, fields.u))
    grid, u = periodic_grid(12), smooth(20, (12,))
    choice._choose_plan(LayerData(grid, u, u), choice.default_plan(grid), 0, np.inf, None)
    assert limits[0] == np.inf  # the first plan
    assert limits[1:] == [pytest.approx(0.26)] * 3  # 1.3 times its error after the first layer


@pytest.mark.parametrize(("most", "images"), [(1_000_000, 3), (1000, 1)])
def test_where_layers_smooth_settings_are_chosen_with_symmetries(most, images, monkeypatch):
    plans = []

    def trial(few, plan, seed, *, limit=np.inf, deadline):
        plans.append(plan)
        return Chain((), (LayerRecord(0.2 if plan.symmetries else 0.3, 0.0, 1, 1.0),))

    monkeypatch.setattr(choice, "_trial", trial)
    monkeypatch.setattr(choice, "_MOST_VALUES_FOR_PAIRS", most)
    monkeypatch.setattr(choice, "shown_in_turn", lambda n, M: True)
    monkeypatch.setattr(Chain, "apply", lambda own, fields, grid: (fields.u, fields.u))  # has all symmetries
    grid, u = periodic_grid(12, 14), smooth(20, (12, 14))
    plan, chain = choice._choose_plan(LayerData(grid, u, u), choice.default_plan(grid), 0, np.inf, None)
    assert [len(tried.symmetries) for tried in plans] == [0] + [images] * (len(plans) - 1)
    assert plan == plans[1]
    assert chain.least_error == 0.2


def test_trials_of_starts_count_up_to_their_best_layer(monkeypatch):
    # All layers of a trial are fitted; a chain would end before one that makes it worse.
    def trial(few, *arguments, **options):
        errors = (0.2, 0.05, 0.09) if few.first is None else (0.07, 0.06)
        return Chain((), tuple(LayerRecord(error, 0.0, 1, 1.0) for error in errors))

    monkeypatch.setattr(choice, "_trial", trial)
    grid, u = periodic_grid(12), smooth(20, (12,))
    starts = [LayerData(grid, u, u), LayerData(grid, u, u, first=u)]
    best, chain = choice._best_start(starts, choice.default_plan(grid), 0, np.inf, np.inf)
    assert best == 0
    assert chain.least_error == 0.05


@pytest.mark.parametrize(("kernels", "least", "layers"), [(1, 0.03, 3), (1, 0.06, 2), (0, 0.06, 3)])
def test_a_chain_that_smooths_ends_where_a_layer_gains_little_of_the_first_error(
    kernels, least, layers, monkeypatch
):
    # Errors of 1, 0.1, 0.05 and 0.01: the second layer gains half of what is left, which is 5 % of the first.
    grid, u = periodic_grid(12, 14), smooth(40, (12, 14))
    inverse = (SmoothingKernel(("periodic", "periodic")),) * kernels
    settings = LayerSettings((1, 1), (1, 1), (1, 1), width=5, kernels=inverse)

    def layer(own, seed, *arguments):
        share = 1.0 if own.width < 5 else {1: 0.9, 2: 0.5, 3: 0.8}[seed]
        found = SimpleNamespace(features=SimpleNamespace(settings=own), coefficients=np.zeros(3), alpha=1.0)
        found.update = lambda fields, grid, fast=False: share * (fields.u - fields.s)
        return found

    monkeypatch.setattr(chain_module, "fit_layer", layer)
    monkeypatch.setattr(chain_module, "_LEAST_GAIN", least)
    found = fit_chain(LayerData(grid, u, u, first=0 * u), [settings] * 3, 0, rows=48)
    np.testing.assert_allclose([record.error for record in found.records], [0.1, 0.05, 0.01][:layers])

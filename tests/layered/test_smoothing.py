"""Kernels against manufactured solutions, dense solves and refined grids; layers that smooth."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.linalg import expm

from elmonet.description import Graph
from elmonet.description.operations import evaluate
from elmonet.layered.chain import LayerData, fit_chain
from elmonet.layered.features import LayerFeatures
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.layer import Layer, LayerSamples, fit_layer
from elmonet.layered.readout import Readout
from elmonet.layered.settings import Fields, LayerSettings, TracedFields
from elmonet.layered.smoothing import SmoothingKernel
from elmonet.layered.windows import box_of_offsets

pytestmark = pytest.mark.numerics

RNG = np.random.default_rng(2)
BOUNDARIES = list(product(("periodic", "zero", "free"), repeat=2))
KERNELS = [
    {},
    {"power": 0.5, "screening": 0.2},
    {"power": 0.0, "width": 0.1},
    {"along": 0},
    {"power": 1.5, "along": 1, "screening": 0.3},
]


def grid_of(shape, boundary=None):
    d = len(shape)
    around = tuple(b == "periodic" for b in boundary or ("zero",) * d)
    step = tuple(1 / (n if p else n - 1) for n, p in zip(shape, around, strict=True))
    return Grid((0.0,) * d, step, tuple(shape), around, (False,) * d)


def wave(boundary, k, x):
    """A wave, its slope and its eigenvalue under -d^2/dx^2."""
    if boundary == "periodic":
        q = 2 * np.pi * k
        return np.sin(q * x + 0.3), q * np.cos(q * x + 0.3), q**2
    q = np.pi * k
    if boundary == "zero":
        return np.sin(q * x), q * np.cos(q * x), q**2
    return np.cos(q * x), -q * np.sin(q * x), q**2


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("shape", [(16, 11), (9, 24)])
def test_waves_are_eigenfunctions(boundary, shape):
    # On a domain whose first axis is 3/4 of the second, whatever the coordinates say.
    lengths = np.array([n - (b != "periodic") for n, b in zip((25, 33), boundary, strict=True)], float)
    lengths /= lengths.max()
    training, own = grid_of((25, 33), boundary), grid_of(shape, boundary)
    waves = [
        wave(b, k, x) for b, k, x in zip(boundary, (1, 2), np.meshgrid(*own.axes, indexing="ij"), strict=True)
    ]
    (f, df, q), (g, dg, r) = waves
    eigenvalue = q / lengths[0] ** 2 + r / lengths[1] ** 2
    screened = SmoothingKernel(boundary, power=0.7, screening=0.2, width=0.05)
    factor = (eigenvalue + 25) ** -0.7 * np.exp(-(0.05**2) / 2 * (eigenvalue + 25))
    np.testing.assert_allclose(screened(f * g, training), factor * f * g, atol=1e-12)
    inverse = SmoothingKernel(boundary)(eigenvalue * f * g, training)
    np.testing.assert_allclose(inverse, f * g, atol=1e-11)
    for axis, slope in enumerate((df * g, f * dg)):
        found = SmoothingKernel(boundary, along=axis)(eigenvalue * f * g, training)
        np.testing.assert_allclose(found, slope / lengths[axis], atol=1e-10)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_slope_of_a_kernel_has_the_boundary_of_the_kernel(boundary, axis):
    # (-Laplacian)^-1 d/dx of a flux that is itself a slope: what the kernel makes of a second derivative.
    grid = grid_of((24, 24), boundary)
    x, y = np.meshgrid(*grid.axes, indexing="ij")
    (f, df, q), (g, dg, r) = (wave(b, k, z) for b, k, z in zip(boundary, (1, 2), (x, y), strict=True))
    kernel, flux, square = SmoothingKernel(boundary), (df * g, f * dg)[axis], (q, r)[axis]
    lengths = np.array([n - (b != "periodic") for n, b in zip(grid.shape, boundary, strict=True)], float)
    lengths /= lengths.max()
    eigenvalue = q / lengths[0] ** 2 + r / lengths[1] ** 2
    expected = (
        -square / lengths[axis] / eigenvalue * f * g
    )  # the coordinates are not stretched, the domain is
    np.testing.assert_allclose(kernel.slope(axis)(flux, grid), expected, atol=1e-10)
    np.testing.assert_allclose(
        kernel.slope(axis)(flux, grid), kernel(-square * f * g, grid) / lengths[axis], atol=1e-10
    )


def test_the_inverse_laplacian_against_a_dense_solve():
    # A source that is not made of few waves: finite differences converge to the kernel with order 2.
    def source(x, y):
        return np.exp(3 * x) * (1 - y) * y

    errors = []
    for n in (17, 33):
        grid, h = grid_of((n, n)), 1 / (n - 1)
        second = (2 * np.eye(n - 2) - np.eye(n - 2, k=1) - np.eye(n - 2, k=-1)) / h**2
        dense = np.kron(second, np.eye(n - 2)) + np.kron(np.eye(n - 2), second)
        f = source(*np.meshgrid(*grid.axes, indexing="ij"))
        wanted = np.linalg.solve(dense, f[1:-1, 1:-1].ravel()).reshape(n - 2, n - 2)
        found = SmoothingKernel(("zero", "zero"))(f, grid)
        assert np.all(found[[0, -1]] == 0)
        assert np.all(found[:, [0, -1]] == 0)
        errors.append(np.abs(found[1:-1, 1:-1] - wanted).max() / wanted.max())
    assert errors[1] < 0.3 * errors[0] < 0.01


def test_the_heat_kernel_is_the_exponential_of_the_laplacian():
    n = 24
    waves = np.exp(2j * np.pi * np.outer(np.arange(n), np.fft.fftfreq(n, 1 / n)) / n)
    laplacian = -(waves @ np.diag((2 * np.pi * np.fft.fftfreq(n, 1 / n)) ** 2) @ np.linalg.inv(waves)).real
    grid, f = grid_of((n,), ("periodic",)), RNG.standard_normal((3, n))
    found = SmoothingKernel(("periodic",), power=0.0, width=0.1)(f, grid)
    np.testing.assert_allclose(found, f @ expm(0.1**2 / 2 * laplacian).T, atol=1e-12)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("settings", KERNELS)
def test_rows_of_the_matrix_are_the_transforms(boundary, settings):
    grid, kernel = grid_of((8, 11), boundary), SmoothingKernel(boundary, **settings)
    fields, at = RNG.standard_normal((3, 2, 8, 11)), RNG.permutation(88)[:20]
    wanted = kernel(fields, grid).reshape(3, 2, -1)[..., at]
    np.testing.assert_allclose(fields.reshape(3, 2, -1) @ kernel.rows(at, grid, grid).T, wanted, atol=1e-11)
    single = kernel(fields.astype(np.float32), grid)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(fields, grid), atol=1e-4)


def test_constants_have_no_inverse_laplacian():
    grid = grid_of((8, 8), ("free", "periodic"))
    field = np.ones((1, 8, 8))
    np.testing.assert_allclose(SmoothingKernel(("free", "periodic"))(field, grid), 0, atol=1e-14)
    np.testing.assert_allclose(SmoothingKernel(("free", "periodic"), power=0.0)(field, grid), 1, atol=1e-14)


def test_a_two_point_axis():
    grid = grid_of((2, 5))
    assert np.isfinite(SmoothingKernel(("free", "free"), screening=1.0)(np.ones((1, 2, 5)), grid)).all()
    assert np.all(SmoothingKernel(("zero", "zero"))(np.ones((1, 2, 5)), grid) == 0)


SINES = ("zero", "zero")
SETTINGS = LayerSettings(
    (1, 1), (1, 1), (1, 1), (0, 0), width=20, differences=True, kernels=(SmoothingKernel(SINES),), smoothed=10
)


def poisson(n, size):
    """Smooth sources u and s with -Laplacian s = u, and 0 on the boundary."""
    grid = grid_of((size, size))
    x, y = np.meshgrid(*grid.axes, indexing="ij")
    modes = [np.sin(np.pi * j * x) * np.sin(np.pi * k * y) for j in range(1, 4) for k in range(1, 4)]
    u = np.tensordot(np.random.default_rng(3).standard_normal((n, 9)), modes, 1)[:, None]
    return grid, u, SmoothingKernel(SINES)(u, grid)


def test_a_layer_that_smooths_solves_poisson_on_any_resolution():
    grid, u, s = poisson(60, 13)
    chain = fit_chain(LayerData(grid, u, s), [SETTINGS], 0, rows=40)
    blind = replace(SETTINGS, kernels=(), smoothed=0)
    assert chain.records[0].error < 1e-8
    assert fit_chain(LayerData(grid, u, s), [blind], 0, rows=40).records[0].error > 0.03
    for size in (25, 18):  # aligned with the training grid, and not
        fine, u, s = poisson(5, size)
        assert np.linalg.norm(chain(u, None, fine) - s) < 1e-6 * np.linalg.norm(s)


def test_smoothed_products_are_exact():
    # A step of Richardson's iteration for -div(u grad s): far-reaching, bilinear, without random features.
    grid, u, start = poisson(60, 12)
    flux = u[..., :, :] * (np.pad(start, ((0, 0), (0, 0), (0, 1), (0, 0)))[:, :, 1:] - start)
    flux[:, :, -1] = 0  # where windows are extrapolated; sines ignore the boundary
    s = start + SmoothingKernel(SINES)(flux, grid)
    chain = fit_chain(LayerData(grid, u, s, start), [SETTINGS], 0, rows=60)
    assert chain.records[0].error < 1e-8


CARRIED = replace(SETTINGS, potentials=(SmoothingKernel(SINES), SmoothingKernel(SINES).slope(1)))


@pytest.mark.parametrize(
    "settings", [SETTINGS, CARRIED, LayerSettings((1, 1), (1, 1), (1, 1), (1, 1), factors=(0, 0))]
)
@pytest.mark.parametrize("later", [True, False])
def test_the_readout_is_the_product_with_all_features(settings, later):
    grid, u, s = poisson(5, 9)
    s = np.concatenate([s, RNG.standard_normal(s.shape)], axis=1)  # two components
    seen = (s, (0.1 * s, 0.2 * s)) if later else ()
    fields = Fields(np.concatenate([u, u**3], axis=1), *seen)
    features = LayerFeatures.of(settings, 0, grid, fields)
    windows, everywhere = features.windows(grid), np.arange(grid.size)
    kernels = [kernel.rows(everywhere, grid, grid) for kernel in settings.kernels]
    phi = features(fields, windows, everywhere, kernels)
    c = RNG.standard_normal((features.size, 2))
    wanted = np.moveaxis((c.T @ phi).reshape(2, 5, 9, 9), 0, 1)
    found = Readout(features, windows, c, np.dtype(float))(fields)
    np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max())
    single = Readout(features, windows, c, np.dtype(np.float32))(fields.single)
    np.testing.assert_allclose(single, wanted, atol=1e-5 * np.abs(wanted).max())


def test_smoothing_commutes_with_shifts_and_symmetries():
    grid = grid_of((12, 12), ("periodic", "periodic"))
    u, kernels = RNG.standard_normal((30, 1, 12, 12)), (SmoothingKernel(("periodic", "periodic")),)
    settings = LayerSettings((1, 1), (1, 1), (1, 1), width=10, kernels=kernels, smoothed=5)
    samples = (
        LayerSamples(Fields(u[8:]), u[8:] ** 2, np.ones(22)),
        LayerSamples(Fields(u[:8]), u[:8] ** 2, np.ones(8)),
    )
    exchange = Symmetry((False, False), exchanged=True)
    layer = fit_layer(settings, 0, grid, *samples, 30, (exchange,))
    found, new = layer.update(Fields(u), grid), np.roll(u, (3, 5), axis=(2, 3))
    np.testing.assert_allclose(
        layer.update(Fields(new), grid), np.roll(found, (3, 5), axis=(2, 3)), atol=1e-9
    )
    np.testing.assert_allclose(layer.update(Fields(exchange(u)), grid), exchange(found), atol=1e-9)


def test_units_of_an_axis_do_not_matter():
    grid, f = grid_of((9, 17)), RNG.standard_normal((1, 9, 17))
    other = Grid((5.0, 0.0), (1e6, 1e-3), (9, 17), (False, False), (False, False))
    np.testing.assert_array_equal(
        SmoothingKernel(("zero", "free"))(f, grid), SmoothingKernel(("zero", "free"))(f, other)
    )


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_described_kernel_is_the_kernel(boundary, kernel):
    training, own, known = (
        grid_of((16, 11), boundary),
        grid_of((9, 12), boundary),
        SmoothingKernel(boundary, **kernel),
    )
    f, graph = RNG.standard_normal((2, 9, 12)), Graph(9 * 12)
    found = evaluate(graph.finished(known.trace(graph, 0, own, training)), f.reshape(2, -1))
    wanted = known(f, training).reshape(2, -1)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())


@pytest.mark.parametrize("border", ["zero", "periodic"])
@pytest.mark.parametrize("differences", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_a_described_layer_is_the_layer(border, differences, later):
    boundary, shape, M = (border, "periodic"), (7, 7), 49
    grid, (u, s, one, two) = grid_of(shape, boundary), RNG.standard_normal((4, 5, 2, *shape))
    kernels = SmoothingKernel(boundary), SmoothingKernel((border, border), power=0.5, along=0)
    settings = LayerSettings(
        (2, 1), (1, 1), (1, 1), (1, 0), width=12, differences=differences, kernels=kernels, smoothed=5,
        factors=(0, 1), patterns=3, activation="tanh", potentials=kernels,
    )  # fmt: skip
    fields = Fields(u, s, (one, two)) if later else Fields(u)
    features = LayerFeatures.of(settings, 0, grid, fields)
    images = (Symmetry((True, False), sign=-1),) if border == "zero" else (Symmetry((False, False), True),)
    layer = Layer(features, RNG.standard_normal((features.size, 2)), 1.0, images, single=True)
    graph = Graph(8 * M)
    own = ((0, 1), (2, 3), (4, 5, 6, 7)) if later else ((0, 1), (), ())
    parts = [[graph.part(0, k * M, (k + 1) * M) for k in channels] for channels in own]
    found = graph.concat(layer.trace(graph, TracedFields(*parts), grid))
    packed = np.concatenate([u, s, one, two], axis=1).reshape(5, -1)
    wanted = layer.update(fields, grid).reshape(5, -1)
    values = evaluate(graph.finished(found), packed)
    np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    fast = np.abs(layer.update(fields, grid, fast=True).reshape(5, -1) - wanted).max()
    assert 1e-10 < fast / np.abs(wanted).max() < 1e-4  # in single precision, where that is asked for


def test_products_of_earlier_files_are_put_in_order():
    # Channels of u times windows of s, pair after pair: written out, as version 0.2 had them.
    grid, (u, s, update) = grid_of((6, 5)), RNG.standard_normal((3, 2, 2, 6, 5))
    features = LayerFeatures.of(
        LayerSettings((1, 1), (1, 1), (1, 1), (1, 0), width=3), 0, grid, Fields(u, s, (update,))
    )
    windows, at = features.windows(grid), np.arange(30)
    far, few = box_of_offsets((1, 1), (1, 1)), box_of_offsets((1, 0), (1, 1))

    def seen(field, offsets, odd):
        return windows.gather(windows.extrapolated(field, odd), offsets, at, np.empty((len(offsets), 2, 30)))

    pairs = [
        seen(u[:, i], few, False)[:, None] * seen(w[:, j], far, True)[None]
        for i in range(2)
        for w in (s, update)
        for j in range(2)
    ]
    earlier = np.concatenate([pair.reshape(-1, 60) for pair in pairs])
    c = RNG.standard_normal((features.size, 1))
    phi = features(Fields(u, s, (update,)), windows, at)
    columns = features.size - len(earlier)
    wanted = c[:columns, 0] @ phi[:columns] + c[columns:, 0] @ earlier
    np.testing.assert_allclose(features.from_pairs(c)[:, 0] @ phi, wanted, atol=1e-12)

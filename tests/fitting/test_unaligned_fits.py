"""Fits to outputs with gaps and to scattered ones."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, load
from elmonet.errors import InputError
from elmonet.features import POD, SLFN, Legendre, Linear
from elmonet.fitting import incomplete as unaligned
from elmonet.fitting.incomplete import degrees, fit_scattered, fit_with_gaps
from elmonet.solve import gaps as shrinkage
from elmonet.solve.spectral import Spectrum

pytestmark = pytest.mark.numerics

x = np.linspace(0, 1, 25)[:, None]


def pairs(n, seed=0):
    """u = a sin(3 x) + b x, and s = a^2 cos(x) + b x^2, which is of rank two."""
    a, b = np.random.default_rng(seed).normal(size=(2, n, 1))
    return a * np.sin(3 * x.T) + b * x.T, a**2 * np.cos(x.T) + b * x.T**2


def rough_pairs(n, seed=0):
    """Six numbers a function, a square, and noise: no fit comes near rounding."""
    rng = np.random.default_rng(seed)
    c, k = rng.normal(size=(n, 6)), np.arange(1, 7)
    u = (c / k) @ np.sin(np.pi * k[:, None] * x.T)
    s = np.cumsum(u, axis=1) / 25 + 0.3 * u**2
    return u, s + 0.01 * rng.normal(size=s.shape)


def branch():
    return Linear() + SLFN(150, "tanh", 0.5, random_state=0)


def predicted(found, u, points=x):
    return (found.trunk.transform(points) @ found.solution.W @ found.branch.transform(u).T).T


def relative(found, pairs=pairs):
    u, s = pairs(100, seed=1)
    return np.mean(np.linalg.norm(predicted(found, u) - s, axis=1) / np.linalg.norm(s, axis=1))


@pytest.mark.parametrize("missing", ["one", 0.01, 0.3])
def test_a_gap_costs_a_few_factorisations(monkeypatch, missing):
    """No iteration and no SVD for a default fit, and as many Cholesky factors as a few fits without gaps."""
    counted = []
    at = shrinkage.FeatureGram.at
    monkeypatch.setattr(shrinkage.FeatureGram, "at", lambda *given: counted.append(1) or at(*given))
    monkeypatch.setattr(Spectrum, "from_svd", None)
    rng = np.random.default_rng(0)
    u, s = rough_pairs(100)
    y = s.copy()
    if missing == "one":
        y[3, 5] = np.nan
    else:
        y[rng.random(s.shape) < missing] = np.nan
    monkeypatch.setattr("elmonet.solve.gaps._MAX_JOINT_GAPS", 100)  # so that 30 % are many
    found = fit_with_gaps(u, y, x, branch(), POD(), None)
    assert found.solution.method == "cholesky"
    assert len(counted) < 40


def test_a_value_that_is_missing_changes_next_to_nothing():
    u, s = pairs(150)
    y = s.copy()
    y[3, 5] = np.nan
    found = fit_with_gaps(u, y, x, branch(), POD(), None)
    np.testing.assert_allclose(predicted(found, u)[3, 5], s[3, 5], rtol=1e-3)
    assert relative(found) < 1e-2


@pytest.mark.parametrize("trunk", [POD(), POD(8), Legendre(6)])
@pytest.mark.parametrize("part", [0.05, 0.6])
def test_gaps_at_random(trunk, part):
    rng = np.random.default_rng(0)
    u, s = rough_pairs(200)
    y = np.where(rng.random(s.shape) < part, np.nan, s)
    found = fit_with_gaps(u, y, x, branch(), trunk, None)
    assert 0.7 < found.solution.expected_error / relative(found, rough_pairs) < 1.4


def test_modes_come_from_filled_outputs():
    """Two modes are all there is, though half of each function is missing, the same half for many."""
    u, s = pairs(200)
    y = s.copy()
    y[:80, :12] = np.nan
    y[80:150, 13:] = np.nan
    found = fit_with_gaps(u, y, x, branch(), POD(2), None)
    modes = np.linalg.svd(s, full_matrices=False)[2][:2]
    outside = found.trunk.modes_ - modes.T @ (modes @ found.trunk.modes_)
    assert np.linalg.norm(outside) < 0.01


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    u, s = pairs(40)
    y = np.where(rng.random(s.shape) < 0.2, np.nan, s)
    times = rng.integers(1, 4, 40)
    weighted = fit_with_gaps(u, y, x, branch(), Legendre(5), 1e-2, np.sqrt(times))
    repeated = fit_with_gaps(np.repeat(u, times, 0), np.repeat(y, times, 0), x, branch(), Legendre(5), 1e-2)
    np.testing.assert_allclose(predicted(weighted, u), predicted(repeated, u), rtol=1e-7, atol=1e-8)


def test_the_limit_of_a_pseudoinverse():
    """alpha = 0, of a linear operator without noise: exact."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(60, 4))
    s = u @ rng.normal(size=(4, 25))
    y = np.where(rng.random(s.shape) < 0.3, np.nan, s)
    found = fit_with_gaps(u, y, x, Linear(), POD(), 0.0)
    assert found.solution.alpha == 0
    np.testing.assert_allclose(predicted(found, u), s, rtol=1e-6, atol=1e-7)


def test_a_linear_operator_is_found_to_rounding():
    """A value that is missing must not cost digits."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(120, 30)) * np.geomspace(1, 1e-6, 30)
    s = u @ (rng.normal(size=(30, 25)) / np.geomspace(1, 1e-6, 30)[:, None])
    y = s.copy()
    y[3, 5] = np.nan
    found = fit_with_gaps(u, y, x, Linear(), POD(), None)
    assert np.linalg.norm(predicted(found, u) - s) < 1e-9 * np.linalg.norm(s)
    assert found.solution.expected_error < 1e-8


def test_a_point_without_any_value_is_named():
    u, s = pairs(20)
    s[:, 7] = np.nan
    with pytest.raises(InputError, match=r"1 point without a value in any function .*point 7"):
        fit_with_gaps(u, s, x, branch(), POD(), None)


def test_scattered_like_gaps():
    """The same values, given in two ways, with the same trunk and alpha."""
    rng = np.random.default_rng(1)
    u, s = pairs(60)
    known = rng.random(s.shape) < 0.7
    index, place = np.nonzero(known)
    shuffled = rng.permutation(len(index))
    index, place = index[shuffled], place[shuffled]
    gaps = fit_with_gaps(u, np.where(known, s, np.nan), x, branch(), Legendre(4), 1e-6)
    scattered = fit_scattered(u, index, x[place], s[index, place], branch(), [Legendre(4)], 1e-6)
    np.testing.assert_allclose(
        predicted(gaps, u), predicted(scattered, u), rtol=0, atol=1e-2 * np.abs(s).max()
    )
    assert scattered.solution.method == "lsmr"


def test_trunks_are_tried_until_one_gains_little():
    u, s = pairs(150)
    index, place = np.nonzero(np.random.default_rng(1).random(s.shape) < 0.5)
    tried = []

    def trunks():
        for degree in (1, 4, 5, 6, 7):
            tried.append(degree)
            yield Legendre(degree)

    found = fit_scattered(u, index, x[place], s[index, place], branch(), trunks(), None)
    assert 4 <= found.trunk.degree <= max(tried) < 7
    assert relative(found) < 0.02


def test_functions_of_no_weight_do_not_count():
    u, s = pairs(50)
    index, place = np.nonzero(np.random.default_rng(1).random(s.shape) < 0.5)
    weights = np.ones(50)
    weights[40:] = 0
    spoiled = np.where(index >= 40, 1e6, s[index, place])
    found = fit_scattered(u, index, x[place], spoiled, branch(), [Legendre(4)], None, weights)
    assert relative(found) < 0.1


def test_a_trunk_that_learns_from_outputs_needs_common_points():
    u, s = pairs(10)
    with pytest.raises(InputError, match="POD needs outputs at common points"):
        fit_scattered(u, np.arange(10), x[:10], s[:, 0], branch(), [POD()], None)


def test_degrees_that_are_worth_a_try():
    assert degrees(1, 10) == [19]
    assert degrees(2, 30) == [5, 8]
    assert degrees(2, 1000) == [5, 8, 12, 15, 19]


def test_the_record_holds_what_was_fitted():
    u, s = pairs(30)
    s[3, 5] = np.nan
    own, trunk = branch(), POD()
    found = fit_with_gaps(u, s, x, own, trunk, None)
    assert isinstance(found, unaligned.UnalignedOperator)
    assert found.branch is own
    assert found.trunk is trunk
    assert found.solution.W.shape == (trunk.width_, own.width_)
    with pytest.raises(AttributeError):
        found.trunk = None


@pytest.mark.parametrize("automatic", [False, True])
def test_a_point_that_one_function_alone_knows(automatic, tmp_path):
    """Records of different lengths, padded with NaN: refits without that function have no value there."""
    lengths = np.r_[x.size, np.random.default_rng(0).integers(5, x.size - 3, 39)]
    u, s = pairs(40)
    y = np.where(np.arange(x.size) < lengths[:, None], s, np.nan)
    kind = AutoELMDeepONet if automatic else ELMDeepONet
    model = kind(missing="ignore", random_state=0).fit(u, y, points=x)
    low, high = model.interval(u, 0.9)
    known = (~np.isnan(y)).sum(axis=0)
    width = (high - low).mean(axis=0)
    assert np.isfinite(width).all()
    assert width[known < 2].min() >= 0.99 * width.max()  # a single residual is no ground for less
    model.save(tmp_path / "m.elmonet")
    np.testing.assert_allclose(load(tmp_path / "m.elmonet").interval(u, 0.9)[0], low)


@pytest.mark.parametrize("dense", [True, False])
def test_of_several_solutions_without_a_penalty_that_of_least_norm(dense, monkeypatch):
    """As a pseudoinverse of the known values gives it; it was the one that is zero where nothing is known."""
    monkeypatch.setattr("elmonet.solve.observations._MAX_DENSE", 10**6 if dense else 0)
    rng = np.random.default_rng(0)
    u, s = rng.normal(size=(12, 5)), rng.normal(size=(12, 3))
    y = np.where(rng.random(s.shape) < 0.75, np.nan, s)
    y[:, 0] = np.nan
    y[:2, 0] = s[:2, 0]
    where, new = np.linspace(0, 1, 3)[:, None], rng.normal(size=(4, 5))
    found = fit_with_gaps(u, y, where, Linear(), Legendre(2), 0.0)
    B, B_new = (np.hstack([A, np.ones((len(A), 1))]) for A in (u, new))
    known = ~np.isnan(y)
    expected = [np.linalg.pinv(B[k]) @ y[k, j] for j, k in enumerate(known.T)]
    at = predicted(found, new)[:, :: (x.size - 1) // 2]
    np.testing.assert_allclose(at, B_new @ np.stack(expected, axis=1), atol=1e-7)

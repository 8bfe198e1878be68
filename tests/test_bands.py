"""Bands: their quantiles by hand, and their coverage on data that are exchangeable."""

from math import ceil

import numpy as np
import pytest

from elmonet import InputError
from elmonet.uncertainty.bands import Bands
from elmonet.uncertainty.calibration import calibration_of

pytestmark = pytest.mark.numerics


def scores_by_hand(missed, g, groups):
    """|r_i(y)| / (sigma(y) g_i), where sigma knows nothing of the group of i."""
    found = np.empty_like(missed)
    for i in range(len(missed)):
        others = groups != groups[i]
        for y in range(missed.shape[1]):
            sigma = np.sqrt(np.nanmean((missed[others, y] / g[others]) ** 2))
            found[i, y] = abs(missed[i, y]) / g[i] / sigma
    return found


@pytest.mark.parametrize("grouped", [False, True])
def test_quantiles_are_those_of_the_scores(grouped):
    rng = np.random.default_rng(0)
    missed, g = rng.normal(size=(30, 4)) * [1, 2, 3, 4], rng.uniform(1, 3, 30)
    missed[3, 2] = np.nan
    groups = np.arange(30) // 3 if grouped else np.arange(30)
    bands = Bands.of(missed, [g[:, None]], groups if grouped else None)
    scores = scores_by_hand(missed, g, groups)
    np.testing.assert_allclose(bands.sigma, np.sqrt(np.nanmean((missed / g[:, None]) ** 2, axis=0)))
    np.testing.assert_allclose(bands.functions, np.sort(np.nanmax(scores, axis=1)))
    independent = 10 if grouped else 30
    level = 0.8 * (independent + 1) / independent
    assert bands.factor(0.8, "function") == np.sort(np.nanmax(scores, axis=1))[ceil(level * 30) - 1]
    assert bands.factor(0.8, "points") == pytest.approx(np.nanquantile(scores, level), abs=0.03)


def test_values_at_places_of_their_own_have_one_sigma_for_each_component():
    rng = np.random.default_rng(1)
    missed = rng.normal(size=(20, 6)) * np.tile([1.0, 5.0], 3)
    missed[4, 2:] = np.nan
    bands = Bands.of(missed, [np.ones((1, 1))], places=np.arange(6) % 2)
    sizes = [np.sqrt(np.nanmean(missed[:, part::2] ** 2)) for part in (0, 1)]
    np.testing.assert_allclose(bands.sigma, sizes)


def test_coverage_of_exchangeable_functions():
    """Over many draws of 59 functions and a new one, 90 % of the new ones lie inside, up to chance."""
    rng = np.random.default_rng(2)
    inside, points = [], []
    for _ in range(2000):
        r = rng.standard_t(6, size=(60, 5)) * rng.lognormal(sigma=0.5, size=(60, 1))
        bands = Bands.of(r[:59], [np.ones((1, 1))])
        score = np.abs(r[59]) / bands.sigma
        inside.append(score.max() <= bands.factor(0.9, "function"))
        points.append(score <= bands.factor(0.9, "points"))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.02)  # its standard deviation is 0.007
    assert np.mean(points) == pytest.approx(0.9, abs=0.02)


def test_the_scale_that_makes_bands_narrower_is_chosen():
    rng = np.random.default_rng(3)
    g = rng.lognormal(size=(200, 1))
    r = g * rng.normal(size=(200, 6))
    assert Bands.of(r, [np.ones((1, 1)), g]).scale == 1
    assert Bands.of(rng.normal(size=(200, 6)), [np.ones((1, 1)), g]).scale == 0


def test_nothing_missed_gives_bands_of_no_width():
    bands = Bands.of(np.zeros((20, 3)), [np.ones((1, 1))])
    assert np.all(bands.factor(0.9, "points") * bands.sigma < 1e-300)


def test_as_many_functions_as_the_coverage_takes():
    bands = Bands.of(np.random.default_rng(0).normal(size=(10, 3)), [np.ones((1, 1))])
    assert np.isfinite(bands.factor(0.9, "function"))
    with pytest.raises(InputError, match="at least 19 independent functions; there are 10"):
        bands.factor(0.95, "points")
    with pytest.raises(InputError, match="below 1"):
        bands.factor(90, "points")
    with pytest.raises(InputError, match="points"):
        bands.factor(0.9, "functions")
    assert Bands.of(np.ones((3, 2)), [np.ones((1, 1))], groups=np.zeros(3)) is None


def test_crps_is_that_of_an_integral():
    """CRPS = int (F(x) - 1[x >= truth])^2 dx, by quadrature."""
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    bands = Bands.of(rng.normal(size=(50, 1)), [np.ones((1, 1))])
    missed, spread = np.array([[0.7], [-2.0]]), np.array([[1.0], [0.5]])
    found = calibration_of(bands, missed, spread, 1.0, 1.0)
    x = np.linspace(-20, 20, 400_001)
    truth = [
        np.trapezoid((norm.cdf(x / s) - (x >= m)) ** 2, x)
        for m, s in zip(missed[:, 0], spread[:, 0], strict=True)
    ]
    assert found.crps == pytest.approx(np.mean(truth), rel=1e-4)


def test_places_without_residuals_are_not_narrow():
    rng = np.random.default_rng(4)
    missed = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 5]
    missed[1:, 0], missed[:, 1] = np.nan, np.nan
    bands = Bands.of(missed, [np.ones((1, 1))])
    np.testing.assert_allclose(bands.sigma[:2], bands.sigma.max())
    usual = Bands.of(missed[:, 2:], [np.ones((1, 1))])
    assert bands.factor(0.9, "function") < 1.2 * usual.factor(0.9, "function")

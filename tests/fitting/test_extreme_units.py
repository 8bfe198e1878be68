"""Outputs in extreme units: squares that overflow or vanish change nothing, in any kind of fit."""

import copy

import numpy as np
import pytest

from elmonet import (
    SLFN,
    ELMDeepONet,
    InputError,
    Legendre,
    Linear,
    Ridge,
    fit_blocks,
    load,
    problems,
    relative_l2,
)
from elmonet.metrics import output_sizes

pytestmark = pytest.mark.numerics

DATA = problems.antiderivative(n_train=40, n_test=10, n_sensors=12, n_points=9)
U, S, POINTS = DATA.u_train, DATA.s_train, DATA.points
GAPS = np.random.default_rng(0).random(S.shape) < 0.1


def model(solver=None, trunk=None, **settings):
    return ELMDeepONet(Linear() + SLFN(5), trunk, solver, random_state=0, **settings)


def gram():
    return Ridge("loo", sums="gram")


FITS = {
    "in memory": lambda s: model().fit(U, s, points=POINTS),
    "groups": lambda s: model().fit(U, s, points=POINTS, groups=np.arange(40) // 4),
    "weights": lambda s: model().fit(U, s, points=POINTS, sample_weight=np.arange(1, 41)),
    "gaps": lambda s: model(missing="ignore").fit(U, np.where(GAPS, np.nan, s), points=POINTS),
    "gaps, a basis": lambda s: model(trunk=Legendre(5), missing="ignore").fit(
        U, np.where(GAPS, np.nan, s), points=POINTS
    ),
    "scattered": lambda s: model(trunk=Legendre(4)).fit(U, list(s[:, ::2]), points=[POINTS[::2]] * 40),
    "few in blocks": lambda s: fit_blocks(ELMDeepONet(Linear() + SLFN(50), random_state=0), U, s, POINTS),
    "Gram sums": lambda s: fit_blocks(model(gram()), U, s, POINTS),
    "Gram sums, a basis": lambda s: fit_blocks(model(gram(), Legendre(5)), U, s, POINTS),
    "a triangle": lambda s: fit_blocks(model(Ridge("loo", sums="tsqr")), U, s, POINTS),
    "blocks, groups": lambda s: fit_blocks(model(gram()), U, s, POINTS, groups=np.arange(40) // 4),
    "batches": lambda s: model(gram()).partial_fit(U[:20], s[:20], points=POINTS).partial_fit(U[20:], s[20:]),
    "a number": lambda s: fit_blocks(model(gram()), U, s[:, -1:], [[1.0]]),
}


@pytest.mark.parametrize("power", [-1000, -565, 531, 1000])
@pytest.mark.parametrize("kind", FITS)
def test_units_change_nothing(kind, power):
    """In blocks, outputs of 1e-170 had the error 0, and with gaps those of 1e-160."""
    one, other = FITS[kind](S), FITS[kind](np.ldexp(S, power))
    assert one.expected_error_ > 0
    assert other.expected_error_ == pytest.approx(one.expected_error_, rel=1e-6)
    assert other.solution_.residual == pytest.approx(one.solution_.residual, rel=1e-6)
    points = None if kind != "scattered" else POINTS
    predicted, expected = (fitted.predict(DATA.u_test, points) for fitted in (other, one))
    np.testing.assert_allclose(np.ldexp(predicted, -power), expected, atol=1e-9 * np.abs(expected).max())


def test_units_travel_with_sums(tmp_path):
    """Sums of scaled outputs are saved, loaded, continued and merged as such."""
    s = np.ldexp(S, -565)
    half = model(gram()).partial_fit(U[:20], s[:20], points=POINTS)
    half.save(tmp_path / "half.elmonet", sums=True)
    whole = load(tmp_path / "half.elmonet").partial_fit(U[20:], s[20:])
    expected = model(gram()).partial_fit(U[:20], s[:20], points=POINTS).partial_fit(U[20:], s[20:])
    assert relative_l2(whole.predict(DATA.u_test), expected.predict(DATA.u_test)) < 1e-9
    with pytest.raises(InputError, match="models differ"):
        half.merge(model(gram(), scale_inputs=False).partial_fit(U[:20], S[:20], points=POINTS))


def test_a_model_is_not_merged_with_itself():
    """Every function would count twice."""
    fitted = model(Ridge(0.1)).partial_fit(U, S, points=POINTS)
    with pytest.raises(InputError, match=r"each would count twice.*deepcopy"):
        fitted.merge(fitted)
    twice = copy.deepcopy(fitted).merge(copy.deepcopy(fitted))
    repeated = model(Ridge(0.1)).partial_fit(U, S, points=POINTS).partial_fit(U, S)
    np.testing.assert_allclose(twice.predict(U), repeated.predict(U), atol=1e-9)


@pytest.mark.parametrize("power", [-900, 0, 900])
def test_errors_of_numbers(power):
    found = np.ldexp([1.0, 2.0], power) / output_sizes(np.ldexp([[3.0], [-4.0]], power))
    np.testing.assert_allclose(found, np.array([1, 2]) / np.sqrt(12.5))

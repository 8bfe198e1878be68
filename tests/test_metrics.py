import numpy as np
import pytest

from elmonet import InputError, relative_l2
from elmonet.metrics import expected_relative_errors, function_norms


def test_is_the_mean_of_ratios():
    rng = np.random.default_rng(0)
    truth, prediction = rng.normal(size=(2, 5, 7))
    expected = np.mean(np.linalg.norm(prediction - truth, axis=1) / np.linalg.norm(truth, axis=1))
    assert relative_l2(prediction, truth) == pytest.approx(expected, rel=1e-14)
    assert relative_l2(prediction[..., None], truth[..., None]) == pytest.approx(expected)
    one = np.linalg.norm(prediction[0] - truth[0]) / np.linalg.norm(truth[0])
    assert relative_l2(prediction[0], truth[0]) == pytest.approx(one)


def test_zero_functions_and_extreme_sizes():
    truth = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert relative_l2(truth, truth) == 0
    assert relative_l2(np.array([[0.0, 1.0], [3.0, 4.0]]), truth) == pytest.approx(0.1)
    assert relative_l2(np.ones((2, 2)), np.zeros((2, 2))) == pytest.approx(np.sqrt(2))
    for size in (1e-200, 1e200):
        assert relative_l2(1.1 * size * truth, size * truth) == pytest.approx(0.05)
        np.testing.assert_allclose(function_norms(size * truth), [0, 5 * size])


def test_shapes_must_agree():
    with pytest.raises(InputError, match=r"prediction \(2, 3\) and truth \(3, 2\)"):
        relative_l2(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(InputError):
        relative_l2([], [])


@pytest.mark.parametrize("kind", ["points", "components", "dictionary", "numbers", "holes"])
def test_expected_relative_errors_are_those_of_relative_l2(kind):
    """With the true residuals as spread, the mean is `relative_l2`."""
    rng = np.random.default_rng(0)
    truth, residual = rng.normal(size=(2, 12, 5, 2))
    if kind in ("points", "numbers"):
        truth, residual = truth[:, :, 0], residual[:, :, 0]
    if kind == "numbers":
        truth, residual = truth[:, :1], residual[:, :1]
    if kind == "holes":
        truth[:, 2], residual[:, 2] = np.nan, np.nan
    prediction = truth + residual
    if kind == "dictionary":
        truth, residual, prediction = (
            {"p": A[..., 0], "v": A[..., 1]} for A in (truth, np.abs(residual), prediction)
        )
    errors = expected_relative_errors(residual, truth)
    assert errors.shape == (12,)
    assert errors.mean() == pytest.approx(relative_l2(prediction, truth), rel=1e-12)

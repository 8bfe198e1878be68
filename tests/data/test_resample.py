import numpy as np
import pytest

from elmonet import ExtrapolationWarning, InputError
from elmonet.data.scattered import resample


def test_smooth_functions_at_places_of_their_own():
    rng = np.random.default_rng(0)
    sensors = [np.sort(np.append(rng.uniform(0, 1, n), [0, 1])) for n in (40, 60)]
    x = np.linspace(0, 1, 11)
    u = resample([np.sin(3 * s) for s in sensors], sensors, x)
    np.testing.assert_allclose(u, np.sin(3 * np.stack([x, x])), atol=1e-3)


def test_in_two_dimensions():
    rng = np.random.default_rng(0)
    sensors = [rng.uniform(0, 1, (n, 2)) for n in (150, 200)]
    new = rng.uniform(0.2, 0.8, (7, 2))
    u = resample([s @ [1.0, 2.0] for s in sensors], sensors, new)
    np.testing.assert_allclose(u, np.stack([new @ [1.0, 2.0]] * 2), atol=1e-8)


def test_far_outside_warns_and_near_does_not():
    x = np.linspace(0, 1, 20)
    resample([x], [x], [1.05])
    with pytest.warns(ExtrapolationWarning, match="1 of 2 functions, the first function 1"):
        resample([x, x], [x, x / 2], [0.9])


@pytest.mark.parametrize(
    ("values", "sensors", "message"),
    [
        ([[1.0, 2.0]], [], "got 1 and 0"),
        ([[1.0, 2.0]], [[0.0, 0.5, 1.0]], "function 0 has values"),
        ([[1.0, np.nan]], [[0.0, 1.0]], "function 0 holds 1 NaN"),
        ([[1.0, 2.0]], [[[0.0, 1.0], [1.0, 0.0]]], "1 coordinate"),
    ],
)
def test_what_does_not_fit(values, sensors, message):
    with pytest.raises(InputError, match=message):
        resample(values, sensors, [0.5])


def test_common_sensors():
    """As messages advise: values (N, m), and sensors (m,) or (m, d) of all functions, also where N = m."""
    x, new = np.linspace(0, 1, 12), np.linspace(0, 1, 7)
    values = np.arange(1.0, 13)[:, None] * x**2
    np.testing.assert_allclose(resample(values, x, new), np.arange(1.0, 13)[:, None] * new**2, atol=1e-10)
    points = np.random.default_rng(0).random((150, 2))
    new = np.array([[0.4, 0.5], [0.6, 0.3]])
    found = resample(np.stack([points @ [1.0, 2.0], points @ [3.0, 0.0]]), points, new)
    np.testing.assert_allclose(found, [new @ [1.0, 2.0], new @ [3.0, 0.0]], atol=1e-8)

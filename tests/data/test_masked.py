"""Masked values are missing: NaN, whatever stands behind the mask."""

import numpy as np
import pytest

from elmonet import OperatorData, Scattered, read
from elmonet.data import resample
from elmonet.errors import InputError

HIDDEN = -9999


def masked(shape, dtype=float):
    values = np.ma.masked_array(np.arange(np.prod(shape)).reshape(shape).astype(dtype), mask=False)
    values[1, 2] = HIDDEN if np.dtype(dtype).kind != "u" else 255
    values[1, 2] = np.ma.masked
    return values


def expected(shape, dtype=float):
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    values[1, 2] = np.nan
    return values


@pytest.mark.parametrize(("dtype", "found"), [("f8", "f8"), ("f4", "f4"), ("i4", "f8"), ("u1", "f4")])
def test_operator_data(dtype, found):
    u, s = masked((4, 3), dtype), masked((4, 5), dtype)
    data = OperatorData(u, s, {"a": u}["a"], s)
    for given in (data.u_train, data.u_test):
        np.testing.assert_array_equal(given, expected((4, 3), found), strict=True)
    for given in (data.s_train, data.s_test):
        assert type(given) is np.ndarray
        np.testing.assert_array_equal(given, expected((4, 5), found), strict=True)
    assert u[1, 2] is np.ma.masked  # the caller's array is as it was
    several = OperatorData({"a": u, "b": masked((4, 6), dtype)}, s)
    np.testing.assert_array_equal(several.u_train["a"], expected((4, 3), found), strict=True)


def test_a_mask_that_hides_nothing_changes_nothing():
    s = np.ma.masked_array(np.arange(6).reshape(2, 3), mask=False)
    given = OperatorData(np.ones((2, 2)), s).s_train
    np.testing.assert_array_equal(given, s.data, strict=True)


def test_read():
    data = read({"u": masked((4, 3)), "s": masked((4, 5)), "points": np.arange(5.0)})
    np.testing.assert_array_equal(data.u_train, expected((4, 3)))
    np.testing.assert_array_equal(data.s_train, expected((4, 5)))


def test_scattered_values_and_points():
    values = np.ma.masked_equal([1.0, HIDDEN, 3.0], HIDDEN)
    with pytest.raises(InputError, match=r"values holds 1 NaN .* index \(1,\).*leave it out of index"):
        Scattered([0, 0, 1], [0.1, 0.2, 0.3], values)
    with pytest.raises(InputError, match=r"points holds 1 NaN"):
        Scattered([0, 0, 1], values, [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"values holds 1 NaN"):
        Scattered.of([values, [1.0]], [[0.1, 0.2, 0.3], [0.5]])
    with pytest.raises(InputError, match=r"function 0 holds 1 NaN"):
        resample([values], [[0.0, 0.5, 1.0]], [0.2])

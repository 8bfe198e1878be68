"""Labels of pandas and xarray that contradict the positions of rows and values."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, InputError, Linear, load, relative_l2

xr = pytest.importorskip("xarray")

N, XS, T = 30, np.linspace(0, 1, 10), np.linspace(0, 1, 12)
A = np.random.default_rng(0).normal(size=(40, 3))
CASE = np.arange(40)
U = xr.DataArray(A @ np.stack([1 + XS, np.sin(3 * XS), np.cos(3 * XS)]), {"case": CASE, "x": XS})
S = xr.DataArray(A @ np.stack([T, np.sin(3 * T), T**2]), {"case": CASE, "t": T})
NEW, TRUE = U[N:], S[N:]


def fitted(u=U[:N], s=S[:N]):
    return ELMDeepONet(Linear()).fit(u, s, points=T)


def test_labels_that_agree():
    model = fitted()
    assert relative_l2(model.predict(NEW), TRUE.values) < 1e-3
    np.testing.assert_array_equal(model.predict(NEW), model.predict(NEW.values))
    other = NEW.rename(case="run").assign_coords(x=XS + 5)  # another place: nothing says that it is wrong
    np.testing.assert_array_equal(model.predict(other), model.predict(NEW))
    unnamed = fitted(xr.DataArray(U[:N].values), xr.DataArray(S[:N].values))
    np.testing.assert_array_equal(unnamed.predict(NEW), model.predict(NEW))


@pytest.mark.parametrize(
    ("u", "s", "message"),
    [
        (U[:N], S[:N][::-1], r"different coordinates along 'case'.* y.sel\(case=X\['case'\]\)"),
        (U[:N], S[10:], "different coordinates along 'case'"),
        (U[:12], S[:12].T, r"Give y.transpose\('case', \.\.\.\)"),  # as many functions as points
        (U[:10].T, S[:10], r"Give X.transpose\('case', \.\.\.\)"),
        ({"a": U[:N]}, S[:N][::-1], "different coordinates along 'case'"),
    ],
)
def test_functions_in_another_order_are_refused(u, s, message):
    with pytest.raises(InputError, match=message):
        fitted(u, s)


@pytest.mark.parametrize("stored", [False, True])
def test_values_in_another_order_are_refused(stored, tmp_path):
    model = fitted()
    if stored:
        model.save(tmp_path / "m")
        model = load(tmp_path / "m")
    with pytest.raises(InputError, match=r"give X.transpose\(\.\.\., 'x'\)"):
        model.predict(NEW.T)  # ten functions at ten sensors
    with pytest.raises(InputError, match="coordinates of 'x' in another order"):
        model.predict(NEW[:, ::-1])
    with pytest.raises(InputError, match="coordinates of 'x' in another order"):
        model.interval(NEW[:, np.random.default_rng(0).permutation(10)])
    np.testing.assert_array_equal(model.predict(NEW[:, ::-1].reindex(x=XS)), model.predict(NEW))


def test_a_score_pairs_functions_by_label():
    with pytest.raises(InputError, match="different coordinates along 'case'"):
        fitted().score(NEW, TRUE[::-1])


@pytest.mark.parametrize("points", [{0.0, 1.0}, iter([0.0, 1.0])])
def test_points_that_are_no_array(points):
    with pytest.raises(InputError, match=r"points must be an array \(M, d\)"):
        ELMDeepONet(Linear()).fit(U.values, S.values, points=points)


def test_single_precision_of_other_bytes_stays_single():
    u, s = (A.values.astype(">f4") for A in (U, S))
    model = ELMDeepONet(Linear()).fit(u, s, points=T)
    assert model.predict(u[:3]).dtype == np.float32

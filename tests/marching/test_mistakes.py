"""What users of records give by mistake: it is understood, or refused with the way out."""

import numpy as np
import pytest
from scipy.signal import lfilter

from elmonet import AutoELMDeepONet, InputError, MarchingELMDeepONet

LENGTHS = [40, 60, 50, 45, 70, 55, 42, 65, 48, 52, 58]


def records():
    u = [np.random.default_rng(T).normal(size=T) for T in LENGTHS]
    return u, [lfilter([0.3], [1, -0.8], one) for one in u]


def ragged(parts):
    """Return an array of objects, as loadmat and pandas give records of different lengths."""
    out = np.empty(len(parts), object)
    out[:] = parts
    return out


@pytest.mark.parametrize("form", [ragged, lambda parts: [one.tolist() for one in parts]])
@pytest.mark.parametrize("estimator", [MarchingELMDeepONet, AutoELMDeepONet])
def test_object_arrays_and_nested_lists_are_lists_of_records(form, estimator):
    u, s = records()
    t = [0.1 * np.arange(T) for T in LENGTHS]
    settings = {"memory": (1, 1)} if estimator is MarchingELMDeepONet else {}
    expected, model = (
        estimator(random_state=0, **settings).fit(*given)
        for given in ((u, s, t), (form(u), form(s), form(t)))
    )
    for own, truth in zip(model.predict(form(u)), expected.predict(u), strict=True):
        np.testing.assert_array_equal(own, truth)
    starts = [one[:1] for one in s]
    for own, truth in zip(model.predict(form(u), start=form(starts)), s, strict=True):
        np.testing.assert_allclose(own, truth, rtol=0, atol=1e-6)
    assert model.score(form(u), form(s)) == expected.score(u, s)


@pytest.mark.parametrize("estimator", [MarchingELMDeepONet, AutoELMDeepONet])
def test_a_record_with_one_input_more_is_named(estimator):
    u, s = records()
    u[3] = np.append(u[3], 0.0)
    with pytest.raises(InputError, match=r"record 3 has 46 inputs and 45 outputs.*cut off"):
        estimator().fit(u, s)


def test_arrays_with_one_input_more():
    u = np.random.default_rng(0).normal(size=(12, 51))
    s, t = lfilter([0.3], [1, -0.8], u)[:, :50], np.arange(50.0)
    with pytest.raises(InputError, match=r"50 times.*\(51,\).*cut off the first or the last"):
        MarchingELMDeepONet().fit(u, s, t)
    with pytest.warns(UserWarning, match="expected error"):
        model = AutoELMDeepONet(random_state=0).fit(u, s, t)
    assert "not tried: inputs have 51 steps, outputs 50" in " ".join(model.summary().split())


def test_times_that_are_not_uniform_are_said_to_be_the_reason():
    u = np.random.default_rng(0).normal(size=(12, 50))
    t = np.cumsum(np.linspace(0.1, 0.3, 50))
    with pytest.raises(InputError, match=r"uniform time steps.*elmonet.resample"):
        MarchingELMDeepONet().fit(u, lfilter([0.3], [1, -0.8], u), t)
    with pytest.warns(UserWarning, match="expected error"):
        model = AutoELMDeepONet(random_state=0).fit(u, lfilter([0.3], [1, -0.8], u), t)
    assert "not tried: time steps are 0.104 to 0.3" in " ".join(model.summary().split())


def test_a_gap_in_a_record():
    u, s = records()
    s[2][10:15] = np.nan
    with pytest.raises(InputError, match=r"y\[2\] holds 5 NaN.*cut in two at a gap"):
        MarchingELMDeepONet().fit(u, s)
    u = np.random.default_rng(0).normal(size=(12, 50))
    s = lfilter([0.3], [1, -0.8], u)
    s[2, 10:15] = np.nan
    with pytest.raises(InputError, match=r"y holds 5 NaN.*cut in two at a gap") as error:
        MarchingELMDeepONet().fit(u, s)
    assert "missing=" not in str(error.value)  # it has no such parameter


def test_a_single_record_as_a_column():
    u, s = records()
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    with pytest.raises(InputError, match=r"50 records of one step.*one as \(T,\) or \(1, T\)"):
        model.predict(u[2][:, None])
    with pytest.raises(InputError, match=r"start\[0\] must be a record"):
        model.predict([u[0]], start=[np.empty(0)])

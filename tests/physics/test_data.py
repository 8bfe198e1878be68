"""Measurements used with an equation: better than either alone, constants found, noise estimated."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, InputError, OperatorData, relative_l2
from elmonet.equations import reaction
from elmonet.physics import PDE, Box

EVERY = slice(None, None, 7)  # of the points: enough for tests
POINTS = reaction.POINTS[EVERY]


def equation(diffusion, **more):
    return PDE(
        Box(x=(0, 1), t=(0, 1)),
        lambda s, u, D: s.t - D * s.xx - 0.01 * s**2 - u,
        dict.fromkeys(("t=0", "x=0", "x=1"), lambda s, u: s),
        input_axes=("x",),
        constants={"D": diffusion},
        degree=13,
        **more,
    )


@pytest.fixture(scope="module")
def measured():
    """20 functions with 5 % noise, and 60 new ones."""
    s = reaction.reference(20, seed=5)[:, EVERY]
    noise = 0.05 * np.sqrt(np.mean(s**2)) * np.random.default_rng(0).standard_normal(s.shape)
    return reaction.inputs(20, seed=5), s + noise, reaction.inputs(60, 1), reaction.reference(60, 1)[:, EVERY]


def fitted(pde, data=None):
    model = AutoELMDeepONet(random_state=0, layers=0)
    return model.fit(reaction.inputs(100, 0), pde, POINTS, sensors=reaction.SENSORS, data=data)


@pytest.fixture(scope="module")
def wrong():
    """A model of the equation alone, with a wrong constant."""
    return fitted(equation(0.015))


def test_both_are_better_than_either(measured, wrong):
    """An equation with a wrong constant, and few noisy measurements."""
    u, s, new, truth = measured
    data_alone = AutoELMDeepONet(random_state=0).fit(u, s, POINTS)
    both = fitted(equation(0.015), (u, s))
    error = relative_l2(both.predict(new), truth)
    assert error < 0.5 * relative_l2(data_alone.predict(new), truth)
    assert error < 0.5 * relative_l2(wrong.predict(new), truth)
    assert 0.5 * error < both.expected_error_ < 3 * error
    assert "Data noise:       5" in both.summary()


def test_a_right_equation_is_not_made_worse(measured):
    u, s, new, truth = measured
    alone, both = fitted(equation(0.01)), fitted(equation(0.01), OperatorData(u, s, points=POINTS))
    assert relative_l2(both.predict(new), truth) < relative_l2(alone.predict(new), truth) + 3e-3


def test_a_constant_is_found(measured):
    u, s, new, truth = measured
    model = fitted(equation(0.03, find=("D",)), (u, s))
    assert relative_l2(model.predict(new), truth) < 3e-3
    value, spread = model.physics_.constants["D"]
    assert value == pytest.approx(0.01, rel=0.01)
    assert spread < 1e-3
    assert "Estimated: D = 0.0" in " ".join(model.summary().split())


def test_gaps_and_few_points(measured, wrong):
    """Each function is measured at its own tenth of the points."""
    u, s, new, truth = measured
    gappy = np.where(np.random.default_rng(1).random(s.shape) < 0.1, s, np.nan)
    both = fitted(equation(0.015), (u, gappy))
    assert relative_l2(both.predict(new), truth) < 0.5 * relative_l2(wrong.predict(new), truth)


def test_invalid_data_raise(measured):
    u, s, *_ = measured
    for data, words in (
        ((u, s[:, :5]), "give their points"),
        ((u, s, POINTS[:5]), "give their points"),
        ((u[:5], s), "5 functions"),
        (s, "must be an OperatorData"),
        ((u, {"v": s}), "values of s"),
        ((u, 0 * s), "other than zero"),
    ):
        with pytest.raises(InputError, match=f"(?i){words}"):
            fitted(equation(0.015), data)
    with pytest.raises(InputError, match="used with an equation"):
        AutoELMDeepONet().fit(u, s, POINTS, data=(u, s))
    with pytest.raises(InputError, match="find must name"):
        equation(0.01, find=("k",))
    with pytest.raises(InputError, match="do not determine"):
        PDE(
            Box(x=(0, 1)),
            lambda s, u, k: s.x - u + 0 * k,
            {"x=0": lambda s, u: s},
            constants={"k": 1.0},
            find="k",
            degree=8,
        ).solved(u, reaction.SENSORS, data=(u, np.ones((20, 3)), [0.1, 0.5, 1.0]))

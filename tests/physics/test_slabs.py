"""Slabs in time give the same solutions as the whole domain."""

import numpy as np
import pytest

from elmonet import InputError, relative_l2
from elmonet.physics import PDE, Box
from elmonet.physics.fields import InputFields

pytestmark = pytest.mark.numerics

X = np.linspace(0, 1, 40)
K = np.array([[1.0], [2.0]])
T = np.linspace(0, 1.5, 13)
BOX = Box(x=(0, 1), t=(0, 1.5))
POINTS = np.stack(np.meshgrid(X[::4], T, indexing="ij"), axis=-1).reshape(-1, 2)
ENDS = dict.fromkeys(("x=0", "x=1"), lambda s, u: s)


@pytest.mark.parametrize("slabs", [1, 6])
def test_first_order_in_time(slabs):
    """s_t = 0.1 s_xx from sin(k pi x)."""
    pde = PDE(
        BOX,
        lambda s, u: s.t - 0.1 * s.xx,
        ENDS | {"t=0": lambda s, u: s - u},
        ("x",),
        degree=(14, 12 if slabs == 1 else 6),
        slabs=slabs,
    )
    found = pde.solved(np.sin(K * np.pi * X), X, POINTS)
    x, t = POINTS.T
    truth = np.exp(-0.1 * (K * np.pi) ** 2 * t) * np.sin(K * np.pi * x)
    assert relative_l2(found.s, truth) < 1e-5
    assert found.result.resolution.slabs == slabs


@pytest.mark.parametrize("slabs", [1, 6])
def test_second_order_in_time(slabs):
    """s_tt = s_xx: the wave goes on with its speed, so slabs share s and s_t."""
    pde = PDE(
        BOX,
        lambda s, u: s.tt - s.xx,
        ENDS | {"t=0": lambda s, u: (s - u, s.t)},
        ("x",),
        degree=(14, 16 if slabs == 1 else 8),
        slabs=slabs,
    )
    u = np.sin(K * np.pi * X)
    x, t = POINTS.T
    truth = np.cos(K * np.pi * t) * np.sin(K * np.pi * x)
    assert relative_l2(pde.solve(u, X, POINTS).s_train, truth) < 1e-5
    if slabs > 1:
        found = pde._solution(InputFields(u, X, pde.input_axes, pde.domain))[0]
        edge = found.edges[2]
        sides = (np.column_stack([X, np.full(40, edge + own)]) for own in (-1e-9, 1e-9))
        before, after = (found.values(own, (0, 1))[""] for own in sides)
        np.testing.assert_allclose(before, after, atol=1e-4)


@pytest.mark.parametrize("slabs", [1, 6])
def test_an_unknown_without_a_time_derivative(slabs):
    """v_t = q_x, q = 0.1 v_x: nothing of q goes from slab to slab."""
    pde = PDE(
        BOX,
        lambda s, u: (s.v.t - s.q.x, s.q - 0.1 * s.v.x),
        dict.fromkeys(("x=0", "x=1"), lambda s, u: s.v) | {"t=0": lambda s, u: s.v - u},
        ("x",),
        unknowns=("v", "q"),
        degree=(14, 12 if slabs == 1 else 6),
        slabs=slabs,
    )
    found = pde.solved(np.sin(K * np.pi * X), X, POINTS).s
    x, t = POINTS.T
    fade = np.exp(-0.1 * (K * np.pi) ** 2 * t)
    assert relative_l2(found["v"], fade * np.sin(K * np.pi * x)) < 1e-5
    assert relative_l2(found["q"], 0.1 * K * np.pi * fade * np.cos(K * np.pi * x)) < 1e-5


@pytest.mark.parametrize("residual", [lambda s, u: s.t + s**2 - u, lambda s, u: s.t + u * s - 1])
def test_one_and_six_agree(residual):
    u = 1 + 0.5 * np.sin(K * X)
    one, six = (
        PDE(Box(t=(0, 1.5)), residual, {"t=0": lambda s, u: s - 1}, degree=14, slabs=n).solve(u, 1.5 * X, T)
        for n in (1, 6)
    )
    np.testing.assert_allclose(one.s_train, six.s_train, atol=1e-8)


def test_slabs_from_another_coordinate_and_downwards_refused():
    """Slabs along x work too if conditions are at its lower end alone, but not otherwise."""
    u = np.cos(K * X)
    pde = PDE(Box(x=(0, 1)), lambda s, u: s.x - u, {"x=0": lambda s, u: s}, degree=6, slabs=5)
    np.testing.assert_allclose(pde.solve(u, X, X).s_train, np.sin(K * X) / K, atol=1e-8)
    for residual, conditions in (
        (lambda s, u: s.xx - u, ENDS),
        (lambda s, u: s.x - u, {"x=1": lambda s, u: s}),
    ):
        with pytest.raises(InputError, match="slabs are for equations that start at one end"):
            PDE(Box(x=(0, 1)), residual, conditions, slabs=3).solve(u, X, X)


def test_a_blow_up_in_one_slab_is_reported():
    """s' = s^2 from k: 1 / (1/k - t), which ends at t = 1 / k."""
    k = np.array([0.2, 0.3, 0.9, 0.5])
    pde = PDE(
        Box(t=(0, 1.5)), lambda s, u: s.t - s**2, {"t=0": lambda s, u: s - u.k}, {"k": ()}, degree=12, slabs=6
    )
    with pytest.warns(UserWarning, match="1 of 4"):
        found = pde.solved({"k": k}, None, T)
    np.testing.assert_array_equal(found.result.failed, [2])
    np.testing.assert_allclose(found.s, 1 / (1 / k[[0, 1, 3], None] - T), rtol=1e-6)

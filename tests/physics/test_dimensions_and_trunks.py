"""Three dimensions, and user-defined trunks."""

import numpy as np
import pytest

from elmonet import SLFN, Legendre, Sinusoid, relative_l2
from elmonet.physics import PDE, Box

pytestmark = pytest.mark.numerics

K = np.array([1.0, -2.0])
RNG = np.random.default_rng(0)
SQUARE = dict.fromkeys(("x=0", "x=1", "y=0", "y=1"), lambda s, u: s)


def hat(*where):
    return np.prod([np.sin(np.pi * own) for own in where], axis=0)


def test_poisson_in_a_cube():
    faces = SQUARE | dict.fromkeys(("z=0", "z=1"), lambda s, u: s)
    pde = PDE(
        Box(x=(0, 1), y=(0, 1), z=(0, 1)),
        lambda s, u, x, y, z: s.xx + s.yy + s.zz + 3 * np.pi**2 * u.k * hat(x, y, z),
        faces,
        {"k": ()},
        degree=6,
    )
    where = RNG.uniform(size=(50, 3))
    found = pde.solved({"k": K}, None, where)
    true = relative_l2(found.s, K[:, None] * hat(*where.T))
    assert true < 2e-3
    assert true / 3 < found.result.error < 5 * true


def test_heat_in_a_square_with_an_input_of_two_coordinates():
    """s_t = 0.1 (s_xx + s_yy) from u(x, y)."""
    axis = np.linspace(0, 1, 15)
    sensors = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    pde = PDE(
        Box(x=(0, 1), y=(0, 1), t=(0, 1)),
        lambda s, u: s.t - 0.1 * (s.xx + s.yy),
        SQUARE | {"t=0": lambda s, u: s - u},
        ("x", "y"),
        degree=(7, 7, 6),
    )
    where = RNG.uniform(size=(50, 3))
    found = pde.solve(K[:, None] * hat(*sensors.T), sensors, where).s_train
    truth = K[:, None] * hat(*where.T[:2]) * np.exp(-0.2 * np.pi**2 * where[:, 2])
    assert relative_l2(found, truth) < 1e-3


def poisson(conditions, **how):
    return PDE(
        Box(x=(0, 1), y=(0, 1)),
        lambda s, u, x, y: s.xx + s.yy + 2 * np.pi**2 * u.k * hat(x, y),
        conditions,
        {"k": ()},
        **how,
    )


def test_a_trunk_that_meets_conditions_exactly():
    pde = poisson({}, trunk=lambda n: Legendre((n, n)).zero_on_boundary(), degree=9)
    where = RNG.uniform(size=(60, 2))
    assert relative_l2(pde.solve({"k": K}, None, where).s_train, K[:, None] * hat(*where.T)) < 1e-5
    where[:15, 0], where[15:30, 0], where[30:45, 1], where[45:, 1] = 0, 1, 0, 1
    np.testing.assert_allclose(pde.solve({"k": K}, None, where).s_train, 0, atol=1e-14)


def test_random_features():
    """Less accurate than polynomials, and the stated error says so."""
    where = RNG.uniform(size=(60, 2))
    pde = poisson(SQUARE, trunk=lambda n: SLFN(n**2, "tanh", scale=2.0, random_state=0), degree=14)
    found = pde.solved({"k": K}, None, where)
    true = relative_l2(found.s, K[:, None] * hat(*where.T))
    assert true < 1e-2
    assert found.result.error > true / 5


@pytest.mark.parametrize("conditions", [{}, SQUARE], ids=["without", "with"])
def test_sines_meet_conditions_up_to_rounding(conditions):
    """The solution is the first of these functions. Rows of rounding are no conditions."""
    where = RNG.uniform(size=(60, 2))
    found = poisson(conditions, trunk=lambda n: Sinusoid(n**2, "tensor"), degree=8).solve(
        {"k": K}, None, where
    )
    np.testing.assert_allclose(found.s_train, K[:, None] * hat(*where.T), atol=1e-9)

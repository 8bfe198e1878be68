"""Periodic coordinates: waves that travel and decay."""

import numpy as np
import pytest

from elmonet import InputError, relative_l2
from elmonet.physics import PDE, Box

pytestmark = pytest.mark.numerics

PHASES = np.array([[0.0], [0.7], [2.0]])
T = np.linspace(0, 0.5, 5)
BOX = Box(x=(-1, 1), t=(0, 0.5), periodic="x")


def wave(x):
    """(3, m), of period 2."""
    return np.sin(np.pi * x + PHASES) + 0.5 * np.cos(2 * np.pi * x)


def points(x, *others):
    return np.stack(np.meshgrid(x, *others, indexing="ij"), axis=-1).reshape(-1, 1 + len(others))


@pytest.mark.parametrize("right_end", [True, False])
def test_advection_with_and_without_the_right_end_among_the_sensors(right_end):
    """s_t + 2 s_x = 0 is u(x - 2 t). Both ends are the same point: sensors may have one or both."""
    sensors = np.linspace(-1, 1, 41) if right_end else np.linspace(-1, 1, 40, endpoint=False)
    pde = PDE(BOX, lambda s, u: s.t + 2 * s.x, {"t=0": lambda s, u: s - u}, input_axes=("x",))
    where = points(np.linspace(-1, 1, 21), T)
    found = pde.solve(wave(sensors), sensors, where).s_train
    assert relative_l2(found, wave(where[:, 0] - 2 * where[:, 1])) < 1e-7
    ends = found.reshape(3, 21, len(T))
    np.testing.assert_allclose(ends[:, 0], ends[:, -1], atol=1e-12)


def test_heat():
    """Each wave decays at its own rate."""
    x = np.linspace(-1, 1, 40, endpoint=False)
    pde = PDE(BOX, lambda s, u: s.t - 0.1 * s.xx, {"t=0": lambda s, u: s - u}, input_axes=("x",))
    where = points(np.linspace(-1, 1, 20), T)
    slow, fast = (np.exp(-0.1 * (k * np.pi) ** 2 * where[:, 1]) for k in (1, 2))
    truth = slow * np.sin(np.pi * where[:, 0] + PHASES) + 0.5 * fast * np.cos(2 * np.pi * where[:, 0])
    assert relative_l2(pde.solve(wave(x), x, where).s_train, truth) < 1e-8


def test_two_periodic_dimensions():
    """s - s_xx - s_yy = u, and no condition at all."""
    x, y = np.linspace(0, 1, 16, endpoint=False), np.linspace(0, 3, 18, endpoint=False)
    sensors = points(x, y)

    def s(where):
        return np.sin(2 * np.pi * where[:, 0] + PHASES) * np.cos(2 * np.pi * where[:, 1] / 3)

    factor = 1 + (2 * np.pi) ** 2 * (1 + 1 / 9)
    pde = PDE(Box(x=(0, 1), y=(0, 3), periodic="xy"), lambda s, u: s - s.xx - s.yy - u, {})
    where = np.random.default_rng(0).uniform(-5, 5, size=(30, 2))  # also outside: it is periodic
    assert relative_l2(pde.solve(factor * s(sensors), sensors, where).s_train, s(where)) < 1e-6


def test_a_constant_that_nothing_determines():
    x = np.linspace(0, 1, 20)
    with pytest.raises(InputError, match="leave 1 of"):
        PDE(Box(x=(0, 1), periodic="x"), lambda s, u: s.xx - u, {}).solve(np.cos(2 * np.pi * x)[None], x, x)


def test_a_periodic_coordinate_has_no_faces():
    x = np.linspace(-1, 1, 40)
    pde = PDE(BOX, lambda s, u: s.t + s.x, {"x=-1": lambda s, u: s, "t=0": lambda s, u: s - u}, ("x",))
    with pytest.raises(InputError, match="no ends in x, which is periodic"):
        pde.solve(wave(x), x)

"""Domains other than boxes: harmonic polynomials and manufactured sources."""

import numpy as np
import pytest

from elmonet import InputError, relative_l2
from elmonet.physics import PDE, Domain

pytestmark = pytest.mark.numerics

ANGLE = np.linspace(0, 2 * np.pi, 120, endpoint=False)
CIRCLE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
K = np.array([1.0, -2.0, 0.5])


def filled(inside, n=31):
    """Points of a uniform grid on [-1, 1]^2 that are inside."""
    axis = np.linspace(-1, 1, n)
    where = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return where[inside(*where.T)]


DISK = filled(lambda x, y: x**2 + y**2 < 0.98)
WITH_NORMALS = Domain(DISK, {"wall": CIRCLE}, {"wall": CIRCLE})


def harmonic(x, y):
    """The real part of (x + i y)^3 + (x + i y)^2."""
    return x**3 - 3 * x * y**2 + x**2 - y**2


def along_the_normal(x, y):
    """Of homogeneous polynomials on the unit circle: the degree times the value."""
    return 3 * (x**3 - 3 * x * y**2) + 2 * (x**2 - y**2)


def laplace(s, u):
    return s.xx + s.yy


def solved(domain, residual, conditions, **how):
    return PDE(domain, residual, conditions, {"k": ()}, **how).solved({"k": K}, None)


def test_values_on_a_circle():
    found = solved(
        Domain(DISK, {"wall": CIRCLE}), laplace, {"wall": lambda s, u, x, y: s - u.k * harmonic(x, y)}
    )
    assert relative_l2(found.s, K[:, None] * harmonic(*found.points.T)) < 1e-8
    assert found.result.shared


def test_values_on_a_circle_from_input_functions_at_its_points():
    u = K[:, None] * harmonic(*CIRCLE.T)
    pde = PDE(Domain(DISK, {"wall": CIRCLE}), laplace, {"wall": lambda s, u: s - u})
    found = pde.solve(u, CIRCLE, DISK).s_train
    assert relative_l2(found, K[:, None] * harmonic(*DISK.T)) < 1e-6


def test_fluxes_and_a_level():
    """Fluxes alone determine s up to a constant; its value at one point fixes that."""

    def flow(s, u, x, y, nx, ny):
        return nx * s.x + ny * s.y - u.k * along_the_normal(x, y)

    with pytest.raises(InputError, match="leave 1 of"):
        solved(WITH_NORMALS, laplace, {"wall": flow})
    east = {"east": CIRCLE[:1]}
    domain = Domain(DISK, {"wall": CIRCLE} | east, {"wall": CIRCLE})
    found = solved(domain, laplace, {"wall": flow, "east": lambda s, u: s - 2 * u.k})
    assert relative_l2(found.s, K[:, None] * harmonic(*found.points.T)) < 1e-7


def test_exchange_with_the_outside():
    """s_n + 2 s = g."""

    def exchange(s, u, x, y, nx, ny):
        return nx * s.x + ny * s.y + 2 * s - u.k * (along_the_normal(x, y) + 2 * harmonic(x, y))

    found = solved(WITH_NORMALS, laplace, {"wall": exchange})
    assert relative_l2(found.s, K[:, None] * harmonic(*found.points.T)) < 1e-8


def test_an_ellipse_with_a_source():
    """s = sin(x) exp(y), s_xx + s_yy + x s = x s."""
    inside = filled(lambda x, y: x**2 + (y / 0.6) ** 2 < 0.98, 41)
    domain = Domain(inside, {"wall": CIRCLE * [1, 0.6]})

    def truth(x, y):
        return np.sin(2 * x) * np.exp(y)

    found = solved(
        domain,
        lambda s, u, x, y: s.xx + s.yy + x * s - u.k * (x - 3) * truth(x, y),
        {"wall": lambda s, u, x, y: s - u.k * truth(x, y)},
    )
    true = relative_l2(found.s, K[:, None] * truth(*found.points.T))
    assert true < 1e-6
    assert found.result.error < 1e-6


def test_a_triangle_and_a_coefficient_for_each_function():
    """s_xx + s_yy - k^2 s = 0 for s = exp(k x): functions that do not share an operator."""
    inside = filled(lambda x, y: (x > -0.98) & (y > -0.98) & (x + y < -0.02), 36)
    t = (1 - np.cos(np.linspace(0, np.pi, 40))) / 2
    sides = {
        "left": np.column_stack([-np.ones(40), 2 * t - 1]),
        "below": np.column_stack([2 * t - 1, -np.ones(40)]),
        "long": np.column_stack([2 * t - 1, 1 - 2 * t]),
    }
    k = np.array([0.3, 0.8, 1.2, 1.5, 2.0, 2.5, 3.0])
    pde = PDE(
        Domain(inside, sides),
        lambda s, u: s.xx + s.yy - u.k**2 * s,
        dict.fromkeys(sides, lambda s, u, x: s - np.exp(u.k * x)),
        {"k": ()},
    )
    found = pde.solved({"k": k}, None)
    assert not found.result.shared
    assert not len(found.result.failed)
    assert relative_l2(found.s, np.exp(k[:, None] * found.points[:, 0])) < 1e-6


def test_a_nonlinear_equation_in_a_disk():
    """s_xx + s_yy - exp(s) = -exp(x y + x / 2): the harmonic function in that source."""

    def s_and_source(x, y):
        s = x * y + 0.5 * x
        return s, -np.exp(s)

    found = solved(
        Domain(DISK, {"wall": CIRCLE}),
        lambda s, u, x, y: s.xx + s.yy - np.exp(s) - s_and_source(x, y)[1] + 0 * u.k,
        {"wall": lambda s, u, x, y: s - s_and_source(x, y)[0]},
    )
    assert relative_l2(found.s, np.tile(s_and_source(*found.points.T)[0], (3, 1))) < 1e-8


def test_missing_conditions_and_normals_raise():
    with pytest.raises(InputError, match="conditions are missing"):
        solved(Domain(DISK, {"wall": CIRCLE}), laplace, {})
    with pytest.raises(InputError, match=r"asks for the normal \(nx\).*Give normals="):
        solved(Domain(DISK, {"wall": CIRCLE}), laplace, {"wall": lambda s, u, nx: nx * s.x - u.k})
    with pytest.raises(InputError, match="part of the boundary, wall; got 'wal'"):
        solved(WITH_NORMALS, laplace, {"wal": lambda s, u: s})
    with pytest.raises(InputError, match="slabs"):
        solved(WITH_NORMALS, laplace, {"wall": lambda s, u: s - u.k}, slabs=3)
    half = CIRCLE[CIRCLE[:, 0] > 0.5]
    with pytest.raises(InputError, match="points must lie in the domain"):
        PDE(WITH_NORMALS, laplace, {"wall": lambda s, u: s - u.k}, {"k": ()}).solve({"k": K}, None, 3 * half)


@pytest.mark.parametrize("how", [{}, {"degree": 24}])
def test_points_that_do_not_support_a_higher_degree(how):
    """cos(k y) on a disk: a finer trunk leaves functions undetermined, but no condition is missing."""
    k = np.array([1.0, 2.0, 3.0, 5.0, 7.0])
    pde = PDE(
        Domain(DISK, {"wall": CIRCLE}),
        lambda s, u: s.xx + s.yy + u.k**2 * s,
        {"wall": lambda s, u, y: s - np.cos(u.k * y)},
        {"k": ()},
        **how,
    )
    found = pde.solved({"k": k}, None)
    true = relative_l2(found.s, np.cos(k[:, None] * found.points[:, 1]))
    assert true < 1e-4
    assert found.result.error > true / 5

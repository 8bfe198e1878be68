import numpy as np
import pytest

from elmonet.errors import InputError
from elmonet.problems.darcy_flow import edge_permeability, solve_darcy, solve_darcy_jumps

pytestmark = pytest.mark.numerics


def quarters(n):
    """The centres of the quarters of the cells between n nodes a side."""
    axis = (np.arange(2 * n - 2) + 0.5) / (2 * n - 2)
    return np.meshgrid(axis, axis, indexing="ij")


def nodes(n):
    axis = np.linspace(0, 1, n)
    return np.meshgrid(axis, axis, indexing="ij")


def layers(n, place):
    """12 on the left of x = place, 3 on the right, with the source and the solution that belong together.

    s = q(x) sin(pi y) / kappa with q = x (x - place) (1 - x): s and the flow kappa s_x are continuous at the
    jump, the slope s_x is not; -div(kappa grad s) = (pi^2 q - q'') sin(pi y) on both sides.
    """
    x, y = nodes(n)
    q = x * (x - place) * (1 - x)
    source = (np.pi**2 * q - (2 * (1 + place) - 6 * x)) * np.sin(np.pi * y)
    exact = q * np.sin(np.pi * y) / np.where(x < place, 12.0, 3.0)
    return np.where(quarters(n)[0] < place, 12.0, 3.0), source, exact


def errors(place, sizes):
    found = []
    for n in sizes:
        kappa, source, exact = layers(n, place)
        s = solve_darcy_jumps(kappa, source)
        sideways = solve_darcy_jumps(kappa.T, source.T)
        np.testing.assert_allclose(sideways, s.T, rtol=0, atol=1e-10)
        found.append(np.abs(s - exact).max())
    return np.array(found)


def test_a_jump_along_a_line_of_nodes_converges_with_order_two():
    found = errors(0.5, (17, 33, 65, 129))
    assert found[-1] < 1e-5
    np.testing.assert_allclose(np.log2(found[:-1] / found[1:]), 2, atol=0.05)


def test_a_jump_midway_between_nodes_converges_with_order_two():
    found = errors(0.5, (18, 34, 66, 130))
    assert found[-1] < 1e-5
    np.testing.assert_allclose(np.log2(found[:-1] / found[1:]), 2, atol=0.2)


def test_a_jump_anywhere_errs_by_where_it_is_thought_to_be():
    # The centres of the quarters see the jump somewhere within h / 4 of its place, and s changes with its
    # place by |kappa s_x| (1/3 - 1/12), here at most 0.06.
    for place in (0.3, 0.61803, 0.7):
        for n in (33, 65, 129):
            assert errors(place, [n])[0] < 0.06 / 4 / (n - 1)


def test_a_smooth_permeability_converges_with_order_two():
    found = []
    for n in (17, 33, 65):
        x, y = nodes(n)
        X, Y = quarters(n)
        s = np.sin(np.pi * x) * np.sin(2 * np.pi * y)
        s_x = np.pi * np.cos(np.pi * x) * np.sin(2 * np.pi * y)
        s_y = 2 * np.pi * np.sin(np.pi * x) * np.cos(2 * np.pi * y)
        # kappa = exp(x - y^2): -div(kappa grad s) = kappa (5 pi^2 s - s_x + 2 y s_y)
        source = np.exp(x - y**2) * (5 * np.pi**2 * s - s_x + 2 * y * s_y)
        found.append(np.abs(solve_darcy_jumps(np.exp(X - Y**2), source) - s).max())
    np.testing.assert_allclose(np.log2(np.divide(found[:-1], found[1:])), 2, atol=0.1)


@pytest.mark.parametrize("contrast", [4.0, 1000.0])
def test_iterations_agree_with_a_direct_solver(contrast):
    n = 20
    kappa = np.random.default_rng(0).choice([1.0, contrast], (2 * n - 2, 2 * n - 2))
    # The direct solver takes the permeability of an edge at its midpoint, every other place of a finer grid.
    across, along = edge_permeability(kappa)
    at_midpoints = np.ones((1, 2 * n - 1, 2 * n - 1))
    at_midpoints[0, 1::2, 2:-2:2] = across
    at_midpoints[0, 2:-2:2, 1::2] = along
    s = solve_darcy(at_midpoints)[0]
    np.testing.assert_allclose(solve_darcy_jumps(kappa), s, rtol=0, atol=1e-9 * s.max())


def test_one_interior_node():
    kappa = np.arange(1.0, 17).reshape(4, 4)
    c = np.concatenate([edge.ravel() for edge in edge_permeability(kappa)])
    np.testing.assert_allclose(solve_darcy_jumps(kappa)[1, 1], 0.25 / c.sum())


def test_a_contrast_that_no_iteration_solves_raises():
    kappa = np.random.default_rng(0).choice([1e-9, 1e9], (126, 126))
    with pytest.raises(InputError, match=r"1000 iterations do not solve.*closer to each other"):
        solve_darcy_jumps(kappa)

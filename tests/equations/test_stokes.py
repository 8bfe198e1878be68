import numpy as np
from numpy.polynomial import Legendre, Polynomial

from elmonet.equations import stokes
from elmonet.equations.stokes import StokesBasis, wall_points

WALLS, LID = wall_points()


def driven(u, points=stokes.POINTS, **basis):
    velocity = np.zeros((1, len(WALLS)), complex)
    velocity[:, LID] = u(WALLS[LID].real)
    solution = stokes.solve_stokes(WALLS, velocity, points, StokesBasis.at(WALLS, **basis))
    return [solution[name][0] for name in "vwp"]


def test_a_manufactured_solution():
    # psi = x sin(x) exp(y) is biharmonic: Laplacian psi = 2 cos(x) exp(y), whose conjugate is the pressure.
    def exact(x, y):
        v = x * np.sin(x) * np.exp(y)
        w = -(np.sin(x) + x * np.cos(x)) * np.exp(y)
        return v, w, 2 * np.sin(x) * np.exp(y)  # v_xx + v_yy = 2 cos(x) exp(y) = p_x

    on_walls = exact(WALLS.real, WALLS.imag)
    solution = stokes.solve_stokes(
        WALLS, (on_walls[0] - 1j * on_walls[1])[None], stokes.POINTS, StokesBasis.at(WALLS)
    )
    for name, values in zip("vwp", exact(*stokes.POINTS.T), strict=True):
        expected = values - values.mean() if name == "p" else values
        np.testing.assert_allclose(solution[name][0], expected, rtol=0, atol=1e-9)


def test_a_smooth_lid_agrees_with_galerkins_method_for_the_stream_function():
    # psi = -(x (1 - x))^2 y^2 (1 - y) has the lid's velocity (x (1 - x))^2; clamped polynomials phi are added
    # so that the integral of Laplacian(psi) Laplacian(phi) vanishes for each of them.
    n, x = 24, Polynomial([0, 1])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    nodes, weights = (nodes + 1) / 2, weights / 2
    a = (x * (1 - x)) ** 2
    P = [Legendre.basis(k, domain=[0, 1]) for k in range(n)]

    def family(y):  # values, slopes, second derivatives of a(y) P_k(y), k < n
        A = [a.deriv(j)(y)[:, None] for j in range(3)]
        L = [np.stack([q.deriv(j)(y) for q in P], axis=1) for j in range(3)]
        return A[0] * L[0], A[1] * L[0] + A[0] * L[1], A[2] * L[0] + 2 * A[1] * L[1] + A[0] * L[2]

    f, _, ddf = family(nodes)
    W = weights[:, None]
    mass, mixed, stiff = f.T @ (W * f), f.T @ (W * ddf), ddf.T @ (W * ddf)
    K = np.kron(stiff, mass) + np.kron(mixed.T, mixed) + np.kron(mixed, mixed.T) + np.kron(mass, stiff)
    lift_x, lift_y = -a, x**2 * (1 - x)
    laplacian = np.outer(lift_x.deriv(2)(nodes), lift_y(nodes))
    laplacian += np.outer(lift_x(nodes), lift_y.deriv(2)(nodes))
    weighted = np.outer(weights, weights) * laplacian
    right = -(ddf.T @ weighted @ f + f.T @ weighted @ ddf)
    q = np.linalg.solve(K, right.ravel()).reshape(n, n)
    t = np.linspace(0.05, 0.95, 19)
    g, dg, _ = family(t)
    v = np.outer(lift_x(t), lift_y.deriv()(t)) + g @ q @ dg.T
    w = -np.outer(lift_x.deriv()(t), lift_y(t)) - dg @ q @ g.T
    points = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    found = driven(lambda x: (x * (1 - x)) ** 2, points)
    np.testing.assert_allclose(found[0], v.ravel(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1], w.ravel(), rtol=0, atol=1e-8)


def test_equations_hold_by_finite_differences():
    # Central differences of order 4 of v, w and p around inner points, where p is known to 1e-8.
    h = 0.01
    centres = np.stack(np.meshgrid(*[np.linspace(0.2, 0.8, 4)] * 2), axis=-1).reshape(-1, 1, 2)
    cross = np.array([[0, 0]] + [[j, 0] for j in (-2, -1, 1, 2)] + [[0, j] for j in (-2, -1, 1, 2)])
    points = (centres + h * cross).reshape(-1, 2)
    v, w, p = (f.reshape(-1, 9) for f in driven(lambda x: x * (1 - x) * np.cos(5 * x), points))
    second, first = np.array([-1, 16, 16, -1]) / 12 / h**2, np.array([1, -8, 8, -1]) / 12 / h

    def laplacian(f):
        return f[:, 1:5] @ second + f[:, 5:] @ second - 5 / h**2 * f[:, 0]

    assert np.abs(laplacian(v)).max() > 0.1
    np.testing.assert_allclose(laplacian(v), p[:, 1:5] @ first, rtol=0, atol=1e-4)
    np.testing.assert_allclose(laplacian(w), p[:, 5:] @ first, rtol=0, atol=1e-4)
    np.testing.assert_allclose(v[:, 1:5] @ first + w[:, 5:] @ first, 0, rtol=0, atol=1e-5)


def test_random_lids_meet_the_walls_and_more_poles_change_nothing():
    n, seed = 10, 3
    solution = stokes.reference(n, seed)
    assert {name: values.shape for name, values in solution.items()} == dict.fromkeys("vwp", (n, 2500))
    np.testing.assert_allclose(solution["p"].mean(axis=1), 0, atol=1e-10)
    walls, lid = wall_points(431)  # between the points of the fit
    wanted = np.zeros((n, len(walls)), complex)
    wanted[:, lid] = stokes._lid(n, seed, walls[lid].real)
    basis = StokesBasis.at(walls, degree=70, upper=60, lower=24)
    finer = stokes.solve_stokes(walls, wanted, stokes.POINTS, basis)
    for name, tolerance in (("v", 1e-10), ("w", 1e-10), ("p", 1e-8)):
        np.testing.assert_allclose(solution[name], finer[name], rtol=0, atol=tolerance)
    fitted = np.zeros((n, len(WALLS)), complex)
    fitted[:, LID] = stokes._lid(n, seed, WALLS[LID].real)
    basis = StokesBasis.at(WALLS)
    missed = basis.solve(WALLS, fitted) @ basis.fields(walls)[0].T - wanted
    assert np.abs(missed).max() < 1e-9


def test_inputs_rest_at_both_ends_and_belong_to_the_reference():
    u = stokes.inputs(5, 3)
    assert u.shape == (5, 100)
    assert not u[:, [0, -1]].any()
    both = np.unique(np.concatenate([stokes.SENSORS, np.linspace(0, 1, 2000)]))
    fine = stokes._lid(5, 3, both)[:, np.searchsorted(both, stokes.SENSORS)]
    np.testing.assert_allclose(fine, u, rtol=0, atol=1e-12)
    centres = stokes.POINTS[(stokes.POINTS[:, 1] > 0.98), 0]
    v = stokes.reference(5, 3)["v"].reshape(5, 50, 50)[:, :, -1]  # a hundredth below the lid
    lid = np.stack([np.interp(centres, stokes.SENSORS, row) for row in u])
    assert np.linalg.norm(v - lid) < 0.15 * np.linalg.norm(lid)
    assert 2400 < stokes.AWAY.sum() < 2500

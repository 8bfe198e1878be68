import numpy as np
import pytest
from scipy.sparse import lil_array
from scipy.sparse.linalg import spsolve

from elmonet.errors import InputError
from elmonet.problems import darcy
from elmonet.problems.darcy_flow import solve_darcy


def mesh(n):
    axis = np.linspace(0, 1, n)
    return np.meshgrid(axis, axis, indexing="ij")


def test_constant_permeability_is_poissons_double_sine_series():
    m = np.arange(1, 200, 2)
    errors = []
    for n in (17, 33, 65):
        sines = np.sin(np.pi * np.outer(m, np.linspace(0, 1, 17)))
        weights = 16 / np.pi**4 / (np.outer(m, m) * (m[:, None] ** 2 + m**2))
        exact = sines.T @ weights @ sines
        s = solve_darcy(np.ones((1, 2 * n - 1, 2 * n - 1)))[0]
        step = (n - 1) // 16
        errors.append(np.abs(s[::step, ::step] - exact).max())
    assert errors[0] < 3e-4
    assert 3.8 < errors[0] / errors[1] < 4.2
    assert 3.8 < errors[1] / errors[2] < 4.2


def test_manufactured_solution_converges_with_order_two():
    errors = []
    for n in (13, 25, 49):
        x, y = mesh(n)
        X, Y = mesh(2 * n - 1)
        s = np.sin(np.pi * x) * np.sin(2 * np.pi * y)
        s_x = np.pi * np.cos(np.pi * x) * np.sin(2 * np.pi * y)
        s_y = 2 * np.pi * np.sin(np.pi * x) * np.cos(2 * np.pi * y)
        # kappa = exp(x - y^2): -div(kappa grad s) = kappa (5 pi^2 s - s_x + 2 y s_y)
        source = np.exp(x - y**2) * (5 * np.pi**2 * s - s_x + 2 * y * s_y)
        solution = solve_darcy(np.exp(X - Y**2)[None], source)[0]
        errors.append(np.abs(solution - s).max())
    assert errors[-1] < 5e-3
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.1)


def test_reflections_of_the_permeability_reflect_the_solution():
    X, Y = mesh(21)
    kappa = np.exp(np.sin(5 * X) * Y)
    s, transposed, flipped = solve_darcy(np.stack([kappa, kappa.T, kappa[::-1]]))
    np.testing.assert_allclose(transposed, s.T, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(flipped, s[::-1], rtol=1e-12, atol=1e-16)
    assert np.abs(s - s.T).max() > 1e-4


def test_generated_data_solve_the_equations_assembled_node_by_node():
    n = 12
    data = darcy(3, 1, n_sensors=2 * n - 1, n_points=n)  # the sensors see every midpoint
    for kappa, s in zip(data.u_train, data.s_train, strict=True):
        matrix, right = lil_array((n * n, n * n)), np.zeros(n * n)
        for i in range(n):
            for j in range(n):
                row = i * n + j
                np.testing.assert_allclose(data.points[row], [i / (n - 1), j / (n - 1)])
                if i in (0, n - 1) or j in (0, n - 1):
                    matrix[row, row] = 1.0
                    continue
                right[row] = 1 / (n - 1) ** 2
                for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    c = kappa[2 * i + a, 2 * j + b]
                    matrix[row, row] += c
                    matrix[row, (i + a) * n + j + b] -= c
        np.testing.assert_allclose(s, spsolve(matrix.tocsr(), right), rtol=0, atol=1e-14)


def test_generated_data_converge_with_order_two():
    coarse, middle, fine = (darcy(4, 1, n_points=n).s_train.reshape(4, n, n) for n in (17, 33, 65))
    first = np.abs(coarse - middle[:, ::2, ::2]).max()
    second = np.abs(middle[:, ::2, ::2] - fine[:, ::4, ::4]).max()
    assert 3.3 < first / second < 4.7


def test_shapes_order_and_positivity():
    data = darcy(3, 2, n_sensors=10, n_points=15)
    assert data.u_train.shape == (3, 10, 10)
    assert data.s_test.shape == (2, 225)
    assert data.s_train.dtype == np.float64
    np.testing.assert_allclose(data.sensors[1], [0, 1 / 9])
    np.testing.assert_allclose(data.points[15], [1 / 14, 0])
    assert (data.u_train > 0).all()
    s = data.s_train.reshape(3, 15, 15)
    assert (s[:, 1:-1, 1:-1] > 0).all()
    assert not s[:, [0, -1]].any()
    assert not s[:, :, [0, -1]].any()


def test_log_permeability_is_half_a_unit_gaussian():
    g = 2 * np.log(darcy(400, 1, n_sensors=5, n_points=4).u_train)
    assert abs(g.mean()) < 0.1
    assert abs(g.std() - 1) < 0.05


def test_blocks_do_not_show(monkeypatch):
    whole = darcy(5, 2, n_points=8)
    monkeypatch.setattr("elmonet.problems.darcy_flow._BLOCK_BYTES", 40_000)
    blocks = darcy(5, 2, n_points=8)
    np.testing.assert_allclose(blocks.u_train, whole.u_train, rtol=1e-12)
    np.testing.assert_allclose(blocks.s_test, whole.s_test, rtol=1e-12)


def test_training_functions_do_not_depend_on_the_number_of_test_functions():
    assert np.array_equal(darcy(3, 1, n_points=8).s_train, darcy(3, 4, n_points=8).s_train)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": -1}, "n_train must be a whole number"),
        ({"n_test": 0}, "n_test must be a whole number"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"n_sensors": 1}, "n_sensors must be a whole number of at least 2"),
        ({"n_points": 3}, "n_points must be a whole number of at least 4"),
        ({"length_scale": float("inf")}, "length_scale must be a finite number"),
    ],
)
def test_wrong_input_raises(arguments, message):
    with pytest.raises(InputError, match=message):
        darcy(**arguments)

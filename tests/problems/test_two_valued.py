import numpy as np
import pytest
from scipy.fft import idctn
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from elmonet.errors import InputError
from elmonet.problems import darcy_two_valued

pytestmark = pytest.mark.numerics


def relative(a, b):
    return np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)


def gaussian_fields(n, seed, cells):
    """The fields behind the training functions at the cells' centres, by a cosine transform."""
    (rng, _) = np.random.default_rng(seed).spawn(2)
    j, k = np.meshgrid(np.arange(128), np.arange(128), indexing="ij")
    coefficients = rng.standard_normal((n, 128, 128)) / (np.pi**2 * (j**2 + k**2) + 9)
    coefficients[:, 0, 0] = 0
    padded = np.pad(coefficients, ((0, 0), (0, cells - 128), (0, cells - 128)))
    return cells * idctn(padded, type=2, norm="ortho", axes=(1, 2))


def finite_elements(kappa):
    """Solve with bilinear elements, kappa (m, m) constant in each: s (m + 1, m + 1) at the corners."""
    m = len(kappa)
    local = np.array([[4, -1, -1, -2], [-1, 4, -2, -1], [-1, -2, 4, -1], [-2, -1, -1, 4]]) / 6
    number = np.arange((m + 1) ** 2).reshape(m + 1, m + 1)
    corners = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]], -1).reshape(
        -1, 4
    )
    values = kappa.ravel()[:, None, None] * local
    rows, columns = np.broadcast_arrays(corners[:, :, None], corners[:, None, :])
    matrix = coo_array((values.ravel(), (rows.ravel(), columns.ravel()))).tocsr()
    inside = number[1:-1, 1:-1].ravel()
    s = np.zeros((m + 1) ** 2)
    s[inside] = spsolve(matrix[inside][:, inside], np.full(len(inside), 1 / m**2))
    return s.reshape(m + 1, m + 1)


def test_inputs_are_the_signs_of_the_gaussian_field():
    g = gaussian_fields(3, 0, cells=129)
    u = darcy_two_valued(3, 1, n_points=259).u_train[:, 1::2, 1::2]  # the centres of the cells
    assert np.array_equal(u, np.where(g > 0, 12.0, 3.0))


def test_outputs_agree_with_finite_elements():
    kappa = np.where(gaussian_fields(3, 0, cells=280) > 0, 12.0, 3.0)
    s = darcy_two_valued(3, 1, n_points=29).s_train
    other = np.stack([finite_elements(k)[::10, ::10].ravel() for k in kappa])
    assert relative(s, other).max() < 3e-3


def test_outputs_converge_with_order_one():
    found = [darcy_two_valued(8, 1, n_points=15, n_cells=n).s_train for n in (28, 56, 112, 224)]
    errors = [relative(s, found[-1]).mean() for s in found[:-1]]
    assert errors[-1] < 1.5e-3
    assert errors[0] > 1.7 * errors[1]
    assert errors[1] > 1.7 * errors[2]


def test_functions_depend_neither_on_the_points_nor_on_the_other_part():
    coarse, fine = darcy_two_valued(3, 2, n_points=15), darcy_two_valued(3, 4, n_points=29)
    assert np.array_equal(coarse.u_train, fine.u_train[:, ::2, ::2])
    s = fine.s_train.reshape(3, 29, 29)[:, ::2, ::2].reshape(3, -1)
    np.testing.assert_allclose(coarse.s_train, s, rtol=0, atol=1e-12)  # the meshes are the same
    assert np.array_equal(coarse.u_test, fine.u_test[:2, ::2, ::2])
    finer = darcy_two_valued(3, 1, n_points=169).s_train.reshape(3, 169, 169)[:, ::12, ::12]
    assert relative(coarse.s_train, finer.reshape(3, -1)).max() < 3e-3
    assert not np.array_equal(darcy_two_valued(3, 2, seed=1, n_points=15).u_train, coarse.u_train)


def test_shapes_order_and_bounds():
    data = darcy_two_valued(6, 2, n_points=20)
    assert data.u_train.shape == (6, 20, 20)
    assert data.s_test.shape == (2, 400)
    assert set(np.unique(data.u_train)) == {3.0, 12.0}
    np.testing.assert_allclose(data.sensors[1], [0, 1 / 19])
    np.testing.assert_allclose(data.points[20], [1 / 19, 0])
    s = data.s_train.reshape(6, 20, 20)
    assert not s[:, [0, -1]].any()
    assert not s[:, :, [0, -1]].any()
    # Energy: the integral of s falls with kappa, and is 0.0351443 / kappa where kappa is constant.
    integral = s.sum(axis=(1, 2)) / 19**2
    assert (integral > 0.0351443 / 12).all()
    assert (integral < 0.0351443 / 3).all()


def test_materials_are_as_frequent_and_as_alike_as_gaussian_signs_are():
    u = darcy_two_valued(2000, 1, n_points=5, n_cells=2).u_train  # the outputs are not needed
    assert abs((u == 12).mean() - 0.5) < 0.02
    # Two signs with the correlation rho agree with the probability 1/2 + arcsin(rho) / pi.
    j, k = np.meshgrid(np.arange(128), np.arange(128), indexing="ij")
    variance = np.where(j > 0, 2, 1) * np.where(k > 0, 2, 1) / (np.pi**2 * (j**2 + k**2) + 9) ** 2
    variance[0, 0] = 0

    def covariance(a, b):
        waves = [np.cos(np.pi * j * x / 4) * np.cos(np.pi * k * y / 4) for x, y in (a, b)]
        return (variance * waves[0] * waves[1]).sum()

    for a, b in (((0, 0), (4, 4)), ((0, 1), (0, 2)), ((1, 1), (3, 1)), ((2, 2), (2, 3))):
        rho = covariance(a, b) / np.sqrt(covariance(a, a) * covariance(b, b))
        alike = (u[:, *a] == u[:, *b]).mean()
        assert abs(alike - (0.5 + np.arcsin(rho) / np.pi)) < 0.045  # four standard deviations


def test_blocks_do_not_show(monkeypatch):
    whole = darcy_two_valued(5, 1, n_points=9)
    monkeypatch.setattr("elmonet.problems.darcy_flow._BLOCK_BYTES", 2 * 8 * 224**2)
    blocks = darcy_two_valued(5, 1, n_points=9)
    assert np.array_equal(blocks.u_train, whole.u_train)
    np.testing.assert_allclose(blocks.s_train, whole.s_train, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train must be a whole number"),
        ({"n_points": 2}, "n_points must be a whole number of at least 3"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_input_raises(arguments, message):
    with pytest.raises(InputError, match=message):
        darcy_two_valued(**({"n_train": 2, "n_test": 1} | arguments))

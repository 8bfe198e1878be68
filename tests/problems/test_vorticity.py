"""Flow on a torus against exact solutions, and against finer grids and time steps."""

import numpy as np
import pytest

from elmonet import InputError
from elmonet.problems import navier_stokes_steps
from elmonet.problems import vorticity as flow

pytestmark = pytest.mark.numerics


def torus(n):
    return np.meshgrid(np.arange(n) / n, np.arange(n) / n, indexing="ij")


@pytest.mark.parametrize("modes", [(1, 1), (2, 1), (0, 3)])
def test_vortices_of_one_wave_length_decay(modes):
    # Waves of one length do not turn each other: v . grad w = 0, as psi and w are parallel.
    x, y = torus(24)
    w = np.cos(2 * np.pi * modes[0] * x) * np.cos(2 * np.pi * modes[1] * y)
    times, rate = np.array([0.0, 0.3, 2.0]), 4 * np.pi**2 * (modes[0] ** 2 + modes[1] ** 2) * 0.01
    found = flow.solve_vorticity(np.stack([w, 2 * w]), times, 0.01, 0 * w)
    wanted = np.exp(-rate * times)[:, None, None] * w
    np.testing.assert_allclose(found, np.stack([wanted, 2 * wanted]), atol=1e-10)


def manufactured(n, viscosity):
    """Return w = sin X + cos 2Y + sin(X + Y) with X = 2 pi x, and the force that keeps it."""
    X, Y = (2 * np.pi * part for part in torus(n))
    w = np.sin(X) + np.cos(2 * Y) + np.sin(X + Y)
    w_x, w_y = 2 * np.pi * (np.cos(X) + np.cos(X + Y)), 2 * np.pi * (-2 * np.sin(2 * Y) + np.cos(X + Y))
    # -Laplacian psi = w; v = (psi_y, -psi_x)
    v_x = (-np.sin(2 * Y) / 2 + np.cos(X + Y) / 2) / (2 * np.pi)
    v_y = -(np.cos(X) + np.cos(X + Y) / 2) / (2 * np.pi)
    laplacian = -4 * np.pi**2 * (np.sin(X) + 4 * np.cos(2 * Y) + 2 * np.sin(X + Y))
    return w, v_x * w_x + v_y * w_y - viscosity * laplacian


def test_a_manufactured_flow_is_steady(monkeypatch):
    w, force = manufactured(24, 0.02)
    errors = []
    for part in (1, 2):  # of a time step: the error is of order 4
        monkeypatch.setattr(flow, "_ADVANCED", 0.4 / part)
        found = flow.solve_vorticity(w[None], np.array([0.0, 0.5]), 0.02, force)
        errors.append(np.abs(found[0, -1] - w).max())
    assert errors[0] < 1e-7
    assert errors[1] < errors[0] / 12
    # Without the force it turns: the test above is not one of w_t = 0.
    assert np.abs(flow.solve_vorticity(w[None], np.array([0.0, 0.5]), 0.02, 0 * w)[0, -1] - w).max() > 0.1


def test_finer_grids_and_steps_agree(monkeypatch):
    settings = {"n_steps": 2, "n_points": 16, "viscosity": 5e-3}
    coarse, fine = (navier_stokes_steps(2, 1, **settings, n_solved=n) for n in (48, 96))
    size = np.abs(fine.s_train).max()
    np.testing.assert_allclose(coarse.u_train, fine.u_train, atol=5e-4 * size)
    np.testing.assert_allclose(coarse.s_train, fine.s_train, atol=5e-4 * size)
    monkeypatch.setattr(flow, "_ADVANCED", flow._ADVANCED / 2)
    again = navier_stokes_steps(2, 1, **settings, n_solved=48)
    np.testing.assert_allclose(coarse.s_train, again.s_train, atol=1e-6 * size)


def test_trajectories_are_in_order():
    data = navier_stokes_steps(2, 1, n_steps=3, n_points=16, n_solved=32)
    u, s = data.u_train.reshape(2, 3, 256), data.s_train.reshape(2, 3, 256)
    np.testing.assert_array_equal(u[:, 1:], s[:, :-1])
    assert np.abs(u.mean(axis=2)).max() < 1e-12
    assert np.abs(u[0] - u[1]).max() > 0.1 * np.abs(u).max()


def test_random_vorticity_has_its_variance():
    k = np.arange(-20, 21)
    square = k[:, None] ** 2 + k**2
    terms = np.where(square > 0, 343 * (4 * np.pi**2 * square + 49) ** -2.5, 0)
    drawn = flow.random_vorticity(400, 48, np.random.default_rng(0))
    assert np.mean(drawn**2) == pytest.approx(terms.sum(), rel=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_steps": 0}, "n_steps must be a whole number of at least 1"),
        ({"dt": -1.0}, "dt must be a finite number above 0"),
        ({"n_points": 3}, "n_points must be a whole number of at least 4"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(InputError, match=message):
        navier_stokes_steps(1, 1, **settings)

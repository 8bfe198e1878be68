import numpy as np
import pytest

from elmonet.errors import InputError
from elmonet.problems.gaussian import train_and_test, uniform_grid

X = np.array([0.0, 1.0])


def draw(n, rng):
    u = rng.random((n, 2))
    return u, 2 * u


def test_neither_part_changes_with_the_size_of_the_other():
    data = train_and_test(draw, 5, 4, 0, sensors=X, points=X, name="twice")
    more = train_and_test(draw, 5, 9, 0, sensors=X, points=X, name="twice")
    larger = train_and_test(draw, 7, 4, 0, sensors=X, points=X, name="twice")
    assert np.array_equal(data.u_train, more.u_train)
    assert np.array_equal(data.u_train, larger.u_train[:5])
    assert np.array_equal(data.u_test, more.u_test[:4])
    assert np.array_equal(data.u_test, larger.u_test)
    assert data.name == "twice"


def test_parts_and_seeds_differ():
    data = train_and_test(draw, 4, 4, 0, sensors=X, points=X, name="")
    other = train_and_test(draw, 4, 4, 1, sensors=X, points=X, name="")
    assert not np.array_equal(data.u_train, data.u_test)
    assert not np.array_equal(data.u_train, other.u_train)


@pytest.mark.parametrize(("n_train", "n_test", "seed"), [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_wrong_sizes_raise(n_train, n_test, seed):
    with pytest.raises(InputError, match="whole number of at least"):
        train_and_test(draw, n_train, n_test, seed, sensors=X, points=X, name="")


def test_uniform_grid_names_the_argument():
    with pytest.raises(InputError, match="n_sensors must be a whole number of at least 2, got 1"):
        uniform_grid(1, "n_sensors")

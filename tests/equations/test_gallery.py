"""The equations of the gallery, solved by elmonet.physics, against independent references."""

import numpy as np
import pytest

from elmonet.equations.gallery import GALLERY, SOURCES, compare, measure

# Moderate resolutions, so that this is fast, and the errors that they allow.
CASES = {
    "antiderivative": ({"degree": 32}, {"s": 1e-11}),
    "reaction": ({"degree": 18}, {"s": 3e-4}),
    "poisson": ({"degree": 24}, {"s": 1e-5}),
    "laplace": ({"degree": 24}, {"s": 8e-3}),
    "advection": ({"degree": 18}, {"s": 5e-2}),
    "burgers": ({"degree": (28, 10), "slabs": 4}, {"s": 1e-4}),
    "stokes": ({"degree": 18}, {"v": 5e-3, "w": 5e-3, "p": 2e-2}),
}


@pytest.mark.parametrize("name", GALLERY)
def test_solutions_agree_with_the_reference_and_state_their_error(name):
    problem, (resolution, limits) = GALLERY[name], CASES[name]
    module, n, seed = problem.module, 3, 21
    pde = module.equation()
    for setting, value in resolution.items():
        setattr(pde, setting, value)
    found = pde.solved(module.inputs(n, seed), module.SENSORS, module.POINTS)
    errors = compare(problem, found.s, module.reference(n, seed))
    assert errors.keys() == limits.keys()
    assert all(errors[own] <= limits[own] for own in limits), errors
    assert max(errors.values()) <= 5 * found.result.error + 1e-11
    assert not len(found.result.failed)


def test_a_pressure_is_compared_up_to_its_level_and_away_from_the_corners():
    problem = GALLERY["stokes"]
    rng = np.random.default_rng(0)
    truth = {name: rng.normal(size=(3, len(problem.module.POINTS))) for name in "vwp"}
    predicted = {"v": 1.1 * truth["v"], "w": truth["w"].copy(), "p": truth["p"] + 7}
    predicted["w"][:, ~problem.module.AWAY] = 1e9
    errors = compare(problem, predicted, truth)
    assert errors["v"] == pytest.approx(0.1)
    assert errors["w"] == 0
    assert errors["p"] < 1e-12


def test_a_row_of_the_table():
    problem = GALLERY["antiderivative"]
    record, model = measure(problem, functions=60, new=10, seed=3)
    u, truth = problem.module.inputs(10, 4), problem.module.reference(10, 4)
    difference = model.predict(u) - truth
    error = np.mean(np.linalg.norm(difference, axis=1) / np.linalg.norm(truth, axis=1))
    assert record["error"] == pytest.approx(error)
    assert record["error"] < 1e-8
    assert 0 < record["solving"] < record["seconds"]
    assert (record["functions"], record["published"]) == (60, "2.49e-3")


def test_every_published_number_has_a_source():
    for problem in GALLERY.values():
        assert any(source in problem.source for source in SOURCES), problem.name
        assert problem.functions == (2000 if problem.name == "advection" else 1000)

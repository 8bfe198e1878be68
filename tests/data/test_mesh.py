"""Meshes: volumes of cells, and errors weighted by them."""

import numpy as np
import pytest

import elmonet
from elmonet import AutoELMDeepONet, ELMDeepONet, Legendre, Linear, OperatorData, Ridge, relative_l2
from elmonet.data.mesh import Mesh
from elmonet.features import POD, PerComponent

# A strip with most of its nodes in the first hundredth.
ACROSS = np.concatenate([np.linspace(0, 0.01, 20), np.linspace(0.05, 1, 10)])
AT = np.arange(60).reshape(30, 2)
REFINED = Mesh(
    [[x, y] for x in ACROSS for y in (0.0, 1.0)],
    [("quad", np.stack([AT[:-1, 0], AT[1:, 0], AT[1:, 1], AT[:-1, 1]], axis=-1))],
)


def strip(a):
    """Fields that depend on the inputs (N, 2) smoothly, but in the fine corner."""
    x = REFINED.nodes[:, 0]
    return 1 + a[:, :1] * x + np.exp(-x / 0.005) * np.sin(9 * a[:, 1:])


INPUTS = np.random.default_rng(0).uniform(1, 3, (12, 2))


def test_volumes_of_a_refined_mesh_weigh_the_error():
    fine = Mesh(
        [[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1]],
        [("quad", [[0, 1, 2, 3]]), ("triangle", [[1, 4, 2], [4, 5, 2]])],
    )
    assert fine.volumes.sum() == pytest.approx(2)
    truth, off = np.ones((1, 6)), np.ones((1, 6))
    off[0, 5] += 0.1
    by_hand = np.sqrt(fine.volumes[5] * 0.01 / 2)
    assert relative_l2(off, truth, weights=fine.volumes) == pytest.approx(by_hand)


@pytest.mark.parametrize("components", [False, True])
def test_the_expected_error_is_that_of_fields_and_not_of_a_fine_corner(components):
    s = strip(INPUTS)
    y = {"T": s, "q": 1e3 * s**2} if components else s

    def fitted(rows, points):
        part = {name: own[rows] for name, own in y.items()} if components else y[rows]
        model = ELMDeepONet(Linear(), Legendre(3), Ridge(1e-6), scale_inputs=False)
        return model.fit(INPUTS[rows], part, points)

    errors = []
    for i in range(len(INPUTS)):  # each left out by a refit
        found = fitted(np.arange(len(INPUTS)) != i, REFINED.points).predict(INPUTS[i : i + 1])
        true = {name: own[i : i + 1] for name, own in y.items()} if components else y[i : i + 1]
        errors.append(relative_l2(found, true, weights=REFINED.volumes))
    every = np.arange(len(INPUTS))
    model, alike = fitted(every, REFINED), fitted(every, REFINED.points)
    # Components are divided by their root mean square over all training functions, which refits see less of.
    assert model.expected_error_ == pytest.approx(np.mean(errors), rel=0.02 if components else 1e-6)
    assert alike.expected_error_ > 1.5 * model.expected_error_
    assert "weighted by the volume of its cells" in model.outputs_.describe()
    same = model.predict(INPUTS, points=REFINED)
    np.testing.assert_allclose(np.stack(list(same.values())) if components else same, model_values(model))


def model_values(model):
    found = model.predict(INPUTS)
    return np.stack(list(found.values())) if isinstance(found, dict) else found


def test_data_on_a_mesh_are_chosen_by_weighted_errors(tmp_path):
    data = OperatorData(INPUTS, strip(INPUTS), points=REFINED.points, mesh=REFINED)
    model = AutoELMDeepONet(time_budget=0.3, random_state=0).fit(data)
    alike = AutoELMDeepONet(time_budget=0.3, random_state=0).fit(INPUTS, data.s_train, data.points)
    assert model.expected_error_ < 0.7 * alike.expected_error_
    model.save(tmp_path / "m.elmonet")
    np.testing.assert_array_equal(elmonet.load(tmp_path / "m.elmonet").outputs_.volumes, REFINED.volumes)


def test_points_that_stand_for_nothing_count_alike():
    points = Mesh(REFINED.nodes, [("vertex", np.arange(60)[:, None])])
    both = [
        ELMDeepONet(Linear()).fit(INPUTS, strip(INPUTS), p).expected_error_ for p in (points, points.points)
    ]
    assert both[0] == both[1]


def test_modes_of_many_components_are_not_interpolated_to_their_own_points(monkeypatch):
    def fail(*_):
        raise AssertionError("interpolated")

    monkeypatch.setattr("elmonet.features.bases.interpolate", fail)
    blocks = [slice(i, i + 7) for i in range(0, 120, 7)]
    monkeypatch.setattr("elmonet.features.base.FeatureMap._blocks", lambda self, n: blocks)
    trunk = PerComponent(POD())
    places = np.column_stack([np.tile(REFINED.points, (2, 1)), np.repeat([0.0, 1.0], 60)])
    s = strip(INPUTS).T
    both = np.concatenate([s, s**2])
    modes = trunk.fit(places, both).transform(places)
    np.testing.assert_allclose(modes @ (modes.T @ both), both, atol=1e-9)

"""A feature map and a solver of the user's own: fitted, saved and loaded like those of the library."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from elmonet import SLFN, ELMDeepONet, FileError, InputError, Linear, Masked, Pinv, Ridge, Several, load
from elmonet.features import FeatureMap, PerComponent
from elmonet.features.base import RandomMap
from elmonet.fitting.recipe import build, describe, describe_map, restore_map
from elmonet.parts import REGISTERED
from elmonet.solve import Solution, Solver

rng = np.random.default_rng(0)
X, POINTS = rng.normal(size=(30, 6)), np.linspace(0, 1, 9)[:, None]
Y = np.tanh(X @ rng.normal(size=(6, 9)))


class Squares(FeatureMap):
    """Learns from data, has settings of several kinds and is not random."""

    learns_from = ("inputs",)

    def __init__(self, powers=(1, 2), shift=0.0):
        self.powers = powers
        self.shift = shift

    @property
    def width_(self):
        return len(self.powers) * int(np.prod(self.input_shape_))

    def fitted_arrays(self):
        return {"mean_": self.mean_}

    def _prepare(self, X, y):
        self.mean_ = X.mean(axis=0)

    def _write(self, X, out):
        out[:] = np.hstack([(X - self.mean_ + self.shift) ** power for power in self.powers])


class Signs(RandomMap):
    def __init__(self, width=20, random_state=None):
        self.width = width
        self.random_state = random_state

    def _draw_weights(self, rng):
        return [rng.choice([-1.0, 1.0], size=(int(np.prod(self.input_shape_)), self.width))]

    def _write(self, X, out):
        np.tanh(X @ self.weights_[0], out=out)


class Lstsq(Solver):
    def __init__(self, damping=1e-3):
        self.damping = damping

    def solve(self, T, B, G):
        W = np.linalg.pinv(T) @ G @ B.T @ np.linalg.inv(B @ B.T + self.damping * np.eye(len(B)))
        return Solution(W)


MODELS = {
    "map": ELMDeepONet(Squares((1, 2, 3), shift=np.float64(0.5)), solver=Ridge(1e-3)),
    "random map": ELMDeepONet(Signs(15), random_state=3),
    "solver": ELMDeepONet(Linear(), solver=Lstsq(0.1)),
    "inside others": ELMDeepONet(Linear() + Signs(8) + Squares(), solver=Lstsq(), random_state=0),
}


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_load_predicts_bit_for_bit(name, weights, tmp_path):
    model = clone(MODELS[name]).fit(X, Y, points=POINTS)
    model.save(tmp_path / "model", weights=weights)
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X[:5]), model.predict(X[:5]))
    assert type(loaded.branch) is type(model.branch)
    assert repr(loaded.solver) == repr(model.solver)
    np.testing.assert_array_equal(loaded.fit(X, Y, points=POINTS).predict(X[:5]), model.predict(X[:5]))


def test_a_class_that_is_not_defined(monkeypatch, tmp_path):
    ELMDeepONet(Signs(5)).fit(X, Y, points=POINTS).save(tmp_path / "model")
    monkeypatch.delitem(REGISTERED, "Signs")
    with pytest.raises(FileError, match=r"'Signs'.*define or import it before"):
        load(tmp_path / "model")


def test_the_last_definition_of_a_name_counts(monkeypatch):
    monkeypatch.setitem(REGISTERED, "Squares", Squares)

    def again():
        class Squares(Linear):
            pass

        return Squares

    second = again()
    assert type(build(describe(second()))) is second
    with pytest.raises(InputError, match="this model holds a Squares"):
        describe(Squares())


def test_the_librarys_own_names_are_not_taken():
    class Ridge(Solver):
        def solve(self, T, B, G):
            return Solution(np.zeros((T.shape[1], len(B))))

    assert REGISTERED["Ridge"] is type(build(describe(MODELS["map"].solver)))
    with pytest.raises(InputError, match=r"this model holds a Ridge.*class name of its own"):
        describe(Ridge())


def test_abstract_classes_are_not_registered():
    class Half(RandomMap):
        pass

    class Nothing(Solver):
        pass

    assert not {"FeatureMap", "RandomMap", "Half", "Solver", "Nothing"} & REGISTERED.keys()
    assert {"Ridge", "Pinv", "SLFN", "POD", "Concat", "Masked", "Squares"} <= REGISTERED.keys()


@pytest.mark.parametrize("part", [PCA(3), Linear() + PCA(3), PerComponent(PCA(3)), Masked(PCA(3)), object()])
def test_other_objects_are_refused(part):
    with pytest.raises(InputError, match=r"this model holds a (PCA|object)"):
        describe(part)


@pytest.mark.parametrize("setting", [{"a": 1}, np.sin, [1, object()], 1j])
def test_settings_are_plain(setting):
    with pytest.raises(InputError, match="powers of this Squares is a"):
        describe(Squares(setting))


def test_composites_describe_their_members():
    maps = {
        "concat": Linear() + Signs(4),
        "several": Several({"f": SLFN(5), "k": Signs(5)}, "product", [(4,), (2,)]),
        "nested": Several([("f", Linear() + SLFN(3)), ("k", Squares())], shapes=[(4,), (2,)]),
        "components": PerComponent(Signs(3)),
        "masked": Masked(SLFN(4, "tanh"), sides=[(0, "low"), (2, "high")]),
    }
    for part in maps.values():
        points = np.hstack([X[:, :5], np.arange(30)[:, None] % 2])
        fitted = clone(part).fit(points)
        arrays = {}
        record = json.loads(json.dumps(describe_map(fitted, "part", arrays, weights=False)))
        restored = restore_map(record, "part", arrays)
        np.testing.assert_array_equal(restored.transform(points), fitted.transform(points))
        assert type(build(describe(part))) is type(part)


def test_a_solver_is_no_feature_map():
    record = describe(Pinv()) | {"input_shape": [3], "dtype": "float64", "arrays": []}
    with pytest.raises(FileError, match="'Pinv' as a feature map"):
        restore_map(record, "branch", {})

"""One contract for every estimator: each estimator, on each form of data, has each method.

Estimators and forms are listed once, in `ESTIMATORS` and `FORMS`. A new entry of either inherits every test.
Each pair is fitted once; tests that change a model work on a copy.
"""

import copy
import inspect
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from elmonet import (
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    ExtrapolationWarning,
    InputError,
    LayeredELMDeepONet,
    Legendre,
    Linear,
    MarchingELMDeepONet,
    NotFittedError,
    Ridge,
    Scattered,
    Solution,
    load,
    read,
)
from elmonet.checks import choice
from elmonet.data import register_reader
from elmonet.data.formats import registry
from elmonet.features import FeatureMap
from elmonet.solve import Solver
from elmonet.uncertainty.bands import ErrorBars, checked_coverage

# The estimators ---------------------------------------------------------------------------------------------

SOME_FORMS = frozenset({"plain", "named components", "grid", "float32"})
NO_RECORDS = frozenset(
    {
        "grid",
        "grid in another order",
        "sensors in another order",
        "numbers",
        "scattered",
        "lists",
        "gaps",
    }
)
NO_LAYERS = frozenset({"numbers", "scattered", "lists", "gaps", "sensors in another order"})

pytestmark = pytest.mark.filterwarnings("ignore::elmonet.errors.FewFunctionsWarning")


@dataclass(frozen=True)
class Estimator:
    """One entry of the list.

    Attributes
    ----------
    make : return a new estimator with settings; those that `make` does not have are left out.
    refuses : the forms that `fit` refuses by design, with an `InputError`.
    lacks : methods of the contract that it cannot offer by design: they raise `InputError`. Without "save",
        there is no loaded model; with "expected_error_" here, errors are None.
    accuracy : the largest relative error on new functions.
    linear : the same estimator with linear features and a fixed ridge, to compare `partial_fit` with `fit`.
    forms : the only forms that it is tried on; None for all.
    """

    make: Callable[..., Any]
    refuses: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()
    accuracy: float = 0.1
    linear: Callable[..., Any] | None = None
    forms: frozenset[str] | None = None


# Parts that a user may write, each in one class: they inherit the contract ----------------------------------


class NormalEquations(Solver):
    """A solver that gives W alone: a ridge by the normal equations."""

    def __init__(self, alpha=1e-8):
        self.alpha = alpha

    def solve(self, T, B, G):
        left = np.linalg.solve(T.T @ T + self.alpha * np.eye(T.shape[1]), T.T @ G)
        return Solution(np.linalg.solve(B @ B.T + self.alpha * np.eye(len(B)), B @ left.T).T)


class InputsAndSquares(FeatureMap):
    """A feature map: the inputs, their squares and a constant."""

    @property
    def width_(self):
        return 2 * int(np.prod(self.input_shape_)) + 1

    def _write(self, X, out):
        flat = X.reshape(len(X), -1)
        out[:] = np.hstack([flat, flat**2, np.ones((len(X), 1))])


class LargestResidual(ErrorBars):
    """Error bars of one width: quantiles of the largest left-out residual of each function."""

    independent, widen = 10**6, 1.0

    def __init__(self, largest):
        self.largest = np.sort(largest)

    @classmethod
    def from_fit(cls, model):
        training = model.training
        if training is None or model.solution.fit is None:
            return None
        residuals = model.solution.left_out().T - model.outputs.target(training.y)
        return cls(np.abs(residuals).max(axis=1))

    @classmethod
    def from_validation(cls, model, query, target, current):
        return cls(np.abs(model.values(query) - target).max(axis=1)) if len(target) > 1 else None

    def values_and_spread(self, model, query):
        z = model.values(query)
        return z, np.ones_like(z)

    def factor(self, coverage, of):
        choice(of, "of", ("points", "function"))
        return float(np.quantile(self.largest, checked_coverage(coverage)))

    def arrays(self):
        return {"largest": self.largest}

    @classmethod
    def from_arrays(cls, arrays, model):
        return cls(arrays["largest"])


class SinglePrecision:
    """A reader of files: inputs and outputs at M places, one after the other."""

    def __init__(self, arrays, path):
        arrays["u"], arrays["s"] = np.fromfile(path, np.float32).reshape(2, -1, M)


def with_settings(kind, *fixed, **own):
    """Return a function that makes a `kind`, with those of some settings that it has."""
    known = inspect.signature(kind).parameters

    def make(**settings):
        return kind(*fixed, **own, **{name: value for name, value in settings.items() if name in known})

    return make


ESTIMATORS = {
    "global": Estimator(
        with_settings(ELMDeepONet, Linear() + SLFN(60, "tanh", 0.5), random_state=0),
        linear=with_settings(ELMDeepONet, Linear(), solver=Ridge(1e-4), scale_inputs=False),
    ),
    "layered": Estimator(
        with_settings(LayeredELMDeepONet, "nothing", layers=2, width=60, random_state=0),
        NO_LAYERS,
        accuracy=0.3,
    ),
    "marching": Estimator(with_settings(MarchingELMDeepONet, memory=(2, 2), random_state=0), NO_RECORDS),
    "auto": Estimator(with_settings(AutoELMDeepONet, layers=0, random_state=0)),
    "auto with layers": Estimator(with_settings(AutoELMDeepONet, layers=1, random_state=0), NO_LAYERS),
    "own solver": Estimator(
        with_settings(
            ELMDeepONet, Linear() + SLFN(60, "tanh", 0.5), Legendre(5), NormalEquations(), random_state=0
        ),
        lacks=frozenset({"expected_error_", "interval", "calibration"}),
        forms=SOME_FORMS,
    ),
    "own feature map": Estimator(
        with_settings(ELMDeepONet, InputsAndSquares()),
        lacks=frozenset({"jvp"}),
        forms=SOME_FORMS - {"named components"},
    ),
    "own error bars": Estimator(
        with_settings(
            ELMDeepONet, Linear() + SLFN(60, "tanh", 0.5), random_state=0, error_bars=LargestResidual
        ),
        forms=SOME_FORMS,
    ),
}


# The forms of data ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """Functions in one form.

    Attributes
    ----------
    X, y, points : of the training functions, as `fit` takes them.
    new, truth : other functions like these, and their outputs.
    at : points that are not training points, for `predict`; None: there are no others.
    settings : of the estimator.
    keywords : of `fit`, beside the points.
    needs_points : whether a prediction must say where.
    enough : whether there are functions enough for good predictions.
    """

    X: Any
    y: Any
    new: Any
    truth: Any
    points: Any = None
    at: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    keywords: dict[str, Any] = field(default_factory=dict)
    needs_points: bool = False
    enough: bool = True

    @property
    def where(self):
        """The points of an ordinary prediction."""
        return self.at if self.needs_points else None

    @property
    def count(self):
        """How many training functions there are."""
        return len(next(iter(self.X.values())) if isinstance(self.X, dict) else self.X)

    @property
    def given(self):
        """All that belongs to the caller."""
        return self.X, self.y, self.new, self.truth, self.points, self.at, self.keywords


N, NEW, M = 24, 6, 16
FEW = 12  # functions in lists, whose fits are slow
NOISE = 1e-3  # keeps errors, and the rounding that they show, away from the last digits
x = np.linspace(0, 1, M)
AT = np.array([[0.11], [0.48], [0.93]])
SHAPE = (6, 5)
GRID = np.stack(np.meshgrid(*(np.linspace(0, 1, n) for n in SHAPE), indexing="ij"), axis=-1)  # (6, 5, 2)
AT_2D = np.array([[0.21, 0.34], [0.55, 0.71]])
SHUFFLED = np.random.default_rng(3).permutation(np.prod(SHAPE))


def functions(n, seed, size=1.0):
    """Return smooth inputs (n, M) and a nonlinear operator of them; small ones lie between the others."""
    modes = np.stack([np.ones(M), x, np.sin(3 * x), np.cos(5 * x)])
    rng = np.random.default_rng(seed)
    u = size * rng.uniform(-1, 1, (n, 4)) @ modes
    return u, operator(u, x) + NOISE * rng.normal(size=u.shape)


def operator(u, at):
    """Return outputs of inputs (n, M) at points of [0, 1]."""
    s = np.cumsum(u + 0.1 * u**2, axis=1) / M
    return np.stack([np.interp(at, x, row) for row in s])


def fields(n, seed, size=1.0):
    """Return smooth fields (n, 6, 5), and a nonlinear local operator of them."""
    a, b = GRID[..., 0], GRID[..., 1]
    modes = np.stack([np.ones(SHAPE), a, b, np.sin(3 * a) * b])
    rng = np.random.default_rng(seed)
    u = size * np.tensordot(rng.uniform(-1, 1, (n, 4)), modes, axes=1)
    return u, u + 0.2 * u**2 + NOISE * rng.normal(size=u.shape)


def both(make, convert, n=N):
    """Return training and new functions, each converted, in the order of `Form`."""
    return (*convert(*make(n, 0)), *convert(*make(NEW, 1, 0.5)))


def plain():
    return Form(*both(functions, lambda u, s: (u, s)), points=x, at=AT)


def named_components():
    return Form(*both(functions, lambda u, s: (u, {"s": s, "square": 1e3 * s**2})), points=x, at=AT)


def components_last():
    return Form(*both(functions, lambda u, s: (u, np.stack([s, 1e3 * s**2], axis=-1))), points=x, at=AT)


def grid():
    return Form(*both(fields, lambda u, s: (u, s)), points=GRID, at=AT_2D)


def grid_in_another_order():
    flat = both(fields, lambda u, s: (u.reshape(len(u), -1)[:, SHUFFLED], s.reshape(len(s), -1)[:, SHUFFLED]))
    places = GRID.reshape(-1, 2)[SHUFFLED]
    return Form(*flat, points=places, at=AT_2D, keywords={"sensors": places})


def sensors_in_another_order():
    order = np.random.default_rng(4).permutation(M)
    sensors = {"sensors": x[order]}
    return Form(*both(functions, lambda u, s: (u[:, order], s)), points=x, at=AT, keywords=sensors)


def several_inputs():
    def convert(u, s):
        k = np.linspace(0.5, 1.5, len(u)) if len(u) == N else np.linspace(0.8, 1.2, len(u))
        return {"f": u, "k": k}, s * k[:, None]

    return Form(*both(functions, convert), points=x, at=AT)


def numbers():
    return Form(*both(functions, lambda u, s: (u, s[:, -1])))


def own_points(n, seed):
    """Return some points for each of n functions, all of them between those of the first."""
    rng = np.random.default_rng(seed)
    drawn = [np.sort(rng.uniform(0.05, 0.95, (5 + i % 4, 1)), axis=0) for i in range(n)]
    return [np.array([[0.0], [0.5], [1.0]]), *drawn[1:]]


def at_own_points(u, s):
    """Return inputs, and outputs and points as lists."""
    places = own_points(len(u), len(u))
    return u, [operator(u[i : i + 1], own[:, 0])[0] for i, own in enumerate(places)], places


def scattered():
    def convert(u, s):
        u, values, places = at_own_points(u, s)
        return u, Scattered.of(values, places)

    return Form(*both(functions, convert, 30), at=AT, needs_points=True)


def lists():
    X, y, points = at_own_points(*functions(FEW, 0))
    new, truth, _ = at_own_points(*functions(NEW, 1, 0.5))
    return Form(X, y, new, truth, points, at=AT, needs_points=True, enough=False)


def gaps():
    form = plain()
    y = form.y.copy()
    y[::3, 2], y[1::4, 7:9] = np.nan, np.nan
    return Form(form.X, y, form.new, form.truth, x, AT, {"missing": "ignore"})


def logarithms():
    return Form(
        *both(functions, lambda u, s: (u, np.exp(s))), points=x, at=AT, settings={"log_outputs": True}
    )


def float32():
    """Single precision, as read from files of the user's own kind."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "pairs.single"
        patch.setattr(registry, "_readers", dict(registry._readers))  # other tests do not have this reader
        register_reader("single", endings=["single"])(SinglePrecision)

        def read_again(u, s):
            np.stack([u, s]).astype(np.float32).tofile(path)
            data = read(path)
            return data.u_train, data.s_train

        return Form(*both(functions, read_again), points=x, at=AT)


def frames():
    pandas = pytest.importorskip("pandas")
    names = [f"sensor {i}" for i in range(M)]
    return Form(*both(functions, lambda u, s: (pandas.DataFrame(u, columns=names), s)), points=x, at=AT)


def groups():
    labels = {"groups": np.maximum(np.arange(N), 3)}  # the first four belong together
    return Form(*both(functions, lambda u, s: (u, s)), points=x, at=AT, keywords=labels)


FORMS = {
    make.__name__.replace("_", " "): cache(make)
    for make in (
        plain,
        named_components,
        components_last,
        grid,
        grid_in_another_order,
        sensors_in_another_order,
        several_inputs,
        numbers,
        scattered,
        lists,
        gaps,
        logarithms,
        float32,
        frames,
        groups,
    )
}
NAMED = [name for name in FORMS if name.startswith("named")]


def rows(X, which):
    """Return some functions, in whatever form they come."""
    if isinstance(X, dict):
        return {name: rows(part, which) for name, part in X.items()}
    return X.iloc[which] if hasattr(X, "iloc") else X[which]


def times(X, factor):
    """Return inputs times a factor."""
    return {name: times(part, factor) for name, part in X.items()} if isinstance(X, dict) else X * factor


def flat(values):
    """Return predictions as one array, components last."""
    return np.stack(list(values.values()), axis=-1) if isinstance(values, dict) else np.asarray(values)


def reordered(named):
    """Return named arrays in the other order."""
    return dict(reversed(named.items()))


def renamed(named):
    """Return named arrays, the first under a name that the model does not know."""
    first, *rest = named
    return {"unknown": named[first], **{name: named[name] for name in rest}}


def assert_same(found, expected):
    """Assert that two values, or nested tuples and dictionaries of them, are the same bits."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, Scattered):
        assert_same(
            (found.index, found.points, found.values), (expected.index, expected.points, expected.values)
        )
    else:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def assert_close(found, expected, rtol):
    found, expected = flat(found), flat(expected)
    np.testing.assert_allclose(found, expected, atol=rtol * np.abs(expected).max(), rtol=0)


# Every estimator on every form, fitted once -----------------------------------------------------------------


@cache
def fitted(name, form):
    """Return an estimator of the list, fitted to a form; shared by all tests, so not to be changed."""
    data = FORMS[form]()
    before, model = copy.deepcopy(data.given), ESTIMATORS[name].make(**data.settings)
    assert model.fit(data.X, data.y, points=data.points, **data.keywords) is model
    assert_same(data.given, before)  # the caller's arrays are as they were
    return model


@cache
def loaded(name, form):
    """Return the same model, as read from its file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.elmonet"
        fitted(name, form).save(path)
        return load(path)


@dataclass(frozen=True)
class Case:
    """A fitted model of the list, and the form of its data."""

    name: str
    form: str
    get: Callable[[str, str], Any] = fitted

    @property
    def model(self):
        return self.get(self.name, self.form)

    @property
    def data(self):
        return FORMS[self.form]()

    @property
    def entry(self):
        return ESTIMATORS[self.name]

    def copy(self):
        """Return the model to change."""
        return pickle.loads(pickle.dumps(self.model))

    def __str__(self):
        return f"{self.name}-{self.form}{'-loaded' if self.get is loaded else ''}"


FITTED = [
    Case(name, form)
    for name, entry in ESTIMATORS.items()
    for form in FORMS
    if form not in entry.refuses and (entry.forms is None or form in entry.forms)
]
LOADED = [Case(case.name, case.form, loaded) for case in FITTED if "save" not in case.entry.lacks]
REFUSED = [(name, form) for name, entry in ESTIMATORS.items() for form in FORMS if form in entry.refuses]


def each(cases, *methods):
    """Run a test on all cases that have some methods."""
    having = [case for case in cases if not case.entry.lacks.intersection(methods)]
    return pytest.mark.parametrize("case", having, ids=str)


def lacking(method):
    """Run a test on one case of each estimator that lacks a method."""
    return [
        pytest.param(next(case for case in FITTED if case.name == name), id=name)
        for name, entry in ESTIMATORS.items()
        if method in entry.lacks
    ]


every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
on_all_forms = pytest.mark.parametrize(
    "name", [name for name, entry in ESTIMATORS.items() if entry.forms is None]
)

# The contract: names and arguments --------------------------------------------------------------------------

SIGNATURES = {
    "fit": ["X", "y", "points"],
    "predict": ["X", "points"],
    "interval": ["X", "coverage", "of", "points"],
    "calibrate": ["X", "y"],
    "calibration": ["X", "y"],
    "score": ["X", "y", "sample_weight"],
    "expected_errors": ["X"],
    "novelty": ["X"],
    "suggest": ["candidates", "n"],
    "is_training_function": ["X"],
    "report": ["path", "X", "y"],
    "summary": [],
    "save": ["path", "weights"],
    "jvp": ["X", "dX", "points"],
    "vjp": ["X", "ds", "points"],
    "jacobian": ["X", "points"],
    "invert": ["s", "points", "noise", "prior"],
    "sensitivity": ["X", "points"],
    "to_torch": ["points"],
    "export": ["path", "points"],
}
KEYWORDS = {"fit": {"sensors", "groups"}, "predict": {"return_std"}, "save": {"bands", "inputs"}}
DEFAULTS = {"interval": {"coverage": 0.9, "of": "points", "points": None}, "suggest": {"n": 10}}
ATTRIBUTES = [
    "expected_error_",
    "expected_error_interval_",
    "expected_error_between_points_",
    "error_kind_",
    "inputs_",
    "outputs_",
    "points_",
    "n_features_in_",
]


@every_estimator
@pytest.mark.parametrize("method", SIGNATURES)
def test_methods_take_the_same_arguments(name, method):
    parameters = inspect.signature(getattr(ESTIMATORS[name].make(), method)).parameters
    assert list(parameters)[: len(SIGNATURES[method])] == SIGNATURES[method]
    assert KEYWORDS.get(method, set()) <= set(parameters)
    for argument, default in DEFAULTS.get(method, {}).items():
        assert parameters[argument].default == default


@every_estimator
@pytest.mark.parametrize("method", [method for method in SIGNATURES if method != "fit"])
def test_before_fit_methods_say_that_there_is_no_fit(name, method, tmp_path):
    data = plain()
    arguments = {"path": tmp_path / "file", "X": data.new, "y": data.truth, "candidates": data.new, "n": 2}
    arguments |= {"dX": data.new, "ds": data.truth, "s": data.truth[0], "noise": 0.1}
    needed = {argument: arguments[argument] for argument in SIGNATURES[method] if argument in arguments}
    with pytest.raises(NotFittedError, match=r"fit"):
        getattr(ESTIMATORS[name].make(), method)(**needed)
    assert not list(tmp_path.iterdir())


@every_estimator
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_before_fit_there_are_no_attributes(name, attribute):
    model = ESTIMATORS[name].make()
    assert not hasattr(model, attribute)
    with pytest.raises(AttributeError, match=rf"fit|{attribute}"):
        getattr(model, attribute)


@each(FITTED + LOADED)
def test_attributes(case):
    model, data = case.model, case.data
    error, interval = model.expected_error_, model.expected_error_interval_
    if "expected_error_" not in case.entry.lacks:
        assert isinstance(error, float)
        assert 0 < error < 1
        assert model.error_kind_ in ("leave-one-out", "leave-group-out", "held out")
        if interval is not None:
            assert 0 <= interval[0] <= error <= interval[1]
    names, shapes = model.inputs_.names, model.inputs_.shapes
    if isinstance(data.X, dict):
        assert names == tuple(data.X)
        assert model.n_features_in_ == sum(int(np.prod(shape)) for shape in shapes)
    else:
        assert names is None
        assert model.n_features_in_ == np.shape(data.X)[1]
        assert model.inputs_.given == np.shape(data.X)[1:]
    assert model.points_.shape[1] == 1 + (case.form.startswith("grid")) + ("components" in case.form)
    if not data.needs_points and data.points is not None:
        places = np.reshape(data.points, (-1, model.points_.shape[1] - ("components" in case.form)))
        np.testing.assert_array_equal(model.points_[: len(places), : places.shape[1]], places)
        assert len(model.points_) == len(places) * (2 if "components" in case.form else 1)
    assert model.outputs_.names == (tuple(data.y) if isinstance(data.y, dict) else None)


@each(FITTED + LOADED)
def test_the_kind_of_error_is_that_of_the_data(case):
    if "expected_error_" in case.entry.lacks:
        assert case.model.error_kind_ is None
    elif case.form in ("gaps", "scattered", "lists"):
        assert case.model.error_kind_ == "held out"
    elif case.form == "groups":
        assert case.model.error_kind_ != "leave-one-out"


# Fit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), REFUSED)
def test_what_is_refused_is_refused_with_a_message(name, form):
    with pytest.raises(InputError) as refused:
        fitted(name, form)
    assert len(str(refused.value)) > 30
    assert str(refused.value).rstrip().endswith((".", ")"))


@each([case for case in FITTED if case.form in ("plain", "gaps")])
def test_the_same_seed_gives_the_same_bits(case):
    data, again = case.data, clone(case.model)
    again.fit(data.X, data.y, points=data.points, **data.keywords)
    assert_same(again.predict(data.new, points=data.where), case.model.predict(data.new, points=data.where))
    assert again.expected_error_ == case.model.expected_error_


@each(FITTED)
def test_a_clone_has_the_settings_and_no_fit(case):
    other = clone(case.model)
    assert repr(other) == repr(case.model)
    assert {name: repr(value) for name, value in other.get_params().items()} == {
        name: repr(value) for name, value in case.model.get_params().items()
    }
    with pytest.raises(NotFittedError):
        other.predict(case.data.new)
    with pytest.raises(AttributeError):
        other.expected_error_  # noqa: B018


@each(LOADED)
def test_a_loaded_model_can_be_cloned(case):
    with pytest.raises(NotFittedError):
        clone(case.model).predict(case.data.new)


ROUNDING = 1e-6  # relative: what the order of sums may change in float32, and in kernels

# Predict ----------------------------------------------------------------------------------------------------


@each(FITTED + LOADED)
def test_predictions_have_the_form_of_the_outputs_and_are_good(case):
    model, data = case.model, case.data
    if data.needs_points:
        found, truth = model.predict(data.new, points=data.at), operator(data.new, data.at[:, 0])
        with pytest.raises(InputError, match=r"where|points"):
            model.predict(data.new)
    else:
        found, truth = model.predict(data.new), data.truth
    if isinstance(truth, dict):
        assert list(found) == list(truth)
    else:
        assert found.shape == truth.shape
        assert found.dtype == truth.dtype
    missed, size = flat(found) - flat(truth), flat(truth if data.needs_points else data.y)
    if "components" not in case.form:
        missed, size = missed[..., None], size[..., None]
    for i in range(missed.shape[-1]):  # each component by itself, however small it is beside the others
        error = np.sqrt(np.nanmean(missed[..., i] ** 2) / np.nanmean(size[..., i] ** 2))
        limit = 0.4 if data.needs_points else case.entry.accuracy  # the places of a function are few
        assert error < (limit if data.enough else np.inf)
    if "log_outputs" in model.get_params() and "log_outputs" in data.settings:
        assert (found > 0).all()


@each(FITTED + LOADED)
def test_predictions_at_other_points(case):
    model, data = case.model, case.data
    if data.at is None:
        return
    found = model.predict(data.new, points=data.at)
    shape = (NEW, len(data.at), *((2,) if "components" in case.form else ()))
    assert flat(found).shape == shape
    assert np.isfinite(flat(found)).all()
    if isinstance(data.y, dict):
        assert list(found) == list(data.y)
    # At training points, given as other points, the outputs are those of an ordinary prediction.
    if not data.needs_points and data.points is not None:
        assert_close(model.predict(data.new, points=data.points), model.predict(data.new), 1e-6)


@each(FITTED + LOADED)
def test_the_order_of_functions_makes_no_difference(case):
    model, data = case.model, case.data
    order = np.random.default_rng(0).permutation(NEW)
    found = flat(model.predict(rows(data.new, order), points=data.where))
    assert_close(found, flat(model.predict(data.new, points=data.where))[order], ROUNDING)
    assert_close(found[:1], flat(model.predict(rows(data.new, order[:1]), points=data.where)), ROUNDING)


@each([case for case in FITTED + LOADED if case.get is fitted or case.form == "plain"], "jvp")
def test_derivatives_by_the_inputs(case):
    model, data = case.model, case.data
    rng, rounded = np.random.default_rng(0), case.form == "float32"

    def drawn(values):
        """Return random numbers in the form of some values."""
        if isinstance(values, dict):
            return {name: drawn(part) for name, part in values.items()}
        return rng.normal(size=np.shape(values))

    def moved(e):
        if isinstance(data.new, dict):
            return {name: np.asarray(part, float) + e * dX[name] for name, part in data.new.items()}
        return np.asarray(data.new, float) + e * dX

    dX, e = drawn(data.new), 1e-2 if rounded else 1e-4
    ds = model.jvp(data.new, dX, points=data.where)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        after, before = (flat(model.predict(moved(s * e), points=data.where)) for s in (1, -1))
    assert_close(flat(ds), (after - before) / (2 * e), 3e-3 if rounded else 1e-4)
    g = drawn(ds)
    back = model.vjp(data.new, g, points=data.where)
    pairs = [(back[name], dX[name]) for name in back] if isinstance(back, dict) else [(back, dX)]
    assert sum(np.sum(a * b) for a, b in pairs) == pytest.approx(np.sum(flat(ds) * flat(g)), rel=1e-7)


@each([case for case in FITTED if case.form in ("plain", "named components", "several inputs")], "jvp")
def test_jacobians_are_made_of_directional_derivatives(case):
    model, new = case.model, rows(case.data.new, slice(0, 1))
    J = model.jacobian(new)
    J = J if model.outputs_.names is not None else {"s": J}
    ones = times({"u": new} if not isinstance(new, dict) else new, 0.0)
    ones = {name: np.asarray(part) + 1.0 for name, part in ones.items()}
    along = model.jvp(new, ones if isinstance(new, dict) else ones["u"])
    for name, of_output in J.items():
        parts = of_output if isinstance(of_output, dict) else {"u": of_output}
        total = sum(
            np.einsum("nij,nj->ni", part.reshape(1, M, -1), ones[k].reshape(1, -1))
            for k, part in parts.items()
        )
        assert_close(total, along[name] if isinstance(along, dict) else along, 1e-8)


@pytest.mark.parametrize("case", lacking("jvp"))
def test_models_without_array_operations_say_whose_fault_it_is(case):
    with pytest.raises(InputError, match="InputsAndSquares"):
        case.model.jvp(case.data.new, case.data.new)


@each([case for case in FITTED if case.form == "plain"], "jvp")
def test_wrong_directions_are_refused(case):
    model, new = case.model, case.data.new
    for dX, message in ((new[:, :-1], "shape|steps"), (new[:2], "6 functions"), (new * np.nan, "NaN|finite")):
        with pytest.raises(InputError, match=message):
            model.jvp(new, dX)
    with pytest.raises(InputError, match="shape of the outputs"):
        model.vjp(new, model.predict(new)[:, :-1])


@each(FITTED + LOADED)
def test_predictions_leave_the_caller_s_arrays_alone(case):
    data = case.data
    before = copy.deepcopy(data.given)
    first = copy.deepcopy(case.model.predict(data.new, points=data.where))
    changed = case.model.predict(data.new, points=data.where)
    for part in changed.values() if isinstance(changed, dict) else [changed]:
        part[...] = 0  # a prediction belongs to the caller
    assert_same(case.model.predict(data.new, points=data.where), first)
    assert_same(data.given, before)


@on_all_forms
def test_the_order_of_the_points_of_a_grid_makes_no_difference(name):
    if "grid" in ESTIMATORS[name].refuses:
        return
    ordered, shuffled = (fitted(name, form) for form in ("grid", "grid in another order"))
    expected = ordered.predict(grid().new).reshape(NEW, -1)[:, SHUFFLED]
    assert_close(shuffled.predict(grid_in_another_order().new), expected, 1e-6)
    assert shuffled.expected_error_ == pytest.approx(ordered.expected_error_, rel=1e-3)


@on_all_forms
def test_columns_of_a_frame_are_known_by_name(name):
    pandas = pytest.importorskip("pandas")
    assert isinstance(frames().X, pandas.DataFrame)
    model = fitted(name, "frames")
    assert_same(model.feature_names_in_.tolist(), list(frames().X.columns))
    assert_close(model.predict(frames().new), fitted(name, "plain").predict(plain().new), 1e-10)
    with pytest.raises(InputError, match="feature names"):
        model.predict(frames().new.rename(columns={"sensor 0": "other"}))


# Error bars -------------------------------------------------------------------------------------------------


@each(FITTED + LOADED, "interval")
def test_intervals(case):
    model, data = case.model, case.data
    middle = flat(model.predict(data.new, points=data.where))
    widths = {}
    for of in ("points", "function"):
        for coverage in (0.3, 0.5):
            low, high = model.interval(data.new, coverage, of, data.where)
            if isinstance(data.y, dict):
                assert list(low) == list(high) == list(data.y)
            assert flat(low).shape == flat(high).shape == middle.shape
            assert flat(low).dtype == middle.dtype
            slack = 1e-5 * np.abs(middle).max()
            assert (flat(low) <= middle + slack).all()
            assert (middle <= flat(high) + slack).all()
            widths[of, coverage] = (flat(high) - flat(low)).mean()
    assert 0 < widths["points", 0.3] <= widths["points", 0.5] < np.inf
    assert widths["function", 0.3] <= widths["function", 0.5]
    named = model.interval(X=data.new, coverage=0.5, of="points", points=data.where)
    assert_same(named, model.interval(data.new, 0.5, "points", data.where))
    with pytest.raises(InputError, match="coverage"):
        model.interval(data.new, 1.5, points=data.where)
    with pytest.raises(InputError, match="of must be"):
        model.interval(data.new, 0.5, "everything", data.where)


@each(FITTED + LOADED, "interval")
def test_intervals_at_other_points(case):
    if case.data.at is None:
        return
    low, high = case.model.interval(case.data.new, 0.5, "points", case.data.at)
    middle, std = case.model.predict(case.data.new, points=case.data.at, return_std=True)
    assert flat(low).shape == flat(middle).shape == flat(std).shape
    assert (flat(low) <= flat(high)).all()


@each(FITTED + LOADED, "interval")
def test_standard_deviations(case):
    model, data = case.model, case.data
    middle, std = model.predict(data.new, points=data.where, return_std=True)
    assert_close(middle, model.predict(data.new, points=data.where), ROUNDING)
    if isinstance(data.y, dict):
        assert list(std) == list(data.y)
    assert flat(std).shape == flat(middle).shape
    assert (flat(std) >= 0).all()
    assert np.isfinite(flat(std)).all()
    assert flat(std).any()


@each(FITTED + LOADED, "interval")
def test_expected_errors(case):
    """The norm of the standard deviations of each function, relative to that of its prediction.

    Numbers of both signs are relative to their root mean square, as in `relative_l2`.
    """
    model, data = case.model, case.data
    if data.needs_points:
        with pytest.raises(InputError, match="points"):
            model.expected_errors(data.new)
        return
    middle, std = model.predict(data.new, return_std=True)
    errors, names = model.expected_errors(data.new), list(data.y) if isinstance(data.y, dict) else None
    for i, error in enumerate(errors):
        own = [np.hstack([np.ravel(A[name][i]) for name in names]) if names else A[i] for A in (std, middle)]
        size = np.linalg.norm(own[1])
        if names is None and np.ndim(middle) == 1 and np.min(middle) < 0 < np.max(middle):
            size = np.sqrt(np.mean(np.square(middle)))
        assert error == pytest.approx(np.linalg.norm(own[0]) / size, rel=1e-5)


@each(FITTED + LOADED, "interval", "calibration")
def test_calibration(case):
    model, data = case.model, case.data
    if data.needs_points:
        with pytest.raises(InputError, match="points"):
            model.calibration(data.new, data.truth)
        return
    found = model.calibration(data.new, data.truth)
    assert str(found)
    for held in (found.points, found.functions):
        assert np.shape(held) == np.shape(found.asked)
        assert ((np.asarray(held) >= 0) & (np.asarray(held) <= 1)).all()
    if isinstance(data.truth, dict):
        other = model.calibration(data.new, reordered(data.truth))
        np.testing.assert_allclose(other.points, found.points, rtol=1e-12)
        with pytest.raises(InputError, match="unknown"):
            model.calibration(data.new, renamed(data.truth))


@each(FITTED + LOADED, "calibrate")
def test_calibrate(case):
    data, model = case.data, case.copy()
    if data.needs_points:
        with pytest.raises(InputError, match="points"):
            model.calibrate(data.new, data.truth)
        return
    assert model.calibrate(data.new, data.truth) is model
    assert_same(model.predict(data.new), case.model.predict(data.new))
    low, high = model.interval(data.new, 0.5)
    assert (flat(low) <= flat(high)).all()
    if isinstance(data.truth, dict):
        other = case.copy().calibrate(data.new, reordered(data.truth))
        for one, same in zip(other.interval(data.new, 0.5), model.interval(data.new, 0.5), strict=True):
            assert_close(one, same, 1e-10)
        with pytest.raises(InputError, match="unknown"):
            case.copy().calibrate(data.new, renamed(data.truth))


@pytest.mark.parametrize("case", lacking("interval"))
def test_a_model_without_error_bars_says_so(case):
    with pytest.raises(InputError, match="calibrate"):
        case.model.interval(case.data.new, 0.5)


# Scores, and what a model knows of its inputs ---------------------------------------------------------------


@each(FITTED + LOADED)
def test_scores(case):
    model, data = case.model, case.data
    if data.needs_points:
        with pytest.raises(InputError, match="points"):
            model.score(data.new, data.truth)
        return
    score = model.score(data.new, data.truth)
    assert isinstance(score, float)
    assert 0.5 < score <= 1
    assert model.score(data.new, data.truth, np.ones(NEW)) == pytest.approx(score, rel=1e-6)
    if isinstance(data.truth, dict):
        assert model.score(data.new, reordered(data.truth)) == pytest.approx(score, rel=1e-12)
        with pytest.raises(InputError, match="unknown"):
            model.score(data.new, renamed(data.truth))


@each(FITTED + LOADED, "novelty")
def test_novelty(case):
    model, data = case.model, case.data
    near, far = model.novelty(data.new), model.novelty(times(data.new, 100))
    assert near.shape == far.shape == (NEW,)
    assert near.max() < 1.5
    assert far.min() > 2
    assert model.novelty(data.X).shape == (data.count,)
    assert model.novelty(data.X).max() < 1.5


@each(FITTED + LOADED, "novelty")
def test_inputs_far_outside_are_warned_of_at_the_caller_s_line(case):
    model, data = case.model, case.data
    far = times(data.new, 100)
    calls = {
        "predict": lambda: model.predict(far, points=data.where),
        "predict with std": lambda: model.predict(far, points=data.where, return_std=True),
        "interval": lambda: model.interval(far, 0.5, points=data.where),
    }
    for what, call in calls.items():
        if "interval" in case.entry.lacks and what != "predict":
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        found = [warning for warning in caught if warning.category is ExtrapolationWarning]
        assert len(found) == 1, what
        assert f"{NEW} of {NEW} inputs" in str(found[0].message)
        assert found[0].filename == __file__, what


@each(FITTED + LOADED)
def test_training_inputs_are_not_warned_of(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.model.predict(case.data.X, points=case.data.where)
        if "interval" not in case.entry.lacks:
            case.model.interval(case.data.X, 0.5, points=case.data.where)


@each(FITTED + LOADED)
def test_training_functions_are_known_again(case):
    found = case.model.is_training_function(case.data.X)
    assert found.shape == (case.data.count,)
    assert found.dtype == bool
    assert found.all()
    assert not case.model.is_training_function(case.data.new).any()


@each(FITTED + LOADED)
def test_suspects(case):
    try:
        found = case.model.suspects()
    except InputError as error:  # of layers from nothing, solvers without errors, files, few functions
        reasons = "by a global model|leaves no function out|at least 20 functions|training records"
        known = re.search(reasons, str(error))
        if known is None or ((case.name, case.form) == ("global", "plain") and case not in LOADED):
            raise
        return
    assert found.n == case.data.count == len(found.keep)
    assert len(found) == len(found.scores) == len(found.reasons) == len(found.kinds) <= 2
    assert found.keep.sum() == found.n - len(found)
    assert len(found.residuals) == len(found.judged) <= found.n
    assert np.isfinite(found.residuals).all()


@each(FITTED + LOADED)
def test_suggestions(case):
    model, data = case.model, case.data
    found = model.suggest(data.new, 3)
    assert found.shape == (3,)
    assert found.dtype.kind == "i"
    assert len(set(found.tolist())) == 3
    assert set(found.tolist()) <= set(range(NEW))
    np.testing.assert_array_equal(model.suggest(candidates=data.new, n=2), found[:2])
    with pytest.raises(InputError, match="training functions"):
        model.suggest(data.X, 1)


# What a model says of itself --------------------------------------------------------------------------------


@each(FITTED + LOADED)
def test_summaries(case):
    summary = case.model.summary()
    assert isinstance(summary, str)
    assert "Expected error" in summary
    assert len(summary.splitlines()) > 3


# Pictures take longest: those of each form once, and those of each estimator once.
DRAWN = ("named components", "grid", "scattered", "gaps")
REPORTED = [
    case for case in FITTED if case.form == "plain" or (case.name, case.form) in product(["global"], DRAWN)
]
REPORTED += [case for case in LOADED if (case.name, case.form) == ("global", "plain")]


@each(REPORTED, "report")
def test_reports(case, tmp_path, quick_pictures):
    model, data, path = case.model, case.data, tmp_path / "fit.html"
    model.report(path)
    assert type(model).__name__ in path.read_text()
    if not isinstance(data.truth, list):
        model.report(path, data.new, data.truth)
        assert f"{NEW} test functions" in path.read_text()
    with pytest.raises(InputError, match="both or none"):
        model.report(path, data.new)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.html"]


# Files and pickles ------------------------------------------------------------------------------------------


@each(LOADED)
def test_a_file_keeps_everything(case):
    model, again, data = fitted(case.name, case.form), case.model, case.data
    assert_same(again.predict(data.new, points=data.where), model.predict(data.new, points=data.where))
    if data.at is not None:
        assert_same(again.predict(data.new, points=data.at), model.predict(data.new, points=data.at))
    if "interval" not in case.entry.lacks:
        for of in ("points", "function"):
            expected = model.interval(data.new, 0.5, of, data.where)
            assert_same(again.interval(data.new, 0.5, of, data.where), expected)
    if "novelty" not in case.entry.lacks:
        assert_same(again.novelty(data.new), model.novelty(data.new))
    assert_same(again.suggest(data.new, 3), model.suggest(data.new, 3))
    # Suspects are judged by the training functions, which a file does not hold.
    assert again.summary() == str(model._fitted().summary)
    for attribute in ATTRIBUTES:
        if attribute not in ("inputs_", "outputs_", "points_"):
            assert getattr(again, attribute) == getattr(model, attribute)
    np.testing.assert_array_equal(again.points_, model.points_)


@each(LOADED)
def test_a_file_of_a_loaded_model_is_the_same(case, tmp_path):
    case.model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    data = case.data
    assert_same(again.predict(data.new, points=data.where), case.model.predict(data.new, points=data.where))
    assert again.summary() == case.model.summary()
    assert again.expected_error_ == case.model.expected_error_


@each(LOADED, "interval")
def test_a_file_without_bands_and_inputs(case, tmp_path):
    data = case.data
    case.model.save(tmp_path / "model", bands=False, inputs=False)
    again = load(tmp_path / "model")
    assert_same(again.predict(data.new, points=data.where), case.model.predict(data.new, points=data.where))
    with pytest.raises(InputError, match="calibrate"):
        again.interval(data.new, 0.5, points=data.where)
    with pytest.raises(InputError, match="training inputs"):
        again.suggest(data.new, 1)


@pytest.mark.parametrize("case", lacking("save"))
def test_a_model_that_cannot_be_saved_says_so_before_writing(case, tmp_path):
    with pytest.raises(InputError, match="this model holds"):
        case.model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@each(FITTED + LOADED)
def test_pickles(case):
    model, data, again = case.model, case.data, case.copy()
    assert type(again) is type(model)
    assert_same(again.predict(data.new, points=data.where), model.predict(data.new, points=data.where))
    if "interval" not in case.entry.lacks:
        expected = model.interval(data.new, 0.5, points=data.where)
        assert_same(again.interval(data.new, 0.5, points=data.where), expected)
    assert again.expected_error_ == model.expected_error_
    assert again.expected_error_interval_ == model.expected_error_interval_
    assert again.summary() == model.summary()
    assert again.is_training_function(data.X).all()
    assert_same(again.suggest(data.new, 2), model.suggest(data.new, 2))


COMPUTING = ("fit", "solve", "predict", "factor", "interval", "calibrate")
LINEAR_ALGEBRA = (
    "/numpy/linalg/",
    "/scipy/linalg/",
    "/scipy/optimize/",
    "/elmonet/linalg.py",
)


def computations(call):
    """Return what a call returns, and the fits, solves and linear algebra that happened inside."""
    found = []

    def look(frame, event, _):
        if event != "call":
            return
        path, name = frame.f_code.co_filename.replace("\\", "/"), frame.f_code.co_name
        computes = name.lstrip("_").split("_")[0] in COMPUTING and "/elmonet/" in path
        if computes or any(part in path for part in LINEAR_ALGEBRA):
            found.append(f"{path}: {name}")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        value = call()
    finally:
        sys.setprofile(before)
    return value, found


@every_estimator
def test_pickling_computes_nothing(name):
    data = FORMS["plain"]()
    model = ESTIMATORS[name].make().fit(data.X, data.y, points=data.points)  # no bands were asked for yet
    written, found = computations(lambda: pickle.dumps(model))
    assert found == []
    again, found = computations(lambda: pickle.loads(written))
    assert found == []
    assert_same(again.predict(data.new), model.predict(data.new))
    if "interval" not in ESTIMATORS[name].lacks:
        assert_same(again.interval(data.new, 0.5), model.interval(data.new, 0.5))
    _, found = computations(lambda: copy.deepcopy(model))
    assert found == []


def test_computations_are_counted():
    data = FORMS["plain"]()
    found = computations(lambda: ELMDeepONet(Linear()).fit(data.X, data.y, points=data.points))[1]
    assert any("/elmonet/" in what for what in found)
    assert any("/linalg/" in what for what in found)


# partial_fit, where it is offered ---------------------------------------------------------------------------

IN_BATCHES = [
    "plain",
    "named components",
    "components last",
    "grid",
    "grid in another order",
    "sensors in another order",
    "several inputs",
    "numbers",
    "float32",
    "frames",
]
NOT_IN_BATCHES = ["logarithms", "scattered"]
offered = pytest.mark.parametrize(
    "linear", [pytest.param(entry.linear, id=name) for name, entry in ESTIMATORS.items() if entry.linear]
)
FIRST, SECOND = slice(0, 14), slice(14, N)


def first_batch(linear, form):
    """Return a model that has seen the first functions, and the rest of them."""
    data = FORMS[form]()
    model = linear(**data.settings)
    model.partial_fit(rows(data.X, FIRST), rows(data.y, FIRST), points=data.points, **sensors_of(data))
    return model, rows(data.X, SECOND), rows(data.y, SECOND)


def sensors_of(data):
    return {name: value for name, value in data.keywords.items() if name == "sensors"}


def assert_is_fit_of_all(model, linear, form):
    data = FORMS[form]()
    whole = linear(**data.settings).fit(data.X, data.y, points=data.points, **data.keywords)
    assert_close(model.predict(data.new), whole.predict(data.new), 1e-4 if form == "float32" else 1e-8)
    if data.at is not None:
        found, expected = (m.predict(data.new, points=data.at) for m in (model, whole))
        assert_close(found, expected, 1e-4 if form == "float32" else 1e-7)
    if isinstance(data.y, dict):
        assert list(model.predict(data.new)) == list(data.y)


@offered
@pytest.mark.parametrize("form", IN_BATCHES)
def test_batches_are_a_fit_of_all(linear, form):
    model, X, y = first_batch(linear, form)
    before = copy.deepcopy((X, y))
    assert model.partial_fit(X, y) is model
    assert_same((X, y), before)
    assert_is_fit_of_all(model, linear, form)
    assert model.expected_error_ is None or model.expected_error_ > 0


@offered
@pytest.mark.parametrize("form", IN_BATCHES)
def test_batches_with_points_and_sensors_given_again(linear, form):
    data = FORMS[form]()
    model, X, y = first_batch(linear, form)
    model.partial_fit(X, y, points=data.points, **sensors_of(data))
    assert_is_fit_of_all(model, linear, form)


@offered
@pytest.mark.parametrize("form", IN_BATCHES)
def test_batches_after_a_fit(linear, form):
    data = FORMS[form]()
    model = linear(**data.settings)
    model.fit(rows(data.X, FIRST), rows(data.y, FIRST), points=data.points, **sensors_of(data))
    model.partial_fit(rows(data.X, SECOND), rows(data.y, SECOND))
    assert_is_fit_of_all(model, linear, form)


@offered
@pytest.mark.parametrize("form", IN_BATCHES)
def test_batches_survive_a_pickle(linear, form):
    model, X, y = first_batch(linear, form)
    pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    assert_is_fit_of_all(pickle.loads(pickle.dumps(model)).partial_fit(X, y), linear, form)


@offered
@pytest.mark.parametrize("form", NAMED)
def test_components_in_batches_are_known_by_name(linear, form):
    model, X, y = first_batch(linear, form)
    for other in (renamed(y), {**y, "more": y["s"]}, {"s": y["s"]}):
        with pytest.raises(InputError, match=r"unknown|more|square"):
            model.partial_fit(X, other)
    model.partial_fit(X, reordered(y))
    assert_is_fit_of_all(model, linear, form)


@offered
def test_inputs_in_batches_are_known_by_name(linear):
    model, X, y = first_batch(linear, "several inputs")
    with pytest.raises(InputError, match="unknown"):
        model.partial_fit(renamed(X), y)
    model.partial_fit(reordered(X), y)
    assert_is_fit_of_all(model, linear, "several inputs")


@offered
@pytest.mark.parametrize("form", ["plain", "sensors in another order", "grid in another order"])
def test_the_same_sensors_in_another_order(linear, form):
    data = FORMS[form]()
    sensors = np.asarray(data.keywords.get("sensors", x))
    order = np.random.default_rng(5).permutation(len(sensors))
    model = linear().partial_fit(data.X[FIRST], data.y[FIRST], points=data.points, sensors=sensors)
    with pytest.raises(InputError, match="sensors"):
        model.partial_fit(data.X[SECOND], data.y[SECOND], sensors=sensors + 0.01)
    with pytest.raises(InputError, match="sensors"):
        model.partial_fit(data.X[SECOND], data.y[SECOND], sensors=sensors[:-1])
    model.partial_fit(data.X[SECOND][:, order], data.y[SECOND], sensors=sensors[order])
    assert_is_fit_of_all(model, linear, form)


@offered
def test_other_points_in_a_later_batch_are_refused(linear):
    model, X, y = first_batch(linear, "plain")
    with pytest.raises(InputError, match="points"):
        model.partial_fit(X, y, points=x + 0.1)
    model.partial_fit(X, y, points=x)  # a refusal leaves the model as it was
    assert_is_fit_of_all(model, linear, "plain")


@offered
@pytest.mark.parametrize("form", NOT_IN_BATCHES)
def test_what_needs_all_functions_at_once_is_refused_in_batches(linear, form):
    data = FORMS[form]()
    with pytest.raises(InputError) as refused:
        linear(**data.settings).partial_fit(data.X, data.y, points=data.points)
    assert len(str(refused.value)) > 30

"""The public API under data of all kinds: what comes out is right, refused, or warned of.

Hypothesis draws shapes, dtypes, memory layouts, names, weights, groups, gaps, units, offsets, repeats and
constants. Right means: as a plain model in NumPy gives it, `lstsq` on the augmented system, refitted for each
function or group that is left out, within a tolerance that follows from the condition of that system.
Refused means an error of elmonet with a message, warned a warning that has a name in `elmonet.errors`.

    pytest tests/test_public_fuzz.py --hypothesis-profile=thorough      # 20 times as many examples
"""

import pickle
import warnings
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from elmonet import (
    POD,
    AutoELMDeepONet,
    ELMDeepONet,
    ElmonetError,
    ExtrapolationWarning,
    Legendre,
    Linear,
    NumericsWarning,
    Ridge,
    errors,
    load,
)

pytestmark = pytest.mark.numerics
EPS = np.finfo(float).eps
NAMED = tuple(
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, UserWarning)
)
SHORTEST = 30  # characters of a message that says something
# What is drawn beyond the rest, by the names below in this file.
WIDER = frozenset(
    {
        "weights in scaling",
        "units of each input",
        "masked arrays",
        "gaps at one place",
        "gaps and no penalty",
        "one function",
        "pickles",
        "words as weights",
    }
)


def examples(n):
    """Run a test on n examples, and on more by the profile "thorough"."""
    return settings(max_examples=n * settings.default.max_examples // 100)


# What is drawn ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Functions, as plain arrays in double precision and as they are given to elmonet.

    Attributes
    ----------
    X, new : (N, m) and (K, m), training inputs and others.
    y : (N, M) or (N, M, c), training outputs, NaN where they are missing.
    points : (M, d).
    alpha : of the ridge, relative to the mean squared size of the features; 0 for a pseudoinverse.
    degree : of a polynomial trunk; None for POD.
    scaled : whether the model scales its inputs.
    weights, groups : (N,) or None.
    given : how the arrays are given: a function of X or `new`, and one of y.
    dtype : of the predictions.
    rounding : relative, of the least precise of the arrays.
    names : of the components.
    given_alpha : absolute, instead of `alpha`.
    """

    X: np.ndarray
    new: np.ndarray
    y: np.ndarray
    points: np.ndarray
    alpha: float
    degree: int | None
    scaled: bool
    weights: np.ndarray | None
    groups: np.ndarray | None
    give_X: Any
    give_y: Any
    dtype: Any
    rounding: float
    names: tuple[Any, ...] | None = None
    given_alpha: float | None = None

    @property
    def gaps(self):
        return bool(np.isnan(self.y).any())

    @property
    def components(self):
        return self.y.ndim == 3

    @property
    def components_or_one(self):
        return self.y.shape[2] if self.components else 1

    @property
    def rows(self):
        """Outputs (N, c M), one component after the other."""
        return np.moveaxis(self.y, 2, 1).reshape(len(self.y), -1) if self.components else self.y

    def __repr__(self):
        names = sorted(self.__dataclass_fields__, key=lambda name: np.size(getattr(self, name)))
        parts = ((name, getattr(self, name)) for name in names if "give" not in name)
        return f"Data({', '.join(f'{name}={value!r}' for name, value in parts)})"


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every second": lambda A: np.repeat(A, 2, axis=0)[::2],
    "backwards": lambda A: np.ascontiguousarray(A[::-1])[::-1],
    "read-only": lambda A: np.frombuffer(np.ascontiguousarray(A).tobytes(), A.dtype).reshape(A.shape),
    "other bytes": lambda A: A.astype(A.dtype.newbyteorder()),
    "lists": lambda A: A.tolist(),
}
KINDS = {"float64": 1.0, "float32": 1.0, "int64": 100.0, "int16": 100.0, "bool": 1.0}  # and a usual size


@st.composite
def arrays(draw, rng, shape, *, units):
    """Draw an array: its values, as they come out in double precision, and how it is given."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    A = KINDS[kind] * rng.normal(size=shape)
    if kind.startswith("float"):
        if units:
            limit = 12 if kind == "float64" else 6
            A = A * 10.0 ** draw(st.integers(-limit, limit))
        # The variation keeps 7 digits, or 3 in single precision.
        if draw(st.booleans()):
            A = A + np.abs(A).max() * 10.0 ** draw(st.integers(0, 8 if kind == "float64" else 3))
    A = A > 0 if kind == "bool" else A.astype(kind)
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    keeps = kind.startswith("float") and layout != "lists"  # Python's numbers are in double precision
    return A, LAYOUTS[layout], A.dtype if keeps else np.dtype(float)


def constant_columns(draw, A):
    """Make some columns constant."""
    A = A.copy()
    if draw(st.integers(0, 3)) == 0:
        A[:, draw(st.integers(0, A.shape[1] - 1))] = A.flat[0]
    return A


ALPHAS = [0.0, 1e-8, 1e-4, 1e-2, 1.0, 100.0]
SIZES = {"tiny": (1, 3), "small": (4, 8), "enough": (9, 16)}


@st.composite
def data(draw, *, weights=False, groups=False, gaps=False, components=True, least=1):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    low, high = SIZES[draw(st.sampled_from(sorted(SIZES)))]
    N = max(least if "one function" in WIDER else max(least, 2), draw(st.integers(low, high)))
    m, M, K = draw(st.integers(1, 5)), draw(st.integers(1, 5)), 3
    c = draw(st.integers(1, 3)) if components and draw(st.booleans()) else None
    both, layout_X, dtype_X = draw(arrays(rng, (N + K, m), units=True))
    y, layout_y, dtype_y = draw(arrays(rng, (N, M) if c is None else (N, M, c), units=True))
    if "units of each input" in WIDER and both.dtype == float and draw(st.booleans()):
        both = both * 10.0 ** rng.integers(-8, 9, m)
    both, y = constant_columns(draw, both), constant_columns(draw, y)
    X, new = both[:N].copy(), both[N:].copy()
    if N > 2 and draw(st.integers(0, 2)) == 0:  # some functions are there twice, perhaps with other outputs
        copies = draw(st.integers(1, N // 2))
        X[-copies:] = X[:copies]
        if draw(st.booleans()):
            y[-copies:] = y[:copies]
    assume("one function" in WIDER or len(np.unique(X, axis=0)) > 1)
    if gaps:
        y = y.astype(float) if y.dtype.kind != "f" else y
        holes = rng.random(y.shape) < draw(st.sampled_from([0.0, 0.2, 0.5]))
        y[holes] = np.nan
    d = draw(st.integers(1, 2))
    points = rng.permutation(np.linspace(0, 1, M))[:, None] if d == 1 else rng.random((M, d))
    points = (points + draw(st.sampled_from([0.0, -1.0, 1e3]))) * 10.0 ** draw(st.integers(-12, 12))
    assume(len(np.unique(points[:, 0])) == M)
    polynomial = d == 1 and (gaps or draw(st.booleans()))
    assume(not gaps or (polynomial and ("gaps at one place" in WIDER or M * (c or 1) > 1)))
    degree = M - 1 if gaps else draw(st.integers(0, M - 1)) if polynomial else None
    names = None
    if c is not None and draw(st.booleans()):
        names = tuple(draw(st.permutations(["p", "velocity u", "ü", "", 0, "2"]))[:c])
    w = None
    if weights:
        w = rng.integers(0, 4, N).astype(float) if draw(st.booleans()) else rng.random(N)
        w[0] = 1.0
        w = w * 10.0 ** draw(st.integers(-6, 6))
        assume("one function" in WIDER or len(np.unique(X[w > 0], axis=0)) > 1)
    labels = rng.integers(0, max(2, N // 2), N) if groups else None
    assume(labels is None or len(np.unique(labels)) > 1)
    kinds = X.dtype.kind + y.dtype.kind

    masked = gaps and "masked arrays" in WIDER and draw(st.booleans())

    def give_y(y):
        if masked:
            y = np.ma.masked_array(np.where(np.isnan(y), -9999, y).astype(y.dtype), np.isnan(y))
            return y if names is None else {name: y[..., i] for i, name in enumerate(names)}
        if names is None:
            return layout_y(y[:, 0] if M == 1 and c is None and flat else y)
        return {name: layout_y(y[..., i]) for i, name in enumerate(names)}

    flat = draw(st.booleans())
    return Data(
        X,
        new,
        y,
        points,
        draw(st.sampled_from(ALPHAS[2:] if gaps and "gaps and no penalty" not in WIDER else ALPHAS)),
        degree,
        draw(st.booleans()) and (w is None or "weights in scaling" in WIDER),
        w,
        labels,
        layout_X,
        give_y,
        np.result_type(dtype_X, (y.dtype if y.dtype.kind == "f" else float) if masked else dtype_y),
        max(np.finfo(A.dtype).eps for A in (X, y) if A.dtype.kind == "f") if "f" in kinds else EPS,
        names,
    )


# The plain model --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ridged:
    """A ridge of rows y (N, P) on features B (N, p), each function with a weight, in plain NumPy.

    Attributes
    ----------
    A, R : the augmented system, min |A C - R|.
    sure : whether its rank is beyond doubt.
    rounding : relative rounding of C, by the condition of the system.
    """

    A: np.ndarray
    R: np.ndarray
    alpha: float

    @classmethod
    def of(cls, B, y, alpha, weights):
        w = np.ones(len(B)) if weights is None else np.sqrt(weights)
        p, P = B.shape[1], y.shape[1]
        A = np.vstack([B * w[:, None], np.sqrt(alpha) * np.eye(p)])
        return cls(A, np.vstack([y * w[:, None], np.zeros((p, P))]), alpha)

    @property
    def singular_values(self):
        return np.linalg.svd(self.A, compute_uv=False)

    @property
    def sure(self):
        s = self.singular_values
        doubtful = (s < 1e-7 * s[0]) & (s > max(self.A.shape) * EPS * s[0])
        return self.alpha > 0 or not doubtful.any()

    @property
    def rounding(self):
        """Relative: normal equations lose the square of the condition."""
        s = self.singular_values
        if s[0] == 0:
            return EPS
        kept = s[s > 1e-7 * s[0]] if self.alpha == 0 else s
        return 30 * max(self.A.shape) * EPS * (kept[0] / kept[-1]) ** 2

    @property
    def C(self):
        cut = 1e-10 if self.alpha == 0 else None
        return np.linalg.lstsq(self.A, self.R, rcond=cut)[0]


@dataclass(frozen=True)
class Plain:
    """What the model of some `Data` should give; `centred` tells of which components it removes the mean."""

    data: Data
    centred: tuple[bool, ...] = ()

    @classmethod
    def of(cls, data, model):
        """Return the plain model that is centred as a fitted one is."""
        centre = getattr(model.outputs_, "centre", None)
        if centre is None:
            return cls(data)
        return cls(data, tuple(centre.shift.reshape(data.components_or_one, -1).any(axis=1)))

    @property
    def level(self):
        """What is taken away from the outputs first: the means of some components, (c M,)."""
        rows = self.data.rows.astype(float)
        parts = rows.reshape(len(rows), self.data.components_or_one, -1)
        level = np.zeros(parts.shape[1:])
        for i in np.flatnonzero(self.centred):
            known = ~np.isnan(parts[:, i])
            counts = known if self.data.weights is None else known * self.data.weights[:, None]
            level[i] = np.sum(np.where(known, parts[:, i], 0) * counts) / np.sum(counts)
        return level.ravel()

    @property
    def shift_and_scale(self):
        X = self.data.X.astype(float)
        if not self.data.scaled:
            return np.zeros(X.shape[1]), np.ones(X.shape[1])
        mean = np.average(X, axis=0, weights=self.data.weights)
        deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=self.data.weights))
        largest = np.abs(X).max(axis=0 if "units of each input" in WIDER else None)
        return mean, np.where(deviation <= 100 * EPS * largest, 1.0, deviation)

    def features(self, X):
        shift, scale = self.shift_and_scale
        return np.hstack([(X.astype(float) - shift) / scale, np.ones((len(X), 1))])

    @property
    def B(self):
        return self.features(self.data.X)

    @property
    def input_rounding(self):
        """Relative rounding of the features: what is left of values far from zero."""
        shift, scale = self.shift_and_scale
        largest = np.abs(self.data.X.astype(float)).max(axis=0)
        return 10 * EPS * float(np.max((largest + np.abs(shift)) / scale)) if self.data.scaled else EPS

    @property
    def alpha(self):
        if self.data.given_alpha is not None:
            return self.data.given_alpha
        return float(self.data.alpha * max(np.sum(self.B**2) / len(self.B), np.finfo(float).tiny))

    @property
    def span(self):
        """An orthonormal basis (M, r) of the trunk's span; None for all of it."""
        if self.data.degree is None:
            return None
        return np.linalg.qr(self.vander(self.data.points))[0]

    def vander(self, points):
        low, high = self.data.points.min(), self.data.points.max()
        x = (2 * points[:, 0] - low - high) / (high - low if high > low else 1.0)
        return np.polynomial.legendre.legvander(x, self.data.degree)

    def projected(self, rows):
        Q = self.span
        if Q is None:
            return rows
        parts = rows.reshape(len(rows), -1, len(Q))
        return (parts @ Q @ Q.T).reshape(rows.shape)

    def shaped(self, rows, M):
        """Rows (K, c M) as (K, M) or (K, M, c)."""
        if not self.data.components:
            return rows
        return np.moveaxis(rows.reshape(len(rows), -1, M), 1, 2)

    def fit(self, which=slice(None)):
        """Fit some of the functions; with gaps, every point by itself."""
        B, y = self.B[which], self.data.rows[which].astype(float) - self.level
        w = None if self.data.weights is None else self.data.weights[which]
        if not self.data.gaps:
            fit = Ridged.of(B, self.projected(y), self.alpha, w)
            return fit.C, fit.rounding, fit.sure
        columns, rounding, sure = [], 0.0, True
        for column in y.T:
            known = ~np.isnan(column)
            fit = Ridged.of(B[known], column[known, None], self.alpha, None if w is None else w[known])
            columns.append(fit.C)
            rounding, sure = max(rounding, fit.rounding), sure and fit.sure
        return np.hstack(columns), rounding, sure

    def predict(self, X, points=None):
        """Predictions, the tolerance, and whether that means anything."""
        C, rounding, sure = self.fit()
        B = self.features(X)
        rows, M = B @ C + self.level, self.data.y.shape[1]
        largest = np.linalg.norm(C, axis=0).max(initial=0) * np.linalg.norm(B, axis=1).max()
        size = max(largest, np.nanmax(np.abs(self.data.rows.astype(float))), np.abs(rows).max())
        if points is not None:
            parts = rows.reshape(len(rows), -1, M)
            rows = (parts @ np.linalg.pinv(self.vander(self.data.points)).T @ self.vander(points).T).reshape(
                len(rows), -1
            )
            M = len(points)
        tolerance = (rounding + self.input_rounding + 4 * self.data.rounding) * size
        return self.shaped(rows, M), tolerance, sure

    def errors(self, labels):
        """The relative error of each function by a fit without its group, and its rounding."""
        y, B = self.data.rows.astype(float), self.B
        missed, rounding, sure = np.empty_like(y), 0.0, True
        for label in np.unique(labels):
            out = labels == label
            if out.all():
                missed[out] = y[out]
                continue
            C, own, sure_here = self.fit(~out)
            # Without a penalty, a fit of few functions is that at the least alpha that rounding allows.
            sure_here = sure_here and (self.alpha > 0 or np.linalg.matrix_rank(B[~out], 1e-7) == B.shape[1])
            missed[out] = B[out] @ C - y[out]
            size = np.linalg.norm(C, axis=0).max() * np.linalg.norm(B, axis=1).max()
            rounding = max(rounding, own * max(size, np.abs(y).max()))
            sure = sure and sure_here
        norms = np.linalg.norm(y, axis=1)
        if y.shape[1] == 1 and y.min() < 0 < y.max():
            relative_to = np.full(len(y), np.sqrt(np.mean(norms**2)))
        else:
            rest = norms[norms > 0]
            relative_to = np.where(norms > 0, norms, np.sqrt(np.mean(rest**2)) if rest.size else 1.0)
        return np.linalg.norm(missed, axis=1) / relative_to, rounding / relative_to, sure


# Right, refused or warned -----------------------------------------------------------------------------------


class Refused(Exception):
    """The call was refused, with a message."""


@dataclass
class Outcome:
    """What a call returned, and which warnings it gave."""

    value: Any
    warnings: list[type[Warning]]

    @property
    def warned(self):
        """Whether numbers should be checked."""
        return any(issubclass(w, NumericsWarning) and w is not ExtrapolationWarning for w in self.warnings)

    @property
    def extrapolates(self):
        return ExtrapolationWarning in self.warnings


def call(what, *arguments, **keywords):
    """Call elmonet: a refusal must have a message, a warning a name; all else is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = what(*arguments, **keywords)
        except ElmonetError as error:
            if len(str(error)) < SHORTEST:
                raise
            raise Refused(str(error)) from None
    for warning in caught:
        assert issubclass(warning.category, NAMED), f"unnamed warning: {warning}"
        assert len(str(warning.message)) >= SHORTEST, warning.message
    return Outcome(value, [warning.category for warning in caught])


def refusals_are_fine(test):
    """A decorator: an example that elmonet refuses is as good as one that it gets right."""

    @wraps(test)
    def run(*drawn, **named):
        try:
            test(*drawn, **named)
            event("right")
        except Refused as refused:
            event(f"refused: {str(refused)[:60]}")

    return run


def estimator(case):
    trunk = POD() if case.degree is None else Legendre(case.degree)
    missing = "ignore" if case.gaps else "raise"
    solver = Ridge(Plain(case).alpha)
    return ELMDeepONet(Linear(), trunk, solver, scale_inputs=case.scaled, missing=missing)


def keywords_of(case):
    given = {"sample_weight": case.weights, "groups": case.groups}
    return {name: value for name, value in given.items() if value is not None}


def fit(case, **more):
    model = estimator(case)
    X, y = case.give_X(case.X), case.give_y(case.y)
    return call(model.fit, X, y, points=case.points, **keywords_of(case), **more)


def as_array(case, predicted):
    """Predictions as one array, components last."""
    if case.names is None:
        return np.asarray(predicted)
    assert list(predicted) == [str(name) for name in case.names]
    return np.stack(list(predicted.values()), axis=-1)


def assert_right(found, expected, tolerance):
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    assert np.abs(found - expected).max(initial=0) <= tolerance, (found, expected, tolerance)


def without_holes(case, found, expected):
    """Return both at the points with values; assert that predictions are NaN at the others."""
    hole = np.isnan(case.rows).reshape(len(case.X), case.components_or_one, -1).all(axis=(0, 1))
    found, expected = (A.reshape(len(A), len(case.points), -1) for A in (found, expected))
    assert np.isnan(found[:, hole]).all()
    return found[:, ~hole], expected[:, ~hole]


def predictions(case, model, X, points=None):
    return as_array(case, call(model.predict, case.give_X(X), points).value)


def assert_predicts(case, fitted, X):
    expected, tolerance, sure = Plain.of(case, fitted.value).predict(X)
    found = predictions(case, fitted.value, X)
    if case.y.shape[1] == 1 and not case.components:
        found = found.reshape(expected.shape)
    assert found.dtype == case.dtype
    assert found.shape == expected.shape
    found, expected = without_holes(case, found, expected)
    assert_right(found, expected, tolerance if sure and not fitted.warned else np.inf)
    return found


# Against the plain model ------------------------------------------------------------------------------------


@examples(150)
@given(data())
@refusals_are_fine
def test_predictions_are_those_of_a_plain_ridge(case):
    fitted = fit(case)
    for X in (case.X, case.new):
        assert_predicts(case, fitted, X)


@examples(60)
@given(data(gaps=True))
@refusals_are_fine
def test_gaps_are_left_out(case):
    assert_predicts(case, fit(case), case.new)


@examples(60)
@given(data(weights=True))
@refusals_are_fine
def test_weights_are_those_of_the_squares(case):
    assert_predicts(case, fit(case), case.new)


@examples(40)
@given(data(weights=True, gaps=True))
@refusals_are_fine
def test_weights_and_gaps(case):
    assert_predicts(case, fit(case), case.new)


@examples(60)
@given(data())
@refusals_are_fine
def test_predictions_at_other_points(case):
    fitted = fit(case)
    if case.degree is None:  # POD interpolates: at the training points, and in another order
        order = np.random.default_rng(0).permutation(len(case.points))
        points, expected = case.points[order], predictions(case, fitted.value, case.new)
        expected = expected.reshape(len(expected), len(order), -1)[:, order]
        tolerance = 1e-6 * np.abs(expected).max()
    else:
        low, high = case.points.min(), case.points.max()
        points = (low + (high - low) * np.array([0.1, 0.35, 0.5, 0.77]))[:, None]
        expected, tolerance, sure = Plain.of(case, fitted.value).predict(case.new, points)
        tolerance = 100 * tolerance if sure and not fitted.warned else np.inf
    found = predictions(case, fitted.value, case.new, points)
    assert_right(found.reshape(expected.shape), expected, tolerance)


def groups_of(case):
    """Return the labels of functions that are left out together: as given, or those of repeated inputs."""
    if case.groups is not None:
        return case.groups
    return np.unique(case.X, axis=0, return_inverse=True)[1].ravel()


def is_series(case):
    """Return whether an output is the input of another function, by chance: a step of a trajectory."""
    return case.X.shape == case.y.shape and any((row == case.X).all(axis=1).any() for row in case.y)


def assert_left_out(case):
    assume(len(np.unique(groups_of(case))) > 1)
    assume(case.groups is not None or not is_series(case))
    fitted = fit(case)
    plain = Plain.of(case, fitted.value)
    expected, rounding, sure = plain.errors(groups_of(case))
    solution = fitted.value.solution_
    found = solution.errors
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    # Where a function is nearly determined by its own output, leaving it out amplifies the rounding.
    if sure and not fitted.warned and rounding.max() < 1e-3 and not any(plain.centred):
        np.testing.assert_array_less(np.abs(found - expected), 1e-6 + 1e-3 * expected + 100 * rounding)


@examples(100)
@given(data(components=False, least=2))
@refusals_are_fine
def test_left_out_errors_are_those_of_refits(case):
    assert_left_out(case)


@examples(60)
@given(data(components=False, groups=True, least=3))
@refusals_are_fine
def test_groups_are_left_out_as_in_refits(case):
    assert_left_out(case)


# Relations --------------------------------------------------------------------------------------------------


def assert_related(case, other, change=lambda z: z):
    """Assert that predictions from other data are those of `case`, changed."""
    one, two = fit(case), fit(other)
    models = zip((case, other), (one, two), strict=True)
    tolerances = [Plain.of(each, fitted.value).predict(each.new)[1:] for each, fitted in models]
    doubt = one.warned or two.warned or not all(sure for _, sure in tolerances)
    tolerance = np.inf if doubt else 2 * max(tolerance for tolerance, _ in tolerances)
    expected = change(predictions(case, one.value, case.new))
    found = predictions(other, two.value, other.new)
    assert_right(found.reshape(expected.shape), expected, tolerance)


def orders(*counts):
    return st.tuples(*(st.permutations(range(n)) for n in counts))


@examples(40)
@given(data(), st.data())
@refusals_are_fine
def test_order_makes_no_difference(case, drawn):
    rows, columns = drawn.draw(orders(*case.y.shape[:2]))
    other = replace(case, X=case.X[rows], y=case.y[rows][:, columns], points=case.points[columns])
    assert_related(case, other, lambda z: z if z.ndim == 1 or len(columns) == 1 else z[:, columns])


@examples(40)
@given(data(), st.integers(-30, 30))
@refusals_are_fine
def test_outputs_in_other_units(case, power):
    """A power of two, so that the outputs are the same digits."""
    factor = 2.0**power
    y = (case.y * factor).astype(case.y.dtype if case.y.dtype.kind == "f" else float)
    dtype = np.result_type(y, np.float32 if case.dtype == np.float32 else float)
    assert_related(case, replace(case, y=y, dtype=dtype), lambda z: z * factor)


@examples(40)
@given(data(), st.integers(-30, 30))
@refusals_are_fine
def test_inputs_in_other_units(case, power):
    """A model that scales its inputs does not know their units."""
    factor = 2.0**power
    kind = case.X.dtype if case.X.dtype.kind == "f" else float
    X, new = ((A * factor).astype(kind) for A in (case.X, case.new))
    case = replace(case, scaled=True, weights=None)
    assert_related(case, replace(case, X=X, new=new))


@examples(40)
@given(data(weights=True), st.data())
@refusals_are_fine
def test_a_weight_of_two_is_a_function_twice(case, drawn):
    counts = np.array(drawn.draw(st.lists(st.integers(0, 3), min_size=len(case.X), max_size=len(case.X))))
    repeated = np.repeat(np.arange(len(counts)), counts)
    assume(len(np.unique(case.X[repeated], axis=0)) > 1)
    case = replace(case, weights=counts.astype(float))
    alpha = Plain(case).alpha
    other = replace(case, X=case.X[repeated], y=case.y[repeated], weights=None, given_alpha=alpha)
    assert_related(replace(case, given_alpha=alpha), other)


@examples(30)
@given(data(), st.integers(1, 4))
@refusals_are_fine
def test_several_inputs_are_those_side_by_side(case, first):
    assume(first < case.X.shape[1])
    case = replace(case, scaled=False)
    give = case.give_X
    parts = lambda X: {"k": give(X[:, first:]), 1: give(X[:, :first])}  # noqa: E731
    turned = lambda X: dict(reversed(parts(X).items()))  # noqa: E731
    model = call(estimator(case).fit, parts(case.X), case.give_y(case.y), points=case.points)
    expected, tolerance, sure = Plain.of(case, model.value).predict(case.new)
    found = as_array(case, call(model.value.predict, turned(case.new)).value)
    assert_right(found.reshape(expected.shape), expected, tolerance if sure and not model.warned else np.inf)


# Error bars, files, and models that choose for themselves ---------------------------------------------------


def assert_bands(case, model, tolerance):
    """Assert that bands hold the prediction, are finite or say nothing, and grow with the coverage."""
    middle = predictions(case, model, case.new)
    slack = tolerance + 8 * np.finfo(case.dtype).eps * np.abs(middle).max()
    before = None
    for coverage in (0.3, 0.6, 0.9):
        ends = call(model.interval, case.give_X(case.new), coverage).value
        low, high = (as_array(case, end) for end in ends)
        assert low.shape == high.shape == middle.shape
        assert low.dtype == high.dtype == middle.dtype
        assert not np.isnan(low).any()
        assert not np.isnan(high).any()
        assert (low <= middle + slack).all()
        assert (middle <= high + slack).all()
        if before is not None:
            assert (low <= before[0] + slack).all()
            assert (high >= before[1] - slack).all()
        before = low, high


@examples(60)
@given(data(least=3))
@refusals_are_fine
def test_bands(case):
    fitted = fit(case)
    _, tolerance, sure = Plain(case).predict(case.new)
    assume(sure)
    assert_bands(case, fitted.value, tolerance)


@examples(30)
@given(data(least=4))
@refusals_are_fine
def test_a_file_and_a_pickle_keep_the_bits(case):
    model = estimator(case) if "pickles" in WIDER else ELMDeepONet(Linear(), random_state=0)
    model = call(model.fit, case.give_X(case.X), case.give_y(case.y), points=case.points).value
    expected = predictions(case, model, case.new)
    np.testing.assert_array_equal(predictions(case, pickle.loads(pickle.dumps(model)), case.new), expected)
    with TemporaryDirectory() as folder:
        call(model.save, Path(folder) / "model")
        again = call(load, Path(folder) / "model").value
    np.testing.assert_array_equal(predictions(case, again, case.new), expected)
    assert call(again.summary).value == call(model.summary).value


@examples(60)
@given(data(least=2))
@refusals_are_fine
def test_the_usual_model(case):
    """Alpha by leave-one-out: numbers are finite, errors are not negative, and the summary can be written."""
    model = ELMDeepONet(Linear(), random_state=0)
    model = call(model.fit, case.give_X(case.X), case.give_y(case.y), points=case.points).value
    for X in (case.X, case.new):
        found = predictions(case, model, X)
        assert found.dtype == case.dtype
        assert np.isfinite(found).all()
    if model.expected_error_ is not None:
        assert model.expected_error_ >= 0
        low, high = model.expected_error_interval_
        assert 0 <= low <= model.expected_error_ <= high
    assert call(model.summary).value
    assert np.isfinite(call(model.score, case.give_X(case.X), case.give_y(case.y)).value)
    assert call(model.is_training_function, case.give_X(case.X)).value.all()
    assert (call(model.novelty, case.give_X(case.new)).value >= 0).all()
    assert_bands(case, model, 0.0)


@examples(12)
@given(data(least=9))
@refusals_are_fine
def test_auto_of_a_linear_operator(case):
    """A linear operator is found, or the expected error says that it was not."""
    rng = np.random.default_rng(0)
    spread = np.ptp(case.X.astype(float), axis=0)
    assume((spread[spread > 0] > 1e-6 * np.abs(case.X.astype(float)).max()).all())
    X = np.vstack([case.X, case.new]).astype(float)
    A = rng.normal(size=(X.shape[1], 4)) / np.where(spread > 0, spread, 1.0)[:, None]
    y = (X - X.mean(axis=0)) @ A + 0.5
    train, test = slice(len(case.X)), slice(len(case.X), None)
    model = AutoELMDeepONet(layers=0, random_state=0)
    model = call(model.fit, X[train], y[train], points=np.arange(4.0)).value
    found = call(model.predict, X[test])
    assert np.isfinite(found.value).all()
    error = np.mean(np.linalg.norm(found.value - y[test], axis=1) / np.linalg.norm(y[test], axis=1))
    interval = model.expected_error_interval_  # None where nothing can be said
    assert interval is None or error < max(1e-6, 20 * interval[1]) or found.extrapolates


# What must be refused ---------------------------------------------------------------------------------------

HOPELESS = {
    "too few outputs": lambda X, y, points: (X, y[:-1], points),
    "too few points": lambda X, y, points: (X, y, points[:-1]),
    "too many points": lambda X, y, points: (X, y, np.vstack([points, points[:1] + 1])),
    "NaN in X": lambda X, y, points: (spoilt(X, np.nan), y, points),
    "infinity in X": lambda X, y, points: (spoilt(X, np.inf), y, points),
    "NaN in y": lambda X, y, points: (X, spoilt(y, np.nan), points),
    "infinity in y": lambda X, y, points: (X, spoilt(y, -np.inf), points),
    "NaN in points": lambda X, y, points: (X, y, spoilt(points, np.nan)),
    "complex X": lambda X, y, points: (X + 1j, y, points),
    "complex y": lambda X, y, points: (X, y + 1j, points),
    "words": lambda X, y, points: (X.astype(str), y, points),
    "objects": lambda X, y, points: (X, np.full(y.shape, None), points),
    "dates": lambda X, y, points: (X, y.astype("datetime64[s]"), points),
    "no functions": lambda X, y, points: (X[:0], y[:0], points),
    "no sensors": lambda X, y, points: (X[:, :0], y, points),
    "one row": lambda X, y, points: (X[0], y, points),
    "a number": lambda X, y, points: (X, 3.0, points),
    "nothing": lambda X, y, points: (X, None, points),
    "points of no dimension": lambda X, y, points: (X, y, points[:, :0]),
    "ragged": lambda X, y, points: ([list(row) for row in X[:-1]] + [[1.0]] * 1 + [], y, points),
    "no inputs": lambda X, y, points: ({}, y, points),
    "inputs of other lengths": lambda X, y, points: ({"a": X, "b": X[1:]}, y, points),
    "components of other lengths": lambda X, y, points: (X, {"a": y, "b": y[:, :-1]}, points),
}


def spoilt(A, value):
    A = np.array(A, float)
    A[-1, 0] = value
    return A


WRONG_QUERIES = ["sensors", "points", "NaN", "complex", "words", "axes"]
WRONG_KEYWORDS = [
    {"sample_weight": [1.0, -1.0]},
    {"sample_weight": [1.0, np.nan]},
    {"sample_weight": 0.0},
    {"groups": [1]},
    {"groups": 7},
    {"sample_weight": "heavy"},
    {"sensors": np.zeros((99, 1))},
    {"sensors": "everywhere"},
]


@examples(60)
@given(data(components=False, least=3), st.sampled_from(sorted(HOPELESS)))
def test_what_makes_no_sense_is_refused(case, how):
    assume(case.y.shape[1] > 1 and case.X.shape[1] > 1)
    X, y, points = HOPELESS[how](case.X.astype(float), case.y.astype(float), case.points)
    with pytest.raises(Refused):
        call(ELMDeepONet(Linear(), solver=Ridge(1.0)).fit, X, y, points=points)


@examples(20)
@given(data(components=False, least=3), st.sampled_from(WRONG_KEYWORDS))
def test_wrong_keywords_are_refused(case, keywords):
    assume("words as weights" in WIDER or keywords.get("sample_weight") != "heavy")
    with pytest.raises(Refused):
        call(ELMDeepONet(Linear(), solver=Ridge(1.0)).fit, case.X, case.y, points=case.points, **keywords)


@examples(30)
@given(data(components=False, least=3), st.sampled_from(WRONG_QUERIES))
def test_wrong_predictions_are_refused(case, how):
    model = call(ELMDeepONet(Linear(), solver=Ridge(1.0)).fit, case.X, case.y, points=case.points).value
    new, points = case.new.astype(float), None
    if how == "points":
        points = np.zeros((2, case.points.shape[1] + 1))
    new = {
        "sensors": np.hstack([new, new]),
        "NaN": spoilt(new, np.nan),
        "complex": new * 1j,
        "words": new.astype(str),
        "axes": new[..., None, None],
    }.get(how, new)
    with pytest.raises(Refused):
        call(model.predict, new, points)

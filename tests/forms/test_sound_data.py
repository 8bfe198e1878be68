"""Data as they come: units, offsets, weights, masks, repeated or changed arrays, tables."""

import numpy as np
import pytest

from elmonet import (
    POD,
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    InfiniteWidth,
    InputError,
    LayeredELMDeepONet,
    Legendre,
    Linear,
    NumericsWarning,
    Ridge,
    Scattered,
    fit_blocks,
    load,
    problems,
    relative_l2,
)
from elmonet.features import Sinusoid
from elmonet.forms.outputs import _offsets

DATA = problems.nonlinear_ode(n_train=60, n_test=40, n_sensors=20, n_points=15)
U, S, P = DATA.u_train, DATA.s_train, DATA.points
NEW, TRUE = DATA.u_test, DATA.s_test
SMALL = Linear() + SLFN(100, "tanh", 0.5)


def estimators():
    """Every estimator, fast, for data at the same points on both sides."""
    return [
        ELMDeepONet(SMALL, random_state=0),
        AutoELMDeepONet(random_state=0, layers=0, time_budget=1e-3),
        LayeredELMDeepONet(first="nothing", layers=1, width=20, random_state=0),
    ]


# Offsets


@pytest.mark.numerics
@pytest.mark.parametrize("trunk", [None, Legendre(8), POD(6), Sinusoid(10, "cosine")])
@pytest.mark.parametrize("branch", [SMALL, SLFN(200), InfiniteWidth("matern52", 0.3)])
def test_an_offset_of_the_outputs_costs_no_accuracy(branch, trunk):
    def error(offset):
        model = ELMDeepONet(branch, trunk, random_state=0).fit(U, S**2 + offset, points=P)
        predicted = model.predict(NEW)
        stated = relative_l2(predicted, TRUE**2 + offset)
        assert 0.5 < model.expected_error_ / stated < 2  # relative to the outputs, with their offset
        return relative_l2(predicted - offset, TRUE**2)

    first, *others = [error(offset) for offset in (0.0, 1e2, 1e5)]
    assert max(others) < 1.25 * first


@pytest.mark.numerics
@pytest.mark.parametrize("offset", [-300.0, 1e5])
def test_components_with_an_offset(offset, tmp_path):
    def fitted(offset):
        return ELMDeepONet(SMALL, random_state=0).fit(U, {"v": S, "p": S**2 + offset}, points=P)

    plain, model = fitted(0.0), fitted(offset)
    expected, found = plain.predict(NEW), model.predict(NEW)
    error = relative_l2(expected["p"], TRUE**2)
    assert relative_l2(found["p"] - offset, TRUE**2) < 1.25 * error
    assert relative_l2(found["v"], TRUE) < 1.25 * relative_l2(expected["v"], TRUE)
    # elsewhere, derivatives, deviations and bands are in the same units, also from a file
    where = P[::3] + 0.01
    other = model.predict(NEW, points=where)["p"] - offset
    assert relative_l2(other, plain.predict(NEW, points=where)["p"]) < 2 * error
    slope, expected_slope = (m.predict(NEW, points=where, derivative=(1,)) for m in legendre_pair(offset))
    assert relative_l2(slope["p"], expected_slope["p"]) < 2 * error
    low, high = (end["p"] for end in model.interval(NEW))
    inside = (low <= TRUE**2 + offset) & (TRUE**2 + offset <= high)
    assert 0.75 < inside.mean() <= 1
    assert np.mean(high - low) < 2 * np.mean(np.subtract(*[end["p"] for end in plain.interval(NEW)][::-1]))
    std = model.predict(NEW, return_std=True)[1]["p"]
    assert 0.2 < std.mean() / np.sqrt(np.mean((found["p"] - offset - TRUE**2) ** 2)) < 5
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(NEW)["p"], found["p"])
    own = [P[:4], P[3:9]]
    for part, predicted in zip(own, model.predict(NEW[:2], points=own), strict=True):
        assert predicted.shape == (len(part), 2)
        np.testing.assert_allclose(predicted[:, 1].mean(), offset, rtol=0.1)


def legendre_pair(offset):
    return [
        ELMDeepONet(SMALL, Legendre(8), random_state=0).fit(U, {"v": S, "p": S**2 + c}, points=P)
        for c in (offset, 0.0)
    ]


@pytest.mark.numerics
def test_offsets_with_gaps_in_blocks_and_in_single_precision():
    missing = S**2 + 1e5
    missing[::3, 4] = np.nan
    model = ELMDeepONet(SMALL, missing="ignore", random_state=0).fit(U, missing, points=P)
    whole = ELMDeepONet(SMALL, random_state=0).fit(U, S**2, points=P)
    error = relative_l2(whole.predict(NEW), TRUE**2)
    assert relative_l2(model.predict(NEW) - 1e5, TRUE**2) < 1.5 * error
    assert model.expected_error_ < 1e-4
    blocks = fit_blocks(ELMDeepONet(SMALL, random_state=0), U, S**2 + 1e5, P)
    assert relative_l2(blocks.predict(NEW) - 1e5, TRUE**2) < 2 * error
    low = ELMDeepONet(SMALL, random_state=0).fit(U, (S**2 + 1e3).astype(np.float32), points=P)
    assert relative_l2(low.predict(NEW) - 1e3, TRUE**2) < 1.25 * error


def test_what_is_near_zero_somewhere_or_masked_is_not_centred():
    def centre(y, trunk=None, **more):
        return ELMDeepONet(Linear(), trunk, **more).fit(U, y, points=P).outputs_.centre

    assert centre(S) is None
    assert centre(S**2 + 1e5) is not None
    with_zeros = S**2 + 1e5
    with_zeros[:, 0] = 0  # a boundary value: the modes keep it
    assert centre(with_zeros) is None
    assert centre(S**2 + 1e5, Legendre(5).zero_on_boundary()) is None
    assert centre(S**2 + 1e5, scale_inputs=False) is None  # as in the paper
    assert centre(S**2 + 1e5, lift=lambda points: 1e5 + 0 * points[:, 0]) is None


# Units of the inputs


@pytest.mark.numerics
@pytest.mark.parametrize("unit", [1e12, 1e16, 1e19, 1e-19, 1e160])
@pytest.mark.parametrize("named", [True, False])
def test_a_unit_of_one_input_makes_no_difference(unit, named):
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 10)
    a, n, d = rng.normal(size=(120, 3)), rng.uniform(1, 2, 120), rng.uniform(1, 2, 120)
    s = (a @ np.stack([np.ones(10), np.sin(3 * x), np.cos(3 * x)])) * n[:, None] / d[:, None]

    def error(unit):
        X = {"a": a, "n": n * unit, "d": d}
        X = X if named else np.column_stack([*a.T, n * unit, d])
        if not named and unit < 1:  # a sensor so small beside all others is their rounding
            return 0.0
        train, test = (
            {k: v[rows] for k, v in X.items()} if named else X[rows] for rows in (slice(80), slice(80, 120))
        )
        model = ELMDeepONet(SMALL, random_state=0).fit(train, s[:80], points=x)
        assert model.error_kind_ == "leave-one-out"  # nothing is a near repeat
        return relative_l2(model.predict(test), s[80:])

    assert error(unit) <= 1.05 * error(1.0)


@pytest.mark.numerics
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_sizes_of_1e300(size):
    expected = AutoELMDeepONet(random_state=0, layers=0, time_budget=1e-3).fit(U, S, points=P)
    model = AutoELMDeepONet(random_state=0, layers=0, time_budget=1e-3).fit(U * size, S * size, points=P)
    assert model.expected_error_ == pytest.approx(expected.expected_error_, rel=0.1)
    assert model.is_training_function(U * size).all()
    with np.errstate(over="ignore"):
        low, high = model.interval(NEW * size)
        assert np.mean((low <= TRUE * size) & (TRUE * size <= high)) > 0.7


# Weights


@pytest.mark.numerics
@pytest.mark.parametrize("form", ["plain", "components", "logarithms", "offset", "number"])
@pytest.mark.parametrize("solver", [Ridge(0.01), None])
def test_weight_two_is_there_twice(form, solver):
    rng = np.random.default_rng(0)
    s = S + rng.normal(size=S.shape) * np.where(np.arange(60) % 2, 0.3, 0.01)[:, None]
    y = {
        "plain": s,
        "components": np.stack([s, 1e3 * s**2], axis=-1),
        "logarithms": np.exp(s),
        "offset": s + 1e3,
        "number": s.mean(axis=1),
    }[form]
    where, trunk = (None, None) if form == "number" else (P, POD(5))
    weights = np.where(np.arange(60) % 2, 1, 3)
    again = np.repeat(np.arange(60), weights)

    def model():
        return ELMDeepONet(Linear(), trunk, solver, log_outputs=form == "logarithms")

    counted = model().fit(U, y, points=where, sample_weight=weights)
    repeated = model().fit(U[again], y[again], points=where, groups=again)
    assert relative_l2(counted.predict(NEW), repeated.predict(NEW)) < 1e-7
    assert counted.solution_.alpha == pytest.approx(repeated.solution_.alpha, rel=1e-4)
    assert counted.expected_error_ == pytest.approx(repeated.expected_error_, rel=1e-4)


# Arrays of the caller


@pytest.mark.parametrize("which", range(3))
def test_the_callers_arrays_may_change_after_fit(which):
    x = np.linspace(0, 1, 20)
    rng = np.random.default_rng(0)
    u = rng.normal(size=(40, 4)) @ np.sin(np.outer(np.arange(1, 5), np.pi * x))
    s, new, points = np.cumsum(u, axis=1), u[:5] + 0.5 * u[5:10], x[:, None].copy()
    expected, model = (estimators()[which] for _ in range(2))
    expected.fit(u.copy(), s.copy(), points=points.copy())
    given = u.copy(), s.copy(), points.copy()
    model.fit(given[0], given[1], points=given[2])
    for array in given:
        array[:] = 7
    np.testing.assert_array_equal(model.predict(new), expected.predict(new))
    np.testing.assert_array_equal(model.interval(new, 0.8), expected.interval(new, 0.8))
    np.testing.assert_array_equal(model.novelty(new), expected.novelty(new))
    assert model.is_training_function(u).all()


def test_scattered_values_of_the_caller_may_change_after_fit():
    index, points, values = np.repeat(np.arange(60), 15), np.tile(P, (60, 1)), S.ravel().copy()
    models = [ELMDeepONet(Linear(), Legendre(5)).fit(U, Scattered(index, points, values)) for _ in range(2)]
    expected = models[0].interval(NEW, points=P)
    values[:], points[:] = 7, 7
    np.testing.assert_array_equal(models[1].interval(NEW, points=P), expected)


# Masks


def test_masked_outputs_are_missing():
    masked = np.ma.masked_array(S.copy(), mask=False)
    masked[3, 4] = np.ma.masked
    masked.data[3, 4] = -9999.0
    with pytest.raises(
        InputError, match=r"y holds 1 NaN .* first at index \(3, 4\).* masked.*missing=\"ignore\""
    ):
        ELMDeepONet(Linear()).fit(U, masked, points=P)
    model = ELMDeepONet(Linear(), missing="ignore").fit(U, masked, points=P)
    expected = ELMDeepONet(Linear(), missing="ignore").fit(U, masked.filled(np.nan), points=P)
    np.testing.assert_array_equal(model.predict(NEW), expected.predict(NEW))
    model = ELMDeepONet(Linear(), missing="ignore").fit(U, {"a": masked, "b": S}, points=P)
    assert np.abs(model.predict(U)["a"]).max() < 100
    model = ELMDeepONet(Linear()).fit(U, np.ma.masked_array(S), points=P)  # nothing is masked
    for method in (model.score, model.calibrate):
        with pytest.raises(InputError, match="masked"):
            method(U, masked)
    assert np.isnan(relative_l2(S, masked))
    with pytest.raises(InputError, match="masked"):
        Scattered.of(list(masked), [P] * 60)


def test_masked_inputs_are_refused():
    masked = np.ma.masked_array(U.copy(), mask=False)
    masked[3, 4] = np.ma.masked
    model = ELMDeepONet(Linear())
    for X in (masked, {"u": masked, "v": U}):
        with pytest.raises(
            InputError, match=r"X holds 1 NaN .*\(3, 4\).* none masked: remove these functions"
        ):
            model.fit(X, S, points=P)
    model.fit(np.ma.masked_array(U), S, points=P)
    with pytest.raises(InputError, match="none masked"):
        model.predict(masked)
    with pytest.raises(InputError, match="none masked"):
        model.predict(list(masked))


# Grids, tables, dictionaries


X, Y, PLACES = np.random.default_rng(0).normal(size=(20, 4)), np.eye(20)[:, :5], np.arange(5.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"points": "x"}, r"points must be an array of real numbers, got the text 'x'\."),
        (
            {"points": PLACES.astype("datetime64[h]")},
            r"times to seconds: \(points - points\[0\]\) / np\.timede",
        ),
        ({"points": PLACES, "groups": np.full(20, np.nan)}, r"function 0 has none \(NaN\)\. Give it a label"),
        (
            {"points": PLACES, "sample_weight": -np.ones(20)},
            r"finite number >= 0 .*; got -1 for function 0\.",
        ),
        ({"points": PLACES, "sample_weight": np.zeros(20)}, r"; got zeros only\."),
        ({"points": PLACES, "sample_weight": np.ones(3)}, r"; got the shape \(3,\)\."),
    ],
)
def test_what_is_no_number_or_label(given, message):
    with pytest.raises(InputError, match=message):
        ELMDeepONet(Linear()).fit(X, Y, **given)


def test_messages_are_one_line():
    table = pytest.importorskip("pandas").DataFrame(X, columns=list("aabb"))
    for wrong in ([], table):
        with pytest.raises(InputError) as raised:
            ELMDeepONet(Linear()).fit(wrong, Y, points=PLACES)
        assert "\n" not in str(raised.value)


def test_outputs_without_any_value_are_refused():
    u = np.random.default_rng(0).normal(size=(10, 4))
    with pytest.raises(InputError, match=r"y holds no value: all are NaN\. Check how"):
        ELMDeepONet(missing="ignore").fit(u, np.full((10, 5), np.nan), points=np.arange(5.0))


def test_two_values_at_one_place():
    rng = np.random.default_rng(0)
    u, s, points = rng.normal(size=(20, 4)), rng.normal(size=(20, 5)), np.array([0.0, 1.0, 2.0, 1.0, 3.0])
    with pytest.warns(NumericsWarning, match=r"points 1 and 3 are the same place.*are components"):
        ELMDeepONet(random_state=0).fit(u, s, points=points)
    s[:, 3] = s[:, 1]  # given twice, as at the seams of a mesh
    ELMDeepONet(random_state=0).fit(u, s, points=points)


def test_a_dictionary_for_a_single_input_without_a_name():
    u = np.random.default_rng(0).normal(size=(20, 4))
    model = ELMDeepONet(Linear(), random_state=0).fit(u, u, points=np.arange(4.0))
    with pytest.raises(InputError, match=r"single input without a name: give an array \(N, 4\); .* 'k0'"):
        model.predict({"k0": 0.2})


def test_layers_without_a_grid_are_refused_before_the_search(monkeypatch):
    u = np.random.default_rng(0).normal(size=(20, 12))
    monkeypatch.setattr("elmonet.auto.model.Search", None)
    with pytest.raises(InputError, match="one grid; the outputs are known at 5 points"):
        AutoELMDeepONet(layers=2).fit(u, u[:, :5], points=np.arange(5.0))


def test_points_on_another_grid_than_the_fields_are_refused():
    x, y = np.linspace(0, 1, 8), np.linspace(0, 3, 12)
    fields = np.random.default_rng(0).normal(size=(60, 8, 12))
    turned, right = np.stack(np.meshgrid(x, y), -1), np.stack(np.meshgrid(x, y, indexing="ij"), -1)
    vectors = np.stack([fields, fields], axis=-1)
    for s in (fields, vectors, {"a": fields, "b": fields}, np.moveaxis(vectors, -1, 1)):
        with pytest.raises(InputError, match=r'grid of shape \(12, 8\), but y .* \(.*8, 12.*indexing="ij"'):
            ELMDeepONet(Linear()).fit(U, s, points=turned)
        ELMDeepONet(Linear()).fit(U, s, points=right)
    with pytest.raises(InputError, match=r"grid of shape \(5, 12\).*points of the shape of one field"):
        ELMDeepONet(Linear()).fit(U, fields, points=right[:5])
    ELMDeepONet(Linear()).fit(U, fields.reshape(60, 96), points=right)
    with pytest.raises(InputError, match=r"sensors form a grid of shape \(12, 8\), but X holds fields"):
        ELMDeepONet(Linear()).fit(fields, S, points=P, sensors=turned)
    ELMDeepONet(Linear()).fit(fields, S, points=P, sensors=right)
    ELMDeepONet(Linear()).fit(U, vectors.reshape(60, 96, 2), points=right)


def test_as_many_components_as_points_are_ambiguous():
    s = np.random.default_rng(0).normal(size=(60, 5, 5))
    with pytest.raises(InputError, match="5 components at 5 points: either axis may count them"):
        ELMDeepONet(Linear()).fit(U, s, points=np.arange(5.0))
    named = {str(i): s[:, :, i] for i in range(5)}
    assert ELMDeepONet(Linear()).fit(U, named, points=np.arange(5.0)).outputs_.components == 5


def test_tables_with_names_of_both_kinds_and_rows_in_another_order():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(U).assign(more=U[:, 0])
    model = ELMDeepONet(Linear()).fit(frame, S, points=P)
    expected = ELMDeepONet(Linear()).fit(np.column_stack([U, U[:, 0]]), S, points=P)
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame.to_numpy()))
    with pytest.raises(InputError, match="feature names"):
        model.predict(frame.rename(columns={"more": "other"}))
    for wrong in ("a", pandas.Timestamp("2026-01-01")):
        with pytest.raises(InputError, match=r"real numbers, but these columns do not: 'more' \("):
            ELMDeepONet(Linear()).fit(frame.assign(more=wrong), S, points=P)
    outputs = pandas.DataFrame(S)
    for method in (
        ELMDeepONet(Linear(), points=P).fit,
        model.score,
        ELMDeepONet(Linear(), points=P).partial_fit,
    ):
        with pytest.raises(InputError, match=r"different labels.*y\.loc\[X\.index\]"):
            method(frame, outputs.iloc[::-1])
    by_label = ELMDeepONet(Linear()).fit(frame, outputs.iloc[::-1].loc[frame.index], points=P)
    np.testing.assert_array_equal(by_label.predict(frame), model.predict(frame))


def test_types_that_numpy_does_not_have():
    strange = np.zeros((60, 20), dtype=np.dtype("V2"))
    with pytest.raises(InputError, match=r"dtype \|V2; it must hold real numbers.*astype\(float\)"):
        ELMDeepONet().fit(strange, S, points=P)

    class Tensor:
        dtype = "torch.bfloat16"

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            raise TypeError("Got unsupported ScalarType BFloat16")

    with pytest.raises(InputError, match=r"no type for a tensor of torch.bfloat16.*tensor\.float\(\)"):
        ELMDeepONet().fit(Tensor(), S, points=P)


@pytest.mark.parametrize("which", range(3))
def test_a_dictionary_with_numbers_is_one_case(which):
    x, k = np.linspace(0, 1, 20), np.linspace(1, 2, 40)
    f = np.sin(np.outer(k, x))
    model = estimators()[which].fit({"f": f, "k": k}, f * k[:, None], points=x)
    one, many = {"f": f[3], "k": k[3]}, {"f": f[3:4], "k": k[3:4]}
    np.testing.assert_array_equal(model.predict(one), model.predict(many))
    np.testing.assert_array_equal(model.interval(one, 0.8), model.interval(many, 0.8))
    with pytest.raises(InputError, match=r"'f' must have the shape \(N, 20\), got \(3, 10\)"):
        model.inputs_.rows(model, {"f": f[:3, :10], "k": k[:3]})


@pytest.mark.parametrize("which", range(3))
def test_a_data_set_is_fitted(which):
    data = problems.burgers_steps(n_train=8, n_test=2, n_steps=2, n_points=16)
    model, expected = (estimators()[which] for _ in range(2))
    expected.fit(data.u_train, data.s_train, points=data.points, sensors=data.sensors)
    np.testing.assert_array_equal(model.fit(data).predict(data.u_train), expected.predict(data.u_train))
    with pytest.raises(InputError, match="OperatorData holds outputs, points and sensors"):
        model.fit(data, data.s_train)
    with pytest.raises(InputError, match="requires y"):
        model.fit(data.u_train)


# What cannot be said


def test_nothing_is_promised_from_one_function_or_zeros():
    model = ELMDeepONet(SMALL, random_state=0).fit(U[:1], S[:1], points=P)
    assert model.expected_error_ is None
    assert "not known: there is a single training function" in " ".join(model.summary().split())
    model.fit(U, 0 * S, points=P)
    assert model.expected_error_ is None
    assert "not known: all training outputs are zero" in " ".join(model.summary().split())
    assert not model.predict(NEW).any()


@pytest.mark.numerics
def test_nearly_equal_candidates_are_suggested_once():
    model = ELMDeepONet(Linear()).fit(U, S, points=P)
    pool = np.concatenate([NEW[:5], NEW[:5] * (1 + 1e-9), U[:5] * (1 + 1e-9)])
    assert sorted(model.suggest(pool, n=5)) == list(range(5))
    with pytest.raises(InputError, match=r"only 5 are neither .* nor repeats of others, exactly or nearly"):
        model.suggest(pool, n=6)


def test_the_automatic_choice_centres_components_with_an_offset():
    errors = {}
    for offset in (0.0, 1e5):
        model = AutoELMDeepONet(layers=0, random_state=0).fit(U, {"v": S, "p": S**2 + offset}, points=P)
        errors[offset] = relative_l2(model.predict(NEW)["p"] - offset, TRUE**2)
    assert errors[1e5] < 1.25 * errors[0.0]


@pytest.mark.parametrize("blocks", [False, True])
def test_numbers_side_by_side_each_have_a_unit_of_their_own(blocks, tmp_path):
    """A permeability of 1e-15 beside a modulus of 2e11 in one array was its rounding: 39 %, not 0.2 %."""
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 20)
    a = rng.uniform(-1, 1, (400, 4))
    s = np.sin(2 * x * (1 + 0.3 * a[:, :1])) + a[:, 1:2] * x + np.cos(3 * x + a[:, 2:3]) + a[:, 3:] * x**2
    errors, repeats = [], []
    for unit in (1.0, 2.0**-50):  # a power of two: the same bits
        u = (1 + np.array([0.1, 0.2, 0.2, 0.3]) * a) * [2e11, 0.3, 1e-3, unit]
        u[100:200] = u[:100]  # the same but for the last number
        u[100:200, 3] *= 1.2
        model = ELMDeepONet(random_state=0)
        model = fit_blocks(model, u, s, x) if blocks else model.fit(u, s, points=x)
        errors.append(relative_l2(model.predict(u), s))
        repeats.append(model.error_kind_)
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)
    assert repeats == ["leave-one-out"] * 2
    model.save(tmp_path / "m.elmonet")
    assert load(tmp_path / "m.elmonet").inputs_.numbers


def test_rounding_at_the_boundary_of_a_function_is_no_number():
    x, rng = np.linspace(0, 1, 9), np.random.default_rng(0)
    u = rng.normal(size=(40, 3)) @ np.sin(np.pi * np.arange(1, 4)[:, None] * x)
    model = ELMDeepONet(Linear(), random_state=0).fit(u, u, points=x)
    assert not model.inputs_.numbers
    np.testing.assert_array_equal(model.inputs_.scale.scale[[-1]] > 0.1, [True])  # of the function, not 1e-16


def few_correlated_numbers(units, level):
    """Four numbers of 12 functions, whose neighbours are correlated by chance, and a linear operator."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(17, 4))
    return (level + u) * units, u @ rng.normal(size=(4, 3)), np.arange(3.0)


def test_small_numbers_with_digits_of_their_own_are_no_rounding_of_large_ones():
    """3e-4 +- 3e-7 beside 3e9 +- 3e6, of few functions: neighbours are correlated by chance."""
    u, s, x = few_correlated_numbers([3e-3, 3e-7, 3e5, 3e6], 1e3)
    model = ELMDeepONet(Linear(), solver=Ridge(1e-10)).fit(u[:12], s[:12], points=x)
    assert not model.inputs_.numbers
    assert relative_l2(model.predict(u[12:]), s[12:]) < 1e-8


def test_a_column_that_may_be_rounding_of_others_is_named():
    u, s, x = few_correlated_numbers([1.0, 1e-7, 1e8, 1e9], 0.0)
    with pytest.warns(NumericsWarning, match=r"column 1 of X varies by 2.\de-07 .* by name"):
        ELMDeepONet(Linear(), solver=Ridge(1e-10)).fit(u[:12], s[:12], points=x)
    named = {str(i): column for i, column in enumerate(u.T)}
    model = ELMDeepONet(Linear(), solver=Ridge(1e-10))
    model.fit({k: v[:12] for k, v in named.items()}, s[:12], points=x)
    assert relative_l2(model.predict({k: v[12:] for k, v in named.items()}), s[12:]) < 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_components_far_from_zero_are_found_at_once_or_by_all_functions(seed):
    """With weights, even equal ones, there is no quick look at some functions."""
    draws = np.random.default_rng(seed)
    sizes = 10.0 ** draws.choice([-200, -3, 0, 5, 200], 3)
    parts = draws.normal(draws.choice([0, 2, 4, 1e3], 3)[:, None], 1, (100, 3, 7)) * sizes[:, None]
    parts[draws.integers(100), draws.integers(3)] *= -1
    rows = parts.reshape(100, -1)
    quick, slow = _offsets(rows, None, 3), _offsets(rows, np.ones(100), 3)
    assert (quick is None) == (slow is None)
    if slow is not None:
        np.testing.assert_allclose(quick.shift, slow.shift, rtol=1e-12)
        np.testing.assert_allclose(quick.scale, slow.scale, rtol=1e-12)

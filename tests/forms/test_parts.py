"""Parts of the inputs: what the branch sees, what is refused, which parts are found."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, InputError, load
from elmonet.features import InfiniteWidth, Linear, Several
from elmonet.forms.parts import InputPart, find_parts, spacing
from elmonet.solve import Ridge

RNG = np.random.default_rng(0)
X = np.linspace(0, 1, 20)
N = 60
WAVE = (
    (1 + RNG.random((N, 1))) * np.sin(2 * np.pi * (X + RNG.random((N, 1)))) * 10 ** RNG.uniform(-1, 1, (N, 1))
)
FREQUENCY = 10 ** RNG.uniform(2, 5, N)
INPUTS = {"wave": WAVE, "frequency": FREQUENCY}
OUTPUTS = np.log10(FREQUENCY)[:, None] * np.abs(WAVE).max(axis=1, keepdims=True) * np.ones(5)
PARTS = (
    InputPart("wave", 20, amplitude=True, relevance=(0.5, 2.0)),
    InputPart("frequency", 1, logarithm=True),
)


def by_hand(inputs):
    """The columns that the branch sees of PARTS, written out: standardised, balanced, weighted."""
    size = np.abs(inputs["wave"]).max(axis=1, keepdims=True)
    columns = np.hstack([inputs["wave"] / size, np.log(size), np.log(inputs["frequency"])[:, None]])
    reference = np.hstack(
        [WAVE / np.abs(WAVE).max(axis=1, keepdims=True), np.log(np.abs(WAVE).max(axis=1))[:, None]]
    )
    reference = np.hstack([reference, np.log(FREQUENCY)[:, None]])
    counts = np.array([20] * 20 + [1, 1])
    weights = np.sqrt(22 / (3 * counts)) * np.array([0.5] * 20 + [2.0, 1.0])
    return (columns - reference.mean(axis=0)) / reference.std(axis=0) * weights


def test_the_branch_sees_each_part_in_its_own_way():
    model = ELMDeepONet(Linear(), parts=PARTS).fit(INPUTS, OUTPUTS, points=np.arange(5))
    seen = model._fitted().seen(model.inputs_.trusted_rows(INPUTS))
    np.testing.assert_allclose(seen, by_hand(INPUTS), rtol=1e-10, atol=1e-12)


def test_a_model_with_parts_is_a_model_of_the_transformed_inputs():
    new = {name: part[:7] * 1.1 for name, part in INPUTS.items()}
    how = {"branch": InfiniteWidth("matern52", 0.3), "solver": Ridge(1e-8)}
    model = ELMDeepONet(**how, parts=PARTS).fit(INPUTS, OUTPUTS, points=np.arange(5))
    plain = ELMDeepONet(**how, scale_inputs=False).fit(by_hand(INPUTS), OUTPUTS, points=np.arange(5))
    np.testing.assert_allclose(model.predict(new), plain.predict(by_hand(new)), rtol=1e-6)


def test_a_metric_multiplies_the_inputs():
    L = RNG.normal(size=(22, 3))
    how = {"branch": InfiniteWidth("rbf", 0.3), "solver": Ridge(1e-8)}
    model = ELMDeepONet(**how, parts=PARTS, metric=L).fit(INPUTS, OUTPUTS, points=np.arange(5))
    plain = ELMDeepONet(**how, scale_inputs=False).fit(by_hand(INPUTS) @ L, OUTPUTS, points=np.arange(5))
    np.testing.assert_allclose(model.predict(INPUTS), plain.predict(by_hand(INPUTS) @ L), rtol=1e-6)


def test_a_part_without_relevance_is_not_seen():
    parts = (PARTS[0], InputPart("frequency", 1, relevance=(0.0,)))
    model = ELMDeepONet(parts=parts, random_state=0).fit(INPUTS, OUTPUTS, points=np.arange(5))
    other = INPUTS | {"frequency": FREQUENCY * 3}
    np.testing.assert_array_equal(model.predict(other), model.predict(INPUTS))


def test_angles_have_no_jump():
    part = InputPart("direction", 1, period=360.0)
    np.testing.assert_allclose(part.seen(np.array([[0.0], [360.0]])), [[1, 0], [1, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("low", "high", "period"),
    [(0, 2 * np.pi, 2 * np.pi), (-180, 180, 360.0), (0, 23, 24.0), (1, 366, 365.25), (0, 180, 180.0)],
)
def test_numbers_that_fill_a_turn_may_be_angles(low, high, period):
    def periods(values):
        return [part.period for part in InputPart("a", 1).alternatives(values) if part.period]

    values = np.linspace(low, high, 50)[:, None]
    assert periods(values) == [period]
    assert periods(values * 0.35) == []
    assert periods(values * 1.2) == []


def test_a_function_that_is_zero_has_a_shape():
    assert np.isfinite(PARTS[0].seen(np.zeros((1, 20)))).all()


def test_files_keep_parts_and_metric(tmp_path):
    L = np.eye(22)[:, :20]
    model = ELMDeepONet(parts=PARTS, metric=L, random_state=0).fit(INPUTS, OUTPUTS, points=np.arange(5))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(INPUTS), model.predict(INPUTS))
    assert loaded.inputs_.parts == PARTS
    assert loaded.parts == PARTS
    again = ELMDeepONet(**{**loaded.get_params(deep=False), "random_state": 0})
    assert again.fit(INPUTS, OUTPUTS, points=np.arange(5)).inputs_.parts == PARTS


def test_in_blocks_as_in_memory():
    whole = ELMDeepONet(Linear(), parts=PARTS, solver=Ridge(1e-8)).fit(INPUTS, OUTPUTS, points=np.arange(5))
    blocks = ELMDeepONet(Linear(), parts=PARTS, solver=Ridge(1e-8))
    blocks.partial_fit(INPUTS, OUTPUTS, points=np.arange(5))
    np.testing.assert_allclose(blocks.predict(INPUTS), whole.predict(INPUTS), rtol=1e-7)


def test_logarithms_by_name():
    both = {"wave": np.abs(WAVE) + 1, "frequency": FREQUENCY}
    model = ELMDeepONet(Linear(), log_inputs={"frequency": True}).fit(both, OUTPUTS, points=np.arange(5))
    hand = ELMDeepONet(Linear()).fit(both | {"frequency": np.log(FREQUENCY)}, OUTPUTS, points=np.arange(5))
    np.testing.assert_allclose(model.predict(both), hand.predict(both | {"frequency": np.log(FREQUENCY)}))
    auto = AutoELMDeepONet(layers=0, log_inputs={"frequency": True}, random_state=0)
    auto.fit(both, OUTPUTS, points=np.arange(5))
    assert auto.inputs_.parts[-1].logarithm


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log_inputs": {"speed": True}}, "log_inputs names the input 'speed', but the inputs are 'wave'"),
        ({"parts": (InputPart("wave", 19),)}, "must cover the 21 values"),
        ({"parts": ("wave", "frequency")}, "must be InputPart objects"),
        ({"parts": PARTS, "log_inputs": True}, "both given"),
        ({"parts": (InputPart("wave", 20, logarithm=True), PARTS[1])}, "logarithms of the input 'wave'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ELMDeepONet(**settings).fit(INPUTS, OUTPUTS, points=np.arange(5))


def test_maps_of_several_inputs_see_them_as_they_are():
    branch = Several({"wave": Linear(), "frequency": Linear()})
    for wrong in ({"parts": PARTS}, {"metric": np.eye(21)}):
        with pytest.raises(InputError, match="Several has a map for each input function"):
            ELMDeepONet(branch, **wrong).fit(INPUTS, OUTPUTS, points=np.arange(5))
    ELMDeepONet(branch, log_inputs={"frequency": True}).fit(INPUTS, OUTPUTS, points=np.arange(5))


@pytest.mark.parametrize("wrong", [np.eye(5), np.ones(22), np.full((22, 2), np.nan)])
def test_a_metric_has_a_row_for_each_column(wrong):
    with pytest.raises(InputError, match=r"metric must be a matrix \(22, r\) of finite numbers"):
        ELMDeepONet(parts=PARTS, metric=wrong).fit(INPUTS, OUTPUTS, points=np.arange(5))


def test_one_relevance_is_a_number():
    assert InputPart("k", 1, relevance=3.0).relevance == (3.0,)


def test_a_single_array_has_no_names():
    with pytest.raises(InputError, match="a single array without a name"):
        ELMDeepONet(log_inputs={"k": True}).fit(WAVE, OUTPUTS, points=np.arange(5))


@pytest.mark.parametrize(
    "wrong",
    [{"logarithm": True, "amplitude": True}, {"relevance": (1.0, 2.0)}, {"relevance": (-1.0,)}],
)
def test_wrong_parts_are_refused(wrong):
    with pytest.raises(InputError, match="'k'"):
        InputPart("k", 3, **wrong)


def sizes(X, names=None, shapes=None, columns=None):
    return [part.size for part in find_parts(X, names, shapes, columns)]


def test_parts_that_are_found():
    numbers, smooth = RNG.random((50, 3)), np.sin(X * 3 + RNG.random((50, 1))) * RNG.random((50, 1))
    assert sizes(numbers) == [1, 1, 1]
    assert sizes(smooth) == [20]
    assert sizes(np.hstack([smooth, 1e5 * numbers[:, :2]])) == [20, 1, 1]
    assert sizes(np.hstack([numbers[:, :1], smooth])) == [1, 20]
    assert sizes(np.hstack([smooth, np.zeros((50, 1))])) == [20 + 1]  # a boundary value
    assert sizes(RNG.random((50, 40))) == [40]  # noise at many sensors
    assert sizes(np.hstack([smooth[RNG.permutation(50)] for _ in range(4)])) == [80]  # rows of an image
    assert sizes(numbers[:5]) == [3]  # too few functions to tell
    assert sizes(RNG.random((50, 4, 4))) == [16]
    named = find_parts(np.hstack([smooth, numbers]), ["f", "k"], [(20,), (3,)])
    assert [part.name for part in named] == ["f", "k[0]", "k[1]", "k[2]"]
    assert [part.name for part in find_parts(numbers, None, None, ["a", "b", "c"])] == ["a", "b", "c"]


def test_levels_of_a_design():
    assert spacing(np.array([1.0, 1.0, 3.0, 5.0])) == 2.0
    assert spacing(np.ones(4)) == np.inf

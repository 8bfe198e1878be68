"""Every shape in which users have their data, against known answers."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, InputError, Linear, Ridge, load, problems, relative_l2
from elmonet.data import Scattered
from elmonet.features import POD, SLFN, Legendre, Masked, Several, Sinusoid

pytestmark = pytest.mark.numerics

x = np.linspace(0, 1, 30)


@pytest.fixture(scope="module")
def data():
    return problems.nonlinear_ode(n_train=300, n_test=60, n_points=40)


def model(**settings):
    return ELMDeepONet(Linear() + SLFN(300, "tanh", 0.5), random_state=0, **settings)


def saved(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return load(tmp_path / "model")


# Components -------------------------------------------------------------------------------------------------


def test_components_are_as_good_as_a_model_for_each(data, tmp_path):
    """Two outputs in very different units; alpha given, so that the fits are the same."""
    both = np.stack([data.s_train, 1e5 * data.s_train**2], axis=-1)
    solver = Ridge(1e-6)
    fitted = model(solver=solver).fit(data.u_train, both, points=data.points)
    predicted = fitted.predict(data.u_test)
    assert predicted.shape == (60, 40, 2)
    for i in range(2):
        alone = model(solver=solver).fit(data.u_train, both[..., i], points=data.points)
        assert relative_l2(predicted[..., i], alone.predict(data.u_test)) < 1e-8
        elsewhere = fitted.predict(data.u_test, points=[[0.33], [0.71]])
        assert elsewhere.shape == (60, 2, 2)
        assert relative_l2(elsewhere[..., i], alone.predict(data.u_test, points=[[0.33], [0.71]])) < 1e-8
    np.testing.assert_array_equal(saved(fitted, tmp_path).predict(data.u_test), predicted)


def test_components_come_back_as_they_came(data, tmp_path):
    first, second = data.s_train, data.s_train**2
    last = model().fit(data.u_train, np.stack([first, second], axis=-1), points=data.points)
    channels = model().fit(data.u_train, np.stack([first, second], axis=1), points=data.points)
    named = model().fit(data.u_train, {"s": first, "squared": second}, points=data.points)
    expected = last.predict(data.u_test)
    np.testing.assert_allclose(channels.predict(data.u_test), np.moveaxis(expected, -1, 1), atol=1e-9)
    for fitted in (named, saved(named, tmp_path)):
        predicted = fitted.predict(data.u_test)
        assert list(predicted) == ["s", "squared"]
        np.testing.assert_allclose(predicted["squared"], expected[..., 1], atol=1e-9)
    assert named.score(data.u_test, {"s": data.s_test, "squared": data.s_test**2}) > 0.99
    with pytest.raises(InputError, match="same shape"):
        model().fit(data.u_train, {"a": first, "b": second[:, :3]}, points=data.points)
    with pytest.raises(InputError, match="does not fit 39 points"):
        model().fit(data.u_train, np.stack([first, second], axis=-1), points=data.points[1:])


def test_components_in_batches(data):
    both = np.stack([data.s_train, data.s_train**2], axis=-1)
    whole = model(solver=Ridge(1e-5), scale_inputs=False).fit(data.u_train, both, points=data.points)
    part = model(solver=Ridge(1e-5), scale_inputs=False)
    part.partial_fit(data.u_train[:150], both[:150], points=data.points)
    part.partial_fit(data.u_train[150:], both[150:])
    assert relative_l2(part.predict(data.u_test), whole.predict(data.u_test)) < 1e-6


# Grids ------------------------------------------------------------------------------------------------------


def test_fields_come_back_on_their_grid(tmp_path):
    darcy = problems.darcy(60, 20, n_sensors=12, n_points=16)
    side = round(len(darcy.points) ** 0.5)
    field = darcy.s_train.reshape(60, side, side)
    flat = model().fit(darcy.u_train, darcy.s_train, points=darcy.points)
    for points in (darcy.points, darcy.points.reshape(side, side, 2)):
        fitted = model().fit(darcy.u_train, field, points=points)
        predicted = fitted.predict(darcy.u_test)
        assert predicted.shape == (20, side, side)
        np.testing.assert_allclose(predicted.reshape(20, -1), flat.predict(darcy.u_test), rtol=1e-10)
    grid = np.stack(np.meshgrid([0.2, 0.5], [0.1, 0.4, 0.9], indexing="ij"), axis=-1)
    there = saved(fitted, tmp_path).predict(darcy.u_test, points=grid)
    assert there.shape == (20, 2, 3)
    np.testing.assert_allclose(there[:, 1, 2], fitted.predict(darcy.u_test, points=[[0.5, 0.9]])[:, 0])


def test_fields_on_the_grid_of_the_inputs_need_no_points():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(50, 6, 5))
    fitted = ELMDeepONet(Linear()).fit(u, 2 * u)
    np.testing.assert_allclose(fitted.predict(u), 2 * u, atol=1e-9)
    np.testing.assert_array_equal(fitted.points_[[0, -1]], [[0, 0], [1, 1]])
    channels = ELMDeepONet(Linear()).fit(u.reshape(50, 1, 6, 5), 2 * u)
    np.testing.assert_allclose(channels.predict(u.reshape(50, 1, 6, 5)), 2 * u, atol=1e-9)


# Several inputs ---------------------------------------------------------------------------------------------


def two_inputs(n, seed):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n, 4)) @ np.sin(np.outer(np.arange(1, 5), x))
    k = rng.uniform(0.5, 2, n)
    return {"f": f, "k": k}, f.cumsum(axis=1) / len(x) / k[:, None]


@pytest.mark.parametrize("combine", ["concat", "product", None])
def test_several_inputs(combine, tmp_path):
    X, y = two_inputs(400, 0)
    branch = Linear() + SLFN(600, "tanh", 0.5)
    if combine:
        branch = Several({"f": Linear() + SLFN(69, "tanh", 0.3), "k": SLFN(100, "tanh", 2.0)}, combine)
    fitted = ELMDeepONet(branch, random_state=0).fit(X, y, points=x)
    new, truth = two_inputs(50, 1)
    predicted = fitted.predict(new)
    # The operator is a product, f times 1 / k: features side by side cannot give it, products can.
    limit = {"product": 5e-3, "concat": 1.0, None: 2e-2}[combine]
    assert relative_l2(predicted, truth) < limit
    if combine == "concat":
        assert relative_l2(predicted, truth) > 0.1
    np.testing.assert_array_equal(saved(fitted, tmp_path).predict(new), predicted)


def test_several_inputs_in_a_list_and_refusals():
    X, y = two_inputs(60, 0)
    parts = [X["f"], X["k"][:, None]]
    by_name = model().fit(X, y, points=x).predict(X)
    np.testing.assert_allclose(model().fit(parts, y, points=x).predict(parts), by_name, rtol=1e-10)
    fitted = model().fit(X, y, points=x)
    with pytest.raises(InputError, match="2 input functions: give a dictionary with 'f'"):
        fitted.predict(X["f"])
    with pytest.raises(InputError, match="same number of rows"):
        fitted.predict({"f": X["f"], "k": X["k"][:3]})
    with pytest.raises(InputError, match="the input 'f' must have the shape"):
        fitted.predict({"f": X["f"][:, :3], "k": X["k"]})
    with pytest.raises(InputError, match="maps for the inputs f, q"):
        ELMDeepONet(Several({"f": SLFN(9), "q": SLFN(9)})).fit(X, y, points=x)
    with pytest.raises(InputError, match="same width"):
        ELMDeepONet(Several({"f": SLFN(9), "k": SLFN(8)}, "product")).fit(X, y, points=x)


def test_a_list_of_images_is_not_a_list_of_inputs():
    images = list(np.random.default_rng(0).normal(size=(20, 4, 5)))
    y = np.array([image.ravel() for image in images])
    points = np.linspace(0, 1, 20)
    fitted = ELMDeepONet(Linear()).fit(images, y, points=points)
    assert fitted.input_shape_ == (4, 5)
    two = [y, y[:, ::-1]]  # two inputs of the same shape
    assert ELMDeepONet(Linear()).fit(two, y, points=points).input_shape_ == (40,)


def test_different_sensors_are_refused_with_a_way_out():
    ragged = [np.ones(5), np.ones(7)]
    with pytest.raises(InputError, match=r"5 to 7.*elmonet\.resample"):
        ELMDeepONet().fit(ragged, np.ones((2, 3)), points=[0, 0.5, 1])


# Scattered outputs ------------------------------------------------------------------------------------------


def test_aligned_data_as_triples_give_the_same_W(data):
    """Must be within 1e-6; also as lists."""
    for trunk in (Legendre(9), Sinusoid(12, "cosine")):
        settings = {"trunk": trunk, "solver": Ridge(1e-4)}
        aligned = model(**settings).fit(data.u_train, data.s_train, points=data.points)
        N, M = data.s_train.shape
        triples = Scattered(np.repeat(np.arange(N), M), np.tile(data.points, (N, 1)), data.s_train.ravel())
        shuffled = np.random.default_rng(0).permutation(N * M)
        mixed = Scattered(triples.index[shuffled], triples.points[shuffled], triples.values[shuffled])
        as_lists = list(data.s_train), [data.points] * N
        in_1d = list(data.s_train), [data.points[:, 0]] * N
        for fitted in (
            model(**settings).fit(data.u_train, triples),
            model(**settings).fit(data.u_train, mixed),
            model(**settings).fit(data.u_train, as_lists[0], points=as_lists[1]),
            model(**settings).fit(data.u_train, in_1d[0], points=in_1d[1]),
            model(**settings).fit(data.u_train, data.s_train, points=np.tile(data.points, (N, 1, 1))),
        ):
            assert np.linalg.norm(fitted.W_ - aligned.W_) < 1e-6 * np.linalg.norm(aligned.W_)
            assert fitted.solution_.alpha == 1e-4


def scattered_ode(n, seed, components=False):
    """u = a sin(x) + b x, s = (a^2 + b) cos(x) + a x y at random places, 12 for each function."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    u = a[:, None] * np.sin(3 * x) + b[:, None] * x
    index = np.repeat(np.arange(n), 12)
    y = rng.random((12 * n, 2))
    s = (a**2 + b)[index] * np.cos(y[:, 0]) + a[index] * y[:, 0] * y[:, 1]
    if components:
        s = np.stack([s, 1e3 * s**2], axis=1)
    return u, Scattered(index, y, s)


def test_scattered_outputs(tmp_path):
    u, s = scattered_ode(250, 0)
    fitted = model().fit(u, s)
    new, truth = scattered_ode(50, 1)
    predicted = fitted.predict(new, points=truth)
    error = np.linalg.norm(predicted - truth.values) / np.linalg.norm(truth.values)
    assert error < 0.02
    assert 0.2 < fitted.solution_.expected_error / error < 5
    assert fitted.solution_.method == "lsmr"
    again = saved(fitted, tmp_path)
    np.testing.assert_array_equal(again.predict(new, points=truth), predicted)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    assert again.predict(new, points=grid).shape == (50, 30, 30)
    one = again.predict(new[:3], points=[truth.points[:2], truth.points[:3], truth.points[:1]])
    assert [len(values) for values in one] == [2, 3, 1]
    np.testing.assert_allclose(one[1], again.predict(new[1:2], points=truth.points[:3])[0])


def test_scattered_components():
    u, s = scattered_ode(200, 0, components=True)
    fitted = model().fit(u, s)
    new, truth = scattered_ode(50, 1, components=True)
    predicted = fitted.predict(new, points=truth)
    assert predicted.shape == truth.values.shape
    for i in range(2):
        assert np.linalg.norm((predicted - truth.values)[:, i]) < 0.15 * np.linalg.norm(truth.values[:, i])
    assert fitted.predict(new, points=truth.points[:5]).shape == (50, 5, 2)


def test_scattered_refusals():
    u, s = scattered_ode(30, 0)
    fitted = model(trunk=Legendre(3)).fit(u, s)
    with pytest.raises(InputError, match="give the points of the prediction"):
        fitted.predict(u)
    with pytest.raises(InputError, match="index names function 29, but X holds 10"):
        model().fit(u[:10], s)
    with pytest.raises(InputError, match="POD needs outputs at common points"):
        model(trunk=POD()).fit(u, s)
    with pytest.raises(InputError, match="holds its own points"):
        model().fit(u, s, points=s.points)
    with pytest.raises(InputError, match="log_outputs"):
        model(log_outputs=True).fit(u, s)
    three = fitted.predict(u[:2], points=[s.points[:3], s.points[:3]])
    assert np.shape(three) == (2, 3)
    ragged = {"a": [[1.0], [1.0, 2.0]]}
    with pytest.raises(InputError, match="one Scattered with values"):
        model().fit(u[:2], ragged, points=[np.zeros((1, 2)), np.zeros((2, 2))])
    plain_lists = model(trunk=Legendre(1)).fit(
        u[:3], [[1.0], [1.0, 2.0], [0.5]], points=[[0.1], [0.2, 0.6], [1.0]]
    )
    assert [len(v) for v in plain_lists.predict(u[:2], points=[np.zeros(2), np.ones(2)])] == [2, 2]
    with pytest.raises(InputError, match="function 1 has 3 values and 2 points"):
        model().fit(u[:2], [[1.0], [1.0, 2.0, 3.0]], points=[np.zeros((1, 2)), np.zeros((2, 2))])


# Missing values ---------------------------------------------------------------------------------------------


def test_missing_values_are_left_out(data):
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(data.s_train.shape) < 0.4, np.nan, data.s_train)
    with pytest.raises(InputError, match='missing="ignore"'):
        model().fit(data.u_train, gaps, points=data.points)
    whole = model().fit(data.u_train, data.s_train, points=data.points)
    fitted = model(missing="ignore").fit(data.u_train, gaps, points=data.points)
    best, ours = (relative_l2(m.predict(data.u_test), data.s_test) for m in (whole, fitted))
    assert ours < 4 * best
    assert 0.3 < fitted.solution_.expected_error / ours < 3
    full = model(missing="ignore").fit(data.u_train, data.s_train, points=data.points)
    np.testing.assert_array_equal(full.W_, whole.W_)


def test_missing_values_agree_with_triples(data):
    """The same values, given in two ways, with the same trunk and alpha."""
    rng = np.random.default_rng(1)
    known = rng.random(data.s_train.shape) < 0.7
    settings = {"trunk": Legendre(7), "solver": Ridge(1e-3)}
    gaps = model(missing="ignore", **settings).fit(
        data.u_train, np.where(known, data.s_train, np.nan), points=data.points
    )
    function, place = np.nonzero(known)
    triples = Scattered(function, data.points[place], data.s_train[known])
    scattered = model(**settings).fit(data.u_train, triples)
    there = {"points": data.points}
    assert relative_l2(gaps.predict(data.u_test, **there), scattered.predict(data.u_test, **there)) < 0.02


@pytest.mark.parametrize("missing", ["raise", "ignore"])
def test_a_point_without_any_value_is_a_hole(data, missing):
    gaps = data.s_train.copy()
    gaps[:, 7] = np.nan
    others = np.arange(len(data.points)) != 7
    fitted = model(missing=missing).fit(data.u_train, gaps, points=data.points)
    alone = model().fit(data.u_train, data.s_train[:, others], points=data.points[others])
    found = fitted.predict(data.u_test)
    assert np.isnan(found[:, 7]).all()
    np.testing.assert_allclose(found[:, others], alone.predict(data.u_test), rtol=0, atol=1e-9)
    assert "40" in fitted.outputs_.describe()
    with pytest.raises(InputError, match="missing"):  # another gap is no hole
        model().fit(data.u_train, np.where(np.arange(gaps.size).reshape(gaps.shape) == 3, np.nan, gaps))


# Weights ----------------------------------------------------------------------------------------------------


def test_a_weight_is_a_repetition(data):
    u, s = data.u_train[:80], data.s_train[:80]
    times = np.random.default_rng(0).integers(0, 4, 80)
    settings = {"solver": Ridge(1e-3), "scale_inputs": False}
    weighted = model(**settings).fit(u, s, points=data.points, sample_weight=times)
    repeated = model(**settings).fit(np.repeat(u, times, 0), np.repeat(s, times, 0), points=data.points)
    assert relative_l2(weighted.predict(data.u_test), repeated.predict(data.u_test)) < 1e-9
    scattered = Scattered(np.repeat(np.arange(80), 40), np.tile(data.points, (80, 1)), s.ravel())
    settings["trunk"] = Legendre(6)
    aligned = model(**settings).fit(u, s, points=data.points, sample_weight=times)
    triples = model(**settings).fit(u, scattered, sample_weight=times)
    there = {"points": data.points}
    kept = relative_l2(triples.predict(data.u_test, **there), aligned.predict(data.u_test, **there))
    assert kept < 0.02  # alike, but the penalty counts all functions there, and these with a weight here
    with pytest.raises(InputError, match="sample_weight must hold"):
        model().fit(u, s, points=data.points, sample_weight=-times)


# Hard constraints -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trunk", [POD(), Sinusoid(60, "cosine"), Legendre(9)])
def test_zero_on_the_boundary(trunk, tmp_path):
    """Of Darcy's pressure, exactly, at points that are not of the training."""
    darcy = problems.darcy(100, 20, n_sensors=12, n_points=16)
    fitted = model(trunk=trunk.zero_on_boundary()).fit(darcy.u_train, darcy.s_train, points=darcy.points)
    fitted = saved(fitted, tmp_path)
    along = np.random.default_rng(0).random(25)
    low, high = darcy.points.min(axis=0), darcy.points.max(axis=0)
    for axis in range(2):
        for end in (low, high):
            points = np.column_stack([along, along])
            points[:, axis] = end[axis]
            assert not fitted.predict(darcy.u_test, points=points).any()
    free = model().fit(darcy.u_train, darcy.s_train, points=darcy.points)
    error, of_free = (relative_l2(m.predict(darcy.u_test), darcy.s_test) for m in (fitted, free))
    assert error < 1.5 * of_free


def test_known_initial_values(data):
    """s(0) = 1 exactly, by a trunk that vanishes at 0 and a lift."""
    y = data.s_train + 1
    fitted = model(
        trunk=Legendre(12).zero_on_boundary([(0, "low")]), lift=lambda points: np.ones(len(points))
    ).fit(data.u_train, y, points=data.points)
    np.testing.assert_array_equal(fitted.predict(data.u_test, points=[[0.0]]), 1)
    assert relative_l2(fitted.predict(data.u_test), data.s_test + 1) < 0.01
    with pytest.raises(InputError, match="lift is your own function"):
        fitted.save("nowhere")


def test_values_that_depend_on_the_input():
    """s(x, 0) = u(x): the lift is u itself."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(80, 3))
    modes = np.sin(np.pi * np.outer(np.arange(1, 4), x))
    grid = np.stack(np.meshgrid(x, np.linspace(0, 1, 8), indexing="ij"), axis=-1)
    decay = np.exp(-np.outer(np.arange(1, 4) ** 2, np.linspace(0, 1, 8)))
    u, s = a @ modes, np.einsum("nk,kx,kt->nxt", a, modes, decay)

    def initial(X, points):
        return np.stack([np.interp(points[:, 0], x, row) for row in X])

    trunk = Legendre(10).zero_on_boundary([(1, "low")])
    fitted = ELMDeepONet(Linear(), trunk, lift=initial).fit(u, s, points=grid)
    start = np.column_stack([x, np.zeros_like(x)])
    np.testing.assert_array_equal(fitted.predict(u, points=start), u)
    assert relative_l2(fitted.predict(u), s) < 0.02


def test_a_mask_of_ones_own():
    """A disc: outputs vanish on the circle."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (300, 2))
    points = points[(points**2).sum(axis=1) < 1]
    a = rng.normal(size=(60, 2))
    inside = 1 - (points**2).sum(axis=1)
    y = inside * (a[:, :1] + a[:, 1:] * points[:, 0])
    trunk = Masked(Legendre(2), lambda p: 1 - (p**2).sum(axis=1))
    fitted = ELMDeepONet(Linear(), trunk).fit(a, y, points=points)
    assert relative_l2(fitted.predict(a), y) < 1e-8
    np.testing.assert_allclose(fitted.predict(a, points=[[0.6, 0.8], [0.8, -0.6]]), 0, atol=1e-12)
    with pytest.raises(InputError, match="cannot hold your own mask function"):
        fitted.save("nowhere")
    with pytest.raises(InputError, match="pairs of a coordinate"):
        ELMDeepONet(Linear(), Legendre(2).zero_on_boundary([(2, "low")])).fit(a, y, points=points)
    with pytest.raises(InputError, match="one finite number per point"):
        ELMDeepONet(Linear(), Masked(Legendre(2), lambda p: 1.0)).fit(a, y, points=points)


# Other arrays -----------------------------------------------------------------------------------------------


def test_tensors_and_frames(data):
    torch = pytest.importorskip("torch")
    pd = pytest.importorskip("pandas")
    expected = model().fit(data.u_train, data.s_train, points=data.points).predict(data.u_test)
    as_tensors = [torch.from_numpy(A.copy()) for A in (data.u_train, data.s_train, data.points)]
    as_tensors[0].requires_grad_()
    fitted = model().fit(*as_tensors)
    np.testing.assert_allclose(fitted.predict(torch.from_numpy(data.u_test.copy())), expected, atol=1e-9)
    frames = [pd.DataFrame(A) for A in (data.u_train, data.s_train, data.points)]
    np.testing.assert_allclose(model().fit(*frames).predict(data.u_test), expected, atol=1e-9)

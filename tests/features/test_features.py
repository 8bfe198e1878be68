"""Feature maps against their formulas, written out independently."""

import numpy as np
import pytest
from scipy.signal import correlate2d
from scipy.special import erf
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from elmonet import CNN, MLP, POD, SLFN, Concat, ExtrapolationWarning, InputError, Linear, Sinusoid
from elmonet.features import networks as dense
from elmonet.features.base import features_times

rng = np.random.default_rng(0)
X = rng.normal(size=(7, 12))

FORMULAS = {
    "relu": lambda z: z * (z > 0),
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "gelu": lambda z: z * (1 + erf(z / np.sqrt(2))) / 2,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "softplus": lambda z: np.log(1 + np.exp(z)),
}

# Objects hold anything; most often ragged functions. They are refused with a message instead of cast.
NOT_OBJECTS = {"check_dtype_object": "arrays of objects are refused, see checks._numeric"}


@parametrize_with_checks(
    [
        SLFN(20),
        MLP(20),
        Linear(),
        Sinusoid(8, basis="tensor"),
        POD(),
        Linear() + SLFN(5, random_state=0),
    ],
    expected_failed_checks=lambda estimator: NOT_OBJECTS,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


@pytest.mark.parametrize("activation", FORMULAS)
def test_slfn_is_one_layer(activation):
    slfn = SLFN(9, activation, 0.7, random_state=3).fit(X)
    A, b = slfn.weights_[0][:, :-1], slfn.weights_[0][:, -1]
    np.testing.assert_allclose(slfn.transform(X), FORMULAS[activation](X @ A.T + b), atol=1e-14)


def test_large_arrays_are_activated_in_threads_alike():
    big = rng.normal(size=(3000, 12))
    slfn = SLFN(200, "gelu", random_state=0).fit(big)
    np.testing.assert_allclose(slfn.transform(big)[-5:], slfn.transform(big[-5:]), atol=1e-14)


def test_default_weights_are_pytorchs():
    A = SLFN(4000, random_state=0).fit(X).weights_[0] * np.sqrt(12)
    assert A.min() < -0.999
    assert A.max() > 0.999
    assert np.abs(A).max() <= 1
    assert A.std() == pytest.approx(1 / np.sqrt(3), rel=0.01)
    first, second, third = (a * np.sqrt(a.shape[1] - 1) for a in MLP(50, random_state=0).fit(X).weights_)
    assert first.shape == (50, 13)
    assert second.shape == third.shape == (50, 51)
    assert all(0.95 < np.abs(a).max() <= 1 for a in (first, second, third))


def test_scale_distribution_and_bias():
    A = SLFN(5000, "cos", 0.1, distribution="normal", random_state=0).fit(X).weights_[0]
    assert A[:, :-1].std() == pytest.approx(0.1 / np.sqrt(12), rel=0.02)
    assert np.abs(A[:, -1]).max() == pytest.approx(np.pi, rel=0.01)
    A = SLFN(5000, "tanh", bias=0.2, random_state=0).fit(X).weights_[0]
    assert np.abs(A[:, -1]).max() == pytest.approx(0.2, rel=0.01)


def test_mlp_is_layers_of_slfn():
    mlp = MLP(6, depth=2, hidden=5, activation="tanh", random_state=0).fit(X)
    H = np.tanh(X @ mlp.weights_[0][:, :-1].T + mlp.weights_[0][:, -1])
    expected = np.tanh(H @ mlp.weights_[1][:, :-1].T + mlp.weights_[1][:, -1])
    np.testing.assert_allclose(mlp.transform(X), expected, atol=1e-14)


@pytest.mark.parametrize(("stride", "size"), [(1, (5, 6)), (2, (7, 8))])
def test_cnn_convolves(stride, size):
    images = rng.normal(size=(3, 2, *size))
    cnn = CNN(4, channels=(3,), stride=stride, hidden=5, activation="tanh", random_state=0)
    cnn.fit(images)
    A, dense1, dense2 = cnn.weights_
    kernels = A[:, :-1].reshape(3, 2, 3, 3)
    maps = np.array(
        [
            [
                sum(correlate2d(image[c], k[c], mode="same") for c in range(2))[::stride, ::stride] + bias
                for k, bias in zip(kernels, A[:, -1], strict=True)
            ]
            for image in images
        ]
    )
    H = np.tanh(maps).transpose(0, 2, 3, 1).reshape(3, -1)
    for D in (dense1, dense2):
        H = np.tanh(H @ D[:, :-1].T + D[:, -1])
    np.testing.assert_allclose(cnn.transform(images), H, atol=1e-13)


def test_cnn_takes_flat_images_with_a_shape():
    images = rng.normal(size=(3, 6, 8))
    plain = CNN(4, channels=(2,), random_state=0).fit(images).transform(images)
    flat = images.reshape(3, -1)
    shaped = CNN(4, channels=(2,), shape=(6, 8), random_state=0).fit(flat).transform(flat)
    np.testing.assert_array_equal(plain, shaped)


def test_linear():
    np.testing.assert_array_equal(Linear().fit_transform(X), np.hstack([X, np.ones((7, 1))]))
    assert Linear().fit_transform(X.reshape(7, 3, 4)).shape == (7, 13)


def test_printed_sinusoids():
    y = np.linspace(0, 1, 100)[:, None]
    T = Sinusoid(100).fit_transform(y)
    k = np.arange(1, 51)
    expected = np.hstack([np.sin(32 * k * np.pi / 200 * y), np.cos(32 * k * np.pi / 200 * y)])
    np.testing.assert_allclose(T, expected, atol=1e-14)
    assert np.linalg.matrix_rank(T) in (26, 27)  # frequencies up to 8 pi only

    P = rng.uniform(size=(60, 2))
    T = Sinusoid(40).fit_transform(P)
    n, (x, y) = np.arange(1, 11) * np.pi, P.T[:, :, None]
    families = [
        np.sin(n * x) * np.sin(n * y),
        np.sin(n * x) * np.cos(n * y + np.pi / 2),
        np.cos(n * x + np.pi / 2) * np.sin(n * y),
        np.cos(n * x + np.pi / 2) * np.cos(n * y + np.pi / 2),
    ]
    np.testing.assert_allclose(T, np.hstack(families), atol=1e-14)
    assert np.linalg.matrix_rank(T) == 10  # the four families are one


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("basis", "function"), [("tensor", np.sin), ("cosine", np.cos)])
def test_tensor_bases_are_complete_and_orthogonal(d, basis, function):
    midpoints = (np.arange(12) + 0.5) / 12
    P = np.stack(np.meshgrid(*[midpoints] * d), axis=-1).reshape(-1, d)
    T = Sinusoid(11, basis=basis).fit_transform(P)
    gram = T.T @ T
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-9)
    # The first functions are those of the lowest frequencies, here by brute force.
    least = 1 if basis == "tensor" else 0
    n = np.stack(np.meshgrid(*[np.arange(least, 13)] * d), axis=-1).reshape(-1, d)
    lowest = np.sort((n**2).sum(axis=1))[:11]
    frequencies = Sinusoid(11, basis=basis).fit(P).frequencies_ / np.pi
    np.testing.assert_allclose((frequencies**2).sum(axis=1), lowest)
    np.testing.assert_allclose(T[:, 3], function(P * frequencies[3] * np.pi).prod(axis=1))


def test_pod_is_the_best_orthonormal_basis():
    G = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 40))
    points = np.linspace(0, 1, 30)[:, None]
    for values in (G, G[:, :20]):  # wide and tall
        pod = POD().fit(points, values)
        Z = pod.transform(points)
        assert Z.shape == (30, 5)
        np.testing.assert_allclose(Z.T @ Z, np.eye(5), atol=1e-13)
        np.testing.assert_allclose(Z @ (Z.T @ values), values, atol=1e-12)
    s = np.linalg.svd(G, compute_uv=False)
    Z = POD(rank=2).fit(points, G).transform(points)
    assert np.linalg.norm(G - Z @ (Z.T @ G)) ** 2 == pytest.approx(np.sum(s[2:] ** 2))
    part = np.cumsum(s**2) / np.sum(s**2)
    assert POD(energy=(part[1] + part[2]) / 2).fit(points, G).width_ == 3
    assert POD(energy=1.0).fit(points, G).width_ >= 5


@pytest.mark.parametrize(
    ("points", "tolerance"),
    [
        (np.linspace(0, 1, 60)[:, None], 1e-5),
        (np.sort(rng.uniform(size=80))[::-1, None], 5e-3),
        (
            np.stack(np.meshgrid(np.linspace(0, 1, 20), np.linspace(0, 1, 25)), -1).reshape(-1, 2),
            1e-3,
        ),
        (np.vstack([rng.uniform(size=(600, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]]), 2e-2),
        (np.vstack([rng.uniform(size=(2500, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]]), 1e-2),
    ],
    ids=["1-D grid", "1-D unsorted", "2-D grid", "2-D scattered", "2-D many scattered"],
)
def test_pod_interpolates(points, tolerance):
    waves = [lambda p, a=a: np.cos(a * p[:, 0] + p.sum(axis=1)) for a in (1.0, 2.0, 5.0)]
    values = np.stack([wave(points) for wave in waves], axis=1)
    low, high = points.min(axis=0), points.max(axis=0)
    new = low + (high - low) * rng.uniform(size=(50, points.shape[1]))
    pod = POD().fit(points, values)
    there = pod.transform(new) @ (pod.modes_.T @ values)
    np.testing.assert_allclose(there, np.stack([wave(new) for wave in waves], axis=1), atol=tolerance)
    with pytest.warns(ExtrapolationWarning, match="outside the box"):
        assert np.isfinite(pod.transform(high[None] + 0.01)).all()


def test_pod_on_a_degenerate_set_of_points():
    on_a_line = np.linspace(0, 1, 9)[:, None] * [[1.0, 1.0]]
    pod = POD().fit(on_a_line, np.sin(3 * on_a_line[:, :1]))
    assert np.isfinite(pod.transform([[0.3, 0.3]])).all()


@pytest.mark.parametrize(
    "features",
    [
        SLFN(50, random_state=0),
        MLP(50, hidden=8, random_state=0),
        Linear(),
        Linear() + SLFN(20, "cos", random_state=1),
        Concat([("pca", PCA(3)), ("slfn", SLFN(4, random_state=0))]),
    ],
)
def test_times_is_transform_times(features, monkeypatch):
    monkeypatch.setattr(dense, "_ROWS", 3)
    monkeypatch.setattr(dense, "_BLOCK", 60)
    monkeypatch.setattr("elmonet.features.base._BLOCK", 90)
    features.fit(X)
    R = rng.normal(size=(features.width_, 4))
    np.testing.assert_allclose(features_times(features, X, R), features.transform(X) @ R, atol=1e-12)


def test_seeds():
    same = [SLFN(5, random_state=7).fit_transform(X) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert np.abs(same[0] - SLFN(5, random_state=8).fit_transform(X)).max() > 0.1
    free = SLFN(5).fit(X)
    np.testing.assert_array_equal(free.transform(X), SLFN(5, random_state=free.seed_).fit_transform(X))
    for state in (np.random.default_rng(0), np.random.RandomState(0)):
        assert np.isfinite(SLFN(5, random_state=state).fit_transform(X)).all()


@pytest.mark.parametrize("features", [SLFN(5), MLP(5), Linear(), Linear() + SLFN(5)])
def test_float32_stays_float32(features):
    assert clone(features).fit_transform(X.astype(np.float32)).dtype == np.float32


def test_concatenation_names_and_flattens():
    three = Linear() + SLFN(5) + SLFN(6)
    assert [name for name, _ in three.maps] == ["linear", "slfn1", "slfn2"]
    three.set_params(slfn2__width=4)
    assert three.fit(X).width_ == 13 + 5 + 4
    assert (three + Linear()).fit(X).width_ == 22 + 13
    with pytest.raises(TypeError):
        Linear() + 3


@pytest.mark.parametrize(
    ("features", "data", "match"),
    [
        (SLFN(0), X, "width must be a whole number of at least 1, got 0"),
        (SLFN(2.5), X, "width"),
        (SLFN(5, "swish"), X, "activation must be one of 'relu'.*got 'swish'"),
        (SLFN(5, scale=0), X, "scale must be a finite number above 0"),
        (SLFN(5, distribution="cauchy"), X, "distribution must be one of"),
        (SLFN(5, bias=-1), X, "bias"),
        (SLFN(5, random_state="a"), X, "random_state"),
        (MLP(5, depth=0), X, "depth"),
        (MLP(5, hidden=0), X, "hidden"),
        (CNN(5), X, r"a CNN takes images \(N, height, width\)"),
        (CNN(5, shape=(5, 5)), X, "needs 25 values per image, inputs have 12"),
        (CNN(5, kernel=2), X.reshape(7, 3, 4), "kernel must be odd"),
        (Sinusoid(9), np.ones((4, 1)), "multiple of 2"),
        (Sinusoid(10), np.ones((4, 2)), "multiple of 4"),
        (Sinusoid(8), np.ones((4, 3)), 'basis="tensor"'),
        (Sinusoid(8, basis="wavelet"), np.ones((4, 1)), "basis must be one of"),
        (Concat(), X, "list of"),
        (Linear(), [[1.0, np.nan]], r"1 NaN or Inf .* first at index \(0, 1\)"),
        (Linear(), np.ones((2, 2), complex), "Complex data not supported"),
        (Linear(), np.array([[1, "a"]], dtype=object), "dtype object"),
        (Linear(), [[1.0], [1.0, 2.0]], "rows of different lengths"),
    ],
)
def test_bad_settings_and_inputs(features, data, match):
    with pytest.raises(InputError, match=match):
        features.fit(data)


def test_bad_pod():
    points, values = np.linspace(0, 1, 6)[:, None], rng.normal(size=(6, 4))
    for pod, given, match in [
        (POD(), None, "learns its functions from outputs"),
        (POD(), values.T, r"points \(6, 1\) and values of shape \(4, 6\)"),
        (POD(rank=5), values, r"at most min\(M, N\) = 4, got 5"),
        (POD(rank=0), values, "rank"),
        (POD(energy=1.5), values, "at most 1"),
        (POD(rank=2, energy=0.5), values, "not both"),
    ]:
        with pytest.raises(InputError, match=match):
            pod.fit(points, given)


def test_not_fitted_and_wrong_shape():
    with pytest.raises(ValueError, match="SLFN is not fitted yet"):
        SLFN(5).transform(X)
    with pytest.raises(InputError, match=r"12 features"):
        SLFN(5).fit(X).transform(X[:, :3])
    images = X.reshape(7, 3, 4)
    with pytest.raises(InputError, match=r"the shape \(3, 4\) of the training data, got \(3, 2\)"):
        SLFN(5).fit(images).transform(images[:, :, :2])

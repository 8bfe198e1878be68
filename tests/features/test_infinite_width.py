"""Infinite width: against scikit-learn's kernels, its kernel ridge, refits, and wider and wider networks."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from elmonet import SLFN, ELMDeepONet, InfiniteWidth, InputError, Linear, Ridge, load, problems, relative_l2
from elmonet.features.kernels import KERNELS

pytestmark = pytest.mark.numerics

rng = np.random.default_rng(0)
X, X_new = rng.normal(size=(40, 12)), rng.normal(size=(9, 12))


def independent(kernel, scale, X, Y):
    """The kernel matrix by other code."""
    length = np.sqrt(X.shape[1]) / scale
    if kernel == "relu":
        w = np.random.default_rng(1).normal(size=(200_000, X.shape[1] + 1))
        w[:, :-1] /= length
        H, J = (np.maximum(w @ np.hstack([A, np.ones((len(A), 1))]).T, 0) for A in (X, Y))
        return 2 * H.T @ J / len(w)
    if kernel == "rbf":
        return RBF(length)(X, Y)
    return Matern(length, nu={"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[kernel])(X, Y)


@parametrize_with_checks(
    [InfiniteWidth()],
    expected_failed_checks=lambda estimator: {"check_dtype_object": "arrays of objects are refused"},
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_of_features_are_the_kernel(kernel, scale):
    branch = InfiniteWidth(kernel, scale).fit(X)
    B, B_new = branch.transform(X), branch.transform(X_new)
    tolerance = {"rtol": 0.03, "atol": 0.02} if kernel == "relu" else {"atol": 1e-6}
    np.testing.assert_allclose(B @ B.T, independent(kernel, scale, X, X), **tolerance)
    np.testing.assert_allclose(B_new @ B.T, independent(kernel, scale, X_new, X), **tolerance)


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_a_ridge_with_it_is_kernel_ridge(kernel):
    Y = rng.normal(size=(40, 3))
    model = ELMDeepONet(InfiniteWidth(kernel, 0.8), solver=Ridge(1e-2), scale_inputs=False)
    model.fit(X, Y, points=np.arange(3))
    K, K_new = (independent(kernel, 0.8, A, X) for A in (X, X_new))
    rival = KernelRidge(alpha=1e-2, kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(model.predict(X_new), rival.predict(K_new), atol=1e-6)
    left_out = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        refit = KernelRidge(alpha=1e-2, kernel="precomputed").fit(K[np.ix_(rest, rest)], Y[rest])
        left_out.append(np.linalg.norm(refit.predict(K[i : i + 1, rest]) - Y[i]) / np.linalg.norm(Y[i]))
    assert model.solution_.loo_error == pytest.approx(np.mean(left_out), rel=1e-5)


@pytest.mark.parametrize(
    ("kernel", "distribution"),
    [("rbf", "normal"), ("matern12", "student1"), ("matern32", "student3"), ("matern52", "student5")],
)
def test_cosines_tend_to_it(kernel, distribution):
    limit = independent(kernel, 0.7, X, X)
    distances = []
    for width in (400, 40_000):
        B = SLFN(width, "cos", 0.7, distribution=distribution, random_state=0).fit_transform(X)
        distances.append(np.abs(2 * B @ B.T / width - limit).max())
    assert distances[1] < 0.03
    assert distances[1] < 0.25 * distances[0]  # as one over the root of the width


def test_relu_tends_to_it():
    """The biases of `SLFN` are uniform; those of the limit are normal, as one more weight of a constant."""
    ones = np.hstack([X, np.full((len(X), 1), np.sqrt(12.0))]) * np.sqrt(13 / 12)
    B = SLFN(100_000, distribution="normal", bias=0.0, random_state=0).fit_transform(ones)
    exact = InfiniteWidth("relu").fit(X)
    K = exact.transform(X) @ exact.transform(X).T
    np.testing.assert_allclose(2 * B @ B.T / B.shape[1], K, rtol=0.03, atol=0.03)


def test_features_come_with_the_fit():
    """`fit_transform` reads them off the Cholesky factor; `transform` solves for them."""
    for branch in (InfiniteWidth("matern32", 0.5), Linear() + InfiniteWidth("rbf", 0.5)):
        at_once = branch.fit_transform(X)
        np.testing.assert_allclose(at_once, branch.transform(X), atol=1e-7)


def test_patches_are_compared_one_by_one():
    images = rng.normal(size=(5, 2, 6, 7))
    branch = InfiniteWidth("rbf", 0.7, patch=3).fit(images)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    patches = [padded[:, :, i : i + 3, j : j + 3].reshape(5, -1) for i in range(6) for j in range(7)]
    K = np.mean([independent("rbf", 0.7, p, p) for p in patches], axis=0)
    B = branch.transform(images)
    np.testing.assert_allclose(B @ B.T, K, atol=1e-8)


def test_large_images_are_compared_at_some_places():
    images = rng.normal(size=(4, 64, 40))
    branch = InfiniteWidth("matern32", patch=3).fit(images)
    assert branch._centre_parts.shape == (16 * 10, 4, 9)  # every fourth pixel in both directions
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    np.testing.assert_array_equal(
        branch._centre_parts[1].reshape(4, 3, 3), padded[branch_order(branch, images), :3, 4:7]
    )


def branch_order(branch, images):
    """Which image each centre is."""
    return [int(np.argmax([np.array_equal(c, image) for image in images])) for c in branch.centres_]


def test_patches_are_saved(tmp_path):
    images, s = rng.normal(size=(5, 6, 7)), rng.normal(size=(5, 8))
    model = ELMDeepONet(Linear() + InfiniteWidth("matern32", patch=3)).fit(images, s, points=np.arange(8))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(images), model.predict(images))


def test_repeated_functions_add_no_features():
    branch = InfiniteWidth("matern52").fit(np.vstack([X, X]))
    assert branch.width_ == len(X)
    assert np.isfinite(branch.transform(X_new)).all()
    assert InfiniteWidth("rbf", 1e-5).fit(X).width_ < 20  # nearly constant: few directions are left


def test_as_a_branch_it_learns_and_is_saved(tmp_path):
    data = problems.nonlinear_ode(n_train=150, n_test=50)
    model = ELMDeepONet(Linear() + InfiniteWidth("rbf", 0.3)).fit(
        data.u_train, data.s_train, points=data.points
    )
    assert relative_l2(model.predict(data.u_test), data.s_test) < 1e-3
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(data.u_test), model.predict(data.u_test))


def test_images_and_single_precision():
    images = rng.normal(size=(6, 4, 3)).astype(np.float32)
    flat = InfiniteWidth().fit(images.reshape(6, 12)).transform(images.reshape(6, 12))
    features = InfiniteWidth().fit(images).transform(images)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, flat, atol=1e-6)


@pytest.mark.parametrize(
    "settings", [{"kernel": "cubic"}, {"scale": 0.0}, {"scale": "wide"}, {"patch": 4}, {"patch": 0}]
)
def test_wrong_settings(settings):
    with pytest.raises(InputError, match="must be"):
        InfiniteWidth(**settings).fit(X)
    with pytest.raises(InputError, match="takes images"):
        InfiniteWidth(patch=3).fit(X)

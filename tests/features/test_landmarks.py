"""Landmarks: against Nystroem's formula, a dense ridge, and fits in blocks; smoothing against SciPy."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.utils.estimator_checks import parametrize_with_checks

from elmonet import ELMDeepONet, InfiniteWidth, InputError, Linear, Ridge, load
from elmonet.features.kernels import random_pivots
from elmonet.linalg import beside_others, solve_lower

pytestmark = pytest.mark.numerics

rng = np.random.default_rng(0)
X, X_new = rng.normal(size=(300, 4)), rng.normal(size=(9, 4))
LENGTH = np.sqrt(4) / 0.8


@parametrize_with_checks(
    [InfiniteWidth(landmarks=5, random_state=0)],
    expected_failed_checks=lambda estimator: {"check_dtype_object": "arrays of objects are refused"},
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_products_of_features_are_nystroems_approximation():
    branch = InfiniteWidth("matern52", 0.8, landmarks=40, random_state=0)
    B = branch.fit_transform(X)
    C, kernel = branch.centres_, Matern(LENGTH, nu=2.5)
    assert B.shape == (300, 40)
    assert all((centre == X).all(axis=1).any() for centre in C)
    expected = kernel(X_new, C) @ np.linalg.solve(kernel(C), kernel(C, X))
    np.testing.assert_allclose(branch.transform(X_new) @ B.T, expected, atol=1e-9)
    np.testing.assert_array_equal(branch.transform(X), B)


def test_as_many_landmarks_as_functions_are_all_of_them():
    few = X[:30]
    B = InfiniteWidth("rbf", 2.0, landmarks=30, random_state=0).fit_transform(few)
    np.testing.assert_allclose(B @ B.T, RBF(np.sqrt(4) / 2)(few), atol=1e-9)


def test_pivots_are_drawn_where_others_miss_most():
    """Of 295 copies of one function and five others, six landmarks find all, and no function twice."""
    few = np.vstack([np.tile(X[:1], (295, 1)), 10 * X[1:6]])
    branch = InfiniteWidth("rbf", 1.0, landmarks=20, random_state=0).fit(few)
    assert len(branch.centres_) == 6
    assert len(np.unique(branch.centres_, axis=0)) == 6


def test_the_first_pivot_is_drawn_by_the_diagonal():
    diagonal = np.array([1.0, 3.0, 0.0, 4.0])
    draws = [
        random_pivots(lambda some: np.diag(diagonal)[:, some], diagonal, 1, np.random.default_rng(seed))[0]
        for seed in range(4000)
    ]
    np.testing.assert_allclose(np.bincount(draws, minlength=4) / 4000, diagonal / 8, atol=0.03)


def test_a_smooth_kernel_has_fewer_features_than_landmarks():
    branch = InfiniteWidth("rbf", 1e-3, landmarks=100, random_state=0).fit(X)
    assert branch.width_ < 50
    K = RBF(np.sqrt(4) / 1e-3)(X)
    B = branch.transform(X)
    np.testing.assert_allclose(B @ B.T, K, atol=1e-8)


def test_a_ridge_with_it_is_nystroem_ridge():
    """W minimises ``|K_NC w - y|^2 + alpha w' K_CC w`` (subset of regressors)."""
    Y = rng.normal(size=(300, 3))
    model = ELMDeepONet(
        InfiniteWidth("rbf", 0.8, landmarks=25, random_state=1), solver=Ridge(1e-2), scale_inputs=False
    ).fit(X, Y, points=np.arange(3))
    C, kernel = model.branch_.centres_, RBF(LENGTH)
    K = kernel(X, C)
    w = np.linalg.solve(K.T @ K + 1e-2 * kernel(C), K.T @ Y)
    np.testing.assert_allclose(model.predict(X_new), kernel(X_new, C) @ w, atol=1e-6)


def test_the_same_seed_gives_the_same_landmarks():
    first, second = (InfiniteWidth(landmarks=20, random_state=3).fit(X).centres_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_smoothed_images_are_compared():
    images, other = rng.normal(size=(20, 6, 7)), rng.normal(size=(5, 6, 7))
    branch = InfiniteWidth("matern32", 0.8, smooth=1.2).fit(images)
    smooth = [gaussian_filter(A, (0, 1.2, 1.2), mode="nearest").reshape(len(A), -1) for A in (images, other)]
    expected = Matern(np.sqrt(42) / 0.8, nu=1.5)(smooth[1], smooth[0])
    np.testing.assert_allclose(branch.transform(other) @ branch.transform(images).T, expected, atol=1e-9)


def test_settings_are_checked():
    for settings, words in (
        ({"landmarks": 0}, "landmarks"),
        ({"smooth": -1.0}, "smooth"),
        ({"smooth": 1.0}, "smooth= takes images"),
    ):
        with pytest.raises(InputError, match=words):
            InfiniteWidth(**settings).fit(X)


@pytest.mark.parametrize("order", ["C", "F"])
def test_triangular_solves(order):
    L = np.array(np.tril(rng.normal(size=(30, 30))) + 10 * np.eye(30), order=order)
    B = rng.normal(size=(30, 7))
    expected = np.linalg.solve(L, B)
    np.testing.assert_allclose(solve_lower(L, B.copy()), expected, atol=1e-12)
    with beside_others():
        np.testing.assert_allclose(solve_lower(L, B.copy()), expected, atol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_blocks_are_memory(tmp_path, linear):
    """In blocks, the landmarks come from a sample; of few functions, the sample is all of them."""
    Y = np.tanh(X @ rng.normal(size=(4, 3)))
    branch = InfiniteWidth("rbf", 0.8, landmarks=25, random_state=1)
    branch = Linear() + branch if linear else branch

    def model():
        return ELMDeepONet(branch, solver=Ridge(1e-3), scale_inputs=False, random_state=0)

    whole = model().fit(X, Y, points=np.arange(3))
    blocks = model()._fit_stored(X, Y, np.arange(3), workers=2)
    np.testing.assert_allclose(blocks.predict(X_new), whole.predict(X_new), atol=1e-8)
    batches = model().partial_fit(X, Y, points=np.arange(3))
    np.testing.assert_allclose(batches.predict(X_new), whole.predict(X_new), atol=1e-8)
    batches.save(tmp_path / "m.elmonet", sums=True)
    loaded = load(tmp_path / "m.elmonet")
    np.testing.assert_array_equal(loaded.predict(X_new), batches.predict(X_new))
    more = rng.normal(size=(50, 4))
    np.testing.assert_allclose(
        loaded.partial_fit(more, more[:, :3]).predict(X_new),
        batches.partial_fit(more, more[:, :3]).predict(X_new),
        atol=1e-10,
    )

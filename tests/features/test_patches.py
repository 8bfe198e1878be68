"""Random cosines of patches, written out."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, InfiniteWidth, InputError, Linear, Patches, load

rng = np.random.default_rng(0)
images = rng.normal(size=(5, 6, 7))


def test_patches_are_cosines_of_windows():
    patches = Patches(3, 5, 0.7, random_state=0).fit(images)
    A, b = patches.weights_[0][:, :-1], patches.weights_[0][:, -1]
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)), mode="edge")
    by_hand = np.array(
        [
            [np.cos(A @ image[i : i + 5, j : j + 5].ravel() + b) for i in range(6) for j in range(7)]
            for image in padded
        ]
    )
    np.testing.assert_allclose(patches.transform(images), by_hand.reshape(5, -1), atol=1e-13)
    assert patches.width_ == 3 * 6 * 7


def test_an_inner_map_is_what_the_kernel_compares():
    inner = Patches(4, 3, random_state=0)
    branch = InfiniteWidth("rbf", 0.6, inner=inner).fit(images)
    Z = inner.fit_transform(images)
    Z /= np.sqrt(np.mean((Z - Z.mean(axis=0)) ** 2))
    K = np.exp(-0.36 * ((Z[:, None] - Z) ** 2).mean(axis=2) / 2)
    B = branch.transform(images)
    np.testing.assert_allclose(B @ B.T, K, atol=1e-8)


def test_saved_and_loaded_with_its_inner_map(tmp_path):
    s = rng.normal(size=(5, 8))
    branch = Linear() + InfiniteWidth("matern32", inner=Patches(4, 3))
    model = ELMDeepONet(branch, random_state=3).fit(images, s, points=np.arange(8))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(images), model.predict(images))


def test_images_that_do_not_differ():
    assert np.isfinite(InfiniteWidth(inner=Patches(2)).fit_transform(np.ones((3, 4, 4)))).all()


@pytest.mark.parametrize(
    ("features", "X", "message"),
    [
        (Patches(), images.reshape(5, 42), "Patches takes images"),
        (Patches(size=4), images, "size must be odd"),
        (Patches(channels=0), images, "channels must be"),
        (InfiniteWidth(inner=Linear()), images, "inner must be a random feature map"),
    ],
)
def test_wrong_settings(features, X, message):
    with pytest.raises(InputError, match=message):
        features.fit(X)

"""Products that let go of the interpreter's lock are the same products."""

import numpy as np
import pytest

from elmonet.linalg import add_gram, beside_others, product


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(7, 30), (30, 7), (1, 5)])
def test_gram_beside_others(order, shape):
    A = np.array(np.random.default_rng(0).normal(size=shape), order=order)
    total = np.full((len(A), len(A)), 0.5, order="F")
    with beside_others():
        add_gram(total, A)
        add_gram(total, A)
    np.testing.assert_allclose(np.tril(total), np.tril(0.5 + 2 * A @ A.T), rtol=1e-12, atol=1e-12)


def test_gram_of_a_part_and_in_single_precision():
    A = np.random.default_rng(0).normal(size=(9, 20))
    for part in (A[::2, ::3], A.astype(np.float32)):
        total = np.zeros((len(part), len(part)), part.dtype, order="F")
        with beside_others():
            add_gram(total, part)
        np.testing.assert_allclose(np.tril(total), np.tril(part @ part.T), rtol=1e-5)


def test_product_beside_others():
    A, B = (np.random.default_rng(0).normal(size=shape) for shape in ((3, 4), (4, 5)))
    out = np.ones((3, 5))
    with beside_others():
        product(A, B, out, add=True)
    np.testing.assert_allclose(out, 1 + A @ B)

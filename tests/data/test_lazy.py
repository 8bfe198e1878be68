"""Arrays on disk behave as arrays in memory do."""

import numpy as np
import pytest

from elmonet import FileError, NotEnoughMemory
from elmonet.data import limits as guard
from elmonet.data.lazy import Lazy, is_stored, map_rows

A = np.arange(60.0).reshape(5, 4, 3)


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        np.int64(2),
        slice(None),
        slice(1, 3),
        slice(None, None, 2),
        slice(3, 1),
        slice(-2, None),
        [0, 3],
        [],
    ],
)
@pytest.mark.parametrize("rest", [(), (1,), (slice(None), 2)])
def test_indexing(key, rest):
    lazy = Lazy.of(A, "A")
    expected = A[(np.array(key, int) if isinstance(key, list) else key, *rest)]
    np.testing.assert_array_equal(lazy[(key, *rest)], expected)


def test_the_rest():
    lazy = Lazy.of(A, "A")
    np.testing.assert_array_equal(lazy[...], A)
    np.testing.assert_array_equal(lazy[np.array([True, False, True, False, False])], A[[0, 2]])
    assert (len(lazy), lazy.ndim, lazy.nbytes, repr(lazy)) == (5, 3, 480, "Lazy A (5, 4, 3) float64")
    assert np.asarray(lazy, dtype=np.float32).dtype == np.float32
    assert is_stored(lazy)
    with pytest.raises(IndexError, match="row 5 of 5"):
        lazy[5]


def test_views_read_what_they_need():
    read = []

    class Source:
        shape, dtype = A.shape, A.dtype

        def __getitem__(self, key):
            read.append(A[key].shape)
            return A[key]

    lazy = Lazy.of(Source(), "A")
    view = map_rows(lambda rows: 2 * rows, lazy, take=(0,))
    assert view.shape == (5, 3)
    np.testing.assert_array_equal(view[1:3], 2 * A[1:3, 0])
    assert read == [(2, 3)]


def test_errors_are_the_librarys_own(monkeypatch):
    def fails(start, stop, rest):
        raise RuntimeError("inner\nwords")

    with pytest.raises(FileError, match="'A' cannot be read: RuntimeError: inner words"):
        Lazy((5, 4), float, fails, "A")[0]
    monkeypatch.setattr(guard, "available", lambda: 10)
    with pytest.raises(NotEnoughMemory, match=r"A needs 7.45e"):
        Lazy((10**15, 10**6), float, fails, "A")[:]

"""Matrix products by SciPy's BLAS.

The wheels of NumPy and SciPy each include a BLAS, whose threads keep a core busy for a while after every
call. Code that alternates between the two runs several times slower than code that uses one. The
factorisations are SciPy's, so the products around them are too.

But SciPy's functions hold the interpreter lock while they compute. Where several threads work in parallel,
each with a BLAS of one thread (`beside_others`), NumPy's are used, which release it; and for what takes most
of the time there, ``B B'`` and triangular solves, SciPy's by their addresses.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from scipy.linalg import LinAlgError, get_blas_funcs, get_lapack_funcs

_thread = threading.local()


@contextmanager
def beside_others() -> Iterator[None]:
    """Use products that release the interpreter lock, as this thread works in parallel with others."""
    _thread.beside = True
    try:
        yield
    finally:
        del _thread.beside


def is_beside_others() -> bool:
    """Return whether this thread is inside `beside_others`."""
    return getattr(_thread, "beside", False)


def product(A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None, add: bool = False) -> np.ndarray:
    """Return ``A @ B``, C-contiguous; written to `out` (C-contiguous) if given, or added to it with `add`."""
    if 0 in A.shape or 0 in B.shape:
        return out if add and out is not None else np.matmul(A, B, out=out)
    if is_beside_others():
        if add and out is not None:
            out += np.matmul(A, B)
            return out
        return np.matmul(A, B, out=out)
    (gemm,) = get_blas_funcs(("gemm",), (A, B))
    # BLAS is column-major: (A B)' = B' A', and the transpose of a C-ordered array costs nothing.
    b, trans_b = (B.T, False) if B.flags.c_contiguous else (B, True)
    a, trans_a = (A.T, False) if A.flags.c_contiguous else (A, True)
    if out is None:
        out = np.empty((A.shape[0], B.shape[1]), gemm.dtype)
    gemm(1.0, b, a, float(add), out.T, overwrite_c=True, trans_a=trans_b, trans_b=trans_a)
    return out


def solve_upper(R: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ``R^-1 B`` for a triangle R with nonzero diagonal, what lies below it being ignored.

    OpenBLAS starts its threads for LAPACK's trtrs however small R is, but not for this.
    """
    (trsm,) = get_blas_funcs(("trsm",), (R, B))
    return trsm(1.0, R, B)


def gram(A: np.ndarray) -> np.ndarray:
    """Return the lower triangle of ``A A'``, Fortran-ordered, with zeros above the diagonal."""
    (syrk,) = get_blas_funcs(("syrk",), (A,))
    if A.flags.c_contiguous:
        return syrk(1.0, A.T, trans=True, lower=True)
    return syrk(1.0, A, lower=True)


def add_gram(total: np.ndarray, A: np.ndarray) -> None:
    """Add ``A A'`` to the lower triangle of `total`, which is Fortran-ordered, in place."""
    by_rows = A.flags.c_contiguous
    if is_beside_others() and (by_rows or A.flags.f_contiguous) and A.dtype == total.dtype == np.float64:
        _syrk_without_lock()(A, total, by_rows)
        return
    (syrk,) = get_blas_funcs(("syrk",), (A,))
    syrk(1.0, A.T if by_rows else A, 1.0, total, trans=by_rows, lower=True, overwrite_c=True)


def solve_lower(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ``L^-1 B``, Fortran-ordered, for L (n, n) lower triangular; such a B (n, k) is overwritten."""
    L, B = np.asarray(L, np.float64), np.asfortranarray(B, np.float64)
    if not L.flags.f_contiguous and not L.flags.c_contiguous:
        L = np.asfortranarray(L)
    if is_beside_others() and B.size:
        _trsm_without_lock()(L, B)
        return B
    (trtrs,) = get_lapack_funcs(("trtrs",), (L, B))
    by_rows = not L.flags.f_contiguous  # L' is upper triangular, and Fortran-ordered
    found, failed = trtrs(L.T if by_rows else L, B, lower=not by_rows, trans=by_rows, overwrite_b=True)
    if failed:
        raise LinAlgError("a triangular matrix is singular")
    return found


@cache
def _syrk_without_lock() -> Callable[[np.ndarray, np.ndarray, bool], None]:
    """Return SciPy's dsyrk by its address: unlike SciPy's own call, this releases the interpreter lock."""
    dsyrk, integer = _blas_by_address("dsyrk", 10)
    lower, one = ctypes.c_char(b"L"), ctypes.c_double(1.0)

    def add(A: np.ndarray, total: np.ndarray, by_rows: bool) -> None:
        n, k = (integer(size) for size in A.shape)
        transposed = ctypes.c_char(b"T" if by_rows else b"N")
        at = ctypes.addressof
        numbers = (at(lower), at(transposed), at(n), at(k), at(one))
        dsyrk(*numbers, A.ctypes.data, at(k if by_rows else n), at(one), total.ctypes.data, at(n))

    return add


@cache
def _trsm_without_lock() -> Callable[[np.ndarray, np.ndarray], None]:
    """Return SciPy's dtrsm likewise: ``B := L^-1 B`` in place, for a lower triangle in either order."""
    dtrsm, integer = _blas_by_address("dtrsm", 11)
    one = ctypes.c_double(1.0)

    def solve(L: np.ndarray, B: np.ndarray) -> None:
        n, k = (integer(size) for size in B.shape)
        by_rows = not L.flags.f_contiguous  # Fortran sees L', upper triangular
        left, side, transposed, diagonal = (
            ctypes.c_char(letter)
            for letter in (b"L", b"U" if by_rows else b"L", b"T" if by_rows else b"N", b"N")
        )
        at = ctypes.addressof
        numbers = (at(left), at(side), at(transposed), at(diagonal), at(n), at(k), at(one))
        dtrsm(*numbers, L.ctypes.data, at(n), B.ctypes.data, at(n))

    return solve


def _blas_by_address(name: str, arguments: int) -> tuple[Callable[..., None], type]:
    """Return a function of SciPy's BLAS that releases the interpreter lock, and its type of integers."""
    from scipy.linalg import cython_blas

    capsule, api = cython_blas.__pyx_capi__[name], ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    address = api.PyCapsule_GetPointer(capsule, signature)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
    return function, ctypes.c_int if b" int *" in signature else ctypes.c_int64


def squared_norm(A: np.ndarray) -> float:
    """Return the sum of squares of all entries; Inf or NaN if they overflow or A is not finite."""
    (dot,) = get_blas_funcs(("dot",), (A,))
    flat = A.ravel(order="K")
    return float(dot(flat, flat))

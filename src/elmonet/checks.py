"""Input validation, with messages that say what was expected, what was given, and what to do."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from elmonet.errors import InputError

# Functions as users give them: one array, one for each name, or one for each function.
Functions: TypeAlias = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]

# Functions as they come back: an array, or what the data were instead, such as a dictionary by name, a list
# of records or a dataset. A type checker sees an array that may be something else: nobody has to ask which.
FunctionValues: TypeAlias = np.ndarray | Any


def positive_integer(value: Any, name: str, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`, or raise `InputError`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise InputError(f"{name} must be a whole number of at least {minimum}, got {value!r}.")
    return int(value)


def number(value: Any, name: str, *, minimum: float = 0.0, strict: bool = False) -> float:
    """Return `value` as a finite float of at least (or above) `minimum`, or raise `InputError`."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    ok = ok and abs(float(value)) < float("inf") and value >= minimum
    if not ok or (strict and value == minimum):
        bound = "above" if strict else "of at least"
        raise InputError(f"{name} must be a finite number {bound} {minimum:g}, got {value!r}.")
    return float(value)


def choice(value: Any, name: str, allowed: Any) -> Any:
    """Return `value` if it is one of `allowed`, or raise an `InputError` that lists them."""
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise InputError(f"{name} must be one of {listed}; got {value!r}.")
    return value


def functions(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Return input functions as a float array (N, m) or (N, ..., height, width), finite and not empty.

    With `reset` (in `fit`), record the shape of one function in the estimator, as scikit-learn's
    `validate_data` does; otherwise require that shape.
    """
    if (
        not reset
        and type(X) is np.ndarray
        and X.dtype == np.float64
        and X.shape[1:] == estimator.input_shape_
    ):
        finite(X, "X")  # the common case: scikit-learn's validation takes longer than a prediction
        if len(X):
            return X
    from sklearn.utils.validation import validate_data

    X = plain(X)
    if len({isinstance(name, str) for name in getattr(X, "columns", ())}) > 1:
        X = X.rename(columns=str)  # scikit-learn takes names only if all of them are text
    _numeric(X, "X")
    if getattr(X, "ndim", None) == 1:
        raise InputError(
            f"Expected 2D array, got 1D array instead: X of shape {np.shape(X)}, but it must hold one "
            "function per row. Reshape your data: X[None] if it is a single function."
        )
    try:
        X = validate_data(
            estimator, X, reset=reset, allow_nd=True, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        if columns := _columns_without_numbers(X):
            raise InputError(
                f"X must hold real numbers, but these columns do not: {', '.join(columns)}. Remove them or "
                "convert them: times to seconds, categories to one column of 0 and 1 for each."
            ) from None
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{said}. X must hold one function per row, in the shape used for fit.") from None
    finite(X, "X")
    if reset:
        estimator.input_shape_ = X.shape[1:]
    elif X.shape[1:] != estimator.input_shape_:
        raise InputError(
            f"each input function must have the shape {estimator.input_shape_} of the training data, "
            f"got {X.shape[1:]}. Resample the functions at the training sensors."
        )
    return X


def _columns_without_numbers(table: Any) -> list[str]:
    """Return names and types of the columns of a DataFrame that hold no numbers."""
    types = zip(getattr(table, "columns", ()), getattr(table, "dtypes", ()), strict=True)
    return [f"{name!r} ({kind})" for name, kind in types if getattr(kind, "kind", "O") not in "biufc"]


def plain(array: Any) -> Any:
    """Convert PyTorch tensors and masked arrays to NumPy arrays of native bytes; return others unchanged.

    Masked values become NaN: missing.
    """
    if hasattr(array, "detach"):
        try:
            return array.detach().cpu().numpy()
        except TypeError:
            raise InputError(
                f"NumPy has no type for a tensor of {array.dtype}. Convert it first: tensor.float()."
            ) from None
    if isinstance(array, np.ma.MaskedArray):
        if not np.ma.getmaskarray(array).any():
            return array.data
        return np.ma.filled(array.astype(np.result_type(array.dtype, np.float32)), np.nan)
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))  # so that single precision stays that
    if isinstance(array, (list, tuple)) and any(isinstance(part, np.ma.MaskedArray) for part in array):
        return [plain(part) for part in array]
    return array


def owned(array: np.ndarray, given: Any = None) -> np.ndarray:
    """Return an array in C order that shares no memory with what the caller gave."""
    array = np.ascontiguousarray(array)
    return array.copy() if array is given or not array.flags.owndata else array


def outputs(y: Any, n_functions: int, gaps: bool = False) -> np.ndarray:
    """Return output functions as a float array (N,), (N, M) or (N, ...) with as many rows as X.

    Values are finite, or, if `gaps` are allowed, NaN where missing.
    """
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: pass the output functions, (N, M)."
        )
    y = plain(y)
    _numeric(y, "y")
    y = np.asarray(y)
    if y.dtype not in (np.float64, np.float32):
        y = y.astype(np.float64)
    if y.ndim == 0 or y.size == 0:
        raise InputError(
            "y must hold one output function per row, (N, M) or a grid (N, H, W), or one number per row, "
            f"(N,); got shape {y.shape}."
        )
    if len(y) != n_functions:
        raise InputError(
            f"X and y must hold the same number of functions, one per row; got {n_functions} in X and "
            f"{len(y)} in y. If each column is a function, give X.T and y.T."
        )
    if gaps and np.isnan(y).any():
        finite(np.nan_to_num(y, nan=0.0, posinf=np.inf, neginf=-np.inf), "y")
        return y
    finite(y, "y", gaps_allowed=' NaN means a missing value with missing="ignore".')
    return y


def weights(sample_weight: Any, n_functions: int) -> np.ndarray:
    """Return the weights of the functions (N,), non-negative and not all zero."""
    given = np.asarray(plain(sample_weight))
    _numeric(given, "sample_weight")
    given = given.astype(np.float64)
    if given.ndim == 0:
        given = np.full(n_functions, float(given))
    if given.shape != (n_functions,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        came = f"the shape {given.shape}"
        if given.shape == (n_functions,):
            wrong = np.flatnonzero(~np.isfinite(given) | (given < 0))
            came = f"{given[wrong[0]]:g} for function {wrong[0]}" if wrong.size else "zeros only"
        raise InputError(
            f"sample_weight must hold one finite number >= 0 per function, ({n_functions},), not all zero; "
            f"got {came}."
        )
    return given


def coordinates(points: Any, *, dimension: int | None = None) -> np.ndarray:
    """Return points as a finite float64 array (M, d); (M,) is taken as (M, 1)."""
    points = plain(points)
    _numeric(points, "points")
    try:
        points = np.asarray(points, dtype=np.float64)
    except TypeError:
        came = type(points).__name__
        raise InputError(f"points must be an array (M, d), one point per row; got a {came}.") from None
    if points.ndim == 1 and dimension in (None, 1):
        points = points[:, None]
    if points.ndim != 2 or points.size == 0:
        expected = "(M, d)" if dimension is None else f"(M, {dimension})"
        raise InputError(f"points must have the shape {expected}, one point per row; got {points.shape}.")
    if dimension is not None and points.shape[1] != dimension:
        raise InputError(
            f"points must have {dimension} coordinate(s) each, as in fit; got {points.shape[1]}."
        )
    finite(points, "points")
    return points


def require_same_grid(name: str, grid: tuple[int, ...] | None, values: str, shape: tuple[int, ...]) -> None:
    """Raise `InputError` if points (*grid, d) are another grid than functions of a shape."""
    fields = (shape, shape[:-1], shape[1:])  # without components, with these last or first
    if grid is None or len(shape) < 2 or grid in fields or prod(grid) in shape:
        return
    advice = f"Give {name} of the shape of one field, with the coordinates as last axis."
    if sorted(grid) in [sorted(field) for field in fields]:
        advice = (
            f"np.meshgrid swaps the first two axes by default. Give {name} = np.stack(np.meshgrid(x, y, "
            'indexing="ij"), axis=-1).'
        )
    raise InputError(
        f"{name} form a grid of shape {grid}, but {values} holds fields of shape {shape}. {advice}"
    )


def finite(array: np.ndarray, name: str, gaps_allowed: str = "") -> None:
    """Raise an `InputError` that locates the first NaN or Inf, if there is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # one pass without a temporary; as a sum may overflow, check again below
            return
    bad = ~np.isfinite(array)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{name} holds {int(bad.sum())} NaN or Inf (infinity) values, the first at index {first}. Every "
            f"value must be finite, and none masked: remove these functions or fill the gaps.{gaps_allowed}"
        )


def _numeric(array: Any, name: str) -> None:
    """Refuse complex numbers and objects, which would be cast silently or fail later."""
    dtype = getattr(array, "dtype", None)
    if dtype is None and isinstance(array, (list, tuple)):
        try:
            dtype = np.asarray(array).dtype
        except ValueError:
            raise InputError(
                f"{name} has rows of different lengths. All functions must be given at the same points; "
                "outputs may also be given with a list of points for each function."
            ) from None
    kind = getattr(dtype, "kind", "f")
    if kind == "c":
        raise InputError(
            f"Complex data not supported: {name} has dtype {dtype}. Pass real and imaginary parts as "
            "separate values."
        )
    if kind in "mM":
        raise InputError(
            f"{name} has dtype {dtype}; it must hold real numbers. Convert times to seconds: ({name} - "
            f"{name}[0]) / np.timedelta64(1, 's')."
        )
    if isinstance(array, (str, bytes)):
        raise InputError(f"{name} must be an array of real numbers, got the text {array!r}.")
    if kind in "OSUV":
        raise InputError(
            f"{name} has dtype {dtype}; it must hold real numbers. Remove columns of text or convert them; "
            "if NumPy does not know the type, convert the array: array.astype(float)."
        )

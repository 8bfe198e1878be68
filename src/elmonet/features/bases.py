"""Linear features, and bases of functions as trunks: polynomials, sinusoids, POD."""

from __future__ import annotations

import warnings
from functools import reduce
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.linalg import qr, svd

from elmonet.checks import choice, number, positive_integer
from elmonet.description import Graph
from elmonet.errors import ExtrapolationWarning, InputError
from elmonet.features.base import FeatureMap
from elmonet.features.jet import TAYLOR, Jet
from elmonet.interpolation import as_grid, interpolate


class Linear(FeatureMap):
    """The sensor values and a constant: ``[X, 1]``.

    On its own it fits linear operators to least-squares accuracy; next to random features it represents the
    linear part of an operator.

    Examples
    --------
    >>> Linear().fit_transform([[2.0, 3.0]])
    array([[2., 3., 1.]])
    """

    @property
    def width_(self) -> int:
        """The number of sensors plus one."""
        return int(np.prod(self.input_shape_)) + 1

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        out[:, :-1] = X.reshape(len(X), -1)
        out[:, -1] = 1

    def _jet(self, X: Jet) -> Jet:
        one = X.part((slice(None), slice(0, 1))) * 0.0 + 1.0
        return Jet(np.concatenate([X.coefficients, one.coefficients], axis=-1), X.orders)

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        return graph.concat([x, graph.constant([1.0])])

    def trace_times(self, graph: Graph, x: int, R: np.ndarray) -> int:
        """Write ``features @ R`` as array operations of value x, added to `graph`."""
        return graph.affine(x, R[:-1].T, R[-1])


class Legendre(FeatureMap):
    """All polynomials up to a total degree, as products of Legendre polynomials: a trunk for smooth outputs.

    The bounding box of the points seen in `fit` is mapped to [-1, 1]^d. In d dimensions there are
    ``(degree + d)! / (degree! d!)`` polynomials: 91 in two dimensions up to degree 12. Outside the box they
    grow fast, and a warning says so.

    Parameters
    ----------
    degree : the largest total degree; or a tuple with the largest degree in each coordinate, for all
        products up to these.

    Examples
    --------
    >>> Legendre(2).fit([[0.0], [1.0]]).transform([[0.5], [1.0]])
    array([[ 1. ,  0. , -0.5],
           [ 1. ,  1. ,  1. ]])
    """

    def __init__(self, degree: int | tuple[int, ...] = 12):
        self.degree = degree

    @property
    def width_(self) -> int:
        """The number of polynomials."""
        if isinstance(self.degree, (tuple, list)):
            return prod(int(degree) + 1 for degree in self.degree)
        return comb(int(self.degree) + self._dimension(), self._dimension())

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the bounding box."""
        return {"box_": self.box_}

    def derive(self) -> None:
        """List the degrees in each coordinate, lowest total degree first."""
        each = self.degree if isinstance(self.degree, (tuple, list)) else (self.degree,) * self._dimension()
        each = tuple(positive_integer(degree, "degree", minimum=0) for degree in each)
        if len(each) != self._dimension():
            raise InputError(
                f"degree must hold one number for each of the {self._dimension()} coordinates; got {each}."
            )
        total = sum(each) if isinstance(self.degree, (tuple, list)) else each[0]
        powers = product(*(range(degree + 1) for degree in each))
        self.powers_ = np.array(sorted((p for p in powers if sum(p) <= total), key=lambda p: (sum(p), p)))

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        points = X.reshape(len(X), -1).astype(np.float64)
        self.box_ = np.stack([points.min(axis=0), points.max(axis=0)])
        self.derive()

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        low, high = self.box_
        middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
        x = (X.reshape(len(X), -1) - middle) / half
        # P_n(1 + e) is about I_0(n sqrt(2 e)), which hardly grows up to e = 1 / (2 n^2).
        top = int(self.powers_.max())
        beyond = np.any(np.abs(x) > 1 + 0.5 / max(1, top) ** 2, axis=1)
        if beyond.any():
            warnings.warn(
                f"{int(beyond.sum())} of {len(x)} points lie outside the box of the training points, where "
                "polynomials grow fast. Train on points that cover the entire domain.",
                ExtrapolationWarning,
                stacklevel=4,
            )
        out[:] = 1
        for column, power in zip(x.T, self.powers_.T, strict=True):
            out *= legvander(column, top)[:, power]

    def _jet(self, X: Jet) -> Jet:
        low, high = self.box_
        half = np.where(high > low, (high - low) / 2, 1.0)
        x, n = (X + -(low + high) / 2) * (1 / half), int(self.powers_.max())
        found: Any = None
        for j, power in enumerate(self.powers_.T):
            own = x.part((slice(None), slice(j, j + 1)))
            # (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1)
            P = [own * 0.0 + 1.0, own]
            for k in range(1, n):
                P.append((own * P[k]) * ((2 * k + 1) / (k + 1)) + P[k - 1] * (-k / (k + 1)))
            every = Jet(np.concatenate([p.coefficients for p in P[: n + 1]], axis=-1), X.orders)
            factor = every.part((slice(None), power))
            found = factor if found is None else found * factor
        return found

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        (low, high), d, n = self.box_, self._dimension(), int(self.powers_.max())
        x = graph.scale(x, 1 / np.where(high > low, (high - low) / 2, 1.0), before=(low + high) / 2)
        P = [graph.constant(np.ones(d)), x]
        for k in range(1, n):
            up = graph.scale(graph.product([x, P[k]]), (2 * k + 1) / (k + 1))
            P.append(graph.sum([up, graph.scale(P[k - 1], -k / (k + 1))]))
        every = graph.concat(P[: n + 1])  # degree k of coordinate j at k d + j
        return graph.product([graph.gather(every, d * power + j) for j, power in enumerate(self.powers_.T)])

    def _dimension(self) -> int:
        return int(np.prod(self.input_shape_))


class Sinusoid(FeatureMap):
    """Sinusoidal functions of coordinates in the unit cube: a trunk without weights.

    Parameters
    ----------
    width : number of functions, p2.
    basis :
        "printed": exactly as in the paper. In 1-D ``sin(w_k x)`` and ``cos(w_k x)`` with
        ``w_k = 32 k pi / (2 p2)``, k = 1 ... p2/2: frequencies up to 8 pi for any p2. In 2-D the
        four products of ``sin(n pi x), cos(n pi x + pi/2)`` with ``sin(n pi y), cos(n pi y + pi/2)``,
        n = 1 ... p2/4, which span only p2/4 directions because ``cos(z + pi/2) = -sin(z)``.
        "tensor": ``prod_i sin(n_i pi x_i)`` with n_i >= 1, lowest frequencies first: complete for functions
        that vanish on the boundary. "cosine": ``prod_i cos(n_i pi x_i)`` with n_i >= 0: complete for
        functions with any boundary values. Both in any dimension.

    Examples
    --------
    >>> Sinusoid(3, basis="tensor").fit_transform([[0.5]]).round(12)
    array([[ 1.,  0., -1.]])
    """

    def __init__(self, width: int = 100, basis: str = "printed"):
        self.width = width
        self.basis = basis

    def derive(self) -> None:
        """Compute the frequencies."""
        width, d = positive_integer(self.width, "width"), int(np.prod(self.input_shape_))
        basis = choice(self.basis, "basis", ("printed", "tensor", "cosine"))
        if basis != "printed":
            self.frequencies_: np.ndarray = np.pi * _lowest(width, d, least=1 if basis == "tensor" else 0)
            return
        if d > 2:
            raise InputError(
                f"the paper's bases are for one and two dimensions, and the points have {d}: use "
                'basis="tensor" or basis="cosine".'
            )
        if width % (2 * d):
            raise InputError(f"the printed basis needs a width that is a multiple of {2 * d}; got {width}.")
        k = np.arange(1, width // (2 * d) + 1)[:, None]
        self.frequencies_ = 32 * k * np.pi / (2 * width) if d == 1 else np.pi * np.hstack([k, k])

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        # phase[i, k, j] = frequency k, coordinate j of point i
        phase = X.reshape(len(X), 1, -1) * self.frequencies_.astype(X.dtype)
        if self.basis == "tensor":
            np.prod(np.sin(phase), axis=2, out=out)
        elif self.basis == "cosine":
            np.prod(np.cos(phase), axis=2, out=out)
        elif phase.shape[2] == 1:
            out[:] = np.hstack([np.sin(phase[..., 0]), np.cos(phase[..., 0])])
        else:
            sx, sy = np.moveaxis(np.sin(phase), 2, 0)
            cx, cy = np.moveaxis(np.cos(phase + np.pi / 2), 2, 0)
            out[:] = np.hstack([sx * sy, sx * cy, cx * sy, cx * cy])

    def _jet(self, X: Jet) -> Jet:
        d = self.frequencies_.shape[1]
        phases = [X.part((slice(None), slice(j, j + 1))) * self.frequencies_[:, j] for j in range(d)]
        if self.basis in ("tensor", "cosine"):
            waves = [phase.through(TAYLOR["sin" if self.basis == "tensor" else "cos"]) for phase in phases]
            return reduce(Jet.__mul__, waves)
        # The printed bases: sines and cosines; in two dimensions their products.
        shift = 0.0 if d == 1 else np.pi / 2
        pairs = [(p.through(TAYLOR["sin"]), (p + shift).through(TAYLOR["cos"])) for p in phases]
        parts = pairs[0] if d == 1 else [a * b for a in pairs[0] for b in pairs[1]]
        return Jet(np.concatenate([part.coefficients for part in parts], axis=-1), X.orders)

    def trace(self, graph: Graph, x: int) -> int:
        """Write the map as array operations: add to `graph` what turns value x into features."""
        d = self.frequencies_.shape[1]
        phases = [
            graph.scale(graph.gather(x, np.full(len(w), j)), w) for j, w in enumerate(self.frequencies_.T)
        ]
        if self.basis in ("tensor", "cosine"):
            wave = "sin" if self.basis == "tensor" else "cos"
            return graph.product([graph.elementwise(phase, wave) for phase in phases])
        shift = 0.0 if d == 1 else np.pi / 2
        pairs = [
            (graph.elementwise(p, "sin"), graph.elementwise(graph.scale(p, 1.0, after=shift), "cos"))
            for p in phases
        ]
        parts = pairs[0] if d == 1 else [graph.product([a, b]) for a in pairs[0] for b in pairs[1]]
        return graph.concat(parts)

    def _row_size(self) -> int:
        return self.width_ * int(np.prod(self.input_shape_))


def _lowest(count: int, d: int, least: int) -> np.ndarray:
    """Return the `count` index vectors of least norm in {least, least + 1, ...}^d: (count, d)."""
    top = least
    while True:
        # The entries of a vector of norm at most `top` are at most `top`.
        inside = [n for n in product(range(least, top + 1), repeat=d) if sum(i * i for i in n) <= top**2]
        if len(inside) >= count:
            return np.array(sorted(inside, key=lambda n: (sum(i * i for i in n), n))[:count])
        top = max(top + 1, int(top * 1.2))


class POD(FeatureMap):
    """The left singular vectors of the training outputs ``G = Z S V'``: an orthonormal trunk.

    No other trunk of the same width represents the training outputs better. At the training points
    the modes are exact; elsewhere they are interpolated: by cubic splines if the points form a grid,
    by cubic radial basis functions if they are scattered.

    Parameters
    ----------
    rank : number of modes; None: all above rounding.
    energy : instead of `rank`, the fraction of ``||G||^2`` to keep, in (0, 1].

    Examples
    --------
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> values = np.hstack([np.sin(x), 3 * np.sin(x), np.exp(x)])  # three functions, of two shapes
    >>> POD().fit(x, values).width_
    2
    """

    learns_from = ("outputs",)

    def __init__(self, rank: int | None = None, energy: float | None = None):
        self.rank = rank
        self.energy = energy

    @property
    def width_(self) -> int:
        """The number of modes."""
        return int(self.modes_.shape[1])

    def fitted_arrays(self) -> dict[str, np.ndarray]:
        """Return the training points and the modes at these points."""
        return {"points_": self.points_, "modes_": self.modes_}

    def _prepare(self, X: np.ndarray, y: Any) -> None:
        y = None if y is None else np.asarray(y)
        if y is None or y.ndim not in (1, 2) or len(y) != len(X):
            raise InputError(
                "POD is a trunk that learns its functions from outputs: call fit(points, values) with values "
                f"(M, N), one row per point; got points {X.shape} and values of shape {np.shape(y)}."
            )
        y = y.reshape(len(y), -1)
        modes, s = _principal(y.astype(self.dtype_, copy=False))
        modes = modes[:, : self._number_of_modes(s, max(np.shape(y)))]
        self.points_ = np.array(X, np.float64)
        # Signs are arbitrary: make the largest entry of each mode positive.
        top = np.abs(modes).argmax(axis=0)
        self.modes_ = np.ascontiguousarray(modes * np.sign(modes[top, np.arange(modes.shape[1])]))

    def _number_of_modes(self, s: np.ndarray, n: int) -> int:
        if self.rank is not None and self.energy is not None:
            raise InputError(
                f"set rank or energy of POD, not both; got rank={self.rank!r}, energy={self.energy!r}."
            )
        if self.rank is not None:
            rank = positive_integer(self.rank, "rank")
            if rank > len(s):
                raise InputError(f"rank must be at most min(M, N) = {len(s)}, got {rank}.")
            return rank
        if self.energy is not None:
            energy = number(self.energy, "energy", strict=True)
            if energy > 1:
                raise InputError(f"energy must be at most 1, got {energy}.")
            part = np.cumsum(s**2) / max(np.sum(s**2), np.finfo(s.dtype).tiny)
            return min(int(np.searchsorted(part, energy * (1 - 1e-15))) + 1, len(s))
        return max(1, int(np.count_nonzero(s > n * np.finfo(s.dtype).eps * s[0])))

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        out[:] = self._interpolate(X)

    def _features(self, X: np.ndarray) -> np.ndarray:
        return self.modes_ if np.array_equal(X, self.points_) else super()._features(X)

    def _interpolate(self, X: np.ndarray) -> np.ndarray:
        X = X.astype(np.float64, copy=False)
        low, high = self.points_.min(axis=0), self.points_.max(axis=0)
        beyond = np.any((low - X > 1e-9 * (high - low)) | (X - high > 1e-9 * (high - low)), axis=1)
        if beyond.any():
            warnings.warn(
                f"{int(beyond.sum())} of {len(X)} points lie outside the box of the training points: POD "
                "modes are extrapolated there. Train on points that cover the entire domain, or use another "
                "trunk.",
                ExtrapolationWarning,
                stacklevel=4,
            )
        return interpolate(self.points_, self.modes_, X)

    def _row_size(self) -> int:
        axes, _ = as_grid(self.points_)
        widest = len(self.points_) if axes is None else len(self.points_) // len(axes[0]) * self.width_
        return max(widest, self.width_)


def _principal(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return left singular vectors and singular values of G (M, N), without forming the right ones."""
    largest = np.abs(G).max()
    if largest > 0:
        G = G / largest
    if G.shape[0] <= G.shape[1]:
        G = qr(G.T, mode="r", check_finite=False)[0][: G.shape[0]].T
    Z, s, _ = svd(G, full_matrices=False, check_finite=False)
    return Z, s

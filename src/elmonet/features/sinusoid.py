"""Sines and cosines as a trunk."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np

from elmonet._check import InputError, choice, positive_integer
from elmonet.features.base import FeatureMap
from elmonet.features.jet import TAYLOR, Jet

__all__ = ["Sinusoid"]


class Sinusoid(FeatureMap):
    """Sinusoidal functions of coordinates in the unit cube, a trunk without weights.

    Parameters
    ----------
    width : number of functions, p2.
    basis :
        "printed": exactly as in the paper. In 1-D ``sin(w_k x)`` and ``cos(w_k x)`` with
        ``w_k = 32 k pi / (2 p2)``, k = 1 ... p2/2: frequencies up to 8 pi whatever p2 is. In 2-D the
        four products of ``sin(n pi x), cos(n pi x + pi/2)`` with ``sin(n pi y), cos(n pi y + pi/2)``,
        n = 1 ... p2/4, which span only p2/4 directions because ``cos(z + pi/2) = -sin(z)``.
        "tensor": ``prod_i sin(n_i pi x_i)`` with n_i >= 1, lowest frequencies first: all functions
        that vanish on the boundary. "cosine": ``prod_i cos(n_i pi x_i)`` with n_i >= 0: all functions,
        whatever their boundary values. Both in any dimension.

    Examples
    --------
    >>> Sinusoid(3, basis="tensor").fit_transform([[0.5]]).round(12)
    array([[ 1.,  0., -1.]])
    """

    def __init__(self, width: int = 100, basis: str = "printed"):
        self.width = width
        self.basis = basis

    def derive(self) -> None:
        """Find the frequencies."""
        width, d = positive_integer(self.width, "width"), int(np.prod(self.input_shape_))
        basis = choice(self.basis, "basis", ("printed", "tensor", "cosine"))
        if basis != "printed":
            self.frequencies_: np.ndarray = np.pi * _lowest(width, d, least=1 if basis == "tensor" else 0)
            return
        if d > 2:
            raise InputError(
                f"the paper gives bases in one and two dimensions, and the points have {d}: use "
                'basis="tensor" or basis="cosine".'
            )
        if width % (2 * d):
            raise InputError(f"the printed basis needs a width that is a multiple of {2 * d}, got {width}.")
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
        # The printed bases: sines beside cosines; in two dimensions their products.
        shift = 0.0 if d == 1 else np.pi / 2
        pairs = [(p.through(TAYLOR["sin"]), (p + shift).through(TAYLOR["cos"])) for p in phases]
        parts = pairs[0] if d == 1 else [a * b for a in pairs[0] for b in pairs[1]]
        return Jet(np.concatenate([part.coefficients for part in parts], axis=-1), X.orders)

    def _row_size(self) -> int:
        return self.width_ * int(np.prod(self.input_shape_))


def _lowest(count: int, d: int, least: int) -> np.ndarray:
    """The `count` index vectors in {least, least + 1, ...}^d of least norm, (count, d)."""
    top = least
    while True:
        # Every vector of norm at most `top` has entries of at most `top`.
        inside = [n for n in product(range(least, top + 1), repeat=d) if sum(i * i for i in n) <= top**2]
        if len(inside) >= count:
            return np.array(sorted(inside, key=lambda n: (sum(i * i for i in n), n))[:count])
        top = max(top + 1, int(top * 1.2))

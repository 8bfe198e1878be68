"""Fixed linear maps that carry a field over the whole domain: Green's functions and heat kernels.

A kernel multiplies the waves of a field by a function of their eigenvalue under -Laplacian. Which waves these
are is a matter of the boundary: exp(2 pi i k x) where an axis is periodic, sin(pi k x) where fields vanish at
the ends, cos(pi k x) where their slopes do. All lengths are in units of the longest axis, so that a kernel is
the same map on every resolution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import fft

from elmonet.description import Graph
from elmonet.layered.grid import Grid

Boundary = Literal["periodic", "zero", "free"]
_SYMBOLS = 64  # factors of all waves that are kept: of few kernels on few grids
_SLOPES: dict[Boundary, Boundary] = {"periodic": "periodic", "zero": "free", "free": "zero"}


@dataclass(frozen=True)
class SmoothingKernel:
    """The map d/dx_along (-Laplacian + screening^-2)^-power exp(width^2 Laplacian / 2).

    Without screening, a constant field, which the Laplacian maps to 0, is mapped to 0 by its negative powers.

    Attributes
    ----------
    boundary : of the waves along each axis: "periodic", "zero" (sines) or "free" (cosines).
    power : 1 is the inverse Laplacian, 1/2 its square root, 0 the identity.
    screening : length over which (-Laplacian + screening^-2)^-1 decays, in units of the longest axis; 0 for
        none.
    width : of the Gaussian of the heat kernel, in the same unit; 0: none.
    along : the axis of a derivative of the result; None for no derivative.
    """

    boundary: tuple[Boundary, ...]
    power: float = 1.0
    screening: float = 0.0
    width: float = 0.0
    along: int | None = None

    def __call__(self, fields: np.ndarray, training: Grid) -> np.ndarray:
        """Apply the kernel to fields (..., *shape) on any grid of the domain of the `training` grid."""
        axes = range(-len(self.boundary), 0)
        waves = fields
        for axis, boundary in zip(axes, self.boundary, strict=True):
            waves = _waves_of(waves, axis, boundary)
        # Out of place: the symbol is of double precision, the fields may be of single.
        waves = waves * _symbol(self, fields.shape[-len(self.boundary) :], training).astype(fields.dtype)
        for axis, boundary in zip(axes, self.boundary, strict=True):
            length = _lengths(training)[axis]
            derived = self.along is not None and axis == self.along - len(self.boundary)
            waves = _field_of(waves, axis, boundary, length if derived else None)
        return np.ascontiguousarray(waves.real)

    def slope(self, axis: int) -> SmoothingKernel:
        """Return the kernel followed by a derivative, whose results have the boundary of this kernel's.

        Slopes of sines are cosines: for (-Laplacian)^-1 on sines, this is f -> (-Laplacian)^-1 df/dx of a
        field, such as a flux, that does not vanish at the ends of the axis.
        """
        boundary = tuple(_SLOPES[b] if i == axis else b for i, b in enumerate(self.boundary))
        return replace(self, boundary=boundary, along=axis)

    def rows(self, at: np.ndarray, grid: Grid, training: Grid) -> np.ndarray:
        """Return the rows (R, M) of the kernel as a matrix that give its results at points `at` (R,).

        Their product with many fields is cheaper than the transforms of these fields, where results are
        needed at few points. Every analysis transform is symmetric as a matrix: row i of the kernel is
        the analysis of the waves' values at point i, times the symbol.
        """
        shape, lengths = grid.shape, _lengths(training)
        found = np.ones((len(at), *[1] * len(shape)), np.complex128)
        for axis, (places, n, boundary) in enumerate(
            zip(np.unravel_index(at, shape), shape, self.boundary, strict=True)
        ):
            length = lengths[axis] if axis == self.along else None
            values = _field_of(np.eye(n), -1, boundary, length)[:, places].T  # (R, waves)
            like = [len(at), *[1] * len(shape)]
            like[1 + axis] = n
            found = found * values.reshape(like)
        found *= _symbol(self, shape, training)
        for axis, boundary in enumerate(self.boundary):
            found = _waves_of(found, 1 + axis, boundary)
        return np.ascontiguousarray(found.real).reshape(len(at), -1)

    def trace(self, graph: Graph, field: int, grid: Grid, training: Grid) -> int:
        """Write the kernel as array operations: matrices along each axis, and factors of the waves."""
        shape, lengths, synthesis = grid.shape, _lengths(training), []
        for axis, (n, boundary) in enumerate(zip(shape, self.boundary, strict=True)):
            to_waves = _waves_of(np.eye(n), 0, boundary)
            to_field = _field_of(np.eye(n), 0, boundary, lengths[axis] if axis == self.along else None)
            if boundary == "periodic":  # sines and cosines; wave numbers k and -k have one factor
                kept = np.arange(n) <= n // 2
                to_waves = np.where(kept[:, None], to_waves.real, to_waves.imag)
                to_field = np.where(kept, to_field.real, -to_field.imag)
                to_field[:, (np.arange(n) > 0) & (2 * np.arange(n) != n)] *= 2
            field = graph.along_axis(field, shape, axis, to_waves)
            synthesis.append(to_field)
        field = graph.scale(field, _symbol(self, shape, training))
        for axis, to_field in enumerate(synthesis):
            field = graph.along_axis(field, shape, axis, to_field)
        return field

    def __str__(self) -> str:
        text = {0.0: "", 1.0: "inverse Laplacian"}.get(self.power, f"Laplacian^-{self.power:g}")
        if self.screening:
            text += f" screened at {self.screening:g}"
        if self.width:
            text += f"{' and ' if text else ''}heat kernel of width {self.width:g}"
        kinds = dict.fromkeys(self.boundary)
        return f"{text}{'' if self.along is None else f', d/dx{self.along + 1}'} ({', '.join(kinds)})"


@lru_cache(_SYMBOLS)
def _symbol(kernel: SmoothingKernel, shape: tuple[int, ...], training: Grid) -> np.ndarray:
    """Return the factor of each wave."""
    eigenvalue = np.zeros([1] * len(shape))
    for axis, (n, length, boundary) in enumerate(
        zip(shape, _lengths(training), kernel.boundary, strict=True)
    ):
        like = [1] * len(shape)
        like[axis] = n
        eigenvalue = eigenvalue + (_wave_numbers(n, boundary) / length).reshape(like) ** 2
    if kernel.screening:
        eigenvalue = eigenvalue + kernel.screening**-2
    known = eigenvalue > 0
    factor = np.where(known, np.where(known, eigenvalue, 1.0) ** -kernel.power, kernel.power == 0)
    return np.asarray(factor * np.exp(-(kernel.width**2) / 2 * eigenvalue))


def _lengths(training: Grid) -> list[float]:
    """Return the length of each axis in units of the longest, measured in steps of the training grid.

    Steps, not coordinates: a kernel does not change with the units of an axis.
    """
    steps = [n if around else n - 1 for n, around in zip(training.shape, training.periodic, strict=True)]
    return [count / max(steps) for count in steps]


def _wave_numbers(n: int, boundary: Boundary) -> np.ndarray:
    """Return the wave numbers (n,) of the transforms, for an axis of length 1."""
    return 2 * np.pi * fft.fftfreq(n, 1 / n) if boundary == "periodic" else np.pi * np.arange(n)


def _waves_of(fields: np.ndarray, axis: int, boundary: Boundary) -> np.ndarray:
    """Return the coefficients of n waves along an axis of n points; as a matrix, this is symmetric.

    The coefficients of the constant and of the shortest sine, which vanish at all points, are 0.
    """
    if boundary == "periodic":
        return np.asarray(fft.fft(fields, axis=axis, norm="forward"))
    n = fields.shape[axis]
    if boundary == "zero":
        return _of_inner(fields, axis, 1 / (n - 1))
    waves = _along(fft.dct, fields, axis) / (n - 1)
    _ends(waves, axis)[...] /= 2
    return waves


def _field_of(waves: np.ndarray, axis: int, boundary: Boundary, length: float | None) -> np.ndarray:
    """Invert `_waves_of`, or return the derivative along the axis, which has that length."""
    n = waves.shape[axis]
    if length is not None:
        like = [1] * waves.ndim
        like[axis] = n
        k = (_wave_numbers(n, boundary) / length).astype(waves.real.dtype).reshape(like)
        if boundary == "periodic" and n % 2 == 0:
            k[tuple(slice(n // 2, n // 2 + 1) if m > 1 else slice(None) for m in like)] = 0
        waves = waves * ({"periodic": 1j, "zero": 1, "free": -1}[boundary] * k)
        boundary = _SLOPES[boundary]
    if boundary == "periodic":
        return np.asarray(fft.ifft(waves, axis=axis, norm="forward"))
    if boundary == "zero":
        return _of_inner(waves, axis, 0.5)
    waves = waves * 0.5
    _ends(waves, axis)[...] *= 2
    return _along(fft.dct, waves, axis)


def _of_inner(values: np.ndarray, axis: int, factor: float) -> np.ndarray:
    """Return the sine transform of the values between both ends, times a factor; 0 at the ends."""
    out = np.zeros_like(values)
    inner = [slice(None)] * values.ndim
    inner[axis] = slice(1, -1)
    if values.shape[axis] > 2:
        out[tuple(inner)] = _along(fft.dst, values[tuple(inner)], axis) * factor
    return out


def _along(transform: object, values: np.ndarray, axis: int) -> np.ndarray:
    """Return a cosine or sine transform of type 1 of real or complex values."""
    assert callable(transform)
    if np.iscomplexobj(values):
        real, imaginary = (transform(part, type=1, axis=axis) for part in (values.real, values.imag))
        return np.asarray(real + 1j * imaginary)
    return np.asarray(transform(values, type=1, axis=axis))


def _ends(values: np.ndarray, axis: int) -> np.ndarray:
    """Return a view of the first and the last values along an axis."""
    both = [slice(None)] * values.ndim
    both[axis] = slice(None, None, values.shape[axis] - 1)
    return values[tuple(both)]

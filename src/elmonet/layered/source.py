"""A field at fixed places that is the same for all functions, such as a forcing: no window shows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elmonet.layered.features import LayerFeatures
from elmonet.layered.grid import Grid
from elmonet.layered.layer import NormalEquations
from elmonet.layered.settings import Fields, LayerSettings
from elmonet.metrics import relative_l2

_FITTED_VALUES = 500_000  # output values by which the map is fitted
_ALPHA = 1e-10  # its ridge, relative to each feature's own size: as good as none
_GAIN = 0.95  # held-out error with the field, relative to without, from which layers see it
_STEP = 0.5  # share of the outputs that one input channel must explain: outputs are later states


def fit_source(u: np.ndarray, s: np.ndarray, grid: Grid, settings: LayerSettings) -> np.ndarray:
    """Return the field g of least squares in ``s_i = c' phi(u_i) + g``, (c, *shape), of mean square 1.

    phi are the windows and products of `settings`. For any c, the best g is the mean of the residuals over
    the functions: c is fitted to deviations from the mean function.
    """
    g = _LocalMap(u, s, grid, settings).intercept
    size = np.sqrt(np.mean(g**2, axis=tuple(range(1, g.ndim)), keepdims=True))
    return np.asarray(g / np.where(size > 0, size, 1.0))


def source_helps(fitted: Fields, held_out: Fields, grid: Grid, settings: LayerSettings) -> bool:
    """Return whether ``c' phi + g`` predicts held-out functions better than ``c' phi`` with a constant."""
    assert fitted.s is not None
    assert held_out.s is not None
    local = _LocalMap(fitted.u, fitted.s, grid, settings)
    own, g = local(held_out.u), local.intercept
    constant = g.mean(axis=tuple(range(1, g.ndim)), keepdims=True)
    return relative_l2(own + g, held_out.s) < _GAIN * relative_l2(own + constant, held_out.s)


def are_steps(u: np.ndarray, s: np.ndarray) -> bool:
    """Return whether outputs (N, c, *shape) look like later states of inputs (N, C, *shape)."""
    return all(max(_explained(x, y) for x in np.moveaxis(u, 1, 0)) > _STEP for y in np.moveaxis(s, 1, 0))


def _explained(x: np.ndarray, y: np.ndarray) -> float:
    """Return the share of the sum of squares of y that a multiple of x explains."""
    of_x, of_y = float(np.vdot(x, x)), float(np.vdot(y, y))
    return float(np.vdot(x, y)) ** 2 / (of_x * of_y) if of_x * of_y > 0 else 0.0


class _LocalMap:
    """The map u -> c' phi(u), and its `intercept` (c, *shape)."""

    def __init__(self, u: np.ndarray, s: np.ndarray, grid: Grid, settings: LayerSettings):
        some = slice(0, max(2, _FITTED_VALUES // grid.size))
        u, s = u[some], s[some]
        alone = replace(settings, width=0, smoothed=0, patterns=0, kernels=())
        self.features = LayerFeatures.of(alone, 0, grid, Fields(u[:8]))
        self.windows, self.everywhere = self.features.windows(grid), np.arange(grid.size)
        s = s.reshape(*s.shape[:2], -1)
        mean, of_s = np.zeros((self.features.size, grid.size)), s.mean(axis=0)
        for x in u:
            mean += self._phi(x)
        mean /= len(u)  # of the column of ones exactly 1: its deviations are 0, not rounding
        sums = NormalEquations.empty(self.features.size, len(of_s))
        for x, y in zip(u, s, strict=True):
            sums.add(self._phi(x) - mean, y - of_s)
        found = sums.solve(_ALPHA)
        self.coefficients = np.zeros((len(mean), len(of_s))) if found is None else found
        self.intercept = (of_s - self.coefficients.T @ mean).reshape(-1, *grid.shape)

    def _phi(self, x: np.ndarray) -> np.ndarray:
        """Return phi (q, M) of one function."""
        return self.features(Fields(x[None]), self.windows, self.everywhere)

    def __call__(self, u: np.ndarray) -> np.ndarray:
        found = np.stack([self.coefficients.T @ self._phi(x) for x in u])
        return found.reshape(len(u), *self.intercept.shape)

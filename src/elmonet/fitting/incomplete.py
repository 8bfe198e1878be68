"""Fits to incomplete outputs: at common points with gaps, or at scattered points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from math import comb
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from elmonet.errors import InputError
from elmonet.features.base import checked_features, features_of, fit_features, fit_map, learns_from
from elmonet.linalg import product, squared_norm
from elmonet.memory import require_features
from elmonet.solve import Solution
from elmonet.solve.gaps import FeatureGram, Gaps, solved_directly
from elmonet.solve.observations import (
    AlphaChoice,
    AtScatteredPoints,
    Unaligned,
    UnalignedFit,
    WithGaps,
    resolved,
)
from elmonet.solve.problem import Span, lifted, power_of_two
from elmonet.solve.spectral import Spectrum
from elmonet.summary import plural

_WIDTHS = (20, 40, 80, 130, 200)  # of the trunks that are tried
_MAX_WIDTH = 1.5  # of a trunk, relative to the known values of a function
_GAIN = 0.9  # error of a wider trunk, relative to the best so far, that is worth going on
_COMPLETE = 1e-8  # of the outputs: a trunk that misses no more keeps all of them
_TRUNK_GROWTH = 2.0  # seconds of a fit grow by this power of the trunk's width: products and steps
_ALPHA_POINTS = 30  # points that are enough to choose a first alpha


class UnalignedOperator(NamedTuple):
    """A fitted branch, a fitted trunk, and the `Solution` between them."""

    branch: Any
    trunk: Any
    solution: Solution


def fit_with_gaps(
    Z: np.ndarray,
    y: np.ndarray,
    P: np.ndarray,
    branch: Any,
    trunk: Any,
    alpha: float | None,
    weights: np.ndarray | None = None,
    until: float = np.inf,
) -> UnalignedOperator:
    """Fit outputs y (N, M) at common points P (M, d) with missing values (NaN), which are left out.

    A trunk that learns from outputs (POD) learns from outputs whose gaps are filled: first by a fit of every
    point by itself and, if the trunk keeps only a part of these outputs, once more by a fit with it. Inputs
    Z (N, ...) and points are as branch and trunk see them. `alpha` is the ridge parameter (0: pseudoinverse),
    or None to choose it by held-out functions; `weights` (N,) are square roots of sample weights. Raises
    `TimeoutError` after `until`, of `perf_counter`.
    """
    started, known = perf_counter(), ~np.isnan(y)
    never = np.flatnonzero(~known.any(axis=0))
    if never.size:
        raise InputError(
            f"y has {plural(never.size, 'point')} without a value in any function (the first: point "
            f"{never[0]}). Remove what has no value from y and points."
        )
    w, g = np.ones(len(Z)) if weights is None else weights, power_of_two(y)
    y = y.astype(float) * g
    data = _Gappy(_branch_features(branch, Z) * w, known, y * w[:, None], alpha, weights, until)
    filled, near, whole = np.where(known, y, np.nanmean(y, axis=0)) * w[:, None], None, False
    looks = 2 if "outputs" in learns_from(trunk) else 1
    if looks > 1:
        # Without a trunk every point is fitted by itself, and some of them are enough for a rough alpha.
        some = np.unique(np.linspace(0, len(P) - 1, _ALPHA_POINTS).astype(int))
        first = data.problem(np.eye(len(some)), some).choose(alpha, rough=True)
        near, filled = first.alpha, data.filled(np.eye(len(P)), first)
    for look in range(looks):
        fit_map(trunk, P, (filled / w[:, None]).T)
        span = Span(features_of(trunk, P, "trunk").astype(float))
        outside = filled - product(product(filled, span.Q), span.Q.T)
        whole = looks > 1 and np.linalg.norm(outside) <= _COMPLETE * np.linalg.norm(filled)
        if whole or look == looks - 1:
            break
        # The trunk keeps only a part of what it has seen: so let it see the best there is.
        first = data.problem(span.Q).choose(alpha, near, rough=True)
        near, filled = first.alpha, data.filled(span.Q, first)
    problem = data.problem(span.Q)
    choice = data.choose_without_trunk(problem, span.Q, near) if whole else problem.choose(alpha, near)
    return UnalignedOperator(branch, trunk, _solution(problem.fit(choice), choice, span, g, started))


def fit_scattered(
    Z: np.ndarray,
    index: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    branch: Any,
    trunks: Iterable[Any],
    alpha: float | None,
    weights: np.ndarray | None = None,
    until: float = np.inf,
) -> UnalignedOperator:
    """Fit outputs that are known at different points for every function; arguments as in `fit_with_gaps`.

    Value k of `values` (K,) is that of function index[k] at places[k], of (K, d). The trunks, which may not
    learn from outputs, are tried in turn; the first that gains little is the last, and none but the first is
    tried that would end after `until`, of `perf_counter`.
    """
    started, n = perf_counter(), len(Z)
    w, g = np.ones(n) if weights is None else weights, power_of_two(values)
    order = np.argsort(index, kind="stable")
    order = order[w[index[order]] > 0]
    index, places, values = index[order], places[order], values[order] * (w[index[order]] * g)
    spectrum = _spectrum(_branch_features(branch, Z) * w, alpha)
    best: tuple[AlphaChoice, Unaligned, Span, Any] | None = None
    near, begun, width = None, perf_counter(), 0
    for trunk in trunks:
        if "outputs" in learns_from(trunk):
            raise InputError(
                "POD needs outputs at common points, and these are scattered. Give no trunk, which takes "
                "polynomials, or give Legendre(degree), Sinusoid or SLFN."
            )
        require_features(len(places), fit_map(trunk, places[:2]).width_)
        took, begun = perf_counter() - begun, perf_counter()
        if width and begun + took * (trunk.width_ / width) ** _TRUNK_GROWTH > until:
            break
        width = trunk.width_
        fit_map(trunk, places)
        # Scaled so that the values of a function determine its coefficients as an orthonormal basis does.
        span = Span(features_of(trunk, places, "trunk").astype(float) / np.sqrt(n))
        known = AtScatteredPoints(span.Q * np.sqrt(n), index, n)
        problem = Unaligned(known, spectrum, values.astype(float), weights)
        choice = problem.choose(alpha, near)
        if best is None or choice.error < best[0].error:
            gained = best is None or choice.error < _GAIN * best[0].error
            best = choice, problem, span, trunk
            near = choice.alpha
            if gained:
                continue
        break
    assert best is not None
    choice, problem, span, trunk = best
    return UnalignedOperator(branch, trunk, _solution(problem.fit(choice), choice, span, g, started))


def degrees(d: int, known: float) -> list[int]:
    """Return the degrees of polynomials in d variables worth trying for so many known values per function."""
    found = [next(g for g in range(1, 1000) if comb(g + d, d) >= width) for width in _WIDTHS]
    first, *more = dict.fromkeys(found)
    return [first, *(degree for degree in more if comb(degree + d, d) <= _MAX_WIDTH * known)]


class _Gappy:
    """Outputs y (N, M) with gaps, and the features B (p1, N) of their inputs, both times `roots` (N,)."""

    def __init__(
        self,
        B: np.ndarray,
        known: np.ndarray,
        y: np.ndarray,
        alpha: float | None,
        roots: np.ndarray | None,
        until: float,
    ):
        self.known, self.y, self.alpha, self.roots, self.until = known, y, alpha, roots, until
        self.features = FeatureGram(B)

    def problem(self, Q: np.ndarray, points: Any = slice(None)) -> Gaps | Unaligned:
        """Return the problem at some of the points, with an orthonormal basis Q of the trunk there."""
        known, y = self.known[:, points], self.y[:, points]
        if solved_directly(Q, known, self.features, self.alpha):
            return Gaps(Q, known, self.features, y, self.roots, self.until)
        return Unaligned(WithGaps(Q, known), self._spectrum, y[known], self.roots)

    def filled(self, Q: np.ndarray, choice: AlphaChoice) -> np.ndarray:
        """Return the outputs with gaps filled by a fit with this basis."""
        C = self.problem(Q).fit(replace(choice, guess=None)).C
        return np.where(self.known, self.y, product(product(Q, C), self.features.B).T)

    def choose_without_trunk(
        self, problem: Gaps | Unaligned, Q: np.ndarray, near: float | None
    ) -> AlphaChoice:
        """Choose alpha for a trunk that keeps all outputs, by fits of every point by itself if that is cheap.

        Such a trunk hardly changes the fit, from which an iteration with it then starts.
        """
        everywhere = self.problem(np.eye(len(Q)))
        if isinstance(problem, Gaps) or isinstance(everywhere, Unaligned):
            return problem.choose(self.alpha, near)
        choice = everywhere.choose(self.alpha, near)
        return replace(choice, guess=problem.guess(product(Q.T, everywhere.fit(choice).C)))

    @cached_property
    def _spectrum(self) -> Spectrum:
        return _spectrum(self.features.B, self.alpha)


def _spectrum(B: np.ndarray, alpha: float | None) -> Spectrum:
    """Return the spectrum of B from a Gram matrix, unless alpha is below what that resolves."""
    return Spectrum.from_gram(B) if resolved(alpha, squared_norm(B)) else Spectrum.from_svd(B)


def _branch_features(branch: Any, Z: np.ndarray) -> np.ndarray:
    """Return B (p1, N), in double precision."""
    return checked_features(fit_features(branch, Z), branch, Z, "branch").T.astype(float)


def _solution(fit: UnalignedFit, choice: AlphaChoice, span: Span, g: float, started: float) -> Solution:
    """Return the solution for outputs that were multiplied by g."""
    return Solution(
        **lifted(span, fit.C / g),
        rank_T=span.rank,
        rank_B=fit.rank_B,
        cutoff=fit.cutoff,
        condition=fit.condition,
        residual=fit.residual,
        alpha=choice.alpha,
        expected_error=choice.error,
        error_kind="held out",
        seconds=perf_counter() - started,
        method=fit.method,
        alphas=choice.alphas,
        path=choice.path,
    )

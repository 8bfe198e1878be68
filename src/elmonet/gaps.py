"""Fits to outputs that are not all known at the same points, and predictions at points of each function."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from time import perf_counter
from typing import Any

import numpy as np

from elmonet._blas import product
from elmonet._check import InputError
from elmonet.data.scattered import Scattered
from elmonet.features import Legendre, PerComponent
from elmonet.features.base import features_times, fit_features
from elmonet.layout import Layout, root_mean_squares
from elmonet.lift import lift_at_own_points
from elmonet.memory import require_features
from elmonet.parts import checked_features, features_of, learns_outputs
from elmonet.solve import Pinv, Ridge, Solution
from elmonet.solve.known import AtOwnPoints, WithGaps
from elmonet.solve.span import Span
from elmonet.solve.spectrum import Spectrum
from elmonet.solve.unaligned import Choice, Unaligned

__all__ = ["degrees", "fit_scattered", "fit_with_gaps", "predict_scattered"]

_WIDTHS = (20, 40, 80, 130, 200)  # of the trunks that are tried
_MOST = 1.5  # times the values that are known of a function, beyond which wider trunks are not tried
_GAIN = 0.9  # of the error, for which a wider trunk is worth its time
_ABOVE = 10  # times the alpha of the last trunk, from which that of the next is sought


def fit_scattered(model: Any, given: Any, X: np.ndarray, data: Scattered, weights: np.ndarray | None) -> None:
    """Fit a model to outputs of which each function is known at points of its own."""
    if data.n_functions > len(X):
        raise InputError(
            f"index names function {data.n_functions - 1}, but X holds {len(X)} functions (counted from 0)."
        )
    if model.log_outputs:
        raise InputError("log_outputs needs outputs at common points; give the logarithms of the values.")
    started = perf_counter()
    data = _sorted(data, None if weights is None else weights > 0)
    values = data.values
    assert values is not None
    if model.lift is not None:
        values = values - lift_at_own_points(model.lift, given, data)
    parts = values.reshape(len(values), -1)
    c = parts.shape[1] if values.ndim == 2 else 0
    scale = root_mean_squares(parts.T[None]) if c else None
    parts = parts if scale is None else parts / scale
    model._layout = Layout((0, c), 1, scale) if c else Layout((0,))
    model._needs_points = True
    places = model._layout.places(data.points)
    function = np.tile(data.index, max(1, c))
    order = np.argsort(function, kind="stable")
    places, function, target = places[order], function[order], parts.T.ravel()[order].astype(float)
    model.points_ = np.stack([places.min(axis=0), places.max(axis=0)])
    model._prepare_scaling(X)
    P = model._scaled_points(places)
    w = np.ones(len(X)) if weights is None else np.sqrt(weights)
    B = _branch_features(model, X) * w
    target = target * w[function]
    spectrum = Spectrum.from_svd(B)
    best: tuple[Choice, Unaligned, Span, Any] | None = None
    start = 1.0
    for trunk in _trunks(model, P.shape[1] - (c > 0), len(target) / len(X)):
        require_features(len(P), trunk.fit(P[:2], None).width_)
        trunk.fit(P, None)
        span = Span(features_of(trunk, P, "trunk") / np.sqrt(len(X)))
        problem = Unaligned(AtOwnPoints(span.Q * np.sqrt(len(X)), function, len(X)), spectrum, target)
        choice = problem.choose(_alpha(model), start)
        if best is None or choice.error < best[0].error:
            gained = best is None or choice.error < _GAIN * best[0].error
            best = choice, problem, span, trunk
            if gained:
                start = min(1.0, _ABOVE * choice.alpha / spectrum.largest)
                continue
        break
    assert best is not None
    choice, problem, span, model.trunk_ = best
    _take(model, problem, choice, span, X.dtype, started)


def fit_with_gaps(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> None:
    """Fit a model to rows y (N, M) with NaN where a value is missing; weights are square roots."""
    started, known = perf_counter(), ~np.isnan(y)
    never = np.flatnonzero(~known.any(axis=0))
    if never.size:
        raise InputError(
            f"{never.size} points have no value in any function (the first: point {never[0]}). Leave them "
            "out of y and points."
        )
    if model.log_outputs:
        raise InputError("log_outputs needs outputs without gaps; give the logarithms of the values.")
    P = model._scaled_points(model.points_)
    w = np.ones(len(X)) if weights is None else weights
    B = _branch_features(model, X) * w
    target = (y * w[:, None])[known].astype(float)
    _, trunk = model._parts()
    filled = np.where(known, y, np.nanmean(y, axis=0))
    spectrum = Spectrum.from_svd(B)
    # The modes are those of filled outputs; once these are filled by a fit, the modes are better.
    for again in (True, False) if learns_outputs(trunk) else (False,):
        model.trunk_ = trunk.fit(P, filled.T)
        span = Span(features_of(model.trunk_, P, "trunk").astype(float))
        problem = Unaligned(WithGaps(span.Q, known), spectrum, target)
        choice = problem.choose(_alpha(model))
        if again:
            C = problem.fit(choice.alpha, choice.guess, choice.error).C
            filled = np.where(known, y, product(product(span.Q, C), B).T / w[:, None])
    _take(model, problem, choice, span, X.dtype, started)


def predict_scattered(model: Any, given: Any, Z: np.ndarray, places: Any) -> Any:
    """For scaled inputs Z, the values (K,) or (K, c) at the places of a `Scattered`; for a list, a list."""
    if not isinstance(places, Scattered):
        if len(places) != len(Z):
            raise InputError(f"there are {len(places)} lists of points for {len(Z)} input functions.")
        ends = np.cumsum([len(own) for own in places])[:-1]
        return np.split(predict_scattered(model, given, Z, Scattered.of(None, places)), ends)
    if places.n_functions > len(Z):
        raise InputError(
            f"index names function {places.n_functions - 1}, but X holds {len(Z)} functions (from 0)."
        )
    if model._log_y is not None:
        raise InputError("a model with log_outputs predicts at common points only: give points (M, d).")
    points, layout = model._own_points(places.points), model._layout
    C = features_times(model.branch_, Z, model.W_.T)
    T = model._trunk_at_places(layout.places(points)).reshape(max(1, layout.components), len(points), -1)
    out = np.stack([np.einsum("kp,kp->k", part, C[places.index]) for part in T], axis=1)
    if layout.scale is not None:
        return out * layout.scale.astype(out.dtype)
    return out[:, 0] if model.lift is None else out[:, 0] + lift_at_own_points(model.lift, given, places)


def _sorted(data: Scattered, kept: np.ndarray | None) -> Scattered:
    """By function, and without those that do not count."""
    order = np.argsort(data.index, kind="stable")
    if kept is not None:
        order = order[kept[data.index[order]]]
    assert data.values is not None
    return Scattered(data.index[order], data.points[order], data.values[order])


def _branch_features(model: Any, X: np.ndarray) -> np.ndarray:
    """B (p1, N), in double precision."""
    model.branch_, _ = model._parts()
    Z = model._scaled(X)
    return checked_features(fit_features(model.branch_, Z), model.branch_, Z, "branch").T.astype(float)


def _trunks(model: Any, d: int, known: float) -> Iterator[Any]:
    """The given trunk, or polynomials of growing degree, if so many values of a function are known."""
    if model.trunk is not None:
        _, trunk = model._parts()
        if learns_outputs(trunk):
            raise InputError(
                "POD needs outputs at common points, and these are scattered. Leave the trunk out, which "
                "takes polynomials, or give Legendre(degree), Sinusoid or SLFN."
            )
        yield trunk
        return
    for degree in degrees(d, known):
        yield PerComponent(Legendre(degree)) if model._layout.components else Legendre(degree)


def degrees(d: int, known: float) -> list[int]:
    """Of polynomials in d variables that are worth a try if so many values of a function are known."""
    found = [next(g for g in range(1, 1000) if comb(g + d, d) >= width) for width in _WIDTHS]
    first, *more = dict.fromkeys(found)
    return [first, *(degree for degree in more if comb(degree + d, d) <= _MOST * known)]


def _alpha(model: Any) -> float | None:
    """The given alpha, or None if it is to be chosen."""
    solver = model._solver()
    if isinstance(solver, Pinv):
        return 0.0
    if not isinstance(solver, Ridge) or solver.penalty != "C" or solver.alphas is not None:
        raise InputError(
            f"outputs with gaps or at scattered points need Ridge() or Ridge(alpha), got {solver!r}."
        )
    return solver.checked()[0]


def _take(model: Any, problem: Unaligned, choice: Choice, span: Span, dtype: Any, started: float) -> None:
    """Solve for W, and give the model what was found."""
    fit = problem.fit(choice.alpha, choice.guess, choice.error)
    spectrum = problem.spectrum
    model.solution_ = Solution(
        W=span.lift(fit.C).astype(dtype, copy=False),
        rank_T=span.rank,
        rank_B=spectrum.rank,
        cutoff=spectrum.cutoff,
        condition=spectrum.condition(choice.alpha),
        residual=fit.residual,
        alpha=choice.alpha,
        loo_error=choice.error,
        seconds=perf_counter() - started,
        method="lsmr",
        alphas=choice.alphas,
        path=choice.path,
    )
    model._log_y = None
    model._T = model._trunk_at_places(model.points_)
    model._TW = model._readout()

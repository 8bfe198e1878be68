"""Parts of the inputs for the automatic choice: how the branch sees each, how much it matters, and a metric.

A kernel ridge fit with coefficients ``a = C y``, ``C = (K + alpha)^-1``, leaves function i out with the
residual ``e_i = a_i / C_ii``. So the leave-one-out error is a function of the scale of every part, and its
gradient comes from the same inverse: with the derivatives g of the error by a and h by the diagonal of C,

    dE = sum_ij G_ij dK_ij ,       G = - (C g) a' - C diag(h) C .

A distance of two inputs is a weighted sum of squared differences, so that the gradient by all weights at once
costs one product of matrices more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from elmonet.auto.candidates import Candidate, Transform
from elmonet.auto.transformed_data import TransformedData, errors_of, spread_of
from elmonet.forms.parts import InputPart, even_in_logarithms, positive_by_nature, spacing
from elmonet.forms.training import Training
from elmonet.linalg import product
from elmonet.metrics import reference_norms

_FEW_FUNCTIONS = 150  # from which transforms of parts are chosen, at most
_MOST_FUNCTIONS = 300  # from which scales are learned, at most
_ITERATIONS = 40  # of the quasi-Newton method, at most
_TOLERANCE, _FINE_TOLERANCE = 3e-4, 2e-5  # fall of the error's logarithm at which it ends, relative to it
_WIDE = 5.0  # ratio of the largest and the smallest positive value from which on logarithms may come first
_START = 0.3  # common scale to begin with
_RANGE = (7.0, 5.0)  # by which logarithms of scales may fall and rise
_ALPHAS = (1e-13, 1.0)
_LEVELS = 1.5  # largest distance of neighbouring levels of a number: beyond, nothing is known between them
_GAIN = 0.97  # error with another transform of a part, relative to without, at most
_IRRELEVANT = 0.05  # scale of a part, relative to the largest, below which it may be left out
_SAME_ERROR = 1.01  # error without irrelevant parts, relative to with them, at most
_MOST_TRIED = 8  # parts whose transforms are tried, the most relevant ones
_SWEEPS = 2  # over the parts
METRIC_KERNELS = ("rbf", "matern52")
FOLDS = 5  # of functions left out of learning
_METRIC_MODES = 30  # output modes whose gradients make the metric
_NEGLIGIBLE_DIRECTION = 1e-6  # eigenvalue of the gradients' outer product, relative to the largest

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Relevance(NamedTuple):
    """A transform of the inputs that was learned from training functions, and the branches to try with it."""

    transform: Transform
    candidates: list[Candidate]


@dataclass(frozen=True)
class _Scales:
    """Parts with learned scales: the kernel, its scale in the units of a `Candidate`, the error."""

    parts: tuple[InputPart, ...]
    kernel: str
    scale: float
    error: float


def learn_parts(
    training: Training,
    base: Transform,
    parts: Sequence[InputPart],
    fixed: Sequence[str] = (),
    signed: Sequence[str] = (),
    until: float = np.inf,
) -> Relevance:
    """Choose for every part how the branch sees it, and its scale, by exact leave-one-out.

    Parameters
    ----------
    training : the functions; at most 300 are used.
    base : the transform to begin with: its logarithms of the outputs stay.
    parts : the parts of the inputs.
    fixed : names of parts whose transform stays.
    signed : names of parts that are zero or negative in other functions: their logarithm is not taken.
    until : time, of `perf_counter`, after which no other transform is tried.
    """
    some = training.of(np.arange(min(len(training.X), _MOST_FUNCTIONS)))
    ends = np.cumsum([part.size for part in parts])
    columns = np.split(some.X.reshape(len(some.X), -1), ends[:-1], axis=1)
    whole = base.parts or training.inputs.whole_parts()
    logarithms = np.repeat([part.logarithm for part in whole], [part.size for part in whole])[ends - 1]
    first = []
    for part, own, logarithm in zip(parts, columns, logarithms, strict=True):
        of_nature = part.name not in (*fixed, *signed) and positive_by_nature(own)
        wide = of_nature and (logarithm or (own.max() > _WIDE * own.min() and even_in_logarithms(own)))
        first.append(replace(part, logarithm=bool(wide or (logarithm and part.name in fixed))))
    outputs = replace(base, scale_inputs=True)
    few = TransformedData(some.of(np.arange(min(len(some.X), _FEW_FUNCTIONS))), outputs)
    best = min((_scales(few, first, kernel) for kernel in METRIC_KERNELS), key=lambda trial: trial.error)
    for _ in range(_SWEEPS):
        before = best
        for i in np.argsort([-max(part.relevance) for part in best.parts])[:_MOST_TRIED]:
            for other in best.parts[i].alternatives(columns[i]):
                possible = other.name not in fixed and not (other.logarithm and other.name in signed)
                if possible and perf_counter() <= until:
                    changed = [other if j == i else part for j, part in enumerate(best.parts)]
                    trial = _scales(few, changed, best.kernel)
                    best = trial if trial.error < _GAIN * best.error else best
        if best is before:
            break
    best = _without_irrelevant(TransformedData(some, outputs), best)
    candidates = [Candidate(best.kernel, linear=linear).at(best.scale) for linear in (False, True)]
    return Relevance(replace(base, scale_inputs=True, parts=best.parts, metric=None), candidates)


def _without_irrelevant(data: TransformedData, best: _Scales) -> _Scales:
    """Learn the scales from more functions, also without those that are negligible; these go if they can."""
    starts = {kernel: best.scale if kernel == best.kernel else None for kernel in METRIC_KERNELS}
    trials = (_scales(data, best.parts, kernel, start=start) for kernel, start in starts.items())
    best = min(trials, key=lambda trial: trial.error)
    largest = max(max(part.relevance) for part in best.parts)
    kept = [
        replace(part, relevance=tuple(r if r > _IRRELEVANT * largest else 0.0 for r in part.relevance))
        for part in best.parts
    ]
    if tuple(kept) == best.parts:
        return best
    fewer = _scales(data, kept, best.kernel, start=best.scale)
    if fewer.error > _SAME_ERROR * best.error:
        return best
    hidden = [
        part if any(part.relevance) else InputPart(part.name, part.size, relevance=(0.0,))
        for part in fewer.parts
    ]
    return replace(fewer, parts=tuple(hidden))


def _scales(
    data: TransformedData,
    parts: Sequence[InputPart],
    kernel: str,
    *,
    start: float | None = None,
) -> _Scales:
    """Learn the scale of every part, beginning with those it has (times `start`) or with one for all.

    The outputs are those of `data`. Parts of relevance zero are left out.
    """
    plain = tuple(replace(part, relevance=()) for part in parts)
    training = data.training
    form = training.inputs.prepared(training.X, training.counts, parts=plain, scale=True)
    seen = form.seen(training.X).reshape(len(training.X), -1)
    unit = spread_of(seen)
    sizes = form.seen_sizes or [seen.shape[1]]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    relevance = np.array([r if start is not None else 1.0 for part in parts for r in part.relevance])
    used = np.flatnonzero(relevance)
    columns = relevance[groups] > 0
    number = np.searchsorted(used, groups[columns])
    Z = seen[:, columns] / np.sqrt(seen.shape[1])
    target = data.modes[1].T
    norms = reference_norms(np.linalg.norm(target, axis=1)) if data.sizes is None else data.sizes
    objective = loo_objective(Z, number, target, norms, kernel)
    first = np.full(len(used), np.log(_START / unit))
    if start is not None:
        first = np.log(relevance[used] * start / unit)
    bounds = []
    for k in range(len(used)):
        own = Z[:, number == k]
        high = float(np.median(first)) + _RANGE[1]
        if own.shape[1] == 1:  # a number: its levels must see each other
            high = min(high, float(np.log(_LEVELS / spacing(own[:, 0]))) if len(own) > 1 else high)
        low = float(np.median(first)) - _RANGE[0]
        bounds.append((low, max(low, high)))
    bounds.append((float(np.log(_ALPHAS[0])), float(np.log(_ALPHAS[1]))))
    x0 = np.clip(np.append(first, np.log(1e-6)), *np.array(bounds).T)
    found = minimize(
        objective,
        x0,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={
            "maxiter": _ITERATIONS,
            "maxcor": 20,
            "ftol": _TOLERANCE if start is None else _FINE_TOLERANCE,
        },
    )
    scales = np.zeros(len(relevance))
    scales[used] = np.exp(found.x[:-1])
    # A common factor belongs to the kernel: the relevance leaves the spread of all columns as it is.
    energy = np.bincount(groups, weights=np.sum((seen - seen.mean(axis=0)) ** 2, axis=0))
    common = float(np.sqrt(np.sum(scales**2 * energy) / np.sum(energy))) or 1.0
    ends = np.cumsum([part.groups for part in parts])[:-1]
    split = np.split(scales / common, ends)
    learned = tuple(
        replace(part, relevance=tuple(float(f"{r:.4g}") for r in own))
        for part, own in zip(plain, split, strict=True)
    )
    return _Scales(learned, kernel, common * unit, float(np.exp(found.fun)))


def loo_objective(
    Z: np.ndarray, groups: np.ndarray, target: np.ndarray, norms: np.ndarray, kernel: str
) -> Objective:
    """Return the logarithm of the leave-one-out error of kernel ridge regression, with its gradient.

    Parameters
    ----------
    Z : (N, m), columns of the inputs.
    groups : (m,), the number of the scale that belongs to each column.
    target, norms : (N, r), (N,), outputs, and the sizes that errors are relative to.
    kernel : "rbf" or "matern52".

    Returns
    -------
    objective : function of the logarithms of the scales and of alpha, in this order.
    """
    count = int(groups.max()) + 1

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scaled, alpha, n = Z * np.exp(theta[:-1])[groups], float(np.exp(theta[-1])), len(Z)
        K, slope = _kernel_and_slope(scaled, kernel)
        K.flat[:: n + 1] += alpha
        factor, info = lapack.dpotrf(K, lower=1, overwrite_a=1)
        if info:
            return 100.0, np.zeros_like(theta)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        coefficients, diagonal = product(inverse, target), np.diagonal(inverse)
        residuals = coefficients / diagonal[:, None]
        lengths = np.maximum(np.linalg.norm(residuals, axis=1), np.finfo(float).tiny)
        error = float(np.mean(lengths / norms))
        by_residual = residuals / (lengths * norms * n * error)[:, None]
        by_coefficient = by_residual / diagonal[:, None]
        by_diagonal = -np.sum(by_residual * residuals, axis=1) / diagonal
        G = -product(product(inverse, by_coefficient), coefficients.T)
        G = (G + G.T) / 2
        G -= product(inverse * by_diagonal, inverse)
        H = G * slope
        # sum_ij H_ij (z_ik - z_jk)^2 for every column k, and 2 from d(scale^2) = 2 scale^2 d(log scale)
        by_column = 4 * (H.sum(axis=1) @ scaled**2 - np.sum(scaled * product(H, scaled), axis=0))
        by_scale = np.bincount(groups, weights=by_column, minlength=count)
        return float(np.log(error)), np.append(by_scale, alpha * np.trace(G))

    return objective


def _kernel_and_slope(Z: np.ndarray, kernel: str) -> tuple[np.ndarray, np.ndarray]:
    """Return K (n, n) of the rows of Z, and its derivatives by the squared distances."""
    squares = np.einsum("ij,ij->i", Z, Z)
    r2 = squares[:, None] + squares - 2 * product(Z, np.ascontiguousarray(Z.T))
    np.maximum(r2, 0, out=r2)
    np.fill_diagonal(r2, 0)
    if kernel == "rbf":
        K = np.exp(-r2 / 2)
        return K, K * -0.5
    a = np.sqrt(5 * r2)
    decay = np.exp(-a)
    return (1 + a + a * a / 3) * decay, (-5 / 6) * (1 + a) * decay


def learn_metric(training: Training, learn: Callable[[Training], Relevance], seed: int) -> Relevance:
    """Return a transform with a metric from the gradients of a kernel fit, their average outer product.

    With the gradients g of all output modes at all training functions, the distance of two inputs x and y
    becomes ``|L'(x - y)|``, ``L L' = (mean g g')^(1/2)``: directions in which nothing changes no longer count
    (Radhakrishnan, Beaglehole, Pandit, Belkin: Mechanism for feature learning, Science 383, 2024).

    Parameters
    ----------
    training : the functions.
    learn : returns the transform to begin with and its candidates, of which the first is a kernel.
    seed : of random branches.
    """
    transform, (candidate, *_) = learn(training)
    data = TransformedData(training, transform)
    alpha = data.evaluate(replace(candidate, linear=False), seed).solution.alpha
    Z = np.ascontiguousarray(data.Z.reshape(len(data.Z), -1))
    K, slope = _kernel_and_slope(Z * (candidate.scale / data.spread / np.sqrt(Z.shape[1])), candidate.family)
    K.flat[:: len(Z) + 1] += max(alpha, len(Z) * np.finfo(float).eps)
    coefficients = lapack.dposv(K, data.modes[1][:_METRIC_MODES].T, lower=1)[1]
    outer = np.zeros((Z.shape[1], Z.shape[1]))
    for c in coefficients.T:
        weights = slope * c
        gradient = weights.sum(axis=1)[:, None] * Z - product(weights, Z)
        outer += product(np.ascontiguousarray(gradient.T), gradient)
    values, vectors = np.linalg.eigh(outer)
    kept = values > _NEGLIGIBLE_DIRECTION * values[-1]
    metric = vectors[:, kept] * (values[kept] / values[-1]) ** 0.25
    seen = product(Z, np.ascontiguousarray(metric))
    metric *= data.spread / spread_of(seen)
    if transform.metric is not None:  # of an earlier round
        metric = product(transform.metric, np.ascontiguousarray(metric))
    scales = [candidate.at(candidate.scale * factor) for factor in (1.0, 0.5, 2.0)]
    return Relevance(replace(transform, metric=metric), scales)


class HeldOut(NamedTuple):
    """Mean errors of functions left out of learning, and what leave-one-out claimed without them."""

    error: float
    claimed: float


def held_out(
    training: Training, seed: int, learn: Callable[[Training], Relevance], until: float = np.inf
) -> HeldOut | None:
    """Predict each function by what is learned and chosen without its fold; None if that ends after `until`.

    How long it takes, the first fold shows.
    """
    begin = perf_counter()
    errors, claimed = np.empty(len(training.X)), np.empty(len(training.X))
    groups = np.arange(len(errors)) if training.groups is None else training.groups.numbers
    labels, of = np.unique(groups, return_inverse=True)
    fold_of = np.random.default_rng(seed).permutation(len(labels))[of] % FOLDS
    folds = np.unique(fold_of)
    for k, fold in enumerate(folds):
        if k and begin + (perf_counter() - begin) / k * len(folds) > until:
            return None
        out = fold_of == fold
        rest = training.of(np.flatnonzero(~out))
        transform, candidates = learn(rest)
        data = TransformedData(rest, transform)
        tried = [float(np.mean(data.evaluate(candidate, seed).stated)) for candidate in candidates]
        model = data.model(candidates[int(np.argmin(tried))], seed)
        errors[out], claimed[out] = errors_of(model, training, out), min(tried)
    return HeldOut(float(np.mean(errors)), float(np.mean(claimed)))

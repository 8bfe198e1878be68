"""Sensitivity: which part of the variance of the outputs comes from which input (Sobol indices).

For independent inputs x_i and an output y, the first-order index ``S_i = Var E[y | x_i] / Var y`` is what x_i
explains by itself, the total index ``T_i = E Var[y | all but x_i] / Var y`` what goes when x_i is fixed,
interactions included. Affine models and Gaussian kernels have a closed form (see `separable`). Otherwise the
indices are estimated from two samples A and B of a scrambled Sobol sequence, and A with the columns of x_i
from B (Saltelli et al. 2010; Jansen 1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from elmonet.checks import FunctionValues
from elmonet.description import Description
from elmonet.prior import Prior
from elmonet.separable import Separable
from elmonet.summary import percent

_BLOCKS = 16  # of the sample, whose spread tells the error of the estimates
_LARGEST = 8.0  # standard deviations


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sobol indices of each input.

    Attributes
    ----------
    names : of the inputs, or of principal directions of functions.
    first, total : by name, the indices of each output, in the shapes of one prediction.
    first_overall, total_overall : by name, of all outputs together: weighted by their variances.
    low, high : by name, 90 % bands of `first_overall` and `total_overall` (two numbers each): error of the
        sample, and of the surrogate as far as left-out functions tell.
    variance : of each output, in the shapes of one prediction.
    surrogate_error : variance of the model's errors relative to that of the outputs; None if not known.
    evaluations : number of predictions; none are needed for a closed form.
    """

    names: tuple[str, ...]
    first: dict[str, FunctionValues]
    total: dict[str, FunctionValues]
    first_overall: dict[str, float]
    total_overall: dict[str, float]
    low: dict[str, tuple[float, float]]
    high: dict[str, tuple[float, float]]
    variance: FunctionValues
    surrogate_error: float | None
    evaluations: int

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{'':{width}}  first  (90 % band)        total  (90 % band)"]
        order = sorted(self.names, key=lambda name: -self.total_overall[name])
        for name in order:
            (a, c), (b, d) = self.low[name], self.high[name]
            lines.append(
                f"{name:{width}}  {self.first_overall[name]:.3f}  ({a:.3f} to {b:.3f})   "
                f"{self.total_overall[name]:.3f}  ({c:.3f} to {d:.3f})"
            )
        rest = 1 - sum(self.first_overall.values())
        lines.append(f"Interactions: {percent(max(0.0, rest))} of the variance.")
        return "\n".join(lines)


def sensitivity(
    description: Description,
    prior: Prior,
    *,
    n: int,
    seed: Any,
    directions: int,
    residuals: np.ndarray | None,
    shaped: Any,
) -> Sensitivity:
    """Return Sobol indices of a description.

    Parameters
    ----------
    description, prior : the model, and the distribution of its inputs.
    n : number of points of each sample; a power of two is best.
    seed : of the scrambling.
    directions : the number of principal directions of each function that count as inputs of their own; 0 for
        whole functions only.
    residuals : (N, k), errors of left-out functions; None if they are not known.
    shaped : from flat outputs (1, k) to the form of the user's outputs.
    """
    groups = _groups(prior, directions)
    exact = _closed_form(description, prior, groups, residuals, shaped)
    if exact is not None:
        return exact
    d = prior.directions
    sobol = qmc.Sobol(2 * d, scramble=True, rng=np.random.default_rng(seed))
    u = sobol.random(n)
    z = np.clip(ndtri(u), -_LARGEST, _LARGEST)
    A, B = z[:, :d], z[:, d:]
    y_a, y_b = description(prior.inputs(A)), description(prior.inputs(B))
    mean = np.concatenate([y_a, y_b]).mean(axis=0)
    y_a, y_b = y_a - mean, y_b - mean
    variance = np.mean(np.concatenate([y_a, y_b]) ** 2, axis=0)
    safe = np.where(variance > 0, variance, 1.0)
    total_variance = float(variance.sum()) or 1.0
    error = None if residuals is None else float(np.sum(np.mean(residuals**2, axis=0)))
    share = None if error is None else error / total_variance
    first, total, low, high = {}, {}, {}, {}
    overall: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for name, columns in groups:
        C = A.copy()
        C[:, columns] = B[:, columns]
        y_c = description(prior.inputs(C)) - mean
        # Var E[y | x_i] = Var y - E (y_B - y_C)^2 / 2 ,  E Var[y | others] = E (y_A - y_C)^2 / 2
        gone, moved = 0.5 * (y_b - y_c) ** 2, 0.5 * (y_a - y_c) ** 2
        own = variance - gone.mean(axis=0)
        first[name], total[name] = shaped((own / safe)[None]), shaped((moved.mean(axis=0) / safe)[None])
        pair = (1 - gone.sum(axis=1) / total_variance, moved.sum(axis=1) / total_variance)
        ends = []
        for k, each in enumerate(pair):
            value = float(each.mean())
            overall[k][name] = value
            spread = 1.645 * float(np.std([b.mean() for b in np.array_split(each, _BLOCKS)], ddof=1))
            ends.append(_band(value, spread / np.sqrt(_BLOCKS), share))
        low[name], high[name] = (ends[0][0], ends[1][0]), (ends[0][1], ends[1][1])
    return Sensitivity(
        names=tuple(name for name, _ in groups),
        first=first,
        total=total,
        first_overall=overall[0],
        total_overall=overall[1],
        low=low,
        high=high,
        variance=shaped(variance[None]),
        surrogate_error=share,
        evaluations=n * (2 + len(groups)),
    )


def _closed_form(
    description: Description,
    prior: Prior,
    groups: list[tuple[str, np.ndarray]],
    residuals: np.ndarray | None,
    shaped: Any,
) -> Sensitivity | None:
    """Return indices without sampling; None if the model has no closed form, or rounding would spoil it."""
    whole = all(name in {block.name for block in prior.blocks} for name, _ in groups)
    model = Separable.of(description, prior, whole)
    if model is None:
        return None
    everything = np.arange(prior.directions)
    variance = model.explained(everything)
    sum_of_variances = float(variance.sum())
    if not sum_of_variances > 0 or not model.is_accurate(variance):
        return None
    safe = np.where(variance > 0, variance, 1.0)
    share = None if residuals is None else float(np.sum(np.mean(residuals**2, axis=0))) / sum_of_variances
    fields: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    overall: tuple[dict[str, float], dict[str, float]] = ({}, {})
    low, high = {}, {}
    for name, columns in groups:
        rest = np.setdiff1d(everything, columns)
        ends = []
        for k, own in enumerate((model.explained(columns), np.maximum(variance - model.explained(rest), 0))):
            fields[k][name] = shaped((own / safe)[None])
            overall[k][name] = float(own.sum() / sum_of_variances)
            ends.append(_band(overall[k][name], 0.0, share))
        low[name], high[name] = (ends[0][0], ends[1][0]), (ends[0][1], ends[1][1])
    return Sensitivity(
        names=tuple(name for name, _ in groups),
        first=fields[0],
        total=fields[1],
        first_overall=overall[0],
        total_overall=overall[1],
        low=low,
        high=high,
        variance=shaped(variance[None]),
        surrogate_error=share,
        evaluations=0,
    )


def _band(value: float, spread: float, share: float | None) -> tuple[float, float]:
    """Return a band: the error of the sample, and that of the surrogate.

    Conditional means are projections: if e is the surrogate's error, the root of a partial variance is off by
    at most the standard deviation of e.
    """
    low, high = max(0.0, value - spread), max(0.0, value + spread)
    if share is not None:
        low, high = max(0.0, np.sqrt(low) - np.sqrt(share)) ** 2, (np.sqrt(high) + np.sqrt(share)) ** 2
    return float(low), float(min(1.0, high))


def _groups(prior: Prior, directions: int) -> list[tuple[str, np.ndarray]]:
    """Return name and columns of z of each input, and of the first principal directions of functions."""
    found = []
    for block, start in zip(prior.blocks, prior.ends[:-1], strict=True):
        if block.size == 0:
            continue
        found.append((block.name, start + np.arange(block.size)))
        if block.kind != "uniform":
            count = min(directions, block.size)
            found += [(f"{block.name} direction {k + 1}", np.array([start + k])) for k in range(count)]
    return found

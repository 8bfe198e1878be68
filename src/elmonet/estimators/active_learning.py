"""Active learning (ALC): which functions to simulate next to learn most about all the others."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from elmonet.checks import positive_integer
from elmonet.errors import InputError
from elmonet.features.kernels import Products, kernel_matrix
from elmonet.forms.groups import connected, near_repeats
from elmonet.forms.inputs import InputForm
from elmonet.linalg import product
from elmonet.uncertainty.novelty import TrainingRecord, fingerprints_of

_KERNEL, _SCALE = "matern52", 0.3  # of the Gaussian process, chosen by benchmarks/suggest.py
_NOISE = 1e-8  # variance of a simulation, relative to the process: it makes K definite
_MAX_ENTRIES = 25_000_000  # of the covariance of all candidates with a part of the pool
_MIN_PART = 200  # functions of the pool over which the variance is summed at least


def suggest(form: InputForm, record: TrainingRecord, candidates: np.ndarray, n: int) -> np.ndarray:
    """Return the n candidates (n,) to simulate next, the most informative first.

    Training functions and repeats among the candidates, exact or near ones, are never chosen.

    Parameters
    ----------
    form : form of the inputs, with the transforms of its parts.
    record : what the model keeps of its training inputs.
    candidates : (P, ...), rows of that form.
    """
    n = positive_integer(n, "n")
    if record.inputs is None:
        raise InputError(
            "suggest needs the training inputs, and this model does not have them: a fit in blocks does not "
            "keep them, nor does a file that was saved with inputs=False or by an older elmonet. Fit the "
            "model again in memory, or give them to an ELMDeepONet: model.remember_inputs(X)."
        )
    rows, known = np.concatenate([record.inputs, candidates]), len(record.inputs)
    groups = connected(near_repeats(rows, form.compared), len(rows))
    first = np.zeros(len(rows), bool)  # of those that are the same up to a small part of their spread
    first[np.unique(groups, return_index=True)[1]] = True
    once = np.unique(fingerprints_of(candidates), return_index=True)[1]
    useful = first[known:] & np.isin(np.arange(len(candidates)), once) & ~record.has(candidates)
    if useful.sum() < n:
        raise InputError(
            f"n = {n} functions were asked for, but of the {len(candidates)} candidates only "
            f"{int(useful.sum())} are neither training functions nor repeats of others, exactly or nearly. "
            "Ask for fewer, or give more candidates."
        )
    seen = form.prepared(rows, parts=form.parts, metric=form.metric, scale=True).seen(rows)
    seen = seen.reshape(len(rows), -1)
    return most_informative(seen[:known], seen[known:], n, useful)


def most_informative(
    known: np.ndarray, pool: np.ndarray, n: int, useful: np.ndarray | None = None
) -> np.ndarray:
    """Return the n functions (n,) of a pool (P, m) that lower its variance most, given known ones (N, m).

    With a Gaussian process prior on the operator, of covariance k and the noise a, the posterior covariance
    of the pool, after the known functions X, is

        P = k(pool, pool) - k(pool, X) (k(X, X) + a)^-1 k(X, pool) .

    It does not depend on the results of the simulations, so it is known before them. Knowing function j as
    well subtracts ``p_j p_j' / (P_jj + a)``, with p_j the column j of P. Over the whole pool the variance
    falls by the trace of that, ``|p_j|^2 / (P_jj + a)`` (Cohn 1996), so the best j costs no refit. It is
    taken, P is updated, and so on. Only functions marked in `useful` (P,) are taken.

    For large pools, |p_j|^2 is estimated from a random part of the pool, so that memory stays bounded.
    """
    size, most = len(pool), max(_MIN_PART, _MAX_ENTRIES // len(pool))
    part = np.arange(size) if size <= most else np.sort(np.random.default_rng(0).permutation(size)[:most])
    inside = np.zeros(len(pool))
    inside[part] = 1
    pool_weight = max(1, len(pool) - 1) / np.maximum(1, len(part) - inside)  # 1 if the part is the pool
    K = _kernel(known, known)
    K.flat[:: len(K) + 1] += _NOISE
    # P = k(pool, pool) - F'F with F = L^-1 k(X, pool) and L L' = K + a; each choice adds a row to F.
    F = solve_triangular(cholesky(K, lower=True), _kernel(known, pool), lower=True, check_finite=False)
    P = _kernel(pool[part], pool)  # only the rows of the part
    P -= product(F[:, part].T, F)
    variance = np.maximum(1 - np.einsum("ij,ij->j", F, F), 0)
    allowed = np.ones(len(pool), bool) if useful is None else useful.copy()
    taken: list[int] = []
    rows = np.empty((n, len(pool)))
    for i in range(n):
        # |p_j|^2: its own entry once, and the others of the part with their weight.
        others = np.maximum(np.einsum("ij,ij->j", P, P) - inside * variance**2, 0)
        gain = (variance**2 + pool_weight * others) / (variance + _NOISE)
        j = int(np.argmax(np.where(allowed, gain, -1)))
        p_j = _kernel(pool[j : j + 1], pool)[0] - F[:, j] @ F - rows[:i, j] @ rows[:i]
        rows[i] = p_j / np.sqrt(variance[j] + _NOISE)
        product(-rows[i, part][:, None], rows[i][None], out=P, add=True)
        variance = np.maximum(variance - rows[i] ** 2, 0)
        allowed[j] = False
        taken.append(j)
    return np.array(taken)


def _kernel(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return kernel_matrix(_KERNEL, _SCALE, Products.of(X, Y))

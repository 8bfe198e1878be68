"""Inverse problems: the input behind measurements of the output, with a fitted model in between.

In the standard normal numbers z of the prior, x = x(z), measurements y = G(x) + e with e ~ N(0, S) have the
posterior ``exp(-|z|^2 / 2 - |y - G(x(z))|^2_S / 2)``. S is the noise of the measurements plus the covariance
of the model's own errors, from residuals of training functions that were left out. Gauss-Newton with exact
derivatives gives the estimate, and the Laplace approximation N(m, H^-1) there is both the proposal of a
preconditioned Crank-Nicolson sampler (Cotter, Roberts, Stuart, White 2013) and, for a linear operator and a
Gaussian prior, the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.stats import chi2

from elmonet.checks import FunctionValues
from elmonet.description import Description
from elmonet.errors import ContradictionWarning, InputError, SamplerWarning, warn
from elmonet.prior import Prior

_CHAINS = 8
_STEPS = 40  # of Gauss-Newton
_CONVERGED = 1e-10  # relative change of the objective
_TUNING = 200  # steps of the sampler that set its step size and are dropped
_LEAST = 125  # samples of each chain, which tell whether it has converged
_ACCEPTED = 0.35  # share of accepted proposals aimed at
_CONTRADICTION = 1e-3  # probability of a misfit this large, below which data and model contradict each other
_NOT_DETERMINED = 0.9  # posterior relative to prior standard deviation
_UNRELIABLE = 1.05  # R-hat


@dataclass(frozen=True, eq=False)
class Posterior:
    """The input behind measurements.

    Attributes
    ----------
    estimate : the most probable input, in the form of the inputs (one case).
    samples : inputs drawn from the posterior, (n, ...).
    mean, std : mean and standard deviation of the samples.
    predicted : (K,), the model's outputs for the estimate, at the measurements.
    information : (K,), how much each measurement said, in numbers of input directions that it determines;
        they add up to `determined`.
    determined : number of directions of the input that the measurements determine, of `directions` in all.
    reduction : standard deviation relative to that before the measurements, in the form of the inputs; near 1
        where the data say nothing.
    undetermined : names of inputs about which the data say nothing.
    misfit : mean square of residuals in units of their standard deviations; about 1 if all is well.
    contradiction : probability of a misfit at least this large, if model, noise and prior are right.
    r_hat, ess : convergence of the sampler: ratio of variances (1 is best), effective number of samples; the
        worst over all directions.
    acceptance : share of accepted proposals.
    """

    estimate: FunctionValues
    samples: FunctionValues
    mean: FunctionValues
    std: FunctionValues
    predicted: np.ndarray
    information: np.ndarray
    determined: float
    directions: int
    reduction: FunctionValues
    undetermined: tuple[str, ...]
    misfit: float
    contradiction: float
    r_hat: float
    ess: float
    acceptance: float

    def interval(self, coverage: float = 0.9) -> tuple[FunctionValues, FunctionValues]:
        """Return the ends of bands that contain each value of the input with this probability.

        Parameters
        ----------
        coverage : between 0 and 1.

        Returns
        -------
        low, high : in the form of the inputs, one case.
        """
        if not 0 < coverage < 1:
            raise InputError(f"coverage must be between 0 and 1, got {coverage!r}.")
        ends = ((1 - coverage) / 2, (1 + coverage) / 2)
        if isinstance(self.samples, dict):
            both = {name: np.quantile(part, ends, axis=0) for name, part in self.samples.items()}
            return {n: b[0] for n, b in both.items()}, {n: b[1] for n, b in both.items()}
        low, high = np.quantile(self.samples, ends, axis=0)
        return low, high

    def __str__(self) -> str:
        lines = [
            f"The data determine {self.determined:.1f} of {self.directions} directions of the input.",
            f"Misfit {self.misfit:.3g} (about 1 is right; probability {self.contradiction:.2g}).",
            f"Sampler: R-hat {self.r_hat:.3f}, {self.ess:.0f} effective samples, "
            f"{self.acceptance:.0%} accepted.",
        ]
        if self.undetermined:
            lines.append(f"Not determined by the data: {', '.join(self.undetermined)}.")
        return "\n".join(lines)


def invert(
    description: Description,
    prior: Prior,
    y: np.ndarray,
    covariance: np.ndarray,
    *,
    which: np.ndarray,
    n_samples: int = 1000,
    seed: Any = None,
    shaped: Callable[[np.ndarray], Any],
) -> Posterior:
    """Return the posterior of the input behind measurements.

    Parameters
    ----------
    description : the model, with outputs at the measured points.
    prior : of its inputs.
    y, covariance : (K,), (K, K), measurements and the covariance of their errors, the model's among them.
    which : (K,), the flat outputs that were measured.
    n_samples : number of samples to return.
    seed : of the sampler.
    shaped : from flat inputs (n, m) to the form of the user's inputs.
    """
    problem = _Problem(description, prior, y, covariance, which)
    rng = np.random.default_rng(seed)
    starts = [np.zeros(prior.directions), *0.5 * rng.standard_normal((2, prior.directions))]
    z = min((problem.gauss_newton(start) for start in starts), key=problem.objective)
    A = problem.whitened_jacobian(z)
    H = np.eye(prior.directions) + A.T @ A
    factor = cho_factor(H, lower=True)
    spread = cho_solve(factor, A.T)  # H^-1 A'
    information = np.einsum("ki,ik->k", A, spread)
    residual = problem.residual(z)
    misfit = float(2 * problem.objective(z))  # chi-squared with K degrees of freedom, prior and data together
    probability = float(chi2.sf(misfit, len(y)))
    draws, r_hat, ess, acceptance = _sampled(problem, z, factor[0], n_samples, rng)
    x = prior.inputs(draws)
    std, before = x.std(axis=0), prior.deviations()
    reduction = np.divide(std, before, out=np.ones_like(std), where=before > 0)
    unknown = tuple(
        block.name
        for block in prior.blocks
        if block.size and np.sqrt(np.mean(reduction[block.columns] ** 2)) > _NOT_DETERMINED
    )
    if probability < _CONTRADICTION:
        warn(
            f"no input explains these measurements: the misfit is {misfit / len(y):.3g} (about 1 expected), "
            f"which happens with probability {probability:.1g}. The noise may be larger than stated, "
            "measurements wrong or elsewhere, or the input unlike the training inputs.",
            ContradictionWarning,
        )
    if r_hat > _UNRELIABLE:
        warn(
            f"the samples of the posterior have not converged (R-hat {r_hat:.2f}): several inputs may "
            "explain the measurements. Ask for more samples, or give a narrower prior.",
            SamplerWarning,
        )

    def one(values: np.ndarray) -> Any:
        found = shaped(values[None])
        return {name: part[0] for name, part in found.items()} if isinstance(found, dict) else found[0]

    return Posterior(
        estimate=one(prior.inputs(z[None])[0]),
        samples=shaped(x),
        mean=one(x.mean(axis=0)),
        std=one(std),
        predicted=y - problem.unwhitened(residual),
        information=information,
        determined=float(information.sum()),
        directions=prior.directions,
        reduction=one(reduction),
        undetermined=unknown,
        misfit=misfit / len(y),
        contradiction=probability,
        r_hat=r_hat,
        ess=ess,
        acceptance=acceptance,
    )


class _Problem:
    """The negative logarithm of the posterior, in the coordinates of the prior, and its derivatives."""

    def __init__(
        self,
        description: Description,
        prior: Prior,
        y: np.ndarray,
        covariance: np.ndarray,
        which: np.ndarray,
    ):
        self.description, self.prior, self.y, self.which = description, prior, y, which
        self.root = np.linalg.cholesky(covariance)

    def residuals(self, z: np.ndarray) -> np.ndarray:
        """Return whitened residuals (n, K) of z (n, directions)."""
        values = self.description(self.prior.inputs(z))[:, self.which]
        return solve_triangular(self.root, (self.y - values).T, lower=True).T

    def residual(self, z: np.ndarray) -> np.ndarray:
        """Return whitened residuals (K,) of one z."""
        return self.residuals(z[None])[0]

    def unwhitened(self, residual: np.ndarray) -> np.ndarray:
        """Return residuals (K,) in the units of the measurements."""
        return self.root @ residual

    def objective(self, z: np.ndarray) -> float:
        """Return half the squares of z and of the whitened residuals."""
        value = 0.5 * float(z @ z + np.sum(self.residual(z) ** 2))
        return value if np.isfinite(value) else np.inf

    def objectives(self, z: np.ndarray) -> np.ndarray:
        """Return the same for each row of z."""
        values = 0.5 * (np.sum(z**2, axis=1) + np.sum(self.residuals(z) ** 2, axis=1))
        return np.where(np.isfinite(values), values, np.inf)

    def whitened_jacobian(self, z: np.ndarray) -> np.ndarray:
        """Return derivatives (K, directions) of the whitened outputs by z."""
        J = self.description.jacobian(self.prior.inputs(z[None]))[0][self.which]
        return np.asarray(solve_triangular(self.root, self.prior.slopes(J, z), lower=True))

    def gauss_newton(self, z: np.ndarray) -> np.ndarray:
        """Return a minimum, by Gauss-Newton steps with Levenberg's damping."""
        damping, value = 0.0, self.objective(z)
        for _ in range(_STEPS):
            A, r = self.whitened_jacobian(z), self.residual(z)
            gradient, H = z - A.T @ r, A.T @ A
            while True:
                step = np.linalg.solve(H + (1 + damping) * np.eye(len(z)), -gradient)
                after = self.objective(z + step)
                if after <= value or damping > 1e8:
                    break
                damping = max(1.0, 10 * damping)
            if after > value:
                break
            gain, z, value = value - after, z + step, after
            damping = 0.0 if damping <= 1.0 else damping / 10
            if gain <= _CONVERGED * max(1.0, value):
                break
        return z


def _sampled(
    problem: _Problem, centre: np.ndarray, L: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, float, float, float]:
    """Return samples of z, R-hat, the effective number of samples, and the share of accepted proposals.

    The proposal ``m + sqrt(1 - b^2) (z - m) + b w``, w ~ N(0, H^-1), keeps the Laplace approximation; it is
    accepted by the ratio of the posterior to that.
    """
    L = np.tril(L)

    def drawn() -> np.ndarray:
        w = rng.standard_normal((_CHAINS, len(centre)))
        return np.asarray(solve_triangular(L, w.T, lower=True, trans=1).T)

    def excess(z: np.ndarray) -> np.ndarray:
        """Return minus the logarithm of the ratio of the posterior to the Laplace approximation."""
        return problem.objectives(z) - 0.5 * np.sum(((z - centre) @ L) ** 2, axis=1)

    z = centre + drawn()
    value, b = excess(z), 1.0
    each = max(_LEAST, -(-count // _CHAINS))
    thin = 1
    kept: list[np.ndarray] = []
    accepted = total = 0
    step = 0
    while len(kept) < each:
        proposal = centre + np.sqrt(max(0.0, 1 - b * b)) * (z - centre) + b * drawn()
        new = excess(proposal)
        better = np.log(rng.random(_CHAINS)) < value - new
        z, value = np.where(better[:, None], proposal, z), np.where(better, new, value)
        step += 1
        if step <= _TUNING:
            b = float(np.clip(b * np.exp((better.mean() - _ACCEPTED) / np.sqrt(step) * 2), 0.01, 1.0))
            thin = max(1, int(np.ceil(0.5 / b)))
            continue
        accepted, total = accepted + int(better.sum()), total + _CHAINS
        if (step - _TUNING) % thin == 0:
            kept.append(z)
    chains = np.stack(kept, axis=1)  # (chains, each, directions)
    r_hat, ess = convergence(chains)
    flat = chains.swapaxes(0, 1).reshape(-1, chains.shape[2])
    return flat[np.linspace(0, len(flat) - 1, count).astype(int)], r_hat, ess, accepted / max(1, total)


def convergence(chains: np.ndarray) -> tuple[float, float]:
    """Return the largest R-hat of halved chains (c, n, d), and the smallest effective number of samples.

    Gelman et al., Bayesian Data Analysis, 2013, chapter 11: autocorrelations are summed in pairs until they
    turn negative.
    """
    half = chains.shape[1] // 2
    if half < 2 or chains.shape[2] == 0:
        return 1.0, float(chains.shape[0] * chains.shape[1])
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    n = half
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = n * parts.mean(axis=1).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between / n
    r_hat = np.sqrt(pooled / np.where(within > 0, within, 1.0))
    centred = parts - parts.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0) / n  # (n, d)
    rho = 1 - (within - covariance * n / (n - 1)) / np.where(pooled > 0, pooled, 1.0)
    pairs = rho[1 : n - (n - 1) % 2 : 2][: (n - 1) // 2] + rho[2::2][: (n - 1) // 2]
    positive = np.cumprod(pairs > 0, axis=0)
    tau = 1 + 2 * np.sum(pairs * positive, axis=0)
    total = len(parts) * n
    return float(r_hat.max()), float(np.min(np.minimum(total / np.maximum(tau, 1e-3), total)))

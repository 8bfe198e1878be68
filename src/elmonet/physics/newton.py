"""Many small least-squares problems at once: Gauss-Newton, its steps halved where they do not help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from elmonet.physics.rows import Rows

__all__ = ["Solved", "solve"]

_STEPS = 30
_HALVINGS = 8
_DONE = 1e-12  # of the coefficients: a step that is no more than rounding
_ENTRIES = 30_000_000  # of the Jacobians that are held at a time
_OPEN = 1e-11  # of the largest pivot: an unknown that nothing determines
_CONDITIONS = 10.0  # how much conditions count against the equation


@dataclass(frozen=True)
class Solved:
    """Coefficients (N, p), steps taken (N,), which functions converged (N,), and what was found out."""

    c: np.ndarray
    steps: np.ndarray
    converged: np.ndarray
    linear: bool
    shared: bool
    rank: int


def solve(blocks: list[Rows], inputs: list[np.ndarray], p: int) -> Solved:
    """Minimise the residuals of all blocks, the equation first, for inputs (N, M) at their points."""
    N = len(inputs[0])
    weights = _weights(blocks, inputs, p)
    shared, linear = _kind(blocks, inputs, p)
    if shared:
        return _all_at_once(blocks, inputs, weights, p)
    rows = sum(len(block.points) for block in blocks)
    step = max(1, _ENTRIES // (rows * p))
    parts = [
        _newton(blocks, [u[start : start + step] for u in inputs], weights, p, linear)
        for start in range(0, N, step)
    ]
    c, steps, converged = (np.concatenate(part) for part in zip(*(part[:3] for part in parts), strict=True))
    return Solved(c, steps, converged, linear, False, min(part[3] for part in parts))


def _weights(blocks: list[Rows], inputs: list[np.ndarray], p: int) -> list[float]:
    """One over the size of each block's rows, so that units do not matter; conditions count more."""
    found = []
    for i, (block, u) in enumerate(zip(blocks, inputs, strict=True)):
        J = block.jacobian(block.slopes(np.zeros((1, p)), u[:1]))
        size = float(np.sqrt(np.mean(np.einsum("nmp,nmp->nm", J, J)))) or 1.0
        found.append((_CONDITIONS if i else 1.0) / size)
    return found


def _kind(blocks: list[Rows], inputs: list[np.ndarray], p: int) -> tuple[bool, bool]:
    """Whether they are linear with the same operator for all functions, and whether they are linear."""
    rng = np.random.default_rng(0)
    shared = linear = True
    for block, u in zip(blocks, inputs, strict=True):
        step = max(1, _ENTRIES // (10 * len(block.points) * len(block.T)))
        first = block.slopes(np.zeros((1, p)), u[:1])
        for start in range(0, len(u), step):  # all inputs: one of them may be the first that differs
            some = u[start : start + step]
            here = block.slopes(np.zeros((len(some), p)), some)
            there = block.slopes(np.tile(rng.normal(size=p), (len(some), 1)), some)
            linear = linear and all(np.array_equal(here[name], there[name]) for name in here)
            shared = shared and all(bool(np.all(here[name] == first[name])) for name in here)
    return shared and linear, linear


def _all_at_once(blocks: list[Rows], inputs: list[np.ndarray], weights: list[float], p: int) -> Solved:
    """One factorisation for all functions."""
    N = len(inputs[0])
    zero = np.zeros((1, p))
    A = np.concatenate(
        [w * b.jacobian(b.slopes(zero, u[:1]))[0] for b, u, w in zip(blocks, inputs, weights, strict=True)]
    )
    F = np.concatenate(
        [w * b.values(np.zeros((N, p)), u) for b, u, w in zip(blocks, inputs, weights, strict=True)], axis=1
    )
    Q, R, order = qr(A, mode="economic", pivoting=True, check_finite=False)
    rank = _rank(R)
    c = np.zeros((N, p))
    c[:, order[:rank]] = solve_triangular(R[:rank, :rank], -(F @ Q[:, :rank]).T, check_finite=False).T
    return Solved(c, np.ones(N, int), np.ones(N, bool), True, True, rank)


def _newton(
    blocks: list[Rows], inputs: list[np.ndarray], weights: list[float], p: int, linear: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Gauss-Newton for some functions."""
    n, rank = len(inputs[0]), p
    c, steps, converged = np.zeros((n, p)), np.zeros(n, int), np.zeros(n, bool)

    def residuals(c: np.ndarray, which: np.ndarray) -> np.ndarray:
        every = zip(blocks, inputs, weights, strict=True)
        return np.concatenate([w * b.values(c, u[which]) for b, u, w in every], axis=1)

    for _ in range(1 if linear else _STEPS):
        going = np.flatnonzero(~converged)
        if not len(going):
            break
        r = residuals(c[going], going)
        every = zip(blocks, inputs, weights, strict=True)
        J = np.concatenate([w * b.jacobian(b.slopes(c[going], u[going])) for b, u, w in every], axis=1)
        Q, R = np.linalg.qr(J)
        rank = min(rank, *(_rank(own) for own in R))
        if rank < p:
            break
        step = np.linalg.solve(R, -np.einsum("nij,ni->nj", Q, r)[..., None])[..., 0]
        size, norms = np.ones((len(going), 1)), np.linalg.norm(r, axis=1)
        for _ in range(0 if linear else _HALVINGS):
            worse = ~(np.linalg.norm(residuals(c[going] + size * step, going), axis=1) <= norms * (1 + 1e-9))
            if not worse.any():
                break
            size[worse] /= 2
        c[going] += size * step
        steps[going] += 1
        small = np.linalg.norm(size * step, axis=1) <= _DONE * np.linalg.norm(c[going], axis=1) + _DONE
        converged[going] = small if not linear else True
    return c, steps, converged, rank


def _rank(R: np.ndarray) -> int:
    pivots = np.abs(np.diagonal(R))
    return int(np.count_nonzero(pivots > _OPEN * pivots.max()))

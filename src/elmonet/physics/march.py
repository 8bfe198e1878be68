"""Solve an equation for many inputs on the whole domain, or on slabs that follow each other in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from elmonet.errors import InputError
from elmonet.linalg import product
from elmonet.physics.discretise import Equation, ResidualBlock, as_tuple
from elmonet.physics.fields import UNNAMED, Field, InputFields, Key, Symbols
from elmonet.physics.geometry import CollocationPoints
from elmonet.physics.least_squares import CollocationSystem, Progress

_CHECKED_FUNCTIONS = 8  # whose residuals are compared with their terms


class UnderdeterminedError(InputError):
    """The equation and its conditions leave coefficients undetermined."""


@dataclass(frozen=True)
class Resolution:
    """Degrees of the polynomials (or Fourier modes) in each coordinate, and the number of slabs in time."""

    degrees: tuple[int, ...]
    slabs: int = 1

    def __str__(self) -> str:
        degrees = " x ".join(map(str, self.degrees))
        slabs = f" in each of {self.slabs} slabs" if self.slabs > 1 else ""
        return f"degree {degrees}{slabs}"


@dataclass(frozen=True)
class Slab:
    """The solutions of N functions on one slab: a basis, and coefficients c (N, k p) of the k unknowns."""

    basis: Any
    c: np.ndarray
    unknowns: tuple[str, ...]

    def values(self, points: np.ndarray, orders: tuple[int, ...] | None = None) -> dict[str, np.ndarray]:
        """Return each unknown, or its derivative of these orders, at points (M, d): (N, M)."""
        T = self.basis.derivative(points, (0,) * points.shape[1] if orders is None else orders).T
        parts = np.split(self.c, len(self.unknowns), axis=1)
        return {name: product(c, T) for name, c in zip(self.unknowns, parts, strict=True)}


@dataclass(frozen=True)
class SpectralSolution:
    """Solutions of an equation for N inputs.

    Attributes
    ----------
    axis, edges : the coordinate in which slabs follow each other, and where they begin and end.
    slabs : the solutions on each slab.
    residuals : (N,), root mean squares. steps, converged : (N,).
    linear : whether the equation is linear; shared : with the same operator for all inputs.
    relative_residual : the residual relative to its terms, for the worst of a few functions and of the
        equation and its conditions.
    """

    axis: int | None
    edges: np.ndarray
    slabs: list[Slab]
    residuals: np.ndarray
    steps: np.ndarray
    converged: np.ndarray
    linear: bool
    shared: bool
    relative_residual: float = 0.0

    @property
    def width(self) -> int:
        """The number of basis functions on a slab."""
        return int(self.slabs[0].basis.width_)

    def subset(self, rows: np.ndarray) -> SpectralSolution:
        """Return the solutions for the inputs in `rows`."""
        return replace(
            self,
            slabs=[replace(slab, c=slab.c[rows]) for slab in self.slabs],
            residuals=self.residuals[rows],
            steps=self.steps[rows],
            converged=self.converged[rows],
        )

    def values(self, points: np.ndarray, orders: tuple[int, ...] | None = None) -> dict[str, np.ndarray]:
        """Return each unknown, or its derivative of these orders, at points (M, d): (N, M)."""
        if len(self.slabs) == 1:
            return self.slabs[0].values(points, orders)
        index = np.searchsorted(self.edges[1:-1], points[:, self.axis], side="left")
        values = {name: np.empty((len(self.steps), len(points))) for name in self.slabs[0].unknowns}
        for k in np.unique(index):
            here = index == k
            for name, field in self.slabs[k].values(points[here], orders).items():
                values[name][:, here] = field
        return values


def march(
    equation: Equation, inputs: InputFields, resolution: Resolution, progress: Progress | None = None
) -> SpectralSolution:
    """Solve an equation for all inputs at this resolution, one slab after the other."""
    domain, unknowns = equation.domain, equation.symbols.unknowns
    axis, n = equation.marching_axis, inputs.count
    if resolution.slabs > 1 and axis is None:
        raise InputError(
            "slabs are for equations that start at one end: with conditions at one end of a coordinate, "
            'such as "t=0", and none at the other.'
        )
    low, high = (0.0, 1.0) if axis is None else domain.corners[:, axis]
    edges = np.linspace(low, high, resolution.slabs + 1)
    slabs: list[Slab] = []
    steps, converged = np.zeros(n, int), np.ones(n, bool)
    linear, shared, relative_residual = True, True, 0.0
    mean_squares: list[np.ndarray] = []
    few = np.unique(np.linspace(0, n - 1, _CHECKED_FUNCTIONS).astype(int))
    for k in range(resolution.slabs):
        box = domain if resolution.slabs == 1 else domain.between(axis, edges[k], edges[k + 1])
        basis = equation.basis(box, resolution.degrees)
        before = slabs[-1] if slabs else None
        blocks, u, start = _discretise(equation, inputs, box, basis, resolution.degrees, before)
        T = None
        if equation.nearly_dependent:
            T = basis.derivative(np.concatenate([block.points for block in blocks]), (0,) * len(domain.names))
        width = basis.width_ * len(unknowns)
        solved = CollocationSystem(blocks, u, n, width, T).solve(
            start, _slab_progress(progress, k, resolution.slabs)
        )
        if solved.undetermined:
            raise UnderdeterminedError(
                f"the equation and its conditions leave {solved.undetermined} of {width} unknowns open: "
                "conditions are missing. Give one for each face that needs one. If an equation has no "
                "solution near zero, say where to begin: start=lambda x: ..."
            )
        slabs.append(Slab(basis, solved.c, unknowns))
        steps = np.maximum(steps, solved.steps)
        converged &= solved.converged
        linear, shared = linear and solved.linear, shared and solved.shared
        checked = few[converged[few]]
        for block, inputs_of in zip(blocks, u, strict=True):
            u_checked = {key: values[checked] for key, values in inputs_of.items()}
            inside = None if block is blocks[0] else blocks[0]
            shares = block.relative_residual(solved.c[checked], u_checked, inside)
            relative_residual = max(relative_residual, float(shares.max(initial=0.0)))
        mean_squares.append(np.mean(blocks[0].values(solved.c, u[0]) ** 2, axis=(1, 2)))
    residuals = np.sqrt(np.mean(mean_squares, axis=0))
    return SpectralSolution(
        axis, edges, slabs, residuals, steps, converged, linear, shared, relative_residual
    )


def _slab_progress(progress: Progress | None, k: int, slabs: int) -> Progress | None:
    return None if progress is None else lambda done: progress((k + done) / slabs)


def _discretise(
    equation: Equation,
    inputs: InputFields,
    box: Any,
    basis: Any,
    degrees: tuple[int, ...],
    before: Slab | None,
) -> tuple[list[ResidualBlock], list[dict[Key, np.ndarray]], np.ndarray | None]:
    """Return the equation and the conditions of a slab, the inputs of each, and coefficients to start from.

    A slab continues the one `before`, and starts from its final values, constant in time.
    """
    symbols, axis = equation.symbols, equation.marching_axis
    blocks = [ResidualBlock(equation.residual, box.inside(degrees), symbols, basis)]
    for name, condition in equation.conditions.items():
        if before is None or axis not in equation.domain.fixed(name):
            blocks.append(ResidualBlock(condition, box.part(name, degrees), symbols, basis))
    u = [inputs.evaluate(block.points, block.input_keys) for block in blocks]
    interior = blocks[0].points
    if before is None or axis is None:
        start = _initial_guess(equation, interior, inputs.count)
    else:
        face = box.part(f"{symbols.coordinates[axis]}={box.low[axis]:.17g}", degrees)
        continuity, ends = _continuity(before, symbols, blocks[0].orders_in(axis), axis, face, basis)
        blocks.append(continuity)
        u.append(ends)
        frozen = interior.copy()
        frozen[:, axis] = box.low[axis]
        start = list(before.values(frozen).values())
    return blocks, u, _project(start, basis, interior)


def _continuity(
    before: Slab, symbols: Symbols, orders: dict[str, int], axis: int, face: CollocationPoints, basis: Any
) -> tuple[ResidualBlock, dict[Key, np.ndarray]]:
    """Return conditions that continue the slab before, with all derivatives below the equation's order.

    The end values of that slab are the inputs of these conditions.
    """
    letter = symbols.coordinates[axis]
    continued = [(name, letter * i) for name, order in orders.items() for i in range(order)]
    ends = tuple(f"end{i}" for i in range(len(continued))) if len(continued) > 1 else UNNAMED

    def residual(s: Field, u: Field) -> tuple[Any, ...]:
        differences = []
        for (name, letters), end in zip(continued, ends, strict=True):
            unknown: Any = getattr(s, name) if name else s
            value = getattr(u, end) if end else u
            differences.append((getattr(unknown, letters) if letters else unknown) - value)
        return tuple(differences)

    values = {}
    for (name, letters), end in zip(continued, ends, strict=True):
        values[end, ""] = before.values(face.points, symbols.orders(letters))[name]
    return ResidualBlock(residual, face, Symbols(symbols.coordinates, symbols.unknowns, ends), basis), values


def _initial_guess(equation: Equation, points: np.ndarray, n: int) -> list[np.ndarray] | None:
    """Return values (n, M) of each unknown where Newton's method begins; None: zero."""
    if equation.start is None:
        return None
    values = as_tuple(equation.start(*points.T))
    if len(values) != len(equation.symbols.unknowns):
        raise InputError(f"start must give {len(equation.symbols.unknowns)} values, got {len(values)}.")
    return [np.tile(np.broadcast_to(value, len(points)), (n, 1)) for value in values]


def _project(start: list[np.ndarray] | None, basis: Any, points: np.ndarray) -> np.ndarray | None:
    """Return the coefficients (n, k p) of functions with these values at points; None: zero."""
    if start is None:
        return None
    T = basis.derivative(points, (0,) * points.shape[1])
    c = lstsq(T, np.concatenate(start).T, lapack_driver="gelsy", check_finite=False)[0].T
    return np.concatenate(np.split(c, len(start)), axis=1)

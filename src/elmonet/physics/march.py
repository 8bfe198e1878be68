"""An equation solved for many inputs in one piece, or in slabs that follow each other in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from elmonet.errors import InputError
from elmonet.linalg import product
from elmonet.physics.discretise import Equation, Rows
from elmonet.physics.fields import ONE, Field, Key, Known, Names
from elmonet.physics.geometry import Part
from elmonet.physics.least_squares import System

__all__ = ["Open", "Resolution", "Solution", "march", "resolutions"]

_DEGREES = (6, 9, 13, 18, 24, 32, 40, 50, 64, 90)
_SHARED, _OWN = 4000, 800  # coefficients of a function, with one factorisation for all and without
_WORK = 2.5e9  # for all functions: about two minutes
_SLABS = ((28, 10, 4), (40, 8, 8), (56, 8, 12), (80, 7, 20), (110, 6, 30))  # degrees in space, in time, slabs


@dataclass(frozen=True)
class Resolution:
    """Degrees of the polynomials (or waves) in each coordinate; along one, so many slabs after each other."""

    degrees: tuple[int, ...]
    slabs: int = 1

    def __str__(self) -> str:
        each = " x ".join(map(str, self.degrees))
        slabs = f" in each of {self.slabs} slabs" if self.slabs > 1 else ""
        return f"degree {each}{slabs}"


def resolutions(
    d: int, *, n: int, unknowns: int, shared: bool, march: int | None, rows: int | None
) -> list[Resolution]:
    """Those to try, one after the other, in d dimensions; the last only tells of the one before.

    `n`: for how many functions. `march`: the coordinate along which slabs may follow each other, if any.
    They come last, and not where one factorisation serves all functions. `rows`: of a
    domain that is given by points, their number; there, polynomials go up to a total degree.
    """
    most = min((_SHARED if shared else _OWN) / unknowns, np.inf if rows is None else rows / 2)
    found: list[Resolution] = []
    slabs: list[Resolution] = []
    beyond: list[Resolution] = []
    for degree in _DEGREES:
        width = comb(degree + d, d) if rows is not None else (degree + 1) ** d
        (found if width <= most else beyond).append(Resolution((degree,) * d))
    for space, time, count in _SLABS if march is not None and d == 2 and not shared else ():
        degrees = np.full(d, space)
        degrees[march] = time
        width = float(np.prod(degrees + 1))
        affordable = width <= most and n * count * (width * unknowns) ** 2 <= _WORK
        (slabs if affordable else beyond).append(Resolution(tuple(degrees.tolist()), count))
    beyond = [own for own in beyond if (own.slabs > 1) == bool(slabs)]
    return found + slabs + beyond[:1]


Progress = Callable[[float], None]

_FEW = 8  # functions that are asked whether they meet the equation


class Open(InputError):
    """Coefficients that nothing determines."""


@dataclass(frozen=True)
class Solution:
    """Solutions of N functions: in each slab a basis and coefficients (N, k p).

    Attributes
    ----------
    edges : where the slabs begin and end; axis : in which coordinate.
    residuals : (N,), root mean squares. steps, converged : (N,).
    linear, shared : what the equation is.
    unmet : the share of its terms that the residual is, at the worst of a few functions.
    """

    unknowns: tuple[str, ...]
    axis: int | None
    edges: np.ndarray
    pieces: list[tuple[Any, np.ndarray]]
    residuals: np.ndarray
    steps: np.ndarray
    converged: np.ndarray
    linear: bool
    shared: bool
    unmet: float = 0.0

    @property
    def width(self) -> int:
        """Functions of a basis."""
        return int(self.pieces[0][0].width_)

    def of(self, rows: np.ndarray) -> Solution:
        """Some of the functions."""
        return replace(
            self,
            pieces=[(basis, c[rows]) for basis, c in self.pieces],
            residuals=self.residuals[rows],
            steps=self.steps[rows],
            converged=self.converged[rows],
        )

    def values(self, points: np.ndarray, orders: tuple[int, ...] | None = None) -> dict[str, np.ndarray]:
        """Each unknown, or its derivative, at points (M, d): (N, M)."""
        orders = (0,) * points.shape[1] if orders is None else orders
        slab = np.zeros(len(points), int)
        if len(self.pieces) > 1:
            slab = np.searchsorted(self.edges[1:-1], points[:, self.axis], side="left")
        found = {name: np.empty((len(self.steps), len(points))) for name in self.unknowns}
        for k in np.unique(slab):
            basis, c = self.pieces[k]
            here = slab == k
            T = basis.derivative(points[here], orders).T
            for name, own in zip(self.unknowns, np.split(c, len(self.unknowns), axis=1), strict=True):
                found[name][:, here] = product(own, T)
        return found


def march(
    equation: Equation, known: Known, resolution: Resolution, progress: Progress | None = None
) -> Solution:
    """Solve for all inputs at this resolution."""
    domain, names, axis, slabs = equation.domain, equation.names, equation.axis, resolution.slabs
    if slabs > 1 and axis is None:
        raise InputError(
            "slabs are for equations that start at one end: with conditions at one end of a coordinate, "
            'such as "t=0", and none at the other.'
        )
    low, high = (0.0, 1.0) if axis is None else domain.corners[:, axis]
    edges = np.linspace(low, high, slabs + 1)
    pieces: list[tuple[Any, np.ndarray]] = []
    steps, converged = np.zeros(known.count, int), np.ones(known.count, bool)
    squares: list[np.ndarray] = []
    unmet = 0.0
    few = np.unique(np.linspace(0, known.count - 1, _FEW).astype(int))
    linear = shared = True
    for k in range(slabs):
        box = domain if slabs == 1 else domain.between(axis, edges[k], edges[k + 1])
        basis = equation.basis(box, resolution.degrees)
        blocks = _blocks(equation, box, basis, resolution.degrees, first=k == 0)
        inputs = [known.at(block.points, block.needs) for block in blocks]
        inside = blocks[0].points
        if k == 0 or axis is None:
            start = _guess(equation, inside, known.count)
        else:
            orders = blocks[0].orders_in(axis)
            face = box.part(f"{names.coordinates[axis]}={edges[k]:.17g}", resolution.degrees)
            before, values = _continued(pieces[-1], names, orders, axis, face, basis)
            blocks.append(before)
            inputs.append(values)
            frozen = inside.copy()
            frozen[:, axis] = edges[k]
            start = list(_values(pieces[-1], names, frozen).values())
        c0 = _projected(start, basis, inside)
        T = None
        if equation.dependent:
            T = basis.derivative(np.concatenate([b.points for b in blocks]), names.orders(""))
        width = basis.width_ * len(names.unknowns)
        system = System(blocks, inputs, known.count, width, T)
        found = system.solve(c0, None if progress is None else _share(progress, k, slabs))
        _require_conditions(found.open, width)
        pieces.append((basis, found.c))
        steps = np.maximum(steps, found.steps)
        converged &= found.converged
        linear, shared = linear and found.linear, shared and found.shared
        some = few[converged[few]]
        own = {key: values[some] for key, values in inputs[0].items()}
        unmet = max(unmet, float(blocks[0].unmet(found.c[some], own).max(initial=0.0)))
        squares.append(np.mean(blocks[0].values(found.c, inputs[0]) ** 2, axis=(1, 2)))
    residuals = np.sqrt(np.mean(squares, axis=0))
    return Solution(names.unknowns, axis, edges, pieces, residuals, steps, converged, linear, shared, unmet)


def _share(progress: Progress, k: int, slabs: int) -> Progress:
    return lambda done: progress((k + done) / slabs)


def _blocks(equation: Equation, box: Any, basis: Any, degrees: tuple[int, ...], *, first: bool) -> list[Rows]:
    """The equation, and the conditions that hold in this slab."""
    blocks = [Rows(equation.residual, box.inside(degrees), equation.names, basis)]
    for name, condition in equation.conditions.items():
        if first or equation.axis not in equation.domain.fixed(name):
            blocks.append(Rows(condition, box.part(name, degrees), equation.names, basis))
    return blocks


def _continued(
    piece: tuple[Any, np.ndarray],
    names: Names,
    orders: dict[str, int],
    axis: int,
    face: Part,
    basis: Any,
) -> tuple[Rows, dict[Key, np.ndarray]]:
    """Rows that say that a slab begins where the last one ended, with as many derivatives as it needs."""
    letter = names.coordinates[axis]
    wanted = [(name, letter * i) for name, order in orders.items() for i in range(order)]
    inputs = tuple(f"end{i}" for i in range(len(wanted))) if len(wanted) > 1 else ONE

    def residual(s: Field, u: Field) -> tuple[Any, ...]:
        found = []
        for (name, letters), own in zip(wanted, inputs, strict=True):
            unknown: Any = getattr(s, name) if name else s
            end = getattr(u, own) if own else u
            found.append((getattr(unknown, letters) if letters else unknown) - end)
        return tuple(found)

    values = {}
    for (name, letters), own in zip(wanted, inputs, strict=True):
        values[own, ""] = _values(piece, names, face.points, letters)[name]
    return Rows(residual, face, Names(names.coordinates, names.unknowns, inputs), basis), values


def _values(
    piece: tuple[Any, np.ndarray], names: Names, points: np.ndarray, letters: str = ""
) -> dict[str, np.ndarray]:
    """Each unknown of a slab, or its derivative, at points (M, d): (N, M)."""
    T = piece[0].derivative(points, names.orders(letters)).T
    parts = np.split(piece[1], len(names.unknowns), axis=1)
    return {name: product(c, T) for name, c in zip(names.unknowns, parts, strict=True)}


def _guess(equation: Equation, points: np.ndarray, n: int) -> list[np.ndarray] | None:
    """Where Newton's method begins: values (n, M) of each unknown; None: zero."""
    if equation.start is None:
        return None
    found = equation.start(*points.T)
    every = found if isinstance(found, (tuple, list)) else (found,)
    if len(every) != len(equation.names.unknowns):
        raise InputError(f"start must give {len(equation.names.unknowns)} values, got {len(every)}.")
    return [np.tile(np.broadcast_to(own, len(points)), (n, 1)) for own in every]


def _projected(start: list[np.ndarray] | None, basis: Any, points: np.ndarray) -> Any:
    """Coefficients of functions with these values; None: zero."""
    if start is None:
        return None
    T = basis.derivative(points, (0,) * points.shape[1])
    found = lstsq(T, np.concatenate(start).T, lapack_driver="gelsy", check_finite=False)[0].T
    return np.concatenate(np.split(found, len(start)), axis=1)


def _require_conditions(open_: int, width: int) -> None:
    if open_:
        raise Open(
            f"the equation and its conditions leave {open_} of {width} unknowns open: conditions are "
            "missing. Give one for each face that needs one. If an equation has no solution near zero, say "
            "where to begin: start=lambda x: ..."
        )

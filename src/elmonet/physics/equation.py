"""An equation as the solver sees it: residuals by place, and the functions to solve in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elmonet.interpolation import grid_points
from elmonet.physics.basis import Basis
from elmonet.physics.domain import Domain
from elmonet.physics.fields import Names
from elmonet.physics.rows import Rows

__all__ = ["Equation"]


@dataclass(frozen=True)
class Equation:
    """What is to be solved; the attributes are those of `PDE`."""

    domain: Any
    residual: Callable[..., Any]
    conditions: dict[str, Callable[..., Any]]
    names: Names
    trunk: Callable[[int], Any] | None
    start: Callable[..., Any] | None

    @property
    def dependent(self) -> bool:
        """Whether the functions to solve in may be nearly dependent where the equation holds."""
        return isinstance(self.domain, Domain) or self.trunk is not None

    def basis(self, domain: Any, degrees: tuple[int, ...]) -> Any:
        """The functions to solve in, on the domain or a slab of it."""
        if self.trunk is not None:
            return self.trunk(max(degrees)).fit(grid_points(domain.corners.T))
        return Basis(domain.around, degrees, domain.periodic, total=isinstance(domain, Domain))

    @cached_property
    def axis(self) -> int | None:
        """The coordinate along which the equation begins at one end and goes on to the other, if any."""
        if self.dependent:
            return None
        low: set[int] = set()
        high: set[int] = set()
        for name in self.conditions:
            for j, value in self.domain.fixed(name).items():
                (low if value == self.domain.low[j] else high).add(j)
        inside = self.domain.inside((1,) * len(self.domain.names))
        asked = Rows(self.residual, inside, self.names, _Nothing())
        begins = [j for j in sorted(low - high) if max(asked.orders_in(j).values()) > 0]
        named_t = [j for j in begins if self.domain.names[j] == "t"]
        return next(iter(named_t or begins), None)

    @cached_property
    def probe(self) -> np.ndarray:
        """Points (M, d) at which solutions are compared."""
        if isinstance(self.domain, Domain):
            return self.domain.points
        return self.domain.inside((20,) * len(self.domain.names)).points


class _Nothing:
    """A basis without functions: to see what a residual asks for."""

    width_ = 0

    def derivative(self, points: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
        return np.zeros((len(points), 0))

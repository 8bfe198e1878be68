"""An equation as the solver sees it: residuals by place, rows at points."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elmonet.errors import InputError
from elmonet.interpolation import grid_points
from elmonet.linalg import product
from elmonet.physics.fields import Basis, Field, Key, Names
from elmonet.physics.geometry import Domain, Part

__all__ = ["Equation", "Rows"]

_ROUNDING = 1e-8  # of the largest that a term could be with these coefficients
_STEP = 1e-30  # of the complex step: the imaginary part is the derivative, exactly


class Rows:
    """A residual ``f(s, u, x, t)`` at points (M, d), for functions ``s = T c`` in the span of a basis.

    A residual may give several values, a tuple: E equations at each point. With k unknowns, c holds k times
    the coefficients of one, one after the other.

    Attributes
    ----------
    needs : what it asks of the input function, by keys.
    """

    def __init__(self, residual: Callable[..., Any], part: Part, names: Names, basis: Any):
        self._residual, self._names, self.points = residual, names, part.points
        self._given = self._arguments(part)
        asked: set[Key] = set()
        self.needs: set[Key] = set()
        s = Field("s", names.coordinates, names.unknowns, {}, asked)
        value = residual(s, Field("u", names.coordinates, names.inputs, {}, self.needs), **self._given)
        every = value if isinstance(value, (tuple, list)) else (value,)
        self.equations = len([np.asarray(own) for own in every])  # a bare s is asked for only here
        if not asked:
            raise InputError(
                "a residual must depend on s or its derivatives, such as s.x - u; this one does not."
            )
        self.asked = sorted(asked)
        self._T = {
            letters: basis.derivative(self.points, names.orders(letters)) for letters in {k[1] for k in asked}
        }
        self._width = basis.width_
        self._require_analytic()

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.equations * len(self.points)

    def values(self, c: np.ndarray, u: dict[Key, np.ndarray]) -> np.ndarray:
        """The residuals (n, E, M) of functions with coefficients c (n, k p) and inputs u, each (n, M)."""
        return self._value(self._fields(c), u, len(c))

    def slopes(self, c: np.ndarray, u: dict[Key, np.ndarray]) -> dict[Key, np.ndarray]:
        """Their derivatives (n, E, M) by each derivative of s, by a complex step."""
        fields = self._fields(c)
        found = {}
        for key in self.asked:
            moved = fields | {key: fields[key] + 1j * _STEP}
            found[key] = np.imag(self._value(moved, u, len(c))) / _STEP
        return found

    def times(self, slopes: dict[Key, np.ndarray], c: np.ndarray) -> np.ndarray:
        """The Jacobian with these slopes times c: (n, E, M). It is never formed."""
        found: Any = 0.0
        for key, field in self._fields(c).items():
            found = found + slopes[key] * field[:, None]
        return np.broadcast_to(found, (len(c), self.equations, len(self.points)))

    def transposed(self, slopes: dict[Key, np.ndarray], r: np.ndarray) -> np.ndarray:
        """The Jacobian's transpose times r (n, E, M): (n, k p)."""
        found = np.zeros((len(r), self._width * len(self._names.unknowns)))
        for key in self.asked:
            found[:, self._columns(key)] += product(np.einsum("nem,nem->nm", slopes[key], r), self._T[key[1]])
        return found

    def dense(self, slopes: dict[Key, np.ndarray]) -> np.ndarray:
        """The Jacobian (E, M, k p) of one function, with slopes (E, M)."""
        J = np.zeros((self.equations, len(self.points), self._width * len(self._names.unknowns)))
        for key in self.asked:
            J[..., self._columns(key)] += slopes[key][..., None] * self._T[key[1]]
        return J

    def unmet(self, c: np.ndarray, u: dict[Key, np.ndarray]) -> np.ndarray:
        """The share of its terms that a residual is, (n,): the median over points, of the worst equation.

        r = sum_k slope_k s_k + rest: |r| / (sum_k |slope_k s_k| + |rest|) is 0 for a solution, 1 if nothing
        cancels. At a corner or a kink it may be large; if it is at half of the points, the equation is not
        met. Points where all terms are rounding do not count.
        """
        fields, slopes, r = self._fields(c), self.slopes(c, u), self.values(c, u)
        terms = {key: slopes[key] * fields[key][:, None] for key in self.asked}
        size = np.abs(r - sum(terms.values())) + sum(np.abs(own) for own in terms.values())
        length = np.linalg.norm(c, axis=1)[:, None, None]
        largest = sum(
            np.abs(slopes[key]) * np.linalg.norm(self._T[key[1]], axis=1) * length for key in self.asked
        )
        counts = (size > _ROUNDING * largest) & (size > 0)
        share = np.divide(np.abs(r), size, out=np.zeros_like(size), where=counts)
        return np.median(share, axis=2).max(axis=1)

    def orders_in(self, axis: int) -> dict[str, int]:
        """How often each unknown is differentiated by one coordinate, at most."""
        letter = self._names.coordinates[axis]
        found = dict.fromkeys(self._names.unknowns, 0)
        for component, letters in self.asked:
            found[component] = max(found[component], letters.count(letter))
        return found

    def _arguments(self, part: Part) -> dict[str, Any]:
        """What the residual takes beside s and u, by the names of its arguments."""
        names = self._names
        known: dict[str, Any] = dict(zip(names.coordinates, part.points.T, strict=True)) | names.constants
        if part.normals is not None:
            known |= {f"n{own}": n for own, n in zip(names.coordinates, part.normals.T, strict=True)}
        if not callable(self._residual):
            raise InputError(
                "a residual is a function that is zero for a solution, such as lambda s, u: s - 1; got "
                f"{self._residual!r}."
            )
        wanted = list(inspect.signature(self._residual).parameters)
        missing = [name for name in wanted[2:] if name not in known]
        if missing and all(name.startswith("n") and name[1:] in names.coordinates for name in missing):
            raise InputError(
                f"a condition asks for the normal ({', '.join(missing)}), which is not known there. Give "
                "normals= to the Domain, or name a whole face of the Box."
            )
        if len(wanted) < 2 or missing:
            raise InputError(
                "a residual is a function of s and u, and of coordinates and constants by name if it needs "
                "them, such as lambda s, u, {', '.join(names.coordinates)}: ...; got {', '.join(wanted)}."
            )
        return {name: known[name] for name in wanted[2:]}

    def _require_analytic(self) -> None:
        """A complex step must see what a real one sees; abs, maximum and the like hide it."""
        rng = np.random.default_rng(0)
        shape = (1, len(self.points))
        fields = {key: rng.uniform(0.5, 1.5, size=shape) for key in self.asked}
        u = {key: rng.uniform(0.5, 1.5, size=shape) for key in sorted(self.needs)}

        def value(key: Key, step: complex) -> np.ndarray:
            return self._value(fields | {key: fields[key] + step}, u, 1)

        for key in self.asked:
            exact = np.imag(value(key, 1j * _STEP)) / _STEP
            rough = np.real(value(key, 1e-6) - value(key, -1e-6)) / 2e-6
            if not np.allclose(exact, rough, rtol=1e-3, atol=1e-3 * (1 + np.abs(rough).max())):
                raise InputError(
                    "the residual is not a smooth (analytic) function of "
                    f"{'.'.join(['s', *filter(None, key)])}: abs, maximum and others like them are not "
                    "allowed. Take a smooth one, such as sqrt(s**2 + 1e-6) for abs(s)."
                )

    def _columns(self, key: Key) -> slice:
        first = self._width * self._names.unknowns.index(key[0])
        return slice(first, first + self._width)

    def _fields(self, c: np.ndarray) -> dict[Key, np.ndarray]:
        return {key: product(c[:, self._columns(key)], self._T[key[1]].T) for key in self.asked}

    def _value(self, fields: dict[Key, np.ndarray], u: dict[Key, np.ndarray], n: int) -> np.ndarray:
        names = self._names
        s = Field("s", names.coordinates, names.unknowns, fields)
        given = Field("u", names.coordinates, names.inputs, u)
        with np.errstate(all="ignore"):  # what is not finite did not converge, and is named so
            value = self._residual(s, given, **self._given)
        every = value if isinstance(value, (tuple, list)) else (value,)
        return np.stack([_filled(own, (n, len(self.points))) for own in every], axis=1)


def _filled(value: Any, shape: tuple[int, int]) -> np.ndarray:
    """One equation's values, for each function and at each point."""
    found = np.asarray(value)
    numeric = found.dtype.kind in "fciub"
    ends = zip(found.shape[::-1], shape[::-1], strict=False)
    if not numeric or found.ndim > 2 or any(own not in (1, asked) for own, asked in ends):
        raise InputError(
            f"a residual gives one number for each function and point, an array {shape}, as s.x - u does; "
            "several equations are a tuple, (first, second). Got "
            f"{f'an array {found.shape}' if numeric else repr(value)}."
        )
    return np.broadcast_to(found, shape)


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

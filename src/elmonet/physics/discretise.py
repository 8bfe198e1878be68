"""An equation discretised by collocation: residuals at points, for functions in the span of a basis."""

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
from elmonet.physics.fields import NOT_POINTWISE, Field, Key, PolynomialBasis, Symbols
from elmonet.physics.geometry import Box, CollocationPoints, Domain

_COMPLEX_STEP = 1e-30  # so small that the derivative by a complex step is exact
_NEGLIGIBLE_TERM = 1e-8  # relative to the largest possible value of a term: below, it is rounding
_PROBE_DEGREES = (200, 20, 20)  # solutions in 1-D, 2-D, 3-D are compared at collocation points of this degree


@dataclass(frozen=True)
class Equation:
    """The equation to solve; the attributes are those of `PDE`."""

    domain: Any
    residual: Callable[..., Any]
    conditions: dict[str, Callable[..., Any]]
    symbols: Symbols
    trunk: Callable[[int], Any] | None
    start: Callable[..., Any] | None

    @property
    def nearly_dependent(self) -> bool:
        """Whether basis functions may be nearly linearly dependent on the domain."""
        return isinstance(self.domain, Domain) or self.trunk is not None

    def basis(self, domain: Any, degrees: tuple[int, ...]) -> Any:
        """Return the basis functions on the domain, or on a slab of it."""
        if self.trunk is not None:
            return self.trunk(max(degrees)).fit(grid_points(domain.corners.T))
        total = isinstance(domain, Domain)
        return PolynomialBasis(domain.basis_corners, degrees, domain.periodic, total=total)

    @cached_property
    def marching_axis(self) -> int | None:
        """The coordinate in which the equation is an initial value problem, if any; "t" is preferred."""
        if self.nearly_dependent:
            return None
        low: set[int] = set()
        high: set[int] = set()
        for name in self.conditions:
            for j, value in self.domain.fixed(name).items():
                (low if value == self.domain.low[j] else high).add(j)
        inside = self.domain.inside((1,) * len(self.domain.names))
        block = ResidualBlock(self.residual, inside, self.symbols, _EmptyBasis())
        initial = [j for j in sorted(low - high) if max(block.orders_in(j).values()) > 0]
        named_t = [j for j in initial if self.domain.names[j] == "t"]
        return next(iter(named_t or initial), None)

    @cached_property
    def probe(self) -> np.ndarray:
        """Points (M, d) at which solutions of different resolutions are compared."""
        if isinstance(self.domain, Box):
            d = len(self.domain.names)
            return self.domain.inside((_PROBE_DEGREES[d - 1],) * d).points
        return self.domain.points


class _EmptyBasis:
    """A basis without functions, to find out which derivatives a residual uses."""

    width_ = 0

    def derivative(self, points: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
        return np.zeros((len(points), 0))


class ResidualBlock:
    """A residual ``f(s, u, x, t)`` at points (M, d), for functions ``s = T c`` in the span of a basis.

    A residual may return a tuple: E equations at each point. With k unknowns, c holds the coefficients of
    each unknown, one after the other.

    Attributes
    ----------
    unknown_keys : the unknowns and derivatives that the residual uses.
    input_keys : the inputs and derivatives that it uses.
    equations : E.
    """

    def __init__(self, residual: Callable[..., Any], where: CollocationPoints, symbols: Symbols, basis: Any):
        self._residual, self._symbols, self.points = residual, symbols, where.points
        self._arguments = self._find_arguments(where)
        requested: set[Key] = set()
        self.input_keys: set[Key] = set()
        s = Field("s", symbols.coordinates, symbols.unknowns, {}, requested)
        u = Field("u", symbols.coordinates, symbols.inputs, {}, self.input_keys)
        values = self._call(s, u)
        self.equations = len([np.asarray(value) for value in values])  # asarray requests a bare s
        if not requested:
            raise InputError(
                "a residual must depend on s or its derivatives, such as s.x - u; this one does not."
            )
        self.unknown_keys = sorted(requested)
        derivatives = {letters for _, letters in requested}
        self._T = {letters: basis.derivative(self.points, symbols.orders(letters)) for letters in derivatives}
        self._basis, self._width = basis, basis.width_
        self._require_analytic()
        self._require_pointwise()

    @property
    def count(self) -> int:
        """The number of rows, E M."""
        return self.equations * len(self.points)

    def values(self, c: np.ndarray, u: dict[Key, np.ndarray]) -> np.ndarray:
        """Return the residuals (n, E, M) for coefficients c (n, k p) and inputs u, each (n, M)."""
        return self._evaluate(self._fields(c), u, len(c))

    def slopes(self, c: np.ndarray, u: dict[Key, np.ndarray]) -> dict[Key, np.ndarray]:
        """Return the partial derivatives (n, E, M) of the residuals by each unknown key."""
        fields = self._fields(c)
        slopes = {}
        for key in self.unknown_keys:
            shifted = fields | {key: fields[key] + 1j * _COMPLEX_STEP}
            slopes[key] = np.imag(self._evaluate(shifted, u, len(c))) / _COMPLEX_STEP
        return slopes

    def times(self, slopes: dict[Key, np.ndarray], c: np.ndarray) -> np.ndarray:
        """Return the Jacobian times c, (n, E, M), without forming the Jacobian."""
        total: Any = 0.0
        for key, field in self._fields(c).items():
            total = total + slopes[key] * field[:, None]
        return np.broadcast_to(total, (len(c), self.equations, len(self.points)))

    def transposed(self, slopes: dict[Key, np.ndarray], r: np.ndarray) -> np.ndarray:
        """Return the transposed Jacobian times r (n, E, M): (n, k p)."""
        total = np.zeros((len(r), self._width * len(self._symbols.unknowns)))
        for key in self.unknown_keys:
            total[:, self._columns(key)] += product(np.einsum("nem,nem->nm", slopes[key], r), self._T[key[1]])
        return total

    def dense(self, slopes: dict[Key, np.ndarray]) -> np.ndarray:
        """Return the Jacobian (E, M, k p) of one function, with slopes (E, M)."""
        J = np.zeros((self.equations, len(self.points), self._width * len(self._symbols.unknowns)))
        for key in self.unknown_keys:
            J[..., self._columns(key)] += slopes[key][..., None] * self._T[key[1]]
        return J

    def relative_residual(
        self, c: np.ndarray, u: dict[Key, np.ndarray], inside: ResidualBlock | None = None
    ) -> np.ndarray:
        """Return the residual relative to its terms, (n,): median over points, maximum over equations.

        r = sum_k slope_k s_k + rest: |r| / (sum_k |slope_k s_k| + |rest|) is 0 for a solution and 1 if
        nothing cancels. Near a corner or a kink it may be large; if it is large at half of the points, the
        equation does not hold. Points where all terms are rounding count as 0.

        Terms of a condition vanish with it, as s does in s = 0. So s_k is there its root mean square at the
        points of the block `inside`.
        """
        fields, slopes, r = self._fields(c), self.slopes(c, u), self.values(c, u)
        terms = {key: slopes[key] * fields[key][:, None] for key in self.unknown_keys}
        size = np.abs(r - sum(terms.values()))
        if inside is not None:
            for key in self.unknown_keys:
                T = self._basis.derivative(inside.points, self._symbols.orders(key[1]))
                values = product(c[:, self._columns(key)], T.T)
                terms[key] = slopes[key] * np.sqrt(np.mean(values**2, axis=1))[:, None, None]
        size = size + sum(np.abs(term) for term in terms.values())
        length = np.linalg.norm(c, axis=1)[:, None, None]
        largest = sum(
            np.abs(slopes[key]) * np.linalg.norm(self._T[key[1]], axis=1) * length
            for key in self.unknown_keys
        )
        counts = (size > _NEGLIGIBLE_TERM * largest) & (size > 0)
        share = np.divide(np.abs(r), size, out=np.zeros_like(size), where=counts)
        return np.median(share, axis=2).max(axis=1)

    def orders_in(self, axis: int) -> dict[str, int]:
        """Return the highest order of derivative of each unknown in one coordinate."""
        letter = self._symbols.coordinates[axis]
        orders = dict.fromkeys(self._symbols.unknowns, 0)
        for component, letters in self.unknown_keys:
            orders[component] = max(orders[component], letters.count(letter))
        return orders

    def _find_arguments(self, where: CollocationPoints) -> dict[str, Any]:
        """Return the residual's arguments beside s and u: coordinates, constants and normals by name."""
        letters = self._symbols.coordinates
        known: dict[str, Any] = dict(zip(letters, where.points.T, strict=True)) | self._symbols.constants
        if where.normals is not None:
            known |= {f"n{letter}": normal for letter, normal in zip(letters, where.normals.T, strict=True)}
        if not callable(self._residual):
            raise InputError(
                "a residual is a function that is zero for a solution, such as lambda s, u: s - 1; got "
                f"{self._residual!r}."
            )
        parameters = inspect.signature(self._residual).parameters
        wanted = list(parameters)
        missing = [
            n for n in wanted[2:] if n not in known and parameters[n].default is inspect.Parameter.empty
        ]
        if missing and all(name.startswith("n") and name[1:] in letters for name in missing):
            raise InputError(
                f"a condition asks for the normal ({', '.join(missing)}), which is not known there. Give "
                "normals= to the Domain, or name a face of the Box."
            )
        if len(wanted) < 2 or missing:
            raise InputError(
                "a residual is a function of s and u, and of coordinates and constants by name if it needs "
                f"them, such as lambda s, u, {', '.join(letters)}: ...; got the arguments "
                f"{', '.join(wanted)}."
            )
        return {name: known[name] for name in wanted[2:] if name in known}

    def _random(self, n: int) -> tuple[dict[Key, np.ndarray], dict[Key, np.ndarray]]:
        """Return random values (n, M) of the unknowns and of the inputs."""
        rng, shape = np.random.default_rng(0), (n, len(self.points))
        fields = {key: rng.uniform(0.5, 1.5, size=shape) for key in self.unknown_keys}
        return fields, {key: rng.uniform(0.5, 1.5, size=shape) for key in sorted(self.input_keys)}

    def _require_pointwise(self) -> None:
        """Compare the residual of one function at one point while all other values change."""
        n, row, point = 4, 1, len(self.points) // 3
        fields, u = self._random(n)
        expected = self._evaluate(fields, u, n)[row, :, point]
        for factor in (0.1, 3.0):  # below and above the one value, for minima and maxima
            others = np.full((n, len(self.points)), factor)
            others[row, point] = 1.0
            changed = [{key: others * values for key, values in each.items()} for each in (fields, u)]
            found = self._evaluate(changed[0], changed[1], n)[row, :, point]
            if not np.allclose(found, expected, rtol=1e-9, atol=0, equal_nan=True):
                raise InputError(NOT_POINTWISE)

    def _require_analytic(self) -> None:
        """Compare the complex step with a real one: they differ for abs, maximum and the like."""
        fields, u = self._random(1)

        def value(key: Key, step: complex) -> np.ndarray:
            return self._evaluate(fields | {key: fields[key] + step}, u, 1)

        for key in self.unknown_keys:
            by_complex_step = np.imag(value(key, 1j * _COMPLEX_STEP)) / _COMPLEX_STEP
            by_difference = np.real(value(key, 1e-6) - value(key, -1e-6)) / 2e-6
            tolerance = 1e-3 * (1 + np.abs(by_difference).max())
            if not np.allclose(by_complex_step, by_difference, rtol=1e-3, atol=tolerance):
                raise InputError(
                    "the residual is not a smooth (analytic) function of "
                    f"{'.'.join(['s', *filter(None, key)])}: abs, maximum and similar functions are not "
                    "allowed. Use a smooth one, such as sqrt(s**2 + 1e-6) for abs(s)."
                )

    def _columns(self, key: Key) -> slice:
        first = self._width * self._symbols.unknowns.index(key[0])
        return slice(first, first + self._width)

    def _fields(self, c: np.ndarray) -> dict[Key, np.ndarray]:
        return {key: product(c[:, self._columns(key)], self._T[key[1]].T) for key in self.unknown_keys}

    def _evaluate(self, fields: dict[Key, np.ndarray], u: dict[Key, np.ndarray], n: int) -> np.ndarray:
        """Call the residual with values of the fields and of the inputs: (n, E, M)."""
        symbols = self._symbols
        unknowns = Field("s", symbols.coordinates, symbols.unknowns, fields)
        inputs = Field("u", symbols.coordinates, symbols.inputs, u)
        with np.errstate(all="ignore"):  # functions with non-finite residuals are reported as not converged
            values = self._call(unknowns, inputs)
        return np.stack([_broadcast(value, (n, len(self.points))) for value in values], axis=1)

    def _call(self, s: Field, u: Field) -> Any:
        """Return the values of each equation."""
        try:
            return as_tuple(self._residual(s, u, **self._arguments))
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the residual cannot be evaluated: {str(error).rstrip('.')}. It is called with arrays, one "
                "value for each function and point, complex for derivatives. Use smooth functions of NumPy: "
                "np.sin instead of math.sin, np.where instead of if, np.sqrt(s**2 + 1e-6) instead of "
                "np.fabs(s), (1 + np.tanh(50 * s)) / 2 instead of np.heaviside(s, 0.5)."
            ) from error


def as_tuple(values: Any) -> Any:
    """Return several values as they are, and a single one as a tuple."""
    return values if isinstance(values, (tuple, list)) else (values,)


def _broadcast(value: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the values of one equation as an array of this shape."""
    values = np.asarray(value)  # no longer `Values`, which are for residuals alone
    numeric = values.dtype.kind in "fciub"
    sizes = zip(values.shape[::-1], shape[::-1], strict=False)
    if not numeric or values.ndim > 2 or any(size not in (1, expected) for size, expected in sizes):
        raise InputError(
            f"a residual returns one number for each function and point, an array {shape}, as s.x - u does; "
            "several equations are a tuple, (first, second). Got "
            f"{f'an array {values.shape}' if numeric else repr(value)}."
        )
    return np.broadcast_to(values, shape)

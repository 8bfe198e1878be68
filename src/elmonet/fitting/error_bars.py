"""Error bars of a fitted operator, from the residuals of training functions that are left out or held out.

Three scales g of a function's error are compared: one for all, the posterior standard deviation, and the size
of the error learned from left-out residuals. Their scores come from trials: the fit and its bands are made
again without some functions, which are then scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtri

from elmonet.errors import LeaveOneOutWarning, warn
from elmonet.fitting.operator import Operator
from elmonet.fitting.residuals import (
    cross_validated,
    effective_number,
    growth_of,
    residuals_between_levels,
    residuals_of_parts,
    rows_and_lift,
    training_residuals,
)
from elmonet.fitting.spread import LearnedSize, PosteriorVariance
from elmonet.uncertainty.bands import BandErrorBars, Bands
from elmonet.uncertainty.between_points import distance_factor
from elmonet.uncertainty.calibration import Validation

if TYPE_CHECKING:
    from elmonet.fitting.fitted_operator import FittedOperator, Query

_MAX_VALUES = 8_000_000  # values of all functions that bands are made from
_MIN_FUNCTIONS = 300  # functions that bands are made from, however many values they have
_MAX_GROWTH = 5.0  # of left-out residuals with a tenth fewer functions; above, they cannot be trusted
_MAX_LEVEL_GROWTH = 3.0  # of residuals of functions left out by levels of a grid, likewise
_VALIDATED_AT = 0.9  # coverage of the bands in a report
_LARGEST = 2.0  # largest value of a smooth error, in units of its root mean square


@dataclass(frozen=True)
class OperatorErrorBars(BandErrorBars):
    """Error bars ``q sigma(y) g`` of a fitted operator.

    Attributes
    ----------
    bands : scores and quantiles; its scales g are one, the standard deviation, and the learned size.
    variance : posterior variance of a new function; None if bands are equally wide for all functions.
    learned : the learned size of the error, if there is one.
    between : (c M,), the size of the interpolation error between the training points; None if not known.
    solver : (c M,), the size of the error that the training outputs have themselves; None if they have none.
    """

    bands: Bands
    variance: PosteriorVariance | None = None
    learned: LearnedSize | None = None
    between: np.ndarray | None = None
    solver: np.ndarray | None = None

    @classmethod
    def from_fit(cls, model: FittedOperator) -> Self | None:
        """Return error bars from left-out or held-out training functions; None without training data.

        Warns if residuals of functions left out one at a time are far too small, as on grids of inputs: then
        bands come from functions left out by whole levels of the grid, or by parts.
        """
        residuals, solver = training_residuals(model), _of_solver(model)
        if residuals is None:
            return None
        if not residuals.left_out:
            bands = residuals.bands(slice(None), widen=_hidden(model))
            return None if bands is None else cls(bands, between=model.between_points, solver=solver)
        trials, growth = cross_validated(model, residuals)
        held = residuals_between_levels(model) if trials else None
        between = 1.0 if held is None else growth_of(held, residuals)
        assert model.solution.fit is not None
        effective = effective_number(model.solution.fit)
        if growth > _MAX_GROWTH or between > _MAX_LEVEL_GROWTH:
            warn(
                f"errors of functions left out together are {max(growth, between):.2g} times those of "
                "functions left out one at a time: the expected error may be far too small, as it is if "
                "inputs lie on a grid. Error bars come from functions left out together, and are wide. Add "
                "functions with random inputs.",
                LeaveOneOutWarning,
            )
            held = residuals_of_parts(model, residuals) if held is None else held
            bands = None if held is None else held.bands(slice(None), widen=1 + 1 / np.sqrt(effective))
            return None if bands is None else cls(bands, between=model.between_points, solver=solver)
        some = _enough(*residuals.values.shape)
        # At the rest of a grid, errors are unlike those at the points that are known.
        first = 0 if model.missing_points is None else 1
        bands = residuals.bands(some, _hidden(model), trials, effective, first)
        if bands is None:
            return None
        return cls(bands, residuals.variance, residuals.learned, model.between_points, solver)

    @classmethod
    def from_validation(
        cls,
        model: FittedOperator,
        query: Query,
        target: np.ndarray,
        current: Any,
        groups: np.ndarray | None = None,
    ) -> Self | None:
        """Return error bars from functions with known targets; the scale of functions stays as it is."""
        residuals = target - model.operator.at_training_points(query.Z)
        if not isinstance(current, cls):
            bands = Bands.of(residuals, [np.ones((1, 1))], groups)
            return None if bands is None else cls(bands, between=model.between_points)
        g = current._coefficients_and_scale(model.operator, query.Z)[1]
        bands = Bands.of(residuals, [g[:, None]], groups)
        if bands is None:
            return None
        return replace(current, bands=replace(bands, scale=current.bands.scale), solver=None)

    def factor(self, coverage: float, of: str) -> float:
        """Return the half-width in units of the spread.

        Quantiles of residuals, which may be rounding, say nothing of a solver's error: that is normal.
        """
        factor = self.bands.factor(coverage, of)
        if self.solver is None:
            return factor
        return max(factor, float(ndtri((1 + coverage) / 2)) * (_LARGEST if of == "function" else 1.0))

    def values_and_spread(self, model: FittedOperator, query: Query) -> tuple[np.ndarray, np.ndarray]:
        """Return what the operator gives, and the expected size of its errors."""
        coefficients, g = self._coefficients_and_scale(model.operator, query.Z)
        P, index = model.trunk_points(query)
        sigma = model.outputs.at_points(self.bands.sigma, query.points)
        spread = sigma * g[:, None] if index is None else sigma * g[index]
        if self.between is not None and query.points is not None:
            factor = distance_factor(model.outputs.points, query.points)
            between = model.outputs.at_points(self.between, query.points)
            spread = np.hypot(spread, between * np.tile(factor, len(between) // len(factor)))
        if self.solver is not None:
            spread = np.hypot(spread, model.outputs.at_points(self.solver, query.points))
        return model.operator.values(coefficients, P, index), spread

    def novelty(self, model: FittedOperator, query: Query) -> np.ndarray | None:
        """Return the standard deviation of each function relative to the largest in training."""
        return None if self.variance is None else self.variance.novelty(model.operator, query.Z)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all of it as named arrays, for a file."""
        parts = {f"bands.{name}": array for name, array in self.bands.arrays().items()}
        if self.variance is not None:
            parts |= {f"variance.{name}": array for name, array in self.variance.arrays().items()}
        if self.learned is not None:
            parts |= {"learned.row": self.learned.row, "learned.numbers": self.learned.numbers}
        if self.between is not None:
            parts["between"] = self.between
        if self.solver is not None:
            parts["solver"] = self.solver
        return parts

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], model: Any = None) -> Self:
        """Invert `arrays`."""
        bands, variance, learned = (
            {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            for prefix in ("bands.", "variance.", "learned.")
        )
        return cls(
            Bands.from_arrays(bands),
            PosteriorVariance.from_arrays(variance) if variance else None,
            LearnedSize(**learned) if learned else None,
            arrays.get("between"),
            arrays.get("solver"),
        )

    def _coefficients_and_scale(self, operator: Operator, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (n, r) of functions Z, and the scale g of each (n,), in one product."""
        if self.variance is None or self.bands.scale == 0:
            return operator.coefficients(Z), np.ones(len(Z))
        if self.learned is None or self.bands.scale == 1:
            coefficients, variance, _ = self.variance.with_coefficients(operator, Z)
            return coefficients, np.sqrt(variance)
        coefficients, variance, more = self.variance.with_coefficients(operator, Z, self.learned.row)
        return coefficients, self.learned(np.sqrt(variance), more[:, 0])

    @classmethod
    def validation(cls, model: FittedOperator) -> Validation | None:
        """Return the training functions, left out or held out, with their bands; no fit is made again."""
        residuals, bars = training_residuals(model), model.error_bars
        if residuals is None or not isinstance(bars, cls):
            return None
        assert model.training is not None
        outputs, bands = model.outputs, bars.bands
        training = model.training.of(residuals.functions)
        y, lift, points = rows_and_lift(model, training)
        z = outputs.target(y) - residuals.values
        coverage = min(_VALIDATED_AT, bands.independent / (bands.independent + 1))
        half = bands.factor(coverage, "function") * residuals.sigma(bands)
        g = np.broadcast_to(residuals.scales[min(bands.scale, len(residuals.scales) - 1)], (len(z), 1))

        def band(i: int) -> tuple[np.ndarray, np.ndarray]:
            low, high = (outputs.values(row[None])[0] for row in (z[i] - half * g[i], z[i] + half * g[i]))
            return low + lift[i % len(lift)], high + lift[i % len(lift)]

        predicted = outputs.values(z)
        units = np.atleast_2d(outputs.unit(z))
        return Validation(
            f"training functions, {'left out' if residuals.left_out else 'held out'}",
            residuals.functions,
            y + lift,
            predicted + lift,
            band,
            coverage,
            residuals.calibration(units, y),
            points,
        )


def _hidden(model: FittedOperator) -> float:
    """Return by how much the expected error exceeds that of functions left out: a choice hides some."""
    error = (model.estimate.left_out or model.estimate.error or 0.0) - model.estimate.solver
    left_out = model.solution.expected_error
    return max(error / left_out, 1.0) if error > 0 and left_out else 1.0


def _of_solver(model: FittedOperator) -> np.ndarray | None:
    """Return the size of the solver's error at each place (c M,), as the model sees outputs.

    Only its norm is known, relative to the outputs: it is taken to be as large at all places.
    """
    if not model.estimate.solver or model.training is None:
        return None
    y, outputs = model.training.y, model.outputs
    places = y.shape[1] // max(1, outputs.components)
    sizes = np.sqrt(np.mean(y.reshape(len(y), -1, places) ** 2, axis=(0, 2)))
    units = np.mean(np.abs(np.broadcast_to(outputs.unit(outputs.target(y)), y.shape)), axis=0)
    return model.estimate.solver * np.repeat(sizes, places) / np.maximum(units, np.finfo(float).tiny)


def _enough(n: int, places: int) -> Any:
    """Return functions whose values are enough to make bands from."""
    most = max(_MIN_FUNCTIONS, _MAX_VALUES // max(places, 1))
    return slice(None) if n <= most else np.random.default_rng(0).permutation(n)[:most]

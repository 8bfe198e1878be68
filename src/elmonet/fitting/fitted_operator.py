"""Fitted operators: branch, trunk and coefficients between the forms of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from elmonet.data.scattered import Scattered
from elmonet.description import Description, Graph, Operation
from elmonet.description.operations import evaluate
from elmonet.errors import InputError
from elmonet.features.base import checked_orders, learns_from
from elmonet.fitting.fitted import FittedModel
from elmonet.fitting.grids import RestOfGrid, missing_points, rest_of_grid
from elmonet.fitting.operator import Operator
from elmonet.fitting.residuals import Residuals, held_out_residuals
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, ScatteredForm, lift_at_own_points
from elmonet.forms.training import Training, is_list_of_points, place_points
from elmonet.interpolation import interpolate
from elmonet.linalg import product
from elmonet.solve import LEFT_OUT, Solution
from elmonet.summary import Fact, Summary, duration, plural, rounded
from elmonet.uncertainty.between_points import errors_between
from elmonet.uncertainty.calibration import Validation
from elmonet.uncertainty.error_estimate import ErrorEstimate, reason_unknown
from elmonet.uncertainty.novelty import TrainingRecord

_INTERPOLATED = 200  # functions that tell the interpolation error
_FEW = 50  # training functions, up to which predictions look at error bars if errors have a heavy tail


@dataclass(frozen=True)
class Query:
    """Functions and points of a prediction by an operator.

    X : the functions as the user gave them.
    Z : (N, ...), the functions as the branch sees them.
    points : (M, d) common points, or (K, d) in all; None for the training points.
    grid : the shape of common points.
    own : which function each point belongs to, if functions have points of their own.
    ends : where a list of predictions is split.
    """

    X: Any
    Z: np.ndarray
    points: np.ndarray | None = None
    grid: tuple[int, ...] | None = None
    own: Scattered | None = None
    ends: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedOperator(FittedModel):
    """A fitted operator: branch, trunk and coefficients between the forms of the data.

    Attributes
    ----------
    operator, solution : the learned operator, and the account of its solve.
    training : the training data of a fit in memory; None after a fit in blocks and in a file.
    refit : function that fits what was chosen to other training data, where functions are held out.
    again : function that fits and chooses again from other training data; None as for `training`.
    with_branch : the same with another branch, the first argument.
    grouping : why functions were left out in groups, in words.
    groups : number of these groups; None if each function was left out by itself.
    interpolation : the interpolation error that a file holds.
    """

    operator: Operator
    solution: Solution
    training: Training | None = None
    refit: Callable[[Training], FittedOperator] | None = None
    again: Callable[[Training], FittedOperator] | None = None
    with_branch: Callable[[Any, Training], FittedOperator] | None = None
    grouping: str = ""
    groups: int | None = None
    interpolation: float | None = None

    @classmethod
    def of(cls, inputs: InputForm, outputs: OutputForm, solution: Solution, **more: Any) -> Self:
        """Return the fitted operator with the error that its solution leads to expect."""
        error, kind = solution.expected_error, solution.error_kind
        estimate, training = ErrorEstimate(error, None, kind), more.get("training")
        reason = ""
        if training is not None:
            y: Any = training.y.values if isinstance(training.y, Scattered) else training.y
            reason = reason_unknown(y, more.get("groups") or len(training.X))
        if reason:
            estimate = ErrorEstimate(reason=reason)
        elif solution.errors is not None and kind in LEFT_OUT:
            each = () if solution.component_errors is None else solution.component_errors
            components = tuple(zip(outputs.component_names, map(float, each), strict=False))
            groups = more.get("groups")
            estimate = ErrorEstimate.of(
                solution.errors, kind, stated=error, independent=groups, components=components
            )
        return cls(inputs=inputs, outputs=outputs, solution=solution, estimate=estimate, **more)

    @property
    def judge(self) -> Self:
        """The operator itself."""
        return self

    @cached_property
    def held_out(self) -> Residuals | None:
        """Residuals of functions held out of fits to the others; the fits are made when first asked for."""
        return held_out_residuals(self)

    @property
    def _some_outputs(self) -> np.ndarray | None:
        """Outputs (n, c M) that tell the interpolation error; None if there are none without gaps."""
        training = self.training
        if training is None or isinstance(self.outputs, ScatteredForm) or training.has_gaps:
            return None
        n = len(training.X)
        return np.asarray(training.y[np.linspace(0, n - 1, min(n, _INTERPOLATED)).astype(int)])

    @cached_property
    def interpolation_error(self) -> float | None:
        """Relative error of interpolation halfway between the training points; None if it is not known."""
        y, between, outputs = self._some_outputs, self.between_points, self.outputs
        if y is None or between is None:
            return self.interpolation
        missed = np.broadcast_to(between * outputs.unit(outputs.target(y)), y.shape)
        error, size = (float(np.linalg.norm(outputs.in_units(rows))) for rows in (missed, y))
        return error / size if size else None

    @cached_property
    def between_points(self) -> np.ndarray | None:
        """Size of the interpolation error (c M,) between the training points; None if it is not known.

        Other trunks than those learned from outputs do not interpolate: ``h / (1 - h)`` of what they miss at
        a point comes on top if that point is left out, h being its leverage in the trunk's span.
        """
        outputs, y = self.outputs, self._some_outputs
        if y is None:
            return None
        target = outputs.target(y)
        if "outputs" not in learns_from(self.operator.trunk):
            Q = self.operator.basis
            h = np.minimum(np.einsum("ij,ij->i", Q, Q), 1 - 1 / len(Q))
            missed = target - product(product(target, Q), Q.T)
            return np.sqrt(np.mean(missed**2, axis=0)) * h / (1 - h)
        parts = target.reshape(len(target), max(1, outputs.components), -1)
        return np.concatenate([errors_between(outputs.points, parts[:, k]) for k in range(parts.shape[1])])

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """Return input rows as the branch sees them."""
        return self.inputs.seen(rows, self.operator.C.dtype)

    def at_training_points(self, rows: np.ndarray) -> np.ndarray:
        """Return the outputs (n, c M) of input rows, as rows at the training points, without the lift."""
        return np.asarray(self.outputs.values(self.operator.at_training_points(self.seen(rows))), np.float64)

    # Queries

    def query(self, estimator: Any, X: Any, points: Any = None, sensors: Any = None) -> Query:
        """Check functions and points of a prediction."""
        X = X if sensors is None else self.inputs.at_sensors(X, sensors)
        Z, outputs = self.seen(self.inputs.rows(estimator, X)), self.outputs
        if isinstance(points, Scattered) or is_list_of_points(points, len(Z), outputs.points.shape[1]):
            return self._own_points(X, Z, points)
        if points is None:
            return Query(X, Z)
        where, grid = place_points(points)
        where = outputs.checked_points(where)
        outputs.warn_of_places(where)
        return Query(X, Z, where, grid or (len(where),))

    def _own_points(self, X: Any, Z: np.ndarray, places: Any) -> Query:
        ends = None
        if not isinstance(places, Scattered):
            if len(places) != len(Z):
                raise InputError(f"there are {len(places)} lists of points for {len(Z)} input functions.")
            ends = np.cumsum([len(own) for own in places])[:-1]
            places = Scattered.of(None, places)
        if places.n_functions > len(Z):
            raise InputError(
                f"index names function {places.n_functions - 1}, but X holds {len(Z)} functions (from 0)."
            )
        if self.outputs.logs is not None:
            raise InputError("a model with log_outputs predicts at common points only: give points (M, d).")
        return Query(X, Z, self.outputs.checked_points(places.points), own=places, ends=ends)

    def values(self, query: Query) -> np.ndarray:
        """Return predictions as the operator gives them."""
        if query.points is None:
            self.outputs.require_points()
            return self.operator.at_training_points(query.Z)
        return self.operator.values(self.operator.coefficients(query.Z), *self.trunk_points(query))

    def left_out_errors(self, points: Any = None) -> np.ndarray | None:
        """Return errors of left-out functions, flat, in the user's units."""
        outputs, training = self.outputs, self.training
        if training is None or isinstance(outputs, ScatteredForm) or training.has_gaps:
            return None
        try:
            left_out = outputs.values(self.solution.left_out().T)
        except AttributeError:  # the solver leaves no function out
            return None
        if left_out.shape != training.y.shape:
            return None
        errors = np.asarray(left_out - training.y, np.float64)
        if points is not None:
            where = outputs.checked_points(place_points(points)[0])
            each = errors.reshape(len(errors) * max(1, outputs.components), -1)
            errors = interpolate(outputs.points, each.T, where).T.reshape(len(errors), -1)
        graph = Graph(errors.shape[1])
        return evaluate(graph.finished(outputs.trace_unpacked(graph, 0)), errors)

    def trunk_points(self, query: Query) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the places of a query as the trunk sees them, and each one's function if it has one."""
        if query.points is None:
            self.outputs.require_points()
        P = None if query.points is None else self.outputs.seen(query.points)
        c = max(1, self.outputs.components)
        return P, None if query.own is None else np.tile(query.own.index, c)

    def described(self, points: Any = None, steps: int | None = None) -> Description:
        """Return the operator as a list of array operations."""
        where, grid = None, None
        if points is None:
            self.outputs.require_points()
        else:
            if isinstance(points, Scattered) or is_list_of_points(points):
                raise InputError(
                    "derivatives by the inputs and exports are for points that all functions share: give "
                    "points (M, d)."
                )
            where, grid = place_points(points)
            where = self.outputs.checked_points(where)
            grid = grid or (len(where),)
        ports = self.inputs.ports()
        graph = Graph(sum(port.size for port in ports))
        P = None if where is None else self.outputs.seen(where)
        z = self.operator.trace(graph, self.inputs.trace(graph, 0), P)
        operations = graph.finished(self.outputs.trace(graph, z, where))
        at = self.outputs.points if where is None else where
        return Description(operations, ports, self.outputs.ports(grid), at, self.facts_to_export())

    def described_novelty(self, steps: int | None = None) -> tuple[Operation, ...]:
        """Return operations from the inputs to their novelty among the training inputs."""
        measure = self.record.measure
        if measure is None:
            return ()
        graph = Graph(sum(port.size for port in self.inputs.ports()))
        found = measure.trace(graph, self.inputs.trace(graph, 0))
        return graph.finished(graph.scale(found, 1 / measure.margin))

    def finish(self, z: np.ndarray, query: Query) -> Any:
        """Return what the operator gives as outputs in the user's shapes and units."""
        outputs, lift = self.outputs, self.outputs.lift
        if query.own is not None:
            z = outputs.values(z, query.points)
            z = z if lift is None else z + lift_at_own_points(lift, query.X, query.own)
            return self._unpacked(z, query)
        values = outputs.values(z, query.points)
        if lift is not None:
            values = values + outputs.lifted(query.X, len(z), query.points)
        return self._unpacked(values, query)

    def finish_spread(self, spread: np.ndarray, z: np.ndarray, query: Query) -> Any:
        """Return the size of errors around z in the user's shapes and units."""
        return self._unpacked(spread * self.outputs.unit(z, query.points), query)

    def _unpacked(self, values: np.ndarray, query: Query) -> Any:
        """Return values in the user's shapes: at own points (K,) or (K, c), or a list of these."""
        outputs = self.outputs
        if query.own is None:
            return outputs.unpacked(values, query.grid)
        if outputs.sizes is not None:
            values = values.reshape(outputs.components, -1).T * outputs.sizes
        elif outputs.exponent:
            values = np.ldexp(values, outputs.exponent)
        values = values.astype(outputs.dtype, copy=False)
        return values if query.ends is None else np.split(values, query.ends)

    def derivative(self, query: Query, orders: Any) -> Any:
        """Return derivatives of the outputs, of the given order in each coordinate."""
        outputs = self.outputs
        if outputs.logs is not None or outputs.lift is not None:
            what = "logarithms" if outputs.logs is not None else "a lift"
            raise InputError(
                f"derivatives are for models without {what}: take differences of predictions instead."
            )
        d = outputs.points.shape[1]
        orders = checked_orders(orders, d)
        P, index = self.trunk_points(
            query if query.points is not None else replace(query, points=outputs.points)
        )
        trunk_orders = orders if outputs.axis is None else (*orders, 0)  # the component's number comes last
        z = self.operator.values(self.operator.coefficients(query.Z), P, index, trunk_orders)
        if outputs.box is not None:  # the trunk sees points in the unit cube
            z = z / np.prod(outputs.box.scale[:d] ** np.array(orders))
        constant = not any(orders)  # a derivative of the shift is zero
        z = outputs.values(z, query.points) if constant else z * outputs.unit(z, query.points)
        return self._unpacked(z, query)

    # Functions with known outputs

    def targets(self, query: Query, y: Any) -> np.ndarray:
        """Check outputs at the training points; return what the operator should give for them."""
        outputs = self.outputs
        rows = outputs.rows(outputs.checked(y, len(query.Z)))
        return outputs.target(rows if outputs.lift is None else rows - outputs.lifted(query.X, len(rows)))

    def units(self, z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | float, float]:
        """Return the factor from the operator's errors to errors of outputs, and the outputs' RMS."""
        outputs = self.outputs
        return outputs.unit(z), float(np.sqrt(np.mean(outputs.values(target) ** 2)))

    # The training inputs

    def novelty(self, query: Query) -> np.ndarray:
        """Return the larger of two novelties (n,): leverage among the training inputs, and spread."""
        novelty, bars = self.record.novelty(query.Z), self.error_bars
        spread = None if bars is None else bars.novelty(self, query)
        return novelty if spread is None else np.maximum(novelty, spread)

    def outside(self, query: Query) -> np.ndarray:
        """Return which functions (n,) lie well outside the training functions; False where unknown."""
        measure = self.record.measure
        return np.zeros(len(query.Z), bool) if measure is None else measure.outside(query.Z)

    def quick_expected_errors(self, query: Query) -> np.ndarray | None:
        """Return `expected_errors` at the training points, if functions are few: then they cost little."""
        known = 0 if self.bars is None else self.bars.independent
        functions = known if self.training is None else len(self.training.X)
        if not 0 < functions <= _FEW or isinstance(self.outputs, ScatteredForm) or self.error_bars is None:
            return None
        return self.expected_errors(replace(query, points=None, grid=None, own=None, ends=None))

    def _new_record(self) -> TrainingRecord:
        if self.training is None:
            return TrainingRecord()
        return TrainingRecord.of(self.training.X, self.seen(self.training.X))

    @cached_property
    def missing_points(self) -> np.ndarray | None:
        """The points (k, p) that inputs on a part of a grid of numbers leave out; None for other inputs."""
        training = self.training
        if training is None or isinstance(self.outputs, ScatteredForm) or self.outputs.lift is not None:
            return None
        return missing_points(training.X)

    @cached_property
    def rest_of_grid(self) -> RestOfGrid | None:
        """What to expect at the rest of a grid, for few functions of numbers on a part of it; else None."""
        training, points = self.training, self.missing_points
        if training is None or len(training.X) > _FEW or points is None:
            return None
        return rest_of_grid(self, points)

    # Words and reports

    @property
    def summary(self) -> Summary | str:
        """The summary, with the error at the rest of a grid."""
        summary, rest = super().summary, self.rest_of_grid
        if isinstance(summary, str) or rest is None:
            return summary
        return summary.telling("error", rest.fact(self.estimate.left_out))

    def own_summary(self) -> Summary:
        """Return the summary of a model with given settings."""
        solution, operator = self.solution, self.operator
        grouped = (Fact("Groups", self.grouping),) if self.grouping else ()
        warns = self.training is not None or (self.known is not None and self.known.measure is not None)
        return Summary(
            error=(*self.estimate.facts(warns=warns), *grouped),
            details=(
                Fact("Inputs", self.inputs.describe()),
                Fact("Outputs", self.outputs.describe()),
                Fact("Branch", f"{_one_line(operator.branch)}, {plural(operator.C.shape[1], 'feature')}"),
                Fact("Trunk", f"{_one_line(operator.trunk)}, {plural(len(operator.W), 'function')}"),
                Fact("Ridge alpha", rounded(solution.alpha, 2)),
            ),
        )

    def settings(self) -> dict[str, str]:
        """Return what was chosen, as names and values for a report."""
        solution, operator = self.solution, self.operator
        condition, residual = solution.condition, solution.residual
        return {
            "branch": f"{_one_line(operator.branch)}, {plural(operator.C.shape[1], 'feature')}",
            "trunk": f"{_one_line(operator.trunk)}, {plural(len(operator.W), 'function')}",
            "alpha": rounded(solution.alpha),
            "condition": "not known" if condition is None else rounded(condition, 2),
            "error on the training functions": "not known" if residual is None else f"{residual:.2g}",
            "time of the solve": f"{duration(solution.seconds)}, {solution.method}",
        }

    def validation(self) -> Validation | str:
        """Return the training functions, left out or held out, with what the fit says of them."""
        if self.training is None:
            return (
                "Not known: this model was loaded from a file, or fitted in blocks, so the training "
                "functions are not available. Give functions with known outputs: model.report(path, X, y)."
            )
        validation = None if self.error_bars is None else self.method.validation(self)
        if validation is None:
            return (
                "Not known: this fit leaves no function out, or there are too few functions. Give functions "
                "with known outputs: model.report(path, X, y)."
            )
        return validation


def _one_line(part: object) -> str:
    return " ".join(repr(part).split())

"""All that a fit gives: the form of the data on each side, the operator between them, and its account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.features.base import checked_orders
from elmonet.fitting.operator import Operator
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, lift_at_own_points
from elmonet.forms.training import is_list_of_points, place_points
from elmonet.solve import LEFT_OUT, Solution
from elmonet.uncertainty.confidence import Confidence
from elmonet.uncertainty.error_estimate import error_interval

__all__ = ["Fitted"]


@dataclass(frozen=True)
class Fitted:
    """From the user's input functions to output functions in the user's shapes."""

    inputs: InputForm
    outputs: OutputForm
    operator: Operator
    solution: Solution
    word: str = ""  # on functions that belong together
    groups: int | None = None  # how many groups these are

    @property
    def error_interval(self) -> tuple[float, float] | None:
        """Of the expected error, see `error_interval`; None without errors of functions left out."""
        solution = self.solution
        if solution.errors is None or solution.error_kind not in LEFT_OUT:
            return None
        M = len(self.outputs.points) * max(1, self.outputs.components)
        return error_interval(solution.errors, M, stated=solution.expected_error, independent=self.groups)

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """Input rows as the branch sees them."""
        return self.inputs.seen(rows, self.operator.C.dtype)

    def predict(self, X: Any, Z: np.ndarray, points: Any = None) -> Any:
        """Output functions for inputs X as the user gave them, which the branch sees as Z."""
        there = self._places(points, len(Z))
        if there.points is None:
            z = self.operator.at_training_points(Z)
        else:
            z = self.operator.values(self.operator.coefficients(Z), *self._seen(there))
        return self._finished(z, X, there)

    def derivative(self, X: Any, Z: np.ndarray, points: Any, orders: Any) -> Any:
        """Derivatives of output functions, so often in each coordinate of the points."""
        outputs = self.outputs
        if outputs.logs is not None or outputs.lift is not None:
            what = "logarithms" if outputs.logs is not None else "a lift"
            raise InputError(
                f"derivatives are for models without {what}: take differences of predictions instead."
            )
        d = outputs.points.shape[1]
        orders = checked_orders(orders, d)
        there = self._places(outputs.points if points is None else points, len(Z))
        P, index = self._seen(there)
        own = orders if outputs.axis is None else (*orders, 0)  # the component's number comes last
        z = self.operator.values(self.operator.coefficients(Z), P, index, own)
        if outputs.box is not None:  # the trunk sees points in the unit cube
            z = z / np.prod(outputs.box.scale[:d] ** np.array(orders))
        return self._unpacked(z, self._places(points, len(Z)) if points is None else there)

    def interval(
        self, X: Any, Z: np.ndarray, points: Any, confidence: Confidence, coverage: float, of: str
    ) -> tuple[Any, Any]:
        """The lower and the upper end of bands, in the shapes of predictions."""
        there = self._places(points, len(Z))
        z, half = self._with_spread(Z, there, confidence, confidence.bands.times(coverage, of))
        low = z - half
        return self._finished(low, X, there), self._finished(np.add(z, half, out=half), X, there)

    def with_std(self, X: Any, Z: np.ndarray, points: Any, confidence: Confidence) -> tuple[Any, Any]:
        """Predictions, and the standard deviations of their errors."""
        there = self._places(points, len(Z))
        z, std = self._with_spread(Z, there, confidence, confidence.bands.widen)
        if self.outputs.logs is not None:  # the error of a logarithm is a relative one
            std = std * self.outputs.values(z, there.points)
        return self._finished(z, X, there), self._unpacked(std, there)

    def output_shape(self, points: Any = None) -> tuple[int, ...]:
        """The shape of one prediction, if it is an array: at the training points, or at others."""
        outputs = self.outputs
        nowhere = points is None and outputs.scattered
        if outputs.names is not None or isinstance(points, Scattered) or nowhere:
            raise InputError(
                "this prediction is not one array (N, ...): predict a block of functions at a time, at "
                "points (M, d)."
            )
        where, grid = (outputs.points, None) if points is None else place_points(points)
        rows = np.empty((1, len(where) * max(1, outputs.components)))
        return outputs.unpacked(rows, grid or (None if points is None else (len(where),))).shape[1:]

    def _places(self, points: Any, n: int) -> _Places:
        """Where to predict n functions."""
        outputs = self.outputs
        if isinstance(points, Scattered) or is_list_of_points(points, n, outputs.points.shape[1]):
            return self._own_places(points, n)
        if points is not None:
            where, grid = place_points(points)
            where = outputs.checked(where)
            return _Places(where, grid or (len(where),))
        if outputs.scattered:
            raise InputError(
                "this model was fitted to outputs at scattered points: say where to predict, points=(M, d)."
            )
        return _Places()

    def _own_places(self, places: Any, n: int) -> _Places:
        ends = None
        if not isinstance(places, Scattered):
            if len(places) != n:
                raise InputError(f"there are {len(places)} lists of points for {n} input functions.")
            ends = np.cumsum([len(own) for own in places])[:-1]
            places = Scattered.of(None, places)
        if places.n_functions > n:
            raise InputError(
                f"index names function {places.n_functions - 1}, but X holds {n} functions (from 0)."
            )
        if self.outputs.logs is not None:
            raise InputError("a model with log_outputs predicts at common points only: give points (M, d).")
        return _Places(self.outputs.checked(places.points), own=places, ends=ends)

    def _seen(self, there: _Places) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The places as the trunk sees them, and whose value is asked for at each, if not all."""
        P = None if there.points is None else self.outputs.seen(there.points)
        c = max(1, self.outputs.components)
        return P, None if there.own is None else np.tile(there.own.index, c)

    def _with_spread(
        self, Z: np.ndarray, there: _Places, confidence: Confidence, times: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values as the operator gives them, and so many times the size of the error to expect of each."""
        coefficients, g = confidence.with_coefficients(self.operator, Z)
        P, index = self._seen(there)
        sigma = times * confidence.sigma_at(self.outputs, there.points)
        spread = sigma * g[:, None] if index is None else sigma * g[index]
        return self.operator.values(coefficients, P, index), spread

    def _finished(self, z: np.ndarray, X: Any, there: _Places) -> Any:
        """What the operator gives, as outputs in the user's shapes."""
        lift = self.outputs.lift
        if there.own is None:
            values = self.outputs.values(z, there.points)
            return self._unpacked(
                values if lift is None else values + self.outputs.lifted(X, len(z), there.points), there
            )
        return self._unpacked(z if lift is None else z + lift_at_own_points(lift, X, there.own), there)

    def _unpacked(self, values: np.ndarray, there: _Places) -> Any:
        """In the user's shapes and units; at points of their own (K,) or (K, c), or a list of these."""
        outputs = self.outputs
        if there.own is None:
            return outputs.unpacked(values, there.grid)
        if outputs.sizes is not None:
            values = values.reshape(outputs.components, -1).T * outputs.sizes
        values = values.astype(outputs.dtype, copy=False)
        return values if there.ends is None else np.split(values, there.ends)


@dataclass(frozen=True)
class _Places:
    """Where to predict.

    points : (M, d), or (K, d) in all; None: the training points.
    grid : the shape of common points.
    own : whose point each is, if functions have points of their own; ends : where a list of them is split.
    """

    points: np.ndarray | None = None
    grid: tuple[int, ...] | None = None
    own: Scattered | None = None
    ends: np.ndarray | None = None

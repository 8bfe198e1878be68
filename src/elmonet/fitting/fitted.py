"""All that a fit gives: the form of the data on each side, the operator between them, and its account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.scattered import Scattered
from elmonet.form.inputs import InputForm
from elmonet.form.lift import lift_at_own_points
from elmonet.form.outputs import OutputForm
from elmonet.form.training import is_list_of_points, place_points
from elmonet.operator import Operator
from elmonet.solve import Solution

__all__ = ["Fitted"]


@dataclass(frozen=True)
class Fitted:
    """From the user's input functions to output functions in the user's shapes."""

    inputs: InputForm
    outputs: OutputForm
    operator: Operator
    solution: Solution
    word: str = ""  # on functions that belong together

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """Input rows as the branch sees them."""
        return self.inputs.seen(rows, self.operator.C.dtype)

    def predict(self, X: Any, Z: np.ndarray, points: Any = None) -> Any:
        """Output functions for inputs X as the user gave them, which the branch sees as Z."""
        outputs = self.outputs
        if isinstance(points, Scattered) or is_list_of_points(points, len(Z), outputs.points.shape[1]):
            return self._at_own_points(X, Z, points)
        if points is None:
            if outputs.scattered:
                raise InputError(
                    "this model was fitted to outputs at scattered points: say where to predict, "
                    "points=(M, d)."
                )
            grid, where, z = None, None, self.operator.at_training_points(Z)
        else:
            where, grid = place_points(points)
            where = outputs.checked(where)
            grid = grid or (len(where),)
            z = self.operator.at(Z, outputs.seen(where))
        values = outputs.values(z, where)
        if outputs.lift is not None:
            values += outputs.lifted(X, len(Z), where)
        return outputs.unpacked(values, grid)

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

    def _at_own_points(self, X: Any, Z: np.ndarray, places: Any) -> Any:
        """The values (K,) or (K, c) at the places of a `Scattered`; for a list of points, a list."""
        if not isinstance(places, Scattered):
            if len(places) != len(Z):
                raise InputError(f"there are {len(places)} lists of points for {len(Z)} input functions.")
            ends = np.cumsum([len(own) for own in places])[:-1]
            return np.split(self._at_own_points(X, Z, Scattered.of(None, places)), ends)
        if places.n_functions > len(Z):
            raise InputError(
                f"index names function {places.n_functions - 1}, but X holds {len(Z)} functions (from 0)."
            )
        outputs = self.outputs
        if outputs.logs is not None:
            raise InputError("a model with log_outputs predicts at common points only: give points (M, d).")
        c = max(1, outputs.components)
        P = outputs.seen(outputs.checked(places.points))
        values = self.operator.each_at_its_own(Z, P, np.tile(places.index, c)).reshape(c, -1).T
        if outputs.sizes is not None:
            values = values * outputs.sizes
        elif outputs.lift is None:
            values = values[:, 0]
        else:
            values = values[:, 0] + lift_at_own_points(outputs.lift, X, places)
        return values.astype(outputs.dtype, copy=False)

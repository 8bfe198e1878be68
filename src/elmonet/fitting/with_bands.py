"""What a model can say of the error of its predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError
from elmonet.calibration import Calibration, calibration_of
from elmonet.fitting.confidence import Confidence
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.held_out import HeldOut, from_held_out, held_out
from elmonet.fitting.missed import from_left_out, from_unseen
from elmonet.fitting.training import fit_training
from elmonet.form.score import checked_outputs
from elmonet.form.training import Training
from elmonet.novelty import Memory
from elmonet.solve import LEFT_OUT, Ridge

__all__ = ["WithBands"]


class WithBands:
    """Bands, and how well they hold; made when they are first needed."""

    _confidence: Confidence | None = None
    _held_out: HeldOut | None = None  # what bands were made from, where fits to some functions gave it
    _training: Training | None
    _memory: Memory
    _promise: Any

    def _fitted(self) -> Fitted:
        raise NotImplementedError

    def _prepared(self, training: Training) -> Any:
        raise NotImplementedError

    def interval(
        self, X: Any, coverage: float = 0.9, of: str = "points", points: Any = None
    ) -> tuple[Any, Any]:
        """Lower and upper ends of bands around `predict`, in its shapes.

        Parameters
        ----------
        X, points : as in `predict`.
        coverage : the part of cases in which the band holds, for new functions that are drawn like the
            training functions.
        of : "points": it holds at that part of all points of all new functions. "function": the whole
            function lies inside (at the training points, all its components), for that part of new functions.

        The bands come from what the fit misses of training functions left out. They are wider for inputs
        that the training functions say little of, where that makes them narrower on average.
        """
        confidence, fitted = self._confident(), self._fitted()
        Z = fitted.seen(fitted.inputs.rows(self, X))
        self._memory.warn(Z)
        return fitted.interval(X, Z, points, confidence, coverage, of)

    def calibrate(self, X: Any, y: Any) -> Self:
        """Make the bands from functions X that the model has not seen, with outputs y at the training points.

        For models whose fit leaves no function out: fitted in blocks, or by a solver of one's own. For
        others it is not needed.
        """
        fitted = self._fitted()
        rows, z = self._unseen(X, y)
        found = from_unseen(fitted, rows, z, self._confidence)
        if found is None:
            raise InputError(f"calibrate needs functions to learn from, at least two; got {len(rows)}.")
        self._confidence = found
        return self

    def calibration(self, X: Any, y: Any) -> Calibration:
        """How well the bands hold on other functions X, with outputs y at the training points: print it."""
        confidence, fitted = self._confident(), self._fitted()
        rows, y = self._unseen(X, y)
        coefficients, g = confidence.with_coefficients(fitted.operator, fitted.seen(rows))
        z = fitted.operator.values(coefficients)
        spread = confidence.bands.sigma * g[:, None]
        units = 1.0 if fitted.outputs.logs is None else fitted.outputs.values(z)
        size = float(np.sqrt(np.mean(y**2)))
        return calibration_of(confidence.bands, fitted.outputs.target(y) - z, spread, units, size)

    def _unseen(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Input rows and output rows without the lift, of functions with outputs at the training points."""
        fitted = self._fitted()
        if fitted.outputs.scattered:
            raise InputError(
                "this is for outputs at common points; the model was fitted to outputs at scattered points. "
                "Compare interval(X, points=...) with the outputs at these points."
            )
        rows = fitted.inputs.rows(self, X)
        y = checked_outputs(y, fitted.outputs, len(rows))
        y = fitted.outputs.rows(y)
        return rows, y if fitted.outputs.lift is None else y - fitted.outputs.lifted(X, len(rows))

    def _confidence_if_any(self) -> Confidence | None:
        if self._confidence is None:
            self._confidence = self._new_confidence()
        return self._confidence

    def _confident(self) -> Confidence:
        confidence = self._confidence_if_any()
        if confidence is None:
            raise InputError(
                "this model has no bands: it was fitted in blocks, or by a solver that leaves no function "
                "out, or to a single function (or group), or its file was written without them. Give "
                "functions that it has not seen to calibrate(X, y)."
            )
        return confidence

    def _new_confidence(self) -> Confidence | None:
        """From the training functions, if they are at hand."""
        training = self._training
        if training is None:
            return None
        fitted = self._fitted()
        solution = fitted.solution
        if solution.error_kind in LEFT_OUT and solution.fit is not None:
            promised = None if self._promise is None else self._promise.error
            left_out = solution.expected_error
            return from_left_out(fitted, training, promised / left_out if promised and left_out else 1.0)
        if solution.error_kind == "held out":
            self._held_out = held_out(lambda some: self._again(some, fitted), training)
            return None if self._held_out is None else from_held_out(self._held_out, training.outputs)
        return None

    def _again(self, training: Training, fitted: Fitted) -> Fitted:
        """A fit to some of the functions, with the settings that were chosen from all."""
        prepared = self._prepared(training)._replace(
            branch=clone(fitted.operator.branch),
            trunk=clone(fitted.operator.trunk),
            solver=Ridge(fitted.solution.alpha),
        )
        return fit_training(prepared, training)

"""What a model can say of the error of its predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from elmonet.errors import InputError
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.in_memory import fit_training
from elmonet.fitting.operator import Operator
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, checked_outputs
from elmonet.forms.training import Training
from elmonet.solve import LEFT_OUT, Ridge, Solution
from elmonet.summary import Fact, Summary, percent
from elmonet.uncertainty.calibration import Calibration, calibration_of
from elmonet.uncertainty.confidence import Confidence
from elmonet.uncertainty.error_estimate import FEWEST
from elmonet.uncertainty.novelty import Memory
from elmonet.uncertainty.residuals import HeldOut, from_held_out, from_left_out, from_unseen, held_out

__all__ = [
    "WARNS",
    "FittedAttributes",
    "WithBands",
    "facts_of_error",
    "kind_in_words",
    "outputs_in_words",
    "size_of_error",
    "summary_of",
]


class FittedAttributes:
    """Attributes that end in an underscore, read from what the last fit gave."""

    def _fitted(self, error: type[Exception]) -> Fitted:
        raise NotImplementedError

    @property
    def solution_(self) -> Solution:
        """The account of the solve; found now, if functions came since it was last needed."""
        return self._fitted(AttributeError).solution

    @property
    def error_kind_(self) -> str | None:
        """How `expected_error_` was found, see `Solution.error_kind`; None if nothing tells."""
        return self.solution_.error_kind

    @property
    def operator_(self) -> Operator:
        """The learned operator, from rows to values."""
        return self._fitted(AttributeError).operator

    @property
    def inputs_(self) -> InputForm:
        """The form of the input functions."""
        return self._fitted(AttributeError).inputs

    @property
    def outputs_(self) -> OutputForm:
        """The form of the output functions, and where they are known."""
        return self._fitted(AttributeError).outputs

    @property
    def W_(self) -> np.ndarray:
        """The learned matrix, (p2, p1)."""
        return self.solution_.W

    @property
    def branch_(self) -> Any:
        """The fitted feature map of input functions."""
        return self.operator_.branch

    @property
    def trunk_(self) -> Any:
        """The fitted feature map of points."""
        return self.operator_.trunk

    @property
    def points_(self) -> np.ndarray:
        """The training points; for components, with the component's number last."""
        return self._fitted(AttributeError).outputs.places()


_LIKE_THESE = "for new functions that are like the training functions"
WARNS = f"{_LIKE_THESE}. Not for inputs of another kind: predict warns of them, novelty() measures them"
_KINDS = {
    "leave-one-out": ("leave-one-out", "each function is predicted by a fit to all the others"),
    "leave-group-out": ("leave-group-out", "each group of functions is predicted by a fit to all the others"),
    "gcv": ("generalised cross-validation", "an estimate from the errors of all values together"),
    "held out": ("functions held out", "predicted by a fit that has not seen them"),
}


def summary_of(fitted: Fitted) -> Summary:
    """What error to expect, what was fitted, and the data."""
    operator, solution = fitted.operator, fitted.solution
    error = facts_of_error(solution.expected_error, fitted.error_interval, solution.error_kind)
    return Summary(
        error=error + ((Fact("Groups", fitted.word),) if fitted.word else ()),
        details=(
            Fact("Inputs", fitted.inputs.told),
            Fact("Outputs", outputs_in_words(fitted.outputs)),
            Fact("Branch", f"{_in_one_line(operator.branch)}, {operator.C.shape[1]} features"),
            Fact("Trunk", f"{_in_one_line(operator.trunk)}, {len(operator.W)} functions"),
            Fact("Ridge alpha", f"{solution.alpha:.2g}"),
        ),
    )


def facts_of_error(
    error: float | None, interval: tuple[float, float] | None, kind: str | None, where: str = _LIKE_THESE
) -> tuple[Fact, ...]:
    """The expected error, how sure it is, how it was found, and where it holds."""
    if error is None or kind is None:
        return (Fact("Expected error", "not known: no function was left out. Test on new functions"),)
    how = Fact("How it is known", ": ".join(_KINDS[kind]))
    return (*size_of_error(error, interval), how, Fact("Where it holds", where))


def size_of_error(error: float, interval: tuple[float, float] | None) -> tuple[Fact, ...]:
    """The expected error, and how sure it is."""
    size = Fact("Expected error", f"{percent(error)} of the size of the outputs")
    if interval is None:
        return (size,)
    low, high = interval
    sure = f"between {percent(low, 2)} and {percent(high, 2)}"
    if high == np.inf:
        sure = f"nothing can be said with fewer than {FEWEST} functions"
    return size, Fact("90 of 100 cases", sure)


def _in_one_line(part: object) -> str:
    return " ".join(repr(part).split())


def kind_in_words(kind: str | None) -> str:
    """How an expected error was found, in few words."""
    return "not known" if kind is None else _KINDS[kind][0]


def outputs_in_words(outputs: OutputForm) -> str:
    """Where the outputs are known."""
    if outputs.scattered:
        return "at scattered points, other ones for every function"
    c, M = outputs.components, len(outputs.points)
    return f"{c} components at {M} points" if c else f"at {M} points"


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

"""Fitted models: one frozen value with everything a fit found, which the estimators show.

A `FittedModel` answers queries: functions and points of the user in, outputs in the user's shapes out. Its
error bars and its record of the training inputs are made when they are first asked for, and kept inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from elmonet.data.dataset import Labels
from elmonet.data.scattered import Scattered
from elmonet.description import Description, Operation
from elmonet.errors import InputError
from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.fitting.suspects import MAX_IN_SUMMARY, MAX_VALUES_IN_SUMMARY, Suspects, find_suspects
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, ScatteredForm
from elmonet.forms.training import place_points
from elmonet.metrics import expected_relative_errors
from elmonet.summary import Fact, Summary
from elmonet.uncertainty.bands import ErrorBars
from elmonet.uncertainty.calibration import Validation
from elmonet.uncertainty.error_estimate import ErrorEstimate
from elmonet.uncertainty.novelty import TrainingRecord, warn_of_extrapolation

if TYPE_CHECKING:
    from elmonet.fitting.fitted_operator import FittedOperator

_DESCRIPTIONS = 3  # lists of array operations that are kept


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedModel(ABC):
    """Everything that a fit found; estimators are shells over it, files and reports read it.

    Attributes
    ----------
    inputs, outputs : forms of the data on each side.
    estimate : the expected error.
    method : the class of its error bars.
    bars : error bars that were given: from a calibration or a file; None to make them from the fit.
    known : a record of the training inputs that was given; None to make it from the fit.
    words : summary of whoever chose the model, text if it was loaded; None for the model's own.
    file_names : names of the arrays that it was fitted to, as options of `read`; empty if from no file.
    labels : names, units and mesh of the data.
    """

    inputs: InputForm
    outputs: OutputForm
    estimate: ErrorEstimate
    method: type[ErrorBars] = OperatorErrorBars
    bars: ErrorBars | None = None
    known: TrainingRecord | None = None
    words: Summary | str | None = None
    file_names: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)

    @abstractmethod
    def query(self, estimator: Any, X: Any, points: Any = None, sensors: Any = None) -> Any:
        """Check functions and points of a prediction; the functions are known at the sensors, if given."""

    @abstractmethod
    def values(self, query: Any) -> np.ndarray:
        """Return predictions as the model sees outputs."""

    @abstractmethod
    def finish(self, z: np.ndarray, query: Any) -> Any:
        """Return what the model gives as outputs in the user's shapes and units."""

    @abstractmethod
    def finish_spread(self, spread: np.ndarray, z: np.ndarray, query: Any) -> Any:
        """Return the size of errors around z in the user's shapes and units."""

    @abstractmethod
    def derivative(self, query: Any, orders: Any) -> Any:
        """Return derivatives of the outputs by the coordinates of the points."""

    @abstractmethod
    def targets(self, query: Any, y: Any) -> np.ndarray:
        """Check outputs at the training points; return them as the model sees outputs."""

    @abstractmethod
    def units(self, z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | float, float]:
        """Return the factor from the model's errors to errors of outputs, and the outputs' RMS."""

    @abstractmethod
    def novelty(self, query: Any) -> np.ndarray:
        """Return how unlike the training functions each one is, (n,): 1 for the most unusual of those."""

    @abstractmethod
    def outside(self, query: Any) -> np.ndarray:
        """Return which functions (n,) lie well outside the training functions; False where unknown."""

    def warn_if_outside(self, query: Any) -> None:
        """Warn of functions well outside the training functions (`ExtrapolationWarning`)."""
        warn_of_extrapolation(self.outside(query))

    def warn_if_exceeded(self, estimator: Any, query: Any) -> None:
        """Warn of new functions whose expected errors far exceed the mean, if few errors determine it."""
        errors = self.quick_expected_errors(query) if self.estimate.heavy_tail else None
        if errors is not None:
            new = ~self.is_training(estimator, query.X)
            self.estimate.warn_if_exceeded(np.where(new, errors, 0.0))

    def quick_expected_errors(self, query: Any) -> np.ndarray | None:
        """Return `expected_errors`, if they are known in little time."""
        return None

    def expected_errors(self, query: Any) -> np.ndarray:
        """Return the relative error to expect of each function (n,): the size of its error bars."""
        bars = self.require_error_bars()
        z, spread = bars.values_and_spread(self, query)
        deviations = self.finish_spread(bars.widen * spread, z, query)
        return expected_relative_errors(deviations, self.finish(z, query))

    def begun(self, X: Any, start: Any) -> Any:
        """Return inputs with the first outputs of each record; refused by models of whole functions."""
        raise InputError(
            "start is for records in time, which are predicted step by step; this model predicts functions "
            "as a whole. Remove start, or fit a MarchingELMDeepONet."
        )

    @abstractmethod
    def own_summary(self) -> Summary:
        """Return the model's own summary."""

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Return what was chosen, as names and values for a report."""

    @abstractmethod
    def validation(self) -> Validation | str:
        """Return functions that the fit has not seen, or why there are none."""

    @abstractmethod
    def _new_record(self) -> TrainingRecord: ...

    @cached_property
    def error_bars(self) -> ErrorBars | None:
        """Error bars, made when they are first asked for; None if the fit does not support them."""
        return self.bars if self.bars is not None else self.method.from_fit(self)

    @cached_property
    def record(self) -> TrainingRecord:
        """The record of the training inputs, made when it is first asked for."""
        return self.known if self.known is not None else self._new_record()

    @property
    @abstractmethod
    def judge(self) -> FittedOperator | None:
        """The operator whose left-out residuals judge the training pairs."""

    @cached_property
    def suspects(self) -> Suspects:
        """Training pairs that contradict the rest; found when first asked for."""
        return find_suspects(self.judge)

    @property
    def interpolation_error(self) -> float | None:
        """Relative error of interpolation halfway between the training points; None if it is not known."""
        return None

    @property
    def _words(self) -> Summary | str:
        return self.own_summary() if self.words is None else self.words

    @property
    def summary(self) -> Summary | str:
        """The summary: of whoever chose the model, or its own; with the error between the training points."""
        summary = self._words
        if isinstance(summary, str):  # of a file, with all in it
            return summary
        return summary.telling("error", *self.estimate.facts_between(self.interpolation_error))

    def summary_with_suspects(self) -> Summary | str:
        """Return the summary with a line on suspect training pairs, if there are any and it takes no time."""
        summary = self.summary
        found = None if isinstance(summary, str) or summary.equation else self.suspects_if_quick()
        if found is None or isinstance(summary, str):
            return summary
        return summary.telling("help", *found.facts())

    def suspects_if_quick(self) -> Suspects | None:
        """Return suspects unless looking for them takes long; None if the pairs cannot be judged."""
        training = None if self.judge is None else self.judge.training
        if training is None or len(training.X) > MAX_IN_SUMMARY:
            return None
        if not training.outputs.scattered and training.y.size > MAX_VALUES_IN_SUMMARY:
            return None
        try:
            return self.suspects
        except InputError:  # too few functions, or none was left out
            return None

    def require_error_bars(self) -> ErrorBars:
        """Return the error bars, or raise `InputError`."""
        if self.error_bars is None:
            raise InputError(
                "this model has no error bars: it was fitted in blocks, by a solver without leave-one-out "
                "errors, or to too few functions, or its file was written without them. Give functions that "
                "it has not seen to calibrate(X, y)."
            )
        return self.error_bars

    def is_training(self, estimator: Any, X: Any) -> np.ndarray:
        """Return which inputs (N,) are training functions, bit for bit."""
        return self.record.has(self.inputs.rows(estimator, X))

    def output_shape(self, points: Any = None) -> tuple[int, ...]:
        """Return the shape of one prediction, if predictions are an array."""
        outputs = self.outputs
        scattered = points is None and isinstance(outputs, ScatteredForm)
        if outputs.names is not None or isinstance(points, Scattered) or scattered:
            raise InputError(
                "this prediction is not one array (N, ...): predict a block of functions at a time, at "
                "points (M, d)."
            )
        where, grid = (outputs.points, None) if points is None else place_points(points)
        rows = np.zeros((1, len(where) * max(1, outputs.components)))
        return outputs.unpacked(rows, grid or (None if points is None else (len(where),))).shape[1:]

    # As array operations

    @abstractmethod
    def described(self, points: Any = None, steps: int | None = None) -> Description:
        """Return the model as a list of array operations, with outputs at common points.

        `steps` is the length of records in time, where they may have any.
        """

    @cached_property
    def _descriptions(self) -> dict[Any, Description]:
        return {}

    def description(self, points: Any = None, steps: int | None = None) -> Description:
        """Return `described`, of which the last few are kept."""
        try:
            where = None if points is None else np.asarray(points, float)
            key: Any = (steps, None if where is None else (where.shape, where.tobytes()))
        except (TypeError, ValueError):  # points of another kind, which are refused
            return self.described(points, steps)
        if key not in self._descriptions:
            while len(self._descriptions) >= _DESCRIPTIONS:
                self._descriptions.pop(next(iter(self._descriptions)))
            self._descriptions[key] = self.described(points, steps)
        return self._descriptions[key]

    def left_out_errors(self, points: Any = None) -> np.ndarray | None:
        """Return errors (n, k) of predictions of left-out functions, flat in the user's units and order.

        At the training points or at others; None if they are not known.
        """
        return None

    def described_novelty(self, steps: int | None = None) -> tuple[Operation, ...]:
        """Return operations from the inputs to their novelty, `predict` warning above 1; empty if unknown."""
        return ()

    takes_lists: ClassVar[bool] = False  # whether inputs may come as a list of records of any lengths

    def steps_of(self, X: Any) -> int | None:
        """Return the length of records in time; None if all have the same."""
        return None

    def flat_inputs(self, estimator: Any, X: Any) -> np.ndarray:
        """Check inputs; return them packed and flat, (N, m), as a description takes them."""
        self.inputs.rows(estimator, X)
        return self.inputs.flat(X)

    def training_inputs(self, steps: int | None = None) -> np.ndarray | None:
        """Return training inputs as `flat_inputs` gives them; None if they are not kept."""
        rows = self.record.inputs
        return None if rows is None else self.inputs.flat(self.inputs.as_given(rows))

    def facts_to_export(self) -> dict[str, Any]:
        """Return what a reader of an exported file should know."""
        estimate = self.estimate
        return {"expected relative error": estimate.error, "error estimated by": estimate.kind}

    def with_words(self, heading: str, *facts: Fact) -> Self:
        """Return the model with more facts in its summary."""
        summary = self._words
        assert isinstance(summary, Summary)  # a loaded model's is text
        return replace(self, words=summary.telling(heading, *facts))

    def with_solver_error(self, error: float, equation: tuple[Fact, ...]) -> Self:
        """Return the model for training outputs that a solver computed with an error of its own."""
        estimate, summary = self.estimate.plus(error), self._words
        assert estimate.error is not None
        assert isinstance(summary, Summary)  # a loaded model's is text
        words = summary.with_equation(equation, error, estimate.error)
        return replace(self, estimate=estimate, words=words.telling("error", *estimate.size_facts()))

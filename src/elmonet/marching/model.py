"""MarchingELMDeepONet: records in time, by a step that is learned from all steps of all records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from elmonet.checks import Functions, number, positive_integer
from elmonet.data.dataset import OperatorData
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import FileError, InputError
from elmonet.estimators.base import OperatorEstimator
from elmonet.estimators.saving import (
    error_bars_to_store,
    inputs_to_store,
    outputs_to_store,
    restored_error_bars,
    restored_inputs,
    restored_method,
    restored_outputs,
)
from elmonet.features.base import seed_from
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import unpacked_data
from elmonet.marching.bands import MarchingErrorBars
from elmonet.marching.choice import SEARCH_STEPS, StepCandidate, StepSearch
from elmonet.marching.fit import fit_records, training_record
from elmonet.marching.fitted import FittedMarching
from elmonet.marching.forms import RecordInputs, find_records
from elmonet.marching.records import Records, find_rest
from elmonet.marching.step import Settings, Step
from elmonet.parts import NotFittedError
from elmonet.progress import Progress, progress_bar
from elmonet.store import digest
from elmonet.uncertainty.error_estimate import restored_estimate, stored_interval
from elmonet.uncertainty.novelty import TrainingRecord


class MarchingELMDeepONet(OperatorEstimator):
    """Records in time: each step follows from the last values, by one linear solve over all steps.

    With feedback,

        s(k) = s(k-1) + C' phi(s(k-1), ..., s(k-h), u(k), ..., u(k-g), parameters) ,

    with fixed features phi (linear, polynomials to degree 3, or random) of levels and differences, and one
    matrix C for all steps of all records; without, s(k) = C' phi(u(k), ..., u(k-g)) with a long memory.
    Predictions are free runs: the model sees no output but its own. Memory, features, ridge, and feedback or
    not are chosen by the error of free runs of records that were left out.

    In system identification, this is a NARX model (linear in its parameters), or a finite impulse response
    and Volterra model without feedback.

    Parameters
    ----------
    memory : number of past outputs and of inputs that a step sees, or a pair of these; (outputs, inputs, e)
        for those e time steps apart; None to choose.
    feedback : whether a step sees past outputs; None to choose.
    time_budget : seconds after which no new candidate is tried; None for no limit.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    random_state : seed of the random features.

    Attributes
    ----------
    expected_error_ : the relative error to expect of free runs of new records like the training records.
    step_ : the chosen step, in words.
    time_step_ : time between two values of a record.
    amplification_ : rate, per step, at which small disturbances of a free run grow; negative if they decay.
    leaderboard_ : list of dictionaries, one for each candidate that was tried, the best first.

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.tanks(10, 5, n_steps=200)
    >>> model = MarchingELMDeepONet(memory=(2, 2), random_state=0)
    >>> model = model.fit(data.u_train, data.s_train, points=data.points)
    >>> model.predict(data.u_test).shape, model.expected_error_ < 0.01
    ((5, 200), True)
    """

    def __init__(
        self,
        memory: int | tuple[int, int] | None = None,
        feedback: bool | None = None,
        *,
        time_budget: float | None = None,
        progress: bool | Progress = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.memory = memory
        self.feedback = feedback
        self.time_budget = time_budget
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Functions | OperatorData,
        y: Functions | Scattered | None = None,
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit a step to records of inputs and outputs at the same times.

        Parameters
        ----------
        X : inputs: (N, T) or (N, T, channels); a list of records (T_i,) or (T_i, channels); one record (T,);
            or a dictionary of these, in which numbers (N,) are parameters of the records.
        y : outputs at the same times: (N, T), (N, T, c), a list of records, or a dictionary of components.
        points : the times (T,), uniform; for lists, a list of times, or those of the longest record.
        sensors : the times of the inputs, if given: the same.
        groups : (N,), labels of records that are not independent; each group is left out as a whole.

        Returns
        -------
        self : the fitted estimator.
        """
        begin = perf_counter()
        given = X
        X, y, points, sensors = unpacked_data(X, y, points, sensors)
        budget = np.inf if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        records, inputs, outputs = find_records(self, X, y, points, sensors, groups)
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        with bar as hook:
            tell = hook or (lambda what, done, total: None)
            search = self._search(records, begin + budget, tell)
            best = search.run()
            return fit_search(self, inputs, outputs, search, best)._with_labels(given)._warned()

    def _search(
        self, records: Records, deadline: float, tell: Callable[[str, float, float], None]
    ) -> StepSearch:
        if self.feedback not in (None, True, False):
            raise InputError(f"feedback must be True, False, or None to choose; got {self.feedback!r}.")
        memory = None
        if self.memory is not None:
            given = self.memory if isinstance(self.memory, (tuple, list)) else (self.memory, self.memory)
            if len(given) not in (2, 3):
                raise InputError(
                    "memory must be a number, a pair (outputs, inputs) or (outputs, inputs, every); got "
                    f"{self.memory!r}."
                )
            h = 0 if self.feedback is False else positive_integer(given[0], "memory", minimum=0)
            every = positive_integer(given[2], "memory") if len(given) == 3 else 1
            memory = h, positive_integer(given[1], "memory"), every
            if self.feedback and not h:
                raise InputError("feedback=True needs a memory of at least one output.")
            if not h and every > 1:
                raise InputError("a memory of every second value or fewer needs at least one output.")
        seed = seed_from(self.random_state)
        own = find_rest(records, SEARCH_STEPS)
        return StepSearch(own, feedback=self.feedback, memory=memory, seed=seed, deadline=deadline, tell=tell)

    @property
    def step_(self) -> str:
        """The chosen step, in words."""
        return self._fitted(AttributeError).step.settings.describe()

    @property
    def time_step_(self) -> float:
        """Time between two values of a record."""
        return self._fitted(AttributeError).dt

    @property
    def amplification_(self) -> float:
        """Rate, per step, at which small disturbances of a free run grow."""
        return self._fitted(AttributeError).amplification

    @property
    def leaderboard_(self) -> list[dict[str, Any]]:
        """What was tried, the best first."""
        return [dict(row) for row in self._fitted(AttributeError).leaderboard]

    def _fitted(self, error: type[Exception] = NotFittedError) -> FittedMarching:
        model = super()._fitted(error)
        assert isinstance(model, FittedMarching)
        return model

    def _to_store(
        self, *, weights: bool, sums: bool, bands: bool, inputs: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if sums:
            raise InputError("a model of records keeps no sums. Save it without sums=True.")
        model = self._fitted()
        arrays: dict[str, np.ndarray] = {}
        for name in _ARRAYS:
            arrays[f"step.{name}"] = np.asarray(getattr(model, name))
        arrays |= {"step.mean": model.step.mean, "step.deviation": model.step.deviation}
        if weights:
            arrays |= {f"step.{name}": array for name, array in zip("Ab", model.step.weights, strict=True)}
        header: dict[str, Any] = {
            "model": "MarchingELMDeepONet",
            "settings": list(model.step.settings),
            "sizes": list(model.step.sizes),
            "seed": model.step.seed,
            "drawn": digest(list(model.step.weights)),
            "inputs": inputs_to_store(model.inputs, arrays),
            "outputs": outputs_to_store(model.outputs, arrays),
            "numbers": {name: getattr(model, name) for name in _NUMBERS},
            "error": model.estimate.error,
            "interval": stored_interval(model.estimate.interval),
            "quantiles": model.estimate.quantiles,
            "components": model.estimate.components,
            "unknown": model.estimate.reason,
            "words": str(model.summary),
        }
        header["error_bars"] = error_bars_to_store(model, arrays, bands)
        return header, arrays | model.record.arrays(inputs)

    @classmethod
    def _from_store(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        sizes = tuple(header["sizes"])
        step = Step(
            Settings(*header["settings"]),
            (sizes[0], sizes[1], sizes[2]),
            header["seed"],
            arrays["step.mean"],
            arrays["step.deviation"],
            (arrays["step.A"], arrays["step.b"]) if "step.A" in arrays else None,
        )
        if digest(list(step.weights)) != header["drawn"]:
            raise FileError(
                f"the random weights drawn here differ from the model's: this NumPy ({np.__version__}) draws "
                "other numbers. Load the file with the NumPy that wrote it, and save it with weights=True."
            )
        restored: dict[str, Any] = {name: arrays[f"step.{name}"] for name in _ARRAYS} | header["numbers"]
        model = FittedMarching(
            inputs=RecordInputs.of(restored_inputs(header["inputs"], arrays)),
            outputs=restored_outputs(header["outputs"], arrays),
            estimate=restored_estimate(header, header["error"], header["interval"], "held out"),
            method=restored_method(header, MarchingErrorBars),
            known=TrainingRecord(arrays.get("fingerprints"), arrays.get("training_inputs")),
            words=str(header["words"]),
            step=step,
            **restored,
        )
        return cls()._adopt(restored_error_bars(model, header, arrays))


_ARRAYS = ("coefficients", "companions", "limits", "level", "ranges")
_NUMBERS = (
    "rest",
    "from_rest",
    "dt",
    "t0",
    "usual",
    "alpha",
    "amplification",
    "n",
    "started_error",
)


def fit_search(
    estimator: MarchingELMDeepONet,
    inputs: RecordInputs,
    outputs: OutputForm,
    search: StepSearch,
    best: StepCandidate,
) -> MarchingELMDeepONet:
    """Fit what a search has found to all records, and give it to an estimator."""
    model = fit_records(inputs, outputs, search, best)
    return estimator._adopt(replace(model, known=training_record(search.whole, inputs)))

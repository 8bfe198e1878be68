"""A fitted step with everything known of it: its free runs, where they are valid, and how far they err."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import CubicSpline

from elmonet.checks import coordinates, plain
from elmonet.description import Description, Graph, Operation
from elmonet.errors import ExtrapolationWarning, InputError, warn
from elmonet.fitting.fitted import FittedModel
from elmonet.fitting.suspects import Suspects
from elmonet.marching.bands import HeldOutRuns, MarchingErrorBars
from elmonet.marching.forms import Given, RecordInputs, Started, as_lists, targets_of
from elmonet.marching.free_run import Runner
from elmonet.marching.ranges import MARGIN, outside_range
from elmonet.marching.records import before
from elmonet.marching.step import Series, Step
from elmonet.summary import Fact, Summary, percent, plural, rounded
from elmonet.uncertainty.bands import ErrorBars
from elmonet.uncertainty.calibration import Validation
from elmonet.uncertainty.novelty import TrainingRecord, trace_largest

_SUSPECT = 5.0  # deviation of the logarithm of an error that stands far out, in robust standard deviations
_SUSPECT_RATIO = 5.0  # its ratio to the median error
_WRONG = 0.1  # error of a suspect: below, a record may just be larger than the others
_MIN_RECORDS = 8  # below, none is judged
_AMPLIFIED = 0.01  # growth rate of disturbances, per memory, that is mentioned as growth


@dataclass(eq=False)
class RecordQuery:
    """Records of a prediction.

    given : the records.
    start : first values of the outputs of each record, as the step sees outputs; None from rest.
    at : times of the prediction (M,); None for those of the inputs.
    runs, others : free runs (n, T, c), and those of the companions, once they are known.
    """

    given: Given
    start: list[np.ndarray] | None = None
    at: np.ndarray | None = None
    memo: dict[str, Any] = field(default_factory=dict)

    @property
    def lengths(self) -> np.ndarray:
        """Number of steps of each record."""
        return np.array([len(u) for u in self.given.u])


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMarching(FittedModel):
    """A fitted step.

    Attributes
    ----------
    step, coefficients : the step, and its coefficients (F, c).
    companions : (K, F, c), coefficients of fits without each fold of the records.
    limits : (2, c), where runs are cut off.
    rest, level, from_rest : what is taken to come before a record, see `Records`.
    dt, t0 : time step, and the time of the first value.
    ranges : (2, m), range of the coordinates of the training steps.
    usual : how far beyond the range of the others a training record goes, as a factor of at least 1.
    alpha : the ridge.
    amplification : rate per step at which small disturbances of a run grow, in logarithms.
    leaderboard : what was tried.
    facts : more of the choice, in words.
    held_out, started : runs left out, from rest and from known values; None in a file.
    n : number of training records.
    """

    step: Step
    coefficients: np.ndarray
    companions: np.ndarray
    limits: np.ndarray
    rest: str
    level: np.ndarray
    from_rest: bool
    dt: float
    t0: float
    ranges: np.ndarray
    usual: float
    alpha: float
    amplification: float
    n: int
    started_error: float | None = None
    leaderboard: tuple[dict[str, Any], ...] = ()
    facts: tuple[Fact, ...] = ()
    held_out: HeldOutRuns | None = None
    started: HeldOutRuns | None = None
    method: type[ErrorBars] = MarchingErrorBars

    # Queries

    def query(self, estimator: Any, X: Any, points: Any = None, sensors: Any = None) -> RecordQuery:
        """Check records, and the times of a prediction."""
        inputs = self.inputs
        assert isinstance(inputs, RecordInputs)
        given = inputs.split(estimator, X)
        start = self._checked_start(X.start, given) if isinstance(X, Started) else None
        if sensors is not None:
            self._own_times(sensors, given, "sensors")
        if points is None:
            return RecordQuery(given, start)
        return RecordQuery(given, start, self._own_times(points, given, "points"))

    def begun(self, X: Any, start: Any) -> Started:
        """Return inputs with the first values of the outputs."""
        return Started(X, start)

    def _own_times(self, points: Any, given: Given, name: str) -> np.ndarray | None:
        """Return times (M,) between those of the records; None if they are just these."""
        lengths, points = [len(u) for u in given.u], as_lists(points)
        if isinstance(points, (list, tuple)) and given.form == "list" and np.ndim(points[0]) > 0:
            if [np.size(own) for own in points] != lengths:
                raise InputError(f"{name} must hold the times of each record, as many as its inputs.")
            return None
        t = coordinates(plain(points), dimension=1)[:, 0]
        own = self.t0 + self.dt * np.arange(max(lengths))
        if len(t) == len(own) and np.allclose(t, own, rtol=0, atol=1e-3 * self.dt):
            return None
        if name == "sensors":
            raise InputError(
                f"records are known at times {self.dt:g} apart, from {self.t0:g}: resample the inputs there."
            )
        slack = 1e-6 * self.dt
        last = self.t0 + self.dt * (min(lengths) - 1)
        if t.min() < self.t0 - slack or t.max() > last + slack:
            raise InputError(
                f"points must be times between {self.t0:g} and {last:g}, where the inputs are known; got "
                f"{t.min():g} to {t.max():g}."
            )
        return t

    def _checked_start(self, start: Any, given: Given) -> list[np.ndarray]:
        c = self.step.sizes[0]
        if given.form == "single" and np.ndim(start) == (1 if c == 1 and not self.outputs.components else 2):
            start = [start]
        several = isinstance(start, (list, tuple)) or getattr(start, "ndim", 1) > 1
        if several and len(start) != len(given.u):
            raise InputError(
                f"start must hold the first outputs of each of the {len(given.u)} records; got {len(start)}."
            )
        found = targets_of(self.outputs, start, len(given.u), "start")
        for i, (own, u) in enumerate(zip(found, given.u, strict=True)):
            if not 1 <= len(own) <= len(u):
                raise InputError(
                    f"start must hold the first values of each record's outputs, at most as many as it has "
                    f"steps; got {len(own)} for record {i} of {len(u)} steps."
                )
        return found

    def _series(self, query: RecordQuery) -> list[Series]:
        settings, out = self.step.settings, []
        h, g = settings.past_outputs, settings.past_inputs
        for i, u in enumerate(query.given.u):
            own = self.level[None][:0] if query.start is None else query.start[i]
            begin = len(own) if settings.feedback else 0
            known = own[max(0, begin - h) : begin]
            first = self.level[None] if self.from_rest or not len(known) else known[:1]
            past = np.concatenate([np.repeat(first, h - len(known), axis=0), known])
            inputs = np.concatenate([before(u, begin, g, self.rest), u[begin:]])
            out.append(Series(inputs, past, query.given.parameters[i]))
        return out

    def values(self, query: RecordQuery) -> np.ndarray:
        """Return free runs (n, T, c), zero after the end of a record."""
        if "runs" not in query.memo:
            runs = Runner(self.step, self.limits).run(self._series(query), self.coefficients)
            query.memo["runs"] = self._padded(runs, query)
        return np.asarray(query.memo["runs"]).copy()

    def described(self, points: Any = None, steps: int | None = None) -> Description:
        """Return free runs of so many steps, from rest, as a list of array operations."""
        outputs, c = self.outputs, self.step.sizes[0]
        graph, _, z = self._traced(steps)
        T = graph.sizes[z] // c
        z = graph.gather(z, np.arange(T * c).reshape(T, c).T)
        t = self.t0 + self.dt * np.arange(T)
        at = (
            None
            if points is None
            else self._own_times(points, Given([t], np.empty((1, 0)), "array"), "points")
        )
        if at is not None:
            z, t = graph.affine(z, CubicSpline(t, np.eye(T))(at), rows=c), at
        operations = graph.finished(outputs.trace_unpacked(graph, z))
        return Description(
            operations,
            self._record_inputs.ports(T),
            outputs.ports((len(t),)),
            t[:, None],
            self.facts_to_export(),
            interval=float(self.dt),
        )

    @property
    def _record_inputs(self) -> RecordInputs:
        assert isinstance(self.inputs, RecordInputs)
        return self.inputs

    def _traced(self, steps: int | None) -> tuple[Graph, list[int], int]:
        """Write a free run from rest; return its inputs and what precedes them, parameters, start, and it."""
        inputs, settings = self._record_inputs, self.step.settings
        T = inputs.steps if steps is None else steps
        channels, numbers = inputs.places(T)
        g, h, (c, p, _) = settings.past_inputs, settings.past_outputs, self.step.sizes
        ahead = np.full((g, p), -1) if self.rest == "zero" else np.tile(channels[0], (g, 1))
        graph = Graph(sum(port.size for port in inputs.ports(T)))
        u, parameters = graph.gather(0, np.concatenate([ahead, channels])), graph.gather(0, numbers)
        start, body = graph.constant(np.tile(self.level, h)), self.step.trace(self.coefficients, self.limits)
        z = graph.march(u, parameters, start, body, steps=T, past=h, outputs=c, seen=g + 1, inputs=p)
        return graph, [u, parameters, start], z

    def described_novelty(self, steps: int | None = None) -> tuple[Operation, ...]:
        """Return operations from the inputs to how far a free run leaves the training range."""
        (c, p, q), settings = self.step.sizes, self.step.settings
        graph, parts, z = self._traced(steps)
        T, every = graph.sizes[z] // c, settings.every
        past, inputs = settings.past_outputs, settings.past_inputs + 1
        at = np.cumsum([0, *(graph.sizes[part] for part in (*parts, z))])
        k = np.arange(T)[:, None]
        # What step k sees: past outputs, which begin with the start, inputs up to its own, parameters.
        index = [
            at[2] + k * c + np.arange(past * c).reshape(past, c)[::every].ravel(),
            at[0] + k * p + np.arange(inputs * p).reshape(inputs, p)[::every].ravel(),
            at[1] + 0 * k + np.arange(q),
        ]
        Z = self.step.trace_coordinates(graph, graph.gather(graph.concat([*parts, z]), np.hstack(index)), T)
        middle, half = self.ranges.mean(axis=0), np.maximum((self.ranges[1] - self.ranges[0]) / 2, 1e-9)
        Z = graph.scale(Z, 1 / half, before=middle, rows=T)
        sides = [graph.elementwise(graph.scale(Z, sign), "relu") for sign in (1.0, -1.0)]
        return graph.finished(graph.scale(trace_largest(graph, graph.sum(sides)), 1 / (self.usual * MARGIN)))

    takes_lists: ClassVar[bool] = True

    def steps_of(self, X: Any) -> int | None:
        """Return the length of records in an array or a dictionary of arrays; None for lists."""
        if isinstance(X, dict):
            lengths = [np.shape(X[name])[1] for name in X if np.ndim(X[name]) > 1]
            return max(lengths, default=None)
        return None if isinstance(X, (list, tuple)) else int(np.shape(X)[1])

    def flat_inputs(self, estimator: Any, X: Any) -> np.ndarray:
        """Check records of one length; return them packed and flat."""
        inputs = self.inputs
        assert isinstance(inputs, RecordInputs)
        if inputs.split(estimator, X).form != "array":
            raise InputError(
                "give records of one length, as an array (N, T): one description has one length."
            )
        return inputs.flat(X)

    def training_inputs(self, steps: int | None = None) -> np.ndarray | None:
        """Return training records of so many steps, cut off or repeated, packed and flat."""
        rows, inputs = self.record.inputs, self.inputs
        assert isinstance(inputs, RecordInputs)
        if rows is None:
            return None
        T = inputs.steps if steps is None else steps
        records, parameters = np.split(rows, [inputs.steps * inputs.channels], axis=1)
        channels, numbers = inputs.places(T)
        found = np.empty((len(rows), channels.size + numbers.size))
        own = records.reshape(len(rows), inputs.steps, -1)
        found[:, channels] = own[:, np.arange(T) % inputs.steps]
        found[:, numbers] = parameters
        return found

    def distance(self, query: RecordQuery) -> np.ndarray:
        """Return the root mean square distance (n, T, c) of the companions' runs."""
        runs, series = self.values(query), self._series(query)
        squares = np.zeros_like(runs)
        for C in self.companions:
            squares += (self._padded(Runner(self.step, self.limits).run(series, C), query) - runs) ** 2
        return np.sqrt(squares / max(1, len(self.companions)))

    def _padded(self, runs: Sequence[np.ndarray], query: RecordQuery) -> np.ndarray:
        """Return runs as one array, begun with the known values, if any."""
        out = np.zeros((len(runs), int(query.lengths.max()), len(self.level)))
        for i, run in enumerate(runs):
            end = query.lengths[i]
            out[i, end - len(run) : end] = run
            if query.start is not None:
                out[i, : len(query.start[i])] = query.start[i]
        return out

    def finish(self, z: np.ndarray, query: RecordQuery) -> Any:
        """Return runs (n, T, c) in the user's shapes, and at the times asked for."""
        outputs, lengths = self.outputs, query.lengths
        if query.at is not None:
            t = self.t0 + self.dt * np.arange(z.shape[1])
            z = np.stack(
                [CubicSpline(t[:end], run[:end])(query.at) for run, end in zip(z, lengths, strict=True)]
            )
            lengths = np.full(len(z), z.shape[1])
        if query.given.form == "array" or outputs.names is not None:
            rows = np.moveaxis(z, 2, 1).reshape(len(z), -1)
            return outputs.unpacked(rows, (z.shape[1],))
        each = [
            outputs.unpacked(run[:end].T.reshape(1, -1), (end,))[0]
            for run, end in zip(z, lengths, strict=True)
        ]
        return each[0] if query.given.form == "single" else each

    def finish_spread(self, spread: np.ndarray, z: np.ndarray, query: RecordQuery) -> Any:
        """Return sizes of errors in the user's shapes."""
        found = self.finish(spread, query)
        return found if query.at is None else _not_negative(found)

    def derivative(self, query: RecordQuery, orders: Any) -> Any:
        """Refuse: records are known at their time steps."""
        raise InputError("records have no derivatives here: take differences of predictions instead.")

    def targets(self, query: RecordQuery, y: Any) -> np.ndarray:
        """Check outputs; return them (n, T, c), NaN after the end of a record."""
        if query.given.form == "single" and np.ndim(plain(y)) == 1:
            y = [y]
        found = targets_of(self.outputs, y, len(query.given.u))
        out = np.full((len(found), int(query.lengths.max()), len(self.level)), np.nan)
        for i, (own, length) in enumerate(zip(found, query.lengths, strict=True)):
            if own.shape != (length, out.shape[2]):
                raise InputError(
                    f"outputs of record {i} must have the shape ({length}, {out.shape[2]}), that of its "
                    f"inputs in time; got {own.shape}."
                )
            out[i, :length] = own
        return out

    def units(self, z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | float, float]:
        """Return 1, and the root mean square of the targets."""
        return 1.0, float(np.sqrt(np.nanmean(target**2)))

    # Where the model is valid

    def beyond(self, query: RecordQuery) -> np.ndarray:
        """Return how far each step (n, T) is outside the training range; 1 at its usual end.

        A coordinate at the end of its range has 1, one as far again from the middle 2; divided by what is
        usual for a training record among the others.
        """
        if "beyond" not in query.memo:
            runs, out = self.values(query), np.zeros((len(query.given.u), int(query.lengths.max())))
            for i, one in enumerate(self._series(query)):
                length, h = query.lengths[i], self.step.settings.past_outputs
                steps = len(one.u) - self.step.settings.past_inputs
                s = np.concatenate([one.s[:h], runs[i, length - steps : length]]) if h else runs[i, :length]
                (Z,) = self.step.coordinates([one._replace(s=s)])
                out[i, length - steps : length] = outside_range(Z, self.ranges)
            query.memo["beyond"] = out / self.usual
        return np.asarray(query.memo["beyond"])

    def novelty(self, query: RecordQuery) -> np.ndarray:
        """Return the largest value of `beyond` of each record (n,)."""
        return np.asarray(self.beyond(query).max(axis=1))

    def outside(self, query: RecordQuery) -> np.ndarray:
        """Return which records (n,) leave the training range."""
        return np.asarray(self.novelty(query) > MARGIN)

    def warn_if_outside(self, query: RecordQuery) -> None:
        """Warn of runs that leave the training range, with the time when the first one does."""
        outside = self.outside(query)
        if not outside.any():
            return
        first = int(np.argmax(outside))
        time = self.t0 + self.dt * int(np.argmax(self.beyond(query)[first] > MARGIN))
        warn(
            f"{int(outside.sum())} of {len(outside)} inputs (the first: row {first}, from time {time:.6g}) "
            "lead out of the range that the training records cover: the expected error does not hold from "
            "there, and bands grow. Train on records like these.",
            ExtrapolationWarning,
        )

    def _new_record(self) -> TrainingRecord:
        return TrainingRecord()

    @property
    def judge(self) -> None:
        """None: records are judged by their own left-out runs."""
        return None

    @cached_property
    def suspects(self) -> Suspects:
        """Training records whose left-out error stands far out."""
        if self.held_out is None:
            raise InputError(
                "suspects are found among the training records, and this model was loaded from a file, which "
                "does not hold them. Fit it again."
            )
        records = np.unique(self.held_out.records)
        if len(records) < _MIN_RECORDS:
            raise InputError(
                f"telling suspects among training records from chance takes at least {_MIN_RECORDS} of them; "
                f"got {len(records)}."
            )
        errors = np.array([self.held_out.judged[self.held_out.records == i].max() for i in records])
        logs = np.log(np.maximum(errors, np.finfo(float).tiny))
        middle = float(np.median(logs))
        spread = max(1.4826 * float(np.median(np.abs(logs - middle))), 0.1)
        scores = np.exp(logs - middle)
        odd = ((logs - middle) / spread > _SUSPECT) & (scores > _SUSPECT_RATIO) & (errors > _WRONG)
        order = np.argsort(-scores * odd, kind="stable")[: int(odd.sum())]
        reasons = tuple(f"error of its free run {percent(float(errors[i]), 2)}, left out" for i in order)
        kinds = ("pair",) * len(order)
        return Suspects(records[order], scores[order], reasons, kinds, scores, records, self.n)

    def suspects_if_quick(self) -> Suspects | None:
        """Return suspects, unless the records cannot be judged."""
        try:
            return self.suspects
        except InputError:
            return None

    # Words and reports

    def own_summary(self) -> Summary:
        """Return the summary."""
        settings, growth = self.settings(), self.amplification
        own = self.step.settings
        stable = "small disturbances of a run neither grow nor decay"
        if abs(growth) * own.memory > _AMPLIFIED * max(1, own.memory):
            steps = rounded(np.log(2) / abs(growth), 2)
            stable = f"small disturbances of a run {'double' if growth > 0 else 'halve'} every {steps} steps"
            stable += ": it cannot be predicted for long" if growth > 0 else ""
        begin = "from rest" if self.from_rest else "not from rest"
        began = Fact("Records begin", begin)
        if not self.from_rest:
            known = "" if self.started_error is None else f", {percent(self.started_error)} from these"
            began = Fact(
                "Records begin", f"not from rest: predict(X, start=...) takes the first outputs{known}"
            )
        return Summary(
            error=self.estimate.facts(),
            choice=(
                Fact("Step", settings["step"]),
                Fact("Ridge alpha", settings["alpha"]),
                *self.facts,
                *(() if not own.feedback else (Fact("Stability", stable),)),
            ),
            details=(
                Fact("Records", f"{self.n}, time step {rounded(self.dt, 4)}"),
                began,
                Fact("Inputs", self.inputs.describe()),
                Fact("Outputs", self.outputs.describe()),
            ),
        )

    def settings(self) -> dict[str, str]:
        """Return what was chosen, as names and values for a report."""
        return {
            "step": f"{self.step.settings.describe()}; {plural(self.step.count, 'feature')}",
            "alpha": rounded(self.alpha, 2),
            "time step": rounded(self.dt, 6),
        }

    def validation(self) -> Validation | str:
        """Return the records left out, or why they are not known."""
        if self.held_out is None:
            return (
                "Not known: this model was loaded from a file, which does not contain the left-out records. "
                "Give records with known outputs: model.report(path, X, y)."
            )
        return self.method.validation(self) or "Not known: too few records were left out."


def _not_negative(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: np.maximum(part, 0) for name, part in values.items()}
    return [np.maximum(part, 0) for part in values] if isinstance(values, list) else np.maximum(values, 0)

"""The choice of memory, features, ridge and feedback, by free runs of records that were left out.

Each candidate is fitted without one fold of the records after the other, from sums over the steps of each
fold, and runs freely over the records of that fold. Errors in the outputs (noise) are errors in what a step
with feedback sees: they bias it, and the free run shows it. So do instabilities, and outputs that depend on
later inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.errors import InputError
from elmonet.marching.free_run import Runner
from elmonet.marching.ranges import Larger, larger_half, run_larger
from elmonet.marching.records import Records, cut, fold_numbers, sample, series_of
from elmonet.marching.step import Settings, Step
from elmonet.marching.sums import Sums, fold_coefficients, fold_sums, total

FOLDS = 10
_ALPHAS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
_FEW_ALPHAS = (1e-12, 1e-8, 1e-4)  # of a quick look
_LOOK = (Settings(2, 3), Settings(3, 4, "cubic"), Settings(0, 24))
_SECOND_LOOK = (Settings(0, 64), Settings(3, 4, "tanh", 150, 0.1))
SEARCH_STEPS = 60_000  # steps that a search sees
_RUN_STEPS = 1500  # steps of a free run in a search
_STEADY_STEPS = 500  # the same in the tests beyond the training range
_MANY_STEPS = 1_000_000  # above, no wide steps are tried
_MEMORIES = ((1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5))
_USUAL = (3, 4)  # memory that random features always see
_LONG_MEMORIES = ((6, 6), (8, 8), (12, 12), (16, 16), (24, 24), (32, 32))
_FILTERS = (8, 16, 32, 64, 128, 256, 512)
_SCALES = (0.03, 0.1, 0.3)
_WIDTH, _WIDE = 300, 1000
_CLOSE = (
    2.0  # score of random features, or of coarser steps, relative to the best, above which no more are tried
)
_MAX_COUNT = 700  # features of a polynomial
_MOST = 2.0  # error of a run that went astray
_ALIKE = 1.1  # errors of candidates of which the simplest may be taken
_ASTRAY = 1.5  # factor on the error of a candidate whose runs leave all bounds at larger inputs
_LARGER = 1.25  # factor on inputs in that test
_JUDGED = 40  # candidates, the best, that are tested beyond the training range
_WORTH = 1.03  # ratio of errors that a wider step must gain
_STAGES = 5
_ROUNDING = 1e-15  # least error of a record
_EXACT = 1e-9  # error below which nothing more is tried


class StepCandidate(NamedTuple):
    """A candidate and its left-out errors.

    errors : (n,), of each piece, relative to the size of its record.
    """

    settings: Settings
    alpha: float
    errors: np.ndarray
    n_features: int
    seconds: float

    @property
    def error(self) -> float:
        """Mean of the errors; runs that went astray count with 2."""
        return float(np.mean(np.minimum(self.errors, _MOST)))

    @property
    def typical(self) -> float:
        """Geometric mean of the errors."""
        return float(np.exp(np.mean(np.log(np.clip(self.errors, _ROUNDING, _MOST)))))

    @property
    def score(self) -> float:
        """Geometric mean of the mean error and the typical one, by which candidates are compared.

        The mean of ten errors is mostly that of the one or two records that leave the range of the others,
        and so a matter of chance.
        """
        return float(_score(self.errors))

    def row(self) -> dict[str, Any]:
        """Return a row of a leaderboard."""
        own = self.settings
        memory = f"{own.outputs} + {own.inputs} values" if own.feedback else f"{own.inputs} inputs"
        memory += f", {own.every} steps apart" if own.every > 1 else ""
        kind = f"{own.kind} (width {own.width}, scale {own.scale:g})" if own.random else own.kind
        return {
            "branch": f"step {'with' if own.feedback else 'without'} feedback, {kind} ({memory})",
            "log_inputs": False,
            "scale_inputs": True,
            "log_outputs": False,
            "functions": len(self.errors),
            "error": self.error,
            "alpha": self.alpha,
            "seconds": self.seconds,
        }


class StepSearch:
    """Candidates tried on records left out.

    Parameters
    ----------
    records : training records, whose beginning is known (`find_rest`).
    feedback, memory : as given by the user; None to choose.
    steps : number of steps that the search sees, of some records or stretches of them.
    """

    def __init__(
        self,
        records: Records,
        *,
        feedback: bool | None = None,
        memory: tuple[int, int, int] | None = None,
        seed: int = 0,
        steps: int = SEARCH_STEPS,
        deadline: float = np.inf,
        tell: Callable[[str, float, float], None] = lambda what, done, total: None,
    ):
        self.whole = records
        self.records = sample(records, steps)
        self.many = records.steps > _MANY_STEPS
        self.feedback, self.memory, self.seed = feedback, memory, seed
        self.every = 1 if memory is None else memory[2]
        self.deadline, self.tell = deadline, tell
        self.pieces = cut(self.records)
        self.folds = fold_numbers(self.records, self.pieces, FOLDS)
        if len(np.unique(self.folds)) < 2:
            raise InputError(
                f"a choice needs records to leave out: at least two, or one of at least 80 steps; got "
                f"{len(records.u)} of {max(map(len, records.u))} steps."
            )
        self.runner_limits = self.records.limits
        self.shortest = min(piece.end - piece.begin for piece in self.pieces)
        if memory is not None and (reach := Settings(*memory[:2], every=memory[2]).memory) >= self.shortest:
            raise InputError(
                f"memory reaches back over {reach} steps, and the shortest record, or stretch of one that is "
                f"left out, has {self.shortest}. Use a shorter memory."
            )
        self.candidates: list[StepCandidate] = []
        self._beyond: dict[tuple[Settings, float], tuple[bool, Larger | None]] = {}

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of outputs, inputs and parameters."""
        return self.records.s[0].shape[1], self.records.u[0].shape[1], self.records.parameters.shape[1]

    # Products are small: threads would wait for each other.
    @threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
    def run(self) -> StepCandidate:
        """Try candidates, and return the one to take."""
        with_feedback, filters = self._memories()
        first = self._polynomials(with_feedback, self.every)
        first += [Settings(*m) for m in self._long(with_feedback)]
        first += [Settings(0, L) for L in filters]
        self._try_all([own for own in first if self._fits(own)], 0)
        if self.best().error > _EXACT:
            self._try_all(self._nonlinear(with_feedback, self.every), 1)
        if self.best().error > _EXACT:
            self._try_coarser(with_feedback)
        if self.best().error > _EXACT:
            self._try_all(self._hysteretic(with_feedback), 3)
        if self.best().error > _EXACT:
            self._try_all(self._wide(), 4)
        return self.chosen()

    @threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
    def quick(self, *, more: bool = False) -> StepCandidate:
        """Return the best of few cheap candidates, or of some more; runs begin as those of `predict`."""
        for own in _SECOND_LOOK if more else _LOOK:
            if self._fits(own) and own.memory < self.shortest:
                self.candidates += self.left_out(own, _FEW_ALPHAS, known=self.whole.from_rest)
        return min(self.candidates, key=lambda one: one.error)

    def from_rest(self, candidate: StepCandidate) -> StepCandidate:
        """Return a candidate with the errors of runs that begin at rest, as those of `predict`."""
        if self.whole.from_rest:
            return candidate
        (found,) = self.left_out(candidate.settings, (candidate.alpha,), known=False)
        return found

    def best(self) -> StepCandidate:
        """Return the candidate with the least score."""
        return min(self.candidates, key=lambda one: one.score)

    def optimism(self) -> tuple[float, float]:
        """Return factors, at least 1, on mean and typical errors of records that the choice has not seen.

        The best of many candidates is partly the one that these records happen to like. So each fold takes
        the candidate that is best on the other folds. An error beyond all those of the best one tells of the
        other candidate alone, and counts as the largest of the best one's.
        """
        best, errors = self.best(), np.array([one.errors for one in self.candidates])
        nested = np.empty(errors.shape[1])
        for fold in np.unique(self.folds):
            own = self.folds == fold
            nested[own] = errors[np.argmin(_score(errors[:, ~own])), own]
        unseen = best._replace(errors=np.minimum(nested, best.errors.max()))
        return (
            max(1.0, unseen.error / max(best.error, _ROUNDING)),
            max(1.0, unseen.typical / best.typical),
        )

    def leaderboard(self, chosen: StepCandidate) -> list[dict[str, Any]]:
        """Return the candidates, each with its best ridge: the chosen one first, then by their errors."""
        best: dict[Settings, StepCandidate] = {}
        for one in sorted(self.candidates, key=lambda one: one.score):
            best.setdefault(one.settings, one)
        best.pop(chosen.settings, None)
        return [chosen.row(), *(one.row() for one in best.values())]

    def best_of(self, feedback: bool) -> StepCandidate | None:
        """Return the best candidate with, or without, feedback."""
        own = [one for one in self.candidates if one.settings.feedback == feedback]
        return min(own, key=lambda one: one.score) if own else None

    def chosen(self) -> StepCandidate:
        """Return the simplest of the candidates that are not worse than the best, and run steadily.

        A candidate is not worse if its score is within 10 % and its errors exceed the best one's by a factor
        that is within the standard error of its logarithm over the pieces. Of n + 1 records, about one leaves
        the range of the others: so the error of larger records, by a fit to the smaller half, counts with
        1 / (n + 1) in the mean error. Runs that leave all bounds at inputs 1.25 times as large count as
        errors 1.5 times as large. What is within 3 % is never worse; a narrow step of the best one's kind
        only then.
        """
        judged: list[tuple[float, StepCandidate]] = []
        for one in sorted(self.candidates, key=lambda one: one.score)[:_JUDGED]:
            if judged and one.score > _ALIKE * min(risk for risk, _ in judged):
                break  # what is left cannot be better
            judged.append((self._risk(one), one))
        least, best = min(judged, key=lambda pair: pair[0])
        alike = [
            one
            for risk, one in judged
            if risk <= _WORTH * least
            or (risk <= _ALIKE * least and not _narrower(one, best) and _not_worse(one, best))
        ]
        simplest = min(alike, key=lambda one: (one.n_features, -one.settings.every)).settings
        return min((one for one in alike if one.settings == simplest), key=lambda one: one.score)

    def left_out(
        self, settings: Settings, alphas: Sequence[float], known: bool = True
    ) -> list[StepCandidate]:
        """Try one step with several ridges."""
        begin, records = perf_counter(), self.records
        training = [series_of(records, piece, settings, training=True) for piece in self.pieces]
        series = [one for one in training if one is not None]
        step = Step.of(settings, series, self.seed)
        runner = Runner(step, self.runner_limits)
        C = fold_coefficients(step, training, self.folds, alphas)
        short = [piece._replace(end=min(piece.end, piece.begin + _RUN_STEPS)) for piece in self.pieces]
        found = [(i, series_of(records, piece, settings, known=known)) for i, piece in enumerate(short)]
        tests = [(i, one) for i, one in found if one is not None]
        own_folds = self.folds[[i for i, _ in tests]]
        runs = runner.run_each([one for _, one in tests], np.nan_to_num(C[own_folds]))
        errors = np.full((len(alphas), len(self.pieces)), np.nan)
        for (i, one), run in zip(tests, runs, strict=True):
            truth = one.s[settings.past_outputs :]
            size = np.sqrt(np.mean(records.s[self.pieces[i].record] ** 2))
            errors[:, i] = np.sqrt(np.mean((run - truth) ** 2, axis=(1, 2))) / (size or 1.0)
        singular = np.isnan(C).any(axis=(0, 2, 3))
        seconds = (perf_counter() - begin) / len(alphas)
        return [
            StepCandidate(settings, alpha, np.nan_to_num(own, nan=0.0), step.count, seconds)
            for alpha, own, bad in zip(alphas, errors, singular, strict=True)
            if not bad
        ]

    def _try_all(self, settings: Iterable[Settings], stage: int) -> None:
        own = [one for one in settings if one not in {tried.settings for tried in self.candidates}]
        for k, one in enumerate(own):
            if self.candidates and perf_counter() > self.deadline:
                return
            self.tell("steps in time", stage + k / len(own), _STAGES)
            self.candidates += self.left_out(one, self._alphas(one))

    def _try_coarser(self, with_feedback: Sequence[tuple[int, int]]) -> None:
        """Try steps over 2, 4, 8, ... time steps while they are not much worse, then more like the best.

        Where records are oversampled, a short step hardly moves, and noise of the outputs is large beside it.
        """
        short = self.best_of(True)
        if self.memory is not None or short is None:
            return
        width, least, every = min(_WIDTH, self.records.steps // 5), short.score, 2
        probes = [Settings(*_USUAL, "cubic"), Settings(*_USUAL, "tanh", width, _SCALES[1])]
        probes += [short.settings] if short.settings.outputs <= _USUAL[0] else []
        while max(_USUAL) * every <= self.shortest // 4:
            self._try_all([one._replace(every=every) for one in probes if self._fits(one)], 2)
            found = [one.score for one in self.candidates if one.settings.every == every]
            if not found or min(found) > _CLOSE * least:
                break
            least, every = min(least, *found), 2 * every
        best = self.best_of(True)
        if best is None or best.settings.every == 1:
            return
        every = best.settings.every
        memories = [m for m in with_feedback if max(m) * every <= self.shortest // 4]
        more = self._polynomials(memories, every)
        self._try_all([one for one in more if self._fits(one)], 2)
        self._try_all(self._nonlinear(memories, every), 2)

    def _alphas(self, settings: Settings) -> Sequence[float]:
        """Return the ridges to try: around the best one of a narrower or simpler step, if there is one."""
        if not settings.random:
            return _ALPHAS
        random = [one for one in self.candidates if one.settings.random]
        narrow = [
            one
            for one in random
            if one.settings._replace(width=settings.width, kind=settings.kind) == settings
        ] or [
            one
            for one in random
            if one.settings._replace(width=settings.width, scale=settings.scale) == settings
        ]
        if not narrow:
            return _ALPHAS
        at = _ALPHAS.index(min(narrow, key=lambda one: one.score).alpha)
        return _ALPHAS[max(0, at - 2) : at + 2]

    def _memories(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Return the memories to try with feedback, (outputs, inputs), and without."""
        if self.memory is not None:
            h, inputs, _ = self.memory
            return ([(h, inputs)] if h and self.feedback is not False else []), ([inputs] if not h else [])
        limit = max(1, self.shortest // 4)
        some = [m for m in _MEMORIES if max(m) <= limit]
        filters = [length for length in _FILTERS if length <= max(4, self.shortest // 2)]
        return [] if self.feedback is False else some, [] if self.feedback is True else filters

    def _long(self, with_feedback: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if self.memory is not None or not with_feedback:
            return []
        return [m for m in _LONG_MEMORIES if max(m) <= self.shortest // 4]

    def _polynomials(self, memories: Sequence[tuple[int, int]], every: int) -> list[Settings]:
        kinds = ("linear", "quadratic", "cubic")
        return [Settings(*m, kind, every=every) for kind in kinds for m in memories]

    def _fits(self, settings: Settings) -> bool:
        count, rows = settings.n_features(*self.sizes), self.records.steps
        return settings.kind == "linear" or (count <= _MAX_COUNT and 3 * count <= rows)

    def _nonlinear(self, with_feedback: list[tuple[int, int]], every: int) -> list[Settings]:
        """Return random features of the memories that were best so far."""
        width = min(_WIDTH, self.records.steps // 5)
        some = [one for one in self.candidates if one.settings.every == every]
        ranked = sorted(some, key=lambda one: one.score)
        own = [one.settings for one in ranked if one.settings.feedback]
        memories = list(dict.fromkeys((one.outputs, one.inputs) for one in own if one.outputs <= 8))[:2]
        memories += [m for m in (_USUAL,) if m in with_feedback and m not in memories]
        out = [Settings(*m, "tanh", width, scale, every) for m in memories for scale in _SCALES]
        longest = [one.settings.inputs for one in ranked if not one.settings.feedback][:1]
        for L in longest:
            out += [Settings(0, L, "quadratic"), *(Settings(0, L, "tanh", width, scale) for scale in _SCALES)]
        return [one for one in out if one.random or self._fits(one)] if width > 10 else []

    def _hysteretic(self, with_feedback: list[tuple[int, int]]) -> list[Settings]:
        """Return features with kinks where outputs turn, for the best memory so far and a usual one."""
        random = [one for one in self.candidates if one.settings.random and one.settings.outputs > 1]
        if not random:
            return []
        own = min(random, key=lambda one: one.score)
        if own.score > _CLOSE * self.best().score:
            return []
        width = min(2 * _WIDTH, self.records.steps // 10)
        memories = dict.fromkeys([own.settings[:2], *(m for m in (_USUAL,) if m in with_feedback)])
        every = own.settings.every
        return [Settings(*m, "hysteretic", width, scale, every) for m in memories for scale in _SCALES[:2]]

    def _wide(self) -> list[Settings]:
        """Return wider random features of each kind among the best; of the best, also a scale in between."""
        if self.many or self.records.steps < 5 * _WIDE:
            return []
        ranked = sorted((one for one in self.candidates if one.settings.random), key=lambda one: one.score)
        best: dict[str, Settings] = {}
        for one in ranked:
            if one.score <= _CLOSE * self.best().score:
                best.setdefault(one.settings.kind, one.settings)
        out = [own._replace(width=_WIDE) for own in best.values()]
        if out:
            first = ranked[0].settings
            scales = [
                one.settings.scale for one in ranked if one.settings._replace(scale=first.scale) == first
            ]
            other = next((scale for scale in scales if scale != first.scale), None)
            if other is not None:
                out.append(out[0]._replace(scale=float(np.sqrt(first.scale * other))))
        return out

    def larger(self, candidate: StepCandidate) -> Larger | None:
        """Return runs of the larger half of the pieces by a fit to the smaller half."""
        return self._runs_beyond(candidate)[1]

    def _risk(self, candidate: StepCandidate) -> float:
        """Return the score with what records beyond the training range add to the mean error."""
        steady, larger = self._runs_beyond(candidate)
        error = candidate.error * (1.0 if steady else _ASTRAY)
        if larger is not None:
            share = 1 / (len(self.pieces) + 1)
            error += share * max(0.0, float(np.minimum(larger.errors, _MOST).mean()) - error)
        return float(np.sqrt(error * candidate.typical))

    def _runs_beyond(self, candidate: StepCandidate) -> tuple[bool, Larger | None]:
        """Return whether free runs with larger inputs stay within all bounds, and runs of larger records."""
        settings, records, key = candidate.settings, self.records, (candidate.settings, candidate.alpha)
        if key in self._beyond:
            return self._beyond[key]
        training = [series_of(records, piece, settings, training=True) for piece in self.pieces]
        series = [one for one in training if one is not None]
        step = Step.of(settings, series, self.seed)
        runner, larger, found = Runner(step, self.runner_limits), larger_half(series), None
        half = np.zeros(len(series), int) if larger is None else larger.astype(int)
        sums = fold_sums(step, series, half)
        if larger is not None:
            found = run_larger(runner, sums[0], series, larger, candidate.alpha, _STEADY_STEPS)
        self._beyond[key] = not settings.feedback or self._steady(runner, total(sums), candidate.alpha), found
        return self._beyond[key]

    def _steady(self, runner: Runner, sums: Sums, alpha: float) -> bool:
        C = sums.solve(alpha)
        if C is None:
            return False
        few = [piece._replace(end=min(piece.end, piece.begin + _STEADY_STEPS)) for piece in self.pieces]
        tests = [one for piece in few if (one := series_of(self.records, piece, runner.step.settings))]
        larger = [one._replace(u=one.u[:1] + _LARGER * (one.u - one.u[:1])) for one in tests]
        low, high = self.runner_limits
        return all(bool(((run > low) & (run < high)).all()) for run in runner.run(larger, C))


def _score(errors: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the mean and the geometric mean of errors (..., n)."""
    logs = np.log(np.clip(errors, _ROUNDING, _MOST))
    return np.asarray(np.sqrt(np.minimum(errors, _MOST).mean(axis=-1) * np.exp(logs.mean(axis=-1))))


def _narrower(one: StepCandidate, best: StepCandidate) -> bool:
    """Return whether a step has fewer of the same random features."""
    width = best.settings.width
    return one.settings.width < width and one.settings._replace(width=width) == best.settings


def _not_worse(one: StepCandidate, best: StepCandidate) -> bool:
    logs = [np.log(np.clip(own.errors, _ROUNDING, _MOST)) for own in (one, best)]
    excess = logs[0] - logs[1]
    return float(excess.mean()) <= float(excess.std(ddof=1)) / np.sqrt(len(excess))

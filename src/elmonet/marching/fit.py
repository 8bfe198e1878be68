"""The fit of a chosen step to all records: errors, bands and ranges from records left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from elmonet.errors import InputError
from elmonet.forms.outputs import OutputForm
from elmonet.marching.bands import HeldOutRuns
from elmonet.marching.choice import FOLDS, StepCandidate, StepSearch
from elmonet.marching.fitted import FittedMarching
from elmonet.marching.forms import RecordInputs
from elmonet.marching.free_run import Runner
from elmonet.marching.ranges import MARGIN, Larger, Leaving, Ranges
from elmonet.marching.records import Piece, Records, cut, fold_numbers, series_of
from elmonet.marching.step import Series, Settings, Step
from elmonet.marching.sums import Sums, fold_sums, total
from elmonet.metrics import reference_norms
from elmonet.summary import Fact, percent
from elmonet.uncertainty.error_estimate import ErrorEstimate
from elmonet.uncertainty.novelty import TrainingRecord

_HELD_OUT = 200  # records, or stretches, whose left-out runs tell errors and bands
_ASIDE = 0.15  # part of the records without which suspects are judged
_MANY_STEPS = 1_000_000  # above, errors are those of stretches, and the fit takes the steps in blocks
_BLOCK_STEPS = 200_000  # of such a block
_MOST_WORK = 2e12  # products that the sums over many steps may take
_NOISY = 1.1  # error with feedback, relative to that without, from which noise is named as the reason
_AHEAD, _LATER = 8, 0.5  # steps ahead, and ratio of errors, by which outputs depend on later inputs


@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def fit_records(
    inputs: RecordInputs, outputs: OutputForm, search: StepSearch, best: StepCandidate
) -> FittedMarching:
    """Fit the chosen step to all records; errors and bands come from fits without some of them."""
    settings, alpha, records = best.settings, best.alpha, search.whole
    many = records.steps > _MANY_STEPS
    used = search.records if many else records  # stretches of very many steps
    pieces = cut(used)
    folds = fold_numbers(used, pieces, FOLDS)
    training = [series_of(used, piece, settings, training=True) for piece in pieces]
    series = [one for one in training if one is not None]
    step = Step.of(settings, series, search.seed)
    sums = fold_sums(step, training, folds)
    whole = total(sums)
    limits = used.limits
    facts = [] if not many else [_stream(step, records, whole)]
    C = _solved(whole, alpha)
    runner = Runner(step, limits)
    without = _without_folds(sums, alpha)
    companions = without[:, 0]
    given = (used, outputs, pieces, without[folds], runner)
    rest = _judged(_held_out(*given, known=records.from_rest), training, runner, alpha)
    started = None
    if not records.from_rest and settings.feedback:
        started = _held_out(*given, known=True)
    optimism, widen = search.optimism()
    each = (optimism * rest.component_errors).tolist()
    estimate = ErrorEstimate.of(
        rest.errors,
        "held out",
        stated=optimism * float(np.mean(rest.errors)),
        independent=rest.independent,
        components=tuple(zip(outputs.component_names, each, strict=False)),
    )
    ranges = Ranges.of(step, series)
    leaving = _leaving(ranges, rest, training, search.larger(best))
    estimate = replace(estimate, interval=leaving.widened(estimate.interval))
    facts += [*_facts(search, best, len(pieces) != len(records.u), many), *leaving.facts()]
    return FittedMarching(
        inputs=inputs,
        outputs=outputs,
        estimate=estimate,
        step=step,
        coefficients=C,
        companions=companions,
        limits=limits,
        rest=records.rest,
        level=np.asarray(records.level),
        from_rest=records.from_rest,
        dt=records.dt,
        t0=records.t0,
        ranges=ranges.ends,
        usual=ranges.usual,
        alpha=alpha,
        amplification=_amplification(runner, series, C),
        n=len(records.u),
        started_error=None if started is None else float(np.mean(started.errors)),
        leaderboard=tuple(search.leaderboard(best)),
        facts=tuple(facts),
        held_out=replace(rest, widen=widen),
        started=None if started is None else replace(started, widen=widen),
    )


def training_record(records: Records, inputs: RecordInputs) -> TrainingRecord:
    """Return what is kept of the training inputs; nothing of very many steps."""
    if records.steps > _MANY_STEPS:
        return TrainingRecord()
    T = inputs.steps
    rows = np.zeros((len(records.u), T, inputs.channels))
    for row, u in zip(rows, records.u, strict=True):
        row[: len(u)] = u
    return TrainingRecord.of(np.hstack([rows.reshape(len(rows), -1), records.parameters]))


def _solved(sums: Sums, alpha: float) -> np.ndarray:
    """Return coefficients, with a larger ridge where this one is singular."""
    for power in range(8):
        C = sums.solve(alpha * 10.0**power)
        if C is not None:
            return C
    raise InputError("the features of these records are singular: are inputs and outputs constant?")


def _without(sums: Sequence[Sums], folds: set[int]) -> Sums:
    return total([own for k, own in enumerate(sums) if k not in folds] or list(sums))


def _without_folds(sums: Sequence[Sums], alpha: float) -> np.ndarray:
    """Return coefficients (K, 1 + companions, F, c) of fits without each fold, and without one more.

    All others are left out in turn: one or two of them may hold the records that matter most.
    """
    K = len(sums)
    pairs = [(k, j) for k in range(K) for j in range(k + 1, K)] if K > 2 else []
    both = {pair: _solved(_without(sums, set(pair)), alpha) for pair in pairs}
    out = []
    for k in range(K):
        more = [both[min(k, j), max(k, j)] for j in range(K) if j != k] if both else []
        out.append([_solved(_without(sums, {k}), alpha), *more])
    return np.array(out)


def _held_out(
    records: Records,
    outputs: OutputForm,
    pieces: list[Piece],
    without: np.ndarray,
    runner: Runner,
    *,
    known: bool,
) -> HeldOutRuns:
    """Run pieces freely by fits (n, A, F, c) without their fold, the first of each, and their companions."""
    settings = runner.step.settings
    some = np.unique(np.linspace(0, len(pieces) - 1, min(len(pieces), _HELD_OUT)).astype(int))
    tests = [(int(i), series_of(records, pieces[i], settings, known=known)) for i in some]
    kept = [i for i, one in tests if one is not None]
    series: list[Series] = [one for _, one in tests if one is not None]
    runs = runner.run_each(series, without[kept])
    T, c = max(piece.end - piece.begin for piece in pieces), runner.step.sizes[0]
    truth, predicted, distance = (np.full((len(kept), T, c), np.nan) for _ in range(3))
    sizes = np.ones(c) if outputs.sizes is None else outputs.sizes
    each, norms = np.empty((len(kept), c)), np.empty((len(kept), c))
    for row, (i, one, run) in enumerate(zip(kept, series, runs, strict=True)):
        own = slice(pieces[i].end - pieces[i].begin - run.shape[1], pieces[i].end - pieces[i].begin)
        true = one.s[settings.past_outputs :]
        truth[row, own], predicted[row, own] = true, run[0]
        distance[row, own] = np.sqrt(np.mean((run[1:] - run[0]) ** 2, axis=0)) if len(run) > 1 else 0.0
        each[row] = np.mean((run[0] - true) ** 2, axis=0)
        norms[row] = np.mean(records.s[pieces[i].record] ** 2, axis=0)
    errors = np.sqrt(each @ sizes**2) / reference_norms(np.sqrt(norms @ sizes**2))
    relative = [np.sqrt(each[:, j]) / reference_norms(np.sqrt(norms[:, j])) for j in range(c)]
    components = np.mean(relative, axis=1)
    record = np.array([pieces[i].record for i in kept])
    begins = np.array([pieces[i].begin for i in kept])
    whole = len(pieces) == len(records.u)
    numbers = records.groups[record] if whole else np.arange(len(kept))
    return HeldOutRuns(
        np.array(kept), record, begins, truth, predicted, distance, errors, components, numbers, errors
    )


def _judged(
    held: HeldOutRuns, training: Sequence[Series | None], runner: Runner, alpha: float
) -> HeldOutRuns:
    """Judge records by a fit without the worst of them, which bend a fit that has seen them."""
    step, series = runner.step, [one for one in training if one is not None]
    if len(series) != len(held.errors) or len(series) < 8:
        return held
    aside = np.argsort(-held.errors)[: max(1, round(_ASIDE * len(series)))]
    C = _solved(Sums.of(step, [one for i, one in enumerate(series) if i not in set(aside.tolist())]), alpha)
    h, judged = step.settings.past_outputs, held.errors.copy()
    for i, run in enumerate(runner.run(series, C)):
        true = series[i].s[h:]
        judged[i] = np.sqrt(np.mean((run - true) ** 2) / (np.mean(true**2) or 1.0))
    return replace(held, judged=judged)


def _leaving(
    ranges: Ranges, held: HeldOutRuns, training: Sequence[Series | None], larger: Larger | None
) -> Leaving:
    """Return which of the records left out leave the range of the others, with their errors."""
    left = ranges.beyond > MARGIN * ranges.usual
    known = np.flatnonzero([one is not None for one in training])
    errors = dict(zip(held.pieces.tolist(), held.errors.tolist(), strict=True))
    own = [errors[i] for i, out in zip(known.tolist(), left, strict=True) if out and i in errors]
    return Leaving(int(left.sum()), len(left), np.array(own), larger)


def _amplification(runner: Runner, series: Sequence[Series], C: np.ndarray) -> float:
    """Return the rate at which small disturbances of free runs grow, per step."""
    settings = runner.step.settings
    if not settings.feedback:
        return 0.0
    steps = min(1000, min(len(one.u) for one in series) - settings.past_inputs)
    few = [one._replace(u=one.u[: steps + settings.past_inputs]) for one in series[:20]]
    size = 1e-7 * float(np.sqrt(np.mean([np.mean(one.s**2) for one in few]))) or 1e-7
    moved = [one._replace(s=one.s + size) for one in few]
    apart = [
        np.abs(a - b).mean(axis=1) for a, b in zip(runner.run(few, C), runner.run(moved, C), strict=True)
    ]
    logs = np.log(np.maximum(np.array(apart), 1e-300) / size)
    valid = (logs > -18) & (logs < 10)  # above rounding, and below the size of the outputs
    pairs = [(row, ok) for row, ok in zip(logs, valid, strict=True) if ok.sum() > 4]
    rates = [np.polyfit(np.flatnonzero(ok), row[ok], 1)[0] for row, ok in pairs]
    return float(np.median(rates)) if rates else 0.0


def _stream(step: Step, records: Records, whole: Sums) -> Fact:
    """Replace sums over stretches by sums over all steps, in blocks, or over as many as time allows."""
    whole.gram[:], whole.right[:] = 0.0, 0.0
    blocks = [
        Piece(i, k, min(len(u), k + _BLOCK_STEPS))
        for i, u in enumerate(records.u)
        for k in range(0, len(u), _BLOCK_STEPS)
    ]
    most = max(1, int(_MOST_WORK / step.count**2 / _BLOCK_STEPS))
    some = np.unique(np.linspace(0, len(blocks) - 1, min(most, len(blocks))).astype(int))
    blocks = [blocks[j] for j in some]
    steps = 0
    for piece in blocks:
        one = series_of(records, piece, step.settings, training=True)
        if one is None:
            continue
        steps += piece.end - piece.begin
        for B, y in step.rows([one]):
            whole.add(B, y)
    said = f"{steps} of {records.steps} were fitted, in blocks"
    if steps < records.steps / 2:  # F coefficients from n steps cost a share F / (2 n) of a step's error
        gain = step.count / 2 * (1 / max(1, steps) - 1 / records.steps)
        said += (
            f" spread over the records: all would lower the error of a step by a further {percent(gain, 1)}"
        )
    return Fact("Steps", f"{said}; errors are those of stretches")


def _facts(search: StepSearch, best: StepCandidate, stretches: bool, many: bool) -> list[Fact]:
    """Return what else was tried, in words."""
    facts = []
    other = search.best_of(not best.settings.feedback)
    if other is not None:
        what = "without feedback" if best.settings.feedback else "with feedback"
        noisy = not best.settings.feedback and other.error > _NOISY * best.error
        why = ": noise in the outputs is an error of what a step sees" if noisy else ""
        facts.append(Fact("Compared", f"{what}, the error is {percent(other.error, 2)}{why}"))
    if stretches and not many:
        facts.append(Fact("Left out", "stretches of records, which are fewer than 10: trust errors less"))
    later = depends_on_later(search, best)
    if later is not None:
        facts.append(
            Fact(
                "Causality",
                f"outputs depend on later inputs: with {_AHEAD} of them the error is {percent(later, 2)}. A "
                "model of whole functions may be better",
            )
        )
    return facts


def depends_on_later(search: StepSearch, best: StepCandidate) -> float | None:
    """Return the error of a linear model that sees later inputs, if it is much smaller."""
    if best.error < 1e-3 or search.shortest < 8 * _AHEAD:
        return None
    records = search.records
    ahead = replace(
        records,
        u=[np.concatenate([u[_AHEAD:], np.repeat(u[-1:], _AHEAD, axis=0)]) for u in records.u],
        from_rest=False,
    )
    try:
        other = StepSearch(ahead, seed=search.seed)
    except InputError:
        return None
    found = min(other.left_out(Settings(0, 6 * _AHEAD), (1e-8, 1e-4)), key=lambda one: one.error)
    return found.error if found.error < _LATER * best.error else None

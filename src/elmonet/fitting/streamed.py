"""Fits to functions that come in blocks: only sums over the functions are kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from elmonet.checks import positive_integer
from elmonet.data.lazy import Blocks, is_dask
from elmonet.errors import InputError, NumericsWarning, warn
from elmonet.features.base import features_of, fit_map, learns_from
from elmonet.fitting.block_tasks import BlockFeatures, InputMoments, LeaveOutTask, SumTask
from elmonet.fitting.checkpoint import Checkpoint
from elmonet.fitting.executors import OnDask, OnThreads
from elmonet.fitting.fitted import FittedModel
from elmonet.fitting.fitted_operator import FittedOperator
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import refuse_learning
from elmonet.fitting.recipe import describe_map
from elmonet.forms.groups import Groups, find_groups, given_groups
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.transforms import Affine
from elmonet.memory import available, block_rows, bytes_of
from elmonet.progress import progress_bar
from elmonet.solve import Ridge
from elmonet.solve.problem import Span, power_of_two
from elmonet.solve.streamed import StreamedLeaveOneOut, solve_sums, worth_a_triangle
from elmonet.solve.sums import GramSums, TriangularSums
from elmonet.store import digest

_REGROWTH = 1.1  # growth in functions after which alpha is chosen again
_SETTLED = 2  # functions, in units of p1, after which the kind of sums is decided


class BlockFit:
    """A fit that can be continued: forms, features, and sums over all functions so far.

    The forms have their scaling; branch and trunk are not fitted yet, and may not learn from all inputs. A
    branch that learns from a sample is fitted to the rows `sample`; without them, it is fitted already. If
    squares of the `first` outputs overflow or vanish, all outputs are multiplied by a power of two.
    """

    def __init__(
        self,
        inputs: InputForm,
        outputs: OutputForm,
        branch: Any,
        trunk: Any,
        solver: Any,
        first: np.ndarray | None = None,
        sample: np.ndarray | None = None,
    ):
        refuse_learning(branch, "branch")
        refuse_learning(trunk, "trunk")
        self.outputs, self.trunk, self.solver = outputs, trunk, solver
        one = inputs.seen(np.ones((1, *inputs.shape)))
        if "sample" not in learns_from(branch):
            fit_map(branch, one)
        elif sample is not None:
            fit_map(branch, inputs.seen(sample))
        width = features_of(branch, one, "branch").shape[1]
        span, g = None, 1.0 if first is None else power_of_two(first)
        if "outputs" not in learns_from(trunk):
            P = outputs.seen()
            span = Span(features_of(fit_map(trunk, P), P, "trunk"))
        self.block_features = BlockFeatures(inputs, outputs, branch, width, span, g)
        kind = getattr(solver, "sums", "auto")
        self.settled = kind != "auto"
        self.sums: Any = self._task(GramSums if kind == "gram" else TriangularSums).empty()
        self._choice: tuple[float | None, int] = (None, 0)

    @property
    def functions(self) -> int:
        """Number of functions so far."""
        return self.sums.functions

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Add rows X (n, ...) and y (n, c M); once there are enough, decide how to sum the rest."""
        self.block_features.add(self.sums, X, y)
        if not self.settled and self.functions >= _SETTLED * self.block_features.width:
            self.settled = True
            if not worth_a_triangle(self.sums, self.solver):
                self.sums = self.sums.gram()

    def merge(self, other: BlockFit) -> None:
        """Add the functions of another fit with the same features."""
        if self.fingerprint() != other.fingerprint() or not np.array_equal(
            self.outputs.points, other.outputs.points
        ):
            raise InputError(
                "the models differ in features, scaling or points, so that their sums cannot be added. Give "
                "both the same random_state, and scale_inputs=False or the same first batch."
            )
        theirs: Any = other.sums
        if type(theirs) is not type(self.sums):
            self.sums, theirs = (s.gram() if hasattr(s, "gram") else s for s in (self.sums, theirs))
        self.sums.merge(theirs)

    def solve(self, alpha: float | None = None) -> FittedOperator:
        """Solve for the operator, with the solver's alpha unless one is given."""
        return self._solved(alpha)[0]

    @property
    def has_rows(self) -> bool:
        """Whether there are so few functions that the sums still hold them all, in the order they came."""
        return isinstance(self.sums, TriangularSums) and self.sums.raw

    def fingerprint(self) -> str:
        """Return a text that is equal for fits with the same sums."""
        r = self.block_features
        arrays: dict[str, np.ndarray] = {}
        record = describe_map(r.branch, "branch", arrays, weights=False)
        if r.inputs.scale is not None:
            arrays |= {"shift": r.inputs.scale.shift, "scale": r.inputs.scale.scale}
        if r.span is not None:
            arrays["basis"] = r.span.Q
        if r.outputs.sizes is not None:
            arrays["sizes"] = r.outputs.sizes
        if r.g != 1:
            arrays["g"] = np.array(r.g)
        if r.outputs.centre is not None:
            arrays |= {"mean": r.outputs.centre.shift, "deviation": r.outputs.centre.scale}
        settings = repr(sorted(record.items(), key=str)) + str(r.inputs.parts)
        return settings + digest([arrays[name] for name in sorted(arrays)])

    def state(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return what a file needs to resume; the sums go to `arrays`."""
        arrays |= {f"sums.{name}": array for name, array in self.sums.arrays().items()}
        return {"method": self.sums.method, "settled": self.settled, "g": self.block_features.g}

    def resume(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Replace the sums by those of a file."""
        self.settled = state["settled"]
        self.block_features = replace(self.block_features, g=state.get("g", 1.0))
        kind = GramSums if state["method"] == GramSums.method else TriangularSums
        stored = {n.removeprefix("sums."): a for n, a in arrays.items() if n.startswith("sums.")}
        self.sums = kind.of(stored)

    def _solved(
        self, alpha: float | None, groups: np.ndarray | None = None
    ) -> tuple[FittedOperator, Any, np.ndarray, Span]:
        """Return the fitted operator, and factor, alphas and span for a leave-one-out pass."""
        P, sums, span, trunk = self.outputs.seen(), self.sums, self.block_features.span, self.trunk
        g = self.block_features.g
        if span is None:
            trunk = fit_map(clone(self.trunk), P, sums.outputs() / g)
            span = Span(features_of(trunk, P, "trunk"))
            sums = sums.projected(span.Q)
        if alpha is None and self.functions < _REGROWTH * self._choice[1]:
            alpha = self._choice[0]
        solution, factor, alphas = solve_sums(sums, span, self.solver, alpha=alpha, groups=groups, g=g)
        if solution.path is not None:
            self._choice = solution.alpha, self.functions
        operator = Operator.of(self.block_features.branch, trunk, solution, features_of(trunk, P, "trunk"))
        inputs = self.block_features.inputs
        fitted = FittedOperator.of(inputs, self.outputs, solution, operator=operator, grouping=_NOT_COMPARED)
        return fitted, factor, alphas, span

    def _task(self, kind: Any) -> SumTask:
        return SumTask(self.block_features, kind)


_NOT_COMPARED = (
    "functions came in batches and were not compared: if there are repeats or steps of trajectories among "
    "them, the error is larger"
)
_STRETCHES = 16  # of neighbours, in which repeats and trajectories are looked for if there are many functions
_COMPARED_BYTES = 1 << 25  # of functions that are compared for this (32 MB)


class Found(NamedTuple):
    """Which functions belong together: groups of all functions, in words; `partly` if only some are known."""

    groups: Groups | None
    words: str
    partly: bool = False


def find_stored_groups(source: Any, block_features: Any, given: Any) -> Found:
    """Find repeats and steps of trajectories: among all functions if these are few, else among some of them.

    `given` are labels (N,) instead, as in `fit`.
    """
    N = source.functions
    if given is not None:
        groups = given_groups(given, N)
        return Found(groups, "" if groups is None else groups.reason)
    rows, compared = block_features.rows(*source.rows(0, 1)), block_features.inputs.compared
    n = min(N, max(_STRETCHES, _COMPARED_BYTES // sum(A.nbytes for A in rows)))
    if n == N:
        X, y = block_features.rows(*source.rows(0, N))
        groups = find_groups(X, y, compared=compared)
        return Found(groups, "" if groups is None else groups.reason)
    # Stretches with distances N / 16: neighbours, and a data set that holds another one twice.
    length = n // _STRETCHES
    starts = [k * N // _STRETCHES for k in range(_STRETCHES)]
    parts = [block_features.rows(*source.rows(start, start + length)) for start in starts]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    groups = find_groups(X, y, compared=compared)
    looked = f"{_STRETCHES * length:,} of {N:,} functions were compared"
    if groups is None:
        return Found(None, f"none found: {looked}")
    warn(
        f"{looked}: {groups.reason}. Left out one at a time, such functions are predicted by their copies "
        "or neighbours, so no error is stated, and alpha may be too small. Give groups=labels, with the same "
        "label for functions that belong together.",
        NumericsWarning,
    )
    return Found(None, f"{looked}: {groups.reason}. Give groups for all functions", partly=True)


def fit_source(
    begin: Any, source: Any, *, scale: bool, groups: Any = None, checkpoint: Checkpoint | None = None
) -> tuple[BlockFit, FittedOperator]:
    """Fit all functions of a source (`OnThreads`, `OnDask`), in two or three passes.

    ``begin(scale)`` returns an empty `BlockFit` with a scaling of the inputs. `groups` are labels (N,).
    """
    together = find_stored_groups(source, begin(None).block_features, groups)
    if checkpoint is not None and checkpoint.exists():
        fit = checkpoint.resume(begin, source.hook)
    else:
        found = None
        if scale:
            inputs = begin(None).block_features.inputs.unscaled()
            found = source.reduce("looking at the inputs", InputMoments(inputs)).standardise(
                inputs.compared if inputs.parts is None else inputs.seen_sizes
            )
        fit = begin(found)
    enough = _SETTLED * fit.block_features.width
    if not fit.settled and fit.functions == 0 and source.functions >= enough:
        fit.add(*fit.block_features.rows(*source.rows(0, enough)))
        fit.sums = fit._task(type(fit.sums)).empty()
    watch: dict[str, Any] = {}
    if checkpoint is not None:
        watch = {"look": checkpoint.record, "after": lambda: checkpoint.write_if_due(fit)}
    source.reduce("summing up", fit._task(type(fit.sums)), into=fit.sums, begin=fit.functions, **watch)
    if checkpoint is not None and checkpoint.exists():
        checkpoint.write(fit)  # all functions are in: what is left is quick
    return fit, _solved_source(fit, source, together)


def _solved_source(fit: BlockFit, source: Any, together: Found) -> FittedOperator:
    """Solve for the operator, with the error of functions that are left out, if need be by another pass."""
    numbers = None if together.groups is None else together.groups.numbers
    with source.all_threads():
        fitted, factor, alphas, span = fit._solved(None, numbers if fit.has_rows else None)
    more: dict[str, Any] = {"grouping": together.words}
    if numbers is not None:
        more["groups"] = len(np.unique(numbers))
    chosen = isinstance(fit.solver, Ridge) and fit.solver.alpha == "loo"
    if together.partly:
        unknown = {"expected_error": None, "error_kind": None, "errors": None}
        return _restated(fitted, unknown, more)
    if fitted.solution.error_kind != "gcv" or not (chosen or numbers is not None):
        return _restated(fitted, {}, more)
    task = LeaveOutTask(
        fit.block_features, StreamedLeaveOneOut(factor, alphas, len(fit.outputs.places())), span
    )
    if numbers is not None:
        # GCV takes functions for independent, so that its alpha may be far off: compare all.
        compared: Any = fitted.solution.alphas if chosen else np.array([fitted.solution.alpha])
        left_out = StreamedLeaveOneOut(factor, compared, task.left_out.points)
        source, order = source.by_groups(numbers)
        task = replace(task, left_out=left_out, groups=numbers[order])
    totals = source.reduce("leaving functions out", task)
    alpha, error = task.left_out.best(totals.values)
    if chosen:
        fitted = fit.solve(alpha)
    if error is not None:
        kind = "leave-one-out" if numbers is None else "leave-group-out"
        return _restated(fitted, {"expected_error": error, "error_kind": kind}, more)
    # Rounding hides it at every alpha.
    return _restated(fitted, {} if numbers is None else {"expected_error": None, "error_kind": None}, more)


def _restated(fitted: FittedOperator, solution: dict[str, Any], more: dict[str, Any]) -> FittedOperator:
    """Return the fitted operator with other entries of its solution, and more about its groups."""
    changed = replace(fitted.solution, **solution)
    return FittedOperator.of(fitted.inputs, fitted.outputs, changed, operator=fitted.operator, **more)


_FORM_FUNCTIONS = 16  # functions from which the form of the data is found
_MEMORY_SHARE = 0.5  # of the available memory, if no limit is given
_SAMPLED_STRETCHES = 128  # stretches of neighbours that a sample of many functions is read in
_SAMPLED = 10_000  # functions that a branch which learns from a sample gets, at most
_SAMPLED_BYTES = 1 << 28  # and what they may take
Begin = Callable[[tuple[np.ndarray, np.ndarray], Affine | None, np.ndarray | None], BlockFit]


def sampled(source: Any, count: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """Return the indices of about `count` functions of a source: all, or stretches spread over all.

    Stretches are read from a file in little time. With `rng`, they begin at random places.
    """
    N = source.functions
    if count >= N:
        return np.arange(N)
    ends = np.linspace(0, N, min(_SAMPLED_STRETCHES, count) + 1).astype(int)
    lengths = np.diff(np.linspace(0, count, len(ends)).astype(int))
    room = np.diff(ends) - lengths
    starts = ends[:-1] + (room // 2 if rng is None else (rng.random(len(room)) * (room + 1)).astype(int))
    return np.concatenate([np.arange(a, a + n) for a, n in zip(starts, lengths, strict=True)])


def fit_stored(
    begin: Begin,
    u: Any,
    s: Any,
    *,
    branch: Any,
    scale: bool,
    groups: Any = None,
    memory: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
    workers: int | None = None,
    progress: Any = False,
) -> tuple[BlockFit, FittedOperator]:
    """Fit u (N, ...) and s (N, ...); ``begin(first functions, scale, sample)`` returns an empty `BlockFit`.

    `branch` is the one that it begins with: if that learns from a sample of the functions, `sample` are their
    inputs as given, else None. The other arguments are those of `fit_blocks`.
    """
    if is_dask(u) or is_dask(s):
        for name, value in (("memory", memory), ("checkpoint", checkpoint), ("workers", workers)):
            if value is not None:
                raise InputError(f"{name} has no effect on Dask arrays: Dask decides. Remove it.")
        source = OnDask(u, s)
        first = source.rows(0, _FORM_FUNCTIONS)
        seen = _sample_for(branch, source)
        return fit_source(lambda found: begin(first, found, seen), source, scale=scale, groups=groups)
    workers = cores() if workers is None else positive_integer(workers, "workers")
    limit = int(_MEMORY_SHARE * available()) if memory is None else bytes_of(memory)
    bar = progress_bar() if progress is True else nullcontext(progress or None)
    with bar as hook, threadpool_limits(1):  # the workers are the threads
        first = Blocks(u, s, rows=_FORM_FUNCTIONS).read(0)
        seen = _sample_for(branch, OnThreads(Blocks(u, s, 1), 1, None))
        fit = begin(first, None, seen)
        blocks = Blocks(u, s, min(_rows(fit, limit, workers), int(u.shape[0])))
        if fit.has_rows and blocks.functions <= len(fit.sums.R):
            workers = 1  # few functions, which stay in their order
        file = None if checkpoint is None else Checkpoint(Path(checkpoint), blocks)
        on_threads = OnThreads(blocks, workers, hook)
        found = fit_source(
            lambda scale: begin(first, scale, seen), on_threads, scale=scale, groups=groups, checkpoint=file
        )
    if file is not None and not keep_checkpoint:
        file.remove()
    return found


def _sample_for(branch: Any, source: Any) -> np.ndarray | None:
    """Return inputs (n, ...) for a branch that learns from a sample of the functions; None for others."""
    if branch is None or "sample" not in learns_from(branch):
        return None
    one = source.rows(0, 1)[0].nbytes
    return source.take(sampled(source, max(1, min(_SAMPLED, _SAMPLED_BYTES // one))))[0]


def predict_dask(predict: Callable[..., Any], fitted: FittedModel, u: Any, points: Any = None) -> Any:
    """Return predictions for a Dask array u (N, ...) as a lazy Dask array."""
    shape = fitted.output_shape(points)
    u = u.rechunk(dict.fromkeys(range(1, u.ndim), -1))
    return u.map_blocks(
        predict,
        points,
        token="predict",
        dtype=fitted.outputs.dtype,
        drop_axis=list(range(1, u.ndim)),
        new_axis=list(range(1, 1 + len(shape))),
        chunks=(u.chunks[0], *((size,) for size in shape)),
    )


def _rows(fit: BlockFit, limit: int, workers: int) -> int:
    """Return how many functions a block may hold."""
    r = fit.block_features
    M = len(r.outputs.places())
    q = M if r.span is None else r.span.rank
    return block_rows(limit, workers, m=int(np.prod(r.inputs.shape)), M=M, p1=r.width, q=q)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

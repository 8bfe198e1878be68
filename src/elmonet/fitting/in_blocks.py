"""The fit to functions that come in blocks: sums over them are all that is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError
from elmonet.features.base import features_of, fit_features, fit_map, learns_from
from elmonet.fitting.checkpoint import Checkpoint
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.parts import refuse_learning
from elmonet.fitting.reduction import LeaveOut, LookAtInputs, Reduction, SumUp
from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.operator import Operator
from elmonet.recipe import describe_map
from elmonet.solve import Ridge
from elmonet.solve.gram import GramSums
from elmonet.solve.left_out import LeftOut
from elmonet.solve.span import Span
from elmonet.solve.summed import solve_sums, worth_a_triangle
from elmonet.solve.triangular import TriangularSums
from elmonet.store import digest

__all__ = ["BlockFit", "fit_source"]

_GROWN = 1.1  # times the functions with which alpha was chosen, before it is chosen again
_SETTLED = 2  # times p1: functions after which it is decided how to sum up the rest


class BlockFit:
    """A fit that can go on: forms, features, and the sums over all functions so far.

    Parameters
    ----------
    inputs, outputs : the forms, with their scaling.
    branch, trunk : feature maps that are not fitted yet. The branch may not learn from inputs.
    solver : `Ridge` or `Pinv`.
    """

    def __init__(self, inputs: InputForm, outputs: OutputForm, branch: Any, trunk: Any, solver: Any):
        refuse_learning(branch, "branch")
        refuse_learning(trunk, "trunk")
        self.outputs, self.trunk, self.solver = outputs, trunk, solver
        width = fit_features(branch, inputs.seen(np.ones((1, *inputs.shape)))).shape[1]
        span = None
        if "outputs" not in learns_from(trunk):
            P = outputs.seen()
            span = Span(features_of(fit_map(trunk, P), P, "trunk"))
        self.reduction = Reduction(inputs, outputs, branch, width, span)
        self.settled = self._way_to_sum() != "auto"
        self.sums: Any = self._task(GramSums if self._way_to_sum() == "gram" else TriangularSums).empty()
        self._choice: tuple[float | None, int] = (None, 0)

    @property
    def functions(self) -> int:
        """How many were taken in."""
        return self.sums.functions

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Take in rows X (n, ...) and y (n, c M); once there are enough, decide how to go on."""
        self.reduction.add(self.sums, X, y)
        if not self.settled and self.functions >= _SETTLED * self.reduction.width:
            self.settled = True
            if not worth_a_triangle(self.sums, self.solver):
                self.sums = self.sums.gram()

    def merge(self, other: BlockFit) -> None:
        """Take in the functions of another fit with the same features."""
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

    def solve(self, alpha: float | None = None) -> Fitted:
        """Find the operator; alpha is the solver's unless it is given here."""
        return self._solved(alpha)[0]

    def fingerprint(self) -> str:
        """Equal for fits that make the same sums."""
        r = self.reduction
        arrays: dict[str, np.ndarray] = {}
        record = describe_map(r.branch, "branch", arrays, weights=False)
        if r.inputs.scale is not None:
            arrays |= {"shift": r.inputs.scale.shift, "scale": r.inputs.scale.scale}
        if r.span is not None:
            arrays["basis"] = r.span.Q
        if r.outputs.sizes is not None:
            arrays["sizes"] = r.outputs.sizes
        settings = repr(sorted(record.items(), key=str)) + str(r.inputs.logarithms)
        return settings + digest([arrays[name] for name in sorted(arrays)])

    def state(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """What a file needs to go on; the sums go to its arrays."""
        arrays |= {f"sums.{name}": array for name, array in self.sums.arrays().items()}
        return {"method": self.sums.method, "settled": self.settled}

    def resume(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Put the sums of a file in the place of those that there are."""
        self.settled = state["settled"]
        kind = GramSums if state["method"] == GramSums.method else TriangularSums
        stored = {n.removeprefix("sums."): a for n, a in arrays.items() if n.startswith("sums.")}
        self.sums = kind.of(stored)

    def _solved(self, alpha: float | None) -> tuple[Fitted, Any, np.ndarray, Span]:
        """The fitted operator; the factor, alphas and span that a pass to leave functions out needs."""
        P, sums, span, trunk = self.outputs.seen(), self.sums, self.reduction.span, self.trunk
        if span is None:
            trunk = fit_map(clone(self.trunk), P, sums.outputs())
            span = Span(features_of(trunk, P, "trunk"))
            sums = sums.projected(span.Q)
        if alpha is None and self.functions < _GROWN * self._choice[1]:
            alpha = self._choice[0]
        solution, factor, alphas = solve_sums(sums, span, self.solver, alpha=alpha)
        if solution.path is not None:
            self._choice = solution.alpha, self.functions
        operator = Operator.of(self.reduction.branch, trunk, solution, features_of(trunk, P, "trunk"))
        return Fitted(self.reduction.inputs, self.outputs, operator, solution), factor, alphas, span

    def _task(self, kind: Any) -> SumUp:
        return SumUp(self.reduction, kind)

    def _way_to_sum(self) -> str:
        return getattr(self.solver, "sums", "auto")


def fit_source(
    begin: Any, source: Any, *, scale: bool, checkpoint: Checkpoint | None = None
) -> tuple[BlockFit, Fitted]:
    """A fit to all functions of a source (`OnThreads`, `OnDask`), in two or three passes over them.

    ``begin(scale)`` gives the `BlockFit` that takes in no function yet, with a scaling of the inputs.
    """
    if checkpoint is not None and checkpoint.exists():
        fit = checkpoint.resume(begin)
    else:
        found = None
        if scale:
            inputs = begin(None).reduction.inputs.scaled_by(None)
            found = source.reduce("looking at the inputs", LookAtInputs(inputs)).standardise()
        fit = begin(found)
    enough = _SETTLED * fit.reduction.width
    if not fit.settled and fit.functions == 0 and source.functions >= enough:
        fit.add(*fit.reduction.rows(*source.head(enough)))
        fit.sums = fit._task(type(fit.sums)).empty()
    after = None if checkpoint is None else lambda: checkpoint.write_if_due(fit)
    source.reduce(
        "summing up",
        fit._task(type(fit.sums)),
        into=fit.sums,
        begin=fit.functions,
        after=after,
    )
    if checkpoint is not None and checkpoint.exists():
        checkpoint.write(fit)  # all functions are in: what is left is quick
    with source.all_threads():
        fitted, factor, alphas, span = fit._solved(None)
    solver = fit.solver
    if not (isinstance(solver, Ridge) and solver.alpha == "loo") or fitted.solution.error_kind != "gcv":
        return fit, fitted
    left_out = LeftOut(factor, alphas, len(fit.outputs.places()))
    totals = source.reduce("leaving functions out", LeaveOut(fit.reduction, left_out, span))
    alpha, error = left_out.best(totals.values)
    fitted = fit.solve(alpha)
    if error is None:  # rounding hides it at every alpha
        return fit, fitted
    solution = replace(fitted.solution, expected_error=error, error_kind="leave-one-out")
    return fit, replace(fitted, solution=solution)

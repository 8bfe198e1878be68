"""`partial_fit` and `merge`, and what fits from disk and with Dask share with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError, coordinates, outputs
from elmonet.features import POD, InfiniteWidth
from elmonet.layout import count, named_components, place_points
from elmonet.parts import learns_outputs
from elmonet.scaling import Affine
from elmonet.solve import Ridge, Solution
from elmonet.solve.gram import GramSums
from elmonet.solve.span import Span
from elmonet.solve.summed import Sums, solve_summed, worth_a_triangle
from elmonet.solve.triangular import TriangularSums
from elmonet.stream.summing import Summing

__all__ = ["StreamingFit"]

_GROWN = 1.1  # times the functions with which alpha was chosen, before it is chosen anew
_SETTLED = 2  # times p1: functions after which it is decided how to sum up the rest


class StreamingFit:
    """What makes an `ELMDeepONet` learn from blocks of functions."""

    _sums: Sums
    _total: float
    if TYPE_CHECKING:  # what the model gives
        log_inputs: Any
        log_outputs: Any
        lay_out: Any
        lift: Any
        _layout: Any
        points_: Any
        _packed_functions: Any
        _places_given: Any
        _parts: Any
        _prepare_scaling: Any
        _readout: Any
        _scaled: Any
        _scaled_points: Any
        _scale_X: Any
        _solver: Any
        branch_: Any
        trunk_: Any
        _T: Any

    def partial_fit(self, X: Any, y: Any, points: Any = None) -> Self:
        """Learn from more functions; the arguments are those of `fit`, and points are needed once.

        Only sums over the functions are kept, of the size of p1 x p1 and M x p1: memory does not grow.
        Inputs are scaled as the first call's are (``scale_inputs=False`` leaves them as they are); from then
        on, the order and the size of batches make no difference. W is found when it is next needed. With
        ``Ridge("loo")``, alpha is chosen by GCV: leave-one-out would need the functions again.
        """
        begun = hasattr(self, "_sums")
        X = self._packed_functions(X, reset=not begun, n=count(y))
        names, y = named_components(y)
        y = outputs(y, len(X))
        if not begun:
            self.begin(X, y, points, names=names)
        elif points is not None and not np.array_equal(
            coordinates(place_points(points)[0]), self._places_given
        ):
            raise InputError(
                "the points differ from those of the first batch: all functions of one model are known at "
                "the same points. Leave points out, or interpolate the outputs."
            )
        if y.shape[1:] != self._layout.shape:
            raise InputError(
                f"all functions of one model have outputs of the shape {self._layout.shape}, as the first "
                f"batch; got {y.shape[1:]}."
            )
        self.take(X, self._layout.rows(y))
        return self

    def merge(self, other: Any) -> Self:
        """Take in the functions of another model with the same features, both fitted by `partial_fit`."""
        for model in (self, other):
            if not hasattr(model, "_sums"):
                raise InputError(
                    "merge joins models that were fitted in blocks, by partial_fit or from disk; this "
                    f"{type(model).__name__} was not: a fit in memory keeps no sums. Use partial_fit."
                )
        if self._summing.fingerprint() != other._summing.fingerprint() or not np.array_equal(
            self.points_, other.points_
        ):
            raise InputError(
                "the models differ in features, scaling or points, so that their sums cannot be added. Give "
                "both the same random_state, and scale_inputs=False or the same first batch."
            )
        theirs: Any = other._sums
        if type(theirs) is not type(self._sums):
            self._sums, theirs = (
                s.gram() if isinstance(s, TriangularSums) else s for s in (self._sums, theirs)
            )
        self._sums.merge(theirs)
        self._total += other._total
        self._changed()
        return self

    def begin(
        self, X: np.ndarray, y: np.ndarray, points: Any, scale: Affine | None = None, names: Any = None
    ) -> None:
        """Make scaling, features and sums ready for functions like these."""
        if self.lift is not None:
            raise InputError("a lift needs all functions at once; in blocks, take it off the outputs.")
        if self.log_outputs:
            raise InputError(
                "log_outputs needs all outputs at once; in blocks, give the logarithms of the outputs."
            )
        X = X.astype(np.result_type(X, y), copy=False)
        y = self.lay_out(X, y, points, names)
        branch, trunk = self._parts()
        self._prepare_scaling(X, scale)
        self.branch_ = branch.fit(self._scaled(X[:1]), None) if not _learns(branch) else _refused(branch)
        self._streamed_trunk, basis = trunk, None
        self._span = None
        if not learns_outputs(trunk):
            self.trunk_ = trunk.fit(self._scaled_points(self.points_), None)
            self._span = Span(self.trunk_.transform(self._scaled_points(self.points_)))
            basis = self._span.Q
        self._summing = Summing(self.branch_, self._scale_X, bool(self.log_inputs), basis)
        kind = GramSums if self._way_to_sum() == "gram" else TriangularSums
        self._sums = self._summing.sums(kind, y.shape[1])
        self._total, self._settled = 0.0, self._way_to_sum() != "auto"
        self.__dict__.pop("_choice", None)

    def take(self, X: np.ndarray, y: np.ndarray) -> None:
        """Add functions to the sums; once there are enough, decide how to go on."""
        self._total += self._summing.add(self._sums, X, y)
        if not self._settled and self._sums.functions >= _SETTLED * self.branch_.width_:
            self._settle()
        self._changed()

    def sums_to_store(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """What a file needs to go on with the fit; the sums are put to its arrays."""
        if not hasattr(self, "_sums"):
            raise InputError("this model keeps no sums: it was fitted in memory. Save it without sums=True.")
        arrays |= {f"sums.{name}": array for name, array in self._sums.arrays().items()}
        return {"method": self._sums.method, "total": self._total, "settled": self._settled}

    def restore_sums(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Bring the model to the state in a file, of which the header gives the `state`."""
        self._streamed_trunk = clone(self.trunk_)
        self._span = None if learns_outputs(self.trunk_) else Span(self._T)
        basis = None if self._span is None else self._span.Q
        self._summing = Summing(self.branch_, self._scale_X, bool(self.log_inputs), basis)
        self.take_sums(state, arrays)

    def take_sums(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Put the sums of a file in the place of those that there are."""
        self._settled, self._total = state["settled"], state["total"]
        kind = GramSums if state["method"] == GramSums.method else TriangularSums
        stored = [name for name in arrays if name.startswith("sums.")]
        self._sums = kind.of({name.removeprefix("sums."): arrays[name] for name in stored})

    def _settle(self) -> None:
        """Go on with Gram sums, if these are accurate enough."""
        assert isinstance(self._sums, TriangularSums)
        self._settled = True
        if not worth_a_triangle(self._sums, self._solver()):
            self._sums = self._sums.gram()

    def _changed(self) -> None:
        self.__dict__.pop("_solution", None)

    def _solve_sums(self, alpha: float | None = None) -> tuple[Any, np.ndarray, np.ndarray]:
        """Find W; the reduced problem, alphas worth a second pass, and the trunk's basis."""
        P = self._scaled_points(self.points_)
        sums, span = self._sums, self._span
        if span is None:
            self.trunk_ = self._streamed_trunk.fit(P, sums.outputs())
            span = Span(self.trunk_.transform(P))
            sums = sums.projected(span.Q)
        self._T = self.trunk_.transform(P)
        if alpha is None:
            alpha = self._chosen_before()
        self.solution_, reduced, around = solve_summed(sums, span, self._solver(), self._total, alpha)
        self._TW = self._readout()
        if self._solution.path is not None:
            self._choice = self._solution.alpha, sums.functions
        return reduced, around, span.Q

    def _chosen_before(self) -> float | None:
        """The alpha that was chosen with hardly fewer functions: it need not be chosen anew."""
        alpha, functions = getattr(self, "_choice", (None, 0))
        return alpha if self._sums.functions < _GROWN * functions else None

    def _way_to_sum(self) -> str:
        solver = self._solver()
        return solver.sums if isinstance(solver, Ridge) else "auto"

    @property
    def solution_(self) -> Solution:
        """The solution; found now, if functions came since it was last needed."""
        if "_solution" not in self.__dict__ and hasattr(self, "_sums"):
            self._solve_sums()
        if "_solution" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: it has no solution_")
        return self._solution

    @solution_.setter
    def solution_(self, value: Solution) -> None:
        self._solution = value


def _learns(branch: Any) -> bool:
    """Whether a branch must see all functions."""
    members = [member for _, member in branch.maps] if hasattr(branch, "maps") else [branch]
    return any(isinstance(member, (InfiniteWidth, POD)) for member in members)


def _refused(branch: Any) -> Any:
    raise InputError(
        f"the branch {branch!r} learns from all functions at once, so it cannot be fitted in blocks. Use a "
        "random network such as SLFN(2000), with a linear block or without."
    )

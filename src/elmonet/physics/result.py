"""What the solution of an equation for many inputs says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elmonet.physics.inference import Correction
from elmonet.physics.march import Resolution
from elmonet.summary import Fact, in_lines, percent

__all__ = ["Physics"]


@dataclass(frozen=True)
class Physics:
    """The account of solving an equation.

    Attributes
    ----------
    resolution : degrees of the polynomials (or waves) in each coordinate, and slabs in time.
    functions : how many polynomials and waves there are for each unknown, in a slab.
    linear : whether the equation is linear in s; shared : with the same operator for all inputs.
    residuals : (N,), root mean squares of the residual, in its own units. A residual is no error.
    steps : (N,), of Newton's method.
    failed : the inputs for which it did not converge; they are left out.
    error : the relative error of the solutions themselves, from a richer trunk on a few inputs.
    seconds : wall time.
    constants : those that were found from data, each with its standard error.
    correction : what data beside the equation said of it; None if there were none.
    """

    resolution: Resolution
    functions: int
    linear: bool
    shared: bool
    residuals: np.ndarray
    steps: np.ndarray
    failed: np.ndarray
    error: float
    seconds: float
    constants: dict[str, tuple[float, float]] = field(default_factory=dict)
    correction: Correction | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What a summary says of it."""
        kind = "linear" if self.linear else "nonlinear"
        kind += ", one factorisation for all inputs" if self.shared else ""
        steps = int(self.steps.max(initial=0))
        source = " and the data" if self.correction else ""
        facts = [
            Fact("Kind", kind),
            Fact("Solved", f"for {len(self.steps)} inputs in {self.seconds:.1f} s, at most {steps} steps"),
            Fact("Trunk", f"{self.functions} functions, {self.resolution}"),
            Fact("Its error", f"{percent(self.error, 2)}, from a richer trunk on a few inputs{source}"),
        ]
        if len(self.failed):
            some = ", ".join(map(str, self.failed[:5]))
            facts.append(Fact("Removed", f"{len(self.failed)} inputs that did not converge: rows {some}"))
        if self.constants:
            each = (f"{name} = {v:.4g} (standard error {e:.2g})" for name, (v, e) in self.constants.items())
            facts.append(Fact("Found from data", ", ".join(each)))
        return (*facts, *(self.correction.facts if self.correction else ()))

    def __str__(self) -> str:
        return in_lines(self.facts)

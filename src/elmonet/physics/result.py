"""The record of solving an equation for many inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elmonet.physics.inference import Correction
from elmonet.physics.march import Resolution
from elmonet.summary import Fact, in_lines, percent

_LISTED_ROWS = 5  # of inputs that did not converge


@dataclass(frozen=True)
class PhysicsResult:
    """How an equation was solved, and the error of its solutions.

    Attributes
    ----------
    resolution : degrees of the polynomials (or Fourier modes) in each coordinate, and slabs in time.
    functions : the number of basis functions for each unknown, in a slab.
    linear : whether the equation is linear in s; shared : with the same operator for all inputs.
    residuals : (N,), root mean squares of the residual, in its own units. A residual is not an error.
    steps : (N,), of Newton's method.
    failed : the rows of inputs that did not converge; they are left out.
    error : the relative error of the solutions, estimated with a finer trunk on a few inputs.
    seconds : wall time.
    constants : those found from data, each with its standard error.
    correction : how data beside the equation corrected the solutions; None without data.
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
        """The lines of a summary."""
        kind = "linear" if self.linear else "nonlinear"
        kind += ", one factorisation for all inputs" if self.shared else ""
        steps = int(self.steps.max(initial=0))
        source = ", and from the data" if self.correction else ""
        facts = [
            Fact("Kind", kind),
            Fact("Solved", f"{len(self.steps)} inputs in {self.seconds:.1f} s, at most {steps} Newton steps"),
            Fact("Trunk", f"{self.functions} functions, {self.resolution}"),
            Fact("Solver error", f"{percent(self.error, 2)}, from a finer trunk on a few inputs{source}"),
        ]
        if len(self.failed):
            rows = ", ".join(map(str, self.failed[:_LISTED_ROWS]))
            facts.append(Fact("Removed", f"{len(self.failed)} inputs that did not converge: rows {rows}"))
        if self.constants:
            each = (f"{name} = {v:.4g} (standard error {e:.2g})" for name, (v, e) in self.constants.items())
            facts.append(Fact("Found from data", ", ".join(each)))
        return (*facts, *(self.correction.facts if self.correction else ()))

    def __str__(self) -> str:
        return in_lines(self.facts)

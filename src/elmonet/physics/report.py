"""What the solution of an equation for many inputs says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elmonet.physics.correction import Correction
from elmonet.physics.resolution import Resolution

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

    def __str__(self) -> str:
        kind = "linear" if self.linear else "nonlinear"
        kind += ", one factorisation for all" if self.shared else ""
        source = " and from the data" if self.correction else ""
        lines = [
            f"Equation: {kind}; solved for {len(self.steps)} inputs with {self.functions} functions of "
            f"{self.resolution} in {self.seconds:.1f} s, up to {int(self.steps.max(initial=0))} steps.",
            f"Error of these solutions, from a richer trunk on a few inputs{source}: {self.error:.2g}.",
        ]
        if len(self.failed):
            some = ", ".join(map(str, self.failed[:5]))
            lines.append(f"{len(self.failed)} inputs did not converge and are left out: rows {some}.")
        if self.constants:
            each = (f"{name} = {v:.4g} (standard error {e:.2g})" for name, (v, e) in self.constants.items())
            lines.append(f"Found from the data: {', '.join(each)}.")
        return "\n".join([*lines, str(self.correction)] if self.correction else lines)

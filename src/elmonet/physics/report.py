"""What the solution of an equation for many inputs says of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    data : what measurements beside the equation changed, in words; "" if there were none.
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
    data: str = ""

    def __str__(self) -> str:
        kind = "linear" if self.linear else "nonlinear"
        kind += ", one factorisation for all" if self.shared else ""
        lines = [
            f"Equation: {kind}; solved for {len(self.steps)} inputs with {self.functions} functions of "
            f"{self.resolution} in {self.seconds:.1f} s, up to {int(self.steps.max(initial=0))} steps.",
            f"Error of these solutions, against a richer trunk on a few inputs: {self.error:.2g}.",
        ]
        if len(self.failed):
            some = ", ".join(map(str, self.failed[:5]))
            lines.append(f"{len(self.failed)} inputs did not converge and are left out: rows {some}.")
        return "\n".join([*lines, self.data] if self.data else lines)

"""What every fit begins with: forms with their scaling, and branch, trunk and solver ready for them."""

from __future__ import annotations

from typing import Any, NamedTuple

from elmonet.features import Several
from elmonet.fitting.parts import branch_and_trunk, solver_or_default
from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.form.training import Training
from elmonet.form.transforms import Affine

__all__ = ["Prepared", "prepare"]


class Prepared(NamedTuple):
    """Forms with logarithms and scaling; branch and trunk seeded and not fitted; the solver."""

    inputs: InputForm
    outputs: OutputForm
    branch: Any
    trunk: Any
    solver: Any


def prepare(
    training: Training,
    branch: Any,
    trunk: Any,
    solver: Any,
    *,
    scale_inputs: bool,
    log_inputs: bool,
    log_outputs: bool,
    random_state: Any,
    scale: Affine | None = None,
) -> Prepared:
    """As these training functions and settings want it; the settings are those of `ELMDeepONet`.

    `scale` is a scaling of the inputs that was found from more functions than these.
    """
    solver = solver_or_default(solver)
    balanced = not isinstance(branch, Several)  # which has a map of its own for each input
    inputs = training.inputs.prepared(
        training.X, logarithms=log_inputs, scale=scale_inputs and scale is None, balanced=balanced
    )
    if scale is not None:
        inputs = inputs.scaled_by(scale, balanced)
    in_cube = scale_inputs and not getattr(trunk, "sees_given_points", False)
    outputs = training.outputs.prepared(training.y, logarithms=log_outputs, scale=in_cube)
    parts = branch_and_trunk(branch, trunk, training.inputs, training.outputs, random_state)
    return Prepared(inputs, outputs, *parts, solver)

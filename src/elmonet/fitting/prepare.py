"""What every fit begins with: forms with their scaling; branch, trunk and solver checked and seeded."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from elmonet.errors import InputError
from elmonet.features import POD, SLFN, Linear, PerComponent, Several
from elmonet.features.base import learns_from, seed_from
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm
from elmonet.forms.training import Training
from elmonet.forms.transforms import Affine
from elmonet.solve import Ridge, Solution

__all__ = ["Prepared", "branch_and_trunk", "prepare", "refuse_learning", "solve", "solver_or_default"]


def branch_and_trunk(
    branch: Any, trunk: Any, inputs: InputForm, outputs: OutputForm, random_state: Any
) -> tuple[Any, Any]:
    """Copies of branch and trunk for data of this form, seeded and not fitted; None: the default.

    Scattered outputs have no default trunk: the fit tries several.
    """
    branch = Linear() + SLFN(2000, "tanh", 0.5) if branch is None else branch
    trunk = POD() if trunk is None and not outputs.scattered else trunk
    if isinstance(branch, Several):
        branch = _with_shapes(branch, inputs)
    if outputs.components and trunk is not None:
        trunk = PerComponent(trunk)
    seeds = np.random.SeedSequence(seed_from(random_state)).spawn(2)
    trunk = None if trunk is None else _seeded(trunk, seeds[1], "trunk")
    return _seeded(branch, seeds[0], "branch"), trunk


def solver_or_default(solver: Any) -> Any:
    """The solver, or ``Ridge("loo")`` for None."""
    solver = Ridge("loo") if solver is None else solver
    _require_methods(solver, "solver", "solve")
    return solver


def solve(solver: Any, T: np.ndarray, B: np.ndarray, G: np.ndarray, **known: np.ndarray | None) -> Solution:
    """``solver.solve(T, B, G)``, with what is known and the solver takes.

    `sizes`: to which errors are relative. `groups`: which functions are left out together.
    """
    taken = inspect.signature(solver.solve).parameters
    given = {name: value for name, value in known.items() if value is not None and name in taken}
    return solver.solve(T, B, G, **given)


def refuse_learning(part: Any, role: str) -> None:
    """Raise if a map learns from all functions at once, which a fit in blocks never has."""
    if "inputs" in learns_from(part):
        told = "learns" if hasattr(part, "learns_from") else "may learn (it has no learns_from)"
        raise InputError(
            f"the {role} {part!r} {told} from all functions at once, so it cannot be fitted in blocks. Use a "
            "random network such as SLFN(2000), with a linear block or without."
        )


def _with_shapes(branch: Several, inputs: InputForm) -> Several:
    """The branch of several inputs, its maps in their order."""
    names = inputs.names or ()
    maps = dict(branch.maps)
    if set(maps) != set(names):
        raise InputError(
            f"the branch has maps for the inputs {', '.join(maps)}, but X holds "
            f"{', '.join(names) if names else 'a single array'}: give a dictionary with the same names."
        )
    return Several([(name, maps[name]) for name in names], branch.combine, inputs.shapes)


def _seeded(part: Any, seed: np.random.SeedSequence, role: str) -> Any:
    """A copy that is not fitted, with seeds for those of its random maps that have none."""
    _require_methods(part, role, "fit", "transform")
    part = clone(part, safe=False)
    if hasattr(part, "get_params"):
        settings = part.get_params(deep=True)
        names = [n for n in sorted(settings) if n.split("__")[-1] == "random_state"]
        unset = [n for n in names if settings[n] is None]
        drawn = seed.generate_state(len(unset)) if unset else ()
        part.set_params(**{n: int(s) for n, s in zip(unset, drawn, strict=True)})
    return part


def _require_methods(part: Any, role: str, *methods: str) -> None:
    """Raise unless `part` is an object with these methods."""
    if isinstance(part, type) or not all(hasattr(part, method) for method in methods):
        raise InputError(
            f"{role} must be an object with {' and '.join(methods)}, such as "
            f"{'Ridge()' if role == 'solver' else 'SLFN(1000)'}; got {part!r}."
        )


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

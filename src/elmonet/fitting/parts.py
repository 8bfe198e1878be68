"""Branch, trunk and solver as a user gives them: checked, seeded, and asked for features."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone

from elmonet._check import InputError
from elmonet.features import POD, SLFN, Linear, PerComponent, Several
from elmonet.features.base import learns_from, seed_from
from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.solve import Ridge, Solution

__all__ = [
    "branch_and_trunk",
    "refuse_learning",
    "solve",
    "solver_or_default",
]


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

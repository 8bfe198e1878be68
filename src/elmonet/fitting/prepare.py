"""What every fit begins with: forms with their scaling; branch, trunk and solver checked and seeded."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from elmonet.errors import InputError
from elmonet.features import POD, SLFN, Linear, PerComponent, Several
from elmonet.features.base import learns_from, seed_from
from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import OutputForm, ScatteredForm
from elmonet.forms.parts import column_sizes, parts_of_settings
from elmonet.forms.training import Training
from elmonet.forms.transforms import Affine
from elmonet.solve import Ridge, Solution
from elmonet.uncertainty.bands import ErrorBars


def branch_and_trunk(
    branch: Any, trunk: Any, inputs: InputForm, outputs: OutputForm, random_state: Any
) -> tuple[Any, Any]:
    """Return copies of branch and trunk, seeded and not fitted; the defaults where they are None.

    Scattered outputs have no default trunk: the fit tries several.
    """
    branch = Linear() + SLFN(2000, "tanh", 0.5) if branch is None else branch
    trunk = POD() if trunk is None and not isinstance(outputs, ScatteredForm) else trunk
    if isinstance(branch, Several):
        branch = _with_shapes(branch, inputs)
    if outputs.components and trunk is not None:
        trunk = PerComponent(trunk)
    seeds = np.random.SeedSequence(seed_from(random_state)).spawn(2)
    trunk = None if trunk is None else _seeded(trunk, seeds[1], "trunk")
    return _seeded(branch, seeds[0], "branch"), trunk


def solver_or_default(solver: Any) -> Any:
    """Return the solver, ``Ridge("loo")`` for None."""
    solver = Ridge("loo") if solver is None else solver
    _require_methods(solver, "solver", "solve")
    return solver


def solve(solver: Any, T: np.ndarray, B: np.ndarray, G: np.ndarray, **keywords: Any) -> Solution:
    """Call ``solver.solve(T, B, G)`` with those of the keywords that the solver takes.

    `sizes` are the norms that errors are relative to, `groups` the functions that are left out together,
    `factors` those of the same B from an earlier solve, `roots` the square roots of weights.
    """
    taken = inspect.signature(solver.solve).parameters
    given = {name: value for name, value in keywords.items() if value is not None and name in taken}
    return solver.solve(T, B, G, **given)


def refuse_learning(part: Any, role: str) -> None:
    """Raise `InputError` if a map learns from all inputs at once, which a fit in blocks never has."""
    if "inputs" in learns_from(part):
        learns = "learns" if hasattr(part, "learns_from") else "may learn (it has no learns_from)"
        raise InputError(
            f"the {role} {part!r} {learns} from all functions at once, so it cannot be fitted in blocks. Use "
            "a random network such as SLFN(2000), or InfiniteWidth(kernel, scale, landmarks=2000)."
        )


def _with_shapes(branch: Several, inputs: InputForm) -> Several:
    """Return the branch of several inputs with its maps in their order."""
    names = inputs.names or ()
    maps = dict(branch.maps)
    if set(maps) != set(names):
        raise InputError(
            f"the branch has maps for the inputs {', '.join(maps)}, but X holds "
            f"{', '.join(names) if names else 'a single array'}: give a dictionary with the same names."
        )
    return Several([(name, maps[name]) for name in names], branch.combine, inputs.shapes)


def _seeded(part: Any, seed: np.random.SeedSequence, role: str) -> Any:
    """Return an unfitted copy, with seeds for its random maps that have none."""
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
    """Raise `InputError` unless `part` is an object with these methods."""
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


@dataclass(frozen=True)
class FitSettings:
    """The settings of a fit, those of `ELMDeepONet`; `error_bars` is the class of its error bars."""

    branch: Any = None
    trunk: Any = None
    solver: Any = None
    scale_inputs: bool = True
    log_inputs: bool | dict[str, bool] = False
    log_outputs: bool = False
    parts: Any = None
    metric: Any = None
    random_state: Any = None
    error_bars: type[ErrorBars] = OperatorErrorBars

    def prepare(self, training: Training, scale: Affine | None = None) -> Prepared:
        """Return forms and parts ready for training data; `scale` is an input scaling from more functions."""
        solver = solver_or_default(self.solver)
        balanced = not isinstance(self.branch, Several)  # which has a map of its own for each input
        parts = parts_of_settings(self.parts, self.log_inputs, training.inputs.whole_parts())
        if not balanced and (
            self.metric is not None or (parts and column_sizes(parts) != training.inputs.sizes)
        ):
            raise InputError(
                "Several has a map for each input function, which sees it at all its sensors: give it no "
                "metric, and no parts that split off an amplitude, have a period or differ from the inputs."
            )
        inputs = training.inputs.prepared(
            training.X,
            training.counts,
            parts=parts,
            metric=self.metric,
            scale=self.scale_inputs and scale is None,
            balanced=balanced,
        )
        if scale is not None:
            inputs = inputs.scaled_by(scale, balanced)
        in_cube = self.scale_inputs and not getattr(self.trunk, "sees_given_points", False)
        outputs = training.outputs.prepared(
            training.y, training.counts, logarithms=self.log_outputs, scale=in_cube
        )
        parts = branch_and_trunk(self.branch, self.trunk, training.inputs, outputs, self.random_state)
        return Prepared(inputs, outputs, *parts, solver)

"""The equations side by side: what was published for each, and what a fit without outputs gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from elmonet.auto import AutoELMDeepONet
from elmonet.equations import advection, antiderivative, burgers, laplace, poisson, reaction, stokes
from elmonet.metrics import relative_l2

__all__ = ["GALLERY", "SOURCES", "Measured", "Problem", "compare", "measure"]

_WANG, _LSGD = "Wang et al. 2021", "LSGD-DeepONet 2025"

SOURCES = {
    _WANG: "Wang, Wang, Perdikaris, Learning the solution operator of parametric partial differential "
    "equations with physics-informed DeepONets, Science Advances 2021",
    "Wang et al. 2022": "Wang, Wang, Perdikaris, Improved architectures and training algorithms for deep "
    "operator networks, 2022",
    _LSGD: "Choi, Lee, Moon, Hybrid Least Squares/Gradient Descent Methods for DeepONets, arXiv:2508.15394",
    "DeepXDE": "its example of Stokes flow under a lid; Leng et al., Zero coordinate shift, arXiv:2311.00860",
}


@dataclass(frozen=True)
class Problem:
    """An equation of the gallery.

    Attributes
    ----------
    module : with its equation, inputs, reference, sensors and points.
    title, formula : in words and in symbols.
    published : relative errors of networks trained on the equation; source : by whom, see `SOURCES`; took :
        how long.
    differs : where the published problem is another one.
    functions : how many inputs the equation is solved for.
    """

    name: str
    module: ModuleType
    title: str
    formula: str
    published: str
    source: str
    took: str
    differs: str = ""
    functions: int = 1000


GALLERY = {
    own.name: own
    for own in (
        Problem(
            "antiderivative", antiderivative, "Antiderivative", "s' = u", "2.49e-3", _WANG, "10 min on a GPU"
        ),
        Problem(
            "reaction",
            reaction,
            "Diffusion and reaction",
            "s_t = 0.01 s_xx + 0.01 s^2 + u(x)",
            "5.33e-3",
            _WANG,
            "50 min on a GPU",
        ),
        Problem("poisson", poisson, "Poisson on a square", "s_xx + s_yy = u", "1.27e-3", _LSGD, "13 h"),
        Problem(
            "laplace",
            laplace,
            "Laplace on a flower",
            "s_xx + s_yy = 0, s = u on the boundary",
            "1.59e-3",
            _LSGD,
            "14 h",
            "theirs is another domain that is no rectangle",
        ),
        Problem(
            "advection",
            advection,
            "Advection",
            "s_t + u(x) s_x = 0",
            "2.39e-2, improved 9.5e-3",
            f"{_WANG} and Wang et al. 2022",
            "hours",
            functions=2000,
        ),
        Problem(
            "burgers",
            burgers,
            "Burgers",
            "s_t + s s_x = 0.01 s_xx, s = u at t = 0",
            "1.42e-2",
            _WANG,
            "hours",
        ),
        Problem(
            "stokes",
            stokes,
            "Stokes flow under a lid",
            "-lap v + grad p = 0, div v = 0, v = u on the lid",
            "about 0.1",
            "DeepXDE",
            "hours on an A100",
            "their lid varies less; here errors are compared away from the two upper corners, where p is "
            "not bounded, and the largest of those of v, w and p counts",
        ),
    )
}


@dataclass(frozen=True)
class Measured:
    """One row of the table.

    Attributes
    ----------
    error : mean relative L2 over the domain on new functions, against the reference; of several unknowns, the
        largest of their errors, and `errors` has each.
    expected : the error that the model expects. solver : the error that the solver states.
    seconds : solving and learning. solving : the first of the two.
    """

    name: str
    functions: int
    error: float
    errors: dict[str, float]
    expected: float
    solver: float
    seconds: float
    solving: float
    resolution: str
    published: str
    source: str
    took: str

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def measure(
    problem: Problem,
    *,
    functions: int | None = None,
    new: int = 100,
    seed: int = 0,
    progress: Callable[..., None] | None = None,
) -> tuple[Measured, Any]:
    """Fit without outputs on `functions` inputs, and compare `new` ones with the reference; and the model."""
    module, functions = problem.module, functions or problem.functions
    u = module.inputs(functions, seed)
    model = AutoELMDeepONet(random_state=seed, progress=progress or False)
    begun = perf_counter()
    model.fit(u, module.equation(), module.POINTS, sensors=module.SENSORS)
    seconds = perf_counter() - begun
    errors = compare(problem, model.predict(module.inputs(new, seed + 1)), module.reference(new, seed + 1))
    return (
        Measured(
            problem.name,
            functions,
            max(errors.values()),
            errors,
            float(model.expected_error_ or np.nan),
            model.physics_.error,
            seconds,
            model.physics_.seconds,
            str(model.physics_.resolution),
            problem.published,
            problem.source,
            problem.took,
        ),
        model,
    )


def compare(problem: Problem, predicted: Any, truth: Any) -> dict[str, float]:
    """Relative errors by unknown; of a flow away from the corners, and of a pressure up to its level."""
    if not isinstance(truth, dict):
        return {"s": relative_l2(predicted, truth)}
    away = problem.module.AWAY
    errors = {}
    for name, own in truth.items():
        mine, other = predicted[name][:, away], own[:, away]
        if name == "p":
            mine, other = (each - each.mean(axis=1, keepdims=True) for each in (mine, other))
        errors[name] = relative_l2(mine, other)
    return errors

"""The models of the paper's tables, as the paper describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from elmonet import problems
from elmonet.data import OperatorData
from elmonet.features import CNN, MLP, SLFN, Sinusoid

__all__ = ["CLOSED_FORM", "EXPERIMENTS", "PROBLEMS", "TRAINED", "Recipe", "compared_with"]

EXPERIMENTS = ("antiderivative", "nonlinear_ode", "sensitivity", "darcy", "inverse_source")

PROBLEMS: dict[str, Callable[..., OperatorData]] = {
    "antiderivative": problems.antiderivative,
    "nonlinear_ode": problems.nonlinear_ode,
    "darcy": problems.darcy,
    "inverse_source": problems.inverse_source,
}


@dataclass(frozen=True)
class Recipe:
    """An ELM-DeepONet of the paper: branch and trunk for given widths p1 and p2.

    Several values of p1 or p2 are searched. None: by the grid of the run. `solvers` are those that the
    row is computed with: "printed" (float32 pseudoinverses), "ours" (float64, ridge by leave-one-out).
    """

    branch: Callable[[int], Any]
    trunk: Callable[[int], Any]
    p1: int | None = None
    p2: int | None = None
    solvers: tuple[str, ...] = ("printed", "ours")


# "1-64-64-64-1": three layers of 64, the last one the 64 numbers that meet in the inner product.
_M1 = {"branch": (64, 64, 64), "trunk": (64, 64, 64)}
_M2 = {"branch": (256, 256, 256), "trunk": (256, 256, 256)}
_THREE_OF_128 = (128, 128, 128)

TRAINED: dict[str, dict[str, dict[str, Any]]] = {
    "antiderivative": {"DeepONet M1": _M1, "DeepONet M2": _M2},
    "nonlinear_ode": {"DeepONet M1": _M1, "DeepONet M2": _M2},
    "darcy": {
        "DeepONet MLP": {"branch": _THREE_OF_128, "trunk": _THREE_OF_128},
        "DeepONet CNN": {"branch": (128, 128), "trunk": _THREE_OF_128, "channels": (8, 8, 8)},
    },
    "inverse_source": {"DeepONet": _M1},
}

_TENSOR = partial(Sinusoid, basis="tensor")
_BRANCH_MLP = partial(MLP, hidden=128)

CLOSED_FORM: dict[str, dict[str, Recipe]] = {
    "antiderivative": {
        "ELM-DeepONet": Recipe(SLFN, MLP, 1000, 100),
        "Sinusoidal ELM-DeepONet": Recipe(SLFN, Sinusoid, 1000, 100),
    },
    "nonlinear_ode": {
        "ELM-DeepONet": Recipe(SLFN, MLP, 1000, 100),
        "Sinusoidal ELM-DeepONet": Recipe(SLFN, Sinusoid, 1000, 100),
    },
    "darcy": {
        "ELM-DeepONet MLP": Recipe(_BRANCH_MLP, MLP),
        "ELM-DeepONet CNN": Recipe(CNN, MLP),
        "Sinusoidal ELM-DeepONet MLP": Recipe(_BRANCH_MLP, Sinusoid),
        "Sinusoidal ELM-DeepONet CNN": Recipe(CNN, Sinusoid),
        # Not in the paper: what its sinusoids were meant to be.
        "Tensor-sine ELM-DeepONet MLP": Recipe(_BRANCH_MLP, _TENSOR, solvers=("ours",)),
        "Tensor-sine ELM-DeepONet CNN": Recipe(CNN, _TENSOR, solvers=("ours",)),
    },
    "inverse_source": {
        "ELM-DeepONet": Recipe(SLFN, MLP, 10_000, 50),
        "Sinusoidal ELM-DeepONet": Recipe(SLFN, Sinusoid, 10_000, 50),
    },
}


def compared_with(problem: str, model: str) -> list[str]:
    """The trained networks that a closed-form model competes with: for Darcy, those with its branch.

    >>> compared_with("darcy", "Sinusoidal ELM-DeepONet CNN")
    ['DeepONet CNN']
    """
    rivals = list(TRAINED[problem])
    return [rival for rival in rivals if problem != "darcy" or rival.split()[-1] == model.split()[-1]]

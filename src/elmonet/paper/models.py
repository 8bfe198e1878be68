"""The problems, models and printed numbers of the paper, and the sizes of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from elmonet import problems
from elmonet.data import OperatorData
from elmonet.features import CNN, MLP, SLFN, Sinusoid


@dataclass(frozen=True)
class Effort:
    """The sizes of a run, saved with its results.

    Parameters
    ----------
    functions : number of training functions, and of test functions.
    epochs, seconds : budget of each trained DeepONet. seconds=None: epochs only.
    batch_size : functions per training step. None: all, one step per epoch.
    trials : draws of the random networks that the sensitivity tables average over.
    widths : values of p1 and of p2 in the sensitivity tables.
    branch_widths : values of p1 in the figure of the error against p1.
    darcy_p1, darcy_p2 : search grid for Darcy flow.
    """

    functions: int
    epochs: int
    seconds: float | None
    batch_size: int | None
    trials: int
    widths: tuple[int, ...]
    branch_widths: tuple[int, ...]
    darcy_p1: tuple[int, ...]
    darcy_p2: tuple[int, ...]


SHORT = Effort(
    functions=1000,
    epochs=10_000,
    seconds=12.0,
    batch_size=None,
    trials=1,
    widths=(50, 100, 500, 1000, 5000),
    branch_widths=(50, 100, 200, 500, 900, 1000, 1100, 2000, 5000),
    darcy_p1=(1000, 10_000),
    darcy_p2=(100, 500),
)

FULL = Effort(
    functions=1000,
    epochs=10_000,
    seconds=None,
    batch_size=None,
    trials=10,
    widths=(50, 100, 500, 1000, 5000, 10_000),
    branch_widths=(50, 100, 200, 300, 500, 700, 900, 950, 1000, 1050, 1100, 1300, 1600, 2000, 5000, 10_000),
    darcy_p1=(500, 1000, 2500, 5000, 10_000),
    darcy_p2=(100, 500, 1000),
)


@cache
def printed() -> dict[str, Any]:
    """Return all printed numbers: tables, sensitivity tables, source."""
    return json.loads(files("elmonet.paper").joinpath("printed.json").read_text())


def printed_row(problem: str, model: str) -> dict[str, Any] | None:
    """Return the printed parameters, seconds and error of a model, or None if the paper has none.

    >>> printed_row("darcy", "ELM-DeepONet MLP")["error"]
    0.0565
    """
    rows = [row for row in printed()["tables"][problem] if row["model"] == model]
    return rows[0] if rows else None


EXPERIMENTS = ("antiderivative", "nonlinear_ode", "sensitivity", "darcy", "inverse_source")

PROBLEMS: dict[str, Callable[..., OperatorData]] = {
    "antiderivative": problems.antiderivative,
    "nonlinear_ode": problems.nonlinear_ode,
    "darcy": problems.darcy,
    "inverse_source": problems.inverse_source,
}


@dataclass(frozen=True)
class ClosedFormModel:
    """An ELM-DeepONet of the paper.

    Parameters
    ----------
    branch, trunk : feature maps for given widths p1 and p2.
    p1, p2 : the widths. None: searched on the grid of the run.
    solvers : "printed" (float32 pseudoinverses), "ours" (float64, ridge by leave-one-out).
    """

    branch: Callable[[int], Any]
    trunk: Callable[[int], Any]
    p1: int | None = None
    p2: int | None = None
    solvers: tuple[str, ...] = ("printed", "ours")


# The paper's "1-64-64-64-1": three layers of 64, the last one the features of the inner product.
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

CLOSED_FORM: dict[str, dict[str, ClosedFormModel]] = {
    "antiderivative": {
        "ELM-DeepONet": ClosedFormModel(SLFN, MLP, 1000, 100),
        "Sinusoidal ELM-DeepONet": ClosedFormModel(SLFN, Sinusoid, 1000, 100),
    },
    "nonlinear_ode": {
        "ELM-DeepONet": ClosedFormModel(SLFN, MLP, 1000, 100),
        "Sinusoidal ELM-DeepONet": ClosedFormModel(SLFN, Sinusoid, 1000, 100),
    },
    "darcy": {
        "ELM-DeepONet MLP": ClosedFormModel(_BRANCH_MLP, MLP),
        "ELM-DeepONet CNN": ClosedFormModel(CNN, MLP),
        "Sinusoidal ELM-DeepONet MLP": ClosedFormModel(_BRANCH_MLP, Sinusoid),
        "Sinusoidal ELM-DeepONet CNN": ClosedFormModel(CNN, Sinusoid),
        # Not in the paper: the sinusoids as they were probably intended.
        "Tensor-sine ELM-DeepONet MLP": ClosedFormModel(_BRANCH_MLP, _TENSOR, solvers=("ours",)),
        "Tensor-sine ELM-DeepONet CNN": ClosedFormModel(CNN, _TENSOR, solvers=("ours",)),
    },
    "inverse_source": {
        "ELM-DeepONet": ClosedFormModel(SLFN, MLP, 10_000, 50),
        "Sinusoidal ELM-DeepONet": ClosedFormModel(SLFN, Sinusoid, 10_000, 50),
    },
}


def compared_with(problem: str, model: str) -> list[str]:
    """Return the trained networks that a closed-form model is compared with; for Darcy, same branch.

    >>> compared_with("darcy", "Sinusoidal ELM-DeepONet CNN")
    ['DeepONet CNN']
    """
    rivals = list(TRAINED[problem])
    return [rival for rival in rivals if problem != "darcy" or rival.split()[-1] == model.split()[-1]]

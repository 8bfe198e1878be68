"""elmonet: neural operators trained by one linear solve.

Start with two names::

    from elmonet import ELMDeepONet, problems

    data = problems.antiderivative()
    model = ELMDeepONet().fit(data.u_train, data.s_train, points=data.points)
    model.predict(data.u_test)

`AutoELMDeepONet` leaves nothing to tune, and `read` reads data from files of any kind. Everything else is
there to look closer: feature maps (`SLFN`, `MLP`, `CNN`, `InfiniteWidth`, `Linear`, `Several`; as trunks
`POD`, `Legendre`, `Sinusoid`, `Masked`), solvers (`Pinv`, `Ridge`), `Scattered` outputs, `resample`,
`relative_l2`, `load`, and the modules `problems` and `plot`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmonet import plot, problems
    from elmonet._check import (
        ElmonetError,
        ExtrapolationWarning,
        FileError,
        InputError,
        InterpolationThresholdWarning,
        MissingExtra,
        NotEnoughMemory,
        NumericsWarning,
        RankCollapseWarning,
    )
    from elmonet._fitted import NotFittedError
    from elmonet.auto import AutoELMDeepONet
    from elmonet.data import OperatorData, Scattered, read, resample
    from elmonet.features import (
        CNN,
        MLP,
        POD,
        SLFN,
        Concat,
        InfiniteWidth,
        Legendre,
        Linear,
        Masked,
        PerComponent,
        Several,
        Sinusoid,
    )
    from elmonet.metrics import neg_relative_l2, relative_l2
    from elmonet.model import ELMDeepONet, load
    from elmonet.solve import Pinv, Ridge, Solution
    from elmonet.stream.blockwise import fit_blocks, predict_blocks

__version__ = "0.1.0"

# Imported on first use, so that `import elmonet` costs nothing.
_HOME = {
    "elmonet._check": [
        "ElmonetError",
        "ExtrapolationWarning",
        "FileError",
        "InputError",
        "InterpolationThresholdWarning",
        "MissingExtra",
        "NotEnoughMemory",
        "NumericsWarning",
        "RankCollapseWarning",
    ],
    "elmonet._fitted": ["NotFittedError"],
    "elmonet.auto": ["AutoELMDeepONet"],
    "elmonet.stream.blockwise": ["fit_blocks", "predict_blocks"],
    "elmonet.data": ["OperatorData", "Scattered", "read", "resample"],
    "elmonet.features": [
        "CNN",
        "MLP",
        "POD",
        "SLFN",
        "Concat",
        "InfiniteWidth",
        "Legendre",
        "Linear",
        "Masked",
        "PerComponent",
        "Several",
        "Sinusoid",
    ],
    "elmonet.metrics": ["neg_relative_l2", "relative_l2"],
    "elmonet.model": ["ELMDeepONet", "load"],
    "elmonet.solve": ["Pinv", "Ridge", "Solution"],
}
_HOME_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = ("plot", "problems")

__all__ = [
    "CNN",
    "MLP",
    "POD",
    "SLFN",
    "AutoELMDeepONet",
    "Concat",
    "ELMDeepONet",
    "ElmonetError",
    "ExtrapolationWarning",
    "FileError",
    "InfiniteWidth",
    "InputError",
    "InterpolationThresholdWarning",
    "Legendre",
    "Linear",
    "Masked",
    "MissingExtra",
    "NotEnoughMemory",
    "NotFittedError",
    "NumericsWarning",
    "OperatorData",
    "PerComponent",
    "Pinv",
    "RankCollapseWarning",
    "Ridge",
    "Scattered",
    "Several",
    "Sinusoid",
    "Solution",
    "fit_blocks",
    "load",
    "neg_relative_l2",
    "plot",
    "predict_blocks",
    "problems",
    "read",
    "relative_l2",
    "resample",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"elmonet.{name}")
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'elmonet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""What a report tells, as plain values: models fill it in, pages and pictures are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elmonet.calibration import Calibration
from elmonet.plot.one_function import WithBand

__all__ = ["Account", "Tested", "Unseen"]


@dataclass(frozen=True)
class Unseen:
    """What a fit says of functions that it has not seen: each left out, some held out, or those of a test.

    Attributes
    ----------
    how : what functions these are, in words: "training functions, left out".
    numbers, errors : (n,), their rows, and the relative error of each.
    shown : the best, the median and the worst function, each with all of its components, in their units.
    components : what the components are called; one empty name if there are none.
    places, typical : (P, d), (P, c), the root mean square of the error at each place. For functions at points
        of their own, the size of single errors, NaN where a component is not known.
    own_points : whether functions are known at points of their own.
    values : (k, 2), some true values and their predictions, components in units of their size.
    calibration : of bands from one half of these functions, tried on the other; None if there are too few.
    """

    how: str
    numbers: np.ndarray
    errors: np.ndarray
    shown: dict[str, tuple[WithBand, ...]]
    components: tuple[str, ...]
    places: np.ndarray
    typical: np.ndarray
    own_points: bool
    values: np.ndarray
    calibration: Calibration | None


@dataclass(frozen=True)
class Tested:
    """How a model does on functions that it was not fitted to: how many, their error, and its bands."""

    functions: int
    error: float | None
    calibration: Calibration | None


@dataclass(frozen=True)
class Account:
    """All that a report tells of a model.

    Attributes
    ----------
    model : the name of its class.
    words : its summary.
    data, settings, made : names and values, of the data, of what was chosen, and of what it takes to
        repeat the fit.
    error, interval, kind : the expected error, between what it lies, and how it was found, in words.
    call : the call, or the command, that repeats the fit; what is not known is said in `made`.
    unseen : functions that the fit has not seen; None: `why_not` says why.
    solution : of a linear solve, with the alphas that were tried.
    leaderboard : the candidates that were tried, as `AutoELMDeepONet.leaderboard_`.
    layers : the account of each layer, as `LayeredELMDeepONet.layers_`.
    physics : of an equation, as `AutoELMDeepONet.physics_`.
    tested : on functions of a test.
    understood : what was taken as what, of a file.
    """

    model: str
    words: str
    data: dict[str, str]
    settings: dict[str, str]
    made: dict[str, str]
    call: str
    error: float | None
    interval: tuple[float, float] | None
    kind: str
    unseen: Unseen | None = None
    why_not: str = ""
    solution: Any = None
    leaderboard: tuple[dict[str, Any], ...] = ()
    layers: tuple[dict[str, Any], ...] = ()
    physics: Any = None
    tested: Tested | None = None
    understood: tuple[str, ...] = ()

from . import plot, problems
from ._check import (
    ElmonetError,
    ExtrapolationWarning,
    FileError,
    FunctionsInColumnsWarning,
    InputError,
    InterpolationThresholdWarning,
    MissingExtra,
    NotEnoughMemory,
    NumericsWarning,
    RankCollapseWarning,
)
from ._fitted import NotFittedError
from .auto import AutoELMDeepONet
from .data import OperatorData, Scattered, read, resample
from .features import (
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
from .metrics import neg_relative_l2, relative_l2
from .model import ELMDeepONet, fit_blocks, load, predict_blocks
from .operator import Operator
from .solve import Pinv, Ridge, Solution

__version__: str

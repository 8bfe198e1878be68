"""Feature maps: fixed functions of inputs (branch) or coordinates (trunk), as transformers."""

from elmonet.features.cnn import CNN
from elmonet.features.concat import Concat
from elmonet.features.infinite_width import InfiniteWidth
from elmonet.features.legendre import Legendre
from elmonet.features.linear import Linear
from elmonet.features.masked import Masked
from elmonet.features.mlp import MLP
from elmonet.features.per_component import PerComponent
from elmonet.features.pod import POD
from elmonet.features.several import Several
from elmonet.features.sinusoid import Sinusoid
from elmonet.features.slfn import SLFN

__all__ = [
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
]

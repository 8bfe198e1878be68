"""Feature maps: fixed functions of inputs (branch) or coordinates (trunk), as scikit-learn transformers."""

from elmonet.features.base import FeatureMap
from elmonet.features.bases import POD, Legendre, Linear, Sinusoid
from elmonet.features.cnn import CNN
from elmonet.features.combine import Concat, Several
from elmonet.features.kernels import InfiniteWidth
from elmonet.features.networks import MLP, SLFN
from elmonet.features.wrapped import Masked, PerComponent

__all__ = [
    "CNN",
    "MLP",
    "POD",
    "SLFN",
    "Concat",
    "FeatureMap",
    "InfiniteWidth",
    "Legendre",
    "Linear",
    "Masked",
    "PerComponent",
    "Several",
    "Sinusoid",
]

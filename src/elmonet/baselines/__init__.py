"""The trained rival: a vanilla DeepONet in PyTorch. The only place that trains by gradients."""

from elmonet.errors import MissingExtra

try:
    import torch  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        'the trained DeepONet needs PyTorch: pip install "elmonet[baselines]" (torch 2.4 or later)'
    ) from error

from elmonet.baselines.deeponet import DeepONet, History

__all__ = ["DeepONet", "History"]

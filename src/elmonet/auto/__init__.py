"""The automatic choice of everything."""

from elmonet.auto.model import AutoELMDeepONet

__all__ = ["AutoELMDeepONet"]

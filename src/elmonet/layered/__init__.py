"""Layers with weights shared by all points, each one linear solve, on top of a global model or of nothing."""

from elmonet.layered.model import LayeredELMDeepONet

__all__ = ["LayeredELMDeepONet"]

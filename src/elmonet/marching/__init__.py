"""Records in time: a step learned by one linear solve over all steps, and run freely."""

from elmonet.marching.model import MarchingELMDeepONet

__all__ = ["MarchingELMDeepONet"]

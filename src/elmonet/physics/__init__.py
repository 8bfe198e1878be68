"""Operators from an equation alone: solved for many inputs at once, without outputs and gradient descent."""

from elmonet.physics.geometry import Box, Domain
from elmonet.physics.pde import PDE

__all__ = ["PDE", "Box", "Domain"]

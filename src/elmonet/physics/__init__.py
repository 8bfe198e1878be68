"""Operators from an equation alone: solve it for many inputs at once, without outputs or gradient descent."""

from elmonet.physics.geometry import Box, Domain
from elmonet.physics.pde import PDE

__all__ = ["PDE", "Box", "Domain"]

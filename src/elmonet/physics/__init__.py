"""Operators from an equation alone: solved for many inputs at once, without outputs and gradient descent."""

from elmonet.physics.box import Box
from elmonet.physics.domain import Domain
from elmonet.physics.pde import PDE

__all__ = ["PDE", "Box", "Domain"]

"""The networks: dense, convolutional, and the inner product of branch and trunk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn

__all__ = ["InnerProduct", "activations_per_function", "branch_network", "dense"]


class InnerProduct(nn.Module):
    """``sum_k b_k(u) t_k(y)``: inputs (n, ...) and points (M, d) to outputs (n, M)."""

    def __init__(self, branch: nn.Module, trunk: nn.Module):
        super().__init__()
        self.branch, self.trunk = branch, trunk

    def forward(self, u: Tensor, points: Tensor) -> Tensor:
        """The outputs (n, M)."""
        return self.branch(u) @ self.trunk(points).T


def dense(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def branch_network(shape: Sequence[int], channels: Sequence[int], widths: Sequence[int]) -> nn.Sequential:
    """Convolutions (3 x 3, stride 2, ReLU), if any, and dense layers, for inputs (n, *shape)."""
    if not channels:
        return nn.Sequential(nn.Flatten(), *dense(prod(shape), *widths))
    *colours, height, width = shape
    sizes = [prod(colours), *channels]
    layers: list[nn.Module] = [] if colours else [nn.Unflatten(1, (1, height))]
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Conv2d(fan_in, fan_out, kernel_size=3, stride=2, padding=1), nn.ReLU()]
        height, width = (height + 1) // 2, (width + 1) // 2
    return nn.Sequential(*layers, nn.Flatten(), *dense(sizes[-1] * height * width, *widths))


def activations_per_function(branch: nn.Sequential, shape: Sequence[int]) -> int:
    """How many values the branch makes on the way for one input function."""
    count, H = 0, torch.zeros(1, *shape)
    with torch.no_grad():
        for part in branch:
            H = part(H)
            count += H.numel()
    return count

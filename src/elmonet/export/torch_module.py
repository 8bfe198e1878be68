"""A fitted operator as a `torch.nn.Module`: the same numbers, differentiable, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elmonet.description import Description, Operation
from elmonet.description import operations as ops
from elmonet.errors import InputError, MissingExtra

try:
    import torch
    from torch import nn
except ImportError as error:  # pragma: no cover
    raise MissingExtra(
        'to_torch needs torch: pip install torch, or pip install "elmonet[baselines]".'
    ) from error


def module(description: Description, dtype: Any = None) -> OperatorModule:
    """Return a description as a module, by default in double precision."""
    dtype = torch.float64 if dtype is None else getattr(torch, dtype) if isinstance(dtype, str) else dtype
    if dtype not in (torch.float64, torch.float32):
        raise InputError(f"dtype must be torch.float64 or torch.float32; got {dtype!r}.")
    return OperatorModule(description).to(dtype)


class OperatorModule(nn.Module):
    """A fitted operator.

    It takes a tensor (N, *shape), or a dictionary of tensors for several inputs, and returns a tensor, or a
    dictionary for named components, as `predict` does. All numbers are buffers: nothing is trained further
    unless you make parameters of them.
    """

    half_widths: Any

    def __init__(self, description: Description) -> None:
        super().__init__()
        self.inputs = [(port.name, port.shape) for port in description.inputs]
        self.outputs = [(port.name, port.shape) for port in description.outputs]
        self.register_buffer("points", torch.from_numpy(np.array(description.points, np.float64)))
        self.steps = _Operations(description.operations)
        self.coverage = description.coverage
        half = None if description.half is None else torch.from_numpy(np.array(description.half, np.float64))
        self.register_buffer("half_widths", half)
        self.unlike = _Operations(description.novelty) if description.novelty else None

    def forward(self, u: Any) -> Any:
        """Return the outputs of inputs."""
        return self._shaped(self.steps(self._flat(u)))

    def band(self) -> Any:
        """Return half-widths of bands around predictions, which hold new outputs with probability `coverage`.

        They are typical ones, the same for all inputs: (...), in the shapes of one output.
        """
        if self.half_widths is None:
            raise InputError("the errors of this model are not known: it has no bands.")
        found = self._shaped(self.half_widths[None])
        return {name: part[0] for name, part in found.items()} if isinstance(found, dict) else found[0]

    def novelty(self, u: Any) -> Any:
        """Return how unlike the training inputs each is, (N,); above 1, it lies well outside them."""
        if self.unlike is None:
            raise InputError("the novelty of inputs is not known for this model.")
        return self.unlike(self._flat(u))[:, 0]

    def _flat(self, u: Any) -> Any:
        parts = [u[name] for name, _ in self.inputs] if isinstance(u, dict) else [u]
        if len(parts) != len(self.inputs):
            raise InputError(f"give a dictionary with {', '.join(name for name, _ in self.inputs)}.")
        return torch.cat([part.reshape(part.shape[0], -1) for part in parts], dim=1)

    def _shaped(self, y: Any) -> Any:
        sizes = [int(np.prod(shape)) for _, shape in self.outputs]
        split = torch.split(y, sizes, dim=1)
        found = {
            name: part.reshape(-1, *shape) for (name, shape), part in zip(self.outputs, split, strict=True)
        }
        return found if len(found) > 1 else next(iter(found.values()))


class _Operations(nn.Module):
    """A list of operations."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        super().__init__()
        self.operations = nn.ModuleList(_OPERATIONS[type(op)](op) for op in operations)
        self.sources = [op.sources for op in operations]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for operation, sources in zip(self.operations, self.sources, strict=True):
            values.append(operation(*(values[source] for source in sources)))
        return values[-1]


class _Operation(nn.Module):
    """One operation, with its arrays as buffers."""

    arrays: tuple[str, ...] = ()
    op: Any
    matrix: Any
    shift: Any
    factor: Any
    before: Any
    after: Any
    centres: Any
    squares: Any
    index: Any
    values: Any
    low: Any
    high: Any

    def __init__(self, op: Any) -> None:
        super().__init__()
        for name in self.arrays:
            array = getattr(op, name)
            self.register_buffer(name, None if array is None else torch.from_numpy(np.array(array)))
        self.op = op


class _Affine(_Operation):
    arrays = ("matrix", "shift")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return nn.functional.linear(x.reshape(n * self.op.rows, -1), self.matrix, self.shift).reshape(n, -1)


class _Scale(_Operation):
    arrays = ("factor", "before", "after")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.reshape(-1, len(self.factor))
        y = (y if self.before is None else y - self.before) * self.factor
        return (y if self.after is None else y + self.after).reshape(x.shape)


_FUNCTIONS: dict[str, Any] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sin": torch.sin,
    "cos": torch.cos,
    "gelu": nn.functional.gelu,
    "sigmoid": torch.sigmoid,
    "softplus": lambda z: torch.log1p(torch.exp(-torch.abs(z))) + torch.relu(z),
    "exp": torch.exp,
    "log": torch.log,
}


class _Elementwise(_Operation):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _FUNCTIONS[self.op.function](x)


class _Kernel(_Operation):
    arrays = ("centres", "squares")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        op, m = self.op, self.centres.shape[2]
        s2 = op.scale**2
        parts = x.reshape(x.shape[0], -1, m).transpose(0, 1)
        xy = torch.matmul(parts, self.centres.transpose(1, 2)) * (s2 / m)
        xx = (parts * parts).sum(dim=2, keepdim=True) * (s2 / m)
        yy = s2 * self.squares[:, None]
        return _kernel(op.kernel, xy, xx, yy, op.less_one).mean(dim=0)


def _kernel(
    kernel: str, xy: torch.Tensor, xx: torch.Tensor, yy: torch.Tensor, less_one: bool
) -> torch.Tensor:
    limits = torch.finfo(xy.dtype)
    if kernel == "relu":
        size = torch.sqrt(xx + 1) * torch.sqrt(yy + 1)
        # Slightly inside, where the arc cosine has a derivative; the kernel itself is flat there.
        cosine = torch.clamp((xy + 1) / size, -1 + limits.eps, 1 - limits.eps)
        angle = torch.acos(cosine)
        return size * (torch.sqrt(1 - cosine**2) + (torch.pi - angle) * cosine) / torch.pi
    r2 = torch.clamp(xx + yy - 2 * xy, min=limits.tiny)
    decay = torch.expm1 if less_one else torch.exp
    if kernel == "rbf":
        return decay(-0.5 * r2)
    a = torch.sqrt({"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[kernel] * r2)
    start = decay(-a)
    if kernel == "matern12":
        return start
    return start + (start + less_one) * (a if kernel == "matern32" else a + a * a / 3)


class _Gather(_Operation):
    arrays = ("index",)

    def __init__(self, op: Any) -> None:
        super().__init__(op)
        self.zeros = bool((op.index < 0).any())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.zeros:
            x = torch.cat([x, x.new_zeros(x.shape[0], 1)], dim=1)  # the last one, -1, is zero
            return x[:, torch.where(self.index < 0, x.shape[1] - 1, self.index)]
        return x[:, self.index]


class _Concat(_Operation):
    def forward(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.cat(xs, dim=1)


class _Sum(_Operation):
    def forward(self, *xs: torch.Tensor) -> torch.Tensor:
        return sum(xs[1:], xs[0])


class _Product(_Operation):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y


class _Constant(_Operation):
    arrays = ("values",)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.values.expand(x.shape[0], -1)


class _Clip(_Operation):
    arrays = ("low", "high")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.minimum(torch.maximum(x, self.low), self.high)


class _Amplitude(_Operation):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.clamp(x.abs().amax(dim=1, keepdim=True), min=torch.finfo(x.dtype).tiny)
        return torch.cat([x / a, torch.log(a)], dim=1)


class _March(_Operation):
    def __init__(self, op: Any) -> None:
        super().__init__(op)
        self.body = _Operations(op.body)

    def forward(self, u: torch.Tensor, q: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        op = self.op
        past = list(torch.split(start, op.outputs, dim=1)) if op.past else []
        run = []
        for k in range(op.steps):
            inputs = u[:, k * op.inputs : (k + op.seen) * op.inputs]
            y = self.body(torch.cat([*past, inputs, q], dim=1))
            run.append(y)
            past = [*past, y][1:] if op.past else []
        return torch.cat(run, dim=1)


_OPERATIONS: dict[type[Operation], type[_Operation]] = {
    ops.AffineMap: _Affine,
    ops.Scale: _Scale,
    ops.Elementwise: _Elementwise,
    ops.Kernel: _Kernel,
    ops.Gather: _Gather,
    ops.Concatenate: _Concat,
    ops.Sum: _Sum,
    ops.Product: _Product,
    ops.Constant: _Constant,
    ops.Clip: _Clip,
    ops.Amplitude: _Amplitude,
    ops.March: _March,
}

"""ONNX from a description, with operators of opset 17 that onnxruntime has in both precisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import erfcx

from elmonet.description import Description, Operation, Port
from elmonet.description import operations as ops
from elmonet.errors import MissingExtra
from elmonet.export.names import record, unique_identifiers

OPSET = 17
_IR_VERSION = 8  # of the files that opset 17 came with
_ERFC_DEGREE = 40  # of the polynomial for the normal distribution in double precision: rounding errors


def model_bytes(description: Description, dtype: str = "float64") -> bytes:
    """Return the content of an ONNX file."""
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra(
            'export to ONNX needs onnx: pip install onnx, or pip install "elmonet[onnx]".'
        ) from error
    helper = onnx.helper
    kind = onnx.TensorProto.DOUBLE if dtype == "float64" else onnx.TensorProto.FLOAT
    # Coefficients of a least-squares fit may be large and cancel: in single precision few digits, or none,
    # would be left. So single precision goes in and out, and double precision is inside.
    inside = "float64"
    given = unique_identifiers(description.inputs)
    results = unique_identifiers(description.outputs, given)
    writer = _OnnxWriter(onnx, inside)
    flat = []
    for name, port in zip(given, description.inputs, strict=True):
        flat.append(writer.reshaped(name, [-1, port.size]))
    x = flat[0] if len(flat) == 1 else writer.node("Concat", flat, axis=1)
    x = x if inside == dtype else writer.node("Cast", [x], to=onnx.TensorProto.DOUBLE)
    y = writer.operations(description.operations, x)
    y = y if inside == dtype else writer.node("Cast", [y], to=kind)
    at = 0
    for name, port in zip(results, description.outputs, strict=True):
        own = y if len(results) == 1 else writer.columns(y, at, at + port.size)
        writer.node("Reshape", [own, writer.integers([-1, *port.shape])], output=name)
        at += port.size

    more = []
    for name, port, half in _bands(description, results, given):
        writer.node("Identity", [writer.numbers(half, dtype)], output=name)
        more.append(helper.make_tensor_value_info(name, kind, list(port.shape)))
    if description.novelty:
        (name,) = unique_identifiers([Port("novelty", ())], [*given, *results, *(own.name for own in more)])
        found = writer.operations(description.novelty, x)
        found = found if inside == dtype else writer.node("Cast", [found], to=kind)
        writer.node("Reshape", [found, writer.integers([-1])], output=name)
        more.append(helper.make_tensor_value_info(name, kind, ["N"]))

    def infos(names: list[str], ports: Sequence[Port]) -> list[Any]:
        pairs = zip(names, ports, strict=True)
        return [helper.make_tensor_value_info(name, kind, ["N", *port.shape]) for name, port in pairs]

    graph = helper.make_graph(
        writer.nodes,
        "operator",
        infos(given, description.inputs),
        infos(results, description.outputs) + more,
        writer.constants,
    )
    model = helper.make_model(
        graph, producer_name="elmonet", opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION
    )
    named = {
        "description": json.dumps(record(description)),
        "points": json.dumps(description.points.tolist()),
    }
    helper.set_model_props(model, named)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _bands(
    description: Description, results: list[str], given: list[str]
) -> Iterator[tuple[str, Port, np.ndarray]]:
    """Return name, port and half-widths of the band of each output, if they are known."""
    if description.half is None:
        return
    ports = [
        Port(f"{name}_band", port.shape) for name, port in zip(results, description.outputs, strict=True)
    ]
    names = unique_identifiers(ports, [*given, *results])
    for name, (port, half) in zip(names, description.split(description.half[None], ports), strict=True):
        yield name, port, half[0]


class _OnnxWriter:
    """Collects nodes and constants of one graph."""

    def __init__(self, onnx: Any, dtype: str, prefix: str = "v") -> None:
        self.onnx, self.dtype, self.prefix = onnx, np.dtype(dtype), prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.count = 0

    def _name(self) -> str:
        self.count += 1
        return f"_{self.prefix}{self.count}"

    def node(self, kind: str, inputs: Sequence[str], output: str | None = None, **settings: Any) -> str:
        """Add a node; return the name of its result."""
        output = output or self._name()
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [output], **settings))
        return output

    def constant(self, values: Any) -> str:
        """Add numbers of the precision of the model."""
        return self.numbers(values, self.dtype.name)

    def numbers(self, values: Any, dtype: str) -> str:
        """Add numbers of a precision."""
        name = self._name()
        array = np.asarray(values, dtype, order="C")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def integers(self, values: Any) -> str:
        """Add integers."""
        name = self._name()
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(values, np.int64), name))
        return name

    def reshaped(self, x: str, shape: Sequence[int]) -> str:
        """Reshape x."""
        return self.node("Reshape", [x, self.integers(shape)])

    def columns(self, x: str, start: int, end: int) -> str:
        """Take a stretch of columns."""
        return self.node("Slice", [x, *(self.integers([n]) for n in (start, end, 1))])

    def times(self, x: str, factor: Any) -> str:
        """Multiply by numbers."""
        return self.node("Mul", [x, self.constant(factor)])

    def plus(self, x: str, shift: Any) -> str:
        """Add numbers."""
        return self.node("Add", [x, self.constant(shift)])

    def operations(self, operations: Sequence[Operation], x: str) -> str:
        """Add a list of operations; return the name of the last value."""
        values = [x]
        for op in operations:
            values.append(self.operation(op, [values[source] for source in op.sources]))
        return values[-1]

    def operation(self, op: Operation, xs: list[str]) -> str:
        """Add one operation."""
        x = xs[0]
        if isinstance(op, ops.AffineMap):
            x = x if op.rows == 1 else self.reshaped(x, [-1, op.matrix.shape[1]])
            # Gemm: onnxruntime joins MatMul with a factor beside it, which it rounds to single precision.
            shift = [] if op.shift is None else [self.constant(op.shift)]
            y = self.node("Gemm", [x, self.constant(op.matrix), *shift], transB=1)
            return y if op.rows == 1 else self.reshaped(y, [-1, op.size])
        if isinstance(op, ops.Scale):
            y = x if op.rows == 1 else self.reshaped(x, [-1, len(op.factor)])
            y = y if op.before is None else self.node("Sub", [y, self.constant(op.before)])
            y = self.times(y, op.factor)
            y = y if op.after is None else self.plus(y, op.after)
            return y if op.rows == 1 else self.reshaped(y, [-1, op.size])
        if isinstance(op, ops.Elementwise):
            return self.function(op.function, x)
        if isinstance(op, ops.Kernel):
            return self.kernel(op, x)
        if isinstance(op, ops.Gather):
            y = self.node("Gather", [x, self.integers(np.maximum(op.index, 0))], axis=1)
            return self.times(y, (op.index >= 0).astype(float)) if (op.index < 0).any() else y
        if isinstance(op, ops.Concatenate):
            return self.node("Concat", xs, axis=1)
        if isinstance(op, ops.Sum):
            return self.node("Sum", xs)
        if isinstance(op, ops.Product):
            return self.node("Mul", xs)
        if isinstance(op, ops.Constant):
            n = self.node("Gather", [self.node("Shape", [x]), self.integers([0])], axis=0)
            shape = self.node("Concat", [n, self.integers([op.size])], axis=0)
            return self.node("Expand", [self.constant(op.values[None]), shape])
        if isinstance(op, ops.Clip):
            return self.node("Min", [self.node("Max", [x, self.constant(op.low)]), self.constant(op.high)])
        if isinstance(op, ops.Amplitude):
            a = self.node("ReduceMax", [self.node("Abs", [x])], axes=[1], keepdims=1)
            a = self.node("Max", [a, self.constant(np.finfo(self.dtype).tiny)])
            return self.node("Concat", [self.node("Div", [x, a]), self.node("Log", [a])], axis=1)
        assert isinstance(op, ops.March)
        return self.march(op, xs)

    def function(self, function: str, x: str) -> str:
        """Add an elementwise function; some are put together where onnxruntime has no double precision."""
        if function == "softplus":
            small = self.node("Exp", [self.node("Neg", [self.node("Abs", [x])])])
            return self.node("Add", [self.node("Log", [self.plus(small, 1.0)]), self.node("Relu", [x])])
        if function == "gelu":
            return self.node("Mul", [x, self.normal_distribution(x)])
        if function == "cos":  # in double precision since onnxruntime 1.29 only
            return self.node("Sin", [self.plus(x, np.pi / 2)])
        return self.node(function.capitalize(), [x])

    def normal_distribution(self, x: str) -> str:
        """Add the normal distribution function.

        With z = |x| / sqrt(2) and t = 2 / (2 + z), ``erfc(z) = exp(-z^2) t p(t)``, and p is smooth: it is
        interpolated by a Chebyshev series in 2 t - 1, summed by Clenshaw's recurrence.
        """

        def smooth(w: Any) -> Any:
            t = (w + 1) / 2
            return erfcx(2 * (1 - t) / t) / t

        series = np.polynomial.chebyshev.chebinterpolate(smooth, _ERFC_DEGREE)
        z = self.times(self.node("Abs", [x]), np.sqrt(0.5))
        t = self.node("Div", [self.constant(2.0), self.plus(z, 2.0)])
        w = self.plus(self.times(t, 2.0), -1.0)
        twice = self.times(w, 2.0)
        later, last = self.times(w, 0.0), self.times(w, 0.0)
        for c in series[:0:-1]:
            new = self.plus(self.node("Sub", [self.node("Mul", [twice, last]), later]), c)
            later, last = last, new
        p = self.plus(self.node("Sub", [self.node("Mul", [w, last]), later]), series[0])
        decay = self.node("Exp", [self.node("Neg", [self.node("Mul", [z, z])])])
        half = self.times(self.node("Mul", [self.node("Mul", [decay, t]), p]), 0.5)
        negative = self.node("Less", [x, self.constant(0.0)])
        return self.node("Where", [negative, half, self.node("Sub", [self.constant(1.0), half])])

    def arc_cosine(self, c: str, root: str) -> str:
        """Add the arc cosine of c, with root = sqrt(1 - c^2), from one in single precision.

        If t0 is near the angle t, ``sin(t - t0) = root cos t0 - c sin t0`` is t - t0 up to its cube.
        """
        kinds = self.onnx.TensorProto
        if self.dtype == np.float32:
            return self.node("Acos", [c])
        rough = self.node(
            "Cast", [self.node("Acos", [self.node("Cast", [c], to=kinds.FLOAT)])], to=kinds.DOUBLE
        )
        right = self.node("Mul", [root, self.function("cos", rough)])
        left = self.node("Mul", [c, self.node("Sin", [rough])])
        d = self.node("Sub", [right, left])
        cube = self.times(self.node("Mul", [d, self.node("Mul", [d, d])]), 1 / 6)
        return self.node("Add", [rough, self.node("Add", [d, cube])])

    def kernel(self, op: ops.Kernel, x: str) -> str:
        """Add the mean over parts of a kernel."""
        parts, count, m = op.centres.shape
        s2 = op.scale**2
        # Gemm with the factor in the centres, as in AffineMap. Before 1.26, onnxruntime also lacks double
        # precision for a MatMul of what is transposed.
        factor = s2 / m if op.kernel == "relu" else -2 * s2 / m
        own = [x] if parts == 1 else [self.columns(x, k * m, (k + 1) * m) for k in range(parts)]
        products = [
            self.reshaped(
                self.node("Gemm", [part, self.constant(factor * centres)], transB=1), [1, -1, count]
            )
            for part, centres in zip(own, op.centres, strict=True)
        ]
        xy = products[0] if parts == 1 else self.node("Concat", products, axis=0)
        x = self.node("Transpose", [self.reshaped(x, [-1, parts, m])], perm=[1, 0, 2])
        xx = self.node("ReduceSum", [self.node("Mul", [x, x]), self.integers([2])], keepdims=1)
        xx, yy = self.times(xx, s2 / m), s2 * op.squares[:, None]
        if op.kernel == "relu":
            size = self.times(self.node("Sqrt", [self.plus(xx, 1.0)]), np.sqrt(yy + 1))
            cosine = self.node("Div", [self.plus(xy, 1.0), size])
            cosine = self.node("Min", [self.node("Max", [cosine, self.constant(-1.0)]), self.constant(1.0)])
            one = self.constant(1.0)
            root = self.node("Sqrt", [self.node("Sub", [one, self.node("Mul", [cosine, cosine])])])
            rest = self.node("Sub", [self.constant(np.pi), self.arc_cosine(cosine, root)])
            K = self.node("Add", [root, self.node("Mul", [rest, cosine])])
            K = self.times(self.node("Mul", [size, K]), 1 / np.pi)
        else:
            r2 = self.node("Add", [self.plus(xx, yy), xy])
            r2 = self.node("Max", [r2, self.constant(0.0)])
            K = self.radial(op, r2)
        total = self.node("ReduceSum", [K, self.integers([0])], keepdims=0)
        return total if parts == 1 else self.times(total, 1 / parts)

    def radial(self, op: ops.Kernel, r2: str) -> str:
        """Add a kernel of squared distances, or the kernel minus one."""
        if op.kernel == "rbf":
            a = self.times(r2, 0.5)
        else:
            w = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[op.kernel]
            a = self.node("Sqrt", [self.times(r2, w)])
        E = K = self.node("Exp", [self.node("Neg", [a])])
        if op.less_one:  # exp(-a) - 1 = -tanh(a / 2) (exp(-a) + 1)
            K = self.node("Mul", [self.node("Tanh", [self.times(a, -0.5)]), self.plus(E, 1.0)])
        if op.kernel in ("rbf", "matern12"):
            return K
        rest = a
        if op.kernel == "matern52":
            rest = self.node("Add", [a, self.times(self.node("Mul", [a, a]), 1 / 3)])
        return self.node("Add", [K, self.node("Mul", [E, rest])])

    def march(self, op: ops.March, xs: list[str]) -> str:
        """Add a Scan over time; its body is a graph of its own."""
        (u, q, start), h, c, width = xs, op.past, op.outputs, op.seen * op.inputs
        helper = self.onnx.helper
        index = np.arange(op.steps)[:, None] * op.inputs + np.arange(width)
        windows = self.node("Gather", [u, self.integers(index.ravel())], axis=1)
        windows = self.node("Transpose", [self.reshaped(windows, [-1, op.steps, width])], perm=[1, 0, 2])
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        body = _OnnxWriter(self.onnx, self.dtype.name, f"{self.prefix}s")
        # Without feedback, the state is the output before, which nobody sees.
        parts = ["_past", "_inputs"] if h else ["_inputs"]
        seen = body.node("Concat", [*parts, q], axis=1) if op.parameters else None
        seen = seen or (body.node("Concat", parts, axis=1) if h else body.node("Identity", parts))
        y = body.operations(op.body, seen)
        body.node("Identity", [y], output="_y")
        if h:
            body.node("Concat", [body.columns("_past", c, h * c), y], output="_next", axis=1)
        else:
            body.node("Identity", ["_past"], output="_next")
            start = self.columns(u, 0, 1)
        state = max(1, h * c)
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            body.nodes,
            "step",
            [info("_past", kind, [None, state]), info("_inputs", kind, [None, width])],
            [info("_next", kind, [None, state]), info("_y", kind, [None, c])],
            body.constants,
        )
        end, run = self._name(), self._name()
        self.nodes.append(
            helper.make_node("Scan", [start, windows], [end, run], body=graph, num_scan_inputs=1)
        )
        return self.reshaped(self.node("Transpose", [run], perm=[1, 0, 2]), [-1, op.size])

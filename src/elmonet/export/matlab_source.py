"""A function of MATLAB and Octave from a description: one file, no toolbox."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elmonet.description import Description, Operation
from elmonet.description import operations as ops
from elmonet.export.names import header_lines

_PER_LINE = 8  # numbers
_FUNCTIONS = {
    "relu": "max({x}, 0)",
    "tanh": "tanh({x})",
    "sin": "sin({x})",
    "cos": "cos({x})",
    "gelu": "{x} .* (0.5 * erfc(-{x} / sqrt(2)))",
    "sigmoid": "1 ./ (1 + exp(-{x}))",
    "softplus": "log1p(exp(-abs({x}))) + max({x}, 0)",
    "exp": "exp({x})",
    "log": "log({x})",
}
_KERNEL = """
function k = kernel_(x, c, squares, s2, kind, one)
% The mean over parts of k(x, centre) - one, which is 0 or 1; c is (m, n, parts).
[m, n, parts] = size(c);
k = zeros(size(x, 1), n);
for p = 1:parts
    own = x(:, (p - 1) * m + 1 : p * m);
    xy = own * c(:, :, p) * (s2 / m);
    xx = sum(own .* own, 2) * (s2 / m);
    yy = s2 * squares(p, :);
    if strcmp(kind, 'relu')
        sizes = sqrt(xx + 1) .* sqrt(yy + 1);
        cosine = min(max((xy + 1) ./ sizes, -1), 1);
        k = k + sizes .* (sqrt(1 - cosine .^ 2) + (pi - acos(cosine)) .* cosine) / pi;
    else
        r2 = max(xx + yy - 2 * xy, 0);
        switch kind
            case 'rbf'
                a = 0.5 * r2;
                rest = 0;
            case 'matern12'
                a = sqrt(r2);
                rest = 0;
            case 'matern32'
                a = sqrt(3 * r2);
                rest = a;
            case 'matern52'
                a = sqrt(5 * r2);
                rest = a + a .^ 2 / 3;
        end
        if one
            v = expm1(-a);
        else
            v = exp(-a);
        end
        k = k + v + (v + one) .* rest;
    end
end
k = k / parts;
end
"""
_ROWS = """
function y = rows_(x, m)
% The vectors of length m that each row of x consists of, one below the other.
y = reshape(x.', m, []).';
end

function x = back_(y, n)
% Invert rows_ for n cases.
x = reshape(y.', [], n).';
end
"""
_GATHER = """
function y = gather_(x, index)
% x(:, index), and zeros where the index is 0.
y = zeros(size(x, 1), numel(index));
y(:, index > 0) = x(:, index(index > 0));
end
"""


def source(description: Description, name: str) -> str:
    """Return the text of a function file of this name."""
    writer = _MatlabWriter()
    results, more = "y", []
    if description.novelty:
        writer.function("y = novelty_(x, P)", description.novelty)
    if description.half is not None or description.novelty:
        results = "[y, half, novelty]" if description.novelty else "[y, half]"
        half = "[]" if description.half is None else writer.array(description.half)
        more = [f"half = {half};"]
    if description.novelty:
        more += ["if nargout > 2", "    novelty = novelty_(x, P);", "end"]
    writer.function(f"{results} = {name}(x)", description.operations, more, main=True)
    comment = [f"% {line}".rstrip() for line in header_lines(description)]
    usage = [
        f"%   y = {name}(x)",
        f"% x is (n, {description.input_size}), one case in each row; y is (n, {description.output_size}).",
        *_about_more(description, name),
        "%",
    ]
    signature, *rest = writer.functions[-1]
    parameters = ["function P = parameters_()", *writer.data, "end", ""]
    others = [line for lines in writer.functions[:-1] for line in lines]
    text = [signature, *usage, *comment, *rest, *others, *parameters]
    return "\n".join(text) + "".join(code for key, code in _HELPERS.items() if key in writer.used)


def _about_more(description: Description, name: str) -> list[str]:
    """Return comments about bands and novelty."""
    lines = []
    if description.half is not None:
        lines += [
            f"%   [y, half] = {name}(x)",
            f"% y - half to y + half holds {description.coverage:.0%} of new outputs.",
        ]
    if description.novelty:
        lines += [
            f"%   [y, half, novelty] = {name}(x)",
            "% novelty (n, 1) tells how unlike the training inputs x is; above 1, x lies well outside them.",
        ]
    return lines


_HELPERS = {"kernel": _KERNEL, "rows": _ROWS, "gather": _GATHER}


class _MatlabWriter:
    """Collects parameters and functions."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.data: list[str] = []
        self.count = 0
        self.functions: list[list[str]] = []
        self.steps = False  # whether there is a step in time, which a run and its novelty share

    def array(self, values: np.ndarray) -> str:
        """Add an array, in the order of MATLAB, first index fastest; return the expression for it."""
        self.count += 1
        if values.size == 0:
            self.data.append(f"P{{{self.count}}} = zeros(1, 0);")
            return f"P{{{self.count}}}"
        numbers = [repr(value) for value in np.asarray(values).ravel(order="F").tolist()]
        shape = values.shape if values.ndim > 1 else (1, values.size)
        lines = [
            f"    '{' '.join(numbers[i : i + _PER_LINE])} ' ..." for i in range(0, len(numbers), _PER_LINE)
        ]
        self.data += [f"P{{{self.count}}} = reshape(sscanf([ ...", *lines]
        self.data.append(f"    ], '%f'), {', '.join(map(str, shape)) if len(shape) > 1 else shape[0]});")
        return f"P{{{self.count}}}"

    def function(
        self, signature: str, operations: Sequence[Operation], more: Sequence[str] = (), main: bool = False
    ) -> None:
        """Add a function of a list of operations, and of more lines after them."""
        lines = [f"function {signature}"]
        if main:
            lines += ["persistent P;", "if isempty(P)", "    P = parameters_();", "end"]
        for i, op in enumerate(operations):
            xs = ["x" if own == 0 else f"v{own}" for own in op.sources]
            y = "y" if i == len(operations) - 1 else f"v{i + 1}"
            lines += self.code(op, xs, y)
        self.functions.append([*lines, *more, "end", ""])

    def code(self, op: Operation, xs: list[str], y: str) -> list[str]:
        """Return the lines of one operation."""
        x = xs[0]
        if isinstance(op, ops.AffineMap):
            formula = f"{self._in_rows(x, op.rows, op.matrix.shape[1])} * {self.array(op.matrix.T)}"
            formula += "" if op.shift is None else f" + {self.array(op.shift)}"
            return [f"{y} = {self._back(formula, x, op.rows)};"]
        if isinstance(op, ops.Scale):
            own = self._in_rows(x, op.rows, len(op.factor))
            own = own if op.before is None else f"({own} - {self.array(op.before)})"
            formula = f"{own} .* {self.array(op.factor)}"
            formula += "" if op.after is None else f" + {self.array(op.after)}"
            return [f"{y} = {self._back(formula, x, op.rows)};"]
        if isinstance(op, ops.Elementwise):
            return [f"{y} = {_FUNCTIONS[op.function].format(x=x)};"]
        if isinstance(op, ops.Kernel):
            self.used.add("kernel")
            c, squares = self.array(op.centres.transpose(2, 1, 0)), self.array(op.squares)
            one = int(op.less_one)
            return [f"{y} = kernel_({x}, {c}, {squares}, {op.scale**2!r}, '{op.kernel}', {one});"]
        if isinstance(op, ops.Gather):
            self.used.add("gather")
            return [f"{y} = gather_({x}, {self.array(op.index + 1)});"]
        if isinstance(op, ops.Concatenate):
            return [f"{y} = [{', '.join(xs)}];"]
        if isinstance(op, (ops.Sum, ops.Product)):
            return [f"{y} = {(' + ' if isinstance(op, ops.Sum) else ' .* ').join(xs)};"]
        if isinstance(op, ops.Constant):
            return [f"{y} = repmat({self.array(op.values)}, size({x}, 1), 1);"]
        if isinstance(op, ops.Clip):
            return [f"{y} = min(max({x}, {self.array(op.low)}), {self.array(op.high)});"]
        if isinstance(op, ops.Amplitude):
            return [
                f"a_ = max(max(abs({x}), [], 2), realmin);",
                f"{y} = [{x} ./ a_, log(a_)];",
            ]
        assert isinstance(op, ops.March)
        if not self.steps:
            self.function("y = step_(x, P)", op.body)
            self.steps = True
        u, q, start = xs
        h, out, p = op.past, op.outputs, op.inputs
        return [
            f"s_ = [{start}, zeros(size({u}, 1), {op.steps * out})];",
            f"for k_ = 0:{op.steps - 1}",
            f"    z_ = [s_(:, k_ * {out} + 1 : (k_ + {h}) * {out}), "
            f"{u}(:, k_ * {p} + 1 : (k_ + {op.seen}) * {p}), {q}];",
            f"    s_(:, (k_ + {h}) * {out} + 1 : (k_ + {h + 1}) * {out}) = step_(z_, P);",
            "end",
            f"{y} = s_(:, {h * out + 1}:end);",
        ]

    def _in_rows(self, x: str, rows: int, m: int) -> str:
        if rows == 1:
            return x
        self.used.add("rows")
        return f"rows_({x}, {m})"

    def _back(self, formula: str, x: str, rows: int) -> str:
        return formula if rows == 1 else f"back_({formula}, size({x}, 1))"

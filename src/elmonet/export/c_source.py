"""C99 from a description: one file and its header, no dependencies but the maths library, no allocation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elmonet.description import Description, Operation
from elmonet.description import operations as ops
from elmonet.export.names import header_lines, identifier

__all__ = ["identifier", "sources"]

_FEW_OUTPUTS = 8  # of a matrix, below which dot products are faster than sums of its columns
_KERNELS = {"rbf": 0, "matern12": 1, "matern32": 3, "matern52": 5, "relu": 7}

# Helpers, each written if it is used. Sums of columns are loops that compilers vectorise without reordering.
_HELPERS = {
    "affine": """
static void affine(int rows, int m, int k, const double *restrict a, const double *restrict b,
                   const double *restrict x, double *restrict y)
{   /* y = a' x + b for each row; a is (m, k) */
    for (int r = 0; r < rows; r++, x += m, y += k) {
        int i = 0;
        const double *p = a;
        if (b) for (int j = 0; j < k; j++) y[j] = b[j];
        else for (int j = 0; j < k; j++) y[j] = 0.0;
        for (; i + 3 < m; i += 4, p += 4 * (long)k) {
            const double x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
            const double *p1 = p + k, *p2 = p1 + k, *p3 = p2 + k;
            for (int j = 0; j < k; j++) y[j] += (x0 * p[j] + x1 * p1[j]) + (x2 * p2[j] + x3 * p3[j]);
        }
        for (; i < m; i++, p += k)
            for (int j = 0; j < k; j++) y[j] += x[i] * p[j];
    }
}
""",
    "dots": """
static void dots(int rows, int m, int k, const double *restrict a, const double *restrict b,
                 const double *restrict x, double *restrict y)
{   /* y = a x + b for each row; a is (k, m) */
    for (int r = 0; r < rows; r++, x += m, y += k)
        for (int j = 0; j < k; j++) {
            const double *p = a + (long)j * m;
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            int i = 0;
            for (; i + 3 < m; i += 4) {
                s0 += x[i] * p[i];
                s1 += x[i + 1] * p[i + 1];
                s2 += x[i + 2] * p[i + 2];
                s3 += x[i + 3] * p[i + 3];
            }
            for (; i < m; i++) s0 += x[i] * p[i];
            y[j] = (b ? b[j] : 0.0) + ((s0 + s1) + (s2 + s3));
        }
}
""",
    "scale": """
static void scale(int rows, int k, const double *f, const double *before, const double *after,
                  const double *x, double *y)
{
    for (int r = 0; r < rows; r++, x += k, y += k)
        for (int j = 0; j < k; j++)
            y[j] = (x[j] - (before ? before[j] : 0.0)) * f[j] + (after ? after[j] : 0.0);
}
""",
    "gather": """
static void gather(int n, const int *index, const double *x, double *y)
{
    for (int i = 0; i < n; i++) y[i] = index[i] < 0 ? 0.0 : x[index[i]];
}
""",
    "kernel": """
static void kernel(int kind, int one, int parts, int m, int n, double s2, const double *c,
                   const double *squares, const double *x, double *y, double *t)
{   /* the mean over parts of k(x, centre) - one, which is 0 or 1; c is (parts, m, n) */
    for (int j = 0; j < n; j++) y[j] = 0.0;
    for (int p = 0; p < parts; p++, x += m, c += (long)m * n, squares += n) {
        double xx = 0.0;
        for (int i = 0; i < m; i++) xx += x[i] * x[i];
        xx *= s2 / m;
        affine(1, m, n, c, 0, x, t);
        for (int j = 0; j < n; j++) {
            const double xy = t[j] * (s2 / m), yy = s2 * squares[j];
            double v;
            if (kind == 7) {
                const double pi = 3.14159265358979323846, size = sqrt(xx + 1) * sqrt(yy + 1);
                double cosine = (xy + 1) / size;
                cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
                v = size * (sqrt(1 - cosine * cosine) + (pi - acos(cosine)) * cosine) / pi;
            } else {
                double r2 = xx + yy - 2 * xy;
                r2 = r2 > 0 ? r2 : 0;
                const double a = kind ? sqrt(kind * r2) : 0.5 * r2;
                v = one ? expm1(-a) : exp(-a);
                if (kind == 3) v += (v + one) * a;
                if (kind == 5) v += (v + one) * (a + a * a / 3);
            }
            y[j] += v / parts;
        }
    }
}
""",
    "amplitude": """
static void amplitude(int n, const double *x, double *y)
{
    double a = 2.2250738585072014e-308;
    for (int i = 0; i < n; i++) if (fabs(x[i]) > a) a = fabs(x[i]);
    for (int i = 0; i < n; i++) y[i] = x[i] / a;
    y[n] = log(a);
}
""",
}
_FUNCTIONS = {
    "relu": "x[i] > 0 ? x[i] : 0.0",
    "tanh": "tanh(x[i])",
    "sin": "sin(x[i])",
    "cos": "cos(x[i])",
    "gelu": "x[i] * 0.5 * erfc(-x[i] * 0.70710678118654752440)",
    "sigmoid": "1.0 / (1.0 + exp(-x[i]))",
    "softplus": "log1p(exp(-fabs(x[i]))) + (x[i] > 0 ? x[i] : 0.0)",
    "exp": "exp(x[i])",
    "log": "log(x[i])",
}


def sources(description: Description, name: str, header: str) -> tuple[str, str]:
    """Return the source and the header of a function of this name.

    >>> from elmonet.description import Graph, Port
    >>> graph = Graph(2)
    >>> end = graph.affine(0, np.array([[1.0, 2.0]]))
    >>> ports = (Port("u", (2,)),), (Port("s", (1,)),)
    >>> text = sources(Description(graph.finished(end), *ports, np.zeros((1, 1))), "twice", "twice.h")[1]
    >>> "void twice(const double *x, double *y, double *work);" in text
    True
    """
    writer = _CWriter(name)
    work = writer.function(f"void {name}(const double *x, double *y, double *work)", description.operations)
    if description.novelty:
        signature = f"void {name}_novelty(const double *x, double *y, double *work)"
        work = max(work, writer.function(signature, description.novelty))
    guard = f"{name.upper()}_H"
    march = [op for op in description.operations if isinstance(op, ops.March)]
    comment = ["/*", *(f" * {line}".rstrip() for line in header_lines(description)), " */"]
    head = [
        *comment,
        f"#ifndef {guard}",
        f"#define {guard}",
        f"#define {name.upper()}_INPUTS {description.input_size}",
        f"#define {name.upper()}_OUTPUTS {description.output_size}",
        f"#define {name.upper()}_WORK {max(1, work)}",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "/* One prediction: x (INPUTS) to y (OUTPUTS); work (WORK) is scratch, one per thread. */",
        f"void {name}(const double *x, double *y, double *work);",
    ]
    if march:
        op, extra = march[0], march[0].parameters
        head += [
            f"#define {name.upper()}_STEP_SEES {op.body_size}",
            f"#define {name.upper()}_STEP_GIVES {op.outputs}",
            f"/* One time step: from the last {op.past} outputs, the last {op.seen} inputs, oldest first,",
            f"   and {extra} parameters, as the step sees them, to the next output. */",
            f"void {name}_step(const double *x, double *y, double *work);",
        ]
    if description.half is not None:
        writer.data.append(_array(f"const double {name}_band", description.half))
        head += [
            f"/* y - band to y + band holds {description.coverage:.0%} of new outputs. */",
            f"extern const double {name}_band[{name.upper()}_OUTPUTS];",
        ]
    if description.novelty:
        head += [
            "/* How unlike the training inputs x is; above 1, x lies well outside them. */",
            f"void {name}_novelty(const double *x, double *novelty, double *work);",
        ]
    head += ["#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    text = ["#include <math.h>", f'#include "{header}"', ""]
    text += [code for helper, code in _HELPERS.items() if helper in writer.used]
    return "\n".join([*comment, *text, *writer.data, *writer.functions]), "\n".join(head)


class _CWriter:
    """Collects arrays and functions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.used: set[str] = set()
        self.data: list[str] = []
        self.functions: list[str] = []
        self.step_scratch: int | None = None  # of a step in time, which a run and its novelty share

    def array(self, values: np.ndarray | None) -> str:
        """Add an array; return its name, or 0 for none."""
        if values is None:
            return "0"
        name = f"{'n' if values.dtype.kind == 'i' else 'd'}{len(self.data)}"
        kind = "int" if values.dtype.kind == "i" else "double"
        self.data.append(_array(f"static const {kind} {name}", values))
        return name

    def function(self, signature: str, operations: Sequence[Operation]) -> int:
        """Add a function of a list of operations; return how much scratch it needs."""
        places, work = _allocated(operations)
        body: list[str] = []
        for i, op in enumerate(operations):
            xs = ["x" if source == 0 else places[source] for source in op.sources]
            y = "y" if i == len(operations) - 1 else places[i + 1]
            lines, extra = self.code(op, xs, y, f"work + {work}")
            body += lines
            work += extra
        self.functions.append("\n".join([signature, "{", *(f"    {line}" for line in body), "}", ""]))
        return work

    def helper(self, name: str) -> str:
        """Return the name of a helper, to be written."""
        self.used.add(name)
        return name

    def code(self, op: Operation, xs: list[str], y: str, spare: str) -> tuple[list[str], int]:
        """Return the lines of one operation, and how much scratch beyond the values it needs."""
        x = xs[0]
        loop = f"for (int i = 0; i < {op.size}; i++) "
        if isinstance(op, ops.AffineMap):
            k, m = op.matrix.shape
            shift = self.array(op.shift)
            few = k < _FEW_OUTPUTS
            matrix = self.array(op.matrix if few else op.matrix.T)
            call = self.helper("dots" if few else "affine")
            return [f"{call}({op.rows}, {m}, {k}, {matrix}, {shift}, {x}, {y});"], 0
        if isinstance(op, ops.Scale):
            arrays = ", ".join(self.array(part) for part in (op.factor, op.before, op.after))
            return [f"{self.helper('scale')}({op.rows}, {len(op.factor)}, {arrays}, {x}, {y});"], 0
        if isinstance(op, ops.Elementwise):
            formula = _FUNCTIONS[op.function].replace("x[i]", "v")
            return [f"{loop}{{ const double v = ({x})[i]; ({y})[i] = {formula}; }}"], 0
        if isinstance(op, ops.Kernel):
            self.helper("affine")
            parts, n, m = op.centres.shape
            arrays = f"{self.array(op.centres.transpose(0, 2, 1))}, {self.array(op.squares)}"
            kind, s2 = f"{_KERNELS[op.kernel]}, {int(op.less_one)}", repr(op.scale**2)
            call = self.helper("kernel")
            return [f"{call}({kind}, {parts}, {m}, {n}, {s2}, {arrays}, {x}, {y}, {spare});"], n
        if isinstance(op, ops.Gather):
            return [f"{self.helper('gather')}({op.size}, {self.array(op.index)}, {x}, {y});"], 0
        if isinstance(op, ops.Concatenate):
            ends = np.cumsum([0, *op.sizes])
            return [
                f"for (int i = 0; i < {size}; i++) ({y})[i + {start}] = ({own})[i];"
                for own, size, start in zip(xs, op.sizes, ends, strict=False)
            ], 0
        if isinstance(op, (ops.Sum, ops.Product)):
            sign = " + " if isinstance(op, ops.Sum) else " * "
            return [f"{loop}({y})[i] = {sign.join(f'({own})[i]' for own in xs)};"], 0
        if isinstance(op, ops.Constant):
            values = self.array(op.values)
            return [f"{loop}({y})[i] = {values}[i];"], 0
        if isinstance(op, ops.Clip):
            low, high = self.array(op.low), self.array(op.high)
            bounds = f"v < {low}[i] ? {low}[i] : v > {high}[i] ? {high}[i] : v"
            return [f"{loop}{{ const double v = ({x})[i]; ({y})[i] = {bounds}; }}"], 0
        if isinstance(op, ops.Amplitude):
            return [f"{self.helper('amplitude')}({op.size - 1}, {x}, {y});"], 0
        assert isinstance(op, ops.March)
        return self.march(op, xs, y, spare)

    def march(self, op: ops.March, xs: list[str], y: str, spare: str) -> tuple[list[str], int]:
        """Return the loop over time; its body becomes a function of its own."""
        (u, q, start), h, c, p = xs, op.past, op.outputs, op.inputs
        if self.step_scratch is None:
            signature = f"void {self.name}_step(const double *x, double *y, double *work)"
            self.step_scratch = self.function(signature, op.body)
        seen, size = h * c + op.seen * p, op.body_size
        return [
            "{",
            f"    double *z = {spare};",
            f"    for (int i = 0; i < {op.parameters}; i++) z[{seen} + i] = ({q})[i];",
            f"    for (int k = 0; k < {op.steps}; k++) {{",
            f"        for (int i = 0; i < {h * c}; i++) {{",
            f"            const int j = k * {c} + i;",
            f"            z[i] = j < {h * c} ? ({start})[j] : ({y})[j - {h * c}];",
            "        }",
            f"        for (int i = 0; i < {op.seen * p}; i++) z[{h * c} + i] = ({u})[k * {p} + i];",
            f"        {self.name}_step(z, ({y}) + k * {c}, z + {size});",
            "    }",
            "}",
        ], size + self.step_scratch


def _array(declared: str, values: np.ndarray) -> str:
    """Return the definition of an array."""
    numbers = [repr(value).replace("inf", "INFINITY") for value in values.ravel().tolist()]
    lines = [", ".join(numbers[i : i + 8]) for i in range(0, len(numbers), 8)]
    return f"{declared}[{max(1, len(numbers))}] = {{\n" + ",\n".join(lines or ["0"]) + "};"


def _allocated(operations: Sequence[Operation]) -> tuple[dict[int, str], int]:
    """Return where each value is in the scratch, and how much there is; places are used again."""
    last = {source: i for i, op in enumerate(operations) for source in op.sources}
    free: list[tuple[int, int]] = []  # start, length
    held: dict[int, tuple[int, int]] = {}
    places: dict[int, str] = {}
    end = 0
    for i, op in enumerate(operations):
        if i < len(operations) - 1:
            fit = min((own for own in free if own[1] >= op.size), key=lambda own: own[1], default=None)
            if fit is None:
                start, length, end = end, op.size, end + op.size
            else:
                free.remove(fit)
                start, length = fit
            held[i + 1] = (start, length)
            places[i + 1] = f"work + {start}"
        for source in set(op.sources):
            if last[source] == i and source in held:
                free.append(held.pop(source))
    return places, end

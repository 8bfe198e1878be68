// The operations of a description, each one function of its sources and its result, all Float64Array.
// They are those of src/elmonet/description/operations.py, and say there what they mean.
"use strict";

const Operations = (() => {
  // Write the products of k rows of A (from its place `at` on) with m values of x to y.
  function dots(A, at, k, x, from, m, y, to) {
    const end = from + m;
    let j = 0;
    for (; j + 3 < k; j += 4) {
      let p0 = at + j * m, p1 = p0 + m, p2 = p1 + m, p3 = p2 + m;
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (let i = from; i < end; i++) {
        const v = x[i];
        s0 += v * A[p0++];
        s1 += v * A[p1++];
        s2 += v * A[p2++];
        s3 += v * A[p3++];
      }
      y[to + j] = s0;
      y[to + j + 1] = s1;
      y[to + j + 2] = s2;
      y[to + j + 3] = s3;
    }
    for (; j < k; j++) {
      let p = at + j * m, s = 0;
      for (let i = from; i < end; i++) s += x[i] * A[p++];
      y[to + j] = s;
    }
  }

  // Write the products of k rows of A with two neighbouring rows of x, of m values each, to two rows of y: every
  // number of A that is loaded is used twice.
  function dotsOfTwo(A, k, x, from, m, y, to) {
    let j = 0;
    for (; j + 3 < k; j += 4) {
      let p0 = j * m, p1 = p0 + m, p2 = p1 + m, p3 = p2 + m;
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
      for (let i = from, end = from + m; i < end; i++) {
        const v = x[i], w = x[i + m], a0 = A[p0++], a1 = A[p1++], a2 = A[p2++], a3 = A[p3++];
        s0 += v * a0;
        s1 += v * a1;
        s2 += v * a2;
        s3 += v * a3;
        t0 += w * a0;
        t1 += w * a1;
        t2 += w * a2;
        t3 += w * a3;
      }
      const at = to + j, next = at + k;
      y[at] = s0;
      y[at + 1] = s1;
      y[at + 2] = s2;
      y[at + 3] = s3;
      y[next] = t0;
      y[next + 1] = t1;
      y[next + 2] = t2;
      y[next + 3] = t3;
    }
    dots(A, j * m, k - j, x, from, m, y, to + j);
    dots(A, j * m, k - j, x, from + m, m, y, to + k + j);
  }

  function affine(op, [x], y) {
    const b = op.shift, rows = op.rows, k = y.length / rows, m = x.length / rows, A = op.matrix;
    let r = 0;
    for (; r + 1 < rows; r += 2) dotsOfTwo(A, k, x, r * m, m, y, r * k);
    if (r < rows) dots(A, 0, k, x, r * m, m, y, r * k);
    if (b !== null) for (let i = 0, j = 0; i < y.length; i++) {
      y[i] += b[j];
      if (++j === k) j = 0;
    }
  }

  function scale(op, [x], y) {
    const { factor, before, after } = op, k = factor.length;
    for (let i = 0, j = 0; i < x.length; i++) {
      const v = (before === null ? x[i] : x[i] - before[j]) * factor[j];
      y[i] = after === null ? v : v + after[j];
      if (++j === k) j = 0;
    }
  }

  // The normal distribution function: a series of positive terms near zero, a continued fraction beyond.
  function ndtr(z) {
    const x = Math.abs(z) * Math.SQRT1_2, x2 = x * x;
    if (x < 2.5) {
      let term = x, total = x;
      for (let n = 1; term > 1e-17 * total; n++) {
        term *= (2 * x2) / (2 * n + 1);
        total += term;
      }
      const half = (total * Math.exp(-x2)) / Math.sqrt(Math.PI);
      return z > 0 ? 0.5 + half : 0.5 - half;
    }
    let tail = 0;
    for (let n = 60; n > 0; n--) tail = n / 2 / (x + tail);
    const beyond = (0.5 * Math.exp(-x2)) / Math.sqrt(Math.PI) / (x + tail);
    return z > 0 ? 1 - beyond : beyond;
  }

  const functions = {
    relu: (v) => (v > 0 ? v : 0),
    tanh: Math.tanh,
    sin: Math.sin,
    cos: Math.cos,
    gelu: (v) => v * ndtr(v),
    sigmoid: (v) => 1 / (1 + Math.exp(-v)),
    softplus: (v) => Math.log1p(Math.exp(-Math.abs(v))) + (v > 0 ? v : 0),
    exp: Math.exp,
    log: Math.log,
  };

  function elementwise(op, [x], y) {
    const f = functions[op.function];
    for (let i = 0; i < x.length; i++) y[i] = f(x[i]);
  }

  // Kernels at squared distances r2, and minus one: nearly 1, they would lose the digits that count.
  const radial = {
    rbf: (r2) => Math.exp(-0.5 * r2),
    matern12: (r2) => Math.exp(-Math.sqrt(r2)),
    matern32: (r2) => { const a = Math.sqrt(3 * r2); return (1 + a) * Math.exp(-a); },
    matern52: (r2) => { const a = Math.sqrt(5 * r2); return (1 + a + (5 * r2) / 3) * Math.exp(-a); },
  };
  const lessOne = {
    rbf: (r2) => Math.expm1(-0.5 * r2),
    matern12: (r2) => Math.expm1(-Math.sqrt(r2)),
    matern32: (r2) => { const a = Math.sqrt(3 * r2), k = Math.expm1(-a); return k + (k + 1) * a; },
    matern52: (r2) => { const a = Math.sqrt(5 * r2), k = Math.expm1(-a); return k + (k + 1) * (a + (5 * r2) / 3); },
  };

  function arcCosine(xy, xx, yy) {
    const size = Math.sqrt(xx) * Math.sqrt(yy), c = Math.min(Math.max(xy / size, -1), 1);
    return (size * Math.sqrt(1 - c * c) + (Math.PI - Math.acos(c)) * c * size) / Math.PI;
  }

  // Mean squares of the centres, part by part.
  function squares(c, m) {
    const found = new Float64Array(c.length / m);
    for (let j = 0, at = 0; j < found.length; j++) {
      for (let i = 0; i < m; i++, at++) found[j] += c[at] * c[at];
      found[j] /= m;
    }
    return found;
  }

  function kernel(op, [x], y) {
    const n = y.length, parts = op.parts, m = x.length / parts, s2 = op.scale * op.scale, unit = s2 / m;
    const k = (op.less_one ? lessOne : radial)[op.kernel], xy = op.products;
    if (op.squares === undefined) op.squares = squares(op.centres, m);
    y.fill(0);
    for (let p = 0; p < parts; p++) {
      let xx = 0;
      for (let i = p * m; i < (p + 1) * m; i++) xx += x[i] * x[i];
      xx *= unit;
      dots(op.centres, p * n * m, n, x, p * m, m, xy, 0);
      for (let j = 0; j < n; j++) {
        const yy = s2 * op.squares[p * n + j];
        if (op.kernel === "relu") y[j] += arcCosine(xy[j] * unit + 1, xx + 1, yy + 1);
        else y[j] += k(Math.max(xx + yy - 2 * (xy[j] * unit), 0));
      }
    }
    if (parts > 1) for (let j = 0; j < n; j++) y[j] /= parts;
  }

  function gather(op, [x], y) {
    const index = op.index;
    for (let i = 0; i < y.length; i++) y[i] = index[i] < 0 ? 0 : x[index[i]];
  }

  function concat(op, xs, y) {
    let at = 0;
    for (const x of xs) {
      y.set(x, at);
      at += x.length;
    }
  }

  function sum(op, xs, y) {
    y.set(xs[0]);
    for (let k = 1; k < xs.length; k++) for (let i = 0; i < y.length; i++) y[i] += xs[k][i];
  }

  function product(op, [a, b], y) {
    for (let i = 0; i < y.length; i++) y[i] = a[i] * b[i];
  }

  function constant(op, xs, y) {
    y.set(op.values);
  }

  function clip(op, [x], y) {
    for (let i = 0; i < y.length; i++) y[i] = Math.min(Math.max(x[i], op.low[i]), op.high[i]);
  }

  function amplitude(op, [x], y) {
    let a = 2.2250738585072014e-308;
    for (let i = 0; i < x.length; i++) a = Math.max(a, Math.abs(x[i]));
    for (let i = 0; i < x.length; i++) y[i] = x[i] / a;
    y[x.length] = Math.log(a);
  }

  function march(op, [u, q, start], y) {
    const past = op.past * op.outputs, seen = op.seen * op.inputs, c = op.outputs;
    const z = op.seenValues;
    z.set(q, past + seen);
    for (let k = 0; k < op.steps; k++) {
      for (let i = 0; i < past; i++) {
        const j = k * c + i;
        z[i] = j < past ? start[j] : y[j - past];
      }
      for (let i = 0; i < seen; i++) z[past + i] = u[k * op.inputs + i];
      y.set(op.body(z), k * c);
    }
  }

  const all = {
    AffineMap: affine, Scale: scale, Elementwise: elementwise, Kernel: kernel, Gather: gather, Concatenate: concat,
    Sum: sum, Product: product, Constant: constant, Clip: clip, Amplitude: amplitude, March: march,
  };

  // An array of the page: base64 of little-endian numbers, of which the lowest bytes may be left out.
  function decoded(array) {
    const text = atob(array.base64), width = array.width, n = text.length / width;
    const whole = array.type === "int" ? 4 : 8, bytes = new Uint8Array(n * whole);
    for (let i = 0, at = 0; i < n; i++) {
      const from = i * whole + (array.type === "int" ? 0 : whole - width);
      for (let j = 0; j < width; j++) bytes[from + j] = text.charCodeAt(at++);
    }
    return array.type === "int" ? new Int32Array(bytes.buffer).map((v) => v - 1) : new Float64Array(bytes.buffer);
  }

  // Return a function from the input to the last value of a list of operations. Results are used again.
  // The first of them may be known: `known` holds the values of a list that begins alike, and has just been run.
  function prepared(operations, arrays, inputSize, known = [null]) {
    const values = [...known], steps = [];
    for (const given of operations.slice(known.length - 1)) {
      const op = { ...given };
      for (const [key, value] of Object.entries(op)) {
        if (value !== null && typeof value === "object" && "array" in value) op[key] = arrays[value.array];
      }
      const y = new Float64Array(op.size);
      if (op.kind === "Kernel") {
        op.parts = given.centres.shape[0];
        op.products = new Float64Array(op.size);
      }
      if (op.kind === "March") {
        const size = op.past * op.outputs + op.seen * op.inputs + op.parameters;
        op.seenValues = new Float64Array(size);
        op.body = prepared(given.body, arrays, size);
      }
      steps.push([all[op.kind], op, y]);
      values.push(y);
    }
    const evaluate = (x) => {
      if (x.length !== inputSize) throw new Error(`an input has ${inputSize} values; got ${x.length}`);
      values[0] = x;
      for (const [run, op, y] of steps) run(op, op.sources.map((source) => values[source]), y);
      return values[values.length - 1];
    };
    evaluate.values = values;
    return evaluate;
  }

  return { decoded, prepared, ndtr };
})();

if (typeof module !== "undefined") module.exports = Operations;

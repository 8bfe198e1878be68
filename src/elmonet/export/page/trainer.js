// The paper's training: random networks, and one linear solve. Self-contained, so that its text also runs in
// a worker. Matrices are Float64Array by rows.
"use strict";

function trainer() {
  // Uniform numbers in [0, 1) of a seed (mulberry32), and normal ones (Box and Muller).
  function generator(seed) {
    let state = (seed + 1) * 0x9e3779b9;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    return { uniform, normal };
  }

  // The product of k values of A from p on with those of B from q on; four sums, which need not wait for each other.
  function dot(A, p, B, q, k) {
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0, l = 0;
    for (; l + 3 < k; l += 4, p += 4, q += 4) {
      s0 += A[p] * B[q];
      s1 += A[p + 1] * B[q + 1];
      s2 += A[p + 2] * B[q + 2];
      s3 += A[p + 3] * B[q + 3];
    }
    for (; l < k; l++) s0 += A[p++] * B[q++];
    return s0 + s1 + (s2 + s3);
  }

  // A B', for A (n, k) and B (m, k); only the lower triangle if `lower`.
  function times(A, n, B, m, k, lower = false) {
    const out = new Float64Array(n * m);
    for (let i = 0; i < n; i++) {
      const end = lower ? i + 1 : m, a = i * k;
      let j = 0;
      for (; j + 3 < end; j += 4) {
        let p = a, q0 = j * k, q1 = q0 + k, q2 = q1 + k, q3 = q2 + k, s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (let l = 0; l < k; l++) {
          const v = A[p++];
          s0 += v * B[q0++];
          s1 += v * B[q1++];
          s2 += v * B[q2++];
          s3 += v * B[q3++];
        }
        out[i * m + j] = s0;
        out[i * m + j + 1] = s1;
        out[i * m + j + 2] = s2;
        out[i * m + j + 3] = s3;
      }
      for (; j < end; j++) out[i * m + j] = dot(A, a, B, j * k, k);
    }
    return out;
  }

  function transposed(A, n, m) {
    const out = new Float64Array(n * m);
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out[j * n + i] = A[i * m + j];
    return out;
  }

  // relu(A x + b) of rows x, weights and biases uniform in +-1/sqrt(m), as in the paper.
  function layer(X, rows, m, width, random) {
    const half = 1 / Math.sqrt(m), A = new Float64Array(width * m), b = new Float64Array(width);
    for (let j = 0; j < width; j++) {
      for (let i = 0; i < m; i++) A[j * m + i] = half * (2 * random.uniform() - 1);
      b[j] = half * (2 * random.uniform() - 1);
    }
    const out = times(X, rows, A, width, m);
    for (let i = 0; i < out.length; i++) out[i] = Math.max(0, out[i] + b[i % width]);
    return out;
  }

  // L L' = A (n, n) + shift, in place of the lower triangle; false if A is not positive definite.
  function cholesky(A, n, shift) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        const s = A[i * n + j] + (i === j ? shift : 0) - dot(A, i * n, A, j * n, j);
        if (i === j) {
          if (!(s > 0)) return false;
          A[i * n + i] = Math.sqrt(s);
        } else A[i * n + j] = s / A[j * n + j];
      }
    }
    return true;
  }

  // Solve L z = x in place, x being zero before `from`.
  function forward(L, n, x, from = 0) {
    for (let i = from; i < n; i++) x[i] = (x[i] - dot(L, i * n + from, x, from, i - from)) / L[i * n + i];
  }
  function backward(L, n, x) {
    for (let i = n - 1; i >= 0; i--) {
      const v = (x[i] /= L[i * n + i]);
      for (let k = 0, p = i * n; k < i; k++) x[k] -= v * L[p++];
    }
  }

  // T = U S V' by rotations of pairs of columns; returns U' (r, M), S (r,), V' (r, p), without what is rounding.
  function svd(T, M, p) {
    const A = transposed(T, M, p), V = new Float64Array(p * p);
    for (let i = 0; i < p; i++) V[i * p + i] = 1;
    const rotate = (X, width, i, j, c, s) => {
      for (let k = 0, a = i * width, b = j * width; k < width; k++, a++, b++) {
        const v = X[a], w = X[b];
        X[a] = c * v - s * w;
        X[b] = s * v + c * w;
      }
    };
    for (let sweep = 0, turned = true; turned && sweep < 40; sweep++) {
      turned = false;
      for (let i = 0; i < p; i++) {
        for (let j = i + 1; j < p; j++) {
          let aa = 0, bb = 0, ab = 0;
          for (let k = 0, a = i * M, b = j * M; k < M; k++, a++, b++) {
            aa += A[a] * A[a];
            bb += A[b] * A[b];
            ab += A[a] * A[b];
          }
          if (Math.abs(ab) <= 1e-15 * Math.sqrt(aa * bb) || ab === 0) continue;
          turned = true;
          const tau = (bb - aa) / (2 * ab), t = Math.sign(tau || 1) / (Math.abs(tau) + Math.sqrt(1 + tau * tau));
          const c = 1 / Math.sqrt(1 + t * t);
          rotate(A, M, i, j, c, t * c);
          rotate(V, p, i, j, c, t * c);
        }
      }
    }
    const sizes = Array.from({ length: p }, (_, i) => Math.hypot(...A.subarray(i * M, (i + 1) * M)));
    const cut = Math.max(...sizes) * 2.2e-16 * Math.max(M, p);
    const kept = sizes.map((_, i) => i).filter((i) => sizes[i] > cut).sort((i, j) => sizes[j] - sizes[i]);
    const Ut = new Float64Array(kept.length * M), Vt = new Float64Array(kept.length * p);
    kept.forEach((i, k) => {
      for (let l = 0; l < M; l++) Ut[k * M + l] = A[i * M + l] / sizes[i];
      Vt.set(V.subarray(i * p, (i + 1) * p), k * p);
    });
    return { Ut, S: Float64Array.from(kept, (i) => sizes[i]), Vt };
  }

  // min_C ||C B - Y||^2 + alpha ||C||^2 for F = B' (N, p1) and Y (r, N), by the smaller of two systems.
  // Returns C (r, p1) and what is missed of each function if it is left out, (r, N); null if it is singular.
  function ridge(F, N, p1, Y, r, alpha) {
    const primal = p1 <= N, n = primal ? p1 : N, B = transposed(F, N, p1);
    const L = primal ? times(B, n, B, n, N, true) : times(F, n, F, n, p1, true);
    if (!cholesky(L, n, alpha)) return null;
    const X = primal ? times(Y, r, B, p1, N) : Y.slice(), left = new Float64Array(r * N);
    for (let k = 0; k < r; k++) {
      const row = X.subarray(k * n, (k + 1) * n);
      forward(L, n, row);
      backward(L, n, row);
    }
    const C = primal ? X : times(X, r, B, p1, N), CB = primal ? times(C, r, F, N, p1) : null;
    for (let i = 0; i < N; i++) {
      // What a function that is left out misses: its residual by 1 - h, or its coefficient by the inverse's diagonal.
      const z = primal ? F.slice(i * p1, (i + 1) * p1) : new Float64Array(n);
      if (!primal) z[i] = 1;
      forward(L, n, z, primal ? 0 : i);
      let h = 0;
      for (let l = 0; l < n; l++) h += z[l] * z[l];
      for (let k = 0; k < r; k++) left[k * N + i] = primal ? (Y[k * N + i] - CB[k * N + i]) / (1 - h) : X[k * N + i] / h;
    }
    return { C, left };
  }

  // Draw data and networks of a seed, solve for W; return errors, matrices, and predictions of the test functions.
  function train({ p1, p2, alpha, N, seed, tests, x, modesU, modesS }) {
    const start = Date.now(), all = N + tests, m = x.length, K = modesU.length / m;
    const draws = generator(2 * seed), coefficients = Float64Array.from({ length: all * K }, draws.normal);
    const u = times(coefficients, all, modesU, m, K), s = times(coefficients, all, modesS, m, K);
    const random = generator(2 * seed + 1);
    let T = layer(x, m, 1, p2, random);
    for (let depth = 1; depth < 3; depth++) T = layer(T, m, p2, p2, random);
    const F = layer(u, all, m, p1, random), drawn = Date.now();
    const { Ut, S, Vt } = svd(T, m, p2), r = S.length;
    const G = s.subarray(0, N * m), Y = times(Ut, r, G, N, m), found = ridge(F.subarray(0, N * p1), N, p1, Y, r, alpha);
    if (found === null) return { failed: true };
    // W = V S^-1 C, so that T W = U C.
    const scaled = Vt.map((v, i) => v / S[Math.floor(i / p2)]), W = times(transposed(scaled, r, p2), p2, transposed(found.C, r, p1), p1, r);
    const seconds = (Date.now() - drawn) / 1000;
    const at = times(F.subarray(N * p1), tests, found.C, r, p1), predicted = times(at, tests, transposed(Ut, r, m), m, r);
    const truth = s.subarray(N * m), size = (v, i) => v.subarray(i * m, (i + 1) * m).reduce((a, b) => a + b * b, 0);
    let error = 0, loo = 0;
    for (let i = 0; i < tests; i++) {
      let off = 0;
      for (let j = i * m; j < (i + 1) * m; j++) off += (predicted[j] - truth[j]) ** 2;
      error += Math.sqrt(off / size(truth, i)) / tests;
    }
    for (let i = 0; i < N; i++) {
      let inside = 0, missed = 0;
      for (let k = 0; k < r; k++) {
        inside += Y[k * N + i] ** 2;
        missed += found.left[k * N + i] ** 2;
      }
      const whole = size(G, i);
      loo += Math.sqrt((Math.max(0, whole - inside) + missed) / whole) / N;
    }
    return { p1, p2, N, alpha, seed, error, loo, seconds, features: (drawn - start) / 1000, F: F.slice(0, N * p1), T, W, outputs: G.slice(), inputs: u.slice(N * m), truth: truth.slice(), predicted };
  }

  return { train, ridge, svd, times, transposed };
}

if (typeof module !== "undefined") module.exports = { ...module.exports, trainer };

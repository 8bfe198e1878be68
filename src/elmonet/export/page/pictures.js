// Curves and fields on canvases, with axes, a band and a cursor. Coordinates are those of the data.
"use strict";

const Pictures = (() => {
  const text = (v) => {
    if (!Number.isFinite(v)) return "not a number";
    const size = Math.abs(v);
    if (size !== 0 && (size < 1e-3 || size >= 1e5)) return v.toExponential(2);
    return String(Number(v.toPrecision(4)));
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function ticks(low, high, count) {
    const raw = (high - low) / count, ten = 10 ** Math.floor(Math.log10(raw));
    const step = ten * [1, 2, 5, 10].find((f) => f * ten >= raw * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  // From dark blue to yellow, evenly in lightness.
  const STOPS = [[24, 26, 82], [34, 82, 141], [36, 138, 141], [104, 190, 98], [246, 226, 72]];
  function mapped(part, out, at) {
    const p = Math.min(Math.max(part, 0), 1) * (STOPS.length - 1), i = Math.min(Math.floor(p), STOPS.length - 2), f = p - i;
    for (let c = 0; c < 3; c++) out[at + c] = STOPS[i][c] + f * (STOPS[i + 1][c] - STOPS[i][c]);
    out[at + 3] = 255;
  }

  // From blue over white to red, for values from -1 to 1.
  function shade(value, out, at) {
    const v = Math.min(Math.max(value, -1), 1), end = v < 0 ? [20, 86, 140] : [179, 71, 15];
    for (let c = 0; c < 3; c++) out[at + c] = 250 + Math.abs(v) * (end[c] - 250);
    out[at + 3] = 255;
  }

  function extent(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
    return [low, high];
  }

  // The colours of the system, or of the site that shows this page in a frame: it sends { theme: "dark" } or "light".
  const root = document.documentElement, all = [], dark = matchMedia("(prefers-color-scheme: dark)");
  let told = null;
  function recolour() {
    root.dataset.theme = told ?? (dark.matches ? "dark" : "light");
    for (const picture of all) picture.paint();
  }
  dark.addEventListener("change", recolour);
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || parent === window || !["dark", "light"].includes(data?.theme)) return;
    told = data.theme;
    recolour();
  });
  recolour();

  class Picture {
    constructor(part, drawn) {
      all.push(this);
      this.part = part;
      this.drawn = drawn;
      this.canvas = document.createElement("canvas");
      this.canvas.tabIndex = 0;
      this.canvas.className = drawn ? "drawn" : "";
      this.cursor = Math.floor(part.x.length / 2);
      this.marked = false;
      this.paint = () => {};
      new ResizeObserver(() => this.paint()).observe(this.canvas);
      this.canvas.addEventListener("focus", () => { this.marked = true; this.paint(); });
      this.canvas.addEventListener("blur", () => { this.marked = false; this.paint(); });
    }

    // Fit the canvas to its box; return its context and size in CSS pixels.
    context(height) {
      const width = this.canvas.clientWidth || 300, ratio = window.devicePixelRatio || 1;
      this.canvas.style.height = `${height}px`;
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
      }
      const c = this.canvas.getContext("2d");
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, width, height);
      c.font = "12px system-ui, sans-serif";
      this.box = { left: 56, right: width - 12, top: 12, bottom: height - 34 };
      return c;
    }

    px(x) { const b = this.box; return b.left + ((x - this.xs[0]) / (this.xs[1] - this.xs[0])) * (b.right - b.left); }
    py(y) { const b = this.box; return b.bottom - ((y - this.ys[0]) / (this.ys[1] - this.ys[0])) * (b.bottom - b.top); }
    // The place of a pointer, in coordinates of the data.
    where(event) {
      const r = this.canvas.getBoundingClientRect(), b = this.box;
      const fx = (event.clientX - r.left - this.canvas.clientLeft - b.left) / (b.right - b.left);
      const fy = (b.bottom - (event.clientY - r.top - this.canvas.clientTop)) / (b.bottom - b.top);
      return [this.xs[0] + fx * (this.xs[1] - this.xs[0]), this.ys[0] + fy * (this.ys[1] - this.ys[0])];
    }

    axes(c, xname, grid) {
      const b = this.box;
      c.fillStyle = colour("soft");
      c.strokeStyle = colour("faint");
      c.lineWidth = 1;
      c.textAlign = "right";
      c.textBaseline = "middle";
      for (const y of ticks(...this.ys, 4)) {
        if (grid) line(c, b.left, this.py(y), b.right, this.py(y));
        c.fillText(text(y), b.left - 6, this.py(y));
      }
      c.textAlign = "center";
      c.textBaseline = "top";
      for (const x of ticks(...this.xs, Math.max(2, Math.min(6, (b.right - b.left) / 80)))) {
        if (grid) line(c, this.px(x), b.top, this.px(x), b.bottom);
        if (this.px(x) < b.right - 14) c.fillText(text(x), this.px(x), b.bottom + 5);
      }
      c.textAlign = "right";
      c.fillText(xname, b.right, b.bottom + 18);
    }
  }

  const line = (c, x0, y0, x1, y1) => { c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke(); };
  const widened = ([low, high], by) => {
    const room = (high - low || Math.abs(high) || 1) * by;
    return [low - room, high + room];
  };

  class Curve extends Picture {
    constructor(part, drawn) {
      super(part, drawn);
      this.order = Array.from(part.x.keys()).sort((i, j) => part.x[i] - part.x[j]);
      this.xs = extent(part.x);
      if (this.xs[0] === this.xs[1]) this.xs = widened(this.xs, 0.5);
      this.ys = widened([part.low, part.high], drawn ? 0.3 : 0.1);
    }

    nearest(x) {
      let best = 0;
      for (let i = 0; i < this.part.x.length; i++) if (Math.abs(this.part.x[i] - x) < Math.abs(this.part.x[best] - x)) best = i;
      return best;
    }

    path(c, values, offset, sign, back) {
      const order = back ? [...this.order].reverse() : this.order;
      order.forEach((i, k) => {
        const y = this.py(offset === null ? values[i] : values[i] + sign * offset[i]);
        if (k === 0 && !back) c.moveTo(this.px(this.part.x[i]), y);
        else c.lineTo(this.px(this.part.x[i]), y);
      });
    }

    draw(values, half, truth) {
      this.paint = () => {
        const c = this.context(Math.min(300, Math.max(220, window.innerHeight * 0.36))), x = this.part.x;
        const [low, high] = extent(values);
        if (!this.drawn && Number.isFinite(low) && (low < this.ys[0] || high > this.ys[1])) {
          this.ys = widened([Math.min(low, this.part.low), Math.max(high, this.part.high)], 0.1);
        }
        this.axes(c, this.part.axis, true);
        c.save();
        c.beginPath();
        c.rect(this.box.left, 0, this.box.right - this.box.left, this.box.bottom + 4);
        c.clip();
        if (half !== null) {
          c.fillStyle = colour("band");
          c.beginPath();
          this.path(c, values, half, 1, false);
          this.path(c, values, half, -1, true);
          c.fill();
        }
        c.lineWidth = 2.2;
        c.strokeStyle = colour(this.drawn ? "input" : "output");
        c.beginPath();
        this.path(c, values, null, 0, false);
        c.stroke();
        if (truth !== null) {
          c.setLineDash([6, 5]);
          c.lineWidth = 1.6;
          c.strokeStyle = colour("truth");
          c.beginPath();
          this.path(c, truth, null, 0, false);
          c.stroke();
          c.setLineDash([]);
        }
        if (x.length <= 40) {
          c.fillStyle = c.strokeStyle = colour(this.drawn ? "input" : "output");
          for (let i = 0; i < x.length; i++) { c.beginPath(); c.arc(this.px(x[i]), this.py(values[i]), 2.6, 0, 7); c.fill(); }
        }
        if (this.marked) {
          c.strokeStyle = colour("ink");
          c.lineWidth = 1;
          line(c, this.px(x[this.cursor]), this.box.top, this.px(x[this.cursor]), this.box.bottom);
          c.beginPath();
          c.arc(this.px(x[this.cursor]), this.py(values[this.cursor]), 5, 0, 7);
          c.stroke();
        }
        c.restore();
      };
      this.paint();
    }

    place(i) { return `${this.part.axis} = ${text(this.part.x[i])}`; }
    moved(key) {
      const at = this.order.indexOf(this.cursor), n = this.order.length, far = Math.max(1, Math.round(n / 10));
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: n - 1, PageUp: at - far, PageDown: at + far }[key];
      if (to !== undefined) this.cursor = this.order[Math.min(Math.max(to, 0), n - 1)];
      return to !== undefined;
    }
  }

  const RASTER = 120; // pixels on a side, of places that form no grid

  class Field extends Picture {
    constructor(part, drawn) {
      super(part, drawn);
      this.xs = extent(part.x);
      this.ys = extent(part.y);
      this.rasterise();
      // Pixels have a size: the outermost ones reach beyond their places.
      const grow = ([low, high], n) => (n > 1 ? widened([low, high], 0.5 / (n - 1)) : widened([low, high], 0.5));
      if (part.grid) [this.xs, this.ys] = [grow(this.xs, this.columns), grow(this.ys, this.rows)];
      this.image = document.createElement("canvas");
      this.image.width = this.columns;
      this.image.height = this.rows;
    }

    // Which value each pixel shows, -1 for none; the first row of pixels is at the top.
    rasterise() {
      const { x, y, grid } = this.part;
      if (grid) {
        const rank = (v) => new Map([...new Set(v)].sort((a, b) => a - b).map((value, i) => [value, i]));
        const [ix, iy] = [rank(x), rank(y)];
        [this.columns, this.rows] = [ix.size, iy.size];
        this.index = new Int32Array(this.columns * this.rows).fill(-1);
        for (let i = 0; i < x.length; i++) this.index[(this.rows - 1 - iy.get(y[i])) * this.columns + ix.get(x[i])] = i;
        return;
      }
      this.columns = this.rows = RASTER;
      this.index = new Int32Array(RASTER * RASTER).fill(-1);
      const [w, h] = [this.xs[1] - this.xs[0] || 1, this.ys[1] - this.ys[0] || 1];
      const reach = 4 / x.length; // in squares of the box: beyond, there are no data
      for (let r = 0; r < RASTER; r++) {
        for (let c = 0; c < RASTER; c++) {
          const px = this.xs[0] + ((c + 0.5) / RASTER) * w, py = this.ys[1] - ((r + 0.5) / RASTER) * h;
          let best = reach, at = -1;
          for (let i = 0; i < x.length; i++) {
            const dx = (x[i] - px) / w, dy = (y[i] - py) / h, d = dx * dx + dy * dy;
            if (d < best) { best = d; at = i; }
          }
          this.index[r * RASTER + c] = at;
        }
      }
    }

    nearest(x, y) {
      const [w, h] = [this.xs[1] - this.xs[0], this.ys[1] - this.ys[0]];
      let best = Infinity, at = 0;
      for (let i = 0; i < this.part.x.length; i++) {
        const d = ((this.part.x[i] - x) / w) ** 2 + ((this.part.y[i] - y) / h) ** 2;
        if (d < best) { best = d; at = i; }
      }
      return at;
    }

    draw(values) {
      this.paint = () => {
        const [w, h] = [this.xs[1] - this.xs[0], this.ys[1] - this.ys[0]];
        const shape = h / w > 0.25 && h / w < 2 ? h / w : 0.8;
        const room = (this.canvas.clientWidth || 300) - 68 - 76, tall = Math.min(room * shape, 400);
        const c = this.context(tall + 46);
        this.box.right = this.box.left + Math.min(room, tall / shape);
        this.box.top = this.box.bottom - tall;
        let [low, high] = extent(values);
        low = Math.min(low, this.part.low);
        high = Math.max(high, this.part.high);
        const context = this.image.getContext("2d"), pixels = context.createImageData(this.columns, this.rows);
        for (let p = 0; p < this.index.length; p++) {
          if (this.index[p] >= 0) mapped((values[this.index[p]] - low) / (high - low || 1), pixels.data, 4 * p);
        }
        context.putImageData(pixels, 0, 0);
        const b = this.box;
        c.imageSmoothingEnabled = false;
        c.drawImage(this.image, b.left, b.top, b.right - b.left, b.bottom - b.top);
        this.axes(c, this.part.axis, false);
        this.bar(c, low, high);
        if (this.marked) {
          const [x, y] = [this.px(this.part.x[this.cursor]), this.py(this.part.y[this.cursor])];
          for (const [width, style] of [[4, "#000"], [2, "#fff"]]) {
            c.lineWidth = width;
            c.strokeStyle = style;
            c.beginPath();
            c.arc(x, y, 7, 0, 7);
            c.stroke();
          }
        }
      };
      this.paint();
    }

    bar(c, low, high) {
      const b = this.box, x = b.right + 12, n = Math.max(2, Math.round(b.bottom - b.top)), rgb = [0, 0, 0, 0];
      for (let k = 0; k < n; k++) {
        mapped(k / (n - 1), rgb, 0);
        c.fillStyle = `rgb(${rgb[0]}, ${rgb[1]}, ${rgb[2]})`;
        c.fillRect(x, b.bottom - 1 - k, 10, 1.5);
      }
      c.fillStyle = colour("soft");
      c.textAlign = "left";
      c.textBaseline = "middle";
      for (const v of ticks(low, high > low ? high : low + 1, 5)) {
        if (v <= high) c.fillText(text(v), x + 14, b.bottom - ((v - low) / (high - low || 1)) * (b.bottom - b.top));
      }
    }

    place(i) { return `x = ${text(this.part.x[i])}, y = ${text(this.part.y[i])}`; }
    moved(key) {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
      if (step === undefined) return false;
      // The nearest place in that direction, within 45 degrees.
      const { x, y } = this.part, [w, h] = [this.xs[1] - this.xs[0], this.ys[1] - this.ys[0]];
      let best = Infinity, at = this.cursor;
      for (let i = 0; i < x.length; i++) {
        const dx = (x[i] - x[this.cursor]) / w, dy = (y[i] - y[this.cursor]) / h;
        const along = dx * step[0] + dy * step[1], across = Math.abs(dx * step[1] + dy * step[0]);
        if (along > 1e-9 && across <= along && along + 2 * across < best) { best = along + 2 * across; at = i; }
      }
      this.cursor = at;
      return true;
    }
  }

  return { Curve, Field, text, mapped, shade };
})();

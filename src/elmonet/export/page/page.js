// The page: inputs that are drawn, painted or set; each change gives a new prediction in the next frame.
"use strict";

const Page = typeof document === "undefined" ? null : (() => {
  const record = JSON.parse(document.getElementById("record").textContent);
  const arrays = record.arrays.map(Operations.decoded);
  const array = (reference) => (reference === null ? null : arrays[reference.array]);
  const predict = Operations.prepared(record.operations, arrays, record.inputSize);
  const novelty = record.novelty && Operations.prepared(record.novelty, arrays, record.inputSize, predict.values.slice(0, record.shared + 1));
  const half = array(record.half), x = new Float64Array(record.inputSize);
  const { Curve, Field, text } = Pictures;
  const byId = (id) => document.getElementById(id);
  let y = new Float64Array(record.outputSize), shown = null, truth = null, waiting = false, telling = 0;

  function element(name, attributes = {}, ...content) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  }
  let count = 0;
  const fresh = () => `part-${(count += 1)}`;
  const taken = (values, index) => Float64Array.from(index, (i) => values[i]);
  const percent = (v) => (v > 0 && v < 1e-6 ? v.toExponential(1) : `${text(Number((100 * v).toPrecision(2)))}\u00a0%`);

  // A slider with its label and its value in words.
  function setting(label, low, high, start, words, step = (high - low) / 100) {
    const id = fresh(), shown = element("output", { for: id }, words(start));
    const slider = element("input", { type: "range", id, min: low, max: high, step });
    slider.value = start;
    slider.addEventListener("input", () => {
      shown.textContent = words(slider.valueAsNumber);
      slider.setAttribute("aria-valuetext", shown.textContent);
    });
    return [element("div", { class: "setting" }, element("label", { for: id }, label), slider, shown), slider];
  }

  for (const part of [...record.inputs, ...record.outputs]) {
    for (const key of ["index", "x", "y"]) if (part[key]) part[key] = array(part[key]);
  }

  // Outputs

  class Output {
    constructor(part) {
      this.part = part;
      this.half = half && taken(half, part.index);
      this.readout = element("p", { class: "readout" });
      const caption = element("figcaption", {}, part.label);
      if (part.kind === "number") {
        this.shown = element("span", { class: "number" });
        this.figure = element("figure", {}, caption, this.shown);
        return;
      }
      this.picture = part.kind === "curve" ? new Curve(part, false) : new Field(part, false);
      const canvas = this.picture.canvas;
      canvas.setAttribute("role", "application");
      canvas.setAttribute("aria-roledescription", "picture");
      canvas.setAttribute("aria-label", `Prediction of ${part.label}. Arrow keys read values.`);
      canvas.addEventListener("pointermove", (event) => this.read(this.picture.nearest(...this.picture.where(event))));
      canvas.addEventListener("keydown", (event) => {
        if (!this.picture.moved(event.key)) return;
        event.preventDefault();
        this.read(this.picture.cursor);
        tell(this.readout.textContent);
        this.picture.paint();
      });
      this.figure = element("figure", {}, caption, canvas, this.readout);
    }
    read(i) {
      this.at = i;
      const v = y[this.part.index[i]];
      this.readout.textContent = `${this.picture.place(i)}: ${text(v)}${this.half ? ` ± ${text(this.half[i])}` : ""}`;
    }
    update() {
      const values = taken(y, this.part.index);
      if (this.shown) this.shown.textContent = text(values[0]) + (this.half ? ` ± ${text(this.half[0])}` : "");
      else {
        this.picture.draw(values, this.half, truth && taken(truth, this.part.index));
        if (this.at !== undefined) this.read(this.at);
      }
    }
    words() {
      const values = taken(y, this.part.index);
      if (values.length === 1) return `${this.part.label}: ${text(values[0])}`;
      return `${this.part.label}: from ${text(Math.min(...values))} to ${text(Math.max(...values))}`;
    }
  }

  // Inputs

  class Numbers {
    constructor(part) {
      this.part = part;
      const id = fresh(), room = 0.25 * (part.high - part.low);
      this.low = part.logarithmic ? part.low / 2 : part.low - room;
      this.high = part.logarithmic ? part.high * 2 : part.high + room;
      this.slider = element("input", { type: "range", id, min: 0, max: 1000, step: "any" });
      this.box = element("input", { type: "number", step: "any", "aria-label": `${part.label}, as a number` });
      this.figure = element("div", { class: "setting" }, element("label", { for: id }, part.label), this.slider, this.box);
      this.slider.addEventListener("input", () => this.set(this.value(this.slider.value / 1000)));
      this.box.addEventListener("input", () => { if (Number.isFinite(this.box.valueAsNumber)) this.set(this.box.valueAsNumber, true); });
    }
    value(f) {
      const v = this.part.logarithmic ? this.low * (this.high / this.low) ** f : this.low + f * (this.high - this.low);
      return Number(v.toPrecision(6));
    }
    fraction(v) {
      return this.part.logarithmic ? Math.log(v / this.low) / Math.log(this.high / this.low) : (v - this.low) / (this.high - this.low);
    }
    set(v, typed = false) {
      x[this.part.index[0]] = v;
      changed();
      this.update(typed);
    }
    update(typed = false) {
      const v = x[this.part.index[0]];
      this.slider.value = 1000 * this.fraction(v);
      this.slider.setAttribute("aria-valuetext", text(v));
      if (!typed) this.box.value = Number(v.toPrecision(8));
    }
  }

  // A curve or field that strokes change. Each stroke starts from the values before it; each value follows the
  // part of the stroke that came nearest, so that slow and fast strokes give the same.
  class Drawn {
    constructor(part) {
      this.part = part;
      this.picture = part.kind === "curve" ? new Curve(part, true) : new Field(part, true);
      this.values = new Float64Array(part.index.length);
      this.readout = element("p", { class: "readout" });
      const hint = element("p", { class: "hint", id: fresh() });
      const field = part.kind === "field";
      hint.textContent = field
        ? "Paint with mouse or finger. Keys: arrows move, Enter paints, + and − change the brush."
        : "Draw with mouse or finger. Keys: left and right move, up and down change the curve there.";
      const canvas = this.picture.canvas;
      canvas.setAttribute("role", "application");
      canvas.setAttribute("aria-roledescription", "drawing");
      canvas.setAttribute("aria-label", `Input ${part.label}`);
      canvas.setAttribute("aria-describedby", hint.id);
      this.figure = element("figure", {}, element("figcaption", {}, part.label), canvas, this.readout, hint);
      this.width = this.setting("Brush width", 0, 0.3, field ? 0.1 : part.levels.length ? 0 : 0.06, percent);
      if (field && part.levels.length) this.levels();
      else if (field) this.brush = this.setting("Brush value", part.low, part.high, part.high, text);
      this.listen(canvas);
    }

    setting(...what) {
      const [row, slider] = setting(...what);
      this.figure.append(row);
      return slider;
    }
    levels() {
      const id = fresh(), list = element("select", { id });
      for (const level of this.part.levels) list.append(element("option", { value: level }, text(level)));
      list.selectedIndex = this.part.levels.length - 1;
      this.figure.append(element("div", { class: "setting" }, element("label", { for: id }, "Brush value"), list));
      this.brush = { get valueAsNumber() { return Number(list.value); } };
    }

    begin() {
      this.base = this.values.slice();
      this.best = new Float64Array(this.values.length);
    }
    // Move values towards the stroke from one place to another; those within its reach follow it fully.
    stroke([x0, y0], [x1, y1]) {
      const { part, picture } = this, [w, h] = [picture.xs[1] - picture.xs[0], picture.ys[1] - picture.ys[0]];
      const width = this.width.valueAsNumber, field = part.kind === "field", hard = part.levels.length > 0;
      const [dx, dy] = [(x1 - x0) / w, field ? (y1 - y0) / h : 0], length2 = dx * dx + dy * dy;
      const least = field ? 0.5 / Math.sqrt(part.x.length) : 0.5 / part.x.length;
      for (let i = 0; i < part.x.length; i++) {
        const ax = (part.x[i] - x0) / w, ay = field ? (part.y[i] - y0) / h : 0;
        const t = length2 > 0 ? Math.min(Math.max((ax * dx + ay * dy) / length2, 0), 1) : 0;
        const d = Math.hypot(ax - t * dx, ay - t * dy), core = field ? Math.max(width / 2, least) : least;
        let weight = d <= core ? 1 : 0;
        if (!hard && weight === 0 && width > 0) weight = Math.exp(-0.5 * ((d - core) / (field ? width / 4 : width)) ** 2);
        if (weight < this.best[i] || weight < 1e-3) continue;
        this.best[i] = weight;
        let to = field ? this.brush.valueAsNumber : Math.min(Math.max(y0 + t * (y1 - y0), picture.ys[0]), picture.ys[1]);
        if (!field && hard) to = part.levels.reduce((a, b) => (Math.abs(b - to) < Math.abs(a - to) ? b : a));
        this.values[i] = this.base[i] + weight * (to - this.base[i]);
      }
      this.changed();
    }
    changed() {
      this.part.index.forEach((at, i) => { x[at] = this.values[i]; });
      changed();
      this.redraw();
    }
    redraw() { this.picture.draw(this.values, null, null); }
    update() {
      this.values = taken(x, this.part.index);
      this.redraw();
    }

    listen(canvas) {
      let last = null;
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button > 0) return;
        event.preventDefault();
        canvas.focus({ focusVisible: false });
        canvas.setPointerCapture(event.pointerId);
        this.begin();
        last = this.picture.where(event);
        this.stroke(last, last);
      });
      canvas.addEventListener("pointermove", (event) => {
        const place = this.picture.where(event), i = this.picture.nearest(...place);
        this.picture.cursor = i;
        if (last !== null) {
          for (const each of event.getCoalescedEvents?.() ?? []) {
            const next = this.picture.where(each);
            this.stroke(last, next);
            last = next;
          }
          this.stroke(last, place);
          last = place;
        }
        this.read(i);
      });
      const end = () => { last = null; };
      canvas.addEventListener("pointerup", end);
      canvas.addEventListener("pointercancel", end);
      canvas.addEventListener("keydown", (event) => this.key(event));
    }
    read(i) { this.readout.textContent = `${this.picture.place(i)}: ${text(this.values[i])}`; }
    key(event) {
      const { part, picture } = this, i = picture.cursor, step = (part.high - part.low) / 25;
      const way = part.kind === "curve" ? { ArrowUp: 1, ArrowDown: -1 }[event.key] : undefined;
      if (way !== undefined) {
        let to = this.values[i] + way * step;
        if (part.levels.length) to = part.levels[Math.min(Math.max(part.levels.indexOf(this.values[i]) + way, 0), part.levels.length - 1)];
        this.begin();
        this.stroke([part.x[i], to], [part.x[i], to]);
      } else if (part.kind === "field" && (event.key === "Enter" || event.key === " ")) {
        this.begin();
        this.stroke([part.x[i], part.y[i]], [part.x[i], part.y[i]]);
      } else if (part.kind === "field" && !part.levels.length && "+-−".includes(event.key) && event.key !== "") {
        this.brush.value = this.brush.valueAsNumber + (event.key === "+" ? step : -step);
        this.brush.dispatchEvent(new Event("input"));
        tell(`Brush value ${text(this.brush.valueAsNumber)}`);
      } else if (!picture.moved(event.key)) return;
      event.preventDefault();
      this.redraw();
      this.read(picture.cursor);
      if (way === undefined && event.key.startsWith("Arrow")) tell(this.readout.textContent);
    }
  }

  // All together

  const outputs = record.outputs.map((part) => new Output(part));
  const inputs = record.inputs.map((part) => (part.kind === "number" ? new Numbers(part) : new Drawn(part)));
  byId("inputs").append(...inputs.map((own) => own.figure));
  byId("outputs").append(...outputs.map((own) => own.figure));

  function tell(words) { byId("told").textContent = words; }

  function changed(example = null) {
    shown = example;
    truth = example && array(example.truth);
    for (const button of byId("examples").children) button.setAttribute("aria-pressed", String(button.example === example));
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(evaluate);
  }

  function evaluate() {
    waiting = false;
    const start = performance.now();
    y = predict(x);
    const unlike = novelty && !(novelty(x)[0] <= 1);
    byId("time").textContent = `The last prediction took ${text(Math.max(0.1, Math.round(10 * (performance.now() - start)) / 10))} ms.`;
    for (const own of outputs) own.update();
    const words = novelty === null ? "" : unlike ? "Unlike the training data: the expected error and the band do not hold here." : "Like the training data.";
    if (byId("likeness").textContent !== words) byId("likeness").textContent = words;
    byId("likeness").className = unlike ? "unlike" : "";
    notes();
    if (byId("numbers").open) numbers();
    clearTimeout(telling);
    telling = setTimeout(() => tell(outputs.map((own) => own.words()).join("; ")), 700);
  }

  function notes() {
    const said = [];
    if (half !== null) {
      said.push(`Shaded area, or ±: the band that contains ${percent(record.coverage)} of all values for new functions like ` +
        "the training functions. Its width is typical of each place and the same for every input.");
    }
    if (truth !== null) {
      let off = 0, size = 0;
      for (let i = 0; i < y.length; i++) {
        off += (y[i] - truth[i]) ** 2;
        size += truth[i] ** 2;
      }
      said.push(`Dashed: the truth. Relative error of this function: ${percent(Math.sqrt(off / size))}.`);
    }
    byId("notes").textContent = said.join(" ");
  }

  function numbers() {
    const list = (values) => Array.from(values, String).join(" ");
    if (document.activeElement !== byId("values-in")) byId("values-in").value = list(x);
    byId("values-out").value = list(y);
  }
  byId("numbers").addEventListener("toggle", numbers);
  byId("values-in-label").textContent = `Inputs: ${record.inputNames.join(", ")} (${record.inputSize} values)`;
  byId("values-out-label").textContent = `Outputs: ${record.outputNames.join(", ")} (${record.outputSize} values)`;
  byId("apply").addEventListener("click", () => {
    const given = byId("values-in").value.split(/[\s,;]+/).filter((word) => word !== "").map(Number);
    const wrong = given.length !== x.length || !given.every(Number.isFinite);
    byId("refused").textContent = wrong ? `Give ${x.length} numbers, with spaces between them; got ${given.filter(Number.isFinite).length}.` : "";
    if (wrong) return;
    put(given);
  });
  function put(values, example = null) {
    x.set(values);
    changed(example);
    for (const own of inputs) own.update();
  }

  for (const example of record.examples) {
    const button = element("button", { type: "button", "aria-pressed": "false" }, example.label);
    button.example = example;
    button.addEventListener("click", () => show(example));
    byId("examples").append(button);
  }
  function show(example) { put(array(example.values), example); }

  byId("title").textContent = record.title;
  byId("expected").textContent = record.error === null
    ? "The expected error is not known."
    : `Expected relative error on new functions like the training functions: ${percent(record.error)}` +
      `${record.errorKind ? ` (${record.errorKind})` : ""}.`;

  // Links: to an example with its truth, or to all values of an input. A link to anything else changes nothing.

  const sharing = {
    words: "Copy a link to this input",
    link: () => (shown ? Links.written("example", [record.examples.indexOf(shown)]) : Links.written("u", x)),
    train: () => true, // the tab that trains follows the link when it is there
  };
  function follow() {
    const link = Links.read(location.hash);
    if (link === null) return false;
    const { name, values } = link;
    if (name === "example" && values?.length === 1 && values[0] in record.examples) show(record.examples[values[0]]);
    else if (name === "u" && values?.length === x.length) put(values);
    else if (!(name === "train" && record.training && values && sharing.train(values))) {
      byId("copied").textContent = "The link was not made by this page: it is ignored.";
      return false;
    }
    byId("copied").textContent = "";
    return name !== "train";
  }
  byId("copy").addEventListener("click", async () => {
    const fragment = sharing.link(), field = byId("link");
    try { history.replaceState(null, "", fragment); } catch { /* the page has no address of its own */ }
    field.value = location.href.split("#")[0] + fragment;
    field.hidden = false;
    field.select();
    byId("copied").textContent = await navigator.clipboard?.writeText(field.value).then(() => "Copied.", () => null) ?? "Copy this link:";
  });
  addEventListener("hashchange", follow);
  if (!follow()) show(record.examples[Math.min(1, record.examples.length - 1)]);
  return { record, arrays, element, setting, sharing, follow };
})();

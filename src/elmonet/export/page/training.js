// The tab that trains: settings, the matrices as pictures, errors beside the paper's, one test function.
"use strict";

if (typeof document !== "undefined") (() => {
  const { record, arrays, element, setting, sharing } = Page;
  if (!record.training) return;
  const given = record.training, array = (reference) => arrays[reference.array];
  const modes = { x: array(given.x), modesU: array(given.modesU), modesS: array(given.modesS) };
  const { Curve, text, mapped, shade } = Pictures, TESTS = 200, SHOWN = 220;
  let seed = 0, busy = false, again = false, latest = null, worker = null;

  // Two tabs
  const panels = { use: document.getElementById("use"), train: element("div", { id: "train", role: "tabpanel", "aria-labelledby": "tab-train" }) };
  panels.use.setAttribute("role", "tabpanel");
  panels.use.setAttribute("aria-labelledby", "tab-use");
  const tabs = element("div", { role: "tablist", "aria-label": "What to do" });
  const buttons = Object.entries({ use: "Use the operator", train: "Train it here" }).map(([name, words]) => {
    const tab = element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": name }, words);
    tab.addEventListener("click", () => show(name));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      show(name === "use" ? "train" : "use");
      buttons.find((own) => own.tabIndex === 0).focus();
    });
    return tab;
  });
  tabs.append(...buttons);
  panels.use.before(tabs);
  panels.use.after(panels.train);

  function show(name) {
    for (const [own, panel] of Object.entries(panels)) panel.hidden = own !== name;
    for (const tab of buttons) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    document.getElementById("numbers").hidden = name === "train";
    Object.assign(sharing, name === "train" ? settingsLink : inputLink);
    document.getElementById("copy").textContent = sharing.words;
    document.getElementById("link").hidden = true;
    document.getElementById("copied").textContent = "";
    if (name === "train" && latest === null) train();
    else if (name === "train") paint();
  }

  // Settings
  const settings = element("section", { "aria-label": "Settings" }), sliders = {};
  const explained = element("p", {}, "The branch network sees a function u, the trunk network a point x. Both are random and " +
    "stay so. Only W is learned, by one linear solve: prediction = (trunk of x) · W · (branch of u).");
  const whole = (low, high) => ({ from: (f) => Math.round(low * (high / low) ** f), to: (v) => Math.log(v / low) / Math.log(high / low), words: String });
  const power = { from: (f) => 10 ** (-8 + 10 * f), to: (v) => (Math.log10(v) + 8) / 10, words: (v) => v.toExponential(1) };
  for (const [name, label, scale, start] of [
    ["p1", "p1, random features of u", whole(5, 1000), 300], ["p2", "p2, random features of x", whole(2, 100), 100],
    ["N", "N, training functions", whole(10, 1000), 1000], ["alpha", "alpha, the ridge", power, 1e-4],
  ]) {
    const [row, slider] = setting(label, 0, 1, scale.to(start), (f) => scale.words(scale.from(f)), "any");
    sliders[name] = { slider, scale };
    slider.addEventListener("input", train);
    settings.append(row);
  }
  const settle = (values) => {
    for (const [name, value] of Object.entries(values)) {
      sliders[name].slider.value = sliders[name].scale.to(value);
      sliders[name].slider.dispatchEvent(new Event("input"));
    }
  };
  const pressed = (words, action) => {
    const button = element("button", { type: "button" }, words);
    button.addEventListener("click", action);
    return button;
  };
  settings.append(element("p", {},
    pressed("Draw networks and functions again", () => { seed += 1; train(); }),
    pressed("The paper's sizes", () => settle({ p1: 1000, p2: 100, N: 1000 })),
    pressed("p1 = N: a peak of the error", () => settle({ p1: 300, p2: 100, N: 300, alpha: 1e-8 }))));

  // Results
  const table = element("table", {}, element("caption", {}, "Error on new functions"));
  const heads = element("tr", {}, ...["method", "error", "seconds of training"].map((words) => element("th", { scope: "col" }, words)));
  const exact = (v) => `${Number((100 * v).toPrecision(3))}\u00a0%`;
  const rowOf = (...cells) => element("tr", {}, ...cells.map((words, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, words)));
  const here = rowOf("here, now", "", ""), expected = rowOf("here, exact leave-one-out: from the training functions alone", "", "");
  table.append(element("thead", {}, heads), element("tbody", {}, here, expected,
    ...given.paper.map((row) => rowOf(`the paper: ${row.model}`, exact(row.error), text(row.seconds)))));
  const state = element("p", { role: "status", class: "hint" });

  // Pictures of matrices: every SHOWN-th value is enough.
  function matrix(label, hint) {
    const canvas = element("canvas", { role: "img" }), note = element("p", { class: "hint" }, hint);
    const figure = element("figure", { class: "matrix" }, element("figcaption", {}, label), canvas, note);
    const draw = (values, rows, columns) => {
      const h = Math.min(rows, SHOWN), w = Math.min(columns, SHOWN), some = new Float64Array(h * w);
      for (let i = 0; i < h; i++) for (let j = 0; j < w; j++) some[i * w + j] = values[Math.floor((i * rows) / h) * columns + Math.floor((j * columns) / w)];
      const sizes = some.map(Math.abs).sort(), top = sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
      [canvas.width, canvas.height] = [w, h];
      const context = canvas.getContext("2d"), pixels = context.createImageData(w, h);
      const signed = some.some((v) => v < 0);
      for (let i = 0; i < some.length; i++) (signed ? shade : mapped)(some[i] / top, pixels.data, 4 * i);
      context.putImageData(pixels, 0, 0);
      figure.firstChild.textContent = `${label}: ${rows} × ${columns}`;
      canvas.setAttribute("aria-label", `${label}, ${rows} by ${columns}, values up to ${text(top)}`);
    };
    return { figure, draw };
  }
  const trunk = matrix("Trunk T", "Rows: points. Columns: random features of x."), W = matrix("W", "What is learned. Blue is negative, red positive.");
  const branch = matrix("Branch B", "Rows: random features of u. Columns: training functions.");

  // One test function
  const part = { label: "s", axis: "x", kind: "curve", x: modes.x, low: -1, high: 1, levels: [] };
  const [input, output] = [new Curve({ ...part, label: "u", low: -2.5, high: 2.5 }, true), new Curve(part, false)];
  for (const [picture, label] of [[input, "A test function u"], [output, "Its output: prediction, and the truth dashed"]]) {
    picture.canvas.classList.remove("drawn");
    picture.canvas.removeAttribute("tabindex");
    picture.canvas.setAttribute("role", "img");
    picture.canvas.setAttribute("aria-label", label);
  }
  const [choose, chosen] = setting("Test function", 0, TESTS - 1, 0, text, 1);
  chosen.addEventListener("input", paint);
  const shown = (words, picture) => element("figure", {}, element("figcaption", {}, words), picture.canvas);

  panels.train.append(explained,
    element("div", { class: "two" }, element("div", {}, settings, table, state),
      element("div", {}, choose, shown("u", input), shown("s: prediction, and the truth dashed", output))),
    element("div", { class: "matrices" }, trunk.figure, W.figure, branch.figure));

  function paint() {
    if (latest === null) return;
    const m = modes.x.length, i = chosen.valueAsNumber, of = (values) => values.subarray(i * m, (i + 1) * m);
    input.draw(of(latest.inputs), null, null);
    output.draw(of(latest.predicted), null, of(latest.truth));
  }

  function trained(found) {
    busy = false;
    if (found.failed) state.textContent = "The system is singular at this alpha: raise alpha.";
    else {
      latest = found;
      window.trained = found; // for those who look into the console
      here.children[1].textContent = exact(found.error);
      here.children[2].textContent = text(found.seconds);
      expected.children[1].textContent = exact(found.loo);
      state.textContent = `W has ${found.p2} × ${found.p1} values, solved in ${text(found.seconds)} s; drawing functions and features took ${text(found.features)} s.`;
      trunk.draw(found.T, modes.x.length, found.p2);
      W.draw(found.W, found.p2, found.p1);
      branch.draw(Trainer.transposed(found.F, found.N, found.p1), found.p1, found.N);
      paint();
    }
    if (again) train();
  }

  function train() {
    again = busy;
    if (busy) return;
    busy = true;
    state.textContent = "Training …";
    const values = Object.fromEntries(Object.entries(sliders).map(([name, { slider, scale }]) => [name, scale.from(slider.valueAsNumber)]));
    const task = { ...modes, ...values, seed, tests: TESTS };
    if (worker === null && typeof Worker !== "undefined") {
      const code = `"use strict"; const Trainer = (${trainer})(); onmessage = (event) => postMessage(Trainer.train(event.data));`;
      worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
      worker.onmessage = (event) => trained(event.data);
    }
    if (worker) worker.postMessage(task);
    else setTimeout(() => trained(Trainer.train(task)), 0);
  }

  const Trainer = trainer();
  const inputLink = { words: sharing.words, link: sharing.link };
  const settingsLink = {
    words: "Copy a link to these settings",
    link: () => Links.written("train", [...Object.values(sliders).map(({ slider, scale }) => scale.from(slider.valueAsNumber)), seed]),
  };
  sharing.train = ([p1, p2, N, alpha, drawn, ...more]) => {
    if (!(p1 > 0 && p2 > 0 && N > 0 && alpha > 0 && Number.isSafeInteger(drawn) && drawn >= 0) || more.length) return false;
    seed = drawn;
    settle({ p1, p2, N, alpha });
    show("train");
    return true;
  };
  show("use");
  Page.follow();
})();

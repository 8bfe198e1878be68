"""Wall time of live pages: from a mouse event to the frame that shows the new prediction.

``python benchmarks/live_pages.py`` fits the pages of the site, and one with p1 = 2000 and M = 100, draws on
each in a headless Chromium, and compares its numbers with those of Python.
"""

import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from elmonet import SLFN, ELMDeepONet, problems

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
from scripts import live_pages  # noqa: E402
from tests.export.conftest import Browser  # noqa: E402

STROKES = 40
# The listener is the first to hear an event, and its frame the first to be drawn: a message that it sends
# then is delivered after the frame.
WATCH = """
window.times = [];
addEventListener("pointermove", (event) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => times.push(performance.now() - event.timeStamp);
  channel.port2.postMessage(0);
}), { capture: true });
"""


def large(path):
    """The size that is bounded: p1 = 2000, M = 100."""
    data = problems.nonlinear_ode(n_train=1000, n_test=6)
    live_pages._write(ELMDeepONet(SLFN(2000, scale=0.1), random_state=0), data, path, "p1 = 2000, M = 100")


def stroke(browser, page):
    """Draw strokes on a page; return milliseconds of each, and flat inputs and outputs that it shows."""
    browser.open(page)
    browser.frame()
    browser.run(WATCH)
    browser.run("document.querySelector('canvas.drawn').scrollIntoView({block: 'center'})")
    box = browser.run("document.querySelector('canvas.drawn').getBoundingClientRect().toJSON()")
    rng = np.random.default_rng(0)
    for _ in range(STROKES):
        x, y = 0.2 + 0.5 * rng.random(2)
        at = {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"], "button": "left"}
        for kind in ("mousePressed", "mouseMoved", "mouseReleased"):
            browser.send("Input.dispatchMouseEvent", type=kind, buttons=1, clickCount=1, **at)
        browser.frame()
        browser.frame()
    browser.run("document.getElementById('numbers').open = true")
    browser.frame()
    values = "Array.from(document.querySelectorAll('#numbers textarea'), (own) => own.value)"
    shown = [np.array(text.split(), float) for text in browser.run(values)]
    computed = browser.run("document.getElementById('time').textContent")
    return np.array(browser.run("times")), shown, float(re.search(r"([\d.]+) ms", computed)[1])


def main():
    """Print a line for each page."""
    models = {}
    write = live_pages._write

    def kept(model, data, path, title, **where):
        write(model, data, path, title, **where)
        models[path.stem] = model, data.u_test.shape[1:]

    live_pages._write = kept
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        browser = Browser(Path(folder) / "profile")
        for name, make in {**live_pages.PAGES, "large": large}.items():
            page = Path(folder) / f"{name}.html"
            make(page)
            times, (inputs, outputs), computed = stroke(browser, page)
            line = f"{name:15} {page.stat().st_size / 1e6:5.2f} MB   stroke to frame: "
            line += f"median {np.median(times):5.1f} ms, "
            line += f"95 % {np.quantile(times, 0.95):5.1f}, largest {times.max():5.1f}; "
            line += f"prediction {computed:.1f} ms"
            if name in models:
                model, shape = models[name]
                expected = np.ravel(model.predict(inputs.reshape(1, *shape)))
                line += f"; differs by {np.abs(outputs - expected).max() / np.abs(expected).max():.0e}"
            print(line, flush=True)
        browser.close()


if __name__ == "__main__":
    main()

"""The pictures of docs/your-data.md: arrays as boxes, and above them the functions in their rows."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from scripts.shared import FIGURE_FOLDER

WIDTH, HEIGHT = 720, 300
IN, OUT, PLACE, HIGHLIGHT, GREY = "#3b6fb6", "#2e8b57", "#7a5ca8", "#f2a33a", "#666666"
SKETCH, BOX = (182, 100), (56, 84)  # bottom and height of the two rows of a picture


def u(t):
    """An input function on [0, 1]."""
    return 0.8 * np.sin(2 * np.pi * t + 0.5) + 0.25 * np.cos(5 * np.pi * t)


def s(t):
    """An output function."""
    return 0.9 * np.cos(np.pi * t + 0.4) + 0.3 * np.sin(2.5 * np.pi * t)


class Picture:
    """One picture; positions and sizes are in pixels."""

    def __init__(self, name):
        self.name = name
        self.figure = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
        self.axes.axis("off")

    def save(self):
        """Write the PNG file and close the figure."""
        self.figure.savefig(FIGURE_FOLDER / f"data_{self.name}.png", dpi=100, metadata={"Software": None})
        plt.close(self.figure)

    def text(self, x, y, what, color="black", size=10, **settings):
        """Write text centred at (x, y)."""
        settings = {"ha": "center", "va": "center", "fontsize": size, "color": color} | settings
        self.axes.text(x, y, what, **settings)

    def code(self, x, y, what, color="black", size=9, **settings):
        """Write code centred at (x, y)."""
        self.text(x, y, what, color, size, family="monospace", **settings)

    def arrow(self, start, end, color=GREY, style="-|>", **settings):
        """Draw an arrow."""
        settings = {"mutation_scale": 11, "lw": 1.2, "shrinkA": 0, "shrinkB": 0} | settings
        self.axes.add_patch(FancyArrowPatch(start, end, arrowstyle=style, color=color, **settings))

    def array(
        self,
        x,
        w,
        title,
        color,
        *,
        rows="N",
        columns="",
        sheets=1,
        depth="",
        lit=(),
        cells=None,
        y=None,
        h=None,
        size=9,
    ):
        """Draw an array with the names of its axes; `sheets` make a third axis, `lit` rows stand out."""
        y, h = BOX[0] if y is None else y, BOX[1] if h is None else h
        n = cells or (7, max(1, round(w / 13)))
        for sheet in range(sheets - 1, -1, -1):
            dx = dy = 7 * sheet
            self.axes.add_patch(Rectangle((x + dx, y + dy), w, h, fc="white", ec=color, lw=1.3))
            self.axes.add_patch(Rectangle((x + dx, y + dy), w, h, fc=color, alpha=0.13, ec="none"))
        for i in range(1, n[0]):
            self.axes.plot([x, x + w], [y + h * i / n[0]] * 2, color=color, lw=0.5, alpha=0.5)
        for j in range(1, n[1]):
            self.axes.plot([x + w * j / n[1]] * 2, [y, y + h], color=color, lw=0.5, alpha=0.5)
        for row in lit:
            top = y + h - h * (row + 1) / n[0]
            self.axes.add_patch(Rectangle((x, top), w, h / n[0], fc=HIGHLIGHT, alpha=0.75, ec="none"))
        self.text(x - 11, y + h / 2, rows, color, style="italic")
        self.text(x + w / 2, y - 10, columns, color, style="italic")
        if sheets > 1:
            self.text(x + w + 7 * sheets + 4, y + h + 7 * sheets - 12, depth, color, style="italic")
        self.code(x + w / 2, y - 28, title, size=size)

    def ragged(self, x, widths, color, *, y=None, row=12, lit=(), title=""):
        """Draw a list of arrays of different lengths."""
        y = BOX[0] + BOX[1] if y is None else y
        for i, width in enumerate(widths):
            low = y - (i + 1) * row
            fill = HIGHLIGHT if i in lit else color
            self.axes.add_patch(Rectangle((x, low + 1.5), width, row - 3, fc="white", ec=color, lw=1.0))
            self.axes.add_patch(
                Rectangle(
                    (x, low + 1.5), width, row - 3, fc=fill, alpha=0.75 if i in lit else 0.15, ec="none"
                )
            )
        self.code(x + max(widths) / 2, BOX[0] - 28, title, size=8.5)

    def sketch(self, x, w, curves, *, label="", axis="x", y=None, h=None):
        """Draw curves over [0, 1]: a list of (function, sample points or None, color)."""
        y, h = SKETCH[0] if y is None else y, SKETCH[1] if h is None else h
        self.axes.plot([x, x + w], [y + 6, y + 6], color=GREY, lw=0.8)
        self.text(x + w + 8, y + 6, axis, GREY, 9, style="italic")
        t = np.linspace(0, 1, 200)
        for f, samples, color in curves:
            self.axes.plot(x + w * t, y + h * (0.53 + 0.33 * f(t)), color=color, lw=1.3)
            if samples is not None:
                self.axes.plot(x + w * samples, y + h * (0.53 + 0.33 * f(samples)), "o", color=color, ms=3.6)
                self.axes.plot(x + w * samples, np.full(len(samples), y + 6), "|", color=GREY, ms=5, mew=0.8)
        self.text(x + w / 2, y + h + 7, label, curves[0][2] if curves else "black", 9)

    def image(self, x, w, values, cmap, *, label="", dots=None, y=None, color="black"):
        """Draw a function of the plane as a square image, with a grid of dots if asked for."""
        y = SKETCH[0] + 2 if y is None else y
        self.axes.imshow(
            values.T, extent=(x, x + w, y, y + w), origin="lower", cmap=cmap, zorder=1, aspect="auto"
        )
        self.axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
        if dots is not None:
            centres = (np.arange(dots) + 0.5) / dots
            X, Y = np.meshgrid(centres, centres)
            self.axes.plot(x + w * X.ravel(), y + w * Y.ravel(), ".", color="black", ms=2.5, zorder=2)
        self.text(x + w / 2, SKETCH[0] + SKETCH[1] + 7, label, color, 9)

    def operator(self, start, end):
        """Draw the arrow of G, from an input function to its output function."""
        y = SKETCH[0] + SKETCH[1] / 2
        self.arrow((start, y), (end, y), "black", lw=1.4)
        self.text((start + end) / 2, y + 11, "G", style="italic", size=11)


def lift_row(picture, x, row, color=HIGHLIGHT):
    """Draw an arrow from a row of a box to the sketch above."""
    top = BOX[0] + BOX[1] * (1 - row / 7)
    picture.arrow((x, top), (x, SKETCH[0] - 2), color)


def fields(n=40):
    """Return a rough input and a smooth output on an n x n grid."""
    t = np.linspace(0, 1, n)
    X, Y = np.meshgrid(t, t, indexing="ij")
    rough = np.sin(5 * X + 1) * np.cos(6 * Y) + 0.6 * np.sin(9 * X * Y + 2)
    return rough, np.sin(np.pi * X) * np.sin(np.pi * Y) * (1 + 0.4 * np.sin(3 * X - 2 * Y))


SENSORS, POINTS = np.linspace(0, 1, 11), np.linspace(0, 1, 9)


def aligned():
    p = Picture("aligned")
    p.sketch(40, 150, [(u, SENSORS, IN)], label="an input function, at m sensors")
    p.sketch(290, 150, [(s, POINTS, OUT)], label="its output function, at M points", axis="y")
    p.operator(212, 278)
    p.array(40, 150, "u (N, m)", IN, columns="m", lit=[1])
    p.array(290, 150, "s (N, M)", OUT, columns="M", lit=[1])
    lift_row(p, 115, 1)
    lift_row(p, 365, 1)
    p.array(560, 30, "points (M, d)", PLACE, rows="M", columns="d", cells=(9, 1))
    p.arrow((556, 132), (462, 190), PLACE, connectionstyle="arc3,rad=0.15")
    p.text(640, 108, "the points,\none per row", PLACE, 9)
    p.code(600, 250, "fit(u, s, points=points)")
    p.text(600, 228, "row i of s belongs to row i of u", GREY, 9)
    p.save()


def components():
    p = Picture("components")

    def second(t):
        return -0.7 * s(1 - t) + 0.1

    p.sketch(40, 130, [(u, SENSORS, IN)], label="an input function")
    p.sketch(250, 130, [(s, POINTS, OUT), (second, POINTS, "#b5483a")], label="c output functions", axis="y")
    p.operator(190, 240)
    p.array(40, 130, "u (N, m)", IN, columns="m", lit=[1])
    p.array(250, 116, "s (N, M, c)", OUT, columns="M", lit=[1], sheets=2, depth="c")
    lift_row(p, 105, 1)
    lift_row(p, 308, 1)
    p.text(432, 98, "or", size=11)
    p.array(474, 86, '{"hares": (N, M),', OUT, columns="M", lit=[1], size=8)
    p.array(604, 86, '"lynxes": (N, M)}', "#b5483a", columns="M", lit=[1], size=8)
    p.code(560, 250, "fit(u, s, points=points)")
    p.text(560, 228, "names come back from predict", GREY, 9)
    p.save()


def several():
    p = Picture("several")
    p.sketch(40, 130, [(u, SENSORS, IN)], label="one input function")
    p.text(244, 236, "k = 0.7", "#1b8a9a", 12)
    p.text(244, SKETCH[0] + SKETCH[1] + 7, "another, or a number", "#1b8a9a", 9)
    p.sketch(370, 140, [(s, POINTS, OUT)], label="the output function", axis="y")
    p.operator(296, 354)
    p.array(40, 130, '{"f": (N, m),', IN, columns="m", lit=[1])
    p.array(236, 16, '"k": (N,)}', "#1b8a9a", lit=[1], cells=(7, 1))
    p.array(370, 140, "s (N, M)", OUT, columns="M", lit=[1])
    lift_row(p, 105, 1)
    lift_row(p, 244, 1)
    lift_row(p, 440, 1)
    p.code(625, 250, 'fit({"f": f, "k": k},', size=8.5)
    p.code(625, 236, "    s, points=points)", size=8.5)
    p.array(600, 30, "points (M, d)", PLACE, rows="M", columns="d", cells=(9, 1))
    p.save()


def images():
    p = Picture("images")
    rough, smooth = fields()
    p.image(60, 94, np.kron(rough[::5, ::5], np.ones((5, 5))), "Blues", label="an image", color=IN)
    p.image(300, 94, smooth, "Greens", label="a field on a grid", dots=7, color=OUT)
    p.operator(180, 280)
    p.array(60, 84, "u (N, H, W)", IN, rows="H", columns="W", sheets=4, depth="N", cells=(8, 8), h=72)
    p.code(102, 12, "or (N, C, H, W)", size=8.5)
    p.array(300, 84, "s (N, H, W)", OUT, rows="H", columns="W", sheets=4, depth="N", cells=(7, 7), h=72)
    p.array(
        540, 84, "points (H, W, d)", PLACE, rows="H", columns="W", sheets=2, depth="d", cells=(7, 7), h=72
    )
    p.arrow((114, 153), (111, 184), HIGHLIGHT)
    p.arrow((354, 153), (351, 184), HIGHLIGHT)
    p.code(585, 250, "fit(u, s, points=points)")
    p.text(585, 228, "grids of u and s may differ", GREY, 9)
    p.arrow((536, 140), (404, 200), PLACE, connectionstyle="arc3,rad=0.12")
    p.save()


def unaligned():
    p = Picture("unaligned")
    rng = np.random.default_rng(4)
    first, second = np.sort(rng.random(6)), np.sort(rng.random(9))

    def other(t):
        return 0.5 * s(1 - t) - 0.5

    p.sketch(40, 130, [(u, SENSORS, IN)], label="inputs, at the same sensors")
    p.sketch(
        260,
        150,
        [(s, first, OUT), (other, second, "#8aa62b")],
        label="outputs, each at its own points",
        axis="y",
    )
    p.operator(192, 246)
    p.array(40, 130, "u (N, m)", IN, columns="m", lit=[1])
    lift_row(p, 105, 1)
    widths = np.array([44, 60, 36, 76, 52, 68, 40])
    p.ragged(244, widths, OUT, lit=[1], title="s: list")
    p.ragged(356, widths, PLACE, lit=[1], title="points: list")
    p.arrow((274, 130), (310, SKETCH[0] - 2), HIGHLIGHT)
    p.text(462, 98, "or", size=11)
    for x, name, color in ((512, "index", GREY), (584, "points", PLACE), (656, "values", OUT)):
        p.array(x, 20 if name != "points" else 30, name, color, rows="K", columns="", cells=(12, 1), h=116)
    for i, function in enumerate("000111122333"):
        p.code(522, 56 + 116 * (11.5 - i) / 12, function, size=7)
    p.text(599, 46, "d", PLACE, style="italic")
    p.code(590, 268, "fit(u, s, points=points)", size=8.5)
    p.text(590, 249, "or", GREY, 9)
    p.code(590, 230, "fit(u, Scattered(index,", size=8.5)
    p.code(590, 216, "         points, values))", size=8.5)
    p.save()


def missing():
    p = Picture("missing")
    known, gone = POINTS[[0, 1, 2, 5, 6, 8]], POINTS[[3, 4, 7]]
    p.sketch(40, 150, [(u, SENSORS, IN)], label="an input: all values known")
    p.sketch(300, 150, [(s, known, OUT)], label="its output: some values missing", axis="y")
    heights = SKETCH[0] + SKETCH[1] * (0.53 + 0.33 * s(gone))
    p.axes.plot(300 + 150 * gone, heights, "o", mfc="white", mec=OUT, ms=5)
    p.operator(214, 284)
    p.array(40, 150, "u (N, m)", IN, columns="m", lit=[1])
    p.array(300, 153, "s (N, M), NaN where missing", OUT, columns="M", lit=[1], cells=(7, 9))
    rng = np.random.default_rng(1)
    for i in range(7):
        for j in (3, 4, 7) if i == 1 else rng.choice(9, 2, replace=False):
            left, low = 300 + 17 * j, BOX[0] + 12 * (6 - i)
            p.axes.add_patch(Rectangle((left, low), 17, 12, fc="white", ec=OUT, lw=0.7))
            p.text(left + 8.5, low + 5.5, "NaN", GREY, 4.8)
    lift_row(p, 115, 1)
    lift_row(p, 393, 1)
    p.array(570, 30, "points (M, d)", PLACE, rows="M", columns="d", cells=(9, 1))
    p.code(600, 256, 'ELMDeepONet(missing="ignore")', size=8.5)
    p.code(600, 238, ".fit(u, s, points=points)", size=8.5)
    p.text(600, 214, "no NaN in u", GREY, 9)
    p.save()


def weights():
    p = Picture("weights")
    rng = np.random.default_rng(2)
    p.sketch(40, 140, [(u, SENSORS, IN)], label="an input function")
    p.operator(200, 262)
    p.axes.plot([280, 430], [SKETCH[0] + 6] * 2, color=GREY, lw=0.8)
    t = np.linspace(0, 1, 14)
    for shift, noise, color in ((0.35, 0.03, OUT), (-0.35, 0.28, "#8aa62b")):
        level = SKETCH[0] + SKETCH[1] * (0.53 + 0.25 * s(t) + 0.3 * shift)
        p.axes.plot(280 + 150 * t, level, color=color, lw=1)
        noisy = level + noise * 30 * rng.normal(size=14)
        p.axes.plot(280 + 150 * t, noisy, "o", color=color, ms=3.6)
    p.text(355, SKETCH[0] + SKETCH[1] + 7, "outputs of different precision", OUT, 9)
    p.array(40, 140, "u (N, m)", IN, columns="m")
    p.array(280, 150, "s (N, M)", OUT, columns="M")
    p.array(500, 26, "sample_weight (N,)", GREY, cells=(7, 1))
    values = (1.0, 0.04, 1.0, 1.0, 0.04, 1.0, 0.04)
    for i, value in enumerate(values):
        low = BOX[0] + 12 * (6 - i)
        p.text(513, low + 5.5, f"{value:g}", size=7)
        for x, w in ((40, 140), (280, 150)):
            p.axes.add_patch(
                Rectangle((x, low), w, 12, fc=HIGHLIGHT, alpha=0.7 if value == 1 else 0.12, ec="none")
            )
    p.code(590, 250, "fit(u, s, points=points,", size=9)
    p.code(590, 236, "    sample_weight=weight)", size=9)
    p.text(598, 210, "weight 2 is the function twice;\n1 / variance for noise", GREY, 9)
    p.save()


def sensors():
    p = Picture("sensors")
    rng = np.random.default_rng(7)
    own, others = np.sort(rng.random(7)), np.sort(rng.random(12))

    def other(t):
        return -0.6 * u(t) - 0.2

    p.sketch(40, 160, [(u, own, IN), (other, others, "#1b8a9a")], label="inputs, each at its own sensors")
    p.arrow((226, 232), (312, 232), "black", lw=1.4)
    p.code(269, 246, "resample", size=8.5)
    p.sketch(340, 160, [(u, SENSORS, IN), (other, SENSORS, "#1b8a9a")], label="all at the same sensors")
    widths = np.array([50, 72, 40, 88, 60, 80, 46])
    p.ragged(40, widths, IN, title="values: list")
    p.ragged(156, widths, PLACE, title="sensors: list")
    p.arrow((262, 98), (320, 98), "black", lw=1.4)
    p.array(345, 150, "u (N, m)", IN, columns="m", cells=(7, 11))
    p.code(612, 256, "fit(values, s, ...)", color="#b5483a")
    p.text(612, 240, "is refused", "#b5483a", 9)
    p.code(612, 208, "u = resample(values,", size=8.5)
    p.code(612, 194, "      sensors, x)", size=8.5)
    p.code(612, 176, "fit(u, s, ...)", size=8.5)
    p.array(590, 30, "x (m, d)", PLACE, rows="m", columns="d", cells=(11, 1))
    p.save()


def draw_all():
    """Draw every picture."""
    FIGURE_FOLDER.mkdir(exist_ok=True)
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        for draw in (aligned, components, several, images, unaligned, missing, weights, sensors):
            draw()

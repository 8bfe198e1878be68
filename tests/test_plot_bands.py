"""Pictures of bands: what is drawn is what the model says, and nothing covers anything else."""

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from elmonet import (
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    ElmonetError,
    InputError,
    Linear,
    MarchingELMDeepONet,
    NotFittedError,
    OperatorData,
    Scattered,
    plot,
    relative_l2,
)
from elmonet.uncertainty.calibration import Calibration

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

X = np.linspace(0, 1, 40)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def waves(n, seed, x=X):
    """Functions a sin(6x) + b, and the squares of what a and b scale, which no linear branch can fit."""
    a, b = np.random.default_rng(seed).standard_normal((2, n, 1))
    return a * np.sin(6 * x) + b, a**2 * x + b * np.cos(3 * x)


U, S = waves(60, seed=0)
U_NEW, S_NEW = waves(30, seed=1)


@pytest.fixture(scope="module")
def line():
    return ELMDeepONet(Linear() + SLFN(60, random_state=0)).fit(U, S, points=X[:, None])


@pytest.fixture(scope="module")
def plane():
    """On a grid of 6 x 8: the outer product of two functions."""
    x, y = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 2, 8), indexing="ij")
    points = np.stack([x, y], axis=-1)

    def fields(S):
        return S[:, :6, None] + S[:, None, 8:16] ** 2

    model = ELMDeepONet(Linear() + SLFN(60, random_state=0)).fit(U, fields(S), points=points)
    return model, fields(S_NEW), points.reshape(-1, 2)


def drawn_at(figure):
    """Lay everything out; the renderer."""
    figure.canvas.draw()
    return figure.canvas.get_renderer()


def assert_in_figure_and_apart(figure):
    """No title, label or legend is cut off or lies on another, or on a line."""
    renderer = drawn_at(figure)
    texts = []
    for ax in figure.axes:
        parts = [ax.title, ax.xaxis.label, ax.yaxis.label, ax.get_legend()]
        texts += [part.get_window_extent(renderer) for part in parts if part is not None]
        legend = ax.get_legend()
        if legend is not None:
            box = legend.get_window_extent(renderer)
            for one in ax.lines:
                x, y = np.broadcast_arrays(*one.get_data())
                known = np.isfinite(y.astype(float))
                at = ax.transData.transform(np.column_stack([x, y])[known])
                assert not any(box.contains(*place) for place in at), one.get_label()
    boxes = [box for box in texts if box.width > 0 and box.height > 0]
    for i, box in enumerate(boxes):
        assert box.x0 >= -2
        assert box.y0 >= -2
        assert box.x1 <= figure.bbox.x1 + 2
        assert box.y1 <= figure.bbox.y1 + 2
        assert not any(box.overlaps(other) for other in boxes[:i])


def filled(ax):
    """The lower and the upper edge of what `fill_between` drew, each at increasing x."""
    corners = ax.collections[0].get_paths()[0].vertices
    n = (len(corners) - 3) // 2
    return corners[1 : n + 1, 1], corners[n + 2 : -1, 1][::-1]


class TestBand:
    @pytest.mark.parametrize("of", ["points", "function"])
    def test_draws_what_the_model_says(self, line, of):
        ax = plot.band(line, U_NEW, S_NEW, index=4, coverage=0.8, of=of)
        low, high = line.interval(U_NEW[4:5], 0.8, of)
        predicted = line.predict(U_NEW[4:5])[0]
        for axes, middle in zip(ax.figure.axes, (0, predicted), strict=True):
            np.testing.assert_allclose(filled(axes), (low[0] - middle, high[0] - middle), atol=1e-12)
            truth, dashed = axes.lines
            np.testing.assert_allclose(truth.get_ydata(), S_NEW[4] - middle)
            np.testing.assert_allclose(dashed.get_ydata(), predicted - middle)
        assert ax is ax.figure.axes[0]
        words = {"points": "80 % of all values", "function": "80 % of functions"}
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [words[of], "truth", "prediction"]
        out = int(((S_NEW[4] < low[0]) | (S_NEW[4] > high[0])).sum())
        error = relative_l2(line.predict(U_NEW[4:5]), S_NEW[4:5])
        lies = f"{out} of 40 outside" if out else "all inside"
        assert ax.get_title() == f"function 4: relative error {error:.2g}, {lies}"
        assert_in_figure_and_apart(ax.figure)

    def test_counts_what_lies_outside(self, line):
        s = line.predict(U_NEW[:1])
        assert plot.band(line, U_NEW, s).get_title().endswith("all inside")
        s[0, [3, 7]] += 1e6
        s[0, 8] -= 1e6
        s[0, 10:20] = np.nan
        assert plot.band(line, U_NEW, s).get_title().endswith("3 of 30 outside")

    def test_without_the_truth(self, line):
        for s in (None, np.full((1, 40), np.nan)):
            ax = plot.band(line, U_NEW, s)
            assert ax.get_title() == "function 0"
            assert [one.get_label() for one in ax.lines] == ["prediction"]
            assert_in_figure_and_apart(ax.figure)

    def test_at_other_points_in_any_order(self, line):
        there = np.array([0.9, 0.1, 0.5])
        ax = plot.band(line, U_NEW, points=there[:, None])
        low, high = line.interval(U_NEW[:1], 0.9, "function", points=there[:, None])
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0.1, 0.5, 0.9])
        np.testing.assert_allclose(filled(ax), (low[0, [1, 2, 0]], high[0, [1, 2, 0]]))

    def test_one_point(self):
        model = ELMDeepONet().fit(U, S[:, 20:21], points=X[20:21, None])
        ax = plot.band(model, U_NEW, S_NEW[:, 20:21])
        low, high = model.interval(U_NEW[:1], of="function")
        (bar,) = ax.collections[0].get_segments()
        np.testing.assert_allclose(bar[:, 1], [low[0, 0], high[0, 0]])

    @pytest.mark.parametrize("width", [3.0, 9.0])
    def test_in_axes_of_any_width(self, line, width):
        figure, ax = pyplot.subplots(figsize=(width, 2.8), layout="constrained")
        assert plot.band(line, U_NEW, S_NEW, 2, ax) is ax
        assert figure.axes == [ax]
        assert ax.get_xlabel() == "x"
        assert_in_figure_and_apart(figure)

    @pytest.mark.parametrize("width", [3.0, 9.0])
    def test_long_names(self, width):
        name = "horizontal velocity of the fluid relative to the moving wall"
        model = ELMDeepONet().fit(U, {name: S, "p": -S}, points=X[:, None])
        figure, ax = pyplot.subplots(figsize=(width, 3), layout="constrained")
        plot.band(model, U_NEW, {"p": -S_NEW, name: S_NEW}, 0, ax)
        assert ax.get_title().replace("\n", " ").startswith(f"function 0, {name}: relative error")
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), S_NEW[0])
        assert_in_figure_and_apart(figure)

    @pytest.mark.parametrize("axis", [1, 2])
    def test_components_of_an_array(self, axis):
        both, both_new = (np.stack([s, 5 + s**2], axis=axis) for s in (S, S_NEW))
        model = ELMDeepONet().fit(U, both, points=X[:, None])
        low, high = model.interval(U_NEW[:1], of="function")
        ax = plot.band(model, U_NEW, both_new, component=1)
        np.testing.assert_allclose(filled(ax), (low.take(1, axis=axis)[0], high.take(1, axis=axis)[0]))
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), 5 + S_NEW[0] ** 2)
        assert ax.get_title().startswith("function 0, component 1: ")
        alone = plot.band(model, U_NEW, 5 + S_NEW**2, component=1)  # the truth of this component alone
        np.testing.assert_array_equal(alone.lines[0].get_ydata(), 5 + S_NEW[0] ** 2)

    def test_other_models(self):
        auto = AutoELMDeepONet(layers=0, random_state=0).fit({"a": U, "b": U[:, :9]}, S, X[:, None])
        u = {"a": U_NEW, "b": U_NEW[:, :9]}
        ax = plot.band(auto, u, S_NEW, 3)
        one = {name: part[3:4] for name, part in u.items()}
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), auto.predict(one)[0])
        index = np.repeat(np.arange(60), 6)
        places = np.random.default_rng(0).random((360, 1))
        places[::6], places[1::6] = 0, 1
        values = np.array([np.interp(x, X, S[i]) for i, x in zip(index, places[:, 0], strict=True)])
        scattered = ELMDeepONet(Linear()).fit(U, Scattered(index, places, values))
        truth = plot.band(scattered, U_NEW, S_NEW, points=X[:, None]).lines[0]
        np.testing.assert_array_equal(truth.get_ydata(), S_NEW[0])
        with pytest.raises(InputError, match="give the points of the prediction"):
            plot.band(scattered, U_NEW)

    def test_refuses_what_it_cannot_draw(self, line, plane):
        model, s, _ = plane
        with pytest.raises(InputError, match=r"points \(M, 1\), got \(48, 2\). Use plot.band_field"):
            plot.band(model, U_NEW, s)
        with pytest.raises(InputError, match="index must be below the number of functions, 30; got 30"):
            plot.band(line, U_NEW, index=30)
        with pytest.raises(InputError, match="there are 2 output functions, and function 2 is asked for"):
            plot.band(line, U_NEW, S_NEW[:2], index=2)
        with pytest.raises(InputError, match="39 values for one function, and 40 points are drawn"):
            plot.band(line, U_NEW, S_NEW[:, :39])
        with pytest.raises(InputError, match="components p, q, and the model has others"):
            plot.band(line, U_NEW, {"p": S_NEW, "q": S_NEW})
        with pytest.raises(InputError, match="no component 'p'; there is only one: remove component"):
            plot.band(line, U_NEW, component="p")
        with pytest.raises(InputError, match="of must be one of 'points', 'function'"):
            plot.band(line, U_NEW, of="values")
        with pytest.raises(InputError, match="coverage must be below 1"):
            plot.band(line, U_NEW, coverage=90)
        with pytest.raises(InputError, match="at least 99 independent functions; there are 60"):
            plot.band(line, U_NEW, coverage=0.99)
        with pytest.raises(InputError, match="needs a model with bands, such as ELMDeepONet"):
            plot.band(LinearRegression().fit(U, S), U_NEW)
        with pytest.raises(NotFittedError):
            plot.band(ELMDeepONet(), U_NEW)
        with pytest.raises(InputError, match="needs 1 matplotlib axes"):
            plot.band(line, U_NEW, ax=pyplot.subplots(1, 2)[1])
        assert len(pyplot.get_fignums()) == 1


class TestBandField:
    def test_draws_prediction_half_width_and_error(self, plane):
        model, s, points = plane
        low, high = (end[0] for end in model.interval(U_NEW[5:6], 0.7))
        s = s.copy()
        s[5, 1:3, 4], s[5, 5, 0] = 2 * high[1:3, 4] - low[1:3, 4], low[5, 0] - 0.1
        axes = plot.band_field(model, U_NEW, s, 5, coverage=0.7, of="points")
        predicted = model.predict(U_NEW[5:6])[0]
        wanted = (predicted, (high - low) / 2, predicted - s[5])
        for ax, values in zip(axes, wanted, strict=True):  # the first coordinate runs to the right
            np.testing.assert_allclose(ax.collections[0].get_array(), values.T, atol=1e-12)
        outside = ((s[5] < low) | (s[5] > high)).ravel()
        assert 3 <= outside.sum() < 48
        np.testing.assert_array_equal(np.column_stack(axes[2].lines[0].get_data()), points[outside])
        error = relative_l2(predicted[None], s[5:6])
        assert [ax.get_title().replace("\n", " ") for ax in axes] == [
            "function 5: prediction",
            "half width for 70 % of all values",
            f"relative error {error:.2g}, {outside.sum()} of 48 outside",
        ]
        low, high = axes[2].collections[0].get_clim()
        assert low == -high == -np.abs(predicted - s[5]).max()
        assert_in_figure_and_apart(axes[0].figure)

    def test_without_the_truth_or_with_gaps(self, plane):
        model, s, _ = plane
        axes = plot.band_field(model, U_NEW)
        assert axes.shape == (2,)
        assert_in_figure_and_apart(axes[0].figure)
        holed = s.copy()
        holed[0, 2:4, 3:5] = np.nan
        axes = plot.band_field(model, U_NEW, holed)
        assert axes[2].collections[0].get_array().mask.sum() == 4
        assert axes[2].get_title().replace("\n", " ").endswith(("of 44 outside", "all inside"))

    def test_scattered_points_and_axes_of_a_given_width(self, plane):
        model, s, points = plane
        some = np.random.default_rng(0).permutation(48)[:30]
        for width in (3.5, 4.8, 7.5, 12):
            figure, given = pyplot.subplots(1, 3, figsize=(width, 3.4), layout="constrained")
            flat = s.reshape(30, 48)
            axes = plot.band_field(model, U_NEW, flat[:, some], 0, given, points=points[some])
            assert list(axes) == list(given)
            assert type(axes[0].collections[0]).__name__ == "TriMesh"
            assert_in_figure_and_apart(figure)

    @pytest.mark.parametrize(("layout", "width"), [("constrained", 3.5), ("compressed", 4.8)])
    def test_small_panels_keep_their_titles(self, plane, layout, width):
        model, s, points = plane
        rows = s.reshape(30, 48)
        flat = ELMDeepONet(Linear()).fit(U_NEW, rows, points=points)
        data = OperatorData(U_NEW, rows, U_NEW, rows, np.zeros((40, 2)), points, name="my_file")
        for draw in (
            lambda axes: plot.band_field(model, U_NEW, s, 5, axes),
            lambda axes: plot.field(flat, data, 5, axes),
        ):
            figure, axes = pyplot.subplots(1, 3, figsize=(width, 0.55 * width + 0.5), layout=layout)
            draw(axes)
            assert_in_figure_and_apart(figure)

    def test_refuses_a_line(self, line, plane):
        model, s, points = plane
        with pytest.raises(InputError, match=r"points \(M, 2\), got \(40, 1\). Use plot.band"):
            plot.band_field(line, U_NEW)
        with pytest.raises(InputError, match="lie on one line"):
            plot.band_field(model, U_NEW, points=points[:8])
        with pytest.raises(InputError, match="needs 3 matplotlib axes"):
            plot.band_field(model, U_NEW, s, axes=pyplot.subplots(1, 2)[1])

    def test_refuses_space(self):
        points = np.random.default_rng(0).random((40, 3))
        model = ELMDeepONet().fit(U, S, points=points)
        for draw in (plot.band, plot.band_field):
            with pytest.raises(InputError, match=r"got \(40, 3\). Ask model.interval at points on a line"):
                draw(model, U_NEW)


def a_calibration(n=50, **changes):
    stated = np.geomspace(0.01, 0.2, n)
    made = Calibration(
        asked=np.array([0.5, 0.7, 0.9]),
        points=np.array([0.55, 0.71, 0.92]),
        functions=np.array([0.45, 0.66, 0.88]),
        sharpness=0.1,
        crps=0.02,
        correlation=0.75,
        stated=stated,
        true=stated * 1.5,
    )
    return replace(made, **changes)


class TestCalibration:
    def test_draws_what_was_found_against_what_was_asked(self):
        found = a_calibration()
        ax = plot.calibration(found)
        diagonal, values, functions = ax.lines
        np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
        for drawn, coverage in ((values, found.points), (functions, found.functions)):
            np.testing.assert_allclose(drawn.get_xdata(), [50, 70, 90])
            np.testing.assert_allclose(drawn.get_ydata(), 100 * coverage)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            "by chance",
            "single values",
            "whole functions",
        ]
        assert ax.get_title() == "Bands of 50 test functions"
        assert ax.get_xlim() == ax.get_ylim()

    def test_chance_is_that_of_a_fair_coin_at_one_half(self):
        """Of 100 functions at 50 %: five are one standard deviation."""
        ax = plot.calibration(a_calibration(100, functions=np.full(3, 0.5), points=np.full(3, 0.5)))
        corners = ax.collections[0].get_paths()[0].vertices
        near = corners[np.abs(corners[:, 0] - 50) < 1][:, 1]
        np.testing.assert_allclose([near.min(), near.max()], [40, 60], atol=1)

    @pytest.mark.parametrize("width", [2.8, 7.0])
    @pytest.mark.parametrize("change", [-0.1, 0.05])
    def test_any_width_too_narrow_or_too_wide_bands(self, width, change):
        asked = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
        found = a_calibration(asked=asked, points=asked + change, functions=asked + change / 2)
        figure, ax = pyplot.subplots(figsize=(width, width), layout="constrained")
        assert plot.calibration(found, ax) is ax
        diagonal = ax.lines[0]
        diagonal.set_data(diagonal.get_data()[0][:1], diagonal.get_data()[1][:1])  # its ends lie in corners
        assert_in_figure_and_apart(figure)

    def test_of_a_model(self, line):
        found = line.calibration(U_NEW, S_NEW)
        assert plot.calibration(found).get_title() == "Bands of 30 test functions"
        np.testing.assert_array_equal(plot.stated_error(found).lines[1].get_xdata(), found.stated)

    @pytest.mark.parametrize("draw", [plot.calibration, plot.stated_error])
    def test_refuses_a_model(self, line, draw):
        with pytest.raises(InputError, match=r"what model.calibration\(.*\) gives; got ELMDeepONet"):
            draw(line)


class TestStatedError:
    def test_draws_every_function(self):
        found = a_calibration()
        ax = plot.stated_error(found)
        diagonal, dots = ax.lines
        np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
        np.testing.assert_array_equal(dots.get_xdata(), found.stated)
        np.testing.assert_array_equal(dots.get_ydata(), found.true)
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert ax.get_title() == "50 test functions: correlation 0.75"
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("stated error", "true error")

    @pytest.mark.parametrize("width", [2.8, 7.0])
    @pytest.mark.parametrize("decades", [0.2, 1, 3, 9])
    def test_numbers_on_the_axes_are_apart(self, width, decades):
        found = a_calibration(stated=np.geomspace(1e-3, 1e-3 * 10**decades, 50), true=np.full(50, 2e-3))
        figure, ax = pyplot.subplots(figsize=(width, width), layout="constrained")
        plot.stated_error(found, ax)
        assert_in_figure_and_apart(figure)
        renderer = drawn_at(figure)
        numbers = [label for label in ax.get_xticklabels() if label.get_text()]
        low, high = ax.get_xlim()
        shown = [label for label in numbers if low <= label.get_position()[0] <= high]
        boxes = [label.get_window_extent(renderer) for label in shown]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert boxes

    def test_functions_without_an_error_have_no_logarithm(self):
        found = a_calibration()
        found.true[:3] = 0
        ax = plot.stated_error(replace(found, correlation=None))
        assert len(ax.lines[1].get_xdata()) == 47
        assert ax.get_title() == "47 test functions"
        with pytest.raises(InputError, match="all errors of the test functions are zero"):
            plot.stated_error(replace(found, true=np.zeros(50)))


def test_without_matplotlib_says_what_to_install(line, plane, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plot.band(line, U_NEW),
        lambda: plot.band_field(plane[0], U_NEW),
        lambda: plot.calibration(a_calibration()),
        lambda: plot.stated_error(a_calibration()),
    ):
        with pytest.raises(ElmonetError, match=r'pip install "elmonet\[plot\]"'):
            draw()


def test_records_are_functions_of_time():
    u = np.random.default_rng(0).normal(size=(12, 50))
    s = 0.1 * np.cumsum(u, axis=1)
    model = MarchingELMDeepONet(memory=(1, 1), random_state=0).fit(u, s)
    ax = plot.band(model, list(u), list(s), index=3, of="points")
    assert ax.get_ylabel() == "s(t)"
    assert ax.figure.axes[1].get_xlabel() == "t"

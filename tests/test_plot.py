"""Figures of predictions and of model selection: what is drawn is what the model says."""

import sys
from dataclasses import replace
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from elmonet import (
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    ElmonetError,
    InputError,
    InputPart,
    Linear,
    NotFittedError,
    OperatorData,
    Pinv,
    Ridge,
    Sinusoid,
    plot,
    problems,
    relative_l2,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def line():
    return problems.antiderivative(60, 5, n_sensors=30, n_points=40)


@pytest.fixture(scope="module")
def plane():
    return problems.darcy(20, 3, n_sensors=6, n_points=12)


def fitted(data, solver=None):
    model = ELMDeepONet(Linear(), solver=solver)
    return model.fit(data.u_train, data.s_train, points=data.points)


def at(data, points):
    """The same data at some of its points, in the given order."""
    return replace(
        data,
        s_train=data.s_train[:, points],
        s_test=data.s_test[:, points],
        points=data.points[points],
    )


def drawn(axes):
    """The pixels of the figure, (height, width, 4), through a PNG file."""
    file = BytesIO()
    np.ravel(axes)[0].figure.savefig(file, format="png", dpi=50)
    file.seek(0)
    return matplotlib.image.imread(file, format="png")


def assert_not_blank(axes):
    pixels = drawn(axes)[..., :3]
    assert 0.02 < np.mean(np.any(pixels != 1, axis=2)) < 0.95


class Zero:
    """A model that knows no points and predicts zero at 120 of them."""

    def predict(self, u):
        return np.zeros((len(u), 120))


class TestPrediction:
    def test_draws_truth_and_prediction_and_the_input_below(self, line):
        model = fitted(line)
        ax = plot.prediction(model, line, index=2)
        truth, predicted = ax.lines
        np.testing.assert_array_equal(truth.get_xdata(), line.points[:, 0])
        np.testing.assert_array_equal(truth.get_ydata(), line.s_test[2])
        np.testing.assert_array_equal(predicted.get_ydata(), model.predict(line.u_test[2:3])[0])
        assert predicted.get_linestyle() == "--"
        main, below = ax.figure.axes
        assert main is ax
        np.testing.assert_array_equal(below.lines[0].get_ydata(), line.u_test[2])
        assert (ax.get_ylabel(), below.get_ylabel(), below.get_xlabel()) == ("s(x)", "u(x)", "x")
        assert_not_blank(ax)

    def test_title_tells_the_relative_error(self, line):
        model = fitted(line, Ridge(1e3))
        error = relative_l2(model.predict(line.u_test[:1]), line.s_test[:1])
        title = plot.prediction(model, line).get_title()
        assert title == f"antiderivative, test 0: relative error {error:.2g}"
        nameless = replace(line, name="")
        assert plot.prediction(model, nameless).get_title().startswith("test function 0: ")

    def test_uses_only_the_given_axes_and_makes_no_figure(self, line):
        figure, ax = pyplot.subplots()
        assert plot.prediction(fitted(line), line, ax=ax) is ax
        assert figure.axes == [ax]
        assert pyplot.get_fignums() == [figure.number]
        assert ax.get_xlabel() == "x"
        assert_not_blank(ax)

    def test_sorts_points_and_sensors(self, line):
        rng = np.random.default_rng(0)
        mixed, order = at(line, rng.permutation(40)), rng.permutation(30)
        mixed = replace(
            mixed,
            u_train=line.u_train[:, order],
            u_test=line.u_test[:, order],
            sensors=line.sensors[order],
        )
        ax, below = plot.prediction(fitted(mixed), mixed).figure.axes
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), line.points[:, 0])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), line.s_test[0])
        np.testing.assert_array_equal(below.lines[0].get_xdata(), line.sensors[:, 0])
        np.testing.assert_array_equal(below.lines[0].get_ydata(), line.u_test[0])

    def test_predicts_at_the_points_of_the_data(self, line):
        model = ELMDeepONet(Linear(), Sinusoid(20)).fit(line.u_train, line.s_train, points=line.points)
        other = at(line, slice(0, 20))
        predicted = plot.prediction(model, other).lines[1].get_ydata()
        np.testing.assert_allclose(predicted, model.predict(line.u_test[:1])[0, :20], atol=1e-10)

    def test_leaves_out_an_input_that_is_an_image(self, plane):
        middle = at(plane, slice(72, 84))
        section = replace(middle, points=middle.points[:, 1:])
        ax = plot.prediction(fitted(section), section)
        assert ax.figure.axes == [ax]
        assert ax.get_xlabel() == "x"

    def test_one_point_is_visible(self, line):
        end = at(line, slice(39, 40))
        assert {one.get_marker() for one in plot.prediction(fitted(end), end).lines} == {"o"}

    def test_draws_any_regressor(self, line):
        model = make_pipeline(SLFN(10, random_state=0), LinearRegression())
        assert_not_blank(plot.prediction(model.fit(line.u_train, line.s_train), line))

    def test_refuses_points_on_a_plane(self, plane):
        with pytest.raises(InputError, match=r"points \(M, 1\), got \(144, 2\). Use plot.field"):
            plot.prediction(fitted(plane), plane)

    @pytest.mark.parametrize("index", [5, -1, 1.0])
    def test_refuses_an_index_out_of_range(self, line, index):
        with pytest.raises(InputError, match="index must be"):
            plot.prediction(fitted(line), line, index)
        assert pyplot.get_fignums() == []

    @pytest.mark.parametrize("shape", [(1, 2), (2, 2)])
    def test_refuses_too_many_axes(self, line, shape):
        with pytest.raises(InputError, match="needs 1 matplotlib axes"):
            plot.prediction(fitted(line), line, ax=pyplot.subplots(*shape)[1])

    @pytest.mark.parametrize("projection", ["polar", "3d"])
    def test_refuses_axes_that_are_not_straight(self, line, projection):
        ax = pyplot.figure().add_subplot(projection=projection)
        with pytest.raises(InputError, match="needs 1 matplotlib axes"):
            plot.prediction(fitted(line), line, ax=ax)

    def test_refuses_a_figure(self, line):
        with pytest.raises(InputError, match="or give none"):
            plot.prediction(fitted(line), line, ax=pyplot.figure())

    def test_refuses_a_model_of_other_data(self, line):
        with pytest.raises(InputError, match=r"predicts \(1, 120\) where the data hold \(1, 40\)"):
            plot.prediction(Zero(), line)

    def test_refuses_a_model_that_is_not_fitted(self, line):
        with pytest.raises(NotFittedError):
            plot.prediction(ELMDeepONet(), line)


class TestField:
    def test_draws_truth_prediction_and_error(self, plane):
        model = fitted(plane)
        axes = plot.field(model, plane, index=1)
        assert isinstance(axes, np.ndarray)
        assert axes.shape == (3,)
        truth, predicted, error = (ax.collections[0] for ax in axes)
        # The first coordinate runs to the right: the columns of what is drawn.
        on_grid = plane.s_test[1].reshape(12, 12).T
        np.testing.assert_array_equal(truth.get_array(), on_grid)
        np.testing.assert_array_equal(predicted.get_array().ravel("F"), model.predict(plane.u_test[1:2])[0])
        np.testing.assert_array_equal(error.get_array(), predicted.get_array() - truth.get_array())
        assert truth.get_clim() == predicted.get_clim()
        low, high = error.get_clim()
        assert low == -high == -np.abs(error.get_array()).max()
        assert len(axes[0].figure.axes) == 3 + 2  # with a colour bar for the first two and one more
        assert all(ax.get_aspect() == 1 for ax in axes)
        assert_not_blank(axes)

    def test_titles(self, plane):
        model = fitted(plane)
        error = relative_l2(model.predict(plane.u_test[:1]), plane.s_test[:1])
        assert [ax.get_title() for ax in plot.field(model, plane)] == [
            "darcy, test 0: truth",
            "prediction",
            f"error (relative: {error:.2g})",
        ]

    def test_uses_the_given_axes(self, plane):
        figure, grid = pyplot.subplots(2, 3, figsize=(9, 5), layout="compressed")
        for i, row in enumerate(grid):
            assert list(plot.field(fitted(plane), plane, index=i, axes=row)) == list(row)
        assert pyplot.get_fignums() == [figure.number]
        assert_not_blank(grid)

    def test_order_of_the_points_does_not_matter(self, plane):
        mixed = at(plane, np.random.default_rng(0).permutation(144))
        straight = plot.field(fitted(plane), plane)[0].collections[0]
        shuffled = plot.field(fitted(mixed), mixed)[0].collections[0]
        np.testing.assert_array_equal(straight.get_array(), shuffled.get_array())

    def test_an_oblong_grid(self):
        x1, x2 = np.meshgrid(np.arange(3.0), np.arange(5.0), indexing="ij")
        points = np.column_stack([x1.ravel(), x2.ravel()])
        s = np.outer([1.0, 2.0], 10 * points[:, 0] + points[:, 1])
        u = np.array([[1.0], [2.0]])
        data = OperatorData(u, s, u, s, sensors=[[0.0]], points=points)
        mesh = plot.field(fitted(data), data)[0].collections[0]
        np.testing.assert_array_equal(mesh.get_array(), (10 * x1 + x2).T)

    def test_scattered_points_are_triangulated(self, plane):
        scattered = at(plane, np.random.default_rng(0).permutation(144)[:80])
        axes = plot.field(fitted(scattered), scattered)
        assert all(type(ax.collections[0]).__name__ == "TriMesh" for ax in axes)
        np.testing.assert_array_equal(axes[0].collections[0].get_array(), scattered.s_test[0])
        assert_not_blank(axes)

    def test_as_many_points_as_a_grid_but_one_of_them_twice(self, plane):
        twice = at(plane, [*range(143), 0])
        assert type(plot.field(fitted(twice), twice)[0].collections[0]).__name__ == "TriMesh"

    def test_a_perfect_prediction_has_a_colour_scale(self, plane):
        class Perfect:
            def predict(self, u):
                return plane.s_test[:1]

        axes = plot.field(Perfect(), plane)
        assert axes[2].get_title() == "error (relative: 0)"
        assert axes[2].collections[0].get_clim() == (-1, 1)
        assert_not_blank(axes)

    def test_refuses_points_on_a_line(self, line, plane):
        with pytest.raises(InputError, match=r"points \(M, 2\), got \(40, 1\). Use plot.prediction"):
            plot.field(fitted(line), line)
        section = at(plane, slice(72, 84))
        with pytest.raises(InputError, match="lie on one line"):
            plot.field(fitted(section), section)

    def test_refuses_points_in_space(self, line):
        space = replace(line, points=np.random.default_rng(0).random((40, 3)))
        for draw in (plot.field, plot.prediction):
            with pytest.raises(InputError, match=r"got \(40, 3\). Predict on a line or a plane"):
                draw(fitted(space), space)

    def test_refuses_one_axes(self, plane):
        with pytest.raises(InputError, match="needs 3 matplotlib axes"):
            plot.field(fitted(plane), plane, axes=pyplot.subplots()[1])

    def test_refuses_an_index_out_of_range(self, plane):
        with pytest.raises(InputError, match="number of test functions, 3; got 3"):
            plot.field(fitted(plane), plane, index=3)


class TestRidgePath:
    def test_marks_the_chosen_alpha_of_a_model(self, line):
        model = fitted(line, Ridge("loo"))
        ax = plot.ridge_path(model)
        path, chosen = ax.lines
        np.testing.assert_array_equal(path.get_xdata(), model.solution_.alphas)
        np.testing.assert_array_equal(path.get_ydata(), model.solution_.path)
        np.testing.assert_allclose(chosen.get_xdata(), [model.solution_.alpha])
        np.testing.assert_allclose(chosen.get_ydata(), [model.solution_.path.min()])
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("alpha", "leave-one-out error")
        assert_not_blank(ax)

    def test_draws_a_solution_in_the_given_axes(self, line):
        ax = pyplot.subplots()[1]
        assert plot.ridge_path(fitted(line).solution_, ax=ax) is ax
        assert_not_blank(ax)

    def test_does_not_call_another_criterion_leave_one_out(self, line):
        ax = plot.ridge_path(fitted(line, Ridge("gcv")))
        assert ax.get_ylabel() == "criterion"

    @pytest.mark.parametrize("solver", [Ridge(1.0), Pinv()])
    def test_refuses_what_has_no_path(self, line, solver):
        with pytest.raises(InputError, match=r'Fit with solver=Ridge\("loo"\)'):
            plot.ridge_path(fitted(line, solver))

    def test_refuses_what_is_not_fitted(self):
        with pytest.raises(NotFittedError):
            plot.ridge_path(ELMDeepONet())

    def test_refuses_what_is_no_model(self):
        with pytest.raises(InputError, match="a fitted model or a Solution; got 'loo'"):
            plot.ridge_path("loo")


def trial(branch, error, functions=100):
    return {"branch": branch, "functions": functions, "error": error, "alpha": 1.0, "seconds": 0.1}


TRIALS = [
    trial("linear + rbf(0.2)", 1e-3),
    trial("linear + rbf(0.1)", 2e-3),
    trial("tanh(0.1, width 500)", 4e-3),
    trial("linear + rbf(0.1)", 5e-2, functions=20),
    trial("constant", 0.9, functions=20),
]


class TestRelevance:
    def test_a_bar_for_each_part(self):
        rng = np.random.default_rng(0)
        u = {"f": rng.normal(size=(30, 4)), "k": rng.random(30) + 1, "z": rng.random(30)}
        parts = (
            InputPart("f", 4, amplitude=True, relevance=(0.5, 2.0)),
            InputPart("k", 1, logarithm=True),
            InputPart("z", 1, relevance=(0.0,)),
        )
        model = ELMDeepONet(parts=parts, random_state=0).fit(u, rng.random(30))
        ax = plot.relevance(model)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["f amplitude", "k", "f", "z"]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx([1, 0.5, 0.25, 0])
        assert_not_blank(ax)

    def test_where_along_the_sensors_a_function_matters(self, line):
        L = np.diag(np.linspace(0.5, 1, line.u_train.shape[1]))
        model = ELMDeepONet(metric=L, random_state=0).fit(line.u_train, line.s_train, points=line.points)
        (curve,) = plot.relevance(model).lines
        np.testing.assert_allclose(curve.get_ydata(), np.diag(L))

    def test_refuses_what_counts_alike(self, line):
        with pytest.raises(InputError, match="count alike"):
            plot.relevance(fitted(line))
        with pytest.raises(InputError, match="fitted model"):
            plot.relevance(3)


class TestLeaderboard:
    def test_a_row_for_each_kind_of_branch_and_the_chosen_one_marked(self):
        ax = plot.leaderboard(TRIALS)
        fewer, whole, chosen = ax.lines
        np.testing.assert_array_equal(np.column_stack(fewer.get_data()), [[5e-2, 0], [0.9, 2]])
        np.testing.assert_array_equal(np.column_stack(whole.get_data()), [[1e-3, 0], [2e-3, 0], [4e-3, 1]])
        np.testing.assert_array_equal(np.column_stack(chosen.get_data()), [[1e-3, 0]])
        assert [label.get_text() for label in ax.get_yticklabels()] == ["linear + rbf", "tanh", "constant"]
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels == ["on fewer", "on 100 functions", "chosen"]
        title = ax.get_title().replace("\n", " ")
        assert title == "5 candidates. Chosen: linear + rbf(0.2), error 0.001"
        assert ax.get_xscale() == "log"
        top = ax.get_ylim()
        assert top[0] > 2 > 0 > top[1]  # the best is above
        assert_not_blank(ax)

    def test_of_a_model_in_small_axes(self, line):
        model = AutoELMDeepONet(time_budget=0.1, random_state=0).fit(line.u_train, line.s_train, line.points)
        figure, ax = pyplot.subplots(figsize=(3.5, 2.6), layout="constrained")
        assert plot.leaderboard(model, ax) is ax
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        boxes = [label.get_window_extent(renderer) for label in ax.get_yticklabels()]
        assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(boxes))
        title = ax.title.get_window_extent(renderer)
        assert 0 <= title.x0 < title.x1 <= figure.bbox.x1 + 1
        assert title.y1 <= figure.bbox.y1 + 1

    def test_only_so_many_kinds_and_an_error_of_zero(self):
        trials = [trial("linear", 0.0), *TRIALS]
        ax = plot.leaderboard(trials, most=2)
        assert len(ax.get_yticklabels()) == 2
        assert "6 candidates, 2 worse kinds not shown." in ax.get_title().replace("\n", " ")
        assert ax.get_xlim()[0] > 0
        assert_not_blank(ax)

    def test_one_candidate_alone(self):
        ax = plot.leaderboard(TRIALS[:1])
        low, high = ax.get_xlim()
        assert high / low > 10
        assert_not_blank(ax)

    def test_refuses_what_has_no_leaderboard(self, line):
        with pytest.raises(
            InputError, match="a fitted AutoELMDeepONet, or its leaderboard_; got ELMDeepONet"
        ):
            plot.leaderboard(fitted(line))
        with pytest.raises(NotFittedError):
            plot.leaderboard(AutoELMDeepONet())
        with pytest.raises(InputError, match="an empty leaderboard"):
            plot.leaderboard([])


class TestNamesOfAxes:
    def test_on_a_line(self, line):
        ax, below = plot.prediction(fitted(line), replace(line, axes=("t",))).figure.axes
        assert (ax.get_ylabel(), below.get_xlabel(), below.get_ylabel()) == ("s(t)", "t", "u(t)")
        ax = plot.prediction(fitted(line), replace(line, axes=("depth",)), ax=pyplot.subplots()[1])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth", "s(depth)")

    def test_sensors_of_another_range_have_their_own_axis(self, line):
        other = replace(line, sensors=10 * line.sensors, axes=("t",))
        ax, below = plot.prediction(fitted(line), other).figure.axes
        assert (ax.get_xlabel(), below.get_xlabel(), below.get_ylabel()) == ("t", "sensor", "u")
        assert below.get_xlim()[1] > 9 > ax.get_xlim()[1]

    def test_on_a_plane(self, plane):
        axes = plot.field(fitted(plane), plane)
        assert [ax.get_xlabel() for ax in axes] == ["x"] * 3
        assert [ax.get_ylabel() for ax in axes] == ["y", "", ""]
        axes = plot.field(fitted(plane), replace(plane, axes=("lon", "lat")))
        assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("lon", "lat")

    def test_the_name_of_a_file_breaks_where_its_words_end(self, line):
        ax = pyplot.subplots(figsize=(2.5, 2))[1]
        title = plot.prediction(
            fitted(line), replace(line, name="flow_through_my_porous_rock"), 0, ax
        ).get_title()
        assert title.replace("\n", "").startswith("flow_through_my_porous_rock,")
        assert title.splitlines()[0].endswith("_")

    def test_a_dollar_begins_no_formula(self, plane):
        odd = replace(plane, axes=("$\\frac", "b$"), name="$\\no$")
        assert_not_blank(plot.field(fitted(plane), odd))

    def test_sides_of_very_different_length_do_not_share_a_scale(self, plane):
        long = replace(plane, points=plane.points * [1, 50])
        assert plot.field(fitted(long), long)[0].get_aspect() == "auto"
        assert plot.field(fitted(plane), plane)[0].get_aspect() == 1

    def test_as_many_as_coordinates(self, plane):
        with pytest.raises(InputError, match="axes names 1 coordinates, x, but points have 2"):
            replace(plane, axes=("x",))


def test_without_matplotlib_says_what_to_install(line, plane, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    model = fitted(line)
    for draw in (
        lambda: plot.prediction(model, line),
        lambda: plot.field(fitted(plane), plane),
        lambda: plot.ridge_path(model),
        lambda: plot.leaderboard(TRIALS),
    ):
        with pytest.raises(ElmonetError, match=r'pip install "elmonet\[plot\]"'):
            draw()

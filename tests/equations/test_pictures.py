"""One picture for each equation."""

from pathlib import Path

import numpy as np
import pytest

from elmonet.equations.gallery import GALLERY, picture, write_picture

pyplot = pytest.importorskip("matplotlib.pyplot")


class Nearly:
    """A model that knows the solutions of `inputs(9, 1)` up to 1 %."""

    def __init__(self, problem):
        self.truth = problem.module.reference(9, 1)

    def predict(self, u):
        if isinstance(self.truth, dict):
            return {name: 1.01 * own for name, own in self.truth.items()}
        return 1.01 * self.truth


@pytest.mark.parametrize(("name", "panels"), [("antiderivative", 3), ("laplace", 4), ("stokes", 8)])
def test_a_picture_is_written_and_its_figure_closed(name, panels, tmp_path):
    problem = GALLERY[name]
    model, before = Nearly(problem), pyplot.get_fignums()
    write_picture(problem, model, tmp_path / "picture.png")
    assert pyplot.get_fignums() == before
    written = (tmp_path / "picture.png").read_bytes()
    assert written.startswith(b"\x89PNG")
    assert 10_000 < len(written) < 120_000

    figure = picture(problem, problem.module.inputs(9, 1), model.predict(None), model.truth)
    figure.draw_without_rendering()
    axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert len(axes) == panels
    titles = [ax.title.get_window_extent() for ax in axes if ax.get_title()]
    heading = figure._suptitle.get_window_extent()
    assert not any(heading.overlaps(box) for box in titles)
    assert not any(a.overlaps(b) for i, a in enumerate(titles) for b in titles[:i])
    pyplot.close(figure)


def test_points_without_values_stay_empty_and_the_typical_function_is_drawn():
    problem = GALLERY["laplace"]
    truth = problem.module.reference(3, 1)
    wrong = np.array([[0.5], [0.01], [0.1]])  # the last has the median error
    figure = picture(problem, problem.module.inputs(3, 1), truth * (1 + wrong), truth)
    drawn = figure.axes[1].collections[0].get_array()
    assert np.ma.count(drawn) == len(problem.module.POINTS) < drawn.size
    np.testing.assert_allclose(drawn.compressed().sum(), 1.1 * truth[2].sum())
    pyplot.close(figure)


def test_the_pictures_of_the_docs_are_there_and_small():
    folder = Path(__file__).parents[2] / "docs" / "figures"
    for name in GALLERY:
        assert (folder / f"physics_{name}.png").stat().st_size < 120_000

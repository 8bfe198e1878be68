import re
import sys
from io import BytesIO

import numpy as np
import pytest

from elmonet import ElmonetError
from elmonet.paper import figures

image = pytest.importorskip("matplotlib.image")

NAMES = ["architecture", "antiderivative", "training", "widths", "darcy", "inverse_source"]
TRAINED = {
    "antiderivative": ("DeepONet M1", "DeepONet M2"),
    "nonlinear_ode": ("DeepONet M1", "DeepONet M2"),
    "inverse_source": ("DeepONet",),
    "darcy": ("DeepONet MLP", "DeepONet CNN"),
}
FEWER = "nonlinear|CNN|M2|Tensor|darcy/Deep"  # left out, so that drawing takes less time
CLOSED = ("ELM-DeepONet", "Sinusoidal ELM-DeepONet", "Tensor-sine ELM-DeepONet")


def grid(n):
    x = np.linspace(0, 1, n)
    return np.array([(a, b) for a in x for b in x])


def add_problem(done, problem, rng):
    plane = problem == "darcy"
    points = grid(10) if plane else np.linspace(0, 1, 25)[:, None]
    sensors = grid(6) if plane else points
    k = 2 if problem == "inverse_source" else 1
    truth = np.stack([np.sin((3 + i) * points.sum(axis=1)) for i in range(k)])
    inputs = rng.uniform(1, 2, (k, 6, 6)) if plane else np.cos(3 * points.T).repeat(k, axis=0)
    done[f"{problem}/data"] = {
        "samples": list(range(k)),
        "points": points.tolist(),
        "sensors": sensors.tolist(),
        "inputs": inputs.tolist(),
        "outputs": truth.tolist(),
        "rms": 0.7,
        "seconds": 1.0,
    }

    def predictions():
        return (truth + 0.05 * rng.normal(size=truth.shape)).tolist()

    for name in TRAINED[problem]:
        error = np.geomspace(1, 0.03, 20)
        seconds = np.linspace(1, 60, 20).tolist()
        history = {"seconds": seconds, "loss": (error**2).tolist(), "error": error.tolist()}
        done[f"{problem}/{name}"] = {"error": 0.03, "history": history, "predictions": predictions()}
    branches = (" MLP", " CNN") if plane else ("",)
    for name in (f"{kind}{branch}" for kind in CLOSED[: 3 if plane else 2] for branch in branches):
        record = {"seconds": 0.2, "error": 0.02, "predictions": predictions()}
        done[f"{problem}/{name}/ours"] = record


@pytest.fixture
def results():
    rng, done = np.random.default_rng(0), {}
    for problem in TRAINED:
        add_problem(done, problem, rng)
    p1 = [50, 100, 200, 400]
    errors = {key: rng.uniform(0.01, 1, 4).tolist() for key in ("pinv64", "pinv32", "ridge")}
    done["sensitivity/widths"] = {"p1": p1, "functions": 100, **errors}
    return {"done": done}


def without(results, pattern):
    return {"done": {task: r for task, r in results["done"].items() if not re.search(pattern, task)}}


def assert_drawn(figure):
    file = BytesIO()
    figure.savefig(file, format="png", dpi=40)
    file.seek(0)
    red, green, blue = (255 * image.imread(file)[:, :, :3]).astype(int).transpose(2, 0, 1)
    assert red.std() > 8
    assert len(np.unique(red + 256 * green + 65536 * blue)) > 50


def texts(figure):
    """Return all text in a figure."""
    import matplotlib.text

    return "\n".join(artist.get_text() for artist in figure.findobj(matplotlib.text.Text))


def test_every_figure_is_drawn_in_order_and_has_a_caption(results):
    drawn = figures.draw(without(results, FEWER))
    assert list(drawn) == NAMES == list(figures.CAPTIONS)
    for figure in drawn.values():
        assert_drawn(figure)
    for caption in figures.CAPTIONS.values():
        assert caption.endswith(".")
        assert not re.search(r"\d", caption)


def test_what_is_drawn_comes_from_the_records(results):
    done = results["done"]
    for task, factor in (("antiderivative/ELM-DeepONet/ours", 1.25), ("darcy/ELM-DeepONet CNN/ours", 0.5)):
        truth = np.array(done[f"{task.split('/')[0]}/data"]["outputs"])
        done[task] |= {"predictions": (factor * truth).tolist(), "error": 0.011, "seconds": 0.5}
    drawn = figures.draw(results)
    assert "ELM-DeepONet (25 %)" in texts(drawn["antiderivative"])
    assert "DeepONet M1" in texts(drawn["antiderivative"])
    assert "relative error 50 %" in texts(drawn["darcy"])
    assert "N = 100$" in texts(drawn["widths"])

    panels = {ax.get_title(): ax for ax in drawn["training"].axes if ax.get_title()}
    assert len(panels) == 7
    lines = {line.get_label(): line for line in panels["Darcy flow,\nDeepONet CNN"].lines}
    assert lines["ELM-DeepONet, test"].get_xydata().tolist() == [[0.5, 0.011]]
    error = done["darcy/DeepONet CNN"]["history"]["error"]
    np.testing.assert_allclose(lines["DeepONet, test"].get_ydata(), error)
    np.testing.assert_allclose(lines["DeepONet, training"].get_ydata(), np.array(error) / 0.7)


def test_the_plane_is_drawn_upright(results):
    data = results["done"]["darcy/data"]
    data["outputs"] = [[x for x, _ in data["points"]]]  # grows to the right
    data["inputs"] = [np.linspace(1, 2, 6)[:, None].repeat(6, axis=1).tolist()]  # likewise
    panels = {ax.get_title(): ax for ax in figures.draw(without(results, "^[^d]|CNN"))["darcy"].axes}
    for title in ("true solution", "permeability"):
        shown = panels[title].images[0].get_array()
        assert (np.diff(shown, axis=1) > 0).all()
        assert (np.diff(shown, axis=0) == 0).all()


def test_without_torch_only_the_training_is_left_out(results):
    for problem, names in TRAINED.items():
        results["done"] |= {f"{problem}/{name}": {"skipped": "no torch"} for name in names}
    drawn = figures.draw(without(results, "CNN"))
    assert list(drawn) == [name for name in NAMES if name != "training"]
    assert not re.search(r"^DeepONet", texts(drawn["antiderivative"]), re.MULTILINE)


def test_the_second_network_stands_in_for_the_first(results):
    results["done"]["antiderivative/DeepONet M1"] = {"skipped": "no time"}
    assert "DeepONet M2" in texts(figures.draw(without(results, "^[^a]"))["antiderivative"])


@pytest.mark.parametrize(
    ("missing", "left"),
    [
        ("^antiderivative|^sensitivity", ["architecture", "training", "darcy", "inverse_source"]),
        ("/data", ["architecture", "training", "widths"]),
        ("DeepONet", ["architecture", "widths"]),
        ("ours$|nonlinear", NAMES),
    ],
)
def test_an_unfinished_run_draws_what_it_can(results, missing, left):
    assert list(figures.draw(without(results, missing + "|CNN|M2"))) == left


def test_no_results_at_all():
    assert list(figures.draw({})) == ["architecture"]


def test_bad_numbers_do_not_stop_a_figure(results):
    bad = [0.0, np.nan, np.inf, -np.inf, None, 1e300, 1e-300]
    for i, record in enumerate(results["done"].values()):
        record |= {key: bad[i % len(bad)] for key in ("error", "seconds", "rms") if key in record}
        record |= {key: bad[:4] for key in ("pinv64", "ridge") if key in record}
        if "predictions" in record:
            record["predictions"][0][:7] = bad
        if "history" in record:
            record["history"] = {key: [*values[7:], *bad] for key, values in record["history"].items()}
    drawn = figures.draw(without(results, FEWER + "|inverse"))
    assert list(drawn) == NAMES[:-1]
    for figure in list(drawn.values())[1:]:
        figure.set_layout_engine("none")  # which takes most of the time
        assert_drawn(figure)


@pytest.mark.parametrize("factor", [1.0, np.nan])
def test_all_predictions_perfect_or_none_finite(results, factor):
    for task in ("antiderivative/ELM-DeepONet/ours", "darcy/ELM-DeepONet MLP/ours"):
        truth = np.array(results["done"][f"{task.split('/')[0]}/data"]["outputs"])
        results["done"][task]["predictions"] = (factor * truth).tolist()
    drawn = figures.draw(without(results, FEWER + "|inverse|Sinusoidal|M1|sensitivity"))
    assert list(drawn) == ["architecture", "antiderivative", "darcy"]
    for name in ("antiderivative", "darcy"):
        drawn[name].set_layout_engine("none")
        assert_drawn(drawn[name])


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ElmonetError, match=r'pip install "elmonet\[plot\]"'):
        figures.draw({})

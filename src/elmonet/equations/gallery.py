"""All equations: published errors, fits without outputs, and a picture for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.auto import AutoELMDeepONet
from elmonet.equations import advection, antiderivative, burgers, laplace, poisson, reaction, stokes
from elmonet.interpolation import as_grid
from elmonet.metrics import relative_l2
from elmonet.plot.axes import bare, colour_bar_below, new
from elmonet.store import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WANG, _LSGD = "Wang et al. 2021", "LSGD-DeepONet 2025"

_PICTURE_FUNCTIONS = 9  # of which the one with the median error is drawn
_WIDTH, _HEIGHT, _TITLE = 2.3, 2.75, 0.35  # of a panel and of the title, in inches
_MARGIN = 0.08  # around domains that are not rectangles, relative to their size
_COLOUR_QUANTILE = 0.995  # of absolute differences, at which the colours end

SOURCES = {
    _WANG: "Wang, Wang, Perdikaris, Learning the solution operator of parametric partial differential "
    "equations with physics-informed DeepONets, Science Advances 2021",
    "Wang et al. 2022": "Wang, Wang, Perdikaris, Improved architectures and training algorithms for deep "
    "operator networks, 2022",
    _LSGD: "Choi, Lee, Moon, Hybrid Least Squares/Gradient Descent Methods for DeepONets, arXiv:2508.15394",
    "DeepXDE": "its example of Stokes flow under a lid; Leng et al., Zero coordinate shift, arXiv:2311.00860",
}


@dataclass(frozen=True)
class GalleryProblem:
    """An equation of the gallery.

    Attributes
    ----------
    module : its module in `elmonet.equations`.
    title, formula : in words and in symbols.
    published : relative errors of networks trained on the equation; source : by whom, see `SOURCES`; took :
        the training time.
    differs : how the published problem differs.
    functions : the number of inputs that the equation is solved for.
    """

    module: ModuleType
    title: str
    formula: str
    published: str
    source: str
    took: str
    differs: str = ""
    functions: int = 1000

    @property
    def name(self) -> str:
        """The name of the module."""
        return self.module.__name__.rpartition(".")[2]


GALLERY = {
    problem.name: problem
    for problem in (
        GalleryProblem(antiderivative, "Antiderivative", "s' = u", "2.49e-3", _WANG, "10 min on a GPU"),
        GalleryProblem(
            reaction,
            "Diffusion and reaction",
            "s_t = 0.01 s_xx + 0.01 s^2 + u(x)",
            "5.33e-3",
            _WANG,
            "50 min on a GPU",
        ),
        GalleryProblem(poisson, "Poisson on a square", "s_xx + s_yy = u", "1.27e-3", _LSGD, "13 h"),
        GalleryProblem(
            laplace,
            "Laplace on a flower",
            "s_xx + s_yy = 0, s = u on the boundary",
            "1.59e-3",
            _LSGD,
            "14 h",
            "the published domain is another one, also not a rectangle",
        ),
        GalleryProblem(
            advection,
            "Advection",
            "s_t + u(x) s_x = 0",
            "2.39e-2, improved 9.5e-3",
            f"{_WANG} and Wang et al. 2022",
            "hours",
            functions=2000,
        ),
        GalleryProblem(
            burgers, "Burgers", "s_t + s s_x = 0.01 s_xx, s = u at t = 0", "1.42e-2", _WANG, "hours"
        ),
        GalleryProblem(
            stokes,
            "Stokes flow under a lid",
            "-lap v + grad p = 0, div v = 0, v = u on the lid",
            "about 0.1",
            "DeepXDE",
            "hours on an A100",
            "the published lid velocity varies less; here errors are measured away from the two upper "
            "corners, where p is unbounded, and the largest error of v, w and p counts",
        ),
    )
}


def measure(
    problem: GalleryProblem,
    *,
    functions: int | None = None,
    new: int = 100,
    seed: int = 0,
    progress: Callable[..., None] | None = None,
) -> tuple[dict[str, Any], Any]:
    """Fit a model without outputs on `functions` inputs, and compare `new` ones with the reference.

    Return the record of the problem, and the model. In the record, `error` is the mean relative L2 error over
    the domain on new functions, the largest of `errors`, which holds that of each unknown; `expected` the
    error that the model expects; `solver` the error that the solver estimates; `seconds` of solving and
    learning, `solving` of solving alone.
    """
    module, functions = problem.module, functions or problem.functions
    u = module.inputs(functions, seed)
    model = AutoELMDeepONet(random_state=seed, progress=progress or False)
    begun = perf_counter()
    model.fit(u, module.equation(), module.POINTS, sensors=module.SENSORS)
    seconds = perf_counter() - begun
    errors = compare(problem, model.predict(module.inputs(new, seed + 1)), module.reference(new, seed + 1))
    record = {
        "name": problem.name,
        "functions": functions,
        "error": max(errors.values()),
        "errors": errors,
        "expected": float(model.expected_error_ or np.nan),
        "solver": model.physics_.error,
        "seconds": seconds,
        "solving": model.physics_.seconds,
        "resolution": str(model.physics_.resolution),
        "published": problem.published,
        "source": problem.source,
        "took": problem.took,
    }
    return record, model


def compare(problem: GalleryProblem, predicted: Any, truth: Any) -> dict[str, float]:
    """Return relative errors by unknown; of a flow away from the corners, of a pressure up to a constant."""
    if not isinstance(truth, dict):
        return {"s": relative_l2(predicted, truth)}
    away = problem.module.AWAY
    errors = {}
    for name, values in truth.items():
        pair = predicted[name][:, away], values[:, away]
        if name == "p":
            pair = tuple(values - values.mean(axis=1, keepdims=True) for values in pair)
        errors[name] = relative_l2(*pair)
    return errors


def write_picture(problem: GalleryProblem, model: Any, path: Path, seed: int = 0) -> None:
    """Draw the prediction for a typical new function and the reference to a PNG file."""
    n, module = _PICTURE_FUNCTIONS, problem.module
    u, truth = module.inputs(n, seed + 1), module.reference(n, seed + 1)
    figure = picture(problem, u, model.predict(u), truth)
    from matplotlib import pyplot  # after `picture`, which reports a missing matplotlib

    with atomic_write(path) as fresh:
        figure.savefig(fresh, dpi=100, format="png")
    pyplot.close(figure)


def picture(problem: GalleryProblem, u: np.ndarray, predicted: Any, truth: Any) -> Figure:
    """Draw the one of the functions u (n, m) with solutions (n, M) that has the median error."""
    fields = _fields(problem, predicted, truth)
    predictions, references = fields[0][1:3]
    errors = np.linalg.norm(predictions - references, axis=1) / np.linalg.norm(references, axis=1)
    typical = np.argsort(errors)[len(u) // 2]
    points = problem.module.POINTS
    rows, columns = len(fields), 3 if points.shape[1] == 1 else 4
    height = _WIDTH if points.shape[1] == 1 else _HEIGHT  # without colour bars
    size = _WIDTH * columns, height * rows + _TITLE
    axes = new(rows, columns, figsize=size).reshape(rows, columns)
    figure: Any = axes[0, 0].figure
    figure.suptitle(f"{problem.title}:  {problem.formula}", fontsize=11, y=0.99, va="top")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - _TITLE / size[1]))
    _draw_input(axes[0, 0], problem.module.SENSORS, u[typical])
    for row, (name, predictions, references, shown) in zip(axes, fields, strict=True):
        pair = predictions[typical], references[typical]
        if points.shape[1] == 1:
            _draw_curves(row[1:], points[:, 0], name, *pair)
        else:
            _draw_planes(row[1:], points, name, *pair, shown, problem.module.equation().domain.names)
    for ax in axes[1:, 0]:
        ax.set_axis_off()
    if len(fields) > 1:
        for ax, flow in zip(axes[0, 1:3], (predicted, truth), strict=True):
            _draw_streamlines(ax, points, flow["v"][typical], flow["w"][typical])
    return figure


def _fields(problem: GalleryProblem, predicted: Any, truth: Any) -> list[tuple[str, Any, Any, np.ndarray]]:
    """Return name, predictions and references (n, M) of each field, and which points set the colours.

    A flow has two fields. Its pressure is unbounded in the upper corners, and known up to a constant.
    """
    everywhere = np.ones(len(problem.module.POINTS), bool)
    if not isinstance(truth, dict):
        return [("s", predicted, truth, everywhere)]
    away = problem.module.AWAY
    speeds = (np.hypot(flow["v"], flow["w"]) for flow in (predicted, truth))
    pressures = (flow["p"] - flow["p"][:, away].mean(axis=1, keepdims=True) for flow in (predicted, truth))
    return [("speed", *speeds, away), ("pressure", *pressures, away)]


def _draw_input(ax: Axes, sensors: np.ndarray, u: np.ndarray) -> None:
    """Draw a curve, a field, or values along a boundary."""
    if sensors.ndim == 1 or sensors.shape[1] == 1:
        ax.plot(np.ravel(sensors), u, color="C1")
        ax.set(xlabel="x", box_aspect=1)
        ax.locator_params(nbins=4)
        bare(ax)
    else:
        if _is_grid(sensors):
            drawn: Any = _coloured(ax, sensors, u)
        else:
            drawn = ax.scatter(sensors[:, 0], sensors[:, 1], c=u, s=14)
            ax.set(aspect="equal")
            ax.margins(_MARGIN)
        ax.set(xticks=[], yticks=[])
        colour_bar_below([ax], drawn)
    ax.set_title("input u", fontsize=10)


def _draw_curves(
    axes: np.ndarray, x: np.ndarray, name: str, predicted: np.ndarray, reference: np.ndarray
) -> None:
    """Draw prediction and reference in one panel, and their difference in the next."""
    axes[0].plot(x, predicted, label="predicted")
    axes[0].plot(x[::6], reference[::6], "k.", label="reference")
    axes[0].legend(frameon=False, fontsize=8)
    axes[0].set_title(f"{name}, predicted and reference", fontsize=10)
    axes[1].plot(x, predicted - reference, color="C3")
    axes[1].set_title("difference", fontsize=10, loc="right")  # the power of ten is on the left
    for ax in axes:
        ax.set(xlabel="x", box_aspect=1)
        ax.ticklabel_format(axis="y", scilimits=(-3, 4))
        ax.locator_params(nbins=4)
        bare(ax)


def _draw_planes(
    axes: np.ndarray,
    points: np.ndarray,
    name: str,
    predicted: np.ndarray,
    reference: np.ndarray,
    shown: np.ndarray,
    coordinates: tuple[str, ...],
) -> None:
    """Draw prediction and reference with the same colours, and the difference with its own."""
    from matplotlib import colormaps

    difference = predicted - reference
    same = {"vmin": reference[shown].min(), "vmax": reference[shown].max()}
    largest = np.quantile(np.abs(difference)[shown], _COLOUR_QUANTILE) or 1.0
    diverging: Any = colormaps["RdBu_r"].copy()
    diverging.colorbar_extend = "both"  # pointed ends: some differences are larger
    panels = (
        (f"predicted {name}", predicted, same),
        (f"reference {name}", reference, same),
        ("difference", difference, {"vmin": -largest, "vmax": largest, "cmap": diverging}),
    )
    for ax, (title, values, colours) in zip(axes, panels, strict=True):
        drawn = _coloured(ax, points, values, **colours)
        ax.set(xlabel=coordinates[0])
        ax.locator_params(nbins=3)
        colour_bar_below([ax], drawn)
        ax.set_title(title, fontsize=10)
    axes[0].set_ylabel(coordinates[1])


def _draw_streamlines(ax: Axes, points: np.ndarray, v: np.ndarray, w: np.ndarray) -> None:
    (x, y, v_grid), (_, _, w_grid) = _on_grid(points, v), _on_grid(points, w)
    ax.streamplot(x, y, v_grid, w_grid, color="white", density=0.3, linewidth=0.7, arrowsize=0.6)


def _coloured(ax: Axes, points: np.ndarray, values: np.ndarray, **settings: Any) -> Any:
    ax.set(aspect="equal")
    ax.use_sticky_edges = _is_grid(points)
    ax.margins(0 if _is_grid(points) else _MARGIN)
    return ax.pcolormesh(*_on_grid(points, values), shading="nearest", rasterized=True, **settings)


def _on_grid(points: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (k,), y (l,) and values (l, k) on the grid that contains the points, NaN elsewhere."""
    x, column = np.unique(points[:, 0], return_inverse=True)
    y, row = np.unique(points[:, 1], return_inverse=True)
    grid = np.full((len(y), len(x)), np.nan)
    grid[row, column] = values
    return x, y, grid


def _is_grid(points: np.ndarray) -> bool:
    return as_grid(points)[0] is not None

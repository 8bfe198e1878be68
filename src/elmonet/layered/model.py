"""LayeredELMDeepONet: closed-form layers with weights shared by all points; and its file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from elmonet.checks import Functions, number, positive_integer
from elmonet.data.dataset import OperatorData
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import FileError, InputError
from elmonet.estimators.base import OperatorEstimator
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.estimators.saving import (
    error_bars_to_store,
    inputs_to_store,
    outputs_to_store,
    restored_error_bars,
    restored_inputs,
    restored_method,
    restored_outputs,
)
from elmonet.features.base import seed_from
from elmonet.forms.training import understand, unpacked_data
from elmonet.layered.bands import ChainErrorBars, WindowNovelty
from elmonet.layered.chain import Chain, LayerRecord
from elmonet.layered.choice import find_layer_data, fit_layers
from elmonet.layered.features import LayerFeatures
from elmonet.layered.fields import FieldForm, InputChannels
from elmonet.layered.fitted import FittedChain, fitted_first
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.layer import Layer
from elmonet.layered.settings import LayerSettings
from elmonet.layered.smoothing import SmoothingKernel
from elmonet.parts import NotFittedError
from elmonet.progress import Progress, progress_bar
from elmonet.store import digest
from elmonet.uncertainty.error_estimate import restored_estimate, stored_interval
from elmonet.uncertainty.novelty import TrainingRecord

if TYPE_CHECKING:
    from elmonet.auto.model import AutoELMDeepONet

_FIRST = "first."  # prefix of the first model's arrays


class LayeredELMDeepONet(OperatorEstimator):
    """A chain of layers, each one linear solve, with the same weights at all points.

    Inputs and outputs are fields on one uniform grid. Starting from a global model's s_0, or from nothing,

        s_k(y) = s_(k-1)(y) + sum_j c_j phi_j(u, s_(k-1), its last updates, seen from y through a window) ,

    with fixed random phi_j and one vector c for all points and functions. Windows are in units of the domain,
    so that the model predicts on finer grids too.

    Parameters
    ----------
    first : an `ELMDeepONet` or `AutoELMDeepONet` whose left-out predictions the layers start from; one that
        was fitted to the same functions is used as it is. "nothing" starts with the first layer. Of a tuple
        of these, the best on few functions is taken. None: ``("nothing", ELMDeepONet())``.
    layers : number of layers; None adds layers until held-out functions no longer gain.
    width : random features of a layer; None for as many as the functions support.
    periodic : whether the fields are periodic; None to find it from the data.
    time_budget : seconds that the fit may take; None for no limit. Where time is short, fewer layers are
        fitted, and narrower ones; one layer is fitted in any case.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    random_state : seed of the random features, and of `first`, unless that has a seed of its own.

    Attributes
    ----------
    expected_error_ : the relative error to expect on new functions drawn like the training functions: that of
        functions held out of all layers.
    expected_error_interval_ : (low, high), its 90 % interval.
    layers_ : list of dictionaries, one per layer: "error" of the held-out functions after it, "seconds",
        "features", "alpha".
    first_ : the fitted global model, or None.
    periodic_ : whether each axis is periodic.
    symmetries_ : symmetries found in the training data, in words.
    """

    def __init__(
        self,
        first: ELMDeepONet | AutoELMDeepONet | str | tuple[ELMDeepONet | str, ...] | None = None,
        layers: int | None = None,
        width: int | None = None,
        *,
        periodic: bool | None = None,
        time_budget: float | None = None,
        progress: bool | Progress = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.first = first
        self.layers = layers
        self.width = width
        self.periodic = periodic
        self.time_budget = time_budget
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Functions | OperatorData,
        y: Functions | Scattered | None = None,
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit layers to inputs and outputs on one grid.

        Parameters
        ----------
        X, y, points, sensors, groups : as in `ELMDeepONet.fit`. Several inputs come as a dictionary; numbers
            are seen as constant fields.

        Returns
        -------
        self : the fitted estimator.
        """
        start = perf_counter()
        data = X
        X, y, points, sensors = unpacked_data(X, y, points, sensors)
        layers = None if self.layers is None else positive_integer(self.layers, "layers")
        width = None if self.width is None else positive_integer(self.width, "width")
        budget = np.inf if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        if self.periodic not in (None, True, False):
            raise InputError(
                f"periodic must be True, False, or None to find it from the data; got {self.periodic!r}."
            )
        seed = seed_from(self.random_state)
        training = understand(self, X, y, points, sensors=sensors, groups=groups)
        form, problem, used = find_layer_data(training, sensors, self.periodic, seed)
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        with bar as hook:
            tell = hook or (lambda what, done, total: None)
            tell("the first model", 0, 1)
            first = ("nothing", ELMDeepONet()) if self.first is None else self.first
            given = {"points": points, "sensors": sensors, "groups": groups}
            starts = [
                None if own == "nothing" else fitted_first(own, X, y, training, seed=seed, **given)
                for own in (first if isinstance(first, (tuple, list)) else (first,))
            ]
            model = fit_layers(
                form,
                problem,
                used,
                starts,
                layers=layers,
                width=width,
                seed=seed,
                deadline=start + budget,
                tell=tell,
            )
        assert model is not None
        self._adopt(replace(model, known=TrainingRecord.of(training.X)))
        return self._with_labels(data)._warned()

    @property
    def layers_(self) -> list[dict[str, Any]]:
        """The account of each layer."""
        return [dict(vars(record)) for record in self._fitted(AttributeError).chain.records]

    @property
    def first_(self) -> Any:
        """The global model that the chain starts from, or None."""
        return self._fitted(AttributeError).first

    @property
    def periodic_(self) -> tuple[bool, ...]:
        """Whether the grid is periodic, along each axis."""
        return self._fitted(AttributeError).form.grid.periodic

    @property
    def symmetries_(self) -> list[str]:
        """The symmetries found in the training data."""
        return [str(symmetry) for symmetry in self._fitted(AttributeError).symmetries]

    def _fitted(self, error: type[Exception] = NotFittedError) -> FittedChain:
        model = super()._fitted(error)
        assert isinstance(model, FittedChain)
        return model

    def _to_store(
        self, *, weights: bool, sums: bool, bands: bool, inputs: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if sums:
            raise InputError("a model with layers keeps no sums. Save it without sums=True.")
        model = self._fitted()
        form, layers = model.form, model.chain.layers
        arrays = {"order": form.order, "shift": form.shift, "scale": form.scale}
        header: dict[str, Any] = {
            "model": "LayeredELMDeepONet",
            "grid": asdict(form.grid),
            "inputs": inputs_to_store(form.inputs, arrays),
            "parts": [asdict(part) for part in form.parts],
            "outputs": outputs_to_store(form.outputs, arrays),
            "size": form.size,
            "error": model.estimate.error,
            "held_out_error": model.held_out_error,
            "first_error": model.first_error,
            "interval": stored_interval(model.estimate.interval),
            "quantiles": model.estimate.quantiles,
            "components": model.estimate.components,
            "unknown": model.estimate.reason,
            "words": str(model.summary),
            "symmetries": [asdict(symmetry) for symmetry in model.symmetries],
            "layers": [_layer_to_store(k, layer, arrays, weights) for k, layer in enumerate(layers)],
            "records": [asdict(record) for record in model.chain.records],
            "first": None,
        }
        if model.chain.source is not None:
            arrays["source"] = model.chain.source
        if model.first is not None:
            own_header, own = model.first._to_store(weights=weights, sums=False, bands=False, inputs=False)
            header["first"] = own_header
            arrays |= {_FIRST + name: array for name, array in own.items()}
        header["error_bars"] = error_bars_to_store(model, arrays, bands)
        return header, arrays | model.record.arrays(inputs) | model.windows.arrays()

    @classmethod
    def _from_store(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        grid = Grid(**_tuples(header["grid"]))
        form = FieldForm(
            grid,
            arrays["order"],
            restored_inputs(header["inputs"], arrays),
            tuple(InputChannels(**_tuples(part)) for part in header["parts"]),
            restored_outputs(header["outputs"], arrays),
            arrays["shift"],
            arrays["scale"],
            header["size"],
        )
        first = None
        if header["first"] is not None:
            own = {n.removeprefix(_FIRST): a for n, a in arrays.items() if n.startswith(_FIRST)}
            first = ELMDeepONet._from_store(header["first"], own)
        symmetries = tuple(Symmetry(**_tuples(symmetry)) for symmetry in header["symmetries"])
        layers = [
            _restored_layer(k, record, arrays, grid, symmetries) for k, record in enumerate(header["layers"])
        ]
        records = tuple(LayerRecord(**record) for record in header["records"])
        model = FittedChain(
            inputs=form.inputs,
            outputs=form.outputs,
            estimate=restored_estimate(header, header["error"], header.get("interval"), "held out"),
            method=restored_method(header, ChainErrorBars),
            known=TrainingRecord(arrays.get("fingerprints"), arrays.get("training_inputs")),
            words=str(header["words"]),
            form=form,
            first=first,
            chain=Chain(tuple(layers), records, source=arrays.get("source")),
            first_error=header["first_error"],
            held_out_error=header.get("held_out_error", header["error"]),
            symmetries=symmetries,
            windows=WindowNovelty.from_arrays(arrays, grid),
        )
        return cls()._adopt(restored_error_bars(model, header, arrays))


def _layer_to_store(k: int, layer: Layer, arrays: dict[str, np.ndarray], weights: bool) -> dict[str, Any]:
    features = layer.features
    arrays |= {
        f"layer{k}.mean": features.mean,
        f"layer{k}.deviation": features.deviation,
        f"layer{k}.coefficients": layer.coefficients,
    }
    if weights:
        arrays |= {f"layer{k}.{name}": array for name, array in zip("Ab", features.weights, strict=True)}
    return {
        "recipe": asdict(features.settings),
        "seed": features.seed,
        "channels": features.channels,
        "alpha": layer.alpha,
        "single": layer.single,
        "drawn": digest(list(features.weights)),
    }


def _restored_layer(
    k: int, record: dict[str, Any], arrays: dict[str, np.ndarray], grid: Grid, images: tuple[Symmetry, ...]
) -> Layer:
    recipe = _tuples(record["recipe"])
    kernels, potentials = (
        tuple(SmoothingKernel(**_tuples(kernel)) for kernel in recipe.pop(name, ()))
        for name in ("kernels", "potentials")
    )
    settings = LayerSettings(**recipe, kernels=kernels, potentials=potentials)
    channels = tuple(record["channels"])
    mean, deviation = arrays[f"layer{k}.mean"], arrays[f"layer{k}.deviation"]
    stored = (arrays[f"layer{k}.A"], arrays[f"layer{k}.b"]) if f"layer{k}.A" in arrays else None
    features = LayerFeatures(settings, record["seed"], grid, channels, mean, deviation, stored)
    if digest(list(features.weights)) != record["drawn"]:
        raise FileError(
            f"the random weights drawn here differ from the model's: this NumPy ({np.__version__}) draws "
            "other numbers. Load the file with the NumPy that wrote it, and save it with weights=True."
        )
    coefficients = arrays[f"layer{k}.coefficients"]
    if "factors" not in recipe:
        coefficients = features.from_pairs(coefficients)
    return Layer(features, coefficients, record["alpha"], images, record.get("single", False))


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with JSON's lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}

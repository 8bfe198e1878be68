"""A fitted chain as the header and arrays of a file, and back; random weights are stored as their seeds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from elmonet.errors import FileError
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
from elmonet.layered.bands import ChainErrorBars, WindowNovelty
from elmonet.layered.chain import Chain, LayerRecord
from elmonet.layered.features import LayerFeatures, LayerSettings
from elmonet.layered.fields import FieldForm, InputChannels
from elmonet.layered.fitted import FittedChain
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.layer import Layer
from elmonet.store import digest
from elmonet.uncertainty.error_estimate import ErrorEstimate, restored_interval, stored_interval
from elmonet.uncertainty.novelty import TrainingRecord

_FIRST = "first."  # prefix of the first model's arrays


def chain_to_store(
    model: FittedChain, *, weights: bool, bands: bool, inputs: bool
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a `LayeredELMDeepONet`'s file."""
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
        "words": str(model.summary),
        "symmetries": [asdict(symmetry) for symmetry in model.symmetries],
        "layers": [_layer_to_store(k, layer, arrays, weights) for k, layer in enumerate(layers)],
        "records": [asdict(record) for record in model.chain.records],
        "first": None,
    }
    if model.first is not None:
        own_header, own = model.first._to_store(weights=weights, sums=False, bands=False, inputs=False)
        header["first"] = own_header
        arrays |= {_FIRST + name: array for name, array in own.items()}
    header["error_bars"] = error_bars_to_store(model, arrays, bands)
    return header, arrays | model.record.arrays(inputs) | model.windows.arrays()


def chain_from_store(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> FittedChain:
    """Invert `chain_to_store`."""
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
        estimate=ErrorEstimate(header["error"], restored_interval(header.get("interval")), "held out"),
        method=restored_method(header, ChainErrorBars),
        known=TrainingRecord(arrays.get("fingerprints"), arrays.get("training_inputs")),
        words=str(header["words"]),
        form=form,
        first=first,
        chain=Chain(tuple(layers), records),
        first_error=header["first_error"],
        held_out_error=header.get("held_out_error", header["error"]),
        symmetries=symmetries,
        windows=WindowNovelty.from_arrays(arrays, grid),
    )
    return restored_error_bars(model, header, arrays)


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
        "drawn": digest(list(features.weights)),
    }


def _restored_layer(
    k: int, record: dict[str, Any], arrays: dict[str, np.ndarray], grid: Grid, images: tuple[Symmetry, ...]
) -> Layer:
    recipe = LayerSettings(**_tuples(record["recipe"]))
    channels = tuple(record["channels"])
    mean, deviation = arrays[f"layer{k}.mean"], arrays[f"layer{k}.deviation"]
    stored = (arrays[f"layer{k}.A"], arrays[f"layer{k}.b"]) if f"layer{k}.A" in arrays else None
    features = LayerFeatures(recipe, record["seed"], grid, channels, mean, deviation, stored)
    if digest(list(features.weights)) != record["drawn"]:
        raise FileError(
            f"the random weights drawn here differ from the model's: this NumPy ({np.__version__}) draws "
            "other numbers. Load the file with the NumPy that wrote it, and save it with weights=True."
        )
    return Layer(features, arrays[f"layer{k}.coefficients"], record["alpha"], images)


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with JSON's lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}

"""A layered model as a header and arrays, and back; random weights are stored as their seeds."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from elmonet.errors import FileError
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.layered.bands import LayerBands, WindowNovelty
from elmonet.layered.chain import Chain, Layered, LayerRecord
from elmonet.layered.features import LayerFeatures, LayerSettings
from elmonet.layered.fields import FieldForm, InputChannels
from elmonet.layered.grid import Grid, Symmetry
from elmonet.layered.layer import Layer
from elmonet.modelfile.saving import (
    inputs_to_store,
    outputs_to_store,
    restored_inputs,
    restored_outputs,
    stored_memory,
)
from elmonet.modelfile.saving import restore as restore_first
from elmonet.modelfile.saving import to_store as first_to_store
from elmonet.modelfile.store import digest
from elmonet.uncertainty.error_estimate import restored_interval, stored_interval
from elmonet.uncertainty.novelty import Memory

__all__ = ["restore", "to_store"]

_FIRST = "first."


def to_store(
    found: Layered, memory: Memory, words: str, weights: bool, *, bands: bool, inputs: bool
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file."""
    form = found.form
    arrays = {"order": form.order, "shift": form.shift, "scale": form.scale}
    header: dict[str, Any] = {
        "model": "LayeredELMDeepONet",
        "grid": asdict(form.grid),
        "inputs": inputs_to_store(form.inputs, arrays),
        "parts": [asdict(part) for part in form.parts],
        "outputs": outputs_to_store(form.outputs, arrays),
        "size": form.size,
        "error": found.error,
        "first_error": found.first_error,
        "interval": stored_interval(found.interval),
        "words": words,
        "symmetries": [asdict(symmetry) for symmetry in found.symmetries],
        "layers": [_layer_to_store(k, layer, arrays, weights) for k, layer in enumerate(found.chain.layers)],
        "records": [asdict(record) for record in found.chain.records],
        "first": None,
    }
    if found.first is not None:
        own_header, own = first_to_store(
            found.first, found.first._fitted(), None, weights, bands=False, inputs=False
        )
        header["first"] = own_header
        arrays |= {_FIRST + name: array for name, array in own.items()}
    if bands and found.bands is not None:
        arrays |= found.bands.arrays()
    return header, arrays | stored_memory(memory, inputs) | found.novelty.arrays()


def restore(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[Layered, Memory, str]:
    """The inverse of `to_store`."""
    if header.get("model") != "LayeredELMDeepONet":
        raise FileError(f"{str(path)!r} holds another kind of model: read it with elmonet.load.")
    try:
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
            first = restore_first(ELMDeepONet, header["first"], own)
        symmetries = tuple(Symmetry(**_tuples(symmetry)) for symmetry in header["symmetries"])
        layers = tuple(
            _restored_layer(k, record, arrays, grid, symmetries) for k, record in enumerate(header["layers"])
        )
        records = tuple(LayerRecord(**record) for record in header["records"])
        novelty = WindowNovelty.from_arrays(arrays, grid)
        facts = (
            header["error"],
            header["first_error"],
            symmetries,
            novelty,
            LayerBands.from_arrays(arrays, grid),
            restored_interval(header.get("interval")),
        )
        words = str(header["words"])
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise FileError(
            f"{str(path)!r} does not describe a layered model that this elmonet knows "
            f"({type(error).__name__}: {error}). It may come from a development version; fit "
            "and save the model again."
        ) from error
    found = Layered(form, first, Chain(layers, records), *facts)
    return found, Memory(arrays.get("fingerprints"), None, arrays.get("training_inputs")), words


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
    kept = (arrays[f"layer{k}.{name}"] for name in ("mean", "deviation"))
    features = LayerFeatures(recipe, record["seed"], grid, channels, *kept)
    if f"layer{k}.A" in arrays:
        features.__dict__["weights"] = arrays[f"layer{k}.A"], arrays[f"layer{k}.b"]
    if digest(list(features.weights)) != record["drawn"]:
        raise FileError(
            f"the random weights drawn here differ from the model's: this NumPy ({np.__version__}) draws "
            "other numbers. Load the file with the NumPy that wrote it, and save it with weights=True."
        )
    return Layer(features, arrays[f"layer{k}.coefficients"], record["alpha"], images)


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    """JSON's lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}

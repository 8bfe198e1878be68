"""What a file is taken for, and how well a model predicts what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elmonet.cli.telling import Told, one_or_more

__all__ = ["flags", "named_outputs", "relative_error", "relative_errors", "tell_roles", "understood"]


def flags(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a verb that are about reading, and were given, as `elmonet.read` takes them."""
    names = {name: options.get(name) for name in ("points", "sensors", "index", "transpose")}
    names |= {name: one_or_more(options.get(name)) for name in ("input", "output")}
    names["max_bytes"] = options["max_size"]
    return {name: value for name, value in names.items() if value is not None and value is not False}


def understood(told: Told, path: Path, names: dict[str, Any]) -> Any:
    """Read a file, and print what is taken as what."""
    from elmonet.data.read import read_with_roles

    data, roles = read_with_roles(path, **names)
    tell_roles(told, path, roles)
    return data


def tell_roles(told: Told, path: Path, roles: Any) -> None:
    """Print what is taken as what."""
    told.line(f"{path}:")
    for reason in roles.reasons:
        told.line(f"  {reason}")
    told.fact(understood=list(roles.reasons))


def relative_error(predicted: Any, truth: Any) -> float | None:
    """The mean relative error of predictions of functions with known outputs, None if these are others."""
    import numpy as np

    errors = relative_errors(predicted, truth)
    return None if errors is None or np.isnan(errors).all() else float(np.nanmean(errors))


def relative_errors(predicted: Any, truth: Any) -> Any:
    """The relative error of each function (N,): NaN if it is not known; None if the outputs are others.

    Of named components, each has its relative error, and a function has their mean.
    """
    import numpy as np

    from elmonet.data import Scattered
    from elmonet.metrics import function_norms, reference_norms

    if isinstance(truth, dict):
        if not isinstance(predicted, dict) or set(predicted) != set(truth):
            return None
        parts = [relative_errors(predicted[name], truth[name]) for name in truth]
        return None if any(part is None for part in parts) else _mean_of_known(np.stack(parts))
    predicted = np.stack(list(predicted.values()), axis=-1) if isinstance(predicted, dict) else predicted
    known: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, dtype=float)
    if predicted.size != known.size:
        return None
    rows = (len(known), -1)
    known, missed = known.reshape(rows), (predicted.reshape(known.shape) - known).reshape(rows)
    there = np.isfinite(known)
    known, missed = np.where(there, known, 0), np.where(there, missed, 0)
    if isinstance(truth, Scattered):
        count, *squares = (np.bincount(truth.index, A.sum(axis=1)) for A in (there, missed**2, known**2))
        norms = [np.sqrt(A) for A in squares]
    else:
        count, norms = there.sum(axis=1), [function_norms(A) for A in (missed, known)]
    errors = np.full(len(count), np.nan)
    seen = count > 0
    errors[seen] = norms[0][seen] / reference_norms(norms[1][seen])
    return errors


def _mean_of_known(parts: Any) -> Any:
    """The mean over the first axis of what is not NaN; NaN where there is nothing."""
    import numpy as np

    count = np.isfinite(parts).sum(axis=0)
    return np.where(count > 0, np.nansum(parts, axis=0) / np.maximum(count, 1), np.nan)


def named_outputs(data: Any, s: Any) -> Any:
    """Outputs with named components as a dictionary."""
    if data.components is None or not hasattr(s, "shape"):
        return s
    return {name: s[..., i] for i, name in enumerate(data.components)}

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
    from elmonet.form import score  # imported when it is needed, so that --help is there at once

    return score.relative_error(predicted, truth)


def relative_errors(predicted: Any, truth: Any) -> Any:
    """The same for each function (N,): NaN if it is not known; None if the outputs are others."""
    from elmonet.form import score

    return score.relative_errors(predicted, truth)


def named_outputs(data: Any, s: Any) -> Any:
    """Outputs with named components as a dictionary."""
    if data.components is None or not hasattr(s, "shape"):
        return s
    return {name: s[..., i] for i, name in enumerate(data.components)}

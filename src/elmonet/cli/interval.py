"""Bands on the command line: what is asked for, and how many of the known outputs they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from elmonet._check import InputError, choice
from elmonet.cli.telling import Told

__all__ = ["Band", "Interval", "band_asked", "coverage_found", "of_option", "tell_coverage"]

_OF = ("points", "function")
_IN_WORDS = {"points": "of all values", "function": "of whole functions"}

Interval = Annotated[
    float | None,
    typer.Option(
        help="Also give bands that hold in this part of all cases: 0.9 for 90 %.",
        metavar="COVERAGE",
        show_default="no bands",
    ),
]


def of_option(default: str) -> Any:
    """The option --of of a verb."""
    return typer.Option(
        help="What the bands hold: points: this part of all values; function: this part of whole functions.",
        metavar="WORD",
        show_default=default,
    )


@dataclass(frozen=True)
class Band:
    """The coverage that is asked for, of single values ("points") or of whole functions ("function")."""

    coverage: float
    of: str


def band_asked(interval: float | None, of: str | None, default: str) -> Band | None:
    """What --interval and --of ask for; None: no bands."""
    if of is not None:
        choice(of, "--of", _OF)
    if interval is None:
        if of is not None:
            raise InputError(f"--of {of} says what the bands hold. Say also how often: --interval 0.9.")
        return None
    if not 0 < interval < 1:
        raise InputError(
            "--interval must be between 0 and 1, such as 0.9 for bands that hold in 90 % of all cases; got "
            f"{interval:g}."
        )
    return Band(interval, of or default)


def coverage_found(low: Any, high: Any, truth: Any) -> dict[str, float] | None:
    """The part of known values ("points"), and of functions, that lies in a band; None if these are others.

    The ends are as `interval` gives them, the truth is an array, a dictionary of components or a `Scattered`.
    """
    import numpy as np

    if not isinstance(truth, dict):
        if isinstance(low, dict):
            low, high = (np.stack(list(end.values()), axis=-1) for end in (low, high))
        low, high, truth = {"": low}, {"": high}, {"": truth}
    if not isinstance(low, dict) or set(low) != set(truth):
        return None
    counts = [_counts(low[name], high[name], truth[name]) for name in truth]
    if any(count is None for count in counts):
        return None
    known, outside = np.sum(counts, axis=0)
    there = known > 0
    if not there.any():
        return None
    return {"points": 1 - outside.sum() / known.sum(), "function": float(np.mean(outside[there] == 0))}


def tell_coverage(told: Told, band: Band, found: dict[str, float] | None) -> None:
    """Print what was asked for, and, where outputs are known, what was found."""
    told.fact(coverage=band.coverage, of=band.of)
    if found is not None:
        told.fact(coverage_found=found[band.of])
        words = _IN_WORDS[band.of]
        told.line(f"bands for {100 * band.coverage:.4g} % {words}: they hold {100 * found[band.of]:.1f} %")


def _counts(low: Any, high: Any, truth: Any) -> Any:
    """How many values of each function are known, and how many of these lie outside: (2, n)."""
    import numpy as np

    from elmonet.data import Scattered

    values: Any = truth.values if isinstance(truth, Scattered) else np.asarray(truth, float)
    if values.size != low.size:
        return None
    low, high = low.reshape(values.shape), high.reshape(values.shape)
    known = np.isfinite(values)
    counts = [A.reshape(len(A), -1).sum(axis=1) for A in (known, (values < low) | (values > high))]
    return np.stack([np.bincount(truth.index, A) if isinstance(truth, Scattered) else A for A in counts])

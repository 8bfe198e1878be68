"""A picture of a prediction with its band."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elmonet._check import InputError
from elmonet.cli.interval import Band

__all__ = ["draw_band"]


def draw_band(
    fitted: Any, u: Any, found: Any, function: int, component: str | None, band: Band, name: str
) -> tuple[Any, float | None]:
    """The axes, and the relative error if the truth is known; u is the function alone, of those `found`."""
    from elmonet.plot.bands import in_a_plane, on_a_line
    from elmonet.plot.one_function import WithBand

    points, truth = _known(fitted, found, function)
    shown = WithBand.of(fitted, u, truth, 0, band.coverage, band.of, points, component)
    d = shown.points.shape[1]
    if d > 2:
        raise InputError(
            f"--interval draws bands on a line or in a plane, and these points have {d} coordinates. Write "
            "them to a file instead: elmonet predict --interval."
        )
    called = shown.name.replace("function 0", f"function {function}", 1)
    shown = replace(shown, name=f"{name}, {called}", axes=found.axes)
    return (on_a_line if d == 1 else in_a_plane)(shown), shown.error


def _known(fitted: Any, found: Any, function: int) -> tuple[Any, Any]:
    """Where to draw a function (None: at the training points), and its outputs there if they are known."""
    from elmonet.data import Scattered
    from elmonet.form.inputs import rows_of

    truth, names = found.truth, fitted.outputs_.names
    if isinstance(truth, Scattered):
        if function not in truth.index:
            raise InputError(f"function {function} has no points of its own; name another --function.")
        one: Any = truth.of_functions([function])
        return one.points, one.values[None]
    if truth is None:
        if fitted.outputs_.scattered:
            raise InputError(
                "the model was fitted to outputs at scattered points, and this file does not say where to "
                "draw: it needs points and index."
            )
        return None, None
    own: Any = rows_of(truth, slice(function, function + 1))
    if names is not None and not isinstance(own, dict) and own.shape[-1] == len(names):
        own = {name: own[..., i] for i, name in enumerate(names)}
    return found.points, own

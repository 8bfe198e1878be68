"""Where to look for the best scale next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["next_scale"]

_STEP = 1.4  # factor to a first neighbour
_ENOUGH = 1.03  # scales within this factor are the same


def next_scale(scales: Sequence[float], errors: Sequence[float]) -> float | None:
    """The scale to try next, given the errors at some; None if there is nothing to gain.

    The best scale gets a neighbour on either side, then comes the vertex of the parabola through the three,
    in logarithms of scale and error.
    """
    order = np.argsort(scales)
    x, f = np.log(np.asarray(scales)[order]), np.log(np.maximum(np.asarray(errors)[order], 1e-300))
    best = int(np.argmin(f))
    if best == len(x) - 1:
        # Outwards, as far as the last step went, but not with a leap.
        step = x[-1] - x[-2] if len(x) > 1 else np.log(_STEP)
        return float(np.exp(x[-1] + step))
    if best == 0:
        return float(np.exp(x[0] - (x[1] - x[0])))
    before, after = x[best] - x[best - 1], x[best + 1] - x[best]
    rise, fall = f[best + 1] - f[best], f[best - 1] - f[best]
    # f = rise at +after, fall at -before, zero at 0: the vertex of the parabola through the three.
    slope = (rise * before**2 - fall * after**2) / (before * after * (before + after))
    curvature = 2 * (rise * before + fall * after) / (before * after * (before + after))
    if curvature <= 0:
        return None
    move = float(np.clip(-slope / curvature, -before / 2, after / 2))
    vertex = float(np.exp(x[best] + move))
    known = np.exp(np.abs(x - np.log(vertex)).min())
    return None if known < _ENOUGH else vertex

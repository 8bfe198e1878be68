"""The section on error bars: do they hold?"""

from __future__ import annotations

import numpy as np

from elmonet.calibration import Calibration
from elmonet.plot.axes import titled
from elmonet.plot.calibrations import calibration as draw_calibration
from elmonet.plot.calibrations import stated_error
from elmonet.report.account import Tested, Unseen
from elmonet.report.drawing import drawn
from elmonet.report.page import Markup, element, picture, table

__all__ = ["bands_section"]


def bands_section(unseen: Unseen | None, tested: Tested | None) -> list[Markup]:
    """Coverage asked against coverage found, on test functions and on halves of the training functions."""
    parts = [element("h2", "Do the bands hold?")]
    found = None if tested is None else tested.calibration
    if tested is not None and found is not None:
        parts += _found(found, f"On {tested.functions} test functions.")
    halves = None if unseen is None else unseen.calibration
    if unseen is not None and halves is not None:
        how = f"On {len(halves.true)} {unseen.how}."
        parts += _found(halves, f"{how} Bands from one half of them, tried on the other half.")
    if found is None and halves is None:
        why = "Not known."
        if unseen is not None:
            why = f"Not known: {len(unseen.errors)} {unseen.how}, are too few to try it on."
        parts.append(element("p", f"{why} Give functions with known outputs: model.report(path, X, y)."))
    return parts


def _found(found: Calibration, where: str) -> list[Markup]:
    rows = [
        (f"{100 * asked:.0f} %", f"{100 * points:.1f} %", f"{100 * functions:.1f} %")
        for asked, points, functions in zip(found.asked, found.points, found.functions, strict=True)
    ]
    can_compare = bool(((found.stated > 0) & (found.true > 0)).any())

    def draw(axes: np.ndarray) -> None:
        first, *rest = axes
        draw_calibration(found, first)
        titled(first, "Coverage")
        for ax in rest:
            stated_error(found, ax)
            more = "" if found.correlation is None else f": correlation {found.correlation:.2f}"
            titled(ax, f"Error of each function{more}")

    columns = 2 if can_compare else 1
    return [
        element("p", where),
        picture(
            drawn(draw, 1, columns, 4.6 * columns, 4.6),
            "Coverage found against coverage asked for; true error against stated error, if known.",
        ),
        table(rows, ("asked for", "of all values", "of whole functions")),
    ]

"""What a fitted model with layers has to tell in a report."""

from __future__ import annotations

from typing import Any

from elmonet.fitting.account import data_of, seed_of
from elmonet.layers.layered import Layered
from elmonet.layers.unseen import unseen_of
from elmonet.report.account import Account

__all__ = ["account_of"]

_NOT_KEPT = (
    "Not known: this model was loaded from a file, which does not hold the functions that were held out. "
    "Give functions with known outputs: model.report(path, X, y)."
)
_TOO_FEW = "Not known: too few functions were held out."


def account_of(model: Any, found: Layered) -> Account:
    """Of a `LayeredELMDeepONet`."""
    form, held = found.form, found.held_out
    kinds = ["periodic" if around else "not periodic" for around in form.grid.periodic]
    settings = {
        "begins with": "nothing" if found.first is None else " ".join(repr(found.first.branch_).split()),
        "layers": str(len(found.chain.layers)),
        "grid": f"{' x '.join(map(str, form.grid.given))} points, {', '.join(kinds)}",
        "symmetries": "; ".join(map(str, found.symmetries)) or "none found",
    }
    made = f"model = {' '.join(repr(model).split())}"
    bands = found.bands
    return Account(
        type(model).__name__,
        model.summary(),
        data_of(form.inputs, form.outputs, model._memory, None),
        settings,
        seed_of(model.random_state, loaded=held is None),
        f"{made}\nmodel.fit(u, s, points=points)",
        found.error,
        found.interval,
        "functions held out of all layers",
        None if held is None or bands is None else unseen_of(held, form, bands),
        _NOT_KEPT if held is None else _TOO_FEW,
        layers=tuple(model.layers_),
    )

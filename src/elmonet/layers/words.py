"""A fitted chain in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmonet.fitting.words import WARNS, facts_of_error, outputs_in_words
from elmonet.summaries import Fact, Summary, percent

if TYPE_CHECKING:
    from elmonet.layers.layered import Layered

__all__ = ["summary_of"]


def summary_of(found: Layered, before: Summary) -> Summary:
    """What was said before, with the error to expect, what each layer gained, and the grid."""
    grid, chain = found.form.grid, found.chain
    axes = ["periodic" if around else "not periodic" for around in grid.periodic]
    kinds = axes[0] if len(set(axes)) == 1 else ", ".join(f"axis {i + 1} {a}" for i, a in enumerate(axes))
    begin = "nothing"
    if found.first is not None and found.first_error is not None:
        branch = " ".join(repr(found.first.branch_).split())
        begin = f"a global model with branch {branch}, error {percent(found.first_error)}"
    choice = [Fact("Begins with", begin)]
    for k, (record, layer) in enumerate(zip(chain.records, chain.layers, strict=True)):
        recipe = layer.features.recipe
        window = " x ".join(str(2 * r + 1) for r in recipe.radius)
        choice.append(
            Fact(
                f"Layer {k + 1}",
                f"error {percent(record.error)}; windows of {window} values, {record.features} features "
                f"({recipe.activation}), alpha {record.alpha:.2g}, {record.seconds:.1f} s",
            )
        )
    if found.symmetries:
        choice.append(Fact("Symmetries", f"{'; '.join(map(str, found.symmetries))}; found in the data"))
    details = before.details or (Fact("Outputs", outputs_in_words(found.form.outputs)),)
    fields = f"{' x '.join(map(str, grid.given))} points, {kinds}"
    return Summary(
        error=(*facts_of_error(found.error, found.interval, "held out", WARNS), *before.error),
        help=before.help,
        choice=(*before.choice, *choice),
        equation=before.equation,
        details=(*details, Fact("Grid", fields)),
    )

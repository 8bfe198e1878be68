"""A fitted chain in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmonet.fitting.words import error_in_words, outputs_in_words

if TYPE_CHECKING:
    from elmonet.layers.layered import Layered

__all__ = ["summary_of"]


def summary_of(found: Layered, before: str) -> str:
    """`before`; then the grid, what was chosen, what each layer gained, and what error to expect."""
    grid, chain = found.form.grid, found.chain
    axes = ["periodic" if around else "not periodic" for around in grid.periodic]
    kinds = axes[0] if len(set(axes)) == 1 else ", ".join(f"axis {i + 1} {a}" for i, a in enumerate(axes))
    lines = [
        *([before] if before else []),
        f"{'Layers' if before else 'Data'}: fields on a grid of {' x '.join(map(str, grid.given))} points, "
        f"{kinds}; "
        f"outputs {outputs_in_words(found.form.outputs)}.",
        "Begins from nothing."
        if found.first is None
        else f"Begins with a global model, {found.first.branch_!r}: error {found.first_error:.3g}.",
    ]
    for k, (record, layer) in enumerate(zip(chain.records, chain.layers, strict=True)):
        recipe = layer.features.recipe
        window = " x ".join(str(2 * r + 1) for r in recipe.radius)
        lines.append(
            f"Layer {k + 1}: windows of {window} values, {record.features} features ({recipe.activation}), "
            f"alpha {record.alpha:.2g}, error {record.error:.3g}, {record.seconds:.1f} s."
        )
    if found.symmetries:
        lines.append(f"Symmetries of the data: {'; '.join(map(str, found.symmetries))}.")
    lines.append(error_in_words(found.error, found.interval, "functions held out of all layers"))
    return "\n".join(lines)

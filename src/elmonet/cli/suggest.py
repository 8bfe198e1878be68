"""elmonet suggest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elmonet.cli.paths import open_model, require_data, require_data_place
from elmonet.cli.telling import InputName, MaxSize, Told, Transpose
from elmonet.cli.understanding import flags

__all__ = ["suggest"]


def suggest(
    model: Annotated[Path, typer.Argument(help="File of a model, from elmonet fit.", metavar="MODEL")],
    pool: Annotated[Path, typer.Argument(help="File of candidate input functions.", metavar="POOL")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many to suggest.", metavar="N")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File of the suggested functions to write: npz, h5, zarr, mat, nc; csv and npy, the indices "
            "alone.",
            metavar="FILE",
            show_default="none",
        ),
    ] = None,
    input: InputName = None,
    transpose: Transpose = False,
    max_size: MaxSize = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: candidates, training_functions, indices, wrote.",
        ),
    ] = False,
) -> None:
    """Suggest which input functions of a file to simulate next.

    Prints their row numbers, from 0. The first one lowers the uncertainty over the whole file most. If the
    file has test functions, only these are looked at.

    **Examples**

    elmonet suggest operator.elmonet pool.npz -n 10

    elmonet suggest operator.elmonet pool.npz -n 10 -o next.npz
    """
    from elmonet.cli.inputs import read_inputs
    from elmonet.data.write import write_data
    from elmonet.form.inputs import rows_of

    fitted = open_model(model)
    require_data(pool)
    if out is not None:
        require_data_place(out, model, pool)
    told = Told(json)
    found = read_inputs(fitted, pool, **flags(locals()))
    indices = fitted.suggest(found.u, n)
    seen = int(fitted.is_training_function(found.u).sum())
    about = f", of which {seen} are training functions of the model" if seen else ""
    told.line(f"{pool}: {found.told}{about}")
    if out is not None:
        arrays = {"index": indices}
        if out.suffix.lower() not in (".npy", ".csv"):
            chosen = rows_of(found.u, indices)
            arrays |= chosen if isinstance(chosen, dict) else {"u": chosen}
        write_data(out, arrays)
        told.line(
            "wrote " + ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) + f" to {out}"
        )
    told.fact(candidates=found.functions, training_functions=seen, indices=indices)
    told.fact(wrote=None if out is None else str(out))
    told.line("simulate next (rows, counted from 0; the most useful first):\n" + "\n".join(map(str, indices)))
    told.end()

"""elmonet reproduce physics: operators learned from equations alone, beside published numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from elmonet._check import InputError, choice
from elmonet.cli.picture import without_windows
from elmonet.cli.tables import show_table
from elmonet.cli.telling import Stopped

__all__ = ["PHYSICS", "reproduce_physics"]

PHYSICS = "physics"


def reproduce_physics(
    *,
    only: list[str],
    functions: int | None,
    seed: int,
    out: Path,
    json: Path | None,
    meaningless: dict[str, Any],
) -> None:
    """Run the gallery of equations; `meaningless` are the other options, that must not be given."""
    from rich.console import Console

    from elmonet.equations.gallery import GALLERY
    from elmonet.paper.physics import physics_table
    from elmonet.paper.physics import reproduce_physics as run
    from elmonet.paper.run import as_json
    from elmonet.progress import progress_bar
    from elmonet.store import write_bytes

    given = [flag for flag, value in meaningless.items() if value not in (None, False)]
    if given:
        raise InputError(
            f"{', '.join(given)}: this is for the paper's experiments. physics takes --only, --functions, "
            "--seed, --out and --json."
        )
    names = [choice(name, "--only", GALLERY) for name in only] or list(GALLERY)
    without_windows()
    with progress_bar() as progress:
        try:
            results = run(names, functions=functions, seed=seed, out=out, progress=progress)
        except KeyboardInterrupt:
            raise Stopped(
                f"Stopped. Problems that are finished are kept in {out / 'physics.json'}; --only NAME runs "
                "one of them."
            ) from None
    if str(json) == "-":
        sys.stdout.write(as_json(results))
    elif json is not None:
        write_bytes(json, as_json(results).encode())
    console = Console(stderr=str(json) == "-")
    show_table(physics_table(results), console)
    if "figures" in results:
        console.print(f"figures: {results['figures']}", style="dim", markup=False)
    console.print(f"wrote {out / 'physics.json'}", highlight=False)

"""Tables of results on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from elmonet.paper.tables import Table

__all__ = ["show_table"]


def show_table(table: Table, console: Console) -> None:
    """Print a table, as narrow as it must be, and its notes below."""
    from rich import box
    from rich import table as rich_table

    columns = [rich_table.Column(name, overflow="fold") for name in table.columns]
    shown = rich_table.Table(*columns, title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
    for row in table.rows:
        shown.add_row(*(cell.replace(", ", "\n") for cell in row))
    console.print(shown)
    for note in table.notes:
        console.print(note, style="dim", markup=False)

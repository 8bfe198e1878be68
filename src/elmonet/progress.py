"""A progress bar for what takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Progress", "progress_bar"]

Progress = Callable[[str, float, float], None]
"""Called as progress(what, done, total): what is being done, and how much of the work is finished."""


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[Progress]:
    """A bar with what is being done and the time left, on standard error, as a `Progress` hook.

    Where there is no terminal, such as in a log file, one line for each step that begins.
    """
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True) if console is None else console
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True, speed_estimate_period=120) as bar:
        task, begun = bar.add_task("starting"), ""

        def hook(what: str, done: float, total: float) -> None:
            nonlocal begun
            bar.update(task, description=what, completed=done, total=total)
            if what != begun and not console.is_terminal:
                console.print(f"{done / total:4.0%} {what}", highlight=False)
            begun = what

        yield hook

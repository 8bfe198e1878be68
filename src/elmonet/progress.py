"""The progress hook of long computations, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str, float, float], None]
"""Called as progress(what, done, total): the current step, and how much of the work is done."""


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[Progress]:
    """Show a bar with the current step and the time left, on standard error; yield a `Progress` hook.

    Without a terminal, such as in a log file, print one line at the start of each step.
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
        task, current = bar.add_task("starting"), ""

        def hook(what: str, done: float, total: float) -> None:
            nonlocal current
            bar.update(task, description=what, completed=done, total=total)
            if what != current and not console.is_terminal:
                console.print(f"{done / total:4.0%} {what}", highlight=False)
            current = what

        yield hook

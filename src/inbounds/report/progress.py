"""Progress on the terminal: bars of planned work, or one line; silent if the output is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from inbounds.progress import Progress, ignore_progress


@contextmanager
def show_counts(console: Console) -> Iterator[Progress]:
    """Yield a callback that shows a bar for each step, with how much of its planned work is done."""
    if not console.is_terminal:
        yield ignore_progress
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(doing, total=total)
            bars.update(tasks[doing], completed=done, total=total)

        yield show


@contextmanager
def show_progress(title: str, console: Console | None = None) -> Iterator[Callable[[int, float], None]]:
    """Yield a callback (steps, residual) for `ib.reconstruct(..., progress=...)` that updates one line.

    with show_progress("reconstructing") as progress:
        ib.reconstruct(counts, mechanism, progress=progress)
    """
    screen = console or Console(stderr=True)
    if not screen.is_terminal:
        yield lambda steps, residual: None
        return
    with screen.status(f"{title} …") as status:
        yield lambda steps, residual: status.update(f"{title} … step {steps}, residual {residual:.1e}")

"""A progress line on the terminal; silent if the output is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


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

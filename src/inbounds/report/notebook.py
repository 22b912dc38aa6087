"""What a notebook shows of a value, and its table as text: short, escaped, with pictures that carry their style."""

from collections.abc import Iterable, Sequence
from typing import Any

from inbounds.report.templates import render_template

SHOWN_ROWS = 20
"""Rows of a table in a notebook; the value itself holds all of them."""


def render_notebook(
    title: str,
    sentences: Iterable[str] = (),
    *,
    pictures: Iterable[str] = (),
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    notes: Iterable[str] = (),
) -> str:
    """Title, sentences, pictures, a table, notes. pictures: SVG of our own; everything else is escaped."""
    cut = [f"{SHOWN_ROWS} of {len(rows)} rows"] if len(rows) > SHOWN_ROWS else []
    values = {"title": title, "sentences": sentences, "pictures": pictures, "head": head}
    return render_template("notebook.html", {**values, "rows": rows[:SHOWN_ROWS], "notes": [*cut, *notes]})


def cell_text(value: Any) -> str:
    """Return a value for people: six digits of a number that is not whole, nothing for what is missing."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def text_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of equal width, aligned to the right.

    >>> print(text_table(["a", "long"], [[1, 0.5], [20, None]]))
     a  long
     1   0.5
    20
    """
    texts = [list(head), *([cell_text(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in texts]
    return "\n".join(line.rstrip() for line in lines)

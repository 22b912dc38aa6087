"""HTML and text for notebooks: short, escaped, with pictures that contain their style."""

from collections.abc import Iterable, Sequence
from typing import Any

from inbounds.report.templates import render_template

SHOWN_ROWS = 20
"""The most rows of a table in a notebook."""


def render_notebook(
    title: str,
    sentences: Iterable[str] = (),
    *,
    pictures: Iterable[str] = (),
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    notes: Iterable[str] = (),
) -> str:
    """Render title, sentences, pictures, a table and notes. pictures: SVG made by this package; the rest is escaped."""
    row_note = [f"{SHOWN_ROWS} of {len(rows)} rows"] if len(rows) > SHOWN_ROWS else []
    values = {"title": title, "sentences": sentences, "pictures": pictures, "head": head}
    return render_template("notebook.html", {**values, "rows": rows[:SHOWN_ROWS], "notes": [*row_note, *notes]})


def cell_text(value: Any) -> str:
    """Format a value for people: up to six digits of a float, an empty text for None."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def text_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a text table with right-aligned columns.

    >>> print(text_table(["a", "long"], [[1, 0.5], [20, None]]))
     a  long
     1   0.5
    20
    """
    texts = [list(head), *([cell_text(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in texts]
    return "\n".join(line.rstrip() for line in lines)

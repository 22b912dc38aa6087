"""Tables and heatmaps for the terminal."""

import math
from collections.abc import Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from inbounds.evaluate.compare import Comparison
from inbounds.exact import Floats
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import answer_values
from inbounds.report.svg import cell_colour

WIDEST = 41
"""Matrices with more answers than this are not drawn in the terminal."""

NUMBER_WIDTH = 11
"""The width of a column of numbers, in characters."""

NUMBERS_UP_TO, WIDE_CELLS_UP_TO = 11, 30
"""The most answers for which cells show numbers, and for which they are two characters wide."""

SHADES = " ·░▒▓█"
"""Shades of probabilities: a blank for exactly zero, then equal steps up to the largest probability."""


def heatmap(mechanism: Mechanism, title: str = "") -> Text:
    """Draw P[output, answer] with true answers across and published values up, with axes and a scale."""
    outputs, answers = mechanism.query.shape
    if max(outputs, answers) > WIDEST:
        return Text(f"({outputs} × {answers}: too large to draw here)", style="dim")
    matrix, names = mechanism.matrix, [_value(v) for v in answer_values(mechanism.query).tolist()]
    reports = [_value(v) for v in mechanism.query.output_values.tolist()]
    top, left = float(matrix.max()), max(map(len, reports)) + 1
    width = 7 if answers <= NUMBERS_UP_TO else 2 if answers <= WIDE_CELLS_UP_TO else 1
    lines = [Text(title)] if title else []
    lines.append(Text("published", style="dim"))
    for i in reversed(range(outputs)):
        lines.append(Text.assemble((f"{reports[i]:>{left}} ", "dim"), *_row(matrix[i], top, width)))
    below = (_ticks(names, width), "true answer")
    lines += [Text(" " * (left + 1) + text, style="dim") for text in below]
    lines.append(Text(scale(top, numbers=width == 7), style="dim"))
    return Text("\n", no_wrap=True).join(lines)


def _row(row: Floats, top: float, width: int) -> list[tuple[str, str]]:
    if width == 7:
        return [
            (f" {p:.3f} ", f"{'white' if p > 0.3 * top else 'black'} on {cell_colour(p / top)}") for p in row.tolist()
        ]
    return [(shade(p, top) * width, "") for p in row.tolist()]


def shade(probability: float, top: float) -> str:
    """Return the character of a cell without number; a blank means zero.

    >>> [shade(p, 0.5) for p in (0.0, 0.01, 0.15, 0.5)]
    [' ', '·', '░', '█']
    """
    steps = len(SHADES) - 1
    return SHADES[min(steps, math.ceil(steps * probability / top * (1 - 1e-12)))]


def scale(top: float, *, numbers: bool) -> str:
    """Describe the meaning of the shades."""
    if numbers:
        return f"probability of the published value, darker up to {top:.3g}"
    steps = len(SHADES) - 1
    steps_text = "  ".join(f"{SHADES[k]} ≤ {top * k / steps:.3g}" for k in range(1, steps + 1))
    return f"probability: blank 0  {steps_text}"


def _ticks(names: Sequence[str], width: int) -> str:
    """Place as many names as have room under their columns."""
    line = ""
    for j, name in enumerate(names):
        start = j * width + max(0, width - len(name)) // 2
        if start >= len(line) + bool(line):
            line = line.ljust(start) + name
    return line


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def properties(mechanism: Mechanism) -> Table:
    """Return a table of which of the seven properties hold, and how exactly."""
    table = Table(box=None, padding=(0, 2), show_header=False)
    for name, holding in mechanism.properties().items():
        mark = "[green]yes[/]" if holding else "[red]no[/]"
        table.add_row(name.replace("_", " "), mark, str(holding) if holding else "")
    return table


def columns(title: str, names: list[str], rows: list[list[str]], right: int = 1) -> Table:
    """Return a plain table; columns from `right` on are right-aligned."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for position, name in enumerate(names):
        table.add_column(name, justify="right" if position >= right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def comparison(result: Comparison, width: int = 120) -> Table:
    """Return a table of mechanisms and measures; the best of a column is bold and starred.

    A narrow terminal gets fewer columns.
    """
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    measures = _fitting(result, width)
    for name in measures:
        table.add_column(f"{name} ", justify="right")
    table.add_column("properties", no_wrap=True)
    for name, *values, codes in result.cells(measures):
        styled = [Text(value, style="bold green" if value.endswith("*") else "") for value in values]
        table.add_row(name, *styled, codes)
    return table


def _fitting(result: Comparison, width: int) -> list[str]:
    """Return the columns that fit; the first loss with its worst case and Bayes loss comes first."""
    names, codes = max(len(row.name) for row in result.rows), max(len(row.codes) for row in result.rows)
    room = max(3, (width - names - max(codes, 10) - 6) // NUMBER_WIDTH)
    first = result.losses[0]
    order = [first, f"worst {first}", f"bayes {first}", "truth", *result.losses[1:], "effective epsilon"]
    return [name for name in result.format if name in order[:room]]


def bar(values: Floats, width: int = 24) -> list[str]:
    """Return horizontal bars for a column of probabilities."""
    top = float(np.max(values)) or 1.0
    return ["█" * max(0, round(width * float(v) / top)) for v in values]

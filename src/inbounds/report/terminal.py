"""Tables and heatmaps for the terminal."""

import numpy as np
from rich.table import Table
from rich.text import Text

from inbounds.mechanism import Mechanism
from inbounds.numbers import Floats
from inbounds.read.compare import Comparison

WIDEST = 41
"""Matrices with more answers than this are not drawn in the terminal."""

NUMBER_WIDTH = 11
"""Characters for one column of numbers."""

SHADES = " ░▒▓█"
RAMP = ("#f7fbff", "#d6e6f4", "#abd0e6", "#6aaed6", "#3787c0", "#105ba4", "#08306b")
"""Light to dark blue: readable with any colour vision, and as greys."""


def heatmap(mechanism: Mechanism, title: str = "") -> Table | Text:
    """P[output, answer] as shaded cells, true answers across, reported values down."""
    outputs, answers = mechanism.query.shape
    if max(outputs, answers) > WIDEST:
        return Text(f"({outputs} × {answers}: too large to draw here)", style="dim")
    matrix = mechanism.matrix
    small = answers <= 11
    table = Table(title=title or None, box=None, padding=(0, 0 if not small else 1), title_justify="left")
    table.add_column("report", justify="right", style="dim")
    spoken = [str(v) for v in (mechanism.query.labels or mechanism.query.answers)]
    for answer in spoken:
        table.add_column(answer if small else "", justify="right", style="dim")
    for i, row in enumerate(matrix):
        label = str(mechanism.query.reported[i])
        table.add_row(label, *(_cell(p, matrix.max(), small) for p in row))
    return table


def _cell(probability: float, top: float, number: bool) -> Text:
    level = min(len(RAMP) - 1, int(probability / top * len(RAMP)))
    ink = "black" if level < 4 else "white"
    text = f" {probability:.3f} " if number else SHADES[min(4, int(probability / top * 5))] * 2
    return Text(text, style=f"{ink} on {RAMP[level]}" if number else f"{RAMP[max(level, 2)]}")


def properties(mechanism: Mechanism) -> Table:
    """Which of the seven properties hold, and how exactly."""
    table = Table(box=None, padding=(0, 2), show_header=False)
    for name, held in mechanism.properties().items():
        mark = "[green]yes[/]" if held else "[red]no[/]"
        table.add_row(name.replace("_", " "), mark, str(held) if held else "")
    return table


def columns(title: str, names: list[str], rows: list[list[str]], right: int = 1) -> Table:
    """A plain table; all columns from `right` on are aligned to the right."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for position, name in enumerate(names):
        table.add_column(name, justify="right" if position >= right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def comparison(found: Comparison, width: int = 120) -> Table:
    """Mechanisms by measures; the best of a column is bold and starred. A narrow terminal gets fewer columns."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    chosen = _fitting(found, width)
    for name in chosen:
        table.add_column(f"{name} ", justify="right")
    table.add_column("properties", no_wrap=True)
    for name, *values, codes in found.cells(chosen):
        styled = [Text(value, style="bold green" if value.endswith("*") else "") for value in values]
        table.add_row(name, *styled, codes)
    return table


def _fitting(found: Comparison, width: int) -> list[str]:
    """The columns that fit, the first loss with its worst case and Bayes loss before all others."""
    names, codes = max(len(row.name) for row in found.rows), max(len(row.codes) for row in found.rows)
    room = max(3, (width - names - max(codes, 10) - 6) // NUMBER_WIDTH)
    first = found.losses[0]
    order = [first, f"worst {first}", f"bayes {first}", "truth", *found.losses[1:], "effective epsilon"]
    return [name for name in found.printed if name in order[:room]]


def bar(values: Floats, width: int = 24) -> list[str]:
    """Horizontal bars for a column of probabilities."""
    top = float(np.max(values)) or 1.0
    return ["█" * max(0, round(width * float(v) / top)) for v in values]

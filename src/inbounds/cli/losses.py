"""The option --loss: a loss by name, or a table of costs in a file."""

import csv
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from inbounds.exact import to_fraction
from inbounds.losses import LOSS_NAMES, Loss, TableLoss, parse_loss
from inbounds.query import RangeQuery

ENDING = ".csv"
MOST_BYTES = 64 << 20
"""A larger file is refused: a table for thousands of answers is smaller."""

LossName = Annotated[
    str,
    typer.Option(
        "--loss",
        help=f"{', '.join(LOSS_NAMES)}, or a file COST.csv: a line for each output, a number for each true answer.",
        autocompletion=lambda: LOSS_NAMES,
    ),
]


def read_loss(text: str, query: RangeQuery) -> Loss:
    """Return a loss from its name, or from the table in a .csv file.

    The file has a line for each output and a number for each true answer, separated by commas. It may have names: then
    the first line names the answers and the first column the outputs, and both must be those of the query.
    """
    if not text.lower().endswith(ENDING):
        return parse_loss(text)
    path = Path(text)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"--loss must name a file of at most {MOST_BYTES >> 20} MiB, got {path}")
    try:
        lines = [line for line in csv.reader(path.read_text("utf-8-sig").splitlines()) if line]
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"--loss must name a text file of numbers separated by commas, got {path}") from None
    if lines and not all(map(_is_number, lines[0])):
        lines = _without_names(lines, query, path)
    rows, answers = query.shape
    if len(lines) != rows or any(len(line) != answers for line in lines):
        widths = sorted({len(line) for line in lines})
        raise ValueError(
            f"--loss must have {rows} lines of {answers} numbers, a line for each output, got {len(lines)} lines of "
            f"{', '.join(map(str, widths)) or 'no'} numbers in {path}"
        )
    for k, line in enumerate(lines, 1):
        if not all(map(_is_number, line)):
            raise ValueError(f"--loss must hold finite numbers only; line {k} of the table in {path} does not")
    return TableLoss(np.array([[float(cell) for cell in line] for line in lines]), path.name)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _without_names(lines: list[list[str]], query: RangeQuery, path: Path) -> list[list[str]]:
    """Return the numbers of a table with names, after comparing the names with the query."""
    named = {"answers": lines[0][1:], "outputs": [line[0] for line in lines[1:]]}
    scales = {"answers": query.answers, "outputs": query.outputs.values}
    for what, names in named.items():
        labels = query.labels or tuple(map(str, scales[what]))
        if [*map(_plain, names)] != [*map(_plain, labels)]:
            raise ValueError(f"--loss must name the {what} of the query in their order, or have no names, got {path}")
    return [line[1:] for line in lines[1:]]


def _plain(name: str) -> Fraction | str:
    """Return a number exactly, however it is written, and any other name without spaces around it."""
    try:
        return to_fraction(name.strip(), "name")
    except ValueError:
        return name.strip()

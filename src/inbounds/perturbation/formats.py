"""Files of perturbation tables: R's ptable (for τ-Argus and SAS) and cellKey (YAML).

A line is one result j = i + v of a count i: its probability p, the noise v, and the bounds of the cell keys that lead
to it, p_int_lb < key <= p_int_ub. The bounds are what the tools look up, so they count here, not the printed p. A table
that was modified may list a noise twice, for two intervals of keys.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from inbounds.errors import suggest_name
from inbounds.exact import parse_exact
from inbounds.files.atomic import write_atomically
from inbounds.perturbation.table import MOST_ROWS, PerturbationTable

DIGITS = 8
"""The digits after the point that ptable writes."""

FINEST = 15
"""The most digits after the point of a bound."""

COLUMNS = ("i", "j", "p", "v", "lb", "ub")
TOOLS: Mapping[str, tuple[str, ...]] = {
    "tau-argus": ("i", "j", "p", "v", "ub"),
    "sas": COLUMNS,
    "cellkey": COLUMNS,
}
"""The columns of every tool's file."""

LONG_NAMES = {"lb": "p_int_lb", "ub": "p_int_ub"}

Line = Mapping[str, str]


def read_table(path: "str | os.PathLike[str]") -> PerturbationTable:
    """Read a table written by ptable's `pt_export` (for τ-Argus or SAS) or cellKey's `ck_params_cnts`.

    Raises `ValueError` with the line if the file is none of these.
    """
    return parse_table(Path(path).read_text("utf-8-sig"))


def write_table(table: PerturbationTable, path: "str | os.PathLike[str]", tool: str = "tau-argus") -> None:
    """Write the file of a tool: "tau-argus", "sas" or "cellkey"; see `format_table`."""
    write_atomically(Path(path), format_table(table, tool).encode())


def parse_table(text: str) -> PerturbationTable:
    """Return the table of a file's text, of any of the tools.

    >>> parse_table(format_table(PerturbationTable(({0: 2}, {-1: 1, 1: 1}), 2))).rows[1][1]
    50000000
    """
    lines = list(_yaml_lines(text) if re.match(r"\s*params:", text) else _plain_lines(text))
    intervals: dict[int, list[tuple[int, Fraction, str]]] = {}
    for place, line in lines:
        i, v, upper = (_number(line, name, place) for name in ("i", "v", "ub"))
        if any(number.denominator != 1 for number in (i, v)) or not 0 <= i < MOST_ROWS:
            raise ValueError(f"{place}: i and v must be whole numbers, i at least 0, got {line['i']}, {line['v']}")
        if "j" in line and _number(line, "j", place) != i + v:
            raise ValueError(f"{place}: j must be i + v, got j = {line['j']}, i = {line['i']}, v = {line['v']}")
        before = intervals.setdefault(int(i), [])
        lower = before[-1][1] if before else Fraction(0)
        if "lb" in line and _number(line, "lb", place) != lower:
            raise ValueError(f"{place}: the lower bound must be the upper bound of the line before, got {line['lb']}")
        if not lower <= upper <= 1:
            raise ValueError(f"{place}: upper bounds must rise from 0 to 1, got {line['ub']}")
        before.append((int(v), upper, place))
    if sorted(intervals) != list(range(len(intervals))):
        raise ValueError(f"counts must be 0, 1, 2, … without a gap, got {', '.join(map(str, sorted(intervals)[:20]))}")
    total = 10 ** max((_places(upper) for row in intervals.values() for _, upper, _ in row), default=DIGITS)
    return PerturbationTable(tuple(_row(intervals[i], total) for i in range(len(intervals))), total)


def _row(intervals: Sequence[tuple[int, Fraction, str]], total: int) -> dict[int, int]:
    if intervals[-1][1] != 1:
        raise ValueError(f"{intervals[-1][2]}: the last upper bound of a count must be 1, got {intervals[-1][1]}")
    row: dict[int, int] = {}
    lower = 0
    for v, bound, _ in intervals:
        upper = int(bound * total)
        row[v], lower = row.get(v, 0) + upper - lower, upper
    return row


def _places(number: Fraction) -> int:
    """Return how many decimals a number has, at least those that ptable writes."""
    places = next((k for k in range(DIGITS, FINEST + 1) if 10**k % number.denominator == 0), None)
    if places is None:
        raise ValueError(f"bounds must be decimals of at most {FINEST} places, got {number}")
    return places


def _number(line: Line, name: str, place: str) -> Fraction:
    number = parse_exact(line[name])
    if number is None:
        raise ValueError(f"{place}: {LONG_NAMES.get(name, name)} must be a number, got {line[name][:40]!r}")
    return number


def _plain_lines(text: str) -> Iterator[tuple[str, Line]]:
    """Yield (place, line) of a file with a header and fields between semicolons."""
    rows = [
        (f"line {number}", [cell.strip().strip('"') for cell in line.split(";")])
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    short = {long: name for name, long in LONG_NAMES.items()}
    header = [short.get(name, name) for name in rows[0][1]] if rows else []
    if not {"i", "v", "ub"} <= set(header):
        raise ValueError(f"a perturbation table must have the columns i;v;p_int_ub, got {';'.join(header)[:100]!r}")
    if len(set(header)) < len(header) or "type" in header:
        raise ValueError("a perturbation table must be for counts: each column once, and no column 'type'")
    for place, cells in rows[1:]:
        if len(cells) != len(header):
            raise ValueError(f"{place}: there must be {len(header)} fields, got {len(cells)}")
        yield place, dict(zip(header, cells, strict=True))


def _yaml_lines(text: str) -> Iterator[tuple[str, Line]]:
    """Yield (place, line) of cellKey's YAML, which lists one column after the other."""
    columns: dict[str, list[str]] = {}
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        entry = re.fullmatch(r"\s*- *(\S+)\s*", line)
        heading = re.fullmatch(r"( *)(\w+): *(\S*)\s*", line)
        if entry and columns:
            columns[next(reversed(columns))].append(entry[1])
        elif heading and heading[1] and not heading[3] and heading[2] not in (*columns, "ptable"):
            columns[heading[2]] = []
        elif heading and heading[2] not in settings and (not heading[1] or heading[2] == "ptable"):
            settings[heading[2]] = heading[3]
        elif line.strip():
            raise ValueError(f"line {number}: this is not the YAML of cellKey's parameters for counts")
    if settings.get("type", "cnts") != "cnts" or set(columns.get("type", ["all"])) != {"all"}:
        raise ValueError("a perturbation table must be for counts: type cnts, and all lines of the type 'all'")
    if not {"i", "v", "ub"} <= set(columns) or len({len(values) for values in columns.values()}) != 1:
        raise ValueError("the columns i, v and ub must be there, and all columns equally long")
    for number in range(len(columns["i"])):
        yield f"entry {number + 1}", {name: values[number] for name, values in columns.items()}


def format_table(table: PerturbationTable, tool: str = "tau-argus") -> str:
    """Return the text of a tool's file, with eight digits.

    Raises `ValueError` if the weights need more digits, or if cellKey, which never looks empty cells up, would not do
    what the table says of them.
    """
    if tool not in TOOLS:
        raise ValueError(f"tool must be one of {', '.join(TOOLS)}, got {tool!r}{suggest_name(tool, TOOLS)}")
    if 10**DIGITS % table.total and any(w * 10**DIGITS % table.total for row in table.rows for w in row.values()):
        raise ValueError(f"probabilities must be decimals of at most {DIGITS} places; the table is over {table.total}")
    if tool == "cellkey" and not table.zero_stays:
        raise ValueError("cellKey publishes empty cells as 0 whatever the file says; this table adds noise to them")
    lines = list(_lines(table))
    if tool != "cellkey":
        names = TOOLS[tool]
        header = ";".join(LONG_NAMES.get(name, name) for name in names)
        return "\n".join([header, *(";".join(line[name] for name in names) for line in lines)]) + "\n"
    columns = "".join(f"    {name}:\n" + "".join(f"    - {line[name]}\n" for line in lines) for name in COLUMNS)
    types = "    type:\n" + "    - all\n" * len(lines)
    return f"params:\n  ptable:\n{columns}{types}type: cnts\nversion: 1.0.2\nptype: params_cnts\n"


def _lines(table: PerturbationTable) -> Iterator[Line]:
    for i, row in enumerate(table.rows):
        at = Fraction(0)
        for v, weight in row.items():
            share = Fraction(weight, table.total)
            numbers = {"p": share, "lb": at, "ub": at + share}
            yield {"i": str(i), "j": str(i + v), "v": str(v)} | {n: _decimal(x) for n, x in numbers.items()}
            at += share


def _decimal(number: Fraction) -> str:
    return f"{Decimal(int(number * 10**DIGITS)).scaleb(-DIGITS):.{DIGITS}f}"

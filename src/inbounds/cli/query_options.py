"""The options that describe a query, the same in every command."""

import csv
import inspect
import io
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from inbounds import query
from inbounds.cli.app import NUMBER
from inbounds.exact import parse_exact
from inbounds.files.bounded import read_text

KINDS = ("count", "total", "mean", "extreme", "interval", "ordinal", "category")
PANEL = "The query"


def _option(meaning: str, metavar: str = NUMBER) -> Any:
    return typer.Option(help=meaning, metavar=metavar, rich_help_panel=PANEL)


Kind = Annotated[
    str | None,
    typer.Argument(help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}.", metavar="QUERY", autocompletion=lambda: KINDS),
]
Size = Annotated[int | None, _option("count, total, mean: how many people.")]
Low = Annotated[str | None, _option("Smallest value of one person, or of the answer.")]
High = Annotated[str | None, _option("Largest value.")]
Sensitivity = Annotated[str | None, _option("interval: how far one person moves the answer.")]
Cells = Annotated[int | None, _option("interval: number of cells.")]
Holes = Annotated[str | None, _option("interval: ranges that cannot occur.", "8..16,20..22")]
Allowance = Annotated[
    str | None, _option("interval: what your own arithmetic may add to the distance of two answers; 2^-20 of it.")
]
Labels = Annotated[str | None, _option("category: labels, separated by commas.", "A,B,…")]
Outputs = Annotated[int | None, _option("Use this many equal output cells.")]
Neighbours = Annotated[
    str | None,
    _option(
        "Pairs of answers that are neighbours, instead of those of the query, e.g. 0:1,1:2, with a distance as 3:5:2; "
        "or a .csv file of two or three columns.",
        "0:1,1:2,…",
    ),
]


def build_query(
    kind: Kind = None,
    size: Size = None,
    low: Low = None,
    high: High = None,
    sensitivity: Sensitivity = None,
    cells: Cells = None,
    holes: Holes = None,
    allowance: Allowance = None,
    labels: Labels = None,
    outputs: Outputs = None,
    neighbours: Neighbours = None,
) -> query.RangeQuery | None:
    """Build the query that the options describe, or None without any. A missing or unused option is named in
    the error.
    """
    natural = _build_query(kind, size, low, high, sensitivity, cells, holes, allowance, labels, outputs)
    if natural is None and neighbours is not None:
        raise ValueError("--neighbours needs a query; name its kind, such as ordinal --low 0 --high 5")
    return natural if natural is None or neighbours is None else apply_neighbours(natural, neighbours)


def apply_neighbours(natural: query.RangeQuery, text: str) -> query.RangeQuery:
    """Return a query with the neighbours that --neighbours lists, or that its .csv file does."""
    if text.lower().endswith(".csv"):
        rows = [row for row in csv.reader(io.StringIO(read_text(text, "utf-8-sig")), skipinitialspace=True) if row]
        pairs = rows[1:] if rows and _is_header(rows[0], natural) else rows
    else:
        pairs = [pair.split(":") for pair in text.split(",")]
    if any(len(pair) not in (2, 3) for pair in pairs):
        raise ValueError("--neighbours must be pairs such as 0:1,1:2,3:5:2, or a .csv file with two or three columns")
    return query.with_neighbours(natural, [[part.strip() for part in pair] for pair in pairs])


def _is_header(row: list[str], natural: query.RangeQuery) -> bool:
    """Return whether the first line of a file names its columns: no cell of it is an answer."""
    answers = {cell.strip() for cell in row[:2]}
    if natural.labels is not None:
        return not answers & set(natural.labels)
    return all(parse_exact(cell) is None for cell in answers)


def _build_query(
    kind: str | None,
    size: int | None,
    low: str | None,
    high: str | None,
    sensitivity: str | None,
    cells: int | None,
    holes: str | None,
    allowance: str | None,
    labels: str | None,
    outputs: int | None,
) -> query.RangeQuery | None:
    """Build the query of a kind with its natural neighbours."""
    options = {"size": size, "low": low, "high": high, "sensitivity": sensitivity, "cells": cells, "labels": labels}

    def need(*names: str) -> None:
        missing = [f"--{name}" for name in names if options[name] is None]
        if missing:
            raise ValueError(f"{kind} needs {' and '.join(missing)}")
        idle = [f"--{name}" for name, value in options.items() if value is not None and name not in names]
        for name, value in (("--holes", holes), ("--allowance", allowance)):
            if value is not None and kind != "interval":
                idle.append(name)
        if idle:
            raise ValueError(f"{kind} does not take {' and '.join(idle)}")

    match kind:
        case None:
            return None
        case "count":
            need("size")
            return query.count(size, outputs=outputs)  # type: ignore[arg-type]
        case "total" | "mean":
            need("size", "low", "high")
            return getattr(query, kind)(size, low, high, outputs=outputs)  # type: ignore[no-any-return]
        case "extreme" | "ordinal":
            need("low", "high")
            return getattr(query, kind)(low, high, outputs=outputs)  # type: ignore[no-any-return]
        case "interval":
            need("low", "high", "sensitivity", "cells")
            return query.interval(
                *(low, high, sensitivity, cells),  # type: ignore[arg-type]
                holes=_ranges(holes),
                outputs=outputs,
                allowance=allowance,
            )
        case "category":
            need("labels")
            return query.category([label.strip() for label in str(labels).split(",")])
    raise ValueError(f"query must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {kind!r}")


def _ranges(holes: str | None) -> list[tuple[str, str]]:
    """Parse 8..16,20..22 into pairs."""
    ends = [part.split("..") for part in holes.split(",")] if holes else []
    if any(len(pair) != 2 for pair in ends):
        raise ValueError(f"--holes must be ranges such as 8..16,20..22, got {holes!r}")
    return [(low.strip(), high.strip()) for low, high in ends]


def with_query_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is a query, the options that describe one instead.

    The query is None if no kind is named, which a parameter without a default does not allow.
    """
    first, *parameters = inspect.signature(command).parameters.values()
    described = inspect.signature(build_query).parameters
    kind, *options = described.values()
    if first.default is first.empty:
        kind = kind.replace(annotation=Annotated[str, Kind.__metadata__[0]], default=first.empty)  # type: ignore[attr-defined]

    @wraps(command)
    def run(**arguments: Any) -> None:
        query_value = build_query(**{name: arguments.pop(name) for name in described})
        command(query_value, **arguments)

    by_name = [p.replace(kind=p.KEYWORD_ONLY) for p in (kind, *parameters, *options)]
    run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in by_name}
    return run

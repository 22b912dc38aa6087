"""The options that describe a query, the same in every command."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from inbounds import query
from inbounds.cli.app import NUMBER

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
Outputs = Annotated[int | None, _option("Report in this many equal cells.")]


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
) -> query.RangeQuery | None:
    """Build the query that the options describe, or None without any. A missing or unused option is named in
    the error.
    """
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

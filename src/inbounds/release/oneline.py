"""The common case in one line: options as people type them, to a plan."""

from collections.abc import Mapping, Sequence
from typing import Any

from inbounds.release import condition
from inbounds.release.errors import at
from inbounds.release.grammar import parse
from inbounds.release.plan import Plan
from inbounds.release.reading import plan_from

Options = Mapping[str, Any]


def one_line(source: str, asked: Mapping[str, Sequence[str] | None], facts: Options, column: Options) -> Plan:
    """A plan from options.

    asked: for every kind of statistic its conditions or columns. facts: by, keys, size, maximum, epsilon, table,
    interval. column: low, high, step and labels, for all columns alike. Columns in conditions have the type of
    what they are compared with.
    """
    statistics = [{kind: of} for kind, subjects in asked.items() for of in subjects or ()]
    if not statistics:
        raise ValueError("release needs a plan file, or a statistic such as --count \"answer = 'yes'\"")
    if facts["epsilon"] is None:
        raise ValueError("release needs --epsilon, the privacy parameter of the whole release")
    columns: dict[str, Any] = {}
    for k, statistic in enumerate(statistics):
        ((kind, of),) = statistic.items()
        if kind == "count":
            with at("statistics", k, "count"):
                hints = condition.used(parse(of))
            columns = {**{name: {"type": hint or "text"} for name, hint in hints.items()}, **columns}
            statistic["name"] = "count" if len(asked["count"] or ()) == 1 else of
        else:
            columns[of] = _declared(kind, column)
    given = {name: value for name, value in facts.items() if value is not None}
    return plan_from(
        {
            "source": {"url" if "://" in source else "path": source, **_only(given, "table")},
            "groups": {name: _number(value) for name, value in _only(given, "by", "keys", "size", "maximum").items()},
            "columns": columns,
            "statistics": statistics,
            "privacy": _only(given, "epsilon"),
            "output": _only(given, "interval"),
        }
    )


def _only(given: Options, *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _declared(kind: str, column: Options) -> dict[str, Any]:
    if kind == "histogram":
        if column["labels"] is None:
            raise ValueError("--histogram needs --labels, separated by commas")
        return {"labels": [label.strip() for label in column["labels"].split(",")]}
    if column["low"] is None or column["high"] is None:
        raise ValueError(f"--{kind} needs --low and --high, the public bounds of the column")
    return {"low": column["low"], "high": column["high"], "step": column["step"]}


def _number(value: Any) -> Any:
    """A size as a number, where it is one; else the name of a column of the keys' file."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value

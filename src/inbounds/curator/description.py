"""The public facts about a dataset as text: what can be asked, in which groups, and what the account has left."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

SHOWN_KEYS = 6
"""Groups that are named; the JSON form names all."""

SHOWN_LABELS = 12
"""Labels of a column that are named; the JSON form names all."""


def describe_dataset(facts: Mapping[str, Any], account: Mapping[str, Any], url: str) -> str:
    """Return a dataset's public facts and what is left of the caller's own cap, for a terminal.

    facts: as `describe` returns them. account: as `account` returns it. url: of the curator, for the example.
    """
    return "\n".join(_lines(facts, account, url))


def _lines(facts: Mapping[str, Any], account: Mapping[str, Any], url: str) -> Iterator[str]:
    title = f": {facts['title']}" if facts["title"] else ""
    yield f"{facts['name']}{title}"
    yield f"edition {facts['edition']} of the data about {facts['people']}; neighbours: {facts['neighbours']}"
    yield ""
    yield f"Your budget: {_describe_cap(facts, account)}."
    yield from _describe_levels(facts)
    yield from _describe_groups(facts)
    yield ""
    yield "Columns:"
    columns = facts["columns"]
    width = max(map(len, columns), default=0)
    yield from (f"  {name.ljust(width)}  {_describe_column(column)}" for name, column in columns.items())
    yield ""
    yield "A preview is free and reads no data:"
    yield f"  {_example(facts, url)}"


def _describe_cap(facts: Mapping[str, Any], account: Mapping[str, Any]) -> str:
    grant = next((one for one in account["datasets"] if one["dataset"] == facts["name"]), None)
    if grant is None or grant["cap"] is None:
        return "no cap of your own; the people's budget may still be limited"
    return f"epsilon {grant['left']} of {grant['cap']} is left"


def _describe_levels(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["levels"]:
        levels = ", ".join(f"{name} {epsilon}" for name, epsilon in facts["levels"].items())
        yield f"Every answer is given at a fixed epsilon for each level of trust: {levels}."


def _describe_groups(facts: Mapping[str, Any]) -> Iterator[str]:
    groups, by = facts["groups"], ", ".join(facts["by"])
    sizes = sorted({group["records"] for group in groups})
    most = facts["records"] != "public"
    size = f"{'at most ' if most else ''}{sizes[-1]:,}" if most or len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    if not by:
        yield f"Groups: none; all records together, {size}."
        return
    yield f"Groups: {len(groups):,} by {by}, of {size} records. Questions may use fewer of these columns."
    names = [" · ".join(group["key"]) for group in groups[:SHOWN_KEYS]]
    more = f", and {len(groups) - SHOWN_KEYS:,} more" if len(groups) > SHOWN_KEYS else ""
    yield f"  {', '.join(names)}{more}"


def _describe_column(column: Mapping[str, Any]) -> str:
    if "low" in column:
        steps = f" in steps of {column['step']}" if column["step"] != "1" else ""
        return (
            f"{column['type']} from {column['low']} to {column['high']}{steps}; missing counts as {column['missing']}"
        )
    labels = column.get("labels", ())
    more = f", and {len(labels) - SHOWN_LABELS:,} more" if len(labels) > SHOWN_LABELS else ""
    named = ", ".join(map(str, labels[:SHOWN_LABELS]))
    return f"{column['type']}: {named}{more}" if labels else f"{column['type']}, for conditions"


def _example(facts: Mapping[str, Any], url: str) -> str:
    numbers = [name for name, column in facts["columns"].items() if "low" in column]
    asked = ["--mean", numbers[0]] if numbers else ["--count", "all"]
    by = ["--by", facts["by"][0]] if facts["by"] else []
    epsilon = [] if facts["levels"] else ["--epsilon", "0.1"]
    return shlex.join(["inbounds", "ask", url, facts["name"], *asked, *by, *epsilon, "--preview"])

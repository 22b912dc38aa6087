"""Plans from the options of `inbounds release`, for the common case in one line."""

from collections.abc import Mapping, Sequence
from typing import Any

from inbounds.plan.hierarchy import ALL
from inbounds.plan.load import FIELDS, parse_plan
from inbounds.plan.plan import Plan
from inbounds.schema.condition.tree import columns_used
from inbounds.schema.errors import error_path
from inbounds.statistics import STATISTICS, Statistic
from inbounds.statistics.designs import DEFAULT_OPTIONS
from inbounds.statistics.entries import parse_statistic

Options = Mapping[str, Any]

DESCRIBED = ("source", "groups", "people", "privacy", "output")
"""The parts of a plan whose fields are options."""


def one_line(
    source: str, asked: Mapping[str, Sequence[str] | None], facts: Options, column: Mapping[str, Sequence[str] | None]
) -> Plan:
    """Build a plan from options.

    asked: for every kind of statistic its conditions or columns, as `Statistic.from_option` reads them.
    facts: fields of a plan's parts by their names there (by, max_size, epsilon, id, credible_level …), as text; and
    nested, whether the columns of by nest, and total, whether all groups together are answered too. Absent ones are
    None or left out.
    column: low, high, step, missing, labels and other. Each is a value, or COLUMN=VALUE if several columns have one.

    Columns in conditions have the type of what they are compared with. Raises ValueError if options are missing.
    """
    entries = [STATISTICS[kind].from_option(text) for kind, texts in asked.items() for text in texts or ()]
    if not entries:
        raise ValueError("release needs a plan file, or a statistic such as --count \"answer = 'yes'\"")
    options = {name: value for name, value in facts.items() if value is not None}
    if "epsilon" not in options:
        raise ValueError("release needs --epsilon, the privacy parameter of the whole release")
    _check_groups(options)
    statistics: list[Statistic] = []
    for k, entry in enumerate(entries):
        with error_path("statistics", k):
            statistics.append(parse_statistic(entry, DEFAULT_OPTIONS))
    _name_conditions(entries, [statistic for statistic in statistics if statistic.where is not None])
    options |= {name: _number(options[name]) for name in ("size", "max_size") if name in options}
    if "typical" in options:
        options["typical"] = [_number(part.strip()) for part in str(options["typical"]).split(",")]
    options["period"] = _periods(options.get("period", ()))
    if "by" in options:
        options["by"] = [name.strip() for part in options["by"] for name in part.split(",")]
    parts = {part: {name: options[name] for name in FIELDS[part] if name in options} for part in DESCRIBED}
    parts["source"]["url" if "://" in source else "path"] = source
    if "nested" in options or "total" in options:
        parts["hierarchy"] = {"levels": [*([ALL] if "total" in options else []), *options.get("by", [])]}
    columns = _declare_columns(statistics, {name: texts for name, texts in column.items() if texts})
    return parse_plan({**parts, "columns": columns, "statistics": entries})


def _name_conditions(entries: list[dict[str, Any]], counts: Sequence[Statistic]) -> None:
    """Name several counts after their conditions; a single one keeps its usual name."""
    for count in counts if len(counts) > 1 else ():
        next(entry for entry in entries if entry.get(count.kind) == count.subject_text)["name"] = count.subject_text


def _declare_columns(
    statistics: Sequence[Statistic], options: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Declare the columns of the statistics: from options, or for conditions from what they are compared with."""
    columns: dict[str, dict[str, Any]] = {}
    takers: dict[str, type[Statistic]] = {}
    for statistic in statistics:
        if statistic.where is None:
            takers |= {name: type(statistic) for name in statistic.columns_read}
    for option, texts in options.items():
        for text in texts:
            name, value = _assign(option, text, takers)
            if option in columns.setdefault(name, {}):
                raise ValueError(f"--{option} is given twice for the column {name}")
            columns[name][option] = [label.strip() for label in value.split(",")] if option == "labels" else value
    for name, taker in takers.items():
        absent = [option for option in taker.needed_options if option not in columns.get(name, {})]
        if absent:
            kind = taker.model_fields["kind"].default
            raise ValueError(f"--{kind} needs {' and '.join(f'--{option}' for option in absent)} of the column {name}")
    for statistic in statistics:
        if statistic.where is not None:
            typed = {name: {"type": hint or "text"} for name, hint in columns_used(statistic.where).items()}
            columns = {**typed, **columns}
    return columns


def _assign(option: str, text: str, takers: Mapping[str, type[Statistic]]) -> tuple[str, str]:
    """Return the column that an option describes, and its value."""
    name, equals, value = text.partition("=")
    fitting = [column for column, taker in takers.items() if option in taker.column_options]
    if equals and name.strip() in fitting:
        return name.strip(), value.strip()
    if len(fitting) == 1:
        return fitting[0], text
    if fitting:
        raise ValueError(f"--{option} must name its column, such as --{option} {fitting[0]}={text}")
    ways = [f"--{kind}" for kind, statistic in STATISTICS.items() if option in statistic.column_options]
    raise ValueError(f"--{option} describes a column; name it with {' or '.join(ways)}")


def _periods(texts: Sequence[str]) -> dict[str, str]:
    """Parse visited=month, for each column of dates."""
    for text in texts:
        if "=" not in text:
            raise ValueError(f"--period must be a column and how it names a group, such as visited=month, got {text!r}")
    return {name: period for name, _, period in (text.rpartition("=") for text in texts)}


def _check_groups(facts: Options) -> None:
    """Raise ValueError if keys or sizes of the groups are missing."""
    if facts.get("by") and "keys" not in facts:
        raise ValueError("--by needs --keys FILE, the public list of the groups to answer (.txt, .csv or .parquet)")
    if "size" not in facts and "max_size" not in facts:
        raise ValueError("release needs --size, the public size of each group, or --max-size if sizes are not public")


def _number(value: Any) -> Any:
    """Convert a size to a number if it is one; otherwise it is the name of a column of the keys' file."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value

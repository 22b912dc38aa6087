"""Plans from the options of `inbounds release`, for the common case in one line."""

from collections.abc import Mapping, Sequence
from typing import Any

from inbounds.plan.load import parse_plan
from inbounds.plan.plan import Plan
from inbounds.schema.condition.tree import columns_used
from inbounds.schema.errors import error_path
from inbounds.statistics import KINDS, LABELS, NUMBERS
from inbounds.statistics.quantile import QUANTILE

Options = Mapping[str, Any]


def one_line(source: str, asked: Mapping[str, Sequence[str] | None], facts: Options, column: Options) -> Plan:
    """Build a plan from options.

    asked: for every kind of statistic its conditions or columns.
    facts: by, keys, size, maximum (max_size of the plan), epsilon, table, interval (credible_level), delimiter,
    decimal, period, not_stated (missing_key), levels (whether the columns of by nest), person, max_records, max_groups.
    column: low, high, step, missing and labels, which describe one column.

    Columns in conditions have the type of what they are compared with. Raises ValueError if options are missing.
    """
    statistics = [
        _statistic_entry(kind, subject_text) for kind, subjects in asked.items() for subject_text in subjects or ()
    ]
    if not statistics:
        raise ValueError("release needs a plan file, or a statistic such as --count \"answer = 'yes'\"")
    if facts["epsilon"] is None:
        raise ValueError("release needs --epsilon, the privacy parameter of the whole release")
    _check_groups(facts)
    _check_one_column(asked, column)
    columns: dict[str, Any] = {}
    for k, statistic in enumerate(statistics):
        ((kind, subject),) = statistic.items()
        subject_text = subject["of"] if isinstance(subject, dict) else subject
        with error_path("statistics", k, kind):
            where = KINDS[kind].domain.condition(subject_text)
        if where is not None:
            columns = {**{name: {"type": hint or "text"} for name, hint in columns_used(where).items()}, **columns}
            statistic["name"] = KINDS[kind].name(subject_text) if len(asked[kind] or ()) == 1 else subject_text
        else:
            columns[subject_text] = KINDS[kind].domain.column_from(
                kind, {name: v[0] for name, v in column.items() if v}
            )
    options = {name: value for name, value in facts.items() if value is not None}
    if "by" in options:
        options["by"] = [name.strip() for part in options.get("by", ()) for name in part.split(",")]
    return parse_plan(
        {
            "source": {"url" if "://" in source else "path": source, **_only(options, "table", "delimiter", "decimal")},
            "groups": {
                **{name: _number(value) for name, value in _only(options, "by", "keys", "size").items()},
                **({"max_size": _number(options["maximum"])} if "maximum" in options else {}),
                **({"missing_key": options["not_stated"]} if "not_stated" in options else {}),
                "period": _periods(options.get("period", ())),
            },
            "columns": columns,
            "statistics": statistics,
            "privacy": _only(options, "epsilon"),
            "output": {"credible_level": options["interval"]} if "interval" in options else {},
            **({"hierarchy": {"levels": options["by"]}} if options.get("levels") else {}),
            "people": {
                name: options[option]
                for name, option in (("id", "person"), ("max_records", "max_records"), ("max_groups", "max_groups"))
                if option in options
            },
        }
    )


def _statistic_entry(kind: str, of: str) -> dict[str, Any]:
    """Write a statistic as a plan does; a quantile is a column and its shares, score@0.5,0.9."""
    if kind != QUANTILE.word:
        return {kind: of}
    column, _, shares = of.rpartition("@")
    if not column:
        raise ValueError(f"--quantile must be a column and the shares to report, such as score@0.5,0.9, got {of!r}")
    return {kind: {"of": column, "at": [share.strip() for share in shares.split(",")]}}


def _only(options: Options, *names: str) -> dict[str, Any]:
    """Select these options, if they are given."""
    return {name: options[name] for name in names if name in options}


def _periods(texts: Sequence[str]) -> dict[str, str]:
    """Parse visited=month, for each column of dates."""
    for text in texts:
        if "=" not in text:
            raise ValueError(f"--period must be a column and how it names a group, such as visited=month, got {text!r}")
    return {name: period for name, _, period in (text.rpartition("=") for text in texts)}


def _check_groups(facts: Options) -> None:
    """Raise ValueError if keys or sizes of the groups are missing."""
    if facts["by"] and facts["keys"] is None:
        raise ValueError("--by needs --keys FILE, the public list of the groups to answer (.txt, .csv or .parquet)")
    if facts["size"] is None and facts["maximum"] is None:
        raise ValueError("release needs --size, the public size of each group, or --max-size if sizes are not public")


def _check_one_column(asked: Mapping[str, Sequence[str] | None], column: Options) -> None:
    """Raise ValueError if bounds or labels are given twice, for several columns, or for none."""
    for domain, message, what in (
        (NUMBERS, "--low and --high describe one column", "bounds"),
        (LABELS, "--labels describes one column", "labels"),
    ):
        kinds = [kind for kind in KINDS if kind in asked and KINDS[kind].domain is domain]
        subjects = {
            of.rpartition("@")[0] if kind == QUANTILE.word else of for kind in kinds for of in asked[kind] or ()
        }
        if len(subjects) > 1 or any(len(column[name] or ()) > 1 for name in domain.options):
            raise ValueError(f"{message}; columns with different {what} need a plan: inbounds init FILE")
        unused = [f"--{name}" for name in domain.options if column[name]]
        if unused and not subjects:
            verb = "describes" if len(unused) == 1 else "describe"
            ways = " or ".join(f"--{kind}" for kind in kinds)
            raise ValueError(f"{' and '.join(unused)} {verb} a column; name it with {ways}")


def _number(value: Any) -> Any:
    """Convert a size to a number if it is one; otherwise it is the name of a column of the keys' file."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value

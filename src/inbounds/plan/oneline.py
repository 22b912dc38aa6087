"""The common case in one line: options as people type them, to a plan."""

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
    """A plan from options.

    asked: for every kind of statistic its conditions or columns. facts: by, keys, size, maximum, epsilon, table,
    interval, delimiter, decimal, period, not_stated, levels (whether the columns of by nest), person, max_records,
    max_groups. column: what was given for low, high, step, missing and labels; they describe one column. Columns in
    conditions have the type of what they are compared with.
    """
    statistics = [_statistic_entry(kind, of) for kind, subjects in asked.items() for of in subjects or ()]
    if not statistics:
        raise ValueError("release needs a plan file, or a statistic such as --count \"answer = 'yes'\"")
    if facts["epsilon"] is None:
        raise ValueError("release needs --epsilon, the privacy parameter of the whole release")
    _check_groups(facts)
    _check_one_column(asked, column)
    columns: dict[str, Any] = {}
    for k, statistic in enumerate(statistics):
        ((kind, subject),) = statistic.items()
        of = subject["of"] if isinstance(subject, dict) else subject
        with error_path("statistics", k, kind):
            where = KINDS[kind].domain.condition(of)
        if where is not None:
            columns = {**{name: {"type": hint or "text"} for name, hint in columns_used(where).items()}, **columns}
            statistic["name"] = KINDS[kind].name(of) if len(asked[kind] or ()) == 1 else of
        else:
            columns[of] = KINDS[kind].domain.column_from(kind, {name: v[0] for name, v in column.items() if v})
    given = {name: value for name, value in facts.items() if value is not None}
    if "by" in given:
        given["by"] = [name.strip() for part in given.get("by", ()) for name in part.split(",")]
    return parse_plan(
        {
            "source": {"url" if "://" in source else "path": source, **_only(given, "table", "delimiter", "decimal")},
            "groups": {
                **{name: _number(value) for name, value in _only(given, "by", "keys", "size").items()},
                **({"max_size": _number(given["maximum"])} if "maximum" in given else {}),
                **({"missing_key": given["not_stated"]} if "not_stated" in given else {}),
                "period": _periods(given.get("period", ())),
            },
            "columns": columns,
            "statistics": statistics,
            "privacy": _only(given, "epsilon"),
            "output": {"credible_level": given["interval"]} if "interval" in given else {},
            **({"hierarchy": {"levels": given["by"]}} if given.get("levels") else {}),
            "people": {
                name: given[option]
                for name, option in (("id", "person"), ("max_records", "max_records"), ("max_groups", "max_groups"))
                if option in given
            },
        }
    )


def _statistic_entry(kind: str, of: str) -> dict[str, Any]:
    """A statistic as a plan writes it; a quantile is a column and its shares, score@0.5,0.9."""
    if kind != QUANTILE.word:
        return {kind: of}
    column, _, shares = of.rpartition("@")
    if not column:
        raise ValueError(f"--quantile must be a column and the shares to report, such as score@0.5,0.9, got {of!r}")
    return {kind: {"of": column, "at": [share.strip() for share in shares.split(",")]}}


def _only(given: Options, *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _periods(given: Sequence[str]) -> dict[str, str]:
    """visited=month, for each column of dates."""
    for text in given:
        if "=" not in text:
            raise ValueError(f"--period must be a column and how it names a group, such as visited=month, got {text!r}")
    return {name: period for name, _, period in (text.rpartition("=") for text in given)}


def _check_groups(facts: Options) -> None:
    if facts["by"] and facts["keys"] is None:
        raise ValueError("--by needs --keys FILE, the public list of the groups to answer (.txt, .csv or .parquet)")
    if facts["size"] is None and facts["maximum"] is None:
        raise ValueError("release needs --size, the public size of each group, or --maximum if sizes are not public")


def _check_one_column(asked: Mapping[str, Sequence[str] | None], column: Options) -> None:
    """Bounds typed once say nothing about a second column, and of bounds typed twice nobody knows which is whose."""
    for domain, said, facts in (
        (NUMBERS, "--low and --high describe one column", "bounds"),
        (LABELS, "--labels describes one column", "labels"),
    ):
        kinds = [kind for kind in KINDS if kind in asked and KINDS[kind].domain is domain]
        subjects = {
            of.rpartition("@")[0] if kind == QUANTILE.word else of for kind in kinds for of in asked[kind] or ()
        }
        if len(subjects) > 1 or any(len(column[name] or ()) > 1 for name in domain.options):
            raise ValueError(f"{said}; columns with different {facts} need a plan: inbounds init FILE")
        idle = [f"--{name}" for name in domain.options if column[name]]
        if idle and not subjects:
            verb = "describes" if len(idle) == 1 else "describe"
            ways = " or ".join(f"--{kind}" for kind in kinds)
            raise ValueError(f"{' and '.join(idle)} {verb} a column; name it with {ways}")


def _number(value: Any) -> Any:
    """A size as a number, where it is one; else the name of a column of the keys' file."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value

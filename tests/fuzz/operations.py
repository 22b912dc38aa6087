"""All that a plan can do with a column, over the groups of `sources.columns_of`.

A `Part` is one statistic of one column, with the declaration that it needs; parts may stand together in one plan. Keys
and persons are plans of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fuzz.conditions import DATES, NUMBERS, SIGNS, TEXTS, Tree, tests_of, text_of
from fuzz.values import Type

Content = dict[str, Any]

BESIDE: Content = {"c": {"labels": ["p", "q"], "other": "q"}, "n": {"low": 0, "high": 2}}
"""The ordinary columns."""

BOUNDS = [
    {"low": 0, "high": 10},
    {"low": -2, "high": 1, "step": "1/2", "missing": 1},
    {"low": -9007199254740990, "high": 9007199254740990, "step": 9007199254740990},
    {"low": "1/3", "high": "7/3", "step": "1/7"},
]
PERIODS = {
    "day": ["2024-01-31", "1677-09-21", "0001-01-01", "9999-12-31"],
    "month": ["2024-01", "1677-09", "0001-01", "9999-12"],
    "quarter": ["2024-Q1", "1677-Q3", "0001-Q1", "9999-Q4"],
    "year": ["2024", "1677", "0001", "9999"],
}
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Part:
    """A statistic: the type of the column that it is about, the operation for the report, the columns it declares.

    tree: the condition of a count.
    """

    of: str
    operation: str
    statistic: Content
    columns: Content
    tree: Tree | None = None


def counting(of: str, operation: str, tree: Tree, columns: Content) -> Part:
    return Part(of, operation, {"count": text_of(tree)}, columns, tree)


def plan(statistics: Sequence[Content], keys: Sequence[str], **more: Any) -> Content:
    """A plan about groups with these keys, without source; more: other parts, and columns beside the ordinary ones."""
    return {
        "groups": {"by": ["g"], "keys": list(keys), "max_size": 9},
        "statistics": [{**own, "name": f"s{k}"} for k, own in enumerate(statistics)],
        "privacy": {"epsilon": 1},
        **more,
        "columns": {**BESIDE, **more.get("columns", {})},
    }


def plan_of(parts: Sequence[Part], keys: Sequence[str], **more: Any) -> Content:
    """One plan of several parts."""
    columns = {name: declared for part in parts for name, declared in part.columns.items()}
    return plan([part.statistic for part in parts], keys, columns=columns, **more)


# --- roles: a declaration of a column, and what is asked of it then -----------------------------------------


def roles(x: str, own: Type, *, every_bound: bool = False) -> Iterator[list[Part]]:
    """For every way to declare a column, the parts that need it so."""
    numbers, truths = [("number", digits) for digits in NUMBERS], [("truth", True), ("truth", False)]
    texts = [("text", text) for text in dict.fromkeys((*own.texts, *TEXTS))]
    days = [("compare", sign, ("column", x), ("text", day)) for sign, day in zip(SIGNS, DATES, strict=True)]
    labels = {x: {"labels": list(own.texts), "other": own.texts[1]}}
    yield _counts(own, "compare number", tests_of(x, "number", numbers), {x: {"type": "number"}})
    for bounds in BOUNDS if every_bound else BOUNDS[:1]:
        kinds = {"sum": {}, "mean": {}, "median": {}, "min": {}, "max": {}, "quantile": {"at": 0.9}}
        yield [Part(own.name, kind, {kind: x, **more}, {x: bounds}) for kind, more in kinds.items()]
    yield [
        *_counts(own, "compare text", tests_of(x, "text", texts), labels),
        *(Part(own.name, kind, {kind: x}, labels) for kind in ("histogram", "mode")),
        Part(own.name, "crosstab", {"crosstab": [x, "c"]}, labels),
    ]
    yield _counts(own, "compare date", days, {x: {"type": "text"}})
    yield _counts(own, "truth", tests_of(x, "boolean", truths), {x: {"type": "boolean"}})


def _counts(own: Type, operation: str, trees: Sequence[Tree], columns: Content) -> list[Part]:
    return [counting(own.name, operation, tree, columns) for tree in trees]


def firsts(parts: Sequence[Part]) -> list[Part]:
    """The first part of every operation."""
    return [part for k, part in enumerate(parts) if k == 0 or part.operation != parts[k - 1].operation]


def compared_columns(columns: Sequence[tuple[str, str]], kind: str, apart: int) -> Iterator[Part]:
    """Every column with the one so many places further on; columns: the name of a type, and a column that has it."""
    signs = list(SIGNS) if kind == "number" else ["=", "!="]
    for k, (of, x) in enumerate(columns):
        other = columns[(k + apart) % len(columns)][1]
        tree = ("compare", signs[k % len(signs)], ("column", x), ("column", other))
        yield counting(of, f"compare {kind} columns", tree, {x: {"type": kind}, other: {"type": kind}})


# --- keys and persons -------------------------------------------------------------------------------------


def keyed(x: str, own: Type, groups: Sequence[str]) -> Iterator[tuple[str, Content]]:
    """Plans with the column as the second key of every group."""
    for period, names in {"": list(own.texts), **PERIODS}.items():
        for stated in (False, True):
            keys = {"g": list(groups), x: [*names, NOT_STATED] if stated else names}
            by: Content = {"by": ["g", x], "keys": keys, "max_size": 9}
            by |= {"period": {x: period}} if period else {}
            by |= {"missing_key": NOT_STATED} if stated else {}
            name = (f"key by {period}" if period else "key") + (", not stated" if stated else "")
            yield name, plan([{"count": "true"}, {"sum": "n"}], groups, groups=by)


def by_person(x: str, groups: Sequence[str]) -> Content:
    """A plan with the column as the id of persons, who may be in all groups."""
    people = {"id": x, "max_records": 2, "max_groups": len(groups)}
    return plan([{"count": "true"}, {"sum": "n"}, {"histogram": "c"}], groups, people=people)


OF_PERSONS: Content = {"people": {"id": "who", "max_records": 2, "max_groups": 1}}
"""Every record is a person's only one; the engine has to choose among groups all the same."""


def probes(x: str, own: Type, groups: Sequence[str]) -> dict[str, Content]:
    """The plainest plan of every operation, which says whether the column can have it at all."""
    number, labels = {x: {"low": 0, "high": 10}}, {x: {"labels": list(own.texts)}}
    asked: dict[str, tuple[Content, Content]] = {
        "compare number": ({"count": f'"{x}" = 1'}, {x: {"type": "number"}}),
        **{kind: ({kind: x}, number) for kind in ("sum", "mean", "min", "median", "max")},
        "quantile": ({"quantile": x, "at": 0.9}, number),
        "compare text": ({"count": f"\"{x}\" = '{own.texts[0]}'"}, {x: {"type": "text"}}),
        "compare date": ({"count": f"\"{x}\" < '2024-01-31'"}, {x: {"type": "text"}}),
        **{kind: ({kind: x}, labels) for kind in ("histogram", "mode")},
        "crosstab": ({"crosstab": [x, "c"]}, labels),
        "truth": ({"count": f'"{x}"'}, {x: {"type": "boolean"}}),
    }
    plans = {name: plan([statistic], groups, columns=columns) for name, (statistic, columns) in asked.items()}
    return {**plans, **dict(keyed(x, own, groups)), "person": by_person(x, groups)}

"""Plans of every kind of statistic under every relation, small enough to be released in a moment."""

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

COLUMNS = {
    "c": {"labels": ["p", "q"], "other": "q"},
    "d": {"labels": ["u", "v", "w"]},
    "x": {"low": 0, "high": 10, "missing": 5},
    "y": {"low": "-3/2", "high": 3, "step": "1/2", "missing": 0},
    "z": {"low": 2, "high": 4},
}
FRAME = pa.table(
    {
        "r": ["N", "N", "N", "S", "S", "S"],
        "s": ["a", "a", "b", "c", "c", "d"],
        "who": ["1", "2", "3", "4", "1", "6"],
        "day": pa.array([19730, 19731, None, 19760, 19761, 19999], pa.date32()),
        "c": ["p", "q", "p", "q", "p", None],
        "d": ["u", "v", "w", "u", None, "x"],
        "x": [1.0, 9.0, 4.0, 7.5, None, 99.0],
        "y": [-1.5, 2.0, 0.0, None, 3.0, 1.0],
        "z": [2, 3, 4, 4, 2, 0],
    }
)
KEYS = [["N", "a"], ["N", "b"], ["S", "c"], ["S", "d"]]
SIZES = [4, 3, 4, 5]

KINDS: dict[str, dict[str, Any]] = {
    "count": {"count": "c = 'p'"},
    "histogram": {"histogram": "d"},
    "sum_to_size": {"histogram": "c", "sum_to_size": True},
    "sum": {"sum": "x"},
    "sum in halves": {"sum": "y"},
    "sum above zero": {"sum": "z"},
    "mean": {"mean": "x"},
    "mean in halves": {"mean": "y"},
    "min": {"min": "x"},
    "median": {"median": "x"},
    "max": {"max": "y"},
    "quantiles": {"quantile": "x", "at": [0.25, 0.9]},
    "mode": {"mode": "d"},
    "crosstab": {"crosstab": ["c", "d"]},
    "percentage": {"percentage": "x > 3"},
    "spread": {"variance": "x"},
    "deviation": {"standard_deviation": "y"},
}
"""One statistic of every kind."""

RELATIONS: dict[str, dict[str, Any]] = {
    "public": {"groups": {"size": SIZES}},
    "at most": {"groups": {"max_size": SIZES}},
    "at most, changed": {"groups": {"max_size": SIZES}, "privacy": {"neighbours": "change one record"}},
    "persons": {"groups": {"max_size": SIZES}, "people": {"id": "who", "max_records": 2}},
    "persons with records": {
        "groups": {"max_size": SIZES},
        "people": {"id": "who", "max_records": 3, "max_groups": 2},
    },
}
"""What is protected, and whether sizes are public."""


@dataclass(frozen=True)
class Case:
    """A plan by its name, and how its table is written. quick: it is also tried in the quick tests."""

    name: str
    plan: dict[str, Any] = field(repr=False)
    suffix: str = ".csv"
    quick: bool = False


def plan_of(statistics: list[dict[str, Any]], relation: str, **more: Any) -> dict[str, Any]:
    """A plan over four groups in two regions."""
    own = RELATIONS[relation]
    return {
        "groups": {"by": ["r", "s"], "keys": KEYS, **own["groups"]},
        "columns": COLUMNS,
        "statistics": statistics,
        "privacy": {"epsilon": 3, **own.get("privacy", {})},
        **({"people": own["people"]} if "people" in own else {}),
        **more,
    }


def every_kind() -> list[dict[str, Any]]:
    return [{**statistic, **({} if "quantile" in statistic else {"name": name})} for name, statistic in KINDS.items()]


SHARES = ["1/4", "1/7", "1/20", "1/33", "1/3"]
"""Shares without a common unit that is large."""

LEVELS = {"hierarchy": {"levels": ["r", "s"]}}
INTERVAL = {"output": {"credible_level": 0.9}}


def cases() -> list[Case]:
    """All kinds together, and those that add up over levels, under every relation."""
    quick = ("public", "persons with records")
    found = [Case(f"every kind, {name}", plan_of(every_kind(), name), quick=name in quick) for name in RELATIONS]
    adding: list[dict[str, Any]] = [
        {"count": "x > 3", "name": "n"},
        {"histogram": "d", "name": "h"},
        {"histogram": "c", "name": "k", "sum_to_size": True},
        {"sum": "y", "name": "t"},
        {"median": "x", "name": "m"},
        {"crosstab": ["d", "c"], "margins": ["c"], "name": "z"},
        {"mean": "y", "name": "a"},
        {"percentage": "x > 3", "name": "p"},
        {"standard_deviation": "y", "name": "d"},
    ]
    found += [Case(f"levels, {name}", plan_of(adding, name, **LEVELS), quick=name == "public") for name in RELATIONS]
    shares = {"hierarchy": {"levels": ["r", "s"], "shares": ["1/4", "3/4"], "weights": [1, 2]}}
    found.append(Case("levels with shares", plan_of([*adding[:4], *adding[5:]], "public", **shares, **INTERVAL)))
    grand = {"hierarchy": {"levels": ["all", "r", "s"], "weights": [3, 1, 1]}}
    found.append(Case("a grand total", plan_of([adding[0], adding[3], adding[4]], "persons", **grand), quick=True))
    once = [{"count_distinct": "x > 3"}, {"count": "true", "name": "n"}]
    found.append(Case("persons once", plan_of(once, "persons with records"), quick=True))
    found.append(Case("a variance", plan_of([{"variance": "y"}, {"variance": "z"}], "public"), quick=True))
    spreads = [{"variance": "x"}, {"standard_deviation": "y"}]
    found.append(Case("a secret variance", plan_of(spreads, "at most", **LEVELS, **INTERVAL), quick=True))
    many = [{"count": f"x > {k}", "name": f"above {k}", "budget_share": share} for k, share in enumerate(SHARES)]
    few = {"epsilon": 1, "delta": "1/100", "persons": 100}
    for name in ("at most", "at most, changed", "persons with records"):
        privacy = {"privacy": {**few, **RELATIONS[name].get("privacy", {})}}
        plan = plan_of([*many, {"mean": "x"}, {"histogram": "d", "name": "h"}], name, **privacy)
        found.append(Case(f"a delta, {name}", plan))
    large = {"privacy": {"epsilon": 2, "delta": "1/10", "allow_large_delta": True}}
    found.append(Case("a large delta", plan_of([*many, adding[0]], "public", **LEVELS, **large)))
    parts: list[dict[str, Any]] = [{"count": "c = 'p'", "epsilon": 1}, {"sum": "z", "budget_share": "1/3"}]
    found.append(Case("parts of epsilon", plan_of(parts, "public"), quick=True))
    found.append(Case("all of epsilon", plan_of([*parts, {"median": "x", "epsilon": 1}], "at most"), quick=True))
    one = {
        "groups": {"size": 6},
        "columns": COLUMNS,
        "statistics": [{"count": "true", "name": "n"}, {"mean": "y"}],
        "privacy": {"epsilon": "1/3"},
    }
    found.append(Case("one group", one, ".json", quick=True))
    found.append(Case("parquet", plan_of(every_kind()[:8], "public", **INTERVAL), ".parquet"))
    found.append(Case("json", plan_of(every_kind()[4:], "at most", **INTERVAL), ".json"))
    found.append(Case("intervals", plan_of(every_kind()[:7:2], "at most", **INTERVAL), quick=True))
    same = plan_of([{"count": "true", "name": "n"}, {"mode": "d"}, {"median": "x"}], "public", **INTERVAL)
    same["groups"] = {**same["groups"], "size": 6}
    found.append(Case("one size", same))
    return [*found, Case("dates", dated(), quick=True)]


def dated() -> dict[str, Any]:
    """Months as groups, one for records without a date, a condition, names like formulas, and every design option."""
    return {
        "groups": {
            "by": ["day"],
            "keys": ["2024-01", "=none", "2024-02"],
            "max_size": [5, 4, 5],
            "period": {"day": "month"},
            "missing_key": "=none",
        },
        "columns": {**COLUMNS, "c": {"labels": ["p", "=q"], "other": "=q"}},
        "statistics": [
            {"count": "x > 3", "name": "+n", "loss": "squared", "prior": {"binomial": 0.3}, "limits": ["zero-one=0.9"]},
            {"mode": "c", "name": "m", "prior": "uniform"},
            {"sum": "y", "mechanism": "truncated_geometric", "epsilon": 1},
            {"max": "x", "loss": "zero-one"},
            {"histogram": "c", "name": "h", "sum_to_size": True},
        ],
        "privacy": {"epsilon": 3},
        "where": "x >= 0",
        "edition": "2024",
        "design": {"prior": {"normal": [3, 2]}, "aim": "average", "properties": ["fair"]},
    }

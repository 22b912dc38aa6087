"""The reports in a record against its plan, account and mechanisms, before anything is computed from them."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from inbounds.errors import PassportError
from inbounds.mechanism.spelling import read_fraction, read_query
from inbounds.query import Query, Reach
from inbounds.tables.adding.form import HOW, KNOWN, MOST, USUAL_INTERVAL, AddingForm, LayerForm, ReportsForm
from inbounds.tables.forms import AccountForm, MechanismForm, PlanForm, RecordForm, StatisticForm
from inbounds.trusted.extent import MOST_ANSWERS


def check_reports(record: RecordForm, adding: Sequence[StatisticForm]) -> None:
    """What was reported is of the groups, levels, ranges and rates that the plan and the account name.

    adding: the plan's statistics that add up. A `PassportError` or `ValueError` otherwise.
    """
    form, plan = record["reports"], record["plan"]
    accounts = {line["statistic"]: line for line in record["account"]}
    _check_groups(form, plan)
    for own, statistic in zip(form["statistics"], adding, strict=True):
        lines = [line for line in record["mechanisms"] if line["statistic"] == statistic["name"]]
        _require(own["statistic"] == statistic["name"] and own.get("by", next(iter(HOW))) in HOW)
        _check_form(own, statistic, plan)
        _check_sizes(form, own, lines)
        _check_layers(form, own, accounts[statistic["name"]], lines)


def _require(holds: bool) -> None:
    if not holds:
        raise PassportError("the reports are not those of the plan, the account and the mechanisms in the record")


def _check_groups(form: ReportsForm, plan: PlanForm) -> None:
    """Sizes and parents are of the groups and levels of the plan; intervals as it says."""
    said: Any = plan.get("interval")
    interval = USUAL_INTERVAL if said is None else read_fraction(str(said))
    _require(read_fraction(form["interval"]) == interval and form["published"] == (said is not None))
    _require(len(form["sizes"]) == plan["groups"] and min(form["sizes"]) >= 1)
    nodes = plan["hierarchy"]["nodes"][::-1] if "hierarchy" in plan else [plan["groups"]]
    for parents, below, above in zip(form["parents"], nodes[:-1], nodes[1:], strict=True):
        _require(len(parents) == below and above <= below and set(parents) == set(range(above)))


def _check_form(own: AddingForm, statistic: StatisticForm, plan: PlanForm) -> None:
    """Shape and sums are those of the kind of statistic."""
    shape, cells = own["shape"], len(own["layers"][0]["columns"])
    _require(bool(shape) == (statistic["kind"] == "crosstab") and own["sums"] in ("", KNOWN, MOST))
    _require(own["sums"] != KNOWN or plan["sizes"] == "public")
    _require(not shape or (len(shape) == 2 and min(shape) >= 1 and math.prod(shape) == cells and bool(own["sums"])))
    _require(bool(shape) or bool(own["sums"]) == statistic.get("consistent", False))
    _require(own["positions"] >= 1 and read_fraction(own["step"]) > 0)


def _check_sizes(form: ReportsForm, own: AddingForm, lines: Sequence[MechanismForm]) -> None:
    """Every mechanism of the statistic's own numbers is for as many groups of its sizes, on their values."""
    sizes, start, step = sorted(form["sizes"]), read_fraction(own["start"]), read_fraction(own["step"])
    _require(sum(sizes) * own["positions"] < MOST_ANSWERS)
    for line in lines:
        if line.get("layer") != own["layers"][0]["name"]:
            continue
        ends = [int(end) for end in str(line["size"]).split("..")]
        _require(bisect_right(sizes, ends[-1]) - bisect_left(sizes, ends[0]) == line["groups"])
        answers = read_query(line["query"]).answers
        _require(answers.unit == step)
        if len(ends) == 1:
            _require(answers.start == start * ends[0] and len(answers) - 1 == own["positions"] * ends[0])


def _check_layers(form: ReportsForm, own: AddingForm, account: AccountForm, lines: Sequence[MechanismForm]) -> None:
    """The layers of the account in order, each at its rate, with reports of all its nodes in its mechanisms' range."""
    allowed = {name: read_fraction(part) for name, part in account["layers"].items()}
    _require([layer["name"] for layer in own["layers"]] == list(allowed))
    nodes = [len(form["sizes"]), *(max(parents) + 1 for parents in form["parents"])]
    for level, layer in enumerate(own["layers"]):
        queries = [read_query(line["query"]) for line in lines if line.get("layer") == layer["name"]]
        _require(any(read_fraction(layer["rate"]) * _reach(query) == allowed[layer["name"]] for query in queries))
        largest = max(len(query.answers) - 1 for query in queries)
        _check_rows(layer, nodes[0 if own["shape"] else level], largest)
    _require(own["shape"] != [] or len(own["layers"]) == len(nodes))
    _require(any(read_fraction(layer["weight"]) > 0 for layer in own["layers"]))


def _check_rows(layer: LayerForm, nodes: int, largest: int) -> None:
    _require(read_fraction(layer["weight"]) >= Fraction(0))
    _require(len(layer["reports"]) == len(layer["columns"]) >= 1)
    for row in layer["reports"]:
        _require(len(row) == nodes and min(row) >= 0 and max(row) <= largest)


def _reach(query: Query) -> int:
    return query.neighbours.steps if isinstance(query.neighbours, Reach) else 1

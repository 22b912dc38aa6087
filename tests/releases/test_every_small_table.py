"""Every small table at once: each group of one plan holds another table, so one aggregation answers them all.

Columns of every kind (touching zero or far from it, negative throughout, low no multiple of step), several sizes,
more records than a group declares: the answers are those of plain Python, and neighbours are as near as claimed.
"""

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from inbounds.query import AllPairs, Metric, QuantileQuery
from inbounds.releases import workload as answering
from inbounds.releases.pipeline import open_plan_source, to_plan

NUMBERS = {
    "touches zero": {"low": 0, "high": 3},
    "around zero": {"low": -1, "high": 3, "missing": 1},
    "above zero": {"low": 5, "high": 10},
    "negative": {"low": -7, "high": -4, "missing": -5},
    "low no multiple of step": {"low": 1, "high": 7, "step": 2},
    "negative, low no multiple of step": {"low": -5, "high": -1, "step": 2, "missing": -1},
    "fractions": {"low": "1/2", "high": "5/4", "step": "1/4"},
    "fractions, low no multiple of step": {"low": "-1/4", "high": "5/4", "step": "1/2"},
}
SIZES = (1, 2, 4)
KINDS = ("sum", "mean", "min", "max", "median")


def values_of(column):
    """Below, at and above the bounds, between two steps, nearer to the upper one, halfway, and missing."""
    low, high, step = (float(Fraction(column.get(key, 1))) for key in ("low", "high", "step"))
    return [None, low - 3 * step, low, low + 0.75 * step, low + 1.5 * step, high, high + step]


def tables_of(values, most):
    """All multisets of values, of up to `most` records."""
    return [table for n in range(most + 1) for table in combinations_with_replacement(range(len(values)), n)]


def plan_over(tables, column, statistics, sizes, **privacy):
    """One group for each size and table."""
    keys = [f"{size}-{k}" for size in SIZES for k in range(len(tables))]
    limits = [size for size in SIZES for _ in tables]
    return {
        "groups": {"by": ["g"], "keys": keys, sizes: limits},
        "columns": {"x": column, "c": {"labels": ["p", "q"], "other": "q"}},
        "statistics": [{**s, "name": f"s{k}"} for k, s in enumerate(statistics)],
        "privacy": {"epsilon": 1, **privacy},
    }


def records_over(tables, values, name):
    return [{"g": f"{size}-{k}", name: values[v]} for size in SIZES for k, table in enumerate(tables) for v in table]


def positions_of(checks, content, rows):
    """Asked and positions[cell][size][table], of a quantile its lengths: the door of the sampler, without a draw."""
    plan = to_plan(content, checks.frame(rows))
    asked, found = answering.Workload.from_plan(plan), iter(open_plan_source(plan).aggregate().positions)
    cells = [
        requests for own, requests in zip(plan.statistics, asked.requests, strict=True) for _ in plan.drawn_columns(own)
    ]
    return asked, [_by_size(next(found), requests, asked.members) for requests in cells]


def _by_size(own, requests, members):
    if not isinstance(requests[0].query, QuantileQuery):
        return own.reshape(len(SIZES), -1)
    queries = [request.query for request in requests]
    return [q.path_lengths(own.histograms(m)) for q, m in zip(queries, members, strict=True)]


def answer_at(query, own):
    """The true answer of one table: at its position, or where its length is 0."""
    return query.values[int(own.argmin())] if isinstance(query, QuantileQuery) else query.answers[int(own)]


def hops(query, j, k):
    """How often the ratio exp(epsilon) lies between two positions, at most."""
    apart = np.abs(j - k)
    if isinstance(query, QuantileQuery):
        return apart.max(axis=1)
    if isinstance(query.neighbours, AllPairs):
        return (apart > 0).astype(int)
    if isinstance(query.neighbours, Metric):
        return apart.astype(object) * (query.answers.unit / query.neighbours.unit)
    return -(-apart // query.neighbours.steps)


def added(tables):
    """Pairs (table, table with one record more), by place."""
    place = {table: k for k, table in enumerate(tables)}
    return np.array([(place[(*t[:i], *t[i + 1 :])], k) for t, k in place.items() for i in range(len(t))]).T


def changed(tables):
    """Pairs of tables that differ in one record's value: both are one record more than a third."""
    less, more = added(tables)
    order = np.argsort(less, kind="stable")
    pairs = set()
    for run in np.split(more[order], np.cumsum(np.bincount(less))[:-1]):
        pairs |= {(a, b) for a in run.tolist() for b in run.tolist() if a < b}
    return np.array(sorted(pairs)).T


def assert_no_pair_costs_more_than_claimed(asked, found):
    """Between neighbours the numbers of a statistic cost, at the epsilon they are drawn at, no more than it spends.

    With a maximum, a changed record may leave any group and enter any other: it costs both.
    """
    plan, cell = asked.plan, 0
    for k, entry in enumerate(asked.entries):
        rows = found[cell : cell + len(plan.drawn_columns(entry.statistic))]
        cell += len(rows)
        assert asked.requests[k][0].epsilon == entry.drawn_at
        costs = {}
        for name, (a, b) in (("added", added(TABLES)), ("changed", changed(TABLES))):
            steps = [
                sum(hops(asked.requests[k][s].query, row[s][a], row[s][b]) for row in rows) for s in range(len(SIZES))
            ]
            costs[name] = max(each.max() for each in steps) * entry.drawn_at
        if plan.groups.public:
            assert max(costs.values()) <= entry.spent
        elif plan.neighbours == "change one record":
            assert max(costs["changed"], 2 * costs["added"]) <= entry.spent
        else:
            assert costs["added"] <= entry.spent
        assert max(costs.values()) > 0  # the tables do move the answer


TABLES = tables_of(range(7), 3)
RELATIONS = {
    "public sizes": ("size", {}),
    "a maximum": ("max_size", {}),
    "a maximum, records change": ("max_size", {"neighbours": "change one record"}),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_small_table_are_those_of_plain_python_and_as_near_as_claimed(checks, brute, name, relation):
    column, (sizes, privacy) = NUMBERS[name], RELATIONS[relation]
    values = values_of(column)
    content = plan_over(TABLES, column, [{kind: "x"} for kind in KINDS], sizes, **privacy)
    asked, found = positions_of(checks, content, records_over(TABLES, values, "x"))
    cell = 0
    for k, (statistic, own) in enumerate(zip(content["statistics"], asked.plan.statistics, strict=True)):
        draws = range(cell, cell + len(asked.plan.drawn_columns(own)))
        cell = draws.stop
        for s, size in enumerate(SIZES):
            query = asked.requests[k][s].query
            for t, table in enumerate(TABLES):
                mine = [{"x": values[v]} for v in table]
                expected = brute(content, statistic, mine, size, sizes == "size").values()
                assert [answer_at(query, found[i][s][t]) for i in draws] == list(expected)
    assert_no_pair_costs_more_than_claimed(asked, found)


@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_and_cells_of_every_small_table_are_those_of_plain_python_and_as_near_as_claimed(
    checks, brute, relation
):
    sizes, privacy = RELATIONS[relation]
    values = ["p", "q", "unknown", None, "P", "", "pq"]
    asks = [{"count": "c = 'p'"}, {"count": "true"}, {"percentage": "c = 'p'"}, {"percentage": "not c = 'p'"}]
    asks += [{"histogram": "c"}]
    asks += [{"histogram": "c", "sum_to_size": True}] if sizes == "size" else []
    content = plan_over(TABLES, NUMBERS["touches zero"], asks, sizes, **privacy)
    asked, found = positions_of(checks, content, records_over(TABLES, values, "c"))
    cell = 0
    for statistic, own in zip(content["statistics"], asked.plan.statistics, strict=True):
        names = asked.plan.drawn_columns(own)
        for s, size in enumerate(SIZES):
            query = asked.requests[asked.plan.statistics.index(own)][s].query
            for t, table in enumerate(TABLES):
                mine = [{"c": values[v]} for v in table]
                expected = brute(content, statistic, mine, size, sizes == "size")
                assert [answer_at(query, found[cell + i][s][t]) for i in range(len(names))] == list(expected.values())
        cell += len(names)
    assert_no_pair_costs_more_than_claimed(asked, found)


def test_the_check_of_neighbours_sees_a_reach_that_is_too_small(checks):
    """A twin that must fail: the furthest move of a sum in twice as many steps as were promised."""
    column = NUMBERS["above zero"]
    content = plan_over(TABLES, column, [{"sum": "x"}], "max_size")
    asked, found = positions_of(checks, content, records_over(TABLES, values_of(column), "x"))
    assert_no_pair_costs_more_than_claimed(asked, found)
    with pytest.raises(AssertionError):
        assert_no_pair_costs_more_than_claimed(asked, [2 * row for row in found])
    assert math.comb(7 + 2, 3) == sum(len(t) == 3 for t in TABLES)

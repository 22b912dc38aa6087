"""What the tests of releases share: a second opinion on the true answers, traces, and the checks themselves.

The checks are plain functions, so that the same ones that guard the package can be turned on planted bugs.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from inbounds.mechanism.laws import RecordsLaw
from inbounds.query import AllPairs, Metric, QuantileQuery
from inbounds.releases import drawing
from inbounds.releases import workload as answering
from inbounds.releases.pipeline import open_plan_source, to_plan
from inbounds.sources.engines import DuckDB
from inbounds.trusted.samplers import seeded_entropy

TYPES = {"g": pa.string(), "h": pa.int64(), "c": pa.string(), "x": pa.float64(), "n": pa.int64(), "b": pa.bool_()}
"""The columns of the random tables: two keys, a category, a real, a whole number, a boolean."""

FAILURE = 1e-10
"""Chance that a statistical check fails by accident; each states what it is the chance of."""


def released(designed: answering.ReleaseDesign, truths: Any, draws: Any) -> list[answering.OutputColumn]:
    """The released columns of true answers, with draws of one's own."""
    return answering.build_table(designed, drawing.draw_rows(designed, truths, draws=draws)).columns


def frame(rows: list[dict[str, Any]]) -> pa.Table:
    """Records as an Arrow table whose schema does not depend on them."""
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in TYPES.items()})


@dataclass(frozen=True)
class Trace:
    """What one release hands to the sampler, and everything else about it that could be noticed."""

    handed: list[tuple[int, list[int], list[int]]]  # which law, whose groups, which positions
    keys: list[tuple[Any, ...]]
    columns: list[str]
    draws: int
    sql: str
    said: str


class Checks:
    """Second opinions on a release."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache

    # --- running --------------------------------------------------------------------------------------

    def frame(self, rows: list[dict[str, Any]]) -> pa.Table:
        return frame(rows)

    def designed(self, plan: Any) -> answering.ReleaseDesign:
        return answering.ReleaseDesign.from_workload(answering.Workload.from_plan(plan), self.cache)

    def truths(self, content: dict[str, Any], rows: list[dict[str, Any]]) -> list[list[Fraction]]:
        """The true answers of the package, as values: one list per output cell, in declared order of groups."""
        plan = to_plan(content, frame(rows))
        asked, positions = answering.Workload.from_plan(plan), open_plan_source(plan).aggregate().positions
        found, cell = [], 0
        for k, statistic in enumerate(plan.statistics):
            for _ in plan.drawn_columns(statistic):
                values: list[Any] = [None] * len(plan.groups)
                for request, members in zip(asked.requests[k], asked.members, strict=True):
                    query, own = request.query, positions[cell]
                    if isinstance(query, QuantileQuery):
                        places, scale = query.true_positions(own.histograms(members)), query.values
                    else:
                        places, scale = own[members], query.answers
                    for group, place in zip(members.tolist(), places.tolist(), strict=True):
                        values[group] = scale[place]
                found.append(values)
                cell += 1
        return found

    def release(self, content: dict[str, Any], rows: list[dict[str, Any]], seed: int) -> list[answering.OutputColumn]:
        """A release from the data to the columns, with simulated draws."""
        plan = to_plan(content, frame(rows))
        draws = seeded_entropy(np.random.default_rng(seed))
        return released(self.designed(plan), open_plan_source(plan).aggregate(), draws)

    def trace(self, content: dict[str, Any], rows: list[dict[str, Any]], monkeypatch: Any, capsys: Any) -> Trace:
        plan = to_plan(content, frame(rows))
        designed, handed, drawn = self.designed(plan), [], [0]
        own, from_records = drawing._draw_answers, drawing._draw_quantiles
        laws: dict[int, int] = {}

        def spy_on_records(made: Any, truths: Any, members: Any, draws: Any) -> Any:
            lengths = made.query.path_lengths(truths.histograms(members))
            handed.append((laws.setdefault(id(made), len(laws)), lengths.tolist()))
            return from_records(made, truths, members, draws)

        def spy(sampler: Any, positions: Any, draws: Any) -> Any:
            handed.append((laws.setdefault(id(sampler), len(laws)), positions.tolist()))
            return own(sampler, positions, draws)

        def draws(count: int) -> Any:
            drawn[0] += count
            return seeded_entropy(np.random.default_rng(drawn[0]))(count)

        asked, keep, fetch = [], DuckDB.keep, DuckDB.fetch
        with monkeypatch.context() as patched:
            patched.setattr(drawing, "_draw_answers", spy)
            patched.setattr(drawing, "_draw_quantiles", spy_on_records)
            patched.setattr(DuckDB, "keep", lambda self, name, sql: asked.append(sql) or keep(self, name, sql))
            patched.setattr(DuckDB, "fetch", lambda self, sql: asked.append(sql) or fetch(self, sql))
            columns = released(designed, open_plan_source(plan).aggregate(), draws)
        sql = re.sub(r"inbounds_[0-9a-f]+", "table", "\n".join(asked))  # without the names of temporary tables
        members = [m.tolist() for m in designed.workload.members]
        labelled = [(law, members[k % len(members)], where) for k, (law, where) in enumerate(handed)]
        keys = list(zip(*(c.values.tolist() for c in columns[: len(plan.groups.by)]), strict=True))
        said = capsys.readouterr()
        return Trace(labelled, keys, [c.name for c in columns], drawn[0], sql, said.out + said.err)

    # --- judging --------------------------------------------------------------------------------------

    def assert_truths_are_brute_force(self, content: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        assert self.truths(content, rows) == brute_force(content, rows)

    def assert_neighbours(self, content: dict[str, Any], here: Trace, there: Trace) -> None:
        """The columns that two neighbours use lie so close that together they cost no more than is claimed."""
        plan = to_plan(content, frame([]))
        assert (here.keys, here.columns, here.draws) == (there.keys, there.columns, there.draws)
        assert (here.sql, here.said) == (there.sql, there.said)
        asked = answering.Workload.from_plan(plan)
        calls = [
            request
            for k, s in enumerate(plan.statistics)
            for _ in plan.drawn_columns(s)
            for request in asked.requests[k]
        ]
        assert len(calls) == len(here.handed) == len(there.handed)
        spent = Fraction(0)
        for request, (law, groups, a), (other, same, b) in zip(calls, here.handed, there.handed, strict=True):
            assert (law, groups) == (other, same)
            for j, k in zip(a, b, strict=True):
                if isinstance(
                    request.query, QuantileQuery
                ):  # lengths that are one apart allow the ratio exp(epsilon) once
                    assert len(j) == len(k) == request.query.width + 1
                    spent += request.epsilon * max(abs(one - other) for one, other in zip(j, k, strict=True))
                    continue
                assert 0 <= j < len(request.query.answers)
                spent += request.epsilon * _hops(request.query, j, k)
        assert spent <= plan.total_epsilon <= plan.epsilon

    def assert_rows_are_the_declared_groups(self, content: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        columns = self.release(content, rows, seed=1)
        plan = to_plan(content, frame(rows))
        assert {len(column.values) for column in columns} == {len(plan.groups)}
        got = list(zip(*(c.values.tolist() for c in columns[: len(plan.groups.by)]), strict=True))
        assert got == list(plan.groups.keys)

    def assert_draws_decide(self, content: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Equal draws give equal releases, of values the mechanisms report: there is no other randomness."""
        first, again = (self.release(content, rows, seed=3) for _ in range(2))
        assert [c.values.tolist() for c in first] == [c.values.tolist() for c in again]
        plan = to_plan(content, frame(rows))
        designed = self.designed(plan)
        by_name = {column.name: column.values for column in first}
        for k, statistic in enumerate(plan.statistics):
            for name in () if statistic.sums_to_size else plan.drawn_columns(statistic):
                for design, members in zip(designed.designs[k], designed.workload.members, strict=True):
                    reported = answering.output_query(design.mechanism).output_values
                    assert np.isin(by_name[name][members], reported).all()

    def assert_law(self, content: dict[str, Any], copies: int, record: dict[str, Any]) -> None:
        """Every group holds `record` alone: released cells follow the mechanism's column of the brute-force truth.

        The groups have three sizes in turn, each with a mechanism of its own. Multinomial χ² for each cell and size;
        fails by accident with probability FAILURE each.
        """
        keys = [str(k) for k in range(copies)]
        size = content["groups"]["size"]
        sizes = [size + k % 3 for k in range(copies)]
        content = {**content, "groups": {**content["groups"], "by": ["g"], "keys": keys, "size": sizes}}
        rows = [{**record, "g": key} for key in keys]
        columns = {c.name: c.values for c in self.release(content, rows, seed=5)}
        designed = self.designed(to_plan(content, frame(rows)))
        statistics = zip(content["statistics"], designed.workload.plan.statistics, designed.designs, strict=True)
        for wanted, statistic, designs in statistics:
            for n, members, design in zip(designed.workload.sizes, designed.workload.members, designs, strict=True):
                truths = _answers(content, wanted, [record], n, True).values()
                for name, truth in zip(designed.workload.plan.cells(statistic), truths, strict=True):
                    made = design.mechanism
                    if isinstance(made.law, RecordsLaw):
                        own = _value(record.get(statistic.column), content["columns"][statistic.column])
                        column = made.probabilities(made.query.encode([own])[None, :])[0]
                    else:
                        column = made.matrix[:, list(made.query.answers).index(truth)]
                    _assert_follows(column, answering.output_query(made).output_values, columns[name][members])

    def assert_draws_are_fresh(self, content: dict[str, Any], record: dict[str, Any]) -> None:
        """Many groups with the same truth are not all answered alike, nor do two equal statistics agree throughout.

        With 400 independent draws each the chance of agreement is below FAILURE for the plans used here.
        """
        keys = [str(k) for k in range(400)]
        content = {**content, "groups": {**content["groups"], "by": ["g"], "keys": keys}}
        columns = {c.name: c.values for c in self.release(content, [{**record, "g": key} for key in keys], seed=7)}
        cells = [columns[statistic["name"]] for statistic in content["statistics"]]
        assert all(len(np.unique(cell)) > 1 for cell in cells)
        assert len({tuple(cell.tolist()) for cell in cells}) == len(cells)

    def audited(
        self, content: dict[str, Any], here: list[dict[str, Any]], there: list[dict[str, Any]], n: int
    ) -> float:
        """A lower confidence bound (error rate FAILURE) on the epsilon of n releases of each of two small tables.

        Both tables are released n times at once, as n groups of one plan; the joint output of all statistics is
        counted. For each joint output, Clopper–Pearson bounds on its two probabilities bound the log-ratio.
        """
        keys = [str(k) for k in range(n)]
        content = {**content, "groups": {**content["groups"], "by": ["g"], "keys": keys}}
        counts = []
        for seed, records in enumerate((here, there)):
            table = pa.table(
                {
                    name: pa.array(np.repeat(keys, len(records)), kind)
                    if name == "g"
                    else pa.array([record.get(name) for record in records] * n, kind)
                    for name, kind in TYPES.items()
                }
            )
            plan = to_plan(content, table)
            draws = seeded_entropy(np.random.default_rng(seed))
            columns = released(self.designed(plan), open_plan_source(plan).aggregate(), draws)
            cells = {cell for statistic in plan.statistics for cell in plan.drawn_columns(statistic)}
            joint = list(zip(*(c.values.tolist() for c in columns if c.name in cells), strict=True))
            counts.append(Counter(joint))
        outputs = set(counts[0]) | set(counts[1])
        level = FAILURE / (4 * len(outputs))
        worst = 0.0
        for output in outputs:
            a, b = counts[0].get(output, 0), counts[1].get(output, 0)
            for more, less in ((a, b), (b, a)):
                low = stats.beta.ppf(level, more, n - more + 1) if more else 0.0
                high = stats.beta.ppf(1 - level, less + 1, n - less) if less < n else 1.0
                worst = max(worst, math.log(low / high) if low > high else 0.0)
        return worst


def _assert_follows(column: Any, values: Any, reported: Any) -> None:
    """Reported values against the mechanism's own probabilities of all values, and nothing else among them."""
    seen = np.array([(reported == value).sum() for value in values])
    assert seen.sum() == len(reported)
    assert seen[column == 0].sum() == 0
    kept = column > 0
    if kept.sum() > 1:
        assert stats.chisquare(seen[kept], column[kept] * len(reported) / column[kept].sum()).pvalue > FAILURE


def _hops(query: Any, j: int, k: int) -> int | Fraction:
    """How many neighbouring answers lead from one to the other: each allows the ratio exp(epsilon) once more."""
    if isinstance(query.neighbours, Metric):
        return abs(query.answers[j] - query.answers[k]) / query.neighbours.unit
    if isinstance(query.neighbours, AllPairs):
        return int(j != k)
    reach = query.neighbours.steps * query.answers.unit
    return math.ceil(abs(query.answers[j] - query.answers[k]) / reach)


# --- brute force: the documented meaning of every statistic, in plain Python over lists of records ---------------


def brute_force(
    content: dict[str, Any], rows: list[dict[str, Any]], keys: list[Any] | None = None
) -> list[list[Fraction]]:
    groups = content["groups"]
    by, keys = groups["by"], groups["keys"] if keys is None else keys
    public = "size" in groups
    limits = groups["size"] if public else groups["max_size"]
    sizes = limits if isinstance(limits, list) else [limits] * len(keys)
    found = []
    for statistic in content["statistics"]:
        cells: dict[Any, list[Fraction]] = {}
        for key, size in zip(keys, sizes, strict=True):
            parts = key if isinstance(key, list) else [key]
            mine = [r for r in rows if all(r.get(b) == p for b, p in zip(by, parts, strict=True))]
            for cell, value in _answers(content, statistic, mine, size, public).items():
                cells.setdefault(cell, []).append(Fraction(value))
        found += cells.values()
    return found


def _answers(content, statistic, mine, size, public):
    if "count" in statistic:
        return {"": min(size, sum(CONDITIONS[statistic["count"]](record) is True for record in mine))}
    if "percentage" in statistic:
        met = sum(CONDITIONS[statistic["percentage"]](record) is True for record in mine)
        if public:
            return {"": Fraction(100 * min(size, met), size)}
        return {"with": min(size, met), "without": min(size, len(mine) - met)}
    (kind,) = [k for k in ("histogram", "sum", "mean", "min", "max", "median") if k in statistic]
    column = content["columns"][statistic[kind]]
    name = statistic[kind]
    if kind == "histogram":
        labels = [_label(record.get(name), column) for record in mine]
        if statistic.get("sum_to_size"):
            labels += [column["other"]] * (size - len(labels))
        return {label: min(size, labels.count(label)) for label in column["labels"]}
    values = [_value(record.get(name), column) for record in mine]
    low, high = Fraction(column["low"]), Fraction(column["high"])
    missing = Fraction(column.get("missing", column["low"]))
    if kind in ("sum", "mean") and public:
        total = sum(values) + (size - len(values)) * missing
        total = max(size * low, min(size * high, total))
        return {"": total if kind == "sum" else total / size}
    if kind == "sum":
        return {"": max(min(0, size * low), min(max(0, size * high), sum(values, Fraction(0))))}
    if kind == "mean":
        most = size * (high - low)
        return {"U": min(most, sum(v - low for v in values)), "V": min(most, sum(high - v for v in values))}
    if public:
        values += [missing] * (size - len(values))
    if not values:
        return {"": missing}
    at = {"min": Fraction(0), "median": Fraction(1, 2), "max": Fraction(1)}[kind]
    return {"": sorted(values)[max(1, math.ceil(at * (size if public else len(values)))) - 1]}


def _label(value, column):
    return value if value in column["labels"] else column.get("other")


def _value(value, column):
    low, high = Fraction(column["low"]), Fraction(column["high"])
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Fraction(column.get("missing", column["low"]))
    step = Fraction(column.get("step", 1))
    inside = max(low, min(high, Fraction(value)))
    return low + step * math.floor((inside - low) / step + Fraction(1, 2))


CONDITIONS = {
    "true": lambda r: True,
    "c = 'p'": lambda r: r.get("c") == "p",
    "not c = 'p'": lambda r: r.get("c") is not None and r.get("c") != "p",
    "c in ('p', 'q') and n >= 2": lambda r: r.get("c") in ("p", "q") and r.get("n") is not None and r["n"] >= 2,
    "n between 1 and 3 or b": lambda r: (r.get("n") is not None and 1 <= r["n"] <= 3) or r.get("b") is True,
    "x is null": lambda r: r.get("x") is None or not math.isfinite(r["x"]),
    "n != 2": lambda r: r.get("n") is not None and r["n"] != 2,
}


@pytest.fixture(scope="session")
def brute() -> Any:
    """The answers of a statistic about one group's records, by plain Python."""
    return _answers


@pytest.fixture(scope="session")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Checks:
    return Checks(tmp_path_factory.mktemp("designs"))

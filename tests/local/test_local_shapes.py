"""Random queries around the randomizer: whatever is asked before and after, each person has one draw of their own.

Every round puts a table together at random, randomizes it, and asks for the reports at random. What is checked, and
with what error, is said in test_local_draws.py. `pytest -s` prints which shapes were covered, and how often.
"""

import io
import os
import random
from collections import Counter, defaultdict

import pytest

from inbounds import local
from local.test_local_draws import KINDS, ROWS, SETS, assert_own_draws, hive, places, polars_constants, randomize

pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

ROUNDS = 30 * int(os.environ.get("MORE", "1"))
__all__ = ["hive"]


def check(rows: list[tuple[int, tuple]], outputs: int) -> None:
    """rows: a person and a report of theirs. One report for each person, drawn apart from all others."""
    reports = defaultdict(set)
    for person, report in rows:
        reports[person].add(report)
    assert all(len(each) == 1 for each in reports.values())
    assert_own_draws([report for each in reports.values() for report in each], outputs)


class Covered:
    """Which choices were made; each is taken in turn from a shuffled list, so that none is left out."""

    def __init__(self, seed: int) -> None:
        self.random, self.counts, self.waiting = random.Random(seed), Counter(), defaultdict(list)

    def choose(self, what: str, choices):
        if not self.waiting[what]:
            self.waiting[what] = self.random.sample(sorted(choices), len(choices))
        chosen = self.waiting[what].pop()
        self.counts[what, chosen] += 1
        return chosen

    def all_of(self, what: str, choices) -> bool:
        return {chosen for kind, chosen in self.counts if kind == what} == set(choices)

    def __str__(self) -> str:
        return "\n".join(f"{what:10} {chosen:45} {times}" for (what, chosen), times in sorted(self.counts.items()))


# --- Polars -------------------------------------------------------------------------------------------------

BEFORE = {
    "nothing": lambda t: t,
    "a filter": lambda t: t.filter(pl.col("row") % 2 == 0),
    "a sort": lambda t: t.sort("row", descending=True),
    "a head": lambda t: t.head(2000),
    "a slice": lambda t: t.slice(1000, 2000),
    "a sort and a slice": lambda t: t.sort("row").slice(500, 1500),
    "a unique": lambda t: t.unique(subset="row"),
    "a sample by reversal": lambda t: t.reverse(),
    "a gather": lambda t: t.gather_every(2),
    "a window": lambda t: t.with_columns(size=pl.len().over(pl.col("row") % 10)),
}
"""On lazy and eager frames alike."""


def split_and_joined(t):
    return pl.concat([t.filter(pl.col("row") % 2 == k) for k in (0, 1)])


def joined_with_itself(t):
    columns = [name for name in t.lazy().collect_schema().names() if name != "row"]
    both = t.join(t, on="row", suffix="'")
    again = (pl.col(f"{name}'").alias(name) for name in columns)
    return pl.concat([both.select("row", *columns), both.select("row", *again)])


def grouped(t):
    return t.group_by((pl.col("row") % 10).alias("group")).agg(pl.all()).explode(pl.exclude("group"))


AFTER = {
    "nothing": lambda t: t,
    "a filter on people": lambda t: t.filter(pl.col("row") % 3 > 0),
    "a filter on reports": lambda t: t.filter(pl.col("x") % 2 == 0),
    "two filters on reports": lambda t: t.filter(pl.col("x") % 2 == 0).filter(pl.col("x") % 2 < 1),
    "a sort by reports": lambda t: t.sort("x"),
    "a slice": lambda t: t.slice(10, 1200),
    "a head": lambda t: t.head(1200),
    "a tail": lambda t: t.tail(1200),
    "a join with itself": joined_with_itself,
    "a stack on itself": lambda t: pl.concat([t, t.filter(pl.col("x") >= 0), t]),
    "halves": split_and_joined,
    "the same expression twice": lambda t: t.with_columns(twice=pl.col("x") + 0).with_columns(x=pl.col("twice")),
    "two equal columns": lambda t: t.with_columns(a=pl.col("x") * 1, b=pl.col("x") * 1).filter(
        pl.col("a") == pl.col("b")
    ),
    "groups": grouped,
    "a window": lambda t: t.with_columns(pl.col("x").first().over("row").alias("first")).filter(
        pl.col("first") == pl.col("x")
    ),
    "a cross join": lambda t: t.join(type(t)({"k": [0, 1, 2]}), how="cross"),
    "a cached plan": lambda t: pl.concat([t.lazy().cache(), t.lazy()]),
    "a plan that was written down": lambda t: pl.LazyFrame.deserialize(io.BytesIO(t.lazy().serialize())),
}


def collected(table, engine: str):
    if isinstance(table, pl.DataFrame):
        return table
    if engine == "all at once":
        one, other = pl.collect_all([table, table])
        return pl.concat([one, other])
    if engine == "batches":
        return pl.concat(table.collect_batches())
    return table.collect(engine=engine)


@pytest.mark.long
def test_random_queries_of_polars(hive):
    covered = Covered(seed=1)
    engines = ["in-memory", "streaming", "all at once", "batches"]
    constants = {kind: polars_constants(columns, hive) for kind, columns in KINDS.items()}
    for _ in range(ROUNDS):
        kind, engine = covered.choose("randomized", KINDS), covered.choose("engine", engines)
        source, before = covered.choose("source", constants[kind]), covered.choose("before", BEFORE)
        after = covered.choose("after", AFTER)
        private = randomize(kind, BEFORE[before](constants[kind][source]))
        found = collected(AFTER[after](private), engine)
        reported = ["y", "x"] if kind == "coordinates" else ["x"]
        rows = [(row, tuple(report)) for row, *report in found.select("row", *reported).rows()]
        assert len(rows) >= 500
        outputs = 1600 if kind == "coordinates" else 4095
        check(rows, outputs // 2 if "on reports" in after else outputs)
    for what, choices in (("source", constants["column"]), ("before", BEFORE), ("after", AFTER), ("engine", engines)):
        assert covered.all_of(what, choices)
    print(f"\nPolars, {ROUNDS} queries\n{covered}")  # noqa: T201


# --- DuckDB -------------------------------------------------------------------------------------------------

PEOPLE = {
    "a table": "people",
    "literals": f"(select range as row, 3 as x, 3 as y from range({ROWS}))",
    "a cross join": "(select row, v as x, v as y from people, (values (3)) as one(v))",
    "a cross join from the other side": "(select row, v as x, v as y from (select 3 as v) cross join people)",
    "a subquery": "(select row, (select 3) as x, (select max(x) from people) as y from people)",
    "a join on a code": "(select row, v as x, v as y from people join (values (3, 3)) as c(x, v) using (x))",
    "a window": "(select row, max(x) over () as x, first_value(y) over (order by row) as y from people)",
    "an unnested list": f"(select unnest(range({ROWS})) as row, 3 as x, 3 as y)",
    "a view": "plain",
    "a filter": "(select * from people where row % 4 > 0)",
    "a sort and a limit": "(select * from people order by row desc limit 3000)",
}

SHAPES = {
    "plain": "select row, {f} as r from {people}",
    "the same expression twice": "select row, unnest([{f}, {f}]) as r from {people}",
    "a view read twice": "select row, unnest([a.r, b.r]) as r from reports as a join reports as b using (row)",
    "a view and the function": "select row, unnest([v.r, {f}]) as r from {people} as p join reports as v using (row)",
    "a repeated expression": "with c as not materialized (select row, {f} as r from {people}) "
    "select row, unnest([a.r, b.r]) as r from c as a join c as b using (row)",
    "a kept expression": "with c as materialized (select row, {f} as r from {people}) "
    "select row, unnest([a.r, b.r]) as r from c as a join c as b using (row)",
    "a filter on reports": "select row, r from (select row, {f} as r from {people}) where {even}",
    "a filter on the function": "select row, {f} as r from {people} where {even_f}",
    "having": "select row, min({f}) as r from {people} group by row having row % 3 > 0",
    "groups by report": "select unnest(list(row)) as row, {f} as r from {people} group by {f}",
    "a sort by report": "select row, {f} as r from {people} order by {f}, r",
    "a limit": "select row, {f} as r from {people} limit 2000",
    "a union": "select row, {f} as r from {people} union all select row, {f} as r from {people}",
    "a distinct": "select distinct row, {f} as r from {people}",
    "a window": "select row, first({f}) over (partition by row) as r from {people}",
    "a lateral join": "select row, t.r from {people} as p, lateral (select {f} as r) as t",
    "a correlated subquery": "select row, (select {f}) as r from {people} as p",
    "a cross join": "select row, {f} as r from {people}, range(3)",
    "a case": "select row, case when {f} is null then null else {f} end as r from {people}",
    "a list": "select row, unnest(list_transform([1, 2], lambda k: {f})) as r from {people}",
}


@pytest.mark.long
def test_random_queries_of_duckdb():
    covered = Covered(seed=2)
    for _ in range(ROUNDS):
        connection = duckdb.connect()
        threads = covered.choose("threads", ["1", "4"])
        connection.execute(f"set threads = {threads}")
        connection.execute(f"create table people as select range as row, 3 as x, 3 as y from range({ROWS})")
        connection.execute("create view plain as select * from people")
        kind, value = covered.choose("randomized", ["column", "coordinates"]), covered.choose("value", ["3", "x"])
        people, shape = covered.choose("people", PEOPLE), covered.choose("shape", SHAPES)
        if kind == "column":
            local.register(connection, "private", SETS)
            f, even = f"private(row, {value})", "{} % 2 = 0"
        else:
            local.register(connection, "private", places(), by_coordinates=True)
            f, even = f"private(row, {value}, {value.replace('x', 'y')})", "split_part({}, ',', 1)::int % 2 = 0"
        connection.execute(f"create view reports as select row, {f} as r from {PEOPLE[people]}")
        query = SHAPES[shape].format(f=f, people=PEOPLE[people], even=even.format("r"), even_f=even.format(f))
        rows = [(row, (report,)) for row, report in connection.execute(query).fetchall()]
        rows += [(row, (report,)) for row, report in connection.execute(query).fetchall()]
        assert len(rows) >= 2000
        outputs = 1600 if kind == "coordinates" else 4095
        check(rows, outputs // 2 if "filter on" in shape else outputs)
        connection.close()
    assert covered.all_of("people", PEOPLE)
    assert covered.all_of("shape", SHAPES)
    print(f"\nDuckDB, {ROUNDS} queries\n{covered}")  # noqa: T201


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_relations_of_duckdb(kind):
    """Everything that a relation can be, randomized outside the engine."""
    for people in PEOPLE.values():
        connection = duckdb.connect()
        connection.execute(f"create table people as select range as row, 3 as x, 3 as y from range({ROWS})")
        connection.execute("create view plain as select * from people")
        relation = connection.sql(f"select row, x, y, x as z from {people}")
        found = randomize(kind, relation).read_all().to_pydict()
        reported = ["y", "x"] if kind == "coordinates" else ["x"]
        rows = [*zip(found["row"], zip(*(found[name] for name in reported), strict=True), strict=True)]
        assert len(rows) >= 3000
        check(rows, 1600 if kind == "coordinates" else 4095)


def test_the_checks_find_people_who_share_a_draw_and_people_with_two():
    """What an engine would do that evaluates a constant once, in chunks, or a plan twice."""
    client = local.make_randomizer(SETS)
    apart = client([3] * ROWS).tolist()
    check([(k, (report,)) for k, report in enumerate(apart)], SETS.output_count)
    for shared in (ROWS, 1000, 10, 3):
        repeated = [(k, (apart[k // shared],)) for k in range(ROWS)]
        with pytest.raises(AssertionError):
            check(repeated, SETS.output_count)
    again = client([3] * ROWS).tolist()
    with pytest.raises(AssertionError):
        check([*enumerate(zip(apart)), *enumerate(zip(again))], SETS.output_count)

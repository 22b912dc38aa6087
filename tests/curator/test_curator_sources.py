"""Files are attached once: their canonical records stay in memory."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import pyarrow as pa
import pyarrow.parquet
import pytest

from curator.pupils import declared, write_pupils
from inbounds.curator import parse_question, parse_settings
from inbounds.curator.open_sources import Sources
from inbounds.curator.question import LONGEST_CONDITION
from inbounds.releases.pipeline import SourceError, open_plan_source
from inbounds.schema.condition.parser import DEEPEST
from inbounds.sources.open import Source


@pytest.fixture
def dataset(folder):
    write_pupils(folder / "pupils.parquet")
    return parse_settings(declared(folder), folder).datasets["pupils"]


def test_a_file_is_read_once_and_its_records_stay(dataset, folder):
    sources = Sources()
    found = positions(sources, dataset)
    write_pupils(folder / "pupils.parquet", likes=["no"] * 40)
    assert positions(sources, dataset) == found
    assert positions(Sources(), dataset) != found


def positions(sources, dataset):
    with closing(sources.open(dataset, dataset.check_plan())) as source:
        return [own.tolist() for own in source.aggregate().positions]


@pytest.mark.parametrize("kind", ["parquet", "csv", "sqlite"])
def test_more_records_than_declared_are_refused_when_the_dataset_is_attached(dataset, folder, kind):
    source = in_another_file(folder, kind)
    few, enough = (replace(dataset, source=source, max_rows=rows) for rows in (39, 40))
    Sources().attach(enough)
    with pytest.raises(SourceError):
        Sources().attach(few)


def in_another_file(folder, kind):
    import pandas

    pupils = pandas.read_parquet(folder / "pupils.parquet")
    if kind == "csv":
        pupils.to_csv(folder / "pupils.csv", index=False)
    if kind == "sqlite":
        with closing(sqlite3.connect(folder / "pupils.sqlite")) as file:
            pupils.to_sql("pupils", file, index=False)
    return Source(path=str(folder / f"pupils.{kind}"), table="pupils" if kind == "sqlite" else "")


def test_records_that_are_attached_stay_when_one_question_is_done(dataset):
    sources, plan = Sources(), dataset.check_plan()
    found = [sources.open(dataset, plan) for _ in range(2)]
    found[0].close()
    assert [own.tolist() for own in found[1].aggregate().positions] == [
        own.tolist() for own in open_plan_source(plan).aggregate().positions
    ]
    sources.close()


def nest(depth):
    """A condition nested so deep, no part of which can be left out."""
    deep = "age = 1"
    for k in range(depth):
        deep = f"({deep}) {('and', 'or')[k % 2]} age > {k}"
    return deep


def fill(parts, joined=" or "):
    """As many parts as a condition may have characters."""
    return joined.join(parts)[: LONGEST_CONDITION - 12].rpartition(joined)[0]


WIDEST = {
    "a comparison with every number": fill(f"age={k}" for k in range(1000)),
    "numbers that are spelled out": fill(f"age<{k}e37" for k in range(1000)),
    "signs and brackets": fill(("age<rank and rank<9", "age>rank and bold", "not bold and rank>age") * 100),
    "a list of numbers": "age in (" + fill((f"{k}.5" for k in range(1000)), ",") + ")",
    "a list of texts": "word in (" + fill((f"'{chr(65 + k)}'" for k in range(1000) if k != 39), ",") + ")",
    "different texts": fill(f"word!='{k}'" for k in range(1000)),
    "days": fill((f"seen<'2024-01-{k % 28 + 1:02}'" for k in range(1000)), " and "),
    "one long text": f"word = '{'é' * (LONGEST_CONDITION - 9)}'",
    "nested": nest(DEEPEST),
    "negations": "not " * DEEPEST + "age=1",
    "alternating": fill((f"(age>{k} and rank<{k} or bold)" for k in range(1000)), " and "),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["count", "mean", "histogram", pytest.param("any count", marks=pytest.mark.slow)])
def test_no_question_that_is_accepted_is_too_wide_for_records_that_are_attached(folder, kind):
    """There is no rehearsal of each question on attached records: the limits of a question must do."""
    words, people = ["a", "é", "2024-01-05", ""], 40
    table = {
        "age": range(people),
        "rank": range(people),
        "bold": [True, False] * 20,
        "word": words * 10,
        "seen": words * 10,
        "likes": words * 10,
    }
    pyarrow.parquet.write_table(pa.table({**table, "school": ["north", "south"] * 20}), folder / "wide.parquet")
    declaring = {
        "source": {"path": str(folder / "wide.parquet")},
        "groups": {"by": ["school"], "keys": ["north", "south"], "max_size": people},
        "columns": {
            "age": {"low": 0, "high": 50},
            "rank": {"type": "number"},
            "bold": {"type": "boolean"},
            "word": {"type": "text"},
            "seen": {"type": "text"},
            "likes": {"labels": ["a", "é", "other"], "other": "other"},
        },
    }
    dataset, sources = parse_settings(declared(folder, **declaring), folder).datasets["pupils"], Sources()
    pairs = zip(WIDEST.values(), [*WIDEST.values()][::-1], strict=True)
    if kind == "any count":
        kind, pairs = "count", combinations_with_replacement(WIDEST.values(), 2)
    for where, own in pairs:
        values = {kind: {"count": own, "mean": "age", "histogram": "likes"}[kind], "where": where, "by": ["school"]}
        plan = parse_question({**values, "epsilon": 1}, dataset).to_plan(dataset, Fraction(1))
        with closing(sources.open(dataset, plan)) as opened:
            opened.aggregate()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1])
def test_a_dataset_whose_rows_may_not_fit_is_refused_when_it_is_attached_whatever_it_holds(
    postgres_server, rows, folder
):
    import psycopg

    names = [f"c{k}" for k in range(254)]
    with psycopg.connect(postgres_server.url, autocommit=True) as server:
        server.execute("drop table if exists many")
        server.execute(f"create table many (g text, {', '.join(f'{name} text' for name in names)})")
        server.execute("insert into many (g) select 'a' from generate_series(1, %s)", [rows])

    def dataset(columns):
        declaring = {
            "source": {"url": str(postgres_server.url), "table": "many"},
            "groups": {"by": ["g"], "keys": ["a"], "max_size": 9},
            "columns": {name: {"type": "text"} for name in columns},
        }
        return parse_settings(declared(folder, **declaring), folder).datasets["pupils"]

    Sources().attach(dataset(names[:250]))
    with pytest.raises(SourceError) as caught:
        Sources().attach(dataset(names))
    assert caught.value.path == ("statistics",)

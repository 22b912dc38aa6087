"""Statements that are written once for a shape find what Ibis finds for every plan of it, by the same SQL."""

import math
from contextlib import closing
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from numpy.random import default_rng

from inbounds.tables import as_plan
from inbounds.tables import statements as written
from inbounds.tables.engine import open_source
from inbounds.tables.sources.source import quiet
from inbounds.tables.statements import OpenText, Statements

PEOPLE = 300
FLAGS, WORDS = [True, False, None], ["b", "c", None, "100000000000000", "7.0"]
NUMBERS = [
    "0",
    "1",
    "-1",
    "3",
    "7.5",
    "-0.25",
    "127",
    "128",
    "-129",
    "40000",
    "1e12",
    "1e-30",
    "1e30",
    "9007199254740993",
]


@pytest.fixture(scope="module")
def table():
    rng = default_rng(5)

    def picked(values):
        return [values[k] for k in rng.integers(0, len(values), PEOPLE)]

    return pa.table(
        {
            "town": picked(["here", "there", "elsewhere", None]),
            "year": pa.array(picked([1, 2, 3]), pa.int32()),
            "age": pa.array(picked([*range(10), None]), pa.int8()),
            "wide": pa.array(picked([0, 5, 2**63, 2**64 - 1, None]), pa.uint64()),
            "sum": pa.array(picked([0.5, -1.25, 7.5, math.nan, math.inf, 1e12, None]), pa.float64()),
            "price": pa.array(picked([Decimal("0.25"), Decimal("7.50"), None]), pa.decimal128(10, 2)),
            "letter": picked(["b", "c", "d", None]),
            "word": picked(WORDS),
            "day": picked([date(2024, 1, 31), date(2024, 2, 1), None]),
            "flag": picked(FLAGS),
            "who": [f"p{k}" for k in rng.integers(0, 60, PEOPLE)],
        }
    )


@pytest.fixture(params=["parquet", "csv"])
def file(request, table, tmp_path):
    path = tmp_path / f"people.{request.param}"
    write = pyarrow.parquet.write_table if request.param == "parquet" else pyarrow.csv.write_csv
    write(table, path)
    return path


def content(file, statistic, where="", **more):
    plan = {
        "source": {"path": str(file)},
        "groups": {"by": ["town", "year"], "keys": {"town": ["here", "there"], "year": ["1", "2"]}, "maximum": PEOPLE},
        "columns": {
            "age": {"low": 0, "high": 8},
            "wide": {"low": 0, "high": 10},
            "sum": {"low": -2, "high": 8, "step": "0.5"},
            "price": {"type": "number"},
            "letter": {"labels": ["b", "c"]},
            "word": {"type": "text"},
            "day": {"type": "text"},
            "flag": {"type": "boolean"},
        },
        "statistics": [statistic],
        "privacy": {"epsilon": 1},
        **more,
    }
    return plan | ({"where": where} if where else {})


def condition(rng, depth=0):
    """One of the language's, about all kinds of columns and constants."""

    def one(values):
        return values[rng.integers(len(values))]

    kind = rng.integers(8 if depth < 3 else 6)
    number, sign = one(NUMBERS), one(["=", "!=", "<", "<=", ">", ">="])
    name = one(["age", "wide", "sum", "price"])
    if kind >= 6:
        parts = [f"({condition(rng, depth + 1)})" for _ in range(rng.integers(2, 4))]
        return one([" and ", " or "]).join(parts)
    return [
        f"{name} {sign} {number}",
        f"{number} {sign} {name}",
        f"{name} in ({', '.join(dict.fromkeys(one(NUMBERS) for _ in range(3)))})",
        f"not ({name} {sign} {number}) or {name} is null",
        one(
            [
                "letter = 'b'",
                "word = 'b'",
                "word in ('c', '7')",
                "word != '100000000000000'",
                "day >= '2024-02-01'",
                "flag",
            ]
        ),
        f"{number} < {one(NUMBERS)} and price > {number}",
    ][kind]


def statistic(rng):
    return [
        {"count": condition(rng)},
        {"sum": "age"},
        {"mean": "sum"},
        {"histogram": "letter"},
        {"quantile": {"of": "age", "at": "0.5"}},
    ][rng.integers(5)]


def found(plan, statements=None):
    """Positions, as plain lists."""
    with closing(open_source(plan, statements)) as opened:
        rows = opened.aggregate().positions
    return [row.tolist() if isinstance(row, np.ndarray) else row.rows.toarray().tolist() for row in rows]


@pytest.mark.parametrize("persons", [{}, {"people": {"id": "who", "max_records": 2, "max_groups": 2}}])
@pytest.mark.parametrize("count", [6, pytest.param(300, marks=pytest.mark.slow)])
def test_many_random_questions_find_the_same_as_through_ibis(file, persons, count):
    rng, statements = default_rng(7), None
    for _ in range(count):
        where = condition(rng) if rng.integers(2) else ""
        plan = as_plan(content(file, statistic(rng), where, **persons))
        statements = statements or Statements(open_source(plan).table)
        assert found(plan, statements) == found(plan)
    statements.table.get_backend().disconnect()


def test_the_sql_of_a_shape_is_that_of_each_of_its_plans_to_the_letter(file):
    """What is filled in is what Ibis writes: numbers of every size and sign, in one shape or another."""
    plan = as_plan(content(file, {"count": "true"}))
    statements = Statements(open_source(plan).table)
    for first in NUMBERS:
        for second in NUMBERS[::5]:
            asked = f"age > {first} and sum in ({second}, 11.5) and not {first} = price"
            plan = as_plan(content(file, {"count": asked}))
            assert filled(statements, plan) == direct(statements, plan)
    assert len(statements._written) == 8


def filled(statements, plan):
    shape = written._shape(plan)
    if shape not in statements._written:
        with closing(open_source(plan, statements)) as opened, quiet():
            opened._raw()
    text, _ = statements._written[shape].found["measures"]
    return text.filled([written._digits(value) for value in written.numbers_of(plan)])


def direct(statements, plan):
    from inbounds.tables import engine

    with quiet():
        kept = engine._aggregated_first(plan, statements.table, lambda declared: statements.keys(plan, declared))
        return str(statements.table.get_backend().compile(kept["measures"]))


def test_questions_that_differ_in_numbers_alone_are_written_once(file):
    plans = [as_plan(content(file, {"count": f"age > {k} and sum < {k}.5"})) for k in range(5)]
    statements = Statements(open_source(plans[0]).table)
    for plan in plans:
        found(plan, statements)
    assert len(statements._written) == 1
    found(as_plan(content(file, {"count": "age > -1 and sum < 1.5"})), statements)
    found(as_plan(content(file, {"count": "age > 1 and sum < 2"})), statements)
    assert len(statements._written) == 3


def test_no_more_shapes_are_kept_than_are_allowed(file, monkeypatch):
    monkeypatch.setattr(written, "MOST_SHAPES", 2)
    statements = None
    for word in ("b", "c", "7", "8", "9"):
        plan = as_plan(content(file, {"count": f"word = '{word}' and age > 1"}))
        statements = statements or Statements(open_source(plan).table)
        assert found(plan, statements) == found(plan)
        assert len(statements._written) <= 2


def test_nobody_can_guess_what_stands_for_a_number_while_a_shape_is_written():
    marks = [mark for _ in range(2) for mark in written._marks([Fraction(3), Fraction(-3), Fraction(1, 2)] * 50)]
    assert len({abs(mark) for mark in marks}) == 300
    assert [mark > 0 for mark in marks[:3]] == [True, False, True]
    assert [mark.denominator for mark in marks[:3]] == [1, 1, 2]


@pytest.mark.parametrize("text", ["100000000000001", "x100000000000001y"])
def test_where_a_text_holds_what_stands_for_a_number_nothing_is_kept_and_the_answer_is_right(file, monkeypatch, text):
    monkeypatch.setattr(written, "_marks", lambda numbers: [Fraction(10**14 + 1 + k) for k in range(len(numbers))])
    plans = [as_plan(content(file, {"count": f"(word != '{text}' or flag) and age > {k}"})) for k in (1, 4)]
    statements = Statements(open_source(plans[0]).table)
    for plan in plans:
        assert found(plan, statements) == found(plan)
    assert not statements._written


def test_what_does_not_give_the_sql_of_its_own_plan_is_not_kept(file, monkeypatch):
    """A number that was not found, or was found at another place too, would be asked of everybody who comes later."""
    plans = [as_plan(content(file, {"count": f"age > {k} and sum < {k}.5"})) for k in range(3)]
    statements = Statements(open_source(plans[0]).table)
    right = OpenText.of
    for parts in ([("the whole",), ()], [("select ", ""), (0,)]):

        def wrong(sql, marks, parts=parts):
            return OpenText(*parts) if marks else right(sql, marks)

        monkeypatch.setattr(OpenText, "of", wrong)
        for plan in plans:
            assert found(plan, statements) == found(plan)
        assert not statements._written


def test_tables_of_keys_are_dropped_with_the_sql_that_names_them(file, monkeypatch):
    monkeypatch.setattr(written, "MOST_SHAPES", 2)
    statements = None
    for k in range(5):
        groups = {"by": ["town"], "keys": ["here", f"town {k}"], "maximum": PEOPLE}
        plan = as_plan(content(file, {"count": "age > 1"}) | {"groups": groups})
        statements = statements or Statements(open_source(plan).table)
        assert found(plan, statements) == found(plan)
        run = statements.table.get_backend().con.execute
        tables = run("select count(*) from duckdb_tables() where table_name like 'inbounds_keys_%'").fetchall()
        assert tables == [(len(statements._keys),)]
        assert len(statements._keys) <= 2


def test_an_open_text_is_filled_in_the_order_of_its_places():
    text = OpenText.of("a < 22 and b > 11 and a < 22", ["11", "22"])
    assert text.filled(["5", "7.5"]) == "a < 7.5 and b > 5 and a < 7.5"
    assert OpenText.of("true", []).filled([]) == "true"

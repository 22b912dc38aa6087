"""Which records of a person count: a function of that person's records, which prefers no value."""

import duckdb
import ibis
import numpy as np
import pytest

from inbounds.schema.errors import SourceError
from inbounds.sources.contributions import bound_contributions, check_person
from inbounds.sources.engines import MOST, DuckDB
from raising import raises_at


@pytest.fixture
def engine():
    with duckdb.connect() as connection:
        yield DuckDB(connection)


def counted(engine, records, most_records=1, most_groups=0):
    """What is kept of records of persons, groups and numbers: its groups and numbers."""
    persons, groups, numbers = zip(*records, strict=True)
    engine.load("own", {"person": [f"{one:04X}" for one in persons], "group_": groups, "v0": numbers})
    return engine.fetch(bound_contributions(engine, "own", ["v0"], most_records, most_groups))


def test_no_value_and_no_group_is_preferred(engine):
    persons = 400
    _, kept = counted(engine, [(person, 0, value) for person in range(persons) for value in (0, 1)])
    assert len(kept) == persons
    assert persons / 4 < kept.sum() < persons * 3 / 4
    groups, _ = counted(engine, [(person, group, 1) for person in range(persons) for group in (0, 1)], 1, 1)
    assert len(groups) == persons
    assert persons / 4 < groups.sum() < persons * 3 / 4


def test_what_counts_of_a_person_does_not_depend_on_others_or_on_the_order(engine):
    own = [(1, group, value) for group in range(5) for value in (3, 3, 8, 9)]
    others = [(person, group, person % 7) for person in range(2, 60) for group in range(5)]
    alone = sorted(map(tuple, np.transpose(counted(engine, own, 2, 3)).tolist()))
    assert len(alone) == 6
    without = sorted(map(tuple, np.transpose(counted(engine, others, 2, 3)).tolist()))
    for together in (own + others, (others + own)[::-1]):
        assert sorted(map(tuple, np.transpose(counted(engine, together, 2, 3)).tolist())) == sorted(alone + without)


@pytest.mark.parametrize(
    ("kind", "identifies"),
    [
        ("string", True),
        ("int64", True),
        ("uuid", True),
        ("float64", False),
        ("decimal(9, 2)", False),
        ("boolean", False),
        ("date", False),
    ],
)
def test_texts_whole_numbers_and_uuids_identify_persons(kind, identifies):
    if identifies:
        check_person("id", ibis.dtype(kind))
    else:
        with raises_at(SourceError, ("people", "id")):
            check_person("id", ibis.dtype(kind))


def test_a_sum_is_cut_off_before_it_leaves_64_bits(engine):
    engine.load("own", {"v0": [MOST, MOST, MOST, 5]})
    ((whole,),) = engine.fetch(f"SELECT {engine.sum('v0')} FROM own")
    assert whole == MOST
    ((small,),) = engine.fetch(f"SELECT {engine.sum('v0')} FROM own WHERE v0 < 9")
    assert small == 5

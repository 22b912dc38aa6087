"""Persons with several records: which of them count, decided by that person's own records alone.

At most r records of a person in each of at most c groups. Every record is already a group and one whole number per
statistic, so nothing else of it matters, and equal ones are interchangeable.

    1. equal records of a person are numbered 1, 2, … in any order: the numbered ones are the same set
    2. of a person's groups the c first count, in the order of sha256(person, group), then of the groups
    3. of a person's records in a group the r first, in the order of sha256(person, group, numbers, copy), then of them

Formal guarantee: the records that are kept of a person are a function of that person's records, whatever others hold
and however the table is stored. So with a person added or removed, all others keep what they had, and at most r·c
records come or go, at most r in one group. For all that matters the choice is random: no value and no group is
preferred.

An id is compared byte by byte; a record without one, or with an empty one, counts for nobody and is left out. So does
one whose id only looks like another's once it is read: a text of a frame that is no UTF-8, an object that is no text,
whole number or UUID, a cell of SQLite that is neither text nor a whole number, such as one beyond 64 bits.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from inbounds.tables.errors import SourceError
from inbounds.tables.sources.typed import hashed, in_digits, plain

PERSON = "person_"
GROUP = "group_"
COPY = "copy_"

ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
"""Engines, by their names in Ibis, that choose a person's records."""

WHERE = ("people", "id")


def check_person(name: str, kind: Any, engine: str) -> None:
    """A `SourceError` unless the column can name persons and the engine can choose among their records."""
    if not (kind.is_string() or kind.is_integer() or kind.is_uuid()):
        said = f"must be a column of texts, whole numbers or UUIDs, but {name!r} is {kind}"
        raise SourceError(said + ('; convert it with .astype("Int64")' if kind.is_floating() else ""), WHERE)
    if engine not in ENGINES:
        raise SourceError(f"needs DuckDB, PostgreSQL, SQLite or Spark to choose records, got {engine}", WHERE)


def person(column: Any) -> Any:
    """An id as the digits of its bytes; missing where it is empty."""
    texts = plain(column) if column.type().is_string() else column.cast("string")
    named = texts.notnull() & (texts != "")
    if column.get_backend().name == "sqlite":  # a cell there has a type of its own
        named &= column.typeof().isin(["integer", "text"])
    return named.ifelse(in_digits(texts), None)


def bounded(records: Any, numbers: Sequence[str], most_records: int, most_groups: int) -> Any:
    """The records that count: person, group and one whole number per statistic, as the module says.

    most_groups: 0 where the groups of a person need not be counted.
    """
    import ibis

    same = ibis.row_number().over(group_by=[PERSON, GROUP, *numbers], order_by=GROUP)
    own = records.filter(records[PERSON].notnull()).mutate(**{COPY: same})
    place = _hash(own, [PERSON, GROUP, *numbers, COPY])
    in_group = ibis.row_number().over(group_by=[PERSON, GROUP], order_by=[place, *numbers, COPY])
    own = own.mutate(record_=in_group)
    kept = own.filter(own.record_ < most_records)
    if most_groups:
        order = [_hash(kept, [PERSON, GROUP]), GROUP]
        ranked = kept.mutate(rank_=ibis.dense_rank().over(group_by=PERSON, order_by=order))
        kept = ranked.filter(ranked.rank_ < most_groups)
    return kept.select(GROUP, *numbers)


def _hash(table: Any, names: Sequence[str]) -> Any:
    first, *rest = (table[name].cast("string") for name in names)
    text = first
    for part in rest:
        text = text + "|" + part
    return hashed(text)


def prepare(engine: Any) -> None:
    """Teach SQLite, which has no such function, to hash."""
    if engine.name == "sqlite":
        engine.con.create_function("inbounds_sha256", 1, _sha256, deterministic=True)


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()

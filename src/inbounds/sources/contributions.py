"""Persons with several records: which of them count, decided by that person's own records alone.

At most r records of a person in each of at most c groups. Every record is already a group and one whole number per
statistic, so nothing else of it matters, and equal ones are interchangeable.

    1. equal records of a person are numbered 0, 1, … in any order: the numbered ones are the same set
    2. of a person's groups the c first count, in the order of sha256(person, group), then of the groups
    3. of a person's records in a group the r first, in the order of sha256(person, group, numbers, copy), then of them

Formal guarantee: the records that are kept of a person are a function of that person's records, whatever others hold
and however the table is stored. So with a person added or removed, all others keep what they had, and at most r·c
records come or go, at most r in one group. For all that matters the choice is random: no value and no group is
preferred.

An id is compared byte by byte; a record without one, or with an empty one, counts for nobody and is in no group. So
does one whose id only looks like another's once it is read: a text of a frame that is no UTF-8, an object that is no
text, whole number or UUID, a cell of SQLite that is not of its column's type, such as a number beyond 64 bits; and one
of more than `LONGEST_TEXT` characters.
"""

from collections.abc import Sequence
from typing import Any

from inbounds.schema.errors import SourceError
from inbounds.sources.engines import Engine
from inbounds.sources.records import PERSON

GROUP = "group_"

NOWHERE = -1
"""The group of records that count for no declared group."""

WHERE = ("people", "id")


def check_person(name: str, kind: Any) -> None:
    """A `SourceError` unless the column can name persons."""
    if not (kind.is_string() or kind.is_integer() or kind.is_uuid()):
        said = f"must be a column of texts, whole numbers or UUIDs, but {name!r} is {kind}"
        raise SourceError(said + ('; convert it with .astype("Int64")' if kind.is_floating() else ""), WHERE)


def bound_contributions(engine: Engine, table: str, numbers: Sequence[str], most_records: int, most_groups: int) -> str:
    """The records that count, as SQL: group and one whole number per statistic, as the module says.

    most_groups: 0 where the groups of a person need not be counted. Records that count nowhere are kept in any number;
    they come last among a person's groups.
    """
    own = ", ".join(numbers)
    each, group = f"{PERSON}, {GROUP}, {own}", f"{PERSON}, {GROUP}"
    copies = f"SELECT {each}, ROW_NUMBER() OVER (PARTITION BY {each} ORDER BY {GROUP}) - 1 AS copy_ FROM {table}"
    place = _hash(engine, [PERSON, GROUP, *numbers, "copy_"])
    ranked = (
        f"SELECT {each}, ROW_NUMBER() OVER (PARTITION BY {group} ORDER BY {place}, {own}, copy_) AS record_ "
        f"FROM ({copies}) AS copies"
    )
    kept = f"SELECT {each} FROM ({ranked}) AS ranked WHERE record_ <= {most_records} OR {GROUP} = {NOWHERE}"
    if not most_groups:
        return f"SELECT {GROUP}, {own} FROM ({kept}) AS kept"
    order = f"CASE WHEN {GROUP} = {NOWHERE} THEN 1 ELSE 0 END, {_hash(engine, [PERSON, GROUP])}, {GROUP}"
    placed = f"SELECT {each}, DENSE_RANK() OVER (PARTITION BY {PERSON} ORDER BY {order}) AS rank_ FROM ({kept}) AS kept"
    return f"SELECT {GROUP}, {own} FROM ({placed}) AS placed WHERE rank_ <= {most_groups} OR {GROUP} = {NOWHERE}"


def _hash(engine: Engine, names: Sequence[str]) -> str:
    return engine.sha256(_join_texts([f"CAST({name} AS {engine.text})" for name in names]))


def _join_texts(texts: Sequence[str]) -> str:
    """Join texts by |, as a balanced tree: DuckDB refuses expressions that are nested 1,000 deep."""
    if len(texts) == 1:
        return texts[0]
    half = len(texts) // 2
    return f"({_join_texts(texts[:half])} || '|' || {_join_texts(texts[half:])})"

"""Contribution bounding: choose which records of a person count, from that person's records alone.

At most r records of a person count in each of at most c groups. A record here is a group and one whole number per
statistic, so equal records of a person are interchangeable.

    1. equal records of a person are numbered 0, 1, … in any order, which gives the same set whatever the order
    2. of a person's groups the first c count, ordered by sha256(person, group), then by group
    3. of a person's records in a group the first r count, ordered by sha256(person, group, numbers, copy), then by them

Formal guarantee: the records that count for a person are a function of that person's records. They do not depend on
other records or on how the table is stored. So if a person is added or removed, the records of all others stay, and
at most r·c records are added or removed, at most r in one group. The choice is pseudo-random: it prefers no value and
no group.

Ids are compared byte by byte. A record without an id, or with an empty one, is in no group. The same holds for an id
that could be confused with another after it is read: a text that is not UTF-8 in a frame, an object that is no text,
whole number or UUID, a cell of SQLite that is not of its column's type, such as a number beyond 64 bits, and a text of
more than `LONGEST_TEXT` characters.
"""

from collections.abc import Sequence
from typing import Any

from inbounds.schema.errors import SourceError
from inbounds.sources.engines import Engine
from inbounds.sources.records import PERSON

GROUP = "group_"

NOWHERE = -1
"""The group number of records that are in no declared group."""

NO_KEY = "''"
"""SQL of the group of records in no group, where groups are named by their keys and not numbered."""

WHERE = ("people", "id")


def check_person(name: str, kind: Any) -> None:
    """Raise SourceError unless the column can identify persons."""
    if not (kind.is_string() or kind.is_integer() or kind.is_uuid()):
        message = f"must be a column of texts, whole numbers or UUIDs, but {name!r} is {kind}"
        raise SourceError(message + ('; convert it with .astype("Int64")' if kind.is_floating() else ""), WHERE)


def bound_contributions(
    engine: Engine,
    table: str,
    numbers: Sequence[str],
    most_records: int,
    most_groups: int,
    once: Sequence[str] = (),
    nowhere: str = str(NOWHERE),
) -> str:
    """Write SQL that selects the records that count, as a group and one whole number per statistic.

    most_records: records of a person that count in one group. most_groups: groups of a person that count, or 0 if they
    need not be limited. once: numbers, 0 or 1, that are left in one record of each person and group only. Records
    outside all groups are kept in any number; they come last among a person's groups. nowhere: SQL of their group.
    """
    columns = ", ".join(numbers)
    counted = ", ".join(_leave_once(name) if name in once else name for name in numbers)
    record, group = f"{PERSON}, {GROUP}, {columns}", f"{PERSON}, {GROUP}"
    copies = f"SELECT {record}, ROW_NUMBER() OVER (PARTITION BY {record} ORDER BY {GROUP}) - 1 AS copy_ FROM {table}"
    order_hash = _hash(engine, [PERSON, GROUP, *numbers, "copy_"])
    ranked = (
        f"SELECT {record}, ROW_NUMBER() OVER (PARTITION BY {group} ORDER BY {order_hash}, {columns}, copy_) AS record_ "
        f"FROM ({copies}) AS copies"
    )
    bounded = f"SELECT {record} FROM ({ranked}) AS ranked WHERE record_ <= {most_records} OR {GROUP} = {nowhere}"
    if not most_groups:
        return f"SELECT {GROUP}, {counted} FROM ({bounded}) AS kept"
    order = f"CASE WHEN {GROUP} = {nowhere} THEN 1 ELSE 0 END, {_hash(engine, [PERSON, GROUP])}, {GROUP}"
    grouped = (
        f"SELECT {record}, DENSE_RANK() OVER (PARTITION BY {PERSON} ORDER BY {order}) AS rank_ FROM ({bounded}) AS kept"
    )
    return f"SELECT {GROUP}, {counted} FROM ({grouped}) AS placed WHERE rank_ <= {most_groups} OR {GROUP} = {nowhere}"


def _leave_once(number: str) -> str:
    """Write SQL for a number, 0 or 1, that is 1 in one record of a person and group if it is in any."""
    first = f"ROW_NUMBER() OVER (PARTITION BY {PERSON}, {GROUP} ORDER BY {number} DESC) = 1"
    return f"CASE WHEN {first} AND {number} = 1 THEN 1 ELSE 0 END AS {number}"


def _hash(engine: Engine, names: Sequence[str]) -> str:
    """Write SQL for the SHA-256 of these columns."""
    return engine.sha256(_join_texts([f"CAST({name} AS {engine.text})" for name in names]))


def _join_texts(texts: Sequence[str]) -> str:
    """Join texts by |, as a balanced tree: DuckDB refuses expressions that are nested 1,000 deep."""
    if len(texts) == 1:
        return texts[0]
    half = len(texts) // 2
    return f"({_join_texts(texts[:half])} || '|' || {_join_texts(texts[half:])})"

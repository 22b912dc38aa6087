"""Statements of a source that stays open, written once for all questions of one shape.

To write an aggregation in the engine's SQL takes many times longer than to run it on a small table. Plans that differ
in the numbers of their conditions alone have the same statements but for those numbers:

    shape of a plan → its SQL with numbers of our own choosing → texts between them → the SQL of any plan of the shape

The numbers go in as the engine's own digits, which is what Ibis writes for them; texts, names and keys are part of the
shape. What is kept must give the SQL of the plan that it was written for, letter by letter; if not, as for a text that
holds one of our numbers, nothing is kept and that plan's own SQL is run. Nothing here depends on data: what is kept
follows from questions alone, and results are not kept at all.
"""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.numbers import Ints
from inbounds.tables.condition import Condition, constant, with_numbers
from inbounds.tables.condition.canonical import spelled
from inbounds.tables.plan import Plan

MOST_SHAPES = 256
"""Shapes that are kept, and tables of keys; beyond, all are written again."""

KEYS = "inbounds_keys_"
"""The engine's own tables of declared groups begin with this."""

CHOSEN = "inbounds_chosen"
"""The engine's own table of the records that count, where persons have several."""


@dataclass(frozen=True)
class Expressions:
    """What an aggregation asks of its engine, as Ibis expressions: which records count, and what is found in them.

    chosen: None where the records are not to be put aside first.
    """

    chosen: Any
    found: Mapping[str, Any]


@dataclass(frozen=True)
class OpenText:
    """SQL between numbers. places: which number follows each part but the last."""

    parts: tuple[str, ...]
    places: tuple[int, ...]

    @staticmethod
    def of(sql: str, marks: list[str]) -> "OpenText":
        """sql: written with these marks as digits, each of which is nowhere else in it."""
        parts = re.split(f"({'|'.join(map(re.escape, marks))})", sql) if marks else [sql]
        return OpenText(tuple(parts[::2]), tuple(marks.index(mark) for mark in parts[1::2]))

    def filled(self, digits: list[str]) -> str:
        """The SQL with these digits."""
        inner = (digits[place] + part for place, part in zip(self.places, self.parts[1:], strict=True))
        return self.parts[0] + "".join(inner)


@dataclass(frozen=True)
class WrittenStatements:
    """The statements of one shape, and the columns of what they find."""

    chosen: OpenText | None
    found: Mapping[str, tuple[OpenText, tuple[str, ...]]]

    def filled(self, digits: list[str]) -> "WrittenStatements":
        """Those of one plan."""
        chosen = None if self.chosen is None else OpenText((self.chosen.filled(digits),), ())
        found = {name: (OpenText((text.filled(digits),), ()), own) for name, (text, own) in self.found.items()}
        return WrittenStatements(chosen, found)


@dataclass
class Statements:
    """What is written for one table that stays open in DuckDB, on a connection that one thread uses at a time.

    threads: that the engine may take for one statement.
    """

    table: Any
    threads: int = 1
    _written: dict[Any, WrittenStatements] = field(default_factory=dict, repr=False)
    _keys: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._engine = self.table.get_backend()
        self._engine.con.execute(f"SET threads = {self.threads}")

    def columns(self, plan: Plan, expressed: Callable[[Plan], Expressions]) -> dict[str, dict[str, Ints]]:
        """What every statement of a plan finds, whole numbers by column.

        expressed: the expressions of a plan of the same shape, to be written if none was asked before.
        """
        numbers, shape = numbers_of(plan), _shape(plan)
        written, digits = self._written.get(shape), [_digits(value) for value in numbers]
        if written is None:
            self._forget()
            written = self._write(plan, [], expressed)
            general = self._write(plan, _marks(numbers), expressed) if numbers else written
            if general.filled(digits) == written:
                self._written[shape] = written = general
        with self._put_aside(written, digits):
            return {
                name: self._fetched(text.filled(digits), columns) for name, (text, columns) in written.found.items()
            }

    def keys(self, plan: Plan, declared: Any) -> Any:
        """The plan's groups, an Arrow table, as a table of the engine that is made once."""
        groups = _groups(plan)
        if groups not in self._keys:
            self._keys[groups] = self._engine.create_table(f"{KEYS}{len(self._keys)}", declared, temp=True)
        return self._keys[groups]

    def _forget(self) -> None:
        """When there are too many, let go of all that is kept: the tables of keys with the SQL that names them."""
        if len(self._written) < MOST_SHAPES and len(self._keys) < MOST_SHAPES:
            return
        for k in range(len(self._keys)):
            self._engine.con.execute(f"drop table if exists temp.{KEYS}{k}")
        self._written.clear()
        self._keys.clear()

    def _fetched(self, sql: str, columns: tuple[str, ...]) -> dict[str, Ints]:
        """Python's own whole numbers on the way, because the engine's are wider than NumPy's."""
        rows = self._engine.con.execute(sql).fetchall()
        found = np.array(rows, dtype=np.int64).reshape(len(rows), len(columns))
        return dict(zip(columns, found.T, strict=True))

    def _write(self, plan: Plan, marked: list[Fraction], expressed: Callable[[Plan], Expressions]) -> WrittenStatements:
        """The statements of a plan: as they are, or open at its numbers, found by those that take their place."""
        own = expressed(_with_numbers(plan, iter(marked)) if marked else plan)
        marks = [_digits(value) for value in marked]

        def text(expression: Any) -> OpenText:
            return OpenText.of(str(self._engine.compile(expression)), marks)

        chosen = None if own.chosen is None else text(own.chosen)
        return WrittenStatements(chosen, {name: (text(one), tuple(one.columns)) for name, one in own.found.items()})

    @contextmanager
    def _put_aside(self, written: WrittenStatements, digits: list[str]) -> Iterator[None]:
        """The records that count in a table of their own, while something is found in them."""
        if written.chosen is None:
            yield
            return
        run = self._engine.con.execute
        try:
            run(f"create or replace temp table {CHOSEN} as {written.chosen.filled(digits)}")
            yield
        finally:
            run(f"drop table if exists temp.{CHOSEN}")


# --- the shape of a plan ----------------------------------------------------------------------------------


def numbers_of(plan: Plan) -> list[Fraction]:
    """The numbers of a plan's conditions, in their order."""
    found: list[Fraction] = []

    def note(value: Fraction) -> Fraction:
        found.append(value)
        return value

    for where in plan.conditions:
        with_numbers(where, note)
    return found


def _shape(plan: Plan) -> tuple[Any, ...]:
    """All that the statements of a plan depend on but its numbers; of those, how they are written."""
    statistics = tuple(
        (one.kind, one.of if one.where is None else _open(one.where), one.name, one.consistent, one.margins, one.at)
        for one in plan.statistics
    )
    own = None if plan.condition is None else _open(plan.condition)
    columns, source = tuple(sorted(plan.columns.items())), plan.source
    read = source.kind, source.engine, source.decimal
    return read, _groups(plan), plan.groups.public, columns, statistics, own, plan.people.id, plan.contribution


def _groups(plan: Plan) -> tuple[Any, ...]:
    own = plan.groups
    return own.by, own.keys, own.not_stated, tuple(sorted(own.period.items()))


def _open(where: Condition) -> Condition:
    """The condition with one number for all that are written alike: whole or not, negative or not."""
    return with_numbers(where, lambda value: _sign(value) * (Fraction(1) if _whole(value) else Fraction(1, 2)))


def _whole(value: Fraction) -> bool:
    return isinstance(constant(value), int)


def _sign(value: Fraction) -> int:
    return -1 if value < 0 else 1


def _digits(value: Fraction) -> str:
    """A number as Ibis writes it, without its sign, which is part of the shape."""
    return str(abs(constant(value)))


def _marks(numbers: list[Fraction]) -> list[Fraction]:
    """For each number one of the same shape, all different, that nobody can guess: no text should hold its digits."""
    drawn = set[int]()
    while len(drawn) < len(numbers):
        drawn.add(10**14 + secrets.randbelow(8 * 10**14))
    halves = (Fraction(0 if _whole(value) else 1, 2) for value in numbers)
    return [_sign(value) * (mark + half) for value, mark, half in zip(numbers, drawn, halves, strict=True)]


def _with_numbers(plan: Plan, numbers: Iterator[Fraction]) -> Plan:
    """The plan with other numbers in its conditions, in their order."""

    def text(where: Condition) -> str:
        return spelled(with_numbers(where, lambda _: next(numbers)))

    statistics = tuple(one if one.where is None else replace(one, of=text(one.where)) for one in plan.statistics)
    return replace(plan, statistics=statistics, where="" if plan.condition is None else text(plan.condition))

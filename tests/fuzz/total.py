"""Whether evaluation is total: an accepted plan is answered whatever a record holds, and a record moves what it may.

Many pairs of neighbours are asked at once, each in a group of its own (see `sources`), by many statistics. Where a plan
stops, parts of it are asked again until one statistic and one record are left.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fuzz.conditions import Unclear, holds, random_condition, text_of
from fuzz.exact import meaning, step_of
from fuzz.operations import (
    BESIDE,
    OF_PERSONS,
    Content,
    Part,
    by_person,
    compared_columns,
    counting,
    firsts,
    keyed,
    plan_of,
    probes,
    roles,
)
from fuzz.package import Cells, Refused, Stopped, aggregate, is_accepted
from fuzz.sources import NONE, Columns, Place, columns_of
from fuzz.values import Type

TOGETHER = 40
"""Statistics in one plan."""

TOLD, ENOUGH = 2, 20
"""Of what stops, so many statistics are told of each plan, and about so many in all."""


@dataclass(frozen=True)
class Table:
    """Where a table is kept, and the extreme records it has."""

    place: Place
    rows: Sequence[int]

    @property
    def groups(self) -> list[str]:
        return [NONE, *map(str, self.rows)]

    def answers(self, content: Content) -> Cells:
        return aggregate(self.with_source(content), self.place.frame, attached=self.place.attached)

    def with_source(self, content: Content) -> Content:
        return {**content, "source": self.place.source} if self.place.source else content

    def accepts(self, content: Content) -> bool:
        return is_accepted(self.with_source(content), self.place.frame)

    def stops(self, content: Content) -> bool:
        try:
            self.answers(content)
        except Stopped:
            return True
        return False


@dataclass
class Fuzzed:
    """A source with a column for each of its types; how often each operation was asked, and what was found wrong.

    clear: how many of the answers were compared with those of plain Python. refused: columns, as they were declared.
    """

    name: str
    types: Sequence[Type]
    keep: Callable[[Columns], Place]
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    clear: int = 0
    refused: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.name)
        self.all = self.table(range(max(len(own.extremes) for own in self.types)))

    def table(self, rows: Sequence[int]) -> Table:
        return Table(self.keep(columns_of(self.types, rows)), rows)

    def column(self, own: Type) -> str:
        return f"x{self.types.index(own)}"

    def probes(self, own: Type) -> dict[str, Content]:
        """The plainest plan of every operation on a type."""
        return probes(self.column(own), own, [NONE])

    # --- what is asked ------------------------------------------------------------------------------------

    def ask_roles(self, more: int, *, every_bound: bool = False) -> None:
        """What can stand together in one plan: of every type and operation the first part, and some more."""
        for of_types in self._roles(every_bound):
            self.ask(self.all, [part for own in of_types for part in (*firsts(own), *self._some(own, more))])
            self.ask(self.all, [firsts(own)[0] for own in of_types], **OF_PERSONS)

    def ask_keys_and_persons(self, most: int) -> None:
        """Every type as a key, in so many ways, and as the id of persons."""
        for own in self.types:
            plans = list(keyed(self.column(own), own, self.all.groups))
            for operation, content in (plans[0], *self._some(plans[1:], most - 1)):
                self.ask_plan(self.all, own.name, operation, content)
            self.ask_plan(self.all, own.name, "person", by_person(self.column(own), self.all.groups))

    def ask_columns(self, most: int) -> None:
        """Columns beside other columns, of all types that were accepted by themselves."""
        for kind, operation in (("number", "compare number"), ("text", "compare text"), ("boolean", "truth")):
            columns = [(own.name, self.column(own)) for own in self.types if self.asked[own.name, operation]]
            for apart in range(min(most, len(columns))):
                self.ask(self.all, list(compared_columns(columns, kind, apart)))

    def ask_alone(self, row: int) -> None:
        """One extreme record among ordinary ones: beside others it may look ordinary to an engine."""
        table = self.table([row])
        for of_types in self._roles():
            self.ask(table, [own[0] for own in of_types])

    def ask_conditions(self, count: int) -> None:
        """Nested conditions at random, over a few columns, in statistics and of the plan itself."""
        kinds = {"number": "compare number", "text": "compare text", "boolean": "truth"}
        usable = [(own, kind) for own in self.types for kind, name in kinds.items() if self.asked[own.name, name]]
        for _ in range(count):
            some = self._some(usable, 3)
            columns = {self.column(own): kind for own, kind in some}
            declared = {x: {"type": kind} for x, kind in columns.items()}
            trees = [random_condition(self.rng, columns) for _ in range(10)]
            parts = [counting(some[0][0].name, "nested", tree, declared) for tree in trees]
            where = {"where": text_of(random_condition(self.rng, columns))} if self.rng.random() < 0.3 else {}
            self.ask(self.all, parts, **where)

    def _roles(self, every_bound: bool = False) -> Iterator[tuple[list[Part], ...]]:
        return zip(*(roles(self.column(own), own, every_bound=every_bound) for own in self.types), strict=True)

    def _some(self, choices: Sequence[Any], most: int) -> list[Any]:
        return self.rng.sample(choices, min(most, len(choices)))

    def ask(self, table: Table, parts: Sequence[Part], **more: Any) -> None:
        """Ask parts together, without those that are refused."""
        parts = [part for part in parts if not any((x, str(own)) in self.refused for x, own in part.columns.items())]
        for start in range(0, len(parts), TOGETHER):
            self._ask(table, parts[start : start + TOGETHER], more)

    def _ask(self, table: Table, parts: Sequence[Part], more: Content) -> None:
        content = plan_of(parts, table.groups, **more)
        try:
            found = table.answers(content)
        except Refused as refused:
            if refused.path[0] == "columns":
                self.refused.add((refused.path[1], str(content["columns"][refused.path[1]])))
            rest = [part for k, part in enumerate(parts) if refused.path[:2] not in places(k, part)]
            if len(rest) == len(parts) > 1:  # the source is refused because of something in one of them
                self._ask(table, parts[::2], more)
                self._ask(table, parts[1::2], more)
            elif len(rest) < len(parts) > 1:
                self._ask(table, rest, more)
            return
        except Stopped:
            found = None
            if len(self.wrong) < ENOUGH:
                self._tell(stopping(table, parts, more), more)
        for part in parts:
            self.asked[part.of, part.operation] += len(table.rows)
        if found is not None:
            self.wrong += [f"{self.name}: {text}" for text in too_far(content, found)]
            if "where" not in more:
                self.wrong += [f"{self.name}: {text}" for text in self.misread(table, parts, found)]

    def ask_plan(self, table: Table, of: str, operation: str, content: Content) -> None:
        """Ask a plan of its own, unless it is refused."""
        try:
            found = table.answers(content)
        except Refused:
            return
        except Stopped:
            self.wrong.append(f"{self.name}: {operation} of {of} stops at {self.record(content, of)}")
        else:
            self.wrong += [f"{self.name}, {operation} of {of}: {text}" for text in too_far(content, found)]
        self.asked[of, operation] += len(table.rows) * len(content["statistics"])

    # --- what is right ------------------------------------------------------------------------------------

    def misread(self, table: Table, parts: Sequence[Part], found: Cells) -> Iterator[str]:
        """Counts and sums that are not those of plain Python, each with the first record that is read otherwise."""
        cells = iter(found)
        for part in parts:
            (kind, of), *_ = part.statistic.items()
            (before, *after), *_ = [next(cells) for _ in range(numbers_drawn(kind, of, {**BESIDE, **part.columns}))]
            for row, own in zip(table.rows, after, strict=True) if kind in ("count", "sum") else ():
                value = self.expected(part, row)
                self.clear += value is not Unclear
                if value is not Unclear and not value[0] <= own - before <= value[1]:
                    yield f"{part.statistic} {part.columns} is {own - before} and not {value} for record {row}"
                    break

    def expected(self, part: Part, row: int) -> Any:
        """Between which numbers an answer moves by this record; floats may miss a step of a sum by one."""
        types = {f"x{k}": own for k, own in enumerate(self.types)}
        kinds = {x: "text" if "labels" in own else own.get("type", "number") for x, own in part.columns.items()}
        record = {x: meaning(types[x], types[x].extreme(row), kind) for x, kind in kinds.items()}
        if part.tree is not None:
            try:
                met = int(holds(part.tree, record) is True)
            except Unclear:
                return Unclear
            return met, met
        ((x, bounds),) = part.columns.items()
        if record[x] is Unclear:
            return Unclear
        low, high, step = (Fraction(bounds.get(name, 1)) for name in ("low", "high", "step"))
        value, unit = step_of(record[x], low, high, step, Fraction(bounds.get("missing", low))), grid(low, step)
        return (value - step) / unit, (value + step) / unit

    # --- what is told -------------------------------------------------------------------------------------

    def _tell(self, parts: list[Part], more: Content) -> None:
        for part in parts:
            record = self.record(plan_of([part], self.all.groups, **more), part.of)
            self.wrong.append(
                f"{self.name}: {part.statistic} of {part.of} {part.columns} stops at {record} {more or ''}"
            )

    def record(self, content: Content, of: str) -> str:
        """A record that stops a plan by itself, by halves."""
        rows = self.all.rows
        if self.table([]).stops(content):
            return "ordinary records"
        while len(rows) > 1:
            half = len(rows) // 2
            rows = rows[:half] if self.table(rows[:half]).stops(content) else rows[half:]
        (own,) = (own for own in self.types if own.name == of)
        text = repr(own.extreme(rows[0]))
        return f"record {rows[0]}: {text if len(text) < 60 else f'{text[:40]}… ({len(text)} letters)'}"


def places(k: int, part: Part) -> list[tuple[str, Any]]:
    """Where a plan is refused because of its k-th part."""
    return [("statistics", k), *(("columns", name) for name in part.columns)]


def stopping(table: Table, parts: Sequence[Part], more: Content) -> list[Part]:
    """The parts that stop by themselves, of some that stop together; the first few of them."""
    if len(parts) == 1:
        return list(parts)
    half, found = len(parts) // 2, list[Part]()
    for some in (parts[:half], parts[half:]):
        if len(found) < TOLD and table.stops(plan_of(some, table.groups, **more)):
            found += stopping(table, some, more)
    return found or [parts[0]]


# --- what one record may move -----------------------------------------------------------------------------


def too_far(content: Content, found: Cells) -> Iterator[str]:
    """Statistics that one record more moves by more than it may, each with the first group where it does."""
    groups, cells = groups_of(content), iter(found)
    inner = len(found[0]) // len(groups)  # keys within each group
    for statistic in content["statistics"]:
        kind, of = next((word, own) for word, own in statistic.items() if word != "name")
        rows = [next(cells) for _ in range(numbers_drawn(kind, of, content["columns"]))]
        blocks = [[row[k : k + inner] for row in rows] for k in range(0, len(rows[0]), inner)]
        for group, block in zip(groups[1:], blocks[1:], strict=True):
            if not may_move(kind, content["columns"].get(str(of), {}), blocks[0], block):
                yield f"{statistic} is moved too far by record {group}: from {blocks[0]} to {block}"
                break


def groups_of(content: Content) -> list[str]:
    keys = content["groups"]["keys"]
    return list(keys["g"] if isinstance(keys, dict) else keys)


def numbers_drawn(kind: str, of: Any, columns: Content) -> int:
    """How many numbers are drawn for each group."""
    if kind in ("histogram", "crosstab"):
        return math.prod(len(columns[name]["labels"]) for name in ([of] if kind == "histogram" else of))
    return 2 if kind == "mean" else 1


def may_move(kind: str, column: Content, before: list[list[Any]], after: list[list[Any]]) -> bool:
    """Whether one record more may lead from one to the other, where sizes are not public."""
    steps = [new - old for own, other in zip(before, after, strict=True) for old, new in beside(own, other)]
    if kind == "mode":
        return True
    if kind not in ("sum", "mean"):  # numbers of records
        return min(steps) >= 0 and sum(steps) <= 1
    low, high, step = (Fraction(column.get(name, 1)) for name in ("low", "high", "step"))
    if kind == "mean":  # a record's steps from low, and to high
        return min(steps) >= 0 and sum(steps) in (0, (high - low) / step)
    return sum(map(bool, steps)) <= 1 and all(
        min(low, Fraction(0)) <= n * grid(low, step) <= max(high, Fraction(0)) for n in steps
    )


def grid(low: Fraction, step: Fraction) -> Fraction:
    """The coarsest grid through zero that holds low and every step from it."""
    common = math.lcm(low.denominator, step.denominator)
    return Fraction(math.gcd(int(low * common), int(step * common)), common)


def beside(before: list[Any], after: list[Any]) -> Iterator[tuple[int, int]]:
    """Positions, or counts of all values, in pairs."""
    for old, new in zip(before, after, strict=True):
        yield from zip(old, new, strict=True) if isinstance(old, list) else [(old, new)]

"""A plan as a form: choices in plain texts, converted to and from the values of a plan's file.

What has no field in the form is kept as lines of TOML, so a plan written by hand loses only its comments.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from inbounds.studio.forms import StatisticChoice

USES = {
    "": "not used",
    "group": "names the group",
    "person": "says whose record it is",
    "one_record_each": "tells persons apart, one record each",
    "number": "number, with bounds",
    "labels": "one of some labels",
    "text": "text, in conditions",
    "plain": "number, in conditions",
    "boolean": "yes or no",
}
"""What a column may be used for."""

TYPES = {"text": "text", "plain": "number", "boolean": "boolean"}
"""Columns that only conditions read, by their use, as a plan says it."""

KEYS_FROM = {
    "combined": "a list for each column, all combinations",
    "listed": "one group a line",
    "file": "a public file",
}
LONGEST = 200_000
"""Characters of one field; longer lists of keys belong into a file."""


@dataclass(frozen=True)
class ColumnChoice:
    """The use of a column of the source. keys: the groups that it names, one per line."""

    name: str
    kind: str = "anything"
    use: str = ""
    low: str = ""
    high: str = ""
    step: str = ""
    missing: str = ""
    labels: str = ""
    other: str = ""
    keys: str = ""
    period: str = ""


@dataclass(frozen=True)
class Draft:
    """All choices of a plan."""

    columns: tuple[ColumnChoice, ...] = ()
    statistics: tuple[StatisticChoice, ...] = ()
    source: str = ""
    url: str = ""
    table: str = ""
    delimiter: str = ""
    decimal: str = ""
    thousands: str = ""
    encoding: str = ""
    header_row: str = ""
    keys_from: str = "combined"
    listed: str = ""
    file: str = ""
    sizes: str = "size"
    size: str = ""
    typical: str = ""
    missing_key: str = ""
    nested: str = ""
    levels: str = ""
    max_records: str = ""
    max_groups: str = ""
    people: str = ""
    ledger: str = ""
    edition: str = ""
    title: str = ""
    author: str = ""
    contact: str = ""
    notes: str = ""
    epsilon: str = "1"
    credible_level: str = "0.9"
    output: str = ""
    more: str = ""
    plan: str = field(default="plan.toml")

    @property
    def by(self) -> list[str]:
        """The columns that name a group, from the top down if they nest."""
        names, order = [column.name for column in self.columns if column.use == "group"], self.levels_in_order
        return sorted(names, key=lambda name: order.index(name) if name in order else len(order))

    @property
    def levels_in_order(self) -> list[str]:
        """The levels as they were written, from the top down; the order of the columns says nothing about it."""
        return _lines(self.levels.replace(",", "\n"))

    def column(self, name: str) -> ColumnChoice:
        return next(column for column in self.columns if column.name == name)

    @property
    def used(self) -> dict[str, list[str]]:
        """The columns by their use."""
        return {use: [column.name for column in self.columns if column.use == use] for use in USES}

    def with_statistic(self) -> "Draft":
        return replace(self, statistics=(*self.statistics, StatisticChoice()))

    def without_statistic(self, number: int) -> "Draft":
        return replace(self, statistics=tuple(s for k, s in enumerate(self.statistics) if k != number))


SINGLE = tuple(own.name for own in fields(Draft) if own.name not in ("columns", "statistics"))


def from_form(pairs: Iterable[tuple[str, str]], schema: Mapping[str, str]) -> Draft:
    """Build the choices from a form: column.2.use is a field of the third column, statistic.0.kind one of a
    statistic.
    """
    form = {name: value[:LONGEST].replace("\r\n", "\n").strip() for name, value in pairs}
    columns = []
    for k, (name, kind) in enumerate(schema.items()):
        fields_of_column = {
            f: form.get(f"column.{k}.{f}", "") for f in _names(ColumnChoice) if f not in ("name", "kind")
        }
        columns.append(ColumnChoice(name, kind, **fields_of_column))
    count = sum(name.startswith("statistic.") and name.endswith(".kind") for name in form)
    statistics = tuple(StatisticChoice.from_form(form, f"statistic.{k}.") for k in range(count))
    return Draft(tuple(columns), statistics, **{name: form.get(name, "") for name in SINGLE})


def _names(kind: type) -> list[str]:
    return [part.name for part in fields(kind)]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]

"""What a study measured: a tidy table, one observation a row, kept as plain values."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.evaluate.export import latex_table
from inbounds.exact import Floats, Number, to_fraction

Value = str | int | float | bool | None
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Table:
    """Named columns over rows of plain values.

    >>> t = Table.of(("n", "loss"), [(2, 0.5), (4, 0.25)])
    >>> t.where(n=4).column("loss")
    [0.25]
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns must have different names, got {self.columns}")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row must have {len(self.columns)} values")

    @classmethod
    def of(cls, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> "Table":
        """From any rows; numpy numbers become Python's."""
        return cls(tuple(columns), tuple(tuple(_plain(value) for value in row) for row in rows))

    @classmethod
    def read(cls, text: str) -> "Table":
        """A table back from its CSV: what reads as a number is one, and an empty field is None."""
        names, *rows = csv.reader(io.StringIO(text))
        return cls(tuple(names), tuple(tuple(_read(value) for value in row) for row in rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def where(self, **wanted: Value) -> "Table":
        """The rows that hold these values."""
        places = {self._place(name): value for name, value in wanted.items()}
        return Table(self.columns, tuple(r for r in self.rows if all(r[k] == v for k, v in places.items())))

    def column(self, name: str) -> list[Any]:
        """One column, in the order of the rows."""
        place = self._place(name)
        return [row[place] for row in self.rows]

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, in order of appearance."""
        return list(dict.fromkeys(self.column(name)))

    def numbers(self, name: str, **wanted: Value) -> Floats:
        """One column of the rows that hold `wanted`, as floats."""
        return np.array(self.where(**wanted).column(name), dtype=np.float64)

    def number(self, name: str, **wanted: Value) -> float:
        """The one value of a column where the rows hold `wanted`."""
        found = self.where(**wanted).column(name)
        if len(found) != 1:
            raise ValueError(f"{wanted} must name one row, got {len(found)}")
        return float(found[0])

    def csv(self) -> str:
        """The table as CSV, with a line of column names; floats keep every digit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def latex(self) -> str:
        """The table as a LaTeX tabular; floats to six digits."""
        texts = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in row] for row in self.rows]
        return latex_table(self.columns, texts) + "\n"

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise ValueError(f"column must be one of {', '.join(self.columns)}, got {name!r}")
        return self.columns.index(name)


def decimal(setting: Number) -> float:
    """A setting such as "10/11" as a float, for tables and axes."""
    return float(to_fraction(setting, "setting"))


def _read(text: str) -> Value:
    if not text:
        return None
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(text, text)


def _plain(value: Any) -> Value:
    plain: Value = value.item() if isinstance(value, np.generic) else value
    return plain

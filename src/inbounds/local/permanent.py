"""Permanent reports: a person who is asked again sends the earlier report, so asking again reveals nothing more.

A report is drawn once for each person and period, and stored on the person's side. It is sent again until the period is
over, even if the person's value changes. When a report is drawn does not depend on any value, so everything that a
person sends in `periods` periods is `periods` independent reports. *Formal guarantee.* Its ratio of probabilities
between any two people, and between any two sequences of values, is at most that of one report to the power `periods`.

Reports that are stored for each value, and drawn again when the value changes, do not have this guarantee: two
different reports prove that the value changed.
"""

import math
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import PassportError
from inbounds.exact import to_int
from inbounds.files import PERMANENT_REPORTS, Document, FileFormat, Json, refuse_unknown_fields
from inbounds.files.locks import file_lock
from inbounds.local.client import Randomizer
from inbounds.local.collector import fingerprint
from inbounds.local.guarantee import LocalGuarantee, format_ratio, product_upper_bound
from inbounds.local.survey import Survey, SurveyStatement
from inbounds.trusted.inputs import as_array, detect_kind, read_array


def _check_fields(document: Document) -> Json:
    """Return the content of a memory; refuse unknown fields."""
    refuse_unknown_fields(document.content, dict.fromkeys(("law", "periods", "promised")), "the memory")
    return document.content


PERMANENT_FILE = FileFormat(PERMANENT_REPORTS, "memory of permanent reports", _check_fields)

DrawReports = Callable[[list[int]], list[Any]]
"""A function that draws new reports for the people at these positions."""


@dataclass(eq=False)
class ReportMemory:
    """Reports that were sent, by period and person; in a file if there is a path, otherwise in this process.

    law: the fingerprint of the law that draws them; a memory is for one law. promised: the promised number of periods,
    the same for all users of the file; None for any number. With a path, every new report is on disk before it is
    returned. A writer locks the file, against threads and processes, and reads it again before it writes. So no person
    sends two different reports in one period.
    """

    law: str
    path: Path | None = None
    periods: dict[str, dict[Hashable, Any]] = field(default_factory=dict)
    promised: int | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None, law: str, promised: int | None = None) -> "ReportMemory":
        """Open the memory at a path; it is empty if there is no file."""
        memory = cls(law, None if path is None else Path(path), promised=promised)
        memory._read()
        return memory

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise TypeError("a memory without a file must not be copied: each copy would draw reports; give it a path")
        return ReportMemory.at, (self.path, self.law, self.promised)

    def recall(self, period: str, people: Sequence[Hashable], draw: DrawReports) -> list[Any]:
        """Return the report of each person in this period; draw and store missing ones first."""
        if not all(person in self.periods.get(period, ()) for person in people):
            with self._turn, nullcontext() if self.path is None else file_lock(self.path):
                self._read()
                self._refuse_beyond_promised(period)
                self._draw(period, people, draw)
        return [self.periods[period][person] for person in people]

    def _draw(self, period: str, people: Sequence[Hashable], draw: DrawReports) -> None:
        stored = self.periods.get(period, {})
        places = {person: place for place, person in reversed(list(enumerate(people))) if person not in stored}
        if places:
            fresh = dict(zip(places, draw(list(places.values())), strict=True))
            if self.path is not None:
                self._save(self.path, {**self.periods, period: {**stored, **fresh}})
            self.periods.setdefault(period, {}).update(fresh)

    def _refuse_beyond_promised(self, period: str) -> None:
        if self.promised is not None and period not in self.periods and len(self.periods) >= self.promised:
            raise ValueError(
                f"period must be one of the {self.promised} that were promised, got another one, {period!r}; every "
                "further period is a further report, so promise more of them beforehand"
            )

    def _read(self) -> None:
        """Add the reports that other processes have written; reports sent from this process stay unchanged."""
        if self.path is None or not self.path.exists():
            return
        content = PERMANENT_FILE.read(self.path)
        if content.get("law") != self.law:
            raise PassportError(
                "the memory holds reports of another mechanism; use that one, or pay again with another file"
            )
        periods = dict(_periods(content.get("periods")))
        promised = content.get("promised")
        if self.promised is not None and (len(periods) > self.promised or promised not in (None, self.promised)):
            raise ValueError(
                f"periods must be as many as were promised for the reports that are kept, {promised or len(periods)}, "
                f"got {self.promised}; everyone who sends them must promise the same"
            )
        all_periods = {**periods, **self.periods}
        self.periods = {period: {**periods.get(period, {}), **self.periods.get(period, {})} for period in all_periods}

    def _save(self, path: Path, periods: Mapping[str, Mapping[Hashable, Any]]) -> None:
        rows = {name: [list(stored), list(stored.values())] for name, stored in periods.items()}
        promised = {} if self.promised is None else {"promised": self.promised}
        Document.wrap(PERMANENT_REPORTS, {"law": self.law, "periods": rows, **promised}).save(path)


def _periods(content: Any) -> Iterator[tuple[str, dict[Hashable, Any]]]:
    for period, rows in content.items() if isinstance(content, dict) else ():
        if not (isinstance(rows, list) and len(rows) == 2 and all(isinstance(row, list) for row in rows)):
            raise PassportError("the memory is malformed: a period must be a list of people and one of their reports")
        people, reports = rows
        if len(people) != len(reports) or not all(type(person) in (str, int) for person in people):
            raise PassportError("the memory is malformed: every person must have a name and a report")
        yield period, dict(zip(people, reports, strict=True))


@dataclass(frozen=True)
class PermanentGuarantee:
    """The guarantee for all reports of a person over all periods, however often they are sent."""

    once: LocalGuarantee | SurveyStatement
    periods: int

    @property
    def ldp(self) -> float:
        """Return the least epsilon of epsilon-LDP over all periods; rounded up."""
        total = self.once.ldp * self.periods
        return total if self.periods == 1 else math.nextafter(total, math.inf)

    def worst_ratio(self) -> float:
        """Return the worst ratio of the probabilities of all reports, over any two sequences of values."""
        return product_upper_bound([self.once.worst_ratio()] * self.periods)

    def __str__(self) -> str:
        times = "however often it is sent" if self.periods == 1 else f"over {self.periods} periods"
        first = (
            f"any two people: probabilities of all that is sent, {times}, within a ratio of {format_ratio(self.ldp)}"
        )
        return f"{first} ({self.ldp:.6g}-LDP)\none report: {self.once}"


@dataclass(frozen=True, eq=False)
class PermanentRandomizer:
    """A client that reports once in each period and then repeats the report; for at most `periods` periods."""

    client: Randomizer | Survey
    memory: ReportMemory
    periods: int = 1

    @property
    def privacy(self) -> PermanentGuarantee:
        """Return the privacy guarantee for each person."""
        return PermanentGuarantee(self.client.privacy, self.periods)

    def __call__(self, values: Any, people: Any = None, *, period: str = "") -> Any:
        """Return reports of one value, or of many with the id of each person (a text or a whole number).

        For a survey, `values` are answers by attribute. Values of people who have already reported are not read.
        """
        if not isinstance(period, str):
            raise TypeError(f"period must be a text such as '2026', got {type(period).__name__}")
        single = people is None
        ids: list[Hashable] = [""] if single else _ids(people)
        answers = dict(values) if isinstance(self.client, Survey) else {"": values}
        columns = {name: _to_column(values_of_column) for name, values_of_column in answers.items()}
        expected = "one value" if single else f"one value for each of {len(ids)} people"
        if any(len(column) != len(ids) for column in columns.values()):
            raise ValueError(f"values must be {expected}; give the ids of people for more")

        def draw(places: list[int]) -> list[Any]:
            chosen = {name: _array(_take(column, places)) for name, column in columns.items()}
            if any(column.shape != (len(places),) for column in chosen.values()):
                raise ValueError(f"values must be {expected}")
            if isinstance(self.client, Survey):
                return _records(self.client.arrays(chosen))
            return list(self.client.array(chosen[""]).tolist())

        reports = self.memory.recall(period, ids, draw)
        if not isinstance(self.client, Survey):
            return reports[0] if single else np.array(reports)
        return reports[0] if single else {name: _column(reports, name) for name in self.client.mechanisms}


def make_permanent(
    client: Randomizer | Survey, path: str | os.PathLike[str] | None = None, *, periods: int = 1
) -> PermanentRandomizer:
    """Make a client whose reports are permanent: drawn once for each person and period, then sent again.

    client: `ib.local.make_randomizer(mechanism)` or a `Survey`. path: the file of the reports, on the person's side;
    without it they are in the memory of this process, for simulations. periods: the largest number of periods ever.

    >>> import inbounds as ib
    >>> client = make_permanent(ib.local.make_randomizer(ib.catalog.randomized_response(ib.category(["no", "yes"]), 1)))
    >>> len({client("yes") for _ in range(100)}), round(client.privacy.ldp, 6)
    (1, 1.0)
    """
    if not isinstance(client, Randomizer | Survey):
        raise TypeError(f"client must be a Randomizer or a Survey, got {type(client).__name__}")
    law = client.fingerprint if isinstance(client, Survey) else fingerprint(client.mechanism)
    promised = to_int(periods, "periods", 1)
    return PermanentRandomizer(client, ReportMemory.at(path, law, promised), promised)


def _ids(people: Any) -> list[Hashable]:
    ids = _array(people).ravel().tolist()
    if not all(type(person) in (str, int) for person in ids):
        raise TypeError("people must be named by texts or whole numbers; at least one is not")
    return ids


def _to_column(values: Any) -> Any:
    """Return a sequence of values: a single value becomes a list. No value is read."""
    if isinstance(values, np.ndarray):
        return np.atleast_1d(values)
    return values if hasattr(values, "__len__") and not isinstance(values, str | bytes) else [values]


def _take(column: Any, places: list[int]) -> Any:
    """Return the values at these positions. Other values are not read, so they cannot raise errors."""
    match detect_kind(column):
        case "pandas":
            return column.iloc[places]
        case "arrow":
            return column.take(places)
        case "polars":
            return column.gather(places)
    return column[places] if isinstance(column, np.ndarray) else [column[place] for place in places]


def _array(values: Any) -> NDArray[Any]:
    kind = detect_kind(values)
    return read_array(values) if kind is None else as_array(kind, values)


def _records(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    names = list(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{name: report for name, report in zip(names, row, strict=True) if report is not None} for row in rows]


def _column(records: Sequence[Mapping[str, Any]], name: str) -> NDArray[Any]:
    values = [record.get(name) for record in records]
    return np.array(values, dtype=object) if None in values else np.array(values)

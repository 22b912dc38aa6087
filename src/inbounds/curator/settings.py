"""curator.toml: where the ledger and database are, limits, and the datasets."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.curator.dataset import Budget, Dataset, parse_dataset
from inbounds.files.bounded import parse_toml, read_text
from inbounds.schema.errors import LineIndex, PlanError, error_path, index_lines
from inbounds.schema.types import check_known_fields

PARTS = ("ledger", "database", "designs", "limits", "datasets")

PROCESSORS = min(4, max(2, os.cpu_count() or 2))
"""How many questions at once finish soonest; more would only wait for each other."""


@dataclass(frozen=True)
class ServiceLimits:
    """Limits on what clients may ask of the machine.

    body: bytes of a request. seconds: the longest that a request may take. tick: answers leave at its multiples, in
    seconds. rate, burst: requests of one account per second, and at once. tick_requests: requests of all accounts in
    one tick. waiting: requests that wait for each of `threads`, and questions that wait for each of `evaluations`; more
    are not admitted. threads: stored answers and previews at once;
    by default one per processor, 2 to 4. evaluations: new questions at once, each of which holds its place for the
    `answer_seconds` of its dataset; by default two per processor, because an evaluation alone should take at most a
    quarter of that time. designs: worker processes that design. design_seconds, design_bytes: limits of one design.
    rows: that one account may hold, of its tables and one for each key.
    """

    body: int = 65_536
    seconds: float = 30.0
    tick: float = 0.02
    rate: float = 20.0
    burst: int = 100
    tick_requests: int = 16
    waiting: int = 2
    threads: int = PROCESSORS
    evaluations: int = 2 * PROCESSORS
    designs: int = 1
    design_seconds: float = 20.0
    design_bytes: int = 2 << 30
    rows: int = 1_000_000

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            low = 0 if part.name in ("designs", "tick") else 1e-9
            if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not low <= value < 1e15:
                raise PlanError(f"must be a positive number, got {value!r}", (part.name,))
            whole = isinstance(part.default, int)
            if whole and value != int(value):
                raise PlanError(f"must be a whole number, got {value!r}", (part.name,))
            object.__setattr__(self, part.name, int(value) if whole else float(value))


@dataclass(frozen=True)
class Settings:
    """Everything about a curator that is decided before it starts."""

    ledger: str = field(repr=False)
    database: str = field(repr=False)
    designs: Path
    datasets: Mapping[str, Dataset]
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    lines: LineIndex = field(default=LineIndex(""), repr=False, compare=False)

    def __post_init__(self) -> None:
        declared_budgets(self.datasets)
        for name, dataset in self.datasets.items():
            if dataset.answer_seconds >= self.limits.seconds:
                raise PlanError(
                    f"must be less than limits.seconds, {self.limits.seconds:g}, or no answer could leave",
                    ("datasets", name, "answer_seconds"),
                )


def declared_budgets(datasets: Mapping[str, Dataset]) -> dict[str, Budget]:
    """Return the budget of each population, as its datasets declare it.

    Several datasets may be about the same people. One budget is for all of them, so those that declare it must
    declare the same; a `PlanError` otherwise.
    """
    budgets: dict[str, tuple[str, Budget]] = {}
    for name, dataset in datasets.items():
        people, declared = dataset.people.name, dataset.budget
        first, budget = budgets.setdefault(people, (name, declared))
        if budget == Budget():
            budgets[people] = name, declared
        elif declared not in (Budget(), budget):
            raise PlanError(
                f"must be the same as datasets.{first}.budget, because both are about the people {people!r}; declare "
                "it once",
                ("datasets", name, "budget"),
            )
    return {people: budget for people, (_, budget) in budgets.items()}


def load_settings(path: str | PathLike[str]) -> Settings:
    """Load settings from a TOML file. Files it names are relative to its folder; errors name the line."""
    file = Path(path)
    text = read_text(file)
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise PlanError(f"is not TOML: {error}", place=file.name) from None
    lines = index_lines(text, file.name)
    try:
        return replace(parse_settings(content, file.parent), lines=lines)
    except PlanError as error:
        raise error.with_place(lines.place(error.path)) from None


def parse_settings(content: Mapping[str, Any], folder: Path) -> Settings:
    """Parse settings from plain values."""
    check_known_fields("curator", content, PARTS)
    if not isinstance(content.get("datasets"), Mapping) or not content["datasets"]:
        raise PlanError("must be given, each as [datasets.name]", ("datasets",))
    with error_path("limits"):
        check_known_fields("limits", content.get("limits", {}), tuple(part.name for part in fields(ServiceLimits)))
        limits = ServiceLimits(**content.get("limits", {}))
    return Settings(
        _place(content.get("ledger", "budget.db"), "ledger", folder),
        _place(content.get("database", "curator.db"), "database", folder),
        folder / str(content.get("designs", "designs")),
        {name: parse_dataset(name, values, folder) for name, values in content["datasets"].items()},
        limits,
    )


def _place(value: Any, name: str, folder: Path) -> str:
    if not isinstance(value, str) or not value:
        raise PlanError("must be a file or a postgresql:// URL", (name,))
    return value if "://" in value else str((folder / value).absolute())

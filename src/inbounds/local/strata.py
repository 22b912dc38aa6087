"""Strata: the reports of several groups of people, each with a collector."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from inbounds.local.collector import Collector


@dataclass(frozen=True, eq=False)
class StratifiedCollector(Mapping[Any, Collector]):
    """Collectors by stratum: a value of the column `by`, or a tuple of values for several columns.

    Strata are public: the column that separates people is not randomized. A small stratum has wide intervals and no
    other disadvantage, because every report is private by itself.
    """

    by: tuple[str, ...]
    collectors: Mapping[Any, Collector]

    def __post_init__(self) -> None:
        if any(_missing(key) for key in self.collectors):
            raise ValueError("strata must not be missing; give those people a stratum such as 'not stated'")

    @classmethod
    def from_collectors(cls, by: Sequence[str], collectors: Mapping[Any, Collector]) -> "StratifiedCollector":
        """Build from collectors, ordered by their names."""
        ordered = sorted(collectors.items(), key=lambda item: (str(type(item[0])), item[0]))
        return cls(tuple(by), MappingProxyType(dict(ordered)))

    def __getitem__(self, stratum: Any) -> Collector:
        if stratum not in self.collectors:
            raise KeyError(f"stratum must be one of {', '.join(map(repr, self.collectors))}, got {stratum!r}")
        return self.collectors[stratum]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.collectors)

    def __len__(self) -> int:
        return len(self.collectors)

    def merge(self, other: "StratifiedCollector") -> "StratifiedCollector":
        """Return the reports of both, stratum by stratum; a stratum may be in only one of them."""
        if not isinstance(other, StratifiedCollector) or other.by != self.by:
            raise ValueError(
                f"strata must be by the same columns to be merged, got {getattr(other, 'by', other)!r:.60}"
            )
        keys = {**self.collectors, **other.collectors}
        return StratifiedCollector.from_collectors(self.by, {key: _both(self.get(key), other.get(key)) for key in keys})

    __add__ = merge

    @property
    def total(self) -> Collector:
        """Merge all strata into one collector."""
        return Collector.merge_all(self.collectors.values())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{key!r}: {collector.total}" for key, collector in self.items())
        return f"<Strata by {', '.join(self.by)}: {sizes} reports>"

    def __reduce__(self) -> tuple[Any, ...]:
        return StratifiedCollector.from_collectors, (self.by, dict(self.collectors))


def _both(one: Collector | None, other: Collector | None) -> Collector:
    return Collector.merge_all([collector for collector in (one, other) if collector is not None])


def _missing(key: Any) -> bool:
    return any(_missing(part) for part in key) if isinstance(key, tuple) else key is None or key != key

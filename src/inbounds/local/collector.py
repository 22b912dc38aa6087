"""Collect reports: count how often each output was reported, in any batches, merged in any order."""

import hashlib
import os
import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inbounds.errors import PassportError
from inbounds.exact import Ints
from inbounds.files import COLLECTION, Document, FileFormat, FileLike, Json, as_passport_error, refuse_unknown_fields
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism
from inbounds.mechanism.json_values import parse_integers
from inbounds.query import RangeQuery
from inbounds.trusted.positions import ON_GRID


def _check_fields(document: Document) -> Json:
    """Return the content of a collection; refuse unknown fields. The counts are checked later, with the mechanism."""
    known = dict.fromkeys(("mechanism", "reports", "counts", "shard", "shards"))
    refuse_unknown_fields(document.content, known, "the collection")
    return document.content


COLLECTION_FILE = FileFormat(COLLECTION, "collection", _check_fields)


class Collector:
    """Counts of the reports of one mechanism, in memory that does not grow with the number of reports.

    `add` adds a batch to this collector; `merge` (also `+`) returns a new collector with the reports of both. Merging
    is associative and commutative with the empty collector as its zero, so any engine can reduce with it.

    shard: a name for the reports added here, such as "2026-11-16 north"; random by default. Files, copies and merged
    collectors keep the names of what they hold (`shards`), and no shard is merged twice.

    >>> import inbounds as ib
    >>> m = ib.catalog.randomized_response(ib.category(["no", "yes"]), 1)
    >>> monday, tuesday = Collector(m).add(["yes", "no"]), Collector(m).add(["yes"])
    >>> (monday + tuesday).counts.tolist()
    [1, 2]
    """

    __slots__ = ("_counts", "_shards", "mechanism", "shard")

    def __init__(self, mechanism: Mechanism, shard: str | None = None) -> None:
        check_local_mechanism(mechanism)
        if shard is not None and not (isinstance(shard, str) and shard):
            raise ValueError(f"shard must be a text that names the reports, got {shard!r}; leave it out for any name")
        self.mechanism = mechanism
        self.shard = secrets.token_hex(16) if shard is None else shard
        self._shards: frozenset[str] = frozenset()
        self._counts: Ints = np.zeros(len(mechanism.report_query.outputs), dtype=np.int64)

    @property
    def counts(self) -> Ints:
        """Return how often each output was reported, in the order of the outputs; a copy."""
        return self._counts.copy()

    @property
    def total(self) -> int:
        """Return how many reports were collected."""
        return int(self._counts.sum())

    @property
    def shards(self) -> frozenset[str]:
        """Return the names of the shards whose reports are counted here; empty if nothing was added."""
        return self._shards

    def add(self, reports: Any) -> "Collector":
        """Count a batch of reported values, one or an array of any shape, and return the collector.

        Raises `ValueError`, and counts nothing, if a value is not an output.
        """
        self._counts += tally(reports, self.mechanism.report_query)
        self._shards |= {self.shard}
        return self

    def add_counts(self, reports: Any, times: ArrayLike) -> "Collector":
        """Count each reported value `times` times, as a GROUP BY of a database returns them; return the collector."""
        positions = output_positions(reports, self.mechanism.report_query).ravel()
        repeats = whole_counts(times).ravel()
        if repeats.shape != positions.shape:
            raise ValueError(f"times must be one for each of the {len(positions)} reports, got {len(repeats)}")
        np.add.at(self._counts, positions, repeats)
        self._shards |= {self.shard}
        return self

    def merge(self, other: "Collector") -> "Collector":
        """Return a new collector with the reports of both.

        Raises ValueError if the mechanisms differ, or if a shard is in both.
        """
        if not isinstance(other, Collector):
            raise TypeError(f"a collector merges with a Collector, got {type(other).__name__}")
        if not same_law(self.mechanism, other.mechanism):
            raise ValueError("collectors must be for the same mechanism; these reports follow different laws")
        shared = sorted(self._shards & other._shards)
        if shared:
            raise ValueError(f"shards must be merged once, and both hold {shared[0]!r}; its reports would count double")
        return _restore(self.mechanism, self._counts + other._counts, self._shards | other._shards)

    __add__ = merge

    @staticmethod
    def merge_all(collectors: "Iterable[Collector]") -> "Collector":
        """Merge one or more collectors into a new one."""
        parts = list(collectors)
        if not parts:
            raise ValueError("collectors must be at least one; an empty list does not name the mechanism")
        result = Collector(parts[0].mechanism)
        for collector in parts:
            result = result.merge(collector)
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collector):
            return NotImplemented
        return same_law(self.mechanism, other.mechanism) and np.array_equal(self._counts, other._counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Collector of {self.total} reports of {self.mechanism.origin}, {len(self._counts)} outputs>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.mechanism, self._counts.copy(), self._shards, self.shard)

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts; the file is replaced completely or not at all, so a killed save keeps the last one."""
        content: Json = {
            "mechanism": fingerprint(self.mechanism),
            "reports": str(self.total),
            "counts": " ".join(map(str, self._counts.tolist())),
            "shard": self.shard,
            "shards": sorted(self._shards),
        }
        Document.wrap(COLLECTION, content).save(path)

    @classmethod
    def load(cls, file: FileLike, mechanism: Mechanism) -> "Collector":
        """Read a collection; raise PassportError if the file was changed or belongs to another mechanism."""
        content, empty = COLLECTION_FILE.read(file), cls(mechanism)
        shards, shard = content.get("shards"), content.get("shard")
        if not (isinstance(shards, list) and shard and all(type(name) is str for name in (shard, *shards))):
            raise PassportError("the collection is malformed: its shards must be a list of names")
        return _restore(mechanism, _read_counts(content, empty), frozenset(shards), shard)


def _restore(mechanism: Mechanism, counts: Ints, shards: frozenset[str], shard: str | None = None) -> Collector:
    collector = Collector(mechanism, shard)
    collector._counts, collector._shards = counts, shards
    return collector


def _read_counts(content: Json, collector: Collector) -> Ints:
    if content.get("mechanism") != fingerprint(collector.mechanism):
        raise PassportError("the collection was made with another mechanism; load that one")
    with as_passport_error("the collection is malformed"):
        counts, reports = (
            np.array(parse_integers(content["counts"]), dtype=np.int64),
            parse_integers(content["reports"]),
        )
    if counts.shape != collector._counts.shape or (counts < 0).any() or reports != [int(counts.sum(dtype=object))]:
        raise PassportError("the collection is malformed: its counts do not fit the mechanism")
    return counts


# --- which mechanism --------------------------------------------------------------------------------------


def fingerprint(mechanism: Mechanism) -> str:
    """Return the sha256 of a law and the values it reports; the origin of the mechanism does not matter."""
    query = mechanism.query
    digest = hashlib.sha256()
    parts: list[Any] = [query.kind, query.labels, query.answers.start, query.answers.unit, query.shape]
    parts += [query.outputs.values.start, query.outputs.values.unit, mechanism.epsilon]
    digest.update("|".join(map(str, parts)).encode())
    for scale in (query.answers, query.outputs.values):
        digest.update(np.asarray(scale.ticks, dtype="<i8").tobytes())
    digest.update(mechanism.law.canonical_bytes())
    return digest.hexdigest()


def same_law(one: Mechanism, other: Mechanism) -> bool:
    """Return whether two mechanisms report by the same law."""
    return one is other or one.law is other.law or fingerprint(one) == fingerprint(other)


# --- reports ----------------------------------------------------------------------------------------------


def tally(reports: Any, query: RangeQuery) -> Ints:
    """Count how often each output occurs among reported values. Raises `ValueError` if a value is not an output."""
    positions = output_positions(reports, query).ravel()
    return np.bincount(positions, minlength=len(query.outputs)).astype(np.int64, copy=False)


def output_positions(reports: Any, query: RangeQuery) -> Ints:
    """Return the positions of reported values among the outputs, in their shape."""
    values = np.asarray(reports)
    if values.size == 0:
        return np.zeros(values.shape, dtype=np.int64)
    if query.places is not None and values.dtype.kind in "iuf":
        return query.encode(values)
    positions = _label_positions(values, query) if query.labels is not None else _value_positions(values, query)
    unknown = int((positions < 0).sum())
    if unknown:
        raise ValueError(f"reports must be {_describe_outputs(query)}; {unknown} of {values.size} are not")
    return positions


def _describe_outputs(query: RangeQuery) -> str:
    if query.labels is not None:
        return "among the declared labels"
    values = query.outputs.values
    return f"among the outputs {values[0]}..{values[-1]} of the mechanism"


def _label_positions(values: NDArray[Any], query: RangeQuery) -> Ints:
    assert query.labels is not None
    place = {label: i for i, label in enumerate(query.labels)}
    flat = [place.get(label, -1) if isinstance(label, str) else -1 for label in values.ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(values.shape)


def _value_positions(reported: NDArray[Any], query: RangeQuery) -> Ints:
    """Return the positions of the nearest outputs, or -1 if the difference is more than ON_GRID of a step."""
    scale = query.outputs.values
    if reported.dtype.kind in "iu" and scale.is_regular and scale.unit == 1 and scale.start.denominator == 1:
        first, last = int(scale[0]), int(scale[-1])
        inside = (reported >= first) & (reported <= last)
        if inside.all():
            return reported.astype(np.int64, copy=False) - first
        return np.where(inside, reported.astype(np.int64) - first, -1)
    if reported.dtype.kind not in "iuf":
        raise TypeError(f"reports must be numbers, got {reported.dtype}")
    values, numbers = scale.floats(), reported.astype(np.float64)
    right = np.searchsorted(values, numbers).clip(max=len(values) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(values[left] - numbers) < np.abs(values[right] - numbers), left, right)
    is_output = np.abs(values[nearest] - numbers) <= float(ON_GRID * scale.unit)
    return np.where(is_output, nearest, -1)


def whole_counts(times: ArrayLike) -> Ints:
    """Return counts as int64. Raises `ValueError` unless they are whole and not negative."""
    counts = np.asarray(times)
    if counts.dtype.kind not in "iuf" or not (np.isfinite(counts).all() and (counts == np.floor(counts)).all()):
        raise ValueError("counts must be whole numbers")
    if (counts < 0).any():
        raise ValueError("counts must not be negative")
    return counts.astype(np.int64)

"""The data of datasets. A file is read once into memory as canonical records, and every question reads those."""

import os
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

from inbounds.curator.dataset import Dataset
from inbounds.plan.plan import Plan
from inbounds.releases.aggregate import CanonicalRecords, OpenSource, canonical_records, materialise, open_plan_source
from inbounds.schema.errors import AggregationError, SourceError
from inbounds.sources import csv_files
from inbounds.sources.open import FILES, silence_engine

DATABASES = ("duckdb", "sqlite")
"""Kinds of files that are databases. A database is read for each question, so that its owner can write to it."""


@dataclass(frozen=True)
class AttachedFile:
    """The canonical records of all declared columns of a file."""

    table: Any = field(repr=False)
    records: CanonicalRecords = field(repr=False)

    def close(self) -> None:
        with silence_engine(), suppress(Exception):
            self.table.get_backend().disconnect()


class Sources:
    """The attached sources, shared by all threads.

    A file is read once, when its dataset is attached, and not again until the curator restarts: new data need a new
    edition. at_once: questions answered at the same time. The processors are shared among them, because on small tables
    an engine with all processors spends more time on distributing work than on the work.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._threads = max(1, (os.cpu_count() or 1) // at_once)
        self._lock, self._attached = threading.Lock(), dict[str, AttachedFile]()

    def open(self, dataset: Dataset, plan: Plan) -> OpenSource:
        """Open the source of a plan about a dataset; its schema is compared with the plan's."""
        if not _stays_in_memory(dataset):
            return open_plan_source(plan)
        with self._lock:
            if dataset.name not in self._attached:
                self._attached[dataset.name] = self._read(dataset)
            attached = self._attached[dataset.name]
            attached.records.share_groups(plan)
        return open_plan_source(plan, attached.records.cursor(), attached.table)

    def attach(self, dataset: Dataset) -> None:
        """Read the dataset once, for its owner. Raises `SourceError` if it has more than `max_rows` records."""
        if _stays_in_memory(dataset):
            self.open(dataset, dataset.check_plan()).close()
            return
        plan = dataset.check_plan()
        with closing(open_plan_source(plan)) as opened, silence_engine():
            try:
                with canonical_records(plan, opened.table) as records:
                    rows = records.count()
            except Exception:  # the engine's message may quote a record
                rows = None
        _check_rows(dataset, rows)

    def _read(self, dataset: Dataset) -> AttachedFile:
        plan = dataset.check_plan()
        if plan.source.kind == "csv":
            csv_files.check_quotes(plan.source)
        opened, records = open_plan_source(plan), None
        with silence_engine(), suppress(Exception):  # the engine's message may quote a record
            records = materialise(plan, opened.table, days=True).share(self._threads)
        _check_rows(dataset, None if records is None else records.count())
        assert records is not None
        return AttachedFile(opened.table, records)

    def close(self) -> None:
        """Close everything that is attached."""
        with self._lock:
            while self._attached:
                self._attached.popitem()[1].close()


def _stays_in_memory(dataset: Dataset) -> bool:
    """Return whether a dataset is read once, and its records stay in memory."""
    kind = dataset.source.kind
    return kind in FILES.values() and kind not in DATABASES and dataset.source.engine != "spark"


def _check_rows(dataset: Dataset, rows: int | None) -> None:
    if rows is None:
        raise AggregationError("the engine stopped while reading the source; its reason may quote data and is withheld")
    if rows > dataset.max_rows:
        raise SourceError(f"must have at most {dataset.max_rows} records, and has more; raise max_rows", ("source",))

"""Checks of release records and of claimed optima, in rules of their own.

What a release must have done is written down here a second time, from the definitions and not from the code that does
it: which query, range and neighbours each statistic needs (`queries`), what one change of the data may cost
(`account`), which mechanisms must have drawn which numbers (`lines`), what follows from the draws without any
estimate, and which sums must hold (`cells`); and, apart from that, what no private mechanism can be below
(`optimality`). A fault in the release, or in the designer, is then not repeated here.

The rooms that make releases are never imported: no `tables`, `mechanism`, `query`, `design` or `trusted`. Shared are
`errors`, `files` (JSON text within limits, digests of files) and `extras` (PyArrow, which reads Parquet files).
"""

from inbounds.checker.cells import check_cells
from inbounds.checker.optimality import compute_proved_bound
from inbounds.checker.passports import Connection, connect
from inbounds.checker.record import CheckedRecord, check_record
from inbounds.checker.tablefile import PublishedTable, read_table

__all__ = [
    "CheckedRecord",
    "Connection",
    "PublishedTable",
    "check_cells",
    "check_record",
    "compute_proved_bound",
    "connect",
    "read_table",
]

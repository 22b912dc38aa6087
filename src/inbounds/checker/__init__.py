"""Independent checks of release records and of claimed optima.

The rules of a release are written here a second time, from the definitions: the query, range and neighbours of each
statistic (`queries`), the cost of one change of the data (`account`), the mechanisms that must have drawn the numbers
(`lines`), the cells that follow from the draws and the sums that must hold (`cells`). `optimality` proves a lower bound
for the loss of every private mechanism.

A record with a statistic of a kind that has no rule here is neither accepted nor refused: `NoRule` says which kind.

The checker never imports the packages that make releases: no `releases`, `mechanism`, `query`, `design` or `trusted`.
So a fault in a release or in the designer is not repeated here. It shares only `errors`, `files` (reading files) and
`optional` (PyArrow, which reads Parquet files).
"""

from inbounds.checker.cells import check_cells
from inbounds.checker.fields import NoRule
from inbounds.checker.optimality import compute_proved_bound
from inbounds.checker.passports import Connection, connect
from inbounds.checker.record import CheckedRecord, check_record
from inbounds.checker.tablefile import PublishedTable, read_table

__all__ = [
    "CheckedRecord",
    "Connection",
    "NoRule",
    "PublishedTable",
    "check_cells",
    "check_record",
    "compute_proved_bound",
    "connect",
    "read_table",
]

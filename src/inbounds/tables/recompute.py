"""A released table that adds up, computed again from the reports in its record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.errors import PassportError
from inbounds.tables.reopen import read, table_beside
from inbounds.tables.totals import Total, totals


@dataclass(frozen=True)
class Recomputed:
    """The columns that add up, computed again; which of them the table does not have so, and statistics that were
    made to add up otherwise than the record tells; the totals; and how each statistic was made to add up, by the
    posterior or by least squares.
    """

    columns: Mapping[str, list[Any]] = field(repr=False)
    different: tuple[str, ...]
    totals: tuple[Total, ...]
    by: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        sums = {own.column: None if own.sum is None else vars(own.sum) for own in self.totals}
        return {"different": list(self.different), "by": dict(self.by), "totals": sums, "columns": dict(self.columns)}


def recomputed(path: str | PathLike[str]) -> Recomputed:
    """Adjust the reports in a release record anew, and compare with the table beside it, digit by digit.

    Anyone can do so: it is post-processing of the reports, which are what is private and was drawn. Sums of floats may
    differ in another version of NumPy or SciPy, and the prior in another of ours; the versions are in the record.
    """
    from inbounds.tables.adjust import adjusted_columns

    record: Any = read(path)
    if "reports" not in record:
        raise ValueError(f"{Path(path).name} must be the record of a table that adds up, but it keeps no reports")
    table = table_beside(record, Path(path))
    try:
        adjusted = adjusted_columns(record["reports"])
        found = {name: values.tolist() for part, _ in adjusted for name, values in part.items()}
        different = tuple(name for name, values in found.items() if table[name].to_pylist() != values)
        names = [own["statistic"] for own in record["reports"]["statistics"]]
        by = dict(zip(names, (by for _, by in adjusted), strict=True))
        told = {own["statistic"]: own.get("by") for own in record["reports"]["statistics"]}
        different += tuple(name for name in by if told[name] not in (None, by[name]))
        return Recomputed(found, different, tuple(totals(record, table)), by)
    except (
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        MemoryError,
    ):  # a record may say anything
        raise PassportError(f"{Path(path).name} does not hold the reports of its table") from None

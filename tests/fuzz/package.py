"""The few calls of the package that the fuzzers make: a change of name there is an edit here and nowhere else."""

from contextlib import closing
from typing import Any

import numpy as np

from inbounds.plan.load import to_plan
from inbounds.releases.aggregate import materialise, open_plan_source
from inbounds.releases.pipeline import PlanError
from inbounds.sources.open import silence_engine

Cells = list[list[Any]]
"""For every number that is drawn a list: for every group its position, or how many of its records have each value."""


class Refused(Exception):
    """A plan is not accepted, for what stands at this path of it; no record was read."""

    def __init__(self, path: tuple[Any, ...]) -> None:
        super().__init__(path)
        self.path = path


class Stopped(Exception):
    """The aggregation of an accepted plan ended with an error."""


def is_accepted(content: dict[str, Any], frame: Any = None) -> bool:
    """Whether plan and schema are accepted; no record is read."""
    try:
        open_plan_source(to_plan(content, frame)).close()
    except PlanError:
        return False
    return True


def aggregate(content: dict[str, Any], frame: Any = None, *, attached: bool = False) -> Cells:
    """The true answers of a plan; `Refused` before any record is read, `Stopped` afterwards.

    attached: from records that stay in memory for other plans, as the curator keeps those of a file.
    """
    try:
        plan = to_plan(content, frame)
        opened = open_plan_source(plan)
    except PlanError as reason:
        raise Refused(tuple(reason.path)) from None
    with closing(opened):
        try:
            if attached:
                with silence_engine():
                    records = materialise(plan, opened.table, days=True).share(threads=1)
                found = open_plan_source(plan, records.cursor(), opened.table).aggregate()
            else:
                found = opened.aggregate()
        except Exception as reason:
            raise Stopped(type(reason).__name__) from None
    groups = np.arange(len(plan.groups))
    return [(own.histograms(groups) if hasattr(own, "histograms") else own).tolist() for own in found.positions]

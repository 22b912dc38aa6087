"""Plans in any of their forms, with the files they were read from: nothing is ever written over those."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.files.intake import from_toml, text_of
from inbounds.tables import reading
from inbounds.tables.plan import Plan
from inbounds.tables.source import Source

PlanLike = Plan | Mapping[str, Any] | str | PathLike[str]


def as_plan(plan: PlanLike, frame: Any = None) -> Plan:
    """A plan from any of its forms, its source replaced by a frame if there is one."""
    if isinstance(plan, Plan):
        reads = (*plan.reads, plan.source.path)
        return replace(plan, source=Source(frame=frame), reads=reads) if frame is not None else plan
    if isinstance(plan, Mapping):
        return replace(reading.plan_from(plan, frame=frame), reads=reading.named_source(plan, Path()))
    return read_plan(plan, frame=frame)


def read_plan(path: str | PathLike[str], *, frame: Any = None) -> Plan:
    """The plan in a TOML file; files it names are relative to its folder. A frame takes the place of its source."""
    file = Path(path)
    plan = reading.read_plan(file, frame=frame)
    return replace(plan, reads=(str(file), *reading.named_source(from_toml(text_of(file)), file.parent)))

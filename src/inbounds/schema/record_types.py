"""The fields of the release record and their types, the same in Python and in the file.

Exact numbers are texts such as "1/3". Fields that are not required depend on the plan, or are added when the table is
written.
"""

from typing import Any, NotRequired, TypedDict

from inbounds.schema.report_types import ReportsRecord


class SourceRecord(TypedDict):
    """The source of the data, without passwords."""

    kind: str
    name: str
    table: NotRequired[str]
    engine: NotRequired[str]
    decimal: NotRequired[str]
    thousands: NotRequired[str]
    encoding: NotRequired[str]
    header_row: NotRequired[str]


class ColumnRecord(TypedDict):
    """A declared column: the bounds of a number, or labels."""

    type: str
    low: NotRequired[str]
    high: NotRequired[str]
    step: NotRequired[str]
    missing: NotRequired[str]
    labels: NotRequired[list[str]]
    other: NotRequired[str]
    ignore_case: NotRequired[bool]
    trim: NotRequired[bool]
    codes: NotRequired[dict[str, str]]
    missing_codes: NotRequired[list[str]]
    max_length: NotRequired[int]


class StatisticRecord(TypedDict):
    """One statistic of a plan: its kind, the condition, column or columns it is about, and the fields that are set."""

    kind: str
    condition: NotRequired[str]
    column: NotRequired[str]
    columns: NotRequired[list[str]]
    name: str
    epsilon: NotRequired[str]
    budget_share: NotRequired[str]
    sum_to_size: NotRequired[bool]
    margins: NotRequired[list[str]]
    design: NotRequired[dict[str, Any]]
    at: NotRequired[str | list[str]]


class PersonRecord(TypedDict):
    """The privacy unit: the column that identifies a person, and how many records per group and groups count."""

    id: str
    max_records: int
    max_groups: int


class HierarchyRecord(TypedDict):
    """Levels from the top down, the weight and number of nodes of each, and shares of epsilon if the plan sets them."""

    levels: list[str]
    weights: list[str]
    shares: NotRequired[list[str]]
    nodes: list[int]


class PlanRecord(TypedDict):
    """A plan, with the number and digest of its keys. typical: a typical group size, or the ends of a range.

    keys: "from the data", with no group here and the largest size of all of them as max_size.
    """

    source: SourceRecord
    by: list[str]
    groups: int
    keys_sha256: str
    keys: NotRequired[str]
    max_size: NotRequired[int]
    sizes: str
    columns: dict[str, ColumnRecord]
    statistics: list[StatisticRecord]
    epsilon: str
    neighbours: str
    design: dict[str, Any]
    credible_level: str | None
    people: NotRequired[str]
    edition: NotRequired[str]
    unit: NotRequired[PersonRecord]
    typical: NotRequired[list[int]]
    missing_key: NotRequired[str]
    period: NotRequired[dict[str, str]]
    hierarchy: NotRequired[HierarchyRecord]
    where: NotRequired[str]
    delta: NotRequired[str]
    persons: NotRequired[int]
    allow_large_delta: NotRequired[bool]


class EpsilonRecord(TypedDict):
    """The epsilon of the plan, and the part of it that was spent: all of it at a delta, if the plan has one."""

    total: str
    spent: str
    delta: NotRequired[str]


class BudgetRecord(TypedDict):
    """The epsilon that a statistic spent, the epsilon at which each of its numbers was drawn, and the reason.

    layers: for a statistic that adds up, the epsilon of its own numbers and of each of their sums. draw_delta: the
    delta of each number, for the number of persons that groups from the data are published by.
    """

    statistic: str
    spent: str
    draw_epsilon: str
    reason: str
    draw_delta: NotRequired[str]
    layers: NotRequired[dict[str, str]]


class MechanismRecord(TypedDict):
    """The mechanism that answered a statistic for the groups of a size, or of sizes first..last.

    parts: the columns of the numbers that it drew, if the statistic is computed from them. layer: the layer of a
    statistic that adds up. law: the key of the mechanism's law in its passport. expected_error: of the published
    numbers; constant_error: of the best constant; parent_error: of the average of the published parent, for a statistic
    that adds up; standard_error: of `expected_error`, if that was simulated.
    """

    statistic: str
    size: int | str
    groups: int
    sha256: str
    epsilon: str
    answers: str
    neighbours: str
    origin: str
    query: dict[str, Any]
    law: str
    expected_error: float
    constant_error: NotRequired[float]
    parent_error: NotRequired[float]
    standard_error: NotRequired[float]
    parts: NotRequired[list[str]]
    layer: NotRequired[str]


class GroupsRecord(TypedDict):
    """The declared groups in order: the values of every column that names them, and their sizes in one line of text.

    types: the types of these columns: text, number, boolean, date or time.
    """

    keys: dict[str, list[str]]
    types: dict[str, str]
    sizes: str


class ChainRecord(TypedDict):
    """The mechanism chain that answered the groups of a size at one of several levels, by its digest."""

    level: str
    epsilon: str
    size: int
    groups: int
    sha256: str
    expected_error: float


class LedgerReference(TypedDict):
    """The ledger entry of a release, and the budget of its people after it; of the current period, if it renews."""

    id: str
    entry: int
    sha256: str
    key: str
    people: str
    rule: str
    unit: str
    budget: str | None
    spent: str
    left: str | None
    period: NotRequired[str]
    period_spent: NotRequired[str]
    period_budget: NotRequired[str]
    delta_budget: NotRequired[str]
    delta_spent: NotRequired[str]
    delta_left: NotRequired[str]


class TableReference(TypedDict):
    """The table beside the record."""

    file: str
    rows: int
    sha256: str


class AboutRecord(TypedDict):
    """What the author of a release says about it, for the page for the public. Nothing is computed from it."""

    title: NotRequired[str]
    author: NotRequired[str]
    contact: NotRequired[str]
    notes: NotRequired[str]


class ReleaseRecord(TypedDict):
    """The content of a release record; `table` is added when the table is written.

    draws: for every column that was drawn and does not add up, one line of whole numbers: the output of its mechanism
    for each row of the table. reports: the draws of statistics that add up. A dry run has neither.
    """

    id: str
    time: str
    plan_sha256: str
    plan: PlanRecord
    statement: str
    values: list[str]
    epsilon: EpsilonRecord
    account: list[BudgetRecord]
    composition: list[str]
    mechanisms: list[MechanismRecord]
    useless: list[str]
    versions: dict[str, str]
    groups: GroupsRecord
    draws: NotRequired[dict[str, str]]
    reports: NotRequired[ReportsRecord]
    levels: NotRequired[list[ChainRecord]]
    about: NotRequired[AboutRecord]
    ledger: NotRequired[LedgerReference | None]
    table: NotRequired[TableReference]

"""The release record as it stands in its file: every field and its type, the same in Python and on disk.

Exact numbers are texts: "1/3". What is not required depends on the plan, or is there once the table is written.
"""

from typing import Any, NotRequired, TypedDict

from inbounds.schema.report_types import ReportsRecord


class SourceRecord(TypedDict):
    """Where the data came from, without passwords."""

    kind: str
    name: str
    table: NotRequired[str]
    engine: NotRequired[str]
    decimal: NotRequired[str]


class ColumnRecord(TypedDict):
    """A declared column: bounds of a number, labels of a category."""

    type: str
    low: NotRequired[str]
    high: NotRequired[str]
    step: NotRequired[str]
    missing: NotRequired[str]
    labels: NotRequired[list[str]]
    other: NotRequired[str]


class StatisticRecord(TypedDict):
    """One statistic of a plan; epsilon or budget_share only where the plan says so."""

    kind: str
    of: str
    name: str
    epsilon: NotRequired[str]
    budget_share: NotRequired[str]
    sum_to_size: NotRequired[bool]
    margins: NotRequired[list[str]]
    design: NotRequired[dict[str, Any]]
    at: NotRequired[str]


class PersonRecord(TypedDict):
    """Whose a record is, and how many of one person's records count: in one group, and in how many groups."""

    id: str
    max_records: int
    max_groups: int


class HierarchyRecord(TypedDict):
    """Levels from the top down, how much each matters, its share of epsilon where the plan says so, and its nodes."""

    levels: list[str]
    weights: list[str]
    shares: NotRequired[list[str]]
    nodes: list[int]


class PlanRecord(TypedDict):
    """A plan; its keys by their number and digest."""

    source: SourceRecord
    by: list[str]
    groups: int
    keys_sha256: str
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
    missing_key: NotRequired[str]
    period: NotRequired[dict[str, str]]
    hierarchy: NotRequired[HierarchyRecord]
    where: NotRequired[str]


class EpsilonRecord(TypedDict):
    """What the plan allowed, and what was spent of it."""

    total: str
    spent: str


class BudgetRecord(TypedDict):
    """What a statistic spent, at which epsilon each number of it was drawn, and why.

    layers: of a statistic that adds up, the epsilon of its own numbers and of each of their sums.
    """

    statistic: str
    spent: str
    draw_epsilon: str
    reason: str
    layers: NotRequired[dict[str, str]]


class MechanismRecord(TypedDict):
    """The mechanism that answered a statistic for the groups of a size, or of sizes first..last.

    parts: the columns of the numbers that it drew, where the statistic is computed from them. layer: of a statistic
    that adds up, which of its layers. law: of a statistic that is drawn from records, whose query is a quantile.
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
    law: NotRequired[str]
    expected_error: float
    constant_error: NotRequired[float]
    parts: NotRequired[list[str]]
    layer: NotRequired[str]


class GroupsRecord(TypedDict):
    """The declared groups in order: the values of every column that names them, and their sizes in one line.

    types: of the same columns, as the schema has them: text, number, boolean, date or time.
    """

    keys: dict[str, list[str]]
    types: dict[str, str]
    sizes: str


class ChainRecord(TypedDict):
    """The noise chain that answered the groups of a size at one of several levels, by its own digest."""

    level: str
    epsilon: str
    size: int
    groups: int
    sha256: str
    expected_error: float


class LedgerReference(TypedDict):
    """The entry of the ledger that a release was charged to, and where its people stood afterwards."""

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


class TableReference(TypedDict):
    """The table beside the record."""

    file: str
    rows: int
    sha256: str


class ReleaseRecord(TypedDict):
    """The content of a release record; `table` is there once it is written.

    draws: for every column that was drawn and does not add up, one line of whole numbers: which output of its mechanism
    was drawn for each row of the table. reports: the same for statistics that add up. A dry run has neither.
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
    ledger: NotRequired[LedgerReference | None]
    table: NotRequired[TableReference]

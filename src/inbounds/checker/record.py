"""Check a release record by itself: digests, plan, statement, account, mechanisms and draws must agree."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from inbounds.checker.account import StatedCost, check_account
from inbounds.checker.draws import Outputs, StatedReports, check_draws, check_reports
from inbounds.checker.fields import (
    Fields,
    insist,
    read_count,
    read_object,
    read_text,
    read_texts,
    refuse,
    sha256_of_json,
)
from inbounds.checker.levels import StatedLevels, check_levels
from inbounds.checker.lines import StatedLine, check_lines, required_lines
from inbounds.checker.plan import StatedPlan, read_plan
from inbounds.checker.statement import format_short, format_statement
from inbounds.checker.tree import GroupTree, build_group_tree
from inbounds.errors import UnknownVersion, escape_unprintable

FORMAT, VERSION = "inbounds/release", 1


@dataclass(frozen=True)
class StatedTable:
    """The table that a record names: its file beside the record, its rows, and its digest."""

    file: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class CheckedRecord:
    """A record whose parts agree. sentences: what was checked, in words."""

    plan: StatedPlan
    costs: list[StatedCost] = field(repr=False)
    lines: list[StatedLine] = field(repr=False)
    outputs: Outputs = field(repr=False)
    reports: dict[str, StatedReports] = field(repr=False)
    tree: GroupTree | None = field(repr=False)
    levels: StatedLevels | None
    table: StatedTable | None
    sentences: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Return how many rows the table must have."""
        if self.tree is not None:
            return sum(map(len, self.tree.keys))
        return len(self.plan.sizes) * (1 if self.levels is None else len(self.levels.epsilons))


def check_record(content: Any) -> CheckedRecord:
    """Check a record's JSON values, envelope included; raise `PassportError` if a rule of this package is broken."""
    try:
        return _check_fields(open_envelope(content, FORMAT, "a release record"))
    except (ArithmeticError, RecursionError):
        refuse("the record is not a whole release record")


def open_envelope(values: Any, name: str, what: str) -> Any:
    """Return the content of an envelope; refuse another format, version or digest."""
    envelope = Fields(values, what)
    insist(values.get("format") == name, f"this is not {what}")
    version = values.get("version")
    if type(version) is not int or version != VERSION:
        raise UnknownVersion(f"this file has version {str(version)[:20]}; inbounds reads version {VERSION}")
    unchanged = envelope.digest("sha256") == _digest({part: values[part] for part in values if part != "sha256"})
    insist(unchanged, f"{what} was changed: it does not have its own digest")
    content = [envelope.anything(part) for part in ("format", "version", "content")][-1]
    envelope.end()
    return content


def _check_fields(content: Any) -> CheckedRecord:
    fields = Fields(content, "a release record")
    if fields.has("ledger"):
        _check_ledger_entry(fields.anything("ledger"))
    if fields.has("about"):
        _check_about(fields.anything("about"))
    for name in ("id", "time"):
        fields.text(name)
    for name in ("values", "composition", "useless"):
        fields.take(name, read_texts, "a list of texts")
    fields.take("versions", lambda value: [read_text(text) for text in read_object(value).values()], "texts by name")
    plan_values = fields.anything("plan")
    insist(fields.digest("plan_sha256") == _digest(plan_values), "the plan does not have the digest stated")
    plan = read_plan(plan_values, fields.anything("groups"))
    tree = None if plan.hierarchy is None else build_group_tree(plan)
    costs = check_account(fields.objects("account"), fields.anything("epsilon"), plan)
    spent = plan.epsilon if plan.delta else sum((cost.spent for cost in costs), Fraction(0))
    stated = fields.text("statement")
    insist(stated == format_statement(plan, spent), "the statement is not what the plan and the account promise")
    lines = check_lines(
        fields.objects("mechanisms"), [line for cost in costs for line in required_lines(cost, plan, tree)]
    )
    levels = check_levels(fields.objects("levels"), costs, plan) if fields.has("levels") else None
    outputs = check_draws(fields.anything("draws"), costs, plan, tree, 1 if levels is None else len(levels.epsilons))
    adding = any(plan.adds_up(statistic) for statistic in plan.statistics)
    insist(adding == fields.has("reports"), "the field reports must be there if statistics add up, and not otherwise")
    reports = check_reports(fields.anything("reports"), costs, plan, tree) if adding else {}
    table = _read_table(fields.anything("table")) if fields.has("table") else None
    fields.end()
    sentences = _sentences(stated, plan, costs, spent, len(lines))
    checked = CheckedRecord(plan, costs, lines, outputs, reports, tree, levels, table, sentences)
    insist(table is None or table.rows == checked.rows, "the table does not have a row for each of the plan's groups")
    return checked


def _check_ledger_entry(values: Any) -> None:
    """Check the types of the entry of a ledger, or null. Its values are checked with the ledger, not here."""
    if values is None:
        return
    fields = Fields(values, "the entry of the ledger")
    fields.whole("entry")
    fields.digest("sha256")
    for name in ("id", "key", "people", "rule", "unit", "spent"):
        fields.text(name)
    for name in ("budget", "left"):
        fields.take(name, lambda value: None if value is None else read_text(value), "text or null")
    for first, names in {
        "period": ("period", "period_spent", "period_budget"),
        "delta_budget": ("delta_budget", "delta_spent", "delta_left"),
    }.items():
        for name in names if fields.has(first) else ():
            fields.text(name)
    fields.end()


def _check_about(values: Any) -> None:
    """Check the types of what the author says; nothing follows from it."""
    fields = Fields(values, "what the author says")
    for name in ("title", "author", "contact", "notes"):
        fields.optional_text(name)
    fields.end()


def _digest(value: Any) -> str:
    try:
        return sha256_of_json(value)
    except (ValueError, RecursionError):
        return ""  # an infinite number has no digest


def _read_table(values: Any) -> StatedTable:
    fields = Fields(values, "the table")
    table = StatedTable(fields.text("file"), fields.take("rows", read_count, "a whole number"), fields.digest("sha256"))
    fields.end()
    plain = table.file not in ("", ".", "..") and not set(table.file) & set("/\\\0")
    insist(plain, "the record names a table that is not beside it")
    return table


def _sentences(
    statement: str, plan: StatedPlan, costs: list[StatedCost], spent: Fraction, lines: int
) -> tuple[str, ...]:
    statement = escape_unprintable(statement.partition("\n")[0])
    parts = " + ".join(format_short(cost.spent) for cost in costs)
    total = f"{parts} = {format_short(spent)}" if len(costs) > 1 else parts
    account = f"the account adds up: {total} of epsilon {format_short(plan.epsilon)}"
    if plan.is_found:
        account = f"{account}, and all of delta {format_short(plan.delta)} is for which groups are published"
    elif plan.delta:
        account = (
            f"the account is private together: statistics of epsilon {parts} are epsilon {format_short(plan.epsilon)} "
            f"at delta {format_short(plan.delta)}"
        )
    mechanisms = f"each of {lines} mechanisms" if lines > 1 else "the mechanism"
    return (
        "the record, its plan and its groups have the digests stated",
        f"the statement is what its plan and account promise: {statement.rstrip('.')}",
        account,
        f"{mechanisms} has the query, the range, the neighbours and the epsilon that its statistic requires",
    )

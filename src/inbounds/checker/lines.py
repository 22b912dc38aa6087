"""Check the mechanisms of a record: it must have one line for each statistic, layer and size, in order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.checker.account import StatedCost
from inbounds.checker.fields import Fields, insist, read_count, read_exact, read_number, read_text, read_texts
from inbounds.checker.plan import StatedPlan
from inbounds.checker.queries import RequiredQuery, required_query
from inbounds.checker.tree import GroupTree


@dataclass(frozen=True)
class RequiredLine:
    """The required content of a line about a mechanism.

    size: one group size, or first..last. layer: "" for a statistic that does not add up. parts: the columns that it
    drew, if it is computed from others. delta: of a number of persons that publishes groups.
    """

    statistic: str
    layer: str
    size: int | str
    groups: int
    epsilon: Fraction
    query: RequiredQuery
    parts: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)

    @property
    def owner(self) -> str:
        """Return in words which numbers it drew."""
        layer = f", {self.layer}" if self.layer else ""
        return f"{self.statistic}{layer} in groups of {self.size}"


@dataclass(frozen=True)
class StatedLine:
    """A line with the required content, and the digest of the mechanism's passport."""

    required: RequiredLine
    sha256: str
    expected_error: float


def drawn_parts(cost: StatedCost, plan: StatedPlan) -> tuple[str, ...]:
    """Return the columns of the numbers that a statistic is computed from; () if none."""
    return tuple(f"{cost.statistic.name}_{part}" for part in plan.parts(cost.statistic))


def required_lines(cost: StatedCost, plan: StatedPlan, tree: GroupTree | None) -> list[RequiredLine]:
    """Return the lines of one statistic: its own numbers by size, then the sums beside them, or every level by size."""
    statistic, name = cost.statistic, cost.statistic.name
    (own_layer, own_epsilon), *above = cost.layers.items()
    lines = _lines_by_size(cost, plan, own_layer, own_epsilon, plan.sizes)
    for level, (layer, epsilon) in enumerate(above, start=1):
        if plan.is_drawn_of_levels(statistic):
            assert tree is not None
            lines += _lines_by_size(cost, plan, layer, epsilon, tree.people[level])
            continue
        size, groups = _layer_size(cost, plan, tree, level)
        lines.append(RequiredLine(name, layer, size, groups, epsilon, required_query(statistic, plan, size)))
    return lines


def _lines_by_size(
    cost: StatedCost, plan: StatedPlan, layer: str, epsilon: Fraction, sizes: Sequence[int]
) -> list[RequiredLine]:
    """Return the lines of numbers that each have the mechanism of their size; one line if all sizes share it."""
    statistic, name = cost.statistic, cost.statistic.name
    size_counts, parts = sorted(Counter(sizes).items()), drawn_parts(cost, plan)
    if plan.is_found:
        size_counts = [(plan.most, len(sizes))]
    queries = {size: required_query(statistic, plan, size, cost.records) for size, _ in size_counts}
    if (
        len(size_counts) > 1 and len({str(query.content) for query in queries.values()}) == 1
    ):  # sizes share one mechanism
        first, last = size_counts[0][0], size_counts[-1][0]
        return [RequiredLine(name, layer, f"{first}..{last}", len(sizes), epsilon, queries[first], parts)]
    return [RequiredLine(name, layer, n, groups, epsilon, queries[n], parts, cost.delta) for n, groups in size_counts]


def _layer_size(cost: StatedCost, plan: StatedPlan, tree: GroupTree | None, level: int) -> tuple[int, int]:
    """Return the size of the largest node of a layer, for which its mechanism is made, and the number of nodes."""
    if cost.statistic.rule.over_cells:
        return max(plan.sizes), len(plan.sizes)
    assert tree is not None
    return max(tree.people[level]), len(tree.people[level])


def check_lines(values: list[Any], required: list[RequiredLine]) -> list[StatedLine]:
    """Return the lines of a record; refuse a line that its statistic does not require."""
    insist(len(values) == len(required), "the mechanisms are not those of the plan's groups and statistics")
    return [_check_line(value, line) for value, line in zip(values, required, strict=True)]


def _check_line(values: Any, line: RequiredLine) -> StatedLine:
    fields = Fields(values, "a mechanism")
    name, layer = fields.text("statistic"), fields.optional_text("layer")
    size, groups = fields.anything("size"), fields.take("groups", read_count, "a whole number")
    same = (name, layer, size, groups) == (line.statistic, line.layer, line.size, line.groups)
    insist(same and type(size) is type(line.size), "the mechanisms are not those of the plan's groups and statistics")
    epsilon = fields.take("epsilon", read_exact, "an exact number in text")
    insist(epsilon == line.epsilon, f"the mechanism of {line.owner} was not drawn at the epsilon of its account")
    check_query(fields.anything("query"), line)
    parts = fields.optional("parts", read_texts, "texts") or ()
    insist(parts == line.parts, f"the mechanism of {line.owner} did not draw the numbers of its statistic")
    for text_field in ("answers", "neighbours", "origin", "law"):
        fields.take(text_field, read_text, "text")
    error = fields.take("expected_error", read_number, "a number")
    for name_of_error in ("constant_error", "parent_error", "standard_error"):
        fields.optional(name_of_error, read_number, "a number")
    digest = fields.digest("sha256")
    fields.end()
    return StatedLine(line, digest, error)


def check_query(stated: Any, line: RequiredLine) -> None:
    """Refuse a query that differs in any field from the one that the statistic requires."""
    if is_same_json(stated, line.query.content):
        return
    kinds = [part.get("neighbours") if type(part) is dict else None for part in (stated, line.query.content)]
    if not line.query.is_quantile and kinds[0] != kinds[1]:
        insist(False, f"the mechanism of {line.owner} has other neighbours than its statistic requires")
    insist(False, f"the mechanism of {line.owner} answers another question than its statistic's")


def is_same_json(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of equal types: true is not 1."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(is_same_json(one[name], other[name]) for name in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return bool(one == other)

"""Budget: the epsilon at which each number of a statistic is drawn, and what all of them cost together.

One record is one person. With public sizes a table has n records per group, an absent one counts as `missing`, and
one record is changed within its group. Adding or removing a record is also covered: it moves every answer no further
than changing a record does. A record that moves to another group changes two groups, at twice the epsilon.

With a maximum, one record is added or removed. Changing a record, also to another group, is one removed and one added:
a plan that promises this with a maximum answers everything at half its epsilon.

With persons, one person is added or removed, with up to r records in each of up to c groups. A statistic of one number
is moved by r records at once, in c groups: it is drawn at epsilon/c for neighbours r times as far apart, or one record
apart if it counts a person once. If records may
touch different numbers (cells, or a pair of sums), each of the r·c costs its own part: drawn at epsilon/(r·c) for
neighbours one record apart, so that k records in one number cost k times that. Drawing every cell for r records at
epsilon/c would cost up to r times too much.

Statistics that add up are drawn together with their sums, in layers: levels of a hierarchy, margins of a crosstab. So
are quantiles, variances and modes, of every level by itself. A record is in one node of each layer, so the layers'
shares of epsilon add up; persons are counted by unit, because records in different groups may be in one node above.

`statistics` defines for each kind how far one record moves an answer, and so which query answers it.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from inbounds.plan.plan import CHANGE, PERSON, Plan
from inbounds.query import JointQuantileQuery, QuantileQuery, Query, with_neighbours
from inbounds.releases.layers import LayeredStatistic, plan_layers
from inbounds.schema.columns import ContributionBound
from inbounds.statistics import Statistic, StatisticContext


@dataclass(frozen=True)
class BudgetLine:
    """One line of the budget: a statistic, what it spends, and the epsilon at which each of its numbers is drawn.

    records: how many records one person moves each number by at that epsilon. layered: how a statistic in layers
    shares the epsilon among them. delta: of each number, if it publishes groups from the data.
    """

    statistic: Statistic
    spent: Fraction
    drawn_at: Fraction
    reason: str
    records: int = 1
    layered: LayeredStatistic | None = None
    delta: Fraction = Fraction(0)

    @property
    def statistic_epsilon(self) -> Fraction:
        """Return the epsilon of the statistic's own numbers."""
        return self.drawn_at if self.layered is None else self.drawn_at * self.layered.share


def plan_budget(plan: Plan) -> list[BudgetLine]:
    """Compute what every statistic spends; groups are disjoint and compose in parallel, statistics add up."""
    lines, person = [], plan.contribution
    for statistic, spent in zip(plan.statistics, plan.epsilons, strict=True):
        by_unit = statistic.by_unit or plan.is_layered(statistic)
        drawn_at, reason = draw_epsilon(statistic, plan.groups.public, plan.neighbours, spent, person, by_unit)
        records = 1 if by_unit or statistic.once else person.records
        layers = plan_layers(plan, statistic, drawn_at) if plan.is_layered(statistic) else None
        lines.append(BudgetLine(statistic, spent, drawn_at, reason, records, layers, plan.draw_delta(statistic)))
    return lines


def draw_epsilon(
    statistic: Statistic, public: bool, neighbours: str, spent: Fraction, person: ContributionBound, by_unit: bool
) -> tuple[Fraction, str]:
    """Return the epsilon at which each number of a statistic is drawn, and the reason.

    by_unit: records of one person may touch different numbers, so that each costs its own part.
    """
    if neighbours == PERSON:
        return _draw_epsilon_for_persons(by_unit, spent, replace(person, records=1) if statistic.once else person)
    if neighbours == CHANGE and not public:
        return spent / 2, "half, because a changed record may leave one group and enter another"
    if neighbours == CHANGE and statistic.in_cells:
        return spent / 2, "half, because a changed record leaves one cell and enters another"
    return spent, "all of it, because one record touches one number of one group"


def _draw_epsilon_for_persons(by_unit: bool, spent: Fraction, person: ContributionBound) -> tuple[Fraction, str]:
    touched = person.groups * (person.records if by_unit else 1)
    records, groups = _format_count(person.records, "record"), _format_count(person.groups, "group")
    if by_unit and person.records > 1:
        why = f"{records} of one person may touch as many numbers" + (f", in each of {groups}" * (person.groups > 1))
    else:
        why = f"one person moves one number of each of {groups}"
        why += f", by up to {records}" if person.records > 1 else ""
    return spent / touched, f"{'all' if touched == 1 else f'1/{touched}'} of it, because {why}"


def _format_count(number: int, what: str) -> str:
    return f"one {what}" if number == 1 else f"{number} {what}s"


def query_for_person(statistic: Statistic, context: StatisticContext, size: int, records: int = 1) -> Query:
    """Build the query of a statistic in a group of a size, if one person has up to `records` records in it."""
    query = statistic.query(context, size)
    if isinstance(query, QuantileQuery | JointQuantileQuery):
        return replace(query, records=records)
    return with_neighbours(query, query.neighbours.with_records(records, query.answers))

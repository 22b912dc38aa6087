"""At which epsilon each number of a statistic is drawn, and what all of them cost together.

One record is one person. With public sizes a table is n records per group, an absent one counting as `missing`, and
one record is changed within its group. Adding or removing a record is covered as well: it moves every answer no
further than changing a record does. A record that moves to another group changes two groups: twice the epsilon.

With a maximum, one record is added or removed. Changing a record, also to another group, is one removed and one
added: a plan that promises this with a maximum answers everything at half its epsilon.

How far one record moves each answer, and so which query answers it, is said in `statistics`, for each kind.
"""

from dataclasses import dataclass
from fractions import Fraction

from inbounds.tables.plan import CHANGE, Plan, Statistic
from inbounds.tables.statistics import KINDS


@dataclass(frozen=True)
class AccountLine:
    """One line of the account: a statistic, what it spends, and at which epsilon each number of it is drawn."""

    statistic: Statistic
    spent: Fraction
    drawn_at: Fraction
    reason: str


def account(plan: Plan) -> list[AccountLine]:
    """What every statistic spends; groups are disjoint and compose in parallel, statistics add up."""
    return [
        AccountLine(statistic, spent, *drawn(statistic.kind, plan.groups.public, plan.neighbours, spent))
        for statistic, spent in zip(plan.statistics, plan.epsilons, strict=True)
    ]


def drawn(kind: str, public: bool, neighbours: str, spent: Fraction) -> tuple[Fraction, str]:
    """The epsilon at which each number of a statistic is drawn, and why: a changed record may move two of them."""
    if neighbours == CHANGE and not public:
        return spent / 2, "half, because a changed record may leave one group and enter another"
    if neighbours == CHANGE and KINDS[kind].in_cells:
        return spent / 2, "half, because a changed record leaves one cell and enters another"
    return spent, "all of it, because one record touches one number of one group"

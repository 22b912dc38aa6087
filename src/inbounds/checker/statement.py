"""Write the guarantee of a release in words, from its plan. A record must contain exactly this text."""

import math
from fractions import Fraction

from inbounds.checker.plan import CHANGE, PERSON, StatedPlan

WELL_FORMED = (
    "fields with a quotation mark, the delimiter or a line break stand in quotation marks, those within are doubled, "
    "and no carriage return stands alone among line feeds"
)


def format_statement(plan: StatedPlan, spent: Fraction) -> str:
    """Write the guarantee: who is protected, from what, by how much; then a line of details."""
    who = "Each row counts as one person"
    if plan.person is not None:
        who = f"All rows with the same {plan.person.id} are one person"
    times, short = f"{math.exp(float(spent)):.4g} times", format_short(spent)
    if plan.delta:
        bound = (
            f"any set of tables has at most {times} the probability that it would have if {_changed(plan)}, plus "
            f"{format_short(plan.delta)} (epsilon {short}, delta {format_short(plan.delta)})"
        )
    else:
        bound = (
            f"any table that can be published is at most {times} as likely as it would be if {_changed(plan)} (epsilon "
            f"{short})"
        )
    sizes = "The size of each group is protected; only its declared maximum is public."
    if plan.public:
        sizes = "Which group a person belongs to and how large each group is are public, and not protected."
    if plan.is_found:
        sizes = _describe_found_groups(plan.delta)
    return f"{who}, and {bound}. {sizes}\n{_details(plan, spent)}"


def _describe_found_groups(delta: Fraction) -> str:
    """Write which groups are in the table, if they are those that the data holds."""
    return (
        "Groups are read from the data: a group is in the table only where its number of persons, with noise, exceeds "
        "a threshold, so one that is missing may be empty, or have persons. If a person is alone in groups, any of "
        f"these is in the table with a probability of at most {format_short(delta)}."
    )


def format_short(value: Fraction) -> str:
    """Write a decimal if six digits are exact, otherwise the fraction.

    >>> format_short(Fraction(1, 4)), format_short(Fraction(1, 3))
    ('0.25', '1/3')
    """
    text = f"{float(value):.6g}"
    return text if Fraction(text) == value else str(value)


def _changed(plan: StatedPlan) -> str:
    if plan.public:
        return "one person's row were different or left out"
    if plan.neighbours == CHANGE:
        return "one person's row were any other, also in another group"
    return f"one person's {'rows' if plan.neighbours == PERSON else 'row'} were added or removed"


def _details(plan: StatedPlan, spent: Fraction) -> str:
    text = "A row is a record that the source's reader delivers."
    if plan.person is not None:
        person, plural = plan.person, "s" if plan.person.groups > 1 else ""
        text += (
            f" At most {person.records} rows of a person count in each of at most {person.groups} group{plural}, "
            f"chosen by that person's own rows alone; rows without {person.id} count for nobody, and values of "
            f"{person.id} are compared byte by byte."
        )
    moved = "A row that is replaced by another"
    if plan.public:
        moved = "A person who moves from one group to another"
    elif plan.neighbours == PERSON:
        moved = "A person who is replaced by another, or whose rows change,"
    if plan.public or plan.neighbours != CHANGE:
        deltas = ", and twice the delta" if plan.is_found else ", and 1 + exp(epsilon) times the delta"
        twice = format_short(2 * spent) + (deltas if plan.delta else "")
        text += f" {moved} is covered at twice the epsilon, {twice}."
    formed = f" The CSV file must be well formed ({WELL_FORMED}); if not, it is refused."
    return text + formed if plan.source == "csv" else text

"""Write the guarantee of a release in words, from its plan. A record must contain exactly this text."""

import math
from fractions import Fraction

from inbounds.checker.plan import CHANGE, PERSON, StatedPerson, StatedPlan

WELL_FORMED = (
    "fields with a quotation mark, the delimiter or a line break stand in quotation marks, those within are doubled, "
    "and no carriage return stands alone among line feeds"
)


def format_statement(plan: StatedPlan, spent: Fraction) -> str:
    """Write the guarantee: who is protected, from what, by how much."""
    whatever = "Whatever these records hold" if plan.neighbours == PERSON else "Whatever that record holds"
    if plan.delta:
        return (
            f"{_record(plan.source, plan.person)} {_relation(plan, spent)} {whatever}, any set of tables has at most "
            f"{math.exp(float(spent)):.4g} times the probability that it would have otherwise, plus "
            f"{format_short(plan.delta)} (epsilon {format_short(spent)}, delta {format_short(plan.delta)})."
        )
    return (
        f"{_record(plan.source, plan.person)} {_relation(plan, spent)} {whatever}, any table this release can give "
        f"is at most {math.exp(float(spent)):.4g} times likelier than it would be otherwise (epsilon "
        f""
        f"{format_short(spent)})."
    )


def format_short(value: Fraction) -> str:
    """Write a decimal if six digits are exact, otherwise the fraction.

    >>> format_short(Fraction(1, 4)), format_short(Fraction(1, 3))
    ('0.25', '1/3')
    """
    text = f"{float(value):.6g}"
    return text if Fraction(text) == value else str(value)


def _record(source: str, person: StatedPerson | None) -> str:
    text = "One record, a row that the source's reader delivers, is one person."
    if person is not None:
        plural = "s" if person.groups > 1 else ""
        text = (
            f"One person is all records, rows that the source's reader delivers, with the same {person.id}, byte by "
            f"byte; at most {person.records} of them count in each of at most {person.groups} group{plural}, chosen by "
            f"that person's own records alone, and records without {person.id} count for nobody."
        )
    formed = f" The CSV file must be well formed ({WELL_FORMED}); if not, it is refused."
    return text + formed if source == "csv" else text


def _relation(plan: StatedPlan, spent: Fraction) -> str:
    twice = format_short(2 * spent) + (", and 1 + exp(epsilon) times the delta" if plan.delta else "")
    if plan.public:
        return (
            "Which group a person belongs to and how large each group is are public; everything else about one person "
            "may be changed, or the record left out. (A person who moves from one group to another is covered at twice "
            f"the epsilon, {twice}.)"
        )
    sizes = "Group sizes are not public beyond a declared maximum; one person"
    if plan.neighbours == PERSON:
        return (
            f"{sizes} may be added or removed, with all records. (A person replaced by another, or whose records "
            f"change, is covered at twice the epsilon, {twice}.)"
        )
    if plan.neighbours == CHANGE:
        return f"{sizes}'s record may be replaced by any other, also in another group."
    return (
        f"{sizes}'s record may be added or removed. (Replacing it by another is covered at twice the epsilon, {twice}.)"
    )

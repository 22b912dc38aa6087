"""Populations: the people of a ledger, their budget, and what was spent on them."""

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from inbounds.exact import Number, format_all_digits, to_fraction
from inbounds.ledger.units import (
    ATTO,
    MOST,
    RULES,
    UNITS,
    Rule,
    budget_units,
    charge_units,
    delta_budget_units,
    units_to_amount,
)

Every = Literal["year", "month"]
"""After what a budget renews."""

PERIODS = {"year": r"[0-9]{4}", "month": r"[0-9]{4}-(0[1-9]|1[0-2])"}
EXAMPLES = {"year": "2027", "month": "2027-03"}
"""How periods are named, so that a later one is larger as a text."""

LONGEST = 200
"""Most characters of a name or key."""

DECLARED = ("name", "rule", "epsilon", "delta", "every", "answer_delta")
"""The declared fields, which must be the same in two declarations."""


class Population(NamedTuple):
    """The people of a ledger. Amounts are exact, in epsilon under the rule sum, in rho under zCDP (`unit`).

    budget, remaining: None if spending is counted without a cap. epsilon, delta: as declared.

    every: year or month if the budget renews; then epsilon and delta are those of one period, budget is what may be
    spent in all until the end of the current period, and earlier_units were spent before it began.

    Answers with a delta of their own spend from the delta budget, which is 0 unless declared: all of delta under sum;
    under zCDP answer_delta, a part of delta, and the rest of delta converts rho.
    """

    name: str
    rule: Rule
    epsilon: Fraction | None
    delta: Fraction | None
    budget_units: int | None
    spent_units: int
    every: Every | None = None
    period: str | None = None
    earlier_units: int = 0
    answer_delta: Fraction | None = None
    delta_budget_units: int = 0
    delta_spent_units: int = 0
    delta_earlier_units: int = 0

    @property
    def unit(self) -> str:
        """Return the unit of amounts: epsilon or rho."""
        return UNITS[self.rule]

    @property
    def budget(self) -> Fraction | None:
        """Return the budget."""
        return None if self.budget_units is None else units_to_amount(self.rule, self.budget_units)

    @property
    def spent(self) -> Fraction:
        """Return what was spent."""
        return units_to_amount(self.rule, self.spent_units)

    @property
    def remaining(self) -> Fraction | None:
        """Return what is left of the budget."""
        left = None if self.budget_units is None else self.budget_units - self.spent_units
        return None if left is None else units_to_amount(self.rule, left)

    @property
    def delta_budget(self) -> Fraction:
        """Return the delta that answers with a delta of their own may spend."""
        return self.delta_budget_units * ATTO

    @property
    def delta_spent(self) -> Fraction:
        """Return the delta that was spent by answers with a delta of their own."""
        return self.delta_spent_units * ATTO

    @property
    def delta_remaining(self) -> Fraction:
        """Return what is left of the delta budget."""
        return self.delta_budget - self.delta_spent

    @property
    def rho_delta(self) -> Fraction | None:
        """Return the delta at which rho is converted: what answer_delta leaves of delta."""
        return None if self.delta is None else self.delta - (self.answer_delta or 0)

    @property
    def declared_delta_budget(self) -> Fraction | None:
        """Return the declared delta budget, of one period if it renews; None if there is none."""
        return self.delta if self.rule == "sum" else self.answer_delta

    def with_spent(self, units: int, delta_units: int) -> "Population":
        """Return the population with other units spent."""
        return self._replace(spent_units=units, delta_spent_units=delta_units)

    @property
    def earlier(self) -> Fraction:
        """Return what was spent before the current period."""
        return units_to_amount(self.rule, self.earlier_units)

    @property
    def period_spent(self) -> Fraction:
        """Return what was spent in the current period; of a budget that does not renew, all."""
        return self.spent - self.earlier

    @property
    def period_budget(self) -> Fraction | None:
        """Return the budget of the current period; of a budget that does not renew, the whole."""
        return None if self.budget is None else self.budget - self.earlier

    def largest_epsilon(self) -> Fraction:
        """Return the epsilon of the dearest question that can still be charged, in steps of 10^-18; 0 without a cap."""
        left = 0 if self.budget_units is None else self.budget_units - self.spent_units
        low, high, step = 0, 1, Fraction(1, 10**18)
        while left and charge_units(self.rule, (high * step,)) <= left:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if charge_units(self.rule, (middle * step,)) <= left:
                low = middle
            else:
                high = middle
        return low * step

    def renew(self, period: str) -> "Population":
        """Return the population in a later period, with a new budget; what was left of the old one is lost.

        Raises ValueError unless the budget renews and the period is a later one.
        """
        if self.every is None or self.period is None:
            raise ValueError(
                f"people must have a budget that renews, got {self.name}; create people with a budget for every year "
                "or month under another name"
            )
        if validate_period(period, self.every) <= self.period:
            raise ValueError(f"period must be later than {self.period}, got {period}; a period is never opened again")
        later = self._replace(period=period, earlier_units=self.spent_units)
        return later._replace(delta_earlier_units=self.delta_spent_units).with_allowance()

    def with_allowance(self) -> "Population":
        """Return the population with the units that its declared epsilon and delta allow until the period ends."""
        own = self.declared_delta_budget
        delta = 0 if own is None else self.delta_earlier_units + delta_budget_units(own)
        if delta > MOST:
            raise ValueError(f"delta must add up to at most {MOST} units over all periods, got {delta} units")
        if self.epsilon is None:
            return self._replace(budget_units=None, delta_budget_units=delta)
        units = self.earlier_units + budget_units(self.rule, self.epsilon, self.rho_delta)
        if units > MOST:
            raise ValueError(f"epsilon must add up to at most {MOST} units over all periods, got {units} units")
        return self._replace(budget_units=units, delta_budget_units=delta)

    def check_edition(self, edition: str) -> None:
        """Raise ValueError if data of this edition cannot be charged: a renewed budget is that of one period."""
        if self.period is not None and not is_edition_of(edition, self.period):
            raise ValueError(
                f"edition must be of the current period of {self.name}, such as {self.period}, got {edition!r}; give "
                f'--edition {self.period}, or edition = "{self.period}" in the first lines of the plan; earlier '
                "periods are closed, and inbounds ledger renew opens a later one"
            )

    @property
    def spent_epsilon(self) -> Fraction:
        """Return the epsilon guaranteed for all that was spent; under zCDP at their delta, rounded up.

        Under sum its delta is what was spent of delta.
        """
        if self.rule == "sum":
            return self.spent
        from inbounds.accounting.zcdp_filter import epsilon_from_rho

        assert self.rho_delta is not None
        return epsilon_from_rho(self.spent_units, self.rho_delta)

    def to_json(self) -> dict[str, str | None]:
        """Return plain JSON values; amounts as exact decimals in text."""
        amounts = {"budget": self.budget, "spent": self.spent, "left": self.remaining}
        named = {"name": self.name, **{key: _digits(value) for key, value in amounts.items()}}
        declared = {"epsilon": _digits(self.epsilon), "delta": _digits(self.delta)}
        renewal = {"every": self.every, "period": self.period, "earlier": _digits(self.earlier)} if self.every else {}
        return {**named, "rule": self.rule, "unit": self.unit, **declared, **renewal, **self._delta_to_json()}

    def _delta_to_json(self) -> dict[str, str | None]:
        if not self.delta_budget_units:
            return {}
        amounts = {"budget": self.delta_budget, "spent": self.delta_spent, "left": self.delta_remaining}
        return {
            **({} if self.answer_delta is None else {"answer_delta": _digits(self.answer_delta)}),
            **{f"delta_{key}": _digits(value) for key, value in amounts.items()},
        }

    def __str__(self) -> str:
        """Return name, amount spent and amount left in one line."""
        return f"{self._format_amounts()}{self.describe_delta()}"

    def describe_delta(self) -> str:
        """Return "; delta 0 of 0.000001 spent", or an empty text if there is no delta budget."""
        if not self.delta_budget_units:
            return ""
        spent, whole = format_all_digits(self.delta_spent), format_all_digits(self.delta_budget)
        return f"; delta {spent} of {whole} spent" + (" in all periods so far" if self.every else "")

    def _format_amounts(self) -> str:
        spent = f"{self.unit} {format_all_digits(self.spent)}"
        if self.remaining is None or self.budget is None:
            return f"{self.name}: {spent} spent, counted without a cap"
        left = f"{format_all_digits(self.remaining)} left{self._format_promise()}"
        if self.period is None:
            return f"{self.name}: {spent} of {format_all_digits(self.budget)} spent, {left}"
        assert self.period_budget is not None
        own, whole = format_all_digits(self.period_spent), format_all_digits(self.period_budget)
        return (
            f"{self.name}: {self.unit} {own} of {whole} spent in {self.period}, {left}; "
            f"{format_all_digits(self.spent)} in all periods so far"
        )

    def _format_promise(self) -> str:
        if self.rule == "sum" or self.epsilon is None or self.delta is None:
            return ""
        return f" (epsilon {format_all_digits(self.epsilon)} at delta {format_all_digits(self.delta)}, by zCDP)"


def _digits(amount: Fraction | None) -> str | None:
    return None if amount is None else format_all_digits(amount)


def validate_period(period: object, every: Every) -> str:
    """Return the name of a period; raise ValueError unless it is a year such as 2027, or a month such as 2027-03."""
    if not isinstance(period, str) or not re.fullmatch(PERIODS[every], period):
        raise ValueError(f"period must be a {every}, such as {EXAMPLES[every]}, got {period!r}")
    return period


def is_edition_of(edition: str, period: str) -> bool:
    """Return whether an edition belongs to a period: 2027, 2027-03 and "2027 spring" are editions of 2027."""
    return edition == period or (edition.startswith(period) and not edition[len(period)].isalnum())


def validate_name(text: object, what: str) -> str:
    """Return a name or key; raise ValueError unless it is one printable line without spaces at the ends."""
    if not isinstance(text, str) or not text.isprintable() or text != text.strip() or not 0 < len(text) <= LONGEST:
        raise ValueError(f"{what} must be 1 to {LONGEST} printable characters without spaces at the ends, got {text!r}")
    return text


def new_population(
    name: str,
    epsilon: Number | None,
    rule: Rule,
    delta: Number | None,
    every: Every | None = None,
    period: str | None = None,
    answer_delta: Number | None = None,
) -> Population:
    """Build a population as declared, with nothing spent; raise ValueError for an impossible budget."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    if rule == "zcdp" and (epsilon is None or delta is None):
        raise ValueError("epsilon and delta must both be given under zcdp; the budget is the rho that converts to them")
    if rule == "sum" and answer_delta is not None:
        raise ValueError("answer_delta must not be given where epsilons add up; there answers may spend all of delta")
    epsilon_value = None if epsilon is None else to_fraction(epsilon, "epsilon")
    delta_value = None if delta is None else to_fraction(delta, "delta")
    if epsilon_value is not None and not epsilon_value > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    if delta_value is not None and not 0 < delta_value < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    answer_value = None if answer_delta is None else to_fraction(answer_delta, "answer_delta")
    if answer_value is not None and not (delta_value is not None and 0 < answer_value < delta_value):
        raise ValueError(f"answer_delta must be a part of delta, between 0 and {delta}, got {answer_delta}")
    if every is None and period is not None:
        raise ValueError("period must not be given without every, the year or month after which the budget renews")
    if every is not None:
        if every not in PERIODS:
            raise ValueError(f"every must be one of {', '.join(PERIODS)}, got {every!r}")
        if epsilon_value is None:
            raise ValueError("epsilon must be given, the budget of each period")
        validate_period(period, every)
    people = Population(name, rule, epsilon_value, delta_value, None, 0, every, period, answer_delta=answer_value)
    return people.with_allowance()


def describe_renewal(population: Population) -> str:
    """Say what a budget that renews means for someone who is in the data of every period."""
    each = "" if population.epsilon is None else format_all_digits(population.epsilon)
    at = "" if population.delta is None else f" at delta {format_all_digits(population.delta)}"
    return (
        f"each {population.every} may spend epsilon {each}{at} on editions of that {population.every}; someone who is "
        f"in the data of k of them is protected by the sum, at most k times as much. {UNITS[population.rule]} "
        f"{format_all_digits(population.spent)} was spent so far"
    )


def check_same_population(existing: Population, declared: Population) -> Population:
    """Return the existing population; raise ValueError if it was declared differently."""
    if any(getattr(existing, name) != getattr(declared, name) for name in DECLARED):
        raise ValueError(f"people must have a new name, got {existing.name}, which exists already: {existing}")
    return existing

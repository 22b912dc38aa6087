"""Populations: the people of a ledger, their budget, and what was spent on them."""

from fractions import Fraction
from typing import NamedTuple

from inbounds.exact import Number, format_all_digits, to_fraction
from inbounds.ledger.units import RULES, UNITS, Rule, budget_units, units_to_amount

LONGEST = 200
"""Most characters of a name or key."""

DECLARED = ("name", "rule", "epsilon", "delta", "budget_units")
"""The declared fields, which must be the same in two declarations."""


class Population(NamedTuple):
    """The people of a ledger. Amounts are exact, in epsilon under the rule sum, in rho under zCDP (`unit`).

    budget, remaining: None if spending is counted without a cap. epsilon, delta: as declared.
    """

    name: str
    rule: Rule
    epsilon: Fraction | None
    delta: Fraction | None
    budget_units: int | None
    spent_units: int

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

    def with_spent(self, units: int) -> "Population":
        """Return the population with other units spent."""
        return Population(self.name, self.rule, self.epsilon, self.delta, self.budget_units, units)

    @property
    def spent_epsilon(self) -> Fraction:
        """Return the epsilon guaranteed for all that was spent; under zCDP at their delta, rounded up."""
        if self.rule == "sum":
            return self.spent
        from inbounds.accounting.zcdp_filter import epsilon_from_rho

        assert self.delta is not None
        return epsilon_from_rho(self.spent_units, self.delta)

    def to_json(self) -> dict[str, str | None]:
        """Return plain JSON values; amounts as exact decimals in text."""
        amounts = {"budget": self.budget, "spent": self.spent, "left": self.remaining}
        named = {"name": self.name, **{key: _digits(value) for key, value in amounts.items()}}
        declared = {"epsilon": _digits(self.epsilon), "delta": _digits(self.delta)}
        return {**named, "rule": self.rule, "unit": self.unit, **declared}

    def __str__(self) -> str:
        """Return name, amount spent and amount left in one line."""
        spent = f"{self.unit} {format_all_digits(self.spent)}"
        if self.remaining is None or self.budget is None:
            return f"{self.name}: {spent} spent, counted without a cap"
        return (
            f"{self.name}: {spent} of {format_all_digits(self.budget)} spent, "
            f"{format_all_digits(self.remaining)} left{self._format_promise()}"
        )

    def _format_promise(self) -> str:
        if self.rule == "sum" or self.epsilon is None or self.delta is None:
            return ""
        return f" (epsilon {format_all_digits(self.epsilon)} at delta {format_all_digits(self.delta)}, by zCDP)"


def _digits(amount: Fraction | None) -> str | None:
    return None if amount is None else format_all_digits(amount)


def validate_name(text: object, what: str) -> str:
    """Return a name or key; raise ValueError unless it is one printable line without spaces at the ends."""
    if not isinstance(text, str) or not text.isprintable() or text != text.strip() or not 0 < len(text) <= LONGEST:
        raise ValueError(f"{what} must be 1 to {LONGEST} printable characters without spaces at the ends, got {text!r}")
    return text


def new_population(name: str, epsilon: Number | None, rule: Rule, delta: Number | None) -> Population:
    """Build a population as declared, with nothing spent; raise ValueError for an impossible budget."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    if rule == "zcdp" and (epsilon is None or delta is None):
        raise ValueError("epsilon and delta must both be given under zcdp; the budget is the rho that converts to them")
    if rule == "sum" and delta is not None:
        raise ValueError("delta must not be given where epsilons add up; under rule zcdp it is")
    epsilon_value = None if epsilon is None else to_fraction(epsilon, "epsilon")
    delta_value = None if delta is None else to_fraction(delta, "delta")
    if epsilon_value is not None and not epsilon_value > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    if delta_value is not None and not 0 < delta_value < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    return Population(
        name,
        rule,
        epsilon_value,
        delta_value,
        None if epsilon_value is None else budget_units(rule, epsilon_value, delta_value),
        0,
    )


def check_same_population(existing: Population, declared: Population) -> Population:
    """Return the existing population; raise ValueError if it was declared differently."""
    if any(getattr(existing, name) != getattr(declared, name) for name in DECLARED):
        raise ValueError(f"people must have another name, got {existing.name}, who are there already: {existing}")
    return existing

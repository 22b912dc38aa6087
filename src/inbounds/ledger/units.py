"""What a charge costs, in whole units, rounded up: nano-epsilons under the rule sum, 10^-15 rho under zCDP; 10^-18 of
a delta under both.

Two rules add up the costs of questions that are chosen adaptively, with knowledge of all earlier answers:

    sum     epsilon_1 + epsilon_2 + …  <= epsilon
    zcdp    rho_1 + rho_2 + …          <= R(epsilon, delta),    rho_i = epsilon_i · tanh(epsilon_i / 2)

R is the largest rho that converts to the declared epsilon and delta. Both hold for fully adaptive questions (Rogers,
Roth, Ullman and Vadhan, 2016, for sums; Feldman and Zrnic, 2021, for zCDP filters). Privacy-loss distributions do not:
an adaptive choice of questions can exceed what they allow for each fixed list of questions.

Deltas of answers add up beside either: answers that are (epsilon_i, delta_i)-private, chosen adaptively, are together
(epsilon, sum of delta_i)-private under sum, and (epsilon, delta' + sum of delta_i)-private under zCDP, if their rho
converts to (epsilon, delta'). Machine-checked for sums (coq/theories/Approximate.v, both_ledger_promise).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from inbounds.exact import format_all_digits

Rule = Literal["sum", "zcdp"]
RULES: tuple[Rule, ...] = get_args(Rule)

NANO = Fraction(1, 10**9)
"""The unit of the rule `sum`: one nano-epsilon, the least epsilon that a mechanism can have."""

ATTO = Fraction(1, 10**18)
"""The unit of delta, under both rules."""

MOST = 2**63 - 1
"""The largest number of units that both databases hold."""

UNITS = {"sum": "epsilon", "zcdp": "rho"}
"""The names of the units of amounts, by rule."""


def rule_unit(rule: Rule) -> Fraction:
    """Return the unit of which all amounts under a rule are whole multiples."""
    if rule == "sum":
        return NANO
    from inbounds.accounting.zcdp_filter import RHO_UNIT

    return RHO_UNIT


@lru_cache(maxsize=4096)
def units_to_amount(rule: Rule, units: int) -> Fraction:
    """Convert units to an amount of epsilon or rho."""
    return units * rule_unit(rule)


@lru_cache(maxsize=4096)
def charge_units(rule: Rule, parts: tuple[Fraction, ...]) -> int:
    """Return the units that parts cost together, rounded up. Each part is a pure epsilon mechanism, drawn separately.

    >>> charge_units("sum", (Fraction(1, 3), Fraction(1, 6)))
    500000000
    """
    if rule == "sum":
        return math.ceil(sum(parts, Fraction(0)) / NANO)
    from inbounds.accounting.zcdp_filter import rho_upper_bound

    return sum(rho_upper_bound(part) for part in parts)


def delta_units(delta: Fraction) -> int:
    """Return the units that a delta costs, rounded up."""
    return math.ceil(delta / ATTO)


def delta_budget_units(delta: Fraction) -> int:
    """Return the units that a declared delta allows, rounded down; raise ValueError below one unit."""
    units = math.floor(delta / ATTO)
    if units < 1:
        raise ValueError(f"delta must be at least {format_all_digits(ATTO)}, the least that a ledger counts")
    return units


def budget_units(rule: Rule, epsilon: Fraction, delta: Fraction | None) -> int:
    """Return the units that a declared budget allows, rounded down."""
    if rule == "sum":
        units = math.floor(epsilon / NANO)
    else:
        from inbounds.accounting.zcdp_filter import max_rho

        assert delta is not None
        units = max_rho(epsilon, delta)
    if not 0 < units <= MOST:
        raise ValueError(f"epsilon must be a budget of 1 to {MOST} units of {rule_unit(rule)}, got {units} units")
    return units

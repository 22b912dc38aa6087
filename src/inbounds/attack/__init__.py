"""Attacks: what people learn from repeated answers, by collusion, or with more prior knowledge.

    collusion     posterior and estimates from k answers to one question
    repeated      expected loss as a function of k
    asymptotics   closed approximations, the loss that remains, and the rate of convergence

The joint guarantee of several answers is in `inbounds.accounting`.
"""

from inbounds.attack.asymptotics import Limit, approximate_loss, approximation_for, epsilon_for, loss_limit
from inbounds.attack.collusion import estimate, posterior
from inbounds.attack.repeated import CollusionResult, simulate_collusion

__all__ = [
    "CollusionResult",
    "Limit",
    "approximate_loss",
    "approximation_for",
    "epsilon_for",
    "estimate",
    "loss_limit",
    "posterior",
    "simulate_collusion",
]

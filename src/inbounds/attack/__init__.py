"""What repeated, colluding and better-informed questioners learn.

    collude       posterior and estimates from k answers to one question
    repeated      expected loss against k
    limits        closed approximations, the loss that stays, and how fast the rest goes

What the answers promise together, and the remedy, is in `inbounds.accounting`.
"""

from inbounds.attack.asymptotics import Limit, approximate_loss, approximation_for, loss_limit
from inbounds.attack.collusion import estimate, posterior
from inbounds.attack.repeated import CollusionResult, simulate_collusion

__all__ = [
    "CollusionResult",
    "Limit",
    "approximate_loss",
    "approximation_for",
    "estimate",
    "loss_limit",
    "posterior",
    "simulate_collusion",
]

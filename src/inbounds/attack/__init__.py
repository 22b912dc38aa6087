"""What repeated, colluding and better-informed questioners learn.

    collude       posterior and estimates from k answers to one question
    repeated      expected loss against k
    limits        closed approximations, the loss that stays, and how fast the rest goes

What the answers promise together, and the remedy, is in `inbounds.accounting`.
"""

from inbounds.attack.collude import estimate, posterior
from inbounds.attack.limits import Limit, approximation, approximation_for, limit
from inbounds.attack.repeated import Learned, learned

__all__ = [
    "Learned",
    "Limit",
    "approximation",
    "approximation_for",
    "estimate",
    "learned",
    "limit",
    "posterior",
]

"""What repeated, colluding and better-informed questioners learn.

    collude       posterior and estimates from k answers to one question
    repeated      expected loss against k
    limits        closed approximations, the loss that stays, and how fast the rest goes

What the answers promise together, and the remedy, is in `inbounds.accounting`; its names are here as well.
"""

from inbounds.accounting import (
    Composition,
    Enumeration,
    MultiLevel,
    Record,
    answers_allowed,
    compose,
    enumerated,
    load_multilevel,
    load_record,
    multilevel,
)
from inbounds.attack.collude import estimate, posterior
from inbounds.attack.limits import Limit, approximation, approximation_for, limit
from inbounds.attack.repeated import Learned, learned

__all__ = [
    "Composition",
    "Enumeration",
    "Learned",
    "Limit",
    "MultiLevel",
    "Record",
    "answers_allowed",
    "approximation",
    "approximation_for",
    "compose",
    "enumerated",
    "estimate",
    "learned",
    "limit",
    "load_multilevel",
    "load_record",
    "multilevel",
    "posterior",
]

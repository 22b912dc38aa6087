"""What repeated, colluding and better-informed questioners learn, and the remedy.

compose       what several answers promise together: the sum, and as tight as the matrices allow
enumerated    the same for a few answers by exact enumeration
record        the statement that belongs to a release of several answers, as a file
collude       posterior and estimates from k answers to one question
repeated      expected loss against k
limits        closed approximations, the loss that stays, and how fast the rest goes
multilevel    answers at several epsilons from one noise chain, safe against coalitions (chain: as a file)
"""

from inbounds.attack.chain import load as load_multilevel
from inbounds.attack.collude import estimate, posterior
from inbounds.attack.compose import Composition, answers_allowed, compose
from inbounds.attack.enumerated import Enumeration, enumerated
from inbounds.attack.limits import Limit, approximation, approximation_for, limit
from inbounds.attack.multilevel import MultiLevel, multilevel
from inbounds.attack.record import Record
from inbounds.attack.record import load as load_record
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

"""What several answers about the same people promise together, and how to serve readers who are trusted differently.

compose       declared plans: the sum, and as tight as the matrices allow (tilted, transform, dominating, directed)
enumerated    the same for a few answers by exact enumeration
filters       questions chosen one after the other: charges, caps and what they convert to
record        the statement that belongs to a release of several answers, as a file
multilevel    answers at several epsilons from one noise chain, safe against coalitions (chain: as a file)
"""

from inbounds.accounting.chain import load as load_multilevel
from inbounds.accounting.compose import Composition, answers_allowed, compose
from inbounds.accounting.enumerated import Enumeration, enumerated
from inbounds.accounting.filters import RHO_UNIT, epsilon_of_rho, rho_above, rho_cap
from inbounds.accounting.multilevel import MultiLevel, multilevel
from inbounds.accounting.record import Record
from inbounds.accounting.record import load as load_record

__all__ = [
    "RHO_UNIT",
    "Composition",
    "Enumeration",
    "MultiLevel",
    "Record",
    "answers_allowed",
    "compose",
    "enumerated",
    "epsilon_of_rho",
    "load_multilevel",
    "load_record",
    "multilevel",
    "rho_above",
    "rho_cap",
]

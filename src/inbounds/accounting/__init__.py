"""What several answers about the same people promise together, and how to serve readers who are trusted differently.

compose       declared plans: the sum, and as tight as the matrices allow (tilted, transform, dominating, directed)
enumerated    the same for a few answers by exact enumeration
filters       questions chosen one after the other: charges, caps and what they convert to
record        the statement that belongs to a release of several answers, as a file
multilevel    answers at several epsilons from one noise chain, safe against coalitions (chain: as a file)
"""

from inbounds.accounting.chain import load_chain as load_multilevel
from inbounds.accounting.compose import Composition, compose, max_answers
from inbounds.accounting.composition_record import CompositionRecord
from inbounds.accounting.composition_record import load_composition as load_record
from inbounds.accounting.enumeration import Enumeration, enumerate_losses
from inbounds.accounting.multilevel import MechanismChain, make_chain
from inbounds.accounting.zcdp_filter import RHO_UNIT, epsilon_from_rho, max_rho, rho_upper_bound

__all__ = [
    "RHO_UNIT",
    "Composition",
    "CompositionRecord",
    "Enumeration",
    "MechanismChain",
    "compose",
    "enumerate_losses",
    "epsilon_from_rho",
    "load_multilevel",
    "load_record",
    "make_chain",
    "max_answers",
    "max_rho",
    "rho_upper_bound",
]

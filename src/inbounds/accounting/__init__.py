"""Composition: the privacy of several answers about the same people, and releases at several levels of trust.

compose             composition of declared answers, basic and tight (tilted_convolution, transform,
                    dominating_pairs)
enumeration         the same for a few answers, by exact enumeration
groups              what a promise about one person says about several
repeated_noise      noise whose shape is found for a declared number of answers
renyi_order         answers chosen one after the other, at one Rényi order in whole numbers
zcdp_filter         questions chosen one after the other: charges, caps and their conversion to (epsilon, delta)
composition_record  the file that states the guarantee of several answers
multilevel          answers at several epsilons from one noise chain, safe against coalitions (chain: its file)
"""

from inbounds.accounting.chain import load_chain
from inbounds.accounting.compose import Composition, compose, max_answers
from inbounds.accounting.composition_record import CompositionRecord
from inbounds.accounting.composition_record import load_composition as load_record
from inbounds.accounting.enumeration import Enumeration, enumerate_losses
from inbounds.accounting.groups import group_privacy
from inbounds.accounting.multilevel import MechanismChain, make_chain
from inbounds.accounting.renyi_order import epsilon_at_order, most_cost, renyi_cost
from inbounds.accounting.repeated_noise import RepeatedNoise, noise_for_uses
from inbounds.accounting.zcdp_filter import RHO_UNIT, epsilon_from_rho, max_rho, rho_upper_bound

__all__ = [
    "RHO_UNIT",
    "Composition",
    "CompositionRecord",
    "Enumeration",
    "MechanismChain",
    "RepeatedNoise",
    "compose",
    "enumerate_losses",
    "epsilon_at_order",
    "epsilon_from_rho",
    "group_privacy",
    "load_chain",
    "load_record",
    "make_chain",
    "max_answers",
    "max_rho",
    "most_cost",
    "noise_for_uses",
    "renyi_cost",
    "rho_upper_bound",
]

"""Local privacy: every record is randomized before it is collected; the distribution is reconstructed afterwards.

    ib.local.randomizer(mechanism)   → reports      on the person's side, or inside a table engine
    ib.Collector(mechanism)          → counts       in batches, merged in any order
    ib.reconstruct(counts, mechanism) → distribution

`ib.local.plan` says beforehand what to expect.
"""

from inbounds.local.client import Randomizer, randomizer
from inbounds.local.engines import collect, randomize, register
from inbounds.local.planner import CollectionPlan as Plan
from inbounds.local.planner import plan
from inbounds.local.statement import Statement, epsilon, privacy

__all__ = [
    "Plan",
    "Randomizer",
    "Statement",
    "collect",
    "epsilon",
    "plan",
    "privacy",
    "randomize",
    "randomizer",
    "register",
]

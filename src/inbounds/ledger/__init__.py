"""The ledger: what was spent on whom, never overspent.

people (a budget) → charge (durable) → draw → answer (stored) → give out
"""

from inbounds.ledger.charges import Answer, Charge
from inbounds.ledger.checking import Head, Verified
from inbounds.ledger.entries import Entry
from inbounds.ledger.ledger import Ledger
from inbounds.ledger.people import People

__all__ = ["Answer", "Charge", "Entry", "Head", "Ledger", "People", "Verified"]

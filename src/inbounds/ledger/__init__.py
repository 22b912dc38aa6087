"""The ledger: what was spent on which people, never more than their budget.

population (a budget) → charge (durable) → draw → answer (stored) → give out
"""

from inbounds.ledger.charges import Charge, StoredAnswer
from inbounds.ledger.entries import Entry
from inbounds.ledger.ledger import Ledger
from inbounds.ledger.population import Population
from inbounds.ledger.verify import LedgerHead, LedgerReport

__all__ = ["Charge", "Entry", "Ledger", "LedgerHead", "LedgerReport", "Population", "StoredAnswer"]

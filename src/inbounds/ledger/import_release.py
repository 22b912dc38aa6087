"""Import earlier releases into a ledger from their records: one charge for each, however often it is imported."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from inbounds.ledger.charges import Charge
from inbounds.ledger.ledger import Ledger
from inbounds.ledger.population import LONGEST


def import_release(ledger: Ledger, record: Mapping[str, Any], people: str = "") -> Charge:
    """Charge what a checked release record states as spent. people: by default the name of its source.

    The charge has the release's id as its key, so one release under two names counts once. A release that this ledger
    has charged and stored is found again. A restored ledger may have drawn another release under the same key since;
    then this one is charged. Raises BudgetExceeded if the budget is too small; raise the budget first.
    """
    entry = record.get("ledger")
    if entry and entry["id"] == ledger.id:
        charge = ledger.find(entry["key"])
        if charge is not None and charge.sha256 == entry["sha256"] and _keeps(charge, record.get("id")):
            return charge
    plan = record["plan"]
    name = people or plan.get("people") or plan["source"]["name"][:LONGEST]
    if all(population.name != name for population in ledger.people()):
        ledger.add_population(name)
    delta = Fraction(plan.get("delta", 0))
    return ledger.charge(
        name,
        Fraction(record["epsilon"]["spent"]),
        key=f"release {record['id']}",
        purpose=f"release of {plan['source']['name']} at {record['time']}"[:LONGEST],
        parts=None if delta else [Fraction(line["spent"]) for line in record["account"]],
        delta=delta,
        question={"plan_sha256": record["plan_sha256"], "time": record["time"]},
    )


def _keeps(charge: Charge, release: str | None) -> bool:
    """Return whether the table stored under a charge is that release: its bytes contain the release's random id.

    The entry alone does not tell: two draws in the same second after a restore have the same digest.
    """
    return charge.answer is not None and release is not None and release.encode() in charge.answer

"""What earlier releases spent, from their records: one charge for each, however often it is brought in."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from inbounds.ledger.charges import Charge
from inbounds.ledger.ledger import Ledger
from inbounds.ledger.population import LONGEST


def import_release(ledger: Ledger, record: Mapping[str, Any], people: str = "") -> Charge:
    """Charge what a checked release record says was spent; people: by default the name of its source.

    The charge has the release's own id as its key, so that one release under two names counts once; a release that
    this very ledger has charged and keeps is found again. A ledger that was restored may have drawn another under the
    same key since: then this one is charged. It was spent whether there was a budget or not: where it does not fit,
    the budget must be raised first.
    """
    entry = record.get("ledger")
    if entry and entry["id"] == ledger.id:
        there = ledger.find(entry["key"])
        if there is not None and there.sha256 == entry["sha256"] and _keeps(there, record.get("id")):
            return there
    plan = record["plan"]
    name = people or plan.get("people") or plan["source"]["name"][:LONGEST]
    if all(who.name != name for who in ledger.people()):
        ledger.add_population(name)
    return ledger.charge(
        name,
        Fraction(record["epsilon"]["spent"]),
        key=f"release {record.get('id') or record['sha256']}",
        purpose=f"release of {plan['source']['name']} at {record['time']}"[:LONGEST],
        parts=[Fraction(line["spent"]) for line in record["account"]],
        question={"plan_sha256": record["plan_sha256"], "time": record["time"]},
    )


def _keeps(charge: Charge, release: str | None) -> bool:
    """Whether the table kept under a charge is that release: its record, with its random id, is in it as text.

    The entry alone does not tell: of two draws in the same second after a restore it has the same digest.
    """
    return charge.answer is not None and release is not None and release.encode() in charge.answer

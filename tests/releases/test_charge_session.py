"""A session of charges: what is drawn was charged before, and a delta that nobody declared is refused."""

import pandas as pd
import pytest

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.plan.load import to_plan
from inbounds.releases.charge_session import ChargeSession

FRAME = pd.DataFrame({"g": ["a", "b"], "x": [1, 2]})
PLAN = {
    "groups": {"by": ["g"], "keys": ["a", "b"], "size": 1},
    "columns": {"x": {"low": 0, "high": 4}},
    "statistics": [{"count": "x > 1"}],
    "privacy": {"epsilon": 1},
    "people": {"name": "pupils"},
}


def session(ledger, **more):
    return ChargeSession.open(to_plan({**PLAN, **more}, FRAME), None, ledger, "key")


def test_nothing_is_drawn_under_a_charge_that_was_not_made(tmp_path):
    with Ledger.open(tmp_path / "l.db") as ledger:
        ledger.add_population("pupils")
        with session(ledger) as charged, session(None) as free:
            charge = charged.charge()
            charged.check_charged(charge)
            free.check_charged(free.charge())
            for wrong, under in ((charged, None), (free, charge)):
                with pytest.raises(LedgerError):
                    wrong.check_charged(under)


def test_a_delta_is_refused_for_people_whom_nobody_declared(tmp_path):
    place = tmp_path / "t.ledger"
    with ChargeSession(
        to_plan({**PLAN, "privacy": {"epsilon": 1, "delta": "1e-6"}, "people": {"name": "others"}}, FRAME),
        place,
        "key",
        False,
    ) as opened:
        with pytest.raises(BudgetExceeded) as refused:
            opened.charge()
        assert (refused.value.unit, refused.value.left, refused.value.budget) == ("delta", 0, 0)
    with Ledger.open(place) as ledger:
        assert ledger.people() == []


def test_no_ledger_is_made_by_looking_for_earlier_charges(tmp_path):
    (tmp_path / "data.csv").write_text("g,x\na,1\nb,2\n")
    plan = to_plan({**PLAN, "source": {"path": str(tmp_path / "data.csv")}, "edition": "2026"})
    with ChargeSession(plan, tmp_path / "t.ledger", "key", False) as opened:
        assert (opened.describe_new_edition(), opened.describe_other_people()) == ("", "")
    assert not (tmp_path / "t.ledger").exists()

"""What a question is said to cost and be worth, in the ledger's units and at the account's level."""

from curator.pupils import account
from curator.test_curator import LIKES, spent
from inbounds.exact import format_all_digits


def test_under_zcdp_costs_are_in_rho_as_the_ledger_charges_them(opened):
    curator = opened(budget={"epsilon": 6, "rule": "zcdp", "delta": "1e-6"})
    ana = account(curator, "ana")
    preview = curator.preview(ana, "pupils", LIKES)
    answer = curator.ask(ana, "pupils", LIKES)
    assert (preview.unit, answer.cost.unit) == ("rho", "rho")
    assert preview.people == answer.cost.people == format_all_digits(spent(curator)) != "0.5"


def test_a_preview_is_of_the_level_that_the_account_sees(opened):
    curator = opened(levels={"public": "0.1", "partners": "1"})
    likes = {"count": "likes = 'yes'", "allow_useless": True}
    errors = {}
    for level in ("public", "partners"):
        own = account(curator, level, level=level)
        preview = curator.preview(own, "pupils", likes)
        answer = curator.ask(own, "pupils", likes)
        assert list(preview.errors.values()) == answer.table["count_error"]
        errors[level] = answer.table["count_error"]
    assert errors["public"] > errors["partners"]

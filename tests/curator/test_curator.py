"""The curator: what it answers again, whom it charges, what it refuses."""

from fractions import Fraction

import pytest

from curator.pupils import SCHOOLS, YEARS, account
from inbounds.curator import (
    CapExceeded,
    CuratorUnavailable,
    Forbidden,
    KeyConflict,
    RowLimitExceeded,
    UnknownResource,
    UnknownToken,
    ledger_head,
)
from inbounds.curator.answer_pipeline import AnswerPipeline
from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.schema.errors import PlanError, SourceError
from raising import raises_at, rejects

LIKES = {"count": "likes = 'yes'", "by": ["school"], "epsilon": "0.5"}


def spent(curator) -> Fraction:
    return curator.people(curator.settings.datasets["pupils"]).spent


def test_the_same_question_is_the_same_answer_and_costs_nobody_anything(curator, ana):
    first = curator.ask(ana, "pupils", LIKES)
    again = curator.ask(ana, "pupils", {**LIKES, "count": "'yes' = likes"})
    assert (first.how, again.how) == ("new", "same")
    assert (again.table, again.id) == (first.table, first.id)
    assert (again.cost.people, again.cost.account) == ("0", "0")
    assert spent(curator) == Fraction(1, 2)
    assert curator.answer(ana, first.id).table == first.table


def test_another_account_is_given_the_stored_answer_and_only_its_cap_is_charged(curator, ana):
    first = curator.ask(ana, "pupils", LIKES)
    bob = account(curator, "bob", "2")
    second = curator.ask(bob, "pupils", LIKES)
    assert second.table == first.table
    assert second.id != first.id
    assert (second.cost.people, second.cost.account, second.cost.account_left) == ("0", "0.5", "1.5")
    assert spent(curator) == Fraction(1, 2)


def test_averaging_ten_thousand_repeats_gains_nothing(curator, ana):
    """Whoever repeats a question gets one draw: the stored bytes are the only thing that repeats are computed from."""
    first = curator.ask(ana, "pupils", LIKES)
    tables = [curator.ask(ana, "pupils", LIKES, key=f"repeat {k}").table for k in range(50)]
    assert all(table == first.table for table in tables)
    assert spent(curator) == Fraction(1, 2)


@pytest.mark.slow
def test_ten_thousand_repeats_by_many_accounts_are_one_draw(curator):
    several = [account(curator, f"account {k}") for k in range(20)]
    tables = {str(curator.ask(several[k % 20], "pupils", LIKES).table) for k in range(10_000)}
    assert len(tables) == 1
    assert spent(curator) == Fraction(1, 2)


def test_a_weaker_question_is_given_the_stronger_answer_and_charged_at_its_epsilon(curator, ana):
    first = curator.ask(ana, "pupils", LIKES)
    bob = account(curator, "bob", "2")
    weaker = curator.ask(bob, "pupils", {**LIKES, "epsilon": "0.1"})
    assert (weaker.how, weaker.table, weaker.epsilon) == ("stronger", first.table, "0.5")
    assert weaker.cost.account == "0.5"
    assert spent(curator) == Fraction(1, 2)


def test_a_stronger_question_is_drawn_and_paid(curator, ana):
    curator.ask(ana, "pupils", LIKES)
    assert curator.ask(ana, "pupils", {**LIKES, "epsilon": "0.75"}).how == "new"
    assert spent(curator) == Fraction(5, 4)


def test_sums_of_stored_cells_cost_nothing(curator, ana):
    fine = curator.ask(ana, "pupils", {**LIKES, "by": ["school", "year"]})
    north = sum(n for n, school in zip(fine.table["count"], fine.table["school"], strict=True) if school == "north")
    coarse = curator.ask(ana, "pupils", LIKES)
    everybody = curator.ask(ana, "pupils", {**LIKES, "by": []})
    assert (coarse.how, everybody.how) == ("sum", "sum")
    assert coarse.table["school"] == ["north", "south"]
    assert coarse.table["count"][0] == north
    assert everybody.table["count"] == [sum(fine.table["count"])]
    assert everybody.table["count_error"] == [pytest.approx(sum(fine.table["count_error"]))]
    assert spent(curator) == Fraction(1, 2)
    assert (coarse.cost.account, everybody.cost.account) == ("0", "0")
    assert curator.answer(ana, everybody.id).table == everybody.table


def test_a_count_of_labels_is_a_sum_of_the_cells_of_a_stored_histogram(curator, ana):
    stored = curator.ask(ana, "pupils", {"histogram": "likes", "by": ["school"], "epsilon": 1})
    asked = curator.ask(ana, "pupils", {"count": "likes in ('yes', 'no')", "by": ["school"], "epsilon": 1})
    assert asked.how == "sum"
    cells = [stored.table["likes: yes"], stored.table["likes: no"]]
    assert asked.table["count"] == [sum(pair) for pair in zip(*cells, strict=True)]


def test_the_label_of_all_other_values_is_not_the_condition_of_that_text(curator, ana):
    curator.ask(ana, "pupils", {"histogram": "likes", "epsilon": 1})
    assert curator.ask(ana, "pupils", {"count": "likes = 'none'", "epsilon": "0.5"}).how == "new"


def test_a_sum_can_be_drawn_anew_and_is_paid_then(curator, ana):
    curator.ask(ana, "pupils", {**LIKES, "by": ["school", "year"]})
    assert curator.ask(ana, "pupils", {**LIKES, "redraw": True}).how == "new"
    assert spent(curator) == 1


def test_a_question_with_a_weaker_stored_cell_is_drawn(curator, ana):
    curator.ask(ana, "pupils", {**LIKES, "by": ["school", "year"], "epsilon": "0.25"})
    assert curator.ask(ana, "pupils", LIKES).how == "new"


def test_a_key_is_of_one_account_and_one_question(curator, ana):
    first = curator.ask(ana, "pupils", LIKES, key="k")
    with rejects(KeyConflict, "key", about="'k'"):
        curator.ask(ana, "pupils", {**LIKES, "epsilon": "0.25"}, key="k")
    bob = account(curator, "bob")
    assert curator.ask(bob, "pupils", {**LIKES, "epsilon": "0.75"}, key="k").how == "new"
    assert curator.ask(ana, "pupils", LIKES, key="k").table == first.table


def test_a_key_returns_its_answer_even_when_a_stronger_one_was_stored_since(curator, ana):
    first = curator.ask(ana, "pupils", LIKES, key="k")
    bob = account(curator, "bob")
    curator.ask(bob, "pupils", {**LIKES, "epsilon": 1})
    assert curator.ask(ana, "pupils", LIKES, key="k").table == first.table


def test_an_account_never_passes_its_cap_nor_everybody_the_budget(curator):
    ana, bob = account(curator, "ana", "1"), account(curator, "bob", "100")
    curator.ask(ana, "pupils", {**LIKES, "epsilon": "0.75"})
    with rejects(CapExceeded, "epsilon", about="cap of ana: requested 0.5, remaining 0.25"):
        curator.ask(ana, "pupils", {"count": "age > 12", "epsilon": "0.5"})
    with pytest.raises(BudgetExceeded):
        curator.ask(bob, "pupils", {"count": "age > 12", "epsilon": "5.5"})
    assert curator.find_account("bob").grants["pupils"].spent == 0
    assert spent(curator) == Fraction(3, 4)


def test_what_the_ledger_refuses_in_the_last_moment_is_given_back_to_the_account(curator, monkeypatch):
    bob = account(curator, "bob", "100")
    monkeypatch.setattr(AnswerPipeline, "_check_budget", lambda *_: None)
    for _ in range(2):
        with pytest.raises(BudgetExceeded):
            curator.ask(bob, "pupils", {"count": "age > 12", "epsilon": "6.5"}, key="k")
        assert curator.find_account("bob").grants["pupils"].spent == 0
    assert curator.answers(bob) == []


def test_a_crash_between_the_charge_and_the_note_of_it_is_made_good_when_it_is_asked_again(curator, monkeypatch):
    """The people were charged, nothing was given, and the same question is answered under that charge."""
    bob = account(curator, "bob", "2")

    def power_fails(*_):
        raise LedgerError("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(ledger_head, "note_head", power_fails)
        with pytest.raises(LedgerError):
            curator.ask(bob, "pupils", LIKES, key="k")
    assert (spent(curator), curator.answers(bob)) == (Fraction(1, 2), [])
    assert curator.find_account("bob").grants["pupils"].spent == 0
    later = curator.ask(bob, "pupils", LIKES, key="k")
    assert (later.how, later.cost.people, later.cost.account) == ("new", "0", "0.5")
    assert spent(curator) == Fraction(1, 2)


def test_an_account_holds_no_more_rows_than_it_may_and_what_it_has_it_keeps(opened):
    curator = opened(limits={"rows": 7})
    ana, bob = account(curator, "ana"), account(curator, "bob")
    first = curator.ask(ana, "pupils", LIKES, key="1")  # two rows and a key
    assert curator.find_account("ana").rows == 3
    with rejects(RowLimitExceeded, "rows", about="at most 7 in all, got 8"):
        curator.ask(ana, "pupils", {**LIKES, "count": "age > 12", "by": ["school", "year"]}, key="2")
    assert (spent(curator), curator.find_account("ana").rows) == (Fraction(1, 2), 3)
    for k in range(4):
        assert curator.ask(ana, "pupils", LIKES, key=f"again {k}").table == first.table
    with pytest.raises(RowLimitExceeded):
        curator.ask(ana, "pupils", LIKES, key="one too many")
    for key in ("1", None):
        assert curator.ask(ana, "pupils", LIKES, key=key).id == first.id
    assert curator.ask(bob, "pupils", {**LIKES, "count": "age > 12"}, key="2").how == "new"


def test_other_datasets_and_answers_are_not_there(curator, ana):
    answer = curator.ask(ana, "pupils", LIKES)
    eve = curator.account(curator.add_account("eve"))
    assert curator.datasets(eve) == []
    for call in (
        lambda: curator.dataset(eve, "pupils"),
        lambda: curator.ask(eve, "pupils", LIKES),
        lambda: curator.preview(eve, "pupils", LIKES),
        lambda: curator.answer(eve, answer.id),
        lambda: curator.answer(account(curator, "bob"), answer.id),
        lambda: curator.dataset(ana, "nothing"),
    ):
        with pytest.raises(UnknownResource):
            call()
    for call in (lambda: curator.ledger(ana), lambda: curator.exposure(ana, "pupils")):
        with pytest.raises(Forbidden):
            call()


def test_a_revoked_token_is_unknown(curator):
    token = curator.add_account("ana", {"pupils": None})
    assert curator.account(token).name == "ana"
    curator.revoke_account("ana")
    for wrong in (token, "", "ib_", token + "x"):
        with pytest.raises(UnknownToken):
            curator.account(wrong)
    with rejects(ValueError, "account", about="'ana'"):
        curator.add_account("ana")


def test_tokens_are_kept_as_digests_alone(curator, folder):
    token = curator.add_account("ana", {"pupils": None})
    curator.close()
    kept = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert token.encode() not in kept


def test_a_preview_costs_nothing_and_says_what_would_be_given(curator, ana):
    before = curator.preview(ana, "pupils", LIKES)
    assert (before.how, before.people, before.epsilon) == ("new", "0.5", "0.5")
    assert spent(curator) == 0
    answer = curator.ask(ana, "pupils", LIKES)
    after = curator.preview(ana, "pupils", {**LIKES, "epsilon": "0.1"})
    assert (after.how, after.people, after.epsilon) == ("stronger", "0", "0.5")
    assert set(before.errors.values()) == set(answer.table["count_error"])


def test_a_question_no_better_than_a_constant_is_refused_before_it_is_charged(curator, ana):
    vain = {"count": "likes = 'yes'", "epsilon": "1e-6"}
    with raises_at(PlanError, ("statistics",), about="no better than a constant"):
        curator.ask(ana, "pupils", vain)
    assert spent(curator) == 0
    assert curator.ask(ana, "pupils", {**vain, "allow_useless": True}).how == "new"


def test_conditions_filter_every_statistic_and_public_sizes_are_then_a_maximum(opened):
    groups = {"by": ["school"], "keys": ["north", "south"], "size": 20}
    curator = opened(groups=groups, budget={"epsilon": 200})
    ana = account(curator, "ana")
    found = curator.ask(ana, "pupils", {"mean": "age", "where": "age >= 14", "by": ["school"], "epsilon": 60})
    assert min(found.table["age_mean"]) > 13.9
    everybody = curator.ask(ana, "pupils", {"mean": "age", "epsilon": 60})
    assert everybody.table["age_mean"] == [pytest.approx(13.5, abs=0.1)]
    assert float(Fraction(found.mechanisms[0]["epsilon"])) == 30


def test_a_source_that_lacks_a_column_says_nothing_of_the_others(opened, folder):
    curator = opened(columns={"shoe": {"low": 0, "high": 50}, "likes": {"labels": ["yes", "no"]}})
    with raises_at(SourceError, ("datasets", "pupils", "columns", "shoe")):
        curator.check_sources()
    with pytest.raises(CuratorUnavailable):
        curator.ask(account(curator, "ana"), "pupils", {"mean": "shoe", "epsilon": 1})
    assert spent(curator) == 0


def test_another_process_finds_the_same_answers(opened):
    one = opened()
    ana = account(one, "ana")
    first = one.ask(ana, "pupils", LIKES)
    assert opened().ask(ana, "pupils", LIKES).table == first.table


def test_a_new_edition_is_drawn_and_paid(opened):
    one = opened()
    ana = account(one, "ana")
    one.ask(ana, "pupils", LIKES)
    other = opened(edition="2026-12")
    assert other.ask(ana, "pupils", LIKES).how == "new"
    assert spent(other) == 1


def test_the_ledger_of_a_curator_verifies(curator, ana, folder):
    for k in range(3):
        curator.ask(ana, "pupils", {"count": f"age > {11 + k}", "epsilon": "0.5"})
    with Ledger.open(folder / "budget.db") as ledger:
        assert ledger.verify().people[0].spent == Fraction(3, 2)


def test_a_mechanism_is_read_by_the_digest_in_an_answer(curator, ana):
    import json

    answer = curator.ask(ana, "pupils", LIKES)
    digest = answer.mechanisms[0]["sha256"]
    assert json.loads(curator.mechanism(ana, digest))["sha256"] == digest
    for wrong in ("0" * 64, "../curator", "x", ""):
        with pytest.raises(UnknownResource):
            curator.mechanism(ana, wrong)


def refused_mechanism(curator, own, digest) -> str:
    """What an account is told of a digest, without the digest."""
    with pytest.raises(UnknownResource) as refused:
        curator.mechanism(own, digest)
    return str(refused.value).replace(digest, "")


def test_a_mechanism_is_there_for_accounts_that_it_drew_an_answer_for_and_for_owners(curator, ana):
    fine = curator.ask(ana, "pupils", {**LIKES, "by": ["school", "year"]})
    digest = fine.mechanisms[0]["sha256"]
    bob = account(curator, "bob")
    owner = curator.account(curator.add_account("owner", role="owner"))
    nobody = curator.account(curator.add_account("nobody"))
    for own in (bob, nobody):
        assert refused_mechanism(curator, own, digest) == refused_mechanism(curator, own, "0" * 64)
    assert curator.mechanism(owner, digest) == curator.mechanism(ana, digest)
    curator.preview(bob, "pupils", {**LIKES, "by": ["school", "year"]})
    refused_mechanism(curator, bob, digest)
    assert curator.ask(bob, "pupils", LIKES).how == "sum"
    assert curator.mechanism(bob, digest) == curator.mechanism(ana, digest)


def test_no_file_is_looked_for_where_a_mechanism_is_not_the_accounts_own(curator, ana, monkeypatch):
    """Whether a file is there takes time of its own."""
    digest = curator.ask(ana, "pupils", LIKES).mechanisms[0]["sha256"]
    bob = account(curator, "bob")
    monkeypatch.setattr(type(curator.designer), "find_passport", lambda *_: pytest.fail("looked for a file"))
    for other in (digest, "0" * 64):
        refused_mechanism(curator, bob, other)


def test_several_quantiles_are_one_answer_that_rises(opened):
    groups = {"by": ["school", "year"], "keys": {"school": SCHOOLS, "year": YEARS}, "size": 10}
    curator = opened(groups=groups)
    ana, quartiles = account(curator, "ana"), {"quantile": "age", "at": [0.75, "median", 0.25], "epsilon": "1/2"}
    first = curator.ask(ana, "pupils", {**quartiles, "allow_useless": True})
    again = curator.ask(ana, "pupils", {**quartiles, "at": ["1/4", 0.5, 0.75], "allow_useless": True})
    assert (first.table, again.how) == (again.table, "same")
    assert_quartiles_rise(first.table)


@pytest.mark.long
def test_several_quantiles_of_groups_of_secret_size_are_one_answer_that_rises(opened):
    curator = opened()
    quartiles = {"quantile": "age", "at": [0.25, 0.5, 0.75], "where": "age > 12", "epsilon": 1, "allow_useless": True}
    assert_quartiles_rise(curator.ask(account(curator, "ana"), "pupils", quartiles).table)


def assert_quartiles_rise(table):
    for low, middle, high in zip(*(table[f"age_{name}"] for name in ("q25", "median", "q75")), strict=True):
        assert 10 <= low <= middle <= high <= 20

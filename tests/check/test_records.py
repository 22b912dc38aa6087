"""Release records in the browser: the forgeries that Python refuses are refused here, or are not said to hold."""

import json
from collections.abc import Iterable

import pytest

from check.chromium import BrowserChecker
from checker import forgeries
from checker.conftest import designs, original, published  # noqa: F401 - fixtures
from checker.forgeries import Forgery, Original
from checker.plans import plan_of
from checker.released import publish, sign
from inbounds.report import check_page

pytestmark = pytest.mark.browser


def judged(checker: BrowserChecker, made: Iterable[Forgery]) -> list[tuple[Forgery, str, str]]:
    listed = list(made)
    found = checker.judged_together([forgery.record, forgery.table] for forgery in listed)
    return [(forgery, verdict, reason) for forgery, (verdict, _, reason) in zip(listed, found, strict=True)]


def believed(checker: BrowserChecker, made: Iterable[Forgery]) -> list[str]:
    """The names of forgeries that are not refused."""
    return [f"{forgery.name}: {verdict}" for forgery, verdict, _ in judged(checker, made) if verdict != "refused"]


def in_texts(original: Original) -> bool:  # noqa: F811
    return original.suffix != ".parquet"


def test_an_honest_record_is_never_refused_and_what_is_not_recomputed_is_named(checker, original):  # noqa: F811
    ((_, verdict, reason),) = judged(checker, [Forgery("honest", sign(original.record), original.table)])
    assert verdict == "partly", reason
    assert "not recomputed here" in reason
    assert "inbounds verify" in reason


def test_a_mechanism_that_promises_less_is_refused(checker, original):  # noqa: F811
    assert believed(checker, forgeries.weaker(original, every=False)) == []


def test_every_changed_number_is_refused_that_is_no_estimate(checker, original):  # noqa: F811
    if not in_texts(original):
        pytest.skip("the page reads no Parquet files")
    made = forgeries.changed_cells(original, every=True)
    assert believed(checker, (one for one in made if not one.estimate)) == []


def test_cells_rows_and_columns_in_another_place_are_refused(checker, original):  # noqa: F811
    if not in_texts(original):
        pytest.skip("the page reads no Parquet files")
    assert believed(checker, (one for one in forgeries.moved_cells(original) if not one.estimate)) == []


def test_draws_that_do_not_give_the_table_are_refused(checker, original):  # noqa: F811
    if not in_texts(original):
        pytest.skip("the page reads no Parquet files")
    assert believed(checker, forgeries.other_draws(original)) == []


LEFT_TO_PYTHON = {
    *("values", "composition", "reason", "answers", "neighbours in words", "origin", "expected error"),
    *("digest of a mechanism", "levels"),
}
"""Forgeries of texts, and of digests without passports, that the page does not judge."""


def test_no_forgery_is_said_to_hold(checker, original):  # noqa: F811
    found = judged(checker, forgeries.renamed(original))
    assert {forgery.name for forgery, verdict, _ in found if verdict != "refused"} <= LEFT_TO_PYTHON
    found += judged(checker, forgeries.changed_cells(original, every=False))
    assert {verdict for _, verdict, _ in found} <= {"refused", "partly", "unjudged"}
    assert all("not recomputed here" in reason for _, verdict, reason in found if verdict == "partly")


def test_what_only_the_weights_or_the_adjustment_show_is_not_said_to_hold(checker, original):  # noqa: F811
    made = [*forgeries.refitted(original), *forgeries.balanced_cells(original)]
    found = judged(checker, made)
    assert {verdict for _, verdict, _ in found} <= {"refused", "partly"}
    assert all("not recomputed here" in reason for _, verdict, reason in found if verdict == "partly")


# --- fields and kinds of statistics -------------------------------------------------------------------------


def test_fields_that_a_kind_does_not_have_are_refused(checker, original):  # noqa: F811
    made = list(forgeries.other_fields(original))
    assert made
    assert believed(checker, made) == []


def test_a_kind_without_a_rule_is_not_verifiable_yet(checker, original):  # noqa: F811
    made = list(forgeries.unknown_kinds(original))
    found = checker.judged_together([forgery.record, forgery.table] for forgery in made)
    sentence = 'not verifiable yet: this page has no rule for statistics of the kind "range"'
    assert {tuple(one) for one in found} == {("unjudged", False, sentence)}


def test_a_record_that_is_wrong_elsewhere_is_refused_whatever_its_kinds(checker, original):  # noqa: F811
    def two_faults(lie):
        lie["plan"]["statistics"][0]["kind"] = "range"
        lie["plan"]["statistics"].append({"kind": "sum", "of": "x", "name": "one more"})

    assert believed(checker, [original.forged("two faults", two_faults)]) == []


def test_the_page_shows_no_verdict_on_a_kind_without_a_rule(browser, schools, tmp_path):
    original = Original.read(schools.record, schools.table)  # noqa: F811
    forgery = next(iter(forgeries.unknown_kinds(original)))
    record = json.dumps(forgery.record).encode()
    said = {"valid": None, "reason": "not verifiable yet"}
    (tmp_path / "check.html").write_text(check_page.page(record, said, others=[forgery.table]), "utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "check.html").as_uri())
    assert page.evaluate("document.body.dataset.verdict") == "unjudged"
    boxes = page.locator(".verdict").all_inner_texts()
    assert [("No verdict" in box, "not verifiable yet" in box) for box in boxes] == [(True, True)] * 2
    assert page.locator(".agree").count() == 0
    page.close()


# --- with passports -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schools(tmp_path_factory, designs):  # noqa: F811
    return publish(tmp_path_factory.mktemp("schools"), cache=designs)


def together(checker, *files):
    ((verdict, _, reason),) = checker.judged_together([files])
    return verdict, reason


def test_a_record_holds_when_table_and_passports_are_given_and_every_cell_is_recomputed(checker, schools):
    record, table = schools.record.read_bytes(), schools.table.read_bytes()
    passports = [file.read_bytes() for file in schools.passports]
    verdict, reason = together(checker, record, table, *passports)
    assert verdict == "proved", reason
    assert together(checker, record, *passports, table)[0] == "proved"
    assert together(checker, record, table)[0] == "partly"
    assert together(checker, record, *passports)[0] == "partly"
    assert together(checker, record, table, *passports[1:])[0] == "partly"


def test_a_record_is_refused_with_passports_that_do_not_match(checker, schools, tmp_path, designs):  # noqa: F811
    record, table = schools.record.read_bytes(), schools.table.read_bytes()
    passports = [file.read_bytes() for file in schools.passports]
    other = publish(tmp_path, plan_of([{"sum": "x"}], "at most"), cache=designs)
    strays = [file.read_bytes() for file in other.passports]
    assert together(checker, record, table, *strays)[0] == "refused"
    assert together(checker, record, table, *passports[1:], strays[0])[0] == "refused"
    assert together(checker, record, table, *passports, strays[0])[0] == "proved"
    changed = passports[0].replace(b'"epsilon": "', b'"epsilon": "1')
    assert together(checker, record, table, changed, *passports[1:])[0] == "refused"


def test_an_expected_error_that_the_passports_do_not_give_is_refused(checker, schools):
    original = Original.read(schools.record, schools.table)  # noqa: F811
    passports = [file.read_bytes() for file in schools.passports]
    lies = [one for one in forgeries.changed_cells(original, every=True) if one.name.split(" ")[0].endswith("_error")]
    assert lies
    for lie in lies:
        assert together(checker, json.dumps(lie.record).encode(), lie.table, *passports)[0] == "refused"

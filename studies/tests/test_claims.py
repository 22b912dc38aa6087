"""Claims of the papers: verdicts, printed digits, and the tables of the pages."""

import importlib.util
import re
from pathlib import Path

import pytest

from inbounds_studies import Table, find, listed
from inbounds_studies.claims import Claim, agreeing_digits, claims, claims_of, verdict_of
from inbounds_studies.claims.claim import digits
from raising import rejects

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "studies"


def test_every_claim_names_a_study_and_a_test_that_exist():
    files = [*(ROOT / "studies" / "tests").glob("*.py"), *(ROOT / "tests").rglob("*.py")]
    tests = set(re.findall(r"^def (test_\w+)", "\n".join(file.read_text() for file in files), re.M))
    for claim in claims():
        assert claim.study in listed(), claim.place
        assert claim.test in tests, claim.test


def test_every_study_has_a_claim_and_a_verdict():
    for study in listed():
        assert claims_of(study), study


@pytest.mark.parametrize(
    ("printed", "ours", "agreeing"),
    [
        ("0.559", 0.55875, 3),
        ("0.091", 0.0901, 1),
        ("0.238", 0.23809, 3),
        ("0.238", 0.2415, 2),
        ("5", 30.0, 0),
        ("20", 20.0, 2),
        ("0", 0.0, 1),
        ("0.000", 0.0004, 1),
        ("0.000", 0.4, 0),
        ("1.586", 1.5862, 4),
        ("-0.5", -0.46, 1),
    ],
)
def test_digits_agree_when_both_round_to_the_same(printed, ours, agreeing):
    assert agreeing_digits(printed, ours) == agreeing
    assert digits(printed) >= agreeing


def test_a_claim_with_a_printed_number_must_have_ours():
    with rejects(ValueError, "here: printed and ours"):
        Claim("000-table1", "here", "1", "holds", "it does", "test", ("1",))
    with rejects(ValueError, "verdict", about="'perhaps'"):
        Claim("000-table1", "here", "1", "perhaps", "it does", "test")


def test_one_word_for_several_claims():
    made = [Claim("000-table1", "here", "1", verdict, "", "test") for verdict in ("holds", "refuted")]
    assert verdict_of(made[:1]) == "holds"
    assert verdict_of(made[1:]) == "refuted"
    assert verdict_of(made) == "holds for part"


def test_a_table_comes_back_from_its_csv_with_its_types():
    table = Table.of(("a", "b", "c", "d"), [("x, y", 1, 0.1 + 0.2, None), ("z", 2, 1e-300, True)])
    assert Table.read(table.csv()) == table


def test_the_pages_hold_every_claim_with_its_verdict_and_the_index_all():
    index = (PAGES / "index.md").read_text()
    for claim in claims():
        page = (PAGES / f"{claim.study[:3]}.md").read_text()
        words = f"| **{claim.place}** (`{claim.study}`): {claim.says} | **{claim.verdict}**: {claim.found} |"
        assert words in page, claim.place
        assert f"| {claim.place} | {claim.says} | **{claim.verdict}**: {claim.found} | `{claim.test}` |" in index


@pytest.mark.parametrize("study", ["000-table1", "000-table3", "000-table4", "003-fig7", "004-fig1"])
def test_the_numbers_of_a_page_are_those_of_a_run(study):
    """Exact and cheap studies, run anew; the others' numbers are written by the same code from a full run."""
    spec = importlib.util.spec_from_file_location("pages", PAGES / "pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    table, page = find(study).run().table, (PAGES / f"{study[:3]}.md").read_text()
    for claim in claims_of(study):
        assert f"| {' | '.join(pages.row(claim, table))} |" in page

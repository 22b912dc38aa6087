"""Claims of the papers: verdicts, printed digits, and the tables of the pages."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from inbounds_studies import Table, find, listed
from inbounds_studies.claims import Claim, Numbers, agreeing_digits, claims, claims_of, numbers, verdict_of
from inbounds_studies.claims.claim import digits
from raising import rejects

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "studies"


def sources():
    """The source of every test, decorators included, by its name."""
    found = {}
    for file in [*(ROOT / "studies" / "tests").glob("*.py"), *(ROOT / "tests").rglob("test_*.py")]:
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found


def test_every_statement_names_a_study_and_tests_that_exist():
    tests = sources()
    assert len({claim.id for claim in claims()}) == len(claims())
    assert set(numbers()) <= {claim.id for claim in claims()}
    for claim in claims():
        assert not claim.study or claim.study in listed(), claim.id
        assert claim.tests, claim.id
        assert set(claim.tests) <= set(tests), claim.id


def test_every_number_of_a_verdict_stands_in_its_tests():
    """A verdict's decimals are asserted, not copied: each is in the source of a test that the statement names."""
    tests = sources()
    for claim in claims():
        bodies = "\n".join(tests[name] for name in claim.tests)
        for number in re.findall(r"\d+\.\d+", claim.found):
            assert number in bodies or number.lstrip("0") in bodies, (claim.id, number)


NUMBERED = {
    "000": ("Definition 8", "Theorem 3", "Corollary 1", "Table 4", "Fig. 9"),
    "001": ("Definition 2", "Proposition 3", "Theorem 1", "Fig. 4"),
    "002": ("Definition 4", "Lemma 10", "Theorem 3", "Corollary 1", "Table 2", "Fig. 2"),
    "003": ("Definition 5", "Lemma 4", "Theorem 4", "Fig. 13"),
    "004": ("Definition 1", "Lemma 1", "Fig. 4", "R3"),
}
"""The last of each numbered series of each paper."""


@pytest.mark.parametrize("paper", NUMBERED)
def test_no_numbered_statement_is_missing(paper):
    """Each number from one to the last, alone or in a list or range of numbers."""
    covered = set()
    for claim in claims():
        if claim.place.startswith(paper):
            for word, rest in re.findall(
                r"(Definition|Lemma|Theorem|Proposition|Corollary|Table|Fig|R)s?\.? ?([\d, –]+)", claim.place
            ):
                ends = [int(n) for n in re.findall(r"\d+", rest)]
                spread = range(ends[0], ends[-1] + 1) if "–" in rest else ends
                covered |= {(word, n) for n in spread}
    for last in NUMBERED[paper]:
        word, count = re.fullmatch(r"([A-Za-z]+)\.? ?(\d+)", last).groups()
        assert {(word, n) for n in range(1, int(count) + 1)} <= covered, last


def test_every_proof_stands_on_the_page_of_proofs_and_every_section_there_belongs_to_a_statement():
    text = (PAGES / "proofs.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (.+)\n\n(?!#)\S", text, re.M)  # a title with something below it
    named = [id_ for title in sections for id_ in title.split("; ")]
    assert sorted(named) == sorted(claim.id for claim in claims() if claim.basis == "proof")
    assert len(re.findall("^### ", text, re.M)) == len(sections)


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
    with rejects(ValueError, "printed"):
        Numbers(("1",))
    with rejects(ValueError, "verdict", about="'perhaps'"):
        Claim("1", "000 Table 1", "table", "says", "perhaps", "proof", "it does", ("test",))
    with rejects(ValueError, "basis"):  # one setting or two prove nothing
        Claim("1", "000 Table 1", "table", "says", "holds", "settings", "it does", ("test",))
    with rejects(ValueError, "study"):
        Claim(
            *("1", "000 Table 1", "table", "says", "holds", "proof", "it does", ("test",)),
            numbers=Numbers(("1",), lambda _: [1]),
        )


def test_one_word_for_several_claims():
    made = [Claim("1", "here", "text", "says", verdict, "proof", "", ("test",)) for verdict in ("holds", "false")]
    assert verdict_of(made[:1]) == "holds"
    assert verdict_of(made[1:]) == "false"
    assert verdict_of(made) == "holds in part"


def test_a_table_comes_back_from_its_csv_with_its_types():
    table = Table.of(("a", "b", "c", "d"), [("x, y", 1, 0.1 + 0.2, None), ("z", 2, 1e-300, True)])
    assert Table.read(table.csv()) == table


def pages():
    spec = importlib.util.spec_from_file_location("pages", PAGES / "pages.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_index_is_made_of_the_statements_and_the_pages_hold_those_with_numbers():
    assert pages().index(claims()) in (PAGES / "index.md").read_text(encoding="utf-8")
    for claim in claims():
        if claim.numbers != Numbers():
            page = (PAGES / f"{claim.place[:3]}.md").read_text(encoding="utf-8")
            words = f"| **{claim.place}** (`{claim.study}`): {claim.says} | **{claim.verdict}**: {claim.found} |"
            assert words in page, claim.id


@pytest.mark.parametrize("study", ["000-table1", "000-table3", "000-table4", "003-fig7", "004-fig1"])
def test_the_numbers_of_a_page_are_those_of_a_run(study):
    """Exact and cheap studies, run anew; the others' numbers are written by the same code from a full run."""
    table, page = find(study).run().table, (PAGES / f"{study[:3]}.md").read_text()
    for claim in claims_of(study):
        if claim.numbers != Numbers():
            assert f"| {' | '.join(pages().row(claim, table))} |" in page

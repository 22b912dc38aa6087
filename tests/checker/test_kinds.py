"""Which checkers have a rule for which kind of statistic. The rules of the page are read from its text."""

import re
from pathlib import Path

import pytest

import inbounds.report
from inbounds.checker.plan import RULES
from inbounds.statistics import STATISTICS

PAGE = Path(inbounds.report.__file__).parent / "static" / "check" / "release.js"

GAPS: dict[str, set[str]] = {"verify": set(), "the page": set()}
"""Kinds that are not verifiable yet, by checker. A new statistic may be added here until its rules are written."""


def kinds_on_the_page() -> set[str]:
    (table,) = re.findall(r"const STATISTICS = new Map\(\[\n(.*?)\n\]\);", PAGE.read_text("utf-8"), re.DOTALL)
    kinds = re.findall(r'^  \["([a-z_]+)", \{', table, re.MULTILINE)
    assert len(kinds) == len(table.splitlines()) == len(set(kinds))
    return set(kinds)


def kinds_in_the_guide() -> set[str]:
    text = (Path(__file__).parents[2] / "docs" / "auditor.md").read_text("utf-8")
    (table,) = re.findall(r"\| `kind` \| its own fields \|\n\|---\|---\|\n((?:\|.*\n)+)", text)
    return {kind for row in table.splitlines() for kind in re.findall(r"`([a-z_]+)`", row.split("|")[1])}


def test_the_guide_for_auditors_lists_the_fields_of_every_kind_with_a_rule():
    assert kinds_in_the_guide() == set(RULES)


CHECKERS = {"verify": lambda: set(RULES), "the page": kinds_on_the_page}


@pytest.mark.parametrize("checker", CHECKERS)
def test_every_kind_has_a_rule_or_is_named_as_a_gap(checker):
    kinds = CHECKERS[checker]()
    assert STATISTICS.keys() - kinds == GAPS[checker], f"no rule in {checker}"
    assert kinds - STATISTICS.keys() == set(), f"a rule of {checker} is about no statistic"


@pytest.mark.parametrize("kind", STATISTICS)
def test_a_checker_knows_the_fields_of_a_kind_and_no_others(kind):
    if kind in GAPS["verify"]:
        pytest.skip("not verifiable yet")
    common = {"kind", "name", "epsilon", "budget_share", "design"}
    subject = {"condition": "condition", "crossed": "columns"}.get(RULES[kind].subject, "column")
    assert {subject, *RULES[kind].options, *common} == STATISTICS[kind].model_fields.keys()

"""Python's checker on the vectors; the folders `proof` and `check` have the same test for the other two."""

import json

import pytest

from inbounds.errors import PassportError
from inbounds.mechanism import load
from inbounds.mechanism.laws import LAWS as REGISTRY
from inbounds.mechanism.laws.base import BROWSER, COQ
from vectors import write
from vectors.write import FOLDER, LAWS, listed


@pytest.mark.long
def test_python_accepts(subtests):
    for file in listed("accept"):
        with subtests.test(file=str(file.relative_to(FOLDER))):
            load.PASSPORT.read(file)


@pytest.mark.long
def test_python_refuses(subtests):
    for file in listed("refuse"):
        with subtests.test(file=str(file.relative_to(FOLDER))):
            with pytest.raises(PassportError):
                load.PASSPORT.read(file)
            with pytest.raises(PassportError):
                load.certify_law_only(file)


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_the_files_are_those_that_are_written(law):
    written = {f"{verdict}/{name}.json" for verdict, name, _ in LAWS[law]()}
    assert {str(file.relative_to(FOLDER / law)) for file in (FOLDER / law).glob("*/*.json")} == written


def test_every_law_of_the_registry_has_vectors_of_both_verdicts():
    for verdict in ("accept", "refuse"):
        contents = [json.loads(file.read_text())["content"] for file in listed(verdict)]
        assert set(REGISTRY) <= {kind for content in contents for kind in content.get("law", ())}


@pytest.mark.parametrize("checker", [BROWSER, COQ])
def test_a_checker_is_asked_about_the_laws_that_it_has_a_rule_for(checker, monkeypatch):
    monkeypatch.setattr(REGISTRY["response"], "checkers", frozenset())
    write._checkers.cache_clear()
    try:
        unasked = {
            file for verdict in ("accept", "refuse") for file in {*listed(verdict)} - {*listed(verdict, checker)}
        }
    finally:
        write._checkers.cache_clear()
    without_rule = {law for law, kind in REGISTRY.items() if checker not in kind.checkers}
    assert unasked == {file for law in without_rule for file in (FOLDER / law).glob("*/*.json")}


def test_the_gaps_of_the_other_checkers_are_those_listed_here():
    gaps = {kind: {BROWSER, COQ} - law.checkers for kind, law in REGISTRY.items() if law.checkers != {BROWSER, COQ}}
    assert gaps == {}  # a new law is listed here until the page and the proof have a rule for it

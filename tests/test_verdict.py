"""What a file proves, as a value: the same for commands, services and pages."""

import json
import os

import pytest

import inbounds as ib
from inbounds.verdict import Verdict


@pytest.fixture
def passport(tmp_path):
    path = tmp_path / "m.json"
    ib.catalog.explicit_fair(ib.count(5), "0.5").save(path)
    return path


def test_a_passport_gives_the_mechanism_that_is_proved(passport):
    found = ib.verify(passport)
    assert found.is_valid
    assert (found.mechanism.weights == ib.load(passport).weights).all()
    assert str(found) == f"proved {passport}: count with 6 possible answers from 0 to 5, epsilon 0.5"
    written = json.loads(passport.read_text())
    content = {**written["content"], "sha256": written["sha256"]}
    content["law"] = "matrix"
    more = {key: found.to_json()[key] for key in ("promise", "checkers", "tight_epsilon", "claimed_not_checked")}
    assert found.to_json() == {"valid": True, **content, **more}
    assert more["claimed_not_checked"] == found.mechanism.unchecked_claims


def test_a_changed_file_gives_the_reason_and_no_mechanism(passport):
    passport.write_text(passport.read_text().replace('"1/2"', '"1/3"'))
    found = ib.verify(passport)
    assert not found.is_valid
    assert found.mechanism is None
    assert found.to_json() == {"valid": False, "reason": found.reason}
    assert "digest" in found.reason


@pytest.mark.parametrize("content", ["", "[1]", '{"format": 5}', "{" * 10**5, "a,b\n1,2\n"])
def test_what_is_no_passport_is_refused_and_not_an_error(tmp_path, content):
    (tmp_path / "x").write_text(content)
    assert not ib.verify(tmp_path / "x").is_valid


def test_several_answers_give_the_sentences_that_are_proved(tmp_path):
    made = ib.make_chain(ib.count(3), [1, "0.5"])
    made.save(tmp_path / "r.json")
    found = ib.verify(tmp_path / "r.json")
    assert found.is_valid
    assert found.mechanism is None
    assert found.proved
    assert found.to_json() == {"valid": True, "checked": "; ".join(found.proved)}


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ib.verify(tmp_path / "none.json")


def test_a_verdict_is_a_value(passport):
    assert ib.verify(os.fspath(passport)).path == passport
    assert Verdict(passport, reason="changed") == Verdict(passport, reason="changed")

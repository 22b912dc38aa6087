"""A statistic of a kind without a rule is neither accepted nor refused: verify says so and exits with 3."""

import json
import shutil

import pytest
from typer.testing import CliRunner

import inbounds as ib
from checker import forgeries
from checker.forgeries import Original
from checker.plans import plan_of
from checker.released import publish, sign
from inbounds.checker import NoRule, check_record
from inbounds.cli import app
from inbounds.errors import PassportError
from inbounds.files import write_text
from inbounds.releases.verify import load_record
from inbounds.verdict import NO_VERDICT

SENTENCE = 'not verifiable yet: this checker has no rule for statistics of the kind "range"'


@pytest.fixture(scope="module")
def released(tmp_path_factory, designs):
    plan = plan_of([{"count": "c = 'p'", "name": "yes"}, {"max": "x"}], "public")
    return publish(tmp_path_factory.mktemp("released"), plan, cache=designs)


@pytest.fixture
def unknown(released, tmp_path):
    """The same release, of which one statistic is of a kind that no checker knows."""
    lie = Original.read(released.record, released.table).record
    lie["plan"]["statistics"][1] |= {"kind": "range", "width": ["of", "any", "form"]}
    shutil.copy(released.table, tmp_path)
    file = tmp_path / released.record.name
    write_text(file, json.dumps(sign(lie)))
    return file


def test_an_honest_release_of_known_kinds_is_accepted(released):
    assert ib.verify(released.record).is_valid


@pytest.mark.long
def test_every_statistic_of_an_unknown_kind_has_no_rule(original):
    for forgery in forgeries.unknown_kinds(original):
        with pytest.raises(NoRule) as reason:
            check_record(forgery.record)
        assert str(reason.value) == SENTENCE


@pytest.mark.long
def test_fields_that_a_known_kind_does_not_have_are_refused(original):
    for forgery in forgeries.other_fields(original):
        with pytest.raises(PassportError) as reason:
            check_record(forgery.record)
        assert not isinstance(reason.value, NoRule), forgery.name


def test_verify_has_no_verdict_on_an_unknown_kind(unknown, released):
    for passports in ([], released.passports):
        verdict = ib.verify(unknown, passports=passports)
        assert not verdict.is_decided
        assert not verdict.is_valid
        assert verdict.reason == SENTENCE
        assert verdict.to_json() == {"valid": None, "reason": SENTENCE}
        assert verdict.proved == ()
        assert str(verdict) == f"undecided {unknown}: {SENTENCE}"


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["plan"].update(epsilon="0"),
        lambda content: content["plan"]["statistics"][0].update(of="c = 'p'"),
        lambda content: content["plan"]["statistics"][0].update(name=content["plan"]["statistics"][1]["name"]),
        lambda content: content["plan"]["columns"]["x"].update(low="20"),
        lambda content: content["groups"].update(sizes="4 3 4 6"),
        lambda content: content["plan"]["statistics"][1].update(kind="a range"),
    ],
)
def test_a_record_that_is_wrong_elsewhere_is_refused_whatever_its_kinds(unknown, change):
    content = json.loads(unknown.read_text("utf-8"))["content"]
    change(content)
    unknown.write_text(json.dumps(sign(content)), "utf-8")
    verdict = ib.verify(unknown)
    assert verdict.is_decided
    assert not verdict.is_valid


def test_a_record_of_an_unknown_kind_that_was_changed_is_refused(unknown):
    envelope = json.loads(unknown.read_text("utf-8"))
    envelope["content"]["statement"] += " Trust it."
    unknown.write_text(json.dumps(envelope), "utf-8")
    assert ib.verify(unknown).to_json()["valid"] is False


# --- the command line ---------------------------------------------------------------------------------------


def test_the_command_says_so_and_exits_with_3(unknown):
    done = CliRunner().invoke(app, ["verify", str(unknown)])
    assert done.exit_code == NO_VERDICT == 3
    assert done.stderr.strip() == SENTENCE
    assert done.stdout == ""
    as_json = CliRunner().invoke(app, ["verify", str(unknown), "--json"])
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout) == {"valid": None, "reason": SENTENCE}


def test_among_several_files_a_refusal_outweighs_a_missing_rule(unknown, released, tmp_path):
    honest = CliRunner().invoke(app, ["verify", str(released.record), str(unknown), "--json"])
    assert honest.exit_code == 3
    assert [one["valid"] for one in json.loads(honest.stdout)] == [True, None]
    shown = CliRunner().invoke(app, ["verify", str(released.record), str(unknown)])
    assert shown.exit_code == 3
    assert "undecided" in shown.stdout
    lie = tmp_path / "lie.json"
    lie.write_text(released.passports[0].read_text().replace('"epsilon": "', '"epsilon": "1'))
    assert CliRunner().invoke(app, ["verify", str(unknown), str(lie)]).exit_code == 1


def test_a_second_checker_is_not_asked_about_a_record(unknown):
    done = CliRunner().invoke(app, ["verify", str(unknown), "--checker", "true"])
    assert isinstance(done.exception, ValueError)


def test_a_page_of_the_record_has_no_verdict_either(unknown, tmp_path):
    target = tmp_path / "check.html"
    done = CliRunner().invoke(app, ["verify", str(unknown), "--out", str(target)])
    assert done.exit_code == 3
    assert '"valid": null' in target.read_text("utf-8")


def test_no_other_command_takes_the_record_for_checked(unknown):
    """Whatever catches errors of files refuses it."""
    assert issubclass(NoRule, PassportError)
    with pytest.raises(NoRule):
        load_record(unknown)

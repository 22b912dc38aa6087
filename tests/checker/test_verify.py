"""Verification of whole releases: every cell is recomputed, every text compared, every passport connected."""

import json
import shutil

import pytest
from typer.testing import CliRunner

import inbounds as ib
from checker import forgeries
from checker.plans import cases, plan_of
from checker.released import publish, sign
from inbounds.cli import app
from inbounds.releases import recompute
from raising import rejects


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.slow) for case in cases()]
)
def test_an_honest_release_is_recomputed_to_the_last_cell(published, case):
    found = published(case)
    for passports in ([], found.passports):
        verdict = ib.verify(found.record, passports=passports)
        assert verdict.is_valid, verdict.reason
        assert any("cells" in sentence for sentence in verdict.proved)
        assert verdict.unchecked


def test_every_changed_column_is_refused(original, passing):
    assert passing(one for one in forgeries.changed_cells(original, every=False) if one.estimate) == []


@pytest.mark.slow
def test_every_changed_cell_is_refused(original, passing):
    assert passing(forgeries.changed_cells(original, every=True)) == []


def test_estimates_in_another_place_are_refused(original, passing):
    assert passing(one for one in forgeries.moved_cells(original) if one.estimate) == []


def test_other_groups_labels_sizes_and_promises_are_refused(original, passing):
    assert passing(forgeries.renamed(original)) == []


def test_a_plan_that_everything_but_the_weights_was_made_to_fit_is_refused(original, passing):
    assert passing(forgeries.refitted(original)) == []


def test_numbers_that_add_up_but_do_not_follow_from_the_draws_are_refused(original, passing):
    assert passing(forgeries.balanced_cells(original)) == []


# --- passports ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schools(tmp_path_factory, designs):
    """Two releases that share no mechanism."""
    plans = [
        plan_of([{"count": "c = 'p'", "name": "yes"}, {"median": "x"}], "public"),
        plan_of([{"sum": "x", "name": "all"}], "at most"),
    ]
    return [publish(tmp_path_factory.mktemp("schools"), plan, cache=designs) for plan in plans]


def test_passports_are_connected_to_the_numbers_that_they_drew(schools):
    first, _ = schools
    verdict = ib.verify(first.record, passports=first.passports)
    assert verdict.is_valid
    for passport in first.passports:
        (said,) = [sentence for sentence in verdict.proved if sentence.startswith(f"{passport} drew ")]
        assert passport.stem.rpartition("-")[0] in said


def test_a_passport_that_is_missing_or_belongs_to_nothing_is_named(schools):
    first, second = schools
    missing = ib.verify(first.record, passports=first.passports[1:])
    assert missing.is_valid
    assert any(sentence.startswith("no passport was given for") for sentence in missing.proved)
    stray = ib.verify(first.record, passports=[*first.passports, second.passports[0]])
    assert stray.is_valid
    assert any(f"{second.passports[0]} drew no number of this record" in sentence for sentence in stray.proved)


def test_a_record_is_refused_with_the_passports_of_another(schools):
    first, second = schools
    assert not ib.verify(first.record, passports=second.passports).is_valid
    assert not ib.verify(first.record, passports=[*first.passports[1:], *second.passports]).is_valid


def test_a_record_is_refused_with_a_passport_that_was_changed(schools, tmp_path):
    first, _ = schools
    for number, passport in enumerate(first.passports):
        content = json.loads(passport.read_text())
        content["epsilon"] = "1/9"
        lie = tmp_path / f"{number}.json"
        lie.write_text(json.dumps(content))
        others = [one for one in first.passports if one != passport]
        assert not ib.verify(first.record, passports=[*others, lie]).is_valid


def test_digests_of_mechanisms_in_each_other_s_place_are_refused_with_and_without_passports(schools, tmp_path):
    first, _ = schools
    record = json.loads(first.record.read_text())["content"]
    one, other = (line["sha256"] for line in record["mechanisms"][:2])
    record["mechanisms"][0]["sha256"], record["mechanisms"][1]["sha256"] = other, one
    shutil.copy(first.table, tmp_path)
    file = tmp_path / first.record.name
    file.write_text(json.dumps(sign(record)))
    assert not ib.verify(file).is_valid
    assert not ib.verify(file, passports=first.passports).is_valid


def test_a_mechanism_that_cannot_be_designed_again_needs_its_passport(schools, tmp_path, monkeypatch):
    """As on another machine, where a solver's last digits differ."""
    first, _ = schools
    monkeypatch.setattr(recompute, "default_cache_folder", lambda: tmp_path)
    monkeypatch.setattr("inbounds.releases.workload.load_or_design", _designs_otherwise)
    verdict = ib.verify(first.record)
    assert not verdict.is_valid
    assert "passport" in verdict.reason
    assert ib.verify(first.record, passports=first.passports).is_valid


def _designs_otherwise(request, folder):
    from inbounds.catalog.response import exponential
    from inbounds.statistics.designs import DesignedMechanism, design_request

    quantile = not hasattr(request.query, "answers")
    made = (
        design_request(request.query, request.epsilon, request.options)
        if quantile
        else exponential(request.query, "1/9")
    )
    return DesignedMechanism(made, "0" * 64)


def test_designing_again_has_a_limit_and_passports_have_none(schools, monkeypatch):
    first, _ = schools
    monkeypatch.setattr(recompute, "PATIENCE", -1.0)
    verdict = ib.verify(first.record)
    assert not verdict.is_valid
    assert "passports" in verdict.reason
    monkeypatch.setattr(recompute, "PATIENCE", 60.0)
    assert ib.verify(first.record, passports=first.passports).is_valid


def test_passports_without_a_record_are_an_error_of_the_caller(schools):
    first, _ = schools
    with rejects(ValueError, "passports"):
        ib.verify(first.passports[0], passports=first.passports)


def test_the_command_line_connects_records_and_passports(schools):
    first, second = schools
    everything = [first.record, *first.passports, second.record, *second.passports]
    done = CliRunner().invoke(app, ["verify", "--json", *map(str, everything)])
    assert done.exit_code == 0
    found = {line["file"]: line for line in json.loads(done.stdout)}
    assert "drew yes in groups of" in found[str(first.record)]["checked"]
    assert first.record.name in found[str(first.passports[0])]["note"]
    alone = CliRunner().invoke(app, ["verify", "--json", str(first.record), *map(str, second.passports)])
    assert alone.exit_code == 1
    refused, *others = json.loads(alone.stdout)
    assert not refused["valid"]
    assert all(line["valid"] and "no number" in line["note"] for line in others)


def test_the_command_line_says_what_was_recomputed_and_what_was_not(schools):
    first, _ = schools
    done = CliRunner().invoke(app, ["verify", str(first.record)])
    assert done.exit_code == 0
    assert "recomputed from the stored draws" in " ".join(done.stdout.split())
    assert "Claimed, not checked" in done.stdout
    assert "proved" not in done.stdout

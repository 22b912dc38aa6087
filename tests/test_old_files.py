"""Files of version 0.1 are read for ever, and mean what they meant: see fixtures/README.md."""

import csv
import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import inbounds as ib
import inbounds.tables
from inbounds.attack import load_multilevel, load_record
from inbounds.cli import main
from inbounds.mechanism import passport as passports
from inbounds.mechanism.law import Matrix, Noise
from inbounds.mechanism.quantiles import Central, CountedTable, Oblivious, ScoreTable, SidedTable
from inbounds.tables import groups, read_plan

OLD = Path(__file__).parent / "fixtures" / "v0_1"
PLANS = ("public", "maximum", "change")


def content_of(name):
    return json.loads((OLD / name).read_text("utf-8"))


# --- passports --------------------------------------------------------------------------------------------

ALPHA_HALF, ALPHA_THIRD = ib.alpha("1/2"), ib.alpha("1/3")
PASSPORTS = {
    "matrix": ("count", range(6), ib.Reach(1), Fraction(1, 3)),
    "optimal": ("count", range(7), ib.Reach(1), Fraction(1, 2)),
    "noise": ("count", range(301), ib.Reach(1), ALPHA_HALF),
    "noise_with_remap": ("mean", [Fraction(k, 3) for k in range(7)], ib.Reach(2), ALPHA_THIRD),
    "mean": ("mean", [1 + Fraction(k, 4) for k in range(9)], ib.Reach(2), Fraction(1, 10)),
    "total": ("total", range(-6, 4), ib.Reach(3), Fraction(1)),
    "extreme": ("extreme", range(1, 6), ib.Everyone(), Fraction(2)),
    "interval": ("interval", [Fraction(2 * k - 3, 4) for k in range(6)], ib.Reach(2), Fraction(1)),
    "interval_with_holes": ("interval", [Fraction(2 * k + 1, 2) for k in (0, 3, 4, 5)], ib.Reach(2), Fraction(1)),
    "ordinal": ("ordinal", range(5), ib.Metric(Fraction(3, 2)), Fraction(1)),
    "cells": ("count", range(6), ib.Reach(1), Fraction(1)),
    "category": ("category", range(4), ib.Everyone(), Fraction(1)),
}


@pytest.mark.parametrize("name", PASSPORTS)
def test_a_passport_is_proved_again_and_says_what_it_said(judge, name):
    kind, answers, neighbours, epsilon = PASSPORTS[name]
    path = OLD / "passports" / f"{name}.json"
    made, content = ib.load(path), content_of(f"passports/{name}.json")
    assert content["version"] == 1
    assert judge.certifies(made)
    assert (made.query.kind, list(made.query.answers), made.query.neighbours) == (kind, list(answers), neighbours)
    assert made.epsilon == epsilon
    assert type(made.law) is (Noise if name.startswith("noise") else Matrix)
    assert made.sha256 == content["sha256"]  # records name passports by it
    assert passports.passport(made) == content


def test_the_numbers_of_a_passport_are_those_that_were_written():
    rows = content_of("passports/matrix.json")["law"]["matrix"]
    assert ib.load(OLD / "passports" / "matrix.json").weights.tolist() == [[int(w) for w in r.split()] for r in rows]
    table = content_of("passports/noise_with_remap.json")["law"]["noise"]
    law = ib.load(OLD / "passports" / "noise_with_remap.json").law
    assert law.core.tolist() == [int(w) for w in table["core"].split()]
    assert [str(law.floor), str(law.end), str(law.size)] == [table[key] for key in ("floor", "end", "size")]
    assert law.remap.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_what_passports_say_besides_the_law_is_read():
    optimal, cells, category = (
        ib.load(OLD / "passports" / f"{name}.json") for name in ("optimal", "cells", "category")
    )
    assert optimal.optimality.bound <= optimal.optimality.value == pytest.approx(optimal.loss(), rel=1e-9)
    assert optimal.properties()["fair"]
    edges = [(-1, 2, 0), (2, Fraction(11, 2), 4), (7, 9, 8)]
    assert list(cells.query.outputs) == edges
    assert category.query.labels == ("a", "ü", 'with "quotes" and \\', "新")
    holes = ib.load(OLD / "passports" / "interval_with_holes.json").query
    assert holes.rounds
    assert holes.allowance == 0


@pytest.mark.parametrize("name", PASSPORTS)
def test_a_passport_still_samples_and_reports_its_own_outputs(name):
    made = ib.load(OLD / "passports" / f"{name}.json")
    answers = made.query.labels or [float(answer) for answer in made.query.answers]
    reports = made.sample(list(answers))
    assert np.isin(reports, made.query.reported).all()


# --- several answers, several levels, collected reports ------------------------------------------------------


def test_records_of_several_answers_are_proved_again():
    one, two = (load_record(OLD / name) for name in ("answers_same_question.json", "answers.json"))
    assert (one.composition.times, one.composition.same_question, one.basic) == ((3,), True, Fraction(1))
    assert (two.composition.times, two.composition.same_question) == ((2, 1), False)
    assert two.basic == 2 * Fraction(1, 3) + 1
    assert (one.delta, two.delta) == (Fraction(1, 10**6), Fraction(1, 1000))
    for found, name in ((one, "answers_same_question.json"), (two, "answers.json")):
        content = content_of(name)
        assert repr(found.epsilon) == content["epsilon_at_delta"]
        assert found.epsilon < float(found.basic)
        assert str(found) == content["statement"]
    assert one.composition.mechanisms[0] == ib.load(OLD / "passports" / "matrix.json")


def test_a_release_of_several_levels_is_proved_again():
    found = load_multilevel(OLD / "multilevel.json")
    assert found.epsilons == (2, 1, Fraction(1, 2))
    assert found.first.query == ib.count(4)
    rows = content_of("multilevel.json")["remaps"]
    assert [[" ".join(map(str, row)) for row in remap.tolist()] for remap in found.remaps] == rows
    assert all(0 <= report <= 4 for report in found.sample(2))


def test_collected_reports_are_counted_on():
    matrix, category = (ib.load(OLD / "passports" / f"{name}.json") for name in ("matrix", "category"))
    monday, tuesday = (ib.Collector.load(OLD / f"collection_{day}.json", matrix) for day in ("monday", "tuesday"))
    assert monday.counts.tolist() == [1, 2, 0, 1, 0, 1]
    assert (monday + tuesday).counts.tolist() == [1, 2, 2, 1, 0, 1]
    assert ib.Collector.load(OLD / "collection_category.json", category).counts.tolist() == [1, 0, 0, 2]
    with pytest.raises(ib.PassportError, match="another mechanism"):
        ib.Collector.load(OLD / "collection_monday.json", ib.catalog.truncated_geometric(ib.count(5), "1/4"))


# --- plans -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_reads_as_it_did(name):
    plan = read_plan(OLD / f"{name}.toml")
    assert plan.groups.keys == (("North",), ("South",), ("Empty",))
    assert plan.groups.sizes.tolist() == [5, 4, 2]
    assert plan.groups.public == (name == "public")
    assert plan.neighbours == ("add or remove one record" if name == "maximum" else "change one record")
    assert [s.kind for s in plan.statistics] == ["count", "histogram", "mean", "sum", "median", "max"]
    assert plan.epsilons == (Fraction(1, 2), *[Fraction(7, 10)] * 5)
    assert plan.interval == Fraction(9, 10)


@pytest.mark.parametrize("name", ["register.csv", "register.txt", "register.parquet"])
def test_a_register_lists_the_groups_it_listed(name):
    found = groups(["school"], name, 3 if name.endswith("txt") else "people", folder=OLD)
    assert found.keys == (("North",), ("South",), ("Empty",))
    assert found.sizes.tolist() == ([3, 3, 3] if name.endswith("txt") else [5, 4, 2])


# --- local privacy ----------------------------------------------------------------------------------------


def command(capsys, *words):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["inbounds", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
    return int(stop.value.code or 0), capsys.readouterr().out


@pytest.mark.parametrize("name", ["reports.csv", "reports.parquet"])
def test_reports_of_then_are_reconstructed(tmp_path, capsys, name):
    words = ["--column", "age", "-m", OLD / "passports" / "matrix.json", "--out", tmp_path / "found.csv"]
    code, _ = command(capsys, "local", "reconstruct", OLD / name, *words)
    assert code == 0
    with open(tmp_path / "found.csv", newline="") as found, open(OLD / "distribution.csv", newline="") as then:
        now, before = ([(r["answer"], float(r["probability"])) for r in csv.DictReader(f)] for f in (found, then))
    assert [answer for answer, _ in now] == [answer for answer, _ in before] == list("012345")
    assert math.fsum(p for _, p in now) == pytest.approx(1)
    if name == "reports.csv":
        assert [p for _, p in now] == pytest.approx([p for _, p in before], abs=1e-4)


# --- the command line -------------------------------------------------------------------------------------


def test_the_command_line_proves_every_old_file_and_refuses_each_with_one_character_changed(tmp_path, capsys):
    kept = [*sorted((OLD / "passports").glob("*.json")), OLD / "answers.json", OLD / "answers_same_question.json"]
    kept += [OLD / "multilevel.json"]
    code, said = command(capsys, "verify", "--json", *kept)
    assert code == 0
    assert [verdict["valid"] for verdict in json.loads(said)] == [True] * len(kept)
    changed = []
    for path in kept:
        text = path.read_text("utf-8")
        spot = text.rindex('"sha256"') + len('"sha256": "')
        changed.append(tmp_path / path.name)
        changed[-1].write_text(text[:spot] + ("0" if text[spot] != "0" else "1") + text[spot + 1 :], "utf-8")
    code, said = command(capsys, "verify", "--json", *changed)
    assert code == 1
    assert [verdict["valid"] for verdict in json.loads(said)] == [False] * len(kept)


# --- quantiles ----------------------------------------------------------------------------------------------

QUANTILES = Path(__file__).parent / "fixtures" / "quantiles_v1"
QUANTILE_PASSPORTS = {
    "scores": (ib.median(1, 5, size=25), Fraction(1), ScoreTable),
    "scores_of_persons": (
        ib.quantile("1/10", -1, 4, maximum=9, step="1/2", missing=1, records=3),
        Fraction(1, 2),
        ScoreTable,
    ),
    "scores_wide": (ib.median(0, 5000, maximum=4), Fraction(2), ScoreTable),
    "sides": (ib.quantile(1, 0, 100, size=30), Fraction(1), SidedTable),
    "counted": (ib.median(0, 4, size=300), Fraction(1, 5), CountedTable),
    "central": (ib.median(0, 2, size=5), Fraction(1), Central),
    "oblivious": (ib.median(0, 2, size=5), Fraction(1), Oblivious),
}


@pytest.mark.parametrize("name", QUANTILE_PASSPORTS)
def test_a_quantiles_passport_is_proved_again_and_says_what_it_said(name):
    path = QUANTILES / f"{name}.json"
    made, held = ib.load_quantile(path), json.loads(path.read_text("utf-8"))
    assert (made.query, made.epsilon, type(made.law)) == QUANTILE_PASSPORTS[name]
    assert made.sha256 == held["sha256"]
    assert ib.verify(path)

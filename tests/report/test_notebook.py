"""Values as they show themselves: one line of text, HTML without scripts, frames, pictures."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from hashlib import sha256

import pandas
import polars
import pyarrow
import pytest

import inbounds as ib
from inbounds.curator.answer import Answer, AnswerCost
from inbounds.mechanism import PropertyCheck
from inbounds.report.notebook import SHOWN_ROWS, render_notebook, text_table
from raising import rejects

HOSTILE = "<script>alert(1)</script>"
PLAN = {
    "groups": {"by": ["school"], "keys": ["north", HOSTILE], "size": 3},
    "columns": {"score": {"low": 0, "high": 4}},
    "statistics": [{"mean": "score"}],
    "privacy": {"epsilon": 2},
}
RECORDS = {"school": ["north", "north", HOSTILE], "score": [1, 4, 2]}


@pytest.fixture(scope="module")
def mechanism():
    return ib.optimal(ib.count(6), 1, properties=["fair"])


@pytest.fixture(scope="module")
def comparison():
    return ib.compare(ib.count(3), 1)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return ib.release(PLAN, pandas.DataFrame(RECORDS), cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def reconstruction():
    query = ib.category(["no", HOSTILE])
    return ib.reconstruct([600, 400], ib.catalog.randomized_response(query, ib.epsilon_from_alpha("1/3")))


@pytest.fixture
def ledger(tmp_path):
    with ib.Ledger.open(tmp_path / "budget.db") as found:
        found.add_population("pupils", epsilon=2)
        found.charge("pupils", "0.5", key="term 1")
        yield found


@pytest.fixture
def answer():
    cost = AnswerCost("0.5", "1.5", "epsilon", "0.5", None)
    table = {"school": ["north", HOSTILE], "count": [3, 4], "share": [0.123456789, None]}
    return Answer("a1", "pupils", "", {}, "0.5", None, "new", table, (), "a promise", (), "now", cost)


@pytest.fixture
def recommendation(comparison, mechanism):
    from inbounds.evaluate.recommend import Recommendation

    return Recommendation("fair", mechanism, f"Take it: {HOSTILE}", comparison)


KINDS = ("mechanism", "comparison", "recommendation", "released", "reconstruction", "ledger", "answer")


@pytest.mark.parametrize("name", KINDS)
def test_a_value_is_one_short_line_of_text(name, request):
    text = repr(request.getfixturevalue(name))
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize("name", KINDS)
def test_the_html_of_a_value_is_well_formed_and_obeys_nothing_in_it(name, request):
    html = request.getfixturevalue(name)._repr_html_()
    ET.fromstring(f"<whole>{html}</whole>")
    assert "<script" not in html
    assert len(html) < 60_000


def test_names_with_markup_are_shown(released, reconstruction, answer):
    for value in (released, reconstruction, answer):
        assert "&lt;script&gt;" in value._repr_html_()


@pytest.mark.parametrize("name", ["mechanism", "comparison", "released", "reconstruction", "ledger", "answer"])
def test_frames_of_both_libraries_hold_the_same(name, request):
    value = request.getfixturevalue(name)
    one, other = value.to_pandas(), value.to_polars()
    assert isinstance(one, pandas.DataFrame)
    assert isinstance(other, polars.DataFrame)
    told = one.reset_index() if one.index.name else one
    assert told.columns.tolist() == other.columns
    assert len(told) == len(other) > 0
    assert told.iloc[0].tolist() == list(other.row(0))


@pytest.mark.parametrize("name", ["mechanism", "comparison", "recommendation", "released", "reconstruction"])
def test_a_value_draws_itself(name, request):
    figure = request.getfixturevalue(name).plot()
    assert figure.axes[0].get_xlabel()
    assert figure.axes[0].has_data()


def test_labels_are_compared_by_their_heatmaps():
    assert len(ib.compare(ib.category(["a", "b"]), 1).plot().axes) > 1


def test_the_figure_of_a_release_has_a_dot_for_every_group(released):
    (axis,) = released.plot().axes
    (dots,) = axis.lines
    assert dots.get_xdata().tolist() == pytest.approx(released.table["score_mean"].to_pylist())
    assert [label.get_text() for label in axis.get_yticklabels()] == ["north", HOSTILE]


def test_the_frame_of_a_mechanism_is_its_matrix(mechanism):
    frame = mechanism.to_pandas()
    assert (frame.to_numpy() == mechanism.matrix).all()
    assert frame.columns.tolist() == [str(k) for k in range(7)]
    assert frame.index.tolist() == list(range(7))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pandas.DataFrame(RECORDS), pandas.DataFrame),
        (polars.DataFrame(RECORDS), polars.DataFrame),
        (pyarrow.table(RECORDS), pyarrow.Table),
    ],
)
def test_a_frame_in_gives_the_same_kind_out(given, kind, released):
    again = replace(released, plan=replace(released.plan, source=replace(released.plan.source, frame=given)))
    assert isinstance(again.frame, kind)
    assert pyarrow.table(again.frame).column_names == released.table.column_names


def test_a_release_as_text_is_its_table(released):
    first, north, *_ = str(released).splitlines()
    assert first.split() == released.table.column_names
    assert north.split()[0] == "north"
    assert str(released).endswith(repr(released))


def test_a_holding_says_yes_almost_or_no():
    assert repr(PropertyCheck(0)) == "<yes, exactly>"
    assert repr(PropertyCheck(5)) == "<almost, within 5 units of 2^-62>"
    assert repr(PropertyCheck(1 << 61)) == "<no, off by 0.5>"
    assert PropertyCheck(1 << 61)._repr_html_() == "<b>no</b>, off by 0.5"


def test_long_tables_are_cut_and_say_so():
    rows = [[str(k)] for k in range(SHOWN_ROWS + 1)]
    assert f"{SHOWN_ROWS} of {SHOWN_ROWS + 1} rows" in render_notebook("t", head=["k"], rows=rows)
    assert f">{SHOWN_ROWS}<" not in render_notebook("t", head=["k"], rows=rows)
    assert "rows" not in render_notebook("t", head=["k"], rows=rows[1:])


def test_a_preview_is_one_line_and_prints_errors_and_promise(tmp_path):
    from inbounds.releases.pipeline import preview_release

    found = preview_release(PLAN, pandas.DataFrame(RECORDS), cache=tmp_path)
    assert repr(found).startswith("Preview(epsilon 2, expected errors in groups of 3: score_mean 0.")
    head, row, _, promise = str(found).splitlines()
    assert head.split() == ["expected", "error", "size", "3", "best", "constant"]
    assert row.split()[0] == "score_mean"
    assert promise == found.statement.splitlines()[0]


def test_columns_of_text_line_up():
    lines = text_table(["a", "b"], [["x", 1.0], ["long", 23]]).splitlines()
    assert {len(line) for line in lines} == {len("long  23")}


def test_metadata_beside_a_csv_file_says_columns_epsilon_errors_and_digests(released, tmp_path):
    with rejects(ValueError, "path", about="None"):
        released.write_metadata()
    done = released.write(tmp_path / "out.csv")
    found = json.loads(done.write_metadata().read_text(encoding="utf-8"))
    titles = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert [column["titles"] for column in found["tableSchema"]["columns"]] == titles
    assert [column["datatype"] for column in found["tableSchema"]["columns"]] == ["string", "number", "number"]
    assert (found["url"], found["tableSchema"]["primaryKey"]) == ("out.csv", ["school"])
    (privacy,) = found["notes"]
    assert privacy["epsilon"] == "2"
    assert privacy["table_sha256"] == sha256((tmp_path / "out.csv").read_bytes()).hexdigest()
    assert privacy["record_sha256"] == json.loads((tmp_path / privacy["record"]).read_text())["sha256"]
    assert privacy["expected_errors"][0]["expected_error"] == done.record["mechanisms"][0]["expected_error"]
    with rejects(ValueError, "report", about="exist"):
        done.write_metadata()

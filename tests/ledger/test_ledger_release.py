"""Releases and the ledger: charged before the data is read, kept before they are seen, never twice for one question."""

import json
import re
import shutil
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.cli import main
from inbounds.files import canonical_json
from inbounds.ledger import Ledger
from inbounds.ledger.import_release import import_release
from inbounds.ledger.schema import SQLITE, SchemaVersion
from inbounds.ledger.sqlite import Sqlite
from inbounds.plan.load import to_plan
from inbounds.releases.aggregate import OpenSource
from inbounds.releases.charge_session import BESIDE, decode_table, encode_table
from inbounds.releases.pipeline import AggregationError, ReusedTableWarning, UnfinishedRelease, load_plan, release
from inbounds.report.html import save_page
from inbounds.schema.errors import SourceError
from raising import exceeds, raises_at, rejects

PLAN = {
    "groups": {"by": ["g"], "keys": ["A", "B"], "size": 20},
    "statistics": [{"count": "c = 'p'", "name": "yes"}, {"count": "c = 'q'", "name": "no"}],
    "columns": {"c": {"labels": ["p", "q"]}},
    "privacy": {"epsilon": "0.5"},
}
FRAME = pa.table({"g": ["A"] * 20 + ["B"] * 20, "c": ["p"] * 25 + ["q"] * 15})
PEOPLE = "the given table"
EDITION = {**PLAN, "edition": "2026"}

TOML = """
edition = "2026-01"
[source]
path = "survey.csv"
[people]
name = "pupils"
ledger = "budget.db"
[groups]
by = ["g"]
keys = ["A", "B"]
size = 3
[privacy]
epsilon = 0.5
[[statistics]]
count = "c = 'p'"
[columns.c]
labels = ["p", "q"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "survey.csv").write_text("g,c\nA,p\nA,q\nB,p\n")
    (tmp_path / "plan.toml").write_text(TOML)
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """The command line in this process."""

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["inbounds", *words])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


def one_line(text: str) -> str:
    return " ".join(text.split())


def spent(place: Path) -> dict[str, Fraction]:
    with Ledger.open(place, create=False) as ledger:
        return {who.name: who.spent for who in ledger.verify().people}


# --- in Python --------------------------------------------------------------------------------------------


def test_a_release_with_an_output_is_counted_beside_it(folder):
    done = release(PLAN, FRAME, output="out.csv")
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}
    entry = done.record["ledger"]
    with Ledger.open(BESIDE) as ledger:
        charge = ledger.find(entry["key"])
        assert (ledger.id, charge.number, charge.sha256) == (entry["id"], entry["entry"], entry["sha256"])
        assert decode_table(charge.answer)[0] == done.table
        assert next(e for e in ledger.entries() if e.kind == "charge").parsed_facts["parts"] == ["1/4", "1/4"]
    assert (entry["spent"], entry["budget"]) == ("0.5", None)
    assert json.loads(Path("out.csv.release.json").read_text())["content"]["ledger"] == entry


def test_the_same_plan_again_returns_the_stored_table_and_says_so(folder):
    first = release(EDITION, FRAME, output="out.csv")
    before = Path("out.csv").read_bytes()
    other = pa.table({"g": ["A"], "c": ["q"]})
    with pytest.warns(ReusedTableWarning):
        again = release(EDITION, other, output="out.csv")
    assert (again.table, again.stored, first.stored) == (first.table, True, False)
    assert "drawn by an earlier release" in repr(again)
    assert Path("out.csv").read_bytes() == before
    with pytest.warns(ReusedTableWarning):
        release(EDITION, other, output="elsewhere.parquet")
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_no_stored_table_is_given_out_for_a_frame_that_nobody_told_from_another(folder):
    first = release(PLAN, FRAME, output="out.csv")
    other = pa.table({"g": ["A"], "c": ["q"]})
    for output in ("out.csv", "other.csv"):
        with rejects(ValueError, "edition") as refused:
            release(PLAN, other, output=output)
    assert not Path("other.csv").exists()
    stored = re.search(r"key='(\w+)'", str(refused.value))[1]
    with pytest.warns(ReusedTableWarning):
        assert release(PLAN, FRAME, output="out.csv", key=stored).table == first.table
    release(PLAN, other, output="other.csv", key="other")
    assert spent(folder / BESIDE) == {PEOPLE: 1}


def test_of_two_frames_at_once_that_nobody_told_apart_one_is_refused(folder, monkeypatch):
    own = OpenSource.aggregate

    def meanwhile(self):
        monkeypatch.setattr(OpenSource, "aggregate", own)
        release(PLAN, FRAME, output="first.csv", read_again=True)
        return own(self)

    monkeypatch.setattr(OpenSource, "aggregate", meanwhile)
    with rejects(ValueError, "edition"):
        release(PLAN, FRAME, output="second.csv")
    assert not Path("second.csv").exists()


def asked(**source: str) -> str:
    return canonical_json(to_plan({**PLAN, "source": source}).identity)


def test_another_place_of_the_data_is_another_question(folder):
    (folder / "2025").mkdir()
    (folder / "link.csv").symlink_to(folder / "survey.csv")
    here = asked(path="survey.csv")
    assert here == asked(path=str(folder / "survey.csv")) == asked(path="2025/../survey.csv")
    assert here == asked(path="survey.csv", delimiter=",") != asked(path="survey.csv", delimiter=";")
    assert here != asked(path="2025/survey.csv")
    assert to_plan({**PLAN, "source": {"path": "link.csv"}}).identity["place"] == json.loads(here)["place"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("postgresql://h/db?options=-csearch_path%3Da", "postgresql://h/db?options=-csearch_path%3Db"),
        ("postgresql:///?host=a&dbname=x", "postgresql:///?host=b&dbname=x"),
        ("postgresql://h/db", "postgresql://h/other"),
    ],
)
def test_another_server_database_or_schema_is_another_question(one, other):
    assert asked(url=one, table="t") != asked(url=other, table="t")


def test_a_password_is_no_part_of_a_question():
    plain = asked(url="postgresql://me@h/db", table="t")
    assert plain == asked(url="postgresql://me:secret@h/db?password=secret&sslpassword=secret", table="t")


def test_a_label_without_letters_as_the_other_is_part_of_a_question(folder):
    plan = {**PLAN, "source": {"path": "survey.csv"}, "statistics": [{"histogram": "c"}]}
    with_other, without = ({**plan, "columns": {"c": {"labels": ["", "q"], **more}}} for more in ({"other": ""}, {}))
    assert to_plan(with_other).identity != to_plan(without).identity


def test_a_new_edition_and_a_key_of_its_own_draw_and_charge_anew(folder):
    release(PLAN, FRAME, output="a.csv")
    release({**PLAN, "edition": "2027"}, FRAME, output="b.csv")
    release(PLAN, FRAME, output="c.csv", key="once more")
    with pytest.warns(ReusedTableWarning):
        release(PLAN, FRAME, output="d.csv", key="once more")
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(3, 2)}


def test_overwriting_a_table_never_overwrites_what_was_spent(folder):
    release(PLAN, FRAME, output="out.csv")
    release({**PLAN, "privacy": {"epsilon": 2}}, FRAME, output="out.csv", overwrite=True)
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(5, 2)}


def test_a_release_without_output_and_ledger_is_not_recorded_and_says_so(folder):
    done = release(PLAN, FRAME)
    assert done.record["ledger"] is None
    assert "recorded in no ledger" in repr(done)
    assert not Path(BESIDE).exists()


def test_a_release_into_a_ledger_needs_no_output(folder):
    with Ledger.open("budget.db") as ledger:
        ledger.add_population("pupils", epsilon=1)
        plan = {**PLAN, "people": {"name": "pupils"}}
        done = release(plan, FRAME, ledger=ledger)
        assert done.record["ledger"]["left"] == "0.5"
        release(plan, FRAME, ledger="budget.db", key="b")
        with exceeds("pupils", left=0):
            release(plan, FRAME, ledger=ledger, key="c")
    with rejects(ib.LedgerError, "people", about="'the given table'"):
        release(PLAN, FRAME, ledger="budget.db", key="d")
    with rejects(ib.LedgerError, "typo.db"):
        release(plan, FRAME, ledger="typo.db")
    assert not Path("typo.db").exists()


@pytest.mark.parametrize("argument", ["key", "ledger"])
def test_an_empty_key_or_ledger_is_refused_and_not_taken_for_none(folder, argument):
    with rejects(ValueError, argument, about="''"):
        release(PLAN, FRAME, output="out.csv", **{argument: ""})
    assert not Path(BESIDE).exists()


def test_a_key_of_another_question_is_refused(folder):
    release(PLAN, FRAME, output="a.csv", key="mine")
    with rejects(ib.LedgerError, "key", about="'mine'"):
        release({**PLAN, "privacy": {"epsilon": 1}}, FRAME, output="b.csv", key="mine")
    assert not Path("b.csv").exists()
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_nothing_is_read_before_the_charge_is_durable(folder, monkeypatch):
    seen = []
    own = OpenSource.aggregate

    def watched(self):
        seen.append(spent(folder / BESIDE))
        return own(self)

    monkeypatch.setattr(OpenSource, "aggregate", watched)
    release(PLAN, FRAME, output="out.csv")
    assert seen == [{PEOPLE: Fraction(1, 2)}]


def test_over_budget_is_refused_before_the_data_is_read(folder, monkeypatch):
    with Ledger.open("budget.db") as ledger:
        ledger.add_population("pupils", epsilon="0.1")
    monkeypatch.setattr(OpenSource, "aggregate", lambda self: pytest.fail("the data was read"))
    with exceeds("pupils", left=Fraction(1, 10)):
        release("plan.toml", output="out.csv")
    assert not Path("out.csv").exists()


def test_a_budget_given_in_the_ledger_beside_the_output_holds(folder):
    with Ledger.open(BESIDE) as ledger:
        ledger.add_population(PEOPLE, epsilon="0.7")
    release(EDITION, FRAME, output="out.csv")
    with exceeds("the given table", left=Fraction(1, 5)):
        release(EDITION, FRAME, output="again.csv", key="again")
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_others_are_counted_beside_those_who_are_there(folder):
    release(EDITION, FRAME, output="out.csv")
    release({**EDITION, "people": {"name": "others"}}, FRAME, output="others.csv")
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2), "others": Fraction(1, 2)}


def test_no_value_of_a_frame_is_looked_at_before_its_charge_is_durable(folder):
    pandas, seen = pytest.importorskip("pandas"), []

    class Value(str):
        def __ne__(self, other):
            seen.append(spent(folder / BESIDE))
            return str.__ne__(self, other)

        __hash__ = str.__hash__

    frame = pandas.DataFrame({"g": ["A", "B"], "c": pandas.Series([Value("p"), Value("q")], dtype=object)})
    assert release(EDITION, frame, output="out.csv").table.num_rows == 2
    assert seen == [{PEOPLE: Fraction(1, 2)}] * 2


class Failing:
    """A frame that declares its types and fails when its records are asked for."""

    schema = FRAME.schema

    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError("the record of A")


def failing_stream():
    def batches():
        yield FRAME.to_batches()[0]
        raise RuntimeError("the record of A")

    return pa.RecordBatchReader.from_batches(FRAME.schema, batches())


def failing_query():
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql(
        "SELECT g, CASE WHEN i = 3 THEN error('A') ELSE 'p' END AS c FROM (SELECT 'A' AS g, range AS i FROM range(9))"
    )


@pytest.mark.parametrize("frame", [Failing, failing_stream, failing_query])
def test_a_frame_that_cannot_be_turned_is_charged_like_every_other_aggregation_that_fails(folder, frame):
    with rejects(AggregationError, about="withheld") as failed:
        release(EDITION, frame(), output="out.csv")
    assert failed.value.__context__ is None
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}
    with pytest.raises(UnfinishedRelease):
        release(EDITION, FRAME, output="out.csv")
    assert release(EDITION, FRAME, output="out.csv", read_again=True).table.num_rows == 2
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_a_stream_that_can_be_read_once_is_read_once(folder):
    reader = pa.RecordBatchReader.from_batches(FRAME.schema, FRAME.to_batches())
    assert release(EDITION, reader, output="out.csv").table.num_rows == 2


def test_a_frame_of_other_types_than_it_declares_is_not_aggregated(folder):
    class Other(Failing):
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"g": [1, 2], "c": ["p", "q"]}).__arrow_c_stream__()

    with pytest.raises(AggregationError):
        release(EDITION, Other(), output="out.csv")


def test_an_aggregation_that_fails_stays_charged_and_data_is_read_again_only_where_its_owner_says_so(
    folder, monkeypatch
):
    own = OpenSource.aggregate

    def fail(self):
        raise AggregationError("the engine stopped")

    monkeypatch.setattr(OpenSource, "aggregate", fail)
    with pytest.raises(AggregationError):
        release(PLAN, FRAME, output="out.csv")
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}
    monkeypatch.setattr(OpenSource, "aggregate", lambda _: pytest.fail("the data was read again"))
    for _ in range(2):
        with pytest.raises(UnfinishedRelease):
            release(PLAN, FRAME, output="out.csv")
    monkeypatch.setattr(OpenSource, "aggregate", own)
    done = release(PLAN, FRAME, output="out.csv", read_again=True)
    assert not done.stored
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_a_release_that_failed_is_repeated_on_the_command_line_where_that_is_said(command, folder, monkeypatch):
    command("ledger", "init", "budget.db", "--people", "pupils", "--epsilon", "2")
    (folder / "survey.csv").write_text('g,c\nA,p"q\nA,q\n')
    assert "well-formed CSV" in one_line(command("release", "plan.toml", "--out", "out.csv")[1])
    (folder / "survey.csv").write_text("g,c\nA,p\nA,q\n")
    code, said = command("release", "plan.toml", "--out", "out.csv")
    assert (code, "--read-again" in one_line(said)) == (1, True)
    assert command("release", "plan.toml", "--out", "out.csv", "--read-again")[0] == 0
    assert spent(folder / "budget.db") == {"pupils": Fraction(1, 2)}


def test_a_table_that_could_not_be_written_is_written_later_from_the_ledger(folder, monkeypatch):
    import inbounds.releases.pipeline as package

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(package, "write_release", full)
        with rejects(OSError, about="Errno 28"):
            release(EDITION, FRAME, output="out.csv")
    assert not Path("out.csv").exists()
    with pytest.warns(ReusedTableWarning):
        done = release(EDITION, FRAME, output="out.csv")
    assert done.path == Path("out.csv")
    assert Path("out.csv").exists()
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_of_two_releases_at_once_one_table_is_given_out_by_both(folder, monkeypatch):
    own = OpenSource.aggregate
    inner = []

    def meanwhile(self):
        monkeypatch.setattr(OpenSource, "aggregate", own)
        with pytest.raises(UnfinishedRelease):  # the other may be running or not
            release(EDITION, FRAME, output="first.csv")
        inner.append(release(EDITION, FRAME, output="first.csv", read_again=True))
        return own(self)

    monkeypatch.setattr(OpenSource, "aggregate", meanwhile)
    with pytest.warns(ReusedTableWarning):
        outer = release(EDITION, FRAME, output="second.csv")
    assert outer.table == inner[0].table
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_a_refused_plan_leaves_no_ledger(folder):
    with raises_at(SourceError, ("groups", "by")):
        release({**PLAN, "groups": {"by": ["h"], "keys": ["A"], "size": 3}}, FRAME, output="out.csv")
    assert not Path(BESIDE).exists()


def test_the_ledger_is_never_a_file_that_is_read_or_written(folder):
    for place in ("survey.csv", "plan.toml", "out.csv"):
        with rejects(ValueError, "ledger"):
            release("plan.toml", output="out.csv", ledger=place)


def made(place: str) -> bytes:
    """A closed ledger with people, as it is on the disk."""
    with Ledger.open(place) as ledger:
        ledger.add_population("pupils", epsilon=2)
        ledger.add_population(PEOPLE, epsilon=2)
    return Path(place).read_bytes()


def test_no_output_ever_replaces_a_ledger(folder, golden):
    before = made("led.csv")
    done = release(PLAN, FRAME)
    golden.errors(
        "kept_ledgers",
        [
            lambda: done.report("led.csv", overwrite=True),
            lambda: done.write("led.csv", overwrite=True),
            lambda: done.report("led.csv-wal", overwrite=True),
            lambda: release(PLAN, FRAME, output="led.csv", overwrite=True),
            lambda: save_page(ib.optimal(ib.count(2), epsilon=1), "led.csv"),
        ],
    )
    assert Path("led.csv").read_bytes() == before


def test_an_open_ledger_is_never_the_table_or_the_record_of_its_own_release(folder):
    for place in ("t.csv", "t.csv.release.json"):
        made(place)
        with Ledger.open(place) as ledger:
            for given in (ledger, place):
                with rejects(ValueError, "ledger"):
                    release(PLAN, FRAME, ledger=given, output="t.csv", overwrite=True)
        assert spent(folder / place) == {"pupils": 0, PEOPLE: 0}
        Path(place).unlink()


def test_a_ledger_that_is_open_and_was_never_closed_is_known_as_one(folder):
    with Ledger.open("new.csv") as ledger:
        with rejects(ValueError, "output", about="ledger"):
            release(PLAN, FRAME).write("new.csv", overwrite=True)
        ledger.add_population("pupils")


def test_the_digest_knows_no_file_time_and_no_content(folder):
    with Ledger.open("budget.db") as ledger:
        ledger.add_population("pupils", epsilon=1)
    first = release("plan.toml", output="out.csv")
    (folder / "survey.csv").write_text("g,c\nA,q\n")
    with pytest.warns(ReusedTableWarning):
        assert release("plan.toml", output="out.csv").table == first.table
    assert spent(folder / "budget.db") == {"pupils": Fraction(1, 2)}


def test_a_kept_table_comes_back_as_it_was():
    table = pa.table({"g": ["a", "ü"], "n": [1, 2], "x": [0.5, -1.0]})
    assert decode_table(encode_table(table, {"time": "now", "é": [1]})) == (table, {"time": "now", "é": [1]})


def test_a_plan_says_whom_it_is_about_in_words_that_are_checked(folder, golden):
    def load(line):
        text = TOML.replace('name = "pupils"', line)
        (folder / "plan.toml").write_text(text)
        load_plan("plan.toml")

    golden.errors(
        "wrong_people_of_plans",
        [
            lambda: load("name = 5"),
            lambda: load('name = " x"'),
            lambda: load('nmae = "x"'),
        ],
    )


# --- on the command line ----------------------------------------------------------------------------------


def test_a_year_on_the_command_line(command, folder):
    assert command("ledger", "init", "budget.db", "--people", "pupils", "--epsilon", "2")[0] == 0
    code, said = command("release", "plan.toml", "--dry-run")
    assert "before this release, pupils: epsilon 0 of 2 spent, 2 left" in one_line(said)
    code, said = command("release", "plan.toml", "--out", "2026-01.csv", "--report", "page.html")
    assert code == 0, said
    assert "epsilon 0.5 in all of 2, 1.5 left" in Path("page.html").read_text()
    assert "pupils: epsilon 0.5 in all of 2, 1.5 left (entry 3 of their ledger)" in one_line(said)
    code, said = command("release", "plan.toml", "--out", "2026-01.csv")
    assert code == 0, said
    assert "nothing was drawn or spent now" in one_line(said)
    code, said = command("release", "plan.toml", "--out", "2026-01.csv", "--redraw")
    assert code == 2
    code, said = command("release", "plan.toml", "--out", "2026-01.csv", "--redraw", "--overwrite")
    assert "1 in all of 2, 1 left" in one_line(said)
    for month in ("2026-02", "2026-03"):
        assert command("release", "plan.toml", "--edition", month, "--new-data", "--out", f"{month}.csv")[0] == 0
    code, said = command("release", "plan.toml", "--edition", "2026-04", "--new-data", "--out", "2026-04.csv")
    assert code == 1
    assert "epsilon exceeds the budget of pupils: requested 0.5, remaining 0 of 2" in one_line(said)
    shown = json.loads(command("ledger", "show", "budget.db", "--json")[1])["people"]
    assert [(who["name"], who["budget"], who["spent"], who["left"]) for who in shown] == [("pupils", "2", "2", "0")]
    assert command("ledger", "raise-budget", "budget.db", "--people", "pupils", "--epsilon", "2.5")[0] == 0
    assert command("release", "plan.toml", "--edition", "2026-04", "--new-data", "--out", "2026-04.csv")[0] == 0
    assert command("verify", "budget.db")[0] == 0


def test_a_report_or_a_draft_never_replaces_the_ledger_there_or_not_yet_there(command, folder):
    words = ("--count", "c = 'p'", "--by", "g", "--keys", "keys.txt", "--size", "3", "--epsilon", "1")
    Path("keys.txt").write_text("A\nB\n")
    for _ in range(2):
        code, said = command("release", "survey.csv", *words, "--overwrite", "--report", BESIDE)
        assert (code, "must not be a file that the release reads or writes" in one_line(said)) == (2, True)
        command("release", "survey.csv", *words)
    assert spent(folder / BESIDE) == {"survey.csv": 1}
    assert command("init", "survey.csv", "--overwrite", "--out", BESIDE)[0] == 2
    assert command("ledger", "head", BESIDE, "--out", BESIDE)[0] == 2
    assert spent(folder / BESIDE) == {"survey.csv": 1}


def test_the_picture_of_spending_is_one_page_without_a_script(command, folder):
    command("ledger", "init", "budget.db", "--people", "<b>pupils", "--epsilon", "2")
    with Ledger.open("budget.db") as ledger:
        for k in range(300):
            ledger.charge("<b>pupils", "0.001", key=f"{k}", purpose="<script>")
    code, _ = command("ledger", "show", "budget.db", "--out", "spending.html")
    page = Path("spending.html").read_text()
    assert code == 0
    assert "<polyline" in page
    assert ">budget<" in page
    assert "The last 200 of 302" in page
    assert "<script>" not in page
    assert "<b>pupils" not in page
    assert command("ledger", "show", "budget.db", "--out", "budget.db")[0] == 2


def test_records_of_earlier_releases_are_brought_in_once(command, folder):
    done = release({**PLAN, "people": {"name": "pupils"}}, FRAME)
    record = {key: value for key, value in done.record.items() if key != "ledger"}  # as version 0.1 wrote it
    type(done)(done.plan, done.table, record).write("old.csv")
    type(done)(done.plan, done.table, record).write("old.parquet")
    words = ("ledger", "import", "old.csv.release.json", "old.parquet.release.json")
    code, said = command(*words)
    assert code == 0, said
    assert "1 of 2 releases brought in" in one_line(said)
    assert "0 of 2 releases" in one_line(command(*words)[1])
    assert spent(folder / BESIDE) == {"pupils": Fraction(1, 2)}
    command("ledger", "init", "small.db", "--people", "pupils", "--epsilon", "0.1")
    code, said = command(*words, "--ledger", "small.db")
    assert (code, "raise the budget" in one_line(said)) == (1, True)


def test_a_release_that_its_ledger_charged_is_not_brought_in_again(command, folder):
    release(PLAN, FRAME, output="out.csv")
    assert "0 of 1 releases" in one_line(command("ledger", "import", "out.csv.release.json")[1])
    assert spent(folder / BESIDE) == {PEOPLE: Fraction(1, 2)}


def test_a_release_that_a_restored_ledger_forgot_is_brought_in_beside_its_second_draw(folder):
    plan = {**PLAN, "people": {"name": "pupils", "ledger": "budget.db"}, "edition": "1"}
    with Ledger.open("budget.db") as ledger:
        ledger.add_population("pupils", epsilon=2)
    shutil.copy("budget.db", "old.db")
    first = release(plan, FRAME)
    shutil.copy("old.db", "budget.db")
    second = release(plan, FRAME)
    assert first.record["ledger"]["key"] == second.record["ledger"]["key"]
    with Ledger.open("budget.db") as ledger:
        assert import_release(ledger, second.record).repeated
        assert not import_release(ledger, first.record).repeated
        assert import_release(ledger, first.record).repeated
    assert spent(folder / "budget.db") == {"pupils": Fraction(1)}


def test_export_head_and_verify_agree_and_a_changed_file_exits_with_one(command, folder):
    command("ledger", "init", "budget.db", "--people", "pupils", "--epsilon", "2")
    command("ledger", "head", "budget.db", "--out", "head.json")
    command("ledger", "export", "budget.db", "--out", "ledger.json")
    assert command("ledger", "verify", "budget.db", "--head", "head.json")[0] == 0
    assert command("ledger", "verify", "ledger.json", "--head", "head.json")[0] == 0
    assert command("verify", "ledger.json", "budget.db")[0] == 0
    assert json.loads(command("ledger", "export", "budget.db")[1]) == json.loads(Path("ledger.json").read_text())
    assert json.loads(command("ledger", "head", "budget.db", "--json")[1]) == json.loads(Path("head.json").read_text())
    text = Path("ledger.json").read_text()
    Path("ledger.json").write_text(re.sub(r'"units": "2', '"units": "9', text))
    code, said = command("ledger", "verify", "ledger.json", "--json")
    assert (code, json.loads(said)["valid"]) == (1, False)
    assert command("verify", "ledger.json")[0] == 1


def test_a_ledger_of_an_older_version_is_said_to_be_brought_forward(command, folder, monkeypatch):
    with Ledger.open(folder / "old.db") as old:
        old.add_population("pupils", epsilon=1)
    later = (*SQLITE, SchemaVersion(("CREATE INDEX entries_time ON entries (time)",)))
    opened = lambda place, *, create: Sqlite(Path(place), create=create, steps=later)  # noqa: E731
    monkeypatch.setattr("inbounds.ledger.ledger.open_store", opened)
    said = command("ledger", "show", "old.db")[1]
    assert "old.db was a ledger of version 1 and was brought forward to 2" in one_line(said)
    assert "version" not in command("ledger", "show", "old.db")[1]


def test_entries_of_a_ledger_add_up_by_its_own_rule_only(command, folder):
    command("ledger", "init", "budget.db", "--people", "p", "--epsilon", "2", "--rule", "zcdp", "--delta", "1e-6")
    code, said = command("compose", "budget.db")
    assert code == 0
    assert "rho 0 of 0.088" in one_line(said)
    code, said = command("compose", "budget.db", "--times", "3")
    assert (code, "add up by its own rule; leave out --times" in one_line(said)) == (2, True)

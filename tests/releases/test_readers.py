"""What the reader of a released table has: the mechanisms by the record, the sizes, a page, several records at once."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.errors import PassportError
from inbounds.mechanism.codec import query_from_json
from inbounds.releases.pipeline import find_mechanism, preview_release, release
from inbounds.releases.verify import record_page
from inbounds.releases.write import record_path
from inbounds.schema.errors import PlanError
from raising import raises_at, rejects

FRAME = pa.table({"g": ["A", "A", "B"], "c": ["p", "q", "p"], "x": [1, 2, 3]})
COLUMNS = {"c": {"labels": ["p", "q"], "other": "q"}, "x": {"low": 0, "high": 4}}
KINDS = ("mean", "sum", "min", "max", "median")


def plan(*statistics, size=(2, 3), epsilon=2, columns=COLUMNS, **more):
    groups = {"by": ["g"], "keys": ["A", "007"], "size": list(size) if isinstance(size, tuple) else size}
    privacy = {"epsilon": epsilon}
    return {"groups": groups, "columns": columns, "statistics": list(statistics), "privacy": privacy, **more}


EVERYTHING = [{"count": "c = 'p'", "name": "yes"}, {"histogram": "c"}, *({kind: "x"} for kind in KINDS)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("released")
    asked, passports = plan(*EVERYTHING), folder / "mechanisms"
    return folder, release(asked, FRAME, output=folder / "o.csv", cache=folder / "cache", mechanisms=passports)


@pytest.fixture
def done(made, tmp_path):
    """Everything, released; with a copy of its files that a test may change."""
    folder, found = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return found


# --- the mechanisms ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_passports_are_named_by_statistic_and_size(done, tmp_path):
    names = ("yes", "c", "x_mean", "x_sum", "x_min", "x_max", "x_median")
    sized = [f"{name}-{size}.json" for name in names for size in (2, 3)]
    assert sorted(p.name for p in (tmp_path / "mechanisms").iterdir()) == sorted(sized)
    assert ib.load(tmp_path / "mechanisms" / "yes-3.json") == done.mechanisms["yes", 3]
    again = done.write_mechanisms(tmp_path / "again")
    assert {p.name: p.read_bytes() for p in again} == {
        p.name: p.read_bytes() for p in (tmp_path / "mechanisms").iterdir()
    }


@pytest.mark.long
def test_every_mechanism_is_found_from_the_record_with_and_without_its_passport(done, tmp_path):
    record = record_path(tmp_path / "o.csv")
    for line in done.record["mechanisms"]:
        size = int(str(line["size"]).split("..")[0])
        for source in (record, done.record):
            for folder in (None, tmp_path / "mechanisms", tmp_path / "cache"):
                found = find_mechanism(source, line["statistic"], size, folder)
                assert found.sha256 == line["sha256"]
                assert found == done.mechanisms[line["statistic"], size]


@pytest.mark.parametrize(
    "options",
    [
        {"design": {"loss": "squared", "properties": ["fair"]}},
        {"design": {"prior": {"binomial": "0.3"}}},
        {"design": {"mechanism": "truncated_geometric"}},
        {"design": {"aim": "worst", "loss": "zero-one"}},
    ],
)
def test_design_options_in_the_record_lead_to_the_same_mechanism(tmp_path, options):
    own = {"max": "x", "loss": "absolute", "prior": {"normal": [2, 1]}}
    columns = {**COLUMNS, "x": {"low": 0, "high": 2, "step": "1/2"}}
    asked = plan({"count": "c = 'p'"}, own, size=4, columns=columns, epsilon=8, **options)
    done = release(asked, FRAME, cache=tmp_path)
    for name in ("count", "x_max"):
        assert find_mechanism(done.record, name) == done.mechanisms[name, 4]


@pytest.mark.long
def test_wide_ranges_are_designed_again_too(tmp_path):
    asked = plan({"sum": "x"}, size=200, columns={"x": {"low": 0, "high": 10}})
    done = release(asked, FRAME, cache=tmp_path)
    assert find_mechanism(done.record) == done.mechanisms["x_sum", 200]


@pytest.mark.parametrize(("kind", "at"), [("min", 0), ("max", 1), ("median", "1/2")])
def test_a_minimum_maximum_or_median_is_the_quantile_that_anybody_can_ask(tmp_path, kind, at):
    asked = plan({kind: "x"}, size=5, epsilon=1)
    (line,) = release(asked, FRAME, cache=tmp_path).record["mechanisms"]
    assert query_from_json(line["query"]) == ib.quantile(at, 0, 4, size=5)
    assert ib.design_quantile(ib.quantile(at, 0, 4, size=5), 1).mechanism.sha256 == line["sha256"]


def test_the_record_holds_the_query_of_every_mechanism(done):
    for line in done.record["mechanisms"]:
        size = int(str(line["size"]).split("..")[0])
        query = query_from_json(line["query"])
        assert query == done.mechanisms[line["statistic"], size].query
    assert [query_from_json(line["query"]) for line in done.record["mechanisms"][:2]] == [ib.count(2), ib.count(3)]


def test_a_passport_that_is_not_there_or_was_changed_is_not_found(done, tmp_path):
    file = tmp_path / "mechanisms" / "yes-3.json"
    text = file.read_text()
    file.write_text(text.replace('"core": "', '"core": "1'))
    assert file.read_text() != text
    with rejects(PassportError, about="yes in groups of 3"):
        find_mechanism(done.record, "yes", 3, tmp_path / "mechanisms")
    (tmp_path / "empty").mkdir()
    with rejects(PassportError, about="no passport"):
        find_mechanism(done.record, "yes", 3, tmp_path / "empty")


def test_a_design_that_differs_is_never_taken_for_the_one_released(done):
    changed = json.loads(json.dumps(done.record))
    changed["mechanisms"][0]["epsilon"] = "1/9"
    with rejects(PassportError, "the mechanism of yes in groups of 2"):
        find_mechanism(changed, "yes", 2)
    del changed["mechanisms"][0]["query"]
    with pytest.raises(PassportError):
        find_mechanism(changed, "yes", 2)


@pytest.mark.parametrize(
    ("which", "argument", "about"),
    [
        ((None, None), "statistic", "yes, c, x_mean"),
        (("no", 3), "statistic", "'no'"),
        (("yes", None), "size", "2, 3"),
        (("yes", 9), "size", "9"),
        (("x_max", 4), "size", "2, 3, got 4"),
    ],
)
def test_which_mechanism_must_be_said(done, which, argument, about):
    with rejects(ValueError, argument, about=about):
        find_mechanism(done.record, *which)


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "a b: c", "Ä"])
def test_names_of_passports_stay_in_their_folder(tmp_path, name):
    asked = plan({"count": "true", "name": name}, {"count": "true", "name": f"{name}?"}, size=2)
    files = release(asked, FRAME, cache=tmp_path / "cache").write_mechanisms(tmp_path / "m")
    assert len(set(files)) == 2
    assert {file.parent for file in files} == {tmp_path / "m"}
    assert set(files) == set((tmp_path / "m").iterdir())
    assert all(not file.name.startswith(".") for file in files)


def test_a_folder_that_cannot_be_written_is_refused_before_the_data_is_read(tmp_path):
    (tmp_path / "file").write_text("x")
    with rejects(ValueError, "mechanisms"):
        release(plan(*EVERYTHING), FRAME, output=tmp_path / "o.csv", cache=tmp_path, mechanisms=tmp_path / "file")
    assert not (tmp_path / "o.csv").exists()


def test_a_preview_has_the_mechanisms_already(tmp_path):
    found = preview_release(plan({"count": "c = 'p'"}), FRAME, cache=tmp_path / "cache", mechanisms=tmp_path / "m")
    assert set(found.mechanisms) == {("count", 2), ("count", 3)}
    assert {p.name for p in (tmp_path / "m").iterdir()} == {"count-2.json", "count-3.json"}


# --- sizes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "name"), [("size", "group_size"), ("max_size", "group_maximum")])
def test_declared_sizes_are_a_column_where_they_differ(tmp_path, word, name):
    asked = plan({"count": "c = 'p'"})
    asked["groups"][word] = asked["groups"].pop("size")
    table = release(asked, FRAME, cache=tmp_path).table
    assert table.column_names[:2] == ["g", name]
    assert table[name].to_pylist() == [2, 3]
    asked["groups"][word] = [3, 3]
    assert name not in release(asked, FRAME, cache=tmp_path).table.column_names


def test_a_key_of_that_name_stays_a_key_and_a_statistic_must_have_another(tmp_path):
    asked = plan({"count": "c = 'p'"})
    frame = FRAME.rename_columns(["group_size", "c", "x"])
    keyed = {**asked, "groups": {**asked["groups"], "by": ["group_size"]}}
    table = release(keyed, frame, cache=tmp_path).table
    assert table.column_names == ["group_size", "count", "count_error"]
    with raises_at(PlanError, ("statistics", 0, "name"), about="'group_size'"):
        release(plan({"count": "c = 'p'", "name": "group_size"}), FRAME, cache=tmp_path)


# --- the page ---------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o.json"])
def test_the_page_is_the_same_from_python_and_from_the_record(command, made, tmp_path, name):
    done = release(plan(*EVERYTHING), FRAME, output=tmp_path / name, cache=made[0] / "cache")
    done.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert record_page(record_path(tmp_path / name)) == page
    ran = command(tmp_path, "report", f"{name}.release.json", "--out", "b.html", "--json")
    assert json.loads(ran.stdout) == {"report": "b.html"}
    assert (tmp_path / "b.html").read_text("utf-8") == page
    assert "007" in page
    assert page.index("<details><summary>Digests of 14 mechanisms") < page.index(done.record["mechanisms"][0]["sha256"])
    odd = command(tmp_path, "report", f"{name}.release.json", "--out", "c.html", "--level", "0.5")
    assert (odd.returncode, "--prior and --level are for mechanisms" in odd.one_line) == (2, True)
    with rejects(ValueError, "report", about="exist"):
        done.report(tmp_path / "a.html")
    for own in (name, f"{name}.release.json"):
        with rejects(ValueError, "report", about="itself"):
            done.report(tmp_path / own, overwrite=True)


def test_no_page_is_made_of_a_table_that_was_changed(command, done, tmp_path):
    with open(tmp_path / "o.csv", "a") as table:
        table.write("B,9\n")
    ran = command(tmp_path, "report", "o.csv.release.json", "--out", "b.html")
    assert ran.returncode == 1
    assert "its digest differs" in ran.one_line
    assert not (tmp_path / "b.html").exists()


# --- commands ---------------------------------------------------------------------------------------------


def test_a_released_value_is_read_from_the_record(command, done, tmp_path):
    record = "o.csv.release.json"
    by_record = command(tmp_path, "interpret", record, "1", "--statistic", "yes", "--size", "3")
    by_passport = command(tmp_path, "interpret", "mechanisms/yes-3.json", "1")
    assert by_record.returncode == 0, by_record.one_line
    assert by_record.one_line == by_passport.one_line
    given = command(
        tmp_path, "interpret", record, "1", "--statistic", "yes", "--size", "3", "--passports", "mechanisms"
    )
    assert given.one_line == by_passport.one_line
    lost = command(tmp_path, "interpret", record, "3")
    assert lost.returncode == 2
    assert (
        "is the record of a whole table; give --statistic and --size: statistic must be one of yes, c" in lost.one_line
    )
    odd = command(tmp_path, "interpret", "mechanisms/yes-3.json", "--size", "3")
    assert odd.returncode == 2
    assert "are for release records" in odd.one_line


def test_cells_that_were_moved_after_the_draw_are_read_with_a_warning(command, tmp_path):
    asked = plan({"histogram": "c", "sum_to_size": True}, size=3)
    release(asked, FRAME, output=tmp_path / "o.csv", cache=tmp_path / "cache")
    assert "made to add up after the draw" in command(tmp_path, "interpret", "o.csv.release.json", "1").one_line


def test_verify_takes_several_files_and_fails_with_any(command, done, tmp_path):
    files = sorted(str(p.relative_to(tmp_path)) for p in (tmp_path / "mechanisms").iterdir())
    good = command(tmp_path, "verify", *files, "o.csv.release.json")
    assert good.returncode == 0, good.one_line
    assert good.one_line.count("proved") == len(files)
    assert good.one_line.count("it drew numbers of o.csv.release.json") == len(files)
    assert "checked o.csv.release.json:" in good.one_line
    (tmp_path / "bad.json").write_text("{}")
    bad = command(tmp_path, "verify", *files, "bad.json", "none.json", "--json")
    assert bad.returncode == 1
    found = json.loads(bad.stdout)
    assert [line["valid"] for line in found] == [True] * len(files) + [False, False]
    assert found[-1] == {"file": "none.json", "valid": False, "reason": "No such file or directory"}
    one = json.loads(command(tmp_path, "verify", files[0], "--json").stdout)
    assert {"file": files[0], **one} == found[0]


def test_who_takes_a_released_table_is_told_its_record(command, done, tmp_path):
    for words in (("verify", "o.csv"), ("interpret", "o.csv", "4"), ("report", "o.csv", "--out", "page.html")):
        hint = command(tmp_path, *words)
        assert hint.returncode == 1
        assert "o.csv is a released table; give its record, o.csv.release.json" in hint.one_line
    command(tmp_path, "ledger", "head", "inbounds.ledger", "--out", "head.json")
    assert "ledger verify LEDGER --head head.json compares" in command(tmp_path, "verify", "head.json").one_line
    command(tmp_path, "ledger", "export", "inbounds.ledger", "--out", "ledger.json")
    assert "inbounds verify ledger.json checks it" in command(tmp_path, "report", "ledger.json").one_line
    (tmp_path / "plain.csv").write_text("a\n1\n")
    assert "is not JSON text" in command(tmp_path, "verify", "plain.csv").one_line
    assert "release records" in command(tmp_path, "verify", "--help").one_line


def _released(tmp_path: Path, name: str, epsilon, **groups):
    asked = plan({"count": "c = 'p'"}, size=3, epsilon=epsilon)
    asked["groups"] |= groups
    asked["groups"] = {key: value for key, value in asked["groups"].items() if value is not None}
    release(asked, FRAME, output=tmp_path / name, cache=tmp_path / "cache")
    return f"{name}.release.json"


def test_releases_about_the_same_people_add_up(command, tmp_path):
    first, second = _released(tmp_path, "a.csv", 1), _released(tmp_path, "b.csv", "1/2")
    said = command(tmp_path, "compose", first, second, first).one_line
    assert "together epsilon 1 + 0.5 = 1.5: one person's record may be changed within its groups, or left out" in said
    third = _released(tmp_path, "c.csv", "1/4", size=None, max_size=3)
    found = json.loads(command(tmp_path, "compose", first, third, "--json").stdout)
    assert found["epsilon"] == "5/4"
    assert [line["epsilon"] for line in found["releases"]] == ["1", "1/4"]
    assert "may be added or removed (replaced: at twice the epsilon)" in found["statement"]


def test_compose_says_what_does_not_add_up_with_releases(command, tmp_path):
    first = _released(tmp_path, "a.csv", 1)
    ib.catalog.uniform(ib.count(2), 1).save(tmp_path / "m.json")
    assert "not both" in command(tmp_path, "compose", first, "m.json").one_line
    assert "leave out --delta" in command(tmp_path, "compose", first, "--delta", "1e-6").one_line
    assert "leave out --times, --out" in command(tmp_path, "compose", first, "--times", "2", "--out", "r.json").one_line
    changed = json.loads((tmp_path / first).read_text())
    changed["content"]["epsilon"]["spent"] = "1/100"
    (tmp_path / first).write_text(json.dumps(changed))
    assert "the digest does not match" in command(tmp_path, "compose", first).one_line


def test_a_release_ends_with_what_it_has_spent_and_where_the_passports_are(command, tmp_path):
    (tmp_path / "d.csv").write_text("g,c\nA,p\n")
    words = ["release", "d.csv", "--count", "c = 'p'", "--size", "3", "--epsilon", "1/2"]
    done = command(tmp_path, *words, "--passports", "m")
    assert done.returncode == 0, done.one_line
    assert "passports m" in done.one_line
    assert "epsilon 0.5 was spent on these people by this release. d.csv: epsilon 0.5 in all" in done.one_line
    assert (tmp_path / "m" / "count-3.json").exists()

"""Plan and Release: forms and files say the same, a release is that of the command line, no true value is shown."""

import io
import json
import re
import sqlite3
import zipfile
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.files.bounded import parse_toml
from inbounds.ledger import Ledger
from inbounds.plan.load import load_plan, parse_plan
from inbounds.plan.write import dump_toml
from inbounds.releases.calibrate import calibrate_plan_epsilon, expected_error
from inbounds.schema.errors import PlanError
from inbounds.studio.forms import StatisticChoice
from inbounds.studio.plan import values
from inbounds.studio.plan.draft import ColumnChoice, Draft, from_form
from raising import raises_at, rejects

SCHEMA = dict.fromkeys(("school", "answer", "score", "age", "pupil"), "anything")

FULL = """\
edition = "2026-11"

[source]
path = "survey.csv"
delimiter = ";"

[groups]
by = ["school", "age"]
keys = { school = ["North", "it's \\"South\\""], age = ["8", "9"] }
max_size = 25
missing_key = "9"

[hierarchy]
levels = ["school", "age"]
shares = [0.5, 0.5]

[people]
name = "pupils"
id = "pupil"
max_records = 3

[columns.answer]
labels = ["yes", "no", "<b>"]
other = "no"

[columns.score]
low = 0
high = 7.5
step = 0.5

[privacy]
epsilon = "1/3"

[[statistics]]
count = "answer = 'yes'"
name = "yes"
budget_share = 0.25

[[statistics]]
quantile = "score"
at = [0.25, 0.9]

[[statistics]]
crosstab = ["answer", "answer"]
loss = "squared"

[design]
prior = { binomial = 0.3 }
properties = ["fair"]

[output]
path = "out.parquet"
credible_level = 0.95
"""

names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
plain = (
    st.text(max_size=8).filter(lambda t: "\0" not in t) | st.integers() | st.decimals(-99, 99, places=3) | st.booleans()
)


@given(st.dictionaries(names, st.dictionaries(names, plain | st.lists(plain, max_size=3), max_size=3), max_size=3))
def test_what_is_written_reads_back(content: dict) -> None:
    assert parse_toml(dump_toml(content)) == content


def test_a_plan_comes_back_from_its_form_unchanged() -> None:
    content = parse_toml(FULL)
    draft = values.from_content(content, SCHEMA, "plan.toml")
    assert values.content(draft) == content
    assert parse_toml(values.text(draft)) == content
    assert {own.name: own.use for own in draft.columns} == {
        "school": "group", "answer": "labels", "score": "number", "age": "group", "pupil": "person"
    }  # fmt: skip


def test_the_form_of_a_page_is_read_as_it_was_written(client: httpx.Client, folder: Path) -> None:
    page = client.get("/plan/edit?plan=plan.toml").text
    again = from_form(form_of(page), SCHEMA)
    assert values.content(again) == parse_toml((folder / "plan.toml").read_text())


def form_of(page: str) -> list[tuple[str, str]]:
    """The fields of a form as a browser would send them."""
    found: list[tuple[str, str]] = []

    class Reader(HTMLParser):
        name, select = "", ""

        def handle_starttag(self, tag: str, given: list) -> None:
            own = dict(given)
            kind = own.get("type", "text")
            if tag == "input" and own.get("name") and (kind not in ("checkbox", "radio") or "checked" in own):
                found.append((own["name"], own.get("value", "")))
            if tag == "select":
                self.select = own["name"]
                self.first = True
            if tag == "option" and self.select and ("selected" in own or self.first):
                found[:] = [pair for pair in found if pair[0] != self.select]
                found.append((self.select, own.get("value", "")))
                self.first = False
            if tag == "textarea":
                self.name = own["name"]
                found.append((self.name, ""))

        def handle_endtag(self, tag: str) -> None:
            self.select = "" if tag == "select" else self.select
            self.name = "" if tag == "textarea" else self.name

        def handle_data(self, data: str) -> None:
            if self.name:
                found[-1] = (self.name, found[-1][1] + unescape(data))

    Reader().feed(page)
    return found


def post(client: httpx.Client, path: str, fields: list[tuple[str, str]], **headers: str) -> httpx.Response:
    kind = {"content-type": "application/x-www-form-urlencoded", **headers}
    return client.post(path, content=urlencode(fields), headers=kind)


def changed(fields: list[tuple[str, str]], **new: str) -> list[tuple[str, str]]:
    return [pair for pair in fields if pair[0] not in new] + list(new.items())


@pytest.mark.long
def test_a_saved_plan_is_run_by_the_command_line_unchanged(
    client: httpx.Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = changed(
        form_of(client.get("/plan/edit?plan=plan.toml").text), plan="other.toml", action="save", epsilon="1"
    )
    answer = post(client, "/plan/edit", fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/release?plan=other.toml")
    monkeypatch.chdir(folder)
    assert CliRunner().invoke(app, ["release", "other.toml", "--dry-run"]).exit_code == 0
    assert load_plan(folder / "other.toml").epsilon == 1


def test_a_plan_that_cannot_be_carried_out_is_not_saved(client: httpx.Client, folder: Path) -> None:
    fields = form_of(client.get("/plan/edit?plan=plan.toml").text)
    for new in (
        {"epsilon": "0"},
        {"size": ""},
        {"statistic.0.count.condition": "nothing = 1"},
        {"more": "[design]\nloss = 3"},
    ):
        answer = post(client, "/plan/edit", changed(fields, plan="bad.toml", action="save", **new))
        assert answer.status_code == 200
        assert "Still to do" in answer.text
        assert not (folder / "bad.toml").exists()
    for name in ("../bad.toml", "/tmp/bad.toml", "bad.txt"):
        assert post(client, "/plan/edit", changed(fields, plan=name, action="save")).status_code == 422
    assert sorted(f.name for f in folder.parent.iterdir()) == ["folder"]


def test_the_epsilon_for_an_accuracy_is_the_smallest_of_two_digits(folder: Path, tmp_path: Path) -> None:
    plan = load_plan(folder / "plan.toml")
    found = calibrate_plan_epsilon(plan, "yes", 100, "1.5", tmp_path)
    assert expected_error(replace(plan, epsilon=found), "yes", 100, tmp_path) <= 1.5
    below = found - found / 10
    assert expected_error(replace(plan, epsilon=below), "yes", 100, tmp_path) > 1.5
    with rejects(ib.InfeasibleDesign, "score_mean", about="64"):
        calibrate_plan_epsilon(plan, plan.statistics[1].name, 100, "1e-30", tmp_path)
    with rejects(ValueError, "statistic"):
        calibrate_plan_epsilon(plan, "nothing", 100, 1, tmp_path)


def test_a_dry_run_reads_no_record(client: httpx.Client, folder: Path) -> None:
    (folder / "survey.csv").write_text(
        "school,answer,score,age,pupil\nNorth,SECRET,7\n"
    )  # a record that no reader accepts
    page = client.get("/release?plan=plan.toml").text
    assert "Dry run" in page
    assert "SECRET" not in page
    assert not (folder / "inbounds.ledger").exists()


def test_a_draft_leads_to_where_it_is_completed(client: httpx.Client, folder: Path) -> None:
    (folder / "plan.toml").write_text((folder / "plan.toml").read_text().replace("size = 100", ""))
    answer = client.get("/release?plan=plan.toml")
    assert answer.status_code == 422
    assert "/plan/edit?plan=plan.toml" in answer.text
    assert "Still to do" in post(client, "/plan/edit", form_of(client.get("/plan/edit?plan=plan.toml").text)).text


# --- the release ------------------------------------------------------------------------------------------


def release(client: httpx.Client, **new: str) -> httpx.Response:
    """Confirm on the page, and wait for the result."""
    page = client.get("/release?plan=plan.toml").text
    digest = re.search(r'name="digest" value="(\w+)"', page)
    fields = {"plan": "plan.toml", "digest": digest[1] if digest else "", "confirm": "yes", **new}
    answer = post(client, "/release", list(fields.items()))
    return client.get(answer.headers["location"]) if answer.status_code == 303 else answer


@pytest.mark.long
def test_a_release_is_that_of_the_command_line(
    client: httpx.Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = release(client)
    assert "All groups" in page.text
    table = (folder / "released.csv").read_bytes()
    assert ib.verify(folder / "released.csv.release.json").is_valid
    assert client.get("/release/table?plan=plan.toml").content == table
    record = json.loads(client.get("/release/record?plan=plan.toml").content)
    assert record["sha256"] == json.loads((folder / "released.csv.release.json").read_text())["sha256"]
    with Ledger.open(folder / "inbounds.ledger", create=False) as ledger:
        assert [(who.name, str(who.spent)) for who in ledger.people()] == [("pupils", "2")]
    monkeypatch.chdir(folder)
    again = CliRunner().invoke(app, ["release", "plan.toml"])
    assert again.exit_code == 0
    assert "stored table" in again.output
    assert (folder / "released.csv").read_bytes() == table
    packed = zipfile.ZipFile(io.BytesIO(client.get("/release/passports.zip?plan=plan.toml").content))
    for name in packed.namelist():
        (folder / name).write_bytes(packed.read(name))
        assert ib.verify(folder / name).is_valid
    assert {json.loads(packed.read(n))["sha256"] for n in packed.namelist()} == {
        m["sha256"] for m in record["content"]["mechanisms"]
    }
    _check_exports(client, folder)
    report = client.get("/release/report?plan=plan.toml")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "pupils" in client.get("/budget").text


FOUND = """\
edition = "1"

[source]
path = "words.csv"

[groups]
by = ["word"]
keys = "from the data"
max_size = 500

[people]
id = "pupil"
name = "pupils"

[columns.word]
type = "text"
max_length = 20

[privacy]
epsilon = 2
delta = 1e-4
persons = 600

[[statistics]]
count_distinct = "true"
name = "persons"

[output]
path = "released.csv"
"""


@pytest.mark.long
@pytest.mark.parametrize("words", [["<b>often", "=often"], []])
def test_groups_from_the_data_are_shown_where_they_were_published_and_kept_nowhere_else(
    client: httpx.Client, folder: Path, words: list[str]
) -> None:
    rows = [f"p{k},{word}" for k, word in enumerate(words * 200)] + [f"q{k},lonely{k}" for k in range(30)]
    (folder / "words.csv").write_text("\n".join(["pupil,word", *rows]) + "\n")
    (folder / "plan.toml").write_text(FOUND)
    with Ledger.open(folder / "inbounds.ledger", create=True) as ledger:
        ledger.add_population("pupils", 100, delta="1/10")
    shown = [release(client).text, *(client.get(page).text for page in ("/budget", "/release?plan=plan.toml"))]
    assert ("All groups" in shown[0], "Groups are read from the data" in shown[0]) == (False, True)
    assert "for epsilon 2, delta 0.0001" in shown[0]
    assert [word in shown[0] for word in ("&lt;b&gt;often", "<b>often")] == [bool(words), False]
    shown += [client.get(f"/release/{what}?plan=plan.toml").text for what in ("record", "table", "public", "report")]
    assert not [page for page in shown if "lonely" in page]
    assert client.get("/release/export/.xlsx?plan=plan.toml").content[:2] == b"PK"
    assert ib.verify(folder / "released.csv.release.json").is_valid
    kept = [file for file in folder.rglob("*") if file.is_file() and file.name != "words.csv"]
    assert not [file for file in kept if b"lonely" in file.read_bytes()]


def _check_exports(client: httpx.Client, folder: Path) -> None:
    """Other forms are those of `inbounds export`, and the page has the words of the plan as it is now."""
    record = folder / "released.csv.release.json"
    for form, options in ((".html", []), (".csv", ["--bom"]), (".sdmx.csv", ["--structure", "A:B(1.0)"])):
        words = ["export", str(record), "--out", f"exported{form}", *options]
        assert CliRunner().invoke(app, words).exit_code == 0
        structure = f"&structure={options[1]}" if form == ".sdmx.csv" else ""
        answer = client.get(f"/release/export/{form}?plan=plan.toml{structure}")
        assert answer.content == (folder / f"exported{form}").read_bytes()
    assert client.get("/release/export/.xlsx?plan=plan.toml").content[:2] == b"PK"
    assert client.get("/release/export/.sdmx.csv?plan=plan.toml").status_code == 422
    assert client.get("/release/export/.exe?plan=plan.toml").status_code == 404
    plan = folder / "plan.toml"
    plan.write_text(plan.read_text() + '\n[about]\ntitle = "Said later"\n')
    page = client.get("/release/public?plan=plan.toml")
    assert "<h1>Said later</h1>" in page.text
    assert "script-src 'sha256-" in page.headers["content-security-policy"]


def test_how_a_file_is_written_is_said_in_the_form_and_its_columns_are_read_again(
    client: httpx.Client, folder: Path
) -> None:
    (folder / "wages.csv").write_bytes("größe;county;gross_eur\n1;A;1.234,5\n".encode("windows-1252"))
    (folder / "plain.csv").write_text("a;b\n1;2\n")
    written = {"delimiter": ";", "decimal": ",", "thousands": ".", "encoding": "windows-1252"}
    begun = client.get("/plan/edit", params={"source": "wages.csv", **written}).text
    assert [value for name, value in form_of(begun) if name == "schema"] == ["größe", "county", "gross_eur"]
    form = form_of(client.get("/plan/edit?source=plain.csv").text)
    form = changed(form, source="wages.csv")
    again = [*((name, value) for name, value in form if name not in written), *written.items(), ("action", "reread")]
    page = post(client, "/plan/edit", again).text
    fields = form_of(page)
    assert [value for name, value in fields if name == "schema"] == ["größe", "county", "gross_eur"]
    assert written.items() <= dict(fields).items()
    fields = changed(fields, title="Wages", notes="One.\nTwo.", epsilon="1")
    content = values.content(from_form(fields, dict.fromkeys(["größe", "county", "gross_eur"], "anything")))
    assert content["source"] == {"path": "wages.csv", **written}
    assert content["about"] == {"title": "Wages", "notes": "One.\nTwo."}


def test_a_plan_for_a_sheet_with_a_row_of_names_can_be_opened(client: httpx.Client, folder: Path) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["A title"], ["school", "score"], ["North", 3]):
        book.active.append(row)
    book.save(folder / "sheet.xlsx")
    plan = folder / "plan.toml"
    plan.write_text(plan.read_text().replace('path = "survey.csv"', 'path = "sheet.xlsx"\nheader_row = 2'))
    fields = form_of(client.get("/plan/edit?plan=plan.toml").text)
    assert [value for name, value in fields if name == "schema"] == ["school", "score"]
    assert dict(fields)["header_row"] == "2"


def test_a_release_needs_the_confirmation_and_the_plan_that_was_looked_at(client: httpx.Client, folder: Path) -> None:
    assert release(client, confirm="").status_code == 422
    assert release(client, digest="0" * 64).status_code == 422
    assert not (folder / "released.csv").exists()
    assert not (folder / "inbounds.ledger").exists()


def test_a_second_confirmation_gives_the_same_table(client: httpx.Client, folder: Path) -> None:
    digest = re.search(r'name="digest" value="(\w+)"', client.get("/release?plan=plan.toml").text)
    assert digest
    release(client)
    table = (folder / "released.csv").read_bytes()
    release(client, digest=digest[1])
    assert (folder / "released.csv").read_bytes() == table
    with Ledger.open(folder / "inbounds.ledger", create=False) as ledger:
        assert str(ledger.population("pupils").spent) == "2"


def test_what_would_overspend_is_refused_and_nothing_is_written(client: httpx.Client, folder: Path) -> None:
    declared = {"people": "pupils", "epsilon": "1.5", "ledger": "inbounds.ledger"}
    assert post(client, "/budget", list(declared.items())).status_code == 303
    page = release(client).text
    assert "cannot be done" in page
    assert "1.5" in page
    assert not (folder / "released.csv").exists()


@pytest.fixture
def evil(folder: Path) -> str:
    """Markup as a column, a key, a label, a statistic's name, and the name of the plan."""
    mark = "<img src=x onerror=alert(1)>"
    (folder / "survey.csv").write_text(f'"{mark}",answer\nNorth,yes\n')
    content = {
        "source": {"path": "survey.csv"},
        "groups": {"by": [mark], "keys": ["North", mark], "size": 4},
        "people": {"name": mark},
        "columns": {"answer": {"labels": ["yes", mark]}},
        "privacy": {"epsilon": 2},
        "statistics": [{"histogram": "answer", "name": mark}],
        "output": {"path": "released.csv"},
    }
    (folder / "plan.toml").write_text(dump_toml(content))
    (folder / f"{mark}.toml".replace("/", "")).write_text("x = 1")
    return mark


@pytest.mark.long
def test_markup_in_names_and_keys_is_shown_and_not_obeyed(client: httpx.Client, folder: Path, evil: str) -> None:
    release(client)
    for path in (
        "/", "/plan", "/plan/edit?source=survey.csv", "/plan/edit?plan=plan.toml", "/release",
        "/release?plan=plan.toml", "/release/report?plan=plan.toml", "/budget", "/check",
    ):  # fmt: skip
        text = client.get(path).text
        assert "<img src=x" not in text, path
    assert "&lt;img src=x" in client.get("/release?plan=plan.toml").text


@pytest.mark.long
def test_no_page_shows_a_record(client: httpx.Client, folder: Path) -> None:
    """Values that stand in the data and nowhere else appear on no page, before and after the release."""
    rows = "\n".join(f"{school},yes,7,9,SECRET{k}" for k, school in enumerate(["North", "South", "ZZUNLISTED"] * 30))
    (folder / "survey.csv").write_text(f"school,answer,score,age,pupil\n{rows}\n")
    pages = ["/", "/plan", "/plan/edit?source=survey.csv", "/plan/edit?plan=plan.toml", "/release?plan=plan.toml"]
    before = "".join(client.get(path).text for path in pages)
    after = release(client).text + "".join(client.get(path).text for path in [*pages, "/budget"])
    assert "All groups" in after
    for secret in ("SECRET", "ZZUNLISTED"):
        assert secret not in before + after


def test_a_databases_tables_are_offered_by_name(client: httpx.Client, folder: Path) -> None:
    with sqlite3.connect(folder / "data.sqlite") as made:
        made.execute("create table visits (ward text, age integer)")
        made.execute("create table wards (name text)")
    made.close()
    page = client.get("/plan/edit?source=data.sqlite").text
    assert "visits" in page
    assert "wards" in page
    assert "ward" in client.get("/plan/edit?source=data.sqlite&table=visits").text


def test_a_password_in_an_address_is_refused(client: httpx.Client) -> None:
    answer = client.get("/plan/edit?url=postgresql://a:hidden@localhost/x")
    assert answer.status_code == 422
    assert "hidden" not in answer.text


def test_a_guess_for_a_new_source_comes_from_names_alone(client: httpx.Client) -> None:
    page = form_of(client.get("/plan/edit?source=survey.csv").text)
    draft = from_form(page, SCHEMA)
    assert draft.by == ["school"]
    assert draft.statistics == (StatisticChoice("count", {"condition": "true", "name": "count"}),)
    assert draft.column("school") == ColumnChoice("school", "anything", "group", low="0", high="10", missing="5")


def test_a_form_says_the_same_as_the_plan_it_makes() -> None:
    draft = Draft(
        (ColumnChoice("school", use="group", keys="A\nB"), ColumnChoice("score", use="number", low="0", high="10")),
        (StatisticChoice("mean", {"column": "score"}), StatisticChoice("quantile", {"column": "score", "at": "0.5"})),
        source="x.csv", size="25", epsilon="1/2", more='[design]\nloss = "squared"',
    )  # fmt: skip
    made = values.content(draft)
    plan = parse_plan(made)
    assert (len(plan.groups), plan.epsilon, [s.kind for s in plan.statistics]) == (
        2,
        ib.exact.to_fraction("1/2", "e"),
        ["mean", "quantile"],
    )
    with raises_at(PlanError, ("more",), about="privacy"):
        values.content(Draft(draft.columns, draft.statistics, size="25", more="[privacy]\nepsilon = 9"))

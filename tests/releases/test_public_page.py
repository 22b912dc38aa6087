"""The page for the public: all groups, what numbers are worth, and a promise, in one file that asks for nothing."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.checker import check_record
from inbounds.errors import PassportError
from inbounds.files import RELEASE, Document
from inbounds.releases.pipeline import release, to_plan
from inbounds.releases.public_page import format_worth, public_page
from inbounds.schema.errors import PlanError
from raising import raises_at

HOSTILE = "<script>alert(1)</script>"
KEYS = [["North", "a very long name of a school that no chart may cut off"], ["North", "b"], ["South", HOSTILE]]
FRAME = pa.table(
    {"region": ["North", "North", "South"] * 30, "school": [key[1] for key in KEYS] * 30, "x": [3.0, 5.0, 9.0] * 30}
)
ABOUT = {"title": "Schools & pupils", "author": "Office", "contact": "a@b.example", "notes": "First.\nSecond."}
NESTED = {
    "groups": {"by": ["region", "school"], "keys": KEYS, "max_size": 60},
    "hierarchy": {"levels": ["all", "region", "school"]},
    "columns": {"x": {"low": 0, "high": 10}, "c": {"labels": ["y", "n"], "other": "n"}},
    "statistics": [{"count": "true", "name": "pupils"}, {"mean": "x", "name": "mark"}, {"histogram": "c"}],
    "privacy": {"epsilon": 3},
    "output": {"credible_level": 0.9},
    "about": ABOUT,
}


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nested")
    frame = FRAME.append_column("c", pa.array(["y", "n", "n"] * 30))
    return release(NESTED, frame, cache=folder, output=folder / "t.csv")


class Page(HTMLParser):
    """The texts of the cells of each row by table, the tags, and the texts of style and script."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self.raw, self._cell = {}, [], {}, None
        self.policy, self._inside, self._caption = "", "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "meta" and dict(attributes).get("http-equiv"):
            self.policy = dict(attributes)["content"]
        if tag == "tr":
            self.tables[self._caption].append([])
        if tag in ("td", "th"):
            self.tables[self._caption][-1].append("")

    def handle_data(self, data):
        if self._inside in ("style", "script"):
            self.raw[self._inside] = data
        elif self._inside == "caption" and data.strip():
            self._caption = data
            self.tables[data] = []
        elif self._caption and self.tables[self._caption] and data.strip():
            self.tables[self._caption][-1][-1] += data.strip() + " "

    def handle_endtag(self, tag):
        self._inside = ""
        self._caption = None if tag == "table" else self._caption


@pytest.fixture(scope="module")
def page(nested):
    return Page(public_page(nested.record, nested.table))


@pytest.mark.long
def test_every_group_is_on_the_page_with_its_whole_name(nested, page):
    rows = page.tables["pupils, By school"][1:]
    assert [row[0].split(" North")[0].split(" South")[0].strip() for row in rows] == [key[1] for key in KEYS]
    at_school = [row for row in nested.table.to_pylist() if row["level"] == "school"]
    published, errors = ([row[name] for row in at_school] for name in ("pupils", "pupils_error"))
    worth = max(sum(errors) / len(errors), 2)
    assert [row[2].split()[0] for row in rows] == [format_worth(n, worth) for n in published]


def test_levels_have_charts_on_scales_of_their_own(page):
    assert page.tables["pupils, By region"][0][1] != page.tables["pupils, By school"][0][1]
    assert "mark, By school" in page.tables
    assert len(page.tables["mark, By region"]) == 3  # a head and two regions
    assert [row[0].strip() for row in page.tables["c, All together"][1:]] == ["y", "n"]


def test_the_page_asks_for_nothing_and_runs_only_its_own_script(page):
    def source(kind):
        return f"'sha256-{base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()}'"

    assert page.policy.startswith("default-src 'none'; ")
    assert f"script-src {source('script')}" in page.policy
    assert f"style-src {source('style')}" in page.policy
    assert [tag for tag, _ in page.tags].count("script") == 1
    for _, attributes in page.tags:
        assert not {"src", "style", "onclick"} & set(attributes)
        assert attributes.get("href", "#").startswith(("#", "data:"))
    assert not re.search(r"url\(|@import|fetch|XMLHttp", page.raw["style"] + page.raw["script"])


def test_a_search_finds_rows_of_groups_and_leaves_rows_of_labels(nested):
    text = public_page(nested.record, nested.table)
    classes = {caption: name for name, caption in re.findall(r'<table class="([^"]*)">\s*<caption>([^<]*)<', text)}
    assert "groups" in classes["c, By school"]
    assert "groups" in classes["pupils, By region"]
    assert "groups" not in classes["c, All together"]


def test_charts_have_text_alternatives(page):
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert pictures
    hidden = [tag for tag, attributes in page.tags if attributes.get("aria-hidden") == "true"]
    assert set(hidden) == {"td", "svg"}  # the number, its range and the name stand beside
    assert all(row[2] for name in ("pupils, By school", "mark, By school") for row in page.tables[name][1:])


def test_the_author_says_title_contact_and_notes_and_may_say_them_anew(nested):
    text = public_page(nested.record, nested.table)
    for words in ("Schools &amp; pupils", "Office", "a@b.example", "<p>First.</p>", "<p>Second.</p>"):
        assert words in text
    anew = public_page(nested.record, nested.table, {"title": "Another"})
    assert "<h1>Another</h1>" in anew
    assert "a@b.example" not in anew
    assert "<h1>Pupils, mark and c by school</h1>" in public_page(nested.record, nested.table, {})


def test_the_promise_counts_all_tables_so_far(nested):
    text = public_page(nested.record, nested.table)
    entry = nested.record["ledger"]
    assert "no result becomes more than 21 times as likely (differential privacy with epsilon 3)" in text
    assert f"have spent epsilon {entry['spent']} so far" in text
    period = {**entry, "period": "2026", "period_spent": "3", "period_budget": "4"}
    text = public_page({**nested.record, "ledger": period}, nested.table)
    assert f"spent epsilon 3 of 4 in 2026, and {entry['spent']} so far" in text


def test_numbers_that_tell_nothing_are_marked(nested):
    careful = "Read with care"
    lines = nested.record["mechanisms"]
    fine = [{**line, "expected_error": 0.1, "constant_error": 1.0, "parent_error": 1.0} for line in lines]
    bad = [
        {**line, "expected_error": 0.96, "constant_error": 2.0} if line["statistic"] == "mark" else line
        for line in fine
    ]
    assert careful not in public_page({**nested.record, "mechanisms": fine}, nested.table)
    assert public_page({**nested.record, "mechanisms": bad}, nested.table).count(careful) == 1


def test_what_the_author_says_changes_nothing_that_is_asked_or_charged():
    one, other = to_plan(NESTED, FRAME), to_plan({**NESTED, "about": {}}, FRAME)
    assert (one.digest, one.identity) == (other.digest, other.identity)
    with raises_at(PlanError, ("about", "title")):
        to_plan({**NESTED, "about": {"title": 7}}, FRAME)


def test_a_checker_knows_what_the_author_may_say(nested):
    check_record(Document.wrap(RELEASE, {**nested.record}).to_json())
    with pytest.raises(PassportError):
        check_record(Document.wrap(RELEASE, {**nested.record, "about": {"epsilon": "0"}}).to_json())


def test_the_command_writes_the_page_from_the_record_or_with_newer_words(nested, tmp_path, command):
    done = nested.write(tmp_path / "t.csv")
    record = f"{done.path}.release.json"
    command(tmp_path, "export", record, "--out", str(tmp_path / "p.html"))
    assert "<h1>Schools &amp; pupils</h1>" in (tmp_path / "p.html").read_text("utf-8")
    (tmp_path / "t.toml").write_text(
        '[about]\ntitle = "New"\n[groups]\nby = []\nsize = 3\n[privacy]\nepsilon = 1\n[source]\npath = "a.csv"\n'
        '[[statistics]]\ncount = "x > 1"\nname = "n"\n[columns.x]\ntype = "number"\n'
    )
    command(tmp_path, "export", record, "--out", str(tmp_path / "q.html"), "--about", str(tmp_path / "t.toml"))
    assert "<h1>New</h1>" in (tmp_path / "q.html").read_text("utf-8")


@pytest.mark.long
def test_every_kind_of_statistic_has_a_section(tmp_path):
    plan = {
        "groups": {"by": ["region"], "keys": ["North", "South"], "size": [60, 30]},
        "columns": {
            "x": {"low": 0, "high": 10},
            "c": {"labels": ["y", "n"], "other": "n"},
            "d": {"labels": ["p", "q"]},
        },
        "statistics": [
            {"mode": "c"},
            {"crosstab": ["c", "d"]},
            {"quantile": "x", "at": 0.9, "name": "top"},
            {"percentage": "x > 4", "name": "share"},
        ],
        "privacy": {"epsilon": 8},
    }
    columns = {"c": ["y", "n", "n"] * 30, "d": ["p", "q", "q"] * 30}
    frame = pa.table({**FRAME.to_pydict(), **columns})
    done = ib.release(plan, frame, cache=tmp_path)
    page = Page(public_page(done.record, done.table))
    assert {row[1].strip() for row in page.tables["c_mode, By region"][1:]} <= {"y", "n"}
    assert [row[0].strip() for row in page.tables["c × d, North"]] == ["c × d", "y", "n"]
    assert "±" in page.tables["top, By region"][1][2]
    assert len(page.tables["share, By region"]) == 3

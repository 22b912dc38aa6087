"""CSV files as people have them: indexes, decimal commas, other formats, and no header line at all."""

import csv
import tempfile
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.plan.draft import draft_plan
from inbounds.releases.pipeline import PlanError, SourceError, open_plan_source, preview_release, to_plan
from inbounds.sources import csv_files
from inbounds.sources.csv_files import UNNAMED
from inbounds.sources.open import Source
from raising import raises_at
from releases.places import places

PLAN = {
    "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": 9},
    "columns": {"n": {"low": 0, "high": 10, "step": "0.5", "missing": 5}},
    "statistics": [{"max": "n"}],
    "privacy": {"epsilon": 1},
}


def truths(path, **source):
    with closing(open_plan_source(to_plan({**PLAN, "source": {"path": str(path), **source}}))) as opened:
        return places(opened)[0]


def half(*values):
    """Values as positions in steps of one half."""
    return [round(2 * value) for value in values]


@pytest.mark.parametrize(
    "text",
    [
        ",g,n\n0,a,1.5\n1,b,2\n",
        "g,n,\na,1.5,\nb,2,\n",
        f'{UNNAMED}0,,"g",n\n5,0,a,1.5\n6,1,b,2\n',
        "g, ,n,\na,x,1.5,\nb,x,2,\n",
    ],
    ids=["a pandas index", "a trailing comma", "a name like ours", "several"],
)
def test_columns_without_a_name_are_ignored(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert truths(tmp_path / "t.csv") == half(1.5, 2)
    assert UNNAMED + "1" not in draft_plan(Source(path=str(tmp_path / "t.csv")), tmp_path / "plan.toml")


@pytest.mark.long
def test_a_decimal_comma_is_a_fact_of_the_plan(tmp_path):
    (tmp_path / "t.csv").write_text("g;n\na;4,5\na;1.234\na;1.234,5\nb;7\nb; 7,5e0 \n")
    path = tmp_path / "t.csv"
    assert truths(path, delimiter=";", decimal=",") == half(5, 7.5)
    assert truths(path, delimiter=";", decimal=".") == half(5, 7)
    with raises_at(SourceError, ("source", "decimal")):
        truths(path, delimiter=";")
    for decimal, words in ((",", "4,5 is one, 4.5 and 1.234,5 are not"), (".", "4.5 is one, 4,5 is not")):
        source = {"path": str(path), "delimiter": ";", "decimal": decimal}
        plan = to_plan({**PLAN, "source": source})
        assert plan.source.summary()["decimal"] == decimal
        said, _ = preview_release(plan, cache=tmp_path / "cache").record["values"]
        assert f"a record without a value or with text that is no number ({words})" in said
    with raises_at(PlanError, ("source", "decimal")):
        to_plan({**PLAN, "source": {"path": str(path), "decimal": "x"}})
    with raises_at(PlanError, ("source", "decimal")):
        to_plan({**PLAN, "source": {"path": "t.parquet", "decimal": ","}})


@pytest.mark.long
@pytest.mark.parametrize(
    "text", ["1_0", "1d", "0x1", "1 0", "1,5", "Infinity", "1e400", "٣", "1.5.2", "--1", "e1", "."]
)
def test_text_that_is_no_number_is_missing_on_every_engine(tmp_path, text):
    (tmp_path / "t.csv").write_text(f'g,n\na,"{text}"\n')
    assert truths(tmp_path / "t.csv") == half(5, 5)


@pytest.mark.parametrize(("text", "value"), [(" 4.5 ", 4.5), ("+3", 3), ("-3", 0), (".5", 0.5), ("2.", 2), ("1e0", 1)])
def test_numbers_are_read_as_people_write_them(tmp_path, text, value):
    (tmp_path / "t.csv").write_text(f"g,n\na,{text}\n")
    assert truths(tmp_path / "t.csv") == half(value, 5)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04secret", "an Excel or zip file"),
        ("g,n\nsecret,1\n".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08secret", "gzip"),
        (b"PAR1secret", "Parquet"),
        (b"", "different column names"),
        (b",,\n1,2,3\n", "different column names"),
    ],
)
def test_a_file_of_another_format_is_named_and_not_quoted(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    for refused in (truths, lambda path: draft_plan(Source(path=str(path)), tmp_path / "plan.toml")):
        with raises_at(SourceError, ("source", "path"), about=words) as caught:
            refused(tmp_path / "t.csv")
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.ods", "pandas.read_excel"),
        ("t.csv.gz", "unpack it, or pass pandas.read_csv"),
    ],
)
def test_a_file_that_no_engine_reads_names_the_way_out(name, words):
    with raises_at(PlanError, ("path",), about=words):
        Source(path=name)


def test_a_header_line_that_is_not_utf8_is_refused_and_records_that_are_not_are_never_mentioned(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("g,n,größe\na,1,1\n".encode("cp1252"))
    for refused in (truths, lambda file: draft_plan(Source(path=str(file)), tmp_path / "plan.toml")):
        with raises_at(SourceError, ("source", "path"), about="UTF-8"):
            refused(path)
    for encoding in ("cp1252", "utf-8"):
        path.write_bytes("g,n\na,1\nKöln,2\n".encode(encoding))
        assert truths(path) == half(1, 5)


def test_where_keys_or_labels_are_beyond_ascii_a_csv_file_must_be_utf8_and_the_dry_run_says_so(tmp_path):
    (tmp_path / "t.csv").write_text("g,n\n")

    def said(**changed):
        plan = {**PLAN, "source": {"path": str(tmp_path / "t.csv")}, **changed}
        return [line for line in preview_release(plan, cache=tmp_path / "cache").record["values"] if "UTF-8" in line]

    assert said() == []
    labels = {"columns": {"n": {"labels": ["ja", "schön"]}}, "statistics": [{"histogram": "n"}]}
    for changed, word in (({"groups": {"by": ["g"], "keys": ["a", "Köln"], "size": 9}}, "Köln"), (labels, "schön")):
        wanted = f"the file must be UTF-8: otherwise {word} and other texts with letters beyond ASCII never match"
        assert said(**changed) == [wanted]


# --- no header line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ["1,Anna,5", "North,Anna,maybe", "gg,Anna,nn", "G1,Anna,N1"])
def test_a_file_without_a_header_line_never_has_its_first_record_printed(tmp_path, record):
    (tmp_path / "t.csv").write_text(record + "\nSouth,Berta,6\n")
    with raises_at(SourceError, ("groups", "by"), about="header") as caught:
        truths(tmp_path / "t.csv")
    assert "'g'" in caught.value.message
    assert not any(value in str(caught.value).split("have;")[1] for value in record.split(","))


@pytest.mark.parametrize(
    "record",
    ["1,Anna,x", "Anna,yes,x", "Anna,2024-01-01,x", "Anna,anna@example.org,x", "Anna,3.1.2024,x", "Anna,N/A,x"],
)
def test_no_plan_is_drafted_from_a_first_line_that_looks_like_a_record(tmp_path, record):
    (tmp_path / "t.csv").write_text(record + "\n")
    with raises_at(SourceError, ("source", "path"), about="header line") as caught:
        draft_plan(Source(path=str(tmp_path / "t.csv")), tmp_path / "plan.toml")
    assert "Anna" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "path", "about"),
    [
        ("G,n,other", ("groups", "by"), "'G'"),
        ("g,N ,other", ("columns", "n"), "'N '"),
        ("g,scores,other", ("columns", "n"), "header line"),
    ],
)
def test_a_misspelt_column_is_suggested(tmp_path, line, path, about):
    (tmp_path / "t.csv").write_text(line + "\na,1,secret\n")
    with raises_at(SourceError, path, about=about) as caught:
        truths(tmp_path / "t.csv")
    assert "other" not in str(caught.value)


# --- drafts -------------------------------------------------------------------------------------------------


def test_a_draft_of_a_csv_file_offers_text_and_number_and_looks_at_no_value(tmp_path):
    drafts = []
    for values in ("5", "n/a"):
        (tmp_path / "t.csv").write_text(f"school,score,odd name\nNorth,{values},1\n")
        drafts.append(draft_plan(Source(path=str(tmp_path / "t.csv")), tmp_path / "plan.toml"))
    assert drafts[0] == drafts[1]
    types = {"score": {"type": "number"}, "odd name": {"type": "text"}}
    assert tomllib.loads(drafts[0])["columns"] == types
    assert "[columns.score]  # the name says score" in drafts[0]
    first, second = drafts[0].index('\n[columns."odd name"]'), drafts[0].index('\n# [columns."odd name"]')
    block = drafts[0][second:].partition("\n\n")[0].replace("\n# ", "\n")
    number = tomllib.loads(block)["columns"]["odd name"]
    assert first < second
    assert number == {"type": "number", "low": 0, "high": 10, "step": 1, "missing": 5}


def test_a_draft_keeps_the_delimiter_and_the_decimal_mark(tmp_path):
    (tmp_path / "t.csv").write_text("school;score\n")
    text = draft_plan(Source(path=str(tmp_path / "t.csv"), delimiter=";", decimal=","), tmp_path / "plan.toml")
    assert tomllib.loads(text)["source"] == {"path": "t.csv", "delimiter": ";", "decimal": ","}


def test_a_draft_of_a_file_with_semicolons_asks_about_the_decimal_comma(tmp_path):
    (tmp_path / "t.csv").write_text("school;score\n")
    text = draft_plan(Source(path=str(tmp_path / "t.csv"), delimiter=";"), tmp_path / "plan.toml")
    assert tomllib.loads(text)["source"] == {"path": "t.csv", "delimiter": ";"}
    assert tomllib.loads(text.replace("# decimal", "decimal"))["source"]["decimal"] == ","


# --- quotation marks ------------------------------------------------------------------------------------------

ILL_FORMED = {
    "an unmatched mark at the beginning of a field": b'g,n\na,1\na,"2\nb,3\nb,4\n',
    "an unmatched mark at the very end": b'g,n\na,1\nb,"3',
    "a mark escaped by a backslash": b'g,n\na,"1\\" x"\nb,3\nb,4\n',
    "a mark within a field": b'g,n\na,5" nail\nb,3\n',
    "a mark after a space": b'g,n\na, "1"\nb,3\n',
    "letters after the closing mark": b'g,n\na,"1"x\nb,3\n',
    "two marks that open one field": b'g,n\na,""x""\nb,3\n',
    "a mark in an unread column of a later record": b'g,n,t\na,1,x\nb,3,y"z\n',
    "a bare carriage return among line feeds": b"g,n\na,1\rb,2\nb,3\n",
    "an unmatched mark after a mark of byte order": b'\xef\xbb\xbf"g,n\na,1\n',
}


@pytest.mark.parametrize("content", ILL_FORMED.values(), ids=ILL_FORMED)
def test_a_file_whose_quotation_marks_do_not_match_is_refused_in_words_that_say_nothing_about_it(tmp_path, content):
    path = tmp_path / "t.csv"
    if content.startswith(b"\xef"):  # the header line is schema: it is refused as such
        path.write_bytes(content.replace(b'"g', b"g") + b'a,"1\n')
    else:
        path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        truths(path)
    assert str(caught.value) == f"source.path {csv_files.ILL_FORMED}: {path}"


@pytest.mark.parametrize("wide", [b'"x\n', b'"\n', b'"x,""', b"x"], ids=repr)
@pytest.mark.parametrize("blocks", [1.5, 2.5, 4])
def test_a_file_with_a_record_so_long_that_a_reader_may_lose_the_next_is_refused(tmp_path, wide, blocks, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK", 1 << 16)
    mark, unit, path = wide[:1] if wide[:1] == b'"' else b"", wide.lstrip(b'"'), tmp_path / "t.csv"
    long = mark + unit * round(blocks * csv_files.BLOCK / len(unit)) + mark
    ordinary = b'a,"1\n,""",\nb,2,"\n"\n' * 5000
    path.write_bytes(b"g,n,t\na,5,x\n" + ordinary + b"a,1," + long + b"\nb,3,x\n" + ordinary)
    if blocks < 2:  # whether it contains a whole block depends on where it begins
        path.write_bytes(b"g,n,t\na,5," + long[: csv_files.BLOCK // 2] * (mark == b"") + b"\n" + ordinary)
        assert truths(path)
        return
    with pytest.raises(SourceError) as caught:
        truths(path)
    assert str(caught.value) == f"source.path {csv_files.TOO_LONG}: {path}"


@pytest.mark.slow
def test_a_record_that_fills_a_buffer_of_the_reader_is_refused_as_it_would_take_others_with_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'g,n,t\na,5,x\na,1,"' + b"z\n" * 33_000_000 + b'"\nb,3,x\n')
    with pytest.raises(SourceError) as caught:
        truths(path)
    assert caught.value.path == ("source", "path")


def test_an_unmatched_quotation_mark_stops_a_release_and_leaves_nothing(command, tmp_path):
    (tmp_path / "t.csv").write_bytes(b'g,n\na,1\na,"2\nb,3\nb,4\n')
    (tmp_path / "keys.txt").write_text("a\nb\n")
    words = ["t.csv", "--count", "n = 1", "--by", "g", "--keys", "keys.txt", "--size", "9", "--epsilon", "1"]
    done = command(tmp_path, "release", *words)
    assert done.returncode == 2
    assert "must be a well-formed CSV file" in done.one_line
    assert "nothing was released" in done.one_line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "inbounds.ledger", "keys.txt", "t.csv"]
    (tmp_path / "t.csv").write_bytes(b"g,n\na,1\na,2\nb,3\nb,4\n")
    assert command(tmp_path, "release", *words).returncode == 1
    assert command(tmp_path, "release", *words, "--read-again").returncode == 0  # under the charge that is there
    with ib.Ledger.open(tmp_path / "inbounds.ledger") as ledger:
        assert [who.spent for who in ledger.people()] == [1]
    dry = command(tmp_path, "release", *words, "--dry-run", "--details")  # reads only the schema
    assert dry.returncode == 0
    assert "A row is a record that the source's reader delivers." in dry.one_line
    assert "The CSV file must be well formed" in dry.one_line


@pytest.mark.parametrize(
    "content",
    [
        b'"g","n"\n"a","1"\n"b","2"\n',
        b'\xef\xbb\xbf"g","n"\r\n"a","1"\r\n"b","2"\r\n',
        b'g,n,t\na,1,"x ""y"" z"\nb,2,""\n',
        b'g,n,t\na,1,"\nb,9\n"\nb,2,"""\n"""',
        b"g,n\na,1\nb,2",
        b'g,n,t\r\na,1,"\n"\r\nb,2,"\r"',
        b"g,n\r\na,1\r\nb,2\n",
        b'g,n,t\ra,1,"\n"\rb,2,"\r\n"\r',
    ],
)
def test_a_well_formed_file_is_read_as_it_was_written(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    assert truths(tmp_path / "t.csv") == half(1, 2)


FIELDS = st.text(st.sampled_from('ab,"\n\r\\ ;') | st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


RECORDS = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), FIELDS, FIELDS), max_size=8)
DELIMITERS = st.sampled_from(",;\t|§")


@pytest.mark.long
@given(RECORDS, DELIMITERS)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_what_a_csv_writer_wrote_is_well_formed_and_has_the_records_that_it_was_given(records, delimiter):
    assert_read_as_written(records, delimiter)


@pytest.mark.slow
@given(RECORDS, DELIMITERS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_hundreds_of_files_of_a_csv_writer_are_well_formed_and_have_their_records(records, delimiter):
    assert_read_as_written(records, delimiter)


def assert_read_as_written(records, delimiter):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(["g", "x", "y"])
            writer.writerows(records)
        plan = {
            "source": {"path": str(path), "delimiter": delimiter},
            "groups": {"by": ["g"], "keys": ["a", "b"], "size": 9},
            "columns": {"x": {"type": "text"}},
            "statistics": [{"count": "true"}, {"count": "x = 'a'", "name": "is a"}],
            "privacy": {"epsilon": 1},
        }
        with closing(open_plan_source(to_plan(plan))) as opened:
            found = places(opened)
    groups = [[x for g, x, _ in records if g == key] for key in ("a", "b")]
    assert found == [[len(group) for group in groups], [group.count("a") for group in groups]]


def test_a_mark_or_a_line_break_separates_no_fields():
    for delimiter in ('"', "\n", "\r"):
        with raises_at(PlanError, ("delimiter",)):
            Source(path="t.csv", delimiter=delimiter)


def test_times_in_a_csv_file_are_said_to_be_missing_where_dates_are_compared(tmp_path):
    (tmp_path / "t.csv").write_text("g,when\na,2024-01-15 10:30\na,2024-01-16\n")
    content = {
        "source": {"path": str(tmp_path / "t.csv")},
        "groups": {"by": ["g"], "keys": ["a"], "size": 9},
        "columns": {"when": {"type": "text"}},
        "statistics": [{"count": "when between '2024-01-01' and '2024-01-31'"}],
        "privacy": {"epsilon": 1},
    }
    said = preview_release(content, cache=tmp_path / "cache").record["values"]
    assert said == ["when: what is not a date alone, such as 2024-01-31 10:30, is missing; cut off times"]
    with closing(open_plan_source(to_plan(content))) as opened:
        assert opened.aggregate().positions[0].tolist() == [1]


NONE = 7
GROUPED = {
    (",", "."): {
        "1.234,5": 1234.5,
        "12.345.678": 12345678,
        "4,5": 4.5,
        "1234,5": 1234.5,
        " -1.000 ": -1000,
        "+1.000": 1000,
    }
    | dict.fromkeys(["4.5", "1.23", "1.2345", "1234.567", ".123", "1..234", "1.234.", "1,234.5", "1.234e3", "x"], NONE),
    (".", ","): {
        "1,234.5": 1234.5,
        "1,234": 1234,
        "4.5": 4.5,
        "1e3": 1000,
        "4,5": NONE,
        "1,2345": NONE,
        "1.234,5": NONE,
    },
    (",", " "): {"1 234,5": 1234.5, "1\u202f234\xa0567,5": 1234567.5, " 4,5 ": 4.5, "1 2": NONE, "12 34": NONE},
    (".", "'"): {"1'234.5": 1234.5, "1'2": NONE},
}


@pytest.mark.parametrize(("decimal", "thousands"), GROUPED)
def test_marks_between_thousands_count_where_they_are_declared(tmp_path, decimal, thousands):
    cells = GROUPED[decimal, thousands]
    rows = "".join(f'{k};"{text}"\n' for k, text in enumerate(cells))
    (tmp_path / "a.csv").write_text(f"g;v\n{rows}", "utf-8")
    plan = to_plan(
        {
            "source": {"path": str(tmp_path / "a.csv"), "delimiter": ";", "decimal": decimal, "thousands": thousands},
            "groups": {"by": "g", "keys": [str(k) for k in range(len(cells))], "size": 1},
            "columns": {"v": {"low": -1000, "high": 12345678, "step": 0.5, "missing": NONE}},
            "statistics": [{"sum": "v"}],
            "privacy": {"epsilon": 1},
        }
    )
    ((*positions,),) = open_plan_source(plan).aggregate().positions
    assert {text: position / 2 - 1000 for text, position in zip(cells, positions, strict=True)} == cells


def test_a_release_says_how_numbers_were_written_and_verifies(tmp_path):
    (tmp_path / "a.csv").write_text("g;v\nA;1.234,5\n", "utf-8")
    content = {
        "source": {"path": str(tmp_path / "a.csv"), "delimiter": ";", "decimal": ",", "thousands": "."},
        "groups": {"by": "g", "keys": ["A"], "size": 1},
        "columns": {"v": {"low": 0, "high": 2000, "step": 500}},
        "statistics": [{"sum": "v"}],
        "privacy": {"epsilon": 1},
    }
    ib.release(content, cache=tmp_path, output=tmp_path / "t.csv", allow_useless=True)
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid


def test_a_mark_between_thousands_is_not_the_decimal_mark():
    for decimal, thousands in ((",", ","), ("", "."), ("", "_")):
        with raises_at(PlanError, ("thousands",)):
            Source(path="a.csv", decimal=decimal, thousands=thousands)
    with raises_at(PlanError, ("thousands",)):
        Source(path="a.parquet", thousands=",")

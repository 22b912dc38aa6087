"""CSV files as people have them: indexes, decimal commas, other formats, and no header line at all."""

import tomllib
from contextlib import closing

import pytest

from inbounds.tables import PlanError, SourceError, as_plan, open_source, preview
from inbounds.tables.csvfile import UNNAMED
from inbounds.tables.drafting import draft
from inbounds.tables.source import Source

PLAN = {
    "groups": {"by": ["g"], "keys": ["a", "b"], "size": 9},
    "columns": {"n": {"low": 0, "high": 10, "step": "0.5", "missing": 5}},
    "statistics": [{"max": "n"}],
    "privacy": {"epsilon": 1},
}


def truths(path, **source):
    with closing(open_source(as_plan({**PLAN, "source": {"path": str(path), **source}}))) as opened:
        return opened.aggregate().positions[0].tolist()


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
    assert UNNAMED + "1" not in draft(Source(path=str(tmp_path / "t.csv")), tmp_path / "plan.toml")


def test_a_decimal_comma_is_a_fact_of_the_plan(tmp_path):
    (tmp_path / "t.csv").write_text("g;n\na;4,5\na;1.234\na;1.234,5\nb;7\nb; 7,5e0 \n")
    path = tmp_path / "t.csv"
    assert truths(path, delimiter=";", decimal=",") == half(5, 7.5)
    assert truths(path, delimiter=";") == half(5, 7)
    for decimal, words in ((",", "4,5 is one, 4.5 is not"), (".", "4.5 is one, 4,5 is not")):
        source = {"path": str(path), "delimiter": ";", "decimal": decimal}
        plan = as_plan({**PLAN, "source": source})
        assert plan.source.summary()["decimal"] == decimal
        (said,) = preview(plan, cache=tmp_path / "cache").record["values"]
        assert f"a record without a value or with text that is no number ({words})" in said
    with pytest.raises(PlanError, match=r'source.decimal must be "." or ",", for a CSV file, got \'x\''):
        as_plan({**PLAN, "source": {"path": str(path), "decimal": "x"}})
    with pytest.raises(PlanError, match=r"source.decimal must be"):
        as_plan({**PLAN, "source": {"path": "t.parquet", "decimal": ","}})


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
        (b"PK\x03\x04secret", "names an Excel or zip file, whatever its ending says; save it as CSV in UTF-8"),
        ("g,n\nsecret,1\n".encode("utf-16"), "names text in UTF-16"),
        (b"\x1f\x8b\x08secret", "names a gzip file"),
        (b"PAR1secret", "names a Parquet file"),
        (b"", "must begin with a line of different column names"),
        (b",,\n1,2,3\n", "must begin with a line of different column names"),
    ],
)
def test_a_file_of_another_format_is_named_and_not_quoted(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    for refused in (truths, lambda path: draft(Source(path=str(path)), tmp_path / "plan.toml")):
        with pytest.raises(SourceError, match=words) as caught:
            refused(tmp_path / "t.csv")
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.xlsx", r"save it as CSV UTF-8, or pass pandas.read_excel\(…\) to ib.release"),
        ("t.csv.gz", r"unpack it, or pass pandas.read_csv\(…\) to ib.release"),
    ],
)
def test_a_file_that_no_engine_reads_names_the_way_out(name, words):
    with pytest.raises(PlanError, match=f"must end in .*{words}"):
        Source(path=name)


def test_a_header_line_that_is_not_utf8_is_refused_and_records_that_are_not_are_never_mentioned(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("g,n,größe\na,1,1\n".encode("cp1252"))
    for refused in (truths, lambda file: draft(Source(path=str(file)), tmp_path / "plan.toml")):
        with pytest.raises(SourceError, match="begins with a line that is not in UTF-8; save the file as CSV UTF-8"):
            refused(path)
    for encoding in ("cp1252", "utf-8"):
        path.write_bytes("g,n\na,1\nKöln,2\n".encode(encoding))
        assert truths(path) == half(1, 5)


def test_where_keys_or_labels_are_beyond_ascii_a_csv_file_must_be_utf8_and_the_dry_run_says_so(tmp_path):
    (tmp_path / "t.csv").write_text("g,n\n")

    def said(**changed):
        plan = {**PLAN, "source": {"path": str(tmp_path / "t.csv")}, **changed}
        return [line for line in preview(plan, cache=tmp_path / "cache").record["values"] if "UTF-8" in line]

    assert said() == []
    labels = {"columns": {"n": {"labels": ["ja", "schön"]}}, "statistics": [{"histogram": "n"}]}
    for changed, word in (({"groups": {"by": ["g"], "keys": ["a", "Köln"], "size": 9}}, "Köln"), (labels, "schön")):
        wanted = f"the file must be UTF-8: otherwise {word} and other texts with letters beyond ASCII never match"
        assert said(**changed) == [wanted]


# --- no header line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ["1,Anna,5", "North,Anna,maybe", "gg,Anna,nn", "G1,Anna,N1"])
def test_a_file_without_a_header_line_never_has_its_first_record_printed(tmp_path, record):
    (tmp_path / "t.csv").write_text(record + "\nSouth,Berta,6\n")
    with pytest.raises(SourceError) as caught:
        truths(tmp_path / "t.csv")
    assert "groups.by names the column 'g', which the source does not have" in str(caught.value)
    assert "does the file begin with a header line?" in str(caught.value)
    assert not any(value in str(caught.value).split("have;")[1] for value in record.split(","))


@pytest.mark.parametrize(
    "record",
    ["1,Anna,x", "Anna,yes,x", "Anna,2024-01-01,x", "Anna,anna@example.org,x", "Anna,3.1.2024,x", "Anna,N/A,x"],
)
def test_no_plan_is_drafted_from_a_first_line_that_looks_like_a_record(tmp_path, record):
    (tmp_path / "t.csv").write_text(record + "\n")
    with pytest.raises(SourceError, match=r"does the file begin with a header line\?") as caught:
        draft(Source(path=str(tmp_path / "t.csv")), tmp_path / "plan.toml")
    assert "Anna" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("G,n,other", r"names the column 'g', .* did you mean 'G'\?"),
        ("g,N ,other", r"names the column 'n', .* did you mean 'N '\?"),
        ("g,scores,other", "names the column 'n', .* header line"),
    ],
)
def test_a_misspelt_column_is_suggested(tmp_path, line, words):
    (tmp_path / "t.csv").write_text(line + "\na,1,secret\n")
    with pytest.raises(SourceError, match=words) as caught:
        truths(tmp_path / "t.csv")
    assert "other" not in str(caught.value)


# --- drafts -------------------------------------------------------------------------------------------------


def test_a_draft_of_a_csv_file_offers_text_and_number_and_looks_at_no_value(tmp_path):
    drafts = []
    for values in ("5", "n/a"):
        (tmp_path / "t.csv").write_text(f"school,score,odd name\nNorth,{values},1\n")
        drafts.append(draft(Source(path=str(tmp_path / "t.csv")), tmp_path / "plan.toml"))
    assert drafts[0] == drafts[1]
    types = {"score": {"type": "text"}, "odd name": {"type": "text"}}
    assert tomllib.loads(drafts[0])["columns"] == types
    first, second = drafts[0].index("\n[columns.score]"), drafts[0].index("\n# [columns.score]")
    block = drafts[0][second:].partition("\n\n")[0].replace("\n# ", "\n")
    number = tomllib.loads(block)["columns"]["score"]
    assert first < second
    assert number == {"type": "number", "low": 0, "high": 10, "step": 1, "missing": 5}


def test_a_draft_keeps_the_delimiter_and_the_decimal_mark(tmp_path):
    (tmp_path / "t.csv").write_text("school;score\n")
    text = draft(Source(path=str(tmp_path / "t.csv"), delimiter=";", decimal=","), tmp_path / "plan.toml")
    assert tomllib.loads(text)["source"] == {"path": "t.csv", "delimiter": ";", "decimal": ","}


def test_a_draft_of_a_file_with_semicolons_asks_about_the_decimal_comma(tmp_path):
    (tmp_path / "t.csv").write_text("school;score\n")
    text = draft(Source(path=str(tmp_path / "t.csv"), delimiter=";"), tmp_path / "plan.toml")
    assert tomllib.loads(text)["source"] == {"path": "t.csv", "delimiter": ";"}
    assert '\n# decimal = ","      # are its numbers written 4,5?' in text
    assert tomllib.loads(text.replace("# decimal", "decimal"))["source"]["decimal"] == ","

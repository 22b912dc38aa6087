"""Plans: what they accept, and bad ones refused in one sentence that names the line, before anything is read."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.plan.load import parse_plan, to_plan
from inbounds.plan.plan import ADD_OR_REMOVE, CHANGE
from inbounds.releases import aggregate
from inbounds.releases.pipeline import (
    Plan,
    PlanError,
    Source,
    SourceError,
    load_plan,
    parse_groups,
    preview_release,
    release,
)
from inbounds.schema.columns import Column
from inbounds.schema.errors import index_lines
from inbounds.statistics import Count
from raising import raises_at

PLAN = """\
[source]
path = "survey.csv"

[groups]
by = ["school"]
keys = ["North", "South"]
size = 25

[columns]
answer = { labels = ["yes", "no"], other = "no" }
score = { low = 0, high = 10 }
age.type = "number"

[privacy]
epsilon = 1

[[statistics]]
count = "answer = 'yes' and age >= 12"
name = "yes"
budget_share = 0.5

[[statistics]]
mean = "score"

[output]
path = "out.csv"
"""

DATA = "school,answer,score,age\nNorth,yes,3,14\nSouth,no,11,15\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "survey.csv").write_text(DATA)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


BAD = [
    # what is written instead, the line and the place that must be named
    ("epsilon = 1\n", "epsilon = -1\n", PlanError, 15, ("privacy", "epsilon")),
    ("epsilon = 1\n", "epsilon = nan\n", PlanError, 15, ("privacy", "epsilon")),
    ('keys = ["North", "South"]', 'keys = ["North", "North"]', PlanError, 6, ("groups", "keys")),
    ('keys = ["North", "South"]', "keys = []", PlanError, 6, ("groups", "keys")),
    ('keys = ["North", "South"]', 'keys = "nowhere.txt"', PlanError, 6, ("groups", "keys")),
    ("size = 25", "size = 0", PlanError, 7, ("groups", "size")),
    ("size = 25", "size = [1, 2, 3]", PlanError, 7, ("groups", "size")),
    ("size = 25", "", PlanError, 4, ("groups",)),
    ("size = 25", "size = 25\nmax_size = 30", PlanError, 4, ("groups",)),
    ("low = 0, high = 10", "low = 10, high = 0", PlanError, 11, ("columns", "score", "high")),
    ("low = 0, high = 10", "low = 0, high = 10, step = 3", PlanError, 11, ("columns", "score", "step")),
    ("low = 0, high = 10", "low = 0, high = 10, missing = 11", PlanError, 11, ("columns", "score", "missing")),
    ("low = 0, high = 10", "low = 0", PlanError, 11, ("columns", "score", "high")),
    ("low = 0, high = 10", 'type = "text", low = 0, high = 10', PlanError, 11, ("columns", "score", "type")),
    ('labels = ["yes", "no"]', 'labels = ["yes", "yes"]', PlanError, 10, ("columns", "answer", "labels")),
    ('other = "no"', 'other = "perhaps"', PlanError, 10, ("columns", "answer", "other")),
    ("budget_share = 0.5", "budget_share = 1.5", PlanError, 20, ("statistics", 0, "budget_share")),
    ("budget_share = 0.5", "budget_share = 1", PlanError, 20, ("statistics", 0, "budget_share")),
    ("budget_share = 0.5", "budget_share = 0", PlanError, 20, ("statistics", 0, "budget_share")),
    ("budget_share = 0.5", "budget_share = 0.5\nepsilon = 0.5", PlanError, 20, ("statistics", 0, "budget_share")),
    ("answer = 'yes' and age", "answer like 'yes' and age", PlanError, 18, ("statistics", 0, "count")),
    ("answer = 'yes' and age", "answer = 'yes'; drop table x; age", PlanError, 18, ("statistics", 0, "count")),
    ("answer = 'yes' and age", "income = 'yes' and age", PlanError, 18, ("statistics", 0, "count")),
    ("answer = 'yes' and age", "answer = 3 and age", PlanError, 18, ("statistics", 0, "count")),
    ("answer = 'yes' and age", "answer < 'yes' and age", PlanError, 18, ("statistics", 0, "count")),
    ('mean = "score"', 'mean = "age"', PlanError, 23, ("statistics", 1, "mean")),
    ('mean = "score"', 'mean = "scor"', PlanError, 23, ("statistics", 1, "mean")),
    ('mean = "score"', 'avg = "score"', PlanError, 23, ("statistics", 1, "avg")),
    ('mean = "score"', 'mean = "score"\nmedian = "score"', PlanError, 22, ("statistics", 1)),
    ('mean = "score"', 'mean = "score"\nname = "yes"', PlanError, 24, ("statistics", 1, "name")),
    ('mean = "score"', 'mean = "score"\nloss = "cubic"', PlanError, 24, ("statistics", 1, "loss")),
    ('mean = "score"', 'mean = "score"\nmechanism = "magic"', PlanError, 24, ("statistics", 1, "mechanism")),
    ('mean = "score"', 'mean = "score"\nsum_to_size = true', PlanError, 24, ("statistics", 1, "sum_to_size")),
    ("count = \"answer = 'yes' and age >= 12\"", 'count = "answer = yes"', PlanError, 18, ("statistics", 0, "count")),
    ("count = \"answer = 'yes' and age >= 12\"", "count = \"age = '12'\"", PlanError, 18, ("statistics", 0, "count")),
    ('path = "survey.csv"', 'path = "missing.csv"', SourceError, 2, ("source", "path")),
    ('path = "survey.csv"', 'path = "survey.ods"', PlanError, 2, ("source", "path")),
    ('path = "survey.csv"', 'url = "mysql://x/y"', PlanError, 2, ("source", "url")),
    (
        'path = "survey.csv"',
        'url = "postgresql://u:secret@127.0.0.1:1/db"\ntable = "t"',
        SourceError,
        2,
        ("source", "url"),
    ),
    ('by = ["school"]', 'by = ["class"]', SourceError, 5, ("groups", "by")),
    ('path = "out.csv"', 'path = "out.xlsx"', PlanError, 26, ("output", "path")),
    ('path = "out.csv"', 'path = "no/such/out.csv"', PlanError, 26, ("output", "path")),
    ('path = "out.csv"', 'path = "out.csv"\ncredible_level = 1.5', PlanError, 27, ("output", "credible_level")),
    ("[privacy]", "[privcy]", PlanError, 14, ("privcy",)),
    ("epsilon = 1\n", 'epsilon = 1\nneighbours = "none"\n', PlanError, 16, ("privacy", "neighbours")),
    (
        "epsilon = 1\n",
        'epsilon = 1\nneighbours = "add or remove one record"\n',
        PlanError,
        16,
        ("privacy", "neighbours"),
    ),
    ("epsilon = 1\n", "epsilon = = 1\n", PlanError, None, ()),
]


def test_a_bad_plan_is_one_sentence_with_its_place_and_nothing_is_read_or_written(
    folder, monkeypatch, subtests, golden
):
    """The sentences are in a golden file."""
    monkeypatch.setattr(aggregate, "materialise", lambda *_, **__: pytest.fail("the data was read"))
    before, said = sorted(folder.iterdir()), {}
    for old, new, kind, line, path in BAD:
        with subtests.test(old=old, new=new):
            assert old in PLAN
            (folder / "plan.toml").write_text(PLAN.replace(old, new, 1))
            with raises_at(kind, path, line=line) as caught:
                release(folder / "plan.toml", cache=folder / "cache")
            text = str(caught.value)
            assert "\n" not in text
            assert "secret" not in text
            assert text.startswith(f"plan.toml, line {line}: " if line else "plan.toml: ")
            assert sorted(folder.iterdir()) == before
            said[f"{old.rstrip()}  →  {new.rstrip()}"] = text.replace(str(folder), "<folder>")
    golden.parts("wrong_plans", said)


def test_a_column_that_no_statistic_is_about_may_be_declared_for_a_source_without_it(folder, monkeypatch):
    monkeypatch.setattr(aggregate, "materialise", lambda *_, **__: pytest.fail("the data was read"))
    (folder / "plan.toml").write_text(PLAN.replace("age.type", 'years = { type = "number" }\nage.type', 1))
    assert preview_release(folder / "plan.toml", cache=folder / "cache").sizes == (25,)


def test_a_histogram_that_cannot_be_consistent_is_told_which_half_is_missing(folder):
    text = PLAN.replace('mean = "score"', 'histogram = "answer"\nsum_to_size = true')
    (folder / "plan.toml").write_text(text)
    assert preview_release(folder / "plan.toml", cache=folder / "cache").sizes == (25,)
    (folder / "plan.toml").write_text(text.replace(', other = "no"', ""))
    with raises_at(PlanError, ("statistics", 1, "histogram"), line=23, about='other = "no answer"'):
        preview_release(folder / "plan.toml", cache=folder / "cache")


def test_a_column_of_the_wrong_type_is_refused_from_the_schema(folder):
    table = pa.table({"school": ["North"], "answer": ["yes"], "score": [True], "age": [1.0]})
    pyarrow.parquet.write_table(table, folder / "survey.parquet")
    (folder / "plan.toml").write_text(PLAN.replace("survey.csv", "survey.parquet"))
    with raises_at(SourceError, ("columns", "score"), line=11):
        release(folder / "plan.toml", cache=folder / "cache")


def test_a_file_that_is_not_what_its_name_says_is_refused_without_quoting_it(folder):
    (folder / "survey.parquet").write_text("a secret text")
    (folder / "plan.toml").write_text(PLAN.replace("survey.csv", "survey.parquet"))
    with raises_at(SourceError, ("source", "path"), line=2) as caught:
        release(folder / "plan.toml", cache=folder / "cache")
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)


def test_an_unreadable_keys_file_and_a_file_without_the_column_are_refused(folder):
    (folder / "keys.csv").write_text("class\n1\n")
    (folder / "plan.toml").write_text(PLAN.replace('["North", "South"]', '"keys.csv"'))
    with raises_at(PlanError, ("groups", "keys"), line=6):
        load_plan(folder / "plan.toml")


def test_keys_come_from_lists_products_texts_and_tables_in_their_order(tmp_path):
    (tmp_path / "k.txt").write_text("b\n\na\n")
    (tmp_path / "k.csv").write_text("n,s\n3,b\n4,a\n")
    pyarrow.parquet.write_table(pa.table({"s": ["b", "a"], "n": [3, 4]}), tmp_path / "k.parquet")
    wanted = (("b",), ("a",))
    assert parse_groups("s", ["b", "a"], 3).keys == wanted
    assert parse_groups(["s"], "k.txt", 3, folder=tmp_path).keys == wanted
    for name in ("k.csv", "k.parquet"):
        found = parse_groups(["s"], name, "n", folder=tmp_path)
        assert found.keys == wanted
        assert found.sizes.tolist() == [3, 4]
    product = (("b", "1"), ("b", "2"), ("a", "1"), ("a", "2"))
    assert parse_groups(["s", "y"], {"s": ["b", "a"], "y": [1, 2]}, 3).keys == product
    assert parse_groups(["s", "y"], {"y": [1, 2], "s": ["b", "a"]}, 3).keys == product  # `by` says which part is which


def test_epsilon_is_shared_exactly_and_what_is_not_said_is_shared_equally():
    thirds = [Count(condition="true", name=f"s{k}") for k in range(3)]
    plan = Plan(Source(frame=pa.table({})), parse_groups((), None, 5), {}, tuple(thirds), Fraction(1))
    assert plan.epsilons == (Fraction(1, 3),) * 3
    assert plan.total_epsilon == 1
    told = (Count(condition="true", name="a", epsilon=Fraction(1, 10)), *thirds)
    plan = Plan(Source(frame=pa.table({})), parse_groups((), None, 5), {}, told, Fraction(1))
    assert plan.epsilons == (Fraction(1, 10), *(Fraction(3, 10),) * 3)


def test_the_relation_follows_from_what_is_declared_about_sizes():
    one = (Count(condition="true"),)
    source = Source(frame=pa.table({}))
    assert Plan(source, parse_groups((), None, size=5), {}, one, Fraction(1)).neighbours == CHANGE
    assert Plan(source, parse_groups((), None, max_size=5), {}, one, Fraction(1)).neighbours == ADD_OR_REMOVE


def test_a_float_in_a_plan_means_the_decimal_it_is_written_as(folder):
    (folder / "plan.toml").write_text(PLAN.replace("epsilon = 1\n", "epsilon = 0.1\n"))
    plan = load_plan(folder / "plan.toml")
    assert plan.epsilon == Fraction(1, 10)
    assert plan.epsilons[0] == Fraction(1, 20)


def test_the_digest_changes_with_the_plan_and_not_with_the_password(folder):
    def digest(old="", new=""):
        (folder / "plan.toml").write_text(PLAN.replace(old, new, 1))
        return load_plan(folder / "plan.toml").digest

    assert digest() == digest()
    others = [
        ("size = 25", "size = 26"),
        ("North", "West"),
        ("high = 10", "high = 9"),
        ("0.5", "0.4"),
        (">= 12", "> 12"),
    ]
    assert len({digest(), *(digest(*change) for change in others)}) == len(others) + 1
    urls = [f'url = "postgresql://me:{word}@host/db"\ntable = "t"' for word in ("one", "two")]
    assert digest('path = "survey.csv"', urls[0]) == digest('path = "survey.csv"', urls[1])


def test_lines_are_found_under_headers_lists_inline_tables_and_multiline_values():
    first = 'a.b = 1 # [x]\n"q r" = """\n[no]\nz = 1\n"""\n[t.u]\nv = [\n  1,\n  "]"\n]\n'
    text = first + "w = {k = 2}\n[[s]]\n[[s]]\n[s.t]\nx = 3\n"
    lines = index_lines(text, "p")
    expected = {("a", "b"): 1, ("q r",): 2, ("t", "u", "v"): 7, ("t", "u", "w", "k"): 11, ("s", 1, "t", "x"): 15}
    assert {path: lines.place(path) for path in expected} == {path: f"p, line {n}" for path, n in expected.items()}
    assert lines.place(("nowhere",)) == "p"


def test_a_column_is_validated_when_made():
    with raises_at(PlanError, ("high",)):
        Column.number(3, 3)
    with raises_at(PlanError, ("low",)):
        Column.number("nan", 3)


def test_importing_the_package_does_not_import_the_table_engines():
    code = "import sys, inbounds; print([m for m in ('ibis', 'duckdb', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "parts"), [("epsilon", "[privacy]"), ("by", "[groups]"), ("path", "[source] or [output]")]
)
def test_a_field_in_the_wrong_place_is_told_the_right_one(name, parts):
    with pytest.raises(PlanError) as refused:
        parse_plan({name: 1, "statistics": ({"count": "true"},), "groups": {"size": 3}})
    assert str(refused.value) == f"{name} belongs into {parts}"


@pytest.mark.parametrize("source", ["data.csv", ["data.csv"], 3])
def test_a_source_that_is_no_table_is_refused_at_its_place(source):
    with raises_at(PlanError, ("source",)):
        to_plan({"source": source, "statistics": [{"count": "true"}], "privacy": {"epsilon": 1}})

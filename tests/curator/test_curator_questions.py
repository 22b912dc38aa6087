"""Canonical questions: what is the same, what is not; and conditions rewritten without a change of meaning."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.curator import parse_question
from inbounds.curator.question import MOST_LISTED, QuestionIdentity
from inbounds.schema.condition.canonical import canonical_condition, canonical_text, format_condition
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import And, ColumnRef, Compare, In, IsNull, IsTrue, Literal, Not, Or
from inbounds.schema.errors import PlanError
from raising import rejects

SAME = [
    [{"count": "age > 12 and likes = 'yes'"}, {"count": "likes='yes' AND 12.0 < age"},
     {"count": "age > 1.2e1", "where": "likes in ('yes', 'yes')"}, {"count": "not (age <= 12 or likes != 'yes')"}],
    [{"mean": "age", "by": ["school", "year"]}, {"mean": "age", "by": ["year", "school", "year"]}],
    [{"mean": "age", "where": "likes = 'yes' or likes = 'no'"}, {"mean": "age", "where": "likes in ('no', 'yes')"}],
    [{"count": "true"}, {"count": "true and true"}, {"count": "true", "where": "not false"}],
    [{"quantile": "age", "at": 0.5}, {"quantile": "age", "at": "1/2"}],
    [{"count": "age in (11, 12)"}, {"count": "age = 12 or (age = 11.0)"}],
]  # fmt: skip
DIFFERENT = [
    {"count": "age > 12"}, {"count": "age >= 12"}, {"count": "age > 12 or likes = 'yes'"}, {"count": "age < 12"},
    {"count": "likes = 'yes'"}, {"count": "likes is null"}, {"count": "likes != 'yes'"}, {"count": "true"},
    {"mean": "age"}, {"median": "age"}, {"mean": "age", "by": ["school"]}, {"mean": "age", "by": ["year"]},
    {"mean": "age", "where": "likes = 'yes'"}, {"quantile": "age", "at": 0.9}, {"histogram": "likes"},
    {"count": "age > 12", "properties": ["fair"]}, {"count": "age > 12", "mechanism": "truncated_geometric"},
]  # fmt: skip


def base(curator, values):
    dataset = curator.settings.datasets["pupils"]
    question = parse_question({**values, "epsilon": "0.5"}, dataset)
    assert parse_question(question.to_json(), dataset) == question
    return QuestionIdentity.from_plan(dataset, question.to_plan(dataset, question.epsilon)).base


@pytest.mark.parametrize("spellings", SAME)
def test_spellings_of_one_question_are_one_question(curator, spellings):
    assert len({base(curator, values) for values in spellings}) == 1


def test_different_questions_are_different(curator):
    assert len({base(curator, values) for values in DIFFERENT}) == len(DIFFERENT)


NO_QUESTIONS = [
    {"mean": "aeg"},
    {"crosstab": ["likes", "x"]},
    {"count": "aeg > 3"},
    {},
    {"mean": "age", "median": "age"},
]


def test_what_is_no_question_is_refused_in_words_for_whoever_asks(curator, golden):
    said = {}
    for values in NO_QUESTIONS:
        with pytest.raises(PlanError) as caught:
            parse_question({**values, "epsilon": "0.5"}, curator.settings.datasets["pupils"])
        assert "statistics[" not in str(caught.value)
        said[str(values)] = caught.value
    golden.parts("wrong_questions", said)


def test_new_data_are_another_question(opened):
    asked = {"count": "true"}
    assert base(opened(), asked) != base(opened(edition="2026-12"), asked)


def test_a_column_that_a_question_does_not_use_is_no_part_of_it(opened):
    columns = {"age": {"low": 10, "high": 20}, "school": {"labels": ["north", "south"]}}
    assert base(opened(), {"mean": "age"}) == base(opened(columns=columns), {"mean": "age"})
    columns["age"] = {"low": 10, "high": 21}
    assert base(opened(), {"mean": "age"}) != base(opened(columns=columns), {"mean": "age"})


# --- the canonical form keeps the meaning, in the logic of three values ------------------------------------

NUMBERS, WORDS = [None, 0, 1, 2], [None, "x", "y"]


def value(operand, record):
    return record[operand.name] if isinstance(operand, ColumnRef) else operand.value


def truth(condition, record):
    """True, False or None: conditions by their definition."""
    match condition:
        case Compare(sign, left, right):
            a, b = value(left, record), value(right, record)
            if a is None or b is None:
                return None
            return (
                {"=": a == b, "!=": a != b}.get(sign)
                if sign in ("=", "!=")
                else {"<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b}[sign]()
            )
        case In(subject, values):
            own = value(subject, record)
            return None if own is None else own in [item.value for item in values]
        case IsNull(subject):
            return value(subject, record) is None
        case IsTrue(subject):
            return value(subject, record)
        case Not(inner):
            found = truth(inner, record)
            return None if found is None else not found
        case And(parts) | Or(parts):
            found = [truth(part, record) for part in parts]
            deciding = isinstance(condition, Or)
            return deciding if deciding in found else None if None in found else not deciding
    raise AssertionError(condition)


LETTERS, TRUTHS = [Literal("x"), Literal("y")], [Literal(True), Literal(False)]
numbers = st.sampled_from([Literal(k) for k in (0, 1, 2)])
tests = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.just(ColumnRef("n")), numbers),
    st.builds(Compare, st.sampled_from(["=", "<", ">="]), numbers, st.just(ColumnRef("n"))),
    st.builds(Compare, st.sampled_from(["=", "!=", "<"]), st.just(ColumnRef("n")), st.just(ColumnRef("m"))),
    st.builds(Compare, st.sampled_from(["=", "<=", ">"]), st.just(ColumnRef("m")), st.just(ColumnRef("n"))),
    st.builds(Compare, st.sampled_from(["=", "!="]), st.just(ColumnRef("t")), st.sampled_from(LETTERS)),
    st.builds(In, st.just(ColumnRef("n")), st.lists(numbers, min_size=1, max_size=3).map(tuple)),
    st.builds(IsNull, st.sampled_from([ColumnRef("n"), ColumnRef("t"), ColumnRef("b")])),
    st.builds(IsTrue, st.sampled_from([ColumnRef("b"), *TRUTHS])),
    st.builds(Compare, st.sampled_from(["=", "!="]), st.just(ColumnRef("b")), st.sampled_from(TRUTHS)),
)  # fmt: skip
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
RECORDS = [dict(zip("nmtb", row, strict=True)) for row in product(NUMBERS, NUMBERS, WORDS, [None, True, False])]


@given(conditions)
def test_the_canonical_form_is_true_of_the_same_records(condition):
    form = canonical_condition(condition)
    assert all(truth(form, record) == truth(condition, record) for record in RECORDS)


@given(conditions)
def test_the_canonical_form_is_its_own_and_can_be_read_back(condition):
    form = canonical_condition(condition)
    assert canonical_condition(form) == form
    assert canonical_condition(parse(format_condition(form))) == form
    assert canonical_text(format_condition(condition)) == format_condition(form)


def test_a_number_that_cannot_be_written_out_is_refused():
    with rejects(ValueError, about="40"):
        canonical_text("age > 1e-99")


def test_a_question_lists_at_most_so_many_values(curator):
    dataset = curator.settings.datasets["pupils"]
    shares = [f"{k}/{2 * MOST_LISTED}" for k in range(1, MOST_LISTED + 1)]
    assert len(parse_question({"quantile": "age", "at": shares, "epsilon": "1"}, dataset).statistic.at) == MOST_LISTED
    with pytest.raises(PlanError) as refused:
        parse_question({"quantile": "age", "at": [*shares, "3/4"], "epsilon": "1"}, dataset)
    assert refused.value.path == ("at",)

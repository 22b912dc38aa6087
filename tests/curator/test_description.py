"""What `inbounds ask URL DATASET` says: declared facts, and what the caller has left."""

from inbounds.curator.description import describe_dataset

FACTS = {
    "name": "pupils", "title": "", "edition": "2026", "people": "pupils", "neighbours": "change one record",
    "by": ["school"], "groups": [{"key": [f"S{k}"], "records": 20 + k} for k in range(8)], "records": "public",
    "columns": {
        "age": {"type": "number", "low": "6", "high": "19", "step": "1/2", "missing": "6"},
        "answer": {"type": "text", "labels": ["yes", "no"]},
        "day": {"type": "date"},
    },
    "levels": {},
}  # fmt: skip
ACCOUNT = {
    "datasets": [{"dataset": "other", "cap": "9", "left": "8"}, {"dataset": "pupils", "cap": "2", "left": "1.5"}]
}


def test_columns_groups_and_the_own_budget_are_named(golden):
    golden("describe_dataset", describe_dataset(FACTS, ACCOUNT, "http://here"))


def test_only_the_callers_cap_of_this_dataset_is_named():
    text = describe_dataset(FACTS, ACCOUNT, "http://here")
    assert "1.5 of 2" in text
    assert "8 of 9" not in text
    assert "no cap" in describe_dataset(FACTS, {"datasets": []}, "http://here")


def test_a_dataset_without_groups_and_numbers_has_an_example_too():
    facts = {**FACTS, "by": [], "groups": [{"key": [], "records": 40}], "columns": {}, "levels": {"public": "0.1"}}
    text = describe_dataset(facts, ACCOUNT, "http://here")
    assert "inbounds ask http://here pupils --count all --preview" in text
    assert "public 0.1" in text

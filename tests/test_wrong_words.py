"""Wrong types and misspelt names end in our own words, with what was probably meant."""

import pytest

import inbounds as ib


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ib.optimal(20, 0.5),
        lambda: ib.recommend("count", 0.5),
        lambda: ib.epsilon_for(20, ib.promise.average("absolute", 1)),
        lambda: ib.certify([[1.0]], 20, 1),
        lambda: ib.audit([[1.0]], 20),
        lambda: ib.catalog.truncated_geometric(20, 0.5),
        lambda: ib.catalog.uniform(None, 0.5),
    ],
)
def test_what_is_no_query_is_refused_with_an_example_of_one(ask):
    with pytest.raises(TypeError, match=r"query must be a question such as ib\.count"):
        ask()


@pytest.mark.parametrize(
    "ask", [lambda p: ib.optimal(ib.count(3), 1, properties=p), lambda p: ib.recommend(ib.count(3), 1, p)]
)
def test_a_bare_property_is_no_list(ask):
    with pytest.raises(TypeError, match=r"must be a list of names, got 'fair'; write \['fair'\]"):
        ask("fair")


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: ib.optimal(ib.count(3), 1, properties=["fiar"]), "fair"),
        (lambda: ib.optimal(ib.count(3), 1, "sqared"), "squared"),
        (lambda: ib.optimal(ib.count(3), 1, aim="worts"), "worst"),
        (lambda: ib.compare(ib.count(3), 1).best("trut"), "truth"),
        (lambda: ib.epsilon_for(ib.count(3), ib.promise.average("absolute", 1), "explicit_fiar"), "explicit_fair"),
    ],
)
def test_a_misspelt_name_is_answered_with_what_was_probably_meant(ask, meant):
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        ask()

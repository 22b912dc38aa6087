"""Wrong types and misspelt names end in our own words, with what was probably meant."""

import re

import pandas
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


Q = ib.count(3)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ib.optimal(1, Q),
        lambda: ib.compare(1, Q),
        lambda: ib.recommend(1, Q),
        lambda: ib.certify(Q, [[1.0]], 1),
        lambda: ib.audit(Q, [[1.0]]),
        lambda: ib.epsilon_for(ib.promise.average("absolute", 1), Q),
    ],
)
def test_a_query_in_another_arguments_place_is_noticed(ask):
    with pytest.raises(TypeError, match=r"query must be .* holds one, so the two are swapped"):
        ask()


def test_frames_and_mechanisms_in_the_first_place_are_noticed():
    with pytest.raises(TypeError, match=r"plan must be .* got DataFrame; the frame comes after it"):
        ib.release(pandas.DataFrame({"a": [1]}), {})
    with pytest.raises(TypeError, match=r"got a Mechanism; it comes after"):
        ib.reconstruct(ib.catalog.uniform(Q, 1), [1, 2])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: ib.count(0.5, 20),
            "count takes 1 in order (maximum), and outputs by name, got 2; such as",
        ),
        (lambda: ib.count(), "count needs maximum; such as ib.count(20)"),
        (lambda: ib.interval(0, 1), "interval needs sensitivity and cells; such as ib.interval"),
        (lambda: ib.optimal(Q), "optimal needs epsilon; such as ib.optimal(ib.count(20), epsilon=0.5)"),
        (lambda: ib.optimal(Q, 1, epsilon=1), "optimal takes epsilon once, got it in order and by name"),
        (lambda: ib.optimal(Q, eps=1), "got 'eps'; did you mean 'epsilon'?"),
        (lambda: ib.compare(Q, 1, loss="absolute"), "got 'loss'; did you mean 'losses'?"),
        (lambda: ib.median(1), "median needs high; such as ib.median(1, 5, size=25)"),
        (lambda: ib.release(), "release needs plan; such as ib.release('plan.toml')"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_an_example(ask, words):
    with pytest.raises(TypeError, match=re.escape(words)):
        ask()


def test_examples_in_refusals_are_calls_that_work():
    """Those that need nothing but the package."""
    for ask in (ib.count, ib.total, ib.mean, ib.extreme, ib.ordinal, ib.interval, ib.category, ib.median, ib.quantile):
        with pytest.raises(TypeError) as refused:
            ask()
        assert eval(str(refused.value).partition("such as ")[2], {"ib": ib}) is not None


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


def test_a_decimal_comma_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"epsilon must be a finite number .* got '1,5'; write a decimal point"):
        ib.optimal(Q, "1,5")


@pytest.mark.parametrize("name", ["by", "epsilon", "size"])
def test_what_belongs_into_a_plan_is_not_an_argument_of_a_release(name):
    with pytest.raises(TypeError, match=f"got '{name}'; such as .*; groups, statistics and epsilon belong into the"):
        ib.release({}, **{name: 1})

"""Wrong types and misspelt names end in our own words, with what was probably meant."""

import inspect
import re
from types import FunctionType

import numpy as np
import pandas
import pytest

import inbounds as ib
from inbounds.curator.client import Client


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


ROOMS = {
    "ib": (ib, ib.__all__),
    "ib.catalog": (ib.catalog, ib.catalog.__all__),
    "ib.local": (ib.local, ib.local.__all__),
    "ib.accounting": (ib.accounting, ib.accounting.__all__),
    "ib.attack": (ib.attack, ib.attack.__all__),
    **{f"ib.{room}": (getattr(ib, room), ()) for room in ("priors", "promise", "distance")},
}


def functions_of(room, names):
    """Those that its list of names holds; without one, those that are its own."""
    found = names or [name for name, value in vars(room).items() if getattr(value, "__module__", "") == room.__name__]
    named = {name: getattr(room, name) for name in found if not name.startswith("_")}
    return {name: function for name, function in named.items() if isinstance(function, FunctionType)}


PUBLIC = {f"{at}.{name}": function for at, room in ROOMS.items() for name, function in functions_of(*room).items()}

MECHANISM = ib.catalog.truncated_geometric(ib.count(20), "0.5")
QUANTILE = ib.median(1, 5, size=9)
METHODS = {
    ib.Mechanism: "sample randomise simulate loss worst_loss posterior best_guess credible_set remap bayes_loss "
    "coverage regret followed_by exact_loss save bias variance rmse truth_probability properties effective_epsilon",
    ib.QuantileMechanism: "sample sample_histograms expecting expected_error best_guess credible_set save",
    ib.Ledger: "__init__ open create_people raise_budget about charge find has store answered verify",
    ib.Collector: "__init__ add add_counts merge",
    Client: "describe preview ask answer mechanism exposure",
    type(MECHANISM.exactly): "loss worst_loss bias variance bayes_loss",
    type(ib.compose(MECHANISM)): "epsilon delta curve",
    type(ib.multilevel(ib.count(2), [1])): "level joint sample simulate save",
}
CALLED = PUBLIC | {
    f"{kind.__name__}.{name}": getattr(kind, name) for kind, names in METHODS.items() for name in names.split()
}


def needed(function):
    """The arguments that a call must give."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    taken = inspect.signature(function).parameters.values()
    return [p.name for p in taken if p.default is p.empty and p.kind in kinds]


def refused(function, *args, **named):
    with pytest.raises(TypeError) as refusal:
        function(*args, **named)
    return str(refusal.value)


def test_the_walk_over_what_is_public_finds_it():
    assert {"ib.optimal", "ib.catalog.uniform", "ib.local.plan", "ib.priors.normal", "ib.promise.within"} <= {*PUBLIC}
    assert len(PUBLIC) > 100


@pytest.mark.parametrize("name", CALLED)
def test_whatever_is_public_says_what_is_missing_with_an_example(name):
    function, missing = CALLED[name], needed(CALLED[name])
    of_a_value = name not in PUBLIC and name != "Ledger.open"  # a method, of the object that is its first argument
    if missing[of_a_value:]:
        said = refused(function, *[None] * of_a_value)
        assert re.search(rf" needs {' and '.join(missing[of_a_value:])}; such as [a-z]+\.", said), said


@pytest.mark.parametrize("name", CALLED)
def test_whatever_is_public_refuses_a_name_that_it_does_not_know(name):
    """Those that pass names on say what is missing instead, or are refused by whom they pass them to."""
    said = refused(CALLED[name], no_such_name=1)
    assert "no_such_name" in said or "needs" in said, said
    assert "argument" not in said.replace("no arguments", ""), said


def test_the_object_before_a_methods_dot_is_no_argument():
    assert refused(MECHANISM.sample, 1, 2) == "sample takes 1 in order (answers), got 2; such as mechanism.sample(7)"
    assert refused(MECHANISM.loss, x=1).startswith("loss takes loss, prior, got 'x'")
    assert refused(MECHANISM.bias, 1) == "bias takes none in order, got 1; such as mechanism.bias()"
    assert refused(ib.Collector) == "Collector needs mechanism; such as ib.Collector(mechanism)"


def test_errors_of_the_function_itself_stay_as_they_are():
    def family(query, epsilon):
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        ib.compare(ib.count(3), 1, also={"mine": family})


NEED_MORE = ("json", "toml", "table", "token", "connect", "collector", "reports", "monday", "Fraction", "cost", "half")
TAKE_LONG = (
    "central",
    "compare",
    "epsilon_for",
    "recommend",
    "allowed",
    "enumerated",
    "each_kind",
    "learned",
    "narrow",
)


def test_examples_in_refusals_are_calls_that_work():
    """Those that need nothing but the package and a mechanism, and take no time."""
    known = {"ib": ib, "mechanism": MECHANISM, "another": MECHANISM, "matrix": MECHANISM.matrix}
    known |= {"query": ib.interval(-10, 10, 10, 40)}
    examples = {refused(function, no_such_name=1).rpartition("such as ")[2] for function in PUBLIC.values()}
    tried = [each for each in examples if not any(word in each for word in NEED_MORE + TAKE_LONG)]
    assert len(tried) > 60
    for example in tried:
        assert eval(example, dict(known)) is not None


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: ib.choose(1, QUANTILE),
            "query must be a quantile .* got 1; epsilon holds one, so the two are swapped",
        ),
        (lambda: ib.choose(Q, 1), "query must be a quantile .* got <count.*; ib.optimal is for other questions"),
        (lambda: ib.permute_and_flip(Q, 1), "query must be a quantile .* ib.optimal is for other questions"),
        (lambda: ib.central_records(1, QUANTILE), "query must be a quantile .* the two are swapped"),
        (lambda: ib.optimal(QUANTILE, 1), "query must be a question .* ib.choose is for quantiles"),
        (
            lambda: ib.optimal(MECHANISM, 1),
            "query must be a question .* got Mechanism; mechanism.query is its question",
        ),
        (lambda: ib.compare(MECHANISM), "query must be .* mechanisms in a list .* got Mechanism; put it into a list"),
        (lambda: ib.catalog.exponential(1, Q), "got 1; epsilon holds one, so the two are swapped"),
        (lambda: ib.catalog.prerounded_geometric(Q, [0, 2, 4], 1), "edges must be a list, .* the two are swapped"),
        (lambda: ib.local.label_mechanism(1, Q), "query must be a question .* the two are swapped"),
        (
            lambda: ib.local.plan(1, Q, reports=9),
            "query must be ib.ordinal.* epsilon holds one, so the two are swapped",
        ),
        (lambda: ib.multilevel([1], Q), "query must be a question .* epsilons holds one, so the two are swapped"),
        (lambda: ib.priors.normal(2, Q, 1), "query must be a question .* mean holds one, so the two are swapped"),
        (lambda: ib.refines(Q, MECHANISM), "finer must be a mechanism .* got <count.*; ib.optimal makes one of a ques"),
        (lambda: ib.closer(MECHANISM, "m.json"), "second must be a mechanism .* got str; ib.load reads a passport"),
        (lambda: ib.attack.posterior([1], MECHANISM), "mechanism must be .* reports holds one, so the two are swapped"),
        (lambda: ib.compose(10, MECHANISM), "mechanisms must be a mechanism or a list .* times holds one"),
        (lambda: ib.compose([Q]), "each of the mechanisms must be a mechanism"),
        (
            lambda: ib.unbiased_sum(MECHANISM, [1, 2]),
            "published must be a list, .* mechanism holds one, so the two are",
        ),
        (
            lambda: ib.compare_quantiles(QUANTILE),
            "mechanisms must be a dictionary .* ib.choose makes one of a quantile",
        ),
        (lambda: ib.epsilon_for(Q, 3), "promise must be a promise such as ib.promise.within"),
        (lambda: ib.load(MECHANISM), "path must be a path such as .* got Mechanism; mechanism.save.path. writes one"),
        (lambda: ib.load_quantile(3), "path must be a path such as 'm.json', got 3"),
        (lambda: ib.verify(MECHANISM), "path must be a path"),
        (lambda: MECHANISM.save(3), "path must be a path"),
        (lambda: ib.tree(3), "parents must be a dictionary"),
        (lambda: ib.graph(3), "answers must be a list"),
        (lambda: ib.category(Q), "labels must be a list of labels, or how many"),
        (lambda: ib.Ledger("budget.db"), "store must be an open store, got str; ib.Ledger.open opens a file"),
        (lambda: ib.Ledger.open(3), "place must be a path or a postgresql:// URL, got 3"),
        (lambda: ib.reconstruct([1, 2], Q), "mechanism must be a mechanism"),
        (
            lambda: MECHANISM.simulate(np.random.default_rng(0), 7),
            "rng must be a generator .* answers holds one, so the",
        ),
    ],
)
def test_what_is_of_another_kind_is_told_what_it_must_be(ask, words):
    with pytest.raises(TypeError, match=words):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: ib.local.randomize(MECHANISM, "age", data),
        lambda data: ib.local.randomizer(data),
        lambda data: ib.local.privacy(data),
        lambda data: MECHANISM.simulate(np.random.default_rng(0), data),
        lambda data: ib.optimal([data], 1),
    ],
)
@pytest.mark.parametrize(
    "data", [4711, "4711", [4711], pandas.DataFrame({"age": [4711]})], ids=lambda d: type(d).__name__
)
def test_no_refusal_repeats_what_may_be_a_true_answer(ask, data):
    with pytest.raises(TypeError) as refusal:
        ask(data)
    assert "4711" not in str(refusal.value)


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

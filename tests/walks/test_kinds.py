"""Arguments of the wrong kind are refused where they are given; misspelt names with what was probably meant."""

import numpy as np
import pandas
import pytest

import inbounds as ib
from raising import rejects

Q = ib.count(3)
MECHANISM = ib.catalog.truncated_geometric(ib.count(20), "0.5")
QUANTILE = ib.median(1, 5, size=9)
FRAME = pandas.DataFrame({"age": [4711]})


@pytest.mark.parametrize(
    "ask",
    [
        lambda query: ib.recommend(query, 1),
        lambda query: ib.certify([[1.0]], query, 1),
        lambda query: ib.audit([[1.0]], query),
        lambda query: ib.calibrate_epsilon(query, ib.goals.within(2, 0.9)),
        lambda query: ib.priors.normal(query, 2, 1),
        lambda query: ib.make_chain(query, [1]),
        lambda query: ib.local.best_label_mechanism(query, 1),
        *(
            lambda query, name=name: getattr(ib.catalog, name)(query, 1)
            for name in ("uniform", "exponential", "truncated_geometric", "explicit_fair", "snapped_laplace")
        ),
    ],
)
@pytest.mark.parametrize("query", [20, "count", None, MECHANISM, QUANTILE], ids=lambda query: type(query).__name__)
def test_what_is_no_query_is_refused(ask, query):
    with rejects(TypeError, "query"):
        ask(query)


@pytest.mark.parametrize("query", [20, "count", None, MECHANISM], ids=lambda query: type(query).__name__)
def test_the_designer_takes_queries_of_every_kind_and_nothing_else(query):
    assert ib.optimal(Q, 1).query == Q
    assert ib.optimal(QUANTILE, 1).query == QUANTILE
    with rejects(TypeError, "query"):
        ib.optimal(query, 1)


@pytest.mark.parametrize("family", ["design_quantile", "design_permute_flip", "design_sided", "design_central"])
@pytest.mark.parametrize("query", [1, Q], ids=lambda query: type(query).__name__)
def test_what_is_no_quantile_is_refused(family, query):
    with rejects(TypeError, "query"):
        getattr(ib, family)(query, 1)


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: ib.compare(1, Q), "query"),
        (lambda: ib.compare(MECHANISM), "query"),
        (lambda: ib.local.plan_collection(1, Q, reports=9), "query"),
        (lambda: ib.check_refinement(Q, MECHANISM), "finer"),
        (lambda: ib.compare_closeness(MECHANISM, "m.json"), "second"),
        (lambda: ib.is_derivable(Q), "mechanism"),
        (lambda: ib.attack.posterior([1], MECHANISM), "mechanism"),
        (lambda: ib.compose([Q]), "each of the mechanisms"),
        (lambda: ib.reconstruct([1, 2], Q), "mechanism"),
        (lambda: ib.reconstruct(MECHANISM, [1, 2]), "reports"),
        (lambda: ib.compose(ib.optimal(QUANTILE, 1)), "each of the mechanisms"),
        (lambda: ib.calibrate_epsilon(Q, 3), "promise"),
        (lambda: ib.tree(3), "parents"),
        (lambda: ib.local.plan_survey(["vote"], 1, reports=9), "attributes"),
        (lambda: MECHANISM.simulate(7, 0), "rng"),
        (lambda: MECHANISM.simulate(np.random.default_rng(0), 7), "rng"),
        (lambda: ib.catalog.exponential(Q, [1]), "epsilon"),
        (lambda: ib.release(FRAME, {}), "plan"),
        (lambda: ib.Ledger("budget.db"), "store"),
    ],
)
def test_what_is_of_another_kind_is_refused_by_the_name_of_the_argument(ask, name):
    with rejects(TypeError, name, about="must be"):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ib.load(3),
        lambda: ib.load(MECHANISM),
        lambda: ib.accounting.load_record(3),
        lambda: ib.verify(MECHANISM),
        lambda: ib.verify(3),
        lambda: MECHANISM.save(3),
        lambda: ib.Ledger.open(3),
    ],
)
def test_what_is_no_path_is_never_opened(ask):
    """An int would be a file that happens to be open."""
    with pytest.raises(TypeError):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: ib.local.randomize(MECHANISM, "age", data),
        lambda data: ib.local.make_randomizer(data),
        lambda data: ib.local.local_guarantee(data),
        lambda data: ib.attack.posterior(data, [1]),
        lambda data: MECHANISM.simulate(np.random.default_rng(0), data),
        lambda data: ib.optimal([data], 1),
    ],
)
@pytest.mark.parametrize("data", [4711, "4711", [4711], FRAME], ids=lambda data: type(data).__name__)
def test_no_refusal_repeats_what_may_be_a_true_answer(ask, data):
    with pytest.raises(TypeError) as refusal:
        ask(data)
    assert "4711" not in str(refusal.value)


@pytest.mark.parametrize("token", ["a secret", b"a secret", None])
def test_swapped_arguments_of_connect_never_show_the_token(token):
    with pytest.raises((ValueError, TypeError)) as refusal:
        ib.connect(token, "http://127.0.0.1:8400")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "ask", [lambda p: ib.optimal(ib.count(3), 1, properties=p), lambda p: ib.recommend(ib.count(3), 1, p)]
)
def test_a_bare_property_is_no_list(ask):
    with pytest.raises(TypeError):
        ask("fair")


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: ib.optimal(ib.count(3), 1, properties=["fiar"]), "fair"),
        (lambda: ib.optimal(ib.count(3), 1, "sqared"), "squared"),
        (lambda: ib.optimal(ib.count(3), 1, aim="worts"), "worst"),
        (lambda: ib.compare(ib.count(3), 1).best("trut"), "truth"),
        (lambda: ib.calibrate_epsilon(ib.count(3), ib.goals.average("absolute", 1), "explicit_fiar"), "explicit_fair"),
    ],
)
def test_a_misspelt_name_is_answered_with_what_was_probably_meant(ask, meant):
    with rejects(ValueError, about=f"mean '{meant}'"):
        ask()


def test_a_decimal_comma_is_refused_with_the_way_out():
    with rejects(ValueError, "epsilon", about="comma"):
        ib.optimal(Q, "1,5")

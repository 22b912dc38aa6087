"""Composition: sums, tight values, exact enumeration, and the record of a release."""

import json
import math
import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from envelopes import wrap
from inbounds import files
from inbounds.accounting import Composition, CompositionRecord, compose, enumerate_losses, load_record, max_answers
from inbounds.accounting.composition_record import composition_from_document as read_record
from inbounds.accounting.composition_record import format_upper_bound
from inbounds.accounting.pairs import neighbouring_pairs
from inbounds.errors import PassportError, TooLarge, UnknownVersion
from inbounds.mechanism import passport as passports
from inbounds.mechanism.laws import Matrix
from raising import rejects

SMALL = {
    "geometric": ib.catalog.truncated_geometric(ib.count(6), "0.5"),
    "fair": ib.catalog.explicit_fair(ib.count(5), "0.7"),
    "exponential": ib.catalog.exponential(ib.count(6), 1),
    "laplace on extremes": ib.catalog.snapped_laplace(ib.extreme(1, 5), "0.8"),
    "response": ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1),
    "metric": ib.catalog.truncated_geometric(ib.ordinal(0, 4), "0.6"),
    "mean": ib.catalog.truncated_geometric(ib.mean(2, 0, 2), "0.9"),
}
DELTAS = ("1e-9", "1e-6", "1e-3", "0.05")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("k", [1, 3, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 4))])
def test_tight_lies_between_the_exact_enumeration_and_the_sum(name, k):
    """Same question, up to four answers, at most seven outputs: pessimistic, yet never worse than adding up."""
    total = compose(SMALL[name], k, same_question=True)
    exact = enumerate_losses(total)
    for delta in DELTAS:
        assert exact.epsilon(delta) <= total.epsilon(delta) <= float(total.basic)
    for share in (0, 0.25, 0.5, 0.75, 0.95, 1):
        epsilon = Fraction(share) * total.basic
        assert exact.delta(epsilon) <= total.delta(epsilon) + 1e-30
        assert total.delta(epsilon) <= float(exact.delta(epsilon)) + 1e-4


@pytest.mark.parametrize("name", ["fair", "exponential", "metric"])
def test_any_questions_are_covered_by_the_default(name):
    """Each of two answers may meet a pair of neighbours of its own; the default bounds every combination."""
    total = compose(SMALL[name], 2)
    exact = enumerate_losses(total)
    for delta in DELTAS:
        assert exact.epsilon(delta) <= total.epsilon(delta) <= float(total.basic)


@pytest.mark.parametrize("name", SMALL)
def test_answers_to_the_same_question_reveal_no_more_than_any_answers(name):
    same, any_ = (compose(SMALL[name], 3, same_question=s) for s in (True, False))
    for delta in DELTAS:
        assert same.epsilon(delta) <= any_.epsilon(delta) * (1 + 1e-9)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=3, max_size=4), st.integers(1, 3))
def test_random_matrices_keep_the_order_of_exact_tight_and_sum(rows, k):
    """Any certified matrix: exact enumeration <= tight <= k · epsilon."""
    matrix = np.array(rows, dtype=float)
    query = ib.count(2, outputs=[(-1, 3)] if len(rows) == 1 else len(rows))
    m = ib.certify(matrix / matrix.sum(axis=0), query, 5)
    for same in (True, False):
        total = compose(m, k, same_question=same)
        assert enumerate_losses(total).epsilon("0.001") <= total.epsilon("0.001") <= 5 * k


def test_the_enumeration_is_the_definition():
    """delta = max over neighbours of sum over output sequences of max(0, p - e^eps q), summed one by one."""
    m, epsilon = SMALL["exponential"], Fraction(1)
    found = enumerate_losses(compose(m, 3, same_question=True)).delta(epsilon)
    by_hand = 0.0
    for j, k in neighbouring_pairs(m.query):
        p, q = m.matrix[:, j], m.matrix[:, k]
        sequences = product(range(len(p)), repeat=3)
        by_hand = max(by_hand, sum(max(0.0, math.prod(p[list(s)]) - math.e * math.prod(q[list(s)])) for s in sequences))
    assert float(found) == pytest.approx(by_hand, rel=1e-10)


@pytest.mark.parametrize("name", SMALL)
def test_epsilon_and_delta_of_an_enumeration_are_inverse(name):
    exact = enumerate_losses(compose(SMALL[name], 2, same_question=True))
    for delta in ("0.001", "0.02"):
        epsilon = exact.epsilon(delta)
        if epsilon > 0:
            assert float(exact.delta(repr(epsilon))) == pytest.approx(float(delta), rel=1e-6)


def optimal_composition(epsilon: float, k: int, i: int) -> tuple[float, float]:
    """(k - 2i)·epsilon and its delta for k copies of e^eps : 1 against 1 : e^eps (Kairouz, Oh, Viswanath)."""
    terms = [math.comb(k, s) * (math.exp((k - s) * epsilon) - math.exp((k - 2 * i + s) * epsilon)) for s in range(i)]
    return (k - 2 * i) * epsilon, sum(terms) / (1 + math.exp(epsilon)) ** k


@pytest.mark.parametrize("k", [5, 20, pytest.param(60, marks=pytest.mark.slow)])
def test_geometric_answers_compose_as_the_optimal_theorem_says(k):
    """Any two neighbouring columns of the geometric mechanism are randomized response, whose law is known."""
    total = compose(SMALL["geometric"], k, same_question=True)
    for i in range(1, k // 2):
        epsilon, delta = optimal_composition(0.5, k, i)
        found = total.delta(repr(epsilon))
        assert delta * (1 - 1e-9) <= found <= delta * (1 + 1e-6)


@pytest.mark.parametrize("name", ["exponential", "laplace on extremes"])
def test_tight_values_agree_with_the_accountants_own_construction(name):
    """dp-accounting builds the privacy-loss distribution of each pair by itself, rounding every loss up."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    m, worst = SMALL[name], 0.0
    for j, k in neighbouring_pairs(m.query):
        upper, lower = (dict(enumerate(np.log(m.matrix[:, x]).tolist())) for x in (j, k))
        one = pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=1e-4)
        worst = max(worst, one.self_compose(10).get_epsilon_for_delta(1e-6))
    found = compose(m, 10, same_question=True).epsilon("1e-6")
    assert worst - 10 * 1e-4 <= found <= worst + 1e-6


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", 8])
def test_very_small_and_large_epsilons_keep_the_order(epsilon):
    total = compose(ib.catalog.exponential(ib.count(3), epsilon), 3, same_question=True)
    exact = enumerate_losses(total)
    for delta in ("1e-7", "1e-4"):
        assert exact.epsilon(delta) <= total.epsilon(delta) <= float(total.basic)


def test_counts_too_large_for_a_matrix_compose_as_randomized_response():
    """What any epsilon-private mechanism is dominated by stands in for columns that are not written out."""
    large = compose(ib.catalog.truncated_geometric(ib.count(10**6), "0.5"), 20)
    small = compose(SMALL["geometric"], 20)
    assert large.epsilon("1e-6") == pytest.approx(small.epsilon("1e-6"), rel=1e-6)


def test_different_mechanisms_compose_in_either_order():
    a, b = SMALL["geometric"], ib.catalog.exponential(ib.count(6), "0.3")
    one, other = compose([a, b], [2, 3]), compose([b, a], [3, 2])
    assert one.basic == other.basic == Fraction(19, 10)
    assert one.epsilon("1e-6") == pytest.approx(other.epsilon("1e-6"), rel=1e-9)
    exact = enumerate_losses(compose([a, b], [1, 2], same_question=True)).epsilon("1e-6")
    assert exact <= compose([a, b], [1, 2], same_question=True).epsilon("1e-6")


def test_a_count_and_a_maximum_about_the_same_people_compose():
    both = compose([SMALL["geometric"], SMALL["laplace on extremes"]], 5)
    assert both.epsilon("1e-6") < float(both.basic) == 6.5


def test_the_curve_falls_from_epsilon_zero_to_the_sum():
    epsilons, deltas = compose(SMALL["exponential"], 6).curve(20)
    assert (np.diff(deltas) <= 0).all()
    assert 0 < deltas[0] < 1
    assert deltas[-1] == 0.0
    assert epsilons[-1] == 6.0


@pytest.mark.parametrize("delta", ["1e-15", "1e-40", "1e-300", "1e-900"])
def test_no_delta_is_too_small(delta):
    """Also where a float of it would be 0; the smaller delta never has the smaller epsilon."""
    total = compose(SMALL["exponential"], 30)
    assert total.epsilon("1e-14") < total.epsilon(delta) <= float(total.basic)
    assert compose(SMALL["exponential"], 5).epsilon(delta) == pytest.approx(5 * SMALL["exponential"].tight_epsilon())


def test_a_delta_below_all_floats_is_rounded_up_to_the_least_of_them():
    total = compose(ib.catalog.truncated_geometric(ib.count(6), "0.001"), 2000)
    assert total.delta("1.99") == 5e-324
    assert total.delta(2) == 0.0


def test_a_delta_is_a_probability():
    for epsilon, times in ((20, 3), (8, 40), (64, 2)):
        total = compose(ib.catalog.randomized_response(ib.category(["a", "b"]), epsilon), times)
        assert 1 - 1e-3 < total.delta(0) <= 1


@pytest.mark.parametrize("name", ["geometric", "exponential"])
def test_a_budget_allows_as_many_answers_as_fit_and_not_one_more(name):
    m, budget, delta = SMALL[name], 4, "1e-3"
    k = max_answers(m, budget, delta)
    assert k >= max_answers(m, budget) == math.floor(budget / m.epsilon)
    assert compose(m, k).epsilon(delta) <= budget < compose(m, k + 1).epsilon(delta)


def test_a_budget_below_one_answer_allows_none():
    assert max_answers(SMALL["geometric"], "0.25") == max_answers(SMALL["geometric"], "0.25", "1e-6") == 0


@pytest.mark.parametrize("times", [0, -1, 1.5])
def test_the_number_of_answers_must_be_positive(times):
    with rejects(ValueError, "times"):
        compose(SMALL["geometric"], times)


@pytest.mark.parametrize("delta", [0, 1, -0.5, 2, "nan"])
def test_delta_must_lie_between_zero_and_one(delta):
    with rejects(ValueError, "delta"):
        compose(SMALL["geometric"], 2).epsilon(delta)


def test_mechanisms_without_a_common_neighbourhood_are_refused():
    with rejects(ValueError, "mechanisms", about="neighbourhood"):
        compose([SMALL["geometric"], SMALL["metric"]])
    with rejects(ValueError, about="neighbourhood"):
        compose([SMALL["geometric"], SMALL["fair"]], same_question=True)


def test_odd_requests_are_refused():
    with rejects(ValueError, about="mechanism"):
        compose([])
    with rejects(ValueError, about="times"):
        compose([SMALL["fair"]], [1, 2])
    with rejects(ValueError, about="apart"):
        compose(ib.catalog.truncated_geometric(ib.ordinal(0, 4, unit="1/2"), 1)).epsilon("1e-6")
    with rejects(TooLarge, about="answers"):
        enumerate_losses(compose(SMALL["geometric"], 40, same_question=True))
    with rejects(ValueError, "epsilon"):
        compose(SMALL["fair"]).delta(-1)


def test_composition_needs_no_extra():
    """Neither the sum nor the tight value loads an accountant, or scipy."""
    code = "import sys, inbounds as ib; ib.compose(ib.catalog.explicit_fair(ib.count(5), 1), 30).epsilon('1e-9'); "
    code += "print([m for m in ('scipy', 'dp_accounting') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_attacks_loads_no_solver_and_no_accountant():
    heavy = ("scipy", "dp_accounting", "matplotlib")
    code = f"import sys, inbounds.attack; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the record of a release ------------------------------------------------------------------------------


def test_a_mechanism_released_twice_states_the_composed_guarantee(tmp_path):
    twice = CompositionRecord.from_composition(compose(SMALL["exponential"], 2), "1e-3")
    twice.save(tmp_path / "composition.json")
    content = json.loads((tmp_path / "composition.json").read_text("utf-8"))["content"]
    assert content["basic_epsilon"] == "2"
    assert content["members"][0]["sha256"] == passports.to_passport(SMALL["exponential"]).sha256
    assert content["members"][0]["times"] == 2
    assert "2 answers about the same people are together 2-private" in content["statement"]
    back = load_record(tmp_path / "composition.json")
    assert (back.basic, back.epsilon, back.delta) == (twice.basic, twice.epsilon, twice.delta)
    assert back.composition.mechanisms == twice.composition.mechanisms
    assert back.epsilon < 2


def test_a_record_of_one_answer_speaks_of_one():
    once = CompositionRecord.from_composition(compose(SMALL["exponential"], 1), "1e-3")
    assert str(once).startswith("1 answer about the same people is 1-private, and (")


def test_a_record_that_says_more_than_its_mechanisms_is_refused(tmp_path, golden):
    """Even with a digest that fits: what is written is computed again."""

    def load(change):
        record = CompositionRecord.from_composition(compose(SMALL["exponential"], 2), "1e-3").to_document()
        forged = wrap(files.COMPOSITION, change(record.content))
        (tmp_path / "r.json").write_text(json.dumps(forged), "utf-8")
        load_record(tmp_path / "r.json")

    golden.errors(
        "wrong_compositions",
        [
            lambda: load(lambda c: c | {"epsilon_at_delta": "0.5"}),
            lambda: load(lambda c: c | {"basic_epsilon": "1"}),
            lambda: load(lambda c: c | {"statement": "perfectly private"}),
            lambda: load(lambda c: c | {"members": [{**c["members"][0], "times": 1}]}),
            lambda: load(lambda c: c | {"members": [{**c["members"][0], "times": 0}]}),
            lambda: load(lambda c: c | {"members": []}),
            lambda: load(lambda c: c | {"delta": "0"}),
            lambda: load(lambda c: c | {"same_question": "no"}),
            lambda: load(lambda c: c | {"format": "inbounds/mechanism"}),
        ],
    )


@pytest.mark.parametrize("share", [0.5, 1 - 1e-6, 1 + 1e-6, 100.0])
def test_a_record_with_an_epsilon_of_its_own_choice_is_refused_unless_it_is_true(tmp_path, share):
    """Statement and digest are made to fit: less than the answers have is a lie, more than the sum is no promise."""
    true = CompositionRecord.from_composition(compose(SMALL["exponential"], 2), "1e-3")
    chosen = CompositionRecord(true.composition, true.delta, true.epsilon * share)
    chosen.save(tmp_path / "r.json")
    if true.epsilon <= chosen.epsilon <= float(true.basic):
        assert load_record(tmp_path / "r.json").epsilon == chosen.epsilon
    else:
        with rejects(PassportError, about="mechanisms"):
            load_record(tmp_path / "r.json")


def test_a_record_with_another_digest_or_version_is_refused(tmp_path):
    content = CompositionRecord.from_composition(compose(SMALL["fair"], 2), "1e-3").to_document().to_json()
    changed = {**content["content"], "delta": "1/2"}
    (tmp_path / "a.json").write_text(json.dumps(content | {"content": changed}), "utf-8")
    (tmp_path / "b.json").write_text(json.dumps(content | {"version": 9}), "utf-8")
    (tmp_path / "c.json").write_text("{", "utf-8")
    with rejects(PassportError, about="digest"):
        load_record(tmp_path / "a.json")
    with pytest.raises(UnknownVersion):
        load_record(tmp_path / "b.json")
    with rejects(PassportError, about="JSON"):
        load_record(tmp_path / "c.json")


@given(st.floats(1e-6, 1e3))
def test_printed_epsilons_are_rounded_up(value):
    assert value <= float(format_upper_bound(value)) <= value * (1 + 1.1e-5)


# --- the command line -------------------------------------------------------------------------------------


@pytest.mark.long
def test_compose_prints_saves_and_draws(inbounds, tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    SMALL["geometric"].save(first)
    ib.catalog.exponential(ib.count(6), "0.3").save(second)
    words = ["compose", str(first), str(second), "--times", "2", "--delta", "1e-6"]
    done = inbounds(*words, "--out", str(tmp_path / "r.json"), "--figure", str(tmp_path / "c.png"))
    assert done.returncode == 0, done.stderr
    assert "4 answers about the same people are together 1.6-private" in " ".join(done.stdout.split())
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(inbounds(*words, "--json").stdout)
    record = load_record(tmp_path / "r.json")
    assert float(found["epsilon_at_delta"]) == record.epsilon
    assert found["rounds"][-1]["epsilon"] == pytest.approx(record.epsilon)
    assert found["basic_epsilon"] == "8/5"


def test_compose_counts_the_answers_of_a_budget(inbounds, tmp_path):
    SMALL["exponential"].save(tmp_path / "a.json")
    done = json.loads(
        inbounds("compose", str(tmp_path / "a.json"), "--budget", "4", "--delta", "1e-3", "--json").stdout
    )
    assert done["answers_allowed"] == {"basic": 4, "tight": max_answers(SMALL["exponential"], 4, "1e-3")}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--times", "0"], "times must be a whole number"),
        (["--delta", "1"], "delta must be above 0 and below 1"),
        (["--times", "1,2"], "one for each"),
    ],
)
def test_compose_refuses_odd_options_in_one_sentence(inbounds, tmp_path, words, reason):
    SMALL["fair"].save(tmp_path / "a.json")
    done = inbounds("compose", str(tmp_path / "a.json"), *words)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_composition_is_a_value():
    assert Composition((SMALL["fair"],), (2,)) == compose(SMALL["fair"], 2)


def test_an_epsilon_that_is_printed_and_given_back_is_still_an_upper_bound():
    """A float means the decimal it prints as, which may lie below the binary that it is."""
    for epsilon in ("0.17", "0.01", "0.48", "1/3"):
        for times in (1, 2, 3):
            together = ib.compose(ib.catalog.randomized_response(ib.count(1), epsilon), times)
            for delta in ("1e-100", "1e-30", "1e-6", "0.01"):
                assert together.delta(together.epsilon(delta)) <= float(delta) * (1 + 1e-9)
                assert Fraction(repr(together.epsilon(delta))) >= together.least(Fraction(delta))


def test_a_record_that_claims_a_little_less_is_read_as_what_is_true():
    together = ib.compose(ib.catalog.randomized_response(ib.count(1), "0.5"), 2)
    tight = together.epsilon("1e-30")
    found = read_record(CompositionRecord(together, Fraction("1e-30"), tight * (1 - 9e-10)).to_document())
    assert found.epsilon == tight


def test_answers_on_graphs_add_up_only_where_no_edge_costs_more_than_epsilon():
    def on(edges, **one_way):
        return ib.catalog.uniform(ib.graph(["a", "b", "c"], edges, **one_way), 1)

    near = on([("a", "b"), ("b", "c", "1/2")])
    for odd in (on([("a", "b", 3), ("b", "c")]), on([("b", "c")], one_way=[("a", "b")])):
        with rejects(ValueError, "mechanisms on a graph"):
            ib.compose(odd, 2)
    for other in (on([("a", "b"), ("a", "c")]), SMALL["fair"]):
        with rejects(ValueError, "mechanisms", about="neighbourhood"):
            ib.compose([near, other])
    assert ib.compose(near, 2).basic == 2


def test_two_answers_on_a_graph_are_composed_as_on_the_same_line():
    """A path of labels with edges 1 long is the line under the metric of its numbers."""
    line = ib.catalog.truncated_geometric(ib.ordinal(0, 3), 1)
    path = ib.graph(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "d")])
    same = ib.Mechanism(path, 1, Matrix(line.weights), line.origin)
    for times in (1, 2, 3):
        assert ib.compose(same, times).delta("0.5") == ib.compose(line, times).delta("0.5") > 0

"""Tilted convolution against the truth: never below it, hardly above it, at any delta."""

import math
import random
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from itertools import product

import pytest

import inbounds as ib
from inbounds.accounting import compose, epsilon_from_rho
from inbounds.accounting.dominating_pairs import AnswerGroup, Curve, dominating_pair, response_pair
from inbounds.accounting.tilted_convolution import TiltedPlan
from inbounds.directed_rounding import exp_above, log_above

SURE, FAINT = Curve((10, 1, 189), (1, 10, 189)), Curve((110, 90), (90, 110))
"""A pair that rarely tells much, and one that always tells a little: neither dominates the other."""

GEOMETRIC = ib.catalog.truncated_geometric(ib.count(60), "0.1")


Atoms = Sequence[tuple[Decimal, Decimal]]
"""The two probabilities of every outcome, under the first and under the second of two neighbours, to ninety digits."""

DIGITS = Context(prec=90, Emin=-(10**9), Emax=10**9)


def atoms_of(upper: Sequence[int], lower: Sequence[int]) -> Atoms:
    with localcontext(DIGITS):
        return [(Decimal(p) / sum(upper), Decimal(q) / sum(lower)) for p, q in zip(upper, lower, strict=True)]


def together(laws: Sequence[Atoms]) -> Atoms:
    """All outcomes of several answers, one by one."""
    with localcontext(DIGITS):
        return reduce(lambda x, y: [(a * c, b * d) for (a, b), (c, d) in product(x, y)], laws)


def repeated(atoms: Atoms, k: int) -> Atoms:
    """k answers of a mechanism with two outputs."""
    (a, b), (c, d) = atoms
    with localcontext(DIGITS):
        return [(math.comb(k, i) * a**i * c ** (k - i), math.comb(k, i) * b**i * d ** (k - i)) for i in range(k + 1)]


def true_delta(atoms: Atoms, ratio: Fraction) -> Decimal:
    """sum max(0, p - ratio·q)."""
    with localcontext(DIGITS):
        return sum((max(Decimal(0), p - decimal(ratio) * q) for p, q in atoms), Decimal(0))


def true_epsilon(atoms: Atoms, at: Fraction) -> Decimal:
    """The least epsilon at delta."""
    with localcontext(DIGITS):
        p = q = Decimal(0)
        crossing = Decimal(1)
        for a, b in sorted(atoms, key=lambda row: row[1] / row[0]):
            if q and (p - decimal(at)) * b >= a * q:
                break
            p, q = p + a, q + b
            crossing = (p - decimal(at)) / q
        return max(crossing, Decimal(1)).ln()


def decimal(value: Fraction) -> Decimal:
    with localcontext(DIGITS):
        return Decimal(value.numerator) / Decimal(value.denominator)


# --- bounds against the truth ---------------------------------------------------------------------------------


def held(plan: TiltedPlan, atoms: Atoms, delta: Fraction, excess: float) -> None:
    """The plan's epsilon at delta is the truth or above it by at most a share, and so is its delta there."""
    found, least = decimal(plan.epsilon(delta)), true_epsilon(atoms, delta)
    assert least <= found <= least * (1 + Decimal(excess)) + Decimal("1e-9")
    for share in (Fraction(1, 3), Fraction(9, 10)):
        epsilon = share * plan.basic
        with localcontext(DIGITS):
            assert true_delta(atoms, exp_above(epsilon)) <= decimal(plan.delta(epsilon)) * (1 + Decimal("1e-80"))


def one(upper: list[int], lower: list[int], times: int) -> AnswerGroup:
    """A part of one pair of columns, at the least epsilon it has."""
    largest = log_above(max(Fraction(p, q) for p, q in zip(upper, lower, strict=True)))
    return AnswerGroup((Curve(tuple(upper), tuple(lower)),), sum(upper), max(largest, Fraction(1, 10**9)), times)


def random_response(rng: random.Random) -> tuple[AnswerGroup, Fraction]:
    epsilon = Fraction(round(10 ** rng.uniform(-4, 1.2), 6)).limit_denominator(10**6)
    return response_pair(epsilon, int(10 ** rng.uniform(0, 3))), Fraction(1, 10 ** rng.randint(1, 40))


def check_responses(cases: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(cases):
        part, delta = random_response(rng)
        a, b = part.curves[0].upper
        held(TiltedPlan([part]), repeated(atoms_of((a, b), (b, a)), part.times), delta, 1e-8)


def test_randomized_response_is_met_to_eight_digits_down_to_delta_1e_40():
    check_responses(4, seed=1)


@pytest.mark.slow
def test_randomized_response_is_met_to_eight_digits_in_many_more_cases():
    check_responses(600, seed=2)


def columns(rng: random.Random, outputs: int) -> tuple[list[int], list[int]]:
    """Two columns of the same total: some ratios huge, some near one, some equal, some weights of a single unit."""
    total = 1 << rng.choice([8, 20, 62])
    found = []
    for _ in range(2):
        shares = [10 ** rng.uniform(-rng.choice([0.1, 3, 18]), 0) for _ in range(outputs)]
        weights = [max(1, int(total * s / sum(shares))) for s in shares]
        weights[weights.index(max(weights))] += total - sum(weights)
        found.append(weights)
    if rng.random() < 0.3:  # neighbours that hardly differ
        found[1] = [*found[0]]
        low, high = found[1].index(min(found[1])), found[1].index(max(found[1]))
        found[1][low], found[1][high] = found[1][low] + 1, found[1][high] - 1
    return found[0], found[1]


def check_pairs(cases: int, seed: int) -> None:
    """Two outputs many times, or more outputs a few times; deltas from a tenth to 10^-40."""
    rng = random.Random(seed)
    for case in range(cases):
        outputs = 2 if case % 2 else rng.randint(3, 5)
        upper, lower = columns(rng, outputs)
        if any(q <= 0 for q in (*upper, *lower)):
            continue
        k = int(10 ** rng.uniform(0, 2.3)) if outputs == 2 else rng.randint(1, 4)
        law = atoms_of(upper, lower)
        atoms = repeated(law, k) if outputs == 2 else together([law] * k)
        held(TiltedPlan([one(upper, lower, k)]), atoms, Fraction(1, 10 ** rng.randint(1, 40)), 1e-3)


def test_adversarial_pairs_are_never_below_the_truth():
    check_pairs(4, seed=3)


@pytest.mark.slow
def test_a_thousand_adversarial_pairs_are_never_below_the_truth():
    check_pairs(1200, seed=4)


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, *range(2, 12)))])
def test_different_mechanisms_are_met_by_brute_force(seed):
    """Up to six answers of different laws, every sequence of outputs summed one by one."""
    rng = random.Random(seed)
    laws = [columns(rng, rng.randint(2, 3)) for _ in range(rng.randint(2, 6))]
    laws = [law for law in laws if min(*law[0], *law[1]) > 0]
    atoms = together([atoms_of(*law) for law in laws])
    plan = TiltedPlan([one(upper, lower, 1) for upper, lower in laws])
    for delta in ("1e-2", "1e-6", "1e-12"):
        held(plan, atoms, Fraction(delta), 1e-3)


@pytest.mark.long
@pytest.mark.parametrize(("first", "second"), [("3.3", "2.7182"), ("7.1", "0.37"), ("12", "11.999"), ("1e-6", "20")])
def test_two_large_losses_meet_on_a_grid_fine_enough(first, second):
    parts = [response_pair(Fraction(first), 1), response_pair(Fraction(second), 1)]
    laws = [atoms_of((a, b), (b, a)) for a, b in (p.curves[0].upper for p in parts)]
    for delta in ("0.3", "1e-9"):
        held(TiltedPlan(parts), together(laws), Fraction(delta), 1e-3)


@pytest.mark.parametrize(("k", "delta", "epsilon"), [(1000, "1e-6", 19.3447), (1000, "1e-10", 24.4067)])
def test_a_thousand_counts_stay_tight_at_small_deltas(k, delta, epsilon):
    assert compose(GEOMETRIC, k).epsilon(delta) == pytest.approx(epsilon, abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(("k", "delta"), [(1000, "1e-6"), (1000, "1e-9"), (100, "1e-6")])
def test_the_accountant_agrees_on_a_fine_grid_where_it_is_tight(k, delta):
    """Two neighbouring columns of the geometric mechanism are randomized response: losses 0.1 and -0.1, on the grid."""
    from dp_accounting.pld import pld_pmf

    likely = math.exp(0.1) / (1 + math.exp(0.1))
    one = pld_pmf.create_pmf({1000: likely, -1000: 1 - likely}, 1e-4, 0.0, pessimistic_estimate=True)
    peer = one.self_compose(k).get_epsilon_for_delta(float(delta))
    assert compose(GEOMETRIC, k).epsilon(delta) == pytest.approx(peer, rel=1e-6)


def test_a_hundred_thousand_answers_at_delta_1e_15():
    """Above the Gaussian of the same mean and variance, which the sum is close to, and far below the sum."""
    total = compose(GEOMETRIC, 10**5)
    mean, deviation = 10**5 * 0.1 * math.tanh(0.05), math.sqrt(10**5) * 0.1
    assert mean + 7.5 * deviation < total.epsilon("1e-15") < mean + 8.5 * deviation


def test_no_worse_than_the_renyi_bound_and_the_sum():
    """The optimal conversion at any order, from the divergence of randomized response in closed form."""
    k, e, delta = 50, 0.7, 1e-12
    found = TiltedPlan([response_pair(Fraction("0.7"), k)]).epsilon(Fraction("1e-12"))
    for t in (0.5, 1, 2, 4, 8):
        divergence = k * math.log(math.cosh((t + 0.5) * e) / math.cosh(e / 2))
        peak = t * math.log(t) - (1 + t) * math.log1p(t)
        assert float(found) <= (divergence + peak - math.log(delta)) / t
    assert TiltedPlan([response_pair(Fraction("0.7"), 2)]).epsilon(Fraction(1, 10**40)) <= Fraction("1.4") + Fraction(
        1, 10**15
    )


def test_answers_chosen_as_one_goes_are_covered_where_fixed_answers_are_not_enough():
    """The best adversary picks the second pair of neighbours after the first answer: the value of the game."""
    laws = [atoms_of(c.upper, c.lower) for c in (SURE, FAINT)]
    plan = TiltedPlan([AnswerGroup((SURE, FAINT), 200, log_above(Fraction(10)), 2)])
    gained = []
    for epsilon in map(Fraction, ("0.1", "0.2", "0.3", "0.5", "1")):
        ratio = exp_above(epsilon)
        game = max(best_second_pair(law, laws, ratio) for law in laws)
        assert game <= decimal(plan.delta(epsilon)) <= game * Decimal("1.2")
        gained.append(game / max(true_delta(together(pair), ratio) for pair in product(laws, repeat=2)))
    assert max(gained) > Decimal("1.01")


def best_second_pair(first: Atoms, laws: Sequence[Atoms], ratio: Fraction) -> Decimal:
    """delta at e^epsilon = ratio when the second pair of neighbours is chosen after the first answer."""
    with localcontext(DIGITS):
        return sum((p * max(true_delta(law, ratio * Fraction(q / p)) for law in laws) for p, q in first), Decimal(0))


def test_one_mechanism_with_a_huge_and_unlikely_loss_is_covered():
    total = 1 << 62
    upper, lower = [total - 2**40, 2**40], [total - 1, 1]
    for k in (1, 30):
        atoms = repeated(atoms_of(upper, lower), k)
        for delta in ("1e-3", "1e-7", "1e-30"):
            held(TiltedPlan([one(upper, lower, k)]), atoms, Fraction(delta), 1e-3)


def test_a_large_loss_does_not_coarsen_the_grid_of_many_small_ones():
    """Paid as a pure promise where that costs less: never more than its epsilon beside the others alone."""
    small = TiltedPlan([response_pair(Fraction("0.001"), 10**5)])
    mixed = TiltedPlan([response_pair(Fraction(50), 1), response_pair(Fraction("0.001"), 10**5)])
    delta = Fraction(1, 10**9)
    assert small.epsilon(delta) < mixed.epsilon(delta) <= 50 + small.epsilon(delta) * Fraction(1001, 1000)
    assert mixed.delta(Fraction(51)) <= small.delta(Fraction(1)) * Fraction(1001, 1000)


def test_more_answers_than_any_window_holds_keep_the_renyi_bound():
    """10^11 answers at 10^-9 are concentrated with rho = 5e-8; no transform is longer for it."""
    found = TiltedPlan([response_pair(Fraction(1, 10**9), 10**11)]).epsilon(Fraction(1, 10**9))
    concentrated = epsilon_from_rho(5 * 10**7, Fraction(1, 10**9))
    assert concentrated * Fraction(7, 10) < found < concentrated * Fraction(101, 100)


def test_a_dominating_curve_is_found_only_where_there_is_one():
    weak, strong = Curve((3, 2, 1), (1, 2, 3)), Curve((5, 1), (1, 5))
    crossing = Curve((2, 4), (1, 5))
    assert dominating_pair([weak, strong]) == strong
    assert dominating_pair([Curve((20, 1), (1, 20)), Curve((9, 12), (2, 19))]) is not None
    assert dominating_pair([SURE, FAINT]) is None
    assert dominating_pair([crossing]) == crossing


@pytest.mark.long
@pytest.mark.parametrize(
    ("upper", "lower", "times"), [([237, 19], [236, 20], 197), ([32, 224], [33, 223], 79), ([255, 1], [252, 4], 10)]
)
def test_lopsided_pairs_compose_tightly(upper, lower, times):
    """A small largest loss beside one far below zero, which must keep its place on the grid."""
    atoms = repeated(atoms_of(upper, lower), times)
    held(TiltedPlan([one(upper, lower, times)]), atoms, Fraction(1, 10**5), 1e-3)

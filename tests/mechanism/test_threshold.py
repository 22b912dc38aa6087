"""Counts above a threshold: the check against all sets of outputs, the closed form, its sampler and its measures."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import inbounds as ib
from inbounds.errors import DeltaViolation, InvalidDistribution
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Threshold
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS, ratio_lower_bound
from inbounds.trusted.certify import sum_excess
from inbounds.trusted.threshold import check_threshold

CHOICES = [("1", "1/100"), ("1/2", "1/10"), ("3", "1/1000"), ("1/4", "1/4"), ("2", "4/5")]


def scaled(wide, narrow):
    """Whole weights in these proportions, 2**62 together."""
    unit = TOTAL // (sum(wide) + sum(narrow))
    tables = [np.array(table, dtype=np.int64) * unit for table in (wide, narrow)]
    tables[0][len(wide) // 2] += TOTAL - sum(int(table.sum()) for table in tables)
    return tables


def written_out(wide, narrow, counts):
    """Pr[report | count] as the definition says, in whole weights: no report first."""
    bound = len(wide) // 2
    rows = np.zeros((counts + bound + 1, counts), dtype=object)
    for n in range(counts):
        for table in (wide, narrow):
            for d, weight in enumerate(table.tolist(), start=-(len(table) // 2)):
                rows[n + d if n + d > len(table) // 2 else 0, n] += weight
    return rows


def least_delta(rows, epsilon):
    p, columns = ratio_lower_bound(epsilon, Fraction(1)), rows.T.tolist()
    pairs = [pair for n in range(len(columns) - 1) for pair in ((n, n + 1), (n + 1, n))]
    return Fraction(max(sum_excess(columns[j], columns[k], p) for j, k in pairs), TOTAL << EXP_BITS)


@pytest.mark.parametrize("seed", range(12))
def test_the_check_accepts_exactly_the_least_delta_of_the_law_written_out(seed):
    rng, k = np.random.default_rng(seed), 1 + seed % 4
    wide = rng.integers(0, 9, 2 * k + 1).tolist()
    narrow = rng.integers(0, 9, 2 * k - 1).tolist() if seed % 3 else []
    tables, epsilon = scaled([one + (n == k) for n, one in enumerate(wide)], narrow), Fraction(1 + seed, 5)
    least = least_delta(written_out(*tables, 2 * k + 5), epsilon)
    if least < 1:
        check_threshold(*tables, epsilon, least)
    if least > 0:
        with pytest.raises((DeltaViolation, InvalidDistribution)):
            check_threshold(*tables, epsilon, least - Fraction(1, TOTAL << EXP_BITS + 20))


def test_the_promise_holds_for_every_set_of_reports():
    epsilon, (wide, narrow) = Fraction(1, 2), scaled([1, 4, 1], [3])
    rows = written_out(wide, narrow, 5)
    ratio = Fraction(ratio_lower_bound(epsilon, Fraction(1)), 1 << EXP_BITS)
    sets = np.array([*product((0, 1), repeat=len(rows))], dtype=object) @ rows
    worst = max(int(S[j]) - ratio * int(S[k]) for S in sets for j, k in product(range(5), repeat=2) if abs(j - k) == 1)
    check_threshold(wide, narrow, epsilon, worst / TOTAL)
    with pytest.raises(DeltaViolation) as refused:
        check_threshold(wide, narrow, epsilon, worst / TOTAL - Fraction(1, 1 << 300))
    assert refused.value.needed == worst / TOTAL


@pytest.mark.parametrize(("epsilon", "delta"), CHOICES)
def test_no_private_law_reports_more_groups_up_to_twice_the_bound(epsilon, delta):
    made = ib.catalog.threshold(ib.count(300), epsilon, delta)
    ratio, most = Fraction(ratio_lower_bound(made.epsilon, Fraction(1)), 1 << EXP_BITS), Fraction(0)
    for persons in range(2 * made.law.bound):
        assert most * (1 - Fraction(1, 10**9)) <= made.law.chance(persons) <= most
        most = min(ratio * most + made.delta, 1 - (1 - most - made.delta) / ratio, Fraction(1))
    assert made.law.chance(0) == 0
    assert made.law.chance(2 * made.law.bound + 1) == 1


@pytest.mark.parametrize("size", [1, 3, 30])
def test_reports_follow_the_matrix_and_the_matrix_the_definition(size):
    wide, narrow = scaled([1, 2, 5, 2, 1], [1, 3, 1])
    made = Mechanism(ib.count(size), Fraction(2), Threshold(wide, narrow, Fraction(9, 10)), Origin("by hand"))
    unbounded = written_out(wide, narrow, size + 1)
    clamped = np.zeros((size + 1, size + 1), dtype=object)
    for report, row in enumerate(unbounded):
        clamped[min(report, size)] += row
    assert (made.weights == clamped.astype(np.int64)).all()
    assert np.allclose([made.law.likelihood(made.query, i) for i in range(size + 1)], made.matrix)
    # one block of draws for every 2**-12 of probability, all alike: the sampler's own shares
    words = (np.arange(1 << 12, dtype=np.uint64) << np.uint64(TOTAL_BITS - 12)) + np.uint64(1 << 49)
    for answer in range(size + 1):
        outputs = made.draw(np.full(len(words), answer), lambda count: words[:count])
        shares = np.bincount(outputs, minlength=size + 1) / len(words)
        assert np.abs(shares - made.matrix[:, answer]).max() < 16 / len(words)


def test_a_report_errs_as_the_noise_does_if_all_counts_are_equally_likely():
    made = ib.catalog.threshold(ib.count(200), "1/2", "1/100")
    at = np.arange(201)
    for report in (made.law.bound, made.law.bound + 1, 60, 100):
        posterior = made.law.likelihood(made.query, report)
        error = float(posterior @ np.abs(at - report) / posterior.sum())
        assert error <= made.law.mean_error() * (1 + 1e-9)
        if report > made.law.bound:
            assert error == pytest.approx(made.law.mean_error())


@pytest.mark.parametrize("query", [ib.total(4, 0, 1), ib.extreme(0, 4), ib.category(5), ib.count(4, outputs=2)])
def test_only_a_count_has_a_threshold(query):
    law = ib.catalog.threshold(ib.count(4), 1, "1/10").law
    with pytest.raises(InvalidDistribution):
        Mechanism(query, Fraction(1), law, Origin("by hand"))


@pytest.mark.parametrize("delta", [0, 1, -1, "1e-18", "3/2"])
def test_a_delta_that_cannot_be_kept_is_refused(delta):
    with pytest.raises(ValueError, match="delta"):
        ib.catalog.threshold(ib.count(10), 1, delta)

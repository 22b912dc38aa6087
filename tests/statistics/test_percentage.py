"""Percentages: a count divided by a public size, or the share of two counts that are drawn together."""

import json
import shutil
from fractions import Fraction
from hashlib import sha256
from itertools import product

import numpy as np
import pytest

import inbounds as ib
from envelopes import wrap
from inbounds.catalog.noise_tables import geometric_table
from inbounds.errors import PassportError
from inbounds.files import RELEASE
from inbounds.query import count
from inbounds.releases.pictures import _range
from inbounds.releases.pipeline import PlanError, preview_release, release
from inbounds.releases.recompute import check_release as check
from inbounds.schema.columns import number_column
from inbounds.statistics import Percentage, StatisticContext
from inbounds.statistics._mean_pair import mean_coverage, mean_expected_error, mean_pair, pair_query
from inbounds.statistics.percentage import MEETS, PAIR
from inbounds.statistics.sizes import certain_sizes, size_prior
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from raising import raises_at

pytest.importorskip("ibis")

SECRET = StatisticContext({}, public=False)


def weights_of(size, epsilon, statistic=None):
    """The probabilities of the reports of a count, in whole numbers: reports × answers."""
    query = count(size) if statistic is None else statistic.query(SECRET, size)
    return geometric_table(query, Fraction(epsilon)).law.matrix(query).astype(object)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(4)])
def test_one_record_moves_both_counts_by_no_more_than_epsilon_together(size, epsilon):
    """All tables of a size and one more, one record more or less, every pair of reports: in whole numbers."""
    law, p, worst = weights_of(size, epsilon, Percentage(condition="c = 1")), exp_lower_bound(epsilon), Fraction(0)

    def joint(met, others):
        return np.outer(law[:, min(met, size)], law[:, min(others, size)])

    for met, others in product(range(size + 2), repeat=2):
        for more in ((met + 1, others), (met, others + 1)):
            for one, other in ((joint(met, others), joint(*more)), (joint(*more), joint(met, others))):
                assert ((one << EXP_BITS) <= p * other).all()
                worst = max(worst, max(map(Fraction, one.ravel().tolist(), other.ravel().tolist())))
    assert float(worst) > 0.99 * np.exp(float(epsilon))


# --- which of the two ways errs less ----------------------------------------------------------------------------


def share(part, whole):
    part, whole = np.broadcast_arrays(part.astype(float), whole.astype(float))
    return np.minimum(1, np.divide(part, whole, out=np.zeros_like(part), where=whole > 0))


def expected_errors(size, sizes, first, second, estimate):
    """The mean error of a share that is computed from two counts, over all truths of groups of these sizes."""
    outputs, errors = np.arange(size + 1), []
    for n in sizes:
        for met in range(n + 1):
            truth = met / n if n else 0
            law = np.outer(first[:, met], second[:, n - met if estimate == "pair" else n])
            whole = outputs[:, None] + outputs if estimate == "pair" else outputs[None, :]
            errors.append((np.abs(share(outputs[:, None], whole) - truth) * law).sum() / (n + 1) / len(sizes))
    return sum(errors)


@pytest.mark.long
@pytest.mark.parametrize("size", [2, 5, 20, 40])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)])
def test_the_pair_errs_less_than_a_count_divided_by_a_drawn_size_wherever_either_says_something(size, epsilon):
    """Any tenths of epsilon for the size; full groups, and all sizes alike. A constant has an error of about 1/4."""

    def law(part):
        return weights_of(size, epsilon * part).astype(float) / TOTAL

    for sizes in ([size], range(size + 1)):
        pair = expected_errors(size, sizes, law(Fraction(1)), law(Fraction(1)), "pair")
        shares = [Fraction(tenth, 10) for tenth in range(1, 10)]
        divided = min(expected_errors(size, sizes, law(part), law(1 - part), "ratio") for part in shares)
        assert pair < divided or min(pair, divided) > 0.25


@pytest.mark.parametrize("size", [2, 5, 20, 60])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_with_public_sizes_the_count_divided_by_the_size_errs_less_than_the_pair(size, epsilon):
    """A changed record moves both counts of the pair, so each would be drawn at half of epsilon."""
    law = weights_of(size, epsilon / 2).astype(float) / TOTAL
    pair = expected_errors(size, [size], law, law, "pair")
    count_law, outputs = weights_of(size, epsilon).astype(float) / TOTAL, np.arange(size + 1)
    divided = np.mean([(np.abs(outputs - met) / size) @ count_law[:, met] for met in outputs])
    assert divided < pair


# --- what is said about its accuracy ----------------------------------------------------------------------------


def mechanism(size, epsilon=1):
    return geometric_table(Percentage(condition="c = 1").query(SECRET, size), Fraction(epsilon))


@pytest.mark.parametrize("size", [1, 2, 3, 20, 60])
def test_the_stated_error_is_that_of_all_shares_alike(size):
    """Exact for the laws, over every number of records that may meet the condition; stated within 1 %."""
    law = weights_of(size, 1).astype(float) / TOTAL
    exact = 100 * expected_errors(size, [size], law, law, "pair")
    stated = PAIR.expected(mechanism(size), None, certain_sizes([size])).error
    assert stated == pytest.approx(exact, rel=0.01)


def test_the_mean_of_zeros_and_ones_is_the_share_with_the_same_error():
    column, beliefs = number_column(0, 1), size_prior((), 30)
    mean = mean_expected_error(column, geometric_table(pair_query(column, 30), Fraction(1)), None, beliefs)
    percentage = PAIR.expected(mechanism(30), None, beliefs)
    assert percentage.error == pytest.approx(100 * mean.error)
    assert percentage.constant == pytest.approx(100 * mean.constant)


@pytest.mark.parametrize("size", [10, 40])
def test_ninety_percent_intervals_hold_about_nine_shares_of_ten(size):
    beliefs = certain_sizes([size])
    covered = mean_coverage(MEETS, mechanism(size), size, Fraction(9, 10), None, beliefs)
    assert 0.88 < covered < 0.98


def test_a_declared_prior_of_percentages_is_used():
    near_ten = np.exp(-0.5 * ((np.arange(101) - 10) / 2) ** 2)
    beliefs = certain_sizes([50])
    flat, known = (PAIR.expected(mechanism(50), prior, beliefs) for prior in (None, near_ten))
    assert known.constant < 2 < flat.constant
    drawn = [np.array([25]), np.array([25])]
    low, high = PAIR.interval(mechanism(50, "1/5"), drawn, Fraction(9, 10), near_ten, beliefs)
    assert low[0] <= 20
    assert high[0] == 50  # an interval holds what is published


# --- releases ---------------------------------------------------------------------------------------------------

GROUPS = {"by": ["g"], "keys": ["a", "b"]}
PLAN = {
    "groups": {**GROUPS, "max_size": 20},
    "columns": {"x": {"low": 0, "high": 10}},
    "statistics": [{"percentage": "x > 5"}],
    "privacy": {"epsilon": 1},
    "output": {"credible_level": 0.9},
}


@pytest.fixture(scope="module")
def frame(checks):
    return checks.frame([{"g": "a", "x": 3.0}] * 12 + [{"g": "b", "x": 8.0}] * 15 + [{"g": "b", "x": None}])


def test_a_released_percentage_stands_beside_the_counts_it_is_computed_from(frame, tmp_path):
    table = release(PLAN, frame, cache=tmp_path).table
    names = ["percentage", *(f"percentage_{end}" for end in ("with", "without", "error", "low", "high"))]
    assert table.column_names == ["g", *names]
    published, met, others = (np.array(table[name]) for name in names[:3])
    assert published == pytest.approx(100 * met / (met + others))
    assert (np.array(table["percentage_low"]) <= published).all()
    assert (published <= np.array(table["percentage_high"])).all()


def test_with_public_sizes_it_is_a_multiple_of_what_one_record_is_worth(frame, tmp_path):
    table = release({**PLAN, "groups": {**GROUPS, "size": 20}}, frame, cache=tmp_path).table
    assert table.column_names == ["g", "percentage", "percentage_error", "percentage_low", "percentage_high"]
    assert all(value % 5 == 0 and 0 <= value <= 100 for value in table["percentage"].to_pylist())


def test_the_page_of_a_percentage_without_intervals_shows_errors_within_0_and_100(frame, tmp_path):
    plain = {name: part for name, part in PLAN.items() if name != "output"}
    done = release(plain, frame, cache=tmp_path)
    assert _range(done.record, done.record["plan"]["statistics"][0]) == (0, 100)
    done.report(tmp_path / "page.html")
    assert "percentage_with" in (tmp_path / "page.html").read_text()


def test_every_way_is_told_before_anything_is_read(frame, tmp_path):
    said = preview_release(PLAN, frame, cache=tmp_path).record["values"]
    assert any("drawn together, which errs less than a count divided by a drawn size" in line for line in said)
    public = {**PLAN, "groups": {**GROUPS, "size": 20}}
    said = preview_release(public, frame, cache=tmp_path).record["values"]
    assert any("the count is divided by the size" in line for line in said)


def test_a_percentage_of_all_records_is_refused(frame, tmp_path):
    with raises_at(PlanError, ("statistics", 0, "percentage")):
        preview_release({**PLAN, "statistics": [{"percentage": "TRUE"}]}, frame, cache=tmp_path)


@pytest.fixture(scope="module")
def released(frame, tmp_path_factory):
    """A folder with a table and its record, which is accepted."""
    folder = tmp_path_factory.mktemp("released")
    release(PLAN, frame, cache=folder / "designs", output=folder / "t.csv")
    assert check(folder / "t.csv.release.json")
    return folder


@pytest.mark.parametrize("lie", ["half the distance", "a reach", "no parts", "another share"])
def test_a_record_that_does_not_account_for_both_counts_is_refused(released, tmp_path, lie):
    shutil.copytree(released, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "t.csv.release.json"
    record = json.loads(path.read_text())["content"]
    line = record["mechanisms"][0]
    if lie == "half the distance":
        line["query"]["neighbours"]["metric"] = "2"
    elif lie == "a reach":
        line["query"]["neighbours"] = {"reach": 1}
    elif lie == "no parts":
        del line["parts"]
    else:
        table = (tmp_path / "t.csv").read_text().splitlines()
        cells = table[1].split(",")
        (tmp_path / "t.csv").write_text("\n".join([table[0], ",".join([cells[0], "77.0", *cells[2:]]), *table[2:], ""]))
        record["table"]["sha256"] = sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    path.write_text(json.dumps(wrap(RELEASE, record)))
    with pytest.raises(PassportError):
        check(path)


def test_the_counts_can_be_read_and_a_pair_of_a_column_has_other_names(frame, tmp_path, command):
    release(PLAN, frame, cache=tmp_path, output=tmp_path / "t.csv")
    said = command(tmp_path, "interpret", "t.csv.release.json", "12", "--statistic", "percentage_with")
    assert said.returncode == 0
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid
    assert mean_pair(MEETS).parts != PAIR.parts

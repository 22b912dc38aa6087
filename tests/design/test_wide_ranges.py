"""Wide ranges: staircase noise tables and the bound of long ranges, against the optimum where a matrix is small."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inbounds as ib
from inbounds.design import designer
from inbounds.design.bounds import long_range
from inbounds.design.closed.noise import staircase_losses
from inbounds.design.goal import DesignGoal
from inbounds.design.large import design_noise_sharply
from inbounds.design.routes import noise_remap
from inbounds.losses import to_loss
from inbounds.mechanism import Mechanism, Optimality
from inbounds.mechanism.laws import Noise
from inbounds.mechanism.laws.noise import make_staircase_noise
from inbounds.properties import measure_properties, square_layout
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import TOTAL
from raising import rejects

LOSSES = ["absolute", "squared", "zero-one", "off by more than 2", "power 1/2"]


def table(query: RangeQuery, epsilon: str, loss: str = "absolute", aim: str = "average", **more: object) -> Optimality:
    goal = DesignGoal(to_loss(loss), more.get("prior"), frozenset(), aim, ())  # type: ignore[arg-type]
    best = design_noise_sharply(query, Fraction(epsilon), goal).optimality
    assert best is not None
    return best


def optimum(query: RangeQuery, epsilon: str, loss: str = "absolute", prior: Any = None) -> Optimality:
    best = ib.optimal(query, epsilon, loss, prior).optimality
    assert best is not None
    return best


@cache
def least_loss(people: int, high: int, epsilon: str, loss: str) -> Optimality:
    return optimum(ib.total(people, 0, high), epsilon, loss)


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bounds from chains far coarser than those that are affordable."""
    monkeypatch.setattr(long_range.average_bound, "__defaults__", (2e3,))
    monkeypatch.setattr(long_range, "MOST", 3e3)
    monkeypatch.setattr(long_range, "INSIDE", 1e2)
    long_range._long_range_duals.cache_clear()
    yield
    long_range._long_range_duals.cache_clear()


CASES = [(40, 2, "1/2"), (20, 3, "1"), (10, 7, "2"), (3, 17, "1/2")]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("people", "high", "epsilon"), CASES)
def test_no_mechanism_is_below_the_bound_and_the_table_is_near_it(
    people: int, high: int, epsilon: str, loss: str
) -> None:
    query = ib.total(people, 0, high)
    best, found = least_loss(people, high, epsilon, loss), table(query, epsilon, loss)
    assert found.bound <= best.value * (1 + 1e-12)
    assert best.bound <= found.value * (1 + 1e-12)
    if people * float(Fraction(epsilon)) >= 20 and people >= 20:
        assert found.bound >= 0.996 * best.value
        assert found.value <= 1.008 * best.value


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("people", "high", "epsilon"), CASES)
@pytest.mark.usefixtures("coarse")
def test_coarser_chains_give_a_bound_too(people: int, high: int, epsilon: str, loss: str) -> None:
    query = ib.total(people, 0, high)
    assert table(query, epsilon, loss).bound <= least_loss(people, high, epsilon, loss).value * (1 + 1e-12)


@pytest.mark.parametrize("last", [0, 1, 3])
@pytest.mark.parametrize(("people", "high", "epsilon"), CASES)
def test_the_bound_of_thresholds_holds_for_any_reach(people: int, high: int, epsilon: str, last: int) -> None:
    size = people * high + 1
    depth = min(long_range.depth_of_ends(high, float(Fraction(epsilon))), (size - 1) // 2)
    duals = long_range._threshold_duals(last, high, float(Fraction(epsilon)), depth, 1.0)
    loss = "zero-one" if last == 0 else f"off by more than {last}"
    best = least_loss(people, high, epsilon, loss).value
    assert duals.average(size) <= best * (1 + 1e-12)
    if last == 0 and people >= 20:
        assert duals.average(size) >= 0.999 * best


@pytest.mark.parametrize("aim", ["average", "worst"])
@pytest.mark.parametrize("loss", LOSSES[:4])
@pytest.mark.parametrize("epsilon", ["1/2", "1", "2", "4"])
def test_wide_totals_are_designed_with_a_gap_below_one_percent(epsilon: str, loss: str, aim: str) -> None:
    made = ib.optimal(ib.total(1100, 0, 4), epsilon, loss, aim=aim)  # type: ignore[arg-type]
    assert made.optimality is not None
    assert made.epsilon == Fraction(epsilon)
    assert made.tight_epsilon() <= float(Fraction(epsilon)) * (1 + 1e-12)
    assert isinstance(made.law, Noise)
    assert made.optimality.gap < 0.01 * made.optimality.value
    losses = made.loss_per_answer(to_loss(loss))
    measured = losses.max() if aim == "worst" else losses.mean()
    assert made.optimality.value == pytest.approx(measured, rel=1e-12)


def test_a_wide_total_loses_as_much_as_the_optimum_of_a_narrower_one() -> None:
    for epsilon in ("1", "4"):
        wide, narrow = optimum(ib.total(1100, 0, 4), epsilon), optimum(ib.total(100, 0, 4), epsilon)
        assert wide.value <= 1.02 * narrow.value
        assert narrow.value < wide.value  # the ends of a narrow range hold more of its answers


def test_the_loss_falls_with_epsilon_and_grows_with_the_reach_without_a_jump(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_range, "average_bound", lambda *_: 0.0)  # takes most of the time and changes no loss
    for loss in LOSSES[:4]:
        by_epsilon = [table(ib.total(900, 0, 5), f"{e}/10", loss).value for e in (2, 5, 10, 11, 20, 30, 45, 60)]
        assert np.all(np.diff(by_epsilon) < 0)
        by_reach = [table(ib.total(900, 0, high), "6/5", loss).value for high in (2, 3, 4, 6, 7, 11)]
        assert np.all(np.diff(by_reach) >= -1e-12)


def test_the_loss_grows_with_the_people_and_the_gap_does_not() -> None:
    people = [table(ib.total(n, 0, 5), "1") for n in (40, 80, 300, 1000)]
    assert np.all(np.diff([best.value for best in people]) > 0)
    assert np.all(np.diff([best.gap / best.value for best in people]) < 1e-5)


@pytest.mark.parametrize(("high", "loss"), [(13, "absolute"), (41, "zero-one"), (211, "zero-one")])
def test_a_reach_that_no_chain_divides_has_a_small_gap_too(high: int, loss: str) -> None:
    found = table(ib.total(60, 0, high), "1", loss)
    assert found.gap < 0.01 * found.value


def test_a_small_epsilon_is_affordable() -> None:
    for loss in ("absolute", "squared"):
        found = table(ib.total(800, 0, 3), "1/25", loss)
        assert found.gap < 0.01 * found.value


def test_a_range_far_too_narrow_for_its_epsilon_still_has_a_bound_and_a_table() -> None:
    for people, high, epsilon in ((1, 50, "1/100"), (2, 30, "5"), (1, 1000, "3")):
        found = table(ib.total(people, 0, high), epsilon)
        assert 0 <= found.bound <= found.value


@pytest.mark.parametrize("split", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/3", "2", "40"])
@pytest.mark.parametrize("people", [1, 12])
def test_staircase_noise_is_private_and_has_the_shape_of_its_formula(
    judge: Any, people: int, epsilon: str, split: int
) -> None:
    query, bound = ib.total(people, 0, 5), Fraction(epsilon)
    law = make_staircase_noise(query, bound, split)
    assert judge.certifies(Mechanism(query, bound, law, ib.mechanism.Origin("by hand")))
    noise = law.all_weights() / 2.0**62
    errors = np.abs(np.arange(-law.size, law.size + 1))
    levels = np.where(errors < split, 0, (errors - split) // 5 + 1)
    shape = np.exp(-float(bound) * levels)[1:-1]
    assert np.allclose(noise[1:-1] / noise[law.size], shape, rtol=1e-6, atol=1e-12)


def test_a_split_beyond_the_reach_is_refused() -> None:
    for split in (0, 6):
        with rejects(ValueError, "split"):
            make_staircase_noise(ib.total(9, 0, 5), Fraction(1), split)


def test_the_loss_of_each_split_is_that_of_its_noise() -> None:
    losses = np.arange(3000.0) ** 1.5
    found = staircase_losses(losses, 5, 0.7)
    query = ib.total(600, 0, 5)
    for split in range(1, 6):
        law = make_staircase_noise(query, Fraction(7, 10), split)
        errors = np.abs(np.arange(-law.half_width, law.half_width + 1))
        assert found[split - 1] == pytest.approx(float(law.core @ losses[errors]) / 2**62, rel=1e-9)


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one", "off by more than 2"])
@pytest.mark.parametrize("kind", ["uniform", "bell", "two", "rough"])
def test_the_reports_are_the_best_for_every_noisy_value(loss: str, kind: str) -> None:
    query, rng = ib.total(20, 0, 4), np.random.default_rng(5)
    n = len(query.answers)
    j = np.arange(n)
    prior = {
        "uniform": np.ones(n),
        "bell": np.exp(-((j - 30.0) ** 2) / 200),
        "two": np.exp(-((j - 15.0) ** 2) / 50) + np.exp(-((j - 70.0) ** 2) / 50),
        "rough": rng.random(n) + 0.1,
    }[kind]
    prior = prior / prior.sum()
    law = make_staircase_noise(query, Fraction(1), 2)
    losses = to_loss(loss).table(query)[0]
    reports = noise_remap.best_reports(law.core / 2.0**62, losses, prior, 4, 1.0)
    cost = losses[np.abs(j[:, None] - j)] @ (prior[:, None] * law.clamped_matrix().T / 2.0**62)  # report × noisy value
    reached = cost[reports, j]
    assert float(reached.sum()) == pytest.approx(float(cost.min(axis=0).sum()), rel=1e-6)


def test_reports_of_a_long_range_are_those_of_a_short_one_at_its_ends() -> None:
    law = make_staircase_noise(ib.total(400, 0, 3), Fraction(1), 2)
    losses = np.arange(1201.0)
    whole = noise_remap.best_reports(law.core / 2.0**62, losses, np.full(1201, 1 / 1201), 3, 1.0)
    short = noise_remap.best_reports_evenly(law, losses / 7, 2, long_range.depth_of_ends(3, 1.0), 3, 1.0)
    assert np.array_equal(whole, short)
    assert np.array_equal(whole[100:-100], np.arange(100, 1101))
    assert whole[0] > 0


@pytest.mark.parametrize("epsilon", ["1/2", "3"])
@pytest.mark.parametrize("query", [ib.total(900, 0, 5), ib.count(4500)], ids=["total", "count"])
def test_noise_tables_have_the_properties_that_they_are_designed_for(query: RangeQuery, epsilon: str) -> None:
    names = ["symmetric", "row_honest", "row_monotone", "weakly_honest"]
    made = ib.optimal(query, epsilon, properties=names)
    assert isinstance(made.law, Noise)
    assert made.law.remap is None
    short = made.law.shorten()  # with the same comparisons of neighbouring cells
    missed = measure_properties(short.clamped_matrix(), square_layout(short.size + 1), TOTAL, names)
    assert max(missed.values()) == 0
    assert made.optimality is not None
    assert made.optimality.gap < 0.01 * made.optimality.value


def test_a_table_that_is_not_weakly_honest_is_refused() -> None:
    with rejects(ib.TooLarge, about="weakly"):
        ib.optimal(ib.total(1, 0, 5000), "1/100", properties=["weakly_honest"])


@pytest.mark.parametrize("people", [250, 375, 500])
def test_means_of_a_thousand_answers_are_answered_by_a_table_at_once(people: int) -> None:
    made = ib.optimal(ib.mean(people, 1, 5), 1)
    assert made.origin.parameters["route"] == "staircase noise, remapped"
    assert made.optimality is not None
    assert made.optimality.gap < 0.001 * made.optimality.value


def test_a_search_follows_a_table_whose_gap_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    query, prior = ib.total(5, 0, 12), np.exp(-np.arange(61.0) / 20)
    best = optimum(query, "1", prior=prior)
    monkeypatch.setattr(designer, "MANY", 50)
    found = optimum(query, "1", prior=prior)
    assert table(query, "1", prior=prior).gap > 0.01 * best.value
    assert found == best


def test_a_search_that_is_stopped_is_no_worse_than_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    query, prior = ib.total(5, 0, 12), np.exp(-np.arange(61.0) / 20)
    poor = ib.catalog.uniform(query, 1)
    bad = Optimality("average absolute loss under the given prior", poor.loss(prior=prior), 0.0)
    stopped = Mechanism(query, Fraction(1), poor.law, poor.origin, bad)
    monkeypatch.setattr(designer, "_search", lambda *_: stopped)
    found = optimum(query, "1", prior=prior)
    assert found.value == table(query, "1", prior=prior).value
    assert found.bound == table(query, "1", prior=prior).bound > 0


def test_a_passport_of_a_wide_total_is_read_back(tmp_path: Path) -> None:
    for aim, prior in (("average", None), ("worst", None), ("average", np.arange(4401.0))):
        made = ib.optimal(ib.total(1100, 0, 4), 1, "squared", prior, aim=aim)  # type: ignore[arg-type]
        made.save(tmp_path / "wide.json")
        assert ib.load(tmp_path / "wide.json").law == made.law


@pytest.mark.parametrize("power", [1, 2, 0.5, 1.7])
def test_the_same_loss_in_other_units_is_rounded_down_to_the_same_table(power):
    tables = []
    for unit in (1.0, 1 / 3, 1 / 150, 7e-5):
        losses = np.arange(200.0) ** power * unit
        table = long_range._round_losses(losses / losses[1])
        assert (table <= np.arange(200.0) ** power).all()
        assert np.allclose(table, np.arange(200.0) ** power, rtol=1e-11)
        tables.append(table.tobytes())
    assert len(set(tables)) == 1

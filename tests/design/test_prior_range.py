"""Wide ranges under a prior, and for the worst answer: the bound against the optimum where a matrix is small."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.bounds import prior_range, worst_range
from inbounds.design.goal import DesignGoal
from inbounds.design.large import design_large, design_noise_sharply
from inbounds.design.remap import solve_game
from inbounds.design.routes import count_remap, worst_remap
from inbounds.exact import Floats
from inbounds.losses import to_loss
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery

CASES = [(20, 3, "1"), (6, 7, "2")]


def draw_priors(size: int) -> dict[str, Floats]:
    """Smooth priors, and some that no smooth g suits."""
    rng, j = np.random.default_rng(7), np.arange(size)
    priors = {
        "bell": np.exp(-0.5 * ((j / size - 0.4) / 0.15) ** 2),
        "falling": np.exp(-3.0 * j / size),
        "narrow": np.exp(-0.5 * ((j - 0.7 * size) / 2) ** 2),
        "rough": rng.random(size),
        "sparse": np.where(rng.random(size) < 0.2, 1.0, 0.0),
    }
    return {name: prior / prior.sum() for name, prior in priors.items()}


def bound_of(query: RangeQuery, epsilon: str, loss: str, prior: Floats, reach: int) -> float:
    losses = to_loss(loss).table(query)[0]
    return prior_range.average_bound(prior, reach, float(Fraction(epsilon)), losses)


@pytest.mark.parametrize("loss", ["absolute", "squared", "off by more than 1"])
@pytest.mark.parametrize(("people", "high", "epsilon"), CASES)
def test_no_mechanism_is_below_the_bound_under_a_prior(
    subtests: pytest.Subtests, people: int, high: int, epsilon: str, loss: str
) -> None:
    query = ib.total(people, 0, high)
    for name, prior in draw_priors(people * high + 1).items():
        with subtests.test(prior=name):
            best = ib.optimal(query, epsilon, loss, prior).optimality
            assert best is not None
            bound = bound_of(query, epsilon, loss, prior, high)
            assert 0 <= bound <= best.value * (1 + 1e-9)
            if name in ("bell", "falling") and people >= 20:
                assert bound >= 0.975 * best.value


@pytest.mark.long
def test_coarse_chains_give_a_bound_under_a_prior_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior_range.average_bound, "__defaults__", (1e3,))
    query = ib.total(6, 0, 7)
    for prior in draw_priors(43).values():
        best = ib.optimal(query, 1, "absolute", prior).optimality
        assert best is not None
        assert bound_of(query, "1", "absolute", prior, 7) <= best.value * (1 + 1e-9)


@pytest.mark.long
def test_the_bound_of_zero_one_loss_is_near_the_optimum_under_any_prior() -> None:
    query = ib.total(6, 0, 7)
    for name, prior in draw_priors(43).items():
        best = ib.optimal(query, 2, "zero-one", prior).optimality
        assert best is not None
        bound = bound_of(query, "2", "zero-one", prior, 7)
        assert bound <= best.value * (1 + 1e-9)
        assert name == "sparse" or bound >= 0.95 * best.value


@pytest.mark.long
def test_a_long_reach_is_affordable_for_zero_one_loss() -> None:
    size = 200 * 90 + 1
    prior = draw_priors(size)["bell"]
    bound = prior_range.average_bound(prior, 90, 1.0, np.minimum(np.arange(size), 1.0))
    best = design(ib.total(200, 0, 90), "1", "zero-one", prior=prior).optimality
    assert best is not None
    assert 0.99 * best.value <= bound <= best.value


def design(query: RangeQuery, epsilon: str, loss: str, aim: str = "average", prior: Floats | None = None) -> Mechanism:
    goal = DesignGoal(to_loss(loss), prior, frozenset(), aim, ())  # type: ignore[arg-type]
    return design_noise_sharply(query, Fraction(epsilon), goal)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
def test_wide_totals_under_a_smooth_prior_have_a_gap_below_one_percent(epsilon: str) -> None:
    for loss in ("absolute", "zero-one"):
        best = design(ib.total(300, 0, 4), epsilon, loss, prior=draw_priors(1201)["bell"]).optimality
        assert best is not None
        assert best.gap < 0.01 * best.value


def test_geometric_noise_is_remapped_too_unless_its_costs_have_many_terms() -> None:
    even = np.arange(400.0)
    assert count_remap.count_terms(0.01, even) == count_remap.count_terms(0.01, even**2) == 1
    assert count_remap.count_terms(0.01, np.minimum(even, 1.0)) == 1
    assert count_remap.count_terms(0.5, even**1.5) == 401
    assert count_remap.count_terms(0.01, even**1.5) == 801


def test_less_time_gives_the_bound_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    works = list[float]()

    def note_work(prior: Floats, reach: int, rate: float, losses: Floats, most: float) -> float:
        works.append(most)
        return 0.0

    monkeypatch.setattr(prior_range, "average_bound", note_work)
    query = ib.total(300, 0, 4)
    for seconds in (0.01, 5.0, 1000.0):
        design_large(query, Fraction(1), [to_loss("absolute")], bell_goal(query), seconds)
    assert works[0] < works[1] < works[2] == prior_range.WORK


def bell_goal(query: RangeQuery) -> DesignGoal:
    return DesignGoal(to_loss("absolute"), draw_priors(len(query.answers))["bell"], frozenset(), "average", ())


def test_the_worst_answer_of_twenty_widths_is_designed_with_a_gap_below_one_percent() -> None:
    made, loss = design(ib.count(320), "1/16", "squared", "worst"), "squared"
    best = made.optimality
    assert best is not None
    assert best.gap < 0.01 * best.value
    assert best.value == pytest.approx(made.loss_per_answer(to_loss(loss)).max(), rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["absolute", "squared", "power 1/2", "off by more than 2"])
@pytest.mark.parametrize("query", [(ib.total(60, 0, 6), "1/3"), (ib.total(24, 0, 21), "2"), (ib.count(900), "1/20")])
def test_the_worst_answer_of_wide_ranges_is_designed_with_a_gap_below_one_percent(
    query: tuple[RangeQuery, str], loss: str
) -> None:
    best = design(*query, loss, "worst").optimality
    assert best is not None
    assert best.gap < 0.01 * best.value


@pytest.mark.parametrize("loss", ["absolute", "squared", "off by more than 1"])
def test_the_hardest_prior_proves_nearly_the_loss_of_the_best_matrix(loss: str) -> None:
    query = ib.total(20, 0, 3)
    best = ib.optimal(query, 1, loss, aim="worst").optimality
    hardest = worst_range.find_hardest_prior(61, 3, 1.0, to_loss(loss).table(query)[0])
    assert best is not None
    assert 0.985 * best.value <= hardest.bound <= best.value * (1 + 1e-12)
    assert hardest.prior.sum() == pytest.approx(1)
    assert hardest.prior == pytest.approx(hardest.prior[::-1])
    under = ib.optimal(query, 1, loss, hardest.prior).optimality
    assert under is not None
    assert hardest.bound <= under.value * (1 + 1e-9)


@pytest.mark.parametrize(("size", "rate"), [(2, 1.0), (100, 100.0), (1 << 21, 1.0)])
def test_a_range_too_short_or_long_for_the_proof_has_the_least_loss_as_its_bound(size: int, rate: float) -> None:
    hardest = worst_range.find_hardest_prior(size, 1, rate, 7.0 + np.arange(float(size)))
    assert hardest.bound == 7.0
    assert np.all(hardest.prior == hardest.prior[0])


@pytest.mark.long
@pytest.mark.parametrize("query", [ib.total(50, 0, 2), ib.count(100)])
def test_no_mechanism_is_below_the_bound_of_the_worst_answer(query: RangeQuery) -> None:
    for loss in ("absolute", "squared"):
        best, found = ib.optimal(query, "1/5", loss, aim="worst").optimality, design(query, "1/5", loss, "worst")
        assert best is not None
        assert found.optimality is not None
        assert found.optimality.bound <= best.value * (1 + 1e-9)
        assert best.bound <= found.optimality.value * (1 + 1e-9)


@pytest.mark.parametrize("power", [2, 0.5])
def test_remaps_for_the_worst_answer_are_symmetric_and_move_inwards(power: float) -> None:
    losses = np.arange(201.0) ** power
    remaps = [*worst_remap.propose_remaps(201, 2, 0.2, losses, 1, np.full(201, 1 / 201))]
    assert len(remaps) == (1 if power > 1 else 2)
    for reports, prior in remaps:
        assert np.array_equal(reports, 200 - reports[::-1])
        assert prior.sum() == pytest.approx(1)
        assert reports[:60].sum() > sum(range(60))


def test_moving_single_reports_never_raises_the_worst_loss() -> None:
    noise, losses = worst_remap._StaircaseSums(4, 1.0, 2, 81), np.arange(81.0)
    rng = np.random.default_rng(2)
    for _ in range(3):
        reports = np.clip(np.arange(81) + rng.integers(-3, 4, 81), 0, 80)
        reports[40:] = 80 - np.append(reports[:40], 40)[::-1]
        polished = worst_remap._polish(reports, noise, losses)
        worst = worst_remap._sum_losses(reports, noise, losses).max()
        assert worst_remap._sum_losses(polished, noise, losses).max() < worst
        assert np.array_equal(polished, 80 - polished[::-1])


def test_a_range_too_wide_for_the_game_is_left_to_plain_noise() -> None:
    prior = np.full(10**6, 1e-6)
    assert not [*worst_remap.propose_remaps(10**6, 1, 1.0, np.arange(1e6), 1, prior)]


def test_a_game_has_one_value_for_both_sides() -> None:
    losses = np.random.default_rng(3).random((6, 9))
    priors, designs, value = solve_game(losses)
    assert (losses @ priors).min() == pytest.approx(value)
    assert (designs @ losses).max() == pytest.approx(value)

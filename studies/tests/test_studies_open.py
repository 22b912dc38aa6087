"""What the papers left open or only sketched, answered: 000's order, 002's holes and scales, 004's questions."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds_studies import find, listed
from inbounds_studies.paper_000_order import BOUND, compared, mean_bound
from inbounds_studies.paper_001 import RESPONSE
from inbounds_studies.paper_001_map import ON_MAP, distances, transport
from inbounds_studies.paper_001_map import mechanism as on_map
from inbounds_studies.paper_002 import INF
from inbounds_studies.paper_002_drawn import CLASSES
from inbounds_studies.paper_002_open import CLOSED, LINE, OPEN, OWN, UNIFORM, UNIFORM_METRIC, holed
from inbounds_studies.paper_003_ranges import cell_by_cell, histograms, range_errors
from inbounds_studies.paper_004_open import (
    CENTRAL,
    CONSTANT,
    FLIP,
    LARGEST_OPTIMUM,
    LARGEST_STAIRCASE,
    OBLIVIOUS,
    OWN_OPTIMUM,
    VARYING,
    rising,
    tastes,
    universality_gap,
    with_sensitivities,
)
from inbounds_studies.style import OPTIMAL
from raising import rejects

# --- 000: the order, and large databases ------------------------------------------------------------------


@pytest.fixture(scope="module")
def order():
    return find("000-order").run(n=4).table


def test_closer_reports_lose_no_more_for_any_loss_that_does_not_fall(order):
    """Theorem 3, on random losses and priors; where one is not closer, a loss and an answer that prefer the other.

    Most pairs cannot be compared: of each two, more often than not neither is closer.
    """
    closer = {(row["first"], row["second"]): row["closer"] for row in order}
    assert sum(not (closer[one, two] or closer[two, one]) for one, two in closer) > len(closer) / 2
    made, rng = compared(4, "0.5"), np.random.default_rng(3)
    for row in order:
        first, second = made[row["first"]], made[row["second"]]
        if not row["closer"]:
            far = ib.threshold_loss(int(row["distance"]))
            there = int(row["answer"])
            assert first.loss_per_answer(far)[there] > second.loss_per_answer(far)[there]
            continue
        for _ in range(5):
            steps = np.cumsum(rng.random(5))
            table, prior = steps[np.abs(np.subtract.outer(np.arange(5), np.arange(5)))], rng.dirichlet(np.ones(5))
            assert first.loss(table, prior) <= second.loss(table, prior) + 1e-12


def test_no_mechanism_is_closer_than_an_optimum_unless_it_loses_the_same(order):
    """Corollary 1: what is optimal for one such loss is minimal in the order."""
    made = compared(4, "0.5")
    best = made["LP Variant 1"].loss("absolute")
    for row in order:
        if row["second"] == "LP Variant 1" and row["closer"]:
            assert made[row["first"]].loss("absolute") == pytest.approx(best, abs=1e-9)


def test_a_minimizer_of_a_loss_that_does_not_grow_need_not_be_minimal():
    """Corollary 1 needs a loss that grows with the error: within two steps of the truth both lose nothing."""
    query = ib.count(3)
    middle = ib.certify([[0, 0, 0, 0], [0.5] * 4, [0.5] * 4, [0, 0, 0, 0]], query, "0.5")
    tilted = ib.certify([[0] * 4, ["0.6", "0.6", "0.4", "0.4"], ["0.4", "0.4", "0.6", "0.6"], [0] * 4], query, "0.5")
    loss = ib.threshold_loss(2)
    assert middle.loss(loss) == tilted.loss(loss) == 0
    assert ib.compare_closeness(tilted, middle)
    assert not ib.compare_closeness(middle, tilted)


def test_the_geometric_mechanism_refines_what_is_derived_from_it_and_not_the_other_way(order):
    refines = {(row["first"], row["second"]): row["refines"] for row in order}
    for name in ("LP Variant 1", "optimal, squared", "snapped staircase", "snapped Laplace"):
        assert refines["geometric", name]
        assert not refines[name, "geometric"]
    assert not any(row["closer"] for row in order if (row["first"], row["second"]) == ("geometric", "LP Variant 1"))


@pytest.mark.parametrize(("n", "k", "epsilon"), [(3, 2, "0.5"), (4, 3, "1"), (6, 4, "0.5"), (10, 4, "2")])
def test_the_bound_for_means_is_below_the_designed_optimum(n, k, epsilon):
    best = ib.optimal(ib.mean(n, 0, k), epsilon).loss("absolute") * n / k
    assert mean_bound(n, k, epsilon) <= best + 1e-9
    assert mean_bound(n, k, epsilon) > 0.8 * best / math.cosh(float(epsilon) / 2)


def test_no_mean_of_many_beats_the_staircase_by_more_than_cosh_half_epsilon():
    table = find("000-large").run(sizes=(10, 100)).table
    ratio = table.where(mechanism="snapped staircase").numbers("ratio")
    assert (np.diff(ratio) < 0).all()
    assert ratio[-1] < math.cosh(0.25) + 0.01
    assert math.cosh(0.25) == pytest.approx(1.031, abs=5e-4)
    a = math.exp(-0.5)
    assert table.where(mechanism=BOUND).numbers("value")[-1] < 2 * a / (1 - a * a)
    assert math.sqrt(a) / (1 - a) / (2 * a / (1 - a * a)) == pytest.approx(math.cosh(0.25))


# --- 002: schematics, holes, scales -----------------------------------------------------------------------


def test_each_class_of_figure_1_needs_the_scale_it_is_drawn_with():
    table = find("002-fig1").run().table
    assert table.distinct("class") == ["a", "b", "c"]
    for row in table:
        spans = CLASSES[row["class"]][1]
        assert (row["lower"], row["upper"]) in spans
        assert row["plain"] < row["metric"] <= 2 + 1e-9
    first, last = CLASSES["b"][1][0][0], CLASSES["b"][1][-1][1]
    assert (first, last) == (-INF, INF)


def test_table_1_normalizes_by_what_is_cut_off():
    """(4) to (6), by hand: the constraints left of 0 are below -3 and -1.8..-1."""
    table = find("002-table1").run().table
    value = dict(zip(table.column("variable"), table.column("value"), strict=True))
    assert value["L1"] == pytest.approx((math.exp(-3) + math.exp(-1) - math.exp(-1.8)) / 2)
    assert value["R1"] == pytest.approx((math.exp(-3) + math.exp(-0.6) - math.exp(-1.4)) / 2)
    for j in (1, 2):
        assert value[f"n{j}"] == pytest.approx(1 / (1 - value[f"L{j}"] - value[f"R{j}"]))


def test_holes_only_is_a_certified_mechanism_whose_tail_falls_with_the_declared_range():
    table = find("002-holes").run(reaches=(4, 8), fineness=2).table
    for name in table.distinct("configuration"):
        rows = table.where(configuration=name)
        scales = rows.where(mechanism=OPEN).numbers("scale")
        assert scales[0] == pytest.approx(scales[1], rel=1e-9)  # open ends: the range does not matter to the scale
        assert scales[0] < rows.where(mechanism=LINE).numbers("scale")[0] < 2
        near, far = rows.where(mechanism=OPEN).numbers("tail")
        assert far / near == pytest.approx(math.exp(-4 / scales[0]), rel=0.1)
        best = rows.where(mechanism=OPTIMAL).numbers("error")
        assert (best < rows.where(mechanism=OPEN).numbers("error")).all()
        assert (best < rows.where(mechanism=CLOSED).numbers("error")).all()


def test_with_finer_cells_the_certified_scale_rises_to_that_of_the_line():
    coarse, fine = (
        float(
            ib.catalog.normalized_laplace(holed("one hole, width 1", 4, f), 1, unbounded="both").origin.parameters[
                "scale"
            ]
        )
        for f in (2, 8)
    )
    line = ib.find_scale(((-INF, 0.0), (1.0, INF)), 1, 1)
    assert coarse < fine < line
    assert fine == pytest.approx(line, rel=0.02)


def test_ends_that_are_open_on_both_sides_are_one_of_three_words():
    with rejects(ValueError, "unbounded", about="'left'"):
        ib.catalog.normalized_laplace(ib.count(4), 1, unbounded="left")


def test_scales_of_their_own_are_certified_and_lie_between_one_scale_and_the_optimum():
    table = find("002-own-scales").run(epsilons=("1",), fineness=4).table
    for name in table.distinct("configuration"):
        found = {row["mechanism"]: row["value"] for row in table.where(configuration=name)}
        assert found[OPTIMAL] < found[OWN] < 0.98 * found[UNIFORM] < found[UNIFORM_METRIC]
        row = next(iter(table.where(configuration=name, mechanism=OWN)))
        assert row["least_scale"] < row["largest_scale"]


# --- 004: open questions ----------------------------------------------------------------------------------


def test_one_mechanism_serves_all_users_of_a_count_and_of_no_other_question():
    """R1: the program over tuples of guesses; zero for counts (Ghosh, Roughgarden, Sundararajan 2012)."""
    table = find("004-universal").run(alphas=("0.5",), top=2).table
    gap = {row["query"]: row["gap"] for row in table}
    assert gap["count"] < 1e-9
    assert gap["mean of two, 0..2"] > 0.02
    assert gap["maximum"] > 0.015


def test_a_single_user_has_no_universality_gap():
    query = ib.extreme(0, 2)
    users = dict([next(iter(tastes(query).items()))])
    least = {
        name: ib.optimal(query, ib.epsilon_from_alpha("0.5"), *taste).loss(*taste) for name, taste in users.items()
    }
    assert universality_gap(query, 0.5, users, least) < 1e-9


def test_a_design_for_every_answers_own_sensitivity_errs_less_than_one_for_the_largest():
    """And never less than one for the least sensitivity everywhere, which promises less."""
    table = find("004-varies").run(alphas=("0.2", "0.5"), widths=(8, 16)).table
    for a in ("0.2", "0.5"):
        for width in (8, 16):
            found = {r["mechanism"]: r["value"] for r in table.where(alpha=float(a), range=width)}
            least = ib.optimal(with_sensitivities([1] * (width + 1)), ib.epsilon_from_alpha(a), aim="worst")
            assert found[LARGEST_STAIRCASE] > found[LARGEST_OPTIMUM] > 1.5 * found[OWN_OPTIMUM]
            assert found[OWN_OPTIMUM] > least.worst_loss("absolute")


def test_neighbours_are_within_the_sensitivity_of_both():
    assert rising(8, 1, 4) == [1, 1, 1, 2, 2, 2, 3, 3, 4]
    query = with_sensitivities([1, 1, 2, 2, 2])
    pairs = {(x, y) for x, y in query.neighbours.pairs(query.answers) if x < y}
    assert pairs == {(0, 1), (1, 2), (2, 3), (3, 4), (2, 4)}


def test_noise_that_varies_beats_the_staircase_on_a_bounded_range_and_tends_to_it():
    table = find("004-worst").run(alphas=("0.2",), widths=(1, 2, 4, 16), fineness=4).table
    best, snapped = (table.where(mechanism=name).numbers("value") for name in (VARYING, "snapped staircase"))
    line = table.where(mechanism=CONSTANT).numbers("value")
    assert (best < snapped).all()
    assert (np.diff(best) > 0).all()
    assert (best < line).all()
    assert best[-1] > 0.95 * line[-1]


def test_mechanisms_that_see_the_records_beat_the_oblivious_optimum():
    """Five people on a scale of three: the last line is the optimum over every mechanism."""
    table = find("004-beyond").run(epsilons=("1", "2"), sizes=(5,), lengths=(5,), top=2).table
    for epsilon in (1.0, 2.0):
        found = {row["mechanism"]: row["value"] for row in table.where(epsilon=epsilon)}
        assert found[CENTRAL] < found[FLIP] < found[OBLIVIOUS]


def test_the_ladder_names_studies_that_exist():
    table = find("004-fig2").run().table
    assert [row["level"] for row in table] == list("654321")
    for row in table:
        assert str(row["answer"]).split()[-1] in listed()


# --- answers on graphs: maps, histograms, pairs -----------------------------------------------------------


def test_on_a_map_d_privacy_reconstructs_closer_than_randomized_response():
    """On 8 × 8 cells by far; on 5 × 5, where no places are far apart, not always, and the optimum's reports are few."""
    table = find("001-map").run(sides=(5, 8), sizes=(20_000,), runs=2, iterations=500).table
    for data in table.distinct("data"):
        found = {row["mechanism"]: row["value"] for row in table.where(side=8, data=data)}
        assert found[OPTIMAL] < 0.6 * found[RESPONSE]
        assert found[ON_MAP] < 0.6 * found[RESPONSE]
    small = {row["mechanism"]: row["value"] for row in table.where(side=5, data="two towns")}
    assert max(small[RESPONSE], small[ON_MAP]) < 0.5 * small[OPTIMAL]


def test_mechanisms_on_the_map_keep_the_ratio_two_within_two_cells():
    """Definition (4): P[i, j] <= exp(epsilon·d(j, k))·P[i, k], here for every pair and not only for edges."""
    allowed = 2 ** (distances(4) / 2)
    for name in (ON_MAP, OPTIMAL):
        P = on_map(name, 4).matrix
        assert (P[:, :, None] <= allowed[None] * P[:, None, :] * (1 + 1e-9)).all()


def test_transport_on_a_line_of_places_is_the_sum_of_differences():
    p, q = np.array([0.5, 0.5, 0, 0]), np.array([0, 0.5, 0, 0.5])
    line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    assert transport(p, q, line) == pytest.approx(np.abs(np.cumsum(p - q)).sum())


def test_a_histogram_designed_for_range_queries_beats_bins_one_by_one():
    table = find("003-ranges").run(people=3, bins=3, epsilons=("1", "2")).table
    for epsilon in (1.0, 2.0):
        cells, guessed, best, _ = table.where(epsilon=epsilon).column("value")
        assert best < guessed < cells


def test_range_errors_of_a_report_are_its_mean_error_over_all_sums_of_adjacent_bins():
    true = np.array([[1, 0, 1]])
    assert range_errors(np.array([[0, 0, 2]]), true)[0, 0] == pytest.approx((1 + 1 + 0 + 0 + 1 + 1) / 6)


def test_bins_one_by_one_with_half_of_epsilon_are_private_for_the_histogram():
    matrix, _ = cell_by_cell(2, 3, 1.0)
    whole = np.array([matrix[:, [j]] for j in range(matrix.shape[1])])[:, :, 0].T
    neighbours = [(j, k) for j in range(6) for k in range(6) if _moved(histograms(2, 3)[j], histograms(2, 3)[k])]
    assert len(neighbours) == 18  # 9 pairs, both ways
    for j, k in neighbours:
        assert (whole[:, j] <= math.e * whole[:, k] * (1 + 1e-12)).all()


def _moved(one, other):
    return sorted((one - other).tolist()) == [-1, 0, 1]


def test_two_counts_designed_together_err_less_than_each_with_half_of_epsilon():
    table = find("004-vectors").run(top=3, alphas=("0.3", "0.5")).table
    for level in (0.3, 0.5):
        apart, guessed, best, constant = table.where(alpha=level).column("value")
        assert best < guessed <= min(apart, constant)

"""Pre-rounding chosen from rough priors: the best there is, certified, beside the optimum of any kind."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.remap import hardest_mixture
from inbounds.sideinfo import compare_preround, preround
from inbounds.sideinfo import preround_search as prerounding
from inbounds.sideinfo.preround_search import Search, between_cells
from raising import rejects

TEN = ib.interval(-10, 10, 10, 20)
MEANS = [ib.priors.normal(TEN, mu, 1) for mu in (-2, -1, 0, 1, 2)]
MAXIMA = [ib.priors.beta(TEN, n, 1) for n in (100, 300)]


def brute_force(query, epsilon, prior, loss):
    """The least loss over all partitions into runs and all values, straight from the definition."""
    size, reach = len(query.answers), query.steps
    table = np.abs(query.outputs.values.floats()[:, None] - query.answers.floats()[None, :])
    table = table if loss == "absolute" else table**2
    best = math.inf
    for count in range(size):
        for edges in combinations(range(1, size), count):
            if any(b - a < reach for a, b in pairwise(edges)):
                continue
            cell = np.searchsorted(edges, np.arange(size), side="right")
            noise = between_cells(count + 1, epsilon)[:, cell]
            for values in product(range(size), repeat=count + 1):
                best = min(best, float((noise * table[list(values)] * prior).sum()))
    return best


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("query", [ib.count(4), ib.mean(2, 0, 2), ib.extreme(1, 5)])
def test_the_search_finds_the_least_loss_of_all_partitions_and_values(query, loss):
    prior = np.array([5, 1, 2, 4, 3]) / 15
    found = preround(query, "0.8", [prior], loss)
    assert found.loss == pytest.approx(brute_force(query, 0.8, prior, loss), rel=1e-12)
    assert found.bound == pytest.approx(found.loss, rel=1e-12)


@pytest.mark.parametrize("aim", ["average", "worst"])
@pytest.mark.parametrize("priors", [MEANS, MAXIMA])
def test_the_result_is_certified_and_loses_what_it_says(aim, priors, judge):
    found = preround(TEN, 1, priors, aim=aim)
    losses = [found.mechanism.loss("absolute", prior) for prior in priors]
    assert judge.certifies(found.mechanism)
    assert losses == pytest.approx(found.losses, rel=1e-9)
    assert found.loss == pytest.approx(max(losses) if aim == "worst" else np.mean(losses), rel=1e-9)
    assert found.bound <= found.loss


def test_noise_between_cells_is_the_truncated_geometric_mechanism():
    for count in (2, 3, 6):
        assert np.allclose(between_cells(count, 0.7), ib.catalog.truncated_geometric(ib.count(count - 1), "0.7").matrix)


def test_for_counts_the_best_pre_rounding_is_the_optimum():
    """Cells of one answer each are the geometric mechanism with its best remap, which nothing beats."""
    query = ib.count(8)
    for prior in (None, ib.priors.binomial(query, "0.3")):
        best = ib.optimal(query, 1, prior=prior)
        assert preround(query, 1, [prior]).loss == pytest.approx(best.loss("absolute", prior), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.45])
@pytest.mark.parametrize("priors", [MEANS, MAXIMA])
def test_the_designed_pre_rounding_beats_the_papers_and_stays_above_the_optimum(alpha, priors):
    e = ib.epsilon_from_alpha(alpha)
    papers = ib.catalog.prerounded_geometric(TEN, e, [-10, -5, 5, 10], [-10, 0, 10])
    found = compare_preround(TEN, e, priors)
    average = np.mean(priors, axis=0)
    assert found.least <= found.optimal_loss <= found.prerounding.loss + 1e-9
    assert found.prerounding.loss < papers.loss("absolute", average)
    assert found.optimal_loss == pytest.approx(found.optimal.loss("absolute", average))


def test_the_design_for_the_worst_prior_has_the_smaller_largest_loss():
    mostly_zero = [ib.priors.normal(TEN, mu, 1) for mu in (0, 0, 0, 4)]
    average, worst = preround(TEN, 1, mostly_zero), preround(TEN, 1, mostly_zero, aim="worst")
    assert worst.loss == max(worst.losses) < max(average.losses)
    assert np.mean(average.losses) <= np.mean(worst.losses)


def test_the_bound_for_the_worst_prior_holds_for_every_pre_rounding():
    """Each candidate, with the best values for every single prior, loses at least the bound under some mixture."""
    found = preround(TEN, 3, MEANS, aim="worst")
    search = Search.over(TEN, 3, "absolute", None)
    for edges in search.candidates[::7]:
        for prior in MEANS:
            assert search.evaluate(edges, search.values(edges, prior), np.array(MEANS)).max() >= found.bound - 1e-9


def test_the_comparison_for_the_worst_prior_brackets_every_mechanism():
    found = compare_preround(TEN, 3, MEANS, aim="worst")
    assert found.least <= found.optimal_loss
    assert found.least <= found.prerounding.loss


def test_wider_cells_lose_no_less_and_are_kept():
    prior = [ib.priors.uniform(TEN)]
    usual, wide = preround(TEN, 2, prior), preround(TEN, 2, prior, width=15)
    assert usual.loss <= wide.loss
    assert all(b - a >= 15 for a, b in pairwise(wide.edges))
    assert all(b - a >= 10 for a, b in pairwise(usual.edges))


def test_answers_with_gaps_keep_neighbours_at_most_one_cell_apart():
    query = ib.interval(0, 12, 3, 12, holes=[(4, 6)])
    found = preround(query, 1, [None])
    values = [float(a) for a in query.answers]
    cell = np.searchsorted([float(e) for e in found.edges], values)
    for start, stop, _ in query.cliques():
        assert cell[stop - 1] - cell[start] <= 1


def test_a_search_that_cannot_try_everything_comes_close_and_claims_no_bound(monkeypatch):
    whole = preround(TEN, 2, MAXIMA)
    monkeypatch.setattr(prerounding, "EVERY", 20)
    monkeypatch.setattr(prerounding, "SOME", 20)
    part = preround(TEN, 2, MAXIMA)
    assert part.bound == -math.inf
    assert whole.loss <= part.loss <= 1.05 * whole.loss


def test_long_counts_are_searched_without_trying_everything():
    query = ib.count(30)
    prior = ib.priors.binomial(query, "0.2")
    found = preround(query, 1, [prior])
    assert found.bound == -math.inf
    assert ib.optimal(query, 1, prior=prior).loss("absolute", prior) <= found.loss + 1e-12


@pytest.mark.parametrize("width", [9.9, 1, 0, -3])
def test_cells_narrower_than_the_sensitivity_are_refused(width):
    with rejects(ValueError, "width"):
        preround(TEN, 1, MEANS, width=width)


def test_odd_requests_are_refused():
    with rejects(ValueError, about="labels"):
        preround(ib.category(["a", "b"]), 1, [None])
    with rejects(ValueError, about="privacy"):
        preround(ib.ordinal(0, 4), 1, [None])
    with rejects(ValueError, "priors", about="weights"):
        preround(TEN, 1, [])
    with rejects(ValueError, "priors", about="brackets"):
        preround(TEN, 1, MEANS[0])
    with rejects(ValueError, "aim"):
        preround(TEN, 1, MEANS, aim="best")


def test_the_hardest_mixture_makes_the_best_design_lose_most():
    """Two designs, each good for one prior: the hardest mixture evens them out."""
    mixture = hardest_mixture(np.array([[0.0, 3.0], [1.0, 0.0]]))
    assert mixture == pytest.approx([0.75, 0.25])

"""The search for a score table: the best of the grid by the declared objective, on the declared family of groups."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles import choose
from inbounds.design.quantiles.choose import PLAIN, SIDED, grid_tables
from inbounds.design.quantiles.search import PlainScores, ScoreErrors, SidedScores
from inbounds.mechanism.expected_channel import draw_groups_from_prior
from inbounds.mechanism.laws import PermuteAndFlip, SidedPermuteAndFlip
from raising import rejects

from .test_choice import errors_of

SMALL = ib.QuantileSearch(
    family=ib.RecordFamily(each=4),
    grid=ib.ScoreGrid(steepness=(0.0, 1.0), paces=(17, 20, 23), spreads=(8, 4), levels=(0.0, 0.5)),
    max_columns=0,
)
"""A search of so few tables and groups that all of them can be certified."""

QUERIES = [
    ib.quantile(1, 0, 29, size=12),
    ib.quantile("1/10", 0, 19, size=9),
    ib.median(5, 12, size=15),
    ib.median(0, 40, size=3),
    ib.quantile("9/10", 0, 9, maximum=16),  # a power of two: secret sizes up to the next one share its search
    ib.median(0, 9, size=12, records=2),
]


def everything_certified(query, epsilon, search, groups):
    """Every table of the grid as a mechanism, and its errors from the probabilities of its reports."""
    made = [table.design(query, Fraction(epsilon)) for _, table in grid_tables(query, search)]
    return [(mechanism, errors_of(mechanism, groups)) for mechanism in made]


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1/5", pytest.param("1", marks=pytest.mark.slow), "3"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_choice_is_the_least_objective_among_the_tables_that_keep_the_guard(query, epsilon):
    groups = SMALL.family(query)
    plain = ib.design_permute_flip(query, epsilon)
    base = errors_of(plain, groups)
    kept = [(plain, 1.0)]
    for mechanism, found in everything_certified(query, epsilon, SMALL, groups):
        if (found <= SMALL.guard * base + SMALL.negligible).all():
            ratios = (found + SMALL.negligible) / (base + SMALL.negligible)
            kept.append((mechanism, np.exp(np.log(ratios).mean())))
    chosen = ib.design_quantile(query, epsilon, search=SMALL)
    least = min(error for _, error in kept)
    assert min(chosen.errors.values()) == pytest.approx(least, rel=1e-6)
    assert min(error for mechanism, error in kept if mechanism == chosen.mechanism) == pytest.approx(least, rel=1e-6)


def test_with_a_prior_the_choice_is_the_least_mean_error_and_there_is_no_guard():
    query, prior = ib.quantile(1, 0, 29, size=12), np.arange(30, 0, -1.0)
    groups = draw_groups_from_prior(prior / prior.sum(), query.at, 12, SMALL.prior_groups, np.random.default_rng(12))
    tables = everything_certified(query, 1, SMALL, groups)
    chosen = ib.design_quantile(query, 1, prior=prior, search=SMALL).mechanism
    assert chosen == min(tables, key=lambda table: table[1].mean())[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "epsilon"),
    [*zip([*QUERIES, ib.median(0, 600, size=40), ib.quantile(1, 0, 5, size=5000)], ["1/5", "4"] * 4, strict=True)],
)
def test_errors_by_runs_of_outputs_are_those_of_the_probabilities(query, epsilon):
    errors = ScoreErrors(query, Fraction(epsilon), SMALL.family, SMALL.grid)
    for _, table in grid_tables(query, SMALL):
        mechanism = table.design(query, Fraction(epsilon))
        assert np.allclose(errors.of(table), errors_of(mechanism, errors.groups), rtol=1e-7, atol=2e-6)


def test_a_table_is_given_up_exactly_if_it_is_above_a_limit_on_some_group():
    errors = ScoreErrors(ib.median(0, 200, size=900), Fraction(1, 10), ib.RecordFamily(), SMALL.grid)
    assert len(errors.blocks) > 1
    assert sorted(np.concatenate([place for place, _ in errors.blocks])) == list(range(len(errors.groups)))
    found = errors.of(PlainScores())
    assert np.array_equal(errors.within(PlainScores(), found), found)
    for k in range(0, len(found), 31):
        assert errors.within(PlainScores(), np.where(np.arange(len(found)) == k, found - 1e-9, found)) is None


def test_another_family_makes_another_choice():
    query = ib.quantile(1, 0, 99, size=16)

    def agreeing(asked):
        """All records at one value."""
        return asked.size * np.eye(len(asked.values), dtype=np.int64)

    def reaching_up(asked):
        """Records spread evenly from some value to the end of the range."""
        last = asked.width
        runs = [np.linspace(low, last, asked.size).astype(int) for low in range(0, last, 3)]
        return np.array([np.bincount(run, minlength=last + 1) for run in runs])

    laws = [
        ib.design_quantile(query, 1, search=ib.QuantileSearch(family=family)).mechanism.law
        for family in (agreeing, reaching_up)
    ]
    assert laws[0] != laws[1]
    groups = [family(query) for family in (agreeing, reaching_up)]
    errors = np.array([[errors_of_law(query, law, own).mean() for law in laws] for own in groups])
    assert errors.argmin(axis=1).tolist() == [0, 1]


def errors_of_law(query, law, groups):
    distances = np.abs(np.arange(query.width + 1) - query.true_positions(groups)[:, None])
    return (law.probabilities(query, groups) * distances).sum(axis=1)


@pytest.mark.parametrize("query", [ib.quantile(1, 0, 100, size=30), ib.median(0, 20, maximum=40)])
def test_the_same_question_gets_the_same_design(query):
    first = ib.design_quantile(query, 1)
    choose._choose.cache_clear()
    assert ib.design_quantile(query, 1) == first


def test_the_scale_of_the_values_does_not_matter():
    plain, scaled = ib.quantile(1, 0, 50, size=30), ib.quantile(1, -5, 20, size=30, step="1/2", missing=7)
    assert ib.design_quantile(plain, 1).mechanism.law == ib.design_quantile(scaled, 1).mechanism.law


@pytest.mark.parametrize(("size", "epsilon"), [(10, "4"), (30, "1"), (100, "0.2")])
def test_minima_mirror_maxima(size, epsilon):
    laws = [ib.design_quantile(ib.quantile(at, 0, 60, size=size), epsilon).mechanism.law for at in (0, 1)]
    if isinstance(laws[0], SidedPermuteAndFlip):
        assert (laws[0].below, laws[0].above) == (laws[1].above, laws[1].below)
    else:
        assert laws[0] == laws[1]


def test_a_wider_guard_makes_the_objective_no_larger():
    query = ib.quantile(1, 0, 99, size=20)
    errors = [
        min(ib.design_quantile(query, 1, search=ib.QuantileSearch(guard=guard)).errors.values())
        for guard in (1, 1.02, 1.2, 10)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


def test_the_best_sided_table_is_the_choice_where_sided_tables_are_better():
    query = ib.quantile(1, 0, 100, size=150)
    chosen = ib.design_quantile(query, "1/5")
    assert chosen.errors[SIDED] < chosen.errors[PLAIN]
    assert chosen.mechanism == ib.design_sided(query, "1/5")
    assert str(chosen).startswith("sided path scores: ")


@pytest.mark.parametrize("query", [ib.median(0, 99, maximum=30), ib.median(0, 99, size=30, records=2)])
def test_secret_sizes_and_persons_with_several_records_get_plain_tables(query):
    chosen = ib.design_quantile(query, 1)
    assert isinstance(chosen.mechanism.law, PermuteAndFlip)
    assert set(chosen.errors) == {PLAIN}


def test_nearby_sizes_share_one_search():
    search = ib.QuantileSearch()
    sizes = range(1, 3000)
    shared = [search.representative(ib.median(0, 9, size=size)).size for size in sizes]
    assert shared[:15] == list(range(1, 16))
    assert max(abs(own - size) / size for own, size in zip(shared, sizes, strict=True)) <= 1 / 16
    assert all(len({own for own in shared if 2**k < own <= 2 ** (k + 1)}) <= 8 for k in range(12))
    choose._choose.cache_clear()
    designs = [ib.design_quantile(ib.median(0, 9, size=size), 1).mechanism for size in range(190, 200)]
    assert choose._choose.cache_info().misses == 1
    assert [design.query.size for design in designs] == list(range(190, 200))


def test_what_is_no_grid_or_objective_is_refused(golden):
    golden.errors(
        "wrong_score_grids",
        [
            lambda: ib.ScoreGrid(steepness=(1.1,)),
            lambda: ib.ScoreGrid(paces=(0,)),
            lambda: ib.ScoreGrid(paces=(40,)),
            lambda: ib.ScoreGrid(spreads=(0,)),
            lambda: ib.ScoreGrid(levels=(-0.1,)),
            lambda: ib.QuantileSearch(guard=0.99),
            lambda: ib.QuantileSearch(negligible=0),
            lambda: ib.QuantileSearch(size_bits=0),
            lambda: ib.design_permute_flip(QUERIES[0], 1, steepness=2),
        ],
    )


def test_a_family_of_other_groups_is_refused():
    search = ib.QuantileSearch(family=lambda query: np.ones((3, 2), dtype=np.int64))
    with rejects(ValueError, about="groups × 101"):
        ib.design_quantile(ib.median(0, 100, size=2), 1, search=search)


def test_every_sided_table_of_the_grid_is_private():
    query, epsilon = ib.quantile(1, 0, 99, size=30), Fraction(1)
    for sides in ib.ScoreGrid().sides(100):
        SidedScores(*sides).design(query, epsilon)

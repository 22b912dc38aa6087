"""The door: however a caller computed a true answer, it lands where the promise says, and nothing valid is refused.

Databases that differ in one record are made, their answers computed as a careless caller would, and the columns of a
certified mechanism at the two positions compared in exact integers.
"""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.query import with_neighbours
from inbounds.trusted.bounds import EXP_BITS, exp_lower_bound
from inbounds.trusted.positions import RoundingEncoder
from inbounds.trusted.scale import Scale
from raising import rejects

RNG = 20240131


def assert_private(mechanism: ib.Mechanism, first, second) -> None:
    """Every pair of columns that occurs is within exp(epsilon), in whole numbers."""
    p = exp_lower_bound(mechanism.epsilon)
    weights = mechanism.weights.astype(object)
    for a, b in sorted(set(zip(first.tolist(), second.tolist(), strict=True))):
        assert (weights[:, a] << EXP_BITS <= p * weights[:, b]).all()
        assert (weights[:, b] << EXP_BITS <= p * weights[:, a]).all()


# --- careless callers -------------------------------------------------------------------------------------


def in_order(data):
    """A loop that adds one after the other."""
    return np.add.accumulate(data, axis=1)[:, -1]


def shuffled(data):
    order = np.random.default_rng(RNG).permutation(data.shape[1])
    return in_order(data[:, order])


def backwards(data):
    return in_order(data[:, ::-1])


SUMS = {"in order": in_order, "backwards": backwards, "shuffled": shuffled, "pairwise": lambda d: d.sum(axis=1)}
PAIRS = 3_000
"""Pairs of neighbouring databases for each setting and way to add: 8 settings × 4 ways make 96,000."""


def neighbouring(rng, pairs: int, size: int, values):
    """Random databases, and each with one record replaced; half of the replacements go from one end to the other."""
    first = rng.choice(values, size=(pairs, size))
    second = first.copy()
    who = rng.integers(size, size=pairs)
    first[: pairs // 2, 0], second[: pairs // 2, 0] = values[0], values[-1]
    rest = np.arange(pairs // 2, pairs)
    second[rest, who[rest]] = rng.choice(values, size=len(rest))
    return first, second


@pytest.mark.parametrize("way", SUMS)
@pytest.mark.parametrize(
    ("size", "unit", "low", "high"),
    [
        (10, "0.1", 0, 1),
        (20, "0.1", 0, 5),
        (7, "1/7", -1, 1),
        (13, "0.05", "0.15", "0.95"),
        (400, "0.01", 0, 1),
        (25, "0.2", 1, 5),
        (9, "1/3", -3, 3),
        (50, "0.7", "-0.7", "6.3"),
    ],
)
def test_float_sums_of_neighbouring_databases_stay_within_the_promise(size, unit, low, high, way):
    """Sums that one record moves by high - low, in any order of adding; the answers are within the allowance."""
    rng = np.random.default_rng(RNG)
    least, most, step = Fraction(low), Fraction(high), Fraction(unit)
    values = np.array([float(least + k * step) for k in range(int((most - least) / step) + 1)])
    query = ib.interval(size * least, size * most, most - least, size)
    mechanism = ib.catalog.truncated_geometric(query, 1)
    first, second = (SUMS[way](data) for data in neighbouring(rng, PAIRS, size, values))
    apart = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    assert max(apart) <= query.sensitivity + query.allowance
    assert_private(mechanism, query.encode(first), query.encode(second))


@pytest.mark.parametrize(("size", "cells"), [(3, 10), (10, 10), (49, 1), (49, 3), (100, 1), (100, 3), (387, 1)])
def test_shares_of_neighbouring_databases_stay_within_the_promise(size, cells):
    """k/n and (k+1)/n for every k, as floats, as NumPy means, as Decimals and as Fractions."""
    query = ib.interval(0, 1, Fraction(1, size), size * cells)
    mechanism = ib.catalog.truncated_geometric(query, 1)
    ones = np.tri(size + 1, size, -1)
    for answers in (
        np.array([k / size for k in range(size + 1)]),
        ones.mean(axis=1),
        [Decimal(k) / size for k in range(size + 1)],
        [Fraction(k, size) for k in range(size + 1)],
        [str(Fraction(k, size)) for k in range(size + 1)],
    ):
        places = query.encode(answers)
        assert_private(mechanism, places[:-1], places[1:])


def test_an_interval_keeps_decimal_steps_within_the_reach():
    """0.3 and 0.4 are less than 0.1 apart as floats go, and lie on the edges of cells."""
    query = ib.interval(0, 1, 0.1, 10)
    for a, b in ((0.3, 0.4), (0.1, 0.2), (0.6, 0.7), (0.1 + 0.2, 0.4)):
        assert abs(int(query.encode(a)) - int(query.encode(b))) <= 1
    tenths = ib.interval(0, 100, 5, cells=20)
    assert abs(int(tenths.encode(39.99999999999999)) - int(tenths.encode(45.0))) <= 1


def test_every_share_of_a_group_stays_within_the_reach():
    for size in range(2, 400):
        places = ib.interval(0, 1, Fraction(1, size), size).encode(np.arange(size + 1) / size)
        assert np.abs(np.diff(places)).max() <= 1, size


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_answers_within_sensitivity_and_allowance_land_within_the_reach(data):
    """The theorem itself, on exact numbers at the very edges."""
    low, width = data.draw(st.fractions(-5, 5, max_denominator=30)), data.draw(st.fractions("1/50", 4))
    cells = data.draw(st.integers(2, 30))
    sensitivity = width * data.draw(st.fractions("1/10", cells, max_denominator=12))
    query = ib.interval(low, low + cells * width, sensitivity, cells)
    most = query.sensitivity if query.sensitivity < query.answers.span else sensitivity
    x = (
        low
        + query.cell * data.draw(st.integers(0, cells))
        + data.draw(st.sampled_from([0, -1, 1])) * Fraction(1, 10**30)
    )
    y = x + data.draw(st.sampled_from([-1, 1])) * (most + query.allowance)
    inside = [v for v in (x, y) if low <= v <= low + cells * width]
    if len(inside) == 2:
        first, second = query.encode(inside).tolist()
        assert abs(first - second) <= query.neighbours.steps


def test_the_allowance_is_tight():
    """A hair more than sensitivity + allowance does land further apart: the cells are no wider than they must be."""
    query = ib.interval(0, 10, 2, 5)
    hair = Fraction(1, 10**30)
    apart = query.encode([query.cell - hair, query.cell + query.sensitivity + query.allowance])
    assert query.allowance == Fraction(2, 2**20)
    assert apart[1] - apart[0] == query.neighbours.steps + 1


# --- whole numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 2**53 - 50, 2**60, 2**63 - 40, 2**63 + 5, 2**70, -(2**63) - 60, -(2**53) - 20])
def test_whole_numbers_never_pass_through_floats(start):
    """Grids and intervals far beyond 2^53 and 2^63, from lists, arrays and mixed lists."""
    low, high = Fraction(2 * start - 1, 2), Fraction(2 * start + 199, 2)
    for query in (ib.total(1, start, start + 99), ib.interval(low, high, 1, 100, allowance=0)):
        values = [start + k for k in range(100)]
        assert query.encode(values).tolist() == list(range(100))
        assert query.encode(np.array(values, dtype=object)).tolist() == list(range(100))
        assert [int(query.encode(v)) for v in values] == list(range(100))
        for kind in (np.int64, np.uint64):
            if np.iinfo(kind).min <= start and start + 99 <= np.iinfo(kind).max:
                assert query.encode(np.array(values, dtype=kind)).tolist() == list(range(100))
    spare = ib.interval(low, high, 1, 100)
    places = spare.encode(values)
    assert np.abs(np.diff(places)).max() <= 1
    assert np.abs(places - np.arange(100)).max() <= 1


def test_neighbouring_whole_numbers_give_overlapping_reports_everywhere():
    lo = 2**60
    query = ib.interval(Fraction(2 * lo - 1, 2), Fraction(2 * lo + 399, 2), 1, 200)
    mechanism = ib.catalog.truncated_geometric(query, 1)
    draws = [{mechanism.sample(lo + k, clip=True) for _ in range(300)} for k in (128, 129)]
    assert draws[0] & draws[1]
    assert abs(int(query.encode(lo + 128)) - int(query.encode(lo + 129))) <= 1


def test_a_list_that_mixes_whole_numbers_and_floats_keeps_the_whole_ones():
    query = ib.interval(2**53 - 50, 2**53 + 50, 1, 100, allowance=0)
    assert query.encode([2**53 + 1, 2**53 + 2, 2.0**53]).tolist() == [51, 52, 50]


def test_randomise_clips_exactly():
    query = ib.total(1, 2**60, 2**60 + 9)
    assert query.encode([2**60 - 1, 2**60 + 3, 2**60 + 10, 2**80, -(2**80)], clip=True).tolist() == [0, 3, 9, 9, 0]
    real = ib.interval(0, 10, 1, 10)
    assert real.encode([-math.inf, -1, 3.5, 11, math.inf], clip=True).tolist() == [0, 0, 3, 9, 9]
    assert real.encode([Fraction(-1), Decimal(99), "1/3"], clip=True).tolist() == [0, 9, 0]
    with rejects(ValueError, "true answers"):
        real.encode(math.nan, clip=True)


# --- means and sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "low", "high"), [(10**5, 0, 10**6), (7, 0, 10**9), (3, -(10**12), 10**12), (1000, 1, 5)]
)
def test_every_valid_mean_is_placed_exactly(size, low, high):
    """sum / size in floats, as a Fraction and as a Decimal: none is refused, none is moved."""
    query = ib.mean(size, low, high)
    rng = np.random.default_rng(RNG)
    ticks = [0, 1, size * (high - low), *(int(k) for k in rng.integers(0, size * (high - low), size=2000))]
    sums = [size * low + k for k in ticks]
    assert query.encode([total / size for total in sums]).tolist() == ticks
    assert query.encode([Fraction(total, size) for total in sums]).tolist() == ticks
    assert query.encode([Decimal(total) / size for total in sums]).tolist() == ticks


def test_means_of_neighbouring_databases_stay_within_the_promise():
    """All databases of 4 people on 1..5, each replacement of one of them, as Python and NumPy means."""
    query = ib.mean(4, 1, 5)
    mechanism = ib.catalog.truncated_geometric(query, "0.5")
    people = np.array(list(product(range(1, 6), repeat=4)))
    for who, value in product(range(4), range(1, 6)):
        other = people.copy()
        other[:, who] = value
        for mean in (
            lambda d: d.mean(axis=1),
            lambda d: d.sum(axis=1) / 4,
            lambda d: d.astype(np.float32).mean(axis=1),
            lambda d: [Decimal(int(s)) / 4 for s in d.sum(axis=1)],
        ):
            assert_private(mechanism, query.encode(mean(people)), query.encode(mean(other)))


@pytest.mark.parametrize("low", [0, 2**53, 2**63, -(2**80)])
def test_totals_of_neighbouring_databases_stay_within_the_promise(low):
    """Sums of whole numbers beyond 2^53 and 2^63: exact as Python ints."""
    query, rng = ib.total(3, low, low + 6), np.random.default_rng(RNG)
    mechanism = ib.catalog.truncated_geometric(query, 1)
    people = rng.integers(0, 7, size=(4000, 3)).tolist()
    first = [sum(low + v for v in row) for row in people]
    second = [sum(low + v for v in [*row[:2], 6 - row[2]]) for row in people]
    assert_private(mechanism, query.encode(first), query.encode(second))


def test_floats_that_cannot_tell_answers_apart_are_refused_by_type_and_query_alone():
    fine = ib.total(1, 2**53, 2**53 + 100)
    for value in (float(2**53), 2.0**53 + 64, 1.5):
        with rejects(ValueError, about="float64"):
            fine.encode(value)
    assert fine.encode(2**53 + 1) == 1


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_short_floats_are_refused_where_their_rounding_may_exceed_the_allowance(kind):
    query = ib.interval(0, 1000, "0.5", 2000)
    for value in (kind(0), kind(3), kind(7.5)):
        with rejects(ValueError, about="allowance"):
            query.encode(value)
        with rejects(ValueError, about="allowance"):
            query.encode(np.array([value]))
    assert ib.interval(0, 1, 1, 4).encode(np.float32(0.75)) == 2
    assert ib.interval(0, 1000, "0.5", 2000, allowance=0).encode(kind(3)) == 6


# --- what callers hold ------------------------------------------------------------------------------------


def columns():
    pa, pd, pl = pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), pytest.importorskip("polars")
    wholes = [2**60 + k for k in (0, 3, 9)]
    return {
        "arrow int64": pa.array(wholes),
        "arrow chunked": pa.chunked_array([wholes[:1], wholes[1:]]),
        "arrow decimal": pa.array([Decimal(v) for v in wholes]),
        "pandas int64": pd.Series(wholes),
        "pandas nullable": pd.Series(wholes, dtype="Int64"),
        "pandas arrow": pd.Series(wholes, dtype="int64[pyarrow]"),
        "pandas object": pd.Series(wholes, dtype=object),
        "polars int64": pl.Series(wholes),
        "polars uint64": pl.Series(wholes, dtype=pl.UInt64),
        "polars decimal": pl.Series([Decimal(v) for v in wholes]),
        "text": [str(v) for v in wholes],
        "text array": np.array([str(v) for v in wholes]),
        "numpy scalars": [np.int64(wholes[0]), np.uint64(wholes[1]), wholes[2]],
        "nested": [[v] for v in wholes],
        "long double": np.array(wholes, dtype=np.longdouble),
    }


@pytest.mark.parametrize("kind", columns())
def test_columns_of_every_engine_reach_the_mechanism_exactly(kind):
    values = columns()[kind]
    exactly = ib.total(1, 2**60, 2**60 + 9)
    rounded = ib.interval(2**60 - Fraction(1, 2), 2**60 + Fraction(19, 2), 1, 10, allowance=0)
    if kind == "long double":
        assert rounded.encode(values).ravel().tolist() == [0, 3, 9]
        return
    assert exactly.encode(values).ravel().tolist() == [0, 3, 9]
    assert rounded.encode(values).ravel().tolist() == [0, 3, 9]


def test_numbers_that_would_fill_the_memory_are_no_answers():
    assert ib.interval(0, 1, 1, 2).encode(Decimal("1e-999999999")) == 0
    below = Decimal("-1e-999999999") - 1
    for value in (Decimal("1e999999999"), below, Decimal("nan"), Decimal("sNaN"), Decimal("-inf")):
        with rejects(ValueError, "true answers"):
            ib.interval(0, 1, 1, 2).encode(value)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([(0, 10, 2, 5), ("1/3", "7/3", "1/9", 18), (-5, 5, "0.3", 40), (2**52, 2**52 + 8, 1, 8)]),
    st.lists(st.integers(-3, 3), min_size=1, max_size=4),
    st.integers(0, 40),
    st.booleans(),
)
def test_arrays_and_single_numbers_are_placed_alike(bounds, ulps, edge, clip):
    """The vectorised tables and the exact comparison are two computations of one function."""
    query = ib.interval(*bounds, allowance=0) if bounds[0] == 2**52 else ib.interval(*bounds)
    low = query.answers[0] - query.answers.unit / 2
    near = float(low + query.cell * min(edge, len(query.answers)))
    values = [near + k * math.ulp(near) for k in ulps]
    door = query.encoder
    one_by_one = [int(door.positions(Fraction(v), clip=clip)) for v in values]
    assert door.positions(np.array(values), clip=clip).tolist() == one_by_one
    wholes = [math.floor(v) for v in values]
    exact = [int(door.positions(Fraction(v), clip=clip)) for v in wholes]
    assert door.positions(np.array(wholes, dtype=np.int64), clip=clip).tolist() == exact
    if min(wholes) >= 0:
        assert door.positions(np.array(wholes, dtype=np.uint64), clip=clip).tolist() == exact


@pytest.mark.parametrize("beside", [Fraction(1, 4), Fraction(-1, 4), Fraction(1, 1000), Fraction(-1, 1000)])
def test_a_number_beside_an_answer_is_no_answer_on_either_side(beside):
    """Were one side forgiving, a value could be given for its neighbour's, with the reports of another answer."""
    query, value = ib.count(5), 3 + beside
    for beyond in (value, Decimal(str(float(value))), float(value), np.array([float(value)]), [value, Fraction(1)]):
        assert np.ravel(query.encoder.positions(beyond))[0] == -1
    assert int(query.encoder.positions(Fraction(3))) == 3


SHARES = st.fractions(Fraction(-40), Fraction(40), max_denominator=60)


@settings(max_examples=120, deadline=None)
@given(
    SHARES,
    st.fractions(Fraction(1, 50), Fraction(30), max_denominator=50),
    st.integers(2, 60),
    st.fractions(Fraction(1, 10**6), Fraction(1), max_denominator=10**6),
    st.fractions(Fraction(0), Fraction(1, 1 << 10), max_denominator=10**7),
    st.lists(st.tuples(st.integers(-1, 61), st.sampled_from([-1, 0, 1])), min_size=1, max_size=6),
    st.booleans(),
)
def test_the_floor_of_even_cells_is_what_the_written_out_edges_say(low, width, cells, share, spare, near, clip):
    """The cell of an answer in one division, against a search among all edges, on and right beside every edge."""
    moved = max(width * share, width / 10**6)
    query = ib.interval(low, low + width, moved, cells, allowance=spare * moved)
    door, hair = query.encoder, Fraction(1, 10**30)
    assert door._even
    ends = [door.low - door.allowance, door.high + door.allowance, door.high]
    edges = [low + k * query.cell for k, _ in near]
    for edge, (_, side) in zip([*edges, *ends], [*near, (0, -1), (0, 1), (0, 0)], strict=True):
        value = edge + side * hair
        assert door._encode_exact(value, clip) == searched(door, value, clip)
        if math.isfinite(float(value)):
            rounded = float(value)
            assert door._encode_exact(rounded, clip) == searched(door, Fraction(rounded), clip)


def searched(door, value: Fraction, clip: bool) -> int:
    """The position by the edges of `StepTable`, every one a Fraction."""
    if value < door.low - door.allowance:
        return 0 if clip else -1
    if value > door.high + door.allowance:
        return len(door.scale) - 1 if clip else -1
    edges = [Fraction(edge, door.common) for edge in door.steps.edges]
    return int(door.steps.positions[max(k for k, edge in enumerate(edges) if edge <= value)])


def test_few_answers_of_a_fine_interval_are_placed_like_many_and_write_no_edges_out():
    query = ib.interval(-1, 2, "0.01", 20_000)
    near = [float(query.encoder.low + k * query.cell) for k in range(0, 20_001, 97)]
    values = np.array([v for x in near for v in (math.nextafter(x, -9), x, math.nextafter(x, 9))])
    outside = np.array([-9.0, 9.0, math.nan, math.inf, -math.inf])
    for answers in (values, outside):
        few = query.encoder.positions(answers, clip=True)
        assert "steps" not in vars(query.encoder)
        many = replace(query).encoder.positions(np.concatenate([answers, np.zeros(20_000)]), clip=True)
        assert few.tolist() == many[: len(answers)].tolist()


def test_a_hole_in_a_fine_interval_is_found_by_few_answers_as_by_many():
    query = ib.interval(0, 1, "0.01", 10_000, holes=[("0.25", "0.5")])
    assert not query.encoder._even
    values = np.array([0.2, 0.2499999, 0.3, 0.4999, 0.5, 0.75])
    many = query.encoder.positions(np.concatenate([values, np.zeros(10_000)]))
    assert query.encoder.positions(values).tolist() == many[:6].tolist()
    assert [query.encoder._encode_exact(v, clip=False) for v in values.tolist()] == many[:6].tolist()
    assert many[2] == -1


# --- holes ------------------------------------------------------------------------------------------------


def test_a_hole_that_nobody_crosses_keeps_its_cells_and_its_edges_are_forgiving():
    query = ib.interval(0, 24, 1, 24, holes=[(8, 16)])
    spare = float(query.allowance) / 2
    assert len(query.answers) == 16
    assert query.cuts == (7,)
    assert query.encode([7.999, 8 + spare, 16 - spare, 16, 16.5]).tolist() == [7, 7, 8, 8, 8]
    with rejects(ValueError, "true answers"):
        query.encode(8.001)


def test_a_hole_that_neighbours_cross_keeps_the_cell_that_reaches_beyond_it():
    query = ib.interval(0, 12, 3, 12, holes=[(4, 6)])
    assert [int(a - Fraction(1, 2)) for a in query.answers] == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11]
    hair = Fraction(1, 10**30)
    values = [Fraction(k, 8) + e for k in range(97) for e in (-hair, 0, hair)]
    valid = [v for v in values if 0 <= v <= 12 and not 4 <= v < 6]
    places = {v: int(query.answers[int(query.encode(v))] - Fraction(1, 2)) for v in valid}
    for x in valid:
        for y in valid:
            if abs(x - y) <= 3 + query.allowance:
                assert abs(places[x] - places[y]) <= query.neighbours.steps


def test_no_allowance_keeps_the_nominal_cells():
    query = ib.interval(0, 12, 3, 12, holes=[(4, 6)], allowance=0)
    assert len(query.answers) == 10
    assert query.cell == query.answers.unit


# --- what is said -----------------------------------------------------------------------------------------


def test_a_ratio_within_a_radius_counts_the_rounding():
    """0.4999 and 0.5001 lie in two cells, however close they are."""
    mechanism = ib.catalog.truncated_geometric(ib.interval(0, 1, "0.1", 10, allowance=0), 1)
    found = ib.local.local_guarantee(mechanism)
    a, b = mechanism.query.encode([0.4999, 0.5001])
    really = (mechanism.matrix[:, a] / mechanism.matrix[:, b]).max()
    assert found.ratio("0.05") >= really > 2.7
    assert found.ratio("0.1") == found.ratio("0.05") < found.ratio("0.11")
    assert found.radius(3) == Fraction(1, 10)
    assert found.radius(2) == 0


def test_metric_privacy_of_rounded_values_says_what_it_promises():
    query = with_neighbours(ib.interval(0, 1, "0.1", 10), ib.Metric(Fraction(1)))
    mechanism = ib.catalog.truncated_geometric(query, 5)
    found = ib.local.local_guarantee(mechanism)
    assert found.per_unit == math.inf
    assert found.ratio("0.01") == pytest.approx(math.exp(0.5))
    assert "values are first rounded down into cells of 1/10" in str(found)


def test_a_plan_for_rounded_values_keeps_its_ratio_within_the_radius():
    for query in (ib.interval(0, 1, 1, 10), ib.interval(0, 10, 1, 25), ib.ordinal(0, 20)):
        plan = ib.local.plan_collection(query, ratio=2, radius=1, reports=100, runs=2)
        for kind in ("geometric", "randomized_response"):
            assert ib.local.local_guarantee(plan.mechanism(kind)).ratio(1) <= 2 * (1 + 1e-9)


def test_an_interval_without_allowance_says_that_answers_must_be_exact(tmp_path):
    from inbounds.report.wording import format_guarantee

    old = ib.catalog.truncated_geometric(ib.interval(0, 1, "0.1", 10, allowance=0), 1)
    new = ib.catalog.truncated_geometric(ib.interval(0, 1, "0.1", 10), 1)
    assert "makes no allowance for the rounding" in format_guarantee(old)
    assert "allowance" not in format_guarantee(new)
    new.save(tmp_path / "m.json")
    assert ib.load(tmp_path / "m.json").query.allowance == Fraction(1, 10 * 2**20)


@pytest.mark.parametrize("allowance", [-1, "1/100", "1/2", math.nan])
def test_an_odd_allowance_is_refused(allowance):
    with rejects(ValueError, "allowance"):
        ib.interval(0, 10, 1, 10, allowance=allowance)


# --- what a hostile reader of this page tried -------------------------------------------------------------


def test_arrow_scalars_are_the_numbers_they_hold():
    """A sum by Arrow is a scalar of Arrow, which knows how to become a float; it must not."""
    pa, pc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.compute")
    lo = 2**60
    query = ib.interval(Fraction(2 * lo - 1, 2), Fraction(2 * lo + 399, 2), 1, 200, allowance=0)
    assert [int(query.encode(pc.sum(pa.array([lo, k])))) for k in (0, 28, 129)] == [0, 28, 129]
    assert int(ib.total(2000, 2**51, 2**51 + 1).encode(pa.scalar(2000 * 2**51 + 129))) == 129
    assert int(ib.interval(0, 1, "0.1", 10).encode(pa.scalar(Decimal("0.35")))) == 3
    with rejects(ValueError, "float32"):
        ib.interval(1000, 1100, "0.1", 1000).encode(pa.scalar(1000.3, pa.float32()))
    with rejects(ValueError, "true answers"):
        query.encode(pa.scalar(None, pa.int64()))


class OnlyIndex:
    """A whole number of somebody else's."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_foreign_whole_numbers_are_whole_numbers():
    query = ib.total(1, 2**60, 2**60 + 9)
    assert query.encode([OnlyIndex(2**60 + 3), 2**60]).tolist() == [3, 0]


@pytest.mark.parametrize("wrap", [lambda f: [f], lambda f: [list(f)], lambda f: memoryview(f), lambda f: [f[0], 3.0]])
def test_short_floats_stay_short_inside_lists_and_buffers(wrap):
    short = np.array([1000 + k / 10 for k in range(10)], dtype=np.float32)
    with rejects(ValueError, "float32"):
        ib.interval(1000, 1100, "0.1", 1000).encode(wrap(short))


def test_cells_that_drift_past_a_cut_stay_in_order():
    """A large allowance over thousands of cells: the run before the hole ends where the hole begins."""
    query = ib.interval(0, 3000, 1, 3000, holes=[(2980, 2981)], allowance=Fraction(1, 1024))
    edges = query.encoder.steps.edges
    assert all(a < b for a, b in pairwise(edges))
    below, *above = (query.answers.ticks[int(query.encode(v))] for v in (2979, 2981, 2982, 2983.5))
    assert below < 2980
    assert above == [2981, 2981, 2983]


def test_answers_beyond_a_hole_that_neighbours_cross_are_never_refused():
    query = ib.interval(0, 10_000, 4, 10_000, holes=[(5000, 5003)], allowance=Fraction(4, 1024))
    values = [Fraction(k, 4) for k in range(4 * 4990, 4 * 5030) if not 5000 <= Fraction(k, 4) < 5003]
    ticks = [query.answers.ticks[j] for j in query.encode(values).tolist()]
    for (x, i), (y, j) in product(list(zip(values, ticks, strict=True))[::3], zip(values, ticks, strict=True)):
        if abs(x - y) <= 4 + query.allowance:
            assert abs(i - j) <= query.neighbours.steps


def test_other_neighbours_must_leave_the_holes_as_they_are():
    holed = ib.interval(0, 10, 1, 10, holes=[(4, 6)])
    with rejects(ValueError, "neighbours"):
        with_neighbours(holed, ib.Reach(5))
    assert with_neighbours(holed, ib.AllPairs()).allowance == 0


@pytest.mark.parametrize("value", ["12." + "0" * 10_001, "12", "0012.0", "1.2e1", "1200e-2"])
def test_equal_decimals_land_alike_however_long(value):
    query = ib.interval(0, 100, 1, 100)
    for answer in (Decimal(value), value):
        assert int(query.encode(answer)) == int(query.encode(answer, clip=True)) == int(query.encode(12))


@pytest.mark.parametrize(
    ("value", "place"),
    [("0e20000", 0), ("-0e-20000", 0), ("1e-10001", 0), ("1e10001", 99), ("-1e999999", 0), ("9" * 41, 99)],
)
def test_huge_and_tiny_decimals_are_clipped_by_their_size(value, place):
    query = ib.interval(0, 100, 1, 100)
    assert int(query.encode(Decimal(value), clip=True)) == int(query.encode(value, clip=True)) == place


def test_a_single_number_is_clipped_like_a_list_of_one():
    query = ib.total(3, 2**62, 2**62 + 50)
    for value in (5, "5", Fraction(5), 2**64, 2**80):
        assert query.encode(value, clip=True) == query.encode([value], clip=True)[0]


def test_tables_and_masked_arrays_are_refused():
    pd, pl, pa = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for table in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})):
        with rejects(TypeError, about="column"):
            ib.count(5).encode(table)
    with rejects(ValueError, "values", about="missing"):
        ib.count(5).encode(np.ma.array([3, 4], mask=[True, False]))


def test_one_long_text_does_not_widen_all_others():
    labels = ib.category(["a", "b"])
    with rejects(ValueError, "true answers"):
        labels.encode(["a"] * 20_000 + ["x" * 20_000])
    with rejects(ValueError, "true answers"):
        labels.encode(["a\0"])


class Talkative:
    """Its errors say what it holds."""

    def __float__(self) -> float:
        raise RuntimeError("31337")


def test_errors_of_foreign_numbers_do_not_get_through():
    with rejects(TypeError, about="answers") as caught:
        ib.count(5).encode([Talkative()])
    assert caught.value.__context__ is None


def test_ratios_across_a_cut_are_not_better_than_they_are():
    """Answers in a hole count to its edges: 4.0 and 6.0 land four cells apart, though two would fit between them."""
    query = ib.interval(0, 10, 1, 10, holes=[(4, 6)])
    mechanism = ib.catalog.truncated_geometric(query, 1)
    found = ib.local.local_guarantee(mechanism)
    values = [Fraction(k, 8) + e * query.allowance / 2 for k in range(81) for e in (-1, 0, 1)]
    valid = [v for v in values if 0 <= v <= 10 and not 4 + query.allowance < v < 6 - query.allowance]
    places = query.encode(valid)
    columns = mechanism.weights.T.tolist()
    ratios = [[max(map(Fraction, a, b)) for b in columns] for a in columns]
    for d in (Fraction(1, 4), Fraction(1), Fraction(2), Fraction(3)):
        worst = max(
            ratios[i][j]
            for x, i in zip(valid, places.tolist(), strict=True)
            for y, j in zip(valid, places.tolist(), strict=True)
            if abs(x - y) <= d and i != j
        )
        assert found.ratio(d) >= worst
    for ratio in (3, 8, 30):
        assert found.radius(ratio) == 0 or found.ratio(found.radius(ratio)) <= ratio


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        ib.count(7),
        ib.count(10**15),
        ib.mean(6, -2, 3),
        ib.total(4, -3, 2),
        ib.interval(-2, 9, 1, 22, holes=[(1, 3)]),
        ib.extreme(-3, 8),
        ib.interval(-2, 3, "1/3", 30),
        ib.interval(0, 10, 1, 10**6),
        ib.interval(0, 10, 1, 20, allowance=0),
    ],
    ids=repr,
)
def test_one_int_is_placed_like_many(query, clip):
    values = [*range(-12, 30), 10**15, 10**15 + 1, -(1 << 63), (1 << 63) - 1, 1 << 63, 10**30, -(10**30)]
    alone = [query.encoder.position(value, clip=clip) for value in values]
    for many in (values, values[:-4]):  # as objects, and as int64
        assert query.encoder.positions(many, clip=clip).tolist() == alone[: len(many)]


def test_one_int_outside_the_range_is_refused_like_many():
    with rejects(ValueError, "true answers") as alone:
        ib.count(5).encode_int(77)
    with rejects(ValueError, "true answers") as many:
        ib.count(5).encode([77])
    assert str(alone.value) == str(many.value)
    assert "77" not in str(alone.value)


def test_lists_of_plain_numbers_are_read_like_lists_of_any():
    """A list of ints or floats alone is converted at once; a Fraction among them makes no difference to the others."""
    query, values = ib.mean(3, 0, 2), [0, 1, 2, 2, 0]
    mixed = query.encode([*values, Fraction(1)])[:-1]
    assert query.encode(values).tolist() == query.encode(tuple(values)).tolist() == mixed.tolist()
    assert query.encode(list(map(float, values))).tolist() == mixed.tolist()
    with pytest.raises(TypeError):
        query.encode([True, False])
    with rejects(ValueError, "true answers"):
        query.encode([1, 1 << 63])


def test_floats_are_taken_that_round_by_the_allowance_and_no_others():
    scale, spacing = Scale(Fraction(0), Fraction(1), range(1001)), Fraction(float(np.spacing(np.float32(1000.5))))
    values = np.array([3, 999.9], dtype=np.float32)
    exact = RoundingEncoder(scale, Fraction(2), spacing).positions(values)
    assert exact.tolist() == [1, 500]
    with rejects(ValueError, "float32", about="allowance"):
        RoundingEncoder(scale, Fraction(2), spacing * Fraction(999, 1000)).positions(values)

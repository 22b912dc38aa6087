"""Queries: their answers, cells and neighbours, where a true answer falls, and what is refused."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.query import OutputCells, RangeQuery, Scale, with_neighbours, with_outputs
from raising import rejects

# --- what the constructors say ----------------------------------------------------------------------------


def test_a_count_has_one_answer_per_number_of_people_and_moves_by_one():
    query = ib.count(20)
    assert list(query.answers) == list(range(21))
    assert query.neighbours == ib.Reach(1)
    assert query.sensitivity == 1


def test_a_mean_has_steps_of_one_over_the_size_and_reaches_the_width_of_the_range():
    query = ib.mean(10, 1, 5)
    assert len(query.answers) == (5 - 1) * 10 + 1
    assert query.answers[1] - query.answers[0] == Fraction(1, 10)
    assert query.neighbours == ib.Reach(4)
    assert query.sensitivity == Fraction(4, 10)


@pytest.mark.parametrize(("size", "low", "high"), [(1, 0, 1), (3, -2, 1), (5, 1, 5)])
def test_totals_and_means_reach_exactly_what_replacing_one_person_can_do(size, low, high):
    """All tables of `size` people: the answers are those possible, the neighbours those one person apart."""
    sums = {0}
    for _ in range(size):
        sums = {s + v for s in sums for v in range(low, high + 1)}
    total, mean = ib.total(size, low, high), ib.mean(size, low, high)
    assert list(total.answers) == sorted(sums)
    assert list(mean.answers) == [Fraction(s, size) for s in sorted(sums)]
    assert total.sensitivity == high - low
    assert mean.sensitivity == Fraction(high - low, size)


def test_an_extreme_and_a_category_may_move_anywhere():
    assert ib.extreme(1, 5).neighbours == ib.AllPairs() == ib.category(["a", "b"]).neighbours
    assert ib.extreme(1, 5).sensitivity == 4


def test_an_ordinal_pays_for_every_unit_of_distance():
    query = ib.ordinal(0, 3, unit="1/2")
    assert [c.distance for c in query.cliques()] == [2, 2, 2]


def test_an_interval_knows_its_cells_by_their_middles():
    query = ib.interval(0, 10, 2, 5)
    assert list(query.answers) == [1, 3, 5, 7, 9]
    assert query.neighbours == ib.Reach(1)
    assert ib.interval(0, 10, "2.1", 5).neighbours == ib.Reach(2)
    assert ib.interval(0, 10, 10, 5).neighbours == ib.Reach(5)


def test_holes_leave_a_gap_in_the_answers():
    query = ib.interval(0, 6, 2, 6, holes=[(1, 3)])
    assert list(query.answers) == [Fraction(1, 2), Fraction(7, 2), Fraction(9, 2), Fraction(11, 2)]
    assert query.output_values.tolist() == [0.5, 3.5, 4.5, 5.5]


def test_cells_can_be_coarser_wider_or_named_one_by_one():
    assert ib.count(5, outputs=2).shape == (2, 6)
    assert ib.count(5, outputs=ib.cells(-6, 12, 9)).shape == (9, 6)
    named = ib.count(5, outputs=[(0, 2, 1), (2, 6)])
    assert named.output_values.tolist() == [1, 4]
    assert named.home_cell.tolist() == [0, 0, 1, 1, 1, 1]


def test_an_answer_on_a_shared_edge_belongs_to_the_cell_above_it():
    assert ib.count(2, outputs=[(0, 1), (1, 2)]).home_cell.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (ib.count(20), "<count: 0..20 (21 values); neighbours: one step apart>"),
        (ib.mean(2, 0, 3), "<mean: 0..3 (7 values); neighbours: at most 3 steps apart>"),
        (ib.category(["a", "b"]), "<category: 2 labels; neighbours: any two>"),
        (ib.ordinal(0, 3), "<ordinal: 0..3 (4 values); neighbours: any two, epsilon for every 1 of distance>"),
    ],
)
def test_a_query_reads_as_a_sentence(query, text):
    assert repr(query) == text


def test_queries_are_values():
    assert ib.count(5) == ib.count(5)
    assert hash(ib.count(5)) == hash(ib.count(5))
    assert ib.count(5) != ib.count(6)
    assert ib.count(5) != ib.total(5, 0, 1)
    holed = ib.interval(0, 6, 2, 6, holes=[(1, 3)])
    assert pickle.loads(pickle.dumps(holed)) == holed
    with pytest.raises(AttributeError):
        ib.count(5).kind = "mean"


def test_the_same_question_under_other_cells_or_another_promise():
    assert with_outputs(ib.count(5), 2) == ib.count(5, outputs=2)
    assert with_neighbours(ib.count(5), ib.AllPairs()).sensitivity == 5
    assert with_neighbours(ib.count(5), ib.Reach(2)).outputs == ib.count(5).outputs


def test_a_scale_through_values_is_the_coarsest_one():
    values = [Fraction(1, 2), Fraction(5, 4), Fraction(11, 4)]
    found = Scale.from_numbers(values)
    assert list(found) == values
    assert found.unit == Fraction(3, 4)
    assert found.floats().tolist() == [float(v) for v in values]


# --- where a true answer falls ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [int, float, Fraction, Decimal, np.int8, np.uint64, np.float32, np.float64])
def test_a_true_count_may_come_in_any_numeric_type(kind):
    assert ib.count(5).encode([kind(0), kind(3), kind(5)]).tolist() == [0, 3, 5]


@settings(deadline=None)
@given(st.integers(1, 50), st.integers(-5, 5), st.integers(1, 6), st.data())
def test_every_mean_computed_in_floats_finds_its_place(size, low, width, data):
    query = ib.mean(size, low, low + width)
    k = data.draw(st.integers(0, size * width))
    assert query.encode((low * size + k) / size) == k


@pytest.mark.parametrize(
    ("query", "value"),
    [
        (ib.count(5), -1),
        (ib.count(5), 6),
        (ib.count(5), 2.5),
        (ib.count(5), 3.0001),
        (ib.count(5), math.nan),
        (ib.count(5), None),
        (ib.count(5), math.inf),
        (ib.count(5), -math.inf),
        (ib.count(5), 1e308),
        (ib.count(5), 2**63),
        (ib.count(5), [1, 2, 99]),
        (ib.mean(3, 0, 2), 0.5),
        (ib.mean(3, 0, 2), math.inf),
        (ib.total(2, -1, 1), -3),
        (ib.interval(0, 6, 2, 6, allowance=0), -1e-300),
        (ib.interval(0, 6, 2, 6, allowance=0), math.nextafter(6, 7)),
        (ib.interval(0, 6, 2, 6), -2e-6),
        (ib.interval(0, 6, 2, 6), 6.000002),
        (ib.interval(0, 6, 2, 6), math.nan),
        (ib.interval(0, 6, 2, 6), math.inf),
        (ib.interval(0, 6, 2, 6, holes=[(1, 3)]), 2),
        (ib.category(["a", "b"]), "c"),
        (ib.category(["a", "b"]), 0),
        (ib.category(["a", "b"]), None),
    ],
)
def test_a_true_answer_outside_the_range_or_off_the_grid_is_refused_without_repeating_it(query, value):
    with rejects(ValueError, about="answers"):
        query.encode(value)


@pytest.mark.parametrize(
    "value", ["three", True, [True], 1j, b"3", object(), "nan", "inf", "", "1/0", np.datetime64("2020-01-01")]
)
def test_a_true_answer_that_is_no_number_is_refused_without_repeating_it(value):
    with rejects(TypeError, about="answers"):
        ib.count(5).encode(value)


@st.composite
def roundings(draw):
    """A real-valued query and a value near one of its cell edges, in floats or exactly."""
    low = draw(st.sampled_from([Fraction(0), Fraction(-1), Fraction(1, 3), Fraction(1, 10), Fraction(-7, 3)]))
    width = draw(st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(7, 5), Fraction(2**53)]))
    cells = draw(st.integers(2, 9))
    sensitivity = width * draw(st.fractions(Fraction(1, 10), cells, max_denominator=10))
    allowance = draw(st.sampled_from([None, 0, sensitivity / 2000]))
    query = ib.interval(low, low + width * cells, sensitivity, cells, allowance=allowance)
    return query, low, width, cells, sensitivity


def exact_floor(value, low: Fraction, query: RangeQuery) -> int:
    """The door's own cells are a hair wider than the nominal ones; the last one is closed."""
    return max(0, min(math.floor((Fraction(value) - low) / query.cell), len(query.answers) - 1))


@settings(max_examples=250, deadline=None)
@given(roundings(), st.integers(0, 9), st.integers(-3, 3))
def test_a_float_falls_into_the_cell_that_holds_it_exactly(rounding, edge, ulps):
    query, low, width, cells, _ = rounding
    value = float(low + width * min(edge, cells))
    for _ in range(abs(ulps)):
        value = math.nextafter(value, math.copysign(math.inf, ulps))
    if low - query.allowance <= Fraction(value) <= low + width * cells + query.allowance:
        assert int(query.encode(value)) == exact_floor(value, low, query)
    else:
        with rejects(ValueError, "true answers"):
            query.encode(value)


@settings(max_examples=250, deadline=None)
@given(roundings(), st.data())
def test_rounding_keeps_neighbouring_floats_within_the_reach(rounding, data):
    """Two floats at most the sensitivity apart, however close to the cell edges, stay neighbours."""
    query, low, width, cells, sensitivity = rounding
    high = low + width * cells
    x = float(low + width * data.draw(st.integers(0, cells)))
    y = x + data.draw(st.sampled_from([-1, 1])) * float(sensitivity)
    for _ in range(data.draw(st.integers(0, 3))):
        y = math.nextafter(y, x)
        x = math.nextafter(x, data.draw(st.sampled_from([-math.inf, math.inf])))
    inside = low <= Fraction(x) <= high and low <= Fraction(y) <= high
    if inside and abs(Fraction(x) - Fraction(y)) <= sensitivity:
        first, second = query.encode([x, y]).tolist()
        assert abs(first - second) <= query.neighbours.steps


@settings(max_examples=250, deadline=None)
@given(roundings(), st.integers(0, 9), st.sampled_from(["-1e-30", "0", "1e-30", "-1e-16", "-1e-17"]))
def test_exact_numbers_are_never_rounded_on_their_way_into_a_cell(rounding, edge, nudge):
    """Fractions, Decimals and large ints may be no float at all: rounding them would push neighbours apart."""
    query, low, width, cells, _ = rounding
    value = low + width * min(edge, cells) + Fraction(nudge)
    if low <= value <= low + width * cells:
        assert int(query.encode(value)) == exact_floor(value, low, query)
    if value.denominator == 1 and low <= value <= low + width * cells:
        assert int(query.encode(int(value))) == exact_floor(value, low, query)


def test_large_whole_numbers_stay_within_the_reach_of_an_interval():
    query = ib.interval(0, 2**55, 2**53, 4)
    values = np.array([2**54 - 1, 2**53 - 1])
    assert query.encode(values).tolist() == [1, 0]


def test_whole_numbers_in_a_list_never_become_floats():
    values = [2**53 + 1, 2**53 + 3]
    assert [*map(float, values)] != values
    assert ib.extreme(2**53, 2**53 + 8).encode(values).tolist() == [1, 3]


def test_long_doubles_stay_within_the_reach_of_an_interval():
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long doubles are doubles here")
    nudge = np.longdouble(2) ** -54 * np.longdouble("1.8")
    assert ib.interval(0, 4, 1, 4).encode(np.array([2, 1], dtype=np.longdouble) - nudge).tolist() == [1, 0]


def test_decimals_stay_within_the_reach_of_an_interval():
    values = [Decimal(2) - Decimal("1e-16"), Decimal(1) - Decimal("1e-16")]
    assert ib.interval(0, 4, 1, 4).encode(values).tolist() == [1, 0]


def test_a_grid_finer_than_floats_can_tell_apart_does_not_push_neighbours_apart():
    """Means near 2**53 that are 2/3 apart print as floats 2 apart: refuse, or keep them within the reach."""
    try:
        query = ib.mean(3, 2**53, 2**53 + 2)
        places = query.encode([float(2**53 + Fraction(2, 3)), float(2**53 + Fraction(4, 3))]).tolist()
    except ValueError:
        return
    assert abs(places[0] - places[1]) <= query.neighbours.steps


# --- what is reported -------------------------------------------------------------------------------------


def test_whole_values_are_reported_as_ints_others_as_floats_and_labels_as_text():
    assert ib.count(3).output_values.dtype == np.int64
    assert ib.mean(2, 0, 1).output_values.tolist() == [0.0, 0.5, 1.0]
    assert ib.category(["a", "b"]).output_values.tolist() == ["a", "b"]


def test_large_whole_values_are_reported_exactly():
    assert ib.total(1, 2**60, 2**60 + 5).output_values.tolist() == [2**60 + k for k in range(6)]


# --- what is refused --------------------------------------------------------------------------------------


def test_a_bad_query_is_refused_in_one_sentence(golden):
    golden.errors(
        "wrong_queries",
        [
            lambda: ib.count(0),
            lambda: ib.count(-3),
            lambda: ib.count(2.5),
            lambda: ib.count("many"),
            lambda: ib.count(True),
            lambda: ib.count(None),
            lambda: ib.count(math.nan),
            lambda: ib.total(0, 0, 1),
            lambda: ib.mean(2.5, 0, 1),
            lambda: ib.total(3, 2, 2),
            lambda: ib.mean(3, 2, 1),
            lambda: ib.mean(3, 0, 1.5),
            lambda: ib.extreme(5, 5),
            lambda: ib.extreme(0.5, 5),
            lambda: ib.ordinal(5, 1),
            lambda: ib.ordinal(0, 5, unit=0),
            lambda: ib.ordinal(0, 5, unit=-1),
            lambda: ib.interval(1, 1, 1, 4),
            lambda: ib.interval(2, 1, 1, 4),
            lambda: ib.interval(0, 1, 0, 4),
            lambda: ib.interval(0, 1, -1, 4),
            lambda: ib.interval(0, 1, 2, 4),
            lambda: ib.interval(0, 1, math.nan, 4),
            lambda: ib.interval(0, math.inf, 1, 4),
            lambda: ib.interval(0, 1, 1, 1),
            lambda: ib.interval(0, 4, 1, 4, holes=[(0.5, 2)]),
            lambda: ib.interval(0, 4, 1, 4, holes=[(2, 1)]),
            lambda: ib.interval(0, 4, 1, 4, holes=[(0, 3)]),
            lambda: ib.category("abc"),
            lambda: ib.category(["a"]),
            lambda: ib.category([1, 2]),
            lambda: ib.category(["a", "a"]),
            lambda: ib.count(3, outputs=0),
            lambda: ib.count(3, outputs=[]),
            lambda: ib.count(3, outputs=[(0, 2)]),
            lambda: ib.count(3, outputs=[(1, 4)]),
            lambda: ib.count(4, outputs=[(-1, 1), (3, 5)]),
            lambda: ib.count(3, outputs=[(0, 2), (1, 4)]),
            lambda: ib.count(3, outputs=[(2, 4), (0, 2)]),
            lambda: ib.count(3, outputs=[(0, 0), (0, 4)]),
            lambda: ib.count(3, outputs=[(0, 4, 5)]),
            lambda: ib.count(3, outputs=[(0, 4, 1, 1)]),
            lambda: ib.count(3, outputs=[(0, math.nan)]),
            lambda: ib.cells(0, 0, 2),
            lambda: ib.cells(0, 1, 0),
            lambda: ib.cells(0, 1, 2.5),
            lambda: ib.Reach(0),
            lambda: ib.Reach(-1),
            lambda: ib.Reach(1.5),
            lambda: ib.Metric(0),
            lambda: ib.Metric(math.nan),
            lambda: ib.Metric(math.inf),
        ],
    )


def test_a_cell_may_begin_on_the_answer_at_the_end_of_another():
    """1 lies on the closed end of the first cell, 2 on the start of the second: all are covered."""
    assert ib.count(3, outputs=[(-1, 1), (2, 4)]).home_cell.tolist() == [0, 0, 1, 1]


def test_a_query_with_a_made_up_neighbourhood_is_refused():
    """A neighbourhood without cliques would switch the checker off."""

    class Nobody:
        def cliques(self, answers):
            return iter(())

        def sensitivity(self, answers):
            return Fraction(1)

    answers = ib.count(1).answers
    with rejects(TypeError, "neighbours"):
        RangeQuery("count", answers, OutputCells.one_per_answer(answers), Nobody())


@pytest.mark.parametrize("count", [2.0, "2", np.int64(2), Fraction(2)])
def test_a_number_of_cells_may_come_in_any_whole_spelling(count):
    assert ib.cells(0, 4, count) == ib.cells(0, 4, 2)


@pytest.mark.parametrize("steps", [2.0, "2", np.int64(2), Fraction(2)])
def test_a_reach_may_come_in_any_whole_spelling_and_is_then_an_int(steps):
    assert ib.Reach(steps) == ib.Reach(2)
    assert type(ib.Reach(steps).steps) is int


@pytest.mark.parametrize("unit", [0.5, "1/2", Decimal("0.5"), Fraction(1, 2)])
def test_a_metric_unit_may_come_in_any_spelling_and_is_then_exact(unit):
    assert ib.Metric(unit) == ib.Metric(Fraction(1, 2))
    assert type(ib.Metric(unit).unit) is Fraction


@pytest.mark.parametrize(
    ("ticks", "subject"),
    [
        ((0, 2, 1), "values"),
        ((1, 2), "a scale"),
        ((), "a scale"),
        ((0, 0, 1), "values"),
        (range(0), "a scale"),
        (range(0, -3, -1), "values"),
        ([0, 2, 1], "values"),
    ],
)
def test_a_scale_must_rise_from_tick_zero(ticks, subject):
    with rejects(ValueError, subject):
        Scale(Fraction(0), Fraction(1), ticks)


def test_a_scale_cannot_be_changed_through_the_list_it_was_made_from():
    ticks = [0, 2, 5]
    made = Scale(Fraction(0), Fraction(1), ticks)
    ticks[1] = 4
    assert list(made) == [0, 2, 5]
    assert hash(made) == hash(Scale(Fraction(0), Fraction(1), (0, 2, 5)))


# --- what would promise nothing ---------------------------------------------------------------------------


def spaced(step: int, kind: str = "interval") -> RangeQuery:
    answers = Scale(Fraction(0), Fraction(1, step), range(0, 6 * step, step))
    return RangeQuery(kind, answers, OutputCells.one_per_answer(answers), ib.Reach(1))


def test_a_query_without_neighbours_is_refused():
    """The identity matrix would pass the checker, because there is nothing to check."""
    with rejects(ValueError, about="neighbours"):
        spaced(2)
    with rejects(ValueError, about="neighbours"):
        ib.interval(0, 24, 1, 24, holes=[(1, 12), (13, 23)])


def test_labels_are_all_neighbours():
    with rejects(ValueError, "labels", about="neighbours"):
        with_neighbours(ib.category(["a", "b", "c"]), ib.Reach(1))


@pytest.mark.parametrize("kind", ["count", "total", "mean", "extreme", "ordinal"])
def test_only_an_interval_has_holes(kind):
    answers = Scale(Fraction(0), Fraction(1), (0, 1, 3))
    with rejects(ValueError, f"the answers of a {kind}", about="spaced"):
        RangeQuery(kind, answers, OutputCells.one_per_answer(answers), ib.Reach(1))


@pytest.mark.parametrize(("start", "unit"), [(1, 1), (0, Fraction(1, 2))])
def test_a_count_counts(start, unit):
    answers = Scale(Fraction(start), Fraction(unit), range(4))
    with rejects(ValueError, "the answers of a count"):
        RangeQuery("count", answers, OutputCells.one_per_answer(answers), ib.Reach(1))


def test_cuts_are_the_gaps_that_nobody_can_cross():
    assert ib.interval(0, 24, 1, 24, holes=[(8, 16)]).cuts == (7,)
    assert ib.interval(0, 24, 9, 24, holes=[(8, 16)]).cuts == ()
    assert ib.count(10**6).cuts == ()
    assert with_neighbours(ib.interval(0, 24, 1, 24, holes=[(8, 16)]), ib.AllPairs()).cuts == ()


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c", "d"), ("a", "b", "a")])
def test_labels_are_one_for_each_answer_and_all_different(labels):
    three = ib.category(["a", "b", "c"])
    with rejects(ValueError, "labels"):
        RangeQuery("category", three.answers, three.outputs, ib.AllPairs(), labels=labels)

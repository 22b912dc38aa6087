"""The seven properties and the column ratio: said once, counted on integers."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inbounds.properties import (
    NAMES,
    MatrixLayout,
    canonical_property,
    column_ratio,
    compile_property,
    list_meaningful,
    measure_properties,
    measure_violation,
    square_layout,
)
from raising import rejects

TOTAL = 2**62


def formulas(P, name):
    """003's formulas (7)-(14) on a square matrix, cell by cell; the largest violation."""
    n = len(P)
    short = [0]
    for i in range(n):
        for j in range(n):
            if name == "row_honest":
                short.append(P[i][j] - P[i][i])
            if name == "column_honest":
                short.append(P[i][j] - P[j][j])
            if name == "row_monotone" and j >= 1:
                short.append(P[i][j - 1] - P[i][j] if j <= i else P[i][j] - P[i][j - 1])
            if name == "column_monotone" and i >= 1:
                short.append(P[i - 1][j] - P[i][j] if i <= j else P[i][j] - P[i - 1][j])
            if name == "symmetric":
                short.append(abs(P[i][j] - P[n - 1 - i][n - 1 - j]))
        if name == "fair" and i:
            short.append(abs(P[i][i] - P[i - 1][i - 1]))
        if name == "weakly_honest":
            short.append(-(-TOTAL // n) - P[i][i])
    return max(short)


@given(st.integers(1, 6).flatmap(lambda n: arrays(np.int64, (n, n), elements=st.integers(0, TOTAL))))
def test_units_are_the_papers_formulas_on_every_square_matrix(weights):
    rows = [[int(w) for w in row] for row in weights]
    found = measure_properties(weights, square_layout(len(rows)), TOTAL)
    assert found == {name: formulas(rows, name) for name in NAMES}


def test_uniform_reporting_has_every_property_exactly():
    weights = np.full((4, 4), TOTAL // 4)
    assert set(measure_properties(weights, square_layout(4), TOTAL).values()) == {0}
    assert measure_violation(column_ratio(1), weights, square_layout(4), TOTAL) == 0


def test_one_unit_too_many_is_one_unit_of_violation():
    weights = np.full((4, 4), TOTAL // 4)
    weights[0, 1] += 1
    weights[1, 1] -= 1
    found = measure_properties(weights, square_layout(4), TOTAL)
    assert found["weakly_honest"] == 1
    assert found["column_honest"] == found["column_monotone"] == 2
    assert found["symmetric"] == found["fair"] == found["row_monotone"] == 1


def test_general_cells_follow_the_home_of_each_answer():
    """000, (10)-(15): four answers, three cells, the middle one holding two answers."""
    layout = MatrixLayout(3, np.array([0, 1, 1, 2]), np.array([1, 3, 4]), np.array([0, 1, 3]))
    P = np.array([[6, 3, 2, 1], [3, 5, 5, 3], [1, 2, 3, 6]])
    found = measure_properties(P, layout, 10, NAMES)
    assert found == dict.fromkeys(NAMES, 0) | {"fair": 1}
    P[1, 2] = 4  # the plateau of output 1 breaks
    broken = measure_properties(P, layout, 10, ["row_monotone", "row_honest"])
    assert broken == {"row_monotone": 1, "row_honest": 1}


def test_a_row_without_answers_may_peak_on_either_side():
    layout = MatrixLayout(3, np.array([0, 2]), np.array([1, 1, 2]), np.array([0, 1, 1]))
    for middle in ([1, 2], [2, 1]):
        P = np.array([[5, 1], middle, [1, 5]])
        assert measure_violation("row_monotone", P, layout, 10) == 0


def test_neighbouring_outputs_within_a_ratio_are_counted_exactly():
    P = np.array([[3 * 2**60], [2 * 2**60]])
    one = MatrixLayout(2, np.array([0]), np.array([1, 1]), np.array([0, 0]))
    assert measure_violation(column_ratio("3/2"), P, one, TOTAL) == 0
    assert measure_violation(column_ratio(Fraction(4, 3)), P, one, TOTAL) == -(-(2**60) // 3)


def test_names_are_forgiving_about_dashes_and_nothing_else():
    assert canonical_property("Row-Monotone") == "row_monotone"
    assert canonical_property(column_ratio(1.5)) == canonical_property("column-ratio(3/2)") == "column_ratio(3/2)"
    with rejects(ValueError, "property", about="row_monotone"):
        canonical_property("honest")
    with rejects(ValueError, "ratio", about="got 1/2"):
        column_ratio("1/2")


def test_categories_have_only_the_properties_that_need_no_order():
    assert list_meaningful(ordered=False) == ("row_honest", "column_honest", "fair", "weakly_honest")
    assert list_meaningful(ordered=True) == NAMES
    for name in ("symmetric", "row_monotone", "column_ratio(2)"):
        with rejects(ValueError, "property", about="order"):
            canonical_property(name, ordered=False)


def test_symmetry_is_refused_where_the_cells_have_no_mirror():
    lopsided = MatrixLayout(2, np.array([0, 0, 1]), np.array([2, 3]), np.array([0, 2]))
    with rejects(ValueError, "symmetric", about="mirror"):
        compile_property("symmetric", lopsided)
    assert "symmetric" not in measure_properties(np.ones((2, 3), np.int64), lopsided, 2)


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_whole_rows_and_columns_are_measured_like_the_listed_comparisons(outputs, answers, data):
    """For any cells: each output holds a run of answers, or none; edges lie anywhere in order."""
    home = np.sort(np.array(data.draw(st.lists(st.integers(0, outputs - 1), min_size=answers, max_size=answers))))
    edges = st.lists(st.integers(0, answers), min_size=outputs, max_size=outputs)
    below, above = (np.sort(np.array(data.draw(edges))) for _ in range(2))
    layout = MatrixLayout(outputs, home, below, above)
    weights = data.draw(arrays(np.int64, (outputs, answers), elements=st.sampled_from([0, 1, 2, 3, 7, TOTAL])))
    for name in NAMES:
        if name == "symmetric" and not layout.mirrors:
            with rejects(ValueError, "symmetric", about="mirror"):
                measure_violation(name, weights, layout, TOTAL)
            continue
        constraint, flat = compile_property(name, layout), weights.ravel()
        short = flat[constraint.lesser] - flat[constraint.greater]
        floor = -(-TOTAL // outputs) - flat[constraint.floored]
        assert measure_violation(name, weights, layout, TOTAL) == max(0, *short.tolist(), *floor.tolist(), 0), name

"""The work of solvers of programs with properties: counted, and stopped in time."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.goal import Aim, build_problem
from inbounds.design.problem import Problem
from inbounds.design.routes import program_work, row_program
from inbounds.design.routes.folding import fold_program
from inbounds.losses import to_loss

COLUMN_MONOTONE = frozenset({"column_monotone"})


def slow_to_close(answers: int) -> Problem:
    """Nearly flat rows and the worst answer, which need many rays."""
    query = ib.ordinal(1, answers)
    return build_problem(query, Fraction("0.2"), to_loss("absolute"), None, COLUMN_MONOTONE, "worst")


@pytest.mark.parametrize("aim", ["average", "worst"])
@pytest.mark.parametrize("names", [{"column_monotone"}, {"row_honest"}, {"row_monotone", "symmetric"}])
def test_the_row_program_knows_the_size_of_the_program_that_follows(names: set[str], aim: Aim) -> None:
    problem = build_problem(ib.ordinal(1, 30), Fraction(1, 2), to_loss("absolute"), None, frozenset(names), aim)
    assert row_program.build_row_program(problem).variables == fold_program(problem).variables


def test_the_row_program_is_limited_only_before_an_interior_point() -> None:
    most = program_work.VERTEX_UP_TO
    assert program_work.row_work_limit(most) == np.inf
    assert program_work.row_work_limit(most + 1) == program_work.interior_point_work(most + 1) < np.inf


def test_a_row_program_without_work_left_has_a_true_bound_and_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = slow_to_close(40)
    with monkeypatch.context() as patched:
        patched.setattr(row_program, "row_work_limit", lambda variables: np.inf)
        whole = row_program.generate_rows(problem, np.inf)
    assert whole.matrix is not None
    monkeypatch.setattr(row_program, "row_work_limit", lambda _variables: 0.0)
    stopped = row_program.generate_rows(problem, np.inf)
    assert stopped.matrix is None
    assert stopped.bound <= whole.bound <= problem.value(whole.matrix)


def test_a_row_program_stops_at_the_first_round_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, spent = slow_to_close(40), []
    limit = 10 * program_work.PRICING * problem.loss.size

    def count(pivots: int, entries: int, cells: int) -> float:
        spent.append(program_work.round_work(pivots, entries, cells))
        return spent[-1]

    monkeypatch.setattr(row_program, "row_work_limit", lambda _variables: limit)
    monkeypatch.setattr(row_program, "round_work", count)
    assert row_program.generate_rows(problem, np.inf).matrix is None
    assert sum(spent[:-1]) <= limit < sum(spent)

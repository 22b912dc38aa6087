"""Which solver for designs with properties: HiGHS' simplex, its interior point, Clarabel, and our row program.

`solvers.py` solves the same folded programs by each, one after the other in one warm process, with 60 and 90 answers,
and writes docs/benchmarks/solvers.md. Times are processor time of one run, with the repair of the matrix and the proof
of the bound; a solver gets PATIENCE seconds. The gap is between the loss of the repaired matrix and the proved bound.
"""

import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
from harness import one_thread

one_thread()

import inbounds as ib  # noqa: E402
from inbounds.design.bounds.duality import trivial_bound  # noqa: E402
from inbounds.design.goal import build_problem  # noqa: E402
from inbounds.design.problem import Problem, Proposal  # noqa: E402
from inbounds.design.routes import linear_program, program_work, row_program  # noqa: E402
from inbounds.design.routes.folding import FoldedProgram, fold_program  # noqa: E402
from inbounds.design.routes.units import solve_in_units  # noqa: E402
from inbounds.design.solver import highs  # noqa: E402
from inbounds.design.solver.polish import normalize_columns  # noqa: E402
from inbounds.losses import to_loss  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "solvers.md"
PATIENCE = 6.0
QUERIES: dict[str, Callable[[int], ib.RangeQuery]] = {
    "ordinal": lambda n: ib.ordinal(1, n),
    "mean, reach 4": lambda n: ib.mean((n - 1) // 4, 0, 4),
    "extreme": lambda n: ib.extreme(1, n),
}
PROPERTIES = (("column_monotone",), ("row_honest",))
GOALS = (("absolute", "average", "0.5"),)
SIZES = (60, 90)


def highs_interior_point(built: FoldedProgram, deadline: float) -> Proposal:
    """HiGHS' interior point without crossover, on the scaled program."""
    solver = linear_program._load_solver(built, built.scale, presolve=True)
    options = {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-10}
    for option, value in options.items():
        solver.setOptionValue(option, value)
    if not highs.run(solver, deadline):
        return Proposal(None, trivial_bound(built.problem), "")
    low = linear_program._bound(built, highs.duals(solver), built.scale)
    P = linear_program._repair_solution(built, built.scale * highs.values(solver)[: built.size])
    return Proposal(normalize_columns(P), low, "")


Solver = Callable[[Problem, float], Proposal]
SOLVERS: dict[str, Solver] = {
    "simplex, ties broken": lambda p, d: linear_program._solve_by_simplex(fold_program(p), d),
    "HiGHS interior point": lambda p, d: highs_interior_point(fold_program(p), d),
    "Clarabel": lambda p, d: linear_program._solve_by_interior_point(fold_program(p), d),
    "row program": row_program.generate_rows,
}


def measure(problem: Problem, name: str) -> tuple[float, float]:
    """Return seconds and relative gap; an infinite gap if there is no matrix."""
    start = time.process_time()
    with np.errstate(all="ignore"):
        made = solve_in_units(problem, time.monotonic() + PATIENCE, SOLVERS[name])
    spent = time.process_time() - start
    value = np.inf if made.matrix is None else problem.value(made.matrix)
    return spent, (value - made.bound) / abs(made.bound) if made.bound else np.inf


def rows() -> list[tuple[list[str], int, dict[str, tuple[float, float]]]]:
    measured = []
    for size in SIZES:
        for kind, make in QUERIES.items():
            for properties in PROPERTIES:
                for loss, aim, epsilon in GOALS:
                    problem = build_problem(
                        make(size),
                        Fraction(epsilon),
                        to_loss(loss),
                        None,
                        frozenset(properties),
                        aim,  # type: ignore[arg-type]
                    )
                    names = [name for name in SOLVERS if name != "row program" or row_program.fits(problem)]
                    found = {name: measure(problem, name) for name in names}
                    words = [kind, str(size), properties[0].replace("_", " "), f"{loss}, {aim}, {epsilon}"]
                    measured.append((words, fold_program(problem).variables, found))
                    print(words, found, flush=True)
    return measured


def table(measured: list[tuple[list[str], int, dict[str, tuple[float, float]]]]) -> str:
    head = ["query", "answers", "property", "loss, aim, epsilon", "variables", *SOLVERS]
    lines = [head, ["---"] * len(head)]
    for words, variables, found in measured:
        cells = [f"{found[s][0]:.2f} s, {found[s][1]:.0e}" if s in found else "–" for s in SOLVERS]
        lines.append([*words, f"{variables:,}", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(measured: list[tuple[list[str], int, dict[str, tuple[float, float]]]]) -> str:
    lines = []
    limit = program_work.VERTEX_UP_TO
    for words, chosen in ((f"up to {limit:,} variables", False), (f"more than {limit:,} variables", True)):
        group = [found for _, variables, found in measured if (variables > limit) == chosen]
        for other in ("simplex, ties broken", "HiGHS interior point"):
            ratios = sorted(found["Clarabel"][0] / found[other][0] for found in group)
            lines.append(
                f"- {words}: Clarabel's time is {median(ratios):.2f} of that of {other} (median of {len(ratios)}), "
                f"at most {ratios[-1]:.2f}."
            )
        for solver in ("simplex, ties broken", "HiGHS interior point", "Clarabel"):
            gaps = sorted(found[solver][1] for found in group)
            lines.append(f"- {words}: gap of {solver}: {median(gaps):.0e} in the median, at most {gaps[-1]:.0e}.")
    return "\n".join(lines)


TEXT = """# Solvers

Which solver proposes designs with properties or limits. Written by `python bench/solvers.py`, which solves the same
programs by each in one process: processor time of one run, and the relative gap between the loss of the repaired matrix
and the proved bound. A gap of inf means that there was no matrix within {patience:.0f} s.

{summary}

## The choice

{choice}

## All measurements

{table}
"""

CHOICE = """\
1. **The row program** where it fits and rows are not nearly flat: it holds one row for each answer instead of one
   for each cell. It gives up after a fixed number of rounds, and before Clarabel as soon as its counted work is what
   Clarabel is expected to take (`routes/program_work.py`), so that both together take about twice the better of them.
2. **The simplex method** for programs of few variables: it ends in a vertex, so that gaps are those of rounding, and
   from a vertex ties are broken: of all optimal designs the one with the least squared error is taken. An interior
   point ends in the middle of all optima, which is another design of the same loss.
3. **Clarabel** for larger programs, where breaking ties would take too long and any optimum will do. A step of an
   interior point factors the program once, and some thirty steps suffice whatever its size, while the pivots of the
   simplex method grow with the number of variables. It replaces the interior point of HiGHS. If its gap is more than
   1e-6, the simplex method follows.

Every answer is a proposal: the matrix is repaired, the bound is proved from the multipliers by weak duality with all
roundings counted, and the certifier checks the integers. Clarabel runs in one thread with a fixed factorization."""

if __name__ == "__main__":
    rows_measured = rows()
    text = TEXT.format(patience=PATIENCE, summary=summary(rows_measured), choice=CHOICE, table=table(rows_measured))
    PAGE.write_text(text, encoding="utf-8")

"""Which solver for designs with properties: HiGHS' simplex, its interior point, Clarabel, and our row program.

`solvers.py choice` solves the same folded programs by each, one after the other in one warm process, with 60 and 90
answers. Times are processor time of one run, with the repair of the matrix and the proof of the bound; a solver gets
PATIENCE seconds. The gap is between the loss of the repaired matrix and the proved bound. `solvers.py ratios QUERY …`
measures whole designs with every kind of property set beside Clarabel alone on the straightforward program. Both keep
what they find in docs/benchmarks/solvers.json, where `ratios` goes on after what is there, and write
docs/benchmarks/solvers.md.
"""

import fcntl
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import machine, one_thread, within

one_thread()

import papers_lp  # noqa: E402
from pages import machine_line, publish, seconds  # noqa: E402

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
RESULTS = PAGE.with_suffix(".json")
PATIENCE = 6.0
QUERIES: dict[str, Callable[[int], ib.RangeQuery]] = {
    "ordinal": lambda n: ib.ordinal(1, n),
    "mean, reach 4": lambda n: ib.mean((n - 1) // 4, 0, 4),
    "extreme": lambda n: ib.extreme(1, n),
}
PROPERTIES = (("column_monotone",), ("row_honest",))
GOALS = (("absolute", "average", "0.5"),)
SIZES = (60, 90)
SETS: tuple[tuple[str, ...], ...] = (
    *((name,) for name in ("weakly_honest", "row_honest", "row_monotone", "column_honest", "column_monotone")),
    ("symmetric",),
    ("fair",),
    ("row_monotone", "column_monotone"),
    ("fair", "row_monotone", "column_monotone", "symmetric"),
)
"""One set of every kind: each property, both kinds of monotone probabilities, and all of them with fairness."""
RATIO_SIZES = (30, 60, 120, 250, 500)
RATIO_PATIENCE = 5.0
"""Seconds of processor time for one design; who needs more is not asked for more answers."""
OURS, ALONE = "inbounds", "Clarabel"


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


Measured = dict[str, Any]


def choice() -> list[Measured]:
    """Measure every solver on the same programs."""
    measured = []
    for size in SIZES:
        for kind, make in QUERIES.items():
            for properties in PROPERTIES:
                for loss, aim, epsilon in GOALS:
                    goal: Any = make(size), Fraction(epsilon), to_loss(loss), None, frozenset(properties), aim
                    problem = build_problem(*goal)
                    names = [name for name in SOLVERS if name != "row program" or row_program.fits(problem)]
                    words = [kind, str(size), properties[0].replace("_", " "), f"{loss}, {aim}, {epsilon}"]
                    found = {name: measure(problem, name) for name in names}
                    measured.append({"words": words, "variables": fold_program(problem).variables, "found": found})
                    print(words, found, flush=True)
    return measured


def ratios(kind: str) -> None:
    """Measure designs of one kind of query beside Clarabel alone, with more answers until one of the two is stopped."""
    loss, _, epsilon = GOALS[0]
    measured: list[Measured] = known()["ratios"].get(kind, [])
    for properties in SETS:
        done = [row for row in measured if tuple(row["properties"]) == properties]
        for size in RATIO_SIZES[len(done) :]:
            if done and ("stopped" in done[-1][OURS] or "stopped" in done[-1][ALONE]):
                break
            query = QUERIES[kind](size)
            ours = within(RATIO_PATIENCE, partial(design, query, epsilon, loss, properties))
            alone = within(RATIO_PATIENCE, partial(papers_lp.clarabel, query, float(epsilon), loss, properties))
            done.append({"kind": kind, "size": size, "properties": properties, OURS: ours, ALONE: alone})
            measured.append(done[-1])
            print(measured[-1], flush=True)
            keep("ratios", measured, kind)


def design(query: ib.RangeQuery, epsilon: str, loss: str, properties: tuple[str, ...]) -> tuple[float, float, str]:
    """(value, gap, route) of a whole design, certified."""
    made = ib.optimal(query, epsilon, loss, properties=properties, max_seconds=1000)
    best = made.optimality
    assert best is not None
    return best.value, best.gap, str(made.origin).partition("route=")[2].rstrip(")")


def table(measured: list[Measured]) -> str:
    head = ["query", "answers", "property", "loss, aim, epsilon", "variables", *SOLVERS]
    lines = [head, ["---"] * len(head)]
    for row in measured:
        found = row["found"]
        cells = [f"{found[s][0]:.2f} s, {found[s][1]:.0e}" if s in found else "–" for s in SOLVERS]
        lines.append([*row["words"], f"{row['variables']:,}", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratio(row: Measured) -> float | None:
    """Our time over Clarabel's; None if one was stopped, or found nothing."""
    ours, alone = row[OURS], row[ALONE]
    if "stopped" in ours or "stopped" in alone or not np.isfinite(alone["found"]):
        return None
    return float(ours["seconds"] / alone["seconds"])


def ratio_table(measured: list[Measured]) -> str:
    head = ["query", "properties", *(f"{size} answers" for size in RATIO_SIZES)]
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * len(RATIO_SIZES)]
    for kind in QUERIES:
        for properties in SETS:
            found = {r["size"]: r for r in measured if (r["kind"], tuple(r["properties"])) == (kind, properties)}
            cells = [ratio_cell(found.get(size)) for size in RATIO_SIZES]
            lines.append(f"| {kind} | {', '.join(properties).replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio_cell(row: Measured | None) -> str:
    """The ratio and both times, or who was stopped."""
    if row is None:
        return "–"
    times = [
        f"> {RATIO_PATIENCE:.0f} s" if "stopped" in one else seconds(one["seconds"]) for one in (row[OURS], row[ALONE])
    ]
    share = ratio(row)
    return (f"**{share:.2g}** " if share is not None else "") + f"({times[0]} / {times[1]})"


def ratio_summary(measured: list[Measured]) -> str:
    """Median and largest ratio, and the route of every design for which Clarabel alone is faster."""
    known = [(share, row) for row in measured if (share := ratio(row)) is not None]
    shares = sorted(share for share, _ in known)
    slower = [
        f"- {row['kind']}, {row['size']} answers, {', '.join(row['properties']).replace('_', ' ')}: {share:.2f} "
        f"({row[OURS]['found'][2]})"
        for share, row in sorted(known, key=lambda pair: -pair[0])
        if share > 1
    ]
    only = sum("stopped" not in row[OURS] and "stopped" in row[ALONE] for row in measured)
    lost = sum("stopped" in row[OURS] and "stopped" not in row[ALONE] for row in measured)
    return (
        f"Median {median(shares):.2f} of {len(shares)} designs that both finished, at most {shares[-1]:.2f}. In {only} "
        f"more designs only Clarabel was stopped, in {lost} only we were. Clarabel is faster in {len(slower)}"
        + (", by the ratio and with the route that follows:\n\n" + "\n".join(slower) if slower else ".")
    )


def summary(measured: list[Measured]) -> str:
    lines = []
    limit = program_work.VERTEX_UP_TO
    for other in ("simplex, ties broken", "HiGHS interior point"):
        shares = sorted(row["found"]["Clarabel"][0] / row["found"][other][0] for row in measured)
        lines.append(
            f"- Clarabel's time is {median(shares):.2f} of that of {other} (median of {len(shares)}), "
            f"at most {shares[-1]:.2f}."
        )
    for solver in ("simplex, ties broken", "HiGHS interior point", "Clarabel"):
        gaps = sorted(row["found"][solver][1] for row in measured)
        lines.append(f"- gap of {solver}: {median(gaps):.0e} in the median, at most {gaps[-1]:.0e}.")
    lines.append(f"- all of them have more than {limit:,} variables, from where Clarabel solves them.")
    return "\n".join(lines)


def known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"ratios": {}}
    return found


def keep(part: str, found: list[Measured], kind: str = "") -> None:
    """Add what was measured; several kinds may be measured at once."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = known()
        if kind:
            results[part][kind] = found
        else:
            results[part] = found
        results["machine"] = machine()
        RESULTS.write_text(json.dumps(results, indent=0) + "\n", "utf-8")


def write_page() -> None:
    results = known()
    beside = [row for kind in QUERIES for row in results["ratios"].get(kind, [])]
    loss, aim, epsilon = GOALS[0]
    text = TEXT.format(
        patience=PATIENCE,
        summary=summary(results["choice"]),
        choice=CHOICE.format(vertex=program_work.VERTEX_UP_TO),
        table=table(results["choice"]),
        goal=f"{loss} loss, {aim}, epsilon {epsilon}",
        given=RATIO_PATIENCE,
        ratio_summary=ratio_summary(beside),
        ratio_table=ratio_table(beside),
        machine=machine_line(results["machine"]),
    )
    publish(PAGE, text)


TEXT = """# Solvers

Which solver proposes designs with properties or limits, and how long a design takes beside Clarabel alone. Written by
`python bench/solvers.py`; processor time of one run.

## Beside Clarabel alone

Whole designs, certified and with a proved bound, beside Clarabel with its own settings on the straightforward program:
one variable for each cell, one row for each output and pair of neighbours (where all answers are neighbours, a variable
for the least probability of each output), and one row for each comparison of a property. The time includes writing the
program down. The goal: {goal}. Below 1 we are faster.

{ratio_summary}

Why: beside the solver a design takes some milliseconds for the problem without its properties, which is often
enough, and for the repair, the bound, the integers and their check. At 30 answers that is as much as the solver takes;
from 60 answers on it no longer shows. Where the route is a closed form, rounding to integers took the time: it goes on
until all ratios hold exactly, and how many rounds that takes depends on the numbers.

{ratio_table}

*Our time over Clarabel's, and both times. Each had {given:.0f} s; after one was stopped, larger designs were not tried
(–).*

**What this does not say.** Clarabel's own settings end at a gap of 1e-8 and its matrix is not private. Ours goes on to
1e-12 where it can, and is repaired, proved, rounded to integers and certified. Priors that are not their own mirror
image have twice the variables. Losses with steps, the worst answer and answers without weight are solved twice, to
break ties. With priors that are sparse or peaked, Clarabel alone was faster in many tries, up to eight times: there the
last digits of the proof take it most of its steps, and the row program is often tried in vain before.

## Solvers on the same programs

The same folded programs by each solver: processor time of one run, and the relative gap between the loss of the
repaired matrix and the proved bound. A gap of inf means that there was no matrix within {patience:.0f} s.

{summary}

### The choice

{choice}

### All measurements

{table}

{machine}
"""

CHOICE = """\
1. **The row program** where it fits and rows are not nearly flat: it holds one row for each answer instead of one
   for each cell. It gives up after a fixed number of rounds, and before Clarabel as soon as its counted work is what
   Clarabel is expected to take (`routes/program_work.py`), so that both together take about twice the better of them.
2. **The simplex method** for programs of up to {vertex} variables: it ends in a vertex, so that gaps are those of
   rounding, and takes some hundredths of a second at most.
3. **Clarabel** for larger programs. A step of an interior point factors the program once, and some thirty steps suffice
   whatever its size, while the pivots of the simplex method grow with the number of variables. It replaces the interior
   point of HiGHS. If its gap is more than 1e-6, the simplex method follows.

Of all optimal designs the one with the least squared error is taken. The simplex method finds it from its vertex. An
interior point ends in the middle of all optima, so where there may be several the program is solved again with a
millionth of the squared error in the cost; the multipliers of the plain cost prove the bound.

Every answer is a proposal: the matrix is repaired, the bound is proved from the multipliers by weak duality with all
roundings counted, and the certifier checks the integers. Clarabel runs in one thread with a fixed factorization."""

if __name__ == "__main__":
    what, *words = sys.argv[1:]
    ib.optimal(ib.count(5), 1), ib.optimal(ib.ordinal(1, 30), 1, properties=["fair"], aim="worst")  # loads the solvers
    papers_lp.clarabel(ib.count(4), 1.0, "absolute")
    if what == "choice":
        keep(what, choice())
    for word in words if what == "ratios" else ():
        ratios(word)
    if {"choice", "ratios"} <= known().keys():
        write_page()

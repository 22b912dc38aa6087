"""Plant every known fault again, one at a time, and see that the tests named for it fail.

    python tests/plant.py            every fault
    python tests/plant.py sum chmod  those whose name holds one of these words

A fault is one expression of the package replaced by a wrong one. The file is found by the expression, so faults move
along when code moves; an expression that is not found exactly once is an error: carry the fault to where its line
went, or say why it is gone. Before anything is planted the named tests must pass.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Fault:
    """What stands in the package, what is planted in its place, the tests that must fail, and what would break."""

    name: str
    old: str
    new: str
    caught_by: str
    breaks: str


ANSWERS = "tests/release/test_release_answer.py"
COMPOSE = "tests/test_compose.py"
DUALITY = "tests/design/test_duality.py"
ESTIMATE = "tests/test_estimate.py"
ENTROPY = "tests/test_entropy.py"
FILES = "tests/test_files.py"
WRITE = "tests/release/test_release_write.py"
TABLES = "tests/release/test_release_every_small_table.py"

FAULTS = [
    # --- privacy of released tables
    Fault(
        "reach of a sum: width of the column",
        "Reach(max(abs(grid.low), abs(grid.high)))",
        "Reach(grid.high - grid.low)",
        TABLES,
        "a record of a column 5..10 moves the sum by 10, twice what its epsilon pays for",
    ),
    Fault(
        "reach of a sum: upper bound or width",
        "Reach(max(abs(grid.low), abs(grid.high)))",
        "Reach(max(grid.high - grid.low, grid.high))",
        TABLES,
        "a negative column moves the sum by |low|",
    ),
    Fault(
        "grid of a sum: step alone",
        "unit = Fraction(math.gcd(int(column.low * common), int(column.step * common)), common)",
        "unit = column.step",
        TABLES,
        "where low is no multiple of step, the reach is rounded down",
    ),
    Fault(
        "upper clamp of public sums",
        "column.default, 0, sizes * column.width)",
        "column.default, 0, 1 << 62)",
        TABLES,
        "more records than declared leave the range of the mechanism",
    ),
    Fault(
        "clamp of histogram cells",
        "return list(np.minimum(cells, sizes))",
        "return list(cells)",
        TABLES,
        "more records than declared leave the range of the mechanism",
    ),
    Fault(
        "halving where records change groups",
        'return spent / 2, "half, because a changed record may leave one group',
        'return spent, "half, because a changed record may leave one group',
        TABLES,
        "a changed record touches two groups: twice the epsilon",
    ),
    Fault(
        "halving of histograms",
        'return spent / 2, "half, because a changed record leaves one cell',
        'return spent, "half, because a changed record leaves one cell',
        TABLES,
        "a changed record touches two cells: twice the epsilon",
    ),
    # --- results of released tables
    Fault(
        "least sum by records",
        "np.minimum(0, sizes * grid.low)",
        "np.minimum(0, rows * grid.low)",
        TABLES,
        "wrong sums",
    ),
    Fault(
        "mean rounded down",
        "nearest = (2 * own + rows) // np.maximum(2 * rows, 1)",
        "nearest = own // np.maximum(rows, 1)",
        TABLES,
        "means are half a step too low",
    ),
    Fault(
        "steps rounded down",
        "(steps + 0.5).floor()",
        "steps.floor()",
        TABLES,
        "values are half a step too low",
    ),
    Fault(
        "one mechanism for all sizes",
        "report(design.mechanism.law.sampler, positions[members], draws)",
        "report(designs[0].mechanism.law.sampler, positions[members], draws)",
        ANSWERS,
        "a group is answered by the mechanism of another size: another range, another law",
    ),
    Fault(
        "error without the prior",
        "design.mechanism.loss('absolute', prior_of(request.wishes, request.query))",
        "design.mechanism.loss('absolute', None)",
        ANSWERS,
        "the expected error of a plan with a prior is that of another plan",
    ),
    Fault(
        "product of keys in the mapping's order",
        "[[written(value) for value in listed(keys[name])] for name in by]",
        "[[written(value) for value in listed(keys[name])] for name in keys]",
        "tests/release/test_release_plan.py",
        "schools are looked up among years",
    ),
    # --- randomness
    Fault(
        "a release drawn from Numpy's generator",
        "draws: Draws = entropy, progress",
        "draws: Draws = __import__('inbounds.sample').sample.simulated(np.random.default_rng()), progress",
        ENTROPY,
        "reports follow from 128 bits of state, and repeat after a fork",
    ),
    Fault(
        "Numpy's generator in the one place",
        "np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
        "np.random.default_rng().integers(0, 1 << 63, count, dtype=np.uint64)",
        ENTROPY,
        "all reports follow from a generator's state",
    ),
    Fault(
        "a person's client drawn from Numpy's generator",
        "report(self.mechanism.law.sampler, positions, entropy)",
        "report(self.mechanism.law.sampler, positions, lambda n: np.arange(n, dtype=np.uint64) << np.uint64(50))",
        ENTROPY,
        "the same people report the same values in every batch",
    ),
    # --- bounds and certificates
    Fault(
        "multipliers of the wrong sign",
        "np.maximum(duals.values, 0.0), R.size",
        "duals.values, R.size",
        DUALITY,
        "the bound is above the optimum: a gap that is not there",
    ),
    Fault(
        "cliques out of balance",
        "return rise * shrink[:, None] * room, fall",
        "return rise * room, fall",
        DUALITY,
        "the bound is above the optimum",
    ),
    Fault(
        "margin of the bound",
        "return math.fsum(terms) - UNIT * (2 * size + problem.shape[1] * abs(math.fsum(terms)))",
        "return math.fsum(terms)",
        DUALITY,
        "the bound is above the optimum by some units in the last place",
    ),
    Fault(
        "residual as a mean",
        "return float(self.r.max() - 1)",
        "return float(self.r.mean() - 1)",
        ESTIMATE,
        "an estimate is called the maximum when it is not",
    ),
    Fault(
        "extrapolation always kept",
        "if trial.log_likelihood >= once.log_likelihood:",
        "if True:",
        ESTIMATE,
        "the likelihood falls",
    ),
    Fault(
        "last update for the best",
        "if update.log_likelihood >= best.log_likelihood or update.residual <= tolerance:",
        "if True:",
        ESTIMATE,
        "a worse estimate than the best one seen",
    ),
    Fault(
        "last Newton step for the best",
        "best = now if now.residual <= best.residual else best",
        "best = now",
        ESTIMATE,
        "a worse estimate than the best one seen",
    ),
    Fault(
        "sum of a Newton step",
        "q = q / q.sum()  # what rounding took from the constraint",
        "q = q * 1",
        ESTIMATE,
        "probabilities that do not sum to one",
    ),
    # --- composition
    Fault(
        "delta above one", "return min(1.0, max(float(pmf", "return max(0.0, max(float(pmf", COMPOSE, "no probability"
    ),
    Fault(
        "delta below nothing",
        "max(float(pmf.get_delta_for_epsilon(epsilon)), 0.0) + self.slack",
        "float(pmf.get_delta_for_epsilon(epsilon)) + self.slack",
        COMPOSE,
        "a transform's error is taken from the slack",
    ),
    Fault(
        "delta without the slack",
        "max(float(pmf.get_delta_for_epsilon(epsilon)), 0.0) + self.slack",
        "max(float(pmf.get_delta_for_epsilon(epsilon)), 0.0)",
        COMPOSE,
        "a delta that floating point does not allow to promise",
    ),
    Fault(
        "delta rounded to the nearest",
        "return math.nextafter(float(delta), 0.0)",
        "return float(delta)",
        COMPOSE,
        "more than the delta that was given",
    ),
    Fault(
        "losses on the grid without a margin",
        "steps = (losses + LOG_ERROR) / grid.step + ROUNDING * (1 + grid.points)",
        "steps = losses / grid.step",
        COMPOSE,
        "a loss below the true one",
    ),
    # --- files
    Fault(
        "bound above the value",
        "return best.bound <= best.value",
        "return True",
        FILES,
        "a passport proves less than nothing is left to gain",
    ),
    Fault(
        "cells of a passport unchecked",
        "Cells.of(list(zip(outputs.lowers, outputs.uppers, outputs.values, strict=True)))",
        "list(zip(outputs.lowers, outputs.uppers, outputs.values, strict=True))",
        FILES,
        "outputs that overlap or do not hold their value",
    ),
    Fault(
        "old passport removed first",
        "unfinished.replace(target)",
        "target.unlink(missing_ok=True), unfinished.replace(target)",
        FILES,
        "a kill in between costs the passport",
    ),
    Fault(
        "passport written in place",
        "unfinished.replace(target)",
        "target.write_bytes(unfinished.read_bytes())",
        FILES,
        "a kill in between leaves half a passport",
    ),
    Fault(
        "collection written in place",
        "os.replace(file.name, target)",
        "target.write_text(text, 'utf-8'), os.unlink(file.name)",
        FILES,
        "a kill in between costs all reports that were collected",
    ),
    Fault(
        "released table written in place",
        "os.replace(table_part, target)",
        "target.write_bytes(content)",
        WRITE,
        "a kill in between leaves half a table under its name",
    ),
    Fault(
        "table before its record",
        "os.replace(record_part, record_path(target))",
        "os.replace(table_part, target), table_part.write_bytes(content), os.replace(record_part, record_path(target))",
        WRITE,
        "a kill in between leaves a table whose epsilon nobody remembers",
    ),
    Fault(
        "old table left beside the new record",
        "target.unlink(missing_ok=True)",
        "target.exists()",
        WRITE,
        "a kill in between leaves a record that names another table",
    ),
    Fault(
        "record in the place of an input",
        'check_place(record_path(target), "output", inputs)',
        "record_path(target)",
        WRITE,
        "--overwrite replaces the keys by the record",
    ),
    Fault(
        "rights of a release",
        "os.chmod(name, 0o666 & ~_umask())",
        "_umask()",
        WRITE,
        "nobody but its owner can read it",
    ),
]


def chosen(words: Sequence[str]) -> list[Fault]:
    return [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]


def place_of(fault: Fault, root: Path) -> Path:
    """The one file of the package in which the fault's expression stands, once."""
    found = {file: file.read_text("utf-8").count(fault.old) for file in (root / "src").rglob("*.py")}
    places = [file for file, times in found.items() if times]
    if sum(found.values()) != 1:
        raise LookupError(
            f"fault {fault.name!r} must have its expression once in src, got {sum(found.values())} times: {fault.old!r}"
        )
    return places[0]


@contextmanager
def copied() -> Iterator[Path]:
    """The package and its tests in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", root)
        yield root


def tested(root: Path, names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """pytest on the copy, whose package comes before any installed one."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *names]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)


def survives(fault: Fault, root: Path) -> str:
    """Why the fault is not caught; empty when it is."""
    file = place_of(fault, root)
    whole = file.read_text("utf-8")
    file.write_text(whole.replace(fault.old, fault.new), "utf-8")
    try:
        done = tested(root, fault.caught_by.split())
    finally:
        file.write_text(whole, "utf-8")
    if done.returncode == 1:
        return ""
    return f"{fault.name}: {fault.caught_by} ended with {done.returncode}; {fault.breaks}\n{done.stdout[-2000:]}"


def main(words: Sequence[str]) -> list[str]:
    """Plant the chosen faults; those that survive."""
    with copied() as root:
        faults = chosen(words)
        for fault in faults:
            place_of(fault, root)
        clean = tested(root, sorted({name for fault in faults for name in fault.caught_by.split()}))
        if clean.returncode:
            raise RuntimeError(f"the tests must pass before a fault is planted:\n{clean.stdout[-4000:]}")
        left = []
        for fault in faults:
            reason = survives(fault, root)
            sys.stdout.write(f"{'SURVIVES' if reason else 'caught'}  {fault.name}\n")
            sys.stdout.flush()
            left += [reason] if reason else []
        return left


if __name__ == "__main__":
    sys.exit("\n".join(main(sys.argv[1:])) or 0)

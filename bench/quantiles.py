"""Errors of private quantiles beside the exponential mechanism on ranks and OpenDP, on random cases.

No report is drawn: given the records, the probabilities of all reports are known for each side, and so is the expected
error (the peers: quantile_peers.py). What is left to chance is which groups a distribution gives, the same for all.

`python bench/quantiles.py` writes docs/benchmarks/quantiles.md and quantiles.json; `--quick` prints a few cases.
"""

import json
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread
from pages import WIDE, machine_line, publish
from quantile_cases import CASES, EPSILONS, GROUPS, SEED, SIZES, VALUES, draw_cases
from quantile_intervals import LEVEL, Held, all_held
from quantile_peers import OpenDP, exponential

import inbounds as ib
from inbounds.catalog.noise_tables import geometric_table
from inbounds.data import adult
from inbounds.exact import Floats
from inbounds.schema.columns import number_column
from inbounds.statistics._mean_pair import mean_from_sums, pair_query
from inbounds.trusted.samplers import seeded_entropy

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "quantiles.md"
PEERS = ("exponential", "OpenDP")
NOTICEABLE, NEGLIGIBLE = 1.02, 1e-3
"""The ratio from which on a case is listed; steps: an expected error that nobody can tell from none."""

Row = dict[str, Any]
"""A case and the mean errors of all sides."""

# --- what is measured -------------------------------------------------------------------------------------


def measure(count: int) -> list[Row]:
    """Measure the mean errors of all sides in every case; `seconds` is the processor time of the design."""
    cases = list(draw_cases(count))
    opendp = OpenDP(cases)
    rows = []
    for case in cases:
        start = time.process_time()
        design = ib.design_quantile(case.query, case.epsilon)
        spent = time.process_time() - start
        own = design.mechanism
        laws = {
            "inbounds": own.probabilities(case.groups),
            "plain": ib.design_permute_flip(case.query, case.epsilon).probabilities(case.groups),
            "exponential": exponential(case),
            "OpenDP": opendp(case),
        }
        errors = {name: float(case.errors(law).mean()) for name, law in laws.items()}
        rows.append({**case.facts, "law": own.law.kind, "seconds": round(spent, 4), "errors": errors})
    return rows


def ratio(row: Row, peer: str) -> float:
    """Return our error over a peer's; nan where both are negligible."""
    own, other = row["errors"]["inbounds"], row["errors"][peer]
    return own / other if max(own, other) > NEGLIGIBLE else float("nan")


def large(what: str) -> dict[str, float]:
    """In a process of its own: a release of 10^5 groups of 20 records in 0..100; processor seconds and gigabytes."""
    import pyarrow as pa

    rng, groups = np.random.default_rng(5), 100_000
    keys = np.array([f"g{k:06d}" for k in range(groups)])
    values = np.clip(rng.normal(np.repeat(rng.uniform(20, 80, groups), 20), 15).astype(int), 0, 100)
    data = pa.table({"g": np.repeat(keys, 20), "v": values})
    plan = {
        "groups": {"by": ["g"], "keys": pa.table({"g": keys}), "size": 20},
        "columns": {"v": {"low": 0, "high": 100}},
        "statistics": [{"median": "v"} if what == "medians" else {"count": "v >= 50"}],
        "privacy": {"epsilon": 4},
    }
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        ib.release(plan, data, output=f"{folder}/out.csv", cache=f"{folder}/cache")
        spent = time.process_time() - start
    return {"seconds": spent, "memory": _most_memory()}


def _most_memory() -> float:
    """Gigabytes that this process held at most; the usual count includes what its parent held when it was started."""
    line = next(line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


def means() -> dict[str, float]:
    """Errors of means of groups whose size is secret, epsilon 1: by the pair of sums that costs epsilon once."""
    rng, groups = np.random.default_rng(3), 20_000
    likert = rng.choice(5, (groups, 25), p=[0.1, 0.15, 0.25, 0.3, 0.2])
    ages = rng.choice(adult().age, (groups, 20)).astype(np.int64) - 17
    wages = np.clip(rng.lognormal(3.4, 0.5, (groups, 100)).round(), 0, 100).astype(np.int64)
    found = {}
    for name, column, values in (
        ("25 answers 1 to 5", number_column(1, 5), likert),
        ("ages of 20 people, 17 to 90 (Adult)", number_column(17, 90), ages),
        ("wages of 100 people, 0 to 100, lognormal", number_column(0, 100), wages),
    ):
        size, above = values.shape[1], values.sum(axis=1)
        mechanism, draws = (
            geometric_table(pair_query(column, size), Fraction(1)),
            seeded_entropy(np.random.default_rng(7)),
        )
        drawn = [mechanism.draw(part, draws) for part in (above, size * column.width - above)]
        truth = float(column.low) + values.mean(axis=1) * float(column.step)
        found[name] = float(np.abs(mean_from_sums(column, *drawn) - truth).mean())
    return found


def in_a_process(*words: str) -> Any:
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# --- the page ---------------------------------------------------------------------------------------------

ABOUT = """Expected absolute errors of quantiles of groups of public size, given the records: {cases} random cases.
Each has a random distribution of the records: one to three parts that are normal, lognormal, exponential, flat,
heavy-tailed or a single value, a quarter of them with heaps at round values, a quarter with irregular shares. It has
{sizes[0]} to {sizes[1]} records, {values[0]} to {values[1]} values and an epsilon of {epsilons[0]:g} to
{epsilons[1]:g}, all even on a logarithmic scale, and a position: minimum, median, maximum, or a multiple of 5 %.
{groups} groups are drawn for each case (seed {seed}). Every error is computed, not drawn, and all sides get the same
groups.

The cases were drawn once, after [the design](../theory/quantiles.md#the-choice-of-a-law) was settled, and nothing was
changed after looking at them. All of them are in [quantiles.json](quantiles.json).

`inbounds` is what `ib.design_quantile` takes before any record is seen. Its peers get the same records and the same
epsilon:

- *exponential*: the exponential mechanism in floats, with exp(-epsilon/2) for every record that must change;
- *OpenDP*: `make_private_quantile` with the size in the domain, scored and calibrated by OpenDP itself, whose noisy
  maximum of exponential noise is permute-and-flip."""

FORMER = """On the same cases, measured once: the fitted rules that the search replaced erred 0.649 times as much as the
exponential mechanism in the mean (1.043 at worst) and 0.573 times as much as OpenDP (1.806 at worst, 4 cases above
1.02); plain permute-and-flip 0.665 (1.001) and 0.589 (1.266, 16 cases)."""
"""What the fitted rules that the search replaced had on the same cases, measured once."""

HOLDING = f"""{100 * LEVEL:.0f} % intervals of published medians (`credible_set`, `intervals` of a plan), of 74 ages or
101 values, without a prior: the share of draws in which the interval holds the median, over 400 groups of each
shape, and in brackets the mean number of values in it. After the stroke: the share if the reader takes records for
independent and every value for equally likely, which leans to the middle of the range. A gap just at the median (two
bells, both ends) is not what the prior expects, and intervals are too short for it: one report does not tell a gap from
records that lie densely, so that only intervals as wide as the gap for everybody would hold it."""

LIMITS = """**What this does not say.** How the errors compare with a mechanism that knows more about the records, or
that interpolates between them; and nothing about sizes that are not public, for which OpenDP takes other scores. A
case where both sides err by less than a thousandth of a step is left out of the ratios. Medians are the lower of the
two middle records of an even size, for all sides; OpenDP's score has its least value between them."""

BANDS = {"size": (20, 100, 500), "values": (10, 40, 150), "epsilon": (0.3, 1, 2)}
"""The ends of the bands that cases are summed up by."""

NAMES = {"0": "minimum", "1/2": "median", "1": "maximum"}


def bands(rows: list[Row], fact: str) -> dict[str, list[Row]]:
    """Sort cases into bands of a number, or by their position."""
    if fact == "at":
        found = {name: [row for row in rows if row["at"] == at] for at, name in NAMES.items()}
        return {**found, "another": [row for row in rows if row["at"] not in NAMES]}
    ends = (0.0, *BANDS[fact], float("inf"))
    return {
        f"over {low:g} to {high:g}": [row for row in rows if low < float(row[fact]) <= high]
        for low, high in pairwise(ends)
    }


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: list[Row]) -> str:
    places = ("10 %", "median", "90 %", "99 %", "worst", "above 1", "above 1.02")
    found = {peer: _ratios(rows, peer) for peer in PEERS}
    return table(
        ["peer", "cases", "geometric mean", "mean", *places],
        [[peer, *_numbers(ratios)] for peer, ratios in found.items()],
    )


def _ratios(rows: list[Row], peer: str) -> Floats:
    found = np.array([ratio(row, peer) for row in rows])
    return found[np.isfinite(found)]


def _numbers(ratios: Floats) -> list[str]:
    geometric = np.exp(np.log(np.maximum(ratios, 1e-9)).mean())
    numbers = (geometric, ratios.mean(), *np.quantile(ratios, (0.1, 0.5, 0.9, 0.99)), ratios.max())
    above = [f"{int((ratios > most).sum())}" for most in (1.0, NOTICEABLE)]
    return [str(len(ratios)), *(f"{value:.3f}" for value in numbers), *above]


def split(rows: list[Row], fact: str) -> str:
    head = [fact, *(f"{what}, {peer}" for peer in PEERS for what in ("cases", "mean", "worst"))]
    lines = []
    for band, part in bands(rows, fact).items():
        line = [band]
        for ratios in (_ratios(part, peer) for peer in PEERS):
            known = [f"{ratios.mean():.3f}", f"{ratios.max():.3f}"] if len(ratios) else ["–", "–"]
            line += [str(len(ratios)), *known]
        lines.append(line)
    return table(head, lines)


def worse(rows: list[Row]) -> str:
    """List every case in which a peer errs noticeably less, the worst first."""
    found = [(ratio(row, peer), k, peer) for k, row in enumerate(rows) for peer in PEERS]
    lines = []
    for share, k, peer in sorted((one for one in found if one[0] > NOTICEABLE), reverse=True):
        row = rows[k]
        facts = f"{row['at']}, {row['size']} records, {row['values']} values, epsilon {row['epsilon']}"
        errors = (f"{row['errors'][side]:.3g}" for side in ("inbounds", peer))
        lines.append([facts, row["shape"], peer, f"{share:.3f}", *errors, row["law"]])
    head = ["position and case", "records", "peer", "ratio", "our error", "its error", "our law"]
    return table(head, lines) if lines else "None."


def page(rows: list[Row], big: dict[str, Any]) -> str:
    about = ABOUT.format(
        cases=len(rows), sizes=SIZES, values=VALUES, epsilons=EPSILONS, groups=GROUPS, seed=SEED
    )  # fmt: skip
    laws = {name: sum(row["law"] == name for row in rows) for name in sorted({row["law"] for row in rows})}
    kinds = ", ".join(f"{count} of the kind *{name}*" for name, count in laws.items())
    seconds = np.array([row["seconds"] for row in rows])
    parts = [
        WIDE,
        "# Quantiles",
        about,
        "## Our error over theirs",
        summary(rows),
        f"Below 1, ours is smaller. Laws: {kinds}. A design took {np.median(seconds):.2f} s of processor time in the "
        f"median, {seconds.max():.2f} s at most.",
        FORMER,
        *(f"By {fact}:\n\n{split(rows, fact)}" for fact in ("at", *BANDS)),
        "## Where a peer is better",
        "Every case above 1.02. Errors are in steps of the range.",
        worse(rows),
        "## How often intervals hold the truth",
        HOLDING,
        _held(all_held()),
        "## Means of secret sizes",
        "By two sums that together cost epsilon once, epsilon 1, over 20,000 groups (a seed for the draws):",
        table(["groups", "mean absolute error"], [[name, f"{error:.3g}"] for name, error in means().items()]),
        "## 10^5 groups of 101 values",
        _large(big),
        LIMITS,
        "**Repeat it:** `make bench ONLY=quantiles`.",
        machine_line(machine()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _held(found: list[Held]) -> str:
    shapes = list(dict.fromkeys(one.shape for one in found))
    head = dict.fromkeys((one.size, one.epsilon) for one in found)
    cells = {
        (one.shape, one.size, one.epsilon): f"{one.unknown:.3f} ({one.width:.1f}) / {one.even:.3f}" for one in found
    }
    rows = [[shape, *(cells[shape, *facts] for facts in head)] for shape in shapes]
    return table(["records", *(f"{size}, epsilon {epsilon}" for size, epsilon in head)], rows)


def _large(big: dict[str, Any]) -> str:
    counts, medians = big["counts"], big["medians"]
    return (
        f"A whole release of 2·10^6 records, epsilon 4: counts {counts['seconds']:.1f} s of processor time, medians "
        f"{medians['seconds']:.1f} s, {medians['seconds'] / counts['seconds']:.2f} times as much; "
        f"{counts['memory']:.2f} and {medians['memory']:.2f} GB at most."
    )


def main(quick: bool) -> None:
    one_thread()
    rows = measure(40 if quick else CASES)
    if quick:
        print(summary(rows), worse(rows), sep="\n\n")
        return
    big = {what: in_a_process(what) for what in ("counts", "medians")}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    PAGE.with_suffix(".json").write_text(f"[\n{lines}\n]\n", "utf-8")
    publish(PAGE, page(rows, big))


if __name__ == "__main__":
    words = sys.argv[1:]
    if words and words[0] in ("counts", "medians"):
        print(json.dumps(large(words[0])))
    else:
        main(words == ["--quick"])

"""Errors of several quantiles in one draw beside single draws, JointExp and OpenDP, on random cases.

No report is drawn: given the records, the probabilities of all values of every quantile are known for each side, and
so is the expected error. What is left to chance is which groups a distribution gives, the same for all.

It also measures how often 90 % intervals hold the true quantiles, and realised errors beside expected ones, on fresh
cases.

It compares the laws as well, on the groups that designs are judged on.

`python bench/several_quantiles.py` writes docs/benchmarks/several-quantiles.md and its four JSON files; `--stated`
measures what plans state alone, `--laws` the laws, `--work` the time of draws, and `--quick` prints a few cases.
Distributions are those of quantile_cases.py; the cases were drawn once, after the design was settled, and nothing was
changed after looking at them.
"""

import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread
from pages import WIDE, machine_line, publish
from quantile_cases import Case, draw_distribution
from quantile_peers import OpenDP

import inbounds as ib
from inbounds.design.quantiles.joint import declared_groups
from inbounds.exact import Floats, Ints
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.mechanism.laws.scores import permute_flip_probabilities
from inbounds.query import JointQuantileQuery
from inbounds.releases.vector_accuracy import simulate_vectors
from inbounds.trusted.samplers import seeded_entropy
from quantiles import NEGLIGIBLE, NOTICEABLE, table

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "several-quantiles.md"
SEED, CASES, GROUPS = 20261120, 25, 40
SIZES, VALUES, EPSILONS = (8, 1000), (4, 200), (0.2, 5.0)
"""Ranges of sizes, of numbers of values and of epsilons; all are drawn evenly on a logarithmic scale."""

SETS = {
    "quartiles": ("1/4", "1/2", "3/4"),
    "minimum, median, maximum": ("0", "1/2", "1"),
    "deciles": tuple(str(Fraction(k, 10)) for k in range(1, 10)),
    "5 %, median, 95 %": ("1/20", "1/2", "19/20"),
}
PEERS = ("single draws", "JointExp", "OpenDP, single")

STATED_SEED, STATED_CASES, REPORTS = 20261124, 40, 5
LAWS_SEED, LAWS_CASES, FEW_VALUES, MOST_VECTORS = 20261125, 80, (2, 40), 2000

Row = dict[str, Any]
"""A case and the mean errors of all sides."""


@dataclass(frozen=True)
class JointCase:
    """A question, the kind of distribution that its records have, and the groups drawn from it."""

    name: str
    size: int
    values: int
    epsilon: str
    shape: str
    groups: Ints

    @property
    def query(self) -> JointQuantileQuery:
        return ib.quantiles(SETS[self.name], 0, self.values - 1, size=self.size)

    @property
    def singles(self) -> list[Case]:
        """Every quantile as a case of its own, with an equal part of epsilon."""
        part, shares = repr(float(self.epsilon) / len(SETS[self.name])), SETS[self.name]
        return [Case(self.size, self.values, part, at, self.shape, self.groups) for at in shares]

    def error(self, probabilities: Floats) -> float:
        """Compute the mean error over quantiles and groups, in steps. probabilities: groups × quantiles × values."""
        truths = np.stack([single.true_positions(self.groups) for single in self.query.singles], axis=1)
        distances = np.abs(np.arange(self.values) - truths[:, :, None])
        return float((probabilities * distances).sum(axis=2).mean())


def draw_cases(count: int, seed: int = SEED) -> Iterator[JointCase]:
    """Draw the first `count` cases."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        size, values = (round(float(np.exp(rng.uniform(*np.log(ends))))) for ends in (SIZES, VALUES))
        epsilon = f"{float(np.exp(rng.uniform(*np.log(EPSILONS)))):.2g}"
        name = str(rng.choice([*SETS]))
        shape, weights = draw_distribution(values, rng)
        yield JointCase(name, size, values, epsilon, shape, rng.multinomial(size, weights, size=GROUPS))


def joint_exp(case: JointCase) -> Floats:
    """JointExp in floats, on the values of the range: exp(-epsilon/4) for each record too many or too few of an
    interval between two outputs, lower ends open; every vector alike beforehand.
    """
    upto = np.cumsum(case.groups, axis=1)
    ranks = [0, *case.query.ranks, case.size]
    rises = np.triu(np.ones((case.values, case.values), dtype=bool))  # from a value to one that is not below

    def weigh(between: Ints, places: int) -> Floats:
        return np.asarray(-float(case.epsilon) / 4 * np.abs(between - places))  # logarithms: none may underflow

    forward, moves = [weigh(upto, ranks[1])], list[Floats]()
    for before, rank in pairwise(ranks[1:-1]):
        moves.append(np.where(rises, weigh(upto[:, None, :] - upto[:, :, None], rank - before), -np.inf))
        forward.append(np.logaddexp.reduce(forward[-1][:, :, None] + moves[-1], axis=1))
    backward, found = weigh(case.size - upto, case.size - ranks[-2]), []
    for j in range(len(forward) - 1, -1, -1):
        found.append(forward[j] + backward)
        if j:
            backward = np.logaddexp.reduce(moves[j - 1] + backward[:, None, :], axis=2)
    logs = np.stack(found[::-1], axis=1)
    law = np.exp(logs - logs.max(axis=2, keepdims=True))
    return np.asarray(law / law.sum(axis=2, keepdims=True))


def measure(count: int) -> list[Row]:
    """Measure the mean errors of all sides in every case; `seconds` is the processor time of the design."""
    cases = list(draw_cases(count))
    opendp = OpenDP([single for case in cases for single in case.singles])
    rows = []
    for case in cases:
        start = time.process_time()
        own = ib.design_quantiles(case.query, case.epsilon).mechanism
        spent = time.process_time() - start
        part = Fraction(case.epsilon) / len(case.query.at)
        single = [ib.design_quantile(one, part).mechanism.probabilities(case.groups) for one in case.query.singles]
        laws = {
            "inbounds": own.probabilities(case.groups),
            "single draws": np.stack(single, axis=1),
            "JointExp": joint_exp(case),
            "OpenDP, single": np.stack([opendp(one) for one in case.singles], axis=1),
        }
        facts = {name: getattr(case, name) for name in ("name", "size", "values", "epsilon", "shape")}
        errors = {name: case.error(law) for name, law in laws.items()}
        design = own.origin.parameters.get("closeness", own.origin.name)
        rows.append({**facts, "design": design, "seconds": round(spent, 3), "errors": errors})
    return rows


def measure_stated(count: int) -> list[Row]:
    """Measure how often intervals hold the true quantile, and realised errors, for every quantile of fresh cases."""
    rows, rng = [], np.random.default_rng(STATED_SEED)
    for case in draw_cases(count, STATED_SEED):
        own = ib.design_quantiles(case.query, case.epsilon).mechanism
        groups = np.repeat(case.groups, REPORTS, axis=0)
        reports, vectors = own.draw(groups, seeded_entropy(rng)), simulate_vectors(own, None)
        weights, values = vectors.weights(None), np.arange(case.values)
        for place, (at, single) in enumerate(zip(SETS[case.name], case.query.singles, strict=True)):
            truths, found = single.true_positions(groups), []
            for report, truth, mass in zip(
                reports[:, place], truths, vectors.posteriors(place, reports, weights), strict=True
            ):
                runs = [(report, report + 1), *(find_shortest_run(half / half.sum(), 0.9) for half in mass)]
                low, stop = min(low for low, _ in runs), max(stop for _, stop in runs)
                told = np.abs(values - report) @ mass.sum(axis=0) / mass.sum()
                found.append((low <= truth < stop, stop - low, abs(report - truth), told))
            facts = {name: getattr(case, name) for name in ("name", "size", "values", "epsilon", "shape")}
            numbers = dict(zip(("held", "width", "realised", "told"), np.mean(found, axis=0).tolist(), strict=True))
            stated = {"at": at, **numbers, "expected": vectors.expected_error(place, "absolute", weights)[0]}
            rows.append({**facts, **{k: v if k == "at" else round(v, 5) for k, v in stated.items()}})
    return rows


def draw_settings(count: int) -> Iterator[tuple[JointQuantileQuery, str]]:
    """Draw questions about few values, and epsilons; half of the sizes are secret, and those are at most 60."""
    for number in range(count):
        rng = np.random.default_rng([LAWS_SEED, number])
        public, name = bool(number % 2), str(rng.choice([*SETS]))
        largest = SIZES[1] if public else 60
        size, values = (round(float(np.exp(rng.uniform(*np.log(ends))))) for ends in ((SIZES[0], largest), FEW_VALUES))
        epsilon = f"{float(np.exp(rng.uniform(*np.log(EPSILONS)))):.2g}"
        yield ib.quantiles(SETS[name], 0, values - 1, **{"size" if public else "maximum": size}), epsilon


def flip_vectors(query: JointQuantileQuery, epsilon: float, groups: Ints) -> Floats | None:
    """Return the mean error of permute-and-flip over all vectors, by how many records must change; None if too many.

    In floats, as well as it could be done: nothing is paid for rounding.
    """
    m, values = len(query.at), query.width + 1
    if not query.public_size or len({*query.ranks}) < m or math.comb(values + m - 1, m) > MOST_VECTORS:
        return None
    vectors = np.array([*combinations_with_replacement(range(values), m)])
    upto = np.cumsum(groups, axis=1)
    behind, levels, last = np.zeros((len(groups), len(vectors)), dtype=np.int64), 0, 0
    for rank, to in zip(query.ranks, vectors.T, strict=True):
        reached, low, high = behind + rank - last - 1, (upto - groups)[:, to], upto[:, to]
        stop = np.clip(reached, low, high)
        behind = np.minimum(stop + 1, high)
        levels, last = levels + np.abs(reached - stop) + stop + 1 - behind, rank
    levels = levels + np.abs(query.size - behind - (query.size - last))
    chances = np.maximum(np.exp(-epsilon / 2 * levels / 2), 1e-300)
    law = np.concatenate([permute_flip_probabilities(part) for part in np.array_split(chances, 8)])
    truths = np.stack([single.true_positions(groups) for single in query.singles], axis=1)
    return np.asarray((law * np.abs(vectors - truths[:, None]).mean(axis=2)).sum(axis=1))


def measure_laws(count: int) -> list[Row]:
    """Measure the mean errors of the laws on the groups that designs are judged on."""
    rows = []
    for query, epsilon in draw_settings(count):
        groups, _ = declared_groups(query)
        chosen = ib.design_quantiles(query, epsilon)
        paths = ib.design_quantiles(query, epsilon, search=ib.JointSearch(counts=False))
        of_paths = min(mean for mean, _ in paths.errors.values())
        flips = flip_vectors(query, float(epsilon), groups)
        numbers = {
            "chosen": chosen.errors[chosen.reason.partition(":")[0]][0],
            "path lengths": of_paths,
            "noisy counts": chosen.errors["noisy counts"][0],
            "permute-and-flip": None if flips is None else float(flips.mean()),
        }
        facts = {"at": ", ".join(map(str, query.at)), "size": query.size, "public": query.public_size}
        facts |= {"values": query.width + 1, "epsilon": epsilon, "law": chosen.mechanism.law.kind}
        rows.append({**facts, "errors": {name: one if one is None else round(one, 5) for name, one in numbers.items()}})
    return rows


WORK_ROUNDS, WORK_GROUPS, WORK_SIZE, WORK_VALUES = 7, 400, 100, 101


def measure_work() -> list[Row]:
    """Measure the processor time of a draw of quartiles, in ms a group, on records of very different kinds."""
    rng, n, values = np.random.default_rng(STATED_SEED), WORK_SIZE, WORK_VALUES
    mechanism = ib.design_joint(ib.quantiles(SETS["quartiles"], 0, values - 1, size=n), 1)
    alike, ends = np.zeros((2, WORK_GROUPS, values), dtype=np.int64)
    alike[:, values // 2] = n
    ends[:, 0] = ends[:, -1] = n // 2
    kinds = {
        "any value": rng.multinomial(n, np.full(values, 1 / values), size=WORK_GROUPS),
        "all alike": alike,
        "half at each end": ends,
        "one of each value": np.tile((np.arange(values) < n).astype(np.int64), (WORK_GROUPS, 1)),
        "close together": rng.multinomial(n, np.eye(values)[40:50].sum(axis=0) / 10, size=WORK_GROUPS),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(WORK_ROUNDS):  # in turns, so that what else the machine does falls on all alike
        for kind, groups in kinds.items():
            start = time.process_time()
            mechanism.simulate_groups(groups, rng)
            times[kind].append((time.process_time() - start) / WORK_GROUPS * 1000)
    return [{"records": kind, "ms": round(float(np.median(of)), 4)} for kind, of in times.items()]


def ratios(rows: list[Row], peer: str) -> Floats:
    """Return our errors over a peer's, without the cases in which both are negligible."""
    pairs = [(row["errors"]["inbounds"], row["errors"][peer]) for row in rows]
    return np.array([own / other for own, other in pairs if max(own, other) > NEGLIGIBLE])


# --- the page ---------------------------------------------------------------------------------------------

ABOUT = """Expected absolute errors of several quantiles of groups of public size, given the records, averaged over the
quantiles: {cases} random cases, {groups} groups each (seed {seed}). Distributions are drawn as those of [single
quantiles](quantiles.md); groups have {sizes[0]} to {sizes[1]} records, {values[0]} to {values[1]} values and an epsilon
of {epsilons[0]:g} to {epsilons[1]:g} for all quantiles together, all even on a logarithmic scale. Every error is
computed, not drawn, and all sides get the same groups. The cases were drawn once, after [the
design](../theory/several-quantiles.md) was settled, and nothing was changed after looking at them. All of them are in
[several-quantiles.json](several-quantiles.json).

`inbounds` is what `ib.design_quantiles` takes before any record is seen. Its peers get the same records and the same
epsilon:

- *single draws*: `ib.design_quantile` for each quantile, with an equal part of epsilon;
- *JointExp* (Gillenwater, Joseph and Kulesza 2021): in floats, on the values of the range as they are. It was made for
  records without ties; noise that splits ties, which its authors add, may help it;
- *OpenDP, single*: `make_private_quantile` for each quantile, with an equal part of epsilon."""

LIMITS = """**What this does not say.** Nothing about sizes that are not public. Single draws are not put in order here;
sorting them, as a plan does, makes them a little better. A case where both sides err by less than a thousandth of a
step is left out of the ratios."""


def summary(rows: list[Row], fact: str | None = None) -> str:
    """Return a table of the ratios to every peer, of all cases or for each value of a fact."""
    parts = {"all": rows} if fact is None else {name: [row for row in rows if row[fact] == name] for name in SETS}
    lines = []
    for name, part in parts.items():
        for peer in PEERS:
            found = ratios(part, peer)
            numbers = (np.exp(np.log(found).mean()), found.mean(), *np.quantile(found, (0.1, 0.5, 0.9)), found.max())
            above = str(int((found > NOTICEABLE).sum()))
            lines.append([name, peer, str(len(found)), *(f"{number:.3f}" for number in numbers), above])
    head = ["quantiles", "peer", "cases", "geometric mean", "mean", "10 %", "median", "90 %", "worst", "above 1.02"]
    return table(head, lines)


def worse(rows: list[Row]) -> str:
    """List every case in which a peer errs noticeably less, the worst first."""
    lines = []
    for row in rows:
        for peer in PEERS:
            own, other = row["errors"]["inbounds"], row["errors"][peer]
            if max(own, other) > NEGLIGIBLE and own > NOTICEABLE * other:
                facts = f"{row['name']}, {row['size']} records, {row['values']} values, epsilon {row['epsilon']}"
                lines.append(
                    (own / other, [facts, row["shape"], peer, f"{own / other:.3f}", f"{own:.3g}", f"{other:.3g}"])
                )
    head = ["case", "records", "peer", "ratio", "our error", "its error"]
    return table(head, [line for _, line in sorted(lines, reverse=True)]) if lines else "None."


STATED = """90 % intervals of a plan, and the errors that it states, on {cases} fresh cases (seed {seed}, drawn once) of
the same kinds: for each quantile of each case, how often the interval holds the true one over {reports} reports of each
of {groups} groups; the realised error over the one that a dry run states; and over the one that the table states beside
each group's number, which follows from all of its quantiles. Both suppose the groups that designs are judged on ([what
is stated](../theory/several-quantiles.md#what-is-stated)). No distribution here is one of that model, so that one
number cannot be right for all of them: a realised error is far below the stated one where records lie closely together.
All of them are in [several-quantiles-stated.json](several-quantiles-stated.json)."""


def stated_table(rows: list[Row]) -> str:
    """Return how often intervals hold the truth and how errors compare, for all quantiles and for each set of them."""
    lines = []
    for name in ("all", *SETS):
        part = [row for row in rows if name in ("all", row["name"])]
        held = np.array([row["held"] for row in part])
        numbers = [held.mean(), *np.quantile(held, (0.1, 0.5)), held.min()]
        for stated in ("expected", "told"):
            over = [row["realised"] / row[stated] for row in part if row[stated] > NEGLIGIBLE]
            numbers += [*np.quantile(over, (0.5, 0.9)), max(over)]
        lines.append([name, str(len(part)), *(f"{number:.2f}" for number in numbers)])
    held_head = ["held, mean", "10 %", "median", "least"]
    return table(
        [
            "quantiles",
            "measured",
            *held_head,
            "error / dry run, median",
            "90 %",
            "largest",
            "error / table, median",
            "90 %",
            "largest",
        ],
        lines,
    )


def low_coverage(rows: list[Row]) -> str:
    """List the quantiles whose intervals hold the truth in fewer than three of four groups, the worst first."""
    low = sorted((row["held"], k) for k, row in enumerate(rows) if row["held"] < LOW)
    lines = []
    for held, k in low:
        row = rows[k]
        group = f"{row['size']} records, {row['values']} values, epsilon {row['epsilon']}"
        case = f"{row['at']} of {row['name']}, {group}"
        numbers = (held, row["width"], row["realised"], row["expected"])
        lines.append([case, row["shape"], *(f"{number:.3g}" for number in numbers)])
    return table(["case", "records", "held", "values in it", "error", "stated"], lines) if lines else "None."


LAWS = """Three laws on the groups that designs are judged on: path lengths with the best spacing, noisy counts, and
permute-and-flip over all vectors with the number of records that must change as its score (in floats, where there are
at most {most} vectors and sizes are public). {count} random settings of {values[0]} to {values[1]} values (seed
{seed}). Noisy counts are chosen in {chosen}. Permute-and-flip is not built: its error is below that of the better of
the other two in {wins} of {tried} settings, by more than a tenth in {clear}, and {mean:.2f} times theirs in the
geometric mean. It never gains more than {gain:.2f} steps."""


def laws_section(rows: list[Row]) -> str:
    """Return how the laws compare, by whether sizes are public and by the number of values."""
    pairs = [
        (row["errors"]["permute-and-flip"], min(row["errors"]["path lengths"], row["errors"]["noisy counts"]))
        for row in rows
        if row["errors"]["permute-and-flip"] is not None
    ]
    flips, gains = [own / other for own, other in pairs], [other - own for own, other in pairs]
    about = LAWS.format(
        most=MOST_VECTORS, count=len(rows), values=FEW_VALUES, seed=LAWS_SEED, tried=len(flips),
        chosen=sum(row["law"] == "counts" for row in rows), wins=sum(one < 1 for one in flips),
        clear=sum(one < 0.9 for one in flips), gain=max(gains), mean=np.exp(np.mean(np.log(flips))),
    )  # fmt: skip
    lines = []
    for public, (first, last) in product((True, False), ((2, 4), (5, 9), (10, 19), (20, 40))):
        part = [row for row in rows if row["public"] == public and first <= row["values"] <= last]
        if not part:
            continue
        over = [row["errors"]["noisy counts"] / row["errors"]["path lengths"] for row in part]
        gain = [row["errors"]["chosen"] / row["errors"]["path lengths"] for row in part]
        counted = str(sum(row["law"] == "counts" for row in part))
        numbers = (*np.quantile(over, (0.1, 0.5, 0.9)), float(np.exp(np.mean(np.log(gain)))))
        sizes = "public" if public else "secret"
        lines.append([sizes, f"{first} to {last}", str(len(part)), counted, *(f"{one:.2f}" for one in numbers)])
    head = [
        "sizes",
        "values",
        "settings",
        "noisy counts chosen",
        "noisy counts / path lengths, 10 %",
        "median",
        "90 %",
        "chosen / path lengths",
    ]
    return f"{about}\n\n{table(head, lines)}"


LOW = 0.75


WORK = """Processor time of a draw of quartiles of {size} records and {values} values, the median of {rounds} rounds of
{groups} groups. The number of operations and of random words is the same for every group; what differs is where in
memory they go. The slowest kind of records takes {spread:.1%} more than the quickest; 10,000 groups take
{all:.1f} s."""


def work_section(work: list[Row]) -> str:
    """Return what draws cost, and how far that depends on the records."""
    times = np.array([row["ms"] for row in work])
    about = WORK.format(
        size=WORK_SIZE, values=WORK_VALUES, rounds=WORK_ROUNDS, groups=WORK_GROUPS,
        spread=times.max() / times.min() - 1, all=10 * times.mean(),
    )  # fmt: skip
    lines = [[row["records"], f"{row['ms']:.3f}"] for row in work]
    return f"{about}\n\n{table(['records', 'ms a group'], lines)}"


def page(rows: list[Row], stated: list[Row], laws: list[Row], work: list[Row]) -> str:
    about = ABOUT.format(
        cases=len(rows), groups=GROUPS, seed=SEED, sizes=SIZES, values=VALUES, epsilons=EPSILONS
    )  # fmt: skip
    seconds = np.array([row["seconds"] for row in rows])
    parts = [
        WIDE,
        "# Several quantiles",
        about,
        "## Our error over theirs",
        summary(rows),
        f"Below 1, ours is smaller. A design took {np.median(seconds):.2f} s of processor time in the median, "
        f"{seconds.max():.2f} s at most.",
        summary(rows, "name"),
        "## Where a peer is better",
        "Every case above 1.02. Errors are in steps of the range.",
        worse(rows),
        "## What a plan says of them",
        STATED.format(cases=STATED_CASES, seed=STATED_SEED, groups=GROUPS, reports=REPORTS),
        stated_table(stated),
        f"Intervals that hold fewer than {LOW:.0%}:",
        low_coverage(stated),
        "## Which law",
        laws_section(laws),
        "## Work",
        work_section(work),
        LIMITS,
        "**Repeat it:** `python bench/several_quantiles.py`.",
        machine_line(machine()),
    ]
    return "\n\n".join(parts) + "\n"


def write_rows(path: Path, rows: list[Row]) -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")


def main(option: str) -> None:
    one_thread()
    if option == "--quick":
        rows, stated = measure(12), measure_stated(4)
        print(summary(rows), worse(rows), stated_table(stated), sep="\n\n")
        return
    files = {part: PAGE.with_name(f"{PAGE.stem}{part}.json") for part in ("", "-stated", "-laws", "-work")}
    parts = {
        "": lambda: measure(CASES),
        "-stated": lambda: measure_stated(STATED_CASES),
        "-laws": lambda: measure_laws(LAWS_CASES),
        "-work": measure_work,
    }
    for part, made in parts.items():
        if option in ("", f"-{part}"):
            write_rows(files[part], made())
    publish(PAGE, page(*(json.loads(file.read_text("utf-8")) for file in files.values())))


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))

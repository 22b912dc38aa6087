"""Errors of private quantiles beside the exponential mechanism on ranks and OpenDP, over sizes, ranges and shapes.

No report is drawn: given the records, the probabilities of all reports are known for each side, and so is the expected
error (the peers: quantile_peers.py). What is left to chance is which groups a shape gives, the same for all sides.

`python bench/quantiles.py` writes docs/benchmarks/quantiles.md; `--quick` prints a small sweep.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread
from pages import WIDE, machine_line
from quantile_cases import AGAIN, EPSILONS, FRESH, GROUPS, HELD_OUT, SHAPES, SIZES, VALUES, Case, fresh, held_out, sweep
from quantile_intervals import LEVEL, Held, all_held
from quantile_peers import OpenDP, exponential

import inbounds as ib
from inbounds.catalog.noise_tables import geometric_table
from inbounds.data import adult
from inbounds.design.quantiles import permute_flip as score_tables
from inbounds.exact import Floats
from inbounds.mechanism.expected_channel import draw_groups_from_prior
from inbounds.query import QuantileQuery
from inbounds.schema.columns import number_column
from inbounds.statistics._mean_pair import mean_from_sums, pair_query
from inbounds.trusted.samplers import seeded_entropy

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "quantiles.md"
OTHER_SHARES = (0.25, 0.5, 0.75)
"""Of the constant `SHARE` of the design, on the shapes held out."""

ALLOWED = 1.02
NEGLIGIBLE = 1e-3
LOOK_AGAIN = 3
"""How many times a peer's error ours may be; steps: an expected error that nobody can tell from none; and how many
standard errors a ratio must be below what is allowed, or it is measured anew on more groups."""

# --- what is measured -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """Cases, the mean errors of every side, the ratios of ours to each peer's with standard errors, and the laws.

    The groups of a case are the same for all sides: the standard error is that of the ratio of the paired means.
    """

    cases: list[Case]
    errors: dict[str, Floats]
    ratios: dict[str, Floats]
    doubts: dict[str, Floats]
    laws: list[str]

    @classmethod
    def of(cls, cases: list[Case]) -> "Sweep":
        """Cases that may be above what is allowed are drawn anew: a few groups at an edge decide a small error."""
        peers = {"exponential": exponential, "OpenDP": OpenDP(cases)}
        once = cls._measured(cases, peers)
        for groups, chosen in zip(AGAIN, (once._may_be_above, once._are_unclear), strict=True):
            places = chosen()
            again = cls._measured([cases[k].again(groups, k) for k in places], peers)
            for part in ("errors", "ratios", "doubts"):
                for name, found in getattr(once, part).items():
                    found[places] = getattr(again, part)[name]
        return once

    def _may_be_above(self) -> list[int]:
        """Cases that are not clearly within what is allowed."""
        near = [found + LOOK_AGAIN * self.doubts[name] > ALLOWED for name, found in self.ratios.items()]
        return np.flatnonzero(np.any(near, axis=0)).tolist()

    def _are_unclear(self) -> list[int]:
        """Cases whose standard error does not tell on which side of what is allowed they are."""
        near = [np.abs(found - ALLOWED) < LOOK_AGAIN * self.doubts[name] for name, found in self.ratios.items()]
        return np.flatnonzero(np.any(near, axis=0)).tolist()

    @classmethod
    def _measured(cls, cases: list[Case], peers: dict[str, Callable[[Case], Floats]]) -> "Sweep":
        mechanisms = list(ours(cases))
        names = ["inbounds", *peers]
        errors, ratios, doubts = ({name: np.full(len(cases), np.nan) for name in names} for _ in range(3))
        for k, (case, own) in enumerate(zip(cases, mechanisms, strict=True)):
            mine = case.errors(own.probabilities(case.groups))
            errors["inbounds"][k] = mine.mean()
            for name, peer in peers.items():
                theirs = case.errors(peer(case))
                errors[name][k] = theirs.mean()
                if max(mine.mean(), theirs.mean()) > NEGLIGIBLE:
                    ratio = mine.mean() / theirs.mean()
                    ratios[name][k] = ratio
                    doubts[name][k] = (mine - ratio * theirs).std(ddof=1) / len(mine) ** 0.5 / theirs.mean()
        del ratios["inbounds"], doubts["inbounds"]
        return cls(cases, errors, ratios, doubts, [own.law.kind for own in mechanisms])

    @property
    def summary(self) -> str:
        rows = [[name, *quantiles_of(found[np.isfinite(found)])] for name, found in self.ratios.items()]
        return table(["peer", "cases", "10 %", "median", "90 %", "worst", "above 1.02"], rows)

    @property
    def above(self) -> str:
        """Every case above what is allowed, the surest first."""
        found = [(name, k) for name, ratio in self.ratios.items() for k in np.flatnonzero(ratio > ALLOWED).tolist()]
        found.sort(key=lambda one: -(self.ratios[one[0]][one[1]] - 2 * self.doubts[one[0]][one[1]]))
        rows = []
        for name, k in found:
            case, ratio = self.cases[k], f"{self.ratios[name][k]:.3f} ± {self.doubts[name][k]:.3f}"
            facts = f"{case.quantile}, {case.size} records, {case.values} values, epsilon {case.epsilon}, {case.shape}"
            rows.append([facts, name, ratio, *(f"{self.errors[side][k]:.3g}" for side in ("inbounds", name))])
        return table(["case", "peer", "ratio", "our error", "its error"], rows) if rows else "None."


def ours(cases: list[Case]) -> Iterator[Any]:
    """What `ib.design_quantile` takes before any record is seen."""
    chosen: dict[tuple[QuantileQuery, str], Any] = {}
    for case in cases:
        key = case.query, case.epsilon
        if key not in chosen:
            chosen[key] = ib.design_quantile(*key).mechanism
        yield chosen[key]


def by_share(cases: list[Case]) -> dict[float, Floats]:
    """The errors of path scores with other shares."""
    found = {}
    kept = score_tables.SHARE
    try:
        for share in OTHER_SHARES:
            score_tables.SHARE = share
            made = {key: ib.design_permute_flip(*key) for key in {(case.query, case.epsilon) for case in cases}}
            errors = [case.errors(made[case.query, case.epsilon].probabilities(case.groups)).mean() for case in cases]
            found[share] = np.array(errors)
    finally:
        score_tables.SHARE = kept
    return found


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


def likert() -> dict[str, float]:
    """Errors of medians of 25 answers 1 to 5 of which most agree, epsilon 1: what a prior of the values is worth."""
    prior = np.array([0.05, 0.1, 0.2, 0.4, 0.25])
    query, rng = ib.median(1, 5, size=25), np.random.default_rng(13)
    case = Case(25, 5, "1", "median", "agree", draw_groups_from_prior(prior, Fraction(1, 2), 25, 2000, rng))
    made = {
        "path scores": ib.design_permute_flip(query, 1),
        "11 central records, shares unknown": ib.design_central(query, 1, length=11),
        "what is chosen with the prior of the answers": ib.design_quantile(query, 1, prior=prior).mechanism,
    }
    return {
        "exponential": float(case.errors(exponential(case)).mean()),
        **{name: float(case.errors(own.probabilities(case.groups)).mean()) for name, own in made.items()},
    }


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

FACTS = ("quantile", "epsilon", "values", "size", "shape")

ABOUT = """Expected absolute errors of quantiles of groups of public size, given the records: {count} cases, the product
of sizes {sizes}, ranges of {values} values, epsilon {epsilons}, minimum, median, 90 % quantile and
maximum, and {shapes} shapes ({names}), {groups} groups drawn for each, evenly over the places
that the quantile may have. Every error is computed, not drawn, and all sides get the same groups. A case whose ratio is
not at least three standard errors below 1.02 is measured again, on {again} other groups, and that result counts; where
it does not tell either, on {once_more}.
`inbounds` is what `ib.design_quantile` takes before any record is seen. Its peers get the same records and the same
epsilon:

- *exponential*: the exponential mechanism in floats, with exp(-epsilon/2) for every record that must change;
- *OpenDP*: `make_private_quantile` with the size in the domain, scored and calibrated by OpenDP itself, whose noisy
  maximum of exponential noise is permute-and-flip."""

WHY = """Errors are in steps of the range, ± is the standard error of the ratio, and within two of them a case cannot be
told from the allowed 1.02. What is left, here, below and in wider ranges, has three reasons.

*What lies beyond the largest record.* At a large epsilon OpenDP reports every value there as readily as the maximum,
and those below it seldom: right if the records reach far up, wrong if they do not. A pace for each side and a
[spread](../theory/quantiles.md#a-pace-and-a-spread-for-each-side) that is nearly as good as the maximum serve both; of
long tails of many records in hundreds of values OpenDP's maxima err up to a tenth less. The spread costs where records
lie on few of the values: some extremes then err up to 1.2 times as much as the exponential mechanism's, by tenths.

*OpenDP's medians score by other numbers.* A value's score is half the difference between the records above and below
it, so the gap from the median to the value beside it is the mean of how many records are at either, where that of path
lengths is how many are at the median. Where chance decides on which side of an edge the median lies, the mean tells
more. Where many are at the median and few beside it, the score is not even least at the median, and OpenDP errs many
times as much (the 10 % column).

*OpenDP's other quantiles lean.* Near the edge between two values its 90 % quantile is the lower one, by 0.9 of the
records at the upper less 0.1 of those at the lower. That is right where the lower is the true one, and costs many times
as much where the upper is. In nearly all of these cases both sides err by some hundredths of a step. Of few records in
many values it takes the whole gap above a 10 % quantile for as good: up to a fifth less where gaps narrow upwards."""

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


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def quantiles_of(ratios: Floats) -> list[str]:
    above = f"{100 * (ratios > ALLOWED).mean():.1f} %"
    return [
        str(len(ratios)),
        *(f"{value:.3f}" for value in (*np.quantile(ratios, (0.1, 0.5, 0.9)), ratios.max())),
        above,
    ]


def by(cases: list[Case], ratios: dict[str, Floats], fact: str) -> str:
    rows = []
    for value in dict.fromkeys(getattr(case, fact) for case in cases):
        own = np.array([getattr(case, fact) == value for case in cases])
        rows.append([str(value), *(text for found in ratios.values() for text in _median_and_worst(found[own]))])
    head = [fact, *(f"{what}, {name}" for name in ratios for what in ("median", "worst"))]
    return table(head, rows)


def _median_and_worst(ratios: Floats) -> list[str]:
    known = ratios[np.isfinite(ratios)]
    return [f"{np.median(known):.3f}", f"{known.max():.3f}"] if len(known) else ["–", "–"]


def page(
    swept: Sweep, held: Sweep, new: Sweep, shares: dict[float, Floats], errors: dict[str, float], big: dict[str, Any]
) -> str:
    about = ABOUT.format(
        count=len(swept.cases), sizes=", ".join(map(str, SIZES)), values=", ".join(map(str, VALUES)),
        epsilons=", ".join(EPSILONS), shapes=len(SHAPES), names=", ".join(SHAPES),
        groups=GROUPS, again=AGAIN[0], once_more=AGAIN[1],
    )  # fmt: skip
    kinds = {name: swept.laws.count(name) for name in sorted(set(swept.laws))}
    by_kind = "; ".join(f"{count} cases are answered by the law *{name}*" for name, count in kinds.items())
    parts = [
        WIDE,
        "# Quantiles",
        about,
        "## Our error over theirs",
        swept.summary,
        f"Below 1, ours is smaller. {by_kind}.",
        "### All cases above 1.02",
        swept.above,
        WHY,
        *(f"By {fact}:\n\n{by(swept.cases, swept.ratios, fact)}" for fact in FACTS),
        "## Other shapes",
        f"{len(held.cases)} cases with other shapes ({', '.join(HELD_OUT)}), sizes, ranges and epsilons. "
        "How wide a spread may be, and paces, were looked at here too.",
        held.summary,
        held.above,
        f"{len(new.cases)} cases with shapes ({', '.join(FRESH)}), sizes, ranges and epsilons of their own, at which "
        "paces were looked at too, though not fitted case by case:",
        new.summary,
        new.above,
        "Tables alike on both sides have one constant that theory does not give: where between two proved tables their "
        "step lies. Over the exponential mechanism, with other choices of it:",
        _shares(held, shares),
        "## How often intervals hold the truth",
        HOLDING,
        _held(all_held()),
        "## Some errors",
        _examples(swept.cases, swept.errors),
        "The median of 25 answers 1 to 5 (5, 10, 20, 40 and 25 % likely), epsilon 1:",
        table(["law", "expected error"], [[name, f"{error:.3f}"] for name, error in errors.items()]),
        "## Means of secret sizes",
        "By two sums that together cost epsilon once, epsilon 1, over 20,000 groups (a seed for the draws):",
        table(["groups", "mean absolute error"], [[name, f"{error:.3g}"] for name, error in means().items()]),
        "## 10^5 groups of 101 values",
        _large(big),
        LIMITS,
        "**Repeat it:** `make bench ONLY=quantiles`.",
        machine_line(machine()),
    ]
    return "\n\n".join(parts) + "\n"


def _shares(held: Sweep, shares: dict[float, Floats]) -> str:
    rows = []
    for share, errors in shares.items():
        theirs = held.errors["exponential"]
        known = np.maximum(errors, theirs) > NEGLIGIBLE
        rows.append([f"{share:g}", *quantiles_of(errors[known] / theirs[known])[1:5]])
    return table(["share", "10 %", "median", "90 %", "worst"], rows)


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


def _examples(cases: list[Case], errors: dict[str, Floats]) -> str:
    """The medians of groups of 30 and 300 with a bell at a quarter."""
    rows = []
    for k, case in enumerate(cases):
        if case.size in (30, 300) and case.quantile == "median" and case.shape == "bell at a quarter":
            facts = [f"{case.size} records, {case.values} values, epsilon {case.epsilon}"]
            rows.append([*facts, *(f"{found[k]:.3g}" for found in errors.values())])
    return table(["median, bell at a quarter", *errors], rows)


def main(quick: bool) -> None:
    one_thread()
    swept, held = Sweep.of(list(sweep(quick))), Sweep.of(list(held_out()))
    big = {what: in_a_process(what) for what in ("counts", "medians")}
    text = page(swept, held, Sweep.of(list(fresh())), by_share(held.cases), likert(), big)
    if quick:
        print(text)
    else:
        PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words and words[0] in ("counts", "medians"):
        print(json.dumps(large(words[0])))
    else:
        main(words == ["--quick"])

"""The page that bench/adding.py writes: tables, what they say together, and texts."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from adding_sources import SOURCES
from harness import machine
from pages import machine_line
from scipy.stats import t as student

OURS, BLUE, SQUARES = "inbounds", "best linear unbiased, then in range", "least squares of clamped reports"
DESIGNED = "inbounds, shares designed"
BESIDE_DRAWS = 8
"""Tables of every source that all methods publish."""

FEWEST = 8
"""Tables from which on paired differences are read: errors of totals are whole, and a few are often equal."""

CHANCE = float(student.sf(2, BESIDE_DRAWS - 1))
"""How often a comparison of methods that do not differ is above 2."""

Found = list[tuple[str, float, dict[str, Any]]]
"""Source, epsilon, and results as `summed_up`."""


@dataclass(frozen=True)
class Result:
    """Of one epsilon, as `summed_up`: all methods on the first tables, ours and the best linear one on all."""

    beside: dict[str, dict[str, list[float]]]
    every: dict[str, dict[str, list[float]]]


def standard_errors(rows: np.ndarray) -> np.ndarray:
    """Of the means over the rows."""
    return np.asarray(rows.std(axis=0, ddof=1) / np.sqrt(len(rows)))


def heads_of(depth: int) -> list[str]:
    return ["groups", *(f"level {k}" for k in range(1, depth - 1)), "total"]


def written(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(parts: dict[str, dict[float, Result]]) -> str:
    """Errors of all methods, intervals, and the paired comparison: a row for each source, epsilon and method."""
    heads = heads_of(max(len(found.every[OURS]["errors"]) for each in parts.values() for found in each.values()))
    levels = ["---:"] * len(heads)
    errors = [
        ["tables", "ε", "who", *heads, "bias of the total", "time"],
        ["---", "---:", "---", *levels, "---:", "---:"],
    ]
    intervals = [["tables", "ε", "whose", *heads], ["---", "---:", "---", *levels]]
    compare = [["tables", "ε", *heads, *(f"{head}: t" for head in heads)], ["---", "---:", *levels, *levels]]
    for name, results in parts.items():
        for epsilon, found in results.items():
            where = [name, f"{epsilon:g}"]
            for who, own in found.beside.items():
                cells = [f"{error:.3g}" for error in own["errors"]]
                errors.append([*where, who, *cells, f"{own['bias'][0]:+.3g}", duration(own["seconds"][0])])
            for who in (OURS, BLUE):
                own = found.every[who]
                cells = [f"{held:.3f} ({wide:.3g})" for held, wide in zip(own["coverage"], own["width"], strict=True)]
                intervals.append([*where, who, *cells])
            masses = [covered(found.every[OURS], level) for level in range(len(found.every[OURS]["errors"]))]
            compare.append([*where, *masses, *(compared(found.every[BLUE], t) for t in found.every[BLUE]["t"])])
    return "\n\n".join(
        [
            "## Errors of all methods",
            f"Mean absolute error by level and processor time, over {BESIDE_DRAWS} tables of each source.",
            written(errors),
            "## Intervals",
            "How often 90 % intervals hold the truth, and how wide they are. The other methods have none.",
            written(intervals),
            "## Coverage and paired differences",
            SAID,
            written(compare),
        ]
    )


def duration(seconds: float) -> str:
    """In milliseconds; nothing where it was not measured."""
    return "–" if np.isnan(seconds) else f"{1000 * seconds:,.0f} ms"


def overview(parts: dict[str, dict[float, Result]]) -> str:
    """Errors of groups and of the total at epsilon 1, ours beside the best linear unbiased estimate and Private-PGM."""
    shown = (OURS, BLUE, "Private-PGM")
    lines = [["tables", *(f"{level}: {who}" for level in ("groups", "total") for who in shown)], ["---"] + ["---:"] * 6]
    for name, results in parts.items():
        beside = results[1.0].beside
        cells = [f"{beside[who]['errors'][k]:.3g}" if who in beside else "–" for k in (0, -1) for who in shown]
        lines.append([name, *cells])
    return written(lines)


def compared(own: dict[str, list[float]], t: float) -> str:
    return f"{t:+.1f}" if own["draws"][0] >= FEWEST else "–"


def covered(own: dict[str, list[float]], level: int) -> str:
    return f"{own['coverage'][level]:.3f} ({own['mass'][level]:.3f} ± {own['deviation'][level]:.3f})"


def margins_together(all_found: Found) -> str:
    """What the comparisons of all levels above the groups say as a whole."""
    all_found = [each for each in all_found if each[2][OURS]["draws"][0] >= FEWEST]
    t = np.array([t for *_, each in all_found for t in each[BLUE]["t"][1:]])
    freedom = np.array([each[OURS]["draws"][0] - 1 for *_, each in all_found for _ in each[BLUE]["t"][1:]])
    chance = student.sf(t, freedom)
    worst = int(chance.argmin())
    where = [
        f"{name}, ε {epsilon:g}, level {k}" for name, epsilon, each in all_found for k in range(1, len(each[BLUE]["t"]))
    ]
    relative = np.concatenate([each[OURS]["relative"] for *_, each in all_found])
    by_chance = float(student.sf(2, freedom).sum())
    above, below, any_of_them = int((t > 2).sum()), int((t < -2).sum()), min(1.0, len(t) * float(chance[worst]))
    return (
        f"{len(t)} margins were compared on this page, those of at least {FEWEST} tables. "
        f"If none differed, about {by_chance:.1f} would be above 2 and as "
        f"many below -2 by chance; {above} are above, {below} below. The one where we do worst ({where[worst]}) has "
        f"t = {t[worst]:+.1f}. The chance of that or more is {chance[worst]:.2g} for a margin by itself, and at most "
        f"{any_of_them:.2g} for any of {len(t)} (Bonferroni); a margin counts as worse where that is below 0.05. Over "
        f"all {len(relative)} tables the error of margins differs from that of best linear unbiased estimates by "
        f"{100 * relative.mean():+.1f} ± {100 * float(standard_errors(relative)):.1f} % in the mean."
    )


def where_others_win(parts: dict[str, dict[float, Result]]) -> str:
    """Every level of the tables above at which another method errs clearly less than ours."""
    lines = [["tables", "ε", "level", "who", "its error", "ours", "t"], ["---", "---:", "---", "---", *["---:"] * 3]]
    compared_with = 0
    for name, results in parts.items():
        for epsilon, found in results.items():
            for who, own in found.beside.items():
                if who in (OURS, DESIGNED):
                    continue
                compared_with += len(own["t"])
                columns = (heads_of(len(own["t"])), own["errors"], own["ours"], own["t"])
                for head, error, mine, t in zip(*columns, strict=True):
                    if t > 2:
                        lines.append([name, f"{epsilon:g}", head, who, f"{error:.3g}", f"{mine:.3g}", f"{t:+.1f}"])
    methods = Counter(line[3] for line in lines[2:]).most_common()
    about = (
        f"Levels at which another method's error is below ours by more than two standard errors of the paired "
        f"difference: {len(lines) - 2} of {compared_with} comparisons. If none differed, about "
        f"{compared_with * CHANCE:.0f} would be there by chance. By method: "
        f"{', '.join(f'{who} {number}' for who, number in methods)}."
    )
    return f"{about}\n\n{written(lines)}"


def where_it_holds(parts: dict[str, dict[float, Result]]) -> str:
    """How far the coverage of groups is from the mass, for the sources that are drawn as the prior has them."""
    rows = []
    for source in (source for source in SOURCES if source.holds):
        for epsilon, found in parts[source.name].items():
            own = found.every[OURS]
            if own["draws"][0] < FEWEST:
                continue
            rows.append((own["coverage"][0] - own["mass"][0], own["deviation"][0], source, epsilon))
    furthest = max(rows, key=lambda row: abs(row[0]))
    return (
        f"Where tables are drawn as the prior has them, coverage of groups is furthest from the mass by "
        f"{furthest[0]:+.3f} ± {furthest[1]:.3f} ({furthest[2].name}, ε {furthest[3]:g}; "
        f"of sources of at least {FEWEST} tables)."
    )


def rows_of(found: Found) -> str:
    """A table of errors of groups, the worst margin, and coverage."""
    heads = ["groups", "tables", "ε", "our error", "best linear's", "t", "largest t above", "coverage (mass)"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, epsilon, each in found:
        own, t = each[OURS], each[BLUE]["t"]
        shown = [f"{own['errors'][0]:.3g}", f"{each[BLUE]['errors'][0]:.3g}"]
        shown += [compared(own, worst) for worst in (t[0], max(t[1:]))]
        lines.append([name, f"{own['draws'][0]:g}", f"{epsilon:g}", *shown, covered(own, 0)])
    return written(lines)


ABOUT = """---
hide: [toc]
---

# Tables that add up

Counts in groups of 20, and sums of their values, in four levels that add up, each level at a quarter of epsilon.
*inbounds* is what a release publishes."""

PEERS = """| method | what it reads and publishes |
| --- | --- |
| inbounds | counts with geometric noise, cut to the range; whole numbers in range that add up, with intervals |
| best linear unbiased, then in range | the noise before it is cut; as above |
| Private-PGM | the same uncut noise; real numbers from 0 that add up, after 1,000 steps (or 10,000) |
| least squares of clamped reports | the cut noise; what *inbounds* does where a table is too large for its posterior |
| inbounds, shares designed | *inbounds* with [designed shares](../theory/adding-up.md) of epsilon |
| independent and clamped | the cut noise as it is; levels do not add up |
| groups only, optimal mechanism | all of epsilon for the groups, which are added up |
| OpenDP, consistent tree | its tree of sums: Laplace noise, real numbers, one branching factor for all nodes |

*Best linear unbiased* is how census offices reconcile levels (Hay and others 2010; BlueDown, arXiv 2603.10099),
written by us for trees of counts in `bench/adding_blue.py`. *Private-PGM* is the package mbi of its authors
(McKenna, Sheldon, Miklau), run by `bench/adding_pgm.py`. {said}"""

OVERVIEW = """## Mean absolute errors at epsilon 1

In the groups, and in the total of all groups."""

WINS = "## Where others are better"

OTHER = """## Tables of other shapes

Groups in the same tree; the second column says how many tables. Most of these shapes were looked at while the prior
was built, with other draws: they tell how far it reaches, and are no test on tables never seen. *t* is about the
groups, as above; *largest t above* is that of the level above the groups, or of one higher up, where we do worst."""

HELD = """## Held-out tables

Data, shapes, depths and sizes that nothing was chosen on. A tree of seven levels was one of them; it showed an
error in the margins of deep trees. That is corrected, and the tree is among the other shapes now. The trees of five
and six levels were measured once, afterwards. Columns as above."""

TOGETHER = "## All margins together"

LIMITS = """**What this does not say.** How groups of one parent differ is learned from the noisy counts. At epsilon
0.5 a level gets an eighth, which tells little: intervals of groups that differ much hold the truth less often than
stated, of groups that are alike more often. Averaged over the prior they are right. In deep trees, where many
levels share epsilon, intervals of parents of a few small groups are too short. Other shares would move errors
between levels for every method."""

SAID = (
    "How often our 90 % intervals hold the truth (the posterior mass in them ± the standard error of the "
    "difference), and *t*, the paired difference of our error to that of best linear unbiased estimates in standard "
    "errors; negative: ours is smaller."
)


def page(parts: dict[str, dict[float, Result]], said: str, other: Found, held: Found, big: dict[str, float]) -> str:
    where = machine_line(machine())
    size = (
        "## 10^5 groups in three levels\n\n"
        f"A whole release of 2·10^6 records: {big['release']:.1f} s of processor time, {big['memory']:.2g} GB at most; "
        f"the tree's decision alone {big['decision']:.2f} s."
    )
    every = [(name, epsilon, each.every) for name, found in parts.items() for epsilon, each in found.items()]
    sections = [
        ABOUT,
        PEERS.format(said=said),
        OVERVIEW,
        overview(parts),
        WINS,
        where_others_win(parts),
        tables(parts),
        where_it_holds(parts),
        OTHER,
        rows_of(other),
        HELD,
        rows_of(held),
        TOGETHER,
        margins_together([*every, *other, *held]),
        size,
        LIMITS,
        "**Repeat it:** `make bench ONLY=adding`.",
        where,
    ]
    return "\n\n".join(sections) + "\n"

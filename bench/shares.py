"""Shares of labels under local privacy, on shapes, sizes and epsilons that are drawn at random.

    python bench/shares.py                      writes docs/benchmarks/shares.json and shares.md
    python bench/shares.py --before OLD/src     the same, beside the estimate of an earlier source tree
    python bench/shares.py --page               the page of what is measured

The family is declared below. The estimate was chosen with other seeds; SEED was drawn from once, after the code was
frozen. One thread.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine
from label_cases import cut, errors, response, unary
from pages import WIDE, machine_line

import inbounds as ib
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.structure import channel_for_law

Floats = np.ndarray[Any, Any]
Generator = np.random.Generator

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks"
SEED, CASES = 20_261_118, 1400
LABELS, REPORTS, EPSILONS = (4, 30_000), (1e3, 1e6), (0.5, 4)
"""Ranges; drawn evenly on a logarithmic scale."""
MOST_OUTPUTS = 20_000
"""Different reports up to which the maximum of the likelihood is computed: its updates take minutes beyond."""
MEASURES = ("L1", "Kantorovich")
OURS, BEFORE = "ours", "before"
PEERS = (
    "projected",
    "cut and scaled",
    "IBU",
    "OUE, projected",
    "OUE, cut and scaled",
    "GRR, projected",
    "GRR, cut and scaled",
)


# --- the family -------------------------------------------------------------------------------------------


def uniform(labels: int, rng: Generator) -> Floats:
    return np.ones(labels)


def dirichlet(labels: int, rng: Generator) -> Floats:
    """Symmetric, the concentration of a label from 0.01 to 30."""
    return rng.gamma(10 ** rng.uniform(-2, 1.5), size=labels) + 1e-300


def zipf(labels: int, rng: Generator) -> Floats:
    """In the order of the ranks, the exponent from 0.3 to 2."""
    return np.arange(1.0, labels + 1) ** -rng.uniform(0.3, 2)


def shuffled_zipf(labels: int, rng: Generator) -> Floats:
    return rng.permutation(zipf(labels, rng))


def atoms(labels: int, rng: Generator) -> Floats:
    """One to ten labels hold everyone."""
    few, shares = min(int(rng.integers(1, 11)), labels), np.zeros(labels)
    shares[rng.choice(labels, few, replace=False)] = rng.dirichlet(np.ones(few))
    return shares


def bells(labels: int, rng: Generator) -> Floats:
    """One to four normal densities along the labels, with deviations of 1% to 50% of them."""
    places, shares = (np.arange(labels) + 0.5) / labels, np.zeros(labels)
    for weight in rng.dirichlet(np.ones(int(rng.integers(1, 5)))):
        bell = np.exp(-(((places - rng.uniform()) / 10 ** rng.uniform(-2, -0.3)) ** 2) / 2) + 1e-300
        shares += weight * bell / bell.sum()
    return shares


BASIC: dict[str, Callable[[int, Generator], Floats]] = {
    "uniform": uniform,
    "Dirichlet": dirichlet,
    "Zipf": zipf,
    "shuffled Zipf": shuffled_zipf,
    "atoms": atoms,
    "bells": bells,
}


def mixture(labels: int, rng: Generator) -> Floats:
    """Two of the others, any part of each."""
    one, other = (BASIC[kind](labels, rng) for kind in rng.choice(list(BASIC), 2, replace=False))
    part = rng.uniform()
    return part * one / one.sum() + (1 - part) * other / other.sum()


KINDS = BASIC | {"mixture": mixture}


@dataclass(frozen=True)
class Case:
    """A collection: who answered what, and what was reported."""

    kind: str
    labels: int
    reports: int
    epsilon: str
    mechanism: Any
    truth: Floats
    counts: Floats
    rng: Generator

    @classmethod
    def draw(cls, index: int) -> "Case":
        rng, kind = np.random.default_rng([SEED, index]), list(KINDS)[index % len(KINDS)]
        labels, reports, epsilon = (np.exp(rng.uniform(*np.log(ends))) for ends in (LABELS, REPORTS, EPSILONS))
        labels, reports = round(float(labels)), round(float(reports))
        shares = KINDS[kind](labels, rng)
        truth, text = shares / shares.sum(), f"{epsilon:.2f}"
        mechanism = ib.local.best_label_mechanism(ib.category(labels), text)
        likely = np.maximum(channel_for_law(mechanism).forward(truth), 0)
        counts = rng.multinomial(reports, likely / likely.sum())
        return cls(kind, labels, reports, text, mechanism, truth, counts, rng)

    def ours(self) -> Floats:
        return ib.reconstruct(self.counts, self.mechanism, given="counts").distribution

    def peers(self) -> Iterator[tuple[str, Floats]]:
        """From the same reports; then from those of other laws, about people drawn from the same truth."""
        raw = channel_for_law(self.mechanism).invert(self.counts / self.reports)
        yield "projected", onto_simplex(raw)
        yield "cut and scaled", cut(raw)
        if len(self.counts) <= MOST_OUTPUTS:
            found = ib.reconstruct(self.counts, self.mechanism, given="counts", method="ibu", tolerance=1e-6)
            yield "IBU", found.distribution
        people, e = self.rng.multinomial(self.reports, self.truth), math.exp(float(self.epsilon))
        for law, raw in (("OUE", unary(people, e, self.rng)), ("GRR", response(people, e, self.rng, None))):
            yield f"{law}, projected", onto_simplex(raw)
            yield f"{law}, cut and scaled", cut(raw)


def measured(index: int) -> dict[str, Any]:
    case = Case.draw(index)
    about = {"kind": case.kind, "labels": case.labels, "reports": case.reports, "epsilon": case.epsilon}
    found = {OURS: errors(case.ours(), case.truth)}
    found |= {name: errors(estimate, case.truth) for name, estimate in case.peers()}
    return {**about, "law": case.mechanism.origin.name, "errors": found}


ALONE = """
import json, shares
cases = map(shares.Case.draw, range(shares.CASES))
print(json.dumps([shares.errors(case.ours(), case.truth) for case in cases]))
"""


def earlier(sources: str) -> list[list[float]]:
    """The errors of our estimate in an earlier source tree, on the same reports."""
    place = os.pathsep.join([sources, str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": place}
    done = subprocess.run([sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# --- the page ---------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    cases = results["cases"]
    others = [name for name in (BEFORE, *PEERS) if any(name in case["errors"] for case in cases)]
    lines = [WIDE, "", "# Shares of labels on random shapes", "", INTRODUCTION, ""]
    for k, measure in enumerate(MEASURES):
        lines += [f"## {measure}", "", "### Against each", "", *against_each(cases, others, k), ""]
        for title, groups in (("By shape", by_kind(cases)), ("By number of labels", by_labels(cases))):
            lines += [f"### {title}", "", *by_group(groups, [name for name in others if name in ALL], k), ""]
        lines += ["### Where a peer is furthest ahead", "", *furthest(cases, k), ""]
        if BEFORE in others:
            lines += ["### Where the earlier estimate was furthest ahead", "", *furthest(cases, k, BEFORE), ""]
    lines += [f"All {len(cases)} cases are in [shares.json](shares.json).", ""]
    return "\n".join([*lines, "**Repeat it:** `python bench/shares.py`.", "", machine_line(results["machine"]), ""])


ALL = (BEFORE, "projected", "cut and scaled", "OUE, projected", "OUE, cut and scaled")
"""What is computed in every case, and no worse than GRR in most."""


def ratios(cases: list[dict[str, Any]], name: str, k: int) -> tuple[Floats, Floats]:
    both = [case["errors"] for case in cases if name in case["errors"]]
    return tuple(np.array([each[who][k] for each in both]) for who in (OURS, name))


def against_each(cases: list[dict[str, Any]], others: list[str], k: int) -> list[str]:
    lines = [
        "| against | cases | ratio of mean errors | median ratio | 90% quantile | ours is nearer |",
        "|---|---|---|---|---|---|",
    ]
    for name in [*others, "the best peer of each case"]:
        ours, other = best_peer(cases, k) if name not in others else ratios(cases, name, k)
        ratio = ours / np.maximum(other, TINY)
        lines.append(
            f"| {name} | {len(ours)} | {ours.mean() / other.mean():.2f} | {np.median(ratio):.2f} | "
            f"{np.quantile(ratio, 0.9):.2f} | {(ours <= other).mean():.0%} |"
        )
    return lines


TINY = 1e-12
"""Errors below are zero but for rounding."""


def best_peer(cases: list[dict[str, Any]], k: int) -> tuple[Floats, Floats]:
    found = [
        (case["errors"][OURS][k], min(value[k] for name, value in case["errors"].items() if name in PEERS))
        for case in cases
    ]
    ours, other = np.array(found).T
    return ours, other


def by_kind(cases: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {kind: [case for case in cases if case["kind"] == kind] for kind in KINDS}


def by_labels(cases: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    edges = (4, 16, 100, 1000, 30_001)
    return {
        f"{low} to {high - 1}": [case for case in cases if low <= case["labels"] < high]
        for low, high in pairwise(edges)
    }


def by_group(groups: dict[str, list[dict[str, Any]]], others: list[str], k: int) -> list[str]:
    """Ratios of mean errors, and the median ratio."""
    lines = [f"| | cases | ours | {' | '.join(others)} | best peer |", "|---" * (len(others) + 4) + "|"]
    for title, cases in groups.items():
        pairs = [*(ratios(cases, name, k) for name in others), best_peer(cases, k)]
        shown = [
            f"{ours.mean() / other.mean():.2f} ({np.median(ours / np.maximum(other, TINY)):.2f})"
            for ours, other in pairs
        ]
        lines.append(f"| {title} | {len(cases)} | {pairs[0][0].mean():.4f} | {' | '.join(shown)} |")
    return [
        *lines,
        "",
        "The mean error of ours; then the ratio of mean errors, and in brackets the median of the ratios.",
    ]


def furthest(cases: list[dict[str, Any]], k: int, name: str | None = None) -> list[str]:
    """The ten cases with the largest difference, since ratios of tiny errors mean little."""
    lines = ["| shape | labels | reports | epsilon | law | ours | other |", "|---|---|---|---|---|---|---|"]

    def other(case: dict[str, Any]) -> tuple[float, str]:
        return min(
            (value[k], who) for who, value in case["errors"].items() if (who in PEERS if name is None else who == name)
        )

    for case in sorted(cases, key=lambda case: other(case)[0] - case["errors"][OURS][k])[:10]:
        value, who = other(case)
        about = (str(case[name]) for name in ("kind", "labels", "reports", "epsilon", "law"))
        lines.append(f"| {' | '.join(about)} | {case['errors'][OURS][k]:.4f} | {value:.4f} ({who}) |")
    return lines


INTRODUCTION = f"""Written by `bench/shares.py`. {CASES} collections, one in each case: {LABELS[0]} to {LABELS[1]:,}
labels, {REPORTS[0]:,.0f} to {REPORTS[1]:,.0f} reports, epsilon {EPSILONS[0]} to {EPSILONS[1]}, all drawn evenly on a
logarithmic scale. The shapes are drawn as well, as many of each kind: uniform; symmetric Dirichlet (concentration of a
label 0.01 to 30); Zipf in the order of the ranks and shuffled (exponent 0.3 to 2); one to ten atoms; one to four bells
along the labels (deviations of 1% to 50% of them); mixtures of two of these.

*Ours* is what `ib.reconstruct` does without a method, from the reports of the law that `ib.local.best_label_mechanism`
picks. *Before* is the estimate of an earlier version, with constants that had been set by looking at benchmarks. From
the same reports: the unbiased estimate projected onto the simplex, or cut at zero and scaled, and the maximum of the
likelihood (IBU; up to {MOST_OUTPUTS:,} different reports). From reports of other laws about people with the same
shares: optimized unary encoding (OUE) and randomized response (GRR), projected as pure-ldp does, or cut and scaled as
multi-freq-ldpy does. The best peer is chosen anew in every case and for each measure, knowing the truth, which no user
does.

The estimate was written looking at other collections of the same family, with other seeds. These were drawn once, when
it was finished, and nothing was changed after. Errors are the L1 distance from the truth, and the Kantorovich distance
as a share of the range, which compares sums over neighbouring labels. Below 1, ours is nearer to the truth."""


def main(words: list[str]) -> None:
    path = DOCS / "shares.json"
    if words == ["--page"]:
        results = json.loads(path.read_text())
    else:
        results = {"seed": SEED, "cases": [measured(index) for index in range(CASES)], "machine": machine()}
        if words[:1] == ["--before"]:
            for case, found in zip(results["cases"], earlier(words[1]), strict=True):
                case["errors"][BEFORE] = found
        path.write_text(json.dumps(results) + "\n")
    (DOCS / "shares.md").write_text(page(results))


if __name__ == "__main__":
    main(sys.argv[1:])

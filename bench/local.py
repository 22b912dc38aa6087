"""Labels under local privacy: errors beside peers on the same data, variances beside theory, and what it costs.

    python bench/local.py            writes docs/benchmarks/local.json and local.md
    python bench/local.py --go-on    the same, from where it stopped; what is there already is not measured again
    python bench/local.py --page     the page of what is measured so far

Peers are what multi-freq-ldpy makes of estimates (cut at zero and scaled) and pure-ldp (projected onto the simplex),
with randomized response and optimized unary encoding. Unary encoding flips every bit by itself, so its counts are drawn
from their own law, exactly, at any size. The libraries themselves run where they can (label_costs.py). One thread.
"""

import json
import math
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import label_costs
import numpy as np
from harness import machine
from label_cases import DATA, HELD_OUT, LOOKED_AT, RANDOM, counted, errors, mechanism_of, peers, shares
from pages import WIDE, machine_line, publish

import inbounds as ib

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks"
LABELS, EPSILONS, REPORTS = (5, 30, 1000, 100_000), ("0.5", "1", "2", "4"), (10_000, 1_000_000)
HELD_OUT_EPSILONS = ("1", "4")
FEWEST, MOST = {5: 300, 30: 300, 1000: 16, 100_000: 6}, {5: 1200, 30: 2500, 1000: 120, 100_000: 32}
"""Collections that a mean of ours is over."""
PEERS = {5: 3, 30: 2, 1000: 4, 100_000: 4}
"""The same for peers, which cost less, for each of ours; one where they estimate from the same reports."""
SURE, APART = 0.01, 3
"""Collections are doubled until the standard error of either ratio is SURE, or the ratio is APART of them from LIMIT:
with few looks, stopping where chance has moved a ratio away from the limit is rare."""
MEASURES = ("L1 error", "Kantorovich distance, as a share of the range")
LIMIT = 1.03


def names() -> Iterator[tuple[int, str, int, str]]:
    for kinds, epsilons in ((DATA, EPSILONS), (HELD_OUT, HELD_OUT_EPSILONS), (LOOKED_AT, HELD_OUT_EPSILONS)):
        yield from product(LABELS, epsilons, REPORTS, kinds)


def cell(labels: int, epsilon: str, reports: int, data: str) -> dict[str, Any]:
    """Mean errors with their standard errors, ours and every peer's, and which law was ours."""
    e, kind = math.exp(float(epsilon)), [*DATA, *LOOKED_AT, *HELD_OUT].index(data)
    rng, mechanism = np.random.default_rng([labels, reports, kind]), mechanism_of(labels, epsilon)
    same, all_ = mechanism.origin.name == "randomized_response", {}
    looks = {FEWEST[labels] << doubled for doubled in range(8)}
    for run in range(MOST[labels]):
        truth = shares(data, labels, np.random.default_rng([labels, kind, run if data in RANDOM else 0]))
        counts = counted(mechanism, truth, reports, rng)
        estimates = [("ours", ib.reconstruct(counts, mechanism, given="counts").distribution)]
        for _ in range(1 if same else PEERS[labels]):
            estimates += peers(rng.multinomial(reports, truth), e, rng, counts if same else None).items()
        for name, estimate in estimates:
            all_.setdefault(name, []).append(errors(estimate, truth))
        if run + 1 in looks and is_sure(found := summaries(mechanism, all_)):
            return found
    return summaries(mechanism, all_)


def is_sure(found: dict[str, Any]) -> bool:
    ratios = [ratio(found, k)[1:] for k in range(len(MEASURES))]
    return all(spread <= max(SURE, abs(LIMIT - value) / APART) for value, spread in ratios)


def summaries(mechanism: Any, all_: dict[str, list[list[float]]]) -> dict[str, Any]:
    found = {name: summary(errors_) for name, errors_ in all_.items()}
    return {"law": mechanism.origin.name, "collections": len(all_["ours"]), **found}


def summary(all_: list[list[float]]) -> dict[str, list[float]]:
    errors_ = np.array(all_)
    return {
        "mean": errors_.mean(axis=0).tolist(),
        "error": (errors_.std(axis=0, ddof=1) / math.sqrt(len(errors_))).tolist(),
    }


def ratio(found: dict[str, Any], k: int) -> tuple[str, float, float]:
    """The best peer, ours over it, and the standard error of that (0 where both estimate the same reports)."""
    others = {who: value for who, value in found.items() if who.startswith(("OUE", "GRR"))}
    best = min(others, key=lambda who: others[who]["mean"][k])
    ours, other = found["ours"], others[best]
    value = ours["mean"][k] / other["mean"][k]
    paired = found["law"] == "randomized_response" and best.startswith("GRR")
    spread = math.hypot(*(each["error"][k] / each["mean"][k] for each in (ours, other)))
    return best, value, 0.0 if paired else value * spread


# --- the page ---------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    lines = [WIDE, "", "# Labels under local privacy", "", INTRODUCTION, "", *missing(results["cells"])]
    lines += ["## Our error over that of the best peer", "", *RATIOS]
    for title, kinds in (("", DATA), (", held-out shapes", HELD_OUT), (", shapes held out before", LOOKED_AT)):
        cells = [found for name, found in results["cells"].items() if name.split("|")[3] in kinds]
        lines += [summary_row(f"{measure}{title}", cells, k) for k, measure in enumerate(MEASURES) if cells]
    lines += ["", "Every cell, with both errors, the best peer and our law, is in [local.json](local.json).", ""]
    lines += above(results["cells"])
    ending = ["", "**Repeat it:** `python bench/local.py`.", "", machine_line(results["machine"]), ""]
    return "\n".join([*lines, *label_costs.sections(results), *ending])


def missing(cells: dict[str, Any]) -> list[str]:
    """Says so where not all is measured yet."""
    every = len(list(names()))
    if len(cells) == every:
        return []
    return [f"**{len(cells)} of {every} cells are measured so far**; `python bench/local.py --go-on` goes on.", ""]


def summary_row(title: str, cells: list[dict[str, Any]], k: int) -> str:
    ratios = [ratio(found, k)[1:] for found in cells]
    over = sum(value > LIMIT for value, _ in ratios)
    surely = sum(value - 2 * spread > LIMIT for value, spread in ratios)
    middle = np.median([value for value, _ in ratios])
    return f"| {title} | {len(ratios)} | {middle:.2f} | {over} | {surely} | {max(ratios)[0]:.2f} |"


def above(cells: dict[str, Any]) -> list[str]:
    """Every cell above the limit, with what the same peer has in the other measure."""
    lines = ["## Where a peer is ahead", "", AHEAD, ""]
    lines += [
        "| labels | epsilon | reports | data | measure | ours / best | ours / the same peer's in the other measure |"
    ]
    lines += ["|---|---|---|---|---|---|---|"]
    for name, found in cells.items():
        for k, measure in enumerate(("L1", "Kantorovich")):
            best, value, spread = ratio(found, k)
            if value > LIMIT:
                other = found["ours"]["mean"][1 - k] / found[best]["mean"][1 - k]
                lines.append(
                    f"| {' | '.join(name.split('|'))} | {measure} | {value:.2f} ± {spread:.2f} | {other:.2f} |"
                )
    return [*lines, ""]


RATIOS = (
    f"| error | cells | median ratio | above {LIMIT} | surely above | largest |",
    "|---|---:|---:|---:|---:|---:|",
)

INTRODUCTION = f"""How far estimated shares are from the true ones, beside peers on the same data. Our law is the
one that `ib.local.best_label_mechanism` picks, our estimate that of `ib.reconstruct`. Peers are randomized response
(GRR) and optimized unary encoding (OUE), with reports drawn from their exact laws and estimates made as
multi-freq-ldpy does (cut at zero and scaled) and as pure-ldp does (projected onto the simplex). The best of these
four is chosen anew for every cell, knowing the truth, which no user does. A cell is a number of labels (5 to
100,000), epsilon (0.5 to 4), a number of reports (10,000 or 1,000,000) and a kind of data.

A ratio below 1 means that ours is smaller. Collections are repeated until its standard error is {SURE:.0%}, or
until it is {APART} standard errors from {LIMIT}. *Surely above* counts ratios above {LIMIT} by two standard errors.
Our estimate was tuned on the first shapes. *Held-out shapes* (a cosine, a gap, shares that fall as the cube root of
the rank, Weibull shares in no order) were first looked at when it was finished; *shapes held out before* had served
the same purpose earlier."""

AHEAD = f"""Cells above {LIMIT}. Where noise is larger than any share, the data cannot tell a flat list from one
that falls. A projection puts everything on the labels that came out highest by chance: nearer in Kantorovich
distance if the truth is steep, and far off in L1. Cutting and scaling comes out nearly flat: nearer if the truth is
flat. Ours is one estimate for both. `method="inverse"` is the projection."""


def main(words: list[str]) -> None:
    path = DOCS / "local.json"
    known = words in (["--go-on"], ["--page"]) and path.exists()
    results = json.loads(path.read_text()) if known else {"cells": {}}
    if words == ["--page"]:
        write(results)
        return
    for labels, epsilon, reports, data in names():
        name = f"{labels}|{epsilon}|{reports}|{data}"
        if name not in results["cells"]:
            results["cells"][name] = cell(labels, epsilon, reports, data)
            path.write_text(json.dumps(results))
    for part, measure in label_costs.PARTS.items():
        if part not in results:
            results[part] = measure()
            path.write_text(json.dumps(results))
    write(results)


def write(results: dict[str, Any]) -> None:
    results.setdefault("machine", machine())
    (DOCS / "local.json").write_text(json.dumps(results, indent=1) + "\n")
    publish(DOCS / "local.md", page(results))


if __name__ == "__main__":
    main(sys.argv[1:])

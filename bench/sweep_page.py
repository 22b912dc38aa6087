"""The page of the sweep: a picture of all times, what stands out, and the peers."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import figures
import numpy as np
from harness import OURS
from pages import WIDE, machine_line, publish, seconds
from sweep import COMPARED, CONSTRAINED_SIZES, EPSILONS, NEAR, PATIENCE, PEER_SIZES, PEERS, SIZES, TARGET, Wish

SLOWEST = 20
"""Designs that are listed."""
MOST, LARGEST = 5.0, 300
"""Seconds that a design of up to LARGEST answers should take at most."""
NO_GAP = 1e-6
"""The relative gap beyond which a design stands out."""
FLOOR = 0.02
"""Seconds below which a time is noise, and so are its multiples."""

Drawn = dict[str, Any]


def measured(results: dict[str, Any]) -> list[tuple[Wish, Drawn]]:
    """The designs that have a time, with what was wished."""
    return [(wish(row), row) for row in results["ours"] if "seconds" in row]


def wish(row: Drawn) -> Wish:
    asked = row["wish"]
    limit = tuple(asked["limit"]) if asked["limit"] else None
    return Wish(**{**asked, "properties": tuple(asked["properties"]), "limit": limit})


def figure(results: dict[str, Any]) -> Any:
    """The time of every design over its size: free, with properties, with limits."""
    plot, axis = figures.plt.subplots(figsize=(7.5, 4), layout="constrained")
    looks = {"no properties": ("o", "#888888"), "properties": ("^", "#0072B2"), "limits": ("s", "#D55E00")}
    for name, (marker, color) in looks.items():
        rows = [(w, row) for w, row in measured(results) if group(w) == name]
        sizes, times = [w.size for w, _ in rows], [row["seconds"] for _, row in rows]
        axis.scatter(sizes, times, 12, marker=marker, color=color, label=f"{name} ({len(rows)})", alpha=0.7)
    axis.set(xscale="log", yscale="log", xlabel="answers", ylabel="processor time in seconds")
    ticks = (20, 50, 100, 200, 500)
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return plot


def group(w: Wish) -> str:
    return "limits" if w.limit else "properties" if w.properties else "no properties"


def multiple(row: Drawn) -> float:
    """The time as a multiple of the mean of its neighbours' times, each at least FLOOR; 0 without neighbours."""
    beside = [max(t, FLOOR) for t in row["beside"] if t is not None]
    return float(max(row["seconds"], FLOOR) / np.mean(beside)) if beside else 0.0


def slowest(results: dict[str, Any]) -> str:
    """The table of the designs that take longest beside their neighbours."""
    rows = sorted(measured(results), key=lambda pair: (-multiple(pair[1]), -pair[1]["seconds"]))[:SLOWEST]
    lines = ["| times its neighbours | time | neighbours | design |", "|---:|---:|---:|---|"]
    for w, row in rows:
        beside = " and ".join(seconds(t) for t in row["beside"] if t is not None)
        lines.append(f"| {multiple(row):.2g} | {seconds(row['seconds'])} | {beside} | {w.words()} |")
    return "\n".join(lines)


def standing_out(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(reason, design) of everything that is slow, unproved or failed."""
    for row in results["ours"]:
        w = wish(row)
        if row.get("error") == "ConvergenceError" or "stopped" in row:
            yield "failed", w.words()
        if row.get("seconds", 0) > MOST and w.size <= LARGEST:
            yield "slow", f"{w.words()}: {row['seconds']:.1f} s"
        if row.get("gap", 0) > NO_GAP:
            yield "gap", f"{w.words()}: {row['gap']:.1g}"


def listed(found: list[tuple[str, str]], reason: str, sentence: str) -> str:
    rows = [what for why, what in found if why == reason]
    return f"**{sentence}** " + (f"{len(rows)}: {'; '.join(rows)}." if rows else "None.")


def refused(results: dict[str, Any]) -> int:
    """Designs that cannot be: properties that a query does not have, limits that no mechanism keeps beside them."""
    return sum(row.get("error") in ("ValueError", "InfeasibleDesign") for row in results["ours"])


def peers(results: dict[str, Any]) -> tuple[str, list[str]]:
    """The table of peers at epsilon 1, and where one of them is faster than us."""
    lines, faster = ["| design | " + " | ".join(PEERS) + " |", "|---|" + "---:|" * len(PEERS)], []
    for kind in COMPARED:
        for size in PEER_SIZES:
            rows = {who: results["peers"].get(f"{who}|{kind}|{size}", {}) for who in PEERS}
            ours = rows[OURS].get("seconds", 0.0)
            for who, row in rows.items():
                if "seconds" in row and np.isfinite(row["value"]) and row["seconds"] < ours:
                    faster.append(f"{who} on {kind}, {size} answers")
            lines.append(f"| {kind}, {size} answers | " + " | ".join(map(cell, rows.values())) + " |")
    return "\n".join(lines), faster


def cell(row: dict[str, Any]) -> str:
    """One time of the table of peers."""
    if "seconds" not in row:
        return f"> {row['stopped']:.0f} s" if "stopped" in row else "–"
    return seconds(row["seconds"]) + ("" if np.isfinite(row["value"]) else " (no solution)")


def when(rows: Iterable[Drawn]) -> str:
    """The days on which rows were measured, in words."""
    days = sorted({row.get("day", "an earlier day") for row in rows})
    return " and ".join(days) or "no day"


def write(results: dict[str, Any], target: Path = TARGET) -> None:
    figure(results).savefig(target / "sweep.png", dpi=figures.DPI)
    found, (compared, faster) = list(standing_out(results)), peers(results)
    times = sorted(row["seconds"] for _, row in measured(results))
    parts = [
        WIDE,
        "# Even speed",
        f"{len(results['ours'])} designs that were drawn at random for version {results['version']} (seed "
        f"{results['seed']}, from the digest of the version): kind of query, loss, prior, aim, properties and limits, "
        f"epsilon from {EPSILONS[0]:g} to {EPSILONS[1]:g}, {SIZES[0]} to {SIZES[1]} answers without properties and "
        f"limits and {CONSTRAINED_SIZES[0]} to {CONSTRAINED_SIZES[1]} with. {refused(results)} of them cannot be (the "
        "query is not its own mirror image, or no mechanism keeps the limit with them). Those that ended took "
        f"{seconds(float(np.median(times)))} in the median, {seconds(times[int(0.95 * len(times))])} at most in 95 of "
        f"100 cases and {seconds(times[-1])} at most.",
        "![Processor time of every design of the sweep](sweep.png)",
        "*Processor time of one design, certified.*",
        "## What stands out",
        listed(found, "slow", f"Above {MOST:.0f} s with up to {LARGEST} answers."),
        listed(found, "gap", f"A proved gap above {NO_GAP:g} of the value."),
        listed(found, "failed", f"Not designed within {PATIENCE:.0f} s of processor time."),
        f"## The slowest {SLOWEST} beside their neighbours",
        f"Two neighbours of every design were measured too: {NEAR:g} times fewer answers and a larger epsilon, and the "
        f"other way round. Times below {1000 * FLOOR:.0f} ms count as that, because so short a time is noise.",
        slowest(results),
        "## Against the strongest form of each peer",
        "Epsilon 1, the same optimum as a linear program in floating point: where all answers are neighbours with one "
        "variable for the least probability of each output, elsewhere one row for each output and pair of neighbours; "
        "given to Clarabel, and to HiGHS by its interior point and its simplex method. Processor time, with writing "
        "the program down; ours includes rounding and the check. Properties are on the page of [solvers](solvers.md).",
        compared,
        f"A peer is faster: {'; '.join(faster)}."
        if faster
        else "No peer is faster where both were measured (–: not measured).",
        f"**What this does not say.** The random designs were measured on {when(results['ours'])}, those of the table, "
        f"ours too, on {when(results['peers'].values())}, each once, on one machine that may have had other work "
        "beside, which makes processor time longer. Short times vary. Losses without any order, such as random "
        "tables, take longer than those shown.",
        "**Repeat it:** `python bench/sweep.py whole`.",
        machine_line(results["machine"]),
    ]
    publish(target / "sweep.md", "\n\n".join(parts) + "\n")

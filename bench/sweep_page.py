"""The page of the sweep: a picture of all times, what stands out, and the peers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import figures
import numpy as np
from harness import OURS, machine
from matplotlib.colors import LogNorm
from pages import WIDE, machine_line, seconds
from sweep import COMPARED, EPSILONS, KINDS, PATIENCE, PEER_SIZES, PEERS, SIZES, TARGET

MOST, LARGEST = 5.0, 300
"""Seconds that a design of up to LARGEST answers should take at most."""
NO_GAP, UNEVEN = 1e-6, 5.0
"""The relative gap, and the multiple of the median of its neighbours in the sweep, beyond which a design stands out."""
FLOOR = 0.05
"""Seconds below which a time is noise, and so are its multiples."""

Table = np.ndarray[Any, np.dtype[np.float64]]


def table(results: dict[str, Any], kind: str, field: str) -> Table:
    """One field over sizes and epsilons; not a number where nothing was measured."""
    ours = results["ours"]
    rows = [[ours.get(f"{kind}|{n}|{e}", {}).get(field, np.nan) for e in EPSILONS] for n in SIZES]
    return np.array(rows, dtype=float)


def figure(results: dict[str, Any]) -> Any:
    """A map of times for every kind: sizes down, epsilons across, one colour scale."""
    plot, axes = figures.plt.subplots(5, 3, figsize=(7.5, 9.5), layout="constrained")
    image = None
    for axis, kind in zip(axes.flat, KINDS, strict=False):
        times = table(results, kind, "seconds")
        image = axis.imshow(np.maximum(times, 1e-3), norm=LogNorm(1e-3, 30), cmap="cividis", aspect="auto")
        axis.set_title(kind, fontsize=8)
        axis.set_yticks(range(len(SIZES)), SIZES, fontsize=7)
        shown = range(0, len(EPSILONS), 3)
        axis.set_xticks(shown, [EPSILONS[k] for k in shown], fontsize=7)
        for i, j in zip(*np.nonzero(~np.isnan(times)), strict=True):
            if times[i, j] >= 1:
                colour = "black" if times[i, j] > 3 else "white"
                axis.text(j, i, f"{times[i, j]:.0f}", ha="center", va="center", fontsize=5, color=colour)
    for axis in axes.flat[len(KINDS) :]:
        axis.set_visible(False)
    bar = plot.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40)
    bar.set_label("processor time in seconds (numbers: from 1 s on); answers down, epsilon across", fontsize=8)
    return plot


def standing_out(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(reason, design) of everything that is slow, unproved or uneven."""
    for kind in KINDS:
        times, gaps = table(results, kind, "seconds"), table(results, kind, "gap")
        for i, j in zip(*np.nonzero(~np.isnan(times)), strict=True):
            what = f"{kind}, {SIZES[i]} answers, epsilon {EPSILONS[j]}"
            if times[i, j] > MOST and SIZES[i] <= LARGEST:
                yield "slow", f"{what}: {times[i, j]:.1f} s"
            if gaps[i, j] > NO_GAP:
                yield "gap", f"{what}: {gaps[i, j]:.1g}"
            around = times[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2].copy()
            around[min(i, 1), min(j, 1)] = np.nan
            usual = max(float(np.nanmedian(around)), FLOOR) if (~np.isnan(around)).any() else np.inf
            if times[i, j] > UNEVEN * usual:
                yield "uneven", f"{what}: {times[i, j]:.2f} s beside a median of {usual:.2f} s"


def listed(found: list[tuple[str, str]], reason: str, sentence: str) -> str:
    rows = [what for why, what in found if why == reason]
    return f"**{sentence}** " + (f"{len(rows)}: {'; '.join(rows)}." if rows else "None.")


def stopped(results: dict[str, Any]) -> str:
    """Designs that were begun and given up; they are blank in the figure."""
    rows = [f"{key.replace('|', ', ')}: more than {s:.0f} s" for key, s in results.get("stopped", {}).items()]
    return "**Given up before the end** (kind, answers, epsilon). " + ("; ".join(rows) + "." if rows else "None.")


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
        return f"> {PATIENCE:.0f} s" if "stopped" in row else "–"
    return seconds(row["seconds"]) + ("" if np.isfinite(row["value"]) else " (no solution)")


def when(rows: dict[str, dict[str, Any]]) -> str:
    """The days on which rows were measured, in words."""
    days = sorted({row.get("day", "an earlier day") for row in rows.values()})
    return " and ".join(days) or "no day"


def write(results: dict[str, Any], target: Path = TARGET) -> None:
    figure(results).savefig(target / "sweep.png", dpi=figures.DPI)
    found, (compared, faster) = list(standing_out(results)), peers(results)
    done, all_of_them = len(results["ours"]), len(KINDS) * len(SIZES) * len(EPSILONS)
    parts = [
        WIDE,
        "# Even speed",
        f"Every kind of query and neighbourhood, {len(EPSILONS)} epsilons from {EPSILONS[0]} to {EPSILONS[-1]}, "
        f"{SIZES[0]} to {SIZES[-1]} answers, no properties; absolute loss and equal prior unless the title says "
        f"otherwise. {done} of {all_of_them} designs were measured.",
        "![Processor time of every design of the sweep](sweep.png)",
        "*Processor time of one design, certified, for every kind, size and epsilon. Blank: not measured.*",
        "## What stands out",
        listed(found, "slow", f"Above {MOST:.0f} s with up to {LARGEST} answers."),
        listed(found, "gap", f"A proved gap above {NO_GAP:g} of the value."),
        listed(found, "uneven", f"More than {UNEVEN:.0f} times the median of its neighbours in the sweep."),
        stopped(results),
        f"Neighbours are the designs of the same kind with the next sizes and epsilons, up to eight; a median below "
        f"{1000 * FLOOR:.0f} ms counts as that, because so short a time is noise.",
        "## Against the strongest form of each peer",
        "Epsilon 1, the same optimum as a linear program in floating point: where all answers are neighbours with one "
        "variable for the least probability of each output, elsewhere one row for each output and pair of neighbours; "
        "given to Clarabel, and to HiGHS by its interior point and its simplex method. Processor time, with writing "
        "the program down; ours includes rounding and the check.",
        compared,
        f"A peer is faster: {'; '.join(faster)}."
        if faster
        else "No peer is faster where both were measured (–: not measured).",
        f"**What this does not say.** The designs of the figure were measured on {when(results['ours'])}, those of "
        f"the table, ours too, on {when(results['peers'])}, each once, on one machine that may have had other work "
        "beside, which makes processor time longer. Short times vary. Losses without any order, such as random "
        "tables, take longer than those shown; properties are on the page of [designing](designing.md).",
        "**Repeat it:** `python bench/sweep.py whole`.",
        machine_line(results.get("machine", machine())),
    ]
    (target / "sweep.md").write_text("\n\n".join(parts) + "\n", "utf-8")

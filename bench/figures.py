"""The figures of docs/benchmarks: narrow, so that they can be read on a phone; marks as well as colours."""

import re
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from harness import OURS, Row
from matplotlib.patches import Patch
from pages import Result, headlines, quantity, ratio, seconds
from parts import PARTS

DPI = 160
WIDTH = 6.0
HATCH = "////"
SLOWER, FASTER, OWN = "#56B4E9", "#E69F00", "#0072B2"  # from the palette of Okabe and Ito, safe for the colour-blind
LINES: dict[str, dict[str, Any]] = {
    OURS: {"color": OWN, "marker": "o"},
    "HiGHS simplex": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "HiGHS interior point": {"color": "#009E73", "marker": "D", "linestyle": ":"},
    "cvxpy": {"color": "#CC79A7", "marker": "v", "linestyle": "-."},
    "dense NumPy": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "qif": {"color": "#7F7F00", "marker": "P", "linestyle": (0, (5, 1, 1, 1))},
}
STOPPED: dict[str, dict[str, Any]] = {
    who: {"marker": "^", "fillstyle": "none", "linestyle": "none", "markersize": 5 + 2 * k}
    for k, who in enumerate(LINES)
}
"""Peers stopped at the same limit and size: one triangle around the other."""

TITLE: dict[str, Any] = {"weight": "bold", "fontsize": 8.5, "bbox": {"color": "white", "pad": 1}}
plt.rcParams.update({"font.size": 9, "hatch.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False})


def summary(results: dict[str, Result]) -> Any:
    """Bars from 1 (our time) to the peer's, task by task, all on one log scale."""
    titles: list[tuple[float, str]] = []
    bars: list[tuple[float, Row, Row]] = []
    y = 0.0
    for name, ours, peers in headlines(results):
        titles.append((y, f"{PARTS[name].title}: {ours.task}"))
        for row in peers:
            y += 1
            bars.append((y, row, ours))
        y += 1.6
    figure, axis = plt.subplots(figsize=(WIDTH, 1.1 + 0.19 * y), layout="constrained")
    for at, row, ours in bars:
        _bar(axis, at, row, ours)
    axis.set_xscale("log")
    axis.axvline(1, color="black", linewidth=1)
    low, high = axis.get_xlim()
    axis.set_xlim(low, high * 30)  # room for the words at the end of the bars
    for at, text in titles:
        axis.text(-0.33, at, text, transform=axis.get_yaxis_transform(), va="center", **TITLE)
    axis.set_yticks([at for at, _, _ in bars], [row.who for _, row, _ in bars])
    axis.tick_params(axis="y", length=0, labelsize=8)
    axis.tick_params(axis="x", labelsize=7.5)
    axis.spines["left"].set_visible(False)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,g}×")
    axis.set_ylim(y - 1, -1)
    axis.set_xlabel("time, as a multiple of that of inbounds")
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _legend() -> list[Any]:
    meanings: tuple[tuple[dict[str, Any], str], ...] = (
        ({"facecolor": SLOWER}, "slower than inbounds"),
        ({"facecolor": FASTER}, "faster than inbounds"),
        ({"facecolor": "white", "hatch": HATCH}, "privacy broken, not proved or absent"),
        ({"facecolor": "white"}, "stopped at its limit: slower than this"),
    )
    return [Patch(edgecolor="black", linewidth=0.6, label=label, **look) for look, label in meanings]


def _bar(axis: Any, at: float, row: Row, ours: Row) -> None:
    if row.outcome not in ("", "stopped"):
        axis.text(1.15, at, row.outcome, va="center", fontsize=7.5, style="italic")
        return
    times = row.each / ours.each
    hatch = HATCH if row.proved is False else ""
    color = "white" if row.outcome else SLOWER if times >= 1 else FASTER
    axis.barh(at, times - 1, left=1, height=0.8, color=color, hatch=hatch, edgecolor="black", linewidth=0.6)
    if row.outcome:
        axis.plot(times, at, marker=">", color="black", markersize=5)
    words = f"{ratio(row, ours)}  {row.privacy.partition(';')[0]}"
    axis.text(max(times, 1) * 1.15, at, words, va="center", fontsize=7.5)


def growth(rows: list[Row]) -> Any:
    """Time of a design against the number of answers, for the two families that grow."""
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.4), layout="constrained", sharey=True)
    families = {
        "no properties": (r"count 0\.\.(\d+)", (20, 100, 1000, 10_000, 100_000)),
        "fair, monotone, symmetric": (r"Variant 2, count 0\.\.(\d+)", (50, 100, 200, 500)),
    }
    for axis, (title, (family, ticks)) in zip(axes, families.items(), strict=True):
        for who in (OURS, "HiGHS simplex", "HiGHS interior point", "cvxpy", "qif"):
            _line(axis, who, _sizes(rows, who, family))
        axis.set_xticks(ticks, [f"{size:,}" for size in ticks], fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("largest count")
    axes[0].set_ylabel("time of one design")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def reconstructing(rows: list[Row]) -> Any:
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    for who in (OURS, "dense NumPy", "qif"):
        _line(axis, who, _sizes(rows, who, r"plain step, (\d+) answers"))
    axis.set_xlabel("answers")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.set_ylabel("time of one step")
    axis.legend(frameon=False)
    return figure


def _sizes(rows: list[Row], who: str, family: str) -> list[tuple[int, Row]]:
    """The rows of a family of tasks, with the number in their name."""
    return [(int(hit[1]), row) for row in rows if row.who == who and (hit := re.fullmatch(family, row.task))]


def _line(axis: Any, who: str, points: list[tuple[int, Row]]) -> None:
    """Finished runs joined; stopped ones as open triangles at their limit."""
    style = LINES[who]
    done = [(size, row.each) for size, row in points if not row.outcome]
    stopped = [(size, row.each) for size, row in points if row.outcome == "stopped"]
    if done:
        axis.plot(*zip(*done, strict=True), label=who, markersize=5, **style)
    if stopped:
        axis.plot(*zip(*stopped, strict=True), color=style["color"], **STOPPED[who])
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axis.yaxis.set_major_formatter(lambda value, _: seconds(value))
    axis.grid(alpha=0.3)


def sampling(rows: list[Row]) -> Any:
    """Values per second, fastest first."""
    shown = sorted((row for row in rows if row.task in PARTS["sampling"].headlines), key=lambda row: row.each)
    figure, axis = plt.subplots(figsize=(WIDTH, 0.9 + 0.32 * len(shown)), layout="constrained")
    for at, row in enumerate(shown):
        color, hatch = (OWN if row.who == OURS else SLOWER), (HATCH if row.proved is False else "")
        axis.barh(at, 1 / row.each, height=0.7, color=color, hatch=hatch, edgecolor="black", linewidth=0.6)
        axis.text(1.15 / row.each, at, f"{quantity(1e-6 / row.each)} M/s", va="center", fontsize=8)
    axis.set_yticks(range(len(shown)), [row.who for row in shown])
    axis.tick_params(axis="y", length=0)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlim(1e3, 5 / shown[0].each)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.set_xlabel("values per second")
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    return figure


FIGURES = {"designing": growth, "sampling": sampling, "reconstructing": reconstructing}

"""How the studies look: the palette of the reports, one line for each mechanism wherever it appears, one way to save.

Markers and dashes tell the lines apart in print.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.exact import Floats
from inbounds.report.figures import COLOURS, HEAT, text_colour
from inbounds_studies.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN, PURPLE, BLACK, ORANGE, SKY, BROWN = COLOURS
GREY = "#8A8A8A"
PALETTE = (*COLOURS, GREY)

OPTIMAL = "optimal"
"""The line that every study adds: the best that `ib.optimal` finds under the panel's own measure."""

LOOKS: dict[str, dict[str, Any]] = {
    OPTIMAL: {"color": BLACK, "linestyle": (0, (4, 2)), "marker": "", "linewidth": 2.0, "zorder": 5},
    "snapped Laplace": {"color": ORANGE, "marker": "s"},
    "snapped staircase": {"color": RED, "marker": "^"},
    "normalized Laplace": {"color": PURPLE, "marker": "D"},
    "normalized Laplace, least scale": {"color": PURPLE, "marker": "", "linestyle": ":"},
    "Cauchy, scale 8S/ε": {"color": GREY, "marker": "x"},
    "Cauchy, best split": {"color": BROWN, "marker": "", "linestyle": ":"},
    "LP Variant 1": {"color": BLUE, "marker": "o"},
    "LP Variant 2": {"color": GREEN, "marker": "v"},
    "uniform": {"color": GREY, "marker": ""},
    "geometric (GM)": {"color": RED, "marker": "^"},
    "weakly honest": {"color": ORANGE, "marker": "s", "linestyle": ":"},
    "weakly honest (WM)": {"color": PURPLE, "marker": "D"},
    "explicit fair (EM)": {"color": BLUE, "marker": "o"},
    "uniform (UM)": {"color": GREY, "marker": ""},
    "WH alone, with RH or RM": {"color": ORANGE, "marker": "s", "linestyle": ":"},
    "WH with CH or CM, with or without RH, RM": {"color": PURPLE, "marker": "D"},
    "Laplace": {"color": ORANGE, "marker": "s"},
    "staircase": {"color": RED, "marker": "^"},
    "geometric": {"color": BLUE, "marker": "o"},
    "pre-rounded geometric": {"color": GREEN, "marker": "v"},
    "randomized response": {"color": RED, "marker": "^"},
    "geometric on the map": {"color": BLUE, "marker": "o"},
    "geometric, in range": {"color": SKY, "marker": "s", "markerfacecolor": "white", "markersize": 8},
    "pre-rounded geometric, in range": {"color": SKY, "marker": "", "linestyle": "-."},
    "no data: best constant": {"color": GREY, "marker": "", "linestyle": ":"},
    "geometric, same LDP": {"color": SKY, "marker": "s", "linestyle": ":"},
    "normalized, metric privacy (paper)": {"color": PURPLE, "marker": "D"},
    "normalized, plain privacy": {"color": GREEN, "marker": "v"},
    "paper's Theorem 1": {"color": RED, "marker": "^"},
    "one least scale": {"color": GREEN, "marker": "v"},
    "declared range, open ends": {"color": GREEN, "marker": "v"},
    "declared range, cut at its ends": {"color": PURPLE, "marker": "D"},
    "whole line": {"color": GREY, "marker": "", "linestyle": ":"},
    "staircase on the line (12)": {"color": GREY, "marker": "", "linestyle": ":"},
    "bound: no mechanism is below": {"color": BLACK, "linestyle": ":", "marker": "", "linewidth": 1.2},
    "optimal, prior known": {"color": BLACK, "linestyle": (0, (1, 1)), "marker": "", "linewidth": 2.0, "zorder": 5},
}

_RC: Any = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.dpi": 110,
    "svg.hashsalt": "inbounds",
    "svg.fonttype": "none",
}


@contextmanager
def styled() -> Iterator[Any]:
    """matplotlib's pyplot in the style of the studies; imported here, because most commands draw nothing."""
    from matplotlib import pyplot, rc_context

    with rc_context(_RC):
        yield pyplot


def save(draw: Callable[[], "Figure"], stem: Path) -> list[Path]:
    """stem.svg and stem.png; the same data gives the same bytes."""
    with styled() as plt:
        figure = draw()
        paths = [stem.parent / f"{stem.name}.{kind}" for kind in ("svg", "png")]
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=110)
        plt.close(figure)
    return paths


def look(name: str, place: int = 0) -> dict[str, Any]:
    """Colour, marker and dashes of a line; a mechanism looks the same in every figure."""
    base = name.removesuffix(" (ext)")
    if base in LOOKS:
        wider = {"linestyle": "--", "markerfacecolor": "white"} if base != name else {}
        return LOOKS[base] | wider
    return {"color": PALETTE[place % len(PALETTE)], "marker": "osv^Dx"[place % 6]}


PAGE = 7.6
"""Inches that a figure may be wide: more would be shrunk on the page until its letters cannot be read."""


def columns_of(count: int, across: int, width: float) -> int:
    """How many of `count` panels stand side by side: at most `across`, and as many as the page holds."""
    return max(1, min(count, across, int(PAGE / width)))


def panels(count: int, across: int = 4, width: float = 3.2, height: float = 2.9) -> tuple["Figure", list["Axes"]]:
    """A figure with `count` equal panels, at most `across` side by side; the rest of the grid stays empty."""
    with styled() as plt:
        columns = columns_of(count, across, width)
        rows = -(-count // columns)
        size = (max(width * columns, 6.2), height * rows + 0.5)
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    flat = list(axes.ravel())
    for spare in flat[count:]:
        spare.set_axis_off()
    return figure, flat[:count]


def legend_below(figure: "Figure", axes: Sequence["Axes"], across: int = 4) -> None:
    """One legend for all panels: where a panel is left out, else below in as many columns as fit (at most `across`)."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    spare = [axis for axis in figure.axes if not axis.axison and axis not in axes]
    if spare:  # an empty place beside the last panel
        spare[0].legend(list(found.values()), list(found), loc="center", handlelength=2.6)
        return
    column = 0.062 * max(len(label) for label in found) + 0.75  # inches: letters, line sample, space between
    fitting = max(1, min(across, len(found), int(figure.get_figwidth() / column)))
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=fitting,
        handlelength=2.6,
        columnspacing=1.5,
    )


def curves(
    table: Table,
    x: str,
    value: str = "value",
    panel: str | None = None,
    *,
    line: str = "mechanism",
    x_label: str | Mapping[Any, str] = "",
    y_label: str = "",
    titles: Mapping[Any, str] | None = None,
    across: int = 4,
    share_y: bool = False,
    log_y: bool = False,
    legend_across: int = 4,
    dots: Sequence[str] = (),
) -> "Figure":
    """One panel for each value of `panel`, one line for each `line`; standard errors as bars where given.

    dots: lines that are drawn point by point.
    """
    names = table.distinct(panel) if panel else [None]
    lines = table.distinct(line)
    figure, axes = panels(len(names), across, width=3.6)
    columns = columns_of(len(names), across, 3.6)
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        part = table.where(**{panel: name}) if panel else table
        for place, series in enumerate(lines):
            dotted = {"linestyle": "", "marker": ".", "markersize": 4} if series in dots else {}
            draw_line(axis, part.where(**{line: series}), x, value, series, look(series, place) | dotted)
        axis.set_title((titles or {}).get(name, "" if name is None else str(name)))
        axis.set_xlabel(x_label if isinstance(x_label, str) else x_label[name])
        axis.set_ylabel(y_label if k % columns == 0 else "")
        if log_y:
            axis.set_yscale("log")
        axis.margins(x=0.03)
    if share_y:
        low, high = min(a.get_ylim()[0] for a in axes), max(a.get_ylim()[1] for a in axes)
        for axis in axes:
            axis.set_ylim(low, high)
    legend_below(figure, axes, legend_across)
    say_hidden(figure, {"" if name is None else str((titles or {}).get(name, name)): axis
                        for name, axis in zip(names, axes, strict=True)})  # fmt: skip
    return figure


HIDDEN = 0.006
"""Share of a panel's height within which two lines are drawn over each other: less than a line is wide."""


def say_hidden(figure: "Figure", named: Mapping[str, "Axes"]) -> None:
    """Above the panels: which lines hide others from end to end; their values are near, not always equal."""
    panels_of: dict[str, list[str]] = {}
    for name, axis in named.items():
        for group in _one_line(axis):
            panels_of.setdefault(" over ".join(reversed(group)), []).append(name)
    found = [f"{', '.join(names)}: {lines}" if any(names) else lines for lines, names in panels_of.items()]
    if found:
        text = "\n".join(wrap("closer than a line is wide: " + ";  ".join(found), int(figure.get_figwidth() * 15)))
        figure.suptitle(text, fontsize=8, color="#555555")


def _one_line(axis: "Axes") -> list[list[str]]:
    """The labels of lines that cannot be told apart, in groups."""
    low, high = axis.get_ylim()
    groups: list[tuple[list[str], Floats, Floats]] = []
    for line in axis.get_lines():
        label, x, y = str(line.get_label()), *(np.asarray(data, dtype=np.float64) for data in line.get_data())
        if label.startswith("_") or not len(x):
            continue
        level = np.log(y / low) / np.log(high / low) if axis.get_yscale() == "log" else y / (high - low)
        for labels, there, up in groups:
            if len(there) == len(x) and (there == x).all() and np.abs(up - level).max() < HIDDEN:
                labels.append(label)
                break
        else:
            groups.append(([label], x, level))
    return [labels for labels, _, _ in groups if len(labels) > 1]


def draw_line(axis: "Axes", rows: Table, x: str, value: str, name: str, appearance: Mapping[str, Any]) -> None:
    """One line, with bars of one standard error where the table has them; few markers on many points."""
    if not len(rows):
        return
    across, up = rows.numbers(x), rows.numbers(value)
    every = max(1, len(across) // 10) if appearance.get("linestyle") != "" else 1
    axis.plot(across, up, label=name, markevery=every, **appearance)
    if "standard_error" in rows.columns:
        error = rows.numbers("standard_error")
        bars = {"fmt": "none", "ecolor": appearance["color"], "elinewidth": 0.9, "capsize": 1.5, "errorevery": every}
        axis.errorbar(across, up, error, **bars)


def heatmap(axis: "Axes", matrix: Floats, answers: Sequence[Any], outputs: Sequence[Any], top: float) -> Any:
    """P[output, answer]: true answers across, reports down, as the papers print it; numbers where they fit."""
    image = axis.imshow(matrix, cmap=HEAT, vmin=0, vmax=top, aspect="auto")
    axis.grid(visible=False)
    axis.set_xticks(range(len(answers)), [str(a) for a in answers])
    axis.set_yticks(range(len(outputs)), [str(o) for o in outputs])
    axis.set_xlabel("true answer")
    for side in axis.spines.values():
        side.set_visible(False)
    if max(matrix.shape) <= 9:
        for (i, j), p in np.ndenumerate(matrix):
            if p < 0.0005:
                continue  # zeros would hide where the others are
            text = f"{p:.3f}" if max(matrix.shape) <= 6 else f"{p:.2f}".removeprefix("0")
            ink = text_colour(float(p), top)
            axis.text(j, i, text, ha="center", va="center", fontsize=7.5, color=ink)
    return image


def matrices(table: Table, across: int = 3, titles: Mapping[str, str] | None = None) -> "Figure":
    """One heatmap for each mechanism of a table (mechanism, output, answer, probability), on one colour scale."""
    names = table.distinct("mechanism")
    figure, axes = panels(len(names), across, width=3.3, height=3.0)
    top = max(table.column("probability"))
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        part = table.where(mechanism=name)
        answers, outputs = part.distinct("answer"), part.distinct("output")
        matrix = part.numbers("probability").reshape(len(outputs), len(answers))
        image = heatmap(axis, matrix, answers, outputs, top)
        axis.set_title((titles or {}).get(name, name))
        axis.set_ylabel("report" if k % columns_of(len(names), across, 3.3) == 0 else "")
    figure.colorbar(image, ax=axes, shrink=0.85, label="probability of the report")
    return figure

"""003's pictures that are not curves: the structure of a matrix, the flowchart, the table of properties."""

from typing import TYPE_CHECKING

from inbounds_studies.style import BLUE, GREEN, GREY, ORANGE, RED, panels
from inbounds_studies.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def structure(table: Table, title: str) -> "Figure":
    """Every entry as factor·α^power on a shade of its power."""
    size = max(table.column("answer")) + 1
    figure, (axis,) = panels(1, width=6.4, height=4.2)
    power = table.numbers("power").reshape(size, size)
    axis.imshow(-power, cmap="Blues", vmin=-power.max() * 1.15, vmax=power.max(), aspect="auto")
    for row in table:
        raised = {0: "", 1: "α"}.get(int(str(row["power"])), f"α$^{{{row['power']}}}$")
        text = f"{row['factor']}{raised}"
        axis.text(row["answer"], row["output"], text, ha="center", va="center", fontsize=9)  # type: ignore[arg-type]
    axis.grid(visible=False)
    axis.set_xticks(range(size))
    axis.set_yticks(range(size))
    axis.set_xlabel("true answer")
    axis.set_ylabel("report")
    axis.set_title(title)
    return figure


def flowchart() -> "Figure":
    """003 Figure 5, with Lemma 3's inequality the right way round."""
    figure, (axis,) = panels(1, width=7.6, height=3.6)
    axis.set_axis_off()
    axis.set_xlim(0, 10)
    axis.set_ylim(0, 4.6)
    questions = ("fairness\nasked for?", "a column\nproperty?", "weak\nhonesty?")
    for k, text in enumerate(questions):
        _box(axis, 1.1 + 2.7 * k, 3.9, text, "white")
        _arrow(axis, (1.75 + 2.7 * k, 3.9), (3.15 + 2.7 * k, 3.9), "no")
    _box(axis, 9.2, 3.9, "GM", RED, pad=0.8)
    _box(axis, 1.1, 2.0, "EM", BLUE, pad=0.8)
    _arrow(axis, (1.1, 3.5), (1.1, 2.4), "yes")
    for x, condition, program in (
        (3.8, "α ≤ 1/2 ?", "WM: column\nmonotone program"),
        (6.5, "n ≥ 2α/(1−α) ?", "weakly honest\nprogram"),
    ):
        _box(axis, x, 2.0, condition, "white")
        _arrow(axis, (x, 3.5), (x, 2.27), "yes")
        _box(axis, x, 0.45, program, ORANGE)
        _arrow(axis, (x, 1.75), (x, 0.87), "no")
    _bent(axis, (7.3, 2.0), (9.1, 3.5))
    _bent(axis, (4.35, 1.9), (9.3, 3.5), dip=1.3)
    axis.text(7.6, 2.08, "yes", fontsize=8, color="#444444")
    axis.text(5.2, 1.38, "yes", fontsize=8, color="#444444")
    return figure


_LINE = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}


def _bent(axis: "Axes", start: tuple[float, float], end: tuple[float, float], dip: float | None = None) -> None:
    """Right along a line (first down to `dip`), then up to the end."""
    xs, ys = [start[0], end[0]], [start[1], start[1]]
    if dip is not None:
        xs, ys = [start[0], start[0] + 0.25, start[0] + 0.25, end[0]], [start[1], start[1], dip, dip]
    axis.plot(xs, ys, color="#444444", linewidth=1.0)
    axis.annotate("", end, (end[0], ys[-1]), arrowprops=_LINE)


def _box(axis: "Axes", x: float, y: float, text: str, colour: str, pad: float = 0.45) -> None:
    ink = "black" if colour in ("white", ORANGE) else "white"
    around = {"boxstyle": f"round,pad={pad}", "facecolor": colour, "edgecolor": "#444444"}
    axis.text(x, y, text, ha="center", va="center", fontsize=9, color=ink, bbox=around)


def _arrow(axis: "Axes", start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    axis.annotate("", end, start, arrowprops=_LINE)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    axis.text(x + 0.08, y + 0.08, text, fontsize=8, color="#444444")


def property_table(table: Table) -> "Figure":
    """Properties down, mechanisms across."""
    properties, mechanisms = table.distinct("property"), table.distinct("mechanism")
    figure, (axis,) = panels(1, width=7.4, height=2.9)
    axis.set_xlim(-0.5, len(mechanisms) - 0.5)
    axis.set_ylim(len(properties) - 0.5, -0.5)
    colours = {"always": GREEN, "never": RED, "depends": GREY}
    for row in table:
        x, y = mechanisms.index(row["mechanism"]), properties.index(row["property"])
        holds = str(row["holds"])
        axis.text(x, y, holds, ha="center", va="center", color=colours[holds], fontweight="bold")
    axis.set_xticks(range(len(mechanisms)), [m.replace(" (", "\n(") for m in mechanisms])
    axis.set_yticks(range(len(properties)), [p.replace("_", " ") for p in properties])
    axis.tick_params(length=0, labeltop=True, labelbottom=False)
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)
    return figure

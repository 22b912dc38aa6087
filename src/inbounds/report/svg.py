"""Pictures as inline SVG: no library, no network, readable in print and with any colour vision.

Heatmaps show values by lightness only; curves differ in dashes. Elements become text once, at the end, where every name
is escaped.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.report import drawing
from inbounds.report.drawing import STYLE as STYLE
from inbounds.report.templates import pick_evenly

NUMBERS_UP_TO = 11
MOST_CELLS = 60
"""Larger matrices are averaged into blocks, so that a report stays small."""

MOST_TICKS = 11
SEAM = 0.3
"""The overlap of cells, so that no white line shows between them."""

LIGHT, DARK = (247, 251, 255), (8, 48, 107)


def heatmap(matrix: Floats, answers: Sequence[str], reports: Sequence[str], top: float, title: str = "") -> str:
    """Draw P[output, answer] with true answers across and outputs up; small matrices show their values."""
    rows, columns = matrix.shape
    if max(rows, columns) > MOST_CELLS:
        return heatmap(*average_blocks(matrix, answers, reports), top, title)
    left, head = max(44.0, 24 + 6 * max(len(drawing.shorten(name)) for name in reports)), 24 if title else 6
    plot = drawing.WIDE - left - 8
    w, h = plot / columns, min(plot / rows, 26.0) if rows <= NUMBERS_UP_TO else plot / rows
    parts = [drawing.title(left, title)] if title else []
    for i in range(rows):
        y = head + (rows - 1 - i) * h
        parts += _cells(matrix[i], left, y, w, h, top)
        if columns <= NUMBERS_UP_TO:
            parts += [_number(v, left + (j + 0.5) * w, y + h / 2 + 3, top) for j, v in enumerate(matrix[i])]
    bottom = head + rows * h
    parts.append(drawing.frame(left, head, plot, rows * h))
    parts += [
        drawing.text_element(left + (j + 0.5) * w, bottom + 13, answers[j], "middle")
        for j in pick_evenly(columns, MOST_TICKS)
    ]
    parts += [
        drawing.text_element(left - 4, bottom - (i + 0.5) * h + 3.5, reports[i], "end")
        for i in pick_evenly(rows, MOST_TICKS)
    ]
    parts.append(drawing.text_element(left + plot / 2, bottom + 27, "true answer", "middle"))
    parts.append(drawing.rotate_text(10, head + rows * h / 2, "published"))
    parts += _legend(left, bottom + 38, plot, top)
    return drawing.picture(parts, bottom + 66, title or "probability of every output for every true answer")


def cells(values: Floats, rows: Sequence[str], columns: Sequence[str], title: str, marked: Ints) -> str:
    """Draw values[row, column] on a map, first row on top, darker for more; marked cells have a frame."""
    left, head, plot = 44, 24, drawing.WIDE - 52
    side = min(plot / values.shape[1], 320 / values.shape[0])
    top = float(values.max()) or 1.0
    parts = [drawing.title(left, title)]
    for i, row in enumerate(values):
        parts += _cells(row, left, head + i * side, side, side, top)
    for i, j in marked.tolist():
        parts.append(drawing.frame(left + j * side, head + i * side, side, side))
    wide, bottom = values.shape[1] * side, head + values.shape[0] * side
    parts.append(drawing.frame(left, head, wide, bottom - head))
    parts += [
        drawing.text_element(left - 4, head + (i + 0.5) * side + 3.5, rows[i], "end")
        for i in pick_evenly(len(rows), MOST_TICKS)
    ]
    parts += [
        drawing.text_element(left + (j + 0.5) * side, bottom + 13, columns[j], "middle")
        for j in pick_evenly(len(columns), MOST_TICKS)
    ]
    parts += _legend(left, bottom + 22, plot, top, "the more the darker")
    return drawing.picture(parts, bottom + 50, title)


def bars(values: Floats, names: Sequence[str], across: str, up: str, marked: Sequence[int] = ()) -> str:
    """Draw one bar per name; marked bars are darker, not only coloured."""
    left, top, plot, high = 44, 8, drawing.WIDE - 52, 150
    peak = drawing.round_peak(float(values.max()))
    w = plot / len(values)
    parts = drawing.axis(left, top, plot, high, peak)
    for k, value in enumerate(values):
        size = high * float(value) / peak
        look = "bar marked" if k in set(marked) else "bar"
        parts.append(drawing.rect(left + (k + 0.08) * w, top + high - size, 0.84 * w, size, {"class": look}))
    parts += [
        drawing.text_element(left + (k + 0.5) * w, top + high + 14, names[k], "middle")
        for k in pick_evenly(len(values), MOST_TICKS)
    ]
    parts += [
        drawing.text_element(left + plot / 2, top + high + 28, across, "middle"),
        drawing.rotate_text(10, top + high / 2, up),
    ]
    return drawing.picture(parts, top + high + 36, f"{up}, by {across}")


def lines(curves: Mapping[str, Floats], names: Sequence[str], across: str, up: str, *, steps: bool = False) -> str:
    """Draw curves over the same names that differ in dashes and colour, with a legend below.

    steps: each value holds until the next name, instead of a line between the two.
    """
    left, top, plot, high = 44, 8, drawing.WIDE - 52, 190
    peak = drawing.round_peak(max(float(curve.max()) for curve in curves.values()))
    x = left + plot * (np.arange(len(names)) + 0.5) / len(names)
    edges = np.repeat(left + plot * np.arange(len(names) + 1) / len(names), 2)[1:-1]
    parts = drawing.axis(left, top, plot, high, peak)
    for k, curve in enumerate(curves.values()):
        heights = top + high * (1 - curve / peak)
        parts.append(drawing.polyline(edges, np.repeat(heights, 2), k) if steps else drawing.polyline(x, heights, k))
    parts += [
        drawing.text_element(float(x[k]), top + high + 14, names[k], "middle")
        for k in pick_evenly(len(names), MOST_TICKS)
    ]
    parts += [
        drawing.text_element(left + plot / 2, top + high + 28, across, "middle"),
        drawing.rotate_text(10, top + high / 2, up),
    ]
    parts += drawing.legend(list(curves), left, plot, top + high + 46)
    return drawing.picture(parts, top + high + 50 + 15 * ((len(curves) + 1) // 2), f"{up}, by {across}")


def curve(x: Floats, y: Floats, across: str, up: str, title: str = "") -> str:
    """Draw one curve over increasing numbers; the vertical axis starts at zero."""
    left, head, plot, high = 44, 24 if title else 8, drawing.WIDE - 62, 110
    peak = drawing.round_peak(float(y.max()))
    places = left + plot * (x - x[0]) / (x[-1] - x[0])
    parts = [drawing.title(left, title)] if title else []
    parts += drawing.axis(left, head, plot, high, peak)
    parts.append(drawing.polyline(places, head + high * (1 - y / peak), 0))
    parts += [
        drawing.text_element(float(places[k]), head + high + 14, f"{x[k]:g}", "middle")
        for k in drawing.spread_labels(places)
    ]
    parts += [
        drawing.text_element(left + plot / 2, head + high + 28, across, "middle"),
        drawing.rotate_text(10, head + high / 2, up),
    ]
    return drawing.picture(parts, head + high + 36, f"{title}: {up}, by {across}" if title else f"{up}, by {across}")


def cell_colour(share: float) -> str:
    """Return a colour from light to dark for 0..1; the square root makes small probabilities visible."""
    mix = min(1.0, max(0.0, share)) ** 0.5
    return "#" + "".join(f"{round(a + (b - a) * mix):02x}" for a, b in zip(LIGHT, DARK, strict=True))


# --- parts of a picture -----------------------------------------------------------------------------------


def _cells(row: Floats, left: float, y: float, w: float, h: float, top: float) -> list[ET.Element]:
    """Draw the rectangles of one row; equal neighbours are drawn as one."""
    fills = [cell_colour(float(value) / top) for value in row]
    parts, start = [], 0
    for j in range(1, len(fills) + 1):
        if j == len(fills) or fills[j] != fills[start]:
            x, width = left + start * w, (j - start) * w
            parts.append(drawing.rect(x, y, width + SEAM, h + SEAM, {"fill": fills[start]}))
            start = j
    return parts


def _number(value: float, x: float, y: float, top: float) -> ET.Element:
    ink = "#fff" if (value / top) ** 0.5 > 0.55 else "#111"
    text = f"{value:.2f}".removeprefix("0")
    return drawing.element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": "n", "style": f"fill:{ink}"}, text)


def _legend(
    left: float, y: float, width: float, top: float, meaning: str = "probability of the output"
) -> list[ET.Element]:
    steps = 24
    w = width / 2 / steps
    parts = [drawing.rect(left + k * w, y, w + SEAM, 9, {"fill": cell_colour((k + 0.5) / steps)}) for k in range(steps)]
    parts.append(drawing.frame(left, y, width / 2, 9))
    parts += [
        drawing.text_element(left, y + 20, "0", "start"),
        drawing.text_element(left + width / 2, y + 20, f"{top:.3g}", "end"),
    ]
    return [*parts, drawing.text_element(left + width / 2 + 6, y + 8, meaning, "start")]


def average_blocks(
    matrix: Floats, answers: Sequence[str], reports: Sequence[str]
) -> tuple[Floats, list[str], list[str]]:
    """Average blocks of neighbouring cells; a block is named by its first entry."""
    rows = np.unique(np.linspace(0, matrix.shape[0], min(matrix.shape[0], MOST_CELLS) + 1).astype(int))
    columns = np.unique(np.linspace(0, matrix.shape[1], min(matrix.shape[1], MOST_CELLS) + 1).astype(int))
    sums = np.add.reduceat(np.add.reduceat(matrix, rows[:-1], axis=0), columns[:-1], axis=1)
    mean = sums / np.diff(rows)[:, None] / np.diff(columns)[None, :]
    return mean, [answers[j] for j in columns[:-1]], [reports[i] for i in rows[:-1]]

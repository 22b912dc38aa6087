"""Pictures as inline SVG: no library, no network, readable in print and with any colour vision.

Lightness alone carries the values of a heatmap; lines differ in dashes and end in their names. Elements are values
and become text once, at the end, where every name is escaped.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import numpy as np

from inbounds.numbers import Floats
from inbounds.report.layout import thinned

WIDE = 360
"""User units across: text of 10 units is readable on a phone, where one unit is about one pixel."""

NUMBERS_UP_TO = 11
MOST_CELLS = 60
"""Larger matrices are averaged into blocks, so that a report stays small."""

MOST_TICKS = 11
LONGEST = 26
"""Characters of a name that are drawn."""

SEAM = 0.3
"""Cells overlap by this much, so that no white line shows between them."""

LIGHT, DARK = (247, 251, 255), (8, 48, 107)
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4", "6 2 1 2 1 2")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa3377", "#8a6d00", "#333333", "#56788f", "#7a3b00")


def heatmap(matrix: Floats, answers: Sequence[str], reports: Sequence[str], top: float, title: str = "") -> str:
    """P[output, answer] with true answers across and reports up; values are written into small matrices."""
    rows, columns = matrix.shape
    if max(rows, columns) > MOST_CELLS:
        return heatmap(*averaged(matrix, answers, reports), top, title)
    left, head = max(44.0, 24 + 6 * max(len(_short(name)) for name in reports)), 24 if title else 6
    plot = WIDE - left - 8
    w, h = plot / columns, min(plot / rows, 26.0) if rows <= NUMBERS_UP_TO else plot / rows
    parts = [_title(left, title)] if title else []
    for i in range(rows):
        y = head + (rows - 1 - i) * h
        parts += _cells(matrix[i], left, y, w, h, top)
        if columns <= NUMBERS_UP_TO:
            parts += [_number(v, left + (j + 0.5) * w, y + h / 2 + 3, top) for j, v in enumerate(matrix[i])]
    bottom = head + rows * h
    parts.append(_frame(left, head, plot, rows * h))
    parts += [_text(left + (j + 0.5) * w, bottom + 13, answers[j], "middle") for j in thinned(columns, MOST_TICKS)]
    parts += [_text(left - 4, bottom - (i + 0.5) * h + 3.5, reports[i], "end") for i in thinned(rows, MOST_TICKS)]
    parts.append(_text(left + plot / 2, bottom + 27, "true answer", "middle"))
    parts.append(_turned(10, head + rows * h / 2, "published"))
    parts += _legend(left, bottom + 38, plot, top)
    return _svg(parts, bottom + 66, title or "probability of every report for every true answer")


def bars(values: Floats, names: Sequence[str], across: str, up: str, marked: Sequence[int] = ()) -> str:
    """One bar per name; the marked ones are dark, not only coloured."""
    left, top, plot, high = 44, 8, WIDE - 52, 150
    peak = _round_peak(float(values.max()))
    w = plot / len(values)
    parts = _axis(left, top, plot, high, peak)
    for k, value in enumerate(values):
        size = high * float(value) / peak
        look = "bar marked" if k in set(marked) else "bar"
        parts.append(_rect(left + (k + 0.08) * w, top + high - size, 0.84 * w, size, {"class": look}))
    parts += [
        _text(left + (k + 0.5) * w, top + high + 14, names[k], "middle") for k in thinned(len(values), MOST_TICKS)
    ]
    parts += [_text(left + plot / 2, top + high + 28, across, "middle"), _turned(10, top + high / 2, up)]
    return _svg(parts, top + high + 36, f"{up}, by {across}")


def lines(curves: Mapping[str, Floats], names: Sequence[str], across: str, up: str) -> str:
    """Curves over the same names, told apart by dashes and colour, with a key below."""
    left, top, plot, high = 44, 8, WIDE - 52, 190
    peak = _round_peak(max(float(curve.max()) for curve in curves.values()))
    x = left + plot * (np.arange(len(names)) + 0.5) / len(names)
    parts = _axis(left, top, plot, high, peak)
    parts += [_polyline(x, top + high * (1 - curve / peak), k) for k, curve in enumerate(curves.values())]
    parts += [_text(float(x[k]), top + high + 14, names[k], "middle") for k in thinned(len(names), MOST_TICKS)]
    parts += [_text(left + plot / 2, top + high + 28, across, "middle"), _turned(10, top + high / 2, up)]
    for k, name in enumerate(curves):
        across_key, down = left + (k % 2) * plot / 2, top + high + 46 + (k // 2) * 15
        parts.append(_line(across_key, across_key + 26, down, _stroke(k)))
        parts.append(_text(across_key + 31, down + 3.5, name, "start"))
    return _svg(parts, top + high + 50 + 15 * ((len(curves) + 1) // 2), f"{up}, by {across}")


def curve(x: Floats, y: Floats, across: str, up: str, title: str = "") -> str:
    """One curve over numbers that rise, each at its place on the axis; y from zero."""
    left, head, plot, high = 44, 24 if title else 8, WIDE - 62, 110
    peak = _round_peak(float(y.max()))
    places = left + plot * (x - x[0]) / (x[-1] - x[0])
    parts = [_title(left, title)] if title else []
    parts += _axis(left, head, plot, high, peak)
    parts.append(_polyline(places, head + high * (1 - y / peak), 0))
    parts += [_text(float(places[k]), head + high + 14, f"{x[k]:g}", "middle") for k in _apart(places)]
    parts += [_text(left + plot / 2, head + high + 28, across, "middle"), _turned(10, head + high / 2, up)]
    return _svg(parts, head + high + 36, f"{title}: {up}, by {across}" if title else f"{up}, by {across}")


def colour(share: float) -> str:
    """Light to dark for 0..1; the square root lets small probabilities be seen."""
    mix = min(1.0, max(0.0, share)) ** 0.5
    return "#" + "".join(f"{round(a + (b - a) * mix):02x}" for a, b in zip(LIGHT, DARK, strict=True))


# --- parts of a picture -----------------------------------------------------------------------------------


def _cells(row: Floats, left: float, y: float, w: float, h: float, top: float) -> list[ET.Element]:
    """Rectangles of one row, equal neighbours drawn as one."""
    fills = [colour(float(value) / top) for value in row]
    parts, start = [], 0
    for j in range(1, len(fills) + 1):
        if j == len(fills) or fills[j] != fills[start]:
            x, width = left + start * w, (j - start) * w
            parts.append(_rect(x, y, width + SEAM, h + SEAM, {"fill": fills[start]}))
            start = j
    return parts


def _number(value: float, x: float, y: float, top: float) -> ET.Element:
    ink = "#fff" if (value / top) ** 0.5 > 0.55 else "#111"
    text = f"{value:.2f}".removeprefix("0")
    return _element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": "n", "style": f"fill:{ink}"}, text)


def _legend(left: float, y: float, width: float, top: float) -> list[ET.Element]:
    steps = 24
    w = width / 2 / steps
    parts = [_rect(left + k * w, y, w + SEAM, 9, {"fill": colour((k + 0.5) / steps)}) for k in range(steps)]
    parts.append(_frame(left, y, width / 2, 9))
    parts += [_text(left, y + 20, "0", "start"), _text(left + width / 2, y + 20, f"{top:.3g}", "end")]
    return [*parts, _text(left + width / 2 + 6, y + 8, "probability of the report", "start")]


def _axis(left: float, top: float, width: float, high: float, peak: float) -> list[ET.Element]:
    parts = []
    for k in range(5):
        y = top + high * (1 - k / 4)
        parts.append(_line(left, left + width, y, {"class": "grid"}))
        parts.append(_text(left - 4, y + 3.5, f"{peak * k / 4:.3g}", "end"))
    return parts


def _round_peak(value: float) -> float:
    """The next of 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8 times a power of ten, so that quarters read well."""
    if not value > 0:
        return 1.0
    scale = 10 ** np.floor(np.log10(value))
    return float(next(s for s in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if s * scale >= value * 0.999999) * scale)


def _apart(places: Floats, room: float = 40.0) -> list[int]:
    """The first, the last, and those between with room for their names."""
    found, last = [0], len(places) - 1
    for k in range(1, last):
        if places[k] - places[found[-1]] >= room and places[last] - places[k] >= room:
            found.append(k)
    return [*found, last]


def averaged(matrix: Floats, answers: Sequence[str], reports: Sequence[str]) -> tuple[Floats, list[str], list[str]]:
    """Blocks of neighbouring cells by their mean, named by their first entry."""
    rows = np.unique(np.linspace(0, matrix.shape[0], min(matrix.shape[0], MOST_CELLS) + 1).astype(int))
    columns = np.unique(np.linspace(0, matrix.shape[1], min(matrix.shape[1], MOST_CELLS) + 1).astype(int))
    sums = np.add.reduceat(np.add.reduceat(matrix, rows[:-1], axis=0), columns[:-1], axis=1)
    mean = sums / np.diff(rows)[:, None] / np.diff(columns)[None, :]
    return mean, [answers[j] for j in columns[:-1]], [reports[i] for i in rows[:-1]]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


# --- elements ---------------------------------------------------------------------------------------------


def _element(tag: str, attributes: Mapping[str, str], text: str | None = None) -> ET.Element:
    made = ET.Element(tag, dict(attributes))
    made.text = text
    return made


def _rect(x: float, y: float, width: float, height: float, look: Mapping[str, str]) -> ET.Element:
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    return _element("rect", {**place, **look})


def _frame(x: float, y: float, width: float, height: float) -> ET.Element:
    return _rect(x, y, width, height, {"class": "frame"})


def _line(left: float, right: float, y: float, look: Mapping[str, str]) -> ET.Element:
    return _element("line", {"x1": f"{left:.1f}", "x2": f"{right:.1f}", "y1": f"{y:.1f}", "y2": f"{y:.1f}", **look})


def _polyline(x: Floats, y: Floats, k: int) -> ET.Element:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return _element("polyline", {"points": points, **_stroke(k)})


def _stroke(k: int) -> dict[str, str]:
    dash = DASHES[k % len(DASHES)]
    dashed = {"stroke-dasharray": dash} if dash else {}
    return {"fill": "none", "stroke": COLOURS[k % len(COLOURS)], "stroke-width": "1.8", **dashed}


def _text(x: float, y: float, text: str, anchor: str) -> ET.Element:
    return _element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}, _short(text))


def _title(x: float, text: str) -> ET.Element:
    return _element("text", {"x": f"{x:.1f}", "y": "14", "class": "t"}, text)


def _turned(x: float, y: float, text: str) -> ET.Element:
    return _element("text", {"transform": f"translate({x},{y:.1f}) rotate(-90)", "text-anchor": "middle"}, text)


def _svg(parts: Sequence[ET.Element], height: float, label: str) -> str:
    whole = _element("svg", {"viewBox": f"0 0 {WIDE} {height:.0f}", "role": "img", "aria-label": label})
    whole.append(_element("style", {}, STYLE))
    whole.extend(parts)
    return ET.tostring(whole, "unicode")


STYLE = (
    "svg text{font:10px system-ui,sans-serif;fill:#222}svg .t{font-size:12px;font-weight:600}"
    "svg .n{font-size:8.5px;text-anchor:middle}svg .frame{fill:none;stroke:#555;stroke-width:.6}"
    "svg .grid{stroke:#ccc;stroke-width:.6}svg .bar{fill:#9db8cf;stroke:#08306b;stroke-width:.5}"
    "svg .bar.marked{fill:#08306b}"
)
"""Each picture carries its style, so that it also shows in a notebook."""

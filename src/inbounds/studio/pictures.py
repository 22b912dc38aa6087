"""Pictures that answer to the reader: rows of a heatmap lead to what a published value means.

Colour comes from the page's style, so that one picture serves light and dark: a cell has a class, and only how much of
the colour it shows is its own. Values never stand in a style, which the page's policy forbids.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from inbounds.numbers import Floats
from inbounds.report.layout import thinned
from inbounds.report.svg import MOST_CELLS, averaged

WIDE = 400
"""User units across."""

MOST_TICKS = 11
NUMBERS_UP_TO = 9
"""Answers up to which the cells hold their probability."""


def heatmap(matrix: Floats, answers: Sequence[str], reports: Sequence[str], links: Sequence[str], chosen: int) -> str:
    """P[output, answer], true answers across and reports up. links: where each report leads; chosen: the marked one."""
    rows, columns = matrix.shape
    if max(rows, columns) > MOST_CELLS:
        small, names, named = averaged(matrix, answers, reports)
        place = [reports.index(name) for name in named]
        mark = max((k for k, own in enumerate(place) if own <= chosen), default=0)
        return heatmap(small, names, named, [links[k] for k in place], mark)
    left = max(40.0, 26 + 6.2 * min(max(map(len, reports)), 14))
    plot, top = WIDE - left - 6, float(matrix.max())
    w, h = plot / columns, min(plot / rows, 34.0)
    whole = _svg(rows * h + 44, "Probability of every published value (up) for every true answer (across)")
    for i in range(rows):
        y = 4 + (rows - 1 - i) * h
        row = _row(matrix[i], (left, y, w, h), top, links[i], f"published {reports[i]}", i == chosen)
        if columns <= NUMBERS_UP_TO:
            row.extend(_numbers(matrix[i], (left, y, w, h), top))
        whole.append(row)
    bottom = 4 + rows * h
    whole.append(_rect(left, 4, plot, rows * h, {"class": "frame"}))
    for j in thinned(columns, MOST_TICKS):
        whole.append(_text(left + (j + 0.5) * w, bottom + 13, answers[j], "middle"))
    for i in thinned(rows, MOST_TICKS):
        whole.append(_text(left - 4, bottom - (i + 0.5) * h + 3.5, reports[i], "end"))
    whole.append(_text(left + plot / 2, bottom + 29, "true answer", "middle"))
    turned = {"transform": f"translate(10,{4 + rows * h / 2:.1f}) rotate(-90)", "text-anchor": "middle"}
    whole.append(_element("text", turned, "published"))
    return ET.tostring(whole, "unicode")


Box = tuple[float, float, float, float]


def _row(values: Floats, box: Box, top: float, link: str, name: str, chosen: bool) -> ET.Element:
    """One report: a link with its cells; its name is for those who hear the page."""
    left, y, w, h = box
    row = _element("a", {"href": link, "class": "report chosen" if chosen else "report", "tabindex": "-1"})
    row.append(_element("title", {}, f"{name}: what it means"))
    for j, value in enumerate(values.tolist()):
        shade = {"class": "heat", "fill-opacity": f"{max(0.0, value / top) ** 0.5:.3f}"}
        row.append(_rect(left + j * w, y, w + 0.3, h + 0.3, shade))
    row.append(_rect(left, y, w * len(values), h, {"class": "edge"}))
    return row


def _numbers(values: Floats, box: Box, top: float) -> list[ET.Element]:
    left, y, w, h = box
    looks = ["number strong" if (value / top) ** 0.5 > 0.6 else "number" for value in values.tolist()]
    texts = [f"{value:.2f}".removeprefix("0") for value in values.tolist()]
    return [
        _element("text", {"x": f"{left + (j + 0.5) * w:.1f}", "y": f"{y + h / 2 + 3.5:.1f}", "class": look}, text)
        for j, (look, text) in enumerate(zip(looks, texts, strict=True))
    ]


def _svg(height: float, label: str, role: str = "group") -> ET.Element:
    return _element("svg", {"viewBox": f"0 0 {WIDE} {height:.0f}", "role": role, "aria-label": label})


def _rect(x: float, y: float, width: float, height: float, look: Mapping[str, str]) -> ET.Element:
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    return _element("rect", {**place, **look})


def _text(x: float, y: float, text: str, anchor: str, longest: int = 14) -> ET.Element:
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return _element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}, short)


def _element(tag: str, attributes: Mapping[str, str], text: str | None = None) -> ET.Element:
    made = ET.Element(tag, dict(attributes))
    made.text = text
    return made


# --- dots and intervals -----------------------------------------------------------------------------------

LINE = 18.0
LONGEST = 22
"""Units between groups, and characters of a group's name that are drawn."""


def intervals(rows: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """A dot for each report and a line for its interval, one group a line. rows: name, report, low, high."""
    left = 12 + 5.6 * min(max(len(row[0]) for row in rows), LONGEST)
    low, high = min(0.0, *(row[2] for row in rows)), max(row[3] for row in rows)
    span, plot, bottom = (high - low) or 1.0, WIDE - left - 16, 8 + LINE * len(rows)

    def across(value: float) -> float:
        return left + plot * (value - low) / span

    whole = _svg(bottom + 20, f"{title}: reports and their intervals, by group", "img")
    for k in range(5):
        value = low + span * k / 4
        whole.append(_stroke("grid", across(value), across(value), 4, bottom))
        whole.append(_text(across(value), bottom + 14, f"{value:.4g}", "middle"))
    for k, (name, report, first, last) in enumerate(rows):
        y = 8 + LINE * (k + 0.5)
        whole.append(_text(left - 6, y + 3.5, name, "end", LONGEST))
        whole.append(_stroke("span", across(first), across(last), y, y))
        dot = {"cx": f"{across(report):.1f}", "cy": f"{y:.1f}", "r": "4", "class": "dot"}
        whole.append(_element("circle", dot))
        whole[-1].append(_element("title", {}, f"{name}: {report:g}, from {first:g} to {last:g}"))
    return ET.tostring(whole, "unicode")


def _stroke(look: str, x1: float, x2: float, y1: float, y2: float) -> ET.Element:
    place = {"x1": f"{x1:.1f}", "x2": f"{x2:.1f}", "y1": f"{y1:.1f}", "y2": f"{y2:.1f}"}
    return _element("line", {"class": look, **place})

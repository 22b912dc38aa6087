"""Pictures with links: the rows of a heatmap lead to what a published value means.

Colour comes from the page's style, so one picture serves light and dark pages: a cell has a class and an opacity.
Inline styles are not used, because the page's policy forbids them.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from inbounds.exact import Floats
from inbounds.report import drawing
from inbounds.report.svg import MOST_CELLS, average_blocks
from inbounds.report.templates import pick_evenly

MOST_TICKS = 11
NUMBERS_UP_TO = 9
"""Answers up to which the cells hold their probability."""


def heatmap(matrix: Floats, answers: Sequence[str], reports: Sequence[str], links: Sequence[str], chosen: int) -> str:
    """Draw P[output, answer], with true answers across and outputs up. links: where each output leads. chosen: the
    marked one.
    """
    rows, columns = matrix.shape
    if max(rows, columns) > MOST_CELLS:
        small, names, named = average_blocks(matrix, answers, reports)
        place = [reports.index(name) for name in named]
        mark = max((k for k, position in enumerate(place) if position <= chosen), default=0)
        return heatmap(small, names, named, [links[k] for k in place], mark)
    left = max(40.0, 26 + 6.2 * min(max(map(len, reports)), 14))
    plot, top = drawing.WIDE - left - 6, float(matrix.max())
    w, h = plot / columns, min(plot / rows, 34.0)
    title = "Probability of every published value (up) for every true answer (across)"
    size = f"0 0 {drawing.WIDE} {rows * h + 44:.0f}"
    whole = drawing.element("svg", {"viewBox": size, "role": "group", "aria-label": title})
    for i in range(rows):
        y = 4 + (rows - 1 - i) * h
        row = _row(matrix[i], (left, y, w, h), top, links[i], f"published {reports[i]}", i == chosen)
        if columns <= NUMBERS_UP_TO:
            row.extend(_numbers(matrix[i], (left, y, w, h), top))
        whole.append(row)
    bottom = 4 + rows * h
    whole.append(drawing.frame(left, 4, plot, rows * h))
    for j in pick_evenly(columns, MOST_TICKS):
        whole.append(drawing.text_element(left + (j + 0.5) * w, bottom + 13, answers[j], "middle"))
    for i in pick_evenly(rows, MOST_TICKS):
        whole.append(drawing.text_element(left - 4, bottom - (i + 0.5) * h + 3.5, reports[i], "end"))
    whole.append(drawing.text_element(left + plot / 2, bottom + 29, "true answer", "middle"))
    whole.append(drawing.rotate_text(10, 4 + rows * h / 2, "published"))
    return ET.tostring(whole, "unicode")


Box = tuple[float, float, float, float]


def _row(values: Floats, box: Box, top: float, link: str, name: str, chosen: bool) -> ET.Element:
    """Draw one output: a link with its cells, and a name for screen readers."""
    left, y, w, h = box
    row = drawing.element("a", {"href": link, "class": "report chosen" if chosen else "report", "tabindex": "-1"})
    row.append(drawing.element("title", {}, f"{name}: what it means"))
    for j, value in enumerate(values.tolist()):
        shade = {"class": "heat", "fill-opacity": f"{max(0.0, value / top) ** 0.5:.3f}"}
        row.append(drawing.rect(left + j * w, y, w + 0.3, h + 0.3, shade))
    row.append(drawing.rect(left, y, w * len(values), h, {"class": "edge"}))
    return row


def _numbers(values: Floats, box: Box, top: float) -> list[ET.Element]:
    left, y, w, h = box
    looks = ["number strong" if (value / top) ** 0.5 > 0.6 else "number" for value in values.tolist()]
    texts = [f"{value:.2f}".removeprefix("0") for value in values.tolist()]
    return [
        drawing.element(
            "text", {"x": f"{left + (j + 0.5) * w:.1f}", "y": f"{y + h / 2 + 3.5:.1f}", "class": look}, text
        )
        for j, (look, text) in enumerate(zip(looks, texts, strict=True))
    ]

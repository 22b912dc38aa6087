"""Elements of SVG pictures. They become text once, at the end, where every name is escaped.

Colours are CSS variables with defaults: a dark page overrides them, a notebook need not.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import numpy as np

from inbounds.exact import Floats

WIDE = 360
"""Width in user units: text of 10 units is readable on a phone, where one unit is about one pixel."""

LONGEST = 26
"""The most characters of a name that are drawn."""

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4", "6 2 1 2 1 2")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa3377", "#8a6d00", "#333333", "#56788f", "#7a3b00")


def axis(left: float, top: float, width: float, high: float, peak: float) -> list[ET.Element]:
    parts = []
    for k in range(5):
        y = top + high * (1 - k / 4)
        parts.append(line(left, left + width, y, {"class": "grid"}))
        parts.append(text_element(left - 4, y + 3.5, f"{peak * k / 4:.3g}", "end"))
    return parts


def round_peak(value: float) -> float:
    """Return the next of 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8 times a power of ten, so that quarters are round numbers."""
    if not value > 0:
        return 1.0
    scale = 10 ** np.floor(np.log10(value))
    return float(next(s for s in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if s * scale >= value * 0.999999) * scale)


def spread_labels(places: Floats, room: float = 40.0) -> list[int]:
    """Return the positions of labels that have room: the first, the last, and some between."""
    picked, last = [0], len(places) - 1
    for k in range(1, last):
        if places[k] - places[picked[-1]] >= room and places[last] - places[k] >= room:
            picked.append(k)
    return [*picked, last]


def shorten(name: str, longest: int = LONGEST) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def legend(names: Sequence[str], left: float, width: float, top: float) -> list[ET.Element]:
    """Draw the names of curves beside a sample of each, in two columns."""
    parts = []
    for k, name in enumerate(names):
        x, y = left + (k % 2) * width / 2, top + (k // 2) * 15
        parts += [line(x, x + 26, y, stroke(k)), text_element(x + 31, y + 3.5, name, "start")]
    return parts


def element(tag: str, attributes: Mapping[str, str], text: str | None = None) -> ET.Element:
    node = ET.Element(tag, dict(attributes))
    node.text = text
    return node


def rect(x: float, y: float, width: float, height: float, look: Mapping[str, str]) -> ET.Element:
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    return element("rect", {**place, **look})


def frame(x: float, y: float, width: float, height: float) -> ET.Element:
    return rect(x, y, width, height, {"class": "frame"})


def line(left: float, right: float, y: float, look: Mapping[str, str]) -> ET.Element:
    return element("line", {"x1": f"{left:.1f}", "x2": f"{right:.1f}", "y1": f"{y:.1f}", "y2": f"{y:.1f}", **look})


def polyline(x: Floats, y: Floats, k: int) -> ET.Element:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return element("polyline", {"points": points, **stroke(k)})


def stroke(k: int) -> dict[str, str]:
    dash = DASHES[k % len(DASHES)]
    dashed = {"stroke-dasharray": dash} if dash else {}
    return {"class": f"curve c{k % len(COLOURS)}", **dashed}


def text_element(x: float, y: float, text: str, anchor: str) -> ET.Element:
    return element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}, shorten(text))


def title(x: float, text: str) -> ET.Element:
    return element("text", {"x": f"{x:.1f}", "y": "14", "class": "t"}, text)


def rotate_text(x: float, y: float, text: str) -> ET.Element:
    return element("text", {"transform": f"translate({x},{y:.1f}) rotate(-90)", "text-anchor": "middle"}, text)


def picture(parts: Sequence[ET.Element], height: float, label: str, description: str = "") -> str:
    """Return the SVG text of a picture. label: its name; description: its content, for people who cannot see it."""
    root = element("svg", {"viewBox": f"0 0 {WIDE} {height:.0f}", "role": "img", "aria-label": label})
    root.append(element("title", {}, label))
    if description:
        root.append(element("desc", {}, description))
    root.append(element("style", {}, STYLE))
    root.extend(parts)
    return ET.tostring(root, "unicode")


STYLE = (
    "svg text{font:10px system-ui,sans-serif;fill:var(--ink,#222)}svg .t{font-size:12px;font-weight:600}"
    "svg .n{font-size:8.5px;text-anchor:middle}svg .frame{fill:none;stroke:var(--axis,#555);stroke-width:.6}"
    "svg .grid{stroke:var(--grid,#ccc);stroke-width:.6}"
    "svg .bar{fill:var(--bar,#9db8cf);stroke:var(--edge,#08306b);stroke-width:.5}"
    "svg .bar.marked{fill:var(--edge,#08306b)}"
    "svg .span{stroke:var(--span,#08306b);stroke-width:1.6}svg .band{fill:var(--bar,#9db8cf);stroke:none}"
    "svg .dot{fill:var(--dot,#d55e00);stroke:var(--paper,#fff);stroke-width:.8}svg .floor{stroke:var(--axis,#555);"
    "stroke-width:1;stroke-dasharray:1 2}svg .curve{fill:none;stroke-width:1.8}"
) + "".join(f"svg .c{k}{{stroke:var(--c{k},{colour})}}" for k, colour in enumerate(COLOURS))
"""The style that each picture contains, so that it also works in a notebook."""

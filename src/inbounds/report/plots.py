"""SVG plots of results: dots with intervals or bands, and curves over numbers, on linear or logarithmic axes."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from inbounds.exact import Floats
from inbounds.report import drawing

MOST_ROWS = 40
"""The most rows of one plot; of more, the caller selects some."""

Points = tuple[Floats, Floats]
"""The points of a curve: horizontal and vertical coordinates."""


class Interval(NamedTuple):
    """A row of a plot: a value, and the range in which the truth may lie."""

    name: str
    low: float
    value: float
    high: float


def plot_intervals(
    rows: Sequence[Interval], across: str, title: str = "", *, look: str = "span", left: float = 96
) -> str:
    """Draw a dot for every row's value on a line (look span) or a band (look band) from low to high."""
    head, step, plot = 24.0 if title else 8.0, 15.0, drawing.WIDE - left - 14
    ticks = round_ticks(min(row.low for row in rows), max(row.high for row in rows))
    first, reach = ticks[0], ticks[-1] - ticks[0]
    bottom = head + step * len(rows)

    def x(value: float) -> float:
        return left + plot * (value - first) / reach

    parts = [drawing.title(left, title)] if title else []
    for tick in ticks:
        parts.append(_upright(x(tick), head, bottom))
        parts.append(drawing.text_element(x(tick), bottom + 13, f"{tick:g}", "middle"))
    for k, row in enumerate(rows):
        y = head + (k + 0.5) * step
        parts += [_reach(x(row.low), x(row.high), y, look), _dot(x(row.value), y)]
        parts.append(drawing.text_element(left - 6, y + 3.5, drawing.shorten(row.name, NAME_ROOM), "end"))
    parts.append(drawing.text_element(left + plot / 2, bottom + 27, across, "middle"))
    description = "; ".join(f"{row.name}: {row.value:g}, from {row.low:g} to {row.high:g}" for row in rows[:MOST_ROWS])
    return drawing.picture(parts, bottom + 34, f"{title}: {across}" if title else across, description)


def plot_curves(
    series: Mapping[str, Points],
    across: str,
    up: str,
    *,
    logarithmic: bool = False,
    floor: tuple[float, str] | None = None,
) -> str:
    """Draw curves over numbers that differ in dashes and colour, with a legend below.

    floor: a value that no curve goes below, and its name.
    """
    left, top, plot, high = 44.0, 8.0, drawing.WIDE - 62.0, 190.0
    scale = _logarithmic if logarithmic else _format_ticks
    widths, heights = (np.concatenate([points[k] for points in series.values()]) for k in (0, 1))
    floor_levels = [] if floor is None or (logarithmic and not floor[0] > 0) else [floor[0]]
    x, xticks = scale(widths, left, plot)
    y, yticks = scale(np.array([*heights, *floor_levels, *([] if logarithmic else [0.0])]), top + high, -high)
    parts = [drawing.line(left, left + plot, float(y(tick)), {"class": "grid"}) for tick in yticks]
    parts += [drawing.text_element(left - 4, float(y(tick)) + 3.5, f"{tick:g}", "end") for tick in yticks]
    parts += [drawing.text_element(float(x(tick)), top + high + 14, f"{tick:g}", "middle") for tick in xticks]
    parts += [drawing.line(left, left + plot, float(y(level)), {"class": "floor"}) for level in floor_levels]
    if floor_levels and floor is not None:
        parts.append(drawing.text_element(left + plot, float(y(floor[0])) - 3, floor[1], "end"))
    for k, (across_values, up_values) in enumerate(series.values()):
        parts.append(drawing.polyline(np.asarray(x(across_values)), np.asarray(y(up_values)), k))
    parts += [
        drawing.text_element(left + plot / 2, top + high + 28, across, "middle"),
        drawing.rotate_text(10, top + high / 2, up),
    ]
    parts += drawing.legend(list(series), left, plot, top + high + 46)
    ends = "; ".join(f"{name} ends at {points[1][-1]:.4g}" for name, points in series.items())
    return drawing.picture(parts, top + high + 50 + 15 * ((len(series) + 1) // 2), f"{up}, by {across}", ends)


# --- scales -----------------------------------------------------------------------------------------------

LEAST_SPAN = 1e-9
"""The least span of an axis, as a share of the size of the numbers."""

NAME_ROOM = 15
"""The most characters of a row's name."""


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from at or below `low` to at or above `high`, about `most` of them at most.

    >>> round_ticks(0.3, 19)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    span = max(high - low, LEAST_SPAN * max(1.0, abs(low), abs(high)))
    rough = span / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= rough * 0.999999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, max(last, first + 1) + 1)]


def _format_ticks(values: Floats, start: float, length: float) -> tuple["AxisScale", list[float]]:
    ticks = round_ticks(float(values.min()), float(values.max()))
    return AxisScale(start, length, ticks[0], ticks[-1], logarithmic=False), ticks


def _logarithmic(values: Floats, start: float, length: float) -> tuple["AxisScale", list[float]]:
    """Return an axis from the least positive value to the largest; ticks at powers of ten, and between them if few."""
    positive = values[values > 0]
    low, high = float(positive.min()), float(positive.max())
    steps = (1,) if high / low > 10**3 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [s * 10.0**p for p in powers for s in steps]
    first = max([tick for tick in ticks if tick <= low * 1.000001], default=low)
    last = min([tick for tick in ticks if tick >= high * 0.999999], default=high)
    last = last if last > first else first * 10
    return AxisScale(start, length, first, last, logarithmic=True), [tick for tick in ticks if first <= tick <= last]


class AxisScale:
    """A map from numbers to positions: low is at start, high at start + length; values below low are drawn at low."""

    def __init__(self, start: float, length: float, low: float, high: float, *, logarithmic: bool) -> None:
        self._start, self._length, self._log = start, length, logarithmic
        self._low, self._high = (math.log10(low), math.log10(high)) if logarithmic else (low, high)
        self._least = low

    def __call__(self, value: Floats | float) -> Floats:
        raised = np.maximum(np.asarray(value, dtype=np.float64), self._least)
        position = np.log10(raised) if self._log else raised
        return np.asarray(self._start + self._length * (position - self._low) / (self._high - self._low))


# --- parts ------------------------------------------------------------------------------------------------


def _upright(x: float, top: float, bottom: float) -> ET.Element:
    place = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": f"{top:.1f}", "y2": f"{bottom:.1f}"}
    return drawing.element("line", {**place, "class": "grid"})


def _reach(low: float, high: float, y: float, look: str) -> ET.Element:
    if look == "band":
        return drawing.rect(low - 2, y - 4.5, high - low + 4, 9, {"class": "band"})
    return drawing.line(low, high, y, {"class": "span"})


def _dot(x: float, y: float) -> ET.Element:
    return drawing.element("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3.2", "class": "dot"})

"""Plots of results: every value is where it belongs, every picture says what it shows, whatever the numbers are."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inbounds as ib
from inbounds.attack import repeated
from inbounds.releases.pipeline import release
from inbounds.releases.report import page
from inbounds.report.plots import Interval, plot_curves, plot_intervals, round_ticks
from inbounds.report.result_pages import attack_page, composition_page, distribution_page

SVG = "{http://www.w3.org/2000/svg}"
numbers = st.floats(-1e6, 1e6)


def drawn(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    assert root.find("title").text
    return root


@given(numbers, numbers)
def test_ticks_are_few_and_hold_both_ends(a, b):
    low, high = sorted((a, b))
    ticks = round_ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))


def test_dots_and_lines_keep_the_order_of_their_numbers():
    rows = [Interval("a", 0, 1, 3), Interval("b & <c>", 2, 4, 10), Interval("d", -5, -5, -5)]
    root = drawn(plot_intervals(rows, "how many", "A title"))
    dots = [float(dot.get("cx")) for dot in root.iter("circle")]
    spans = [
        (float(line.get("x1")), float(line.get("x2"))) for line in root.iter("line") if line.get("class") == "span"
    ]
    assert dots[2] < dots[0] < dots[1]
    assert all(low <= dot <= high for dot, (low, high) in zip(dots, spans, strict=True))
    assert root.find("desc").text.startswith("a: 1, from 0 to 3; b & <c>: 4")
    assert max(dots) <= 360


def test_bands_are_as_wide_as_what_they_stand_for():
    root = drawn(plot_intervals([Interval("1", 0, 1, 2), Interval("2", 0, 2, 4)], "true answer", look="band"))
    widths = [float(band.get("width")) - 4 for band in root.iter("rect") if band.get("class") == "band"]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.05)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_curves_fall_where_their_numbers_fall(logarithmic):
    x, y = np.array([1.0, 10.0, 100.0]), np.array([4.0, 2.0, 1.0])
    floor = (0.5, "never below")
    root = drawn(
        plot_curves({"one": (x, y), "two": (x, y / 2)}, "answers", "loss", logarithmic=logarithmic, floor=floor)
    )
    lines = [
        [tuple(map(float, pair.split(","))) for pair in line.get("points").split()] for line in root.iter("polyline")
    ]
    assert all(a[1] < b[1] for line in lines for a, b in pairwise(line))
    assert all(one[1] < two[1] for one, two in zip(*lines, strict=True))
    assert "never below" in {text.text for text in root.iter("text")}
    if logarithmic:
        (a, b, c), _ = lines
        assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2)


def test_zeros_are_at_the_foot_of_a_logarithmic_axis():
    x = np.array([1.0, 2.0])
    root = drawn(
        plot_curves({"one": (x, np.array([1.0, 0.0]))}, "answers", "loss", logarithmic=True, floor=(0.0, "none"))
    )
    (line,) = root.iter("polyline")
    assert "nan" not in line.get("points")
    assert "inf" not in line.get("points")


def pictures(text: str) -> int:
    return text.count("<svg ")


def test_attacks_compositions_and_distributions_have_pages_with_a_picture_and_their_numbers():
    m = ib.catalog.truncated_geometric(ib.count(4), 1)
    rows = repeated.simulate_collusion(
        m, [1, 2, 3], ib.losses.NAMED["absolute"], None, runs=50, rng=np.random.default_rng(1)
    )
    attacked = attack_page(rows, "An <attack>", floor=0.1, approximated={1: 1.0, 2: 0.5})
    assert f"{rows[2].loss['guess']:.4g}" in attacked
    assert "An &lt;attack&gt;" in attacked
    composed = composition_page([ib.compose(m, k) for k in (1, 2, 3)], ["1/1000"], "Three")
    assert "delta 0.001" in composed
    shared = distribution_page(["a", "<b>"], np.array([0.25, 0.75]), "Shares", ["An estimate."])
    assert "75.00 %" in shared
    assert "&lt;b&gt;" in shared
    assert [pictures(text) for text in (attacked, composed, shared)] == [1, 1, 1]
    assert all("default-src 'none'" in text for text in (attacked, composed, shared))


def test_a_release_shows_every_column_of_numbers_as_dots_and_its_totals():
    data = pa.table({"g": ["a", "a", "b", "b"], "x": [1, 2, 3, 3], "l": ["u", "v", "v", "v"]})
    plan = {
        "groups": {"by": ["g"], "keys": ["a", "b"], "size": 2},
        "columns": {"x": {"low": 0, "high": 3}, "l": {"labels": ["u", "v"]}},
        "statistics": [
            {"mean": "x"},
            {"histogram": "l", "mechanism": "truncated_geometric"},
            {"count": "x > 1", "mechanism": "truncated_geometric"},
            {"mode": "l"},
        ],
        "privacy": {"epsilon": 8},
    }
    made = release(plan, data)
    text = page(made.record, made.table)
    plain = text.replace("&#39;", "'")
    assert plain.count('class="dot"') == 2 * 4 + 3  # groups × columns of numbers, and the totals that can be read
    assert "total ± 2 standard errors" in plain

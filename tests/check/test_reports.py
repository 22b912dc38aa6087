"""Reports in a real Chromium: every picture fits the screen, and is readable in both lights."""

import numpy as np
import pytest

import inbounds as ib
from check.test_page import contrast
from inbounds.report import html
from inbounds.report.plots import plot_curves
from inbounds.report.result_pages import distribution_page

pytestmark = pytest.mark.browser

NAMES = ["<b>", "a label that is much too long to be written out anywhere", *map(str, range(40))]
REPORTS = {
    "mechanism": lambda: html.mechanism_page(ib.optimal(ib.count(6), "1/2")),
    "comparison": lambda: html.mechanism_page(ib.compare(ib.count(4), 1)),
    "distribution": lambda: distribution_page(NAMES, np.full(42, 1 / 42), "Shares", ["An estimate."]),
}
SHADES = """() => [...document.querySelectorAll("svg text:not(.n)")].map(one => getComputedStyle(one).fill)"""


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_report_fits_the_screen_and_its_pictures_are_readable(browser, name, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.set_content(REPORTS[name]())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    shades = set(page.evaluate(SHADES))
    assert shades
    assert all(contrast(ink, paper) > 4.5 for ink in shades)
    strokes = set(page.evaluate("() => [...document.querySelectorAll('.curve')].map(e => getComputedStyle(e).stroke)"))
    assert all(contrast(stroke, paper) > 3 for stroke in strokes)
    assert said == []
    context.close()


def test_all_colours_of_curves_can_be_told_from_the_paper_in_both_lights(browser):
    x = np.array([1.0, 2.0])
    drawn = plot_curves({f"curve {k}": (x, x * k) for k in range(1, 9)}, "across", "up")
    whole = html.mechanism_page(ib.catalog.truncated_geometric(ib.count(5), "1/3")).replace(
        "</main>", f"{drawn}</main>"
    )
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.set_content(whole)
        strokes = page.evaluate("() => [...document.querySelectorAll('.curve')].map(e => getComputedStyle(e).stroke)")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert len(set(strokes)) == 8
        assert all(contrast(stroke, paper) > 3 for stroke in strokes)
        page.close()

"""The studio in a real Chromium: every page, on a desk and a phone, in light and dark, and the way through it."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = [pytest.mark.slow, pytest.mark.browser]


class Visitor:
    """Somebody at a screen, who notices what the page complains about."""

    def __init__(self, browser: Any, served: Any, width: int, scheme: str, script: bool = True) -> None:
        self.address, self.complaints = served.address, []
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=script,
            accept_downloads=True,
        )
        host = served.address.removeprefix("http://").partition(":")[0]
        self.context.add_cookies(
            [{"name": served.guard.cookie, "value": served.guard.secret, "domain": host, "path": "/"}]
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(90_000)
        expect.set_options(timeout=90_000)
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def go(self, path: str) -> Any:
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def settled(self) -> None:
        """Until nothing is being asked or computed any more."""
        expect(self.page.locator("[aria-busy], .working, [data-ask]:not(:has(figure, table, .refused))")).to_have_count(
            0
        )

    def check(self) -> None:
        """No complaint, and nothing wider than the screen."""
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{self.page.url} is {wide} px too wide"
        assert self.complaints == []


@pytest.fixture(scope="module")
def visit(browser: Any, served: Any) -> Iterator[Any]:
    visitors: list[Visitor] = []

    def made(width: int = 1280, scheme: str = "light", script: bool = True) -> Visitor:
        visitors.append(Visitor(browser, served, width, scheme, script))
        return visitors[-1]

    yield made
    for visitor in visitors:
        visitor.context.close()


PAGES = (
    "/",
    "/explore",
    "/plan",
    "/plan/edit?source=survey.csv",
    "/release",
    "/check",
    "/check/file",
    "/budget",
    "/ask",
)
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

LOOKED_AT_CLOSELY = [(1280, "light"), (390, "dark")]
"""Every width and every scheme once."""


def test_an_officer_goes_from_the_first_page_to_a_released_table_and_its_check(visit: Any, served: Any) -> None:
    visitor = visit()
    page = visitor.go("/")
    page.get_by_role("link", name="Plan a release").click()
    page.get_by_role("link", name="survey.csv").click()
    page.locator("[name='column.0.keys']").fill("North\nSouth\nEast\nWest")
    page.locator("[name=sizes]").select_option("size")
    page.locator("[name=size]").fill("100")
    page.locator("[name='column.1.use']").select_option("labels")
    page.locator("[name='column.1.labels']").fill("yes, no, unsure")
    page.locator("[name='statistic.0.count.condition']").fill("answer = 'yes'")
    page.locator("[name=epsilon]").fill("2")
    expected = page.locator("#expected")
    expected.get_by_text("would be spent").wait_for()
    visitor.settled()
    assert "100" in expected.inner_text()
    page.locator("[name=wish_size]").fill("100")
    page.locator("[name=wish_error]").fill("2")
    expected.get_by_text("is enough for count").wait_for()
    visitor.check()
    page.get_by_role("button", name="Save and go to the release").click()
    page.get_by_role("heading", name="Dry run").wait_for()
    visitor.check()
    assert (served.folder / "survey.toml").exists()
    assert not (served.folder / "survey.released.csv").exists()
    page.get_by_role("checkbox", name="Spend epsilon 2").check()
    page.get_by_role("button", name="Release, once").click()
    page.get_by_role("heading", name="All groups", exact=True).wait_for()
    visitor.check()
    assert (served.folder / "survey.released.csv").exists()
    with page.expect_download() as download:
        page.get_by_role("link", name="passport", exact=False).click()
    assert download.value.suggested_filename == "survey.released.passports.zip"
    page.get_by_role("link", name="Check it").click()
    page.wait_for_load_state("networkidle")
    assert "survey.released.csv.release.json" in page.content()
    visitor.check()


def test_an_analyst_previews_and_asks(visit: Any) -> None:
    visitor = visit(390)
    page = visitor.go("/")
    page.get_by_role("link", name="Ask a curator").click()
    page.locator("[name='statistic.count.condition']").fill("age > 12")
    page.locator("[name=by][value=school]").check()
    page.locator("#preview").get_by_text("A new draw").wait_for()
    visitor.check()
    page.get_by_role("checkbox", name="Charge what the preview says").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="count of age > 12").wait_for()
    assert "North" in page.get_by_role("table").inner_text()
    visitor.check()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_every_page_fits_and_keeps_the_rules_of_accessibility(visit: Any, served: Any, width: int, scheme: str) -> None:
    visitor, released = visit(width, scheme), ("/release?plan=survey.toml", "/plan/edit?plan=survey.toml")
    pinned = "/explore?kind=mean&size=6&low=1&high=5&epsilon=1&a=kind%3Dcount%26size%3D8%26epsilon%3D2"
    there = [path for path in released if (served.folder / "survey.toml").exists()]
    assert there, "the officer's test comes first"
    for path in (*PAGES, "/check/file", *there, pinned):
        page = visitor.go(path)
        visitor.settled()
        visitor.check()
        found = violations(page) if (width, scheme) in LOOKED_AT_CLOSELY else []
        assert found == [], f"{path}: {found}"


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong, each with the first element it is about."""
    found = Axe().run(page).response["violations"]
    return [
        f"{own['id']}: {own['nodes'][0]['html'][:200]} {own['nodes'][0].get('failureSummary', '')}" for own in found
    ]


def test_the_rules_of_accessibility_can_be_broken(visit: Any) -> None:
    page = visit().go("/")
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<input>')")
    assert [own for own in violations(page) if own.startswith("label")]


def test_a_researcher_moves_reads_pins_and_copies(visit: Any) -> None:
    visitor = visit()
    page = visitor.go("/")
    page.get_by_role("link", name="Explore a mechanism").click()
    visitor.settled()
    page.locator("[data-with=size]").fill("12")
    page.get_by_role("heading", name="Count with 13 possible answers").wait_for()
    assert "size=12" in page.url
    page.locator("[name=require][value=fair]").check()
    page.wait_for_url("**require=fair**")
    page.locator("a.report").nth(3).hover()
    page.locator("#reading").get_by_text("published 3 →").wait_for()
    visitor.settled()
    page.get_by_role("link", name="Pin as A").click()
    page.locator("[name=epsilon]").fill("1")
    page.wait_for_url("**epsilon=1&**")
    visitor.settled()
    assert page.get_by_label("A, pinned").get_by_text("epsilon 0.5").count() == 1
    assert page.get_by_label("B, now").get_by_text("epsilon 1").count() == 1
    assert "m = ib.optimal(query, \"1\", properties=['fair'])" in page.locator("pre").first.inner_text()
    page.reload()
    visitor.settled()
    assert page.locator("[name=size]").input_value() == "12"
    visitor.check()


def test_a_long_design_is_watched_and_cancelled(visit: Any) -> None:
    visitor = visit()
    page = visitor.go("/explore?kind=total&size=60&low=0&high=6&epsilon=0.3&aim=worst&require=row_monotone")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopped.").wait_for()
    page.goto(f"{visitor.address}/explore?kind=count&size=5&epsilon=1")
    page.get_by_role("heading", name="Count with 6 possible answers").wait_for()
    visitor.check()


def test_pages_are_read_and_used_without_the_script(visit: Any) -> None:
    visitor = visit(script=False)
    page = visitor.go("/explore?kind=count&size=6&epsilon=1")
    assert page.get_by_role("heading", name="Count with 7 possible answers").count() == 1
    page.locator("[name=size]").fill("4")
    page.get_by_role("button", name="Show").click()
    assert page.get_by_role("heading", name="Count with 5 possible answers").count() == 1
    page.locator(".part a", has_text="Compute this").nth(1).click()
    assert page.get_by_text("weakly honest").count() > 0
    page = visitor.go("/plan/edit?source=survey.csv")
    page.get_by_role("button", name="Add a statistic").click()
    assert page.locator("fieldset.statistic").count() == 2
    page.get_by_role("button", name="Look").and_(page.locator(":visible")).click()
    assert page.get_by_text("Still to do").count() == 1
    visitor.check()


def test_every_control_is_reached_and_seen_by_keyboard(visit: Any) -> None:
    visitor = visit()
    page = visitor.go("/explore?kind=count&size=6&epsilon=1")
    visitor.settled()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("""() => {
            const at = document.activeElement, look = getComputedStyle(at);
            const name = at.name || at.textContent.trim().slice(0, 30);
            return [at.tagName, name, look.outlineStyle, parseFloat(look.outlineWidth)];
        }""")
        )
        if seen[-1][1] == "Copy":
            break
    assert seen[0][1] == "Skip to the page"
    names = [name for _, name, *_ in seen]
    for wanted in ("kind", "size", "epsilon", "loss", "require", "mechanism", "read", "Copy"):
        assert wanted in names, wanted
    assert all(style != "none" and width >= 2 for _, _, style, width in seen[1:])

"""The page that checks a file: alone, offline, in both lights and widths, by keyboard, with hostile files in it."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import inbounds as ib
from checker.released import publish
from envelopes import seal
from inbounds.cli import app
from inbounds.report import check_page
from proof import cases

in_browser = pytest.mark.browser


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="module")
def passport(tmp_path_factory) -> Path:
    """The passport of a mechanism that was designed for epsilon 1/2."""
    file = tmp_path_factory.mktemp("passport") / "optimal.json"
    file.write_text(json.dumps(cases.honest_passports()[0]), "utf-8")
    return file


def violating() -> bytes:
    """A passport that was signed again after its epsilon was halved."""
    envelope = cases.honest_passports()[0]
    return json.dumps(seal({**envelope, "content": {**envelope["content"], "epsilon": "1/4"}})).encode()


# --- what is written --------------------------------------------------------------------------------------


def test_verify_writes_one_page_with_document_checker_and_verdict(tmp_path, passport):
    target = tmp_path / "check.html"
    done = CliRunner().invoke(app, ["verify", str(passport), "--out", str(target)])
    assert done.exit_code == 0
    assert f"page: {target}" in done.stdout.replace("\n", "")
    text = target.read_text("utf-8")
    assert base64.b64encode(passport.read_bytes()).decode() in text
    assert check_page.script() in text
    assert '"valid": true' in text
    again = CliRunner().invoke(app, ["verify", str(passport), "--out", str(target)])
    assert isinstance(again.exception, ValueError)


def test_a_page_is_written_of_a_file_that_is_refused(tmp_path):
    file, target = tmp_path / "lie.json", tmp_path / "check.html"
    file.write_bytes(violating())
    done = CliRunner().invoke(app, ["verify", str(file), "--out", str(target)])
    assert done.exit_code != 0
    assert '"valid": false' in target.read_text("utf-8")


def test_several_files_or_a_database_are_not_put_into_a_page(tmp_path, passport):
    other = tmp_path / "other.json"
    ib.catalog.uniform(ib.count(2), 1).save(other)
    two = CliRunner().invoke(app, ["verify", str(passport), str(other), "--out", str(tmp_path / "a.html")])
    assert isinstance(two.exception, ValueError)
    with ib.Ledger.open(tmp_path / "budget.db") as ledger:
        ledger.add_population("pupils", epsilon=1)
    database = CliRunner().invoke(app, ["verify", str(tmp_path / "budget.db"), "--out", str(tmp_path / "b.html")])
    assert "inbounds ledger export" in str(database.exception)


def test_a_page_of_a_record_holds_its_table_and_the_passports_given(tmp_path, released):
    target = tmp_path / "check.html"
    done = CliRunner().invoke(app, ["verify", *map(str, (released.record, *released.passports)), "--out", str(target)])
    assert done.exit_code == 0
    text = target.read_text("utf-8")
    for file in (released.record, released.table, *released.passports):
        assert base64.b64encode(file.read_bytes()).decode() in text


def test_the_policy_names_script_and_style_by_their_digests_and_allows_nothing_else(passport):
    text = check_page.page(passport.read_bytes(), {"valid": True})
    for tag in ("script", "style"):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in bodies]
        assert len(bodies) == 1
        assert f"{tag}-src &#39;sha256-{digests[0]}&#39;" in text
    assert "default-src &#39;none&#39;" in text
    assert "connect-src" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", check_page.script())


def test_what_is_put_in_cannot_end_its_place():
    name = '"><script>alert(1)</script>'
    text = check_page.page(b"</script><script>alert(1)</script>", {"valid": False, "reason": "</script><b>"}, name=name)
    assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)&lt;/script&gt;", "", text)
    assert "</script><b>" not in text


# --- in a browser -----------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page from a file, offline, and insists that it says nothing to the console."""
    contexts, said = [], []

    def open_page(text: str, *, width: int = 1280, scheme: str = "light"):
        file = tmp_path / f"page-{len(contexts)}.html"
        file.write_text(text, "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def judged(page) -> str:
    page.wait_for_selector("body[data-verdict]", state="attached")  # a polled function would need eval
    return page.get_attribute("body", "data-verdict")


@in_browser
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_every_screen_and_says_the_verdict_twice(opened, width, scheme, passport):
    text = check_page.page(passport.read_bytes(), ib.verify(passport).to_json(), name="m.json")
    page = opened(text, width=width, scheme=scheme)
    assert judged(page) == "proved"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".verdict").count() == 2
    assert "Both checkers agree" in page.inner_text("#result")
    assert page.locator("#result svg[role=img] > title").count() == 1
    ink, paper = page.evaluate(
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    assert contrast(ink, paper) > 7
    for word in page.locator(".word").all():
        assert contrast(word.evaluate("e => getComputedStyle(e).color"), paper) > 4.5


def contrast(ink: str, paper: str) -> float:
    """The ratio of luminances of WCAG 2."""
    lights = sorted(_luminance(colour) for colour in (ink, paper))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@in_browser
def test_the_violating_cells_are_framed_and_named(opened, passport):
    page = opened(check_page.page())
    page.set_input_files("#file", {"name": "lie.json", "mimeType": "application/json", "buffer": violating()})
    assert judged(page) == "refused"
    assert page.locator("rect.mark.broken").count() == 2
    assert "times likelier under answer" in page.inner_text("#result")
    page.set_input_files("#file", {"name": "m.json", "mimeType": "application/json", "buffer": passport.read_bytes()})
    page.wait_for_selector("body[data-verdict=proved]", state="attached")
    assert page.locator("rect.mark.broken").count() == 0


@in_browser
def test_a_text_is_pasted_and_checked_by_keyboard_alone(opened, passport):
    page = opened(check_page.page())
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.insert_text(passport.read_text("utf-8"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert judged(page) == "proved"
    assert page.evaluate("document.activeElement.id") == "found"
    for name in ("file", "text"):
        assert page.locator(f"label[for={name}]").count() == 1
    assert page.get_attribute("#result", "aria-live") == "polite"


@in_browser
def test_table_and_passports_are_compared_with_the_record_that_came_along(opened, released):
    table = released.table.read_bytes()
    passports = [(file.name, file.read_bytes()) for file in released.passports]
    cases = ((table, passports, "proved"), (table, [], "partly"), (table + b"\n", passports, "refused"))
    for content, along, verdict in cases:
        page = opened(check_page.page())
        files = [*along, (released.record.name, released.record.read_bytes()), (released.table.name, content)]
        page.set_input_files(
            "#file", [{"name": name, "mimeType": "text/plain", "buffer": data} for name, data in files]
        )
        assert judged(page) == verdict
        assert ("Holds" in page.inner_text("#result")) == (verdict == "proved")
        assert ("Not recomputed here: run inbounds verify" in page.inner_text("#result")) == (verdict == "partly")


@in_browser
def test_a_page_of_a_record_with_everything_holds_by_itself(opened, released):
    others = [file.read_bytes() for file in (released.table, *released.passports)]
    said = ib.verify(released.record, passports=released.passports).to_json()
    page = opened(check_page.page(released.record.read_bytes(), said, name="record", others=others))
    assert judged(page) == "proved"
    assert "Both checkers agree" in page.inner_text("#result")


@in_browser
def test_markup_in_a_file_is_shown_and_not_obeyed(opened, passport):
    envelope = json.loads(passport.read_bytes())
    envelope["content"]["origin"]["name"] = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    lie = json.dumps(seal(envelope)).encode()
    page = opened(check_page.page(lie, {"valid": False, "reason": "<i>no</i>"}, name="<u>x</u>.json"))
    assert judged(page) == "proved"
    assert page.locator("#result img, #result b, #result script, #result i, #result u").count() == 0
    assert "<img src=x" in page.inner_text("#result")
    assert "do not agree" in page.inner_text("#result")


@in_browser
def test_a_server_that_gave_the_page_is_asked_for_its_verdict_of_the_same_bytes(browser, passport):
    page, asked = browser.new_page(), []

    def answer(route):
        if route.request.url.endswith("/verdict"):
            asked.append(route.request.post_data_buffer)
            route.fulfill(json={"valid": True, "promise": "the server's own words"})
        else:
            route.fulfill(body=check_page.page(server="/verdict", home="/"), content_type="text/html")

    page.route("**/*", answer)
    page.goto("http://studio.test/check")
    page.set_input_files("#file", {"name": "m.json", "mimeType": "application/json", "buffer": passport.read_bytes()})
    assert judged(page) == "proved"
    assert asked == [passport.read_bytes()]
    assert "the server's own words" in page.inner_text("#result")
    page.close()

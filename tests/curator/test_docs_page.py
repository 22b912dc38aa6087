"""The page at /docs: our files alone, a dry run first, and no charge without a confirmation."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from check.chromium import CHROMIUM, chromium
from curator.client import Client
from inbounds.curator.http import app
from inbounds.curator.http.docs_page import FILES, STATIC


@pytest.fixture
def service(curator):
    made = app(curator)
    yield made
    made.state.threads.close()


def test_the_page_loads_nothing_from_elsewhere(service):
    for path in FILES:
        response = Client(service, {}).get(path)
        assert response.status_code == 200
        assert "default-src 'none'" in response.headers["content-security-policy"]
    for file in STATIC.iterdir():
        assert not re.search(r"https?://|//cdn", file.read_text("utf-8"))


@pytest.mark.browser
def test_a_question_is_a_dry_run_until_its_charge_is_confirmed(service, curator):
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs {CHROMIUM}")
    token, sent, complaints = curator.add_account("ana", {"pupils": None}), [], []

    def serve(route):
        request = route.request
        headers = {name: value for name, value in request.headers.items() if name in WANTED}
        path = request.url.removeprefix("https://here")
        sent.append((request.method, path, headers))
        send = partial(Client(service, headers).request, request.method, path, content=request.post_data_buffer)
        response = thread.submit(send).result()  # this thread has Playwright's loop
        route.fulfill(status=response.status_code, headers=dict(response.headers), body=response.content)

    def visit():
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 390, "height": 800})
            page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.route("**/*", serve)
            page.goto("https://here/docs")
            page.fill("#token", token)
            call = page.locator("details", has=page.locator("code", has_text="/v1/datasets/{name}/answers"))
            call.locator("summary").click()
            call.locator("[data-parameter=name]").fill("pupils")
            call.locator("textarea").fill(json.dumps({"count": "likes = 'yes'", "by": ["school"], "epsilon": "0.5"}))
            ask = call.get_by_role("button", name="Ask")
            assert ask.is_disabled()
            call.get_by_role("button", name="Dry run").click()
            call.get_by_text("200 OK").wait_for()
            assert curator.people(curator.settings.datasets["pupils"]).spent == 0
            call.get_by_role("checkbox").check()
            ask.click()
            call.get_by_text('"how": "new"').wait_for()
            assert ask.is_disabled()
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0

    with ThreadPoolExecutor(1) as thread, ThreadPoolExecutor(1) as own:  # other tests may have a browser in this one
        own.submit(visit).result()
    posts = [(path, "idempotency-key" in headers) for method, path, headers in sent if method == "POST"]
    assert posts == [("/v1/datasets/pupils/preview", False), ("/v1/datasets/pupils/answers", True)]
    assert curator.people(curator.settings.datasets["pupils"]).spent > 0
    assert complaints == []


WANTED = ("accept", "authorization", "content-type", "idempotency-key")

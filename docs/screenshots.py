"""make figures, second step: the pictures of docs/studio.md, from a studio that runs here, by Chromium."""

import io
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from inbounds.studio.app import app
from inbounds.studio.auth import ENTER
from inbounds.studio.serve import make_auth, open_socket
from inbounds.studio.studio import Studio
from inbounds.studio.workspace import Workspace

IMAGES = Path(__file__).parent / "images"
SCHOOLS, ANSWERS = ("North", "South", "East", "West"), ("yes", "no", "unsure")
PLAN = """\
edition = "2026-11"

[source]
path = "survey.csv"

[groups]
by = ["school"]
keys = ["North", "South", "East", "West"]
size = 25

[people]
name = "pupils"
ledger = "inbounds.ledger"

[columns.answer]
labels = ["yes", "no", "unsure"]

[columns.score]
low = 0
high = 10
missing = 5

[privacy]
epsilon = 2

[[statistics]]
count = "answer = 'yes'"
name = "yes"

[[statistics]]
mean = "score"

[output]
path = "survey.released.csv"
credible_level = 0.9
"""


def write_folder(folder: Path) -> None:
    """A made-up survey of four schools, its plan, and a budget."""
    from inbounds import Ledger

    rows = [f"{SCHOOLS[k % 4]},{ANSWERS[k * k % 7 % 3]},{(k * 7 + k // 9) % 11},{8 + k % 9}" for k in range(100)]
    (folder / "survey.csv").write_text("\n".join(["school,answer,score,age", *rows]) + "\n")
    (folder / "survey.toml").write_text(PLAN)
    with Ledger.open(folder / "inbounds.ledger") as ledger:
        ledger.add_population("pupils", "6")


def take(page: Page, name: str, top: str = "body", height: int = 860) -> None:
    """What is seen from an element on, in 128 colours."""
    for _ in range(3):  # parts of a page ask for each other
        page.wait_for_load_state("networkidle")
        page.wait_for_selector(".working", state="detached")
        page.wait_for_timeout(400)
    y = page.locator(top).first.bounding_box()["y"] + page.evaluate("scrollY")
    width = page.viewport_size["width"]
    shot = page.screenshot(full_page=True, clip={"x": 0, "y": max(0, y - 12), "width": width, "height": height})
    small = Image.open(io.BytesIO(shot)).convert("RGB").quantize(128)
    small.save(IMAGES / f"studio-{name}.png", optimize=True)


def walk(browser: Any, address: str, token: str) -> None:
    """The way of the page docs/studio.md."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(f"{address}{ENTER}?token={token}")
    take(page, "first", height=620)
    page.goto(f"{address}/explore?kind=count&size=20&epsilon=0.5")
    take(page, "explore", height=1150)
    page.goto(f"{address}/plan/edit?plan=survey.toml")
    page.get_by_text("would be spent").wait_for()
    take(page, "plan", height=900)
    page.goto(f"{address}/release?plan=survey.toml")
    take(page, "dry-run", height=900)
    page.locator("[name=confirm]").check()
    page.get_by_role("button", name="Release, once").click()
    page.get_by_role("heading", name="All groups", exact=True).wait_for()
    take(page, "released", height=980)
    page.get_by_role("link", name="Check it").click()
    take(page, "check", height=900)
    page.goto(f"{address}/budget")
    take(page, "budget", height=900)
    dark = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme="dark", storage_state=page.context.storage_state()
    ).new_page()
    dark.goto(f"{address}/explore?kind=count&size=8&epsilon=1&require=fair")
    take(dark, "phone", "#result", 1300)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, open_socket(0) as socket, sync_playwright() as driver:
        folder = Path(place) / "survey"
        folder.mkdir()
        write_folder(folder)
        port = socket.getsockname()[1]
        guard, studio = make_auth(port), Studio(Workspace.from_path(folder))
        server = uvicorn.Server(uvicorn.Config(app(studio, guard), log_level="warning", access_log=False))
        threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True).start()
        while not server.started:
            time.sleep(0.05)
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        walk(browser, f"http://127.0.0.1:{port}", guard.token)
        browser.close()
        server.should_exit = True
        studio.work.close()


if __name__ == "__main__":
    main()

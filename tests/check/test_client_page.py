"""The example page of the JavaScript client in a real browser."""

import json
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

JS = Path(__file__).parents[2] / "js"
NODE = shutil.which("node")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.mark.browser
@pytest.mark.skipif(NODE is None, reason="needs Node.js")
def test_the_example_page_sends_one_report_and_the_same_again_after_a_reload(browser):
    subprocess.run([NODE, "build.mjs"], cwd=JS, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(JS))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/example/")
        page.wait_for_selector("body[data-ready=yes]")
        page.click("button[data-value=yes]")
        page.wait_for_function("document.querySelector('output').textContent.startsWith('Sent')")
        first = page.text_content("output").removeprefix("Sent: ")
        assert json.loads(first)["report"] in ("yes", "no")
        page.reload()
        page.wait_for_selector("body[data-ready=yes]")
        page.click("button[data-value=no]")
        page.wait_for_function("document.querySelector('output').textContent.startsWith('Already')")
        assert page.text_content("output").removeprefix("Already sent: ") == first
        page.close()
        server.shutdown()

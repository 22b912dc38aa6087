"""A real Chromium with the page that checks files."""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
BATCH = 400

JUDGE = """files => files.map(([file, ...others]) => {
  const bytesOf = text => Uint8Array.from(atob(text), one => one.charCodeAt(0));
  const report = inboundsCheck.reportOn(bytesOf(file), others.map(bytesOf));
  return [report.verdict, report.promise, report.reason || report.says];
})"""


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


class BrowserChecker:
    """The checker as a page has it: bytes in, (verdict, whether the law is private, reason) out."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def judged(self, contents: Iterable[Any]) -> list[tuple[str, bool, str]]:
        return self.judged_together([content] for content in contents)

    def judged_together(self, bundles: Iterable[Sequence[Any]]) -> list[tuple[str, bool, str]]:
        """Of each bundle the first file, given along with the others."""
        texts = [[base64.b64encode(in_bytes(content)).decode() for content in bundle] for bundle in bundles]
        found = []
        for start in range(0, len(texts), BATCH):
            found += self._page.evaluate(JUDGE, texts[start : start + BATCH])
        return [tuple(one) for one in found]

    def evaluate(self, script: str, argument: Any = None) -> Any:
        return self._page.evaluate(script, argument)


def in_bytes(content: Any) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()

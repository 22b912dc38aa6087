from collections.abc import Iterator
from typing import Any

import pytest

from check.chromium import CHROMIUM, BrowserChecker, chromium
from inbounds.report import check_page


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not here")
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def checker(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> BrowserChecker:
    file = tmp_path_factory.mktemp("page") / "check.html"
    file.write_text(check_page.page(), "utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    return BrowserChecker(page)

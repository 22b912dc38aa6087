"""The browser's checker on the vectors."""

import pytest

from inbounds.mechanism.laws.base import BROWSER
from vectors.write import listed

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("verdict", "word", "private"), [("accept", "proved", True), ("refuse", "refused", False)])
def test_the_browser_agrees(verdict, word, private, checker):
    files = listed(verdict, BROWSER)
    said = dict(zip(files, checker.judged(file.read_bytes() for file in files), strict=True))
    assert files
    assert [(file, said[file]) for file in files if said[file][:2] != (word, private)] == []

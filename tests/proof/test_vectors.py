"""The checker that is extracted from the proof, on the vectors."""

import pytest

from inbounds.mechanism.laws.base import COQ
from proof.checker import PROGRAM, verdicts
from vectors.write import listed

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="`make proof` builds inbounds-check")


@pytest.mark.parametrize(("verdict", "word"), [("accept", "private"), ("refuse", "refused")])
def test_the_extracted_checker_agrees(verdict, word):
    files = listed(verdict, COQ)
    said = dict(zip(files, verdicts(files), strict=True))
    assert files
    assert [file for file in files if not said[file].startswith(word)] == []

"""Records of plans with a delta in the browser."""

import pytest

from checker.conftest import designs  # noqa: F401 - fixtures
from checker.released import sign
from checker.test_deltas import lies, published_delta, with_delta  # noqa: F401 - fixtures

pytestmark = pytest.mark.browser


def test_no_lie_about_a_delta_passes_in_the_browser(checker, with_delta):  # noqa: F811
    honest, *lied = checker.judged_together(
        [record, with_delta.table] for record in (sign(with_delta.record), *(lie.record for lie in lies(with_delta)))
    )
    assert honest[0] in ("checked", "partly"), honest[2]
    assert [verdict for verdict, _, _ in lied] == ["refused"] * len(lied), lied

"""Records of plans with a delta in the browser."""

import pytest

from checker.conftest import designs  # noqa: F401 - fixtures
from checker.released import sign
from checker.test_deltas import (  # noqa: F401 - fixtures
    lies,
    lies_about_numbers_moved_twice,
    moved_twice,
    published_delta,
    with_delta,
)

pytestmark = pytest.mark.browser


def test_no_lie_about_a_delta_passes_in_the_browser(checker, with_delta):  # noqa: F811
    honest, *lied = checker.judged_together(
        [record, with_delta.table] for record in (sign(with_delta.record), *(lie.record for lie in lies(with_delta)))
    )
    assert honest[0] in ("checked", "partly"), honest[2]
    assert [verdict for verdict, _, _ in lied] == ["refused"] * len(lied), lied


def test_a_number_that_one_change_moves_twice_is_one_answer_in_the_browser(checker, moved_twice):  # noqa: F811
    lied = [lie.record for lie in lies_about_numbers_moved_twice(moved_twice)]
    honest, *refused = checker.judged_together([r, moved_twice.table] for r in (sign(moved_twice.record), *lied))
    assert honest[0] in ("checked", "partly"), honest[2]
    assert [verdict for verdict, _, _ in refused] == ["refused"] * len(lied), refused

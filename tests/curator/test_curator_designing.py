"""Designs in processes of their own: certified here, and what takes too long is refused and not charged."""

import pytest

from curator.pupils import account
from inbounds.curator import TooMuch
from inbounds.curator.designing import Designer
from inbounds.tables.errors import PlanError

LIKES = {"count": "likes = 'yes'", "by": ["school"], "epsilon": "0.5"}


def test_what_takes_too_long_is_refused_and_nothing_is_charged(opened):
    curator = opened(limits={"designs": 1, "design_seconds": 0.001})
    with pytest.raises(TooMuch):
        curator.ask(account(curator, "ana"), "pupils", LIKES)
    assert curator.people(curator.settings.datasets["pupils"]).spent == 0


@pytest.mark.slow
def test_a_process_designs_and_goes_on_after_one_that_was_refused(opened):
    curator = opened(limits={"designs": 1, "design_seconds": 300})
    ana = account(curator, "ana")
    impossible = {**LIKES, "at_most": ["off-by-more-than-0=0.0001"]}
    with pytest.raises(PlanError):
        curator.ask(ana, "pupils", impossible)
    assert curator.ask(ana, "pupils", LIKES).how == "new"
    assert len(curator.designer._idle) == 1


@pytest.mark.slow
def test_a_process_with_too_little_memory_is_refused(opened):
    curator = opened(limits={"designs": 1, "design_seconds": 300, "design_bytes": 1 << 20})
    with pytest.raises(TooMuch):
        curator.ask(account(curator, "ana"), "pupils", LIKES)
    assert curator.people(curator.settings.datasets["pupils"]).spent == 0


def test_a_kept_design_needs_no_process(opened, folder):
    one = opened()
    ana = account(one, "ana")
    one.preview(ana, "pupils", LIKES)
    other = opened(limits={"designs": 1, "design_seconds": 0.001})
    assert isinstance(other.designer, Designer)
    assert other.ask(ana, "pupils", LIKES).how == "new"

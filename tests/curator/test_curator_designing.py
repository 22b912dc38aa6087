"""Designs in processes of their own: certified here, and what takes too long is refused and not charged."""

import asyncio
import os
import threading
from http import HTTPStatus

import httpx
import pytest

from curator.pupils import account
from inbounds import workers
from inbounds.curator import CuratorBusy, DesignTooExpensive
from inbounds.curator.design_pool import FAILED_SECONDS, TOO_MUCH, DesignPool
from inbounds.curator.http.app import app
from inbounds.progress import ignore_progress
from inbounds.schema.errors import PlanError
from inbounds.workers import WorkerEnded, WorkerPool
from raising import rejects

MISSING = {"count": "age > 12", "epsilon": "0.3"}
LIKES = {"count": "likes = 'yes'", "by": ["school"], "epsilon": "0.5"}


@pytest.mark.long
def test_what_takes_too_long_is_refused_and_nothing_is_charged(opened):
    curator = opened(limits={"designs": 1, "design_seconds": 0.001})
    with pytest.raises(DesignTooExpensive):
        curator.ask(account(curator, "ana"), "pupils", LIKES)
    assert curator.people(curator.settings.datasets["pupils"]).spent == 0


@pytest.mark.slow
def test_a_process_designs_and_goes_on_after_one_that_was_refused(opened):
    curator = opened(limits={"designs": 1, "design_seconds": 300})
    ana = account(curator, "ana")
    impossible = {**LIKES, "limits": ["off-by-more-than-0=0.0001"]}
    with pytest.raises(PlanError):
        curator.ask(ana, "pupils", impossible)
    assert curator.ask(ana, "pupils", LIKES).how == "new"
    assert curator.designer._workers.idle == 1


@pytest.mark.slow
def test_a_process_with_too_little_memory_is_refused(opened):
    curator = opened(limits={"designs": 1, "design_seconds": 300, "design_bytes": 1 << 20})
    with pytest.raises(DesignTooExpensive):
        curator.ask(account(curator, "ana"), "pupils", LIKES)
    assert curator.people(curator.settings.datasets["pupils"]).spent == 0


def exhaust_memory(progress):
    raise MemoryError


def test_a_design_that_needs_too_much_memory_is_too_much_and_no_wrong_question(opened, monkeypatch):
    curator = opened(limits={"designs": 1})
    monkeypatch.setattr(WorkerPool, "run", lambda *_: workers._run_call(exhaust_memory, (), ignore_progress))
    with pytest.raises(DesignTooExpensive):
        curator.preview(account(curator, "ana"), "pupils", MISSING)


def test_a_process_that_ends_before_it_designs_is_told_apart_from_a_question_that_is_too_much(opened, monkeypatch):
    curator = opened(limits={"designs": 1})
    monkeypatch.setattr(workers, "_run_worker", os._exit)
    with rejects(CuratorBusy, about="start"):
        curator.preview(account(curator, "ana"), "pupils", MISSING)
    assert not curator.designer._failed


def test_a_kept_design_needs_no_process(opened, folder):
    one = opened()
    ana = account(one, "ana")
    one.preview(ana, "pupils", LIKES)
    other = opened(limits={"designs": 1, "design_seconds": 0.001})
    assert isinstance(other.designer, DesignPool)
    assert other.ask(ana, "pupils", LIKES).how == "new"


def test_a_design_that_failed_is_not_tried_again_for_a_while(opened, monkeypatch):
    curator, tries, time = opened(limits={"designs": 1}), [], [1000.0]
    ana = account(curator, "ana")

    def end(pool, function, plan, folder):
        tries.append(plan)
        raise WorkerEnded

    monkeypatch.setattr(WorkerPool, "run", end)
    curator.designer.clock = lambda: time[0]
    for later, tried in ((0, 1), (1, 1), (FAILED_SECONDS, 2)):
        time[0] += later
        with pytest.raises(DesignTooExpensive):
            curator.preview(ana, "pupils", MISSING)
        assert len(tries) == tried


def test_designs_that_take_long_keep_nobody_else_waiting(opened, monkeypatch):
    with opened() as before:
        before.ask(account(before, "ana"), "pupils", LIKES)
    curator, done = opened(limits={"designs": 1, "threads": 2}), threading.Event()
    tokens = [curator.add_account(f"slow {k}", {"pupils": None}) for k in range(5)]
    bob = curator.add_account("bob", {"pupils": None})

    def wait(plan):
        assert done.wait(60)
        raise DesignTooExpensive(TOO_MUCH)

    monkeypatch.setattr(curator.designer, "_design_in_worker", wait)
    service = app(curator)

    async def asked() -> None:
        transport = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=60) as http:

            async def post(token, route, question):
                headers = {"Authorization": f"Bearer {token}"}
                return await http.post(f"/v1/datasets/pupils/{route}", json=question, headers=headers)

            slow = [asyncio.create_task(post(token, "preview", MISSING)) for token in tokens]
            while len(service.state.threads._waiting) < len(tokens):
                await asyncio.sleep(0.01)
            for route in ("preview", "answers"):
                found = await asyncio.wait_for(post(bob, route, LIKES), 20)
                assert found.status_code == HTTPStatus.OK, found.text
                assert found.json()["how"] == "same"
            second = await post(tokens[0], "answers", {**MISSING, "epsilon": "0.4"})
            assert second.status_code == HTTPStatus.TOO_MANY_REQUESTS
            assert second.json()["type"].endswith("busy")
            done.set()
            assert {(await one).status_code for one in slow} == {HTTPStatus.UNPROCESSABLE_ENTITY}
            assert not service.state.threads._waiting

    asyncio.run(asked())
    service.state.threads.close()

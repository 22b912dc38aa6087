"""The service: what it refuses and how, its ticks, and requests of every kind that its own description allows."""

import asyncio
import json
import logging
import threading
import time

import pytest

from curator.client import Client
from inbounds.curator.errors import CuratorBusy, CuratorUnavailable
from inbounds.curator.http import app
from inbounds.curator.http.health import OVERDUE, HealthMonitor
from inbounds.curator.http.limits import ADMISSION, RateBuckets, Refusals, RequestLimits, TickCount
from inbounds.curator.http.metrics import Metrics
from inbounds.curator.settings import ServiceLimits
from inbounds.errors import LedgerError
from inbounds.releases.aggregate import OpenSource

LIKES = {"count": "likes = 'yes'", "by": ["school"], "epsilon": "0.5"}


@pytest.fixture
def service(curator):
    made = app(curator)
    yield made
    made.state.threads.close()


@pytest.fixture
def asker(curator, service):
    """A client of a new account, by its role."""

    def client_of(role: str = "analyst"):
        name = f"{role} {len(curator.accounts())}"
        token = curator.add_account(name, {"pupils": None} if role == "analyst" else {}, role=role)
        return Client(service, {"Authorization": f"Bearer {token}"})

    return client_of


def test_a_question_over_http_is_the_answer_in_python(asker, curator):
    client = asker()
    first = client.post("/v1/datasets/pupils/answers", json=LIKES, headers={"Idempotency-Key": "k"})
    assert first.status_code == 200
    answer = first.json()
    assert answer["how"] == "new"
    assert client.get(f"/v1/answers/{answer['id']}").json()["table"] == answer["table"]
    own = client.get("/v1/account").json()
    assert [one["id"] for one in own["answers"]] == [answer["id"]]
    assert own["datasets"][0]["spent"] == "0.5"
    digest = answer["mechanisms"][0]["sha256"]
    assert client.get(f"/v1/mechanisms/{digest}").json()["sha256"] == digest
    assert client.post("/v1/datasets/pupils/preview", json=LIKES).json()["how"] == "same"
    stranger, owner = asker(), asker("owner")
    there, nowhere = (stranger.get(f"/v1/mechanisms/{one}") for one in (digest, "0" * 64))
    assert there.status_code == nowhere.status_code == 404
    assert there.text.replace(digest, "") == nowhere.text.replace("0" * 64, "")
    assert owner.get(f"/v1/mechanisms/{digest}").json()["sha256"] == digest


def test_facts_of_a_dataset_are_public_facts(asker):
    facts = asker().get("/v1/datasets/pupils").json()
    assert facts["columns"]["likes"]["labels"] == ["yes", "no", "none"]
    assert {"source", "path", "url"}.isdisjoint(facts)
    assert "parquet" not in json.dumps(facts)


def test_the_owner_sees_what_was_spent_and_who_could_know_what(asker):
    asker().post("/v1/datasets/pupils/answers", json=LIKES)
    owner = asker("owner")
    assert owner.get("/v1/ledger").json()["people"][0]["spent"] == "0.5"
    exposure = owner.get("/v1/datasets/pupils/exposure").json()
    assert exposure["coalitions"] == [{"accounts": 1, "epsilon": "0.5", "exact": True}]


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "kind"),
    [
        ("GET", "/v1/nothing", None, 404, "not-found"),
        ("DELETE", "/v1/datasets", None, 405, "method-not-allowed"),
        ("GET", "/v1/datasets/other", None, 404, "not-found"),
        ("GET", "/v1/answers/" + "0" * 32, None, 404, "not-found"),
        ("GET", "/v1/mechanisms/" + "0" * 64, None, 404, "not-found"),
        ("GET", "/v1/ledger", None, 403, "not-allowed"),
        ("POST", "/v1/datasets/pupils/answers", {"count": "x ="}, 422, "not-a-question"),
        ("POST", "/v1/datasets/pupils/answers", {**LIKES, "epsilon": "-1"}, 422, "not-a-question"),
        ("POST", "/v1/datasets/pupils/answers", {**LIKES, "epsilom": "1"}, 422, "not-a-question"),
        ("POST", "/v1/datasets/pupils/answers", {**LIKES, "epsilon": "7"}, 409, "over-budget"),
        ("POST", "/v1/datasets/pupils/answers", {"count": "true", "epsilon": "0.000001"}, 422, "not-a-question"),
    ],
)
def test_every_refusal_is_a_problem(asker, method, path, sent, status, kind):
    found = asker().request(method, path, json=sent)
    assert found.status_code == status
    assert found.headers["content-type"] == "application/problem+json"
    assert found.json()["type"] == f"urn:inbounds:problem:{kind}"
    assert found.json()["status"] == status


def test_strangers_are_told_nothing(service):
    for headers in ({}, {"Authorization": "Bearer ib_wrong"}, {"Authorization": "Basic eDp5"}, {"Authorization": ""}):
        for path in ("/v1/datasets", "/v1/datasets/pupils", "/v1/account", "/v1/ledger", "/v1/mechanisms/" + "0" * 64):
            found = Client(service, headers).get(path)
            assert found.status_code == 401
            assert found.headers["www-authenticate"] == "Bearer"


def test_a_key_used_for_another_question_is_a_conflict(asker):
    client, key = asker(), {"Idempotency-Key": "k"}
    client.post("/v1/datasets/pupils/answers", json=LIKES, headers=key)
    found = client.post("/v1/datasets/pupils/answers", json={**LIKES, "by": []}, headers=key)
    assert (found.status_code, found.json()["type"]) == (409, "urn:inbounds:problem:key-taken")


def test_a_long_body_is_refused_before_it_is_read_whole(asker, curator):
    found = asker().post("/v1/datasets/pupils/answers", content=b" " * (curator.limits.body + 1))
    assert found.status_code == 413
    assert found.json()["type"] == "urn:inbounds:problem:too-large"


def test_after_a_charge_there_is_one_constant_error_and_nothing_is_logged(asker, monkeypatch, caplog):
    from inbounds.releases.aggregate import OpenSource

    def broken(*_):
        raise RuntimeError("record 17 holds SECRET")

    client = asker()
    with monkeypatch.context() as patch, caplog.at_level(logging.DEBUG):
        patch.setattr(OpenSource, "_raw", broken)
        found = client.post("/v1/datasets/pupils/answers", json=LIKES)
    assert (found.status_code, found.json()["type"]) == (503, "urn:inbounds:problem:unavailable")
    assert "SECRET" not in caplog.text + found.text
    again = client.post("/v1/datasets/pupils/answers", json=LIKES)
    assert (again.status_code, again.json()["type"]) == (503, "urn:inbounds:problem:closed")


def test_a_closed_dataset_is_reopened_by_an_owner_and_nobody_else(asker, monkeypatch):
    client, owner = asker(), asker("owner")
    stored = client.post("/v1/datasets/pupils/answers", json={**LIKES, "epsilon": "0.25"}).json()
    with monkeypatch.context() as patch:
        patch.setattr(OpenSource, "aggregate", lambda _: 1 / 0)
        assert client.post("/v1/datasets/pupils/answers", json=LIKES).json()["type"].endswith("unavailable")
    for question in (LIKES, {"count": "age > 12", "epsilon": "0.5"}):
        refused = asker().post("/v1/datasets/pupils/answers", json=question)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:inbounds:problem:closed")
    assert client.get(f"/v1/answers/{stored['id']}").json()["table"] == stored["table"]
    (status,) = owner.get("/v1/ledger").json()["datasets"]
    assert (status["closed"], status["observations"]) == (True, 1)
    assert client.post("/v1/datasets/pupils/reopen").status_code == 403
    assert owner.post("/v1/datasets/nothing/reopen").status_code == 404
    reopened = owner.post("/v1/datasets/pupils/reopen").json()
    assert (reopened["closed"], reopened["observations"]) == (False, 1)
    assert owner.post("/v1/datasets/pupils/reopen").status_code == 422
    assert owner.get("/v1/datasets/pupils/exposure").json()["observations"] == 1
    again = client.post("/v1/datasets/pupils/answers", json=LIKES)
    assert (again.status_code, again.json()["type"]) == (409, "urn:inbounds:problem:not-answered")
    assert client.post("/v1/datasets/pupils/answers", json={**LIKES, "epsilon": "0.51"}).status_code == 200


def test_what_nobody_foresaw_is_the_same_constant_error(asker, curator, monkeypatch):
    monkeypatch.setattr(type(curator), "datasets", lambda *_: 1 / 0)
    found = asker().get("/v1/datasets")
    assert (found.status_code, found.json()["type"]) == (503, "urn:inbounds:problem:unavailable")
    assert "division" not in found.text


def test_metrics_count_routes_and_statuses_and_name_nobody(asker):
    client = asker()
    client.get("/v1/datasets/pupils")
    client.get("/v1/datasets/a-name-of-somebody")
    text = client.get("/metrics").text
    assert 'inbounds_requests_total{method="GET",route="/v1/datasets/{name}",status="200"} 1' in text
    assert "pupils" not in text
    assert "somebody" not in text
    assert client.get("/healthz").json() == {"status": "ok"}


# --- the guard, with a clock of its own ----------------------------------------------------------------------


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


def sent_at(takes: float, limits: ServiceLimits, path: str = "/v1/x") -> tuple[float, int]:
    """When a guarded app that takes so long answers, after its request, and with which status."""
    clock, seen = Clock(), []

    async def slow(scope, receive, send):
        clock.now += takes
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            seen.append((clock.now - 100.0, message["status"]))

    scope = {"type": "http", "path": path, "method": "GET", "headers": [], "client": ("here", 1)}
    asyncio.run(RequestLimits(slow, limits, Metrics(), clock, clock.sleep)(scope, receive, send))
    return seen[0]


@pytest.mark.parametrize("takes", [0.0, 0.001, 0.0199, 0.021, 0.0399, 0.1234])
def test_answers_leave_at_multiples_of_the_tick(takes):
    when, status = sent_at(takes, ServiceLimits(tick=0.02))
    assert status == 200
    assert when > takes
    assert when / 0.02 == pytest.approx(round(when / 0.02), abs=1e-6)
    assert when - takes <= 0.02 + 1e-9


def test_health_leaves_at_a_tick_too():
    assert sent_at(0.001, ServiceLimits(tick=0.02), "/healthz")[0] == pytest.approx(0.02)


def test_past_the_last_tick_everybody_is_told_the_same():
    async def never(scope, receive, send):
        await asyncio.Event().wait()

    seen = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        seen.append(message)

    scope = {"type": "http", "path": "/v1/x", "method": "GET", "headers": [], "client": ("here", 1)}
    asyncio.run(RequestLimits(never, ServiceLimits(seconds=0.05, tick=0.01), Metrics())(scope, receive, send))
    assert seen[0]["status"] == 503
    assert json.loads(seen[1]["body"])["type"] == "urn:inbounds:problem:unavailable"


def test_a_body_that_never_ends_is_given_up():
    async def receive():
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    seen = []

    async def send(message):
        seen.append(message)

    scope = {"type": "http", "path": "/v1/x", "method": "POST", "headers": [], "client": ("here", 1)}
    asyncio.run(RequestLimits(None, ServiceLimits(seconds=0.1, tick=0.01), Metrics())(scope, receive, send))
    assert seen[0]["status"] == 408


def test_askers_have_a_burst_and_then_a_rate():
    clock = Clock()
    buckets = RateBuckets(rate=2, burst=3, clock=clock)
    assert [buckets.take("ana") for _ in range(4)] == [True, True, True, False]
    assert buckets.take("bob")
    clock.now += 0.5
    assert [buckets.take("ana") for _ in range(2)] == [True, False]


def test_many_wrong_tokens_from_one_address_are_refused(opened):
    curator = opened(limits={"rate": 0.001, "burst": 5})
    client = Client(app(curator))
    statuses = [client.get("/v1/account", headers={"Authorization": f"Bearer {k}"}).status_code for k in range(8)]
    assert statuses == [401] * 5 + [429] * 3
    token = curator.add_account("ana", {"pupils": None})
    assert client.get("/v1/account", headers={"Authorization": f"Bearer {token}"}).status_code == 200


@pytest.mark.parametrize("spelling", ["Bearer {}", "bearer {}", "Bearer  {}", "BEARER   {} ", "Bearer \t{}"])
def test_an_account_has_one_rate_however_its_header_is_spelled(spelling):
    def status(header):
        seen = []

        async def send(message):
            seen.append(message)

        async def answered(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        limited.app = answered
        headers = [(b"authorization", header.encode())]
        scope = {"type": "http", "path": "/v1/x", "method": "GET", "headers": headers, "client": ("here", 1)}
        asyncio.run(limited(scope, receive, send))
        return seen[0]["status"]

    limited = RequestLimits(None, ServiceLimits(rate=0.001, burst=2, tick=0), Metrics())
    assert [status("Bearer ib_one") for _ in range(2)] == [200, 200]
    assert status(spelling.format("ib_one")) == 429
    assert status(spelling.format("ib_two")) == 200


def test_one_tick_admits_so_many_requests_of_all():
    clock = Clock()
    ticks = TickCount(0.5, 2, clock)
    assert [ticks.take() for _ in range(3)] == [True, True, False]
    clock.now += 0.5
    assert [ticks.take() for _ in range(3)] == [True, True, False]
    assert all(TickCount(0, 2, clock).take() for _ in range(3))


def test_who_does_not_wait_after_a_refusal_is_answered_when_the_pause_ends():
    clock = Clock()
    refusals = Refusals(1, 0, 1, clock)
    assert refusals.refuse("ana") == 100
    clock.now += 0.25
    assert [refusals.refuse("ana"), refusals.refuse("bob")] == [101, 100.25]
    clock.now = 101.0
    assert refusals.refuse("ana") == 101


def test_so_many_refusals_leave_in_one_tick():
    clock = Clock()
    refusals = Refusals(1, 0.5, 2, clock)
    assert [refusals.refuse(name) for name in "abcde"] == [100, 100, 100.5, 100.5, 101]
    assert refusals.refuse("a") == 101
    assert refusals.refuse("a") == 101.5
    clock.now += 5
    assert [refusals.refuse(name) for name in "abc"] == [105, 105, 105.5]
    assert len(refusals._leaving) == 2


class Guarded:
    """Requests to an app behind limits; those that are let in wait until `go_on` is set. told: when each was answered,
    and its status."""

    def __init__(self, limits: ServiceLimits, path: str = "/v1/x", status: int = 200) -> None:
        self.clock, self.path, self.inside, self.told = Clock(), path, [], []
        self.go_on, self.status = asyncio.Event(), status
        self.limited = RequestLimits(self.respond, limits, Metrics(), self.clock, self.clock.sleep)

    async def respond(self, scope, receive, send):
        self.inside.append(scope[ADMISSION])
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def ask(self, who: str):
        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            if message["type"] == "http.response.start":
                self.told.append((self.clock.now - 100, message["status"]))

        headers = [(b"authorization", f"Bearer {who}".encode())]
        scope = {"type": "http", "path": self.path, "method": "GET", "headers": headers, "client": ("here", 1)}
        await self.limited(scope, receive, send)


def test_more_than_can_be_in_progress_is_refused_until_a_place_is_given_away():
    async def storm():
        guarded = Guarded(ServiceLimits(threads=1, waiting=1, tick=0, rate=100, burst=100))
        asked = [asyncio.create_task(guarded.ask(f"{k}")) for k in range(3)]
        await asyncio.sleep(0)
        assert (len(guarded.inside), guarded.told) == (2, [(0.0, 429)])
        guarded.inside[0].leave()  # it waits elsewhere now
        asked.append(asyncio.create_task(guarded.ask("3")))
        await asyncio.sleep(0)
        assert len(guarded.inside) == 3
        guarded.go_on.set()
        await asyncio.gather(*asked)
        assert guarded.limited._places.taken == 0

    asyncio.run(storm())


def test_a_refusal_by_the_app_counts_for_the_pause_and_one_that_is_repeated_waits_for_its_end():
    async def ask_twice():
        guarded = Guarded(ServiceLimits(tick=0), status=429)
        guarded.go_on.set()
        for _ in range(2):
            await guarded.ask("ana")
        return guarded.told

    assert asyncio.run(ask_twice()) == [(0, 429), (1, 429)]


def test_health_has_a_place_whatever_is_in_progress():
    async def storm():
        guarded = Guarded(ServiceLimits(threads=1, waiting=1, tick=0, rate=0.01, burst=1), path="/healthz")
        guarded.go_on.set()
        guarded.limited._places.taken = 100
        for _ in range(3):
            await guarded.ask("ana")
        return guarded.told, guarded.limited._places.taken

    assert asyncio.run(storm()) == ([(0, 200)] * 3, 100)


def test_questions_that_wait_for_designs_or_data_give_their_place_away(asker, service, monkeypatch):
    """While a question reads data, and while another is designed, nobody has a place."""
    (limits,) = (one for one in built_layers(service) if isinstance(one, RequestLimits))
    seen, threads = [], service.state.threads
    for name in ("long", "evaluate"):
        own = getattr(threads, name)

        def look(*arguments, own=own, name=name, **named):
            seen.append((name, limits._places.taken))
            return own(*arguments, **named)

        monkeypatch.setattr(threads, name, look)
    client = asker()
    assert client.post("/v1/datasets/pupils/preview", json={"count": "age > 12", "epsilon": "0.7"}).status_code == 200
    assert client.post("/v1/datasets/pupils/answers", json=LIKES).status_code == 200
    assert asker("owner").get("/v1/datasets/pupils/exposure").status_code == 200
    assert seen == [("long", 0), ("long", 0), ("evaluate", 0), ("long", 0)]
    assert limits._places.taken == 0


def built_layers(service):
    """The layers of a service around its routes, the outermost first."""
    layer = service.middleware_stack = service.middleware_stack or service.build_middleware_stack()
    while layer is not None:
        yield layer
        layer = getattr(layer, "app", None)


def test_health_is_the_result_of_the_last_check_and_nobody_waits_for_the_next():
    clock, checked, ended = Clock(), threading.Semaphore(0), threading.Event()
    results = iter([None, OSError("gone"), None])
    answers, block = [], threading.Event()

    def check():
        checked.release()
        result = next(results, "late")
        if result == "late":
            block.wait(60)
        elif result is not None:
            raise result

    monitor = HealthMonitor(check, ended.set, clock, interval=0)

    async def ask():
        try:
            await monitor.require_health()
        except CuratorUnavailable:
            return "unavailable"
        return "well"

    answers.append(asyncio.run(ask()))
    for _ in range(4):  # the last check has begun, and never ends
        assert checked.acquire(timeout=60)
    answers.append(asyncio.run(ask()))
    clock.now += OVERDUE
    answers.append(asyncio.run(ask()))
    clock.now += 0.1
    answers.append(asyncio.run(ask()))
    assert answers[1:] == ["well", "well", "unavailable"]
    block.set()
    monitor.close()
    assert ended.is_set()


def test_a_check_that_fails_is_no_health():
    monitor = HealthMonitor(lambda: 1 / 0, lambda: None)
    with pytest.raises(CuratorUnavailable):
        asyncio.run(monitor.require_health())
    monitor.close()


def test_what_is_beyond_the_queue_is_refused_before_it_is_charged_and_health_is_not_delayed(curator, opened):
    """Questions wait for one slot: two more may wait, others come again; none that was admitted is refused later."""
    curator = opened(limits={"evaluations": 1, "threads": 1, "seconds": 21}, answer_seconds=20)
    service = app(curator)
    threads, gate = service.state.threads, threading.Event()
    several = [curator.account(curator.add_account(f"account {k}", {"pupils": None})) for k in range(5)]

    async def ask(account):
        try:
            return await threads.evaluate(lambda own: gate.wait(60) and own.name, account)
        except CuratorBusy:
            return "busy"

    async def storm():
        asked = [asyncio.create_task(ask(account)) for account in [several[0], *several]]
        await asyncio.sleep(0)
        await threads.health.require_health()
        gate.set()
        return await asyncio.gather(*asked)

    names = [account.name for account in several]
    assert asyncio.run(storm()) == [names[0], "busy", *names[1:3], "busy", "busy"]
    assert asyncio.run(ask(several[4])) == names[4]  # there is room again
    threads.close()


def test_a_question_that_was_admitted_is_not_given_up(opened):
    """The limit of seconds is for what comes before the charge."""
    curator = opened(limits={"seconds": 0.2}, answer_seconds="0.15")
    client = Client(app(curator), {"Authorization": f"Bearer {curator.add_account('ana', {'pupils': None})}"})
    own = curator.ask

    def ask(*arguments, **named):
        time.sleep(0.3)
        return own(*arguments, **named)

    curator.ask = ask
    assert client.post("/v1/datasets/pupils/preview", json=LIKES).status_code == 200
    assert client.post("/v1/datasets/pupils/answers", json=LIKES).status_code == 200


def test_failures_that_a_request_should_not_cause_are_counted_and_logged_without_their_words(asker, curator, caplog):
    client = asker()
    curator.answers_page = lambda *_: (_ for _ in ()).throw(LedgerError("a secret"))
    refused = client.get("/v1/account")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "inbounds_failures_total 1" in client.get("/metrics").text
    assert "inbounds_reconnections_total 0" in client.get("/metrics").text
    assert "LedgerError" in caplog.text
    assert "secret" not in caplog.text


# --- whatever its own description allows: no 5xx, and the ledger's invariant after every response ---------------


CAPS = [None, "1", "0.3"]
"""Of the analysts whose requests take turns with those of an owner, of somebody who may ask nothing, and a stranger."""


QUESTIONS = [
    {"count": "likes = 'yes'"}, {"histogram": "likes", "by": ["school"]}, {"mean": "age", "where": "likes != 'no'"},
    {"count": "likes in ('yes')", "by": ["year", "school"]}, {"median": "age", "allow_useless": True}, {"sum": "age"},
    {"crosstab": ["likes", "year"]}, {"mode": "likes"}, {"quantile": "age", "at": 0.9, "allow_useless": True},
]  # fmt: skip
EPSILONS = ["0.1", 0.5, "2"]


class Current:
    """The service that requests go to: another in every run."""

    service = None


def stateful(opened, examples: int, steps: int) -> int:
    """Run requests made from the service's own description, following its links, each run on a curator of its own; how
    many were answered. After every response nothing is overspent."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    expected = (
        not_a_server_error,
        checks.response_schema_conformance,
        checks.content_type_conformance,
        checks.status_code_conformance,
    )
    answered = 0

    async def service(scope, receive, send):
        await Current.service(scope, receive, send)

    # a machine that is busy elsewhere must not decide what is answered, because what is asked next follows from that
    patient = {"seconds": 86_400}
    described = app(opened(limits=patient))
    Current.service = described

    class Machine(schemathesis.openapi.from_asgi("/openapi.json", service).as_state_machine()):
        def setup(self):
            self.curator, self.asked = opened(alone=True, limits=patient), 0
            Current.service = app(self.curator)
            self.tokens = [self.curator.add_account(f"analyst {k}", {"pupils": cap}) for k, cap in enumerate(CAPS)]
            self.tokens += [self.curator.add_account("owner", role="owner"), self.curator.add_account("nobody"), "ib_"]

        def teardown(self):
            Current.service.state.threads.close()

        def before_call(self, case):
            """Most requests are about the dataset that is there, and every other question is one that can be asked."""
            if "name" in (case.path_parameters or {}) and self.asked % 4:
                case.path_parameters["name"] = "pupils"
            if isinstance(case.body, dict) and self.asked % 2:
                case.body = {**QUESTIONS[self.asked % len(QUESTIONS)], "epsilon": EPSILONS[len(str(case.body)) % 3]}

        def get_call_kwargs(self, case):
            nonlocal answered
            answered, self.asked = answered + 1, self.asked + 1
            token = self.tokens[self.asked % len(self.tokens)]
            return {"headers": {"Authorization": f"Bearer {token}"}, "timeout": patient["seconds"]}

        def validate_response(self, response, case, **more):
            case.validate_response(response, checks=expected)
            (people,) = (self.curator.people(one) for one in self.curator.settings.datasets.values())
            assert people.spent_units <= people.budget_units
            for own in self.curator.accounts():
                assert all(grant.cap is None or grant.spent <= grant.cap for grant in own.grants.values())

    Machine.run(
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    described.state.threads.close()
    return answered


@pytest.mark.long
def test_requests_of_every_kind_find_no_server_error(opened):
    assert stateful(opened, 1, 12) >= 12


@pytest.mark.slow
def test_ten_thousand_requests_of_every_kind_find_no_server_error(opened):
    assert stateful(opened, 1200, 20) >= 10_000

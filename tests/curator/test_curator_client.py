"""The client: the same answers and errors as on the curator's own machine, and tries that are charged once."""

import asyncio
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from golden import Golden
from inbounds.cli import app as commands
from inbounds.curator import (
    CapExceeded,
    Curator,
    CuratorUnavailable,
    DatasetClosed,
    EvaluationFailed,
    KeyConflict,
    UnknownResource,
    UnknownToken,
)
from inbounds.curator import client as module
from inbounds.curator.client import TRIES, CuratorClient, RequestFailed
from inbounds.curator.http import app
from inbounds.releases.aggregate import OpenSource
from raising import rejects

URL = "http://here"


class Way(httpx.BaseTransport):
    """The way to a curator, on which some tries are lost: before they arrive, or only their answers."""

    def __init__(self, curator: Curator) -> None:
        self.inner = httpx.ASGITransport(app=app(curator), raise_app_exceptions=False)
        self.lost_there = self.lost_back = self.refused = 0
        self.keys: list[str | None] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("idempotency-key"))
        if self.lost_there:
            self.lost_there -= 1
            raise httpx.ConnectError("lost")
        if self.refused:
            self.refused -= 1
            return httpx.Response(503, json={"type": "urn:inbounds:problem:unavailable", "detail": "later"})
        response = asyncio.run(self._answered(request))
        if self.lost_back:
            self.lost_back -= 1
            raise httpx.ReadTimeout("lost")
        return response

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        response = await self.inner.handle_async_request(sent)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


@pytest.fixture
def way(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> Way:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    return Way(curator)


@pytest.fixture
def client(curator: Curator, way: Way) -> CuratorClient:
    return ib.connect(URL, curator.add_account("bea", {"pupils": "2"}), transport=way)


def spent(curator: Curator) -> Fraction:
    owner = curator.account(curator.add_account("owner of the test", role="owner"))
    ((people,),) = [curator.ledger(owner)["people"]]
    curator.revoke_account("owner of the test")
    return Fraction(people["spent"])


def test_a_client_sees_its_datasets_and_their_public_facts(client: CuratorClient) -> None:
    assert client.datasets() == ["pupils"]
    facts = client.describe("pupils")
    assert facts["by"] == ["school", "year"]
    assert facts["columns"]["age"]["low"] == "10"


def test_an_answer_over_http_is_the_answer_in_python(client: CuratorClient, curator: Curator) -> None:
    asked = client.ask("pupils", mean="age", by="school", epsilon=Fraction(1, 2))
    assert asked.how == "new"
    bea = curator.account(curator.add_account("cem", {"pupils": "2"}))
    here = curator.ask(bea, "pupils", {"mean": "age", "by": ["school"], "epsilon": "0.5"})
    assert here.table == asked.table
    assert client.answer(asked.id).table == asked.table
    assert [one["id"] for one in client.answers()] == [asked.id]
    assert asked.to_pandas()["school"].tolist() == ["north", "south"]
    assert (asked.cost.people, asked.remaining, asked.cost.account_left) == ("0.5", "5.5", "1.5")


@pytest.mark.parametrize("epsilon", ["0.5", "1/2", 0.5, Fraction(1, 2), Decimal("0.5")])
def test_an_epsilon_means_the_same_however_it_is_written(client: CuratorClient, epsilon: Any) -> None:
    assert client.preview("pupils", count="age > 12", epsilon=epsilon).epsilon == "0.5"


@pytest.mark.parametrize("lost", ["lost_there", "lost_back", "refused"])
def test_tries_that_fail_on_the_way_have_one_key_and_are_charged_once(
    client: CuratorClient, curator: Curator, way: Way, lost: str
) -> None:
    setattr(way, lost, TRIES - 1)
    answer = client.ask("pupils", count="age > 12", epsilon="0.5")
    assert len(way.keys) == TRIES
    assert len({*way.keys}) == 1
    assert way.keys[0]
    assert spent(curator) == Fraction(1, 2)
    assert client.answer(answer.id).table == answer.table


def test_what_changes_something_without_a_key_is_sent_once(client: CuratorClient, way: Way) -> None:
    way.lost_there = 1
    with pytest.raises(RequestFailed):
        client.reopen("pupils")
    assert len(way.keys) == 1
    way.lost_there = 1
    assert client.preview("pupils", count="age > 12", epsilon="0.5").how == "new"  # it only reads


def test_answers_are_listed_whole_page_by_page(
    client: CuratorClient, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inbounds.curator.issued.PAGE", 2)
    asked = [client.ask("pupils", count=f"age > {k}", epsilon="0.1", allow_useless=True).id for k in range(11, 16)]
    way.keys.clear()
    assert sorted(one["id"] for one in client.answers()) == sorted(asked)
    assert len(way.keys) == 3
    assert "next" not in client.account()
    with pytest.raises(UnknownResource):
        client._get("/v1/account?before=0")


def test_a_curator_that_cannot_be_reached_is_named_with_the_key_to_ask_again(client: CuratorClient, way: Way) -> None:
    way.lost_back = TRIES
    with rejects(RequestFailed, "http://here") as caught:
        client.ask("pupils", count="age > 12", epsilon="0.5")
    assert caught.value.key == way.keys[0]
    assert client.ask("pupils", count="age > 12", epsilon="0.5", key=caught.value.key).cost.people == "0"


def test_a_curator_that_is_not_available_is_told_after_the_last_try(client: CuratorClient, way: Way) -> None:
    way.refused = TRIES
    with rejects(CuratorUnavailable, "the answer", about="key"):
        client.ask("pupils", count="age > 12", epsilon="0.5")
    assert len(way.keys) == TRIES


@pytest.mark.long
def test_a_closed_dataset_is_not_asked_again_and_again_and_an_owner_reopens_it(
    client: CuratorClient, curator: Curator, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = ib.connect(URL, curator.add_account("head", role="owner"), transport=way)
    with monkeypatch.context() as patch:
        patch.setattr(OpenSource, "aggregate", lambda _: 1 / 0)
        with pytest.raises(DatasetClosed) as closed:  # the second try is told so
            client.ask("pupils", count="age > 12", epsilon="0.5")
    assert closed.value.dataset == "pupils"
    assert len(way.keys) == 2
    assert [one["closed"] for one in owner.ledger()["datasets"]] == [True]
    assert owner.reopen("pupils")["observations"] == 1
    with pytest.raises(EvaluationFailed):
        client.ask("pupils", count="age > 12", epsilon="0.5")
    assert client.ask("pupils", count="age > 12", epsilon="0.6").how == "new"
    assert spent(curator) == Fraction(11, 10)


def test_problems_are_raised_as_the_errors_that_they_are(client: CuratorClient, way: Way) -> None:
    with pytest.raises(CapExceeded) as cap:
        client.ask("pupils", count="age > 12", epsilon=5)
    assert (cap.value.asked, cap.value.left) == (5, 2)
    with pytest.raises(ib.BudgetExceeded) as budget:
        client.ask("pupils", count="age > 12", epsilon=7)
    assert (budget.value.people, budget.value.left, budget.value.budget) == ("pupils", 6, 6)
    with pytest.raises(UnknownResource):
        client.describe("teachers")
    with rejects(ValueError, "mean", about="'heigth'"):
        client.ask("pupils", mean="heigth", epsilon=1)
    client.ask("pupils", count="age > 12", epsilon="0.5", key="mine")
    with pytest.raises(KeyConflict):
        client.ask("pupils", count="age > 13", epsilon="0.5", key="mine")
    with pytest.raises(UnknownToken):
        ib.connect(URL, "ib_nobody", transport=way).datasets()


def test_a_mechanism_is_certified_again_where_it_is_read(client: CuratorClient) -> None:
    for question in ({"count": "age > 12"}, {"median": "age"}):
        answer = client.ask("pupils", epsilon="0.5", **question)
        digest = answer.mechanisms[0]["sha256"]
        assert client.mechanism(digest).sha256 == digest


def test_an_answer_shows_itself_without_markup_from_its_keys(client: CuratorClient) -> None:
    answer = client.ask("pupils", mean="age", by=["school"], epsilon="0.5")
    hostile = type(answer)(**{**vars(answer), "table": {"<b>": ["<script>"]}})
    assert "<script>" not in hostile._repr_html_()
    assert "5.5 left" in str(answer)


def test_what_is_no_address_or_token_is_refused_before_anything_is_sent(golden: Golden) -> None:
    def connect(url: Any, token: Any) -> None:
        ib.connect(url, token)

    golden.errors(
        "wrong_addresses",
        [
            lambda: connect("127.0.0.1:8400", "t"),
            lambda: connect(8400, "t"),
            lambda: connect(URL, ""),
            lambda: connect(URL, "t\n"),
            lambda: connect(URL, None),
        ],
    )


def test_a_token_in_the_place_of_the_address_is_not_told() -> None:
    with rejects(ValueError, "url") as refused:
        ib.connect("ib_secret", URL)
    assert "secret" not in str(refused.value)


def test_what_is_no_question_is_said_in_our_words_over_http(client: CuratorClient, golden: Golden) -> None:
    def ask(question: dict[str, Any]) -> None:
        client.ask("pupils", **question)

    golden.errors(
        "wrong_client_questions",
        [
            lambda: ask({"mean": "age", "epsilon": float("nan")}),
            lambda: ask({"mean": "age", "epsilon": object()}),
            lambda: ask({"mean": "likes", "epsilon": 1}),
            lambda: ask({"quantile": "age", "at": 50, "epsilon": 1}),
            lambda: ask({"quantile": "age", "epsilon": 1}),
            lambda: ask({"avg": "age", "epsilon": 1}),
            lambda: ask({"mean": "age", "epsilom": 1}),
            lambda: ask({"mean": "age", "epsilon": [1]}),
            lambda: ask({"mean": ["age"], "epsilon": 1}),
            lambda: ask({"mean": "age", "by": {"a": 1}, "epsilon": 1}),
            lambda: ask({"mean": "age", "epsilon": 1, "redraw": "often"}),
            lambda: ask({"mean": "age", "epsilon": 1, "aim": "best"}),
            lambda: ask({"crosstab": ["likes"], "epsilon": 1}),
        ],
    )


def test_numbers_of_numpy_and_tuples_are_sent_as_what_they_mean(client: CuratorClient) -> None:
    given = client.ask("pupils", mean="age", by=("school",), epsilon=np.float64(0.5))
    again = client.ask("pupils", mean="age", by=np.array(["school"]), epsilon="0.5")
    assert (again.how, again.table) == ("same", given.table)


def test_an_address_with_a_path_is_told_how_to_be_written(curator: Curator, way: Way) -> None:
    with rejects(UnknownResource, about="path"):
        ib.connect(f"{URL}/v1", curator.add_account("eva", {"pupils": "2"}), transport=way).datasets()


def test_a_name_is_one_part_of_a_path(client: CuratorClient) -> None:
    with pytest.raises(UnknownResource):
        client.describe("../account")


def test_the_command_asks_previews_and_lists(curator: Curator, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    token = curator.add_account("dan", {"pupils": None})
    monkeypatch.setattr(module, "connect", lambda url, token: CuratorClient(url, token, 60, way))

    def run(*words: str) -> Any:
        done = CliRunner().invoke(commands, ["ask", URL, *words, "--json"], env={"INBOUNDS_TOKEN": token})
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    assert [one["name"] for one in run()] == ["pupils"]
    question = ("pupils", "--quantile", "age@0.75", "--by", "school,year", "--epsilon", "0.5")
    assert run(*question, "--preview")["people"] == "0.5"
    assert len(run(*question)["table"]["school"]) == 4
    vain = ("pupils", "--count", "age > 12", "--epsilon", "0.0001")
    refused = CliRunner().invoke(commands, ["ask", URL, *vain], env={"INBOUNDS_TOKEN": token})
    assert "--allow-useless" in str(refused.exception)
    assert run(*vain, "--allow-useless")["how"] == "new"
    assert run(*vain, "--allow-useless", "--redraw")["how"] == "same"

"""What every answer carries, and numbers that are none."""

from http import HTTPStatus

from curator.client import Client
from inbounds.curator.http.app import app


def test_no_answer_may_be_kept_on_the_way_and_true_is_no_epsilon(curator):
    token = curator.add_account("ana", {"pupils": None})
    service = app(curator)
    client = Client(service, {"Authorization": f"Bearer {token}"})
    likes = {"count": "likes = 'yes'", "epsilon": "0.5"}
    found = [client.get("/v1/datasets"), client.get("/nowhere"), client.get("/healthz"), client.get("/v1/account")]
    found.append(client.post("/v1/datasets/pupils/answers", json=likes))
    assert all(one.headers.get_list("cache-control") == ["no-store"] for one in found)
    refused = client.post("/v1/datasets/pupils/answers", json={**likes, "epsilon": True})
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    service.state.threads.close()

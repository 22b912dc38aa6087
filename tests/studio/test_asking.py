"""Ask: a preview is free, a question is charged once and when it is confirmed, the same again costs nothing."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from inbounds.curator.answer_tables import FORMS
from inbounds.curator.curator import Curator
from inbounds.studio.jobs import JobQueue
from studio.conftest import Served, curator_in

QUESTION = [
    ("dataset", "survey"),
    ("statistic.kind", "count"),
    ("statistic.count.condition", "age > 12"),
    ("epsilon", "0.5"),
    ("by", "school"),
]


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    with curator_in(tmp_path_factory.mktemp("curator")) as found:
        yield found


@pytest.fixture(params=["owner"])
def asking(request: pytest.FixtureRequest, folder: Path, work: JobQueue, curator: Curator) -> Iterator[httpx.Client]:
    """A browser of a studio that asks the demo curator."""
    served = Served(folder, work, curator=curator, account=request.param)
    with httpx.Client(base_url=served.address, timeout=120, headers={"origin": served.address}) as client:
        client.get(f"/enter?token={served.guard.token}")
        yield client
    served.close()


def post(client: httpx.Client, path: str, fields: list[tuple[str, str]]) -> httpx.Response:
    return client.post(path, content=urlencode(fields), headers={"content-type": "application/x-www-form-urlencoded"})


def test_without_a_curator_the_page_says_how_to_bring_one(client: httpx.Client) -> None:
    assert "--curator" in client.get("/ask").text
    assert post(client, "/ask", QUESTION).status_code == 422


@pytest.mark.slow
def test_a_preview_costs_nothing_and_a_question_is_charged_once(asking: httpx.Client, curator: Curator) -> None:
    def spent() -> object:
        return curator.people(curator.settings.datasets["survey"]).spent

    before = spent()
    assert "<form" in asking.get("/ask").text
    assert "A new draw" in post(asking, "/ask/preview", QUESTION).text
    assert post(asking, "/ask", QUESTION).status_code == 422  # not confirmed
    assert spent() == before
    answer = post(asking, "/ask", [*QUESTION, ("confirm", "yes")])
    assert answer.status_code == 303
    shown = asking.get(answer.headers["location"]).text
    assert "North" in shown
    assert shown.count("<figure>") == 1
    for form in FORMS:
        file = asking.get(answer.headers["location"].replace("?", "/file?") + f"&form={form}")
        assert (file.status_code, file.headers["content-type"]) == (200, FORMS[form])
    assert asking.get(answer.headers["location"].replace("?", "/file?") + "&form=.exe").status_code == 422
    after = spent()
    assert after != before
    assert "The stored answer to the same question" in post(asking, "/ask/preview", QUESTION).text
    assert post(asking, "/ask", [*QUESTION, ("confirm", "yes")]).status_code == 303
    assert spent() == after
    assert "count of age" in asking.get("/ask").text
    assert "owner" in asking.get("/ask/exposure?dataset=survey").text


@pytest.mark.slow
def test_what_cannot_be_asked_is_a_sentence(asking: httpx.Client) -> None:
    for new in (
        ("statistic.count.condition", "nothing > 1"),
        ("epsilon", "0"),
        ("statistic.kind", "<b>"),
        ("dataset", "other"),
    ):
        fields = [pair for pair in QUESTION if pair[0] != new[0]] + [new]
        text = post(asking, "/ask/preview", fields).text
        assert "Not yet" in text
        assert "<b>" not in text


@pytest.mark.slow
def test_a_preview_without_the_script_keeps_the_form(asking: httpx.Client) -> None:
    page = post(asking, "/ask", [*QUESTION, ("action", "look"), ("where", "")]).text
    assert "age &gt; 12" in page
    assert "Expected errors" in page


@pytest.mark.slow
@pytest.mark.parametrize("asking", ["analyst"], indirect=True)
def test_an_analyst_does_not_see_the_exposure(asking: httpx.Client) -> None:
    assert asking.get("/ask/exposure?dataset=survey").status_code == 422
    assert "exposure" not in asking.get("/ask").text

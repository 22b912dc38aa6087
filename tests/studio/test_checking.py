"""The server's verdict on a file that was dropped into the page Check."""

import json

import httpx
import pytest

from checker.released import Published, publish
from inbounds.verdict import Verdict


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return publish(tmp_path_factory.mktemp("released"))


def verdict(client: httpx.Client, *files: bytes) -> dict[str, object]:
    headers = {"x-sizes": " ".join(str(len(file)) for file in files)}
    found: dict[str, object] = client.post("/check/verdict", content=b"".join(files), headers=headers).json()
    return found


def test_a_record_is_judged_with_the_table_that_came_along(client: httpx.Client, published: Published) -> None:
    record, table = published.record.read_bytes(), published.table.read_bytes()
    assert verdict(client, record, table)["valid"] is True
    assert verdict(client, record, b"another file", table)["valid"] is True
    assert verdict(client, record, table + b" ")["valid"] is False


def test_passports_that_came_along_are_connected_to_the_record(client: httpx.Client, published: Published) -> None:
    record, table = published.record.read_bytes(), published.table.read_bytes()
    own = [file.read_bytes() for file in published.passports]
    found = verdict(client, record, table, *own)
    assert found["valid"] is True
    assert "passport-1.json" not in str(found["checked"])  # which is the table's place
    assert f"passport-{len(own) + 1}.json drew" in str(found["checked"])
    other = verdict(client, record, table, *own[1:], own[0].replace(b'"epsilon": "', b'"epsilon": "1'))
    assert other["valid"] is False


def test_a_record_without_its_table_has_no_verdict_but_a_changed_one_is_refused(
    client: httpx.Client, published: Published
) -> None:
    found = verdict(client, published.record.read_bytes())
    assert found["valid"] is None
    assert "drop" in str(found["reason"])
    changed = published.record.read_bytes().replace(b'"time": "20', b'"time": "19')
    assert verdict(client, changed)["valid"] is False


@pytest.mark.parametrize("name", ["../outside.csv", "/tmp/outside.csv", "document.json", "..", ""])
def test_a_table_is_never_written_outside_its_folder(client: httpx.Client, published: Published, name: str) -> None:
    content = json.loads(published.record.read_bytes())
    content["content"]["table"]["file"] = name
    assert verdict(client, json.dumps(content).encode(), published.table.read_bytes())["valid"] is False


def test_a_refusal_does_not_name_a_place_on_the_server(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "inbounds.studio.check.verify", lambda file, passports: Verdict(file.path, reason=f"{file.path} was changed")
    )
    assert verdict(client, b"{}")["reason"] == "the file was changed"


def test_sizes_that_are_not_the_body_s_are_refused(client: httpx.Client) -> None:
    headers = {"x-sizes": "3 4"}
    assert client.post("/check/verdict", content=b"12345", headers=headers).status_code == 422

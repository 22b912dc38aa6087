"""The server's verdict on a file that was dropped into the page Check."""

import json

import httpx
import pytest

from check.test_page import RECORD
from inbounds.verdicts import Verdict

TABLE = RECORD.with_name("release_v1.csv").read_bytes()


def verdict(client: httpx.Client, *files: bytes) -> dict[str, object]:
    headers = {"x-sizes": " ".join(str(len(file)) for file in files)}
    found: dict[str, object] = client.post("/check/verdict", content=b"".join(files), headers=headers).json()
    return found


def test_a_record_is_judged_with_the_table_that_came_along(client: httpx.Client) -> None:
    assert verdict(client, RECORD.read_bytes(), TABLE)["valid"] is True
    assert verdict(client, RECORD.read_bytes(), b"another file", TABLE)["valid"] is True
    assert verdict(client, RECORD.read_bytes(), TABLE + b" ")["valid"] is False


def test_a_record_without_its_table_has_no_verdict_but_a_changed_one_is_refused(client: httpx.Client) -> None:
    found = verdict(client, RECORD.read_bytes())
    assert found["valid"] is None
    assert "drop" in str(found["reason"])
    changed = json.dumps({**json.loads(RECORD.read_bytes()), "time": "2020-01-01T00:00:00+00:00"}).encode()
    assert verdict(client, changed)["valid"] is False


@pytest.mark.parametrize("name", ["../outside.csv", "/tmp/outside.csv", "document.json", "..", ""])
def test_a_table_is_never_written_outside_its_folder(client: httpx.Client, name: str) -> None:
    content = json.loads(RECORD.read_bytes())
    content["table"]["file"] = name
    assert verdict(client, json.dumps(content).encode(), TABLE)["valid"] is False


def test_a_refusal_does_not_name_a_place_on_the_server(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inbounds.studio.checking.verify", lambda path: Verdict(path, reason=f"{path} was changed"))
    assert verdict(client, b"{}")["reason"] == "the file was changed"


def test_sizes_that_are_not_the_body_s_are_refused(client: httpx.Client) -> None:
    headers = {"x-sizes": "3 4"}
    assert client.post("/check/verdict", content=b"12345", headers=headers).status_code == 422

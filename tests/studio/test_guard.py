"""Who may speak with the studio, and what it opens: refused before anything is read."""

from pathlib import Path

import httpx
import pytest

from inbounds.studio.auth import POLICY, StudioAuth
from inbounds.studio.workspace import OutsideFolder, Workspace

PAGES = (
    "/",
    "/explore",
    "/plan",
    "/release",
    "/check",
    "/budget",
    "/static/studio.js",
    "/release/table?plan=plan.toml",
)


def own(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/")


@pytest.mark.parametrize("path", PAGES)
def test_without_the_cookie_no_page_is_shown(outside: httpx.Client, path: str) -> None:
    answer = outside.get(path)
    assert answer.status_code == 403
    assert "survey" not in answer.text


def test_the_token_is_exchanged_once(outside: httpx.Client) -> None:
    token = outside.served.guard.token  # type: ignore[attr-defined]
    assert outside.get("/enter?token=wrong").status_code == 403
    first = outside.get(f"/enter?token={token}")
    cookie = first.headers["set-cookie"]
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert token not in cookie
    assert outside.get("/").status_code == 200
    assert outside.get(f"/enter?token={token}").status_code == 303  # the same browser comes in again
    outside.cookies.clear()
    assert outside.get(f"/enter?token={token}").status_code == 403
    assert outside.get("/").status_code == 403


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost:1", "127.0.0.1.example.org"])
def test_another_host_is_refused(client: httpx.Client, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 403


def test_a_change_needs_the_own_origin(client: httpx.Client) -> None:
    body = {"people": "pupils", "epsilon": "1", "ledger": "x.ledger"}
    del client.headers["origin"]
    for headers in ({}, {"origin": "null"}, {"origin": "http://example.org"}, {"origin": own(client) + "0"}):
        assert client.post("/budget", data=body, headers=headers).status_code == 403
    assert client.post("/budget", data=body, headers={"origin": own(client)}).status_code == 303


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_began_is_refused(client: httpx.Client, site: str) -> None:
    assert client.get("/", headers={"sec-fetch-site": site}).status_code == 403
    assert client.post("/release", data={"plan": "plan.toml"}, headers={"sec-fetch-site": site}).status_code == 403


def test_every_answer_has_the_policy(client: httpx.Client) -> None:
    for path in (*PAGES[:-1], "/nowhere"):
        answer = client.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY.replace("https", "")


def test_a_body_beyond_the_limit_is_refused(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inbounds.studio.auth.MOST_BYTES", 10)
    assert client.post("/check/verdict", content=b"12345678901").status_code == 413
    assert client.post("/check/verdict", content=iter([b"123456", b"78901"])).status_code == 413  # says no length
    assert client.post("/check/verdict", content=iter([b"12345", b"67890"])).status_code == 200


def test_a_guard_that_forgets_the_origin_would_be_noticed() -> None:
    guard = StudioAuth(frozenset({"here"}))
    headers = {"host": "here", "cookie": f"{guard.cookie}={guard.secret}"}
    assert guard.refusal("GET", "/", headers) == ""
    assert guard.refusal("POST", "/", headers) != ""
    assert guard.refusal("POST", "/", {**headers, "origin": "http://here"}) == ""
    assert guard.refusal("GET", "/", {**headers, "cookie": f"{guard.cookie}=x"}) != ""


# --- the folder -------------------------------------------------------------------------------------------

ELSEWHERE = (
    "../secret.csv",
    "..",
    ".",
    "",
    "/etc/passwd",
    "a/b.csv",
    "a\\b.csv",
    "x\0.csv",
    "link.csv",
    "linked/x.csv",
)


@pytest.fixture
def place(folder: Path) -> Workspace:
    secret = folder.parent / "secret.csv"
    secret.write_text("name\nsomebody\n")
    (folder / "link.csv").symlink_to(secret)
    (folder / "linked").symlink_to(folder.parent)
    return Workspace.from_path(folder)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_no_name_leads_out_of_the_folder(place: Workspace, name: str) -> None:
    with pytest.raises(OutsideFolder):
        place.path(name)


def test_links_are_not_listed(place: Workspace) -> None:
    assert place.data == ["survey.csv"]


@pytest.mark.long
@pytest.mark.parametrize(
    "path", ["/plan/edit?source=", "/plan/edit?plan=", "/release?plan=", "/check/file?file=", "/budget?ledger="]
)
@pytest.mark.parametrize("name", ["../secret.csv", "/etc/passwd", "link.csv", "linked/secret.csv"])
def test_pages_open_nothing_outside_the_folder(client: httpx.Client, place: Workspace, path: str, name: str) -> None:
    answer = client.get(f"{path}{name}")
    assert answer.status_code == 422
    assert "somebody" not in answer.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('path = "survey.csv"', 'path = "../secret.csv"'),
        ('path = "survey.csv"', 'path = "linked/secret.csv"'),
        ('path = "survey.csv"', 'path = "link.csv"'),
        ('path = "released.csv"', 'path = "../released.csv"'),
        ('name = "pupils"', 'name = "pupils"\nledger = "../x.ledger"'),
        ('keys = ["North", "South", "East", "West"]', 'keys = "../secret.csv"'),
    ],
)
def test_a_plan_that_leaves_the_folder_is_refused(
    client: httpx.Client, folder: Path, place: Workspace, old: str, new: str
) -> None:
    text = (folder / "plan.toml").read_text()
    assert old in text
    (folder / "plan.toml").write_text(text.replace(old, new))
    answer = client.get("/release?plan=plan.toml")
    assert answer.status_code == 422
    assert "somebody" not in answer.text
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted([folder.name, "secret.csv"])

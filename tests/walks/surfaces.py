"""Where a kind of statistic appears: `python tests/walks/surfaces.py KIND` prints what each surface says of it.

The kind must be one of a column with low and high. It runs in a process of its own, because surfaces are derived when
they are imported.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.curator.http.app import app as http_app
from inbounds.files.bounded import parse_toml
from inbounds.studio.jobs import JobQueue
from studio.conftest import PLAN, Served, curator_in, write_survey

SURFACES: list[Callable[[str, Path], Any]] = []


def surface(look: Callable[[str, Path], Any]) -> Callable[[str, Path], Any]:
    SURFACES.append(look)
    return look


def command(*words: str) -> Any:
    return CliRunner().invoke(app, [*words])


@surface
def plan_file(kind: str, folder: Path) -> list[str]:
    """The statistics of a released plan file, and what checking its record says."""
    content = parse_toml(PLAN) | {"statistics": [{kind: "score"}]}
    content["source"]["path"] = str(folder / "survey.csv")
    done = ib.release(content, output=folder / "planned.csv", mechanisms=folder / "passports")
    verdict = ib.verify(folder / "planned.csv.release.json")
    return [done.record["plan"]["statistics"][0]["kind"], *done.table.column_names, str(verdict.reason)]


@surface
def passports(kind: str, folder: Path) -> list[bool]:
    """Whether the passports of that release can be verified by themselves."""
    return [ib.verify(file).is_valid for file in (folder / "passports").iterdir()]


@surface
def options(kind: str, folder: Path) -> list[str]:
    """The statistics in the record of a release from one line, and the exit status of checking it."""
    facts = [
        "--low",
        "0",
        "--high",
        "10",
        "--size",
        "400",
        "--one-record-each",
        "pupil",
        "--epsilon",
        "4",
        "--out",
        str(folder / "line.csv"),
    ]
    done = command("release", str(folder / "survey.csv"), f"--{kind}", "score", *facts)
    record = json.loads((folder / "line.csv.release.json").read_text("utf-8"))
    checked = command("verify", str(folder / "line.csv.release.json"))
    return [record["content"]["plan"]["statistics"][0]["kind"], str(done.exit_code), str(checked.exit_code)]


@surface
def help_of_ask(kind: str, folder: Path) -> bool:
    return f"--{kind}" in command("ask", "--help").output


@surface
def draft(kind: str, folder: Path) -> bool:
    command("init", str(folder / "survey.csv"), "--out", str(folder / "draft.toml"))
    return f"#   {kind} = " in (folder / "draft.toml").read_text("utf-8")


@surface
def http(kind: str, folder: Path) -> list[Any]:
    """The kind in OpenAPI, and the statistic of an answer."""
    from fastapi.testclient import TestClient  # it warns when it is imported

    (folder / "http").mkdir()
    with closing(curator_in(folder / "http")) as curator:
        token = curator.add_account("another", {"survey": "5"})
        client = TestClient(http_app(curator))
        schema = client.get("/openapi.json").text
        question = {kind: "age", "epsilon": "4", "allow_useless": True}
        answer = client.post("/v1/datasets/survey/answers", json=question, headers={"Authorization": f"Bearer {token}"})
        return [
            f'"{kind}"' in schema,
            answer.status_code,
            sorted(answer.json()["question"]),
            list(answer.json()["table"]),
        ]


@surface
def studio(kind: str, folder: Path) -> list[bool]:
    """The kind in the form of a plan, and in that of a question."""
    (folder / "asked").mkdir()
    (folder / "plan.toml").write_text(PLAN)
    with closing(curator_in(folder / "asked")) as curator, closing(JobQueue()) as work:
        served = Served(folder, work, curator=curator, account="owner")
        with closing(served), httpx.Client(base_url=served.address, timeout=60) as client:
            client.get(f"/enter?token={served.guard.token}")
            pages = [client.get("/plan/edit?plan=plan.toml").text, client.get("/ask").text]
    return [f'<option value="{kind}"' in page for page in pages]


@surface
def reference(kind: str, folder: Path) -> bool:
    from statistic_fields import describe_statistics

    return any(f"## `{kind}`" in line for line in describe_statistics())


@surface
def commands(kind: str, folder: Path) -> list[bool]:
    """The option in what the pages of `release` and `ask` are made from."""
    return [f"`--{kind} COLUMN`" in part for part in _sections("release", "ask")]


def _sections(*names: str) -> list[str]:
    import commands as command_pages

    page = command_pages.page()
    return [page.partition(f"## `inbounds {name}`")[2].partition("\n## ")[0] for name in names]


if __name__ == "__main__":
    DOCS = Path(__file__).parents[2] / "docs"
    sys.path += [str(DOCS), str(DOCS / "hooks")]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_survey(folder)
        found = {look.__name__: look(sys.argv[1], folder) for look in SURFACES}
    sys.stdout.write(json.dumps(found))

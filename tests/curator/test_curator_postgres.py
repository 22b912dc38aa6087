"""Several processes on one PostgreSQL: one budget, one answer to one question, whoever is asked."""

import itertools
import multiprocessing
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

from curator.pupils import account, ask_many, declared, question, write_pupils
from inbounds.curator import CapExceeded, Curator, parse_settings
from inbounds.errors import BudgetExceeded
from inbounds.ledger import Ledger

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
NUMBERS = itertools.count()


@pytest.fixture
def settings(postgres_server: Any, folder: Path) -> dict[str, Any]:
    """A curator's settings, in a database of its own."""
    name = f"curator_{next(NUMBERS)}"
    with psycopg.connect(postgres_server.url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    url = str(postgres_server.url).rsplit("/", 1)[0] + f"/{name}"
    write_pupils(folder / "pupils.parquet")
    return {**declared(folder, answer_seconds=2), "ledger": url, "database": url}


@pytest.mark.slow
def test_a_curator_on_postgresql_answers_as_on_sqlite(settings, folder):
    with Curator(parse_settings(settings, folder)) as curator:
        ana, bob = account(curator, "ana", "1"), account(curator, "bob")
        first = curator.ask(ana, "pupils", {**question(0), "by": ["school"]}, key="k")
        again = curator.ask(bob, "pupils", {**question(0, "0.25"), "by": ["school"]})
        whole = curator.ask(ana, "pupils", question(0))
        assert (first.how, again.how, whole.how) == ("new", "stronger", "sum")
        assert again.table == first.table
        assert whole.table["count"] == [sum(first.table["count"])]
        with pytest.raises(CapExceeded):
            curator.ask(ana, "pupils", question(1, "0.75"))
        with pytest.raises(BudgetExceeded):
            curator.ask(bob, "pupils", question(1, "7"))
        assert curator.find_account("bob").grants["pupils"].spent == Fraction(1, 2)


@pytest.mark.slow
def test_processes_that_share_a_database_share_budget_and_answers(settings, folder):
    with Curator(parse_settings(settings, folder)) as curator:
        tokens = [curator.add_account(f"account {k}", {"pupils": None}) for k in range(3)]
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    several = [context.Process(target=ask_many, args=(settings, folder, token, queue)) for token in tokens]
    for process in several:
        process.start()
    found = [queue.get(timeout=300) for _ in range(120)]
    for process in several:
        process.join()
    tables: dict[int, set[str]] = {}
    for k, table in found:
        tables.setdefault(k, set()).add(table)
    assert all(len(several - {""}) <= 1 for several in tables.values()), "two answers to one question"
    with Ledger.open(settings["ledger"]) as ledger:
        assert ledger.verify().people[0].spent == 6
        assert sum(entry.kind == "charge" for entry in ledger.entries()) == 12


@pytest.mark.slow
def test_several_workers_serve_one_address(settings, folder, free_port):
    import json

    with Curator(parse_settings(settings, folder)) as curator:
        token = curator.add_account("ana", {"pupils": None})
    (folder / "curator.toml").write_text(toml_of(settings))
    command = [sys.executable, "-m", "inbounds", "curator", "serve", str(folder / "curator.toml"), "--workers", "2"]
    process = subprocess.Popen([*command, "--port", str(free_port)], env={**os.environ, "PYTHONWARNINGS": "ignore"})
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{free_port}", headers={"Authorization": f"Bearer {token}"}
        ) as http:
            answers = [asked(http, question(0)) for _ in range(6)]
    finally:
        process.terminate()
        process.wait(60)
    assert len({json.dumps(answer["table"]) for answer in answers}) == 1
    with Ledger.open(settings["ledger"]) as ledger:
        assert ledger.people()[0].spent == Fraction(1, 2)


def asked(http: httpx.Client, values: dict[str, Any]) -> dict[str, Any]:
    """An answer, as soon as somebody listens."""
    for _ in range(600):
        try:
            found = http.post("/v1/datasets/pupils/answers", json=values, timeout=60)
        except httpx.TransportError:
            time.sleep(0.2)
            continue
        assert found.status_code == 200, found.text
        answer: dict[str, Any] = found.json()
        return answer
    raise AssertionError("nobody listens")


def toml_of(values: dict[str, Any]) -> str:
    """Settings as a file has them; JSON's texts, numbers and lists are TOML's."""
    import json

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return "{ " + ", ".join(f'"{name}" = {inline(part)}' for name, part in value.items()) + " }"
        return json.dumps(value)

    return "\n".join(f"{name} = {inline(value)}" for name, value in values.items())

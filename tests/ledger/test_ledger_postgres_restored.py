"""A ledger on PostgreSQL that was restored, by a dump or by recovery: it is closed like a restored file."""

import itertools
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import inbounds as ib
from curator.pupils import account, declared, question, write_pupils
from inbounds.curator import Curator, parse_settings
from inbounds.curator.database import open_database
from inbounds.curator.ledger_head import accept_head
from inbounds.ledger import Ledger
from raising import rejects
from storms.servers import PostgresServer

pytestmark = pytest.mark.long

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
NUMBERS = itertools.count()
DUMP, READ = (shutil.which(name) or f"/usr/bin/{name}" for name in ("pg_dump", "psql"))


@pytest.fixture
def url(postgres_server: Any) -> str:
    return new_database(postgres_server)


def new_database(server: Any) -> str:
    """A database of its own."""
    name = f"restored_{next(NUMBERS)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return str(server.url).rsplit("/", 1)[0] + f"/{name}"


def dumped(url: str) -> bytes:
    return subprocess.run([DUMP, url], check=True, capture_output=True).stdout


def read_into(url: str, dump: bytes) -> None:
    subprocess.run([READ, "-q", "-v", "ON_ERROR_STOP=1", url], input=dump, check=True, capture_output=True)


def charged(url: str) -> None:
    with Ledger.open(url) as ledger:
        ledger.add_population("pupils", 2)
        ledger.charge("pupils", 1, key="begun")


def is_closed(url: str) -> bool:
    with Ledger.open(url, create=False) as ledger:
        return ledger.is_closed


def test_a_dump_that_was_read_elsewhere_is_closed_until_its_owner_decides(url, postgres_server):
    charged(url)
    copy = new_database(postgres_server)
    read_into(copy, dumped(url))
    with Ledger.open(copy) as ledger, Ledger.open(copy) as other:
        assert other.is_closed
        for key in ("begun", "new"):
            with rejects(ib.LedgerError, about="is closed"):
                ledger.charge("pupils", 1, key=key)
        with ledger.importing():
            ledger.charge("pupils", "0.5", key="given meanwhile")
        ledger.reopen(imported=True)
        assert not other.is_closed
        with rejects(ib.LedgerError, about="charge 3"):
            other.charge("pupils", 1, key="begun")
        other.charge("pupils", "0.5", key="new")
        assert ledger.verify().people[0].remaining == 0
    assert not is_closed(copy)
    assert not is_closed(url)


def test_a_dump_that_was_read_into_its_own_database_is_closed(url):
    charged(url)
    dump = dumped(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA inbounds_ledger CASCADE")
    read_into(url, dump)
    with Ledger.open(url) as ledger:
        head = ledger.head()
        assert ledger.is_closed
        ledger.reopen(head)
        assert ledger.charge("pupils", 1, key="begun").repeated


def test_a_curator_whose_dump_was_read_elsewhere_is_closed_until_its_owner_decides(url, postgres_server, tmp_path):
    write_pupils(tmp_path / "pupils.parquet")

    def settings(place: str) -> Any:
        return parse_settings({**declared(tmp_path, answer_seconds=1), "ledger": place, "database": place}, tmp_path)

    with Curator(settings(url)) as curator:
        ana = account(curator, "ana")
        first = curator.ask(ana, "pupils", question(0))
        copy = new_database(postgres_server)
        read_into(copy, dumped(url))
        curator.ask(ana, "pupils", question(1))
    with Curator(settings(copy)) as curator:
        assert sum("is a restored backup" in line for line in curator.check_sources()) == 2
        assert curator.ask(ana, "pupils", question(0)).table == first.table
        with rejects(ib.LedgerError, about="is closed"):
            curator.ask(ana, "pupils", question(1))
        store = open_database(copy)
        accept_head(store, copy, settings(copy).datasets, write_off=True)
        store.close()
        with pytest.raises(ib.BudgetExceeded):
            curator.ask(ana, "pupils", question(1))


def test_a_crash_closes_nothing_and_recovery_to_a_moment_does(tmp_path):
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    home = tmp_path / "server"
    home.mkdir()
    for folder in (home, *list(home.parents)[:-1]):
        folder.chmod(0o755)
    server = PostgresServer(programs[-1], home)
    try:
        url = server.make_database("own")
        charged(url)
        server.stop_at_once()
        server.start()
        assert not is_closed(url)
        server.stop_at_once()
        (home / "data" / "postgresql.auto.conf").write_text("restore_command = 'false'\n", "ascii")
        (home / "data" / "recovery.signal").touch()
        server.start()
        with psycopg.connect(server.url, autocommit=True) as connection:
            while connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]:  # ends with the log, by itself
                time.sleep(0.05)
        assert is_closed(url)
    finally:
        server.stop_at_once()

"""The ledger on a real PostgreSQL server: weaker settings, tampering, a server that dies under its users."""

import contextlib
import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

import inbounds as ib
from inbounds.ledger import Ledger
from inbounds.ledger.postgres import Postgres
from inbounds.ledger.schema import POSTGRES, SchemaVersion
from raising import exceeds, rejects

pytestmark = pytest.mark.slow

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
NUMBERS = itertools.count()


@pytest.fixture
def url(postgres_server: Any) -> str:
    """A database of its own."""
    name = f"ledger_{next(NUMBERS)}"
    with psycopg.connect(postgres_server.url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    return str(postgres_server.url).rsplit("/", 1)[0] + f"/{name}"


@pytest.fixture
def ledger(url):
    with ib.Ledger.open(url) as made:
        made.add_population("pupils", epsilon=2)
        made.add_population("many", epsilon=2, rule="zcdp", delta="1e-6")
        yield made


def changed(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("SET search_path TO inbounds_ledger")
        for statement in statements:
            raw.execute(statement)


def test_charges_answers_and_refusals_are_as_on_sqlite(ledger, url):
    answer = ledger.stored_answers("pupils", "0.5", lambda charge: b"\x00drawn\xff", key="a", question={"x": 1})
    assert (
        ledger.stored_answers("pupils", "0.5", lambda charge: b"", key="a", question={"x": 1}).content == answer.content
    )
    with exceeds("pupils", left=Fraction(3, 2)):
        ledger.charge("pupils", 2, key="b")
    with rejects(ib.LedgerError, "key", about="earlier"):
        ledger.charge("pupils", 1, key="a")
    ledger.charge("many", "0.1", parts=["0.05", "0.05"], key="c")
    ledger.raise_budget("pupils", 3)
    with Ledger.open(url, create=False) as other:
        assert other.verify(ledger.head()).charges == 2
        assert other.people() == ledger.people()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET units = 1",
        "DELETE FROM entries",
        "TRUNCATE entries CASCADE",
        "UPDATE answers SET content = ''",
        "DELETE FROM answers",
        "DELETE FROM people",
        "TRUNCATE people CASCADE",
        "UPDATE people SET spent = 0",
        "UPDATE people SET spent = 2000000001 WHERE name = 'pupils'",
        "UPDATE people SET budget = NULL",
        "DELETE FROM steps",
        "INSERT INTO entries SELECT number + 9, time, kind, people, units, 'b', digest, facts, previous, sha256 "
        "FROM entries WHERE kind = 'charge'",
    ],
)
def test_the_database_itself_refuses_to_forget(ledger, url, statement):
    ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
    before = ledger.verify()
    with pytest.raises(psycopg.Error):
        changed(url, statement)
    assert ledger.verify() == before


@pytest.mark.parametrize(
    ("change", "about"),
    [
        ("UPDATE entries SET units = 1 WHERE kind = 'charge'", "entry 4 "),
        ("DELETE FROM answers", "stored answers"),
        ("UPDATE people SET spent = 0", "add up"),
    ],
)
def test_whoever_switches_the_guards_off_and_on_again_is_found(ledger, url, change, about):
    ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
    tables = ("entries", "answers", "people")
    off = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables]
    changed(url, *off)
    with rejects(ib.LedgerError, about="its trigger "):
        ledger.verify()
    changed(url, change, *(switch.replace("DISABLE", "ENABLE") for switch in off))
    with rejects(ib.LedgerError, about=about):
        ledger.verify()


NEUTERED = "CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("ALTER TABLE answers SET UNLOGGED", "table answers"),
        ("ALTER TABLE people ENABLE ROW LEVEL SECURITY", "table people"),
        ("ALTER TABLE people ALTER COLUMN spent TYPE numeric", "column people.spent"),
        ("ALTER TABLE people ALTER COLUMN spent DROP NOT NULL", "column people.spent"),
        ("DROP INDEX entries_key", "index entries_key"),
        ("DROP INDEX entries_key; CREATE INDEX entries_key ON entries (key, kind)", "index entries_key"),
        ("ALTER TABLE people DROP CONSTRAINT people_check", "check people_check"),
        ("ALTER TABLE entries DROP CONSTRAINT entries_people_fkey", "check entries_people_fkey"),
        ("ALTER TABLE answers DISABLE TRIGGER ALL", "check answers_entry_fkey"),
        ("ALTER TABLE entries DISABLE TRIGGER entries_never", "trigger entries_never"),
        ("DROP TRIGGER entries_kept ON entries", "trigger entries_kept"),
        ("CREATE RULE quiet AS ON UPDATE TO people DO INSTEAD NOTHING", "rule quiet"),
        ("CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'", "function more"),
        ("CREATE AGGREGATE more(bigint) (SFUNC = int8pl, STYPE = bigint)", "function more"),
        ("CREATE OPERATOR <<< (FUNCTION = int8lt, LEFTARG = bigint, RIGHTARG = bigint)", "operator <<<"),
        ('ALTER TABLE answers ADD COLUMN more text COLLATE "C"', "column answers.more"),
        ('ALTER TABLE entries ALTER COLUMN kind TYPE text COLLATE "C"', "column entries.kind"),
        ("CREATE TABLE public.more () INHERITS (answers)", "table answers"),
        *(
            (
                NEUTERED.format(name=words.split()[2].removesuffix("()")),
                f"function {words.split()[2].removesuffix('()')}",
            )
            for words in POSTGRES[0].statements
            if words.startswith("CREATE FUNCTION")
        ),
    ],
)
def test_whatever_is_not_as_it_was_made_is_found(ledger, url, change, found):
    assert ledger.verify().charges == 0
    changed(url, *change.split("; ") if change.startswith("DROP") else [change])
    with rejects(ib.LedgerError, about=f"its {found} "):
        ledger.verify()


def test_verifying_leaves_nothing_behind_and_says_what_right_it_needs(ledger, url):
    ledger.verify()
    with psycopg.connect(url, autocommit=True) as raw:
        assert raw.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'inbounds%'").fetchone() == (1,)
        raw.execute("DROP ROLE IF EXISTS reader")
        raw.execute("CREATE ROLE reader LOGIN")
        raw.execute("GRANT USAGE ON SCHEMA inbounds_ledger TO reader")
        raw.execute("GRANT SELECT ON ALL TABLES IN SCHEMA inbounds_ledger TO reader")
    with Ledger.open(url.replace("//postgres@", "//reader@"), create=False) as other:
        assert other.people() == ledger.people()
        with rejects(ib.LedgerError, about="schema"):
            other.verify()


def test_whatever_could_change_the_comparison_is_found(ledger, url):
    changed(url, "CREATE FUNCTION public.watch() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN END $$")
    changed(url, "CREATE EVENT TRIGGER watching ON ddl_command_end EXECUTE FUNCTION public.watch()")
    with rejects(ib.LedgerError, about="event trigger watching"):
        ledger.verify()


def test_a_session_that_does_not_ask_the_guards_is_refused(ledger, url):
    changed(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET session_replication_role TO replica")
    with rejects(ib.LedgerError, about="got replica"):
        Ledger.open(url)
    ledger._store._run("SET session_replication_role TO replica")
    with rejects(ib.LedgerError, about="got replica"):
        ledger.charge("pupils", 1, key="a")
    assert ledger.find("a") is None


def in_a_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def in_a_child(act):
    child = os.fork()
    if not child:
        act()
        os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.parametrize("elsewhere", [lambda act: act(), in_a_thread, in_a_child], ids=["here", "thread", "child"])
def test_whoever_verifies_in_the_middle_of_a_charge_is_refused_and_the_charge_is_made(url, elsewhere):
    errors, hook = [], []

    def verify():
        try:
            ledger.verify()
        except ib.LedgerError as error:
            errors.append(str(error))

    def clock():
        while hook:
            elsewhere(hook.pop())
        return time.time()

    with Ledger(Postgres(url, create=True), clock=clock) as ledger:
        ledger.add_population("pupils", epsilon=2)
        hook.append(verify)
        assert ledger.charge("pupils", 1, key="a").people.remaining == 1
        assert ledger.charge("pupils", 1, key="a").repeated
        assert ledger.verify().people[0].spent == 1
    assert len(errors) == (elsewhere is not in_a_child)


def test_weaker_settings_are_refused_before_anything_is_charged(ledger, url):
    ledger._store._run("SET synchronous_commit TO off")
    with rejects(ib.LedgerError, about="synchronous_commit off"):
        ledger.charge("pupils", 1, key="a")
    changed(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET synchronous_commit TO off")
    with rejects(ib.LedgerError, about="synchronous_commit off"):
        Ledger.open(url)
    changed(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} RESET synchronous_commit")
    for setting in ("fsync", "full_page_writes"):
        changed(url, f"ALTER SYSTEM SET {setting} = off", "SELECT pg_reload_conf()")
        try:
            _soon(lambda setting=setting: _refused(url, f"{setting} off"))
        finally:
            changed(url, f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")
    _soon(lambda: Ledger.open(url).close() is None)


def _refused(url: str, words: str) -> bool:
    try:
        Ledger.open(url).close()
    except ib.LedgerError as error:
        return words in str(error)
    return False


def _soon(holds: Any) -> None:
    """A server reads its settings again a moment later."""
    for _ in range(100):
        try:
            if holds():
                return
        except ib.LedgerError:
            pass
        time.sleep(0.1)
    raise AssertionError("did not come true within ten seconds")


def test_a_ledger_of_an_older_version_is_brought_forward(url):
    with Ledger(Postgres(url, create=True)) as old:
        old.add_population("pupils", epsilon=2)
        old.charge("pupils", 1, key="a")
    later = SchemaVersion(("CREATE INDEX entries_time ON entries (time)",))
    new = Postgres(url, create=False, steps=(*POSTGRES, later))
    assert list(new.migrated_steps) == [len(POSTGRES) + 1]
    with Ledger(new) as ledger:
        assert ledger.verify().people[0].spent == 1


def test_threads_that_share_a_connection_are_refused_and_no_receipt_is_lost(ledger):
    ledger.add_population("poor", epsilon="0.001")
    receipts = []

    def ask(k: int) -> None:
        for name in ("poor", "pupils"):
            with contextlib.suppress(ib.LedgerError, ib.BudgetExceeded):
                receipts.append(ledger.charge(name, "0.001" if name == "pupils" else 1, key=f"{k} {name}"))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(ask, range(60)))
    assert receipts == []
    assert ledger.verify().charges == 0


def test_a_charge_is_no_receipt_if_its_transaction_was_ended_by_somebody_else(ledger):
    own = ledger._append

    def undone(*values, **named):
        made = own(*values, **named)
        ledger._store._run("ROLLBACK")
        return made

    ledger._append = undone
    with rejects(ib.LedgerError, about="commit"):
        ledger.charge("pupils", "0.1", key="a")
    ledger._append = own
    assert ledger.find("a") is None


def test_a_transaction_inside_another_is_refused(ledger):
    with ledger._store.writing(), rejects(ib.LedgerError, about="transaction"):
        ledger.charge("pupils", "0.1", key="a")
    ledger.charge("pupils", "0.1", key="a")


def test_a_connection_carried_into_a_child_process_is_refused_and_left_alone(ledger, monkeypatch):
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        with rejects(ib.LedgerError, about="process"):
            ledger.charge("pupils", "0.1", key="a")
        ledger.close()
    ledger.charge("pupils", "0.1", key="a")


def test_a_database_without_a_ledger_is_not_made_one_unasked(url):
    with rejects(ib.LedgerError, about="got none"):
        Ledger.open(url, create=False)


def test_a_server_stopped_at_once_again_and_again_loses_no_acknowledged_charge(postgres_server, url):
    each, budget, keys = Fraction(1, 10), 20, [f"k{k}" for k in range(230)]
    with Ledger.open(url) as ledger:
        ledger.add_population("p", budget)
    receipts: dict[str, list[bytes]] = {}
    over = threading.Event()

    def worker(seed: int) -> None:
        turn = keys[seed * 29 % len(keys) :] + keys[: seed * 29 % len(keys)]
        for key in turn:
            while not over.is_set():
                try:
                    with Ledger.open(url) as mine:
                        found = mine.stored_answers(
                            "p", each, lambda charge: f"{seed} {time.time_ns()}".encode(), key=key
                        )
                    receipts.setdefault(key, []).append(found.content)
                except ib.BudgetExceeded:
                    pass
                except ib.LedgerError:
                    time.sleep(0.05)  # the server is down: ask again with the same key
                    continue
                break

    threads = [threading.Thread(target=worker, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(6):
        time.sleep(0.7)
        postgres_server.stop_at_once()
        postgres_server.start()
    for thread in threads:
        thread.join(timeout=300)
    over.set()
    with Ledger.open(url) as ledger:
        found = ledger.verify()
        assert all(len(set(answers)) == 1 for answers in receipts.values())
        assert len(receipts) * each == found.people[0].spent == budget
        for key, answers in receipts.items():
            assert ledger.find(key).answer == answers[0]

"""A wire that is cut after every single message: a lost connection is an ordinary event, for ledger and curator.

Every message counts, the client's and the server's, also those by which a connection is opened. Whatever was cut, the
same request again gets the one outcome, and what everybody saw is a history of the ledger.
"""

from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from itertools import count

import pytest

from curator.clocks import SkippedTime
from curator.pupils import account, declared, question, write_pupils
from inbounds.curator import Curator, DatasetClosed, EvaluationFailed, parse_settings
from inbounds.curator.curator import OWNER
from inbounds.curator.errors import CuratorUnavailable
from inbounds.errors import LedgerError
from inbounds.ledger import Ledger
from raising import rejects
from storms.histories import Recorder, judge
from storms.wire import Wire

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")


@pytest.mark.slow
@pytest.mark.parametrize("kept_open", [True, False], ids=["open", "opened for each"])
def test_a_ledger_whose_wire_is_cut_after_any_message_answers_once(url, kept_open):
    with Ledger.open(url) as ledger:
        ledger.add_population("p", 1)
    recorder, felt = Recorder(), 0
    with Wire(url) as wire, Ledger.open(wire.url) as own:
        for k in count(1):
            before = wire.cuts
            wire.cut_after(k)
            open_ledger = (lambda: nullcontext(own)) if kept_open else partial(Ledger.open, wire.url, create=False)
            attempts = 0
            while not recorder.ask(open_ledger, "p", k, f"k{k}", f"{attempts}".encode()):
                attempts += 1
                assert attempts < 3
            felt += attempts
            if wire.cuts == before:
                break
    assert k > 40
    assert felt > 10
    with Ledger.open(url) as ledger:
        judge([recorder], ledger, "p")


@pytest.mark.long
def test_a_connection_that_is_cut_between_two_requests_is_not_felt(url, caplog):
    with Wire(url) as wire, Ledger.open(wire.url) as ledger:
        ledger.add_population("p", 1)
        for k, use in enumerate((ledger.head, ledger.people, ledger.verify, lambda: ledger.charge("p", "0.1"))):
            wire.cut_all()
            use()
            assert len(caplog.records) == k + 1
            assert "was lost and is opened again" in caplog.text


@pytest.mark.long
def test_a_server_that_lost_what_it_acknowledged_is_refused_when_a_connection_is_opened_again(url, postgres_server):
    name = url.rsplit("/", 1)[1]
    with Ledger.open(url) as ledger:
        ledger.add_population("p", 1)
    postgres_server.make_database("older", template=name)
    with Ledger.open(url) as ledger:
        ledger.charge("p", "0.1", key="a")
        postgres_server.make_database(name, template="older")  # as after a failover to a standby that was behind
        for act in (ledger.head, lambda: ledger.charge("p", "0.1", key="b"), lambda: ledger.find("a")):
            with rejects(LedgerError, about="2 entries, the head 3"):
                act()


@pytest.mark.slow
def test_a_writer_that_hangs_is_waited_for_with_patience_and_ended_by_the_server(url, monkeypatch):
    monkeypatch.setattr("inbounds.ledger.postgres.LIMITS", "SET lock_timeout = 100")
    with Ledger.open(url) as ledger, psycopg.connect(url) as hung:
        ledger.add_population("p", 1)
        hung.execute("LOCK TABLE inbounds_ledger.entries IN SHARE ROW EXCLUSIVE MODE")
        with rejects(LedgerError, about="another process"):
            ledger.charge("p", "0.1", key="a")
        hung.rollback()
        assert not ledger.charge("p", "0.1", key="a").repeated
    monkeypatch.undo()
    with Ledger.open(url) as ledger:
        assert ledger._store.look("SELECT current_setting('lock_timeout')") == [("10s",)]
        assert ledger._store.look("SELECT current_setting('idle_in_transaction_session_timeout')") == [("30s",)]


@pytest.fixture
def settings(url, tmp_path):
    write_pupils(tmp_path / "pupils.parquet")
    values = declared(tmp_path, budget={"epsilon": 1000}, answer_seconds=20)
    values["limits"] |= {"evaluations": 1}
    return values


@pytest.mark.slow
def test_a_curator_whose_connections_were_all_ended_answers_the_next_request(settings, url, tmp_path):
    with Wire(url) as wire:
        settings |= {"ledger": wire.url, "database": wire.url}
        with Curator(parse_settings(settings, tmp_path), time=SkippedTime()) as curator:
            ana = account(curator, "ana")
            first = curator.ask(ana, "pupils", question(0))
            for k in range(1, 4):
                wire.cut_all()
                assert curator.ask(ana, "pupils", question(0)).table == first.table
                wire.cut_all()
                assert curator.ask(ana, "pupils", question(k)).how == "new"
            assert curator.reopened >= 12


@pytest.mark.slow
def test_a_curator_whose_wire_is_cut_after_any_message_charges_once_and_answers_at_most_once(settings, url, tmp_path):
    outcomes = dict[int, str]()
    with Wire(url) as wire:
        settings |= {"ledger": wire.url, "database": wire.url}
        with Curator(parse_settings(settings, tmp_path), time=SkippedTime()) as curator:
            ana, bob = account(curator, "ana"), account(curator, "bob")
            curator.ask(ana, "pupils", question(0), key="0")
            for k in count(1):
                before = wire.cuts
                wire.cut_after(k)
                outcomes[k] = ask_until_decided(curator, ana, k)
                wire.cut_after(0)
                if outcomes[k] != "failed":
                    tables = [curator.ask(who, "pupils", question(k)).table for who in (ana, bob)]
                    assert tables[0] == tables[1]
                if wire.cuts == before:
                    break
                assert k < 1000, "a question takes no fixed number of messages"
            failed = sum(outcome == "failed" for outcome in outcomes.values())
            (status,) = curator.statuses(OWNER)
            assert status.observations == failed < k / 2
            assert curator.find_account("ana").grants["pupils"].spent == Fraction(k + 1, 2)
    assert k > 40
    with Ledger.open(url) as ledger:
        report = ledger.verify()
    assert (report.charges, report.people[0].spent) == (k + 1, Fraction(k + 1, 2))
    assert report.charges - report.answers <= failed


def ask_until_decided(curator: Curator, ana, k: int) -> str:
    """Ask with the same key until there is an answer, or the question has failed; the owner reopens what closed."""
    for _ in range(6):
        try:
            return curator.ask(ana, "pupils", question(k), key=f"{k}").how
        except EvaluationFailed:
            return "failed"
        except (CuratorUnavailable, LedgerError):
            continue
        except DatasetClosed:
            curator.reopen(OWNER, "pupils")
    raise AssertionError("no outcome")

"""The locks of a ledger's file: nothing that this process does with the file costs them, and no child inherits them.

POSIX drops all locks of a process on a file when it closes any descriptor of it; then other processes take themselves
for the last, and delete the log of those who go on (SQLite's documentation, "How To Corrupt An SQLite Database File").
"""

import contextlib
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import inbounds as ib
from inbounds.files import LoadedFile, detect_format, refuse_database
from inbounds.files.open_files import acquire, find_open_database, hash_file, iter_chunks, read_start, release
from inbounds.ledger import Ledger
from inbounds.ledger.sqlite import is_ledger
from inbounds.schema.errors import SourceError
from raising import raises_at, rejects

LOCKS = Path("/proc/locks")
on_linux = pytest.mark.skipif(not LOCKS.exists(), reason="the locks of other systems cannot be read")
by_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def locks(path: Path) -> int:
    """How many locks this process has on a file."""
    mark = f":{path.stat().st_ino} "
    return sum(mark in line and f" {os.getpid()} " in line for line in LOCKS.read_text().splitlines())


def both(file: Path) -> tuple[bool, bool]:
    """Whether the file and the index of its log are locked."""
    return locks(file) > 0, locks(Path(f"{file}-shm")) > 0


@pytest.fixture
def file(memory):
    with Ledger.open(memory / "budget.csv") as made:
        made.add_population("pupils", epsilon=3)
    return memory / "budget.csv"


def another_process(file: Path, code: str) -> str:
    """What another process says that has the file's name."""
    words = f"import os, sqlite3, sys\nfrom inbounds.ledger import Ledger\nfile = {str(file)!r}\n{code}"
    found = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, timeout=120)
    return (found.stdout + found.stderr[-300:]).strip()


def opened_again(file: Path) -> None:
    Ledger.open(file).close()


def opened_in_a_thread(file: Path) -> None:
    thread = threading.Thread(target=opened_again, args=(file,))
    thread.start()
    thread.join()


def refused(file: Path) -> None:
    with rejects(ValueError, "output"):
        refuse_database(file)
    with rejects(ValueError, "output"):
        refuse_database(Path(f"{file}-shm"))


def read_as_json(file: Path) -> None:
    with pytest.raises(ib.PassportError):
        _ = LoadedFile.load(file).document


def named_by_a_record(file: Path) -> None:
    from inbounds.checker import read_table

    with rejects(ib.PassportError, about="digest"):
        read_table(file, "0" * 64)


def taken_for_data(file: Path) -> None:
    plan = {
        "source": {"path": str(file)},
        "groups": {"by": ["class"], "keys": ["7a"], "size": 25},
        "columns": {"likes": {"labels": ["yes", "no"]}},
        "statistics": [{"count": "likes = 'yes'", "name": "n"}],
        "privacy": {"epsilon": 1},
    }
    with raises_at(SourceError, ("source", "path"), about="open"):
        ib.release(plan)


def taken_for_reports(file: Path) -> None:
    from inbounds.local.files import read

    with rejects(ValueError, "data"):
        read(file, ["x"])


READERS = [
    opened_again,
    opened_in_a_thread,
    refused,
    read_as_json,
    named_by_a_record,
    taken_for_data,
    taken_for_reports,
    is_ledger,
    detect_format,
    ib.verify,
    hash_file,
    lambda file: [*iter_chunks(f"{file}-shm")],
    lambda file: ib.verify(f"{file}-shm"),
]


@on_linux
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_ledger_keeps_its_locks_whatever_this_process_does_with_its_file(file, read):
    with Ledger.open(file) as ledger:
        assert both(file) == (True, True)
        with contextlib.suppress(ib.PassportError):
            read(file)
        assert both(file) == (True, True)
        assert ledger.charge("pupils", 1).people.spent == 1
    assert locks(file) == 0


@on_linux
@pytest.mark.parametrize("come_and_go", [opened_again, opened_in_a_thread])
def test_a_ledger_that_was_just_made_keeps_its_locks_too(memory, come_and_go):
    """Without the lock on the index of its log, another process would begin the index anew."""
    with Ledger.open(memory / "new.db"):
        come_and_go(memory / "new.db")
        assert both(memory / "new.db") == (True, True)


def test_a_file_that_was_read_is_open_no_more(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 5)
    before = len(os.listdir("/dev/fd"))
    assert read_start(tmp_path / "a", 4) == b"abca"
    assert b"".join(iter_chunks(tmp_path / "a", 4)) == b"abc" * 5
    one, other = acquire(tmp_path / "a"), acquire(tmp_path / "a")
    assert len(os.listdir("/dev/fd")) == before + 1
    release(one)
    release(other)
    Ledger.open(tmp_path / "budget.db").close()
    assert len(os.listdir("/dev/fd")) == before


def test_a_ledger_that_nobody_closed_is_open_no_more_once_it_is_forgotten(tmp_path):
    gc.collect()  # of what other tests left
    before = len(os.listdir("/dev/fd"))
    Ledger.open(tmp_path / "budget.db").add_population("pupils")
    gc.collect()
    assert find_open_database(tmp_path / "budget.db") is None
    assert len(os.listdir("/dev/fd")) == before


def test_a_ledger_forgotten_while_another_file_is_taken_hold_of_is_let_go_afterwards(file, tmp_path, monkeypatch):
    forgotten, stat = [Ledger.open(tmp_path / "budget.db")], os.stat

    def tidied_up(*asked, **named):
        forgotten.clear()
        gc.collect()
        return stat(*asked, **named)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "stat", tidied_up)
        held = acquire(file)
    release(held)
    assert find_open_database(tmp_path / "budget.db") is None


def test_a_file_whose_opening_failed_is_open_no_more(tmp_path):
    raw = sqlite3.connect(tmp_path / "other.db")
    raw.execute("CREATE TABLE t (x)")
    raw.close()
    before = len(os.listdir("/dev/fd"))
    with rejects(ib.LedgerError, about="no ledger"):
        Ledger.open(tmp_path / "other.db")
    assert len(os.listdir("/dev/fd")) == before


def test_a_pipe_is_read_and_a_folder_is_not(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"x" * 9,))
    writer.start()
    assert b"".join(iter_chunks(tmp_path / "pipe", 4)) == b"x" * 9
    writer.join()
    with pytest.raises(IsADirectoryError):
        read_start(tmp_path, 4)


@on_linux
def test_no_other_process_can_change_the_journal_of_a_ledger_that_is_open(file):
    with Ledger.open(file) as ledger:
        said = another_process(file, "sqlite3.connect(file, timeout=0).execute('PRAGMA journal_mode = DELETE')")
        assert "database is locked" in said
        assert ledger.charge("pupils", 1).people.remaining == 2


def test_a_charge_beside_another_process_that_came_and_went_outlives_a_kill(file):
    said = another_process(
        file,
        "import subprocess\n"
        "ledger = Ledger.open(file)\n"
        "words = 'import sys; from inbounds.ledger import Ledger; Ledger.open(sys.argv[1]).close()'\n"
        "subprocess.run([sys.executable, '-c', words, file], check=True)\n"
        "print(ledger.charge('pupils', 3, key='k').people.remaining, flush=True)\n"
        "os.kill(os.getpid(), 9)",
    )
    assert said == "0"
    with Ledger.open(file) as ledger:
        assert (ledger.people()[0].remaining, ledger.verify().charges) == (0, 1)


COMING_AND_GOING = """
for k in range(int(sys.argv[1])):
    with Ledger.open(file) as ledger:
        ledger.charge("pupils", "0.001", key=f"{sys.argv[2]} {k}")
"""


def come_and_go(file: Path, processes: int, times: int) -> None:
    words = f"import sys\nfrom inbounds.ledger import Ledger\nfile = {str(file)!r}\n{COMING_AND_GOING}"
    running = [subprocess.Popen([sys.executable, "-c", words, str(times), str(k)]) for k in range(processes)]
    assert [process.wait(timeout=500) for process in running] == [0] * processes
    with Ledger.open(file) as ledger:
        assert ledger.verify().charges == processes * times
        assert ledger.people()[0].spent * 1000 == processes * times


@pytest.mark.long
def test_processes_that_open_charge_and_close_lose_nothing(file):
    come_and_go(file, processes=4, times=12)


@pytest.mark.slow
def test_many_processes_that_open_charge_and_close_lose_nothing(file):
    come_and_go(file, processes=8, times=300)


# --- children -----------------------------------------------------------------------------------------------


def in_a_child(act) -> str:
    """What a forked child raises; nothing if nothing."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        try:
            act()
        except BaseException as error:
            os.write(sink, str(error).encode())
        finally:
            os._exit(0)
    os.close(sink)
    os.waitpid(child, 0)
    with os.fdopen(source) as file:
        return file.read()


@pytest.mark.long
@by_fork
@pytest.mark.parametrize("end", ["ledger.close()", "del ledger", "pass"])
def test_a_child_never_deletes_the_log_of_somebody_else(file, end):
    """A child that ends its inherited ledger, by hand or with the interpreter, after the parent and another came."""
    code = f"""
import subprocess
ledger = Ledger.open(file)
source, sink = os.pipe()
child = os.fork()
if child == 0:
    os.close(sink)
    os.read(source, 1)
    {end}
    sys.exit()
ledger.close()
words = "import os, sys; from inbounds.ledger import Ledger; ledger = Ledger.open(sys.argv[1]); " \\
    "ledger.charge('pupils', 3, key='k'); os.kill(os.getpid(), 9)"
subprocess.run([sys.executable, "-c", words, file])
os.write(sink, b"x")
os.waitpid(child, 0)
print(os.path.exists(file + "-wal"))
"""
    assert another_process(file, code) == "True"
    with Ledger.open(file) as ledger:
        assert (ledger.people()[0].remaining, ledger.verify().charges) == (0, 1)


@by_fork
def test_a_child_cannot_open_what_its_parent_has_open(file):
    """SQLite would believe that the child has the locks of its parent, and it has none."""
    with Ledger.open(file) as ledger:
        assert "must not be open when a process is forked" in in_a_child(lambda: Ledger.open(file))
        assert "opened by another process" in in_a_child(lambda: ledger.charge("pupils", 1))
        assert in_a_child(ledger.close) == ""
        assert ledger.charge("pupils", 1).people.spent == 1
    assert in_a_child(lambda: Ledger.open(file).charge("pupils", 1, key="of the child")) == ""
    with Ledger.open(file) as ledger:
        assert ledger.find("of the child") is not None


# --- one name -----------------------------------------------------------------------------------------------


@pytest.fixture
def mounted(file):
    """The same file under another name, as a container has it that was given the file alone."""
    other = file.parent / "container" / file.name
    other.parent.mkdir()
    other.touch()
    mount = shutil.which("mount")
    if mount is None or subprocess.run([mount, "--bind", file, other], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield other
    subprocess.run(["umount", other], check=True)


def test_a_file_that_was_mounted_by_itself_is_refused(file, mounted):
    with rejects(ib.LedgerError, about="mounted"):
        Ledger.open(mounted)
    link = file.parent / "link"
    link.symlink_to(mounted)
    with rejects(ib.LedgerError, about="mounted"):
        Ledger.open(link)
    Ledger.open(file).close()

"""The storms themselves: each runs for a moment, finds nothing, and says what it met; a lie in its history is found."""

import random
import subprocess
import sys

import pytest

from inbounds.ledger import Ledger
from storms import storm
from storms.histories import Recorder


@pytest.mark.slow
@pytest.mark.parametrize("name", storm.STORMS)
def test_each_storm_prints_figures_of_what_it_broke_and_finds_nothing(name):
    command = [sys.executable, storm.__file__, "--seconds", "5", "--seed", "11", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("seed 11\n")
    assert f"{name}: " in done.stdout


def test_a_storm_that_finds_something_says_so_and_fails(monkeypatch, capsys):
    def wrong(folder, choose: random.Random, seconds):
        with Ledger.open(folder / "l.db") as ledger:
            ledger.add_population("p", 1)
            recorder = Recorder()
            recorder._note("k", 5, 0, "new", 3, 5)
            storm.judge([recorder], ledger, "p")

    monkeypatch.setattr(storm, "STORMS", {"ledger": wrong})
    monkeypatch.setattr("sys.argv", ["storm.py", "--seconds", "1"])
    assert storm.main() == 1
    assert "ledger: WRONG" in capsys.readouterr().out

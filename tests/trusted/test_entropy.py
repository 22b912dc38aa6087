"""What is drawn for people is decided by the operating system's entropy, eight bytes a report, and nothing else.

Here that entropy is a stream we know: the same stream gives the same reports, another one gives others. A generator
with a state of its own, seeded or not, would show. By accident two streams agree with a chance below 1e-50.
"""

import hashlib
import itertools
import os
import random
import sys

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
import inbounds.local
import inbounds.releases.pipeline  # the package loads it lazily
from inbounds.cli import main
from inbounds.sideinfo.sensitivity import median
from inbounds.sideinfo.smooth import smooth_release
from inbounds.trusted.samplers import seeded_entropy

MANY = 400
ID_BYTES = 16
NOISY = ib.catalog.truncated_geometric(ib.count(100), "1/10")
WIDE = ib.catalog.truncated_geometric(ib.count(10**6), "1/10")
KEYS = [str(k) for k in range(MANY)]
PLAN = {
    "groups": {"by": ["g"], "keys": KEYS, "size": [9] * 200 + [10] * 100 + [500] * 100},
    "columns": {"c": {"labels": ["p", "q"]}},
    "statistics": [{"count": "c = 'p'"}, {"histogram": "c"}],
    "privacy": {"epsilon": "1/2"},
}


class Stream:
    """Bytes that follow from a name, and how many were taken; 16 at once are a random id, which decides nothing."""

    def __init__(self, name: str) -> None:
        self.name, self.calls, self.taken = name, 0, 0

    def __call__(self, count: int) -> bytes:
        self.calls += 1
        self.taken += 0 if count == ID_BYTES else count
        return hashlib.shake_256(f"{self.name} {self.calls}".encode()).digest(count)


def released(folder, capsys):
    table = ib.release(PLAN, pa.table({"g": KEYS, "c": ["p"] * MANY}), cache=folder / "cache").table
    return [table[name].to_pylist() for name in ("count", "c: p", "c: q")]


EDITIONS = itertools.count()


def released_by_command(folder, capsys):
    (folder / "data.csv").write_text("g,c\n" + "".join(f"{key},p\n" for key in KEYS))
    (folder / "keys.txt").write_text("\n".join(KEYS))
    words = ["release", "data.csv", "--by", "g", "--keys", "keys.txt", "--size", "9", "--epsilon", "1/2", "--count"]
    edition = f"--edition={next(EDITIONS)}"  # the same again would be the table that is stored
    command([*words, "c = 'p'", "--cache", "cache", "--out", "out.csv", "--overwrite", edition, "--new-data"])
    capsys.readouterr()
    return (folder / "out.csv").read_text()


def sampled_by_command(folder, capsys):
    NOISY.save(folder / "m.json")
    command(["sample", "m.json", *["50"] * MANY])
    return capsys.readouterr().out


def randomized_by_command(folder, capsys):
    NOISY.save(folder / "m.json")
    (folder / "values.csv").write_text("v\n" + "50\n" * MANY)
    (folder / "private.csv").unlink(missing_ok=True)
    command(["local", "randomize", "values.csv", "--column", "v", "-m", "m.json", "--out", "private.csv"])
    capsys.readouterr()
    return (folder / "private.csv").read_text()


def command(words):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["inbounds", *words])
        with pytest.raises(SystemExit) as stop:
            main()
    assert not stop.value.code


TRUTHS = [50] * MANY
LEVELS = ib.make_chain(ib.count(20), [1, "1/2", "1/4"])
SMOOTH, MEDIAN = smooth_release(0, 3, 1, "0.3"), median([0, 1, 2, 3, 3], 0, 3)

DRAWN = {
    "sample, matrix": (lambda *_: NOISY.sample(TRUTHS).tolist(), MANY),
    "sample, noise table": (lambda *_: WIDE.sample(TRUTHS).tolist(), MANY),
    "sample, one by one": (lambda *_: [NOISY.sample(50) for _ in TRUTHS], MANY),
    "randomise": (lambda *_: [NOISY.sample(50, clip=True) for _ in TRUTHS], MANY),
    "several levels": (lambda *_: [level.tolist() for level in LEVELS.sample([10] * MANY)], 3 * MANY),
    "a smooth release": (lambda *_: [SMOOTH.sample(MEDIAN) for _ in TRUTHS], MANY),
    "a column of a table": (lambda *_: ib.local.make_randomizer(NOISY)(pa.array(TRUTHS)).to_pylist(), MANY),
    "a person's client": (lambda *_: ib.local.make_randomizer(NOISY)(TRUTHS).tolist(), MANY),
    "a release": (released, 3 * MANY),
    "the command release": (released_by_command, MANY),
    "the command sample": (sampled_by_command, MANY),
    "the command local randomize": (randomized_by_command, MANY),
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_systems_entropy_decides_every_report_and_nothing_else_does(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    drawn, reports = DRAWN[name]
    drawn(tmp_path, capsys)  # designs are kept, files are there

    def never(*_, **__):
        raise AssertionError("a generator that is not the operating system's")

    for module, names in ((np.random, ("default_rng", "random", "rand", "randint")), (random, ("random", "Random"))):
        for forbidden in names:
            monkeypatch.setattr(module, forbidden, never)
    seen = []
    for stream in (Stream("one"), Stream("one"), Stream("other")):
        monkeypatch.setattr(os, "urandom", stream)
        seen.append(drawn(tmp_path, capsys))
        assert stream.taken == 8 * reports
    monkeypatch.undo()
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_the_watch_sees_a_generator_that_was_made_before(monkeypatch):
    """A twin that must fail: draws of a generator that is there already do not follow the stream."""
    draws = seeded_entropy(np.random.default_rng())
    stream = Stream("one")
    monkeypatch.setattr(os, "urandom", stream)
    first, again = (NOISY._report(TRUTHS, draws).tolist() for _ in range(2))
    assert first != again
    assert stream.taken == 0

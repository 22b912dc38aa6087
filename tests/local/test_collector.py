"""Collecting reports: any batches, any order of merging, files that are whole or absent, processes that die."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.local.collector import Collector, fingerprint, tally
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from raising import rejects

MECHANISM = ib.catalog.truncated_geometric(ib.ordinal(0, 6), 1)
LABELS = ib.catalog.randomized_response(ib.category(["tea", "coffee", "water"]), 1)
batches = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=8)


def collected(batch) -> Collector:
    return Collector(MECHANISM).add(np.array(batch, dtype=np.int64))


def in_random_tree(parts: list[Collector], rng) -> Collector:
    """Merge in an arbitrary order and nesting, as an engine's tree of reducers would."""
    parts = list(parts)
    while len(parts) > 1:
        one, other = (parts.pop(rng.randrange(len(parts))) for _ in range(2))
        parts.append(one.merge(other))
    return parts[0]


@given(batches, st.randoms(use_true_random=False))
def test_any_split_and_merge_order_gives_the_same_counts(split, rng):
    everything = [report for batch in split for report in batch]
    expected = [everything.count(value) for value in range(7)]
    assert in_random_tree([collected(batch) for batch in split], rng).counts.tolist() == expected
    streamed = reduce(lambda collector, batch: collector.add(np.array(batch, dtype=int)), split, Collector(MECHANISM))
    assert streamed.counts.tolist() == expected
    assert streamed.total == len(everything)


@given(batches)
def test_merging_is_commutative_and_associative_with_the_empty_collector_as_zero(split):
    parts = [collected(batch) for batch in (*split, [], [])][:3]
    a, b, c = parts
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Collector(MECHANISM) == a
    assert Collector.merge_all(parts) == a + b + c


def test_merging_leaves_both_sides_as_they_were():
    one, other = collected([1, 2]), collected([2])
    both = one.merge(other)
    both.add([0])
    assert (one.total, other.total, both.total) == (2, 1, 4)


def test_counts_are_a_copy():
    collector = collected([1])
    collector.counts[0] = 99
    assert collector.total == 1


def test_a_batch_with_one_bad_report_adds_nothing():
    collector = collected([1, 2])
    for bad in ([3, 7], [0, -1], [[1, 2], [3, 100]]):
        with rejects(ValueError, "reports"):
            collector.add(bad)
    with rejects(ValueError, "reports", about="2 of 3"):
        Collector(LABELS).add(["tea", "cocoa", 5])
    with rejects(TypeError, "reports"):
        collector.add(["1"])
    assert collector.total == 2


def test_labels_scalars_arrays_and_floats_are_counted():
    assert Collector(LABELS).add(["tea", "water", "tea"]).counts.tolist() == [2, 0, 1]
    assert Collector(LABELS).add("coffee").counts.tolist() == [0, 1, 0]
    assert Collector(MECHANISM).add(3).add([[1, 2], [3, 3]]).counts.tolist() == [0, 1, 1, 3, 0, 0, 0]
    assert Collector(MECHANISM).add([3.0, 1.0]).total == 2
    tenths = ib.catalog.truncated_geometric(ib.mean(10, 0, 1), 1)
    reports = tenths.simulate(np.full(100, 0.3), np.random.default_rng(0))
    assert Collector(tenths).add(reports).counts.tolist() == [np.isclose(reports, k / 10).sum() for k in range(11)]


def test_every_report_a_mechanism_can_make_is_counted_at_its_own_output():
    coarse = ib.catalog.truncated_geometric(ib.ordinal(0, 30, outputs=[(-1, 3), (3, 11), (11, 31)]), 1)
    for mechanism in (MECHANISM, LABELS, coarse):
        outputs = len(mechanism.query.outputs)
        assert tally(mechanism.query.output_values, mechanism.query).tolist() == [1] * outputs
        for k, value in enumerate(mechanism.query.output_values.tolist()):
            assert Collector(mechanism).add([value]).counts[k] == 1


def test_counted_reports_are_added_as_often_as_they_occur():
    collector = Collector(MECHANISM).add_counts([4, 0, 4], [10, 1, 2])
    assert collector.counts.tolist() == [1, 0, 0, 0, 12, 0, 0]
    for times, subject, about in (
        ([-1], "counts", "negative"),
        ([1.5], "counts", "whole"),
        ([1, 2], "times", "1 reports, got 2"),
    ):
        with rejects(ValueError, subject, about=about):
            collector.add_counts([4], times)


def test_collectors_of_different_mechanisms_do_not_merge():
    other = ib.catalog.truncated_geometric(ib.ordinal(0, 6), 2)
    with rejects(ValueError, "collectors"):
        collected([1]).merge(Collector(other))
    with rejects(TypeError, about="Collector"):
        collected([1]).merge([1])
    with rejects(ValueError, "collectors"):
        Collector.merge_all([])
    with rejects(TypeError, "mechanism"):
        Collector("m.json")


def test_mechanisms_that_differ_in_one_part_of_their_law_are_told_apart():
    """The same noise read in another way, or noise that ends otherwise, is another law."""
    query = ib.count(6)
    noise = make_geometric_noise(query, Fraction(1))
    remaps = [None, np.arange(7), np.array([0, 0, 2, 3, 4, 6, 6])]
    laws = [Noise(noise.core, noise.floor, noise.end, noise.size, remap) for remap in remaps]
    laws.append(make_geometric_noise(query, Fraction(9, 10)))
    made = [Mechanism(query, Fraction(1), law, Origin("test")) for law in laws]
    assert len({fingerprint(mechanism) for mechanism in made}) == len(made)
    with rejects(ValueError, "collectors"):
        Collector(made[0]).merge(Collector(made[2]))


def test_equal_laws_from_different_places_are_one_mechanism():
    """What matters is the law and what it reports, not who built it: a file, a pickle, a certified matrix."""
    twin = pickle.loads(pickle.dumps(MECHANISM))
    again = ib.certify(MECHANISM.matrix, MECHANISM.query, MECHANISM.epsilon)
    assert fingerprint(twin) == fingerprint(MECHANISM)
    assert (collected([1]) + Collector(twin).add([2])).total == 2
    if np.array_equal(again.weights, MECHANISM.weights):
        assert fingerprint(again) == fingerprint(MECHANISM)
    renamed = ib.catalog.randomized_response(ib.category(["tea", "coffee", "wine"]), 1)
    assert fingerprint(renamed) != fingerprint(LABELS)


def test_a_collector_survives_pickling():
    collector = collected([1, 5, 5])
    assert pickle.loads(pickle.dumps(collector)) == collector


# --- files ------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(batches)
def test_a_saved_collection_reads_back_equal(tmp_path_factory, split):
    path = tmp_path_factory.mktemp("collection") / "counts.json"
    collector = Collector.merge_all([collected(batch) for batch in split])
    collector.save(path)
    assert Collector.load(path, MECHANISM) == collector
    assert os.listdir(path.parent) == ["counts.json"]


def test_a_large_noise_table_is_saved_by_its_fingerprint(tmp_path):
    large = ib.catalog.truncated_geometric(ib.ordinal(0, 100_000), Fraction(1, 10))
    Collector(large).add([0, 100_000, 5]).save(tmp_path / "c.json")
    assert Collector.load(tmp_path / "c.json", large).total == 3


def test_a_changed_foreign_or_later_file_is_refused(tmp_path):
    path = tmp_path / "c.json"
    collected([1, 2]).save(path)
    content = json.loads(path.read_text())
    counts = {**content["content"], "counts": "9 0 0 0 0 0 0"}
    cases = [
        (json.dumps({**content, "content": counts}), ib.PassportError, "digest"),
        (json.dumps({**content, "format": "other"}), ib.PassportError, "'inbounds/collection'"),
        (json.dumps({**content, "version": 2}), ib.UnknownVersion, "version 2"),
        ("{", ib.PassportError, "not JSON"),
        ("[]", ib.PassportError, "'inbounds/collection'"),
    ]
    for text, error, about in cases:
        path.write_text(text)
        with rejects(error, about=about):
            Collector.load(path, MECHANISM)
    path.write_text(json.dumps(content))
    with rejects(ib.PassportError, about="another"):
        Collector.load(path, LABELS)


COLLECTING = """
import sys
import numpy as np
import inbounds as ib
from inbounds.local.collector import Collector
mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, 6), 1)
path, resume = sys.argv[1], sys.argv[2] == "resume"
collector = Collector.load(path, mechanism) if resume else Collector(mechanism)
batch = np.arange(7).repeat(100)
while True:
    collector.add(batch).save(path)
    print(collector.total, flush=True)
"""


def test_a_killed_and_resumed_collection_loses_nothing_that_was_saved(tmp_path):
    """Killed without warning, in the middle of whatever it was doing, again and again."""
    path = tmp_path / "counts.json"
    before = 0
    for k in range(4):
        command = [sys.executable, "-c", COLLECTING, str(path), "resume" if k else "start"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            acknowledged = int(process.stdout.readline())
            time.sleep(0.02 + 0.013 * k)
            process.send_signal(signal.SIGKILL)
            rest = [line for line in process.stdout.read().split("\n") if line]
        acknowledged = max([acknowledged, *map(int, rest[:-1])])
        found = Collector.load(path, MECHANISM)
        assert found.total >= acknowledged > before
        assert found.counts.tolist() == [found.total // 7] * 7
        before = found.total


# --- shards -----------------------------------------------------------------------------------------------


def test_a_shard_is_merged_once_however_it_comes_back(tmp_path):
    monday, tuesday = collected([1, 2]), collected([1, 2])
    both = monday + tuesday
    monday.save(tmp_path / "monday.json")
    loaded = Collector.load(tmp_path / "monday.json", MECHANISM)
    for again in (monday, loaded, pickle.loads(pickle.dumps(monday)), Collector(MECHANISM) + monday, loaded.add([3])):
        with rejects(ValueError, "shards"):
            both + again
    with rejects(ValueError, "shards", about="double"):
        Collector.merge_all([monday, monday])
    assert (both + collected([1, 2])).total == 6


def test_a_named_shard_is_known_by_its_name_when_it_is_collected_anew():
    one, other = (Collector(MECHANISM, shard="2026-11-16 north").add([1]) for _ in range(2))
    assert one.shards == {"2026-11-16 north"}
    with rejects(ValueError, "shards", about="'2026-11-16 north'"):
        one + other
    with rejects(ValueError, "shard"):
        Collector(MECHANISM, shard="")


def test_reports_added_to_a_merged_collector_are_a_shard_of_their_own():
    monday, tuesday = collected([1]), collected([2])
    both = (monday + tuesday).add([3])
    assert both.shards > monday.shards | tuesday.shards
    assert (both + collected([4])).total == 4


@pytest.mark.parametrize("given", [{}, {"shards": "monday"}, {"shards": [1]}, {"shard": ""}, {"shard": None}])
def test_a_collection_without_names_of_its_shards_is_refused(tmp_path, given):
    from inbounds.files import COLLECTION, Document

    collected([1, 5]).save(tmp_path / "now.json")
    content = json.loads((tmp_path / "now.json").read_text())["content"]
    kept = ("mechanism", "reports", "counts", *(("shard", "shards") if given else ()))
    changed = {**{name: content[name] for name in kept}, **given}
    Document.wrap(COLLECTION, changed).save(tmp_path / "bad.json")
    with pytest.raises(ib.PassportError):
        Collector.load(tmp_path / "bad.json", MECHANISM)

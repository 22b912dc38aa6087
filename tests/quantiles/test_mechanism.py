"""Mechanism: made, drawn, read, saved and believed only after the check."""

import copy
import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from envelopes import seal
from inbounds.mechanism import Channel, Mechanism
from inbounds.mechanism.expected_channel import quantile_distribution
from inbounds.mechanism.laws import PermuteAndFlip
from inbounds.mechanism.origin import Origin
from inbounds.trusted.bounds import TOTAL
from raising import rejects


@pytest.fixture
def mechanism():
    return ib.design_permute_flip(ib.median(1, 5, size=25), 1)


def test_sample_reports_one_of_the_values(mechanism):
    assert {mechanism.sample([1, 2, 2, 3, 4] * 5) for _ in range(50)} <= {1, 2, 3, 4, 5}


def test_any_number_is_a_record_and_what_is_none_counts_as_missing():
    query = ib.median(0, 10, size=4, missing=7, step="1/2")
    assert query.encode([-3, 1e300, 2.7, None, float("nan")]).nonzero()[0].tolist() == [0, 5, 14, 20]
    assert query.encode([-3, 1e300, 2.7, None, float("nan")])[14] == 2
    assert query.encode([]).sum() == 0


def columns_with_gaps():
    pandas, arrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    yield [2, None, float("nan"), "x", 2, True, object(), [1, 2], b"3", 1j, pandas.NA, Decimal("sNaN")]
    yield pandas.Series([2, None, 2.0])
    yield pandas.Series(["2", None, "x"])
    yield pandas.Series([2, None], dtype="Int64")
    yield pandas.array([2, None], dtype="Int64")
    yield np.ma.array([2, 1, 2], mask=[0, 1, 0])
    yield np.array([2, "x", None], dtype=object)
    yield arrow.array([2, None])
    yield arrow.chunked_array([[2.5], [None]])
    yield polars.Series([2, None])
    yield (2, Fraction(5, 2), 1e400, "1e400", 10**400)


def test_no_record_decides_whether_its_group_is_refused():
    query = ib.median(0, 10, size=4, missing=7)
    for values in columns_with_gaps():
        found = query.encode(values)
        assert found.sum() == len(values)
        assert found[7] == (0 if isinstance(values, tuple) else found.sum() - found[2] - found[3])
        assert found[2] + found[3] >= 1


@pytest.mark.parametrize("values", [3, "3", {1: 2}, iter([1]), np.array([1j]), np.array([True]), np.array(3)])
def test_what_holds_no_records_is_refused_by_its_type(values):
    with pytest.raises(TypeError):
        ib.median(0, 10, size=4).encode(values)


def test_every_quantile_that_can_be_asked_has_a_passport_that_is_read(tmp_path):
    made = ib.design_permute_flip(ib.median(0, 8191, maximum=6), 2)
    made.save(tmp_path / "wide.json")
    assert ib.load(tmp_path / "wide.json") == made
    with rejects(ib.TooLarge, about="coarser"):
        made.channel()
    with rejects(ValueError, "step", about="8192"):
        ib.median(0, 8192, maximum=6)


def test_records_decide_as_their_probabilities_say(mechanism):
    groups = np.array([[5, 5, 5, 5, 5], [20, 1, 1, 1, 2]])
    drawn = mechanism.simulate_groups(np.repeat(groups, 40_000, axis=0), np.random.default_rng(3))
    for row, expected in zip(drawn.reshape(2, -1), mechanism.probabilities(groups), strict=True):
        found = np.bincount(row - 1, minlength=5) / len(row)
        assert np.abs(found - expected).max() < 0.02  # 6.7 sigma or more: below 1e-9 for ten frequencies


def test_a_table_that_is_not_private_makes_no_mechanism():
    with pytest.raises(ib.ScoreRatioViolation):
        Mechanism(ib.median(1, 5, size=25), Fraction(1), PermuteAndFlip((TOTAL, TOTAL // 3)), Origin("mine"))


def test_a_law_that_checks_itself_makes_no_mechanism():
    own = type("Own", (PermuteAndFlip,), {"check": lambda *_: None})
    with rejects(TypeError, about="LAWS"):
        Mechanism(ib.median(1, 5, size=25), Fraction(1), own((TOTAL, TOTAL // 3)), Origin("mine"))


@pytest.mark.parametrize("query", [ib.median(0, 1, maximum=10), ib.median(0, 1, size=10)])
def test_counts_of_any_size_and_type_are_counts(query):
    mechanism = ib.design_permute_flip(query, 1)
    most = mechanism.probabilities(np.array([[1 << 50, 0]]))
    for count, kind in ((2**63 + 5, np.uint64), (2**64 - 1, np.uint64), (2**63 - 1, np.int64), (255, np.uint8)):
        assert np.allclose(mechanism.probabilities(np.array([[count, 0]], dtype=kind)), most)


def test_a_mechanism_cannot_be_subclassed():
    with rejects(TypeError, about="subclassed"):
        type("Own", (Mechanism,), {})


def test_copies_are_the_same_mechanism(mechanism):
    for twin in (copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
        assert twin == mechanism
        assert twin.sha256 == mechanism.sha256


@pytest.mark.parametrize(
    "query",
    [
        ib.median(1, 5, size=25),
        ib.quantile("0.9", 0, 100, maximum=40, step="1/2", missing=50, records=3),
        ib.quantile(0, -5, 5, size=3),
    ],
)
def test_a_passport_is_read_as_it_was_written(query, tmp_path):
    mechanism = ib.design_permute_flip(query, "0.7")
    mechanism.save(tmp_path / "q.json")
    assert ib.load(tmp_path / "q.json") == mechanism
    verdict = ib.verify(tmp_path / "q.json")
    assert verdict.is_valid
    assert any("epsilon 0.7" in sentence for sentence in verdict.proved)


def _changed(mechanism, path, change):
    mechanism.save(path)
    content = json.loads(path.read_text())
    change(content["content"])
    path.write_text(json.dumps(seal(content)))
    return path


def _steeper(content):
    table = content["law"]["scores"]["table"].split()
    content["law"]["scores"]["table"] = " ".join([table[0], *(str(int(weight) * 99 // 100) for weight in table[1:])])


def test_a_changed_passport_is_refused_with_its_reason(mechanism, tmp_path, golden):
    def load(change):
        path = _changed(mechanism, tmp_path / "q.json", change)
        assert not ib.verify(path).is_valid
        ib.load(path)

    golden.errors(
        "wrong_quantile_passports",
        [
            lambda: load(lambda content: content.update(epsilon="1/2")),
            lambda: load(_steeper),
            lambda: load(lambda content: content["query"].update(at="3/2")),
            lambda: load(lambda content: content["query"].update(public=1)),
            lambda: load(lambda content: content["query"].update(missing="5")),
            lambda: load(lambda content: content["query"]["values"].update(size=9000)),
            lambda: load(lambda content: content["law"]["scores"].update(table="4611686018427387904 1 2")),
            lambda: load(lambda content: content["law"]["scores"].update(stride="0")),
            lambda: load(lambda content: content["law"]["scores"].update(deeper="9")),
            lambda: load(lambda content: content.update(law={"noise": {}})),
            lambda: load(lambda content: content.update(law={"matrix": [str(2**62)]})),
            lambda: load(lambda content: content.update(law={"counted": {"table": f"{2**62} 1"}})),
            lambda: load(lambda content: content.pop("epsilon")),
            lambda: load(lambda content: content.update(version=2)),
        ],
    )


def test_what_is_expected_is_the_mean_over_all_groups():
    query = ib.median(0, 2, size=5)
    mechanism, values = ib.design_permute_flip(query, 1), np.array([0.2, 0.5, 0.3])
    groups = np.random.default_rng(0).multinomial(5, values, size=200_000)
    groups, times = np.unique(groups, axis=0, return_counts=True)
    errors = np.abs(np.arange(3) - query.true_positions(groups)[:, None])
    brute = (mechanism.probabilities(groups) * errors).sum(axis=1) @ times / times.sum()
    assert mechanism.loss(prior=values) == pytest.approx(brute, rel=0.02)


def test_true_answers_of_independent_records_are_their_order_statistic():
    values = np.array([0.2, 0.5, 0.3])
    groups = np.random.default_rng(0).multinomial(7, values, size=400_000)
    for at in (Fraction(0), Fraction(1, 2), Fraction(1)):
        found = np.bincount(ib.quantile(at, 0, 2, size=7).true_positions(groups), minlength=3) / len(groups)
        assert np.allclose(quantile_distribution(values, at, 7), found, atol=0.006)  # 7 sigma


def test_a_reader_learns_from_a_report(mechanism):
    expected = mechanism.channel()
    assert isinstance(expected, Channel)
    assert np.allclose(expected.matrix.sum(axis=0), 1)
    assert expected.posterior(3).sum() == pytest.approx(1)
    assert mechanism.best_guess(3) == 3
    assert 3 in mechanism.credible_set(3, 0.9).answers
    assert expected.loss() < expected.constant_loss()


def test_what_is_no_quantile_is_refused(golden):
    def ask(facts):
        ib.median(1, 5, **facts)

    golden.errors(
        "wrong_medians",
        [
            lambda: ask({}),
            lambda: ask({"size": 3, "maximum": 4}),
            lambda: ask({"size": 0}),
            lambda: ask({"size": 3, "missing": "1/3"}),
            lambda: ask({"size": 3, "step": 3}),
            lambda: ask({"size": 3, "records": 0}),
        ],
    )


@pytest.mark.parametrize("at", ["-1", "1.5", "0.1234567"])
def test_a_share_is_between_none_and_all(at):
    with rejects(ValueError, "at"):
        ib.quantile(at, 1, 5, size=3)

"""Answers at several epsilons from one noise chain: exact, and safe against every coalition."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from envelopes import wrap
from inbounds import files
from inbounds.accounting import MechanismChain, load_chain, make_chain
from inbounds.accounting.multilevel import check_private, degradation_matrix
from inbounds.errors import InvalidDistribution, PassportError, PrivacyViolation, TooLarge, UnknownVersion
from raising import rejects

RELEASE = make_chain(ib.count(4), [2, 1, "0.3"])


def coalitions(levels: int):
    return [members for size in range(1, levels + 1) for members in combinations(range(levels), size)]


@pytest.mark.parametrize(("size", "finer", "coarser"), [(2, 1, 0.5), (3, 3, 0.01), (6, 2, 1), (21, 0.5, 0.49)])
def test_the_closed_form_is_coarse_times_inverse_of_fine(size, finer, coarser):
    """R = G_b · G_a^-1, without negative entries, and R · G_a is G_b."""
    query = ib.count(size - 1)
    fine, coarse = (ib.catalog.truncated_geometric(query, e).matrix for e in (finer, coarser))
    R = degradation_matrix(size, finer, coarser)
    assert (R >= 0).all()
    assert np.allclose(R, coarse @ np.linalg.inv(fine), atol=1e-9)
    assert np.abs(R @ fine - coarse).max() < 1e-14


@pytest.mark.parametrize("members", coalitions(3))
def test_every_coalition_is_private_at_its_largest_epsilon(members, judge):
    """The exact joint law, enumerated, judged by ball arithmetic rather than the package's own checker."""
    largest = max(RELEASE.epsilons[m] for m in members)
    law = RELEASE.joint(members)
    rows = law.reshape(-1, law.shape[-1]).tolist()
    assert RELEASE.certify_coalition(members) == largest
    assert judge.private(rows, RELEASE.first.query, largest)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(st.integers(1, 300), min_size=2, max_size=3, unique=True),
    st.sampled_from(["count", "extreme", "ordinal", "mean"]),
)
def test_coalitions_of_any_release_are_private(n, hundredths, kind):
    query = {"count": ib.count, "extreme": lambda n: ib.extreme(0, n), "ordinal": lambda n: ib.ordinal(0, n)}.get(
        kind, lambda n: ib.mean(2, 0, n if n < 4 else 3)
    )(n)
    release = make_chain(query, [Fraction(h, 100) for h in hundredths])
    for members in coalitions(len(release)):
        assert release.certify_coalition(members) == max(release.epsilons[m] for m in members)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_each_level_alone_is_a_certified_mechanism_of_its_epsilon(level, judge):
    m = RELEASE.level(level)
    assert m.epsilon == RELEASE.epsilons[level]
    assert judge.certifies(m)
    assert judge.private(RELEASE.laws[level].tolist(), m.query, m.epsilon)
    rounded = RELEASE.laws[level] / 2 ** (62 * (level + 1))
    assert np.abs(m.matrix - rounded.astype(float)).sum(axis=0).max() < 2**-50


def test_nobody_pays_for_the_correlation():
    """Each level loses what the geometric mechanism of its epsilon loses."""
    release = make_chain(ib.count(30), [2, 1, "0.5", "0.1"])
    for level, epsilon in enumerate(release.epsilons):
        alone = ib.catalog.truncated_geometric(ib.count(30), epsilon)
        assert release.level(level).loss("absolute") == pytest.approx(alone.loss("absolute"), rel=1e-10)


@pytest.mark.parametrize("members", coalitions(3))
def test_a_coalition_learns_no_more_than_its_finest_member(members):
    assert RELEASE.bayes_loss(members) == pytest.approx(RELEASE.bayes_loss(members[:1]), rel=1e-12)


def test_independent_answers_at_the_same_epsilons_break_the_largest():
    """The twin that must fail: without the chain two readers together exceed the finer epsilon."""
    fine, coarse = (RELEASE.level(level).weights.astype(object) for level in (0, 1))
    joint = (fine[:, None, :] * coarse[None, :, :]).reshape(-1, 5)
    with pytest.raises(PrivacyViolation):
        check_private(joint, RELEASE.first.query, RELEASE.epsilons[0])
    check_private(joint, RELEASE.first.query, RELEASE.epsilons[0] + RELEASE.epsilons[1])


def test_the_joint_law_has_the_levels_as_marginals():
    law = RELEASE.joint([0, 1, 2])
    assert (law.sum(axis=(1, 2)) == RELEASE.laws[0] * 2**124).all()
    assert (law.sum(axis=(0, 2)) == RELEASE.laws[1] * 2**62).all()
    assert (law.sum(axis=(0, 1)) == RELEASE.laws[2]).all()


def test_reports_follow_the_exact_joint_law():
    """200,000 simulated chains at a fixed seed; a cell is off by 6.5 deviations in less than one run of 10^8."""
    runs, truth = 200_000, 1
    chain = RELEASE.simulate(np.full(runs, truth), np.random.default_rng(7))
    seen = np.zeros((5, 5, 5))
    np.add.at(seen, tuple(chain), 1)
    p = (RELEASE.joint([0, 1, 2])[..., truth] / 2**186).astype(float)
    assert (np.abs(seen - runs * p) <= 6.5 * np.sqrt(runs * p * (1 - p)) + 6.5).all()
    independent = np.einsum("i,j,k->ijk", *(RELEASE.level(level).matrix[:, truth] for level in range(3)))
    assert (np.abs(seen - runs * independent) > 20 * np.sqrt(runs * independent)).any()


def test_a_single_answer_gets_one_report_per_level():
    reports = RELEASE.sample(3)
    assert len(reports) == len(RELEASE) == 3
    assert all(report in range(5) for report in reports)
    many = RELEASE.sample([0, 1, 2])
    assert [len(level) for level in many] == [3, 3, 3]


def test_epsilons_are_served_from_the_largest_whatever_their_order():
    assert make_chain(ib.count(3), ["0.5", 2, 1]).epsilons == (2, 1, Fraction(1, 2))


def test_a_changed_remap_is_refused():
    size = 5
    sharper = np.eye(size, dtype=np.int64) * 2**62  # level 2 would repeat level 1, at half its epsilon
    with pytest.raises(PrivacyViolation):
        MechanismChain(RELEASE.first, (Fraction(2), Fraction(1)), (sharper,))
    short = RELEASE.remaps[0].copy()
    short[0, 0] -= 1
    with rejects(InvalidDistribution, "column 0", about="2**62"):
        MechanismChain(RELEASE.first, (Fraction(2), Fraction(1)), (short,))
    with rejects(ValueError, "epsilons", about="strictly"):
        MechanismChain(RELEASE.first, (Fraction(2), Fraction(3)), RELEASE.remaps[:1])


def test_a_release_survives_its_file(tmp_path):
    RELEASE.save(tmp_path / "chain.json")
    back = load_chain(tmp_path / "chain.json")
    assert back.first == RELEASE.first
    assert back.epsilons == RELEASE.epsilons
    assert all((a == b).all() for a, b in zip(back.remaps, RELEASE.remaps, strict=True))


def test_a_changed_file_is_refused_even_with_a_fitting_digest(tmp_path, golden):
    def load(change):
        forged = wrap(files.CHAIN, change(RELEASE.to_document().content))
        (tmp_path / "chain.json").write_text(json.dumps(forged), "utf-8")
        load_chain(tmp_path / "chain.json")

    golden.errors(
        "wrong_mechanism_chains",
        [
            lambda: load(lambda c: c | {"epsilons": ["2", "1", "1/5"]}),
            lambda: load(lambda c: c | {"epsilons": ["2", "1", "-1"]}),
            lambda: load(lambda c: c | {"remaps": c["remaps"][:1]}),
            lambda: load(lambda c: c | {"remaps": [c["remaps"][0], ["1.5"]]}),
            lambda: load(lambda c: c | {"remaps": [c["remaps"][0], ["0 0 0 0 0"] * 5]}),
            lambda: load(lambda c: c | {"first": {**c["first"], "sha256": "0" * 64}}),
            lambda: load(lambda c: c | {"format": "something"}),
        ],
    )


def test_a_file_with_another_digest_or_version_is_refused(tmp_path):
    good = RELEASE.to_document().to_json()
    for name, text, kind in (
        ("a", json.dumps(good | {"sha256": "0"}), PassportError),
        ("b", json.dumps(good | {"version": 2}), UnknownVersion),
        ("c", "[", PassportError),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(kind):
            load_chain(tmp_path / name)


def test_odd_requests_are_refused():
    with rejects(ValueError, "epsilons", about="different"):
        make_chain(ib.count(4), [1, "1.0"])
    with rejects(ValueError, "epsilons"):
        make_chain(ib.count(4), [])
    with rejects(ValueError, "multilevel", about="numeric"):
        make_chain(ib.category(["a", "b"]), [1, 2])
    with rejects(TooLarge, about="coarser"):
        make_chain(ib.count(1000), [1, 2])
    with rejects(ValueError, "members"):
        RELEASE.joint([3])
    with rejects(TooLarge, about="post-processing"):
        make_chain(ib.count(40), [3, 2, 1, "0.5"]).joint([0, 1, 2, 3])


def test_the_repr_says_what_is_promised():
    assert repr(RELEASE) == "<MechanismChain 2, 1, 3/10 for <count: 0..4 (5 values); neighbours: one step apart>>"

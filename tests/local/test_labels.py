"""Laws whose reports name sets of labels, and randomized response by its two weights: certificates by brute force,
samplers by counting the randomness, estimators against dense linear algebra."""

import copy
import json
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.errors import InvalidDistribution, PassportError, PrivacyViolation
from inbounds.exact import to_epsilon
from inbounds.files import MECHANISM, Document
from inbounds.local.label_mechanisms import LabelCandidate
from inbounds.local.reconstruct import Reconstruction, shrinkage
from inbounds.local.reconstruct.affine_estimator import AffineEstimator, even
from inbounds.local.reconstruct.batches import update_batch
from inbounds.local.reconstruct.incidence import blocks_holding, labels_held
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.multiscale import SPREADS, _posterior_contrasts, estimate_multiscale
from inbounds.local.reconstruct.sets import SetReports
from inbounds.local.reconstruct.shrinkage import _integrate, shrink_shares
from inbounds.local.reconstruct.structure import channel_for_law
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import BlockResponse, Matrix
from inbounds.mechanism.laws.blocks import make_tight_blocks
from inbounds.mechanism.laws.response import Response, make_tight_response
from inbounds.mechanism.origin import Origin
from inbounds.query import AllPairs, with_neighbours
from inbounds.trusted.block_designs import Affine, Planes, Subsets
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import block_weights, check_blocks, check_response
from inbounds.trusted.samplers import BlockSampler, ResponseSampler
from raising import rejects

DESIGNS = [
    Subsets(2, 1),
    Subsets(5, 2),
    Subsets(7, 3),
    Affine(4, 5, 2),
    Affine(7, 7, 3),
    Affine(8, 11, 10),
    Planes(3, 2, 2),
    Planes(11, 2, 4),
    Planes(13, 3, 3),
    Planes(20, 3, 4),
    Planes(31, 5, 3),
]
EPSILONS = [to_epsilon("0.3"), to_epsilon(1), to_epsilon(4)]


def member(design) -> np.ndarray:
    """Labels × blocks, one by one."""
    blocks = np.arange(design.blocks)
    return np.array([design.holds(blocks, np.full(design.blocks, j)) for j in range(design.labels)])


def weights_over_2_to_124(law: BlockResponse) -> dict[tuple[int, int], int]:
    """The weight of every block under every label, by counting the draws of each index: quotient, or one more."""
    design, found = law.design, {}
    for inside, sets in ((True, design.holding), (False, design.blocks - design.holding)):
        share = law.inside if inside else TOTAL - law.inside
        index = np.arange(sets)
        for label in range(design.labels):
            places = design.places(np.full(sets, label), np.full(sets, inside), index).tolist()
            for k, block in enumerate(places):
                draws = TOTAL // sets + (k < TOTAL % sets)
                assert (block, label) not in found
                found[block, label] = share * draws
    return found


# --- designs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_every_label_lies_in_as_many_blocks_as_the_design_says_and_any_two_share_as_many(design):
    held_by = member(design)
    assert (held_by.sum(axis=1) == design.holding).all()
    together = held_by.astype(int) @ held_by.T
    assert set(together[~np.eye(design.labels, dtype=bool)].tolist()) == {design.pair_count}


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_indices_and_blocks_are_one_to_one_inside_and_outside(design):
    held_by = member(design)
    for label in range(design.labels):
        for inside, sets in ((True, design.holding), (False, design.blocks - design.holding)):
            places = design.places(np.full(sets, label), np.full(sets, inside), np.arange(sets))
            assert sorted(places.tolist()) == np.flatnonzero(held_by[label] == inside).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Subsets(5, 5),
        lambda: Subsets(40, 20),
        lambda: Affine(5, 9, 2),
        lambda: Affine(8, 7, 2),
        lambda: Affine(5, 5, 0),
        lambda: Affine(5000, 5003, 2),
        lambda: Planes(5, 4, 2),
        lambda: Planes(8, 2, 3),
        lambda: Planes(5, 10**19, 60),
    ],
)
def test_a_design_that_is_none_is_refused(make):
    with pytest.raises(InvalidDistribution):
        make()


# --- certificates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_every_block_keeps_the_ratio_under_any_two_labels_in_whole_numbers(design, epsilon):
    law = make_tight_blocks(design, epsilon)
    check_blocks(design.blocks, design.holding, law.inside, epsilon)
    weights = weights_over_2_to_124(law)
    assert len(weights) == design.blocks * design.labels
    p = ratio_lower_bound(epsilon, Fraction(1))
    for block in range(design.blocks):
        row = [weights[block, label] for label in range(design.labels)]
        assert max(row) << EXP_BITS <= p * min(row)
    for label in range(design.labels):
        assert sum(weights[block, label] for block in range(design.blocks)) == TOTAL**2
    least, most = block_weights(design.blocks, design.holding, law.inside)
    assert least <= min(weights.values()) <= max(weights.values()) <= most


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_one_unit_more_inside_is_refused(design, epsilon):
    law = make_tight_blocks(design, epsilon)
    with pytest.raises(PrivacyViolation):
        check_blocks(design.blocks, design.holding, law.inside + 1, epsilon)


@pytest.mark.parametrize(("blocks", "holding_", "inside"), [(5, 0, 1), (5, 5, 1), (5, 2, 0), (5, 2, TOTAL), (0, 0, 1)])
def test_blocks_without_two_sides_are_refused(blocks, holding_, inside):
    with pytest.raises(InvalidDistribution):
        check_blocks(blocks, holding_, inside, Fraction(1))


@pytest.mark.parametrize("size", [2, 3, 7, 4097, 10**6])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_two_weights_are_the_tightest_and_the_next_ones_are_refused(size, epsilon):
    law, p = make_tight_response(size, epsilon), ratio_lower_bound(epsilon, Fraction(1))
    check_response(size, law.other_weight, epsilon)
    assert law.truth_weight << EXP_BITS <= p * law.other_weight
    with pytest.raises(PrivacyViolation):
        check_response(size, law.other_weight - 1, epsilon)


@pytest.mark.parametrize(("size", "other"), [(1, 5), (5, 0), (5, TOTAL // 5 + 1), (5, -1)])
def test_weights_that_are_no_response_are_refused(size, other):
    with pytest.raises(InvalidDistribution):
        check_response(size, other, Fraction(1))


def test_a_law_needs_a_query_that_it_is_for():
    law, origin = make_tight_blocks(Subsets(5, 2), Fraction(1)), Origin("x")
    with pytest.raises(InvalidDistribution):
        Mechanism(ib.category(6), Fraction(1), law, origin)
    with pytest.raises(InvalidDistribution):
        Mechanism(ib.ordinal(0, 4), Fraction(1), law, origin)
    with pytest.raises(InvalidDistribution):
        ib.Mechanism(ib.ordinal(0, 4), Fraction(1), make_tight_response(5, Fraction(1)), origin)
    with pytest.raises(PrivacyViolation):
        Mechanism(ib.category(5), Fraction(1, 2), law, origin)


# --- samplers ---------------------------------------------------------------------------------------------


def test_a_response_owns_exactly_its_weights_among_the_draws():
    """Every border between two outputs, one draw on each side of it."""
    law = make_tight_response(5, Fraction(1))
    sampler, left = ResponseSampler(5, law.other_weight), TOTAL - 5 * law.other_weight
    borders = [left + k * law.other_weight for k in range(6)]
    for answer in range(5):
        drawn = np.array([0, left - 1, *borders[:-1], *(border - 1 for border in borders[1:])], dtype=np.uint64)
        found = sampler.outputs(np.full(len(drawn), answer), drawn)
        assert found.tolist() == [answer, answer, *range(5), *range(5)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_a_block_is_drawn_by_its_index_whatever_the_multiple(design):
    """The coin's border, and draws that differ by multiples of the number of sets."""
    law = make_tight_blocks(design, Fraction(1))
    for coin, inside, sets in (
        (law.inside - 1, True, design.holding),
        (law.inside, False, design.blocks - design.holding),
    ):
        index = np.arange(min(sets, 40))
        labels = index % design.labels
        for times in (0, 1, TOTAL // sets - 1):
            draws = np.concatenate([np.full(len(index), coin), index + times * sets]).astype(np.uint64)
            found = BlockSampler(design, law.inside).outputs(labels, draws)
            assert (found == design.places(labels, np.full(len(index), inside), index)).all()


def test_reports_of_a_million_labels_are_drawn_without_a_matrix():
    """The share of sets that hold the truth; 20,000 draws are within six standard deviations (2e-9)."""
    rng = np.random.default_rng(5)
    for epsilon in ("0.5", 4):
        mechanism = ib.local.projective_response(ib.category(10**6), epsilon)
        truth = rng.integers(0, 10**6, 20_000)
        held_truth = mechanism.law.design.holds(mechanism.simulate(truth, rng), truth).mean()
        hit = float(mechanism.law.hit)
        assert abs(held_truth - hit) < 6 * math.sqrt(hit * (1 - hit) / 20_000)
    assert 0 <= mechanism.sample(999_999) < mechanism.output_count


# --- randomized response as a law ---------------------------------------------------------------------------


@pytest.mark.parametrize("query", [ib.category(7), ib.extreme(2, 9), ib.category(["a", "b", "c"])], ids=str)
def test_two_weights_measure_like_their_matrix(query):
    epsilon = to_epsilon("0.7")
    compact = ib.Mechanism(query, epsilon, make_tight_response(len(query.answers), epsilon), Origin("x"))
    written = ib.Mechanism(query, epsilon, Matrix(compact.weights), Origin("x"))
    losses = ("absolute", "squared", "zero-one") if query.is_ordered else ("zero-one",)
    for loss in losses:
        assert np.allclose(compact.loss_per_answer(loss), written.loss_per_answer(loss))
        grid = float(compact.law.average(loss))
        assert math.isclose(grid, written.loss(loss), rel_tol=1e-12)
    for measure in (*(("bias", "variance", "end_probability") if query.is_ordered else ()), "truth_probability"):
        assert np.allclose(getattr(compact, measure)(), getattr(written, measure)())
    assert compact.tight_epsilon() == written.tight_epsilon()
    assert compact.properties() == written.properties()
    first = query.output_values[0]
    assert np.allclose(compact.posterior(first), written.posterior(first))


def test_a_million_labels_are_designed_saved_and_read(tmp_path):
    best = ib.optimal(ib.category(10**6), 4, loss="zero-one")
    assert isinstance(best.law, Response)
    assert best.optimality.gap < 1e-9
    best.save(tmp_path / "m.json")
    assert ib.load(tmp_path / "m.json") == best
    assert ib.verify(tmp_path / "m.json").is_valid
    assert list(json.loads((tmp_path / "m.json").read_text())["content"]["law"]) == ["response"]


def test_randomized_response_is_a_matrix_while_it_is_small_enough():
    assert isinstance(ib.catalog.randomized_response(ib.category(300), 1).law, Matrix)
    named = ib.category([f"label {k}" for k in range(5000)])
    assert isinstance(ib.catalog.randomized_response(named, 1).law, Response)


# --- passports --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        ib.local.subset_selection(ib.category(["a", "b", "c", "d", "e"]), "0.5"),
        ib.local.subset_selection(ib.category(100), 1),
        ib.local.hadamard_response(ib.category(100), 1),
        ib.local.projective_response(ib.category(10**5), 3),
    ],
    ids=str,
)
def test_a_label_passport_is_certified_anew_and_refused_when_changed(mechanism, tmp_path):
    path = tmp_path / "m.json"
    mechanism.save(path)
    assert ib.load(path) == mechanism
    verdict = ib.verify(path)
    assert verdict.is_valid
    assert verdict.to_json()["epsilon"] == str(mechanism.epsilon)
    content = json.loads(path.read_text())["content"]
    ((name, law),) = content["law"]["blocks"].items()
    content["law"] = {"blocks": {name: {**law, "inside": str(int(law["inside"]) + 1)}}}
    Document.wrap(MECHANISM, content).save(path)
    with rejects(PassportError, about="private"):
        ib.load(path)
    assert not ib.verify(path).is_valid


@pytest.mark.parametrize(
    "law",
    [
        {},
        {"planes": {"order": "9999991", "dimension": "40", "inside": "5"}},
        {"planes": {"order": "3", "inside": "5"}},
        {"affine": {"modulus": "5", "size": "2", "inside": "5", "more": "1"}},
        {"subsets": {"size": "2", "inside": "-5"}},
        {"circles": {"size": "2", "inside": "5"}},
    ],
)
def test_a_malformed_law_is_a_passport_error(law, tmp_path):
    path = tmp_path / "m.json"
    ib.local.subset_selection(ib.category(5), 1).save(path)
    content = {**json.loads(path.read_text())["content"], "law": {"blocks": law}}
    Document.wrap(MECHANISM, content).save(path)
    with pytest.raises(PassportError):
        ib.load(path)


# --- estimates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_fast_transforms_are_the_incidence_matrix(design):
    rng, dense = np.random.default_rng(0), member(design).astype(float)
    counts, shares = rng.integers(0, 9, design.blocks).astype(float), rng.random(design.labels)
    assert np.allclose(labels_held(design, counts), dense @ counts)
    assert np.allclose(blocks_holding(design, shares), dense.T @ shares)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_estimate_is_unbiased_and_has_the_stated_variance(design):
    """E and Var over all reports, from the dense law."""
    law = make_tight_blocks(design, Fraction(1))
    dense = member(design)
    inside, outside = float(law.hit) / design.holding, (1 - float(law.hit)) / (design.blocks - design.holding)
    matrix = np.where(dense.T, inside, outside)
    mechanism = Mechanism(ib.category(design.labels), Fraction(1), law, Origin("x"))
    shares = np.random.default_rng(1).dirichlet(np.ones(design.labels))
    likely = matrix @ shares
    assert np.allclose(ib.reconstruct(likely, mechanism, method="inverse", given="counts").raw, shares)
    lift = float(law.hit - law.chance)
    single = (dense - float(law.chance)) / lift
    spread = single**2 @ likely - (single @ likely) ** 2
    stated = [ib.local.share_variance(mechanism, Fraction(float(share))) for share in shares]
    assert np.allclose(spread, stated)


@pytest.mark.parametrize(("labels", "epsilon"), [(5, 2), (30, 1), (300, "0.5"), (6000, 1)])
def test_the_chosen_law_is_within_three_percent_of_theorys_best(labels, epsilon):
    """For a rare label among many no law is below 4e^eps / (e^eps - 1)^2; fewer labels than that have less."""
    found = ib.local.compare_labels(ib.category(labels), epsilon)
    e = math.exp(float(to_epsilon(epsilon)))
    assert found.best.variance_at_share(Fraction(0)) <= 1.03 * 4 * e / (e - 1) ** 2
    assert found.best.variance <= 1.002 * min(law.variance for law in found.laws)
    assert found.best.name in found.why


def test_randomized_response_stays_best_for_few_labels_and_a_large_epsilon():
    names = {k: ib.local.best_label_mechanism(ib.category(k), 4).origin.name for k in (2, 5, 30, 1000)}
    assert names[2] == names[5] == names[30] == "randomized_response"
    assert names[1000] == "subset_selection"
    assert ib.local.best_label_mechanism(ib.category(10**5), 1).origin.name == "projective_response"


def test_the_variance_of_randomized_response_is_that_of_its_sets_of_one():
    query, epsilon = ib.category(7), to_epsilon(1)
    response = LabelCandidate(ib.catalog.randomized_response(query, epsilon))
    singles = Mechanism(query, epsilon, make_tight_blocks(Subsets(7, 1), epsilon), Origin("x"))
    assert math.isclose(response.variance, LabelCandidate(singles).variance, rel_tol=1e-9)


@pytest.mark.parametrize("labels", [12, 60, 5000])
def test_a_collection_of_sets_estimates_shares(labels):
    """Kept and merged like any other; large shares within six standard deviations (2e-9), all are a distribution."""
    mechanism = ib.local.best_label_mechanism(ib.category(labels), 1)
    assert isinstance(mechanism, Mechanism)
    rng = np.random.default_rng(2)
    shares = np.r_[0.5, 0.3, np.full(labels - 2, 0.2 / (labels - 2))]
    reports = mechanism.simulate(rng.choice(labels, 40_000, p=shares), rng)
    both = ib.Collector(mechanism).add(reports[:15_000]) + ib.Collector(mechanism).add(reports[15_000:])
    for method in (None, "inverse"):
        found: Reconstruction = ib.reconstruct(both, method=method)
        assert math.isclose(found.distribution.sum(), 1, rel_tol=1e-9)
        assert (found.distribution >= 0).all()
        off = np.abs(found.distribution[:2] - shares[:2])
        assert (off < 6 * np.sqrt([ib.local.share_variance(mechanism, 0.5, 40_000)] * 2)).all()
    assert found.method == "inverse"
    assert ib.reconstruct(both).method == "multiscale"
    assert ib.reconstruct(both).choice


def test_the_maximum_of_the_likelihood_is_there_for_sets_too():
    mechanism = ib.local.subset_selection(ib.category(7), 1)
    rng = np.random.default_rng(3)
    counts = np.bincount(mechanism.simulate(rng.integers(0, 3, 5000), rng), minlength=mechanism.output_count)
    found = ib.reconstruct(counts, mechanism, method="ibu", given="counts")
    dense = member(mechanism.law.design)
    inside, outside = (
        float(mechanism.law.hit) / mechanism.law.design.holding,
        (1 - float(mechanism.law.hit)) / (mechanism.law.design.blocks - mechanism.law.design.holding),
    )
    plain = ib.reconstruct(counts, np.where(dense.T, inside, outside), given="counts", method="ibu")
    assert np.allclose(found.distribution, plain.distribution, atol=1e-4)
    assert found.residual <= 1e-9


def test_shrinking_beats_projecting_where_labels_are_alike_and_where_few_hold_all():
    """Fixed seed: undetected labels are alike, not zero; detected ones keep their own estimates."""
    rng, labels, reports, hit, chance = np.random.default_rng(4), 2000, 100_000, 0.5, 0.27
    for shares in (np.full(labels, 1 / labels), np.r_[0.4, 0.35, 0.25, np.zeros(labels - 3)]):
        seen = rng.binomial(reports, chance + (hit - chance) * shares) / reports
        law = AffineEstimator(seen, np.full(labels, chance), np.full(labels, hit - chance))
        projected = np.abs(onto_simplex(law.shares) - shares).sum()
        for method in (shrink_shares, estimate_multiscale):
            assert np.abs(method(law, reports) - shares).sum() < 0.75 * projected


@pytest.mark.parametrize("ordered", [True, False])
def test_sums_of_neighbouring_labels_follow_the_reports_where_the_order_tells(ordered):
    """Fixed seed: a decay over 1,000 labels is found where they are in order; mixed up, nothing is lost."""
    rng, reports, hit, chance = np.random.default_rng(5), 100_000, 0.5, 0.27
    falling = np.exp(-np.arange(1000) / 200)
    shares = (falling if ordered else rng.permutation(falling)) / falling.sum()
    seen = rng.binomial(reports, chance + (hit - chance) * shares) / reports
    law = AffineEstimator(seen, np.full(1000, chance), np.full(1000, hit - chance))
    blind, seeing = (np.abs(method(law, reports) - shares).sum() for method in (shrink_shares, estimate_multiscale))
    assert seeing < 0.6 * blind if ordered else seeing < 1.03 * blind


@pytest.mark.parametrize(("order", "dimension"), [(2, 4), (3, 3), (5, 2), (7, 3)])
def test_one_label_gets_the_same_plane_as_it_would_among_many(order, dimension):
    """All labels and indices of small spaces: inside, then outside."""
    space = Planes(min(31, (order**dimension - 1) // (order - 1)), order, dimension)
    for inside, indices in ((True, space.holding), (False, space.blocks - space.holding)):
        label, index = (part.ravel() for part in np.meshgrid(np.arange(space.labels), np.arange(indices)))
        together = space.places(label, np.full(len(label), inside), index)
        flag = np.array([inside])
        alone = [space.places(label[k : k + 1], flag, index[k : k + 1]).item() for k in range(len(label))]
        assert together.tolist() == alone


def test_an_estimate_of_many_scales_is_the_projection_where_nothing_is_left_open():
    """Reports that are nearly exact: no method has anything to add."""
    shares = np.random.default_rng(6).dirichlet(np.ones(40))
    law = AffineEstimator(1e-9 + 0.99 * shares, np.full(40, 1e-9), np.full(40, 0.99))
    assert np.allclose(estimate_multiscale(law, 1e12), shares, atol=1e-5)


def test_frequencies_do_not_say_how_many_reports_there_are():
    mechanism = ib.local.subset_selection(ib.category(7), 1)
    frequencies = np.full(mechanism.output_count, 1 / mechanism.output_count)
    assert ib.reconstruct(frequencies, mechanism, given="counts").method == "inverse"
    with rejects(ValueError, about="counts"):
        ib.reconstruct(frequencies, mechanism, given="counts", method="shrunk")
    with rejects(ValueError, "method", about="labels"):
        ib.reconstruct([6, 4, 5], ib.catalog.truncated_geometric(ib.ordinal(0, 2), 1), method="shrunk", given="counts")


def test_readings_are_centred_on_a_sum_of_one_whatever_sets_leave_open():
    law = AffineEstimator(np.array([0.4, 0.5, 0.3]), np.full(3, 0.25), np.full(3, 0.5))
    moved = law.center()
    assert math.isclose(moved.shares.sum(), 1)
    assert np.allclose(np.diff(moved.shares), np.diff(law.shares))


def test_a_block_stands_out_where_none_of_its_labels_does():
    """Sixteen neighbours with a share of 1/40 each, at 1.6 standard deviations; fixed seeds."""
    rng, labels, reports = np.random.default_rng(10), 1024, 20_000
    shares = np.full(labels, 0.6 / (labels - 16))
    shares[256:272] = 0.4 / 16
    law = AffineEstimator(np.zeros(labels), np.full(labels, 0.25), np.full(labels, 0.2))
    errors = {shrink_shares: 0.0, estimate_multiscale: 0.0}
    for _ in range(4):
        seen = rng.binomial(reports, law.base + law.lift * shares) / reports
        for method in errors:
            found = method(AffineEstimator(seen, law.base, law.lift), reports)
            errors[method] += abs(found[256:272].sum() - 0.4)
    assert errors[estimate_multiscale] < 0.5 * errors[shrink_shares]


def _kantorovich(found, true):
    return float(np.abs(np.cumsum(found - true)).mean())


def cut_and_scaled(x):
    """Entries below zero cut, the rest scaled to sum to one, as other libraries do."""
    return np.maximum(x, 0) / np.maximum(x, 0).sum()


def test_labels_that_are_all_alike_come_out_flatter_than_by_cutting_and_in_better_order_than_by_projecting():
    """Fixed seed. By the mean: collections in which chance is taken for an order must be rare."""
    rng, labels, reports = np.random.default_rng(11), 1000, 10_000
    base, lift = np.full(labels, 0.27), np.full(labels, 0.23)
    flat, off = np.full(labels, 1 / labels), []
    for _ in range(30):
        law = AffineEstimator(rng.binomial(reports, base + lift * flat) / reports, base, lift).center()
        ours, cut, projected = estimate_multiscale(law, reports), cut_and_scaled(law.shares), onto_simplex(law.shares)
        off.append(
            [
                *(np.abs(found - flat).sum() for found in (ours, cut)),
                *(_kantorovich(found, flat) for found in (ours, projected)),
            ]
        )
    ours, cut, our_sums, projected_sums = np.mean(off, axis=0)
    assert ours < 0.2 * cut
    assert our_sums < 0.6 * projected_sums


def test_few_reports_that_hold_a_whole_plane_are_not_taken_for_an_order():
    """Fixed seed: 20,000 labels alike, in planes of 2,809 that one report may hold; read as if one by one they fail."""
    labels, reports, rng = 20_000, 10_000, np.random.default_rng(12)
    channel, flat = channel_for_law(ib.local.best_label_mechanism(ib.category(labels), 4)), np.full(labels, 1 / labels)
    assert channel.together == 53**2
    likely, off = channel.forward(flat), []
    for _ in range(6):
        law = even(channel, rng.multinomial(reports, likely / likely.sum()) / reports)
        blind = replace(law, together=1)
        cut = cut_and_scaled(law.center().shares)
        off.append(
            [
                _kantorovich(p, flat)
                for p in (estimate_multiscale(law, reports), estimate_multiscale(blind, reports), cut)
            ]
        )
    ours, one_by_one, cut = np.mean(off, axis=0)
    assert ours < cut < one_by_one


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_some_block_holds_as_many_neighbours_as_may_be_together_and_none_twice_as_many(design):
    held = ["".join("01"[int(inside)] for inside in block) for block in member(design).T]
    longest = max(len(run) for block in held for run in block.split("0"))
    together = SetReports(make_tight_blocks(design, to_epsilon(1))).together
    assert min(together, design.labels) <= longest < 2 * together + 1


def test_without_a_background_the_posterior_is_the_conjugate_one(monkeypatch):
    """N ~ Poisson(x), x ~ Gamma(shape, rate): the posterior is Gamma(shape + N, rate + 1), N negative binomial."""
    monkeypatch.setattr(shrinkage, "GRID_STEP", 0.02)
    counts, shapes, mean = np.array([0.0, 1, 4, 30]), np.array([0.5, 2.0, 40.0]), 3.0
    means, squares, gains = _integrate(counts, 1e-9, mean, shapes)
    for i, count in enumerate(counts.tolist()):
        for j, shape in enumerate(shapes.tolist()):
            rate, after = shape / mean, shape + count
            assert means[i, j] == pytest.approx(after / (rate + 1), rel=1e-3)
            assert squares[i, j] == pytest.approx(after * (after + 1) / (rate + 1) ** 2, rel=1e-3)
            marginal = math.lgamma(after) - math.lgamma(shape) + shape * math.log(rate) - after * math.log(rate + 1)
            assert gains[i, j] == pytest.approx(marginal - (count * math.log(mean) - mean), abs=3e-3)


def test_before_a_large_background_the_posterior_is_the_normal_one():
    """A Gamma prior of a large shape, and noise of many reports, are both normal: a mean weighted by precisions."""
    background, mean, shape = 1e6, 1e5, 1e4
    noise, prior = background + mean, mean**2 / shape
    for off in (-2.0, 0.5, 3.0):
        reading = mean + off * math.sqrt(noise + prior)
        means, squares, _ = _integrate(np.array([background + reading]), background, mean, np.array([shape]))
        assert means[0, 0] == pytest.approx(mean + prior / (prior + noise) * (reading - mean), abs=0.05 * prior**0.5)
        assert squares[0, 0] - means[0, 0] ** 2 == pytest.approx(prior * noise / (prior + noise), rel=0.1)


def test_a_contrast_is_the_mean_of_normal_ones_over_the_prior_of_their_spread():
    d, variance, share = np.array([0.3, -0.1, 0.02]), np.array([0.01, 0.02, 0.015]), np.array([0.6, 0.5, 0.2])
    sizes, odds = np.append(0.0, SPREADS), np.append(0.5, np.full(len(SPREADS), 0.5 / len(SPREADS)))
    total = variance + (sizes[:, None] * share) ** 2
    likely = np.prod(np.exp(-(d**2) / total / 2) / np.sqrt(total), axis=1)
    found, gain = _posterior_contrasts(d, variance, share)
    assert np.allclose(found, (odds * likely) @ (d * (1 - variance / total)) / (odds @ likely))
    assert gain == pytest.approx(math.log(odds @ likely / likely[0]))


@pytest.mark.parametrize("labels", [2, 3, 4, 5, 16, 17, 1000])
def test_an_estimate_is_a_distribution_and_equal_readings_give_equal_shares(labels):
    base, lift = np.full(labels, 0.27), np.full(labels, 0.23)
    for reports in (1, 100, 10**6):
        equal = estimate_multiscale(AffineEstimator(base + lift / labels, base, lift), reports)
        divides_evenly = labels.bit_count() == 1
        assert np.allclose(equal, 1 / labels, rtol=1e-9 if divides_evenly else 0.02)
        rng = np.random.default_rng([labels, reports])
        any_ = estimate_multiscale(AffineEstimator(rng.binomial(reports, base) / reports, base, lift), reports)
        assert math.isclose(any_.sum(), 1, rel_tol=1e-9)
        assert (any_ >= 0).all()


def test_randomized_response_about_four_labels_is_estimated_like_sets_and_about_three_by_its_certified_maximum():
    rng = np.random.default_rng(7)
    for labels, method in ((3, "ibu"), (4, "multiscale")):
        counts = rng.multinomial(10_000, np.full(labels, 1 / labels))
        for mechanism in (ib.catalog.randomized_response(ib.category(labels), 4), response_law(labels)):
            found = ib.reconstruct(counts, mechanism, given="counts")
            assert found.method.split(",")[0] == method
            assert math.isclose(found.distribution.sum(), 1, rel_tol=1e-9)
            assert ib.reconstruct(counts / 10_000, mechanism, given="counts").method.startswith("ibu")
    ordered = ib.catalog.randomized_response(with_neighbours(ib.ordinal(0, 19), AllPairs()), 4)
    assert ib.reconstruct(np.full(20, 50), ordered, given="counts").method.startswith("ibu")


def response_law(labels):
    """Randomized response as two weights, without a matrix."""
    epsilon = Fraction(4)
    return Mechanism(ib.category(labels), epsilon, make_tight_response(labels, epsilon), Origin("randomized_response"))


# --- stopping ---------------------------------------------------------------------------------------------


def test_smooth_values_stop_early_and_heaped_ones_reach_the_maximum():
    """Geometric noise, fixed seeds: the held-out half tells one from the other, and says so."""
    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, 60), "0.2")
    rng, places = np.random.default_rng(6), np.arange(61)
    bell = np.exp(-(((places - 30) / 9) ** 2) / 2)
    heaped = np.isin(places, [4, 18, 33, 51]).astype(float)
    for shape, early in ((bell, True), (heaped, False)):
        truth = shape / shape.sum()
        collected = ib.Collector(mechanism).add(mechanism.simulate(rng.choice(61, 200_000, p=truth), rng))
        chosen, greatest = ib.reconstruct(collected), ib.reconstruct(collected, method="ibu")
        error, spiky = (ib.distance.total_variation(found.distribution, truth) for found in (chosen, greatest))
        assert ("stopped after" in chosen.choice) == early
        assert error < 0.5 * spiky if early else error <= 1.001 * spiky


@pytest.mark.parametrize(
    "mechanism",
    [
        ib.catalog.metric_geometric(ib.grid(5, 6, metric="manhattan"), "0.5"),
        ib.optimal(ib.ordinal(0, 19), "0.4", "absolute"),
    ],
    ids=["a map", "an optimal law"],
)
def test_noise_among_many_places_or_numbers_stops_early_by_default_and_comes_nearer_to_smooth_data(mechanism):
    query, rng = mechanism.query, np.random.default_rng(9)
    at = query.answers.floats()[:, None] if query.is_ordered else query.coordinates
    shape = np.exp(-(((at - at.mean(axis=0)) / 3) ** 2).sum(axis=1) / 2)
    truth = shape / shape.sum()
    counts = rng.multinomial(5000, mechanism.matrix @ truth)
    chosen = ib.reconstruct(counts, mechanism, given="counts")
    greatest = ib.reconstruct(counts, mechanism, given="counts", method="ibu")
    assert "stopped after" in chosen.choice
    nearer, spiky = (np.abs(found.distribution - truth).sum() for found in (chosen, greatest))
    assert nearer < 0.5 * spiky


def test_collections_updated_side_by_side_are_those_updated_alone():
    dense = ib.catalog.metric_geometric(ib.grid(3, 3, metric="manhattan"), 1)
    line = ib.catalog.truncated_geometric(ib.ordinal(0, 8), 1)
    draws, start = np.random.default_rng(3).integers(1, 50, (4, 9)).astype(float), np.full(9, 1 / 9)
    for mechanism in (dense, line):
        alone = [
            ib.reconstruct(row, mechanism, given="counts", method="ibu", acceleration="none", iterations=7).distribution
            for row in draws
        ]
        assert np.allclose(update_batch(channel_for_law(mechanism), draws, start, 7), alone, atol=1e-12)


def test_the_choice_is_the_same_for_the_same_reports():
    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, 20), "0.3")
    counts = mechanism.simulate(np.random.default_rng(7).integers(5, 12, 3000), np.random.default_rng(8))
    first, second = (ib.reconstruct(counts, mechanism, given="reports") for _ in range(2))
    assert (first.distribution == second.distribution).all()


# --- engines ----------------------------------------------------------------------------------------------


def test_pandas_polars_arrow_and_duckdb_carry_reports_of_sets():
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    mechanism = ib.local.subset_selection(ib.category([f"l{k}" for k in range(40)]), 1)
    names = [f"l{k % 40}" for k in range(500)]
    tables = [pandas.DataFrame({"x": names}), polars.DataFrame({"x": names}), pyarrow.table({"x": names})]
    for table in tables:
        private = ib.local.randomize(table, "x", mechanism)
        assert ib.local.collect(private, "x", mechanism).total == 500
    connection = duckdb.connect()
    connection.register("people", tables[2])
    ib.local.register(connection, "private_x", mechanism)
    connection.execute("create table reports as select private_x(row_number() over (), x) as x from people")
    assert ib.local.collect(connection.table("reports"), "x", mechanism).total == 500
    arrow = ib.local.randomize(connection.table("people"), "x", mechanism).read_all()
    assert ib.local.collect(arrow, "x", mechanism).total == 500
    with rejects(ValueError, "reports"):
        ib.Collector(mechanism).add([mechanism.output_count])


@pytest.mark.parametrize("short", [np.int8, np.int16, np.int64])
def test_designs_of_short_ints_count_as_those_of_plain_ones(short):
    """257 · 256 sets overflow 16 bits, and 17 · 16 overflow 8."""
    modulus = 17 if short is np.int8 else 257
    design = Affine(short(3), short(modulus), short(3))
    assert design == Affine(3, modulus, 3)
    assert (design.blocks, design.holding) == (modulus * (modulus - 1), 3 * (modulus - 1))
    for made in (design, Subsets(short(5), short(2)), Planes(short(5), short(7), short(3))):
        assert {type(value) for value in vars(made).values()} == {int}
    with pytest.raises(TypeError):
        Affine(5, 7, Fraction(5, 2))


def test_pickles_of_two_weight_laws_carry_no_sampler():
    design = Subsets(5, 2)
    for law in (make_tight_response(5, Fraction(1)), make_tight_blocks(design, Fraction(1))):
        law.__dict__["sampler"] = "of another law"
        for copied in (pickle.loads(pickle.dumps(law)), copy.copy(law), copy.deepcopy(law)):
            assert copied == law
            assert "sampler" not in vars(copied)
    design.__dict__["_tables"] = "of another design"
    assert "_tables" not in vars(pickle.loads(pickle.dumps(make_tight_blocks(design, Fraction(1)))).design)


@pytest.mark.parametrize("size", [3, 5, 7, 5000])
def test_the_ratio_of_randomized_response_is_rounded_up(size):
    law = make_tight_response(size, Fraction(1, 3))
    ratio = law.ratio_within(ib.category(size), 1)
    exact = Fraction(law.truth_weight, law.other_weight)
    assert Fraction(math.nextafter(ratio, 0)) < exact <= Fraction(ratio)


@pytest.mark.parametrize("query", [ib.category(9), ib.count(6)])
def test_properties_of_two_weights_are_those_of_the_matrix_which_is_not_written_out(query, monkeypatch):
    size = len(query.answers)
    law = make_tight_response(size, Fraction(1))
    two = ib.Mechanism(query, 1, law, Origin("two weights"))
    whole = ib.Mechanism(query, 1, Matrix(law.matrix(query)), Origin("matrix"))
    monkeypatch.setattr(Response, "matrix", None)
    assert two.properties() == whole.properties()
    assert len(two.properties()) >= 4


@pytest.mark.parametrize(("labels", "epsilon"), [(4, "0.001"), (8, "0.5"), (16, "1"), (12, "0.1"), (31, "1")])
def test_few_reports_or_all_alike_are_estimated(labels, epsilon):
    """One report decides no sum, and all variances but those of what it holds are nothing."""
    mechanism = ib.local.best_label_mechanism(ib.category(labels), epsilon)
    outputs = np.eye(mechanism.law.design.blocks, dtype=np.int64)
    for counts in (outputs[0], outputs[-1], outputs[0] + outputs[1], 10**6 * outputs[0]):
        found = ib.reconstruct(counts, mechanism, given="counts").distribution
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1)

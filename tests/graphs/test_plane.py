"""Noise on a map: private for all pairs of cells, the same as written out, and refused when it is not."""

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from graphs.cases import keeps_all_pairs
from graphs.test_graph_optimal import full_program
from inbounds.errors import InvalidDistribution, PassportError, PrivacyViolation, TooLarge
from inbounds.local.reconstruct.convolution_channel import channel_from_plane
from inbounds.mechanism import Mechanism, Origin, limits
from inbounds.mechanism.laws.plane import PlaneNoise, make_plane_noise, step_losses
from inbounds.query.graphs import _map_edges, _straight, _visible_moves
from inbounds.query.maps import find_map_metric
from inbounds.trusted.bounds import TOTAL, Edge
from inbounds.trusted.certify import check_edges
from inbounds.trusted.limits import MOST_MOVES
from inbounds.trusted.plane_noise import check_plane, map_moves, remaining_weight
from inbounds.trusted.samplers import seeded_entropy
from raising import rejects

MAPS = [
    ib.grid(4, 5, metric="manhattan"),
    ib.grid(1, 6),
    ib.grid(2, 3),
    ib.grid(5, 1, step=2),
    ib.grid(5, 4, stretch=1.1),
    ib.grid(4, 4),
    ib.pair_of_counts(3, 4),
    ib.pair_of_counts(3, 3, exclusive=True),
]


def noise(query, epsilon, remap=None):
    epsilon = Fraction(epsilon)
    cells = find_map_metric(query)
    law = make_plane_noise(query, epsilon, lambda a, b: float(epsilon) * cells.norm(a, b), remap)
    return Mechanism(query, epsilon, law, Origin("noise"))


def written_out(law, query):
    """By definition: every noise, every answer, moved to the map."""
    rows, columns = law.size
    W = np.zeros((rows * columns, rows * columns), dtype=object)
    for j in range(rows * columns):
        for a in range(1 - rows, rows):
            for b in range(1 - columns, columns):
                y, x = min(max(j // columns + a, 0), rows - 1), min(max(j % columns + b, 0), columns - 1)
                W[y * columns + x, j] += int(law.table[a + rows - 1, b + columns - 1])
    W += law.anywhere
    W[0] += remaining_weight(law.table, law.anywhere)
    out = np.zeros_like(W)
    for i, target in enumerate(range(len(W)) if law.remap is None else law.remap.tolist()):
        out[target] += W[i]
    return out


@pytest.mark.long
@pytest.mark.parametrize("query", MAPS, ids=lambda query: f"{query.kind} {len(query.answers)}")
@pytest.mark.parametrize("epsilon", ["1/3", "4"])
def test_noise_on_a_map_keeps_all_pairs_and_is_what_its_definition_says(query, epsilon):
    n = len(query.answers)
    for remap in (None, np.random.default_rng(3).integers(0, n, n)):
        mechanism = noise(query, epsilon, remap)
        assert np.array_equal(mechanism.weights, written_out(mechanism.law, query).astype(np.int64))
        assert (mechanism.weights.sum(axis=0) == TOTAL).all()
        assert keeps_all_pairs(mechanism)
        assert float(mechanism.epsilon) * (1 - 1e-6) < noise(query, epsilon).tight_epsilon() <= float(Fraction(epsilon))


@pytest.mark.parametrize("query", MAPS, ids=lambda query: f"{query.kind} {len(query.answers)}")
def test_the_norm_of_a_map_is_the_shortest_path(query):
    cells, n = find_map_metric(query), len(query.answers)
    y, x = np.divmod(np.arange(n), cells.columns)
    found = cells.norm(y[None, :] - y[:, None], x[None, :] - x[:, None])
    assert cells.everywhere
    assert found == pytest.approx(query.distances(), abs=1e-12)


def test_measures_are_those_of_the_matrix():
    query = ib.grid(4, 5, metric="manhattan")
    mechanism = noise(query, 1, np.random.default_rng(0).integers(0, 20, 20))
    for name in ("distance", "euclidean", "zero-one"):
        table = ib.losses.parse_loss(name).table(query)
        assert mechanism.loss_per_answer(name) == pytest.approx((table * mechanism.matrix).sum(axis=0), abs=1e-12)
    assert mechanism.truth_probability() == pytest.approx(np.diagonal(mechanism.matrix), abs=1e-15)
    for i in range(20):
        assert mechanism.law.likelihood(query, i) == pytest.approx(mechanism.matrix[i], abs=1e-15)


def test_the_checker_never_accepts_what_the_checker_of_matrices_refuses():
    rng, accepted = np.random.default_rng(5), 0
    for query in MAPS[:5]:
        law, columns = noise(query, 1).law, find_map_metric(query).columns
        for _ in range(30):
            table = law.table.copy()
            for _ in range(int(rng.integers(1, 4))):
                cell = tuple(rng.integers(0, side) for side in table.shape)
                table[cell] = int(table[cell] * rng.uniform(0.6, 1))
            anywhere = int(law.anywhere * rng.choice([0, 1, 1000]))
            epsilon = Fraction(int(rng.integers(9, 17)), 10)
            try:
                check_plane(table, anywhere, map_moves(query.edges, columns), epsilon)
            except PrivacyViolation:
                continue
            accepted += 1
            check_edges(written_out(PlaneNoise(table, anywhere), query).astype(np.int64), query.edges, epsilon)
    assert 20 < accepted < 130


@pytest.mark.parametrize("moves", [((0, 1), (0, -1)), ((1, 0), (-1, 0))])
def test_the_checker_sees_the_sums_at_the_sides(moves):
    """Constant noise inside, and nothing heavier at the ends: the sums beyond a side halve at the last step."""
    table = np.full((5, 5), TOTAL // 25)
    with pytest.raises(PrivacyViolation):
        check_plane(table, 0, dict.fromkeys(moves, Fraction(1)), Fraction(1, 2))
    check_plane(table, 0, dict.fromkeys(moves, Fraction(1)), Fraction(2))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda t: np.where(t == t.max(), 2 * t, t), InvalidDistribution),
        (lambda t: np.where(t == t.max(), -t, t), InvalidDistribution),
        (lambda t: np.where(t == t.max(), t // 9, t), PrivacyViolation),
        (lambda t: t[1:], InvalidDistribution),
        (lambda t: t[1:-1], InvalidDistribution),
        (lambda t: t[:, :, None], InvalidDistribution),
        (lambda t: t.astype(float), InvalidDistribution),
    ],
)
def test_a_table_that_was_changed_is_refused(change, error):
    query = ib.grid(4, 5, metric="manhattan")
    law = noise(query, 1).law
    with pytest.raises(error):
        Mechanism(query, 1, PlaneNoise(change(law.table), law.anywhere), Origin("changed"))


@pytest.mark.parametrize("remap", [np.arange(19), np.arange(20) + 1, np.arange(20) - 1, np.arange(20.0)])
def test_a_remap_must_name_cells(remap):
    query = ib.grid(4, 5, metric="manhattan")
    law = noise(query, 1).law
    with pytest.raises(InvalidDistribution):
        Mechanism(query, 1, PlaneNoise(law.table, law.anywhere, remap), Origin("changed"))


def test_noise_for_a_longer_edge_is_refused_for_a_shorter_one():
    law = noise(ib.grid(4, 5, metric="manhattan"), 1).law
    with pytest.raises(PrivacyViolation):
        Mechanism(ib.grid(4, 5, metric="manhattan", step="0.999"), 1, law, Origin("shorter"))


def test_edges_of_one_move_are_held_to_the_shortest():
    edges = [Edge(0, 1, Fraction(2)), Edge(1, 2, Fraction(1)), Edge(2, 3, Fraction(3))]
    assert map_moves(edges, 4) == {(0, 1): Fraction(1)}
    assert map_moves(edges[::-1], 4) == {(0, 1): Fraction(1)}


def test_a_map_with_too_many_kinds_of_edges_is_refused():
    edges = [Edge(0, k, Fraction(1)) for k in range(1, 2000)]
    with rejects(TooLarge, about="kinds"):
        map_moves(edges, 2000)


def test_reports_follow_the_weights():
    """Draws with a fixed seed, all cells within six standard errors."""
    query = ib.grid(3, 4, metric="manhattan")
    mechanism = noise(query, Fraction(1, 2), np.array([0, 0, 2, 3, 4, 5, 5, 7, 8, 9, 10, 1]))
    draws = 200_000
    for j in (0, 5, 11):
        found = np.bincount(
            mechanism.query.encode(mechanism.simulate(np.full(draws, query.labels[j]), np.random.default_rng(j))),
            minlength=12,
        )
        expected = draws * mechanism.matrix[:, j]
        assert (np.abs(found - expected) <= 6 * np.sqrt(expected + 1)).all()


def test_every_outcome_of_the_sampler_owns_its_weight():
    query = ib.grid(2, 3, metric="manhattan")
    law = noise(query, 1).law
    sampler = law.sampler(query)
    weights = np.zeros(1 << sampler.table.bits, dtype=object)
    packed, bits = sampler.table.packed.array[0], sampler.table.bits
    capacity = 1 << (62 - bits)
    for bin_, cell in enumerate(packed.tolist()):
        kept, alias = cell >> bits, cell & ((1 << bits) - 1)
        weights[bin_] += kept
        weights[alias] += capacity - kept
    rest = remaining_weight(law.table, law.anywhere)
    constant = [law.anywhere + rest] + [law.anywhere] * 5
    assert weights[: law.table.size + 6].tolist() == [*law.table.ravel().tolist(), *constant]
    assert not any(weights[law.table.size + 6 :])
    draws = seeded_entropy(np.random.default_rng(0))(1000)
    assert set(sampler.outputs(np.zeros(1000, dtype=np.int64), draws).tolist()) <= set(range(6))


def test_passports_of_noise_on_a_map_are_read_back(tmp_path):
    query = ib.grid(4, 5, metric="manhattan")
    for remap in (None, np.arange(20)[::-1].copy()):
        mechanism = noise(query, 1, remap)
        mechanism.save(tmp_path / "m.json")
        assert "plane" in json.loads((tmp_path / "m.json").read_text())["content"]["law"]
        again = ib.load(tmp_path / "m.json")
        assert again == mechanism
        assert again.sha256 == mechanism.sha256
        assert pickle.loads(pickle.dumps(mechanism)) == mechanism == copy.deepcopy(mechanism)


def test_a_passport_whose_table_was_changed_is_refused(tmp_path):
    from inbounds.files import MECHANISM, Document
    from inbounds.mechanism.load import load
    from inbounds.mechanism.passport import to_passport

    rest = to_passport(noise(ib.grid(4, 5, metric="manhattan"), 1)).content
    middle = rest["law"]["plane"]["table"][3].split(" ")
    middle[4] = str(int(middle[4]) // 9)
    rest["law"]["plane"]["table"][3] = " ".join(middle)
    with rejects(PassportError, about="private"):
        load(Document.wrap(MECHANISM, rest))
    odd = {**rest, "law": {"plane": {**rest["law"]["plane"], "anywhere": "x"}}}
    with pytest.raises(PassportError):
        load(Document.wrap(MECHANISM, odd))


@pytest.fixture
def tiny_limit(monkeypatch):
    """Every map counts as too large for a matrix."""
    monkeypatch.setattr(limits, "MATRIX_LIMIT", 10)
    monkeypatch.setattr("inbounds.design.designer.MATRIX_LIMIT", 10)


@pytest.mark.parametrize("prior", [None, "skewed"])
def test_a_reader_of_a_large_map_makes_of_a_report_what_the_matrix_says(monkeypatch, prior):
    query = ib.grid(4, 5, metric="manhattan")
    prior = None if prior is None else np.random.default_rng(1).exponential(1, 20)
    mechanism = noise(query, 1, np.random.default_rng(2).integers(0, 20, 20))
    seen = [label for label, row in zip(query.labels, mechanism.matrix, strict=True) if row.any()]

    def read():
        at = [(mechanism.posterior(o, prior), mechanism.best_guess(o, "distance", prior)) for o in seen]
        return at, mechanism.bayes_loss("distance", prior), mechanism.remap("distance", prior)

    small = read()
    monkeypatch.setattr(limits, "MATRIX_LIMIT", 10)
    large = read()
    for (p, guess), (q, other) in zip(small[0], large[0], strict=True):
        assert p == pytest.approx(q, abs=1e-15)
        costs = ib.losses.distance.table(query) @ p
        assert costs[query.labels.index(other)] == pytest.approx(costs[query.labels.index(guess)], abs=1e-12)
    assert large[1] == pytest.approx(small[1], abs=1e-12)
    assert len(large[2]) == 20


@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("loss", ["distance", "euclidean", "zero-one"])
def test_the_optimum_of_a_large_map_lies_between_its_bound_and_its_value(tiny_limit, metric, loss):
    query = ib.grid(4, 4, metric=metric)
    for prior in (np.full(16, 1 / 16), np.random.default_rng(0).dirichlet(np.ones(16))):
        found = ib.optimal(query, 1, loss, prior)
        true = full_program(query, 1.0, ib.losses.parse_loss(loss).table(query), prior)
        assert isinstance(found.law, PlaneNoise)
        assert found.optimality.bound <= true + 1e-9
        assert found.optimality.value >= true - 1e-9
        assert found.loss(loss, prior) == pytest.approx(found.optimality.value)
        assert found.optimality.value <= noise(query, 1).loss(loss, prior) + 1e-9


def test_a_large_map_is_tiled_whatever_its_sides_are(tiny_limit, monkeypatch):
    monkeypatch.setattr("inbounds.design.graphs.maps.SIDES", (3,))
    query = ib.grid(7, 4, metric="manhattan")
    found = ib.optimal(query, 1, "distance").optimality
    true = full_program(query, 1.0, ib.losses.distance.table(query), np.full(28, 1 / 28))
    assert 0.5 * true < found.bound <= true + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("loss", ["distance", "euclidean", "zero-one"])
def test_the_worst_answer_of_a_large_map_lies_between_its_bound_and_its_value(tiny_limit, metric, loss):
    query = ib.grid(4, 5, metric=metric)
    found = ib.optimal(query, 1, loss, aim="worst")
    true = full_program(query, 1.0, ib.losses.parse_loss(loss).table(query), None, worst=True)
    assert isinstance(found.law, PlaneNoise)
    assert 0.5 * true < found.optimality.bound <= true + 1e-9
    assert found.optimality.value >= true - 1e-9
    assert found.worst_loss(loss) == pytest.approx(found.optimality.value)
    assert found.optimality.value <= noise(query, 1).worst_loss(loss) + 1e-9


def test_a_map_of_a_thousand_places_has_a_noise_table(monkeypatch):
    monkeypatch.setattr("inbounds.design.graphs.maps.LARGE", 12)
    for query in (ib.grid(3, 4, metric="manhattan"), ib.grid(3, 4)):
        for asked in ({}, {"aim": "worst"}, {"prior": np.arange(1.0, 13) / 78}):
            found = ib.optimal(query, 1, "distance", **asked)
            assert isinstance(found.law, PlaneNoise)
            assert keeps_all_pairs(found)
    assert not isinstance(ib.optimal(ib.grid(2, 4), 1, "distance", max_seconds=1000).law, PlaneNoise)
    fair = ib.optimal(ib.grid(3, 4, metric="manhattan"), 1, "distance", properties=["fair"])
    assert fair.properties()["fair"]
    assert ib.optimal(ib.grid(3, 4), 1, 1 - np.eye(12)).optimality.gap < 1e-6


def test_what_is_not_known_for_large_maps_is_refused(tiny_limit):
    query = ib.grid(4, 4, metric="manhattan")
    for asked in ({"aim": "worst", "prior": np.ones(16)}, {"properties": ["fair"]}):
        with pytest.raises(TooLarge):
            ib.optimal(query, 1, "distance", **asked)
    with rejects(TooLarge, about="distance"):
        ib.optimal(query, 1, lambda a, b: 1.0)
    with rejects(TooLarge, about="cells"):
        ib.optimal(ib.tree({f"n{j}": "n0" for j in range(1, 9)}), 1, "distance")


def test_named_mechanisms_of_large_maps_are_those_of_small_ones(monkeypatch):
    query = ib.grid(5, 6, metric="manhattan")
    small = ib.catalog.metric_geometric(query, 1), ib.catalog.planar_laplace(query, 1)
    monkeypatch.setattr(limits, "MATRIX_LIMIT", 10)
    large = ib.catalog.metric_geometric(query, 1), ib.catalog.planar_laplace(query, 1)
    monkeypatch.undo()
    for a, b in zip(small, large, strict=True):
        assert isinstance(b.law, PlaneNoise)
        assert a.matrix == pytest.approx(b.matrix, abs=1e-9)


@pytest.mark.long
def test_a_map_of_ten_thousand_cells_is_certified_drawn_from_and_read(tmp_path):
    town = ib.grid(100, 100, metric="manhattan")
    mechanism = ib.catalog.metric_geometric(town, 1)
    reports = mechanism.sample([(0, 0), (50, 50), (99, 99)] * 100)
    assert reports.shape == (300, 2)
    assert reports.min() >= 0
    assert reports.max() <= 99
    assert mechanism.best_guess((50, 50), "distance") == (50, 50)
    assert len(mechanism.credible_set((50, 50), 0.9).answers) < 60
    assert mechanism.posterior((0, 99)).sum() == pytest.approx(1)
    mechanism.save(tmp_path / "town.json")
    assert ib.load(tmp_path / "town.json") == mechanism


def test_a_channel_of_a_large_map_multiplies_as_the_matrix_does():
    mechanism, rng = noise(ib.grid(5, 6, metric="manhattan"), 1), np.random.default_rng(0)
    channel = channel_from_plane(mechanism.law)
    p, x = rng.dirichlet(np.ones(30)), rng.random(30)
    assert channel.forward(p) == pytest.approx(mechanism.matrix @ p, abs=1e-13)
    assert channel.backward(x) == pytest.approx(x @ mechanism.matrix, abs=1e-12)
    with rejects(TooLarge, about="remapped"):
        channel_from_plane(noise(ib.grid(5, 6, metric="manhattan"), 1, np.arange(30)).law)


def test_ratios_within_a_radius_are_those_of_the_matrix():
    mechanism = noise(ib.grid(4, 5, metric="manhattan"), 1)
    stated = ib.local.local_guarantee(mechanism)
    for radius in (1, 2, 3, 7):
        assert mechanism.law.ratio_apart(mechanism.query, radius) == stated.ratio(radius)
    weights = mechanism.weights
    assert stated.worst_ratio() == pytest.approx((weights.max(axis=1) / weights.min(axis=1)).max())
    assert mechanism.law.ratio_apart(mechanism.query, 7) == stated.worst_ratio()


def test_one_report_is_read_as_all_of_them_are(monkeypatch):
    mechanism = noise(ib.grid(4, 5, metric="manhattan"), 1)
    among = {each.output: each for each in mechanism.interpretations(0.8, loss="distance")}
    monkeypatch.setattr(limits, "MATRIX_LIMIT", 10)
    alone = mechanism.interpret("1,2", 0.8, loss="distance")
    assert (alone.answers, alone.best_guess) == (among["1,2"].answers, among["1,2"].best_guess)
    assert (alone.probability, alone.at_least) == pytest.approx((among["1,2"].probability, among["1,2"].at_least))
    with pytest.raises(TooLarge):
        mechanism.interpretations(loss="distance")


def test_losses_of_steps_need_an_even_map():
    uneven = ib.graph([(0, 0), (0, 1), (0, 3)], [((0, 0), (0, 1)), ((0, 1), (0, 3))])
    with rejects(ValueError, about="evenly"):
        step_losses(uneven, ib.losses.euclidean)


def test_a_map_too_large_for_all_edges_is_stretched_by_itself():
    unit = Fraction(1)
    chosen = _straight(100, 100, unit, None)
    assert (
        _map_edges(100, 100, chosen)
        <= 1 << 19
        < _map_edges(100, 100, _visible_moves(100, 100, max(map(max, chosen)) + 1))
    )
    assert all(0.98 < float(length) ** 2 / (a * a + b * b) < 1 for (a, b), length in chosen.items())
    assert all(2 * len(_straight(side, side, unit, None)) <= MOST_MOVES for side in (25, 32, 40))
    assert _straight(12, 12, unit, None) == _straight(12, 12, unit, unit)

"""Truncated Laplace noise on fine grids: its law, its scale, its guarantee, and what is drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

import inbounds as ib
from inbounds.catalog import FineLaplace, fine_laplace
from inbounds.errors import PrivacyViolation, TooLarge
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import Matrix
from inbounds.trusted.bounds import TOTAL
from raising import rejects

WHOLE = ib.interval(0, 4, 1, cells=16)
PIECES = ib.interval(0, 4, 1, cells=16, holes=[(1, 2)])


@pytest.mark.parametrize(("query", "spans"), [(WHOLE, [(0, 4)]), (PIECES, [(0, 1), (2, 4)])])
def test_every_report_has_the_chance_of_the_truncated_and_normalized_density(query, spans):
    made = fine_laplace(query, 1, step="1/128")
    for answer in (query.answers[0], query.answers[5]):
        law = made.probabilities(answer)
        ends = {Fraction(end) for span in spans for end in span}
        expected = np.array([math.exp(-abs(float(x - answer)) / made.scale) / (1 + (x in ends)) for x in law])
        assert sum(law.values()) == 1
        assert np.array([*map(float, law.values())]) == pytest.approx(expected / expected.sum(), rel=1e-12)
        assert {*law} == {x for low, high in spans for x in map(Fraction, np.arange(low, high + 1 / 256, 1 / 128))}


def test_finer_reports_tell_no_more_than_the_nodes():
    made = fine_laplace(PIECES, 1, step="1/64")
    laws = [made.probabilities(answer) for answer in PIECES.answers]
    worst = max(math.log(laws[j][x] / laws[k][x]) for j, k in PIECES.neighbours.pairs(PIECES.answers) for x in laws[0])
    assert worst <= made.nodes.tight_epsilon() * (1 + 1e-9) <= 1 + 1e-9
    assert worst == pytest.approx(1, rel=1e-9)  # and no less: the scale is the least


def test_the_scale_tends_to_that_of_real_answers_from_below():
    scales = [fine_laplace(ib.interval(0, 4, 1, cells=cells), 1, step=1).scale for cells in (8, 32)]
    limit = ib.find_scale([(0, 4)], 1, 1)
    assert scales == sorted(scales)
    assert scales[-1] < limit < scales[-1] * 1.05
    metric = fine_laplace(ib.count(10), 1, notion="metric")
    assert metric.scale == pytest.approx(2, rel=1e-9)


def test_reports_lie_in_the_spans_on_the_grid_and_follow_their_law():
    rng = np.random.default_rng(3)
    made = fine_laplace(PIECES, 1, step="1/16")
    law = made.probabilities(PIECES.answers[2])
    drawn = made.simulate(np.full(10_000, float(PIECES.answers[2])), rng)
    counted = np.array([(drawn == float(x)).sum() for x in law])
    expected = np.array([*map(float, law.values())]) * len(drawn)
    assert counted.sum() == len(drawn)
    assert ((counted - expected) ** 2 / expected).sum() < len(law) + 6 * math.sqrt(2 * len(law))


def test_a_report_may_be_finer_than_any_float():
    made = fine_laplace(WHOLE, 1, step=Fraction(1, 10**40))
    assert made.step <= Fraction(1, 10**40)
    report, reports = made.sample_exact(1.5), made.sample_exact([[0.1, 3.9]])
    assert 0 <= report <= 4
    assert (report / made.step).denominator == 1
    assert [len(row) for row in reports] == [2]
    assert len({made.sample_exact(1.5) for _ in range(5)}) == 5
    assert isinstance(made.sample(1.5), float)
    assert made.sample([0.1, 3.9]).shape == (2,)


def test_the_moves_do_not_depend_on_the_answer_and_nodes_are_the_certified_mechanism(tmp_path):
    made = fine_laplace(ib.mean(3, 1, 5), "0.5")
    made.nodes.save(tmp_path / "nodes.json")
    assert ib.verify(tmp_path / "nodes.json").proved
    assert ib.load(tmp_path / "nodes.json").origin.name == "fine_laplace"
    assert made.epsilon == made.nodes.epsilon == Fraction(1, 2)
    one, other = (fine_laplace(ib.mean(3, 1, 5), "0.5", step="1/1000") for _ in range(2))
    assert one.step_weights == other.step_weights
    assert all(0 < weight <= TOTAL // 4 for weight in one.step_weights)


def test_nodes_that_are_not_private_cannot_be_refined():
    made = fine_laplace(WHOLE, 1, step=1)
    with pytest.raises(PrivacyViolation):
        Mechanism(made.nodes.query, Fraction(1, 2), Matrix(made.nodes.weights.copy()), made.nodes.origin)
    with rejects(TypeError, "nodes"):
        FineLaplace(made.nodes.matrix, made.scale, 3)
    with rejects(ValueError, "nodes"):
        FineLaplace(ib.catalog.truncated_geometric(ib.count(4), 1), 1.0, 3)


@pytest.mark.parametrize("query", [WHOLE, PIECES])
@pytest.mark.parametrize("step", [1, "1/64"])
def test_losses_are_those_of_all_reports(query, step):
    made = fine_laplace(query, 1, step=step)
    for j in (0, 3):
        answer, law = query.answers[j], made.probabilities(query.answers[j])
        for loss, power in (("absolute", 1), ("squared", 2)):
            listed = float(sum(p * abs(x - answer) ** power for x, p in law.items()))
            assert made.loss_per_answer(loss)[j] == pytest.approx(listed, rel=1e-12)
    assert made.loss() == pytest.approx(made.loss_per_answer().mean())
    with rejects(ValueError, "loss"):
        made.loss("zero-one")


def test_the_loss_tends_to_that_of_the_density():
    """E|x - f| by quadrature, for the middle of 0..4."""
    made = fine_laplace(ib.interval(0, 4, 1, cells=17, allowance=0), 1)
    f = float(made.nodes.query.answers[8])

    def moment(k):
        return quad(lambda x: abs(x - f) ** k * math.exp(-abs(x - f) / made.scale), 0, 4, points=[f])[0]

    assert made.loss_per_answer()[8] == pytest.approx(moment(1) / moment(0), rel=1e-9)


INF = math.inf


@pytest.mark.parametrize("spans", [[(0, INF)], [(-INF, INF)], [(-INF, 3), (4, INF)]])
def test_endless_spans_have_the_density_and_scale_of_the_real_line(spans):
    """Chances of a seeded sample, all losses, and the least scales of real answers (002, both infinite classes)."""
    made = fine_laplace(ib.count(6), 1, spans=spans, step="1/4")
    assert made.scale == pytest.approx(ib.find_scale(spans, 1, 1), rel=1e-9)
    metric = fine_laplace(ib.count(6), 1, spans=spans, step=1, notion="metric")
    assert metric.scale == pytest.approx(ib.find_scale(spans, 1, 1, "metric"), rel=1e-9)
    x = np.arange(-400, 420) / 4
    inside = sum((x >= low) & (x <= high) for low, high in spans)
    halved = np.isin(x, [end for span in spans for end in span])
    law = inside * np.exp(-np.abs(x - 2) / made.scale) / (1 + halved)
    law /= law.sum()
    assert made.loss_per_answer()[2] == pytest.approx(law @ np.abs(x - 2), rel=1e-9)
    assert made.loss_per_answer("squared")[2] == pytest.approx(law @ (x - 2) ** 2, rel=1e-9)
    drawn = made.simulate(np.full(20_000, 2), np.random.default_rng(5))
    counted = np.array([(drawn == at).sum() for at in x])
    often = law * len(drawn) > 5
    assert counted.sum() == len(drawn)
    chi = ((counted - law * len(drawn)) ** 2)[often] / (law * len(drawn))[often]
    assert chi.sum() < often.sum() + 6 * math.sqrt(2 * often.sum())


def test_digits_beyond_the_last_node_are_those_of_a_geometric_number():
    """The digit of size z is 1 with exp(-z/s) times the chance of 0; the last ones hardly ever are."""
    made = fine_laplace(ib.count(6), 1, spans=[(0, INF)], step="1/1024")
    for k, weight in enumerate(made.digit_weights):
        ratio = math.exp(-float(made.step) * 2**k / made.scale)
        assert weight / (TOTAL - weight) == pytest.approx(ratio, rel=1e-12, abs=1e-15)
    assert made.digit_weights[-1] <= 1
    with rejects(ValueError, "endless"):
        made.probabilities(0)
    with rejects(TypeError, "endless"):
        FineLaplace(made.nodes, made.scale, 3, endless=(1, 0))


def test_wrong_spans_and_steps_are_refused():
    for spans in ([(0, 2)], [(0, 4), (3, 5)], []):
        with rejects(ValueError, "spans"):
            fine_laplace(WHOLE, 1, spans=spans)
    with rejects(ValueError, "step"):
        fine_laplace(WHOLE, 1, step=0)
    with rejects(ValueError, "scale"):
        FineLaplace(fine_laplace(WHOLE, 1, step=1).nodes, 0.0, 3)
    with rejects(ValueError, "levels"):
        FineLaplace(fine_laplace(WHOLE, 1, step=1).nodes, 1.0, 300)
    with rejects(ValueError, "notion"):
        fine_laplace(WHOLE, 1, notion="local")
    with pytest.raises(TooLarge):
        fine_laplace(WHOLE, 1, spans=[(0, "4.00000001")])

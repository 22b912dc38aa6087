"""The registry of laws: what every law brings, and what a new law needs to work everywhere."""

import dataclasses
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles import design_counts
from inbounds.mechanism import Mechanism, Origin, codec, load, mechanism
from inbounds.mechanism.adapters import privacy_map
from inbounds.mechanism.json_values import parse_integer
from inbounds.mechanism.laws import LAWS, AnswerLaw, ApproximateMatrix, ApproximateNoise, Matrix
from inbounds.mechanism.laws.base import BROWSER, COQ
from inbounds.mechanism.laws.plane import make_plane_noise
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.query import RangeQuery
from inbounds.report.html import mechanism_page
from inbounds.report.wording import describe_checkers, format_guarantee
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from raising import rejects

EVEN_STEPS = np.array([TOTAL // 4, TOTAL // 2, TOTAL // 4])


def one_of_each() -> dict[str, Mechanism]:
    """Return a small mechanism of every law in the registry."""
    median = ib.median(0, 4, size=9)
    grid = ib.grid(3, 4, metric="manhattan")
    steps, leaky = ib.count(2), ApproximateNoise(EVEN_STEPS, Fraction(1, 4))
    made = [
        ib.optimal(ib.count(4), 1),
        Mechanism(steps, Fraction(7, 10), ApproximateMatrix(leaky.matrix(steps), leaky.delta), Origin("matrix")),
        Mechanism(steps, Fraction(7, 10), leaky, Origin("noise")),
        ib.catalog.threshold(ib.count(8), 1, "1/100"),
        ib.catalog.truncated_geometric(ib.count(10**5), 1),
        ib.catalog.randomized_response(ib.category(10**5), 1),
        Mechanism(
            grid, Fraction(1), make_plane_noise(grid, Fraction(1), lambda a, b: np.abs(a) + np.abs(b)), Origin("noise")
        ),
        ib.local.subset_selection(ib.category(6), 1),
        ib.design_permute_flip(median, 1),
        ib.design_sided(ib.quantile(1, 0, 20, size=9), 1),
        ib.design_central(median, 1, length=2),
        ib.design_joint(ib.quantiles([0, 0.5], 0, 4, size=9), 1),
        ib.design_joint(ib.quantiles([0, 0.5], 0, 4, maximum=9), 1),
        design_counts(ib.quantiles([0, 0.5], 0, 4, size=9), 1),
    ]
    return {one.law.kind: one for one in made}


MADE = one_of_each()
JOINT = ("joint", "joint_sizes", "counts")


def test_every_law_of_the_registry_is_tried_here():
    assert set(MADE) == set(LAWS)
    assert all(law.kind == kind for kind, law in LAWS.items())


@pytest.mark.parametrize("kind", MADE)
def test_a_passport_is_read_as_it_was_written_whatever_the_law(kind, tmp_path):
    made = MADE[kind]
    made.save(tmp_path / "m.json")
    again = ib.load(tmp_path / "m.json")
    assert (again, again.sha256) == (made, made.sha256)
    verdict = ib.verify(tmp_path / "m.json")
    assert verdict.is_valid
    assert verdict.to_json()["law"] == kind
    assert format_guarantee(made) in verdict.proved


@pytest.mark.parametrize("kind", MADE)
def test_a_law_serves_only_its_own_type_of_query(kind):
    made = MADE[kind]
    other = ib.median(0, 4, size=9) if isinstance(made.query, RangeQuery) else ib.count(4)
    with rejects(TypeError, about="serves"):
        Mechanism(other, made.epsilon, made.law, made.origin)


@pytest.mark.parametrize("kind", [kind for kind in MADE if kind not in ("noise", "response", *JOINT)])
def test_every_small_mechanism_has_a_channel_a_page_and_a_row_in_comparisons(kind):
    made = MADE[kind]
    channel = made.channel()
    assert np.allclose(channel.matrix.sum(axis=0), 1)
    assert channel.matrix.shape == channel.shape
    output = channel.output_values.tolist()[0]
    assert channel.posterior(output).sum() == pytest.approx(1)
    assert made.sha256 in mechanism_page(made)
    (row,) = ib.compare([made]).rows
    assert row.values["information"] >= 0
    assert describe_checkers(made) in mechanism_page(made)


@pytest.mark.parametrize("kind", JOINT)
def test_several_quantiles_have_a_channel_each_one_page_and_no_row_in_comparisons(kind):
    made = MADE[kind]
    for single in made.query.singles:
        channel = made.channel(at=single.at)
        assert np.allclose(channel.matrix.sum(axis=0), 1)
        assert channel.shape == (5, 5)
        assert f"absolute error of the {single.name}" in mechanism_page(made)
    assert made.sha256 in mechanism_page(made)
    assert describe_checkers(made) in mechanism_page(made)
    assert made._repr_html_().count("<svg") == 2
    for arguments in ((made.query, 1), ([made],)):
        with rejects(ValueError, about="compare"):
            ib.compare(*arguments)


@pytest.mark.parametrize("kind", [kind for kind in MADE if issubclass(LAWS[kind], AnswerLaw)])
def test_what_a_law_reveals_is_what_its_check_allows(kind):
    made = MADE[kind]
    assert made.law.tight_epsilon(made.query) <= float(made.epsilon) * (1 + 1e-12)
    assert made.law.tight_epsilon(made.query) > 0.9 * float(made.epsilon)


@dataclasses.dataclass(frozen=True)
class Floor(AnswerLaw):
    """Every output but the truth has the same weight: a law as a newcomer writes it."""

    weight: int

    kind = "floor"
    fields = dict.fromkeys(("weight",))

    def check(self, query, epsilon):
        truth = TOTAL - (len(query.answers) - 1) * self.weight
        if not query.one_output_per_answer or query.neighbours.has_distances or min(self.weight, truth) < 1:
            raise ib.InvalidDistribution("a floor needs one output per answer, and neighbours at distance 1")
        high, low = max(truth, self.weight), min(truth, self.weight)
        if high << EXP_BITS > ratio_lower_bound(epsilon, Fraction(1)) * low:
            raise ib.PrivacyViolation(0, (0, 1), high / low, 1.0)

    def matrix(self, query):
        refuse_beyond_limit(query)
        size = len(query.answers)
        weights = np.full((size, size), self.weight, dtype=np.int64)
        np.fill_diagonal(weights, TOTAL - (size - 1) * self.weight)
        return weights

    def to_json(self):
        return {"weight": str(self.weight)}

    @classmethod
    def from_json(cls, part, query):
        return cls(parse_integer(part["weight"]))

    def proof_steps(self, query):
        return ["two weights were compared"]


@pytest.fixture
def registered(monkeypatch):
    """Add the law to the registry, as one more line would."""
    for module in (mechanism, codec, load):
        monkeypatch.setattr(module, "LAWS", MappingProxyType({**LAWS, Floor.kind: Floor}))


def test_a_law_outside_the_registry_makes_no_mechanism():
    with rejects(TypeError, about="LAWS"):
        Mechanism(ib.count(3), Fraction(1), Floor(TOTAL // 5), Origin("floor"))


@pytest.mark.usefixtures("registered")
def test_a_new_law_works_everywhere_and_no_other_checker_vouches_for_it(tmp_path):
    made = Mechanism(ib.count(3), Fraction(1), Floor(TOTAL // 5), Origin("floor"))
    assert made.sample(2) in range(4)
    made.save(tmp_path / "m.json")
    assert ib.load(tmp_path / "m.json") == made
    verdict = ib.verify(tmp_path / "m.json")
    assert verdict.is_valid
    assert "no machine-checked proof" in verdict.to_json()["checkers"]
    assert "inbounds-check" not in verdict.to_json()["checkers"]
    assert made.loss("zero-one") == pytest.approx(3 / 5)
    assert made.tight_epsilon() == pytest.approx(np.log(2))
    assert [row.name for row in ib.compare(ib.count(3), 1, also={"floor": made}).rows].count("floor") == 1
    assert "two weights were compared" in mechanism_page(made)
    for weight in (TOTAL // 8, TOTAL // 3, TOTAL // 2):  # the truth too likely, hardly likely, impossible
        with pytest.raises((ib.PrivacyViolation, ib.InvalidDistribution)):
            Mechanism(ib.count(3), Fraction(1, 2), Floor(weight), Origin("floor"))


@pytest.mark.usefixtures("registered")
def test_a_law_that_reveals_more_than_its_check_allows_is_found_out(monkeypatch):
    monkeypatch.setattr(Floor, "check", lambda *_: None)
    made = Mechanism(ib.count(3), Fraction(1), Floor(TOTAL // 3), Origin("floor"))
    with rejects(ib.InvalidDistribution, about="reveals"):
        made.tight_epsilon()


def test_what_is_machine_checked_is_said_of_those_laws_alone():
    for kind, law in LAWS.items():
        words = describe_checkers(MADE[kind])
        assert ("extracted from the machine-checked proof" in words) == (COQ in law.checkers)
        assert ("page in the browser" in words) == (BROWSER in law.checkers)


def test_a_check_that_an_instance_replaces_is_not_run():
    law = Matrix(np.array([[TOTAL, 0], [0, TOTAL]]))
    law.__dict__["check"] = lambda *_: None
    with pytest.raises(ib.PrivacyViolation):
        Mechanism(ib.count(1), Fraction(1), law, Origin("tampered"))


def test_a_quantile_is_refused_where_one_true_answer_is_needed():
    made = MADE["scores"]
    with pytest.raises(ib.TooLarge):
        made.postprocess(np.full((5, 5), 0.2))
    for ask in (lambda: ib.unbiased_sum([1, 2], made), lambda: privacy_map(made, 1)):
        with rejects(TypeError, "mechanism", about="answer"):
            ask()


def test_labels_have_no_absolute_loss_whatever_the_law():
    for labels in (4, 5000):
        with rejects(ValueError, about="zero-one"):
            ib.catalog.randomized_response(ib.category(labels), 1).loss()

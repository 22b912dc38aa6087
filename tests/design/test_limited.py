"""Limits on other losses against the papers' linear program with the same rows."""

import importlib
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

import inbounds as ib
from inbounds.design import loss_limits
from inbounds.design.problem import Floats
from inbounds.design.routes import limited, windows_interior
from inbounds.losses import LossLimit, TableLoss, parse_limit, to_loss, to_prior
from inbounds.schema.errors import PlanError
from raising import raises_at, rejects

optimal = importlib.import_module("inbounds.design.designer")  # the room has a function of that name


def papers_program(
    query: ib.RangeQuery,
    epsilon: float,
    loss: Floats,
    prior: Floats,
    worst: bool,
    limits: list[tuple[Floats, float, bool]],
) -> tuple[bool, float]:
    """(feasible, least loss) over full matrices: privacy for every output and pair, and a row for every limit."""
    (m, n), ratio = query.shape, {}
    for a, b, d in query.cliques():
        for j in range(a, b):
            for k in range(a, b):
                if j != k:
                    ratio[j, k] = min(ratio.get((j, k), np.inf), np.exp(epsilon * float(d)))
    cells, j = np.arange(m * n), np.tile(np.arange(n), m)
    pairs = [(i * n + a, i * n + b, r) for (a, b), r in ratio.items() for i in range(m)]
    at, entries = np.arange(len(pairs)), np.array(pairs)
    place = (np.tile(at, 2), entries[:, :2].T.ravel().astype(int))
    rows = [coo_array((np.append(np.ones(len(at)), -entries[:, 2]), place), shape=(len(at), m * n + 1))]
    right = [np.zeros(len(at))]
    if worst:
        place = (np.append(j, np.arange(n)), np.append(cells, np.full(n, m * n)))
        rows.append(coo_array((np.append(loss.ravel(), -np.ones(n)), place), shape=(n, m * n + 1)))
        right.append(np.zeros(n))
    for table, bound, each in limits:
        weights, row = (table, j) if each else (table * prior, 0 * j)
        rows.append(coo_array((weights.ravel(), (row, cells)), shape=(n if each else 1, m * n + 1)))
        right.append(np.full(n if each else 1, bound))
    cost = np.append((loss * prior).ravel() * (not worst), float(worst))
    sums = coo_array((np.ones(m * n), (j, cells)), shape=(n, m * n + 1))
    free = [(0, None)] * (m * n) + [(None, None) if worst else (0, 0)]
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, vstack(rows), np.concatenate(right), sums, np.ones(n), free, options=tight)
    return found.status == 0, float(found.fun or 0.0)


def requests(seed: int) -> list[dict]:
    """A query, a loss, a prior, an aim and a limit between the least possible and what the free optimum has."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(12):
        n = int(rng.integers(2, 9))
        query = [ib.count(n), ib.mean(max(2, n // 2), 0, 2), ib.extreme(0, n), ib.ordinal(0, n)][rng.integers(4)]
        k = len(query.answers)
        d = np.abs(np.arange(k)[:, None] - np.arange(k))
        losses = [d * 1.0, d**2.0, (d > 0) * 1.0, rng.random((k, k))]
        tables = [(d > 1) * 1.0, d * 1.0, d**2.0, rng.random((k, k))]
        prior = [None, rng.random(k), np.exp(-np.arange(k) / 2)][rng.integers(3)]
        made.append(
            {
                "query": query,
                "epsilon": str(rng.choice(["0.1", "0.5", "1", "2"])),
                "loss": losses[rng.integers(4)],
                "prior": prior,
                "aim": str(rng.choice(["average", "worst"])),
                "table": tables[rng.integers(4)],
                "limit_aim": str(rng.choice(["average", "worst"])),
                "share": float(rng.choice([0.05, 0.5, 0.95])),
            }
        )
    return made


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 10))])
def test_a_limited_design_equals_the_papers_linear_program(seed: int) -> None:
    for r in requests(seed):
        query, prior = r["query"], r["prior"]
        free = ib.optimal(query, r["epsilon"], r["loss"], prior, aim=r["aim"])
        averaged = prior if r["limit_aim"] == "average" else None
        least = ib.optimal(query, r["epsilon"], r["table"], averaged, aim=r["limit_aim"]).optimality
        assert least is not None
        has = free.worst_loss(r["table"]) if r["limit_aim"] == "worst" else free.loss(r["table"], prior)
        bound = Fraction(least.value + r["share"] * max(has - least.value, 1e-3)).limit_denominator(10**9)
        limit = LossLimit(to_loss(r["table"]), bound, r["limit_aim"])
        made = ib.optimal(query, r["epsilon"], r["loss"], prior, aim=r["aim"], subject_to=[limit])
        weights, is_worst = to_prior(prior, query), r["aim"] == "worst"
        loss = r["loss"] * weights if is_worst and prior is not None else r["loss"]
        feasible, best = papers_program(
            query, float(r["epsilon"]), loss, weights, is_worst,
            [(r["table"], float(bound), r["limit_aim"] == "worst")],
        )  # fmt: skip
        kept = made.worst_loss(r["table"]) if r["limit_aim"] == "worst" else made.loss(r["table"], prior)
        assert feasible
        assert kept <= float(bound)
        assert made.optimality is not None
        assert made.optimality.value == pytest.approx(best, rel=1e-6, abs=1e-8)
        assert made.optimality.bound <= best * (1 + 1e-8) + 1e-9
        assert made.optimality.gap <= 1e-7 * made.optimality.value + 1e-9


LARGER = [(ib.mean(10, 0, 4), "0.3", None), (ib.mean(10, 0, 4), "0.5", "worst"), (ib.extreme(0, 65), "0.5", None)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "epsilon", "aim", "limit_aim"),
    [
        pytest.param(*each, limit_aim, marks=[pytest.mark.slow] * ((k % 2 == 0) == (limit_aim == "average")))
        for k, each in enumerate(LARGER)
        for limit_aim in ("average", "worst")
    ],
)
def test_rays_and_an_interior_point_meet_limits_at_the_same_loss(
    query: ib.RangeQuery, epsilon: str, aim: str | None, limit_aim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = ib.threshold_loss(float(query.answers.floats()[-1]) / 3)
    wish = {"aim": aim or "average"}
    free, least = ib.optimal(query, epsilon, **wish), ib.optimal(query, epsilon, tail, aim=limit_aim)
    of = (lambda m: m.worst_loss(tail)) if limit_aim == "worst" else (lambda m: m.loss(tail))
    bound = (of(free) + of(least)) / 2
    assert of(least) < of(free)
    found, points = [], windows_interior.points
    for share, applies in ((0.0, True), (np.inf, False)):
        tried = []
        monkeypatch.setattr(limited, "STAIRS_SHARE", share)
        monkeypatch.setattr(windows_interior, "is_applicable", lambda cone, applies=applies: applies)
        monkeypatch.setattr(
            windows_interior, "points", lambda *given, tried=tried: tried.extend(given[7:8]) or points(*given)
        )
        found.append(ib.optimal(query, epsilon, **wish, subject_to=[ib.limit_loss(tail, bound, limit_aim)]))
        assert any(tried) == applies  # with limits: without them it is the way where all answers are neighbours
        assert of(found[-1]) <= bound
    hasty, patient = (made.optimality for made in found)
    assert hasty.value == pytest.approx(patient.value, rel=1e-6)
    assert hasty.gap <= 1e-6 * hasty.value


def test_what_rounding_breaks_is_mended_by_a_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposals that exceed their limits by a little, as rounding at a small epsilon makes them."""
    query, tail = ib.count(12), ib.threshold_loss(2)
    generous = partial(replace, spare=-1e-7)
    monkeypatch.setattr(
        optimal, "limit_tables", lambda *given: [generous(each) for each in loss_limits.limit_tables(*given)]
    )
    made = ib.optimal(query, 1, "squared", subject_to=[ib.limit_loss(tail, "0.07", aim="average")])
    assert made.loss(tail) <= 0.07
    assert made.optimality.gap <= 1e-5 * made.optimality.value


def test_a_search_without_result_ends_in_a_mix_that_keeps_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    query, tail = ib.count(12), ib.threshold_loss(2)
    monkeypatch.setattr(limited, "solve", lambda *_: limited.LimitedSolution(None, -np.inf, 0.0))
    made = ib.optimal(query, 1, "squared", subject_to=[ib.limit_loss(tail, "0.07")])
    assert made.worst_loss(tail) <= 0.07
    assert 0 < made.optimality.gap < 0.1 * made.optimality.value


def test_limits_hold_beside_properties() -> None:
    query = ib.count(8)
    free = ib.optimal(query, 1, "squared", properties=["fair"])
    tail = ib.threshold_loss(2)
    least = ib.optimal(query, 1, tail, properties=["fair"], aim="worst").worst_loss(tail)
    bound = Fraction((least + free.worst_loss(tail)) / 2).limit_denominator(10**6)
    made = ib.optimal(query, 1, "squared", properties=["fair"], subject_to=[ib.limit_loss(tail, bound)])
    assert made.properties()["fair"]
    assert made.worst_loss(tail) <= float(bound) < free.worst_loss(tail)
    assert made.optimality is not None
    assert free.loss("squared") < made.optimality.value <= made.optimality.bound * (1 + 1e-8)


def test_a_limit_beyond_reach_says_how_much_must_be_allowed() -> None:
    query, tail = ib.count(20), ib.threshold_loss(2)
    for properties in ([], ["fair"]):
        least = ib.optimal(query, 1, tail, properties=properties, aim="worst").worst_loss(tail)
        with rejects(ib.InfeasibleDesign, about=f"{least:.6g}"):
            ib.optimal(query, 1, properties=properties, subject_to=[ib.limit_loss(tail, "0.05")])
        made = ib.optimal(query, 1, properties=properties, subject_to=[ib.limit_loss(tail, least * 1.00001)])
        assert made.worst_loss(tail) <= least * 1.00001


def test_limits_that_exclude_each_other_are_refused_together() -> None:
    query = ib.count(4)
    low, high = (TableLoss(np.repeat(np.eye(5)[[i]].T, 5, axis=1), f"reports {i}") for i in (0, 4))
    rest = TableLoss(np.repeat([[0.0], [1.0], [1.0], [1.0], [0.0]], 5, axis=1), "reports between")
    wishes = [ib.limit_loss(low, "0.3"), ib.limit_loss(high, "0.3"), ib.limit_loss(rest, "0.3")]
    with rejects(ib.InfeasibleDesign, about="together"):
        ib.optimal(query, 1, subject_to=wishes)


def test_a_second_aim_chooses_among_the_best() -> None:
    query = ib.count(12)
    first = ib.optimal(query, "0.7", "zero-one", aim="worst")
    both = ib.optimal(query, "0.7", "zero-one", aim="worst", then=["squared"])
    assert both.worst_loss("zero-one") <= first.worst_loss("zero-one") * (1 + 1e-8)
    assert both.worst_loss("squared") <= first.worst_loss("squared") * (1 + 1e-9)
    assert both.optimality is not None
    assert both.optimality.objective == "worst squared loss after the least zero-one loss"
    assert both.optimality.gap <= 1e-6 * both.optimality.value


@pytest.mark.parametrize("query", [ib.count(7), ib.extreme(0, 5), ib.mean(3, 0, 3)])
def test_a_fixed_point_keeps_the_distribution_at_the_least_loss(query: ib.RangeQuery) -> None:
    n = len(query.answers)
    prior = np.exp(-np.arange(n) / 2)
    prior /= prior.sum()
    made = ib.optimal(query, 1, prior=prior, subject_to=[ib.keep_fixed_point(prior)])
    rows = np.eye(n)[:, :, None] * np.ones(n)
    d = np.abs(query.answers.floats()[:, None] - query.answers.floats())
    limits = [(row, p, False) for row, p in zip(rows, prior, strict=True)]
    _, best = papers_program(query, 1.0, d, prior, False, limits)
    np.testing.assert_allclose(made.matrix @ prior, prior, atol=1e-9)
    assert made.loss("absolute", prior) == pytest.approx(best, rel=1e-7)
    assert made.loss("absolute", prior) > ib.optimal(query, 1, prior=prior).loss("absolute", prior)
    with rejects(ValueError, "fixed_point", about="output"):
        ib.optimal(ib.count(20, outputs=7), 1, subject_to=[ib.keep_fixed_point(np.ones(21))])


@pytest.mark.long
def test_recommendations_and_promises_keep_limits() -> None:
    tail = ib.limit_loss(ib.threshold_loss(2), "0.07")
    found = ib.recommend(ib.count(20), 1, loss="squared", subject_to=[tail])
    assert found.mechanism.worst_loss(tail.loss) <= 0.07
    assert "off by more than 2 at most 0.07" in found.reason
    plain = ib.calibrate_epsilon(ib.count(12), ib.goals.average("absolute", 1))
    kept = ib.calibrate_epsilon(
        ib.count(12), ib.goals.average("absolute", 1), subject_to=[ib.limit_loss(tail.loss, "0.05")]
    )
    assert kept.epsilon > plain.epsilon
    assert kept.mechanism.worst_loss(tail.loss) <= 0.05


def test_a_limited_passport_is_read_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    made = ib.optimal(ib.count(6), 1, "squared", subject_to=[ib.limit_loss(ib.threshold_loss(2), "0.2")])
    made.save(tmp_path / "m.json")
    read = ib.load(tmp_path / "m.json")
    assert read.optimality == made.optimality
    assert any("subject to off by more than 2" in claim for claim in read.unchecked_claims)


def test_a_limit_in_words_is_the_limit() -> None:
    assert str(parse_limit("off-by-more-than-2=0.05")) == str(ib.limit_loss(ib.threshold_loss(2), "0.05"))
    assert str(parse_limit("average absolute = 3/2")) == str(ib.limit_loss("absolute", "3/2", "average"))
    for malformed in ("absolute", 3, {"loss": "squared", "bound": 3}):
        with rejects(ValueError, about="bound"):
            parse_limit(malformed)  # type: ignore[arg-type]
    with rejects(TypeError, "subject_to", about="limit_loss"):
        ib.optimal(ib.count(3), 1, subject_to=["absolute=1"])  # type: ignore[list-item]
    with rejects(ValueError, "bound"):
        ib.limit_loss("absolute", -1)


def test_plans_and_commands_take_limits_in_words() -> None:
    from typer.testing import CliRunner

    from inbounds.cli import app
    from inbounds.plan.load import parse_design_options
    from inbounds.statistics.designs import DesignOptions, design_request

    wished = design_request(
        ib.count(12), Fraction(1), DesignOptions(loss="squared", limits=("off-by-more-than-2=0.07",))
    )
    assert wished.worst_loss(ib.threshold_loss(2)) <= 0.07
    with raises_at(PlanError, ("limits",)):
        parse_design_options({"limits": "absolute=1"})
    asked = ["design", "count", "--size", "12", "--epsilon", "1", "--loss", "squared"]
    shown = CliRunner().invoke(app, [*asked, "--limit", "off-by-more-than-2=0.07", "--then-minimize", "absolute"])
    assert shown.exit_code == 0
    refused = CliRunner().invoke(app, [*asked, "--limit", "off-by-more-than-2=0.01"])
    assert refused.exit_code != 0


BREAKABLE = ib.threshold_loss(1)


@pytest.mark.parametrize("aim", ["worst", "average"])
def test_a_limit_that_every_mechanism_keeps_changes_nothing(aim: str) -> None:
    query = ib.count(15, outputs=2)
    free = ib.optimal(query, 0.6, "zero-one")
    limited_design = ib.optimal(query, 0.6, "zero-one", subject_to=ib.limit_loss(BREAKABLE, 1, aim))
    assert np.array_equal(free.weights, limited_design.weights)


@pytest.mark.parametrize("properties", [(), ("row_monotone",), ("weakly_honest",)])
def test_a_limit_of_nothing_leaves_only_the_reports_that_are_never_so_wrong(properties: tuple[str, ...]) -> None:
    query, far = ib.count(10), ib.threshold_loss(6)
    if "weakly_honest" in properties:
        with pytest.raises(ib.InfeasibleDesign):
            ib.optimal(query, 1, properties=properties, subject_to=ib.limit_loss(far, 0))
        return
    mechanism = ib.optimal(query, 1, properties=properties, subject_to=ib.limit_loss(far, 0))
    assert set(np.flatnonzero(mechanism.weights.any(axis=1))) <= {4, 5, 6}
    assert mechanism.worst_loss(far) == 0
    assert mechanism.optimality.gap < 1e-6


def test_a_limit_that_forbids_every_report_is_refused() -> None:
    with rejects(ib.InfeasibleDesign, about="output"):
        ib.optimal(ib.count(12), 3.76, subject_to=ib.limit_loss(ib.threshold_loss(5), 0))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_a_limit_at_the_least_loss_that_any_mechanism_has_is_kept_and_one_below_it_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, epsilon = int(rng.integers(3, 12)), str(rng.choice(["0.1", "0.7", "2", "4"]))
    query = [ib.count(n), ib.mean(n, 0, 2), ib.extreme(1, n + 1), ib.interval(0, 12, 1, 12, holes=[(5, 7)])][seed % 4]
    loss, aim = [BREAKABLE, "absolute", "squared"][rng.integers(3)], ("worst", "average")[seed % 2]
    properties = [(), ("column_honest",)][rng.integers(2)]
    least = ib.optimal(query, epsilon, loss, properties=properties, aim=aim).optimality
    kept = ib.optimal(
        query, epsilon, "zero-one", properties=properties, subject_to=ib.limit_loss(loss, least.value, aim)
    )
    assert (kept.worst_loss(loss) if aim == "worst" else kept.loss(loss)) <= least.value * (1 + 1e-12)
    below = ib.limit_loss(loss, least.bound * (1 - 1e-6), aim)
    with pytest.raises(ib.InfeasibleDesign):
        ib.optimal(query, epsilon, "zero-one", properties=properties, subject_to=below)

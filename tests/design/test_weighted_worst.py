"""The worst answer under a prior: the largest of the answers' expected losses, each times its weight (003 Def. 3)."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import inbounds as ib
from inbounds.errors import TooLarge
from inbounds.evaluate.goals import AccuracyGoal
from inbounds.losses import to_loss, weigh_loss
from inbounds.schema.errors import PlanError
from inbounds.statistics.designs import DesignOptions, design_range_request
from raising import rejects

WEIGHTS = np.array([8.0, 4, 2, 1, 1])


def least_weighted_worst(answers: int, epsilon: float, loss: np.ndarray, weights: np.ndarray) -> float:
    """Solve the papers' linear program over full matrices, with one row w_j · loss_j <= t for every answer."""
    cells, rows, bounds = answers * answers, [], []
    for i in range(answers):
        for a, b in [(j, j + 1) for j in range(answers - 1)] + [(j + 1, j) for j in range(answers - 1)]:
            row = np.zeros(cells + 1)
            row[i * answers + a], row[i * answers + b] = 1, -np.exp(epsilon)
            rows.append(row)
            bounds.append(0.0)
    for j in range(answers):
        row = np.zeros(cells + 1)
        row[j:cells:answers], row[-1] = weights[j] * loss[:, j], -1
        rows.append(row)
        bounds.append(0.0)
    sums = np.zeros((answers, cells + 1))
    for j in range(answers):
        sums[j, j:cells:answers] = 1
    found = linprog(np.eye(cells + 1)[-1], np.array(rows), bounds, sums, np.ones(answers))
    return float(found.fun)


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize(
    "weights", [WEIGHTS, np.ones(5), np.array([0.0, 1, 3, 1, 0])], ids=["falling", "even", "zeros"]
)
def test_the_optimum_is_that_of_the_linear_program(loss, weights):
    query, share = ib.count(4), weights / weights.sum()
    found = ib.optimal(query, "0.5", loss, weights, aim="worst")
    expected = least_weighted_worst(5, 0.5, to_loss(loss).table(query), share)
    assert found.optimality.value == pytest.approx((found.loss_per_answer(loss) * share).max(), rel=1e-9)
    assert found.optimality.value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found.optimality.bound <= expected * (1 + 1e-9) + 1e-12


def test_even_weights_give_the_worst_case_over_the_number_of_answers():
    plain, even = (ib.optimal(ib.count(6), 1, prior=prior, aim="worst") for prior in (None, np.ones(7)))
    assert 7 * even.optimality.value == pytest.approx(plain.optimality.value, rel=1e-7)


def test_the_prior_changes_the_design():
    plain, weighted = (ib.optimal(ib.count(4), "0.5", prior=prior, aim="worst") for prior in (None, WEIGHTS))
    share = WEIGHTS / WEIGHTS.sum()
    assert (weighted.loss_per_answer() * share).max() < 0.9 * (plain.loss_per_answer() * share).max()


def test_properties_and_later_losses_keep_the_weighted_optimum():
    first = ib.optimal(ib.count(4), "0.5", "zero-one", WEIGHTS, aim="worst")
    then = ib.optimal(ib.count(4), "0.5", "zero-one", WEIGHTS, aim="worst", then=["squared"])
    fair = ib.optimal(ib.count(4), "0.5", "zero-one", WEIGHTS, ["fair"], "worst")
    weighted = weigh_loss(to_loss("zero-one"), WEIGHTS, ib.count(4))
    assert then.worst_loss(weighted) == pytest.approx(first.worst_loss(weighted), rel=1e-6)
    assert fair.worst_loss(weighted) > first.worst_loss(weighted)


def test_a_passport_holds_the_weighted_loss_from_which_its_value_is_recomputed(tmp_path):
    found = ib.optimal(ib.count(4), "0.5", prior=WEIGHTS, aim="worst")
    assert found.optimality.objective == "worst prior-weighted absolute loss"
    found.save(tmp_path / "m.json")
    assert np.allclose(found.optimality.loss_table, weigh_loss(to_loss("absolute"), WEIGHTS, ib.count(4)).values)
    assert ib.verify(tmp_path / "m.json").is_valid


def test_recommend_compares_by_the_weighted_worst_case():
    found = ib.recommend(ib.count(4), "0.5", loss="absolute", prior=WEIGHTS, aim="worst")
    share = WEIGHTS / WEIGHTS.sum()
    values = {row.name: (row.mechanism.loss_per_answer("absolute") * share).max() for row in found.comparison.rows}
    assert (found.mechanism.loss_per_answer("absolute") * share).max() == pytest.approx(min(values.values()), rel=1e-6)


def test_what_cannot_use_both_refuses_them():
    with rejects(TooLarge, about="leave"):
        ib.optimal(ib.count(20_000), 1, prior=np.ones(20_001), aim="worst")
    with rejects(ValueError, "prior"):
        AccuracyGoal(to_loss("absolute"), 1, "worst", (1.0, 2.0))
    options = DesignOptions(aim="worst", prior={"binomial": "0.3"})
    with rejects(ValueError, about="prior"):
        design_range_request(ib.total(200, 0, 4), ib.exact.to_epsilon(1), options)


WORST = {"aim": "worst", "prior": {"binomial": "0.3"}}


@pytest.mark.parametrize("place", ["plan", "statistic"])
@pytest.mark.parametrize(
    ("statistic", "columns", "options"),
    [
        ({"mean": "x"}, {"x": {"low": 0, "high": 2}}, {}),
        ({"crosstab": ["c", "d"]}, {"c": {"labels": ["a", "b"]}, "d": {"labels": ["p", "q"]}}, {}),
        ({"count": "c = 'a'"}, {"c": {"labels": ["a", "b"]}}, {"mechanism": "explicit_fair"}),
    ],
    ids=["mean of secret sizes", "crosstab", "named mechanism"],
)
def test_a_plan_is_refused_where_the_worst_answer_under_a_prior_has_no_use(
    statistic, columns, options, place, tmp_path
):
    def preview(options):
        plan = {
            "groups": {"by": ["g"], "keys": ["A", "B"], "max_size": 5},
            "columns": columns,
            "statistics": [{**statistic, **(options if place == "statistic" else {})}],
            "privacy": {"epsilon": 4},
            **({"design": options} if place == "plan" else {}),
        }
        frame = pa.table(
            {"g": ["A"], **{name: ["a"] if "labels" in column else [1] for name, column in columns.items()}}
        )
        return ib.preview_release(plan, frame, cache=tmp_path)

    assert preview(options if "mechanism" in options else {}).errors
    with pytest.raises(PlanError) as caught:
        preview({**WORST, **options})
    assert caught.value.path[0] in ("statistics", "design")


GRAPHS = [
    ib.extreme(0, 4),
    ib.ordinal(0, 4),
    ib.category(4),
    ib.graph(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]),
    ib.tree({"b": "a", "c": "a", "d": "c"}),
]


@pytest.mark.parametrize("query", [ib.total(3, 0, 2), ib.mean(3, 0, 2), *GRAPHS], ids=lambda query: query.kind)
def test_every_kind_of_query_uses_the_weights(query):
    weights = np.arange(1.0, len(query.answers) + 1)
    loss = "zero-one" if query.kind == "category" else "absolute" if query.is_ordered else "distance"
    plain, found = (ib.optimal(query, "0.7", loss, prior=prior, aim="worst") for prior in (None, weights))
    of_plain, value = (float((made.loss_per_answer(loss) * weights).max() / weights.sum()) for made in (plain, found))
    assert value == pytest.approx(found.optimality.value, rel=1e-9)
    assert found.optimality.bound == pytest.approx(value, rel=1e-6)
    assert value < 0.9 * of_plain


def test_a_plan_designs_for_the_weighted_worst_case():
    options, query = DesignOptions(aim="worst", prior={"binomial": "0.3"}), ib.total(5, 0, 2)
    made = design_range_request(query, ib.exact.to_epsilon(1), options)
    share = np.asarray(ib.priors.binomial(query, "0.3"))
    best = ib.optimal(query, 1, prior=share, aim="worst")
    assert (made.loss_per_answer() * share).max() == pytest.approx(best.optimality.value, rel=1e-6)

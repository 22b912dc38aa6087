"""003, Figures 10 to 13: the mechanisms on groups of Adult records and on synthetic bits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds import priors
from inbounds.data import adult
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Ints, Number, epsilon_from_alpha
from inbounds.losses import LossLike, threshold_loss
from inbounds.mechanism import Mechanism
from inbounds.query import count
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.paper_003 import named
from inbounds_studies.study import Result, Study
from inbounds_studies.style import curves
from inbounds_studies.table import Table, decimal

# --- what simulated studies measure -----------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """of: errors (repetitions × groups) to one number for each repetition; loss: its exact counterpart."""

    loss: LossLike
    of: Callable[[Floats], Floats]
    root: bool = False

    def exact(self, mechanism: Mechanism, prior: Floats) -> float:
        value = mechanism.loss(self.loss, prior)
        return float(np.sqrt(value)) if self.root else value


def _wrong(errors: Floats) -> Floats:
    return np.asarray((errors != 0).mean(axis=1))


def _rmse(errors: Floats) -> Floats:
    return np.asarray(np.sqrt((errors * errors).mean(axis=1)))


WRONG = Measure("zero-one", _wrong)
RMSE = Measure("squared", _rmse, root=True)


def beyond(d: int) -> Measure:
    """L0,d: reports more than d away from the truth."""
    return Measure(threshold_loss(d), lambda errors: np.asarray((np.abs(errors) > d).mean(axis=1)))


def measured(
    mechanisms: Mapping[str, Mechanism], answers: Ints, measure: Measure, rng: np.random.Generator
) -> list[tuple[str, float, float, float]]:
    """(mechanism, mean over the repetitions, its standard error, exact expectation) for answers reps × groups."""
    rows = []
    for name, mechanism in mechanisms.items():
        scores = measure.of(mechanism.simulate(answers, rng) - answers.astype(np.float64))
        prior = np.bincount(answers.ravel(), minlength=len(mechanism.query.answers)) / answers.size
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        rows.append((name, float(scores.mean()), float(error), measure.exact(mechanism, prior)))
    return rows


KNOWN = "optimal, prior known"
RESULT = ("mechanism", "value", "standard_error", "expected")


def _with_best(n: int, a: Number, measure: Measure, prior: Floats) -> dict[str, Mechanism]:
    """The named mechanisms, and the best for the measure when the distribution of the true counts is known."""
    query, epsilon = count(n), epsilon_from_alpha(a)
    return named(n, epsilon) | {KNOWN: optimal(query, epsilon, measure.loss, prior)}


# --- Figure 10: Adult -------------------------------------------------------------------------------------

TARGETS = ("income above 50,000", "female", "under 30")


def bits(target: str) -> Ints:
    """One sensitive bit for each of the 32,561 people."""
    people = adult()
    chosen = dict(zip(TARGETS, (people.high_income, ~people.male, people.age < 30), strict=True))
    return chosen[target].astype(np.int64)


def fig10(
    a: Number = "0.9",
    sizes: Sequence[int] = (2, 4, 6, 8, 10, 12, 16, 20),
    targets: Sequence[str] = TARGETS,
    repetitions: int = 50,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Share of wrong reports for groups of Adult records, in the order of the file."""
    jobs = [(target, n, a, repetitions, seed) for target in targets for n in sizes]
    rows = [row for part in crew.map(_adult, jobs) for row in part]
    table = Table.of(("target", "n", "alpha", *RESULT), rows)
    return Result(
        table,
        lambda: curves(table, "n", panel="target", x_label="group size n", y_label="share of wrong reports"),
    )


def _adult(job: tuple[str, int, Number, int, int]) -> list[tuple[Any, ...]]:
    target, n, a, repetitions, seed = job
    answers = bits(target)
    groups = answers[: len(answers) // n * n].reshape(-1, n).sum(axis=1)
    prior = priors.empirical(count(n), groups)
    rng = stream(seed, 310, TARGETS.index(target), n)
    found = measured(_with_best(n, a, WRONG, prior), np.tile(groups, (repetitions, 1)), WRONG, rng)
    return [(target, n, decimal(a), *row) for row in found]


# --- Figures 11 to 13: synthetic bits ---------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """One setting of a synthetic study: `people` bits with probability p, in groups of n."""

    figure: int
    a: Number
    n: int
    p: Number
    d: int
    people: int
    repetitions: int
    seed: int

    @property
    def measure(self) -> Measure:
        return RMSE if self.figure == 13 else beyond(self.d)


def fig11(
    alphas: Sequence[Number] = ("10/11", "2/3"),
    sizes: Sequence[int] = (4, 8, 12),
    chances: Sequence[Number] = ("0.02", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.98"),
    people: int = 10_000,
    repetitions: int = 30,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Share of reports more than one off, against the share p of ones."""
    points = [Point(11, a, n, p, 1, people, repetitions, seed) for a in alphas for n in sizes for p in chances]
    table = _synthetic(points, crew, lambda point: f"α = {point.a}, n = {point.n}")
    return Result(
        table,
        lambda: curves(
            table, "p", panel="panel", x_label="chance p of a one", y_label="more than one off", across=len(sizes)
        ),
    )


def fig12(
    alphas: Sequence[Number] = ("10/11", "0.8", "2/3"),
    chances: Sequence[Number] = ("0.5", "0.1"),
    n: int = 8,
    distances: Sequence[int] = (0, 1, 2, 3, 4, 5, 6),
    people: int = 10_000,
    repetitions: int = 30,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Share of reports more than d off: the tail of each mechanism, for even and for skewed groups."""
    points = [Point(12, a, n, p, d, people, repetitions, seed) for p in chances for a in alphas for d in distances]
    table = _synthetic(points, crew, lambda point: f"p = {point.p}, α = {point.a}")
    return Result(
        table,
        lambda: curves(table, "d", panel="panel", x_label="distance d", y_label="more than d off", across=len(alphas)),
    )


def fig13(
    alphas: Sequence[Number] = ("2/3", "10/11", "0.99"),
    chances: Sequence[Number] = ("0.5", "0.1"),
    sizes: Sequence[int] = (2, 4, 6, 8, 10, 12),
    people: int = 10_000,
    repetitions: int = 30,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Root mean square error against the group size."""
    points = [Point(13, a, n, p, 0, people, repetitions, seed) for p in chances for a in alphas for n in sizes]
    table = _synthetic(points, crew, lambda point: f"p = {point.p}, α = {point.a}")
    return Result(
        table,
        lambda: curves(
            table, "n", panel="panel", x_label="group size n", y_label="root mean square error", across=len(alphas)
        ),
    )


def _synthetic(points: Sequence[Point], crew: Crew, panel: Callable[[Point], str]) -> Table:
    columns = ("panel", "alpha", "n", "p", "d", *RESULT)
    parts = zip(points, crew.map(_simulated, points), strict=True)
    rows = [
        (panel(point), decimal(point.a), point.n, decimal(point.p), point.d, *row)
        for point, part in parts
        for row in part
    ]
    return Table.of(columns, rows)


def _simulated(point: Point) -> list[tuple[str, float, float, float]]:
    chance = decimal(point.p)
    rng = stream(point.seed, point.figure, point.n, round(1000 * chance), round(1000 * decimal(point.a)), point.d)
    groups = point.people // point.n
    answers = rng.binomial(point.n, chance, size=(point.repetitions, groups))
    prior = priors.binomial(count(point.n), point.p)
    return measured(_with_best(point.n, point.a, point.measure, prior), answers, point.measure, rng)


_FEW = {"repetitions": 10, "people": 4000}
STUDIES = (
    Study("003-fig10", "Adult: share of wrong reports", fig10, {"sizes": (2, 4, 8), "repetitions": 10}),
    Study(
        "003-fig11",
        "Synthetic bits: more than one off",
        fig11,
        {**_FEW, "sizes": (4, 8), "chances": ("0.1", "0.5", "0.9")},
    ),
    Study("003-fig12", "Synthetic bits: more than d off", fig12, {**_FEW, "distances": (0, 1, 3)}),
    Study("003-fig13", "Synthetic bits: root mean square error", fig13, {**_FEW, "sizes": (2, 4, 8)}),
)

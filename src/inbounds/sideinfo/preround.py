"""Pre-rounding: use a rough prior to round the true answer into wide cells before noise is added.

The two-stage mechanism of 004 §5.2.2. The edges of the cells and the outputs for them are searched together
(`preround_search`). Knowledge about the truth enters as a set of plausible priors; the loss is their average or the
worst of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from inbounds.design.remap import hardest_mixture
from inbounds.exact import Floats, Ints, Number
from inbounds.losses import LossLike, Prior, to_prior
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.query import RangeQuery, check_query
from inbounds.sideinfo.preround_search import Edges, Search

Aim = Literal["average", "worst"]
REFERENCE = "Chen, Pal, Golubchik, Oblivious mechanisms in differential privacy, 5.2.2"
ROUNDS = 100
"""The most steps of the game between designs and priors."""


@dataclass(frozen=True)
class PreRounding:
    """A designed pre-rounding.

    mechanism: certified. edges: where cells meet, in units of the answer. values: the output for each noisy cell.
    losses: expected loss under each prior; loss: their average or largest. bound: no pre-rounding of this kind, nor a
    random choice among several, has a smaller loss; minus infinity if not all were tried.
    """

    mechanism: Mechanism
    edges: tuple[Fraction, ...]
    values: tuple[Any, ...]
    losses: tuple[float, ...]
    loss: float
    bound: float


@dataclass(frozen=True)
class PreRoundingComparison:
    """A pre-rounding and the best mechanism of any kind for the same priors.

    optimal_loss: the same measure for `optimal`, designed for the average prior, or for the mixture of priors that
    is hardest for pre-rounding. least: a proved bound; no mechanism has a smaller loss.
    """

    prerounding: PreRounding
    optimal: Mechanism
    optimal_loss: float
    least: float


def preround(
    query: RangeQuery,
    epsilon: Number,
    priors: Sequence[Prior],
    loss: LossLike = "absolute",
    aim: Aim = "average",
    *,
    width: Number | None = None,
) -> PreRounding:
    """Design the pre-rounding and remap with the least loss, on average over the priors or under the worst of them.

    priors: plausible weights of the answers, from public knowledge. width: the least width of inner cells, at least the
    sensitivity, which is the default. Up to 100,000 pre-roundings are all tried; the result is then the best for one
    prior or the average, and within `loss - bound` of the best for the worst prior. Otherwise the best of an even
    selection is improved edge by edge. Cost: outputs · cells² for each pre-rounding.

    >>> from inbounds import interval, priors
    >>> ten = interval(-10, 10, 10, 40)
    >>> found = preround(ten, 2, [priors.normal(ten, mu, 1) for mu in (-2, 0, 2)])
    >>> [str(edge) for edge in found.edges], [round(v, 2) for v in found.values]
    (['0'], [-1.25, 1.25])
    """
    check_query(query)
    search = Search.over(query, epsilon, loss, width)
    plausible = _plausible(priors, query)
    if aim == "average" or (aim == "worst" and len(plausible) == 1):
        edges = search.best(plausible.mean(axis=0))
        bound = search.cost(edges, plausible.mean(axis=0)) if search.complete else -np.inf
        return _design_rounded(search, edges, search.values(edges, plausible.mean(axis=0)), plausible, bound, aim)
    if aim != "worst":
        raise ValueError(f"aim must be 'average' or 'worst', got {aim!r}")
    return _least_worst(search, plausible)[0]


def compare_preround(
    query: RangeQuery,
    epsilon: Number,
    priors: Sequence[Prior],
    loss: LossLike = "absolute",
    aim: Aim = "average",
    *,
    width: Number | None = None,
) -> PreRoundingComparison:
    """Compare the best pre-rounding with `ib.optimal` under the same priors."""
    from inbounds.design.designer import optimal

    plausible = _plausible(priors, query)
    if aim == "worst" and len(plausible) > 1:
        design, mixture = _least_worst(Search.over(query, epsilon, loss, width), plausible)
    else:
        design, mixture = preround(query, epsilon, priors, loss, aim, width=width), np.ones(len(plausible))
    mixed_prior = mixture @ plausible / mixture.sum()
    optimum = optimal(query, epsilon, loss, mixed_prior)
    losses = [optimum.loss(loss, prior) for prior in plausible]
    assert optimum.optimality is not None
    optimal_loss = max(losses) if aim == "worst" else float(np.mean(losses))
    return PreRoundingComparison(design, optimum, optimal_loss, optimum.optimality.bound)


def _design_rounded(search: Search, edges: Edges, values: Ints, priors: Floats, bound: float, aim: Aim) -> PreRounding:
    answers, output_values = search.query.answers, search.query.output_values
    edge_values = tuple((answers[e - 1] + answers[e]) / 2 for e in edges)
    reported_values = tuple(output_values[values].tolist())
    parameters = {"edges": " ".join(map(str, edge_values)), "values": " ".join(map(str, reported_values)), "aim": aim}
    matrix, origin = search.matrix(edges, values), Origin("preround", parameters, REFERENCE)
    losses = tuple(float(x) for x in search.evaluate(edges, values, priors))
    loss = max(losses) if aim == "worst" else float(np.mean(losses))
    mechanism = certify_formula(matrix, search.query, search.epsilon, origin)
    return PreRounding(mechanism, edge_values, reported_values, losses, loss, min(bound, loss))


# --- the worst of several priors --------------------------------------------------------------------------


def _least_worst(search: Search, priors: Floats) -> tuple[PreRounding, Floats]:
    """Return the design with the least largest loss over the priors among those found, and the hardest mixture of
    priors.

    A game: nature mixes the priors, the designer answers with the best pre-rounding for the mixture. The value of the
    game restricted to the designs found so far falls, the value of the answers rises. When they meet, no new design
    helps (double oracle, McMahan, Gordon, Blum 2003). The value of the answers is the bound.
    """
    mixture, designs = np.full(len(priors), 1 / len(priors)), {}
    bound, hardest = -np.inf, np.full(len(priors), 1 / len(priors))
    for _ in range(ROUNDS):
        mixed_prior = mixture @ priors
        edges = search.best(mixed_prior)
        values = search.values(edges, mixed_prior)
        losses = search.evaluate(edges, values, priors)
        if float(mixture @ losses) > bound:
            bound, hardest = float(mixture @ losses), mixture
        is_repeated = (edges, tuple(values.tolist())) in designs
        designs[edges, tuple(values.tolist())] = losses
        if is_repeated:
            break
        mixture = hardest_mixture(np.array(list(designs.values())))
    (edges, best_values), _ = min(designs.items(), key=lambda item: item[1].max())
    valid_bound = bound if search.complete else -np.inf
    return _design_rounded(search, edges, np.array(best_values), priors, valid_bound, "worst"), hardest


def _plausible(priors: Sequence[Prior], query: RangeQuery) -> Floats:
    if len(priors) == 0:
        raise ValueError("priors must be at least one set of weights; for no knowledge give [None], the uniform prior")
    if isinstance(priors, np.ndarray) and priors.ndim == 1:
        raise ValueError("priors must be a list of priors; put a single one in brackets")
    return np.array([to_prior(prior, query) for prior in priors])

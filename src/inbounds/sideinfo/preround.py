"""Rough prior knowledge put to use: round the true answer into wide cells first, chosen from what is plausible.

The two-stage mechanism of 004 §5.2.2, designed rather than guessed: edges of the cells and values reported for them
are searched together (`prerounding`). What is known of the truth enters as a set of plausible priors, and the loss
is judged by their average or by the worst of them.
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
"""Steps of the game between designs and priors."""


@dataclass(frozen=True)
class PreRounding:
    """A designed pre-rounding.

    mechanism: certified. edges: where cells meet, in units of the answer. values: what is reported for each noisy
    cell. losses: expected loss under each prior; loss: their average or largest. bound: no pre-rounding of this
    kind, nor a random choice among several, has less; minus infinity when not all were tried.
    """

    mechanism: Mechanism
    edges: tuple[Fraction, ...]
    values: tuple[Any, ...]
    losses: tuple[float, ...]
    loss: float
    bound: float


@dataclass(frozen=True)
class PreRoundingComparison:
    """A pre-rounding beside the best mechanism of any kind for the same priors.

    optimal_loss: the same measure for `optimal`, designed for the average prior, or for the mixture of priors that
    is hardest for pre-rounding. least: proved, no mechanism whatsoever has less.
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
    """Return the pre-rounding and remap with the least loss, on average over the priors or under the worst of them.

    priors: plausible weights of the answers, from public knowledge. width: the least width of inner cells, at
    least the sensitivity, which is the default. All pre-roundings are tried where they are at most 100,000: then
    the result is the best for one prior or the average, and within `loss - bound` of it for the worst. Otherwise
    the best of an even selection is improved edge by edge. Cost: outputs · cells² for each try.

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
    """Return the best pre-rounding beside `ib.optimal` under the same priors: what the detour through cells costs."""
    from inbounds.design.designer import optimal

    plausible = _plausible(priors, query)
    if aim == "worst" and len(plausible) > 1:
        found, mixture = _least_worst(Search.over(query, epsilon, loss, width), plausible)
    else:
        found, mixture = preround(query, epsilon, priors, loss, aim, width=width), np.ones(len(plausible))
    believed = mixture @ plausible / mixture.sum()
    best = optimal(query, epsilon, loss, believed)
    losses = [best.loss(loss, prior) for prior in plausible]
    assert best.optimality is not None
    judged = max(losses) if aim == "worst" else float(np.mean(losses))
    return PreRoundingComparison(found, best, judged, best.optimality.bound)


def _design_rounded(search: Search, edges: Edges, values: Ints, priors: Floats, bound: float, aim: Aim) -> PreRounding:
    answers, reported = search.query.answers, search.query.output_values
    at = tuple((answers[e - 1] + answers[e]) / 2 for e in edges)
    said = tuple(reported[values].tolist())
    parameters = {"edges": " ".join(map(str, at)), "values": " ".join(map(str, said)), "aim": aim}
    matrix, origin = search.matrix(edges, values), Origin("preround", parameters, REFERENCE)
    losses = tuple(float(x) for x in search.evaluate(edges, values, priors))
    loss = max(losses) if aim == "worst" else float(np.mean(losses))
    mechanism = certify_formula(matrix, search.query, search.epsilon, origin)
    return PreRounding(mechanism, at, said, losses, loss, min(bound, loss))


# --- the worst of several priors --------------------------------------------------------------------------


def _least_worst(search: Search, priors: Floats) -> tuple[PreRounding, Floats]:
    """Return the design whose largest loss over the priors is least among those found, and the hardest mixture of priors.

    A game: nature mixes the priors, the designer answers with the best pre-rounding for the mixture. The value of
    the game restricted to the designs found so far falls, the value of the answers rises; where they meet no new
    design helps (double oracle, McMahan, Gordon, Blum 2003). The answers' value is the bound.
    """
    mixture, designs = np.full(len(priors), 1 / len(priors)), {}
    bound, hardest = -np.inf, np.full(len(priors), 1 / len(priors))
    for _ in range(ROUNDS):
        believed = mixture @ priors
        edges = search.best(believed)
        values = search.values(edges, believed)
        losses = search.evaluate(edges, values, priors)
        if float(mixture @ losses) > bound:
            bound, hardest = float(mixture @ losses), mixture
        known = (edges, tuple(values.tolist())) in designs
        designs[edges, tuple(values.tolist())] = losses
        if known:
            break
        mixture = hardest_mixture(np.array(list(designs.values())))
    (edges, chosen), _ = min(designs.items(), key=lambda item: item[1].max())
    proved = bound if search.complete else -np.inf
    return _design_rounded(search, edges, np.array(chosen), priors, proved, "worst"), hardest


def _plausible(priors: Sequence[Prior], query: RangeQuery) -> Floats:
    if len(priors) == 0:
        raise ValueError("priors must be at least one set of weights; for no knowledge give [None], the uniform prior")
    if isinstance(priors, np.ndarray) and priors.ndim == 1:
        raise ValueError("priors must be a list of priors; put a single one in brackets")
    return np.array([to_prior(prior, query) for prior in priors])

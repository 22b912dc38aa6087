"""Compute a lower bound for the loss of every private mechanism: solved in floats, proved in exact fractions.

A mechanism x has columns that are distributions, and x[i, j] <= E[j, k]·x[i, k] for neighbours j and k, with E at least
e^(epsilon·distance). For any multipliers z >= 0 of those constraints, and weights w of the answers that sum to 1,

    loss of x  >=  sum over j of  min over i of  w[j]·c[i, j] + sum over k of z[i, j, k] - E[k, j]·z[i, k, j].

Good multipliers come from a linear program in floats. The sum is then computed in exact fractions, so the bound holds
for any output of the solver; bad multipliers only make it lower. For the loss of the worst answer any w is allowed, and
the linear program finds it.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from inbounds.checker.fields import Json

MOST_CELLS = 4_225
"""Most outputs times answers of a passport whose bound is computed."""

MOST_ROWS = 40_000
"""Most constraints of the linear program."""

BITS = 200
"""Binary digits of the upper bounds of e^x."""

_WORDS = re.compile(r"(average|worst) (.{1,200}?) loss( under the given prior)?(?: (?:subject to|after the least) .*)?")
_NAMED = re.compile(r"(absolute|squared|zero-one)|off by more than ([0-9]{1,40}(?:/[0-9]{1,40})?)|power ([0-9]{1,2})")


@dataclass(frozen=True)
class LeastLoss:
    """A design problem: costs[i][j] of output i for answer j, weights of the answers, and pairs of neighbours.

    worst: whether the loss is that of the worst answer; weights are then not used as a prior. pairs: answers j and k,
    and epsilon times their distance.
    """

    costs: list[list[Fraction]]
    weights: list[Fraction]
    worst: bool
    pairs: list[tuple[int, int, Fraction]]


def compute_proved_bound(passport: Json) -> Fraction | None:
    """Compute a lower bound for the loss of every private mechanism with a passport's query, epsilon and objective.

    passport: the content of its envelope.

    Returns None if the objective or the query is of a kind, or a size, that is not supported. Properties and limits of
    the design are ignored: a bound without them also holds with them, but may be lower.
    """
    problem = _problem(passport)
    return None if problem is None else _bound(problem, *_multipliers(problem))


# --- the problem of a passport ------------------------------------------------------------------------------


def _problem(passport: Json) -> LeastLoss | None:
    """Return the design problem of a passport; None if it is not supported."""
    query, best = passport["query"], passport["optimality"]
    words = None if best is None else _WORDS.fullmatch(best["objective"])
    answers = query["answers"]
    if words is None or query["outputs"] is not None or "size" not in answers or answers["size"] ** 2 > MOST_CELLS:
        return None
    pairs = _pairs(query, Fraction(passport["epsilon"]))
    costs = _costs(best, words[2], answers, query["labels"] is not None)
    size, worst = answers["size"], words[1] == "worst"
    if costs is None or len(pairs) * size > MOST_ROWS or (words[3] is not None) != ("prior" in best):
        return None
    weights = (
        [Fraction(float(weight)) for weight in best["prior"].split(" ")] if "prior" in best else [Fraction(1)] * size
    )
    total = sum(weights)
    return LeastLoss(costs, [weight / total for weight in weights], worst, pairs)


def _costs(best: Json, loss: str, answers: Json, labelled: bool) -> list[list[Fraction]] | None:
    if "loss" in best:
        return [[Fraction(float(cost)) for cost in row.split(" ")] for row in best["loss"]]
    named = _NAMED.fullmatch(loss)
    if named is None or (labelled and named[1] != "zero-one"):
        return None
    size, unit = answers["size"], Fraction(answers["unit"])

    def cost(steps: int) -> Fraction:
        if named[2]:
            return Fraction(steps * unit > Fraction(named[2]))
        power = {"absolute": 1, "squared": 2, "zero-one": 0}[named[1]] if named[1] else int(named[3])
        return (steps * unit) ** power if steps else Fraction(0)

    return [[cost(abs(i - j)) for j in range(size)] for i in range(size)]


def _pairs(query: Json, epsilon: Fraction) -> list[tuple[int, int, Fraction]]:
    """Return ordered pairs of neighbours; for a metric only consecutive answers, because the others follow."""
    size, neighbours = query["answers"]["size"], query["neighbours"]
    if "metric" in neighbours:
        step = epsilon * Fraction(query["answers"]["unit"]) / Fraction(neighbours["metric"])
        near, cost = 1, step
    elif "reach" in neighbours:
        near, cost = neighbours["reach"], epsilon
    elif "everyone" in neighbours:
        near, cost = size, epsilon
    else:
        return [(0, 0, epsilon)] * (MOST_ROWS + 1)  # a graph, which is not supported: more rows than allowed
    inside = range(size)
    return [(j, k, cost) for j in inside for k in range(max(j - near, 0), min(j + near + 1, size)) if k != j]


# --- multipliers in floats, the bound in fractions ----------------------------------------------------------


def _multipliers(problem: LeastLoss) -> tuple[list[list[Fraction]], list[Fraction]]:
    """Return a multiplier >= 0 for every pair and output, and weights of the answers that sum to 1."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    size, outputs = len(problem.weights), len(problem.costs)
    cells, pairs = size * outputs, problem.pairs
    costs = np.array([[float(cost) for cost in row] for row in problem.costs])
    row = np.arange(len(pairs) * outputs)
    first, second = (np.array([pair[end] for pair in pairs]) for end in (0, 1))
    ratios = np.exp([float(pair[2]) for pair in pairs])
    place = np.arange(outputs)[None, :] * size
    values = np.concatenate([np.ones(len(row)), -np.repeat(ratios, outputs)])
    columns = np.concatenate([(first[:, None] + place).ravel(), (second[:, None] + place).ravel()])
    private = coo_array((values, (np.concatenate([row, row]), columns)), shape=(len(row), cells))
    ones = coo_array((np.ones(cells), (np.tile(np.arange(size), outputs), np.arange(cells))), shape=(size, cells))
    if problem.worst:  # one more variable, the loss of the worst answer
        losses = coo_array((costs.ravel(), (np.tile(np.arange(size), outputs), np.arange(cells))), shape=(size, cells))
        above = vstack([coo_array((len(row), 1)), coo_array(-np.ones((size, 1)))])
        limits, ones = hstack([vstack([private, losses]), above]), hstack([ones, coo_array((size, 1))])
        goal = np.concatenate([np.zeros(cells), [1.0]])
    else:
        limits, goal = private, (costs * [float(weight) for weight in problem.weights]).ravel()
    solution = linprog(goal, limits.tocsr(), np.zeros(limits.shape[0]), ones.tocsr(), np.ones(size), method="highs")
    marginals = np.zeros(limits.shape[0]) if solution.status else np.maximum(-solution.ineqlin.marginals, 0.0)
    z = [[Fraction(value) for value in line] for line in marginals[: len(row)].reshape(-1, outputs).tolist()]
    if not problem.worst:
        return z, problem.weights
    weights = [Fraction(value) for value in marginals[len(row) :].tolist()]
    total = sum(weights)
    return z, [weight / total for weight in weights] if total else problem.weights


def _bound(problem: LeastLoss, z: list[list[Fraction]], weights: list[Fraction]) -> Fraction:
    """Compute the sum in the docstring of this module, in exact fractions."""
    outputs, size = range(len(problem.costs)), range(len(weights))
    reduced = [[weights[j] * problem.costs[i][j] for j in size] for i in outputs]
    ratios: dict[Fraction, Fraction] = {}
    for (j, k, exponent), line in zip(problem.pairs, z, strict=True):
        ratio = ratios.setdefault(exponent, exp_upper_bound(exponent))
        for i in outputs:
            if line[i]:
                reduced[i][j] += line[i]
                reduced[i][k] -= ratio * line[i]
    return sum((min(reduced[i][j] for i in outputs) for j in size), Fraction(0))


def exp_upper_bound(x: Fraction) -> Fraction:
    """Return a fraction at or above e^x, for x >= 0: Taylor's sum with every term rounded up, plus the last term again.

    Once k >= 2x every term is at most half of the one before, so the omitted terms sum to at most the last one.
    """
    total = term = 1 << BITS
    k: int = 0
    while True:
        k += 1
        term = -(-term * x.numerator // (x.denominator * k))
        total += term
        if term <= 1 and k * x.denominator >= 2 * x.numerator:
            return Fraction(total + term, 1 << BITS)

"""Mechanisms that choose an output directly: uniform, randomized response, exponential."""

import numpy as np

from inbounds.catalog._grid import decay, dense
from inbounds.design.closed.response import response_matrix
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.mechanism.limits import is_too_large
from inbounds.query import RangeQuery, check_query


def uniform(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Make every output equally likely, whatever the truth is (UM, 003 Definition 5): the trivial baseline."""
    check_query(query)
    outputs, _ = dense(query).shape
    reference = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, Definition 5"
    return certify_formula(np.full(query.shape, 1 / outputs), query, epsilon, Origin("uniform", {}, reference))


def randomized_response(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Return the truth with probability e^eps / (m - 1 + e^eps), else one of the other m - 1 outputs (001 (3)).

    Every pair of answers keeps the ratio, so it serves any neighbours; under metric privacy the ratio is that of the
    closest two answers, on a graph that of the shortest edge. Tight. If the matrix would be too large, only its two
    different weights are stored.
    """
    check_query(query)
    bound = to_epsilon(epsilon)
    reference = "Kairouz, Oh, Viswanath, Extremal mechanisms for local differential privacy, 2016"
    origin = Origin("randomized_response", {}, reference)
    if is_too_large(query) and query.one_output_per_answer and not query.neighbours.has_distances:
        return Mechanism(query, bound, make_tight_response(len(query.answers), bound), origin)
    dense(query)
    matrix = response_matrix(query.home_cell, query.shape[0], float(bound * query.least_distance))
    return certify_formula(matrix, query, bound, origin)


def exponential(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Return the exponential mechanism with quality -|error|: Pr[i | j] ∝ exp(-eps·|v_i - a_j| / (2·sensitivity)).

    For labels the quality is 0 for the truth and -1 for any other label; on a graph it is minus the length of the
    shortest path (one-way edges count both ways). (003 (2).)
    """
    check_query(query)
    bound = to_epsilon(epsilon)
    dense(query)
    if query.is_ordered:
        error = np.abs(query.outputs.values.floats()[:, None] - query.answers.floats()[None, :])
        loss = error / float(query.answers.unit) * decay(query, bound) / 2
    else:
        loss = query.distances(directed=False) * float(bound) / 2
    matrix = np.exp(-(loss - loss.min(axis=0)))
    reference = "McSherry, Talwar, Mechanism design via differential privacy, 2007"
    return certify_formula(matrix / matrix.sum(axis=0), query, bound, Origin("exponential", {}, reference))

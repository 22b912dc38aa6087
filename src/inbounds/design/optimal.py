"""`optimal`: the best private mechanism for a query of any kind."""

from collections.abc import Iterable
from typing import Any

from inbounds.design import designer
from inbounds.design.goal import Aim
from inbounds.exact import Number
from inbounds.losses import LossLike, Prior, Restriction, to_loss, to_prior
from inbounds.mechanism import AnyMechanism, JointMechanism, Mechanism, QuantileMechanism
from inbounds.mechanism.expected_channel import quantile_distribution
from inbounds.mechanism.laws import CentralRecords
from inbounds.properties import ColumnRatio
from inbounds.query import JointQuantileQuery, QuantileQuery, Query, RangeQuery


def optimal(
    query: Query,
    epsilon: Number,
    loss: LossLike = "absolute",
    prior: Prior = None,
    properties: Iterable[str | ColumnRatio] = (),
    aim: Aim = "average",
    *,
    subject_to: Restriction | Iterable[Restriction] = (),
    then: Iterable[LossLike] = (),
    max_seconds: float = 60.0,
    delta: Number = 0,
) -> AnyMechanism:
    """Design the private mechanism with the least expected loss, certified, with a proved bound on possible
    improvement.

    loss: "absolute", "squared", "zero-one", `ib.threshold_loss(d)`, `ib.power_loss(p)`, a table outputs × answers or a
    function (output, true); on a graph "distance" or "euclidean". prior: weights of the answers, uniform by default.
    properties: names such as "fair" or "column_monotone". aim: "average" under the prior, or "worst" answer:
    the largest expected loss of any answer, each times its weight if a prior is given (003, Definition 3).
    subject_to: limits on other losses, `ib.limit_loss(ib.threshold_loss(2), 0.05)` for every answer or with
    aim="average", and `ib.keep_fixed_point(prior)`. If no mechanism keeps a limit, `InfeasibleDesign` says by how much
    it must be raised. then: losses to minimize next, one after another, among all mechanisms that are best so far.

    Routes, cheapest first: for counts the geometric mechanism with the best remap, 003's flowchart for zero-one
    loss, and the outward fill for fair sets (no solver); cone rays for any neighbourhood without properties;
    linear programs, row by row or whole, for any set of properties; on graphs closed sets by minimum cuts, with a
    special pricing on trees. `mechanism.origin` names the route, `mechanism.optimality` the value, the bound and the
    gap. A solve that reaches `max_seconds` returns the best mechanism so far, with its gap.

    delta: 0 by default. Above 0 the mechanism is (epsilon, delta)-private: the least average loss for answers of which
    each is a neighbour of the next one alone, without properties, limits or the aim "worst". It gains almost nothing
    for single counts, at most 0.004 % of the error at delta 1e-6, and costs a promise that may fail; so leave it out.

    For a quantile of records `prior` is the distribution of their values. `design_quantile` chooses the law with the
    least expected absolute error; other goals are met by a law of the true quantile alone. Several quantiles are drawn
    together by `design_quantiles`, which has no other goals.

    >>> from inbounds.query import count
    >>> round(optimal(count(4), 0.5).optimality.value, 6)
    0.94078
    """
    options: dict[str, Any] = {"properties": properties, "aim": aim, "subject_to": subject_to, "then": then}
    if delta:
        return _optimal_with_delta(query, epsilon, delta, loss, prior, options, max_seconds)
    if isinstance(query, QuantileQuery):
        return _optimal_quantile(query, epsilon, loss, prior, options, max_seconds)
    if isinstance(query, JointQuantileQuery):
        return _optimal_joint(query, epsilon, loss, prior, options)
    return designer.optimal(query, epsilon, loss, prior, **options, max_seconds=max_seconds)


def _optimal_with_delta(
    query: Query,
    epsilon: Number,
    delta: Number,
    loss: LossLike,
    prior: Prior,
    options: dict[str, Any],
    max_seconds: float,
) -> Mechanism:
    from inbounds.design.delta_path import design_with_delta

    if not isinstance(query, RangeQuery):
        raise ValueError("delta must be left out for quantiles: their laws have none")
    if options["aim"] != "average" or any(options[name] for name in ("properties", "subject_to", "then")):
        raise ValueError("delta must be left out beside properties, limits, further losses or the aim 'worst'")
    return design_with_delta(query, epsilon, delta, loss, prior, max_seconds)


def _optimal_quantile(
    query: QuantileQuery, epsilon: Number, loss: LossLike, prior: Prior, options: dict[str, Any], max_seconds: float
) -> QuantileMechanism:
    from inbounds.design.quantiles import design_quantile

    is_plain = to_loss(loss).name == "absolute" and options["aim"] == "average"
    if is_plain and not any(options[name] for name in ("properties", "subject_to", "then")):
        return design_quantile(query, epsilon, prior).mechanism
    answers = query.as_range_query
    if prior is not None:
        prior = quantile_distribution(to_prior(prior, answers), query.at, query.size)
    best = designer.optimal(answers, epsilon, loss, prior, **options, max_seconds=max_seconds)
    return Mechanism(query, best.epsilon, CentralRecords.from_answers(query, best.weights), best.origin)


def _optimal_joint(
    query: JointQuantileQuery, epsilon: Number, loss: LossLike, prior: Prior, options: dict[str, Any]
) -> JointMechanism:
    from inbounds.design.quantiles import design_quantiles

    is_plain = to_loss(loss).name == "absolute" and options["aim"] == "average" and prior is None
    if not is_plain or any(options[name] for name in ("properties", "subject_to", "then")):
        raise ValueError(
            "several quantiles must be designed without a prior, another loss or properties; ask one by one"
        )
    return design_quantiles(query, epsilon).mechanism

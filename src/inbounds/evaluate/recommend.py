"""Recommendation of one mechanism that has the required properties, with the reason in two sentences."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from inbounds.evaluate.compare import TIE, Comparison, Row, applicable_entries, compare, default_losses
from inbounds.exact import Number
from inbounds.losses import LossLike, LossLimit, Prior, to_loss, weigh_loss
from inbounds.mechanism import Mechanism
from inbounds.properties import parse_properties
from inbounds.query import RangeQuery, check_query

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Recommendation:
    """A recommended mechanism and the reason, in two sentences."""

    name: str
    mechanism: Mechanism
    reason: str
    comparison: Comparison

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"<Recommendation: {self.reason}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the reason above the mechanism."""
        from inbounds.report.html import recommendation_card

        return recommendation_card(self.reason, self.mechanism)

    def plot(self) -> "Figure":
        """Plot the heatmap of the recommended mechanism (extra `figures`)."""
        return self.mechanism.plot()

    def to_json(self) -> dict[str, str]:
        """Return plain JSON values."""
        return {"mechanism": self.name, "reason": self.reason}


def recommend(
    query: RangeQuery,
    epsilon: Number,
    needs: Iterable[str] = (),
    *,
    loss: LossLike | None = None,
    prior: Prior = None,
    aim: Literal["average", "worst"] = "average",
    subject_to: Iterable[LossLimit] = (),
) -> Recommendation:
    """Recommend the mechanism with the least loss among those that have the required properties.

    needs: property names such as "fair" or "column_monotone". subject_to: limits as in `ib.optimal`. Among equals, a
    mechanism in closed form is preferred, because it is easier to explain.

    >>> from inbounds.query import count
    >>> recommend(count(10), 1, ["fair"], loss="zero-one").name
    'explicit_fair'
    """
    check_query(query)
    from inbounds.design.designer import optimal

    properties = parse_properties(needs, ordered=query.is_ordered)
    loss_object = to_loss(loss) if loss is not None else to_loss(default_losses(query)[0])
    mechanisms, left_out = applicable_entries(query, epsilon, loss_object)
    limits = tuple(subject_to)
    mechanisms["optimal"] = optimal(query, epsilon, loss_object, prior, properties, aim, subject_to=limits)
    if aim == "worst" and prior is not None:
        loss_object = weigh_loss(loss_object, prior, query)
    comparison = replace(compare(mechanisms, losses=[loss_object], prior=prior), left_out=left_out)
    column = loss_object.name if aim == "average" else f"worst {loss_object.name}"
    with_properties = [row for row in comparison.rows if not properties or set(properties) <= set(row.properties or ())]
    fit = [row for row in with_properties if all(_keeps(row.mechanism, limit, prior) for limit in limits)]
    least_loss = min(_value(row, column) for row in fit)
    equals = [row for row in fit if _value(row, column) <= least_loss * (1 + TIE)]
    best = min(equals, key=lambda row: row.mechanism.optimality is not None)
    reason = _reason(comparison, best, fit, properties, column, limits)
    return Recommendation(best.name, best.mechanism, reason, comparison)


def _keeps(mechanism: Mechanism, limit: LossLimit, prior: Prior) -> bool:
    value = mechanism.worst_loss(limit.loss) if limit.aim == "worst" else mechanism.loss(limit.loss, prior)
    return value <= float(limit.bound)


def _reason(
    comparison: Comparison,
    best: Row,
    fit: list[Row],
    properties: tuple[str, ...],
    column: str,
    limits: tuple[LossLimit, ...],
) -> str:
    conditions = f" and are {_join_names([name.replace('_', ' ') for name in properties])}" if properties else ""
    conditions += f" and keep {_join_names([str(limit) for limit in limits])}" if limits else ""
    loss = column.replace("worst ", "") + " loss"
    case = "loss in the worst case" if column.startswith("worst ") else "expected loss"
    value = _value(best, column)
    first = (
        f"Take {best.name}: of the {len(fit)} mechanisms that fit{conditions}, it has the least {case} ({loss}), "
        f"{value:.4g}."
    )
    worse_rows = [row for row in fit if _value(row, column) > value * (1 + TIE)]
    parts = []
    if worse_rows:
        runner = min(worse_rows, key=lambda row: _value(row, column))
        parts.append(f"the next best, {runner.name}, loses {_more(_value(runner, column), value)} more")
    overall = min(comparison.rows, key=lambda row: _value(row, column))
    if (properties or limits) and _value(overall, column) < value * (1 - TIE):
        extra = _more(value, _value(overall, column))
        parts.append(f"what you need costs {extra} against {overall.name}, which lacks it")
    second = " and ".join(parts) or "every other mechanism that fits does as well, so the simplest is named"
    return f"{first} {second[0].upper()}{second[1:]}."


def _value(row: Row, column: str) -> float:
    value = row.values[column]
    return math.inf if value is None else value


def _more(high: float, low: float) -> str:
    """Write by how much a loss exceeds another: as a share, or as the loss itself if the other is 0."""
    if not low > 0:
        return f"{high:.3g}"
    share = (high / low - 1) * 100
    return f"{share:.2g} %" if share < 10 else f"{share:.0f} %"


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

"""Which one should I take? A mechanism that has what is needed, and why, in two sentences."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from inbounds.evaluate.compare import TIE, Comparison, Row, applicable_entries, compare, default_losses
from inbounds.exact import Number
from inbounds.losses import LossLike, LossLimit, Prior, to_loss
from inbounds.mechanism import Mechanism
from inbounds.properties import parse_properties
from inbounds.query import RangeQuery, check_query

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Recommendation:
    """A mechanism and, in two sentences, why."""

    name: str
    mechanism: Mechanism
    reason: str
    comparison: Comparison

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return f"<Recommendation: {self.reason}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the reason over the mechanism."""
        from inbounds.report.html import recommendation_card

        return recommendation_card(self.reason, self.mechanism)

    def plot(self) -> "Figure":
        """Return the heatmap of what is recommended (extra `figures`)."""
        return self.mechanism.plot()

    def to_json(self) -> dict[str, str]:
        """Plain JSON values."""
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
    """Return the mechanism with the least loss among those that have what is needed, and why, in two sentences.

    needs: property names such as "fair" or "column_monotone". subject_to: limits as in `ib.optimal`. Among equals the
    one with a closed form is taken: it is easier to explain.

    >>> from inbounds.query import count
    >>> recommend(count(10), 1, ["fair"], loss="zero-one").name
    'explicit_fair'
    """
    check_query(query)
    from inbounds.design.designer import optimal

    asked = parse_properties(needs, ordered=query.is_ordered)
    chosen = to_loss(loss) if loss is not None else to_loss(default_losses(query)[0])
    made, left_out = applicable_entries(query, epsilon, chosen)
    limits = tuple(subject_to)
    made["optimal"] = optimal(query, epsilon, chosen, prior, asked, aim, subject_to=limits)
    found = replace(compare(made, losses=[chosen], prior=prior), left_out=left_out)
    column = chosen.name if aim == "average" else f"worst {chosen.name}"
    having = [row for row in found.rows if not asked or set(asked) <= set(row.properties or ())]
    fit = [row for row in having if all(_keeps(row.mechanism, limit, prior) for limit in limits)]
    least = min(_value(row, column) for row in fit)
    equals = [row for row in fit if _value(row, column) <= least * (1 + TIE)]
    taken = min(equals, key=lambda row: row.mechanism.optimality is not None)
    return Recommendation(taken.name, taken.mechanism, _reason(found, taken, fit, asked, column, limits), found)


def _keeps(mechanism: Mechanism, limit: LossLimit, prior: Prior) -> bool:
    value = mechanism.worst_loss(limit.loss) if limit.aim == "worst" else mechanism.loss(limit.loss, prior)
    return value <= float(limit.bound)


def _reason(
    found: Comparison, taken: Row, fit: list[Row], asked: tuple[str, ...], column: str, limits: tuple[LossLimit, ...]
) -> str:
    having = f" and are {_join_names([name.replace('_', ' ') for name in asked])}" if asked else ""
    having += f" and keep {_join_names([str(limit) for limit in limits])}" if limits else ""
    loss = column.replace("worst ", "") + " loss"
    case = "loss in the worst case" if column.startswith("worst ") else "expected loss"
    value = _value(taken, column)
    first = (
        f"Take {taken.name}: of the {len(fit)} mechanisms that fit{having}, it has the least {case} ({loss}), "
        f"{value:.4g}."
    )
    others = [row for row in fit if _value(row, column) > value * (1 + TIE)]
    parts = []
    if others:
        runner = min(others, key=lambda row: _value(row, column))
        parts.append(f"the next best, {runner.name}, loses {_more(_value(runner, column), value)} more")
    free = min(found.rows, key=lambda row: _value(row, column))
    if (asked or limits) and _value(free, column) < value * (1 - TIE):
        parts.append(f"what you need costs {_more(value, _value(free, column))} against {free.name}, which lacks it")
    second = " and ".join(parts) or "every other mechanism that fits does as well, so the simplest is named"
    return f"{first} {second[0].upper()}{second[1:]}."


def _value(row: Row, column: str) -> float:
    value = row.values[column]
    return math.inf if value is None else value


def _more(high: float, low: float) -> str:
    """Return how much a loss is above another one, as a share or, above nothing, as itself."""
    if not low > 0:
        return f"{high:.3g}"
    share = (high / low - 1) * 100
    return f"{share:.2g} %" if share < 10 else f"{share:.0f} %"


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

"""Plan a survey of several attributes: report all with a smaller epsilon each, or one chosen at random."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from inbounds.errors import check_kind
from inbounds.exact import Number, to_epsilon, to_int
from inbounds.local.guarantee import epsilon_for_ratio, format_ratio
from inbounds.local.planner import CollectionPlan, plan_collection
from inbounds.local.survey import Ask, Survey


@dataclass(frozen=True, eq=False)
class SurveyPlan:
    """The plans of all attributes under both ways to ask, at one ratio between any two people; the better is chosen.

    all_of_them: everybody reports each of d attributes at epsilon / d. one_by_lot: everybody reports one of them, drawn
    by lot, at epsilon, so that each has a d-th of the reports.
    """

    epsilon: Fraction
    reports: int
    all_of_them: Mapping[str, CollectionPlan]
    one_by_lot: Mapping[str, CollectionPlan]

    @property
    def gain(self) -> float:
        """The geometric mean over the attributes of the error with one at random over the error with all."""
        logs = [
            math.log(self.one_by_lot[name].better.error / plan.better.error) for name, plan in self.all_of_them.items()
        ]
        return math.exp(math.fsum(logs) / len(logs))

    @property
    def better(self) -> Ask:
        """How to ask: one at random if that makes errors smaller."""
        return "one" if self.gain < 1 else "all"

    def plans(self, ask: Ask | None = None) -> Mapping[str, CollectionPlan]:
        """Return the plan of each attribute under the better way, or the named one."""
        return self.one_by_lot if (ask or self.better) == "one" else self.all_of_them

    def survey(self, ask: Ask | None = None) -> Survey:
        """Return the client that was planned."""
        chosen = ask or self.better
        return Survey({name: plan.mechanism() for name, plan in self.plans(chosen).items()}, chosen)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        ways = {"all": self.all_of_them, "one": self.one_by_lot}
        return {
            "log_worst_ratio": float(self.epsilon),
            "reports": self.reports,
            "better": self.better,
            **{ask: {name: plan.better.to_json() for name, plan in plans.items()} for ask, plans in ways.items()},
        }

    def __str__(self) -> str:
        ratio = format_ratio(float(self.epsilon))
        lines = [f"any two people within a ratio of {ratio}, all attributes together; {self.reports} people"]
        words: dict[Ask, str] = {"all": "all attributes from everybody", "one": "one attribute by lot from everybody"}
        for ask in sorted(words, key=lambda ask: ask != self.better):
            lines.append(f"  {words[ask]}{' (better)' if ask == self.better else ''}")
            lines += [f"    {name}: {plan.better}" for name, plan in self.plans(ask).items()]
        return "\n".join(lines)


def plan_survey(
    attributes: Mapping[str, Any],
    epsilon: Number | None = None,
    *,
    reports: int,
    ratio: Number | None = None,
    truth: Mapping[str, ArrayLike] | None = None,
    runs: int = 20,
    seed: int = 0,
) -> SurveyPlan:
    """Plan how to ask several attributes of one person, and with which mechanisms.

    attributes: for each name what `ib.local.plan_collection` takes, e.g. {"score": (0, 100), "drink": ["tea",
    "coffee"]}. ratio or
    epsilon: between any two people, all their attributes together. reports: how many people there are. truth: the
    distributions expected, by attribute. Both ways are simulated; in each an attribute has its own best mechanism.

    >>> found = plan_survey({"vote": ["a", "b"], "drink": ["tea", "coffee", "water"]}, 1, reports=10_000, runs=5)
    >>> found.better, round(found.survey().privacy.ldp, 6)
    ('one', 1.0)
    """
    check_kind(attributes, Mapping, "attributes", "a dictionary from attributes to their labels")
    if not attributes:
        raise ValueError("attributes must be at least one")
    if (epsilon is None) == (ratio is None):
        raise ValueError("a survey needs either epsilon or a ratio, and not both")
    total = epsilon_for_ratio(ratio) if ratio is not None else to_epsilon(epsilon)  # type: ignore[arg-type]
    people, d = to_int(reports, "reports", len(attributes)), len(attributes)

    def planned(name: str, share: Fraction, size: int) -> CollectionPlan:
        expected = (truth or {}).get(name)
        return plan_collection(attributes[name], share, reports=size, truth=expected, runs=runs, seed=seed)

    every = {name: planned(name, total / d, people) for name in attributes}
    lots = {name: planned(name, total, people // d) for name in attributes}
    return SurveyPlan(total, people, every, lots)

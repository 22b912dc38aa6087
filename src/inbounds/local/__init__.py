"""Local privacy: every record is randomized before it is collected; the distribution is reconstructed afterwards.

    ib.local.randomizer(mechanism)   → reports      on the person's side, or inside a table engine
    ib.Collector(mechanism)          → counts       in batches, merged in any order
    ib.local.estimate(collected)     → means, shares and quantiles, each with an interval
    ib.reconstruct(counts, mechanism) → distribution

`ib.local.plan` says beforehand what to expect.
"""

from inbounds.local.client import Randomizer, randomizer
from inbounds.local.engines import collect, randomize, register
from inbounds.local.estimates import (
    Estimate,
    Estimates,
    MeanDeviations,
    StrataEstimates,
    TwoSampleTest,
    estimate,
    mean_deviations,
    two_sample_test,
)
from inbounds.local.memory import Permanent, permanent
from inbounds.local.planner import CollectionPlan as Plan
from inbounds.local.planner import plan
from inbounds.local.statement import Statement, epsilon, privacy
from inbounds.local.strata import Strata
from inbounds.local.survey import Survey
from inbounds.local.survey_plan import SurveyPlan, plan_survey

__all__ = [
    "Estimate",
    "Estimates",
    "MeanDeviations",
    "Permanent",
    "Plan",
    "Randomizer",
    "Statement",
    "Strata",
    "StrataEstimates",
    "Survey",
    "SurveyPlan",
    "TwoSampleTest",
    "collect",
    "epsilon",
    "estimate",
    "mean_deviations",
    "permanent",
    "plan",
    "plan_survey",
    "privacy",
    "randomize",
    "randomizer",
    "register",
    "two_sample_test",
]

"""Local privacy: every record is randomized before it is collected; the distribution is reconstructed afterwards.

    ib.local.label_mechanism(query, epsilon) → the law that suits labels best
    ib.local.randomizer(mechanism)   → reports      on the person's side, or inside a table engine
    ib.Collector(mechanism)          → counts       in batches, merged in any order
    ib.local.estimate(collected)     → means, shares and quantiles, each with an interval
    ib.reconstruct(counts, mechanism) → distribution

`ib.local.plan` says beforehand what to expect.
"""

from inbounds.local.client import Randomizer, randomizer
from inbounds.local.engines import collect, randomize
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
from inbounds.local.labels import (
    LabelComparison,
    compare_labels,
    hadamard_response,
    label_mechanism,
    projective_response,
    subset_selection,
)
from inbounds.local.memory import Permanent, permanent
from inbounds.local.planner import CollectionPlan as Plan
from inbounds.local.planner import plan
from inbounds.local.reports import LocalMechanism, load
from inbounds.local.sql import register
from inbounds.local.statement import Statement, epsilon, privacy
from inbounds.local.strata import Strata
from inbounds.local.survey import Survey
from inbounds.local.survey_plan import SurveyPlan, plan_survey

__all__ = [
    "Estimate",
    "Estimates",
    "LabelComparison",
    "LocalMechanism",
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
    "compare_labels",
    "epsilon",
    "estimate",
    "hadamard_response",
    "label_mechanism",
    "load",
    "mean_deviations",
    "permanent",
    "plan",
    "plan_survey",
    "privacy",
    "projective_response",
    "randomize",
    "randomizer",
    "register",
    "subset_selection",
    "two_sample_test",
]

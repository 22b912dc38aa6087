"""Local privacy: each record is randomized before it is collected, and the distribution is reconstructed afterwards.

    ib.local.best_label_mechanism(query, epsilon) → the law that suits labels best
    ib.local.make_randomizer(mechanism)   → reports      on the person's side, or inside a table engine
    ib.Collector(mechanism)          → counts       in batches, merged in any order
    ib.local.estimate(collected)     → means, shares and quantiles, each with an interval
    ib.reconstruct(counts, mechanism) → distribution

`ib.local.plan_collection` says beforehand what to expect.
"""

from inbounds.local.amplification import ShuffledGuarantee, amplify
from inbounds.local.client import Randomizer, make_randomizer
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
from inbounds.local.guarantee import LocalGuarantee, epsilon_for_ratio, local_guarantee
from inbounds.local.label_mechanisms import (
    LabelComparison,
    best_label_mechanism,
    compare_labels,
    hadamard_response,
    list_labels,
    projective_response,
    share_variance,
    subset_selection,
)
from inbounds.local.permanent import PermanentRandomizer, make_permanent
from inbounds.local.planner import CollectionPlan as Plan
from inbounds.local.planner import plan_collection
from inbounds.local.sql import register
from inbounds.local.strata import StratifiedCollector
from inbounds.local.survey import Survey
from inbounds.local.survey_plan import SurveyPlan, plan_survey

__all__ = [
    "Estimate",
    "Estimates",
    "LabelComparison",
    "LocalGuarantee",
    "MeanDeviations",
    "PermanentRandomizer",
    "Plan",
    "Randomizer",
    "ShuffledGuarantee",
    "StrataEstimates",
    "StratifiedCollector",
    "Survey",
    "SurveyPlan",
    "TwoSampleTest",
    "amplify",
    "best_label_mechanism",
    "collect",
    "compare_labels",
    "epsilon_for_ratio",
    "estimate",
    "hadamard_response",
    "list_labels",
    "local_guarantee",
    "make_permanent",
    "make_randomizer",
    "mean_deviations",
    "plan_collection",
    "plan_survey",
    "projective_response",
    "randomize",
    "register",
    "share_variance",
    "subset_selection",
    "two_sample_test",
]

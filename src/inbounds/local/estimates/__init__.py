"""Estimates from reports: means, shares, quantiles and differences with intervals, and two-sample tests."""

from inbounds.local.estimates.estimate import Estimate
from inbounds.local.estimates.estimates import Estimates
from inbounds.local.estimates.means import MeanDeviations, mean_deviations
from inbounds.local.estimates.strata import StrataEstimates, estimate
from inbounds.local.estimates.two_samples import TwoSampleTest, two_sample_test

__all__ = [
    "Estimate",
    "Estimates",
    "MeanDeviations",
    "StrataEstimates",
    "TwoSampleTest",
    "estimate",
    "mean_deviations",
    "two_sample_test",
]

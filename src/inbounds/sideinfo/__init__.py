"""Use of side information: rough priors, and how far one person really moves a statistic."""

from inbounds.sideinfo.preround import REFERENCE, ROUNDS, PreRounding, PreRoundingComparison, compare_preround, preround

__all__ = ["REFERENCE", "ROUNDS", "PreRounding", "PreRoundingComparison", "compare_preround", "preround"]

"""What is known beside the answer: rough priors, and how far one person really moves a statistic."""

from inbounds.sideinfo.rough import REFERENCE, ROUNDS, PreRounding, PreRoundingComparison, compare, preround

Comparison = PreRoundingComparison
"""The name it had in version 0.1."""

__all__ = ["REFERENCE", "ROUNDS", "Comparison", "PreRounding", "PreRoundingComparison", "compare", "preround"]

"""Differentially private answers that stay in bounds: optimal by design, private by proof.

    query → (epsilon) → design → certify → mechanism → sample / release → read

P[output, answer] = Pr[output | answer] everywhere: rows are outputs, columns are answers, columns sum to one.
"""

from typing import TYPE_CHECKING, Any

from inbounds import catalog, priors
from inbounds.catalog.scales import find_scale
from inbounds.errors import (
    BudgetExceeded,
    ConvergenceError,
    InboundsError,
    InfeasibleDesign,
    InvalidDistribution,
    LedgerError,
    PassportError,
    PrivacyViolation,
    ScoreRatioViolation,
    TooLarge,
    UnknownVersion,
)
from inbounds.evaluate import goals
from inbounds.evaluate.compare import Comparison, compare
from inbounds.evaluate.goals import calibrate_epsilon
from inbounds.evaluate.recommend import recommend
from inbounds.exact import epsilon_from_alpha
from inbounds.losses import keep_fixed_point, limit_loss, power_loss, threshold_loss
from inbounds.mechanism import Mechanism, certify
from inbounds.mechanism.audit import Audit, audit
from inbounds.mechanism.load import load
from inbounds.query import (
    AllPairs,
    Graph,
    JointQuantileQuery,
    Metric,
    QuantileQuery,
    RangeQuery,
    Reach,
    category,
    cells,
    count,
    extreme,
    graph,
    grid,
    histogram_query,
    interval,
    mean,
    median,
    ordinal,
    pair_of_counts,
    quantile,
    quantiles,
    snap_to_map,
    total,
    tree,
    with_neighbours,
)

if TYPE_CHECKING:
    from inbounds import accounting, attack, local, perturbation
    from inbounds.accounting.compose import compose
    from inbounds.accounting.multilevel import make_chain
    from inbounds.accounting.repeated_noise import noise_for_uses
    from inbounds.curator.client import connect
    from inbounds.design.optimal import optimal
    from inbounds.design.quantiles import (
        JointSearch,
        QuantileSearch,
        RecordFamily,
        ScoreGrid,
        design_central,
        design_joint,
        design_permute_flip,
        design_quantile,
        design_quantiles,
        design_sided,
    )
    from inbounds.design.refinement import check_refinement, compare_closeness, is_derivable
    from inbounds.ledger import Ledger
    from inbounds.local import distance
    from inbounds.local.collector import Collector
    from inbounds.local.reconstruct import Reconstruction, reconstruct
    from inbounds.mechanism.unbiased import unbiased_sum
    from inbounds.releases.passports import find_mechanism
    from inbounds.releases.pipeline import preview_release, release
    from inbounds.releases.totals import estimate_totals
    from inbounds.sideinfo import preround
    from inbounds.verdict import verify

__version__ = "0.2.0"

_LOADED_ON_USE = {
    "Collector": "inbounds.local.collector",
    "JointSearch": "inbounds.design.quantiles",
    "Ledger": "inbounds.ledger",
    "QuantileSearch": "inbounds.design.quantiles",
    "Reconstruction": "inbounds.local.reconstruct",
    "RecordFamily": "inbounds.design.quantiles",
    "ScoreGrid": "inbounds.design.quantiles",
    "check_refinement": "inbounds.design.refinement",
    "compare_closeness": "inbounds.design.refinement",
    "compose": "inbounds.accounting.compose",
    "connect": "inbounds.curator.client",
    "design_central": "inbounds.design.quantiles",
    "design_joint": "inbounds.design.quantiles",
    "design_permute_flip": "inbounds.design.quantiles",
    "design_quantile": "inbounds.design.quantiles",
    "design_quantiles": "inbounds.design.quantiles",
    "design_sided": "inbounds.design.quantiles",
    "estimate_totals": "inbounds.releases.totals",
    "find_mechanism": "inbounds.releases.passports",
    "is_derivable": "inbounds.design.refinement",
    "make_chain": "inbounds.accounting.multilevel",
    "noise_for_uses": "inbounds.accounting.repeated_noise",
    "optimal": "inbounds.design.optimal",
    "preround": "inbounds.sideinfo",
    "preview_release": "inbounds.releases.pipeline",
    "reconstruct": "inbounds.local.reconstruct",
    "release": "inbounds.releases.pipeline",
    "unbiased_sum": "inbounds.mechanism.unbiased",
    "verify": "inbounds.verdict",
}
_MODULES_ON_USE = {
    "accounting": "inbounds.accounting",
    "attack": "inbounds.attack",
    "distance": "inbounds.local.distance",
    "local": "inbounds.local",
    "perturbation": "inbounds.perturbation",
}


def __getattr__(name: str) -> Any:
    """Import the heavier parts on first use."""
    from importlib import import_module

    if name in _MODULES_ON_USE:
        return import_module(_MODULES_ON_USE[name])
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module 'inbounds' has no attribute {name!r}")
    return getattr(import_module(_LOADED_ON_USE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AllPairs",
    "Audit",
    "BudgetExceeded",
    "Collector",
    "Comparison",
    "ConvergenceError",
    "Graph",
    "InboundsError",
    "InfeasibleDesign",
    "InvalidDistribution",
    "JointQuantileQuery",
    "JointSearch",
    "Ledger",
    "LedgerError",
    "Mechanism",
    "Metric",
    "PassportError",
    "PrivacyViolation",
    "QuantileQuery",
    "QuantileSearch",
    "RangeQuery",
    "Reach",
    "Reconstruction",
    "RecordFamily",
    "ScoreGrid",
    "ScoreRatioViolation",
    "TooLarge",
    "UnknownVersion",
    "__version__",
    "accounting",
    "attack",
    "audit",
    "calibrate_epsilon",
    "catalog",
    "category",
    "cells",
    "certify",
    "check_refinement",
    "compare",
    "compare_closeness",
    "compose",
    "connect",
    "count",
    "design_central",
    "design_joint",
    "design_permute_flip",
    "design_quantile",
    "design_quantiles",
    "design_sided",
    "distance",
    "epsilon_from_alpha",
    "estimate_totals",
    "extreme",
    "find_mechanism",
    "find_scale",
    "goals",
    "graph",
    "grid",
    "histogram_query",
    "interval",
    "is_derivable",
    "keep_fixed_point",
    "limit_loss",
    "load",
    "local",
    "make_chain",
    "mean",
    "median",
    "noise_for_uses",
    "optimal",
    "ordinal",
    "pair_of_counts",
    "perturbation",
    "power_loss",
    "preround",
    "preview_release",
    "priors",
    "quantile",
    "quantiles",
    "recommend",
    "reconstruct",
    "release",
    "snap_to_map",
    "threshold_loss",
    "total",
    "tree",
    "unbiased_sum",
    "verify",
    "with_neighbours",
]

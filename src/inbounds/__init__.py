"""Differentially private answers that stay in bounds: optimal by design, private by proof.

    query → (epsilon) → design → certify → mechanism → sample / release → read

One convention everywhere: P[output, answer] = Pr[output | answer]; columns sum to one.
"""

from typing import TYPE_CHECKING, Any

from inbounds import catalog, priors
from inbounds.errors import (
    InboundsError,
    Infeasible,
    LedgerError,
    NotADistribution,
    NotConverged,
    OverBudget,
    PassportError,
    PrivacyViolation,
    TooLarge,
    TooSteep,
    UnknownVersion,
)
from inbounds.loss import at_most, fixed_point, off_by_more_than, power
from inbounds.mechanism import Mechanism, certify
from inbounds.mechanism.audit import Audit, audit
from inbounds.mechanism.reading import load
from inbounds.numbers import alpha
from inbounds.query import (
    Everyone,
    Graph,
    Metric,
    Quantile,
    Query,
    Reach,
    category,
    cells,
    count,
    extreme,
    graph,
    grid,
    histogram_of,
    interval,
    mean,
    median,
    on_map,
    ordinal,
    pair_of_counts,
    quantile,
    total,
    tree,
)
from inbounds.read import promise
from inbounds.read.compare import Comparison, compare
from inbounds.read.promise import epsilon_for
from inbounds.read.recommend import recommend

if TYPE_CHECKING:
    from inbounds import accounting, attack, local
    from inbounds.accounting.compose import compose
    from inbounds.accounting.multilevel import multilevel
    from inbounds.curator.client import connect
    from inbounds.design.derive import closer, derivable, refines
    from inbounds.design.optimal import optimal
    from inbounds.design.quantiles import central_records, choose, counted_scores, permute_and_flip, sided_scores
    from inbounds.ledger import Ledger
    from inbounds.local import distance
    from inbounds.local.collector import Collector
    from inbounds.local.reconstruct import Reconstruction, reconstruct
    from inbounds.mechanism.quantiles import QuantileMechanism
    from inbounds.mechanism.quantiles.reading import load_quantile
    from inbounds.mechanism.unbiased import unbiased_sum
    from inbounds.read.quantiles import compare_quantiles
    from inbounds.sideinfo import preround
    from inbounds.tables import release
    from inbounds.verdicts import verify

__version__ = "0.2.0"

_LOADED_ON_USE = {
    "Collector": "inbounds.local.collector",
    "Ledger": "inbounds.ledger",
    "QuantileMechanism": "inbounds.mechanism.quantiles",
    "Reconstruction": "inbounds.local.reconstruct",
    "central_records": "inbounds.design.quantiles",
    "choose": "inbounds.design.quantiles",
    "closer": "inbounds.design.derive",
    "compare_quantiles": "inbounds.read.quantiles",
    "compose": "inbounds.accounting.compose",
    "connect": "inbounds.curator.client",
    "counted_scores": "inbounds.design.quantiles",
    "derivable": "inbounds.design.derive",
    "load_quantile": "inbounds.mechanism.quantiles.reading",
    "multilevel": "inbounds.accounting.multilevel",
    "optimal": "inbounds.design.optimal",
    "permute_and_flip": "inbounds.design.quantiles",
    "preround": "inbounds.sideinfo",
    "reconstruct": "inbounds.local.reconstruct",
    "refines": "inbounds.design.derive",
    "release": "inbounds.tables",
    "sided_scores": "inbounds.design.quantiles",
    "unbiased_sum": "inbounds.mechanism.unbiased",
    "verify": "inbounds.verdicts",
}
_MODULES_ON_USE = {
    "accounting": "inbounds.accounting",
    "attack": "inbounds.attack",
    "distance": "inbounds.local.distance",
    "local": "inbounds.local",
}


def __getattr__(name: str) -> Any:
    """Load the heavier parts when they are first used."""
    from importlib import import_module

    if name in _MODULES_ON_USE:
        return import_module(_MODULES_ON_USE[name])
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module 'inbounds' has no attribute {name!r}")
    return getattr(import_module(_LOADED_ON_USE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Audit",
    "Collector",
    "Comparison",
    "Everyone",
    "Graph",
    "InboundsError",
    "Infeasible",
    "Ledger",
    "LedgerError",
    "Mechanism",
    "Metric",
    "NotADistribution",
    "NotConverged",
    "OverBudget",
    "PassportError",
    "PrivacyViolation",
    "Quantile",
    "QuantileMechanism",
    "Query",
    "Reach",
    "Reconstruction",
    "TooLarge",
    "TooSteep",
    "UnknownVersion",
    "__version__",
    "accounting",
    "alpha",
    "at_most",
    "attack",
    "audit",
    "catalog",
    "category",
    "cells",
    "central_records",
    "certify",
    "choose",
    "closer",
    "compare",
    "compare_quantiles",
    "compose",
    "connect",
    "count",
    "counted_scores",
    "derivable",
    "distance",
    "epsilon_for",
    "extreme",
    "fixed_point",
    "graph",
    "grid",
    "histogram_of",
    "interval",
    "load",
    "load_quantile",
    "local",
    "mean",
    "median",
    "multilevel",
    "off_by_more_than",
    "on_map",
    "optimal",
    "ordinal",
    "pair_of_counts",
    "permute_and_flip",
    "power",
    "preround",
    "priors",
    "promise",
    "quantile",
    "recommend",
    "reconstruct",
    "refines",
    "release",
    "sided_scores",
    "total",
    "tree",
    "unbiased_sum",
    "verify",
]

"""Differentially private answers that stay in bounds: optimal by design, private by proof.

    query → (epsilon) → design → certify → mechanism → sample / release → read

One convention everywhere: P[output, answer] = Pr[output | answer]; columns sum to one.
"""

from typing import TYPE_CHECKING, Any

from inbounds import catalog, priors, promise
from inbounds.audit import Audit, audit
from inbounds.compare import Comparison, compare
from inbounds.errors import (
    InboundsError,
    Infeasible,
    NotADistribution,
    NotConverged,
    PassportError,
    PrivacyViolation,
    TooLarge,
    UnknownVersion,
)
from inbounds.exact import alpha
from inbounds.files import load
from inbounds.loss import off_by_more_than, power
from inbounds.mechanism import Mechanism, certify
from inbounds.promise import epsilon_for
from inbounds.query import (
    Everyone,
    Metric,
    Query,
    Reach,
    category,
    cells,
    count,
    extreme,
    interval,
    mean,
    ordinal,
    total,
)
from inbounds.recommend import recommend

if TYPE_CHECKING:
    from inbounds.attack.compose import compose
    from inbounds.attack.multilevel import multilevel
    from inbounds.design.derive import derivable, refines
    from inbounds.design.optimal import optimal
    from inbounds.sideinfo import preround

__version__ = "0.1.0"

_LOADED_ON_USE = {
    "compose": "inbounds.attack.compose",
    "derivable": "inbounds.design.derive",
    "multilevel": "inbounds.attack.multilevel",
    "optimal": "inbounds.design.optimal",
    "preround": "inbounds.sideinfo",
    "refines": "inbounds.design.derive",
}


def __getattr__(name: str) -> Any:
    """Load the parts that need a solver when they are first used."""
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module 'inbounds' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LOADED_ON_USE[name]), name)


__all__ = [
    "Audit",
    "Comparison",
    "Everyone",
    "InboundsError",
    "Infeasible",
    "Mechanism",
    "Metric",
    "NotADistribution",
    "NotConverged",
    "PassportError",
    "PrivacyViolation",
    "Query",
    "Reach",
    "TooLarge",
    "UnknownVersion",
    "__version__",
    "alpha",
    "audit",
    "catalog",
    "category",
    "cells",
    "certify",
    "compare",
    "compose",
    "count",
    "derivable",
    "epsilon_for",
    "extreme",
    "interval",
    "load",
    "mean",
    "multilevel",
    "off_by_more_than",
    "optimal",
    "ordinal",
    "power",
    "preround",
    "priors",
    "promise",
    "recommend",
    "refines",
    "total",
]

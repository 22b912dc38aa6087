"""Differentially private answers that stay in bounds: optimal by design, private by proof.

    query → (epsilon) → design → certify → mechanism → sample / release → read

One convention everywhere: P[output, answer] = Pr[output | answer]; columns sum to one.
"""

from inbounds import catalog
from inbounds.audit import Audit, audit
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

__version__ = "0.1.0"

__all__ = [
    "Audit",
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
    "count",
    "extreme",
    "interval",
    "load",
    "mean",
    "off_by_more_than",
    "ordinal",
    "power",
    "total",
]

"""Choose a law for labels: randomized response, subset selection, Hadamard response or projective geometry response."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

from inbounds.catalog import randomized_response
from inbounds.exact import Number, to_epsilon, to_fraction, to_int
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws.blocks import LabelDesign, make_tight_blocks
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.query import RangeQuery, check_query
from inbounds.trusted.block_designs import Affine, Planes, Subsets, is_prime
from inbounds.trusted.limits import MOST_BLOCKS, MOST_SUBSETS

MOST_WRITTEN = 256
"""Labels up to which randomized response is compared as a matrix, which takes longer than its two weights."""

WORTH_IT = 1.002
"""A law is preferred to a simpler one if its variance is smaller by more than this factor."""

SUBSET_SELECTION = Origin(
    "subset_selection",
    {},
    "Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao, Mutual information optimally local private discrete distribution "
    "estimation, 2016; Ye, Barg, Optimal schemes for discrete distribution estimation under locally differential "
    "privacy, 2018",
)
HADAMARD = Origin(
    "hadamard_response",
    {},
    "Acharya, Sun, Zhang, Hadamard response: estimating distributions privately, efficiently, and with little "
    "communication, 2019",
)
PROJECTIVE = Origin(
    "projective_response",
    {},
    "Feldman, Nelson, Nguyen, Talwar, Private frequency estimation via projective geometry, 2022",
)


def subset_selection(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Build the law whose reports name a set of labels of the best size: all subsets if they are few, otherwise an
    affine family of them.

    Up to some 4,000 labels; its variance is the least that any law has, up to rounding the size. See `Subsets` and
    `Affine` in `inbounds.trusted.block_designs`.
    """
    check_query(query)
    return _best(query, epsilon, _subsets, SUBSET_SELECTION)


def hadamard_response(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Build the law whose reports name a row of a Hadamard matrix, meaning the labels with a positive entry; for a
    small epsilon.
    """
    check_query(query)
    return _best(query, epsilon, _halves, HADAMARD)


def projective_response(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Build the law whose reports name a hyperplane of a projective space whose points are the labels; the order is
    about e^epsilon + 1.

    For any number of labels, with few more reports than labels; its variance is within 3.1 % of the least up to
    epsilon 5.
    """
    check_query(query)
    return _best(query, epsilon, _planes, PROJECTIVE)


def best_label_mechanism(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Return the law with which shares of labels are estimated best at this number of labels and epsilon.

    >>> import inbounds as ib
    >>> best_label_mechanism(ib.category(5), 3).origin.name, best_label_mechanism(ib.category(1000), 1).origin.name
    ('randomized_response', 'subset_selection')
    """
    check_query(query)
    return compare_labels(query, epsilon).best.mechanism


def share_variance(mechanism: Mechanism, share: Number = 0, reports: int = 1) -> float:
    """Return the variance of the unbiased estimate of a label's share from reports that name labels or sets of them.

    share: the true share, 0..1; by default of a rare label. reports: their number, at least 1. The part c / n of the
    reports that name the label has the mean s = chance + (hit - chance)·share, so (c / n - chance) / (hit - chance) is
    unbiased with variance s·(1 - s) / (hit - chance)² / n.
    """
    check_local_mechanism(mechanism)
    return float(_variance_of_share(mechanism, to_fraction(share, "share")) / to_int(reports, "reports", 1))


def _variance_of_share(mechanism: Mechanism, share: Fraction) -> Fraction:
    hit, chance = mechanism.law.label_chances(mechanism.query)
    if hit == chance:
        raise ValueError("a law must name the truth more or less often than others to estimate shares")
    mean = chance + (hit - chance) * share
    return mean * (1 - mean) / (hit - chance) ** 2


def list_labels(mechanism: Mechanism, report: Any) -> list[Any]:
    """Return the labels that a report names: one, or a set of them.

    Raises `ValueError` if there is no such report.

    >>> import inbounds as ib
    >>> list_labels(subset_selection(ib.category(["a", "b", "c", "d"]), "0.1"), 0)
    ['a', 'b']
    """
    check_local_mechanism(mechanism)
    query, law = mechanism.query, mechanism.law
    positions = law.named_labels(query, law.output_index(query, report))
    return list(query.output_values[positions].tolist())


# --- comparing --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelCandidate:
    """One law for labels: what it reports, and how exactly shares are estimated from it."""

    mechanism: Mechanism

    @property
    def name(self) -> str:
        return self.mechanism.origin.name

    @cached_property
    def outputs(self) -> int:
        """How many different reports there are."""
        return self.mechanism.output_count

    @cached_property
    def variance(self) -> float:
        """The variance of the unbiased estimate of a share, times the number of reports, if all labels are equally
        frequent.
        """
        return self.variance_at_share(Fraction(1, len(self.mechanism.query.answers)))

    def variance_at_share(self, share: Fraction) -> float:
        """Return the same for a label with this share; 0 for a rare one."""
        return share_variance(self.mechanism, share)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"mechanism": self.name, "variance": self.variance, "outputs": self.outputs}


@dataclass(frozen=True)
class LabelComparison:
    """The laws for labels at one epsilon, the best first: least variance, simpler ones first where it is the same."""

    query: RangeQuery
    epsilon: Fraction
    laws: tuple[LabelCandidate, ...]

    @property
    def best(self) -> LabelCandidate:
        return self.laws[0]

    @property
    def why(self) -> str:
        """Why the first law is the first, in one sentence."""
        labels, at = len(self.query.answers), f"epsilon {float(self.epsilon):.4g}"
        sentence = (
            f"{self.best.name} for {labels} labels at {at}: variance {self.best.variance:.4g} / reports of a share"
        )
        others = [f"{law.variance / self.best.variance:.3g} times that for {law.name}" for law in self.laws[1:]]
        return f"{sentence}, {', '.join(others)}; {_REASONS[self.best.name]}"

    def __str__(self) -> str:
        return self.why

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"laws": [law.to_json() for law in self.laws], "why": self.why}


_REASONS = {
    "randomized_response": "where labels are few and epsilon is large, a report does best to name one label",
    "subset_selection": "a report that names a set of about labels / (e^epsilon + 1) of them tells most",
    "hadamard_response": "at a small epsilon a report does best to name half of the labels",
    "projective_response": "a report that names a share of about 1 / (e^epsilon + 1) of the labels tells most, and "
    "projective geometry has such sets for any number of labels",
}


def compare_labels(query: RangeQuery, epsilon: Number) -> LabelComparison:
    """Return all laws for labels at one epsilon, judged by the variance that follows from their certified weights.

    >>> import inbounds as ib
    >>> [law.name for law in compare_labels(ib.category(30), 1).laws][0]
    'subset_selection'
    """
    check_query(query)
    bound, query_labels = to_epsilon(epsilon), _labels(query)
    rows = [LabelCandidate(_response(query_labels, bound))]
    for candidates, origin in ((_subsets, SUBSET_SELECTION), (_halves, HADAMARD), (_planes, PROJECTIVE)):
        if next(candidates(len(query_labels.answers), float(bound)), None):
            rows.append(LabelCandidate(_best(query_labels, bound, candidates, origin)))
    least = min(law.variance for law in rows)
    first = next(law for law in rows if law.variance <= WORTH_IT * least)
    rest = sorted((law for law in rows if law is not first), key=lambda law: law.variance)
    return LabelComparison(query_labels, bound, (first, *rest))


def _response(query: RangeQuery, epsilon: Fraction) -> Mechanism:
    """Build randomized response: as a matrix if that is small, otherwise as its two weights."""
    size = len(query.answers)
    if size <= MOST_WRITTEN:
        return randomized_response(query, epsilon)
    return Mechanism(query, epsilon, make_tight_response(size, epsilon), Origin("randomized_response"))


def _labels(query: RangeQuery) -> RangeQuery:
    if not query.neighbours.is_complete:
        raise ValueError("query must be about labels, any two of which are neighbours; use ib.category")
    return query


# --- designs: floats propose, the checker has the last word --------------------------------------------------


def _best(query: RangeQuery, epsilon: Number, candidates: Any, origin: Origin) -> Mechanism:
    bound, query_labels = to_epsilon(epsilon), _labels(query)
    designs = [*candidates(len(query_labels.answers), float(bound))]
    if not designs:
        raise ValueError(
            f"labels must be fewer for {origin.name}, got {len(query_labels.answers)}; use projective_response"
        )
    share = Fraction(1, len(query_labels.answers))
    candidates_here = [
        Mechanism(
            query_labels,
            bound,
            make_tight_blocks(design, bound),
            Origin(origin.name, {"design": repr(design)}, origin.reference),
        )
        for design in designs
    ]
    return min(candidates_here, key=lambda mechanism: _variance_of_share(mechanism, share))


def _subsets(labels: int, epsilon: float) -> Iterator[LabelDesign]:
    for size in _sizes(labels, epsilon):
        if labels < 62 and math.comb(labels, size) <= MOST_SUBSETS:
            yield Subsets(labels, size)
    modulus = next(m for m in range(labels, 2 * labels + 1) if is_prime(m))
    if modulus * (modulus - 1) <= MOST_BLOCKS:
        yield from (Affine(labels, modulus, size) for size in _sizes(modulus, epsilon))


def _sizes(labels: int, epsilon: float) -> range:
    """Return set sizes about labels / (e^epsilon + 1): the variance has one minimum."""
    near = labels / (math.exp(epsilon) + 1)
    return range(max(1, math.floor(near) - 1), min(labels - 1, math.ceil(near) + 1) + 1)


def _halves(labels: int, epsilon: float) -> Iterator[LabelDesign]:
    yield from _spaces(labels, 2)


def _planes(labels: int, epsilon: float) -> Iterator[LabelDesign]:
    """Return spaces of orders about e^epsilon + 1: the next primes on both sides and one further."""
    near = math.floor(math.exp(min(epsilon, math.log(MOST_BLOCKS))) + 1)
    below = (q for q in range(near, 1, -1) if is_prime(q))
    above = (q for q in range(near + 1, 2 * near + 8) if is_prime(q))
    for order in (*islice(below, 2), *islice(above, 2)):
        yield from _spaces(labels, order)


def _spaces(labels: int, order: int) -> Iterator[Planes]:
    """Yield the smallest space of an order that has a point for each label."""
    dimension = 2
    while (order**dimension - 1) // (order - 1) < labels:
        dimension += 1
    if (order**dimension - 1) // (order - 1) <= MOST_BLOCKS:
        yield Planes(labels, order, dimension)

"""Design of several quantiles in one draw: the steepest levels that are private, and spacings by a declared search."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

import numpy as np

from inbounds.design.quantiles.choose import design_quantile
from inbounds.design.quantiles.family import Family, RecordFamily
from inbounds.errors import InfeasibleDesign
from inbounds.exact import EXPONENT_CAP, Floats, Ints, Number, format_decimal, to_epsilon, to_fraction
from inbounds.mechanism import JointMechanism, Mechanism
from inbounds.mechanism.laws import JointLaw, JointPathLengths, JointPathLengthsOverSizes
from inbounds.mechanism.origin import Origin
from inbounds.query import JointQuantileQuery, check_joint_quantile
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.joint_quantiles import SLACK_BITS, SPACING_BITS
from inbounds.trusted.joint_sizes import capacity, fits_joint_sizes

REFERENCE = "docs/theory/several-quantiles.md"

STEPS = 1 << 26
"""The most steps of the sampler's sums in one search; with wide ranges or large groups fewer groups are tried."""


@dataclass(frozen=True)
class JointSearch:
    """The declared objective of a joint design: which groups, which spacings, and what is not allowed.

    family: the groups that designs are judged on. closeness: the designs that are tried; see `design_joint`. guard: on
    no group may the mean error of the quantiles be more than this times that of single draws with equal parts of
    epsilon. negligible: an error, in steps of the range, that nobody can tell from none; errors are compared with this
    much added to each.
    """

    family: Family = field(default_factory=lambda: RecordFamily(each=4))
    closeness: tuple[Fraction, ...] = tuple(Fraction(k, 2) for k in range(7))
    guard: float = 1.02
    negligible: float = 1e-3

    def __post_init__(self) -> None:
        if not self.closeness or min(self.closeness) < 0:
            raise ValueError("closeness must be a list of numbers that are not negative")
        if not (self.guard > 0 and self.negligible > 0):
            raise ValueError("guard and negligible must be positive")


DEFAULT_JOINT_SEARCH = JointSearch()


@dataclass(frozen=True)
class JointDesign:
    """The mechanism chosen for several quantiles, the errors of the designs that were tried, and the reason.

    errors: for each closeness the geometric mean and the largest of the errors relative to single draws.
    """

    mechanism: JointMechanism
    errors: dict[Fraction, tuple[float, float]]
    reason: str

    def __str__(self) -> str:
        return self.reason


def design_quantiles(
    query: JointQuantileQuery, epsilon: Number, *, search: JointSearch = DEFAULT_JOINT_SEARCH
) -> JointDesign:
    """Choose the joint law of several quantiles with the least objective before any record is read.

    Errors are relative to single draws with equal parts of epsilon, by `design_quantile`. Among the designs that on no
    group of the family err noticeably more, the one with the least geometric mean is taken; if there is none, the one
    whose largest relative error is least. Nothing depends on data, and equal arguments give equal mechanisms. Cost: a
    few seconds of processor time at most.

    >>> from inbounds import quantiles
    >>> str(design_quantiles(quantiles([0, 0.5, 1], 0, 20, size=30), 1)).partition(":")[0]
    'closeness 1.5'
    """
    check_joint_quantile(query)
    return _choose(query, to_epsilon(epsilon), search)


@lru_cache(maxsize=256)
def _choose(query: JointQuantileQuery, epsilon: Fraction, search: JointSearch) -> JointDesign:
    made = {closeness: design_joint(query, epsilon, closeness=closeness) for closeness in search.closeness}
    groups = np.asarray(search.family(query.singles[0]), dtype=np.int64)
    law = next(iter(made.values())).law
    sizes = len(law.sizes) if isinstance(law, JointPathLengthsOverSizes) else 1
    steps = (query.size + query.width + 1) * (query.width + 1) * len(query.at) * len(made) * len(groups) * sizes
    groups = groups[:: -(-steps // STEPS)]
    truths = np.stack([single.true_positions(groups) for single in query.singles], axis=1)
    parts = [design_quantile(single, epsilon / len(query.at)).mechanism for single in query.singles]
    single_laws = np.stack([part.probabilities(groups) for part in parts], axis=1)
    single_errors = _mean_errors(single_laws, truths) + search.negligible
    errors = {}
    for closeness, mechanism in made.items():
        relative = (_mean_errors(mechanism.probabilities(groups), truths) + search.negligible) / single_errors
        errors[closeness] = float(np.exp(np.log(relative).mean())), float(relative.max())
    within = [closeness for closeness, (_, worst) in errors.items() if worst <= search.guard]
    best = min(within, key=lambda one: errors[one][0]) if within else min(errors, key=lambda one: errors[one][1])
    return JointDesign(made[best], errors, "; ".join(_describe(best, errors, len(groups))))


def _mean_errors(probabilities: Floats, truths: Ints) -> Floats:
    """Return the expected absolute error in steps, averaged over the quantiles, of every group."""
    distances = np.abs(np.arange(probabilities.shape[2]) - truths[:, :, None])
    return np.asarray((probabilities * distances).sum(axis=2).mean(axis=1))


def _describe(best: Fraction, errors: dict[Fraction, tuple[float, float]], groups: int) -> Iterator[str]:
    mean, worst = errors[best]
    yield (
        f"closeness {format_decimal(best)}: {mean:.3f} times the error of single draws with parts of epsilon on the "
        f"{groups} groups of the family, {worst:.3f} times at most"
    )
    others = (f"{format_decimal(one)} {errors[one][0]:.3f}, {errors[one][1]:.3f}" for one in errors if one != best)
    yield f"others: {'; '.join(others)}"


def design_joint(query: JointQuantileQuery, epsilon: Number, *, closeness: Number = 1) -> JointMechanism:
    """Design the mechanism that draws several quantiles of a group of public size together.

    A vector is the likelier, the fewer records must change until it is the true one. All of epsilon is used for the
    vector, so that three quantiles err less than three draws with a third of epsilon each. Outputs rise by
    construction.

    closeness: how much vectors of quantiles that are close together are preferred beforehand: a distance of d steps has
    the weight (d + 1)^-closeness. 0 prefers none, so that most vectors are far apart; with 1 every scale of a distance
    is about as likely. It costs no epsilon; `design_quantiles` searches for the best one.

    Where the size is secret, numbers of records from 0 to the maximum are tried, 4 / epsilon apart: whole vectors with
    sizes closer than that have weights that differ by a factor of e at most. The floor takes at most about a millionth
    of the draws.

    Raises `InfeasibleDesign` below an epsilon of about 1e-8 for a record, or where there are too many records.

    >>> from inbounds import quantiles
    >>> print(design_joint(quantiles([0, 0.5, 1], 1, 5, size=25), 1).origin)
    joint_path_lengths(closeness=1)
    """
    check_joint_quantile(query)
    bound, power = to_epsilon(epsilon), to_fraction(closeness, "closeness")
    if power < 0:
        raise ValueError(f"closeness must not be negative, got {closeness}")
    spacing, share = _falling_spacing(query.width, float(power)), bound / query.records
    law: JointLaw = (
        JointPathLengths(_least_weight(share), spacing) if query.public_size else _law_over_sizes(query, share, spacing)
    )
    return Mechanism(query, bound, law, Origin("joint_path_lengths", {"closeness": format_decimal(power)}, REFERENCE))


def _least_weight(epsilon: Fraction) -> int:
    """Return the least weight of a level that `check_joint` accepts: a fourth root, rounded up.

    p · weight^4 · (s - 1) >= 2^128 · 2^248 · (s + 1) with s = 2^SLACK_BITS.
    """
    p, slack = ratio_lower_bound(epsilon, Fraction(1)), 1 << SLACK_BITS
    fourth_power = -(-((TOTAL**4 * (slack + 1)) << EXP_BITS) // (p * (slack - 1)))
    weight = isqrt(isqrt(fourth_power - 1)) + 1  # the least w with w^4 >= fourth_power
    if weight >= TOTAL:
        raise InfeasibleDesign("several quantiles in one draw need a larger epsilon: the sampler's rounding uses it up")
    return weight


MOST_TRIED = 64
"""The most sizes that are tried where the size is secret."""

RARE_BITS = 20
"""The floor has about 2**-RARE_BITS of the weight of the true vector, whatever the number of vectors."""


def count_steps_over_sizes(values: int, quantiles: int, maximum: int, epsilon: Fraction) -> int | None:
    """Return the most steps of the sampler's sums for one draw where the size is secret; None if it cannot be drawn.

    epsilon: the least of one record; larger ones take more sizes and fewer records beyond the maximum.
    """
    found = 0
    while epsilon <= EXPONENT_CAP:
        weight, sizes, floor = _numbers_over_sizes(values, quantiles, maximum, epsilon)
        if weight >= TOTAL or not fits_joint_sizes(weight, values, sizes, floor, quantiles):
            return None
        found = max(found, quantiles * len(sizes) * (capacity(weight, sizes, floor) + values) * values)
        epsilon *= 2
    return found


def _numbers_over_sizes(
    values: int, quantiles: int, maximum: int, epsilon: Fraction
) -> tuple[int, tuple[int, ...], int]:
    """Return the least weight of a level that `check_joint_sizes` accepts, a square root; the sizes; and the floor."""
    p, slack = ratio_lower_bound(epsilon, Fraction(1)), 1 << SLACK_BITS
    weight = isqrt(-(-((TOTAL**2 * (slack + 1)) << EXP_BITS) // (p * (slack - 1))) - 1) + 1
    apart = max(ceil(4 / epsilon), -(-maximum // (MOST_TRIED - 1)))
    return weight, (0, *range(maximum, 0, -apart)[::-1]), RARE_BITS + quantiles * values.bit_length()


def _law_over_sizes(query: JointQuantileQuery, epsilon: Fraction, spacing: tuple[int, ...]) -> JointLaw:
    values, quantiles = len(spacing), len(query.at)
    weight, sizes, floor = _numbers_over_sizes(values, quantiles, query.size, epsilon)
    if weight >= TOTAL or not fits_joint_sizes(weight, values, sizes, floor, quantiles):
        raise InfeasibleDesign("several quantiles in one draw need a larger epsilon, or fewer quantiles or records")
    return JointPathLengthsOverSizes(weight, spacing, sizes, floor)


def _falling_spacing(width: int, closeness: float) -> tuple[int, ...]:
    """Return weights of spacings in proportion to (spacing + 1)^-closeness, at least 1."""
    weights = ((1 << SPACING_BITS) - 1) * np.arange(1.0, width + 2) ** -closeness
    return tuple(np.maximum(weights, 1.0).astype(np.int64).tolist())

"""Design of several quantiles in one draw: path lengths or noisy counts, and spacings, by a declared search."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

import numpy as np

from inbounds.design.quantiles.choose import design_quantile
from inbounds.errors import InfeasibleDesign, ScoreRatioViolation
from inbounds.exact import EXPONENT_CAP, Floats, Ints, Number, format_decimal, to_epsilon, to_fraction
from inbounds.mechanism import JointMechanism, Mechanism
from inbounds.mechanism.laws import JointLaw, JointPathLengths, JointPathLengthsOverSizes, NoisyCounts
from inbounds.mechanism.laws.counts import count_moves
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.record_models import draw_declared
from inbounds.query import JointQuantileQuery, check_joint_quantile
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.joint_quantiles import SLACK_BITS, SPACING_BITS
from inbounds.trusted.joint_sizes import capacity, fits_joint_sizes
from inbounds.trusted.noisy_counts import MOST_TABLE, check_counts

REFERENCE = "docs/theory/several-quantiles.md"

STEPS = 1 << 26
"""The most steps of the sampler's sums in one search; with wide ranges or large groups fewer groups are tried."""


def declared_groups(query: JointQuantileQuery) -> tuple[Ints, Ints]:
    """Return the groups on which designs are judged, and their scales: `draw_declared`, as accuracy is stated.

    Each group is followed by its mirror image. Sizes that are secret are spread evenly over 1 to the maximum.
    """
    rng, count = np.random.default_rng([query.size, query.width, len(query.at)]), GROUPS // 2
    turns = np.arange(count) * GROUP_TURN % 1.0
    sizes = np.full(count, query.size) if query.public_size else 1 + (turns * query.size).astype(np.int64)
    groups, scales = draw_declared(query.width + 1, sizes, rng)
    return np.stack([groups, groups[:, ::-1]], axis=1).reshape(-1, query.width + 1), np.repeat(scales, 2)


GROUPS = 192
"""Groups that designs are judged on."""

GROUP_TURN = (5**0.5 - 1) / 2
"""Multiples of the golden section fill 0..1 evenly."""


@dataclass(frozen=True)
class JointSearch:
    """The declared objective of a joint design: which groups, which designs, and what is not allowed.

    family: the groups that designs are judged on, and the scale of each. closeness: the spacings that are tried; see
    `design_joint`. counts: whether noisy counts are tried too; see `design_counts`. guard: at no scale may the mean
    error of the quantiles be more than this times that of single draws with equal parts of epsilon. negligible: an
    error, in steps of the range, that nobody can tell from none; errors are compared with this much added to each.
    """

    family: Callable[[JointQuantileQuery], tuple[Ints, Ints]] = declared_groups
    closeness: tuple[Fraction, ...] = tuple(Fraction(k, 2) for k in range(7))
    counts: bool = True
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

    errors: for each design, such as "closeness 1" or "noisy counts", the mean error in steps over the family, and the
    largest of the errors of a scale relative to single draws.
    """

    mechanism: JointMechanism
    errors: dict[str, tuple[float, float]]
    reason: str

    def __str__(self) -> str:
        return self.reason


def design_quantiles(
    query: JointQuantileQuery, epsilon: Number, *, search: JointSearch = DEFAULT_JOINT_SEARCH
) -> JointDesign:
    """Choose the law of several quantiles with the least objective before any record is read.

    Path lengths with several spacings are tried, and noisy counts, which err less where there are few values. The
    least mean error over the family is taken, among the designs that at no scale err noticeably more than single draws
    with equal parts of epsilon, by `design_quantile`; if there is none, the design whose largest relative error is
    least. Nothing depends on data, and equal arguments give equal mechanisms. Cost: a few seconds of processor time at
    most.

    >>> from inbounds import quantiles
    >>> str(design_quantiles(quantiles([0, 0.5, 1], 0, 3, maximum=10), 1)).partition(":")[0]
    'noisy counts'
    """
    check_joint_quantile(query)
    return _choose(query, to_epsilon(epsilon), search)


@lru_cache(maxsize=256)
def _choose(query: JointQuantileQuery, epsilon: Fraction, search: JointSearch) -> JointDesign:
    made = dict(_candidates(query, epsilon, search))
    groups, scales = search.family(query)
    sizes = max(len(one.law.sizes) if isinstance(one.law, JointPathLengthsOverSizes) else 1 for one in made.values())
    steps = (query.size + query.width + 1) * (query.width + 1) * len(query.at) * len(made) * len(groups) * sizes
    every = -(-steps // STEPS)
    groups, scales = groups[::every], scales[::every]
    truths = np.stack([single.true_positions(groups) for single in query.singles], axis=1)
    parts = [design_quantile(single, epsilon / len(query.at)).mechanism for single in query.singles]
    single = _mean_errors(np.stack([part.probabilities(groups) for part in parts], axis=1), truths)
    errors = {}
    for name, mechanism in made.items():
        found = _mean_errors(mechanism.probabilities(groups), truths)
        relative = (_by_scale(found, scales) + search.negligible) / (_by_scale(single, scales) + search.negligible)
        errors[name] = float(found.mean()), float(relative.max())
    within = {name: mean for name, (mean, worst) in errors.items() if worst <= search.guard}
    best = _first_least(within, search.negligible) if within else min(errors, key=lambda one: errors[one][1])
    return JointDesign(made[best], errors, "; ".join(_describe(best, errors, float(single.mean()), len(groups))))


def _candidates(
    query: JointQuantileQuery, epsilon: Fraction, search: JointSearch
) -> Iterator[tuple[str, JointMechanism]]:
    """Yield every design that can be made, by its name. Raises `InfeasibleDesign` if there is none."""
    refused = None
    for closeness in search.closeness:
        try:
            yield f"closeness {format_decimal(closeness)}", design_joint(query, epsilon, closeness=closeness)
        except InfeasibleDesign as error:
            refused = error
            break
    if search.counts and fits_counts(query.size):
        yield "noisy counts", design_counts(query, epsilon)
    elif refused is not None:
        raise refused


def _mean_errors(probabilities: Floats, truths: Ints) -> Floats:
    """Return the expected absolute error in steps, averaged over the quantiles, of every group."""
    distances = np.abs(np.arange(probabilities.shape[2]) - truths[:, :, None])
    return np.asarray((probabilities * distances).sum(axis=2).mean(axis=1))


def _first_least(errors: dict[str, float], negligible: float) -> str:
    """Return the first of the designs with the least error, whatever roundings differ between machines."""
    least = min(errors.values())
    return next(name for name, one in errors.items() if one + negligible <= (1 + ALIKE) * (least + negligible))


ALIKE = 1e-6
"""Errors that differ by less than this part are alike."""


def _by_scale(errors: Floats, scales: Ints) -> Floats:
    """Return the mean error of the groups of each scale."""
    _, place = np.unique(scales, return_inverse=True)
    return np.asarray(np.bincount(place, weights=errors) / np.bincount(place))


def _describe(best: str, errors: dict[str, tuple[float, float]], single: float, groups: int) -> Iterator[str]:
    mean, worst = errors[best]
    yield (
        f"{best}: a mean error of {mean:.4g} steps on the {groups} groups of the family, where single draws with parts "
        f"of epsilon err by {single:.4g}, and at most {worst:.3f} times theirs at a scale"
    )
    others = (f"{one} {errors[one][0]:.4g}, {errors[one][1]:.3f}" for one in errors if one != best)
    yield f"others: {'; '.join(others)}"


# --- noisy counts -----------------------------------------------------------------------------------------


def fits_counts(size: int) -> bool:
    """Return whether groups of a size may be answered with noisy counts."""
    return _circle(size) <= MOST_TABLE


def _circle(size: int) -> int:
    """Return how many numbers the noise has: counts of 0 to the size, and noise of half as much on either side."""
    return 2 * size + 2


def design_counts(query: JointQuantileQuery, epsilon: Number) -> JointMechanism:
    """Design the mechanism that draws the number of records with each value with noise, and reads quantiles off them.

    For few values: the noise does not depend on how many quantiles are read, and errors grow with the number of values.
    The noise falls by the same factor from step to step, as steeply as is private.

    Raises `InfeasibleDesign` for groups of more than 4,095 records.

    >>> from inbounds import quantiles
    >>> design_counts(quantiles([0, 0.5, 1], 1, 5, size=25), 1).law.kind
    'counts'
    """
    check_joint_quantile(query)
    bound = to_epsilon(epsilon)
    if not fits_counts(query.size):
        raise InfeasibleDesign("noisy counts are for groups of at most 4,095 records")
    law = NoisyCounts(_falling_noise(_circle(query.size), count_moves(query), bound))
    return Mechanism(query, bound, law, Origin("noisy_counts", {}, REFERENCE))


LEAST_NOISE = 1 << 24
"""The least weight of noise: rarer than once in 10^11 draws, and still even to a few parts in 10^8."""


def _falling_noise(length: int, moves: int, epsilon: Fraction) -> tuple[int, ...]:
    """Return weights of noise 0, 1, …, -1 around a circle that fall geometrically to both sides, and sum to 2^62.

    Ratios are smaller than allowed by a part of a million or more, which pays for rounding; the first that is accepted.
    """
    steps = np.minimum(np.arange(length), length - np.arange(length))
    for part in range(40, 0, -2):
        falls = np.exp(-float(epsilon / moves) * (1 - 2.0**-part) * steps)
        falls = np.maximum(falls / falls.sum(), LEAST_NOISE / TOTAL)
        table = [int(weight) for weight in falls / falls.sum() * TOTAL]
        table[0] += TOTAL - sum(table)
        with suppress(ScoreRatioViolation):
            check_counts(table, moves, epsilon)
            return tuple(table)
    raise InfeasibleDesign("noisy counts need a larger epsilon: rounding uses it up")


# --- path lengths -----------------------------------------------------------------------------------------


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

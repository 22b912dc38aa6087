"""Adapters to other libraries: a mechanism as an OpenDP measurement (extra `opendp`).

libqif needs no adapter: its channels have a row for each true answer, which is `mechanism.matrix.T`.
"""

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from inbounds.exact import round_up_to_float
from inbounds.mechanism import Mechanism, check_mechanism
from inbounds.optional import import_optional

if TYPE_CHECKING:
    from opendp.mod import Measurement


INTEGERS = ("i32", "i64", "u32", "u64", "usize")
"""The integer types of OpenDP's counts and sums."""


def opendp_measurement(mechanism: Mechanism, T: Any = int) -> "Measurement":
    """Make an OpenDP measurement of one integer, under absolute distance and pure differential privacy.

    Any number is accepted: it is first clamped to the query's range, which never increases the distance of two
    numbers. The privacy map is epsilon for each started multiple of the sensitivity (group privacy), and epsilon at
    any distance for `AllPairs`; it is rounded up to a float. T: OpenDP's type of the number, such as "i64".

    OpenDP cannot check a function from outside, so it asks for consent first:
    `dp.enable_features("contrib", "honest-but-curious")`.
    """
    dp = import_optional("opendp.prelude", "opendp")
    if T is not int and str(T) not in INTEGERS:
        raise ValueError(
            f"T must be int or one of {', '.join(INTEGERS)}: a float may lie between two answers, got {T!r}"
        )
    check_mechanism(mechanism)
    answers = mechanism.query.answers
    if not mechanism.query.is_ordered or not answers.is_regular or answers.unit != 1 or answers.start.denominator != 1:
        raise ValueError(
            "an OpenDP measurement needs a query whose answers are consecutive whole numbers; "
            "for a mean, take ib.total and divide the output by the size"
        )
    _check_line(mechanism)
    measurement: Measurement = dp.m.make_user_measurement(
        input_domain=dp.atom_domain(T=T),
        input_metric=dp.absolute_distance(T=T),
        output_measure=dp.max_divergence(),
        function=partial(mechanism.sample, clip=True),
        privacy_map=lambda distance: privacy_map(mechanism, distance),
    )
    return measurement


def privacy_map(mechanism: Mechanism, distance: int) -> float:
    """Return the privacy loss of two true answers `distance` apart, rounded up to a float.

    Raises `ValueError` for answers on a graph or with gaps.
    """
    check_mechanism(mechanism)
    _check_line(mechanism)
    if not mechanism.query.answers.is_regular:
        raise ValueError("a privacy map needs answers without gaps: steps across a hole cannot be counted")
    if distance < 0:
        raise ValueError("a distance must not be negative")
    if distance == 0:
        return 0.0
    query = mechanism.query
    steps = min(query.steps_within(Fraction(distance)), query.answers.ticks[-1])
    return round_up_to_float(mechanism.epsilon * query.neighbours.distance_of_steps(steps, query.answers))


def _check_line(mechanism: Mechanism) -> None:
    if not mechanism.query.neighbours.is_line:
        raise ValueError("a privacy map needs answers on a line: on a graph two answers have a length of their own")

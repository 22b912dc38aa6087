"""The guarantee of a mechanism, its proof and its accuracy, in plain sentences."""

import math
from collections.abc import Sequence

import numpy as np

from inbounds.exact import format_decimal
from inbounds.mechanism import AnyMechanism, Channel, JointMechanism, Mechanism
from inbounds.mechanism.bayes import format_percent
from inbounds.mechanism.claims import list_unchecked_claims
from inbounds.mechanism.laws.base import BROWSER, COQ

__all__ = [
    "LEGEND",
    "MEANING",
    "describe_accuracy",
    "describe_belief",
    "describe_checkers",
    "describe_joint_accuracy",
    "describe_proof",
    "format_guarantee",
    "list_unchecked_claims",
]


def format_guarantee(mechanism: AnyMechanism) -> str:
    """Return the guarantee in words, without formulas."""
    if mechanism.delta:
        query, cost = mechanism.query.as_range_query, format_decimal(mechanism.epsilon)
        return (
            f"Whatever one person's record is, any set of outputs has at most {math.exp(float(mechanism.epsilon)):.4g} "
            f"times the probability that it would otherwise have, plus {float(mechanism.delta):.4g} (epsilon {cost}, "
            f"delta {format_decimal(mechanism.delta)}); {query.describe_neighbours()}. "
            "For two persons together both are larger, delta by 1 + exp(epsilon) times."
        )
    return str(mechanism.query.promise(mechanism.epsilon))


def describe_proof(mechanism: AnyMechanism) -> list[str]:
    """Return what the checker established, step by step."""
    return list(mechanism.law.proof_steps(mechanism.query))


def describe_checkers(mechanism: AnyMechanism) -> str:
    """Return who can judge the mechanism's passport, and whether the theorem behind the check is machine-checked."""
    others = mechanism.law.checkers
    names = ["inbounds verify"]
    names += ["the page in the browser"] if BROWSER in others else []
    names += ["inbounds-check, extracted from the machine-checked proof"] if COQ in others else []
    missing = "" if COQ in others else "; this kind of law has no machine-checked proof"
    return f"judged by {', '.join(names)}{missing}"


def describe_belief(channel: Channel, has_prior: bool) -> str:
    """Return what is supposed about the true answer before an output, as a clause."""
    if channel.is_expected:
        return INDEPENDENT_RECORDS if has_prior else UNKNOWN_SHARES
    return "the given prior holds beforehand" if has_prior else "every true answer is equally likely beforehand"


UNKNOWN_SHARES = "every value is as likely to be the answer, and given it every histogram of the records as likely"
ANY_SCALE = "records lie together at any scale, with heaps and gaps, in the whole range or a part of it"
INDEPENDENT_RECORDS = "records are drawn independently, by the given prior"

MEANING = {
    "row_honest": "each output is likeliest when it is the truth",
    "row_monotone": "each output gets less likely the further the truth is from it",
    "column_honest": "the truth is the likeliest output",
    "column_monotone": "outputs get less likely the further they are from the truth",
    "fair": "the truth comes out equally often, whatever it is",
    "weakly_honest": "the truth comes out at least as often as by blind guessing",
    "symmetric": "low and high answers are treated alike",
}
"""The structural properties in words."""

LEGEND = "RH row honest, RM row monotone, CH column honest, CM column monotone, F fair, WH weakly honest, S symmetric"


def describe_accuracy(mechanism: Mechanism, channel: Channel, belief: str) -> str:
    """Describe the error of outputs in sentences. channel, belief: with the prior, and the prior in words."""
    from inbounds.evaluate.goals import narrowest_interval_at

    truth = channel.select_possible(channel.truth_probability())
    truth_text = f"with probability {_between(float(truth.min()), float(truth.max()))}"
    if not channel.has_face_value:
        return f"The set of labels that it publishes holds the truth {truth_text}."
    if not channel.query.is_ordered:
        return f"It publishes the truth {truth_text}."
    if channel.is_expected:
        return (
            f"When {belief}: the expected absolute error is {channel.loss():.4g}, where the best constant has "
            f"{channel.constant_loss():.4g}; the truth is published with probability "
            f"{format_percent(float(np.dot(channel.truth_probability(), channel.prior)))}. "
            "Records that lie together around the answer make the error smaller, a gap there makes it larger."
        )
    distance = narrowest_interval_at(
        mechanism.query, mechanism.epsilon, "0.9", lambda query, epsilon: mechanism
    ).promise.distance
    assert distance is not None
    return (
        f"Averaged over all true answers it misses by {mechanism.loss():.3g}; for the true answer with the "
        f"largest error, by {mechanism.worst_loss():.3g}. Whatever the truth, the output is within "
        f"±{float(distance):g} of it with probability 90 % or more. It hits the truth itself {truth_text}."
    )


def describe_joint_accuracy(mechanism: JointMechanism, channels: Sequence[Channel], belief: str) -> str:
    """Describe the errors of several quantiles that are drawn together. channels: one for each of them."""
    errors = [
        f"{channel.loss():.4g} for the {single.name}, where the best constant has {channel.constant_loss():.4g}"
        for single, channel in zip(mechanism.query.singles, channels, strict=True)
    ]
    return (
        f"When {belief}: the expected absolute error is {'; '.join(errors)}. All quantiles are one output and rise. "
        "Records that lie together around them make the errors smaller, gaps there make them larger."
    )


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if high - low < 1e-6 else f"{low:.3g} to {high:.3g}"

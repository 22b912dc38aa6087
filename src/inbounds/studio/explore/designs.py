"""What Explore computes in worker processes, with the public calls, from a question alone."""

from dataclasses import dataclass, replace
from fractions import Fraction

from inbounds.attack.asymptotics import loss_limit
from inbounds.attack.repeated import simulate_collusion
from inbounds.catalog.registry import families
from inbounds.design.designer import optimal
from inbounds.errors import InboundsError
from inbounds.exact import format_decimal, to_epsilon
from inbounds.losses import weigh_loss
from inbounds.mechanism import Mechanism
from inbounds.progress import Progress, ignore_progress
from inbounds.studio.explore.state import OPTIMAL, ExploreState

MAX_SECONDS = 60.0
"""The longest that one design may take; the best found by then is shown with its gap."""

AROUND = tuple(Fraction(part) for part in ("1/8", "1/4", "1/2", "3/4", "1", "3/2", "2", "3", "4"))
"""The epsilons of a curve, relative to the chosen one."""

REPEATS = (1, 2, 3, 5, 10, 20, 50)
"""How many answers to one question are pooled."""

RUNS = 400
"""Simulated runs for each true answer where nothing exact is affordable."""


def design(question: ExploreState, progress: Progress = ignore_progress) -> Mechanism:
    """Design the mechanism of a question: the optimum for its options, or a named one."""
    query = question.query()
    if question.mechanism != OPTIMAL:
        return _entry_name(question)
    return optimal(
        query,
        question.epsilon,
        question.loss_object(),
        question.weights(query),
        question.require,
        question.aim,  # type: ignore[arg-type]
        subject_to=question.restrictions(),
        max_seconds=MAX_SECONDS,
    )


def _entry_name(question: ExploreState) -> Mechanism:
    known = families()
    if question.mechanism not in known:
        raise ValueError(f"mechanism must be optimal or one of {', '.join(known)}, got {question.mechanism!r}")
    return known[question.mechanism](question.query(), question.epsilon)


def design_loss(question: ExploreState, mechanism: Mechanism) -> float:
    """Return the objective of the question for a mechanism."""
    loss, weights = question.loss_object(), question.weights(mechanism.query)
    if question.aim == "worst":
        return mechanism.worst_loss(loss if weights is None else weigh_loss(loss, weights, mechanism.query))
    return mechanism.loss(loss, weights)


@dataclass(frozen=True)
class PropertyPrice:
    """A property, the least loss of mechanisms that have it, and the factor by which that is larger; or why there is
    none.
    """

    name: str
    held: bool
    loss: float | None = None
    factor: float | None = None
    reason: str = ""


def property_costs(question: ExploreState, progress: Progress = ignore_progress) -> list[PropertyPrice]:
    """Return the loss with each further property, beside the loss without."""
    now = design(question)
    before, holds = design_loss(question, now), now.properties()
    prices: list[PropertyPrice] = []
    for name, held in holds.items():
        progress("designing", len(prices), len(holds))
        prices.append(PropertyPrice(name, True, before, 1.0) if held else _price(question, name, before))
    return prices


def _price(question: ExploreState, name: str, before: float) -> PropertyPrice:
    wished = replace(question, mechanism=OPTIMAL, require=(*question.require, name))
    try:
        loss = design_loss(question, design(wished))
    except InboundsError as error:
        return PropertyPrice(name, False, reason=str(error))
    return PropertyPrice(name, False, loss, loss / before if before > 0 else None)


def loss_curve(question: ExploreState, progress: Progress = ignore_progress) -> list[tuple[str, float]]:
    """Return the loss at smaller and larger epsilons."""
    centre = to_epsilon(question.epsilon)
    points: list[tuple[str, float]] = []
    for share in AROUND:
        epsilon = format_decimal(centre * share)
        progress("designing", len(points), len(AROUND))
        try:
            variant = replace(question, epsilon=epsilon)
            points.append((epsilon, design_loss(variant, design(variant))))
        except InboundsError:
            continue  # beyond the range of epsilon, or infeasible there
    return points


@dataclass(frozen=True)
class Attack:
    """What k answers reveal: k, their joint epsilon, the loss of the best guess, and its standard error.

    floor: the loss that remains however many answers are pooled.
    """

    rows: list[tuple[int, str, float, float]]
    floor: float


def attack(question: ExploreState, progress: Progress = ignore_progress) -> Attack:
    """Simulate an attacker who pools several answers to the same question."""
    mechanism = design(question)
    weights, loss = question.weights(mechanism.query), question.loss_object()
    rows = simulate_collusion(mechanism, REPEATS, loss, weights, by=["guess"], runs=RUNS)
    approximations = [
        (row.answers, format_decimal(row.answers * mechanism.epsilon), row.loss["guess"], row.error["guess"])
        for row in rows
    ]
    return Attack(approximations, loss_limit(mechanism, loss, weights).floor["guess"])

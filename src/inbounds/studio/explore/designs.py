"""What Explore computes, each by the calls that Python users have: made in another process, from a question alone."""

from dataclasses import dataclass, replace
from fractions import Fraction

from inbounds.attack.limits import limit
from inbounds.attack.repeated import learned
from inbounds.catalog.registry import families
from inbounds.design.optimal import optimal
from inbounds.errors import InboundsError
from inbounds.mechanism import Mechanism
from inbounds.numbers import as_epsilon, decimal
from inbounds.studio.explore.question import OPTIMAL, ExploredQuestion
from inbounds.tables.designs import Progress, no_progress

MAX_SECONDS = 60.0
"""The longest that one design may take; the best found by then is shown with its gap."""

AROUND = tuple(Fraction(part) for part in ("1/8", "1/4", "1/2", "3/4", "1", "3/2", "2", "3", "4"))
"""The epsilons of a curve, as shares of the one that is looked at."""

REPEATS = (1, 2, 3, 5, 10, 20, 50)
"""How many answers to one question are pooled."""

RUNS = 400
"""Simulated runs for each true answer where nothing exact is affordable."""


def design(question: ExploredQuestion, progress: Progress = no_progress) -> Mechanism:
    """The mechanism of a question: the best for its wishes, or a named one."""
    query = question.query()
    if question.mechanism != OPTIMAL:
        return _named(question)
    return optimal(
        query,
        question.epsilon,
        question.judged(),
        question.weights(query),
        question.require,
        question.aim,  # type: ignore[arg-type]
        subject_to=question.restrictions(),
        max_seconds=MAX_SECONDS,
    )


def _named(question: ExploredQuestion) -> Mechanism:
    known = families()
    if question.mechanism not in known:
        raise ValueError(f"mechanism must be optimal or one of {', '.join(known)}, got {question.mechanism!r}")
    return known[question.mechanism](question.query(), question.epsilon)


def loss_of(question: ExploredQuestion, mechanism: Mechanism) -> float:
    """What the question minimizes, of any mechanism for it."""
    if question.aim == "worst":
        return mechanism.worst_loss(question.judged())
    return mechanism.loss(question.judged(), question.weights(mechanism.query))


@dataclass(frozen=True)
class PropertyPrice:
    """A property, the least loss of mechanisms that have it, and by which factor that is more; or why there is none."""

    name: str
    held: bool
    loss: float | None = None
    factor: float | None = None
    reason: str = ""


def prices(question: ExploredQuestion, progress: Progress = no_progress) -> list[PropertyPrice]:
    """What each further property costs: the loss with it beside the loss without."""
    now = design(question)
    before, holds = loss_of(question, now), now.properties()
    found: list[PropertyPrice] = []
    for name, held in holds.items():
        progress("designing", len(found), len(holds))
        found.append(PropertyPrice(name, True, before, 1.0) if held else _price(question, name, before))
    return found


def _price(question: ExploredQuestion, name: str, before: float) -> PropertyPrice:
    wished = replace(question, mechanism=OPTIMAL, require=(*question.require, name))
    try:
        loss = loss_of(question, design(wished))
    except InboundsError as error:
        return PropertyPrice(name, False, reason=str(error))
    return PropertyPrice(name, False, loss, loss / before if before > 0 else None)


def against_epsilon(question: ExploredQuestion, progress: Progress = no_progress) -> list[tuple[str, float]]:
    """The loss at smaller and larger epsilons."""
    centre = as_epsilon(question.epsilon)
    found: list[tuple[str, float]] = []
    for share in AROUND:
        epsilon = decimal(centre * share)
        progress("designing", len(found), len(AROUND))
        try:
            own = replace(question, epsilon=epsilon)
            found.append((epsilon, loss_of(own, design(own))))
        except InboundsError:
            continue  # beyond the range of epsilon, or infeasible there
    return found


@dataclass(frozen=True)
class Attack:
    """What k answers tell: k, the epsilon that they promise together, the loss of the best guess, its standard error.

    floor: what is left however many are pooled.
    """

    rows: list[tuple[int, str, float, float]]
    floor: float


def attack(question: ExploredQuestion, progress: Progress = no_progress) -> Attack:
    """One who asks again and again, or so many who pool their answers."""
    made = design(question)
    weights, loss = question.weights(made.query), question.judged()
    rows = learned(made, REPEATS, loss, weights, by=["guess"], runs=RUNS)
    found = [(row.answers, decimal(row.answers * made.epsilon), row.loss["guess"], row.error["guess"]) for row in rows]
    return Attack(found, limit(made, loss, weights).floor["guess"])

"""004's open questions: a mechanism for all users (R1), noise that varies (R2), beyond oblivious mechanisms (§6)."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog
from inbounds.design.designer import optimal
from inbounds.design.quantiles import design_central, design_permute_flip
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Number, epsilon_from_alpha
from inbounds.losses import to_loss
from inbounds.query import RangeQuery, count, extreme, interval, mean, median, ordinal
from inbounds_studies import noise
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.noise import STAIRCASE
from inbounds_studies.study import Result, Study
from inbounds_studies.style import BLUE, GREEN, ORANGE, curves, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- R1: one mechanism for all users ----------------------------------------------------------------------

USERS = ("absolute, uniform", "zero-one, uniform", "squared, skewed")
"""Three users: a loss and a prior each."""


def tastes(query: RangeQuery) -> dict[str, tuple[Floats, Floats]]:
    """loss[guess, answer] and prior of each user."""
    n = len(query.answers)
    uniform, skewed = np.full(n, 1 / n), 0.6 ** np.arange(n)
    tables = {name: to_loss(name).guesses(query) for name in ("absolute", "zero-one", "squared")}
    priors = (uniform, uniform, skewed / skewed.sum())
    return dict(zip(USERS, zip(tables.values(), priors, strict=True), strict=True))


def asked(top: int) -> dict[str, RangeQuery]:
    """Common questions, with about as many answers each."""
    return {"count": count(top), "mean of two, 0..2": mean(2, 0, 2), "maximum": extreme(0, top)}


def universal(alphas: Sequence[Number] = ("0.3", "0.5", "0.7", "0.9"), top: int = 3, crew: Crew = ALONE) -> Result:
    """The least g such that one mechanism gives each of three users a loss within 1 + g of their own optimum."""
    jobs = [(name, a, top) for name in asked(top) for a in alphas]
    table = Table.of(("query", "alpha", "gap"), crew.map(_universal, jobs))
    return Result(table, lambda: curves(table, "alpha", "gap", line="query", x_label="α = exp(−epsilon)",
                                        y_label="universality gap", legend_across=3))  # fmt: skip


def _universal(job: tuple[str, Number, int]) -> tuple[str, float, float]:
    name, a, top = job
    query = asked(top)[name]
    users = tastes(query)
    least = {
        user: optimal(query, epsilon_from_alpha(a), loss, prior).loss(loss, prior)
        for user, (loss, prior) in users.items()
    }
    return name, decimal(a), universality_gap(query, decimal(a), users, least)


def universality_gap(
    query: RangeQuery, a: float, users: Mapping[str, tuple[Floats, Floats]], least: Mapping[str, float]
) -> float:
    """min over private mechanisms of the largest share by which a user of it does worse than with their own optimum.

    Whatever the mechanism, users' remaps of one report give a guess for each of them: a joint mechanism whose outputs
    are tuples of guesses. So the program over those is exact: minimize g with sum prior·P·loss <= (1 + g)·least for
    every user, P private. Zero means that one mechanism serves them all as their own would.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    n = len(query.answers)
    guesses = list(product(*(range(len(loss)) for loss, _ in users.values())))
    cliques = [range(c.start, c.stop) for c in query.neighbours.cliques(query.answers)]
    pairs = sorted({(j, k) for clique in cliques for j in clique for k in clique if j != k})
    ratio = np.zeros((len(pairs), n))
    for row, (j, k) in enumerate(pairs):
        ratio[row, j], ratio[row, k] = a, -1.0  # a·P[i, j] <= P[i, k]
    private = kron(eye_array(len(guesses)), csr_array(ratio))
    costs = [
        np.concatenate([(loss[[g[u] for g in guesses]] * prior).ravel(), [-least[user]]])
        for u, (user, (loss, prior)) in enumerate(users.items())
    ]
    limits = vstack([hstack([private, csr_array((private.shape[0], 1))]), csr_array(np.array(costs))])
    right = np.concatenate([np.zeros(private.shape[0]), list(least.values())])
    sums = hstack([kron(np.ones((1, len(guesses))), eye_array(n)), csr_array((n, 1))])
    aim = np.concatenate([np.zeros(len(guesses) * n), [1.0]])
    found = linprog(aim, A_ub=limits.tocsr(), b_ub=right, A_eq=sums.tocsr(), b_eq=np.ones(n), method="highs")
    if found.x is None:
        raise ConvergenceError("the program over tuples of guesses did not end; take fewer answers or users")
    return max(0.0, float(found.x[-1]))


# --- R2: noise that varies with the answer ----------------------------------------------------------------

CONSTANT, VARYING = "staircase on the line (12)", "optimum for the worst answer"


def worst(
    alphas: Sequence[Number] = ("0.2", "0.5", "0.8"),
    widths: Sequence[int] = (1, 2, 4, 8, 16, 32),
    fineness: int = 8,
    crew: Crew = ALONE,
) -> Result:
    """A risk-averse user: the least worst-case error on a bounded range, where noise may vary with the answer."""
    jobs = [(a, width, fineness) for a in alphas for width in widths]
    parts = crew.map(_worst, jobs)
    table = Table.of(("alpha", "range", "mechanism", "value"), [row for part in parts for row in part])
    titles = {decimal(a): f"α = {a}" for a in alphas}
    return Result(table, lambda: curves(table, "range", panel="alpha", titles=titles, across=2,
                                        x_label="range / sensitivity", y_label="worst error / sensitivity",
                                        legend_across=1))  # fmt: skip


def _worst(job: tuple[Number, int, int]) -> list[tuple[Any, ...]]:
    a, width, fineness = job
    query = interval(0, width, 1, width * fineness)
    best = optimal(query, epsilon_from_alpha(a), aim="worst").worst_loss("absolute")
    snapped = catalog.snapped_staircase(query, epsilon_from_alpha(a)).worst_loss("absolute")
    line = noise.expected_error(STAIRCASE, decimal(a), False)
    found = ((CONSTANT, line), ("snapped staircase", snapped), (VARYING, best))
    return [(decimal(a), width, name, value) for name, value in found]


# --- R2: sensitivity that depends on the answer -----------------------------------------------------------

LARGEST_STAIRCASE, LARGEST_OPTIMUM = "staircase for the largest sensitivity", "optimum for the largest sensitivity"
OWN_OPTIMUM = "optimum for every answer's own sensitivity"


def with_sensitivities(sensitivity: Sequence[int]) -> RangeQuery:
    """Answers 0..n of which two are neighbours when the change is within the sensitivity of both."""
    answers = range(len(sensitivity))
    near = [(x, y) for x in answers for y in answers if 0 < y - x <= min(sensitivity[x], sensitivity[y])]
    return ordinal(0, answers[-1], neighbours=near)


def rising(width: int, least: int, most: int) -> list[int]:
    """A sensitivity that rises evenly from one end of 0..width to the other."""
    return [least + (most - least) * x // width for x in range(width + 1)]


def varies(
    alphas: Sequence[Number] = ("0.2", "0.5", "0.8"),
    widths: Sequence[int] = (8, 16, 24, 32),
    least: int = 1,
    most: int = 4,
    crew: Crew = ALONE,
) -> Result:
    """The worst expected error where the sensitivity rises from `least` to `most` across the range."""
    parts = crew.map(_varies, [(a, width, least, most) for a in alphas for width in widths])
    table = Table.of(("alpha", "range", "mechanism", "value"), [row for part in parts for row in part])
    titles = {decimal(a): f"α = {a}" for a in alphas}
    return Result(table, lambda: curves(table, "range", panel="alpha", titles=titles, across=len(alphas),
                                        x_label="range", y_label="worst expected error", legend_across=1))  # fmt: skip


def _varies(job: tuple[Number, int, int, int]) -> list[tuple[Any, ...]]:
    a, width, least, most = job
    own, largest = with_sensitivities(rising(width, least, most)), with_sensitivities(rising(width, most, most))
    epsilon = epsilon_from_alpha(a)
    found = {
        LARGEST_STAIRCASE: catalog.snapped_staircase(largest, epsilon),
        LARGEST_OPTIMUM: optimal(largest, epsilon, aim="worst"),
        OWN_OPTIMUM: optimal(own, epsilon, aim="worst"),
    }
    return [(decimal(a), width, name, mechanism.worst_loss("absolute")) for name, mechanism in found.items()]


# --- beyond oblivious mechanisms --------------------------------------------------------------------------

OBLIVIOUS, FLIP, CENTRAL = "oblivious optimum", "permute and flip", "optimum over central records"
CONSTANT_GUESS = "no data: best constant"


def beyond(
    epsilons: Sequence[Number] = ("0.25", "0.5", "1", "2", "3"),
    sizes: Sequence[int] = (5, 25),
    top: int = 4,
    lengths: Sequence[int] = (5, 7),
    crew: Crew = ALONE,
) -> Result:
    """The median of n answers on a scale 0..top: mechanisms that see the answer only, and some that see the records.

    Expected absolute error for independent uniform records. For 5 people all records are the central ones, so that
    line is the optimum over all mechanisms, oblivious or not.
    """
    jobs = [(size, e, top, length) for size, length in zip(sizes, lengths, strict=True) for e in epsilons]
    parts = crew.map(_beyond, jobs)
    table = Table.of(("people", "epsilon", "mechanism", "value"), [row for part in parts for row in part])
    titles = {size: f"{size} people" for size in sizes}
    return Result(table, lambda: curves(table, "epsilon", panel="people", titles=titles, x_label="epsilon", across=2,
                                        y_label="expected absolute error", log_y=True, legend_across=2))  # fmt: skip


def _beyond(job: tuple[int, Number, int, int]) -> list[tuple[Any, ...]]:
    size, epsilon, top, length = job
    query = median(0, top, size=size)
    flip, flat = design_permute_flip(query, epsilon), np.ones(top + 1)
    prior = flip.channel(flat).prior
    found = {
        OBLIVIOUS: optimal(extreme(0, top), epsilon, "absolute", prior).loss("absolute", prior),
        FLIP: flip.loss(prior=flat),
        CENTRAL: design_central(query, epsilon, length=length, prior=flat).loss(prior=flat),
        CONSTANT_GUESS: flip.channel(flat).constant_loss(),
    }
    return [(size, decimal(epsilon), name, value) for name, value in found.items()]


# --- Figure 2 ---------------------------------------------------------------------------------------------

LEVELS: tuple[tuple[str, str, str], ...] = (
    ("6", "a universally optimal mechanism for other queries", "none for mean or maximum: 004-universal"),
    ("5", "universally optimal for counts: geometric", "gap 0: 004-universal"),
    ("4", "optimal for a prior, sensitivity varies", "over records: 004-beyond"),
    ("3", "optimal for a prior", "designed with a proved bound: 004-fig3"),
    ("2", "risk-averse, sensitivity varies", "designed with a proved bound: 004-varies"),
    ("1", "risk-averse: staircase", "the limit of wide ranges: 004-worst"),
)


def fig2() -> Result:
    """The ladder of problems, each with what is known here."""
    table = Table.of(("level", "problem", "answer"), LEVELS)
    return Result(table, lambda: _ladder(table))


def _ladder(table: Table) -> "Figure":
    figure, (axis,) = panels(1, width=7.2, height=3.4)
    shades = (ORANGE, GREEN, BLUE, GREEN, GREEN, GREEN)
    for k, (row, shade) in enumerate(zip(table, shades, strict=True)):
        y, left = len(table) - k, 0.45 * (len(table) - 1 - k)
        axis.add_patch(_step(left, y - 0.9, shade))
        axis.text(left + 0.15, y - 0.37, f"Level {row['level']}: {row['problem']}", fontsize=8.5, va="center")
        axis.text(left + 0.15, y - 0.69, str(row["answer"]), fontsize=8, va="center", color="#333333", style="italic")
    axis.set_xlim(0, 10)
    axis.set_ylim(0, len(table) + 0.1)
    axis.set_axis_off()
    return figure


def _step(left: float, bottom: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, bottom), 7.6, 0.82, facecolor=colour, alpha=0.22, edgecolor=colour)


STUDIES = (
    Study("004-fig2", "Levels of difficulty, with what is known here", fig2),
    Study("004-universal", "Open question R1: the universality gap of common queries", universal,
          {"alphas": ("0.5",), "top": 2}),
    Study("004-worst", "Open question R2: noise that varies with the answer", worst,
          {"alphas": ("0.5",), "widths": (1, 2, 4), "fineness": 4}),
    Study("004-varies", "Open question R2: sensitivity that depends on the answer", varies,
          {"alphas": ("0.5",), "widths": (8, 16)}),
    Study("004-beyond", "Beyond oblivious mechanisms: the median of records", beyond,
          {"epsilons": ("1",), "sizes": (5,), "lengths": (5,), "top": 2}),
)  # fmt: skip

"""Every named mechanism, over every kind of query: certified, as tight as theory says, and what its formula says.

The formulas are written a second time here, plainly, from the definitions.
"""

import inspect
import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import laplace

import inbounds as ib
from inbounds.catalog.registry import REGISTRY
from inbounds.trusted.bounds import TOTAL
from raising import rejects

EPSILONS = ["0.01", "0.1", "0.5", "1", "3"]
SMALL = [1, 2, 5]
LARGE = [20, 100]

# --- every kind of query ----------------------------------------------------------------------------------


@cache
def kinds(n: int) -> dict[str, ib.RangeQuery]:
    """Queries of every kind that grow with n."""
    half = Fraction(n, 2)
    return {
        "count": ib.count(n),
        "total": ib.total(n, -1, 1),
        "mean": ib.mean(n, 1, 3),
        "extreme": ib.extreme(1, n + 1),
        "interval": ib.interval(0, n + 1, 1, n + 1),
        "interval, fine": ib.interval(-1, 1, "0.3", 2 * n),
        "interval with a hole": ib.interval(0, 4 * n, 2 * n, 4 * n, holes=[(n, 2 * n)]),
        "count, coarser": ib.count(n, outputs=[("-1/2", half), (half, n + 1)]),
        "count, wider": ib.count(n, outputs=ib.cells(Fraction(-1, 2) - n, Fraction(1, 2) + 2 * n, 3 * n + 1)),
        "extreme, cells apart": ib.extreme(0, n, outputs=[(-1, half), (half, n), (n + 3, n + 4)]),
        "ordinal": ib.ordinal(0, n),
        "ordinal, two to a unit": ib.ordinal(0, n, unit=2),
        "category": ib.category([f"label {k}" for k in range(n + 1)]),
    }


@cache
def entry(name: str, kind: str, n: int, epsilon: str) -> ib.Mechanism:
    """A mechanism of the catalog, made once for all tests; it is frozen."""
    return getattr(ib.catalog, name)(kinds(n)[kind], epsilon)


SQUARE = ["count", "total", "mean", "extreme", "interval", "interval, fine", "ordinal", "ordinal, two to a unit"]
NUMERIC = [kind for kind in kinds(1) if kind != "category"]
EVERY = list(kinds(1))

# --- the formulas, a second time --------------------------------------------------------------------------


@cache
def nearest_output(query, x: Fraction) -> int:
    """The cell that holds x, else the closest one; on the border between two, the upper."""
    best, least = 0, None
    for i, (low, high, _) in enumerate(query.outputs):
        distance = max(low - x, x - high, Fraction(0))
        if least is None or distance <= least:
            best, least = i, distance
    return best


def rate(query, epsilon: float) -> float:
    return epsilon * float(query.answers.unit / query.sensitivity)


def truncated_geometric(query, epsilon):
    """Grid noise d with probability (1-b)/(1+b)·b^|d|, each position reported as its nearest output."""
    b, unit = math.exp(-rate(query, epsilon)), query.answers.unit
    first, last = query.outputs.lowers[0], query.outputs.uppers[-1]
    reach_low = math.floor((first - query.answers[0]) / unit) - 1
    reach_high = math.ceil((last - query.answers[0]) / unit) + 1
    homes = {t: nearest_output(query, query.answers[0] + unit * t) for t in range(reach_low, reach_high + 1)}
    matrix = np.zeros(query.shape)
    centre = -math.expm1(-rate(query, epsilon)) / (1 + b)
    for j, answer in enumerate(query.answers):
        at = int((answer - query.answers[0]) / unit)
        for t, i in homes.items():
            matrix[i, j] += centre * b ** abs(t - at)
        matrix[0, j] += b ** (at - reach_low + 1) / (1 + b)  # everything further out
        matrix[-1, j] += b ** (reach_high + 1 - at) / (1 + b)
    return matrix


def folded_geometric(query, epsilon):
    """Grid noise, positions outside the range reflected at half a step beyond its ends, again and again."""
    r, size = rate(query, epsilon), len(query.answers)
    b = math.exp(-r)
    far = min(int(45 / r) + 1, 10**6)
    noise = np.arange(-far, far + 1)
    chance = -math.expm1(-r) / (1 + b) * np.exp(-r * np.abs(noise))
    matrix = np.zeros((size, size))
    for j in range(size):
        folded = (j + noise) % (2 * size)
        folded = np.where(folded < size, folded, 2 * size - 1 - folded)
        matrix[:, j] = np.bincount(folded, weights=chance, minlength=size)
    return matrix


def explicit_fair(query, epsilon):
    """003 (16), with the diagonal from the closed forms for even and odd n."""
    a, n = math.exp(-rate(query, epsilon)), len(query.answers) - 1
    if n % 2 == 0:
        y = 1 / (1 + 2 * sum(a**k for k in range(1, n // 2 + 1)))
    else:
        y = 1 / (1 + 2 * sum(a**k for k in range(1, (n - 1) // 2 + 1)) + a ** ((n + 1) // 2))
    matrix = np.zeros((n + 1, n + 1))
    for i in range(n + 1):
        for j in range(n + 1):
            d, m = abs(i - j), min(j, n - j)
            matrix[i, j] = y * a ** (d if d <= m else math.ceil((d + m) / 2))
    return matrix


def uniform(query, epsilon):
    return np.full(query.shape, 1 / query.shape[0])


def closest(query) -> float:
    """Distance of the closest two answers in units of what epsilon pays for."""
    if not isinstance(query.neighbours, ib.Metric):
        return 1.0
    gaps = [b - a for a, b in pairwise(query.answers)]
    return float(min(gaps) / query.neighbours.unit)


def randomized_response(query, epsilon):
    e = math.exp(epsilon * closest(query))
    matrix = np.full(query.shape, 1 / (query.shape[0] - 1 + e))
    for j, answer in enumerate(query.answers):
        matrix[nearest_output(query, answer), j] = e / (query.shape[0] - 1 + e)
    return matrix


def exponential(query, epsilon):
    values, matrix = [float(value) for _, _, value in query.outputs], np.zeros(query.shape)
    for j, answer in enumerate(map(float, query.answers)):
        for i, value in enumerate(values):
            error = abs(value - answer) / float(query.sensitivity) if query.is_ordered else float(i != j)
            matrix[i, j] = math.exp(-epsilon * error / 2)
        matrix[:, j] /= matrix[:, j].sum()
    return matrix


@cache
def edges_of(query) -> list[float]:
    """Where the nearest output changes, from minus to plus infinity."""
    middles = [(query.outputs[i][1] + query.outputs[i + 1][0]) / 2 for i in range(len(query.outputs) - 1)]
    return [-math.inf, *map(float, middles), math.inf]


def snapped_laplace(query, epsilon):
    scale = float(query.sensitivity) / epsilon
    columns = [np.diff(laplace.cdf(edges_of(query), loc=float(a), scale=scale)) for a in query.answers]
    return np.array(columns).T


def staircase_mass(low: float, high: float, epsilon: float, gamma: float) -> float:
    """Mass of the staircase density between two points, in units of the sensitivity, step by step."""
    if low < 0 < high:
        return staircase_mass(0, -low, epsilon, gamma) + staircase_mass(0, high, epsilon, gamma)
    low, high = sorted((abs(low), abs(high)))
    a = math.exp(-epsilon)
    y = -math.expm1(-epsilon) / (2 * (gamma + a * (1 - gamma)))
    mass, k = 0.0, math.floor(low)
    if high == math.inf:  # the steps repeat with factor a: all mass from k on is a^k / 2
        return a**k / 2 - (staircase_mass(k, low, epsilon, gamma) if low > k else 0.0)
    while k < high:
        for start, stop, density in ((k, k + gamma, y * a**k), (k + gamma, k + 1, y * a ** (k + 1))):
            mass += density * max(0.0, min(high, stop) - max(low, start))
        k += 1
    return mass


def snapped_staircase(query, epsilon, gamma=None):
    gamma = 1 / (1 + math.exp(epsilon / 2)) if gamma is None else gamma
    edges, unit = edges_of(query), float(query.sensitivity)
    matrix = np.zeros(query.shape)
    for j, answer in enumerate(map(float, query.answers)):
        for i in range(len(query.outputs)):
            low, high = (edges[i] - answer) / unit, (edges[i + 1] - answer) / unit
            matrix[i, j] = staircase_mass(low, high, epsilon, gamma)
    return matrix


def cut_laplace(query, scale, unbounded=None):
    """Laplace density kept on the output cells, then normalized."""
    lows = [float(low) for low, _, _ in query.outputs]
    highs = [float(high) for _, high, _ in query.outputs]
    if unbounded == "below":
        lows[0] = -math.inf
    if unbounded == "above":
        highs[-1] = math.inf
    columns = []
    for answer in map(float, query.answers):
        # on each side of the answer the masses come from that side's tail, so that small ones keep accuracy
        left = laplace.cdf(highs, answer, scale) - laplace.cdf(lows, answer, scale)
        right = laplace.sf(lows, answer, scale) - laplace.sf(highs, answer, scale)
        mass = np.where(np.array(lows) < answer, left, right)
        columns.append(mass / mass.sum())
    return np.array(columns).T


FORMULAS = {
    "truncated_geometric": (truncated_geometric, NUMERIC),
    "folded_geometric": (folded_geometric, SQUARE),
    "explicit_fair": (explicit_fair, SQUARE),
    "uniform": (uniform, EVERY),
    "randomized_response": (randomized_response, EVERY),
    "exponential": (exponential, EVERY),
    "snapped_laplace": (snapped_laplace, NUMERIC),
    "snapped_staircase": (snapped_staircase, [k for k in NUMERIC if k != "ordinal, two to a unit"]),
}
SCALED = {"normalized_laplace": NUMERIC}
NEED_MORE = {
    "prerounded_geometric",
    "snapped_noise",
    "scaled_laplace",
    "threshold",
}  # with tests of their own
DESIGNED = {"variant_1", "variant_2", "weakly_honest"}
REFUTED = {"refuted_half_line"}
REFINED = {"FineLaplace", "fine_laplace"}  # its nodes are a mechanism: tests/catalog/test_fine_outputs.py
ON_GRAPHS = {"metric_geometric", "planar_laplace"}  # tests/graphs/test_graph_catalog.py

ACCEPTED = [(name, kind) for name, (_, accepted) in FORMULAS.items() for kind in accepted]
ACCEPTED += [(name, kind) for name, accepted in SCALED.items() for kind in accepted]
REFUSED = [
    (name, kind)
    for name, accepted in {**{k: v for k, (_, v) in FORMULAS.items()}, **SCALED}.items()
    for kind in EVERY
    if kind not in accepted
]


def test_every_entry_of_the_catalog_has_a_row_here():
    assert set(ib.catalog.__all__) - DESIGNED == set(FORMULAS) | set(SCALED) | NEED_MORE | REFUTED | REFINED | ON_GRAPHS


def contract(made, epsilon, kind, name):
    """What every entry of the catalog owes its user."""
    assert isinstance(made, ib.Mechanism)
    assert made.weights.dtype == np.int64
    assert (made.weights >= 0).all()
    assert made.weights.sum(axis=0, dtype=object).tolist() == [TOTAL] * made.weights.shape[1]
    assert made.tight_epsilon() <= float(Fraction(epsilon))
    assert made.epsilon == Fraction(epsilon)
    assert made.origin.name == name
    assert made.origin.reference
    assert made.query.shape == made.weights.shape


# --- certified, and what the formula says -----------------------------------------------------------------


QUICK = ["count", "category"]


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_an_entry_is_certified_and_equals_its_formula(name, kind):
    """Total variation to the formula's float values below 1e-12, for every epsilon."""
    for n in SMALL:
        for epsilon in EPSILONS:
            equals_its_formula(name, kind, n, epsilon)
    if kind in QUICK:
        equals_its_formula(name, kind, 20, "0.5")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_a_large_entry_is_certified_and_equals_its_formula(name, kind):
    for n in LARGE:
        for epsilon in EPSILONS:
            equals_its_formula(name, kind, n, epsilon)


def equals_its_formula(name, kind, n, epsilon):
    query = kinds(n)[kind]
    made = entry(name, kind, n, epsilon)
    contract(made, epsilon, kind, name)
    if name in FORMULAS:
        expected = FORMULAS[name][0](query, float(epsilon))
    else:
        expected = cut_laplace(query, float(made.origin.parameters["scale"]))
    assert np.abs(expected.sum(axis=0) - 1).max() < 1e-11
    variation = np.abs(made.matrix - expected / expected.sum(axis=0)).sum(axis=0).max() / 2
    assert variation < 1e-12, (n, epsilon, variation)


@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_an_entry_keeps_its_promise_by_the_definition(judge, name, kind):
    for n in (1, 2, 5):
        for epsilon in EPSILONS:
            assert judge.certifies(entry(name, kind, n, epsilon)), (n, epsilon)


@pytest.mark.parametrize(("name", "kind"), REFUSED)
def test_an_entry_refuses_the_kinds_it_has_no_meaning_for(name, kind):
    query = kinds(5)[kind]
    if not query.is_ordered:
        about = "numeric"
    elif name == "snapped_staircase":
        about = "metric"
    else:
        about = "gaps"
    with rejects(ValueError, name, about=about) as caught:
        getattr(ib.catalog, name)(query, 1)
    assert "\n" not in str(caught.value)


# --- tightness --------------------------------------------------------------------------------------------

# Where theory says that the whole epsilon is spent, and for which n from 1 on. The reasons:
#   truncated_geometric   row 0 is b^j/(1+b): exactly b per step, hence exp(-epsilon) per sensitivity, as soon as
#                         two answers one sensitivity apart lie on the same side of a border.
#   explicit_fair         entries next to the diagonal differ by one power of b per step until the exponents
#                         slow down to one power in two steps: answers one sensitivity apart must lie at most
#                         half the range from an end, which Everyone() never gives.
#   randomized_response   truth against untruth is exp(epsilon) for the closest neighbours.
#   normalized_laplace    the scale is the smallest private one.
#   snapped_laplace       a cell on the far side of both answers; needs one beyond the sensitivity.
#   snapped_staircase     the same; steps repeat with factor exp(-epsilon) after one sensitivity.
#   folded_geometric, exponential, uniform: not tight: reflections, the normalizer, everything.
REACH = [k for k in SQUARE if k != "extreme"]
TIGHT = {
    "truncated_geometric": dict.fromkeys([k for k in NUMERIC if k != "extreme, cells apart"], 1),
    "explicit_fair": {"count": 1, "total": 2, "mean": 2, "interval": 1, "ordinal": 1, "ordinal, two to a unit": 1},
    "randomized_response": dict.fromkeys(EVERY, 1),
    "normalized_laplace": dict.fromkeys(NUMERIC, 1),
    "snapped_laplace": dict.fromkeys([k for k in REACH if k != "interval, fine"], 2),
    "snapped_staircase": {"count": 2, "total": 2, "mean": 2, "interval": 2, "ordinal": 2},
}


@pytest.mark.parametrize(
    ("name", "kind", "least"), [(name, kind, n) for name, row in TIGHT.items() for kind, n in row.items()]
)
def test_an_entry_spends_its_whole_epsilon_where_theory_says_so(name, kind, least):
    for n in SMALL:
        if n < least:
            continue
        for epsilon in EPSILONS:
            made = entry(name, kind, n, epsilon)
            assert float(epsilon) - made.tight_epsilon() < 1e-9, (n, epsilon)


@pytest.mark.parametrize("name", ["exponential", "folded_geometric", "uniform"])
def test_the_others_leave_some_of_epsilon_unspent(name):
    for epsilon in EPSILONS:
        made = getattr(ib.catalog, name)(kinds(2)["count"], epsilon)
        assert float(epsilon) - made.tight_epsilon() > 1e-6


# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, 0.1, "1/3", 0.5, 0.9, 1])
@pytest.mark.parametrize("kind", ["count", "mean", "extreme", "count, wider"])
def test_a_given_step_width_of_the_staircase_is_used(gamma, kind):
    query = kinds(5)[kind]
    made = ib.catalog.snapped_staircase(query, 1, gamma)
    expected = snapped_staircase(query, 1.0, float(Fraction(gamma)))
    assert np.abs(made.matrix - expected).sum(axis=0).max() / 2 < 1e-12


def test_the_default_step_width_loses_least_on_a_fine_grid():
    """Geng and Viswanath: gamma = 1/(1 + exp(epsilon/2)) minimizes the expected error."""
    query = ib.interval(0, 10, 1, 100)
    losses = {g: ib.catalog.snapped_staircase(query, 2, g).loss_per_answer()[50] for g in (0.1, 0.2, 0.35, 0.5)}
    best = ib.catalog.snapped_staircase(query, 2).loss_per_answer()[50]
    assert all(best < loss + 1e-3 for loss in losses.values())


@pytest.mark.parametrize("gamma", [-0.1, 1.1])
def test_a_step_width_outside_zero_to_one_is_refused(gamma):
    with rejects(ValueError, "gamma", about=str(gamma)):
        ib.catalog.snapped_staircase(ib.count(3), 1, gamma)


@pytest.mark.parametrize("gamma", [0, "1/10", "1/4", "1/2", "9/10", 1])
@pytest.mark.parametrize("epsilon", ["1/2", 1, 3])
def test_a_staircase_under_metric_privacy_is_its_formula_or_an_error(gamma, epsilon):
    """Its steps are not metric-private between grid points closer than the unit: never something else silently."""
    query = ib.ordinal(0, 12, unit=3)
    expected = snapped_staircase(query, float(Fraction(epsilon)), float(Fraction(gamma)))
    try:
        made = ib.catalog.snapped_staircase(query, epsilon, gamma)
    except (ib.PrivacyViolation, ValueError):
        assert ib.audit(expected, query).epsilon > float(Fraction(epsilon))
        return
    assert np.abs(made.matrix - expected).sum(axis=0).max() / 2 < 1e-12


@pytest.mark.parametrize("unbounded", [None, "above", "below"])
@pytest.mark.parametrize("kind", ["count", "mean", "interval, fine", "interval with a hole", "count, wider"])
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_the_normalized_laplace_uses_the_smallest_private_scale(kind, unbounded, epsilon):
    query = kinds(5)[kind]
    made = ib.catalog.normalized_laplace(query, epsilon, unbounded=unbounded)
    scale = float(made.origin.parameters["scale"])
    assert np.abs(made.matrix - cut_laplace(query, scale, unbounded)).sum(axis=0).max() / 2 < 1e-12
    assert ib.audit(cut_laplace(query, scale, unbounded), query).epsilon == pytest.approx(epsilon, abs=1e-9)
    assert ib.audit(cut_laplace(query, scale * (1 - 1e-6), unbounded), query).epsilon > epsilon


def test_an_unknown_notion_or_side_is_refused(golden):
    def normalize(options):
        ib.catalog.normalized_laplace(ib.count(3), 1, **options)

    golden.errors(
        "wrong_laplaces",
        [
            lambda: normalize({"notion": "both"}),
            lambda: normalize({"unbounded": "left"}),
        ],
    )


# --- pre-rounding -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", SMALL)
@pytest.mark.parametrize("kind", ["count", "total", "mean", "extreme", "interval, fine", "interval with a hole"])
def test_prerounding_puts_geometric_noise_between_wide_cells(judge, kind, n, epsilon):
    query = kinds(n)[kind]
    low, high = query.answers[0] - query.answers.unit, query.answers[-1] + query.answers.unit
    count = max(2, math.floor((high - low) / max(query.sensitivity, (high - low) / 2)))
    width = (high - low) / count
    edges = [low + k * width for k in range(count + 1)]
    made = ib.catalog.prerounded_geometric(query, epsilon, edges)
    contract(made, epsilon, kind, "prerounded_geometric")
    b = math.exp(-float(epsilon))
    expected = np.zeros((count, len(query.answers)))
    for j, answer in enumerate(query.answers):
        home = min(math.floor((answer - low) / width), count - 1)
        for i in range(count):
            inside = (1 - b) / (1 + b) * b ** abs(i - home)
            expected[i, j] = b ** abs(i - home) / (1 + b) if i in (0, count - 1) else inside
    assert np.abs(made.matrix - expected).sum(axis=0).max() / 2 < 1e-12
    assert made.query.output_values.tolist() == [float(low + (k + Fraction(1, 2)) * width) for k in range(count)]
    if n <= 5:
        assert judge.certifies(made)


def test_prerounding_reports_the_values_it_is_given():
    made = ib.catalog.prerounded_geometric(ib.count(9), 1, [0, 3, 6, 10], values=[1, 4, 8])
    assert made.query.output_values.tolist() == [1, 4, 8]


def test_prerounding_refuses_cells_that_do_not_fit(golden):
    def preround(query, edges, values):
        ib.catalog.prerounded_geometric(query, 1, edges, values)

    golden.errors(
        "wrong_cells",
        [
            lambda: preround(ib.total(5, 0, 3), [0, 1, 2, 16], None),
            lambda: preround(ib.extreme(0, 5), [0, 2, 4, 6], None),
            lambda: preround(ib.count(5), [0, 6], None),
            lambda: preround(ib.count(5), [0, 3, 6], [1]),
            lambda: preround(ib.count(5), [0, 3, 4], None),
            lambda: preround(ib.count(5), [3, 0, 6], None),
            lambda: preround(ib.count(5), [0, 3, 6], [4, 5]),
            lambda: preround(ib.ordinal(0, 5), [0, 3, 6], None),
            lambda: preround(ib.category(["a", "b"]), [0, 1, 2], None),
        ],
    )


# --- odd neighbourhoods -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FORMULAS, *SCALED])
def test_answers_too_far_apart_to_be_neighbours_are_served_or_refused_with_a_reason(name):
    """Four cells with a hole wider than the reach in the middle: each half is protected by itself."""
    query = ib.interval(0, 10, 1, 10, holes=[(2, 8)])
    assert query.cuts == (1,)
    try:
        made = getattr(ib.catalog, name)(query, 1)
    except ValueError as reason:
        assert str(reason).startswith(f"{name} needs ")  # noqa: PT017
    else:
        assert made.tight_epsilon() <= 1


@pytest.mark.parametrize("size", [5, 5000])
def test_a_privacy_loss_too_small_for_whole_numbers_is_served_or_refused_with_a_reason(size):
    """exp(epsilon·distance) that rounds down to one leaves only constant rows."""
    query = ib.ordinal(0, size, unit="1e39")
    try:
        made = ib.catalog.truncated_geometric(query, "1/2")
    except (ValueError, ib.InboundsError) as reason:
        assert str(reason)  # noqa: PT017
    else:
        assert (made.weights == made.weights[:, :1]).all()


@pytest.mark.long
def test_the_registry_holds_every_mechanism_of_the_catalog_under_its_own_name():
    """What is public in the catalog and what can be looked up by name are the same."""
    assert set(REGISTRY) == set(ib.catalog.__all__) - REFUTED - REFINED
    line, plane = ib.count(10**4), ib.grid(65, 65)
    for name, row in REGISTRY.items():
        assert getattr(ib.catalog, name) is row.make
        asked = inspect.signature(row.make).parameters.values()
        assert bool(row.needs) == (sum(p.default is p.empty for p in asked) > 2 or name == "scaled_laplace")
        assert row.takes_loss == ("loss" in inspect.signature(row.make).parameters)
        if row.compact:
            large = plane if name in ON_GRAPHS else line
            assert row.make(large, 1).query.shape == (len(large.answers),) * 2

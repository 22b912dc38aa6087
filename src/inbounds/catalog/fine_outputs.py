"""Truncated and normalized Laplace noise on a grid as fine as one likes (002), certified on the answers' own grid.

Between two nodes h apart, with every answer at a node, the density exp(-|x - f|/s) is d0·H(x) + d1·H(h - x): d0 and d1
its values at the nodes and H(x) = sinh((h - x)/s)/sinh(h/s). Neither H depends on the answer. So the mechanism draws a
node k with weight exp(-|x_k - f|/s), half at the ends of a span, and moves the output by an amount that no answer
enters. The density's largest ratio between two answers lies at a node, so the certificate of the nodes is tight.

H on both sides of a node is a hat, and a hat is three hats of half its width: c, 1 and c of them at -h/2, 0 and h/2,
c = 1/(2·cosh(h/(2s))). So the move is a sum of steps -1, 0 or 1, halved at every level; at the end of a span it is
turned inwards.

Where a span is endless the last node also has the density beyond it, exp(-y/s) at distance y for every answer: it is
1/tanh(h/(2s)) times what the node has inside. The binary digits of y are independent: the digit of size z is 1 with
the chance 1/(1 + exp(z/s)).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inbounds.catalog._grid import catchments, dense, numeric
from inbounds.catalog.laplace import NORMALIZED
from inbounds.catalog.scales import NOTIONS, Notion, find_scale, smallest_scale
from inbounds.errors import TooLarge, check_kind
from inbounds.exact import Floats, Ints, Number, to_epsilon, to_fraction, to_int
from inbounds.losses import Prior, to_prior
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.mechanism.audit import find_worst_ratio
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import OutputCells, RangeQuery, check_query, with_outputs
from inbounds.query.outputs import parse_bounds
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS
from inbounds.trusted.samplers import Draws, draw_steps, seeded_entropy, system_entropy
from inbounds.trusted.scale import Scale

DEEPEST = 256
"""Halvings of the distance between two nodes: a double of any size needs no more."""

Spans = Sequence[tuple[Number, Number]]


@dataclass(frozen=True)
class FineLaplace:
    """A certified mechanism on nodes, whose outputs are moved off them by amounts that no true answer enters.

    nodes: the mechanism that sees the answer. scale: that of the Laplace noise. levels: how often the distance of two
    nodes is halved. endless: whether the first span has no lower end, and the last no upper end. *Guarantee:* that of
    `nodes`, whatever the other fields are, by post-processing.
    """

    nodes: Mechanism
    scale: float
    levels: int
    endless: tuple[bool, bool] = (False, False)

    def __post_init__(self) -> None:
        check_kind(self.nodes, Mechanism, "nodes", "a mechanism such as ib.catalog.fine_laplace(query, 1).nodes")
        if not 0 < self.scale < math.inf:
            raise ValueError(f"scale must be above 0, got {self.scale}")
        if not 0 <= to_int(self.levels, "levels", 0) <= DEEPEST:
            raise ValueError(f"levels must be at most {DEEPEST}, got {self.levels}")
        if not self._inwards.any():
            raise ValueError("nodes must be outputs whose first and last cells begin and end at their values")
        if type(self.endless) is not tuple or [*map(type, self.endless)] != [bool, bool]:
            raise TypeError(f"endless must be two of True and False, got {self.endless!r}")

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that the nodes are certified for."""
        return self.nodes.epsilon

    @property
    def step(self) -> Fraction:
        """The distance of two neighbouring outputs."""
        return self._grid.unit / (1 << self.levels)

    @cached_property
    def step_weights(self) -> tuple[int, ...]:
        """The weight over 2**62 of a step up at each level, and of a step down; that of staying is what remains.

        c/(1 + 2c) = (1 - tanh²(t/2))/4 with t = h/(2s) at the first level, halved at every further one.
        """
        widths = [float(self._grid.unit) / self.scale / 2**level for level in range(2, self.levels + 2)]
        return tuple(TOTAL // 4 - round((TOTAL // 4) * math.tanh(width) ** 2) for width in widths)

    @cached_property
    def inside_weight(self) -> int:
        """The weight over 2**62 with which the last node before an endless range moves inwards, not beyond."""
        inside = math.tanh(float(self._grid.unit) / (2 * self.scale))
        return round(TOTAL * (inside / (1 + inside)))

    @cached_property
    def digit_weights(self) -> tuple[int, ...]:
        """The weights over 2**62 of the binary digits of the distance beyond the last node, from one step upwards.

        The digits end where the next one would have a weight below one half.
        """
        if not any(self.endless):
            return ()
        widths = math.log2(TOTAL_BITS * math.log(2) * self.scale) - math.log2(float(self._grid.unit))
        count = max(1, self.levels + math.ceil(widths) + 1)
        sizes = [float(self._grid.unit) / self.scale * 2.0 ** (k - self.levels) for k in range(count)]
        return tuple(TOTAL // 2 - round((TOTAL // 2) * math.tanh(size / 2)) for size in sizes)

    def sample(self, values: Any, *, clip: bool = False) -> Any:
        """Draw private outputs with operating-system entropy, as the nearest floats. A scalar gives a scalar.

        values, clip: as for `Mechanism.sample`. Each output takes 8·(levels + 1) bytes of entropy.
        """
        return self._as_floats(self._draw(values, system_entropy, clip=clip))

    def sample_exact(self, values: Any, *, clip: bool = False) -> Any:
        """Draw as `sample`; the outputs are Fractions."""
        return self._reports(self._draw(values, system_entropy, clip=clip)).tolist()

    def simulate(self, values: Any, rng: np.random.Generator) -> Any:
        """Draw outputs as `sample`, from a seeded generator: for studies and tests, never for a release."""
        return self._as_floats(self._draw(values, seeded_entropy(rng)))

    def loss_per_answer(self, loss: Literal["absolute", "squared"] = "absolute") -> Floats:
        """Return the expected error, or squared error, of a report under every answer; cost: nodes · answers.

        A move never passes a node, so it changes no absolute error on average but at the answer itself, and at the ends
        of spans, where it is turned inwards.
        """
        if loss not in ("absolute", "squared"):
            raise ValueError(f"loss must be 'absolute' or 'squared', got {loss!r}")
        query, (size, square) = self.nodes.query.as_range_query, self._move_moments
        apart, inwards = catchments(query, self._grid.floats()), self._inwards[:, None]
        costs = _cost_of_moves(loss, apart, inwards, size, square)
        if any(self.endless):
            inside, (size, square) = self.inside_weight / TOTAL, self._tail_moments
            beyond = _cost_of_moves(loss, apart, -inwards, size, square)
            costs = np.where(self._is_last[:, None], inside * costs + (1 - inside) * beyond, costs)
        return np.asarray((self.nodes.matrix * costs).sum(axis=0))

    def loss(self, loss: Literal["absolute", "squared"] = "absolute", prior: Prior = None) -> float:
        """Return the expected error, or squared error, under a prior of the answers; uniform by default."""
        return float(self.loss_per_answer(loss) @ to_prior(prior, self.nodes.query.as_range_query))

    @cached_property
    def _move_moments(self) -> tuple[float, float]:
        """The mean size of a move and its mean square.

        A level doubles a move and adds a step. That changes the size on average only where the move was 0 before, and
        0 remains only where every step was 0.
        """
        unit, still = self._grid.unit, Fraction(1)
        size = square = Fraction(0)
        for level, weight in enumerate(self.step_weights, start=1):
            step, chance = unit / (1 << level), Fraction(2 * weight, TOTAL)
            size, square, still = size + still * chance * step, square + chance * step**2, still * (1 - chance)
        return float(size), float(square)

    @cached_property
    def _tail_moments(self) -> tuple[float, float]:
        """The mean and the mean square of the distance beyond the last node, its digits being independent."""
        digits = [(self.step * (1 << k), Fraction(weight, TOTAL)) for k, weight in enumerate(self.digit_weights)]
        digits.append(digits[0])  # the extra step of `_draw_beyond`
        mean = sum((size * chance for size, chance in digits), Fraction(0))
        spread = sum((size**2 * chance * (1 - chance) for size, chance in digits), Fraction(0))
        return float(mean), float(spread + mean**2)

    def probabilities(self, answer: Number) -> dict[Fraction, Fraction]:
        """Return the exact chance of every possible output under one answer. Cost: nodes · 2^levels.

        Raises `ValueError` beyond 16 levels.
        """
        if any(self.endless):
            raise ValueError("endless must be False on both sides to list all outputs")
        if self.levels > 16:
            raise ValueError(f"levels must be at most 16 to list all outputs, got {self.levels}")
        column = self.nodes.query.as_range_query.encode(to_fraction(answer, "answer"))
        law: dict[int, Fraction] = {}
        for node, weight in enumerate(self.nodes.weights[:, int(column)].tolist()):
            for move, chance in self._moves.items():
                place = int(self._place(np.array([node]), np.array([move]), None)[0])
                law[place] = law.get(place, Fraction(0)) + Fraction(weight, TOTAL) * chance
        return {self._grid.start + place * self.step: law[place] for place in sorted(law)}

    @cached_property
    def _moves(self) -> dict[int, Fraction]:
        """The exact chance of every move, in steps."""
        moves = {0: Fraction(1)}
        for weight in self.step_weights:
            finer: dict[int, Fraction] = {}
            for move, chance in moves.items():
                for turn, share in ((-1, weight), (0, TOTAL - 2 * weight), (1, weight)):
                    finer[2 * move + turn] = finer.get(2 * move + turn, Fraction(0)) + chance * Fraction(share, TOTAL)
            moves = finer
        return moves

    def _draw(self, values: Any, draws: Draws, *, clip: bool = False) -> NDArray[Any]:
        """Draw outputs as whole numbers of steps from the first node."""
        query = self.nodes.query.as_range_query
        nodes = self.nodes.draw(query.encode(values, clip=clip), draws)
        moves = draw_steps(self.step_weights, nodes.size, draws)
        total = np.zeros(nodes.size, dtype=self._whole)
        for turn in moves:
            total = 2 * total + turn
        beyond = self._draw_beyond(nodes.size, draws) if any(self.endless) else None
        return self._place(nodes.ravel(), total, beyond).reshape(nodes.shape)

    def _draw_beyond(self, count: int, draws: Draws) -> NDArray[Any]:
        """Draw how many steps an output goes beyond a last node; -1 where it moves inwards instead.

        Half of the density at the last node belongs to what is beyond it. So the distance is a geometric number of
        steps, and one step more with the chance that its last digit is 1.
        """
        weights = (self.inside_weight, self.digit_weights[0], *self.digit_weights)
        inside, more, *digits = draw_steps(weights, count, draws)
        total = (more == 1).astype(self._whole)
        for k, digit in enumerate(digits):
            total = total + (digit == 1).astype(self._whole) * (1 << k)
        return np.asarray(np.where(inside == 1, -1, total))

    def _place(self, nodes: Ints, moves: NDArray[Any], beyond: NDArray[Any] | None) -> NDArray[Any]:
        """Return lists of nodes plus moves in steps; at the ends of a span the move is turned inwards.

        beyond: at the last nodes before an endless range, the steps outwards, unless negative.
        """
        inwards = self._inwards[nodes]
        turned = np.where(inwards == 0, moves, inwards * abs(moves))
        if beyond is not None:
            turned = np.where(self._is_last[nodes] & (beyond >= 0), -inwards * beyond, turned)
        return np.asarray(self._ticks[nodes].astype(self._whole) * (1 << self.levels) + turned)

    @property
    def _whole(self) -> type[Any]:
        """The type that holds every output in steps: int64, or Python's whole numbers if that is too short."""
        longest = max(int(self._grid.ticks[-1]).bit_length() + self.levels, len(self.digit_weights))
        return np.int64 if longest + 2 < TOTAL_BITS else object

    def _reports(self, places: NDArray[Any]) -> NDArray[Any]:
        """Return outputs, counted in steps from the first node, as Fractions."""
        start, step, reports = self._grid.start, self.step, np.empty(places.size, dtype=object)
        reports[:] = [start + place * step for place in places.ravel().tolist()]
        return reports.reshape(places.shape)

    def _as_floats(self, places: NDArray[Any]) -> Any:
        reports = self._reports(places).astype(np.float64)
        return reports if reports.ndim else reports.item()

    @property
    def _grid(self) -> Scale:
        return self.nodes.query.as_range_query.outputs.values

    @cached_property
    def _ticks(self) -> Ints:
        return np.array([*self._grid.ticks], dtype=np.int64)

    @cached_property
    def _inwards(self) -> Ints:
        """1 for nodes at the lower end of a span, -1 at the upper end, 0 inside."""
        rows = self.nodes.query.as_range_query.outputs
        return np.array([(value == low) - (value == high) for low, high, value in rows], dtype=np.int64)

    @cached_property
    def _is_last(self) -> NDArray[np.bool_]:
        """Whether a node is the last one before an endless range."""
        last = np.zeros(len(self._ticks), dtype=bool)
        last[[0, -1]] = self.endless
        return last


def _cost_of_moves(loss: str, apart: Floats, inwards: Ints, size: float, square: float) -> Floats:
    """Return the mean loss of a node that is moved: inwards 1 or -1 always that way, 0 either way.

    size, square: the mean size of the move and its mean square.
    """
    if loss == "absolute":
        return np.where(apart == 0, size, np.abs(apart) + np.sign(apart) * inwards * size)
    return np.asarray(apart**2 + 2 * apart * inwards * size + square)


def fine_laplace(
    query: RangeQuery,
    epsilon: Number,
    *,
    step: Number | None = None,
    spans: Spans | None = None,
    notion: Notion = "plain",
) -> FineLaplace:
    """Cut the Laplace density to spans of possible outputs and normalize it, on a grid as fine as `step` (002).

    step: the outputs are multiples of at most this from the start of the first span; by default 2^-40 of the
    sensitivity. spans: (lower, upper) in order, each longer than 0; all answers must lie in them. The first lower and
    the last upper end may be infinite. By default the cells of a query that rounds, such as `ib.interval`, without its
    holes; else the range from the first to the last answer.
    notion: as for `normalized_laplace`; the scale is the least for these answers and outputs that are real numbers.

    *Guarantee:* `result.nodes`, whose passport can be verified, is epsilon-private; what is added to its outputs
    depends on no answer. The law of an output at x is proportional to exp(-|x - answer|/scale), half at the ends of
    spans, but for the rounding of each weight to 2^-62. Cost: nodes · answers, and one draw for each halving, twice as
    many where a span is endless.

    >>> import inbounds as ib
    >>> made = ib.catalog.fine_laplace(ib.interval(0, 4, 1, cells=16), 1)
    >>> round(made.scale, 3), float(made.step) < 1e-12, 0 <= made.sample(1.5) <= 4
    (1.474, True, True)
    """
    check_query(query)
    numeric(query, "fine_laplace")
    if notion not in NOTIONS:
        raise ValueError(f"notion must be 'plain' or 'metric', got {notion!r}")
    bound, (ends, endless) = to_epsilon(epsilon), _find_spans(query, spans)
    nodes = dense(with_outputs(query, _list_nodes(query, ends)))
    finest = query.sensitivity / (1 << 40) if step is None else to_fraction(step, "step")
    if not finest > 0:
        raise ValueError(f"step must be above 0, got {step}")
    levels = max(0, math.ceil(nodes.outputs.values.unit / finest) - 1).bit_length()

    def is_private(scale: float) -> bool:
        return find_worst_ratio(_node_matrix(nodes, scale, endless), nodes).epsilon <= float(bound)

    if notion == "plain":
        scale = smallest_scale(is_private, float(query.sensitivity / bound))
    else:
        edges = [(float(low), float(high)) for low, high in ends]
        edges[0] = (-math.inf if endless[0] else edges[0][0], edges[0][1])
        edges[-1] = (edges[-1][0], math.inf if endless[1] else edges[-1][1])
        scale = find_scale(edges, query.sensitivity, bound, "metric")
    origin = Origin("fine_laplace", {"notion": notion, "scale": repr(scale)}, NORMALIZED)
    made = certify_formula(_node_matrix(nodes, scale, endless), nodes, bound, origin)
    return FineLaplace(made, scale, levels, endless)


def _find_spans(query: RangeQuery, spans: Spans | None) -> tuple[list[tuple[Fraction, Fraction]], tuple[bool, bool]]:
    """Return the spans of possible outputs, exact, and whether the first and the last are endless.

    An endless span goes on from a unit beyond the answers. Raises unless spans are in order and hold every answer.
    """
    endless = False, False
    if spans is not None:
        given = [list(span) for span in spans]
        endless = bool(given) and given[0][0] == -math.inf, bool(given) and given[-1][1] == math.inf
        unit = query.answers.unit
        if endless[0]:
            given[0][0] = min([query.answers[0], *_finite(given[0][1])]) - unit
        if endless[1]:
            given[-1][1] = max([query.answers[-1], *_finite(given[-1][0])]) + unit
        ends = [parse_bounds(*span) for span in given]
    elif query.rounds:
        ends = _join(query)
    else:
        ends = [(query.answers[0], query.answers[-1])]
    if not ends or any(before[1] >= after[0] for before, after in pairwise(ends)):
        raise ValueError("spans must be (lower, upper) pairs in order, with a hole between them")
    if not all(any(low <= answer <= high for low, high in ends) for answer in query.answers):
        raise ValueError("spans must hold every answer of the query")
    return ends, endless


def _finite(end: Number) -> list[Fraction]:
    """Return the other end of a span that is endless on one side, if it has one."""
    return [] if end in (-math.inf, math.inf) else [to_fraction(end, "span")]


def _join(query: RangeQuery) -> list[tuple[Fraction, Fraction]]:
    """Return the cells of the answers of a query that rounds, adjacent ones joined."""
    ends: list[tuple[Fraction, Fraction]] = []
    for low, high, _ in OutputCells.one_per_answer(query.answers):
        ends = [*ends[:-1], (ends[-1][0], high)] if ends and ends[-1][1] == low else [*ends, (low, high)]
    return ends


def _list_nodes(query: RangeQuery, ends: Sequence[tuple[Fraction, Fraction]]) -> OutputCells:
    """Return the nodes as outputs: the coarsest grid that holds all answers and ends, within the spans.

    The cell of a node is what is nearer to it than to the next one, and ends where its span does.
    """
    grid = Scale.from_numbers(sorted({*(end for span in ends for end in span), *query.answers}))
    unit, rows = grid.unit, []
    if sum((high - low) / unit + 1 for low, high in ends) * len(query.answers) > MATRIX_LIMIT:
        raise TooLarge("the nodes that hold all answers and ends are too many; take ends on the grid of the answers")
    for low, high in ends:
        for k in range(int((high - low) / unit) + 1):
            node = low + k * unit
            rows.append((max(low, node - unit / 2), min(high, node + unit / 2), node))
    return OutputCells.from_edges(rows)


def _node_matrix(nodes: RangeQuery, scale: float, endless: tuple[bool, bool]) -> Floats:
    """Return the chances of the nodes: exp(-|x - f|/scale), half at the ends of spans, normalized for each answer.

    A last node before an endless range also has what is beyond it.
    """
    values, inner = nodes.outputs.values.floats(), [low < value < high for low, high, value in nodes.outputs]
    sizes = np.where(inner, 1.0, 0.5)
    beyond = 0.5 / math.tanh(float(nodes.outputs.values.unit) / (2 * scale))
    sizes[[0, -1]] += np.where(endless, beyond, 0.0)
    shares = sizes[:, None] * np.exp(-np.abs(catchments(nodes, values)) / scale)
    return np.asarray(shares / shares.sum(axis=0))

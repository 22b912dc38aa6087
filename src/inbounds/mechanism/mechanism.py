"""The class `Mechanism`: probabilities that passed the privacy check, which runs whenever an object is made.

`certify` and `certify_formula` round a float matrix to integers and make a mechanism of it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, cast

import numpy as np
from numpy.typing import ArrayLike

from inbounds.errors import DeltaViolation, InvalidDistribution, PrivacyViolation, TooLarge, check_kind
from inbounds.exact import Floats, Ints, Number, format_decimal, round_up_to_float, to_epsilon, to_fraction
from inbounds.losses import LossLike, Prior, to_prior
from inbounds.mechanism import bayes, measures, passport
from inbounds.mechanism.audit import COLUMN_SLACK, audit, transpose_hint
from inbounds.mechanism.channel import Channel
from inbounds.mechanism.exact_measures import ExactMeasures
from inbounds.mechanism.expected_channel import expected_channel, joint_channel
from inbounds.mechanism.laws import LAWS, ApproximateMatrix, JointLaw, Matrix
from inbounds.mechanism.laws.base import AnswerLaw, DrawFunction, Law, RecordsLaw, freeze_weights
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.origin import Optimality, Origin
from inbounds.mechanism.rounding import round_on_graph, round_on_line, round_symmetric
from inbounds.optional import to_pandas_frame, to_polars_frame
from inbounds.properties import list_meaningful, measure_properties
from inbounds.query import JointQuantileQuery, QuantileQuery, Query, RangeQuery, check_query
from inbounds.query.places import take_places
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS
from inbounds.trusted.inputs import read_array
from inbounds.trusted.positions import is_text_array
from inbounds.trusted.samplers import (
    Draws,
    Sampler,
    draw_output,
    draw_outputs,
    seeded_entropy,
    system_entropy,
)

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure
    from typing_extensions import TypeVar

    Q = TypeVar("Q", bound=Query, default=RangeQuery, covariant=True)
    L = TypeVar("L", bound=Law[Any], default=AnswerLaw, covariant=True)
else:
    from typing import TypeVar

    Q = TypeVar("Q", covariant=True)
    L = TypeVar("L", covariant=True)

PROPERTY_UNITS = 1 << (TOTAL_BITS - 40)
"""A property counts as held if it is violated by at most 2**-40 of probability; see `PropertyCheck.exact`."""

SYMMETRY_SLACK = 1e-13
"""A matrix whose entries differ from its mirror image by at most this is rounded to an exactly symmetric one."""

ROUNDING = 1e-12
"""The relative error of a tight epsilon in floats, which is rounded up."""

TOLERANCE = 1e-5
"""How much probability rounding may move under any answer before a float matrix counts as not private."""


@dataclass(frozen=True)
class PropertyCheck:
    """How well a structural property holds: its largest violation in units of 2**-62. True if that is negligible."""

    units: int

    @property
    def exact(self) -> bool:
        """Whether the property holds without any violation."""
        return self.units == 0

    def __bool__(self) -> bool:
        return self.units <= PROPERTY_UNITS

    @property
    def verdict(self) -> str:
        """The word "yes", "almost" or "no"."""
        return "yes" if self.exact else "almost" if self else "no"

    def __str__(self) -> str:
        if self.exact:
            return "exactly"
        return f"within {self.units} units of 2^-62" if self else "no"

    def __repr__(self) -> str:
        """Return `<yes, exactly>`, `<almost, within 5 units of 2^-62>`, or `<no, off by 0.141>`."""
        return f"<{self.verdict}, {self if self else f'off by {self.units / TOTAL:.3g}'}>"

    def _repr_html_(self) -> str:
        return f"<b>{self.verdict}</b>, {repr(self)[1:-1].partition(', ')[2]}"


@dataclass(frozen=True)
class Mechanism(Generic[Q, L]):
    """A private mechanism for `query`: a law that passed the privacy check, which runs whenever an object is made.

    Formal guarantee: for any two neighbouring inputs of the query, j and k, and every output i,
    Pr[i | j] <= exp(epsilon · distance) · Pr[i | k], checked in integers. The distance is 1 except for metric privacy.
    A law with a delta keeps Pr[S | j] <= exp(epsilon) · Pr[S | k] + delta for every set S of outputs instead.
    What neighbours are is the query's: true answers, or groups that differ in one person's records.

    law: one of `inbounds.mechanism.laws.LAWS`. A mechanism whose law depends on all records of a group (a quantile) has
    its losses and readings from `channel`, which needs a model of the records.
    """

    query: Q
    epsilon: Fraction
    law: L
    origin: Origin
    optimality: Optimality | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", to_epsilon(self.epsilon))
        law = type(self.law)  # a subclass, or an attribute of the instance, could replace the check
        if law not in LAWS.values() or type(self.query) is not law.query_type:
            raise TypeError("a mechanism needs a law from LAWS and a query of the type that the law serves")
        law.check(self.law, self.query, self.epsilon)

    def __init_subclass__(cls) -> None:
        raise TypeError("a Mechanism cannot be subclassed: a subclass could leave out the check")

    def __reduce__(self) -> tuple[type["Mechanism"], tuple[Any, ...]]:
        return Mechanism, (self.query, self.epsilon, self.law, self.origin, self.optimality)

    @property
    def delta(self) -> Fraction:
        """The delta of its promise, 0 for pure privacy."""
        return self.law.delta

    def __hash__(self) -> int:
        return hash((self.query, self.epsilon, self.law))

    def __repr__(self) -> str:
        query = self.query.as_range_query
        sizes = f", {self.output_count} × {len(query.answers)}" if isinstance(self.law, AnswerLaw) else ""
        delta = f", delta={format_decimal(self.delta)}" if self.delta else ""
        return f"<Mechanism {self.origin} for {self.query!r}, epsilon={format_decimal(self.epsilon)}{delta}{sizes}>"

    # --- the probabilities --------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Ints:
        """Integer weights, outputs × answers; columns sum to 2**62. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
        return freeze_weights(self.answer_law.matrix(self.query.as_range_query))

    @cached_property
    def matrix(self) -> Floats:
        """Float probabilities P[output, answer], for inspection; outputs are drawn from the integers.

        For a quantile they are those expected of groups of unknown shares; see `channel`.
        """
        if isinstance(self.law, AnswerLaw):
            return self.law.probabilities(self.query.as_range_query)
        return self.channel().matrix

    @property
    def answer_law(self) -> AnswerLaw:
        """The law, if the output depends on one true answer. Raises `TooLarge` if it depends on all records."""
        if not isinstance(self.law, AnswerLaw):
            raise TooLarge(
                "an output about a group's records has no matrix of exact weights: it depends on all of them; "
                "channel() has what is expected of it"
            )
        return self.law

    @property
    def report_query(self) -> RangeQuery:
        """A query with the possible outputs: the query itself, unless outputs name sets of labels."""
        query = self.query.as_range_query
        return self.law.report_query(query) if isinstance(self.law, AnswerLaw) else query

    @property
    def output_count(self) -> int:
        """The number of possible outputs."""
        return self.law.output_count(self.query)

    def tight_epsilon(self) -> float:
        """Return the tight privacy loss of this mechanism, at most `epsilon`, rounded up to a float.

        Raises `TooLarge` for a quantile, where it is not computed, and `InvalidDistribution` if the law reveals more
        than its check allows: then the check is wrong.
        """
        tight, stated = self.law.tight_epsilon(self.query), round_up_to_float(self.epsilon)
        if tight > stated * (1 + ROUNDING):
            raise InvalidDistribution(
                f"this law reveals more than its check allows: epsilon {tight:.9g}, not {stated:.9g}"
            )
        return min(tight, stated)

    def properties(self) -> dict[str, PropertyCheck]:
        """Return for every structural property how well it holds, in units of 2**-62."""
        query = self.query.as_range_query
        weights, layout = self.answer_law.property_weights(query)
        names = [n for n in list_meaningful(ordered=query.is_ordered) if n != "symmetric" or layout.mirrors]
        units = measure_properties(weights, layout, TOTAL, names, outputs=len(query.outputs))
        return {name: PropertyCheck(units[name]) for name in names}

    # --- outputs ------------------------------------------------------------------------------------------

    def sample(self, values: Any, *, clip: bool = False) -> Any:
        """Draw private outputs with operating-system entropy. A scalar gives a scalar.

        values: true answers; for quantiles the records of one group, which give one output. clip: move numbers outside
        the query's range to its nearer end. Clipping never increases the distance of two answers, so the guarantee is
        the same. Raises `ValueError` for an answer outside the range otherwise.
        """
        if type(values) is int and isinstance(self.law, AnswerLaw):
            position = self.query.as_range_query.encode_int(values, clip=clip)
            if position is not None:
                return self._report_one(position, system_entropy)
        return self._report(values, system_entropy, clip=clip)

    def _report_one(self, position: int, draws: Draws) -> Any:
        """Draw one output for the position of one number: what `_report` would, without arrays."""
        output = np.array(draw_output(self._sampler, position, draws))
        return self.law.decode(self.query, output).tolist()

    def simulate(self, values: Any, rng: np.random.Generator) -> Any:
        """Draw outputs as `sample`, from a seeded generator: for studies and tests, never for a release."""
        return self._report(values, seeded_entropy(rng))

    def _report(self, values: Any, draws: Draws, *, clip: bool = False) -> Any:
        inputs = self.query.encode(values, clip=clip)
        outputs, places = self.draw(inputs, draws), self.query.as_range_query.places
        if places is not None and not is_text_array(read_array(values)):  # coordinates in, coordinates out
            return take_places(places, outputs)
        reports = self.law.decode(self.query, outputs)
        is_one = outputs.ndim == 0 or isinstance(self.law, JointLaw)  # the records of one group are one output
        return np.asarray(reports).tolist() if is_one else reports

    def sample_groups(self, histograms: Any) -> Any:
        """Draw private quantiles of many groups. histograms: groups × number of records with each value.

        Several quantiles drawn together give groups × quantiles.
        """
        return self.law.decode(self.query, self.draw(self._histograms(histograms), system_entropy))

    def simulate_groups(self, histograms: Any, rng: np.random.Generator) -> Any:
        """Draw outputs as `sample_groups`, from a seeded generator: for studies and tests, never for a release."""
        return self.law.decode(self.query, self.draw(self._histograms(histograms), seeded_entropy(rng)))

    def _histograms(self, histograms: Any) -> Ints:
        if not isinstance(self.query, QuantileQuery | JointQuantileQuery):
            raise ValueError("histograms must be those of a quantile's groups; use sample for single answers")
        return self.query.check_histograms(histograms)

    def draw(self, inputs: Ints, draws: Draws) -> Ints:
        """Draw positions of outputs for encoded inputs: positions of answers, or histograms of groups."""
        return self._draw(inputs, draws)

    @cached_property
    def _draw(self) -> DrawFunction:
        if isinstance(self.law, AnswerLaw):
            return partial(draw_outputs, self._sampler)
        assert isinstance(self.law, RecordsLaw | JointLaw)
        return self.law.make_sampler(cast(Any, self.query))

    @cached_property
    def _sampler(self) -> Sampler:
        return self.answer_law.sampler(self.query.as_range_query)

    # --- usefulness: the functions of `measures` and `bayes`, as methods -----------------------------------

    def channel(self, prior: Prior = None, size: int | None = None, at: Number | None = None) -> Channel:
        """Return Pr[output | true answer] with a prior of the true answer.

        prior: a weight for each answer, uniform by default. For a quantile it is a weight for each value, and records
        are drawn independently from it; by default nothing is known: all values are equally likely to be the quantile,
        and given the quantile all histograms are equally likely. size: the number of records of the group, for a
        quantile only; by default the declared one. at: which of several quantiles that are drawn together.
        """
        if isinstance(self.law, JointLaw):
            return joint_channel(cast(JointQuantileQuery, self.query), self.law, at, prior, size)
        if at is not None:
            raise ValueError("at must be left out: only several quantiles have a channel each")
        if isinstance(self.law, RecordsLaw):
            return expected_channel(cast(QuantileQuery, self.query), self.law, prior, size)
        if size is not None:
            raise ValueError("size must be left out: only a quantile has a size")
        query = self.query.as_range_query
        return Channel(query, to_prior(prior, query), self.answer_law, make_matrix=lambda: self.matrix)

    def probabilities(self, histograms: Any) -> Floats:
        """Return Pr[output] for each group of a quantile, to float precision. histograms: as for `sample_groups`.

        For several quantiles drawn together: groups × quantiles × values.
        """
        counts = self._histograms(histograms)
        assert isinstance(self.law, RecordsLaw | JointLaw)
        return self.law.probabilities(cast(Any, self.query), counts)

    loss = measures.loss
    worst_loss = measures.worst_loss
    loss_per_answer = measures.loss_per_answer
    truth_probability = measures.truth_probability
    end_probability = measures.end_probability
    bias = measures.bias
    variance = measures.variance
    rmse = measures.rmse

    posterior = bayes.posterior
    best_guess = bayes.best_guess
    credible_set = bayes.credible_set
    remap = bayes.best_remap
    bayes_loss = bayes.bayes_loss
    interpret = bayes.interpret
    interpretations = bayes.interpret_all
    coverage = bayes.coverage
    regret = bayes.regret
    mutual_information = bayes.mutual_information
    posterior_entropy = bayes.posterior_entropy
    worst_remap = bayes.worst_remap

    def postprocess(self, remap: ArrayLike) -> "Mechanism":
        """Return the mechanism that passes its output through a remap (post-processing), certified again.

        remap: for every output the value to return instead, or a matrix R[new output, output] whose columns sum to
        one. With values the integer weights are added exactly; with a matrix the product is rounded to integers. Raises
        `TooLarge` for a quantile, whose outputs depend on all records.
        """
        self.answer_law  # noqa: B018 - raises unless outputs depend on one true answer
        query, origin = self.query.as_range_query, Origin("followed_by", {"of": str(self.origin)})
        table, outputs = np.asarray(remap), self.output_count
        if table.ndim == 1 and len(table) == outputs:
            targets = [query.output_index(value) for value in table.tolist()]
            weights = np.zeros_like(self.weights)
            np.add.at(weights, targets, self.weights)
            law = ApproximateMatrix(weights, self.delta) if self.delta else Matrix(weights)
            return Mechanism(query, self.epsilon, law, origin)
        if table.shape != (outputs, outputs) or not (table >= 0).all() or not np.allclose(table.sum(axis=0), 1):
            raise ValueError(f"remap must be {outputs} released values, or a {outputs} × {outputs} stochastic matrix")
        if self.delta:
            return certify(table @ self.matrix, query, self.epsilon, origin=origin, delta=self.delta)
        return certify_formula(table @ self.matrix, query, self.epsilon, origin)

    def symmetrize(self) -> "Mechanism":
        """Return the average of the mechanism and its mirror image, certified again (003, Theorem 1).

        It keeps each property and each loss whose table and prior equal their mirror images; the loss of the worst
        answer can only fall. Raises `ValueError` unless the query equals its mirror image.
        """
        self.answer_law  # noqa: B018 - raises unless outputs depend on one true answer
        refuse_delta(self)
        query = self.query.as_range_query
        if not query.is_ordered or not query.is_symmetric or not query.has_mirrored_neighbours:
            raise ValueError("symmetrize needs a query that equals its mirror image, such as ib.count(20)")
        mirrored = (self.matrix + self.matrix[::-1, ::-1]) / 2
        return certify_formula(
            mirrored, query, self.epsilon, Origin("symmetrized", {"of": str(self.origin)}), even=True
        )

    @property
    def exact_measures(self) -> ExactMeasures:
        """The measures as exact Fractions, such as `mechanism.exact_measures.loss("absolute")`."""
        self.answer_law  # noqa: B018 - raises unless there is a matrix of exact weights
        return ExactMeasures(cast("Mechanism", self))

    def exact_loss(self, loss: LossLike = "absolute") -> Fraction:
        """Return the expected loss under the uniform prior as an exact Fraction."""
        return self.exact_measures.loss(loss)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the guarantee in words above the heatmap."""
        from inbounds.report.html import mechanism_card

        return mechanism_card(self)

    def plot(self) -> "Figure":
        """Draw the heatmap as a figure (extra `figures`): true answers across, outputs up.

        For several quantiles that are drawn together a heatmap for each.
        """
        from inbounds.report.figures import heatmaps

        if isinstance(self.law, JointLaw):
            query = cast(JointQuantileQuery, self.query)
            return heatmaps([self.channel(at=at) for at in query.at], [single.name for single in query.singles])
        return heatmaps([self.channel()], [str(self.origin)])

    def to_pandas(self) -> Any:
        """Return the probabilities as a pandas frame: a row for each output, a column for each true answer."""
        channel = self.channel()
        columns = zip(map(str, bayes.answer_values(channel.query).tolist()), channel.matrix.T, strict=True)
        frame = to_pandas_frame(dict(columns))
        return frame.set_axis(channel.output_values.tolist(), axis="index").rename_axis("output")

    def to_polars(self) -> Any:
        """Return the probabilities as a Polars frame: outputs in the column "output", a column for each answer."""
        channel = self.channel()
        columns = zip(map(str, bayes.answer_values(channel.query).tolist()), channel.matrix.T, strict=True)
        return to_polars_frame({"output": channel.output_values.tolist(), **dict(columns)})

    @property
    def unchecked_claims(self) -> tuple[str, ...]:
        """The claims of the mechanism's passport that reading it does not check, as sentences."""
        from inbounds.mechanism.claims import list_unchecked_claims

        return tuple(list_unchecked_claims(self))

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the passport: everything needed to check and use the mechanism, with its digest."""
        passport.to_passport(self).save(path)

    @cached_property
    def sha256(self) -> str:
        """The digest of the passport. Auditors and release records identify the mechanism by it."""
        return passport.to_passport(self).sha256


QuantileMechanism = Mechanism[QuantileQuery, RecordsLaw]
"""The type of a mechanism for a quantile, for annotations."""

JointMechanism = Mechanism[JointQuantileQuery, JointLaw]
"""The type of a mechanism for several quantiles, for annotations."""

AnyMechanism = Mechanism[Any, Any]
"""The type of a mechanism for any query, for annotations."""


def check_mechanism(mechanism: object, name: str = "mechanism", *, may_have_delta: bool = False) -> None:
    """Raise a `TypeError` unless an argument of this name is a mechanism for one true answer.

    Raises `ValueError` for a mechanism with a delta unless the caller counts deltas.
    """
    check_kind(mechanism, Mechanism, name, "a mechanism such as ib.optimal(ib.count(20), 1)")
    if not isinstance(cast(Mechanism, mechanism).law, AnswerLaw):
        raise TypeError(f"{name} must be for one true answer; this one is for a quantile of a group's records")
    if not may_have_delta:
        refuse_delta(cast(Mechanism, mechanism), name)


def refuse_delta(mechanism: "AnyMechanism", name: str = "mechanism") -> None:
    """Raise `ValueError` for a mechanism with a delta, where only its epsilon would be counted."""
    if mechanism.delta:
        raise ValueError(f"{name} must be private at delta 0 here, got one of delta {format_decimal(mechanism.delta)}")


def certify(
    matrix: ArrayLike,
    query: RangeQuery,
    epsilon: Number,
    *,
    tolerance: float = TOLERANCE,
    origin: Origin | None = None,
    delta: Number = 0,
) -> Mechanism:
    """Make a certified mechanism near a float matrix P[output, answer].

    The matrix is rounded to integers over 2**62, and entries that are slightly too small are raised. tolerance: how
    much probability this may move under any answer. Raises `PrivacyViolation` if the matrix is not private within the
    tolerance, `ValueError` if it is not a matrix of probabilities for the query.

    delta: the mechanism is (epsilon, delta)-private. Raises `DeltaViolation` if the matrix needs a larger one within
    the tolerance; `ib.audit(matrix, query).delta(epsilon)` says which.
    """
    check_query(query)
    floats, made = _validate_matrix(matrix, query), origin or Origin("certified matrix")
    exact_delta = to_fraction(delta, "delta")
    if exact_delta:
        return _round_with_delta(floats, query, to_epsilon(epsilon), exact_delta, made, tolerance)
    return _round_matrix(floats, query, epsilon, made, tolerance)


def _round_with_delta(
    matrix: Floats, query: RangeQuery, epsilon: Fraction, delta: Fraction, origin: Origin, tolerance: float
) -> Mechanism:
    """Round a matrix to integers, with as small a share of the uniform law as pays for rounding.

    A delta is convex in the matrix and 0 for the uniform law, so a share h brings it down to (1 - h)·delta.
    """
    matrix, outputs = matrix / matrix.sum(axis=0), len(matrix)
    shares = [0.0, *(10.0**power for power in range(-15, 0) if 10.0**power <= tolerance)]
    for share in shares:
        weights = np.floor(((1 - share) * matrix + share / outputs) * float(TOTAL)).astype(np.int64)
        columns = np.arange(weights.shape[1])
        weights[weights.argmax(axis=0), columns] += TOTAL - weights.sum(axis=0)
        try:
            return Mechanism(query, epsilon, ApproximateMatrix(weights, delta), origin)
        except DeltaViolation:
            if share == shares[-1]:
                raise
    raise AssertionError("the last share raises or returns")


def certify_formula(
    matrix: Floats, query: RangeQuery, epsilon: Number, origin: Origin, *, even: bool = False
) -> Mechanism:
    """Make a certified mechanism from the matrix of a formula. The theory is not trusted: the result is checked.

    even: spread what rounding leaves over all outputs; see `enforce_ratios`.
    """
    refuse_beyond_limit(query)
    return _round_matrix(matrix, query, epsilon, origin, TOLERANCE, even=even)


def _round_matrix(
    matrix: Floats, query: RangeQuery, epsilon: Number, origin: Origin, tolerance: float, *, even: bool = False
) -> Mechanism:
    bound = to_epsilon(epsilon)
    weights = round_to_weights(matrix, query, bound, even=even)
    moved = np.abs(weights / TOTAL - matrix).sum(axis=0).max() / 2
    if not moved <= tolerance:
        worst = audit(matrix, query)
        allowed = math.exp(float(bound) * worst.distance)
        if not worst.ratio > allowed:
            raise ValueError(f"whole weights move {moved:.3g} of the probability; the tolerance is {tolerance:.3g}")
        raise PrivacyViolation(worst.output, worst.answers, worst.ratio, allowed)
    return Mechanism(query, bound, Matrix(weights), origin)


def round_to_weights(matrix: Floats, query: RangeQuery, epsilon: Fraction, *, even: bool = False) -> Ints:
    """Return private integer weights near a float matrix; exactly symmetric if it is symmetric up to rounding."""
    mirror = matrix[::-1, ::-1]
    if query.is_symmetric and query.is_ordered and np.abs(matrix - mirror).max() <= SYMMETRY_SLACK:
        return round_symmetric((matrix + mirror) / 2, query, epsilon, even=even)
    if query.neighbours.is_line:
        return round_on_line(matrix, query.cliques(), epsilon, even=even)
    return round_on_graph(matrix, query.edges, epsilon, even=even)


def _validate_matrix(matrix: ArrayLike, query: RangeQuery) -> Floats:
    """Return the matrix as floats; raise `ValueError` unless its columns are probabilities in the query's shape."""
    refuse_beyond_limit(query)
    floats = np.asarray(matrix, dtype=np.float64)
    if floats.shape != query.shape:
        raise ValueError(f"matrix must have the shape {query.shape} (outputs, answers), got {floats.shape}")
    if not np.isfinite(floats).all():
        raise ValueError("matrix entries must be finite")
    if floats.min() < -COLUMN_SLACK:
        i, j = np.unravel_index(floats.argmin(), floats.shape)
        raise ValueError(f"matrix entries must not be negative; output {i} under answer {j} is {floats[i, j]:.3g}")
    floats = np.maximum(floats, 0.0)
    with np.errstate(over="ignore"):
        sums = floats.sum(axis=0)
    if not (np.abs(sums - 1) <= COLUMN_SLACK).all():
        worst = int(np.abs(sums - 1).argmax())
        raise ValueError(f"columns must sum to one; column {worst} sums to {sums[worst]:.9g}{transpose_hint(floats)}")
    return floats

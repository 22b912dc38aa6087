"""The class `Mechanism`: probabilities that passed the privacy check, which runs whenever an object is made.

`certify` and `certify_formula` round a float matrix to integers and make a mechanism of it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from inbounds.errors import PrivacyViolation, check_kind
from inbounds.exact import Floats, Ints, Number, format_decimal, round_up_to_float, to_epsilon
from inbounds.losses import LossLike
from inbounds.mechanism import bayes, passport
from inbounds.mechanism import measures as utility
from inbounds.mechanism.audit import COLUMN_SLACK, audit, tight_epsilon, transpose_hint
from inbounds.mechanism.exact_measures import ExactMeasures
from inbounds.mechanism.law import Law, Matrix, Noise, freeze_weights
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.origin import Optimality, Origin
from inbounds.mechanism.plane import PlaneNoise
from inbounds.mechanism.response import Response
from inbounds.mechanism.rounding import round_on_graph, round_on_line, round_symmetric
from inbounds.optional import to_pandas_frame, to_polars_frame
from inbounds.properties import MatrixLayout, list_meaningful, measure_properties, square_layout
from inbounds.query import RangeQuery, check_query
from inbounds.query.places import take_places
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS
from inbounds.trusted.inputs import read_array
from inbounds.trusted.positions import is_text_array
from inbounds.trusted.samplers import Draws, draw_outputs, seeded_entropy, system_entropy

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

PROPERTY_UNITS = 1 << (TOTAL_BITS - 40)
"""A property counts as held if it is violated by at most 2**-40 of probability; see `PropertyCheck.exact`."""

SYMMETRY_SLACK = 1e-13
"""A matrix whose entries differ from its mirror image by at most this is rounded to an exactly symmetric one."""

LAWS = (Matrix, Noise, Response, PlaneNoise)

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
class Mechanism:
    """A private mechanism for `query`: Pr[output | answer] as whole multiples of 2**-62.

    Formal guarantee: for all neighbouring answers j, k at `distance` (1, except for metric privacy) and every
    output i, Pr[i | j] <= exp(epsilon · distance) · Pr[i | k], checked in integers when the object is made.
    """

    query: RangeQuery
    epsilon: Fraction
    law: Law
    origin: Origin
    optimality: Optimality | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", to_epsilon(self.epsilon))
        if type(self.query) is not RangeQuery or type(self.law) not in LAWS:  # a subclass could replace the check
            raise TypeError("a mechanism is made of a Query and a Matrix, Noise, Response or Plane law")
        self.law.check(self.query, self.epsilon)

    def __init_subclass__(cls) -> None:
        raise TypeError("a Mechanism cannot be subclassed: a subclass could leave out the check")

    def __reduce__(self) -> tuple[type["Mechanism"], tuple[Any, ...]]:
        return Mechanism, (self.query, self.epsilon, self.law, self.origin, self.optimality)

    def __hash__(self) -> int:
        return hash((self.query, self.epsilon, self.law))

    def __repr__(self) -> str:
        outputs, answers = self.query.shape
        return (
            f"<Mechanism {self.origin} for {self.query!r}, epsilon={format_decimal(self.epsilon)}, "
            f"{outputs} "
            f"× {answers}>"
        )

    # --- the probabilities --------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Ints:
        """Integer weights, outputs × answers; columns sum to 2**62. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
        return freeze_weights(self.law.matrix(self.query))

    @cached_property
    def matrix(self) -> Floats:
        """The weights as float probabilities P[output, answer], for inspection. Reports are drawn from the integers."""
        return self.law.probabilities(self.query)

    def tight_epsilon(self) -> float:
        """Return the tight privacy loss of this mechanism, at most `epsilon`, rounded up to a float."""
        return min(tight_epsilon(self.law, self.query), round_up_to_float(self.epsilon))

    def properties(self) -> dict[str, PropertyCheck]:
        """Return for every structural property how well it holds, in units of 2**-62."""
        query, law = self.query, self.law
        refuse_beyond_limit(query)
        if isinstance(law, Noise) and law.remap is None:
            weights, layout = law.shorten().clamped_matrix(), square_layout(law.shorten().size + 1)
        elif isinstance(law, Response):
            weights, layout = law.corner(), square_layout(len(law.corner()))
        else:
            weights, layout = self.weights, MatrixLayout(len(query.outputs), query.home_cell, query.below, query.above)
        names = [n for n in list_meaningful(ordered=query.is_ordered) if n != "symmetric" or layout.mirrors]
        units = measure_properties(weights, layout, TOTAL, names, outputs=len(query.outputs))
        return {name: PropertyCheck(units[name]) for name in names}

    # --- reports ------------------------------------------------------------------------------------------

    def sample(self, answers: Any) -> Any:
        """Draw private reports for true answers, with operating-system entropy. A scalar gives a scalar.

        Raises `ValueError` for an answer outside the query's range.
        """
        return self._report(answers, system_entropy)

    def sample_clipped(self, answer: Any) -> Any:
        """Draw a private report as `sample`, after clamping numbers to the query's range.

        Clamping never increases the distance of two answers, so the guarantee is the same.
        """
        return self._report(answer, system_entropy, clip=True)

    def simulate(self, answers: Any, rng: np.random.Generator) -> Any:
        """Draw reports as `sample`, from a seeded generator: for studies and tests, never for a release."""
        return self._report(answers, seeded_entropy(rng))

    def _report(self, answers: Any, draws: Draws, *, clip: bool = False) -> Any:
        indices = self.query.encode(answers, clip=clip)
        outputs, places = draw_outputs(self.law.sampler, indices, draws), self.query.places
        if places is not None and not is_text_array(read_array(answers)):  # coordinates in, coordinates out
            return take_places(places, outputs)
        values = self.query.decode(outputs)
        return np.asarray(values).tolist() if indices.ndim == 0 else values

    # --- usefulness: the functions of `measures` and `bayes`, as methods -----------------------------------

    loss = utility.loss
    worst_loss = utility.worst_loss
    loss_per_answer = utility.loss_per_answer
    truth_probability = utility.truth_probability
    end_probability = utility.end_probability
    bias = utility.bias
    variance = utility.variance
    rmse = utility.rmse

    posterior = bayes.posterior
    best_guess = bayes.best_guess
    credible_set = bayes.credible_set
    remap = bayes.best_remap
    bayes_loss = bayes.bayes_loss
    interpretations = bayes.interpret_all
    coverage = bayes.coverage
    regret = bayes.regret
    mutual_information = bayes.mutual_information
    posterior_entropy = bayes.posterior_entropy
    worst_remap = bayes.worst_remap

    def postprocess(self, remap: ArrayLike) -> "Mechanism":
        """Return the mechanism that passes its report through a remap (post-processing), certified again.

        remap: for every output the value reported instead, or a matrix R[new output, output] whose columns sum to
        one. With values the integer weights are added exactly; with a matrix the product is rounded to integers.
        """
        query, origin = self.query, Origin("followed_by", {"of": str(self.origin)})
        table, outputs = np.asarray(remap), self.query.shape[0]
        if table.ndim == 1 and len(table) == outputs:
            targets = [utility.output_index(query, value) for value in table.tolist()]
            weights = np.zeros_like(self.weights)
            np.add.at(weights, targets, self.weights)
            return Mechanism(query, self.epsilon, Matrix(weights), origin)
        if table.shape != (outputs, outputs) or not (table >= 0).all() or not np.allclose(table.sum(axis=0), 1):
            raise ValueError(f"remap must be {outputs} reported values, or a {outputs} × {outputs} stochastic matrix")
        return certify_formula(table @ self.matrix, query, self.epsilon, origin)

    @property
    def exact_measures(self) -> ExactMeasures:
        """The measures as exact Fractions, such as `mechanism.exact_measures.loss("absolute")`."""
        return ExactMeasures(self)

    def exact_loss(self, loss: LossLike = "absolute") -> Fraction:
        """Return the expected loss under the uniform prior as an exact Fraction."""
        return self.exact_measures.loss(loss)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the guarantee in words above the heatmap."""
        from inbounds.report.html import mechanism_card

        return mechanism_card(self)

    def plot(self) -> "Figure":
        """Draw the heatmap as a figure (extra `figures`): true answers across, reports up."""
        from inbounds.report.figures import heatmaps

        return heatmaps([self])

    def to_pandas(self) -> Any:
        """Return the probabilities as a pandas frame: a row for each report, a column for each true answer."""
        frame = to_pandas_frame(
            dict(zip(map(str, bayes.answer_values(self.query).tolist()), self.matrix.T, strict=True))
        )
        return frame.set_axis(self.query.output_values.tolist(), axis="index").rename_axis("report")

    def to_polars(self) -> Any:
        """Return the probabilities as a Polars frame: reports in the column "report", a column for each answer."""
        columns = zip(map(str, bayes.answer_values(self.query).tolist()), self.matrix.T, strict=True)
        return to_polars_frame({"report": self.query.output_values.tolist(), **dict(columns)})

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


def check_mechanism(mechanism: object, name: str = "mechanism") -> None:
    """Raise a `TypeError` unless an argument of this name is a mechanism."""
    check_kind(mechanism, Mechanism, name, "a mechanism such as ib.optimal(ib.count(20), 1)")


def certify(
    matrix: ArrayLike, query: RangeQuery, epsilon: Number, *, tolerance: float = TOLERANCE, origin: Origin | None = None
) -> Mechanism:
    """Make a certified mechanism near a float matrix P[output, answer].

    The matrix is rounded to integers over 2**62, and entries that are slightly too small are raised. tolerance: how
    much probability this may move under any answer. Raises `PrivacyViolation` if the matrix is not private within the
    tolerance, `ValueError` if it is not a matrix of probabilities for the query.
    """
    check_query(query)
    return _round_matrix(
        _validate_matrix(matrix, query), query, epsilon, origin or Origin("certified matrix"), tolerance
    )


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

"""Comparison of mechanisms for one query: losses, worst cases, Bayes losses, properties, tight epsilons."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from inbounds.catalog.registry import REGISTRY, Family, build_entry, families, find_families
from inbounds.errors import InboundsError, TooLarge, check_kind, suggest_name
from inbounds.evaluate.export import csv_table, latex_table
from inbounds.exact import Number, to_epsilon
from inbounds.losses import Loss, LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import AnyMechanism, Channel, Mechanism
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.optional import to_pandas_frame, to_polars_frame
from inbounds.query import JointQuantileQuery, QuantileQuery, Query, RangeQuery

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CODES",
    "OPTIMUM",
    "TIE",
    "Comparison",
    "Family",
    "Row",
    "applicable_entries",
    "compare",
    "default_losses",
    "families",
    "find_families",
    "format_measure",
    "resolve_short_names",
]

OPTIMUM = "optimal"
"""The name, in comparisons, of the best mechanism under the given loss and prior."""

TIE = 1e-9
"""Values within this share of the best count as equal to it."""

NOTHING = 1e-12
"""Measures below this are printed as zero: they are rounding errors."""

SEVERAL = "several quantiles have no common loss; compare them one by one"
"""Why quantiles that are drawn together are not compared."""

MOST_DRAWN = 8
"""The most mechanisms in one figure: those with the least loss."""

CODES = {
    "row_honest": "RH",
    "row_monotone": "RM",
    "column_honest": "CH",
    "column_monotone": "CM",
    "fair": "F",
    "weakly_honest": "WH",
    "symmetric": "S",
}


@dataclass(frozen=True)
class Row:
    """One mechanism of a comparison; a value is None if it cannot be computed at this size."""

    name: str
    mechanism: AnyMechanism
    channel: Channel
    values: Mapping[str, float | None]
    properties: tuple[str, ...] | None

    @property
    def codes(self) -> str:
        """The abbreviated properties: RH RM CH CM F WH S."""
        return "?" if self.properties is None else " ".join(CODES[name] for name in self.properties)


@dataclass(frozen=True)
class Comparison:
    """Mechanisms for the same query with the same measures.

    columns: for each loss its average, "worst …" and "bayes …" (after the best remap); "truth", the least
    probability of the truth over the answers; "information" in bits; "effective epsilon". A quantile's measures are
    those expected of groups of records; see `Mechanism.channel`. constant: the loss of the best constant guess, by
    loss. left_out: which mechanisms of the catalog do not fit, and why.
    """

    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    losses: tuple[str, ...]
    constant: Mapping[str, float]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def sort_by(self, column: str | None = None) -> "Comparison":
        """Return the comparison with rows ordered by a column, the best first."""
        name = self._checked_column(column or self.losses[0])

        def rank(row: Row) -> float:
            value = row.values[name]
            return math.inf if value is None else _sign(name) * value

        return replace(self, rows=tuple(sorted(self.rows, key=rank)))

    def best(self, column: str | None = None) -> tuple[str, ...]:
        """Return the names of the mechanisms that are best in a column, ties included."""
        name = self._checked_column(column or self.losses[0])
        return tuple(row.name for row in self.rows if self.marks(row, name))

    def marks(self, row: Row, column: str) -> bool:
        """Return whether the row is among the best in the column."""
        value = row.values[column]
        if column == "effective epsilon":
            return False  # a smaller epsilon alone is no advantage: uniform has 0
        values = [_sign(column) * v for r in self.rows if (v := r.values[column]) is not None]
        return value is not None and _sign(column) * value <= min(values) + TIE * abs(min(values))

    def records(self) -> list[dict[str, Any]]:
        """Return one plain dictionary per row."""
        return [
            {
                "mechanism": row.name,
                "law": row.mechanism.law.kind,
                "epsilon": float(row.mechanism.epsilon),
                **row.values,
                "properties": None if row.properties is None else " ".join(row.properties),
            }
            for row in self.rows
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the rows, the best of each column, and what was left out."""
        best = {column: list(self.best(column)) for column in self.columns}
        return {
            "mechanisms": self.records(),
            "best": best,
            "constant": dict(self.constant),
            "left_out": dict(self.left_out),
        }

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, one row per mechanism."""
        return to_pandas_frame(self.records())

    def to_polars(self) -> Any:
        """Return a Polars DataFrame, one row per mechanism."""
        return to_polars_frame(self.records())

    def to_csv(self) -> str:
        """Return CSV with a header line; floats keep every digit, values that were not computed are empty."""
        return csv_table(self.records())

    def to_latex(self) -> str:
        """Return the printed table as a LaTeX tabular; a star marks the best of each column."""
        head = ["mechanism", *self.format, "properties"]
        return latex_table(head, [[cell.strip() for cell in line] for line in self.cells()])

    def cells(self, columns: Sequence[str] | None = None) -> list[list[str]]:
        """Return the table as text; a star marks the best of each column."""
        return [
            [
                row.name,
                *(format_measure(row.values[c]) + ("*" if self.marks(row, c) else " ") for c in columns or self.format),
                row.codes,
            ]
            for row in self.rows
        ]

    @property
    def format(self) -> tuple[str, ...]:
        """The columns that fit a terminal: all averages; the worst case and the Bayes loss of the first loss."""
        first = self.losses[0]
        return (*self.losses, f"worst {first}", f"bayes {first}", "truth", "effective epsilon")

    def __str__(self) -> str:
        head = ["mechanism", *(f"{name} " for name in self.format), "properties"]
        table = [head, *self.cells()]
        widths = [max(len(line[k]) for line in table) for k in range(len(head))]
        last = len(head) - 1
        return "\n".join(
            "  ".join(
                text.ljust(width) if k in (0, last) else text.rjust(width)
                for k, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in table
        )

    def __repr__(self) -> str:
        query, best = self.rows[0].mechanism.query, ", ".join(self.best())
        return f"<Comparison of {len(self.rows)} mechanisms for {query!r}; least {self.losses[0]} loss: {best}>"

    def plot(self) -> "Figure":
        """Plot the expected loss for every true answer (extra `figures`); for labels, the heatmaps of the best."""
        from inbounds.report.figures import error_per_answer, heatmaps

        rows = self.sort_by().rows[:MOST_DRAWN]
        if rows[0].channel.query.is_ordered:
            return error_per_answer({row.name: row.channel for row in rows})
        return heatmaps([row.channel for row in rows[:3]], [row.name for row in rows[:3]])

    def _repr_html_(self) -> str:
        from inbounds.report.html import comparison_table

        return comparison_table(self)

    def _checked_column(self, column: str) -> str:
        if column not in self.columns:
            choices = ", ".join(self.columns)
            raise ValueError(f"column must be one of {choices}, got {column!r}{suggest_name(column, self.columns)}")
        return column


def compare(
    subject: Query | Sequence[AnyMechanism] | Mapping[str, AnyMechanism],
    epsilon: Number | None = None,
    *,
    losses: Sequence[LossLike] | None = None,
    prior: Prior = None,
    also: Mapping[str, AnyMechanism | Family] | None = None,
) -> Comparison:
    """Compare mechanisms: a list or a dictionary of them, or, for a query and epsilon, all that fit.

    All must answer the same query (answers and neighbours; the output cells may differ). Averages and Bayes losses are
    taken under `prior`. A list keeps its order. Mechanisms that fit a query are sorted by loss and include "optimal",
    the private mechanism with the least average of the first loss under the prior; for a quantile, the one that is
    chosen by expected error. also: further mechanisms by name, or functions of query and epsilon that make them.

    >>> from inbounds.query import extreme, median
    >>> compare(extreme(1, 5), 1).best("absolute")
    ('optimal', 'variant_1')
    >>> sorted(row.name for row in compare(median(1, 5, size=25), 1).rows)
    ['optimal', 'permute_and_flip', 'sided_scores']
    """
    left_out: dict[str, str] = {}
    if not isinstance(subject, Query | Mapping | Iterable):
        type_name = type(subject).__name__
        raise TypeError(
            f"query must be a query such as ib.count(20), or mechanisms in a list or by name, got {type_name}"
        )
    if isinstance(subject, Query):
        if epsilon is None:
            raise ValueError("epsilon must be given to compare all mechanisms that fit a query")
        first = to_loss((losses or default_losses(subject.as_range_query))[0])
        mechanisms, left_out = applicable_entries(subject, epsilon, first)
        mechanisms, left_out = _with_optimum(mechanisms, left_out, subject, epsilon, first, prior)
    else:
        mechanisms = dict(subject) if isinstance(subject, Mapping) else resolve_short_names(subject)
    mechanisms |= _caller_mechanisms(also or {}, mechanisms, subject, epsilon)
    query = _one_question(mechanisms).as_range_query
    loss_objects = [to_loss(loss) for loss in losses or default_losses(query)]
    rows = [_row(name, mechanism, loss_objects, prior) for name, mechanism in mechanisms.items()]
    names, constant = tuple(loss.name for loss in loss_objects), _constant_losses(rows[0].channel, loss_objects)
    comparison = Comparison(tuple(rows), tuple(rows[0].values), names, constant, left_out)
    return comparison.sort_by() if isinstance(subject, Query) else comparison


def _constant_losses(channel: Channel, losses: list[Loss]) -> dict[str, float]:
    """Return the loss of the best constant for each loss; nothing for answers too many to compare with each other."""
    if len(channel.query.answers) ** 2 > MATRIX_LIMIT:
        return {}
    return {loss.name: channel.constant_loss(loss) for loss in losses}


def _with_optimum(
    mechanisms: dict[str, AnyMechanism],
    left_out: dict[str, str],
    query: Query,
    epsilon: Number,
    loss: Loss,
    prior: Prior,
) -> tuple[dict[str, AnyMechanism], dict[str, str]]:
    """Put the optimum before the mechanisms that fit, or the reason why it cannot be designed among those left out."""
    from inbounds.design.optimal import optimal

    to_prior(prior, query.as_range_query)  # an invalid prior raises here, instead of leaving the optimum out
    try:
        return {OPTIMUM: optimal(query, epsilon, loss, prior), **mechanisms}, left_out
    except (ValueError, InboundsError) as reason:
        return mechanisms, {**left_out, OPTIMUM: str(reason)}


def _caller_mechanisms(
    also: Mapping[str, AnyMechanism | Family], taken: Mapping[str, AnyMechanism], subject: Any, epsilon: Number | None
) -> dict[str, AnyMechanism]:
    """Return the caller's mechanisms; functions are called to make them."""
    check_kind(also, Mapping, "also", "a dictionary from names to mechanisms")
    mechanisms = {}
    for name, mechanism in also.items():
        if name in taken:
            raise ValueError(f"also must give names that are not taken, got {name!r}")
        if not isinstance(mechanism, Mechanism) and not (callable(mechanism) and isinstance(subject, Query)):
            raise TypeError(
                f"also must hold mechanisms, or functions of a query and epsilon, got {type(mechanism).__name__}; "
                "ib.certify makes a mechanism of a matrix"
            )
        if not isinstance(mechanism, Mechanism):
            mechanism = build_entry(name, mechanism, subject, to_epsilon(epsilon))  # type: ignore[arg-type]
        mechanisms[name] = mechanism
    return mechanisms


def applicable_entries(
    query: Query, epsilon: Number, loss: Loss | None = None
) -> tuple[dict[str, AnyMechanism], dict[str, str]]:
    """Return all mechanisms of the catalog that fit a query, and for the others the reason why they do not.

    loss: what optimized mechanisms minimize, if they let the caller choose.
    """
    bound = to_epsilon(epsilon)
    if isinstance(query, JointQuantileQuery):
        raise ValueError(SEVERAL)
    if isinstance(query, QuantileQuery):
        return _quantile_entries(query, bound)
    mechanisms: dict[str, AnyMechanism] = {}
    left_out: dict[str, str] = {}
    large = query.shape[0] * query.shape[1] > MATRIX_LIMIT
    for name, row in REGISTRY.items():
        if row.on_graphs and query.neighbours.is_line:
            continue
        if row.needs:
            left_out[name] = f"needs {row.needs}"
            continue
        if large and not row.compact:
            left_out[name] = f"needs a matrix of {query.shape[0]} × {query.shape[1]}, over the limit"
            continue
        options = {"loss": loss or default_losses(query)[0]} if row.takes_loss else {}
        try:
            mechanisms[name] = row.make(query, bound, **options)
        except (ValueError, InboundsError) as reason:
            left_out[name] = str(reason)
    return mechanisms, left_out


def _quantile_entries(query: QuantileQuery, epsilon: Fraction) -> tuple[dict[str, AnyMechanism], dict[str, str]]:
    """Return the constructions for a quantile that fit, and for the others the reason why they do not."""
    from inbounds.design.quantiles import CONSTRUCTIONS

    mechanisms, left_out = {}, {}
    for name, design in CONSTRUCTIONS.items():
        try:
            mechanisms[name] = design(query, epsilon)
        except (ValueError, InboundsError) as reason:
            left_out[name] = str(reason)
    return mechanisms, left_out


def _row(name: str, mechanism: AnyMechanism, losses: list[Loss], prior: Prior) -> Row:
    values: dict[str, float | None] = {}
    channel = mechanism.channel(prior)
    for loss in losses:
        per_answer = channel.loss_per_answer(loss) if channel.has_face_value else None
        values[loss.name] = None if per_answer is None else float(per_answer @ channel.prior)
        values[f"worst {loss.name}"] = None if per_answer is None else float(channel.select_possible(per_answer).max())
        values[f"bayes {loss.name}"] = _if_small(partial(channel.bayes_loss, loss))
    values["truth"] = float(channel.select_possible(channel.truth_probability()).min())
    values["information"] = _if_small(channel.mutual_information)
    values["effective epsilon"] = _if_small(mechanism.tight_epsilon)
    try:
        properties = tuple(name for name, holding in mechanism.properties().items() if holding)
    except TooLarge:
        return Row(name, mechanism, channel, values, None)
    return Row(name, mechanism, channel, values, properties)


def _if_small(measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except TooLarge:
        return None


def _one_question(mechanisms: Mapping[str, AnyMechanism]) -> Query:
    if not mechanisms:
        raise ValueError("compare needs at least one mechanism; none was given or none fits")
    for mechanism in mechanisms.values():
        if not isinstance(mechanism, Mechanism):
            raise TypeError(
                f"compare takes mechanisms, a dictionary of them or a query, got {type(mechanism).__name__}"
            )
    (first, first_mechanism), *others = mechanisms.items()
    question: Query = first_mechanism.query
    if isinstance(question, JointQuantileQuery):
        raise ValueError(SEVERAL)
    for name, mechanism in others:
        if not question.is_same_question(mechanism.query):
            raise ValueError(
                f"mechanisms must answer the same query to be compared; {first} answers {question!r} "
                f"and {name} {mechanism.query!r}"
            )
    return question


def resolve_short_names(mechanisms: Iterable[AnyMechanism]) -> dict[str, AnyMechanism]:
    """Name mechanisms by their origins: the short name, else the full origin, else that with a number."""
    by_name: dict[str, AnyMechanism] = {}
    for mechanism in mechanisms:
        if not isinstance(mechanism, Mechanism):
            raise TypeError(
                f"compare takes mechanisms, a dictionary of them or a query, got {type(mechanism).__name__}"
            )
        full = f"{mechanism.origin}"
        candidates = [mechanism.origin.name, full, *(f"{full} ({k})" for k in range(2, len(by_name) + 3))]
        by_name[next(name for name in candidates if name not in by_name)] = mechanism
    return by_name


def default_losses(query: RangeQuery) -> tuple[str, ...]:
    """Return the losses that a query is judged by if the caller names none."""
    if query.is_ordered:
        return ("absolute", "squared", "zero-one")
    if not query.neighbours.is_line and query.neighbours.is_connected(query.answers):
        return ("distance", "zero-one")
    return ("zero-one",)


def _sign(column: str) -> int:
    """Return +1 if less is better, -1 if more is."""
    return -1 if column in ("truth", "information") else 1


def format_measure(value: float | None) -> str:
    """Write four decimals so that columns line up; a dash for a value that is not computed."""
    if value is None:
        return "–"
    if abs(value) < NOTHING:
        return "0.0000"
    if not 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}"
    return f"{value:.4f}"

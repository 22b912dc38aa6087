"""Mechanisms for one question side by side: losses, worst cases, Bayesian users, properties, tight epsilons."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from inbounds.catalog.registry import REGISTRY, Family, build_entry, families, find_families
from inbounds.errors import InboundsError, TooLarge, suggest_name
from inbounds.evaluate.export import csv_table, latex_table
from inbounds.exact import Number, to_epsilon
from inbounds.losses import Loss, LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.optional import to_pandas_frame, to_polars_frame
from inbounds.query import Graph, RangeQuery

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
"""What the best mechanism under the given loss and prior is called in comparisons."""

TIE = 1e-9
"""Values within this share of the best are as good."""

NOTHING = 1e-12
"""Measures below this are rounding errors of zero."""

MOST_DRAWN = 8
"""Mechanisms in one picture: those with the least loss."""

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
    """One mechanism of a comparison; a value is None where it cannot be computed at this size."""

    name: str
    mechanism: Mechanism
    values: Mapping[str, float | None]
    properties: tuple[str, ...] | None

    @property
    def codes(self) -> str:
        """The properties in short: RH RM CH CM F WH S."""
        return "?" if self.properties is None else " ".join(CODES[name] for name in self.properties)


@dataclass(frozen=True)
class Comparison:
    """Mechanisms for the same question, measured alike.

    columns: for each loss its average, "worst …" and "bayes …" (after the best remap); "truth", the least
    probability of the truth over the answers; "information" in bits; "effective epsilon".
    left_out: which mechanisms of the catalog do not fit, and why.
    """

    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    losses: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def sort_by(self, by: str | None = None) -> "Comparison":
        """Return the rows in the order of a column, the best first."""
        column = self._checked_column(by or self.losses[0])

        def rank(row: Row) -> float:
            value = row.values[column]
            return math.inf if value is None else _sign(column) * value

        return replace(self, rows=tuple(sorted(self.rows, key=rank)))

    def best(self, column: str | None = None) -> tuple[str, ...]:
        """Return the names of the mechanisms that are best in a column, ties included."""
        chosen = self._checked_column(column or self.losses[0])
        return tuple(row.name for row in self.rows if self.marks(row, chosen))

    def marks(self, row: Row, column: str) -> bool:
        """Return whether the row is among the best in the column."""
        value = row.values[column]
        if column == "effective epsilon":
            return False  # a tighter promise is no merit by itself: uniform has 0
        values = [_sign(column) * v for r in self.rows if (v := r.values[column]) is not None]
        return value is not None and _sign(column) * value <= min(values) + TIE * abs(min(values))

    def records(self) -> list[dict[str, Any]]:
        """Return one plain dictionary per row."""
        return [
            {
                "mechanism": row.name,
                "epsilon": float(row.mechanism.epsilon),
                **row.values,
                "properties": None if row.properties is None else " ".join(row.properties),
            }
            for row in self.rows
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: the rows, the best of each column, and what was left out."""
        best = {column: list(self.best(column)) for column in self.columns}
        return {"mechanisms": self.records(), "best": best, "left_out": dict(self.left_out)}

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, one row per mechanism."""
        return to_pandas_frame(self.records())

    def to_polars(self) -> Any:
        """Return a Polars DataFrame, one row per mechanism."""
        return to_polars_frame(self.records())

    def to_csv(self) -> str:
        """CSV with a line of column names; floats keep every digit, what was not computed stays empty."""
        return csv_table(self.records())

    def to_latex(self) -> str:
        """Return the table that is printed, as a LaTeX tabular; the best of each column marked with a star."""
        head = ["mechanism", *self.format, "properties"]
        return latex_table(head, [[cell.strip() for cell in line] for line in self.cells()])

    def cells(self, columns: Sequence[str] | None = None) -> list[list[str]]:
        """Return the table as text, the best of each column marked with a star."""
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
        """Expected loss for every true answer (extra `figures`); of labels, the heatmaps of the best."""
        from inbounds.report.figures import error_per_answer, heatmaps

        rows = self.sort_by().rows[:MOST_DRAWN]
        if rows[0].mechanism.query.is_ordered:
            return error_per_answer({row.name: row.mechanism for row in rows})
        return heatmaps([row.mechanism for row in rows[:3]], [row.name for row in rows[:3]])

    def _repr_html_(self) -> str:
        from inbounds.report.html import comparison_table

        return comparison_table(self)

    def _checked_column(self, column: str) -> str:
        if column not in self.columns:
            known = ", ".join(self.columns)
            raise ValueError(f"column must be one of {known}, got {column!r}{suggest_name(column, self.columns)}")
        return column


def compare(
    what: RangeQuery | Sequence[Mechanism] | Mapping[str, Mechanism],
    epsilon: Number | None = None,
    *,
    losses: Sequence[LossLike] | None = None,
    prior: Prior = None,
    also: Mapping[str, Mechanism | Family] | None = None,
) -> Comparison:
    """Mechanisms side by side: a list or a dictionary of them, or a query and epsilon for all that fit.

    All must answer the same question (answers and neighbours; the cells they report in may differ). Averages and
    Bayes losses are taken under `prior`. A list keeps its order; all that fit come with the least loss first, and
    with them "optimal", the least average of the first loss under the prior that any private mechanism has. also:
    mechanisms of one's own by name, or functions of query and epsilon that make them.

    >>> from inbounds.query import extreme
    >>> compare(extreme(1, 5), 1).best("absolute")
    ('optimal', 'variant_1')
    """
    left_out: dict[str, str] = {}
    if not isinstance(what, RangeQuery | Mapping | Iterable):
        got = type(what).__name__
        raise TypeError(f"query must be a query such as ib.count(20), or mechanisms in a list or by name, got {got}")
    if isinstance(what, RangeQuery):
        if epsilon is None:
            raise ValueError("epsilon must be given to compare all mechanisms that fit a query")
        first = to_loss((losses or default_losses(what))[0])
        mechanisms, left_out = applicable_entries(what, epsilon, first)
        mechanisms, left_out = _with_optimum(mechanisms, left_out, what, epsilon, first, prior)
    else:
        mechanisms = dict(what) if isinstance(what, Mapping) else resolve_short_names(what)
    mechanisms |= _caller_mechanisms(also or {}, mechanisms, what, epsilon)
    query = _one_question(mechanisms)
    chosen = [to_loss(loss) for loss in losses or default_losses(query)]
    weights = to_prior(prior, query)
    rows = [_row(name, mechanism, chosen, weights) for name, mechanism in mechanisms.items()]
    found = Comparison(tuple(rows), tuple(rows[0].values), tuple(loss.name for loss in chosen), left_out)
    return found.sort_by() if isinstance(what, RangeQuery) else found


def _with_optimum(
    mechanisms: dict[str, Mechanism],
    left_out: dict[str, str],
    query: RangeQuery,
    epsilon: Number,
    loss: Loss,
    prior: Prior,
) -> tuple[dict[str, Mechanism], dict[str, str]]:
    """Return what fits, with the optimum before all others; the reason where it cannot be designed."""
    from inbounds.design.designer import optimal

    to_prior(prior, query)  # a wrong prior is no reason to leave the optimum out
    try:
        return {OPTIMUM: optimal(query, epsilon, loss, prior), **mechanisms}, left_out
    except (ValueError, InboundsError) as reason:
        return mechanisms, {**left_out, OPTIMUM: str(reason)}


def _caller_mechanisms(
    also: Mapping[str, Mechanism | Family], known: Mapping[str, Mechanism], what: Any, epsilon: Number | None
) -> dict[str, Mechanism]:
    """Mechanisms of the caller's, made where they are functions."""
    found = {}
    for name, own in also.items():
        if name in known:
            raise ValueError(f"also must give names that are not taken, got {name!r}")
        if not isinstance(own, Mechanism) and not (callable(own) and isinstance(what, RangeQuery)):
            raise TypeError(
                f"also must hold mechanisms, or functions of a query and epsilon, got {type(own).__name__}; "
                "ib.certify makes a mechanism of a matrix"
            )
        found[name] = own if isinstance(own, Mechanism) else build_entry(name, own, what, to_epsilon(epsilon))  # type: ignore[arg-type]
    return found


def applicable_entries(
    query: RangeQuery, epsilon: Number, loss: Loss | None = None
) -> tuple[dict[str, Mechanism], dict[str, str]]:
    """Return all mechanisms of the catalog that fit a query, and for the others the reason why they do not.

    loss: what those that are found by optimization minimize, where they let one choose.
    """
    bound = to_epsilon(epsilon)
    made: dict[str, Mechanism] = {}
    left_out: dict[str, str] = {}
    large = query.shape[0] * query.shape[1] > MATRIX_LIMIT
    for name, row in REGISTRY.items():
        if row.on_graphs and not isinstance(query.neighbours, Graph):
            continue
        if row.needs:
            left_out[name] = f"needs {row.needs}"
            continue
        if large and not row.compact:
            left_out[name] = f"needs a matrix of {query.shape[0]} × {query.shape[1]}, over the limit"
            continue
        chosen = {"loss": loss or default_losses(query)[0]} if row.takes_loss else {}
        try:
            made[name] = row.make(query, bound, **chosen)
        except (ValueError, InboundsError) as reason:
            left_out[name] = str(reason)
    return made, left_out


def _row(name: str, mechanism: Mechanism, losses: list[Loss], prior: Any) -> Row:
    values: dict[str, float | None] = {}
    for loss in losses:
        per_answer = mechanism.loss_per_answer(loss)
        values[loss.name] = float(per_answer @ prior)
        values[f"worst {loss.name}"] = float(per_answer.max())
        values[f"bayes {loss.name}"] = _if_small(partial(mechanism.bayes_loss, loss, prior))
    values["truth"] = float(mechanism.truth_probability().min())
    values["information"] = _if_small(partial(mechanism.mutual_information, prior))
    values["effective epsilon"] = mechanism.tight_epsilon()
    try:
        held = tuple(name for name, holding in mechanism.properties().items() if holding)
    except TooLarge:
        return Row(name, mechanism, values, None)
    return Row(name, mechanism, values, held)


def _if_small(measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except TooLarge:
        return None


def _one_question(mechanisms: Mapping[str, Mechanism]) -> RangeQuery:
    if not mechanisms:
        raise ValueError("compare needs at least one mechanism; none was given or none fits")
    for mechanism in mechanisms.values():
        if not isinstance(mechanism, Mechanism):
            raise TypeError(
                f"compare takes mechanisms, a dictionary of them or a query, got {type(mechanism).__name__}"
            )
    (first, known), *rest = mechanisms.items()
    question = known.query
    for name, mechanism in rest:
        other = mechanism.query
        if (other.answers, other.neighbours, other.labels) != (
            question.answers,
            question.neighbours,
            question.labels,
        ):
            raise ValueError(
                f"mechanisms must answer the same query to be compared; {first} answers {question!r} "
                f"and {name} {other!r}"
            )
    return question


def resolve_short_names(mechanisms: Iterable[Mechanism]) -> dict[str, Mechanism]:
    """Short names from the origins; the full origin, then a number, where the short one is taken."""
    named: dict[str, Mechanism] = {}
    for mechanism in mechanisms:
        if not isinstance(mechanism, Mechanism):
            raise TypeError(
                f"compare takes mechanisms, a dictionary of them or a query, got {type(mechanism).__name__}"
            )
        full = f"{mechanism.origin}"
        tries = [mechanism.origin.name, full, *(f"{full} ({k})" for k in range(2, len(named) + 3))]
        named[next(name for name in tries if name not in named)] = mechanism
    return named


def default_losses(query: RangeQuery) -> tuple[str, ...]:
    """Return the losses that a query is judged by unless others are named."""
    if isinstance(query.neighbours, Graph) and query.neighbours.is_connected(len(query.answers)):
        return ("distance", "zero-one")
    return ("absolute", "squared", "zero-one") if query.is_ordered else ("zero-one",)


def _sign(column: str) -> int:
    """+1 where less is better, -1 where more is."""
    return -1 if column in ("truth", "information") else 1


def format_measure(value: float | None) -> str:
    """Four significant digits, the zeros kept so that columns line up; a dash for what is not computed."""
    if value is None:
        return "–"
    if abs(value) < NOTHING:
        return "0.0000"
    if not 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}"
    return f"{value:.4f}"

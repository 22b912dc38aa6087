"""The guarantee of a mechanism, its proof and its accuracy, in plain sentences."""

import math
from typing import TYPE_CHECKING

from inbounds.exact import format_decimal
from inbounds.mechanism import Mechanism
from inbounds.mechanism.claims import list_unchecked_claims
from inbounds.query import AllPairs, Graph, Metric, RangeQuery

if TYPE_CHECKING:
    from inbounds.mechanism.labels import LabelMechanism

__all__ = [
    "LEGEND",
    "MEANING",
    "describe_accuracy",
    "describe_neighbours",
    "describe_proof",
    "describe_query",
    "format_guarantee",
    "list_unchecked_claims",
]


def format_label_guarantee(mechanism: "LabelMechanism") -> str:
    """Return the guarantee of a report that names a set of labels."""
    factor = math.exp(float(mechanism.epsilon))
    return (
        f"Whatever a person's label is, any report is at most {factor:.4g} times likelier than it would be with "
        f"another of the {len(mechanism.query.answers)} labels (epsilon {format_decimal(mechanism.epsilon)})."
    )


def format_guarantee(mechanism: Mechanism) -> str:
    """Return the guarantee in words, without formulas."""
    factor = math.exp(float(mechanism.epsilon))
    if isinstance(mechanism.query.neighbours, Metric):
        if mechanism.query.rounds:
            return _rounded_promise(mechanism)
        unit = mechanism.query.neighbours.unit
        return (
            f"Two true answers {unit} apart give any report with probabilities that differ by a factor of at most "
            f"{factor:.4g} (epsilon {format_decimal(mechanism.epsilon)}), and by that factor again for every "
            f"further {unit}."
        )
    query = mechanism.query
    if isinstance(query.neighbours, Graph):
        return _graph_promise(mechanism, query.neighbours)
    if not query.covers_one_record:
        return (
            f"Any report is at most {factor:.4g} times likelier under one true answer than under another at most "
            f"{format_decimal(query.sensitivity)} away (epsilon {format_decimal(mechanism.epsilon)}). This "
            f"protects a person whose "
            f"record cannot move the answer further, and nothing says so of the kind {query.kind!r}."
            f"{_cuts(query)}{_arithmetic(query)}"
        )
    return (
        f"Whatever one person's record is, any report is at most {factor:.4g} times likelier than it would be "
        f"with another record in its place (epsilon "
        f"{format_decimal(mechanism.epsilon)}).{_cuts(query)}{_arithmetic(query)}"
    )


def _graph_promise(mechanism: Mechanism, graph: Graph) -> str:
    """Return the guarantee along edges; for one-way edges, of one direction only."""
    factor, epsilon = f"{math.exp(float(mechanism.epsilon)):.4g}", format_decimal(mechanism.epsilon)
    if graph.is_undirected:
        return (
            f"Two true answers that are joined by an edge 1 long give any report with probabilities that differ by a "
            f"factor of at most {factor} (epsilon {epsilon}), any two true answers by that factor for every 1 of the "
            f"shortest path between them; nothing is promised where there is no path."
        )
    return (
        f"Any report is at most {factor} times likelier under the tail of an edge 1 long than under its head (epsilon "
        f"{epsilon}), and under any true answer than under another by that factor for every 1 of the shortest path "
        f"from the one to the other; nothing is promised of the way back, which a report may rule out, or where there "
        f"is no path."
    )


def _rounded_promise(mechanism: Mechanism) -> str:
    """Return the guarantee of metric privacy for rounded real answers: the cost of crossing a cell's edge."""
    query = mechanism.query
    assert isinstance(query.neighbours, Metric)
    rate = mechanism.epsilon * query.answers.unit / query.neighbours.unit
    return (
        f"True answers are rounded down into cells of {format_decimal(query.cell)}. Two true answers in "
        f"neighbouring cells, "
        f"however close, give any report with probabilities that differ by a factor of at most "
        f"{math.exp(float(rate)):.4g} (epsilon {format_decimal(rate)}), and by that factor again for every "
        f"further cell."
    )


def _arithmetic(query: RangeQuery) -> str:
    """Return a caveat if real answers are rounded without an allowance, else an empty text."""
    if not query.rounds or query.allowance or isinstance(query.neighbours, AllPairs):
        return ""
    return (
        " This holds for true answers that were computed exactly; the mechanism makes no allowance for the rounding "
        f"of sums in floating point, which may put two answers {format_decimal(query.sensitivity)} apart one "
        f"cell further."
    )


def _cuts(query: RangeQuery) -> str:
    """Return a caveat if the answers have gaps that no person can cross, else an empty text."""
    if not query.cuts:
        return ""
    if len(query.cuts) > 1:
        parts = f"the answers fall into {len(query.cuts) + 1} parts"
        return f" This holds if nobody can move the answer across a hole: {parts}, and a report may tell which."
    (j,) = query.cuts
    sides = f"between {format_decimal(query.answers[j])} and {format_decimal(query.answers[j + 1])}"
    return f" This holds if nobody can move the answer across the hole {sides}; a report may tell the side."


def describe_query(query: RangeQuery) -> str:
    """Describe the query in words."""
    if not query.is_ordered:
        return f"one of {len(query.answers)} {'labels' if query.places is None else 'places'}"
    first, last = query.answers[0], query.answers[-1]
    return f"{query.kind} with {len(query.answers)} possible answers from {first} to {last}"


def describe_neighbours(query: RangeQuery) -> str:
    """Describe which true answers are neighbours."""
    if isinstance(query.neighbours, AllPairs):
        return "any two true answers are neighbours"
    if isinstance(query.neighbours, Graph):
        return f"true answers are compared along {query.neighbours}"
    if isinstance(query.neighbours, Metric):
        pairs = "the cells of every two true answers" if query.rounds else "every two true answers"
        return f"{pairs} are compared, epsilon for each {query.neighbours.unit} between them"
    allowance = f", and {float(query.allowance):.3g} more for the arithmetic behind them" if query.allowance else ""
    return f"true answers at most {format_decimal(query.sensitivity)} apart are neighbours{allowance}"


def describe_proof(mechanism: Mechanism) -> list[str]:
    """Return what the checker established, step by step."""
    return mechanism.law.proof_steps(mechanism.query)


MEANING = {
    "row_honest": "each report is likeliest when it is the truth",
    "row_monotone": "each report gets less likely the further the truth is from it",
    "column_honest": "the truth is the likeliest report",
    "column_monotone": "reports get less likely the further they are from the truth",
    "fair": "the truth is reported equally often, whatever it is",
    "weakly_honest": "the truth is reported at least as often as by blind guessing",
    "symmetric": "low and high answers are treated alike",
}
"""The structural properties in words."""

LEGEND = "RH row honest, RM row monotone, CH column honest, CM column monotone, F fair, WH weakly honest, S symmetric"


def describe_accuracy(mechanism: Mechanism) -> str:
    """Describe the error of reports in sentences."""
    from inbounds.evaluate.goals import narrowest_interval_at

    truth = mechanism.truth_probability()
    truth_text = f"with probability {_between(float(truth.min()), float(truth.max()))}"
    if not mechanism.query.is_ordered:
        return f"It reports the truth {truth_text}."
    distance = narrowest_interval_at(
        mechanism.query, mechanism.epsilon, "0.9", lambda query, epsilon: mechanism
    ).promise.distance
    assert distance is not None
    return (
        f"Averaged over all true answers it misses by {mechanism.loss():.3g}; for the true answer that it serves "
        f"worst, by {mechanism.worst_loss():.3g}. Whatever the truth, the report is within ±{float(distance):g} of it "
        f"with probability 90 % or more. It hits the truth itself {truth_text}."
    )


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if high - low < 1e-6 else f"{low:.3g} to {high:.3g}"

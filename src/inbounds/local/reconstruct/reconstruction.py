"""reconstruct: the distribution of true values behind many private reports."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from inbounds.errors import NotConverged, used_like
from inbounds.extras import pandas_frame, polars_frame
from inbounds.local.reconstruct import ibu, uncertainty
from inbounds.local.reconstruct.affine import AffineReading, even
from inbounds.local.reconstruct.channel import Geometric, Merged
from inbounds.local.reconstruct.convolved import Convolved
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.multiscale import multiscale
from inbounds.local.reconstruct.newton import Found, Likelihood, Squares, Watch, minimize
from inbounds.local.reconstruct.problem import Given, ReconstructionProblem
from inbounds.local.reconstruct.sets import Sets
from inbounds.local.reconstruct.shrinkage import shrunk
from inbounds.local.reconstruct.stopping import held_out_steps, whole_counts
from inbounds.local.reconstruct.uncertainty import Intervals
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import answer_values
from inbounds.numbers import Floats
from inbounds.report import svg
from inbounds.report.layout import thinned
from inbounds.report.notebook import SHOWN_ROWS, cell_text, shown, text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Method = Literal["ibu", "held-out", "multiscale", "shrunk", "inverse", "least-squares"]
Acceleration = Literal["newton", "squarem", "none"]

LIMIT = 200_000
"""Steps before an iteration is called not converged."""

WARM_UP = 20
"""Plain updates before the first Newton step: they find the region, Newton steps find the point."""

MANY = 16
"""Labels from which on their shares tell of each other; with fewer the maximum is as good, and certified."""

MOST_BARS = 200
"""Answers that are drawn as bars in a notebook."""

KEPT_MAXIMUM = "the maximum of the likelihood, which explains held-out reports at least as well as fewer updates"

NEGLIGIBLE = (1e-7, 1e-9, 1e-11)
"""An interior method leaves dust at answers that the maximum excludes. Probabilities below the first of these that
keeps the certificate become zero."""


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """An estimated distribution of true values, with what is proved about it.

    distribution: one probability per answer, in the order of the answers. residual: max_j r_j - 1 with
    r_j = sum_i q_i P[i, j] / (P p)_i; no distribution has a log-likelihood higher by more than reports · residual
    (`gap`), and at the maximum it is zero. It is an upper bound for the mechanism's own integers, so where a fast
    shape stands for them it includes the difference. converged: the iteration itself reached its tolerance. path:
    the log-likelihood per report after every step, from the start. raw: for methods "inverse", "multiscale" and
    "shrunk", the unbiased solution, which may leave the simplex. choice: what was chosen by the reports, in words.
    """

    distribution: Floats
    method: str
    reports: float
    iterations: int
    residual: float
    converged: bool
    path: Floats
    problem: ReconstructionProblem
    raw: Floats | None = field(default=None)
    choice: str = ""

    @property
    def gap(self) -> float:
        """How much higher, at most, the log-likelihood of all reports can be for any other distribution."""
        return self.reports * self.residual

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood per report of this distribution, sum_i q_i log (P p)_i."""
        return self.problem.log_likelihood(self.distribution)

    def to_json(self, answers: Iterable[Any]) -> dict[str, Any]:
        """Plain JSON values; answers: what the true values are called, in their order."""
        return {
            "reports": self.reports,
            "method": self.method,
            "choice": self.choice,
            "iterations": self.iterations,
            "residual": self.residual if math.isfinite(self.residual) else None,
            "gap": self.gap if math.isfinite(self.gap) else None,
            "log_likelihood": self.log_likelihood,
            "distribution": dict(zip(map(str, answers), self.distribution.tolist(), strict=True)),
        }

    def standard_errors(self) -> Floats:
        """Approximate standard error of every probability, from the curvature of the likelihood on its support."""
        return uncertainty.standard_errors(self)

    def bootstrap(self, rng: np.random.Generator, runs: int = 200, level: float = 0.95) -> Intervals:
        """Percentile intervals from `runs` reconstructions of resampled reports."""
        return uncertainty.bootstrap(self, again, rng, runs, level)

    def again(self, counts: Floats) -> Floats:
        """The distribution that the same method and stopping give for other counts of the same outputs."""
        return again(self, counts)

    @property
    def answers(self) -> list[Any]:
        """The true values in their order, as the query calls them; positions where a plain matrix was given."""
        query = self.problem.query
        return list(range(len(self.distribution))) if query is None else answer_values(query).tolist()

    def columns(self) -> dict[str, list[Any]]:
        """Every answer with its share."""
        return {"answer": self.answers, "share": self.distribution.tolist()}

    def to_pandas(self) -> Any:
        """A pandas frame with a row for each answer and its share."""
        return pandas_frame(self.columns())

    def to_polars(self) -> Any:
        """A Polars frame with a row for each answer and its share."""
        return polars_frame(self.columns())

    def plot(self) -> "Figure":
        """The distribution as bars (extra `figures`)."""
        from inbounds.report.figures import shares

        return shares([cell_text(answer) for answer in self.answers], self.distribution)

    def __str__(self) -> str:
        """What it is, and the largest shares."""
        order = np.argsort(-self.distribution, kind="stable")[:SHOWN_ROWS]
        rows = [[self.answers[k], f"{100 * self.distribution[k]:.2f} %"] for k in sorted(order.tolist())]
        return f"{self!r}\n{text_table(['answer', 'share'], rows)}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the distribution as bars, and what is proved about it."""
        names = [cell_text(answer) for answer in self.answers]
        drawn = thinned(len(names), MOST_BARS)
        pictures = [svg.bars(self.distribution, names, "true answer", "share")] if len(drawn) == len(names) else []
        notes = [f"{self.method}, {self.iterations} steps, residual {self.residual:.2g}", self.choice]
        notes += [] if self.converged else ["The iteration was stopped before it converged."]
        title = f"The distribution of {len(names)} answers behind {self.reports:.12g} reports"
        rows = [[names[k], f"{100 * self.distribution[k]:.2f} %"] for k in drawn]
        return shown(title, pictures=pictures, head=["answer", "share"], rows=rows, notes=filter(None, notes))

    def __repr__(self) -> str:
        state = "" if self.converged else "not converged, "
        return (
            f"<Reconstruction over {len(self.distribution)} answers from {self.reports:.12g} reports: "
            f"{self.method}, {self.iterations} steps, {state}residual {self.residual:.2g}>"
        )


@used_like("ib.reconstruct(reports, mechanism)")
def reconstruct(
    reports: Any,
    mechanism: Mechanism | ArrayLike | None = None,
    *,
    method: Method | None = None,
    acceleration: Acceleration | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-9,
    iterations: int | None = None,
    given: Given | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Reconstruction:
    """The distribution of true values that explains private reports best.

    reports: a `Collector`, the counts of the outputs (or their frequencies), or reported values. Exactly one number
    per output are counts, unless all of them could be reports as well: then `given` must say "counts" or "reports".
    mechanism: the mechanism that made the reports, or any matrix P[output, answer] with columns summing to one; a
    collector brings its own.

    method "ibu": the maximum of the likelihood, the limit of the iterative Bayesian update (001 Definition 1 and
    Theorem 1). acceleration: "newton" (default where the matrix allows it), "squarem", or "none" for the plain
    iterates. Stops when the residual, a bound on what the log-likelihood per report can still gain, is at most
    `tolerance`; raises `NotConverged` if it never is. With `iterations`, that many steps at most and no such error.
    method "held-out": plain updates, as many as explain held-out reports best, or the maximum where that does; the
    default for geometric noise. method "multiscale": each share by empirical Bayes, sums of neighbouring ones as the
    reports know them; the default for reports about labels. method "shrunk": the same without regard to their order.
    Without a method the channel decides (`Reconstruction.choice` says what was found), "ibu" for all others.
    method "inverse": P^-1 q, projected onto the simplex. method "least-squares": the distribution whose P p is
    nearest to q. start: any distribution with full support. progress: called with steps and residual.

    A step costs O(domain) for geometric-shaped and randomized-response matrices, O(outputs · answers) otherwise;
    a Newton step O(domain), or O(answers³) otherwise.

    >>> import inbounds as ib
    >>> m = ib.catalog.randomized_response(ib.category(["no", "yes"]), ib.alpha("1/3"))
    >>> reconstruct([600, 400], m).distribution.round(3).tolist()
    [0.7, 0.3]
    """
    if isinstance(reports, Mechanism):
        raise TypeError("reports must be reports, their counts or a Collector, got a Mechanism; it comes after them")
    told = method or ("ibu" if acceleration or iterations or start is not None else None)
    _check_options(told or "ibu", acceleration, tolerance, iterations)
    problem = ReconstructionProblem.of(reports, mechanism, start, given)
    chosen, watch = told or best_method(problem), progress or _nobody
    match chosen:
        case "held-out":
            return _held_out(problem, tolerance, watch)
        case "multiscale" | "shrunk":
            return _by_shrinking(problem, chosen)
        case "inverse":
            return _inverse(problem)
        case "least-squares":
            return _least_squares(problem, tolerance, watch)
    return _maximum(problem, acceleration, tolerance, iterations, watch)


def best_method(problem: ReconstructionProblem) -> Method:
    """What measures best for a channel (docs/benchmarks/local.md): updates stopped by held-out reports where the noise
    is geometric or spreads over a large map, shares by empirical Bayes for reports about labels, the maximum of the
    likelihood elsewhere."""
    counted, channel = whole_counts(problem) is not None, problem.channel
    if isinstance(channel, Sets):
        return "multiscale" if counted else "inverse"
    about_labels = problem.query is not None and not problem.query.ordered
    if counted and about_labels and channel.shape[1] >= MANY and even(channel, problem.q) is not None:
        return "multiscale"
    return "held-out" if isinstance(problem.channel, Geometric | Merged | Convolved) else "ibu"


def again(result: Reconstruction, counts: Floats) -> Floats:
    """The same estimate from other counts of the same outputs, stopped after as many updates; for resampling."""
    old = result.problem
    stopped = result.method.startswith("ibu") and not result.converged
    start = old.start if stopped else (result.distribution + old.start) / 2
    problem = ReconstructionProblem.counted(old.channel, counts, start / start.sum(), old.query)
    if result.method == "inverse":
        return _inverse(problem).distribution
    if result.method in SHRINKING:
        return _by_shrinking(problem, result.method).distribution
    if result.method == "least-squares":
        return _least_squares(problem, RESAMPLED, _nobody).distribution
    if stopped:
        updates = ibu.iterate if result.method == "ibu" else ibu.squarem
        return ibu.run(updates(problem.channel, problem.q, problem.start), RESAMPLED, result.iterations, _nobody).p
    return maximum(problem, RESAMPLED)


def maximum(problem: ReconstructionProblem, tolerance: float) -> Floats:
    """The distribution of greatest likelihood, by the fastest steps that the channel allows."""
    return _maximum(problem, None, tolerance, None, _nobody).distribution


RESAMPLED = 1e-7
"""Residual for resampled reports: far below the spread between them."""


def _check_options(method: Method, acceleration: Acceleration | None, tolerance: float, iterations: int | None) -> None:
    _one_of(method, Method, "method")
    if acceleration is not None:
        _one_of(acceleration, Acceleration, "acceleration")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must be between 0 and 1, got {tolerance!r}; the default is 1e-9")
    if iterations is not None and not iterations >= 1:
        raise ValueError(f"iterations must be at least 1, got {iterations!r}")
    if iterations is not None and (method != "ibu" or acceleration == "newton"):
        raise ValueError("iterations must be left out here: only plain and extrapolated updates are counted out")
    if acceleration is not None and method != "ibu":
        raise ValueError(f"acceleration must be left out with method {method!r}, which does not iterate updates")


def _one_of(value: str, choices: Any, name: str) -> None:
    if value not in choices.__args__:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices.__args__))}, got {value!r}")


def _nobody(step: int, residual: float) -> None:
    """Nobody is watching."""


# --- the methods ------------------------------------------------------------------------------------------


def _maximum(
    problem: ReconstructionProblem,
    acceleration: Acceleration | None,
    tolerance: float,
    iterations: int | None,
    watch: Watch,
) -> Reconstruction:
    chosen = acceleration or ("newton" if problem.channel.solvable and iterations is None else "squarem")
    if chosen == "newton":
        found = _by_newton(problem, tolerance, watch)
    else:
        updates = ibu.iterate if chosen == "none" else ibu.squarem
        found = ibu.run(updates(problem.channel, problem.q, problem.start), tolerance, iterations or LIMIT, watch)
    converged = found.residual <= tolerance
    if iterations is None and not converged:
        raise NotConverged(
            f"the residual must be at most {tolerance:.2g}, and after {len(found.path)} steps it is "
            f"{found.residual:.2g}; raise the tolerance, or give iterations to stop where you choose"
        )
    return _record(problem, found, "ibu" if chosen == "none" else f"ibu, {chosen}", converged)


def _record(
    problem: ReconstructionProblem, found: Found, name: str, converged: bool, raw: Floats | None = None
) -> Reconstruction:
    residual, path = problem.residual(found.p), np.array(found.path)
    return Reconstruction(found.p, name, problem.reports, len(path) - 1, residual, converged, path, problem, raw)


def _by_newton(problem: ReconstructionProblem, tolerance: float, watch: Watch) -> Found:
    """Some plain updates, Newton steps, and extrapolated updates should Newton's method stall."""
    channel, q = problem.channel, problem.q
    warm = ibu.run(ibu.iterate(channel, q, problem.start), tolerance, WARM_UP, watch)
    if warm.residual <= tolerance:
        return warm
    aim = tolerance / 4  # leaves room for zeros and slack
    found = minimize(channel, Likelihood(q), warm.p, aim, lambda k, residual: watch(WARM_UP + k, residual))
    path = (*warm.path, *(-value for value in found.path[1:]))
    if found.residual <= tolerance:
        return Found(_without_dust(problem, found.p, tolerance), path, found.residual)
    start = np.maximum(found.p, NEGLIGIBLE[-1] / len(found.p))
    updates = ibu.squarem(channel, q, start / start.sum())
    rest = ibu.run(updates, tolerance, LIMIT, lambda k, residual: watch(len(path) + k, residual))
    return Found(rest.p, (*path, *rest.path), rest.residual)


def _without_dust(problem: ReconstructionProblem, p: Floats, tolerance: float) -> Floats:
    """Zeros in place of negligible probabilities, unless that costs the certificate."""
    allowed = max(tolerance, problem.residual(p))
    for level in NEGLIGIBLE:
        clean = np.where(p > level, p, 0.0)
        clean = clean / clean.sum()
        if problem.residual(clean) <= allowed:
            return np.asarray(clean)
    return p


def _held_out(problem: ReconstructionProblem, tolerance: float, watch: Watch) -> Reconstruction:
    """Plain updates, as many as explain held-out reports best, or the maximum."""
    steps = held_out_steps(problem, lambda half: maximum(half, RESAMPLED))
    if steps is None:
        return replace(_maximum(problem, None, tolerance, None, watch), choice=KEPT_MAXIMUM)
    found = ibu.run(ibu.iterate(problem.channel, problem.q, problem.start), tolerance, steps, watch)
    choice = f"stopped after {steps} updates, where half of the reports explain the other half best"
    return replace(_record(problem, found, "ibu", found.residual <= tolerance), choice=choice)


SHRINKING: dict[str, tuple[Callable[[AffineReading, float], Floats], str]] = {
    "multiscale": (
        multiscale,
        "each share is the mean of what its count leaves open, among shares distributed as those of all labels; "
        "sums of neighbouring ones follow the reports where these know them better",
    ),
    "shrunk": (shrunk, "each share is the mean of what its count leaves open, among shares distributed as all are"),
}


def _by_shrinking(problem: ReconstructionProblem, method: str) -> Reconstruction:
    """Labels that reports cannot tell apart are drawn together; see `shrinkage` and `multiscale`."""
    law = even(problem.channel, problem.q)
    if law is None:
        raise ValueError(f"method must not be {method!r} here: it is for reports that name labels, or sets of labels")
    if whole_counts(problem) is None:
        raise ValueError(
            f"method {method!r} needs counts of reports; these are frequencies without a number of reports"
        )
    estimate, choice = SHRINKING[method]
    p, raw = estimate(law, problem.reports), problem.channel.invert(problem.q)
    return _estimate(problem, p, method, raw, choice)


def _estimate(problem: ReconstructionProblem, p: Floats, name: str, raw: Floats, choice: str) -> Reconstruction:
    """An estimate that is not a maximum of the likelihood; for sets it is not judged by it, which would take longer."""
    if not isinstance(problem.channel, Sets):
        return replace(_record(problem, Found(p, (problem.log_likelihood(p),), 0.0), name, True, raw), choice=choice)
    return Reconstruction(p, name, problem.reports, 0, math.inf, True, np.zeros(0), problem, raw, choice)


def _inverse(problem: ReconstructionProblem) -> Reconstruction:
    raw = problem.channel.invert(problem.q)
    return _estimate(problem, onto_simplex(raw), "inverse", raw, "")


def _least_squares(problem: ReconstructionProblem, tolerance: float, watch: Watch) -> Reconstruction:
    if not problem.channel.solvable:
        raise ValueError("method must be 'ibu' for a noise table whose outputs are renamed out of order")
    found = minimize(problem.channel, Squares(problem.q), problem.start, tolerance, watch)
    if not found.residual <= tolerance:
        raise NotConverged(
            f"the residual must be at most {tolerance:.2g}, it is {found.residual:.2g}; raise the tolerance"
        )
    return _record(problem, found, "least-squares", True)

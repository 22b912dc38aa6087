"""The result of a reconstruction: an estimated distribution, its method, and what is proved about it."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.errors import check_kind
from inbounds.exact import Floats
from inbounds.local.reconstruct import uncertainty
from inbounds.local.reconstruct.problem import ReconstructionProblem
from inbounds.local.reconstruct.uncertainty import Intervals
from inbounds.mechanism.bayes import answer_values
from inbounds.optional import to_pandas_frame, to_polars_frame
from inbounds.report import svg
from inbounds.report.notebook import SHOWN_ROWS, cell_text, render_notebook, text_table
from inbounds.report.templates import pick_evenly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 200
"""Answers that are drawn as bars in a notebook."""


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """An estimated distribution of true values, with what is proved about it.

    distribution: one probability per answer, in the order of the answers. residual: max_j r_j - 1 with
    r_j = sum_i q_i P[i, j] / (P p)_i; no distribution has a log-likelihood higher by more than reports · residual
    (`gap`), and at the maximum it is zero. It is an upper bound for the mechanism's own integers, so where a fast
    shape stands for them it includes the difference. converged: the iteration itself reached its tolerance. path:
    the log-likelihood per report after every step, from the start. repeat: how `again` estimates. raw: for methods
    "inverse", "multiscale" and "shrunk", the unbiased solution, which may leave the simplex. choice: what was chosen by
    the reports, in words.
    """

    distribution: Floats
    method: str
    reports: float
    iterations: int
    residual: float
    converged: bool
    path: Floats
    problem: ReconstructionProblem
    repeat: "Callable[[Reconstruction, Floats], Floats]"
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
        """Return plain JSON values; answers: what the true values are called, in their order."""
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
        """Return the approximate standard error of every probability, from the curvature of the likelihood on its
        support.
        """
        return uncertainty.standard_errors(self)

    def bootstrap(self, rng: np.random.Generator, runs: int = 200, level: float = 0.95) -> Intervals:
        """Return percentile intervals from `runs` reconstructions of resampled reports."""
        check_kind(rng, np.random.Generator, "rng", "a generator such as np.random.default_rng(0)")
        return uncertainty.bootstrap(self, rng, runs, level)

    def again(self, counts: Floats) -> Floats:
        """Return the distribution that the same method and stopping give for other counts of the same outputs."""
        return self.repeat(self, counts)

    @property
    def answers(self) -> list[Any]:
        """The true values in their order, as the query calls them; positions where a plain matrix was given."""
        query = self.problem.query
        return list(range(len(self.distribution))) if query is None else answer_values(query).tolist()

    def columns(self) -> dict[str, list[Any]]:
        """Return every answer with its share."""
        return {"answer": self.answers, "share": self.distribution.tolist()}

    def to_pandas(self) -> Any:
        """Return a pandas frame with a row for each answer and its share."""
        return to_pandas_frame(self.columns())

    def to_polars(self) -> Any:
        """Return a Polars frame with a row for each answer and its share."""
        return to_polars_frame(self.columns())

    def plot(self) -> "Figure":
        """Plot the distribution as bars (extra `figures`)."""
        from inbounds.report.figures import shares

        return shares([cell_text(answer) for answer in self.answers], self.distribution)

    def __str__(self) -> str:
        """Return the method and the largest shares as text."""
        order = np.argsort(-self.distribution, kind="stable")[:SHOWN_ROWS]
        rows = [[self.answers[k], f"{100 * self.distribution[k]:.2f} %"] for k in sorted(order.tolist())]
        return f"{self!r}\n{text_table(['answer', 'share'], rows)}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the distribution as bars, and what is proved about it."""
        names = [cell_text(answer) for answer in self.answers]
        drawn = pick_evenly(len(names), MOST_BARS)
        pictures = [svg.bars(self.distribution, names, "true answer", "share")] if len(drawn) == len(names) else []
        notes = [f"{self.method}, {self.iterations} steps, residual {self.residual:.2g}", self.choice]
        notes += [] if self.converged else ["The iteration was stopped before it converged."]
        title = f"The distribution of {len(names)} answers behind {self.reports:.12g} reports"
        rows = [[names[k], f"{100 * self.distribution[k]:.2f} %"] for k in drawn]
        return render_notebook(title, pictures=pictures, head=["answer", "share"], rows=rows, notes=filter(None, notes))

    def __repr__(self) -> str:
        state = "" if self.converged else "not converged, "
        return (
            f"<Reconstruction over {len(self.distribution)} answers from {self.reports:.12g} reports: "
            f"{self.method}, {self.iterations} steps, {state}residual {self.residual:.2g}>"
        )

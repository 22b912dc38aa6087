"""The methods that estimate a distribution, and the choice among them."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from inbounds.errors import ConvergenceError
from inbounds.exact import Floats
from inbounds.local.reconstruct import ibu
from inbounds.local.reconstruct.affine_estimator import AffineEstimator, even
from inbounds.local.reconstruct.channel import DenseChannel, GeometricChannel, MergedChannel
from inbounds.local.reconstruct.convolution_channel import ConvolutionChannel
from inbounds.local.reconstruct.early_stopping import held_out_steps, whole_counts
from inbounds.local.reconstruct.likelihood_interior import (
    InteriorSolution,
    LikelihoodObjective,
    SquaredObjective,
    Watch,
    minimize,
)
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.multiscale import estimate_multiscale
from inbounds.local.reconstruct.problem import ReconstructionProblem
from inbounds.local.reconstruct.result import Reconstruction
from inbounds.local.reconstruct.sets import SetReports
from inbounds.local.reconstruct.shrinkage import shrink_shares

Method = Literal["ibu", "held-out", "multiscale", "shrunk", "inverse", "least-squares"]
Acceleration = Literal["newton", "squarem", "none"]

LIMIT = 200_000
"""Steps before an iteration is called not converged."""

WARM_UP = 20
"""Plain updates before the first Newton step: they find the region, Newton steps find the point."""

FEWEST_SHRUNK = 4
"""Labels from which on their shares are estimated together. Four shares have three degrees of freedom, from which on
shrinking estimates towards each other beats leaving them alone (Stein 1956); fewer keep the certified maximum."""

RESAMPLED = 1e-7
"""Residual for resampled reports: far below the spread between them."""

KEPT_MAXIMUM = "the maximum of the likelihood, which explains held-out reports at least as well as fewer updates"

NEGLIGIBLE = (1e-7, 1e-9, 1e-11)
"""An interior method leaves dust at answers that the maximum excludes. Probabilities below the first of these that
keeps the certificate become zero."""


def choose_method(problem: ReconstructionProblem) -> Method:
    """Choose the method that suits a channel.

    Posterior means for reports about four labels or more; updates stopped by held-out reports if the noise follows a
    distance; the maximum of the likelihood otherwise.
    """
    counted, channel = whole_counts(problem) is not None, problem.channel
    if channel.shape[1] >= FEWEST_SHRUNK and counted and is_about_labels(problem):
        return "multiscale"
    if isinstance(channel, SetReports):
        return "ibu" if counted else "inverse"
    return "held-out" if has_distances(problem) else "ibu"


def is_about_labels(problem: ReconstructionProblem) -> bool:
    """Return whether every label has the same chance to be reported, and the same to be named by others."""
    if isinstance(problem.channel, SetReports):
        return True
    return problem.about_labels and even(problem.channel, problem.q) is not None


def has_distances(problem: ReconstructionProblem) -> bool:
    """Return whether near answers are reported for each other more often than far ones."""
    if isinstance(problem.channel, GeometricChannel | MergedChannel | ConvolutionChannel):
        return True
    return problem.about_distances and isinstance(problem.channel, DenseChannel)


def rerun(result: Reconstruction, counts: Floats) -> Floats:
    """Return the same estimate from other counts of the same outputs, after as many updates; for resampling."""
    old = result.problem
    stopped = result.method.startswith("ibu") and not result.converged
    start = old.start if stopped else (result.distribution + old.start) / 2
    problem = ReconstructionProblem.from_channel(old.channel, counts, start / start.sum(), old.query)
    if result.method == "inverse":
        return by_inversion(problem).distribution
    if result.method in SHRINKING:
        return by_shrinking(problem, result.method).distribution
    if result.method == "least-squares":
        return by_least_squares(problem, RESAMPLED, ignore_progress).distribution
    if stopped:
        updates = ibu.iterate if result.method == "ibu" else ibu.squarem
        return ibu.run_updates(
            updates(problem.channel, problem.q, problem.start), RESAMPLED, result.iterations, ignore_progress
        ).p
    return maximize_likelihood(problem, RESAMPLED)


def maximize_likelihood(problem: ReconstructionProblem, tolerance: float) -> Floats:
    """Return the distribution of greatest likelihood, by the fastest steps that the channel allows."""
    return by_likelihood(problem, None, tolerance, None, ignore_progress).distribution


def ignore_progress(step: int, residual: float) -> None:
    """Do nothing; the default progress function."""


# --- the methods ------------------------------------------------------------------------------------------


def by_likelihood(
    problem: ReconstructionProblem,
    acceleration: Acceleration | None,
    tolerance: float,
    iterations: int | None,
    watch: Watch,
) -> Reconstruction:
    chosen = acceleration or ("newton" if problem.channel.solvable and iterations is None else "squarem")
    if chosen == "newton":
        solution = _by_newton(problem, tolerance, watch)
    else:
        updates = ibu.iterate if chosen == "none" else ibu.squarem
        solution = ibu.run_updates(
            updates(problem.channel, problem.q, problem.start), tolerance, iterations or LIMIT, watch
        )
    converged = solution.residual <= tolerance
    if iterations is None and not converged:
        raise ConvergenceError(
            f"the residual must be at most {tolerance:.2g}, and after {len(solution.path)} steps it is "
            f"{solution.residual:.2g}; raise the tolerance, or give iterations to stop where you choose"
        )
    return _record(problem, solution, "ibu" if chosen == "none" else f"ibu, {chosen}", converged)


def _record(
    problem: ReconstructionProblem, solution: InteriorSolution, name: str, converged: bool, raw: Floats | None = None
) -> Reconstruction:
    residual, path = problem.residual(solution.p), np.array(solution.path)
    return Reconstruction(
        solution.p, name, problem.reports, len(path) - 1, residual, converged, path, problem, rerun, raw
    )


def _by_newton(problem: ReconstructionProblem, tolerance: float, watch: Watch) -> InteriorSolution:
    """Take some plain updates, then Newton steps, and extrapolated updates if Newton's method stalls."""
    channel, q = problem.channel, problem.q
    warm = ibu.run_updates(ibu.iterate(channel, q, problem.start), tolerance, WARM_UP, watch)
    if warm.residual <= tolerance:
        return warm
    aim = tolerance / 4  # leaves room for zeros and slack
    solution = minimize(channel, LikelihoodObjective(q), warm.p, aim, lambda k, residual: watch(WARM_UP + k, residual))
    path = (*warm.path, *(-value for value in solution.path[1:]))
    if solution.residual <= tolerance:
        return InteriorSolution(_without_dust(problem, solution.p, tolerance), path, solution.residual)
    start = np.maximum(solution.p, NEGLIGIBLE[-1] / len(solution.p))
    updates = ibu.squarem(channel, q, start / start.sum())
    rest = ibu.run_updates(updates, tolerance, LIMIT, lambda k, residual: watch(len(path) + k, residual))
    return InteriorSolution(rest.p, (*path, *rest.path), rest.residual)


def _without_dust(problem: ReconstructionProblem, p: Floats, tolerance: float) -> Floats:
    """Set negligible probabilities to zero, unless that costs the certificate."""
    allowed = max(tolerance, problem.residual(p))
    for level in NEGLIGIBLE:
        clean = np.where(p > level, p, 0.0)
        clean = clean / clean.sum()
        if problem.residual(clean) <= allowed:
            return np.asarray(clean)
    return p


def by_held_out(problem: ReconstructionProblem, tolerance: float, watch: Watch) -> Reconstruction:
    """Take as many plain updates as explain held-out reports best, or go to the maximum."""
    steps = held_out_steps(problem, lambda half: maximize_likelihood(half, RESAMPLED))
    if steps is None:
        return replace(by_likelihood(problem, None, tolerance, None, watch), choice=KEPT_MAXIMUM)
    solution = ibu.run_updates(ibu.iterate(problem.channel, problem.q, problem.start), tolerance, steps, watch)
    choice = f"stopped after {steps} updates, where half of the reports explain the other half best"
    return replace(_record(problem, solution, "ibu", solution.residual <= tolerance), choice=choice)


SHRINKING: dict[str, tuple[Callable[[AffineEstimator, float], Floats], str]] = {
    "multiscale": (
        estimate_multiscale,
        "posterior means: shares have a Dirichlet prior, also those of blocks of neighbouring labels, and the reports "
        "decide how far labels are drawn together and whether their order matters",
    ),
    "shrunk": (
        shrink_shares,
        "posterior means: shares have a Dirichlet prior, and the reports decide how far labels are drawn together",
    ),
}


def by_shrinking(problem: ReconstructionProblem, method: str) -> Reconstruction:
    """Shrink the shares of labels that reports cannot tell apart; see `shrinkage` and `estimate_multiscale`."""
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
    """Build the result of an estimate that is not a maximum of the likelihood; for sets the residual is left out,
    because it takes longer.
    """
    if not isinstance(problem.channel, SetReports):
        return replace(
            _record(problem, InteriorSolution(p, (problem.log_likelihood(p),), 0.0), name, True, raw), choice=choice
        )
    return Reconstruction(p, name, problem.reports, 0, math.inf, True, np.zeros(0), problem, rerun, raw, choice)


def by_inversion(problem: ReconstructionProblem) -> Reconstruction:
    raw = problem.channel.invert(problem.q)
    return _estimate(problem, onto_simplex(raw), "inverse", raw, "")


def by_least_squares(problem: ReconstructionProblem, tolerance: float, watch: Watch) -> Reconstruction:
    if not problem.channel.solvable:
        raise ValueError("method must be 'ibu' for a noise table whose outputs are renamed out of order")
    solution = minimize(problem.channel, SquaredObjective(problem.q), problem.start, tolerance, watch)
    if not solution.residual <= tolerance:
        raise ConvergenceError(
            f"the residual must be at most {tolerance:.2g}, it is {solution.residual:.2g}; raise the tolerance"
        )
    return _record(problem, solution, "least-squares", True)

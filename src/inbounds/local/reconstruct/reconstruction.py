"""`reconstruct`: the distribution of true values behind many private reports."""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from inbounds.local.reconstruct import methods
from inbounds.local.reconstruct.methods import Acceleration, Method
from inbounds.local.reconstruct.problem import Given, ReconstructionProblem
from inbounds.local.reconstruct.result import Reconstruction
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery


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
    """Reconstruct the distribution of true values that explains private reports best.

    reports: a `Collector`, the counts of the outputs (or their frequencies), or reported values. Exactly one number
    per output are counts, unless all of them could be reports as well: then `given` must say "counts" or "reports".
    mechanism: the mechanism that made the reports, or any matrix P[output, answer] with columns summing to one; a
    collector brings its own.

    method "ibu": the maximum of the likelihood, the limit of the iterative Bayesian update (001 Definition 1 and
    Theorem 1). acceleration: "newton" (default where the matrix allows it), "squarem", or "none" for the plain
    iterates. Stops when the residual, a bound on what the log-likelihood per report can still gain, is at most
    `tolerance`; raises `ConvergenceError` if it never is. With `iterations`, that many steps at most and no such error.
    method "held-out": plain updates, as many as explain held-out reports best, or the maximum where that does; the
    default for noise that follows a distance, of numbers or places.
    method "multiscale": posterior means of shares under a Dirichlet prior, also of sums of neighbouring ones; the
    default for reports about 4 labels or more. method "shrunk": the same without regard to their order.
    Without a method the channel decides (`Reconstruction.choice` says what was found), "ibu" for all others.
    method "inverse": P^-1 q, projected onto the simplex. method "least-squares": the distribution whose P p is
    nearest to q. start: any distribution with full support. progress: called with steps and residual.

    A step costs O(domain) for geometric-shaped and randomized-response matrices, O(outputs · answers) otherwise;
    a Newton step O(domain), or O(answers³) otherwise.

    >>> import inbounds as ib
    >>> m = ib.catalog.randomized_response(ib.category(["no", "yes"]), ib.epsilon_from_alpha("1/3"))
    >>> reconstruct([600, 400], m).distribution.round(3).tolist()
    [0.7, 0.3]
    """
    if isinstance(reports, Mechanism):
        raise TypeError("reports must be reports, their counts or a Collector, got a Mechanism; it comes after them")
    if isinstance(mechanism, RangeQuery):
        raise TypeError("mechanism must be a mechanism such as ib.optimal(ib.count(20), 1), got a Query")
    method_name = method or ("ibu" if acceleration or iterations or start is not None else None)
    _check_options(method_name or "ibu", acceleration, tolerance, iterations)
    problem = ReconstructionProblem.from_counts(reports, mechanism, start, given)
    chosen, watch = method_name or methods.choose_method(problem), progress or methods.ignore_progress
    match chosen:
        case "held-out":
            return methods.by_held_out(problem, tolerance, watch)
        case "multiscale" | "shrunk":
            return methods.by_shrinking(problem, chosen)
        case "inverse":
            return methods.by_inversion(problem)
        case "least-squares":
            return methods.by_least_squares(problem, tolerance, watch)
    return methods.by_likelihood(problem, acceleration, tolerance, iterations, watch)


def _check_options(method: Method, acceleration: Acceleration | None, tolerance: float, iterations: int | None) -> None:
    _check_choice(method, Method, "method")
    if acceleration is not None:
        _check_choice(acceleration, Acceleration, "acceleration")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must be between 0 and 1, got {tolerance!r}; the default is 1e-9")
    if iterations is not None and not iterations >= 1:
        raise ValueError(f"iterations must be at least 1, got {iterations!r}")
    if iterations is not None and (method != "ibu" or acceleration == "newton"):
        raise ValueError("iterations must be left out here: only plain and extrapolated updates are counted out")
    if acceleration is not None and method != "ibu":
        raise ValueError(f"acceleration must be left out with method {method!r}, which does not iterate updates")


def _check_choice(value: str, choices: Any, name: str) -> None:
    if value not in choices.__args__:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices.__args__))}, got {value!r}")

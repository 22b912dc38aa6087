"""Expected loss as a function of the number of answers: exact if it can be enumerated, else by simulation."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from inbounds.attack.collusion import (
    ESTIMATORS,
    Estimator,
    ReportReader,
    check_reports,
    log_likelihood,
    log_matrix,
    posteriors,
)
from inbounds.exact import Floats, Ints, to_int
from inbounds.losses import ErrorLoss, LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import Mechanism
from inbounds.trusted.bounds import TOTAL_BITS
from inbounds.trusted.samplers import Draws, seeded_entropy

LARGEST = 20_000
"""The most different tallies of k outputs that are enumerated; above, runs are simulated."""

CELLS = 1 << 20
"""The most numbers in one array of a simulation."""

MANY, WORK = 50, 5 * 10**10
"""The most true answers that are simulated one by one, and the most multiplications of a simulation of more."""


@dataclass(frozen=True)
class CollusionResult:
    """The loss after `answers` outputs, for each estimator.

    loss: expected loss. error: its standard error, 0 if computed exactly; a simulation without a single miss has the
    error of one miss in all its runs.
    """

    answers: int
    loss: dict[Estimator, float]
    error: dict[Estimator, float]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"answers": self.answers, "loss": self.loss, "standard_error": self.error}

    def exact(self, by: Estimator) -> bool:
        """Return whether the value was computed exactly, not simulated."""
        return self.error[by] == 0.0


def simulate_collusion(
    mechanism: Mechanism,
    repeats: int | Iterable[int],
    loss: LossLike = "absolute",
    prior: Prior = None,
    *,
    by: Sequence[Estimator] = (),
    runs: int = 1000,
    rng: np.random.Generator | None = None,
) -> list[CollusionResult]:
    """Compute the expected loss of people who pool k answers to the same question, for every k of `repeats`.

    The loss is averaged over the true answers with `prior`, which "mean" and "guess" also use. The mean, which may lie
    between outputs, is left out if the loss is a table or a function. The median is exact for every k, by the binomial
    law of order statistics. The others are exact up to 20,000 different tallies of k outputs,
    and above are simulated with `runs` runs for every true answer, or for answers drawn from the prior if there are
    more than 50 (seed 0 unless `rng` is given). Cost: runs · answers² for each k.

    >>> from inbounds import catalog, count
    >>> rows = simulate_collusion(catalog.truncated_geometric(count(4), 1), [1, 2, 4], by=["guess"])
    >>> [round(row.loss["guess"], 3) for row in rows]
    [0.584, 0.484, 0.297]
    """
    check_reports(mechanism)
    counts = sorted({to_int(k, "repeats", 1) for k in ([repeats] if isinstance(repeats, int) else repeats)})
    if not counts:
        raise ValueError("repeats must name at least one number of answers")
    loss_object, weights = to_loss(loss), to_prior(prior, mechanism.query)
    ordered, of_errors = mechanism.query.is_ordered, isinstance(loss_object, ErrorLoss)
    names = by or [e for e in ESTIMATORS if (ordered or e not in ("median", "mean")) and (of_errors or e != "mean")]
    readers = [ReportReader.from_mechanism(mechanism, name, loss_object, prior) for name in names]
    results = {k: CollusionResult(k, {}, {}) for k in counts}
    for k in counts:
        few = math.comb(mechanism.query.shape[0] + k - 1, k) <= LARGEST
        for name, value in _exact([r for r in readers if few or r.estimator == "median"], k, weights).items():
            results[k].loss[name], results[k].error[name] = value, 0.0
    _simulate(mechanism, readers, results, weights, to_int(runs, "runs", 2), rng or np.random.default_rng(0))
    return [results[k] for k in counts]


# --- exact ------------------------------------------------------------------------------------------------


def _exact(readers: Sequence[ReportReader], k: int, prior: Floats) -> dict[Estimator, float]:
    """Return the expected losses, summed over every way that k outputs can fall on the outputs."""
    expected = {r.estimator: _exact_median(r, k, prior) if r.estimator == "median" else 0.0 for r in readers}
    other_readers = [r for r in readers if r.estimator != "median"]
    if other_readers:
        mechanism = other_readers[0].mechanism
        possible = prior > 0
        for tallies in _all_tallies(mechanism.query.shape[0], k):
            logs = log_likelihood(mechanism, tallies)
            is_possible = np.isfinite(logs[:, possible]).any(axis=1)
            joint = np.exp(_ways(tallies[is_possible])[:, None] + logs[is_possible]) * prior
            beliefs = posteriors(logs[is_possible], prior)
            for reader in other_readers:
                losses = reader.losses(logs[is_possible], beliefs, np.arange(len(prior))[:, None])
                expected[reader.estimator] += float((joint.T * losses).sum())
    return expected


def _exact_median(reader: ReportReader, k: int, prior: Floats) -> float:
    """Return the expected loss of the median: Pr[lower median <= i | j] = Pr[at least ceil(k/2) of k outputs are <=
    i].
    """
    from scipy.special import betainc

    below = np.clip(np.cumsum(reader.mechanism.matrix, axis=0), 0.0, 1.0)
    rank = (k + 1) // 2
    cumulative = betainc(rank, k - rank + 1, below)
    cumulative[-1] = 1.0
    chance = np.diff(cumulative, axis=0, prepend=0.0)
    return float(np.einsum("ij,ij->j", chance, reader.loss.table(reader.mechanism.query)) @ prior)


def _all_tallies(outputs: int, k: int, block: int = 4096) -> Iterator[Ints]:
    """Yield every way k outputs can fall on the outputs, in blocks of rows."""
    rows: list[Ints] = []
    for drawn in combinations_with_replacement(range(outputs), k):
        rows.append(np.bincount(drawn, minlength=outputs))
        if len(rows) == block:
            yield np.array(rows, dtype=np.int64)
            rows = []
    if rows:
        yield np.array(rows, dtype=np.int64)


def _ways(tallies: Ints) -> Floats:
    """Return the logarithm of the multinomial coefficient of every row."""
    from scipy.special import gammaln

    return np.asarray(gammaln(tallies.sum(axis=1) + 1) - gammaln(tallies + 1).sum(axis=1))


# --- by simulation ----------------------------------------------------------------------------------------


def _simulate(
    mechanism: Mechanism,
    readers: Sequence[ReportReader],
    results: dict[int, CollusionResult],
    prior: Floats,
    runs: int,
    rng: np.random.Generator,
) -> None:
    """Fill in the losses that are not computed exactly, from simulated sequences of outputs."""
    missing = {k: [r for r in readers if r.estimator not in results[k].loss] for k in results}
    missing = {k: remaining for k, remaining in missing.items() if remaining}
    if not missing:
        return
    truth, stratum, weight = _truths(prior, runs, len(missing), seeded_entropy(rng))
    moments = {(k, r.estimator): np.zeros((2, len(weight))) for k in missing for r in missing[k]}
    step = max(1, CELLS // len(prior))
    for start in range(0, len(truth), step):
        part, cell = truth[start : start + step], stratum[start : start + step]
        for k, likelihood in _evidence(mechanism, part, max(missing), seeded_entropy(rng)):
            beliefs = posteriors(likelihood, prior) if k in missing else None
            for reader in missing.get(k, ()):
                assert beliefs is not None
                losses = reader.losses(likelihood, beliefs, part)
                for power in (1, 2):
                    moments[k, reader.estimator][power - 1] += np.bincount(cell, losses**power, len(weight))
    count = np.bincount(stratum, minlength=len(weight))
    table = readers[0].loss.guesses(mechanism.query)
    unseen = float(np.min(table, where=table > 0, initial=float(table.max()))) ** 2 / count  # one miss in all runs
    for (k, name), (total, squares) in moments.items():
        mean = total / count
        spread = np.maximum(squares / count - mean**2, unseen) / (count - 1)
        results[k].loss[name], results[k].error[name] = float(weight @ mean), math.sqrt(float(weight**2 @ spread))


def _truths(prior: Floats, runs: int, rows: int, draws: Draws) -> tuple[Ints, Ints, Floats]:
    """Return the true answers to simulate, the stratum of each, and the weight of each stratum.

    There are `runs` for every answer that can occur, weighted by the prior. If there are many answers, 20 · `runs` of
    them, or as many as WORK allows, are drawn from the prior.
    """
    possible = np.flatnonzero(prior)
    if len(possible) <= MANY:
        return np.repeat(possible, runs), np.repeat(np.arange(len(possible)), runs), prior[possible]
    amount = max(1000, min(20 * runs, WORK // (len(prior) ** 2 * rows)))
    uniform = draws(amount) / 2.0**TOTAL_BITS
    truth = np.searchsorted(np.cumsum(prior), uniform, side="right").clip(max=possible[-1])
    return truth, np.zeros(amount, dtype=np.int64), np.ones(1)


def _evidence(mechanism: Mechanism, truth: Ints, last: int, draws: Draws) -> Iterator[tuple[int, Floats]]:
    """Yield k and the log-likelihood of every answer after k outputs of each truth, for k = 1..last; one array is
    reused.
    """
    logs = log_matrix(mechanism)
    likelihood = np.zeros((len(truth), logs.shape[1]))
    for k in range(1, last + 1):
        likelihood += logs[mechanism.draw(truth, draws)]
        yield k, likelihood

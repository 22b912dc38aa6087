"""Means, shares and quantiles behind private reports, each with an interval."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.exact import Floats, Number, to_fraction, to_int
from inbounds.local.collector import Collector
from inbounds.local.estimates.bounded_interval import Deviation, bounded_interval, two_sided
from inbounds.local.estimates.estimate import Estimate
from inbounds.local.estimates.resampling import BootstrapResult, bootstrap_estimate, reports_counted
from inbounds.local.estimates.unbiased import squared_readings, unbiased_weights
from inbounds.local.reconstruct import Reconstruction
from inbounds.local.reconstruct.affine_estimator import AffineEstimator, affine
from inbounds.local.reconstruct.channel import GeometricChannel, ResponseChannel
from inbounds.optional import to_pandas_frame
from inbounds.query import RangeQuery

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_SHOWN = 10
"""Labels in words, those with the largest shares."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates from private reports: `mean`, `share`, `shares` and `quantile`, each an `Estimate`.

    reconstruction: its `distribution` is the joint estimate. Shares and means are unbiased where the law allows it, so
    their intervals cover for every truth. Quantiles, and quantities without an unbiased reading, have standard errors
    by resampling; if updates were stopped by held-out reports, of a less smooth distribution (`resampling`). level: the
    probability with which each interval covers. smooth: assume that people's numbers are not heaped on a few values;
    shares of numbers are then those of the distribution, far sharper, and wrong if they are heaped. runs, seed: of the
    resampling.
    """

    reconstruction: Reconstruction
    query: RangeQuery
    level: float = 0.9
    runs: int = 100
    seed: int = 0
    smooth: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"level must be between 0 and 1, got {self.level!r}; 0.9 is usual")
        to_int(self.runs, "runs", 2)
        to_int(self.seed, "seed", 0)

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return round(self.reconstruction.reports)

    @property
    def distribution(self) -> Floats:
        """The probability of each answer, estimated together."""
        return self.reconstruction.distribution

    def at(self, level: float) -> "Estimates":
        """Return the same estimates with intervals of another level."""
        return replace(self, level=level)

    # --- quantities ---------------------------------------------------------------------------------------

    def mean(self) -> Estimate:
        """Return the mean of the answers; without bias where the law is geometric or randomized response."""
        values = self._numbers("a mean")
        read = unbiased_weights(self.reconstruction.problem.channel, values) if self._is_invertible else None
        low, high = float(values[0]), float(values[-1])
        if read is None:
            value, error = self._measure(lambda p: float(p @ values))
        else:
            value, error = self._sum(read)
        reach = two_sided(self.level) * error
        ends = np.clip([value, value - reach, value + reach], low, high).tolist()
        return Estimate("mean", ends[0], ends[1], ends[2], error, self.level, value)

    def share(self, answers: Any = None, *, at_least: Number | None = None, at_most: Number | None = None) -> Estimate:
        """Return the share of one answer, of several together, or of numbers from `at_least` up to `at_most`."""
        chosen, name = self._choose_answers(answers, at_least, at_most)
        if self._affine is not None and chosen.sum() == 1:
            return self.shares()[int(np.flatnonzero(chosen)[0])]
        weights = chosen.astype(np.float64)
        read = (
            unbiased_weights(self.reconstruction.problem.channel, weights)
            if self._affine is not None or not self.smooth
            else None
        )
        if read is None:
            value, error = self._measure(lambda p: float(p @ weights))
            return self._within_one(name, value, error)
        value, error = self._sum(read)
        errors = np.array([error])
        return self._bounded_intervals([name], np.array([value]), lambda m: errors, errors)[0]

    def shares(self) -> list[Estimate]:
        """Return the share of every answer, in their order. Read one by one, they need not sum to one."""
        names = [f"share of {answer}" for answer in self.answers]
        squares = None if self._affine is not None or self.smooth else self._squares
        if squares is not None:
            return self._single_shares(squares, names)
        if self._affine is None:
            behind = self._bootstrap
            errors = behind.draws.std(axis=0, ddof=1).tolist()
            rows = zip(names, behind.distribution.tolist(), errors, strict=True)
            return [self._within_one(name, value, error) for name, value, error in rows]
        return self._read_shares(self._affine, names)

    def quantile(self, at: Number) -> Estimate:
        """Return the value below which a part `at` of the people lies, between the answers by straight lines."""
        part, values = float(to_fraction(at, "at")), self._numbers("a quantile")
        if not 0 < part < 1:
            raise ValueError(f"at must be between 0 and 1, got {at!r}; 0.5 is the median")
        value, error = self._measure(lambda p: _quantile(p, values, part))
        reach = two_sided(self.level) * error
        low, high = max(float(values[0]), value - reach), min(float(values[-1]), value + reach)
        name = "median" if part == 0.5 else f"{part:g} quantile"
        return Estimate(name, value, low, high, error, self.level, value)

    @property
    def answers(self) -> list[Any]:
        """The names of the answers."""
        if self.query.labels is not None:
            return list(self.query.labels)
        numbers = self.query.answers.floats().tolist()
        return [int(number) if number.is_integer() else number for number in numbers]

    # --- to look at ---------------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """Return one plain dictionary for each answer: its probability in the distribution, its share with the
        interval.
        """
        return [
            {"answer": answer, "probability": p, **_columns(share)}
            for answer, p, share in zip(self.answers, self.distribution.tolist(), self.shares(), strict=True)
        ]

    def to_pandas(self) -> Any:
        """Return `rows` as a pandas DataFrame."""
        return to_pandas_frame(self.rows())

    def plot(self) -> "Figure":
        """Plot the shares with their intervals (extra `figures`)."""
        from inbounds.report.figures import intervals

        return intervals({"": self.rows()}, ordered=self.query.is_ordered)

    def summary(self) -> list[Estimate]:
        """Return the usual estimates: mean, quartiles and median of numbers; the shares of labels."""
        if not self.query.is_ordered:
            return self.shares()
        return [self.mean(), *(self.quantile(part) for part in (0.25, 0.5, 0.75))]

    def __str__(self) -> str:
        estimates = self.summary()
        shown = estimates if self.query.is_ordered else sorted(estimates, key=lambda line: -line.value)[:MOST_SHOWN]
        rest = [f"  … and {len(estimates) - len(shown)} more"] if len(shown) < len(estimates) else []
        return "\n".join([f"{self.reports} reports", *(f"  {line}" for line in shown), *rest])

    # --- inside -------------------------------------------------------------------------------------------

    @cached_property
    def _bootstrap(self) -> BootstrapResult:
        return bootstrap_estimate(self.reconstruction, self.runs, self.seed)

    def _measure(self, measure: Callable[[Floats], float]) -> tuple[float, float]:
        """Return a functional of the distribution behind the intervals, and its standard error."""
        behind = self._bootstrap
        return measure(behind.distribution), float(np.std([measure(p) for p in behind.draws], ddof=1))

    @cached_property
    def _affine(self) -> AffineEstimator | None:
        return affine(self.reconstruction.problem.channel, self.reconstruction.problem.q)

    @property
    def _is_invertible(self) -> bool:
        """Whether a mean read without bias is as sharp as one by the likelihood: the noise is that of the reports."""
        return isinstance(self.reconstruction.problem.channel, GeometricChannel | ResponseChannel)

    def _sum(self, read: Floats) -> tuple[float, float]:
        """Return Σ q u and its standard error."""
        q, n = self.reconstruction.problem.q, reports_counted(self.reconstruction)
        value = float(q @ read)
        return value, float(np.sqrt(max(float(q @ (read - value) ** 2), 0.0) / (n - 1)))

    @cached_property
    def _squares(self) -> Floats | None:
        return squared_readings(self.reconstruction.problem.channel, self.reconstruction.problem.q)

    def _single_shares(self, squares: Floats, names: list[str]) -> list[Estimate]:
        problem = self.reconstruction.problem
        raw = problem.channel.invert(problem.q)
        errors = np.sqrt(np.maximum(squares - raw**2, 0.0) / (reports_counted(self.reconstruction) - 1))
        return self._bounded_intervals(names, raw, lambda shares: errors, errors)

    def _read_shares(self, law: AffineEstimator, names: list[str]) -> list[Estimate]:
        raw, n = law.shares, self.reconstruction.reports
        return self._bounded_intervals(
            names, raw, lambda m: law.deviations(m, n), law.deviations(np.clip(raw, 0, 1), n)
        )

    def _bounded_intervals(self, names: list[str], raw: Floats, deviation: Deviation, errors: Floats) -> list[Estimate]:
        """Return readings with intervals that keep within 0..1."""
        low, high = bounded_interval(raw, deviation, self.level)
        columns = (part.tolist() for part in (np.clip(raw, 0, 1), low, high, errors, raw))
        fields = zip(names, *columns, strict=True)
        return [Estimate(name, v, lo, hi, error, self.level, x) for name, v, lo, hi, error, x in fields]

    def _within_one(self, name: str, value: float, error: float) -> Estimate:
        reach = two_sided(self.level) * error
        return Estimate(name, value, max(0.0, value - reach), min(1.0, value + reach), error, self.level, value)

    def _numbers(self, what: str) -> Floats:
        if not self.query.is_ordered:
            raise ValueError(f"labels have no order, so there is not {what} of them; ask for shares")
        return self.query.answers.floats()

    def _choose_answers(self, answers: Any, at_least: Number | None, at_most: Number | None) -> tuple[Any, str]:
        """Return flags of the chosen answers, and their joint name."""
        if answers is None:
            values = self._numbers("a range")
            low = -np.inf if at_least is None else float(to_fraction(at_least, "at_least"))
            high = np.inf if at_most is None else float(to_fraction(at_most, "at_most"))
            if np.isinf([low, high]).all():
                raise ValueError("share needs answers, at_least or at_most")
            name = f"share of {f'{low:g}' if low > -np.inf else ''}..{f'{high:g}' if high < np.inf else ''}"
            return (values >= low) & (values <= high), name
        if at_least is not None or at_most is not None:
            raise ValueError("share takes answers, or at_least and at_most, and not both")
        answer_list = [answers] if isinstance(answers, str) or not isinstance(answers, Iterable) else list(answers)
        chosen = np.zeros(len(self.query.answers), dtype=np.bool_)
        chosen[self.query.encode(np.array(answer_list))] = True
        return chosen, f"share of {', '.join(map(str, answer_list[:3]))}{' …' if len(answer_list) > 3 else ''}"


def _quantile(p: Floats, values: Floats, part: float) -> float:
    """Return where the distribution function, a straight line within each answer's cell, reaches `part`."""
    edges = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    return float(np.interp(part, np.append(0.0, np.cumsum(p) / p.sum()), edges))


def _columns(share: Estimate) -> dict[str, Any]:
    named = share.to_json()
    return {"share": named.pop("estimate"), **{key: named[key] for key in ("lower", "upper", "standard_error")}}


def find_query(reconstruction: Reconstruction) -> RangeQuery:
    if reconstruction.problem.query is None:
        raise ValueError("estimates need a mechanism that names its answers; certify the matrix for a query first")
    return reconstruction.problem.query


def find_reconstruction(what: Any, options: dict[str, Any]) -> Reconstruction:
    from inbounds.local.reconstruct import reconstruct

    if isinstance(what, Reconstruction):
        if options:
            raise ValueError("a reconstruction is made already; give its options to ib.reconstruct")
        return what
    if not isinstance(what, Collector):
        raise TypeError(f"estimate takes a Collector, Strata or a Reconstruction, got {type(what).__name__}")
    return reconstruct(what, **options)

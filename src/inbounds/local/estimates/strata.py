"""Estimates of several strata side by side."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from inbounds.local.collector import Collector
from inbounds.local.estimates.estimate import Estimate
from inbounds.local.estimates.estimates import Estimates, find_query, find_reconstruction
from inbounds.local.reconstruct import Reconstruction
from inbounds.local.strata import StratifiedCollector
from inbounds.optional import to_pandas_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class StrataEstimates(Mapping[Any, Estimates]):
    """The estimates of each stratum; `rows` lists the same quantities of all of them."""

    by: tuple[str, ...]
    parts: Mapping[Any, Estimates]

    def __getitem__(self, stratum: Any) -> Estimates:
        if stratum not in self.parts:
            raise KeyError(f"stratum must be one of {', '.join(map(repr, self.parts))}, got {stratum!r}")
        return self.parts[stratum]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def rows(self, what: Callable[[Estimates], Estimate] | None = None) -> list[dict[str, Any]]:
        """Return a plain dictionary for each stratum and quantity; what: one quantity, such as `lambda e: e.mean()`."""
        return [
            {**self._key(stratum), "reports": part.reports, **estimate.to_json()}
            for stratum, part in self.items()
            for estimate in ([what(part)] if what else part.summary())
        ]

    def to_pandas(self, what: Callable[[Estimates], Estimate] | None = None) -> Any:
        """Return `rows` as a pandas DataFrame."""
        return to_pandas_frame(self.rows(what))

    def plot(self) -> "Figure":
        """Plot the shares of all strata with their intervals (extra `figures`)."""
        from inbounds.report.figures import intervals

        ordered = next(iter(self.values())).query.is_ordered
        return intervals({str(stratum): part.rows() for stratum, part in self.items()}, ordered=ordered)

    def __str__(self) -> str:
        return "\n".join(f"{', '.join(map(str, self._key(key).values()))}: {part}" for key, part in self.items())

    def _key(self, stratum: Any) -> dict[str, Any]:
        return dict(zip(self.by, stratum if len(self.by) > 1 else (stratum,), strict=True))


@overload
def estimate(
    what: Collector | Reconstruction,
    *,
    level: float = ...,
    runs: int = ...,
    seed: int = ...,
    smooth: bool = ...,
    **options: Any,
) -> Estimates: ...
@overload
def estimate(
    what: StratifiedCollector,
    *,
    level: float = ...,
    runs: int = ...,
    seed: int = ...,
    smooth: bool = ...,
    **options: Any,
) -> StrataEstimates: ...
def estimate(
    what: Collector | StratifiedCollector | Reconstruction,
    *,
    level: float = 0.9,
    runs: int = 100,
    seed: int = 0,
    smooth: bool = False,
    **options: Any,
) -> Estimates | StrataEstimates:
    """Estimate means, shares and quantiles with intervals, from collected reports or a reconstruction of them.

    what: a `Collector`, `StratifiedCollector`, for which the estimates of each stratum come back, or what
    `ib.reconstruct` gave.
    level: how likely each interval covers. runs, seed: of the resampling behind intervals that have no formula.
    smooth: take it as known that people's numbers are not heaped on a few of them; shares of numbers are far sharper
    then, and wrong if they are heaped. options: those of `ib.reconstruct`.

    >>> import inbounds as ib
    >>> m = ib.catalog.randomized_response(ib.category(["no", "yes"]), "1.0986122886")
    >>> reports = ib.Collector(m).add_counts(["no", "yes"], [6000, 4000])
    >>> print(estimate(reports).share("yes"))
    share of yes: 0.3 (90 % interval 0.2839 to 0.3162)
    """
    if isinstance(what, StratifiedCollector):
        settings: dict[str, Any] = {"level": level, "runs": runs, "seed": seed, "smooth": smooth, **options}
        return StrataEstimates(what.by, {key: estimate(part, **settings) for key, part in what.items()})
    reconstruction = find_reconstruction(what, options)
    return Estimates(reconstruction, find_query(reconstruction), level, runs, seed, smooth)

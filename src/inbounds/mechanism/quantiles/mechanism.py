"""QuantileMechanism: a law for a quantile that passed the checker. There is no other way to make one."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.exact import Floats, Ints, format_decimal, to_epsilon, to_int
from inbounds.losses import LossLike, Prior, to_prior
from inbounds.mechanism.bayes import CredibleSet
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import passport
from inbounds.mechanism.quantiles.channel import Channel, channel_of_prior, channel_of_unknown_records
from inbounds.mechanism.quantiles.laws import (
    CentralRecords,
    CountedTable,
    ObliviousRecords,
    PermuteAndFlip,
    QuantileLaw,
    SidedPermuteAndFlip,
)
from inbounds.query import QuantileQuery
from inbounds.trusted.samplers import Draws, seeded_entropy, system_entropy

if TYPE_CHECKING:
    from os import PathLike


LAWS = (PermuteAndFlip, SidedPermuteAndFlip, CountedTable, ObliviousRecords, CentralRecords)
"""All kinds of laws there are; no other class may say that it was checked."""


@dataclass(frozen=True)
class QuantileMechanism:
    """A private mechanism for a quantile of a group's records.

    Formal guarantee: for any two neighbouring groups (one person's records changed where the size is public, added or
    removed otherwise) and every output i, Pr[i | group] <= exp(epsilon) · Pr[i | neighbour], checked in integers when
    the object is made.
    """

    query: QuantileQuery
    epsilon: Fraction
    law: QuantileLaw
    origin: Origin

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", to_epsilon(self.epsilon))
        if type(self.query) is not QuantileQuery or type(self.law) not in LAWS:
            raise TypeError("a quantile's mechanism is made of a Quantile and a law for one")
        self.law.check(self.query, self.epsilon)

    def __init_subclass__(cls) -> None:
        raise TypeError("a QuantileMechanism cannot be subclassed: a subclass could leave out the check")

    def __reduce__(self) -> tuple[type["QuantileMechanism"], tuple[Any, ...]]:
        return QuantileMechanism, (self.query, self.epsilon, self.law, self.origin)

    def __hash__(self) -> int:
        return hash((self.query, self.epsilon, self.law))

    def __repr__(self) -> str:
        return f"<QuantileMechanism {self.origin} for {self.query!r}, epsilon={format_decimal(self.epsilon)}>"

    # --- reports ------------------------------------------------------------------------------------------

    def sample(self, values: Any) -> Any:
        """The private quantile of one group's records, with operating-system entropy.

        values: numbers, as a list, an array or a column; see `QuantileQuery.encode` for those out of range.
        """
        return self.sample_groups(self.query.encode(values)[None, :]).tolist()[0]

    def sample_groups(self, histograms: Any) -> Any:
        """Private quantiles of many groups: groups × how many records have each value."""
        return self._report(histograms, system_entropy)

    def simulate_groups(self, histograms: Any, rng: np.random.Generator) -> Any:
        """As `sample_groups`, from a seeded generator: for studies and tests, never for a release."""
        return self._report(histograms, seeded_entropy(rng))

    def _report(self, histograms: Any, draws: Draws) -> Any:
        return self.query.as_range_query.decode(self.law.report(self.query, self._check_histograms(histograms), draws))

    def probabilities(self, histograms: Any) -> Floats:
        """Pr[output] for groups × counts, to float precision: a view to judge by, not to release with."""
        return self.law.probabilities(self.query, self._check_histograms(histograms))

    def _check_histograms(self, histograms: Any) -> Ints:
        found = np.asarray(histograms)
        if found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != self.query.width + 1:
            raise ValueError(f"histograms must be whole numbers, groups × {self.query.width + 1} values")
        if (found < 0).any():
            raise ValueError("histograms must not be negative")
        most = min(int(np.iinfo(found.dtype).max), 1 << 62)  # nobody has so many records, and int64 holds them
        return np.asarray(np.minimum(found, found.dtype.type(most)), dtype=np.int64)

    # --- usefulness, of records of unknown shares or drawn independently from a prior ---------------------

    def channel(self, prior: Prior = None, size: int | None = None) -> Channel:
        """What to expect of reports of `size` records.

        prior: one weight for each value, of records that are drawn independently from it. By default nothing is known:
        every value is as likely to be the quantile, and given it every histogram as likely as every other. size: the
        declared one by default.
        """
        records = self.query.size if size is None else to_int(size, "size", 1)
        return _channel_of_values(
            self, None if prior is None else tuple(to_prior(prior, self.query.as_range_query).tolist()), records
        )

    def expected_error(self, loss: LossLike = "absolute", prior: Prior = None, size: int | None = None) -> float:
        """The expected loss of a report; see `channel`."""
        return self.channel(prior, size).loss(loss)

    def best_guess(self, output: Any, loss: LossLike = "absolute", prior: Prior = None) -> Any:
        """The value that loses least after seeing the report."""
        return self.channel(prior).best_guess(output, loss)

    def credible_set(self, output: Any, level: float = 0.9, prior: Prior = None) -> CredibleSet:
        """The values that hold the true quantile with probability `level` after seeing the report."""
        return self.channel(prior).credible_set(output, level)

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the passport: everything needed to check and use the mechanism, with its digest."""
        passport.to_quantile_passport(self).save(path)

    @cached_property
    def sha256(self) -> str:
        """The digest of the passport."""
        return passport.to_quantile_passport(self).sha256


@lru_cache(maxsize=64)
def _channel_of_values(mechanism: QuantileMechanism, values: tuple[float, ...] | None, size: int) -> Channel:
    if values is None:
        return channel_of_unknown_records(mechanism.query, mechanism.law, size)
    return channel_of_prior(mechanism.query, mechanism.law, np.array(values), size)

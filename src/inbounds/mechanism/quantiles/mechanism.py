"""The class `QuantileMechanism`: a law for a quantile that passed the privacy check."""

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
    PermuteAndFlip,
    QuantileLaw,
    SidedPermuteAndFlip,
)
from inbounds.query import QuantileQuery
from inbounds.trusted.samplers import Draws, seeded_entropy, system_entropy

if TYPE_CHECKING:
    from os import PathLike


LAWS = (PermuteAndFlip, SidedPermuteAndFlip, CentralRecords)
"""All classes of laws; others are refused, because their check is not known."""


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
        """Draw the private quantile of one group's records, with operating-system entropy.

        values: numbers, as a list, an array or a column; see `QuantileQuery.encode` for those out of range.
        """
        return self.sample_groups(self.query.encode(values)[None, :]).tolist()[0]

    def sample_groups(self, histograms: Any) -> Any:
        """Draw private quantiles of many groups. histograms: groups × number of records with each value."""
        return self._report(histograms, system_entropy)

    def simulate_groups(self, histograms: Any, rng: np.random.Generator) -> Any:
        """Draw reports as `sample_groups`, from a seeded generator: for studies and tests, never for a release."""
        return self._report(histograms, seeded_entropy(rng))

    def _report(self, histograms: Any, draws: Draws) -> Any:
        return self.query.as_range_query.decode(self.law.report(self.query, self._check_histograms(histograms), draws))

    def probabilities(self, histograms: Any) -> Floats:
        """Return Pr[output] for every group, to float precision, for inspection. histograms: as for `sample_groups`."""
        return self.law.probabilities(self.query, self._check_histograms(histograms))

    def _check_histograms(self, histograms: Any) -> Ints:
        counts = np.asarray(histograms)
        if counts.dtype.kind not in "iu" or counts.ndim != 2 or counts.shape[1] != self.query.width + 1:
            raise ValueError(f"histograms must be whole numbers, groups × {self.query.width + 1} values")
        if (counts < 0).any():
            raise ValueError("histograms must not be negative")
        most = min(int(np.iinfo(counts.dtype).max), 1 << 62)  # more records than any group has, and within int64
        return np.asarray(np.minimum(counts, counts.dtype.type(most)), dtype=np.int64)

    # --- usefulness, of records of unknown shares or drawn independently from a prior ---------------------

    def channel(self, prior: Prior = None, size: int | None = None) -> Channel:
        """Return the channel from the true quantile to the report, for groups of `size` records.

        prior: a weight for each value; records are then drawn independently from it. By default nothing is known: all
        values are equally likely to be the quantile, and given the quantile all histograms are equally likely. size:
        by default the declared one.
        """
        records = self.query.size if size is None else to_int(size, "size", 1)
        return _channel_of_values(
            self, None if prior is None else tuple(to_prior(prior, self.query.as_range_query).tolist()), records
        )

    def expected_error(self, loss: LossLike = "absolute", prior: Prior = None, size: int | None = None) -> float:
        """Return the expected loss of a report; see `channel`."""
        return self.channel(prior, size).loss(loss)

    def best_guess(self, output: Any, loss: LossLike = "absolute", prior: Prior = None) -> Any:
        """Return the value with the least expected loss given the report."""
        return self.channel(prior).best_guess(output, loss)

    def credible_set(self, output: Any, level: float = 0.9, prior: Prior = None) -> CredibleSet:
        """Return the values that hold the true quantile with probability `level` given the report."""
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

"""QuantileMechanism: a law for a quantile that passed the checker. There is no other way to make one."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.loss import LossLike, Prior, as_prior
from inbounds.mechanism.bayes import CredibleSet
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import passport
from inbounds.mechanism.quantiles.expected import ExpectedReports, expected, expected_unknown
from inbounds.mechanism.quantiles.laws import Central, CountedTable, Oblivious, QuantileLaw, ScoreTable, SidedTable
from inbounds.numbers import Floats, Ints, as_epsilon, decimal, whole
from inbounds.query import Quantile
from inbounds.trusted.sample import Draws, entropy, simulated

if TYPE_CHECKING:
    from os import PathLike


LAWS = (ScoreTable, SidedTable, CountedTable, Oblivious, Central)
"""All kinds of laws there are; no other class may say that it was checked."""


@dataclass(frozen=True)
class QuantileMechanism:
    """A private mechanism for a quantile of a group's records.

    Formal guarantee: for any two neighbouring groups (one person's records changed where the size is public, added or
    removed otherwise) and every output i, Pr[i | group] <= exp(epsilon) · Pr[i | neighbour], checked in integers when
    the object is made.
    """

    query: Quantile
    epsilon: Fraction
    law: QuantileLaw
    origin: Origin

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        if type(self.query) is not Quantile or type(self.law) not in LAWS:
            raise TypeError("a quantile's mechanism is made of a Quantile and a law for one")
        self.law.check(self.query, self.epsilon)

    def __init_subclass__(cls) -> None:
        raise TypeError("a QuantileMechanism cannot be subclassed: a subclass could leave out the check")

    def __reduce__(self) -> tuple[type["QuantileMechanism"], tuple[Any, ...]]:
        return QuantileMechanism, (self.query, self.epsilon, self.law, self.origin)

    def __hash__(self) -> int:
        return hash((self.query, self.epsilon, self.law))

    def __repr__(self) -> str:
        return f"<QuantileMechanism {self.origin} for {self.query!r}, epsilon={decimal(self.epsilon)}>"

    # --- reports ------------------------------------------------------------------------------------------

    def sample(self, values: Any) -> Any:
        """The private quantile of one group's records, with operating-system entropy.

        values: numbers, as a list, an array or a column; see `Quantile.histogram` for those out of range.
        """
        return self.sample_histograms(self.query.histogram(values)[None, :]).tolist()[0]

    def sample_histograms(self, histograms: Any) -> Any:
        """Private quantiles of many groups: groups × how many records have each value."""
        return self._report(histograms, entropy)

    def simulate_histograms(self, histograms: Any, rng: np.random.Generator) -> Any:
        """As `sample_histograms`, from a seeded generator: for studies and tests, never for a release."""
        return self._report(histograms, simulated(rng))

    def _report(self, histograms: Any, draws: Draws) -> Any:
        return self.query.answer.reported_at(self.law.report(self.query, self._checked(histograms), draws))

    def probabilities(self, histograms: Any) -> Floats:
        """Pr[output] for groups × counts, to float precision: a view to judge by, not to release with."""
        return self.law.probabilities(self.query, self._checked(histograms))

    def _checked(self, histograms: Any) -> Ints:
        found = np.asarray(histograms)
        if found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != self.query.width + 1:
            raise ValueError(f"histograms must be whole numbers, groups × {self.query.width + 1} values")
        if (found < 0).any():
            raise ValueError("histograms must not be negative")
        most = min(int(np.iinfo(found.dtype).max), 1 << 62)  # nobody has so many records, and int64 holds them
        return np.asarray(np.minimum(found, found.dtype.type(most)), dtype=np.int64)

    # --- usefulness, of records of unknown shares or drawn independently from a prior ---------------------

    def expecting(self, prior: Prior = None, size: int | None = None) -> ExpectedReports:
        """What to expect of reports of `size` records.

        prior: one weight for each value, of records that are drawn independently from it. By default nothing is known:
        every value is as likely to be the quantile, and given it every histogram as likely as every other. size: the
        declared one by default.
        """
        records = self.query.size if size is None else whole(size, "size", 1)
        return _expected(self, None if prior is None else tuple(as_prior(prior, self.query.answer).tolist()), records)

    def expected_error(self, loss: LossLike = "absolute", prior: Prior = None, size: int | None = None) -> float:
        """The expected loss of a report; see `expecting`."""
        return self.expecting(prior, size).loss(loss)

    def best_guess(self, output: Any, loss: LossLike = "absolute", prior: Prior = None) -> Any:
        """The value that loses least after seeing the report."""
        return self.expecting(prior).best_guess(output, loss)

    def credible_set(self, output: Any, level: float = 0.9, prior: Prior = None) -> CredibleSet:
        """The values that hold the true quantile with probability `level` after seeing the report."""
        return self.expecting(prior).credible_set(output, level)

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the passport: everything needed to check and use the mechanism, with its digest."""
        passport.save(self, path)

    @cached_property
    def sha256(self) -> str:
        """The digest of the passport."""
        return str(passport.passport(self)["sha256"])


@lru_cache(maxsize=64)
def _expected(mechanism: QuantileMechanism, values: tuple[float, ...] | None, size: int) -> ExpectedReports:
    if values is None:
        return expected_unknown(mechanism.query, mechanism.law, size)
    return expected(mechanism.query, mechanism.law, np.array(values), size)

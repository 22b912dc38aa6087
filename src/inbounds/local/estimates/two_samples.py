"""A permutation test of whether two collections differ; its level is exact for every law."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.exact import Floats, Ints, to_int
from inbounds.local.collector import Collector, same_law
from inbounds.local.reconstruct.affine_estimator import affine
from inbounds.local.reconstruct.channel import LinearChannel
from inbounds.local.reconstruct.structure import channel_for_law

MOST_REPORTS = 10**9
"""The most reports of both collections together that can be permuted."""

RUNS, FEW_RUNS, MANY_OUTPUTS = 999, 199, 10_000
"""Permutations, and fewer of them if a permutation takes long."""


@dataclass(frozen=True)
class TwoSampleTest:
    """The distance of two collections of reports, and how likely one as large is if the people do not differ.

    p_value: (1 + the number of deals with a distance at least as great) / (1 + runs). Under equal distributions it is
    at most x with probability at most x, for every x. unit: what the distance is in.
    """

    distance: float
    p_value: float
    runs: int
    unit: str

    def differ(self, level: float = 0.05) -> bool:
        """Return whether the two differ; for equal distributions this is true with probability at most `level`."""
        return self.p_value <= level

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"distance": self.distance, "p_value": self.p_value, "runs": self.runs, "unit": self.unit}

    def __str__(self) -> str:
        verdict = "the two differ" if self.differ() else "the two are not told apart"
        return f"{verdict}: p = {self.p_value:.3g} ({self.unit} {self.distance:.4g}, {self.runs} deals)"


def two_sample_test(one: Collector, other: Collector, *, runs: int | None = None, seed: int = 0) -> TwoSampleTest:
    """Test whether two collections by one mechanism come from people with the same distribution.

    If they do, any deal of all the reports into two parts of these sizes is as likely as the one that happened, so
    the share of deals that lie as far apart as it is exact evidence, with few reports and with rare outputs too. The
    distance is that of the reports: for numbers the area between their distribution functions, which sees shifts;
    for labels the greatest difference of a share read without bias, or of P^T q where the law has no such reading.
    The two must be of different people, or the same ones with fresh reports. runs: 999 deals by default, and 199 where
    there are more than 10,000 outputs. O(runs · (outputs + cost of P^T)).

    >>> import inbounds as ib
    >>> m = ib.catalog.randomized_response(ib.category(["no", "yes"]), 1)
    >>> week = [ib.Collector(m).add_counts(["no", "yes"], counts) for counts in ([600, 400], [520, 480])]
    >>> two_sample_test(*week).p_value < 0.01
    True
    """
    for sample in (one, other):
        if not isinstance(sample, Collector):
            raise TypeError(f"a two-sample test takes two Collectors, got {type(sample).__name__}")
    if not same_law(one.mechanism, other.mechanism):
        raise ValueError("collectors must be for the same mechanism; these reports follow different laws")
    if one.shards & other.shards:
        raise ValueError(f"collectors must hold different reports; both hold {sorted(one.shards & other.shards)[0]!r}")
    if not (one.total > 0 and other.total > 0 and one.total + other.total < MOST_REPORTS):
        raise ValueError(f"collectors must hold reports, fewer than {MOST_REPORTS:.0e} together")
    query, channel = one.mechanism.query, channel_for_law(one.mechanism)
    places = query.outputs.values.floats() if query.is_ordered else None
    deals = (FEW_RUNS if channel.shape[0] > MANY_OUTPUTS else RUNS) if runs is None else to_int(runs, "runs", 1)
    return _dealt(one.counts, other.counts, channel, places, deals, to_int(seed, "seed", 0))


def _dealt(
    one: Ints, other: Ints, channel: LinearChannel, places: Floats | None, runs: int, seed: int
) -> TwoSampleTest:
    both, size = one + other, int(one.sum())
    rest = int(both.sum()) - size

    def distance(first: Ints) -> float:
        apart = first / size - (both - first) / rest
        if places is None:
            law = affine(channel, apart)
            return float(np.abs(channel.backward(apart) if law is None else law.seen / law.lift).max())
        return float(np.abs(np.cumsum(apart)[:-1]) @ np.diff(places))

    rng, seen = np.random.default_rng(seed), distance(one)
    as_far = seen * (1 - 1e-12)  # permutations that are equal up to rounding count
    far = sum(distance(rng.multivariate_hypergeometric(both, size, method="marginals")) >= as_far for _ in range(runs))
    unit = "greatest difference of a share" if places is None else "Kantorovich distance of the reports"
    return TwoSampleTest(seen, (1 + int(far)) / (1 + runs), runs, unit)

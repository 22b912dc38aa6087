"""The peers of bench/quantiles.py: for a case, the probabilities of all reports for each of its groups.

OpenDP runs in a process of its own (`python bench/quantile_peers.py`): it scores the candidates of one group for every
size, range and quantile, and says its sensitivity. The formula that is used for all groups must give the same scores.
Its noisy maximum of exponential noise has the law of permute-and-flip, which the process checks against its own draws.
"""

import json
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
from quantile_cases import Case

from inbounds.exact import Floats, Ints
from inbounds.mechanism.laws.scores import permute_flip_probabilities


def exponential(case: Case) -> Floats:
    """The float exponential mechanism on ranks: exp(-epsilon/2) for every record that must change."""
    weights = np.exp(-float(case.epsilon) / 2 * case.query.path_lengths(case.groups))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


# --- OpenDP -----------------------------------------------------------------------------------------------


def scores(groups: Ints, at: float) -> Floats:
    """|at · (records above) - (1 - at) · (records below)|: OpenDP's score of every candidate, the less the better."""
    below = np.cumsum(groups, axis=1) - groups
    above = groups.sum(axis=1, keepdims=True) - below - groups
    return np.asarray(np.abs(at * above - (1 - at) * below))


def law(groups: Ints, at: float, epsilon: float, sensitivity: float) -> Floats:
    """Permute-and-flip with noise of twice the scale that the sensitivity states, as the check finds."""
    found = scores(groups, at)
    gaps = found - found.min(axis=1, keepdims=True)
    return permute_flip_probabilities(np.exp(-gaps * epsilon / (2 * sensitivity)))


class OpenDP:
    """Laws of OpenDP's private quantile; made once for many cases."""

    def __init__(self, cases: list[Case]) -> None:
        kinds = {_kind(case): case for case in cases}
        asked = [{"group": _spread_out(case).tolist(), "at": _at(case)} for case in kinds.values()]
        done = subprocess.run(
            [sys.executable, __file__], input=json.dumps(asked), capture_output=True, text=True, check=True
        )
        self.sensitivities = dict(zip(kinds, json.loads(done.stdout), strict=True))

    def __call__(self, case: Case) -> Floats:
        return law(case.groups, _at(case), float(case.epsilon), self.sensitivities[_kind(case)])


def _kind(case: Case) -> tuple[int, int, str]:
    return case.size, case.values, case.at


def _spread_out(case: Case) -> Ints:
    """Return a group with records at both ends, so that its scores differ; the sensitivity is the same for all."""
    places = np.linspace(0, case.values - 1, case.size).astype(np.int64)
    return np.bincount(places, minlength=case.values)


def _at(case: Case) -> float:
    return float(Fraction(case.at))


def sensitivities(asked: list[dict[str, Any]]) -> list[float]:
    """Of OpenDP's scores where one record changes, which is a distance of 2, in the units of `scores`."""
    import opendp.prelude as dp  # type: ignore[import-untyped]

    dp.enable_features("contrib", "honest-but-curious")

    def domain(size: int) -> Any:
        return dp.vector_domain(dp.atom_domain(T=int), size=size), dp.symmetric_distance()

    def sensitivity(group: list[int], at: float) -> float:
        made = dp.t.make_quantile_score_candidates(*domain(sum(group)), list(range(len(group))), at)
        own = np.array(made(np.repeat(np.arange(len(group)), group).tolist()), dtype=np.float64)
        ours = scores(np.array([group]), at)[0]
        unit = own.sum() / ours.sum()
        assert np.allclose(own, unit * ours, rtol=1e-6, atol=1e-6 * unit), "the scores of OpenDP are others"
        return float(made.map(2) / unit)

    def check_draws() -> None:
        group, at = [5, 6, 7, 4, 3], 0.5
        make = lambda scale: dp.m.make_private_quantile(  # noqa: E731
            *domain(25), dp.max_divergence(), list(range(5)), at, scale
        )
        drawn = make(dp.binary_search_param(make, 2, 1.0))
        records = np.repeat(np.arange(5), group).tolist()
        found = np.bincount([drawn(records) for _ in range(40_000)], minlength=5) / 40_000
        expected = law(np.array([group]), at, 1.0, sensitivity(group, at))[0]
        assert np.abs(found - expected).max() < 0.02, "the law of OpenDP's quantile is another"

    check_draws()
    return [sensitivity(one["group"], one["at"]) for one in asked]


if __name__ == "__main__":
    print(json.dumps(sensitivities(json.load(sys.stdin))))

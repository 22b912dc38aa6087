"""Designs of wide totals drawn at random: loss, gap and processor time, as a table for docs/theory/long-ranges.md.

python bench/wide_ranges.py SEED COUNT
"""

import sys
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import inbounds as ib

LOSSES = ("absolute", "squared", "zero-one", "off by more than 3", "power 3/2")


@dataclass(frozen=True)
class WideCase:
    """A total of `people` numbers from 0 to `high`, and what is asked of it."""

    people: int
    high: int
    epsilon: Fraction
    loss: str
    aim: str
    """average, worst, or bell: the average under a normal prior."""


def draw_case(rng: np.random.Generator) -> WideCase:
    """Draw a case: sizes and epsilons log-uniform, at least 1,000 answers and 20 noise widths."""
    while True:
        people, high = (
            round(float(np.exp(rng.uniform(np.log(low), np.log(top))))) for low, top in ((10, 5000), (2, 200))
        )
        epsilon = Fraction(round(float(np.exp(rng.uniform(np.log(0.1), np.log(4)))), 2)).limit_denominator(100)
        if people * high >= 1000 and people * epsilon >= 20:
            aim = ("average", "worst", "bell")[rng.integers(3)]
            return WideCase(people, high, epsilon, LOSSES[rng.integers(len(LOSSES))], aim)


def main(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    print("| people | highest | epsilon | loss | aim | widths | loss reached | gap | seconds |")
    print("| ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for case in (draw_case(rng) for _ in range(count)):
        query = ib.total(case.people, 0, case.high)
        top = case.people * case.high
        prior = ib.priors.normal(query, rng.uniform(0.2, 0.8) * top, rng.uniform(0.1, 0.3) * top)
        start = time.process_time()
        if case.aim == "bell":
            best = ib.optimal(query, case.epsilon, case.loss, prior, max_seconds=10).optimality
        else:
            best = ib.optimal(query, case.epsilon, case.loss, aim=case.aim, max_seconds=10).optimality
        seconds = time.process_time() - start
        assert best is not None
        words = f"{case.people} | {case.high} | {float(case.epsilon):g} | {case.loss} | {case.aim}"
        width = float(case.people * case.epsilon)
        print(
            f"| {words} | {width:.0f} | {best.value:.5g} | {100 * best.gap / best.value:.2g} % | {seconds:.2g} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""The exact joint law of everything that a release draws, read off the samplers themselves, in whole numbers.

The samplers' alias tables are unpacked into the weight of every output; of a quantile the acceptance probabilities are
multiplied out. Numbers are drawn independently, so the largest ratio between two joint laws is the product of the
largest ratios of their parts.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inbounds.releases import drawing
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.samplers import AliasTable, MatrixSampler, NoiseSampler, ResponseSampler
from quantiles.small import exact_law

Law = tuple[Fraction, ...]
"""The probability of every output."""


def weights_of(table: AliasTable, law: int) -> list[int]:
    """How many of all draws select each bin's output: what the bin keeps, and what it gives to its alias."""
    cells = table.packed.array[law]
    bins, capacity = len(cells), 1 << (table.total_bits - table.bits)
    found = [0] * bins
    for k, cell in enumerate(cells.tolist()):
        kept, alias = cell >> table.bits, cell & (bins - 1)
        found[k] += kept
        found[alias] += capacity - kept
    return found


@cache
def law_at(sampler: Any, position: int) -> Law:
    """What a sampler reports for one position."""
    if isinstance(sampler, MatrixSampler):
        found = weights_of(sampler.table, position)
    elif isinstance(sampler, NoiseSampler):
        found = _noise(sampler, position)
    else:
        assert isinstance(sampler, ResponseSampler)
        found = [sampler.other] * sampler.size
        found[position] += TOTAL - sampler.size * sampler.other
    assert sum(found) == TOTAL
    return tuple(Fraction(weight, TOTAL) for weight in found)


def _noise(sampler: NoiseSampler, position: int) -> list[int]:
    found = [0] * (sampler.size + 1)
    base, slope = sampler.base.array.tolist(), sampler.slope.array.tolist()
    weights = weights_of(sampler.table, 0)
    assert not any(weights[len(base) :])
    for start, step, weight in zip(base, slope, weights, strict=False):
        for k, part in ((k, sampler.floor) for k in range(weight // sampler.floor)) if step else ((0, weight),):
            output = min(max(position + start + step * k, 0), sampler.size)
            found[output if sampler.remap is None else int(sampler.remap.array[output])] += part
    return found


def law_of_records(made: Any, histogram: Sequence[int]) -> Law:
    """What a mechanism of a quantile reports for a group's records."""
    law, rows = made.law, np.array([histogram])
    if hasattr(law, "table") and hasattr(law, "levels"):
        levels = law.levels(made.query, rows)[0].tolist()
        return tuple(exact_law([Fraction(law.table[min(level, len(law.table) - 1)], TOTAL) for level in levels]))
    return tuple(Fraction(float(p)) for p in made.probabilities(rows)[0])  # a matrix of whole numbers, read as floats


def joint_law(plan: Any, truths: TrueAnswers, designs: Path) -> list[Law]:
    """The law of every number that is drawn, in the order of the draws."""
    designed, found = ReleaseDesign.from_workload(Workload.from_plan(plan), designs), list[Law]()
    report, from_records = drawing._draw_answers, drawing._draw_quantiles

    def note(made: Any, positions: Any, draws: Any) -> Any:
        sampler = made.law.sampler(made.query)
        found.extend(law_at(sampler, int(position)) for position in positions)
        return report(made, positions, draws)

    def note_records(made: Any, counts: Any, members: Any, draws: Any) -> Any:
        found.extend(law_of_records(made, row) for row in counts.histograms(members).tolist())
        return from_records(made, counts, members, draws)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_draw_answers", note)
        patch.setattr(drawing, "_draw_quantiles", note_records)
        drawing.draw_rows(designed, truths)
    return found


def largest_ratio(here: Sequence[Law], there: Sequence[Law]) -> Fraction:
    """The largest ratio of the two probabilities of any joint output."""
    assert [len(law) for law in here] == [len(law) for law in there]
    product = Fraction(1)
    for a, b in zip(here, there, strict=True):
        if a != b:
            assert all(bool(p) == bool(q) for p, q in zip(a, b, strict=True))
            product *= max(p / q for p, q in zip(a, b, strict=True) if q)
    return product


def exp_below(epsilon: Fraction) -> Fraction:
    """A rational number below e^epsilon, by far less than 2^-100: the series up to 80 terms."""
    term = total = Fraction(1)
    for k in range(1, 80):
        term = term * epsilon / k
        total += term
    return total

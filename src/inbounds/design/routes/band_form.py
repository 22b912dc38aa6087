"""The linear program of `windows_interior`: one banded row for each output, sums of one, and capped losses.

    minimize sum base * x   subject to   sum_i x_i = 1,   A x_i >= 0,   losses <= caps,

arrays of (answers, outputs). Its duals are y: v of the sums, then a multiplier of every capped loss, and what the
pricing sees is r = base + sum_b tables[b] y[b]. The variables of an output are its row x_i, or others from which `rows`
of the limits computes it; then r is taken by the transpose of `rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inbounds.design.problem import Floats, Ints, LinearLimit
from inbounds.design.solver.bands import Factors, Windows, windows
from inbounds.design.solver.pricing import Cone
from inbounds.design.solver.stars import Arrows, Star, star

TIGHTER = 1e-10
"""Share by which caps are tightened, so that points near the optimum keep them."""


@dataclass(frozen=True, eq=False)
class BandForm:
    """The arrays of the program.

    tables: have a row for each answer: -1 for the sums, then losses that are capped answer by answer. wholes: losses
    that are capped in sum. caps: of each of those rows. worst: the first capped loss is the aim, its cap is minimized.
    mirrored: only the first half of the outputs is stored. The others are their mirror images, so a constraint on an
    answer is one on it and its mirror image together.
    """

    limits: Windows | Star
    base: Floats
    tables: tuple[Floats, ...]
    wholes: tuple[Floats, ...]
    caps: Floats
    worst: bool
    mirrored: bool

    @property
    def answers(self) -> int:
        return len(self.base)

    @property
    def half(self) -> int:
        return (self.answers + 1) // 2 if self.mirrored else self.answers

    @property
    def rows(self) -> int:
        return len(self.tables) * self.half + len(self.wholes)

    def fold(self, x: Floats) -> Floats:
        """Sum over pairs of mirrored answers, along the last axis; the middle one has no partner."""
        n = self.answers
        if not self.mirrored:
            return x
        return np.concatenate([(x + x[..., ::-1])[..., : n // 2], x[..., n // 2 : (n + 1) // 2]], axis=-1)

    def unfold(self, y: Floats) -> Floats:
        """Give both answers of a pair the same number: the transpose of `fold`."""
        return np.concatenate([y, y[..., : self.answers // 2][..., ::-1]], axis=-1) if self.mirrored else y

    @property
    def total(self) -> Floats:
        """The sum over outputs for each answer (and its mirror image)."""
        ones = self.fold(np.ones(self.answers))
        return ones / 2 if self.mirrored else ones

    @property
    def tops(self) -> Floats:
        """The coefficient of the worst loss in each capped row."""
        return (
            np.concatenate([self.total, np.zeros(self.rows - 2 * self.half)])
            if self.worst
            else np.zeros(self.rows - self.half)
        )

    def spread_to_rows(self, per_table: Sequence[float], per_whole: Sequence[float]) -> Floats:
        """Expand one number per table and whole to one number per capped row, per unit of probability."""
        wholes = np.asarray(per_whole, float) / (2 if self.mirrored else 1)
        return np.concatenate([*(number * self.total for number in per_table), wholes])

    def parts(self, y: Floats) -> tuple[Floats, Floats]:
        """Split the duals of all rows into those of the tables, (tables, folded answers), and of the wholes."""
        split = len(self.tables) * self.half
        return y[:split].reshape(len(self.tables), self.half), y[split:]

    def reduced(self, y: Floats) -> Floats:
        """Compute r for the duals y, per variable of an output."""
        return self.limits.rows_transpose(self.base) + self.apply_duals(y)

    def apply_duals(self, y: Floats) -> Floats:
        """Compute sum_b tables[b] * y[b], per variable of an output."""
        table_duals, whole_duals = self.parts(y)
        r: Floats = -np.repeat(self.unfold(table_duals[0])[:, None], self.base.shape[1], axis=1)
        for table, dual in zip(self.tables[1:], table_duals[1:], strict=True):
            r += table * self.unfold(dual)[:, None]
        for table, dual in zip(self.wholes, whole_duals, strict=True):
            r += table * dual
        return self.limits.rows_transpose(r)

    def sums(self, x: Floats) -> Floats:
        """Sum tables[b] * rows over outputs, folded, for every b; then the wholes over outputs and answers."""
        x = self.limits.rows(x)
        table_sums = [-x.sum(axis=1), *((table * x).sum(axis=1) for table in self.tables[1:])]
        return np.concatenate([*map(self.fold, table_sums), [np.vdot(table, x) for table in self.wholes]])

    def inverse(self, bands: Factors | Arrows) -> Floats:
        """Compute the matrix of y -> sums(bands.solve(apply_duals(y))), with a row for each dual."""
        blocks, h, split = bands.inverse_sums(self.tables, self.fold), self.half, len(self.tables) * self.half
        K = np.empty((self.rows, self.rows))
        for a, row in enumerate(blocks):
            for b, block in enumerate(row):
                K[a * h : (a + 1) * h, b * h : (b + 1) * h] = block
        for k, table in enumerate(self.wholes, start=split):
            K[:, k] = self.sums(bands.solve(self.limits.rows_transpose(table)))
            K[k, :split] = K[:split, k]
        return K


def band_form(
    loss: Floats, prior: Floats, worst: bool, cone: Cone, mirrored: bool, outputs: Ints, limits: Sequence[LinearLimit]
) -> tuple[BandForm, list[float]]:
    """Build the program with the outputs in `outputs` only; also return the units of the loss and of every limit.

    In these units the mean of each loss is one.
    """
    ratios = star(cone) if cone.everyone else windows(cone)
    even = np.full(len(prior), 1 / len(prior))

    def table_of(whole: Floats, weights: Floats) -> tuple[Floats, float]:
        table = whole[outputs].T
        unit = float((weights @ table).mean()) or 1.0
        return table / unit, unit

    def weighted(weights: Floats, table: Floats) -> Floats:
        return weights[:, None] * table

    table, unit = table_of(loss, even if worst else prior)
    capped = [(limit, *table_of(limit.table, even if limit.per_answer else limit.prior(prior))) for limit in limits]
    answer_tables = [table] * worst + [one for limit, one, _ in capped if limit.per_answer]
    wholes = [weighted(limit.prior(prior), one) for limit, one, _ in capped if not limit.per_answer]
    base = np.zeros_like(table) if worst else weighted(prior, table)
    form = BandForm(ratios, base, (-np.ones_like(table), *answer_tables), tuple(wholes), np.empty(0), worst, mirrored)
    tops = [(limit.per_answer, limit.inside * (1 - TIGHTER) / size) for limit, _, size in capped]
    caps = form.spread_to_rows(
        [0.0] * worst + [top for per_answer, top in tops if per_answer],
        [top for per_answer, top in tops if not per_answer],
    )
    return replace(form, caps=caps), [unit, *(size for _, _, size in capped)]

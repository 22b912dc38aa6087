"""The structural properties that a mechanism can be required to have, each defined once.

Every property is a list of comparisons between cells of the matrix, `ratio * P[greater] >= P[lesser]`
(an equality is the comparison both ways), or a floor, `P[cell] >= 1 / outputs`. The designer turns this list into
constraints; the checker below measures violations on the integer weights.

With one output per answer (003, section IV-A), i an output, j and k answers:

    row_honest       P[i, i] >= P[i, k]
    row_monotone     P[i, :] rises up to answer i and falls after it
    column_honest    P[j, j] >= P[i, j]
    column_monotone  P[:, j] rises up to output j and falls after it
    fair             P[j, j] is the same for every j
    weakly_honest    P[j, j] >= 1 / outputs
    symmetric        P[i, j] = P[outputs-1-i, answers-1-j]
    column_ratio(r)  P[i, j] <= r P[i+1, j] and P[i+1, j] <= r P[i, j]

For general cells (000, formulas (10)-(15)) the truth P[j, j] becomes P[home[j], j], where home[j] is the
output whose cell holds answer j.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import suggest_name

Ints = NDArray[np.int64]

_NONE: Ints = np.empty(0, dtype=np.int64)
_RATIO = re.compile(r"column_ratio\((\d+(?:/\d+|\.\d+)?)\)")


@dataclass(frozen=True, eq=False)
class MatrixLayout:
    """Where the answers fall among the outputs.

    home: home[j] is the output whose cell holds answer j.
    below, above: row i must not fall on the answers :below[i] and must not rise on the answers above[i]:.
    """

    outputs: int
    home: Ints
    below: Ints
    above: Ints

    @property
    def answers(self) -> int:
        return len(self.home)

    @property
    def homes(self) -> Ints:
        """Flat index of the truth, P[home[j], j], for every answer j."""
        return self.home * self.answers + np.arange(self.answers)

    @property
    def mirrors(self) -> bool:
        """Whether a half turn of the matrix maps cells, homes and row peaks onto themselves."""
        last, end = self.outputs - 1, self.answers
        return np.array_equal(self.home[::-1], last - self.home) and np.array_equal(self.below[::-1], end - self.above)


def square_layout(size: int) -> MatrixLayout:
    """Return the layout with one output per answer."""
    i = np.arange(size, dtype=np.int64)
    return MatrixLayout(size, i, i + 1, i)


@dataclass(frozen=True, eq=False)
class PropertyConstraint:
    """The constraint of a property: ratio * P.flat[greater] >= P.flat[lesser], and P.flat[floored] >= 1 / outputs."""

    greater: Ints
    lesser: Ints
    ratio: Fraction = Fraction(1)
    floored: Ints = field(default_factory=lambda: _NONE)


@dataclass(frozen=True)
class ColumnRatio:
    """The property that neighbouring outputs are within a ratio of each other in every column (003, section VI).

    >>> str(ColumnRatio(Fraction(3, 2)))
    'column_ratio(3/2)'
    """

    ratio: Fraction

    def __post_init__(self) -> None:
        if not self.ratio >= 1:
            raise ValueError(f"ratio must be at least 1, got {self.ratio}; 1 makes every column uniform")

    def __str__(self) -> str:
        return f"column_ratio({self.ratio})"


def column_ratio(ratio: Fraction | int | str | float) -> ColumnRatio:
    """Return the column-ratio property; a float means the decimal it prints as."""
    return ColumnRatio(Fraction(str(ratio)) if isinstance(ratio, float) else Fraction(ratio))


# --- the constraint of each property --------------------------------------------------------------------


def _cells(layout: MatrixLayout) -> Ints:
    return np.arange(layout.outputs * layout.answers, dtype=np.int64).reshape(layout.outputs, layout.answers)


def _row_honest(layout: MatrixLayout) -> PropertyConstraint:
    lesser = _cells(layout)[layout.home]  # row j holds the cells of output home[j]
    greater = np.broadcast_to(layout.homes[:, None], lesser.shape)
    return _compare_cells(greater, lesser)


def _row_monotone(layout: MatrixLayout) -> PropertyConstraint:
    cell, j = _cells(layout), np.arange(layout.answers - 1)
    rising, falling = j + 1 < layout.below[:, None], j >= layout.above[:, None]
    left, right = cell[:, :-1], cell[:, 1:]
    return PropertyConstraint(
        np.concatenate((right[rising], left[falling])), np.concatenate((left[rising], right[falling]))
    )


def _column_honest(layout: MatrixLayout) -> PropertyConstraint:
    lesser = _cells(layout)
    return _compare_cells(np.broadcast_to(layout.homes, lesser.shape), lesser)


def _column_monotone(layout: MatrixLayout) -> PropertyConstraint:
    cell, i = _cells(layout), np.arange(layout.outputs - 1)
    rising = i[:, None] < layout.home
    upper, lower = cell[:-1], cell[1:]
    return PropertyConstraint(
        np.concatenate((lower[rising], upper[~rising])), np.concatenate((upper[rising], lower[~rising]))
    )


def _fair(layout: MatrixLayout) -> PropertyConstraint:
    truth = layout.homes
    return PropertyConstraint(np.concatenate((truth[1:], truth[:-1])), np.concatenate((truth[:-1], truth[1:])))


def _weakly_honest(layout: MatrixLayout) -> PropertyConstraint:
    return PropertyConstraint(_NONE, _NONE, floored=layout.homes)


def _symmetric(layout: MatrixLayout) -> PropertyConstraint:
    _refuse_without_mirror(layout)
    cell = _cells(layout)
    return _compare_cells(cell, cell[::-1, ::-1])


def _refuse_without_mirror(layout: MatrixLayout) -> None:
    """Raise `ValueError` if a matrix of this layout has no mirror image."""
    if not layout.mirrors:
        raise ValueError(
            "symmetric needs a query that equals its mirror image, and here the cells are not; "
            "leave it out or choose outputs that mirror"
        )


def _compare_cells(greater: Ints, lesser: Ints) -> PropertyConstraint:
    distinct = greater != lesser
    return PropertyConstraint(greater[distinct], lesser[distinct])


def _column_ratio(layout: MatrixLayout, ratio: Fraction) -> PropertyConstraint:
    cell = _cells(layout)
    upper, lower = cell[:-1].ravel(), cell[1:].ravel()
    return PropertyConstraint(np.concatenate((upper, lower)), np.concatenate((lower, upper)), ratio)


_CONSTRAINTS: dict[str, Callable[[MatrixLayout], PropertyConstraint]] = {
    "row_honest": _row_honest,
    "row_monotone": _row_monotone,
    "column_honest": _column_honest,
    "column_monotone": _column_monotone,
    "fair": _fair,
    "weakly_honest": _weakly_honest,
    "symmetric": _symmetric,
}

NAMES = tuple(_CONSTRAINTS)
_NEEDS_ORDER = frozenset({"row_monotone", "column_monotone", "symmetric", "column_ratio"})


def list_meaningful(*, ordered: bool) -> tuple[str, ...]:
    """List the property names that have a meaning: labels without order have no "further away" and no mirror image."""
    return tuple(name for name in NAMES if ordered or name not in _NEEDS_ORDER)


def canonical_property(name: str | ColumnRatio, *, ordered: bool = True) -> str:
    """Return the canonical spelling of a property; refuse unknown names, and names that need an order if there is none.

    >>> canonical_property("row-monotone"), canonical_property("column_ratio(1.5)")
    ('row_monotone', 'column_ratio(3/2)')
    """
    text = re.sub(r"\s", "", str(name)).replace("-", "_").lower()
    ratio = _RATIO.fullmatch(text)
    if ratio:
        text = str(column_ratio(ratio[1]))
    elif text not in _CONSTRAINTS:
        choices = ", ".join(NAMES)
        raise ValueError(f"property must be one of {choices}, column_ratio(r), got {name!r}{suggest_name(text, NAMES)}")
    if not ordered and text.split("(")[0] in _NEEDS_ORDER:
        raise ValueError(
            f"property must be one of {', '.join(list_meaningful(ordered=False))} "
            f"where the answers have no order, got {name!r}"
        )
    return text


def parse_properties(properties: Iterable[str | ColumnRatio], *, ordered: bool = True) -> tuple[str, ...]:
    """Return the canonical names of a list of properties; a single name that is not in a list is refused."""
    if isinstance(properties, str | ColumnRatio):
        raise TypeError(f"properties must be a list of names, got {properties!r}; write [{str(properties)!r}]")
    return tuple(canonical_property(name, ordered=ordered) for name in properties)


def compile_property(name: str | ColumnRatio, layout: MatrixLayout) -> PropertyConstraint:
    """Return the constraint of the property `name` for a matrix with this layout."""
    text = canonical_property(name)
    ratio = _RATIO.fullmatch(text)
    return _column_ratio(layout, Fraction(ratio[1])) if ratio else _CONSTRAINTS[text](layout)


# --- the checker ----------------------------------------------------------------------------------------


def measure_violation(
    name: str | ColumnRatio, weights: Ints, layout: MatrixLayout, total: int, *, outputs: int | None = None
) -> int:
    """Return the largest violation of a property in units of 1/total; 0 means that it holds exactly.

    weights: integers over `total` (at most 2^62), outputs x answers. The violation of a comparison is
    lesser - ratio * greater, that of a floor total / outputs - cell, both rounded up. Cost: O(outputs * answers).
    outputs: the mechanism's number of outputs, if `weights` holds only some of them.
    """
    measure = _MEASURES.get(canonical_property(name))
    if measure is not None:
        return max(0, measure(weights, layout))
    constraint, flat = compile_property(name, layout), weights.ravel()
    worst = 0
    if constraint.greater.size:
        worst = max(worst, _shortfall(flat[constraint.greater], flat[constraint.lesser], constraint.ratio))
    if constraint.floored.size:
        worst = max(worst, -(-total // (outputs or layout.outputs)) - int(flat[constraint.floored].min()))
    return worst


# Properties that compare whole rows and columns, measured without a list of all comparisons, which takes ten times as
# long for a large matrix. Weights are at most 2^62, so differences fit. They are taken of some rows at a time.

BLOCK = 1 << 16
"""Weights that are compared at a time, so that their differences fit the processor's cache."""


def _row_blocks(weights: Ints) -> Iterator[slice]:
    rows = max(BLOCK // weights.shape[1], 1)
    return (slice(start, start + rows) for start in range(0, len(weights), rows))


def _measure_row_honest(weights: Ints, layout: MatrixLayout) -> int:
    return int((weights.max(axis=1)[layout.home] - _truths(weights, layout)).max(initial=0))


def _measure_column_honest(weights: Ints, layout: MatrixLayout) -> int:
    return int((weights.max(axis=0) - _truths(weights, layout)).max(initial=0))


def _truths(weights: Ints, layout: MatrixLayout) -> Ints:
    return np.asarray(weights[layout.home, np.arange(layout.answers)])


def _measure_row_monotone(weights: Ints, layout: MatrixLayout) -> int:
    worst, j = 0, np.arange(layout.answers - 1)
    for rows in _row_blocks(weights):
        step = np.diff(weights[rows], axis=1)
        rise = np.max(step, initial=0, where=j >= layout.above[rows, None])
        worst = max(worst, int(rise), -int(np.min(step, initial=0, where=j + 1 < layout.below[rows, None])))
    return worst


def _measure_column_monotone(weights: Ints, layout: MatrixLayout) -> int:
    worst, lower, upper, i = 0, weights[:-1], weights[1:], np.arange(layout.outputs - 1)[:, None]
    for rows in _row_blocks(lower):
        step, rising = upper[rows] - lower[rows], i[rows] < layout.home
        worst = max(worst, -int(np.min(step, initial=0, where=rising)), int(np.max(step, initial=0, where=~rising)))
    return worst


def _measure_symmetric(weights: Ints, layout: MatrixLayout) -> int:
    _refuse_without_mirror(layout)
    mirrored = weights[::-1, ::-1]
    return max((int((weights[rows] - mirrored[rows]).max(initial=0)) for rows in _row_blocks(weights)), default=0)


_MEASURES: dict[str, Callable[[Ints, MatrixLayout], int]] = {
    "row_honest": _measure_row_honest,
    "column_honest": _measure_column_honest,
    "row_monotone": _measure_row_monotone,
    "column_monotone": _measure_column_monotone,
    "symmetric": _measure_symmetric,
}


def _shortfall(greater: Ints, lesser: Ints, ratio: Fraction) -> int:
    if ratio == 1:  # weights are at most 2^62, so differences fit
        return int((lesser - greater).max())
    p, q = ratio.numerator, ratio.denominator
    return max(-((p * int(g) - q * int(x)) // q) for g, x in zip(greater, lesser, strict=True))


def measure_properties(
    weights: Ints,
    layout: MatrixLayout,
    total: int,
    names: Iterable[str | ColumnRatio] | None = None,
    *,
    outputs: int | None = None,
) -> dict[str, int]:
    """Return how far each property is from holding, in units of 1/total (0 means exactly).

    Without `names`: all seven, `symmetric` only where the layout has a mirror. outputs: as in `measure_violation`.

    >>> measure_properties(np.array([[3, 1], [1, 3]]), square_layout(2), 4)["row_monotone"]
    0
    """
    selection = [n for n in NAMES if n != "symmetric" or layout.mirrors] if names is None else list(names)
    return {
        canonical_property(name): measure_violation(name, weights, layout, total, outputs=outputs) for name in selection
    }

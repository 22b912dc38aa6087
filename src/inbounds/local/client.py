"""The client side: a person's value in, a private report out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Ints
from inbounds.local.guarantee import LocalGuarantee, local_guarantee
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism
from inbounds.query.places import take_places
from inbounds.trusted.inputs import detect_kind, read_array
from inbounds.trusted.positions import is_text_array
from inbounds.trusted.samplers import BLOCK, system_entropy

Outside = Literal["refuse", "clamp"]


@dataclass(frozen=True)
class Randomizer:
    """Turns values into reports: one value, a sequence, an array, or a column of Arrow, Polars or pandas.

    outside: what to do with a number outside the declared range. "refuse" raises; "clamp" moves it to the nearer end,
    which reveals nothing because it looks at one value only. Missing values are always refused: a report that is
    missing exactly when the value is missing would not be private. Declare them as a value or a label instead.

    Each value has an independent draw. Call it with the values; do not pass it to an engine as a function of a query
    (`map_batches`, a UDF, `map` on a categorical column): an engine may call it once for many equal values, so that
    people share a draw, or twice for one person. `ib.local.randomize` takes the table instead.
    """

    mechanism: Mechanism
    outside: Outside = "refuse"

    def __post_init__(self) -> None:
        check_local_mechanism(self.mechanism)
        if self.outside not in ("refuse", "clamp"):
            raise ValueError(f"outside must be 'refuse' or 'clamp', got {self.outside!r}")
        if self.outside == "clamp" and not self.mechanism.query.is_ordered:
            raise ValueError("outside must be 'refuse' for labels, which have no nearer end; declare a label 'other'")

    @property
    def privacy(self) -> LocalGuarantee:
        """The privacy guarantee for each person."""
        return local_guarantee(self.mechanism)

    def __call__(self, values: Any) -> Any:
        """Return reports in the kind and shape of `values`, drawn with operating-system entropy; each call
        draws again.
        """
        from inbounds.local.columns import map_column

        kind = detect_kind(values)
        if kind is not None:
            return map_column(kind, values, self.array)
        reports = self.array(read_array(values))
        if reports.ndim == 1 and self._by_coordinates(reports):
            return tuple(reports.tolist())
        return reports.item() if reports.ndim == 0 else reports

    def array(self, values: NDArray[Any]) -> NDArray[Any]:
        """Randomize an array, block by block so that the work stays in the processor's cache.

        Coordinates, along the last axis, are answered by coordinates.
        """
        if self._by_coordinates(values):
            return self._coordinates[self._draw(self.mechanism.query.encode(values))]
        flat, reported = np.ascontiguousarray(values).ravel(), self._output_names
        reports = np.empty(flat.shape, dtype=reported.dtype)
        for start in range(0, len(flat), BLOCK):
            block = slice(start, start + BLOCK)
            positions = self.mechanism.query.encode(flat[block], clip=self.outside == "clamp")
            reports[block] = reported.take(self._draw(positions))
        return reports.reshape(np.shape(values))

    def _draw(self, positions: Ints) -> Ints:
        return self.mechanism.draw(positions, system_entropy)

    @cached_property
    def _coordinates(self) -> NDArray[Any]:
        """The coordinates of each place."""
        places = self.mechanism.query.places or ()
        return np.asarray(take_places(places, np.arange(len(places))))

    def _by_coordinates(self, values: NDArray[Any]) -> bool:
        return self.mechanism.query.places is not None and not is_text_array(values)

    @cached_property
    def _output_names(self) -> NDArray[Any]:
        """The value that each output is reported as."""
        return self.mechanism.report_query.output_values

    @property
    def kind(self) -> str:
        """The numpy kind of reports: "i" for whole numbers, "f" for floats, "O" for texts."""
        return self._output_names.dtype.kind


def make_randomizer(mechanism: Mechanism, outside: Outside = "refuse") -> Randomizer:
    """Make a client for a mechanism. Call it with one value, many values, or a column of a table.

    For values with a distance design the mechanism on `ib.ordinal` (metric privacy), for labels on `ib.category`.

    >>> import inbounds as ib
    >>> client = make_randomizer(ib.catalog.truncated_geometric(ib.ordinal(0, 100), "0.07"))
    >>> 0 <= client(37) <= 100, client([37, 90, 2]).shape
    (True, (3,))
    """
    return Randomizer(mechanism, outside)

"""SVG maps of numbers, for a query whose answers are the cells of a map."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from inbounds.exact import Ints
from inbounds.query import RangeQuery, snap_to_map
from inbounds.query.places import find_map_axes
from inbounds.report import svg


def map_picture(query: RangeQuery, values: ArrayLike, title: str, marked: Sequence[int] = ()) -> str | None:
    """Return a map as SVG, darker for higher values; None if the answers are no map. marked: positions with a frame."""
    axes = find_map_axes(query.coordinates)
    if axes is None:
        return None
    names = [[f"{number:g}" for number in axis] for axis in axes]
    framed: Ints = np.stack(np.divmod(np.array(marked, dtype=np.int64), len(axes[1])), axis=-1)
    return svg.cells(snap_to_map(query, values), names[0], names[1], title, framed)

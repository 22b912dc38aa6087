"""Figures (extra `figures`): one style for heatmaps, readable with any colour vision and in print."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from inbounds.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS_UP_TO = 11
"""Matrices with at most this many answers show their values."""


def heatmaps(mechanisms: Sequence[Mechanism], titles: Sequence[str] = ()) -> "Figure":
    """Matrices side by side on one colour scale: true answers across, reported values up."""
    import matplotlib.pyplot as plt

    top = max(float(m.matrix.max()) for m in mechanisms)
    count = len(mechanisms)
    figure, axes = plt.subplots(1, count, figsize=(4.2 * count + 0.6, 4.1), squeeze=False, layout="constrained")
    names = [*titles, *(str(m.origin) for m in mechanisms[len(titles) :])]
    for axis, mechanism, name in zip(axes[0], mechanisms, names, strict=True):
        image = _draw(axis, mechanism, top)
        axis.set_title(name, fontsize=11)
    figure.colorbar(image, ax=list(axes[0]), shrink=0.85, label="probability of the report")
    return figure


def _draw(axis: "Axes", mechanism: Mechanism, top: float) -> object:
    matrix, query = mechanism.matrix, mechanism.query
    image = axis.imshow(matrix, cmap="cividis", vmin=0, vmax=top, origin="lower", aspect="auto")
    spoken = [str(answer) for answer in (query.labels or query.answers)]
    axis.set_xlabel("true answer")
    axis.set_ylabel("report")
    for ticks, labels, put in (
        (query.shape[1], spoken, axis.set_xticks),
        (query.shape[0], [str(value) for value in query.reported], axis.set_yticks),
    ):
        chosen = np.unique(np.linspace(0, ticks - 1, min(ticks, 11)).round().astype(int))
        put(chosen, [labels[position] for position in chosen])
    if query.shape[1] <= NUMBERS_UP_TO:
        for (i, j), value in np.ndenumerate(matrix):
            ink = "black" if value > 0.6 * top else "white"
            axis.text(j, i, f"{value:.2f}".removeprefix("0"), ha="center", va="center", fontsize=7.5, color=ink)
    return image

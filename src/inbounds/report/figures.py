"""Figures with matplotlib (extra `figures`): heatmaps, curves and bars, for any colour vision and for print."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.catalog.registry import Family, build_entry, find_families
from inbounds.design.designer import optimal
from inbounds.evaluate.compare import OPTIMUM, resolve_short_names
from inbounds.exact import Floats, Number, epsilon_from_alpha, to_fraction, to_int
from inbounds.losses import LossLike, Prior, to_loss
from inbounds.mechanism import AnyMechanism, Channel
from inbounds.mechanism.audit import Audit
from inbounds.mechanism.bayes import answer_values
from inbounds.optional import import_optional
from inbounds.query import RangeQuery, snap_to_map
from inbounds.query.places import find_map_axes
from inbounds.report.plots import Interval
from inbounds.report.templates import pick_evenly

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

NUMBERS_UP_TO = 11
"""Matrices with at most this many answers show their values."""

MOST_TICKS = 11
MOST_EPSILON = 20.0
"""Profiles are drawn up to this epsilon at most."""

SMALLEST_NUMBER = 0.005
"""Smaller values would print as .00 and are left out."""

HEAT = "YlGnBu"
"""The colour map, from light to dark, for print and for any colour vision."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#7A3B00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
"""Okabe and Ito's colours; curves also differ in markers and dashes."""


def heatmaps(mechanisms: Sequence[AnyMechanism | Channel], titles: Sequence[str] = ()) -> "Figure":
    """Draw matrices side by side on one colour scale: true answers across, outputs up."""
    if not mechanisms:
        raise ValueError("heatmaps needs at least one mechanism")
    count = len(mechanisms)
    top = max(float(m.matrix.max()) for m in mechanisms)
    figure = blank_figure(4.2 * count + 0.6, 4.1)
    axes = figure.subplots(1, count, squeeze=False)[0]
    names = [*titles, *(str(getattr(m, "origin", "")) for m in mechanisms[len(titles) :])]
    for axis, mechanism, name in zip(axes, mechanisms, names, strict=True):
        image = _draw(axis, mechanism.channel(), top)
        axis.set_title(fill(name, 34), fontsize=11)
    figure.colorbar(image, ax=list(axes), shrink=0.85, label="probability of the output")
    return figure


def text_colour(value: float, top: float) -> str:
    """Return the colour of a number on its cell."""
    return "white" if value > 0.55 * top else "black"


Families = Mapping[str, Family | str] | Sequence[str]
"""Families by name, including the caller's functions, or names of the catalog."""


def loss_against_epsilon(
    query: RangeQuery, epsilons: Sequence[Number], families: Families, loss: LossLike = "absolute", prior: Prior = None
) -> "Figure":
    """Plot the average loss of several families, and of the optimum, against epsilon on a logarithmic axis."""
    points = [(float(to_fraction(e, "epsilon")), query, e) for e in epsilons]
    figure = _against(points, families, loss, prior, "epsilon (less private to the right)")
    figure.axes[0].set_xscale("log")
    return figure


def loss_against_alpha(
    query: RangeQuery, alphas: Sequence[Number], families: Families, loss: LossLike = "absolute", prior: Prior = None
) -> "Figure":
    """Plot the average loss of several families, and of the optimum, against alpha = exp(-epsilon)."""
    points = [(float(to_fraction(a, "alpha")), query, epsilon_from_alpha(a)) for a in alphas]
    return _against(points, families, loss, prior, "alpha = exp(-epsilon) (more private to the right)")


def loss_against_size(
    queries: Mapping[int, RangeQuery],
    epsilon: Number,
    families: Families,
    loss: LossLike = "absolute",
    prior: Callable[[RangeQuery], Prior] | None = None,
) -> "Figure":
    """Plot the average loss of several families, and of the optimum, against the group size: {n: ib.count(n) for n in
    …}.

    prior: the prior for each query, a function of it.
    """
    points = [(float(n), query, epsilon) for n, query in queries.items()]
    return _against(points, families, loss, prior, "n")


def error_per_answer(
    mechanisms: Sequence[AnyMechanism] | Mapping[str, AnyMechanism | Channel], loss: LossLike = "absolute"
) -> "Figure":
    """Plot the expected loss of several mechanisms for every true answer."""
    by_name = mechanisms if isinstance(mechanisms, Mapping) else resolve_short_names(mechanisms)
    if not by_name:
        raise ValueError("error_per_answer needs at least one mechanism")
    query = next(iter(by_name.values())).query.as_range_query
    if any(m.query.as_range_query.answers != query.answers for m in by_name.values()):
        raise ValueError("mechanisms must have the same true answers to share an axis")
    if not query.is_ordered:
        raise ValueError("error_per_answer needs numeric answers; labels have no order")
    x = query.answers.floats()
    return _curves({name: (x, m.loss_per_answer(loss)) for name, m in by_name.items()}, "true answer", _ylabel(loss))


def privacy_profile(audit: Audit, points: int = 60) -> "Figure":
    """Plot the least delta of an audited matrix against epsilon, deltas on a logarithmic axis.

    A dotted line is the delta that no epsilon avoids; without one the curve ends where delta is 0.
    """
    ends_at_zero = audit.epsilon < math.inf
    last = audit.epsilon if ends_at_zero else min(max(2 * audit.epsilon_at(audit.least_delta), 1.0), MOST_EPSILON)
    figure = blank_figure(7.0, 4.0)
    axis = figure.subplots()
    x = np.linspace(0.0, last, to_int(points, "points", 2))
    y = np.array([audit.delta(epsilon) for epsilon in x.tolist()])
    axis.plot(x[y > 0], y[y > 0], color=COLOURS[0], lw=1.8, label="least delta")
    if not ends_at_zero:
        axis.axhline(audit.least_delta, color=COLOURS[1], linestyle=":", lw=1.4, label="at any epsilon")
    axis.set(xlabel="epsilon", ylabel="delta")
    if (y > 0).any():
        axis.set_yscale("log")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return style_axes(figure)


def posterior(mechanism: AnyMechanism, output: Any, prior: Prior = None, level: float = 0.9) -> "Figure":
    """Plot what a published value says: the prior as a line, the posterior as bars, the credible set hatched.

    On a map, the posterior is drawn as cells.
    """
    channel = mechanism.channel(prior)
    query, after, credible = channel.query, channel.posterior(output), channel.credible_set(output, level)
    if find_map_axes(query.coordinates) is not None:
        return map_figure(query, after, f"published {_text(output)}", "probability")
    names = answer_values(query).tolist()
    inside = [name in set(credible.answers) for name in names]
    figure = blank_figure(6.4, 3.6)
    axis = figure.subplots()
    bars = axis.bar(range(len(names)), after, color="#9DB8CF", edgecolor="#08306B", label="after the output")
    for bar, hatched in zip(bars, inside, strict=True):
        bar.set_hatch("///" if hatched else "")
    axis.step(range(len(names)), channel.prior, where="mid", color="black", lw=1.2, label="before")
    _name_ticks(axis.set_xticks, [_text(name) for name in names])
    axis.set(xlabel="true answer", ylabel="probability", title=f"published {_text(output)} → {credible} (hatched)")
    axis.legend(frameon=False)
    return style_axes(figure)


def map_figure(query: RangeQuery, values: Floats, title: str = "", label: str = "share") -> "Figure":
    """Draw a map with matplotlib (extra `figures`); higher values are darker, the first row is on top."""
    table, axes = snap_to_map(query, values), find_map_axes(query.coordinates)
    assert axes is not None
    figure = blank_figure(5.2, 4.4)
    axis = figure.subplots()
    (top, *_, bottom), (left, *_, right) = (_with_borders(places) for places in axes)
    image = axis.imshow(table, cmap=HEAT, vmin=0, extent=(left, right, bottom, top), aspect="equal")
    axis.set_title(title, fontsize=11)
    figure.colorbar(image, ax=axis, shrink=0.85, label=label)
    return figure


def _with_borders(places: Floats) -> list[float]:
    """Return the outer borders of cells around evenly spaced places."""
    half = (places[1] - places[0]) / 2 if len(places) > 1 else 0.5
    return [float(places[0] - half), float(places[-1] + half)]


def shares(names: Sequence[str], values: Floats) -> "Figure":
    """Plot a distribution as bars."""
    figure = blank_figure(6.4, 3.6)
    axis = figure.subplots()
    axis.bar(range(len(names)), values, color="#9DB8CF", edgecolor="#08306B", width=0.9)
    _name_ticks(axis.set_xticks, names)
    axis.set(xlabel="true answer", ylabel="share")
    return style_axes(figure)


def dots(panels: Sequence[tuple[str, Sequence[Interval], str]]) -> "Figure":
    """Plot published numbers as dots on lines: a panel for each column, with the meaning of its lines."""
    if not panels:
        raise ValueError("dots needs at least one column of numbers")
    figure = blank_figure(4.2 * len(panels) + 0.6, 1.2 + 0.24 * max(len(rows) for _, rows, _ in panels))
    for axis, (column, rows, meaning) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        places = range(len(rows))
        axis.hlines(places, [row.low for row in rows], [row.high for row in rows], color="#08306B", lw=1.6)
        axis.plot([row.value for row in rows], places, "o", color="#D55E00", markersize=5)
        axis.set_yticks(places, [row.name for row in rows])
        axis.invert_yaxis()
        axis.set(xlabel=column)
        axis.set_title(fill(meaning, 44), fontsize=8)
        axis.grid(axis="x", alpha=0.3)
    return style_axes(figure)


MOST_LABELS = 30
"""The most labels that fit beside each other; of more, those with the largest shares are shown."""


def intervals(strata: Mapping[str, Sequence[Mapping[str, Any]]], *, ordered: bool) -> "Figure":
    """Plot estimated shares with their intervals: rows with answer, share, lower and upper, for each stratum.

    Numbers are drawn as a line within its band, labels as dots with bars, the largest share first.
    """
    if not strata:
        raise ValueError("intervals needs at least one stratum")
    figure = blank_figure(7.0, 4.0)
    axis = figure.subplots()
    for k, (name, rows) in enumerate(strata.items()):
        look = {"color": COLOURS[k % len(COLOURS)], "label": name or None}
        (_band if ordered else partial(_dots, shift=0.15 * k, order=_largest(strata)))(axis, rows, look, MARKERS[k % 8])
    axis.set(xlabel="answer", ylabel="estimated share")
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    if any(strata):
        axis.legend(frameon=False)
    return style_axes(figure)


def _largest(strata: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Any]:
    first = next(iter(strata.values()))
    return [row["answer"] for row in sorted(first, key=lambda row: -row["share"])][:MOST_LABELS]


def _band(axis: "Axes", rows: Sequence[Mapping[str, Any]], look: Mapping[str, Any], marker: str) -> None:
    x, y, low, high = (np.array([row[name] for row in rows]) for name in ("answer", "share", "lower", "upper"))
    axis.plot(x, y, marker=marker, markevery=max(1, len(x) // 12), markersize=4, lw=1.4, **look)
    axis.fill_between(x, low, high, color=look["color"], alpha=0.2, lw=0)


def _dots(
    axis: "Axes",
    rows: Sequence[Mapping[str, Any]],
    look: Mapping[str, Any],
    marker: str,
    *,
    shift: float,
    order: Sequence[Any],
) -> None:
    by_answer = {row["answer"]: row for row in rows}
    ordered_rows = [by_answer[answer] for answer in order]
    y = np.array([row["share"] for row in ordered_rows])
    bars = [y - [row["lower"] for row in ordered_rows], [row["upper"] for row in ordered_rows] - y]
    axis.errorbar(np.arange(len(y)) + shift, y, bars, fmt=marker, markersize=5, capsize=2, lw=1.2, **look)
    axis.set_xticks(range(len(order)), [str(answer) for answer in order], rotation=45 if len(order) > 8 else 0)


# --- shared -----------------------------------------------------------------------------------------------


def _against(
    points: Iterable[tuple[float, RangeQuery, Number]], families: Families, loss: LossLike, prior: Any, label: str
) -> "Figure":
    """Plot a curve for each family; the optimum under the loss and prior is always among them."""
    point_list, makers = list(points), find_families(families)
    x = np.array([position for position, _, _ in point_list])

    weights = [prior(query) if callable(prior) else prior for _, query, _ in point_list]
    cases = [(query, epsilon, weight) for (_, query, epsilon), weight in zip(point_list, weights, strict=True)]
    curves = {
        name: (
            x,
            np.array([build_entry(name, make, query, epsilon).loss(loss, weight) for query, epsilon, weight in cases]),
        )
        for name, make in makers.items()
    }
    if makers and OPTIMUM not in makers:
        optimal_losses = [optimal(query, epsilon, loss, weight).loss(loss, weight) for query, epsilon, weight in cases]
        curves[OPTIMUM] = (x, np.array(optimal_losses))
    return _curves(curves, label, _ylabel(loss))


def _curves(curves: Mapping[str, tuple[Floats, Floats]], across: str, up: str) -> "Figure":
    if not curves:
        raise ValueError("there must be at least one curve to draw")
    figure = blank_figure(7.0, 4.0)
    axis = figure.subplots()
    for k, (name, (x, y)) in enumerate(curves.items()):
        axis.plot(
            x,
            y,
            color=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            linestyle=DASHES[k % len(DASHES)],
            markevery=max(1, len(x) // 12),
            markersize=max(4.0, 10.0 - 1.2 * k),
            markerfacecolor="white",
            lw=max(1.2, 3.6 - 0.6 * k),  # so that curves that coincide stay visible
            label=name,
        )
    axis.set(xlabel=across, ylabel=up)
    if all((np.asarray(x) % 1 == 0).all() for x, _ in curves.values()):  # a count has no half
        axis.locator_params(axis="x", integer=True)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.5)
    return style_axes(figure)


def blank_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, without global state."""
    figure: Figure = import_optional("matplotlib.figure", "figures").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def style_axes(figure: "Figure") -> "Figure":
    """Remove the top and right frame lines of the figure and return it."""
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _draw(axis: "Axes", channel: Channel, top: float) -> "AxesImage":
    matrix, query = channel.matrix, channel.query
    image = axis.imshow(matrix, cmap=HEAT, vmin=0, vmax=top, origin="lower", aspect="auto")
    axis.set_xlabel("true answer")
    axis.set_ylabel("output")
    _name_ticks(axis.set_xticks, [_text(answer) for answer in answer_values(query).tolist()])
    _name_ticks(axis.set_yticks, [_text(value) for value in channel.output_values.tolist()])
    if query.shape[1] <= NUMBERS_UP_TO:
        for (i, j), value in np.ndenumerate(matrix):
            if value >= SMALLEST_NUMBER:
                ink = text_colour(float(value), top)
                text = f"{value:.2f}".removeprefix("0")
                axis.text(j, i, text, ha="center", va="center", fontsize=7.5, color=ink)
    return image


def _name_ticks(set_ticks: Callable[..., Any], names: Sequence[str]) -> None:
    positions = pick_evenly(len(names), MOST_TICKS)
    set_ticks(positions, [names[position] for position in positions])


def _ylabel(loss: LossLike) -> str:
    name = to_loss(loss).name
    return f"expected {name} {'error' if name in ('absolute', 'squared') else 'loss'}"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

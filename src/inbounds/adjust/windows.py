"""Distributions of sums in windows: the convolution of children pair by pair, and the way back.

A message is an array nodes × classes × window with the first value of each window. Classes are independent of each
other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from inbounds.exact import Floats, Ints

Flags = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Largest mass outside a window. The Fourier transform is exact to about 1e-16 of the largest entry."""


@dataclass(frozen=True, eq=False)
class Message:
    """mass[v, k, j] is the probability of the value low[v, k] + j of node v in class k; rows sum to one."""

    low: Ints
    mass: Floats

    @property
    def width(self) -> int:
        return int(self.mass.shape[-1])


@dataclass(frozen=True, eq=False)
class Fold:
    """One round of folding: the message before it, the first node of each pair, which of them have a second one, and
    the start of each window before and after cropping.
    """

    folded: Message
    first: Ints
    paired: Flags
    begin: Ints
    low: Ints


def normalize_mass(mass: Floats) -> Floats:
    """Scale rows to sum to one, without negative rounding errors."""
    mass = np.maximum(mass, 0.0)
    return np.asarray(mass / np.maximum(mass.sum(axis=-1, keepdims=True), 1e-300))


def crop_window(mass: Floats, low: Ints) -> Message:
    """Crop every row to the common width that holds all but TOLERANCE of each."""
    mass = normalize_mass(mass)
    cumulative = np.cumsum(mass, axis=-1)
    first = np.count_nonzero(cumulative <= TOLERANCE / 2, axis=-1)
    last = np.maximum(np.count_nonzero(cumulative < 1 - TOLERANCE / 2, axis=-1), first)
    width = int((last - first).max()) + 1
    begin = np.minimum(first, mass.shape[-1] - width)
    cropped = copy_windows(mass, begin, width)
    place = np.arange(width)
    cropped[(place < (first - begin)[..., None]) | (place > (last - begin)[..., None])] = 0.0  # rounding errors
    return Message(low + begin, cropped)


def copy_windows(rows: Floats, begin: Ints, width: int) -> Floats:
    """Copy `width` entries of every row from its own beginning on; all must lie in the row."""
    places = np.ogrid[tuple(map(slice, begin.shape))]
    return np.asarray(sliding_window_view(rows, width, axis=-1)[(*places, begin)])


def place_windows(rows: Floats, begin: Ints, width: int) -> Floats:
    """Copy every row into one of `width` zeros, from its own beginning on: the reverse of `copy_windows`."""
    wide = np.zeros((*rows.shape[:-1], width))
    places = np.ogrid[tuple(map(slice, begin.shape))]
    sliding_window_view(wide, rows.shape[-1], axis=-1, writeable=True)[(*places, begin)] = rows
    return wide


def fold_children(message: Message, children: Ints) -> tuple[Message, list[Fold]]:
    """Compute the distribution of the sum over every parent's children, and the rounds that `unfold_children`
    reverses.
    """
    tape: list[Fold] = []
    count = np.asarray(children)
    while count.max() > 1:
        place = np.arange(len(message.mass)) - np.repeat(np.cumsum(count) - count, count)
        first = np.flatnonzero(place % 2 == 0)
        paired = place[first] + 1 < np.repeat(count, count)[first]
        width, low = message.width, message.low[first].copy()
        sums = np.zeros((*message.mass[first].shape[:-1], 2 * width - 1))
        sums[:, :, :width] = message.mass[first]
        one = first[paired]
        size = next_fast_len(2 * width - 1, real=True)
        both = rfft(message.mass[one], size) * rfft(message.mass[one + 1], size)
        sums[paired] = irfft(both, size)[..., : 2 * width - 1]
        low[paired] += message.low[one + 1]
        above = crop_window(sums, low)
        tape.append(Fold(message, first, paired, low, above.low))
        message, count = above, (count + 1) // 2
    return message, tape


def unfold_children(down: Floats, tape: list[Fold]) -> Floats:
    """Turn messages from above, on the windows of the sums, into messages to every child on its window."""
    for fold in reversed(tape):
        width = fold.folded.width
        full = place_windows(down, fold.low - fold.begin, 2 * width - 1)
        new = np.zeros_like(fold.folded.mass)
        new[fold.first[~fold.paired]] = full[~fold.paired, :, :width]
        one = fold.first[fold.paired]
        size = next_fast_len(2 * width - 1, real=True)
        transform = rfft(full[fold.paired], size)
        for child, sibling in ((one, one + 1), (one + 1, one)):
            new[child] = irfft(transform * np.conj(rfft(fold.folded.mass[sibling], size)), size)[..., :width]
        down = scale_to_max(np.maximum(new, 0.0))
    return down


def scale_to_max(message: Floats) -> Floats:
    """Scale rows so that the largest entry is one."""
    return np.asarray(message / np.maximum(message.max(axis=-1, keepdims=True), 1e-300))

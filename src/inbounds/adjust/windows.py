"""Distributions of sums in windows: the convolution of children pair by pair, and the way back.

A message is an array nodes × classes × window with the first value of each window. Classes are independent of each
other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from inbounds.exact import Floats, Ints

Flags = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Largest mass outside a window. The Fourier transform is exact to about 1e-16 of the largest entry."""


@dataclass(frozen=True, eq=False)
class Message:
    """mass[v, k, j] is the probability of the value low[v, k] + j of node v in class k; rows sum to one.

    last: for each node, a place j behind which no class has mass.
    """

    low: Ints
    mass: Floats
    last: Ints

    @property
    def width(self) -> int:
        return int(self.mass.shape[-1])


@dataclass(frozen=True, eq=False)
class Fold:
    """One round of folding: the message before it, the transforms of all pairs, which nodes are none of the parents'
    children, the values that sums may have, and the start of each window before and after cropping.
    """

    folded: Message
    values: int
    transforms: NDArray[np.complex128]
    added: Ints
    begin: Ints
    low: Ints


def normalize_mass(mass: Floats) -> Floats:
    """Scale rows to sum to one, without negative rounding errors."""
    mass = np.maximum(mass, 0.0)
    mass /= np.maximum(_row_sums(mass), 1e-300)
    return np.asarray(mass)


def _row_sums(rows: Floats) -> Floats:
    """Sum along the last axis, and keep it; a product is much faster than a sum where rows are short."""
    return np.asarray(rows @ np.ones((rows.shape[-1], 1)))


def crop_window(mass: Floats, low: Ints) -> Message:
    """Crop every row to the common width that holds all but TOLERANCE of each; set what is negligible to zero."""
    mass = normalize_mass(mass)
    counts = mass > TOLERANCE / (2 * mass.shape[-1])  # all others together are at most half of TOLERANCE
    mass *= counts
    first = counts.argmax(axis=-1)
    last = mass.shape[-1] - 1 - counts[..., ::-1].argmax(axis=-1)
    width = int((last - first).max()) + 1
    begin = np.minimum(first, mass.shape[-1] - width)
    return Message(low + begin, copy_windows(mass, begin, width), (last - begin).max(axis=-1))


def copy_windows(rows: Floats, begin: Ints, width: int) -> Floats:
    """Copy `width` entries of every row from its own beginning on; all must lie in the row."""
    if width == rows.shape[-1]:
        return rows
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
        message, added = _complete_pairs(message, count)
        values = int((message.last[::2] + message.last[1::2]).max()) + 1
        size = next_fast_len(max(values, message.width), real=True)
        transforms = np.fft.rfft(message.mass, size)
        transforms = transforms.reshape(-1, 2, *transforms.shape[1:])
        sums = np.fft.irfft(transforms[:, 0] * transforms[:, 1], size)[..., :values]
        begin = message.low[::2] + message.low[1::2]
        above = crop_window(sums, begin)
        tape.append(Fold(message, values, transforms, added, begin, above.low))
        message, count = above, (count + 1) // 2
    return message, tape


def _complete_pairs(message: Message, count: Ints) -> tuple[Message, Ints]:
    """Add a node that is zero after the last child of each parent with an odd number; return their places, too."""
    ends = np.cumsum(count)[count % 2 == 1]
    if not len(ends):
        return message, ends
    zero = np.arange(message.width) == 0
    mass, low = np.insert(message.mass, ends, zero, axis=0), np.insert(message.low, ends, 0, axis=0)
    return Message(low, mass, np.insert(message.last, ends, 0)), ends + np.arange(len(ends))


def unfold_children(down: Floats, tape: list[Fold]) -> Floats:
    """Turn messages from above, on the windows of the sums, into messages to every child on its window."""
    for fold in reversed(tape):
        full = place_windows(down, fold.low - fold.begin, fold.values)
        width, size = fold.folded.width, next_fast_len(max(fold.values, fold.folded.width), real=True)
        both = np.conj(fold.transforms[:, ::-1])
        both *= np.fft.rfft(full, size)[:, None]
        new = np.fft.irfft(both.reshape(-1, *both.shape[2:]), size)[..., :width]
        new *= (np.arange(width) <= fold.folded.last[:, None])[:, None, :]  # behind it the transform is cyclic
        if len(fold.added):
            new = np.delete(new, fold.added, axis=0)
        down = normalize_mass(new)
    return down

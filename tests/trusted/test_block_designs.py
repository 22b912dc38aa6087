"""Families of label sets: the places of all indices are what the machine-checked proof says of them."""

from itertools import combinations

import numpy as np
import pytest

from inbounds.errors import InvalidDistribution
from inbounds.trusted.block_designs import Affine, Planes, Subsets, is_prime

SMALL = [
    *(Subsets(labels, size) for labels in range(2, 8) for size in range(1, labels)),
    *(Affine(labels, modulus, size) for modulus in (3, 5, 7) for labels in (2, modulus) for size in range(1, modulus)),
    *(Planes(labels, 2, 4) for labels in (2, 9, 15)),
    *(Planes(order + 1, order, dimension) for order in (2, 3, 5, 7) for dimension in (2, 3)),
    Planes(31, 5, 3),
]


def places_of(design, label, *, at_once):
    """The sets of all indices under a label: those that hold it, then the others."""
    inside = np.arange(design.blocks) < design.holding
    index = np.where(inside, np.arange(design.blocks), np.arange(design.blocks) - design.holding)
    labels = np.full(design.blocks, label)
    if at_once:
        return design.places(labels, inside, index), inside
    one = [design.places(labels[:1], inside[k : k + 1], index[k : k + 1])[0] for k in range(design.blocks)]
    return np.array(one), inside


@pytest.mark.parametrize("at_once", [True, False])
def test_every_set_is_the_place_of_one_index_and_holds_the_label_as_it_says(at_once):
    for design in SMALL:
        for label in range(design.labels):
            places, inside = places_of(design, label, at_once=at_once)
            assert sorted(places.tolist()) == list(range(design.blocks)), design
            assert design.holds(places, np.full(design.blocks, label)).tolist() == inside.tolist(), design


@pytest.mark.parametrize(("labels", "size"), [(4, 2), (6, 3), (7, 1)])
def test_subsets_are_all_subsets(labels, size):
    design = Subsets(labels, size)
    numbers = np.arange(labels)
    sets = [tuple(numbers[design.holds(np.full(labels, block), numbers)].tolist()) for block in range(design.blocks)]
    assert sorted(sets) == list(combinations(range(labels), size))


def test_primes_are_those_that_no_smaller_number_divides():
    assert [n for n in range(200) if is_prime(n)] == [n for n in range(2, 200) if all(n % d for d in range(2, n))]


@pytest.mark.parametrize(
    "make", [lambda: Subsets(62, 1), lambda: Affine(3, 9, 1), lambda: Planes(3, 4, 2), lambda: Planes(8, 2, 3)]
)
def test_families_that_cannot_be_are_refused(make):
    with pytest.raises(InvalidDistribution):
        make()

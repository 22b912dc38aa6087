"""Answers on a graph and noise on a map: Python's checkers against the one that is extracted from the proof."""

from fractions import Fraction
from pathlib import Path

import pytest

import inbounds as ib
from inbounds.mechanism.laws import plane
from inbounds.trusted import certify, plane_noise
from proof import cases, map_cases
from proof.checker import PROGRAM, verdicts
from proof.test_extracted import compared, judged

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="`make proof` builds inbounds-check")


@pytest.mark.long
@pytest.mark.parametrize("number", [300, pytest.param(6000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [map_cases.graph_passports, map_cases.plane_passports])
def test_verdicts_on_graphs_and_maps_are_equal(make, number, tmp_path):
    files = cases.written(tmp_path, make(number, seed=number))
    apart, private = compared(files)
    assert not apart
    assert number / 6 < private < number * 5 / 6


def test_graphs_and_maps_as_they_are_written_are_private_to_both(tmp_path):
    files = cases.written(tmp_path, map_cases.honest_maps())
    assert compared(files) == ([], len(files))
    assert ib.verify(files[-1], second=str(PROGRAM)).seconded == str(PROGRAM)


def test_numbers_on_a_graph_are_judged_as_the_definition_says(tmp_path):
    made = [*map_cases.numbers_on_graphs(300, seed=5)]
    files = cases.written(tmp_path, (passport for passport, _ in made))
    expected = [private for _, private in made]
    assert [judged(file) for file in files] == expected
    assert [line.startswith("private") for line in verdicts(files)] == expected
    assert 50 < sum(expected) < 250


@pytest.mark.long
def test_a_map_of_ten_thousand_cells_is_judged(tmp_path):
    made = ib.catalog.planar_laplace(ib.grid(100, 100), 1)
    made.save(tmp_path / "map.json")
    assert compared([tmp_path / "map.json"]) == ([], 1)


# --- faults in Python that the comparison must notice ------------------------------------------------------


def _edge_dropped(edges):
    return [(length, pairs[1:] or pairs) for length, pairs in RIGHT["edges_by_length"](edges)]


def _edges_turned(edges):
    return [(length, [pair[::-1] for pair in pairs]) for length, pairs in RIGHT["edges_by_length"](edges)]


def _one_unit_tolerated(high, low, p):
    return (high - 1) << 128 <= p * low


def _corner_forgotten(table):
    return [*RIGHT["tail_families"](table)][:-1]


def _sides_forgotten(table):
    return [table]


def _last_length_kept(edges, columns):
    steps = (divmod(edge.head, columns) + divmod(edge.tail, columns) + (edge.length,) for edge in edges)
    return {(y - from_y, x - from_x): length for y, x, from_y, from_x, length in steps}


def _moves_turned(K, move):
    return RIGHT["shift_table"](K, (-move[0], -move[1]))


def _rest_ignored(table, anywhere):
    return max(0, RIGHT["remaining_weight"](table, anywhere))


RIGHT = {
    "edges_by_length": certify.edges_by_length,
    "tail_families": plane_noise.tail_families,
    "shift_table": plane_noise.shift_table,
    "remaining_weight": plane_noise.remaining_weight,
}

FAULTS = [
    (certify, "edges_by_length", _edge_dropped, map_cases.graph_passports),
    (certify, "edges_by_length", _edges_turned, map_cases.graph_passports),
    (certify, "is_within_ratio", _one_unit_tolerated, map_cases.graph_passports),
    (plane_noise, "is_within_ratio", _one_unit_tolerated, map_cases.plane_passports),
    (plane_noise, "tail_families", _corner_forgotten, map_cases.plane_passports),
    (plane_noise, "tail_families", _sides_forgotten, map_cases.plane_passports),
    (plane_noise, "shift_table", _moves_turned, map_cases.plane_passports),
    (plane_noise, "remaining_weight", _rest_ignored, map_cases.plane_passports),
    (plane, "map_moves", _last_length_kept, map_cases.plane_passports),
]


@pytest.mark.long
@pytest.mark.parametrize(("place", "name", "fault", "make"), FAULTS, ids=lambda part: getattr(part, "__name__", ""))
def test_a_fault_in_pythons_checker_of_graphs_or_maps_is_noticed(place, name, fault, make, monkeypatch, tmp_path):
    files = cases.written(tmp_path, make(500, seed=11))
    assert compared(files)[0] == []
    monkeypatch.setattr(place, name, fault)
    assert compared(files)[0]


def test_the_checker_reads_ten_thousand_edges_and_a_length_of_many_digits(tmp_path):
    names = [f"n{k}" for k in range(101)]
    edges = [(a, b, Fraction(10**40 + 1, 10**40)) for a in names for b in names if a < b]
    ib.catalog.exponential(ib.graph(names, edges), 1).save(tmp_path / "all.json")
    assert compared([Path(tmp_path / "all.json")]) == ([], 1)

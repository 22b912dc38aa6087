"""Answers on a graph and noise on a map: the browser's checker against Python's."""

import copy
import random

import pytest

import inbounds as ib
from check.test_verdicts import compared, loaded, promised
from envelopes import seal
from inbounds.mechanism.passport import to_passport
from proof import map_cases

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("number", [100, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [map_cases.graph_passports, map_cases.plane_passports])
def test_passports_on_graphs_and_maps_get_equal_verdicts(make, number, checker, tmp_path):
    apart, private = compared(checker, tmp_path, make(number, seed=number), promised, whole=False)
    assert not apart
    assert number / 6 < private < number * 5 / 6


def test_graphs_and_maps_as_they_are_written_are_proved(checker):
    made = [*map_cases.honest_maps()]
    assert {verdict for verdict, _, _ in checker.judged(made)} == {"proved"}


def test_numbers_on_a_graph_are_judged_as_the_definition_says(checker):
    made = [*map_cases.numbers_on_graphs(100, seed=5)]
    assert [private for _, private, _ in checker.judged(passport for passport, _ in made)] == [
        private for _, private in made
    ]


def claimed_otherwise(number, seed):
    """Honest passports, with a claim changed, or the query written in other words."""
    rng, honest = random.Random(seed), [*map_cases.honest_maps()]
    for _ in range(number):
        lie = copy.deepcopy(rng.choice(honest))
        claims, query = lie["content"]["claims"], lie["content"]["query"]
        graph, change = query["neighbours"]["graph"], rng.randrange(8)
        if change == 0:
            tight = float(claims["effective_epsilon"])
            claims["effective_epsilon"] = f"{tight * rng.choice((1 + 1e-12, 0.999, 1.001)):.12g}"
        elif change == 1:
            claims["losses"]["zero-one"] = rng.choice(("0", "0.5", claims["losses"]["zero-one"]))
        elif change == 2:
            name = rng.choice([*claims["properties"]])
            claims["properties"][name] = str(int(claims["properties"][name]) + rng.choice((0, 1)))
        elif change == 3:
            claims["losses"]["absolute"] = "1"
        elif change == 4:
            graph["lengths"].reverse()
            graph["edges"].reverse()
        elif change == 5:
            graph["lengths"][0] = rng.choice((graph["lengths"][0], f"{graph['lengths'][0]}/1"))
        elif change == 6 and "places" in query:
            query["places"][0] = query["places"][0].replace("0", rng.choice(("0", "-0", "00", "0/3")), 1)
        elif change == 7:
            query["places" if query["labels"] is not None else "allowance"] = rng.choice((None, "0"))
        yield seal(lie)


@pytest.mark.parametrize("number", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_claims_about_graphs_and_maps_that_do_not_follow_are_refused_by_both(number, checker, tmp_path):
    apart, valid = compared(checker, tmp_path, claimed_otherwise(number, seed=number), loaded)
    assert not apart
    assert number / 10 < valid < number * 9 / 10


def objectives():
    """A map and a tree, with the words of an objective that can be computed, that cannot, and that make no sense."""
    for made in (to_passport(ib.catalog.metric_geometric(ib.tree({"b": "a"}), 1)), [*map_cases.honest_maps()][-1]):
        content = made.content if hasattr(made, "content") else made["content"]
        for words in ("zero-one", "absolute", "distance", "squared", "my own", "power 2"):
            for value in (content["claims"]["losses"]["zero-one"], "0.9"):
                best = {"objective": f"average {words} loss", "value": value, "bound": "0.0"}
                yield seal({"format": "inbounds/mechanism", "version": 1, "content": {**content, "optimality": best}})
        size = content["query"]["answers"]["size"]
        zeros = [" ".join(["0.0"] * size)] * size
        table = {"objective": "average table loss", "value": "0.0", "bound": "0.0", "loss": zeros}
        yield seal({"format": "inbounds/mechanism", "version": 1, "content": {**content, "optimality": table}})


def test_objectives_on_graphs_and_maps_get_equal_verdicts(checker, tmp_path):
    apart, valid = compared(checker, tmp_path, objectives(), loaded)
    assert not apart
    assert 3 < valid < 20


def test_a_map_of_ten_thousand_cells_is_proved_with_its_claims_left_aside(checker):
    made = to_passport(ib.catalog.planar_laplace(ib.grid(100, 100), 1)).to_json()
    report = checker.judged([made])[0]
    assert report[:2] == ("proved", True)

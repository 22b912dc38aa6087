"""Python's checkers against the checker that is extracted from the machine-checked proof: the same verdicts.

`make proof` builds the checker and runs these; without it there is nothing to compare with.
"""

import json
import random
import subprocess
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inbounds as ib
from inbounds.cli import main
from inbounds.errors import InboundsError, PassportError
from inbounds.files import LoadedFile
from inbounds.mechanism import load
from inbounds.mechanism.laws import central
from inbounds.trusted import (
    block_designs,
    bounds,
    certify,
    joint_quantiles,
    joint_sizes,
    noisy_counts,
    permute_flip,
    sided_scores,
    threshold,
)
from proof import cases
from proof.checker import PROGRAM, answers, verdicts
from raising import rejects

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="`make proof` builds inbounds-check")

TOTAL = 2**62


def judged(file: Path) -> bool:
    """Whether Python finds the passport private, its claims left aside."""
    try:
        return bool(load.certify_law_only(file))
    except PassportError:
        return False


def foreign_kind(file: Path) -> bool:
    """A printable kind beyond ASCII, which inbounds-check does not read: it has no table of all letters."""
    try:
        kind = LoadedFile.load(file).values["content"]["query"]["kind"]
    except (PassportError, LookupError, TypeError):
        return False
    return isinstance(kind, str) and not kind.isascii()


def compared(files: list[Path]) -> tuple[list[Path], int]:
    """The files on which the two do not agree, and how many are private."""
    said = [line.startswith("private") for line in verdicts(files)]
    ours = [judged(file) for file in files]
    return [file for file, a, b in zip(files, said, ours, strict=True) if a != b], sum(ours)


@pytest.mark.parametrize(
    ("make", "number", "accepted"),
    [
        (cases.matrix_passports, 400, 60),
        (cases.noise_passports, 300, 60),
        (cases.response_passports, 300, 60),
        (cases.label_passports, 300, 60),
        (cases.threshold_passports, 200, 60),
        pytest.param(cases.matrix_passports, 9000, 1500, marks=pytest.mark.slow),
        pytest.param(cases.noise_passports, 4000, 1000, marks=pytest.mark.slow),
        pytest.param(cases.response_passports, 4000, 800, marks=pytest.mark.slow),
        pytest.param(cases.label_passports, 4000, 800, marks=pytest.mark.slow),
        pytest.param(cases.threshold_passports, 3000, 800, marks=pytest.mark.slow),
    ],
)
def test_verdicts_are_equal_at_the_boundary_and_one_unit_beyond(make, number, accepted, tmp_path):
    files = cases.written(tmp_path, make(number, seed=number))
    apart, private = compared(files)
    assert not apart
    assert accepted < private < number - accepted


@pytest.mark.parametrize("number", [300, pytest.param(8000, marks=pytest.mark.slow)])
def test_verdicts_are_equal_on_hostile_files(number, tmp_path):
    made = cases.written(tmp_path, cases.hostile_texts(number, seed=number))
    files = [file for file in made if not foreign_kind(file)]
    apart, private = compared(files)
    assert not apart
    assert 0 < private < number / 2
    assert len(files) > 0.9 * number


def test_passports_of_every_kind_are_private_to_both(tmp_path):
    files = cases.written(tmp_path, iter(cases.honest_passports()))
    assert compared(files) == ([], len(files))


def test_exp_below_is_equal_on_ten_thousand_arguments():
    rng = random.Random(7)
    edges = [Fraction(0), Fraction(64), Fraction(1, 10**9), Fraction(1, 10**400), 64 - Fraction(1, 10**50)]
    sizes = [10**k for k in (1, 2, 9, 40, 300) for _ in range(2400)]
    drawn = [Fraction(rng.randrange(1, most), rng.randrange(1, most)) for most in sizes]
    tried = edges + [x for x in drawn if x <= 64]
    assert len(tried) > 10_000
    asked = ({"check": "exp_below", "num": x.numerator, "den": x.denominator} for x in tried)
    assert [int(line) for line in answers(asked)] == [bounds.exp_lower_bound(x) for x in tried]


# --- the checkers on bare numbers -------------------------------------------------------------------------


def passes(check: Any, *arguments: Any) -> str:
    try:
        check(*arguments)
    except InboundsError:
        return "refused"
    return "private"


def product_questions(number: int) -> list[tuple[dict[str, Any], Any, Any, Fraction]]:
    """Laws over any one total: matrices at the boundary, and products of them."""
    rng, made = random.Random(3), []
    for content in islice(cases.matrix_passports(10 * number, 3), number):
        weights = cases.weights_of(content).astype(object)
        query, epsilon = ib.extreme(0, weights.shape[1] - 1), Fraction(content["content"]["epsilon"])
        spread = np.array([[rng.randrange(1, 5) for _ in weights] for _ in range(3)], dtype=object)
        spread = np.vstack([spread, 20 - spread.sum(axis=0)])
        law = weights if rng.random() < 0.5 else spread @ weights
        pairs = [bounds.Clique(j, j + 2, Fraction(1)) for j in range(len(law.T) - 1)]
        cliques = list(query.cliques()) if rng.random() < 0.5 else pairs
        made.append((_product(law, cliques, epsilon), law, cliques, epsilon))
    return made


def _product(law: Any, cliques: list[bounds.Clique], epsilon: Fraction) -> dict[str, Any]:
    runs = [[c.start, c.stop, c.distance.numerator, c.distance.denominator] for c in cliques]
    total = int(law.sum(axis=0)[0])
    return {"check": "product", "total": total, "answers": law.shape[1], "weights": law.tolist(), "cliques": runs,
            "num": epsilon.numerator, "den": epsilon.denominator}  # fmt: skip


def test_products_of_matrices_have_equal_verdicts():
    made = product_questions(300)
    ours = [passes(certify.check_product, law, cliques, epsilon) for _, law, cliques, epsilon in made]
    assert answers(question for question, *_ in made) == ours
    assert 20 < ours.count("private") < 280


def state_questions(number: int) -> list[tuple[dict[str, Any], Any, list[certify.Window], Fraction]]:
    """Two outputs × levels × answers, within the ratio or one unit beyond it."""
    rng, made = random.Random(5), []
    for _ in range(number):
        levels, size, epsilon = rng.randint(1, 3), rng.randint(2, 4), Fraction(rng.choice(("1/2", "1", "2")))
        low = rng.randrange(1, 2**55)
        high = (bounds.ratio_lower_bound(epsilon, Fraction(1)) * low >> 128) + rng.choice((0, 0, 1))
        row = np.array([[rng.choice((low, high)) for _ in range(size)] for _ in range(levels)], dtype=np.int64)
        weights = np.stack([row, TOTAL - row])
        windows = [(j, j + 2, s, min(s + 1, levels - 1)) for j in range(size - 1) for s in range(levels)]
        sizes = {"levels": levels, "answers": size, "num": epsilon.numerator, "den": epsilon.denominator}
        question = {"check": "states", "weights": weights.tolist(), "windows": windows, **sizes}
        made.append((question, weights, windows, epsilon))
    return made


def test_laws_with_levels_have_equal_verdicts():
    made = state_questions(500)
    ours = [passes(certify.check_states, *numbers) for _, *numbers in made]
    assert answers(question for question, *_ in made) == ours
    assert 50 < ours.count("private") < 450


# --- score tables -----------------------------------------------------------------------------------------


def score_questions(number: int) -> list[tuple[dict[str, Any], tuple[Any, ...]]]:
    """Tables of any slope, stride and depth, with an epsilon at the largest of their bounds or a hair beside it."""
    rng, made = random.Random(13), []
    for _ in range(number):
        table, stride, deeper, width = found = cases.score_table(rng)
        epsilon = cases.at_its_bound(found, rng)
        table[-1] += rng.choice((0, 0, 0, 1, -1)) if table[-1] > 1 else 0
        numbers = {"num": epsilon.numerator, "den": epsilon.denominator}
        question = {"check": "scores", "table": table, "stride": stride, "deeper": deeper, "width": width, **numbers}
        made.append((question, (*found, epsilon)))
    return made


def test_score_tables_have_equal_verdicts():
    made = score_questions(600)
    ours = [passes(permute_flip.check_scores, *numbers) for _, numbers in made]
    assert answers(question for question, _ in made) == ours
    assert 100 < ours.count("private") < 500


@pytest.mark.parametrize("number", [200, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make",
    [
        cases.quantile_passports,
        cases.sided_passports,
        cases.answer_passports,
        cases.central_passports,
        cases.joint_passports,
        cases.joint_sizes_passports,
        cases.counts_passports,
    ],
)
def test_verdicts_on_passports_of_quantiles_are_equal(make, number, tmp_path):
    files = cases.written(tmp_path, make(number, number))
    apart, private = compared(files)
    assert not apart
    assert 0.1 * number < private < 0.9 * number


@pytest.mark.parametrize("fault", ["table_step", "ratio_bounds"])
def test_a_fault_in_the_checker_of_score_tables_is_noticed(fault, monkeypatch):
    made = score_questions(300)
    said = answers(question for question, _ in made)
    right = getattr(permute_flip, fault)
    wrong = {
        "table_step": lambda table, by: right(table, by) - (right(table, by) >> 60),
        "ratio_bounds": lambda *numbers: islice(right(*numbers), 1),
    }
    monkeypatch.setattr(permute_flip, fault, wrong[fault])
    assert said != [passes(permute_flip.check_scores, *numbers) for _, numbers in made]


@pytest.mark.parametrize("fault", ["table_step", "sided_ratio_bounds"])
def test_a_fault_in_the_checker_of_sided_tables_is_noticed(fault, monkeypatch, tmp_path):
    files = cases.written(tmp_path, cases.sided_passports(300, 5))
    assert compared(files)[0] == []
    right = getattr(sided_scores, fault)
    wrong = {
        "table_step": lambda table, by: right(table, by) - (right(table, by) >> 60),
        "sided_ratio_bounds": lambda *numbers: islice(right(*numbers), 2),
    }
    monkeypatch.setattr(sided_scores, fault, wrong[fault])
    assert compared(files)[0]


# --- faults in Python that the comparison must notice ------------------------------------------------------


def _pair_dropped(block: Any, answers: Any, p: int) -> None:
    """The last answer of every run of three or more is not looked at."""
    RIGHT["_check_rows"](block[:, :-1] if block.shape[1] > 2 else block, answers, p)


def _row_dropped(block: Any, answers: Any, p: int) -> None:
    RIGHT["_check_rows"](block[1:] if len(block) > 1 else block, answers, p)


def _one_unit_tolerated(high: int, low: int, p: int) -> bool:
    return bool((high - 1) << bounds.EXP_BITS <= p * low)


def _nothing_compared(highs: Any, lows: Any, p: int) -> bool:
    return True


def _column_of_any_sum(weights: Any) -> None:
    if abs(int(weights.sum(axis=0, dtype=object)[-1]) - TOTAL) <= 1:
        weights = weights[:, :-1]
    RIGHT["check_distributions"](weights)


def _tail_forgotten(*noise: Any) -> Any:
    """The sums at the upper end of the range are not compared."""
    return islice(RIGHT["neighbouring_weights"](*noise), 2)


def _inside_forgotten(*noise: Any) -> Any:
    return islice(RIGHT["neighbouring_weights"](*noise), 1, None)


def _sets_drawn_alike(blocks: int, holding: int, inside: int) -> tuple[int, int]:
    """The draws that are left over by the number of sets are forgotten."""
    least, _ = RIGHT["block_weights"](blocks, holding, inside)
    return least, max(inside * (TOTAL // holding), (TOTAL - inside) * (TOTAL // (blocks - holding)))


def _all_for_one_record(epsilon: Fraction, distance: Fraction) -> int:
    """Every record of a person may cost all of epsilon."""
    return RIGHT["exp_below"](epsilon)


def _set_too_many(design: Any) -> int:
    return RIGHT["holding"].fget(design) + 1


def _last_value_forgotten(length: int, width: int) -> Any:
    """Of the multisets with all records but one in common, the one with the largest value is not compared."""
    return RIGHT["neighbour_groups"](length, width)[:, :-1]


def _last_noise_forgotten(table: list[int], step: int, p: int) -> list[int]:
    """Noise at the bound is not counted above k."""
    return RIGHT["_sum_last"]([*table[:-1], 0], step, p)


def _steps_rounded_up(x: Fraction) -> int:
    return RIGHT["exp_below"](x) + 1


def _neighbour_too_few(reach: Any, scale: Any) -> Any:
    """A reach that stops one step early."""
    return RIGHT["cliques"](ib.Reach(max(1, reach.steps - 1)), scale)


RIGHT: dict[str, Any] = {
    "_check_rows": certify._check_rows,
    "check_distributions": certify.check_distributions,
    "neighbouring_weights": certify.neighbour_weights,
    "exp_below": bounds.exp_lower_bound,
    "cliques": ib.Reach.cliques,
    "block_weights": certify.block_weights,
    "holding": block_designs.Planes.holding,
    "neighbour_groups": central.neighbour_groups,
    "_sum_last": threshold._sum_last,
}

FAULTS: list[tuple[Any, str, Any, Any]] = [
    (certify, "_check_rows", _pair_dropped, cases.matrix_passports),
    (certify, "_check_rows", _row_dropped, cases.matrix_passports),
    (certify, "are_within_ratio", _nothing_compared, cases.matrix_passports),
    (certify, "is_within_ratio", _one_unit_tolerated, cases.matrix_passports),
    (certify, "is_within_ratio", _one_unit_tolerated, cases.noise_passports),
    (certify, "check_distributions", _column_of_any_sum, cases.matrix_passports),
    (certify, "neighbour_weights", _tail_forgotten, cases.noise_passports),
    (certify, "neighbour_weights", _inside_forgotten, cases.noise_passports),
    (ib.Reach, "cliques", _neighbour_too_few, cases.matrix_passports),
    (certify, "is_within_ratio", _one_unit_tolerated, cases.response_passports),
    (certify, "block_weights", _sets_drawn_alike, cases.label_passports),
    (block_designs.Planes, "holding", property(_set_too_many), cases.label_passports),
    (block_designs, "is_prime", lambda number: True, cases.label_passports),
    (central, "neighbour_groups", _last_value_forgotten, cases.central_passports),
    (joint_quantiles, "ratio_lower_bound", _all_for_one_record, cases.joint_passports),
    (joint_quantiles, "SLACK_BITS", 29, cases.joint_passports),
    (joint_sizes, "ratio_lower_bound", _all_for_one_record, cases.joint_sizes_passports),
    (joint_sizes, "CAPACITY_BITS", 39, cases.joint_sizes_passports),
    (threshold, "_sum_last", _last_noise_forgotten, cases.threshold_passports),
    (noisy_counts, "ratio_lower_bound", _all_for_one_record, cases.counts_passports),
]


@pytest.mark.parametrize(("place", "name", "fault", "make"), FAULTS, ids=lambda part: getattr(part, "__name__", ""))
def test_a_fault_in_pythons_checker_is_noticed(place, name, fault, make, monkeypatch, tmp_path):
    files = cases.written(tmp_path, make(400, seed=11))
    assert compared(files)[0] == []
    monkeypatch.setattr(place, name, fault)
    assert compared(files)[0]


@pytest.mark.parametrize(("name", "fault"), [("_check_rows", _row_dropped), ("is_within_ratio", _one_unit_tolerated)])
@pytest.mark.parametrize(("check", "make"), [("check_product", product_questions), ("check_states", state_questions)])
def test_a_fault_in_the_other_checkers_is_noticed(check, make, name, fault, monkeypatch):
    made = make(300)
    said = answers(question for question, *_ in made)
    monkeypatch.setattr(certify, name, fault)
    assert said != [passes(getattr(certify, check), *numbers) for _, *numbers in made]


def test_a_bound_on_exp_that_is_one_unit_too_high_is_noticed():
    tried = [Fraction(k, 7) for k in range(50)]
    said = answers({"check": "exp_below", "num": x.numerator, "den": x.denominator} for x in tried)
    assert all(int(line) < _steps_rounded_up(x) for line, x in zip(said, tried, strict=True))


# --- graphs, for which the definition itself is the other side ---------------------------------------------


def test_edges_are_judged_as_the_definition_says():
    rng, asked, expected = random.Random(9), [], []
    for _ in range(400):
        size, epsilon, low = rng.randint(2, 4), Fraction(rng.choice(("1/2", "1"))), rng.randrange(1, 2**55)
        tops = [bounds.ratio_lower_bound(epsilon, Fraction(rng.randint(0, 2))) * low >> 128 for _ in range(size)]
        row = [top + rng.choice((0, 0, 1)) for top in tops]
        weights = [row, [TOTAL - weight for weight in row]]
        edges = [[rng.randrange(size), rng.randrange(size), rng.randint(0, 4), 2] for _ in range(rng.randint(1, 3))]
        limits = [bounds.ratio_lower_bound(epsilon, Fraction(n, d)) for *_, n, d in edges]
        kept = all(w[j] << 128 <= p * w[k] for w in weights for (j, k, *_), p in zip(edges, limits, strict=True))
        numbers = {"num": epsilon.numerator, "den": epsilon.denominator}
        asked.append({"check": "edges", "answers": size, "weights": weights, "edges": edges, **numbers})
        expected.append("private" if kept else "refused")
    assert answers(asked) == expected
    assert 50 < expected.count("private") < 350


# --- the command ------------------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["inbounds", *words])
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.fixture
def passport(tmp_path):
    path = tmp_path / "m.json"
    ib.catalog.explicit_fair(ib.count(5), "0.5").save(path)
    return path


def test_verify_asks_the_second_checker(passport, monkeypatch, capsys):
    code, said = run(monkeypatch, capsys, "verify", str(passport), "--checker", str(PROGRAM))
    assert code == 0
    assert "seconded" in said
    assert ib.verify(passport, second=str(PROGRAM)).seconded == str(PROGRAM)


def test_verify_asks_the_second_checker_about_a_quantile(tmp_path):
    files = cases.written(tmp_path, cases.quantile_passports(20, 1))
    found = [ib.verify(file, second=str(PROGRAM)) for file in files]
    assert {verdict.seconded for verdict in found} == {str(PROGRAM)}
    assert {verdict.is_valid for verdict in found} == {True, False}


def test_the_second_checker_gives_no_verdict_on_a_law_without_a_rule(tmp_path):
    files = cases.written(tmp_path, cases.beyond_other_checkers())
    for file in files:
        done = subprocess.run([PROGRAM, file], capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert done.stdout.startswith("no verdict")
    with rejects(ValueError, about="no verdict"):
        ib.verify(files[0], second=str(PROGRAM))


def test_verify_refuses_where_the_checkers_do_not_agree(passport, monkeypatch, capsys):
    content = json.loads(passport.read_text())
    rows = cases.weights_of(content)
    rows[0, 0], rows[1, 0] = rows[0, 0] + rows[1, 0] - 1, 1
    content["content"]["law"] = cases.matrix_json(rows.tolist())
    content["sha256"] = cases.digest_of(content)
    passport.write_text(json.dumps(content))
    monkeypatch.setattr(certify, "_check_rows", lambda *_: None)
    code, said = run(monkeypatch, capsys, "verify", str(passport), "--checker", str(PROGRAM))
    assert code == 1
    assert "do not agree" in " ".join(said.split())


def test_a_record_is_none_of_the_second_checkers_business(tmp_path):
    ib.make_chain(ib.count(3), [1, "0.5"]).save(tmp_path / "r.json")
    with rejects(ValueError, about="passports"):
        ib.verify(tmp_path / "r.json", second=str(PROGRAM))


def test_weights_of_a_valid_passport_fall_no_faster_than_the_extracted_bound_allows(passport):
    """The tests' own arithmetic once more, on one passport: what both checkers accept is private."""
    rows, limit = cases.weights_of(json.loads(passport.read_text())), bounds.exp_lower_bound(Fraction(1, 2))
    for before, after in pairwise(rows.T.tolist()):
        assert all(max(a, b) << 128 <= limit * min(a, b) for a, b in zip(before, after, strict=True))

"""Perturbation tables: what they promise, their files in every format, and the designed ones."""

import copy
import pickle
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import inbounds as ib
from inbounds.accounting import compose
from inbounds.directed_rounding import exp_above
from inbounds.errors import InfeasibleDesign, PassportError
from inbounds.mechanism import Mechanism, Origin
from inbounds.perturbation import PerturbationTable, design_table, format_table, parse_table, read_table, write_table
from raising import rejects

OFFICE = """i;j;p;v;p_int_lb;p_int_ub
0;0;1.00000000;0;0.00000000;1.00000000
1;0;0.36988265;-1;0.00000000;0.36988265
1;1;0.36988264;0;0.36988265;0.73976529
1;2;0.17105869;1;0.73976529;0.91082398
1;3;0.06870410;2;0.91082398;0.97952808
1;4;0.02047192;3;0.97952808;1.00000000
2;0;0.06027705;-2;0.00000000;0.06027705
2;1;0.24723112;-1;0.06027705;0.30750817
2;2;0.39149850;0;0.30750817;0.69900667
2;3;0.23934977;1;0.69900667;0.93835644
2;4;0.05649523;2;0.93835644;0.99485167
2;5;0.00514833;3;0.99485167;1.00000000
3;0;0.00450829;-3;0.00000000;0.00450829
3;1;0.05434763;-2;0.00450829;0.05885592
3;2;0.24203729;-1;0.05885592;0.30089321
3;3;0.39821363;0;0.30089321;0.69910684
3;4;0.24203720;1;0.69910684;0.94114404
3;5;0.05434765;2;0.94114404;0.99549169
3;6;0.00450831;3;0.99549169;1.00000000
"""
"""The table of largest entropy with noise up to 3 and variance 1, as pt_export writes it for SAS."""

TOOLS = ("tau-argus", "sas", "cellkey")
SMALL = PerturbationTable(({0: 8}, {-1: 2, 0: 3, 1: 2, 3: 1}, {-2: 1, 0: 6, 2: 1}), 8)


def random_table(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(4):
        noises = list(range(max(-i, -2), 3))
        rows.append(dict(zip(noises, np.diff([0, *sorted(rng.integers(0, 1001, len(noises) - 1)), 1000]), strict=True)))
    return PerturbationTable(tuple({v: int(w) for v, w in row.items()} for row in rows), 1000)


# --- the promise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [0, 1, 3, 5])
def test_the_audit_is_the_definition_over_all_counts(seed, least):
    """Counts far beyond the last row are written out here; the audit leaves them out."""
    table, epsilon = random_table(seed), Fraction(1, 2)
    exactly = Fraction(0)
    for number in range(least, 12):
        for first, second in ((number, number + 1), (number + 1, number)):
            here, there = ({n + v: w for v, w in table.noise(n).items()} for n in (first, second))
            excess = sum(max(Fraction(0), w - exp_above(epsilon) * there.get(r, 0)) for r, w in here.items())
            exactly = max(exactly, excess / 1000)
    found = table.audit(least).profile.delta(epsilon)
    assert exactly <= found <= exactly + Fraction(1, 10**40)


def test_a_table_of_disjoint_cells_is_as_private_as_one_of_its_cells():
    """Three persons in two cells, their keys summed modulo the total: brute force over all keys and all databases."""
    table = PerturbationTable(({0: 5}, {-1: 2, 0: 2, 1: 1}, {-1: 1, 0: 3, 1: 1}), 5)

    def law(places):
        """The weights of the published pairs for persons in the cells `places`, over all record keys."""
        found = {}
        for keys in np.ndindex(*(5,) * len(places)):
            result = []
            for cell in (0, 1):
                mine = [key for key, place in zip(keys, places, strict=True) if place == cell]
                lookup = [v for v, w in table.noise(len(mine)).items() for _ in range(w)]
                result.append(len(mine) + lookup[sum(mine) % 5])
            found[*result] = found.get(tuple(result), 0) + Fraction(1, 5 ** len(places))
        return found

    epsilon = Fraction(1)
    worst = changed = Fraction(0)
    for places in np.ndindex(2, 2, 2):
        for other in (places[:2], places[1:]):
            for first, second in ((law(places), law(other)), (law(other), law(places))):
                excess = sum(max(Fraction(0), w - exp_above(epsilon) * second.get(r, 0)) for r, w in first.items())
                worst = max(worst, excess)
        moved = law((1 - places[0], *places[1:]))
        excess = sum(max(Fraction(0), w - exp_above(2 * epsilon) * moved.get(r, 0)) for r, w in law(places).items())
        changed = max(changed, excess)
    promised = table.audit().profile.delta(epsilon)
    assert worst <= promised
    assert changed <= 2 * promised


def test_same_contributors_have_the_same_noise_and_one_more_person_shows():
    """Pr[two cells differ] by listing both keys: the contributors', and theirs with one more person's."""
    differ = 0
    for first, second in np.ndindex(8, 8):
        here = [1 + v for v, w in SMALL.noise(1).items() for _ in range(w)]
        there = [2 + v for v, w in SMALL.noise(2).items() for _ in range(w)]
        differ += here[first] != there[second]
    assert SMALL.repeated_noise(1) == Fraction(differ, 64)


def test_empty_cells_that_stay_zero_cost_a_delta_that_no_epsilon_avoids():
    table = parse_table(OFFICE)
    assert table.zero_stays
    assert table.audit().profile.infinite >= table.zero_bound
    assert table.zero_bound == pytest.approx(1 / 2, abs=1e-5)
    assert PerturbationTable(({0: 1, 1: 1}, {0: 2}), 2).zero_bound == 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        row = {v: int(rng.integers(0, 20)) for v in range(-1, 4)}
        row[0] += 100 - sum(row.values())
        random = PerturbationTable(({0: 100}, row), 100)
        assert random.audit().profile.infinite >= random.zero_bound
    two_points = PerturbationTable(({0: 3}, {-1: 2, 2: 1}), 3)  # where Cantelli's inequality is an equality
    presence = ib.audit(two_points.matrix()[:, :2], ib.count(1))
    assert presence.profile.infinite == two_points.zero_bound == Fraction(1, 1 + two_points.variance(1))


def test_moments_are_those_of_the_row_that_a_count_looks_up():
    assert SMALL.mean(1) == Fraction(3, 8)
    assert SMALL.variance(1) == Fraction(13, 8) - Fraction(3, 8) ** 2
    assert (SMALL.variance(7), SMALL.largest_noise) == (1, 3)


def test_rows_that_are_no_distribution_or_give_negative_results_are_refused(golden):
    def make(rows, total):
        PerturbationTable(rows, total)

    golden.errors(
        "wrong_perturbations",
        [
            lambda: make(({0: 1}, {-2: 1}), 1),
            lambda: make(({0: 1}, {0: 2}), 1),
            lambda: make(({0: 1}, {0: 2, 1: -1}), 1),
            lambda: make(({0: 1},), 1),
            lambda: make(({0: 0.5, 1: 0.5}, {0: 1}), 1),
        ],
    )


def test_a_table_is_a_value():
    assert pickle.loads(pickle.dumps(SMALL)) == SMALL == copy.copy(SMALL)
    assert hash(copy.deepcopy(SMALL)) == hash(SMALL)
    with pytest.raises(TypeError):
        SMALL.rows[0][0] = 1


# --- never a mechanism ------------------------------------------------------------------------------------


def test_a_perturbation_table_is_no_law_and_nothing_draws_from_it(tmp_path):
    with pytest.raises(TypeError):
        Mechanism(ib.count(3), Fraction(1), SMALL, Origin("perturbation table"))
    for call in (lambda: compose(SMALL), lambda: ib.compare([SMALL]), lambda: ib.unbiased_sum([1], SMALL)):
        with pytest.raises(TypeError):
            call()
    write_table(SMALL, tmp_path / "table.csv")
    with pytest.raises(PassportError):
        ib.load(tmp_path / "table.csv")
    assert not ib.verify(tmp_path / "table.csv").is_valid
    assert not any(hasattr(SMALL, name) for name in ("sample", "simulate", "draw"))


def test_a_release_a_question_and_a_ledger_refuse_it(tmp_path):
    write_table(SMALL, tmp_path / "table.csv")
    plan = {
        "epsilon": 1,
        "groups": {"columns": ["g"], "keys": [["a"]], "max_size": 10},
        "statistics": {"n": {"count": "", "mechanism": str(tmp_path / "table.csv")}},
    }
    with pytest.raises((ValueError, ib.InboundsError)):
        ib.preview_release(plan)
    with pytest.raises((TypeError, ValueError, AttributeError, ib.InboundsError)):
        ib.Ledger(tmp_path / "ledger.sqlite", budget=1).charge(SMALL)


# --- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("table", [SMALL, parse_table(OFFICE)], ids=["small", "office"])
def test_a_table_is_read_as_it_was_written(tool, table, tmp_path):
    write_table(table, tmp_path / "table", tool)
    again = read_table(tmp_path / "table")
    assert again.audit().profile.delta(Fraction(1)) == table.audit().profile.delta(Fraction(1))
    assert [again.mean(i) for i in range(9)] == [table.mean(i) for i in range(9)]
    assert format_table(again, tool) == (tmp_path / "table").read_text("utf-8")


def test_the_file_of_ptable_is_written_as_ptable_writes_it():
    assert format_table(parse_table(OFFICE), "sas") == OFFICE


def test_what_other_programs_do_to_a_file_does_not_change_the_table():
    table = parse_table(OFFICE)
    header, *lines = OFFICE.splitlines()
    quoted = ";".join(f'"{name}"' for name in header.split(";"))
    padded = [";".join(f" {cell} " for cell in line.split(";")) for line in lines]
    assert parse_table("\r\n".join([quoted, *padded, "", ""])) == table
    yaml = format_table(table, "cellkey")
    assert parse_table(yaml.replace("1.00000000", "1.0").replace("    -", "  -")) == table


def test_the_yaml_is_what_a_yaml_reader_reads():
    reader = pytest.importorskip("yaml")
    loaded = reader.safe_load(format_table(parse_table(OFFICE), "cellkey"))
    columns = loaded["params"]["ptable"]
    assert (loaded["type"], loaded["ptype"]) == ("cnts", "params_cnts")
    assert list(columns) == ["i", "j", "p", "v", "lb", "ub", "type"]
    assert [f"{ub:.8f}" for ub in columns["ub"]] == [line.split(";")[-1] for line in OFFICE.splitlines()[1:]]


def test_a_noise_with_two_intervals_of_keys_has_the_sum_of_both():
    text = "i;j;p;v;p_int_ub\n0;0;1;0;1\n1;1;.25;0;.25\n1;2;.5;1;.75\n1;1;.25;0;1\n"
    assert parse_table(text).rows[1] == {0: 50_000_000, 1: 50_000_000}


CHANGES = {
    "result": ("\n1;0;0.36988265;-1", "\n1;1;0.36988265;-1"),
    "negative result": ("\n1;0;0.36988265;-1", "\n1;-1;0.36988265;-2"),
    "falling bound": ("0.73976529;0.91082398\n", "0.73976529;0.71082398\n"),
    "lower bound": ("-1;0.00000000;0.36988265", "-1;0.10000000;0.36988265"),
    "bound beyond 1": ("0.97952808;1.00000000", "0.97952808;1.10000000"),
    "sum below 1": ("0.97952808;1.00000000", "0.97952808;0.99000000"),
    "gap in counts": ("\n0;0;1.00000000;0;0.00000000;1.00000000", ""),
    "no number": (";-1;0.00000000", ";x;0.00000000"),
    "third": ("0.36988265\n", "1/3\n"),
    "half a count": ("\n1;0;0.36988265;-1;", "\n1/2;-1/2;0.36988265;-1;"),
    "field missing": ("0.97952808;1.00000000", "0.97952808"),
    "column missing": ("p_int_ub", "upper"),
    "column twice": ("i;j;p", "i;i;p"),
    "magnitudes": ("p_int_lb", "type"),
}


def test_a_file_that_is_no_table_of_counts_is_refused(golden):
    said = {}
    for name, (before, after) in CHANGES.items():
        changed = OFFICE.replace(before, after, 1)
        assert changed != OFFICE
        with rejects(ValueError) as refused:
            parse_table(changed)
        said[name] = refused.value
    golden.parts("wrong_perturbation_files", said)


def test_an_empty_or_foreign_file_is_refused(golden):
    def parse(text):
        parse_table(text)

    golden.errors(
        "foreign_perturbations",
        [
            lambda: parse(""),
            lambda: parse("params:\n  ptable:\n"),
            lambda: parse("params:\n? odd\n"),
            lambda: parse("i;j\n"),
        ],
    )


def test_yaml_of_other_tables_is_refused(golden):
    def parse(before, after):
        parse_table(format_table(parse_table(OFFICE), "cellkey").replace(before, after, 1))

    golden.errors(
        "wrong_perturbation_yaml",
        [
            lambda: parse("cnts\n", "nums\n"),
            lambda: parse("- all\n", "- even\n"),
            lambda: parse("    ub:\n    - 1", "    ub:\n"),
        ],
    )


def test_what_a_tool_would_not_do_is_not_written():
    noisy_zero = PerturbationTable(({0: 1, 1: 1}, {0: 2}), 2)
    assert parse_table(format_table(noisy_zero)).rows[0] == {0: 50_000_000, 1: 50_000_000}
    with rejects(ValueError, about="whatever"):
        format_table(noisy_zero, "cellkey")
    with rejects(ValueError, "probabilities", about="8 places"):
        format_table(PerturbationTable(({0: 3}, {0: 2, 1: 1}), 3))
    with rejects(ValueError, "tool", about="cellkey"):
        format_table(SMALL, "cellkey2")


R_CODE = """
table <- read.table("table.csv", sep = ";", dec = ".", header = TRUE)
for (rows in split(table, table$i)) {
  stopifnot(abs(sum(rows$p) - 1) < 1e-9, all(rows$j == rows$i + rows$v), all(diff(rows$p_int_ub) >= 0))
}
write.table(format(table, digits = 8), file = "again.csv", sep = ";", dec = ".", row.names = FALSE, quote = FALSE)
"""


def test_a_table_survives_a_round_trip_through_r(tmp_path):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed here: Rscript is not on the path")
    table = parse_table(OFFICE)
    write_table(table, tmp_path / "table.csv")
    (tmp_path / "round.R").write_text(R_CODE, "utf-8")
    done = subprocess.run([rscript, "round.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_table(tmp_path / "again.csv") == table


# --- designed tables --------------------------------------------------------------------------------------

WISHES = {
    "zero stays": {"largest": 3, "variance": 1},
    "only larger counts protected": {"largest": 3, "variance": 1, "protected_from": 1},
    "zero free": {"largest": 4, "variance": "1.5", "zero_stays": False},
    "forbidden results": {"largest": 5, "variance": 2, "forbidden": {1, 2}, "zero_stays": False},
    "forbidden alone": {"largest": 4, "variance": 3, "forbidden": {3}, "zero_stays": False},
}


@pytest.mark.parametrize("name", WISHES)
def test_a_designed_table_keeps_every_wish_exactly_and_its_delta_is_the_optimum(name):
    wish = WISHES[name]
    made = design_table(1, **wish)
    table = made.table
    assert made.delta == table.audit(wish.get("protected_from", 0)).delta(1)
    assert made.optimum - 1e-7 <= made.delta <= made.optimum + 1e-5
    assert table.zero_stays == wish.get("zero_stays", True)
    assert table.largest_noise <= wish["largest"]
    free_from = wish["largest"] + max(wish.get("forbidden", {-1})) + 1
    for number in range(len(table.rows)):
        assert not {number + v for v in table.rows[number]} & set(wish.get("forbidden", ()))
        assert table.variance(number) + table.mean(number) ** 2 <= Fraction(wish["variance"])
        assert table.mean(number) == 0 or number < (1 if table.zero_stays else free_from)
    assert parse_table(format_table(table)).audit(wish.get("protected_from", 0)).delta(1) == made.delta


@pytest.mark.parametrize("variance", [1, 2])
def test_zero_that_stays_costs_what_the_inequality_says_and_no_more(variance):
    made = design_table(4, largest=5, variance=variance)
    assert made.delta == pytest.approx(1 / (1 + variance), abs=1e-5)
    assert made.delta >= float(made.table.zero_bound)


def test_the_least_delta_is_that_of_an_independent_program():
    """All rows as one matrix, every set of results as a constraint of its own."""
    largest, epsilon, variance = 1, 0.7, 0.6
    places = [(i, v) for i in range(2) for v in range(max(-1, -i), largest + 1)]
    spot = {place: k for k, place in enumerate(places)}
    size, A, b = len(places) + 1, [], []
    results = range(4)

    def at(number, result):
        return spot.get((min(number, 1), result - number))

    for first, second in ((0, 1), (1, 0), (1, 2), (2, 1)):
        for chosen in range(1 << 4):
            row = np.zeros(size)
            for r in (r for r in results if chosen >> r & 1):
                for number, factor in ((first, 1.0), (second, -np.exp(epsilon))):
                    if at(number, r) is not None:
                        row[at(number, r)] += factor
            row[-1] = -1
            A.append(row)
            b.append(0.0)
    for i in range(2):
        row = np.zeros(size)
        for v in (-1, 0, 1):
            if (i, v) in spot:
                row[spot[i, v]] = v * v
        A.append(row)
        b.append(variance)
    equal = [[float(i == k) for i, _ in places] + [0.0] for k in range(2)]
    equal.append([float(i == 1) * v for i, v in places] + [0.0])
    best = linprog(np.eye(size)[-1], A, b, equal, [1, 1, 0]).fun
    made = design_table("0.7", largest=largest, variance="0.6", zero_stays=False)
    assert made.optimum == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize(
    "wish",
    [
        {"largest": 1, "variance": "0.1", "forbidden": {1}},
        {"largest": 3, "variance": 1, "forbidden": {1, 2}, "zero_stays": False, "unbiased_from": 1},
    ],
)
def test_a_wish_that_no_table_can_keep_is_refused(wish):
    with pytest.raises(InfeasibleDesign):
        design_table(1, **wish)


def test_impossible_arguments_are_refused(golden):
    def design(wrong):
        design_table(1, **{"largest": 3, "variance": 1} | wrong)

    golden.errors(
        "wrong_perturbation_designs",
        [
            lambda: design({"largest": 61}),
            lambda: design({"variance": -1}),
            lambda: design({"forbidden": {0}}),
            lambda: design({"protected_from": 4}),
            lambda: design({"largest": 0}),
        ],
    )

"""Comparisons, recommendations and their commands."""

import csv
import json
import sys
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.catalog.registry import families, find_families
from inbounds.cli import app
from inbounds.evaluate.compare import CODES, applicable_entries, compare
from inbounds.evaluate.recommend import recommend
from inbounds.report import figures
from raising import rejects

QUERY = ib.count(6)


@pytest.fixture(scope="module")
def everything():
    return compare(QUERY, "0.7")


def run(*words):
    return CliRunner().invoke(app, list(words), catch_exceptions=False, env={"COLUMNS": "120"})


# --- compare ----------------------------------------------------------------------------------------------


def test_all_that_fits_is_every_catalog_entry_that_needs_no_choice(everything):
    """A new entry of the catalog joins without being listed anywhere else."""
    names = {row.name for row in everything.rows}
    assert names == {"optimal", *families()}
    assert names >= {"truncated_geometric", "explicit_fair", "uniform", "variant_1", "variant_2", "weakly_honest"}
    assert set(everything.left_out) == {"prerounded_geometric", "scaled_laplace", "snapped_noise", "threshold"}
    assert "refuted_half_line" not in names


def test_the_table_says_what_the_mechanisms_say(everything):
    """Every cell is the mechanism's own measure."""
    for row in everything.rows:
        m = row.mechanism
        assert row.values["squared"] == pytest.approx(m.loss("squared"), rel=1e-14)
        assert row.values["worst zero-one"] == pytest.approx(m.worst_loss("zero-one"), rel=1e-14)
        assert row.values["bayes absolute"] == pytest.approx(m.bayes_loss("absolute"), rel=1e-14)
        assert row.values["truth"] == pytest.approx(m.truth_probability().min(), rel=1e-14)
        assert row.values["information"] == pytest.approx(m.mutual_information(), rel=1e-14)
        assert row.values["effective epsilon"] == m.tight_epsilon()
        assert row.properties == tuple(name for name, held in m.properties().items() if held)
        assert row.codes.split() == [CODES[name] for name in row.properties]


def test_all_that_fits_is_sorted_by_the_first_loss_and_can_be_sorted_by_any_column(everything):
    """Least loss first, most truth first."""
    losses = [row.values["absolute"] for row in everything.rows]
    assert losses == sorted(losses)
    truths = [row.values["truth"] for row in everything.sort_by("truth").rows]
    assert truths == sorted(truths, reverse=True)
    with rejects(ValueError, "column"):
        everything.sort_by("cost")


def test_ties_share_the_mark_of_the_best():
    """Two copies of the best mechanism are both marked; a third, worse one is not."""
    best, worse = ib.catalog.explicit_fair(QUERY, 1), ib.catalog.uniform(QUERY, 1)
    found = compare({"a": best, "b": worse, "c": best})
    assert found.best("absolute") == ("a", "c")
    assert found.best("truth") == ("a", "c")
    stars = [[cell.endswith("*") for cell in line[1:-1]] for line in found.cells()]
    assert stars[0] == stars[2]
    assert any(stars[0])
    assert not any(stars[1])


def test_a_list_keeps_its_order_and_gets_distinct_names():
    """The origin's name, then its parameters, then a number."""
    c = ib.catalog
    made = [c.uniform(QUERY, 1), c.normalized_laplace(QUERY, 1), c.normalized_laplace(QUERY, 1, notion="metric")]
    names = [row.name for row in compare([*made, made[0], made[0]]).rows]
    assert names[:2] == ["uniform", "normalized_laplace"]
    assert names[2].startswith("normalized_laplace(notion=metric")
    assert names[3:] == ["uniform (2)", "uniform (3)"]


def test_losses_and_a_prior_can_be_chosen():
    """Averages and Bayes losses follow the prior, the optimum follows the first loss."""
    prior = [1, 0, 0, 0, 0, 0, 3]
    found = compare(QUERY, 1, losses=[ib.threshold_loss(1), "absolute"], prior=prior)
    assert found.losses == ("off by more than 1", "absolute")
    for row in found.rows:
        assert row.values["absolute"] == pytest.approx(row.mechanism.loss("absolute", prior))
        assert row.values["bayes off by more than 1"] == pytest.approx(
            row.mechanism.bayes_loss(ib.threshold_loss(1), prior)
        )
    designed = next(row.mechanism for row in found.rows if row.name == "variant_1")
    assert "off by more than 1" in str(designed.origin)


def test_the_optimum_under_the_prior_is_in_the_comparison():
    """A prior that leans makes the catalog's mechanisms, which know none, worse than what is possible."""
    prior = [30, 10, 3, 1, 1, 1, 1]
    found = compare(QUERY, "0.7", prior=prior)
    best = ib.optimal(QUERY, "0.7", prior=prior).loss("absolute", prior)
    values = {row.name: row.values["absolute"] for row in found.rows}
    assert values["optimal"] == pytest.approx(best, rel=1e-12)
    assert all(value >= best * (1 - 1e-9) for value in values.values())
    assert found.best("absolute") == ("optimal",)
    assert values["truncated_geometric"] > 1.1 * best


def test_mechanisms_of_ones_own_join_by_name():
    def mine(query, epsilon):
        return ib.catalog.folded_geometric(query, epsilon / 2)

    found = compare(QUERY, 1, also={"mine": mine, "done": ib.catalog.uniform(QUERY, 1)})
    assert {"mine", "done", "optimal", "explicit_fair"} <= {row.name for row in found.rows}
    pair = compare([ib.catalog.uniform(QUERY, 1)], also={"mine": mine(QUERY, Fraction(1))})
    assert [row.name for row in pair.rows] == ["uniform", "mine"]
    for also, error, about in (({"uniform": mine}, ValueError, "'uniform'"), ({"mine": "fair"}, TypeError, "str")):
        with rejects(error, "also", about=about):
            compare(QUERY, 1, also=also)
    with rejects(TypeError, "also", about="function"):
        compare([ib.catalog.uniform(QUERY, 1)], also={"mine": mine})


def test_a_comparison_is_written_as_csv_and_latex(everything, tmp_path):
    rows = list(csv.DictReader(everything.to_csv().splitlines()))
    assert [row["mechanism"] for row in rows] == [row.name for row in everything.rows]
    assert [float(row["absolute"]) for row in rows] == [row.values["absolute"] for row in everything.rows]
    lines = everything.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrrrrr}"
    assert sum(line.endswith(r"\\") for line in lines) == len(rows) + 1
    assert any(line.startswith(r"explicit\_fair & ") for line in lines)
    for ending, start in ((".csv", "mechanism,law,epsilon,"), (".tex", r"\begin{tabular}")):
        path = tmp_path / f"table{ending}"
        words = ("compare", "count", "--size", "3", "--epsilon", "1", "--out", str(path))
        assert run(*words).exit_code == 0
        assert path.read_text().startswith(start)
        with rejects(ValueError, about="exist"):
            run(*words)
        assert run(*words, "--overwrite").exit_code == 0


def test_own_mechanisms_in_files_stand_beside_all_that_fit_and_the_optimum_under_the_prior(tmp_path):
    query, weights = ib.count(3), [4, 2, 1, 1]
    mine, prior = tmp_path / "mine.json", tmp_path / "prior.txt"
    ib.certify(ib.catalog.explicit_fair(query, 1).matrix, query, 1).save(mine)
    prior.write_text("\n".join(map(str, weights)))
    words = ("compare", "count", "--size", "3", "--epsilon", "1", "--file", str(mine), "--prior", str(prior), "--json")
    found = {row["mechanism"]: row["absolute"] for row in json.loads(run(*words).output)["mechanisms"]}
    assert found["mine"] == pytest.approx(found["explicit_fair"])
    assert found["optimal"] == pytest.approx(ib.optimal(query, 1, "absolute", weights).loss("absolute", weights))
    assert min(found.values()) == pytest.approx(found["optimal"])
    with rejects(ValueError, "mechanisms", about="query"):
        run("compare", "count", "--size", "4", "--epsilon", "1", "--file", str(mine))


def test_what_is_no_mechanism_is_refused_with_the_way_to_make_one():
    own = {"mine": lambda query, epsilon: np.eye(3)}
    with rejects(TypeError, "family 'mine'", about="ndarray"):
        compare(ib.count(2), 1, also=own)
    with rejects(TypeError, "family 'mine'", about="ndarray"):
        figures.loss_against_epsilon(ib.count(2), [1], own)


def test_families_are_named_or_given():
    assert list(find_families(["uniform", "explicit_fair"])) == ["uniform", "explicit_fair"]
    own = {"mine": ib.catalog.uniform}
    assert find_families(own) == own
    assert find_families({"GM": "truncated_geometric"}) == {"GM": families()["truncated_geometric"]}
    with rejects(ValueError, "family"):
        find_families(["uniforn"])


def test_mechanisms_of_different_queries_are_not_compared():
    """The error names both questions."""
    with rejects(ValueError, "mechanisms", about="0..7"):
        compare({"a": ib.catalog.uniform(QUERY, 1), "b": ib.catalog.uniform(ib.count(7), 1)})
    local = ib.catalog.uniform(ib.extreme(0, 6), 1)
    with rejects(ValueError, "mechanisms", about="query"):
        compare([ib.catalog.uniform(QUERY, 1), local])


def test_other_cells_for_the_same_question_are_compared():
    """Pre-rounding reports in other cells; the question is the same."""
    c = ib.catalog
    found = compare([c.uniform(QUERY, 1), c.prerounded_geometric(QUERY, 1, [-1, 1, 3, 5, 7])])
    assert [row.name for row in found.rows] == ["uniform", "prerounded_geometric"]


def test_bad_input_is_refused_with_the_rule(golden):
    """One sentence."""
    golden.errors(
        "wrong_comparisons",
        [
            lambda: compare(QUERY),
            lambda: compare([]),
            lambda: compare([QUERY]),
            lambda: compare({"a": 3}),
            lambda: compare(QUERY, 1, prior=[1, 2]),
            lambda: compare(QUERY, -1),
            lambda: recommend(QUERY, 1, ["pretty"]),
        ],
    )


def test_labels_are_compared_by_the_losses_they_have():
    """No order, no absolute error; what needs an order is left out with the reason."""
    found = compare(ib.category(["a", "b", "c"]), 1)
    assert found.losses == ("zero-one",)
    assert "randomized_response" in found.best()
    assert "numeric" in found.left_out["explicit_fair"]


def test_large_counts_are_compared_without_a_matrix():
    """What cannot be computed at that size is a dash, not a failure."""
    found = compare([ib.catalog.truncated_geometric(ib.count(10_000), 1)])
    (row,) = found.rows
    assert row.values["bayes absolute"] is None
    assert row.properties is None
    assert "–" in str(found)
    assert found.best("bayes absolute") == ()
    made, left_out = applicable_entries(ib.count(10**5), 1)
    assert "truncated_geometric" in made
    assert "over the limit" in left_out["uniform"]


def test_the_printed_table_is_aligned_and_marked(everything):
    """Every line has the columns of the head, under the head."""
    head, *lines = str(everything).splitlines()
    assert head.startswith("mechanism")
    assert head.endswith("properties")
    place = head.index("properties")
    for line, row in zip(lines, everything.rows, strict=True):
        assert line.startswith(row.name)
        assert line[place:].strip() == row.codes
    assert "*" in lines[0]


def test_tables_convert_to_pandas_and_polars(everything):
    """Same rows, same numbers."""
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    pandas, polars = everything.to_pandas(), everything.to_polars()
    assert list(pandas["mechanism"]) == polars["mechanism"].to_list() == [row.name for row in everything.rows]
    assert list(pandas["absolute"]) == polars["absolute"].to_list()
    assert pandas.shape == polars.shape


def test_a_missing_table_library_is_named(everything, monkeypatch):
    """One sentence with the extra to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    for convert in (everything.to_pandas, everything.to_polars):
        with rejects(ImportError, about="inbounds"):
            convert()


# --- recommend --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("needs", [(), ("fair",), ("fair", "column_monotone"), ("weakly_honest",)])
@pytest.mark.parametrize("loss", ["absolute", "zero-one"])
def test_nothing_that_meets_the_needs_beats_the_recommendation(needs, loss):
    """It has what is needed, and no other row that has it loses less."""
    found = recommend(QUERY, "0.7", needs, loss=loss)
    held = found.mechanism.properties()
    assert all(held[name] for name in needs)
    value = found.mechanism.loss(loss)
    for row in found.comparison.rows:
        if set(needs) <= set(row.properties):
            assert value <= row.values[loss] * (1 + 1e-9)
    assert found.name in found.reason
    assert found.reason.count(". ") == 1
    assert found.reason.endswith(".")


def test_among_equals_the_closed_form_is_recommended():
    """003: the explicit fair mechanism is optimal under zero-one loss among the fair."""
    assert recommend(ib.count(10), 1, ["fair"], loss="zero-one").name == "explicit_fair"
    assert recommend(ib.category(["a", "b", "c"]), 1).name == "randomized_response"


def test_the_worst_case_can_be_what_counts():
    """The recommended one has the least worst loss."""
    found = recommend(QUERY, "0.7", aim="worst")
    assert found.mechanism.worst_loss() == pytest.approx(
        min(row.values["worst absolute"] for row in found.comparison.rows), rel=1e-9
    )
    assert "worst case" in found.reason


# --- commands ---------------------------------------------------------------------------------------------


def test_compare_prints_a_table_and_json():
    """The text names the best, the JSON carries all columns."""
    shown = run("compare", "count", "--size", "6", "--epsilon", "0.5")
    assert shown.exit_code == 0
    assert "variant_1" in shown.output
    assert "*" in shown.output
    found = json.loads(run("compare", "count", "--size", "6", "--epsilon", "0.5", "--json").output)
    assert found["best"]["absolute"] == list(compare(QUERY, "0.5").best("absolute"))
    assert {"bayes squared", "worst zero-one", "properties"} <= set(found["mechanisms"][0])


def test_a_narrow_terminal_gets_whole_numbers():
    """Fewer columns, no cut numbers."""
    from io import StringIO

    from rich.console import Console

    from inbounds.report import terminal

    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.comparison(compare(ib.count(20), "0.5"), 80))
    text = console.export_text()
    assert "…" not in text
    assert "RH RM CH CM F WH S" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_compare_reads_files_and_writes_a_report(tmp_path):
    """Two passports in, one HTML page out."""
    a, b, page = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.html"
    ib.catalog.uniform(QUERY, 1).save(a)
    ib.catalog.explicit_fair(QUERY, 1).save(b)
    shown = run("compare", "--file", str(a), "--file", str(b), "--out", str(page), "--sort", "truth", "--json")
    assert [m["mechanism"] for m in json.loads(shown.output)["mechanisms"]] == ["b", "a"]
    assert "Mechanisms compared" in page.read_text("utf-8")


def test_recommend_explains_itself():
    """Two sentences, and the same in JSON."""
    words = ("recommend", "count", "--size", "6", "--epsilon", "0.7", "--property", "fair")
    reason = " ".join(run(*words).output.split())
    assert reason == json.loads(run(*words, "--json").output)["reason"]

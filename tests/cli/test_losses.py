"""The option --loss with a table of costs: the table of the file, in the order of the query, or a refusal."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.cli.losses import read_loss
from raising import rejects

QUERY = ib.count(2)
COSTS = [[0, 3, 6], [1, 0, 3], [2, 1, 0]]
NAMED = ",0,1,2\n" + "".join(f"{k},{','.join(map(str, row))}\n" for k, row in enumerate(COSTS))
PLAIN = "".join(f"{', '.join(map(str, row))}\n" for row in COSTS)


@pytest.mark.parametrize("text", [PLAIN, NAMED, "\ufeff" + PLAIN, NAMED.replace(",1,", ",1.0, ", 1), PLAIN + "\n"])
def test_a_table_is_read_with_and_without_names(tmp_path, text):
    (tmp_path / "cost.csv").write_text(text, "utf-8")
    loss = read_loss(str(tmp_path / "cost.csv"), QUERY)
    assert np.array_equal(loss.table(QUERY), COSTS)
    assert loss.name == "cost.csv"


@pytest.mark.parametrize(
    "text",
    [
        "", "1,2\n3,4\n", PLAIN.replace("6", "inf"), PLAIN.replace("6", "six"), NAMED.replace("6", ""),
        ",0,2,1\n" + NAMED.partition("\n")[2], NAMED.replace("\n1,", "\n7,"), PLAIN + "1,2,3\n",
    ],
)  # fmt: skip
def test_a_table_that_is_not_of_the_query_is_refused(tmp_path, text):
    (tmp_path / "cost.csv").write_text(text, "utf-8")
    with rejects(ValueError, "--loss"):
        read_loss(str(tmp_path / "cost.csv"), QUERY)


def test_names_may_be_labels(tmp_path):
    (tmp_path / "cost.csv").write_text("said,yes,no\nyes,0,1\nno,2,0\n", "utf-8")
    query = ib.category(["yes", "no"])
    assert read_loss(str(tmp_path / "cost.csv"), query).table(query)[1, 0] == 2


def test_a_design_for_a_table_states_and_keeps_its_loss(tmp_path):
    cost, passport = tmp_path / "cost.csv", tmp_path / "m.json"
    cost.write_text(NAMED, "utf-8")
    words = ["design", "count", "--size", "2", "--epsilon", "1", "--loss", str(cost), "--out", str(passport)]
    assert CliRunner().invoke(app, words).exit_code == 0
    mechanism = ib.load(passport)
    assert mechanism.optimality.value == pytest.approx(mechanism.loss(COSTS))
    assert mechanism.optimality.loss_table.tolist() == COSTS
    learned = CliRunner().invoke(app, ["attack", str(passport), "--repeat", "1,2", "--loss", str(cost), "--json"])
    assert learned.exit_code == 0
    assert "mean" not in json.dumps(json.loads(learned.stdout))
    compared = CliRunner().invoke(app, ["compare", "--file", str(passport), "--loss", str(cost), "--json"])
    assert "cost.csv" in compared.stdout

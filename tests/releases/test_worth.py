"""Said before it is spent: statistics that are no better than a constant, what would help, and --allow-useless."""

import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.losses import best_constant_loss
from inbounds.releases.pipeline import PlanError, preview_release, release
from inbounds.releases.vector_accuracy import SimulatedVectors
from raising import raises_at

pytest.importorskip("ibis")

FRAME = pa.table({"g": ["a", "a", "b"], "x": [1.0, 2.0, 3.0], "c": ["p", "q", None]})


def plan(statistics, epsilon=1, size=25, **groups):
    return {
        "groups": {"by": ["g"], "keys": ["a", "b"], **(groups or {"size": size})},
        "columns": {"x": {"low": 0, "high": 32}, "c": {"labels": ["p", "q"]}},
        "statistics": [{**s, "name": f"s{k}"} for k, s in enumerate(statistics)],
        "privacy": {"epsilon": epsilon},
    }


GOOD, IDLE = {"count": "x > 1"}, {"min": "x"}


@pytest.mark.parametrize("query", [ib.count(7), ib.mean(3, 0, 2), ib.extreme(0, 9), ib.category(["a", "b", "c"])])
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_the_constants_loss_is_the_least_of_all_constants(query, loss):
    if query.labels and loss != "zero-one":
        pytest.skip("labels have no distance")
    weights = np.arange(1, len(query.answers) + 1) / sum(range(1, len(query.answers) + 1))
    every = ib.losses.to_loss(loss).guesses(query) @ weights
    assert best_constant_loss(query, loss, weights) == pytest.approx(every.min())


@pytest.mark.long
def test_a_dry_run_names_what_is_useless_and_what_would_help(tmp_path):
    found = preview_release(
        plan([{**GOOD, "budget_share": 0.999}, {**IDLE, "budget_share": 0.001}]), FRAME, cache=tmp_path
    )
    (idle,) = found.no_better
    assert idle.statistic == "s1"
    assert idle.expected.error >= 0.95 * idle.expected.constant
    assert not found.says_nothing
    assert found.record["useless"] == [str(idle)]


@pytest.mark.long
def test_what_would_help_several_quantiles_is_tried_by_short_simulations(tmp_path, monkeypatch):
    rough, simulate = list[bool](), SimulatedVectors.simulate

    def count(mechanism, prior, *, is_rough):
        rough.append(is_rough)
        return simulate(mechanism, prior, is_rough=is_rough)

    monkeypatch.setattr(SimulatedVectors, "simulate", count)
    content = plan([{"quantile": "x", "at": ["1/4", "3/4"]}], "0.4", max_size=9)
    (idle,) = preview_release(content, FRAME, cache=tmp_path).no_better
    assert idle.helps
    assert rough.count(False) == 1
    assert rough.count(True) > 3


@pytest.mark.long
def test_what_would_help_does_help(tmp_path):
    """The epsilon, the size and the step that are named are tried again: the error is what was said, at most half."""
    content = plan([{"median": "x"}], epsilon="0.05")
    (idle,) = preview_release(content, FRAME, cache=tmp_path).no_better
    ways = " / ".join(idle.helps)
    epsilon = re.search(r"epsilon (\S+) for the plan \(error at most (\S+), constant (\S+)\)", ways)
    again = preview_release({**content, "privacy": {"epsilon": epsilon[1]}}, FRAME, cache=tmp_path)
    assert again.errors["s0"][0] == pytest.approx(float(epsilon[2]), rel=1e-3)
    assert again.errors["s0"][0] <= again.constants["s0"][0] / 2
    step = re.search(r"a step of (\S+) for x \(error at most (\S+), constant (\S+)\)", ways)
    if step:
        coarse = {**content, "columns": {**content["columns"], "x": {"low": 0, "high": 32, "step": step[1]}}}
        assert preview_release(coarse, FRAME, cache=tmp_path).errors["s0"][0] == pytest.approx(float(step[2]), rel=1e-3)


def test_larger_groups_are_named_where_they_help(tmp_path):
    (idle,) = preview_release(plan([GOOD], epsilon="0.1", size=5), FRAME, cache=tmp_path).no_better
    size = re.search(r"groups of (\d+) \(error at most (\S+), constant", " / ".join(idle.helps))
    assert preview_release(plan([GOOD], epsilon="0.1", size=int(size[1])), FRAME, cache=tmp_path).no_better == ()


def test_only_some_sizes_may_be_no_better(tmp_path):
    found = preview_release(plan([GOOD], epsilon="0.2", size=[2, 60]), FRAME, cache=tmp_path)
    (idle,) = found.no_better
    assert idle.sizes == (2,)
    assert "in groups of 2:" in str(idle)
    assert release(plan([GOOD], epsilon="0.2", size=[2, 60]), FRAME, cache=tmp_path).table.num_rows == 2


@pytest.mark.long
def test_a_plan_that_would_say_nothing_is_released_only_if_asked_for(tmp_path):
    content = plan([IDLE, {"count": "true"}], epsilon="0.001")
    with raises_at(PlanError, ("statistics",), about="allow_useless=True") as caught:
        release(content, FRAME, cache=tmp_path)
    assert str(caught.value).count("no better than a constant") == 2  # once for each statistic
    assert release(content, FRAME, cache=tmp_path, allow_useless=True).table.num_rows == 2


@pytest.mark.long
def test_whether_it_is_asked_for_depends_on_the_plan_alone(tmp_path):
    content = plan([IDLE], epsilon="0.001")
    for frame in (FRAME, FRAME.slice(0, 0), pa.concat_tables([FRAME] * 9)):
        with raises_at(PlanError, ("statistics",), about="allow_useless=True"):
            release(content, frame, cache=tmp_path)


def test_the_command_line_asks_for_anyway_and_charges_nothing_without(tmp_path, command):
    (tmp_path / "t.csv").write_text("g,x\na,1\n")
    asked = ["release", "t.csv", "--count", "x > 1", "--size", "3", "--epsilon", "0.001", "--out", "o.csv"]
    dry = command(tmp_path, *asked, "--dry-run")
    assert dry.returncode == 0
    assert "a release needs --allow-useless" in dry.one_line
    refused = command(tmp_path, *asked)
    assert refused.returncode == 2
    assert "give --allow-useless" in refused.one_line
    assert not (tmp_path / "o.csv").exists()
    assert not (tmp_path / "inbounds.ledger").exists()
    done = command(tmp_path, *asked, "--allow-useless", "--report", "r.html")
    assert done.returncode == 0
    assert "no better than a constant" in (tmp_path / "r.html").read_text()


def test_a_dry_run_shows_names_of_any_length_whole(tmp_path, command):
    names = [f"how_many_of_them_answered_question_{k}_with_yes" for k in range(6)]
    statistics = "".join(f'[[statistics]]\ncount = "x > {k}"\nname = "{name}"\n' for k, name in enumerate(names))
    (tmp_path / "t.csv").write_text("g,x\na,1\n")
    (tmp_path / "p.toml").write_text(
        '[source]\npath = "t.csv"\n[groups]\nsize = 30\n[columns.x]\ntype = "number"\n[privacy]\nepsilon = 6\n'
        + statistics
    )
    said = command(tmp_path, "release", "p.toml", "--dry-run").stdout
    table = said[said.index("Expected error") :]
    assert "…" not in table
    cells = "".join(line.split("│")[1].strip() for line in table.splitlines() if line.startswith("│"))
    assert all(name in cells for name in names)


def test_means_of_secret_sizes_beat_the_constant_where_they_once_did_not(tmp_path):
    found = preview_release(plan([{"mean": "x"}], max_size=100, typical=[50, 100]), FRAME, cache=tmp_path)
    assert found.errors["s0"][0] < found.constants["s0"][0] / 10
    assert found.plan.epsilon == Fraction(1)

"""End to end: releases repeated until their frequencies tell, and planted bugs that the same checks must catch."""

import math

import numpy as np
import pytest

from inbounds.releases import aggregate, drawing
from inbounds.releases.pipeline import AggregationError
from inbounds.sources import records as sources
from inbounds.trusted.samplers import seeded_entropy

COLUMNS = {"c": {"labels": ["p", "q"]}, "n": {"low": 0, "high": 3}}


def content(*statistics, **groups):
    return {
        "groups": {"by": ["g"], "keys": ["A", "B"], "size": 2, **groups},
        "columns": COLUMNS,
        "statistics": [{**s, "name": f"s{k}"} for k, s in enumerate(statistics)],
        "privacy": {"epsilon": 1},
    }


COUNTED = content({"count": "c = 'p'"}, {"count": "n != 2"})
MEASURED = content({"mean": "n"}, {"median": "n"})
HERE = [{"c": "p", "n": 0}, {"c": "q", "n": 1}]
THERE = [{"c": "q", "n": 99}, {"c": "q", "n": 1}]


def assert_within_the_claim(checks, plan, n):
    """The bound on epsilon stays below the claim, and comes near it: the audit would have seen more."""
    found = checks.audited(plan, HERE, THERE, n)
    assert found <= 1
    assert found > 0.5


def test_fifty_thousand_releases_show_no_more_than_the_claimed_epsilon(checks):
    assert_within_the_claim(checks, content({"count": "c = 'p'"}), 50_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [content({"count": "c = 'p'"}), COUNTED, content({"histogram": "c"}), MEASURED, content({"sum": "n"})],
    ids=["count", "two counts", "histogram", "mean and median", "sum"],
)
def test_a_million_releases_show_no_more_than_the_claimed_epsilon(checks, plan):
    """Two-record tables, all statistics jointly; the bound is wrong with probability 1e-10."""
    found = checks.audited(plan, HERE, THERE, 1_000_000)
    assert found <= 1
    assert found > 0.2


# --- planted bugs -----------------------------------------------------------------------------------------


def all_checks(checks, monkeypatch, capsys):
    """Everything that guards the path from records to released values, on small fixed tables."""
    rows = [
        {"g": "A", **HERE[0]},
        {"g": "A", **HERE[1]},
        {"g": "B", "c": "p", "n": 7},
        {"g": "undeclared", "c": "p"},
    ]
    changed = [{"g": "A", "c": "q", "n": 99}, *rows[1:]]
    for plan in (COUNTED, MEASURED):
        checks.assert_truths_are_brute_force(plan, rows)
        checks.assert_truths_are_brute_force(plan, [*rows, {"g": "undeclared", "c": "p", "n": 1}])
        checks.assert_rows_are_the_declared_groups(plan, rows)
        checks.assert_draws_decide(plan, rows)
        traces = [checks.trace(plan, table, monkeypatch, capsys) for table in (rows, changed)]
        checks.assert_neighbours(plan, *traces)
        checks.assert_law(plan, 4000, {"c": "p", "n": 1})
        checks.assert_draws_are_fresh(plan, {"c": "p", "n": 1})


def wrong_column(patch):
    own = drawing._draw_answers
    patch.setattr(drawing, "_draw_answers", lambda sampler, at, draws: own(sampler, np.maximum(at - 1, 0), draws))


def off_by_one_bound(patch):
    from dataclasses import replace

    own = sources.step_expression
    patch.setattr(sources, "step_expression", lambda v, column: own(v, replace(column, high=column.high + column.step)))


def missing_clamp(patch):
    patch.setattr(sources, "step_expression", lambda values, column: values.fill_null(0).cast("int64"))


def reused_draw(patch):
    own = drawing._draw_answers
    same = seeded_entropy(np.random.default_rng(0))(1)
    patch.setattr(drawing, "_draw_answers", lambda sampler, at, draws: own(sampler, at, lambda n: np.resize(same, n)))


def reused_between_statistics(patch):
    own = drawing._draw_answers
    patch.setattr(
        drawing, "_draw_answers", lambda sampler, at, draws: own(sampler, at, seeded_entropy(np.random.default_rng(0)))
    )


def float_noise(patch):
    def noisy(sampler, positions, draws):
        noise = np.random.default_rng().laplace(scale=2.0, size=len(positions))
        return np.clip(np.rint(positions + noise), 0, 2).astype(np.int64)

    patch.setattr(drawing, "_draw_answers", noisy)


def undeclared_groups(patch):
    """Records of groups that nobody declared end up in the first one."""
    own = aggregate.key_text
    patch.setattr(aggregate, "key_text", lambda g, *how: own((g == "undeclared").ifelse("A", g), *how))


BUGS = [
    wrong_column,
    off_by_one_bound,
    missing_clamp,
    reused_draw,
    reused_between_statistics,
    float_noise,
    undeclared_groups,
]


def test_the_checks_find_nothing_without_a_bug(checks, monkeypatch, capsys):
    all_checks(checks, monkeypatch, capsys)


@pytest.mark.long
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_caught(checks, monkeypatch, capsys, bug):
    bug(monkeypatch)
    with pytest.raises((AssertionError, AggregationError)):
        all_checks(checks, monkeypatch, capsys)


def test_the_audit_itself_sees_an_answer_that_moves_twice_as_far(checks, monkeypatch):
    """A twin that must fail: the count handed to the sampler twice as large spends twice the epsilon."""
    own = drawing._draw_answers
    monkeypatch.setattr(drawing, "_draw_answers", lambda sampler, at, draws: own(sampler, 2 * at, draws))
    assert checks.audited(content({"count": "c = 'p'"}), HERE[:1], THERE[:1], 50_000) > 1.5
    assert not math.isnan(checks.audited(content({"count": "c = 'p'"}), HERE[:1], HERE[:1], 1000))

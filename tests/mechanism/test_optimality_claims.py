"""Claims about optimality: recomputed from the passport, proved by solving, or said to be claimed and not checked."""

import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from envelopes import wrap
from inbounds.checker import compute_proved_bound
from inbounds.checker.optimality import exp_upper_bound
from inbounds.cli import app
from inbounds.files import MECHANISM
from inbounds.mechanism.passport import to_passport

STEPS = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)
PRIOR = [1.0, 2.0, 3.0, 2.0, 1.0]
DESIGNS = {
    "table": lambda: ib.optimal(ib.count(4), 1, loss=STEPS**1.5),
    "table, worst": lambda: ib.optimal(ib.count(4), 1, loss=STEPS**1.5, aim="worst"),
    "table, prior": lambda: ib.optimal(ib.count(4), 1, loss=STEPS**1.5, prior=PRIOR),
    "worst, prior": lambda: ib.optimal(ib.count(4), 1, prior=PRIOR, aim="worst"),
    "function": lambda: ib.optimal(ib.count(4), 1, loss=lambda r, t: abs(r - t) + (r > t)),
    "named, prior": lambda: ib.optimal(ib.count(4), 1, prior=PRIOR),
    "named": lambda: ib.optimal(ib.count(4), 1),
    "limited": lambda: ib.optimal(ib.count(4), 1, loss=STEPS**1.5, subject_to=ib.limit_loss("absolute", 2)),
    "labels": lambda: ib.optimal(ib.category(["a", "b", "c"]), 1, loss=[[0, 1, 5], [2, 0, 1], [1, 1, 0]]),
}


@pytest.fixture(params=DESIGNS)
def content(request):
    return to_passport(DESIGNS[request.param]()).content


def verdict_on(content, folder):
    file = folder / "m.json"
    file.write_text(json.dumps(wrap(MECHANISM, content)))
    return ib.verify(file)


def test_a_value_is_recomputed_by_the_loss_table_and_the_prior_in_the_passport(content, tmp_path):
    found = verdict_on(content, tmp_path)
    assert found.is_valid, found.reason
    assert not any(claim.startswith("that its") for claim in found.mechanism.unchecked_claims)
    assert found.mechanism.sha256 == wrap(MECHANISM, content)["sha256"]


@pytest.mark.parametrize("value", ["1.0", "0.0", "1e-3", "123.5"])
def test_a_forged_value_is_refused(content, value, tmp_path):
    content["optimality"] |= {"value": value, "bound": min(value, content["optimality"]["bound"], key=float)}
    assert not verdict_on(content, tmp_path).is_valid


def forged(content):
    """The value of a lie, with every way to make it follow."""
    best = content["optimality"]
    best |= {"value": "1.0", "bound": "1.0"}
    yield "as it is", best
    yield "without table and prior", {name: best[name] for name in ("objective", "value", "bound")}
    for words in ("average expert loss", "worst table loss", "average table loss under the given prior"):
        yield words, {"objective": words, "value": "1.0", "bound": "1.0"}
    if "loss" in best:
        rows = [" ".join("1.0" for _ in row.split(" ")) for row in best["loss"]]
        yield "short table", {**best, "loss": rows[:-1]}
        yield "narrow table", {**best, "loss": [row.rpartition(" ")[0] for row in best["loss"]]}
        yield "endless table", {**best, "loss": [row.replace("1.0", "inf", 1) for row in rows]}
        yield "table of words", {**best, "loss": "1.0"}
        yield "table beside a name", {**best, "objective": "average absolute loss", "loss": rows}
    yield "prior without words", {**best, "objective": "average absolute loss", "prior": "1.0 0.0 0.0 0.0 0.0"}
    yield "prior of the worst", {**best, "objective": "worst absolute loss under the given prior", "prior": "1.0"}


def test_no_forged_value_is_believed_and_what_nobody_can_compute_is_said_to_be_claimed(content, tmp_path):
    for name, best in list(forged(content)):
        found = verdict_on({**content, "optimality": best}, tmp_path)
        claimed = found.is_valid and any(claim.startswith("that its") for claim in found.mechanism.unchecked_claims)
        assert not found.is_valid or claimed, name


def test_an_unknown_loss_without_its_table_is_refused(tmp_path):
    content = to_passport(DESIGNS["table"]()).content
    del content["optimality"]["loss"]
    assert not verdict_on(content, tmp_path).is_valid


def test_nothing_that_was_not_recomputed_is_called_proved(tmp_path):
    """A mechanism that is called optimal, and is not."""
    content = to_passport(ib.catalog.uniform(ib.count(4), 1)).content
    content["origin"]["name"] = "optimal"
    value = content["claims"]["losses"]["absolute"]
    content["optimality"] = {"objective": "average absolute loss", "value": value, "bound": value}
    found = verdict_on(content, tmp_path)
    assert found.is_valid
    assert "optimal" not in str(found)
    for more in ([], ["--all"], ["--optimality"], ["--json"]):
        done = CliRunner().invoke(app, ["verify", str(tmp_path / "m.json"), *more])
        said = " ".join(done.stdout.split())
        assert done.exit_code == 0
        assert "claimed" in said
        assert f"proved by solving: no private mechanism is below {float(value):.9g}" not in said
    solved = ib.verify(tmp_path / "m.json", optimality=True)
    assert not solved.proves_bound
    assert solved.bound < float(value) - 0.1


# --- bounds that are proved by solving ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in DESIGNS if name != "limited"])
def test_the_bound_of_a_design_is_proved_by_solving(name, tmp_path):
    made = DESIGNS[name]()
    made.save(tmp_path / "m.json")
    found = ib.verify(tmp_path / "m.json", optimality=True)
    assert found.proves_bound
    assert found.bound <= made.optimality.value
    assert not any("lower" in claim for claim in found.unchecked_claims)
    assert any("lower" in claim for claim in ib.verify(tmp_path / "m.json").unchecked_claims)


@pytest.mark.parametrize(
    "query", [ib.total(3, 0, 3), ib.ordinal(0, 6, unit=2), ib.extreme(1, 5)], ids=["reach", "metric", "everyone"]
)
@pytest.mark.parametrize("aim", ["average", "worst"])
def test_the_proved_bound_is_the_optimum_of_every_relation(query, aim):
    made = ib.optimal(query, "1/2", loss="squared", aim=aim)
    bound = compute_proved_bound(to_passport(made).content)
    assert made.optimality.value * (1 - 1e-8) <= bound <= Fraction(made.optimality.value) * (1 + Fraction(1, 10**9))


def test_a_bound_is_true_whatever_the_solver_does(monkeypatch):
    """With no multipliers at all it is the least loss of a mechanism that may do anything: none."""
    import scipy.optimize

    def fail(*_, **__):
        return type("Result", (), {"status": 4})()

    made = to_passport(ib.optimal(ib.count(4), 1)).content
    monkeypatch.setattr(scipy.optimize, "linprog", fail)
    assert compute_proved_bound(made) == 0


def test_what_is_too_large_or_of_another_kind_has_no_bound():
    assert compute_proved_bound(to_passport(ib.optimal(ib.count(80), 1)).content) is None
    assert compute_proved_bound(to_passport(ib.catalog.uniform(ib.count(3), 1)).content) is None


def test_the_exponential_is_bounded_from_above():
    for x in (Fraction(0), Fraction(1, 3), Fraction(2), Fraction(64)):
        above = exp_upper_bound(x)
        assert float(above) == pytest.approx(np.exp(float(x)), rel=1e-12)
        assert above >= sum(x**k / Fraction(np.prod(range(1, k + 1), dtype=object)) for k in range(200))

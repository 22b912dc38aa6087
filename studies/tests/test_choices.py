"""What is said of figures under other choices than ours, where the papers do not print their own."""

import numpy as np
import pytest

import inbounds as ib
from inbounds_studies import find
from inbounds_studies.paper_000 import VARIANT_1, VARIANT_2
from inbounds_studies.paper_000_data import groups, household_sizes
from inbounds_studies.paper_001 import GEOMETRIC, RESPONSE
from inbounds_studies.paper_003 import EM, GM, UM, WM, named
from inbounds_studies.paper_003_data import RMSE, TARGETS, beyond, bits
from inbounds_studies.paper_choices import DATA, ORDERS, source
from raising import rejects


def test_belgian_households_are_those_of_the_survey():
    sizes = household_sizes("Belgian")
    assert len(sizes) == 2724
    assert np.clip(sizes, 1, 7).mean() == pytest.approx(2.576, abs=5e-4)  # the paper's mean is 2.02
    assert groups(10, 1, 7, "Belgian").shape == (272, 10)
    with rejects(ValueError, "survey"):
        household_sizes("Dutch")


def test_on_two_surveys_the_programs_lead_at_strong_privacy_and_the_data_decide_at_weak():
    """000, section 4.3.5, at epsilon 0.2, 0.3 and 2: expected absolute errors, exact."""
    table = find("000-choices").run(epsilons=("0.2", "0.3", "2")).table
    for panel in table.distinct("panel"):
        for epsilon in (0.2, 0.3):
            part = table.where(panel=panel, epsilon=epsilon)
            found = dict(zip(part.column("mechanism"), part.column("value"), strict=True))
            others = min(value for name, value in found.items() if name not in (VARIANT_1, VARIANT_2))
            assert found[VARIANT_1] < found[VARIANT_2] < others
    for survey, ahead in (("Spanish", VARIANT_2), ("Belgian", VARIANT_1)):
        for order in ORDERS:
            part = table.where(survey=survey, order=order, statistic="largest", epsilon=2.0)
            values = part.column("value")
            assert part.column("mechanism")[int(np.argmin(values))] == ahead


def test_geometric_noise_is_closer_for_six_kinds_of_data():
    """001, Figure 3: at 1,000 reports, two runs of 1,000 steps."""
    table = find("001-choices").run(sizes=(1000,), runs=2, iterations=1000).table
    for data in DATA:
        assert source(data, 100).sum() == pytest.approx(1)
        part = table.where(data=data)
        found = dict(zip(part.column("mechanism"), part.column("value"), strict=True))
        assert found[RESPONSE] > 2.5 * found[GEOMETRIC], data


def test_even_bits_favour_the_fair_mechanism_and_guessing_is_never_best():
    """003, Figures 10, 11 and 13 from p = 0.4 on: EM is best for wrong reports, whatever n and alpha."""
    table = find("003-choices").run(sizes=(2, 6, 12), alphas=("2/3", "10/11"), chances=("0.1", "0.4", "0.5")).table
    assert UM not in table.column("best")
    for row in table:
        if row["measure"] == "a wrong report" and row["p"] >= 0.4:
            assert row["best"] == EM
    assert EM not in table.where(measure="root mean square error", n=2).column("best")
    assert EM not in table.where(p=0.1).column("best")


def test_for_skewed_bits_the_fair_mechanism_can_be_twice_as_bad_as_geometric():
    """003, Figure 12, n = 8 and p = 0.1: more than d off, d = 0 to 3, EM over GM."""
    prior = ib.priors.binomial(ib.count(8), "0.1")
    worst = {}
    for a in ("10/11", "2/3"):
        made = named(8, ib.epsilon_from_alpha(a))
        worst[a] = max(beyond(d).exact(made[EM], prior) / beyond(d).exact(made[GM], prior) for d in range(4))
    assert worst["10/11"] == pytest.approx(1.30, abs=5e-3)
    assert worst["2/3"] == pytest.approx(2.22, abs=5e-3)


def test_even_bits_are_harder_for_geometric_and_weakly_honest_at_two_thirds():
    """003, Figure 13, n = 8: root mean square error at p = 0.5 and p = 0.1; GM 2.374 and 2.263 at alpha 2/3."""
    found = {}
    for a in ("2/3", "10/11"):
        made = named(8, ib.epsilon_from_alpha(a))
        for name in (GM, WM, EM, UM):
            found[a, name] = [RMSE.exact(made[name], ib.priors.binomial(ib.count(8), p)) for p in ("0.5", "0.1")]
    assert found["2/3", GM] == pytest.approx([2.374, 2.263], abs=5e-4)
    assert {key for key, (even, skewed) in found.items() if even > skewed} == {("2/3", GM), ("2/3", WM)}


def test_from_alpha_0_9_on_fair_and_weakly_honest_hardly_differ_on_adult():
    """003, section V-B: shares of wrong reports within 0.0082, groups of 2 to 16."""
    apart = []
    for a in ("0.9", "0.99"):
        for n in (2, 8, 16):
            made = named(n, ib.epsilon_from_alpha(a))
            for target in TARGETS:
                flags = bits(target)
                prior = ib.priors.empirical(ib.count(n), flags[: len(flags) // n * n].reshape(-1, n).sum(axis=1))
                apart.append(abs(made[EM].loss("zero-one", prior) - made[WM].loss("zero-one", prior)))
    assert 0.005 < max(apart) < 0.0082

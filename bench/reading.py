"""Reading mechanisms: all measures of one, and all mechanisms of a catalog side by side."""

import numpy as np
from harness import emit, timed

import inbounds as ib
from inbounds.compare import compare
from inbounds.report import html

SMALL, LARGE = ib.count(500), ib.count(1_000_000)


def all_measures(m: ib.Mechanism) -> None:
    """At face value, for Bayesian users, as information; the float view is made anew."""
    for loss in ("absolute", "squared", "zero-one", ib.off_by_more_than(2)):
        m.loss(loss), m.worst_loss(loss), m.bayes_loss(loss)
    m.bias(), m.variance(), m.rmse(), m.truth_probability(), m.end_probability()
    m.mutual_information(), m.posterior_entropy(), m.remap(), m.readings()


def face_value(m: ib.Mechanism) -> None:
    m.loss(), m.worst_loss("squared"), m.loss("zero-one"), m.bias(), m.variance(), m.end_probability()


def fresh(m: ib.Mechanism) -> ib.Mechanism:
    return ib.Mechanism(m.query, m.epsilon, m.law, m.origin)


dense, compact = ib.catalog.truncated_geometric(SMALL, 0.5), ib.catalog.truncated_geometric(LARGE, 0.5)
copies = [fresh(dense) for _ in range(4)]
np.ones((600, 600)) @ np.ones((600, 600))  # wakes the linear algebra
compare(ib.count(3), 1)  # loads the solver
emit(
    [
        timed("all measures, n = 500", "inbounds", lambda: all_measures(copies.pop()), note="aim: 0.5 s"),
        timed("all measures but Bayes, n = 1,000,000", "inbounds", lambda: face_value(compact), note="noise table"),
        timed("exact Fractions, mean error, n = 500", "inbounds", lambda: dense.exactly.loss(), note="integers"),
        timed("compare the catalog, n = 50", "inbounds", lambda: compare(ib.count(50), 0.5), note="aim: 2 s"),
        timed("HTML report, n = 50", "inbounds", lambda: html.page(ib.catalog.explicit_fair(ib.count(50), 0.5))),
    ]
)

"""Reading mechanisms: all measures of one, and all mechanisms of a catalog side by side."""

import numpy as np
from harness import OURS, Row, repeated, serve, timed

import inbounds as ib
from inbounds.evaluate.compare import compare
from inbounds.report import html


def everything(m: ib.Mechanism) -> None:
    """At face value, for Bayesian users, as information; the float view is made anew."""
    for loss in ("absolute", "squared", "zero-one", ib.threshold_loss(2)):
        m.loss(loss), m.worst_loss(loss), m.bayes_loss(loss)
    m.bias(), m.variance(), m.rmse(), m.truth_probability(), m.end_probability()
    m.mutual_information(), m.posterior_entropy(), m.remap(), m.interpretations()


def face_value(m: ib.Mechanism) -> None:
    m.loss(), m.worst_loss("squared"), m.loss("zero-one"), m.bias(), m.variance(), m.end_probability()


def fresh(n: int) -> ib.Mechanism:
    return ib.catalog.truncated_geometric(ib.count(n), 0.5)


def all_measures() -> Row:
    """A mechanism remembers its float view, so each run gets a new one, made before the clock starts."""
    new: list[ib.Mechanism] = []
    times, _ = repeated(lambda: everything(new[-1]), OURS, before=lambda: new.append(fresh(500)))
    return Row("all measures, n = 500", OURS, times, note="aim: 0.5 s")


def inbounds() -> list[Row]:
    np.ones((600, 600)) @ np.ones((600, 600))  # wakes the linear algebra
    compare(ib.count(3), 1)  # loads the solver
    dense = fresh(500)
    return [
        all_measures(),
        timed(
            "all measures but Bayes, n = 1,000,000", OURS, lambda: face_value(fresh(10**6)), note="table of the noise"
        ),
        timed("exact Fractions, mean error, n = 500", OURS, lambda: dense.exact_measures.loss(), note="integers"),
        timed("compare the catalog, n = 50", OURS, lambda: compare(ib.count(50), 0.5), note="aim: 2 s"),
        timed("HTML report, n = 50", OURS, lambda: html.mechanism_page(ib.catalog.explicit_fair(ib.count(50), 0.5))),
    ]


serve({"inbounds": inbounds})

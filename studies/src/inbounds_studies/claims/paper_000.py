"""000: what "The impact of range constraints on utility" claims."""

from collections.abc import Callable

from inbounds_studies.claims.claim import Beside, Numbers
from inbounds_studies.paper_000 import LAPLACE, PRINTED, STAIRCASE, VARIANT_1, VARIANT_2
from inbounds_studies.paper_000_data import CAUCHY, KNOWN, SPLIT
from inbounds_studies.paper_000_order import BOUND
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table

FACE = "absolute error"
GUESS = "absolute error, best guess"


def _entries(name: str) -> Callable[[Table], list[float]]:
    return lambda table: table.where(mechanism=name).numbers("probability").tolist()


def _printed(table: str) -> tuple[str, ...]:
    return tuple(f"{p:.3f}" for p in PRINTED[table].ravel())


def _loss(name: str) -> Callable[[Table], float]:
    """The absolute loss summed over the answers, as the paper's program counts it."""
    return lambda table: sum(r["probability"] * abs(r["output"] - r["answer"]) for r in table.where(mechanism=name))  # type: ignore[operator]


def _curve(name: str, **at: float) -> Callable[[Table], float]:
    return lambda table: table.number("value", mechanism=name, measure=FACE, **at)


def _against_best(measure: str, name: str, best: str = OPTIMAL, **at: float) -> Beside:
    return Beside(measure, _curve(name, **at), _curve(best, **at))


NUMBERS = {
    "000 Table 1": Numbers(
        printed=_printed("table1"),
        ours=_entries(LAPLACE),
        beside=Beside("total absolute loss", _loss(LAPLACE), _loss(OPTIMAL)),
    ),
    "000 Table 2": Numbers(
        printed=_printed("table2"),
        ours=_entries(VARIANT_2),
        beside=Beside(
            "total absolute loss as printed, and the least with these properties", _loss("as printed"), _loss(VARIANT_2)
        ),
    ),
    "000 Table 3": Numbers(
        printed=_printed("table3"),
        ours=_entries(VARIANT_1),
        beside=Beside("total absolute loss", _loss("as printed"), _loss(VARIANT_1)),
    ),
    "000 Table 4": Numbers(
        printed=_printed("table4"),
        ours=_entries(VARIANT_2),
        beside=Beside("total absolute loss", _loss(VARIANT_2), _loss(OPTIMAL)),
    ),
    "000 Figs. 1, 2 · 1": Numbers(
        beside=_against_best("mean absolute error, snapped staircase, 8 people, ε = 0.2", STAIRCASE, size=8)
    ),
    "000 Figs. 1, 2 · 2": Numbers(
        beside=Beside(
            "mean absolute error after a best guess, Variant 2, 8 people, ε = 0.5",
            lambda t: t.number("value", mechanism=VARIANT_2, measure=GUESS, size=8),
            lambda t: t.number("value", mechanism=OPTIMAL, measure=GUESS, size=8),
        )
    ),
    "000 Fig. 3": Numbers(
        beside=Beside(
            "mean absolute error, 41 cells, ε = 1",
            lambda t: t.number("value", epsilon=1.0, cells=41, family=LAPLACE, measure=FACE),
            lambda t: t.number("value", epsilon=1.0, cells=41, family=VARIANT_1, measure=FACE),
        )
    ),
    "000 Fig. 4": Numbers(beside=_against_best("mean absolute error, snapped Laplace, ε = 1", LAPLACE, epsilon=1.0)),
    "000 Fig. 5": Numbers(beside=_against_best("mean absolute error, snapped Laplace, ε = 1", LAPLACE, epsilon=1.0)),
    "000 Figs. 6, 7 · 1": Numbers(
        beside=_against_best(
            "mean absolute error, staircase on the wide range, ε = 1", f"{STAIRCASE} (ext)", epsilon=1.0
        )
    ),
    "000 Figs. 6, 7 · 2": Numbers(
        beside=_against_best(
            "mean absolute error, staircase on the wide range, ε = 1", f"{STAIRCASE} (ext)", epsilon=1.0
        )
    ),
    "000 Fig. 8": Numbers(
        beside=_against_best(
            "mean absolute error, Variant 1, ε = 0.2 (the optimum knows the prior)", VARIANT_1, KNOWN, epsilon=0.2
        )
    ),
    "000 Fig. 9": Numbers(
        beside=Beside(
            "mean absolute error, ε = 2: 8S/ε, then the best split",
            _curve(CAUCHY, epsilon=2.0),
            _curve(SPLIT, epsilon=2.0),
        )
    ),
    "000 §4.4 (open: larger databases)": Numbers(
        beside=Beside(
            "mean absolute error of 300 people in units of k/n, staircase and a proved bound, ε = 0.5",
            lambda t: t.number("value", size=300, mechanism=STAIRCASE),
            lambda t: t.number("value", size=300, mechanism=BOUND),
        )
    ),
}

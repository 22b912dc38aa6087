"""003: what "Constrained private mechanisms for count data" claims."""

from collections.abc import Callable

import numpy as np

from inbounds_studies.claims.claim import Beside, Numbers
from inbounds_studies.paper_003 import EM, GM, PRINTED, PRINTED_FIRST, PRINTED_SECOND, UM, WH, WM
from inbounds_studies.paper_003_data import KNOWN
from inbounds_studies.paper_003_ranges import GUESSED
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table


def _truth(name: str) -> Callable[[Table], float]:
    """The mean chance of the truth."""
    return lambda table: float(np.mean([r["probability"] for r in table.where(mechanism=name)
                                        if r["output"] == r["answer"]]))  # fmt: skip


def _score(name: str, **at: object) -> Callable[[Table], float]:
    return lambda table: table.number("value", mechanism=name, **at)  # type: ignore[arg-type]


def _met(alpha: str, last: int) -> Callable[[Table], float]:
    """The least n from which weak honesty without column monotonicity scores what GM scores."""

    def found(table: Table) -> float:
        level = next(a for a in table.distinct("alpha") if abs(a - float(alpha)) < 1e-3)
        part = table.where(alpha=level)
        own, free = (part.where(mechanism=name).numbers("value") for name in (WH, GM))
        sizes = part.where(mechanism=GM).numbers("n")
        return float(sizes[np.isclose(own, free, atol=1e-9) & (sizes <= last)].min())

    return found


def _spread(name: str) -> Callable[[Table], float]:
    """How much the share of reports more than one off varies with p, for n = 4 at alpha = 2/3."""
    return lambda table: float(np.ptp(table.where(panel="α = 2/3, n = 4", mechanism=name).numbers("expected")))


def _wrong(measure: str, name: str, **at: object) -> Beside:
    return Beside(measure, _score(name, **at), _score(KNOWN, **at))


NUMBERS = {
    "003 Fig. 7 · 1": Numbers(printed=("0.238",), ours=lambda t: [_truth(GM)(t)]),
    "003 Fig. 7 · 2": Numbers(
        printed=("0.224",),
        ours=lambda t: [_truth(EM)(t)],
        beside=Beside("mean chance of the truth", _truth(EM), _truth(GM)),
    ),
    "003 Fig. 7 · 3": Numbers(
        printed=tuple(str(p) for p in PRINTED_FIRST + PRINTED_SECOND),
        ours=lambda t: [
            *t.where(mechanism=WM, output=0).numbers("probability")[2:],
            *t.where(mechanism=WM, output=1).numbers("probability"),
        ],
        beside=Beside("mean chance of the truth, printed and WM's own optimum", _truth(PRINTED), _truth(WM)),
    ),
    "003 Fig. 8": Numbers(
        printed=("0.864",),
        ours=lambda t: [t.number("value", panel="against n", n=8, mechanism="WH")],
        beside=Beside(
            "L0, n = 8, with column monotonicity and without any property",
            lambda t: t.number("value", panel="against n", n=8, mechanism="WH+CM"),
            lambda t: t.number("value", panel="against n", n=8, mechanism=GM),
        ),
    ),
    "003 Fig. 9": Numbers(
        printed=("4", "20"),
        ours=lambda t: [_met("0.6667", 24)(t), _met("0.9091", 24)(t)],
        beside=Beside(
            "L0 at α = 10/11, n = 20: WM, and the optimum",
            _score(WM, alpha=10 / 11, n=20),
            _score(GM, alpha=10 / 11, n=20),
        ),
    ),
    "003 Fig. 10": Numbers(beside=_wrong("wrong reports, EM, gender, n = 8", EM, target="female", n=8)),
    "003 §V-B": Numbers(beside=_wrong("wrong reports, UM, gender, n = 8", UM, target="female", n=8)),
    "003 Fig. 11 · 1": Numbers(
        beside=_wrong("more than one off, EM, p = 0.5, n = 8, α = 10/11", EM, p=0.5, n=8, alpha=10 / 11)
    ),
    "003 Fig. 11 · 2": Numbers(
        beside=Beside("spread over p of more than one off, n = 4, α = 2/3", _spread(EM), _spread(GM))
    ),
    "003 Fig. 12": Numbers(beside=_wrong("more than 1 off, EM, p = 0.5, α = 10/11", EM, p=0.5, d=1, alpha=10 / 11)),
    "003 Fig. 13": Numbers(
        beside=_wrong("root mean square error, EM, p = 0.5, n = 8, α = 10/11", EM, p=0.5, n=8, alpha=10 / 11)
    ),
    "003 §VI (future work)": Numbers(
        beside=Beside(
            "mean error of a range query, ε = 1: geometric bin by bin, best guess",
            lambda t: t.number("value", epsilon=1.0, mechanism=GUESSED),
            lambda t: t.number("value", epsilon=1.0, mechanism=OPTIMAL),
        )
    ),
}

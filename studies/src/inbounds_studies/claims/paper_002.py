"""002: what "Differential privacy via a truncated and normalized Laplace mechanism" claims."""

from inbounds_studies.claims.claim import Beside, Numbers
from inbounds_studies.paper_002_open import OPEN as OPEN_ENDS
from inbounds_studies.paper_002_open import OWN
from inbounds_studies.paper_002_scales import METRIC, REFUTED
from inbounds_studies.style import OPTIMAL

NUMBERS = {
    "002 Table 2 · 1": Numbers(
        printed=("2",),
        ours=lambda t: [t.numbers("metric").max()],
        beside=Beside(
            "mean absolute error on an interval of width 4, ε = 1",
            lambda t: t.number("error_metric", configuration="interval, width 4"),
            lambda t: t.number("error_optimal", configuration="interval, width 4"),
        ),
    ),
    "002 Table 2 · 2": Numbers(printed=("1.586",), ours=lambda t: [t.number("paper", configuration="half-line")]),
    "002 Theorem 1": Numbers(
        beside=Beside(
            "audited ε for answers 0..60, promised 1",
            lambda t: t.number("value", panel="audited epsilon by range", mechanism=REFUTED, x=60),
            lambda t: t.number("value", panel="audited epsilon by range", mechanism=OPTIMAL, x=60),
        )
    ),
    "002 §3.4": Numbers(
        beside=Beside(
            "mean absolute error, range 10, ε = 1",
            lambda t: t.number("value", epsilon=1.0, range=10.0, mechanism=METRIC),
            lambda t: t.number("value", epsilon=1.0, range=10.0, mechanism=OPTIMAL),
        )
    ),
    "002 §4.2": Numbers(
        beside=Beside(
            "mean absolute error, one hole of width 1, 8 sensitivities declared, ε = 1",
            lambda t: t.number("error", configuration="one hole, width 1", reach=8, mechanism=OPEN_ENDS),
            lambda t: t.number("error", configuration="one hole, width 1", reach=8, mechanism=OPTIMAL),
        )
    ),
    "002 §4.3 (open problem)": Numbers(
        beside=Beside(
            "mean absolute error, three pieces, ε = 1: a scale for each answer",
            lambda t: t.number("value", configuration="three pieces", epsilon=1.0, mechanism=OWN),
            lambda t: t.number("value", configuration="three pieces", epsilon=1.0, mechanism=OPTIMAL),
        )
    ),
}

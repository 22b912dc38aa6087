"""004: what "Oblivious mechanisms in differential privacy" claims."""

from inbounds_studies.claims.claim import Beside, Numbers
from inbounds_studies.noise import GEOMETRIC, LAPLACE, STAIRCASE
from inbounds_studies.paper_004 import COUNT, KNOWN, MEAN, PREROUNDED
from inbounds_studies.paper_004_open import CENTRAL, LARGEST_STAIRCASE, OBLIVIOUS, OWN_OPTIMUM, VARYING
from inbounds_studies.paper_004_vectors import GUESSED as PAIR_GUESSED
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table


def _beside(measure: str, query: str, paper: str, best: str, alpha: float) -> Beside:
    def read(name: str, table: Table) -> float:
        return table.number("theory", query=query, mechanism=name, alpha=alpha)

    return Beside(measure, lambda t: read(paper, t), lambda t: read(best, t))


NUMBERS = {
    "004 (11) – (15)": Numbers(
        beside=_beside("expected loss for a count, staircase, α = 0.5", COUNT, STAIRCASE, OPTIMAL, 0.5)
    ),
    "004 §5.1 · 1": Numbers(
        beside=_beside("expected loss of the mean, Laplace and staircase, α = 0.1", MEAN, LAPLACE, STAIRCASE, 0.1)
    ),
    "004 §5.1 · 2": Numbers(
        beside=_beside("expected loss for a count, geometric, α = 0.5", COUNT, GEOMETRIC, OPTIMAL, 0.5)
    ),
    "004 §5.2, §6 (conjecture)": Numbers(
        beside=_beside("expected loss of the mean, heuristic, α = 0.5", MEAN, PREROUNDED, KNOWN, 0.5)
    ),
    "004 R1 (open question)": Numbers(
        beside=Beside(
            "universality gap for three users at α = 0.5: maximum, and count",
            lambda t: t.number("gap", query="maximum", alpha=0.5),
            lambda t: t.number("gap", query="count", alpha=0.5),
        )
    ),
    "004 R2 (open question) · 1": Numbers(
        beside=Beside(
            "worst expected error, range 4, α = 0.5, snapped staircase",
            lambda t: t.number("value", alpha=0.5, range=4, mechanism="snapped staircase"),
            lambda t: t.number("value", alpha=0.5, range=4, mechanism=VARYING),
        )
    ),
    "004 R2 (open question) · 2": Numbers(
        beside=Beside(
            "worst expected error, range 32, α = 0.5: staircase for the largest sensitivity",
            lambda t: t.number("value", alpha=0.5, range=32, mechanism=LARGEST_STAIRCASE),
            lambda t: t.number("value", alpha=0.5, range=32, mechanism=OWN_OPTIMUM),
        )
    ),
    "004 R3 (open question)": Numbers(
        beside=_beside("expected loss of the mean, heuristic, α = 0.1", MEAN, PREROUNDED, KNOWN, 0.1)
    ),
    "004 §6 (future work) · 1": Numbers(
        beside=Beside(
            "expected error of the median of 25, ε = 1: oblivious optimum",
            lambda t: t.number("value", people=25, epsilon=1.0, mechanism=OBLIVIOUS),
            lambda t: t.number("value", people=25, epsilon=1.0, mechanism=CENTRAL),
        )
    ),
    "004 §6 (future work) · 2": Numbers(
        beside=Beside(
            "expected error of both counts, α = 0.5: each by geometric with half of ε, best guess",
            lambda t: t.number("value", alpha=0.5, mechanism=PAIR_GUESSED),
            lambda t: t.number("value", alpha=0.5, mechanism=OPTIMAL),
        )
    ),
}

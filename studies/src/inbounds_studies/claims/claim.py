"""A claim of a paper, what became of it, and how many printed digits our number shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from inbounds_studies.table import Table

Verdict = Literal["holds", "holds at the settings", "holds in part", "false", "open", "defined"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds at the settings", "holds in part", "false", "open", "defined")

Basis = Literal["proof", "computation", "counterexample", "settings", "definition"]
BASES: tuple[Basis, ...] = ("proof", "computation", "counterexample", "settings", "definition")
ENOUGH: dict[Verdict, tuple[Basis, ...]] = {
    "holds": ("proof", "computation"),
    "holds at the settings": ("settings",),
    "false": ("proof", "counterexample"),
    "defined": ("definition", "proof"),
}
"""What a verdict must rest on; the others may rest on anything."""


@dataclass(frozen=True)
class Beside:
    """The paper's mechanism and the best there is, under one measure, both read off the study's table."""

    measure: str
    paper: Callable[[Table], float]
    best: Callable[[Table], float]


@dataclass(frozen=True)
class Numbers:
    """What is read off a study's table for a claim.

    printed: numbers as the paper prints them; ours: the same from the table. beside: the optimum, or a certified
    bound, next to the paper's mechanism.
    """

    printed: tuple[str, ...] = ()
    ours: Callable[[Table], Sequence[float]] | None = None
    beside: Beside | None = None

    def __post_init__(self) -> None:
        if bool(self.printed) is not (self.ours is not None):
            raise ValueError("printed and ours must be given together")

    def agreement(self, table: Table) -> str:
        """ "0.238 → 0.2381 (3 of 3 digits)", or how many of several printed numbers agree in every digit."""
        if self.ours is None:
            return ""
        pairs = list(zip(self.printed, self.ours(table), strict=True))
        if len(pairs) == 1:
            ((printed, ours),) = pairs
            return f"{printed} → {ours:.6g} ({agreeing_digits(printed, ours)} of {digits(printed)} digits)"
        whole = sum(agreeing_digits(printed, ours) == digits(printed) for printed, ours in pairs)
        furthest = max(abs(float(printed) - ours) for printed, ours in pairs)
        return f"{whole} of {len(pairs)} numbers in every digit; furthest off {furthest:.2g}"


@dataclass(frozen=True)
class Claim:
    """A row of statements.toml: place, says: where and what. found: what is true. tests: those that carry it.

    basis: how the verdict is known: a proof for all that the statement is about, a computation of all of it, a
    counterexample, the settings of the tests only, or a definition.

    study: the id of the study that was run for it, or empty. numbers: what is read off that study's table.
    """

    id: str
    place: str
    kind: str
    says: str
    verdict: Verdict
    basis: Basis
    found: str
    tests: tuple[str, ...]
    study: str = ""
    numbers: Numbers = Numbers()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")
        if self.basis not in ENOUGH.get(self.verdict, BASES):
            raise ValueError(f"basis must be enough for {self.verdict!r}, got {self.basis!r}")
        if self.numbers != Numbers() and not self.study:
            raise ValueError(f"study must name where the numbers of {self.id} are read")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: what was claimed and what became of it."""
        texts = {name: getattr(self, name) for name in FIELDS}
        return texts | {"tests": list(self.tests)}


FIELDS = ("id", "place", "kind", "says", "verdict", "basis", "found", "study")


def digits(printed: str) -> int:
    """Significant digits of a printed number; a printed zero has one.

    >>> digits("0.238"), digits("20"), digits("0")
    (3, 2, 1)
    """
    return max(1, len(printed.lstrip("-").replace(".", "").lstrip("0")))


def agreeing_digits(printed: str, ours: float) -> int:
    """How many of the printed significant digits ours has, rounded to as many: the most that both round to.

    >>> agreeing_digits("0.559", 0.55875), agreeing_digits("0.091", 0.0901), agreeing_digits("5", 30.0)
    (3, 1, 0)
    """
    wanted = Decimal(printed)
    for count in range(digits(printed), 0, -1):
        place = Decimal(1).scaleb((wanted.adjusted() if wanted else -len(printed.partition(".")[2])) - count + 1)
        if wanted.quantize(place, ROUND_HALF_UP) == Decimal(repr(float(ours))).quantize(place, ROUND_HALF_UP):
            return count
    return 0


def verdict_of(claims: Sequence[Claim]) -> Verdict:
    """One word for several claims: theirs where they agree, else "holds in part"."""
    found = {claim.verdict for claim in claims}
    return found.pop() if len(found) == 1 else "holds in part"

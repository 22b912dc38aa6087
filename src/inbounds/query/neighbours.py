"""Who is whose neighbour: which true answers one person can turn into each other."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from inbounds.numbers import exact, whole
from inbounds.trusted.bounds import Clique
from inbounds.trusted.scale import Scale


@dataclass(frozen=True)
class Reach:
    """Answers at most `steps` grid steps apart are neighbours: one person moves the answer that far."""

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", whole(self.steps, "steps", 1))

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        ticks, end = answers.ticks, 0
        for start in range(len(ticks)):
            before, end = end, bisect_right(ticks, ticks[start] + self.steps, lo=end)
            if end > before and end - start > 1:
                yield Clique(start, end, Fraction(1))

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        """Every j whose next answer is too far away to be its neighbour: the promise does not reach across."""
        if answers.regular:
            return ()
        ticks = answers.ticks
        return tuple(j for j in range(len(ticks) - 1) if ticks[j + 1] - ticks[j] > self.steps)

    def sensitivity(self, answers: Scale) -> Fraction:
        return min(self.steps * answers.unit, answers.span)

    def __str__(self) -> str:
        return "one step apart" if self.steps == 1 else f"at most {self.steps} steps apart"


@dataclass(frozen=True)
class Everyone:
    """All answers are neighbours: one person may move the answer anywhere (min, max, median, local privacy)."""

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        yield Clique(0, len(answers), Fraction(1))

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        return ()

    def sensitivity(self, answers: Scale) -> Fraction:
        return answers.span

    def __str__(self) -> str:
        return "any two"


@dataclass(frozen=True)
class Metric:
    """Every pair, ratio exp(epsilon·distance/unit): d-privacy (001 Definition (4)).

    Consecutive answers are enough: the ratios along a line multiply.
    """

    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", exact(self.unit, "unit"))
        if not self.unit > 0:
            raise ValueError(f"unit must be positive, got {self.unit}")

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        for j in range(len(answers) - 1):
            gap = (answers.ticks[j + 1] - answers.ticks[j]) * answers.unit
            yield Clique(j, j + 2, gap / self.unit)

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        return ()

    def sensitivity(self, answers: Scale) -> Fraction:
        return self.unit

    def __str__(self) -> str:
        return f"any two, epsilon for every {self.unit} of distance"


Neighbours = Reach | Everyone | Metric
